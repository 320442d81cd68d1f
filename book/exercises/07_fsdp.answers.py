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
        dOut, *grads = one_chip.backward(
            dOut, Ins[l], Tmps[l], W_in[l], W_out[l]
        )
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
        dOut, *grads = one_chip.backward(
            dOut, Ins[l], Tmps[l], W_in[l], W_out[l]
        )
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


# %% formulas wrong: gathers alone are kept
D, F, X, b, C, W = sympy.symbols("D F X b C W", positive=True)
dp, zero1_update, fsdp, kept = 8 * D * F, 4 * D * F, 12 * D * F, 4 * D * F
sent = 12 * D * F * (X - 1) / X
knee = C / W
slower = 3 * C / (2 * C + b * W)


# %% formulas wrong: sends whole arrays X - 1 times
D, F, X, b, C, W = sympy.symbols("D F X b C W", positive=True)
dp, zero1_update, fsdp, kept = 8 * D * F, 4 * D * F, 12 * D * F, 8 * D * F
sent = 12 * D * F * (X - 1)
knee = C / W
slower = 3 * C / (2 * C + b * W)


# %% formulas wrong: a knee of all bytes
D, F, X, b, C, W = sympy.symbols("D F X b C W", positive=True)
dp, zero1_update, fsdp, kept = 8 * D * F, 4 * D * F, 12 * D * F, 8 * D * F
sent = 12 * D * F * (X - 1) / X
knee = 3 * C / (2 * W)
slower = 3 * C / (2 * C + b * W)


# %% formulas wrong: the backward pass moves as much as the forward pass
D, F, X, b, C, W = sympy.symbols("D F X b C W", positive=True)
dp, zero1_update, fsdp, kept = 8 * D * F, 4 * D * F, 12 * D * F, 8 * D * F
sent = 12 * D * F * (X - 1) / X
knee = C / W
slower = 2 * C / (C + b * W)


# %% formulas wrong: a forward pass of eight
D, F, X, b, C, W = sympy.symbols("D F X b C W", positive=True)
dp, zero1_update, fsdp, kept = 8 * D * F, 4 * D * F, 12 * D * F, 8 * D * F
sent = 12 * D * F * (X - 1) / X
knee = C / W
slower = 12 / W / (8 * b / C + 8 / W)


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


# %% stack wrong: goes back from Out
def step(In, Target, W):
    def f(x, w):
        y = jax.nn.relu(x @ all_gather(w, "X", axis=0, tiled=True))
        return y, (x, y, w)

    Out, kept = scan(f, In, W)

    def b(d, k):
        x, y, w = k
        d = jnp.where(y > 0, d, 0)
        dW = psum_scatter(x.T @ d, "X", scatter_dimension=0, tiled=True)
        return d @ all_gather(w, "X", axis=0, tiled=True).T, dW

    return scan(b, Out, kept, reverse=True)[1]


# %% stack wrong: looks at a layer's input
def step(In, Target, W):
    def f(x, w):
        y = jax.nn.relu(x @ all_gather(w, "X", axis=0, tiled=True))
        return y, (x, w)

    Out, kept = scan(f, In, W)

    def b(d, k):
        x, w = k
        dW = psum_scatter(x.T @ d, "X", scatter_dimension=0, tiled=True)
        d = d @ all_gather(w, "X", axis=0, tiled=True).T
        return jnp.where(x > 0, d, 0), dW

    return scan(b, Out - Target, kept, reverse=True)[1]


# %% stack wrong: the mean of all squares
def step(In, Target, W):
    @jax.checkpoint
    def layer(x, w):
        return jax.nn.relu(x @ all_gather(w, "X", axis=0, tiled=True)), None

    def loss(W):
        Out, _ = scan(layer, In, W)
        return ((Out - Target) ** 2).mean() / 2

    return jax.grad(loss)(W)


