"""Programs as answers: exported by the student, inspected and run by a judge.

A question makes a `request`: arguments by shape, a mesh, and how arrays lie on
it. In the student's process `export` turns the function into the bytes of a
StableHLO module. A `Program` asks the place where it is judged what these bytes
do, and what they return; nothing else that the student's process says counts.
"""

import base64
import contextlib
import functools
import inspect
import math
import re
from collections import Counter

import jax
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from shardlab import count
from shardlab.arguments import partitions, whole
from shardlab.checks import origin, plain
from shardlab.checks.question import NotAnswered, OneLine, WrongAnswer
from shardlab.count.records import VOLUME, Moved

__all__ = ["Program", "collective", "export", "pairs", "request", "types"]

# Names by which authors and students call the kinds of collectives.
KINDS = {
    "all_gather": "all_gather",
    "psum": "all_reduce",
    "psum_scatter": "reduce_scatter",
    "all_to_all": "all_to_all",
    "ppermute": "permute",
    "pbroadcast": "broadcast",
}
SECONDS = 60
# What JAX says, and what a student did.
MISTAKES = (
    (
        r"^IndexError[^\n]*\n$",
        "a pair of ppermute names a device that does not exist; N devices have "
        "the numbers 0 to N - 1, and % N leads from the last to the first",
    ),
    (
        r"callback|debug_print|effects are not supported",
        "it calls back to Python (jax.debug.print, pure_callback or "
        "io_callback), which no exported program can do; take that out",
    ),
    (
        r"custom.call",
        "it calls code that is not in the program (a kernel or a library)",
    ),
    (
        r"TracerIntegerConversionError",
        "it takes an item of a Python list, or a length, by a number that is "
        "known only when it runs, such as axis_index; use jnp.stack(...)[i] or "
        "jax.lax.dynamic_slice",
    ),
    (
        r"(reduce_scatter|all_to_all).*divisible",
        "psum_scatter or all_to_all cuts a dimension into as many pieces as "
        "there are devices, and this one does not divide; was another meant?",
    ),
    (
        r"TracerArrayConversionError|ConcretizationTypeError|TracerBoolConv",
        "it needs the numbers themselves while it is traced (NumPy on a JAX "
        "array, or an if on one)",
    ),
    (
        r"might not be replicated|require replication|possibly varying",
        "as far as JAX can see, what it returns still differs between devices "
        "that the question asks to hold the same (a sum by psum does not; a "
        'gather says so with to="invarying")',
    ),
    (
        r"unbound axis name|[Ff]ound an unbound|AssertionError: $",
        "JAX cannot trace it; most likely it names a mesh axis that this "
        "question does not have",
    ),
    (
        r"pytree structure error.*out_specs",
        "it does not return as many results as the question asks for, or not "
        "in the same tuples and dicts",
    ),
    (
        r"out_specs.*(rank|ndim)|divisible|evenly",
        "a result has too few dimensions, or sizes that the mesh does not "
        "divide, to lie as the question asks",
    ),
)


def request(
    *shapes,
    mesh,
    in_specs=None,
    out_specs=None,
    laid=None,
    check_vma=True,
    explicit=False,
):
    """What a question asks a program to be, as plain data.

    shapes     an argument each: an array, a jax.ShapeDtypeStruct, or a tuple,
               list or dict of these; sizes are those of the whole arrays
    mesh       dict, size by name of each mesh axis, in order
    in_specs   PartitionSpec of each argument, or one for all: the student's
               function is local, and is wrapped in jax.shard_map
    out_specs  PartitionSpec of what a local function returns, a tree of them
               that leads its results; with `laid`, None lets them lie anywhere
    laid       the same as in_specs, for a function of whole arrays that is
               taken as it is; where they are None too, each device has all
    check_vma  whether shard_map checks which results vary
    explicit   whether the mesh axes are Explicit, and not Auto
    returns    dict that `export` and `Program` take
    raises     ValueError that names the argument
    """
    axes, leaves = _checked_axes(mesh), []
    if in_specs is not None and (out_specs is None or laid is not None):
        raise ValueError("in_specs must come with out_specs, and without laid")
    specs = [s for s in (in_specs, laid, PartitionSpec()) if s is not None][0]
    return {
        "mesh": axes,
        "explicit": bool(explicit),
        "local": in_specs is not None,
        "check_vma": bool(check_vma),
        "tree": _tree_as_data(tuple(shapes), specs, leaves, mesh, "argument"),
        "leaves": leaves,
        "out": None if out_specs is None else _tree_of_specs(out_specs, mesh),
    }


