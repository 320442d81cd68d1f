"""A walk over a jaxpr that writes down every collective, or refuses by name.

A layout is known from an explicit type, from an argument's sharding, or from
the out_specs of a shard_map. None is a value of unknown place, such as an
argument given as a bare shape: it lies wherever its first reader wants it.
"""

from collections import Counter, defaultdict
from dataclasses import replace
from math import prod

from shardlab.count.jax_inside import manual_axes, turned, written_at
from shardlab.count.layouts import (
    Placement,
    from_array,
    from_sharding,
    from_spec,
    from_type,
    joined,
    local_bytes,
    moves,
    refuse,
    replicated,
    text,
    without,
)
from shardlab.count.products import Product, Unknown, formed
from shardlab.count.records import (
    ADDED,
    LAID,
    SAME,
    Collective,
    Origin,
    record,
    repeated,
)
from shardlab.count.rules import falls_out

__all__ = [
    "CALLS",
    "COLLECTIVES",
    "OPAQUE",
    "RULES",
    "agreed",
    "agreed_work",
    "bodies",
    "equation",
    "split",
    "tally",
    "walk",
    "words",
]

COLLECTIVES = {
    "all_gather": "all_gather",
    "all_gather_invariant": "all_gather",
    "all_gather_reduced": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "unreduced_reduce_scatter": "reduce_scatter",
    "psum": "all_reduce",
    "psum_invariant": "all_reduce",
    "unreduced_psum": "all_reduce",
    "pmax": "all_reduce",
    "pmin": "all_reduce",
    "all_to_all": "all_to_all",
    "ppermute": "permute",
    "pbroadcast": "broadcast",
}
# These name an axis and move nothing: a device's own number, and casts of type.
SILENT = (
    "axis_index",
    "pvary",
    "preduced",
    "vary_unreduced_cast_p",
    "reduced_vary_cast_p",
)
CALLS = {
    "call": "call_jaxpr",
    "closed_call": "call_jaxpr",
    "eval_jaxpr": "call_jaxpr",  # what JAX 0.12 calls it
    "remat2": "jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vmap_call": "call",
}
# What is run once, as it stands, beside calls.
ONCE = ("core_call", "checkpoint")
SUMS = ("all_reduce", "reduce_scatter")
# A place that leaves an array on the devices where it is.
SAY_NOTHING = ("NoneType", "TransferToMemoryKind", "UnspecifiedValue")
# What these run is not in the jaxpr, and may talk to other devices.
OPAQUE = (
    "custom_partitioning",
    "ffi_call",
    "io_callback",
    "pallas_call",
    "pure_callback",
    "tpu_custom_call",
)


def walk(jaxpr, layouts, sizes, notes=None, turns=1):
    """Count a jaxpr whose arguments lie as `layouts`.

    sizes    size of each mesh axis in scope, by name
    notes    what is known of an equation of a loop's body, from `_loop_notes`
    turns    of that loop
    returns  records and products in program order, layouts of the results,
             layouts of the arguments
    """
    consts = [from_array(c, "constant") for c in getattr(jaxpr, "consts", ())]
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    env = dict(zip(jaxpr.invars, layouts, strict=True))
    env |= dict(zip(jaxpr.constvars, consts, strict=False))
    moved, notes = [], notes or {}
    for eqn in jaxpr.eqns:
        made = equation(eqn, env, sizes)
        note = notes.get(id(eqn))
        moved += _noted(made, note, turns) if note else made
    results = [_look(v, env) for v in jaxpr.outvars]
    return moved, results, [_look(v, env) for v in jaxpr.invars]


def equation(eqn, env, sizes):
    """Records and products of an equation; its results are entered in `env`."""
    rule = RULES.get(eqn.primitive.name, _ordinary)
    moved, layouts = rule(eqn, env, sizes)
    env.update(zip(eqn.outvars, layouts, strict=True))
    return [_placed(c, eqn) for c in moved]


def _placed(c, eqn):
    """A record that knows where in the program it happens."""
    stack = str(eqn.source_info.name_stack)
    origin = c.origin or Origin()
    if not origin.file:
        file, line, function = written_at(eqn)
        origin = origin._replace(file=file, line=line, function=function)
    return replace(c, origin=origin.within(stack))


def split(found):
    """Records, and what is multiplied or may be, each in program order."""
    moved = [c for c in found if isinstance(c, Collective)]
    return moved, [c for c in found if not isinstance(c, Collective)]


