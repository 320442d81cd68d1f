# %% repaired wrong: the loop never runs
def gradient(In, W):
    p, stage = jax.lax.axis_size("Z"), jax.lax.axis_index("Z")
    x, dW = In, 0 * W
    for s in range(p - 1):
        came = jax.lax.ppermute(layer(x, W[0]), "Z", [(s, s + 1)])
        x = jnp.where(stage == s + 1, came, x)
    dx = layer(x, W[0])
    for s in range(0, p, -1):
        _, vjp = jax.vjp(layer, x, W[0])
        dx, dW = vjp(dx)
        dx = jax.lax.ppermute(dx, "Z", [(s, s - 1)])
    return dW


# %% repaired wrong: what a stage made for what went into it
def gradient(In, W):
    p, stage = jax.lax.axis_size("Z"), jax.lax.axis_index("Z")
    x = In
    for s in range(p - 1):
        came = jax.lax.ppermute(layer(x, W[0]), "Z", [(s, s + 1)])
        x = jnp.where(stage == s + 1, came, x)
    kept = layer(x, W[0])
    _, vjp = jax.vjp(layer, kept, W[0])
    dx = jnp.where(stage == p - 1, kept, 0)
    for s in reversed(range(1, p)):
        came = jax.lax.ppermute(vjp(dx)[0], "Z", [(s, s - 1)])
        dx = jnp.where(stage == s - 1, came, dx)
    return vjp(dx)[1][None]


# %% repaired wrong: what a stage made, in the product alone
def gradient(In, W):
    p, stage = jax.lax.axis_size("Z"), jax.lax.axis_index("Z")
    x = In
    for s in range(p - 1):
        came = jax.lax.ppermute(layer(x, W[0]), "Z", [(s, s + 1)])
        x = jnp.where(stage == s + 1, came, x)
    kept = layer(x, W[0])
    dx = jnp.where(stage == p - 1, kept, 0)
    for s in reversed(range(1, p)):
        up = (dx * (kept > 0)) @ W[0].T
        came = jax.lax.ppermute(up, "Z", [(s, s - 1)])
        dx = jnp.where(stage == s - 1, came, dx)
    return (kept.T @ (dx * (kept > 0)))[None]


# %% repaired wrong: overwritten by what never came
def gradient(In, W):
    p, stage = jax.lax.axis_size("Z"), jax.lax.axis_index("Z")
    x = In
    for s in range(p - 1):
        x = jax.lax.ppermute(layer(x, W[0]), "Z", [(s, s + 1)])
    Out, vjp = jax.vjp(layer, x, W[0])
    dx = jnp.where(stage == p - 1, Out, 0)
    for s in reversed(range(1, p)):
        came = jax.lax.ppermute(vjp(dx)[0], "Z", [(s, s - 1)])
        dx = jnp.where(stage == s - 1, came, dx)
    return vjp(dx)[1][None]


# %% repaired wrong: all weights on every stage, and jax.grad
def gradient(In, W):
    p, stage = jax.lax.axis_size("Z"), jax.lax.axis_index("Z")
    x = jax.lax.psum(In, "Z")
    every = jax.lax.all_gather(W, "Z", axis=0, tiled=True)

    def loss(every):
        y = x
        for s in range(p):
            y = layer(y, every[s])
        return (y**2).sum() / 2

    return jax.grad(loss)(every)[stage][None]


# %% repaired wrong: jax.grad on stage 0, and its results sent on
def gradient(In, W):
    p, stage = jax.lax.axis_size("Z"), jax.lax.axis_index("Z")
    at_first, there = [W[0]], W[0]
    for s in range(1, p):
        there = jax.lax.ppermute(W[0], "Z", [(s, 0)])
        at_first.append(there)

    def loss(weights):
        y = In
        for each in weights:
            y = layer(y, each)
        return (y**2).sum() / 2

    found = jax.grad(loss)(at_first)
    dW = found[0]
    for s in range(1, p):
        came = jax.lax.ppermute(found[s], "Z", [(0, s)])
        dW = jnp.where(stage == s, came, dW)
    return dW[None]


# %% repaired wrong: gradients go down
def gradient(In, W):
    p, stage = jax.lax.axis_size("Z"), jax.lax.axis_index("Z")
    x = In
    for s in range(p - 1):
        came = jax.lax.ppermute(layer(x, W[0]), "Z", [(s, s + 1)])
        x = jnp.where(stage == s + 1, came, x)
    Out, vjp = jax.vjp(layer, x, W[0])
    dx = jnp.where(stage == p - 1, Out, 0)
    for s in reversed(range(p - 1)):
        came = jax.lax.ppermute(vjp(dx)[0], "Z", [(s, s + 1)])
        dx = jnp.where(stage == s + 1, came, dx)
    return vjp(dx)[1][None]


# %% repaired wrong: the mean of the squares
def gradient(In, W):
    p, stage = jax.lax.axis_size("Z"), jax.lax.axis_index("Z")
    x = In
    for s in range(p - 1):
        came = jax.lax.ppermute(layer(x, W[0]), "Z", [(s, s + 1)])
        x = jnp.where(stage == s + 1, came, x)
    Out, vjp = jax.vjp(layer, x, W[0])
    dx = jnp.where(stage == p - 1, 2 * Out / Out.size, 0)
    for s in reversed(range(1, p)):
        came = jax.lax.ppermute(vjp(dx)[0], "Z", [(s, s - 1)])
        dx = jnp.where(stage == s - 1, came, dx)
    return vjp(dx)[1][None]


# %% repaired wrong: a step is taken
def gradient(In, W):
    p, stage = jax.lax.axis_size("Z"), jax.lax.axis_index("Z")
    x = In
    for s in range(p - 1):
        came = jax.lax.ppermute(layer(x, W[0]), "Z", [(s, s + 1)])
        x = jnp.where(stage == s + 1, came, x)
    Out, vjp = jax.vjp(layer, x, W[0])
    dx = jnp.where(stage == p - 1, Out, 0)
    for s in reversed(range(1, p)):
        came = jax.lax.ppermute(vjp(dx)[0], "Z", [(s, s - 1)])
        dx = jnp.where(stage == s - 1, came, dx)
    return W - 0.01 * vjp(dx)[1][None]


# %% repaired wrong: the weights are changed in place
def gradient(In, W):
    p, stage = jax.lax.axis_size("Z"), jax.lax.axis_index("Z")
    x = In
    for s in range(p - 1):
        came = jax.lax.ppermute(layer(x, W[0]), "Z", [(s, s + 1)])
        x = jnp.where(stage == s + 1, came, x)
    Out, vjp = jax.vjp(layer, x, W[0])
    dx = jnp.where(stage == p - 1, Out, 0)
    for s in reversed(range(1, p)):
        came = jax.lax.ppermute(vjp(dx)[0], "Z", [(s, s - 1)])
        dx = jnp.where(stage == s - 1, came, dx)
    W[0] = vjp(dx)[1]
    return W


# %% repaired wrong: everybody sends in every step
def gradient(In, W):
    p, stage = jax.lax.axis_size("Z"), jax.lax.axis_index("Z")
    x, down = In, [(s, s + 1) for s in range(p - 1)]
    for s in range(p - 1):
        came = jax.lax.ppermute(layer(x, W[0]), "Z", down)
        x = jnp.where(stage == s + 1, came, x)
    Out, vjp = jax.vjp(layer, x, W[0])
    dx = jnp.where(stage == p - 1, Out, 0)
    for s in reversed(range(1, p)):
        came = jax.lax.ppermute(vjp(dx)[0], "Z", [(b, a) for a, b in down])
        dx = jnp.where(stage == s - 1, came, dx)
    return vjp(dx)[1][None]


# %% repaired wrong: the loss's gradient is everybody's
def gradient(In, W):
    p, stage = jax.lax.axis_size("Z"), jax.lax.axis_index("Z")
    x = In
    for s in range(p - 1):
        came = jax.lax.ppermute(layer(x, W[0]), "Z", [(s, s + 1)])
        x = jnp.where(stage == s + 1, came, x)
    Out, vjp = jax.vjp(layer, x, W[0])
    dx = Out
    for s in reversed(range(1, p)):
        came = jax.lax.ppermute(dx, "Z", [(s, s - 1)])
        dx = jnp.where(stage == s - 1, came, dx)
    return vjp(dx)[1][None]


# %% repaired right: the whole way forward, differentiated
def gradient(In, W):
    p, stage = jax.lax.axis_size("Z"), jax.lax.axis_index("Z")

    def way(W):
        x = In
        for s in range(p):
            y = layer(x, W[0])
            if s < p - 1:
                came = jax.lax.ppermute(y, "Z", [(s, s + 1)])
                x = jnp.where(stage == s + 1, came, x)
        return jnp.where(stage == p - 1, y, 0)

    Out, vjp = jax.vjp(way, W)
    return vjp(Out)[0]


# %% repaired right: the chain rule by hand
def gradient(In, W):
    p, stage, W = jax.lax.axis_size("Z"), jax.lax.axis_index("Z"), W[0]
    kept = In
    for s in range(1, p):
        sent = jnp.maximum(kept @ W, 0)
        kept += jax.lax.ppermute(sent, "Z", [(s - 1, s)])
    z = kept @ W
    dz = jnp.where(stage == p - 1, jnp.maximum(z, 0), 0)
    for s in range(p - 1, 0, -1):
        came = jax.lax.ppermute(dz @ W.T, "Z", [(s, s - 1)])
        dz += jnp.where(z > 0, came, 0)
    return jnp.einsum("bi,bj->ij", kept, dz)[None]


