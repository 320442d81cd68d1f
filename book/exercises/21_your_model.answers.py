# Answers that the checks of exercise set 21 must reject or accept.
#
# A cell is titled with the answer cell's grade_id, then `wrong: ` with the
# mistake or `right: ` with what is different. Run by tests/exercises.


# %% mended wrong: as it was
def mended(W, In, Target):
    whole = jax.lax.all_gather(W, "X", tiled=True)
    dW = In.T @ (In @ whole - Target) / 64
    dW = jax.lax.psum_scatter(dW, "X", tiled=True)
    full = jax.lax.all_gather(dW, "X", tiled=True)
    length = jnp.sqrt((full**2).sum())
    return W - dW / jnp.maximum(length, 1)


# %% mended wrong: each device by its own length
def mended(W, In, Target):
    whole = jax.lax.all_gather(W, "X", tiled=True)
    dW = In.T @ (In @ whole - Target) / 64
    dW = jax.lax.psum_scatter(dW, "X", tiled=True)
    length = jnp.sqrt((dW**2).sum())
    return W - dW / jnp.maximum(length, 1)


# %% mended wrong: lengths are added
def mended(W, In, Target):
    whole = jax.lax.all_gather(W, "X", tiled=True)
    dW = In.T @ (In @ whole - Target) / 64
    dW = jax.lax.psum_scatter(dW, "X", tiled=True)
    length = jax.lax.psum(jnp.sqrt((dW**2).sum()), "X")
    return W - dW / jnp.maximum(length, 1)


# %% mended wrong: no root
def mended(W, In, Target):
    whole = jax.lax.all_gather(W, "X", tiled=True)
    dW = In.T @ (In @ whole - Target) / 64
    dW = jax.lax.psum_scatter(dW, "X", tiled=True)
    length = jax.lax.psum((dW**2).sum(), "X")
    return W - dW / jnp.maximum(length, 1)


# %% mended wrong: nothing is shortened
def mended(W, In, Target):
    whole = jax.lax.all_gather(W, "X", tiled=True)
    dW = In.T @ (In @ whole - Target) / 64
    return W - jax.lax.psum_scatter(dW, "X", tiled=True)


# %% mended wrong: short ones are made longer
def mended(W, In, Target):
    whole = jax.lax.all_gather(W, "X", tiled=True)
    dW = In.T @ (In @ whole - Target) / 64
    dW = jax.lax.psum_scatter(dW, "X", tiled=True)
    return W - dW / jnp.sqrt(jax.lax.psum((dW**2).sum(), "X"))


# %% mended wrong: a sum, and a slice of it
def mended(W, In, Target):
    whole = jax.lax.all_gather(W, "X", tiled=True)
    dW = jax.lax.psum(In.T @ (In @ whole - Target) / 64, "X")
    length = jnp.sqrt((dW**2).sum())
    first = jax.lax.axis_index("X") * W.shape[0]
    own = jax.lax.dynamic_slice_in_dim(dW, first, W.shape[0])
    return W - own / jnp.maximum(length, 1)


# %% mended wrong: the mean of the squares
def mended(W, In, Target):  # W[D_X, F], In[B_X, D], Target[B_X, F]
    whole = jax.lax.all_gather(W, "X", tiled=True)  # W[D, F]
    error = In @ whole - Target
    dW = In.T @ error / 64
    dW = jax.lax.psum_scatter(dW, "X", tiled=True)  # dW[D_X, F]
    length = jnp.sqrt(jax.lax.pmean((dW**2).sum(), "X"))
    return W - dW / jnp.maximum(length, 1)


# %% mended wrong: the longest piece
def mended(W, In, Target):  # W[D_X, F], In[B_X, D], Target[B_X, F]
    whole = jax.lax.all_gather(W, "X", tiled=True)  # W[D, F]
    error = In @ whole - Target
    dW = In.T @ error / 64
    dW = jax.lax.psum_scatter(dW, "X", tiled=True)  # dW[D_X, F]
    length = jax.lax.pmax(jnp.sqrt((dW**2).sum()), "X")
    return W - dW / jnp.maximum(length, 1)


# %% mended wrong: squares before the gradients are added up
def mended(W, In, Target):
    whole = jax.lax.all_gather(W, "X", tiled=True)
    dW = In.T @ (In @ whole - Target) / 64
    length = jnp.sqrt(jax.lax.psum((dW**2).sum(), "X"))
    dW = jax.lax.psum_scatter(dW, "X", tiled=True)
    return W - dW / jnp.maximum(length, 1)


# %% mended wrong: a sum, squared
def mended(W, In, Target):  # W[D_X, F], In[B_X, D], Target[B_X, F]
    whole = jax.lax.all_gather(W, "X", tiled=True)  # W[D, F]
    error = In @ whole - Target
    dW = In.T @ error / 64
    dW = jax.lax.psum_scatter(dW, "X", tiled=True)  # dW[D_X, F]
    length = jnp.sqrt(jax.lax.psum(dW.sum(), "X") ** 2)
    return W - dW / jnp.maximum(length, 1)


# %% mended wrong: gradients of its own tokens
def mended(W, In, Target):  # W[D_X, F], In[B_X, D], Target[B_X, F]
    whole = jax.lax.all_gather(W, "X", tiled=True)  # W[D, F]
    error = In @ whole - Target
    dW = In.T @ error / 64
    dW = jax.lax.dynamic_slice_in_dim(
        dW, jax.lax.axis_index("X") * W.shape[0], W.shape[0]
    )  # dW[D_X, F]
    length = jnp.sqrt(jax.lax.psum((dW**2).sum(), "X"))
    return W - dW / jnp.maximum(length, 1)


# %% mended wrong: uphill
def mended(W, In, Target):  # W[D_X, F], In[B_X, D], Target[B_X, F]
    whole = jax.lax.all_gather(W, "X", tiled=True)  # W[D, F]
    error = In @ whole - Target
    dW = In.T @ error / 64
    dW = jax.lax.psum_scatter(dW, "X", tiled=True)  # dW[D_X, F]
    length = jnp.sqrt(jax.lax.psum((dW**2).sum(), "X"))
    return W + dW / jnp.maximum(length, 1)


# %% mended wrong: squares of each column are added up
def mended(W, In, Target):  # W[D_X, F], In[B_X, D], Target[B_X, F]
    whole = jax.lax.all_gather(W, "X", tiled=True)  # W[D, F]
    error = In @ whole - Target
    dW = In.T @ error / 64
    dW = jax.lax.psum_scatter(dW, "X", tiled=True)  # dW[D_X, F]
    length = jnp.sqrt(jax.lax.psum(dW**2, "X").sum())
    return W - dW / jnp.maximum(length, 1)


# %% mended wrong: the length of the weights
def mended(W, In, Target):
    whole = jax.lax.all_gather(W, "X", tiled=True)
    dW = jax.lax.psum_scatter(
        In.T @ (In @ whole - Target) / 64, "X", tiled=True
    )
    length = jnp.sqrt((whole**2).sum())
    return W - dW / jnp.maximum(length, 1)


