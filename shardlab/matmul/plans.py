"""Every plan for a product: edits of A and B, one multiplication, edits of C.

An edit is a collective over one mesh axis, or a slice: each device keeps a part
of what it holds, and nothing moves. Edits over several axes are chains of
these; a gather over X and Y sends the same bytes as one over Y and one over X.
Only what no edit makes is left out, such as an exchange of the order in I_XY.
"""

from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count as numbers
from math import prod
from typing import NamedTuple

from shardlab import cost, hw, notation
from shardlab.arguments import one_of, whole
from shardlab.matmul.products import Product, local_product, parse
from shardlab.notation import axes_used, axis_size, local_shape

__all__ = [
    "Plan",
    "Setting",
    "Step",
    "cheapest",
    "edits",
    "plans",
    "routes",
    "with_cut",
]

MOST_AXES = 3
BOTH = (0, 1)  # rows and columns
TITLES = {
    "slice": "slice",
    "all_gather": "AllGather",
    "reduce_scatter": "ReduceScatter",
    "all_reduce": "AllReduce",
    "all_to_all": "AllToAll",
}


class Step(NamedTuple):
    """One edit of one matrix.

    kind    "slice", "all_gather", "reduce_scatter", "all_reduce" or
            "all_to_all"
    axis    mesh axis
    before  Layout
    after   Layout
    sent    bytes that leave each device
    seconds on a chip; 0 if none was given
    """

    kind: str
    axis: str
    before: object
    after: object
    sent: int
    seconds: float = 0

    @property
    def title(self):
        """The step in the book's words, such as "AllGather_X"."""
        return f"{TITLES[self.kind]}_{self.axis}"


@dataclass(frozen=True)
class Plan:
    """One way to form a product.

    product  Product
    steps    of A, of B and of C: three tuples of Step; the multiplication
             stands before those of C
    sent     bytes that leave each device in all
    flops    FLOPs of each device
    times    cost.Times of both on a chip, None if no chip was given
    """

    product: Product
    steps: tuple
    sent: int
    flops: int
    times: object = None

    @property
    def summary(self):
        """The plan in a line: "AllGather_X(A), multiply"."""
        words = [
            [f"{step.title}({name})" for step in steps]
            for name, steps in zip("ABC", self.steps, strict=True)
        ]
        return ", ".join([*words[0], *words[1], "multiply", *words[2]])

    def __str__(self):
        """A line for each step, with the bytes that leave each device."""
        lines = [
            (step.title, f"{step.before} -> {step.after}", step.sent)
            for step in (*self.steps[0], *self.steps[1])
        ]
        lines += [("multiply", f"-> {self.formed}", 0)]
        lines += [
            (step.title, f"-> {step.after}", step.sent)
            for step in self.steps[2]
        ]
        wide, long = (max(len(line[n]) for line in lines) for n in (0, 1))
        return "\n".join(
            f"{title:{wide}}  {words:{long}}  {sent:>7,} B"
            for title, words, sent in lines
        )

    @property
    def formed(self):
        """The Layout that the multiplication leaves."""
        A, B = self.multiplied
        return local_product(A, B, self.product.C.name)

    @property
    def multiplied(self):
        """The Layouts of A and B when they are multiplied."""
        factors = zip(self.product[:2], self.steps[:2], strict=True)
        return [steps[-1].after if steps else x for x, steps in factors]


class Setting(NamedTuple):
    """What a price depends on.

    sizes     of the dimensions, by name
    mesh      sizes of the axes, by name
    itemsize  bytes of an element
    chip      Chip or None
    wrap      whether mesh axes are rings
    """

    sizes: dict
    mesh: dict
    itemsize: int
    chip: object
    wrap: bool

    def shape(self, layout):
        """The local shape of a matrix, or None if its pieces are uneven."""
        sizes = [self.sizes[dim] for dim in layout.dims]
        for size, cut in zip(sizes, layout.axes, strict=True):
            if size % prod(self.mesh[axis] for axis in cut):
                return None
        return local_shape(layout, sizes, self.mesh)

    def bytes(self, layout):
        """The bytes of a matrix on one device."""
        return prod(self.shape(layout)) * self.itemsize


# ---- one edit ----------------------------------------------------------------