def _checked_axes(mesh):
    """Pairs of name and size of the axes of a mesh."""
    if not isinstance(mesh, dict) or not mesh:
        raise ValueError(f"mesh must be a dict of axis sizes, got {mesh!r}")
    return [[name, whole(f"mesh[{name!r}]", n)] for name, n in mesh.items()]


def _tree_as_data(tree, specs, leaves, mesh, where):
    """A tree of shapes as plain data, with numbers of leaves as its leaves.

    tree     tuples, lists and dicts of what has a shape and a dtype
    specs    PartitionSpec, or a tree of them that leads this one
    leaves   shape, dtype and spec of each leaf are appended to it
    mesh     axis sizes by name
    where    what the tree is, for the error
    """
    if isinstance(tree, (tuple, list, dict)):
        keys = list(tree) if isinstance(tree, dict) else range(len(tree))
        _check_alike(specs, tree, where)
        parts = [
            _tree_as_data(
                tree[key],
                specs if isinstance(specs, PartitionSpec) else specs[key],
                leaves,
                mesh,
                f"{where} {key}",
            )
            for key in keys
        ]
        return _container(tree, keys, parts)
    leaves.append(_described(tree, specs, mesh, where))
    return len(leaves) - 1


def _container(tree, keys, parts):
    """A container as plain data."""
    if isinstance(tree, dict):
        return {"dict": dict(zip(keys, parts, strict=True))}
    return {"list" if isinstance(tree, list) else "tuple": parts}


def _check_alike(specs, tree, where):
    """Insist that specs are for all of a tree, or a tree like it."""
    if isinstance(specs, PartitionSpec):
        return
    if not isinstance(specs, (tuple, list, dict)) or len(specs) != len(tree):
        raise ValueError(
            f"the specs of {where} must be a PartitionSpec or {len(tree)} of "
            f"them, got {specs!r}"
        )


def _described(leaf, spec, mesh, where):
    """Shape, dtype and spec of one array, checked against the mesh."""
    if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
        raise ValueError(f"{where} must be an array or a shape, got {leaf!r}")
    if not isinstance(spec, PartitionSpec):
        raise ValueError(
            f"the spec of {where} must be a PartitionSpec, got {spec!r}"
        )
    plain_spec = _axes_of(spec, mesh)
    if len(plain_spec) > len(leaf.shape):
        raise ValueError(
            f"the spec of {where}, {spec}, must have at most "
            f"{len(leaf.shape)} entries"
        )
    for size, names in zip(leaf.shape, plain_spec, strict=False):
        if size % math.prod(mesh[name] for name in names):
            raise ValueError(
                f"{where} of shape {tuple(leaf.shape)} must be divisible by "
                f"its mesh axes, got {spec}"
            )
    return [list(map(int, leaf.shape)), np.dtype(leaf.dtype).name, plain_spec]


def _axes_of(spec, mesh):
    """A PartitionSpec as a list with the list of axes of each dimension."""
    if spec.unreduced:
        raise ValueError(f"a spec must not be unreduced, got {spec}")
    dims = [
        [part] if isinstance(part, str) else list(part or ())
        for part in partitions(spec)
    ]
    for name in (name for names in dims for name in names):
        if name not in mesh:
            raise ValueError(f"mesh must have an axis {name}, got {mesh}")
    return dims


def _tree_of_specs(specs, mesh):
    """A tree of PartitionSpecs as plain data."""
    if isinstance(specs, PartitionSpec):
        return {"spec": _axes_of(specs, mesh)}
    if isinstance(specs, dict):
        parts = {key: _tree_of_specs(spec, mesh) for key, spec in specs.items()}
        return {"dict": parts}
    if isinstance(specs, (tuple, list)):
        return {"tuple": [_tree_of_specs(spec, mesh) for spec in specs]}
    raise ValueError(f"out_specs must be PartitionSpecs, got {specs!r}")


# --- in the student's process ------------------------------------------------


