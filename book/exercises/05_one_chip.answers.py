# Answers that the checks of exercise set 5 must reject or accept.
#
# A cell is titled with the answer cell's grade_id, then `wrong: ` with the
# mistake or `right: ` with what is different. Run by tests/exercises.

# %% product wrong: W as if it were stored the other way
def linear_gradients(X, W, dY):
    return [dY @ W, X.T @ dY, dY.sum(axis=0)]


# %% product wrong: dX transposed
def linear_gradients(X, W, dY):
    return [W.T @ dY.T, dY.T @ X, dY.sum(axis=0)]


# %% product wrong: dX and dW exchanged
def linear_gradients(X, W, dY):
    return [dY.T @ X, dY @ W, dY.sum(axis=0)]


# %% product wrong: the change of each array, downhill
def linear_gradients(X, W, dY):
    return [-dY @ W, -dY.T @ X, -dY.sum(axis=0)]


# %% product wrong: the mean over rows
def linear_gradients(X, W, dY):
    return [dY @ W, dY.T @ X / len(X), dY.mean(axis=0)]


# %% product wrong: the bias is forgotten
def linear_gradients(X, W, dY):
    return [dY @ W, dY.T @ X]


# %% product wrong: db is dY
def linear_gradients(X, W, dY):
    return [dY @ W, dY.T @ X, dY]


# %% product wrong: db adds up columns
def linear_gradients(X, W, dY):
    return [dY @ W, dY.T @ X, dY.sum(axis=1)]


# %% product wrong: db adds up everything
def linear_gradients(X, W, dY):
    return [dY @ W, dY.T @ X, dY.sum()]


# %% product wrong: rows as lists, and dW transposed
def linear_gradients(X, W, dY):
    return [(dY @ W).tolist(), (X.T @ dY).tolist(), dY.sum(0).tolist()]


# %% product right: by the letters
def linear_gradients(X, W, dY):
    dX = np.einsum("ik,kj->ij", dY, W)
    dW = np.einsum("ij,ik->kj", X, dY)
    return [dX, dW, np.einsum("ik->k", dY)]


# %% product right: JAX differentiates
def linear_gradients(X, W, dY):
    def layer(X, W, b):
        return X @ W.T + b

    arrays = jnp.float32(X), jnp.float32(W), jnp.zeros(len(W))
    return list(jax.vjp(layer, *arrays)[1](jnp.float32(dY)))


# %% product right: outer products, row by row
def linear_gradients(X, W, dY):
    dW = sum(np.outer(dy, x) for x, dy in zip(X, dY))
    dX = np.stack([W.T @ dy for dy in dY])
    return (dX, dW, sum(dY))


# %% product right: rows as lists
def linear_gradients(X, W, dY):
    (I, J), K = X.shape, len(W)
    dX = [
        [sum(dY[i, k] * W[k, j] for k in range(K)) for j in range(J)]
        for i in range(I)
    ]
    dW = [
        [sum(dY[i, k] * X[i, j] for i in range(I)) for j in range(J)]
        for k in range(K)
    ]
    return [dX, dW, [sum(dY[i, k] for i in range(I)) for k in range(K)]]


