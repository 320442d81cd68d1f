# Answers that the checks of exercise set 10 must reject or accept.
#
# A cell is titled with the answer cell's grade_id, then `wrong: ` with the
# mistake or `right: ` with what is different. Run by tests/exercises.

# %% ports wrong: one wire of one chip, everywhere
in_order = V * (P * X - 1) / (P * X)
in_turn = V * (P * X - 1) / P
cut_first = V * (P - 1) / P
gain = (P * X - 1) / (2 * (P - 1))

# %% ports wrong: the limits of many
in_order = 2 * V
in_turn = 2 * V * X
cut_first = 2 * V
gain = X / 2

# %% ports wrong: all wires of the border leave
in_order = 4 * V * (P * X - 1) / (P * X)
in_turn = 2 * V * (P * X - 1) / P
cut_first = 2 * V * (P - 1) / P
gain = (P * X - 1) / (P - 1)

# %% ports wrong: the busiest chip for a pod
in_order = V * (P * X - 1) / (P * X)
in_turn = 2 * V * (P * X - 1) / (P * X)
cut_first = 2 * V * (P - 1) / (P * X)
gain = (P * X - 1) / (2 * (P - 1))

# %% ports wrong: the order of the ring does not matter
in_order = 2 * V * (P * X - 1) / (P * X)
in_turn = 2 * V * (P * X - 1) / (P * X)
cut_first = 2 * V * (P - 1) / P
gain = (P * X - 1) / (2 * (P - 1))

# %% ports wrong: nobody cuts
in_order = 2 * V * (P * X - 1) / (P * X)
in_turn = 2 * V * (P * X - 1) / P
cut_first = 2 * V * X * (P - 1) / P
gain = (P * X - 1) / (2 * X * (P - 1))

# %% ports wrong: cutting first divides what leaves a pod
in_order = 2 * V * (P * X - 1) / (P * X)
in_turn = 2 * V * (P * X - 1) / P
cut_first = 2 * V * (P - 1) / (P * X)
gain = (P * X - 1) / (2 * (P - 1))

# %% ports wrong: a ring of pods
in_order = 2 * V * (P - 1) / P
in_turn = 2 * V * (P * X - 1) / P
cut_first = 2 * V * (P - 1) / P
gain = X / 2

# %% ports wrong: the gain of a pod
in_order = 2 * V * (P * X - 1) / (P * X)
in_turn = 2 * V * (P * X - 1) / P
cut_first = 2 * V * (P - 1) / P
gain = (P * X - 1) / (X * (P - 1))

# %% ports wrong: upside down
in_order = 2 * V * (P * X - 1) / (P * X)
in_turn = 2 * V * (P * X - 1) / P
cut_first = 2 * V * (P - 1) / P
gain = 2 * (P - 1) / (P * X - 1)

# %% ports wrong: the gain of volumes
in_order = 2 * V * (P * X - 1) / (P * X)
in_turn = 2 * V * (P * X - 1) / P
cut_first = 2 * V * (P - 1) / P
gain = X

# %% ports right: as differences
in_order = 2 * V - 2 * V / (P * X)
in_turn = 2 * V * X - 2 * V / P
cut_first = 2 * V - 2 * V / P
gain = (P / (P - 1) - 1 / (X * (P - 1))) * X / 2

# %% ports right: by the number of chips
chips = P * X
in_order = 2 * V / chips * (chips - 1)
in_turn = X * in_order
cut_first = X * (2 * V / chips * (P - 1))
gain = (chips - 1) / 2 / (P - 1)


# %% columns wrong: one flat AllReduce, then its columns
def gradient_columns(dW, tokens):
    total = jax.lax.psum(dW * tokens, ("P", "X"))
    width = dW.shape[1] // jax.lax.axis_size("X")
    start = width * jax.lax.axis_index("X")
    own = jax.lax.dynamic_slice_in_dim(total, start, width, 1)
    return own / jax.lax.psum(tokens, ("P", "X"))


# %% columns wrong: the mean of means
def gradient_columns(dW, tokens):
    piece = jax.lax.psum_scatter(dW, "X", scatter_dimension=1, tiled=True)
    return jax.lax.pmean(piece, "P") / jax.lax.axis_size("X")


# %% columns wrong: adds up means
def gradient_columns(dW, tokens):
    piece = jax.lax.psum_scatter(dW, "X", scatter_dimension=1, tiled=True)
    return jax.lax.psum(piece, "P")


# %% columns wrong: forgets to divide
def gradient_columns(dW, tokens):
    piece = jax.lax.psum_scatter(
        dW * tokens, "X", scatter_dimension=1, tiled=True
    )
    return jax.lax.psum(piece, "P")


# %% columns wrong: divides by chips
def gradient_columns(dW, tokens):
    piece = jax.lax.psum_scatter(
        dW * tokens, "X", scatter_dimension=1, tiled=True
    )
    return jax.lax.pmean(piece, "P") / jax.lax.axis_size("X")


# %% columns wrong: does not weigh
def gradient_columns(dW, tokens):
    piece = jax.lax.psum_scatter(dW, "X", scatter_dimension=1, tiled=True)
    return jax.lax.psum(piece, "P") / jax.lax.psum(tokens, ("P", "X"))


# %% columns wrong: forgets the sum over pods
def gradient_columns(dW, tokens):
    piece = jax.lax.psum_scatter(
        dW * tokens, "X", scatter_dimension=1, tiled=True
    )
    return piece / jax.lax.psum(tokens, "X")


# %% columns wrong: pods of different size count the same
def gradient_columns(dW, tokens):
    piece = jax.lax.psum_scatter(
        dW * tokens, "X", scatter_dimension=1, tiled=True
    )
    return jax.lax.pmean(piece / jax.lax.psum(tokens, "X"), "P")


# %% columns wrong: the first pod's gradient only
def gradient_columns(dW, tokens):
    first = (jax.lax.axis_index("P") == 0) * dW * tokens
    piece = jax.lax.psum_scatter(first, "X", scatter_dimension=1, tiled=True)
    return jax.lax.psum(piece, "P") / jax.lax.psum(tokens, ("P", "X"))


# %% columns wrong: crosses before it is cut
def gradient_columns(dW, tokens):
    total = jax.lax.psum(dW * tokens, "P")
    piece = jax.lax.psum_scatter(total, "X", scatter_dimension=1, tiled=True)
    return piece / jax.lax.psum(tokens, ("P", "X"))


# %% columns wrong: an AllReduce inside, too
def gradient_columns(dW, tokens):
    total = jax.lax.psum(dW * tokens, "X")
    width = dW.shape[1] // jax.lax.axis_size("X")
    start = width * jax.lax.axis_index("X")
    own = jax.lax.dynamic_slice_in_dim(total, start, width, 1)
    return jax.lax.psum(own, "P") / jax.lax.psum(tokens, ("P", "X"))


# %% columns wrong: gathers at the end
def gradient_columns(dW, tokens):
    piece = jax.lax.psum_scatter(
        dW * tokens, "X", scatter_dimension=1, tiled=True
    )
    piece = jax.lax.psum(piece, "P") / jax.lax.psum(tokens, ("P", "X"))
    return jax.lax.all_gather(piece, "X", axis=1, tiled=True)


