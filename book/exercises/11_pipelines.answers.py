# %% repaired wrong: the loop never runs
def layer(x, W):
    return jax.nn.relu(x @ W)


def gradient(x, weights, i):
    kept, devices = [], jax.devices()
    for W, device in zip(weights, devices):
        kept.append(jax.device_put((x, W), device))
        x = layer(*kept[-1])
    dx = x
    for k in range(i, len(weights), -1):
        _, vjp = jax.vjp(layer, *kept[k])
        dx, dW = vjp(jax.device_put(dx, devices[k]))
    return dW


# %% repaired wrong: what a stage made for what went into it
def layer(x, W):
    return jax.nn.relu(x @ W)


def gradient(x, weights, i):
    kept, devices = [x], jax.devices()
    for W, device in zip(weights, devices):
        x = layer(jax.device_put(x, device), jax.device_put(W, device))
        kept.append(x)
    dx = x
    for k in reversed(range(i, len(weights))):
        dx, x, W = jax.device_put((dx, kept[k + 1], weights[k]), devices[k])
        dW = x.T @ (dx * (kept[k + 1] > 0))
        dx = (dx * (kept[k + 1] > 0)) @ W.T
    return dW


# %% repaired wrong: stored before it was moved
def layer(x, W):
    return jax.nn.relu(x @ W)


def gradient(x, weights, i):
    kept, devices = [], jax.devices()
    x = jax.device_put(x, devices[0])
    for W, device in zip(weights, devices):
        kept.append(x)
        x = layer(jax.device_put(x, device), jax.device_put(W, device))
    dx = x
    for k in reversed(range(i, len(weights))):
        W = jax.device_put(weights[k], kept[k].devices().pop())
        _, vjp = jax.vjp(layer, kept[k], W)
        dx, dW = vjp(dx)
    return dW


# %% repaired wrong: all of it on one device
def layer(x, W):
    return jax.nn.relu(x @ W)


def gradient(x, weights, i):
    def loss(weights):
        y = x
        for W in weights:
            y = layer(y, W)
        return (y**2).sum() / 2

    return jax.grad(loss)([jnp.asarray(W) for W in weights])[i]


# %% repaired wrong: the mean of the squares
def layer(x, W):
    return jax.nn.relu(x @ W)


def gradient(x, weights, i):
    kept, devices = [], jax.devices()
    for W, device in zip(weights, devices):
        kept.append(jax.device_put((x, W), device))
        x = layer(*kept[-1])
    dx = jax.grad(lambda y: jnp.mean(y**2))(x)
    for k in reversed(range(i, len(weights))):
        _, vjp = jax.vjp(layer, *kept[k])
        dx, dW = vjp(jax.device_put(dx, devices[k]))
    return dW


# %% repaired wrong: one layer's backward is enough
def layer(x, W):
    return jax.nn.relu(x @ W)


def gradient(x, weights, i):
    kept, devices = [], jax.devices()
    for W, device in zip(weights, devices):
        kept.append(jax.device_put((x, W), device))
        x = layer(*kept[-1])
    _, vjp = jax.vjp(layer, *kept[-1])
    return jax.device_put(vjp(x)[1], devices[i])


# %% repaired right: the chain rule by hand
def layer(x, W):
    return jax.nn.relu(x @ W)


def gradient(x, weights, i):
    devices, xs, Ws = jax.devices(), [], []
    for W, device in zip(weights, devices):
        xs.append(jax.device_put(x, device))
        Ws.append(jax.device_put(W, device))
        x = layer(xs[-1], Ws[-1])
    dy = x
    for k in range(len(weights) - 1, i - 1, -1):
        dy = jax.device_put(dy, devices[k])
        dz = dy * (xs[k] @ Ws[k] > 0)
        dy = dz @ Ws[k].T
    return xs[i].T @ dz


# %% repaired right: one vjp for each stage, made on the way
def layer(x, W):
    return jax.nn.relu(x @ W)


def gradient(x, weights, i):
    back = []
    for W, device in zip(weights, jax.devices()):
        x, W = jax.device_put(x, device), jax.device_put(W, device)
        x, vjp = jax.vjp(layer, x, W)
        back.append((vjp, device))
    while len(back) > i:
        vjp, device = back.pop()
        x, dW = vjp(jax.device_put(x, device))
    return dW


# %% formulas wrong: idle over useful time
idle_share = (p - 1) / m
held = Min(m, p - s)
chunked = (p - 1) / (v * m)

