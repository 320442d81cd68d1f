# Answers that the checks of exercise set 9 must reject or accept.
#
# A cell is titled with the answer cell's grade_id, then `wrong: ` with the
# mistake or `right: ` with what is different. Run by tests/exercises.

# %% forward wrong: an AllReduce and a slice where a ReduceScatter was asked
def mixed_forward(In, W_in, W_out):
    In = all_gather(In, "Y", axis=1, tiled=True)
    Tmp = In @ all_gather(W_in, "X", axis=0, tiled=True)
    Out = Tmp @ all_gather(W_out, "X", axis=1, tiled=True)
    Out = jax.lax.psum(Out, "Y")
    part = Out.shape[1] // jax.lax.axis_size("Y")
    mine = jax.lax.axis_index("Y") * part
    return jax.lax.dynamic_slice_in_dim(Out, mine, part, 1)


# %% forward wrong: a slice of a sum that is not finished
def mixed_forward(In, W_in, W_out):
    In = all_gather(In, "Y", axis=1, tiled=True)
    Tmp = In @ all_gather(W_in, "X", axis=0, tiled=True)
    Out = Tmp @ all_gather(W_out, "X", axis=1, tiled=True)
    part = Out.shape[1] // jax.lax.axis_size("Y")
    mine = jax.lax.axis_index("Y") * part
    return jax.lax.dynamic_slice_in_dim(Out, mine, part, 1)


# %% forward wrong: weights gathered over both axes, as in FSDP alone
def mixed_forward(In, W_in, W_out):
    In = all_gather(In, "Y", axis=1, tiled=True)
    W_in = all_gather(W_in, "X", axis=0, tiled=True)
    W_in = all_gather(W_in, "Y", axis=1, tiled=True)
    W_out = all_gather(W_out, "X", axis=1, tiled=True)
    W_out = all_gather(W_out, "Y", axis=0, tiled=True)
    Out = In @ W_in @ W_out
    part = Out.shape[1] // jax.lax.axis_size("Y")
    mine = jax.lax.axis_index("Y") * part
    return jax.lax.dynamic_slice_in_dim(Out, mine, part, 1)


# %% forward wrong: the batch gathered, so that each chip does all of it
def mixed_forward(In, W_in, W_out):
    In = all_gather(In, ("X", "Y"), axis=1, tiled=True)
    Tmp = In @ all_gather(W_in, "X", axis=0, tiled=True)
    Out = Tmp @ all_gather(W_out, "X", axis=1, tiled=True)
    return psum_scatter(Out, "Y", scatter_dimension=1, tiled=True)


# %% forward wrong: the second gather along the wrong dimension
def mixed_forward(In, W_in, W_out):
    In = all_gather(In, "Y", axis=1, tiled=True)
    Tmp = In @ all_gather(W_in, "X", axis=0, tiled=True)
    W_out = all_gather(W_out, "X", axis=0, tiled=True)
    Out = Tmp @ W_out[: Tmp.shape[1]]
    return psum_scatter(Out, "Y", scatter_dimension=1, tiled=True)


# %% forward wrong: weights gathered twice
def mixed_forward(In, W_in, W_out):
    In = all_gather(In, "Y", axis=1, tiled=True)
    Tmp = In @ all_gather(W_in, "X", axis=0, tiled=True)
    again = In @ all_gather(W_in, "X", axis=0, tiled=True)
    Out = (Tmp + again) / 2 @ all_gather(W_out, "X", axis=1, tiled=True)
    return psum_scatter(Out, "Y", scatter_dimension=1, tiled=True)


# %% forward wrong: the mean over Y
def mixed_forward(In, W_in, W_out):
    In = all_gather(In, "Y", axis=1, tiled=True)
    Tmp = In @ all_gather(W_in, "X", axis=0, tiled=True)
    Out = Tmp @ all_gather(W_out, "X", axis=1, tiled=True)
    Out = psum_scatter(Out, "Y", scatter_dimension=1, tiled=True)
    return Out / jax.lax.axis_size("Y")


# %% forward wrong: an AllReduce of a padded In where a gather is enough
def mixed_forward(In, W_in, W_out):
    own = In.shape[1]
    padded = jax.numpy.zeros((len(In), own * jax.lax.axis_size("Y")), In.dtype)
    mine = jax.lax.axis_index("Y") * own
    padded = jax.lax.dynamic_update_slice_in_dim(padded, In, mine, 1)
    Tmp = jax.lax.psum(padded, "Y") @ all_gather(W_in, "X", axis=0, tiled=True)
    Out = Tmp @ all_gather(W_out, "X", axis=1, tiled=True)
    return psum_scatter(Out, "Y", scatter_dimension=1, tiled=True)


# %% forward wrong: an AllReduce in two halves, and a slice
def mixed_forward(In, W_in, W_out):
    In = all_gather(In, "Y", axis=1, tiled=True)
    Tmp = In @ all_gather(W_in, "X", axis=0, tiled=True)
    Out = Tmp @ all_gather(W_out, "X", axis=1, tiled=True)
    Out = psum_scatter(Out, "Y", scatter_dimension=1, tiled=True)
    Out = all_gather(Out, "Y", axis=1, tiled=True)
    part = Out.shape[1] // jax.lax.axis_size("Y")
    mine = jax.lax.axis_index("Y") * part
    return jax.lax.dynamic_slice_in_dim(Out, mine, part, 1)


# %% forward wrong: rounded to bf16 before it moves
def mixed_forward(In, W_in, W_out):
    In, W_in, W_out = (x.astype("bfloat16") for x in (In, W_in, W_out))
    In = all_gather(In, "Y", axis=1, tiled=True)
    Tmp = In @ all_gather(W_in, "X", axis=0, tiled=True)
    Out = Tmp @ all_gather(W_out, "X", axis=1, tiled=True)
    Out = psum_scatter(Out, "Y", scatter_dimension=1, tiled=True)
    return Out.astype("float32")


# %% forward wrong: scattered over X
def mixed_forward(In, W_in, W_out):
    In = all_gather(In, "Y", axis=1, tiled=True)
    Tmp = In @ all_gather(W_in, "X", axis=0, tiled=True)
    Out = Tmp @ all_gather(W_out, "X", axis=1, tiled=True)
    return psum_scatter(Out, "X", scatter_dimension=1, tiled=True)


# %% forward right: both weights first
def mixed_forward(In, W_in, W_out):
    W_in = all_gather(W_in, "X", axis=0, tiled=True)
    W_out = all_gather(W_out, "X", axis=1, tiled=True)
    In = all_gather(In, "Y", axis=1, tiled=True)
    return psum_scatter(In @ W_in @ W_out, "Y", scatter_dimension=1, tiled=True)