def export(function, request, names=None):
    """A student's function as the bytes of an exported program.

    function  of arrays; local to a device when the request says so
    request   what `request` made, after a journey as plain data
    names     the notebook's variables; None takes those the function sees
    returns   bytes
    raises    NotAnswered when it returns nothing, WrongAnswer with one
              sentence that says why it cannot be exported
    """
    with _errors_explained(function, names):
        traced, arguments, setting = _prepared(function, request)
        with setting:
            made = jax.export.export(jax.jit(traced), platforms=["cpu"])(
                *arguments
            )
        return bytes(made.serialize())


def types(function, request, names=None):
    """The types that JAX prints for each operation of a student's function.

    For questions in the style of explicit shardings, whose exported programs
    hold constraints and no collectives. A student's process says this, so a
    check holds it against the program: `Program.types`.

    function, request, names  as in `export`

    returns  list of lists: the operation's name, then the types of its
             results, such as ["reshard", "float32[16@X,64]{U:Y}"]
    raises   as `export`
    """
    with _errors_explained(function, names):
        traced, arguments, setting = _prepared(function, request)
        with setting:
            closed = jax.make_jaxpr(traced)(*arguments)
    return list(_equations(closed.jaxpr))


def _equations(jaxpr):
    """Name and types of each equation, those of inner ones in their place."""
    for eqn in jaxpr.eqns:
        inner = [
            getattr(item, "jaxpr", item)
            for value in eqn.params.values()
            for item in (value if isinstance(value, (tuple, list)) else [value])
        ]
        inner = [body for body in inner if hasattr(body, "eqns")]
        if not inner:
            yield [eqn.primitive.name, *(str(v.aval) for v in eqn.outvars)]
        for body in inner:
            yield from _equations(body)


def _prepared(function, request):
    """The function to trace, its arguments, and the context to trace it in."""
    names, sizes = zip(*request["mesh"], strict=True)
    kind = AxisType.Explicit if request["explicit"] else AxisType.Auto
    if math.prod(sizes) > jax.device_count():
        raise WrongAnswer(
            f"this question needs {math.prod(sizes)} devices and there are "
            f"{jax.device_count()}: restart the kernel, then run the "
            "notebook's first cell"
        )
    mesh = jax.make_mesh(sizes, names, axis_types=(kind,) * len(names))
    shapes = [_abstract(*leaf, mesh) for leaf in request["leaves"]]
    traced = _answered(function)
    if request["local"]:
        traced = _local(traced, request, mesh)
    bound = request["local"] or request["explicit"]
    setting = jax.set_mesh(mesh) if bound else contextlib.nullcontext()
    return traced, _rebuilt(request["tree"], shapes), setting


def _abstract(shape, dtype, spec, mesh):
    """The shape of one array, with its sharding."""
    sharding = NamedSharding(mesh, _spec_of(spec))
    return jax.ShapeDtypeStruct(tuple(shape), dtype, sharding=sharding)


def _local(function, request, mesh):
    """A function of a device's pieces, wrapped in shard_map."""
    specs = [_spec_of(spec) for _, _, spec in request["leaves"]]
    return jax.shard_map(
        function,
        mesh=mesh,
        in_specs=_rebuilt(request["tree"], specs),
        out_specs=_specs_of(request["out"]),
        check_vma=request["check_vma"],
    )


def _answered(function):
    """The function, insisting that it returns something; lists as tuples."""

    @functools.wraps(function)
    def checked(*arguments):
        result = function(*arguments)
        if result is None or result is ...:
            raise NotAnswered(f"{_called(function)} returns nothing yet")
        return _as_tuples(result)

    return checked


def _as_tuples(tree):
    """A tree with tuples for its lists."""
    if isinstance(tree, (list, tuple)):
        return tuple(map(_as_tuples, tree))
    if isinstance(tree, dict):
        return {key: _as_tuples(part) for key, part in tree.items()}
    return tree


def _rebuilt(tree, leaves):
    """The tree that `_tree_as_data` listed, with these leaves."""
    if not isinstance(tree, dict):
        return leaves[tree]
    ((kind, parts),) = tree.items()
    if kind == "dict":
        return {key: _rebuilt(part, leaves) for key, part in parts.items()}
    made = [_rebuilt(part, leaves) for part in parts]
    return made if kind == "list" else tuple(made)