# %% formulas wrong: few microbatches are forgotten
idle_share = (p - 1) / (m + p - 1)
held = p - s
chunked = (p - 1) / (v * m)

# %% formulas wrong: GPipe's memory
idle_share = (p - 1) / (m + p - 1)
held = m
chunked = (p - 1) / (v * m)

# %% formulas wrong: chunks change nothing
idle_share = (p - 1) / (m + p - 1)
held = Min(m, p - s)
chunked = (p - 1) / m

# %% formulas wrong: stages counted from 1
idle_share = (p - 1) / (m + p - 1)
held = Min(m, p - s + 1)
chunked = (p - 1) / (v * m)

# %% formulas wrong: chunks over all time
idle_share = (p - 1) / (m + p - 1)
held = Min(m, p - s)
chunked = (p - 1) / (v * m + p - 1)

# %% formulas right: one minus the part that works
idle_share = 1 - m / (m + p - 1)
held = m - Max(0, m + s - p)
chunked = (p - 1) * (1 / v) * (1 / m)

# %% formulas right: as texts
idle_share = "(p - 1)/(p + m - 1)"
held = "p - s - Max(0, p - s - m)"
chunked = "p/(m*v) - 1/(m*v)"


# %% order wrong: GPipe
def order(s, p, m):
    return [f"F{i}" for i in range(m)] + [f"B{i}" for i in reversed(range(m))]


# %% order wrong: one microbatch at a time
def order(s, p, m):
    return [f"{kind}{i}" for i in range(m) for kind in "FB"]


# %% order wrong: the mirror image
def order(s, p, m):
    ahead = min(s + 1, m)
    tasks = [f"F{i}" for i in range(ahead)]
    for i in range(m):
        tasks += [f"B{i}"] + [f"F{i + ahead}"] * (i + ahead < m)
    return tasks


# %% order wrong: too few ahead
def order(s, p, m):
    ahead = max(1, min(p - s - 1, m))
    tasks = [f"F{i}" for i in range(ahead)]
    for i in range(m):
        tasks += [f"B{i}"] + [f"F{i + ahead}"] * (i + ahead < m)
    return tasks


# %% order wrong: forgets the last backwards
def order(s, p, m):
    ahead = min(p - s, m)
    tasks = [f"F{i}" for i in range(ahead)]
    for i in range(m - ahead):
        tasks += [f"B{i}", f"F{i + ahead}"]
    return tasks


# %% order right: three parts
def order(s, p, m):
    ahead = min(p - s, m)
    steady = [t for i in range(m - ahead) for t in (f"B{i}", f"F{i + ahead}")]
    first = [f"F{i}" for i in range(ahead)]
    return first + steady + [f"B{i}" for i in range(m - ahead, m)]


# %% order right: sorted by what it waits for
def order(s, p, m):
    forwards = [(2 * i, f"F{i}") for i in range(m)]
    backwards = [(2 * (i + p - s) - 1, f"B{i}") for i in range(m)]
    return [task for _, task in sorted(forwards + backwards)]


# %% legal wrong: one thing at a time is all
def legal(events, p, m):
    for a in events:
        for b in events:
            if a is not b and a[0] == b[0] and a[3] < b[4] and b[3] < a[4]:
                return False
    return len(events) == 2 * p * m


# %% legal wrong: stages may do two things at a time
def legal(events, p, m):
    end = {(k, i, s): e for s, k, i, _, e in events}
    if len(events) != 2 * p * m or len(end) != len(events):
        return False
    for s, k, i, start, _ in events:
        other = ("F", i, s - 1) if k == "F" else ("B", i, s + 1)
        if end.get(other, start) > start:
            return False
        if k == "B" and end["F", i, s] > start:
            return False
    return True


# %% legal wrong: a backward needs only the stage after
def legal(events, p, m):
    end = {(k, i, s): e for s, k, i, _, e in events}
    if len(events) != 2 * p * m or len(end) != len(events):
        return False
    free = [0] * p
    for s, k, i, start, stop in sorted(events, key=lambda e: e[3]):
        other = ("F", i, s - 1) if k == "F" else ("B", i, s + 1)
        if end.get(other, start) > start or start < free[s]:
            return False
        free[s] = stop
    return True


# %% legal wrong: missing work is not missed
def legal(events, p, m):
    end = {(k, i, s): e for s, k, i, _, e in events}
    free = [0] * p
    for s, k, i, start, stop in sorted(events, key=lambda e: e[3]):
        needs = [("F", i, s - 1) if k == "F" else ("B", i, s + 1)]
        needs += [("F", i, s)] * (k == "B")
        if any(end.get(n, start) > start for n in needs) or start < free[s]:
            return False
        free[s] = stop
    return True


