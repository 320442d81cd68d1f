# Answers that the checks of exercise set 10 must reject or accept.
#
# A cell is titled with the answer cell's grade_id, then `wrong: ` with the
# mistake or `right: ` with what is different. Run by tests/exercises.

# %% ports wrong: both wires of a chip at the border leave
ring_port = 2 * V * (P * X - 1) / (P * X)
cut_port = 2 * V * (P - 1) / (P * X)
gain = (P * X - 1) / (P - 1)

# %% ports wrong: the limits of many
ring_port = V
cut_port = 2 * V / X
gain = X / 2

# %% ports wrong: all of the gradient crosses
ring_port = V * (P * X - 1) / (P * X)
cut_port = 2 * V * (P - 1) / P
gain = (P * X - 1) / (2 * X * (P - 1))

# %% ports wrong: one wire leaves in the ring of partners, too
ring_port = V * (P * X - 1) / (P * X)
cut_port = V * (P - 1) / (P * X)
gain = (P * X - 1) / (P - 1)

# %% ports wrong: a ring of pods
ring_port = V * (P - 1) / P
cut_port = 2 * V * (P - 1) / (P * X)
gain = X / 2

# %% ports wrong: the ratio of the volumes
ring_port = V * (P * X - 1) / (P * X)
cut_port = 2 * V * (P - 1) / (P * X)
gain = X

# %% ports right: as differences
ring_port = V - V / (P * X)
cut_port = 2 * V / X - 2 * V / (P * X)
gain = (P / (P - 1) - 1 / (X * (P - 1))) * X / 2

# %% ports right: by the number of chips
chips = P * X
ring_port = V / chips * (chips - 1)
cut_port = 2 * V / chips * (P - 1)
gain = (chips - 1) / 2 / (P - 1)


# %% piece wrong: one flat AllReduce, then its rows
def gradient_piece(dW):
    mean = jax.lax.pmean(dW, ("P", "X"))
    rows = len(dW) // jax.lax.axis_size("X")
    start = rows * jax.lax.axis_index("X")
    return jax.lax.dynamic_slice_in_dim(mean, start, rows, 0)


# %% piece wrong: forgets the mean
def gradient_piece(dW):
    piece = jax.lax.psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    return jax.lax.psum(piece, "P")


# %% piece wrong: forgets the sum over pods
def gradient_piece(dW):
    piece = jax.lax.psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    return piece / jax.lax.axis_size("X")


# %% piece wrong: forgets the sum over pods, and takes the first pod's
def gradient_piece(dW):
    first = (jax.lax.axis_index("P") == 0) * dW
    piece = jax.lax.psum_scatter(first, "X", scatter_dimension=0, tiled=True)
    return jax.lax.psum(piece, "P") / jax.lax.axis_size("X")


# %% piece wrong: the mean inside, the sum across
def gradient_piece(dW):
    piece = jax.lax.psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    return jax.lax.psum(piece / jax.lax.axis_size("X"), "P")


# %% piece wrong: the sum inside, the mean across
def gradient_piece(dW):
    piece = jax.lax.psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    return jax.lax.pmean(piece, "P")


# %% piece wrong: crosses before it is cut
def gradient_piece(dW):
    mean = jax.lax.pmean(dW, "P")
    piece = jax.lax.psum_scatter(mean, "X", scatter_dimension=0, tiled=True)
    return piece / jax.lax.axis_size("X")


# %% piece wrong: an AllReduce inside, too
def gradient_piece(dW):
    mean = jax.lax.pmean(dW, "X")
    rows = len(dW) // jax.lax.axis_size("X")
    start = rows * jax.lax.axis_index("X")
    piece = jax.lax.dynamic_slice_in_dim(mean, start, rows, 0)
    return jax.lax.pmean(piece, "P")


# %% piece wrong: gathers at the end
def gradient_piece(dW):
    piece = jax.lax.psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    piece = jax.lax.pmean(piece, "P") / jax.lax.axis_size("X")
    return jax.lax.all_gather(piece, "X", tiled=True)


# %% piece wrong: columns instead of rows
def gradient_piece(dW):
    X = jax.lax.axis_size("X")
    wide = jax.numpy.pad(dW, ((0, 0), (0, -dW.shape[1] % X)))
    piece = jax.lax.psum_scatter(wide, "X", scatter_dimension=1, tiled=True)
    return jax.lax.pmean(piece, "P") / X


# %% piece wrong: the mean of a mean, divided twice
def gradient_piece(dW):
    piece = jax.lax.psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    P, X = jax.lax.axis_size("P"), jax.lax.axis_size("X")
    return jax.lax.psum(piece / (P * X), "P") / (P * X)