def _specs_of(tree):
    """The PartitionSpecs that `_tree_of_specs` wrote down."""
    ((kind, parts),) = tree.items()
    if kind == "spec":
        return _spec_of(parts)
    if kind == "dict":
        return {key: _specs_of(part) for key, part in parts.items()}
    return tuple(map(_specs_of, parts))


def _spec_of(dims):
    """The PartitionSpec of a list with a list of axes for each dimension."""
    return PartitionSpec(*(tuple(names) or None for names in dims))


def _called(function):
    """The name of a function."""
    return getattr(function, "__name__", "the function")


@contextlib.contextmanager
def _errors_explained(function, names=None):
    """Say in one sentence why JAX cannot trace a function, and where."""
    try:
        yield
    except OneLine:
        raise
    except Exception as error:
        if names is None:
            names = getattr(inspect.unwrap(function), "__globals__", {})
        where, name = origin.place(error, names), _called(function)
        said = f"{type(error).__name__}: {origin.message(error, 400)}"
        for pattern, sentence in MISTAKES:
            if re.search(pattern, f"{said}\n{where}", re.DOTALL):
                where = f", {where}" if where else ""
                raise WrongAnswer(f"{name}: {sentence}{where}") from None
        said = plain.printable(origin.error_in_words(error, names))
        raise WrongAnswer(f"{name} stops with {said}") from None


# --- where it is judged ------------------------------------------------------