def _noted(moved, note, turns=1):
    """Records with a note, but for those that have one from further inside."""
    marks = {"note": note, "turns": turns}
    return [
        c if c.origin.note else replace(c, origin=c.origin._replace(**marks))
        for c in moved
    ]


def _of_array(c, aval):
    """A record that knows which array it hands over."""
    shape, dtype = tuple(aval.shape), str(aval.dtype)
    return replace(c, origin=Origin(shape=shape, dtype=dtype))


def _look(atom, env):
    """Where a value lies: by its type, else by what is known, else None."""
    if _is_literal(atom):
        return replicated(atom.aval)
    typed = from_type(atom.aval)
    return env.get(atom) if typed is None else typed


def _bind(atoms, layouts, env):
    """Values of unknown place lie where their first reader wants them."""
    for atom, layout in zip(atoms, layouts, strict=True):
        if not _is_literal(atom) and env.get(atom) is None:
            env[atom] = layout


def _collective(eqn, env, sizes):
    """A collective of a shard_map body, named as such."""
    name, params = eqn.primitive.name, eqn.params
    if params.get("axis_index_groups") is not None:
        refuse(name, "axis_index_groups cut an axis into groups without names")
    axes = params.get("axes", params.get("axis_name"))
    axes = (axes,) if isinstance(axes, str) else axes
    # vmap with an axis_name leaves positions here: sums within a device.
    axes = [a for a in axes if isinstance(a, str)]
    if len(axes) != len(set(axes)):
        refuse(name, f"it names an axis twice: {', '.join(axes)}")
    N = prod(sizes[a] for a in axes)
    moved, results = [], []
    for operand, result in zip(eqn.invars, eqn.outvars, strict=True):
        before = _look(operand, env)
        V = _group_bytes(eqn, operand.aval, result.aval, before, N)
        pairs = params.get("perm") and tuple(map(tuple, params["perm"]))
        made = record(COLLECTIVES[name], axes, V, N, pairs)
        moved += [_of_array(made, operand.aval)] * (N > 1)
        results.append(_carried(before, result.aval, name))
    return moved, results


def _group_bytes(eqn, operand, result, layout, N):
    """V of a collective: the whole array of a group, or its message."""
    kind = COLLECTIVES[eqn.primitive.name]
    if kind in ("all_gather", "all_to_all"):
        return local_bytes(operand, layout) * N
    if kind == "permute" and all(s == d for s, d in eqn.params["perm"]):
        return 0
    return local_bytes(operand if kind != "all_reduce" else result, layout)


def _carried(layout, aval, name):
    """The layout over axes that are not in a collective: it stays."""
    if layout is None or len(layout.dims) == aval.ndim:
        return layout
    if layout.plain:
        return replicated(aval)
    return refuse(name, "it adds or drops a dimension of a sharded array")


def _silent(eqn, env, sizes):
    """An equation that names an axis and moves nothing."""
    layouts = [_look(v, env) for v in eqn.invars]
    return [], layouts or [replicated(v.aval) for v in eqn.outvars]


def _call(eqn, env, sizes):
    """A function called within a function: its body is counted in place."""
    jaxpr = eqn.params[CALLS.get(eqn.primitive.name, "jaxpr")]
    layouts = [_look(v, env) for v in eqn.invars]
    moved, results, wanted = walk(jaxpr, layouts, sizes)
    _bind(eqn.invars, wanted, env)
    return moved, results


def _jit(eqn, env, sizes):
    """A jitted function; shardings it asks for must be those that are there."""
    there = [_look(v, env) for v in eqn.invars]
    asked = _stated(
        eqn.params["in_shardings"], eqn.invars, there, "in_shardings"
    )
    _bind(eqn.invars, asked, env)
    moved, results = _call(eqn, env, sizes)
    out = eqn.params["out_shardings"]
    return moved, _stated(out, eqn.outvars, results, "out_shardings")


def _stated(shardings, atoms, layouts, where):
    """Layouts as jit's shardings state them, or a refusal where they differ."""
    merged = []
    for sharding, atom, layout in zip(shardings, atoms, layouts, strict=True):
        if type(sharding).__name__ in SAY_NOTHING:
            merged.append(layout)
            continue
        asked = from_sharding(sharding, atom.aval.ndim, where)
        wanted = asked or replicated(atom.aval)
        if layout and wanted != layout:
            why = f"the array lies as {text(layout)} and not {text(wanted)}"
            refuse(where, f"{why}, so the compiler moves it; use reshard")
        merged.append(asked or layout)
    return merged


