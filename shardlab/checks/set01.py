"""Set 01, sharded arrays: what devices hold, and which layouts there are.

Bytes and shapes are asked of JAX, blocks are read off the devices, and what is
gathered is read in the compiled program.
"""

import functools
import re
from itertools import combinations
from math import prod

import jax
import jax.numpy as jnp
import numpy as np
from jax import P
from jax.sharding import AbstractMesh, AxisType, NamedSharding

from shardlab import hw
from shardlab.checks import compare, question, student
from shardlab.checks.question import WrongAnswer

__all__ = [
    "check_all_devices",
    "check_block_on",
    "check_fewest",
    "check_gathered",
    "check_layouts",
    "check_local_shape",
    "check_one_device",
    "check_place",
    "check_ratios",
    "check_read",
    "grade_all_devices",
    "grade_block_on",
    "grade_fewest",
    "grade_gathered",
    "grade_layouts",
    "grade_local_shape",
    "grade_one_device",
    "grade_place",
    "grade_ratios",
    "grade_read",
]


def _block(shape, cuts, mesh):
    """The shape of one device's block, as JAX has it.

    shape  sizes, in elements
    cuts   PartitionSpec
    mesh   dict, size by name of each axis
    """
    devices = AbstractMesh(tuple(mesh.values()), tuple(mesh))
    return NamedSharding(devices, cuts).shard_shape(tuple(shape))


def _scaled(I, J, X, Y, Z):
    """Bytes of a block of int8 A[I_Y, J_Z], and of float32 S[I_Y]."""
    mesh = {"X": X, "Y": Y, "Z": Z}
    scales = 4 * prod(_block((I,), P("Y"), mesh))
    return prod(_block((I, J), P("Y", "Z"), mesh)), scales


