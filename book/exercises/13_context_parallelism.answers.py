# Answers that the checks of exercise set 13 must reject or accept.
#
# A cell is titled with the answer cell's grade_id, then `wrong: ` with the
# mistake or `right: ` with what is different. Run by tests/exercises.


# %% decode wrong: the mean of the chips' results
def decode(q, K, V, here):
    H, d = q.shape
    q = q.reshape(K.shape[1], -1, d)
    S = jnp.einsum("grd,sgd->grs", q, K) / d**0.5
    S = jnp.where(jnp.arange(len(K)) < here[0], S, -1e30)
    Out = jnp.einsum("grs,sgd->grd", jax.nn.softmax(S), V)
    Out = jnp.where(here[0] > 0, Out, 0)
    chips = jax.lax.psum(here[0] > 0, "X")
    return jax.lax.psum(Out / chips, "X").reshape(H, d)


# %% decode wrong: a block weighs as much as it has rows
def decode(q, K, V, here):
    H, d = q.shape
    q = q.reshape(K.shape[1], -1, d)
    S = jnp.einsum("grd,sgd->grs", q, K) / d**0.5
    S = jnp.where(jnp.arange(len(K)) < here[0], S, -1e30)
    Out = jnp.einsum("grs,sgd->grd", jax.nn.softmax(S), V)
    share = here[0] / jax.lax.psum(here[0], "X")
    return jax.lax.psum(share * Out, "X").reshape(H, d)


# %% decode wrong: no maximum, and exp overflows
def decode(q, K, V, here):
    H, d = q.shape
    q = q.reshape(K.shape[1], -1, d)
    S = jnp.einsum("grd,sgd->grs", q, K) / d**0.5
    S = jnp.where(jnp.arange(len(K)) < here[0], S, -jnp.inf)
    weights = jnp.exp(S)
    total = jax.lax.psum(weights.sum(2, keepdims=True), "X")
    Out = jax.lax.psum(jnp.einsum("grs,sgd->grd", weights, V), "X")
    return (Out / total).reshape(H, d)


# %% decode wrong: each chip its own maximum, never corrected
def decode(q, K, V, here):
    H, d = q.shape
    q = q.reshape(K.shape[1], -1, d)
    S = jnp.einsum("grd,sgd->grs", q, K) / d**0.5
    S = jnp.where(jnp.arange(len(K)) < here[0], S, -1e30)
    weights = jnp.exp(S - S.max(2, keepdims=True)) * (here[0] > 0)
    total = jax.lax.psum(weights.sum(2, keepdims=True), "X")
    Out = jax.lax.psum(jnp.einsum("grs,sgd->grd", weights, V), "X")
    return (Out / total).reshape(H, d)


# %% decode wrong: a chip without rows has a maximum of -inf, and gives NaN
def decode(q, K, V, here):
    H, d = q.shape
    q = q.reshape(K.shape[1], -1, d)
    S = jnp.einsum("grd,sgd->grs", q, K) / d**0.5
    S = jnp.where(jnp.arange(len(K)) < here[0], S, -jnp.inf)
    own = S.max(2, keepdims=True)
    weights = jnp.exp(S - own)
    grow = jnp.exp(own - jax.lax.pmax(own, "X"))
    total = jax.lax.psum(grow * weights.sum(2, keepdims=True), "X")
    Out = jnp.einsum("grs,sgd->grd", weights, V)
    return (jax.lax.psum(grow * Out, "X") / total).reshape(H, d)


# %% decode wrong: rows that are not in use
def decode(q, K, V, here):
    H, d = q.shape
    q = q.reshape(K.shape[1], -1, d)
    S = jnp.einsum("grd,sgd->grs", q, K) / d**0.5
    weights = jnp.exp(S - jax.lax.pmax(S.max(2, keepdims=True), "X"))
    total = jax.lax.psum(weights.sum(2, keepdims=True), "X")
    Out = jax.lax.psum(jnp.einsum("grs,sgd->grd", weights, V), "X")
    return (Out / total).reshape(H, d)


# %% decode wrong: heads in another order
def decode(q, K, V, here):
    H, d = q.shape
    q = q.reshape(-1, K.shape[1], d)
    S = jnp.einsum("rgd,sgd->rgs", q, K) / d**0.5
    S = jnp.where(jnp.arange(len(K)) < here[0], S, -jnp.inf)
    weights = jnp.exp(S - jax.lax.pmax(S.max(2, keepdims=True), "X"))
    total = jax.lax.psum(weights.sum(2, keepdims=True), "X")
    Out = jax.lax.psum(jnp.einsum("rgs,sgd->rgd", weights, V), "X")
    return (Out / total).reshape(H, d)


# %% decode wrong: keys and values are gathered
def decode(q, K, V, here):
    H, d = q.shape
    used = jnp.arange(len(K)) < here[0]
    K, V, used = (
        jax.lax.all_gather(x, "X", tiled=True, to="invarying")
        for x in (K, V, used)
    )
    q = q.reshape(K.shape[1], -1, d)
    S = jnp.einsum("grd,sgd->grs", q, K) / d**0.5
    weights = jax.nn.softmax(jnp.where(used, S, -jnp.inf))
    return jnp.einsum("grs,sgd->grd", weights, V).reshape(H, d)


# %% decode wrong: whole weights travel, one for each row
def decode(q, K, V, here):
    H, d = q.shape
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    q = q.reshape(K.shape[1], -1, d)
    S = jnp.einsum("grd,sgd->grs", q, K) / d**0.5
    S = jnp.where(jnp.arange(len(K)) < here[0], S, -1e30)
    every = jnp.full((N, *S.shape), 0.0).at[me].set(S)
    every = jax.lax.psum(every, "X")
    top = every.max((0, 3))[..., None]
    total = jnp.exp(every - top).sum((0, 3))[..., None]
    Out = jnp.einsum("grs,sgd->grd", jnp.exp(S - top), V)
    return (jax.lax.psum(Out, "X") / total).reshape(H, d)


# %% decode wrong: scores are not divided
def decode(q, K, V, here):
    H, d = q.shape
    q = q.reshape(K.shape[1], -1, d)
    S = jnp.einsum("grd,sgd->grs", q, K)
    S = jnp.where(jnp.arange(len(K)) < here[0], S, -jnp.inf)
    weights = jnp.exp(S - jax.lax.pmax(S.max(2, keepdims=True), "X"))
    total = jax.lax.psum(weights.sum(2, keepdims=True), "X")
    Out = jax.lax.psum(jnp.einsum("grs,sgd->grd", weights, V), "X")
    return (Out / total).reshape(H, d)


# %% decode wrong: masked scores of -100 win where others are lower
def decode(q, K, V, here):
    H, d = q.shape
    q = q.reshape(K.shape[1], -1, d)  # q[G, H / G, d]
    scores = jnp.einsum("grd,sgd->grs", q, K) / d**0.5
    scores = jnp.where(jnp.arange(len(K)) < here, scores, -100.0)
    highest = jax.lax.pmax(scores.max(2, keepdims=True), "X")
    weights = jnp.exp(scores - highest)
    total = jax.lax.psum(weights.sum(2, keepdims=True), "X")
    Out = jax.lax.psum(jnp.einsum("grs,sgd->grd", weights, V), "X")
    return (Out / total).reshape(H, d)


# %% decode wrong: a maximum that is never below 0
def decode(q, K, V, here):
    H, d = q.shape
    q = q.reshape(K.shape[1], -1, d)  # q[G, H / G, d]
    scores = jnp.einsum("grd,sgd->grs", q, K) / d**0.5
    scores = jnp.where(jnp.arange(len(K)) < here, scores, -jnp.inf)
    highest = jax.lax.pmax(scores.max(2, keepdims=True, initial=0.0), "X")
    weights = jnp.exp(scores - highest)
    total = jax.lax.psum(weights.sum(2, keepdims=True), "X")
    Out = jax.lax.psum(jnp.einsum("grs,sgd->grd", weights, V), "X")
    return (Out / total).reshape(H, d)


# %% decode wrong: one row more than is in use
def decode(q, K, V, here):
    H, d = q.shape
    q = q.reshape(K.shape[1], -1, d)  # q[G, H / G, d]
    scores = jnp.einsum("grd,sgd->grs", q, K) / d**0.5
    scores = jnp.where(jnp.arange(len(K)) <= here, scores, -jnp.inf)
    highest = jax.lax.pmax(scores.max(2, keepdims=True), "X")
    weights = jnp.exp(scores - highest)
    total = jax.lax.psum(weights.sum(2, keepdims=True), "X")
    Out = jax.lax.psum(jnp.einsum("grs,sgd->grd", weights, V), "X")
    return (Out / total).reshape(H, d)


