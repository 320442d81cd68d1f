# Answers that the checks of exercise set 4 must reject or accept.
#
# A cell is titled with the answer cell's grade_id, then `wrong: ` with the
# mistake or `right: ` with what is different. Run by tests/exercises.


# %% cases wrong: axes as sets, whatever their order
def multiplied(A, B):
    (rows, summed), (other, columns) = A, B
    if set(summed) != set(other):
        return "misfit"
    if set(rows) & set(columns):
        return "diagonal"
    return [[rows, columns], summed]


# %% cases wrong: forgets that an axis can come twice
def multiplied(A, B):
    (rows, summed), (other, columns) = A, B
    if summed != other:
        return "misfit"
    return [[rows, columns], summed]


# %% cases wrong: forgets the sums
def multiplied(A, B):
    (rows, summed), (other, columns) = A, B
    if summed != other:
        return "misfit"
    if set(rows) & set(columns):
        return "diagonal"
    return [[rows, columns], ""]


# %% cases wrong: one factor cut along the contraction is good enough
def multiplied(A, B):
    (rows, summed), (other, columns) = A, B
    if summed and other and summed != other:
        return "misfit"
    if set(rows) & set(columns):
        return "diagonal"
    return [[rows, columns], summed or other]


# %% cases wrong: looks for the diagonal first
def multiplied(A, B):
    (rows, summed), (other, columns) = A, B
    if set(rows) & set(columns):
        return "diagonal"
    if summed != other:
        return "misfit"
    return [[rows, columns], summed]


# %% cases wrong: only whole subscripts are compared
def multiplied(A, B):
    (rows, summed), (other, columns) = A, B
    if summed != other:
        return "misfit"
    if rows and rows == columns:
        return "diagonal"
    return [[rows, columns], summed]


# %% cases right: counts letters
def multiplied(A, B):
    if A[1] != B[0]:
        return "misfit"
    letters = A[0] + A[1] + B[1]
    if any(letters.count(letter) > 1 for letter in letters):
        return "diagonal"
    return [[A[0], B[1]], "".join(sorted(A[1]))]


# %% cases right: a case at a time
def multiplied(A, B):
    match (A[1] == B[0], [axis for axis in A[0] if axis in B[1]]):
        case (False, _):
            return "misfit"
        case (True, []):
            return ([A[0], B[1]], A[1])
        case _:
            return "diagonal"


# %% cases wrong: sums over the axes of A alone, sorted
def multiplied(A, B):
    (rows, summed), (other, columns) = A, B
    if sorted(summed) != sorted(other):
        return "misfit"
    if set(rows) & set(columns):
        return "diagonal"
    return [[rows, columns], "".join(sorted(summed))]


# %% cases wrong: refuses every axis that comes twice
def multiplied(A, B):
    (rows, summed), (other, columns) = A, B
    if summed != other:
        return "misfit"
    if summed or set(rows) & set(columns):
        return "diagonal"
    return [[rows, columns], summed]


# %% cases wrong: rows and columns exchanged
def multiplied(A, B):
    (rows, summed), (other, columns) = A, B
    if summed != other:
        return "misfit"
    if set(rows) & set(columns):
        return "diagonal"
    return [[columns, rows], summed]


# %% gathers wrong: all before or all after
def gathers(I, J, K, X, Y):
    A, B, C = 2 * I * J * (X - 1) / X, 2 * J * K * (Y - 1) / Y, 2 * I * K
    ways = {
        "": C * (1 - 1 / (X * Y)),
        "AB": A + B,
    }
    best = min(ways, key=ways.get)
    return [best, ways[best]]


# %% gathers wrong: always after
def gathers(I, J, K, X, Y):
    A, B, C = 2 * I * J * (X - 1) / X, 2 * J * K * (Y - 1) / Y, 2 * I * K
    ways = {
        "": C * (1 - 1 / (X * Y)),
        "A": A + C * (Y - 1) / Y,
        "B": B + C * (X - 1) / X,
        "AB": A + B,
    }
    best = ""
    return [best, ways[best]]


# %% gathers wrong: always before
def gathers(I, J, K, X, Y):
    A, B, C = 2 * I * J * (X - 1) / X, 2 * J * K * (Y - 1) / Y, 2 * I * K
    ways = {
        "": C * (1 - 1 / (X * Y)),
        "A": A + C * (Y - 1) / Y,
        "B": B + C * (X - 1) / X,
        "AB": A + B,
    }
    best = "AB"
    return [best, ways[best]]


# %% gathers wrong: A is always gathered
def gathers(I, J, K, X, Y):
    A, B, C = 2 * I * J * (X - 1) / X, 2 * J * K * (Y - 1) / Y, 2 * I * K
    ways = {
        "": C * (1 - 1 / (X * Y)),
        "A": A + C * (Y - 1) / Y,
        "B": B + C * (X - 1) / X,
        "AB": A + B,
    }
    best = "A"
    return [best, ways[best]]


# %% gathers wrong: all of C gathered twice
def gathers(I, J, K, X, Y):
    A, B, C = 2 * I * J * (X - 1) / X, 2 * J * K * (Y - 1) / Y, 2 * I * K
    ways = {
        "": C * ((X - 1) / X + (Y - 1) / Y),
        "A": A + C * (Y - 1) / Y,
        "B": B + C * (X - 1) / X,
        "AB": A + B,
    }
    best = min(ways, key=ways.get)
    return [best, ways[best]]


# %% gathers wrong: volumes instead of bytes sent
def gathers(I, J, K, X, Y):
    A, B, C = 2 * I * J, 2 * J * K, 2 * I * K
    ways = {
        "": C,
        "A": A + C,
        "B": B + C,
        "AB": A + B,
    }
    best = min(ways, key=ways.get)
    return [best, ways[best]]


# %% gathers wrong: elements
def gathers(I, J, K, X, Y):
    A, B, C = I * J * (X - 1) / X, J * K * (Y - 1) / Y, I * K
    ways = {
        "": C * (1 - 1 / (X * Y)),
        "A": A + C * (Y - 1) / Y,
        "B": B + C * (X - 1) / X,
        "AB": A + B,
    }
    best = min(ways, key=ways.get)
    return [best, ways[best]]


# %% gathers wrong: axes exchanged
def gathers(I, J, K, X, Y):
    A, B, C = 2 * I * J * (Y - 1) / Y, 2 * J * K * (X - 1) / X, 2 * I * K
    ways = {
        "": C * (1 - 1 / (X * Y)),
        "A": A + C * (Y - 1) / Y,
        "B": B + C * (X - 1) / X,
        "AB": A + B,
    }
    best = min(ways, key=ways.get)
    return [best, ways[best]]


# %% gathers wrong: C over the axis that is gone
def gathers(I, J, K, X, Y):
    A, B, C = 2 * I * J * (X - 1) / X, 2 * J * K * (Y - 1) / Y, 2 * I * K
    ways = {
        "": C * (1 - 1 / (X * Y)),
        "A": A + C * (X - 1) / X,
        "B": B + C * (Y - 1) / Y,
        "AB": A + B,
    }
    best = min(ways, key=ways.get)
    return [best, ways[best]]


# %% gathers wrong: names what is gathered after
def gathers(I, J, K, X, Y):
    A, B, C = 2 * I * J * (X - 1) / X, 2 * J * K * (Y - 1) / Y, 2 * I * K
    ways = {
        "": C * (1 - 1 / (X * Y)),
        "A": A + C * (Y - 1) / Y,
        "B": B + C * (X - 1) / X,
        "AB": A + B,
    }
    best = min(ways, key=ways.get)
    return ["".join(x for x in "AB" if x not in best), ways[best]]


# %% gathers wrong: shards instead of wholes
def gathers(I, J, K, X, Y):
    A, B, C = (
        2 * I * J * (X - 1) / X**2,
        2 * J * K * (Y - 1) / Y**2,
        2 * I * K / X / Y,
    )
    ways = {
        "": C * (1 - 1 / (X * Y)),
        "A": A + C * (Y - 1) / Y,
        "B": B + C * (X - 1) / X,
        "AB": A + B,
    }
    best = min(ways, key=ways.get)
    return [best, ways[best]]