# %% formulas wrong: nobody waits for a tick
locked = (1 + t) * (m + p - 1)
last = 3 * (p - 1) + 3 * q * m
first = 3 * q * m + Max(0, (p - 1) * (3 - q))

# %% formulas wrong: every tick is a long one
locked = 2 * t * (m + p - 1)
last = 3 * (p - 1) + 3 * q * m
first = 3 * q * m + Max(0, (p - 1) * (3 - q))

# %% formulas wrong: one short tick too few
locked = p - 1 + (2 * m + p - 1) * t
last = 3 * (p - 1) + 3 * q * m
first = 3 * q * m + Max(0, (p - 1) * (3 - q))

# %% formulas wrong: all stages are slow
locked = p + (2 * m + p - 2) * t
last = 3 * q * (m + p - 1)
first = 3 * q * m + Max(0, (p - 1) * (3 - q))

# %% formulas wrong: the slow stage is waited for once
locked = p + (2 * m + p - 2) * t
last = 3 * (m + p - 1) + 3 * (q - 1)
first = 3 * q * m + Max(0, (p - 1) * (3 - q))

# %% formulas wrong: the last stage is always busy
locked = p + (2 * m + p - 2) * t
last = 3 * q * m
first = 3 * q * m + Max(0, (p - 1) * (3 - q))

# %% formulas wrong: the first stage is the last one in a mirror
locked = p + (2 * m + p - 2) * t
last = 3 * (p - 1) + 3 * q * m
first = 3 * q * m + 3 * (p - 1)

# %% formulas wrong: waits less than nothing
locked = p + (2 * m + p - 2) * t
last = 3 * (p - 1) + 3 * q * m
first = 3 * q * m + (p - 1) * (3 - q)

# %% formulas wrong: the first stage never waits
locked = p + (2 * m + p - 2) * t
last = 3 * (p - 1) + 3 * q * m
first = 3 * q * m

# %% formulas right: as texts
locked = "t*(2*m + p - 2) + p"
last = "3*(p + q*m - 1)"
first = "3*m*q + (p - 1)*Max(3 - q, 0)"

# %% formulas right: ticks counted, and the longer of two
locked = 2 * (m + p - 1) * t - p * (t - 1)
last = (p - 1) + m * 3 * q + 2 * (p - 1)
first = Max(p * q, q + 3 * (p - 1)) + (3 * m - p) * q


# %% order wrong: 1F1B
def order(s, p, m):
    ahead = min(p - s, m)
    tasks = [f"F{i}" for i in range(ahead)]
    for i in range(m):
        tasks += [f"B{i}"] + [f"F{i + ahead}"] * (i + ahead < m)
    return tasks


# %% order wrong: GPipe
def order(s, p, m):
    return [f"F{i}" for i in range(m)] + [f"B{i}" for i in reversed(range(m))]


# %% order wrong: one microbatch at a time
def order(s, p, m):
    return [f"{kind}{i}" for i in range(m) for kind in "FB"]


# %% order wrong: the mirror image
def order(s, p, m):
    ahead = min(2 * s + 1, m)
    tasks = [f"F{i}" for i in range(ahead)]
    for i in range(m):
        tasks += [f"B{i}"] + [f"F{i + ahead}"] * (i + ahead < m)
    return tasks


# %% order wrong: twice as far ahead
def order(s, p, m):
    ahead = min(2 * (p - s), m)
    tasks = [f"F{i}" for i in range(ahead)]
    for i in range(m):
        tasks += [f"B{i}"] + [f"F{i + ahead}"] * (i + ahead < m)
    return tasks


# %% order wrong: one more ahead than 1F1B
def order(s, p, m):
    ahead = min(p - s + (s < p - 1), m)
    tasks = [f"F{i}" for i in range(ahead)]
    for i in range(m):
        tasks += [f"B{i}"] + [f"F{i + ahead}"] * (i + ahead < m)
    return tasks


# %% order wrong: forgets that there may be few microbatches
def order(s, p, m):
    ahead = 2 * (p - s) - 1
    tasks = [f"F{i}" for i in range(ahead)]
    for i in range(m):
        tasks += [f"B{i}"] + [f"F{i + ahead}"] * (i + ahead < m)
    return tasks


# %% order wrong: forgets the last backwards
def order(s, p, m):
    ahead = min(2 * (p - s) - 1, m)
    tasks = [f"F{i}" for i in range(ahead)]
    for i in range(m - ahead):
        tasks += [f"B{i}", f"F{i + ahead}"]
    return tasks


# %% order wrong: a backward before its forward
def order(s, p, m):
    return [f"B{i}" for i in range(m)] + [f"F{i}" for i in range(m)]


# %% order right: three parts
def order(s, p, m):
    ahead = min(2 * (p - s) - 1, m)
    steady = [t for i in range(m - ahead) for t in (f"B{i}", f"F{i + ahead}")]
    first = [f"F{i}" for i in range(ahead)]
    return first + steady + [f"B{i}" for i in range(m - ahead, m)]


# %% order right: sorted by what it waits for, as a tuple
def order(s, p, m):
    forwards = [(2 * i, f"F{i}") for i in range(m)]
    backwards = [(2 * i + 4 * (p - s) - 3, f"B{i}") for i in range(m)]
    return tuple(task for _, task in sorted(forwards + backwards))


# %% legal wrong: stages may do two things at a time
def legal(events, p, m, hop, room):
    end = {(k, i, s): e for s, k, i, _, e in events}
    if len(events) != 2 * p * m or len(end) != len(events):
        return False
    came, busy = {}, {}
    for (k, i, s), e in sorted(end.items(), key=lambda one: one[1]):
        to = s + 1 if k == "F" else s - 1
        busy[s, to] = max(busy.get((s, to), 0), e) + hop
        came[k, i, to] = busy[s, to]
    free, held = [0] * p, [0] * p
    for s, k, i, start, stop in sorted(events, key=lambda e: e[3]):
        if came.get((k, i, s), 0) > start:
            return False
        if k == "B" and end["F", i, s] > start:
            return False
        free[s], held[s] = stop, held[s] + (1 if k == "F" else -1)
        if held[s] > room:
            return False
    return True


# %% legal wrong: a backward needs only the stage after
def legal(events, p, m, hop, room):
    end = {(k, i, s): e for s, k, i, _, e in events}
    if len(events) != 2 * p * m or len(end) != len(events):
        return False
    came, busy = {}, {}
    for (k, i, s), e in sorted(end.items(), key=lambda one: one[1]):
        to = s + 1 if k == "F" else s - 1
        busy[s, to] = max(busy.get((s, to), 0), e) + hop
        came[k, i, to] = busy[s, to]
    free, held = [0] * p, [0] * p
    for s, k, i, start, stop in sorted(events, key=lambda e: e[3]):
        if came.get((k, i, s), 0) > start or start < free[s]:
            return False
        free[s], held[s] = stop, held[s] + (1 if k == "F" else -1)
        if held[s] > room:
            return False
    return True


# %% legal wrong: missing work is not missed
def legal(events, p, m, hop, room):
    end = {(k, i, s): e for s, k, i, _, e in events}
    came, busy = {}, {}
    for (k, i, s), e in sorted(end.items(), key=lambda one: one[1]):
        to = s + 1 if k == "F" else s - 1
        busy[s, to] = max(busy.get((s, to), 0), e) + hop
        came[k, i, to] = busy[s, to]
    free, held = [0] * p, [0] * p
    for s, k, i, start, stop in sorted(events, key=lambda e: e[3]):
        if came.get((k, i, s), 0) > start or start < free[s]:
            return False
        if k == "B" and end.get(("F", i, s), 0) > start:
            return False
        free[s], held[s] = stop, held[s] + (1 if k == "F" else -1)
        if held[s] > room:
            return False
    return True


# %% legal wrong: what is done twice is not seen
def legal(events, p, m, hop, room):
    end = {(k, i, s): e for s, k, i, _, e in events}
    if len(end) != 2 * p * m:
        return False
    came, busy = {}, {}
    for (k, i, s), e in sorted(end.items(), key=lambda one: one[1]):
        to = s + 1 if k == "F" else s - 1
        busy[s, to] = max(busy.get((s, to), 0), e) + hop
        came[k, i, to] = busy[s, to]
    free, held = [0] * p, [0] * p
    for s, k, i, start, stop in sorted(events, key=lambda e: e[3]):
        if came.get((k, i, s), 0) > start or start < free[s]:
            return False
        if k == "B" and end["F", i, s] > start:
            return False
        free[s], held[s] = stop, held[s] + (1 if k == "F" else -1)
        if held[s] > room:
            return False
    return True


# %% legal wrong: began is enough
def legal(events, p, m, hop, room):
    end = {(k, i, s): t for s, k, i, t, _ in events}
    if len(events) != 2 * p * m or len(end) != len(events):
        return False
    came, busy = {}, {}
    for (k, i, s), e in sorted(end.items(), key=lambda one: one[1]):
        to = s + 1 if k == "F" else s - 1
        busy[s, to] = max(busy.get((s, to), 0), e) + hop
        came[k, i, to] = busy[s, to]
    free, held = [0] * p, [0] * p
    for s, k, i, start, stop in sorted(events, key=lambda e: e[3]):
        if came.get((k, i, s), 0) > start or start < free[s]:
            return False
        if k == "B" and end["F", i, s] > start:
            return False
        free[s], held[s] = stop, held[s] + (1 if k == "F" else -1)
        if held[s] > room:
            return False
    return True