# %% decode right: each block's logarithm, then shares that add up to one
def decode(q, K, V, here):
    H, d = q.shape
    K, V = (jnp.repeat(x, H // x.shape[1], axis=1) for x in (K, V))
    S = jnp.einsum("hd,shd->hs", q, K) / jnp.sqrt(d)
    S = jnp.where(jnp.arange(len(K)) < here[0], S, -1e30)
    lse = jax.nn.logsumexp(S, axis=1)
    Out = jnp.einsum("hs,shd->hd", jnp.exp(S - lse[:, None]), V)
    top = jax.lax.pmax(lse, "X")
    share = jnp.exp(lse - top)
    every = jax.lax.psum(share, "X")
    return jax.lax.psum((share / every)[:, None] * Out, "X")


# %% decode right: numerators and denominators in one array
def decode(q, K, V, here):
    heads = []
    for h in range(q.shape[0]):
        g = h * K.shape[1] // q.shape[0]
        S = K[:, g] @ q[h] / q.shape[1] ** 0.5
        S = jnp.where(jnp.arange(K.shape[0]) >= here, -jnp.inf, S)
        weights = jnp.exp(S - jax.lax.pmax(S.max(), "X"))
        both = jnp.append(weights @ V[:, g], weights.sum())
        both = jax.lax.psum(both, "X")
        heads.append(both[:-1] / both[-1])
    return jnp.stack(heads)


# %% windowed wrong: all of the past
def windowed(Q, K, V):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    b, t, H, d = Q.shape
    Q = Q.reshape(b, t, K.shape[2], -1, d)
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    query = me * t + jnp.arange(t)[:, None]
    top, total, Out = -jnp.inf, 0.0, 0.0
    for turn in range(N):
        if turn > 0:
            K, V = jax.lax.ppermute((K, V), "X", onward)
        back = query - ((me - turn) % N * t + jnp.arange(t))
        S = jnp.einsum("btgrd,bsgd->bgrts", Q, K) / d**0.5
        S = jnp.where(back >= 0, S, -jnp.inf)
        higher = jnp.maximum(top, S.max(4, keepdims=True))
        shrink, weights = jnp.exp(top - higher), jnp.exp(S - higher)
        total = shrink * total + weights.sum(4, keepdims=True)
        Out = shrink * Out + jnp.einsum("bgrts,bsgd->bgrtd", weights, V)
        top = higher
    return jnp.moveaxis(Out / total, 3, 1).reshape(b, t, H, d)


# %% windowed wrong: the keys go all the way round
def windowed(Q, K, V):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    b, t, H, d = Q.shape
    Q = Q.reshape(b, t, K.shape[2], -1, d)
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    query = me * t + jnp.arange(t)[:, None]
    top, total, Out = -jnp.inf, 0.0, 0.0
    for turn in range(N):
        if turn > 0:
            K, V = jax.lax.ppermute((K, V), "X", onward)
        back = query - ((me - turn) % N * t + jnp.arange(t))
        S = jnp.einsum("btgrd,bsgd->bgrts", Q, K) / d**0.5
        S = jnp.where((back >= 0) & (back < window), S, -jnp.inf)
        higher = jnp.maximum(top, S.max(4, keepdims=True))
        shrink, weights = jnp.exp(top - higher), jnp.exp(S - higher)
        total = shrink * total + weights.sum(4, keepdims=True)
        Out = shrink * Out + jnp.einsum("bgrts,bsgd->bgrtd", weights, V)
        top = higher
    return jnp.moveaxis(Out / total, 3, 1).reshape(b, t, H, d)


# %% windowed wrong: one hop too many where t divides the window less one
def windowed(Q, K, V):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    b, t, H, d = Q.shape
    Q = Q.reshape(b, t, K.shape[2], -1, d)
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    query = me * t + jnp.arange(t)[:, None]
    top, total, Out = -jnp.inf, 0.0, 0.0
    for turn in range(1 + min(N - 1, -(-window // t))):
        if turn > 0:
            K, V = jax.lax.ppermute((K, V), "X", onward)
        back = query - ((me - turn) % N * t + jnp.arange(t))
        S = jnp.einsum("btgrd,bsgd->bgrts", Q, K) / d**0.5
        S = jnp.where((back >= 0) & (back < window), S, -jnp.inf)
        higher = jnp.maximum(top, S.max(4, keepdims=True))
        shrink, weights = jnp.exp(top - higher), jnp.exp(S - higher)
        total = shrink * total + weights.sum(4, keepdims=True)
        Out = shrink * Out + jnp.einsum("bgrts,bsgd->bgrtd", weights, V)
        top = higher
    return jnp.moveaxis(Out / total, 3, 1).reshape(b, t, H, d)


# %% windowed wrong: one hop, however small the blocks
def windowed(Q, K, V):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    b, t, H, d = Q.shape
    Q = Q.reshape(b, t, K.shape[2], -1, d)
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    query = me * t + jnp.arange(t)[:, None]
    K2, V2 = jax.lax.ppermute((K, V), "X", onward)
    K, V = jnp.concatenate([K, K2], 1), jnp.concatenate([V, V2], 1)
    keys = jnp.concatenate(
        [me * t + jnp.arange(t), (me - 1) % N * t + jnp.arange(t)]
    )
    back = query - keys
    S = jnp.einsum("btgrd,bsgd->bgrts", Q, K) / d**0.5
    S = jnp.where((back >= 0) & (back < window), S, -jnp.inf)
    Out = jnp.einsum("bgrts,bsgd->btgrd", jax.nn.softmax(S), V)
    return Out.reshape(b, t, H, d)


# %% windowed wrong: what has come round is taken for the past
def windowed(Q, K, V):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    b, t, H, d = Q.shape
    Q = Q.reshape(b, t, K.shape[2], -1, d)
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    query = jnp.arange(t)[:, None]
    top, total, Out = -jnp.inf, 0.0, 0.0
    for turn in range(1 + min(N - 1, -(-(window - 1) // t))):
        if turn > 0:
            K, V = jax.lax.ppermute((K, V), "X", onward)
        back = query - (jnp.arange(t) - turn * t)
        S = jnp.einsum("btgrd,bsgd->bgrts", Q, K) / d**0.5
        S = jnp.where((back >= 0) & (back < window), S, -jnp.inf)
        higher = jnp.maximum(top, S.max(4, keepdims=True))
        shrink, weights = jnp.exp(top - higher), jnp.exp(S - higher)
        total = shrink * total + weights.sum(4, keepdims=True)
        Out = shrink * Out + jnp.einsum("bgrts,bsgd->bgrtd", weights, V)
        top = higher
    return jnp.moveaxis(Out / total, 3, 1).reshape(b, t, H, d)


# %% windowed wrong: no maximum, and exp overflows
def windowed(Q, K, V):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    b, t, H, d = Q.shape
    Q = Q.reshape(b, t, K.shape[2], -1, d)
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    query = me * t + jnp.arange(t)[:, None]
    total, Out = 0.0, 0.0
    for turn in range(1 + min(N - 1, -(-(window - 1) // t))):
        if turn > 0:
            K, V = jax.lax.ppermute((K, V), "X", onward)
        back = query - ((me - turn) % N * t + jnp.arange(t))
        S = jnp.einsum("btgrd,bsgd->bgrts", Q, K) / d**0.5
        S = jnp.where((back >= 0) & (back < window), S, -jnp.inf)
        weights = jnp.exp(S)
        total = total + weights.sum(4, keepdims=True)
        Out = Out + jnp.einsum("bgrts,bsgd->bgrtd", weights, V)
    return jnp.moveaxis(Out / total, 3, 1).reshape(b, t, H, d)


# %% windowed wrong: the maximum rises and the sum does not shrink
def windowed(Q, K, V):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    b, t, H, d = Q.shape
    Q = Q.reshape(b, t, K.shape[2], -1, d)
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    query = me * t + jnp.arange(t)[:, None]
    top, total, Out = -jnp.inf, 0.0, 0.0
    for turn in range(1 + min(N - 1, -(-(window - 1) // t))):
        if turn > 0:
            K, V = jax.lax.ppermute((K, V), "X", onward)
        back = query - ((me - turn) % N * t + jnp.arange(t))
        S = jnp.einsum("btgrd,bsgd->bgrts", Q, K) / d**0.5
        S = jnp.where((back >= 0) & (back < window), S, -jnp.inf)
        top = jnp.maximum(top, S.max(4, keepdims=True))
        weights = jnp.exp(S - top)
        total = total + weights.sum(4, keepdims=True)
        Out = Out + jnp.einsum("bgrts,bsgd->bgrtd", weights, V)
    return jnp.moveaxis(Out / total, 3, 1).reshape(b, t, H, d)


# %% windowed wrong: results of blocks are divided, then added
def windowed(Q, K, V):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    b, t, H, d = Q.shape
    Q = Q.reshape(b, t, K.shape[2], -1, d)
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    query = me * t + jnp.arange(t)[:, None]
    Out = 0.0
    for turn in range(1 + min(N - 1, -(-(window - 1) // t))):
        if turn > 0:
            K, V = jax.lax.ppermute((K, V), "X", onward)
        back = query - ((me - turn) % N * t + jnp.arange(t))
        seen = (back >= 0) & (back < window)
        S = jnp.einsum("btgrd,bsgd->bgrts", Q, K) / d**0.5
        weights = jax.nn.softmax(jnp.where(seen, S, -1e30)) * seen
        Out = Out + jnp.einsum("bgrts,bsgd->btgrd", weights, V)
    return Out.reshape(b, t, H, d)


# %% windowed wrong: only the past is bounded, and the future is seen
def windowed(Q, K, V):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    b, t, H, d = Q.shape
    Q = Q.reshape(b, t, K.shape[2], -1, d)
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    query = me * t + jnp.arange(t)[:, None]
    top, total, Out = -jnp.inf, 0.0, 0.0
    for turn in range(N):
        if turn > 0:
            K, V = jax.lax.ppermute((K, V), "X", onward)
        back = query - ((me - turn) % N * t + jnp.arange(t))
        S = jnp.einsum("btgrd,bsgd->bgrts", Q, K) / d**0.5
        S = jnp.where(abs(back) < window, S, -jnp.inf)
        higher = jnp.maximum(top, S.max(4, keepdims=True))
        shrink, weights = jnp.exp(top - higher), jnp.exp(S - higher)
        total = shrink * total + weights.sum(4, keepdims=True)
        Out = shrink * Out + jnp.einsum("bgrts,bsgd->bgrtd", weights, V)
        top = higher
    return jnp.moveaxis(Out / total, 3, 1).reshape(b, t, H, d)


# %% windowed wrong: blocks are collected first
def windowed(Q, K, V):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    b, t, H, d = Q.shape
    Q = Q.reshape(b, t, K.shape[2], -1, d)
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    query = me * t + jnp.arange(t)[:, None]
    Ks, Vs, keys = [K], [V], [me * t + jnp.arange(t)]
    for turn in range(1, 1 + min(N - 1, -(-(window - 1) // t))):
        K, V = jax.lax.ppermute((K, V), "X", onward)
        Ks.append(K)
        Vs.append(V)
        keys.append((me - turn) % N * t + jnp.arange(t))
    K, V = jnp.concatenate(Ks, 1), jnp.concatenate(Vs, 1)
    back = query - jnp.concatenate(keys)
    S = jnp.einsum("btgrd,bsgd->bgrts", Q, K) / d**0.5
    S = jnp.where((back >= 0) & (back < window), S, -jnp.inf)
    Out = jnp.einsum("bgrts,bsgd->btgrd", jax.nn.softmax(S), V)
    return Out.reshape(b, t, H, d)


# %% windowed wrong: a gather
def windowed(Q, K, V):
    me = jax.lax.axis_index("X")
    b, t, H, d = Q.shape
    Q = Q.reshape(b, t, K.shape[2], -1, d)
    K = jax.lax.all_gather(K, "X", axis=1, tiled=True)
    V = jax.lax.all_gather(V, "X", axis=1, tiled=True)
    back = me * t + jnp.arange(t)[:, None] - jnp.arange(K.shape[1])
    S = jnp.einsum("btgrd,bsgd->bgrts", Q, K) / d**0.5
    S = jnp.where((back >= 0) & (back < window), S, -jnp.inf)
    Out = jnp.einsum("bgrts,bsgd->btgrd", jax.nn.softmax(S), V)
    return Out.reshape(b, t, H, d)


# %% windowed wrong: a window of 13
def windowed(Q, K, V):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    b, t, H, d = Q.shape
    Q = Q.reshape(b, t, K.shape[2], -1, d)
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    query = me * t + jnp.arange(t)[:, None]
    top, total, Out = -jnp.inf, 0.0, 0.0
    for turn in range(1 + min(N - 1, -(-window // t))):
        if turn > 0:
            K, V = jax.lax.ppermute((K, V), "X", onward)
        back = query - ((me - turn) % N * t + jnp.arange(t))
        S = jnp.einsum("btgrd,bsgd->bgrts", Q, K) / d**0.5
        S = jnp.where((back >= 0) & (back <= window), S, -jnp.inf)
        higher = jnp.maximum(top, S.max(4, keepdims=True))
        shrink, weights = jnp.exp(top - higher), jnp.exp(S - higher)
        total = shrink * total + weights.sum(4, keepdims=True)
        Out = shrink * Out + jnp.einsum("bgrts,bsgd->bgrtd", weights, V)
        top = higher
    return jnp.moveaxis(Out / total, 3, 1).reshape(b, t, H, d)


# %% windowed wrong: more hops than there are other chips
def windowed(Q, K, V):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    b, t, H, d = Q.shape
    Q = Q.reshape(b, t, K.shape[2], -1, d)
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    query = me * t + jnp.arange(t)[:, None]
    highest, total, Out = -jnp.inf, 0.0, 0.0
    for turn in range(1 + -(-(window - 1) // t)):
        if turn > 0:
            K, V = jax.lax.ppermute((K, V), "X", onward)
        back = query - ((me - turn) * t + jnp.arange(t))
        scores = jnp.einsum("btgrd,bsgd->bgrts", Q, K) / d**0.5
        seen = (back >= 0) & (back < window) & (me >= turn)
        scores = jnp.where(seen, scores, -jnp.inf)
        tallest = scores.max(4, keepdims=True)
        higher = jnp.maximum(highest, tallest)
        shrink, weights = jnp.exp(highest - higher), jnp.exp(scores - higher)
        total = shrink * total + weights.sum(4, keepdims=True)
        Out = shrink * Out + jnp.einsum("bgrts,bsgd->bgrtd", weights, V)
        highest = higher
    return jnp.moveaxis(Out / total, 3, 1).reshape(b, t, H, d)


# %% windowed wrong: hops are rounded down
def windowed(Q, K, V):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    b, t, H, d = Q.shape
    Q = Q.reshape(b, t, K.shape[2], -1, d)
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    query = me * t + jnp.arange(t)[:, None]
    highest, total, Out = -jnp.inf, 0.0, 0.0
    for turn in range(1 + min(N - 1, (window - 1) // t)):
        if turn > 0:
            K, V = jax.lax.ppermute((K, V), "X", onward)
        back = query - ((me - turn) % N * t + jnp.arange(t))
        scores = jnp.einsum("btgrd,bsgd->bgrts", Q, K) / d**0.5
        seen = (back >= 0) & (back < window)
        scores = jnp.where(seen, scores, -jnp.inf)
        tallest = scores.max(4, keepdims=True)
        higher = jnp.maximum(highest, tallest)
        shrink, weights = jnp.exp(highest - higher), jnp.exp(scores - higher)
        total = shrink * total + weights.sum(4, keepdims=True)
        Out = shrink * Out + jnp.einsum("bgrts,bsgd->bgrtd", weights, V)
        highest = higher
    return jnp.moveaxis(Out / total, 3, 1).reshape(b, t, H, d)


# %% windowed wrong: the own future is seen
def windowed(Q, K, V):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    b, t, H, d = Q.shape
    Q = Q.reshape(b, t, K.shape[2], -1, d)
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    query = me * t + jnp.arange(t)[:, None]
    highest, total, Out = -jnp.inf, 0.0, 0.0
    for turn in range(1 + min(N - 1, -(-(window - 1) // t))):
        if turn > 0:
            K, V = jax.lax.ppermute((K, V), "X", onward)
        back = query - ((me - turn) % N * t + jnp.arange(t))
        scores = jnp.einsum("btgrd,bsgd->bgrts", Q, K) / d**0.5
        seen = (back < window) & (me >= turn)
        scores = jnp.where(seen, scores, -jnp.inf)
        tallest = scores.max(4, keepdims=True)
        higher = jnp.maximum(highest, tallest)
        shrink, weights = jnp.exp(highest - higher), jnp.exp(scores - higher)
        total = shrink * total + weights.sum(4, keepdims=True)
        Out = shrink * Out + jnp.einsum("bgrts,bsgd->bgrtd", weights, V)
        highest = higher
    return jnp.moveaxis(Out / total, 3, 1).reshape(b, t, H, d)


# %% windowed wrong: keys go round the other way
def windowed(Q, K, V):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    b, t, H, d = Q.shape
    Q = Q.reshape(b, t, K.shape[2], -1, d)
    onward = [((chip + 1) % N, chip) for chip in range(N)]
    query = me * t + jnp.arange(t)[:, None]
    highest, total, Out = -jnp.inf, 0.0, 0.0
    for turn in range(1 + min(N - 1, -(-(window - 1) // t))):
        if turn > 0:
            K, V = jax.lax.ppermute((K, V), "X", onward)
        back = query - ((me - turn) % N * t + jnp.arange(t))
        scores = jnp.einsum("btgrd,bsgd->bgrts", Q, K) / d**0.5
        seen = (back >= 0) & (back < window)
        scores = jnp.where(seen, scores, -jnp.inf)
        tallest = scores.max(4, keepdims=True)
        higher = jnp.maximum(highest, tallest)
        shrink, weights = jnp.exp(highest - higher), jnp.exp(scores - higher)
        total = shrink * total + weights.sum(4, keepdims=True)
        Out = shrink * Out + jnp.einsum("bgrts,bsgd->bgrtd", weights, V)
        highest = higher
    return jnp.moveaxis(Out / total, 3, 1).reshape(b, t, H, d)


# %% windowed wrong: heads in another order
def windowed(Q, K, V):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    b, t, H, d = Q.shape
    Q = Q.reshape(b, t, -1, K.shape[2], d).swapaxes(2, 3)
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    query = me * t + jnp.arange(t)[:, None]
    highest, total, Out = -jnp.inf, 0.0, 0.0
    for turn in range(1 + min(N - 1, -(-(window - 1) // t))):
        if turn > 0:
            K, V = jax.lax.ppermute((K, V), "X", onward)
        back = query - ((me - turn) % N * t + jnp.arange(t))
        scores = jnp.einsum("btgrd,bsgd->bgrts", Q, K) / d**0.5
        seen = (back >= 0) & (back < window)
        scores = jnp.where(seen, scores, -jnp.inf)
        tallest = scores.max(4, keepdims=True)
        higher = jnp.maximum(highest, tallest)
        shrink, weights = jnp.exp(highest - higher), jnp.exp(scores - higher)
        total = shrink * total + weights.sum(4, keepdims=True)
        Out = shrink * Out + jnp.einsum("bgrts,bsgd->bgrtd", weights, V)
        highest = higher
    return jnp.moveaxis(Out / total, 3, 1).reshape(b, t, H, d)


# %% windowed wrong: masked scores of -100
def windowed(Q, K, V):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    b, t, H, d = Q.shape
    Q = Q.reshape(b, t, K.shape[2], -1, d)
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    query = me * t + jnp.arange(t)[:, None]
    highest, total, Out = -jnp.inf, 0.0, 0.0
    for turn in range(1 + min(N - 1, -(-(window - 1) // t))):
        if turn > 0:
            K, V = jax.lax.ppermute((K, V), "X", onward)
        back = query - ((me - turn) % N * t + jnp.arange(t))
        scores = jnp.einsum("btgrd,bsgd->bgrts", Q, K) / d**0.5
        seen = (back >= 0) & (back < window)
        scores = jnp.where(seen, scores, -100.0)
        tallest = scores.max(4, keepdims=True)
        higher = jnp.maximum(highest, tallest)
        shrink, weights = jnp.exp(highest - higher), jnp.exp(scores - higher)
        total = shrink * total + weights.sum(4, keepdims=True)
        Out = shrink * Out + jnp.einsum("bgrts,bsgd->bgrtd", weights, V)
        highest = higher
    return jnp.moveaxis(Out / total, 3, 1).reshape(b, t, H, d)


# %% windowed wrong: half of the old, half of the new
def windowed(Q, K, V):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    b, t, H, d = Q.shape
    Q = Q.reshape(b, t, K.shape[2], -1, d)
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    query = me * t + jnp.arange(t)[:, None]
    highest, total, Out = -jnp.inf, 0.0, 0.0
    for turn in range(1 + min(N - 1, -(-(window - 1) // t))):
        if turn > 0:
            K, V = jax.lax.ppermute((K, V), "X", onward)
        back = query - ((me - turn) % N * t + jnp.arange(t))
        scores = jnp.einsum("btgrd,bsgd->bgrts", Q, K) / d**0.5
        seen = (back >= 0) & (back < window)
        scores = jnp.where(seen, scores, -jnp.inf)
        tallest = scores.max(4, keepdims=True)
        higher = jnp.maximum(highest, tallest)
        shrink, weights = 0.5, jnp.exp(scores - higher)
        total = shrink * total + weights.sum(4, keepdims=True)
        Out = shrink * Out + jnp.einsum("bgrts,bsgd->bgrtd", weights, V)
        highest = higher
    return jnp.moveaxis(Out / total, 3, 1).reshape(b, t, H, d)


# %% windowed wrong: the mean of blocks that were divided
def windowed(Q, K, V):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    b, t, H, d = Q.shape
    Q = Q.reshape(b, t, K.shape[2], -1, d)
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    query = me * t + jnp.arange(t)[:, None]
    Out, blocks = 0.0, 0
    for turn in range(1 + min(N - 1, -(-(window - 1) // t))):
        if turn > 0:
            K, V = jax.lax.ppermute((K, V), "X", onward)
        back = query - ((me - turn) % N * t + jnp.arange(t))
        scores = jnp.einsum("btgrd,bsgd->bgrts", Q, K) / d**0.5
        seen = (back >= 0) & (back < window)
        weights = jax.nn.softmax(jnp.where(seen, scores, -1e30))
        weights = jnp.where(seen, weights, 0)
        Out = Out + jnp.einsum("bgrts,bsgd->bgrtd", weights, V)
        blocks = blocks + seen.any(1, keepdims=True)
    return jnp.moveaxis(Out / blocks, 3, 1).reshape(b, t, H, d)


# %% windowed wrong: tokens are numbered from 0 on each chip
def windowed(Q, K, V):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    b, t, H, d = Q.shape
    Q = Q.reshape(b, t, K.shape[2], -1, d)
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    query = me * t + jnp.arange(t)[:, None]
    highest, total, Out = -jnp.inf, 0.0, 0.0
    for turn in range(1 + min(N - 1, -(-(window - 1) // t))):
        if turn > 0:
            K, V = jax.lax.ppermute((K, V), "X", onward)
        back = jnp.arange(t)[:, None] - jnp.arange(t)
        scores = jnp.einsum("btgrd,bsgd->bgrts", Q, K) / d**0.5
        seen = (back >= 0) & (back < window) & (me >= turn)
        scores = jnp.where(seen, scores, -jnp.inf)
        tallest = scores.max(4, keepdims=True)
        higher = jnp.maximum(highest, tallest)
        shrink, weights = jnp.exp(highest - higher), jnp.exp(scores - higher)
        total = shrink * total + weights.sum(4, keepdims=True)
        Out = shrink * Out + jnp.einsum("bgrts,bsgd->bgrtd", weights, V)
        highest = higher
    return jnp.moveaxis(Out / total, 3, 1).reshape(b, t, H, d)


# %% windowed right: logarithms are merged, one head of keys for each query head
def windowed(Q, K, V):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    t, d, R = Q.shape[1], Q.shape[3], Q.shape[2] // K.shape[2]
    place = jnp.arange(t)
    Out, lse = 0.0, -1e30
    for turn in range(N):
        if turn and (turn - 1) * t >= window - 1:
            break
        if turn:
            line = [(chip, chip + 1) for chip in range(N - 1)]
            K, V = (jax.lax.ppermute(x, "X", line) for x in (K, V))
        k, v = jnp.repeat(K, R, axis=2), jnp.repeat(V, R, axis=2)
        back = place[:, None] - place[None, :] + turn * t
        seen = (back >= 0) & (back < window) & (me >= turn)
        S = jnp.einsum("bthd,bshd->bths", Q / jnp.sqrt(d), k)
        S = jnp.where(seen[:, None, :], S, -1e30)
        here = jax.nn.logsumexp(S, axis=-1)
        more = jnp.einsum("bths,bshd->bthd", jnp.exp(S - here[..., None]), v)
        both = jnp.logaddexp(lse, here)
        Out = jnp.exp(lse - both)[..., None] * Out
        Out += jnp.exp(here - both)[..., None] * more
        lse = both
    return Out


# %% windowed right: the next block is on its way while this one is at work
def windowed(Q, K, V):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    b, t, H, d = Q.shape
    G = K.shape[2]
    hops = min(N - 1, (window + t - 2) // t)
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    Q = Q.reshape(b, t, G, H // G, d)
    KV = jnp.stack([K, V])
    m = jnp.full((b, G, H // G, t), -1e30)
    total, Out = jnp.zeros_like(m), jnp.zeros((*m.shape, d))
    for turn in range(hops + 1):
        if turn < hops:
            coming = jax.lax.ppermute(KV, "X", onward)
        first = jnp.where(me >= turn, (me - turn) * t, N * t)
        age = (me * t + jnp.arange(t))[:, None] - (first + jnp.arange(t))
        seen = jnp.logical_and(age >= 0, age <= window - 1)
        S = jnp.einsum("btgrd,bsgd->bgrts", Q, KV[0]) * d**-0.5
        S = jnp.where(seen, S, -1e30)
        new = jnp.maximum(m, S.max(-1))
        p = jnp.where(seen, jnp.exp(S - new[..., None]), 0)
        total = total * jnp.exp(m - new) + p.sum(-1)
        Out = Out * jnp.exp(m - new)[..., None]
        Out = Out + jnp.einsum("bgrts,bsgd->bgrtd", p, KV[1])
        m = new
        if turn < hops:
            KV = coming
    Out = Out / total[..., None]
    return Out.transpose(0, 3, 1, 2, 4).reshape(b, t, H, d)


# %% waits wrong: diagonal blocks are halves
N, t = symbols("N t", integer=True, positive=True)
in_a_row = (N - 1) / (2 * N - 1)
striped = (N - 1) / (N * (t + 1))


# %% waits wrong: the share of masked pairs
N, t = symbols("N t", integer=True, positive=True)
in_a_row = (N * t - 1) / (2 * N * t)
striped = (N - 1) / (N * (t + 1))


# %% waits wrong: half
N, t = symbols("N t", integer=True, positive=True)
in_a_row = N / (2 * N)
striped = (N - 1) / (N * (t + 1))


# %% waits wrong: the share of masked blocks
N, t = symbols("N t", integer=True, positive=True)
in_a_row = (N - 1) / (2 * N)
striped = (N - 1) / (N * (t + 1))


# %% waits wrong: the busy share
N, t = symbols("N t", integer=True, positive=True)
in_a_row = (N * t + 1) / ((2 * N - 1) * t + 1)
striped = (N * t + 1) / (N * (t + 1))


# %% waits wrong: a token does not see itself
N, t = symbols("N t", integer=True, positive=True)
in_a_row = (N - 1) * t / ((2 * N - 1) * t - 1)
striped = (N - 1) / (N * (t + 1))


# %% waits wrong: stripes are all alike
N, t = symbols("N t", integer=True, positive=True)
in_a_row = (N - 1) * t / ((2 * N - 1) * t + 1)
striped = 0


# %% waits wrong: the first turn of stripes waits as well
N, t = symbols("N t", integer=True, positive=True)
in_a_row = (N - 1) * t / ((2 * N - 1) * t + 1)
striped = 1 / (t + 1)


# %% waits wrong: a kernel that does not skip
N, t = symbols("N t", integer=True, positive=True)
in_a_row = (N - 1) * t / ((2 * N - 1) * t + 1)
striped = (t - 1) / (2 * t)


# %% waits right: from times and pairs
N, t = symbols("N t", integer=True, positive=True)
pairs = N * t * (N * t + 1) / 2
lasts = t * (t + 1) / 2 + (N - 1) * t**2
in_a_row = 1 - pairs / (N * lasts)
striped = 1 - pairs / (N * N * t * (t + 1) / 2)


# %% waits right: as text
in_a_row = "(N*t - t)/(2*N*t - t + 1)"
striped = "1/(t + 1) - 1/(N*(t + 1))"


# %% order wrong: as they are
def order(lengths, N):
    return list(range(sum(lengths)))


# %% order wrong: zig-zag over the whole sequence
def order(lengths, N):
    size = sum(lengths) // (2 * N)
    tokens = []
    for chip in range(N):
        for piece in (chip, 2 * N - 1 - chip):
            tokens += range(piece * size, (piece + 1) * size)
    return tokens


# %% order wrong: stripes
def order(lengths, N):
    return [
        token for chip in range(N) for token in range(chip, sum(lengths), N)
    ]


# %% order wrong: pieces c and c + N of each document
def order(lengths, N):
    tokens = []
    for chip in range(N):
        start = 0
        for length in lengths:
            size = length // (2 * N)
            for piece in (chip, chip + N):
                first = start + piece * size
                tokens += range(first, first + size)
            start += length
    return tokens


# %% order wrong: document after document, and not chip after chip
def order(lengths, N):
    tokens, start = [], 0
    for length in lengths:
        size = length // (2 * N)
        for chip in range(N):
            for piece in (chip, 2 * N - 1 - chip):
                first = start + piece * size
                tokens += range(first, first + size)
        start += length
    return tokens


# %% order wrong: where each token goes
def order(lengths, N):
    tokens = []
    for chip in range(N):
        start = 0
        for length in lengths:
            size = length // (2 * N)
            for piece in (chip, 2 * N - 1 - chip):
                first = start + piece * size
                tokens += range(first, first + size)
            start += length
    return sorted(range(len(tokens)), key=tokens.__getitem__)


# %% order wrong: the last piece is left out
def order(lengths, N):
    tokens = []
    for chip in range(N):
        start = 0
        for length in lengths:
            size = length // (2 * N)
            for piece in (chip, 2 * N - 2 - chip):
                first = start + piece * size
                tokens += range(first, first + size)
            start += length
    return tokens


# %% order wrong: every document starts at 0
def order(lengths, N):
    tokens = []
    for chip in range(N):
        for length in lengths:
            size = length // (2 * N)
            for piece in (chip, 2 * N - 1 - chip):
                tokens += range(piece * size, piece * size + size)
    return tokens


# %% order wrong: each document is cut in order
def order(lengths, N):
    tokens = []
    for chip in range(N):
        start = 0
        for length in lengths:
            size = length // N
            for piece in (chip,):
                first = start + piece * size
                tokens += range(first, first + size)
            start += length
    return tokens


# %% order right: arrays, late pieces first, last document first
def order(lengths, N):
    documents = jnp.split(
        jnp.arange(sum(lengths)), jnp.cumsum(jnp.array(lengths))[:-1].tolist()
    )
    chips = []
    for chip in range(N):
        for document in documents[::-1]:
            pieces = document.reshape(2 * N, -1)
            chips += [pieces[2 * N - 1 - chip], pieces[chip]]
    return jnp.concatenate(chips)


# %% order right: tokens are sorted by their chip
def order(lengths, N):
    chips = []
    for length in lengths:
        for token in range(length):
            piece = token * 2 * N // length
            chips.append(min(piece, 2 * N - 1 - piece))
    return sorted(range(len(chips)), key=lambda token: (chips[token], -token))


# %% gathered wrong: query heads
def gathered(b, T, H, d, N, pieces):
    keys = 2 * 2 * b * T * d * H // sum(pieces)
    sums = 2 * 4 * b * T * d * H // sum(pieces)
    forward = keys * sum(pieces) * (N - 1) // N
    again = keys * sum(pieces[:-1]) + sums * sum(pieces)
    largest = max(pieces)
    held = keys * largest, (keys + sums) * largest
    return [forward, again * (N - 1) // N, *held]


# %% gathered wrong: elements
def gathered(b, T, H, d, N, pieces):
    keys = 2 * b * T * d
    sums = 2 * b * T * d
    forward = keys * sum(pieces) * (N - 1) // N
    again = keys * sum(pieces[:-1]) + sums * sum(pieces)
    largest = max(pieces)
    held = keys * largest, (keys + sums) * largest
    return [forward, again * (N - 1) // N, *held]


# %% gathered wrong: K alone
def gathered(b, T, H, d, N, pieces):
    keys = 2 * b * T * d
    sums = 4 * b * T * d
    forward = keys * sum(pieces) * (N - 1) // N
    again = keys * sum(pieces[:-1]) + sums * sum(pieces)
    largest = max(pieces)
    held = keys * largest, (keys + sums) * largest
    return [forward, again * (N - 1) // N, *held]


# %% gathered wrong: an endless ring
def gathered(b, T, H, d, N, pieces):
    keys = 2 * 2 * b * T * d
    sums = 2 * 4 * b * T * d
    forward = keys * sum(pieces) * 1
    again = keys * sum(pieces[:-1]) + sums * sum(pieces)
    largest = max(pieces)
    held = keys * largest, (keys + sums) * largest
    return [forward, again * 1, *held]


# %% gathered wrong: a chip sends its part once
def gathered(b, T, H, d, N, pieces):
    keys = 2 * 2 * b * T * d
    sums = 2 * 4 * b * T * d
    forward = keys * sum(pieces) * 1 // N
    again = keys * sum(pieces[:-1]) + sums * sum(pieces)
    largest = max(pieces)
    held = keys * largest, (keys + sums) * largest
    return [forward, again * 1 // N, *held]


# %% gathered wrong: the last piece is gathered again
def gathered(b, T, H, d, N, pieces):
    keys = 2 * 2 * b * T * d
    sums = 2 * 4 * b * T * d
    forward = keys * sum(pieces) * (N - 1) // N
    again = keys * sum(pieces) + sums * sum(pieces)
    largest = max(pieces)
    held = keys * largest, (keys + sums) * largest
    return [forward, again * (N - 1) // N, *held]


# %% gathered wrong: the first piece is kept
def gathered(b, T, H, d, N, pieces):
    keys = 2 * 2 * b * T * d
    sums = 2 * 4 * b * T * d
    forward = keys * sum(pieces) * (N - 1) // N
    again = keys * sum(pieces[1:]) + sums * sum(pieces)
    largest = max(pieces)
    held = keys * largest, (keys + sums) * largest
    return [forward, again * (N - 1) // N, *held]


# %% gathered wrong: the last piece is not scattered either
def gathered(b, T, H, d, N, pieces):
    keys = 2 * 2 * b * T * d
    sums = 2 * 4 * b * T * d
    forward = keys * sum(pieces) * (N - 1) // N
    again = keys * sum(pieces[:-1]) + sums * sum(pieces[:-1])
    largest = max(pieces)
    held = keys * largest, (keys + sums) * largest
    return [forward, again * (N - 1) // N, *held]


# %% gathered wrong: nothing is gathered again
def gathered(b, T, H, d, N, pieces):
    keys = 2 * 2 * b * T * d
    sums = 2 * 4 * b * T * d
    forward = keys * sum(pieces) * (N - 1) // N
    again = sums * sum(pieces)
    largest = max(pieces)
    held = keys * largest, (keys + sums) * largest
    return [forward, again * (N - 1) // N, *held]


# %% gathered wrong: backward forgets the gradients
def gathered(b, T, H, d, N, pieces):
    keys = 2 * 2 * b * T * d
    sums = 2 * 4 * b * T * d
    forward = keys * sum(pieces) * (N - 1) // N
    again = keys * sum(pieces[:-1])
    largest = max(pieces)
    held = keys * largest, keys * largest
    return [forward, again * (N - 1) // N, *held]


# %% gathered wrong: gradients in bf16
def gathered(b, T, H, d, N, pieces):
    keys = 2 * 2 * b * T * d
    sums = 2 * 2 * b * T * d
    forward = keys * sum(pieces) * (N - 1) // N
    again = keys * sum(pieces[:-1]) + sums * sum(pieces)
    largest = max(pieces)
    held = keys * largest, (keys + sums) * largest
    return [forward, again * (N - 1) // N, *held]


# %% gathered wrong: gradients are scattered in bf16
def gathered(b, T, H, d, N, pieces):
    keys = 2 * 2 * b * T * d
    sums = 2 * 4 * b * T * d
    forward = keys * sum(pieces) * (N - 1) // N
    again = keys * sum(pieces[:-1]) + keys * sum(pieces)
    largest = max(pieces)
    held = keys * largest, (keys + sums) * largest
    return [forward, again * (N - 1) // N, *held]


# %% gathered wrong: all pieces are held
def gathered(b, T, H, d, N, pieces):
    keys = 2 * 2 * b * T * d
    sums = 2 * 4 * b * T * d
    forward = keys * sum(pieces) * (N - 1) // N
    again = keys * sum(pieces[:-1]) + sums * sum(pieces)
    largest = sum(pieces)
    held = keys * largest, (keys + sums) * largest
    return [forward, again * (N - 1) // N, *held]


# %% gathered wrong: the first piece is held
def gathered(b, T, H, d, N, pieces):
    keys = 2 * 2 * b * T * d
    sums = 2 * 4 * b * T * d
    forward = keys * sum(pieces) * (N - 1) // N
    again = keys * sum(pieces[:-1]) + sums * sum(pieces)
    largest = pieces[0]
    held = keys * largest, (keys + sums) * largest
    return [forward, again * (N - 1) // N, *held]


# %% gathered wrong: the last piece is held
def gathered(b, T, H, d, N, pieces):
    keys = 2 * 2 * b * T * d
    sums = 2 * 4 * b * T * d
    forward = keys * sum(pieces) * (N - 1) // N
    again = keys * sum(pieces[:-1]) + sums * sum(pieces)
    largest = pieces[-1]
    held = keys * largest, (keys + sums) * largest
    return [forward, again * (N - 1) // N, *held]


# %% gathered wrong: pieces of one size
def gathered(b, T, H, d, N, pieces):
    keys = 2 * 2 * b * T * d
    sums = 2 * 4 * b * T * d
    forward = keys * sum(pieces) * (N - 1) // N
    again = keys * sum(pieces[:-1]) + sums * sum(pieces)
    largest = sum(pieces) // len(pieces)
    held = keys * largest, (keys + sums) * largest
    return [forward, again * (N - 1) // N, *held]


# %% gathered wrong: what is held is cut as well
def gathered(b, T, H, d, N, pieces):
    keys = 2 * 2 * b * T * d
    sums = 2 * 4 * b * T * d
    forward = keys * sum(pieces) * (N - 1) // N
    again = keys * sum(pieces[:-1]) + sums * sum(pieces)
    largest = max(pieces)
    held = keys * largest // N, (keys + sums) * largest // N
    return [forward, again * (N - 1) // N, *held]


# %% gathered wrong: keys are gone when gradients are there
def gathered(b, T, H, d, N, pieces):
    keys = 2 * 2 * b * T * d
    sums = 2 * 4 * b * T * d
    forward = keys * sum(pieces) * (N - 1) // N
    again = keys * sum(pieces[:-1]) + sums * sum(pieces)
    largest = max(pieces)
    held = keys * largest, sums * largest
    return [forward, again * (N - 1) // N, *held]


# %% gathered wrong: the last piece is held beside the others
def gathered(b, T, H, d, N, pieces):
    keys = 2 * 2 * b * T * d
    sums = 2 * 4 * b * T * d
    forward = keys * sum(pieces) * (N - 1) // N
    again = keys * sum(pieces[:-1]) + sums * sum(pieces)
    largest = max(pieces)
    held = keys * (largest + pieces[-1]), (keys + sums) * largest
    return [forward, again * (N - 1) // N, *held]


# %% gathered wrong: one sequence
def gathered(b, T, H, d, N, pieces):
    keys = 2 * 2 * T * d
    sums = 2 * 4 * T * d
    forward = keys * sum(pieces) * (N - 1) // N
    again = keys * sum(pieces[:-1]) + sums * sum(pieces)
    largest = max(pieces)
    held = keys * largest, (keys + sums) * largest
    return [forward, again * (N - 1) // N, *held]


# %% gathered right: message by message
def gathered(b, T, H, d, N, pieces):
    sent, held = {"forward": 0, "backward": 0}, {"forward": [], "backward": []}
    way = [("forward", n) for n in pieces]
    way += [("backward", n) for n in reversed(pieces)]
    here = None
    for number, (name, heads) in enumerate(way):
        part = b * (T // N) * heads * d  # elements of a chip
        if number != len(pieces):
            sent[name] += sum(2 * part for _ in "KV" for _ in range(N - 1))
        here = 2 * 2 * part * N
        if name == "backward":
            here += 2 * 4 * part * N
            sent[name] += sum(4 * part for _ in "KV" for _ in range(N - 1))
        held[name].append(here)
    return [*sent.values(), *map(max, held.values())]


# %% gathered right: floats
def gathered(b, T, H, d, N, pieces):
    head, away = b * T * d, b * T * d * (1 - 1 / N)
    *others, last = pieces
    forward, most = 4.0 * (sum(others) + last), max([last, *others])
    backward = 12.0 * sum(others) + 8.0 * last
    sent = [round(away * forward), round(away * backward)]
    return (*sent, 4.0 * head * most, 12.0 * head * most)


# %% ulysses wrong: keys for each query head
def ulysses(Q, K, V):
    R = Q.shape[2] // K.shape[2]
    K, V = jnp.repeat(K, R, axis=2), jnp.repeat(V, R, axis=2)
    Q, K, V = (
        jax.lax.all_to_all(x, "X", split_axis=2, concat_axis=1, tiled=True)
        for x in (Q, K, V)
    )
    S = jnp.einsum("bthd,bshd->bhts", Q, K) / Q.shape[3] ** 0.5
    S = jnp.where(jnp.tril(jnp.ones(S.shape[2:], bool)), S, -jnp.inf)
    Out = jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(S), V)
    return jax.lax.all_to_all(Out, "X", split_axis=1, concat_axis=2, tiled=True)


# %% ulysses wrong: all key heads everywhere, by a gather
def ulysses(Q, K, V):
    me, N, H = jax.lax.axis_index("X"), jax.lax.axis_size("X"), Q.shape[2]
    Q = jax.lax.all_to_all(Q, "X", split_axis=2, concat_axis=1, tiled=True)
    K = jax.lax.all_gather(K, "X", axis=1, tiled=True)
    V = jax.lax.all_gather(V, "X", axis=1, tiled=True)
    mine = (me * (H // N) + jnp.arange(H // N)) * K.shape[2] // H
    S = jnp.einsum("bthd,bshd->bhts", Q, K[:, :, mine]) / Q.shape[3] ** 0.5
    S = jnp.where(jnp.tril(jnp.ones(S.shape[2:], bool)), S, -jnp.inf)
    Out = jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(S), V[:, :, mine])
    return jax.lax.all_to_all(Out, "X", split_axis=1, concat_axis=2, tiled=True)


# %% ulysses wrong: all key heads everywhere, by an AllToAll
def ulysses(Q, K, V):
    me, N, H = jax.lax.axis_index("X"), jax.lax.axis_size("X"), Q.shape[2]
    G = K.shape[2]
    K, V = jnp.tile(K, (1, 1, N, 1)), jnp.tile(V, (1, 1, N, 1))
    Q, K, V = (
        jax.lax.all_to_all(x, "X", split_axis=2, concat_axis=1, tiled=True)
        for x in (Q, K, V)
    )
    mine = (me * (H // N) + jnp.arange(H // N)) * G // H
    S = jnp.einsum("bthd,bshd->bhts", Q, K[:, :, mine]) / Q.shape[3] ** 0.5
    S = jnp.where(jnp.tril(jnp.ones(S.shape[2:], bool)), S, -jnp.inf)
    Out = jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(S), V[:, :, mine])
    return jax.lax.all_to_all(Out, "X", split_axis=1, concat_axis=2, tiled=True)


# %% ulysses wrong: as many copies as make heads divide
def ulysses(Q, K, V):
    import math

    N, d = jax.lax.axis_size("X"), Q.shape[3]
    copies = math.lcm(N, K.shape[2]) // K.shape[2]
    K, V = jnp.repeat(K, copies, axis=2), jnp.repeat(V, copies, axis=2)
    Q, K, V = (
        jax.lax.all_to_all(x, "X", split_axis=2, concat_axis=1, tiled=True)
        for x in (Q, K, V)
    )
    b, T, H, _ = Q.shape
    K = jnp.repeat(K, max(1, H // K.shape[2]), axis=2)
    V = jnp.repeat(V, max(1, H // V.shape[2]), axis=2)
    S = jnp.einsum("bthd,bshd->bhts", Q, K) / d**0.5
    S = jnp.where(jnp.tril(jnp.ones(S.shape[2:], bool)), S, -jnp.inf)
    Out = jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(S), V)
    return jax.lax.all_to_all(Out, "X", split_axis=1, concat_axis=2, tiled=True)


# %% ulysses wrong: the first heads on every chip
def ulysses(Q, K, V):
    N, H, G, d = jax.lax.axis_size("X"), Q.shape[2], K.shape[2], Q.shape[3]
    here = H // N
    readers = [
        [h * G // H for h in range(c * here, c * here + here)] for c in range(N)
    ]
    most = max(len(set(r)) for r in readers)
    heads = jnp.array(
        [min(r[0], G - most) + i for r in readers for i in range(most)]
    )
    Q, K, V = (
        jax.lax.all_to_all(x, "X", split_axis=2, concat_axis=1, tiled=True)
        for x in (Q, K[:, :, heads], V[:, :, heads])
    )
    mine = jnp.array(readers[0])
    S = jnp.einsum("bthd,bshd->bhts", Q, K[:, :, mine]) / d**0.5
    S = jnp.where(jnp.tril(jnp.ones(S.shape[2:], bool)), S, -jnp.inf)
    Out = jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(S), V[:, :, mine])
    return jax.lax.all_to_all(Out, "X", split_axis=1, concat_axis=2, tiled=True)


# %% ulysses wrong: the future is seen
def ulysses(Q, K, V):
    N, H, G, d = jax.lax.axis_size("X"), Q.shape[2], K.shape[2], Q.shape[3]
    here = H // N
    readers = [
        [h * G // H for h in range(c * here, c * here + here)] for c in range(N)
    ]
    most = max(len(set(r)) for r in readers)
    first = [min(r[0], G - most) for r in readers]
    heads = jnp.array([f + i for f in first for i in range(most)])
    Q, K, V = (
        jax.lax.all_to_all(x, "X", split_axis=2, concat_axis=1, tiled=True)
        for x in (Q, K[:, :, heads], V[:, :, heads])
    )
    mine = jnp.array(readers) - jnp.array(first)[:, None]
    mine = mine[jax.lax.axis_index("X")]
    S = jnp.einsum("bthd,bshd->bhts", Q, K[:, :, mine]) / d**0.5
    Out = jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(S), V[:, :, mine])
    return jax.lax.all_to_all(Out, "X", split_axis=1, concat_axis=2, tiled=True)


# %% ulysses wrong: heads of the wrong order
def ulysses(Q, K, V):
    me, N, H = jax.lax.axis_index("X"), jax.lax.axis_size("X"), Q.shape[2]
    G, d, here = K.shape[2], Q.shape[3], Q.shape[2] // N
    readers = [
        [h % G for h in range(c * here, c * here + here)] for c in range(N)
    ]
    heads = jnp.array([g for r in readers for g in r])
    Q, K, V = (
        jax.lax.all_to_all(x, "X", split_axis=2, concat_axis=1, tiled=True)
        for x in (Q, K[:, :, heads], V[:, :, heads])
    )
    S = jnp.einsum("bthd,bshd->bhts", Q, K) / d**0.5
    S = jnp.where(jnp.tril(jnp.ones(S.shape[2:], bool)), S, -jnp.inf)
    Out = jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(S), V)
    return jax.lax.all_to_all(Out, "X", split_axis=1, concat_axis=2, tiled=True)


# %% ulysses wrong: as many key heads as h query heads fill
def ulysses(Q, K, V):
    N, H, G, d = jax.lax.axis_size("X"), Q.shape[2], K.shape[2], Q.shape[3]
    reads = jnp.arange(H).reshape(N, -1) * G // H  # key heads, chip by chip
    dealt = [
        {h * G // H for h in range(H) if h * N // H == c} for c in range(N)
    ]
    most = -(-G // N)
    first = jnp.array([min(min(heads), G - most) for heads in dealt])
    heads = (first[:, None] + jnp.arange(most)).ravel()

    def to_heads(x):
        return jax.lax.all_to_all(
            x, "X", split_axis=2, concat_axis=1, tiled=True
        )

    Q, K, V = to_heads(Q), to_heads(K[:, :, heads]), to_heads(V[:, :, heads])
    mine = (reads - first[:, None])[jax.lax.axis_index("X")]
    scores = jnp.einsum("bthd,bshd->bhts", Q, K[:, :, mine]) / d**0.5
    past = jnp.tril(jnp.ones(scores.shape[2:], bool))
    weights = jax.nn.softmax(jnp.where(past, scores, -jnp.inf))
    Out = jnp.einsum("bhts,bshd->bthd", weights, V[:, :, mine])
    return jax.lax.all_to_all(Out, "X", split_axis=1, concat_axis=2, tiled=True)


# %% ulysses wrong: values are not dealt like keys
def ulysses(Q, K, V):
    N, H, G, d = jax.lax.axis_size("X"), Q.shape[2], K.shape[2], Q.shape[3]
    reads = jnp.arange(H).reshape(N, -1) * G // H  # key heads, chip by chip
    dealt = [
        {h * G // H for h in range(H) if h * N // H == c} for c in range(N)
    ]
    most = max(map(len, dealt))
    first = jnp.array([min(min(heads), G - most) for heads in dealt])
    heads = (first[:, None] + jnp.arange(most)).ravel()

    def to_heads(x):
        return jax.lax.all_to_all(
            x, "X", split_axis=2, concat_axis=1, tiled=True
        )

    Q, K, V = (
        to_heads(Q),
        to_heads(K[:, :, heads]),
        to_heads(V[:, :, (heads + 1) % G]),
    )
    mine = (reads - first[:, None])[jax.lax.axis_index("X")]
    scores = jnp.einsum("bthd,bshd->bhts", Q, K[:, :, mine]) / d**0.5
    past = jnp.tril(jnp.ones(scores.shape[2:], bool))
    weights = jax.nn.softmax(jnp.where(past, scores, -jnp.inf))
    Out = jnp.einsum("bhts,bshd->bthd", weights, V[:, :, mine])
    return jax.lax.all_to_all(Out, "X", split_axis=1, concat_axis=2, tiled=True)


# %% ulysses right: lists of heads, filled up at their end
def ulysses(Q, K, V):
    N, H, G = jax.lax.axis_size("X"), Q.shape[2], K.shape[2]
    lists = []
    for c in range(N):
        read = []
        for h in range(c * H // N, (c + 1) * H // N):
            if h // (H // G) not in read:
                read.append(h // (H // G))
        lists.append(read)
    most = max(len(read) for read in lists)
    table = []
    for c in range(N):
        table.append(
            [
                lists[c].index(h // (H // G))
                for h in range(c * H // N, (c + 1) * H // N)
            ]
        )
        lists[c] += [lists[c][0]] * (most - len(lists[c]))
    flat = sum(lists, [])
    K = jnp.stack([K[:, :, g] for g in flat], axis=2)
    V = jnp.stack([V[:, :, g] for g in flat], axis=2)
    KV = jnp.stack([K, V])
    KV = jax.lax.all_to_all(KV, "X", split_axis=3, concat_axis=2, tiled=True)
    Q = jax.lax.all_to_all(Q, "X", split_axis=2, concat_axis=1, tiled=True)
    KV = KV[:, :, :, jnp.array(table)[jax.lax.axis_index("X")]]
    S = jnp.einsum("bthd,bshd->bhts", Q, KV[0]) * Q.shape[3] ** -0.5
    T = S.shape[2]
    S = S + jnp.where(jnp.arange(T)[:, None] < jnp.arange(T), -1e30, 0)
    Out = jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(S), KV[1])
    return jax.lax.all_to_all(Out, "X", 1, 2, tiled=True)


# %% ulysses right: one-hot products in place of a table
def ulysses(Q, K, V):
    me, N, H = jax.lax.axis_index("X"), jax.lax.axis_size("X"), Q.shape[2]
    G, d, here = K.shape[2], Q.shape[3], Q.shape[2] // N
    R = H // G
    span = max((c * here + here - 1) // R - c * here // R for c in range(N)) + 1
    start = [min(c * here // R, G - span) for c in range(N)]
    pick = lambda x: jnp.concatenate([x[:, :, s : s + span] for s in start], 2)
    move = lambda x: jax.lax.all_to_all(x, "X", 2, 1, tiled=True)
    Q, K, V = move(Q), move(pick(K)), move(pick(V))
    head = (me * here + jnp.arange(here)) // R - jnp.array(start)[me]
    hot = jax.nn.one_hot(head, span)
    S = jnp.einsum("bthd,hg,bsgd->bhts", Q, hot, K) / jnp.sqrt(1.0 * d)
    S = jnp.where(jnp.tri(S.shape[2], dtype=bool), S, -jnp.inf)
    Out = jnp.einsum("bhts,hg,bsgd->bthd", jax.nn.softmax(S), hot, V)
    return jax.lax.all_to_all(Out, "X", 1, 2, tiled=True)


# %% way_back wrong: N hops
def way_back(b, t, H, G, d, N):
    key, query, number = b * t * G * d, b * t * H * d, b * t * H
    return 12 * key * N, 8 * key * N, (8 * query + 8 * number) * N


# %% way_back wrong: sums go one hop more
def way_back(b, t, H, G, d, N):
    key, query, number = b * t * G * d, b * t * H * d, b * t * H
    hops = N - 1
    return (
        4 * key * hops + 8 * key * N,
        8 * key * N,
        (4 * query + 8 * number) * hops + 4 * query * N,
    )


# %% way_back wrong: sums in bf16
def way_back(b, t, H, G, d, N):
    key, query, number = b * t * G * d, b * t * H * d, b * t * H
    hops = N - 1
    return 8 * key * hops, 4 * key * hops, (6 * query + 8 * number) * hops


# %% way_back wrong: query heads for keys
def way_back(b, t, H, G, d, N):
    query, number = b * t * H * d, b * t * H
    hops = N - 1
    return 12 * query * hops, 8 * query * hops, (8 * query + 8 * number) * hops


# %% way_back wrong: lse and mean stay
def way_back(b, t, H, G, d, N):
    key, query = b * t * G * d, b * t * H * d
    hops = N - 1
    return 12 * key * hops, 8 * key * hops, 8 * query * hops


# %% way_back wrong: sums do not travel
def way_back(b, t, H, G, d, N):
    key, query, number = b * t * G * d, b * t * H * d, b * t * H
    hops = N - 1
    return 4 * key * hops, 8 * key, (4 * query + 8 * number) * hops


# %% way_back wrong: one hop home
def way_back(b, t, H, G, d, N):
    key, query, number = b * t * G * d, b * t * H * d, b * t * H
    hops = N - 1
    return 4 * key * hops + 8 * key, 8 * key, (8 * query + 8 * number) * hops


# %% way_back wrong: kept blocks travel
def way_back(b, t, H, G, d, N):
    key, query, number = b * t * G * d, b * t * H * d, b * t * H
    hops = N - 1
    return 12 * key * hops, 12 * key * hops, (8 * query + 8 * number) * hops


# %% way_back wrong: one hop only
def way_back(b, t, H, G, d, N):
    key, query, number = b * t * G * d, b * t * H * d, b * t * H
    return 12 * key, 8 * key, 8 * query + 8 * number


# %% way_back wrong: elements
def way_back(b, t, H, G, d, N):
    key, query, number = b * t * G * d, b * t * H * d, b * t * H
    hops = N - 1
    return 4 * key * hops, 2 * key * hops, (3 * query + 2 * number) * hops


# %% way_back wrong: dOut is forgotten
def way_back(b, t, H, G, d, N):
    key, query, number = b * t * G * d, b * t * H * d, b * t * H
    sums = 2 * 4 * key
    keys = 2 * 2 * key + sums
    queries = 2 * query + 2 * 4 * number + 4 * query
    return keys * (N - 1), sums * (N - 1), queries * (N - 1)


# %% way_back wrong: values are forgotten
def way_back(b, t, H, G, d, N):
    key, query, number = b * t * G * d, b * t * H * d, b * t * H
    sums = 4 * key
    keys = 2 * key + sums
    queries = 2 * 2 * query + 2 * 4 * number + 4 * query
    return keys * (N - 1), sums * (N - 1), queries * (N - 1)


# %% way_back wrong: Out travels, too
def way_back(b, t, H, G, d, N):
    key, query, number = b * t * G * d, b * t * H * d, b * t * H
    sums = 2 * 4 * key
    keys = 2 * 2 * key + sums
    queries = 3 * 2 * query + 2 * 4 * number + 4 * query
    return keys * (N - 1), sums * (N - 1), queries * (N - 1)


# %% way_back wrong: nothing travels where K and V were kept
def way_back(b, t, H, G, d, N):
    key, query, number = b * t * G * d, b * t * H * d, b * t * H
    sums = 2 * 4 * key
    keys = 2 * 2 * key + sums
    queries = 2 * 2 * query + 2 * 4 * number + 4 * query
    return keys * (N - 1), 0, queries * (N - 1)


# %% way_back right: array by array
def way_back(b, t, H, G, d, N):
    total = {"keys": 0, "kept": 0, "queries": 0}
    for _ in range(N - 1):
        for _ in ("K", "V"):
            total["keys"] += b * t * G * d * 2
        for _ in ("dK", "dV"):
            total["keys"] += b * t * G * d * 4
            total["kept"] += b * t * G * d * 4
        for size in (2 * d, 2 * d, 4, 4, 4 * d):  # Q, dOut, lse, mean, dQ
            total["queries"] += b * t * H * size
    return list(total.values())


# %% way_back right: floats
def way_back(b, t, H, G, d, N):
    tokens = float(b * t * (N - 1))
    return [tokens * 12 * G * d, tokens * 8 * G * d, tokens * 8 * H * (d + 1)]


# %% longest wrong: no states
def longest(hbm, N, scheme):
    if scheme == "ulysses" and 32 % N:
        return 0
    heads = {"ring": 16, "gather": 8 * N, "ulysses": max(8, N)}[scheme]
    each = 2 * 32 * 4096 + 250_000 + 8 * heads * 128
    return int(hbm // each) // 2 * 2 * N


# %% longest wrong: states are not cut
def longest(hbm, N, scheme):
    if scheme == "ulysses" and 32 % N:
        return 0
    heads = {"ring": 16, "gather": 8 * N, "ulysses": max(8, N)}[scheme]
    each = 2 * 32 * 4096 + 250_000 + 8 * heads * 128
    return max(0, int((hbm - 16 * 8_030_261_248) // each) // 2 * 2 * N)


# %% longest wrong: a gather holds no more than a ring
def longest(hbm, N, scheme):
    if scheme == "ulysses" and 32 % N:
        return 0
    heads = {"ring": 16, "gather": 16, "ulysses": max(8, N)}[scheme]
    each = 2 * 32 * 4096 + 250_000 + 8 * heads * 128
    return max(0, int((hbm - 16 * 8_030_261_248 / N) // each) // 2 * 2 * N)


# %% longest wrong: Ulysses on any number of chips
def longest(hbm, N, scheme):
    heads = {"ring": 16, "gather": 8 * N, "ulysses": max(8, N)}[scheme]
    each = 2 * 32 * 4096 + 250_000 + 8 * heads * 128
    return max(0, int((hbm - 16 * 8_030_261_248 / N) // each) // 2 * 2 * N)


# %% longest wrong: Ulysses cuts key heads without end
def longest(hbm, N, scheme):
    if scheme == "ulysses" and 32 % N:
        return 0
    heads = {"ring": 16, "gather": 8 * N, "ulysses": 8}[scheme]
    each = 2 * 32 * 4096 + 250_000 + 8 * heads * 128
    return max(0, int((hbm - 16 * 8_030_261_248 / N) // each) // 2 * 2 * N)


# %% longest wrong: no gradients of keys
def longest(hbm, N, scheme):
    if scheme == "ulysses" and 32 % N:
        return 0
    heads = {"ring": 16, "gather": 8 * N, "ulysses": max(8, N)}[scheme]
    each = 2 * 32 * 4096 + 250_000 + 4 * heads * 128
    return max(0, int((hbm - 16 * 8_030_261_248 / N) // each) // 2 * 2 * N)


# %% longest wrong: the ring's own block alone
def longest(hbm, N, scheme):
    if scheme == "ulysses" and 32 % N:
        return 0
    heads = {"ring": 8, "gather": 8 * N, "ulysses": max(8, N)}[scheme]
    each = 2 * 32 * 4096 + 250_000 + 8 * heads * 128
    return max(0, int((hbm - 16 * 8_030_261_248 / N) // each) // 2 * 2 * N)


# %% longest wrong: no multiple of 2N
def longest(hbm, N, scheme):
    if scheme == "ulysses" and 32 % N:
        return 0
    heads = {"ring": 16, "gather": 8 * N, "ulysses": max(8, N)}[scheme]
    each = 2 * 32 * 4096 + 250_000 + 8 * heads * 128
    return max(0, int((hbm - 16 * 8_030_261_248 / N) / each * N))


# %% longest wrong: tokens of one chip
def longest(hbm, N, scheme):
    if scheme == "ulysses" and 32 % N:
        return 0
    heads = {"ring": 16, "gather": 8 * N, "ulysses": max(8, N)}[scheme]
    each = 2 * 32 * 4096 + 250_000 + 8 * heads * 128
    return max(0, int((hbm - 16 * 8_030_261_248 / N) // each) // 2 * 2)


# %% longest wrong: inputs of one layer
def longest(hbm, N, scheme):
    if scheme == "ulysses" and 32 % N:
        return 0
    heads = {"ring": 16, "gather": 8 * N, "ulysses": max(8, N)}[scheme]
    each = 2 * 4096 + 250_000 + 8 * heads * 128
    return max(0, int((hbm - 16 * 8_030_261_248 / N) // each) // 2 * 2 * N)


# %% longest wrong: less than nothing
def longest(hbm, N, scheme):
    if scheme == "ulysses" and 32 % N:
        return 0
    heads = {"ring": 16, "gather": 8 * N, "ulysses": max(8, N)}[scheme]
    each = 2 * 32 * 4096 + 250_000 + 8 * heads * 128
    return int((hbm - 16 * 8_030_261_248 / N) // each) // 2 * 2 * N


# %% longest right: by trying
def longest(hbm, N, scheme):
    def needs(T):
        inputs = 32 * T // N * 4096 * 2
        key = 128 * 2 * 4  # K, V, dK, dV
        if scheme == "ring":
            keys = 2 * (T // N) * 8 * key
        elif scheme == "gather":
            keys = T * 8 * key
        else:
            keys = T * max(1, 8 // N) * key
        return 16 * 8_030_261_248 / N + inputs + 250_000 * T // N + keys

    if scheme == "ulysses" and N not in (1, 2, 4, 8, 16, 32):
        return 0
    T, step = 0, 2 * N * 2**20
    while step >= 2 * N:
        while needs(T + step) <= hbm:
            T += step
        step //= 2
    return T


# %% longest right: a float
def longest(hbm, N, scheme):
    own = 262_144 + 250_000
    held = {"ring": 16_384, "gather": 8192 * N, "ulysses": max(8192, 1024 * N)}
    if scheme == "ulysses" and (N > 32 or 32 % N):
        return 0.0
    room = hbm - 128_484_179_968 / N
    return max(0.0, room // (2 * (own + held[scheme]))) * 2 * N


# %% fastest wrong: fewest bytes
def fastest(T, H, G, d, N, flops, link_bw, torus, pause):
    W = 2 * link_bw if torus else link_bw
    math = 2 * T * T * H * d / N / flops
    if H % N == 0:
        moved = 4 * T * H * d + 4 * T * max(G, N) * d
        share = 1 / 4 if torus else (N - 1) / N**2
        return "ulysses", moved * share / W + math + pause
    call, hop = math / N + pause, 4 * T * G * d / N / W
    return "ring", call + (N - 1) * max(call, hop)


# %% fastest wrong: always the ring
def fastest(T, H, G, d, N, flops, link_bw, torus, pause):
    W = 2 * link_bw if torus else link_bw
    math = 2 * T * T * H * d / N / flops
    call, hop = math / N + pause, 4 * T * G * d / N / W
    return "ring", call + (N - 1) * max(call, hop)


# %% fastest wrong: a switch for all
def fastest(T, H, G, d, N, flops, link_bw, torus, pause):
    W = link_bw
    math = 2 * T * T * H * d / N / flops
    keys, queries = 2 * T * G * d, 2 * T * H * d
    call, hop = math / N + pause, 2 * keys / N / W
    seconds = {
        "ring": call + (N - 1) * max(call, hop),
        "gather": 2 * keys * (N - 1) / N / W + math + pause,
    }
    if H % N == 0:
        moved = 2 * queries + 2 * keys * max(1, N // G)
        seconds["ulysses"] = moved * (N - 1) / N**2 / W + math + pause
    best = min(seconds, key=seconds.get)
    return best, seconds[best]


# %% fastest wrong: a torus for all
def fastest(T, H, G, d, N, flops, link_bw, torus, pause):
    W = 2 * link_bw
    math = 2 * T * T * H * d / N / flops
    keys, queries = 2 * T * G * d, 2 * T * H * d
    call, hop = math / N + pause, 2 * keys / N / W
    seconds = {
        "ring": call + (N - 1) * max(call, hop),
        "gather": 2 * keys * (N - 1) / N / W + math + pause,
    }
    if H % N == 0:
        moved = 2 * queries + 2 * keys * max(1, N // G)
        seconds["ulysses"] = moved / 4 / W + math + pause
    best = min(seconds, key=seconds.get)
    return best, seconds[best]


# %% fastest wrong: the ring hides nothing
def fastest(T, H, G, d, N, flops, link_bw, torus, pause):
    W = 2 * link_bw if torus else link_bw
    math = 2 * T * T * H * d / N / flops
    keys, queries = 2 * T * G * d, 2 * T * H * d
    call, hop = math / N + pause, 2 * keys / N / W
    seconds = {
        "ring": N * call + (N - 1) * hop,
        "gather": 2 * keys * (N - 1) / N / W + math + pause,
    }
    if H % N == 0:
        moved = 2 * queries + 2 * keys * max(1, N // G)
        share = 1 / 4 if torus else (N - 1) / N**2
        seconds["ulysses"] = moved * share / W + math + pause
    best = min(seconds, key=seconds.get)
    return best, seconds[best]


# %% fastest wrong: everything hides everything
def fastest(T, H, G, d, N, flops, link_bw, torus, pause):
    W = 2 * link_bw if torus else link_bw
    math = 2 * T * T * H * d / N / flops
    keys, queries = 2 * T * G * d, 2 * T * H * d
    call, hop = math / N + pause, 2 * keys / N / W
    seconds = {
        "ring": call + (N - 1) * max(call, hop),
        "gather": max(2 * keys * (N - 1) / N / W, math + pause),
    }
    if H % N == 0:
        moved = 2 * queries + 2 * keys * max(1, N // G)
        share = 1 / 4 if torus else (N - 1) / N**2
        seconds["ulysses"] = max(moved * share / W, math + pause)
    best = min(seconds, key=seconds.get)
    return best, seconds[best]


# %% fastest wrong: key heads are not copied
def fastest(T, H, G, d, N, flops, link_bw, torus, pause):
    W = 2 * link_bw if torus else link_bw
    math = 2 * T * T * H * d / N / flops
    keys, queries = 2 * T * G * d, 2 * T * H * d
    call, hop = math / N + pause, 2 * keys / N / W
    seconds = {
        "ring": call + (N - 1) * max(call, hop),
        "gather": 2 * keys * (N - 1) / N / W + math + pause,
    }
    if H % N == 0:
        share = 1 / 4 if torus else (N - 1) / N**2
        moved = 2 * queries + 2 * keys
        seconds["ulysses"] = moved * share / W + math + pause
    best = min(seconds, key=seconds.get)
    return best, seconds[best]


# %% fastest wrong: Ulysses whatever the heads
def fastest(T, H, G, d, N, flops, link_bw, torus, pause):
    W = 2 * link_bw if torus else link_bw
    math = 2 * T * T * H * d / N / flops
    keys, queries = 2 * T * G * d, 2 * T * H * d
    call, hop = math / N + pause, 2 * keys / N / W
    moved = 2 * queries + 2 * keys * max(1, N / G)
    share = 1 / 4 if torus else (N - 1) / N**2
    seconds = {
        "ring": call + (N - 1) * max(call, hop),
        "gather": 2 * keys * (N - 1) / N / W + math + pause,
        "ulysses": moved * share / W + math + pause,
    }
    best = min(seconds, key=seconds.get)
    return best, seconds[best]


# %% fastest wrong: one pause for a ring
def fastest(T, H, G, d, N, flops, link_bw, torus, pause):
    W = 2 * link_bw if torus else link_bw
    math = 2 * T * T * H * d / N / flops
    keys, queries = 2 * T * G * d, 2 * T * H * d
    call, hop = math / N, 2 * keys / N / W
    seconds = {
        "ring": call + (N - 1) * max(call, hop) + pause,
        "gather": 2 * keys * (N - 1) / N / W + math + pause,
    }
    if H % N == 0:
        moved = 2 * queries + 2 * keys * max(1, N // G)
        share = 1 / 4 if torus else (N - 1) / N**2
        seconds["ulysses"] = moved * share / W + math + pause
    best = min(seconds, key=seconds.get)
    return best, seconds[best]


# %% fastest wrong: Out stays in heads
def fastest(T, H, G, d, N, flops, link_bw, torus, pause):
    W = 2 * link_bw if torus else link_bw
    math = 2 * T * T * H * d / N / flops
    keys, queries = 2 * T * G * d, 2 * T * H * d
    call, hop = math / N + pause, 2 * keys / N / W
    seconds = {
        "ring": call + (N - 1) * max(call, hop),
        "gather": 2 * keys * (N - 1) / N / W + math + pause,
    }
    if H % N == 0:
        moved = queries + 2 * keys * max(1, N // G)
        share = 1 / 4 if torus else (N - 1) / N**2
        seconds["ulysses"] = moved * share / W + math + pause
    best = min(seconds, key=seconds.get)
    return best, seconds[best]


# %% fastest wrong: no causal half
def fastest(T, H, G, d, N, flops, link_bw, torus, pause):
    W = 2 * link_bw if torus else link_bw
    math = 4 * T * T * H * d / N / flops
    keys, queries = 2 * T * G * d, 2 * T * H * d
    call, hop = math / N + pause, 2 * keys / N / W
    seconds = {
        "ring": call + (N - 1) * max(call, hop),
        "gather": 2 * keys * (N - 1) / N / W + math + pause,
    }
    if H % N == 0:
        moved = 2 * queries + 2 * keys * max(1, N // G)
        share = 1 / 4 if torus else (N - 1) / N**2
        seconds["ulysses"] = moved * share / W + math + pause
    best = min(seconds, key=seconds.get)
    return best, seconds[best]


# %% fastest wrong: values are forgotten
def fastest(T, H, G, d, N, flops, link_bw, torus, pause):
    W = 2 * link_bw if torus else link_bw
    math = 2 * T * T * H * d / N / flops
    keys, queries = T * G * d, 2 * T * H * d  # bytes of one array
    call, hop = math / N + pause, 2 * keys / N / W
    seconds = {
        "ring": call + (N - 1) * max(call, hop),
        "gather": 2 * keys * (N - 1) / N / W + math + pause,
    }
    if H % N == 0:
        moved = 2 * queries + 2 * keys * max(1, N // G)
        share = 1 / 4 if torus else (N - 1) / N**2
        seconds["ulysses"] = moved * share / W + math + pause
    best = min(seconds, key=seconds.get)
    return best, seconds[best]


# %% fastest wrong: behind a switch a chip sends all it has
def fastest(T, H, G, d, N, flops, link_bw, torus, pause):
    W = 2 * link_bw if torus else link_bw
    math = 2 * T * T * H * d / N / flops
    keys, queries = 2 * T * G * d, 2 * T * H * d  # bytes of one array
    call, hop = math / N + pause, 2 * keys / N / W
    seconds = {
        "ring": call + (N - 1) * max(call, hop),
        "gather": 2 * keys * (N - 1) / N / W + math + pause,
    }
    if H % N == 0:
        moved = 2 * queries + 2 * keys * max(1, N // G)
        share = 1 / 4 if torus else 1 / N
        seconds["ulysses"] = moved * share / W + math + pause
    best = min(seconds, key=seconds.get)
    return best, seconds[best]


# %% fastest wrong: a pause is cut over the turns
def fastest(T, H, G, d, N, flops, link_bw, torus, pause):
    W = 2 * link_bw if torus else link_bw
    math = 2 * T * T * H * d / N / flops
    keys, queries = 2 * T * G * d, 2 * T * H * d  # bytes of one array
    call, hop = (math + pause) / N, 2 * keys / N / W
    seconds = {
        "ring": call + (N - 1) * max(call, hop),
        "gather": 2 * keys * (N - 1) / N / W + math + pause,
    }
    if H % N == 0:
        moved = 2 * queries + 2 * keys * max(1, N // G)
        share = 1 / 4 if torus else (N - 1) / N**2
        seconds["ulysses"] = moved * share / W + math + pause
    best = min(seconds, key=seconds.get)
    return best, seconds[best]


# %% fastest right: with the library's formulas
def fastest(T, H, G, d, N, flops, link_bw, torus, pause):
    from shardlab import ring

    math = 2 * T**2 * H * d / flops / N
    array = {"Q": 2 * T * H * d, "K": 2 * T * G * d}
    array["copies"] = array["K"] * max(1, N // G)
    if torus:
        gather = ring.all_gather(array["K"], N, link_bw=link_bw).seconds
        swap = {
            x: ring.all_to_all(array[x], N, link_bw=link_bw).seconds
            for x in ("Q", "copies")
        }
    else:
        gather = array["K"] / N * (N - 1) / link_bw
        swap = {x: array[x] / N * (1 - 1 / N) / link_bw for x in array}
    hop = 2 * gather / (N - 1)
    times = [("gather", 2 * gather + math + pause)]
    times.append(
        ("ring", math / N + pause + (N - 1) * max(math / N + pause, hop))
    )
    if not H % N:
        exchange = 2 * (swap["Q"] + swap["copies"])
        times.append(("ulysses", exchange + math + pause))
    return min(times, key=lambda pair: pair[1])


# %% fastest right: turn by turn
def fastest(T, H, G, d, N, flops, link_bw, torus, pause):
    speed = link_bw * (1 + bool(torus))
    work = 2.0 * T * T * H * d / N / flops
    block = 4 * T * G * d / N
    now = arrived = 0.0
    for _ in range(N):
        start = max(now, arrived)
        now, arrived = start + work / N + pause, start + block / speed
    gather = (N - 1) * block / speed + work + pause
    ulysses = float("inf")
    if H / N == H // N:
        size = 4 * T * d * (H + max(G, N))
        each = size / 4 if torus else size / N * (N - 1) / N
        ulysses = each / speed + work + pause
    best = min(now, gather, ulysses)
    names = {now: "ring", gather: "gather", ulysses: "ulysses"}
    return [names[best], best]


# %% windowed equivalent: line 7: `range(N)` ends one too soon
# What the last chip sends comes round to the first, which masks it.


# %% windowed equivalent: line 9: 0.0 becomes 1.0
# The first maximum is -inf, and what stands there shrinks to nothing.


# %% windowed equivalent: line 9: 0.0 becomes 1.0 (2)
# The first maximum is -inf, and what stands there shrinks to nothing.


# %% windowed equivalent: line 10: `min(N - 1, -(-(window - 1) // t))` with its arguments reversed
# The smaller of two numbers is the same in either order.


# %% windowed equivalent: line 18: `jnp.maximum(highest, tallest)` with its arguments reversed
# The larger of two numbers is the same in either order.


# %% order equivalent: line 9: `(chip, 2 * N - 1 - chip)` is reversed
# A chip may hold its late piece before its early one.


# %% ulysses equivalent: line 10: `G - most` loses its right side
# JAX takes the last head for one beyond it, and nobody reads that.


# %% ulysses equivalent: line 10: `G - most` with another operation
# JAX takes the last head for one beyond it, and nobody reads that.


# %% ulysses equivalent: line 10: `min(min(heads), G - most)` with its arguments reversed
# The smaller of two numbers is the same in either order.


# %% longest equivalent: line 7: `max(G, N)` with its arguments reversed
# The larger of two numbers is the same in either order.


# %% longest equivalent: line 10: `max(0, int(tokens) // 2 * 2 * N)` with its arguments reversed
# The larger of two numbers is the same in either order.


# %% fastest equivalent: line 9: `max(call, hop)` with its arguments reversed
# The larger of two numbers is the same in either order.


# %% fastest equivalent: line 13: `max(1, N // G)` with its arguments reversed
# The larger of two numbers is the same in either order.


# %% way_back wrong: K and V of all query heads
def way_back(b, t, H, G, d, N):
    key, query, number = b * t * G * d, b * t * H * d, b * t * H
    sums = 2 * 4 * key
    queries = 2 * 2 * query + 2 * 4 * number + 4 * query
    hops = N - 1
    return (2 * 2 * query + sums) * hops, sums * hops, queries * hops


# %% way_back wrong: an N-th of a block
def way_back(b, t, H, G, d, N):
    key, query, number = b * t * G * d, b * t * H * d, b * t * H
    sums = 2 * 4 * key
    queries = 2 * 2 * query + 2 * 4 * number + 4 * query
    hops = (N - 1) / N
    return (2 * 2 * key + sums) * hops, sums * hops, queries * hops


# %% gathered wrong: the largest piece is kept
def gathered(b, T, H, d, N, pieces):
    keys, sums = 2 * 2 * b * T * d, 2 * 4 * b * T * d
    forward = keys * sum(pieces) * (N - 1) // N
    again = keys * (sum(pieces) - max(pieces)) + sums * sum(pieces)
    held = keys * max(pieces), (keys + sums) * max(pieces)
    return [forward, again * (N - 1) // N, *held]


# %% gathered wrong: only the last piece is there beside gradients
def gathered(b, T, H, d, N, pieces):
    keys, sums = 2 * 2 * b * T * d, 2 * 4 * b * T * d
    forward = keys * sum(pieces) * (N - 1) // N
    again = keys * sum(pieces[:-1]) + sums * sum(pieces)
    held = keys * max(pieces), keys * pieces[-1] + sums * max(pieces)
    return [forward, again * (N - 1) // N, *held]