# %% gathers right: a decision at a time, in whole numbers
def gathers(I, J, K, X, Y):
    best, name = None, None
    for before in ("BA", "B", "A", ""):
        width, height = K // Y, I // X
        sent = 0
        if "A" in before:
            sent += 2 * height * J * (X - 1)
            height *= X
        if "B" in before:
            sent += 2 * J * width * (Y - 1)
            width *= Y
        while width < K:
            sent += 2 * height * width * (Y - 1)
            width *= Y
        if height < I:
            sent += 2 * height * width * (X - 1)
        if best is None or sent < best:
            best, name = sent, before
    return (name, best)


# %% gathers right: arrays of bytes
def gathers(I, J, K, X, Y):
    x, y = 1 - 1 / X, 1 - 1 / Y
    sent = np.array([I * K * (x + y - x * y), I * J * x + I * K * y])
    more = np.array([J * K * y + I * K * x, I * J * x + J * K * y])
    sent = 2 * np.concatenate([sent, more])
    where = int(np.argmin(sent))
    return ["", "A", "B", "AB"][where], float(sent[where])


# %% two wrong: as it was
def two_at_once(A, B):
    B = jax.lax.all_gather(B, "X", axis=1, tiled=True)
    C = jax.lax.psum(A @ B, "Y")
    part = C.shape[1] // jax.lax.axis_size("Y")
    start = part * jax.lax.axis_index("Y")
    return jax.lax.dynamic_slice_in_dim(C, start, part, 1)


# %% two wrong: multiplies what is there
def two_at_once(A, B):
    C = A @ B
    return jax.lax.psum_scatter(C, "Y", scatter_dimension=1, tiled=True)


# %% two wrong: adds up nothing
def two_at_once(A, B):
    B = jax.lax.all_gather(B, "X", axis=1, tiled=True)
    C = A @ B
    part = C.shape[1] // jax.lax.axis_size("Y")
    start = part * jax.lax.axis_index("Y")
    return jax.lax.dynamic_slice_in_dim(C, start, part, 1)


# %% two wrong: scatters rows
def two_at_once(A, B):
    B = jax.lax.all_gather(B, "X", axis=1, tiled=True)
    C = A @ B
    return jax.lax.psum_scatter(C, "Y", scatter_dimension=0, tiled=True)


# %% two wrong: a mean
def two_at_once(A, B):
    B = jax.lax.all_gather(B, "X", axis=1, tiled=True)
    C = A @ B
    return (
        1
        / jax.lax.axis_size("Y")
        * jax.lax.psum_scatter(C, "Y", scatter_dimension=1, tiled=True)
    )


# %% two wrong: gathers B with an AllReduce
def two_at_once(A, B):
    X, me = jax.lax.axis_size("X"), jax.lax.axis_index("X")
    B = jnp.zeros((B.shape[0], X, B.shape[1])).at[:, me].set(B)
    B = jax.lax.psum(B, "X").reshape(B.shape[0], -1)
    C = A @ B
    return jax.lax.psum_scatter(C, "Y", scatter_dimension=1, tiled=True)


# %% two wrong: gathers both over both axes, and adds nothing
def two_at_once(A, B):
    A = jax.lax.all_gather(A, "Y", axis=1, tiled=True)
    B = jax.lax.all_gather(B, "Y", axis=0, tiled=True)
    B = jax.lax.all_gather(B, "X", axis=1, tiled=True)
    part = B.shape[1] // jax.lax.axis_size("Y")
    start = part * jax.lax.axis_index("Y")
    return A @ jax.lax.dynamic_slice_in_dim(B, start, part, 1)


# %% two wrong: columns in another order
def two_at_once(A, B):
    B = jax.lax.all_gather(B, "X", axis=1, tiled=True)[:, ::-1]
    C = A @ B
    return jax.lax.psum_scatter(C, "Y", scatter_dimension=1, tiled=True)


# %% two right: gathers stacks, and adds up what it exchanges
def two_at_once(A, B):
    blocks = jax.lax.all_gather(B, "X", axis=0, tiled=False)
    C = jnp.concatenate(jnp.matmul(A, blocks), axis=1)
    parts = jnp.stack(jnp.split(C, jax.lax.axis_size("Y"), axis=1))
    return jax.lax.all_to_all(parts, "Y", 0, 0).sum(0)


# %% two right: of the transposed
def two_at_once(A, B):
    Bt = jax.lax.all_gather(B.T, "X", axis=0, tiled=True)
    Ct = jnp.einsum("kj,ij->ki", Bt, A)
    Ct = jax.lax.psum_scatter(Ct, "Y", scatter_dimension=0, tiled=True)
    return Ct.T


# %% weights wrong: returns all rows
def weights_first(A, B):
    rows = A.shape[0] // jax.lax.axis_size("X")
    start = jax.lax.axis_index("X") * rows
    return A @ jax.lax.all_gather(B, "X", axis=0, tiled=True)


def sums_after(A, B):
    start = jax.lax.axis_index("X") * B.shape[0]
    A = jax.lax.dynamic_slice_in_dim(A, start, B.shape[0], 1)
    return jax.lax.psum_scatter(A @ B, "X", scatter_dimension=0, tiled=True)


# %% weights wrong: the first rows for everybody
def weights_first(A, B):
    rows = A.shape[0] // jax.lax.axis_size("X")
    start = jax.lax.axis_index("X") * rows
    A = jax.lax.dynamic_slice_in_dim(A, 0, rows, 0)
    return A @ jax.lax.all_gather(B, "X", axis=0, tiled=True)


def sums_after(A, B):
    start = jax.lax.axis_index("X") * B.shape[0]
    A = jax.lax.dynamic_slice_in_dim(A, start, B.shape[0], 1)
    return jax.lax.psum_scatter(A @ B, "X", scatter_dimension=0, tiled=True)


# %% weights wrong: the first columns for everybody
def weights_first(A, B):
    rows = A.shape[0] // jax.lax.axis_size("X")
    start = jax.lax.axis_index("X") * rows
    A = jax.lax.dynamic_slice_in_dim(A, start, rows, 0)
    return A @ jax.lax.all_gather(B, "X", axis=0, tiled=True)


def sums_after(A, B):
    start = jax.lax.axis_index("X") * B.shape[0]
    A = jax.lax.dynamic_slice_in_dim(A, 0, B.shape[0], 1)
    return jax.lax.psum_scatter(A @ B, "X", scatter_dimension=0, tiled=True)


# %% weights wrong: an AllReduce and a slice
def weights_first(A, B):
    rows = A.shape[0] // jax.lax.axis_size("X")
    start = jax.lax.axis_index("X") * rows
    A = jax.lax.dynamic_slice_in_dim(A, start, rows, 0)
    return A @ jax.lax.all_gather(B, "X", axis=0, tiled=True)


def sums_after(A, B):
    start = jax.lax.axis_index("X") * B.shape[0]
    A = jax.lax.dynamic_slice_in_dim(A, start, B.shape[0], 1)
    C = jax.lax.psum(A @ B, "X")
    rows = C.shape[0] // jax.lax.axis_size("X")
    start = jax.lax.axis_index("X") * rows
    return jax.lax.dynamic_slice_in_dim(C, start, rows, 0)


# %% weights wrong: scatters columns
def weights_first(A, B):
    rows = A.shape[0] // jax.lax.axis_size("X")
    start = jax.lax.axis_index("X") * rows
    A = jax.lax.dynamic_slice_in_dim(A, start, rows, 0)
    return A @ jax.lax.all_gather(B, "X", axis=0, tiled=True)


def sums_after(A, B):
    start = jax.lax.axis_index("X") * B.shape[0]
    A = jax.lax.dynamic_slice_in_dim(A, start, B.shape[0], 1)
    return jax.lax.psum_scatter(A @ B, "X", scatter_dimension=1, tiled=True)