# %% legal wrong: backwards run down the stages
def legal(events, p, m, hop, room):
    end = {(k, i, s): e for s, k, i, _, e in events}
    if len(events) != 2 * p * m or len(end) != len(events):
        return False
    came, busy = {}, {}
    for (k, i, s), e in sorted(end.items(), key=lambda one: one[1]):
        to = s + 1
        busy[s, to] = max(busy.get((s, to), 0), e) + hop
        came[k, i, to] = busy[s, to]
    free, held = [0] * p, [0] * p
    for s, k, i, start, stop in sorted(events, key=lambda e: e[3]):
        if came.get((k, i, s), 0) > start or start < free[s]:
            return False
        if k == "B" and end["F", i, s] > start:
            return False
        free[s], held[s] = stop, held[s] + (1 if k == "F" else -1)
        if held[s] > room:
            return False
    return True


# %% legal wrong: messages take no time
def legal(events, p, m, hop, room):
    end = {(k, i, s): e for s, k, i, _, e in events}
    if len(events) != 2 * p * m or len(end) != len(events):
        return False
    came, busy = {}, {}
    for (k, i, s), e in sorted(end.items(), key=lambda one: one[1]):
        to = s + 1 if k == "F" else s - 1
        busy[s, to] = max(busy.get((s, to), 0), e)
        came[k, i, to] = busy[s, to]
    free, held = [0] * p, [0] * p
    for s, k, i, start, stop in sorted(events, key=lambda e: e[3]):
        if came.get((k, i, s), 0) > start or start < free[s]:
            return False
        if k == "B" and end["F", i, s] > start:
            return False
        free[s], held[s] = stop, held[s] + (1 if k == "F" else -1)
        if held[s] > room:
            return False
    return True


# %% legal wrong: a stage sends to itself
def legal(events, p, m, hop, room):
    end = {(k, i, s): e for s, k, i, _, e in events}
    if len(events) != 2 * p * m or len(end) != len(events):
        return False
    came, busy = {}, {}
    for (k, i, s), e in sorted(end.items(), key=lambda one: one[1]):
        to = s + 1 if k == "F" else s - 1
        busy[s, to] = max(busy.get((s, to), 0), e) + hop
        came[k, i, to] = busy[s, to]
    free, held = [0] * p, [0] * p
    for s, k, i, start, stop in sorted(events, key=lambda e: e[3]):
        if came.get((k, i, s), 0) > start or start < free[s]:
            return False
        if k == "B" and end["F", i, s] + hop > start:
            return False
        free[s], held[s] = stop, held[s] + (1 if k == "F" else -1)
        if held[s] > room:
            return False
    return True


# %% legal wrong: there is always room
def legal(events, p, m, hop, room):
    end = {(k, i, s): e for s, k, i, _, e in events}
    if len(events) != 2 * p * m or len(end) != len(events):
        return False
    came, busy = {}, {}
    for (k, i, s), e in sorted(end.items(), key=lambda one: one[1]):
        to = s + 1 if k == "F" else s - 1
        busy[s, to] = max(busy.get((s, to), 0), e) + hop
        came[k, i, to] = busy[s, to]
    free, held = [0] * p, [0] * p
    for s, k, i, start, stop in sorted(events, key=lambda e: e[3]):
        if came.get((k, i, s), 0) > start or start < free[s]:
            return False
        if k == "B" and end["F", i, s] > start:
            return False
        free[s], held[s] = stop, held[s] + (1 if k == "F" else -1)
    return True


# %% legal wrong: room for one less
def legal(events, p, m, hop, room):
    end = {(k, i, s): e for s, k, i, _, e in events}
    if len(events) != 2 * p * m or len(end) != len(events):
        return False
    came, busy = {}, {}
    for (k, i, s), e in sorted(end.items(), key=lambda one: one[1]):
        to = s + 1 if k == "F" else s - 1
        busy[s, to] = max(busy.get((s, to), 0), e) + hop
        came[k, i, to] = busy[s, to]
    free, held = [0] * p, [0] * p
    for s, k, i, start, stop in sorted(events, key=lambda e: e[3]):
        if came.get((k, i, s), 0) > start or start < free[s]:
            return False
        if k == "B" and end["F", i, s] > start:
            return False
        free[s], held[s] = stop, held[s] + (1 if k == "F" else -1)
        if held[s] >= room:
            return False
    return True


# %% legal wrong: room on all stages together
def legal(events, p, m, hop, room):
    end = {(k, i, s): e for s, k, i, _, e in events}
    if len(events) != 2 * p * m or len(end) != len(events):
        return False
    came, busy = {}, {}
    for (k, i, s), e in sorted(end.items(), key=lambda one: one[1]):
        to = s + 1 if k == "F" else s - 1
        busy[s, to] = max(busy.get((s, to), 0), e) + hop
        came[k, i, to] = busy[s, to]
    free, held = [0] * p, [0] * p
    for s, k, i, start, stop in sorted(events, key=lambda e: e[3]):
        if came.get((k, i, s), 0) > start or start < free[s]:
            return False
        if k == "B" and end["F", i, s] > start:
            return False
        free[s], held[s] = stop, held[s] + (1 if k == "F" else -1)
        if sum(held) > room:
            return False
    return True


# %% legal wrong: times are cut to whole numbers
def legal(events, p, m, hop, room):
    events = [[s, k, i, int(a), int(b)] for s, k, i, a, b in events]
    end = {(k, i, s): e for s, k, i, _, e in events}
    if len(events) != 2 * p * m or len(end) != len(events):
        return False
    came, busy = {}, {}
    for (k, i, s), e in sorted(end.items(), key=lambda one: one[1]):
        to = s + 1 if k == "F" else s - 1
        busy[s, to] = max(busy.get((s, to), 0), e) + hop
        came[k, i, to] = busy[s, to]
    free, held = [0] * p, [0] * p
    for s, k, i, start, stop in sorted(events, key=lambda e: e[3:]):
        if came.get((k, i, s), 0) > start or start < free[s]:
            return False
        if k == "B" and end["F", i, s] > start:
            return False
        free[s], held[s] = stop, held[s] + (1 if k == "F" else -1)
        if held[s] > room:
            return False
    return True


# %% legal wrong: microbatches only in order
def legal(events, p, m, hop, room):
    end = {(k, i, s): e for s, k, i, _, e in events}
    if len(events) != 2 * p * m or len(end) != len(events):
        return False
    came, busy = {}, {}
    for (k, i, s), e in sorted(end.items(), key=lambda one: one[1]):
        to = s + 1 if k == "F" else s - 1
        busy[s, to] = max(busy.get((s, to), 0), e) + hop
        came[k, i, to] = busy[s, to]
    free, held, last = [0] * p, [0] * p, [-1] * p
    for s, k, i, start, stop in sorted(events, key=lambda e: e[3]):
        if came.get((k, i, s), 0) > start or start < free[s]:
            return False
        if k == "B" and end["F", i, s] > start:
            return False
        if k == "F" and i < last[s]:
            return False
        last[s] = i if k == "F" else last[s]
        free[s], held[s] = stop, held[s] + (1 if k == "F" else -1)
        if held[s] > room:
            return False
    return True


# %% legal wrong: one thing at a time is all
def legal(events, p, m, hop, room):
    for a in events:
        for b in events:
            if a is not b and a[0] == b[0] and a[3] < b[4] and b[3] < a[4]:
                return False
    return len(events) == 2 * p * m


# %% legal right: every pair of events, messages carried one by one
def legal(events, p, m, hop, room):
    work = sorted((s, k, i) for s, k, i, _, _ in events)
    if work != [(s, k, i) for s in range(p) for k in "BF" for i in range(m)]:
        return False
    for s in range(p):
        for kind, to in (("F", s + 1), ("B", s - 1)):
            sent = sorted((e[4], e[2]) for e in events if e[:2] == [s, kind])
            clock = 0
            for end, i in sent:
                clock = end if clock < end else clock
                clock += hop
                for e in events:
                    if e[:3] == [to, kind, i] and e[3] < clock:
                        return False
    for a in events:
        for b in events:
            if a is b or a[0] != b[0]:
                continue
            if a[3] < b[4] and b[3] < a[4]:
                return False
            if a[2] == b[2] and a[1] == "F" and a[4] > b[3]:
                return False
        here = [e for e in events if e[0] == a[0]]
        begun = sum(e[1] == "F" and e[3] <= a[3] for e in here)
        if begun - sum(e[1] == "B" and e[4] <= a[3] for e in here) > room:
            return False
    return True