# %% mended wrong: what W changes by
def mended(W, In, Target):
    whole = jax.lax.all_gather(W, "X", tiled=True)
    dW = jax.lax.psum_scatter(
        In.T @ (In @ whole - Target) / 64, "X", tiled=True
    )
    length = jnp.sqrt(jax.lax.psum((dW**2).sum(), "X"))
    return dW / jnp.maximum(length, 1)


# %% mended wrong: not divided by 64
def mended(W, In, Target):
    whole = jax.lax.all_gather(W, "X", tiled=True)
    dW = jax.lax.psum_scatter(In.T @ (In @ whole - Target), "X", tiled=True)
    length = jnp.sqrt(jax.lax.psum((dW**2).sum(), "X"))
    return W - dW / jnp.maximum(length, 1)


# %% mended wrong: each number cut to 1
def mended(W, In, Target):
    whole = jax.lax.all_gather(W, "X", tiled=True)
    dW = jax.lax.psum_scatter(
        In.T @ (In @ whole - Target) / 64, "X", tiled=True
    )
    return W - jnp.clip(dW, -1, 1)


# %% mended right: the length in a gather of numbers
def mended(W, In, Target):
    whole = jax.lax.all_gather(W, "X", tiled=True)
    dW = jnp.einsum("bd,bf->df", In, In @ whole - Target) / 64
    dW = jax.lax.psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    squares = jax.lax.all_gather(jnp.vdot(dW, dW), "X")
    return W - dW * jnp.minimum(1, jax.lax.rsqrt(squares.sum()))


# %% mended right: scattered by an exchange
def mended(W, In, Target):
    whole = jax.lax.all_gather(W, "X", tiled=True)
    dW = In.T @ (In @ whole - Target) / 64
    N = jax.lax.axis_size("X")
    parts = jax.lax.all_to_all(
        dW.reshape(N, -1, dW.shape[1]), "X", 0, 0, tiled=True
    )
    dW = parts.sum(0)
    square = jax.lax.psum(jnp.sum(dW * dW), "X")
    return jnp.where(square > 1, W - dW / jnp.sqrt(square), W - dW)


# %% mended equivalent: line 8: `jax.lax.psum((dW ** 2).sum(), 'X')` is gathered for nothing
# N numbers more are within the 64 bytes that the question leaves.


# %% mended equivalent: line 8: `jax.lax.psum((dW ** 2).sum(), 'X')` gathers what it adds
# To gather N numbers costs no more than the 64 bytes that the question leaves.


# %% mended equivalent: line 9: `jnp.maximum(length, 1)` with its arguments reversed
# The larger of two numbers is the same in either order.


# %% pin wrong: always along the batch
def pin(B, D, F):
    return ["Tmp", ["X", ""]]


# %% pin wrong: always along F
def pin(B, D, F):
    return ["Tmp", ["", "X"]]


# %% pin wrong: the other way round
def pin(B, D, F):
    return ["Tmp", ["X", ""]] if B < 2 * F else ["Tmp", ["", "X"]]


# %% pin wrong: the input, cut along D
def pin(B, D, F):
    return ["In", ["", "X"]] if B < 2 * F else ["In", ["X", ""]]


# %% pin wrong: only the result
def pin(B, D, F):
    return ["Out", ["", "X"]] if B < 2 * F else ["Out", ["X", ""]]


# %% pin wrong: many are more tokens than a thousand for each chip
def pin(B, D, F):
    return ["Tmp", ["", "X"]] if B < 8000 else ["Tmp", ["X", ""]]


# %% pin wrong: by D alone
def pin(B, D, F):
    return ["Tmp", ["", "X"]] if B < D else ["Tmp", ["X", ""]]


# %% pin wrong: few are less than 512 tokens
def pin(B, D, F):
    if B < 512:
        return ["Tmp", ["", "X"]]
    return ["In", ["X", ""]]


# %% pin wrong: few are less than 340 tokens
def pin(B, D, F):
    if B < 340:
        return ["Tmp", ["", "X"]]
    return ["In", ["X", ""]]


# %% pin wrong: by F alone
def pin(B, D, F):
    if B < F:
        return ["Tmp", ["", "X"]]
    return ["In", ["X", ""]]


# %% pin wrong: all of the result everywhere
def pin(B, D, F):
    if 3 * B * D < 6 * D * F:
        return ["Out", ["", ""]]
    return ["In", ["X", ""]]


# %% pin right: the input whole, or cut along the batch
def pin(B, D, F):
    few = 3 * B * D + D * F / 4 < 6 * D * F
    return ("In", ("", "") if few else ("X", ""))


# %% pin right: asks the partitioner
def pin(B, D, F):
    pins = [("Tmp", ("", "X")), ("Tmp", ("X", ""))]
    moved = [counted(B, D, F, *one) for one in pins]
    return pins[moved.index(min(moved))]


# %% pin equivalent: line 4: `B < 2 * F` with LtE
# At the border both pins move the same but for a tenth.


# %% loops wrong: a sum in every turn
def momentum(gradients):
    M = jnp.zeros_like(gradients[0])
    for gradient in gradients:
        M = 0.9 * M + jax.lax.psum(gradient, "X")
    return M


def second(gradients):
    v = jnp.zeros_like(gradients[0])
    for gradient in gradients:
        v = 0.9 * v + jax.lax.psum(gradient, "X") ** 2
    return v


# %% loops wrong: both sums behind the loop
def momentum(gradients):
    M = jnp.zeros_like(gradients[0])
    for gradient in gradients:
        M = 0.9 * M + gradient
    return jax.lax.psum(M, "X")


def second(gradients):
    v = jnp.zeros_like(gradients[0])
    for gradient in gradients:
        v = 0.9 * v + gradient**2
    return jax.lax.psum(v, "X")


# %% loops wrong: the square of a momentum
def momentum(gradients):
    M = jnp.zeros_like(gradients[0])
    for gradient in gradients:
        M = 0.9 * M + gradient
    return jax.lax.psum(M, "X")


def second(gradients):
    return momentum(gradients) ** 2


# %% loops wrong: gathered in every turn
def momentum(gradients):
    M = jnp.zeros_like(gradients[0])
    for gradient in gradients:
        M = 0.9 * M + gradient
    return jax.lax.psum(M, "X")


def second(gradients):
    v = jnp.zeros_like(gradients[0])
    for gradient in gradients:
        part = jax.lax.psum_scatter(gradient, "X", tiled=True)
        v = 0.9 * v + jax.lax.all_gather(part, "X", tiled=True) ** 2
    return v


# %% loops wrong: nothing is forgotten
def momentum(gradients):
    return jax.lax.psum(gradients.sum(0), "X")


def second(gradients):
    sums = jax.lax.psum_scatter(gradients, "X", scatter_dimension=1, tiled=True)
    return jax.lax.all_gather((sums**2).sum(0), "X", tiled=True)


# %% loops wrong: means
def momentum(gradients):
    M = jnp.zeros_like(gradients[0])
    for gradient in gradients:
        M = 0.9 * M + gradient
    return jax.lax.pmean(M, "X")


def second(gradients):
    N = jax.lax.axis_size("X")
    sums = jax.lax.psum_scatter(gradients, "X", scatter_dimension=1, tiled=True)
    v = jnp.zeros_like(sums[0])
    for part in sums:
        v = 0.9 * v + (part / N) ** 2
    return jax.lax.all_gather(v, "X", tiled=True)