# %% weights wrong: both by a gather
def weights_first(A, B):
    rows = A.shape[0] // jax.lax.axis_size("X")
    start = jax.lax.axis_index("X") * rows
    A = jax.lax.dynamic_slice_in_dim(A, start, rows, 0)
    return A @ jax.lax.all_gather(B, "X", axis=0, tiled=True)


def sums_after(A, B):
    start = jax.lax.axis_index("X") * B.shape[0]
    return weights_first(A, B)


# %% weights wrong: a gather made of an AllReduce
def weights_first(A, B):
    rows = A.shape[0] // jax.lax.axis_size("X")
    start = jax.lax.axis_index("X") * rows
    A = jax.lax.dynamic_slice_in_dim(A, start, rows, 0)
    return A @ whole(B)


def whole(B):
    N, me = jax.lax.axis_size("X"), jax.lax.axis_index("X")
    zeros = jnp.zeros((N, *B.shape), B.dtype)
    return jax.lax.psum(zeros.at[me].set(B), "X").reshape(-1, B.shape[1])


def sums_after(A, B):
    start = jax.lax.axis_index("X") * B.shape[0]
    A = jax.lax.dynamic_slice_in_dim(A, start, B.shape[0], 1)
    return jax.lax.psum_scatter(A @ B, "X", scatter_dimension=0, tiled=True)


# %% weights wrong: a mean
def weights_first(A, B):
    rows = A.shape[0] // jax.lax.axis_size("X")
    start = jax.lax.axis_index("X") * rows
    A = jax.lax.dynamic_slice_in_dim(A, start, rows, 0)
    return A @ jax.lax.all_gather(B, "X", axis=0, tiled=True)


def sums_after(A, B):
    start = jax.lax.axis_index("X") * B.shape[0]
    A = jax.lax.dynamic_slice_in_dim(A, start, B.shape[0], 1)
    C = jax.lax.psum_scatter(A @ B, "X", scatter_dimension=0, tiled=True)
    return C / jax.lax.axis_size("X")


# %% weights wrong: gathers columns
def weights_first(A, B):
    rows = A.shape[0] // jax.lax.axis_size("X")
    start = jax.lax.axis_index("X") * rows
    A = jax.lax.dynamic_slice_in_dim(A, start, rows, 0)
    return A @ jax.lax.all_gather(B, "X", axis=1, tiled=True)


def sums_after(A, B):
    start = jax.lax.axis_index("X") * B.shape[0]
    A = jax.lax.dynamic_slice_in_dim(A, start, B.shape[0], 1)
    return jax.lax.psum_scatter(A @ B, "X", scatter_dimension=0, tiled=True)


# %% weights right: stacks and picks
def weights_first(A, B):
    mine = jnp.stack(jnp.split(A, jax.lax.axis_size("X")))
    blocks = jax.lax.all_gather(B, "X", axis=0, tiled=False)
    return mine[jax.lax.axis_index("X")] @ blocks.reshape(-1, B.shape[1])


def sums_after(A, B):
    columns = A.reshape(A.shape[0], -1, B.shape[0])
    terms = columns[:, jax.lax.axis_index("X")] @ B
    parts = terms.reshape(jax.lax.axis_size("X"), -1, B.shape[1])
    return jax.lax.psum_scatter(parts, "X", scatter_dimension=0, tiled=False)


# %% weights right: everybody's rows, then its own; zeros for others' columns
def weights_first(A, B):
    C = A @ jax.lax.all_gather(B, "X", axis=0, tiled=True)
    rows = A.shape[0] // jax.lax.axis_size("X")
    mine = jnp.arange(rows) + rows * jax.lax.axis_index("X")
    return C[mine]


def sums_after(A, B):
    N, me = jax.lax.axis_size("X"), jax.lax.axis_index("X")
    padded = jnp.zeros((N, *B.shape), B.dtype).at[me].set(B)
    C = A @ padded.reshape(-1, B.shape[1])
    return jax.lax.psum_scatter(C, "X", scatter_dimension=0, tiled=True)


# %% partial wrong: X cuts first
def partial(A, B, x, y, X, Y):
    width = A.shape[1] // (X * Y)
    first = (x * Y + y) * width
    own = slice(first, first + width)
    return A[:, own] @ B[own]


# %% partial wrong: Y alone cuts
def partial(A, B, x, y, X, Y):
    width = A.shape[1] // (X * Y)
    first = (y) * width
    own = slice(first, first + width)
    return A[:, own] @ B[own]


# %% partial wrong: every N-th column
def partial(A, B, x, y, X, Y):
    width = A.shape[1] // (X * Y)
    first = (y * X + x) * width
    own = slice(y * X + x, None, X * Y)
    return A[:, own] @ B[own]


# %% partial wrong: one column
def partial(A, B, x, y, X, Y):
    width = A.shape[1] // (X * Y)
    first = (y * X + x) * width
    own = slice(first, first + 1)
    return A[:, own] @ B[own]


# %% partial wrong: numbers devices from one
def partial(A, B, x, y, X, Y):
    width = A.shape[1] // (X * Y)
    first = (y * X + x + 1) * width
    own = slice(first, first + width)
    return A[:, own] @ B[own]


# %% partial wrong: the wrong size as a stride
def partial(A, B, x, y, X, Y):
    width = A.shape[1] // (X * Y)
    first = (y * Y + x) * width
    own = slice(first, first + width)
    return A[:, own] @ B[own]


# %% partial wrong: elementwise
def partial(A, B, x, y, X, Y):
    width = A.shape[1] // (X * Y)
    first = (y * X + x) * width
    own = slice(first, first + width)
    return A[:, own].sum(1, keepdims=True) * B[own].sum(0)


# %% partial wrong: the whole sum
def partial(A, B, x, y, X, Y):
    return A @ B


# %% partial right: as the sum that was written down
def partial(A, B, x, y, X, Y):
    J = A.shape[1]
    part = J // Y // X
    start = J // Y * y + part * x
    O = [[0.0] * B.shape[1] for _ in A]
    for i in range(len(A)):
        for k in range(B.shape[1]):
            for j in range(start, start + part):
                O[i][k] += float(A[i, j]) * float(B[j, k])
    return O


# %% partial right: cut by Y, then by X
def partial(A, B, x, y, X, Y):
    columns = np.split(np.split(A, Y, axis=1)[y], X, axis=1)[x]
    rows = np.split(np.split(B, Y)[y], X)[x]
    return sum(np.outer(a, b) for a, b in zip(columns.T, rows))


# %% strategies wrong: the tokens of an AllReduce
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = D / 2
width = C / W
chips = D * W / C
tokens_in_turn = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
ratio = M / K


# %% strategies wrong: tokens the other way round
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = 2 * D
width = C / W
chips = D * W / C
tokens_in_turn = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
ratio = M / K


# %% strategies wrong: tokens on a chip
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = D / X
width = C / W
chips = D * W / C
tokens_in_turn = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
ratio = M / K


# %% strategies wrong: the width of an AllReduce
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = D
width = 2 * C / W
chips = D * W / C
tokens_in_turn = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
ratio = M / K


# %% strategies wrong: a multiply-add is one
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = D
width = C / (2 * W)
chips = 2 * D * W / C
tokens_in_turn = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
ratio = M / K


# %% strategies wrong: width of the shared arithmetic
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = D
width = C * X / W
chips = D * W / C
tokens_in_turn = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
ratio = M / K


# %% strategies wrong: chips of an AllReduce
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = D
width = C / W
chips = D * W / (2 * C)
tokens_in_turn = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
ratio = M / K


# %% strategies wrong: chips upside down
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = D
width = C / W
chips = C / (D * W)
tokens_in_turn = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
ratio = M / K


# %% strategies wrong: bytes alone, in turn
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = D
width = C / W
chips = D * W / C
tokens_in_turn = D / 2
ratio = M / K