# %% legal right: a clock that a wire tells when it is free
def legal(events, p, m, hop, room):
    names = [(s, k, i) for s, k, i, *_ in events]
    if len(set(names)) < len(names) or len(names) < 2 * p * m:
        return False
    by_end = sorted(events, key=lambda e: e[4])
    for s in range(p):
        here = sorted((e for e in events if e[0] == s), key=lambda e: e[3])
        if any(a[4] > b[3] for a, b in zip(here, here[1:])):
            return False
        under_way = set()
        for _, k, i, *_ in here:
            if k == "B":
                if i not in under_way:
                    return False
                under_way.remove(i)
            else:
                under_way.add(i)
            if len(under_way) > room:
                return False
        for k, before in (("F", s - 1), ("B", s + 1)):
            starts = {e[2]: e[3] for e in here if e[1] == k}
            free_at = float("-inf")
            for e in by_end:
                if (e[0], e[1]) == (before, k):
                    free_at = max(e[4], free_at) + hop
                    if starts[e[2]] < free_at:
                        return False
    return True


# %% legal wrong: the library's, whose wires carry all at once
def legal(events, p, m, hop, room):
    names = {"F": "forward", "B": "backward"}
    given = [(s, names[k], i, start, end) for s, k, i, start, end in events]
    try:
        found = pipeline.check(given, pipeline.routes(p, m), hop)
    except ValueError:
        return False
    return max(pipeline.in_flight(found)) <= room


# %% legal wrong: one wire into a stage, from both sides
def legal(events, p, m, hop, room):
    end = {(k, i, s): e for s, k, i, _, e in events}
    if len(events) != 2 * p * m or len(end) != len(events):
        return False
    came, busy = {}, {}
    for (k, i, s), e in sorted(end.items(), key=lambda one: one[1]):
        to = s + 1 if k == "F" else s - 1
        wire = to
        busy[wire] = max(busy.get(wire, 0), e) + hop
        came[k, i, to] = busy[wire]
    free, held = [0] * p, [0] * p
    for s, k, i, start, stop in sorted(events, key=lambda e: e[3]):
        if came.get((k, i, s), 0) > start or start < free[s]:
            return False
        if k == "B" and end["F", i, s] > start:
            return False
        free[s], held[s] = stop, held[s] + (1 if k == "F" else -1)
        if held[s] > room:
            return False
    return True


# %% legal wrong: one wire for both ways
def legal(events, p, m, hop, room):
    end = {(k, i, s): e for s, k, i, _, e in events}
    if len(events) != 2 * p * m or len(end) != len(events):
        return False
    came, busy = {}, {}
    for (k, i, s), e in sorted(end.items(), key=lambda one: one[1]):
        to = s + 1 if k == "F" else s - 1
        wire = min(s, to)
        busy[wire] = max(busy.get(wire, 0), e) + hop
        came[k, i, to] = busy[wire]
    free, held = [0] * p, [0] * p
    for s, k, i, start, stop in sorted(events, key=lambda e: e[3]):
        if came.get((k, i, s), 0) > start or start < free[s]:
            return False
        if k == "B" and end["F", i, s] > start:
            return False
        free[s], held[s] = stop, held[s] + (1 if k == "F" else -1)
        if held[s] > room:
            return False
    return True


# %% legal wrong: messages wait in the order of microbatches
def legal(events, p, m, hop, room):
    end = {(k, i, s): e for s, k, i, _, e in events}
    if len(events) != 2 * p * m or len(end) != len(events):
        return False
    came, busy = {}, {}
    for (k, i, s), e in sorted(end.items(), key=lambda one: one[0][1]):
        to = s + 1 if k == "F" else s - 1
        busy[s, to] = max(busy.get((s, to), 0), e) + hop
        came[k, i, to] = busy[s, to]
    free, held = [0] * p, [0] * p
    for s, k, i, start, stop in sorted(events, key=lambda e: e[3]):
        if came.get((k, i, s), 0) > start or start < free[s]:
            return False
        if k == "B" and end["F", i, s] > start:
            return False
        free[s], held[s] = stop, held[s] + (1 if k == "F" else -1)
        if held[s] > room:
            return False
    return True


# %% legal wrong: a message looks at the one before only, not at its wait
def legal(events, p, m, hop, room):
    end = {(k, i, s): e for s, k, i, _, e in events}
    if len(events) != 2 * p * m or len(end) != len(events):
        return False
    came, busy = {}, {}
    for (k, i, s), e in sorted(end.items(), key=lambda one: one[1]):
        to = s + 1 if k == "F" else s - 1
        came[k, i, to] = max(busy.get((s, to), 0), e) + hop
        busy[s, to] = e + hop
    free, held = [0] * p, [0] * p
    for s, k, i, start, stop in sorted(events, key=lambda e: e[3]):
        if came.get((k, i, s), 0) > start or start < free[s]:
            return False
        if k == "B" and end["F", i, s] > start:
            return False
        free[s], held[s] = stop, held[s] + (1 if k == "F" else -1)
        if held[s] > room:
            return False
    return True


# %% legal wrong: the gradient of the last stage takes a hop
def legal(events, p, m, hop, room):
    end = {(k, i, s): e for s, k, i, _, e in events}
    if len(events) != 2 * p * m or len(end) != len(events):
        return False
    came, busy = {}, {}
    for (k, i, s), e in sorted(end.items(), key=lambda one: one[1]):
        to = s + 1 if k == "F" else s - 1
        busy[s, to] = max(busy.get((s, to), 0), e) + hop
        came[k, i, to] = busy[s, to]
    free, held = [0] * p, [0] * p
    for s, k, i, start, stop in sorted(events, key=lambda e: e[3]):
        if came.get((k, i, s), 0) > start or start < free[s]:
            return False
        if k == "B" and end["F", i, s] + hop * (s == p - 1) > start:
            return False
        free[s], held[s] = stop, held[s] + (1 if k == "F" else -1)
        if held[s] > room:
            return False
    return True


# %% legal wrong: where one ends no other may start
def legal(events, p, m, hop, room):
    end = {(k, i, s): e for s, k, i, _, e in events}
    if len(events) != 2 * p * m or len(end) != len(events):
        return False
    came, busy = {}, {}
    for (k, i, s), e in sorted(end.items(), key=lambda one: one[1]):
        to = s + 1 if k == "F" else s - 1
        busy[s, to] = max(busy.get((s, to), 0), e) + hop
        came[k, i, to] = busy[s, to]
    free, held = [0] * p, [0] * p
    for s, k, i, start, stop in sorted(events, key=lambda e: e[3]):
        if came.get((k, i, s), 0) > start or start < free[s]:
            return False
        if (
            k == "F"
            and start == free[s]
            and held[s] == room - 1
            and room < m
            and start
        ):
            return False
        if k == "B" and end["F", i, s] > start:
            return False
        free[s], held[s] = stop, held[s] + (1 if k == "F" else -1)
        if held[s] > room:
            return False
    return True


# %% legal wrong: the latest message comes first
def legal(events, p, m, hop, room):
    end = {(k, i, s): e for s, k, i, _, e in events}
    if len(events) != 2 * p * m or len(end) != len(events):
        return False
    came, busy = {}, {}
    for (k, i, s), e in sorted(end.items(), key=lambda one: one[1]):
        to = s + 1 if k == "F" else s - 1
        later = [x for (a, _, b), x in end.items() if (a, b) == (k, s)]
        wait = sum(e < x < e + hop for x in later)
        came[k, i, to] = e + hop * (1 + wait)
    free, held = [0] * p, [0] * p
    for s, k, i, start, stop in sorted(events, key=lambda e: e[3]):
        if came.get((k, i, s), 0) > start or start < free[s]:
            return False
        if k == "B" and end["F", i, s] > start:
            return False
        free[s], held[s] = stop, held[s] + (1 if k == "F" else -1)
        if held[s] > room:
            return False
    return True


# %% legal wrong: all stages share one wire each way
def legal(events, p, m, hop, room):
    end = {(k, i, s): e for s, k, i, _, e in events}
    if len(events) != 2 * p * m or len(end) != len(events):
        return False
    came, busy = {}, {}
    for (k, i, s), e in sorted(end.items(), key=lambda one: one[1]):
        to = s + 1 if k == "F" else s - 1
        busy[k] = max(busy.get(k, 0), e) + hop
        came[k, i, to] = busy[k]
    free, held = [0] * p, [0] * p
    for s, k, i, start, stop in sorted(events, key=lambda e: e[3]):
        if came.get((k, i, s), 0) > start or start < free[s]:
            return False
        if k == "B" and end["F", i, s] > start:
            return False
        free[s], held[s] = stop, held[s] + (1 if k == "F" else -1)
        if held[s] > room:
            return False
    return True


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


# %% zigzag wrong: dealt in rounds
def zigzag(L, p, v):
    stages, first = [[] for _ in range(p)], 0
    for part in range(p * v):
        turn, at = divmod(part, p)
        size = L // (p * v) + (part < L % (p * v))
        stage = stages[at]
        stage += range(first, first + size)
        first += size
    return [stages, v * (p - 1)]


# %% zigzag wrong: dealt in rounds, with the hops of rounds
def zigzag(L, p, v):
    stages, first = [[] for _ in range(p)], 0
    for part in range(p * v):
        turn, at = divmod(part, p)
        size = L // (p * v) + (part < L % (p * v))
        stage = stages[at]
        stage += range(first, first + size)
        first += size
    return [stages, p * v - 1]


# %% zigzag wrong: a hop where it turns
def zigzag(L, p, v):
    stages, first = [[] for _ in range(p)], 0
    for part in range(p * v):
        turn, at = divmod(part, p)
        size = L // (p * v) + (part < L % (p * v))
        stage = stages[at if turn % 2 == 0 else p - 1 - at]
        stage += range(first, first + size)
        first += size
    return [stages, p * v - 1]