# %% loops wrong: no sum at all
def momentum(gradients):
    M = jnp.zeros_like(gradients[0])
    for gradient in gradients:
        M = 0.9 * M + gradient
    return M


def second(gradients):
    v = jnp.zeros_like(gradients[0])
    for gradient in gradients:
        v = 0.9 * v + gradient**2
    return v


# %% loops wrong: momentum from the squares' sums, a gather more
def momentum(gradients):
    sums = jax.lax.psum_scatter(gradients, "X", scatter_dimension=1, tiled=True)
    M = jnp.zeros_like(sums[0])
    for part in sums:
        M = 0.9 * M + part
    return jax.lax.all_gather(M, "X", tiled=True)


def second(gradients):
    sums = jax.lax.psum_scatter(gradients, "X", scatter_dimension=1, tiled=True)
    v = jnp.zeros_like(sums[0])
    for part in sums:
        v = 0.9 * v + part**2
    return jax.lax.all_gather(v, "X", tiled=True)


# %% loops wrong: a tenth of each gradient
def momentum(gradients):  # gradients[m, D], this device's own
    M = jnp.zeros(gradients.shape[1])
    for g in gradients:
        M = 0.9 * M + 0.1 * g
    return jax.lax.psum(M, "X")


def second(gradients):  # gradients[m, D], this device's own
    v = 0
    for g in gradients:
        G = jax.lax.psum_scatter(g, "X", tiled=True)
        v = 0.9 * v + 0.1 * G**2
    return jax.lax.all_gather(v, "X", tiled=True)


# %% loops wrong: each device's own elements
def momentum(gradients):  # gradients[m, D], this device's own
    M = jnp.zeros(gradients.shape[1])
    for g in gradients[::-1]:
        M = 0.9 * M + g
    return jax.lax.psum(M, "X")


def second(gradients):  # gradients[m, D], this device's own
    v = 0
    for g in gradients:
        G = g.reshape(jax.lax.axis_size("X"), -1)[jax.lax.axis_index("X")]
        v = 0.9 * v + G**2
    return jax.lax.all_gather(v, "X", tiled=True)


# %% loops wrong: the first gradient twice, and 0.9 squared
def momentum(gradients):
    M = gradients[0]
    for g in gradients:
        M = 0.9 * M + g
    return jax.lax.psum(M, "X")


def second(gradients):
    v = 0
    for g in gradients:
        v = 0.81 * v + jnp.square(jax.lax.psum_scatter(g, "X", tiled=True))
    return jax.lax.all_gather(v, "X", tiled=True)


# %% loops wrong: what is new is forgotten, too
def momentum(gradients):
    M = 0
    for g in gradients:
        M = 0.9 * (M + g)
    return jax.lax.psum(M, "X")


def second(gradients):
    v = 0
    for g in gradients:
        v = 0.9 * (v + jnp.square(jax.lax.psum_scatter(g, "X", tiled=True)))
    return jax.lax.all_gather(v, "X", tiled=True)


# %% loops right: by weights of the turns
def momentum(gradients):
    m = gradients.shape[0]
    weights = 0.9 ** jnp.arange(m - 1, -1, -1)
    return jax.lax.psum(jnp.einsum("m,md->d", weights, gradients), "X")


def second(gradients):
    m = gradients.shape[0]
    weights = 0.9 ** jnp.arange(m - 1, -1, -1)
    sums = jax.lax.psum_scatter(gradients, "X", scatter_dimension=1, tiled=True)
    v = jnp.einsum("m,md->d", weights, sums * sums)
    return jax.lax.all_gather(v, "X", tiled=True)


# %% loops right: loops, turn by turn
def momentum(gradients):
    def turn(M, gradient):
        return 0.9 * M + gradient, None

    M, _ = jax.lax.scan(turn, 0 * gradients[0], gradients)
    part = jax.lax.psum_scatter(M, "X", tiled=True)
    return jax.lax.all_gather(part, "X", tiled=True)


def second(gradients):
    def turn(v, gradient):
        part = jax.lax.psum_scatter(gradient, "X", tiled=True)
        return 0.9 * v + part * part, None

    part = gradients.shape[1] // jax.lax.axis_size("X")
    v, _ = jax.lax.scan(turn, 0 * gradients[0, :part], gradients)
    return jax.lax.all_gather(v, "X", tiled=True)


# %% loops equivalent: line 4: 0 becomes 1
# All gradients have the same shape, and nothing but that is asked of one.


# %% loops equivalent: line 15: 0 becomes 1
# All sums have the same shape, and nothing but that is asked of one.


# %% verdict wrong: the row that takes longest
def verdict(rows, sizes, speeds, flops, C):
    seconds = {"arithmetic": flops / C} | dict.fromkeys(sizes, 0.0)
    each = []
    for kind, axis, V in rows:
        N = sizes[axis]
        took = (2 if kind == "all_reduce" else 1) * V * (N - 1) / N
        each.append(took / speeds[axis])
        seconds[axis] += each[-1]
    bound = max(seconds, key=seconds.get)
    if bound == "arithmetic":
        return [bound, -1, 0]
    return [bound, each.index(max(each)), max(each)]


# %% verdict wrong: the row's own seconds
def verdict(rows, sizes, speeds, flops, C):
    seconds = {"arithmetic": flops / C} | dict.fromkeys(sizes, 0.0)
    each = []
    for kind, axis, V in rows:
        N = sizes[axis]
        took = (2 if kind == "all_reduce" else 1) * V * (N - 1) / N
        each.append(took / speeds[axis])
        seconds[axis] += each[-1]
    bound = max(seconds, key=seconds.get)
    on_it = [n for n, (_, axis, _) in enumerate(rows) if axis == bound]
    if not on_it:
        return [bound, -1, 0]
    best = max(on_it, key=lambda n: each[n])
    return [bound, best, each[best]]


# %% verdict wrong: everything one after the other
def verdict(rows, sizes, speeds, flops, C):
    seconds = {"arithmetic": flops / C} | dict.fromkeys(sizes, 0.0)
    each = [0.0]
    for kind, axis, V in rows:
        N = sizes[axis]
        took = (2 if kind == "all_reduce" else 1) * V * (N - 1) / N
        each.append(took / speeds[axis])
        seconds[axis] += each[-1]
    best = max(each)
    return [max(seconds, key=seconds.get), each.index(best) - 1, best]


# %% verdict wrong: an AllReduce goes round once
def verdict(rows, sizes, speeds, flops, C):
    def busy(without):
        seconds = {"arithmetic": flops / C} | dict.fromkeys(sizes, 0.0)
        for n, (_, axis, V) in enumerate(rows):
            if n != without:
                N = sizes[axis]
                seconds[axis] += V * (N - 1) / N / speeds[axis]
        return seconds

    whole = busy(-1)
    bound = max(whole, key=whole.get)
    gains = [whole[bound] - max(busy(n).values()) for n in range(len(rows))]
    best = max(gains, default=0)
    return [bound, gains.index(best), best] if best > 0 else [bound, -1, 0]