# %% strategies wrong: the arithmetic of (2) forgotten
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = D
width = C / W
chips = D * W / C
tokens_in_turn = (2 * D / W) / (4 / W - 2 * D / C)
ratio = M / K


# %% strategies wrong: a ReduceScatter in turn
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = D
width = C / W
chips = D * W / C
tokens_in_turn = (2 * D / W) / (2 / W - 2 * D / C * (1 - 1 / X))
ratio = M / K


# %% strategies wrong: a sign lost
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = D
width = C / W
chips = D * W / C
tokens_in_turn = (2 * D / W) / (4 / W + 2 * D / C * (1 - 1 / X))
ratio = M / K


# %% strategies wrong: the ratio upside down
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = D
width = C / W
chips = D * W / C
tokens_in_turn = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
ratio = K / M


# %% strategies wrong: the ratio to a sum of B
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = D
width = C / W
chips = D * W / C
tokens_in_turn = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
ratio = N / K


# %% strategies wrong: the ratio to an AllReduce
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = D
width = C / W
chips = D * W / C
tokens_in_turn = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
ratio = M / (2 * K)


# %% strategies right: solved by SymPy
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
math_1, comms_1 = 2 * B * D * F / C, 2 * D * F / W
comms_3 = 2 * B * F / W
[tokens] = sympy.solve(comms_1 - comms_3, B)
[width] = sympy.solve(math_1 - comms_3, D)
[chips] = sympy.solve(math_1 / X - comms_3, X)
[tokens_in_turn] = sympy.solve(math_1 + comms_1 - math_1 / X - 2 * comms_3, B)
ratio = (N * M) / (N * K)


# %% strategies right: as text
tokens = "D"
width = "C*W**-1"
chips = "D/(C/W)"
tokens_in_turn = "D / (2 - D*W*(X - 1)/(C*X))"
ratio = "M*N/K/N"


# %% quickest wrong: always cuts I
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    def gather(V, a):
        if a == 0:
            return 0.0
        return (1 - n**-a) * V / (a * W) + a * n // 2 * T_min

    def seconds(i, j, k):
        rows, inner, columns = I / n**i, J / n**j, K / n**k
        math = 2 * rows * inner * columns / C
        read = 2 * (rows * inner + inner * columns) / hbm_bw
        sums = 2 * gather(2 * rows * columns, j)
        return max(math, read) + sums + gather(2 * I * K, i + k)

    numbers = range(4)
    ways = [(i, j, k) for i in numbers for j in numbers for k in numbers]
    best = (3, 0, 0)
    return [*best, seconds(*best)]


# %% quickest wrong: cuts the larger of I and K
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    def gather(V, a):
        if a == 0:
            return 0.0
        return (1 - n**-a) * V / (a * W) + a * n // 2 * T_min

    def seconds(i, j, k):
        rows, inner, columns = I / n**i, J / n**j, K / n**k
        math = 2 * rows * inner * columns / C
        read = 2 * (rows * inner + inner * columns) / hbm_bw
        sums = 2 * gather(2 * rows * columns, j)
        return max(math, read) + sums + gather(2 * I * K, i + k)

    numbers = range(4)
    ways = [(i, j, k) for i in numbers for j in numbers for k in numbers]
    best = (3, 0, 0) if I > K else (0, 0, 3)
    return [*best, seconds(*best)]


# %% quickest wrong: always shares
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    def gather(V, a):
        if a == 0:
            return 0.0
        return (1 - n**-a) * V / (a * W) + a * n // 2 * T_min

    def seconds(i, j, k):
        rows, inner, columns = I / n**i, J / n**j, K / n**k
        math = 2 * rows * inner * columns / C
        read = 2 * (rows * inner + inner * columns) / hbm_bw
        sums = 2 * gather(2 * rows * columns, j)
        return max(math, read) + sums + gather(2 * I * K, i + k)

    numbers = range(4)
    ways = [(i, j, k) for i in numbers for j in numbers for k in numbers]
    best = min((w for w in ways if sum(w) == 3), key=lambda w: seconds(*w))
    return [*best, seconds(*best)]


# %% quickest wrong: never cuts the contraction
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    def gather(V, a):
        if a == 0:
            return 0.0
        return (1 - n**-a) * V / (a * W) + a * n // 2 * T_min

    def seconds(i, j, k):
        rows, inner, columns = I / n**i, J / n**j, K / n**k
        math = 2 * rows * inner * columns / C
        read = 2 * (rows * inner + inner * columns) / hbm_bw
        sums = 2 * gather(2 * rows * columns, j)
        return max(math, read) + sums + gather(2 * I * K, i + k)

    numbers = range(4)
    ways = [(i, j, k) for i in numbers for j in numbers for k in numbers]
    best = min(
        (w for w in ways if sum(w) <= 3 and not w[1]), key=lambda w: seconds(*w)
    )
    return [*best, seconds(*best)]


# %% quickest wrong: everybody does all
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    def gather(V, a):
        if a == 0:
            return 0.0
        return (1 - n**-a) * V / (a * W) + a * n // 2 * T_min

    def seconds(i, j, k):
        rows, inner, columns = I / n**i, J / n**j, K / n**k
        math = 2 * rows * inner * columns / C
        read = 2 * (rows * inner + inner * columns) / hbm_bw
        sums = 2 * gather(2 * rows * columns, j)
        return max(math, read) + sums + gather(2 * I * K, i + k)

    numbers = range(4)
    ways = [(i, j, k) for i in numbers for j in numbers for k in numbers]
    best = min((w for w in ways if sum(w) == 0), key=lambda w: seconds(*w))
    return [*best, seconds(*best)]


# %% quickest wrong: reading left out
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    def gather(V, a):
        if a == 0:
            return 0.0
        return (1 - n**-a) * V / (a * W) + a * n // 2 * T_min

    def seconds(i, j, k):
        rows, inner, columns = I / n**i, J / n**j, K / n**k
        math = 2 * rows * inner * columns / C
        read = 2 * (rows * inner + inner * columns) / hbm_bw
        sums = 2 * gather(2 * rows * columns, j)
        return math + sums + gather(2 * I * K, i + k)

    numbers = range(4)
    ways = [(i, j, k) for i in numbers for j in numbers for k in numbers]
    best = min((w for w in ways if sum(w) <= 3), key=lambda w: seconds(*w))
    return [*best, seconds(*best)]


# %% quickest wrong: reading added
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    def gather(V, a):
        if a == 0:
            return 0.0
        return (1 - n**-a) * V / (a * W) + a * n // 2 * T_min

    def seconds(i, j, k):
        rows, inner, columns = I / n**i, J / n**j, K / n**k
        math = 2 * rows * inner * columns / C
        read = 2 * (rows * inner + inner * columns) / hbm_bw
        sums = 2 * gather(2 * rows * columns, j)
        return math + read + sums + gather(2 * I * K, i + k)

    numbers = range(4)
    ways = [(i, j, k) for i in numbers for j in numbers for k in numbers]
    best = min((w for w in ways if sum(w) <= 3), key=lambda w: seconds(*w))
    return [*best, seconds(*best)]


# %% quickest wrong: perfect overlap
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    def gather(V, a):
        if a == 0:
            return 0.0
        return (1 - n**-a) * V / (a * W) + a * n // 2 * T_min

    def seconds(i, j, k):
        rows, inner, columns = I / n**i, J / n**j, K / n**k
        math = 2 * rows * inner * columns / C
        read = 2 * (rows * inner + inner * columns) / hbm_bw
        sums = 2 * gather(2 * rows * columns, j)
        return max(math, read, sums + gather(2 * I * K, i + k))

    numbers = range(4)
    ways = [(i, j, k) for i in numbers for j in numbers for k in numbers]
    best = min((w for w in ways if sum(w) <= 3), key=lambda w: seconds(*w))
    return [*best, seconds(*best)]