# %% piece wrong: divides by eight on every mesh
def gradient_piece(dW):
    piece = jax.lax.psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    return jax.lax.psum(piece, "P") / 8


# %% piece wrong: an AllReduce inside, and the pod's mean by hand
def gradient_piece(dW):
    X = jax.lax.axis_size("X")
    total = jax.lax.psum(dW, "X").reshape(X, -1, dW.shape[1])
    return jax.lax.pmean(total[jax.lax.axis_index("X")] / X, "P")


# %% piece right: divides first
def gradient_piece(dW):
    dW = dW / jax.lax.axis_size(("P", "X"))
    dW = jax.lax.psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    return jax.lax.psum(dW, "P")


# %% piece right: chips counted by a sum of ones
def gradient_piece(dW):
    chips = jax.lax.psum(1, ("P", "X"))
    piece = jax.lax.psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    return jax.lax.psum(piece, "P") / chips


# %% piece right: two means, and pieces by number
def gradient_piece(dW):
    X = jax.lax.axis_size("X")
    pieces = dW.reshape(X, len(dW) // X, dW.shape[1])
    piece = jax.lax.psum_scatter(pieces, "X", scatter_dimension=0, tiled=False)
    return jax.lax.pmean(piece / X, "P")


# %% piece right: half of the rows after the other
def gradient_piece(dW):
    X = jax.lax.axis_size("X")
    pieces = dW.reshape(X, len(dW) // X, dW.shape[1])
    cut = pieces.shape[1] // 2
    halves = [pieces[:, :cut], pieces[:, cut:]]
    sums = [
        jax.lax.psum(
            jax.lax.psum_scatter(half, "X", scatter_dimension=0, tiled=False),
            "P",
        )
        for half in halves
    ]
    return jax.numpy.concatenate(sums) / jax.lax.axis_size(("P", "X"))


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
def leaving(strategy, D, F, P, X, Y):
    cut = {"dp": 1, "tp": Y, "fsdp_tp": X * Y}.get(strategy, X)
    return 8 * D * F / cut


# %% leaving wrong: an AllReduce counted once
def leaving(strategy, D, F, P, X, Y):
    cut = {"dp": 1, "tp": Y, "fsdp_tp": X * Y}.get(strategy, X)
    return 4 * D * F / cut * (P - 1) / P


# %% leaving wrong: the whole gradient, whatever is kept
def leaving(strategy, D, F, P, X, Y):
    return 8 * D * F * (P - 1) / P


# %% leaving wrong: always cut over both axes
def leaving(strategy, D, F, P, X, Y):
    return 8 * D * F / (X * Y) * (P - 1) / P


# %% leaving wrong: ZeRO-1 has whole gradients
def leaving(strategy, D, F, P, X, Y):
    cut = {"dp": 1, "zero1": 1, "tp": Y, "fsdp_tp": X * Y}.get(strategy, X)
    return 8 * D * F / cut * (P - 1) / P


# %% leaving wrong: FSDP gathers weights from the other pods
def leaving(strategy, D, F, P, X, Y):
    cut = {"dp": 1, "tp": Y, "fsdp_tp": X * Y}.get(strategy, X)
    moved = 12 if "fsdp" in strategy else 8
    return moved * D * F / cut * (P - 1) / P


# %% leaving wrong: float32
def leaving(strategy, D, F, P, X, Y):
    cut = {"dp": 1, "tp": Y, "fsdp_tp": X * Y}.get(strategy, X)
    return 16 * D * F / cut * (P - 1) / P


# %% leaving wrong: rounded down
def leaving(strategy, D, F, P, X, Y):
    cut = {"dp": 1, "tp": Y, "fsdp_tp": X * Y}.get(strategy, X)
    return 8 * D * F // cut * (P - 1) // P


# %% leaving wrong: one part in P leaves
def leaving(strategy, D, F, P, X, Y):
    cut = {"dp": 1, "tp": Y, "fsdp_tp": X * Y}.get(strategy, X)
    return 8 * D * F / cut / P


# %% leaving wrong: tensor parallelism cuts over X
def leaving(strategy, D, F, P, X, Y):
    cut = {"dp": 1, "tp": X, "fsdp_tp": X * Y}.get(strategy, X)
    return 8 * D * F / cut * (P - 1) / P


# %% leaving right: by the axes that cut
def leaving(strategy, D, F, P, X, Y):
    kept = 2 * 2 * D * F
    if strategy in ("zero1", "fsdp", "fsdp_tp"):
        kept /= X
    if strategy in ("tp", "fsdp_tp"):
        kept /= Y
    return sum(kept / P for _ in range(2 * (P - 1)))


# %% leaving right: hop by hop
def leaving(strategy, D, F, P, X, Y):
    parts = {"dp": 1, "zero1": X, "fsdp": X, "tp": Y, "fsdp_tp": X * Y}
    chunk = 4 * D * F / parts[strategy] / P
    return chunk * 2 * (P - 1)


# %% tokens wrong: half of the card for each way
def tokens_of_a_pod(flops, card, chips, hosts):
    return 2 * flops * chips / card


# %% tokens wrong: every chip has a card
def tokens_of_a_pod(flops, card, chips, hosts):
    return flops / card


# %% tokens wrong: one card for the pod
def tokens_of_a_pod(flops, card, chips, hosts):
    return flops * chips * hosts / card


# %% tokens wrong: one chip's tokens
def tokens_of_a_pod(flops, card, chips, hosts):
    return flops / (card * hosts)


# %% tokens wrong: behind forward and backward
def tokens_of_a_pod(flops, card, chips, hosts):
    return flops * chips / card * 2 / 3


# %% tokens wrong: as printed
def tokens_of_a_pod(flops, card, chips, hosts):
    return 76_000.0


# %% tokens right: both times of a layer
def tokens_of_a_pod(flops, card, chips, hosts):
    N, weights = chips * hosts, 10**6
    crossing = 2 * 2 * weights / N / (card / chips)
    backward_of_a_token = 4 * weights / (N * flops)
    return crossing / backward_of_a_token


# %% tokens right: a pod's FLOP/s over its bytes/s
def tokens_of_a_pod(flops, card, chips, hosts):
    return (flops * chips * hosts) / (card * hosts)


# %% recipe wrong: one axis under FSDP
def verdict(B, X, Y, F, flops, W):
    t_math = 4 * B * F / (X * Y * flops)
    t_X, t_Y = 4 * F / (Y * W), 4 * B / (X * W)
    if t_X + t_Y <= t_math:
        return "always"
    return "with overlap" if max(t_X, t_Y) <= t_math else "never"


# %% recipe wrong: axes exchanged
def verdict(B, X, Y, F, flops, W):
    t_math = 4 * B * F / (X * Y * flops)
    t_X, t_Y = 4 * F / (X * 2 * W), 4 * B / (Y * W)
    if t_X + t_Y <= t_math:
        return "always"
    return "with overlap" if max(t_X, t_Y) <= t_math else "never"


# %% recipe wrong: overlap only
def verdict(B, X, Y, F, flops, W):
    t_math = 4 * B * F / (X * Y * flops)
    t_X, t_Y = 4 * F / (Y * 2 * W), 4 * B / (X * W)
    return "always" if max(t_X, t_Y) <= t_math else "never"


# %% recipe wrong: no overlap at all
def verdict(B, X, Y, F, flops, W):
    t_math = 4 * B * F / (X * Y * flops)
    t_X, t_Y = 4 * F / (Y * 2 * W), 4 * B / (X * W)
    return "always" if t_X + t_Y <= t_math else "never"


# %% recipe wrong: TP alone decides
def verdict(B, X, Y, F, flops, W):
    return "always" if Y <= F * W / flops else "never"


# %% recipe wrong: the thresholds of the best split
def verdict(B, X, Y, F, flops, W):
    longer = (flops / W) ** 2 / (2 * F)
    each = B / (X * Y)
    if each >= 4 * longer:
        return "always"
    return "with overlap" if each >= longer else "never"


# %% recipe right: ratios
def verdict(B, X, Y, F, flops, W):
    of_X, of_Y = 2 * B * W / (X * flops), F * W / (Y * flops)
    if 1 / of_X + 1 / of_Y <= 1:
        return "always"
    return "with overlap" if min(of_X, of_Y) >= 1 else "never"


# %% recipe right: words by number
def verdict(B, X, Y, F, flops, W):
    D = 8192
    math = 4 * B * D * F / (X * Y * flops)
    moves = [4 * D * F / Y / W / 2, 4 * B * D / X / W]
    holds = (sum(moves) <= math) + (max(moves) <= math)
    return ("never", "with overlap", "always")[holds]


# %% fed wrong: FSDP on one axis
def fed(B, F, flops, W):
    alpha = flops / W
    longer = alpha**2 / (2 * F)
    return [B / alpha, B / (4 * longer), B / longer]


# %% fed wrong: a sum is twice, not four times
def fed(B, F, flops, W):
    alpha = flops / W
    longer = alpha**2 / (2 * F)
    return [3 * B / alpha, B / (2 * longer), B / longer]


# %% fed wrong: one axis under FSDP in the mixture
def fed(B, F, flops, W):
    alpha = flops / W
    longer = alpha**2 / F
    return [3 * B / alpha, B / (4 * longer), B / longer]


# %% fed wrong: sum and maximum exchanged
def fed(B, F, flops, W):
    alpha = flops / W
    longer = alpha**2 / (2 * F)
    return [3 * B / alpha, B / longer, B / (4 * longer)]


# %% fed wrong: tokens of a chip
def fed(B, F, flops, W):
    alpha = flops / W
    longer = alpha**2 / (2 * F)
    return [alpha / 3, 4 * longer, longer]


# %% fed wrong: nine thousand chips
def fed(B, F, flops, W):
    alpha = flops / W
    longer = alpha**2 / (2 * F)
    return [3 * B / alpha, 2 * B / (4 * longer), 2 * B / longer]


# %% fed wrong: FSDP alone on two axes
def fed(B, F, flops, W):
    alpha = flops / W
    longer = alpha**2 / (2 * F)
    return [2 * B / alpha, B / (4 * longer), B / longer]


# %% fed right: in closed form
def fed(B, F, flops, W):
    per_byte = W / flops
    return [3 * B * per_byte, B * F * per_byte**2 / 2, 2 * B * F * per_byte**2]


# %% fed right: from the split at which both terms are equal
def fed(B, F, flops, W):
    # T_X = T_Y at X = sqrt(2 B N / F); then T_math = k T_X, with k 2 or 1.
    chips = [3 * W * B / flops]
    for k in (2, 1):
        # B F / (N C) = k sqrt(B F / (2 N)) / W, solved for N
        chips.append(2 * B * F * W**2 / (k * flops) ** 2)
    return chips


# %% days wrong: at the peak
def training(params, tokens, batch, pods, N, flops, mfu):
    steps = tokens // batch
    seconds = 6 * params * batch / (pods * N * flops)
    return [steps, seconds, steps * seconds / 86_400]


# %% days wrong: one pod works
def training(params, tokens, batch, pods, N, flops, mfu):
    steps = tokens // batch
    seconds = 6 * params * batch / (N * flops * mfu)
    return [steps, seconds, steps * seconds / 86_400]


# %% days wrong: forward only
def training(params, tokens, batch, pods, N, flops, mfu):
    steps = tokens // batch
    seconds = 2 * params * batch / (pods * N * flops * mfu)
    return [steps, seconds, steps * seconds / 86_400]


# %% days wrong: hours
def training(params, tokens, batch, pods, N, flops, mfu):
    steps = tokens // batch
    seconds = 6 * params * batch / (pods * N * flops * mfu)
    return [steps, seconds, steps * seconds / 3600]


# %% days wrong: steps as a float
def training(params, tokens, batch, pods, N, flops, mfu):
    seconds = 6 * params * batch / (pods * N * flops * mfu)
    return [tokens / batch, seconds, tokens / batch * seconds / 86_400]


# %% days wrong: each pod has the whole batch
def training(params, tokens, batch, pods, N, flops, mfu):
    steps = tokens // (batch * pods)
    seconds = 6 * params * batch / (N * flops * mfu)
    return [steps, seconds, steps * seconds / 86_400]


# %% days wrong: the forward pass twice
def training(params, tokens, batch, pods, N, flops, mfu):
    steps = tokens // batch
    seconds = 8 * params * batch / (pods * N * flops * mfu)
    return [steps, seconds, steps * seconds / 86_400]


# %% days wrong: the whole run for a step
def training(params, tokens, batch, pods, N, flops, mfu):
    seconds = 6 * params * tokens / (pods * N * flops * mfu)
    return [tokens // batch, seconds, seconds / 86_400]


# %% days right: days first
def training(params, tokens, batch, pods, N, flops, mfu):
    days = 6 * params * tokens / (pods * N * flops * mfu) / (24 * 60 * 60)
    steps, rest = divmod(tokens, batch)
    return [steps, days * 86_400 / steps, days]


# %% days right: a token at a time
def training(params, tokens, batch, pods, N, flops, mfu):
    forward, backward = 2 * params, 4 * params
    per_second = mfu * flops * N * pods / (forward + backward)
    seconds = batch / per_second
    return [round(tokens / batch), seconds, tokens / per_second / 86_400]


# %% most wrong: sequences need not be whole
def most_pods(sequences, S, N, per_pod, per_chip):
    return int(sequences * S // max(per_pod, N * per_chip))


# %% most wrong: forgets the chips
def most_pods(sequences, S, N, per_pod, per_chip):
    for pods in range(sequences, 0, -1):
        if sequences % pods == 0 and sequences // pods * S >= per_pod:
            return pods
    return 0


# %% most wrong: forgets DCN
def most_pods(sequences, S, N, per_pod, per_chip):
    for pods in range(sequences, 0, -1):
        if sequences % pods == 0 and sequences // pods * S >= N * per_chip:
            return pods
    return 0


# %% most wrong: one pod always works
def most_pods(sequences, S, N, per_pod, per_chip):
    for pods in range(sequences, 1, -1):
        tokens = sequences // pods * S
        if sequences % pods == 0 and tokens >= max(per_pod, N * per_chip):
            return pods
    return 1


# %% most wrong: the smallest number
def most_pods(sequences, S, N, per_pod, per_chip):
    for pods in range(1, sequences + 1):
        tokens = sequences // pods * S
        if sequences % pods == 0 and tokens >= max(per_pod, N * per_chip):
            return pods
    return 0


# %% most wrong: leaves some over
def most_pods(sequences, S, N, per_pod, per_chip):
    for pods in range(sequences, 0, -1):
        if sequences // pods * S >= max(per_pod, N * per_chip):
            return pods
    return 0


# %% most wrong: more than enough is asked
def most_pods(sequences, S, N, per_pod, per_chip):
    need = per_pod + N * per_chip
    for pods in range(sequences, 0, -1):
        if sequences % pods == 0 and sequences // pods * S >= need:
            return pods
    return 0


# %% most wrong: tokens of a chip rounded down
def most_pods(sequences, S, N, per_pod, per_chip):
    for pods in range(sequences, 0, -1):
        tokens = sequences // pods * S
        enough = tokens >= per_pod and tokens // N >= per_chip
        if sequences % pods == 0 and enough:
            return pods
    return 0


# %% most wrong: a hundred pods at most
def most_pods(sequences, S, N, per_pod, per_chip):
    need = max(per_pod, N * per_chip)
    for pods in range(min(sequences, 100), 0, -1):
        if sequences % pods == 0 and sequences // pods * S >= need:
            return pods
    return 0


# %% most right: the largest of all that work
def most_pods(sequences, S, N, per_pod, per_chip):
    need = max(per_pod, N * per_chip)
    divides = [n for n in range(1, sequences + 1) if sequences % n == 0]
    return max((n for n in divides if sequences * S / n >= need), default=0)


# %% most right: by the sequences of a pod
def most_pods(sequences, S, N, per_pod, per_chip):
    each = 1
    while each <= sequences:
        fits = each * S >= per_pod and each * S / N >= per_chip
        if fits and sequences % each == 0:
            return sequences // each
        each += 1
    return 0


# %% finished wrong: one after the other
def finished(math, cross):
    return sum(math) + sum(cross)


# %% finished wrong: the longer of the two
def finished(math, cross):
    return max(sum(math), sum(cross))


# %% finished wrong: only the last sum is seen
def finished(math, cross):
    return sum(math) + cross[-1]


# %% finished wrong: the port never waits
def finished(math, cross):
    return math[0] + sum(cross)


# %% finished wrong: the formula for equal layers
def finished(math, cross):
    slower = max(max(math), max(cross))
    return math[0] + cross[-1] + (len(math) - 1) * slower


# %% finished wrong: in step
def finished(math, cross):
    return sum(max(a, b) for a, b in zip(math, cross))


# %% finished wrong: the next product waits for the sum before last
def finished(math, cross):
    now = math[0]
    for work, way in zip(math[1:], cross):
        now += max(work, way)
    return now + cross[-1]


# %% finished right: the longest path
def finished(math, cross):
    return max(sum(math[: n + 1]) + sum(cross[n:]) for n in range(len(math)))


# %% finished right: from the back
def finished(math, cross):
    left = crossing = 0.0
    for work, way in zip(reversed(math), reversed(cross)):
        crossing += way
        left = work + max(left, crossing)
    return left


# %% piece equivalent: line 6: `('P', 'X')` is reversed
# The number of chips is the same in either order.

# %% recipe equivalent: line 5: `(4 * F / (Y * 2 * W), 4 * B / (X * W))` is reversed
# Their sum and the longer of the two do not know which is which.

# %% recipe equivalent: line 8: `max(t_X, t_Y)` with its arguments reversed
# The longer of two is the longer in any order.

# %% finished equivalent: line 7: `max(made, free)` with its arguments reversed
# The later of two moments is the later in any order.

# %% most equivalent: line 4: `range(sequences, 0, -1)` starts one too late
# One pod more than there are sequences would get none, and be too few.