# %% verdict wrong: all of V is sent
def verdict(rows, sizes, speeds, flops, C):
    def busy(without):
        seconds = {"arithmetic": flops / C} | dict.fromkeys(sizes, 0.0)
        for n, (kind, axis, V) in enumerate(rows):
            if n != without:
                twice = 2 if kind == "all_reduce" else 1
                seconds[axis] += twice * V / speeds[axis]
        return seconds

    whole = busy(-1)
    bound = max(whole, key=whole.get)
    gains = [whole[bound] - max(busy(n).values()) for n in range(len(rows))]
    best = max(gains, default=0)
    return [bound, gains.index(best), best] if best > 0 else [bound, -1, 0]


# %% verdict wrong: the row with the most bytes
def verdict(rows, sizes, speeds, flops, C):
    def busy(without):
        seconds = {"arithmetic": flops / C} | dict.fromkeys(sizes, 0.0)
        for n, (kind, axis, V) in enumerate(rows):
            if n != without:
                N = sizes[axis]
                twice = 2 if kind == "all_reduce" else 1
                seconds[axis] += twice * V * (N - 1) / N / speeds[axis]
        return seconds

    whole = busy(-1)
    bound = max(whole, key=whole.get)
    if bound == "arithmetic":
        return [bound, -1, 0]
    most = max(range(len(rows)), key=lambda n: rows[n][2])
    return [bound, most, whole[bound] - max(busy(most).values())]


# %% verdict wrong: arithmetic hides everything
def verdict(rows, sizes, speeds, flops, C):
    return ["arithmetic", -1, 0]


# %% verdict wrong: N - 1 times the array
def verdict(rows, sizes, speeds, flops, C):
    def busy(rows):
        seconds = {"arithmetic": flops / C} | {a: 0 for a in sizes}
        for kind, axis, v in rows:
            N = sizes[axis]
            twice = 2 if kind == "all_reduce" else 1
            seconds[axis] += twice * v * (N - 1) / speeds[axis]
        return seconds

    now = busy(rows)
    bound = max(now, key=now.get)
    step = now[bound]
    without = [
        max(busy(rows[:i] + rows[i + 1 :]).values()) for i in range(len(rows))
    ]
    if not rows or min(without) >= step:
        return [bound, -1, 0]
    i = without.index(min(without))
    return [bound, i, step - without[i]]


# %% verdict wrong: arithmetic goes with the row
def verdict(rows, sizes, speeds, flops, C):
    def busy(rows):
        seconds = {"arithmetic": flops / C} | {a: 0 for a in sizes}
        for kind, axis, v in rows:
            N = sizes[axis]
            twice = 2 if kind == "all_reduce" else 1
            seconds[axis] += twice * v * (N - 1) / N / speeds[axis]
        return seconds

    now = busy(rows)
    bound = max(now, key=now.get)
    step = now[bound]
    without = [
        max(s for a, s in busy(rows[:i] + rows[i + 1 :]).items() if a in sizes)
        for i in range(len(rows))
    ]
    if not rows or min(without) >= step:
        return [bound, -1, 0]
    i = without.index(min(without))
    return [bound, i, step - without[i]]


# %% verdict wrong: rows counted from one
def verdict(rows, sizes, speeds, flops, C):
    def busy(rows):
        seconds = {"arithmetic": flops / C} | {a: 0 for a in sizes}
        for kind, axis, v in rows:
            N = sizes[axis]
            twice = 2 if kind == "all_reduce" else 1
            seconds[axis] += twice * v * (N - 1) / N / speeds[axis]
        return seconds

    now = busy(rows)
    bound = max(now, key=now.get)
    step = now[bound]
    without = [
        max(busy(rows[:i] + rows[i + 1 :]).values()) for i in range(len(rows))
    ]
    if not rows or min(without) >= step:
        return [bound, -1, 0]
    i = without.index(min(without))
    return [bound, i + 1, step - without[i]]


# %% verdict wrong: the gain as a share
def verdict(rows, sizes, speeds, flops, C):
    def busy(rows):
        seconds = {"arithmetic": flops / C} | {a: 0 for a in sizes}
        for kind, axis, v in rows:
            N = sizes[axis]
            twice = 2 if kind == "all_reduce" else 1
            seconds[axis] += twice * v * (N - 1) / N / speeds[axis]
        return seconds

    now = busy(rows)
    bound = max(now, key=now.get)
    step = now[bound]
    without = [
        max(busy(rows[:i] + rows[i + 1 :]).values()) for i in range(len(rows))
    ]
    if not rows or min(without) >= step:
        return [bound, -1, 0]
    i = without.index(min(without))
    return [bound, i, (step - without[i]) / step]


# %% verdict right: without each row, in a list
def verdict(rows, sizes, speeds, flops, C):
    took = [
        V / speeds[axis] * (1 - 1 / sizes[axis]) * (1 + (kind == "all_reduce"))
        for kind, axis, V in rows
    ]

    def length(on):
        by = [("arithmetic", flops / C)]
        for axis in sizes:
            own = [took[n] for n in on if rows[n][1] == axis]
            by.append((axis, sum(own)))
        return max(by, key=lambda pair: pair[1])

    every = range(len(rows))
    bound, whole = length(every)
    best, number = 0, -1
    for n in every:
        gain = whole - length([other for other in every if other != n])[1]
        if gain > best:
            best, number = gain, n
    return bound, number, best


def choose(rows, sizes, flops, machines):
    def busiest(speeds):
        return max(
            sum(
                V
                / speeds[a]
                * (1 - 1 / sizes[a])
                * (1 + (kind == "all_reduce"))
                for kind, a, V in rows
                if a == axis
            )
            for axis in sizes
        )

    (slow, (_, C)), (fast, (_, faster)) = sorted(
        machines.items(), key=lambda pair: pair[1][1]
    )
    one, two = busiest(machines[slow][0]), busiest(machines[fast][0])
    sooner = slow if max(one, flops / C) < max(two, flops / faster) else fast
    return [sooner, max(two, one) * C if two > one else 0]


# %% verdict right: the largest on the bound, and what is busy next
def verdict(rows, sizes, speeds, flops, C):
    busy = {"arithmetic": flops / C, **{axis: 0 for axis in sizes}}
    of = []
    for kind, axis, V in rows:
        N = sizes[axis]
        sent = V - V / N
        sent += sent if kind.endswith("reduce") else 0
        of.append(sent / speeds[axis])
        busy[axis] += of[-1]
    order = sorted(busy, key=busy.get, reverse=True)
    first, second = order[0], order[1]
    if first == "arithmetic":
        return [first, -1, 0]
    at = np.array([s if row[1] == first else -1 for s, row in zip(of, rows)])
    gains = np.minimum(at, busy[first] - busy[second])
    return [first, int(np.argmax(gains)), float(gains.max())]


def choose(rows, sizes, flops, machines):
    twice = {"all_reduce": 2}
    axes = list(sizes)
    sent = np.zeros(len(axes))
    for kind, axis, V in rows:
        sent[axes.index(axis)] += twice.get(kind, 1) * (V - V / sizes[axis])
    names = sorted(machines)
    C = np.array([machines[name][1] for name in names])
    links = np.array([[machines[n][0][a] for a in axes] for n in names])
    wait = (sent / links).max(1)
    took = np.maximum(wait, flops / C)
    worst, strong = int(wait.argmax()), int(C.argmax())
    tie = wait[worst] * C.min() if worst == strong and np.ptp(wait) else 0
    return names[int(took.argmin())], float(tie)


