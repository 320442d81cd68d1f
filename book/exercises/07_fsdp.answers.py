# Answers that the checks of exercise set 7 must reject or accept.
#
# A cell is titled with the answer cell's grade_id, then `wrong: ` with the
# mistake or `right: ` with what is different. Run by tests/exercises.

# %% held wrong: nothing is cut
def bytes_held(shapes, N, stage, recipe):
    cut_from = [3, 2, 1, 1, 1]
    found = [0, 0]
    for rows, columns in shapes:
        most = -(-rows // N)
        last = max(0, rows - (N - 1) * most)
        for size, first in zip(recipe, cut_from):
            parts = (rows, rows)
            for device, mine in enumerate(parts):
                found[device] += size * mine * columns
    return found


# %% held wrong: everything is cut
def bytes_held(shapes, N, stage, recipe):
    cut_from = [3, 2, 1, 1, 1]
    found = [0, 0]
    for rows, columns in shapes:
        most = -(-rows // N)
        last = max(0, rows - (N - 1) * most)
        for size, first in zip(recipe, cut_from):
            parts = (most, last)
            for device, mine in enumerate(parts):
                found[device] += size * mine * columns
    return found


# %% held wrong: the recipe is always sixteen bytes
def bytes_held(shapes, N, stage, recipe):
    cut_from = [3, 2, 1, 1, 1]
    found = [0, 0]
    for rows, columns in shapes:
        most = -(-rows // N)
        last = max(0, rows - (N - 1) * most)
        for size, first in zip([2, 2, 4, 4, 4], cut_from):
            parts = (most, last) if stage >= first else (rows, rows)
            for device, mine in enumerate(parts):
                found[device] += size * mine * columns
    return found


# %% held wrong: ZeRO-2 cuts weights, not gradients
def bytes_held(shapes, N, stage, recipe):
    cut_from = [2, 3, 1, 1, 1]
    found = [0, 0]
    for rows, columns in shapes:
        most = -(-rows // N)
        last = max(0, rows - (N - 1) * most)
        for size, first in zip(recipe, cut_from):
            parts = (most, last) if stage >= first else (rows, rows)
            for device, mine in enumerate(parts):
                found[device] += size * mine * columns
    return found


# %% held wrong: the master copy is whole
def bytes_held(shapes, N, stage, recipe):
    cut_from = [3, 2, 3, 1, 1]
    found = [0, 0]
    for rows, columns in shapes:
        most = -(-rows // N)
        last = max(0, rows - (N - 1) * most)
        for size, first in zip(recipe, cut_from):
            parts = (most, last) if stage >= first else (rows, rows)
            for device, mine in enumerate(parts):
                found[device] += size * mine * columns
    return found


# %% held wrong: gradients before the optimiser's state
def bytes_held(shapes, N, stage, recipe):
    cut_from = [3, 1, 2, 2, 2]
    found = [0, 0]
    for rows, columns in shapes:
        most = -(-rows // N)
        last = max(0, rows - (N - 1) * most)
        for size, first in zip(recipe, cut_from):
            parts = (most, last) if stage >= first else (rows, rows)
            for device, mine in enumerate(parts):
                found[device] += size * mine * columns
    return found


# %% held wrong: one stage too late
def bytes_held(shapes, N, stage, recipe):
    cut_from = [3, 2, 1, 1, 1]
    found = [0, 0]
    for rows, columns in shapes:
        most = -(-rows // N)
        last = max(0, rows - (N - 1) * most)
        for size, first in zip(recipe, cut_from):
            parts = (most, last) if stage > first else (rows, rows)
            for device, mine in enumerate(parts):
                found[device] += size * mine * columns
    return found


# %% held wrong: rounded down
def bytes_held(shapes, N, stage, recipe):
    cut_from = [3, 2, 1, 1, 1]
    found = [0, 0]
    for rows, columns in shapes:
        most = rows // N
        last = max(0, rows - (N - 1) * most)
        for size, first in zip(recipe, cut_from):
            parts = (most, last) if stage >= first else (rows, rows)
            for device, mine in enumerate(parts):
                found[device] += size * mine * columns
    return found


# %% held wrong: equal parts
def bytes_held(shapes, N, stage, recipe):
    cut_from = [3, 2, 1, 1, 1]
    found = [0, 0]
    for rows, columns in shapes:
        most = -(-rows // N)
        last = most
        for size, first in zip(recipe, cut_from):
            parts = (most, last) if stage >= first else (rows, rows)
            for device, mine in enumerate(parts):
                found[device] += size * mine * columns
    return found


# %% held wrong: parts with a fraction
def bytes_held(shapes, N, stage, recipe):
    cut_from = [3, 2, 1, 1, 1]
    found = [0, 0]
    for rows, columns in shapes:
        most = rows / N
        last = max(0, rows - (N - 1) * most)
        for size, first in zip(recipe, cut_from):
            parts = (most, last) if stage >= first else (rows, rows)
            for device, mine in enumerate(parts):
                found[device] += size * mine * columns
    return found


# %% held wrong: fewer rows than none
def bytes_held(shapes, N, stage, recipe):
    cut_from = [3, 2, 1, 1, 1]
    found = [0, 0]
    for rows, columns in shapes:
        most = -(-rows // N)
        last = rows - (N - 1) * most
        for size, first in zip(recipe, cut_from):
            parts = (most, last) if stage >= first else (rows, rows)
            for device, mine in enumerate(parts):
                found[device] += size * mine * columns
    return found


# %% held wrong: parts that differ by a row at most
def bytes_held(shapes, N, stage, recipe):
    cut_from = [3, 2, 1, 1, 1]
    found = [0, 0]
    for rows, columns in shapes:
        most = -(-rows // N)
        last = rows // N
        for size, first in zip(recipe, cut_from):
            parts = (most, last) if stage >= first else (rows, rows)
            for device, mine in enumerate(parts):
                found[device] += size * mine * columns
    return found


# %% held wrong: cut by columns
def bytes_held(shapes, N, stage, recipe):
    cut_from = [3, 2, 1, 1, 1]
    found = [0, 0]
    for rows, columns in shapes:
        rows, columns = columns, rows
        most = -(-rows // N)
        last = max(0, rows - (N - 1) * most)
        for size, first in zip(recipe, cut_from):
            parts = (most, last) if stage >= first else (rows, rows)
            for device, mine in enumerate(parts):
                found[device] += size * mine * columns
    return found


# %% held wrong: the last but one
def bytes_held(shapes, N, stage, recipe):
    cut_from = [3, 2, 1, 1, 1]
    found = [0, 0]
    for rows, columns in shapes:
        most = -(-rows // N)
        last = max(0, rows - (N - 2) * most)
        for size, first in zip(recipe, cut_from):
            parts = (most, last) if stage >= first else (rows, rows)
            for device, mine in enumerate(parts):
                found[device] += size * mine * columns
    return found


# %% held wrong: one matrix of all parameters
def bytes_held(shapes, N, stage, recipe):
    cut_from = [3, 2, 1, 1, 1]
    found = [0, 0]
    for rows, columns in [(sum(r * c for r, c in shapes), 1)]:
        most = -(-rows // N)
        last = max(0, rows - (N - 1) * most)
        for size, first in zip(recipe, cut_from):
            parts = (most, last) if stage >= first else (rows, rows)
            for device, mine in enumerate(parts):
                found[device] += size * mine * columns
    return found


# %% held wrong: rows alone
def bytes_held(shapes, N, stage, recipe):
    cut_from = [3, 2, 1, 1, 1]
    found = [0, 0]
    for rows, columns in shapes:
        most = -(-rows // N)
        last = max(0, rows - (N - 1) * most)
        for size, first in zip(recipe, cut_from):
            parts = (most, last) if stage >= first else (rows, rows)
            for device, mine in enumerate(parts):
                found[device] += size * mine
    return found


# %% held wrong: bytes of all devices
def bytes_held(shapes, N, stage, recipe):
    cut_from = [3, 2, 1, 1, 1]
    found = [0, 0]
    for rows, columns in shapes:
        most = -(-rows // N)
        last = max(0, rows - (N - 1) * most)
        for size, first in zip(recipe, cut_from):
            parts = (most, last) if stage >= first else (rows, rows)
            for device, mine in enumerate(parts):
                found[device] += size * mine * columns * N
    return found


# %% held right: row by row
def bytes_held(shapes, N, stage, recipe):
    whole = {0: recipe, 1: recipe[:2], 2: recipe[:1], 3: []}[stage]
    each, cut = sum(whole), sum(recipe) - sum(whole)
    first = last = 0
    for rows, columns in shapes:
        per_device = (rows + N - 1) // N
        owners = [row // per_device for row in range(rows)]
        first += columns * (rows * each + owners.count(0) * cut)
        last += columns * (rows * each + owners.count(N - 1) * cut)
    return first, last


# %% held right: padded, then without the padding
def bytes_held(shapes, N, stage, recipe):
    rows, columns = np.array(shapes).T
    part = np.ceil(rows / N)
    missing = np.minimum(part * N - rows, part)
    cut_from = np.array([3, 2, 1, 1, 1])
    cut = np.array(recipe) @ (cut_from <= stage)
    kept = sum(recipe) - cut
    always = kept * (rows @ columns)
    return always + cut * np.array([part @ columns, (part - missing) @ columns])


# %% held equivalent: line 8: `max(0, rows - (N - 1) * most)` with its arguments reversed
# The larger of two numbers, in whatever order.


# %% largest wrong: the memory of all devices together
def largest(hbm, N, stage, recipe):
    return N * (N * hbm // block(N, stage, recipe))


def block(N, stage, recipe):
    cut = [3, 2, 1, 1, 1]
    return sum(n * (N if stage < s else 1) for n, s in zip(recipe, cut))


def fewest(params, hbm, stage, recipe, most):
    for N in range(1, most + 1):
        if params % N == 0 and params // N * block(N, stage, recipe) <= hbm:
            return N
    return 0


# %% largest wrong: always stage 3
def largest(hbm, N, stage, recipe):
    return N * (hbm // sum(recipe))


def fewest(params, hbm, stage, recipe, most):
    for N in range(1, most + 1):
        if params % N == 0 and params // N * sum(recipe) <= hbm:
            return N
    return 0


# %% largest wrong: twelve bytes, as in the talk
def largest(hbm, N, stage, recipe):
    return N * (hbm // block(N, stage, [2, 2, 4, 2, 2]))


def block(N, stage, recipe):
    cut = [3, 2, 1, 1, 1]
    return sum(n * (N if stage < s else 1) for n, s in zip(recipe, cut))


def fewest(params, hbm, stage, recipe, most):
    for N in range(1, most + 1):
        if params % N == 0 and params // N * block(N, stage, recipe) <= hbm:
            return N
    return 0


# %% largest wrong: no multiple of N
def largest(hbm, N, stage, recipe):
    return N * hbm // block(N, stage, recipe)


def block(N, stage, recipe):
    cut = [3, 2, 1, 1, 1]
    return sum(n * (N if stage < s else 1) for n, s in zip(recipe, cut))


def fewest(params, hbm, stage, recipe, most):
    for N in range(1, most + 1):
        if params % N == 0 and params // N * block(N, stage, recipe) <= hbm:
            return N
    return 0


# %% largest wrong: fewest does not look whether N divides
def largest(hbm, N, stage, recipe):
    return N * (hbm // block(N, stage, recipe))


def block(N, stage, recipe):
    cut = [3, 2, 1, 1, 1]
    return sum(n * (N if stage < s else 1) for n, s in zip(recipe, cut))


def fewest(params, hbm, stage, recipe, most):
    for N in range(1, most + 1):
        if params / N * block(N, stage, recipe) <= hbm:
            return N
    return 0


# %% largest wrong: the last N that fits
def largest(hbm, N, stage, recipe):
    return N * (hbm // block(N, stage, recipe))


def block(N, stage, recipe):
    cut = [3, 2, 1, 1, 1]
    return sum(n * (N if stage < s else 1) for n, s in zip(recipe, cut))


def fewest(params, hbm, stage, recipe, most):
    fits = [
        N
        for N in range(1, most + 1)
        if params % N == 0 and params // N * block(N, stage, recipe) <= hbm
    ]
    return max(fits, default=0)


# %% largest right: term by term
def largest(hbm, N, stage, recipe):
    return hbm // block(N, stage, recipe) * N


def block(N, stage, recipe):
    cut = [3, 2, 1, 1, 1]
    return sum(n * (N if stage < s else 1) for n, s in zip(recipe, cut))


def fewest(params, hbm, stage, recipe, most):
    fits = [
        N
        for N in range(1, most + 1)
        if params % N == 0 and largest(hbm, N, stage, recipe) >= params
    ]
    return min(fits, default=0)


# %% largest right: whole and cut parts
def largest(hbm, N, stage, recipe):
    whole = [5, 2, 1, 0][stage]
    pieces = hbm // (N * sum(recipe[:whole]) + sum(recipe[whole:]))
    return pieces * N


def fewest(params, hbm, stage, recipe, most):
    N = 1
    while N <= most:
        if params % N == 0 and largest(hbm, N, stage, recipe) >= params:
            return N
        N += 1
    return 0


# %% zero1 wrong: a replicated optimiser
def start(W):
    return adam.start(W)


def update(dW, state):
    dW = jax.lax.psum(dW, "X")
    state = [
        all_gather(s, "X", axis=0, tiled=True, to="invarying") for s in state
    ]
    W, state = adam.update(dW, state)
    rows = W.shape[0] // axis_size("X")
    first = rows * axis_index("X")
    return W, tuple(dynamic_slice_in_dim(s, first, rows, 0) for s in state)


# %% zero1 wrong: the state is gathered, updated everywhere, and cut again
def start(W):
    rows = W.shape[0] // axis_size("X")
    return adam.start(dynamic_slice_in_dim(W, rows * axis_index("X"), rows, 0))


def update(dW, state):
    dW = jax.lax.psum(dW, "X")
    state = [
        all_gather(s, "X", axis=0, tiled=True, to="invarying") for s in state
    ]
    W, state = adam.update(dW, state)
    rows = W.shape[0] // axis_size("X")
    first = rows * axis_index("X")
    return W, tuple(dynamic_slice_in_dim(s, first, rows, 0) for s in state)


# %% zero1 wrong: start keeps the state of all rows
def start(W):
    return adam.start(W)


def update(dW, state):
    dW = psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    W, state = adam.update(dW, state)
    return all_gather(W, "X", axis=0, tiled=True, to="invarying"), state


# %% zero1 wrong: an AllReduce of the gradient, of which each takes its rows
def start(W):
    rows = W.shape[0] // axis_size("X")
    return adam.start(dynamic_slice_in_dim(W, rows * axis_index("X"), rows, 0))


def update(dW, state):
    rows = dW.shape[0] // axis_size("X")
    dW = jax.lax.psum(dW, "X")
    dW = dynamic_slice_in_dim(dW, rows * axis_index("X"), rows, 0)
    W, state = adam.update(dW, state)
    return all_gather(W, "X", axis=0, tiled=True, to="invarying"), state


# %% zero1 wrong: everybody starts with the first rows
def start(W):
    return adam.start(W[: W.shape[0] // axis_size("X")])


def update(dW, state):
    dW = psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    W, state = adam.update(dW, state)
    return all_gather(W, "X", axis=0, tiled=True, to="invarying"), state


# %% zero1 wrong: the mean gradient
def start(W):
    rows = W.shape[0] // axis_size("X")
    return adam.start(dynamic_slice_in_dim(W, rows * axis_index("X"), rows, 0))


def update(dW, state):
    dW = psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    W, state = adam.update(dW / axis_size("X"), state)
    return all_gather(W, "X", axis=0, tiled=True, to="invarying"), state


# %% zero1 wrong: forgets the other chips' gradients
def start(W):
    rows = W.shape[0] // axis_size("X")
    return adam.start(dynamic_slice_in_dim(W, rows * axis_index("X"), rows, 0))


def update(dW, state):
    rows = dW.shape[0] // axis_size("X")
    dW = dynamic_slice_in_dim(dW, rows * axis_index("X"), rows, 0)
    W, state = adam.update(dW, state)
    return all_gather(W, "X", axis=0, tiled=True, to="invarying"), state


# %% zero1 wrong: gathers the new state as well
def start(W):
    rows = W.shape[0] // axis_size("X")
    return adam.start(dynamic_slice_in_dim(W, rows * axis_index("X"), rows, 0))


def update(dW, state):
    dW = psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    _, state = adam.update(dW, state)
    whole = [
        all_gather(s, "X", axis=0, tiled=True, to="invarying") for s in state
    ]
    rows, me = dW.shape[0], axis_index("X")
    state = tuple(dynamic_slice_in_dim(s, rows * me, rows, 0) for s in whole)
    return whole[0], state


# %% zero1 right: rows by reshaping, Adam by hand
def start(W):
    rows = jnp.stack(jnp.split(W, axis_size("X")))[axis_index("X")]
    return rows, 0 * rows, 0 * rows


def update(dW, state):
    master, m, v = state
    dW = psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    m = 0.9 * m + 0.1 * dW
    v = 0.999 * v + 0.001 * dW * dW
    master = master - 1e-3 * m / (jnp.sqrt(v) + 1e-8)
    W = all_gather(master, "X", axis=0, tiled=True, to="invarying")
    return W, (master, m, v)


# %% zero1 right: scatters blocks
def start(W):
    N = axis_size("X")
    return adam.start(W.reshape(N, -1, W.shape[1])[axis_index("X")])


def update(dW, state):
    N = axis_size("X")
    blocks = dW.reshape(N, -1, dW.shape[1])
    mine = psum_scatter(blocks, "X", scatter_dimension=0, tiled=False)
    W, state = adam.update(mine, state)
    whole = all_gather(W, "X", axis=0, tiled=False, to="invarying")
    return whole.reshape(dW.shape), state


# %% zero2 wrong: scattered at the end
def backward(dOut, Ins, Tmps, W_in, W_out):
    def layer(dOut, kept):
        dIn, *grads = one_chip.backward(dOut, *kept)
        return dIn, grads

    dIn, grads = scan(layer, dOut, (Ins, Tmps, W_in, W_out), reverse=True)
    pieces = [
        psum_scatter(dW, "X", scatter_dimension=dim, tiled=True)
        for dW, dim in zip(grads, (2, 1))
    ]
    square = sum((piece**2).sum() for piece in pieces)
    return dIn, *pieces, square[None]


# %% zero2 wrong: an AllReduce, of which each keeps its part
def backward(dOut, Ins, Tmps, W_in, W_out):
    def part(dW, dim):
        size = dW.shape[dim] // axis_size("X")
        dW = jax.lax.psum(dW, "X")
        return dynamic_slice_in_dim(dW, size * axis_index("X"), size, dim)

    def layer(dOut, kept):
        dIn, dW_in, dW_out = one_chip.backward(dOut, *kept)
        return dIn, (part(dW_in, 1), part(dW_out, 0))

    kept = (Ins, Tmps, W_in, W_out)
    dIn, pieces = scan(layer, dOut, kept, reverse=True)
    square = sum((piece**2).sum() for piece in pieces)
    return dIn, *pieces, square[None]


# %% zero2 wrong: forward order
def backward(dOut, Ins, Tmps, W_in, W_out):
    def layer(dOut, kept):
        dIn, dW_in, dW_out = one_chip.backward(dOut, *kept)
        dW_in = psum_scatter(dW_in, "X", scatter_dimension=1, tiled=True)
        dW_out = psum_scatter(dW_out, "X", scatter_dimension=0, tiled=True)
        return dIn, (dW_in, dW_out)

    kept = (Ins, Tmps, W_in, W_out)
    dIn, pieces = scan(layer, dOut, kept)
    square = sum((piece**2).sum() for piece in pieces)
    return dIn, *pieces, square[None]


# %% zero2 wrong: a Python list that waits with all gradients
def backward(dOut, Ins, Tmps, W_in, W_out):
    made = []
    for l in reversed(range(Ins.shape[0])):
        dOut, *grads = one_chip.backward(dOut, Ins[l], Tmps[l], W_in[l], W_out[l])
        made.insert(0, grads)
    pieces = [
        psum_scatter(jnp.stack(dW), "X", scatter_dimension=dim, tiled=True)
        for dW, dim in zip(zip(*made), (2, 1))
    ]
    square = sum((piece**2).sum() for piece in pieces)
    return dOut, *pieces, square[None]


# %% zero2 wrong: own terms, not summed
def backward(dOut, Ins, Tmps, W_in, W_out):
    def part(dW, dim):
        size = dW.shape[dim] // axis_size("X")
        return dynamic_slice_in_dim(dW, size * axis_index("X"), size, dim)

    def layer(dOut, kept):
        dIn, dW_in, dW_out = one_chip.backward(dOut, *kept)
        return dIn, (part(dW_in, 1), part(dW_out, 0))

    kept = (Ins, Tmps, W_in, W_out)
    dIn, pieces = scan(layer, dOut, kept, reverse=True)
    square = sum((piece**2).sum() for piece in pieces)
    return dIn, *pieces, square[None]


# %% zero2 wrong: a mean
def backward(dOut, Ins, Tmps, W_in, W_out):
    def layer(dOut, kept):
        dIn, dW_in, dW_out = one_chip.backward(dOut, *kept)
        dW_in = psum_scatter(dW_in, "X", scatter_dimension=1, tiled=True)
        dW_out = psum_scatter(dW_out, "X", scatter_dimension=0, tiled=True)
        return dIn, (dW_in, dW_out)

    kept = (Ins, Tmps, W_in, W_out)
    dIn, pieces = scan(layer, dOut, kept, reverse=True)
    pieces = [piece / axis_size("X") for piece in pieces]
    square = sum((piece**2).sum() for piece in pieces)
    return dIn, *pieces, square[None]


# %% zero2 wrong: rows of both, as in the chapter
def backward(dOut, Ins, Tmps, W_in, W_out):
    def layer(dOut, kept):
        dIn, dW_in, dW_out = one_chip.backward(dOut, *kept)
        dW_in = psum_scatter(dW_in, "X", scatter_dimension=0, tiled=True)
        dW_out = psum_scatter(dW_out, "X", scatter_dimension=0, tiled=True)
        return dIn, (dW_in, dW_out)

    kept = (Ins, Tmps, W_in, W_out)
    dIn, pieces = scan(layer, dOut, kept, reverse=True)
    square = sum((piece**2).sum() for piece in pieces)
    return dIn, *pieces, square[None]


# %% zero2 wrong: columns of both
def backward(dOut, Ins, Tmps, W_in, W_out):
    def layer(dOut, kept):
        dIn, dW_in, dW_out = one_chip.backward(dOut, *kept)
        dW_in = psum_scatter(dW_in, "X", scatter_dimension=1, tiled=True)
        dW_out = psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
        return dIn, (dW_in, dW_out)

    kept = (Ins, Tmps, W_in, W_out)
    dIn, pieces = scan(layer, dOut, kept, reverse=True)
    square = sum((piece**2).sum() for piece in pieces)
    return dIn, *pieces, square[None]


# %% zero2 wrong: three blocks wait for each other
def backward(dOut, Ins, Tmps, W_in, W_out):
    found, waiting = {}, {}
    for l in reversed(range(len(Ins))):
        kept = (Ins[l], Tmps[l], W_in[l], W_out[l])
        dOut, *waiting[l] = one_chip.backward(dOut, *kept)
        if len(waiting) == 3 or l == 0:
            for n, grads in waiting.items():
                found[n] = [
                    psum_scatter(dW, "X", scatter_dimension=dim, tiled=True)
                    for dW, dim in zip(grads, (1, 0))
                ]
            waiting = {}
    ordered = [found[l] for l in sorted(found)]
    pieces = [jnp.stack(dW) for dW in zip(*ordered)]
    square = sum((piece**2).sum() for piece in pieces)
    return dOut, *pieces, square[None]


# %% zero2 wrong: terms are gathered and added
def backward(dOut, Ins, Tmps, W_in, W_out):
    def part(dW, dim):
        size = dW.shape[dim] // axis_size("X")
        whole = all_gather(dW, "X").sum(0)
        return dynamic_slice_in_dim(whole, size * axis_index("X"), size, dim)

    def layer(dOut, kept):
        dIn, dW_in, dW_out = one_chip.backward(dOut, *kept)
        return dIn, (part(dW_in, 1), part(dW_out, 0))

    kept = (Ins, Tmps, W_in, W_out)
    dIn, pieces = scan(layer, dOut, kept, reverse=True)
    square = sum((piece**2).sum() for piece in pieces)
    return dIn, *pieces, square[None]


# %% zero2 wrong: squares of its own terms
def backward(dOut, Ins, Tmps, W_in, W_out):
    def layer(carry, kept):
        dOut, square = carry
        dIn, *grads = one_chip.backward(dOut, *kept)
        square += sum((dW**2).sum() for dW in grads)
        pieces = [
            psum_scatter(dW, "X", scatter_dimension=dim, tiled=True)
            for dW, dim in zip(grads, (1, 0))
        ]
        return (dIn, square), pieces

    kept = (Ins, Tmps, W_in, W_out)
    start = dOut, 0 * dOut.sum()
    (dIn, square), pieces = scan(layer, start, kept, reverse=True)
    return dIn, *pieces, square[None]


# %% zero2 wrong: the whole square on every chip
def backward(dOut, Ins, Tmps, W_in, W_out):
    def layer(dOut, kept):
        dIn, dW_in, dW_out = one_chip.backward(dOut, *kept)
        dW_in = psum_scatter(dW_in, "X", scatter_dimension=1, tiled=True)
        dW_out = psum_scatter(dW_out, "X", scatter_dimension=0, tiled=True)
        return dIn, (dW_in, dW_out)

    kept = (Ins, Tmps, W_in, W_out)
    dIn, pieces = scan(layer, dOut, kept, reverse=True)
    square = sum((piece**2).sum() for piece in pieces)
    return dIn, *pieces, jax.lax.psum(square, "X")[None]


# %% zero2 wrong: the length of a piece
def backward(dOut, Ins, Tmps, W_in, W_out):
    def layer(dOut, kept):
        dIn, dW_in, dW_out = one_chip.backward(dOut, *kept)
        dW_in = psum_scatter(dW_in, "X", scatter_dimension=1, tiled=True)
        dW_out = psum_scatter(dW_out, "X", scatter_dimension=0, tiled=True)
        return dIn, (dW_in, dW_out)

    kept = (Ins, Tmps, W_in, W_out)
    dIn, pieces = scan(layer, dOut, kept, reverse=True)
    square = sum((piece**2).sum() for piece in pieces)
    return dIn, *pieces, square[None] ** 0.5


# %% zero2 wrong: the square of a sum
def backward(dOut, Ins, Tmps, W_in, W_out):
    def layer(dOut, kept):
        dIn, dW_in, dW_out = one_chip.backward(dOut, *kept)
        dW_in = psum_scatter(dW_in, "X", scatter_dimension=1, tiled=True)
        dW_out = psum_scatter(dW_out, "X", scatter_dimension=0, tiled=True)
        return dIn, (dW_in, dW_out)

    kept = (Ins, Tmps, W_in, W_out)
    dIn, pieces = scan(layer, dOut, kept, reverse=True)
    square = sum(piece.sum() ** 2 for piece in pieces)
    return dIn, *pieces, square[None]


# %% zero2 wrong: the square of the last matrices alone
def backward(dOut, Ins, Tmps, W_in, W_out):
    def layer(dOut, kept):
        dIn, dW_in, dW_out = one_chip.backward(dOut, *kept)
        dW_in = psum_scatter(dW_in, "X", scatter_dimension=1, tiled=True)
        dW_out = psum_scatter(dW_out, "X", scatter_dimension=0, tiled=True)
        return dIn, (dW_in, dW_out)

    kept = (Ins, Tmps, W_in, W_out)
    dIn, pieces = scan(layer, dOut, kept, reverse=True)
    square = (pieces[1] ** 2).sum()
    return dIn, *pieces, square[None]


# %% zero2 wrong: a square of the mean
def backward(dOut, Ins, Tmps, W_in, W_out):
    def layer(dOut, kept):
        dIn, dW_in, dW_out = one_chip.backward(dOut, *kept)
        dW_in = psum_scatter(dW_in, "X", scatter_dimension=1, tiled=True)
        dW_out = psum_scatter(dW_out, "X", scatter_dimension=0, tiled=True)
        return dIn, (dW_in, dW_out)

    kept = (Ins, Tmps, W_in, W_out)
    dIn, pieces = scan(layer, dOut, kept, reverse=True)
    square = sum((piece**2).mean() for piece in pieces)
    return dIn, *pieces, square[None]


# %% zero2 right: products by hand
def backward(dOut, Ins, Tmps, W_in, W_out):
    def layer(carry, kept):
        dOut, square = carry
        In, Tmp, W_in, W_out = kept
        dW_out = jnp.einsum("bf,bd->fd", Tmp, dOut)
        dW_out = psum_scatter(dW_out, "X", tiled=True)
        dTmp = dOut @ W_out.T
        dW_in = jnp.einsum("bf,bd->fd", dTmp, In)
        dW_in = psum_scatter(dW_in, "X", tiled=True)  # of the transposed
        square += jnp.vdot(dW_in, dW_in) + jnp.vdot(dW_out, dW_out)
        return (dTmp @ W_in.T, square), (dW_in.T, dW_out)

    kept = (Ins, Tmps, W_in, W_out)
    start = dOut, 0 * dOut.sum()
    (dIn, square), pieces = scan(layer, start, kept, reverse=True)
    return dIn, *pieces, square.reshape(1)


# %% zero2 right: a Python loop
def backward(dOut, Ins, Tmps, W_in, W_out):
    made = []
    for l in reversed(range(Ins.shape[0])):
        dOut, *grads = one_chip.backward(dOut, Ins[l], Tmps[l], W_in[l], W_out[l])
        pieces = [
            psum_scatter(dW, "X", scatter_dimension=dim, tiled=True)
            for dim, dW in zip((1, 0), grads)
        ]
        made.insert(0, pieces)
    dW_in, dW_out = (jnp.stack(dW) for dW in zip(*made))
    square = jnp.sum(dW_in**2) + jnp.sum(dW_out**2)
    return dOut, dW_in, dW_out, jnp.array([square])


# %% zero2 right: scattered one block late
def backward(dOut, Ins, Tmps, W_in, W_out):
    def scattered(grads):
        return [
            psum_scatter(dW, "X", scatter_dimension=dim, tiled=True)
            for dW, dim in zip(grads, (1, 0))
        ]

    def layer(carry, kept):
        dOut, *waiting = carry
        return one_chip.backward(dOut, *kept), scattered(waiting)

    kept = (Ins, Tmps, W_in, W_out)
    last = one_chip.backward(dOut, *(array[-1] for array in kept))
    rest = tuple(array[:-1] for array in kept)
    (dIn, *first), late = scan(layer, last, rest, reverse=True)
    pieces = [
        jnp.concatenate([dW[None], others])
        for dW, others in zip(scattered(first), late)
    ]
    return dIn, *pieces, sum((dW**2).sum(keepdims=True)[0, 0] for dW in pieces)


# %% forward wrong: both gathered first, as for data parallelism
def forward(In, W_in, W_out):
    W_in = all_gather(W_in, "X", axis=0, tiled=True)
    W_out = all_gather(W_out, "X", axis=1, tiled=True)
    return jax.nn.relu(In @ W_in) @ W_out


# %% forward wrong: moves activations, as tensor parallelism does
def forward(In, W_in, W_out):
    D = W_in.shape[0]
    all_of_In = all_gather(In, "X", axis=0, tiled=True)
    mine = dynamic_slice_in_dim(all_of_In, D * axis_index("X"), D, 1)
    Tmp = psum_scatter(mine @ W_in, "X", scatter_dimension=0, tiled=True)
    W_out = all_gather(W_out, "X", axis=1, tiled=True)
    return jax.nn.relu(Tmp) @ W_out


# %% forward wrong: gathers rows of W_out
def forward(In, W_in, W_out):
    W_in = all_gather(W_in, "X", axis=0, tiled=True)
    Tmp = jax.nn.relu(In @ W_in)
    return Tmp @ W_out


# %% forward wrong: a gather made of an AllReduce
def forward(In, W_in, W_out):
    me, N = axis_index("X"), axis_size("X")
    whole = jnp.zeros((N, *W_in.shape), W_in.dtype).at[me].set(W_in)
    W_in = jnp.concatenate(list(jax.lax.psum(whole, "X")))
    Tmp = jax.nn.relu(In @ W_in)
    W_out = all_gather(W_out, "X", axis=1, tiled=True)
    return Tmp @ W_out


# %% forward wrong: no ReLU
def forward(In, W_in, W_out):
    W_in = all_gather(W_in, "X", axis=0, tiled=True)
    Tmp = In @ W_in
    W_out = all_gather(W_out, "X", axis=1, tiled=True)
    return Tmp @ W_out


# %% forward wrong: the ReLU at the end
def forward(In, W_in, W_out):
    Tmp = In @ all_gather(W_in, "X", axis=0, tiled=True)
    Out = Tmp @ all_gather(W_out, "X", axis=1, tiled=True)
    return jax.nn.relu(Out)


# %% forward wrong: gathers W_in twice
def forward(In, W_in, W_out):
    half = In.shape[0] // 2
    Tmp = [
        jax.nn.relu(x @ all_gather(W_in, "X", axis=0, tiled=True))
        for x in (In[:half], In[half:])
    ]
    W_out = all_gather(W_out, "X", axis=1, tiled=True)
    return jnp.concatenate(Tmp) @ W_out


# %% forward right: where instead of relu
def forward(In, W_in, W_out):
    Tmp = In @ all_gather(W_in, "X", axis=0, tiled=True)
    Tmp = jnp.where(Tmp > 0, Tmp, 0)
    return Tmp @ all_gather(W_out, "X", axis=1, tiled=True)


# %% forward right: gathers the transposed
def forward(In, W_in, W_out):
    W_in = all_gather(W_in.T, "X", axis=1, tiled=True).T
    Tmp = jnp.maximum(In @ W_in, 0)
    return Tmp @ all_gather(W_out.T, "X", axis=0, tiled=True).T


# %% back wrong: AllReduce, then a part: data parallelism
def back(dOut, In, Tmp, W_in, W_out):
    def part(dW, axis):
        dW = jax.lax.psum(dW, "X")
        size = dW.shape[axis] // axis_size("X")
        return dynamic_slice_in_dim(dW, size * axis_index("X"), size, axis)

    W_out = all_gather(W_out, "X", axis=1, tiled=True)
    dTmp = (dOut @ W_out.T) * (Tmp > 0)
    dW_out = part(Tmp.T @ dOut, 1)
    dW_in = part(In.T @ dTmp, 0)
    W_in = all_gather(W_in, "X", axis=0, tiled=True)
    return dTmp @ W_in.T, dW_in, dW_out


# %% back wrong: both matrices gathered first
def back(dOut, In, Tmp, W_in, W_out):
    W_out = all_gather(W_out, "X", axis=1, tiled=True)
    W_in = all_gather(W_in, "X", axis=0, tiled=True)
    dTmp = (dOut @ W_out.T) * (Tmp > 0)
    dW_out, dW_in = Tmp.T @ dOut, In.T @ dTmp
    dW_out = psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    dW_in = psum_scatter(dW_in, "X", scatter_dimension=0, tiled=True)
    return dTmp @ W_in.T, dW_in, dW_out


# %% back wrong: both matrices gathered first, one of them disguised
def back(dOut, In, Tmp, W_in, W_out):
    W_in = all_gather(W_in, "X", axis=0, tiled=True)
    W_in = W_in @ (jnp.eye(W_in.shape[1]) + 0 * In.sum())
    W_out = all_gather(W_out, "X", axis=1, tiled=True)
    dW_out = psum_scatter(Tmp.T @ dOut, "X", scatter_dimension=1, tiled=True)
    dTmp = (dOut @ W_out.T) * (Tmp > 0)
    dW_in = psum_scatter(In.T @ dTmp, "X", scatter_dimension=0, tiled=True)
    return dTmp @ W_in.T, dW_in, dW_out


# %% back wrong: dW_out is cut along F
def back(dOut, In, Tmp, W_in, W_out):
    dW_out = psum_scatter(Tmp.T @ dOut, "X", scatter_dimension=0, tiled=True)
    W_out = all_gather(W_out, "X", axis=1, tiled=True)
    dTmp = (dOut @ W_out.T) * (Tmp > 0)
    dW_in = psum_scatter(In.T @ dTmp, "X", scatter_dimension=0, tiled=True)
    W_in = all_gather(W_in, "X", axis=0, tiled=True)
    return dTmp @ W_in.T, dW_in, dW_out


# %% back wrong: a mean
def back(dOut, In, Tmp, W_in, W_out):
    N = axis_size("X")
    dW_out = psum_scatter(Tmp.T @ dOut, "X", scatter_dimension=1, tiled=True)
    W_out = all_gather(W_out, "X", axis=1, tiled=True)
    dTmp = (dOut @ W_out.T) * (Tmp > 0)
    dW_in = psum_scatter(In.T @ dTmp, "X", scatter_dimension=0, tiled=True)
    W_in = all_gather(W_in, "X", axis=0, tiled=True)
    return dTmp @ W_in.T, dW_in / N, dW_out / N


# %% back wrong: forgets the ReLU
def back(dOut, In, Tmp, W_in, W_out):
    dW_out = psum_scatter(Tmp.T @ dOut, "X", scatter_dimension=1, tiled=True)
    W_out = all_gather(W_out, "X", axis=1, tiled=True)
    dTmp = dOut @ W_out.T
    dW_in = psum_scatter(In.T @ dTmp, "X", scatter_dimension=0, tiled=True)
    W_in = all_gather(W_in, "X", axis=0, tiled=True)
    return dTmp @ W_in.T, dW_in, dW_out


# %% back wrong: the ReLU of the gradient
def back(dOut, In, Tmp, W_in, W_out):
    dW_out = psum_scatter(Tmp.T @ dOut, "X", scatter_dimension=1, tiled=True)
    W_out = all_gather(W_out, "X", axis=1, tiled=True)
    dTmp = jax.nn.relu(dOut @ W_out.T)
    dW_in = psum_scatter(In.T @ dTmp, "X", scatter_dimension=0, tiled=True)
    W_in = all_gather(W_in, "X", axis=0, tiled=True)
    return dTmp @ W_in.T, dW_in, dW_out


# %% back wrong: own gradients only
def back(dOut, In, Tmp, W_in, W_out):
    def part(dW, axis):
        size = dW.shape[axis] // axis_size("X")
        return dynamic_slice_in_dim(dW, size * axis_index("X"), size, axis)

    dW_out = part(Tmp.T @ dOut, 1)
    W_out = all_gather(W_out, "X", axis=1, tiled=True)
    dTmp = (dOut @ W_out.T) * (Tmp > 0)
    dW_in = part(In.T @ dTmp, 0)
    W_in = all_gather(W_in, "X", axis=0, tiled=True)
    return dTmp @ W_in.T, dW_in, dW_out


# %% back wrong: gathers activations and computes all of the gradients
def back(dOut, In, Tmp, W_in, W_out):
    def part(left, right, axis):
        left = all_gather(left, "X", axis=0, tiled=True)
        dW = left.T @ all_gather(right, "X", axis=0, tiled=True)
        size = dW.shape[axis] // axis_size("X")
        return dynamic_slice_in_dim(dW, size * axis_index("X"), size, axis)

    dW_out = part(Tmp, dOut, 1)
    W_out = all_gather(W_out, "X", axis=1, tiled=True)
    dTmp = (dOut @ W_out.T) * (Tmp > 0)
    dW_in = part(In, dTmp, 0)
    W_in = all_gather(W_in, "X", axis=0, tiled=True)
    return dTmp @ W_in.T, dW_in, dW_out


# %% back right: dIn first
def back(dOut, In, Tmp, W_in, W_out):
    dTmp = dOut @ all_gather(W_out, "X", axis=1, tiled=True).T
    dTmp = jnp.where(Tmp > 0, dTmp, 0)
    dIn = dTmp @ all_gather(W_in, "X", axis=0, tiled=True).T
    dW_in = psum_scatter(In.T @ dTmp, "X", scatter_dimension=0, tiled=True)
    dW_out = psum_scatter(Tmp.T @ dOut, "X", scatter_dimension=1, tiled=True)
    return dIn, dW_in, dW_out


# %% back right: the transposed gradient
def back(dOut, In, Tmp, W_in, W_out):
    dW_out = psum_scatter(dOut.T @ Tmp, "X", scatter_dimension=0, tiled=True).T
    W_out = all_gather(W_out.T, "X", axis=0, tiled=True)
    dTmp = (dOut @ W_out) * (Tmp > 0)
    dW_in = psum_scatter(
        jnp.einsum("bd,bf->df", In, dTmp),
        "X",
        scatter_dimension=0,
        tiled=True,
    )
    W_in = all_gather(W_in, "X", axis=0, tiled=True)
    return jnp.einsum("bf,df->bd", dTmp, W_in), dW_in, dW_out


# %% stack wrong: keeps what was gathered
def step(In, Target, W):
    def layer(x, W):
        W_all = all_gather(W, "X", axis=0, tiled=True)
        Out = jax.nn.relu(x @ W_all)
        return Out, (x, Out, W_all)

    def back(dOut, kept):
        x, Out, W_all = kept
        dOut = dOut * (Out > 0)
        dW = psum_scatter(x.T @ dOut, "X", scatter_dimension=0, tiled=True)
        return dOut @ W_all.T, dW

    Out, kept = scan(layer, In, W)
    _, dW = scan(back, Out - Target, kept, reverse=True)
    return dW


# %% stack wrong: gathers everything at once
def step(In, Target, W):
    W = all_gather(W, "X", axis=1, tiled=True)

    def layer(x, W):
        Out = jax.nn.relu(x @ W)
        return Out, (x, Out, W)

    def back(dOut, kept):
        x, Out, W = kept
        dOut = dOut * (Out > 0)
        dW = psum_scatter(x.T @ dOut, "X", scatter_dimension=0, tiled=True)
        return dOut @ W.T, dW

    Out, kept = scan(layer, In, W)
    _, dW = scan(back, Out - Target, kept, reverse=True)
    return dW


# %% stack wrong: differentiated as it is, which keeps what was gathered
def step(In, Target, W):
    def loss(W):
        def layer(x, W):
            W_all = all_gather(W, "X", axis=0, tiled=True)
            return jax.nn.relu(x @ W_all), None

        Out, _ = scan(layer, In, W)
        return jnp.sum((Out - Target) ** 2) / 2

    return jax.grad(loss)(W)


# %% stack wrong: AllReduces gradients
def step(In, Target, W):
    def layer(x, W):
        W_all = all_gather(W, "X", axis=0, tiled=True)
        Out = jax.nn.relu(x @ W_all)
        return Out, (x, Out, W)

    def back(dOut, kept):
        x, Out, W = kept
        dOut = dOut * (Out > 0)
        dW = jax.lax.psum(x.T @ dOut, "X")
        rows = W.shape[0]
        dW = dynamic_slice_in_dim(dW, rows * axis_index("X"), rows, 0)
        W_all = all_gather(W, "X", axis=0, tiled=True)
        return dOut @ W_all.T, dW

    Out, kept = scan(layer, In, W)
    _, dW = scan(back, Out - Target, kept, reverse=True)
    return dW


# %% stack wrong: scatters all gradients at the end
def step(In, Target, W):
    def layer(x, W):
        W_all = all_gather(W, "X", axis=0, tiled=True)
        Out = jax.nn.relu(x @ W_all)
        return Out, (x, Out, W)

    def back(dOut, kept):
        x, Out, W = kept
        dOut = dOut * (Out > 0)
        W_all = all_gather(W, "X", axis=0, tiled=True)
        return dOut @ W_all.T, x.T @ dOut

    Out, kept = scan(layer, In, W)
    _, dW = scan(back, Out - Target, kept, reverse=True)
    return psum_scatter(dW, "X", scatter_dimension=1, tiled=True)


# %% stack wrong: the whole squared distance
def step(In, Target, W):
    @jax.checkpoint
    def layer(x, W):
        W_all = all_gather(W, "X", axis=0, tiled=True)
        return jax.nn.relu(x @ W_all), None

    def loss(W):
        Out, _ = scan(layer, In, W)
        return jnp.sum((Out - Target) ** 2)

    return jax.grad(loss)(W)


# %% stack wrong: the ReLU is forgotten on the way back
def step(In, Target, W):
    def layer(x, W):
        W_all = all_gather(W, "X", axis=0, tiled=True)
        return jax.nn.relu(x @ W_all), (x, W)

    def back(dOut, kept):
        x, W = kept
        dW = psum_scatter(x.T @ dOut, "X", scatter_dimension=0, tiled=True)
        W_all = all_gather(W, "X", axis=0, tiled=True)
        return dOut @ W_all.T, dW

    Out, kept = scan(layer, In, W)
    _, dW = scan(back, Out - Target, kept, reverse=True)
    return dW


# %% stack wrong: JAX derives it, with half a gradient at zero
def step(In, Target, W):
    @jax.checkpoint
    def layer(x, W):
        W_all = all_gather(W, "X", axis=0, tiled=True)
        return jnp.maximum(x @ W_all, 0), None

    def loss(W):
        Out, _ = scan(layer, In, W)
        return jnp.sum((Out - Target) ** 2) / 2

    return jax.grad(loss)(W)


# %% stack right: JAX derives it, with checkpoint
def step(In, Target, W):
    @jax.checkpoint
    def layer(x, W):
        W_all = all_gather(W, "X", axis=0, tiled=True)
        return jax.nn.relu(x @ W_all), None

    def loss(W):
        Out, _ = scan(layer, In, W)
        return jnp.sum((Out - Target) ** 2) / 2

    return jax.grad(loss)(W)


# %% stack right: Python loops
def step(In, Target, W):
    outs, grads = [In], []
    for l in range(W.shape[0]):
        W_all = all_gather(W[l], "X", axis=0, tiled=True)
        outs.append(jnp.maximum(outs[-1] @ W_all, 0))
    dOut = outs[-1] - Target
    for l in reversed(range(W.shape[0])):
        dOut = jnp.where(outs[l + 1] > 0, dOut, 0)
        dW = outs[l].T @ dOut
        grads.append(psum_scatter(dW, "X", scatter_dimension=0, tiled=True))
        dOut = dOut @ all_gather(W[l], "X", axis=0, tiled=True).T
    return jnp.stack(grads[::-1])


# %% formulas wrong: FSDP moves what data parallelism moves
D, F, X, b, C, W = sympy.symbols("D F X b C W", positive=True)
dp, zero1_update = 8 * D * F, 4 * D * F
fsdp, kept = 8 * D * F, 8 * D * F
sent = 8 * D * F * (X - 1) / X
knee = C / W
slower = 1

# %% formulas wrong: elements for bytes
D, F, X, b, C, W = sympy.symbols("D F X b C W", positive=True)
dp, zero1_update = 4 * D * F, 2 * D * F
fsdp, kept = 6 * D * F, 4 * D * F
sent = 6 * D * F * (X - 1) / X
knee = C / W
slower = 12 / (8 + 4 * b * W / C)

# %% formulas wrong: the ratio of bytes for that of times
D, F, X, b, C, W = sympy.symbols("D F X b C W", positive=True)
dp, zero1_update = 8 * D * F, 4 * D * F
fsdp, kept = 12 * D * F, 8 * D * F
sent = 12 * D * F * (X - 1) / X
knee = C / W
slower = sympy.Rational(3, 2)

# %% formulas wrong: no overlap
D, F, X, b, C, W = sympy.symbols("D F X b C W", positive=True)
dp, zero1_update = 8 * D * F, 4 * D * F
fsdp, kept = 12 * D * F, 8 * D * F
sent = 12 * D * F * (X - 1) / X
knee = C / W
slower = (12 + 12 * b * W / C) / (8 + 12 * b * W / C)

# %% formulas wrong: what is kept is gathered again
D, F, X, b, C, W = sympy.symbols("D F X b C W", positive=True)
dp, zero1_update = 8 * D * F, 4 * D * F
fsdp, kept = 12 * D * F, 12 * D * F
sent = 12 * D * F * (X - 1) / X
knee = C / W
slower = 12 / (8 + 4 * b * W / C)

# %% formulas wrong: the limit for what is sent
D, F, X, b, C, W = sympy.symbols("D F X b C W", positive=True)
dp, zero1_update = 8 * D * F, 4 * D * F
fsdp, kept = 12 * D * F, 8 * D * F
sent = 12 * D * F
knee = C / W
slower = 12 / (8 + 4 * b * W / C)

# %% formulas wrong: all of ZeRO-1's bytes in the update
D, F, X, b, C, W = sympy.symbols("D F X b C W", positive=True)
dp, zero1_update = 8 * D * F, 8 * D * F
fsdp, kept = 12 * D * F, 8 * D * F
sent = 12 * D * F * (X - 1) / X
knee = C / W
slower = 12 / (8 + 4 * b * W / C)

# %% formulas wrong: a knee of twice as many tokens
D, F, X, b, C, W = sympy.symbols("D F X b C W", positive=True)
dp, zero1_update = 8 * D * F, 4 * D * F
fsdp, kept = 12 * D * F, 8 * D * F
sent = 12 * D * F * (X - 1) / X
knee = 2 * C / W
slower = 12 / (8 + 4 * b * W / C)

# %% formulas right: as text
dp, zero1_update = "8*D*F", "4*D*F"
fsdp, kept = "12*D*F", "8*D*F"
sent = "12*D*F*(1 - 1/X)"
knee = "C/W"
slower = "3*C/(2*C + b*W)"

# %% formulas right: from matrices
D, F, X, b, C, W = sympy.symbols("D F X b C W", positive=True)
matrix = 2 * D * F
dp, zero1_update = 2 * (2 * matrix), 2 * matrix
fsdp, kept = 3 * (2 * matrix), 4 * matrix
sent = fsdp - fsdp / X
knee = (4 / W) / (4 / C)
slower = 3 / (2 + b / knee)


# %% prefetch wrong: on demand
def prefetch(size, work, room):
    now, starts = 0, [[], []]
    for fetch, multiply in zip(size, work):
        starts[0].append(now)
        starts[1].append(now + fetch)
        now += fetch + multiply
    return starts


# %% prefetch wrong: everything at once, whatever room there is
def prefetch(size, work, room):
    gathers, products, network, chip = [], [], 0, 0
    taken = oldest = 0
    for fetch, multiply in zip(size, work):
        while False:
            network = max(network, products[oldest] + work[oldest])
            taken -= size[oldest]
            oldest += 1
        gathers.append(network)
        taken += fetch
        network += fetch
        products.append(max(network, chip))
        chip = products[-1] + multiply
    return [gathers, products]


# %% prefetch wrong: room is free when a product starts
def prefetch(size, work, room):
    gathers, products, network, chip = [], [], 0, 0
    taken = oldest = 0
    for fetch, multiply in zip(size, work):
        while taken + fetch > room:
            network = max(network, products[oldest])
            taken -= size[oldest]
            oldest += 1
        gathers.append(network)
        taken += fetch
        network += fetch
        products.append(max(network, chip))
        chip = products[-1] + multiply
    return [gathers, products]


# %% prefetch wrong: only the oldest matrix goes
def prefetch(size, work, room):
    gathers, products, network, chip = [], [], 0, 0
    taken = oldest = 0
    for fetch, multiply in zip(size, work):
        if taken + fetch > room:
            network = max(network, products[oldest] + work[oldest])
            taken -= size[oldest]
            oldest += 1
        gathers.append(network)
        taken += fetch
        network += fetch
        products.append(max(network, chip))
        chip = products[-1] + multiply
    return [gathers, products]


# %% prefetch wrong: room for the next must be empty before the last is there
def prefetch(size, work, room):
    gathers, products, network, chip = [], [], 0, 0
    taken = oldest = 0
    for fetch, multiply in zip(size, work):
        while taken + fetch >= room and taken:
            network = max(network, products[oldest] + work[oldest])
            taken -= size[oldest]
            oldest += 1
        gathers.append(network)
        taken += fetch
        network += fetch
        products.append(max(network, chip))
        chip = products[-1] + multiply
    return [gathers, products]


# %% prefetch wrong: two at a time, whatever their size
def prefetch(size, work, room):
    gathers, products, network, chip = [], [], 0, 0
    for i, (fetch, multiply) in enumerate(zip(size, work)):
        start = network
        if i >= 2:
            start = max(start, products[i - 2] + work[i - 2])
        gathers.append(start)
        network = start + fetch
        products.append(max(network, chip))
        chip = products[i] + multiply
    return [gathers, products]


# %% prefetch wrong: room for as many of the largest
def prefetch(size, work, room):
    gathers, products, network, chip = [], [], 0, 0
    most = room // max(size)
    for i, (fetch, multiply) in enumerate(zip(size, work)):
        start = network
        if i >= most:
            start = max(start, products[i - most] + work[i - most])
        gathers.append(start)
        network = start + fetch
        products.append(max(network, chip))
        chip = products[i] + multiply
    return [gathers, products]


# %% prefetch wrong: room counts matrices
def prefetch(size, work, room):
    gathers, products, network, chip = [], [], 0, 0
    for i, (fetch, multiply) in enumerate(zip(size, work)):
        start = network
        if i >= room:
            start = max(start, products[i - room] + work[i - room])
        gathers.append(start)
        network = start + fetch
        products.append(max(network, chip))
        chip = products[i] + multiply
    return [gathers, products]


# %% prefetch wrong: all must be gone before a large one
def prefetch(size, work, room):
    gathers, products, network, chip, taken = [], [], 0, 0, 0
    for fetch, multiply in zip(size, work):
        if taken + fetch > room:
            network, taken = max(network, chip), 0
        gathers.append(network)
        taken += fetch
        network += fetch
        products.append(max(network, chip))
        chip = products[-1] + multiply
    return [gathers, products]


# %% prefetch wrong: products do not wait for their gather
def prefetch(size, work, room):
    gathers, products, network, chip = [], [], 0, 0
    taken = oldest = 0
    for fetch, multiply in zip(size, work):
        while taken + fetch > room:
            network = max(network, products[oldest] + work[oldest])
            taken -= size[oldest]
            oldest += 1
        gathers.append(network)
        taken += fetch
        network += fetch
        products.append(chip)
        chip = products[-1] + multiply
    return [gathers, products]


# %% prefetch wrong: the chip does two products at a time
def prefetch(size, work, room):
    gathers, products, network, chip = [], [], 0, 0
    taken = oldest = 0
    for fetch, multiply in zip(size, work):
        while taken + fetch > room:
            network = max(network, products[oldest] + work[oldest])
            taken -= size[oldest]
            oldest += 1
        gathers.append(network)
        taken += fetch
        network += fetch
        products.append(network)
        chip = products[-1] + multiply
    return [gathers, products]


# %% prefetch wrong: two gathers at a time
def prefetch(size, work, room):
    gathers, products, network, chip = [], [], 0, 0
    taken = oldest = 0
    for fetch, multiply in zip(size, work):
        while taken + fetch > room:
            network = max(network, products[oldest] + work[oldest])
            taken -= size[oldest]
            oldest += 1
        gathers.append(network)
        taken += fetch
        products.append(max(network + fetch, chip))
        chip = products[-1] + multiply
    return [gathers, products]


# %% prefetch wrong: small ones first
def prefetch(size, work, room):
    order = sorted(range(len(size)), key=lambda i: size[i])
    gathers, products = [0] * len(size), [0] * len(size)
    network = chip = 0
    for i in order:
        gathers[i] = max(network, chip - work[i])
        network = gathers[i] + size[i]
        products[i] = max(network, chip)
        chip = products[i] + work[i]
    return [gathers, products]


# %% prefetch right: second by second
def prefetch(size, work, room):
    n, now, gathers, products = len(size), 0, [], []
    while len(products) < n:
        ended = [s + w for s, w in zip(products, work) if s + w <= now]
        brought = [s + g for s, g in zip(gathers, size) if s + g <= now]
        idle = len(brought) == len(gathers)
        taken = sum(size[len(ended) : len(gathers)])
        if idle and len(gathers) < n and taken + size[len(gathers)] <= room:
            gathers.append(now)
        rests = len(ended) == len(products)
        if rests and len(products) < len(brought):
            products.append(now)
        else:
            now += 1
    return [gathers, products]


# %% prefetch right: ends first
def prefetch(size, work, room):
    came, gone = [], []
    for i in range(len(size)):
        first = i
        while first and sum(size[first - 1 : i + 1]) <= room:
            first -= 1  # what may still be there beside number i
        free = gone[first - 1] if first else 0
        came.append(max([free, *came[-1:]]) + size[i])
        gone.append(max([came[i], *gone[-1:]]) + work[i])
    return [
        [end - long for end, long in zip(came, size)],
        [end - long for end, long in zip(gone, work)],
    ]


# %% prefetch right: floats in arrays, with a sum of sizes
def prefetch(size, work, room):
    ends = np.cumsum([0.0, *size])
    came, gone = np.zeros(len(size) + 1), np.zeros(len(size) + 1)
    for i, fetch in enumerate(size):
        left = np.searchsorted(ends, ends[i + 1] - room)  # matrices gone
        came[i + 1] = max(came[i], gone[left]) + fetch
        gone[i + 1] = max(came[i + 1], gone[i]) + work[i]
    return [came[1:] - size, gone[1:] - work]


# %% prefetch equivalent: line 4: 0 becomes 1 (2)
# The first product starts after its gather, which takes a second at least.


# %% prefetch equivalent: line 8: `max(network, products[oldest] + work[oldest])` with its arguments reversed
# The larger of two numbers, in whatever order.


# %% prefetch equivalent: line 14: `max(network, chip)` with its arguments reversed
# The larger of two numbers, in whatever order.


# %% llama wrong: gradients in bf16, as the chapter counts
def pure_fsdp(tokens, chips):
    total = 16 * 13_015_449_600 + 80 * tokens * (5120 + 27_648)
    needed = 850 * chips
    verdict = "compute" if tokens > needed else "network"
    verdict = "memory" if total > 96e9 * chips else verdict
    return [total, total / chips, 96e9 * chips, needed, verdict]


# %% llama wrong: both passes together
def pure_fsdp(tokens, chips):
    total = 16 * 13_015_449_600 + 80 * tokens * (5120 + 27_648)
    needed = 8 / 6 * 850 * chips
    verdict = "compute" if tokens > needed else "network"
    verdict = "memory" if total > 96e9 * chips else verdict
    return [total, total / chips, 96e9 * chips, needed, verdict]


# %% llama wrong: all in float32
def pure_fsdp(tokens, chips):
    total = 16 * 13_015_449_600 + 80 * tokens * (5120 + 27_648)
    needed = 1700 * chips
    verdict = "compute" if tokens > needed else "network"
    verdict = "memory" if total > 96e9 * chips else verdict
    return [total, total / chips, 96e9 * chips, needed, verdict]


# %% llama wrong: ten bytes
def pure_fsdp(tokens, chips):
    total = 10 * 13_015_449_600 + 80 * tokens * (5120 + 27_648)
    needed = 1275 * chips
    verdict = "compute" if tokens > needed else "network"
    verdict = "memory" if total > 96e9 * chips else verdict
    return [total, total / chips, 96e9 * chips, needed, verdict]


# %% llama wrong: the state is not cut
def pure_fsdp(tokens, chips):
    states, kept = 208_247_193_600, 80 * tokens * (5120 + 27_648)
    each = states + kept / chips
    needed = 1275 * chips
    verdict = "compute" if tokens > needed else "network"
    verdict = "memory" if each > 96e9 else verdict
    return [chips * each, each, 96e9 * chips, needed, verdict]


# %% llama wrong: one output of width F
def pure_fsdp(tokens, chips):
    total = 16 * 13_015_449_600 + 80 * tokens * (5120 + 13_824)
    needed = 1275 * chips
    verdict = "compute" if tokens > needed else "network"
    verdict = "memory" if total > 96e9 * chips else verdict
    return [total, total / chips, 96e9 * chips, needed, verdict]


# %% llama wrong: one axis
def pure_fsdp(tokens, chips):
    total = 16 * 13_015_449_600 + 80 * tokens * (5120 + 27_648)
    needed = 3825 * chips
    verdict = "compute" if tokens > needed else "network"
    verdict = "memory" if total > 96e9 * chips else verdict
    return [total, total / chips, 96e9 * chips, needed, verdict]


# %% llama wrong: what fits is bound by nothing
def pure_fsdp(tokens, chips):
    total = 16 * 13_015_449_600 + 80 * tokens * (5120 + 27_648)
    verdict = "memory" if total > 96e9 * chips else "compute"
    return [total, total / chips, 96e9 * chips, 1275 * chips, verdict]


# %% llama wrong: the network before memory
def pure_fsdp(tokens, chips):
    total = 16 * 13_015_449_600 + 80 * tokens * (5120 + 27_648)
    verdict = "memory" if total > 96e9 * chips else "compute"
    verdict = "network" if tokens < 1275 * chips else "compute"
    return [total, total / chips, 96e9 * chips, 1275 * chips, verdict]


# %% llama wrong: tokens for one chip
def pure_fsdp(tokens, chips):
    total = 16 * 13_015_449_600 + 80 * tokens * (5120 + 27_648)
    verdict = "compute" if tokens > 1275 * chips else "network"
    verdict = "memory" if total > 96e9 * chips else verdict
    return [total, total / chips, 96e9 * chips, 1275, verdict]


# %% llama right: bytes on a chip first
def pure_fsdp(tokens, chips):
    per_token = 40 * (13_824 + 13_824 + 5120) * 2
    each = (16 * 13_015_449_600 + per_token * tokens) / chips
    needed = 1275 * chips
    if each > 96e9:
        verdict = "memory"
    elif tokens < needed:
        verdict = "network"
    else:
        verdict = "compute"
    return [each * chips, each, 96e9 * chips, needed, verdict]


# %% llama right: from the book's functions
from shardlab import cost, hw, memory


def pure_fsdp(tokens, chips):
    state = memory.state_bytes(13_015_449_600, 1, 0, "mixed-precision")
    total = state + memory.checkpoint_bytes(40, tokens, 5120, 13_824)
    needed = 1.5 * cost.tokens_per_chip(hw.V5P, 3) * chips
    verdict = "network" if cost.max_chips(tokens, 1275) < chips else "compute"
    hbm = chips * hw.V5P.hbm_bytes
    if memory.max_params(hbm, 1, 0, "mixed-precision") * 16 < total:
        verdict = "memory"
    return [float(total), total / chips, hbm, needed, verdict]


# %% largest equivalent: line 12: `zip(copies, sizes)` with its arguments reversed
# A product does not mind the order of its factors.

# %% stack equivalent: line 7: `jnp.maximum(x @ W_all, 0)` with its arguments reversed
# The larger of two numbers, in whatever order.

# %% zero1 wrong: a replicated optimiser, its state put together by AllReduces
def start(W):
    rows = W.shape[0] // axis_size("X")
    return adam.start(dynamic_slice_in_dim(W, rows * axis_index("X"), rows, 0))


def update(dW, state):
    first = len(state[0]) * axis_index("X")

    def whole(s):
        among_zeros = jax.lax.dynamic_update_slice_in_dim(0 * dW, s, first, 0)
        return jax.lax.psum(among_zeros, "X")

    every = tuple(whole(s) for s in state)
    W, every = adam.update(jax.lax.psum(dW, "X"), every)
    rows = len(state[0])
    return W, tuple(dynamic_slice_in_dim(s, first, rows, 0) for s in every)


# %% stack wrong: three whole gradients
def step(In, Target, W):
    outs, found, waiting = [In], {}, {}
    for l in range(W.shape[0]):
        W_all = all_gather(W[l], "X", axis=0, tiled=True)
        outs.append(jax.nn.relu(outs[-1] @ W_all))
    dOut = outs[-1] - Target
    for l in reversed(range(W.shape[0])):
        dOut = dOut * (outs[l + 1] > 0)
        waiting[l] = outs[l].T @ dOut
        dOut = dOut @ all_gather(W[l], "X", axis=0, tiled=True).T
        if len(waiting) == 3 or l == 0:
            for n, dW in waiting.items():
                found[n] = psum_scatter(dW, "X", tiled=True)
            waiting = {}
    return jnp.stack([found[l] for l in sorted(found)])


# %% stack wrong: a mean over a chip's tokens
def step(In, Target, W):
    @jax.checkpoint
    def layer(x, W):
        return jax.nn.relu(x @ all_gather(W, "X", axis=0, tiled=True)), None

    def loss(W):
        Out, _ = scan(layer, In, W)
        return jnp.sum((Out - Target) ** 2) / 2 / len(In)

    return jax.grad(loss)(W)


# %% stack wrong: a data-parallel step, whose AllReduce has two parts
def step(In, Target, W):
    def layer(x, W):
        W_all = all_gather(W, "X", axis=0, tiled=True)
        Out = jax.nn.relu(x @ W_all)
        return Out, (x, Out, W)

    def back(dOut, kept):
        x, Out, W = kept
        dOut = dOut * (Out > 0)
        dW = psum_scatter(x.T @ dOut, "X", scatter_dimension=0, tiled=True)
        dW = all_gather(dW, "X", axis=0, tiled=True)
        rows = W.shape[0]
        dW = dynamic_slice_in_dim(dW, rows * axis_index("X"), rows, 0)
        W_all = all_gather(W, "X", axis=0, tiled=True)
        return dOut @ W_all.T, dW

    Out, kept = scan(layer, In, W)
    return scan(back, Out - Target, kept, reverse=True)[1]


# %% stack wrong: own gradients only
def step(In, Target, W):
    def layer(x, W):
        W_all = all_gather(W, "X", axis=0, tiled=True)
        Out = jax.nn.relu(x @ W_all)
        return Out, (x, Out, W)

    def back(dOut, kept):
        x, Out, W = kept
        dOut, rows = dOut * (Out > 0), W.shape[0]
        first = rows * axis_index("X")
        dW = dynamic_slice_in_dim(x.T @ dOut, first, rows, 0)
        return dOut @ all_gather(W, "X", axis=0, tiled=True).T, dW

    Out, kept = scan(layer, In, W)
    return scan(back, Out - Target, kept, reverse=True)[1]


# %% stack right: scattered one layer late
def step(In, Target, W):
    def layer(x, W):
        Out = jax.nn.relu(x @ all_gather(W, "X", axis=0, tiled=True))
        return Out, (x, Out, W)

    def one(dOut, x, Out, W):
        dOut = dOut * (Out > 0)
        return dOut @ all_gather(W, "X", axis=0, tiled=True).T, x.T @ dOut

    def back(carry, kept):
        dOut, waiting = carry
        return one(dOut, *kept), psum_scatter(waiting, "X", tiled=True)

    Out, kept = scan(layer, In, W)
    last = one(Out - Target, *(array[-1] for array in kept))
    rest = tuple(array[:-1] for array in kept)
    (_, first), late = scan(back, last, rest, reverse=True)
    return jnp.concatenate([psum_scatter(first, "X", tiled=True)[None], late])


# %% forward wrong: both matrices whole at a time, one of them disguised
def forward(In, W_in, W_out):
    W_out = all_gather(W_out, "X", axis=1, tiled=True)
    eye = jax.numpy.eye(W_out.shape[0]) + 0 * In.sum()
    W_out = eye @ W_out  # a product of computed data, that changes nothing
    W_in = all_gather(W_in, "X", axis=0, tiled=True)
    return jax.nn.relu(In @ W_in) @ W_out


# %% window wrong: units are cut
def window(params, kept, tokens, machine):
    unit, hbm, C, W = machine
    total = 16 * params + kept * tokens
    fewest = -(-total // hbm)
    most = tokens * W // C
    return [fewest, most] if fewest <= most else [0, 0]


# %% window wrong: memory is rounded down
def window(params, kept, tokens, machine):
    unit, hbm, C, W = machine
    total = 16 * params + kept * tokens
    fewest = total // (hbm * unit) * unit
    most = tokens * W // (C * unit) * unit
    return [fewest, most] if fewest <= most else [0, 0]


# %% window wrong: tokens are rounded up
def window(params, kept, tokens, machine):
    unit, hbm, C, W = machine
    total = 16 * params + kept * tokens
    fewest = -(-total // (hbm * unit)) * unit
    most = -(-tokens * W // (C * unit)) * unit
    return [fewest, most] if fewest <= most else [0, 0]


# %% window wrong: the state is not cut
def window(params, kept, tokens, machine):
    unit, hbm, C, W = machine
    total = 16 * params + kept * tokens
    fewest = -(-kept * tokens // ((hbm - 16 * params) * unit)) * unit if hbm > 16 * params else 10**9
    most = tokens * W // (C * unit) * unit
    return [fewest, most] if fewest <= most else [0, 0]


# %% window wrong: the activations are forgotten
def window(params, kept, tokens, machine):
    unit, hbm, C, W = machine
    total = 16 * params
    fewest = -(-total // (hbm * unit)) * unit
    most = tokens * W // (C * unit) * unit
    return [fewest, most] if fewest <= most else [0, 0]


# %% window wrong: ten bytes a parameter
def window(params, kept, tokens, machine):
    unit, hbm, C, W = machine
    total = 10 * params + kept * tokens
    fewest = -(-total // (hbm * unit)) * unit
    most = tokens * W // (C * unit) * unit
    return [fewest, most] if fewest <= most else [0, 0]


# %% window wrong: both bounds, whatever they say
def window(params, kept, tokens, machine):
    unit, hbm, C, W = machine
    total = 16 * params + kept * tokens
    fewest = -(-total // (hbm * unit)) * unit
    most = tokens * W // (C * unit) * unit
    return [fewest, most]


# %% window wrong: twice the tokens are needed
def window(params, kept, tokens, machine):
    unit, hbm, C, W = machine
    total = 16 * params + kept * tokens
    fewest = -(-total // (hbm * unit)) * unit
    most = tokens * W // (2 * C * unit) * unit
    return [fewest, most] if fewest <= most else [0, 0]


# %% window wrong: units instead of chips
def window(params, kept, tokens, machine):
    unit, hbm, C, W = machine
    total = 16 * params + kept * tokens
    fewest = -(-total // (hbm * unit))
    most = tokens * W // (C * unit)
    return [fewest, most] if fewest <= most else [0, 0]


# %% window wrong: a window of one number is none
def window(params, kept, tokens, machine):
    unit, hbm, C, W = machine
    total = 16 * params + kept * tokens
    fewest = -(-total // (hbm * unit)) * unit
    most = tokens * W // (C * unit) * unit
    return [fewest, most] if fewest < most else [0, 0]


# %% window wrong: the bounds change places
def window(params, kept, tokens, machine):
    unit, hbm, C, W = machine
    total = 16 * params + kept * tokens
    fewest = -(-total // (hbm * unit)) * unit
    most = tokens * W // (C * unit) * unit
    return [most, fewest] if fewest <= most else [0, 0]


# %% window right: one after the other
def window(params, kept, tokens, machine):
    unit, hbm, C, W = machine
    good = [
        N
        for N in range(unit, tokens + 1, unit)
        if 16 * params + kept * tokens <= N * hbm and tokens * W >= N * C
    ] or [0]
    return min(good), max(good)


# %% window right: in units
def window(params, kept, tokens, machine):
    unit, hbm, C, W = machine
    needed, rest = divmod(16 * params + kept * tokens, unit * hbm)
    needed += rest > 0
    useful = tokens * W // (unit * C)
    return unit * (needed <= useful) * np.array([needed, useful])