def edits(layout, mesh):
    """What one collective over one axis makes of a layout, or a slice.

    layout   Layout of a matrix
    mesh     sizes of the mesh axes by name
    returns  list of (kind, axis, Layout)
    source   chapter 2
    """
    found = []
    for d, cut in enumerate(layout.axes):
        for axis in cut[-1:]:  # only the last letter of a dimension can go
            bare = with_cut(layout, d, cut[:-1])
            found.append(("all_gather", axis, bare))
            found.append(("all_to_all", axis, _joined(bare, 1 - d, axis)))
    for axis in layout.unreduced:
        paid = _paid_off(layout, axis)
        found.append(("all_reduce", axis, paid))
        found += [
            ("reduce_scatter", axis, _joined(paid, d, axis)) for d in BOTH
        ]
    for axis in sorted(set(mesh) - axes_used(layout)):
        found += [("slice", axis, _joined(layout, d, axis)) for d in BOTH]
    return found


def with_cut(layout, d, cut):
    """A layout whose dimension d is cut by these axes.

    layout   Layout
    d        number of the dimension
    cut      tuple of mesh axes
    returns  Layout
    """
    axes = (*layout.axes[:d], tuple(cut), *layout.axes[d + 1 :])
    return replace(layout, axes=axes)


def _joined(layout, d, axis):
    """A layout whose dimension d is cut by one more axis, the last letter.

    layout   Layout
    d        number of the dimension
    axis     mesh axis
    returns  Layout
    """
    return with_cut(layout, d, (*layout.axes[d], axis))


def _paid_off(layout, axis):
    """A layout whose sums over one axis have been added up.

    layout   Layout
    axis     mesh axis
    returns  Layout
    """
    left = tuple(name for name in layout.unreduced if name != axis)
    return replace(layout, unreduced=left)


def _sent_by(kind, axis, before, after, setting):
    """The bytes that leave each device in one edit, by formula."""
    N = setting.mesh[axis]
    if kind == "slice":
        return 0
    if kind == "all_to_all":
        return cost.sent(kind, N * setting.bytes(before), N)
    whole_array = after if kind == "all_gather" else before
    return cost.sent(kind, setting.bytes(whole_array), N)


def _priced(kind, axis, before, after, setting):
    """The Step of one edit; on a chip its seconds, latency included."""
    sent = _sent_by(kind, axis, before, after, setting)
    bare = Step(kind, axis, before, after, sent)
    N, chip, wrap = setting.mesh[axis], setting.chip, setting.wrap
    if chip is None or kind == "slice" or N == 1:
        return bare
    hops = cost.hops(N, wrap, hw.ring_directions(chip) if wrap else 2)
    waits = hops * chip.hop_latency * (2 if kind == "all_reduce" else 1)
    if kind == "all_to_all":
        V = N * setting.bytes(before)
        moves = cost.t_exchange(V, N, chip, wrap=wrap)
    else:
        moves = float(sent) / hw.axis_bw(chip, wrap)
    return bare._replace(seconds=waits + moves)


# ---- all edits, and the cheapest chain of them -------------------------------


def _graph(starts, setting):
    """Every layout that edits make of some, and every edit between them."""
    steps, waiting = {}, list(starts)
    while waiting:
        before = waiting.pop()
        if before in steps:
            continue
        steps[before] = [
            _priced(kind, axis, before, after, setting)
            for kind, axis, after in edits(before, setting.mesh)
            if setting.shape(after)
        ]
        waiting += [step.after for step in steps[before]]
    return steps


def _reversed_graph(steps):
    """The same edits, listed by the layout that they lead to."""
    back = {layout: [] for layout in steps}
    for step in (step for row in steps.values() for step in row):
        back[step.after].append(step)
    return back


def routes(steps, start, end="after"):
    """The cheapest chain of edits from one layout to each other: Dijkstra.

    steps    dict: Layout -> list of Step
    start    Layout
    end      "after"; "before" for chains that lead to `start`
    returns  dict: Layout -> tuple of Step, by seconds, bytes and number
    """
    found, order = {}, numbers()
    waiting = [((0, 0, 0), next(order), start, ())]
    while waiting:
        paid, _, layout, chain = heappop(waiting)
        if layout in found:
            continue
        found[layout] = chain
        for step in steps[layout]:
            price = (paid[0] + step.seconds, paid[1] + step.sent, paid[2] + 1)
            longer = (*chain, step) if end == "after" else (step, *chain)
            heappush(waiting, (price, next(order), getattr(step, end), longer))
    return found


# ---- plans -------------------------------------------------------------------


