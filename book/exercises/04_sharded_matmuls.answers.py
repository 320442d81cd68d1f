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


# %% cases wrong: forgets the debt
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


# %% ratios wrong: what cuts, not what copies
def ratios(cut, mesh):
    devices = copies = 1
    for axis, size in mesh.items():
        devices *= size
        copies *= size if axis in cut else 1
    return [copies, devices]


# %% ratios wrong: the published answer, total over one chip for both
def ratios(cut, mesh):
    devices = 1
    for size in mesh.values():
        devices *= size
    return [devices, devices]


# %% ratios wrong: sixteen for everybody
def ratios(cut, mesh):
    return [16, 64]


# %% ratios wrong: floats
def ratios(cut, mesh):
    devices = cutting = 1
    for axis, size in mesh.items():
        devices *= size
        cutting *= size if axis in cut else 1
    return [devices / cutting, devices]


# %% ratios wrong: exchanged
def ratios(cut, mesh):
    devices = copies = 1
    for axis, size in mesh.items():
        devices *= size
        copies *= 1 if axis in cut else size
    return [devices, copies]


# %% ratios right: by division
def ratios(cut, mesh):
    devices = int(np.prod(list(mesh.values())))
    cutting = int(np.prod([mesh[axis] for axis in cut]))
    return [devices // cutting, devices]


# %% ratios right: JAX knows the block
def ratios(cut, mesh):
    on = jax.sharding.AbstractMesh((*mesh.values(),), (*mesh,))
    where = jax.NamedSharding(on, jax.P(tuple(cut) or None))
    [block] = where.shard_shape((on.size,))
    return [block, on.size]


# %% alike wrong: case 4 multiplies what is there
def case_1(A, B):
    return A @ B


def case_4(A, B):
    return jnp.tile(A @ B, (1, jax.lax.axis_size("X")))


# %% alike wrong: gathers A and B
def case_1(A, B):
    return A @ B


def case_4(A, B):
    A = jax.lax.all_gather(A, "X", axis=0, tiled=True)
    B = jax.lax.all_gather(B, "X", axis=1, tiled=True)
    rows = A.shape[0] // jax.lax.axis_size("X")
    start = jax.lax.axis_index("X") * rows
    return jax.lax.dynamic_slice_in_dim(A @ B, start, rows, 0)


# %% alike wrong: gathers A, and everyone's rows
def case_1(A, B):
    return A @ B


def case_4(A, B):
    return jax.lax.all_gather(A, "X", axis=0, tiled=True) @ B


# %% alike wrong: a gather made of an AllReduce
def case_1(A, B):
    return A @ B


def case_4(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    whole = jnp.zeros((N, *B.shape), B.dtype).at[me].set(B)
    whole = jax.lax.psum(whole, "X")
    return A @ jnp.concatenate(list(whole), axis=1)


# %% alike wrong: case 1 gathers what is not needed
def case_1(A, B):
    B = jax.lax.all_gather(B, "Y", axis=1, tiled=True)
    columns = B.shape[1] // jax.lax.axis_size("Y")
    start = jax.lax.axis_index("Y") * columns
    return A @ jax.lax.dynamic_slice_in_dim(B, start, columns, 1)


def case_4(A, B):
    return A @ jax.lax.all_gather(B, "X", axis=1, tiled=True)


# %% alike wrong: columns in another order
def case_1(A, B):
    return A @ B


def case_4(A, B):
    B = jax.lax.all_gather(B, "X", axis=1, tiled=True)
    return A @ jnp.roll(B, 1, axis=1)


# %% alike right: gathers blocks, and multiplies them one by one
def case_1(A, B):
    return jnp.einsum("ij,jk->ik", A, B)


def case_4(A, B):
    blocks = jax.lax.all_gather(B, "X", tiled=False)
    return jnp.concatenate([A @ block for block in blocks], axis=1)


# %% alike right: gathers the transposed
def case_1(A, B):
    return (B.T @ A.T).T


def case_4(A, B):
    return A @ jax.lax.all_gather(B.T, "X", axis=0, tiled=True).T


# %% case_2 wrong: the sum of what everybody has whole
def gather_first(A, B):
    A = jax.lax.all_gather(A, "X", axis=1, tiled=True, to="invarying")
    return A @ B


def reduce_after(A, B):
    A = jax.lax.all_gather(A, "X", axis=1, tiled=True)
    return jax.lax.psum(A @ B, "X")


# %% case_2 wrong: everybody takes the first rows
def gather_first(A, B):
    A = jax.lax.all_gather(A, "X", axis=1, tiled=True, to="invarying")
    return A @ B


def reduce_after(A, B):
    return jax.lax.psum(A @ B[: A.shape[1]], "X")


# %% case_2 wrong: JAX does not know that it is replicated
def gather_first(A, B):
    return jax.lax.all_gather(A, "X", axis=1, tiled=True) @ B


def reduce_after(A, B):
    start = jax.lax.axis_index("X") * A.shape[1]
    rows = jax.lax.dynamic_slice_in_dim(B, start, A.shape[1], 0)
    return jax.lax.psum(A @ rows, "X")


# %% case_2 wrong: a gather made of an AllReduce
def gather_first(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    whole = jnp.zeros((N, *A.shape), A.dtype).at[me].set(A)
    whole = jax.lax.psum(whole, "X")
    return jnp.concatenate(list(whole), axis=1) @ B


def reduce_after(A, B):
    start = jax.lax.axis_index("X") * A.shape[1]
    rows = jax.lax.dynamic_slice_in_dim(B, start, A.shape[1], 0)
    return jax.lax.psum(A @ rows, "X")


# %% case_2 wrong: gathers the terms and adds them everywhere
def gather_first(A, B):
    A = jax.lax.all_gather(A, "X", axis=1, tiled=True, to="invarying")
    return A @ B


def reduce_after(A, B):
    start = jax.lax.axis_index("X") * A.shape[1]
    rows = jax.lax.dynamic_slice_in_dim(B, start, A.shape[1], 0)
    terms = jax.lax.all_gather(A @ rows, "X", tiled=False, to="invarying")
    return terms.sum(0)


# %% case_2 wrong: a mean
def gather_first(A, B):
    A = jax.lax.all_gather(A, "X", axis=1, tiled=True, to="invarying")
    return A @ B


def reduce_after(A, B):
    start = jax.lax.axis_index("X") * A.shape[1]
    rows = jax.lax.dynamic_slice_in_dim(B, start, A.shape[1], 0)
    return jax.lax.pmean(A @ rows, "X")


# %% case_2 right: zeros for other devices' columns, and a gather of stacks
def gather_first(A, B):
    blocks = jax.lax.all_gather(A, "X", tiled=False, to="invarying")
    rows = B.reshape(len(blocks), -1, B.shape[1])
    return jnp.einsum("nij,njk->ik", blocks, rows)


def reduce_after(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    mine = jnp.arange(B.shape[0]) // A.shape[1] == me
    spread = jnp.tile(A, (1, N)) * mine
    return jax.lax.psum(spread @ B, "X")


# %% case_2 right: rows picked from a stack
def gather_first(A, B):
    return (
        B.T @ jax.lax.all_gather(A.T, "X", axis=0, tiled=True, to="invarying")
    ).T


def reduce_after(A, B):
    N = jax.lax.axis_size("X")
    rows = jnp.stack(jnp.split(B, N))[jax.lax.axis_index("X")]
    return jax.lax.psum(A @ rows, "X")


# %% case_3 wrong: as it was
def case_3(A, B):
    C = jax.lax.psum(A @ B, "X")
    part = C.shape[1] // jax.lax.axis_size("X")
    start = part * jax.lax.axis_index("X")
    return jax.lax.dynamic_slice_in_dim(C, start, part, 1)


# %% case_3 wrong: the result is replicated
def case_3(A, B):
    return jax.lax.psum(A @ B, "X") + 0 * A[:1, :1]


# %% case_3 wrong: terms go all round, and everyone keeps the sum
def case_3(A, B):
    N = jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    total = passing = A @ B
    for _ in range(N - 1):
        passing = jax.lax.ppermute(passing, "X", onward)
        total = total + passing
    return total


# %% case_3 wrong: scatters the rows
def case_3(A, B):
    return jax.lax.psum_scatter(A @ B, "X", scatter_dimension=0, tiled=True)


# %% case_3 wrong: gathers the factors
def case_3(A, B):
    A = jax.lax.all_gather(A, "X", axis=1, tiled=True)
    B = jax.lax.all_gather(B, "X", axis=0, tiled=True)
    C = A @ B
    part = C.shape[1] // jax.lax.axis_size("X")
    start = part * jax.lax.axis_index("X")
    return jax.lax.dynamic_slice_in_dim(C, start, part, 1)


# %% case_3 wrong: adds up nothing
def case_3(A, B):
    C = A @ B
    part = C.shape[1] // jax.lax.axis_size("X")
    start = part * jax.lax.axis_index("X")
    return jax.lax.dynamic_slice_in_dim(C, start, part, 1)


# %% case_3 wrong: a mean
def case_3(A, B):
    C = jax.lax.psum_scatter(A @ B, "X", scatter_dimension=1, tiled=True)
    return C / jax.lax.axis_size("X")


# %% case_3 wrong: scatters, gathers, and keeps a part
def case_3(A, B):
    C = jax.lax.psum_scatter(A @ B, "X", scatter_dimension=1, tiled=True)
    part = C.shape[1]
    C = jax.lax.all_gather(C, "X", axis=1, tiled=True)
    start = part * jax.lax.axis_index("X")
    return jax.lax.dynamic_slice_in_dim(C, start, part, 1)


# %% case_3 right: an AllToAll of the terms, added up at home
def case_3(A, B):
    N = jax.lax.axis_size("X")
    parts = jnp.stack(jnp.split(A @ B, N, axis=1))
    return jax.lax.all_to_all(parts, "X", 0, 0, tiled=True).sum(0)


# %% case_3 right: a ring
def case_3(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    parts = jnp.stack(jnp.split(A @ B, N, axis=1))
    total = parts[me - 1]
    for hop in range(2, N + 1):
        total = jax.lax.ppermute(total, "X", onward) + parts[me - hop]
    return total


# %% partial wrong: the whole sum
def partial(A, B, d, D):
    return A @ B


# %% partial wrong: every D-th column
def partial(A, B, d, D):
    return A[:, d::D] @ B[d::D]


# %% partial wrong: D columns
def partial(A, B, d, D):
    own = slice(d * D, (d + 1) * D)
    return A[:, own] @ B[own]


# %% partial wrong: one outer product
def partial(A, B, d, D):
    return np.outer(A[:, d], B[d])


# %% partial wrong: a part of the columns of C
def partial(A, B, d, D):
    return A @ np.array_split(B, D, axis=1)[d]


# %% partial right: as the sum that was written down
def partial(A, B, d, D):
    width = A.shape[1] // D
    O = np.zeros((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for k in range(B.shape[1]):
            for j in range(d * width, (d + 1) * width):
                O[i, k] += A[i, j] * B[j, k]
    return O


# %% partial right: outer products, one after the other
def partial(A, B, d, D):
    mine = np.array_split(np.arange(A.shape[1]), D)[d]
    return sum(np.outer(A[:, j], B[j]) for j in mine)


# %% strategies wrong: an AllReduce that moves the array once
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
math_1, comms_1 = 2 * B * D * F / C, 2 * D * F / W
math_2, comms_2 = 2 * B * D * F / (X * C), 2 * B * F / W
tokens, width, chips = D, C / W, D * W / C
ratio = M / K

# %% strategies wrong: everybody multiplies everything
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
math_1, comms_1 = 2 * B * D * F / C, 2 * D * F / W
math_2, comms_2 = 2 * B * D * F / C, 4 * B * F / W
tokens, width, chips = D / 2, 2 * C / W, D * W / (2 * C)
ratio = M / K

# %% strategies wrong: a multiply-add is one
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
math_1, comms_1 = B * D * F / C, 2 * D * F / W
math_2, comms_2 = B * D * F / (X * C), 4 * B * F / W
tokens, width, chips = D / 2, 4 * C / W, D * W / (4 * C)
ratio = M / K

# %% strategies wrong: elements, not bytes
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
math_1, comms_1 = 2 * B * D * F / C, D * F / W
math_2, comms_2 = 2 * B * D * F / (X * C), 2 * B * F / W
tokens, width, chips = D / 2, C / W, D * W / C
ratio = M / K

# %% strategies wrong: D > 2 B is taken for B > 2 D
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
math_1, comms_1 = 2 * B * D * F / C, 2 * D * F / W
math_2, comms_2 = 2 * B * D * F / (X * C), 4 * B * F / W
tokens, width, chips = 2 * D, 2 * C / W, D * W / (2 * C)
ratio = M / K

# %% strategies wrong: the ratio upside down
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
math_1, comms_1 = 2 * B * D * F / C, 2 * D * F / W
math_2, comms_2 = 2 * B * D * F / (X * C), 4 * B * F / W
tokens, width, chips = D / 2, 2 * C / W, D * W / (2 * C)
ratio = K / M

# %% strategies right: one from the other
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
V_W, V_Out, flops = 2 * D * F, 2 * B * F, 2 * B * D * F
math_1, comms_1 = flops / C, V_W / W
math_2, comms_2 = math_1 / X, 2 * V_Out / W
tokens = sympy.solve(comms_1 - comms_2, B)[0]
width = sympy.solve(comms_2 - math_1, D)[0]
chips = sympy.solve(comms_2 - math_2, X)[0]
ratio = N * M / (N * K)

# %% strategies right: as text
math_1, comms_1 = "2*B*D*F/C", "2*D*F/W"
math_2, comms_2 = "2*B*D*F/(C*X)", "4*B*F/W"
tokens, width, chips = "D/2", "2*C/W", "D/2*(W/C)"
ratio = "M/K"


# %% cube wrong: one axis carries everything
def layouts(I, J, K, n, C, W):
    N, V = n**3, 2 * I * K
    alone = 2 * I * J * K / C
    gather = V * (N - 1) / N / W
    mixed = 2 * V / n**2 * (n - 1) / n / W + V * (1 - 1 / n**2) / W
    return [
        [alone / N, 0.0],
        [alone / N, gather],
        [alone / N, 2 * gather],
        [alone / N, mixed],
        [alone, 0.0],
    ]


# %% cube wrong: the limits of many chips
def layouts(I, J, K, n, C, W):
    N, V = n**3, 2 * I * K
    alone = 2 * I * J * K / C
    gather = V / (3 * W)
    mixed = 2 * V / n**2 / W + V / (2 * W)
    return [
        [alone / N, 0.0],
        [alone / N, gather],
        [alone / N, 2 * gather],
        [alone / N, mixed],
        [alone, 0.0],
    ]


# %% cube wrong: the AllReduce of all of C
def layouts(I, J, K, n, C, W):
    N, V = n**3, 2 * I * K
    alone = 2 * I * J * K / C
    gather = V * (N - 1) / N / (3 * W)
    mixed = 2 * V * (n - 1) / n / W + V * (1 - 1 / n**2) / (2 * W)
    return [
        [alone / N, 0.0],
        [alone / N, gather],
        [alone / N, 2 * gather],
        [alone / N, mixed],
        [alone, 0.0],
    ]


# %% cube wrong: an AllReduce as dear as a gather
def layouts(I, J, K, n, C, W):
    N, V = n**3, 2 * I * K
    alone = 2 * I * J * K / C
    gather = V * (N - 1) / N / (3 * W)
    mixed = V / n**2 * (n - 1) / n / W + V * (1 - 1 / n**2) / (2 * W)
    return [
        [alone / N, 0.0],
        [alone / N, gather],
        [alone / N, gather],
        [alone / N, mixed],
        [alone, 0.0],
    ]


# %% cube wrong: gathers the factors
def layouts(I, J, K, n, C, W):
    N, V = n**3, 2 * (I * J + J * K)
    alone = 2 * I * J * K / C
    gather = V * (N - 1) / N / (3 * W)
    mixed = 2 * V / n**2 * (n - 1) / n / W + V * (1 - 1 / n**2) / (2 * W)
    return [
        [alone / N, 0.0],
        [alone / N, gather],
        [alone / N, 2 * gather],
        [alone / N, mixed],
        [alone, 0.0],
    ]


# %% cube wrong: nobody shares the work
def layouts(I, J, K, n, C, W):
    N, V = n**3, 2 * I * K
    alone = 2 * I * J * K / C
    gather = V * (N - 1) / N / (3 * W)
    mixed = 2 * V / n**2 * (n - 1) / n / W + V * (1 - 1 / n**2) / (2 * W)
    comms = [0.0, gather, 2 * gather, mixed, 0.0]
    return [[alone, comm] for comm in comms]


# %% cube right: a function of a collective
def layouts(I, J, K, n, C, W):
    def gather(V, axes):
        lacking = V - V / n**axes
        return lacking / (axes * W)

    whole = 2 * I * K
    comms = [
        0.0,
        gather(whole, 3),
        2 * gather(whole, 3),
        2 * gather(whole / n**2, 1) + gather(whole, 2),
        0.0,
    ]
    chips = [n**3] * 4 + [1]
    return [
        [2 * I * J * K / sharing / C, comm]
        for sharing, comm in zip(chips, comms)
    ]


# %% cube right: bytes on each link
def layouts(I, J, K, n, C, W):
    link, V = W / 2, 2 * I * K
    block = V / n**3
    on_6 = block * (n**3 - 1) / 6  # of six links, all of C
    on_4 = block * n * (n**2 - 1) / 4  # of four links, blocks of C[I_X, K_Y]
    on_2 = block * (n - 1) / 2  # of two links, a piece of a block
    math = 2 * (I / n) * (J / n) * (K / n) / C
    bytes_on_link = [0, on_6, 2 * on_6, 2 * n**0 * on_2 + on_4]
    # A block of C[I_X, K_Y] is n pieces, and n - 1 of them go round Z.
    return [[math, b / link] for b in bytes_on_link] + [[math * n**3, 0.0]]


# %% share wrong: W is one axis, and there is only one
C, W, n = sympy.symbols("C W n", positive=True)
longer_than = C / W
with_overlap = (1 - 1 / n**3) * C / W

# %% share wrong: overlap forgotten
C, W, n = sympy.symbols("C W n", positive=True)
longer_than = with_overlap = C / (3 * W)

# %% share wrong: the two exchanged
C, W, n = sympy.symbols("C W n", positive=True)
longer_than = sympy.Rational(63, 64) * C / (3 * W)
with_overlap = C / (3 * W)

# %% share wrong: the published comparison of a limit with an exact time
C, W, n = sympy.symbols("C W n", positive=True)
longer_than = sympy.Rational(64, 63) * C / (3 * W)
with_overlap = (1 - 1 / n**3) * C / (3 * W)

# %% share wrong: as many chips as on one axis
C, W, n = sympy.symbols("C W n", positive=True)
longer_than = C / (3 * W)
with_overlap = (1 - 1 / n) * C / (3 * W)

# %% share right: solved
C, W, n = sympy.symbols("C W n", positive=True)
J, N = sympy.symbols("J N", positive=True)
gather = 2 * (N - 1) / N / (3 * W)
longer_than = sympy.simplify(
    sympy.solve(2 * J / C - 2 * J / (N * C) - gather, J)[0]
)
with_overlap = sympy.solve(2 * J / C - gather, J)[0].subs(N, n**3)

# %% share right: as text
longer_than = "C/W/3"
with_overlap = "C*(n**3 - 1)/(3*W*n**3)"


# %% lines wrong: rings
def on_lines(I, J, K, C, link_bw):
    math = 2 * I * J * K / 16 / C
    sums, weights = 2 * (I / 4) * K, 2 * J * (K / 4)
    return [
        [math, 2 * sums * 3 / 4 / (2 * link_bw)],
        [math, weights * 3 / 4 / (2 * link_bw)],
        [math, 0.0],
    ]


# %% lines wrong: an AllReduce that moves once
def on_lines(I, J, K, C, link_bw):
    math = 2 * I * J * K / 16 / C
    sums, weights = 2 * (I / 4) * K, 2 * J * (K / 4)
    return [
        [math, sums * 3 / 4 / link_bw],
        [math, weights * 3 / 4 / link_bw],
        [math, 0.0],
    ]


# %% lines wrong: the limit of many chips
def on_lines(I, J, K, C, link_bw):
    math = 2 * I * J * K / 16 / C
    sums, weights = 2 * (I / 4) * K, 2 * J * (K / 4)
    return [
        [math, 2 * sums / link_bw],
        [math, weights / link_bw],
        [math, 0.0],
    ]


# %% lines wrong: whole arrays, as if the other axis did not cut
def on_lines(I, J, K, C, link_bw):
    math = 2 * I * J * K / 16 / C
    sums, weights = 2 * I * K, 2 * J * K
    return [
        [math, 2 * sums * 3 / 4 / link_bw],
        [math, weights * 3 / 4 / link_bw],
        [math, 0.0],
    ]


# %% lines wrong: the second gathers A
def on_lines(I, J, K, C, link_bw):
    math = 2 * I * J * K / 16 / C
    sums = 2 * (I / 4) * K
    return [
        [math, 2 * sums * 3 / 4 / link_bw],
        [math, 2 * I * J * 3 / 4 / link_bw],
        [math, 0.0],
    ]


# %% lines right: hop by hop
def on_lines(I, J, K, C, link_bw):
    math = 2 * (I // 4) * (J // 4) * K / C

    def gather(V):
        return sum(V / 4 / link_bw for _ in range(3))  # three hops

    sums, weights = 2 * (I // 4) * K, 2 * J * (K // 4)
    return [[math, 2 * gather(sums)], [math, gather(weights)], [math, 0.0]]


# %% lines right: closed forms
def on_lines(I, J, K, C, link_bw):
    comms = [0.75 * I * K, 0.375 * J * K, 0.0]
    return [[I * J * K / (8 * C), moved / link_bw] for moved in comms]


# %% block wrong: gathers the weights
def block(In, W_in, W_out):
    both = ("X", "Y")
    In = jax.lax.all_gather(In, both, axis=1, tiled=True)
    W_in = jax.lax.all_gather(W_in, both, axis=1, tiled=True)
    W_out = jax.lax.all_gather(W_out, both, axis=0, tiled=True)
    Out = In @ W_in @ W_out
    part = Out.shape[1] // jax.lax.axis_size(both)
    start = part * jax.lax.axis_index(both)
    return jax.lax.dynamic_slice_in_dim(Out, start, part, 1)


# %% block wrong: an AllReduce, and then a part of it
def block(In, W_in, W_out):
    both = ("X", "Y")
    In = jax.lax.all_gather(In, both, axis=1, tiled=True)
    Out = jax.lax.psum(In @ W_in @ W_out, both)
    part = Out.shape[1] // jax.lax.axis_size(both)
    start = part * jax.lax.axis_index(both)
    return jax.lax.dynamic_slice_in_dim(Out, start, part, 1)


# %% block wrong: adds up nothing
def block(In, W_in, W_out):
    both = ("X", "Y")
    In = jax.lax.all_gather(In, both, axis=1, tiled=True)
    Out = In @ W_in @ W_out
    part = Out.shape[1] // jax.lax.axis_size(both)
    start = part * jax.lax.axis_index(both)
    return jax.lax.dynamic_slice_in_dim(Out, start, part, 1)


# %% block wrong: gathers what lies between the matrices
def block(In, W_in, W_out):
    both = ("X", "Y")
    In = jax.lax.all_gather(In, both, axis=1, tiled=True)
    Tmp = jax.lax.all_gather(In @ W_in, both, axis=1, tiled=True)
    rows = W_out.shape[0]
    start = rows * jax.lax.axis_index(both)
    Tmp = jax.lax.dynamic_slice_in_dim(Tmp, start, rows, 1)
    return jax.lax.psum_scatter(
        Tmp @ W_out, both, scatter_dimension=1, tiled=True
    )


# %% block wrong: the order of the axes
def block(In, W_in, W_out):
    In = jax.lax.all_gather(In, ("Y", "X"), axis=1, tiled=True)
    Out = In @ W_in @ W_out
    return jax.lax.psum_scatter(
        Out, ("X", "Y"), scatter_dimension=1, tiled=True
    )


# %% block wrong: the result is whole on every chip
def block(In, W_in, W_out):
    both = ("X", "Y")
    In = jax.lax.all_gather(In, both, axis=1, tiled=True)
    Out = In @ W_in @ W_out
    Out = jax.lax.psum_scatter(Out, both, scatter_dimension=1, tiled=True)
    return jax.lax.all_gather(Out, both, axis=1, tiled=True)


# %% block right: one axis after the other
def block(In, W_in, W_out):
    for axis in ("Y", "X"):
        In = jax.lax.all_gather(In, axis, axis=1, tiled=True)
    Out = In @ W_in @ W_out
    for axis in ("X", "Y"):
        Out = jax.lax.psum_scatter(Out, axis, scatter_dimension=1, tiled=True)
    return Out


# %% block right: transposed, and an exchange in place of the scatter
def block(In, W_in, W_out):
    both = ("X", "Y")
    whole = jax.lax.all_gather(In.T, both, axis=0, tiled=True)
    term = W_out.T @ (W_in.T @ whole)
    parts = jnp.stack(jnp.split(term, jax.lax.axis_size(both)))
    return jax.lax.all_to_all(parts, both, 0, 0, tiled=True).sum(0).T


# %% budget wrong: both matrices whole
def budget(B, D, F, C, hbm_bw, link_bw):
    matrix, V = 2 * D * F, 2 * B * D
    return [
        2 * matrix,
        3 * matrix,
        4 * B * D * F / 4 / C,
        2 * matrix / hbm_bw,
        2 * V * (3 / 4) / (2 * link_bw),
    ]


# %% budget wrong: one link
def budget(B, D, F, C, hbm_bw, link_bw):
    matrix, V = 2 * D * F, 2 * B * D
    held = matrix / 2
    return [
        held,
        held + matrix,
        B * D * F / C,
        held / hbm_bw,
        2 * V * (3 / 4) / link_bw,
    ]


# %% budget wrong: two axes with wires that are not there
def budget(B, D, F, C, hbm_bw, link_bw):
    matrix, V = 2 * D * F, 2 * B * D
    held = matrix / 2
    return [
        held,
        held + matrix,
        B * D * F / C,
        held / hbm_bw,
        2 * V * (3 / 4) / (4 * link_bw),
    ]


# %% budget wrong: one of the two products
def budget(B, D, F, C, hbm_bw, link_bw):
    matrix, V = 2 * D * F, 2 * B * D
    held = matrix / 2
    return [
        held,
        held + matrix,
        2 * B * D * F / 4 / C,
        held / hbm_bw,
        2 * V * (3 / 4) / (2 * link_bw),
    ]


# %% budget wrong: a gathered matrix in place of its quarter
def budget(B, D, F, C, hbm_bw, link_bw):
    matrix, V = 2 * D * F, 2 * B * D
    held = matrix / 2
    return [
        held,
        held + 3 * matrix / 4,
        B * D * F / C,
        held / hbm_bw,
        2 * V * (3 / 4) / (2 * link_bw),
    ]


# %% budget wrong: the gather alone
def budget(B, D, F, C, hbm_bw, link_bw):
    matrix, V = 2 * D * F, 2 * B * D
    held = matrix / 2
    return [
        held,
        held + matrix,
        B * D * F / C,
        held / hbm_bw,
        V * (3 / 4) / (2 * link_bw),
    ]


# %% budget right: from the blocks
def budget(B, D, F, C, hbm_bw, link_bw):
    W_in, W_out = np.zeros((D, F // 4), "f2"), np.zeros((F // 4, D), "f2")
    held = W_in.nbytes + W_out.nbytes
    flops = sum(
        2 * B * rows * columns for rows, columns in (W_in.shape, W_out.shape)
    )
    block = B * D // 4 * 2
    hops = [block, block / 2]  # both ways: a neighbour each, then two halves
    seconds = sum(hops) / link_bw
    return [
        held,
        held + 4 * W_in.nbytes,
        flops / C,
        held / hbm_bw,
        seconds + seconds,
    ]


# %% budget right: closed forms
def budget(B, D, F, C, hbm_bw, link_bw):
    return [
        D * F,
        3 * D * F,
        B * D * F / C,
        D * F / hbm_bw,
        1.5 * B * D / link_bw,
    ]


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


# %% done wrong: a hop starts when the product before it ends
def done(hops, product):
    free = product
    for hop in hops:
        free += hop + product
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


# %% scatter_matmul equivalent: line 5: `(chip - 1) % N` loses its right side
# JAX takes device -1 for the last one.

# %% done equivalent: line 7: `max(free, there)` with its arguments reversed
# Of two numbers the larger one is the same in either order.