@question.visible(
    "bytes_on_one_device", (105, 14, 3, 5, 2), (128, 2048, 2, 8, 2)
)
def check_one_device(I, J, X, Y, Z):
    """Question 1: bytes of A[I_Y, J_Z] and S[I_Y] on a device of X x Y x Z."""
    block, scales = _scaled(I, J, X, Y, Z)
    both = I * J + 4 * I
    compare.equal(
        f"bytes_on_one_device({I}, {J}, {X}, {Y}, {Z})",
        student.call("bytes_on_one_device", I, J, X, Y, Z),
        block + scales,
        likely=[
            (block, "you forget the scales, one for each row"),
            (scales, "you count the scales alone"),
            (both, "those are your whole arrays, not the part of one device"),
            (
                block + scales // Z,
                "you cut the scales along Z; they have no columns",
            ),
            (block + 4 * I, "you hold all scales; Y cuts them like the rows"),
            (block + scales // 4, "you give a scale 1 byte; float32 has 4"),
            (block + scales // 2, "you give a scale 2 bytes; float32 has 4"),
            (
                both // (X * Y * Z),
                "you divided by all devices, but X cuts neither of the two",
            ),
            (I * J // Y + scales, "you cut A by Y alone; Z cuts its columns"),
            (
                I * J // (X * Z) + 4 * I // X,
                "you cut the rows by X, along which copies lie",
            ),
            (
                I * J // (X * Y) + scales,
                "you cut A by X, along which copies lie, and not by Z",
            ),
            (I * J // Z + 4 * I, "you cut by Z alone; Y cuts the rows"),
            (
                2 * block + scales,
                "you count 2 bytes an element of A; int8 has one",
            ),
            (8 * (block + scales), "you count bits; bytes are asked for"),
            (
                4 * block + scales,
                "you count 4 bytes an element of A; int8 has one",
            ),
            (
                block + 4 * J // Z,
                "you give each column a scale; each row has one",
            ),
        ],
    )


def grade_one_device():
    """Question 1 with other sizes."""
    draw = question.draw("int8_bytes_one")
    for sizes in draw.integers(2, 9, (6, 5)).tolist():
        X, Y, Z, rows, columns = sizes
        check_one_device(rows * Y, columns * Z, X, Y, Z)


@question.visible(
    "bytes_on_all_devices", (105, 14, 3, 5, 2), (128, 2048, 2, 8, 2)
)
def check_all_devices(I, J, X, Y, Z):
    """Question 1: bytes of A[I_Y, J_Z] and S[I_Y] on all devices together."""
    block, scales = _scaled(I, J, X, Y, Z)
    both = I * J + 4 * I
    compare.equal(
        f"bytes_on_all_devices({I}, {J}, {X}, {Y}, {Z})",
        student.call("bytes_on_all_devices", I, J, X, Y, Z),
        (block + scales) * X * Y * Z,
        likely=[
            (I * J * X, "you forget the scales, one for each row"),
            (both, "that is one copy; how many copies do you find along X?"),
            (
                both * X,
                "you count as many copies of the scales as of A; Z cuts A only",
            ),
            (
                I * J * X + 4 * I,
                "you count one copy of the scales; X and Z hold more",
            ),
            (I * J * X + I * X * Z, "you give a scale 1 byte; float32 has 4"),
            (both * X * Y * Z, "you let each device hold the whole arrays"),
            (block + scales, "that is what one device holds"),
            (
                I * J * X * Y + 4 * I * X * Y * Z,
                "you count copies along Y, which cuts the rows",
            ),
            (
                I * J * Y + 4 * I * Y * Z,
                "you count copies along Y; it is X that cuts nothing",
            ),
            (
                2 * I * J * X + 4 * I * X * Z,
                "you count 2 bytes an element of A; int8 has one",
            ),
            (
                8 * (block + scales) * X * Y * Z,
                "you count bits; bytes are asked for",
            ),
        ],
    )


def grade_all_devices():
    """Question 1 with other sizes."""
    draw = question.draw("int8_bytes_all")
    for sizes in draw.integers(2, 9, (6, 5)).tolist():
        X, Y, Z, rows, columns = sizes
        check_all_devices(rows * Y, columns * Z, X, Y, Z)


@question.visible(
    "read_seconds",
    (60, 4096, 5, 3, hw.H100.hbm_bw),
    (63, 1024, 3, 7, hw.V5E.hbm_bw),
)
def check_read(I, J, X, Y, hbm_bw):
    """Question 2: seconds to read a block of float32 A[I_XY, J], and x[J]."""
    block = _block((I, J), P(("X", "Y"), None), {"X": X, "Y": Y})
    seconds = 4 * (prod(block) + J) / hbm_bw
    compare.close(
        f"read_seconds({I}, {J}, {X}, {Y}, {hbm_bw:g})",
        student.call("read_seconds", I, J, X, Y, hbm_bw),
        seconds,
        likely=[
            (
                4 * prod(block) / hbm_bw,
                "you read the block alone; the vector is read as well",
            ),
            (
                4 * (I + 1) * J / (X * Y) / hbm_bw,
                "you cut the vector; all of it lies on every chip",
            ),
            (
                4 * (prod(block) + I) / hbm_bw,
                "your vector has I numbers; rows of A have J",
            ),
            *(
                (
                    4 * (prod(block) + J / axis) / hbm_bw,
                    "you cut the vector; all of it lies on every chip",
                )
                for axis in (X, Y)
            ),
            (
                (4 * prod(block) + J) / hbm_bw,
                "you count elements of the vector; a float32 takes 4 bytes",
            ),
            (seconds / 4, "you count elements; a float32 takes 4 bytes"),
            (seconds * 8, "you count bits; the bandwidth is in bytes"),
            (seconds / 2, "you count 2 bytes an element, as for bf16"),
            (seconds * 2, "you count 8 bytes an element, as for float64"),
            (4 * (I + 1) * J / hbm_bw, "you read the whole matrix"),
            (
                seconds * hbm_bw / hw.H100.link_bw,
                "you take the bandwidth to other chips; a chip reads its own "
                "memory",
            ),
            (
                4 * (I // X + 1) * J / hbm_bw,
                "you cut the rows by X alone; Y cuts them as well",
            ),
            (
                4 * (I // Y + 1) * J / hbm_bw,
                "you cut the rows by Y alone; X cuts them as well",
            ),
            (1 / seconds, "yours is upside down: bytes over bytes per second"),
            (seconds * 1e9, "you give nanoseconds; seconds are asked for"),
            (seconds * 1e6, "you give microseconds; seconds are asked for"),
            (
                seconds * hbm_bw / hw.H100.hbm_bw,
                "you take an H100's bandwidth, and not the one given",
            ),
            (
                294e-9,
                "that is a time in print, of another matrix, rounded down",
            ),
        ],
    )


def grade_read():
    """Question 2 with other chips and sizes."""
    draw = question.draw("read_time")
    for chip in (hw.A100, hw.V5E, hw.V5P):
        # Not 2, 4 or 8: an axis forgotten should not look like a data type.
        X, Y = draw.permutation([3, 5, 6, 7, 9])[:2].tolist()
        rows, J = draw.integers(3, 12, 2).tolist()
        check_read(rows * X * Y, J, X, Y, chip.hbm_bw)


@question.visible("ratios", (4, 8, 2), (3, 5, 7))
def check_ratios(X, Y, Z):
    """Question 3: bytes of A[I_X, ...] everywhere, over a copy and a device."""
    shape = (3 * X, 5, 7)
    block = prod(_block(shape, P("X", None, None), {"X": X, "Y": Y, "Z": Z}))
    everywhere = block * X * Y * Z
    copy, device = everywhere // prod(shape), everywhere // block
    compare.equal(
        f"ratios({X}, {Y}, {Z})",
        student.call("ratios", X, Y, Z),
        (copy, device),
        names=("number of copies", "ratio to one device"),
        likely=[
            ((device, copy), "your two numbers are in the wrong order"),
            ((copy, copy), "your second is for one copy, not for one device"),
            ((device, device), "your first is for one device, not one copy"),
            ((1, device), "you count one copy; Y and Z hold more of them"),
            ((X, device), "you count copies along X, which cuts the array"),
            ((Y + Z, X + Y + Z), "you add the axes of the mesh"),
            ((Y, device), "you count copies along Y alone; Z holds some, too"),
            ((Z, device), "you count copies along Z alone; Y holds some, too"),
            (
                (copy, X),
                "your second is one copy over one device; all devices count",
            ),
        ],
    )


def grade_ratios():
    """Question 3 with other meshes."""
    draw = question.draw("ratios")
    for _ in range(6):
        check_ratios(*draw.integers(2, 12, 3).tolist())


MESH = {"X": 2, "Y": 8, "Z": 2}


@question.visible(
    "local_shape",
    ([128, 2048], ["XY", ""], MESH),
    ([128, 2048], ["X", "Y"], MESH),
    ([16, 24, 2], ["Y", "", "Z"], MESH),
    ([16, 16], ["X", "X"], MESH),
    ([16, 16], ["XX", ""], MESH),
    ([16, 24, 8], ["X", "Y", "X"], MESH),
    ([24, 16], ["XY", ""], MESH),
    ([3, 5], ["", ""], MESH),
    ([3, 6, 30], ["", "ZX", "Y"], {"X": 3, "Y": 5, "Z": 2}),
)
def check_local_shape(shape, cuts, mesh):
    """Question 4: the shape of a device's block, or "illegal"."""
    try:
        counted = list(_block(shape, P(*map(tuple, cuts)), mesh))
    except Exception:  # JAX refuses with errors of several types
        counted = "illegal"
    asked = f"local_shape({shape}, {cuts}, {mesh})"
    got = student.call("local_shape", shape, cuts, mesh)
    if _is_other_word(got):
        compare.wrong(
            asked, got, 'expected a list of sizes, or the string "illegal"'
        )
    if counted == "illegal" and isinstance(got, list):
        compare.wrong(asked, got, _refused(cuts))
    if counted != "illegal" and isinstance(got, str):
        compare.wrong(asked, got, "you refuse this layout; JAX accepts it")
    likely = [
        (list(shape), "your sizes are those of the whole array"),
        (_cut(shape, [axes[:1] for axes in cuts], mesh), FIRST_ONLY),
        (_cut(shape, [axes[-1:] for axes in cuts], mesh), LAST_ONLY),
        (
            _cut(shape, [[*mesh]] * len(shape), mesh),
            "you let every axis of the mesh cut every dimension",
        ),
    ]
    names = [f"size {i}" for i in range(len(shape))]
    compare.equal(asked, got, counted, likely, names)


def _is_other_word(answer):
    """Whether this is a text other than "illegal", or one text in a list."""
    if isinstance(answer, list):
        return len(answer) == 1 and isinstance(answer[0], str)
    return isinstance(answer, str) and answer != "illegal"


def _refused(cuts):
    """Why there is no such layout, in words."""
    letters = "".join(cuts)
    twice = [axis for axis in letters if letters.count(axis) > 1]
    if twice:
        return f"you give a shape, but {twice[0]} is to cut the array twice"
    return "you give a shape, but a dimension does not divide"


FIRST_ONLY = "you cut by the first axis of a subscript alone"
LAST_ONLY = "you cut by the last axis of a subscript alone"


def _cut(shape, cuts, mesh):
    """Sizes of a block, rounded down where they do not divide."""
    return [
        size // prod(mesh[axis] for axis in axes)
        for size, axes in zip(shape, cuts, strict=True)
    ]


def grade_local_shape():
    """Question 4 with other layouts, sizes and meshes."""
    draw = question.draw("local_shape")
    X, Y, Z = draw.choice([2, 3, 4, 5], 3, replace=False).tolist()
    mesh = {"X": X, "Y": Y, "Z": Z}
    layouts = (["ZX", "Y"], ["", "YZX"], ["Y", "", "XZ"], ["ZZ", ""], ["", ""])
    for cuts in layouts:
        shape = draw.integers(1, 5, len(cuts)).tolist()
        for i, axes in enumerate(cuts):
            shape[i] *= prod(mesh[axis] for axis in axes)
        check_local_shape(shape, cuts, mesh)  # it divides
        check_local_shape([size + 1 for size in shape], cuts, mesh)
    check_local_shape([60, 60, 60], ["X", "Y", "YZ"], mesh)
    check_local_shape([60, 60, 60], ["ZX", "", "X"], mesh)
    check_local_shape([60, 60, 60], ["X", "Y", "X"], mesh)
    # Each axis divides these sizes, and the two together do not.
    check_local_shape([6], ["XY"], {"X": 2, "Y": 2})
    check_local_shape([12], ["XY"], {"X": 2, "Y": 4})


@question.visible(
    "block_on",
    ("X", {"X": 2, "Y": 4}),
    ("XY", {"X": 2, "Y": 4}),
    ("YX", {"X": 2, "Y": 4}),
    ("ZX", {"X": 2, "Y": 2, "Z": 2}),
    ("XYZ", {"X": 2, "Y": 1, "Z": 4}),
)
def check_block_on(order, sizes):
    """Question 5: which block each device of a mesh holds."""
    question.need_devices(8)
    types = (AxisType.Auto,) * len(sizes)
    mesh = jax.make_mesh(tuple(sizes.values()), tuple(sizes), axis_types=types)
    numbers = np.arange(prod(sizes[axis] for axis in order))
    x = jax.device_put(numbers, NamedSharding(mesh, P(tuple(order))))
    held = {s.device: int(np.asarray(s.data)[0]) for s in x.addressable_shards}
    for place, device in np.ndenumerate(mesh.devices):
        position = dict(zip(sizes, place, strict=True))
        compare.equal(
            f"block_on({position}, {order!r}, {sizes})",
            student.call("block_on", position, order, sizes),
            held[device],
            likely=_mistaken_blocks(position, order, sizes),
        )


def _mistaken_blocks(position, order, sizes):
    """Numbers that mistakes give to a device's block, and the mistakes."""
    digits = [position[axis] for axis in order]
    bases = [sizes[axis] for axis in order]
    device, in_order = 0, "".join(sorted(order))
    for axis, size in sizes.items():
        device = device * size + position[axis]

    def number(digits, bases):
        found = 0
        for digit, base in zip(digits, bases, strict=True):
            found = found * base + digit
        return found

    sorted_digits = [position[axis] for axis in in_order]
    sorted_bases = [sizes[axis] for axis in in_order]
    told = {}
    for value, sentence in [
        (
            number(digits[::-1], bases[::-1]),
            "you take the last letter of `order` as the major one",
        ),
        (
            number(sorted_digits, sorted_bases),
            "you take the letters in alphabetical order, not in this one",
        ),
        (device, "you number the devices of the mesh, not the blocks"),
        (sum(digits), "you add the coordinates; they are digits of a number"),
        (
            number(digits, bases[:1] * len(bases)),
            "you take the size of the first axis as the base of every digit",
        ),
        (
            number(digits, bases[-1:] * len(bases)),
            "you take the size of the last axis as the base of every digit",
        ),
        (
            functools.reduce(
                lambda found, each: (found + each[0]) * each[1],
                zip(digits, bases, strict=True),
                0,
            ),
            "you multiply after you add; the last coordinate is added as it is",
        ),
        (number(digits, bases) + 1, "the first block has the number 0"),
        (
            number([*position.values()][::-1], [*sizes.values()][::-1]),
            "axes that are not in `order` do not cut",
        ),
    ]:
        told.setdefault(value, []).append(sentence)
    return [(value, ", or ".join(words[:2])) for value, words in told.items()]


def grade_block_on():
    """Question 5 with other orders and meshes."""
    draw = question.draw("block_on")
    for order in ("X", "Y", "YX"):
        check_block_on(order, {"X": 4, "Y": 2})
    check_block_on("XYZ", {"X": 2, "Y": 1, "Z": 4})
    check_block_on("ZYX", {"X": 4, "Y": 2, "Z": 1})
    for _ in range(4):
        order = draw.permutation(list("XYZ"))[: draw.integers(1, 4)]
        check_block_on("".join(order), {"X": 2, "Y": 2, "Z": 2})


@question.visible("place", (4, 8), (6, 4))
def check_place(rows, columns, seed=0):
    """Question 6: which part of a matrix each of eight devices holds.

    rows, columns  sizes of the matrix
    seed           of its entries, which are drawn
    """
    question.need_devices(8)
    x = np.random.default_rng(seed).normal(size=(rows, columns))
    half, quarter = rows // 2, columns // 4
    expected = {}
    for d in range(8):
        top, left = half * (d % 2), quarter * (d // 2)
        expected[d] = x[top : top + half, left : left + quarter]
    compare.blocks(
        f"place(a matrix of {rows} x {columns})",
        student.blocks("place", x),
        expected,
        x,
    )


def grade_place():
    """Question 6 with other matrices."""
    draw = question.draw("place")
    for rows, columns in ((2, 4), (6, 20), (14, 12)):
        check_place(rows, columns, int(draw.integers(2**31)))


@question.visible(
    "fewest_pieces",
    (2048, 1024, {"X": 4, "Y": 2}, 3 * 2**19),
    (2048, 1024, {"X": 4, "Y": 2}, 2**22),
    (2048, 1024, {"X": 4, "Y": 2}, 2**10),
    (12, 64, {"X": 8, "Y": 2}, 2 * 12 * 64 // 4),
    (70, 8, {"X": 2, "Y": 5, "Z": 7}, 2 * 70 * 8 // 14),
    (30, 8, {"X": 2, "Y": 3, "Z": 5}, 2 * 30 * 8 // 6),
    (48, 64, {"X": 8, "Y": 2, "Z": 3}, 1100),
    (2048, 1024, {"X": 4, "Y": 2}, 600_000),
)
def check_fewest(I, J, mesh, free):
    """Question 7: the fewest row blocks of bf16[I, J] that fit."""
    fitting = []
    for n in range(len(mesh) + 1):
        for axes in combinations(mesh, n):
            try:
                block = _block((I, J), P(axes, None), mesh)
            except ValueError:
                continue  # JAX refuses a cut that does not divide
            if 2 * prod(block) <= free:
                fitting.append(I // block[0])
    counted = min(fitting, default="impossible")
    asked = f"fewest_pieces({I}, {J}, {mesh}, {free})"
    got = student.call("fewest_pieces", I, J, mesh, free)
    if counted == "impossible" and not isinstance(got, str):
        reason = "you find a cut; none that divides the rows makes them fit"
        compare.wrong(asked, got, reason)
    if counted != "impossible" and isinstance(got, str):
        compare.wrong(asked, got, "you find none; a set of axes fits")
    likely = [
        (pieces, "yours fits; fewer pieces do, too") for pieces in fitting
    ]
    likely += _other_cuts(I, J, mesh, free)
    compare.equal(asked, got, counted, likely)


def _other_cuts(I, J, mesh, free):
    """Numbers of pieces that a mistake gives, with the mistake."""
    products = {
        prod(sizes)
        for n in range(len(mesh) + 1)
        for sizes in combinations(mesh.values(), n)
    }
    likely = [(-(-2 * I * J // free), "no set of axes cuts into your number")]
    for pieces in sorted(products):
        if I % pieces:
            likely.append((pieces, "your number of pieces divides no rows"))
        elif 2 * I * J // pieces > free:
            likely.append((pieces, "a block of yours does not fit"))
    return likely + [(0, "you give no pieces; not cut is one piece")]


def grade_fewest():
    """Question 7 with other matrices and meshes."""
    draw = question.draw("fewest")
    check_fewest(12, 64, {"X": 8, "Y": 3}, 2 * 12 * 64 // 3)
    # The first and last axis together, or the first and the second.
    check_fewest(70, 8, {"X": 2, "Y": 5, "Z": 7}, 2 * 70 * 8 // 14)
    check_fewest(30, 8, {"X": 2, "Y": 3, "Z": 5}, 2 * 30 * 8 // 6)
    for _ in range(8):
        mesh = dict(zip("XYZ", draw.integers(2, 7, 3).tolist(), strict=True))
        I, J = int(draw.choice([30, 48, 60, 120])), int(draw.integers(8, 64))
        check_fewest(I, J, mesh, 2 * I * J // int(draw.integers(1, 40)))


# The product's matrices. I, J and K keep their odd factor however they are cut.
MATRICES = {"A": (24, 40), "B": (40, 56), "C": (24, 56)}
MOVING = re.compile(
    r"= f32\[(\d+),(\d+)\]\S* (all-gather|all-reduce|reduce-scatter|"
    r"all-to-all|collective-permute)\("
)


@functools.cache
def _compiled(A, B, C, X, Y):
    """What XLA gathers for A B -> C, as its program says.

    A, B, C  pairs of texts, the axes that cut rows and columns
    X, Y     sizes of the mesh
    returns  (matrix, axis), or () where nothing moves
    raises   ValueError if the compiler does something else
    """
    auto = (AxisType.Auto,) * 2
    mesh = jax.make_mesh((X, Y), ("X", "Y"), axis_types=auto)
    given = [
        jax.ShapeDtypeStruct(
            MATRICES[name], np.float32, sharding=NamedSharding(mesh, P(*own))
        )
        for name, own in (("A", _names(A)), ("B", _names(B)))
    ]
    to_C = NamedSharding(mesh, P(*_names(C)))
    with jax.set_mesh(mesh):
        lowered = jax.jit(jnp.matmul, out_shardings=to_C).lower(*given)
    moved = MOVING.findall(lowered.compile().as_text())
    if not moved:
        return ()
    shapes = _once_gathered(A, B, C, {"X": X, "Y": Y})
    for key, block in shapes.items():
        if moved == [(*map(str, block), "all-gather")]:
            return key
    raise ValueError(f"expected one all-gather of {shapes}, got {moved}")


def _names(cuts):
    """The entries of a partition spec."""
    return [axes or None for axes in cuts]


def _once_gathered(A, B, C, sizes):
    """The blocks of what may be gathered: {(matrix, axis): shape}."""
    blocks = {}
    for name, cuts in (("A", A), ("B", B)):
        for axis in filter(None, cuts):
            rest = P(*(None if own == axis else own or None for own in cuts))
            blocks[name, axis] = _block(MATRICES[name], rest, sizes)
    for axis in {A[0], B[1]} - {"", *C}:
        blocks["C", axis] = _block(MATRICES["C"], P(*_names(C)), sizes)
    return blocks


# Layouts of A, B and C on axes p and q; no case needs two gathers, or a sum.
PRODUCTS = (
    ("p-", "-q", "pq"),
    ("pq", "-q", "pq"),
    ("p-", "pq", "pq"),
    ("p-", "-q", "p-"),
    ("p-", "-q", "-q"),
    ("p-", "--", "-p"),
    ("--", "-p", "p-"),
)


def _laid(product, p, q):
    """The layouts of a product on the axes p and q, as texts."""
    axes = {"p": p, "q": q, "-": ""}
    return [[axes[letter] for letter in cuts] for cuts in product]


@question.visible(
    "gathered",
    *((*_laid(product, "X", "Y"), 2, 4) for product in PRODUCTS),
)
def check_gathered(A, B, C, X, Y):
    """Question 8: what XLA gathers of a product on a mesh of X and Y."""
    question.need_devices(8)
    expected = _compiled(tuple(A), tuple(B), tuple(C), X, Y)
    asked = f"gathered({A}, {B}, {C})"
    got = compare.entries(asked, student.call("gathered", A, B, C), None)
    if got and not expected:
        reason = "each device has what its block of C takes"
        compare.wrong(asked, got, reason)
    if expected and not got:
        reason = "some device lacks a part of what its block of C takes"
        compare.wrong(asked, got, reason)
    compare.equal(
        asked,
        got,
        expected,
        likely=_mistaken_gathers(*expected) if expected else (),
        names=("matrix", "axis"),
    )


def _mistaken_gathers(matrix, axis):
    """Gathers that XLA leaves out, and why."""
    swapped = "Y" if axis == "X" else "X"
    late = "the product of the blocks as they lie gives no block of C"
    early = "blocks can be multiplied as they lie; what they give is gathered"
    for name in "ABC":
        yield (name, ""), "no axis cuts what you gather"
        if name != matrix:
            said = early if matrix == "C" else late
            if name != "C" and matrix != "C":
                said = f"every device has what it needs of {name}"
            yield (name, axis), said
            yield (name, swapped), said
    yield (matrix, swapped), "another axis cuts what a device lacks"
    yield (axis, matrix), "the matrix comes first, then the axis"


def grade_gathered():
    """Question 8 with the axes exchanged, on the other mesh."""
    for product in PRODUCTS:
        check_gathered(*_laid(product, "Y", "X"), 4, 2)


# What a model in training holds: bytes of an element, and dimensions.
ARRAYS = {
    "W_in": (16, "LDF"),
    "W_out": (16, "LFD"),
    "E": (16, "VD"),
    "In": (2, "LBD"),
}
WEIGHTS = ("W_in", "W_out", "E")
LAYERS = 40
# Axes, tokens, free bytes on a chip, and the axis that counts nodes.
MACHINES = {
    "tpu_layout": ({"X": 4, "Y": 4}, 2**17, 11e9, ""),
    "gpu_layout": ({"X": 2, "Y": 8}, 2**20, 60e9, "X"),
}


@question.visible(
    "the two layouts", ("tpu_layout", LAYERS), ("gpu_layout", LAYERS)
)
def check_layouts(name, L):
    """Question 9: a layout obeys, fits, and cuts nothing in vain.

    name  of the layout
    L     layers; what is free on a chip grows with them
    """
    cuts = _layout(name, student.value(name))
    if reason := _fault(name, L, cuts):
        raise WrongAnswer(f"{name}: {reason}")
    for array, axis, fewer in _with_fewer_cuts(cuts):
        if not _fault(name, L, fewer):
            raise WrongAnswer(
                f"{name}: you cut {array} by {axis} in vain; without it all "
                "still fits and holds"
            )


def _layout(name, got):
    """A layout as plain data: {array: list with the axes of each dimension}."""
    axes = MACHINES[name][0]
    if not isinstance(got, dict) or sorted(map(str, got)) != sorted(ARRAYS):
        reason = f"expected a dict with cuts of {', '.join(ARRAYS)}"
        compare.wrong(name, got, reason)
    cuts = {}
    for array, (_, dims) in ARRAYS.items():
        asked = f"the cuts of {array} in {name}"
        cuts[array] = compare.entries(asked, got[array], len(dims))
        for letters in cuts[array]:
            if not isinstance(letters, str) or set(letters) - set(axes):
                reason = f"expected texts with letters of {', '.join(axes)}"
                compare.wrong(asked, got[array], reason)
    return cuts


def _fault(name, L, cuts):
    """What is wrong with a layout, in words; "" if it obeys and fits."""
    mesh, B, free, nodes = MACHINES[name]
    sizes = {"L": L, "B": B, "D": 5120, "F": 13824, "V": 32001}
    held = {}
    for array, (itemsize, dims) in ARRAYS.items():
        shape = [sizes[d] for d in dims]
        spec = P(*map(tuple, cuts[array]))
        try:
            held[array] = itemsize * prod(_block(shape, spec, mesh))
        except Exception:  # JAX refuses with errors of several types
            return _no_layout(array, cuts[array])
        whole = "LD" if array == "In" else "L"
        for d, letters in zip(dims, cuts[array], strict=True):
            if d in whole and letters:
                return f"you cut {d} of {array}, which is to stay whole"
        if array in WEIGHTS and nodes and nodes in "".join(cuts[array]):
            return f"a node of yours holds only a part of {array}"
    if cuts["W_in"][2] != cuts["W_out"][1]:
        return "a chip of yours holds other parts of F of W_in than of W_out"
    if (total := sum(held.values())) > (most := free * L / LAYERS):
        parts = ", ".join(f"{x} {b / 1e9:.1f}" for x, b in held.items())
        return (
            f"a chip of yours holds {total / 1e9:.1f} GB, and "
            f"{most / 1e9:.1f} are free: {parts}"
        )
    return ""


def _no_layout(array, cuts):
    """Why JAX refuses the cuts of an array, in words."""
    letters = "".join(cuts)
    if len(set(letters)) < len(letters):
        return f"you cut {array} twice by one axis"
    return f"you cut a dimension of {array} that does not divide"


def _with_fewer_cuts(cuts):
    """Each layout with one letter less, after its array and the letter."""
    for array, dims in cuts.items():
        for i, letters in enumerate(dims):
            for axis in letters:
                rest = [*dims]
                rest[i] = letters.replace(axis, "")
                yield array, axis, cuts | {array: rest}


def grade_layouts():
    """Question 9 with other numbers of layers."""
    draw = question.draw("layouts")
    for name in MACHINES:
        check_layouts(name, int(draw.integers(32, 49)))