# %% quickest wrong: latency left out
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    def gather(V, a):
        if a == 0:
            return 0.0
        return (1 - n**-a) * V / (a * W)

    def seconds(i, j, k):
        rows, inner, columns = I / n**i, J / n**j, K / n**k
        math = 2 * rows * inner * columns / C
        read = 2 * (rows * inner + inner * columns) / hbm_bw
        sums = 2 * gather(2 * rows * columns, j)
        return max(math, read) + sums + gather(2 * I * K, i + k)

    numbers = range(4)
    ways = [(i, j, k) for i in numbers for j in numbers for k in numbers]
    best = min((w for w in ways if sum(w) <= 3), key=lambda w: seconds(*w))
    return [*best, seconds(*best)]


# %% quickest wrong: limits
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    def gather(V, a):
        if a == 0:
            return 0.0
        return V / (a * W) + a * n // 2 * T_min

    def seconds(i, j, k):
        rows, inner, columns = I / n**i, J / n**j, K / n**k
        math = 2 * rows * inner * columns / C
        read = 2 * (rows * inner + inner * columns) / hbm_bw
        sums = 2 * gather(2 * rows * columns, j)
        return max(math, read) + sums + gather(2 * I * K, i + k)

    numbers = range(4)
    ways = [(i, j, k) for i in numbers for j in numbers for k in numbers]
    best = min((w for w in ways if sum(w) <= 3), key=lambda w: seconds(*w))
    return [*best, seconds(*best)]


# %% quickest wrong: one axis at a time
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    def gather(V, a):
        if a == 0:
            return 0.0
        return (1 - n**-a) * V / W + a * n // 2 * T_min

    def seconds(i, j, k):
        rows, inner, columns = I / n**i, J / n**j, K / n**k
        math = 2 * rows * inner * columns / C
        read = 2 * (rows * inner + inner * columns) / hbm_bw
        sums = 2 * gather(2 * rows * columns, j)
        return max(math, read) + sums + gather(2 * I * K, i + k)

    numbers = range(4)
    ways = [(i, j, k) for i in numbers for j in numbers for k in numbers]
    best = min((w for w in ways if sum(w) <= 3), key=lambda w: seconds(*w))
    return [*best, seconds(*best)]


# %% quickest wrong: an AllReduce moves once
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    def gather(V, a):
        if a == 0:
            return 0.0
        return (1 - n**-a) * V / (a * W) + a * n // 2 * T_min

    def seconds(i, j, k):
        rows, inner, columns = I / n**i, J / n**j, K / n**k
        math = 2 * rows * inner * columns / C
        read = 2 * (rows * inner + inner * columns) / hbm_bw
        sums = gather(2 * rows * columns, j)
        return max(math, read) + sums + gather(2 * I * K, i + k)

    numbers = range(4)
    ways = [(i, j, k) for i in numbers for j in numbers for k in numbers]
    best = min((w for w in ways if sum(w) <= 3), key=lambda w: seconds(*w))
    return [*best, seconds(*best)]


# %% quickest wrong: an AllReduce of all of C
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    def gather(V, a):
        if a == 0:
            return 0.0
        return (1 - n**-a) * V / (a * W) + a * n // 2 * T_min

    def seconds(i, j, k):
        rows, inner, columns = I / n**i, J / n**j, K / n**k
        math = 2 * rows * inner * columns / C
        read = 2 * (rows * inner + inner * columns) / hbm_bw
        sums = 2 * gather(2 * I * K, j)
        return max(math, read) + sums + gather(2 * I * K, i + k)

    numbers = range(4)
    ways = [(i, j, k) for i in numbers for j in numbers for k in numbers]
    best = min((w for w in ways if sum(w) <= 3), key=lambda w: seconds(*w))
    return [*best, seconds(*best)]


# %% quickest wrong: reads B only
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    def gather(V, a):
        if a == 0:
            return 0.0
        return (1 - n**-a) * V / (a * W) + a * n // 2 * T_min

    def seconds(i, j, k):
        rows, inner, columns = I / n**i, J / n**j, K / n**k
        math = 2 * rows * inner * columns / C
        read = 2 * (inner * columns) / hbm_bw
        sums = 2 * gather(2 * rows * columns, j)
        return max(math, read) + sums + gather(2 * I * K, i + k)

    numbers = range(4)
    ways = [(i, j, k) for i in numbers for j in numbers for k in numbers]
    best = min((w for w in ways if sum(w) <= 3), key=lambda w: seconds(*w))
    return [*best, seconds(*best)]


# %% quickest right: loops, and the best so far
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    found = [0, 0, 0, max(2 * I * J * K / C, 2 * J * (I + K) / hbm_bw)]
    for i in range(4):
        for j in range(4 - i):
            for k in range(4 - i - j):
                a = i + k
                took = 2 * I * J * K / n ** (a + j) / C
                moved = I * J / n ** (i + j) + J * K / n ** (j + k)
                took = max(took, 2 * moved / hbm_bw)
                if j:
                    V = 2 * I * K / n**a
                    took += 2 * V * (1 - 1 / n**j) / (j * W) + j * n * T_min
                if a:
                    V = 2 * I * K
                    took += V * (1 - 1 / n**a) / (a * W) + a * n * T_min / 2
                if took < found[3]:
                    found = [i, j, k, took]
    return found


# %% quickest right: axis by axis: a word of three letters
from itertools import product as words


def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    ways = {}
    for word in words("IJK-", repeat=3):
        cut = [word.count(letter) for letter in "IJK"]
        rows, inner, columns = (s / n**c for s, c in zip((I, J, K), cut))
        busy = max(
            2 * rows * inner * columns / C,
            2 * inner * (rows + columns) / hbm_bw,
        )
        hops = (2 * cut[1] + cut[0] + cut[2]) * n / 2
        wires = 0.0
        if cut[1]:
            lacking = 1 - float(n) ** -cut[1]
            wires += 4 * rows * columns * lacking / (cut[1] * W)
        if free := cut[0] + cut[2]:
            wires += 2 * I * K * (1 - float(n) ** -free) / (free * W)
        ways[tuple(cut)] = busy + hops * T_min + wires
    best = min(ways, key=ways.get)
    return np.array([*best, ways[best]])


# %% share wrong: no hops
C, W, n, I, K, T = sympy.symbols("C W n I K T", positive=True)
share = 1 - 1 / n**3
comm = share * 2 * I * K / (3 * W)
longer_than = comm / (share * 2 * I * K / C)


# %% share wrong: those who share do nothing
C, W, n, I, K, T = sympy.symbols("C W n I K T", positive=True)
share = 1 - 1 / n**3
comm = share * 2 * I * K / (3 * W) + 3 * n / 2 * T
longer_than = comm / (2 * I * K / C)


# %% share wrong: the limit for the gather
C, W, n, I, K, T = sympy.symbols("C W n I K T", positive=True)
share = 1 - 1 / n**3
comm = 2 * I * K / (3 * W) + 3 * n / 2 * T
longer_than = comm / (share * 2 * I * K / C)


# %% share wrong: one axis
C, W, n, I, K, T = sympy.symbols("C W n I K T", positive=True)
share = 1 - 1 / n**3
comm = share * 2 * I * K / W + 3 * n / 2 * T
longer_than = comm / (share * 2 * I * K / C)


# %% share wrong: the hops of one axis
C, W, n, I, K, T = sympy.symbols("C W n I K T", positive=True)
share = 1 - 1 / n**3
comm = share * 2 * I * K / (3 * W) + n / 2 * T
longer_than = comm / (share * 2 * I * K / C)


# %% share wrong: one hop
C, W, n, I, K, T = sympy.symbols("C W n I K T", positive=True)
share = 1 - 1 / n**3
comm = share * 2 * I * K / (3 * W) + T
longer_than = comm / (share * 2 * I * K / C)


# %% share wrong: hops of lines
C, W, n, I, K, T = sympy.symbols("C W n I K T", positive=True)
share = 1 - 1 / n**3
comm = share * 2 * I * K / (3 * W) + 3 * (n - 1) * T
longer_than = comm / (share * 2 * I * K / C)


