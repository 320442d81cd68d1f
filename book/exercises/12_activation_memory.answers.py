# Answers that the checks of exercise set 12 must reject or accept.
#
# A cell is titled with the answer cell's grade_id, then `wrong: ` with the
# mistake or `right: ` with what is different. Run by tests/exercises.

# %% kept wrong: two norms and two inputs, as in a row
def kept(s, b, h, a, g, F):
    return s * b * (12 * h + 4 * g * (h // a) + 4 * a + 6 * F)


# %% kept wrong: the input of the products is counted for each half
def kept(s, b, h, a, g, F):
    return s * b * (10 * h + 4 * g * (h // a) + 4 * a + 6 * F)


# %% kept wrong: as many keys as queries
def kept(s, b, h, a, g, F):
    return s * b * (12 * h + 4 * a + 6 * F)


# %% kept wrong: the kernel keeps nothing of its own
def kept(s, b, h, a, g, F):
    return s * b * (8 * h + 4 * g * (h // a) + 6 * F)


# %% kept wrong: the kernel's numbers in bf16
def kept(s, b, h, a, g, F):
    return s * b * (8 * h + 4 * g * (h // a) + 2 * a + 6 * F)


# %% kept wrong: the input of the last product is forgotten
def kept(s, b, h, a, g, F):
    return s * b * (8 * h + 4 * g * (h // a) + 4 * a + 4 * F)


# %% kept wrong: what attention gives is forgotten
def kept(s, b, h, a, g, F):
    return s * b * (6 * h + 4 * g * (h // a) + 4 * a + 6 * F)


# %% kept wrong: only the result of the gate
def kept(s, b, h, a, g, F):
    return s * b * (8 * h + 4 * g * (h // a) + 4 * a + 2 * F)


# %% kept wrong: thirty-four
def kept(s, b, h, a, g, F):
    return 34 * s * b * h


# %% kept wrong: the scores are kept
def kept(s, b, h, a, g, F):
    each = 8 * h + 4 * g * (h // a) + 4 * a + 6 * F
    return s * b * each + 5 * a * s * s * b


# %% kept wrong: elements
def kept(s, b, h, a, g, F):
    return s * b * (4 * h + 2 * g * (h // a) + a + 3 * F)


# %% kept right: array by array
def kept(s, b, h, a, g, F):
    d, tokens = h // a, s * b
    widths = {"x": h, "In": h, "Q": a * d, "K": g * d, "V": g * d}
    widths |= {"heads": h, "gate": F, "up": F, "product": F}
    return sum(2 * tokens * width for width in widths.values()) + 4 * tokens * a


# %% kept right: attention and the rest, as floats
def kept(s, b, h, a, g, F):
    attention = 2.0 * h + 2 * 2 * g * h / a + 2 * h + 4 * a
    return s * b * (attention + 2 * h + 2 * h + 3 * 2 * F)


# %% on_chip wrong: everything is cut by t
def on_chip(s, b, h, a, g, F, t, sp, whole):
    return s * b * (12 * h + 4 * g * (h // a) + 4 * a + 6 * F) // t


# %% on_chip wrong: sp is forgotten
def on_chip(s, b, h, a, g, F, t, sp, whole):
    between = (4 * h + 4 * g * (h // a) + 4 * a + 6 * F) // t
    return s * b * (8 * h + between)


# %% on_chip wrong: whole is forgotten
def on_chip(s, b, h, a, g, F, t, sp, whole):
    between = (4 * h + 4 * g * (h // a) + 4 * a + 6 * F) // t
    return s * b * (8 * h // (t if sp else 1) + between)


# %% on_chip wrong: gathered inputs are always kept
def on_chip(s, b, h, a, g, F, t, sp, whole):
    between = (4 * h + 4 * g * (h // a) + 4 * a + 6 * F) // t
    return s * b * (4 * h // (t if sp else 1) + 4 * h + between)


# %% on_chip wrong: one norm, one input
def on_chip(s, b, h, a, g, F, t, sp, whole):
    streams = 2 * h // (t if sp else 1)
    inputs = 2 * h // (t if sp and not whole else 1)
    between = (4 * h + 4 * g * (h // a) + 4 * a + 6 * F) // t
    return s * b * (streams + inputs + between)


# %% on_chip wrong: the kernel's numbers are not counted
def on_chip(s, b, h, a, g, F, t, sp, whole):
    streams = 4 * h // (t if sp else 1)
    inputs = 4 * h // (t if sp and not whole else 1)
    between = (4 * h + 4 * g * (h // a) + 6 * F) // t
    return s * b * (streams + inputs + between)


# %% on_chip wrong: keys and values are on every chip
def on_chip(s, b, h, a, g, F, t, sp, whole):
    streams = 4 * h // (t if sp else 1)
    inputs = 4 * h // (t if sp and not whole else 1)
    between = (4 * h + 4 * a + 6 * F) // t + 4 * g * (h // a)
    return s * b * (streams + inputs + between)


# %% on_chip right: array by array
def on_chip(s, b, h, a, g, F, t, sp, whole):
    tokens, mine = s * b, s * b // t if sp else s * b
    stream = 2 * (2 * mine * h)
    inputs = 2 * (2 * (tokens if whole or not sp else mine) * h)
    attention = 2 * tokens * (h + 2 * g * h // a + h) // t
    sums, hidden = 4 * tokens * a // t, 3 * 2 * tokens * F // t
    return stream + inputs + attention + sums + hidden


# %% on_chip right: from the layer on one chip
def on_chip(s, b, h, a, g, F, t, sp, whole):
    uncut = {(False, False): 8, (False, True): 8, (True, False): 0}
    stay = uncut.get((sp, whole), 4) * h
    everything = 12 * h + 4 * g * h / a + 4 * a + 6 * F
    return s * b * (stay + (everything - stay) / t)


# %% chosen wrong: the largest first
def chosen(limit, s, b, h, a):
    names, left = [], limit - 2 * s * b * h
    for name, size in (("hidden", 8), ("QKV", 6), ("heads", 2), ("middle", 2)):
        if size * s * b * h <= left:
            names.append(name)
            left -= size * s * b * h
    return names


# %% chosen wrong: the smallest first
def chosen(limit, s, b, h, a):
    names, left = [], limit - 2 * s * b * h
    for name, size in (("heads", 2), ("middle", 2), ("QKV", 6), ("hidden", 8)):
        if size * s * b * h <= left:
            names.append(name)
            left -= size * s * b * h
    return names


# %% chosen wrong: the input is forgotten
def chosen(limit, s, b, h, a):
    sizes = {"QKV": 6, "heads": 2, "middle": 2, "hidden": 8}
    inner = {"QKV": h, "heads": s, "middle": h, "hidden": h}
    best, spared = [], 0
    for choice in range(16):
        names = [name for n, name in enumerate(sizes) if choice >> n & 1]
        size = sum(sizes[name] for name in names)
        work = sum(sizes[name] * inner[name] for name in names)
        if size * s * b * h <= limit and work > spared:
            best, spared = names, work
    return best


# %% chosen wrong: nothing, which always fits
def chosen(limit, s, b, h, a):
    return []


# %% chosen wrong: everything
def chosen(limit, s, b, h, a):
    return ["QKV", "heads", "middle", "hidden"]


# %% chosen wrong: the most bytes that fit, whatever they spare
def chosen(limit, s, b, h, a):
    sizes = {"hidden": 8, "QKV": 6, "middle": 2, "heads": 2}
    best, most = [], 0
    for choice in range(16):
        names = [name for n, name in enumerate(sizes) if choice >> n & 1]
        size = sum(sizes[name] for name in names)
        if (2 + size) * s * b * h <= limit and size > most:
            best, most = names, size
    return best


# %% chosen wrong: heads are always worth it
def chosen(limit, s, b, h, a):
    sizes = {"QKV": 6, "middle": 2, "hidden": 8}
    room, best, most = limit // (s * b * h) - 2, [], -1
    heads = ["heads"] if room >= 2 else []
    for choice in range(8):
        names = [name for n, name in enumerate(sizes) if choice >> n & 1]
        size = sum(sizes[name] for name in names) + 2 * len(heads)
        if size <= room and size > most:
            best, most = names + heads, size
    return best


# %% chosen wrong: heads are worth two products
def chosen(limit, s, b, h, a):
    sizes = {"QKV": 6, "heads": 2, "middle": 2, "hidden": 8}
    inner = {"QKV": h, "heads": 2 * s, "middle": h, "hidden": h}
    best, spared = [], 0
    for choice in range(16):
        names = [name for n, name in enumerate(sizes) if choice >> n & 1]
        size = 2 + sum(sizes[name] for name in names)
        work = sum(sizes[name] * inner[name] for name in names)
        if size * s * b * h <= limit and work > spared:
            best, spared = names, work
    return best


# %% chosen wrong: the middle is worth half as much again
def chosen(limit, s, b, h, a):
    sizes = {"QKV": 6, "heads": 2, "middle": 2, "hidden": 8}
    inner = {"QKV": h, "heads": s, "middle": 1.5 * h, "hidden": h}
    best, spared = [], 0
    for choice in range(16):
        names = [name for n, name in enumerate(sizes) if choice >> n & 1]
        size = 2 + sum(sizes[name] for name in names)
        work = sum(sizes[name] * inner[name] for name in names)
        if size * s * b * h <= limit and work > spared:
            best, spared = names, work
    return best


# %% chosen right: by counting the FLOPs of every choice
def chosen(limit, s, b, h, a):
    tokens = s * b
    flops = {
        "QKV": 3 * 2 * tokens * h * h,
        "heads": 2 * tokens * s * h,
        "middle": 2 * tokens * h * h,
        "hidden": 2 * tokens * h * 4 * h,
    }
    bytes_of = {"QKV": 6, "heads": 2, "middle": 2, "hidden": 8}
    best = (0, [])
    for choice in range(16):
        names = [name for n, name in enumerate(flops) if choice & 2**n]
        kept = 2 * tokens * h + sum(bytes_of[n] * tokens * h for n in names)
        if kept <= limit:
            best = max(best, (sum(flops[n] for n in names), names))
    return best[1]


# %% chosen right: measured, with JAX
def chosen(limit, s, b, h, a):
    from itertools import combinations

    from shardlab import count
    from shardlab.count.saving import saved, saved_bytes
    from shardlab.transformer import dropout

    labels = {
        "QKV": ["query and key", "value"],
        "heads": ["attention projection input"],
        "middle": ["layer norm 2 input"],
        "hidden": ["GeLU input"],
    }
    W, x, keys = dropout.shapes(s, b, h, a)
    found = []
    for size in range(5):
        for names in combinations(labels, size):
            keep = sum((labels[n] for n in names), ["layer norm 1 input"])
            policy = jax.checkpoint_policies.save_only_these_names(*keep)
            layer = jax.checkpoint(dropout.layer, policy=policy)
            kept = sum(saved_bytes(saved(layer, W, x, keys)).values())
            if kept <= limit:
                loss = lambda W, x: layer(W, x, keys).astype("float32").sum()
                work = count.flops(jax.grad(loss, (0, 1)), W, x)
                found.append((work, names))
    return list(min(found)[1])


# %% gradient wrong: no recomputation
def gradient(x1, x2, A, B):
    def layer(x, W):
        y1 = x[0] + jnp.tanh(x[1] @ W[0])
        return (y1, x[1] + jnp.tanh(y1 @ W[1])), None

    def loss(x1, x2):
        (y1, y2), _ = jax.lax.scan(layer, (x1, x2), (A, B))
        return jnp.sum(y1**2) + jnp.sum(y2**2)

    return jax.grad(loss, (0, 1))(x1, x2)


# %% gradient wrong: every layer keeps its inputs
def gradient(x1, x2, A, B):
    @jax.checkpoint
    def layer(x, W):
        y1 = x[0] + jnp.tanh(x[1] @ W[0])
        return (y1, x[1] + jnp.tanh(y1 @ W[1])), None

    def loss(x1, x2):
        (y1, y2), _ = jax.lax.scan(layer, (x1, x2), (A, B))
        return jnp.sum(y1**2) + jnp.sum(y2**2)

    return jax.grad(loss, (0, 1))(x1, x2)


# %% gradient wrong: two loops, and the inputs of a group
def gradient(x1, x2, A, B):
    @jax.checkpoint
    def layer(x, W):
        y1 = x[0] + jnp.tanh(x[1] @ W[0])
        return (y1, x[1] + jnp.tanh(y1 @ W[1])), None

    @jax.checkpoint
    def group(x, W):
        return jax.lax.scan(layer, x, W)[0], None

    def loss(x1, x2):
        k = next(k for k in range(int(len(A) ** 0.5), 0, -1) if len(A) % k == 0)
        W = [W.reshape(k, -1, *W.shape[1:]) for W in (A, B)]
        (y1, y2), _ = jax.lax.scan(group, (x1, x2), W)
        return jnp.sum(y1**2) + jnp.sum(y2**2)

    return jax.grad(loss, (0, 1))(x1, x2)


# %% gradient wrong: the halves are undone in the wrong order
def gradient(x1, x2, A, B):
    def layer(x, W):
        y1 = x[0] + jnp.tanh(x[1] @ W[0])
        return (y1, x[1] + jnp.tanh(y1 @ W[1])), None

    def slope(x, W):
        return 1 - jnp.tanh(x @ W) ** 2

    def back(state, W):
        y1, y2, d1, d2 = state
        a, b = W
        x1 = y1 - jnp.tanh(y2 @ a)
        x2 = y2 - jnp.tanh(x1 @ b)
        d1 = d1 + (d2 * slope(y1, b)) @ b.T
        d2 = d2 + (d1 * slope(x2, a)) @ a.T
        return (x1, x2, d1, d2), None

    (y1, y2), _ = jax.lax.scan(layer, (x1, x2), (A, B))
    state = y1, y2, 2 * y1, 2 * y2
    (_, _, d1, d2), _ = jax.lax.scan(back, state, (A, B), reverse=True)
    return d1, d2


# %% gradient wrong: dx2 from dx1 as it was
def gradient(x1, x2, A, B):
    def layer(x, W):
        y1 = x[0] + jnp.tanh(x[1] @ W[0])
        return (y1, x[1] + jnp.tanh(y1 @ W[1])), None

    def slope(x, W):
        return 1 - jnp.tanh(x @ W) ** 2

    def back(state, W):
        y1, y2, d1, d2 = state
        a, b = W
        x2 = y2 - jnp.tanh(y1 @ b)
        x1 = y1 - jnp.tanh(x2 @ a)
        before = d1
        d1 = d1 + (d2 * slope(y1, b)) @ b.T
        d2 = d2 + (before * slope(x2, a)) @ a.T
        return (x1, x2, d1, d2), None

    (y1, y2), _ = jax.lax.scan(layer, (x1, x2), (A, B))
    state = y1, y2, 2 * y1, 2 * y2
    (_, _, d1, d2), _ = jax.lax.scan(back, state, (A, B), reverse=True)
    return d1, d2


# %% gradient wrong: nothing is undone
def gradient(x1, x2, A, B):
    def layer(x, W):
        y1 = x[0] + jnp.tanh(x[1] @ W[0])
        return (y1, x[1] + jnp.tanh(y1 @ W[1])), None

    def slope(x, W):
        return 1 - jnp.tanh(x @ W) ** 2

    def back(state, W):
        y1, y2, d1, d2 = state
        a, b = W
        x1, x2 = y1, y2
        d1 = d1 + (d2 * slope(y1, b)) @ b.T
        d2 = d2 + (d1 * slope(x2, a)) @ a.T
        return (x1, x2, d1, d2), None

    (y1, y2), _ = jax.lax.scan(layer, (x1, x2), (A, B))
    state = y1, y2, 2 * y1, 2 * y2
    (_, _, d1, d2), _ = jax.lax.scan(back, state, (A, B), reverse=True)
    return d1, d2


# %% gradient wrong: the 2 is forgotten
def gradient(x1, x2, A, B):
    def layer(x, W):
        y1 = x[0] + jnp.tanh(x[1] @ W[0])
        return (y1, x[1] + jnp.tanh(y1 @ W[1])), None

    def slope(x, W):
        return 1 - jnp.tanh(x @ W) ** 2

    def back(state, W):
        y1, y2, d1, d2 = state
        a, b = W
        x2 = y2 - jnp.tanh(y1 @ b)
        x1 = y1 - jnp.tanh(x2 @ a)
        d1 = d1 + (d2 * slope(y1, b)) @ b.T
        d2 = d2 + (d1 * slope(x2, a)) @ a.T
        return (x1, x2, d1, d2), None

    (y1, y2), _ = jax.lax.scan(layer, (x1, x2), (A, B))
    state = y1, y2, y1, y2
    (_, _, d1, d2), _ = jax.lax.scan(back, state, (A, B), reverse=True)
    return d1, d2


# %% gradient wrong: the squares of the first stream alone
def gradient(x1, x2, A, B):
    def layer(x, W):
        y1 = x[0] + jnp.tanh(x[1] @ W[0])
        return (y1, x[1] + jnp.tanh(y1 @ W[1])), None

    def slope(x, W):
        return 1 - jnp.tanh(x @ W) ** 2

    def back(state, W):
        y1, y2, d1, d2 = state
        a, b = W
        x2 = y2 - jnp.tanh(y1 @ b)
        x1 = y1 - jnp.tanh(x2 @ a)
        d1 = d1 + (d2 * slope(y1, b)) @ b.T
        d2 = d2 + (d1 * slope(x2, a)) @ a.T
        return (x1, x2, d1, d2), None

    (y1, y2), _ = jax.lax.scan(layer, (x1, x2), (A, B))
    state = y1, y2, 2 * y1, 0 * y2
    (_, _, d1, d2), _ = jax.lax.scan(back, state, (A, B), reverse=True)
    return d1, d2


# %% gradient wrong: the gradients of what comes out
def gradient(x1, x2, A, B):
    def layer(x, W):
        y1 = x[0] + jnp.tanh(x[1] @ W[0])
        return (y1, x[1] + jnp.tanh(y1 @ W[1])), None

    (y1, y2), _ = jax.lax.scan(layer, (x1, x2), (A, B))
    return 2 * y1, 2 * y2


# %% gradient wrong: the mean
def gradient(x1, x2, A, B):
    def layer(x, W):
        y1 = x[0] + jnp.tanh(x[1] @ W[0])
        return (y1, x[1] + jnp.tanh(y1 @ W[1])), None

    def slope(x, W):
        return 1 - jnp.tanh(x @ W) ** 2

    def back(state, W):
        y1, y2, d1, d2 = state
        a, b = W
        x2 = y2 - jnp.tanh(y1 @ b)
        x1 = y1 - jnp.tanh(x2 @ a)
        d1 = d1 + (d2 * slope(y1, b)) @ b.T
        d2 = d2 + (d1 * slope(x2, a)) @ a.T
        return (x1, x2, d1, d2), None

    (y1, y2), _ = jax.lax.scan(layer, (x1, x2), (A, B))
    state = y1, y2, 2 * y1 / y1.size / 2, 2 * y2 / y2.size / 2
    (_, _, d1, d2), _ = jax.lax.scan(back, state, (A, B), reverse=True)
    return d1, d2


# %% gradient wrong: the streams exchanged
def gradient(x1, x2, A, B):
    def layer(x, W):
        y1 = x[0] + jnp.tanh(x[1] @ W[0])
        return (y1, x[1] + jnp.tanh(y1 @ W[1])), None

    def slope(x, W):
        return 1 - jnp.tanh(x @ W) ** 2

    def back(state, W):
        y1, y2, d1, d2 = state
        a, b = W
        x2 = y2 - jnp.tanh(y1 @ b)
        x1 = y1 - jnp.tanh(x2 @ a)
        d1 = d1 + (d2 * slope(y1, b)) @ b.T
        d2 = d2 + (d1 * slope(x2, a)) @ a.T
        return (x1, x2, d1, d2), None

    (y1, y2), _ = jax.lax.scan(layer, (x1, x2), (A, B))
    state = y1, y2, 2 * y1, 2 * y2
    (_, _, d1, d2), _ = jax.lax.scan(back, state, (A, B), reverse=True)
    return d2, d1


# %% gradient right: both passes by hand
def gradient(x1, x2, A, B):
    def layer(x, W):
        y1 = x[0] + jnp.tanh(x[1] @ W[0])
        return (y1, x[1] + jnp.tanh(y1 @ W[1])), None

    def slope(x, W):
        return 1 - jnp.tanh(x @ W) ** 2

    def back(state, W):
        y1, y2, d1, d2 = state
        a, b = W
        x2 = y2 - jnp.tanh(y1 @ b)
        x1 = y1 - jnp.tanh(x2 @ a)
        d1 = d1 + (d2 * slope(y1, b)) @ b.T
        d2 = d2 + (d1 * slope(x2, a)) @ a.T
        return (x1, x2, d1, d2), None

    (y1, y2), _ = jax.lax.scan(layer, (x1, x2), (A, B))
    state = y1, y2, 2 * y1, 2 * y2
    (_, _, d1, d2), _ = jax.lax.scan(back, state, (A, B), reverse=True)
    return d1, d2


# %% gradient right: a derivative of its own for the stack
def gradient(x1, x2, A, B):
    def layer(x, W):
        y1 = x[0] + jnp.tanh(x[1] @ W[0])
        return (y1, x[1] + jnp.tanh(y1 @ W[1])), None

    @jax.custom_vjp
    def stack(x1, x2):
        return jax.lax.scan(layer, (x1, x2), (A, B))[0]

    def forward(x1, x2):
        Out = stack(x1, x2)
        return Out, Out

    def backward(Out, dOut):
        def undo(n, state):
            (y1, y2), d = state
            a, b = A[len(A) - 1 - n], B[len(B) - 1 - n]
            x2 = y2 - jnp.tanh(y1 @ b)
            x = y1 - jnp.tanh(x2 @ a), x2
            _, pull = jax.vjp(lambda x: layer(x, (a, b))[0], x)
            return x, pull(d)[0]

        return jax.lax.fori_loop(0, len(A), undo, (Out, dOut))[1]

    stack.defvjp(forward, backward)

    def loss(x1, x2):
        return sum(jnp.sum(y**2) for y in stack(x1, x2))

    return jax.grad(loss, (0, 1))(x1, x2)


# %% gradient right: layer by layer, in Python
def gradient(x1, x2, A, B):
    for a, b in zip(A, B, strict=True):
        x1 = x1 + jnp.tanh(x2 @ a)
        x2 = x2 + jnp.tanh(x1 @ b)
    d1, d2 = 2 * x1, 2 * x2
    for a, b in zip(A[::-1], B[::-1], strict=True):
        t = jnp.tanh(x1 @ b)
        x2, d1 = x2 - t, d1 + (d2 * (1 - t * t)) @ b.T
        t = jnp.tanh(x2 @ a)
        x1, d2 = x1 - t, d2 + (d1 * (1 - t * t)) @ a.T
    return d1, d2


# %% fullest wrong: under GPipe the gradient comes up from the first stage
def fullest(schedule, p, m, stage, L, small, large):
    held = m if schedule == "GPipe" else min(m, p - stage)
    time = p + 3 * (p - 1 - stage)
    if schedule == "GPipe":
        time = m + 3 * (p - 1)
    return held * (L // p) * small + large, time


# %% fullest wrong: under GPipe each forward takes two
def fullest(schedule, p, m, stage, L, small, large):
    held = m if schedule == "GPipe" else min(m, p - stage)
    time = p + 3 * (p - 1 - stage)
    if schedule == "GPipe":
        time = 2 * m + p - 1
    return held * (L // p) * small + large, time


# %% fullest wrong: GPipe's pile for both
def fullest(schedule, p, m, stage, L, small, large):
    time = p - 1 + (m if schedule == "GPipe" else 1) + 3 * (p - 1 - stage)
    return m * (L // p) * small + large, time


# %% fullest wrong: as many as there are stages
def fullest(schedule, p, m, stage, L, small, large):
    held = m if schedule == "GPipe" else p
    time = p - 1 + (m if schedule == "GPipe" else 1) + 3 * (p - 1 - stage)
    return held * (L // p) * small + large, time


# %% fullest wrong: more microbatches than there are
def fullest(schedule, p, m, stage, L, small, large):
    held = m if schedule == "GPipe" else p - stage
    time = p - 1 + (m if schedule == "GPipe" else 1) + 3 * (p - 1 - stage)
    return held * (L // p) * small + large, time


# %% fullest wrong: the layer at work is forgotten
def fullest(schedule, p, m, stage, L, small, large):
    held = m if schedule == "GPipe" else min(m, p - stage)
    time = p - 1 + (m if schedule == "GPipe" else 1) + 3 * (p - 1 - stage)
    return held * (L // p) * small, time


# %% fullest wrong: a whole layer for every microbatch
def fullest(schedule, p, m, stage, L, small, large):
    held = m if schedule == "GPipe" else min(m, p - stage)
    time = p - 1 + (m if schedule == "GPipe" else 1) + 3 * (p - 1 - stage)
    return held * ((L // p) * small + large), time


# %% fullest wrong: all layers of the stage run again at once
def fullest(schedule, p, m, stage, L, small, large):
    held = m if schedule == "GPipe" else min(m, p - stage)
    time = p - 1 + (m if schedule == "GPipe" else 1) + 3 * (p - 1 - stage)
    return held * (L // p) * small + L // p * large, time


# %% fullest wrong: backwards of two units
def fullest(schedule, p, m, stage, L, small, large):
    held = m if schedule == "GPipe" else min(m, p - stage)
    time = p - 1 + (m if schedule == "GPipe" else 1) + 2 * (p - 1 - stage)
    return held * (L // p) * small + large, time


# %% fullest wrong: one backward too early
def fullest(schedule, p, m, stage, L, small, large):
    held = m if schedule == "GPipe" else min(m, p - stage)
    time = p - 1 + (m if schedule == "GPipe" else 1) + 3 * (p - 2 - stage)
    return held * (L // p) * small + large, time


# %% fullest wrong: the end of the warm-up
def fullest(schedule, p, m, stage, L, small, large):
    held = m if schedule == "GPipe" else min(m, p - stage)
    return held * (L // p) * small + large, stage + held


# %% fullest right: event by event
def fullest(schedule, p, m, stage, L, small, large):
    from shardlab import pipeline

    build = pipeline.gpipe if schedule == "GPipe" else pipeline.one_f_one_b
    events = [e for e in build(p, m, 1, 3) if e.stage == stage]
    best, when = -1, None
    for now in sorted(e.start for e in events):
        held = sum(
            (e.kind == "forward" and e.start <= now)
            - (e.kind == "backward" and e.end <= now)
            for e in events
        )
        again = any(e.kind == "backward" and e.start == now for e in events)
        size = held * L // p * small + again * large
        if size > best:
            best, when = size, now
    return best, float(when)


# %% fullest right: waits added up
def fullest(schedule, p, m, stage, L, small, large):
    down = p  # the first microbatch has run on all stages
    up = 3 * (p - 1 - stage)
    if schedule == "GPipe":
        return [m * L / p * small + large, down + m - 1 + up]
    return [min(p - stage, m) * L / p * small + large, down + up]


# %% design wrong: the states are forgotten
def design(params, L, s, h, a, hbm, chips, t, sp):
    stream = t if sp else 1
    selective = s * h * (10 / stream + 24 / t)
    each = {
        "none": L * (selective + 5 * a * s * s / t),
        "selective": L * selective,
        "full": L * 2 * s * h / stream + selective,
    }
    for policy, size in each.items():
        if size <= hbm:
            return policy, int(hbm // size)
    return "nothing", 0


# %% design wrong: states cut over t only
def design(params, L, s, h, a, hbm, chips, t, sp):
    room, stream = hbm - 16 * params / t, t if sp else 1
    selective = s * h * (10 / stream + 24 / t)
    each = {
        "none": L * (selective + 5 * a * s * s / t),
        "selective": L * selective,
        "full": L * 2 * s * h / stream + selective,
    }
    for policy, size in each.items():
        if size <= room:
            return policy, int(room // size)
    return "nothing", 0


# %% design wrong: everything is cut, with or without SP
def design(params, L, s, h, a, hbm, chips, t, sp):
    room = hbm - 16 * params / chips
    selective = 34 * s * h / t
    each = {
        "none": L * (selective + 5 * a * s * s / t),
        "selective": L * selective,
        "full": L * 2 * s * h / t + selective,
    }
    for policy, size in each.items():
        if size <= room:
            return policy, int(room // size)
    return "nothing", 0


# %% design wrong: the most sequences, whatever the FLOPs
def design(params, L, s, h, a, hbm, chips, t, sp):
    room, stream = hbm - 16 * params / chips, t if sp else 1
    layer = s * h * (10 / stream + 24 / t)
    size = L * 2 * s * h / stream + layer
    return ("full", int(room // size)) if size <= room else ("nothing", 0)


# %% design wrong: full recomputation keeps no whole layer
def design(params, L, s, h, a, hbm, chips, t, sp):
    room, stream = hbm - 16 * params / chips, t if sp else 1
    selective = s * h * (10 / stream + 24 / t)
    each = {
        "none": L * (selective + 5 * a * s * s / t),
        "selective": L * selective,
        "full": L * 2 * s * h / stream,
    }
    for policy, size in each.items():
        if size <= room:
            return policy, int(room // size)
    return "nothing", 0


# %% design wrong: the input of the layer that runs again is there already
def design(params, L, s, h, a, hbm, chips, t, sp):
    room, stream = hbm - 16 * params / chips, t if sp else 1
    selective = s * h * (10 / stream + 24 / t)
    each = {
        "none": L * (selective + 5 * a * s * s / t),
        "selective": L * selective,
        "full": (L - 1) * 2 * s * h / stream + selective,
    }
    for policy, size in each.items():
        if size <= room:
            return policy, int(room // size)
    return "nothing", 0


# %% design wrong: one layer's activations
def design(params, L, s, h, a, hbm, chips, t, sp):
    room, stream = hbm - 16 * params / chips, t if sp else 1
    selective = s * h * (10 / stream + 24 / t)
    each = {
        "none": selective + 5 * a * s * s / t,
        "selective": selective,
        "full": 2 * s * h / stream,
    }
    for policy, size in each.items():
        if size <= room:
            return policy, int(room // size)
    return "nothing", 0


# %% design wrong: always one sequence
def design(params, L, s, h, a, hbm, chips, t, sp):
    room, stream = hbm - 16 * params / chips, t if sp else 1
    selective = s * h * (10 / stream + 24 / t)
    each = {
        "none": L * (selective + 5 * a * s * s / t),
        "selective": L * selective,
        "full": L * 2 * s * h / stream + selective,
    }
    for policy, size in each.items():
        if size <= room:
            return policy, 1
    return "nothing", 0


# %% design right: with the library's formulas
def design(params, L, s, h, a, hbm, chips, t, sp):
    from shardlab import memory

    def needed(policy, n):
        layer = memory.activation_bytes(s, n, h, a, t, sp, policy)
        total = memory.state_bytes(params, chips, 3) + L * layer
        if policy == "full":
            total += memory.activation_bytes(s, n, h, a, t, sp, "selective")
        return total

    for policy in ("none", "selective", "full"):
        n = 0
        while needed(policy, n + 1) <= hbm:
            n += 1
        if n:
            return [policy, n]
    return ["nothing", 0]


# %% design right: bytes in whole numbers
def design(params, L, s, h, a, hbm, chips, t, sp):
    room = hbm * chips - 16 * params  # of all chips
    whole = 1 if sp else t
    layer = (10 * whole + 24) * s * h
    sizes = [L * (layer + 5 * a * s * s), L * layer]
    sizes.append(L * 2 * s * h * whole + layer)
    for policy, size in zip(("none", "selective", "full"), sizes):
        n = int(room * t // (size * chips))
        if n >= 1:
            return policy, n
    return "nothing", 0


# %% chosen equivalent: line 6: 0 becomes 1
# The least that a choice can spare is far above one.

# %% chosen equivalent: line 7: 16 becomes 17
# Number 16 chooses none of the four, as number 0 does.

# %% chosen equivalent: line 7: `range(16)` starts one too late
# Number 0 keeps nothing, and nothing is what it begins with.

# %% chosen equivalent: line 11: `work > spared` with GtE
# Of two choices that spare the same, either is right.

# %% fullest equivalent: line 4: `min(m, p - stage)` with its arguments reversed
# The smaller of two numbers, in whatever order.
