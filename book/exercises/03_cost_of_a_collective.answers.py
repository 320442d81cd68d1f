# Answers that the checks of exercise set 3 must reject or accept.
#
# A cell is titled with the answer cell's grade_id, then `wrong: ` with the
# mistake or `right: ` with what is different. Run by tests/exercises.

# %% gather_time wrong: the formula of texts, a ring without latency
def t_all_gather(V, N, link_bw, wrap, T_min):
    return V / (2 * link_bw)


# %% gather_time wrong: no latency
def t_all_gather(V, N, link_bw, wrap, T_min):
    hops = N // 2 if wrap else N - 1
    return hops * V / N / link_bw


# %% gather_time wrong: latency once, not for every hop
def t_all_gather(V, N, link_bw, wrap, T_min):
    hops = N // 2 if wrap else N - 1
    return max(T_min, hops * V / N / link_bw)


# %% gather_time wrong: latency added
def t_all_gather(V, N, link_bw, wrap, T_min):
    hops = N // 2 if wrap else N - 1
    return hops * (T_min + V / N / link_bw)


# %% gather_time wrong: takes every axis for a ring
def t_all_gather(V, N, link_bw, wrap, T_min):
    return N // 2 * max(T_min, V / N / link_bw)


# %% gather_time wrong: takes every axis for a line
def t_all_gather(V, N, link_bw, wrap, T_min):
    return (N - 1) * max(T_min, V / N / link_bw)


# %% gather_time wrong: rounds the hops of a ring up
def t_all_gather(V, N, link_bw, wrap, T_min):
    hops = (N + 1) // 2 if wrap else N - 1
    return hops * max(T_min, V / N / link_bw)


# %% gather_time wrong: puts the bytes of a shard where those of the array are
def t_all_gather(V, N, link_bw, wrap, T_min):
    hops = N // 2 if wrap else N - 1
    return hops * max(T_min, V / N / N / link_bw)


# %% gather_time wrong: a hop in two directions takes half the time
def t_all_gather(V, N, link_bw, wrap, T_min):
    hops = N // 2 if wrap else N - 1
    return hops * max(T_min, V / N / (2 * link_bw))


# %% gather_time right: hop by hop
def t_all_gather(V, N, link_bw, wrap, T_min):
    seconds, reached = 0.0, 1
    while reached < N:
        seconds += max(T_min, V / N / link_bw)
        reached += 2 if wrap else 1
    return seconds


# %% gather_time right: two bounds, whichever is later
def t_all_gather(V, N, link_bw, wrap, T_min):
    if wrap:
        latency, bandwidth = N // 2 * T_min, V * (N // 2) / N / link_bw
    else:
        latency, bandwidth = (N - 1) * T_min, V * (N - 1) / N / link_bw
    return bandwidth if bandwidth > latency else latency


# %% small wrong: elements for bytes
whole_bytes = 128
shard_bytes = 32
hops = 2
seconds = 2e-6


def knee_bytes(N, link_bw, T_min):
    return N * link_bw * T_min


# %% small wrong: all 64 chips cut the array
whole_bytes = 256
shard_bytes = 4
hops = 2
seconds = 2e-6


def knee_bytes(N, link_bw, T_min):
    return N * link_bw * T_min


# %% small wrong: three hops
whole_bytes = 256
shard_bytes = 64
hops = 3
seconds = 3e-6


def knee_bytes(N, link_bw, T_min):
    return N * link_bw * T_min


# %% small wrong: seconds by bandwidth
whole_bytes = 256
shard_bytes = 64
hops = 2
seconds = 256 / 9e10


def knee_bytes(N, link_bw, T_min):
    return N * link_bw * T_min


# %% small wrong: the knee of a message
whole_bytes = 256
shard_bytes = 64
hops = 2
seconds = 2e-6


def knee_bytes(N, link_bw, T_min):
    return link_bw * T_min


# %% small wrong: the knee with both directions
whole_bytes = 256
shard_bytes = 64
hops = 2
seconds = 2e-6


def knee_bytes(N, link_bw, T_min):
    return 2 * N * link_bw * T_min