# %% columns wrong: rows instead of columns
def gradient_columns(dW, tokens):
    X = jax.lax.axis_size("X")
    tall = jax.numpy.pad(dW * tokens, ((0, -len(dW) % X), (0, 0)))
    piece = jax.lax.psum_scatter(tall, "X", scatter_dimension=0, tiled=True)
    return jax.lax.psum(piece, "P") / jax.lax.psum(tokens, ("P", "X"))


# %% columns wrong: divides by pods once more
def gradient_columns(dW, tokens):
    piece = jax.lax.psum_scatter(
        dW * tokens, "X", scatter_dimension=1, tiled=True
    )
    return jax.lax.pmean(piece, "P") / jax.lax.psum(tokens, ("P", "X"))


# %% columns right: weighs first
def gradient_columns(dW, tokens):
    share = tokens / jax.lax.psum(tokens, ("P", "X"))
    piece = jax.lax.psum_scatter(
        dW * share, "X", scatter_dimension=1, tiled=True
    )
    return jax.lax.psum(piece, "P")


# %% columns right: counts tokens inside, then across
def gradient_columns(dW, tokens):
    piece = jax.lax.psum(
        jax.lax.psum_scatter(dW * tokens, "X", scatter_dimension=1, tiled=True),
        "P",
    )
    count = jax.lax.psum(jax.lax.psum(tokens, "X"), "P")
    return piece / count


# %% columns right: pieces by number
def gradient_columns(dW, tokens):
    X = jax.lax.axis_size("X")
    pieces = (dW * tokens).reshape(len(dW), X, -1).swapaxes(0, 1)
    piece = jax.lax.psum_scatter(pieces, "X", scatter_dimension=0, tiled=False)
    return jax.lax.psum(piece, "P") / jax.lax.psum(tokens, ("X", "P"))


# %% zero wrong: one flat AllReduce, and its rows
def step(W, m, dW):
    total = jax.lax.psum(dW, ("P", "X"))
    start = jax.lax.axis_index("X") * len(m)
    m = 0.75 * m + jax.lax.dynamic_slice_in_dim(total, start, len(m), 0)
    own = jax.lax.dynamic_slice_in_dim(W, start, len(m), 0) - 0.5 * m
    return jax.lax.all_gather(own, "X", tiled=True), m


# %% zero wrong: an AllReduce inside, then its rows cross
def step(W, m, dW):
    inside = jax.lax.psum(dW, "X")
    start = jax.lax.axis_index("X") * len(m)
    rows = jax.lax.dynamic_slice_in_dim(inside, start, len(m), 0)
    m = 0.75 * m + jax.lax.psum(rows, "P")
    own = jax.lax.dynamic_slice_in_dim(W, start, len(m), 0) - 0.5 * m
    return jax.lax.all_gather(own, "X", tiled=True), m


# %% zero wrong: crosses before it is cut
def step(W, m, dW):
    dW = jax.lax.psum(dW, "P")
    piece = jax.lax.psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    m = 0.75 * m + piece
    start = jax.lax.axis_index("X") * len(m)
    own = jax.lax.dynamic_slice_in_dim(W, start, len(m), 0) - 0.5 * m
    return jax.lax.all_gather(own, "X", tiled=True), m


# %% zero wrong: pods agree on the state, too
def step(W, m, dW):
    piece = jax.lax.psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    m = jax.lax.pmean(0.75 * m + jax.lax.psum(piece, "P"), "P")
    start = jax.lax.axis_index("X") * len(m)
    own = jax.lax.dynamic_slice_in_dim(W, start, len(m), 0) - 0.5 * m
    return jax.lax.all_gather(own, "X", tiled=True), m


# %% zero wrong: a replicated optimiser
def step(W, m, dW):
    piece = jax.lax.psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    piece = jax.lax.psum(piece, "P")
    whole = jax.lax.all_gather(piece, "X", tiled=True)
    state = 0.75 * jax.lax.all_gather(m, "X", tiled=True) + whole
    start = jax.lax.axis_index("X") * len(m)
    m = jax.lax.dynamic_slice_in_dim(state, start, len(m), 0)
    return W - 0.5 * state, m


# %% zero wrong: the mean
def step(W, m, dW):
    piece = jax.lax.psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    m = 0.75 * m + jax.lax.psum(piece, "P") / jax.lax.axis_size(("P", "X"))
    start = jax.lax.axis_index("X") * len(m)
    own = jax.lax.dynamic_slice_in_dim(W, start, len(m), 0) - 0.5 * m
    return jax.lax.all_gather(own, "X", tiled=True), m


# %% zero wrong: a replicated optimiser, state and gradient in one gather
def step(W, m, dW):
    piece = jax.lax.psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    both = jax.numpy.stack([m, jax.lax.psum(piece, "P")], axis=1)
    both = jax.lax.all_gather(both, "X", tiled=True)
    state = 0.75 * both[:, 0] + both[:, 1]
    start = jax.lax.axis_index("X") * len(m)
    m = jax.lax.dynamic_slice_in_dim(state, start, len(m), 0)
    return W - 0.5 * state, m


# %% zero wrong: the mean over pods
def step(W, m, dW):
    piece = jax.lax.psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    m = 0.75 * m + jax.lax.pmean(piece, "P")
    start = jax.lax.axis_index("X") * len(m)
    own = jax.lax.dynamic_slice_in_dim(W, start, len(m), 0) - 0.5 * m
    return jax.lax.all_gather(own, "X", tiled=True), m


# %% zero wrong: the mean in a pod
def step(W, m, dW):
    piece = jax.lax.psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    m = 0.75 * m + jax.lax.psum(piece, "P") / jax.lax.axis_size("X")
    start = jax.lax.axis_index("X") * len(m)
    own = jax.lax.dynamic_slice_in_dim(W, start, len(m), 0) - 0.5 * m
    return jax.lax.all_gather(own, "X", tiled=True), m


# %% zero wrong: states of pods added up
def step(W, m, dW):
    piece = jax.lax.psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    m = jax.lax.psum(0.75 * m + piece, "P")
    start = jax.lax.axis_index("X") * len(m)
    own = jax.lax.dynamic_slice_in_dim(W, start, len(m), 0) - 0.5 * m
    return jax.lax.all_gather(own, "X", tiled=True), m


# %% zero wrong: forgets the sum over pods
def step(W, m, dW):
    piece = jax.lax.psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    m = 0.75 * m + piece
    start = jax.lax.axis_index("X") * len(m)
    own = jax.lax.dynamic_slice_in_dim(W, start, len(m), 0) - 0.5 * m
    return jax.lax.all_gather(own, "X", tiled=True), m


# %% zero wrong: the first pod's gradient only
def step(W, m, dW):
    first = (jax.lax.axis_index("P") == 0) * dW
    piece = jax.lax.psum_scatter(first, "X", scatter_dimension=0, tiled=True)
    m = 0.75 * m + jax.lax.psum(piece, "P")
    start = jax.lax.axis_index("X") * len(m)
    own = jax.lax.dynamic_slice_in_dim(W, start, len(m), 0) - 0.5 * m
    return jax.lax.all_gather(own, "X", tiled=True), m


# %% zero wrong: forgets the state
def step(W, m, dW):
    piece = jax.lax.psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    m = jax.lax.psum(piece, "P")
    start = jax.lax.axis_index("X") * len(m)
    own = jax.lax.dynamic_slice_in_dim(W, start, len(m), 0) - 0.5 * m
    return jax.lax.all_gather(own, "X", tiled=True), m