# %% verdict right: of rows that gain alike, the last
def verdict(rows, sizes, speeds, flops, C):
    def busy(rows):
        seconds = {"arithmetic": flops / C} | {a: 0 for a in sizes}
        for kind, axis, v in rows:
            N = sizes[axis]
            twice = 2 if kind == "all_reduce" else 1
            seconds[axis] += twice * v * (N - 1) / N / speeds[axis]
        return seconds

    now = busy(rows)
    bound = max(now, key=now.get)
    step = now[bound]
    without = [
        max(busy(rows[:i] + rows[i + 1 :]).values()) for i in range(len(rows))
    ]
    if not rows or min(without) >= step:
        return [bound, -1, 0]
    i = len(rows) - 1 - without[::-1].index(min(without))
    return [bound, i, step - without[i]]


def choose(rows, sizes, flops, machines):
    def took(name, flops):
        speeds, C = machines[name]
        return max([flops / C, *waits(speeds).values()])

    def waits(speeds):
        found = dict.fromkeys(sizes, 0)
        for kind, axis, V in rows:
            N = sizes[axis]
            found[axis] += (1 + (kind == "all_reduce")) * V * (N - 1) / N
        return {axis: found[axis] / speeds[axis] for axis in sizes}

    v5p, h100 = sorted(machines, key=lambda name: machines[name][1])
    sooner = min(machines, key=lambda name: took(name, flops))
    tie = machines[v5p][1] * took(h100, 0)
    return sooner, tie if took(v5p, 0) < took(h100, 0) else 0


# %% verdict wrong: always H100s, which multiply faster
def verdict(rows, sizes, speeds, flops, C):
    took = [
        V / speeds[axis] * (1 - 1 / sizes[axis]) * (1 + (kind == "all_reduce"))
        for kind, axis, V in rows
    ]

    def length(on):
        by = [("arithmetic", flops / C)]
        for axis in sizes:
            own = [took[n] for n in on if rows[n][1] == axis]
            by.append((axis, sum(own)))
        return max(by, key=lambda pair: pair[1])

    every = range(len(rows))
    bound, whole = length(every)
    best, number = 0, -1
    for n in every:
        gain = whole - length([other for other in every if other != n])[1]
        if gain > best:
            best, number = gain, n
    return bound, number, best


def choose(rows, sizes, flops, machines):
    ends, sends = {}, {}
    for name, (speeds, C) in machines.items():
        by_axis = dict.fromkeys(sizes, 0.0)
        for kind, axis, V in rows:
            twice = 2 if kind == "all_reduce" else 1
            sent = twice * V * (sizes[axis] - 1) / sizes[axis]
            by_axis[axis] += sent / speeds[axis]
        sends[name] = max(by_axis.values())
        ends[name] = max(flops / C, sends[name])
    slow, fast = sorted(machines, key=lambda name: machines[name][1])
    waits = sends[fast] > sends[slow]
    tie = machines[slow][1] * sends[fast] if waits else 0
    return ["h100", tie]


# %% verdict wrong: always the slice
def verdict(rows, sizes, speeds, flops, C):
    took = [
        V / speeds[axis] * (1 - 1 / sizes[axis]) * (1 + (kind == "all_reduce"))
        for kind, axis, V in rows
    ]

    def length(on):
        by = [("arithmetic", flops / C)]
        for axis in sizes:
            own = [took[n] for n in on if rows[n][1] == axis]
            by.append((axis, sum(own)))
        return max(by, key=lambda pair: pair[1])

    every = range(len(rows))
    bound, whole = length(every)
    best, number = 0, -1
    for n in every:
        gain = whole - length([other for other in every if other != n])[1]
        if gain > best:
            best, number = gain, n
    return bound, number, best


def choose(rows, sizes, flops, machines):
    ends, sends = {}, {}
    for name, (speeds, C) in machines.items():
        by_axis = dict.fromkeys(sizes, 0.0)
        for kind, axis, V in rows:
            twice = 2 if kind == "all_reduce" else 1
            sent = twice * V * (sizes[axis] - 1) / sizes[axis]
            by_axis[axis] += sent / speeds[axis]
        sends[name] = max(by_axis.values())
        ends[name] = max(flops / C, sends[name])
    slow, fast = sorted(machines, key=lambda name: machines[name][1])
    waits = sends[fast] > sends[slow]
    tie = machines[slow][1] * sends[fast] if waits else 0
    return ["v5p", tie]


# %% verdict wrong: the better network
def verdict(rows, sizes, speeds, flops, C):
    took = [
        V / speeds[axis] * (1 - 1 / sizes[axis]) * (1 + (kind == "all_reduce"))
        for kind, axis, V in rows
    ]

    def length(on):
        by = [("arithmetic", flops / C)]
        for axis in sizes:
            own = [took[n] for n in on if rows[n][1] == axis]
            by.append((axis, sum(own)))
        return max(by, key=lambda pair: pair[1])

    every = range(len(rows))
    bound, whole = length(every)
    best, number = 0, -1
    for n in every:
        gain = whole - length([other for other in every if other != n])[1]
        if gain > best:
            best, number = gain, n
    return bound, number, best


def choose(rows, sizes, flops, machines):
    ends, sends = {}, {}
    for name, (speeds, C) in machines.items():
        by_axis = dict.fromkeys(sizes, 0.0)
        for kind, axis, V in rows:
            twice = 2 if kind == "all_reduce" else 1
            sent = twice * V * (sizes[axis] - 1) / sizes[axis]
            by_axis[axis] += sent / speeds[axis]
        sends[name] = max(by_axis.values())
        ends[name] = max(flops / C, sends[name])
    slow, fast = sorted(machines, key=lambda name: machines[name][1])
    waits = sends[fast] > sends[slow]
    tie = machines[slow][1] * sends[fast] if waits else 0
    return [min(sends, key=sends.get), tie]


# %% verdict wrong: the FLOP/s of the H100s at the tie
def verdict(rows, sizes, speeds, flops, C):
    took = [
        V / speeds[axis] * (1 - 1 / sizes[axis]) * (1 + (kind == "all_reduce"))
        for kind, axis, V in rows
    ]

    def length(on):
        by = [("arithmetic", flops / C)]
        for axis in sizes:
            own = [took[n] for n in on if rows[n][1] == axis]
            by.append((axis, sum(own)))
        return max(by, key=lambda pair: pair[1])

    every = range(len(rows))
    bound, whole = length(every)
    best, number = 0, -1
    for n in every:
        gain = whole - length([other for other in every if other != n])[1]
        if gain > best:
            best, number = gain, n
    return bound, number, best


def choose(rows, sizes, flops, machines):
    ends, sends = {}, {}
    for name, (speeds, C) in machines.items():
        by_axis = dict.fromkeys(sizes, 0.0)
        for kind, axis, V in rows:
            twice = 2 if kind == "all_reduce" else 1
            sent = twice * V * (sizes[axis] - 1) / sizes[axis]
            by_axis[axis] += sent / speeds[axis]
        sends[name] = max(by_axis.values())
        ends[name] = max(flops / C, sends[name])
    slow, fast = sorted(machines, key=lambda name: machines[name][1])
    waits = sends[fast] > sends[slow]
    tie = machines[fast][1] * sends[fast] if waits else 0
    return [min(ends, key=ends.get), tie]