# %% forward right: both weights in one gather
def mixed_forward(In, W_in, W_out):
    both = jax.numpy.concatenate([W_in, W_out.T], axis=1)
    both = all_gather(both, "X", axis=0, tiled=True)
    W_in, back = jax.numpy.split(both, 2, axis=1)
    In = all_gather(In, "Y", axis=1, tiled=True)
    return psum_scatter(
        In @ W_in @ back.T, "Y", scatter_dimension=1, tiled=True
    )


# %% forward right: one token after the other, in a scan
def mixed_forward(In, W_in, W_out):
    W_in = all_gather(W_in, "X", axis=0, tiled=True)
    W_out = all_gather(W_out, "X", axis=1, tiled=True)

    def of_token(_, row):
        row = all_gather(row, "Y", axis=0, tiled=True) @ W_in @ W_out
        return None, psum_scatter(row, "Y", scatter_dimension=0, tiled=True)

    return jax.lax.scan(of_token, None, In)[1]


# %% forward right: tokens in two halves
def mixed_forward(In, W_in, W_out):
    W_in = all_gather(W_in, "X", axis=0, tiled=True)
    W_out = all_gather(W_out, "X", axis=1, tiled=True)
    done = []
    for half in jax.numpy.split(In, 2):
        half = all_gather(half, "Y", axis=1, tiled=True)
        Out = half @ W_in @ W_out
        done.append(psum_scatter(Out, "Y", scatter_dimension=1, tiled=True))
    return jax.numpy.concatenate(done)


# %% backward wrong: gradients AllReduced, as in data parallelism
def mixed_backward(dOut, In, Tmp, W_in, W_out):
    dOut = all_gather(dOut, "Y", axis=1, tiled=True)
    dTmp = dOut @ all_gather(W_out, "X", axis=1, tiled=True).T
    dIn = dTmp @ all_gather(W_in, "X", axis=0, tiled=True).T
    dIn = psum_scatter(dIn, "Y", scatter_dimension=1, tiled=True)
    dW_in, dW_out = (
        jax.lax.psum(In.T @ dTmp, "X"),
        jax.lax.psum(Tmp.T @ dOut, "X"),
    )
    part = dW_in.shape[0] // jax.lax.axis_size("X")
    mine = jax.lax.axis_index("X") * part
    cut = jax.lax.dynamic_slice_in_dim
    return dIn, cut(dW_in, mine, part, 0), cut(dW_out, mine, part, 1)


# %% backward wrong: gradients of the chip's own tokens, cut and not summed
def mixed_backward(dOut, In, Tmp, W_in, W_out):
    dOut = all_gather(dOut, "Y", axis=1, tiled=True)
    dTmp = dOut @ all_gather(W_out, "X", axis=1, tiled=True).T
    dIn = dTmp @ all_gather(W_in, "X", axis=0, tiled=True).T
    dIn = psum_scatter(dIn, "Y", scatter_dimension=1, tiled=True)
    dW_in, dW_out = In.T @ dTmp, Tmp.T @ dOut
    part = dW_in.shape[0] // jax.lax.axis_size("X")
    mine = jax.lax.axis_index("X") * part
    cut = jax.lax.dynamic_slice_in_dim
    return dIn, cut(dW_in, mine, part, 0), cut(dW_out, mine, part, 1)


# %% backward wrong: In gathered again, though it was kept
def mixed_backward(dOut, In, Tmp, W_in, W_out):
    part = In.shape[1] // jax.lax.axis_size("Y")
    mine = jax.lax.axis_index("Y") * part
    In = jax.lax.dynamic_slice_in_dim(In, mine, part, 1)
    In = all_gather(In, "Y", axis=1, tiled=True)
    dOut = all_gather(dOut, "Y", axis=1, tiled=True)
    dW_out = Tmp.T @ dOut
    dW_out = psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    dTmp = dOut @ all_gather(W_out, "X", axis=1, tiled=True).T
    dW_in = psum_scatter(In.T @ dTmp, "X", tiled=True)
    dIn = dTmp @ all_gather(W_in, "X", axis=0, tiled=True).T
    dIn = psum_scatter(dIn, "Y", scatter_dimension=1, tiled=True)
    return dIn, dW_in, dW_out


# %% backward wrong: dOut gathered for each product
def mixed_backward(dOut, In, Tmp, W_in, W_out):
    dW_out = Tmp.T @ all_gather(dOut, "Y", axis=1, tiled=True)
    dW_out = psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    dTmp = (
        all_gather(dOut, "Y", axis=1, tiled=True)
        @ all_gather(W_out, "X", axis=1, tiled=True).T
    )
    dW_in = psum_scatter(In.T @ dTmp, "X", tiled=True)
    dIn = dTmp @ all_gather(W_in, "X", axis=0, tiled=True).T
    dIn = psum_scatter(dIn, "Y", scatter_dimension=1, tiled=True)
    return dIn, dW_in, dW_out


# %% backward wrong: the mean over the batch's chips
def mixed_backward(dOut, In, Tmp, W_in, W_out):
    X = jax.lax.axis_size("X")
    dOut = all_gather(dOut, "Y", axis=1, tiled=True)
    dW_out = Tmp.T @ dOut / X
    dW_out = psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    dTmp = dOut @ all_gather(W_out, "X", axis=1, tiled=True).T
    dW_in = psum_scatter(In.T @ dTmp / X, "X", tiled=True)
    dIn = dTmp @ all_gather(W_in, "X", axis=0, tiled=True).T
    dIn = psum_scatter(dIn, "Y", scatter_dimension=1, tiled=True)
    return dIn, dW_in, dW_out


# %% backward wrong: the mean over all chips
def mixed_backward(dOut, In, Tmp, W_in, W_out):
    chips = jax.lax.axis_size(("X", "Y"))
    dOut = all_gather(dOut, "Y", axis=1, tiled=True)
    dW_out = Tmp.T @ dOut / chips
    dW_out = psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    dTmp = dOut @ all_gather(W_out, "X", axis=1, tiled=True).T
    dW_in = psum_scatter(In.T @ dTmp / chips, "X", tiled=True)
    dIn = dTmp @ all_gather(W_in, "X", axis=0, tiled=True).T
    dIn = psum_scatter(dIn, "Y", scatter_dimension=1, tiled=True)
    return dIn, dW_in, dW_out


# %% backward wrong: an AllReduce of dIn, and a slice
def mixed_backward(dOut, In, Tmp, W_in, W_out):
    dOut = all_gather(dOut, "Y", axis=1, tiled=True)
    dW_out = Tmp.T @ dOut
    dW_out = psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    dTmp = dOut @ all_gather(W_out, "X", axis=1, tiled=True).T
    dW_in = psum_scatter(In.T @ dTmp, "X", tiled=True)
    dIn = dTmp @ all_gather(W_in, "X", axis=0, tiled=True).T
    dIn = jax.lax.psum(dIn, "Y")
    part = dIn.shape[1] // jax.lax.axis_size("Y")
    mine = jax.lax.axis_index("Y") * part
    return jax.lax.dynamic_slice_in_dim(dIn, mine, part, 1), dW_in, dW_out