# %% legal wrong: began is enough
def legal(events, p, m):
    begin = {(k, i, s): t for s, k, i, t, _ in events}
    if len(events) != 2 * p * m or len(begin) != len(events):
        return False
    free = [0] * p
    for s, k, i, start, stop in sorted(events, key=lambda e: e[3]):
        needs = [("F", i, s - 1) if k == "F" else ("B", i, s + 1)]
        needs += [("F", i, s)] * (k == "B")
        if any(begin.get(n, start) > start for n in needs) or start < free[s]:
            return False
        free[s] = stop
    return True


# %% legal wrong: backwards run down the stages
def legal(events, p, m):
    end = {(k, i, s): e for s, k, i, _, e in events}
    if len(events) != 2 * p * m or len(end) != len(events):
        return False
    free = [0] * p
    for s, k, i, start, stop in sorted(events, key=lambda e: e[3]):
        needs = [(k, i, s - 1)] + [("F", i, s)] * (k == "B")
        if any(end.get(n, start) > start for n in needs) or start < free[s]:
            return False
        free[s] = stop
    return True


# %% legal wrong: times are cut to whole numbers
def legal(events, p, m):
    events = [[s, k, i, int(a), int(b)] for s, k, i, a, b in events]
    end = {(k, i, s): e for s, k, i, _, e in events}
    if len(events) != 2 * p * m or len(end) != len(events):
        return False
    free = [0] * p
    for s, k, i, start, stop in sorted(events, key=lambda e: e[3:]):
        needs = [("F", i, s - 1) if k == "F" else ("B", i, s + 1)]
        needs += [("F", i, s)] * (k == "B")
        if any(end.get(n, start) > start for n in needs) or start < free[s]:
            return False
        free[s] = stop
    return True


# %% legal wrong: microbatches only in order
def legal(events, p, m):
    end = {(k, i, s): e for s, k, i, _, e in events}
    if len(events) != 2 * p * m or len(end) != len(events):
        return False
    free, last = [0] * p, {}
    for s, k, i, start, stop in sorted(events, key=lambda e: e[3]):
        needs = [("F", i, s - 1) if k == "F" else ("B", i, s + 1)]
        needs += [("F", i, s)] * (k == "B")
        if any(end.get(n, start) > start for n in needs) or start < free[s]:
            return False
        if k == "F" and last.get(s, -1) > i:
            return False
        free[s], last[s] = stop, i if k == "F" else last.get(s, -1)
    return True


# %% legal right: every pair of events
def legal(events, p, m):
    work = sorted((s, k, i) for s, k, i, _, _ in events)
    if work != [(s, k, i) for s in range(p) for k in "BF" for i in range(m)]:
        return False
    for a in events:
        for b in events:
            if a is b:
                continue
            if a[0] == b[0] and a[3] < b[4] and b[3] < a[4]:
                return False
            ahead = a[1] == b[1] and b[0] - a[0] == (1 if a[1] == "F" else -1)
            ahead = ahead or (a[:2] == [b[0], "F"] and b[1] == "B")
            if a[2] == b[2] and ahead and a[4] > b[3]:
                return False
    return True


# %% legal right: the way of each microbatch, then the day of each stage
def legal(events, p, m):
    way = [(s, "F") for s in range(p)] + [(s, "B") for s in range(p)][::-1]
    for i in range(m):
        mine = {
            (s, k): (start, end) for s, k, j, start, end in events if j == i
        }
        if sorted(mine) != sorted(way):
            return False
        if any(mine[a][1] > mine[b][0] for a, b in zip(way, way[1:])):
            return False
    for stage in range(p):
        day = sorted((e[3], e[4]) for e in events if e[0] == stage)
        if any(a[1] > b[0] for a, b in zip(day, day[1:])):
            return False
    return len(events) == 2 * p * m


# %% narrow wrong: 1F1B
narrow = [
    "F0 F1 F2 F3 B0 B1 B2 B3",
    "F0 F1 F2 B0 F3 B1 B2 B3",
    "F0 F1 B0 F2 B1 F3 B2 B3",
    "F0 B0 F1 B1 F2 B2 F3 B3",
]

# %% narrow wrong: one microbatch at a time
narrow = ["F0 B0 F1 B1 F2 B2 F3 B3"] * 4