def _scan(eqn, env, sizes):
    """A loop of known length: its body, that many times."""
    p = eqn.params
    consts, carried = turned(p)
    kept = consts + carried
    layouts = [_look(v, env) for v in eqn.invars]
    layouts[kept:] = [_element(x) for x in layouts[kept:]]
    carry = slice(consts, kept)
    notes = _loop_notes(p["jaxpr"].jaxpr, carry)
    moved, results, wanted = _around(
        *("scan", p["jaxpr"], layouts, sizes, carry, notes), p["length"]
    )
    wanted[kept:] = [_stacked(x) for x in wanted[kept:]]
    _bind(eqn.invars, wanted, env)
    ys = [_stacked(y) for y in results[carried:]]
    return repeated(moved, p["length"]), results[:carried] + ys


def _loop_notes(body, carry):
    """What is known of equations in a loop's body: SAME or ADDED, by id.

    body     jaxpr of one turn
    carry    slice of its arguments that the turn before has left
    """
    fixed = {*body.invars[: carry.start], *body.constvars}
    notes, readers = {}, defaultdict(list)
    for eqn in body.eqns:
        if all(_is_literal(v) or v in fixed for v in eqn.invars):
            fixed.update(eqn.outvars)
            notes[id(eqn)] = SAME
        for v in eqn.invars:
            if not _is_literal(v):
                readers[v].append(eqn)
    carried = carry.stop - carry.start
    pairs = zip(body.outvars[:carried], body.invars[carry], strict=True)
    back = {after: before for after, before in pairs if not _is_literal(after)}
    # A value that is stacked, or carried twice, has more than one reader.
    left = Counter(v for v in body.outvars if not _is_literal(v))

    def only_added(v):
        """Whether all that a turn does with a value is to add it up."""
        if len(readers[v]) != 1 or left[v]:
            return False
        (eqn,) = readers[v]
        (result,), others = eqn.outvars, [o for o in eqn.invars if o is not v]
        name = eqn.primitive.name
        if name in ("add", "add_any"):
            before = back.get(result)
            unread = not readers[result] and left[result] == 1
            # What was added up so far must be read by nothing but the sum.
            return (
                others == [before]
                and unread
                and readers[before] == [eqn]
                and not left[before]
            )
        scaled = name == "mul" or (name == "div" and eqn.invars[0] is v)
        known = all(_is_literal(o) or o in fixed for o in others)
        return scaled and known and only_added(result)

    for eqn in body.eqns:
        kind = COLLECTIVES.get(eqn.primitive.name)
        linear = kind in SUMS and eqn.primitive.name not in ("pmax", "pmin")
        if linear and id(eqn) not in notes:
            used = [v for v in eqn.outvars if readers[v] or left[v]]
            if used and all(map(only_added, used)):
                notes[id(eqn)] = ADDED
    return notes


def _is_literal(atom):
    """Whether a value is a number that stands in the program."""
    return hasattr(atom, "val")


def _around(name, body, layouts, sizes, carry, notes=None, length=1):
    """A loop body, walked with the carry where the body itself leaves it."""
    moved, results, layouts = walk(body, layouts, sizes, notes, length)
    turned = agreed(name, layouts[carry], results)
    # Each turn of the loop can hand a cut on to one more value of the carry.
    for _ in range(len(turned)):
        if turned == layouts[carry]:
            break
        layouts[carry] = turned
        moved, results, layouts = walk(body, layouts, sizes, notes, length)
        turned = agreed(name, turned, results)
    else:
        if turned != layouts[carry]:
            refuse(name, "its carry lies otherwise after every turn")
    return moved, turned + results[len(turned) :], layouts


def _element(layout):
    """The layout of x[i], where x is not cut along its first dimension."""
    if layout is None:
        return None
    if layout.dims[0]:
        refuse("scan", "its loop runs along a dimension that is cut")
    return Placement(layout.dims[1:], layout.unreduced)


def _stacked(layout):
    """The layout of many values of this layout, one after the other."""
    return layout and Placement(((), *layout.dims), layout.unreduced)


def agreed(name, one, other):
    """Where values lie that come from two places: whole is cut for free."""
    merged = []
    for a, b in zip(one, other, strict=False):
        if b is None or a == b or (a and b.plain):
            merged.append(a)
        elif a is None or a.plain:
            merged.append(b)
        else:
            why = f"a value lies as {text(a)} once and as {text(b)} once"
            refuse(name, f"{why}, so it moves in between")
    return merged


