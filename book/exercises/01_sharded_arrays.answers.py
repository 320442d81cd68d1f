# Answers that the checks of exercise set 1 must reject or accept.
#
# A cell is titled with the answer cell's grade_id, then `wrong: ` with the
# mistake or `right: ` with what is different. Run by tests/exercises.

# %% int8_bytes wrong: divides by all devices, and counts one copy
def bytes_on_one_device(I, J, X, Y, Z):
    return (I * J + 4 * I) // (X * Y * Z)


def bytes_on_all_devices(I, J, X, Y, Z):
    return I * J + 4 * I


# %% int8_bytes wrong: takes the array's own size for both
def bytes_on_one_device(I, J, X, Y, Z):
    return I * J + 4 * I


def bytes_on_all_devices(I, J, X, Y, Z):
    return (I * J + 4 * I) * X * Y * Z


# %% int8_bytes by-heart: the numbers of the chapter's quiz
def bytes_on_one_device(I, J, X, Y, Z):
    return 16384


def bytes_on_all_devices(I, J, X, Y, Z):
    return 524288


# %% int8_bytes wrong: two bytes an element
def bytes_on_one_device(I, J, X, Y, Z):
    return 2 * I * J // (Y * Z) + 4 * I // Y


def bytes_on_all_devices(I, J, X, Y, Z):
    return 2 * I * J * X + 4 * I * X * Z


# %% int8_bytes wrong: an element as wide as a scale
def bytes_on_one_device(I, J, X, Y, Z):
    return 4 * I * J // (Y * Z) + 4 * I // Y


def bytes_on_all_devices(I, J, X, Y, Z):
    return I * J * X + 4 * I * X * Z


# %% int8_bytes wrong: a scale for each column
def bytes_on_one_device(I, J, X, Y, Z):
    return I * J // (Y * Z) + 4 * J // Z


def bytes_on_all_devices(I, J, X, Y, Z):
    return I * J * X + 4 * I * X * Z


# %% int8_bytes right: floats that are whole
def bytes_on_one_device(I, J, X, Y, Z):
    return I / Z * J / Y + 4 * I / Y


def bytes_on_all_devices(I, J, X, Y, Z):
    return float(I * J) * X + X * Z * 4.0 * I


# %% int8_bytes wrong: X and Y hold the copies
def bytes_on_one_device(I, J, X, Y, Z):
    return I * J // Z + 4 * I


def bytes_on_all_devices(I, J, X, Y, Z):
    return I * J * X * Y + 4 * I * X * Y * Z