# %% narrow wrong: two at a time
narrow = ["F0 F1 B0 B1 F2 F3 B2 B3"] * 4

# %% narrow wrong: 1F1B with two ahead
narrow = ["F0 F1 B0 F2 B1 F3 B2 B3"] * 3 + ["F0 B0 F1 B1 F2 B2 F3 B3"]

# %% narrow wrong: stages wait for each other
narrow = ["B0 F0 F1 B1 F2 B2 F3 B3"] + ["F0 B0 F1 B1 F2 B2 F3 B3"] * 3

# %% narrow wrong: a backward is missing
narrow = ["F0 F1 B0 F2 B1 F3 B2"] * 4

# %% narrow wrong: fast enough, with room for three on one stage
narrow = [
    "F0 F1 F2 B0 F3 B1 B2 B3",
    "F0 F1 B0 F2 B1 F3 B2 B3",
    "F0 F1 B0 F2 B1 F3 B2 B3",
    "F0 B0 F1 B1 F2 B2 F3 B3",
]

# %% narrow wrong: one middle stage in the wrong order
narrow = [
    "F0 F1 B0 F2 B1 F3 B2 B3",
    "F0 F1 B0 F2 B1 F3 B2 B3",
    "F0 F1 B0 B1 F2 F3 B2 B3",
    "F0 B0 F1 B1 F2 B2 F3 B3",
]

# %% narrow right: other numbers for the microbatches
middle = "F3 F1 B3 B1 F2 F0 B2 B0"
narrow = ["F3 F1 B3 F2 B1 F0 B2 B0", middle, middle, "F3 B3 F1 B1 F2 B2 F0 B0"]

# %% narrow right: put together
narrow = [" ".join("F0 F1 B0 F2 B1 F3 B2 B3".split())]
narrow += ["F0 F1 B0 B1 F2 F3 B2 B3" for _ in range(2)]
narrow.append(" ".join(f"F{i} B{i}" for i in range(4)))


# %% dealt wrong: one block for each stage
def dealt(L, p, v):
    n = L // p
    stages = [list(range(s * n, (s + 1) * n)) for s in range(p)]
    return [stages, p * v - 1 if p > 1 else 0]


# %% dealt wrong: layer by layer
def dealt(L, p, v):
    stages = [list(range(s, L, p)) for s in range(p)]
    return [stages, p * v - 1 if p > 1 else 0]


# %% dealt wrong: once down the stages
def dealt(L, p, v):
    n = L // (p * v)
    stages = [
        [(c * p + s) * n + k for c in range(v) for k in range(n)]
        for s in range(p)
    ]
    return [stages, p - 1]


# %% dealt wrong: one hop too many
def dealt(L, p, v):
    n = L // (p * v)
    stages = [
        [(c * p + s) * n + k for c in range(v) for k in range(n)]
        for s in range(p)
    ]
    return [stages, p * v]


# %% dealt wrong: one stage sends to itself
def dealt(L, p, v):
    n = L // (p * v)
    stages = [
        [(c * p + s) * n + k for c in range(v) for k in range(n)]
        for s in range(p)
    ]
    return [stages, p * v - 1]


# %% dealt wrong: all stages in one list
def dealt(L, p, v):
    n = L // (p * v)
    layers = [
        (c * p + s) * n + k
        for s in range(p)
        for c in range(v)
        for k in range(n)
    ]
    return [layers, p * v - 1 if p > 1 else 0]


# %% dealt wrong: from the last stage to the first it does not travel
def dealt(L, p, v):
    n = L // (p * v)
    stages = [
        [(c * p + s) * n + k for c in range(v) for k in range(n)]
        for s in range(p)
    ]
    return [stages, v * (p - 1)]


# %% dealt right: by NumPy
def dealt(L, p, v):
    parts = np.arange(L).reshape(v, p, -1)
    stages = [parts[:, s].ravel().tolist() for s in range(p)]
    return [stages, (p > 1) * (v * p - 1)]


# %% dealt right: a walk
def dealt(L, p, v):
    stages, hops, at = [[] for _ in range(p)], 0, 0
    for layer in range(L):
        stage = layer * p * v // L % p
        hops, at = hops + (stage != at), stage
        stages[stage].append(layer)
    return [stages, hops]


# %% halves wrong: the square has no derivative
def input_half(dOut, Tmp, W_in, W_out):
    dTmp = dOut @ W_out.T
    return dTmp @ W_in.T, (dOut, Tmp, dTmp)


