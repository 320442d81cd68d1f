# Answers that the checks of exercise set 6 must reject or accept.
#
# A cell is titled with the answer cell's grade_id, then `wrong: ` with the
# mistake or `right: ` with what is different. Run by tests/exercises.

# %% gradients wrong: the sum over chips is forgotten
def dp_gradients(In, Target, W_in, W_out):
    B = len(In) * jax.lax.axis_size("X")
    Tmp = In @ W_in
    far = Tmp @ W_out - Target
    dOut = far / B
    dTmp = dOut @ W_out.T
    part = jnp.sum(far**2)[None] / (2 * B)
    return part, dTmp @ W_in.T, In.T @ dTmp, Tmp.T @ dOut


# %% gradients wrong: the mean is forgotten
def dp_gradients(In, Target, W_in, W_out):
    B = len(In) * jax.lax.axis_size("X")
    Tmp = In @ W_in
    dOut = Tmp @ W_out - Target
    dTmp = dOut @ W_out.T
    dW_in = jax.lax.psum(In.T @ dTmp, "X")
    dW_out = jax.lax.psum(Tmp.T @ dOut, "X")
    return jnp.sum(dOut**2)[None] / (2 * B), dTmp @ W_in.T, dW_in, dW_out


# %% gradients wrong: a sum of means, each over the tokens of one chip
def dp_gradients(In, Target, W_in, W_out):
    B = len(In)
    Tmp = In @ W_in
    far = Tmp @ W_out - Target
    dOut = far / B
    dTmp = dOut @ W_out.T
    dW_in = jax.lax.psum(In.T @ dTmp, "X")
    dW_out = jax.lax.psum(Tmp.T @ dOut, "X")
    part = jnp.sum(far**2)[None] / (2 * B * jax.lax.axis_size("X"))
    return part, dTmp @ W_in.T, dW_in, dW_out


# %% gradients wrong: an AllReduce of the loss before the way back
def dp_gradients(In, Target, W_in, W_out):
    B = len(In) * jax.lax.axis_size("X")
    Tmp = In @ W_in
    far = Tmp @ W_out - Target
    loss = jax.lax.psum(jnp.sum(far**2)[None] / (2 * B), "X")
    dOut = far / B
    dTmp = dOut @ W_out.T
    dW_in = jax.lax.psum(In.T @ dTmp, "X")
    dW_out = jax.lax.psum(Tmp.T @ dOut, "X")
    return loss, dTmp @ W_in.T, dW_in, dW_out


# %% gradients wrong: tokens gathered, all the work on every chip
def dp_gradients(In, Target, W_in, W_out):
    me, n = jax.lax.axis_index("X"), len(In)
    In = jax.lax.all_gather(In, "X", tiled=True)
    Target = jax.lax.all_gather(Target, "X", tiled=True)
    Tmp = In @ W_in
    far = Tmp @ W_out - Target
    dOut = far / len(In)
    dTmp = dOut @ W_out.T
    dIn = jax.lax.dynamic_slice_in_dim(dTmp @ W_in.T, me * n, n)
    mine = jax.lax.dynamic_slice_in_dim(far, me * n, n)
    part = jnp.sum(mine**2)[None] / (2 * len(In))
    return part, dIn, In.T @ dTmp, Tmp.T @ dOut


# %% gradients wrong: only one of the two is summed
def dp_gradients(In, Target, W_in, W_out):
    B = len(In) * jax.lax.axis_size("X")
    Tmp = In @ W_in
    far = Tmp @ W_out - Target
    dOut = far / B
    dTmp = dOut @ W_out.T
    dW_out = jax.lax.psum(Tmp.T @ dOut, "X")
    part = jnp.sum(far**2)[None] / (2 * B)
    return part, dTmp @ W_in.T, In.T @ dTmp, dW_out


# %% gradients wrong: dIn is summed as well
def dp_gradients(In, Target, W_in, W_out):
    B = len(In) * jax.lax.axis_size("X")
    Tmp = In @ W_in
    far = Tmp @ W_out - Target
    dOut = far / B
    dTmp = dOut @ W_out.T
    dIn = jax.lax.psum(dTmp @ W_in.T, "X")
    dW_in = jax.lax.psum(In.T @ dTmp, "X")
    dW_out = jax.lax.psum(Tmp.T @ dOut, "X")
    return jnp.sum(far**2)[None] / (2 * B), dIn, dW_in, dW_out


# %% gradients wrong: a mean over features, too
def dp_gradients(In, Target, W_in, W_out):
    B = len(In) * jax.lax.axis_size("X")
    Tmp = In @ W_in
    far = Tmp @ W_out - Target
    dOut = far / far.size / jax.lax.axis_size("X")
    dTmp = dOut @ W_out.T
    dW_in = jax.lax.psum(In.T @ dTmp, "X")
    dW_out = jax.lax.psum(Tmp.T @ dOut, "X")
    return jnp.sum(far**2)[None] / (2 * B), dTmp @ W_in.T, dW_in, dW_out


# %% gradients wrong: the half of the loss is forgotten
def dp_gradients(In, Target, W_in, W_out):
    B = len(In) * jax.lax.axis_size("X")
    Tmp = In @ W_in
    far = Tmp @ W_out - Target
    dOut = 2 * far / B
    dTmp = dOut @ W_out.T
    dW_in = jax.lax.psum(In.T @ dTmp, "X")
    dW_out = jax.lax.psum(Tmp.T @ dOut, "X")
    return jnp.sum(far**2)[None] / B, dTmp @ W_in.T, dW_in, dW_out


# %% gradients wrong: the half is forgotten on the way back only
def dp_gradients(In, Target, W_in, W_out):
    B = len(In) * jax.lax.axis_size("X")
    Tmp = In @ W_in
    far = Tmp @ W_out - Target
    dOut = 2 * far / B
    dTmp = dOut @ W_out.T
    dW_in = jax.lax.psum(In.T @ dTmp, "X")
    dW_out = jax.lax.psum(Tmp.T @ dOut, "X")
    return jnp.sum(far**2)[None] / (2 * B), dTmp @ W_in.T, dW_in, dW_out


# %% gradients wrong: a gathered gradient from each chip, then a sum
def dp_gradients(In, Target, W_in, W_out):
    B = len(In) * jax.lax.axis_size("X")
    Tmp = In @ W_in
    far = Tmp @ W_out - Target
    dOut = far / B
    dTmp = dOut @ W_out.T
    dW_in, dW_out = (
        jax.lax.all_gather(dW, "X", tiled=False).sum(0)
        for dW in (In.T @ dTmp, Tmp.T @ dOut)
    )
    return jnp.sum(far**2)[None] / (2 * B), dTmp @ W_in.T, dW_in, dW_out


# %% gradients right: derived by JAX, then averaged
def dp_gradients(In, Target, W_in, W_out):
    X = jax.lax.axis_size("X")

    def mean_loss(In, W_in, W_out):
        return ((In @ W_in @ W_out - Target) ** 2).sum() / (2 * len(In))

    loss, (dIn, *dW) = jax.value_and_grad(mean_loss, (0, 1, 2))(In, W_in, W_out)
    return loss[None] / X, dIn / X, *jax.lax.pmean(dW, "X")