# %% share wrong: both ways counted twice
C, W, n, I, K, T = sympy.symbols("C W n I K T", positive=True)
share = 1 - 1 / n**3
comm = share * 2 * I * K / (6 * W) + 3 * n / 2 * T
longer_than = comm / (share * 2 * I * K / C)


# %% share wrong: overlap, and no hops
C, W, n = sympy.symbols("C W n", positive=True)
longer_than = (1 - 1 / n**3) * C / (3 * W)


# %% share right: solved
C, W, n, I, J, K, T = sympy.symbols("C W n I J K T", positive=True)
alone = 2 * I * J * K / C
gather = 2 * I * K * (n**3 - 1) / (3 * n**3 * W) + sympy.Rational(3, 2) * n * T
[longer_than] = sympy.solve(alone - alone / n**3 - gather, J)


# %% share right: as text
longer_than = "C/W/3 + 3*n**4*T*C / (4*I*K*(n**3 - 1))"


# %% lines wrong: rings
def on_lines(I, J, K, X, Y, C, link_bw):
    math = 2 * I * J * K / (X * Y) / C
    sums = 2 * I * K / X
    weights = 2 * J * K / Y
    return [
        [math, sums * (Y - 1) / Y / link_bw],
        [math, weights * (X - 1) / X / (2 * link_bw)],
        [math, 0.0],
    ]


X, Y, C, link_bw = sympy.symbols("X Y C link_bw", positive=True)
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: an AllReduce that moves once
def on_lines(I, J, K, X, Y, C, link_bw):
    math = 2 * I * J * K / (X * Y) / C
    sums = 2 * I * K / X
    weights = 2 * J * K / Y
    return [
        [math, sums * (Y - 1) / Y / link_bw],
        [math, weights * (X - 1) / X / link_bw],
        [math, 0.0],
    ]


X, Y, C, link_bw = sympy.symbols("X Y C link_bw", positive=True)
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: limits of many chips
def on_lines(I, J, K, X, Y, C, link_bw):
    math = 2 * I * J * K / (X * Y) / C
    sums = 2 * I * K / X
    weights = 2 * J * K / Y
    return [
        [math, 2 * sums / link_bw],
        [math, weights / link_bw],
        [math, 0.0],
    ]


X, Y, C, link_bw = sympy.symbols("X Y C link_bw", positive=True)
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: whole arrays, as if the other axis did not cut
def on_lines(I, J, K, X, Y, C, link_bw):
    math = 2 * I * J * K / (X * Y) / C
    sums = 2 * I * K
    weights = 2 * J * K
    return [
        [math, 2 * sums * (Y - 1) / Y / link_bw],
        [math, weights * (X - 1) / X / link_bw],
        [math, 0.0],
    ]


X, Y, C, link_bw = sympy.symbols("X Y C link_bw", positive=True)
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: the second gathers A
def on_lines(I, J, K, X, Y, C, link_bw):
    math = 2 * I * J * K / (X * Y) / C
    sums = 2 * I * K / X
    weights = 2 * I * J
    return [
        [math, 2 * sums * (Y - 1) / Y / link_bw],
        [math, weights * (X - 1) / X / link_bw],
        [math, 0.0],
    ]


X, Y, C, link_bw = sympy.symbols("X Y C link_bw", positive=True)
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: the sum of A, the gather of J by J
def on_lines(I, J, K, X, Y, C, link_bw):
    math = 2 * I * J * K / (X * Y) / C
    sums = 2 * I * J / X
    weights = 2 * J * J / Y
    return [
        [math, 2 * sums * (Y - 1) / Y / link_bw],
        [math, weights * (X - 1) / X / link_bw],
        [math, 0.0],
    ]


X, Y, C, link_bw = sympy.symbols("X Y C link_bw", positive=True)
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: the lines exchanged
def on_lines(I, J, K, X, Y, C, link_bw):
    math = 2 * I * J * K / (X * Y) / C
    sums = 2 * I * K / X
    weights = 2 * J * K / Y
    return [
        [math, 2 * sums * (X - 1) / X / link_bw],
        [math, weights * (X - 1) / X / link_bw],
        [math, 0.0],
    ]


X, Y, C, link_bw = sympy.symbols("X Y C link_bw", positive=True)
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: the gather over the other line
def on_lines(I, J, K, X, Y, C, link_bw):
    math = 2 * I * J * K / (X * Y) / C
    sums = 2 * I * K / X
    weights = 2 * J * K / Y
    return [
        [math, 2 * sums * (Y - 1) / Y / link_bw],
        [math, weights * (Y - 1) / Y / link_bw],
        [math, 0.0],
    ]


X, Y, C, link_bw = sympy.symbols("X Y C link_bw", positive=True)
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: inference gathers, too
def on_lines(I, J, K, X, Y, C, link_bw):
    math = 2 * I * J * K / (X * Y) / C
    sums = 2 * I * K / X
    weights = 2 * J * K / Y
    return [
        [math, 2 * sums * (Y - 1) / Y / link_bw],
        [math, weights * (X - 1) / X / link_bw],
        [math, weights * (X - 1) / X / link_bw],
    ]


X, Y, C, link_bw = sympy.symbols("X Y C link_bw", positive=True)
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: each chip does all of it
def on_lines(I, J, K, X, Y, C, link_bw):
    math = 2 * I * J * K / C
    sums = 2 * I * K / X
    weights = 2 * J * K / Y
    return [
        [math, 2 * sums * (Y - 1) / Y / link_bw],
        [math, weights * (X - 1) / X / link_bw],
        [math, 0.0],
    ]


X, Y, C, link_bw = sympy.symbols("X Y C link_bw", positive=True)
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: the rule of rings for the length
def on_lines(I, J, K, X, Y, C, link_bw):
    math = 2 * I * J * K / (X * Y) / C
    sums = 2 * I * K / X
    weights = 2 * J * K / Y
    return [
        [math, 2 * sums * (Y - 1) / Y / link_bw],
        [math, weights * (X - 1) / X / link_bw],
        [math, 0.0],
    ]


X, Y, C, link_bw = sympy.symbols("X Y C link_bw", positive=True)
least_length = C * Y / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: the limit for the length
def on_lines(I, J, K, X, Y, C, link_bw):
    math = 2 * I * J * K / (X * Y) / C
    sums = 2 * I * K / X
    weights = 2 * J * K / Y
    return [
        [math, 2 * sums * (Y - 1) / Y / link_bw],
        [math, weights * (X - 1) / X / link_bw],
        [math, 0.0],
    ]


X, Y, C, link_bw = sympy.symbols("X Y C link_bw", positive=True)
least_length = 2 * C * Y / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: the length of a single half
def on_lines(I, J, K, X, Y, C, link_bw):
    math = 2 * I * J * K / (X * Y) / C
    sums = 2 * I * K / X
    weights = 2 * J * K / Y
    return [
        [math, 2 * sums * (Y - 1) / Y / link_bw],
        [math, weights * (X - 1) / X / link_bw],
        [math, 0.0],
    ]


X, Y, C, link_bw = sympy.symbols("X Y C link_bw", positive=True)
least_length = C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: the length by the other axis
def on_lines(I, J, K, X, Y, C, link_bw):
    math = 2 * I * J * K / (X * Y) / C
    sums = 2 * I * K / X
    weights = 2 * J * K / Y
    return [
        [math, 2 * sums * (Y - 1) / Y / link_bw],
        [math, weights * (X - 1) / X / link_bw],
        [math, 0.0],
    ]