def weight_half(In, kept):
    dOut, Tmp, dTmp = kept
    return In.T @ dTmp, (Tmp * Tmp).T @ dOut


# %% halves wrong: no factor 2
def input_half(dOut, Tmp, W_in, W_out):
    dTmp = Tmp * (dOut @ W_out.T)
    return dTmp @ W_in.T, (dOut, Tmp, dTmp)


def weight_half(In, kept):
    dOut, Tmp, dTmp = kept
    return In.T @ dTmp, (Tmp * Tmp).T @ dOut


# %% halves wrong: the gradients themselves are kept
def input_half(dOut, Tmp, W_in, W_out):
    dTmp = 2 * Tmp * (dOut @ W_out.T)
    return dTmp @ W_in.T, (dTmp, (Tmp * Tmp).T @ dOut)


def weight_half(In, kept):
    dTmp, dW_out = kept
    return In.T @ dTmp, dW_out


# %% halves wrong: weights are kept
def input_half(dOut, Tmp, W_in, W_out):
    dTmp = 2 * Tmp * (dOut @ W_out.T)
    return dTmp @ W_in.T, (dOut, Tmp, W_out)


def weight_half(In, kept):
    dOut, Tmp, W_out = kept
    dTmp = 2 * Tmp * (dOut @ W_out.T)
    return In.T @ dTmp, (Tmp * Tmp).T @ dOut


# %% halves wrong: the square is forgotten in dW_out
def input_half(dOut, Tmp, W_in, W_out):
    dTmp = 2 * Tmp * (dOut @ W_out.T)
    return dTmp @ W_in.T, (dOut, Tmp, dTmp)


def weight_half(In, kept):
    dOut, Tmp, dTmp = kept
    return In.T @ dTmp, Tmp.T @ dOut


# %% halves right: the square is kept, and not its root
def input_half(dOut, Tmp, W_in, W_out):
    dSquare = dOut @ W_out.T
    dTmp = dSquare * Tmp + Tmp * dSquare
    return dTmp @ W_in.T, {"dOut": dOut, "square": Tmp**2, "dTmp": dTmp}


def weight_half(In, kept):
    dW_in = jnp.einsum("bd,bf->df", In, kept["dTmp"])
    return dW_in, jnp.einsum("bf,bd->fd", kept["square"], kept["dOut"])


# %% halves right: half of the work with Tmp is put off
def input_half(dOut, Tmp, W_in, W_out):
    dSquare = dOut @ W_out.T
    return (2 * Tmp * dSquare) @ W_in.T, (dSquare, dOut, Tmp)


def weight_half(In, kept):
    dSquare, dOut, Tmp = kept
    return 2 * In.T @ (Tmp * dSquare), jnp.square(Tmp).T @ dOut


# %% halves right: by jax.vjp, twice
def input_half(dOut, Tmp, W_in, W_out):
    _, vjp = jax.vjp(lambda Tmp: Tmp**2 @ W_out, Tmp)
    [dTmp] = vjp(dOut)
    return dTmp @ W_in.T, (dTmp, Tmp, dOut)


def weight_half(In, kept):
    dTmp, Tmp, dOut = kept
    W_in = jnp.zeros((In.shape[1], Tmp.shape[1]), In.dtype)
    W_out = jnp.zeros((Tmp.shape[1], dOut.shape[1]), In.dtype)
    _, back_in = jax.vjp(lambda W: In @ W, W_in)
    _, back_out = jax.vjp(lambda W: Tmp**2 @ W, W_out)
    return back_in(dTmp)[0], back_out(dOut)[0]


# %% filled wrong: 1F1B
filled = [
    "F0 F1 F2 B0 W0 B1 W1 B2 W2",
    "F0 F1 B0 W0 F2 B1 W1 B2 W2",
    "F0 B0 W0 F1 B1 W1 F2 B2 W2",
]

# %% filled wrong: weight halves at the end
filled = [
    "F0 F1 F2 B0 B1 B2 W0 W1 W2",
    "F0 F1 B0 F2 B1 B2 W0 W1 W2",
    "F0 B0 F1 B1 F2 B2 W0 W1 W2",
]

# %% filled wrong: two at a time, then the third
filled = ["F0 F1 B0 B1 W0 W1 F2 B2 W2"] * 3

# %% filled wrong: one at a time
filled = ["F0 B0 W0 F1 B1 W1 F2 B2 W2"] * 3

# %% filled wrong: a weight half before its input half
filled = ["F0 W0 B0 F1 B1 W1 F2 B2 W2"] * 3