def _cond(eqn, env, sizes):
    """A choice: counted if every branch moves the same."""
    layouts = [_look(v, env) for v in eqn.invars[1:]]
    walked, work = [], []
    for branch in eqn.params["branches"]:
        found, *rest = walk(branch, layouts, sizes)
        moved, products = split(found)
        walked.append((moved, *rest))
        work.append(products)
    tallies = [tally(moved) for moved, _, _ in walked]
    if any(other != tallies[0] for other in tallies):
        said = "; ".join(f"{i}: {words(t)}" for i, t in enumerate(tallies))
        refuse(
            "cond",
            "which branch runs is decided at run time, and they differ "
            f"({said}); count each branch on its own",
        )
    moved, results, wanted = walked[0]
    for other_moved, other, _ in walked[1:]:
        results = agreed("cond", results, other)
        if Counter(c.pairs for c in moved) != Counter(
            c.pairs for c in other_moved
        ):
            moved = [replace(c, pairs=None) for c in moved]
    _bind(eqn.invars[1:], wanted, env)
    return moved + agreed_work("cond", work), results


def agreed_work(name, branches):
    """What is multiplied in whichever branch runs, or an Unknown.

    name      of the choice
    branches  for each branch, a list of Product and Unknown
    """
    unknown = [p for some in branches for p in some if isinstance(p, Unknown)]
    sums = {
        sum(p.flops * p.times for p in some if isinstance(p, Product))
        for some in branches
    }
    if len(sums) > 1:
        return [*unknown, Unknown(name, "its branches multiply unequally much")]
    known = [p for p in branches[0] if isinstance(p, Product)]
    return [*unknown, *known]


def tally(moved):
    """How often each collective of known size happens, whatever the order."""
    counted = Counter()
    for c in moved:
        counted[c.kind, c.axes, c.volume, c.sent] += c.times
    return counted


def words(counted):
    """A tally in words."""
    said = [
        f"{times} {kind} over {', '.join(axes)} of volume {volume} bytes"
        for (kind, axes, volume, _), times in counted.items()
    ]
    return ", ".join(said) or "nothing"


def _while_loop(eqn, env, sizes):
    """A loop of unknown length: counted if nothing moves in it."""
    p = eqn.params
    layouts = [_look(v, env) for v in eqn.invars]
    heads, bodies = p["cond_nconsts"], p["body_nconsts"]
    consts, layouts = layouts[:heads], layouts[heads:]
    carry = slice(bodies, None)
    body = p["body_jaxpr"]
    body, results, layouts = _around("while", body, layouts, sizes, carry)
    test, _, _ = walk(p["cond_jaxpr"], consts + layouts[carry], sizes)
    body, products = split(test + body)
    if body:
        refuse(
            "while",
            "how often it runs is decided at run time, and each time it moves "
            f"{words(tally(body))}; use scan, or fori_loop with "
            "bounds that are plain numbers",
        )
    why = "how often its products are formed is not known"
    return [Unknown("while", why)] * bool(products), results


def _shard_map(eqn, env, sizes):
    """A body per device; arguments that lie otherwise are moved first."""
    p = eqn.params
    moved, inner = [], []
    for atom, spec in zip(eqn.invars, p["in_specs"], strict=True):
        want = from_spec(spec, p["mesh"], atom.aval.ndim)
        have = _look(atom, env)
        _bind([atom], [want], env)
        rest = have and without(have, manual_axes(p))
        inner.append(rest)
        if have:
            there = joined(want, rest)
            steps = moves("shard_map in_specs", atom.aval, have, there)
            steps = [_of_array(c, atom.aval) for c in steps]
            moved += _noted(steps, LAID)
    records, results, _ = walk(p["jaxpr"], inner, dict(p["mesh"].shape))
    records = [
        replace(c, axes=c.axes | manual_axes(p))
        if isinstance(c, Product)
        else c
        for c in records
    ]
    outs = []
    for v, spec, rest in zip(eqn.outvars, p["out_specs"], results, strict=True):
        made = from_spec(spec, p["mesh"], v.aval.ndim)
        outs.append(joined(made, rest) if rest else made)
    return moved + records, outs


def _reshard(eqn, env, sizes):
    """A change of type: the collective that it takes, or none."""
    (atom,), sharding = eqn.invars, eqn.params["dst_sharding"]
    before = _look(atom, env)
    after = from_spec(sharding.spec, sharding.mesh, atom.aval.ndim)
    source = atom.aval.sharding.mesh
    crossed = not source.empty and source.axis_types != sharding.mesh.axis_types
    if crossed and not (before and before.plain and after.plain):
        refuse("auto_axes", "what happens in there is left to the compiler")
    if before is None:
        return [], [after]
    steps = moves("reshard", atom.aval, before, after)
    return [_of_array(c, atom.aval) for c in steps], [after]