# %% verdict wrong: where v5p stops waiting
def verdict(rows, sizes, speeds, flops, C):
    took = [
        V / speeds[axis] * (1 - 1 / sizes[axis]) * (1 + (kind == "all_reduce"))
        for kind, axis, V in rows
    ]

    def length(on):
        by = [("arithmetic", flops / C)]
        for axis in sizes:
            own = [took[n] for n in on if rows[n][1] == axis]
            by.append((axis, sum(own)))
        return max(by, key=lambda pair: pair[1])

    every = range(len(rows))
    bound, whole = length(every)
    best, number = 0, -1
    for n in every:
        gain = whole - length([other for other in every if other != n])[1]
        if gain > best:
            best, number = gain, n
    return bound, number, best


def choose(rows, sizes, flops, machines):
    ends, sends = {}, {}
    for name, (speeds, C) in machines.items():
        by_axis = dict.fromkeys(sizes, 0.0)
        for kind, axis, V in rows:
            twice = 2 if kind == "all_reduce" else 1
            sent = twice * V * (sizes[axis] - 1) / sizes[axis]
            by_axis[axis] += sent / speeds[axis]
        sends[name] = max(by_axis.values())
        ends[name] = max(flops / C, sends[name])
    slow, fast = sorted(machines, key=lambda name: machines[name][1])
    waits = sends[fast] > sends[slow]
    tie = machines[slow][1] * sends[slow] if waits else 0
    return [min(ends, key=ends.get), tie]


# %% verdict wrong: a tie that is none
def verdict(rows, sizes, speeds, flops, C):
    took = [
        V / speeds[axis] * (1 - 1 / sizes[axis]) * (1 + (kind == "all_reduce"))
        for kind, axis, V in rows
    ]

    def length(on):
        by = [("arithmetic", flops / C)]
        for axis in sizes:
            own = [took[n] for n in on if rows[n][1] == axis]
            by.append((axis, sum(own)))
        return max(by, key=lambda pair: pair[1])

    every = range(len(rows))
    bound, whole = length(every)
    best, number = 0, -1
    for n in every:
        gain = whole - length([other for other in every if other != n])[1]
        if gain > best:
            best, number = gain, n
    return bound, number, best


def choose(rows, sizes, flops, machines):
    ends, sends = {}, {}
    for name, (speeds, C) in machines.items():
        by_axis = dict.fromkeys(sizes, 0.0)
        for kind, axis, V in rows:
            twice = 2 if kind == "all_reduce" else 1
            sent = twice * V * (sizes[axis] - 1) / sizes[axis]
            by_axis[axis] += sent / speeds[axis]
        sends[name] = max(by_axis.values())
        ends[name] = max(flops / C, sends[name])
    slow, fast = sorted(machines, key=lambda name: machines[name][1])
    waits = sends[fast] > sends[slow]
    tie = machines[slow][1] * sends[fast]
    return [min(ends, key=ends.get), tie]


# %% verdict wrong: no tie, ever
def verdict(rows, sizes, speeds, flops, C):
    took = [
        V / speeds[axis] * (1 - 1 / sizes[axis]) * (1 + (kind == "all_reduce"))
        for kind, axis, V in rows
    ]

    def length(on):
        by = [("arithmetic", flops / C)]
        for axis in sizes:
            own = [took[n] for n in on if rows[n][1] == axis]
            by.append((axis, sum(own)))
        return max(by, key=lambda pair: pair[1])

    every = range(len(rows))
    bound, whole = length(every)
    best, number = 0, -1
    for n in every:
        gain = whole - length([other for other in every if other != n])[1]
        if gain > best:
            best, number = gain, n
    return bound, number, best


def choose(rows, sizes, flops, machines):
    ends, sends = {}, {}
    for name, (speeds, C) in machines.items():
        by_axis = dict.fromkeys(sizes, 0.0)
        for kind, axis, V in rows:
            twice = 2 if kind == "all_reduce" else 1
            sent = twice * V * (sizes[axis] - 1) / sizes[axis]
            by_axis[axis] += sent / speeds[axis]
        sends[name] = max(by_axis.values())
        ends[name] = max(flops / C, sends[name])
    slow, fast = sorted(machines, key=lambda name: machines[name][1])
    waits = sends[fast] > sends[slow]
    tie = machines[slow][1] * sends[fast] if waits else 0
    return [min(ends, key=ends.get), 0]


# %% verdict wrong: communication after arithmetic
def verdict(rows, sizes, speeds, flops, C):
    took = [
        V / speeds[axis] * (1 - 1 / sizes[axis]) * (1 + (kind == "all_reduce"))
        for kind, axis, V in rows
    ]

    def length(on):
        by = [("arithmetic", flops / C)]
        for axis in sizes:
            own = [took[n] for n in on if rows[n][1] == axis]
            by.append((axis, sum(own)))
        return max(by, key=lambda pair: pair[1])

    every = range(len(rows))
    bound, whole = length(every)
    best, number = 0, -1
    for n in every:
        gain = whole - length([other for other in every if other != n])[1]
        if gain > best:
            best, number = gain, n
    return bound, number, best


def choose(rows, sizes, flops, machines):
    ends, sends = {}, {}
    for name, (speeds, C) in machines.items():
        by_axis = dict.fromkeys(sizes, 0.0)
        for kind, axis, V in rows:
            twice = 2 if kind == "all_reduce" else 1
            sent = twice * V * (sizes[axis] - 1) / sizes[axis]
            by_axis[axis] += sent / speeds[axis]
        sends[name] = max(by_axis.values())
        ends[name] = flops / C + sends[name]
    slow, fast = sorted(machines, key=lambda name: machines[name][1])
    waits = sends[fast] > sends[slow]
    tie = (sends[fast] - sends[slow]) / (
        1 / machines[slow][1] - 1 / machines[fast][1]
    )
    return [min(ends, key=ends.get), tie]


# %% verdict wrong: all axes as one network
def verdict(rows, sizes, speeds, flops, C):
    took = [
        V / speeds[axis] * (1 - 1 / sizes[axis]) * (1 + (kind == "all_reduce"))
        for kind, axis, V in rows
    ]

    def length(on):
        by = [("arithmetic", flops / C)]
        for axis in sizes:
            own = [took[n] for n in on if rows[n][1] == axis]
            by.append((axis, sum(own)))
        return max(by, key=lambda pair: pair[1])

    every = range(len(rows))
    bound, whole = length(every)
    best, number = 0, -1
    for n in every:
        gain = whole - length([other for other in every if other != n])[1]
        if gain > best:
            best, number = gain, n
    return bound, number, best