# %% stack wrong: no ReLU at the end
def step(In, Target, W):
    xs = [In]
    for l, w in enumerate(W):
        y = xs[-1] @ all_gather(w, "X", tiled=True)
        xs.append(jnp.maximum(y, 0) if l < W.shape[0] - 1 else y)
    d, out = xs[-1] - Target, []
    for l in range(W.shape[0] - 1, -1, -1):
        if l < W.shape[0] - 1:
            d = d * (xs[l + 1] > 0)
        out.append(psum_scatter(xs[l].T @ d, "X", tiled=True))
        d = d @ all_gather(W[l], "X", tiled=True).T
    return jnp.stack(out[::-1])


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
    fewest = (
        -(-kept * tokens // ((hbm - 16 * params) * unit)) * unit
        if hbm > 16 * params
        else 10**9
    )
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


# %% window wrong: as for float32 gradients
def window(params, kept, tokens, machine):
    unit, hbm, C, W = machine
    units = -(-(16 * params + kept * tokens) // (hbm * unit))
    most = 2 * tokens * W // (3 * C) // unit
    return [units * unit, most * unit] if units <= most else [0, 0]


# %% window wrong: W times three
def window(params, kept, tokens, machine):
    unit, hbm, C, W = machine
    units = -(-(16 * params + kept * tokens) // (hbm * unit))
    most = 3 * tokens * W // C // unit
    return [units * unit, most * unit] if units <= most else [0, 0]


# %% window wrong: just as long does not count
def window(params, kept, tokens, machine):
    unit, hbm, C, W = machine
    units = -(-(16 * params + kept * tokens) // (hbm * unit))
    most = (tokens * W - 1) // C // unit
    return [units * unit, most * unit] if units <= most else [0, 0]


# %% window wrong: one unit more than fit
def window(params, kept, tokens, machine):
    unit, hbm, C, W = machine
    units = (16 * params + kept * tokens) // (hbm * unit) + 1
    most = tokens * W // C // unit
    return [units * unit, most * unit] if units <= most else [0, 0]


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


# %% held wrong: the second device for the first
def bytes_held(shapes, N, stage, recipe):
    found = [0, 0]
    for rows, columns in shapes:
        most = -(-rows // N)
        for place, device in enumerate((min(1, N - 1), N - 1)):
            mine = max(0, min(rows, (device + 1) * most) - device * most)
            for size, cut in zip(recipe, (3, 2, 1, 1, 1)):
                found[place] += (
                    size * columns * (mine if stage >= cut else rows)
                )
    return found


# %% held wrong: the last device that has rows
def bytes_held(shapes, N, stage, recipe):
    found = [0, 0]
    for rows, columns in shapes:
        most = -(-rows // N)
        for place, mine in enumerate((most, rows % most or most)):
            for size, cut in zip(recipe, (3, 2, 1, 1, 1)):
                found[place] += (
                    size * columns * (mine if stage >= cut else rows)
                )
    return found


# %% held wrong: a device after the last
def bytes_held(shapes, N, stage, recipe):
    found = [0, 0]
    for rows, columns in shapes:
        most = -(-rows // N)
        for place, device in enumerate((0, N)):
            mine = max(0, min(rows, (device + 1) * most) - device * most)
            for size, cut in zip(recipe, (3, 2, 1, 1, 1)):
                found[place] += (
                    size * columns * (mine if stage >= cut else rows)
                )
    return found


# %% held wrong: the remainder of rows by c on the last
def bytes_held(shapes, N, stage, recipe):
    k = {0: 5, 1: 2, 2: 1, 3: 0}[stage]
    f = l = 0
    for r, c in shapes:
        s = -(-r // N)
        f += r * c * sum(recipe[:k]) + s * c * sum(recipe[k:])
        l += r * c * sum(recipe[:k]) + (r % s) * c * sum(recipe[k:])
    return [f, l]


# %% held wrong: stage 0 cuts moments
def bytes_held(shapes, N, stage, recipe):
    k = 3 - stage
    out = []
    for n in (0, N - 1):
        t = 0
        for r, c in shapes:
            s = -(-r // N)
            own = max(0, min(r, (n + 1) * s) - n * s)
            t += r * c * sum(recipe[:k]) + own * c * sum(recipe[k:])
        out.append(t)
    return out


# %% largest wrong: a byte must be left
def largest(hbm, N, stage, recipe):
    return N * (hbm // bytes_of_block(N, stage, recipe))


def bytes_of_block(N, stage, recipe):
    weight, gradient, *optimiser = recipe
    copies = [N if stage < first else 1 for first in (3, 2, 1)]
    sizes = (weight, gradient, sum(optimiser))
    return sum(n * size for n, size in zip(copies, sizes))


def fewest(params, hbm, stage, recipe, most):
    for N in range(1, most + 1):
        block = bytes_of_block(N, stage, recipe)
        if params % N == 0 and params // N * block < hbm:
            return N
    return 0


# %% largest wrong: fewer than the most
def largest(hbm, N, stage, recipe):
    return N * (hbm // bytes_of_block(N, stage, recipe))


def bytes_of_block(N, stage, recipe):
    weight, gradient, *optimiser = recipe
    copies = [N if stage < first else 1 for first in (3, 2, 1)]
    sizes = (weight, gradient, sum(optimiser))
    return sum(n * size for n, size in zip(copies, sizes))


def fewest(params, hbm, stage, recipe, most):
    for N in range(1, most):
        block = bytes_of_block(N, stage, recipe)
        if params % N == 0 and params // N * block <= hbm:
            return N
    return 0


# %% prefetch wrong: never more than one matrix ahead
def prefetch(size, work, room):
    gathers, products = [], []
    for i in range(len(size)):
        now = gathers[-1] + size[i - 1] if i else 0
        now = max(now, products[-1]) if i else 0
        while True:
            held = [j for j in range(i) if products[j] + work[j] > now]
            if sum(size[j] for j in held) + size[i] <= room:
                break
            now = min(products[j] + work[j] for j in held)
        gathers.append(now)
        chip = products[-1] + work[i - 1] if i else 0
        products.append(max(now + size[i], chip))
    return [gathers, products]


# %% prefetch wrong: room for two matrices, however small
def prefetch(size, work, room):
    gathers, products = [], []
    for i in range(len(size)):
        now = gathers[-1] + size[i - 1] if i else 0
        if i > 1:
            now = max(now, products[i - 2] + work[i - 2])
        while True:
            held = [j for j in range(i) if products[j] + work[j] > now]
            if sum(size[j] for j in held) + size[i] <= room:
                break
            now = min(products[j] + work[j] for j in held)
        gathers.append(now)
        chip = products[-1] + work[i - 1] if i else 0
        products.append(max(now + size[i], chip))
    return [gathers, products]


# %% llama wrong: tokens before memory
def pure_fsdp(tokens, chips):
    total = 16 * 13_015_449_600 + 2 * 40 * tokens * (5120 + 2 * 13_824)
    hbm, needed = 96e9 * chips, 1275 * chips
    verdict = "memory" if total > hbm else "compute"
    verdict = "network" if tokens < needed else verdict
    return [total, total / chips, hbm, needed, verdict]


# %% llama wrong: just enough tokens are too few
def pure_fsdp(tokens, chips):
    total = 16 * 13_015_449_600 + 2 * 40 * tokens * (5120 + 2 * 13_824)
    hbm, needed = 96e9 * chips, 1275 * chips
    verdict = "network" if tokens <= needed else "compute"
    verdict = "memory" if total > hbm else verdict
    return [total, total / chips, hbm, needed, verdict]


# %% llama wrong: a byte must be left
def pure_fsdp(tokens, chips):
    total = 16 * 13_015_449_600 + 2 * 40 * tokens * (5120 + 2 * 13_824)
    hbm, needed = 96e9 * chips, 1275 * chips
    verdict = "network" if tokens < needed else "compute"
    verdict = "memory" if total >= hbm else verdict
    return [total, total / chips, hbm, needed, verdict]


# %% llama wrong: eighteen bytes of state
def pure_fsdp(tokens, chips):
    total = 18 * 13_015_449_600 + tokens * 40 * 2 * (2 * 13824 + 5120)
    hbm = 96 * 10**9 * chips
    need = 1275 * chips
    return (
        total,
        total / chips,
        hbm,
        need,
        "memory" if total > hbm else "network" if tokens < need else "compute",
    )


# %% llama wrong: elements of outputs
def pure_fsdp(tokens, chips):
    total = 16 * 13_015_449_600 + tokens * 40 * (2 * 13824 + 5120)
    hbm = 96 * 10**9 * chips
    need = 1275 * chips
    return (
        total,
        total / chips,
        hbm,
        need,
        "memory" if total > hbm else "network" if tokens < need else "compute",
    )


# %% llama wrong: outputs of one layer
def pure_fsdp(tokens, chips):
    total = 16 * 13_015_449_600 + tokens * 2 * (2 * 13824 + 5120)
    hbm = 96 * 10**9 * chips
    need = 1275 * chips
    return (
        total,
        total / chips,
        hbm,
        need,
        "memory" if total > hbm else "network" if tokens < need else "compute",
    )


# %% zero1 wrong: a replicated optimiser
def start(W, b, g):
    line = in_line(W, b, g)
    part = line.size // axis_size("X")
    return adam.start(dynamic_slice_in_dim(line, part * axis_index("X"), part))


def update(dW, db, dg, state):
    whole = [all_gather(s, "X", tiled=True, to="invarying") for s in state]
    line = jax.lax.psum(in_line(dW, db, dg), "X")
    line, new = adam.update(line, whole)
    part = line.size // axis_size("X")
    own = part * axis_index("X")
    state = tuple(dynamic_slice_in_dim(s, own, part) for s in new)
    W, b, g, _ = jnp.split(line, np.cumsum([dW.size, db.size, dg.size]))
    return W.reshape(dW.shape), b, g, state


def in_line(*arrays):
    line = jnp.concatenate([x.ravel() for x in arrays])
    return jnp.pad(line, (0, -line.size % axis_size("X")))


# %% zero1 wrong: each array by itself
def start(W, b, g):
    parts = []
    for line in map(in_line, (W, b, g)):
        part = line.size // axis_size("X")
        own = part * axis_index("X")
        parts.append(dynamic_slice_in_dim(line, own, part))
    return adam.start(jnp.concatenate(parts))


def update(dW, db, dg, state):
    parts = [psum_scatter(in_line(x), "X", tiled=True) for x in (dW, db, dg)]
    part, state = adam.update(jnp.concatenate(parts), state)
    cuts = np.cumsum([x.size for x in parts])[:2]
    new = []
    for piece, old in zip(jnp.split(part, cuts), (dW, db, dg), strict=True):
        line = all_gather(piece, "X", tiled=True, to="invarying")
        new.append(line[: old.size].reshape(old.shape))
    return *new, state


def in_line(x):
    line = x.ravel()
    return jnp.pad(line, (0, -line.size % axis_size("X")))


# %% zero1 wrong: three arrays, each padded, in one message
def start(W, b, g):
    line = in_line(W, b, g)
    part = line.size // axis_size("X")
    return adam.start(dynamic_slice_in_dim(line, part * axis_index("X"), part))


def update(dW, db, dg, state):
    part = psum_scatter(in_line(dW, db, dg), "X", tiled=True)
    part, state = adam.update(part, state)
    line = all_gather(part, "X", tiled=True, to="invarying")
    N = axis_size("X")
    sizes = [-(-x.size // N) * N for x in (dW, db, dg)]
    W, b, g, _ = jnp.split(line, np.cumsum(sizes))
    W, b, g = W[: dW.size], b[: db.size], g[: dg.size]
    return W.reshape(dW.shape), b, g, state


def in_line(*arrays):
    N = axis_size("X")
    lines = [x.ravel() for x in arrays]
    return jnp.concatenate([jnp.pad(x, (0, -x.size % N)) for x in lines])


# %% zero1 wrong: an AllReduce, of which each takes its part
def start(W, b, g):
    line = in_line(W, b, g)
    part = line.size // axis_size("X")
    return adam.start(dynamic_slice_in_dim(line, part * axis_index("X"), part))


def update(dW, db, dg, state):
    line = jax.lax.psum(in_line(dW, db, dg), "X")
    part = line.size // axis_size("X")
    part = dynamic_slice_in_dim(line, part * axis_index("X"), part)
    part, state = adam.update(part, state)
    line = all_gather(part, "X", tiled=True, to="invarying")
    W, b, g, _ = jnp.split(line, np.cumsum([dW.size, db.size, dg.size]))
    return W.reshape(dW.shape), b, g, state


def in_line(*arrays):
    line = jnp.concatenate([x.ravel() for x in arrays])
    return jnp.pad(line, (0, -line.size % axis_size("X")))


# %% zero1 wrong: everybody keeps the state of all
def start(W, b, g):
    return adam.start(in_line(W, b, g))


def update(dW, db, dg, state):
    part = psum_scatter(in_line(dW, db, dg), "X", tiled=True)
    part, state = adam.update(part, state)
    line = all_gather(part, "X", tiled=True, to="invarying")
    W, b, g, _ = jnp.split(line, np.cumsum([dW.size, db.size, dg.size]))
    return W.reshape(dW.shape), b, g, state


def in_line(*arrays):
    line = jnp.concatenate([x.ravel() for x in arrays])
    return jnp.pad(line, (0, -line.size % axis_size("X")))


# %% zero1 wrong: everybody starts with the first part
def start(W, b, g):
    line = in_line(W, b, g)
    part = line.size // axis_size("X")
    return adam.start(dynamic_slice_in_dim(line, 0, part))


def update(dW, db, dg, state):
    part = psum_scatter(in_line(dW, db, dg), "X", tiled=True)
    part, state = adam.update(part, state)
    line = all_gather(part, "X", tiled=True, to="invarying")
    W, b, g, _ = jnp.split(line, np.cumsum([dW.size, db.size, dg.size]))
    return W.reshape(dW.shape), b, g, state


def in_line(*arrays):
    line = jnp.concatenate([x.ravel() for x in arrays])
    return jnp.pad(line, (0, -line.size % axis_size("X")))


# %% zero1 wrong: what does not divide is left out
def start(W, b, g):
    line = jnp.concatenate([x.ravel() for x in (W, b, g)])
    part = line.size // axis_size("X")
    return adam.start(dynamic_slice_in_dim(line, part * axis_index("X"), part))


def update(dW, db, dg, state):
    part = psum_scatter(in_line(dW, db, dg), "X", tiled=True)
    part, state = adam.update(part, state)
    line = all_gather(part, "X", tiled=True, to="invarying")
    W, b, g, _ = jnp.split(line, np.cumsum([dW.size, db.size, dg.size]))
    return W.reshape(dW.shape), b, g, state


def in_line(*arrays):
    line = jnp.concatenate([x.ravel() for x in arrays])
    return jnp.pad(line, (0, -line.size % axis_size("X")))


# %% zero1 wrong: the mean gradient
def start(W, b, g):
    line = in_line(W, b, g)
    part = line.size // axis_size("X")
    return adam.start(dynamic_slice_in_dim(line, part * axis_index("X"), part))


def update(dW, db, dg, state):
    part = psum_scatter(in_line(dW, db, dg), "X", tiled=True)
    part = part / axis_size("X")
    part, state = adam.update(part, state)
    line = all_gather(part, "X", tiled=True, to="invarying")
    W, b, g, _ = jnp.split(line, np.cumsum([dW.size, db.size, dg.size]))
    return W.reshape(dW.shape), b, g, state


def in_line(*arrays):
    line = jnp.concatenate([x.ravel() for x in arrays])
    return jnp.pad(line, (0, -line.size % axis_size("X")))


# %% zero1 wrong: forgets the other chips' gradients
def start(W, b, g):
    line = in_line(W, b, g)
    part = line.size // axis_size("X")
    return adam.start(dynamic_slice_in_dim(line, part * axis_index("X"), part))


def update(dW, db, dg, state):
    line = in_line(dW, db, dg)
    part = line.size // axis_size("X")
    part = dynamic_slice_in_dim(line, part * axis_index("X"), part)
    part, state = adam.update(part, state)
    line = all_gather(part, "X", tiled=True, to="invarying")
    W, b, g, _ = jnp.split(line, np.cumsum([dW.size, db.size, dg.size]))
    return W.reshape(dW.shape), b, g, state


def in_line(*arrays):
    line = jnp.concatenate([x.ravel() for x in arrays])
    return jnp.pad(line, (0, -line.size % axis_size("X")))


# %% zero1 wrong: gathers the new state as well
def start(W, b, g):
    line = in_line(W, b, g)
    part = line.size // axis_size("X")
    return adam.start(dynamic_slice_in_dim(line, part * axis_index("X"), part))


def update(dW, db, dg, state):
    part = psum_scatter(in_line(dW, db, dg), "X", tiled=True)
    part, state = adam.update(part, state)
    line = all_gather(part, "X", tiled=True, to="invarying")
    W, b, g, _ = jnp.split(line, np.cumsum([dW.size, db.size, dg.size]))
    whole = [all_gather(s, "X", tiled=True, to="invarying") for s in state]
    own = part.size * axis_index("X")
    state = tuple(dynamic_slice_in_dim(s, own, part.size) for s in whole)
    return W.reshape(dW.shape), b, g, state


def in_line(*arrays):
    line = jnp.concatenate([x.ravel() for x in arrays])
    return jnp.pad(line, (0, -line.size % axis_size("X")))


# %% zero1 wrong: gradients in another order than weights
def start(W, b, g):
    line = in_line(W, b, g)
    part = line.size // axis_size("X")
    return adam.start(dynamic_slice_in_dim(line, part * axis_index("X"), part))


def update(dW, db, dg, state):
    part = psum_scatter(in_line(db, dW, dg), "X", tiled=True)
    part, state = adam.update(part, state)
    line = all_gather(part, "X", tiled=True, to="invarying")
    W, b, g, _ = jnp.split(line, np.cumsum([dW.size, db.size, dg.size]))
    return W.reshape(dW.shape), b, g, state


def in_line(*arrays):
    line = jnp.concatenate([x.ravel() for x in arrays])
    return jnp.pad(line, (0, -line.size % axis_size("X")))


# %% zero1 wrong: the state stays the old one
def start(W, b, g):
    line = in_line(W, b, g)
    part = line.size // axis_size("X")
    return adam.start(dynamic_slice_in_dim(line, part * axis_index("X"), part))


def update(dW, db, dg, state):
    part = psum_scatter(in_line(dW, db, dg), "X", tiled=True)
    part, _ = adam.update(part, state)
    line = all_gather(part, "X", tiled=True, to="invarying")
    W, b, g, _ = jnp.split(line, np.cumsum([dW.size, db.size, dg.size]))
    return W.reshape(dW.shape), b, g, state


def in_line(*arrays):
    line = jnp.concatenate([x.ravel() for x in arrays])
    return jnp.pad(line, (0, -line.size % axis_size("X")))


# %% zero1 wrong: b and g are exchanged at the end
def start(W, b, g):
    line = in_line(W, b, g)
    part = line.size // axis_size("X")
    return adam.start(dynamic_slice_in_dim(line, part * axis_index("X"), part))


def update(dW, db, dg, state):
    part = psum_scatter(in_line(dW, db, dg), "X", tiled=True)
    part, state = adam.update(part, state)
    line = all_gather(part, "X", tiled=True, to="invarying")
    W, g, b, _ = jnp.split(line, np.cumsum([dW.size, dg.size, db.size]))
    return W.reshape(dW.shape), b, g, state


def in_line(*arrays):
    line = jnp.concatenate([x.ravel() for x in arrays])
    return jnp.pad(line, (0, -line.size % axis_size("X")))


# %% zero1 wrong: N zeros where N divides the sum
def start(W, b, g):
    line = in_line(W, b, g)
    part = line.size // axis_size("X")
    return adam.start(dynamic_slice_in_dim(line, part * axis_index("X"), part))


def update(dW, db, dg, state):
    part = psum_scatter(in_line(dW, db, dg), "X", tiled=True)
    part, state = adam.update(part, state)
    line = all_gather(part, "X", tiled=True, to="invarying")
    W, b, g, _ = jnp.split(line, np.cumsum([dW.size, db.size, dg.size]))
    return W.reshape(dW.shape), b, g, state


def in_line(*arrays):
    line = jnp.concatenate([x.ravel() for x in arrays])
    N = axis_size("X")
    return jnp.pad(line, (0, N - line.size % N))


# %% zero1 wrong: weights lie as columns, gradients as rows
def start(W, b, g):
    line = in_line(W.T, b, g)
    part = line.size // axis_size("X")
    return adam.start(dynamic_slice_in_dim(line, part * axis_index("X"), part))


def update(dW, db, dg, state):
    part = psum_scatter(in_line(dW, db, dg), "X", tiled=True)
    part, state = adam.update(part, state)
    line = all_gather(part, "X", tiled=True, to="invarying")
    W, b, g, _ = jnp.split(line, np.cumsum([dW.size, db.size, dg.size]))
    return W.reshape(dW.shape), b, g, state


def in_line(*arrays):
    line = jnp.concatenate([x.ravel() for x in arrays])
    return jnp.pad(line, (0, -line.size % axis_size("X")))


# %% zero1 wrong: the part of the next chip
def start(W, b, g):
    line = in_line(W, b, g)
    N = axis_size("X")
    part = line.size // N
    after = (axis_index("X") + 1) % N
    return adam.start(dynamic_slice_in_dim(line, part * after, part))


def update(dW, db, dg, state):
    part = psum_scatter(in_line(dW, db, dg), "X", tiled=True)
    part, state = adam.update(part, state)
    line = all_gather(part, "X", tiled=True, to="invarying")
    W, b, g, _ = jnp.split(line, np.cumsum([dW.size, db.size, dg.size]))
    return W.reshape(dW.shape), b, g, state


def in_line(*arrays):
    line = jnp.concatenate([x.ravel() for x in arrays])
    return jnp.pad(line, (0, -line.size % axis_size("X")))


# %% zero1 wrong: moments of all
def start(W, b, g):
    line = in_line(W, b, g)
    part = line.size // axis_size("X")
    own = dynamic_slice_in_dim(line, part * axis_index("X"), part)
    return own, 0 * line, 0 * line


def update(dW, db, dg, state):
    part = psum_scatter(in_line(dW, db, dg), "X", tiled=True)
    part, state = adam.update(part, state)
    line = all_gather(part, "X", tiled=True, to="invarying")
    W, b, g, _ = jnp.split(line, np.cumsum([dW.size, db.size, dg.size]))
    return W.reshape(dW.shape), b, g, state


def in_line(*arrays):
    line = jnp.concatenate([x.ravel() for x in arrays])
    return jnp.pad(line, (0, -line.size % axis_size("X")))


# %% zero1 wrong: nine arrays for three
def start(W, b, g):
    line = in_line(W, b, g)
    part = line.size // axis_size("X")
    own = dynamic_slice_in_dim(line, part * axis_index("X"), part)
    return adam.start(own), adam.start(own), adam.start(own)


def update(dW, db, dg, state):
    part = psum_scatter(in_line(dW, db, dg), "X", tiled=True)
    part, state = adam.update(part, state)
    line = all_gather(part, "X", tiled=True, to="invarying")
    W, b, g, _ = jnp.split(line, np.cumsum([dW.size, db.size, dg.size]))
    return W.reshape(dW.shape), b, g, state


def in_line(*arrays):
    line = jnp.concatenate([x.ravel() for x in arrays])
    return jnp.pad(line, (0, -line.size % axis_size("X")))


# %% zero1 wrong: g comes first, but not in gradients, and not when it is cut up
def line(*arrays):
    N = axis_size("X")
    x = jnp.concatenate([a.ravel() for a in arrays])
    return jnp.pad(x, (0, -x.size % N))


def start(W, b, g):
    x = line(g, W, b)
    n = x.size // axis_size("X")
    return adam.start(dynamic_slice_in_dim(x, axis_index("X") * n, n))


def update(dW, db, dg, state):
    d = psum_scatter(line(dW, db, dg), "X", tiled=True)
    w, state = adam.update(d, state)
    w = all_gather(w, "X", tiled=True, to="invarying")
    i, j = dW.size, dW.size + db.size
    return w[:i].reshape(dW.shape), w[i:j], w[j : j + dg.size], state


# %% zero1 wrong: no zeros in the line of weights: the last slice is moved back
def line(*arrays):
    return jnp.concatenate([a.ravel() for a in arrays])


def start(W, b, g):
    x = line(W, b, g)
    n = -(-x.size // axis_size("X"))
    return adam.start(dynamic_slice_in_dim(x, axis_index("X") * n, n))


def update(dW, db, dg, state):
    N = axis_size("X")
    x = line(dW, db, dg)
    d = psum_scatter(jnp.pad(x, (0, -x.size % N)), "X", tiled=True)
    w, state = adam.update(d, state)
    w = all_gather(w, "X", tiled=True, to="invarying")
    i, j = dW.size, dW.size + db.size
    return w[:i].reshape(dW.shape), w[i:j], w[j : j + dg.size], state


# %% zero1 right: zeros at the front
def start(W, b, g):
    line = in_line(W, b, g)
    part = line.size // axis_size("X")
    return adam.start(dynamic_slice_in_dim(line, part * axis_index("X"), part))


def update(dW, db, dg, state):
    part = psum_scatter(in_line(dW, db, dg), "X", tiled=True)
    part, state = adam.update(part, state)
    line = all_gather(part, "X", tiled=True, to="invarying")
    sizes = np.array([db.size + dg.size + dW.size, db.size + dg.size, dg.size])
    _, W, b, g = jnp.split(line, line.size - sizes)
    return W.reshape(dW.shape), b, g, state


def in_line(*arrays):
    line = jnp.concatenate([x.ravel() for x in arrays])
    return jnp.pad(line, (-line.size % axis_size("X"), 0))


# %% zero1 right: vectors first, rows of a buffer, Adam by hand
def start(W, b, g):
    own = in_line(W, b, g)[axis_index("X")]
    return own, 0 * own, 0 * own


def update(dW, db, dg, state):
    d = psum_scatter(in_line(dW, db, dg), "X")
    w, m, v = state
    m, v = 0.9 * m + 0.1 * d, 0.999 * v + 0.001 * d * d
    w = w - 0.001 * m / (jnp.sqrt(v) + 1e-8)
    line = all_gather(w, "X", tiled=True, to="invarying")
    D, F = dW.shape
    W = line[D + F : D + F + D * F].reshape(D, F)
    return W, line[D : D + F], line[:D], (w, m, v)


def in_line(W, b, g):
    line, N = jnp.concatenate([g, b, jnp.ravel(W)]), axis_size("X")
    rows = jnp.zeros((N, -(-line.size // N)), line.dtype)
    return rows.at[jnp.unravel_index(jnp.arange(line.size), rows.shape)].set(
        line
    )


# %% forward wrong: each piece is finished when it comes
def forward(In, W_in, W_out):
    me, N = axis_index("X"), axis_size("X")
    onward = [(n, (n + 1) % N) for n in range(N)]
    rows, Tmp, Out = len(W_in), 0, 0 * In
    for hop in range(N):
        if hop:
            W_in = ppermute(W_in, "X", onward)
        begin = (me - hop) % N * rows
        part = dynamic_slice_in_dim(In, begin, rows, 1)
        Tmp += jax.nn.relu(part @ W_in)
    for hop in range(N):
        if hop:
            W_out = ppermute(W_out, "X", onward)
        begin = (me - hop) % N * rows
        Out = dynamic_update_slice_in_dim(Out, Tmp @ W_out, begin, 1)
    return Out


# %% forward wrong: both gathered
def forward(In, W_in, W_out):
    W_in = all_gather(W_in, "X", axis=0, tiled=True)
    Tmp = jax.nn.relu(In @ W_in)
    return Tmp @ all_gather(W_out, "X", axis=1, tiled=True)


# %% forward wrong: moves activations, as tensor parallelism does
def forward(In, W_in, W_out):
    In = all_gather(In, "X", axis=0, tiled=True)
    rows = len(W_in)
    part = dynamic_slice_in_dim(In, axis_index("X") * rows, rows, 1)
    Tmp = jax.nn.relu(jax.lax.psum(part @ W_in, "X"))
    Out = all_gather(Tmp @ W_out, "X", axis=1, tiled=True)
    own = Out.shape[0] // axis_size("X")
    return dynamic_slice_in_dim(Out, axis_index("X") * own, own, 0)


# %% forward wrong: pieces are collected before the product
def forward(In, W_in, W_out):
    me, N = axis_index("X"), axis_size("X")
    onward = [(n, (n + 1) % N) for n in range(N)]
    ins, outs = [W_in], [W_out]
    for _ in range(N - 1):
        ins.append(ppermute(ins[-1], "X", onward))
        outs.append(ppermute(outs[-1], "X", onward))
    order = (me - jnp.arange(N)) % N
    whole = jnp.stack(ins)[jnp.argsort(order)].reshape(-1, W_in.shape[1])
    Tmp = jax.nn.relu(In @ whole)
    last = jnp.stack(outs)[jnp.argsort(order)]
    return jnp.concatenate([Tmp @ last[n] for n in range(N)], axis=1)


# %% forward wrong: one hop too many
def forward(In, W_in, W_out):
    me, N = axis_index("X"), axis_size("X")
    onward = [(n, (n + 1) % N) for n in range(N)]
    rows, Tmp, Out = len(W_in), 0, 0 * In
    for hop in range(N):
        W_in = ppermute(W_in, "X", onward)
        begin = (me - hop - 1) % N * rows
        Tmp += dynamic_slice_in_dim(In, begin, rows, 1) @ W_in
    Tmp = jax.nn.relu(Tmp)
    for hop in range(N):
        W_out = ppermute(W_out, "X", onward)
        begin = (me - hop - 1) % N * rows
        Out = dynamic_update_slice_in_dim(Out, Tmp @ W_out, begin, 1)
    return Out


# %% forward wrong: the other way round
def forward(In, W_in, W_out):
    me, N = axis_index("X"), axis_size("X")
    onward = [(n, (n - 1) % N) for n in range(N)]
    rows, Tmp, Out = len(W_in), 0, 0 * In
    for hop in range(N):
        if hop:
            W_in = ppermute(W_in, "X", onward)
        begin = (me + hop) % N * rows
        Tmp += dynamic_slice_in_dim(In, begin, rows, 1) @ W_in
    Tmp = jax.nn.relu(Tmp)
    for hop in range(N):
        if hop:
            W_out = ppermute(W_out, "X", onward)
        begin = (me + hop) % N * rows
        Out = dynamic_update_slice_in_dim(Out, Tmp @ W_out, begin, 1)
    return Out


# %% forward wrong: as if pieces came from the chip ahead
def forward(In, W_in, W_out):
    me, N = axis_index("X"), axis_size("X")
    onward = [(n, (n + 1) % N) for n in range(N)]
    rows, Tmp, Out = len(W_in), 0, 0 * In
    for hop in range(N):
        if hop:
            W_in = ppermute(W_in, "X", onward)
        begin = (me + hop) % N * rows
        Tmp += dynamic_slice_in_dim(In, begin, rows, 1) @ W_in
    Tmp = jax.nn.relu(Tmp)
    for hop in range(N):
        if hop:
            W_out = ppermute(W_out, "X", onward)
        begin = (me + hop) % N * rows
        Out = dynamic_update_slice_in_dim(Out, Tmp @ W_out, begin, 1)
    return Out


# %% forward wrong: columns of In in the order of hops
def forward(In, W_in, W_out):
    me, N = axis_index("X"), axis_size("X")
    onward = [(n, (n + 1) % N) for n in range(N)]
    rows, Tmp, Out = len(W_in), 0, 0 * In
    for hop in range(N):
        if hop:
            W_in = ppermute(W_in, "X", onward)
        begin = hop * rows
        Tmp += dynamic_slice_in_dim(In, begin, rows, 1) @ W_in
    Tmp = jax.nn.relu(Tmp)
    for hop in range(N):
        if hop:
            W_out = ppermute(W_out, "X", onward)
        begin = (me - hop) % N * rows
        Out = dynamic_update_slice_in_dim(Out, Tmp @ W_out, begin, 1)
    return Out


# %% forward wrong: columns of Out in the order of hops
def forward(In, W_in, W_out):
    me, N = axis_index("X"), axis_size("X")
    onward = [(n, (n + 1) % N) for n in range(N)]
    rows, Tmp, Out = len(W_in), 0, 0 * In
    for hop in range(N):
        if hop:
            W_in = ppermute(W_in, "X", onward)
        begin = (me - hop) % N * rows
        Tmp += dynamic_slice_in_dim(In, begin, rows, 1) @ W_in
    Tmp = jax.nn.relu(Tmp)
    for hop in range(N):
        if hop:
            W_out = ppermute(W_out, "X", onward)
        begin = hop * rows
        Out = dynamic_update_slice_in_dim(Out, Tmp @ W_out, begin, 1)
    return Out


# %% forward wrong: the own columns only
def forward(In, W_in, W_out):
    me, N = axis_index("X"), axis_size("X")
    onward = [(n, (n + 1) % N) for n in range(N)]
    rows, Tmp, Out = len(W_in), 0, 0 * In
    for hop in range(N):
        if hop:
            W_in = ppermute(W_in, "X", onward)
        begin = (me - hop) % N * rows
        Tmp += dynamic_slice_in_dim(In, begin, rows, 1) @ W_in
    Tmp = jax.nn.relu(Tmp)
    for hop in range(N):
        if hop:
            W_out = ppermute(W_out, "X", onward)
        begin = (me - hop) % N * rows
        if hop:
            break
        Out = dynamic_update_slice_in_dim(Out, Tmp @ W_out, begin, 1)
    return Out


# %% forward wrong: the own piece is left out
def forward(In, W_in, W_out):
    me, N = axis_index("X"), axis_size("X")
    onward = [(n, (n + 1) % N) for n in range(N)]
    rows, Tmp, Out = len(W_in), 0, 0 * In
    for hop in range(N):
        if hop:
            W_in = ppermute(W_in, "X", onward)
        begin = (me - hop) % N * rows
        Tmp += dynamic_slice_in_dim(In, begin, rows, 1) @ W_in
    Tmp = jax.nn.relu(Tmp)
    for hop in range(N):
        if hop:
            W_out = ppermute(W_out, "X", onward)
        begin = (me - hop) % N * rows
        if not hop:
            continue
        Out = dynamic_update_slice_in_dim(Out, Tmp @ W_out, begin, 1)
    return Out


# %% forward wrong: no ReLU
def forward(In, W_in, W_out):
    me, N = axis_index("X"), axis_size("X")
    onward = [(n, (n + 1) % N) for n in range(N)]
    rows, Tmp, Out = len(W_in), 0, 0 * In
    for hop in range(N):
        if hop:
            W_in = ppermute(W_in, "X", onward)
        begin = (me - hop) % N * rows
        Tmp += dynamic_slice_in_dim(In, begin, rows, 1) @ W_in
    for hop in range(N):
        if hop:
            W_out = ppermute(W_out, "X", onward)
        begin = (me - hop) % N * rows
        Out = dynamic_update_slice_in_dim(Out, Tmp @ W_out, begin, 1)
    return Out


# %% forward wrong: the ReLU at the end
def forward(In, W_in, W_out):
    me, N = axis_index("X"), axis_size("X")
    onward = [(n, (n + 1) % N) for n in range(N)]
    rows, Tmp, Out = len(W_in), 0, 0 * In
    for hop in range(N):
        if hop:
            W_in = ppermute(W_in, "X", onward)
        begin = (me - hop) % N * rows
        Tmp += dynamic_slice_in_dim(In, begin, rows, 1) @ W_in
    for hop in range(N):
        if hop:
            W_out = ppermute(W_out, "X", onward)
        begin = (me - hop) % N * rows
        Out = dynamic_update_slice_in_dim(Out, Tmp @ W_out, begin, 1)
    return jax.nn.relu(Out)


# %% forward wrong: the last chip sends nothing
def forward(In, W_in, W_out):
    me, N = axis_index("X"), axis_size("X")
    onward = [(n, n + 1) for n in range(N - 1)]
    rows, Tmp, Out = len(W_in), 0, 0 * In
    for hop in range(N):
        if hop:
            W_in = ppermute(W_in, "X", onward)
        begin = (me - hop) % N * rows
        Tmp += dynamic_slice_in_dim(In, begin, rows, 1) @ W_in
    Tmp = jax.nn.relu(Tmp)
    for hop in range(N):
        if hop:
            W_out = ppermute(W_out, "X", onward)
        begin = (me - hop) % N * rows
        Out = dynamic_update_slice_in_dim(Out, Tmp @ W_out, begin, 1)
    return Out


# %% forward wrong: one chip off
def forward(In, W_in, W_out):
    me, N = axis_index("X"), axis_size("X")
    onward = [(n, (n + 1) % N) for n in range(N)]
    rows, Tmp, Out = len(W_in), 0, 0 * In
    for hop in range(N):
        if hop:
            W_in = ppermute(W_in, "X", onward)
        begin = (me - hop - 1) % N * rows
        Tmp += dynamic_slice_in_dim(In, begin, rows, 1) @ W_in
    Tmp = jax.nn.relu(Tmp)
    for hop in range(N):
        if hop:
            W_out = ppermute(W_out, "X", onward)
        begin = (me - hop - 1) % N * rows
        Out = dynamic_update_slice_in_dim(Out, Tmp @ W_out, begin, 1)
    return Out


# %% forward wrong: the ReLU of the tokens
def forward(In, W_in, W_out):
    me, N = axis_index("X"), axis_size("X")
    onward = [(n, (n + 1) % N) for n in range(N)]
    rows, Tmp, Out = len(W_in), 0, 0 * In
    for hop in range(N):
        if hop:
            W_in = ppermute(W_in, "X", onward)
        begin = (me - hop) % N * rows
        Tmp += dynamic_slice_in_dim(jax.nn.relu(In), begin, rows, 1) @ W_in
    for hop in range(N):
        if hop:
            W_out = ppermute(W_out, "X", onward)
        begin = (me - hop) % N * rows
        Out = dynamic_update_slice_in_dim(Out, Tmp @ W_out, begin, 1)
    return Out


# %% forward wrong: one round for both matrices
def forward(In, W_in, W_out):
    me, N = axis_index("X"), axis_size("X")
    onward = [(n, (n + 1) % N) for n in range(N)]
    rows, Tmp, Out = len(W_in), 0, 0 * In
    for hop in range(N):
        if hop:
            W_in = ppermute(W_in, "X", onward)
            W_out = ppermute(W_out, "X", onward)
        begin = (me - hop) % N * rows
        Tmp += dynamic_slice_in_dim(In, begin, rows, 1) @ W_in
        Out = dynamic_update_slice_in_dim(
            Out, jax.nn.relu(Tmp) @ W_out, begin, 1
        )
    return Out


# %% forward wrong: one piece too few
def forward(In, W_in, W_out):
    me, N = axis_index("X"), axis_size("X")
    onward = [(n, (n + 1) % N) for n in range(N)]
    rows, Tmp, Out = len(W_in), 0, 0 * In
    for hop in range(N - 1):
        if hop:
            W_in = ppermute(W_in, "X", onward)
        begin = (me - hop) % N * rows
        Tmp += dynamic_slice_in_dim(In, begin, rows, 1) @ W_in
    Tmp = jax.nn.relu(Tmp)
    for hop in range(N):
        if hop:
            W_out = ppermute(W_out, "X", onward)
        begin = (me - hop) % N * rows
        Out = dynamic_update_slice_in_dim(Out, Tmp @ W_out, begin, 1)
    return Out


# %% forward wrong: tokens go round
def forward(In, W_in, W_out):
    me, N = axis_index("X"), axis_size("X")
    onward = [(n, (n + 1) % N) for n in range(N)]
    rows, Tmp = len(W_in), 0
    for hop in range(N):
        if hop:
            In = ppermute(In, "X", onward)
        Tmp += dynamic_slice_in_dim(In, (me - hop) % N * rows, rows, 1) @ W_in
    return jnp.tile(jax.nn.relu(Tmp) @ W_out, (1, N))


# %% forward wrong: both matrices in one message
def forward(In, W_in, W_out):
    me, N = axis_index("X"), axis_size("X")
    onward = [(n, (n + 1) % N) for n in range(N)]
    rows, Tmp, Out = len(W_in), 0, 0 * In
    for hop in range(N):
        if hop:
            W_in, W_out = ppermute((W_in, W_out), "X", onward)
        begin = (me - hop) % N * rows
        Tmp += dynamic_slice_in_dim(In, begin, rows, 1) @ W_in
    Tmp = jax.nn.relu(Tmp)
    for hop in range(N):
        if hop:
            W_out = ppermute(W_out, "X", onward)
        begin = (me - hop) % N * rows
        Out = dynamic_update_slice_in_dim(Out, Tmp @ W_out, begin, 1)
    return Out


# %% forward wrong: a ReLU of the output, too
def forward(In, W_in, W_out):
    me, N = axis_index("X"), axis_size("X")
    onward = [(n, (n + 1) % N) for n in range(N)]
    rows, Tmp, Out = len(W_in), 0, 0 * In
    for hop in range(N):
        if hop:
            W_in = ppermute(W_in, "X", onward)
        begin = (me - hop) % N * rows
        Tmp += dynamic_slice_in_dim(In, begin, rows, 1) @ W_in
    Tmp = jax.nn.relu(Tmp)
    for hop in range(N):
        if hop:
            W_out = ppermute(W_out, "X", onward)
        begin = (me - hop) % N * rows
        Out = dynamic_update_slice_in_dim(Out, Tmp @ W_out, begin, 1)
    return jax.nn.relu(Out)


# %% forward wrong: finishes each piece when it comes, both matrices side by side
def forward(In, W_in, W_out):
    N, me = axis_size("X"), axis_index("X")
    ring = [(i, (i + 1) % N) for i in range(N)]
    d = W_in.shape[0]
    Out, a, b = jnp.zeros_like(In), W_in, W_out
    for k in range(N):
        src = (me - k) % N
        T = jnp.maximum(dynamic_slice_in_dim(In, src * d, d, 1) @ a, 0)
        Out = dynamic_update_slice_in_dim(Out, T @ b, src * d, 1)
        if k < N - 1:
            a, b = ppermute(a, "X", ring), ppermute(b, "X", ring)
    return Out


# %% forward right: two loops with a carry
def forward(In, W_in, W_out):
    me, N = axis_index("X"), axis_size("X")
    onward = [(n, (n + 1) % N) for n in range(N)]
    rows = W_in.shape[0]

    def term(hop, piece):
        return dynamic_slice_in_dim(In, (me - hop) % N * rows, rows, 1) @ piece

    def first(carry, hop):
        piece, Tmp = carry
        piece = ppermute(piece, "X", onward)
        return (piece, Tmp + term(hop, piece)), None

    hops = jnp.arange(1, N)
    (_, Tmp), _ = scan(first, (W_in, term(0, W_in)), hops)
    Tmp = jnp.maximum(Tmp, 0)

    def second(carry, hop):
        piece, Out = carry
        piece = ppermute(piece, "X", onward)
        begin = (me - hop) % N * rows
        Out = dynamic_update_slice_in_dim(Out, Tmp @ piece, begin, 1)
        return (piece, Out), None

    Out = dynamic_update_slice_in_dim(0 * In, Tmp @ W_out, me * rows, 1)
    (_, Out), _ = scan(second, (W_out, Out), hops)
    return Out


# %% forward right: columns rolled to their places at the end
def forward(In, W_in, W_out):
    me, N = axis_index("X"), axis_size("X")
    onward = [(n, (n + 1) % N) for n in range(N)]
    parts = In.reshape(len(In), N, -1)
    Tmp = parts[:, me] @ W_in
    for hop in range(1, N):
        W_in = ppermute(W_in, "X", onward)
        Tmp = Tmp + parts[:, me - hop] @ W_in
    Tmp = jnp.where(Tmp > 0, Tmp, 0)
    made = [Tmp @ W_out]
    for _ in range(N - 1):
        W_out = ppermute(W_out, "X", onward)
        made.insert(0, Tmp @ W_out)
    return jnp.roll(jnp.stack(made, 1), me + 1, axis=1).reshape(In.shape)


# %% forward equivalent: line 6: 0 becomes 1 (2)
# Whatever Out begins with, all of its columns are overwritten.


# %% forward equivalent: line 6: `0 * In` loses its left side
# Whatever Out begins with, all of its columns are overwritten.


# %% forward equivalent: line 6: `0 * In` with another operation
# Whatever Out begins with, all of its columns are overwritten.


# %% forward equivalent: line 10: `(me - hop) % N` loses its right side
# A slice that begins below 0 counts from the end.


# %% forward equivalent: line 16: `(me - hop) % N` loses its right side
# A slice that begins below 0 counts from the end.


# %% back wrong: two scatters, one for each use
def back(dOut, In, Tmp, W):
    W = all_gather(W, "X", axis=0, tiled=True)
    dTmp = (dOut @ W) * (Tmp > 0)
    dW = psum_scatter(In.T @ dTmp, "X", scatter_dimension=0, tiled=True)
    dW += psum_scatter(dOut.T @ Tmp, "X", scatter_dimension=0, tiled=True)
    return dTmp @ W.T, dW


# %% back wrong: two scatters, one along the columns of the transpose
def back(dOut, In, Tmp, W):
    W = all_gather(W, "X", axis=0, tiled=True)
    dTmp = (dOut @ W) * (Tmp > 0)
    dW = psum_scatter(In.T @ dTmp, "X", scatter_dimension=0, tiled=True)
    back = Tmp.T @ dOut
    back = psum_scatter(back, "X", scatter_dimension=1, tiled=True)
    dW += back.T
    return dTmp @ W.T, dW


# %% back wrong: a gather for each product
def back(dOut, In, Tmp, W):
    own = W
    W = all_gather(own, "X", axis=0, tiled=True)
    dTmp = (dOut @ W) * (Tmp > 0)
    dW = In.T @ dTmp + dOut.T @ Tmp
    dW = psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    again = all_gather(own, "X", axis=0, tiled=True)
    return dTmp @ again.T, dW


# %% back wrong: AllReduce, then a part: data parallelism
def back(dOut, In, Tmp, W):
    W = all_gather(W, "X", axis=0, tiled=True)
    dTmp = (dOut @ W) * (Tmp > 0)
    dW = In.T @ dTmp + dOut.T @ Tmp
    dW = jax.lax.psum(dW, "X")
    own = len(W) // axis_size("X")
    dW = dynamic_slice_in_dim(dW, axis_index("X") * own, own, 0)
    return dTmp @ W.T, dW


# %% back wrong: the first use only
def back(dOut, In, Tmp, W):
    W = all_gather(W, "X", axis=0, tiled=True)
    dTmp = (dOut @ W) * (Tmp > 0)
    dW = In.T @ dTmp
    dW = psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    return dTmp @ W.T, dW


# %% back wrong: the second use only
def back(dOut, In, Tmp, W):
    W = all_gather(W, "X", axis=0, tiled=True)
    dTmp = (dOut @ W) * (Tmp > 0)
    dW = dOut.T @ Tmp
    dW = psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    return dTmp @ W.T, dW


# %% back wrong: one use less the other
def back(dOut, In, Tmp, W):
    W = all_gather(W, "X", axis=0, tiled=True)
    dTmp = (dOut @ W) * (Tmp > 0)
    dW = In.T @ dTmp - dOut.T @ Tmp
    dW = psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    return dTmp @ W.T, dW


# %% back wrong: a mean
def back(dOut, In, Tmp, W):
    W = all_gather(W, "X", axis=0, tiled=True)
    dTmp = (dOut @ W) * (Tmp > 0)
    dW = In.T @ dTmp + dOut.T @ Tmp
    dW = psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    dW /= axis_size("X")
    return dTmp @ W.T, dW


# %% back wrong: forgets the ReLU
def back(dOut, In, Tmp, W):
    W = all_gather(W, "X", axis=0, tiled=True)
    dTmp = dOut @ W
    dW = In.T @ dTmp + dOut.T @ Tmp
    dW = psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    return dTmp @ W.T, dW


# %% back wrong: the ReLU of the gradient
def back(dOut, In, Tmp, W):
    W = all_gather(W, "X", axis=0, tiled=True)
    dTmp = jax.nn.relu(dOut @ W)
    dW = In.T @ dTmp + dOut.T @ Tmp
    dW = psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    return dTmp @ W.T, dW


# %% back wrong: own gradients only
def back(dOut, In, Tmp, W):
    W = all_gather(W, "X", axis=0, tiled=True)
    dTmp = (dOut @ W) * (Tmp > 0)
    dW = In.T @ dTmp + dOut.T @ Tmp
    own = len(W) // axis_size("X")
    dW = dynamic_slice_in_dim(dW, axis_index("X") * own, own, 0)
    return dTmp @ W.T, dW


# %% back wrong: gathers activations and computes all of the gradient
def back(dOut, In, Tmp, W):
    own = len(W)
    W = all_gather(W, "X", axis=0, tiled=True)
    dIn = ((dOut @ W) * (Tmp > 0)) @ W.T
    dOut, In, Tmp = (
        all_gather(x, "X", axis=0, tiled=True) for x in (dOut, In, Tmp)
    )
    dTmp = (dOut @ W) * (Tmp > 0)
    dW = In.T @ dTmp + dOut.T @ Tmp
    return dIn, dynamic_slice_in_dim(dW, axis_index("X") * own, own, 0)


# %% back wrong: the first use twice
def back(dOut, In, Tmp, W):
    W = all_gather(W, "X", axis=0, tiled=True)
    dTmp = (dOut @ W) * (Tmp > 0)
    dW = 2 * In.T @ dTmp
    dW = psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    return dTmp @ W.T, dW


# %% back wrong: where Tmp is positive for Tmp itself
def back(dOut, In, Tmp, W):
    W = all_gather(W, "X", axis=0, tiled=True)
    dTmp = (dOut @ W) * (Tmp > 0)
    dW = In.T @ dTmp + dOut.T @ (Tmp > 0)
    dW = psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    return dTmp @ W.T, dW


# %% back wrong: dTmp for Tmp in the second use
def back(dOut, In, Tmp, W):
    W = all_gather(W, "X", axis=0, tiled=True)
    dTmp = (dOut @ W) * (Tmp > 0)
    dW = In.T @ dTmp + dOut.T @ dTmp
    dW = psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    return dTmp @ W.T, dW


# %% back wrong: the ReLU left out of dW alone
def back(dOut, In, Tmp, W):
    W = all_gather(W, "X", axis=0, tiled=True)
    dTmp = (dOut @ W) * (Tmp > 0)
    dW = In.T @ (dOut @ W) + dOut.T @ Tmp
    dW = psum_scatter(dW, "X", scatter_dimension=0, tiled=True)
    return dTmp @ W.T, dW


# %% back wrong: the second gradient reshaped, not transposed
def back(dOut, In, Tmp, W):
    W = all_gather(W, "X", axis=0, tiled=True)
    d = jnp.where(Tmp > 0, dOut @ W, 0)
    dW = In.T @ d + (Tmp.T @ dOut).reshape(W.shape)
    return d @ W.T, psum_scatter(dW, "X", scatter_dimension=0, tiled=True)


# %% back wrong: where In is positive
def back(dOut, In, Tmp, W):
    W = all_gather(W, "X", axis=0, tiled=True)
    d = dOut @ W
    dW = In.T @ d + dOut.T @ Tmp
    return jnp.where(In > 0, d @ W.T, 0), psum_scatter(
        dW, "X", scatter_dimension=0, tiled=True
    )


# %% back wrong: times Tmp itself
def back(dOut, In, Tmp, W):
    W = all_gather(W, "X", axis=0, tiled=True)
    d = Tmp * (dOut @ W)
    dW = In.T @ d + dOut.T @ Tmp
    return d @ W.T, psum_scatter(dW, "X", scatter_dimension=0, tiled=True)


# %% back right: by jax.vjp of the whole block
def back(dOut, In, Tmp, W):
    def block(In, W):
        W = all_gather(W, "X", axis=0, tiled=True)
        return jax.nn.relu(In @ W) @ W.T

    _, vjp = jax.vjp(block, In, W)
    return vjp(dOut)


# %% back right: one product of arrays side by side
def back(dOut, In, Tmp, W):
    whole = all_gather(W, "X", tiled=True)
    dTmp = jnp.where(Tmp > 0, dOut @ whole, 0)
    left = jnp.concatenate([In, dOut])
    dW = left.T @ jnp.concatenate([dTmp, Tmp])
    return dTmp @ whole.T, psum_scatter(dW, "X", tiled=True)