def _constraint(eqn, env, sizes):
    """A sharding constraint: with Auto axes the compiler acts on it."""
    there = [_look(v, env) for v in eqn.invars]
    asked = [eqn.params["sharding"]]
    layouts = _stated(asked, eqn.invars, there, "with_sharding_constraint")
    _bind(eqn.invars, layouts, env)
    return [], layouts


def _device_put(eqn, env, sizes):
    """An array put somewhere: where it lies from then on."""
    there = [_look(v, env) for v in eqn.invars]
    asked = eqn.params["devices"]
    return [], _stated(asked, eqn.invars, there, "device_put")


def _ordinary(eqn, env, sizes):
    """Any other operation: silent where nothing is cut, else by its rule."""
    work = _check_closed(eqn, sizes)
    layouts = [_look(v, env) for v in eqn.invars]
    typed = [from_type(v.aval) for v in eqn.outvars]
    pairs = zip(layouts, eqn.invars, strict=True)
    known = eqn.invars and None not in layouts
    layouts = [x or replicated(v.aval) for x, v in pairs]
    if all(x.plain for x in layouts):
        local = [replicated(v.aval) for v in eqn.outvars]
        pairs = zip(typed, local, strict=True)
        results = [t or (r if known else None) for t, r in pairs]
        return work + formed(eqn, layouts), results
    after = typed[0] if typed else None
    gathered, local = falls_out(eqn, layouts, after)
    if gathered and after is None:
        refuse(eqn.primitive.name, "which operand moves is not in its type")
    moved, results = _settle(eqn, local, typed)
    return gathered + moved + work + formed(eqn, layouts), results


def _settle(eqn, local, typed):
    """From the layouts that fall out to those that the types state."""
    name = eqn.primitive.name
    moved, results = [], []
    for var, before, after in zip(eqn.outvars, local, typed, strict=True):
        if after is None and before.unreduced:
            why = "its partial sums lie on Auto axes, and the compiler decides"
            refuse(name, f"{why} how to add them; use psum in shard_map")
        after = before if after is None else after
        if after.unreduced - before.unreduced:
            refuse(name, "its type holds partial sums that it does not make")
        steps = moves(name, var.aval, before, after)
        if any(c.kind not in SUMS for c in steps):
            axes = ", ".join(steps[0].axes)
            why = "before or after it, its types do not say; use reshard"
            refuse(name, f"it takes {steps[0].kind} over {axes}, {why}")
        moved += [_of_array(c, var.aval) for c in steps]
        results.append(after)
    return moved, results


def _check_closed(eqn, sizes):
    """What an operation multiplies within; refused if it may talk to others."""
    name = eqn.primitive.name
    if name in OPAQUE:
        refuse(name, "what it sends is not in the program")
    if _names_an_axis(eqn, sizes):
        refuse(name, "what it does over a mesh axis is not known here")
    work = []
    for inner in bodies(eqn):
        moved, products = split(
            walk(inner, [None] * len(inner.invars), sizes)[0]
        )
        work += products
        if moved:
            refuse(name, "how often it runs the collectives in it is unknown")
    if name in ONCE or not work:
        return work
    return [Unknown(name, "how often its products are formed is not known")]


def _names_an_axis(eqn, sizes):
    """Whether an effect or a parameter of an equation is a mesh axis."""
    if any(type(e).__name__ == "NamedAxisEffect" for e in eqn.effects):
        return True
    many = (tuple, list, set, frozenset)
    params = eqn.params.values()
    items = [x for p in params for x in (p if isinstance(p, many) else (p,))]
    return any(isinstance(x, str) and x in sizes for x in items)


def bodies(eqn):
    """The jaxprs among the parameters of an equation."""
    for value in eqn.params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            jaxpr = getattr(item, "jaxpr", item)
            if hasattr(jaxpr, "eqns"):
                yield jaxpr


RULES = {
    **dict.fromkeys(COLLECTIVES, _collective),
    **dict.fromkeys(SILENT, _silent),
    **dict.fromkeys(CALLS, _call),
    "jit": _jit,
    "scan": _scan,
    "cond": _cond,
    "while": _while_loop,
    "shard_map": _shard_map,
    "reshard": _reshard,
    "sharding_constraint": _constraint,
    "device_put": _device_put,
}