# %% zigzag wrong: once down the stages
def zigzag(L, p, v):
    stages, first = [[] for _ in range(p)], 0
    for part in range(p * v):
        turn, at = divmod(part, p)
        size = L // (p * v) + (part < L % (p * v))
        stage = stages[at if turn % 2 == 0 else p - 1 - at]
        stage += range(first, first + size)
        first += size
    return [stages, p - 1]


# %% zigzag wrong: there and back
def zigzag(L, p, v):
    stages, first = [[] for _ in range(p)], 0
    for part in range(p * v):
        turn, at = divmod(part, p)
        size = L // (p * v) + (part < L % (p * v))
        stage = stages[at if turn % 2 == 0 else p - 1 - at]
        stage += range(first, first + size)
        first += size
    return [stages, 2 * v * (p - 1)]


# %% zigzag wrong: what is left over is left out
def zigzag(L, p, v):
    stages, first = [[] for _ in range(p)], 0
    for part in range(p * v):
        turn, at = divmod(part, p)
        size = L // (p * v)
        stage = stages[at if turn % 2 == 0 else p - 1 - at]
        stage += range(first, first + size)
        first += size
    return [stages, v * (p - 1)]


# %% zigzag wrong: the last parts are longer
def zigzag(L, p, v):
    stages, first = [[] for _ in range(p)], 0
    for part in range(p * v):
        turn, at = divmod(part, p)
        size = L // (p * v) + (part >= p * v - L % (p * v))
        stage = stages[at if turn % 2 == 0 else p - 1 - at]
        stage += range(first, first + size)
        first += size
    return [stages, v * (p - 1)]


# %% zigzag wrong: turns count as hops
def zigzag(L, p, v):
    stages, first = [[] for _ in range(p)], 0
    for part in range(p * v):
        turn, at = divmod(part, p)
        size = L // (p * v) + (part < L % (p * v))
        stage = stages[at if turn % 2 == 0 else p - 1 - at]
        stage += range(first, first + size)
        first += size
    return [stages, max(v * p - 2, 0)]


# %% zigzag wrong: one block for each stage
def zigzag(L, p, v):
    parts = np.array_split(np.arange(L), p)
    return [[part.tolist() for part in parts], v * (p - 1)]


# %% zigzag wrong: all stages in one list
def zigzag(L, p, v):
    stages, first = [[] for _ in range(p)], 0
    for part in range(p * v):
        turn, at = divmod(part, p)
        size = L // (p * v) + (part < L % (p * v))
        stage = stages[at if turn % 2 == 0 else p - 1 - at]
        stage += range(first, first + size)
        first += size
    return [sum(stages, []), v * (p - 1)]


# %% zigzag right: by NumPy
def zigzag(L, p, v):
    parts = np.array_split(np.arange(L), p * v)
    ways = [range(p) if turn % 2 == 0 else range(p)[::-1] for turn in range(v)]
    way = [s for each in ways for s in each]
    stages = [
        np.concatenate([x for x, s in zip(parts, way) if s == stage]).tolist()
        for stage in range(p)
    ]
    return stages, sum(a != b for a, b in zip(way, way[1:]))


# %% zigzag right: a walk, layer by layer
def zigzag(L, p, v):
    long, size = L % (p * v), L // (p * v)
    stages, hops, before = {s: [] for s in range(p)}, 0, 0
    for k in range(L):
        early = k < long * (size + 1)
        part = k // (size + 1) if early else (k - long) // size
        at = part % (2 * p)
        at = min(at, 2 * p - 1 - at)
        hops, before = hops + abs(at - before), at
        stages[at].append(k)
    return [list(stages.values()), hops]


# %% halves wrong: derivatives, and both factors
def input_half(dOut, G, U, W_g, W_u, W_out):
    dTmp = dOut @ W_out.T
    dG, dU = dTmp * U, dTmp * G
    return dG @ W_g.T + dU @ W_u.T, (dOut, dG, dU, G, U)


def weight_half(In, kept):
    dOut, dG, dU, G, U = kept
    return In.T @ dG, In.T @ dU, (G * U).T @ dOut


# %% halves wrong: the derivatives exchanged
def input_half(dOut, G, U, W_g, W_u, W_out):
    dTmp = dOut @ W_out.T
    dG, dU = dTmp * G, dTmp * U
    return dG @ W_g.T + dU @ W_u.T, (dOut, dG, dU, G * U)


def weight_half(In, kept):
    dOut, dG, dU, Tmp = kept
    return In.T @ dG, In.T @ dU, Tmp.T @ dOut


# %% halves wrong: exchanged in the second half alone
def input_half(dOut, G, U, W_g, W_u, W_out):
    dTmp = dOut @ W_out.T
    dG, dU = dTmp * U, dTmp * G
    return dG @ W_g.T + dU @ W_u.T, (dOut, dG, dU, G * U)


def weight_half(In, kept):
    dOut, dG, dU, Tmp = kept
    return In.T @ dU, In.T @ dG, Tmp.T @ dOut


# %% halves wrong: dIn by the gate alone
def input_half(dOut, G, U, W_g, W_u, W_out):
    dTmp = dOut @ W_out.T
    dG, dU = dTmp * U, dTmp * G
    return dG @ W_g.T, (dOut, dG, dU, G * U)


def weight_half(In, kept):
    dOut, dG, dU, Tmp = kept
    return In.T @ dG, In.T @ dU, Tmp.T @ dOut


# %% halves wrong: a product has no derivative
def input_half(dOut, G, U, W_g, W_u, W_out):
    dTmp = dOut @ W_out.T
    dG, dU = dTmp, dTmp
    return dG @ W_g.T + dU @ W_u.T, (dOut, dG, dU, G * U)


def weight_half(In, kept):
    dOut, dG, dU, Tmp = kept
    return In.T @ dG, In.T @ dU, Tmp.T @ dOut


# %% halves wrong: W_out multiplies the gate alone
def input_half(dOut, G, U, W_g, W_u, W_out):
    dTmp = dOut @ W_out.T
    dG, dU = dTmp * U, dTmp * G
    return dG @ W_g.T + dU @ W_u.T, (dOut, dG, dU, G)


def weight_half(In, kept):
    dOut, dG, dU, Tmp = kept
    return In.T @ dG, In.T @ dU, Tmp.T @ dOut


# %% halves wrong: the factors are added
def input_half(dOut, G, U, W_g, W_u, W_out):
    dTmp = dOut @ W_out.T
    dG, dU = dTmp * U, dTmp * G
    return dG @ W_g.T + dU @ W_u.T, (dOut, dG, dU, G + U)


def weight_half(In, kept):
    dOut, dG, dU, Tmp = kept
    return In.T @ dG, In.T @ dU, Tmp.T @ dOut


# %% halves wrong: the product of the derivatives for that of the factors
def input_half(dOut, G, U, W_g, W_u, W_out):
    dTmp = dOut @ W_out.T
    dG, dU = dTmp * U, dTmp * G
    return dG @ W_g.T + dU @ W_u.T, (dOut, dG, dU)


def weight_half(In, kept):
    dOut, dG, dU = kept
    return In.T @ dG, In.T @ dU, (dG * dU).T @ dOut


# %% halves wrong: a gradient itself is kept
def input_half(dOut, G, U, W_g, W_u, W_out):
    dTmp = dOut @ W_out.T
    dG, dU = dTmp * U, dTmp * G
    return dG @ W_g.T + dU @ W_u.T, (dG, dU, (G * U).T @ dOut)


def weight_half(In, kept):
    dG, dU, dW_out = kept
    return In.T @ dG, In.T @ dU, dW_out


# %% halves wrong: a weight is kept
def input_half(dOut, G, U, W_g, W_u, W_out):
    dTmp = dOut @ W_out.T
    dG, dU = dTmp * U, dTmp * G
    return dG @ W_g.T + dU @ W_u.T, (dOut, G, U, W_out)


def weight_half(In, kept):
    dOut, G, U, W_out = kept
    dTmp = dOut @ W_out.T
    return In.T @ (dTmp * U), In.T @ (dTmp * G), (G * U).T @ dOut


# %% halves right: the factors are kept, and multiplied later
def input_half(dOut, G, U, W_g, W_u, W_out):
    dTmp = dOut @ W_out.T
    dG, dU = dTmp * U, dTmp * G
    return dG @ W_g.T + dU @ W_u.T, {"dOut": dOut, "dTmp": dTmp, "G": G, "U": U}


def weight_half(In, kept):
    dOut, dTmp, G, U = (kept[name] for name in ("dOut", "dTmp", "G", "U"))
    return (
        In.T @ (dTmp * U),
        In.T @ (dTmp * G),
        jnp.einsum("bf,bd->fd", G * U, dOut),
    )


# %% halves right: by jax.vjp, twice
def input_half(dOut, G, U, W_g, W_u, W_out):
    Tmp, vjp = jax.vjp(jnp.multiply, G, U)
    dG, dU = vjp(dOut @ W_out.T)
    return jnp.hstack([dG, dU]) @ jnp.hstack([W_g, W_u]).T, (dG, dU, Tmp, dOut)