# %% small wrong: the knee with half of the hops
whole_bytes = 256
shard_bytes = 64
hops = 2
seconds = 2e-6


def knee_bytes(N, link_bw, T_min):
    return N / 2 * link_bw * T_min


# %% small right: from NumPy's sizes
whole = np.zeros(128, np.float16)
whole_bytes = whole.nbytes
shard_bytes = np.split(whole, 4)[0].nbytes
hops = max(min(far, 4 - far) for far in range(4))
seconds = max(hops * 1e-6, whole_bytes / 9e10)


def knee_bytes(N, link_bw, T_min):
    shard = T_min / (1 / link_bw)
    return sum(shard for _ in range(N))


# %% small right: solved for V
whole_bytes = 256
shard_bytes = 64
hops = 2
seconds = 2 / 10**6


def knee_bytes(N, link_bw, T_min):
    seconds_of_a_byte = 1 / N / link_bw
    return T_min / seconds_of_a_byte


# %% cube wrong: gathers all of the array over X
def limit_times(B, D, X, Y, Z, W):
    V = 2 * B * D
    return [V / W, V / (2 * W), 2 * V / (X * Y) / W]


def exact_times(B, D, n, W):
    gather_x, gather_xy, reduce_z = limit_times(B, D, n, n, n, W)
    ring, square = (n - 1) / n, (n * n - 1) / (n * n)
    return [ring * gather_x, square * gather_xy, ring * reduce_z]


# %% cube wrong: two axes with the bandwidth of one
def limit_times(B, D, X, Y, Z, W):
    V = 2 * B * D
    return [V / Y / W, V / W, 2 * V / (X * Y) / W]


def exact_times(B, D, n, W):
    gather_x, gather_xy, reduce_z = limit_times(B, D, n, n, n, W)
    ring, square = (n - 1) / n, (n * n - 1) / (n * n)
    return [ring * gather_x, square * gather_xy, ring * reduce_z]


# %% cube wrong: a sum for the price of a gather
def limit_times(B, D, X, Y, Z, W):
    V = 2 * B * D
    return [V / Y / W, V / (2 * W), V / (X * Y) / W]


def exact_times(B, D, n, W):
    gather_x, gather_xy, reduce_z = limit_times(B, D, n, n, n, W)
    ring, square = (n - 1) / n, (n * n - 1) / (n * n)
    return [ring * gather_x, square * gather_xy, ring * reduce_z]


# %% cube wrong: adds up the whole array
def limit_times(B, D, X, Y, Z, W):
    V = 2 * B * D
    return [V / Y / W, V / (2 * W), 2 * V / W]


def exact_times(B, D, n, W):
    gather_x, gather_xy, reduce_z = limit_times(B, D, n, n, n, W)
    ring, square = (n - 1) / n, (n * n - 1) / (n * n)
    return [ring * gather_x, square * gather_xy, ring * reduce_z]


# %% cube wrong: divides by the axis that is gathered
def limit_times(B, D, X, Y, Z, W):
    V = 2 * B * D
    return [V / X / W, V / (2 * W), 2 * V / (X * Y) / W]


def exact_times(B, D, n, W):
    gather_x, gather_xy, reduce_z = limit_times(B, D, n, n, n, W)
    ring, square = (n - 1) / n, (n * n - 1) / (n * n)
    return [ring * gather_x, square * gather_xy, ring * reduce_z]


# %% cube wrong: limits for exact times
def limit_times(B, D, X, Y, Z, W):
    V = 2 * B * D
    return [V / Y / W, V / (2 * W), 2 * V / (X * Y) / W]


def exact_times(B, D, n, W):
    return limit_times(B, D, n, n, n, W)


# %% cube wrong: a square has the factor of a ring
def limit_times(B, D, X, Y, Z, W):
    V = 2 * B * D
    return [V / Y / W, V / (2 * W), 2 * V / (X * Y) / W]


def exact_times(B, D, n, W):
    return [seconds * (n - 1) / n for seconds in limit_times(B, D, n, n, n, W)]


# %% cube right: from the shapes of shards
def limit_times(B, D, X, Y, Z, W):
    rows, columns = B / X, D / Y
    shard = rows * columns * 2
    return [X * shard / W, X * Y * shard / W / 2, (shard + shard) / W]


