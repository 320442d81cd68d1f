# Answers that the checks of exercise set 8 must reject or accept.
#
# A cell is titled with the answer cell's grade_id, then `wrong: ` with the
# mistake or `right: ` with what is different. Run by tests/exercises.

# %% order wrong: an AllReduce after each product
def order(first, second, B, D, F):
    return 4 * B * F + 4 * B * D


# %% order wrong: the chapter's, with all of Out on every chip
def order(first, second, B, D, F):
    middle = {("columns", "rows"): 0, ("rows", "columns"): 4 * B * F}
    middle = middle.get((first, second), 2 * B * F)
    return middle + (4 * B * D if second == "rows" else 2 * B * D)


# %% order wrong: the order does not matter
def order(first, second, B, D, F):
    return 2 * B * D if second == "rows" else 0


# %% order wrong: always the best order
def order(first, second, B, D, F):
    return 2 * B * D


# %% order wrong: rows twice, with an AllReduce between
def order(first, second, B, D, F):
    middle = {"columns": 2 * B * F, "rows": 4 * B * F}[first]
    if (first, second) == ("columns", "rows"):
        middle = 0
    return middle + (2 * B * D if second == "rows" else 0)


# %% order wrong: the other order
def order(first, second, B, D, F):
    first, second = second, first
    middle = {("columns", "rows"): 0, ("rows", "columns"): 4 * B * F}
    middle = middle.get((first, second), 2 * B * F)
    return middle + (2 * B * D if second == "rows" else 0)


# %% order wrong: elements
def order(first, second, B, D, F):
    middle = {("columns", "rows"): 0, ("rows", "columns"): 4 * B * F}
    middle = middle.get((first, second), 2 * B * F)
    return (middle + (2 * B * D if second == "rows" else 0)) // 2


# %% order wrong: a reduction counts once
def order(first, second, B, D, F):
    middle = 0 if (first, second) == ("columns", "rows") else 2 * B * F
    return middle + (2 * B * D if second == "rows" else 0)


# %% order wrong: terms of a sum are left
def order(first, second, B, D, F):
    middle = {("columns", "rows"): 0, ("rows", "columns"): 4 * B * F}
    middle = middle.get((first, second), 2 * B * F)
    return middle


# %% order right: arrays that move, one after the other
def order(first, second, B, D, F):
    moved = []
    if first == "rows":
        moved.append(B * F)
    if second == "columns":
        moved.append(B * F)
    else:
        moved.append(B * D)
    return 2 * sum(moved)


# %% order right: what has to be paid and what is missing
def order(first, second, B, D, F):
    debts = [first == "rows", second == "rows"]
    wanted_whole = [second == "columns", False]
    return sum(
        2 * B * width * (debt + whole)
        for width, debt, whole in zip((F, D), debts, wanted_whole)
    )


# %% shared_keys wrong: each chip keeps its own part of the gradient
def shared_keys(In, dOut, W_Q, W_K, W_V, W_O):
    me, Y = jax.lax.axis_index("Y"), jax.lax.axis_size("Y")
    mine = me * W_K.shape[1] // Y
    Q, V = jnp.tensordot(In, W_Q, 1), In @ W_V[:, mine]

    def local(W_K):
        K = In @ W_K[:, mine]
        Heads = [attend(Q[:, n], K, V) for n in range(Q.shape[1])]
        return jnp.tensordot(jnp.stack(Heads, 1), W_O, 2)

    Out, back = jax.vjp(local, jax.lax.pcast(W_K, "Y", to="varying"))
    [dW_K] = back(jax.lax.pcast(dOut, "Y", to="varying"))
    return jax.lax.psum(Out, "Y"), dW_K


# %% shared_keys wrong: the first keys for all
def shared_keys(In, dOut, W_Q, W_K, W_V, W_O):
    def forward(W_K):
        K, V = In @ W_K[:, 0], In @ W_V[:, 0]
        Q = jnp.tensordot(In, W_Q, 1)
        Heads = [attend(Q[:, n], K, V) for n in range(Q.shape[1])]
        return jax.lax.psum(jnp.tensordot(jnp.stack(Heads, 1), W_O, 2), "Y")

    Out, back = jax.vjp(forward, W_K)
    return Out, back(dOut)[0]


# %% shared_keys wrong: keys are dealt in turn
def shared_keys(In, dOut, W_Q, W_K, W_V, W_O):
    mine = jax.lax.axis_index("Y") % W_K.shape[1]

    def forward(W_K):
        K, V = In @ W_K[:, mine], In @ W_V[:, mine]
        Q = jnp.tensordot(In, W_Q, 1)
        Heads = [attend(Q[:, n], K, V) for n in range(Q.shape[1])]
        return jax.lax.psum(jnp.tensordot(jnp.stack(Heads, 1), W_O, 2), "Y")

    Out, back = jax.vjp(forward, W_K)
    return Out, back(dOut)[0]


# %% shared_keys wrong: dOut is added up, too
def shared_keys(In, dOut, W_Q, W_K, W_V, W_O):
    me, Y = jax.lax.axis_index("Y"), jax.lax.axis_size("Y")
    mine = me * W_K.shape[1] // Y

    def forward(W_K):
        K, V = In @ W_K[:, mine], In @ W_V[:, mine]
        Q = jnp.tensordot(In, W_Q, 1)
        Heads = [attend(Q[:, n], K, V) for n in range(Q.shape[1])]
        return jax.lax.psum(jnp.tensordot(jnp.stack(Heads, 1), W_O, 2), "Y")

    Out, back = jax.vjp(forward, W_K)
    summed = jax.lax.psum(jax.lax.pcast(dOut, "Y", to="varying"), "Y")
    return Out, back(summed)[0]


# %% shared_keys wrong: a mean over chips
def shared_keys(In, dOut, W_Q, W_K, W_V, W_O):
    me, Y = jax.lax.axis_index("Y"), jax.lax.axis_size("Y")
    mine = me * W_K.shape[1] // Y
    Q, V = jnp.tensordot(In, W_Q, 1), In @ W_V[:, mine]

    def local(W_K):
        K = In @ W_K[:, mine]
        Heads = [attend(Q[:, n], K, V) for n in range(Q.shape[1])]
        return jnp.tensordot(jnp.stack(Heads, 1), W_O, 2)

    Out, back = jax.vjp(local, jax.lax.pcast(W_K, "Y", to="varying"))
    [dW_K] = back(jax.lax.pcast(dOut, "Y", to="varying"))
    return jax.lax.psum(Out, "Y"), jax.lax.pmean(dW_K, "Y")