# %% filled wrong: one unit too late
filled = [
    "F0 F1 B0 W0 F2 B1 W1 B2 W2",
    "F0 B0 F1 W0 F2 B1 W1 B2 W2",
    "F0 B0 F1 B1 W0 W1 F2 B2 W2",
]

# %% filled wrong: in time, with room for three on one stage
filled = [
    "F0 F1 F2 B0 W0 B1 W1 B2 W2",
    "F0 F1 B0 W0 F2 B1 W1 B2 W2",
    "F0 B0 F1 W0 F2 B1 W1 B2 W2",
]

# %% filled right: weight halves early on the last stages
filled = [
    "F0 F1 B0 W0 F2 B1 W1 B2 W2",
    "F0 B0 F1 W0 F2 B1 W1 B2 W2",
    "F0 B0 W0 F1 B1 W1 F2 B2 W2",
]

# %% filled right: other numbers, weight halves late
first = "F2 F1 B2 W2 F0 B1 W1 B0 W0"
filled = [first, "F2 F1 B2 B1 W2 F0 B0 W1 W0", "F2 B2 F1 B1 W2 F0 B0 W1 W0"]


# %% forward wrong: weights are gathered
def pipeline_forward(In, W):
    p, stage = jax.lax.axis_size("Z"), jax.lax.axis_index("Z")
    W = jax.lax.all_gather(W, "Z", axis=0, tiled=True)
    x = In
    for matrix in W:
        x = jax.nn.relu(x @ matrix)
    return jnp.where(stage == p - 1, x, 0)[None]


# %% forward wrong: one microbatch at a time
def pipeline_forward(In, W):
    p, stage = jax.lax.axis_size("Z"), jax.lax.axis_index("Z")
    outs = []
    for x in In:
        y = jax.nn.relu(x @ W[0])
        for s in range(p - 1):
            came = jax.lax.ppermute(y, "Z", [(s, s + 1)])
            y = jnp.where(stage == s + 1, jax.nn.relu(came @ W[0]), y)
        outs.append(y)
    return jnp.where(stage == p - 1, jnp.stack(outs), 0)[None]


# %% forward wrong: the whole batch in one piece
def pipeline_forward(In, W):
    p, stage = jax.lax.axis_size("Z"), jax.lax.axis_index("Z")
    y = jax.nn.relu(In @ W[0])
    for s in range(p - 1):
        came = jax.lax.ppermute(y, "Z", [(s, s + 1)])
        y = jnp.where(stage == s + 1, jax.nn.relu(came @ W[0]), y)
    return jnp.where(stage == p - 1, y, 0)[None]


# %% forward wrong: sends round the corner
def pipeline_forward(In, W):
    p, stage, m = jax.lax.axis_size("Z"), jax.lax.axis_index("Z"), len(In)
    y, outs = In[0], []
    for tick in range(m + p - 1):
        if tick > 0:
            y = jax.lax.ppermute(y, "Z", [(s, (s + 1) % p) for s in range(p)])
        x = jnp.where(stage == 0, In[min(tick, m - 1)], y)
        y = jax.nn.relu(x @ W[0])
        outs.append(y)
    return jnp.where(stage == p - 1, jnp.stack(outs[-m:]), 0)[None]


# %% forward wrong: idle stages send too
def pipeline_forward(In, W):
    p, stage, m = jax.lax.axis_size("Z"), jax.lax.axis_index("Z"), len(In)
    y, outs = In[0], []
    for tick in range(m + p - 1):
        if tick > 0:
            y = jax.lax.ppermute(y, "Z", [(s, s + 1) for s in range(p - 1)])
        x = jnp.where(stage == 0, In[min(tick, m - 1)], y)
        y = jax.nn.relu(x @ W[0])
        outs.append(y)
    return jnp.where(stage == p - 1, jnp.stack(outs[-m:]), 0)[None]


# %% forward wrong: everyone gets the results
def pipeline_forward(In, W):
    p, stage, m = jax.lax.axis_size("Z"), jax.lax.axis_index("Z"), len(In)
    y, outs = In[0], []
    for tick in range(m + p - 1):
        if tick > 0:
            pairs = [(s, s + 1) for s in range(p - 1) if 0 < tick - s <= m]
            y = jax.lax.ppermute(y, "Z", pairs)
        x = jnp.where(stage == 0, In[min(tick, m - 1)], y)
        y = jax.nn.relu(x @ W[0])
        outs.append(y)
    Out = jnp.where(stage == p - 1, jnp.stack(outs[-m:]), 0)
    return jax.lax.psum(Out, "Z")[None] + 0 * Out