def exact_times(B, D, n, W):
    shard = 2 * B * D / n**2
    link_bw = W / 2
    hop = shard / link_bw
    received = [(n - 1) * hop, (n * n - 1) * hop / 2, 2 * (n - 1) * hop / n]
    return [seconds / 2 for seconds in received]


# %% cube right: a time for each, by group and axes
def gathered(V, axes, W):
    return V / (len(axes) * W)


def limit_times(B, D, X, Y, Z, W):
    cut_by_y = B * 2 * (D // Y)
    halves = [gathered(cut_by_y / X, "Z", W) for _ in ("scatter", "gather")]
    return [
        gathered(cut_by_y, "X", W),
        gathered(2 * B * D, "XY", W),
        sum(halves),
    ]


def exact_times(B, D, n, W):
    chips = [n, n**2, n]
    limits = limit_times(B, D, n, n, n, W)
    return [t - t / c for t, c in zip(limits, chips)]


# %% idle wrong: leaves Z idle
def gather_with_Z(A):
    return jax.lax.all_gather(A, "X", axis=0, tiled=True, to="invarying")


# %% idle wrong: one axis after the other
def gather_with_Z(A):
    rows = A.shape[0] // jax.lax.axis_size("Z")
    mine = jax.lax.axis_index("Z") * rows
    part = jax.lax.dynamic_slice_in_dim(A, mine, rows)
    block = jax.lax.all_gather(part, "Z", axis=0, tiled=True, to="invarying")
    return jax.lax.all_gather(block, "X", axis=0, tiled=True, to="invarying")


# %% idle wrong: the parts in another order
def gather_with_Z(A):
    rows = A.shape[0] // jax.lax.axis_size("Z")
    mine = jax.lax.axis_index("Z") * rows
    part = jax.lax.dynamic_slice_in_dim(A, mine, rows)
    return jax.lax.all_gather(
        part, ("Z", "X"), axis=0, tiled=True, to="invarying"
    )


# %% idle wrong: forgets nothing, and throws the copies away
def gather_with_Z(A):
    Z, rows = jax.lax.axis_size("Z"), A.shape[0]
    both = jax.lax.all_gather(A, ("X", "Z"), axis=0, tiled=True, to="invarying")
    return both.reshape(-1, Z, rows, A.shape[1])[:, 0].reshape(-1, A.shape[1])


# %% idle wrong: a sum of parts that do not overlap
def gather_with_Z(A):
    X, me = jax.lax.axis_size("X"), jax.lax.axis_index("X")
    whole = jnp.zeros((X, *A.shape), A.dtype).at[me].set(A)
    return jax.lax.psum(whole, "X").reshape(-1, A.shape[1])


# %% idle right: Z outermost, then put in order
def gather_with_Z(A):
    X, Z = jax.lax.axis_size("X"), jax.lax.axis_size("Z")
    parts = A.reshape(Z, -1, A.shape[1])
    part = parts[jax.lax.axis_index("Z")]
    all_parts = jax.lax.all_gather(
        part, ("Z", "X"), axis=0, tiled=True, to="invarying"
    )
    in_order = all_parts.reshape(Z, X, *part.shape).swapaxes(0, 1)
    return in_order.reshape(-1, A.shape[1])


# %% idle right: forgets columns instead of rows
def gather_with_Z(A):
    X, Z = jax.lax.axis_size("X"), jax.lax.axis_size("Z")
    width = A.shape[1] // Z
    first = width * jax.lax.axis_index("Z")
    part = jax.lax.dynamic_slice(A, (0, first), (A.shape[0], width))
    pieces = jax.lax.all_gather(
        part, ("X", "Z"), axis=0, tiled=False, to="invarying"
    )
    tiles = pieces.reshape(X, Z, A.shape[0], width).transpose(0, 2, 1, 3)
    return tiles.reshape(X * A.shape[0], A.shape[1])


# %% four wrong: stacks instead of putting end to end
def gathered(A):
    return jax.lax.all_gather(A, "X", axis=0, tiled=False, to="invarying")


def summed(C):
    return jax.lax.psum(C, "X")


def scattered(C):
    return jax.lax.psum_scatter(C, "X", scatter_dimension=0, tiled=True)


def exchanged(A):
    return jax.lax.all_to_all(A, "X", split_axis=1, concat_axis=0, tiled=True)


# %% four wrong: the mean
def gathered(A):
    return jax.lax.all_gather(A, "X", axis=0, tiled=True, to="invarying")


def summed(C):
    return jax.lax.pmean(C, "X")


def scattered(C):
    return jax.lax.psum_scatter(C, "X", scatter_dimension=0, tiled=True)


def exchanged(A):
    return jax.lax.all_to_all(A, "X", split_axis=1, concat_axis=0, tiled=True)


# %% four wrong: a sum, of which a part is kept
def gathered(A):
    return jax.lax.all_gather(A, "X", axis=0, tiled=True, to="invarying")


def summed(C):
    return jax.lax.psum(C, "X")


def scattered(C):
    rows = C.shape[0] // jax.lax.axis_size("X")
    mine = jax.lax.axis_index("X") * rows
    return jax.lax.dynamic_slice_in_dim(summed(C), mine, rows)


def exchanged(A):
    return jax.lax.all_to_all(A, "X", split_axis=1, concat_axis=0, tiled=True)


# %% four wrong: cuts where it should join
def gathered(A):
    return jax.lax.all_gather(A, "X", axis=0, tiled=True, to="invarying")


def summed(C):
    return jax.lax.psum(C, "X")


def scattered(C):
    return jax.lax.psum_scatter(C, "X", scatter_dimension=0, tiled=True)


def exchanged(A):
    return jax.lax.all_to_all(A, "X", split_axis=0, concat_axis=1, tiled=True)


# %% four wrong: a gather where an exchange was asked
def gathered(A):
    return jax.lax.all_gather(A, "X", axis=0, tiled=True, to="invarying")


def summed(C):
    return jax.lax.psum(C, "X")


def scattered(C):
    return jax.lax.psum_scatter(C, "X", scatter_dimension=0, tiled=True)


def exchanged(A):
    width = A.shape[1] // jax.lax.axis_size("X")
    mine = jax.lax.axis_index("X") * width
    A = jax.lax.all_gather(A, "X", axis=0, tiled=True)
    return jax.lax.dynamic_slice_in_dim(A, mine, width, axis=1)


# %% four wrong: a sum in two collectives
def gathered(A):
    return jax.lax.all_gather(A, "X", axis=0, tiled=True, to="invarying")


def scattered(C):
    return jax.lax.psum_scatter(C, "X", scatter_dimension=0, tiled=True)


def summed(C):
    return gathered(scattered(C))


def exchanged(A):
    return jax.lax.all_to_all(A, "X", split_axis=1, concat_axis=0, tiled=True)


# %% four right: stacked, and put in place by hand
def gathered(A):
    blocks = jax.lax.all_gather(A, "X", axis=0, tiled=False, to="invarying")
    return blocks.reshape(-1, A.shape[1])


def summed(C):
    return jax.lax.psum(C.ravel(), "X").reshape(C.shape)


def scattered(C):
    pieces = C.reshape(jax.lax.axis_size("X"), -1, C.shape[1])
    return jax.lax.psum_scatter(pieces, "X", scatter_dimension=0, tiled=False)


def exchanged(A):
    parts = jnp.stack(jnp.split(A, jax.lax.axis_size("X"), axis=1))
    received = jax.lax.all_to_all(parts, "X", 0, 0, tiled=False)
    return received.reshape(-1, parts.shape[-1])


# %% four right: of the transposed
def gathered(A):
    return jax.lax.all_gather(A.T, "X", axis=1, tiled=True, to="invarying").T


def summed(C):
    twice = jax.lax.psum(2 * C.T, "X")
    return twice.T / 2


def scattered(C):
    return jax.lax.psum_scatter(C.T, "X", scatter_dimension=1, tiled=True).T


def exchanged(A):
    return jax.lax.all_to_all(
        A.T, "X", split_axis=0, concat_axis=1, tiled=True
    ).T


# %% four_times wrong: limits
def times(V, N, link_bw):
    W = 2 * link_bw
    return [V / W, V / W, 2 * V / W, V / W / 4]


# %% four_times wrong: a quarter of the AllGather
def times(V, N, link_bw):
    gather = V * (N - 1) / N / (2 * link_bw)
    return [gather, gather, 2 * gather, gather / 4]


# %% four_times wrong: a quarter for odd rings too
def times(V, N, link_bw):
    gather = V * (N - 1) / N / (2 * link_bw)
    return [gather, gather, 2 * gather, V / 4 / (2 * link_bw)]


# %% four_times wrong: links used one way
def times(V, N, link_bw):
    gather = V * (N - 1) / N / link_bw
    return [gather, gather, 2 * gather, gather / 2]


# %% four_times wrong: a sum is one collective
def times(V, N, link_bw):
    gather = V * (N - 1) / N / (2 * link_bw)
    hops = sum(min(far, N - far) for far in range(N))
    return [gather, gather, gather, V * hops / N**2 / (2 * link_bw)]


# %% four_times wrong: what a chip sends of its own in an AllToAll
def times(V, N, link_bw):
    gather = V * (N - 1) / N / (2 * link_bw)
    return [gather, gather, 2 * gather, gather / N]


# %% four_times wrong: ties one way
def times(V, N, link_bw):
    gather = V * (N // 2) / N / link_bw
    half = N // 2
    exchange = V * half * (half + 1) / 2 / N**2 / link_bw
    return [gather, gather, 2 * gather, exchange]


# %% four_times right: closed forms by parity
def times(V, N, link_bw):
    shard = V / N / link_bw
    gather = (N - 1) * shard / 2
    if N % 2:
        exchange = (N**2 - 1) * shard / N / 8
    else:
        exchange = N * shard / 8
    return [gather, gather, gather + gather, exchange]


# %% four_times right: link by link
def times(V, N, link_bw):
    link = np.zeros(N)  # bytes from each chip to the next
    for start in range(N):
        for far in range(1, N // 2 + 1):
            tie = 2 * far == N
            for chip in range(start, start + far):
                link[chip % N] += V / N**2 / (2 if tie else 1)
    gather = np.full(N - 1, V / N / link_bw).sum() / 2
    both = [float(gather), float(link.max() / link_bw)]
    return [both[0], both[0], 2 * both[0], both[1]]


# %% gather_time equivalent: line 5: `max(T_min, V / N / link_bw)` with its arguments reversed
# The larger of two numbers is the same in either order.

# %% four_times equivalent: line 5: `min(far, N - far)` with its arguments reversed
# The smaller of two numbers is the same in either order.

# %% bisection equivalent: line 4: `Max(A, B, C)` with its arguments reversed
# The largest of three numbers is the same in any order.

# %% bisection wrong: one ring
ring_seconds = V / (4 * W)
line_seconds = V / (2 * W)

# %% bisection wrong: a ring is cut once
ring_seconds = V * Max(A, B, C) / (2 * A * B * C * W)
line_seconds = V * Max(A, B, C) / (2 * A * B * C * W)

# %% bisection wrong: a line is as good as a ring
ring_seconds = V * Max(A, B, C) / (4 * A * B * C * W)
line_seconds = V * Max(A, B, C) / (4 * A * B * C * W)

# %% bisection wrong: W for one direction
ring_seconds = V * Max(A, B, C) / (8 * A * B * C * W)
line_seconds = V * Max(A, B, C) / (4 * A * B * C * W)

# %% bisection wrong: cuts across A
ring_seconds = V / (4 * B * C * W)
line_seconds = V / (2 * B * C * W)

# %% bisection wrong: all of the data crosses
ring_seconds = V * Max(A, B, C) / (A * B * C * W)
line_seconds = 2 * ring_seconds

# %% bisection right: a quarter of the bytes over half of the links' bandwidth
links = 2 * A * B * C / Max(A, B, C)
ring_seconds = (V / 4) / (links * W / 2)
line_seconds = (V / 4) / (links / 2 * W / 2)

# %% bisection right: as text, each axis in turn
ring_seconds = "Max(V/(4*B*C*W), V/(4*A*C*W), V/(4*A*B*W))"
line_seconds = "Max(1/(B*C), 1/(A*C), 1/(A*B)) * V/W/2"

# %% strips wrong: the limit
gather_scalars = N**2
scatter_scalars = N**2

# %% strips wrong: one strip
gather_scalars = N**2 / D
scatter_scalars = N**2 / D

# %% strips wrong: both directions
gather_scalars = N**2 * (D - 1) / (2 * D)
scatter_scalars = N**2 * (D - 1) / (2 * D)

# %% strips wrong: a reduction adds up, so it sends less
gather_scalars = N**2 * (D - 1) / D
scatter_scalars = N**2 / D

# %% strips wrong: rows for scalars
gather_scalars = N * (D - 1) / D
scatter_scalars = N * (D - 1) / D

# %% strips wrong: visits its owner again
gather_scalars = N**2 * (D + 1) / D
scatter_scalars = N**2 * (D + 1) / D

# %% strips right: all but one strip
strip = N / D * N
gather_scalars = N * N - strip
scatter_scalars = N * N - strip

# %% strips right: as text
gather_scalars = "N**2 * (1 - 1/D)"
scatter_scalars = "(D - 1) * N**2 / D"

# %% triangle wrong: the sum of a published answer, which starts at D
hop_sum = Sum(k, (k, 1, D))
hop_closed = D * (D + 1) / 2
base = 1
step = D + 1
exchange_scalars = N**2 / D**2 * hop_closed

# %% triangle wrong: a limit for the closed form
hop_sum = Sum(k, (k, 1, D - 1))
hop_closed = D**2 / 2
base = 0
step = D
exchange_scalars = N**2 / 2

# %% triangle wrong: every part crosses one link
hop_sum = Sum(1, (k, 1, D - 1))
hop_closed = D - 1
base = 0
step = 1
exchange_scalars = N**2 / D**2 * (D - 1)

# %% triangle wrong: no sum
hop_sum = D * (D - 1) / 2
hop_closed = D * (D - 1) / 2
base = 0
step = D
exchange_scalars = N**2 / D**2 * hop_closed

# %% triangle wrong: no closed form
hop_sum = Sum(k, (k, 1, D - 1))
hop_closed = Sum(k, (k, 1, D - 1))
base = 0
step = D
exchange_scalars = N**2 / D**2 * hop_closed

# %% triangle wrong: the step to D
hop_sum = Sum(k, (k, 1, D - 1))
hop_closed = D * (D - 1) / 2
base = 0
step = D - 1
exchange_scalars = N**2 / D**2 * hop_closed

# %% triangle wrong: starts the induction one too high
hop_sum = Sum(k, (k, 1, D - 1))
hop_closed = D * (D - 1) / 2
base = 1
step = D
exchange_scalars = N**2 / D**2 * hop_closed

# %% triangle wrong: right up to thirty-two devices, and wrong after
hop_sum = Sum(k, (k, 1, D - 1))
hop_closed = D * (D - 1) / 2 + D // 40
base = 0
step = D
exchange_scalars = N**2 / D**2 * D * (D - 1) / 2

# %% triangle wrong: parts for scalars
hop_sum = Sum(k, (k, 1, D - 1))
hop_closed = D * (D - 1) / 2
base = 0
step = D
exchange_scalars = hop_closed

# %% triangle right: the farthest first
hop_sum = Sum(D - k, (k, 1, D - 1))
hop_closed = D**2 / 2 - D / 2
base = Rational(0)
step = ((D + 1) ** 2 - D**2 - 1) / 2
exchange_scalars = N**2 / 2 * (1 - 1 / D)

# %% triangle right: pairs of devices, as text
hop_sum = "Sum(Sum(1, (j, 1, k)), (k, 0, D - 1))"
hop_closed = "(D**2 - D) / 2"
base = "1 - 1"
step = "D * (D + 1) / 2 - D * (D - 1) / 2"
exchange_scalars = "(N / D)**2 * (D**2 - D) / 2"

# %% gain wrong: the ratio with a limit in it
one_way_ratio = (D - 1) / (2 * D)
gather_both = N**2 * (D - 1) / (2 * D)
gather_gain = 2

# %% gain wrong: the ratio of a published answer
one_way_ratio = (D + 1) / (2 * (D - 1))
gather_both = N**2 * (D - 1) / (2 * D)
gather_gain = 2

# %% gain wrong: the limit of the load
one_way_ratio = Rational(1, 2)
gather_both = N**2 / 2
gather_gain = 2

# %% gain wrong: the opposite strip goes one way
one_way_ratio = Rational(1, 2)
gather_both = N**2 / D * (D // 2)
gather_gain = 2 * (D - 1) / D

# %% gain wrong: half the hops and twice the links
one_way_ratio = Rational(1, 2)
gather_both = N**2 * (D - 1) / (2 * D)
gather_gain = 4

# %% gain wrong: turned over
one_way_ratio = 2
gather_both = N**2 * (D - 1) / (2 * D)
gather_gain = Rational(1, 2)

# %% gain right: divided
triangle, rectangle = D * (D - 1) / 2, D * (D - 1)
one_way_ratio = triangle / rectangle
gather_both = N**2 / D * (D - 1) / 2
gather_gain = (N**2 * (D - 1) / D) / gather_both

# %% gain right: as text, with a sum
one_way_ratio = "Sum(k, (k, 1, D - 1)) / (D**2 - D)"
gather_both = "(N**2 - N**2 / D) / 2"
gather_gain = "2"

# %% both_ways wrong: the opposite part goes one way
even_sum = Sum(k, (k, 1, D / 2))
even_closed = D * (D + 2) / 8
even_step = (D + 2) / 2
odd_sum = Sum(k, (k, 1, (D - 1) / 2))
odd_closed = (D**2 - 1) / 8
odd_step = (D + 1) / 2
even_gain = 4 * (D - 1) / (D + 2)
odd_gain = 4 * D / (D + 1)

# %% both_ways wrong: no opposite part at all
even_sum = Sum(k, (k, 1, D / 2 - 1))
even_closed = D * (D - 2) / 8
even_step = D / 2
odd_sum = Sum(k, (k, 1, (D - 1) / 2))
odd_closed = (D**2 - 1) / 8
odd_step = (D + 1) / 2
even_gain = 4 * (D - 1) / (D - 2)
odd_gain = 4 * D / (D + 1)

# %% both_ways wrong: one formula for even and odd
even_sum = Sum(k, (k, 1, D / 2 - 1)) + D / 4
even_closed = D**2 / 8
even_step = (D + 1) / 2
odd_sum = Sum(k, (k, 1, (D - 1) / 2))
odd_closed = D**2 / 8
odd_step = (D + 1) / 2
even_gain = 4 * (D - 1) / D
odd_gain = 4 * (D - 1) / D

# %% both_ways wrong: somebody is ceil(D/2) away
even_sum = Sum(k, (k, 1, D / 2 - 1)) + D / 4
even_closed = D**2 / 8
even_step = (D + 1) / 2
odd_sum = Sum(k, (k, 1, (D + 1) / 2))
odd_closed = (D + 1) * (D + 3) / 8
odd_step = (D + 3) / 2
even_gain = 4 * (D - 1) / D
odd_gain = 4 * D / (D + 1)

# %% both_ways wrong: both directions together
even_sum = 2 * Sum(k, (k, 1, D / 2 - 1)) + D / 2
even_closed = D**2 / 4
even_step = D + 1
odd_sum = 2 * Sum(k, (k, 1, (D - 1) / 2))
odd_closed = (D**2 - 1) / 4
odd_step = D + 1
even_gain = 2 * (D - 1) / D
odd_gain = 2 * D / (D + 1)

# %% both_ways wrong: steps of one device
even_sum = Sum(k, (k, 1, D / 2 - 1)) + D / 4
even_closed = D**2 / 8
even_step = (2 * D + 1) / 8
odd_sum = Sum(k, (k, 1, (D - 1) / 2))
odd_closed = (D**2 - 1) / 8
odd_step = (2 * D + 1) / 8
even_gain = 4 * (D - 1) / D
odd_gain = 4 * D / (D + 1)

# %% both_ways wrong: gains are limits
even_sum = Sum(k, (k, 1, D / 2 - 1)) + D / 4
even_closed = D**2 / 8
even_step = (D + 1) / 2
odd_sum = Sum(k, (k, 1, (D - 1) / 2))
odd_closed = (D**2 - 1) / 8
odd_step = (D + 1) / 2
even_gain = 4
odd_gain = 4

# %% both_ways wrong: right up to thirty devices, and wrong after
even_sum = Sum(k, (k, 1, D / 2 - 1)) + D / 4
even_closed = D**2 / 8 + D // 50
even_step = (D + 1) / 2
odd_sum = Sum(k, (k, 1, (D - 1) / 2))
odd_closed = (D**2 - 1) / 8
odd_step = (D + 1) / 2
even_gain = 4 * (D - 1) / D
odd_gain = 4 * D / (D + 1)

# %% both_ways right: every distance, halved
even_sum = (Sum(k, (k, 1, D / 2)) + Sum(k, (k, 1, D / 2 - 1))) / 2
even_closed = (D / 2) ** 2 / 2
even_step = ((D + 2) ** 2 - D**2) / 8
odd_sum = Sum(D - k, (k, (D + 1) / 2, D - 1))
odd_closed = (D - 1) * (D + 1) / 8
odd_step = ((D + 2) ** 2 - D**2) / 8
even_gain = (D * (D - 1) / 2) / even_closed
odd_gain = (D * (D - 1) / 2) / odd_closed

# %% both_ways right: as text, with a floor
even_sum = "Sum(Min(k, D - k), (k, 1, D - 1)) / 2"
even_closed = "floor(D**2 / 4) / 2"
even_step = "D/2 + Rational(1, 2)"
odd_sum = "Sum(Min(k, D - k), (k, 1, D - 1)) / 2"
odd_closed = "floor(D**2 / 4) / 2"
odd_step = "D - (D - 1) / 2"
even_gain = "4 - 4/D"
odd_gain = "4 - 4/(D + 1)"

# %% quarter wrong: four at once
even_ratio = 4
odd_ratio = 4
limit_ratio = 4
one_way_ties = 4
exact_from = 2

# %% quarter wrong: even and odd mixed up
even_ratio = 4 * D / (D + 1)
odd_ratio = 4 * (D - 1) / D
limit_ratio = 4
one_way_ties = 4 * D / (D + 2)
exact_from = 2

# %% quarter wrong: ties one way in the AllToAll only
even_ratio = 4 * (D - 1) / D
odd_ratio = 4 * D / (D + 1)
limit_ratio = 4
one_way_ties = 4 * (D - 1) / (D + 2)
exact_from = 2

# %% quarter wrong: the limit is that of one way
even_ratio = 4 * (D - 1) / D
odd_ratio = 4 * D / (D + 1)
limit_ratio = 2
one_way_ties = 4 * D / (D + 2)
exact_from = 2

# %% quarter wrong: exact from four devices only
even_ratio = 4 * (D - 1) / D
odd_ratio = 4 * D / (D + 1)
limit_ratio = 4
one_way_ties = 4 * D / (D + 2)
exact_from = 4

# %% quarter wrong: turned over
even_ratio = D / (4 * (D - 1))
odd_ratio = (D + 1) / (4 * D)
limit_ratio = Rational(1, 4)
one_way_ties = (D + 2) / (4 * D)
exact_from = 2

# %% quarter wrong: a limit that still depends on D
even_ratio = 4 * (D - 1) / D
odd_ratio = 4 * D / (D + 1)
limit_ratio = 4 - 1 / D
one_way_ties = 4 * D / (D + 2)
exact_from = 2

# %% quarter right: divided
gather = D * (D - 1) / 2
even_ratio = gather / (D**2 / 8)
odd_ratio = gather / ((D**2 - 1) / 8)
limit_ratio = 2 * 2
one_way_ties = (D * D / 2) / (D / 2 * (D / 2 + 1) / 2)
exact_from = int(Rational(8, 4))

# %% quarter right: four, less what is missing, as text
even_ratio = "4 - 4/D"
odd_ratio = "4 - 4/(D + 1)"
limit_ratio = "4"
one_way_ties = "4 - 8/(D + 2)"
exact_from = 2
