# Answers that the checks of exercise set 14 must reject or accept.
#
# A cell is titled with the answer cell's grade_id, then `wrong: ` with the
# mistake or `right: ` with what is different. Run by tests/exercises.

# %% gates wrong: tokens choose
def gates(scores, C):
    affinity = jax.nn.sigmoid(scores)
    _, experts = jax.lax.top_k(affinity, min(C, scores.shape[1]))
    taken = jax.nn.one_hot(experts, scores.shape[1]).sum(axis=1)
    weights = affinity * taken
    total = weights.sum(axis=1, keepdims=True)
    return weights / jnp.where(total > 0, total, 1)


# %% gates wrong: nothing divided by nothing
def gates(scores, C):
    affinity = jax.nn.sigmoid(scores)
    _, tokens = jax.lax.top_k(affinity.T, C)
    taken = jax.nn.one_hot(tokens, len(scores)).sum(axis=1).T
    weights = affinity * taken
    return weights / weights.sum(axis=1, keepdims=True)


# %% gates wrong: divided by the sum over the tokens of an expert
def gates(scores, C):
    affinity = jax.nn.sigmoid(scores)
    _, tokens = jax.lax.top_k(affinity.T, C)
    taken = jax.nn.one_hot(tokens, len(scores)).sum(axis=1).T
    weights = affinity * taken
    return weights / weights.sum(axis=0)


# %% gates wrong: not divided
def gates(scores, C):
    affinity = jax.nn.sigmoid(scores)
    _, tokens = jax.lax.top_k(affinity.T, C)
    taken = jax.nn.one_hot(tokens, len(scores)).sum(axis=1).T
    return affinity * taken


# %% gates wrong: all that are as good as the last one taken
def gates(scores, C):
    affinity = jax.nn.sigmoid(scores)
    taken = affinity >= jnp.sort(affinity, axis=0)[-C]
    weights = affinity * taken
    total = weights.sum(axis=1, keepdims=True)
    return weights / jnp.where(total > 0, total, 1)


# %% gates wrong: of two equal tokens the later
def gates(scores, C):
    affinity = jax.nn.sigmoid(scores)
    tokens = np.argsort(np.asarray(affinity), axis=0, kind="stable")[-C:]
    taken = np.zeros(scores.shape)
    np.put_along_axis(taken, tokens, 1, axis=0)
    weights = affinity * taken
    total = weights.sum(axis=1, keepdims=True)
    return weights / jnp.where(total > 0, total, 1)


# %% gates wrong: divided by the sum over all experts
def gates(scores, C):
    affinity = jax.nn.sigmoid(scores)
    _, tokens = jax.lax.top_k(affinity.T, C)
    taken = jax.nn.one_hot(tokens, len(scores)).sum(axis=1).T
    return affinity * taken / affinity.sum(axis=1, keepdims=True)


# %% gates wrong: a softmax over experts
def gates(scores, C):
    affinity = jax.nn.softmax(scores)
    _, tokens = jax.lax.top_k(affinity.T, C)
    taken = jax.nn.one_hot(tokens, len(scores)).sum(axis=1).T
    weights = affinity * taken
    total = weights.sum(axis=1, keepdims=True)
    return weights / jnp.where(total > 0, total, 1)


# %% gates wrong: a softmax over the experts that took it
def gates(scores, C):
    affinity = jax.nn.sigmoid(scores)
    _, tokens = jax.lax.top_k(affinity.T, C)
    taken = jax.nn.one_hot(tokens, len(scores)).sum(axis=1).T
    chosen = jnp.where(taken > 0, scores, -jnp.inf)
    weights = jax.nn.softmax(chosen)
    return jnp.where(taken.sum(axis=1, keepdims=True) > 0, weights, 0)


# %% gates wrong: a token that nobody took goes to its best expert
def gates(scores, C):
    affinity = jax.nn.sigmoid(scores)
    _, tokens = jax.lax.top_k(affinity.T, C)
    taken = jax.nn.one_hot(tokens, len(scores)).sum(axis=1).T
    best = jax.nn.one_hot(affinity.argmax(axis=1), scores.shape[1])
    taken = jnp.where(taken.sum(axis=1, keepdims=True) > 0, taken, best)
    weights = affinity * taken
    return weights / weights.sum(axis=1, keepdims=True)


# %% gates wrong: a token that nobody took is spread over all
def gates(scores, C):
    affinity = jax.nn.sigmoid(scores)
    _, tokens = jax.lax.top_k(affinity.T, C)
    taken = jax.nn.one_hot(tokens, len(scores)).sum(axis=1).T
    weights = affinity * taken
    weights = jnp.where(weights.sum(axis=1, keepdims=True) > 0, weights, 1)
    return weights / weights.sum(axis=1, keepdims=True)


# %% gates wrong: all experts of a token alike
def gates(scores, C):
    affinity = jax.nn.sigmoid(scores)
    _, tokens = jax.lax.top_k(affinity.T, C)
    taken = jax.nn.one_hot(tokens, len(scores)).sum(axis=1).T
    return taken / jnp.maximum(taken.sum(axis=1, keepdims=True), 1)


# %% gates right: NumPy, expert by expert
def gates(scores, C):
    affinity = 1 / (1 + np.exp(-np.asarray(scores)))
    weights = np.zeros_like(affinity)
    for e, column in enumerate(affinity.T):
        best = sorted(range(len(column)), key=lambda b: (-column[b], b))[:C]
        weights[best, e] = column[best]
    for row in weights:
        if row.any():
            row /= row.sum()
    return weights


# %% gates right: an argsort, and weights put where they belong
def gates(scores, C):
    affinity = jax.nn.sigmoid(jnp.asarray(scores))
    tokens = jnp.argsort(-affinity, axis=0)[:C]
    experts = jnp.arange(affinity.shape[1])
    picked = jnp.take_along_axis(affinity, tokens, axis=0)
    weights = jnp.zeros_like(affinity).at[tokens, experts].set(picked)
    total = weights.sum(axis=1, keepdims=True)
    return jnp.nan_to_num(weights / total)


# %% gates equivalent: line 9: 1 becomes 2
# Zeros divided by any number are zeros.


# %% kept wrong: the orders are exchanged
def kept(chosen, E, factor, groups, order):
    B, k = len(chosen), len(chosen[0])
    size = B // groups
    slots = int(np.ceil(factor * k * size / E))
    found = [[0] * k for _ in chosen]
    for g in range(groups):
        tokens = range(g * size, g * size + size)
        line = [(t, c) for c in range(k) for t in tokens]
        if order == "choices":
            line = [(t, c) for t in tokens for c in range(k)]
        taken = dict.fromkeys(range(E), 0)
        for t, c in line:
            if taken[chosen[t][c]] < slots:
                taken[chosen[t][c]] += 1
                found[t][c] = 1
    return found


# %% kept wrong: choices first whatever is asked
def kept(chosen, E, factor, groups, order):
    B, k = len(chosen), len(chosen[0])
    size = B // groups
    slots = int(np.ceil(factor * k * size / E))
    found = [[0] * k for _ in chosen]
    for g in range(groups):
        taken = dict.fromkeys(range(E), 0)
        for c in range(k):
            for t in range(g * size, g * size + size):
                if taken[chosen[t][c]] < slots:
                    taken[chosen[t][c]] += 1
                    found[t][c] = 1
    return found


# %% kept wrong: one line for all groups
def kept(chosen, E, factor, groups, order):
    B, k = len(chosen), len(chosen[0])
    slots = int(np.ceil(factor * k * B / groups / E))
    line = [(t, c) for c in range(k) for t in range(B)]
    if order == "tokens":
        line = sorted(line)
    found, taken = [[0] * k for _ in chosen], dict.fromkeys(range(E), 0)
    for t, c in line:
        if taken[chosen[t][c]] < slots:
            taken[chosen[t][c]] += 1
            found[t][c] = 1
    return found


# %% kept wrong: groups are forgotten
def kept(chosen, E, factor, groups, order):
    B, k = len(chosen), len(chosen[0])
    slots = int(np.ceil(factor * k * B / E))
    line = [(t, c) for c in range(k) for t in range(B)]
    if order == "tokens":
        line = sorted(line)
    found, taken = [[0] * k for _ in chosen], dict.fromkeys(range(E), 0)
    for t, c in line:
        if taken[chosen[t][c]] < slots:
            taken[chosen[t][c]] += 1
            found[t][c] = 1
    return found


# %% kept wrong: slots are rounded down
def kept(chosen, E, factor, groups, order):
    B, k = len(chosen), len(chosen[0])
    size = B // groups
    slots = int(factor * k * size / E)
    found = [[0] * k for _ in chosen]
    for g in range(groups):
        tokens = range(g * size, g * size + size)
        line = [(t, c) for c in range(k) for t in tokens]
        taken = dict.fromkeys(range(E), 0)
        for t, c in sorted(line) if order == "tokens" else line:
            if taken[chosen[t][c]] < slots:
                taken[chosen[t][c]] += 1
                found[t][c] = 1
    return found


# %% kept wrong: slots for one visit of a token
def kept(chosen, E, factor, groups, order):
    B, k = len(chosen), len(chosen[0])
    size = B // groups
    slots = int(np.ceil(factor * size / E))
    found = [[0] * k for _ in chosen]
    for g in range(groups):
        tokens = range(g * size, g * size + size)
        line = [(t, c) for c in range(k) for t in tokens]
        taken = dict.fromkeys(range(E), 0)
        for t, c in sorted(line) if order == "tokens" else line:
            if taken[chosen[t][c]] < slots:
                taken[chosen[t][c]] += 1
                found[t][c] = 1
    return found


# %% kept wrong: each choice has slots of its own
def kept(chosen, E, factor, groups, order):
    B, k = len(chosen), len(chosen[0])
    size = B // groups
    slots = int(np.ceil(factor * k * size / E))
    found = [[0] * k for _ in chosen]
    for g in range(groups):
        for c in range(k):
            taken = dict.fromkeys(range(E), 0)
            for t in range(g * size, g * size + size):
                if taken[chosen[t][c]] < slots:
                    taken[chosen[t][c]] += 1
                    found[t][c] = 1
    return found


# %% kept wrong: a token that is turned away goes home
def kept(chosen, E, factor, groups, order):
    B, k = len(chosen), len(chosen[0])
    size = B // groups
    slots = int(np.ceil(factor * k * size / E))
    found, away = [[0] * k for _ in chosen], set()
    for g in range(groups):
        tokens = range(g * size, g * size + size)
        line = [(t, c) for c in range(k) for t in tokens]
        taken = dict.fromkeys(range(E), 0)
        for t, c in sorted(line) if order == "tokens" else line:
            if t in away or taken[chosen[t][c]] >= slots:
                away.add(t)
                continue
            taken[chosen[t][c]] += 1
            found[t][c] = 1
    return found