def weight_half(In, kept):
    dG, dU, Tmp, dOut = kept
    D, F = In.shape[1], Tmp.shape[1]
    both = jnp.zeros((D, 2 * F), In.dtype)
    _, back = jax.vjp(lambda W: In @ W, both)
    [dW] = back(jnp.hstack([dG, dU]))
    _, back = jax.vjp(lambda W: Tmp @ W, both[:, :F].T)
    return dW[:, :F], dW[:, F:], back(dOut)[0]


# %% filled wrong: 1F1B
filled = [
    "F0 F1 F2 B0 W0 F3 B1 W1 B2 W2 B3 W3",
    "F0 F1 B0 W0 F2 B1 W1 F3 B2 W2 B3 W3",
    "F0 B0 W0 F1 B1 W1 F2 B2 W2 F3 B3 W3",
]

# %% filled wrong: every weight half at once
filled = [
    "F0 F1 B0 W0 F2 B1 W1 F3 B2 W2 B3 W3",
    "F0 F1 B0 W0 F2 B1 W1 F3 B2 W2 B3 W3",
    "F0 B0 W0 F1 B1 W1 F2 B2 W2 F3 B3 W3",
]

# %% filled wrong: weight halves at the end
filled = [
    "F0 F1 F2 F3 B0 B1 B2 B3 W0 W1 W2 W3",
    "F0 F1 B0 F2 B1 F3 B2 B3 W0 W1 W2 W3",
    "F0 B0 F1 B1 F2 B2 F3 B3 W0 W1 W2 W3",
]

# %% filled wrong: two at a time
filled = ["F0 F1 B0 B1 W0 W1 F2 F3 B2 B3 W2 W3"] * 3

# %% filled wrong: one at a time
filled = ["F0 B0 W0 F1 B1 W1 F2 B2 W2 F3 B3 W3"] * 3

# %% filled wrong: a weight half before its input half
filled = ["F0 W0 B0 F1 B1 W1 F2 B2 W2 F3 B3 W3"] * 3

# %% filled wrong: one unit too late
filled = [
    "F0 F1 B0 W0 F2 B1 W1 F3 B2 W2 B3 W3",
    "F0 F1 B0 B1 W0 F2 W1 F3 B2 B3 W2 W3",
    "F0 B0 W0 F1 B1 W1 F2 B2 W2 F3 B3 W3",
]

# %% filled wrong: in time, with room for three on one stage
filled = [
    "F0 F1 F2 B0 W0 B1 W1 F3 B2 W2 B3 W3",
    "F0 F1 B0 W0 F2 B1 W1 F3 B2 W2 B3 W3",
    "F0 B0 F1 W0 B1 F2 W1 B2 F3 B3 W2 W3",
]

# %% filled right: as lists
filled = [
    "F0 F1 B0 W0 F2 B1 W1 F3 B2 W2 B3 W3".split(),
    "F0 F1 B0 B1 W0 F2 W1 F3 B2 W2 B3 W3".split(),
    "F0 B0 F1 B1 W0 F2 B2 W1 F3 B3 W2 W3".split(),
]

# %% filled right: other numbers for the microbatches
first = "F3 F1 B3 W3 F2 B1 W1 F0 B2 W2 B0 W0"
middle = "F3 F1 B3 B1 W3 F2 W1 F0 B2 B0 W2 W0"
filled = [first, middle, "F3 B3 F1 B1 W3 W1 F2 B2 F0 B0 W2 W0"]


# %% forward wrong: weights are gathered
def pipeline_forward(In, W):
    p, stage = jax.lax.axis_size("Z"), jax.lax.axis_index("Z")
    W = jax.lax.all_gather(W, "Z", axis=1, tiled=False)
    x = In
    for matrix in W.reshape(2 * p, *W.shape[2:]):
        x = jax.nn.relu(x @ matrix)
    return jnp.where(stage == p - 1, x, 0)[None]


# %% forward wrong: one round, as in the chapter
def pipeline_forward(In, W):
    p, stage, m = jax.lax.axis_size("Z"), jax.lax.axis_index("Z"), len(In)
    x, outs = In[0], []
    for tick in range(m + p - 2):
        outs.append(layer(x, W[0]))
        pairs = [(s, s + 1) for s in range(p - 1) if 0 <= tick - s < m]
        came = jax.lax.ppermute(outs[-1], "Z", pairs)
        x = jnp.where(stage == 0, In[(tick + 1) % m], came)
    outs.append(layer(x, W[0]))
    return jnp.where(stage == p - 1, jnp.stack(outs[-m:]), 0)[None]


# %% forward wrong: one round through both chunks
def pipeline_forward(In, W):
    p, stage, m = jax.lax.axis_size("Z"), jax.lax.axis_index("Z"), len(In)
    x, outs = In[0], []
    for tick in range(m + p - 1):
        outs.append(layer(layer(x, W[0]), W[1]))
        pairs = [(s, s + 1) for s in range(p - 1) if 0 <= tick - s < m]
        if tick < m + p - 2:
            came = jax.lax.ppermute(outs[-1], "Z", pairs)
            x = jnp.where(stage == 0, In[(tick + 1) % m], came)
    return jnp.where(stage == p - 1, jnp.stack(outs[-m:]), 0)[None]


# %% forward wrong: the line runs empty between the rounds
def pipeline_forward(In, W):
    p, stage, m = jax.lax.axis_size("Z"), jax.lax.axis_index("Z"), len(In)
    batch = [*In]
    for c in (0, 1):
        x, outs = batch[0], []
        for tick in range(m + p - 1):
            outs.append(layer(x, W[c]))
            pairs = [(s, s + 1) for s in range(p - 1) if 0 <= tick - s < m]
            if pairs:
                came = jax.lax.ppermute(outs[-1], "Z", pairs)
                x = jnp.where(stage == 0, batch[(tick + 1) % m], came)
        if c == 0:
            ends = [(p - 1, 0)]
            batch = [jax.lax.ppermute(y, "Z", ends) for y in outs[-m:]]
    return jnp.where(stage == p - 1, jnp.stack(outs[-m:]), 0)[None]


# %% forward wrong: idle stages send too
def pipeline_forward(In, W):
    p, stage, m = jax.lax.axis_size("Z"), jax.lax.axis_index("Z"), len(In)
    x, queue, outs = In[0], [*In[1:]], []
    for tick in range(2 * m + p - 1):
        y = jax.nn.relu(x @ W[jnp.where(tick - stage < m, 0, 1)])
        outs.append(y)
        pairs = [(s, s + 1) for s in range(p - 1) if True]
        if p - 1 <= tick < p - 1 + m:
            pairs.append((p - 1, 0))
        if not pairs:
            continue
        came = jax.lax.ppermute(y, "Z", pairs)
        if (p - 1, 0) in pairs:
            queue.append(came)
        x = jnp.where(stage == 0, queue.pop(0) if queue else x, came)
    return jnp.where(stage == p - 1, jnp.stack(outs[-m:]), 0)[None]


# %% forward wrong: results go back as well
def pipeline_forward(In, W):
    p, stage, m = jax.lax.axis_size("Z"), jax.lax.axis_index("Z"), len(In)
    x, queue, outs = In[0], [*In[1:]], []
    for tick in range(2 * m + p - 1):
        y = jax.nn.relu(x @ W[jnp.where(tick - stage < m, 0, 1)])
        outs.append(y)
        pairs = [(s, s + 1) for s in range(p - 1) if 0 <= tick - s < 2 * m]
        if tick >= p - 1:
            pairs.append((p - 1, 0))
        if not pairs:
            continue
        came = jax.lax.ppermute(y, "Z", pairs)
        if (p - 1, 0) in pairs:
            queue.append(came)
        x = jnp.where(stage == 0, queue.pop(0) if queue else x, came)
    return jnp.where(stage == p - 1, jnp.stack(outs[-m:]), 0)[None]


# %% forward wrong: the second chunks come first
def pipeline_forward(In, W):
    p, stage, m = jax.lax.axis_size("Z"), jax.lax.axis_index("Z"), len(In)
    x, queue, outs = In[0], [*In[1:]], []
    for tick in range(2 * m + p - 1):
        y = jax.nn.relu(x @ W[jnp.where(tick - stage < m, 1, 0)])
        outs.append(y)
        pairs = [(s, s + 1) for s in range(p - 1) if 0 <= tick - s < 2 * m]
        if p - 1 <= tick < p - 1 + m:
            pairs.append((p - 1, 0))
        if not pairs:
            continue
        came = jax.lax.ppermute(y, "Z", pairs)
        if (p - 1, 0) in pairs:
            queue.append(came)
        x = jnp.where(stage == 0, queue.pop(0) if queue else x, came)
    return jnp.where(stage == p - 1, jnp.stack(outs[-m:]), 0)[None]


# %% forward wrong: all stages change chunks in the same tick
def pipeline_forward(In, W):
    p, stage, m = jax.lax.axis_size("Z"), jax.lax.axis_index("Z"), len(In)
    x, queue, outs = In[0], [*In[1:]], []
    for tick in range(2 * m + p - 1):
        y = jax.nn.relu(x @ W[int(tick >= m)])
        outs.append(y)
        pairs = [(s, s + 1) for s in range(p - 1) if 0 <= tick - s < 2 * m]
        if p - 1 <= tick < p - 1 + m:
            pairs.append((p - 1, 0))
        if not pairs:
            continue
        came = jax.lax.ppermute(y, "Z", pairs)
        if (p - 1, 0) in pairs:
            queue.append(came)
        x = jnp.where(stage == 0, queue.pop(0) if queue else x, came)
    return jnp.where(stage == p - 1, jnp.stack(outs[-m:]), 0)[None]