class Program:
    """A student's exported program, and what it does.

    program  bytes
    request  what `request` made
    place    has `execute(question, seconds)`, which returns what
             `shardlab.checks.executor.answer` replies
    name     the function's, for messages
    """

    def __init__(self, program, request, place, name="program"):
        self.encoded, self.name = base64.b64encode(program).decode(), name
        self.request, self.place, self.seen = request, place, {}

    def ask(self, question, seconds=SECONDS):
        """The reply about this program; WrongAnswer where it is refused."""
        reply = self.place.execute(
            {**question, "request": self.request}, seconds
        )
        if not isinstance(reply, dict):
            raise WrongAnswer("the program could not be judged")
        if "refused" in reply:
            raise WrongAnswer(
                f"your {self.name}: {plain.printable(reply['refused'])}"
            )
        return reply

    def inspected(self, of=None):
        """What the executor sees in the program, asked once."""
        key = None if of is None else tuple(sorted(set(of)))
        if key not in self.seen:
            question = {"inspect": self.encoded, "of": key and list(key)}
            self.seen[key] = self.ask(question)
        return self.seen[key]

    def collectives(self):
        """Every collective of the program, in order.

        returns  tuple of shardlab.count.Collective
        raises   WrongAnswer that names what cannot be counted
        """
        found = self.inspected().get("collectives")
        if found is None:
            raise WrongAnswer(
                "its types leave what moves to the compiler; write the "
                "collectives in shard_map"
            )
        try:
            return Moved(
                [collective(*each) for each in found],
                dict(self.request["mesh"]),
            )
        except (TypeError, ValueError):
            raise WrongAnswer("the program could not be counted") from None

    def volume(self, axes=None):
        """Bytes in the convention of the cost formulas, as `count.volume`.

        axes     mesh axes, over exactly which it moves; None counts all
        returns  bytes
        """
        return count.volume(self.over(axes))

    def sent(self, axes=None):
        """Bytes that leave each device, as `count.sent`.

        axes     mesh axes, over exactly which it moves; None counts all
        returns  bytes
        """
        return count.sent(self.over(axes))

    def over(self, axes):
        """The collectives over exactly these axes of the request's mesh."""
        if axes is None:
            return self.collectives()
        names = {axes} if isinstance(axes, str) else set(axes)
        if not names <= set(dict(self.request["mesh"])):
            raise ValueError(f"axes must be of the mesh, got {axes!r}")
        return [c for c in self.collectives() if set(c.axes) == names]

    def kinds(self):
        """How often each kind of collective is executed, a dict."""
        counted = Counter()
        for c in self.collectives():
            counted[c.kind] += c.times
        return dict(counted)

    def gathered(self, of=None):
        """The most bytes of gathered arrays that a device holds at a time.

        of       numbers of the arguments whose descendants count, such as the
                 weights; None counts whatever was gathered
        returns  bytes, int; `shardlab.count.living` says what counts
        """
        return _bytes_in(self.inspected(self.leaves(of)), "gathered")

    def live(self):
        """The most bytes of all arrays that a device holds at a time."""
        return _bytes_in(self.inspected(), "live")

    def leaves(self, of):
        """The numbers of the arrays in these arguments."""
        if of is None:
            return None
        arguments = self.request["tree"]["tuple"]
        of = [whole("of", number, 0) for number in of]
        if not set(of) <= set(range(len(arguments))):
            raise ValueError(f"of must name arguments, got {of}")
        return [leaf for i in of for leaf in _numbers(arguments[i])]

    def results(self):
        """The type of each result, in the notation of jax.typeof."""
        return list(map(plain.printable, self.inspected()["results"]))

    def constraints(self):
        """The types that the program asks for outside shard_map, in order."""
        return list(map(plain.printable, self.inspected()["constraints"]))

    def run(self, *arrays, seconds=SECONDS):
        """What the program returns.

        arrays   the arguments, trees of NumPy arrays as the request has them;
                 they are cast to its dtypes
        seconds  how long it may take
        returns  NumPy arrays, in lists and dicts; bf16 as float32
        raises   ValueError when the arrays are not those of the request,
                 WrongAnswer when the program does not run
        """
        leaves = [None] * len(self.request["leaves"])
        _fill(self.request["tree"], arrays, leaves)
        shapes = [list(np.shape(leaf)) for leaf in leaves]
        asked = [shape for shape, _, _ in self.request["leaves"]]
        if shapes != asked:
            raise ValueError(f"arrays must have shapes {asked}, got {shapes}")
        question = {"run": self.encoded, "arguments": plain.encode(leaves)}
        try:
            return plain.decode(self.ask(question, seconds)["result"])
        except (KeyError, TypeError, ValueError):
            raise WrongAnswer("the program returned no arrays") from None

    # --- what authors ask ---

    def allow(self, *kinds, axes=None):
        """Insist that the program uses these collectives and no others.

        kinds   names as in jax.lax: all_gather, psum, psum_scatter,
                all_to_all, ppermute, pbroadcast; none allows none
        axes    names of the mesh axes that they may run over, None for all
        raises  WrongAnswer that names the others and how often they run
        """
        for kind in kinds:
            if kind not in KINDS:
                raise ValueError(f"kinds must be {list(KINDS)}, got {kind!r}")
        allowed = {KINDS[kind] for kind in kinds}
        others = Counter()
        for c in self.collectives():
            if c.kind not in allowed or not _within(c, axes):
                others[c.kind, c.axes] += c.times
        if others:
            said = ", ".join(
                f"{_lax_name(kind)} over {', '.join(over)} ({_times(n)})"
                for (kind, over), n in others.items()
            )
            only = " and ".join(kinds) or "no collectives"
            where = "" if axes is None else f" over {_axes_said(axes)}"
            raise WrongAnswer(
                f"your {self.name} uses {said}; this question allows {only}"
                f"{where}"
            )

    def uses(self, *kinds):
        """Insist that the program uses each of these collectives.

        kinds   names as in `allow`
        raises  WrongAnswer that names the first one that is missing
        """
        for kind in kinds:
            if kind not in KINDS:
                raise ValueError(f"kinds must be {list(KINDS)}, got {kind!r}")
            if KINDS[kind] not in self.kinds():
                raise WrongAnswer(
                    f"your {self.name} uses no {kind}; this question asks for "
                    "it"
                )

    def exactly(self, axes=None, *, volume=None, sent=None):
        """Insist on the bytes that the program moves.

        axes    over which axes; None counts all
        volume  bytes in the convention of the cost formulas
        sent    bytes that leave each device
        raises  WrongAnswer with the bytes that it moves
        """
        for verb, asked, moved in self.measured(axes, volume, sent):
            if moved != asked:
                more = "more" if moved > asked else "fewer"
                raise WrongAnswer(
                    f"your {self.name} {verb} {moved:,} bytes, which is {more} "
                    "than this question takes\n"
                    f"{count.table(self.collectives())}"
                )

    def at_most(self, axes=None, *, volume=None, sent=None):
        """Insist that the program moves no more bytes than these.

        axes, volume, sent  as in `exactly`
        """
        for verb, asked, moved in self.measured(axes, volume, sent):
            if moved > asked:
                raise WrongAnswer(
                    f"your {self.name} {verb} {moved:,} bytes, and {asked:,} "
                    f"are enough\n{count.table(self.collectives())}"
                )

    def measured(self, axes, volume, sent):
        """What a program does, how much of it was asked, and how much it is."""
        if volume is None and sent is None:
            raise ValueError("give volume, sent, or both")
        if volume is not None:
            yield "moves a volume of", volume, self.volume(axes)
        if sent is not None:
            yield "sends from each device", sent, self.sent(axes)

    def holds_at_most(self, gathered, of=None, live=None):
        """Insist that a device never holds more than this of gathered arrays.

        gathered  bytes
        of        numbers of the arguments that count, as in `gathered`
        live      bytes of all arrays together; a bound that cannot be met by
                  hiding where bytes come from. None sets none
        raises    WrongAnswer with the bytes that it holds
        """
        found = self.gathered(of)
        if found > gathered:
            raise WrongAnswer(
                f"your {self.name} holds {found:,} bytes of gathered arrays on "
                f"a device at a time, and {gathered:,} are enough: gather "
                "later, or let go earlier"
            )
        if live is not None and self.live() > live:
            raise WrongAnswer(
                f"your {self.name} holds {self.live():,} bytes of arrays on a "
                f"device at a time, and {live:,} are enough"
            )

    def types(self, printed):
        """The types that a student's process printed, if they are true.

        printed  what `types` returned there
        returns  printed
        raises   WrongAnswer when a resharding that it names is not in the
                 exported program, in that order
        """
        said = [
            re.sub(r"\{R:[^}]*\}", "", kind)
            for name, *kinds in printed
            for kind in kinds
            if name == "reshard"
        ]
        asked = iter(self.constraints())
        if not all(kind in asked for kind in said):
            raise WrongAnswer("the types printed are not those of the program")
        return printed