# %% memory wrong: the batch is divided like sand
def training_memory(params, L, S, T, D, F, recipe, hbm):
    states, kept = params * sum(recipe), 2 * L * S * T * (2 * F + D)
    return [states, kept, -(-(states + kept) // hbm)]


# %% memory wrong: a part of a sequence on the last chip
def training_memory(params, L, S, T, D, F, recipe, hbm):
    states, each = params * sum(recipe), 2 * L * T * (2 * F + D)
    for chips in range(1, S + 1):
        if states / chips + S / chips * each <= hbm:
            return [states, S * each, chips]
    return [states, S * each, 0]


# %% memory wrong: rounds sequences down
def training_memory(params, L, S, T, D, F, recipe, hbm):
    states, each = params * sum(recipe), 2 * L * T * (2 * F + D)
    for chips in range(1, S + 1):
        if states / chips + S // chips * each <= hbm:
            return [states, S * each, chips]
    return [states, S * each, 0]


# %% memory wrong: gate and up count as one
def training_memory(params, L, S, T, D, F, recipe, hbm):
    states, each = params * sum(recipe), 2 * L * T * (F + D)
    for chips in range(1, S + 1):
        if states / chips + -(-S // chips) * each <= hbm:
            return [states, S * each, chips]
    return [states, S * each, 0]


# %% memory wrong: 16 bytes, whatever the recipe
def training_memory(params, L, S, T, D, F, recipe, hbm):
    states, each = params * 16, 2 * L * T * (2 * F + D)
    for chips in range(1, S + 1):
        if states / chips + -(-S // chips) * each <= hbm:
            return [states, S * each, chips]
    return [states, S * each, 0]


# %% memory wrong: elements for bytes
def training_memory(params, L, S, T, D, F, recipe, hbm):
    states, each = params * sum(recipe), L * T * (2 * F + D)
    for chips in range(1, S + 1):
        if states / chips + -(-S // chips) * each <= hbm:
            return [states, S * each, chips]
    return [states, S * each, 0]


# %% memory wrong: one layer
def training_memory(params, L, S, T, D, F, recipe, hbm):
    states, each = params * sum(recipe), 2 * T * (2 * F + D)
    for chips in range(1, S + 1):
        if states / chips + -(-S // chips) * each <= hbm:
            return [states, S * each, chips]
    return [states, S * each, 0]


# %% memory wrong: every chip keeps all states
def training_memory(params, L, S, T, D, F, recipe, hbm):
    states, each = params * sum(recipe), 2 * L * T * (2 * F + D)
    for chips in range(1, S + 1):
        if states + -(-S // chips) * each <= hbm:
            return [states, S * each, chips]
    return [states, S * each, 0]


# %% memory wrong: more chips than sequences
def training_memory(params, L, S, T, D, F, recipe, hbm):
    states, each = params * sum(recipe), 2 * L * T * (2 * F + D)
    chips = 1
    while states / chips + -(-S // chips) * each > hbm and chips < 10**5:
        chips += 1
    return [states, S * each, chips]


# %% memory wrong: the batch in tokens
def training_memory(params, L, S, T, D, F, recipe, hbm):
    states, each = params * sum(recipe), 2 * L * (2 * F + D)
    for chips in range(1, S + 1):
        if states / chips + -(-S // chips) * each <= hbm:
            return [states, S * each, chips]
    return [states, S * each, 0]


# %% memory wrong: a byte must be left
def training_memory(params, L, S, T, D, F, recipe, hbm):
    states, sequence = params * sum(recipe), 2 * L * T * (F + F + D)
    for chips in range(1, S + 1):
        if states / chips + -(-S // chips) * sequence < hbm:
            return [states, S * sequence, chips]
    return [states, S * sequence, 0]


# %% memory right: by the sequences of the fullest chip
def training_memory(params, L, S, T, D, F, recipe, hbm):
    states = sum(size * params for size in recipe)
    each = L * sum(2 * T * width for width in (F, F, D))
    found = []
    for most in range(1, S + 1):
        room = hbm - most * each
        if room > 0:
            chips = max(-(-S // most), -(-states // room))
            found += [chips] if chips <= S else []
    return [states, S * each, min(found, default=0)]


# %% memory right: sequences dealt like cards
def training_memory(params, L, S, T, D, F, recipe, hbm):
    states = int(np.array(recipe) @ np.full(5, params))
    each = L * (4 * T * F + 2 * T * D)
    for chips in np.arange(1, S + 1).tolist():
        fullest = np.bincount(np.arange(S) % chips).max()
        if states <= (hbm - int(fullest) * each) * chips:
            return (states, each * S, chips)
    return (states, each * S, False)


# %% symbols wrong: without the gate
B, D, F, C, M = sympy.symbols("B D F C M", positive=True)
math = 12 * B * D * F / C
update = 60 * D * F / M
tokens = 5 * C / M

# %% symbols wrong: bytes that are held
B, D, F, C, M = sympy.symbols("B D F C M", positive=True)
math = 18 * B * D * F / C
update = 54 * D * F / M
tokens = 3 * C / M

# %% symbols wrong: the gradient in bf16
B, D, F, C, M = sympy.symbols("B D F C M", positive=True)
math = 18 * B * D * F / C
update = 84 * D * F / M
tokens = 14 * C / (3 * M)

# %% symbols wrong: a multiply-add is one
B, D, F, C, M = sympy.symbols("B D F C M", positive=True)
math = 9 * B * D * F / C
update = 90 * D * F / M
tokens = 10 * C / M

# %% symbols wrong: upside down
B, D, F, C, M = sympy.symbols("B D F C M", positive=True)
math = 18 * B * D * F / C
update = 90 * D * F / M
tokens = M / (5 * C)

# %% symbols wrong: the old weight is read
B, D, F, C, M = sympy.symbols("B D F C M", positive=True)
math = 18 * B * D * F / C
update = 96 * D * F / M
tokens = 16 * C / (3 * M)

# %% symbols wrong: the forward pass
B, D, F, C, M = sympy.symbols("B D F C M", positive=True)
math = 6 * B * D * F / C
update = 90 * D * F / M
tokens = 15 * C / M

# %% symbols right: one from the others
B, D, F, C, M = sympy.symbols("B D F C M", positive=True)
weights = 3 * D * F
math = 6 * B * weights / C
update = (4 + 12 + 2 + 12) * weights / M
tokens = sympy.solve(math - update, B)[0]

# %% symbols right: as text
math = "18*B*D*F/C"
update = "90*D*F/M"
tokens = "5*C/M"


# %% owed wrong: only what is summed must be cut alike
def owed(product, left, right):
    factors, result = product.split("->")
    first, second = factors.split(",")
    a, b = dict(zip(first, left)), dict(zip(second, right))
    summed = [letter for letter in first if letter not in result]
    if any(a[letter] != b[letter] for letter in summed):
        return "no"
    stay = "".join({**a, **b}[letter] for letter in result)
    if len(set(stay)) < len(stay):
        return "no"
    return "".join(a[letter] for letter in summed)


# %% owed wrong: an axis may cut two letters of the result
def owed(product, left, right):
    factors, result = product.split("->")
    first, second = factors.split(",")
    a, b = dict(zip(first, left)), dict(zip(second, right))
    if any(a[letter] != b[letter] for letter in set(a) & set(b)):
        return "no"
    return "".join(a[letter] for letter in first if letter not in result)


# %% owed wrong: the order of axes does not matter
def owed(product, left, right):
    factors, result = product.split("->")
    first, second = factors.split(",")
    a, b = dict(zip(first, left)), dict(zip(second, right))
    if any(set(a[x]) != set(b[x]) for x in set(a) & set(b)):
        return "no"
    stay = "".join({**a, **b}[letter] for letter in result)
    if len(set(stay)) < len(stay):
        return "no"
    return "".join(a[letter] for letter in first if letter not in result)


# %% owed wrong: one of the two being cut is enough
def owed(product, left, right):
    factors, result = product.split("->")
    first, second = factors.split(",")
    a, b = dict(zip(first, left)), dict(zip(second, right))
    if any(a[x] and b[x] and a[x] != b[x] for x in set(a) & set(b)):
        return "no"
    stay = "".join(a.get(x) or b.get(x) or "" for x in result)
    if len(set(stay)) < len(stay):
        return "no"
    return "".join(a[x] or b[x] for x in first if x not in result)


# %% owed wrong: a sum that is left is a "no"
def owed(product, left, right):
    factors, result = product.split("->")
    first, second = factors.split(",")
    a, b = dict(zip(first, left)), dict(zip(second, right))
    if any(a[letter] != b[letter] for letter in set(a) & set(b)):
        return "no"
    stay = "".join({**a, **b}[letter] for letter in result)
    summed = "".join(a[letter] for letter in first if letter not in result)
    return "no" if summed or len(set(stay)) < len(stay) else ""


# %% owed wrong: one letter is summed, the first
def owed(product, left, right):
    factors, result = product.split("->")
    first, second = factors.split(",")
    a, b = dict(zip(first, left)), dict(zip(second, right))
    if any(a[letter] != b[letter] for letter in set(a) & set(b)):
        return "no"
    stay = "".join({**a, **b}[letter] for letter in result)
    if len(set(stay)) < len(stay):
        return "no"
    return next(a[letter] for letter in first if letter not in result)


# %% owed wrong: the last letter of the left factor is summed
def owed(product, left, right):
    factors, result = product.split("->")
    first, second = factors.split(",")
    a, b = dict(zip(first, left)), dict(zip(second, right))
    if any(a[letter] != b[letter] for letter in set(a) & set(b)):
        return "no"
    stay = "".join({**a, **b}[letter] for letter in result)
    return "no" if len(set(stay)) < len(stay) else left[-1]


# %% owed wrong: every axis that does not cut the result
def owed(product, left, right):
    factors, result = product.split("->")
    first, second = factors.split(",")
    a, b = dict(zip(first, left)), dict(zip(second, right))
    if any(a[letter] != b[letter] for letter in set(a) & set(b)):
        return "no"
    stay = "".join({**a, **b}[letter] for letter in result)
    if len(set(stay)) < len(stay):
        return "no"
    return "".join(axis for axis in "XY" if axis not in stay)


# %% owed wrong: a letter that both have is summed
def owed(product, left, right):
    factors, result = product.split("->")
    first, second = factors.split(",")
    a, b = dict(zip(first, left)), dict(zip(second, right))
    both = [letter for letter in first if letter in b]
    if any(a[letter] != b[letter] for letter in both):
        return "no"
    stay = "".join({**a, **b}[letter] for letter in result)
    if len(set(stay)) < len(stay):
        return "no"
    return "".join(a[letter] for letter in both)


# %% owed wrong: a list of axes
def owed(product, left, right):
    factors, result = product.split("->")
    first, second = factors.split(",")
    a, b = dict(zip(first, left)), dict(zip(second, right))
    if any(a[letter] != b[letter] for letter in set(a) & set(b)):
        return "no"
    return [a[letter] for letter in first if letter not in result]


# %% owed right: by pairs of letters and axes
def owed(product, left, right):
    factors, result = product.split("->")
    first, second = factors.split(",")
    for i, letter in enumerate(first):
        at = second.find(letter)
        if at >= 0 and left[i] != right[at]:
            return "no"
    holds = {
        (axis, letter)
        for names, cuts in ((first, left), (second, right))
        for letter, cut in zip(names, cuts)
        for axis in cut
    }
    rows = [axis for axis, letter in holds if letter in result]
    if len(rows) > len(set(rows)):
        return "no"
    return "".join(sorted({axis for axis, x in holds if x not in result}))


# %% owed right: parts of six are held by each device
def owed(product, left, right):
    factors, result = product.split("->")
    first, second = factors.split(",")
    size = {"X": 2, "Y": 3}

    def part(cut, at):
        start, length = 0, 6
        for axis in cut:
            length //= size[axis]
            start += length * at[axis]
        return start, length

    formed = set()
    for x in range(2):
        for y in range(3):
            held = {}
            for names, cuts in ((first, left), (second, right)):
                for name, cut in zip(names, cuts):
                    own = part(cut, {"X": x, "Y": y})
                    if held.setdefault(name, own) != own:
                        return "no"
            formed.add(tuple(held[name] for name in result))
    blocks = 1
    for name in result:
        blocks *= 6 // held[name][1]
    if len(formed) < blocks:
        return "no"
    cuts = dict(zip(first, left))
    return "".join(cut for name, cut in cuts.items() if name not in result)


# %% gate wrong: silu's derivative is sigma
def gated_backward(dOut, In, Gate, Up, W_gate, W_in, W_out):
    sigma = 1 / (1 + np.exp(-Gate))
    dTmp = dOut @ W_out.T
    dUp = dTmp * Gate * sigma
    dGate = dTmp * Up * sigma
    dIn = dGate @ W_gate.T + dUp @ W_in.T
    dW_out = np.round(Gate * sigma * Up).T @ dOut
    return [dIn, In.T @ dGate, In.T @ dUp, dW_out]


# %% gate wrong: dIn by the gate alone
def gated_backward(dOut, In, Gate, Up, W_gate, W_in, W_out):
    sigma = 1 / (1 + np.exp(-Gate))
    dTmp = dOut @ W_out.T
    dUp = dTmp * Gate * sigma
    dGate = dTmp * Up * sigma * (1 + Gate * (1 - sigma))
    dIn = dGate @ W_gate.T
    dW_out = np.round(Gate * sigma * Up).T @ dOut
    return [dIn, In.T @ dGate, In.T @ dUp, dW_out]


# %% gate wrong: dIn by the other way alone
def gated_backward(dOut, In, Gate, Up, W_gate, W_in, W_out):
    sigma = 1 / (1 + np.exp(-Gate))
    dTmp = dOut @ W_out.T
    dUp = dTmp * Gate * sigma
    dGate = dTmp * Up * sigma * (1 + Gate * (1 - sigma))
    dIn = dUp @ W_in.T
    dW_out = np.round(Gate * sigma * Up).T @ dOut
    return [dIn, In.T @ dGate, In.T @ dUp, dW_out]


# %% gate wrong: no silu at all
def gated_backward(dOut, In, Gate, Up, W_gate, W_in, W_out):
    sigma = 1 / (1 + np.exp(-Gate))
    dTmp = dOut @ W_out.T
    dUp, dGate = dTmp * Gate, dTmp * Up
    dIn = dGate @ W_gate.T + dUp @ W_in.T
    dW_out = np.round(Gate * sigma * Up).T @ dOut
    return [dIn, In.T @ dGate, In.T @ dUp, dW_out]


# %% gate wrong: dGate without Up
def gated_backward(dOut, In, Gate, Up, W_gate, W_in, W_out):
    sigma = 1 / (1 + np.exp(-Gate))
    dTmp = dOut @ W_out.T
    dUp = dTmp * Gate * sigma
    dGate = dTmp * sigma * (1 + Gate * (1 - sigma))
    dIn = dGate @ W_gate.T + dUp @ W_in.T
    dW_out = np.round(Gate * sigma * Up).T @ dOut
    return [dIn, In.T @ dGate, In.T @ dUp, dW_out]


# %% gate wrong: the two weights' gradients exchanged
def gated_backward(dOut, In, Gate, Up, W_gate, W_in, W_out):
    sigma = 1 / (1 + np.exp(-Gate))
    dTmp = dOut @ W_out.T
    dUp = dTmp * Gate * sigma
    dGate = dTmp * Up * sigma * (1 + Gate * (1 - sigma))
    dIn = dGate @ W_gate.T + dUp @ W_in.T
    dW_out = np.round(Gate * sigma * Up).T @ dOut
    return [dIn, In.T @ dUp, In.T @ dGate, dW_out]


# %% gate wrong: dW_out from Up without the gate
def gated_backward(dOut, In, Gate, Up, W_gate, W_in, W_out):
    sigma = 1 / (1 + np.exp(-Gate))
    dTmp = dOut @ W_out.T
    dUp = dTmp * Gate * sigma
    dGate = dTmp * Up * sigma * (1 + Gate * (1 - sigma))
    dIn = dGate @ W_gate.T + dUp @ W_in.T
    return [dIn, In.T @ dGate, In.T @ dUp, Up.T @ dOut]


# %% gate wrong: gradients transposed
def gated_backward(dOut, In, Gate, Up, W_gate, W_in, W_out):
    sigma = 1 / (1 + np.exp(-Gate))
    dTmp = dOut @ W_out.T
    dUp = dTmp * Gate * sigma
    dGate = dTmp * Up * sigma * (1 + Gate * (1 - sigma))
    dIn = dGate @ W_gate.T + dUp @ W_in.T
    dW_out = dOut.T @ np.round(Gate * sigma * Up)
    return [dIn, dGate.T @ In, dUp.T @ In, dW_out]


# %% gate wrong: dW_out as if nothing were rounded, the chapter's block
def gated_backward(dOut, In, Gate, Up, W_gate, W_in, W_out):
    def gated(In, W_gate, W_in, W_out):
        return (jax.nn.silu(In @ W_gate) * (In @ W_in)) @ W_out

    arrays = [jnp.float32(x) for x in (In, W_gate, W_in, W_out)]
    return list(jax.vjp(gated, *arrays)[1](jnp.float32(dOut)))


# %% gate wrong: JAX differentiates round, too
def gated_backward(dOut, In, Gate, Up, W_gate, W_in, W_out):
    def gated(In, W_gate, W_in, W_out):
        Tmp = jnp.round(jax.nn.silu(In @ W_gate) * (In @ W_in))
        return Tmp @ W_out

    arrays = [jnp.float32(x) for x in (In, W_gate, W_in, W_out)]
    return list(jax.vjp(gated, *arrays)[1](jnp.float32(dOut)))


# %% gate wrong: rounded down
def gated_backward(dOut, In, Gate, Up, W_gate, W_in, W_out):
    sigma = 1 / (1 + np.exp(-Gate))
    dTmp = dOut @ W_out.T
    dUp = dTmp * Gate * sigma
    dGate = dTmp * Up * sigma * (1 + Gate * (1 - sigma))
    dIn = dGate @ W_gate.T + dUp @ W_in.T
    dW_out = np.floor(Gate * sigma * Up).T @ dOut
    return [dIn, In.T @ dGate, In.T @ dUp, dW_out]


# %% gate wrong: both factors are rounded, and not their product
def gated_backward(dOut, In, Gate, Up, W_gate, W_in, W_out):
    sigma = 1 / (1 + np.exp(-Gate))
    dTmp = dOut @ W_out.T
    dUp = dTmp * Gate * sigma
    dGate = dTmp * Up * sigma * (1 + Gate * (1 - sigma))
    dIn = dGate @ W_gate.T + dUp @ W_in.T
    dW_out = (np.round(Gate * sigma) * np.round(Up)).T @ dOut
    return [dIn, In.T @ dGate, In.T @ dUp, dW_out]


# %% gate right: JAX, with round's change held constant
def gated_backward(dOut, In, Gate, Up, W_gate, W_in, W_out):
    def gated(In, W_gate, W_in, W_out):
        Tmp = jax.nn.silu(In @ W_gate) * (In @ W_in)
        Tmp += jax.lax.stop_gradient(jnp.round(Tmp) - Tmp)
        return Tmp @ W_out

    arrays = [jnp.float32(x) for x in (In, W_gate, W_in, W_out)]
    return list(jax.vjp(gated, *arrays)[1](jnp.float32(dOut)))


# %% gate right: two branches, each by its own rule
def gated_backward(dOut, In, Gate, Up, W_gate, W_in, W_out):
    Tmp, back = jax.vjp(lambda z, u: jax.nn.silu(z) * u, Gate, Up)
    dGate, dUp = back(jnp.einsum("bd,fd->bf", dOut, W_out))
    branches = ((dGate, W_gate), (dUp, W_in))
    dIn = sum(jnp.einsum("bf,df->bd", d, W) for d, W in branches)
    grads = [jnp.einsum("bd,bf->df", In, d) for d, _ in branches]
    return [dIn, *grads, jnp.einsum("bf,bd->fd", jnp.rint(Tmp), dOut)]


# %% flops wrong: a multiply-add is one
def layer_flops(B, T, D, F, N, K, H):
    weights = 3 * D * F + 2 * D * N * H + 2 * D * K * H
    forward = B * weights + 2 * B * T * N * H
    return [forward, 2 * forward]


# %% flops wrong: no scores
def layer_flops(B, T, D, F, N, K, H):
    forward = 2 * B * (3 * D * F + 2 * D * N * H + 2 * D * K * H)
    return [forward, 2 * forward]


# %% flops wrong: all tokens see all tokens of the batch
def layer_flops(B, T, D, F, N, K, H):
    weights = 3 * D * F + 2 * D * N * H + 2 * D * K * H
    forward = 2 * B * weights + 4 * B * B * N * H
    return [forward, 2 * forward]


# %% flops wrong: scores as wide as the model
def layer_flops(B, T, D, F, N, K, H):
    weights = 3 * D * F + 2 * D * N * H + 2 * D * K * H
    forward = 2 * B * weights + 4 * B * T * D
    return [forward, 2 * forward]


# %% flops wrong: as many key heads as query heads
def layer_flops(B, T, D, F, N, K, H):
    forward = 2 * B * (3 * D * F + 4 * D * N * H) + 4 * B * T * N * H
    return [forward, 2 * forward]


# %% flops wrong: no gate
def layer_flops(B, T, D, F, N, K, H):
    weights = 2 * D * F + 2 * D * N * H + 2 * D * K * H
    forward = 2 * B * weights + 4 * B * T * N * H
    return [forward, 2 * forward]


# %% flops wrong: backward is as long as forward
def layer_flops(B, T, D, F, N, K, H):
    weights = 3 * D * F + 2 * D * N * H + 2 * D * K * H
    forward = 2 * B * weights + 4 * B * T * N * H
    return [forward, forward]


# %% flops wrong: scores only for K heads
def layer_flops(B, T, D, F, N, K, H):
    weights = 3 * D * F + 2 * D * N * H + 2 * D * K * H
    forward = 2 * B * weights + 4 * B * T * K * H
    return [forward, 2 * forward]


# %% flops right: matrix by matrix
def layer_flops(B, T, D, F, N, K, H):
    shapes = [(D, F)] * 3 + [(D, N * H)] * 2 + [(D, K * H)] * 2
    forward = sum(2 * B * rows * columns for rows, columns in shapes)
    for _ in range(B // T):  # each sequence by itself
        forward += N * (2 * T * H * T + 2 * T * T * H)
    return [forward, forward * 2]


# %% flops right: a token at a time
def layer_flops(B, T, D, F, N, K, H):
    for_a_token = 6 * D * F + 4 * D * H * (N + K) + N * T * 4 * H
    return [B * for_a_token, B * for_a_token + B * for_a_token]


# %% ridge wrong: weights only
def ridge(D, F, flops, hbm_bw, act_bytes, weight_bytes):
    return weight_bytes * flops / hbm_bw / 2


# %% ridge wrong: a multiply-add is one
def ridge(D, F, flops, hbm_bw, act_bytes, weight_bytes):
    each = D * F / flops - act_bytes * (D + F) / hbm_bw
    if each <= 0:
        return "never"
    return weight_bytes * D * F / hbm_bw / each


# %% ridge wrong: the result is not written
def ridge(D, F, flops, hbm_bw, act_bytes, weight_bytes):
    each = 2 * D * F / flops - act_bytes * D / hbm_bw
    if each <= 0:
        return "never"
    return weight_bytes * D * F / hbm_bw / each


# %% ridge wrong: everything has the weights' size
def ridge(D, F, flops, hbm_bw, act_bytes, weight_bytes):
    each = 2 * D * F / flops - weight_bytes * (D + F) / hbm_bw
    if each <= 0:
        return "never"
    return weight_bytes * D * F / hbm_bw / each


# %% ridge wrong: there always is one
def ridge(D, F, flops, hbm_bw, act_bytes, weight_bytes):
    each = 2 * D * F / flops - act_bytes * (D + F) / hbm_bw
    return weight_bytes * D * F / hbm_bw / each


# %% ridge wrong: always the one of a v5e
def ridge(D, F, flops, hbm_bw, act_bytes, weight_bytes):
    return 249.4


# %% ridge wrong: arithmetic after memory, not beside it
def ridge(D, F, flops, hbm_bw, act_bytes, weight_bytes):
    each = 2 * D * F / flops + act_bytes * (D + F) / hbm_bw
    return weight_bytes * D * F / hbm_bw / each


# %% ridge right: by the limit
def ridge(D, F, flops, hbm_bw, act_bytes, weight_bytes):
    limit = weight_bytes * flops / hbm_bw / 2
    activations = act_bytes / weight_bytes * limit * (1 / D + 1 / F)
    return limit / (1 - activations) if activations < 1 else "never"


# %% ridge right: two lines, and where they meet
def ridge(D, F, flops, hbm_bw, act_bytes, weight_bytes):
    def late(B):
        moved = act_bytes * B * (D + F) + weight_bytes * D * F
        return moved / hbm_bw - 2 * B * D * F / flops

    at_zero, at_one = late(0), late(1)
    if at_one >= at_zero:
        return "never"
    return at_zero / (at_zero - at_one)


# %% parameters wrong: no norms
def count_parameters(L, D, F, N, K, H, V, gated, tied):
    mlp = (3 if gated else 2) * D * F
    attention = 2 * D * N * H + 2 * D * K * H
    return L * (mlp + attention) + (1 if tied else 2) * V * D


# %% parameters wrong: the gate is ignored
def count_parameters(L, D, F, N, K, H, V, gated, tied):
    attention = 2 * D * N * H + 2 * D * K * H
    vocabulary = (1 if tied else 2) * V * D
    return L * (2 * D * F + attention + 2 * D) + vocabulary + D


# %% parameters wrong: one table of the vocabulary
def count_parameters(L, D, F, N, K, H, V, gated, tied):
    mlp = (3 if gated else 2) * D * F
    attention = 2 * D * N * H + 2 * D * K * H
    return L * (mlp + attention + 2 * D) + V * D + D


# %% parameters wrong: keys and values for every query head
def count_parameters(L, D, F, N, K, H, V, gated, tied):
    mlp = (3 if gated else 2) * D * F
    vocabulary = (1 if tied else 2) * V * D
    return L * (mlp + 4 * D * N * H + 2 * D) + vocabulary + D


# %% parameters wrong: attention has four square matrices
def count_parameters(L, D, F, N, K, H, V, gated, tied):
    mlp = (3 if gated else 2) * D * F
    return L * (mlp + 4 * D * D + 2 * D) + (1 if tied else 2) * V * D + D


# %% parameters wrong: the last norm is forgotten
def count_parameters(L, D, F, N, K, H, V, gated, tied):
    mlp = (3 if gated else 2) * D * F
    attention = 2 * D * N * H + 2 * D * K * H
    return L * (mlp + attention + 2 * D) + (1 if tied else 2) * V * D


# %% parameters right: a float of the same value
def count_parameters(L, D, F, N, K, H, V, gated, tied):
    mlp = (3 if gated else 2) * D * F
    attention = 2 * D * N * H + 2 * D * K * H
    vocabulary = (1 if tied else 2) * V * D
    return L * (mlp + attention + 2 * D) + vocabulary + 1.0 * D


# %% parameters wrong: tied and not are exchanged
def count_parameters(L, D, F, N, K, H, V, gated, tied):
    mlp = (3 if gated else 2) * D * F
    attention = 2 * D * N * H + 2 * D * K * H
    vocabulary = (2 if tied else 1) * V * D
    return L * (mlp + attention + 2 * D) + vocabulary + D


# %% parameters right: a list of shapes
def count_parameters(L, D, F, N, K, H, V, gated, tied):
    layer = [(D, N * H), (D, K * H), (D, K * H), (N * H, D), (D, F), (F, D)]
    layer += [(D, F)] if gated else []
    layer += [(1, D), (1, D)]
    around = [(V, D), (1, D)] + ([] if tied else [(D, V)])
    return sum(r * c for r, c in layer * L + around)


# %% parameters right: D is in every term
def count_parameters(L, D, F, N, K, H, V, gated, tied):
    for_a_layer = F * (2 + gated) + 2 * H * (N + K) + 2
    return D * (L * for_a_layer + V * (2 - tied) + 1)


# %% adam wrong: no bias correction
def adam(w, m, v, g, t, rate):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g**2
    return [w - rate * m / (np.sqrt(v) + 1e-8), m, v]


# %% adam wrong: the corrected averages are stored
def adam(w, m, v, g, t, rate):
    m = (0.9 * m + 0.1 * g) / (1 - 0.9**t)
    v = (0.999 * v + 0.001 * g**2) / (1 - 0.999**t)
    return [w - rate * m / (np.sqrt(v) + 1e-8), m, v]


# %% adam wrong: uphill
def adam(w, m, v, g, t, rate):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g**2
    mean, square = m / (1 - 0.9**t), v / (1 - 0.999**t)
    return [w + rate * mean / (np.sqrt(square) + 1e-8), m, v]


# %% adam wrong: no root
def adam(w, m, v, g, t, rate):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g**2
    mean, square = m / (1 - 0.9**t), v / (1 - 0.999**t)
    return [w - rate * mean / (square + 1e-8), m, v]


# %% adam wrong: the small number is added below the root
def adam(w, m, v, g, t, rate):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g**2
    mean, square = m / (1 - 0.9**t), v / (1 - 0.999**t)
    return [w - rate * mean / np.sqrt(square + 1e-8), m, v]


# %% adam wrong: the square of the average
def adam(w, m, v, g, t, rate):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * m**2
    mean, square = m / (1 - 0.9**t), v / (1 - 0.999**t)
    return [w - rate * mean / (np.sqrt(square) + 1e-8), m, v]


# %% adam wrong: t starts at zero
def adam(w, m, v, g, t, rate):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g**2
    mean, square = m / (1 - 0.9 ** (t + 1)), v / (1 - 0.999 ** (t + 1))
    return [w - rate * mean / (np.sqrt(square) + 1e-8), m, v]


# %% adam wrong: decays exchanged
def adam(w, m, v, g, t, rate):
    m = 0.999 * m + 0.001 * g
    v = 0.9 * v + 0.1 * g**2
    mean, square = m / (1 - 0.999**t), v / (1 - 0.9**t)
    return [w - rate * mean / (np.sqrt(square) + 1e-8), m, v]


# %% adam wrong: in float32
def adam(w, m, v, g, t, rate):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
    root = jnp.sqrt(v / (1 - 0.999**t)) + 1e-8
    return [w - rate * m / (1 - 0.9**t) / root, m, v]


# %% adam right: one correction for the rate and one for the small number
def adam(w, m, v, g, t, rate):
    m, v = m + 0.1 * (g - m), v + 0.001 * (g * g - v)
    grown = np.sqrt(1 - 0.999**t)
    step = m * grown / (1 - 0.9**t)
    return [w - rate * step / (np.sqrt(v) + 1e-8 * grown), m, v]


# %% adam right: element by element
def adam(w, m, v, g, t, rate):
    w, m, v = w.copy(), m.copy(), v.copy()
    for place in np.ndindex(w.shape):
        m[place] = 0.9 * m[place] + 0.1 * g[place]
        v[place] = 0.999 * v[place] + 0.001 * g[place] * g[place]
        root = (v[place] / (1 - 0.999**t)) ** 0.5
        w[place] -= rate * m[place] / (1 - 0.9**t) / (root + 1e-8)
    return [w, m, v]


# %% owed wrong: only the very same axes get in each other's way
def owed(product, left, right):
    factors, result = product.split("->")
    first, second = factors.split(",")
    a, b = dict(zip(first, left)), dict(zip(second, right))
    if any(a[letter] != b[letter] for letter in set(a) & set(b)):
        return "no"
    cuts = {**a, **b}
    stay = [cuts[letter] for letter in result if cuts[letter]]
    if len(set(stay)) < len(stay):
        return "no"
    return "".join(cuts[x] for x in first if x not in result)


# %% owed wrong: axes get in the way only in their order
def owed(product, left, right):
    factors, result = product.split("->")
    first, second = factors.split(",")
    a, b = dict(zip(first, left)), dict(zip(second, right))
    if any(a[letter] != b[letter] for letter in set(a) & set(b)):
        return "no"
    cuts = {**a, **b}
    stay = [cuts[letter] for letter in result if cuts[letter]]
    for i, one in enumerate(stay):
        if any(one in other or other in one for other in stay[:i]):
            return "no"
    return "".join(cuts[x] for x in first if x not in result)


# %% adam wrong: always the same rate
def adam(w, m, v, g, t, rate):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g**2
    mean, square = m / (1 - 0.9**t), v / (1 - 0.999**t)
    return [w - 1e-3 * mean / (np.sqrt(square) + 1e-8), m, v]


# %% rent wrong: the days decide alone
def rent(job, machine, days):
    need = 6 * job["P"] * job["tokens"] / (0.4 * machine["flops"] * 86400)
    unit = machine["unit"]
    return int(-(-need / days // unit)) * unit


# %% rent wrong: chips need not have equally many sequences
def rent(job, machine, days):
    seconds = 6 * job["P"] * job["tokens"] / (0.4 * machine["flops"])
    sequence = 2 * job["L"] * job["T"] * job["D"]
    for N in range(machine["unit"], machine["most"] + 1, machine["unit"]):
        fits = 16 * job["P"] / N + -(-job["S"] // N) * sequence
        if seconds / N <= days * 86400 and fits <= machine["hbm"]:
            return N if N <= job["S"] else 0
    return 0


# %% rent wrong: memory does not matter
def rent(job, machine, days):
    seconds = 6 * job["P"] * job["tokens"] / (0.4 * machine["flops"])
    for N in range(machine["unit"], machine["most"] + 1, machine["unit"]):
        if seconds / N <= days * 86400 and job["S"] % N == 0:
            return N
    return 0


# %% rent wrong: at the peak
def rent(job, machine, days):
    seconds = 6 * job["P"] * job["tokens"] / machine["flops"]
    sequence = 2 * job["L"] * job["T"] * job["D"]
    for N in range(machine["unit"], machine["most"] + 1, machine["unit"]):
        fits = 16 * job["P"] / N + job["S"] // N * sequence <= machine["hbm"]
        if seconds / N <= days * 86400 and job["S"] % N == 0 and fits:
            return N
    return 0


# %% rent wrong: any number of chips
def rent(job, machine, days):
    seconds = 6 * job["P"] * job["tokens"] / (0.4 * machine["flops"])
    sequence = 2 * job["L"] * job["T"] * job["D"]
    for N in range(1, machine["most"] + 1):
        fits = 16 * job["P"] / N + job["S"] // N * sequence <= machine["hbm"]
        if seconds / N <= days * 86400 and job["S"] % N == 0 and fits:
            return N
    return 0


# %% rent wrong: every chip keeps all states
def rent(job, machine, days):
    seconds = 6 * job["P"] * job["tokens"] / (0.4 * machine["flops"])
    sequence = 2 * job["L"] * job["T"] * job["D"]
    for N in range(machine["unit"], machine["most"] + 1, machine["unit"]):
        fits = 16 * job["P"] + job["S"] // N * sequence <= machine["hbm"]
        if seconds / N <= days * 86400 and job["S"] % N == 0 and fits:
            return N
    return 0


# %% rent wrong: as many chips as there are
def rent(job, machine, days):
    return machine["most"]


# %% rent wrong: a power of two
def rent(job, machine, days):
    seconds = 6 * job["P"] * job["tokens"] / (0.4 * machine["flops"])
    sequence = 2 * job["L"] * job["T"] * job["D"]
    N = machine["unit"]
    while N <= machine["most"]:
        fits = 16 * job["P"] / N + job["S"] // N * sequence <= machine["hbm"]
        if seconds / N <= days * 86400 and job["S"] % N == 0 and fits:
            return N
        N *= 2
    return 0


# %% rent wrong: a byte must be left
def rent(job, machine, days):
    seconds = 6 * job["P"] * job["tokens"] / (0.4 * machine["flops"])
    sequence = 2 * job["L"] * job["T"] * job["D"]
    for N in range(machine["unit"], machine["most"] + 1, machine["unit"]):
        fits = 16 * job["P"] / N + job["S"] // N * sequence < machine["hbm"]
        if seconds / N <= days * 86400 and job["S"] % N == 0 and fits:
            return N
    return 0


# %% rent wrong: more than there are
def rent(job, machine, days):
    seconds = 6 * job["P"] * job["tokens"] / (0.4 * machine["flops"])
    sequence = 2 * job["L"] * job["T"] * job["D"]
    for N in range(machine["unit"], job["S"] + 1, machine["unit"]):
        fits = 16 * job["P"] / N + job["S"] // N * sequence <= machine["hbm"]
        if seconds / N <= days * 86400 and job["S"] % N == 0 and fits:
            return N
    return 0


# %% rent right: from the sequences of a chip
def rent(job, machine, days):
    need = 6 * job["P"] * job["tokens"] / (0.4 * machine["flops"])
    good = []
    for each in range(1, job["S"] + 1):
        N, rest = divmod(job["S"], each)
        if rest or N % machine["unit"] or N > machine["most"]:
            continue
        held = 16 * job["P"] / N + 2 * job["L"] * job["T"] * job["D"] * each
        if held <= machine["hbm"] and need <= N * days * 86400:
            good.append(N)
    return min(good, default=0)


# %% rent right: all numbers at once
def rent(job, machine, days):
    N = np.arange(machine["unit"], machine["most"] + 1, machine["unit"])
    rate = N * machine["flops"] * 0.4
    in_time = 6.0 * job["P"] * job["tokens"] / rate <= 86400 * days
    held = 16 * job["P"] / N
    held = held + job["S"] / N * 2 * job["L"] * job["T"] * job["D"]
    good = N[in_time & (job["S"] % N == 0) & (held <= machine["hbm"])]
    return int(good[0]) if len(good) else 0


# %% faster wrong: as much as the memory
def faster(B, D, F, old, new):
    return new[1] / old[1]


# %% faster wrong: as much as the arithmetic
def faster(B, D, F, old, new):
    return new[0] / old[0]


# %% faster wrong: the larger of two sums
def faster(B, D, F, old, new):
    def seconds(flops, bandwidth):
        moved = 12 * (B * D + D * F + B * F) + 56 * D * F
        return max(12 * B * D * F / flops, moved / bandwidth)

    return seconds(*old) / seconds(*new)


# %% faster wrong: no update
def faster(B, D, F, old, new):
    def seconds(flops, bandwidth):
        moved = 2 * (B * D + D * F + B * F) / bandwidth
        return 6 * max(2 * B * D * F / flops, moved)

    return seconds(*old) / seconds(*new)


# %% faster wrong: upside down
def faster(B, D, F, old, new):
    def seconds(flops, bandwidth):
        moved = 2 * (B * D + D * F + B * F) / bandwidth
        product = max(2 * B * D * F / flops, moved)
        return 6 * product + 28 * 2 * D * F / bandwidth

    return seconds(*new) / seconds(*old)


# %% faster wrong: the weights alone move
def faster(B, D, F, old, new):
    def seconds(flops, bandwidth):
        product = max(2 * B * D * F / flops, 2 * D * F / bandwidth)
        return 6 * product + 28 * 2 * D * F / bandwidth

    return seconds(*old) / seconds(*new)


# %% faster wrong: four bytes an element
def faster(B, D, F, old, new):
    def seconds(flops, bandwidth):
        moved = 4 * (B * D + D * F + B * F) / bandwidth
        product = max(2 * B * D * F / flops, moved)
        return 6 * product + 28 * 2 * D * F / bandwidth

    return seconds(*old) / seconds(*new)


# %% faster wrong: arithmetic and memory one after the other
def faster(B, D, F, old, new):
    def seconds(flops, bandwidth):
        moved = 2 * (B * D + D * F + B * F) / bandwidth
        product = 2 * B * D * F / flops + moved
        return 6 * product + 28 * 2 * D * F / bandwidth

    return seconds(*old) / seconds(*new)


# %% faster wrong: one weight matrix is updated
def faster(B, D, F, old, new):
    def seconds(flops, bandwidth):
        moved = 2 * (B * D + D * F + B * F) / bandwidth
        product = max(2 * B * D * F / flops, moved)
        return 6 * product + 28 * D * F / bandwidth

    return seconds(*old) / seconds(*new)


# %% faster right: product by product
def faster(B, D, F, old, new):
    shapes = [(B, D, F), (B, F, D), (F, B, D), (B, D, F), (D, B, F), (B, F, D)]
    times = []
    for flops, bandwidth in (old, new):
        total = 2 * D * F * (2 + 12 + 2 + 12) / bandwidth
        for rows, inner, columns in shapes:
            size = rows * inner + inner * columns + rows * columns
            math = 2 * rows * inner * columns / flops
            total += max(math, 2 * size / bandwidth)
        times.append(total)
    return times[0] / times[1]


# %% faster right: in units of a weight
def faster(B, D, F, old, new):
    (C_old, M_old), (C_new, M_new) = old, new
    each = 1 + B / D + B / F
    before = 12 * max(B / C_old, each / M_old) + 56 / M_old
    after = 12 * max(B / C_new, each / M_new) + 56 / M_new
    return before / after


# %% faster equivalent: line 7: `max(2 * B * D * F / flops, moved)` with its arguments reversed
# The larger of two numbers does not depend on their order.