# %% forward wrong: the first chunks twice
def pipeline_forward(In, W):
    p, stage, m = jax.lax.axis_size("Z"), jax.lax.axis_index("Z"), len(In)
    x, queue, outs = In[0], [*In[1:]], []
    for tick in range(2 * m + p - 1):
        y = jax.nn.relu(x @ W[0])
        outs.append(y)
        pairs = [(s, s + 1) for s in range(p - 1) if 0 <= tick - s < 2 * m]
        if p - 1 <= tick < p - 1 + m:
            pairs.append((p - 1, 0))
        if not pairs:
            continue
        came = jax.lax.ppermute(y, "Z", pairs)
        if (p - 1, 0) in pairs:
            queue.append(came)
        x = jnp.where(stage == 0, queue.pop(0) if queue else x, came)
    return jnp.where(stage == p - 1, jnp.stack(outs[-m:]), 0)[None]


# %% forward wrong: every stage returns what it made
def pipeline_forward(In, W):
    p, stage, m = jax.lax.axis_size("Z"), jax.lax.axis_index("Z"), len(In)
    x, queue, outs = In[0], [*In[1:]], []
    for tick in range(2 * m + p - 1):
        y = jax.nn.relu(x @ W[jnp.where(tick - stage < m, 0, 1)])
        outs.append(y)
        pairs = [(s, s + 1) for s in range(p - 1) if 0 <= tick - s < 2 * m]
        if p - 1 <= tick < p - 1 + m:
            pairs.append((p - 1, 0))
        if not pairs:
            continue
        came = jax.lax.ppermute(y, "Z", pairs)
        if (p - 1, 0) in pairs:
            queue.append(came)
        x = jnp.where(stage == 0, queue.pop(0) if queue else x, came)
    return jnp.stack(outs[-m:])[None]


# %% forward wrong: the first microbatches come out
def pipeline_forward(In, W):
    p, stage, m = jax.lax.axis_size("Z"), jax.lax.axis_index("Z"), len(In)
    x, queue, outs = In[0], [*In[1:]], []
    for tick in range(2 * m + p - 1):
        y = jax.nn.relu(x @ W[jnp.where(tick - stage < m, 0, 1)])
        outs.append(y)
        pairs = [(s, s + 1) for s in range(p - 1) if 0 <= tick - s < 2 * m]
        if p - 1 <= tick < p - 1 + m:
            pairs.append((p - 1, 0))
        if not pairs:
            continue
        came = jax.lax.ppermute(y, "Z", pairs)
        if (p - 1, 0) in pairs:
            queue.append(came)
        x = jnp.where(stage == 0, queue.pop(0) if queue else x, came)
    return jnp.where(stage == p - 1, jnp.stack(outs[:m]), 0)[None]


# %% forward wrong: what comes back is used at once
def pipeline_forward(In, W):
    p, stage, m = jax.lax.axis_size("Z"), jax.lax.axis_index("Z"), len(In)
    x, outs = In[0], []
    for tick in range(2 * m + p - 1):
        y = jax.nn.relu(x @ W[jnp.where(tick - stage < m, 0, 1)])
        outs.append(y)
        pairs = [(s, s + 1) for s in range(p - 1) if 0 <= tick - s < 2 * m]
        if p - 1 <= tick < p - 1 + m:
            pairs.append((p - 1, 0))
        if pairs:
            came = jax.lax.ppermute(y, "Z", pairs)
            fresh = (stage == 0) & (tick + 1 < m)
            x = jnp.where(fresh, In[min(tick + 1, m - 1)], came)
    return jnp.where(stage == p - 1, jnp.stack(outs[-m:]), 0)[None]


# %% forward wrong: everyone gets the results
def pipeline_forward(In, W):
    p, stage, m = jax.lax.axis_size("Z"), jax.lax.axis_index("Z"), len(In)
    x, queue, outs = In[0], [*In[1:]], []
    for tick in range(2 * m + p - 1):
        y = jax.nn.relu(x @ W[jnp.where(tick - stage < m, 0, 1)])
        outs.append(y)
        pairs = [(s, s + 1) for s in range(p - 1) if 0 <= tick - s < 2 * m]
        pairs += [(p - 1, 0)] if p - 1 <= tick < p - 1 + m else []
        if pairs:
            came = jax.lax.ppermute(y, "Z", pairs)
            queue += [came] if (p - 1, 0) in pairs else []
            x = jnp.where(stage == 0, queue.pop(0) if queue else x, came)
    Out = jnp.where(stage == p - 1, jnp.stack(outs[-m:]), 0)
    return jax.lax.psum(Out, "Z")[None] + 0 * Out