# %% zero wrong: uphill
def step(W, m, dW):
    piece = jax.lax.psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    m = 0.75 * m + jax.lax.psum(piece, "P")
    start = jax.lax.axis_index("X") * len(m)
    own = jax.lax.dynamic_slice_in_dim(W, start, len(m), 0) + 0.5 * m
    return jax.lax.all_gather(own, "X", tiled=True), m


# %% zero wrong: everybody updates the first rows
def step(W, m, dW):
    piece = jax.lax.psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    m = 0.75 * m + jax.lax.psum(piece, "P")
    own = W[: len(m)] - 0.5 * m
    return jax.lax.all_gather(own, "X", tiled=True), m


# %% zero wrong: the old state
def step(W, m, dW):
    piece = jax.lax.psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    new = 0.75 * m + jax.lax.psum(piece, "P")
    start = jax.lax.axis_index("X") * len(m)
    own = jax.lax.dynamic_slice_in_dim(W, start, len(m), 0) - 0.5 * new
    return jax.lax.all_gather(own, "X", tiled=True), m


# %% zero wrong: a gather made of an AllReduce
def step(W, m, dW):
    piece = jax.lax.psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    m = 0.75 * m + jax.lax.psum(piece, "P")
    start = jax.lax.axis_index("X") * len(m)
    own = jax.lax.dynamic_slice_in_dim(W, start, len(m), 0) - 0.5 * m
    empty = jax.numpy.zeros_like(W)
    filled = jax.lax.dynamic_update_slice_in_dim(empty, own, start, 0)
    return jax.lax.psum(filled, "X"), m


# %% zero right: rows by number, and a gather that is not tiled
def step(W, m, dW):
    X = jax.lax.axis_size("X")
    rows = W.reshape(X, -1, W.shape[1])[jax.lax.axis_index("X")]
    dW = dW.reshape(X, -1, W.shape[1])
    dW = jax.lax.psum_scatter(dW, "X", scatter_dimension=0, tiled=False)
    m = jax.lax.psum(dW, "P") + 0.75 * m
    own = jax.lax.all_gather(rows - 0.5 * m, "X", tiled=False)
    return own.reshape(W.shape), m


# %% zero right: gathers the step instead of the weights
def step(W, m, dW):
    piece = jax.lax.psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    m = 0.75 * m + jax.lax.psum(piece, "P")
    return W - jax.lax.all_gather(0.5 * m, "X", tiled=True), m


# %% leaving wrong: the volume
def leaving(strategy, D, F, P, X, Y, width):
    cut = {"dp": 1, "tp": Y, "fsdp_tp": X * Y}.get(strategy, X)
    if strategy == "everywhere":
        return 2 * D * F * (4 + width) / X
    return 4 * width * D * F / cut


# %% leaving wrong: an AllReduce counted once
def leaving(strategy, D, F, P, X, Y, width):
    if strategy == "everywhere":
        return 2 * D * F * (4 + width) / X * (P - 1) / P
    cut = {"dp": 1, "tp": Y, "fsdp_tp": X * Y}.get(strategy, X)
    return 2 * width * D * F / cut * (P - 1) / P


# %% leaving wrong: the whole gradient, whatever is kept
def leaving(strategy, D, F, P, X, Y, width):
    return 4 * width * D * F * (P - 1) / P


# %% leaving wrong: always cut over both axes
def leaving(strategy, D, F, P, X, Y, width):
    if strategy == "everywhere":
        return 2 * D * F * (4 + width) / X * (P - 1) / P
    return 4 * width * D * F / (X * Y) * (P - 1) / P


# %% leaving wrong: ZeRO-1 has whole gradients
def leaving(strategy, D, F, P, X, Y, width):
    if strategy == "everywhere":
        return 2 * D * F * (4 + width) / X * (P - 1) / P
    cut = {"dp": 1, "zero1": 1, "tp": Y, "fsdp_tp": X * Y}.get(strategy, X)
    return 4 * width * D * F / cut * (P - 1) / P


# %% leaving wrong: FSDP gathers weights from the other pods
def leaving(strategy, D, F, P, X, Y, width):
    cut = {"dp": 1, "tp": Y, "fsdp_tp": X * Y}.get(strategy, X)
    if "fsdp" in strategy or strategy == "everywhere":
        return 2 * D * F * (4 + width) / cut * (P - 1) / P
    return 4 * width * D * F / cut * (P - 1) / P


# %% leaving wrong: always bf16
def leaving(strategy, D, F, P, X, Y, width):
    cut = {"dp": 1, "tp": Y, "fsdp_tp": X * Y}.get(strategy, X)
    half = 6 if strategy == "everywhere" else 4
    return 2 * half * D * F / cut * (P - 1) / P


# %% leaving wrong: always float32
def leaving(strategy, D, F, P, X, Y, width):
    cut = {"dp": 1, "tp": Y, "fsdp_tp": X * Y}.get(strategy, X)
    return 16 * D * F / cut * (P - 1) / P


# %% leaving wrong: rounded down
def leaving(strategy, D, F, P, X, Y, width):
    cut = {"dp": 1, "tp": Y, "fsdp_tp": X * Y}.get(strategy, X)
    if strategy == "everywhere":
        return 2 * D * F * (4 + width) // X * (P - 1) // P
    return 4 * width * D * F // cut * (P - 1) // P


# %% leaving wrong: one part in P leaves
def leaving(strategy, D, F, P, X, Y, width):
    cut = {"dp": 1, "tp": Y, "fsdp_tp": X * Y}.get(strategy, X)
    if strategy == "everywhere":
        return 2 * D * F * (4 + width) / X / P
    return 4 * width * D * F / cut / P


# %% leaving wrong: tensor parallelism cuts over X
def leaving(strategy, D, F, P, X, Y, width):
    if strategy == "everywhere":
        return 2 * D * F * (4 + width) / X * (P - 1) / P
    cut = {"dp": 1, "tp": X, "fsdp_tp": X * Y}.get(strategy, X)
    return 4 * width * D * F / cut * (P - 1) / P


# %% leaving wrong: everywhere is as FSDP
def leaving(strategy, D, F, P, X, Y, width):
    cut = {"dp": 1, "tp": Y, "fsdp_tp": X * Y}.get(strategy, X)
    return 4 * width * D * F / cut * (P - 1) / P


# %% leaving wrong: weights gathered once
def leaving(strategy, D, F, P, X, Y, width):
    cut = {"dp": 1, "tp": Y, "fsdp_tp": X * Y}.get(strategy, X)
    half = (2 + width) if strategy == "everywhere" else 2 * width
    return 2 * half * D * F / cut * (P - 1) / P


# %% leaving wrong: weights as wide as gradients
def leaving(strategy, D, F, P, X, Y, width):
    cut = {"dp": 1, "tp": Y, "fsdp_tp": X * Y}.get(strategy, X)
    half = 3 * width if strategy == "everywhere" else 2 * width
    return 2 * half * D * F / cut * (P - 1) / P


# %% leaving right: by the axes that cut
def leaving(strategy, D, F, P, X, Y, width):
    kept = 2 * width * D * F
    if strategy in ("zero1", "fsdp", "fsdp_tp"):
        kept /= X
    if strategy in ("tp", "fsdp_tp"):
        kept /= Y
    if strategy == "everywhere":
        kept = (kept + 2 * 2 * 2 * D * F) / X / 2
    return sum(kept / P for _ in range(2 * (P - 1)))