# %% kept wrong: the first slot is lost
def kept(chosen, E, factor, groups, order):
    B, k = len(chosen), len(chosen[0])
    size = B // groups
    slots = int(np.ceil(factor * k * size / E))
    found = [[0] * k for _ in chosen]
    for g in range(groups):
        tokens = range(g * size, g * size + size)
        line = [(t, c) for c in range(k) for t in tokens]
        taken = dict.fromkeys(range(E), 0)
        for t, c in sorted(line) if order == "tokens" else line:
            taken[chosen[t][c]] += 1
            found[t][c] = taken[chosen[t][c]] < slots
    return found


# %% kept wrong: what is dropped
def kept(chosen, E, factor, groups, order):
    B, k = len(chosen), len(chosen[0])
    size = B // groups
    slots = int(np.ceil(factor * k * size / E))
    dropped = [[0] * k for _ in chosen]
    for g in range(groups):
        tokens = range(g * size, g * size + size)
        line = [(t, c) for c in range(k) for t in tokens]
        taken = dict.fromkeys(range(E), 0)
        for t, c in sorted(line) if order == "tokens" else line:
            taken[chosen[t][c]] += 1
            dropped[t][c] = int(taken[chosen[t][c]] > slots)
    return dropped


# %% kept wrong: the mean is rounded up, and then factor times it
def kept(chosen, E, factor, groups, order):
    B, k = len(chosen), len(chosen[0])
    size = B // groups
    slots = int(np.ceil(factor * np.ceil(k * size / E)))
    found = [[0] * k for _ in chosen]
    for first in range(0, B, size):
        tokens = range(first, first + size)
        line = [(t, c) for c in range(k) for t in tokens]
        taken = dict.fromkeys(range(E), 0)
        for t, c in sorted(line) if order == "tokens" else line:
            if taken[chosen[t][c]] < slots:
                taken[chosen[t][c]] += 1
                found[t][c] = 1
    return found


# %% kept wrong: groups of every third token
def kept(chosen, E, factor, groups, order):
    B, k = len(chosen), len(chosen[0])
    size = B // groups
    slots = int(np.ceil(factor * k * size / E))
    found = [[0] * k for _ in chosen]
    for first in range(groups):
        tokens = range(first, B, groups)
        line = [(t, c) for c in range(k) for t in tokens]
        taken = dict.fromkeys(range(E), 0)
        for t, c in sorted(line) if order == "tokens" else line:
            if taken[chosen[t][c]] < slots:
                taken[chosen[t][c]] += 1
                found[t][c] = 1
    return found


# %% kept wrong: slots of one group stay taken for the next
def kept(chosen, E, factor, groups, order):
    B, k = len(chosen), len(chosen[0])
    size = B // groups
    slots = int(np.ceil(factor * k * size / E))
    found = [[0] * k for _ in chosen]
    taken = dict.fromkeys(range(E), 0)
    for first in range(0, B, size):
        tokens = range(first, first + size)
        line = [(t, c) for c in range(k) for t in tokens]
        for t, c in sorted(line) if order == "tokens" else line:
            if taken[chosen[t][c]] < slots:
                taken[chosen[t][c]] += 1
                found[t][c] = 1
    return found


# %% kept wrong: groups is the size of a group
def kept(chosen, E, factor, groups, order):
    B, k = len(chosen), len(chosen[0])
    size = groups
    slots = int(np.ceil(factor * k * size / E))
    found = [[0] * k for _ in chosen]
    for first in range(0, B, size):
        tokens = range(first, min(B, first + size))
        line = [(t, c) for c in range(k) for t in tokens]
        taken = dict.fromkeys(range(E), 0)
        for t, c in sorted(line) if order == "tokens" else line:
            if taken[chosen[t][c]] < slots:
                taken[chosen[t][c]] += 1
                found[t][c] = 1
    return found