def choose(rows, sizes, flops, machines):
    ends, sends = {}, {}
    for name, (speeds, C) in machines.items():
        by_axis = dict.fromkeys(sizes, 0.0)
        for kind, axis, V in rows:
            twice = 2 if kind == "all_reduce" else 1
            sent = twice * V * (sizes[axis] - 1) / sizes[axis]
            by_axis[axis] += sent / speeds[axis]
        sends[name] = sum(by_axis.values())
        ends[name] = max(flops / C, sends[name])
    slow, fast = sorted(machines, key=lambda name: machines[name][1])
    waits = sends[fast] > sends[slow]
    tie = machines[slow][1] * sends[fast] if waits else 0
    return [min(ends, key=ends.get), tie]


# %% verdict wrong: an AllReduce goes round once, on both machines
def verdict(rows, sizes, speeds, flops, C):
    took = [
        V / speeds[axis] * (1 - 1 / sizes[axis]) * (1 + (kind == "all_reduce"))
        for kind, axis, V in rows
    ]

    def length(on):
        by = [("arithmetic", flops / C)]
        for axis in sizes:
            own = [took[n] for n in on if rows[n][1] == axis]
            by.append((axis, sum(own)))
        return max(by, key=lambda pair: pair[1])

    every = range(len(rows))
    bound, whole = length(every)
    best, number = 0, -1
    for n in every:
        gain = whole - length([other for other in every if other != n])[1]
        if gain > best:
            best, number = gain, n
    return bound, number, best


def choose(rows, sizes, flops, machines):
    ends, sends = {}, {}
    for name, (speeds, C) in machines.items():
        by_axis = dict.fromkeys(sizes, 0.0)
        for kind, axis, V in rows:
            twice = 1
            sent = twice * V * (sizes[axis] - 1) / sizes[axis]
            by_axis[axis] += sent / speeds[axis]
        sends[name] = max(by_axis.values())
        ends[name] = max(flops / C, sends[name])
    slow, fast = sorted(machines, key=lambda name: machines[name][1])
    waits = sends[fast] > sends[slow]
    tie = machines[slow][1] * sends[fast] if waits else 0
    return [min(ends, key=ends.get), tie]


# %% verdict wrong: all of V is sent, on both machines
def verdict(rows, sizes, speeds, flops, C):
    took = [
        V / speeds[axis] * (1 - 1 / sizes[axis]) * (1 + (kind == "all_reduce"))
        for kind, axis, V in rows
    ]

    def length(on):
        by = [("arithmetic", flops / C)]
        for axis in sizes:
            own = [took[n] for n in on if rows[n][1] == axis]
            by.append((axis, sum(own)))
        return max(by, key=lambda pair: pair[1])

    every = range(len(rows))
    bound, whole = length(every)
    best, number = 0, -1
    for n in every:
        gain = whole - length([other for other in every if other != n])[1]
        if gain > best:
            best, number = gain, n
    return bound, number, best


def choose(rows, sizes, flops, machines):
    ends, sends = {}, {}
    for name, (speeds, C) in machines.items():
        by_axis = dict.fromkeys(sizes, 0.0)
        for kind, axis, V in rows:
            twice = 2 if kind == "all_reduce" else 1
            sent = twice * V
            by_axis[axis] += sent / speeds[axis]
        sends[name] = max(by_axis.values())
        ends[name] = max(flops / C, sends[name])
    slow, fast = sorted(machines, key=lambda name: machines[name][1])
    waits = sends[fast] > sends[slow]
    tie = machines[slow][1] * sends[fast] if waits else 0
    return [min(ends, key=ends.get), tie]


# %% verdict wrong: the FLOPs of this step as the tie
def verdict(rows, sizes, speeds, flops, C):
    took = [
        V / speeds[axis] * (1 - 1 / sizes[axis]) * (1 + (kind == "all_reduce"))
        for kind, axis, V in rows
    ]

    def length(on):
        by = [("arithmetic", flops / C)]
        for axis in sizes:
            own = [took[n] for n in on if rows[n][1] == axis]
            by.append((axis, sum(own)))
        return max(by, key=lambda pair: pair[1])

    every = range(len(rows))
    bound, whole = length(every)
    best, number = 0, -1
    for n in every:
        gain = whole - length([other for other in every if other != n])[1]
        if gain > best:
            best, number = gain, n
    return bound, number, best


def choose(rows, sizes, flops, machines):
    ends, sends = {}, {}
    for name, (speeds, C) in machines.items():
        by_axis = dict.fromkeys(sizes, 0.0)
        for kind, axis, V in rows:
            twice = 2 if kind == "all_reduce" else 1
            sent = twice * V * (sizes[axis] - 1) / sizes[axis]
            by_axis[axis] += sent / speeds[axis]
        sends[name] = max(by_axis.values())
        ends[name] = max(flops / C, sends[name])
    slow, fast = sorted(machines, key=lambda name: machines[name][1])
    waits = sends[fast] > sends[slow]
    tie = machines[slow][1] * sends[fast] if waits else 0
    return [min(ends, key=ends.get), flops if waits else 0]


# %% verdict wrong: seconds for FLOPs
def verdict(rows, sizes, speeds, flops, C):
    took = [
        V / speeds[axis] * (1 - 1 / sizes[axis]) * (1 + (kind == "all_reduce"))
        for kind, axis, V in rows
    ]

    def length(on):
        by = [("arithmetic", flops / C)]
        for axis in sizes:
            own = [took[n] for n in on if rows[n][1] == axis]
            by.append((axis, sum(own)))
        return max(by, key=lambda pair: pair[1])

    every = range(len(rows))
    bound, whole = length(every)
    best, number = 0, -1
    for n in every:
        gain = whole - length([other for other in every if other != n])[1]
        if gain > best:
            best, number = gain, n
    return bound, number, best


def choose(rows, sizes, flops, machines):
    ends, sends = {}, {}
    for name, (speeds, C) in machines.items():
        by_axis = dict.fromkeys(sizes, 0.0)
        for kind, axis, V in rows:
            twice = 2 if kind == "all_reduce" else 1
            sent = twice * V * (sizes[axis] - 1) / sizes[axis]
            by_axis[axis] += sent / speeds[axis]
        sends[name] = max(by_axis.values())
        ends[name] = max(flops / C, sends[name])
    slow, fast = sorted(machines, key=lambda name: machines[name][1])
    waits = sends[fast] > sends[slow]
    tie = sends[fast] if waits else 0
    return [min(ends, key=ends.get), tie]


# %% verdict wrong: an axis has the time of its largest row
def verdict(rows, sizes, speeds, flops, C):
    took = [
        V / speeds[axis] * (1 - 1 / sizes[axis]) * (1 + (kind == "all_reduce"))
        for kind, axis, V in rows
    ]

    def length(on):
        by = [("arithmetic", flops / C)]
        for axis in sizes:
            own = [took[n] for n in on if rows[n][1] == axis]
            by.append((axis, sum(own)))
        return max(by, key=lambda pair: pair[1])

    every = range(len(rows))
    bound, whole = length(every)
    best, number = 0, -1
    for n in every:
        gain = whole - length([other for other in every if other != n])[1]
        if gain > best:
            best, number = gain, n
    return bound, number, best