# %% shared_keys wrong: queries are gathered
def shared_keys(In, dOut, W_Q, W_K, W_V, W_O):
    W_Q = jax.lax.all_gather(W_Q, "Y", axis=1, tiled=True, to="invarying")
    W_O = jax.lax.all_gather(W_O, "Y", axis=0, tiled=True, to="invarying")

    def forward(W_K):
        h, G, Out = W_Q.shape[1], W_K.shape[1], 0
        for n in range(h):
            K, V = In @ W_K[:, n * G // h], In @ W_V[:, n * G // h]
            Out = Out + attend(In @ W_Q[:, n], K, V) @ W_O[n]
        return Out

    Out, back = jax.vjp(forward, W_K)
    return Out, back(dOut)[0]


# %% shared_keys right: JAX knows that a copied weight has a summed gradient
def shared_keys(In, dOut, W_Q, W_K, W_V, W_O):
    me, Y = jax.lax.axis_index("Y"), jax.lax.axis_size("Y")
    mine = me // (Y // W_K.shape[1])

    def forward(W_K):
        K, V = In @ W_K[:, mine], In @ W_V[:, mine]
        Q = jnp.tensordot(In, W_Q, 1)
        Heads = [attend(Q[:, n], K, V) for n in range(Q.shape[1])]
        return jax.lax.psum(jnp.tensordot(jnp.stack(Heads, 1), W_O, 2), "Y")

    Out, back = jax.vjp(forward, W_K)
    return Out, back(dOut)[0]


# %% shared_keys right: the derivative by hand, put in its place by a mask
def shared_keys(In, dOut, W_Q, W_K, W_V, W_O):
    G = W_K.shape[1]
    mine = jax.lax.axis_index("Y") * G // jax.lax.axis_size("Y")
    chosen = (jnp.arange(G) == mine).astype(In.dtype)
    K = In @ jnp.einsum("DGd,G->Dd", W_K, chosen)
    V = In @ jnp.einsum("DGd,G->Dd", W_V, chosen)
    Q = jnp.tensordot(In, W_Q, 1)
    scores = jnp.einsum("ihd,jd->hij", Q, K)
    Heads = jnp.einsum("hij,jd->ihd", relu(scores), V)
    dHeads = jnp.einsum("iD,hdD->ihd", dOut, W_O)
    dScores = jnp.einsum("ihd,jd->hij", dHeads, V) * (scores > 0)
    dK = jnp.einsum("hij,ihd->jd", dScores, Q)
    dW_K = jnp.einsum("jD,jd,G->DGd", In, dK, chosen)
    Out = jnp.tensordot(Heads, W_O, 2)
    return jax.lax.psum((Out, dW_K), "Y")


# %% norm_gradients wrong: as the chapter does it, with whole tokens
def norm_gradients(dNormed, In, gain):
    def norm(In, gain):
        square = jnp.mean(In**2, axis=1, keepdims=True)
        return gain * In * jax.lax.rsqrt(square + 1e-6)

    gain = jax.lax.pcast(gain, "X", to="varying")
    dIn, dgain = jax.vjp(norm, In, gain)[1](dNormed)
    return dIn, jax.lax.psum(dgain, "X")


# %% norm_gradients wrong: the mean of g x is a chip's own
def norm_gradients(dNormed, In, gain):
    square = jax.lax.pmean(jnp.mean(In**2, axis=1, keepdims=True), "Y")
    r = 1 / jnp.sqrt(square + 1e-6)
    g = dNormed * gain
    dIn = r * g - In * r**3 * jnp.mean(g * In, axis=1, keepdims=True)
    return dIn, jax.lax.psum(jnp.sum(dNormed * In * r, axis=0), "X")


# %% norm_gradients wrong: the sum over tokens is forgotten
def norm_gradients(dNormed, In, gain):
    def mean(x):
        return jax.lax.pmean(jnp.mean(x, axis=1, keepdims=True), "Y")

    r = 1 / jnp.sqrt(mean(In**2) + 1e-6)
    g = dNormed * gain
    dIn = r * g - In * r**3 * mean(g * In)
    return dIn, jnp.sum(dNormed * In * r, axis=0)


# %% norm_gradients wrong: a mean over tokens' chips
def norm_gradients(dNormed, In, gain):
    def mean(x):
        return jax.lax.pmean(jnp.mean(x, axis=1, keepdims=True), "Y")

    r = 1 / jnp.sqrt(mean(In**2) + 1e-6)
    g = dNormed * gain
    dIn = r * g - In * r**3 * mean(g * In)
    return dIn, jax.lax.pmean(jnp.sum(dNormed * In * r, axis=0), "X")


# %% norm_gradients wrong: the gain is summed over both axes
def norm_gradients(dNormed, In, gain):
    def mean(x):
        return jax.lax.pmean(jnp.mean(x, axis=1, keepdims=True), "Y")

    r = 1 / jnp.sqrt(mean(In**2) + 1e-6)
    g = dNormed * gain
    dIn = r * g - In * r**3 * mean(g * In)
    return dIn, jax.lax.psum(jnp.sum(dNormed * In * r, axis=0), ("X", "Y"))


# %% norm_gradients wrong: the gain is summed over Y
def norm_gradients(dNormed, In, gain):
    def mean(x):
        return jax.lax.pmean(jnp.mean(x, axis=1, keepdims=True), "Y")

    r = 1 / jnp.sqrt(mean(In**2) + 1e-6)
    g = dNormed * gain
    dIn = r * g - In * r**3 * mean(g * In)
    return dIn, jax.lax.psum(jnp.sum(dNormed * In * r, axis=0), "Y")


# %% norm_gradients wrong: features are gathered
def norm_gradients(dNormed, In, gain):
    def mean(x):
        whole = jax.lax.all_gather(x, "Y", axis=1, tiled=True)
        return jnp.mean(whole, axis=1, keepdims=True)

    r = 1 / jnp.sqrt(mean(In**2) + 1e-6)
    g = dNormed * gain
    dIn = r * g - In * r**3 * mean(g * In)
    return dIn, jax.lax.psum(jnp.sum(dNormed * In * r, axis=0), "X")


# %% norm_gradients wrong: the norm is not normalised by the gradient
def norm_gradients(dNormed, In, gain):
    square = jax.lax.pmean(jnp.mean(In**2, axis=1, keepdims=True), "Y")
    r = 1 / jnp.sqrt(square + 1e-6)
    dgain = jax.lax.psum(jnp.sum(dNormed * In * r, axis=0), "X")
    return dNormed * gain * r, dgain


# %% norm_gradients wrong: one mean of all tokens
def norm_gradients(dNormed, In, gain):
    def norm(In, gain):
        r = 1 / jnp.sqrt(jax.lax.pmean(jnp.mean(In**2), ("X", "Y")) + 1e-6)
        return In * r * gain

    return jax.vjp(norm, In, gain)[1](dNormed)


# %% norm_gradients wrong: the gain's gradient has the gain in it
def norm_gradients(dNormed, In, gain):
    def mean(x):
        return jax.lax.pmean(jnp.mean(x, axis=1, keepdims=True), "Y")

    r = 1 / jnp.sqrt(mean(In**2) + 1e-6)
    g = dNormed * gain
    dIn = r * g - In * r**3 * mean(g * In)
    return dIn, jax.lax.psum(jnp.sum(g * In * r, axis=0), "X")


# %% norm_gradients wrong: added up by JAX, and once more
def norm_gradients(dNormed, In, gain):
    def norm(In, gain):
        square = jax.lax.pmean(jnp.mean(In**2, axis=1, keepdims=True), "Y")
        return gain * In * jax.lax.rsqrt(square + 1e-6)

    dIn, dgain = jax.vjp(norm, In, gain)[1](dNormed)
    return dIn, jax.lax.psum(dgain, "X")


# %% norm_gradients wrong: without the 1e-6
def norm_gradients(dNormed, In, gain):
    def mean(x):
        return jax.lax.pmean(jnp.mean(x, axis=1, keepdims=True), "Y")

    r = 1 / jnp.sqrt(mean(In**2))
    g = dNormed * gain
    dIn = r * g - In * r**3 * mean(g * In)
    return dIn, jax.lax.psum(jnp.sum(dNormed * In * r, axis=0), "X")


# %% norm_gradients right: JAX derives it, and adds up by itself
def norm_gradients(dNormed, In, gain):
    def norm(In, gain):
        square = jax.lax.pmean(jnp.mean(In**2, axis=1, keepdims=True), "Y")
        return gain * In * jax.lax.rsqrt(square + 1e-6)

    _, back = jax.vjp(norm, In, gain)
    return back(dNormed)


# %% norm_gradients right: both means in one sum, a ratio of sums
def norm_gradients(dNormed, In, gain):
    g = dNormed * gain
    width = In.shape[1] * jax.lax.axis_size("Y")
    both = jnp.stack([jnp.sum(In * In, 1), jnp.sum(g * In, 1)])
    square, slope = jax.lax.psum(both, "Y") / width
    r = jax.lax.rsqrt(square + 1e-6)[:, None]
    dIn = r * (g - In * r**2 * slope[:, None])
    dgain = jnp.einsum("bd,bd->d", dNormed * r, In)
    return dIn, jax.lax.psum(dgain, "X")


# %% doubled wrong: each drop is from the start
def doubled(drops, chips, sequences):
    left = [1 - drop for drop in drops]
    runs = [
        v * w * min(chips // w, sequences)
        for v, w in zip([1.0, *left], (2, 4, 8, 16, 32, 64, 128))
    ]
    return left, 2 ** (1 + runs.index(max(runs)))


# %% doubled wrong: drops add up
def doubled(drops, chips, sequences):
    left = [1 - sum(drops[: n + 1]) for n in range(len(drops))]
    runs = [
        v * w * min(chips // w, sequences)
        for v, w in zip([1.0, *left], (2, 4, 8, 16, 32, 64, 128))
    ]
    return left, 2 ** (1 + runs.index(max(runs)))


# %% doubled wrong: the fastest chip
def doubled(drops, chips, sequences):
    return np.cumprod(1 - np.array(drops)).tolist(), 2


# %% doubled wrong: the fastest group, as the chapter draws it
def doubled(drops, chips, sequences):
    left = np.cumprod(1 - np.array(drops))
    groups = np.append(1, left) * 2.0 ** np.arange(len(drops) + 1)
    return left.tolist(), int(2 ** (1 + np.argmax(groups)))


# %% doubled wrong: the fewest ways at which no group is idle
def doubled(drops, chips, sequences):
    left, ways = np.cumprod(1 - np.array(drops)).tolist(), 2
    while chips // ways > sequences and ways < 2 ** (len(drops) + 1):
        ways *= 2
    return left, ways


# %% doubled wrong: more chips than there are
def doubled(drops, chips, sequences):
    left = np.cumprod(1 - np.array(drops)).tolist()
    runs = [v * 2**n * sequences for n, v in enumerate([1.0, *left])]
    return left, 2 ** (1 + runs.index(max(runs)))


# %% doubled wrong: stops at the first doubling that does not pay
def doubled(drops, chips, sequences):
    left, ways = [1.0, *np.cumprod(1 - np.array(drops)).tolist()], 2

    def speed(ways):
        n = ways.bit_length() - 2
        return left[n] * ways * min(chips // ways, sequences)

    while ways < 2 ** len(left) and speed(2 * ways) > speed(ways):
        ways *= 2
    return left[1:], ways


# %% doubled wrong: counts doublings, not ways
def doubled(drops, chips, sequences):
    left = [1.0, *np.cumprod(1 - np.array(drops)).tolist()]
    runs = [
        v * 2 ** (n + 1) * min(chips // 2 ** (n + 1), sequences)
        for n, v in enumerate(left)
    ]
    return left[1:], runs.index(max(runs))


# %% doubled wrong: two ways are not among them
def doubled(drops, chips, sequences):
    left = np.cumprod(1 - np.array(drops))
    ways = 4 * 2 ** np.arange(len(left))
    runs = left * ways * np.minimum(chips // ways, sequences)
    return left.tolist(), int(ways[runs.argmax()])


# %% doubled wrong: the most ways
def doubled(drops, chips, sequences):
    return np.cumprod(1 - np.array(drops)).tolist(), 2 ** (len(drops) + 1)


# %% doubled right: with NumPy, all degrees at once
def doubled(drops, chips, sequences):
    left = np.cumprod([1.0, *(1 - np.array(drops))])
    ways = 2 ** np.arange(1, len(left) + 1)
    working = np.minimum(chips, sequences * ways)
    return left[1:].tolist(), int(ways[np.argmax(left * working)])


# %% doubled right: one number at a time
def doubled(drops, chips, sequences):
    def speed(n):
        return speed(n - 1) * (1 - drops[n - 1]) if n else 1.0

    def run(n):
        groups = chips // 2 ** (n + 1)
        idle = max(0, groups - sequences)
        return speed(n) * 2 ** (n + 1) * (groups - idle)

    degrees = range(len(drops) + 1)
    best = max(degrees, key=run)
    return [speed(n) for n in degrees if n], 2 ** (best + 1)


# %% mixed wrong: a softmax over a chip's own columns
def mixed(In, dOut, W_in, W_out):
    H = jnp.exp(In @ W_in)
    S = H / H.sum(axis=1, keepdims=True)
    Out = jax.lax.psum(S @ W_out, "Y")
    mean = (dOut * Out).sum(axis=1, keepdims=True)
    dTmp = S * (dOut @ W_out.T - mean)
    dIn = jax.lax.psum(dTmp @ W_in.T, "Y")
    return Out, dIn, In.T @ dTmp, S.T @ dOut


# %% mixed wrong: the sum of S dS over a chip's own columns
def mixed(In, dOut, W_in, W_out):
    H = jnp.exp(In @ W_in)
    S = H / jax.lax.psum(H.sum(axis=1, keepdims=True), "Y")
    Out = jax.lax.psum(S @ W_out, "Y")
    dS = dOut @ W_out.T
    mean = (S * dS).sum(axis=1, keepdims=True)
    dTmp = S * (dS - mean)
    dIn = jax.lax.psum(dTmp @ W_in.T, "Y")
    return Out, dIn, In.T @ dTmp, S.T @ dOut


# %% mixed wrong: the same, summed over chips by a second AllReduce
def mixed(In, dOut, W_in, W_out):
    H = jnp.exp(In @ W_in)
    S = H / jax.lax.psum(H.sum(axis=1, keepdims=True), "Y")
    Out = jax.lax.psum(S @ W_out, "Y")
    dS = dOut @ W_out.T
    mean = jax.lax.psum((S * dS).sum(axis=1, keepdims=True), "Y")
    dTmp = S * (dS - mean)
    dIn = jax.lax.psum(dTmp @ W_in.T, "Y")
    return Out, dIn, In.T @ dTmp, S.T @ dOut


# %% mixed wrong: JAX derives it, with the division before the product
def mixed(In, dOut, W_in, W_out):
    def forward(In, W_in, W_out):
        H = jnp.exp(In @ W_in)
        S = H / jax.lax.psum(H.sum(axis=1, keepdims=True), "Y")
        return jax.lax.psum(S @ W_out, "Y")

    Out, back = jax.vjp(forward, In, W_in, W_out)
    return Out, *back(dOut)


# %% mixed wrong: f is forgotten
def mixed(In, dOut, W_in, W_out):
    H = jnp.exp(In @ W_in)
    S = H / jax.lax.psum(H.sum(axis=1, keepdims=True), "Y")
    Out = jax.lax.psum(S @ W_out, "Y")
    mean = (dOut * Out).sum(axis=1, keepdims=True)
    dTmp = S * (dOut @ W_out.T - mean)
    dIn = dTmp @ W_in.T
    return Out, dIn, In.T @ dTmp, S.T @ dOut


# %% mixed wrong: g is forgotten
def mixed(In, dOut, W_in, W_out):
    H = jnp.exp(In @ W_in)
    S = H / jax.lax.psum(H.sum(axis=1, keepdims=True), "Y")
    Out = S @ W_out
    mean = jax.lax.psum((dOut * Out).sum(axis=1, keepdims=True), "Y")
    dTmp = S * (dOut @ W_out.T - mean)
    dIn = jax.lax.psum(dTmp @ W_in.T, "Y")
    return Out, dIn, In.T @ dTmp, S.T @ dOut


# %% mixed wrong: columns as if they did not know each other
def mixed(In, dOut, W_in, W_out):
    H = jnp.exp(In @ W_in)
    S = H / jax.lax.psum(H.sum(axis=1, keepdims=True), "Y")
    Out = jax.lax.psum(S @ W_out, "Y")
    dTmp = S * (dOut @ W_out.T)
    dIn = jax.lax.psum(dTmp @ W_in.T, "Y")
    return Out, dIn, In.T @ dTmp, S.T @ dOut


# %% mixed wrong: dOut is added up as well, as the derivative of g
def mixed(In, dOut, W_in, W_out):
    H = jnp.exp(In @ W_in)
    S = H / jax.lax.psum(H.sum(axis=1, keepdims=True), "Y")
    Out = jax.lax.psum(S @ W_out, "Y")
    dOut = jax.lax.psum(jax.lax.pcast(dOut, "Y", to="varying"), "Y")
    mean = (dOut * Out).sum(axis=1, keepdims=True)
    dTmp = S * (dOut @ W_out.T - mean)
    dIn = jax.lax.psum(dTmp @ W_in.T, "Y")
    return Out, dIn, In.T @ dTmp, S.T @ dOut


# %% mixed wrong: gradients of the weights are AllReduced, as in DP
def mixed(In, dOut, W_in, W_out):
    H = jnp.exp(In @ W_in)
    S = H / jax.lax.psum(H.sum(axis=1, keepdims=True), "Y")
    Out = jax.lax.psum(S @ W_out, "Y")
    mean = (dOut * Out).sum(axis=1, keepdims=True)
    dTmp = S * (dOut @ W_out.T - mean)
    dIn = jax.lax.psum(dTmp @ W_in.T, "Y")
    dW_in, dW_out = jax.lax.psum((In.T @ dTmp, S.T @ dOut), "Y")
    return Out, dIn, dW_in, dW_out


# %% mixed wrong: means
def mixed(In, dOut, W_in, W_out):
    H = jnp.exp(In @ W_in)
    S = H / jax.lax.psum(H.sum(axis=1, keepdims=True), "Y")
    Out = jax.lax.pmean(S @ W_out, "Y")
    mean = (dOut * Out).sum(axis=1, keepdims=True)
    dTmp = S * (dOut @ W_out.T - mean)
    dIn = jax.lax.pmean(dTmp @ W_in.T, "Y")
    return Out, dIn, In.T @ dTmp, S.T @ dOut


# %% mixed wrong: the columns before the softmax are gathered
def mixed(In, dOut, W_in, W_out):
    me, width = jax.lax.axis_index("Y"), W_in.shape[1]
    Tmp = jax.lax.all_gather(In @ W_in, "Y", axis=1, tiled=True)
    whole = jax.nn.softmax(Tmp, axis=1)
    S = jax.lax.dynamic_slice_in_dim(whole, me * width, width, 1)
    Out = jax.lax.psum(S @ W_out, "Y")
    mean = (dOut * Out).sum(axis=1, keepdims=True)
    dTmp = S * (dOut @ W_out.T - mean)
    return Out, jax.lax.psum(dTmp @ W_in.T, "Y"), In.T @ dTmp, S.T @ dOut


# %% mixed right: JAX derives it, with the division at the end
def mixed(In, dOut, W_in, W_out):
    def forward(In, W_in, W_out):
        H = jnp.exp(In @ W_in)
        total = jax.lax.psum(H.sum(axis=1, keepdims=True), "Y")
        return jax.lax.psum(H @ W_out, "Y") / total

    Out, back = jax.vjp(forward, In, W_in, W_out)
    return Out, *back(dOut)


# %% mixed right: the sum as one more column of Out
def mixed(In, dOut, W_in, W_out):
    H = jnp.exp(In @ W_in)
    ones = jnp.ones_like(W_out[:, :1])
    both = jax.lax.psum(H @ jnp.concatenate([W_out, ones], 1), "Y")
    Out, total = both[:, :-1] / both[:, -1:], both[:, -1]
    S = jnp.einsum("bf,b->bf", H, 1 / total)
    dS = jnp.einsum("bd,fd->bf", dOut, W_out)
    dTmp = S * dS - jnp.einsum("bf,bd,bd->bf", S, dOut, Out)
    terms = jnp.einsum("bf,df->bd", dTmp, W_in)
    part = jax.lax.psum_scatter(terms, "Y", scatter_dimension=1, tiled=True)
    dIn = jax.lax.all_gather(part, "Y", axis=1, tiled=True)
    return Out, dIn, In.T @ dTmp, S.T @ dOut


# %% deep wrong: max before the sum
def deep(In, dOut, W_1, W_2, W_3):
    def gather(x):
        return jax.lax.all_gather(x, "Y", axis=1, tiled=True)

    def scatter(x):
        return jax.lax.psum_scatter(x, "Y", scatter_dimension=1, tiled=True)

    In, dOut = gather(In), gather(dOut)
    H = relu(In @ W_1)
    G = scatter(relu(H @ W_2))
    dG = gather((dOut @ W_3.T) * (G > 0))
    dH = (dG @ W_2.T) * (H > 0)
    Out, dIn = scatter(G @ W_3), scatter(dH @ W_1.T)
    return Out, dIn, In.T @ dH, H.T @ dG, G.T @ dOut


# %% deep wrong: an AllReduce in the middle, and columns of it kept
def deep(In, dOut, W_1, W_2, W_3):
    def gather(x):
        return jax.lax.all_gather(x, "Y", axis=1, tiled=True)

    def scatter(x):
        return jax.lax.psum_scatter(x, "Y", scatter_dimension=1, tiled=True)

    def mine(x):
        width = x.shape[1] // jax.lax.axis_size("Y")
        start = width * jax.lax.axis_index("Y")
        return jax.lax.dynamic_slice_in_dim(x, start, width, 1)

    In, dOut = gather(In), gather(dOut)
    H = relu(In @ W_1)
    G = relu(mine(jax.lax.psum(H @ W_2, "Y")))
    dG = gather((dOut @ W_3.T) * (G > 0))
    dH = (dG @ W_2.T) * (H > 0)
    Out, dIn = scatter(G @ W_3), scatter(dH @ W_1.T)
    return Out, dIn, In.T @ dH, H.T @ dG, G.T @ dOut


# %% deep wrong: no mask after the second product
def deep(In, dOut, W_1, W_2, W_3):
    def gather(x):
        return jax.lax.all_gather(x, "Y", axis=1, tiled=True)

    def scatter(x):
        return jax.lax.psum_scatter(x, "Y", scatter_dimension=1, tiled=True)

    In, dOut = gather(In), gather(dOut)
    H = relu(In @ W_1)
    G = relu(scatter(H @ W_2))
    dG = gather((dOut @ W_3.T))
    dH = (dG @ W_2.T) * (H > 0)
    Out, dIn = scatter(G @ W_3), scatter(dH @ W_1.T)
    return Out, dIn, In.T @ dH, H.T @ dG, G.T @ dOut


# %% deep wrong: no mask after the first product
def deep(In, dOut, W_1, W_2, W_3):
    def gather(x):
        return jax.lax.all_gather(x, "Y", axis=1, tiled=True)

    def scatter(x):
        return jax.lax.psum_scatter(x, "Y", scatter_dimension=1, tiled=True)

    In, dOut = gather(In), gather(dOut)
    H = relu(In @ W_1)
    G = relu(scatter(H @ W_2))
    dG = gather((dOut @ W_3.T) * (G > 0))
    dH = dG @ W_2.T
    Out, dIn = scatter(G @ W_3), scatter(dH @ W_1.T)
    return Out, dIn, In.T @ dH, H.T @ dG, G.T @ dOut


# %% deep wrong: dG is not gathered for dW_2
def deep(In, dOut, W_1, W_2, W_3):
    def gather(x):
        return jax.lax.all_gather(x, "Y", axis=1, tiled=True)

    def scatter(x):
        return jax.lax.psum_scatter(x, "Y", scatter_dimension=1, tiled=True)

    def mine(x):
        width = x.shape[1] // jax.lax.axis_size("Y")
        start = width * jax.lax.axis_index("Y")
        return jax.lax.dynamic_slice_in_dim(x, start, width, 1)

    In, dOut = gather(In), gather(dOut)
    H = relu(In @ W_1)
    G = relu(scatter(H @ W_2))
    dG = gather((dOut @ W_3.T) * (G > 0))
    dH = (dG @ W_2.T) * (H > 0)
    me, width = jax.lax.axis_index("Y"), G.shape[1]
    own = jax.lax.dynamic_update_slice_in_dim(0 * dG, mine(dG), me * width, 1)
    Out, dIn = scatter(G @ W_3), scatter(dH @ W_1.T)
    return Out, dIn, In.T @ dH, H.T @ own, G.T @ dOut


# %% deep wrong: dIn by an AllReduce, and columns of it kept
def deep(In, dOut, W_1, W_2, W_3):
    def gather(x):
        return jax.lax.all_gather(x, "Y", axis=1, tiled=True)

    def scatter(x):
        return jax.lax.psum_scatter(x, "Y", scatter_dimension=1, tiled=True)

    def mine(x):
        width = x.shape[1] // jax.lax.axis_size("Y")
        start = width * jax.lax.axis_index("Y")
        return jax.lax.dynamic_slice_in_dim(x, start, width, 1)

    In, dOut = gather(In), gather(dOut)
    H = relu(In @ W_1)
    G = relu(scatter(H @ W_2))
    dG = gather((dOut @ W_3.T) * (G > 0))
    dH = (dG @ W_2.T) * (H > 0)
    Out, dIn = scatter(G @ W_3), mine(jax.lax.psum(dH @ W_1.T, "Y"))
    return Out, dIn, In.T @ dH, H.T @ dG, G.T @ dOut


# %% deep wrong: f is forgotten, each keeps its own columns of a term
def deep(In, dOut, W_1, W_2, W_3):
    def gather(x):
        return jax.lax.all_gather(x, "Y", axis=1, tiled=True)

    def scatter(x):
        return jax.lax.psum_scatter(x, "Y", scatter_dimension=1, tiled=True)

    def mine(x):
        width = x.shape[1] // jax.lax.axis_size("Y")
        start = width * jax.lax.axis_index("Y")
        return jax.lax.dynamic_slice_in_dim(x, start, width, 1)

    In, dOut = gather(In), gather(dOut)
    H = relu(In @ W_1)
    G = relu(scatter(H @ W_2))
    dG = gather((dOut @ W_3.T) * (G > 0))
    dH = (dG @ W_2.T) * (H > 0)
    Out, dIn = scatter(G @ W_3), mine(dH @ W_1.T)
    return Out, dIn, In.T @ dH, H.T @ dG, G.T @ dOut


# %% deep wrong: In is gathered again
def deep(In, dOut, W_1, W_2, W_3):
    def gather(x):
        return jax.lax.all_gather(x, "Y", axis=1, tiled=True)

    def scatter(x):
        return jax.lax.psum_scatter(x, "Y", scatter_dimension=1, tiled=True)

    cut, In, dOut = In, gather(In), gather(dOut)
    H = relu(In @ W_1)
    G = relu(scatter(H @ W_2))
    dG = gather((dOut @ W_3.T) * (G > 0))
    dH = (dG @ W_2.T) * (H > 0)
    Out, dIn = scatter(G @ W_3), scatter(dH @ W_1.T)
    return Out, dIn, gather(cut).T @ dH, H.T @ dG, G.T @ dOut


# %% deep wrong: the mask of what is whole, gathered once more
def deep(In, dOut, W_1, W_2, W_3):
    def gather(x):
        return jax.lax.all_gather(x, "Y", axis=1, tiled=True)

    def scatter(x):
        return jax.lax.psum_scatter(x, "Y", scatter_dimension=1, tiled=True)

    In, dOut = gather(In), gather(dOut)
    H = relu(In @ W_1)
    G = relu(scatter(H @ W_2))
    dG = gather(dOut @ W_3.T) * (gather(G) > 0)
    dH = (dG @ W_2.T) * (H > 0)
    Out, dIn = scatter(G @ W_3), scatter(dH @ W_1.T)
    return Out, dIn, In.T @ dH, H.T @ dG, G.T @ dOut


# %% deep wrong: weights are gathered instead, as in FSDP
def deep(In, dOut, W_1, W_2, W_3):
    def gather(x):
        return jax.lax.all_gather(x, "Y", axis=1, tiled=True)

    def scatter(x):
        return jax.lax.psum_scatter(x, "Y", scatter_dimension=1, tiled=True)

    def mine(x):
        width = x.shape[1] // jax.lax.axis_size("Y")
        start = width * jax.lax.axis_index("Y")
        return jax.lax.dynamic_slice_in_dim(x, start, width, 1)

    In, dOut = gather(In), gather(dOut)
    W_2 = jax.lax.all_gather(W_2, "Y", axis=0, tiled=True)
    H = gather(relu(In @ W_1))
    G = mine(relu(H @ W_2))
    dG = gather((dOut @ W_3.T) * (G > 0))
    dH = mine((dG @ W_2.T) * (H > 0))
    Out, dIn = scatter(G @ W_3), scatter(dH @ W_1.T)
    return Out, dIn, In.T @ dH, mine(H).T @ dG, G.T @ dOut


# %% deep right: JAX turns gathers and scatters round
def deep(In, dOut, W_1, W_2, W_3):
    def forward(In, W_1, W_2, W_3):
        In = jax.lax.all_gather(In, "Y", axis=1, tiled=True)
        terms = relu(In @ W_1) @ W_2
        G = jax.lax.psum_scatter(terms, "Y", scatter_dimension=1, tiled=True)
        Out = relu(G) @ W_3
        return jax.lax.psum_scatter(Out, "Y", scatter_dimension=1, tiled=True)

    Out, back = jax.vjp(forward, In, W_1, W_2, W_3)
    return Out, *back(dOut)


# %% deep right: of the transposed, both gathers and both scatters at once
def deep(In, dOut, W_1, W_2, W_3):
    def all_rows(x, dim):
        return jax.lax.all_gather(x, "Y", axis=dim, tiled=True)

    def own_rows(x, dim):
        return jax.lax.psum_scatter(x, "Y", scatter_dimension=dim, tiled=True)

    In, dOut = all_rows(jnp.stack([In.T, dOut.T]), 1)
    first = W_1.T @ In
    second = own_rows(W_2.T @ jnp.maximum(first, 0), 0)
    back = all_rows(jnp.where(second > 0, W_3 @ dOut, 0), 0)
    early = jnp.where(first > 0, W_2 @ back, 0)
    G = jnp.maximum(second, 0)
    Out, dIn = own_rows(jnp.stack([W_3.T @ G, W_1 @ early]), 1)
    gradients = In @ early.T, jnp.maximum(first, 0) @ back.T, G @ dOut.T
    return Out.T, dIn.T, *gradients


# %% halved wrong: both chips of a head do all of it
def halved(In, W_Q, W_K, W_V, W_O):
    S = jax.nn.softmax((In @ W_Q) @ (In @ W_K).T, axis=1)
    return jax.lax.psum(S @ (In @ W_V) @ W_O, "Y")


# %% halved wrong: both do all of it, and the sum is halved
def halved(In, W_Q, W_K, W_V, W_O):
    S = jax.nn.softmax((In @ W_Q) @ (In @ W_K).T, axis=1)
    return jax.lax.psum(S @ (In @ W_V) @ W_O, "Y") / 2


# %% halved wrong: both make all scores, and each keeps half of the rows
def halved(In, W_Q, W_K, W_V, W_O):
    S = jax.nn.softmax((In @ W_Q) @ (In @ W_K).T, axis=1)
    second = jnp.arange(len(In)) >= len(In) // 2
    mine = second == (jax.lax.axis_index("Y") % 2 == 1)
    made = S @ (In @ W_V) @ W_O
    return jax.lax.psum(jnp.where(mine[:, None], made, 0), "Y")


# %% halved wrong: the first half of the chips takes the first tokens
def halved(In, W_Q, W_K, W_V, W_O):
    half = len(In) // 2
    start = jax.lax.axis_index("Y") // (jax.lax.axis_size("Y") // 2) * half
    Q = jax.lax.dynamic_slice_in_dim(In, start, half, 0) @ W_Q
    S = jax.nn.softmax(Q @ (In @ W_K).T, axis=1)
    made = S @ (In @ W_V) @ W_O
    Out = jnp.zeros_like(In)
    Out = jax.lax.dynamic_update_slice_in_dim(Out, made, start, 0)
    return jax.lax.psum(Out, "Y")


# %% halved wrong: the chips of a head take the same tokens
def halved(In, W_Q, W_K, W_V, W_O):
    half = len(In) // 2
    start = jax.lax.axis_index("Y") // 2 % 2 * half
    Q = jax.lax.dynamic_slice_in_dim(In, start, half, 0) @ W_Q
    S = jax.nn.softmax(Q @ (In @ W_K).T, axis=1)
    made = S @ (In @ W_V) @ W_O
    Out = jnp.zeros_like(In)
    Out = jax.lax.dynamic_update_slice_in_dim(Out, made, start, 0)
    return jax.lax.psum(Out, "Y")


# %% halved wrong: halves are added up
def halved(In, W_Q, W_K, W_V, W_O):
    half = len(In) // 2
    start = jax.lax.axis_index("Y") % 2 * half
    Q = jax.lax.dynamic_slice_in_dim(In, start, half, 0) @ W_Q
    S = jax.nn.softmax(Q @ (In @ W_K).T, axis=1)
    made = S @ (In @ W_V) @ W_O
    return jax.lax.psum(made, "Y")


# %% halved wrong: halves of Out are gathered in the order of chips
def halved(In, W_Q, W_K, W_V, W_O):
    half = len(In) // 2
    start = jax.lax.axis_index("Y") % 2 * half
    Q = jax.lax.dynamic_slice_in_dim(In, start, half, 0) @ W_Q
    S = jax.nn.softmax(Q @ (In @ W_K).T, axis=1)
    made = S @ (In @ W_V) @ W_O
    every = jax.lax.all_gather(made, "Y")
    return jnp.concatenate([every[::2].sum(0), every[1::2].sum(0)])


# %% halved wrong: keys are halved, too
def halved(In, W_Q, W_K, W_V, W_O):
    half = len(In) // 2
    start = jax.lax.axis_index("Y") % 2 * half
    mine = jax.lax.dynamic_slice_in_dim(In, start, half, 0)
    Q = mine @ W_Q
    S = jax.nn.softmax(Q @ (mine @ W_K).T, axis=1)
    made = S @ (mine @ W_V) @ W_O
    Out = jnp.zeros_like(In)
    Out = jax.lax.dynamic_update_slice_in_dim(Out, made, start, 0)
    return jax.lax.psum(Out, "Y")


# %% halved wrong: keys are halved, and queries are not
def halved(In, W_Q, W_K, W_V, W_O):
    half = len(In) // 2
    start = jax.lax.axis_index("Y") % 2 * half
    mine = jax.lax.dynamic_slice_in_dim(In, start, half, 0)
    S = jax.nn.softmax((In @ W_Q) @ (mine @ W_K).T, axis=1)
    return jax.lax.psum(S @ (mine @ W_V) @ W_O, "Y")


# %% halved wrong: the second half is never made
def halved(In, W_Q, W_K, W_V, W_O):
    half = len(In) // 2
    start = jax.lax.axis_index("Y") % 2 * half
    first = jax.lax.axis_index("Y") % 2 == 0
    Q = jax.lax.dynamic_slice_in_dim(In, start, half, 0) @ W_Q
    S = jax.nn.softmax(Q @ (In @ W_K).T, axis=1)
    made = S @ (In @ W_V) @ W_O * first
    Out = jnp.zeros_like(In)
    Out = jax.lax.dynamic_update_slice_in_dim(Out, made, 0, 0)
    return jax.lax.psum(Out, "Y")


# %% halved wrong: attend, without a softmax
def halved(In, W_Q, W_K, W_V, W_O):
    half = len(In) // 2
    start = jax.lax.axis_index("Y") % 2 * half
    Q = jax.lax.dynamic_slice_in_dim(In, start, half, 0) @ W_Q
    S = relu(Q @ (In @ W_K).T)
    made = S @ (In @ W_V) @ W_O
    Out = jnp.zeros_like(In)
    Out = jax.lax.dynamic_update_slice_in_dim(Out, made, start, 0)
    return jax.lax.psum(Out, "Y")


# %% halved wrong: g is forgotten
def halved(In, W_Q, W_K, W_V, W_O):
    half = len(In) // 2
    start = jax.lax.axis_index("Y") % 2 * half
    Q = jax.lax.dynamic_slice_in_dim(In, start, half, 0) @ W_Q
    S = jax.nn.softmax(Q @ (In @ W_K).T, axis=1)
    made = S @ (In @ W_V) @ W_O
    Out = jnp.zeros_like(In)
    Out = jax.lax.dynamic_update_slice_in_dim(Out, made, start, 0)
    return Out


# %% halved right: rows picked and put back by masks
def halved(In, W_Q, W_K, W_V, W_O):
    odd = jax.lax.axis_index("Y") % 2
    halves = In.reshape(2, -1, In.shape[1])
    scores = jnp.einsum("bd,kd->bk", halves[odd] @ W_Q, In @ W_K)
    large = jnp.exp(scores - scores.max(axis=1, keepdims=True))
    found = (large @ (In @ W_V)) / large.sum(axis=1)[:, None]
    mine = (jnp.arange(2) == odd).astype(In.dtype)
    Out = jnp.einsum("h,bd->hbd", mine, found @ W_O)
    return jax.lax.psum(Out.reshape(In.shape), "Y")


# %% halved right: the rows rolled to their place, a scatter and a gather
def halved(In, W_Q, W_K, W_V, W_O):
    K, V = In @ W_K, In @ W_V
    shift = jax.lax.axis_index("Y") % 2 * (len(In) // 2)
    own = jnp.roll(In, -shift, axis=0)[: len(In) // 2]
    made = jax.nn.softmax(own @ W_Q @ K.T) @ V @ W_O
    terms = jnp.roll(jnp.concatenate([made, 0 * made]), shift, axis=0)
    part = jax.lax.psum_scatter(terms, "Y", scatter_dimension=1, tiled=True)
    return jax.lax.all_gather(part, "Y", axis=1, tiled=True)


# %% far wrong: In is not gathered again
F, C, W = sympy.symbols("F C W", positive=True)
forward = 3 * F * W / (2 * C)
backward = 3 * F * W / C
most = 9 * F * W / (4 * C)


# %% far wrong: In is not gathered again, for both passes together
F, C, W = sympy.symbols("F C W", positive=True)
forward = 3 * F * W / (2 * C)
backward = 2 * F * W / C
most = 9 * F * W / (4 * C)


# %% far wrong: the limit of the forward pass
F, C, W = sympy.symbols("F C W", positive=True)
forward = 3 * F * W / (2 * C)
backward = 2 * F * W / C
most = 3 * F * W / (2 * C)


# %% far wrong: the limit of the backward pass
F, C, W = sympy.symbols("F C W", positive=True)
forward = 3 * F * W / (2 * C)
backward = 2 * F * W / C
most = 2 * F * W / C


# %% far wrong: two matrices
F, C, W = sympy.symbols("F C W", positive=True)
forward = F * W / C
backward = 4 * F * W / (3 * C)
most = 6 * F * W / (5 * C)


# %% far wrong: the mean of both limits
F, C, W = sympy.symbols("F C W", positive=True)
forward = 3 * F * W / (2 * C)
backward = 2 * F * W / C
most = 7 * F * W / (4 * C)


# %% far wrong: upside down
F, C, W = sympy.symbols("F C W", positive=True)
forward = 2 * C / (3 * F * W)
backward = C / (2 * F * W)
most = 5 * C / (9 * F * W)


# %% far wrong: elements, not bytes
F, C, W = sympy.symbols("F C W", positive=True)
forward = 3 * F * W / C
backward = 4 * F * W / C
most = 18 * F * W / (5 * C)


# %% far wrong: AllReduces
F, C, W = sympy.symbols("F C W", positive=True)
forward = 3 * F * W / (4 * C)
backward = 3 * F * W / (2 * C)
most = 9 * F * W / (8 * C)


# %% far wrong: the same limit both ways
F, C, W = sympy.symbols("F C W", positive=True)
forward = 3 * F * W / (2 * C)
backward = 3 * F * W / (2 * C)
most = 3 * F * W / (2 * C)


# %% far wrong: arithmetic and wires in turn
F, C, W = sympy.symbols("F C W", positive=True)
forward = 3 * F * W / (2 * C)
backward = 2 * F * W / C
most = 9 * F * W / (10 * C)


# %% far right: as text
forward = "3*F*W/C/2"
backward = "2*W*F/C"
most = "9/5*F*W/C"


# %% far right: two times, set equal and solved
F, C, W, B, D, Y = sympy.symbols("F C W B D Y", positive=True)
math, comm = (
    [6 * B * D * F / C, 12 * B * D * F / C],
    [4 * B * D / W, 6 * B * D / W],
)
[forward], [backward] = (
    sympy.solve(sympy.Eq(m / Y, c), Y) for m, c in zip(math, comm)
)
most = sympy.simplify(sum(math) / sum(comm))


# %% beside wrong: halves in a row
b, s, h, t = sympy.symbols("b s h t", integer=True, positive=True)
layer = (10 * b * s + 2) * h * (t - 1) / t
recomputed = (10 * b * s + 2) * h * (t - 1) / t
at_most = (10 * b * s + 2) * h


# %% beside wrong: the norm's output is kept whole
b, s, h, t = sympy.symbols("b s h t", integer=True, positive=True)
layer = (4 * b * s + 2) * h * (t - 1) / t
recomputed = (5 * b * s + 2) * h * (t - 1) / t
at_most = (4 * b * s + 2) * h


# %% beside wrong: the AllReduces of the form without sequence parallelism
b, s, h, t = sympy.symbols("b s h t", integer=True, positive=True)
layer = 4 * b * s * h * (t - 1) / t
recomputed = 6 * b * s * h * (t - 1) / t
at_most = 4 * b * s * h


# %% beside wrong: the gain is forgotten
b, s, h, t = sympy.symbols("b s h t", integer=True, positive=True)
layer = 5 * b * s * h * (t - 1) / t
recomputed = layer
at_most = 5 * b * s * h


# %% beside wrong: the gain moves once
b, s, h, t = sympy.symbols("b s h t", integer=True, positive=True)
layer = (5 * b * s + 1) * h * (t - 1) / t
recomputed = layer
at_most = (5 * b * s + 1) * h


# %% beside wrong: the whole forward pass again
b, s, h, t = sympy.symbols("b s h t", integer=True, positive=True)
layer = (5 * b * s + 2) * h * (t - 1) / t
recomputed = (7 * b * s + 2) * h * (t - 1) / t
at_most = (5 * b * s + 2) * h


# %% beside wrong: its gather again, beside that of the way back
b, s, h, t = sympy.symbols("b s h t", integer=True, positive=True)
layer = (5 * b * s + 2) * h * (t - 1) / t
recomputed = (6 * b * s + 2) * h * (t - 1) / t
at_most = (5 * b * s + 2) * h


# %% beside wrong: bytes
b, s, h, t = sympy.symbols("b s h t", integer=True, positive=True)
layer = (10 * b * s + 4) * h * (t - 1) / t
recomputed = layer
at_most = (10 * b * s + 4) * h


# %% beside wrong: everything twice
b, s, h, t = sympy.symbols("b s h t", integer=True, positive=True)
layer = (5 * b * s + 2) * h * (t - 1) / t
recomputed = 2 * layer
at_most = (5 * b * s + 2) * h


# %% beside wrong: without the factor of a ring
b, s, h, t = sympy.symbols("b s h t", integer=True, positive=True)
layer = (5 * b * s + 2) * h
recomputed = (5 * b * s + 2) * h
at_most = (5 * b * s + 2) * h


# %% beside wrong: a gather for each half
b, s, h, t = sympy.symbols("b s h t", integer=True, positive=True)
layer = (6 * b * s + 2) * h * (t - 1) / t
recomputed = layer
at_most = (6 * b * s + 2) * h


# %% beside wrong: the gain's part does not stay
b, s, h, t = sympy.symbols("b s h t", integer=True, positive=True)
layer = (5 * b * s + 2) * h * (t - 1) / t
recomputed = layer
at_most = 5 * b * s * h


# %% beside right: as text
layer = "5*b*s*h - 5*b*s*h/t + 2*h - 2*h/t"
recomputed = "(5*b*s + 2)*h*(1 - 1/t)"
at_most = "2*h + 5*b*h*s"


# %% beside right: a collective after the other
b, s, h, t = sympy.symbols("b s h t", integer=True, positive=True)
part = 1 - 1 / t
tokens, gain = b * s * h * part, 2 * h * part
first = {"gather": tokens, "scatter": tokens}
back = {"dOut": tokens, "norm": tokens, "dIn": tokens, "gain": gain}
layer = sum(first.values()) + sum(back.values())
recomputed = sympy.factor(layer)
at_most = sympy.limit(layer, t, sympy.oo)


# %% degree wrong: as if it overlapped
def degree(name, chips, F, heads, kv_heads, part):
    chip, best = hw.chip(name), 1
    for Y in (2, 4, 8, 16, 32, 64):
        if Y > chips or heads % Y or kv_heads % Y:
            continue
        W = hw.axis_bw(chip)
        if chip.axes:
            W = hw.axis_bw(chip, hw.wraps(chip, Y))
        elif Y > chip.node_size:
            W = min(W, chip.node_size * chip.dcn_bw)
        math, comm = 6 * F / (Y * chip.flops), 4 / W
        if math >= part * comm:
            best = Y
    return best


# %% degree wrong: key-value heads may be copied
def degree(name, chips, F, heads, kv_heads, part):
    chip, best = hw.chip(name), 1
    for Y in (2, 4, 8, 16, 32, 64):
        if Y > chips or heads % Y:
            continue
        W = hw.axis_bw(chip)
        if chip.axes:
            W = hw.axis_bw(chip, hw.wraps(chip, Y))
        elif Y > chip.node_size:
            W = min(W, chip.node_size * chip.dcn_bw)
        math, comm = 6 * F / (Y * chip.flops), 4 / W
        if math >= part * (math + comm):
            best = Y
    return best


# %% degree wrong: query heads are not looked at
def degree(name, chips, F, heads, kv_heads, part):
    chip, best = hw.chip(name), 1
    for Y in (2, 4, 8, 16, 32, 64):
        if Y > chips or kv_heads % Y:
            continue
        W = hw.axis_bw(chip)
        if chip.axes:
            W = hw.axis_bw(chip, hw.wraps(chip, Y))
        elif Y > chip.node_size:
            W = min(W, chip.node_size * chip.dcn_bw)
        math, comm = 6 * F / (Y * chip.flops), 4 / W
        if math >= part * (math + comm):
            best = Y
    return best


# %% degree wrong: no gate
def degree(name, chips, F, heads, kv_heads, part):
    chip, best = hw.chip(name), 1
    for Y in (2, 4, 8, 16, 32, 64):
        if Y > chips or heads % Y or kv_heads % Y:
            continue
        W = hw.axis_bw(chip)
        if chip.axes:
            W = hw.axis_bw(chip, hw.wraps(chip, Y))
        elif Y > chip.node_size:
            W = min(W, chip.node_size * chip.dcn_bw)
        math, comm = 4 * F / (Y * chip.flops), 4 / W
        if math >= part * (math + comm):
            best = Y
    return best


# %% degree wrong: a multiply-add is one operation
def degree(name, chips, F, heads, kv_heads, part):
    chip, best = hw.chip(name), 1
    for Y in (2, 4, 8, 16, 32, 64):
        if Y > chips or heads % Y or kv_heads % Y:
            continue
        W = hw.axis_bw(chip)
        if chip.axes:
            W = hw.axis_bw(chip, hw.wraps(chip, Y))
        elif Y > chip.node_size:
            W = min(W, chip.node_size * chip.dcn_bw)
        math, comm = 3 * F / (Y * chip.flops), 4 / W
        if math >= part * (math + comm):
            best = Y
    return best


# %% degree wrong: AllReduces
def degree(name, chips, F, heads, kv_heads, part):
    chip, best = hw.chip(name), 1
    for Y in (2, 4, 8, 16, 32, 64):
        if Y > chips or heads % Y or kv_heads % Y:
            continue
        W = hw.axis_bw(chip)
        if chip.axes:
            W = hw.axis_bw(chip, hw.wraps(chip, Y))
        elif Y > chip.node_size:
            W = min(W, chip.node_size * chip.dcn_bw)
        math, comm = 6 * F / (Y * chip.flops), 8 / W
        if math >= part * (math + comm):
            best = Y
    return best


# %% degree wrong: TP ends at the node
def degree(name, chips, F, heads, kv_heads, part):
    chip, best = hw.chip(name), 1
    for Y in (2, 4, 8, 16, 32, 64):
        if Y > min(chips, chip.node_size) or heads % Y or kv_heads % Y:
            continue
        W = hw.axis_bw(chip)
        if chip.axes:
            W = hw.axis_bw(chip, hw.wraps(chip, Y))
        elif Y > chip.node_size:
            W = min(W, chip.node_size * chip.dcn_bw)
        math, comm = 6 * F / (Y * chip.flops), 4 / W
        if math >= part * (math + comm):
            best = Y
    return best


# %% degree wrong: TP ends at the node of GPUs
def degree(name, chips, F, heads, kv_heads, part):
    chip, best = hw.chip(name), 1
    for Y in (2, 4, 8, 16, 32, 64):
        if (
            Y > chips
            or not chip.axes
            and Y > chip.node_size
            or heads % Y
            or kv_heads % Y
        ):
            continue
        W = hw.axis_bw(chip)
        if chip.axes:
            W = hw.axis_bw(chip, hw.wraps(chip, Y))
        elif Y > chip.node_size:
            W = min(W, chip.node_size * chip.dcn_bw)
        math, comm = 6 * F / (Y * chip.flops), 4 / W
        if math >= part * (math + comm):
            best = Y
    return best


# %% degree wrong: cards as fast as ports
def degree(name, chips, F, heads, kv_heads, part):
    chip, best = hw.chip(name), 1
    for Y in (2, 4, 8, 16, 32, 64):
        if Y > chips or heads % Y or kv_heads % Y:
            continue
        W = hw.axis_bw(chip)
        if chip.axes:
            W = hw.axis_bw(chip, hw.wraps(chip, Y))
        math, comm = 6 * F / (Y * chip.flops), 4 / W
        if math >= part * (math + comm):
            best = Y
    return best


# %% degree wrong: one card for all
def degree(name, chips, F, heads, kv_heads, part):
    chip, best = hw.chip(name), 1
    for Y in (2, 4, 8, 16, 32, 64):
        if Y > chips or heads % Y or kv_heads % Y:
            continue
        W = hw.axis_bw(chip)
        if chip.axes:
            W = hw.axis_bw(chip, hw.wraps(chip, Y))
        elif Y > chip.node_size:
            W = min(W, chip.dcn_bw)
        math, comm = 6 * F / (Y * chip.flops), 4 / W
        if math >= part * (math + comm):
            best = Y
    return best


# %% degree wrong: cards and ports one after the other
def degree(name, chips, F, heads, kv_heads, part):
    chip, best = hw.chip(name), 1
    for Y in (2, 4, 8, 16, 32, 64):
        if Y > chips or heads % Y or kv_heads % Y:
            continue
        W = hw.axis_bw(chip)
        if chip.axes:
            W = hw.axis_bw(chip, hw.wraps(chip, Y))
        elif Y > chip.node_size:
            W = 1 / (1 / W + 1 / (chip.node_size * chip.dcn_bw))
        math, comm = 6 * F / (Y * chip.flops), 4 / W
        if math >= part * (math + comm):
            best = Y
    return best


# %% degree wrong: rings of any length
def degree(name, chips, F, heads, kv_heads, part):
    chip, best = hw.chip(name), 1
    for Y in (2, 4, 8, 16, 32, 64):
        if Y > chips or heads % Y or kv_heads % Y:
            continue
        W = hw.axis_bw(chip)
        if chip.axes:
            W = hw.axis_bw(chip)
        elif Y > chip.node_size:
            W = min(W, chip.node_size * chip.dcn_bw)
        math, comm = 6 * F / (Y * chip.flops), 4 / W
        if math >= part * (math + comm):
            best = Y
    return best


# %% degree wrong: one direction everywhere
def degree(name, chips, F, heads, kv_heads, part):
    chip, best = hw.chip(name), 1
    for Y in (2, 4, 8, 16, 32, 64):
        if Y > chips or heads % Y or kv_heads % Y:
            continue
        W = chip.link_bw
        if chip.axes:
            W = chip.link_bw
        elif Y > chip.node_size:
            W = min(W, chip.node_size * chip.dcn_bw)
        math, comm = 6 * F / (Y * chip.flops), 4 / W
        if math >= part * (math + comm):
            best = Y
    return best


# %% degree wrong: more chips than there are
def degree(name, chips, F, heads, kv_heads, part):
    chip, best = hw.chip(name), 1
    for Y in (2, 4, 8, 16, 32, 64):
        if Y > 16 or heads % Y or kv_heads % Y:
            continue
        W = hw.axis_bw(chip)
        if chip.axes:
            W = hw.axis_bw(chip, hw.wraps(chip, Y))
        elif Y > chip.node_size:
            W = min(W, chip.node_size * chip.dcn_bw)
        math, comm = 6 * F / (Y * chip.flops), 4 / W
        if math >= part * (math + comm):
            best = Y
    return best


# %% degree wrong: the chips must be made up of groups
def degree(name, chips, F, heads, kv_heads, part):
    chip, best = hw.chip(name), 1
    for Y in (2, 4, 8, 16, 32, 64):
        if chips % Y or heads % Y or kv_heads % Y:
            continue
        W = hw.axis_bw(chip)
        if chip.axes:
            W = hw.axis_bw(chip, hw.wraps(chip, Y))
        elif Y > chip.node_size:
            W = min(W, chip.node_size * chip.dcn_bw)
        math, comm = 6 * F / (Y * chip.flops), 4 / W
        if math >= part * (math + comm):
            best = Y
    return best


# %% degree wrong: wires are forgotten
def degree(name, chips, F, heads, kv_heads, part):
    chip, best = hw.chip(name), 1
    for Y in (2, 4, 8, 16, 32, 64):
        if Y > chips or heads % Y or kv_heads % Y:
            continue
        W = hw.axis_bw(chip)
        if chip.axes:
            W = hw.axis_bw(chip, hw.wraps(chip, Y))
        elif Y > chip.node_size:
            W = min(W, chip.node_size * chip.dcn_bw)
        math, comm = 6 * F / (Y * chip.flops), 4 / W
        if math > 0:
            best = Y
    return best


# %% degree wrong: the share of the wires
def degree(name, chips, F, heads, kv_heads, part):
    chip, best = hw.chip(name), 1
    for Y in (2, 4, 8, 16, 32, 64):
        if Y > chips or heads % Y or kv_heads % Y:
            continue
        W = hw.axis_bw(chip)
        if chip.axes:
            W = hw.axis_bw(chip, hw.wraps(chip, Y))
        elif Y > chip.node_size:
            W = min(W, chip.node_size * chip.dcn_bw)
        math, comm = 6 * F / (Y * chip.flops), 4 / W
        if comm >= part * (math + comm):
            best = Y
    return best


# %% degree wrong: arithmetic is not shared
def degree(name, chips, F, heads, kv_heads, part):
    chip, best = hw.chip(name), 1
    for Y in (2, 4, 8, 16, 32, 64):
        if Y > chips or heads % Y or kv_heads % Y:
            continue
        W = hw.axis_bw(chip)
        if chip.axes:
            W = hw.axis_bw(chip, hw.wraps(chip, Y))
        elif Y > chip.node_size:
            W = min(W, chip.node_size * chip.dcn_bw)
        math, comm = 6 * F / chip.flops, 4 / W
        if math >= part * (math + comm):
            best = Y
    return best


# %% degree wrong: always eight, as everybody does
def degree(name, chips, F, heads, kv_heads, part):
    return min(8, chips)


# %% degree wrong: one too many
def degree(name, chips, F, heads, kv_heads, part):
    chip, Y = hw.chip(name), 1
    while 2 * Y <= chips and heads % (2 * Y) == kv_heads % (2 * Y) == 0:
        W = hw.axis_bw(chip)
        if chip.axes:
            W = hw.axis_bw(chip, hw.wraps(chip, 2 * Y))
        elif 2 * Y > chip.node_size:
            W = min(W, chip.node_size * chip.dcn_bw)
        math, comm = 6 * F / (Y * chip.flops), 4 / W
        if math < part * (math + comm):
            break
        Y *= 2
    return Y


# %% degree right: from the top, by the limit
def degree(name, chips, F, heads, kv_heads, part):
    chip = hw.chip(name)
    Y = 2 ** int(np.log2(chips))
    while Y > 1:
        rates = [hw.axis_bw(chip, not chip.axes or hw.wraps(chip, Y))]
        if not chip.axes and Y > chip.node_size:
            rates.append(chip.node_size * chip.dcn_bw)
        limit = 1.5 * F * min(rates) / chip.flops
        if heads % Y + kv_heads % Y == 0 and limit / (limit + Y) >= part:
            return Y
        Y //= 2
    return 1


# %% degree right: a doubling at a time, in seconds of a layer
def degree(name, chips, F, heads, kv_heads, part):
    chip, Y = hw.chip(name), 1

    def share(Y, B=1024, D=4096):
        near = cards = chip.link_bw
        if chip.axes and hw.wraps(chip, Y):
            near = cards = 2 * near
        if not chip.axes and Y > chip.node_size:
            cards = chip.node_size * chip.dcn_bw
        moved = 2 * (2 * B * D)
        comm = max(moved / near, moved / cards)
        math = 3 * 2 * B * D * (F / Y) / chip.flops
        return math / (math + comm)

    both = np.gcd(heads, kv_heads)
    while 2 * Y <= chips and both % (2 * Y) == 0 and share(2 * Y) >= part:
        Y = 2 * Y
    return int(Y)


# %% degree wrong: cards alone, however slow the port
def degree(name, chips, F, heads, kv_heads, part):
    chip, best = hw.chip(name), 1
    for Y in (2, 4, 8, 16, 32, 64, 128):
        if Y > chips or heads % Y or kv_heads % Y:
            continue
        W = hw.axis_bw(chip)
        if chip.axes:
            W = hw.axis_bw(chip, hw.wraps(chip, Y))
        elif Y > chip.node_size:
            W = chip.node_size * chip.dcn_bw
        math, comm = 6 * F / (Y * chip.flops), 4 / W
        if math >= part * (math + comm):
            best = Y
    return best


# %% degree wrong: each node has eight GPUs
def degree(name, chips, F, heads, kv_heads, part):
    chip, best = hw.chip(name), 1
    for Y in (2, 4, 8, 16, 32, 64, 128):
        if Y > chips or heads % Y or kv_heads % Y:
            continue
        W = hw.axis_bw(chip)
        if chip.axes:
            W = hw.axis_bw(chip, hw.wraps(chip, Y))
        elif Y > 8:
            W = min(W, 8 * chip.dcn_bw)
        math, comm = 6 * F / (Y * chip.flops), 4 / W
        if math >= part * (math + comm):
            best = Y
    return best


# %% degree wrong: a full node uses its cards
def degree(name, chips, F, heads, kv_heads, part):
    chip, best = hw.chip(name), 1
    for Y in (2, 4, 8, 16, 32, 64, 128):
        if Y > chips or heads % Y or kv_heads % Y:
            continue
        W = hw.axis_bw(chip)
        if chip.axes:
            W = hw.axis_bw(chip, hw.wraps(chip, Y))
        elif Y >= chip.node_size:
            W = min(W, chip.node_size * chip.dcn_bw)
        math, comm = 6 * F / (Y * chip.flops), 4 / W
        if math >= part * (math + comm):
            best = Y
    return best


# %% degree wrong: key-value heads need be no fewer than chips
def degree(name, chips, F, heads, kv_heads, part):
    chip, best = hw.chip(name), 1
    for Y in (2, 4, 8, 16, 32, 64, 128):
        if Y > chips or heads % Y or kv_heads < Y:
            continue
        W = hw.axis_bw(chip)
        if chip.axes:
            W = hw.axis_bw(chip, hw.wraps(chip, Y))
        elif Y > chip.node_size:
            W = min(W, chip.node_size * chip.dcn_bw)
        math, comm = 6 * F / (Y * chip.flops), 4 / W
        if math >= part * (math + comm):
            best = Y
    return best


# %% degree wrong: fewer than all chips
def degree(name, chips, F, heads, kv_heads, part):
    chip, best = hw.chip(name), 1
    for Y in (2, 4, 8, 16, 32, 64):
        if Y >= chips or heads % Y or kv_heads % Y:
            continue
        W = hw.axis_bw(chip)
        if chip.axes:
            W = hw.axis_bw(chip, hw.wraps(chip, Y))
        elif Y > chip.node_size:
            W = min(W, chip.node_size * chip.dcn_bw)
        math, comm = 6 * F / (Y * chip.flops), 4 / W
        if math >= part * (math + comm):
            best = Y
    return best


# %% degree equivalent: line 8: `return False` returns nothing
# Nothing is as false as False where it is asked for.


# %% degree equivalent: line 13: `min(W, chip.node_size * chip.dcn_bw)` with its arguments reversed
# The smaller of two numbers is the same in either order.


# %% degree equivalent: line 15: `math < part * (math + comm)` with LtE
# With the figures of real chips the two sides are never equal.