# %% backward wrong: gradients of weights exchanged
def mixed_backward(dOut, In, Tmp, W_in, W_out):
    dOut = all_gather(dOut, "Y", axis=1, tiled=True)
    dW_out = Tmp.T @ dOut
    dW_out = psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    dTmp = dOut @ all_gather(W_out, "X", axis=1, tiled=True).T
    dW_in = psum_scatter(In.T @ dTmp, "X", tiled=True)
    dIn = dTmp @ all_gather(W_in, "X", axis=0, tiled=True).T
    dIn = psum_scatter(dIn, "Y", scatter_dimension=1, tiled=True)
    return dIn, dW_out.T, dW_in.T


# %% backward wrong: Tmp made again, though it was kept
def mixed_backward(dOut, In, Tmp, W_in, W_out):
    W_in = all_gather(W_in, "X", axis=0, tiled=True)
    dOut = all_gather(dOut, "Y", axis=1, tiled=True)
    dW_out = (In @ W_in).T @ dOut
    dW_out = psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    dTmp = dOut @ all_gather(W_out, "X", axis=1, tiled=True).T
    dW_in = psum_scatter(In.T @ dTmp, "X", tiled=True)
    dIn = psum_scatter(dTmp @ W_in.T, "Y", scatter_dimension=1, tiled=True)
    return dIn, dW_in, dW_out


# %% backward wrong: Tmp gathered over Y, and cut again
def mixed_backward(dOut, In, Tmp, W_in, W_out):
    part = Tmp.shape[1]
    mine = jax.lax.axis_index("Y") * part
    Tmp = all_gather(Tmp, "Y", axis=1, tiled=True)
    Tmp = jax.lax.dynamic_slice_in_dim(Tmp, mine, part, 1)
    dOut = all_gather(dOut, "Y", axis=1, tiled=True)
    dW_out = Tmp.T @ dOut
    dW_out = psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    dTmp = dOut @ all_gather(W_out, "X", axis=1, tiled=True).T
    dW_in = psum_scatter(In.T @ dTmp, "X", tiled=True)
    dIn = dTmp @ all_gather(W_in, "X", axis=0, tiled=True).T
    dIn = psum_scatter(dIn, "Y", scatter_dimension=1, tiled=True)
    return dIn, dW_in, dW_out


# %% backward wrong: dIn is a slice of an unfinished sum
def mixed_backward(dOut, In, Tmp, W_in, W_out):
    dOut = all_gather(dOut, "Y", axis=1, tiled=True)
    dW_out = Tmp.T @ dOut
    dW_out = psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    dTmp = dOut @ all_gather(W_out, "X", axis=1, tiled=True).T
    dW_in = psum_scatter(In.T @ dTmp, "X", tiled=True)
    dIn = dTmp @ all_gather(W_in, "X", axis=0, tiled=True).T
    part = dIn.shape[1] // jax.lax.axis_size("Y")
    mine = jax.lax.axis_index("Y") * part
    return jax.lax.dynamic_slice_in_dim(dIn, mine, part, 1), dW_in, dW_out


# %% backward right: weights first, gradients of weights last
def mixed_backward(dOut, In, Tmp, W_in, W_out):
    W_out = all_gather(W_out, "X", axis=1, tiled=True)
    W_in = all_gather(W_in, "X", axis=0, tiled=True)
    dOut = all_gather(dOut, "Y", axis=1, tiled=True)
    dTmp = dOut @ W_out.T
    dIn = psum_scatter(dTmp @ W_in.T, "Y", scatter_dimension=1, tiled=True)
    dW_in = psum_scatter(In.T @ dTmp, "X", tiled=True)
    dW_out = psum_scatter(Tmp.T @ dOut, "X", scatter_dimension=1, tiled=True)
    return dIn, dW_in, dW_out


# %% backward right: one gather and one scatter for both weights, in a list
def mixed_backward(dOut, In, Tmp, W_in, W_out):
    beside, apart = jax.numpy.concatenate, jax.numpy.split
    dOut = all_gather(dOut, "Y", axis=1, tiled=True)
    both = all_gather(beside([W_in, W_out.T], 1), "X", tiled=True)
    W_in, back = apart(both, 2, 1)
    dTmp = dOut @ back
    dIn = psum_scatter(dTmp @ W_in.T, "Y", scatter_dimension=1, tiled=True)
    both = beside([In.T @ dTmp, dOut.T @ Tmp], 1)
    dW_in, back = apart(psum_scatter(both, "X", tiled=True), 2, 1)
    return [dIn, dW_in, back.T]


# %% backward right: JAX transposes the forward pass
def mixed_backward(dOut, In, Tmp, W_in, W_out):
    def last(Tmp, W_out):
        Out = Tmp @ all_gather(W_out, "X", axis=1, tiled=True)
        return psum_scatter(Out, "Y", scatter_dimension=1, tiled=True)

    _, back = jax.vjp(last, Tmp, W_out)
    dTmp, dW_out = back(dOut)
    dIn = dTmp @ all_gather(W_in, "X", axis=0, tiled=True).T
    dIn = psum_scatter(dIn, "Y", scatter_dimension=1, tiled=True)
    return dIn, psum_scatter(In.T @ dTmp, "X", tiled=True), dW_out


# %% bytes wrong: activations twice as much in backward
def mixed_bytes(B, D, F, X, Y, kept):
    weight, activation = 2 * D * F // Y, 2 * B * D // X
    return [2 * weight, 2 * activation, 4 * weight, 4 * activation]


# %% bytes wrong: In is never kept
def mixed_bytes(B, D, F, X, Y, kept):
    weight, activation = 2 * D * F // Y, 2 * B * D // X
    return [2 * weight, 2 * activation, 4 * weight, 3 * activation]


# %% bytes wrong: each axis cuts its own
def mixed_bytes(B, D, F, X, Y, kept):
    weight, activation = 2 * D * F // X, 2 * B * D // Y
    moves = 2 if kept else 3
    return [2 * weight, 2 * activation, 4 * weight, moves * activation]


# %% bytes wrong: X and Y exchanged
def mixed_bytes(B, D, F, X, Y, kept):
    weight, activation = 2 * D * F // Y, 2 * B * D // X
    moves = 2 if kept else 3
    return [2 * activation, 2 * weight, moves * activation, 4 * weight]


# %% bytes wrong: kept and not kept exchanged
def mixed_bytes(B, D, F, X, Y, kept):
    weight, activation = 2 * D * F // Y, 2 * B * D // X
    moves = 3 if kept else 2
    return [2 * weight, 2 * activation, 4 * weight, moves * activation]