def choose(rows, sizes, flops, machines):
    ends, sends = {}, {}
    for name, (speeds, C) in machines.items():
        by_axis = dict.fromkeys(sizes, 0.0)
        for kind, axis, V in rows:
            twice = 2 if kind == "all_reduce" else 1
            sent = twice * V * (sizes[axis] - 1) / sizes[axis]
            by_axis[axis] = max(by_axis[axis], sent / speeds[axis])
        sends[name] = max(by_axis.values())
        ends[name] = max(flops / C, sends[name])
    slow, fast = sorted(machines, key=lambda name: machines[name][1])
    waits = sends[fast] > sends[slow]
    tie = machines[slow][1] * sends[fast] if waits else 0
    return [min(ends, key=ends.get), tie]


# %% verdict wrong: one network for all axes
def verdict(rows, sizes, speeds, flops, C):
    s = [
        (2 if k == "all_reduce" else 1)
        * V
        * (sizes[a] - 1)
        / sizes[a]
        / speeds[a]
        for k, a, V in rows
    ]
    by = {a: sum(x for x, r in zip(s, rows) if r[1] == a) for a in sizes}
    whole = max(sum(s), flops / C)
    bound = "arithmetic" if flops / C >= sum(s) else max(by, key=by.get)
    gains = [whole - max(sum(s) - x, flops / C) for x in s]
    g = max(gains, default=0)
    return bound, gains.index(g) if g > 0 else -1, g


# %% verdict wrong: the gain to what is busy next, whatever is left
def verdict(rows, sizes, speeds, flops, C):
    t = {"arithmetic": flops / C} | dict.fromkeys(sizes, 0)
    s = []
    for k, a, V in rows:
        x = (
            (2 if k == "all_reduce" else 1)
            * V
            * (sizes[a] - 1)
            / sizes[a]
            / speeds[a]
        )
        s.append(x)
        t[a] += x
    bound = max(t, key=t.get)
    if bound == "arithmetic":
        return [bound, -1, 0]
    i = max(
        (i for i in range(len(rows)) if rows[i][1] == bound), key=lambda i: s[i]
    )
    return [bound, i, t[bound] - sorted(t.values())[-2]]


# %% verdict equivalent: line 35: `max(flops / C, sends[name])` with its arguments reversed
# The larger of two numbers is the same in either order.


# %% verdict equivalent: line 37: `sends[fast] > sends[slow]` with GtE
# Both send for equally long only where nothing is sent: 0 seconds, 0 FLOPs.


# %% tokens wrong: forward only
N, m, C, W = sympy.symbols("N m C W", positive=True)
inside = 2 * (N - 1) * C / (N * W)
behind = inside / m

# %% tokens wrong: backward only
N, m, C, W = sympy.symbols("N m C W", positive=True)
inside = (N - 1) * C / (N * W)
behind = inside / m

# %% tokens wrong: the sum goes round once
N, m, C, W = sympy.symbols("N m C W", positive=True)
inside = (N - 1) * C / (3 * N * W)
behind = inside / m

# %% tokens wrong: all of the array twice
N, m, C, W = sympy.symbols("N m C W", positive=True)
inside = 2 * C / (3 * W)
behind = inside / m

# %% tokens wrong: both the same
N, m, C, W = sympy.symbols("N m C W", positive=True)
inside = 2 * (N - 1) * C / (3 * N * W)
behind = inside

# %% tokens wrong: more turns, more tokens in each
N, m, C, W = sympy.symbols("N m C W", positive=True)
behind = 2 * (N - 1) * C / (3 * N * W)
inside = m * behind

# %% tokens wrong: float32
N, m, C, W = sympy.symbols("N m C W", positive=True)
inside = 4 * (N - 1) * C / (3 * N * W)
behind = inside / m


# %% tokens wrong: a chip sends one piece in each half
N, m, C, W = sympy.symbols("N m C W", positive=True)
inside = 2 * C / (3 * N * W)
behind = inside / m


# %% tokens right: as text
inside = "2*C/(3*W) - 2*C/(3*N*W)"
behind = "(2*C - 2*C/N)/(3*W*m)"

# %% tokens right: solved by SymPy
N, m, C, W, b, D, F = sympy.symbols("N m C W b D F", positive=True)
sums = 2 * (N - 1) / N * 2 * D * F / W
(inside,) = sympy.solve(m * 6 * b * D * F / C - m * sums, b)
(behind,) = sympy.solve(m * 6 * b * D * F / C - sums, b)


# %% tokens right: two thirds as a float
N, m, C, W = sympy.symbols("N m C W", positive=True)
inside = 2 / 3 * (N - 1) / N * C / W
behind = inside / m


# %% tokens right: a float, multiplied out
N, m, C, W = sympy.symbols("N m C W", positive=True)
inside = 4 / 6 * C / W - 2 / 3 * C / W / N
behind = 2 / 3 * C / W / m - 2 / 3 * C / W / N / m


# %% spare wrong: the largest array
def spare(arguments, devices):
    size, name, held = max(
        ((s, n, h) for n, s, h in arguments), default=(0, "", 0)
    )
    return [name, held - size // devices]


# %% spare wrong: of what a device holds most
def spare(arguments, devices):
    held, name, size = max(
        ((h, n, s) for n, s, h in arguments), default=(0, "", 0)
    )
    return [name, held - size // devices] if held * devices > size else ["", 0]


# %% spare wrong: it holds nothing of it any more
def spare(arguments, devices):
    held = [(h, n) for n, s, h in arguments if h * devices > s]
    most, name = max(held, default=(0, ""))
    return [name, most]


# %% spare wrong: on all devices together
def spare(arguments, devices):
    freed = [(held * devices - size, name) for name, size, held in arguments]
    most, name = max(freed, default=(0, ""))
    return [name, most] if most else ["", 0]


# %% spare wrong: only what is whole
def spare(arguments, devices):
    freed = [(h - h // devices, n) for n, s, h in arguments if h == s]
    most, name = max(freed, default=(0, ""))
    return [name, most]


# %% spare wrong: what is not held
def spare(arguments, devices):
    freed = [(size - held, name) for name, size, held in arguments]
    most, name = max(freed, default=(0, ""))
    return [name, most] if most else ["", 0]


# %% spare wrong: where all are cut, the first
def spare(arguments, devices):
    best = [arguments[0][0], 0]
    for name, size, held in arguments:
        freed = held - size / devices
        if freed > best[1]:
            best = [name, freed]
    return best


# %% spare wrong: all are cut
def spare(arguments, devices):
    best = max(arguments, key=lambda r: r[2] - r[1] / devices)
    freed = sum(h - b // devices for _, b, h in arguments)
    return [best[0], freed] if freed > 0 else ["", 0]


# %% spare right: by the number of copies
def spare(arguments, devices):
    best = ("", 0)
    for name, size, held in arguments:
        copies = devices * held / size
        freed = held * (1 - 1 / copies)
        if freed > best[1] + 1e-6:
            best = (name, round(freed))
    return best


# %% spare right: sorted
def spare(arguments, devices):
    sized = {name: devices * held - size for name, size, held in arguments}
    order = sorted([*sized, ""], key=lambda name: sized.get(name, 0.5))
    return [order[-1], sized.get(order[-1], 0) // devices]


# %% spare right: by an array
def spare(arguments, devices):
    names, size, held = zip(*arguments)
    freed = np.array(held) - np.array(size) / devices
    most = freed.argmax()
    return (names[most], freed[most]) if freed[most] > 0 else ("", 0.0)