# %% leaving right: hop by hop
def leaving(strategy, D, F, P, X, Y, width):
    parts = {"dp": 1, "zero1": X, "fsdp": X, "tp": Y, "fsdp_tp": X * Y}
    if strategy == "everywhere":
        hops = [2, 2, width]
        elements = D * F / X / P
    else:
        hops = [width, width]
        elements = D * F / parts[strategy] / P
    return 2 * elements * sum(hops) * (P - 1)


# %% tokens wrong: every microbatch hides it
def tokens_of_a_pod(flops, port, P, m, width):
    return flops / port * width / 2 * (P - 1) / P


# %% tokens wrong: divided by the microbatches
def tokens_of_a_pod(flops, port, P, m, width):
    return flops / port * width / 2 * (P - 1) / P / m


# %% tokens wrong: many pods
def tokens_of_a_pod(flops, port, P, m, width):
    return m * flops / port * width / 2


# %% tokens wrong: always bf16
def tokens_of_a_pod(flops, port, P, m, width):
    return m * flops / port * (P - 1) / P


# %% tokens wrong: half of an AllReduce
def tokens_of_a_pod(flops, port, P, m, width):
    return m * flops / port * width / 4 * (P - 1) / P


# %% tokens wrong: half of the port for each way
def tokens_of_a_pod(flops, port, P, m, width):
    return m * flops / port * width * (P - 1) / P


# %% tokens wrong: behind forward and backward
def tokens_of_a_pod(flops, port, P, m, width):
    return m * flops / port * width / 3 * (P - 1) / P


# %% tokens wrong: behind everything but the first forward
def tokens_of_a_pod(flops, port, P, m, width):
    return flops / port * width / 2 * (P - 1) / P * (1 + 2 * m) / 3


# %% tokens wrong: of all pods
def tokens_of_a_pod(flops, port, P, m, width):
    return P * m * flops / port * width / 2 * (P - 1) / P


# %% tokens wrong: one part of P
def tokens_of_a_pod(flops, port, P, m, width):
    return m * flops / port * width / 2 / P


# %% tokens wrong: the limit, and nothing else
def tokens_of_a_pod(flops, port, P, m, width):
    return flops / port * width / 2


# %% tokens right: both times of a layer
def tokens_of_a_pod(flops, port, P, m, width):
    N, weights = 8, 10**6
    piece = width * weights / N
    crossing = 2 * piece * (P - 1) / P / port
    backward_of_a_token = 4 * weights / (N * flops)
    return m * crossing / backward_of_a_token


# %% tokens right: in another order
def tokens_of_a_pod(flops, port, P, m, width):
    return flops * m * (P - 1) * width / (2 * P * port)


# %% slow wrong: the first line of each axis
def slow_axes(grid, slice_of):
    slices = np.array(slice_of)[np.array(grid)]
    found = []
    for axis in range(slices.ndim):
        line = np.moveaxis(slices, axis, 0).reshape(slices.shape[axis], -1)
        if len(set(line[:, 0].tolist())) > 1:
            found.append(axis)
    return found


# %% slow wrong: only the ends of a line
def slow_axes(grid, slice_of):
    slices = np.array(slice_of)[np.array(grid)]
    axes = range(slices.ndim)
    return [n for n in axes if (slices.take(0, n) != slices.take(-1, n)).any()]


# %% slow wrong: the fast ones
def slow_axes(grid, slice_of):
    slices = np.array(slice_of)[np.array(grid)]
    axes = range(slices.ndim)
    return [n for n in axes if not np.diff(slices, axis=n).any()]


# %% slow wrong: devices in their order
def slow_axes(grid, slice_of):
    slices = np.array(slice_of).reshape(np.shape(grid))
    axes = range(slices.ndim)
    return [n for n in axes if np.diff(slices, axis=n).any()]


# %% slow wrong: always the first
def slow_axes(grid, slice_of):
    return [0]


# %% slow wrong: the first axis that is slow
def slow_axes(grid, slice_of):
    slices = np.array(slice_of)[np.array(grid)]
    for axis in range(slices.ndim):
        if np.diff(slices, axis=axis).any():
            return [axis]
    return []


# %% slow wrong: counted from one
def slow_axes(grid, slice_of):
    slices = np.array(slice_of)[np.array(grid)]
    axes = range(slices.ndim)
    return [n + 1 for n in axes if np.diff(slices, axis=n).any()]


# %% slow wrong: all lines must leave
def slow_axes(grid, slice_of):
    slices = np.array(slice_of)[np.array(grid)]
    axes = range(slices.ndim)
    return [
        n
        for n in axes
        if slices.shape[n] > 1 and np.diff(slices, axis=n).any(axis=n).all()
    ]


# %% slow wrong: two axes only
def slow_axes(grid, slice_of):
    slices = np.array(slice_of)[np.array(grid)]
    axes = range(min(slices.ndim, 2))
    return [n for n in axes if np.diff(slices, axis=n).any()]


# %% slow wrong: the last line of each axis
def slow_axes(grid, slice_of):
    slices = np.array(slice_of)[np.array(grid)]
    found = []
    for axis in range(slices.ndim):
        line = np.moveaxis(slices, axis, -1)[(-1,) * (slices.ndim - 1)]
        if len(set(line.tolist())) > 1:
            found.append(axis)
    return found


# %% slow right: largest and smallest
def slow_axes(grid, slice_of):
    slices = np.array(slice_of)[np.array(grid)]
    found = []
    for axis in range(slices.ndim):
        if (slices.max(axis) != slices.min(axis)).any():
            found.append(axis)
    return found


# %% slow right: by hand, backwards
def slow_axes(grid, slice_of):
    grid, found = np.array(grid), []
    for axis in reversed(range(grid.ndim)):
        lines = np.moveaxis(grid, axis, -1).reshape(-1, grid.shape[axis])
        if any(len({slice_of[n] for n in line}) > 1 for line in lines):
            found.append(axis)
    return tuple(found)


# %% group wrong: memory only
def smallest_group(params, tokens, nodes):
    each = tokens / (8 * nodes)
    for k in range(1, nodes + 1):
        part = (k - 1) / k / 8
        forward, backward = 2 * part, 2 * part + (1 - k / nodes) / k / 2
        slowest = 0 * max(forward, backward) / 5e10
        fits = 16 * params / (8 * k) + 2 * params / 8 <= 60e9
        if nodes % k == 0 and fits and slowest <= each / 9.9e14:
            return k
    return 0


# %% group wrong: the network only
def smallest_group(params, tokens, nodes):
    each = tokens / (8 * nodes)
    for k in range(1, nodes + 1):
        part = (k - 1) / k / 8
        forward, backward = 2 * part, 2 * part + (1 - k / nodes) / k / 2
        slowest = max(forward / 2, backward / 4) / 5e10
        fits = True
        if nodes % k == 0 and fits and slowest <= each / 9.9e14:
            return k
    return 0