# %% bytes wrong: elements
def mixed_bytes(B, D, F, X, Y, kept):
    weight, activation = D * F // Y, B * D // X
    moves = 2 if kept else 3
    return [2 * weight, 2 * activation, 4 * weight, moves * activation]


# %% bytes wrong: a chip's pieces
def mixed_bytes(B, D, F, X, Y, kept):
    weight, activation = 2 * D * F // (X * Y), 2 * B * D // (X * Y)
    moves = 2 if kept else 3
    return [2 * weight, 2 * activation, 4 * weight, moves * activation]


# %% bytes wrong: what leaves a chip in a ring
def mixed_bytes(B, D, F, X, Y, kept):
    weight = 2 * D * F * (X - 1) // (X * Y)
    activation = 2 * B * D * (Y - 1) // (X * Y)
    moves = 2 if kept else 3
    return [2 * weight, 2 * activation, 4 * weight, moves * activation]


# %% bytes wrong: weights are not gathered again
def mixed_bytes(B, D, F, X, Y, kept):
    weight, activation = 2 * D * F // Y, 2 * B * D // X
    moves = 2 if kept else 3
    return [2 * weight, 2 * activation, 2 * weight, moves * activation]


# %% bytes right: closed forms
def mixed_bytes(B, D, F, X, Y, kept):
    back = (6 - 2 * kept) * B * D // X
    return [4 * D * F // Y, 4 * B * D // X, 8 * D * F // Y, back]


# %% bytes right: line by line
def mixed_bytes(B, D, F, X, Y, kept):
    array = {"X": D * (F // Y) * 2, "Y": (B // X) * D * 2}
    forward, backward = "YXXY", "YXXXXY" + "Y" * (not kept)
    return [
        sum(array[axis] for axis in part if axis == over)
        for part in (forward, backward)
        for over in "XY"
    ]


# %% best wrong: without the axes of the network
best_X = sympy.sqrt(B * N / F)

# %% best wrong: M_X and M_Y exchanged
best_X = sympy.sqrt(B * M_Y * N / (F * M_X))

# %% best wrong: the best Y
best_X = sympy.sqrt(F * M_Y * N / (B * M_X))

# %% best wrong: no square root
best_X = B * M_X * N / (F * M_Y)

# %% best wrong: the quoted example, F a little too small
best_X = sympy.sqrt(B * M_X * N / (F * M_Y)) * sympy.Rational(139, 137)

# %% best wrong: rounded down
best_X = sympy.floor(sympy.sqrt(B * M_X * N / (F * M_Y)))

# %% best wrong: rounded up
best_X = sympy.ceiling(sympy.sqrt(B * M_X * N / (F * M_Y)))

# %% best wrong: rounded
best_X = "floor(sqrt(B*M_X*N/(F*M_Y)) + 1/2)"

# %% best right: from the derivative of the sum
added = F * X / (N * M_X) + B / (X * M_Y)
[best_X] = sympy.solve(sympy.diff(added, X), X)

# %% best right: as text, factor by factor
best_X = "(B/F)**(1/2)*(M_X/M_Y)**(1/2)*N**(1/2)"


# %% tokens wrong: overlapped, always
def tokens_needed(F, C, W, M_X, M_Y, overlap):
    return (C / W) ** 2 / (M_X * M_Y * F)


# %% tokens wrong: added, always
def tokens_needed(F, C, W, M_X, M_Y, overlap):
    return 4 * (C / W) ** 2 / (M_X * M_Y * F)


# %% tokens wrong: twice where four times is needed
def tokens_needed(F, C, W, M_X, M_Y, overlap):
    tokens = (C / W) ** 2 / (M_X * M_Y * F)
    return tokens if overlap else 2 * tokens


# %% tokens wrong: the sum of the axes
def tokens_needed(F, C, W, M_X, M_Y, overlap):
    tokens = (C / W) ** 2 / ((M_X + M_Y) * F)
    return tokens if overlap else 4 * tokens


# %% tokens wrong: no axes
def tokens_needed(F, C, W, M_X, M_Y, overlap):
    return (C / W) ** 2 / F * (1 if overlap else 4)


# %% tokens wrong: FSDP alone
def tokens_needed(F, C, W, M_X, M_Y, overlap):
    return C / W / (M_X + M_Y)


# %% tokens right: one limit over the other
def tokens_needed(F, C, W, M_X, M_Y, overlap):
    fsdp = C / (W * M_X)  # B / X, and Y at most:
    tp = M_Y * F * W / C
    tokens = fsdp / tp
    if not overlap:
        tokens *= 2**2
    return tokens


# %% tokens right: by bisection at the best split of a great many chips
def tokens_needed(F, C, W, M_X, M_Y, overlap):
    N, low, high = 1.0, 1e-6, 1e9
    for _ in range(200):
        B = (low * high) ** 0.5
        X = (B * M_X * N / (F * M_Y)) ** 0.5
        terms = [F * X / (N * M_X), B / (X * M_Y)]
        took = max(terms) if overlap else sum(terms)
        low, high = (low, B) if took <= B * F * W / C / N else (B, high)
    return high


# %% pays wrong: overlapped, always
def pays_from(alpha, M_X, M_Y, overlap):
    return alpha * (M_X + M_Y) / (M_X * M_Y)


# %% pays wrong: twice where four times is needed
def pays_from(alpha, M_X, M_Y, overlap):
    F = alpha * (M_X + M_Y) / (M_X * M_Y)
    return F if overlap else 2 * F


# %% pays wrong: FSDP alone on one axis
def pays_from(alpha, M_X, M_Y, overlap):
    F = alpha / (M_X * M_Y)
    return F if overlap else 4 * F


# %% pays wrong: FSDP alone on its own axes
def pays_from(alpha, M_X, M_Y, overlap):
    F = alpha / M_Y
    return F if overlap else 4 * F


# %% pays wrong: conventions exchanged
def pays_from(alpha, M_X, M_Y, overlap):
    F = alpha * (M_X + M_Y) / (M_X * M_Y)
    return 4 * F if overlap else F


# %% pays wrong: a part that is one only while an axis is alone
def pays_from(alpha, M_X, M_Y, overlap):
    F = alpha * (1 + 1 / (M_X * M_Y))
    return F if overlap else 4 * F


# %% pays wrong: the larger number of axes counts
def pays_from(alpha, M_X, M_Y, overlap):
    F = alpha * (M_X + M_Y) / max(M_X, M_Y)
    return F if overlap else 4 * F


# %% pays right: a sum of two parts
def pays_from(alpha, M_X, M_Y, overlap):
    return (1 if overlap else 4) * (alpha / M_X + alpha / M_Y)


# %% pays right: what the two need, by bisection
def pays_from(alpha, M_X, M_Y, overlap):
    low, high = 1.0, 1e9
    while high - low > 1e-9 * high:
        F = (low + high) / 2
        mixed = (1 if overlap else 4) * alpha**2 / (M_X * M_Y * F)
        low, high = (low, F) if mixed < alpha / (M_X + M_Y) else (F, high)
    return high


# %% split wrong: never FSDP alone
def split(B, F, N, overlap):
    found, Y = [], 2
    while Y < N:
        terms = F / (Y * 2), B * Y / N
        found.append([max(terms) if overlap else sum(terms), N // Y, Y])
        Y = Y * 2
    return min(found)[1:]


# %% split wrong: overlapped, always
def split(B, F, N, overlap):
    found, Y = [[F / 3, N, 1]], 2
    while Y < N:
        found.append([max(F / (Y * 2), B * Y / N), N // Y, Y])
        Y = Y * 2
    return min(found)[1:]


# %% split wrong: added, always
def split(B, F, N, overlap):
    found, Y = [[F / 3, N, 1]], 2
    while Y < N:
        found.append([F / (Y * 2) + B * Y / N, N // Y, Y])
        Y = Y * 2
    return min(found)[1:]


# %% split wrong: the power of two next to the best X
def split(B, F, N, overlap):
    best = (2 * B * N / F) ** 0.5
    X = 2 ** round(np.log2(min(max(best, 2), N)))
    return [int(X), int(N // X)]


# %% split wrong: X and Y exchanged
def split(B, F, N, overlap):
    found, Y = [[F / 3, N, 1]], 2
    while Y < N:
        terms = F / (Y * 2), B * Y / N
        found.append([max(terms) if overlap else sum(terms), N // Y, Y])
        Y = Y * 2
    return min(found)[:0:-1]


# %% split wrong: FSDP alone on two axes
def split(B, F, N, overlap):
    found, Y = [[F / 2, N, 1]], 2
    while Y < N:
        terms = F / (Y * 2), B * Y / N
        found.append([max(terms) if overlap else sum(terms), N // Y, Y])
        Y = Y * 2
    return min(found)[1:]


# %% split wrong: activations of FSDP alone
def split(B, F, N, overlap):
    found, Y = [], 1
    while Y < N:
        terms = F / (Y * (2 if Y > 1 else 3)), B * Y / N
        found.append([max(terms) if overlap else sum(terms), N // Y, Y])
        Y = Y * 2
    return min(found)[1:]


# %% split wrong: FSDP alone where the best Y is below 2
def split(B, F, N, overlap):
    if (F * N / (2 * B)) ** 0.5 < 2:
        return [N, 1]
    found, Y = [], 2
    while Y < N:
        terms = F / (Y * 2), B * Y / N
        found.append([max(terms) if overlap else sum(terms), N // Y, Y])
        Y = Y * 2
    return min(found)[1:]


# %% split right: the neighbours of the best X, and FSDP alone
def split(B, F, N, overlap):
    def took(X):
        if X == N:
            return F / 3
        terms = [F * X / (2 * N), B / X]
        return max(terms) if overlap else sum(terms)

    best = min(max((2 * B * N / F) ** 0.5, 2), N / 2)
    below = 2 ** int(np.floor(np.log2(best)))
    nearby = [X for X in (below, 2 * below) if 2 <= X < N]
    X = min([*nearby, N], key=took)
    return [X, N // X]


# %% split right: from the first split that is not better than the next
def split(B, F, N, overlap):
    both = max if overlap else sum
    X, took = 2, both((F / N, B / 2))
    while 2 * X < N and both((F * X / N, B / (2 * X))) < took:
        X *= 2
        took = both((F * X / (2 * N), B / X))
    return [N, 1] if F / 3 < took else [X, N // X]


# %% split equivalent: line 7: `(F / (Y * 2), B * Y / N)` is reversed
# Neither the larger of two terms nor their sum depends on their order.

# %% split equivalent: line 5: `range(2, N)` ends one too soon
# The last number left out, N - 1, divides no power of two beyond 2.


# %% use wrong: forgets memory
def can_use(B, N, overlap, hbm):
    found = ["dp", "fsdp"] if B / N >= flops / W / 3 else []
    X = 2
    while X < N:
        terms = hidden * X / (N * 2), B / X
        took = max(terms) if overlap else sum(terms)
        if took <= B * hidden / N * W / flops:
            return [*found, "mixed"]
        X = X * 2
    return found


# %% use wrong: all states are cut under data parallelism too
def can_use(B, N, overlap, hbm):
    states, kept = 10 * params, 2 * layers * B * (width + 2 * hidden)
    if (states + kept) / N > hbm:
        return []
    found = ["dp", "fsdp"] if B / N >= flops / W / 3 else []
    X = 2
    while X < N:
        terms = hidden * X / (N * 2), B / X
        took = max(terms) if overlap else sum(terms)
        if took <= B * hidden / N * W / flops:
            return [*found, "mixed"]
        X = X * 2
    return found


# %% use wrong: the threshold of real splits
def can_use(B, N, overlap, hbm):
    states, kept = 10 * params, 2 * layers * B * (width + 2 * hidden)
    enough, fits = B / N >= flops / W / 3, (states + kept) / N <= hbm
    found = ["dp"] if enough and states + kept / N <= hbm else []
    found = found + ["fsdp"] if enough and fits else found
    tokens = (flops / W) ** 2 / (2 * hidden) * (1 if overlap else 4)
    return [*found, "mixed"] if fits and B / N >= tokens else found


# %% use wrong: overlapped, always
def can_use(B, N, overlap, hbm):
    states, kept = 10 * params, 2 * layers * B * (width + 2 * hidden)
    enough, fits = B / N >= flops / W / 3, (states + kept) / N <= hbm
    found = ["dp"] if enough and states + kept / N <= hbm else []
    found = found + ["fsdp"] if enough and fits else found
    X = 2
    while X < N and fits:
        if max(hidden * X / (N * 2), B / X) <= B * hidden / N * W / flops:
            return [*found, "mixed"]
        X = X * 2
    return found


# %% use wrong: FSDP's threshold on one axis
def can_use(B, N, overlap, hbm):
    states, kept = 10 * params, 2 * layers * B * (width + 2 * hidden)
    enough, fits = B / N >= flops / W, (states + kept) / N <= hbm
    found = ["dp"] if enough and states + kept / N <= hbm else []
    found = found + ["fsdp"] if enough and fits else found
    X = 2
    while X < N and fits:
        terms = hidden * X / (N * 2), B / X
        took = max(terms) if overlap else sum(terms)
        if took <= B * hidden / N * W / flops:
            return [*found, "mixed"]
        X = X * 2
    return found


# %% use wrong: the best split only if FSDP alone does not do
def can_use(B, N, overlap, hbm):
    states, kept = 10 * params, 2 * layers * B * (width + 2 * hidden)
    enough, fits = B / N >= flops / W / 3, (states + kept) / N <= hbm
    if enough:
        found = ["dp"] if states + kept / N <= hbm else []
        return found + ["fsdp"] if fits else found
    X = 2
    while X < N and fits:
        terms = hidden * X / (N * 2), B / X
        took = max(terms) if overlap else sum(terms)
        if took <= B * hidden / N * W / flops:
            return ["mixed"]
        X = X * 2
    return []


# %% use wrong: activations are kept whole on each chip
def can_use(B, N, overlap, hbm):
    states, kept = 10 * params, 2 * layers * B * (width + 2 * hidden)
    enough, fits = B / N >= flops / W / 3, states / N + kept <= hbm
    found = ["dp"] if enough and states + kept <= hbm else []
    found = found + ["fsdp"] if enough and fits else found
    X = 2
    while X < N and fits:
        terms = hidden * X / (N * 2), B / X
        took = max(terms) if overlap else sum(terms)
        if took <= B * hidden / N * W / flops:
            return [*found, "mixed"]
        X = X * 2
    return found


# %% use wrong: X may be 1, if there are more than two chips
def can_use(B, N, overlap, hbm):
    states, kept = 10 * params, 2 * layers * B * (width + 2 * hidden)
    enough, fits = B / N >= flops / W / 3, (states + kept) / N <= hbm
    found = ["dp"] if enough and states + kept / N <= hbm else []
    found = found + ["fsdp"] if enough and fits else found
    X = 1
    while X < N and fits and N > 2:
        terms = hidden * X / (N * 2), B / X
        took = max(terms) if overlap else sum(terms)
        if took <= B * hidden / N * W / flops:
            return [*found, "mixed"]
        X = X * 2
    return found


# %% use wrong: tokens of a chip rounded down
def can_use(B, N, overlap, hbm):
    each, alpha = B // N, flops / W
    kept = 2 * layers * each * (width + 2 * hidden)
    enough, fits = 3 * each >= alpha, 10 * params / N + kept <= hbm
    found = ["dp"] if enough and 10 * params + kept <= hbm else []
    found = found + ["fsdp"] if enough and fits else found
    Y = 2
    while Y < N and fits:
        terms = alpha / 2 / Y, alpha * Y / hidden * each
        if (max(terms) if overlap else sum(terms)) <= each:
            return [*found, "mixed"]
        Y = Y * 2
    return found


# %% use wrong: in another order
def can_use(B, N, overlap, hbm):
    states, kept = 10 * params, 2 * layers * B * (width + 2 * hidden)
    enough, fits = B / N >= flops / W / 3, (states + kept) / N <= hbm
    found = ["dp"] if enough and states + kept / N <= hbm else []
    found = found + ["fsdp"] if enough and fits else found
    X = 2
    while X < N and fits:
        terms = hidden * X / (N * 2), B / X
        took = max(terms) if overlap else sum(terms)
        if took <= B * hidden / N * W / flops:
            return ["mixed", *found]
        X = X * 2
    return found


# %% use wrong: lists in a list
def can_use(B, N, overlap, hbm):
    return [["dp"], ["fsdp"], ["mixed"]]


# %% use wrong: a gate
def can_use(B, N, overlap, hbm):
    states, kept = 10 * params, 2 * layers * B * (width + 2 * hidden)
    enough, fits = B / N >= flops / W / 3, (states + kept) / N <= hbm
    found = ["dp"] if enough and states + kept / N <= hbm else []
    found = found + ["fsdp"] if enough and fits else found
    X = 2
    while X < N and fits:
        terms = 3 * hidden * X / (N * 2), 2 * B / X
        took = max(terms) if overlap else sum(terms)
        if took <= 3 * B * hidden / N * W / flops:
            return [*found, "mixed"]
        X = X * 2
    return found


# %% use wrong: the best X, rounded down to a power of two
def can_use(B, N, overlap, hbm):
    states, kept = 10 * params, 2 * layers * B * (width + 2 * hidden)
    enough, fits = B / N >= flops / W / 3, (states + kept) / N <= hbm
    found = ["dp"] if enough and states + kept / N <= hbm else []
    found = found + ["fsdp"] if enough and fits else found
    if N < 4 or not fits:
        return found
    best = min(max((2 * B * N / hidden) ** 0.5, 2), N / 2)
    X = 2.0 ** np.floor(np.log2(best))
    terms = hidden * X / (N * 2), B / X
    took = max(terms) if overlap else sum(terms)
    return [*found, "mixed"] if took <= B * hidden / N * W / flops else found


# %% use wrong: the first that can be used
def can_use(B, N, overlap, hbm):
    states, kept = 10 * params, 2 * layers * B * (width + 2 * hidden)
    enough, fits = B / N >= flops / W / 3, (states + kept) / N <= hbm
    found = ["dp"] if enough and states + kept / N <= hbm else []
    found = found + ["fsdp"] if enough and fits else found
    if found:
        return found[:1]
    X = 2
    while X < N and fits:
        terms = hidden * X / (N * 2), B / X
        took = max(terms) if overlap else sum(terms)
        if took <= B * hidden / N * W / flops:
            return ["mixed"]
        X = X * 2
    return found


# %% use wrong: activations are cut over X alone in the mixture
def can_use(B, N, overlap, hbm):
    states, kept = 10 * params, 2 * layers * B * (width + 2 * hidden)
    enough, fits = B / N >= flops / W / 3, (states + kept) / N <= hbm
    found = ["dp"] if enough and states + kept / N <= hbm else []
    found = found + ["fsdp"] if enough and fits else found
    X = 2
    while X < N:
        terms = hidden * X / (N * 2), B / X
        took = max(terms) if overlap else sum(terms)
        fits = states / N + kept / X <= hbm
        if took <= B * hidden / N * W / flops and fits:
            return [*found, "mixed"]
        X = X * 2
    return found


# %% use right: each split's own laws
def can_use(B, N, overlap, hbm):
    alpha = flops / W
    kept = 2 * layers * B * (width + 2 * hidden) / N
    fits = 10 * params / N + kept <= hbm

    def works(Y):
        X = N // Y
        fsdp, tp = alpha * X / (2 * B), alpha * Y / hidden
        return (max(fsdp, tp) if overlap else fsdp + tp) <= 1

    tests = {
        "dp": 3 * B >= alpha * N and 10 * params + kept <= hbm,
        "fsdp": 3 * B >= alpha * N and fits,
        "mixed": fits
        and any(works(2**k) for k in range(1, N.bit_length() - 1)),
    }
    return [name for name, passed in tests.items() if passed]


# %% use right: in exact fractions, as a tuple
def can_use(B, N, overlap, hbm):
    from fractions import Fraction

    alpha = Fraction(flops) / Fraction(W)
    own = Fraction(2 * layers * B * (width + 2 * hidden), N)
    share = Fraction(10 * params, N) + own <= hbm
    dense = alpha * N <= 3 * B
    splits = [2**k for k in range(1, N.bit_length() - 1)]
    loads = [(alpha * N / Y / 2 / B, alpha * Y / hidden) for Y in splits]
    hidden_by = [(max(load) if overlap else sum(load)) <= 1 for load in loads]
    verdicts = dense and 10 * params + own <= hbm, dense and share
    verdicts += (share and any(hidden_by),)
    named = zip(("dp", "fsdp", "mixed"), verdicts)
    return tuple(name for name, verdict in named if verdict)


# %% use right: in seconds, with the splits of two neighbours of the best X
def can_use(B, N, overlap, hbm):
    math = 4 * B * width * hidden / N / flops
    alone = 4 * width * hidden / (3 * W)
    own = 2 * layers * (B / N) * (width + 2 * hidden)
    found = []
    if alone <= math:
        found += ["dp"] * (10 * params + own <= hbm)
        found += ["fsdp"] * (10 * params / N + own <= hbm)
    best = np.log2((2 * B * N / hidden) ** 0.5)
    for power in range(int(best) - 1, int(best) + 3):
        X = 2.0**power
        if 2 <= X <= N / 2 and 10 * params / N + own <= hbm:
            weights = 4 * width * hidden * X / N / (2 * W)
            activations = 4 * B * width / X / W
            took = weights + activations
            if overlap:
                took = max(weights, activations)
            if took <= math:
                return [*found, "mixed"]
    return found


# %% use equivalent: line 6: `each > flops / W / 3` with GtE
# Just at a border both verdicts are right, and rounding decides.

# %% use equivalent: line 5: `(states + kept) / N < hbm` with LtE
# Just at a border both verdicts are right, and rounding decides.

# %% use equivalent: line 7: `states + kept / N < hbm` with LtE
# Just at a border both verdicts are right, and rounding decides.

# %% use equivalent: line 12: `took < each * hidden * W / flops` with LtE
# Just at a border both verdicts are right, and rounding decides.

# %% use equivalent: line 10: `(hidden * X / (N * 2), B / X)` is reversed
# Neither the larger of two terms nor their sum depends on their order.

# %% use equivalent: line 9: `range(2, N)` ends one too soon
# The last number left out, N - 1, divides no power of two beyond 2.


# %% step wrong: at peak
def step(B, N, mfu):
    held = 10 * params + 2 * layers * B * (width + 2 * hidden)
    return [held / N, 6 * params * B / (N * flops)]


# %% step wrong: the forward pass alone
def step(B, N, mfu):
    held = 10 * params + 2 * layers * B * (width + 2 * hidden)
    return [held / N, 2 * params * B / (N * flops * mfu)]


# %% step wrong: parameters on each chip
def step(B, N, mfu):
    held = 10 * params + 2 * layers * B * (width + 2 * hidden) / N
    return [held, 6 * params * B / (N * flops * mfu)]


# %% step wrong: no activations
def step(B, N, mfu):
    return [10 * params / N, 6 * params * B / (N * flops * mfu)]


# %% step wrong: all chips together
def step(B, N, mfu):
    held = 10 * params + 2 * layers * B * (width + 2 * hidden)
    return [held, 6 * params * B / (N * flops * mfu)]


# %% step wrong: faster at a lower utilisation
def step(B, N, mfu):
    held = 10 * params + 2 * layers * B * (width + 2 * hidden)
    return [held / N, 6 * params * B / (N * flops) * mfu]


# %% step wrong: gradients in bf16, too
def step(B, N, mfu):
    held = 12 * params + 2 * layers * B * (width + 2 * hidden)
    return [held / N, 6 * params * B / (N * flops * mfu)]


# %% step wrong: seconds first
def step(B, N, mfu):
    held = 10 * params + 2 * layers * B * (width + 2 * hidden)
    return [6 * params * B / (N * flops * mfu), held / N]


# %% step wrong: the activations of one layer
def step(B, N, mfu):
    held = 10 * params + 2 * B * (width + 2 * hidden)
    return [held / N, 6 * params * B / (N * flops * mfu)]


# %% step wrong: a parameter of each norm, too
def step(B, N, mfu):
    count = params + 81 * width
    held = 10 * count + 2 * layers * B * (width + 2 * hidden)
    return [held / N, 6 * count * B / (N * flops * mfu)]


# %% step wrong: the forward pass twice
def step(B, N, mfu):
    held = 10 * params + 2 * layers * B * (width + 2 * hidden)
    return [held / N, 8 * params * B / (N * flops * mfu)]


# %% step right: term by term
def step(B, N, mfu):
    bf16, float32 = 2, 4
    states = params * (bf16 + float32 + float32)
    tokens = B / N
    kept = layers * tokens * (hidden + hidden + width) * bf16
    rate = mfu * flops
    return [states / N + kept, (2 + 4) * params * tokens / rate]


# %% step right: numbers of JAX, in float32
def step(B, N, mfu):
    held = 10.0 * params + 2.0 * layers * B * (width + 2 * hidden)
    rate = jax.numpy.float32(flops) * mfu
    return [jax.numpy.float32(held / N), 6.0 * params * B / N / rate]


# %% step right: counts the parameters of the tree
def step(B, N, mfu):
    matrices = 3 * width * hidden + 4 * width * width
    count = layers * matrices + 2 * 32_000 * width
    total = sum([2 * count, 4 * count, 4 * count])
    for kept in (hidden, hidden, width):
        total += 2 * layers * B * kept
    return [total / N, 3 * (2 * count * B) / flops / N / mfu]


# %% question wrong: the split of 3 million tokens for all
question_4 = {
    "1M": [1024, 4, 0.766],
    "10M": [1024, 4, 1.355],
    "1M added": [1024, 4, 0.489],
    "1M gated": [1024, 4, 0.766],
}

# %% question wrong: communication over arithmetic
question_4 = {
    "1M": [1024, 4, 1 / 0.766],
    "10M": [4096, 1, 1 / 2.872],
    "1M added": [1024, 4, 1 / 0.489],
    "1M gated": [512, 8, 1 / 1.016],
}

# %% question wrong: conventions exchanged
question_4 = {
    "1M": [1024, 4, 0.489],
    "10M": [4096, 1, 2.872],
    "1M added": [1024, 4, 0.766],
    "1M gated": [512, 8, 1.016],
}

# %% question wrong: real X
question_4 = {
    "1M": [769.8, 5.32, 1.019],
    "10M": [2434.3, 1.68, 3.22],
    "1M added": [769.8, 5.32, 0.509],
    "1M gated": [628.5, 6.52, 1.248],
}

# %% question wrong: FSDP alone, also for a million
question_4 = {
    "1M": [4096, 1, 0.287],
    "10M": [4096, 1, 2.872],
    "1M added": [4096, 1, 0.287],
    "1M gated": [4096, 1, 0.287],
}

# %% question wrong: the gate makes no difference
question_4 = {
    "1M": [1024, 4, 0.766],
    "10M": [4096, 1, 2.872],
    "1M added": [1024, 4, 0.489],
    "1M gated": [1024, 4, 0.766],
}

# %% question wrong: one is missing
question_4 = {
    "1M": [1024, 4, 0.766],
    "10M": [4096, 1, 2.872],
    "1M added": [1024, 4, 0.489],
}

# %% question wrong: FSDP alone on two axes
question_4 = {
    "1M": [1024, 4, 0.766],
    "10M": [4096, 1, 1.915],
    "1M added": [1024, 4, 0.489],
    "1M gated": [512, 8, 1.016],
}

# %% question wrong: a mixture for ten million
question_4 = {
    "1M": [1024, 4, 0.766],
    "10M": [2048, 2, 2.711],
    "1M added": [1024, 4, 0.489],
    "1M gated": [512, 8, 1.016],
}

# %% question wrong: all three half larger with a gate
question_4 = {
    "1M": [1024, 4, 0.766],
    "10M": [4096, 1, 2.872],
    "1M added": [1024, 4, 0.489],
    "1M gated": [1024, 4, 1.149],
}

# %% question right: every split, tried
question_4 = {}


def ratios(B, both, matrices=2):
    work = matrices * B * hidden / 4096 * W / flops
    yield work / (matrices * hidden / 3), 4096, 1
    for X in (2**k for k in range(1, 12)):
        over_X = matrices * hidden * X / 4096 / 2
        yield work / both((over_X, 2 * B / X)), X, 4096 // X


for key, case in {
    "1M": (1e6, max),
    "10M": (1e7, max),
    "1M added": (1e6, sum),
    "1M gated": (1e6, max, 3),
}.items():
    ratio, *split_X_Y = max(ratios(*case))
    question_4[key] = [*split_X_Y, ratio]

# %% question right: by the two laws of the chosen splits
fsdp_law, tp_law = W / flops * 2 * 1e6, W / flops * hidden
question_4 = {
    "1M": [1024, 4, min(fsdp_law / 1024, tp_law / 4)],
    "10M": [4096, 1, 1e7 / 4096 * 3 * W / flops],
    "1M added": [1024, 4, 1 / (1024 / fsdp_law + 4 / tp_law)],
    "1M gated": [512, 8, min(fsdp_law / 512, 1.5 * tp_law / 8)],
}


# %% window wrong: a window where the discriminant is negative
def window(B, F, N, alpha, M_X, M_Y):
    a, b, c = F / (N * M_X), B * F / (N * alpha), B / M_Y
    root = abs(b**2 - 4 * a * c) ** 0.5
    return [(b - root) / (2 * a), (b + root) / (2 * a)]


# %% window wrong: no window unless the discriminant is zero
def window(B, F, N, alpha, M_X, M_Y):
    a, b, c = F / (N * M_X), B * F / (N * alpha), B / M_Y
    if b**2 != 4 * a * c:
        return []
    return [b / (2 * a), b / (2 * a)]


# %% window wrong: the window of overlapped traffic
def window(B, F, N, alpha, M_X, M_Y):
    low, high = N * alpha / (F * M_Y), M_X * B / alpha
    return [low, high] if low <= high else []


# %% window wrong: the upper end first
def window(B, F, N, alpha, M_X, M_Y):
    a, b, c = F / (N * M_X), B * F / (N * alpha), B / M_Y
    if b**2 < 4 * a * c:
        return []
    root = (b**2 - 4 * a * c) ** 0.5
    return [(b + root) / (2 * a), (b - root) / (2 * a)]


# %% window wrong: the window of Y
def window(B, F, N, alpha, M_X, M_Y):
    a, b, c = F / (N * M_X), B * F / (N * alpha), B / M_Y
    if b**2 < 4 * a * c:
        return []
    root = (b**2 - 4 * a * c) ** 0.5
    return [2 * a * N / (b + root), 2 * a * N / (b - root)]


# %% window wrong: the overlapped threshold
def window(B, F, N, alpha, M_X, M_Y):
    a, b, c = F / (N * M_X), B * F / (N * alpha), B / M_Y
    if B < alpha**2 * N / (F * M_X * M_Y):
        return []
    root = max(b**2 - 4 * a * c, 0) ** 0.5
    return [(b - root) / (2 * a), (b + root) / (2 * a)]


# %% window wrong: M_X and M_Y exchanged
def window(B, F, N, alpha, M_X, M_Y):
    a, b, c = F / (N * M_Y), B * F / (N * alpha), B / M_X
    if b**2 < 4 * a * c:
        return []
    root = (b**2 - 4 * a * c) ** 0.5
    return [(b - root) / (2 * a), (b + root) / (2 * a)]


# %% window wrong: no more than N
def window(B, F, N, alpha, M_X, M_Y):
    a, b, c = F / (N * M_X), B * F / (N * alpha), B / M_Y
    if b**2 < 4 * a * c:
        return []
    root = (b**2 - 4 * a * c) ** 0.5
    return [(b - root) / (2 * a), min((b + root) / (2 * a), float(N))]


# %% window right: the best X, and a factor to both sides of it
def window(B, F, N, alpha, M_X, M_Y):
    best = (B * M_X * N / (F * M_Y)) ** 0.5
    half = B * M_X / (2 * alpha) / best
    if half < 1:
        return []
    factor = half + (half**2 - 1) ** 0.5
    return [best / factor, best * factor]


# %% window right: NumPy's roots
def window(B, F, N, alpha, M_X, M_Y):
    roots = np.roots([F / (N * M_X), -B * F / (N * alpha), B / M_Y])
    return [] if np.iscomplex(roots).any() else sorted(map(float, roots))


# %% window equivalent: line 5: `b ** 2 < 4 * a * c` with LtE
# At the border the window is a single X, with or without it.

# %% closes wrong: overlapped
closes = alpha**2 * N / (F * M_X * M_Y)

# %% closes wrong: tokens on each chip
closes = 4 * alpha**2 / (F * M_X * M_Y)

# %% closes wrong: the sum is twice as long
closes = 2 * alpha**2 * N / (F * M_X * M_Y)

# %% closes wrong: axes added
closes = 4 * alpha**2 * N / (F * (M_X + M_Y))

# %% closes wrong: three axes of which one is left out
closes = 4 * alpha**2 * N / (F * M_X)

# %% closes right: solved
discriminant = (B * F / (N * alpha)) ** 2 - 4 * F * B / (N * M_X * M_Y)
[closes] = [root for root in sympy.solve(discriminant, B) if root != 0]

# %% closes right: as text, N times the tokens of a chip
closes = "N*(2*alpha)**2/(M_X*M_Y)/F"