# %% forward right: a place for each microbatch in each round
def pipeline_forward(In, W):
    p, stage, m = jax.lax.axis_size("Z"), jax.lax.axis_index("Z"), len(In)
    x = jnp.concatenate([jnp.where(stage == 0, In, 0), jnp.zeros_like(In)])
    x, Out = x + 0 * W[0, 0, 0], jnp.zeros_like(In) + 0 * W[0, 0, 0]
    for tick in range(2 * m + p - 1):
        n = jnp.clip(tick - stage, 0, 2 * m - 1)  # work of this stage
        y = jax.nn.relu(x[n] @ W[n // m])
        Out = Out.at[n % m].set(jnp.where(tick - stage >= m, y, Out[n % m]))
        pairs = [(s, s + 1) for s in range(p - 1) if 0 <= tick - s < 2 * m]
        pairs += [(p - 1, 0)] if 0 <= tick - (p - 1) < m else []
        if pairs:
            came = jax.lax.ppermute(y, "Z", pairs)
            goal = jnp.where(stage == 0, tick - p + 1 + m, tick + 1 - stage)
            low = jnp.where(stage == 0, m, 0)
            there = (goal >= low) & (goal < 2 * m)
            goal = jnp.clip(goal, 0, 2 * m - 1)
            x = x.at[goal].set(jnp.where(there, came, x[goal]))
    return jnp.where(stage == p - 1, Out, 0)[None]


# %% forward right: what comes back stands in a list by its number
def pipeline_forward(In, W):
    p, stage, m = jax.lax.axis_size("Z"), jax.lax.axis_index("Z"), len(In)
    back, results, y = [], [], None
    for tick in range(2 * m + p - 1):
        if tick:
            before = tick - 1
            pairs = [
                (s, s + 1) for s in range(p - 1) if 0 <= before - s < 2 * m
            ]
            if p - 1 <= before < p - 1 + m:
                pairs += [(p - 1, 0)]
            y = jax.lax.ppermute(y, "Z", pairs)
            if p - 1 <= before < p - 1 + m:
                back.append(y)
        mine = In[tick] if tick < m else back[min(tick - m, m - 1)]
        x = mine if y is None else jnp.where(stage == 0, mine, y)
        late = tick - stage >= m
        y = jnp.where(late, layer(x, W[1]), layer(x, W[0]))
        if tick >= m + p - 1:
            results.append(y)
    return jnp.where(stage == p - 1, jnp.stack(results), 0)[None]


# %% best wrong: memory does not matter
def best(p, m, v, F, B, W, saved, kept, room):
    chunks = min((v + 1) * p - 1, v * m)
    options = {
        "1F1B": (F + B + W, p * saved),
        "interleaved": ((F + B + W) / v, chunks * saved / v),
        "zero-bubble": (F + B - W, p * (saved + kept)),
    }
    fitting = {k: idle for k, (idle, held) in options.items()}
    return min(fitting, key=fitting.get) if fitting else "none"


# %% best wrong: chunks take as much room as stages
def best(p, m, v, F, B, W, saved, kept, room):
    chunks = min((v + 1) * p - 1, v * m)
    options = {
        "1F1B": (F + B + W, p * saved),
        "interleaved": ((F + B + W) / v, chunks * saved),
        "zero-bubble": (F + B - W, p * (saved + kept)),
    }
    fitting = {k: idle for k, (idle, held) in options.items() if held <= room}
    return min(fitting, key=fitting.get) if fitting else "none"


# %% best wrong: interleaving holds what 1F1B holds
def best(p, m, v, F, B, W, saved, kept, room):
    chunks = min((v + 1) * p - 1, v * m)
    options = {
        "1F1B": (F + B + W, p * saved),
        "interleaved": ((F + B + W) / v, p * saved),
        "zero-bubble": (F + B - W, p * (saved + kept)),
    }
    fitting = {k: idle for k, (idle, held) in options.items() if held <= room}
    return min(fitting, key=fitting.get) if fitting else "none"


# %% best wrong: what halves keep is not counted
def best(p, m, v, F, B, W, saved, kept, room):
    chunks = min((v + 1) * p - 1, v * m)
    options = {
        "1F1B": (F + B + W, p * saved),
        "interleaved": ((F + B + W) / v, chunks * saved / v),
        "zero-bubble": (F + B - W, p * saved),
    }
    fitting = {k: idle for k, (idle, held) in options.items() if held <= room}
    return min(fitting, key=fitting.get) if fitting else "none"


# %% best wrong: one weight half waits
def best(p, m, v, F, B, W, saved, kept, room):
    chunks = min((v + 1) * p - 1, v * m)
    options = {
        "1F1B": (F + B + W, p * saved),
        "interleaved": ((F + B + W) / v, chunks * saved / v),
        "zero-bubble": (F + B - W, p * saved + kept),
    }
    fitting = {k: idle for k, (idle, held) in options.items() if held <= room}
    return min(fitting, key=fitting.get) if fitting else "none"


# %% best wrong: one weight half too few waits
def best(p, m, v, F, B, W, saved, kept, room):
    chunks = min((v + 1) * p - 1, v * m)
    options = {
        "1F1B": (F + B + W, p * saved),
        "interleaved": ((F + B + W) / v, chunks * saved / v),
        "zero-bubble": (F + B - W, p * saved + (p - 1) * kept),
    }
    fitting = {k: idle for k, (idle, held) in options.items() if held <= room}
    return min(fitting, key=fitting.get) if fitting else "none"


# %% best wrong: all halves are of one length
def best(p, m, v, F, B, W, saved, kept, room):
    chunks = min((v + 1) * p - 1, v * m)
    options = {
        "1F1B": (3, p * saved),
        "interleaved": (3 / v, chunks * saved / v),
        "zero-bubble": (1, p * (saved + kept)),
    }
    fitting = {k: idle for k, (idle, held) in options.items() if held <= room}
    return min(fitting, key=fitting.get) if fitting else "none"


# %% best wrong: more microbatches than there are
def best(p, m, v, F, B, W, saved, kept, room):
    chunks = (v + 1) * p - 1
    options = {
        "1F1B": (F + B + W, p * saved),
        "interleaved": ((F + B + W) / v, chunks * saved / v),
        "zero-bubble": (F + B - W, p * (saved + kept)),
    }
    fitting = {k: idle for k, (idle, held) in options.items() if held <= room}
    return min(fitting, key=fitting.get) if fitting else "none"


# %% best wrong: idle times rounded down
def best(p, m, v, F, B, W, saved, kept, room):
    chunks = min((v + 1) * p - 1, v * m)
    options = {
        "1F1B": (F + B + W, p * saved),
        "interleaved": ((F + B + W) // v, chunks * saved / v),
        "zero-bubble": (F + B - W, p * (saved + kept)),
    }
    fitting = {k: idle for k, (idle, held) in options.items() if held <= room}
    return min(fitting, key=fitting.get) if fitting else "none"


# %% best wrong: microbatches held rounded down
def best(p, m, v, F, B, W, saved, kept, room):
    chunks = min((v + 1) * p - 1, v * m)
    options = {
        "1F1B": (F + B + W, p * saved),
        "interleaved": ((F + B + W) / v, chunks // v * saved),
        "zero-bubble": (F + B - W, p * (saved + kept)),
    }
    fitting = {k: idle for k, (idle, held) in options.items() if held <= room}
    return min(fitting, key=fitting.get) if fitting else "none"


# %% best wrong: the bubble of zero-bubble is none
def best(p, m, v, F, B, W, saved, kept, room):
    chunks = min((v + 1) * p - 1, v * m)
    options = {
        "1F1B": (F + B + W, p * saved),
        "interleaved": ((F + B + W) / v, chunks * saved / v),
        "zero-bubble": (0, p * (saved + kept)),
    }
    fitting = {k: idle for k, (idle, held) in options.items() if held <= room}
    return min(fitting, key=fitting.get) if fitting else "none"


# %% best wrong: all rooms are full at the last byte
def best(p, m, v, F, B, W, saved, kept, room):
    chunks = min((v + 1) * p - 1, v * m)
    options = {
        "1F1B": (F + B + W, p * saved),
        "interleaved": ((F + B + W) / v, chunks * saved / v),
        "zero-bubble": (F + B - W, p * (saved + kept)),
    }
    fitting = {k: idle for k, (idle, held) in options.items() if held < room}
    return min(fitting, key=fitting.get) if fitting else "none"


# %% best right: cases
def best(p, m, v, F, B, W, saved, kept, room):
    if v * room >= saved * min((v + 1) * p - 1, v * m):
        fast = F + B + W < v * (F + B - W)
        if fast or p * (saved + kept) > room:
            return "interleaved"
    if p * (saved + kept) <= room:
        return "zero-bubble"
    return "1F1B" if p * saved <= room else "none"


# %% best right: asks the simulator
def best(p, m, v, F, B, W, saved, kept, room):
    ends = {"none": float("inf")}
    runs = {
        "1F1B": (pipeline.one_f_one_b(p, m, F, B + W), 1),
        "interleaved": (pipeline.interleaved(p, m, v, F, B + W), v),
        "zero-bubble": (pipeline.zero_bubble(p, m, F, B + W, W), 1),
    }
    for name, (events, part) in runs.items():
        bytes_held = max(pipeline.in_flight(events)) * saved
        if name == "zero-bubble":
            bytes_held += p * kept
        if bytes_held <= part * room:
            ends[name] = pipeline.makespan(events)
    return min(ends, key=ends.get)


# %% plans wrong: ZeRO-3 across both racks
gpu_plan = [3, 8, 1, 18]
tpu_plan = [3, 8, 1, 64]

# %% plans wrong: a stage in each rack, with ZeRO-1
gpu_plan = [1, 8, 2, 9]
tpu_plan = [3, 8, 1, 64]

# %% plans wrong: three stages, with ZeRO-1
gpu_plan = [1, 8, 3, 6]
tpu_plan = [3, 8, 1, 64]

# %% plans wrong: one copy in each rack
gpu_plan = [1, 8, 9, 2]
tpu_plan = [3, 8, 1, 64]

# %% plans wrong: no more chips a stage than a rack has, cut four ways
gpu_plan = [3, 4, 2, 18]
tpu_plan = [3, 8, 1, 64]

# %% plans wrong: a stage for each node of eight
gpu_plan = [1, 8, 18, 1]
tpu_plan = [3, 8, 1, 64]

# %% plans wrong: half of the racks stand still
gpu_plan = [3, 8, 1, 9]
tpu_plan = [3, 8, 1, 64]

# %% plans wrong: stages of unequal length
gpu_plan = [1, 8, 4, 4.5]
tpu_plan = [3, 8, 1, 64]

# %% plans wrong: a pipeline on the slice
gpu_plan = [3, 8, 2, 9]
tpu_plan = [3, 8, 2, 32]

# %% plans wrong: ZeRO-1 on the slice
gpu_plan = [3, 8, 2, 9]
tpu_plan = [1, 8, 1, 64]

# %% plans wrong: cut four ways on the slice
gpu_plan = [3, 8, 2, 9]
tpu_plan = [3, 4, 1, 128]

# %% plans wrong: cut by an axis of the slice and more
gpu_plan = [3, 8, 2, 9]
tpu_plan = [3, 16, 1, 32]

# %% plans wrong: d before Z
gpu_plan = [3, 8, 9, 2]
tpu_plan = [3, 8, 64, 1]


# %% plans right: found by going through all plans
def smallest(chips, near, room):
    found = {}
    for zero in (1, 3):
        for Y in (1, 2, 4, 8):
            for Z in range(1, 127):
                d, rest = divmod(chips, Y * Z)
                if rest or 126 % Z or d == 0 or 576 % d:
                    continue
                states = 406e9 / (Y * Z) * (16 / d if zero == 3 else 4 + 12 / d)
                held = min(Z, 576 // d) * 126 // Z * 4.56e9 / Y
                if states + held <= room and (zero == 1 or Y * d <= near):
                    found[zero, Y, Z, d] = (Z - 1) * d
    return min(found, key=found.get)


gpu_plan = smallest(144, 72, 186e9)
tpu_plan = smallest(512, 512, 96e9)

# %% plans right: from what is left for d
Y, Z = 8, 2
gpu_plan = np.array([3, Y, Z, 144 // (Y * Z)])
tpu_plan = (3.0, Y, 1, 512 / Y)

# %% formulas equivalent: line 7: `Max(0, (p - 1) * (3 - q))` with its arguments reversed
# Of two numbers the larger one is the same in either order.

# %% order equivalent: line 4: `min(2 * (p - s) - 1, m)` with its arguments reversed
# Of two numbers the smaller one is the same in either order.

# %% best equivalent: line 4: `min((v + 1) * p - 1, v * m)` with its arguments reversed
# Of two numbers the smaller one is the same in either order.

# %% best equivalent: line 6: `F + B + W` loses its right side
# Whatever else fits ends sooner than 1F1B, also if that is taken for F + B.

# %% repaired equivalent: line 7: 0 becomes 1
# A device has one matrix, and JAX takes the last one for any number beyond.

# %% repaired equivalent: line 9: 0 becomes 1
# A device has one matrix, and JAX takes the last one for any number beyond.

# %% repaired equivalent: line 10: 0 becomes 1
# A stage before the last one has its dx replaced before anybody sees it.


# %% formulas wrong: a slow first stage, right for four stages
locked = p + (2 * m + p - 2) * t
last = 3 * (p - 1) + 3 * q * m
first = 3 * q * m + Max(0, 3 * (3 - q))


# %% legal equivalent: line 10: `max(busy.get((stage, to), 0), end)` with its arguments reversed
# The later of two times is the same in either order.


# %% legal equivalent: line 13: 3 becomes 4
# Sorted by end or by start: what does not overlap has one order.


# %% legal equivalent: line 14: `max(free[stage], came.get((kind, i, stage), 0))` with its arguments reversed
# The later of two times is the same in either order.