# %% group wrong: each port carries all
def smallest_group(params, tokens, nodes):
    each = tokens / (8 * nodes)
    for k in range(1, nodes + 1):
        part = (k - 1) / k / 8
        forward, backward = 16 * part, 16 * part + (1 - k / nodes) / k / 2
        slowest = max(forward / 2, backward / 4) / 5e10
        fits = 16 * params / (8 * k) + 2 * params / 8 <= 60e9
        if nodes % k == 0 and fits and slowest <= each / 9.9e14:
            return k
    return 0


# %% group wrong: gradients in float32
def smallest_group(params, tokens, nodes):
    each = tokens / (8 * nodes)
    for k in range(1, nodes + 1):
        part = (k - 1) / k / 8
        forward, backward = 2 * part, 4 * part + (1 - k / nodes) / k
        slowest = max(forward / 2, backward / 4) / 5e10
        fits = 16 * params / (8 * k) + 2 * params / 8 <= 60e9
        if nodes % k == 0 and fits and slowest <= each / 9.9e14:
            return k
    return 0


# %% group wrong: no sum between groups
def smallest_group(params, tokens, nodes):
    each = tokens / (8 * nodes)
    for k in range(1, nodes + 1):
        part = (k - 1) / k / 8
        forward, backward = 2 * part, 2 * part
        slowest = max(forward / 2, backward / 4) / 5e10
        fits = 16 * params / (8 * k) + 2 * params / 8 <= 60e9
        if nodes % k == 0 and fits and slowest <= each / 9.9e14:
            return k
    return 0


# %% group wrong: a ring sends its array once
def smallest_group(params, tokens, nodes):
    each = tokens / (8 * nodes)
    for k in range(1, nodes + 1):
        part = (k - 1) / k / 8
        forward, backward = 2 * part, 2 * part + (1 - k / nodes) / k / 4
        slowest = max(forward / 2, backward / 4) / 5e10
        fits = 16 * params / (8 * k) + 2 * params / 8 <= 60e9
        if nodes % k == 0 and fits and slowest <= each / 9.9e14:
            return k
    return 0


# %% group wrong: whole gradients cross between groups
def smallest_group(params, tokens, nodes):
    each = tokens / (8 * nodes)
    for k in range(1, nodes + 1):
        part = (k - 1) / k / 8
        forward, backward = 2 * part, 2 * part + (1 - k / nodes) / 2
        slowest = max(forward / 2, backward / 4) / 5e10
        fits = 16 * params / (8 * k) + 2 * params / 8 <= 60e9
        if nodes % k == 0 and fits and slowest <= each / 9.9e14:
            return k
    return 0


# %% group wrong: no gather
def smallest_group(params, tokens, nodes):
    each = tokens / (8 * nodes)
    for k in range(1, nodes + 1):
        part = (k - 1) / k / 8
        forward, backward = 0 * part, 2 * part + (1 - k / nodes) / k / 2
        slowest = max(forward / 2, backward / 4) / 5e10
        fits = 16 * params / (8 * k) + 2 * params / 8 <= 60e9
        if nodes % k == 0 and fits and slowest <= each / 9.9e14:
            return k
    return 0


# %% group wrong: weights gathered again, the chapter's HSDP
def smallest_group(params, tokens, nodes):
    each = tokens / (8 * nodes)
    for k in range(1, nodes + 1):
        part = (k - 1) / k / 8
        forward, backward = 2 * part, 4 * part + (1 - k / nodes) / k / 2
        slowest = max(forward / 2, backward / 4) / 5e10
        fits = 16 * params / (8 * k) + 2 * params / 8 <= 60e9
        if nodes % k == 0 and fits and slowest <= each / 9.9e14:
            return k
    return 0


# %% group wrong: forward only
def smallest_group(params, tokens, nodes):
    each = tokens / (8 * nodes)
    for k in range(1, nodes + 1):
        part = (k - 1) / k / 8
        forward, backward = 2 * part, 2 * part + (1 - k / nodes) / k / 2
        slowest = forward / 2 / 5e10
        fits = 16 * params / (8 * k) + 2 * params / 8 <= 60e9
        if nodes % k == 0 and fits and slowest <= each / 9.9e14:
            return k
    return 0


# %% group wrong: backward only
def smallest_group(params, tokens, nodes):
    each = tokens / (8 * nodes)
    for k in range(1, nodes + 1):
        part = (k - 1) / k / 8
        forward, backward = 2 * part, 2 * part + (1 - k / nodes) / k / 2
        slowest = backward / 4 / 5e10
        fits = 16 * params / (8 * k) + 2 * params / 8 <= 60e9
        if nodes % k == 0 and fits and slowest <= each / 9.9e14:
            return k
    return 0


# %% group wrong: both passes together
def smallest_group(params, tokens, nodes):
    each = tokens / (8 * nodes)
    for k in range(1, nodes + 1):
        part = (k - 1) / k / 8
        forward, backward = 2 * part, 2 * part + (1 - k / nodes) / k / 2
        slowest = (forward + backward) / 6 / 5e10
        fits = 16 * params / (8 * k) + 2 * params / 8 <= 60e9
        if nodes % k == 0 and fits and slowest <= each / 9.9e14:
            return k
    return 0


# %% group wrong: many groups
def smallest_group(params, tokens, nodes):
    each = tokens / (8 * nodes)
    for k in range(1, nodes + 1):
        part = (k - 1) / k / 8
        forward, backward = 2 * part, 2 * part + 1 / k / 2
        slowest = max(forward / 2, backward / 4) / 5e10
        fits = 16 * params / (8 * k) + 2 * params / 8 <= 60e9
        if nodes % k == 0 and fits and slowest <= each / 9.9e14:
            return k
    return 0


# %% group wrong: any number of nodes
def smallest_group(params, tokens, nodes):
    each = tokens / (8 * nodes)
    for k in range(1, nodes + 1):
        part = (k - 1) / k / 8
        forward, backward = 2 * part, 2 * part + (1 - k / nodes) / k / 2
        slowest = max(forward / 2, backward / 4) / 5e10
        fits = 16 * params / (8 * k) + 2 * params / 8 <= 60e9
        if fits and slowest <= each / 9.9e14:
            return k
    return 0


# %% group wrong: all of the memory
def smallest_group(params, tokens, nodes):
    each = tokens / (8 * nodes)
    for k in range(1, nodes + 1):
        part = (k - 1) / k / 8
        forward, backward = 2 * part, 2 * part + (1 - k / nodes) / k / 2
        slowest = max(forward / 2, backward / 4) / 5e10
        fits = 16 * params / (8 * k) + 2 * params / 8 <= 80e9
        if nodes % k == 0 and fits and slowest <= each / 9.9e14:
            return k
    return 0


# %% group wrong: states cut over nodes
def smallest_group(params, tokens, nodes):
    each = tokens / (8 * nodes)
    for k in range(1, nodes + 1):
        part = (k - 1) / k / 8
        forward, backward = 2 * part, 2 * part + (1 - k / nodes) / k / 2
        slowest = max(forward / 2, backward / 4) / 5e10
        fits = 16 * params / k + 2 * params / 8 <= 60e9
        if nodes % k == 0 and fits and slowest <= each / 9.9e14:
            return k
    return 0


# %% group wrong: the weights that a node keeps are forgotten
def smallest_group(params, tokens, nodes):
    each = tokens / (8 * nodes)
    for k in range(1, nodes + 1):
        part = (k - 1) / k / 8
        forward, backward = 2 * part, 2 * part + (1 - k / nodes) / k / 2
        slowest = max(forward / 2, backward / 4) / 5e10
        fits = 16 * params / (8 * k) <= 60e9
        if nodes % k == 0 and fits and slowest <= each / 9.9e14:
            return k
    return 0