# %% forward wrong: every stage returns what it made
def pipeline_forward(In, W):
    p, stage, m = jax.lax.axis_size("Z"), jax.lax.axis_index("Z"), len(In)
    y, outs = In[0], []
    for tick in range(m + p - 1):
        if tick > 0:
            pairs = [(s, s + 1) for s in range(p - 1) if 0 < tick - s <= m]
            y = jax.lax.ppermute(y, "Z", pairs)
        x = jnp.where(stage == 0, In[min(tick, m - 1)], y)
        y = jax.nn.relu(x @ W[0])
        outs.append(y)
    return jnp.stack(outs[-m:])[None]


# %% forward wrong: the first microbatches come out
def pipeline_forward(In, W):
    p, stage, m = jax.lax.axis_size("Z"), jax.lax.axis_index("Z"), len(In)
    y, outs = In[0], []
    for tick in range(m + p - 1):
        if tick > 0:
            pairs = [(s, s + 1) for s in range(p - 1) if 0 < tick - s <= m]
            y = jax.lax.ppermute(y, "Z", pairs)
        x = jnp.where(stage == 0, In[min(tick, m - 1)], y)
        y = jax.nn.relu(x @ W[0])
        outs.append(y)
    return jnp.where(stage == p - 1, jnp.stack(outs[:m]), 0)[None]


# %% forward wrong: a permute for each boundary
def pipeline_forward(In, W):
    p, stage, m = jax.lax.axis_size("Z"), jax.lax.axis_index("Z"), len(In)
    y, outs = In[0], []
    for tick in range(m + p - 1):
        senders = [s for s in range(p - 1) if 0 < tick - s <= m]
        came = [jax.lax.ppermute(y, "Z", [(s, s + 1)]) for s in senders]
        x = jnp.where(stage == 0, In[min(tick, m - 1)], sum(came))
        y = jax.nn.relu(x @ W[0])
        outs.append(y)
    return jnp.where(stage == p - 1, jnp.stack(outs[-m:]), 0)[None]


# %% forward wrong: weights travel
def pipeline_forward(In, W):
    p, stage = jax.lax.axis_size("Z"), jax.lax.axis_index("Z")
    matrices = [W[0]]
    for _ in range(p - 1):
        pairs = [(s, s + 1) for s in range(p - 1)]
        matrices.insert(0, jax.lax.ppermute(matrices[0], "Z", pairs))
    x = In
    for matrix in matrices:
        x = jax.nn.relu(x @ matrix)
    return jnp.where(stage == p - 1, x, 0)[None]


# %% forward right: every stage has a place for each microbatch
def pipeline_forward(In, W):
    p, stage, m = jax.lax.axis_size("Z"), jax.lax.axis_index("Z"), len(In)
    x = jnp.where(stage == 0, In, 0)
    Out = jnp.zeros_like(x)
    for tick in range(m + p - 1):
        i = jnp.clip(tick - stage, 0, m - 1)
        y = jax.nn.relu(x[i] @ W[0])
        Out = Out.at[i].set(jnp.where(tick >= stage, y, Out[i]))
        pairs = [(s, s + 1) for s in range(p - 1) if s <= tick < s + m]
        if pairs:
            came = jax.lax.ppermute(y, "Z", pairs)
            goal = tick + 1 - stage
            there = (stage > 0) & (goal >= 0) & (goal < m)
            goal = jnp.clip(goal, 0, m - 1)
            x = x.at[goal].set(jnp.where(there, came, x[goal]))
    return jnp.where(stage == p - 1, Out, 0)[None]


# %% forward right: the input is a queue
def pipeline_forward(In, W):
    p, stage, m = jax.lax.axis_size("Z"), jax.lax.axis_index("Z"), len(In)
    queue = jnp.concatenate([In, jnp.zeros((p - 1, *In.shape[1:]), In.dtype)])
    x, done = queue[0], []
    for tick in range(m + p - 1):
        y = jax.nn.relu(x @ W[0])
        done = (done + [y])[-m:]
        if tick < m + p - 2:
            busy = range(max(0, tick - m + 1), min(p - 1, tick + 1))
            came = jax.lax.ppermute(y, "Z", [(s, s + 1) for s in busy])
            x = jnp.where(stage == 0, queue[tick + 1], came)
    return jnp.stack(done)[None] * (stage == p - 1)