# %% gradients right: scattered, then gathered
def dp_gradients(In, Target, W_in, W_out):
    B = len(In) * jax.lax.axis_size("X")
    Tmp = In @ W_in
    far = Tmp @ W_out - Target
    dTmp = far @ W_out.T
    both = jnp.concatenate([(In.T @ dTmp).ravel(), (Tmp.T @ far).ravel()])
    part = jax.lax.psum_scatter(both, "X", tiled=True) / B
    both = jax.lax.all_gather(part, "X", tiled=True)
    dW_in, dW_out = both.reshape(2, -1)
    loss = jnp.sum(far**2)[None] / (2 * B)
    dIn = dTmp @ W_in.T / B
    return loss, dIn, dW_in.reshape(W_in.shape), dW_out.reshape(W_out.shape)


# %% accumulated wrong: an AllReduce for every microbatch
def accumulated(In, Target, W_in, W_out):
    def add(total, tokens):
        In, Target = tokens
        Tmp = In @ W_in
        dOut = Tmp @ W_out - Target
        dW = In.T @ (dOut @ W_out.T), Tmp.T @ dOut
        dW = jax.lax.psum(dW, "X")
        return jax.tree.map(jnp.add, total, dW), None

    zeros = jnp.zeros_like(W_in), jnp.zeros_like(W_out)
    return jax.lax.scan(add, zeros, (In, Target))[0]


# %% accumulated wrong: no AllReduce at all
def accumulated(In, Target, W_in, W_out):
    def add(total, tokens):
        In, Target = tokens
        Tmp = In @ W_in
        dOut = Tmp @ W_out - Target
        dW = In.T @ (dOut @ W_out.T), Tmp.T @ dOut
        return jax.tree.map(jnp.add, total, dW), None

    zeros = jnp.zeros_like(W_in), jnp.zeros_like(W_out)
    return jax.lax.scan(add, zeros, (In, Target))[0]


# %% accumulated wrong: all microbatches at once
def accumulated(In, Target, W_in, W_out):
    In, Target = (x.reshape(-1, x.shape[-1]) for x in (In, Target))
    Tmp = In @ W_in
    dOut = Tmp @ W_out - Target
    dW = In.T @ (dOut @ W_out.T), Tmp.T @ dOut
    return jax.lax.psum(dW, "X")


# %% accumulated wrong: the last microbatch alone
def accumulated(In, Target, W_in, W_out):
    In, Target = In[-1], Target[-1]
    Tmp = In @ W_in
    dOut = Tmp @ W_out - Target
    dW = In.T @ (dOut @ W_out.T), Tmp.T @ dOut
    return jax.lax.psum(dW, "X")


# %% accumulated wrong: a mean over microbatches
def accumulated(In, Target, W_in, W_out):
    def add(total, tokens):
        In, Target = tokens
        Tmp = In @ W_in
        dOut = Tmp @ W_out - Target
        dW = In.T @ (dOut @ W_out.T), Tmp.T @ dOut
        return jax.tree.map(jnp.add, total, dW), None

    zeros = jnp.zeros_like(W_in), jnp.zeros_like(W_out)
    total, _ = jax.lax.scan(add, zeros, (In, Target))
    return jax.tree.map(lambda dW: dW / len(In), jax.lax.psum(total, "X"))


# %% accumulated wrong: a mean over chips
def accumulated(In, Target, W_in, W_out):
    def add(total, tokens):
        In, Target = tokens
        Tmp = In @ W_in
        dOut = Tmp @ W_out - Target
        dW = In.T @ (dOut @ W_out.T), Tmp.T @ dOut
        return jax.tree.map(jnp.add, total, dW), None

    zeros = jnp.zeros_like(W_in), jnp.zeros_like(W_out)
    total, _ = jax.lax.scan(add, zeros, (In, Target))
    return jax.lax.pmean(total, "X")


# %% accumulated wrong: the running total is summed each time
def accumulated(In, Target, W_in, W_out):
    dW_in, dW_out = jnp.zeros_like(W_in), jnp.zeros_like(W_out)
    for x, y in zip(In, Target):
        Tmp = x @ W_in
        dOut = Tmp @ W_out - y
        dW_in = jax.lax.psum(dW_in + x.T @ (dOut @ W_out.T), "X")
        dW_out = jax.lax.psum(dW_out + Tmp.T @ dOut, "X")
    return dW_in, dW_out


# %% accumulated right: a loop over numbered microbatches
def accumulated(In, Target, W_in, W_out):
    def add(n, total):
        x = jax.lax.dynamic_index_in_dim(In, n, keepdims=False)
        y = jax.lax.dynamic_index_in_dim(Target, n, keepdims=False)
        Tmp = x @ W_in
        dOut = Tmp @ W_out - y
        return total[0] + x.T @ (dOut @ W_out.T), total[1] + Tmp.T @ dOut

    zeros = jnp.zeros_like(W_in), jnp.zeros_like(W_out)
    return jax.lax.psum(jax.lax.fori_loop(0, len(In), add, zeros), "X")


# %% accumulated right: the gradient of a loss, scattered and gathered
def accumulated(In, Target, W_in, W_out):
    def loss(W, x, y):
        return ((x @ W[0] @ W[1] - y) ** 2).sum() / 2

    def add(total, tokens):
        dW = jax.grad(loss)((W_in, W_out), *tokens)
        return jax.tree.map(jnp.add, total, dW), None

    zeros = jax.tree.map(jnp.zeros_like, (W_in, W_out))
    total, _ = jax.lax.scan(add, zeros, (In, Target))
    flat = [dW.ravel() for dW in total]
    parts = [jax.lax.psum_scatter(dW, "X", tiled=True) for dW in flat]
    sums = [jax.lax.all_gather(part, "X", tiled=True) for part in parts]
    return sums[0].reshape(W_in.shape), sums[1].reshape(W_out.shape)


# %% fewest wrong: the limit of many chips
def fewest_tokens(C, link_bw, X, itemsize):
    return int(np.ceil(C * itemsize / (4 * link_bw)))


# %% fewest wrong: one direction
def fewest_tokens(C, link_bw, X, itemsize):
    return int(np.ceil(C * itemsize * (X - 1) / X / (2 * link_bw)))


# %% fewest wrong: half of an AllReduce
def fewest_tokens(C, link_bw, X, itemsize):
    return int(np.ceil(C * itemsize * (X - 1) / X / (8 * link_bw)))


# %% fewest wrong: always bf16
def fewest_tokens(C, link_bw, X, itemsize):
    return int(np.ceil(C * (X - 1) / X / (2 * link_bw)))


# %% fewest wrong: one too few
def fewest_tokens(C, link_bw, X, itemsize):
    return int(C * itemsize * (X - 1) / X / (4 * link_bw))


# %% fewest wrong: tokens of all chips
def fewest_tokens(C, link_bw, X, itemsize):
    return int(np.ceil(C * itemsize * (X - 1) / (4 * link_bw)))


