# Answers that the checks of exercise set 3 must reject or accept.
#
# A cell is titled with the answer cell's grade_id, then `wrong: ` with the
# mistake or `right: ` with what is different. Run by tests/exercises.


# %% four wrong: stacks instead of putting end to end
def gathered(A):
    return jax.lax.all_gather(A, "Y", axis=1, tiled=False, to="invarying")


def summed(C):
    return jax.lax.psum(C, "Y")


def scattered(C):
    return jax.lax.psum_scatter(C, "Y", scatter_dimension=1, tiled=True)


def exchanged(A):
    return jax.lax.all_to_all(A, "Y", split_axis=0, concat_axis=1, tiled=True)


# %% four wrong: the mean
def gathered(A):
    return jax.lax.all_gather(A, "Y", axis=1, tiled=True, to="invarying")


def summed(C):
    return jax.lax.pmean(C, "Y")


def scattered(C):
    return jax.lax.psum_scatter(C, "Y", scatter_dimension=1, tiled=True)


def exchanged(A):
    return jax.lax.all_to_all(A, "Y", split_axis=0, concat_axis=1, tiled=True)


# %% four wrong: a sum, of which a part is kept
def gathered(A):
    return jax.lax.all_gather(A, "Y", axis=1, tiled=True, to="invarying")


def summed(C):
    return jax.lax.psum(C, "Y")


def scattered(C):
    width = C.shape[1] // jax.lax.axis_size("Y")
    mine = jax.lax.axis_index("Y") * width
    return jax.lax.dynamic_slice_in_dim(summed(C), mine, width, 1)


def exchanged(A):
    return jax.lax.all_to_all(A, "Y", split_axis=0, concat_axis=1, tiled=True)


# %% four wrong: cuts where it should join
def gathered(A):
    return jax.lax.all_gather(A, "Y", axis=1, tiled=True, to="invarying")


def summed(C):
    return jax.lax.psum(C, "Y")


def scattered(C):
    return jax.lax.psum_scatter(C, "Y", scatter_dimension=1, tiled=True)


def exchanged(A):
    return jax.lax.all_to_all(A, "Y", split_axis=1, concat_axis=0, tiled=True)


# %% four wrong: a gather where an exchange was asked
def gathered(A):
    return jax.lax.all_gather(A, "Y", axis=1, tiled=True, to="invarying")


def summed(C):
    return jax.lax.psum(C, "Y")


def scattered(C):
    return jax.lax.psum_scatter(C, "Y", scatter_dimension=1, tiled=True)


def exchanged(A):
    rows = A.shape[0] // jax.lax.axis_size("Y")
    mine = jax.lax.axis_index("Y") * rows
    A = jax.lax.all_gather(A, "Y", axis=1, tiled=True)
    return jax.lax.dynamic_slice_in_dim(A, mine, rows)


# %% four wrong: a sum in two collectives
def gathered(A):
    return jax.lax.all_gather(A, "Y", axis=1, tiled=True, to="invarying")


def summed(C):
    C = jax.lax.psum_scatter(C, "Y", scatter_dimension=1, tiled=True)
    return gathered(C)


def scattered(C):
    return jax.lax.psum_scatter(C, "Y", scatter_dimension=1, tiled=True)


def exchanged(A):
    return jax.lax.all_to_all(A, "Y", split_axis=0, concat_axis=1, tiled=True)


# %% four wrong: adds up over both axes
def gathered(A):
    return jax.lax.all_gather(A, "Y", axis=1, tiled=True, to="invarying")


def summed(C):
    return jax.lax.psum(C, ("X", "Y"))


def scattered(C):
    return jax.lax.psum_scatter(C, "Y", scatter_dimension=1, tiled=True)


def exchanged(A):
    return jax.lax.all_to_all(A, "Y", split_axis=0, concat_axis=1, tiled=True)


# %% four wrong: scatters rows
def gathered(A):
    return jax.lax.all_gather(A, "Y", axis=1, tiled=True, to="invarying")


def summed(C):
    return jax.lax.psum(C, "Y")


def scattered(C):
    return jax.lax.psum_scatter(C, "Y", scatter_dimension=0, tiled=True)


def exchanged(A):
    return jax.lax.all_to_all(A, "Y", split_axis=0, concat_axis=1, tiled=True)


# %% four wrong: the same collectives over X
def gathered(A):
    return jax.lax.all_gather(A, "X", axis=1, tiled=True, to="invarying")


def summed(C):
    return jax.lax.psum(C, "X")


def scattered(C):
    return jax.lax.psum_scatter(C, "X", scatter_dimension=1, tiled=True)


def exchanged(A):
    return jax.lax.all_to_all(A, "X", split_axis=0, concat_axis=1, tiled=True)


# %% four wrong: scatters single entries
def gathered(A):
    return jax.lax.all_gather(A, "Y", axis=1, tiled=True, to="invarying")


def summed(C):
    return jax.lax.psum(C, "Y")


def scattered(C):
    return jax.lax.psum_scatter(C, "Y", scatter_dimension=1)


def exchanged(A):
    return jax.lax.all_to_all(A, "Y", split_axis=0, concat_axis=1, tiled=True)


# %% four right: stacked, and put in place by hand
def gathered(A):
    blocks = jax.lax.all_gather(A, "Y", axis=1, tiled=False, to="invarying")
    return blocks.reshape(A.shape[0], -1)


def summed(C):
    return jax.lax.psum(C.ravel(), "Y").reshape(C.shape)


def scattered(C):
    pieces = C.reshape(C.shape[0], jax.lax.axis_size("Y"), -1)
    return jax.lax.psum_scatter(pieces, "Y", scatter_dimension=1, tiled=False)


def exchanged(A):
    parts = jnp.stack(jnp.split(A, jax.lax.axis_size("Y")))
    received = jax.lax.all_to_all(parts, "Y", 0, 0, tiled=False)
    return jnp.concatenate(received, axis=1)


# %% four right: of the transposed
def gathered(A):
    return jax.lax.all_gather(A.T, "Y", axis=0, tiled=True, to="invarying").T


def summed(C):
    twice = jax.lax.psum(2 * C.T, "Y")
    return twice.T / 2


def scattered(C):
    return jax.lax.psum_scatter(C.T, "Y", scatter_dimension=0, tiled=True).T


def exchanged(A):
    return jax.lax.all_to_all(
        A.T, "Y", split_axis=1, concat_axis=0, tiled=True
    ).T


# %% gather_time wrong: the slow link left out
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    steps = N // 2 if wrap else N - 1
    waiting = 0
    seconds = waiting * max(T_min, V / N / slow_bw)
    return seconds + (steps - waiting) * max(T_min, V / N / link_bw)


# %% gather_time wrong: the library's gather, which knows no slow link
from shardlab import cost


def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    return cost.t_collective(
        "all_gather",
        V,
        N,
        link_bw,
        T_min,
        wrap=wrap,
        ties="one_way",
        overlap=True,
    )


# %% gather_time wrong: the library's gather, all links slow
from shardlab import cost


def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    return cost.t_collective(
        "all_gather",
        V,
        N,
        slow_bw,
        T_min,
        wrap=wrap,
        ties="one_way",
        overlap=True,
    )


# %% gather_time wrong: every step waits for the slow link
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    steps = N // 2 if wrap else N - 1
    waiting = steps
    seconds = waiting * max(T_min, V / N / slow_bw)
    return seconds + (steps - waiting) * max(T_min, V / N / link_bw)


# %% gather_time wrong: the middle is worse
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    steps = N // 2 if wrap else N - 1
    waiting = steps if wrap else min(after + 1, N - 1 - after)
    seconds = waiting * max(T_min, V / N / slow_bw)
    return seconds + (steps - waiting) * max(T_min, V / N / link_bw)


# %% gather_time wrong: shards from the left alone
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    steps = N // 2 if wrap else N - 1
    waiting = steps if wrap else after + 1
    seconds = waiting * max(T_min, V / N / slow_bw)
    return seconds + (steps - waiting) * max(T_min, V / N / link_bw)


# %% gather_time wrong: shards from the right alone
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    steps = N // 2 if wrap else N - 1
    waiting = steps if wrap else N - 1 - after
    seconds = waiting * max(T_min, V / N / slow_bw)
    return seconds + (steps - waiting) * max(T_min, V / N / link_bw)


# %% gather_time wrong: one step waits
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    steps = N // 2 if wrap else N - 1
    waiting = 1
    seconds = waiting * max(T_min, V / N / slow_bw)
    return seconds + (steps - waiting) * max(T_min, V / N / link_bw)


# %% gather_time wrong: half of the steps wait
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    steps = N // 2 if wrap else N - 1
    waiting = steps if wrap else N // 2
    seconds = waiting * max(T_min, V / N / slow_bw)
    return seconds + (steps - waiting) * max(T_min, V / N / link_bw)


# %% gather_time wrong: the link before chip after
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    steps = N // 2 if wrap else N - 1
    waiting = steps if wrap else max(after, N - after)
    seconds = waiting * max(T_min, V / N / slow_bw)
    return seconds + (steps - waiting) * max(T_min, V / N / link_bw)


# %% gather_time wrong: chip after does not send
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    steps = N // 2 if wrap else N - 1
    waiting = steps if wrap else max(after, N - 1 - after)
    seconds = waiting * max(T_min, V / N / slow_bw)
    return seconds + (steps - waiting) * max(T_min, V / N / link_bw)


# %% gather_time wrong: chip after on both sides
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    steps = N // 2 if wrap else N - 1
    waiting = steps if wrap else max(after + 1, N - after)
    seconds = waiting * max(T_min, V / N / slow_bw)
    return seconds + (steps - waiting) * max(T_min, V / N / link_bw)


# %% gather_time wrong: done when the slow link is
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    steps = N // 2 if wrap else N - 1
    waiting = steps if wrap else max(after + 1, N - 1 - after)
    return waiting * max(T_min, V / N / slow_bw)


# %% gather_time wrong: the busier of two links decides
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    steps = N // 2 if wrap else N - 1
    waiting = steps if wrap else max(after + 1, N - 1 - after)
    slow = waiting * max(T_min, V / N / slow_bw)
    return max(slow, steps * max(T_min, V / N / link_bw))


# %% gather_time wrong: no latency
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    steps = N // 2 if wrap else N - 1
    waiting = steps if wrap else max(after + 1, N - 1 - after)
    seconds = waiting * V / N / slow_bw
    return seconds + (steps - waiting) * V / N / link_bw


# %% gather_time wrong: latency once, not for every hop
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    steps = N // 2 if wrap else N - 1
    waiting = steps if wrap else max(after + 1, N - 1 - after)
    seconds = waiting * V / N / slow_bw
    return max(T_min, seconds + (steps - waiting) * V / N / link_bw)


# %% gather_time wrong: latency of all hops against all bytes
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    steps = N // 2 if wrap else N - 1
    waiting = steps if wrap else max(after + 1, N - 1 - after)
    seconds = waiting * V / N / slow_bw
    seconds += (steps - waiting) * V / N / link_bw
    return max(steps * T_min, seconds)


# %% gather_time wrong: latency added
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    steps = N // 2 if wrap else N - 1
    waiting = steps if wrap else max(after + 1, N - 1 - after)
    seconds = waiting * (T_min + V / N / slow_bw)
    return seconds + (steps - waiting) * (T_min + V / N / link_bw)


# %% gather_time wrong: latency alone
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    steps = N // 2 if wrap else N - 1
    return steps * T_min


# %% gather_time wrong: takes every axis for a ring
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    return N // 2 * max(T_min, V / N / slow_bw)


# %% gather_time wrong: takes every axis for a line
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    steps = N - 1
    waiting = max(after + 1, N - 1 - after)
    seconds = waiting * max(T_min, V / N / slow_bw)
    return seconds + (steps - waiting) * max(T_min, V / N / link_bw)


# %% gather_time wrong: rounds the hops of a ring up
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    steps = (N + 1) // 2 if wrap else N - 1
    waiting = steps if wrap else max(after + 1, N - 1 - after)
    seconds = waiting * max(T_min, V / N / slow_bw)
    return seconds + (steps - waiting) * max(T_min, V / N / link_bw)


# %% gather_time wrong: half a hop on odd rings
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    steps = N / 2 if wrap else N - 1
    waiting = steps if wrap else max(after + 1, N - 1 - after)
    seconds = waiting * max(T_min, V / N / slow_bw)
    return seconds + (steps - waiting) * max(T_min, V / N / link_bw)


# %% gather_time wrong: visits itself on a line
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    steps = N // 2 if wrap else N
    waiting = steps if wrap else max(after + 1, N - 1 - after)
    seconds = waiting * max(T_min, V / N / slow_bw)
    return seconds + (steps - waiting) * max(T_min, V / N / link_bw)


# %% gather_time wrong: puts the bytes of a shard where those of the array are
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    steps = N // 2 if wrap else N - 1
    waiting = steps if wrap else max(after + 1, N - 1 - after)
    seconds = waiting * max(T_min, V / N / N / slow_bw)
    return seconds + (steps - waiting) * max(T_min, V / N / N / link_bw)


# %% gather_time wrong: each hop carries the whole array
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    steps = N // 2 if wrap else N - 1
    waiting = steps if wrap else max(after + 1, N - 1 - after)
    seconds = waiting * max(T_min, V / slow_bw)
    return seconds + (steps - waiting) * max(T_min, V / link_bw)


# %% gather_time wrong: a hop in two directions takes half the time
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    steps = N // 2 if wrap else N - 1
    waiting = steps if wrap else max(after + 1, N - 1 - after)
    seconds = waiting * max(T_min, V / 2 / N / slow_bw)
    return seconds + (steps - waiting) * max(T_min, V / 2 / N / link_bw)


# %% gather_time wrong: the formula of texts, a ring without latency
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    return V / (2 * slow_bw)