X, Y, C, link_bw = sympy.symbols("X Y C link_bw", positive=True)
least_length = 2 * C * (X - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: the tokens of rings
def on_lines(I, J, K, X, Y, C, link_bw):
    math = 2 * I * J * K / (X * Y) / C
    sums = 2 * I * K / X
    weights = 2 * J * K / Y
    return [
        [math, 2 * sums * (Y - 1) / Y / link_bw],
        [math, weights * (X - 1) / X / link_bw],
        [math, 0.0],
    ]


X, Y, C, link_bw = sympy.symbols("X Y C link_bw", positive=True)
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * X / (2 * link_bw)


# %% lines wrong: the tokens by the other axis
def on_lines(I, J, K, X, Y, C, link_bw):
    math = 2 * I * J * K / (X * Y) / C
    sums = 2 * I * K / X
    weights = 2 * J * K / Y
    return [
        [math, 2 * sums * (Y - 1) / Y / link_bw],
        [math, weights * (X - 1) / X / link_bw],
        [math, 0.0],
    ]


X, Y, C, link_bw = sympy.symbols("X Y C link_bw", positive=True)
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (Y - 1) / link_bw


# %% lines wrong: tokens for each chip
def on_lines(I, J, K, X, Y, C, link_bw):
    math = 2 * I * J * K / (X * Y) / C
    sums = 2 * I * K / X
    weights = 2 * J * K / Y
    return [
        [math, 2 * sums * (Y - 1) / Y / link_bw],
        [math, weights * (X - 1) / X / link_bw],
        [math, 0.0],
    ]


X, Y, C, link_bw = sympy.symbols("X Y C link_bw", positive=True)
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / X / link_bw


# %% lines right: hop by hop
def on_lines(I, J, K, X, Y, C, link_bw):
    block = 2 * I / X * K / Y / link_bw
    scatter = gather = sum(block for _ in range(Y - 1))
    weights = sum(2 * J / X * K / Y / link_bw for _ in range(X - 1))
    math = I / X * J * K / Y * 2 / C
    return (math, scatter + gather), (math, weights), (math, 0)


X, Y, C, link_bw = sympy.symbols("X Y C link_bw", positive=True)
I, J, K = sympy.symbols("I J K", positive=True)
pairs = on_lines(I, J, K, X, 1, C, link_bw) if False else None
math = 2 * I * J * K / (X * Y * C)
[least_length] = sympy.solve(math - 4 * I * K / X * (1 - 1 / Y) / link_bw, J)
[least_tokens] = sympy.solve(math - 2 * J * K / Y * (1 - 1 / X) / link_bw, I)


# %% lines right: closed forms, as arrays and text
def on_lines(I, J, K, X, Y, C, link_bw):
    math = np.full(3, 2.0) * I * J * K / (X * Y * C)
    comm = np.array([4 * I * (Y - 1), 2 * J * (X - 1), 0]) * K
    return np.stack([math, comm / (X * Y * link_bw)], axis=1)


least_length = "2*(C*Y - C)/link_bw"
least_tokens = "(X - 1)/(link_bw/C)"


# %% narrow wrong: adds up nothing
cuts = {
    "In": ["", "XY"],
    "W_in": ["XY", ""],
    "W_out": ["", "XY"],
    "Out": ["", "XY"],
}


def narrow(In, W_in, W_out):
    Tmp = In @ W_in
    return Tmp @ W_out


# %% narrow wrong: adds up over X alone
cuts = {
    "In": ["", "XY"],
    "W_in": ["XY", ""],
    "W_out": ["", "XY"],
    "Out": ["", "XY"],
}


def narrow(In, W_in, W_out):
    Tmp = jax.lax.psum(In @ W_in, "X")
    return Tmp @ W_out


# %% narrow wrong: a mean
cuts = {
    "In": ["", "XY"],
    "W_in": ["XY", ""],
    "W_out": ["", "XY"],
    "Out": ["", "XY"],
}


def narrow(In, W_in, W_out):
    Tmp = jax.lax.pmean(In @ W_in, ("X", "Y"))
    return Tmp @ W_out


# %% narrow wrong: In and Out lie otherwise
cuts = {
    "In": ["", "XY"],
    "W_in": ["XY", ""],
    "W_out": ["", "XY"],
    "Out": ["XY", ""],
}


def narrow(In, W_in, W_out):
    Tmp = jax.lax.psum(In @ W_in, ("X", "Y"))
    return Tmp @ W_out


# %% narrow wrong: weights cut by X alone
cuts = {
    "In": ["", "XY"],
    "W_in": ["X", ""],
    "W_out": ["", "XY"],
    "Out": ["", "XY"],
}


def narrow(In, W_in, W_out):
    Tmp = jax.lax.psum(In @ W_in, ("X", "Y"))
    return Tmp @ W_out


# %% narrow wrong: one array is missing
cuts = {
    "In": ["", "XY"],
    "W_in": ["XY", ""],
    "W_out": ["", "XY"],
}


def narrow(In, W_in, W_out):
    Tmp = jax.lax.psum(In @ W_in, ("X", "Y"))
    return Tmp @ W_out


# %% narrow wrong: an axis twice
cuts = {
    "In": ["X", "XY"],
    "W_in": ["XY", ""],
    "W_out": ["", "XY"],
    "Out": ["", "XY"],
}


def narrow(In, W_in, W_out):
    Tmp = jax.lax.psum(In @ W_in, ("X", "Y"))
    return Tmp @ W_out


# %% narrow wrong: the order of the axes
cuts = {
    "In": ["", "XY"],
    "W_in": ["YX", ""],
    "W_out": ["", "XY"],
    "Out": ["", "XY"],
}


def narrow(In, W_in, W_out):
    Tmp = jax.lax.psum(In @ W_in, ("X", "Y"))
    return Tmp @ W_out


# %% narrow wrong: the chapter's block
cuts = {
    "In": ["", "XY"],
    "W_in": ["", "XY"],
    "W_out": ["XY", ""],
    "Out": ["", "XY"],
}


def narrow(In, W_in, W_out):
    both = ("X", "Y")
    In = jax.lax.all_gather(In, both, axis=1, tiled=True)
    Out = In @ W_in @ W_out
    return jax.lax.psum_scatter(Out, both, scatter_dimension=1, tiled=True)


# %% narrow wrong: tokens are cut, and weights gathered
cuts = {
    "In": ["XY", ""],
    "W_in": ["XY", ""],
    "W_out": ["", "XY"],
    "Out": ["XY", ""],
}


def narrow(In, W_in, W_out):
    W_in = jax.lax.all_gather(W_in, ("X", "Y"), axis=0, tiled=True)
    W_out = jax.lax.all_gather(W_out, ("X", "Y"), axis=1, tiled=True)
    return In @ W_in @ W_out


# %% narrow wrong: an AllReduce of whole tokens at the end
cuts = {
    "In": ["", ""],
    "W_in": ["", "XY"],
    "W_out": ["XY", ""],
    "Out": ["", ""],
}


def narrow(In, W_in, W_out):
    return jax.lax.psum(In @ W_in @ W_out, ("X", "Y"))


# %% narrow right: Y before X, and the sum in two halves
cuts = {
    "In": ("", "YX"),
    "W_in": ("YX", ""),
    "W_out": ("", "YX"),
    "Out": ("", "YX"),
}


def narrow(In, W_in, W_out):
    both = ("Y", "X")
    Tmp = In @ W_in
    Tmp = jax.lax.psum_scatter(Tmp, both, scatter_dimension=1, tiled=True)
    return jax.lax.all_gather(Tmp, both, axis=1, tiled=True) @ W_out


# %% narrow right: one axis after the other
wide, tall = ["", "XY"], ["XY", ""]
cuts = dict(In=wide, W_in=tall, W_out=wide, Out=wide)


def narrow(In, W_in, W_out):
    N = jax.lax.axis_size("X") * jax.lax.axis_size("Y")
    parts = jnp.stack(jnp.split(In @ W_in, N))
    for axis in ("X", "Y"):
        parts = jax.lax.psum_scatter(
            parts, axis, scatter_dimension=0, tiled=True
        )
    for axis in ("Y", "X"):
        parts = jax.lax.all_gather(parts, axis, axis=0, tiled=True)
    return jnp.concatenate(parts) @ W_out


# %% budget wrong: both matrices whole
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: one matrix
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: X cuts weights, too
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / (X * Y)
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: elements
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: no room for what is gathered
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = chip.hbm_bytes // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: a gathered matrix in place of its part
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix * (Y - 1) / Y) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: two gathered
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - 2 * matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: one gathered in every block
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = chip.hbm_bytes // (held + matrix)
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: part of a block fits
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) / held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: the memory of all chips
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (X * Y * chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: one of the two products
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 2 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: all of the arithmetic
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: all tokens on every chip
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / Y / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: all hidden units on every chip
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / X / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: reads whole matrices
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": Y * held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: reads one of two matrices
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / 2 / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: the gather alone
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: one link, on a torus as on a switch
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / chip.link_bw,
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: two directions, on a switch as on a torus
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / (2 * chip.link_bw),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: the way out of a node
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / chip.dcn_bw,
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: limits
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: tokens of all rows of chips
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: moves what lies in the middle
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * F / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: over the other axis
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (X - 1) / X / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: always memory
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), "reading"]