# %% group wrong: the weights that it keeps are cut over the group
def smallest_group(params, tokens, nodes):
    each = tokens / (8 * nodes)
    for k in range(1, nodes + 1):
        part = (k - 1) / k / 8
        forward, backward = 2 * part, 2 * part + (1 - k / nodes) / k / 2
        slowest = max(forward / 2, backward / 4) / 5e10
        fits = 18 * params / (8 * k) <= 60e9
        if nodes % k == 0 and fits and slowest <= each / 9.9e14:
            return k
    return 0


# %% group wrong: every GPU keeps all weights
def smallest_group(params, tokens, nodes):
    each = tokens / (8 * nodes)
    for k in range(1, nodes + 1):
        part = (k - 1) / k / 8
        forward, backward = 2 * part, 2 * part + (1 - k / nodes) / k / 2
        slowest = max(forward / 2, backward / 4) / 5e10
        fits = 16 * params / (8 * k) + 2 * params <= 60e9
        if nodes % k == 0 and fits and slowest <= each / 9.9e14:
            return k
    return 0


# %% group wrong: room must be left
def smallest_group(params, tokens, nodes):
    each = tokens / (8 * nodes)
    for k in range(1, nodes + 1):
        part = (k - 1) / k / 8
        forward, backward = 2 * part, 2 * part + (1 - k / nodes) / k / 2
        slowest = max(forward / 2, backward / 4) / 5e10
        fits = 16 * params / (8 * k) + 2 * params / 8 < 60e9
        if nodes % k == 0 and fits and slowest <= each / 9.9e14:
            return k
    return 0


# %% group wrong: GPUs for nodes
def smallest_group(params, tokens, nodes):
    each = tokens / (8 * nodes)
    for k in range(1, nodes + 1):
        part = (k - 1) / k / 8
        forward, backward = 2 * part, 2 * part + (1 - k / nodes) / k / 2
        slowest = max(forward / 2, backward / 4) / 5e10
        fits = 16 * params / (8 * k) + 2 * params / 8 <= 60e9
        if nodes % k == 0 and fits and slowest <= each / 9.9e14:
            return 8 * k
    return 0


# %% group wrong: gives up at the first that fits
def smallest_group(params, tokens, nodes):
    each = tokens / (8 * nodes)
    for k in range(1, nodes + 1):
        if nodes % k == 0 and params * (2 / k + 1 / 4) <= 60e9:
            part = (k - 1) / k / 8
            backward = 2 * part + (1 - k / nodes) / k / 2
            slowest = max(part, backward / 4) / 5e10
            return k if slowest <= each / 9.9e14 else 0
    return 0


# %% group wrong: the largest
def smallest_group(params, tokens, nodes):
    each, found = tokens / (8 * nodes), 0
    for k in range(1, nodes + 1):
        part = (k - 1) / k / 8
        backward = 2 * part + (1 - k / nodes) / k / 2
        slowest = max(part, backward / 4) / 5e10
        fits = params * (2 / k + 1 / 4) <= 60e9
        if nodes % k == 0 and fits and slowest <= each / 9.9e14:
            found = k
    return found


# %% group right: in seconds
def smallest_group(params, tokens, nodes):
    psi, ports, chips = params, 8 * 5e10, 8 * nodes
    found = []
    for k in (k for k in range(1, nodes + 1) if nodes % k == 0):
        gather = scatter = 2 * psi * (1 - 1 / k) / ports
        between = 2 * (2 * psi / (8 * k)) * (1 - k / nodes) / 5e10
        forward = 2 * psi * tokens / (chips * 9.9e14)
        room = 16 * psi / (8 * k) + 2 * psi / 8 <= 60e9
        hides = gather <= forward and scatter + between <= 2 * forward
        if room and hides:
            found.append(k)
    return min(found, default=0)


# %% group right: all groups at once
def smallest_group(params, tokens, nodes):
    k = np.arange(1, nodes + 1)
    k = k[(nodes % k == 0) & (params / 4 * (8 / k + 1) <= 60e9)]
    forward, backward = (1 - 1 / k) / 4, 1 / 4 + (1 / 2 - 1 / 4) / k
    backward = backward - 1 / (2 * nodes)
    bytes_of_a_flop = np.maximum(forward / 2, backward / 4)
    hides = bytes_of_a_flop / 5e10 <= tokens / (8 * nodes * 9.9e14)
    return int(k[hides].min(initial=nodes + 1)) % (nodes + 1)


# %% rounds wrong: a share of the computing
def fewest_steps(params, tokens, sites, flops, line, share):
    talk = 2 * 4 * params * (sites - 1) / sites / line
    step = 6 * params * tokens / flops
    return max(1, int(np.ceil(talk / (share * step))))


# %% rounds wrong: rounded down
def fewest_steps(params, tokens, sites, flops, line, share):
    talk = 2 * 4 * params * (sites - 1) / sites / line
    step = 6 * params * tokens / flops
    return max(1, int(np.floor(talk * (1 - share) / (share * step))))


# %% rounds wrong: one more to be safe
def fewest_steps(params, tokens, sites, flops, line, share):
    talk = 2 * 4 * params * (sites - 1) / sites / line
    step = 6 * params * tokens / flops
    return max(1, 1 + int(np.ceil(talk * (1 - share) / (share * step))))


# %% rounds wrong: bf16
def fewest_steps(params, tokens, sites, flops, line, share):
    talk = 2 * 2 * params * (sites - 1) / sites / line
    step = 6 * params * tokens / flops
    return max(1, int(np.ceil(talk * (1 - share) / (share * step))))


# %% rounds wrong: one half of an AllReduce
def fewest_steps(params, tokens, sites, flops, line, share):
    talk = 4 * params * (sites - 1) / sites / line
    step = 6 * params * tokens / flops
    return max(1, int(np.ceil(talk * (1 - share) / (share * step))))


# %% rounds wrong: many sites
def fewest_steps(params, tokens, sites, flops, line, share):
    talk = 2 * 4 * params / line
    step = 6 * params * tokens / flops
    return max(1, int(np.ceil(talk * (1 - share) / (share * step))))


# %% rounds wrong: weights sent once
def fewest_steps(params, tokens, sites, flops, line, share):
    talk = 4 * params / line
    step = 6 * params * tokens / flops
    return max(1, int(np.ceil(talk * (1 - share) / (share * step))))


# %% rounds wrong: forward only
def fewest_steps(params, tokens, sites, flops, line, share):
    talk = 2 * 4 * params * (sites - 1) / sites / line
    step = 2 * params * tokens / flops
    return max(1, int(np.ceil(talk * (1 - share) / (share * step))))


# %% rounds wrong: each site has all the FLOP/s
def fewest_steps(params, tokens, sites, flops, line, share):
    talk = 2 * 4 * params * (sites - 1) / sites / line
    step = 6 * params * tokens / (sites * flops)
    return max(1, int(np.ceil(talk * (1 - share) / (share * step))))


# %% rounds wrong: each site has all the tokens
def fewest_steps(params, tokens, sites, flops, line, share):
    talk = 2 * 4 * params * (sites - 1) / sites / line
    step = 6 * params * tokens * sites / flops
    return max(1, int(np.ceil(talk * (1 - share) / (share * step))))