# %% int8_bytes right: from the shapes of both blocks
def bytes_on_one_device(I, J, X, Y, Z):
    rows = I // Y
    return rows * (J // Z) + rows * 4


def bytes_on_all_devices(I, J, X, Y, Z):
    return X * Y * Z * bytes_on_one_device(I, J, X, Y, Z)


# %% int8_bytes right: by a loop over devices that adds up real slices
def bytes_on_one_device(I, J, X, Y, Z):
    return len(range(0, I, Y)) * (len(range(0, J, Z)) + 4)


def bytes_on_all_devices(I, J, X, Y, Z):
    each = bytes_on_one_device(I, J, X, Y, Z)
    return sum(each for d in range(X * Y * Z))


# %% read_time wrong: counts elements
def read_seconds(I, J, X, Y, hbm_bw):
    return (I * J / (X * Y) + J) / hbm_bw


# %% read_time wrong: counts bits
def read_seconds(I, J, X, Y, hbm_bw):
    return 32 * (I * J / (X * Y) + J) / hbm_bw


# %% read_time wrong: reads the whole matrix
def read_seconds(I, J, X, Y, hbm_bw):
    return 4 * (I * J + J) / hbm_bw


# %% read_time wrong: nanoseconds
def read_seconds(I, J, X, Y, hbm_bw):
    return 4e9 * (I * J / (X * Y) + J) / hbm_bw


# %% read_time wrong: an H100 whatever was asked
def read_seconds(I, J, X, Y, hbm_bw):
    return 4 * (I * J / (X * Y) + J) / hw.H100.hbm_bw


# %% read_time wrong: the number in print, from a rounded size
def read_seconds(I, J, X, Y, hbm_bw):
    return 294e-9


# %% read_time wrong: the vector is cut along Y
def read_seconds(I, J, X, Y, hbm_bw):
    return 4 * (I * J / (X * Y) + J / Y) / hbm_bw


# %% read_time wrong: one byte a number of the vector
def read_seconds(I, J, X, Y, hbm_bw):
    return (4 * I * J / (X * Y) + J) / hbm_bw


# %% read_time right: asks JAX for the block
def read_seconds(I, J, X, Y, hbm_bw):
    mesh = jax.sharding.AbstractMesh((X, Y), ("X", "Y"))
    rows, columns = NamedSharding(mesh, P(("X", "Y"))).shard_shape((I, J))
    return (rows + 1) * columns * np.dtype(np.float32).itemsize / hbm_bw


# %% read_time right: the share of the time for the whole
def read_seconds(I, J, X, Y, hbm_bw):
    whole = I * J * 32 / 8 / hbm_bw
    return np.float32(whole / X / Y + 4 * J / hbm_bw)


# %% ratios wrong: the published answer for both
def ratios(X, Y, Z):
    return Y * Z, Y * Z


# %% ratios wrong: in the other order
def ratios(X, Y, Z):
    return X * Y * Z, Y * Z


# %% ratios wrong: one number only
def ratios(X, Y, Z):
    return Y * Z


# %% ratios wrong: copies along X
def ratios(X, Y, Z):
    return X, X * Y * Z


# %% ratios right: an array of floats
def ratios(X, Y, Z):
    return np.array([1, X], float) * Y * Z


# %% ratios wrong: adds the axes
def ratios(X, Y, Z):
    return Y + Z, X + Y + Z


# %% ratios right: with a size that is carried along
def ratios(X, Y, Z):
    S = 60 * X
    device = S // X
    total = device * X * Y * Z
    return [total // S, total // device]


# %% ratios right: counts the devices that hold a block
def ratios(X, Y, Z):
    held = [x for x in range(X) for _ in range(Y * Z)]
    return held.count(0), len(held)


# %% local_shape wrong: never illegal
def local_shape(shape, cuts, mesh):
    local = []
    for size, axes in zip(shape, cuts):
        for axis in axes:
            size //= mesh[axis]
        local.append(size)
    return local


# %% local_shape wrong: sees an axis twice only within one dimension
def local_shape(shape, cuts, mesh):
    local = []
    for size, axes in zip(shape, cuts):
        if len(set(axes)) < len(axes):
            return "illegal"
        for axis in axes:
            if size % mesh[axis]:
                return "illegal"
            size //= mesh[axis]
        local.append(size)
    return local


# %% local_shape wrong: sees an axis twice only across dimensions
def local_shape(shape, cuts, mesh):
    seen, local = set(), []
    for size, axes in zip(shape, cuts):
        if seen & set(axes):
            return "illegal"
        seen |= set(axes)
        for axis in axes:
            if size % mesh[axis]:
                return "illegal"
            size //= mesh[axis]
        local.append(size)
    return local


# %% local_shape wrong: tests each axis against the whole dimension
def local_shape(shape, cuts, mesh):
    letters = "".join(cuts)
    if len(set(letters)) < len(letters):
        return "illegal"
    local = list(shape)
    for i, axes in enumerate(cuts):
        for axis in axes:
            if shape[i] % mesh[axis]:
                return "illegal"
            local[i] //= mesh[axis]
    return local


# %% local_shape wrong: rounds up, as padding would
def local_shape(shape, cuts, mesh):
    letters = "".join(cuts)
    if len(set(letters)) < len(letters):
        return "illegal"
    local = []
    for size, axes in zip(shape, cuts):
        for axis in axes:
            size = -(-size // mesh[axis])
        local.append(size)
    return local


# %% local_shape wrong: only the first axis of a subscript cuts
def local_shape(shape, cuts, mesh):
    letters = "".join(cuts)
    if len(set(letters)) < len(letters):
        return "illegal"
    ways = [mesh[axes[0]] if axes else 1 for axes in cuts]
    if any(size % n for size, n in zip(shape, ways)):
        return "illegal"
    return [size // n for size, n in zip(shape, ways)]


# %% local_shape wrong: the word in a list
def local_shape(shape, cuts, mesh):
    letters = "".join(cuts)
    if len(set(letters)) < len(letters):
        return ["illegal"]
    local = []
    for size, axes in zip(shape, cuts):
        for axis in axes:
            if size % mesh[axis]:
                return ["illegal"]
            size //= mesh[axis]
        local.append(size)
    return local


# %% local_shape wrong: another word
def local_shape(shape, cuts, mesh):
    letters = "".join(cuts)
    if len(set(letters)) < len(letters):
        return "Illegal"
    local = []
    for size, axes in zip(shape, cuts):
        for axis in axes:
            if size % mesh[axis]:
                return "Illegal"
            size //= mesh[axis]
        local.append(size)
    return local


# %% local_shape wrong: all axes cut each dimension
def local_shape(shape, cuts, mesh):
    letters = "".join(cuts)
    if len(set(letters)) < len(letters):
        return "illegal"
    local = []
    for size, axes in zip(shape, cuts):
        for axis in mesh:
            if size % mesh[axis]:
                return "illegal"
            size //= mesh[axis]
        local.append(size)
    return local


# %% local_shape wrong: the shape as text
def local_shape(shape, cuts, mesh):
    letters = "".join(cuts)
    if len(set(letters)) < len(letters):
        return "illegal"
    local = []
    for size, axes in zip(shape, cuts):
        for axis in axes:
            if size % mesh[axis]:
                return "illegal"
            size //= mesh[axis]
        local.append(size)
    return str(local)


# %% local_shape right: an array of floats
def local_shape(shape, cuts, mesh):
    letters = "".join(cuts)
    ways = [np.prod([mesh[axis] for axis in axes]) for axes in cuts]
    twice = len(set(letters)) < len(letters)
    if twice or np.any(np.mod(shape, ways)):
        return "illegal"
    return np.divide(shape, ways)


# %% local_shape right: products first
def local_shape(shape, cuts, mesh):
    used = [axis for axes in cuts for axis in axes]
    if sorted(used) != sorted(set(used)):
        return "illegal"
    ways = [int(np.prod([mesh[a] for a in axes], dtype=int)) for axes in cuts]
    if any(size % n for size, n in zip(shape, ways)):
        return "illegal"
    return [size // n for size, n in zip(shape, ways)]


# %% local_shape right: JAX does it
def local_shape(shape, cuts, mesh):
    devices = jax.sharding.AbstractMesh(tuple(mesh.values()), tuple(mesh))
    try:
        spec = P(*(tuple(axes) or None for axes in cuts))
        return NamedSharding(devices, spec).shard_shape(tuple(shape))
    except Exception:
        return "illegal"


# %% block_on wrong: the last letter is the major one
def block_on(position, order, mesh):
    number = 0
    for axis in reversed(order):
        number = number * mesh[axis] + position[axis]
    return number


# %% block_on wrong: alphabetical order whatever was asked
def block_on(position, order, mesh):
    number = 0
    for axis in sorted(order):
        number = number * mesh[axis] + position[axis]
    return number


# %% block_on wrong: the device's number
def block_on(position, order, mesh):
    number = 0
    for axis in mesh:
        number = number * mesh[axis] + position[axis]
    return number


# %% block_on wrong: every axis has the size of the first
def block_on(position, order, mesh):
    number = 0
    for axis in order:
        number = number * mesh["X"] + position[axis]
    return number


# %% block_on wrong: adds the coordinates
def block_on(position, order, mesh):
    return sum(position[axis] for axis in order)


# %% block_on wrong: counted from one
def block_on(position, order, mesh):
    number = 0
    for axis in order:
        number = number * mesh[axis] + position[axis]
    return number + 1


# %% block_on wrong: the two formulas of the chapter
def block_on(position, order, mesh):
    if order == "XY":
        return mesh["Y"] * position["X"] + position["Y"]
    return mesh["X"] * position["Y"] + position["X"]


# %% block_on right: with strides from the right
def block_on(position, order, mesh):
    stride, number = 1, 0
    for axis in order[::-1]:
        number += stride * position[axis]
        stride *= mesh[axis]
    return number


# %% block_on right: NumPy's row-major index
def block_on(position, order, mesh):
    place = [position[axis] for axis in order]
    return np.ravel_multi_index(place, [mesh[axis] for axis in order])


# %% place wrong: rows along X, columns along Y
def place(x):
    types = (AxisType.Explicit, AxisType.Explicit)
    mesh = jax.make_mesh((4, 2), ("X", "Y"), axis_types=types)
    return jax.device_put(x, NamedSharding(mesh, P("X", "Y")))


# %% place wrong: the mesh lies the other way
def place(x):
    types = (AxisType.Explicit, AxisType.Explicit)
    mesh = jax.make_mesh((2, 4), ("X", "Y"), axis_types=types)
    return jax.device_put(x, NamedSharding(mesh, P("X", "Y")))


# %% place wrong: replicated
def place(x):
    types = (AxisType.Explicit, AxisType.Explicit)
    mesh = jax.make_mesh((4, 2), ("X", "Y"), axis_types=types)
    return jax.device_put(x, NamedSharding(mesh, P()))


# %% place wrong: only the columns are cut
def place(x):
    types = (AxisType.Explicit, AxisType.Explicit)
    mesh = jax.make_mesh((4, 2), ("X", "Y"), axis_types=types)
    return jax.device_put(x, NamedSharding(mesh, P(None, "X")))


# %% place wrong: the right blocks of a matrix that was reversed
def place(x):
    types = (AxisType.Explicit, AxisType.Explicit)
    mesh = jax.make_mesh((4, 2), ("X", "Y"), axis_types=types)
    return jax.device_put(x[::-1], NamedSharding(mesh, P("Y", "X")))


# %% place wrong: on one device
def place(x):
    return jax.device_put(x, jax.devices()[0])


# %% place wrong: NumPy
def place(x):
    return x


# %% place right: the mesh turned instead of the spec
def place(x):
    devices = np.array(jax.devices()).reshape(4, 2).T
    mesh = jax.sharding.Mesh(devices, ("rows", "columns"))
    return jax.device_put(x, NamedSharding(mesh, P("rows", "columns")))


# %% place right: each block by a callback, on three axes
def place(x):
    types = (AxisType.Auto,) * 3
    mesh = jax.make_mesh((2, 2, 2), ("X", "Y", "Z"), axis_types=types)
    sharding = NamedSharding(mesh, P("Z", ("X", "Y")))
    return jax.make_array_from_callback(x.shape, sharding, lambda at: x[at])


# %% fewest wrong: memory divided by space
def fewest_pieces(I, J, mesh, free):
    return -(-2 * I * J // free)


# %% fewest wrong: always all axes
def fewest_pieces(I, J, mesh, free):
    pieces = 1
    for size in mesh.values():
        pieces *= size
    fits = 2 * I * J // pieces <= free
    return pieces if fits and I % pieces == 0 else "impossible"


# %% fewest wrong: single axes only
def fewest_pieces(I, J, mesh, free):
    sets = [1, *mesh.values()]
    fitting = [n for n in sets if I % n == 0 and 2 * I * J // n <= free]
    return min(fitting, default="impossible")


# %% fewest wrong: takes axes in order until it fits
def fewest_pieces(I, J, mesh, free):
    pieces = 1
    for size in [1, *mesh.values()]:
        pieces *= size
        if I % pieces == 0 and 2 * I * J // pieces <= free:
            return pieces
    return "impossible"


# %% fewest wrong: forgets that rows must divide
def fewest_pieces(I, J, mesh, free):
    sets = [1]
    for size in mesh.values():
        sets += [pieces * size for pieces in sets]
    fitting = [n for n in sets if 2 * I * J / n <= free]
    return min(fitting, default="impossible")


# %% fewest wrong: one byte an element
def fewest_pieces(I, J, mesh, free):
    sets = [1]
    for size in mesh.values():
        sets += [pieces * size for pieces in sets]
    fitting = [n for n in sets if I % n == 0 and I * J // n <= free]
    return min(fitting, default="impossible")


# %% fewest wrong: a block that fills the space does not fit
def fewest_pieces(I, J, mesh, free):
    sets = [1]
    for size in mesh.values():
        sets += [pieces * size for pieces in sets]
    fitting = [n for n in sets if I % n == 0 and 2 * I * J // n < free]
    return min(fitting, default="impossible")


# %% fewest wrong: the smallest set of axes
def fewest_pieces(I, J, mesh, free):
    sets = [()]
    for axis in mesh:
        sets += [(*axes, axis) for axes in sets]
    for axes in sorted(sets, key=len):
        pieces = 1
        for axis in axes:
            pieces *= mesh[axis]
        if I % pieces == 0 and 2 * I * J // pieces <= free:
            return pieces
    return "impossible"


# %% fewest wrong: never all axes
def fewest_pieces(I, J, mesh, free):
    sets = [1]
    for size in mesh.values():
        sets += [pieces * size for pieces in sets]
    fitting = [n for n in sets[:-1] if I % n == 0 and 2 * I * J // n <= free]
    return min(fitting, default="impossible")


# %% fewest right: combinations, sorted by their product
def fewest_pieces(I, J, mesh, free):
    from itertools import combinations
    from math import prod

    sizes = list(mesh.values())
    subsets = [c for n in range(len(sizes) + 1) for c in combinations(sizes, n)]
    for pieces in sorted(prod(subset) for subset in subsets):
        if I % pieces == 0 and I // pieces * J * 2 <= free:
            return pieces
    return "impossible"


# %% fewest right: counting up through the divisors
def fewest_pieces(I, J, mesh, free):
    def reachable(pieces, sizes):
        if not sizes:
            return pieces == 1
        first, *rest = sizes
        cut = pieces % first == 0 and reachable(pieces // first, rest)
        return cut or reachable(pieces, rest)

    for pieces in range(1, I + 1):
        small = I % pieces == 0 and 2 * I * J <= free * pieces
        if small and reachable(pieces, list(mesh.values())):
            return pieces
    return "impossible"


# %% block_on wrong: every digit in the last base
def block_on(position, order, mesh):
    number = 0
    for axis in order:
        number = number * mesh[order[-1]] + position[axis]
    return number


# %% block_on right: with a mesh set, as the chapter does
def block_on(position, order, mesh):
    types = (AxisType.Explicit,)
    jax.set_mesh(jax.make_mesh((8,), ("X",), axis_types=types))
    number = 0
    for axis in order:
        number = number * mesh[axis] + position[axis]
    return number


# %% block_on right: a JAX scalar
def block_on(position, order, mesh):
    place = tuple(jax.numpy.asarray(position[axis]) for axis in order)
    sizes = tuple(mesh[axis] for axis in order)
    return jax.numpy.ravel_multi_index(place, sizes, mode="clip")


# %% local_shape wrong: sees an axis twice only if the letters are neighbours
def local_shape(shape, cuts, mesh):
    letters = "".join(cuts)
    if any(a == b for a, b in zip(letters, letters[1:])):
        return "illegal"
    local = []
    for size, axes in zip(shape, cuts):
        for axis in axes:
            if size % mesh[axis]:
                return "illegal"
            size //= mesh[axis]
        local.append(size)
    return local


# %% read_time wrong: complex
def read_seconds(I, J, X, Y, hbm_bw):
    return np.complex128(4 * (I * J / (X * Y) + J) / hbm_bw)


# %% read_time wrong: as text
def read_seconds(I, J, X, Y, hbm_bw):
    return str(4 * (I * J / (X * Y) + J) / hbm_bw)


# %% place wrong: an object that only looks like an array
def place(x):
    from types import SimpleNamespace

    h, q = x.shape[0] // 2, x.shape[1] // 4
    shards = []
    for device in jax.devices():
        top, left = h * (device.id % 2), q * (device.id // 2)
        block = x[top : top + h, left : left + q]
        shards.append(SimpleNamespace(device=device, data=block))
    return SimpleNamespace(addressable_shards=shards)


# %% place wrong: rounded to bf16
def place(x):
    types = (AxisType.Explicit, AxisType.Explicit)
    mesh = jax.make_mesh((4, 2), ("X", "Y"), axis_types=types)
    x = jax.numpy.asarray(x, jax.numpy.bfloat16)
    return jax.device_put(x, NamedSharding(mesh, P("Y", "X")))


# %% place wrong: a spec for a mesh that nobody set
def place(x):
    return jax.device_put(x, P("Y", "X"))


# %% place right: the chapter's way, with a mesh set
def place(x):
    types = (AxisType.Explicit, AxisType.Explicit)
    jax.set_mesh(jax.make_mesh((4, 2), ("X", "Y"), axis_types=types))
    return jax.device_put(x, P("Y", "X"))


# %% fewest wrong: one axis or all of them
def fewest_pieces(I, J, mesh, free):
    sizes, product = list(mesh.values()), 1
    for size in sizes:
        product *= size
    sets = [1, *sizes, product]
    fitting = [n for n in sets if I % n == 0 and 2 * I * J // n <= free]
    return min(fitting, default="impossible")


# %% fewest wrong: only axes that are neighbours
def fewest_pieces(I, J, mesh, free):
    sizes = list(mesh.values())
    sets = [1]
    for first in range(len(sizes)):
        product = 1
        for size in sizes[first:]:
            product *= size
            sets.append(product)
    fitting = [n for n in sets if I % n == 0 and 2 * I * J // n <= free]
    return min(fitting, default="impossible")


# %% int8_bytes wrong: Z cuts and Y holds copies
def bytes_on_one_device(I, J, X, Y, Z):
    return I * J // (X * Z) + 4 * I // X


def bytes_on_all_devices(I, J, X, Y, Z):
    return I * J * Y + 4 * I * Y * Z


# %% read_time wrong: the bandwidth to other chips
def read_seconds(I, J, X, Y, hbm_bw):
    return 4 * (I * J / (X * Y) + J) / hw.H100.link_bw


# %% ratios wrong: copies along Z alone
def ratios(X, Y, Z):
    return Z, X * Y * Z


# %% ratios wrong: one copy over one device
def ratios(X, Y, Z):
    return Y * Z, X


# %% block_on wrong: multiplies after it adds
def block_on(position, order, mesh):
    number = 0
    for axis in order:
        number = (number + position[axis]) * mesh[axis]
    return number


# %% layouts wrong: the slice's layout on both
tpu_layout = {
    "W_in": ["", "X", "Y"],
    "W_out": ["", "Y", "X"],
    "E": ["", "X"],
    "In": ["", "XY", ""],
}
gpu_layout = tpu_layout


# %% layouts wrong: cuts the vocabulary, which is odd
tpu_layout = {
    "W_in": ["", "X", "Y"],
    "W_out": ["", "Y", "X"],
    "E": ["X", ""],
    "In": ["", "XY", ""],
}
gpu_layout = {
    "W_in": ["", "", "Y"],
    "W_out": ["", "Y", ""],
    "E": ["", ""],
    "In": ["", "XY", ""],
}


# %% layouts wrong: E whole on the slice
tpu_layout = {
    "W_in": ["", "X", "Y"],
    "W_out": ["", "Y", "X"],
    "E": ["", ""],
    "In": ["", "XY", ""],
}
gpu_layout = {
    "W_in": ["", "", "Y"],
    "W_out": ["", "Y", ""],
    "E": ["", ""],
    "In": ["", "XY", ""],
}


# %% layouts wrong: E cut as far as it goes
tpu_layout = {
    "W_in": ["", "X", "Y"],
    "W_out": ["", "Y", "X"],
    "E": ["", "XY"],
    "In": ["", "XY", ""],
}
gpu_layout = {
    "W_in": ["", "", "Y"],
    "W_out": ["", "Y", ""],
    "E": ["", ""],
    "In": ["", "XY", ""],
}


# %% layouts wrong: E cut on the nodes, where it fits whole
tpu_layout = {
    "W_in": ["", "X", "Y"],
    "W_out": ["", "Y", "X"],
    "E": ["", "X"],
    "In": ["", "XY", ""],
}
gpu_layout = {
    "W_in": ["", "", "Y"],
    "W_out": ["", "Y", ""],
    "E": ["", "Y"],
    "In": ["", "XY", ""],
}


# %% layouts wrong: tokens over one axis of the slice
tpu_layout = {
    "W_in": ["", "X", "Y"],
    "W_out": ["", "Y", "X"],
    "E": ["", "X"],
    "In": ["", "X", ""],
}
gpu_layout = {
    "W_in": ["", "", "Y"],
    "W_out": ["", "Y", ""],
    "E": ["", ""],
    "In": ["", "XY", ""],
}


# %% layouts wrong: tokens within a node only
tpu_layout = {
    "W_in": ["", "X", "Y"],
    "W_out": ["", "Y", "X"],
    "E": ["", "X"],
    "In": ["", "XY", ""],
}
gpu_layout = {
    "W_in": ["", "", "Y"],
    "W_out": ["", "Y", ""],
    "E": ["", ""],
    "In": ["", "Y", ""],
}


# %% layouts wrong: width of the activations cut
tpu_layout = {
    "W_in": ["", "X", "Y"],
    "W_out": ["", "Y", "X"],
    "E": ["", "X"],
    "In": ["", "X", "Y"],
}
gpu_layout = {
    "W_in": ["", "", "Y"],
    "W_out": ["", "Y", ""],
    "E": ["", ""],
    "In": ["", "XY", ""],
}


# %% layouts wrong: layers dealt to the chips of a node
tpu_layout = {
    "W_in": ["", "X", "Y"],
    "W_out": ["", "Y", "X"],
    "E": ["", "X"],
    "In": ["", "XY", ""],
}
gpu_layout = {
    "W_in": ["Y", "", ""],
    "W_out": ["Y", "", ""],
    "E": ["", ""],
    "In": ["", "XY", ""],
}


# %% layouts wrong: FSDP over nodes, too
tpu_layout = {
    "W_in": ["", "X", "Y"],
    "W_out": ["", "Y", "X"],
    "E": ["", "X"],
    "In": ["", "XY", ""],
}
gpu_layout = {
    "W_in": ["", "X", "Y"],
    "W_out": ["", "Y", "X"],
    "E": ["", ""],
    "In": ["", "XY", ""],
}


# %% layouts wrong: the letters of F in another order
tpu_layout = {
    "W_in": ["", "", "XY"],
    "W_out": ["", "YX", ""],
    "E": ["", "X"],
    "In": ["", "XY", ""],
}
gpu_layout = {
    "W_in": ["", "", "Y"],
    "W_out": ["", "Y", ""],
    "E": ["", ""],
    "In": ["", "XY", ""],
}


# %% layouts wrong: second dimension of both matrices
tpu_layout = {
    "W_in": ["", "X", "Y"],
    "W_out": ["", "Y", "X"],
    "E": ["", "X"],
    "In": ["", "XY", ""],
}
gpu_layout = {
    "W_in": ["", "Y", ""],
    "W_out": ["", "Y", ""],
    "E": ["", ""],
    "In": ["", "XY", ""],
}


# %% layouts wrong: weights on the nodes whole
tpu_layout = {
    "W_in": ["", "X", "Y"],
    "W_out": ["", "Y", "X"],
    "E": ["", "X"],
    "In": ["", "XY", ""],
}
gpu_layout = {
    "W_in": ["", "", ""],
    "W_out": ["", "", ""],
    "E": ["", ""],
    "In": ["", "XY", ""],
}


# %% layouts wrong: X cuts rows and columns
tpu_layout = {
    "W_in": ["", "X", "X"],
    "W_out": ["", "X", "X"],
    "E": ["", "X"],
    "In": ["", "XY", ""],
}
gpu_layout = {
    "W_in": ["", "", "Y"],
    "W_out": ["", "Y", ""],
    "E": ["", ""],
    "In": ["", "XY", ""],
}


# %% layouts wrong: an axis that the slice has not
tpu_layout = {
    "W_in": ["", "X", "Y"],
    "W_out": ["", "Y", "X"],
    "E": ["", "X"],
    "In": ["", "XYZ", ""],
}
gpu_layout = {
    "W_in": ["", "", "Y"],
    "W_out": ["", "Y", ""],
    "E": ["", ""],
    "In": ["", "XY", ""],
}


# %% layouts wrong: partition specs, not texts
tpu_layout = {
    "W_in": ["", "X", "Y"],
    "W_out": ["", "Y", "X"],
    "E": ["", "X"],
    "In": ["", ("X", "Y"), ""],
}
gpu_layout = {
    "W_in": ["", "", "Y"],
    "W_out": ["", "Y", ""],
    "E": ["", ""],
    "In": ["", "XY", ""],
}


# %% layouts wrong: E forgotten
tpu_layout = {
    "W_in": ["", "X", "Y"],
    "W_out": ["", "Y", "X"],
    "In": ["", "XY", ""],
}
gpu_layout = {
    "W_in": ["", "", "Y"],
    "W_out": ["", "Y", ""],
    "E": ["", ""],
    "In": ["", "XY", ""],
}


# %% layouts wrong: one entry too few
tpu_layout = {
    "W_in": ["", "X", "Y"],
    "W_out": ["", "Y", "X"],
    "E": ["", "X"],
    "In": ["", "XY"],
}
gpu_layout = {
    "W_in": ["", "", "Y"],
    "W_out": ["", "Y", ""],
    "E": ["", ""],
    "In": ["", "XY", ""],
}


# %% layouts right: F by both axes, E by the other
tpu_layout = {
    "W_in": ["", "", "XY"],
    "W_out": ["", "XY", ""],
    "E": ["", "Y"],
    "In": ["", "YX", ""],
}
gpu_layout = {
    "W_in": ["", "Y", ""],
    "W_out": ["", "", "Y"],
    "E": ["", ""],
    "In": ["", "YX", ""],
}


# %% layouts right: one function for both machines
def layout(weights, E):
    rows, columns = weights
    return {
        "W_in": ("", rows, columns),
        "W_out": ("", columns, rows),
        "E": ("", E),
        "In": ("", "YX", ""),
    }


tpu_layout = layout(("YX", ""), "Y")
gpu_layout = layout(("", "Y"), "")


# %% layouts right: found by trying all cuts
def fewest(dims, mesh, sizes, itemsize, most, banned=""):
    ways = [""] + [a for a in mesh if a not in banned]
    ways += ["".join(mesh)] if not set(mesh) & set(banned) else []
    found = []
    for dim in dims:
        for way in ways:
            pieces = int(np.prod([mesh[a] for a in way], dtype=int))
            size = itemsize * int(np.prod(sizes)) // pieces
            if sizes[dim] % pieces == 0 and size <= most:
                cuts = [way if i == dim else "" for i in range(len(sizes))]
                found.append((pieces, cuts))
    return min(found)[1]


def layout(mesh, B, banned, each, small):
    L, D, F, V = 40, 5120, 13824, 32001
    return {
        "W_in": fewest([2], mesh, (L, D, F), 16, each, banned),
        "W_out": fewest([1], mesh, (L, F, D), 16, each, banned),
        "E": fewest([0, 1], mesh, (V, D), 16, small, banned),
        "In": fewest([1], mesh, (L, B, D), 2, 30e9),
    }


tpu_layout = layout({"X": 4, "Y": 4}, 2**17, "", 3e9, 1e9)
tpu_layout["In"][1] = "XY"
gpu_layout = layout({"X": 2, "Y": 8}, 2**20, "X", 6e9, 3e9)


# %% layouts equivalent: line 12: axis X becomes Y
# Both axes of the slice have four chips, so either may cut E.


# %% gathered wrong: always the factor whose contracted dimension is cut
def gathered(A, B, C):
    if A[1]:
        return ["A", A[1]]
    return ["B", B[0]] if B[0] else []


# %% gathered wrong: nothing ever moves
def gathered(A, B, C):
    return []


# %% gathered wrong: factors before, C never
def gathered(A, B, C):
    if A[1]:
        return ["A", A[1]]
    if B[0]:
        return ["B", B[0]]
    if A[0] != C[0]:
        return ["A", A[0]]
    return ["B", B[1]] if B[1] != C[1] else []


# %% gathered wrong: C after, factors only for J
def gathered(A, B, C):
    if A[1]:
        return ["A", A[1]]
    if B[0]:
        return ["B", B[0]]
    if A[0] != C[0]:
        return ["C", A[0]]
    return ["C", B[1]] if B[1] != C[1] else []


# %% gathered wrong: the rows' axis for A, whatever is cut
def gathered(A, B, C):
    return ["A", A[0]] if A[0] else ["B", B[1]]


# %% gathered wrong: the axis that C keeps
def gathered(A, B, C):
    if A[1]:
        return ["A", A[0]]
    if B[0]:
        return ["B", B[0]]
    if A[0] != C[0]:
        return ["A" if A[0] == C[1] else "C", A[0]]
    if B[1] != C[1]:
        return ["B" if B[1] == C[0] else "C", B[1]]
    return []


# %% gathered wrong: the matrix without its axis
def gathered(A, B, C):
    if A[1]:
        return ["A"]
    return ["B"] if B[0] else []


# %% gathered wrong: a whole factor whose rows C cuts
def gathered(A, B, C):
    if A[1] or B[0]:
        return ["A", A[1]] if A[1] else ["B", B[0]]
    if A[0] != C[0]:
        return ["A" if A[0] == C[1] or not A[0] else "C", A[0]]
    if B[1] != C[1]:
        return ["B" if B[1] == C[0] else "C", B[1]]
    return []


# %% gathered right: the letters that a device has too many
def gathered(A, B, C):
    for name, cuts, contracted in (("A", A, 1), ("B", B, 0)):
        if cuts[contracted]:
            return name, cuts[contracted]
    kept = [(axis, side) for side, axis in enumerate(C) if axis]
    for name, axis, side in (("A", A[0], 0), ("B", B[1], 1)):
        if axis and (axis, side) not in kept:
            return (name if axis in C else "C"), axis
    return ()


# %% gathered right: a list of conditions, the first that holds
def gathered(A, B, C):
    lacking = [("A", A[1]), ("B", B[0])]
    lacking += [("A", A[0] * (A[0] != C[0]) * (A[0] == C[1]))]
    lacking += [("B", B[1] * (B[1] != C[1]) * (B[1] == C[0]))]
    lacking += [("C", A[0] * (A[0] != C[0])), ("C", B[1] * (B[1] != C[1]))]
    return next((pair for pair in lacking if pair[1]), [])


# %% int8_bytes wrong: the scales are forgotten
def bytes_on_one_device(I, J, X, Y, Z):
    return I * J // (Y * Z)


def bytes_on_all_devices(I, J, X, Y, Z):
    return I * J * X


# %% int8_bytes wrong: Z cuts the scales as well
def bytes_on_one_device(I, J, X, Y, Z):
    return (I * J + 4 * I) // (Y * Z)


def bytes_on_all_devices(I, J, X, Y, Z):
    return (I * J + 4 * I) * X


# %% int8_bytes wrong: a scale has one byte, like an element
def bytes_on_one_device(I, J, X, Y, Z):
    return I * J // (Y * Z) + I // Y


def bytes_on_all_devices(I, J, X, Y, Z):
    return I * J * X + I * X * Z


# %% read_time wrong: the block alone, as in the chapter
def read_seconds(I, J, X, Y, hbm_bw):
    return 4 * I * J / (X * Y) / hbm_bw


# %% read_time wrong: the vector is cut, too
def read_seconds(I, J, X, Y, hbm_bw):
    return 4 * (I * J + J) / (X * Y) / hbm_bw


# %% read_time wrong: a vector of I
def read_seconds(I, J, X, Y, hbm_bw):
    return 4 * (I * J / (X * Y) + I) / hbm_bw