# %% gather_time wrong: ties split
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    if wrap:
        return max((N - 1) / 2 * V / N / slow_bw, N // 2 * T_min)
    steps, waiting = N - 1, max(after + 1, N - 1 - after)
    seconds = waiting * max(T_min, V / N / slow_bw)
    return seconds + (steps - waiting) * max(T_min, V / N / link_bw)


# %% gather_time wrong: microseconds
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    steps = N // 2 if wrap else N - 1
    waiting = steps if wrap else max(after + 1, N - 1 - after)
    seconds = waiting * max(T_min, V / N / slow_bw)
    seconds += (steps - waiting) * max(T_min, V / N / link_bw)
    return 1e6 * seconds


# %% gather_time right: step by step, shard by shard
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    seconds = 0.0
    for step in range(1, (N // 2 if wrap else N - 1) + 1):
        to_the_right = wrap or after - step + 1 >= 0
        to_the_left = wrap or after + step < N
        crossed = to_the_right or to_the_left
        bandwidth = slow_bw if crossed else link_bw
        seconds += max(T_min, V / N / bandwidth)
    return seconds


# %% gather_time right: arrays of steps
def t_all_gather(V, N, wrap, link_bw, T_min, slow_bw, after):
    step = np.arange(1, 1 + (N // 2 if wrap else N - 1))
    crossed = wrap | (step <= after + 1) | (step < N - after)
    took = V / N / np.where(crossed, slow_bw, link_bw)
    return np.maximum(took, T_min).sum()


# %% small wrong: elements for bytes
whole_bytes = 3072
shard_bytes = 6
hops = 12
seconds = 12e-6


def knee_bytes(n, axes, link_bw, T_min):
    latency = axes * (n // 2) * T_min
    return latency * 2 * axes * link_bw / (1 - 1 / n**axes)


# %% small wrong: four bytes an element
whole_bytes = 12288
shard_bytes = 24
hops = 12
seconds = 12e-6


def knee_bytes(n, axes, link_bw, T_min):
    latency = axes * (n // 2) * T_min
    return latency * 2 * axes * link_bw / (1 - 1 / n**axes)


# %% small wrong: elements for the bytes of a shard
whole_bytes = 6144
shard_bytes = 6
hops = 12
seconds = 12e-6


def knee_bytes(n, axes, link_bw, T_min):
    latency = axes * (n // 2) * T_min
    return latency * 2 * axes * link_bw / (1 - 1 / n**axes)


# %% small wrong: X alone cuts the array
whole_bytes = 6144
shard_bytes = 768
hops = 12
seconds = 12e-6


def knee_bytes(n, axes, link_bw, T_min):
    latency = axes * (n // 2) * T_min
    return latency * 2 * axes * link_bw / (1 - 1 / n**axes)


# %% small wrong: the hops of one ring of all chips
whole_bytes = 6144
shard_bytes = 12
hops = 256
seconds = 256e-6


def knee_bytes(n, axes, link_bw, T_min):
    latency = axes * (n // 2) * T_min
    return latency * 2 * axes * link_bw / (1 - 1 / n**axes)


# %% small wrong: all axes in the time of one
whole_bytes = 6144
shard_bytes = 12
hops = 4
seconds = 4e-6


def knee_bytes(n, axes, link_bw, T_min):
    latency = axes * (n // 2) * T_min
    return latency * 2 * axes * link_bw / (1 - 1 / n**axes)


# %% small wrong: hops of lines
whole_bytes = 6144
shard_bytes = 12
hops = 21
seconds = 21e-6


def knee_bytes(n, axes, link_bw, T_min):
    latency = axes * (n // 2) * T_min
    return latency * 2 * axes * link_bw / (1 - 1 / n**axes)


# %% small wrong: seconds by bandwidth
whole_bytes = 6144
shard_bytes = 12
hops = 12
seconds = 6144 / (6 * 9e10)


def knee_bytes(n, axes, link_bw, T_min):
    latency = axes * (n // 2) * T_min
    return latency * 2 * axes * link_bw / (1 - 1 / n**axes)


# %% small wrong: the knee of one ring of all chips
whole_bytes = 6144
shard_bytes = 12
hops = 12
seconds = 12e-6


def knee_bytes(n, axes, link_bw, T_min):
    latency = n**axes // 2 * T_min
    return latency * 2 * link_bw / (1 - 1 / n**axes)


# %% small wrong: seconds of one hop
whole_bytes = 6144
shard_bytes = 12
hops = 12
seconds = 1e-6


def knee_bytes(n, axes, link_bw, T_min):
    latency = axes * (n // 2) * T_min
    return latency * 2 * axes * link_bw / (1 - 1 / n**axes)


# %% small wrong: the knee with V/W for the bytes
whole_bytes = 6144
shard_bytes = 12
hops = 12
seconds = 12e-6


def knee_bytes(n, axes, link_bw, T_min):
    latency = axes * (n // 2) * T_min
    return latency * 2 * axes * link_bw


# %% small wrong: the knee with the factor of one axis
whole_bytes = 6144
shard_bytes = 12
hops = 12
seconds = 12e-6


def knee_bytes(n, axes, link_bw, T_min):
    latency = axes * (n // 2) * T_min
    return latency * 2 * axes * link_bw / (1 - 1 / n)


# %% small wrong: the knee with the hops of one axis
whole_bytes = 6144
shard_bytes = 12
hops = 12
seconds = 12e-6


def knee_bytes(n, axes, link_bw, T_min):
    latency = (n // 2) * T_min
    return latency * 2 * axes * link_bw / (1 - 1 / n**axes)


# %% small wrong: the knee with the links of one axis
whole_bytes = 6144
shard_bytes = 12
hops = 12
seconds = 12e-6


def knee_bytes(n, axes, link_bw, T_min):
    latency = axes * (n // 2) * T_min
    return latency * 2 * link_bw / (1 - 1 / n**axes)


# %% small wrong: the knee with one link of each axis
whole_bytes = 6144
shard_bytes = 12
hops = 12
seconds = 12e-6


def knee_bytes(n, axes, link_bw, T_min):
    latency = axes * (n // 2) * T_min
    return latency * axes * link_bw / (1 - 1 / n**axes)


# %% small wrong: the knee with one hop for an axis
whole_bytes = 6144
shard_bytes = 12
hops = 12
seconds = 12e-6


def knee_bytes(n, axes, link_bw, T_min):
    latency = axes * T_min
    return latency * 2 * axes * link_bw / (1 - 1 / n**axes)


# %% small wrong: the knee with half a hop
whole_bytes = 6144
shard_bytes = 12
hops = 12
seconds = 12e-6


def knee_bytes(n, axes, link_bw, T_min):
    latency = axes * (n / 2) * T_min
    return latency * 2 * axes * link_bw / (1 - 1 / n**axes)


# %% small wrong: the knee with lines
whole_bytes = 6144
shard_bytes = 12
hops = 12
seconds = 12e-6


def knee_bytes(n, axes, link_bw, T_min):
    latency = axes * (n - 1) * T_min
    return latency * 2 * axes * link_bw / (1 - 1 / n**axes)


# %% small wrong: adds bytes to hops
whole_bytes = 6144
shard_bytes = 12
hops = 12
seconds = 12e-6 + 6144 * 511 / 512 / (6 * 9e10)


def knee_bytes(n, axes, link_bw, T_min):
    latency = axes * (n // 2) * T_min
    return latency * 2 * axes * link_bw / (1 - 1 / n**axes)


# %% small wrong: all the way round each axis
whole_bytes = 6144
shard_bytes = 12
hops = 24
seconds = 24e-6


def knee_bytes(n, axes, link_bw, T_min):
    latency = axes * (n // 2) * T_min
    return latency * 2 * axes * link_bw / (1 - 1 / n**axes)


# %% small wrong: the knee with the factor on the wrong side
whole_bytes = 6144
shard_bytes = 12
hops = 12
seconds = 12e-6


def knee_bytes(n, axes, link_bw, T_min):
    latency = axes * (n // 2) * T_min
    return latency * 2 * axes * link_bw * (1 - 1 / n**axes)


# %% small wrong: seconds all the way round each axis
whole_bytes = 3072 * 2
shard_bytes = whole_bytes // 8**3
hops = 4 + 4 + 4
seconds = 24 * 1e-6


def knee_bytes(n, axes, link_bw, T_min):
    latency = axes * (n // 2) * T_min
    return latency * 2 * axes * link_bw / (1 - 1 / n**axes)


# %% small right: from NumPy's sizes
whole = np.zeros(3072, np.float16)
whole_bytes = whole.nbytes
shard_bytes = np.split(whole, 512)[0].nbytes
hops = sum(max(min(far, 8 - far) for far in range(8)) for axis in "XYZ")
seconds = max(hops * 1e-6, whole_bytes / 54e10)


def knee_bytes(n, axes, link_bw, T_min):
    chips = n**axes
    shard = axes * (n // 2) * T_min / ((chips - 1) / (2 * axes * link_bw))
    return chips * shard


# %% small right: solved for V
whole_bytes = np.int64(6144)
shard_bytes = 12.0
hops = 4 + 4 + 4
seconds = 12 / 10**6


def knee_bytes(n, axes, link_bw, T_min):
    seconds_of_a_byte = (1 - float(n) ** -axes) / link_bw / axes / 2
    return (n - n % 2) / 2 * axes * T_min / seconds_of_a_byte


# %% cube wrong: scatters all of the array
def limit_times(B, D, X, Y, Z, W):
    V = 2 * B * D
    return [V / W, V / Y / (2 * W), V / Z / W]


def exact_times(B, D, n, W):
    scatter_y, gather_xz, reduce_xy = limit_times(B, D, n, n, n, W)
    ring, square = (n - 1) / n, (n * n - 1) / (n * n)
    return [ring * scatter_y, square * gather_xz, square * reduce_xy]


# %% cube wrong: divides by the axis that is scattered
def limit_times(B, D, X, Y, Z, W):
    V = 2 * B * D
    return [V / Y / W, V / Y / (2 * W), V / Z / W]


def exact_times(B, D, n, W):
    scatter_y, gather_xz, reduce_xy = limit_times(B, D, n, n, n, W)
    ring, square = (n - 1) / n, (n * n - 1) / (n * n)
    return [ring * scatter_y, square * gather_xz, square * reduce_xy]


# %% cube wrong: divides by both axes
def limit_times(B, D, X, Y, Z, W):
    V = 2 * B * D
    return [V / (X * Y) / W, V / Y / (2 * W), V / Z / W]


def exact_times(B, D, n, W):
    scatter_y, gather_xz, reduce_xy = limit_times(B, D, n, n, n, W)
    ring, square = (n - 1) / n, (n * n - 1) / (n * n)
    return [ring * scatter_y, square * gather_xz, square * reduce_xy]


# %% cube wrong: two axes with the bandwidth of one
def limit_times(B, D, X, Y, Z, W):
    V = 2 * B * D
    return [V / X / W, V / Y / W, V / Z / W]


def exact_times(B, D, n, W):
    scatter_y, gather_xz, reduce_xy = limit_times(B, D, n, n, n, W)
    ring, square = (n - 1) / n, (n * n - 1) / (n * n)
    return [ring * scatter_y, square * gather_xz, square * reduce_xy]


# %% cube wrong: gathers all of the array
def limit_times(B, D, X, Y, Z, W):
    V = 2 * B * D
    return [V / X / W, V / (2 * W), V / Z / W]


def exact_times(B, D, n, W):
    scatter_y, gather_xz, reduce_xy = limit_times(B, D, n, n, n, W)
    ring, square = (n - 1) / n, (n * n - 1) / (n * n)
    return [ring * scatter_y, square * gather_xz, square * reduce_xy]


# %% cube wrong: gathers a shard
def limit_times(B, D, X, Y, Z, W):
    V = 2 * B * D
    return [V / X / W, V / (X * Y * Z) / (2 * W), V / Z / W]


def exact_times(B, D, n, W):
    scatter_y, gather_xz, reduce_xy = limit_times(B, D, n, n, n, W)
    ring, square = (n - 1) / n, (n * n - 1) / (n * n)
    return [ring * scatter_y, square * gather_xz, square * reduce_xy]


# %% cube wrong: a sum for the price of a gather
def limit_times(B, D, X, Y, Z, W):
    V = 2 * B * D
    return [V / X / W, V / Y / (2 * W), V / Z / (2 * W)]


def exact_times(B, D, n, W):
    scatter_y, gather_xz, reduce_xy = limit_times(B, D, n, n, n, W)
    ring, square = (n - 1) / n, (n * n - 1) / (n * n)
    return [ring * scatter_y, square * gather_xz, square * reduce_xy]


# %% cube wrong: a sum over one axis at a time
def limit_times(B, D, X, Y, Z, W):
    V = 2 * B * D
    return [V / X / W, V / Y / (2 * W), 2 * V / Z / W]


def exact_times(B, D, n, W):
    scatter_y, gather_xz, reduce_xy = limit_times(B, D, n, n, n, W)
    ring, square = (n - 1) / n, (n * n - 1) / (n * n)
    return [ring * scatter_y, square * gather_xz, square * reduce_xy]


# %% cube wrong: adds up the whole array
def limit_times(B, D, X, Y, Z, W):
    V = 2 * B * D
    return [V / X / W, V / Y / (2 * W), V / W]


def exact_times(B, D, n, W):
    scatter_y, gather_xz, reduce_xy = limit_times(B, D, n, n, n, W)
    ring, square = (n - 1) / n, (n * n - 1) / (n * n)
    return [ring * scatter_y, square * gather_xz, square * reduce_xy]


# %% cube wrong: elements for bytes
def limit_times(B, D, X, Y, Z, W):
    V = 1 * B * D
    return [V / X / W, V / Y / (2 * W), V / Z / W]


def exact_times(B, D, n, W):
    scatter_y, gather_xz, reduce_xy = limit_times(B, D, n, n, n, W)
    ring, square = (n - 1) / n, (n * n - 1) / (n * n)
    return [ring * scatter_y, square * gather_xz, square * reduce_xy]


# %% cube wrong: limits for exact times
def limit_times(B, D, X, Y, Z, W):
    V = 2 * B * D
    return [V / X / W, V / Y / (2 * W), V / Z / W]


def exact_times(B, D, n, W):
    scatter_y, gather_xz, reduce_xy = limit_times(B, D, n, n, n, W)
    ring = square = 1
    return [ring * scatter_y, square * gather_xz, square * reduce_xy]


# %% cube wrong: a square has the factor of a ring
def limit_times(B, D, X, Y, Z, W):
    V = 2 * B * D
    return [V / X / W, V / Y / (2 * W), V / Z / W]


def exact_times(B, D, n, W):
    scatter_y, gather_xz, reduce_xy = limit_times(B, D, n, n, n, W)
    ring, square = (n - 1) / n, (n - 1) / n
    return [ring * scatter_y, square * gather_xz, square * reduce_xy]


# %% cube wrong: a square has the factor of a ring twice
def limit_times(B, D, X, Y, Z, W):
    V = 2 * B * D
    return [V / X / W, V / Y / (2 * W), V / Z / W]


def exact_times(B, D, n, W):
    scatter_y, gather_xz, reduce_xy = limit_times(B, D, n, n, n, W)
    ring, square = (n - 1) / n, ((n - 1) / n) ** 2
    return [ring * scatter_y, square * gather_xz, square * reduce_xy]


# %% cube wrong: the factor of the whole cube
def limit_times(B, D, X, Y, Z, W):
    V = 2 * B * D
    return [V / X / W, V / Y / (2 * W), V / Z / W]


def exact_times(B, D, n, W):
    scatter_y, gather_xz, reduce_xy = limit_times(B, D, n, n, n, W)
    ring, square = (n - 1) / n, 1 - 1 / n**3
    return [ring * scatter_y, square * gather_xz, square * reduce_xy]


# %% cube right: from the shapes of shards
def limit_times(B, D, X, Y, Z, W):
    rows, columns = B / X, D / Y
    shard = rows * columns * 2
    return [Y * shard / W, X * shard / W / 2, X * Y * shard / Z / W]


def exact_times(B, D, n, W):
    shard = 2 * B * D / n**3
    lacking = [n * (n - 1), n * n - 1, 2 * (n * n - 1)]
    axes = [1, 2, 2]
    return [shard * parts / (a * W) for parts, a in zip(lacking, axes)]


# %% cube right: a time for each, by group and axes
def gathered(V, axes, W):
    return V / (len(axes) * W)


def limit_times(B, D, X, Y, Z, W):
    cut_by_z = B * 2 * (D / Z)
    halves = [gathered(cut_by_z, "XY", W) for _ in ("scatter", "gather")]
    return (
        gathered(2 * B / X * D, "Y", W),
        gathered(2 * B * D / Y, "XZ", W),
        sum(halves),
    )


def exact_times(B, D, n, W):
    limits = np.array(limit_times(B, D, n, n, n, W))
    return limits * (1 - 1 / np.array([n, n**2, n**2]))


# %% idle wrong: leaves Z idle
def sum_with_Z(C):
    return jax.lax.psum(C, "X")


# %% idle wrong: a scatter and a gather over X
def sum_with_Z(C):
    part = jax.lax.psum_scatter(C, "X", scatter_dimension=0, tiled=True)
    return jax.lax.all_gather(part, "X", axis=0, tiled=True, to="invarying")


# %% idle wrong: one AllReduce over both axes, which adds up copies
def sum_with_Z(C):
    C = jax.lax.pcast(C, "Z", to="varying")
    return jax.lax.psum(C, ("X", "Z")) / jax.lax.axis_size("Z")


# %% idle wrong: adds up a part on all devices, then gathers over Z alone
def sum_with_Z(C):
    rows = C.shape[0] // jax.lax.axis_size("Z")
    first = jax.lax.axis_index("Z") * rows
    part = jax.lax.dynamic_slice_in_dim(C, first, rows)
    part = jax.lax.psum(part, "X")
    return jax.lax.all_gather(part, "Z", axis=0, tiled=True, to="invarying")


# %% idle wrong: scatters all of C, and gathers over both axes
def sum_with_Z(C):
    Z = jax.lax.axis_size("Z")
    part = jax.lax.psum_scatter(C, "X", scatter_dimension=0, tiled=True)
    rows = part.shape[0] // Z
    first = jax.lax.axis_index("Z") * rows
    part = jax.lax.dynamic_slice_in_dim(part, first, rows)
    return jax.lax.all_gather(
        part, ("X", "Z"), axis=0, tiled=True, to="invarying"
    )


# %% idle wrong: gathers over one axis after the other
def sum_with_Z(C):
    rows = C.shape[0] // jax.lax.axis_size("Z")
    first = jax.lax.axis_index("Z") * rows
    part = jax.lax.dynamic_slice_in_dim(C, first, rows)
    part = jax.lax.psum_scatter(part, "X", scatter_dimension=0, tiled=True)
    part = jax.lax.all_gather(part, "X", axis=0, tiled=True, to="invarying")
    return jax.lax.all_gather(part, "Z", axis=0, tiled=True, to="invarying")


# %% idle wrong: the axes in the other order
def sum_with_Z(C):
    rows = C.shape[0] // jax.lax.axis_size("Z")
    first = jax.lax.axis_index("Z") * rows
    part = jax.lax.dynamic_slice_in_dim(C, first, rows)
    part = jax.lax.psum_scatter(part, "X", scatter_dimension=0, tiled=True)
    return jax.lax.all_gather(
        part, ("X", "Z"), axis=0, tiled=True, to="invarying"
    )


# %% idle wrong: forgets nothing of what it gathers
def sum_with_Z(C):
    rows = C.shape[0] // jax.lax.axis_size("Z")
    first = jax.lax.axis_index("Z") * rows
    part = jax.lax.dynamic_slice_in_dim(C, first, rows)
    part = jax.lax.psum_scatter(part, "X", scatter_dimension=0, tiled=True)
    return (
        jax.lax.all_gather(
            jnp.tile(part, (2, 1)),
            ("Z", "X"),
            axis=0,
            tiled=True,
            to="invarying",
        )
        .reshape(-1, 2, *part.shape)[:, 0]
        .reshape(C.shape)
    )


# %% idle wrong: scatters over both axes, of which one has copies
def sum_with_Z(C):
    part = jax.lax.psum_scatter(C, ("X", "Z"), scatter_dimension=0, tiled=True)
    return jax.lax.all_gather(
        part, ("X", "Z"), axis=0, tiled=True, to="invarying"
    )


# %% idle wrong: cuts by the axis along which terms differ
def sum_with_Z(C):
    rows = C.shape[0] // jax.lax.axis_size("X")
    first = jax.lax.axis_index("X") * rows
    part = jax.lax.dynamic_slice_in_dim(C, first, rows)
    part = jax.lax.pcast(part, "Z", to="varying")
    part = jax.lax.psum_scatter(part, "Z", scatter_dimension=0, tiled=True)
    return jax.lax.all_gather(
        part, ("X", "Z"), axis=0, tiled=True, to="invarying"
    )


# %% idle right: deals rows to X first, then puts them in order
def sum_with_Z(C):
    X, Z = jax.lax.axis_size("X"), jax.lax.axis_size("Z")
    blocks = C.reshape(X, Z, -1, C.shape[1])
    own = jnp.take(blocks, jax.lax.axis_index("Z"), axis=1)
    part = jax.lax.psum_scatter(own, "X", scatter_dimension=0, tiled=False)
    every = jax.lax.all_gather(
        part, ("X", "Z"), axis=0, tiled=False, to="invarying"
    )
    return every.reshape(C.shape)


# %% idle right: cuts a long vector instead of rows
def sum_with_Z(C):
    Z, X = jax.lax.axis_size("Z"), jax.lax.axis_size("X")
    parts = jnp.stack(jnp.split(C.ravel(), Z))[jax.lax.axis_index("Z")]
    piece = jax.lax.psum_scatter(parts, "X", tiled=True)
    pieces = jax.lax.all_gather(piece, ("Z", "X"), to="invarying")
    return jnp.concatenate(pieces).reshape(C.shape)


# %% rate wrong: the algorithm bandwidth, V / T
def rate(kind, V, N, seconds, ports):
    share = {
        "AllGather": (N - 1) / N,
        "ReduceScatter": (N - 1) / N,
        "AllReduce": 2 * (N - 1) / N,
        "AllToAll": (N - 1) / N**2,
    }[kind]
    if kind == "AllToAll" and not ports:
        share = sum(min(far, N - far) for far in range(1, N)) / N**2
    return V / seconds


# %% rate wrong: a ring used one way
def rate(kind, V, N, seconds, ports):
    share = {
        "AllGather": (N - 1) / N,
        "ReduceScatter": (N - 1) / N,
        "AllReduce": 2 * (N - 1) / N,
        "AllToAll": (N - 1) / N**2,
    }[kind]
    if kind == "AllToAll" and not ports:
        share = sum(min(far, N - far) for far in range(1, N)) / N**2
    return share * V / seconds / 1


# %% rate wrong: ports used both ways
def rate(kind, V, N, seconds, ports):
    share = {
        "AllGather": (N - 1) / N,
        "ReduceScatter": (N - 1) / N,
        "AllReduce": 2 * (N - 1) / N,
        "AllToAll": (N - 1) / N**2,
    }[kind]
    if kind == "AllToAll" and not ports:
        share = sum(min(far, N - far) for far in range(1, N)) / N**2
    return share * V / seconds / 2


# %% rate wrong: links and ports exchanged
def rate(kind, V, N, seconds, ports):
    share = {
        "AllGather": (N - 1) / N,
        "ReduceScatter": (N - 1) / N,
        "AllReduce": 2 * (N - 1) / N,
        "AllToAll": (N - 1) / N**2,
    }[kind]
    if kind == "AllToAll" and not ports:
        share = sum(min(far, N - far) for far in range(1, N)) / N**2
    return share * V / seconds / (2 if ports else 1)


# %% rate wrong: an AllReduce is one collective
def rate(kind, V, N, seconds, ports):
    share = {
        "AllGather": (N - 1) / N,
        "ReduceScatter": (N - 1) / N,
        "AllReduce": (N - 1) / N,
        "AllToAll": (N - 1) / N**2,
    }[kind]
    if kind == "AllToAll" and not ports:
        share = sum(min(far, N - far) for far in range(1, N)) / N**2
    return share * V / seconds / (1 if ports else 2)


# %% rate wrong: an AllReduce as in the limit
def rate(kind, V, N, seconds, ports):
    share = {
        "AllGather": (N - 1) / N,
        "ReduceScatter": (N - 1) / N,
        "AllReduce": 2,
        "AllToAll": (N - 1) / N**2,
    }[kind]
    if kind == "AllToAll" and not ports:
        share = sum(min(far, N - far) for far in range(1, N)) / N**2
    return share * V / seconds / (1 if ports else 2)


# %% rate wrong: an AllToAll is like a gather
def rate(kind, V, N, seconds, ports):
    share = {
        "AllGather": (N - 1) / N,
        "ReduceScatter": (N - 1) / N,
        "AllReduce": 2 * (N - 1) / N,
        "AllToAll": (N - 1) / N,
    }[kind]
    if kind == "AllToAll" and not ports:
        share = sum(min(far, N - far) for far in range(1, N)) / N**2
    return share * V / seconds / (1 if ports else 2)


# %% rate wrong: an AllToAll is charged a quarter of V
def rate(kind, V, N, seconds, ports):
    share = {
        "AllGather": (N - 1) / N,
        "ReduceScatter": (N - 1) / N,
        "AllReduce": 2 * (N - 1) / N,
        "AllToAll": 1 / 4,
    }[kind]
    if kind == "AllToAll" and not ports:
        share = sum(min(far, N - far) for far in range(1, N)) / N**2
    return share * V / seconds / (1 if ports else 2)


# %% rate wrong: an AllToAll passes nothing on
def rate(kind, V, N, seconds, ports):
    share = {
        "AllGather": (N - 1) / N,
        "ReduceScatter": (N - 1) / N,
        "AllReduce": 2 * (N - 1) / N,
        "AllToAll": (N - 1) / N**2,
    }[kind]
    return share * V / seconds / (1 if ports else 2)


# %% rate wrong: an AllToAll takes a quarter on every ring
def rate(kind, V, N, seconds, ports):
    share = {
        "AllGather": (N - 1) / N,
        "ReduceScatter": (N - 1) / N,
        "AllReduce": 2 * (N - 1) / N,
        "AllToAll": (N - 1) / N**2,
    }[kind]
    if kind == "AllToAll" and not ports:
        share = 1 / 4
    return share * V / seconds / (1 if ports else 2)


# %% rate wrong: an AllToAll takes a quarter of the gather
def rate(kind, V, N, seconds, ports):
    share = {
        "AllGather": (N - 1) / N,
        "ReduceScatter": (N - 1) / N,
        "AllReduce": 2 * (N - 1) / N,
        "AllToAll": (N - 1) / N**2,
    }[kind]
    if kind == "AllToAll" and not ports:
        share = (N - 1) / N / 4
    return share * V / seconds / (1 if ports else 2)


# %% rate wrong: a part goes to the chip itself
def rate(kind, V, N, seconds, ports):
    share = {
        "AllGather": (N - 1) / N,
        "ReduceScatter": (N - 1) / N,
        "AllReduce": 2 * (N - 1) / N,
        "AllToAll": 1 / N,
    }[kind]
    if kind == "AllToAll" and not ports:
        share = sum(min(far, N - far) for far in range(1, N)) / N**2
    return share * V / seconds / (1 if ports else 2)


# %% rate wrong: an AllToAll whose ties go one way
def rate(kind, V, N, seconds, ports):
    share = {
        "AllGather": (N - 1) / N,
        "ReduceScatter": (N - 1) / N,
        "AllReduce": 2 * (N - 1) / N,
        "AllToAll": (N - 1) / N**2,
    }[kind]
    if kind == "AllToAll" and not ports:
        right = N // 2
        return right * (right + 1) / 2 / N**2 * V / seconds
    return share * V / seconds / (1 if ports else 2)


# %% rate wrong: a sum sends the whole array to all others
def rate(kind, V, N, seconds, ports):
    share = {
        "AllGather": (N - 1) / N,
        "ReduceScatter": N - 1,
        "AllReduce": 2 * (N - 1) / N,
        "AllToAll": (N - 1) / N**2,
    }[kind]
    if kind == "AllToAll" and not ports:
        share = sum(min(far, N - far) for far in range(1, N)) / N**2
    return share * V / seconds / (1 if ports else 2)


# %% rate wrong: the switch adds up
def rate(kind, V, N, seconds, ports):
    share = {
        "AllGather": (N - 1) / N,
        "ReduceScatter": (N - 1) / N,
        "AllReduce": (N + 1) / N if ports else 2 * (N - 1) / N,
        "AllToAll": (N - 1) / N**2,
    }[kind]
    if kind == "AllToAll" and not ports:
        share = sum(min(far, N - far) for far in range(1, N)) / N**2
    return share * V / seconds / (1 if ports else 2)


# %% rate wrong: gigabytes a second
def rate(kind, V, N, seconds, ports):
    share = {
        "AllGather": (N - 1) / N,
        "ReduceScatter": (N - 1) / N,
        "AllReduce": 2 * (N - 1) / N,
        "AllToAll": (N - 1) / N**2,
    }[kind]
    if kind == "AllToAll" and not ports:
        share = sum(min(far, N - far) for far in range(1, N)) / N**2
    return share * V / seconds / (1 if ports else 2) / 1e9


# %% rate right: bytes of wires, by parity
def rate(kind, V, N, seconds, ports):
    block = V / N
    if kind == "AllToAll":
        part = block / N
        crossing = N * N / 8 if N % 2 == 0 else (N * N - 1) / 8
        carried = part * (N - 1) if ports else part * crossing
    else:
        carried = block * (N - 1) if ports else block * (N - 1) / 2
        if kind == "AllReduce":
            carried += carried
    return carried / seconds


# %% rate right: chip by chip
def rate(kind, V, N, seconds, ports):
    if kind == "AllReduce":
        return 2 * rate("AllGather", V, N, seconds, ports)
    if kind == "AllToAll":
        hops = [1 if ports else min(d, N - d) for d in range(1, N)]
        sent = np.full(N - 1, V / N**2) * hops
    else:
        sent = np.full(N - 1, V / N)
    return float(sent.sum()) / seconds * (1.0 if ports else 0.5)


# %% bisection wrong: all axes are rings
def least_seconds(V, sizes, wraps, W):
    waits = [0.0]
    for n, ring in zip(sizes, wraps):
        half = n // 2
        crossing = V * half * (n - half) / n**2
        links = np.prod(sizes) / n * 2
        waits.append(crossing / (links * W / 2))
    return float(max(waits))


# %% bisection wrong: all axes are lines
def least_seconds(V, sizes, wraps, W):
    waits = [0.0]
    for n, ring in zip(sizes, wraps):
        half = n // 2
        crossing = V * half * (n - half) / n**2
        links = np.prod(sizes) / n * 1
        waits.append(crossing / (links * W / 2))
    return float(max(waits))


# %% bisection wrong: cuts odd axes in the middle of a chip
def least_seconds(V, sizes, wraps, W):
    waits = [0.0]
    for n, ring in zip(sizes, wraps):
        half = n // 2
        crossing = V / 4
        links = np.prod(sizes) / n * (2 if ring else 1)
        waits.append(crossing / (links * W / 2))
    return float(max(waits))


# %% bisection wrong: W for one direction
def least_seconds(V, sizes, wraps, W):
    waits = [0.0]
    for n, ring in zip(sizes, wraps):
        half = n // 2
        crossing = V * half * (n - half) / n**2
        links = np.prod(sizes) / n * (2 if ring else 1)
        waits.append(crossing / (links * W))
    return float(max(waits))


# %% bisection wrong: all bytes of one half cross
def least_seconds(V, sizes, wraps, W):
    waits = [0.0]
    for n, ring in zip(sizes, wraps):
        half = n // 2
        crossing = V * half / n
        links = np.prod(sizes) / n * (2 if ring else 1)
        waits.append(crossing / (links * W / 2))
    return float(max(waits))


# %% bisection wrong: adds cuts up
def least_seconds(V, sizes, wraps, W):
    waits = [0.0]
    for n, ring in zip(sizes, wraps):
        half = n // 2
        crossing = V * half * (n - half) / n**2
        links = np.prod(sizes) / n * (2 if ring else 1)
        waits.append(crossing / (links * W / 2))
    return float(sum(waits))


# %% bisection wrong: the easiest cut
def least_seconds(V, sizes, wraps, W):
    waits = [0.0]
    for n, ring in zip(sizes, wraps):
        half = n // 2
        crossing = V * half * (n - half) / n**2
        links = np.prod(sizes) / n * (2 if ring else 1)
        waits.append(crossing / (links * W / 2))
    return float(min(waits[1:]))


# %% bisection wrong: cuts the longest axis
def least_seconds(V, sizes, wraps, W):
    n = max(sizes)
    ring, half = wraps[sizes.index(n)], n // 2
    crossing = V * half * (n - half) / n**2
    links = np.prod(sizes) / n * (2 if ring else 1)
    return float(crossing / (links * W / 2))


# %% bisection wrong: the formula for tori of rings
def least_seconds(V, sizes, wraps, W):
    return float(V / 4 * max(sizes) / (np.prod(sizes) * W))


# %% bisection wrong: one ring
def least_seconds(V, sizes, wraps, W):
    return V / 4 / W


# %% bisection wrong: leaves all but the two longest axes out
def least_seconds(V, sizes, wraps, W):
    return max(
        V * (n * n // 4) / n**2 * n / np.prod(sizes) * (1 if ring else 2) / W
        for n, ring in sorted(zip(sizes, wraps))[-2:]
    )


# %% bisection wrong: cuts one layer off
def least_seconds(V, sizes, wraps, W):
    return max(
        V * (n - 1) / n / np.prod(sizes) * (1 if ring else 2) / W
        for n, ring in zip(sizes, wraps)
    )


# %% bisection wrong: sizes are sorted, and wraps are not
def least_seconds(V, sizes, wraps, W):
    waits = [0.0]
    for n, ring in zip(sorted(sizes), wraps):
        half = n // 2
        crossing = V * half * (n - half) / n**2
        links = np.prod(sizes) / n * (2 if ring else 1)
        waits.append(crossing / (links * W / 2))
    return float(max(waits))


# %% bisection right: every cut, layer by layer
def least_seconds(V, sizes, wraps, W):
    chips = int(np.prod(sizes))
    longest = 0.0
    for axis, n in enumerate(sizes):
        for layers in range(1, n):
            here = chips // n * layers
            across = chips // n + (chips // n if wraps[axis] else 0)
            bytes_ = V * here * (chips - here) / chips**2
            longest = max(longest, 2 * bytes_ / across / W)
    return longest


# %% bisection right: longest effective axis
def least_seconds(V, sizes, wraps, W):
    wide = []
    for n, closed in zip(sizes, wraps):
        share = (n * n - n % 2) / (4 * n)
        wide.append(share if closed else 2 * share)
    return V * max(wide) / W / np.prod(sizes, dtype=float)


# %% cluster wrong: port and card one after the other
def on_cluster(V, N, node, port, card):
    part = V / N**2
    return part * (node - 1) / port + part * (N - node) / card


def choose(V, limit, offers):
    def seconds(kind, *machine):
        if kind == "cluster":
            return on_cluster(V, *machine[:-1])
        sizes, wraps, link_bw, _ = machine
        waits = []
        for n, ring in zip(sizes, wraps):
            links = np.prod(sizes) / n * (2 if ring else 1)
            crossing = V * (n // 2) * (n - n // 2) / n**2
            waits.append(crossing / (links * link_bw))
        return max(waits)

    fit = [name for name in offers if seconds(*offers[name]) <= limit]
    return min(fit, key=lambda name: offers[name][-1])


# %% cluster wrong: all by the card
def on_cluster(V, N, node, port, card):
    part = V / N**2
    return part * (N - 1) / card


def choose(V, limit, offers):
    def seconds(kind, *machine):
        if kind == "cluster":
            return on_cluster(V, *machine[:-1])
        sizes, wraps, link_bw, _ = machine
        waits = []
        for n, ring in zip(sizes, wraps):
            links = np.prod(sizes) / n * (2 if ring else 1)
            crossing = V * (n // 2) * (n - n // 2) / n**2
            waits.append(crossing / (links * link_bw))
        return max(waits)

    fit = [name for name in offers if seconds(*offers[name]) <= limit]
    return min(fit, key=lambda name: offers[name][-1])


# %% cluster wrong: all by the port
def on_cluster(V, N, node, port, card):
    part = V / N**2
    return part * (N - 1) / port


def choose(V, limit, offers):
    def seconds(kind, *machine):
        if kind == "cluster":
            return on_cluster(V, *machine[:-1])
        sizes, wraps, link_bw, _ = machine
        waits = []
        for n, ring in zip(sizes, wraps):
            links = np.prod(sizes) / n * (2 if ring else 1)
            crossing = V * (n // 2) * (n - n // 2) / n**2
            waits.append(crossing / (links * link_bw))
        return max(waits)

    fit = [name for name in offers if seconds(*offers[name]) <= limit]
    return min(fit, key=lambda name: offers[name][-1])


# %% cluster wrong: one card carries for the node
def on_cluster(V, N, node, port, card):
    part = V / N**2
    return max(part * (node - 1) / port, part * node * (N - node) / card)


def choose(V, limit, offers):
    def seconds(kind, *machine):
        if kind == "cluster":
            return on_cluster(V, *machine[:-1])
        sizes, wraps, link_bw, _ = machine
        waits = []
        for n, ring in zip(sizes, wraps):
            links = np.prod(sizes) / n * (2 if ring else 1)
            crossing = V * (n // 2) * (n - n // 2) / n**2
            waits.append(crossing / (links * link_bw))
        return max(waits)

    fit = [name for name in offers if seconds(*offers[name]) <= limit]
    return min(fit, key=lambda name: offers[name][-1])


# %% cluster wrong: a part for the GPU itself
def on_cluster(V, N, node, port, card):
    part = V / N**2
    return max(part * (node) / port, part * (N - node) / card)


def choose(V, limit, offers):
    def seconds(kind, *machine):
        if kind == "cluster":
            return on_cluster(V, *machine[:-1])
        sizes, wraps, link_bw, _ = machine
        waits = []
        for n, ring in zip(sizes, wraps):
            links = np.prod(sizes) / n * (2 if ring else 1)
            crossing = V * (n // 2) * (n - n // 2) / n**2
            waits.append(crossing / (links * link_bw))
        return max(waits)

    fit = [name for name in offers if seconds(*offers[name]) <= limit]
    return min(fit, key=lambda name: offers[name][-1])


# %% cluster wrong: one part for each other node
def on_cluster(V, N, node, port, card):
    part = V / N**2
    return max(part * (node - 1) / port, part * (N // node - 1) / card)


def choose(V, limit, offers):
    def seconds(kind, *machine):
        if kind == "cluster":
            return on_cluster(V, *machine[:-1])
        sizes, wraps, link_bw, _ = machine
        waits = []
        for n, ring in zip(sizes, wraps):
            links = np.prod(sizes) / n * (2 if ring else 1)
            crossing = V * (n // 2) * (n - n // 2) / n**2
            waits.append(crossing / (links * link_bw))
        return max(waits)

    fit = [name for name in offers if seconds(*offers[name]) <= limit]
    return min(fit, key=lambda name: offers[name][-1])


# %% cluster wrong: parts are blocks
def on_cluster(V, N, node, port, card):
    part = V / N
    return max(part * (node - 1) / port, part * (N - node) / card)


def choose(V, limit, offers):
    def seconds(kind, *machine):
        if kind == "cluster":
            return on_cluster(V, *machine[:-1])
        sizes, wraps, link_bw, _ = machine
        waits = []
        for n, ring in zip(sizes, wraps):
            links = np.prod(sizes) / n * (2 if ring else 1)
            crossing = V * (n // 2) * (n - n // 2) / n**2
            waits.append(crossing / (links * link_bw))
        return max(waits)

    fit = [name for name in offers if seconds(*offers[name]) <= limit]
    return min(fit, key=lambda name: offers[name][-1])


# %% cluster wrong: the quicker of the two
def on_cluster(V, N, node, port, card):
    part = V / N**2
    return min(part * (node - 1) / port, part * (N - node) / card)


def choose(V, limit, offers):
    def seconds(kind, *machine):
        if kind == "cluster":
            return on_cluster(V, *machine[:-1])
        sizes, wraps, link_bw, _ = machine
        waits = []
        for n, ring in zip(sizes, wraps):
            links = np.prod(sizes) / n * (2 if ring else 1)
            crossing = V * (n // 2) * (n - n // 2) / n**2
            waits.append(crossing / (links * link_bw))
        return max(waits)

    fit = [name for name in offers if seconds(*offers[name]) <= limit]
    return min(fit, key=lambda name: offers[name][-1])


# %% cluster wrong: all that leaves the node, and nothing else
def on_cluster(V, N, node, port, card):
    part = V / N**2
    return part * (N - node) / card


def choose(V, limit, offers):
    def seconds(kind, *machine):
        if kind == "cluster":
            return on_cluster(V, *machine[:-1])
        sizes, wraps, link_bw, _ = machine
        waits = []
        for n, ring in zip(sizes, wraps):
            links = np.prod(sizes) / n * (2 if ring else 1)
            crossing = V * (n // 2) * (n - n // 2) / n**2
            waits.append(crossing / (links * link_bw))
        return max(waits)

    fit = [name for name in offers if seconds(*offers[name]) <= limit]
    return min(fit, key=lambda name: offers[name][-1])


# %% cluster wrong: the port counts on one node only
def on_cluster(V, N, node, port, card):
    part = V / N**2
    if N == node:
        return part * (node - 1) / port
    return part * (N - node) / card


def choose(V, limit, offers):
    def seconds(kind, *machine):
        if kind == "cluster":
            return on_cluster(V, *machine[:-1])
        sizes, wraps, link_bw, _ = machine
        waits = []
        for n, ring in zip(sizes, wraps):
            links = np.prod(sizes) / n * (2 if ring else 1)
            crossing = V * (n // 2) * (n - n // 2) / n**2
            waits.append(crossing / (links * link_bw))
        return max(waits)

    fit = [name for name in offers if seconds(*offers[name]) <= limit]
    return min(fit, key=lambda name: offers[name][-1])


# %% cluster wrong: port and card share every part
def on_cluster(V, N, node, port, card):
    part = V / N**2
    return part * (N - 1) / (port + card)


def choose(V, limit, offers):
    def seconds(kind, *machine):
        if kind == "cluster":
            return on_cluster(V, *machine[:-1])
        sizes, wraps, link_bw, _ = machine
        waits = []
        for n, ring in zip(sizes, wraps):
            links = np.prod(sizes) / n * (2 if ring else 1)
            crossing = V * (n // 2) * (n - n // 2) / n**2
            waits.append(crossing / (links * link_bw))
        return max(waits)

    fit = [name for name in offers if seconds(*offers[name]) <= limit]
    return min(fit, key=lambda name: offers[name][-1])


# %% cluster wrong: nodes have eight GPUs
def on_cluster(V, N, node, port, card):
    part = V / N**2
    return max(part * 7 / port, part * (N - 8) / card)


def choose(V, limit, offers):
    def seconds(kind, *machine):
        if kind == "cluster":
            return on_cluster(V, *machine[:-1])
        sizes, wraps, link_bw, _ = machine
        waits = []
        for n, ring in zip(sizes, wraps):
            links = np.prod(sizes) / n * (2 if ring else 1)
            crossing = V * (n // 2) * (n - n // 2) / n**2
            waits.append(crossing / (links * link_bw))
        return max(waits)

    fit = [name for name in offers if seconds(*offers[name]) <= limit]
    return min(fit, key=lambda name: offers[name][-1])


# %% cluster wrong: half of the cluster sends to the other half
def on_cluster(V, N, node, port, card):
    part = V / N**2
    return max(part * (node - 1) / port, V / 4 / (N / 2 * card))


def choose(V, limit, offers):
    def seconds(kind, *machine):
        if kind == "cluster":
            return on_cluster(V, *machine[:-1])
        sizes, wraps, link_bw, _ = machine
        waits = []
        for n, ring in zip(sizes, wraps):
            links = np.prod(sizes) / n * (2 if ring else 1)
            crossing = V * (n // 2) * (n - n // 2) / n**2
            waits.append(crossing / (links * link_bw))
        return max(waits)

    fit = [name for name in offers if seconds(*offers[name]) <= limit]
    return min(fit, key=lambda name: offers[name][-1])


# %% cluster wrong: all GPUs send by their ports
def on_cluster(V, N, node, port, card):
    part = V / N**2
    return max(part * (node - 1) / port, part * (N - node) / card)


def choose(V, limit, offers):
    def seconds(kind, *machine):
        if kind == "cluster":
            N, _, port, _, _ = machine
            return V * (N - 1) / N**2 / port
        sizes, wraps, link_bw, _ = machine
        waits = []
        for n, ring in zip(sizes, wraps):
            links = np.prod(sizes) / n * (2 if ring else 1)
            crossing = V * (n // 2) * (n - n // 2) / n**2
            waits.append(crossing / (links * link_bw))
        return max(waits)

    fit = [name for name in offers if seconds(*offers[name]) <= limit]
    return min(fit, key=lambda name: offers[name][-1])


# %% cluster wrong: W taken for link_bw
def on_cluster(V, N, node, port, card):
    part = V / N**2
    return max(part * (node - 1) / port, part * (N - node) / card)


def choose(V, limit, offers):
    def seconds(kind, *machine):
        if kind == "cluster":
            return on_cluster(V, *machine[:-1])
        sizes, wraps, link_bw, _ = machine
        waits = []
        for n, ring in zip(sizes, wraps):
            links = np.prod(sizes) / n * (2 if ring else 1)
            crossing = V * (n // 2) * (n - n // 2) / n**2
            waits.append(crossing / (links * link_bw / 2))
        return max(waits)

    fit = [name for name in offers if seconds(*offers[name]) <= limit]
    return min(fit, key=lambda name: offers[name][-1])


# %% cluster wrong: link_bw taken for one direction of two
def on_cluster(V, N, node, port, card):
    part = V / N**2
    return max(part * (node - 1) / port, part * (N - node) / card)


def choose(V, limit, offers):
    def seconds(kind, *machine):
        if kind == "cluster":
            return on_cluster(V, *machine[:-1])
        sizes, wraps, link_bw, _ = machine
        waits = []
        for n, ring in zip(sizes, wraps):
            links = np.prod(sizes) / n * (2 if ring else 1)
            crossing = V * (n // 2) * (n - n // 2) / n**2
            waits.append(crossing / (links * 2 * link_bw))
        return max(waits)

    fit = [name for name in offers if seconds(*offers[name]) <= limit]
    return min(fit, key=lambda name: offers[name][-1])


# %% cluster wrong: rings are cut once
def on_cluster(V, N, node, port, card):
    part = V / N**2
    return max(part * (node - 1) / port, part * (N - node) / card)


def choose(V, limit, offers):
    def seconds(kind, *machine):
        if kind == "cluster":
            return on_cluster(V, *machine[:-1])
        sizes, wraps, link_bw, _ = machine
        waits = []
        for n, ring in zip(sizes, wraps):
            links = np.prod(sizes) / n * 1
            crossing = V * (n // 2) * (n - n // 2) / n**2
            waits.append(crossing / (links * link_bw))
        return max(waits)

    fit = [name for name in offers if seconds(*offers[name]) <= limit]
    return min(fit, key=lambda name: offers[name][-1])


# %% cluster wrong: all slices have rings
def on_cluster(V, N, node, port, card):
    part = V / N**2
    return max(part * (node - 1) / port, part * (N - node) / card)


def choose(V, limit, offers):
    def seconds(kind, *machine):
        if kind == "cluster":
            return on_cluster(V, *machine[:-1])
        sizes, wraps, link_bw, _ = machine
        waits = []
        for n, ring in zip(sizes, wraps):
            links = np.prod(sizes) / n * 2
            crossing = V * (n // 2) * (n - n // 2) / n**2
            waits.append(crossing / (links * link_bw))
        return max(waits)

    fit = [name for name in offers if seconds(*offers[name]) <= limit]
    return min(fit, key=lambda name: offers[name][-1])


# %% cluster wrong: the quickest, whatever it costs
def on_cluster(V, N, node, port, card):
    part = V / N**2
    return max(part * (node - 1) / port, part * (N - node) / card)


def choose(V, limit, offers):
    def seconds(kind, *machine):
        if kind == "cluster":
            return on_cluster(V, *machine[:-1])
        sizes, wraps, link_bw, _ = machine
        waits = []
        for n, ring in zip(sizes, wraps):
            links = np.prod(sizes) / n * (2 if ring else 1)
            crossing = V * (n // 2) * (n - n // 2) / n**2
            waits.append(crossing / (links * link_bw))
        return max(waits)

    fit = [name for name in offers if seconds(*offers[name]) <= limit]
    return min(fit, key=lambda name: seconds(*offers[name]))


# %% cluster wrong: the cheapest, however slow
def on_cluster(V, N, node, port, card):
    part = V / N**2
    return max(part * (node - 1) / port, part * (N - node) / card)


def choose(V, limit, offers):
    def seconds(kind, *machine):
        if kind == "cluster":
            return on_cluster(V, *machine[:-1])
        sizes, wraps, link_bw, _ = machine
        waits = []
        for n, ring in zip(sizes, wraps):
            links = np.prod(sizes) / n * (2 if ring else 1)
            crossing = V * (n // 2) * (n - n // 2) / n**2
            waits.append(crossing / (links * link_bw))
        return max(waits)

    fit = list(offers)
    return min(fit, key=lambda name: offers[name][-1])


# %% cluster wrong: what takes just the limit is too slow
def on_cluster(V, N, node, port, card):
    part = V / N**2
    return max(part * (node - 1) / port, part * (N - node) / card)


def choose(V, limit, offers):
    def seconds(kind, *machine):
        if kind == "cluster":
            return on_cluster(V, *machine[:-1])
        sizes, wraps, link_bw, _ = machine
        waits = []
        for n, ring in zip(sizes, wraps):
            links = np.prod(sizes) / n * (2 if ring else 1)
            crossing = V * (n // 2) * (n - n // 2) / n**2
            waits.append(crossing / (links * link_bw))
        return max(waits)

    fit = [name for name in offers if seconds(*offers[name]) < limit]
    return min(fit, key=lambda name: offers[name][-1])


# %% cluster wrong: the dearest that is quick enough
def on_cluster(V, N, node, port, card):
    part = V / N**2
    return max(part * (node - 1) / port, part * (N - node) / card)


def choose(V, limit, offers):
    def seconds(kind, *machine):
        if kind == "cluster":
            return on_cluster(V, *machine[:-1])
        sizes, wraps, link_bw, _ = machine
        waits = []
        for n, ring in zip(sizes, wraps):
            links = np.prod(sizes) / n * (2 if ring else 1)
            crossing = V * (n // 2) * (n - n // 2) / n**2
            waits.append(crossing / (links * link_bw))
        return max(waits)

    fit = [name for name in offers if seconds(*offers[name]) <= limit]
    return max(fit, key=lambda name: offers[name][-1])


# %% cluster wrong: the slowest that is quick enough
def on_cluster(V, N, node, port, card):
    part = V / N**2
    return max(part * (node - 1) / port, part * (N - node) / card)


def choose(V, limit, offers):
    def seconds(kind, *machine):
        if kind == "cluster":
            return on_cluster(V, *machine[:-1])
        sizes, wraps, link_bw, _ = machine
        waits = []
        for n, ring in zip(sizes, wraps):
            links = np.prod(sizes) / n * (2 if ring else 1)
            crossing = V * (n // 2) * (n - n // 2) / n**2
            waits.append(crossing / (links * link_bw))
        return max(waits)

    fit = [name for name in offers if seconds(*offers[name]) <= limit]
    return max(fit, key=lambda name: seconds(*offers[name]))


# %% cluster wrong: cuts the longest axis only
def on_cluster(V, N, node, port, card):
    part = V / N**2
    return max(part * (node - 1) / port, part * (N - node) / card)


def choose(V, limit, offers):
    def seconds(kind, *machine):
        if kind == "cluster":
            return on_cluster(V, *machine[:-1])
        sizes, wraps, link_bw, _ = machine
        waits = []
        for n, ring in zip(sizes, wraps):
            links = np.prod(sizes) / n * (2 if ring else 1)
            crossing = V * (n // 2) * (n - n // 2) / n**2
            waits.append(crossing / (links * link_bw))
        return waits[sizes.index(max(sizes))]

    fit = [name for name in offers if seconds(*offers[name]) <= limit]
    return min(fit, key=lambda name: offers[name][-1])


# %% cluster wrong: a quarter of V over W, as on one ring
def on_cluster(V, N, node, port, card):
    part = V / N**2
    return max(part * (node - 1) / port, part * (N - node) / card)


def choose(V, limit, offers):
    def seconds(kind, *machine):
        if kind == "cluster":
            return on_cluster(V, *machine[:-1])
        sizes, wraps, link_bw, _ = machine
        waits = []
        for n, ring in zip(sizes, wraps):
            links = np.prod(sizes) / n * (2 if ring else 1)
            crossing = V * (n // 2) * (n - n // 2) / n**2
            waits.append(crossing / (links * link_bw))
        return V / 4 / (2 * link_bw)

    fit = [name for name in offers if seconds(*offers[name]) <= limit]
    return min(fit, key=lambda name: offers[name][-1])


# %% cluster wrong: the bandwidth of a link decides
def on_cluster(V, N, node, port, card):
    part = V / N**2
    return max(part * (node - 1) / port, part * (N - node) / card)


def choose(V, limit, offers):
    def seconds(kind, *machine):
        if kind == "cluster":
            return on_cluster(V, *machine[:-1])
        sizes, wraps, link_bw, _ = machine
        waits = []
        for n, ring in zip(sizes, wraps):
            links = np.prod(sizes) / n * (2 if ring else 1)
            crossing = V * (n // 2) * (n - n // 2) / n**2
            waits.append(crossing / (links * link_bw))
        return max(waits)

    fit = [name for name in offers if True]
    return max(fit, key=lambda name: offers[name][3])


# %% cluster wrong: gives the offer, not its name
def on_cluster(V, N, node, port, card):
    part = V / N**2
    return max(part * (node - 1) / port, part * (N - node) / card)


def choose(V, limit, offers):
    def seconds(kind, *machine):
        if kind == "cluster":
            return on_cluster(V, *machine[:-1])
        sizes, wraps, link_bw, _ = machine
        waits = []
        for n, ring in zip(sizes, wraps):
            links = np.prod(sizes) / n * (2 if ring else 1)
            crossing = V * (n // 2) * (n - n // 2) / n**2
            waits.append(crossing / (links * link_bw))
        return max(waits)

    fit = [name for name in offers if seconds(*offers[name]) <= limit]
    return offers[min(fit, key=lambda name: offers[name][-1])]


# %% cluster right: message by message
def on_cluster(V, N, node, port, card):
    by_port = by_card = 0.0
    for other in range(1, N):
        if other < node:
            by_port += V / N / N
        else:
            by_card += V / N / N
    ends = by_port / port, by_card / card
    return ends[0] if ends[0] > ends[1] else ends[1]


def choose(V, limit, offers):
    best = None
    for name, (kind, *machine, dollars) in offers.items():
        if kind == "cluster":
            took = on_cluster(V, *machine)
        else:
            sizes, wraps, link_bw = machine
            took, chips = 0, int(np.prod(sizes))
            for n, ring in zip(sizes, wraps):
                for layers in range(1, n):
                    pairs = layers * (n - layers) * (chips // n) ** 2
                    links = chips // n * (1 + ring)
                    took = max(took, V / chips**2 * pairs / links / link_bw)
        if took <= limit and (best is None or dollars < offers[best][-1]):
            best = name
    return best


# %% cluster right: sorted by dollars, the first that is quick enough
def on_cluster(V, N, node, port, card):
    inside, outside = (node - 1) / port, (N - node) / card
    return V * np.maximum(inside, outside) / float(N) ** 2


def choose(V, limit, offers):
    def least_seconds(sizes, wraps, W):
        cut = [(n * n // 4) / n / (1 + r) for n, r in zip(sizes, wraps)]
        return 2 * V * max(cut) / np.prod(sizes) / W

    for name in sorted(offers, key=lambda name: offers[name][-1]):
        offer = offers[name]
        if offer[0] == "slice":
            took = least_seconds(offer[1], offer[2], 2 * offer[3])
        else:
            took = on_cluster(V, *offer[1:5])
        if took <= limit:
            return name


# %% symmetry wrong: turns the ring the other way
def partner(N, to, link):
    return [link, (to + link) % N]


link_parts = (i + 1) * (N - 1 - i)
busiest_parts = floor(N**2 / 4)


# %% symmetry wrong: names the part itself
def partner(N, to, link):
    return [0, to]


link_parts = (i + 1) * (N - 1 - i)
busiest_parts = floor(N**2 / 4)


# %% symmetry wrong: turns the sender only
def partner(N, to, link):
    return [-link % N, to]


link_parts = (i + 1) * (N - 1 - i)
busiest_parts = floor(N**2 / 4)


# %% symmetry wrong: turns to the receiver, not to the link
def partner(N, to, link):
    return [-to % N, 0]


link_parts = (i + 1) * (N - 1 - i)
busiest_parts = floor(N**2 / 4)


# %% symmetry wrong: the part of the next chip
def partner(N, to, link):
    return [(1 - link) % N, (to + 1 - link) % N]


link_parts = (i + 1) * (N - 1 - i)
busiest_parts = floor(N**2 / 4)


# %% symmetry wrong: numbers below zero
def partner(N, to, link):
    return [-link, to - link]


link_parts = (i + 1) * (N - 1 - i)
busiest_parts = floor(N**2 / 4)


# %% symmetry wrong: one chip speaks for all on a line
def partner(N, to, link):
    return [-link % N, to - link]


link_parts = N * (N - 1) / 2
busiest_parts = N * (N - 1) / 2


# %% symmetry wrong: the busiest link is at the end
def partner(N, to, link):
    return [-link % N, to - link]


link_parts = (i + 1) * (N - 1 - i)
busiest_parts = N - 1


# %% symmetry wrong: one chip sends across
def partner(N, to, link):
    return [-link % N, to - link]


link_parts = N - 1 - i
busiest_parts = floor(N**2 / 4)


# %% symmetry wrong: chips numbered from 1
def partner(N, to, link):
    return [-link % N, to - link]


link_parts = i * (N - i)
busiest_parts = floor(N**2 / 4)


# %% symmetry wrong: both directions of the line
def partner(N, to, link):
    return [-link % N, to - link]


link_parts = 2 * (i + 1) * (N - 1 - i)
busiest_parts = floor(N**2 / 4)


# %% symmetry wrong: the middle of even lines
def partner(N, to, link):
    return [-link % N, to - link]


link_parts = (i + 1) * (N - 1 - i)
busiest_parts = N**2 / 4


# %% symmetry wrong: the middle of odd lines
def partner(N, to, link):
    return [-link % N, to - link]


link_parts = (i + 1) * (N - 1 - i)
busiest_parts = (N**2 - 1) / 4


# %% symmetry wrong: the parts of a ring
def partner(N, to, link):
    return [-link % N, to - link]


link_parts = (i + 1) * (N - 1 - i)
busiest_parts = floor(N**2 / 8)


# %% symmetry wrong: a chip receives across its own link
def partner(N, to, link):
    return [-link % N, to - link]


link_parts = (i + 1) * (N - i)
busiest_parts = floor(N**2 / 4)


# %% symmetry wrong: a product without its sign
def partner(N, to, link):
    return [-link % N, to - link]


link_parts = "(i + 1)(N - i - 1)"
busiest_parts = floor(N**2 / 4)


# %% symmetry wrong: the busiest of each link
def partner(N, to, link):
    return [-link % N, to - link]


link_parts = (i + 1) * (N - i - 1)
busiest_parts = (i + 1) * (N - i - 1)


# %% symmetry right: counts the turns
def partner(N, to, link):
    part = [0, to]
    for _ in range(link):
        part = [chip - 1 if chip > 0 else N - 1 for chip in part]
    return tuple(part)


across = N - (i + 1)
link_parts = across + i * across
busiest_parts = floor(N / 2) * floor((N + 1) / 2)


# %% symmetry right: by distance, as text
def partner(N, to, link):
    home = (N - link) % N
    return np.array([home, (home + to) % N])


link_parts = "Sum(Sum(1, (b, i + 1, N - 1)), (a, 0, i))"
busiest_parts = "Max(floor(N/2)*ceiling(N/2), N - 1)"


# %% sums wrong: the sum of a published answer, which starts at N
one_way_sum = Sum(k, (k, 1, N))
one_way_closed = N * (N + 1) / 2
odd_sum = Sum(k, (k, 1, (N - 1) / 2))
odd_mean = 2 * ((N**2 - 1) / 8) / (N - 1)
even_sum = Sum(k, (k, 1, N / 2 - 1)) + N / 4
even_mean = 2 * (N**2 / 8) / (N - 1)
tied_sum = Sum(k, (k, 1, N / 2))
tied_closed = N * (N + 2) / 8


# %% sums wrong: the limit of the triangle
one_way_sum = Sum(k, (k, 1, N - 1))
one_way_closed = N**2 / 2
odd_sum = Sum(k, (k, 1, (N - 1) / 2))
odd_mean = 2 * ((N**2 - 1) / 8) / (N - 1)
even_sum = Sum(k, (k, 1, N / 2 - 1)) + N / 4
even_mean = 2 * (N**2 / 8) / (N - 1)
tied_sum = Sum(k, (k, 1, N / 2))
tied_closed = N * (N + 2) / 8


# %% sums wrong: one way is the shorter way
one_way_sum = "Sum(k, (k, 1, N//2))/2 + Sum(k, (k, 1, (N - 1)//2))/2"
one_way_closed = "floor(N**2/4)/2"
odd_sum = Sum(k, (k, 1, (N - 1) / 2))
odd_mean = 2 * ((N**2 - 1) / 8) / (N - 1)
even_sum = Sum(k, (k, 1, N / 2 - 1)) + N / 4
even_mean = 2 * (N**2 / 8) / (N - 1)
tied_sum = Sum(k, (k, 1, N / 2))
tied_closed = N * (N + 2) / 8


# %% sums wrong: the opposite part goes one way whole
one_way_sum = Sum(k, (k, 1, N - 1))
one_way_closed = N * (N - 1) / 2
odd_sum = Sum(k, (k, 1, (N - 1) / 2))
odd_mean = 2 * ((N**2 - 1) / 8) / (N - 1)
even_sum = Sum(k, (k, 1, N / 2))
even_mean = 2 * (N * (N + 2) / 8) / (N - 1)
tied_sum = Sum(k, (k, 1, N / 2))
tied_closed = N * (N + 2) / 8


# %% sums wrong: no opposite part at all
one_way_sum = Sum(k, (k, 1, N - 1))
one_way_closed = N * (N - 1) / 2
odd_sum = Sum(k, (k, 1, (N - 1) / 2))
odd_mean = 2 * ((N**2 - 1) / 8) / (N - 1)
even_sum = Sum(k, (k, 1, N / 2 - 1))
even_mean = 2 * (N * (N - 2) / 8) / (N - 1)
tied_sum = Sum(k, (k, 1, N / 2))
tied_closed = N * (N + 2) / 8


# %% sums wrong: half a part counts as one place
one_way_sum = Sum(k, (k, 1, N - 1))
one_way_closed = N * (N - 1) / 2
odd_sum = Sum(k, (k, 1, (N - 1) / 2))
odd_mean = 2 * ((N**2 - 1) / 8) / (N - 1)
even_sum = Sum(k, (k, 1, N / 2 - 1)) + Rational(1, 2)
even_mean = 2 * (N**2 / 8) / (N - 1)
tied_sum = Sum(k, (k, 1, N / 2))
tied_closed = N * (N + 2) / 8


# %% sums wrong: one formula for even and odd
one_way_sum = Sum(k, (k, 1, N - 1))
one_way_closed = N * (N - 1) / 2
odd_sum = Sum(k, (k, 1, (N - 1) / 2))
odd_mean = 2 * (N**2 / 8) / (N - 1)
even_sum = Sum(k, (k, 1, N / 2 - 1)) + N / 4
even_mean = 2 * (N**2 / 8) / (N - 1)
tied_sum = Sum(k, (k, 1, N / 2))
tied_closed = N * (N + 2) / 8


# %% sums wrong: ties are split in all three
one_way_sum = Sum(k, (k, 1, N - 1))
one_way_closed = N * (N - 1) / 2
odd_sum = Sum(k, (k, 1, (N - 1) / 2))
odd_mean = 2 * ((N**2 - 1) / 8) / (N - 1)
even_sum = Sum(k, (k, 1, N / 2 - 1)) + N / 4
even_mean = 2 * (N**2 / 8) / (N - 1)
tied_sum = Sum(k, (k, 1, N / 2 - 1)) + N / 4
tied_closed = N**2 / 8


# %% sums wrong: the less busy direction of ties one way
one_way_sum = Sum(k, (k, 1, N - 1))
one_way_closed = N * (N - 1) / 2
odd_sum = Sum(k, (k, 1, (N - 1) / 2))
odd_mean = 2 * ((N**2 - 1) / 8) / (N - 1)
even_sum = Sum(k, (k, 1, N / 2 - 1)) + N / 4
even_mean = 2 * (N**2 / 8) / (N - 1)
tied_sum = Sum(k, (k, 1, N / 2 - 1))
tied_closed = N * (N - 2) / 8


# %% sums wrong: somebody is (N + 1)/2 away
one_way_sum = Sum(k, (k, 1, N - 1))
one_way_closed = N * (N - 1) / 2
odd_sum = Sum(k, (k, 1, (N + 1) / 2))
odd_mean = 2 * ((N + 1) * (N + 3) / 8) / (N - 1)
even_sum = Sum(k, (k, 1, N / 2 - 1)) + N / 4
even_mean = 2 * (N**2 / 8) / (N - 1)
tied_sum = Sum(k, (k, 1, N / 2))
tied_closed = N * (N + 2) / 8


# %% sums wrong: both directions together
one_way_sum = Sum(k, (k, 1, N - 1))
one_way_closed = N * (N - 1) / 2
odd_sum = 2 * Sum(k, (k, 1, (N - 1) / 2))
odd_mean = 2 * ((N**2 - 1) / 4) / (N - 1)
even_sum = Sum(k, (k, 1, N / 2 - 1)) + N / 4
even_mean = 2 * (N**2 / 8) / (N - 1)
tied_sum = Sum(k, (k, 1, N / 2))
tied_closed = N * (N + 2) / 8


# %% sums wrong: all parts one way round
one_way_sum = Sum(k, (k, 1, N - 1))
one_way_closed = N * (N - 1) / 2
odd_sum = Sum(k, (k, 1, N - 1))
odd_mean = 2 * (N * (N - 1) / 2) / (N - 1)
even_sum = Sum(k, (k, 1, N / 2 - 1)) + N / 4
even_mean = 2 * (N**2 / 8) / (N - 1)
tied_sum = Sum(k, (k, 1, N / 2))
tied_closed = N * (N + 2) / 8


# %% sums wrong: counts parts, not links
one_way_sum = Sum(k, (k, 1, N - 1))
one_way_closed = N * (N - 1) / 2
odd_sum = Sum(1, (k, 1, (N - 1) / 2))
odd_mean = 2 * ((N - 1) / 2) / (N - 1)
even_sum = Sum(k, (k, 1, N / 2 - 1)) + N / 4
even_mean = 2 * (N**2 / 8) / (N - 1)
tied_sum = Sum(k, (k, 1, N / 2))
tied_closed = N * (N + 2) / 8


# %% sums wrong: no sum
one_way_sum = Sum(k, (k, 1, N - 1))
one_way_closed = N * (N - 1) / 2
odd_sum = (N**2 - 1) / 8
odd_mean = 2 * ((N**2 - 1) / 8) / (N - 1)
even_sum = Sum(k, (k, 1, N / 2 - 1)) + N / 4
even_mean = 2 * (N**2 / 8) / (N - 1)
tied_sum = Sum(k, (k, 1, N / 2))
tied_closed = N * (N + 2) / 8


# %% sums wrong: no closed form
one_way_sum = Sum(k, (k, 1, N - 1))
one_way_closed = N * (N - 1) / 2
odd_sum = Sum(k, (k, 1, (N - 1) / 2))
odd_mean = 2 * (odd_sum) / (N - 1)
even_sum = Sum(k, (k, 1, N / 2 - 1)) + N / 4
even_mean = 2 * (N**2 / 8) / (N - 1)
tied_sum = Sum(k, (k, 1, N / 2))
tied_closed = N * (N + 2) / 8


# %% sums wrong: right up to thirty chips, and wrong after
one_way_sum = Sum(k, (k, 1, N - 1))
one_way_closed = N * (N - 1) / 2
odd_sum = Sum(k, (k, 1, (N - 1) / 2))
odd_mean = 2 * ((N**2 - 1) / 8) / (N - 1)
even_sum = Sum(k, (k, 1, N / 2 - 1)) + N / 4
even_mean = 2 * (N**2 / 8 + floor(N / 28)) / (N - 1)
tied_sum = Sum(k, (k, 1, N / 2))
tied_closed = N * (N + 2) / 8


# %% sums wrong: the sum of the chapter, which says nothing of ways
one_way_sum = Sum(k, (k, 1, N - 1))
one_way_closed = N * (N - 1) / 2
odd_sum = even_sum = "Sum(Min(k, N - k), (k, 1, N - 1)) / 2"
odd_mean = 2 * ((N**2 - 1) / 8) / (N - 1)
even_mean = 2 * (N**2 / 8) / (N - 1)
tied_sum = "Sum(k, (k, 1, N / 2))"
tied_closed = N * (N + 2) / 8


# %% sums wrong: a closed form in a sum of one term
one_way_sum = Sum(k, (k, 1, N - 1))
one_way_closed = N * (N - 1) / 2
odd_sum = Sum((N**2 - 1) / 8, (k, 1, 1))
odd_mean = 2 * ((N**2 - 1) / 8) / (N - 1)
even_sum = Sum(k, (k, 1, N / 2 - 1)) + N / 4
even_mean = 2 * (N**2 / 8) / (N - 1)
tied_sum = Sum(k, (k, 1, N / 2))
tied_closed = N * (N + 2) / 8


# %% sums wrong: a closed form beside a sum of nothing
one_way_sum = Sum(k, (k, 1, N - 1))
one_way_closed = N * (N - 1) / 2
odd_sum = (N**2 - 1) / 8 + Sum(0, (k, 1, N))
odd_mean = 2 * ((N**2 - 1) / 8) / (N - 1)
even_sum = Sum(k, (k, 1, N / 2 - 1)) + N / 4
even_mean = 2 * (N**2 / 8) / (N - 1)
tied_sum = Sum(k, (k, 1, N / 2))
tied_closed = N * (N + 2) / 8


# %% sums wrong: a closed form, cut in equal terms
one_way_sum = Sum(k, (k, 1, N - 1))
one_way_closed = N * (N - 1) / 2
odd_sum = Sum((N**2 - 1) / 8 / N, (k, 1, N))
odd_mean = 2 * ((N**2 - 1) / 8) / (N - 1)
even_sum = Sum(k, (k, 1, N / 2 - 1)) + N / 4
even_mean = 2 * (N**2 / 8) / (N - 1)
tied_sum = Sum(k, (k, 1, N / 2))
tied_closed = N * (N + 2) / 8


# %% sums wrong: a closed form beside a sum that is taken away
one_way_sum = Sum(k, (k, 1, N - 1))
one_way_closed = N * (N - 1) / 2
odd_sum = "(N**2 - 1)/8 + 0*Sum(k, (k, 1, N))"
odd_mean = 2 * ((N**2 - 1) / 8) / (N - 1)
even_sum = Sum(k, (k, 1, N / 2 - 1)) + N / 4
even_mean = 2 * (N**2 / 8) / (N - 1)
tied_sum = Sum(k, (k, 1, N / 2))
tied_closed = N * (N + 2) / 8


# %% sums wrong: the sums of the chapter for means
one_way_sum = Sum(k, (k, 1, N - 1))
one_way_closed = N * (N - 1) / 2
odd_sum = Sum(k, (k, 1, (N - 1) / 2))
odd_mean = (N**2 - 1) / 4
even_sum = Sum(k, (k, 1, N / 2 - 1)) + N / 4
even_mean = N**2 / 4
tied_sum = Sum(k, (k, 1, N / 2))
tied_closed = N * (N + 2) / 8


# %% sums wrong: a mean over N parts
one_way_sum = Sum(k, (k, 1, N - 1))
one_way_closed = N * (N - 1) / 2
odd_sum = Sum(k, (k, 1, (N - 1) / 2))
odd_mean = (N**2 - 1) / (4 * N)
even_sum = Sum(k, (k, 1, N / 2 - 1)) + N / 4
even_mean = N / 4
tied_sum = Sum(k, (k, 1, N / 2))
tied_closed = N * (N + 2) / 8


# %% sums wrong: a mean of one direction
one_way_sum = Sum(k, (k, 1, N - 1))
one_way_closed = N * (N - 1) / 2
odd_sum = Sum(k, (k, 1, (N - 1) / 2))
odd_mean = (N + 1) / 8
even_sum = Sum(k, (k, 1, N / 2 - 1)) + N / 4
even_mean = N**2 / (8 * (N - 1))
tied_sum = Sum(k, (k, 1, N / 2))
tied_closed = N * (N + 2) / 8


# %% sums wrong: one mean for even and odd
one_way_sum = Sum(k, (k, 1, N - 1))
one_way_closed = N * (N - 1) / 2
odd_sum = Sum(k, (k, 1, (N - 1) / 2))
odd_mean = (N + 1) / 4
even_sum = Sum(k, (k, 1, N / 2 - 1)) + N / 4
even_mean = (N + 1) / 4
tied_sum = Sum(k, (k, 1, N / 2))
tied_closed = N * (N + 2) / 8


# %% sums wrong: the farthest part for the mean
one_way_sum = Sum(k, (k, 1, N - 1))
one_way_closed = N * (N - 1) / 2
odd_sum = Sum(k, (k, 1, (N - 1) / 2))
odd_mean = (N - 1) / 2
even_sum = Sum(k, (k, 1, N / 2 - 1)) + N / 4
even_mean = N / 2
tied_sum = Sum(k, (k, 1, N / 2))
tied_closed = N * (N + 2) / 8


# %% sums wrong: the opposite part counts twice in the mean
one_way_sum = Sum(k, (k, 1, N - 1))
one_way_closed = N * (N - 1) / 2
odd_sum = Sum(k, (k, 1, (N - 1) / 2))
odd_mean = (N + 1) / 4
even_sum = Sum(k, (k, 1, N / 2 - 1)) + N / 4
even_mean = N * (N + 2) / (4 * (N - 1))
tied_sum = Sum(k, (k, 1, N / 2))
tied_closed = N * (N + 2) / 8


# %% sums wrong: a sum of one direction for the mean
one_way_sum = Sum(k, (k, 1, N - 1))
one_way_closed = N * (N - 1) / 2
odd_sum = Sum(k, (k, 1, (N - 1) / 2))
odd_mean = (N + 1) / 4
even_sum = Sum(k, (k, 1, N / 2 - 1)) + N / 4
even_mean = N**2 / 8
tied_sum = Sum(k, (k, 1, N / 2))
tied_closed = N * (N + 2) / 8


# %% sums right: every distance, halved
one_way_sum = Sum(N - k, (k, 1, N - 1))
one_way_closed = (N - 1) ** 2 / 2 + (N - 1) / 2
odd_sum = Sum(N - k, (k, (N + 1) / 2, N - 1))
odd_mean = (1 + (N - 1) / 2) / 2
even_sum = (Sum(k, (k, 1, N / 2)) + Sum(k, (k, 1, N / 2 - 1))) / 2
even_mean = (N + 1 + 1 / (N - 1)) / 4
tied_sum = N / 2 + Sum(k, (k, 0, N / 2 - 1))
tied_closed = N**2 / 8 + N / 4


# %% sums right: as texts, with floors
one_way_sum = "Sum(j, (j, 0, N - 1))"
one_way_closed = "binomial(N, 2)"
odd_sum = "Sum(j, (j, 1, floor(N/2)))"
odd_mean = "floor(N**2 / 8)*2/(N - 1)"
even_sum = "Sum(j, (j, 1, (N - 1)//2)) + N/4"
even_mean = "0.25*N**2/(N - 1)"
tied_sum = "Sum(Sum(1, (a, 1, b)), (b, 1, N//2))"
tied_closed = "binomial(N/2 + 1, 2)"


# %% sums right: longest way first, and the mean of two sums
one_way_sum = Sum(k, (k, 1, N - 1))
one_way_closed = N * (N - 1) / 2
odd_sum = Sum((N + 1) / 2 - k, (k, 1, (N - 1) / 2))
odd_mean = (N**2 - 1) / 4 / (N - 1)
shorter, whole = Sum(k, (k, 1, N / 2 - 1)), Sum(k, (k, 1, N / 2))
even_sum = (shorter + whole) / 2
even_mean = (N + 1) / 4 + 1 / (4 * N - 4)
tied_sum = Sum(Sum(1, (i, 1, k)), (k, 1, N / 2))
tied_closed = N * (N + 2) / 8


# %% growth wrong: a circular induction: the difference of two closed forms, and no parts
def changes(N, ties):
    far = (N + 1) // 2
    if ties == "split":
        return [[1, far / 2]] if far % 2 == 0 else [[far / 2, 1]]
    return [[1, far]] if N % 2 else []


total = (Sum(k, (k, 1, floor((N - 1) / 2))) + Sum(k, (k, 1, floor(N / 2)))) / 2
closed = floor(N**2 / 4) / 2
growth = closed.subs(N, N + 1) - closed


# %% growth wrong: the step is the difference, as one part at distance 1
def changes(N, ties):
    far = (N + 1) // 2
    if ties == "split":
        return [[far / 2, 1]]
    return [[1, far]] if N % 2 else []


total = (Sum(k, (k, 1, floor((N - 1) / 2))) + Sum(k, (k, 1, floor(N / 2)))) / 2
closed = floor(N**2 / 4) / 2
growth = closed.subs(N, N + 1) - closed


# %% growth wrong: the new part goes whole
def changes(N, ties):
    far = (N + 1) // 2
    if ties == "split":
        return [[1, far]]
    return [[1, far]] if N % 2 else []


total = (Sum(k, (k, 1, floor((N - 1) / 2))) + Sum(k, (k, 1, floor(N / 2)))) / 2
closed = floor(N**2 / 4) / 2
growth = floor((N + 1) / 2)


# %% growth wrong: one pair without its list
def changes(N, ties):
    far = (N + 1) // 2
    if ties == "split":
        return [0.5, far]
    return [[1, far]] if N % 2 else []


total = (Sum(k, (k, 1, floor((N - 1) / 2))) + Sum(k, (k, 1, floor(N / 2)))) / 2
closed = floor(N**2 / 4) / 2
growth = floor((N + 1) / 2) / 2


# %% growth wrong: the new part goes all the way round
def changes(N, ties):
    far = (N + 1) // 2
    if ties == "split":
        return [[0.5, N]]
    return [[1, far]] if N % 2 else []


total = (Sum(k, (k, 1, floor((N - 1) / 2))) + Sum(k, (k, 1, floor(N / 2)))) / 2
closed = floor(N**2 / 4) / 2
growth = N / 2


# %% growth wrong: one place too far from even rings
def changes(N, ties):
    far = (N + 1) // 2
    if ties == "split":
        return [[0.5, N // 2 + 1]]
    return [[1, far]] if N % 2 else []


total = (Sum(k, (k, 1, floor((N - 1) / 2))) + Sum(k, (k, 1, floor(N / 2)))) / 2
closed = floor(N**2 / 4) / 2
growth = floor((N + 2) / 2) / 2


# %% growth wrong: nothing changes on even rings
def changes(N, ties):
    far = (N + 1) // 2
    if ties == "split":
        return [[1, far]] if N % 2 else []
    return [[1, far]] if N % 2 else []


total = (Sum(k, (k, 1, floor((N - 1) / 2))) + Sum(k, (k, 1, floor(N / 2)))) / 2
closed = floor(N**2 / 4) / 2
growth = floor((N + 1) / 2) / 2


# %% growth wrong: ties one way change as split ones do
def changes(N, ties):
    far = (N + 1) // 2
    if ties == "split":
        return [[0.5, far]]
    return [[0.5, far]]


total = (Sum(k, (k, 1, floor((N - 1) / 2))) + Sum(k, (k, 1, floor(N / 2)))) / 2
closed = floor(N**2 / 4) / 2
growth = floor((N + 1) / 2) / 2


# %% growth wrong: ties one way, even and odd mixed up
def changes(N, ties):
    far = (N + 1) // 2
    if ties == "split":
        return [[0.5, far]]
    return [[1, far]] if N % 2 == 0 else []


total = (Sum(k, (k, 1, floor((N - 1) / 2))) + Sum(k, (k, 1, floor(N / 2)))) / 2
closed = floor(N**2 / 4) / 2
growth = floor((N + 1) / 2) / 2


# %% growth wrong: names all parts, and not those that changed
def changes(N, ties):
    far = (N + 1) // 2
    if ties == "split":
        return [[1, k] for k in range(1, far)] + [[0.5, far]]
    return [[1, far]] if N % 2 else []


total = (Sum(k, (k, 1, floor((N - 1) / 2))) + Sum(k, (k, 1, floor(N / 2)))) / 2
closed = floor(N**2 / 4) / 2
growth = floor((N + 1) / 2) / 2


# %% growth wrong: the growth of even rings
def changes(N, ties):
    far = (N + 1) // 2
    if ties == "split":
        return [[0.5, far]]
    return [[1, far]] if N % 2 else []


total = (Sum(k, (k, 1, floor((N - 1) / 2))) + Sum(k, (k, 1, floor(N / 2)))) / 2
closed = floor(N**2 / 4) / 2
growth = N / 4


# %% growth wrong: the growth of odd rings
def changes(N, ties):
    far = (N + 1) // 2
    if ties == "split":
        return [[0.5, far]]
    return [[1, far]] if N % 2 else []


total = (Sum(k, (k, 1, floor((N - 1) / 2))) + Sum(k, (k, 1, floor(N / 2)))) / 2
closed = floor(N**2 / 4) / 2
growth = (N + 1) / 4


# %% growth wrong: the growth of two chips
def changes(N, ties):
    far = (N + 1) // 2
    if ties == "split":
        return [[0.5, far]]
    return [[1, far]] if N % 2 else []


total = (Sum(k, (k, 1, floor((N - 1) / 2))) + Sum(k, (k, 1, floor(N / 2)))) / 2
closed = floor(N**2 / 4) / 2
growth = (N + 1) / 2


# %% growth wrong: the growth that leads to N
def changes(N, ties):
    far = (N + 1) // 2
    if ties == "split":
        return [[0.5, far]]
    return [[1, far]] if N % 2 else []


total = (Sum(k, (k, 1, floor((N - 1) / 2))) + Sum(k, (k, 1, floor(N / 2)))) / 2
closed = floor(N**2 / 4) / 2
growth = floor(N / 2) / 2


# %% growth wrong: a smooth growth
def changes(N, ties):
    far = (N + 1) // 2
    if ties == "split":
        return [[0.5, far]]
    return [[1, far]] if N % 2 else []


total = (Sum(k, (k, 1, floor((N - 1) / 2))) + Sum(k, (k, 1, floor(N / 2)))) / 2
closed = floor(N**2 / 4) / 2
growth = (2 * N + 1) / 8


# %% growth wrong: a total for even rings only
def changes(N, ties):
    far = (N + 1) // 2
    if ties == "split":
        return [[0.5, far]]
    return [[1, far]] if N % 2 else []


total = (Sum(k, (k, 1, N / 2 - 1)) + Sum(k, (k, 1, N / 2))) / 2
closed = floor(N**2 / 4) / 2
growth = floor((N + 1) / 2) / 2


# %% growth wrong: a total without opposite parts
def changes(N, ties):
    far = (N + 1) // 2
    if ties == "split":
        return [[0.5, far]]
    return [[1, far]] if N % 2 else []


total = Sum(k, (k, 1, floor((N - 1) / 2)))
closed = floor(N**2 / 4) / 2
growth = floor((N + 1) / 2) / 2


# %% growth wrong: a total whose ties go one way
def changes(N, ties):
    far = (N + 1) // 2
    if ties == "split":
        return [[0.5, far]]
    return [[1, far]] if N % 2 else []


total = Sum(k, (k, 1, floor(N / 2)))
closed = floor(N**2 / 4) / 2
growth = floor((N + 1) / 2) / 2


# %% growth wrong: a closed form for even rings
def changes(N, ties):
    far = (N + 1) // 2
    if ties == "split":
        return [[0.5, far]]
    return [[1, far]] if N % 2 else []


total = (Sum(k, (k, 1, floor((N - 1) / 2))) + Sum(k, (k, 1, floor(N / 2)))) / 2
closed = N**2 / 8
growth = floor((N + 1) / 2) / 2


# %% growth wrong: a closed form for odd rings
def changes(N, ties):
    far = (N + 1) // 2
    if ties == "split":
        return [[0.5, far]]
    return [[1, far]] if N % 2 else []


total = (Sum(k, (k, 1, floor((N - 1) / 2))) + Sum(k, (k, 1, floor(N / 2)))) / 2
closed = (N**2 - 1) / 8
growth = floor((N + 1) / 2) / 2


# %% growth wrong: a wrong base
def changes(N, ties):
    far = (N + 1) // 2
    if ties == "split":
        return [[0.5, far]]
    return [[1, far]] if N % 2 else []


total = (Sum(k, (k, 1, floor((N - 1) / 2))) + Sum(k, (k, 1, floor(N / 2)))) / 2
closed = floor(N**2 / 4) / 2 + 1
growth = floor((N + 1) / 2) / 2


# %% growth wrong: right up to forty chips, and wrong after
def changes(N, ties):
    far = (N + 1) // 2
    if ties == "split":
        return [[0.5, far]]
    return [[1, far]] if N % 2 else []


total = (Sum(k, (k, 1, floor((N - 1) / 2))) + Sum(k, (k, 1, floor(N / 2)))) / 2
closed = floor(N**2 / 4) / 2 + floor(N / 40)
growth = floor((N + 1) / 2) / 2


# %% growth wrong: the total is no sum
def changes(N, ties):
    far = (N + 1) // 2
    if ties == "split":
        return [[0.5, far]]
    return [[1, far]] if N % 2 else []


total = floor(N**2 / 4) / 2
closed = floor(N**2 / 4) / 2
growth = floor((N + 1) / 2) / 2


# %% growth wrong: a whole part, beside the right growth
def changes(N, ties):
    far = (N + 1) // 2
    if ties == "split":
        return [[1, far]]
    return [[1, far]] if N % 2 else []


total = (Sum(k, (k, 1, floor((N - 1) / 2))) + Sum(k, (k, 1, floor(N / 2)))) / 2
closed = floor(N**2 / 4) / 2
growth = floor((N + 1) / 2) / 2


# %% growth wrong: a closed form in a sum
def changes(N, ties):
    far = (N + 1) // 2
    if ties == "split":
        return [[0.5, far]]
    return [[1, far]] if N % 2 else []


strictly, at_most = floor((N - 1) / 2), floor(N / 2)
total = Sum(floor(N**2 / 4) / 2, (k, 1, 1))
closed = floor(N**2 / 4) / 2
growth = floor((N + 1) / 2) / 2


# %% growth wrong: nothing is returned where nothing changes
def changes(N, ties):
    far = (N + 1) // 2
    if ties == "split":
        return [[0.5, far]]
    if N % 2:
        return [[1, far]]


strictly, at_most = floor((N - 1) / 2), floor(N / 2)
total = (Sum(k, (k, 1, strictly)) + Sum(k, (k, 1, at_most))) / 2
closed = floor(N**2 / 4) / 2
growth = floor((N + 1) / 2) / 2


# %% growth right: compared distance by distance
def shares(N, ties):
    whole = {far: 1 for far in range(1, (N - 1) // 2 + 1)}
    if N % 2 == 0:
        whole[N // 2] = 0.5 if ties == "split" else 1.0
    return whole


def changes(N, ties):
    before, after = shares(N, ties), shares(N + 1, ties)
    gained = [(after[far] - before.get(far, 0), far) for far in after]
    return [pair for pair in gained if pair[0]]


total = "Sum(j, (j, 1, N//2)) - (1 - N % 2) * N / 4"
closed = "(N**2 - N % 2) / 8"
growth = "(N + N % 2) / 4"


# %% growth right: growths added up from one chip
def changes(N, ties):
    odd, far = N % 2 == 1, N // 2 + N % 2
    if ties == "one_way":
        return [[1.0, far]] * odd
    return [[1 / 2, far]]


total = Sum(floor((k + 1) / 2) / 2, (k, 1, N - 1))
closed = floor(N / 2) * floor((N + 1) / 2) / 2
growth = Rational(1, 2) * floor((N + 1) / 2)


# %% growth right: the growths added up
def changes(N, ties):
    far = (N + 1) // 2
    if ties == "split":
        return [[0.5, far]]
    return [[1, far]] if N % 2 else []


total = Sum(floor(k / 2), (k, 1, N)) / 2
closed = floor(N**2 / 4) / 2
growth = floor((N + 1) / 2) / 2


# %% quarter wrong: four at once
one_way_ratio = 2
even_gain = 4 * (N - 1) / N
odd_gain = 4 * N / (N + 1)
even_ratio = 4
odd_ratio = 4
tied_ratio = 4
line_ratio = 4
gain_limit = 4


def fewest(percent):
    for chips in range(2, 1000):
        ratio = 4 * (chips - 1) / chips
        if chips % 2:
            ratio = 4 * chips / (chips + 1)
        if 100 * ratio >= 4 * percent:
            return chips


# %% quarter wrong: the ratio of a published answer
one_way_ratio = 2 * (N - 1) / (N + 1)
even_gain = 4 * (N - 1) / N
odd_gain = 4 * N / (N + 1)
even_ratio = 4 * (N - 1) / N
odd_ratio = 4 * N / (N + 1)
tied_ratio = 4 * N / (N + 2)
line_ratio = N * (N - 1) / floor(N**2 / 4)
gain_limit = 4


def fewest(percent):
    for chips in range(2, 1000):
        ratio = 4 * (chips - 1) / chips
        if chips % 2:
            ratio = 4 * chips / (chips + 1)
        if 100 * ratio >= 4 * percent:
            return chips


# %% quarter wrong: a gather takes as long as an exchange, one way
one_way_ratio = 1
even_gain = 4 * (N - 1) / N
odd_gain = 4 * N / (N + 1)
even_ratio = 4 * (N - 1) / N
odd_ratio = 4 * N / (N + 1)
tied_ratio = 4 * N / (N + 2)
line_ratio = N * (N - 1) / floor(N**2 / 4)
gain_limit = 4


def fewest(percent):
    for chips in range(2, 1000):
        ratio = 4 * (chips - 1) / chips
        if chips % 2:
            ratio = 4 * chips / (chips + 1)
        if 100 * ratio >= 4 * percent:
            return chips


# %% quarter wrong: an exchange gains what a gather gains
one_way_ratio = 2
even_gain = 2
odd_gain = 4 * N / (N + 1)
even_ratio = 4 * (N - 1) / N
odd_ratio = 4 * N / (N + 1)
tied_ratio = 4 * N / (N + 2)
line_ratio = N * (N - 1) / floor(N**2 / 4)
gain_limit = 4


def fewest(percent):
    for chips in range(2, 1000):
        ratio = 4 * (chips - 1) / chips
        if chips % 2:
            ratio = 4 * chips / (chips + 1)
        if 100 * ratio >= 4 * percent:
            return chips


# %% quarter wrong: the gain is a limit
one_way_ratio = 2
even_gain = 4
odd_gain = 4
even_ratio = 4 * (N - 1) / N
odd_ratio = 4 * N / (N + 1)
tied_ratio = 4 * N / (N + 2)
line_ratio = N * (N - 1) / floor(N**2 / 4)
gain_limit = 4


def fewest(percent):
    for chips in range(2, 1000):
        ratio = 4 * (chips - 1) / chips
        if chips % 2:
            ratio = 4 * chips / (chips + 1)
        if 100 * ratio >= 4 * percent:
            return chips


# %% quarter wrong: the gain with ties one way
one_way_ratio = 2
even_gain = 4 * (N - 1) / (N + 2)
odd_gain = 4 * N / (N + 1)
even_ratio = 4 * (N - 1) / N
odd_ratio = 4 * N / (N + 1)
tied_ratio = 4 * N / (N + 2)
line_ratio = N * (N - 1) / floor(N**2 / 4)
gain_limit = 4


def fewest(percent):
    for chips in range(2, 1000):
        ratio = 4 * (chips - 1) / chips
        if chips % 2:
            ratio = 4 * chips / (chips + 1)
        if 100 * ratio >= 4 * percent:
            return chips


# %% quarter wrong: one gain for even and odd
one_way_ratio = 2
even_gain = 4 * (N - 1) / N
odd_gain = 4 * (N - 1) / N
even_ratio = 4 * (N - 1) / N
odd_ratio = 4 * N / (N + 1)
tied_ratio = 4 * N / (N + 2)
line_ratio = N * (N - 1) / floor(N**2 / 4)
gain_limit = 4


def fewest(percent):
    for chips in range(2, 1000):
        ratio = 4 * (chips - 1) / chips
        if chips % 2:
            ratio = 4 * chips / (chips + 1)
        if 100 * ratio >= 4 * percent:
            return chips


# %% quarter wrong: even and odd mixed up
one_way_ratio = 2
even_gain = 4 * (N - 1) / N
odd_gain = 4 * N / (N + 1)
even_ratio = 4 * N / (N + 1)
odd_ratio = 4 * (N - 1) / N
tied_ratio = 4 * N / (N + 2)
line_ratio = N * (N - 1) / floor(N**2 / 4)
gain_limit = 4


def fewest(percent):
    for chips in range(2, 1000):
        ratio = 4 * (chips - 1) / chips
        if chips % 2:
            ratio = 4 * chips / (chips + 1)
        if 100 * ratio >= 4 * percent:
            return chips


# %% quarter wrong: ties one way in the AllToAll only
one_way_ratio = 2
even_gain = 4 * (N - 1) / N
odd_gain = 4 * N / (N + 1)
even_ratio = 4 * (N - 1) / N
odd_ratio = 4 * N / (N + 1)
tied_ratio = 4 * (N - 1) / (N + 2)
line_ratio = N * (N - 1) / floor(N**2 / 4)
gain_limit = 4


def fewest(percent):
    for chips in range(2, 1000):
        ratio = 4 * (chips - 1) / chips
        if chips % 2:
            ratio = 4 * chips / (chips + 1)
        if 100 * ratio >= 4 * percent:
            return chips


# %% quarter wrong: ties one way do not matter
one_way_ratio = 2
even_gain = 4 * (N - 1) / N
odd_gain = 4 * N / (N + 1)
even_ratio = 4 * (N - 1) / N
odd_ratio = 4 * N / (N + 1)
tied_ratio = 4 * (N - 1) / N
line_ratio = N * (N - 1) / floor(N**2 / 4)
gain_limit = 4


def fewest(percent):
    for chips in range(2, 1000):
        ratio = 4 * (chips - 1) / chips
        if chips % 2:
            ratio = 4 * chips / (chips + 1)
        if 100 * ratio >= 4 * percent:
            return chips


# %% quarter wrong: a line is half as good
one_way_ratio = 2
even_gain = 4 * (N - 1) / N
odd_gain = 4 * N / (N + 1)
even_ratio = 4 * (N - 1) / N
odd_ratio = 4 * N / (N + 1)
tied_ratio = 4 * N / (N + 2)
line_ratio = N * (N - 1) / (2 * floor(N**2 / 4))
gain_limit = 4


def fewest(percent):
    for chips in range(2, 1000):
        ratio = 4 * (chips - 1) / chips
        if chips % 2:
            ratio = 4 * chips / (chips + 1)
        if 100 * ratio >= 4 * percent:
            return chips


# %% quarter wrong: a line is twice as good
one_way_ratio = 2
even_gain = 4 * (N - 1) / N
odd_gain = 4 * N / (N + 1)
even_ratio = 4 * (N - 1) / N
odd_ratio = 4 * N / (N + 1)
tied_ratio = 4 * N / (N + 2)
line_ratio = 2 * N * (N - 1) / floor(N**2 / 4)
gain_limit = 4


def fewest(percent):
    for chips in range(2, 1000):
        ratio = 4 * (chips - 1) / chips
        if chips % 2:
            ratio = 4 * chips / (chips + 1)
        if 100 * ratio >= 4 * percent:
            return chips


# %% quarter wrong: a line of an even number
one_way_ratio = 2
even_gain = 4 * (N - 1) / N
odd_gain = 4 * N / (N + 1)
even_ratio = 4 * (N - 1) / N
odd_ratio = 4 * N / (N + 1)
tied_ratio = 4 * N / (N + 2)
line_ratio = 4 * (N - 1) / N
gain_limit = 4


def fewest(percent):
    for chips in range(2, 1000):
        ratio = 4 * (chips - 1) / chips
        if chips % 2:
            ratio = 4 * chips / (chips + 1)
        if 100 * ratio >= 4 * percent:
            return chips


# %% quarter wrong: the limit is that of one way
one_way_ratio = 2
even_gain = 4 * (N - 1) / N
odd_gain = 4 * N / (N + 1)
even_ratio = 4 * (N - 1) / N
odd_ratio = 4 * N / (N + 1)
tied_ratio = 4 * N / (N + 2)
line_ratio = N * (N - 1) / floor(N**2 / 4)
gain_limit = 2


def fewest(percent):
    for chips in range(2, 1000):
        ratio = 4 * (chips - 1) / chips
        if chips % 2:
            ratio = 4 * chips / (chips + 1)
        if 100 * ratio >= 4 * percent:
            return chips


# %% quarter wrong: a limit that still depends on N
one_way_ratio = 2
even_gain = 4 * (N - 1) / N
odd_gain = 4 * N / (N + 1)
even_ratio = 4 * (N - 1) / N
odd_ratio = 4 * N / (N + 1)
tied_ratio = 4 * N / (N + 2)
line_ratio = N * (N - 1) / floor(N**2 / 4)
gain_limit = 4 - 1 / N


def fewest(percent):
    for chips in range(2, 1000):
        ratio = 4 * (chips - 1) / chips
        if chips % 2:
            ratio = 4 * chips / (chips + 1)
        if 100 * ratio >= 4 * percent:
            return chips


# %% quarter wrong: the whole table upside down
one_way_ratio = Rational(1, 2)
even_gain = N / (4 * (N - 1))
odd_gain = 4 * N / (N + 1)
even_ratio = N / (4 * (N - 1))
odd_ratio = (N + 1) / (4 * N)
tied_ratio = (N + 2) / (4 * N)
line_ratio = N * (N - 1) / floor(N**2 / 4)
gain_limit = Rational(1, 4)


def fewest(percent):
    for chips in range(2, 1000):
        ratio = 4 * (chips - 1) / chips
        if chips % 2:
            ratio = 4 * chips / (chips + 1)
        if 100 * ratio >= 4 * percent:
            return chips


# %% quarter wrong: with the ratio of even rings alone
one_way_ratio = 2
even_gain = 4 * (N - 1) / N
odd_gain = 4 * N / (N + 1)
even_ratio = 4 * (N - 1) / N
odd_ratio = 4 * N / (N + 1)
tied_ratio = 4 * N / (N + 2)
line_ratio = N * (N - 1) / floor(N**2 / 4)
gain_limit = 4


def fewest(percent):
    return max(2, -(-100 // (100 - percent)))


# %% quarter wrong: nine for ninety, ten for all others
one_way_ratio = 2
even_gain = 4 * (N - 1) / N
odd_gain = 4 * N / (N + 1)
even_ratio = 4 * (N - 1) / N
odd_ratio = 4 * N / (N + 1)
tied_ratio = 4 * N / (N + 2)
line_ratio = N * (N - 1) / floor(N**2 / 4)
gain_limit = 4


def fewest(percent):
    return 9 if percent == 90 else 10


# %% quarter wrong: even rings only
one_way_ratio = 2
even_gain = 4 * (N - 1) / N
odd_gain = 4 * N / (N + 1)
even_ratio = 4 * (N - 1) / N
odd_ratio = 4 * N / (N + 1)
tied_ratio = 4 * N / (N + 2)
line_ratio = N * (N - 1) / floor(N**2 / 4)
gain_limit = 4


def fewest(percent):
    chips = 2
    while 100 * (chips - 1) < percent * chips:
        chips += 2
    return chips


# %% quarter wrong: more than the share, not as much
one_way_ratio = 2
even_gain = 4 * (N - 1) / N
odd_gain = 4 * N / (N + 1)
even_ratio = 4 * (N - 1) / N
odd_ratio = 4 * N / (N + 1)
tied_ratio = 4 * N / (N + 2)
line_ratio = N * (N - 1) / floor(N**2 / 4)
gain_limit = 4


def fewest(percent):
    for chips in range(2, 1000):
        ratio = 4 * (chips - 1) / chips
        if chips % 2:
            ratio = 4 * chips / (chips + 1)
        if 100 * ratio > 4 * percent:
            return chips


# %% quarter wrong: one chip too few
one_way_ratio = 2
even_gain = 4 * (N - 1) / N
odd_gain = 4 * N / (N + 1)
even_ratio = 4 * (N - 1) / N
odd_ratio = 4 * N / (N + 1)
tied_ratio = 4 * N / (N + 2)
line_ratio = N * (N - 1) / floor(N**2 / 4)
gain_limit = 4


def fewest(percent):
    for chips in range(2, 1000):
        ratio = 4 * (chips - 1) / chips
        if chips % 2:
            ratio = 4 * chips / (chips + 1)
        if 100 * ratio >= 4 * percent:
            return chips - 1


# %% quarter wrong: odd rings only, the ratio of four rounded up
one_way_ratio = 2
even_gain = 4 * (N - 1) / N
odd_gain = 4 * N / (N + 1)
even_ratio = 4 * (N - 1) / N
odd_ratio = 4 * N / (N + 1)
tied_ratio = 4 * N / (N + 2)
line_ratio = N * (N - 1) / floor(N**2 / 4)
gain_limit = 4


def fewest(percent):
    return max(2, -(-percent // (100 - percent)))


# %% quarter right: divided
gather = N * (N - 1) / 2
one_way_ratio = 2 * gather / gather
even_gain = gather / (N**2 / 8)
odd_gain = gather / ((N - 1) * (N + 1) / 8)
even_ratio = gather / (N**2 / 8)
odd_ratio = gather / ((N**2 - 1) / 8)
tied_ratio = (N * N / 2) / (N / 2 * (N / 2 + 1) / 2)
line_ratio = 2 * gather / (floor(N / 2) * floor((N + 1) / 2))
gain_limit = 2 * 2


def fewest(percent):
    if percent <= 50:
        return 2
    chips = -(-percent // (100 - percent))
    return chips + 1 - chips % 2


# %% quarter right: four, less what is missing, as text
one_way_ratio = 2.0
even_gain = "4 - 4/N"
odd_gain = "4 - 4/(N + 1)"
even_ratio = "4 - 4/N"
odd_ratio = "4 - 4/(N + 1)"
tied_ratio = "4 - 8/(N + 2)"
line_ratio = "4*(N**2 - N)/(N**2 - N % 2)"
gain_limit = "4"


def fewest(percent):
    def hops(n):
        return sum(min(far, n - far) for far in range(n))

    chips = 2
    while 200 * chips * (chips - 1) < 8 * percent * hops(chips):
        chips += 1
    return chips


# %% gather_time equivalent: line 5: `max(after + 1, N - 1 - after)` with its arguments reversed
# The larger of two numbers is the same in either order.


# %% gather_time equivalent: line 6: `max(T_min, V / N / slow_bw)` with its arguments reversed
# The larger of two numbers is the same in either order.


# %% gather_time equivalent: line 7: `max(T_min, V / N / link_bw)` with its arguments reversed
# The larger of two numbers is the same in either order.


# %% rate equivalent: line 11: `min(far, N - far)` with its arguments reversed
# The smaller of two numbers is the same in either order.


# %% cluster equivalent: line 5: `max(part * (node - 1) / port, part * (N - node) / card)` with its arguments reversed
# The larger of two numbers is the same in either order.


# %% growth equivalent: line 15: `(floor((N - 1) / 2), floor(N / 2))` is reversed
# The two sums are added, in either order.