# %% budget wrong: always arithmetic
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), "math"]


# %% budget wrong: always the network
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), "comm"]


# %% budget wrong: the shortest
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), min(times, key=times.get)]


# %% budget right: from the blocks
def budget(name, X, Y, B, D, F):
    chip = hw.CHIPS[name]
    blocks = [jax.ShapeDtypeStruct((D // Y, F), jnp.bfloat16)] * 2
    held = sum(block.size * block.dtype.itemsize for block in blocks)
    left, most = chip.hbm_bytes - Y * held / 2, 0
    while left >= held:
        left, most = left - held, most + 1
    math = sum(2 * (B // X) * block.size for block in blocks) / chip.flops
    hop = 2 * (B // X) * D / Y / chip.link_bw  # a piece, one way
    comm = 2 * (Y - 1) * hop / (2 if chip.axes else 1)
    names = {math: "math", held / chip.hbm_bw: "reading", comm: "comm"}
    return [held, most, *names, names[max(names)]]


# %% budget right: closed forms
def budget(name, X, Y, B, D, F):
    chip, tokens = hw.chip(name), B / X
    W = chip.link_bw if name[0] not in "vt" else 2 * chip.link_bw
    times = (
        4 * tokens * D * F / (Y * chip.flops),
        4 * D * F / (Y * chip.hbm_bw),
        4 * tokens * D * (1 - 1 / Y) / W,
    )
    most = int((chip.hbm_bytes / (2 * D * F) - 1) * Y / 2)
    longest = "math"
    if times[1] > times[0]:
        longest = "reading"
    if times[2] > max(times[:2]):
        longest = "comm"
    return (4 * D * F / Y, most, *times, longest)


# %% scatter_matmul wrong: the library's ReduceScatter
def scatter_matmul(A, B):
    return jax.lax.psum_scatter(A @ B, "X", scatter_dimension=0, tiled=True)


# %% scatter_matmul wrong: all of the term first, then the ring
def scatter_matmul(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    back = [(chip, (chip - 1) % N) for chip in range(N)]
    pieces = (A @ B).reshape(N, -1, B.shape[1])
    piece = pieces[(me + 1) % N]
    for hop in range(2, N + 1):
        piece = jax.lax.ppermute(piece, "X", back) + pieces[(me + hop) % N]
    return piece


# %% scatter_matmul wrong: passes whole terms
def scatter_matmul(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    total = passing = A @ B
    for _ in range(N - 1):
        passing = jax.lax.ppermute(passing, "X", onward)
        total = total + passing
    return jnp.stack(jnp.split(total, N))[me]


# %% scatter_matmul wrong: starts with its own piece
def scatter_matmul(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    back = [(chip, (chip - 1) % N) for chip in range(N)]
    rows = A.reshape(N, -1, A.shape[1])
    piece = rows[me] @ B
    for hop in range(1, N):
        piece = jax.lax.ppermute(piece, "X", back)
        piece = piece + rows[(me + hop) % N] @ B
    return piece


# %% scatter_matmul wrong: moves the factors
def scatter_matmul(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    total = jnp.stack(jnp.split(A, N))[me] @ B
    for _ in range(N - 1):
        A = jax.lax.ppermute(A, "X", onward)
        B = jax.lax.ppermute(B, "X", onward)
        total = total + jnp.stack(jnp.split(A, N))[me] @ B
    return total


# %% scatter_matmul wrong: straight to each piece's home
def scatter_matmul(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    rows = A.reshape(N, -1, A.shape[1])
    total = rows[me] @ B
    for s in range(1, N):
        away = [(chip, (chip + s) % N) for chip in range(N)]
        term = rows[(me + s) % N] @ B
        total = total + jax.lax.ppermute(term, "X", away)
    return total


# %% scatter_matmul wrong: forgets to add
def scatter_matmul(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    back = [(chip, (chip - 1) % N) for chip in range(N)]
    rows = A.reshape(N, -1, A.shape[1])
    piece = rows[(me + 1) % N] @ B
    for _ in range(2, N + 1):
        piece = jax.lax.ppermute(piece, "X", back)
    return piece + rows[me] @ B


# %% scatter_matmul right: the other way round
def scatter_matmul(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    height = A.shape[0] // N

    def term(chip):
        rows = jax.lax.dynamic_slice_in_dim(A, chip % N * height, height, 0)
        return rows @ B

    piece = term(me - 1)
    for hop in range(2, N + 1):
        piece = term(me - hop) + jax.lax.ppermute(piece, "X", onward)
    return piece


# %% scatter_matmul right: a loop that JAX runs
def scatter_matmul(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    back = [(chip, (chip - 1) % N) for chip in range(N)]
    rows = jnp.stack(jnp.split(A, N))

    def hop(piece, number):
        came = jax.lax.ppermute(piece, "X", back)
        return came + rows[(me + number) % N] @ B, None

    first = rows[(me + 1) % N] @ B
    piece, _ = jax.lax.scan(hop, first, jnp.arange(2, N + 1))
    return piece


# %% scatter_matmul equivalent: line 5: `(chip - 1) % N` loses its right side
# JAX takes device -1 for the last one.


# %% done wrong: one after the other
def done(hops, product):
    return sum(hops) + (len(hops) + 1) * product


# %% done wrong: the longer of the two
def done(hops, product):
    return max(sum(hops), (len(hops) + 1) * product)


# %% done wrong: the formula for even hops
def done(hops, product):
    return max((len(hops) + 1) * product, sum(hops) + product)


# %% done wrong: every product waits for its hop only
def done(hops, product):
    return product + sum(max(hop, product) for hop in hops)


# %% done wrong: its own block is free
def done(hops, product):
    there, free = 0.0, 0.0
    for hop in hops:
        there += hop
        free = max(free, there) + product
    return free


# %% done right: the worst block decides
def done(hops, product):
    blocks = len(hops) + 1
    return max(sum(hops[:k]) + (blocks - k) * product for k in range(blocks))


# %% done right: events in order of time
def done(hops, product):
    arrivals = [0.0, *np.cumsum(hops).tolist()]
    clock, idle = 0.0, 0.0
    while arrivals:
        came = arrivals.pop(0)
        if came > clock:
            idle += came - clock
            clock = came
        clock += product
    return idle + (len(hops) + 1) * product


# %% done equivalent: line 7: `max(free, there)` with its arguments reversed
# Of two numbers the larger one is the same in either order.


# %% done wrong: a hop starts when the product before it ends
def done(hops, product):
    free = product
    for hop in hops:
        free = free + max(hop, product)
    return free


# %% done wrong: arrivals are not accumulated
def done(hops, product):
    t = product
    for h in hops:
        t = max(t, h) + product
    return t


# %% quickest equivalent: line 11: `(I / n ** i, J / n ** j, K / n ** k)` is reversed
# What is multiplied, read and sent is the same with I and K exchanged.


# %% quickest equivalent: line 15: `max(math, read)` with its arguments reversed
# The larger of two numbers is the same in either order.


# %% quickest equivalent: line 17: 4 becomes 5
# Four axes for one dimension are more than there are, and left out later.


# %% quickest equivalent: line 18: `(i, j, k)` is reversed
# All ways are in the list all the same, in another order.