def pairs(asked, message):
    """Who sends to whom in a permute; WrongAnswer where a branch decides it.

    asked    the question in words
    message  a Collective that is a permute
    returns  pairs of positions
    """
    if message.pairs is None:
        raise WrongAnswer(
            f"{asked}: two branches of yours (lax.cond, lax.switch) send to "
            "other chips, and which one runs is known only when it runs; send "
            "in both, outside the branches, and let them choose what to keep"
        )
    return message.pairs


def collective(kind, axes, volume, sent, times, pairs):
    """The Collective of a reply's record; ValueError for any other."""
    numbers = (volume, sent, times)
    if kind not in VOLUME or not all(isinstance(a, str) for a in axes):
        raise ValueError("no record")
    for number in numbers:
        if type(number) not in (int, float) or not 0 <= number < math.inf:
            raise ValueError("no record")
    if pairs is not None:
        pairs = tuple((int(a), int(b)) for a, b in pairs)
    return count.Collective(kind, tuple(axes), volume, sent, int(times), pairs)


def _bytes_in(reply, name):
    """Bytes in a reply."""
    found = reply.get(name)
    if type(found) is not int or found < 0:
        raise WrongAnswer("what the program holds could not be counted")
    return found


def _numbers(tree):
    """The numbers of the leaves in a listed tree."""
    if not isinstance(tree, dict):
        return [tree]
    ((kind, parts),) = tree.items()
    parts = parts.values() if kind == "dict" else parts
    return [number for part in parts for number in _numbers(part)]


def _fill(tree, arrays, leaves):
    """Put the arrays of a tree at their numbers in `leaves`."""
    if not isinstance(tree, dict):
        leaves[tree] = np.asarray(arrays)
        return
    ((kind, parts),) = tree.items()
    pairs = parts.items() if kind == "dict" else enumerate(parts)
    if not isinstance(arrays, (tuple, list, dict)) or len(arrays) != len(parts):
        raise ValueError(
            f"arrays must be the {len(parts)} of the request, got {arrays!r}"
        )
    for key, part in pairs:
        _fill(part, arrays[key], leaves)


def _within(c, axes):
    """Whether a collective runs over these axes only."""
    if axes is None:
        return True
    return set(c.axes) <= ({axes} if isinstance(axes, str) else set(axes))


def _lax_name(kind):
    """The name by which jax.lax calls a kind of collective."""
    return next(name for name, other in KINDS.items() if other == kind)


def _axes_said(axes):
    """Names of axes in words."""
    return axes if isinstance(axes, str) else ", ".join(axes)


def _times(n):
    """How often, in words."""
    return "once" if n == 1 else f"{n} times"