# %% fewest right: searched
def fewest_tokens(C, link_bw, X, itemsize):
    wait = itemsize * (X - 1) / X / link_bw
    low, high = 0, 1
    while 4 * high / C < wait:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if 4 * middle / C < wait:
            low = middle
        else:
            high = middle
    return high


# %% fewest right: in whole numbers
def fewest_tokens(C, link_bw, X, itemsize):
    top = int(C) * itemsize * (X - 1)
    return -(-top // (4 * X * int(link_bw)))


# %% depth wrong: no activations
def most_layers(hbm, D, F, tokens, recipe):
    return hbm // (2 * D * F * sum(recipe))


# %% depth wrong: one matrix
def most_layers(hbm, D, F, tokens, recipe):
    return hbm // (D * F * sum(recipe) + 2 * tokens * (D + F))


# %% depth wrong: ten bytes, whatever the recipe
def most_layers(hbm, D, F, tokens, recipe):
    return hbm // (2 * D * F * 10 + 2 * tokens * (D + F))


# %% depth wrong: only Tmp is kept
def most_layers(hbm, D, F, tokens, recipe):
    return hbm // (2 * D * F * sum(recipe) + 2 * tokens * F)


# %% depth wrong: activations in float32
def most_layers(hbm, D, F, tokens, recipe):
    return hbm // (2 * D * F * sum(recipe) + 4 * tokens * (D + F))


# %% depth wrong: rounded up
def most_layers(hbm, D, F, tokens, recipe):
    return -(-hbm // (2 * D * F * sum(recipe) + 2 * tokens * (D + F)))


# %% depth wrong: a float
def most_layers(hbm, D, F, tokens, recipe):
    return hbm / (2 * D * F * sum(recipe) + 2 * tokens * (D + F))


# %% depth right: one by one
def most_layers(hbm, D, F, tokens, recipe):
    layers = 0
    while True:
        hbm -= sum(2 * D * F * each for each in recipe)
        hbm -= 2 * tokens * D + 2 * tokens * F
        if hbm < 0:
            return layers
        layers += 1


# %% depth right: a quotient and a remainder
def most_layers(hbm, D, F, tokens, recipe):
    each = 2 * (D * F * sum(recipe) + tokens * D + tokens * F)
    return (hbm - hbm % each) // each


# %% pod wrong: the links of one axis
def pod_sequences(pod, C, link_bw, length):
    return int(np.ceil(np.prod(pod) * C / (2 * link_bw) / length))


# %% pod wrong: one direction
def pod_sequences(pod, C, link_bw, length):
    return int(np.ceil(np.prod(pod) * C / (len(pod) * link_bw) / length))


# %% pod wrong: tokens of one chip
def pod_sequences(pod, C, link_bw, length):
    return int(np.ceil(C / (len(pod) * 2 * link_bw) / length))


# %% pod wrong: tokens
def pod_sequences(pod, C, link_bw, length):
    return int(np.ceil(np.prod(pod) * C / (len(pod) * 2 * link_bw)))


# %% pod wrong: rounded down
def pod_sequences(pod, C, link_bw, length):
    return int(np.prod(pod) * C / (len(pod) * 2 * link_bw) / length)


# %% pod wrong: always three axes
def pod_sequences(pod, C, link_bw, length):
    return int(np.ceil(np.prod(pod) * C / (3 * 2 * link_bw) / length))


# %% pod right: searched
def pod_sequences(pod, C, link_bw, length):
    chips = 1
    for size in pod:
        chips *= size
    W = sum(2 * link_bw for _ in pod)
    low, high = 0, 10**9
    while high - low > 1:
        middle = (low + high) // 2
        if middle * length / (chips * C) < 1 / W:
            low = middle
        else:
            high = middle
    return high


# %% pod right: in whole numbers
def pod_sequences(pod, C, link_bw, length):
    top = int(C)
    for size in pod:
        top *= size
    return -(-top // (length * len(pod) * 2 * int(link_bw)))


# %% uncovered wrong: the maximum
def preferred(layers, product, reduce):
    free, left, first = 0.0, list(range(2 * layers)), 0.0
    while left:
        waiting = [n for n in left if (2 * n + 1) * product <= free]
        if not waiting:
            free = (2 * left[0] + 1) * product
            continue
        left.remove(waiting[-1])
        free += reduce
        first = free if waiting[-1] >= 2 * layers - 2 else first
    return first


def uncovered(layers, product, reduce):
    math, comm = 4 * layers * product, 2 * layers * reduce
    return [
        max(math, comm),
        max(comm - math, 0.0),
        preferred(layers, product, reduce),
    ]


# %% uncovered wrong: the sum
def preferred(layers, product, reduce):
    free, left, first = 0.0, list(range(2 * layers)), 0.0
    while left:
        waiting = [n for n in left if (2 * n + 1) * product <= free]
        if not waiting:
            free = (2 * left[0] + 1) * product
            continue
        left.remove(waiting[-1])
        free += reduce
        first = free if waiting[-1] >= 2 * layers - 2 else first
    return first


def uncovered(layers, product, reduce):
    math, comm = 4 * layers * product, 2 * layers * reduce
    return [math + comm, comm, preferred(layers, product, reduce)]


# %% uncovered wrong: the network never pauses
def preferred(layers, product, reduce):
    free, left, first = 0.0, list(range(2 * layers)), 0.0
    while left:
        waiting = [n for n in left if (2 * n + 1) * product <= free]
        if not waiting:
            free = (2 * left[0] + 1) * product
            continue
        left.remove(waiting[-1])
        free += reduce
        first = free if waiting[-1] >= 2 * layers - 2 else first
    return first


def uncovered(layers, product, reduce):
    math, end = 4 * layers * product, product + 2 * layers * reduce
    return [
        max(math, end),
        max(end - math, 0.0),
        preferred(layers, product, reduce),
    ]


# %% uncovered wrong: only the last sum can stick out
def preferred(layers, product, reduce):
    free, left, first = 0.0, list(range(2 * layers)), 0.0
    while left:
        waiting = [n for n in left if (2 * n + 1) * product <= free]
        if not waiting:
            free = (2 * left[0] + 1) * product
            continue
        left.remove(waiting[-1])
        free += reduce
        first = free if waiting[-1] >= 2 * layers - 2 else first
    return first


def uncovered(layers, product, reduce):
    math = 4 * layers * product
    end = max(math, math - product + reduce)
    return [end, end - math, preferred(layers, product, reduce)]


# %% uncovered wrong: a chip that stops for each sum
def preferred(layers, product, reduce):
    free, left, first = 0.0, list(range(2 * layers)), 0.0
    while left:
        waiting = [n for n in left if (2 * n + 1) * product <= free]
        if not waiting:
            free = (2 * left[0] + 1) * product
            continue
        left.remove(waiting[-1])
        free += reduce
        first = free if waiting[-1] >= 2 * layers - 2 else first
    return first


def uncovered(layers, product, reduce):
    return [
        2 * layers * (2 * product + reduce),
        2 * layers * reduce,
        preferred(layers, product, reduce),
    ]


# %% uncovered wrong: one sum for each layer
def preferred(layers, product, reduce):
    free, left, first = 0.0, list(range(2 * layers)), 0.0
    while left:
        waiting = [n for n in left if (2 * n + 1) * product <= free]
        if not waiting:
            free = (2 * left[0] + 1) * product
            continue
        left.remove(waiting[-1])
        free += reduce
        first = free if waiting[-1] >= 2 * layers - 2 else first
    return first


def uncovered(layers, product, reduce):
    free = 0.0
    for n in range(layers):
        free = max(free, (4 * n + 3) * product) + reduce
    math = 4 * layers * product
    return [
        max(free, math),
        max(free - math, 0.0),
        preferred(layers, product, reduce),
    ]


# %% uncovered wrong: forgets that the chip may be the last
def preferred(layers, product, reduce):
    free, left, first = 0.0, list(range(2 * layers)), 0.0
    while left:
        waiting = [n for n in left if (2 * n + 1) * product <= free]
        if not waiting:
            free = (2 * left[0] + 1) * product
            continue
        left.remove(waiting[-1])
        free += reduce
        first = free if waiting[-1] >= 2 * layers - 2 else first
    return first


def uncovered(layers, product, reduce):
    free = 0.0
    for n in range(2 * layers):
        free = max(free, (2 * n + 1) * product) + reduce
    return [
        free,
        free - 4 * layers * product,
        preferred(layers, product, reduce),
    ]


# %% uncovered right: a closed form
def preferred(layers, product, reduce):
    free, left, first = 0.0, list(range(2 * layers)), 0.0
    while left:
        waiting = [n for n in left if (2 * n + 1) * product <= free]
        if not waiting:
            free = (2 * left[0] + 1) * product
            continue
        left.remove(waiting[-1])
        free += reduce
        first = free if waiting[-1] >= 2 * layers - 2 else first
    return first


def uncovered(layers, product, reduce):
    first = product + 2 * layers * reduce
    last = (4 * layers - 1) * product + reduce
    math = 4 * layers * product
    end = max(first, last, math)
    return [end, end - math, preferred(layers, product, reduce)]


# %% uncovered right: from the end
def preferred(layers, product, reduce):
    free, left, first = 0.0, list(range(2 * layers)), 0.0
    while left:
        waiting = [n for n in left if (2 * n + 1) * product <= free]
        if not waiting:
            free = (2 * left[0] + 1) * product
            continue
        left.remove(waiting[-1])
        free += reduce
        first = free if waiting[-1] >= 2 * layers - 2 else first
    return first


def uncovered(layers, product, reduce):
    math, after = 4 * layers * product, []
    for n in range(1, 2 * layers + 1):
        after.append(n * reduce - (2 * n - 1) * product)
    bare = max(0.0, *after)
    return [math + bare, bare, preferred(layers, product, reduce)]


# %% noise wrong: the length for many as the signal
def noise_scale(few, chip, many, mean):
    return few * (chip - mean) / mean


# %% noise wrong: upside down
def noise_scale(few, chip, many, mean):
    signal = (many * mean - few * chip) / (many - few)
    return signal / (few * (chip - signal))


# %% noise wrong: the noise alone
def noise_scale(few, chip, many, mean):
    return (chip - mean) / (1 / few - 1 / many)


# %% noise wrong: noise falls with the root of the batch
def noise_scale(few, chip, many, mean):
    a, b = few**0.5, many**0.5
    signal = (b * mean - a * chip) / (b - a)
    return a * (chip - signal) / signal


# %% noise wrong: sizes exchanged
def noise_scale(few, chip, many, mean):
    signal = (few * mean - many * chip) / (few - many)
    return few * (chip - signal) / signal


# %% noise wrong: as if few were one example
def noise_scale(few, chip, many, mean):
    signal = (many * mean - few * chip) / (many - few)
    return (chip - signal) / signal


# %% noise right: the noise first
def noise_scale(few, chip, many, mean):
    noise = (chip - mean) / (1 / few - 1 / many)
    return noise / (mean - noise / many)


# %% noise right: a system of equations
def noise_scale(few, chip, many, mean):
    rows = np.array([[1, 1 / few], [1, 1 / many]])
    signal, noise = np.linalg.solve(rows, [chip, mean])
    return float(noise / signal)


# %% obstacles wrong: chips hold a part each
def obstacles(params, B, name, X, recipe):
    chip, gradient, found = hw.chip(name), recipe[1], []
    if sum(recipe) * params > X * chip.hbm_bytes:
        found.append("memory")
    W = hw.axis_bw(chip, wrap=hw.wraps(chip, X))
    comms = 2 * gradient * (X - 1) / X / W
    if comms > 4 * B / X / chip.flops:
        found.append("network")
    return found


# %% obstacles wrong: ten bytes, whatever the recipe
def obstacles(params, B, name, X, recipe):
    chip, gradient, found = hw.chip(name), recipe[1], []
    if 10 * params > chip.hbm_bytes:
        found.append("memory")
    W = hw.axis_bw(chip, wrap=hw.wraps(chip, X))
    comms = 2 * gradient * (X - 1) / X / W
    if comms > 4 * B / X / chip.flops:
        found.append("network")
    return found


# %% obstacles wrong: sixteen bytes, whatever the recipe
def obstacles(params, B, name, X, recipe):
    chip, gradient, found = hw.chip(name), recipe[1], []
    if 16 * params > chip.hbm_bytes:
        found.append("memory")
    W = hw.axis_bw(chip, wrap=hw.wraps(chip, X))
    comms = 2 * gradient * (X - 1) / X / W
    if comms > 4 * B / X / chip.flops:
        found.append("network")
    return found


# %% obstacles wrong: weights alone
def obstacles(params, B, name, X, recipe):
    chip, gradient, found = hw.chip(name), recipe[1], []
    if recipe[0] * params > chip.hbm_bytes:
        found.append("memory")
    W = hw.axis_bw(chip, wrap=hw.wraps(chip, X))
    comms = 2 * gradient * (X - 1) / X / W
    if comms > 4 * B / X / chip.flops:
        found.append("network")
    return found


# %% obstacles wrong: every axis is a ring
def obstacles(params, B, name, X, recipe):
    chip, gradient, found = hw.chip(name), recipe[1], []
    if sum(recipe) * params > chip.hbm_bytes:
        found.append("memory")
    W = hw.axis_bw(chip, wrap=True)
    comms = 2 * gradient * (X - 1) / X / W
    if comms > 4 * B / X / chip.flops:
        found.append("network")
    return found


# %% obstacles wrong: every axis is a line
def obstacles(params, B, name, X, recipe):
    chip, gradient, found = hw.chip(name), recipe[1], []
    if sum(recipe) * params > chip.hbm_bytes:
        found.append("memory")
    W = hw.axis_bw(chip, wrap=False)
    comms = 2 * gradient * (X - 1) / X / W
    if comms > 4 * B / X / chip.flops:
        found.append("network")
    return found


# %% obstacles wrong: two ways on a switch, too
def obstacles(params, B, name, X, recipe):
    chip, gradient, found = hw.chip(name), recipe[1], []
    if sum(recipe) * params > chip.hbm_bytes:
        found.append("memory")
    W = 2 * chip.link_bw
    comms = 2 * gradient * (X - 1) / X / W
    if comms > 4 * B / X / chip.flops:
        found.append("network")
    return found


# %% obstacles wrong: the limit of many chips
def obstacles(params, B, name, X, recipe):
    chip, gradient, found = hw.chip(name), recipe[1], []
    if sum(recipe) * params > chip.hbm_bytes:
        found.append("memory")
    W = hw.axis_bw(chip, wrap=hw.wraps(chip, X))
    comms = 2 * gradient / W
    if comms > 4 * B / X / chip.flops:
        found.append("network")
    return found


# %% obstacles wrong: half of an AllReduce
def obstacles(params, B, name, X, recipe):
    chip, gradient, found = hw.chip(name), recipe[1], []
    if sum(recipe) * params > chip.hbm_bytes:
        found.append("memory")
    W = hw.axis_bw(chip, wrap=hw.wraps(chip, X))
    comms = gradient * (X - 1) / X / W
    if comms > 4 * B / X / chip.flops:
        found.append("network")
    return found


# %% obstacles wrong: gradients always in bf16
def obstacles(params, B, name, X, recipe):
    chip, gradient, found = hw.chip(name), recipe[1], []
    if sum(recipe) * params > chip.hbm_bytes:
        found.append("memory")
    W = hw.axis_bw(chip, wrap=hw.wraps(chip, X))
    comms = 2 * 2 * (X - 1) / X / W
    if comms > 4 * B / X / chip.flops:
        found.append("network")
    return found


# %% obstacles wrong: the master copy travels
def obstacles(params, B, name, X, recipe):
    chip, gradient, found = hw.chip(name), recipe[2], []
    if sum(recipe) * params > chip.hbm_bytes:
        found.append("memory")
    W = hw.axis_bw(chip, wrap=hw.wraps(chip, X))
    comms = 2 * gradient * (X - 1) / X / W
    if comms > 4 * B / X / chip.flops:
        found.append("network")
    return found


# %% obstacles wrong: tokens of the batch, not of a chip
def obstacles(params, B, name, X, recipe):
    chip, gradient, found = hw.chip(name), recipe[1], []
    if sum(recipe) * params > chip.hbm_bytes:
        found.append("memory")
    W = hw.axis_bw(chip, wrap=hw.wraps(chip, X))
    comms = 2 * gradient * (X - 1) / X / W
    if comms > 4 * B / chip.flops:
        found.append("network")
    return found


# %% obstacles wrong: the forward pass counts, too
def obstacles(params, B, name, X, recipe):
    chip, gradient, found = hw.chip(name), recipe[1], []
    if sum(recipe) * params > chip.hbm_bytes:
        found.append("memory")
    W = hw.axis_bw(chip, wrap=hw.wraps(chip, X))
    comms = 2 * gradient * (X - 1) / X / W
    if comms > 6 * B / X / chip.flops:
        found.append("network")
    return found


# %% obstacles wrong: two FLOPs
def obstacles(params, B, name, X, recipe):
    chip, gradient, found = hw.chip(name), recipe[1], []
    if sum(recipe) * params > chip.hbm_bytes:
        found.append("memory")
    W = hw.axis_bw(chip, wrap=hw.wraps(chip, X))
    comms = 2 * gradient * (X - 1) / X / W
    if comms > 2 * B / X / chip.flops:
        found.append("network")
    return found


# %% obstacles wrong: chips share the bytes
def obstacles(params, B, name, X, recipe):
    chip, gradient, found = hw.chip(name), recipe[1], []
    if sum(recipe) * params > chip.hbm_bytes:
        found.append("memory")
    W = hw.axis_bw(chip, wrap=hw.wraps(chip, X))
    comms = 2 * gradient * (X - 1) / X / W / X
    if comms > 4 * B / X / chip.flops:
        found.append("network")
    return found


# %% obstacles wrong: one obstacle is enough
def obstacles(params, B, name, X, recipe):
    chip, gradient, found = hw.chip(name), recipe[1], []
    if sum(recipe) * params > chip.hbm_bytes:
        return ["memory"]
    W = hw.axis_bw(chip, wrap=hw.wraps(chip, X))
    comms = 2 * gradient * (X - 1) / X / W
    if comms > 4 * B / X / chip.flops:
        found.append("network")
    return found


# %% obstacles right: the tokens that are needed
def obstacles(params, B, name, X, recipe):
    chip, bytes_each = hw.CHIPS[name], recipe[1]
    both_ways = chip.axes > 0 and hw.wraps(chip, X)
    knee = chip.flops * bytes_each / (2 * chip.link_bw) * (1 - 1 / X)
    knee /= 2 if both_ways else 1
    names = {"memory": params > chip.hbm_bytes / sum(recipe)}
    names["network"] = B < knee * X
    return [name for name, forbids in names.items() if forbids]


# %% obstacles right: hop by hop
def obstacles(params, B, name, X, recipe):
    chip, seconds = hw.chip(name), 0.0
    piece = params * recipe[1] / X
    if chip.axes and hw.wraps(chip, X):
        piece /= 2  # one half of it either way round
    for _ in ("scatter", "gather"):
        for _ in range(X - 1):
            seconds += piece / chip.link_bw
    backward = 4 * params * (B / X) / chip.flops
    fits = params * sum(recipe) <= chip.hbm_bytes
    return ["memory"] * (not fits) + ["network"] * (seconds > backward)


# %% obstacles equivalent: line 9: `comms > 4 * B / X / chip.flops` with GtE
# Where both take equally long, the last bit of a float would decide.


# %% seconds wrong: forward hides the sums, too
def dp_seconds(params, B, X, C, W, overlap):
    math, comms = 6 * params * B / (X * C), 4 * params / W
    return max(math, comms) if overlap else math + comms


# %% seconds wrong: overlap is ignored
def dp_seconds(params, B, X, C, W, overlap):
    return 6 * params * B / (X * C) + 4 * params / W


# %% seconds wrong: always with overlap
def dp_seconds(params, B, X, C, W, overlap):
    forward, comms = 2 * params * B / (X * C), 4 * params / W
    return forward + max(2 * forward, comms)


# %% seconds wrong: an AllReduce once over the array
def dp_seconds(params, B, X, C, W, overlap):
    forward, comms = 2 * params * B / (X * C), 2 * params / W
    both = max if overlap else lambda a, b: a + b
    return forward + both(2 * forward, comms)


# %% seconds wrong: eight bytes for each parameter
def dp_seconds(params, B, X, C, W, overlap):
    forward, comms = 2 * params * B / (X * C), 8 * params / W
    both = max if overlap else lambda a, b: a + b
    return forward + both(2 * forward, comms)


# %% seconds wrong: backward as long as forward
def dp_seconds(params, B, X, C, W, overlap):
    forward, comms = 2 * params * B / (X * C), 4 * params / W
    both = max if overlap else lambda a, b: a + b
    return forward + both(forward, comms)


# %% seconds wrong: chips share the communication
def dp_seconds(params, B, X, C, W, overlap):
    forward, comms = 2 * params * B / (X * C), 4 * params / (W * X)
    both = max if overlap else lambda a, b: a + b
    return forward + both(2 * forward, comms)


# %% seconds right: what is not hidden comes on top
def dp_seconds(params, B, X, C, W, overlap):
    math, comms = 6 * params * B / (X * C), 4 * params / W
    hidden = min(comms, math * 2 / 3) if overlap else 0
    return math + comms - hidden


# %% seconds right: tokens of a chip against the knee
def dp_seconds(params, B, X, C, W, overlap):
    tokens, knee = B / X, C / W
    if overlap:
        return params / C * (2 * tokens + 4 * max(tokens, knee))
    return params / C * (6 * tokens + 4 * knee)


# %% seconds equivalent: line 8: `max(backward, comms)` with its arguments reversed
# The larger of two numbers does not depend on which is named first.


# %% gate wrong: the MLP alone
layer_bytes = 24 * D * F * (X - 1) / X

# %% gate wrong: attention alone
layer_bytes = 16 * D * (D + K) * (X - 1) / X

# %% gate wrong: the limit
layer_bytes = 8 * D * (3 * F + 2 * D + 2 * K)

# %% gate wrong: half of an AllReduce
layer_bytes = 4 * D * (3 * F + 2 * D + 2 * K) * (X - 1) / X

# %% gate wrong: bf16, as the weights
layer_bytes = 4 * D * (3 * F + 2 * D + 2 * K) * (1 - 1 / X)

# %% gate wrong: what each sends to each
layer_bytes = 8 * D * (3 * F + 2 * D + 2 * K) * (X - 1)

# %% gate wrong: an MLP without a gate
layer_bytes = 8 * D * (2 * F + 2 * D + 2 * K) * (X - 1) / X

# %% gate wrong: as many key heads as heads
layer_bytes = 8 * D * (3 * F + 4 * D) * (X - 1) / X

# %% gate wrong: weights travel, too
layer_bytes = 12 * D * (3 * F + 2 * D + 2 * K) * (X - 1) / X

# %% gate right: as text, a limit and what is missing
layer_bytes = "(24*D*F + 16*D*D + 16*D*K)*(1 - 1/X)"

# %% gate right: matrix by matrix
matrices = [D * F, D * F, F * D, D * D, D * K, D * K, D * D]
layer_bytes = sum(2 * 4 * n * (X - 1) / X for n in matrices)


# %% gradients wrong: as many chips as the computer has
def dp_gradients(In, Target, W_in, W_out):
    B = len(In) * jax.device_count()
    Tmp = In @ W_in
    far = Tmp @ W_out - Target
    dTmp = far @ W_out.T / B
    dW = jax.lax.psum((In.T @ dTmp, Tmp.T @ far / B), "X")
    return jnp.sum(far**2)[None] / (2 * B), dTmp @ W_in.T, *dW


# %% gradients wrong: always four chips
def dp_gradients(In, Target, W_in, W_out):
    B = len(In) * 4
    Tmp = In @ W_in
    far = Tmp @ W_out - Target
    dTmp = far @ W_out.T / B
    dW = jax.lax.psum((In.T @ dTmp, Tmp.T @ far / B), "X")
    return jnp.sum(far**2)[None] / (2 * B), dTmp @ W_in.T, *dW


# %% gradients wrong: an AllReduce that counts tokens
def dp_gradients(In, Target, W_in, W_out):
    B = jax.lax.psum(jnp.sum(jnp.ones(len(In))), "X")
    Tmp = In @ W_in
    far = Tmp @ W_out - Target
    dTmp = far @ W_out.T / B
    dW = jax.lax.psum((In.T @ dTmp, Tmp.T @ far / B), "X")
    return jnp.sum(far**2)[None] / (2 * B), dTmp @ W_in.T, *dW


# %% gradients right: row after row
def dp_gradients(In, Target, W_in, W_out):
    B = len(In) * jax.lax.axis_size("X")
    Tmp = In @ W_in
    far = Tmp @ W_out - Target
    dTmp = far @ W_out.T / B
    dW_in, dW_out = (
        jnp.stack([jax.lax.psum(row, "X") for row in dW])
        for dW in (In.T @ dTmp, Tmp.T @ far / B)
    )
    return jnp.vdot(far, far)[None] / (2 * B), dTmp @ W_in.T, dW_in, dW_out


# %% accumulated wrong: two microbatches at a time
def accumulated(In, Target, W_in, W_out):
    k, m, D = In.shape
    pairs = In.reshape(k // 2, 2 * m, D), Target.reshape(k // 2, 2 * m, D)

    def add(total, tokens):
        In, Target = tokens
        Tmp = In @ W_in
        dOut = Tmp @ W_out - Target
        dW = In.T @ (dOut @ W_out.T), Tmp.T @ dOut
        return jax.tree.map(jnp.add, total, dW), None

    zeros = jnp.zeros_like(W_in), jnp.zeros_like(W_out)
    return jax.lax.psum(jax.lax.scan(add, zeros, pairs)[0], "X")


# %% accumulated wrong: what backward needs is kept of all
def accumulated(In, Target, W_in, W_out):
    def loss(W):
        def add(total, tokens):
            In, Target = tokens
            return total + jnp.sum((In @ W[0] @ W[1] - Target) ** 2) / 2, None

        return jax.lax.scan(add, 0.0, (In, Target))[0]

    return jax.lax.psum(jax.grad(loss)((W_in, W_out)), "X")


# %% accumulated right: one gradient of a loop that keeps nothing
def accumulated(In, Target, W_in, W_out):
    @jax.checkpoint
    def one(W, In, Target):
        return jnp.sum((In @ W[0] @ W[1] - Target) ** 2) / 2

    def loss(W):
        def add(total, tokens):
            return total + one(W, *tokens), None

        return jax.lax.scan(add, 0.0, (In, Target))[0]

    return jax.lax.psum(jax.grad(loss)((W_in, W_out)), "X")


# %% fewest wrong: one more than the whole part
def fewest_tokens(C, link_bw, X, itemsize):
    return int(C * itemsize * (X - 1) / X / (4 * link_bw)) + 1


# %% fewest wrong: rounded up twice
def fewest_tokens(C, link_bw, X, itemsize):
    many = np.ceil(C * itemsize / (4 * link_bw))
    return int(np.ceil(many * (X - 1) / X))


# %% depth wrong: a byte must be left
def most_layers(hbm, D, F, tokens, recipe):
    return (hbm - 1) // (2 * D * F * sum(recipe) + 2 * tokens * (D + F))


# %% pod wrong: whole tokens on each chip
def pod_sequences(pod, C, link_bw, length):
    tokens = np.prod(pod) * np.ceil(C / (len(pod) * 2 * link_bw))
    return int(np.ceil(tokens / length))


# %% pod wrong: one more than the whole part
def pod_sequences(pod, C, link_bw, length):
    return int(np.prod(pod) * C / (len(pod) * 2 * link_bw) / length) + 1


# %% uncovered right: two cases, in an array
def preferred(layers, product, reduce):
    free, left, first = 0.0, list(range(2 * layers)), 0.0
    while left:
        waiting = [n for n in left if (2 * n + 1) * product <= free]
        if not waiting:
            free = (2 * left[0] + 1) * product
            continue
        left.remove(waiting[-1])
        free += reduce
        first = free if waiting[-1] >= 2 * layers - 2 else first
    return first


def uncovered(layers, product, reduce):
    if reduce > 2 * product:
        bare = 2 * layers * reduce - (4 * layers - 1) * product
    else:
        bare = max(reduce - product, 0.0)
    return np.array(
        [4 * layers * product + bare, bare, preferred(layers, product, reduce)]
    )


# %% gate wrong: whole numbers
entries = D * (3 * F + 2 * D + 2 * K)
layer_bytes = 8 * (entries - sympy.floor(entries / X))


# %% fewest wrong: six FLOPs a parameter
def fewest_tokens(C, link_bw, X, itemsize):
    return int(np.ceil(itemsize * (X - 1) / X / link_bw * C / 6))


# %% depth wrong: activations of one layer only
def most_layers(hbm, D, F, tokens, recipe):
    return (hbm - 2 * tokens * (D + F)) // (2 * D * F * sum(recipe))


# %% pod wrong: whole sequences for each chip
def pod_sequences(pod, C, link_bw, length):
    each = C / (len(pod) * 2 * link_bw)
    return int(np.prod(pod)) * int(np.ceil(each / length))


# %% uncovered wrong: the last sum waits for the last product
def preferred(layers, product, reduce):
    free, left, first = 0.0, list(range(2 * layers)), 0.0
    while left:
        waiting = [n for n in left if (2 * n + 1) * product <= free]
        if not waiting:
            free = (2 * left[0] + 1) * product
            continue
        left.remove(waiting[-1])
        free += reduce
        first = free if waiting[-1] >= 2 * layers - 2 else first
    return first


def uncovered(layers, product, reduce):
    chip = 4 * layers * product
    return [chip + reduce, reduce, preferred(layers, product, reduce)]


# %% noise wrong: the sign of the noise
def noise_scale(few, chip, many, mean):
    noise = (chip - mean) / (1 / many - 1 / few)
    return noise / (chip - noise / few)


# %% seconds wrong: each chip takes all tokens
def dp_seconds(params, B, X, C, W, overlap):
    forward, comms = 2 * params * B / C, 4 * params / W
    if overlap:
        return forward + max(2 * forward, comms)
    return 3 * forward + comms


# %% seconds wrong: exact for a ring
def dp_seconds(params, B, X, C, W, overlap):
    forward = 2 * params * B / (X * C)
    comms = 4 * params / W * (X - 1) / X
    if overlap:
        return forward + max(2 * forward, comms)
    return 3 * forward + comms


# %% crossing wrong: the quicker chips always win
def crossing(first, second, overlap):
    return 0.0


# %% crossing wrong: where the second no longer waits
def crossing(first, second, overlap):
    X, C, W = second
    return X * C / W if overlap else 0.0


# %% crossing wrong: where the first no longer waits
def crossing(first, second, overlap):
    X, C, W = first
    return X * C / W


# %% crossing wrong: never overlaps
def crossing(first, second, overlap):
    (X, C, W), (Y, E, V) = first, second
    return (4 / V - 4 / W) / (6 / (X * C) - 6 / (Y * E))


# %% crossing wrong: always overlaps
def crossing(first, second, overlap):
    (X, C, W), (Y, E, V) = first, second
    waiting = (4 / V - 4 / W) / (2 / (X * C) - 2 / (Y * E))
    return min(waiting, 4 / V / (6 / (X * C) - 2 / (Y * E)))


# %% crossing wrong: both wait for their networks
def crossing(first, second, overlap):
    (X, C, W), (Y, E, V) = first, second
    passes = 1 if overlap else 3
    return (4 / V - 4 / W) / passes / (2 / (X * C) - 2 / (Y * E))


# %% crossing wrong: the first never waits
def crossing(first, second, overlap):
    (X, C, W), (Y, E, V) = first, second
    if overlap:
        return 4 / V / (6 / (X * C) - 2 / (Y * E))
    return (4 / V - 4 / W) / (6 / (X * C) - 6 / (Y * E))


# %% crossing wrong: the forward pass hides sums, too
def crossing(first, second, overlap):
    (X, C, W), (Y, E, V) = first, second
    if overlap:
        return 4 / V / (6 / (X * C))
    return (4 / V - 4 / W) / (6 / (X * C) - 6 / (Y * E))


# %% crossing wrong: an AllReduce once over the array
def crossing(first, second, overlap):
    (X, C, W), (Y, E, V) = first, second
    if overlap:
        waiting = (2 / V - 2 / W) / (2 / (X * C) - 2 / (Y * E))
        return min(waiting, 2 / V / (6 / (X * C) - 2 / (Y * E)))
    return (2 / V - 2 / W) / (6 / (X * C) - 6 / (Y * E))


# %% crossing wrong: tokens of a chip
def crossing(first, second, overlap):
    (X, C, W), (Y, E, V) = first, second
    if overlap:
        waiting = (4 / V - 4 / W) / (2 / (X * C) - 2 / (Y * E))
        return min(waiting, 4 / V / (6 / (X * C) - 2 / (Y * E))) / X
    return (4 / V - 4 / W) / (6 / (X * C) - 6 / (Y * E)) / X


# %% crossing wrong: the later of the two
def crossing(first, second, overlap):
    (X, C, W), (Y, E, V) = first, second
    if overlap:
        waiting = (4 / V - 4 / W) / (2 / (X * C) - 2 / (Y * E))
        return max(waiting, 4 / V / (6 / (X * C) - 2 / (Y * E)))
    return (4 / V - 4 / W) / (6 / (X * C) - 6 / (Y * E))


# %% crossing right: by halving
def crossing(first, second, overlap):
    def seconds(machine, B):
        X, C, W = machine
        backward = 4 * B / (X * C)
        if overlap:
            return backward / 2 + max(backward, 4 / W)
        return 1.5 * backward + 4 / W

    low, high = 0.0, 1e15
    for _ in range(200):
        middle = (low + high) / 2
        if seconds(first, middle) < seconds(second, middle):
            low = middle
        else:
            high = middle
    return high


# %% crossing right: with the tokens at the kink
def crossing(first, second, overlap):
    (X, C, W), (Y, E, V) = first, second
    slow, fast = X * C, Y * E
    longer = 2 / V - 2 / W
    if not overlap:
        return longer / 3 / (1 / slow - 1 / fast)
    met = longer / (1 / slow - 1 / fast)
    kink = slow / W
    return np.float64(met if met <= kink else 2 / V / (3 / slow - 1 / fast))


# %% crossing equivalent: line 13: `min(both_wait, one_waits)` with its arguments reversed
# The smaller of two numbers does not depend on which is named first.


# %% uncovered wrong: the first layer's sums come last, as played in the chapter
def uncovered(layers, product, reduce):
    free = 0.0
    for n in range(2 * layers):
        free = max(free, (2 * n + 1) * product) + reduce
    chip = 4 * layers * product
    return [max(free, chip), max(free - chip, 0.0), free]


# %% uncovered wrong: the first layer interrupts
def uncovered(layers, product, reduce):
    free = 0.0
    for n in range(2 * layers):
        free = max(free, (2 * n + 1) * product) + reduce
    chip, comes = 4 * layers * product, (4 * layers - 3) * product
    first = max(comes + reduce, comes + 2 * product) + reduce
    return [max(free, chip), max(free - chip, 0.0), first]


# %% uncovered wrong: both sums after the last dW
def uncovered(layers, product, reduce):
    free = 0.0
    for n in range(2 * layers):
        free = max(free, (2 * n + 1) * product) + reduce
    chip = 4 * layers * product
    return [max(free, chip), max(free - chip, 0.0), chip - product + 2 * reduce]


# %% uncovered equivalent: line 7: `max(in_order, ready)` with its arguments reversed
# The larger of two numbers does not depend on which is named first.

# %% uncovered equivalent: line 18: `max(in_order, chip)` with its arguments reversed
# The larger of two numbers does not depend on which is named first.

# %% uncovered equivalent: line 18: `max(in_order - chip, 0.0)` with its arguments reversed
# The larger of two numbers does not depend on which is named first.


# %% depth wrong: activations as wide as the recipe's weights
def most_layers(hbm, D, F, tokens, recipe):
    return hbm // (2 * D * F * sum(recipe) + recipe[0] * tokens * (D + F))


# %% depth wrong: the gradient is left out
def most_layers(hbm, D, F, tokens, recipe):
    kept = sum(recipe) - recipe[1]
    return hbm // (2 * D * F * kept + 2 * tokens * (D + F))


# %% depth wrong: sixteen bytes, whatever the recipe
def most_layers(hbm, D, F, tokens, recipe):
    return hbm // (2 * D * F * 16 + 2 * tokens * (D + F))


# %% obstacles wrong: a ring of GPUs goes both ways
def obstacles(params, B, name, X, recipe):
    chip, gradient, found = hw.chip(name), recipe[1], []
    if sum(recipe) * params > chip.hbm_bytes:
        found.append("memory")
    W = 2 * chip.link_bw if hw.wraps(chip, X) else chip.link_bw
    comms = 2 * gradient * (X - 1) / X / W
    if comms > 4 * B / X / chip.flops:
        found.append("network")
    return found


# %% obstacles wrong: a line scatters and gathers at the same time
def obstacles(params, B, name, X, recipe):
    chip, gradient, found = hw.chip(name), recipe[1], []
    if sum(recipe) * params > chip.hbm_bytes:
        found.append("memory")
    comms = gradient / chip.link_bw
    if hw.wraps(chip, X):
        comms = 2 * gradient * (X - 1) / X / hw.axis_bw(chip)
    if comms > 4 * B / X / chip.flops:
        found.append("network")
    return found


# %% seconds wrong: the forward pass is left out
def dp_seconds(params, B, X, C, W, overlap):
    backward = 4 * params * B / (X * C)
    comms = 4 * params / W
    return max(backward, comms) if overlap else backward + comms


# %% seconds wrong: sums beside the forward pass
def dp_seconds(params, B, X, C, W, overlap):
    forward = 2 * params * B / (X * C)
    comms = 4 * params / W
    first = max(forward, comms) if overlap else forward + comms
    return first + 2 * forward


# %% uncovered wrong: of two sums the older one at the moment that it is free
def uncovered(layers, product, reduce):
    count = 2 * layers
    comes = [(2 * n + 1) * product for n in range(count)]
    in_order = 0.0
    for ready in comes:
        in_order = max(in_order, ready) + reduce
    end = max(in_order, 4 * layers * product)
    now, left, done = 0.0, list(range(count)), {}
    while left:
        waiting = [n for n in left if comes[n] < now] or [
            n for n in left if comes[n] <= now
        ]
        if not waiting:
            now = comes[left[0]]
            continue
        left.remove(max(waiting))
        now += reduce
        done[max(waiting)] = now
    return (
        end,
        end - 4 * layers * product,
        max(done[count - 1], done[count - 2]),
    )


# %% uncovered wrong: all that the network does is bare
def uncovered(layers, product, reduce):
    count = 2 * layers
    comes = [(2 * n + 1) * product for n in range(count)]
    in_order = 0.0
    for ready in comes:
        in_order = max(in_order, ready) + reduce
    end = max(in_order, 4 * layers * product)
    return end, count * reduce, end


# %% uncovered wrong: the first that come are the first layer's
def uncovered(layers, product, reduce):
    count = 2 * layers
    comes = [(2 * n + 1) * product for n in range(count)]
    in_order = 0.0
    for ready in comes:
        in_order = max(in_order, ready) + reduce
    end = max(in_order, 4 * layers * product)
    now, left, done = 0.0, list(range(count)), {}
    while left:
        waiting = [n for n in left if comes[n] <= now]
        if not waiting:
            now = comes[left[0]]
            continue
        left.remove(max(waiting))
        now += reduce
        done[max(waiting)] = now
    return end, end - 4 * layers * product, max(done[0], done[1])


# %% gradients wrong: derived through a sum of the loss
def dp_gradients(In, Target, W_in, W_out):
    B = len(In) * jax.lax.axis_size("X")

    def loss(In, W_in, W_out):
        part = ((In @ W_in @ W_out - Target) ** 2).sum() / 2 / B
        return jax.lax.psum(part, "X")

    dIn, dW_in, dW_out = jax.grad(loss, (0, 1, 2))(In, W_in, W_out)
    part = ((In @ W_in @ W_out - Target) ** 2).sum() / 2 / B
    return part[None], dIn, dW_in, dW_out


# %% accumulated wrong: totals that start at the weights
def accumulated(In, Target, W_in, W_out):
    def step(total, batch):
        In, Target = batch
        Tmp = In @ W_in
        dOut = Tmp @ W_out - Target
        dTmp = dOut @ W_out.T
        return (total[0] + In.T @ dTmp, total[1] + Tmp.T @ dOut), None

    total, _ = jax.lax.scan(step, (W_in, W_out), (In, Target))
    return jax.lax.psum(total, "X")


# %% noise wrong: batches exchanged in the signal
def noise_scale(few, chip, many, mean):
    signal = (many * chip - few * mean) / (many - few)
    return (chip - mean) / (1 / few - 1 / many) / signal


# %% noise wrong: the difference is the noise
def noise_scale(few, chip, many, mean):
    return (chip - mean) / mean


# %% noise wrong: the length for many is without noise
def noise_scale(few, chip, many, mean):
    noise = (chip - mean) / (1 / few - 1 / many)
    return few * (chip - mean) / (chip - noise / few)


# %% noise wrong: the whole noise is taken off
def noise_scale(few, chip, many, mean):
    noise = (chip - mean) / (1 / few - 1 / many)
    return noise / (chip - noise)