# %% rounds wrong: to every other site
def fewest_steps(params, tokens, sites, flops, line, share):
    talk = 4 * params * (sites - 1) / line
    step = 6 * params * tokens / flops
    return max(1, int(np.ceil(talk * (1 - share) / (share * step))))


# %% rounds right: without the parameters
def fewest_steps(params, tokens, sites, flops, line, share):
    seldom = 8 * (1 - 1 / sites) / line * flops / (6 * tokens)
    return max(1, -int(-seldom * (1 / share - 1) // 1))


# %% rounds right: one step after the other
def fewest_steps(params, tokens, sites, flops, line, share):
    talk = 8 * params * (sites - 1) / (sites * line)
    step, H = 6 * params * tokens / flops, 1
    while talk > share * (talk + H * step):
        H += 1
    return float(H)


# %% most wrong: forgets the chips
def best_offer(sequences, S, offers):
    best, most = ["none", 0], 0.0
    for name, (chips, flops, per_unit, per_chip, units) in offers.items():
        for n in range(1, units + 1):
            tokens = sequences // n * S
            fed = tokens >= per_unit
            if sequences % n == 0 and fed and n * chips * flops > most:
                best, most = [name, n], n * chips * flops
    return best


# %% most wrong: forgets DCN
def best_offer(sequences, S, offers):
    best, most = ["none", 0], 0.0
    for name, (chips, flops, per_unit, per_chip, units) in offers.items():
        for n in range(1, units + 1):
            tokens = sequences // n * S
            fed = tokens >= chips * per_chip
            if sequences % n == 0 and fed and n * chips * flops > most:
                best, most = [name, n], n * chips * flops
    return best


# %% most wrong: leaves some over
def best_offer(sequences, S, offers):
    best, most = ["none", 0], 0.0
    for name, (chips, flops, per_unit, per_chip, units) in offers.items():
        for n in range(1, units + 1):
            tokens = sequences // n * S
            fed = tokens >= max(per_unit, chips * per_chip)
            if n <= sequences and fed and n * chips * flops > most:
                best, most = [name, n], n * chips * flops
    return best


# %% most wrong: more units than there are
def best_offer(sequences, S, offers):
    best, most = ["none", 0], 0.0
    for name, (chips, flops, per_unit, per_chip, units) in offers.items():
        for n in range(1, sequences + 1):
            tokens = sequences // n * S
            fed = tokens >= max(per_unit, chips * per_chip)
            if sequences % n == 0 and fed and n * chips * flops > most:
                best, most = [name, n], n * chips * flops
    return best


# %% most wrong: the most chips
def best_offer(sequences, S, offers):
    best, most = ["none", 0], 0.0
    for name, (chips, flops, per_unit, per_chip, units) in offers.items():
        for n in range(1, units + 1):
            tokens = sequences // n * S
            fed = tokens >= max(per_unit, chips * per_chip)
            if sequences % n == 0 and fed and n * chips > most:
                best, most = [name, n], n * chips
    return best


# %% most wrong: the most units
def best_offer(sequences, S, offers):
    best, most = ["none", 0], 0.0
    for name, (chips, flops, per_unit, per_chip, units) in offers.items():
        for n in range(1, units + 1):
            tokens = sequences // n * S
            fed = tokens >= max(per_unit, chips * per_chip)
            if sequences % n == 0 and fed and n > most:
                best, most = [name, n], n
    return best


# %% most wrong: the fastest unit
def best_offer(sequences, S, offers):
    best, most = ["none", 0], 0.0
    for name, (chips, flops, per_unit, per_chip, units) in offers.items():
        for n in range(1, units + 1):
            tokens = sequences // n * S
            fed = tokens >= max(per_unit, chips * per_chip)
            if sequences % n == 0 and fed and chips * flops > most:
                best, most = [name, n], chips * flops
    return best


# %% most wrong: more than enough is asked
def best_offer(sequences, S, offers):
    best, most = ["none", 0], 0.0
    for name, (chips, flops, per_unit, per_chip, units) in offers.items():
        for n in range(1, units + 1):
            tokens = sequences // n * S
            fed = tokens > per_unit and tokens >= chips * per_chip
            if sequences % n == 0 and fed and n * chips * flops > most:
                best, most = [name, n], n * chips * flops
    return best


# %% most wrong: tokens of a chip rounded down
def best_offer(sequences, S, offers):
    best, most = ["none", 0], 0.0
    for name, (chips, flops, per_unit, per_chip, units) in offers.items():
        for n in range(1, units + 1):
            tokens = sequences // n * S
            fed = tokens >= per_unit and tokens // chips >= per_chip
            if sequences % n == 0 and fed and n * chips * flops > most:
                best, most = [name, n], n * chips * flops
    return best


# %% most wrong: both demands added
def best_offer(sequences, S, offers):
    best, most = ["none", 0], 0.0
    for name, (chips, flops, per_unit, per_chip, units) in offers.items():
        for n in range(1, units + 1):
            tokens = sequences // n * S
            fed = tokens >= per_unit + chips * per_chip
            if sequences % n == 0 and fed and n * chips * flops > most:
                best, most = [name, n], n * chips * flops
    return best


# %% most wrong: one unit always works
def best_offer(sequences, S, offers):
    best, most = [next(iter(offers)), 1], 0.0
    for name, (chips, flops, per_unit, per_chip, units) in offers.items():
        for n in range(1, units + 1):
            tokens = sequences // n * S
            fed = tokens >= max(per_unit, chips * per_chip)
            if sequences % n == 0 and fed and n * chips * flops > most:
                best, most = [name, n], n * chips * flops
    return best


# %% most wrong: all that are for hire, or none
def best_offer(sequences, S, offers):
    best, most = ["none", 0], 0.0
    for name, (chips, flops, per_unit, per_chip, units) in offers.items():
        for n in [units]:
            tokens = sequences // n * S
            fed = tokens >= max(per_unit, chips * per_chip)
            if sequences % n == 0 and fed and n * chips * flops > most:
                best, most = [name, n], n * chips * flops
    return best


# %% most wrong: sequences need not be whole
def best_offer(sequences, S, offers):
    found = {}
    for name, (chips, flops, per_unit, per_chip, units) in offers.items():
        n = min(units, int(sequences * S // max(per_unit, chips * per_chip)))
        found[name] = n, n * chips * flops
    best = max(found, key=lambda name: found[name][1])
    return [best, found[best][0]]


# %% most right: by the sequences of a unit
def best_offer(sequences, S, offers):
    found = [(0, "none", 0)]
    for name, (chips, flops, per_unit, per_chip, units) in offers.items():
        need = -(-max(per_unit, chips * per_chip) // S)  # sequences
        shares = [k for k in range(1, sequences + 1) if sequences % k == 0]
        fit = [k for k in shares if k >= need and sequences // k <= units]
        if fit:
            n = sequences // fit[0]
            found.append((n * chips * flops, name, n))
    return list(max(found)[1:])


# %% most right: all candidates in one list, as a tuple
def best_offer(sequences, S, offers):
    fed = [
        (n * chips * flops, name, n)
        for name, (chips, flops, each, own, units) in offers.items()
        for n in range(min(units, sequences), 0, -1)
        if sequences % n == 0 and sequences * S / n >= max(each, own * chips)
    ]
    return max(fed)[1:] if fed else ("none", 0)


# %% finished wrong: one after the other
def finished(math, inside, across):
    return sum(math) + sum(inside) + sum(across)


# %% finished wrong: the longest of the three
def finished(math, inside, across):
    return max(sum(math), sum(inside), sum(across))


# %% finished wrong: only the last sum is seen
def finished(math, inside, across):
    return sum(math) + inside[-1] + across[-1]


# %% finished wrong: DCN never waits
def finished(math, inside, across):
    return math[0] + inside[0] + sum(across)


# %% finished wrong: no scatter
def finished(math, inside, across):
    made = summed = 0
    for work, total in zip(math, across):
        made += work
        summed = max(made, summed) + total
    return summed


# %% finished wrong: one network for both
def finished(math, inside, across):
    made = summed = 0
    for work, scatter, total in zip(math, inside, across):
        made += work
        summed = max(made, summed) + scatter + total
    return summed


# %% finished wrong: scatters side by side
def finished(math, inside, across):
    made = summed = 0
    for work, scatter, total in zip(math, inside, across):
        made += work
        summed = max(made + scatter, summed) + total
    return summed


# %% finished wrong: in step
def finished(math, inside, across):
    return sum(max(layer) for layer in zip(math, inside, across))


# %% finished wrong: scatters at the end
def finished(math, inside, across):
    made = summed = 0
    for work, total in zip(math, across):
        made += work
        summed = max(made, summed) + total
    return summed + sum(inside)


# %% finished right: the longest path
def finished(math, inside, across):
    layers = range(len(math))
    return max(
        sum(math[: i + 1]) + sum(inside[i : j + 1]) + sum(across[j:])
        for i in layers
        for j in layers[i:]
    )


# %% finished right: from the back
def finished(math, inside, across):
    left = later = crossing = 0.0
    for work, scatter, total in zip(math[::-1], inside[::-1], across[::-1]):
        crossing += total
        later = scatter + max(later, crossing)
        left = work + max(left, later)
    return left


# %% finished equivalent: line 7: `max(made, cut)` with its arguments reversed
# The later of two moments is the later in any order.

# %% finished equivalent: line 8: `max(cut, summed)` with its arguments reversed
# The later of two moments is the later in any order.

# %% rounds equivalent: line 6: `max(1, int(np.ceil(talk * (1 - share) / (share * step))))` with its arguments reversed
# The larger of two numbers is the larger in any order.

# %% most equivalent: line 4: 0.0 becomes 1.0
# Whatever is hired makes more than a FLOP a second.

# %% most equivalent: line 10: `n * chips * flops > fastest` with GtE
# Two kinds that are equally fast are not among the cases.


# %% tokens wrong: whole tokens
def tokens_of_a_pod(flops, port, P, m, width):
    return int(np.ceil(m * flops / port * width / 2 * (P - 1) / P))


# %% tokens wrong: whole tokens of a microbatch
def tokens_of_a_pod(flops, port, P, m, width):
    return m * int(np.ceil(flops / port * width / 2 * (P - 1) / P))


# %% most wrong: the first kind that will do
def best_offer(sequences, S, offers):
    for name, (chips, _, per_unit, per_chip, units) in offers.items():
        for n in range(units, 0, -1):
            tokens = sequences // n * S
            fed = tokens >= per_unit and tokens >= chips * per_chip
            if sequences % n == 0 and fed:
                return [name, n]
    return ["none", 0]


# %% finished wrong: as if all layers were alike
def finished(math, inside, across):
    slowest = list(map(max, math, inside, across))
    return math[0] + inside[0] + across[0] + sum(slowest[1:])


# %% finished wrong: the chip waits
def finished(math, inside, across):
    return sum(math) + sum(map(max, inside, across))


# %% finished wrong: a DCN that is always free
def finished(math, inside, across):
    made = cut = 0
    for work, scatter in zip(math, inside):
        made += work
        cut = max(made, cut) + scatter
    return cut + across[-1]


# %% finished wrong: everything is made first
def finished(math, inside, across):
    cut = summed = sum(math)
    for scatter, total in zip(inside, across):
        cut += scatter
        summed = max(cut, summed) + total
    return summed


# %% finished wrong: everything is scattered first
def finished(math, inside, across):
    made = cut = 0
    for work, scatter in zip(math, inside):
        made += work
        cut = max(made, cut) + scatter
    return cut + sum(across)


# %% group equivalent: line 4: 990000000000000.0 becomes 990000000000001.0
# It decides for no whole number of tokens that a cluster would have.


# %% group equivalent: line 4: 50000000000.0 becomes 50000000001.0
# It decides for no whole number of tokens that a cluster would have.


# %% group equivalent: line 5: 1 becomes 2 (2)
# More nodes than there are never divide them.


# %% group equivalent: line 11: `max(gather / 2, reduce / 4) < second` with LtE
# At a tie floats may fall on either side.


# %% group equivalent: line 11: `max(gather / 2, reduce / 4)` with its arguments reversed
# The larger of two is the same in either order.


# %% columns wrong: divides each mean by its own tokens
def gradient_columns(dW, tokens):
    piece = jax.lax.psum_scatter(
        dW / tokens, "X", scatter_dimension=1, tiled=True
    )
    return jax.lax.psum(piece, "P")


# %% columns wrong: divides the sum by the tokens of one chip
def gradient_columns(dW, tokens):
    piece = jax.lax.psum_scatter(
        dW * tokens, "X", scatter_dimension=1, tiled=True
    )
    return jax.lax.psum(piece, "P") / tokens


# %% columns wrong: divides by the tokens of one pod
def gradient_columns(dW, tokens):
    piece = jax.lax.psum_scatter(
        dW * tokens, "X", scatter_dimension=1, tiled=True
    )
    return jax.lax.psum(piece, "P") / jax.lax.psum(tokens, "X")


# %% most wrong: each chip needs the tokens that a unit needs outside
def best_offer(sequences, S, offers):
    best, fastest = ["none", 0], 0.0
    for name, (chips, flops, per_unit, per_chip, units) in offers.items():
        for n in range(1, units + 1):
            each = sequences // n * S / chips
            fed = each >= per_unit and each >= per_chip
            if sequences % n == 0 and fed and n * chips * flops > fastest:
                best, fastest = [name, n], n * chips * flops
    return best


# %% most wrong: each chip gets a whole sequence
def best_offer(sequences, S, offers):
    best, fastest = ["none", 0], 0.0
    for name, (chips, flops, per_unit, per_chip, units) in offers.items():
        for n in range(1, units + 1):
            tokens = sequences // n * S
            fed = tokens >= per_unit and tokens >= chips * max(per_chip, S)
            if sequences % n == 0 and fed and n * chips * flops > fastest:
                best, fastest = [name, n], n * chips * flops
    return best


# %% most wrong: a unit needs the tokens that one chip needs inside
def best_offer(sequences, S, offers):
    best, fastest = ["none", 0], 0.0
    for name, (chips, flops, per_unit, per_chip, units) in offers.items():
        for n in range(1, units + 1):
            fed = sequences // n * S >= max(per_unit, per_chip)
            if sequences % n == 0 and fed and n * chips * flops > fastest:
                best, fastest = [name, n], n * chips * flops
    return best