def plans(text, sizes, mesh, itemsize=4, chip=None, wrap=True, overlap=False):
    """All plans for a product, the cheapest first.

    Two plans differ in the layouts that are multiplied; of all chains of edits
    that lead to these, and from there to C, only the cheapest is listed.

    text      such as "A[I, J_X] . B[J_X, K] -> C[I, K_X]"
    sizes     of the dimensions, in elements: {"I": 8, "J": 16, "K": 8}
    mesh      sizes of the mesh axes by name: {"X": 4, "Y": 2}
    itemsize  bytes per element; 4 is float32
    chip      None: fewest bytes sent first, and of these fewest FLOPs; a Chip:
              fewest seconds first, each mesh axis being one axis of its torus
    wrap      True: mesh axes are rings; False: lines
    overlap   whether arithmetic is taken to run beside the collectives
    returns   list of Plan
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 3
    """
    product = parse(text)
    one_of("overlap", overlap, (False, True))
    setting = _checked_setting(product, sizes, mesh, itemsize, chip, wrap)
    found = _every_plan(product, setting)
    return sorted(found, key=lambda plan: _rank(plan, overlap))


def cheapest(
    text, sizes, mesh, itemsize=4, *, chip=None, wrap=True, overlap=False
):
    """The cheapest plan for a product: the first of `plans`.

    text, sizes, mesh, itemsize, chip, wrap, overlap  as in `plans`
    returns  Plan
    raises   ValueError that names the argument and what was expected
    source   scaling-book part 3
    """
    return plans(text, sizes, mesh, itemsize, chip, wrap, overlap)[0]


def _every_plan(product, setting):
    """A Plan for each pair of layouts in which A and B can be multiplied."""
    A_to, B_to = (
        routes(_graph([factor], setting), factor) for factor in product[:2]
    )
    pairs = [
        (A, B, formed)
        for A in A_to
        for B in B_to
        if (formed := local_product(A, B, product.C.name))
        and setting.shape(formed)
    ]
    onward = _reversed_graph(_graph({formed for *_, formed in pairs}, setting))
    to_C = routes(onward, product.C, "before") if product.C in onward else {}
    return [
        _summed_up(product, (A_to[A], B_to[B], to_C[formed]), A, B, setting)
        for A, B, formed in pairs
        if formed in to_C
    ]


def _summed_up(product, chains, A, B, setting):
    """The Plan of three chains of edits, with what it costs in all."""
    (rows, inner), (_, columns) = setting.shape(A), setting.shape(B)
    flops = cost.matmul_flops(rows, inner, columns)
    steps = [step for chain in chains for step in chain]
    sent = sum(step.sent for step in steps)
    times = None
    if setting.chip is not None:
        comm = sum(step.seconds for step in steps)
        times = cost.Times(flops / hw.flops_at(setting.chip), comm)
    return Plan(product, chains, sent, flops, times)


def _rank(plan, overlap):
    """What plans are sorted by."""
    length = sum(map(len, plan.steps))
    cheap = (plan.sent, plan.flops, length, plan.summary)
    if plan.times is None:
        return cheap
    return (cost.seconds(plan.times, overlap), sum(plan.times), *cheap)


def _checked_setting(product, sizes, mesh, itemsize, chip, wrap):
    """The Setting of a product, if every layout of it can be."""
    if not isinstance(mesh, dict) and not hasattr(mesh, "items"):
        raise ValueError(f"mesh must be sizes by axis name, got {mesh!r}")
    mesh = {axis: axis_size(mesh, axis) for axis in mesh}
    if len(mesh) > MOST_AXES:
        raise ValueError(
            f"mesh must have at most {MOST_AXES} axes, got {len(mesh)}"
        )
    needed = {*product.A.dims, *product.B.dims}
    if not isinstance(sizes, dict) or set(sizes) != needed:
        raise ValueError(
            f"sizes must give {', '.join(sorted(needed))}, got {sizes!r}"
        )
    sizes = {dim: whole(f"sizes[{dim!r}]", n) for dim, n in sizes.items()}
    for layout in product:
        shape = [sizes[dim] for dim in layout.dims]
        notation.local_shape(layout, shape, mesh)  # says what does not divide
    if chip is not None and not isinstance(chip, hw.Chip):
        raise ValueError(f"chip must be a Chip or None, got {chip!r}")
    one_of("wrap", wrap, (True, False))
    return Setting(sizes, mesh, whole("itemsize", itemsize), chip, wrap)