# %% best wrong: memory does not matter
def best(p, m, v, F, B, W, room):
    idle = {
        "1F1B": F + B + W,
        "interleaved": (F + B + W) / v,
        "zero-bubble": F + B - W,
    }
    return min(idle, key=idle.get)


# %% best wrong: chunks take as much room as stages
def best(p, m, v, F, B, W, room):
    options = {
        "1F1B": (F + B + W, p),
        "interleaved": ((F + B + W) / v, min((v + 1) * p - 1, v * m)),
        "zero-bubble": (F + B - W, p),
    }
    fitting = {k: idle for k, (idle, held) in options.items() if held <= room}
    return min(fitting, key=fitting.get) if fitting else "none"


# %% best wrong: interleaving holds what 1F1B holds
def best(p, m, v, F, B, W, room):
    if room < p:
        return "none"
    zero = F + B - W < (F + B + W) / v
    return "zero-bubble" if zero else "interleaved"


# %% best wrong: all halves are of one length
def best(p, m, v, F, B, W, room):
    chunks = min((v + 1) * p - 1, v * m)
    options = {
        "1F1B": (3, p),
        "interleaved": (3 / v, chunks / v),
        "zero-bubble": (1, p),
    }
    fitting = {k: idle for k, (idle, held) in options.items() if held <= room}
    return min(fitting, key=fitting.get) if fitting else "none"


# %% best wrong: more microbatches than there are
def best(p, m, v, F, B, W, room):
    options = {
        "1F1B": (F + B + W, p),
        "interleaved": ((F + B + W) / v, ((v + 1) * p - 1) / v),
        "zero-bubble": (F + B - W, p),
    }
    fitting = {k: idle for k, (idle, held) in options.items() if held <= room}
    return min(fitting, key=fitting.get) if fitting else "none"


# %% best wrong: idle times rounded down
def best(p, m, v, F, B, W, room):
    chunks = min((v + 1) * p - 1, v * m)
    options = {
        "interleaved": ((F + B + W) // v, chunks / v),
        "zero-bubble": (F + B - W, p),
    }
    fitting = {k: idle for k, (idle, held) in options.items() if held <= room}
    return min(fitting, key=fitting.get) if fitting else "none"


# %% best wrong: microbatches held rounded down
def best(p, m, v, F, B, W, room):
    chunks = min((v + 1) * p - 1, v * m)
    options = {
        "interleaved": ((F + B + W) / v, chunks // v),
        "zero-bubble": (F + B - W, p),
    }
    fitting = {k: idle for k, (idle, held) in options.items() if held <= room}
    return min(fitting, key=fitting.get) if fitting else "none"


# %% best right: cases
def best(p, m, v, F, B, W, room):
    if v * room >= min((v + 1) * p - 1, v * m):
        if p > room or F + B + W < v * (F + B - W):
            return "interleaved"
    return "zero-bubble" if p <= room else "none"


# %% best right: asks the simulator
def best(p, m, v, F, B, W, room):
    from shardlab import pipeline

    ends = {"none": float("inf")}
    runs = {
        "1F1B": (pipeline.one_f_one_b(p, m, F, B + W), 1),
        "interleaved": (pipeline.interleaved(p, m, v, F, B + W), v),
        "zero-bubble": (pipeline.zero_bubble(p, m, F, B + W, W), 1),
    }
    for name, (events, part) in runs.items():
        if max(pipeline.in_flight(events)) <= part * room:
            ends[name] = pipeline.makespan(events)
    return min(ends, key=ends.get)


# %% formulas equivalent: line 6: `Min(m, p - s)` with its arguments reversed
# Of two numbers the smaller one is the same in either order.

# %% order equivalent: line 4: `min(p - s, m)` with its arguments reversed
# Of two numbers the smaller one is the same in either order.

# %% legal equivalent: line 8: 3 becomes 4
# Sorted by end or by start: what does not overlap has one order.

# %% best equivalent: line 4: `min((v + 1) * p - 1, v * m)` with its arguments reversed
# Of two numbers the smaller one is the same in either order.

# %% forward equivalent: line 7: 0 becomes 1
# A device has one matrix, and JAX takes the last one for any number beyond.

# %% forward equivalent: line 12: 0 becomes 1
# A device has one matrix, and JAX takes the last one for any number beyond.

# %% forward equivalent: line 11: `(tick + 1) % m` loses its right side
# Beyond the last microbatch stage 0 has no work, and nobody sees what it reads.