# %% kept right: one visit after the other
def kept(chosen, E, factor, groups, order):
    B, k = len(chosen), len(chosen[0])
    size = B // groups
    slots = -(-factor * k * size // E)
    found = [[False] * k for _ in chosen]
    for g in range(groups):
        tokens = range(g * size, g * size + size)
        line = [(t, c) for c in range(k) for t in tokens]
        taken = dict.fromkeys(range(E), 0)
        for t, c in sorted(line) if order == "tokens" else line:
            if taken[chosen[t][c]] < slots:
                taken[chosen[t][c]] += 1
                found[t][c] = True
    return found


# %% kept right: expert by expert
def kept(chosen, E, factor, groups, order):
    chosen = np.array(chosen)
    B, k = chosen.shape
    size = B // groups
    slots = int(np.ceil(factor * k * B / groups / E))
    found = np.zeros((B, k), bool)
    for e in range(E):
        for g in range(groups):
            here = [
                (t, c)
                for t, c in zip(*np.nonzero(chosen == e), strict=True)
                if t // size == g
            ]
            if order == "choices":
                here.sort(key=lambda visit: (visit[1], visit[0]))
            for t, c in here[:slots]:
                found[t, c] = True
    return found


# %% kept equivalent: line 4: 0 becomes 1
# All tokens have equally many choices.


# %% step wrong: gathered before it is sent
def step(In, Places, Weight, W_in, W_out, dOut):
    def layer(In, W_in, W_out):
        Slots = jnp.einsum("bec,bd->ecd", Places, In)
        Slots = jax.lax.all_gather(Slots, "Y", axis=1, tiled=True)
        Slots = jax.lax.all_to_all(Slots, "X", 0, 1, tiled=True)
        Made = jax.nn.relu(Slots @ W_in) @ W_out
        Made = jax.lax.all_to_all(Made, "X", 1, 0, tiled=True)
        Made = jax.lax.psum_scatter(Made, "Y", scatter_dimension=1, tiled=True)
        return jnp.einsum("be,bec,ecd->bd", Weight, Places, Made)

    Out, back = jax.vjp(layer, In, W_in, W_out)
    return Out, *back(dOut)


# %% step wrong: an AllReduce over Y, of which most is thrown away
def step(In, Places, Weight, W_in, W_out, dOut):
    def layer(In, W_in, W_out):
        Slots = jnp.einsum("bec,bd->ecd", Places, In)
        Slots = jax.lax.all_to_all(Slots, "X", 0, 1, tiled=True)
        n = Slots.shape[1]
        Slots = jax.lax.all_gather(Slots, "Y", axis=1, tiled=True)
        Made = jax.lax.psum(jax.nn.relu(Slots @ W_in) @ W_out, "Y")
        me = jax.lax.axis_index("Y")
        Made = jax.lax.dynamic_slice_in_dim(Made, me * n, n, 1)
        Made = jax.lax.all_to_all(Made, "X", 1, 0, tiled=True)
        return jnp.einsum("be,bec,ecd->bd", Weight, Places, Made)

    Out, back = jax.vjp(layer, In, W_in, W_out)
    return Out, *back(dOut)


# %% step wrong: terms of a sum over Y are left as they are
def step(In, Places, Weight, W_in, W_out, dOut):
    def layer(In, W_in, W_out):
        Slots = jnp.einsum("bec,bd->ecd", Places, In)
        Slots = jax.lax.all_to_all(Slots, "X", 0, 1, tiled=True)
        Made = jax.nn.relu(Slots @ W_in) @ W_out
        Made = jax.lax.all_to_all(Made, "X", 1, 0, tiled=True)
        return jnp.einsum("be,bec,ecd->bd", Weight, Places, Made)

    Out, back = jax.vjp(layer, In, W_in, W_out)
    return Out, *back(dOut)


# %% step wrong: the way back is the way there
def step(In, Places, Weight, W_in, W_out, dOut):
    def layer(In, W_in, W_out):
        Slots = jnp.einsum("bec,bd->ecd", Places, In)
        Slots = jax.lax.all_to_all(Slots, "X", 0, 0, tiled=True)
        n = Slots.shape[0] // jax.lax.axis_size("X")
        Slots = Slots.reshape(n, -1, Slots.shape[2])
        Slots = jax.lax.all_gather(Slots, "Y", axis=1, tiled=True)
        Made = jax.nn.relu(Slots @ W_in) @ W_out
        Made = jax.lax.psum_scatter(Made, "Y", scatter_dimension=1, tiled=True)
        Made = Made.reshape(-1, Places.shape[2], Made.shape[2])
        Made = jax.lax.all_to_all(Made, "X", 0, 0, tiled=True)
        return jnp.einsum("be,bec,ecd->bd", Weight, Places, Made)

    Out, back = jax.vjp(layer, In, W_in, W_out)
    return Out, *back(dOut)


# %% step wrong: nothing is weighted
def step(In, Places, Weight, W_in, W_out, dOut):
    def layer(In, W_in, W_out):
        Slots = jnp.einsum("bec,bd->ecd", Places, In)
        Slots = jax.lax.all_to_all(Slots, "X", 0, 1, tiled=True)
        Slots = jax.lax.all_gather(Slots, "Y", axis=1, tiled=True)
        Made = jax.nn.relu(Slots @ W_in) @ W_out
        Made = jax.lax.psum_scatter(Made, "Y", scatter_dimension=1, tiled=True)
        Made = jax.lax.all_to_all(Made, "X", 1, 0, tiled=True)
        return jnp.einsum("bec,ecd->bd", Places, Made)

    Out, back = jax.vjp(layer, In, W_in, W_out)
    return Out, *back(dOut)


# %% step wrong: weighted on the way there, through the ReLU
def step(In, Places, Weight, W_in, W_out, dOut):
    def layer(In, W_in, W_out):
        Slots = jnp.einsum("be,bec,bd->ecd", Weight, Places, In)
        Slots = jax.lax.all_to_all(Slots, "X", 0, 1, tiled=True)
        Slots = jax.lax.all_gather(Slots, "Y", axis=1, tiled=True)
        Made = jax.nn.relu(Slots @ W_in) @ W_out
        Made = jax.lax.psum_scatter(Made, "Y", scatter_dimension=1, tiled=True)
        Made = jax.lax.all_to_all(Made, "X", 1, 0, tiled=True)
        return jnp.einsum("be,bec,ecd->bd", Weight, Places, Made)

    Out, back = jax.vjp(layer, In, W_in, W_out)
    return Out, *back(dOut)


# %% step wrong: gradients of weights are added up over Y
def step(In, Places, Weight, W_in, W_out, dOut):
    def layer(In, W_in, W_out):
        Slots = jnp.einsum("bec,bd->ecd", Places, In)
        Slots = jax.lax.all_to_all(Slots, "X", 0, 1, tiled=True)
        Slots = jax.lax.all_gather(Slots, "Y", axis=1, tiled=True)
        Made = jax.nn.relu(Slots @ W_in) @ W_out
        Made = jax.lax.psum_scatter(Made, "Y", scatter_dimension=1, tiled=True)
        Made = jax.lax.all_to_all(Made, "X", 1, 0, tiled=True)
        return jnp.einsum("be,bec,ecd->bd", Weight, Places, Made)

    Out, back = jax.vjp(layer, In, W_in, W_out)
    dIn, dW_in, dW_out = back(dOut)
    return Out, dIn, *(jax.lax.psum(d, "Y") for d in (dW_in, dW_out))


# %% step wrong: the gradient of a sum
def step(In, Places, Weight, W_in, W_out, dOut):
    def layer(In, W_in, W_out):
        Slots = jnp.einsum("bec,bd->ecd", Places, In)
        Slots = jax.lax.all_to_all(Slots, "X", 0, 1, tiled=True)
        Slots = jax.lax.all_gather(Slots, "Y", axis=1, tiled=True)
        Made = jax.nn.relu(Slots @ W_in) @ W_out
        Made = jax.lax.psum_scatter(Made, "Y", scatter_dimension=1, tiled=True)
        Made = jax.lax.all_to_all(Made, "X", 1, 0, tiled=True)
        return jnp.einsum("be,bec,ecd->bd", Weight, Places, Made)

    Out, back = jax.vjp(layer, In, W_in, W_out)
    return Out, *back(0 * dOut + 1)


# %% step wrong: all tokens to all experts
def step(In, Places, Weight, W_in, W_out, dOut):
    E = W_in.shape[0]
    mine = jax.lax.axis_index("X") * E

    def layer(In, W_in, W_out):
        Slots = jnp.einsum("bec,bd->ecd", Places, In)
        Slots = jax.lax.all_gather(Slots, ("X", "Y"), axis=1, tiled=True)
        Slots = jax.lax.dynamic_slice_in_dim(Slots, mine, E, 0)
        Made = jax.nn.relu(Slots @ W_in) @ W_out
        Made = jax.lax.psum_scatter(Made, "Y", scatter_dimension=1, tiled=True)
        Made = jax.lax.all_to_all(Made, "X", 1, 0, tiled=True)
        return jnp.einsum("be,bec,ecd->bd", Weight, Places, Made)

    Out, back = jax.vjp(layer, In, W_in, W_out)
    return Out, *back(dOut)


# %% step wrong: weights are gathered, and slots stay where they are
def step(In, Places, Weight, W_in, W_out, dOut):
    def layer(In, W_in, W_out):
        Slots = jnp.einsum("bec,bd->ecd", Places, In)
        Slots = jax.lax.all_to_all(Slots, "X", 0, 1, tiled=True)
        W_in = jax.lax.all_gather(W_in, "Y", axis=2, tiled=True)
        W_out = jax.lax.all_gather(W_out, "Y", axis=1, tiled=True)
        Made = jax.nn.relu(Slots @ W_in) @ W_out
        Made = jax.lax.all_to_all(Made, "X", 1, 0, tiled=True)
        return jnp.einsum("be,bec,ecd->bd", Weight, Places, Made)

    Out, back = jax.vjp(layer, In, W_in, W_out)
    return Out, *back(dOut)


# %% step wrong: no ReLU
def step(In, Places, Weight, W_in, W_out, dOut):
    def layer(In, W_in, W_out):
        Slots = jnp.einsum("bec,bd->ecd", Places, In)
        Slots = jax.lax.all_to_all(Slots, "X", 0, 1, tiled=True)
        Slots = jax.lax.all_gather(Slots, "Y", axis=1, tiled=True)
        Made = Slots @ W_in @ W_out
        Made = jax.lax.psum_scatter(Made, "Y", scatter_dimension=1, tiled=True)
        Made = jax.lax.all_to_all(Made, "X", 1, 0, tiled=True)
        return jnp.einsum("be,bec,ecd->bd", Weight, Places, Made)

    Out, back = jax.vjp(layer, In, W_in, W_out)
    return Out, *back(dOut)


# %% step wrong: the forward pass runs twice
def step(In, Places, Weight, W_in, W_out, dOut):
    def layer(In, W_in, W_out):
        Slots = jnp.einsum("bec,bd->ecd", Places, In)
        Slots = jax.lax.all_to_all(Slots, "X", 0, 1, tiled=True)
        Slots = jax.lax.all_gather(Slots, "Y", axis=1, tiled=True)
        Made = jax.nn.relu(Slots @ W_in) @ W_out
        Made = jax.lax.psum_scatter(Made, "Y", scatter_dimension=1, tiled=True)
        Made = jax.lax.all_to_all(Made, "X", 1, 0, tiled=True)
        return jnp.einsum("be,bec,ecd->bd", Weight, Places, Made)

    def loss(*arrays):
        return (layer(*arrays) * dOut).sum()

    gradients = jax.grad(loss, (0, 1, 2))(In, W_in, W_out)
    return layer(In, W_in, W_out), *gradients


# %% step wrong: gradients are zeros
def step(In, Places, Weight, W_in, W_out, dOut):

    def layer(In, W_in, W_out):
        Slots = jnp.einsum("bec,bd->ecd", Places, In)  # [E, C, D]
        Slots = jax.lax.all_to_all(Slots, "X", 0, 1, tiled=True)
        Slots = jax.lax.all_gather(Slots, "Y", axis=1, tiled=True)
        Made = jax.nn.relu(Slots @ W_in) @ W_out  # a term of the sum over Y
        Made = jax.lax.psum_scatter(Made, "Y", scatter_dimension=1, tiled=True)
        Made = jax.lax.all_to_all(Made, "X", 1, 0, tiled=True)  # [E, C, D]
        return jnp.einsum("be,bec,ecd->bd", Weight, Places, Made)

    return layer(In, W_in, W_out), 0 * In, 0 * W_in, 0 * W_out


# %% step wrong: zeros
def step(In, Places, Weight, W_in, W_out, dOut):
    return 0 * In, 0 * In, 0 * W_in, 0 * W_out


# %% step right: the backward pass by hand
def step(In, Places, Weight, W_in, W_out, dOut):
    def there(x):
        x = jax.lax.all_to_all(x, "X", 0, 1, tiled=True)
        return jax.lax.all_gather(x, "Y", axis=1, tiled=True)

    def back(x):
        x = jax.lax.psum_scatter(x, "Y", scatter_dimension=1, tiled=True)
        return jax.lax.all_to_all(x, "X", 1, 0, tiled=True)

    part = Weight[:, :, None] * Places
    Slots = there(jnp.einsum("bec,bd->ecd", Places, In))
    Tmp = Slots @ W_in
    hidden = jnp.maximum(Tmp, 0)
    Out = jnp.einsum("bec,ecd->bd", part, back(hidden @ W_out))
    dMade = there(jnp.einsum("bec,bd->ecd", part, dOut))
    dW_out = jnp.einsum("esf,esd->efd", hidden, dMade)
    dTmp = jnp.einsum("esd,efd->esf", dMade, W_out) * (Tmp > 0)
    dW_in = jnp.einsum("esd,esf->edf", Slots, dTmp)
    dSlots = back(jnp.einsum("esf,edf->esd", dTmp, W_in))
    return Out, jnp.einsum("bec,ecd->bd", Places, dSlots), dW_in, dW_out


# %% step right: slots of the second dimension go first
def step(In, Places, Weight, W_in, W_out, dOut):
    def layer(In, W_in, W_out):
        Slots = jnp.einsum("bec,bd->ced", Places, In)
        Slots = jax.lax.all_to_all(Slots, "X", 1, 0, tiled=True)
        Slots = jax.lax.all_gather(Slots, "Y", axis=0, tiled=True)
        hidden = jax.nn.relu(jnp.einsum("sed,edf->sef", Slots, W_in))
        Made = jnp.einsum("sef,efd->sed", hidden, W_out)
        Made = jax.lax.psum_scatter(Made, "Y", scatter_dimension=0, tiled=True)
        Made = jax.lax.all_to_all(Made, "X", 0, 1, tiled=True)
        return jnp.einsum("be,bec,ced->bd", Weight, Places, Made)

    def loss(*arrays):
        Out = layer(*arrays)
        return (Out * dOut).sum(), Out

    gradient = jax.grad(loss, (0, 1, 2), has_aux=True)
    gradients, Out = gradient(In, W_in, W_out)
    return [Out, *gradients]


# %% work wrong: rows are taken as they came
def work(Rows, counts, W):
    return jax.lax.ragged_dot(Rows, W, counts.sum(axis=0))


# %% work wrong: results stay sorted by expert
def work(Rows, counts, W):
    S, E = counts.shape
    R = len(Rows)
    experts = jnp.tile(jnp.arange(E), S)
    experts = jnp.repeat(experts, counts.reshape(-1), total_repeat_length=R)
    experts = jnp.where(jnp.arange(R) < counts.sum(), experts, E)
    order = jnp.argsort(experts)
    return jax.lax.ragged_dot(Rows[order], W, counts.sum(axis=0))


# %% work wrong: results are sorted a second time
def work(Rows, counts, W):
    S, E = counts.shape
    R = len(Rows)
    experts = jnp.tile(jnp.arange(E), S)
    experts = jnp.repeat(experts, counts.reshape(-1), total_repeat_length=R)
    experts = jnp.where(jnp.arange(R) < counts.sum(), experts, E)
    order = jnp.argsort(experts)
    return jax.lax.ragged_dot(Rows[order], W, counts.sum(axis=0))[order]


# %% work wrong: remains are rows of the last expert
def work(Rows, counts, W):
    S, E = counts.shape
    R = len(Rows)
    counts = counts.at[-1, -1].add(R - counts.sum())
    experts = jnp.tile(jnp.arange(E), S)
    experts = jnp.repeat(experts, counts.reshape(-1), total_repeat_length=R)
    order = jnp.argsort(experts)
    Made = jax.lax.ragged_dot(Rows[order], W, counts.sum(axis=0))
    return jnp.zeros_like(Made).at[order].set(Made)


# %% work wrong: counts are read by columns
def work(Rows, counts, W):
    S, E = counts.shape
    R = len(Rows)
    experts = jnp.tile(jnp.arange(E), S)
    experts = jnp.repeat(experts, counts.T.reshape(-1), total_repeat_length=R)
    experts = jnp.where(jnp.arange(R) < counts.sum(), experts, E)
    order = jnp.argsort(experts)
    sizes = jnp.bincount(experts, length=E)
    Made = jax.lax.ragged_dot(Rows[order], W, sizes)
    return jnp.zeros_like(Made).at[order].set(Made)


# %% work wrong: counts of experts as if each had a line of senders
def work(Rows, counts, W):
    S, E = counts.shape
    R = len(Rows)
    experts = jnp.arange(S * E) // S
    experts = jnp.repeat(experts, counts.reshape(-1), total_repeat_length=R)
    experts = jnp.where(jnp.arange(R) < counts.sum(), experts, E)
    order = jnp.argsort(experts)
    sizes = jnp.bincount(experts, length=E)
    Made = jax.lax.ragged_dot(Rows[order], W, sizes)
    return jnp.zeros_like(Made).at[order].set(Made)


# %% work wrong: a call for each sender
def work(Rows, counts, W):
    R = len(Rows)
    Out = jnp.zeros((R, W.shape[2]))
    first = 0
    for sizes in counts:
        here = jnp.roll(Rows, -first, axis=0)
        Made = jax.lax.ragged_dot(here, W, sizes)
        real = (jnp.arange(R) < sizes.sum())[:, None]
        Out = Out + jnp.roll(jnp.where(real, Made, 0), first, axis=0)
        first = first + sizes.sum()
    return Out


# %% work wrong: the matrices are copied for every sender
def work(Rows, counts, W):
    S = len(counts)
    copies = jnp.tile(W, (S, 1, 1))
    Made = jax.lax.ragged_dot(Rows, copies, counts.reshape(-1))
    return jnp.where(jnp.arange(len(Rows))[:, None] < counts.sum(), Made, 0)


# %% work wrong: a matrix for each row
def work(Rows, counts, W):
    S, E = counts.shape
    R = len(Rows)
    experts = jnp.tile(jnp.arange(E), S)
    experts = jnp.repeat(experts, counts.reshape(-1), total_repeat_length=R)
    Made = jnp.einsum("rd,rdf->rf", Rows, W[experts])
    return jnp.where(jnp.arange(R)[:, None] < counts.sum(), Made, 0)


# %% work wrong: every expert works on every row
def work(Rows, counts, W):
    S, E = counts.shape
    R = len(Rows)
    experts = jnp.tile(jnp.arange(E), S)
    experts = jnp.repeat(experts, counts.reshape(-1), total_repeat_length=R)
    experts = jnp.where(jnp.arange(R) < counts.sum(), experts, E)
    return jnp.einsum("re,rd,edf->rf", jax.nn.one_hot(experts, E), Rows, W)


# %% work wrong: the remains go first
def work(Rows, counts, W):
    S, E = counts.shape
    runs = jnp.append(jnp.tile(jnp.arange(E), S), -1)
    lengths = jnp.append(counts.reshape(-1), len(Rows))
    experts = jnp.repeat(runs, lengths, total_repeat_length=len(Rows))
    order = jnp.argsort(experts)
    Made = jax.lax.ragged_dot(Rows[order], W, counts.sum(axis=0))
    return jnp.zeros_like(Made).at[order].set(Made)


# %% work wrong: a slice for each count
def work(Rows, counts, W):
    S, E = counts.shape
    Made, first = [], 0
    for sender in range(S):
        for expert in range(E):
            last = first + counts[sender, expert]
            Made.append(Rows[first:last] @ W[expert])
            first = last
    return jnp.concatenate(Made)


# %% work wrong: as many rows as there are, as a number
def work(Rows, counts, W):
    S, E = counts.shape
    R = int(counts.sum())
    runs = jnp.append(jnp.tile(jnp.arange(E), S), E)  # E: remains,
    lengths = jnp.append(counts.reshape(-1), R)  # of which R is enough
    experts = jnp.repeat(runs, lengths, total_repeat_length=R)
    order = jnp.argsort(experts)
    Made = jax.lax.ragged_dot(Rows[order], W, counts.sum(axis=0))
    Out = jnp.zeros_like(Made).at[order].set(Made)
    return jnp.where(experts[:, None] < E, Out, 0)


# %% work wrong: a loop over rows, as many as there are
def work(Rows, counts, W):
    total = counts.sum()
    experts = jnp.repeat(jnp.arange(W.shape[0]), counts.sum(0))
    Out = jnp.zeros((len(Rows), W.shape[2]))
    for row in range(total):
        Out = Out.at[row].set(Rows[row] @ W[experts[row]])
    return Out


# %% work wrong: a mask that chooses rows
def work(Rows, counts, W):
    S, E = counts.shape
    R = len(Rows)
    runs = jnp.append(jnp.tile(jnp.arange(E), S), E)  # E: remains,
    lengths = jnp.append(counts.reshape(-1), R)  # of which R is enough
    experts = jnp.repeat(runs, lengths, total_repeat_length=R)
    order = jnp.argsort(experts)
    real = Rows[experts < E]
    Made = jax.lax.ragged_dot(real, W, counts.sum(axis=0))
    Out = jnp.zeros_like(Made).at[order].set(Made)
    return jnp.where(experts[:, None] < E, Out, 0)


# %% work right: where each row goes, from running counts
def work(Rows, counts, W):
    S, E = counts.shape
    R = len(Rows)
    ends = jnp.cumsum(counts.reshape(-1))  # as rows came
    run = jnp.searchsorted(ends, jnp.arange(R), side="right")
    run = jnp.minimum(run, S * E - 1)
    sizes = counts.sum(axis=0)
    before = jnp.cumsum(sizes) - sizes + jnp.cumsum(counts, axis=0) - counts
    begun = ends - counts.reshape(-1)
    place = before.reshape(-1)[run] + jnp.arange(R) - begun[run]
    place = jnp.where(jnp.arange(R) < counts.sum(), place, jnp.arange(R))
    Sorted = jnp.zeros_like(Rows).at[place].set(Rows)
    Made = jax.lax.ragged_dot(Sorted, W, sizes)[place]
    return jnp.where((jnp.arange(R) < counts.sum())[:, None], Made, 0)


# %% work right: the order is undone by sorting it
def work(Rows, counts, W):
    S, E = counts.shape
    R = len(Rows)
    rest = R - counts.sum()
    runs = jnp.append(jnp.tile(jnp.arange(E), S), E)
    lengths = jnp.append(counts.reshape(-1), rest)
    experts = jnp.repeat(runs, lengths, total_repeat_length=R)
    order = jnp.argsort(experts, stable=True)
    sizes = (experts[:, None] == jnp.arange(E)).sum(axis=0).astype("int32")
    Made = jax.lax.ragged_dot(jnp.take(Rows, order, axis=0), W, sizes)
    Made = Made[jnp.argsort(order)]
    return Made * (experts < E)[:, None]


# %% work equivalent: line 12: `experts[:, None] < E` with LtE
# On a CPU ragged_dot itself leaves zeros behind its groups.


# %% balance wrong: the mean of the devices' losses
def balance(Logits, Choice):
    rows, E = Logits.shape
    share = jax.nn.one_hot(Choice, E).sum(axis=(0, 1)) / Choice.size

    def loss(Logits):
        chances = jax.nn.softmax(Logits).mean(axis=0)
        return jax.lax.pmean(E * jnp.sum(share * chances), "X")

    return jax.value_and_grad(loss)(Logits)


# %% balance wrong: the right loss, and the gradient of each device's own
def balance(Logits, Choice):
    rows, E = Logits.shape
    visits = jax.nn.one_hot(Choice, E).sum(axis=(0, 1)) / Choice.size

    def chances(Logits):
        return jax.nn.softmax(Logits).mean(axis=0)

    share, mean = jax.lax.pmean((visits, chances(Logits)), "X")
    slope = jax.grad(lambda x: E * jnp.sum(visits * chances(x)))(Logits)
    return E * jnp.sum(share * mean), slope


# %% balance wrong: the gradient is not divided by the devices
def balance(Logits, Choice):
    rows, E = Logits.shape
    visits = jax.nn.one_hot(Choice, E).sum(axis=(0, 1)) / Choice.size

    def chances(Logits):
        return jax.nn.softmax(Logits).mean(axis=0)

    share, mean = jax.lax.pmean((visits, chances(Logits)), "X")
    slope = jax.grad(lambda x: E * jnp.sum(share * chances(x)))(Logits)
    return E * jnp.sum(share * mean), slope


# %% balance wrong: the gradient is averaged over devices
def balance(Logits, Choice):
    rows, E = Logits.shape
    visits = jax.nn.one_hot(Choice, E).sum(axis=(0, 1))
    share = jax.lax.pmean(visits, "X") / Choice.size

    def loss(Logits):
        chances = jax.nn.softmax(Logits).sum(axis=0)
        return E * jnp.sum(share * jax.lax.pmean(chances, "X")) / rows

    value, slope = jax.value_and_grad(loss)(Logits)
    slope = jax.lax.pmean(slope, "X")
    return value, jax.lax.pcast(slope, "X", to="varying")


# %% balance wrong: the factor E is missing
def balance(Logits, Choice):
    rows, E = Logits.shape
    visits = jax.nn.one_hot(Choice, E).sum(axis=(0, 1))
    share = jax.lax.pmean(visits, "X") / Choice.size

    def loss(Logits):
        chances = jax.nn.softmax(Logits).sum(axis=0)
        return jnp.sum(share * jax.lax.pmean(chances, "X")) / rows

    return jax.value_and_grad(loss)(Logits)


# %% balance wrong: visits for each token instead of shares
def balance(Logits, Choice):
    rows, E = Logits.shape
    visits = jax.nn.one_hot(Choice, E).sum(axis=(0, 1))
    share = jax.lax.pmean(visits, "X") / rows

    def loss(Logits):
        chances = jax.nn.softmax(Logits).sum(axis=0)
        return E * jnp.sum(share * jax.lax.pmean(chances, "X")) / rows

    return jax.value_and_grad(loss)(Logits)


# %% balance wrong: first choices only
def balance(Logits, Choice):
    rows, E = Logits.shape
    visits = jax.nn.one_hot(Choice[:, 0], E).mean(axis=0)
    share = jax.lax.pmean(visits, "X")

    def loss(Logits):
        chances = jax.nn.softmax(Logits).sum(axis=0)
        return E * jnp.sum(share * jax.lax.pmean(chances, "X")) / rows

    return jax.value_and_grad(loss)(Logits)


# %% balance wrong: sums over devices, divided by a device's own tokens
def balance(Logits, Choice):
    rows, E = Logits.shape
    visits = jax.nn.one_hot(Choice, E).sum(axis=(0, 1))
    share = jax.lax.psum(visits, "X") / Choice.size

    def loss(Logits):
        chances = jax.nn.softmax(Logits).sum(axis=0)
        return E * jnp.sum(share * jax.lax.pmean(chances, "X")) / rows

    return jax.value_and_grad(loss)(Logits)


# %% balance wrong: all logits are gathered
def balance(Logits, Choice):
    rows, E = Logits.shape
    me = jax.lax.axis_index("X")
    every = jax.lax.all_gather(Choice, "X", tiled=True, to="invarying")
    share = jax.nn.one_hot(every, E).sum(axis=(0, 1)) / every.size

    def loss(Logits):
        chances = jax.nn.softmax(Logits).mean(axis=0)
        return E * jnp.sum(share * chances)

    logits = jax.lax.all_gather(Logits, "X", tiled=True, to="invarying")
    value, slope = jax.value_and_grad(loss)(logits)
    return value, jax.lax.dynamic_slice_in_dim(slope, me * rows, rows)


# %% balance wrong: the loss of each device's own tokens
def balance(Logits, Choice):
    E = Logits.shape[1]
    share = jax.nn.one_hot(Choice, E).mean(axis=(0, 1))

    def loss(Logits):
        return E * jnp.sum(share * jax.nn.softmax(Logits).mean(axis=0))

    return jax.value_and_grad(loss)(Logits)


# %% balance wrong: logits instead of chances
def balance(Logits, Choice):
    E = Logits.shape[1]
    visits = jax.nn.one_hot(Choice, E).sum(axis=(0, 1))
    share = jax.lax.pmean(visits, "X") / Choice.size

    def loss(Logits):
        return E * jnp.sum(share * jax.lax.pmean(Logits.mean(axis=0), "X"))

    return jax.value_and_grad(loss)(Logits)


# %% balance wrong: a softmax over tokens
def balance(Logits, Choice):
    E = Logits.shape[1]
    visits = jax.nn.one_hot(Choice, E).sum(axis=(0, 1))
    share = jax.lax.pmean(visits, "X") / Choice.size

    def loss(Logits):
        chances = jax.nn.softmax(Logits, axis=0).mean(axis=0)
        return E * jnp.sum(share * jax.lax.pmean(chances, "X"))

    return jax.value_and_grad(loss)(Logits)


# %% balance wrong: all logits are gathered, as JAX can see
def balance(Logits, Choice):
    rows, E = Logits.shape
    everyone = jax.lax.all_gather(Logits, "X", tiled=True, to="invarying")
    chosen = jax.lax.all_gather(Choice, "X", tiled=True, to="invarying")
    share = jax.nn.one_hot(chosen, E).mean(axis=(0, 1))

    def loss(Logits):
        return E * jnp.sum(share * jax.nn.softmax(Logits).mean(axis=0))

    value, slope = jax.value_and_grad(loss)(everyone)
    first = jax.lax.axis_index("X") * rows
    return value, jax.lax.dynamic_slice_in_dim(slope, first, rows)


# %% balance right: the gradient by hand
def balance(Logits, Choice):
    E, N = Logits.shape[1], jax.lax.axis_size("X")
    chances = jax.nn.softmax(Logits)
    visits = (Choice[:, :, None] == jnp.arange(E)).sum(axis=(0, 1))
    f = jax.lax.psum(visits, "X") / (N * Choice.size)
    P = jax.lax.psum(chances.sum(axis=0), "X") / (N * len(Logits))
    mean = (chances * f).sum(axis=1, keepdims=True)
    slope = E / (N * len(Logits)) * chances * (f - mean)
    return E * jnp.sum(f * P), slope


# %% balance right: visits and chances in one message
def balance(Logits, Choice):
    E = Logits.shape[1]
    visits = jnp.bincount(Choice.reshape(-1), length=E) / Choice.size

    def loss(Logits):
        chances = jnp.exp(jax.nn.log_softmax(Logits)).mean(axis=0)
        f, P = jax.lax.pmean(jnp.stack([visits, chances]), "X")
        return E * jnp.vdot(jax.lax.stop_gradient(f), P)

    found, back = jax.vjp(loss, Logits)
    (slope,) = back(jnp.ones_like(found))
    return found, slope


# %% balance equivalent: line 5: `(0, 1)` is reversed
# A sum over two dimensions, in whatever order.


# %% balanced wrong: no bias
def balanced(Affinity, k, copies):
    return np.zeros(np.shape(Affinity)[1])


# %% balanced wrong: the mean affinity is taken off
def balanced(Affinity, k, copies):
    return -np.mean(Affinity, axis=0)


# %% balanced wrong: the median affinity is taken off
def balanced(Affinity, k, copies):
    return -np.median(Affinity, axis=0)


# %% balanced wrong: busy experts get a higher bias
def balanced(Affinity, k, copies):
    B, E = np.shape(Affinity)
    goal = k * B * np.array(copies) / sum(copies)
    bias, rate = np.zeros(E), 0.1
    for _ in range(300):
        experts = np.argsort(-(Affinity + bias), axis=1)[:, :k]
        visits = np.bincount(experts.ravel(), minlength=E)
        bias += rate * np.sign(visits - goal)
        rate *= 0.985
    return bias


# %% balanced wrong: one step
def balanced(Affinity, k, copies):
    B, E = np.shape(Affinity)
    experts = np.argsort(-Affinity, axis=1)[:, :k]
    visits = np.bincount(experts.ravel(), minlength=E)
    return 0.1 * np.sign(k * B / E - visits)


# %% balanced wrong: steps that stay large
def balanced(Affinity, k, copies):
    B, E = np.shape(Affinity)
    goal = k * B * np.array(copies) / sum(copies)
    bias = np.zeros(E)
    for _ in range(500):
        experts = np.argsort(-(Affinity + bias), axis=1)[:, :k]
        visits = np.bincount(experts.ravel(), minlength=E)
        bias -= 0.05 * np.sign(visits - goal)
    return bias


# %% balanced wrong: steps too small to arrive
def balanced(Affinity, k, copies):
    B, E = np.shape(Affinity)
    goal = k * B * np.array(copies) / sum(copies)
    bias = np.zeros(E)
    for _ in range(50):
        experts = np.argsort(-(Affinity + bias), axis=1)[:, :k]
        visits = np.bincount(experts.ravel(), minlength=E)
        bias -= 0.001 * np.sign(visits - goal)
    return bias


# %% balanced wrong: first choices only are counted
def balanced(Affinity, k, copies):
    B, E = np.shape(Affinity)
    goal = B * np.array(copies) / sum(copies)
    bias, rate = np.zeros(E), 0.1
    for _ in range(300):
        best = np.argmax(Affinity + bias, axis=1)
        visits = np.bincount(best, minlength=E)
        bias -= rate * np.sign(visits - goal)
        rate *= 0.985
    return bias * (1 if k > 1 else -1)


# %% balanced right: a rate that halves, and many steps
def balanced(Affinity, k, copies):
    B, E = np.shape(Affinity)
    bias, part = np.zeros(E), np.array(copies) / sum(copies)
    for step in range(5000):
        experts = np.argpartition(-(Affinity + bias), k - 1, axis=1)[:, :k]
        visits = np.bincount(experts.ravel(), minlength=E)
        rate = 0.005 * 0.5 ** (step // 700)
        bias += rate * np.sign(k * B * part - visits)
    return bias


# %% balanced right: one expert after the other, each to its share
def balanced(Affinity, k, copies):
    Affinity = np.asarray(Affinity)
    B, E = Affinity.shape
    bias, ends = np.zeros(E), np.cumsum([0, *copies])
    ends = k * B * ends // sum(copies)
    for _ in range(60):
        for e in range(E):
            others = np.delete(Affinity + bias, e, axis=1)
            bar = np.sort(others, axis=1)[:, -k]  # what it takes to be chosen
            needed = np.sort(bar - Affinity[:, e])
            share = ends[e + 1] - ends[e]
            bias[e] = (needed[share - 1] + needed[share]) / 2
    return bias


# %% dealt wrong: the busiest first, to the chip with the least to do
def dealt(visits, chips, block):
    rows = [-(-n // block) * block for n in visits]
    each = len(visits) // chips
    loads, many, chip = [0] * chips, [0] * chips, [0] * len(visits)
    for e in sorted(range(len(visits)), key=lambda e: -rows[e]):
        free = [c for c in range(chips) if many[c] < each]
        c = min(free, key=lambda c: loads[c])
        loads[c] += rows[e]
        many[c] += 1
        chip[e] = c
    return chip


# %% dealt wrong: blocks are forgotten
def dealt(visits, chips, block):
    from itertools import permutations

    each, best = len(visits) // chips, None
    if each == 2:
        order = sorted(range(len(visits)), key=lambda e: -visits[e])
        chip = [0] * len(visits)
        for c in range(chips):
            chip[order[c]] = chip[order[-1 - c]] = c
        return chip
    rest = range(1, len(visits))
    for hand in permutations(rest, each - 1):
        if list(hand) != sorted(hand):
            continue
        first = (0, *hand)
        left = [e for e in rest if e not in hand]
        for other in permutations(left[1:], each - 1):
            second = (left[0], *other)
            third = [e for e in left if e not in second]
            hands = [first, second, third][:chips]
            most = max(
                sum(visits[e] for e in h) for h in (first, second, third)
            )
            if best is None or most < best[0]:
                best = most, hands
    return [
        next(c for c in range(chips) if e in best[1][c])
        for e in range(len(visits))
    ]


# %% dealt wrong: in the order of their numbers
def dealt(visits, chips, block):
    return [e // (len(visits) // chips) for e in range(len(visits))]


# %% dealt wrong: one by one to the next chip
def dealt(visits, chips, block):
    return [e % chips for e in range(len(visits))]


# %% dealt wrong: the busiest first, one by one to the next chip
def dealt(visits, chips, block):
    chip = [0] * len(visits)
    order = sorted(range(len(visits)), key=lambda e: -visits[e])
    for place, e in enumerate(order):
        chip[e] = place % chips
    return chip


# %% dealt wrong: the busiest first, there and back
def dealt(visits, chips, block):
    chip = [0] * len(visits)
    order = sorted(range(len(visits)), key=lambda e: -visits[e])
    for place, e in enumerate(order):
        turn, c = divmod(place, chips)
        chip[e] = chips - 1 - c if turn % 2 else c
    return chip


# %% dealt wrong: chips may have more experts than others
def dealt(visits, chips, block):
    rows = [-(-n // block) * block for n in visits]
    loads, chip = [0] * chips, [0] * len(visits)
    for e in sorted(range(len(visits)), key=lambda e: -rows[e]):
        c = loads.index(min(loads))
        loads[c] += rows[e]
        chip[e] = c
    return chip


# %% dealt wrong: chips count from 1
def dealt(visits, chips, block):
    return [e % chips + 1 for e in range(len(visits))]


# %% dealt wrong: visits are rounded down to blocks
def dealt(visits, chips, block):
    rows = [n // block for n in visits]
    each, experts = len(visits) // chips, range(len(visits))

    def best(left):
        if not left:
            return 0, []
        ways = []
        for others in combinations(left[1:], each - 1):
            hand = (left[0], *others)
            most, hands = best([e for e in left if e not in hand])
            most = max(most, sum(rows[e] for e in hand))
            ways.append((most, [hand, *hands]))
        return min(ways)

    hands = best(list(experts))[1]
    return [c for e in experts for c in range(chips) if e in hands[c]]


# %% dealt wrong: a full block gets one more
def dealt(visits, chips, block):
    rows = [n // block + 1 for n in visits]
    each, experts = len(visits) // chips, range(len(visits))

    def best(left):
        if not left:
            return 0, []
        ways = []
        for others in combinations(left[1:], each - 1):
            hand = (left[0], *others)
            most, hands = best([e for e in left if e not in hand])
            most = max(most, sum(rows[e] for e in hand))
            ways.append((most, [hand, *hands]))
        return min(ways)

    hands = best(list(experts))[1]
    return [c for e in experts for c in range(chips) if e in hands[c]]


# %% dealt wrong: an expert without visits takes a block
def dealt(visits, chips, block):
    rows = [max(1, -(-n // block)) for n in visits]
    each, experts = len(visits) // chips, range(len(visits))

    def best(left):
        if not left:
            return 0, []
        ways = []
        for others in combinations(left[1:], each - 1):
            hand = (left[0], *others)
            most, hands = best([e for e in left if e not in hand])
            most = max(most, sum(rows[e] for e in hand))
            ways.append((most, [hand, *hands]))
        return min(ways)

    hands = best(list(experts))[1]
    return [c for e in experts for c in range(chips) if e in hands[c]]


# %% dealt wrong: a chip's sum is rounded, not each expert's visits
def dealt(visits, chips, block):
    each, experts = len(visits) // chips, range(len(visits))

    def best(left):
        if not left:
            return 0, []
        ways = []
        for others in combinations(left[1:], each - 1):
            hand = (left[0], *others)
            most, hands = best([e for e in left if e not in hand])
            most = max(most, -(-sum(visits[e] for e in hand) // block))
            ways.append((most, [hand, *hands]))
        return min(ways)

    hands = best(list(experts))[1]
    return [c for e in experts for c in range(chips) if e in hands[c]]


# %% dealt wrong: the least sum of squares
def dealt(visits, chips, block):
    blocks = [-(-n // block) for n in visits]
    each = len(visits) // chips

    def best(left):
        """The fewest blocks of the slowest chip, and the hands."""
        if not left:
            return 0, []
        ways = []
        for others in combinations(left[1:], each - 1):
            hand = (left[0], *others)
            slowest, hands = best([e for e in left if e not in hand])
            slowest += sum(blocks[e] for e in hand) ** 2
            ways.append((slowest, [hand, *hands]))
        return min(ways)

    experts = range(len(visits))
    _, hands = best(list(experts))
    return [c for e in experts for c in range(chips) if e in hands[c]]


# %% dealt wrong: chips that differ least
def dealt(visits, chips, block):
    blocks = [-(-n // block) for n in visits]
    each = len(visits) // chips

    def deals(left):
        if not left:
            yield []
        for others in combinations(left[1:], each - 1) if left else ():
            hand = (left[0], *others)
            for hands in deals([e for e in left if e not in hand]):
                yield [hand, *hands]

    def spread(hands):
        rows = [sum(blocks[e] for e in hand) for hand in hands]
        return max(rows) - min(rows)

    experts = range(len(visits))
    hands = min(deals(list(experts)), key=spread)
    return [c for e in experts for c in range(chips) if e in hands[c]]


# %% dealt right: expert by expert, given up where it is too slow already
def dealt(visits, chips, block):
    rows = [-(-n // block) * block for n in visits]
    each = len(visits) // chips
    best = [sum(rows) + 1, None]

    def deal(e, chip, loads, many):
        if max(loads) >= best[0]:
            return
        if e == len(rows):
            best[:] = max(loads), chip
            return
        for c in range(chips):
            if many[c] < each:
                deal(
                    e + 1,
                    [*chip, c],
                    [n + rows[e] * (c == d) for d, n in enumerate(loads)],
                    [n + (c == d) for d, n in enumerate(many)],
                )
            if not many[c]:
                break  # empty chips are alike

    deal(0, [], [0] * chips, [0] * chips)
    return best[1]


# %% dealt right: is there a way with at most so many rows?
def dealt(visits, chips, block):
    from itertools import combinations

    rows = [(n + block - 1) // block for n in visits]
    each = len(visits) // chips

    def hands(left, limit):
        if not left:
            return []
        for others in combinations(left[1:], each - 1):
            hand = [left[0], *others]
            if sum(rows[e] for e in hand) <= limit:
                rest = [e for e in left if e not in hand]
                found = hands(rest, limit)
                if found is not None:
                    return [hand, *found]
        return None

    limit = max(rows)
    while (found := hands(list(range(len(rows))), limit)) is None:
        limit += 1
    chip = np.zeros(len(rows), int)
    for c, hand in enumerate(found):
        chip[hand] = c
    return chip


# %% dealt equivalent: line 10: 0 becomes 1
# No hand has less than one block of rows.

# %% dealt equivalent: line 13: `(left[0], *others)` is reversed
# A hand has no order.

# %% dealt equivalent: line 15: `max(slowest, sum((blocks[e] for e in hand)))` with its arguments reversed
# The larger of two numbers, in whatever order.


# %% design wrong: one axis after the other, with all of the data
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = sum(n * n // 4 / n / (1 + ring) for n, ring in pairs)
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = expected(M, E // N) * (N - 1) / N
            passed = expected(M * g, E // (N * g)) * (g - 1) / g
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(3 * seconds / (6 * F * k / m["flops"]))
    return int(np.argmin(ratios)), ratios


# %% design wrong: the shortest axis
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = min(n * n // 4 / n / (1 + ring) for n, ring in pairs)
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = expected(M, E // N) * (N - 1) / N
            passed = expected(M * g, E // (N * g)) * (g - 1) / g
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(3 * seconds / (6 * F * k / m["flops"]))
    return int(np.argmin(ratios)), ratios


# %% design wrong: lines are taken for rings
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = max(n * n // 4 / n / 2 for n, ring in pairs)
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = expected(M, E // N) * (N - 1) / N
            passed = expected(M * g, E // (N * g)) * (g - 1) / g
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(3 * seconds / (6 * F * k / m["flops"]))
    return int(np.argmin(ratios)), ratios


# %% design wrong: rings are taken for lines
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = max(n * n // 4 / n for n, ring in pairs)
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = expected(M, E // N) * (N - 1) / N
            passed = expected(M * g, E // (N * g)) * (g - 1) / g
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(3 * seconds / (6 * F * k / m["flops"]))
    return int(np.argmin(ratios)), ratios


# %% design wrong: n/8, also for odd rings
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = max(n / 4 / (1 + ring) for n, ring in pairs)
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = expected(M, E // N) * (N - 1) / N
            passed = expected(M * g, E // (N * g)) * (g - 1) / g
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(3 * seconds / (6 * F * k / m["flops"]))
    return int(np.argmin(ratios)), ratios


# %% design wrong: a torus is taken for a switch
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = 1 - 1 / np.prod([n for n, _ in pairs])
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = expected(M, E // N) * (N - 1) / N
            passed = expected(M * g, E // (N * g)) * (g - 1) / g
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(3 * seconds / (6 * F * k / m["flops"]))
    return int(np.argmin(ratios)), ratios


# %% design wrong: a torus is taken for one long ring
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = np.prod([n for n, _ in pairs]) / 8
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = expected(M, E // N) * (N - 1) / N
            passed = expected(M * g, E // (N * g)) * (g - 1) / g
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(3 * seconds / (6 * F * k / m["flops"]))
    return int(np.argmin(ratios)), ratios


# %% design wrong: an exchange costs what a gather costs
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = max((n - 1) / (1 + ring) for n, ring in pairs)
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = expected(M, E // N) * (N - 1) / N
            passed = expected(M * g, E // (N * g)) * (g - 1) / g
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(3 * seconds / (6 * F * k / m["flops"]))
    return int(np.argmin(ratios)), ratios


# %% design wrong: bf16 both ways
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = max(n * n // 4 / n / (1 + ring) for n, ring in pairs)
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = expected(M, E // N) * (N - 1) / N
            passed = expected(M * g, E // (N * g)) * (g - 1) / g
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(4 * seconds / (6 * F * k / m["flops"]))
    return int(np.argmin(ratios)), ratios


# %% design wrong: the way there only
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = max(n * n // 4 / n / (1 + ring) for n, ring in pairs)
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = expected(M, E // N) * (N - 1) / N
            passed = expected(M * g, E // (N * g)) * (g - 1) / g
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(1 * seconds / (6 * F * k / m["flops"]))
    return int(np.argmin(ratios)), ratios


# %% design wrong: two matmuls
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = max(n * n // 4 / n / (1 + ring) for n, ring in pairs)
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = expected(M, E // N) * (N - 1) / N
            passed = expected(M * g, E // (N * g)) * (g - 1) / g
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(3 * seconds / (4 * F * k / m["flops"]))
    return int(np.argmin(ratios)), ratios


# %% design wrong: a multiply-add is one FLOP
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = max(n * n // 4 / n / (1 + ring) for n, ring in pairs)
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = expected(M, E // N) * (N - 1) / N
            passed = expected(M * g, E // (N * g)) * (g - 1) / g
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(3 * seconds / (3 * F * k / m["flops"]))
    return int(np.argmin(ratios)), ratios


# %% design wrong: one expert works for a token
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = max(n * n // 4 / n / (1 + ring) for n, ring in pairs)
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = expected(M, E // N) * (N - 1) / N
            passed = expected(M * g, E // (N * g)) * (g - 1) / g
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(3 * seconds / (6 * F / m["flops"]))
    return int(np.argmin(ratios)), ratios


# %% design wrong: a copy for each visit
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = max(n * n // 4 / n / (1 + ring) for n, ring in pairs)
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = k * (N - 1) / N
            passed = expected(M * g, E // (N * g)) * (g - 1) / g
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(3 * seconds / (6 * F * k / m["flops"]))
    return int(np.argmin(ratios)), ratios


# %% design wrong: the limit on nodes is forgotten
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = max(n * n // 4 / n / (1 + ring) for n, ring in pairs)
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = expected(N, E // N) * (N - 1) / N
            passed = expected(M * g, E // (N * g)) * (g - 1) / g
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(3 * seconds / (6 * F * k / m["flops"]))
    return int(np.argmin(ratios)), ratios


# %% design wrong: the own node gets a copy
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = max(n * n // 4 / n / (1 + ring) for n, ring in pairs)
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = expected(M, E // N)
            passed = expected(M * g, E // (N * g)) * (g - 1) / g
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(3 * seconds / (6 * F * k / m["flops"]))
    return int(np.argmin(ratios)), ratios


# %% design wrong: all nodes that it may visit are visited
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = max(n * n // 4 / n / (1 + ring) for n, ring in pairs)
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = M * (N - 1) / N
            passed = expected(M * g, E // (N * g)) * (g - 1) / g
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(3 * seconds / (6 * F * k / m["flops"]))
    return int(np.argmin(ratios)), ratios


# %% design wrong: experts are chosen twice
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = (1 - 1 / places) ** k
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = max(n * n // 4 / n / (1 + ring) for n, ring in pairs)
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = expected(M, E // N) * (N - 1) / N
            passed = expected(M * g, E // (N * g)) * (g - 1) / g
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(3 * seconds / (6 * F * k / m["flops"]))
    return int(np.argmin(ratios)), ratios


# %% design wrong: a GPU passes on what is its own
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = max(n * n // 4 / n / (1 + ring) for n, ring in pairs)
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = expected(M, E // N) * (N - 1) / N
            passed = expected(M * g, E // (N * g))
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(3 * seconds / (6 * F * k / m["flops"]))
    return int(np.argmin(ratios)), ratios


# %% design wrong: each visit is passed on
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = max(n * n // 4 / n / (1 + ring) for n, ring in pairs)
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = expected(M, E // N) * (N - 1) / N
            passed = k * (g - 1) / g
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(3 * seconds / (6 * F * k / m["flops"]))
    return int(np.argmin(ratios)), ratios


# %% design wrong: nothing is passed on inside
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = max(n * n // 4 / n / (1 + ring) for n, ring in pairs)
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = expected(M, E // N) * (N - 1) / N
            passed = expected(M * g, E // (N * g)) * (g - 1) / g
            seconds = copies / m["outside"]
        ratios.append(3 * seconds / (6 * F * k / m["flops"]))
    return int(np.argmin(ratios)), ratios


# %% design wrong: one network after the other
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = max(n * n // 4 / n / (1 + ring) for n, ring in pairs)
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = expected(M, E // N) * (N - 1) / N
            passed = expected(M * g, E // (N * g)) * (g - 1) / g
            seconds = copies / m["outside"] + passed / m["inside"]
        ratios.append(3 * seconds / (6 * F * k / m["flops"]))
    return int(np.argmin(ratios)), ratios


# %% design wrong: matmuls over exchange
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = max(n * n // 4 / n / (1 + ring) for n, ring in pairs)
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = expected(M, E // N) * (N - 1) / N
            passed = expected(M * g, E // (N * g)) * (g - 1) / g
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(6 * F * k / m["flops"] / (3 * seconds))
    return int(np.argmin(ratios)), ratios


# %% design wrong: the machine that waits longest
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = max(n * n // 4 / n / (1 + ring) for n, ring in pairs)
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = expected(M, E // N) * (N - 1) / N
            passed = expected(M * g, E // (N * g)) * (g - 1) / g
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(3 * seconds / (6 * F * k / m["flops"]))
    return int(np.argmax(ratios)), ratios


# %% design wrong: machines are counted from 1
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = max(n * n // 4 / n / (1 + ring) for n, ring in pairs)
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = expected(M, E // N) * (N - 1) / N
            passed = expected(M * g, E // (N * g)) * (g - 1) / g
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(3 * seconds / (6 * F * k / m["flops"]))
    return int(np.argmin(ratios)) + 1, ratios


# %% design wrong: the longest axis, divided by their number
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = max(n * n // 4 / n / (1 + ring) for n, ring in pairs)
            seconds = k * share / len(m["shape"]) / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = expected(M, E // N) * (N - 1) / N
            passed = expected(M * g, E // (N * g)) * (g - 1) / g
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(3 * seconds / (6 * F * k / m["flops"]))
    return int(np.argmin(ratios)), ratios


# %% design wrong: a quarter of n, as if links worked one way
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = max(n / 2 / (1 + ring) for n, ring in pairs)
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = expected(M, E // N) * (N - 1) / N
            passed = expected(M * g, E // (N * g)) * (g - 1) / g
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(3 * seconds / (6 * F * k / m["flops"]))
    return int(np.argmin(ratios)), ratios


# %% design wrong: the own node is always one of those visited
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = max(n * n // 4 / n / (1 + ring) for n, ring in pairs)
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = M - 1
            passed = expected(M * g, E // (N * g)) * (g - 1) / g
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(3 * seconds / (6 * F * k / m["flops"]))
    return int(np.argmin(ratios)), ratios


# %% design wrong: only what is for the own node is passed on
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = max(n * n // 4 / n / (1 + ring) for n, ring in pairs)
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = expected(M, E // N) * (N - 1) / N
            passed = expected(M * g, E // (N * g)) * (g - 1) / g / M
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(3 * seconds / (6 * F * k / m["flops"]))
    return int(np.argmin(ratios)), ratios


# %% design wrong: inside, a copy is for one GPU only
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = max(n * n // 4 / n / (1 + ring) for n, ring in pairs)
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = expected(M, E // N) * (N - 1) / N
            passed = copies
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(3 * seconds / (6 * F * k / m["flops"]))
    return int(np.argmin(ratios)), ratios


# %% design wrong: inside, the limit on nodes is forgotten
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = max(n * n // 4 / n / (1 + ring) for n, ring in pairs)
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = expected(M, E // N) * (N - 1) / N
            passed = expected(N * g, E // (N * g)) * (g - 1) / g
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(3 * seconds / (6 * F * k / m["flops"]))
    return int(np.argmin(ratios)), ratios


# %% design wrong: inside, only the own GPU gets no copy
def design(model, machines):
    from math import comb

    E, k, F = model["E"], model["k"], model["F"]

    def expected(places, size):
        missed = comb(places * size - size, k) / comb(places * size, k)
        return places * (1 - missed)

    ratios = []
    for m in machines:
        if "shape" in m:
            pairs = zip(m["shape"], m["rings"], strict=True)
            share = max(n * n // 4 / n / (1 + ring) for n, ring in pairs)
            seconds = k * share / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            copies = expected(M, E // N) * (N - 1) / N
            passed = expected(M * g, E // (N * g)) * (N * g - 1) / (N * g)
            seconds = max(copies / m["outside"], passed / m["inside"])
        ratios.append(3 * seconds / (6 * F * k / m["flops"]))
    return int(np.argmin(ratios)), ratios


# %% design right: chances one expert at a time, with D and tokens
def design(model, machines):
    D, tokens = 7168, 4096
    E, k, F = model["E"], model["k"], model["F"]

    def chance(inside, outside):
        """That one of k experts is among `inside`, others are outside."""
        missed = 1.0
        for chosen in range(k):
            missed *= (outside - chosen) / (outside + inside - chosen)
        return 1 - missed

    def seconds(m):
        if "nodes" in m:
            near = E * m["most"] // m["nodes"]
            node, gpu = E // m["nodes"], E // m["nodes"] // m["gpus"]
            copies = m["most"] * chance(node, near - node)
            passed = m["most"] * m["gpus"] * chance(gpu, near - gpu)
            out = copies * (1 - 1 / m["nodes"]) / m["outside"]
            return max(out, passed * (1 - 1 / m["gpus"]) / m["inside"])
        busiest = []
        for n, ring in zip(m["shape"], m["rings"], strict=True):
            links = 2 if ring else 1
            busiest.append((n * n - n % 2) / 4 / n / links * k)
        return max(busiest) / m["link_bw"]

    ratios = []
    for m in machines:
        exchange = tokens * D * (1 + 2) * seconds(m)
        matmuls = 3 * 2 * tokens * k * D * F / m["flops"]
        ratios.append(exchange / matmuls)
    return [ratios.index(min(ratios)), np.array(ratios)]


# %% design right: links of a torus counted chip by chip
def design(model, machines):
    E, k, F = model["E"], model["k"], model["F"]

    def busiest(n, ring):
        """Bytes over the busiest link if each chip has one for each other."""
        right = np.zeros(n)
        for a in range(n):
            for b in range(n):
                way = (b - a) % n if ring else b - a
                if way <= 0 or (ring and way > n / 2):
                    continue
                for step in range(way):
                    right[(a + step) % n] += 0.5 if 2 * way == n and ring else 1
        return right.max() / n

    def absent(total, mine):
        return np.prod([1 - mine / (total - i) for i in range(k)])

    ratios = []
    for m in machines:
        if "shape" in m:
            each = map(busiest, m["shape"], m["rings"])
            time = k * max(each) / m["link_bw"]
        else:
            N, g, M = m["nodes"], m["gpus"], m["most"]
            total = E // N * M
            nodes = M * (1 - absent(total, E // N))
            gpus = M * g * (1 - absent(total, E // N // g))
            time = nodes * (1 - 1 / N) / m["outside"]
            time = max(time, gpus * (1 - 1 / g) / m["inside"])
        ratios.append(time * m["flops"] / (2 * F * k))
    return int(np.argmin(ratios)), ratios


# %% design equivalent: line 24: True becomes False
# There are as many kinds as axes.

# %% design equivalent: line 32: `max(copies / outside, passed / inside)` with its arguments reversed
# The larger of two numbers, in whatever order.


# %% balanced wrong: all experts alike, as the chapter moves its bias
def balanced(Affinity, k, copies):
    B, E = np.shape(Affinity)
    bias, rate = np.zeros(E), 0.1
    for _ in range(500):
        experts = np.argsort(-(Affinity + bias), axis=1)[:, :k]
        visits = np.bincount(experts.ravel(), minlength=E)
        bias -= rate * np.sign(visits - visits.mean())
        rate *= 0.985
    return bias


# %% balanced wrong: copies are added to the bias
def balanced(Affinity, k, copies):
    B, E = np.shape(Affinity)
    bias, rate = np.zeros(E), 0.1
    for _ in range(500):
        experts = np.argsort(-(Affinity + bias), axis=1)[:, :k]
        visits = np.bincount(experts.ravel(), minlength=E)
        bias -= rate * np.sign(visits - k * B / E)
        rate *= 0.985
    return bias + np.log(copies)


# %% balanced equivalent: line 6: 0.1 becomes 1.1
# A first step that is too large shrinks as well.

# %% balanced equivalent: line 7: 500 becomes 501
# By then the steps are far too small to matter.

# %% balanced equivalent: line 7: `range(500)` ends one too soon
# By then the steps are far too small to matter.

# %% balanced equivalent: line 7: `range(500)` starts one too late
# One step more or less is not what it depends on.


# %% nodes wrong: experts are chosen twice
E, N, k, M = sympy.symbols("E N k M")
every = sympy.binomial(E, k)
missed = sympy.binomial(E - E / N, k) / every
neither = sympy.binomial(E - 2 * E / N, k) / every
near = E * M / N
fewer = sympy.binomial(near - E / N, k) / sympy.binomial(near, k)
none = N ** (-k)
both = 1 - 2 * (1 - 1 / N) ** k + (1 - 2 / N) ** k
limited = M * (N - 1) / N * (1 - (1 - 1 / M) ** k)


# %% nodes wrong: experts are chosen twice, for both
E, N, k, M = sympy.symbols("E N k M")
every = sympy.binomial(E, k)
missed = sympy.binomial(E - E / N, k) / every
neither = sympy.binomial(E - 2 * E / N, k) / every
near = E * M / N
fewer = sympy.binomial(near - E / N, k) / sympy.binomial(near, k)
none = sympy.binomial(E / N, k) / every
both = 1 - 2 * (1 - 1 / N) ** k + (1 - 2 / N) ** k
limited = M * (N - 1) / N * (1 - fewer)


# %% nodes wrong: a copy for each visit
E, N, k, M = sympy.symbols("E N k M")
every = sympy.binomial(E, k)
missed = sympy.binomial(E - E / N, k) / every
neither = sympy.binomial(E - 2 * E / N, k) / every
near = E * M / N
fewer = sympy.binomial(near - E / N, k) / sympy.binomial(near, k)
none = sympy.binomial(E / N, k) / every
both = 1 - 2 * missed + neither
limited = k * (N - 1) / N


# %% nodes wrong: the chance to miss the own node
E, N, k, M = sympy.symbols("E N k M")
every = sympy.binomial(E, k)
missed = sympy.binomial(E - E / N, k) / every
neither = sympy.binomial(E - 2 * E / N, k) / every
near = E * M / N
fewer = sympy.binomial(near - E / N, k) / sympy.binomial(near, k)
none = missed
both = 1 - 2 * missed + neither
limited = M * (N - 1) / N * (1 - fewer)


# %% nodes wrong: the chance to visit the own node
E, N, k, M = sympy.symbols("E N k M")
every = sympy.binomial(E, k)
missed = sympy.binomial(E - E / N, k) / every
neither = sympy.binomial(E - 2 * E / N, k) / every
near = E * M / N
fewer = sympy.binomial(near - E / N, k) / sympy.binomial(near, k)
none = 1 - missed
both = 1 - 2 * missed + neither
limited = M * (N - 1) / N * (1 - fewer)


# %% nodes wrong: each of the other nodes is missed by itself
E, N, k, M = sympy.symbols("E N k M")
every = sympy.binomial(E, k)
missed = sympy.binomial(E - E / N, k) / every
neither = sympy.binomial(E - 2 * E / N, k) / every
near = E * M / N
fewer = sympy.binomial(near - E / N, k) / sympy.binomial(near, k)
none = missed ** (N - 1)
both = 1 - 2 * missed + neither
limited = M * (N - 1) / N * (1 - fewer)


# %% nodes wrong: all on one node, whichever it is
E, N, k, M = sympy.symbols("E N k M")
every = sympy.binomial(E, k)
missed = sympy.binomial(E - E / N, k) / every
neither = sympy.binomial(E - 2 * E / N, k) / every
near = E * M / N
fewer = sympy.binomial(near - E / N, k) / sympy.binomial(near, k)
none = N * sympy.binomial(E / N, k) / every
both = 1 - 2 * missed + neither
limited = M * (N - 1) / N * (1 - fewer)


# %% nodes wrong: one visit at home
E, N, k, M = sympy.symbols("E N k M")
every = sympy.binomial(E, k)
missed = sympy.binomial(E - E / N, k) / every
neither = sympy.binomial(E - 2 * E / N, k) / every
near = E * M / N
fewer = sympy.binomial(near - E / N, k) / sympy.binomial(near, k)
none = 1 / N
both = 1 - 2 * missed + neither
limited = M * (N - 1) / N * (1 - fewer)


# %% nodes wrong: two nodes are two dice
E, N, k, M = sympy.symbols("E N k M")
every = sympy.binomial(E, k)
missed = sympy.binomial(E - E / N, k) / every
neither = sympy.binomial(E - 2 * E / N, k) / every
near = E * M / N
fewer = sympy.binomial(near - E / N, k) / sympy.binomial(near, k)
none = sympy.binomial(E / N, k) / every
both = (1 - missed) ** 2
limited = M * (N - 1) / N * (1 - fewer)


# %% nodes wrong: what misses both is taken away twice
E, N, k, M = sympy.symbols("E N k M")
every = sympy.binomial(E, k)
missed = sympy.binomial(E - E / N, k) / every
neither = sympy.binomial(E - 2 * E / N, k) / every
near = E * M / N
fewer = sympy.binomial(near - E / N, k) / sympy.binomial(near, k)
none = sympy.binomial(E / N, k) / every
both = 1 - 2 * missed
limited = M * (N - 1) / N * (1 - fewer)


# %% nodes wrong: one of the two, or both
E, N, k, M = sympy.symbols("E N k M")
every = sympy.binomial(E, k)
missed = sympy.binomial(E - E / N, k) / every
neither = sympy.binomial(E - 2 * E / N, k) / every
near = E * M / N
fewer = sympy.binomial(near - E / N, k) / sympy.binomial(near, k)
none = sympy.binomial(E / N, k) / every
both = 1 - neither
limited = M * (N - 1) / N * (1 - fewer)


# %% nodes wrong: neither of the two
E, N, k, M = sympy.symbols("E N k M")
every = sympy.binomial(E, k)
missed = sympy.binomial(E - E / N, k) / every
neither = sympy.binomial(E - 2 * E / N, k) / every
near = E * M / N
fewer = sympy.binomial(near - E / N, k) / sympy.binomial(near, k)
none = sympy.binomial(E / N, k) / every
both = neither
limited = M * (N - 1) / N * (1 - fewer)


# %% nodes wrong: one certain node
E, N, k, M = sympy.symbols("E N k M")
every = sympy.binomial(E, k)
missed = sympy.binomial(E - E / N, k) / every
neither = sympy.binomial(E - 2 * E / N, k) / every
near = E * M / N
fewer = sympy.binomial(near - E / N, k) / sympy.binomial(near, k)
none = sympy.binomial(E / N, k) / every
both = 1 - missed
limited = M * (N - 1) / N * (1 - fewer)


# %% nodes wrong: the sign of what misses both
E, N, k, M = sympy.symbols("E N k M")
every = sympy.binomial(E, k)
missed = sympy.binomial(E - E / N, k) / every
neither = sympy.binomial(E - 2 * E / N, k) / every
near = E * M / N
fewer = sympy.binomial(near - E / N, k) / sympy.binomial(near, k)
none = sympy.binomial(E / N, k) / every
both = 1 - 2 * missed - neither
limited = M * (N - 1) / N * (1 - fewer)


# %% nodes wrong: one expert on each, and the rest anywhere
E, N, k, M = sympy.symbols("E N k M")
every = sympy.binomial(E, k)
missed = sympy.binomial(E - E / N, k) / every
neither = sympy.binomial(E - 2 * E / N, k) / every
near = E * M / N
fewer = sympy.binomial(near - E / N, k) / sympy.binomial(near, k)
none = sympy.binomial(E / N, k) / every
both = (E / N) ** 2 * sympy.binomial(E - 2, k - 2) / every
limited = M * (N - 1) / N * (1 - fewer)


# %% nodes wrong: a copy for the own node, too
E, N, k, M = sympy.symbols("E N k M")
every = sympy.binomial(E, k)
missed = sympy.binomial(E - E / N, k) / every
neither = sympy.binomial(E - 2 * E / N, k) / every
near = E * M / N
fewer = sympy.binomial(near - E / N, k) / sympy.binomial(near, k)
none = sympy.binomial(E / N, k) / every
both = 1 - 2 * missed + neither
limited = M * (1 - fewer)


# %% nodes wrong: the own node is always one of the M
E, N, k, M = sympy.symbols("E N k M")
every = sympy.binomial(E, k)
missed = sympy.binomial(E - E / N, k) / every
neither = sympy.binomial(E - 2 * E / N, k) / every
near = E * M / N
fewer = sympy.binomial(near - E / N, k) / sympy.binomial(near, k)
none = sympy.binomial(E / N, k) / every
both = 1 - 2 * missed + neither
limited = (M - 1) * (1 - fewer)


# %% nodes wrong: M of the nodes, but experts of all
E, N, k, M = sympy.symbols("E N k M")
every = sympy.binomial(E, k)
missed = sympy.binomial(E - E / N, k) / every
neither = sympy.binomial(E - 2 * E / N, k) / every
near = E * M / N
fewer = sympy.binomial(near - E / N, k) / sympy.binomial(near, k)
none = sympy.binomial(E / N, k) / every
both = 1 - 2 * missed + neither
limited = M * (N - 1) / N * (1 - missed)


# %% nodes wrong: all nodes may be visited, by the experts of M
E, N, k, M = sympy.symbols("E N k M")
every = sympy.binomial(E, k)
missed = sympy.binomial(E - E / N, k) / every
neither = sympy.binomial(E - 2 * E / N, k) / every
near = E * M / N
fewer = sympy.binomial(near - E / N, k) / sympy.binomial(near, k)
none = sympy.binomial(E / N, k) / every
both = 1 - 2 * missed + neither
limited = (N - 1) * (1 - fewer)


# %% nodes wrong: M of the nodes, experts chosen twice
E, N, k, M = sympy.symbols("E N k M")
every = sympy.binomial(E, k)
missed = sympy.binomial(E - E / N, k) / every
neither = sympy.binomial(E - 2 * E / N, k) / every
near = E * M / N
fewer = sympy.binomial(near - E / N, k) / sympy.binomial(near, k)
none = sympy.binomial(E / N, k) / every
both = 1 - 2 * missed + neither
limited = M * (N - 1) / N * (1 - (1 - 1 / M) ** k)


# %% nodes wrong: the chance that a copy is sent
E, N, k, M = sympy.symbols("E N k M")
every = sympy.binomial(E, k)
missed = sympy.binomial(E - E / N, k) / every
neither = sympy.binomial(E - 2 * E / N, k) / every
near = E * M / N
fewer = sympy.binomial(near - E / N, k) / sympy.binomial(near, k)
none = 1 - sympy.binomial(E / N, k) / every
both = 1 - 2 * missed + neither
limited = M * (N - 1) / N * (1 - fewer)


# %% nodes wrong: all pairs of nodes together
E, N, k, M = sympy.symbols("E N k M")
every = sympy.binomial(E, k)
missed = sympy.binomial(E - E / N, k) / every
neither = sympy.binomial(E - 2 * E / N, k) / every
near = E * M / N
fewer = sympy.binomial(near - E / N, k) / sympy.binomial(near, k)
none = sympy.binomial(E / N, k) / every
both = N * (N - 1) / 2 * (1 - 2 * missed + neither)
limited = M * (N - 1) / N * (1 - fewer)


# %% nodes wrong: the limit changes nothing
E, N, k, M = sympy.symbols("E N k M")
every = sympy.binomial(E, k)
missed = sympy.binomial(E - E / N, k) / every
neither = sympy.binomial(E - 2 * E / N, k) / every
near = E * M / N
fewer = sympy.binomial(near - E / N, k) / sympy.binomial(near, k)
none = sympy.binomial(E / N, k) / every
both = 1 - 2 * missed + neither
limited = (N - 1) * (1 - missed)


# %% nodes wrong: all M are visited
E, N, k, M = sympy.symbols("E N k M")
every = sympy.binomial(E, k)
missed = sympy.binomial(E - E / N, k) / every
neither = sympy.binomial(E - 2 * E / N, k) / every
near = E * M / N
fewer = sympy.binomial(near - E / N, k) / sympy.binomial(near, k)
none = sympy.binomial(E / N, k) / every
both = 1 - 2 * missed + neither
limited = M * (N - 1) / N


# %% nodes wrong: a number for a formula
E, N, k, M = sympy.symbols("E N k M")
every = sympy.binomial(E, k)
missed = sympy.binomial(E - E / N, k) / every
neither = sympy.binomial(E - 2 * E / N, k) / every
near = E * M / N
fewer = sympy.binomial(near - E / N, k) / sympy.binomial(near, k)
none = 0.5
both = 1 - 2 * missed + neither
limited = M * (N - 1) / N * (1 - fewer)


# %% nodes wrong: the number of one model
E, N, k, M = sympy.symbols("E N k M")
every = sympy.binomial(E, k)
missed = sympy.binomial(E - E / N, k) / every
neither = sympy.binomial(E - 2 * E / N, k) / every
near = E * M / N
fewer = sympy.binomial(near - E / N, k) / sympy.binomial(near, k)
none = sympy.binomial(32, 8) / sympy.binomial(256, 8)
both = 1 - 2 * missed + neither
limited = M * (N - 1) / N * (1 - fewer)


# %% nodes right: as text
none = "binomial(E/N, k)/binomial(E, k)"
both = "(binomial(E, k) - 2*binomial(E*(N - 1)/N, k) + binomial(E*(N - 2)/N, k))/binomial(E, k)"
limited = "M*(1 - 1/N)*(1 - binomial(E*(M - 1)/N, k)/binomial(E*M/N, k))"


# %% nodes right: one visited for certain, and the other one missed
E, N, k, M = sympy.symbols("E N k M", positive=True, integer=True)
each = E / N


def missing(nodes, among):
    left = sympy.binomial(each * (among - nodes), k)
    return left / sympy.binomial(each * among, k)


none = missing(N - 1, N)
only_one = missing(1, N) - missing(2, N)
both = (1 - missing(1, N)) - only_one
limited = (M - M / N) * (1 - missing(1, M))
