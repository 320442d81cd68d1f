# Answers that the checks of exercise set 9 must reject or accept.
#
# A cell is titled with the answer cell's grade_id, then `wrong: ` with the
# mistake or `right: ` with what is different. Run by tests/exercises.

# %% forward wrong: gathered along D, as in the chapter
def gated_forward(In, W_in, W_gate, W_out):
    In = all_gather(In, "Y", axis=1, tiled=True)
    Up = In @ all_gather(W_in, "X", axis=0, tiled=True)
    Gate = In @ all_gather(W_gate, "X", axis=0, tiled=True)
    Out = (Up * Gate) @ all_gather(W_out, "X", axis=1, tiled=True)
    return psum_scatter(Out, "Y", scatter_dimension=1, tiled=True)


# %% forward wrong: an AllReduce and a slice where a ReduceScatter was asked
def gated_forward(In, W_in, W_gate, W_out):
    In = all_gather(In, "Y", axis=0, tiled=True)
    Up = In @ all_gather(W_in, "X", axis=1, tiled=True)
    Gate = In @ all_gather(W_gate, "X", axis=1, tiled=True)
    Out = (Up * Gate) @ all_gather(W_out, "X", axis=0, tiled=True)
    Out = jax.lax.psum(Out, "Y")
    part = Out.shape[0] // jax.lax.axis_size("Y")
    mine = jax.lax.axis_index("Y") * part
    return jax.lax.dynamic_slice_in_dim(Out, mine, part, 0)


# %% forward wrong: a slice of a sum that is not finished
def gated_forward(In, W_in, W_gate, W_out):
    In = all_gather(In, "Y", axis=0, tiled=True)
    Up = In @ all_gather(W_in, "X", axis=1, tiled=True)
    Gate = In @ all_gather(W_gate, "X", axis=1, tiled=True)
    Out = (Up * Gate) @ all_gather(W_out, "X", axis=0, tiled=True)
    part = Out.shape[0] // jax.lax.axis_size("Y")
    mine = jax.lax.axis_index("Y") * part
    return jax.lax.dynamic_slice_in_dim(Out, mine, part, 0)


# %% forward wrong: weights gathered over both axes, as in FSDP alone
def gated_forward(In, W_in, W_gate, W_out):
    W_in = all_gather(W_in, ("Y", "X"), axis=1, tiled=True)
    W_gate = all_gather(W_gate, ("Y", "X"), axis=1, tiled=True)
    W_out = all_gather(W_out, ("Y", "X"), axis=0, tiled=True)
    return ((In @ W_in) * (In @ W_gate)) @ W_out


# %% forward wrong: In gathered for each product
def gated_forward(In, W_in, W_gate, W_out):
    Up = all_gather(In, "Y", axis=0, tiled=True)
    Up = Up @ all_gather(W_in, "X", axis=1, tiled=True)
    Gate = all_gather(In + 0, "Y", axis=0, tiled=True)
    Gate = Gate @ all_gather(W_gate, "X", axis=1, tiled=True)
    Out = (Up * Gate) @ all_gather(W_out, "X", axis=0, tiled=True)
    return psum_scatter(Out, "Y", scatter_dimension=0, tiled=True)


# %% forward wrong: the mean over Y
def gated_forward(In, W_in, W_gate, W_out):
    In = all_gather(In, "Y", axis=0, tiled=True)
    Up = In @ all_gather(W_in, "X", axis=1, tiled=True)
    Gate = In @ all_gather(W_gate, "X", axis=1, tiled=True)
    Out = (Up * Gate) @ all_gather(W_out, "X", axis=0, tiled=True)
    Out = psum_scatter(Out, "Y", scatter_dimension=0, tiled=True)
    return Out / jax.lax.axis_size("Y")


# %% forward wrong: the gate is added
def gated_forward(In, W_in, W_gate, W_out):
    In = all_gather(In, "Y", axis=0, tiled=True)
    Up = In @ all_gather(W_in, "X", axis=1, tiled=True)
    Gate = In @ all_gather(W_gate, "X", axis=1, tiled=True)
    Out = (Up + Gate) @ all_gather(W_out, "X", axis=0, tiled=True)
    return psum_scatter(Out, "Y", scatter_dimension=0, tiled=True)


# %% forward wrong: without the gate
def gated_forward(In, W_in, W_gate, W_out):
    In = all_gather(In, "Y", axis=0, tiled=True)
    Up = In @ all_gather(W_in, "X", axis=1, tiled=True)
    Out = Up @ all_gather(W_out, "X", axis=0, tiled=True)
    return psum_scatter(Out, "Y", scatter_dimension=0, tiled=True)


# %% forward wrong: weights gathered over Y, tokens over X
def gated_forward(In, W_in, W_gate, W_out):
    In = all_gather(In, "X", axis=0, tiled=True)
    Up = In @ all_gather(W_in, "Y", axis=1, tiled=True)
    Gate = In @ all_gather(W_gate, "Y", axis=1, tiled=True)
    Out = (Up * Gate) @ all_gather(W_out, "Y", axis=0, tiled=True)
    return psum_scatter(Out, "X", scatter_dimension=0, tiled=True)


# %% forward wrong: an AllReduce in two halves, and a slice
def gated_forward(In, W_in, W_gate, W_out):
    In = all_gather(In, "Y", axis=0, tiled=True)
    Up = In @ all_gather(W_in, "X", axis=1, tiled=True)
    Gate = In @ all_gather(W_gate, "X", axis=1, tiled=True)
    Out = (Up * Gate) @ all_gather(W_out, "X", axis=0, tiled=True)
    Out = psum_scatter(Out, "Y", scatter_dimension=0, tiled=True)
    Out = all_gather(Out, "Y", axis=0, tiled=True)
    part = Out.shape[0] // jax.lax.axis_size("Y")
    mine = jax.lax.axis_index("Y") * part
    return jax.lax.dynamic_slice_in_dim(Out, mine, part, 0)


# %% forward wrong: rounded to bf16 before it moves
def gated_forward(In, W_in, W_gate, W_out):
    half = "bfloat16"
    In = all_gather(In.astype(half), "Y", axis=0, tiled=True)
    Up = In @ all_gather(W_in.astype(half), "X", axis=1, tiled=True)
    Gate = In @ all_gather(W_gate.astype(half), "X", axis=1, tiled=True)
    W_out = all_gather(W_out.astype(half), "X", axis=0, tiled=True)
    Out = psum_scatter(
        (Up * Gate) @ W_out, "Y", scatter_dimension=0, tiled=True
    )
    return Out.astype("float32")


# %% forward right: weights first
def gated_forward(In, W_in, W_gate, W_out):
    W_in = all_gather(W_in, "X", axis=1, tiled=True)
    W_gate = all_gather(W_gate, "X", axis=1, tiled=True)
    W_out = all_gather(W_out, "X", axis=0, tiled=True)
    In = all_gather(In, "Y", axis=0, tiled=True)
    Out = ((In @ W_in) * (In @ W_gate)) @ W_out
    return psum_scatter(Out, "Y", scatter_dimension=0, tiled=True)


# %% forward right: all weights in one gather
def gated_forward(In, W_in, W_gate, W_out):
    both = jax.numpy.stack([W_in, W_gate, W_out.T])
    W_in, W_gate, back = all_gather(both, "X", axis=2, tiled=True)
    In = all_gather(In, "Y", axis=0, tiled=True)
    Out = ((In @ W_in) * (In @ W_gate)) @ back.T
    return psum_scatter(Out, "Y", scatter_dimension=0, tiled=True)


# %% forward right: gathered in blocks that are put together by hand
def gated_forward(In, W_in, W_gate, W_out):
    In = all_gather(In, "Y").reshape(-1, In.shape[1])
    pieces = all_gather(W_in, "X"), all_gather(W_gate, "X")
    Up, Gate = (
        jax.numpy.concatenate([In @ part for part in piece], axis=1)
        for piece in pieces
    )
    W_out = all_gather(W_out, "X").reshape(-1, W_out.shape[1])
    Out = jax.numpy.einsum("bf,bf,fd->bd", Up, Gate, W_out)
    return psum_scatter(Out, "Y", scatter_dimension=0, tiled=True)


# %% backward wrong: both terms of dIn scattered
def gated_backward(dOut, In, Up, Gate, W_in, W_gate, W_out):
    dOut = all_gather(dOut, "Y", axis=0, tiled=True)
    dW_out = (Up * Gate).T @ dOut
    dW_out = psum_scatter(dW_out, "X", scatter_dimension=0, tiled=True)
    dTmp = dOut @ all_gather(W_out, "X", axis=0, tiled=True).T
    dUp, dGate = dTmp * Gate, dTmp * Up
    dW_in = psum_scatter(In.T @ dUp, "X", scatter_dimension=1, tiled=True)
    dW_gate = psum_scatter(In.T @ dGate, "X", scatter_dimension=1, tiled=True)
    up = dUp @ all_gather(W_in, "X", axis=1, tiled=True).T
    gate = dGate @ all_gather(W_gate, "X", axis=1, tiled=True).T
    up = psum_scatter(up, "Y", scatter_dimension=0, tiled=True)
    gate = psum_scatter(gate, "Y", scatter_dimension=0, tiled=True)
    return up + gate, dW_in, dW_gate, dW_out


# %% backward wrong: gradients of the factors exchanged
def gated_backward(dOut, In, Up, Gate, W_in, W_gate, W_out):
    dOut = all_gather(dOut, "Y", axis=0, tiled=True)
    dW_out = (Up * Gate).T @ dOut
    dW_out = psum_scatter(dW_out, "X", scatter_dimension=0, tiled=True)
    dTmp = dOut @ all_gather(W_out, "X", axis=0, tiled=True).T
    dUp, dGate = dTmp * Up, dTmp * Gate
    dW_in = psum_scatter(In.T @ dUp, "X", scatter_dimension=1, tiled=True)
    dW_gate = psum_scatter(In.T @ dGate, "X", scatter_dimension=1, tiled=True)
    dIn = dUp @ all_gather(W_in, "X", axis=1, tiled=True).T
    dIn += dGate @ all_gather(W_gate, "X", axis=1, tiled=True).T
    dIn = psum_scatter(dIn, "Y", scatter_dimension=0, tiled=True)
    return dIn, dW_in, dW_gate, dW_out


# %% backward wrong: the gate has no gradient of its own
def gated_backward(dOut, In, Up, Gate, W_in, W_gate, W_out):
    dOut = all_gather(dOut, "Y", axis=0, tiled=True)
    dW_out = (Up * Gate).T @ dOut
    dW_out = psum_scatter(dW_out, "X", scatter_dimension=0, tiled=True)
    dTmp = dOut @ all_gather(W_out, "X", axis=0, tiled=True).T
    dUp, dGate = dTmp, dTmp
    dW_in = psum_scatter(In.T @ dUp, "X", scatter_dimension=1, tiled=True)
    dW_gate = psum_scatter(In.T @ dGate, "X", scatter_dimension=1, tiled=True)
    dIn = dUp @ all_gather(W_in, "X", axis=1, tiled=True).T
    dIn += dGate @ all_gather(W_gate, "X", axis=1, tiled=True).T
    dIn = psum_scatter(dIn, "Y", scatter_dimension=0, tiled=True)
    return dIn, dW_in, dW_gate, dW_out


# %% backward wrong: the gate is left out of dW_out
def gated_backward(dOut, In, Up, Gate, W_in, W_gate, W_out):
    dOut = all_gather(dOut, "Y", axis=0, tiled=True)
    dW_out = Up.T @ dOut
    dW_out = psum_scatter(dW_out, "X", scatter_dimension=0, tiled=True)
    dTmp = dOut @ all_gather(W_out, "X", axis=0, tiled=True).T
    dUp, dGate = dTmp * Gate, dTmp * Up
    dW_in = psum_scatter(In.T @ dUp, "X", scatter_dimension=1, tiled=True)
    dW_gate = psum_scatter(In.T @ dGate, "X", scatter_dimension=1, tiled=True)
    dIn = dUp @ all_gather(W_in, "X", axis=1, tiled=True).T
    dIn += dGate @ all_gather(W_gate, "X", axis=1, tiled=True).T
    dIn = psum_scatter(dIn, "Y", scatter_dimension=0, tiled=True)
    return dIn, dW_in, dW_gate, dW_out


# %% backward wrong: gradients AllReduced, as in data parallelism
def gated_backward(dOut, In, Up, Gate, W_in, W_gate, W_out):
    dOut = all_gather(dOut, "Y", axis=0, tiled=True)
    dW_out = (Up * Gate).T @ dOut
    part = dW_out.shape[0] // jax.lax.axis_size("X")
    mine = jax.lax.axis_index("X") * part
    cut = jax.lax.dynamic_slice_in_dim
    dW_out = cut(jax.lax.psum(dW_out, "X"), mine, part, 0)
    dTmp = dOut @ all_gather(W_out, "X", axis=0, tiled=True).T
    dUp, dGate = dTmp * Gate, dTmp * Up
    dW_in = cut(jax.lax.psum(In.T @ dUp, "X"), mine, part, 1)
    dW_gate = cut(jax.lax.psum(In.T @ dGate, "X"), mine, part, 1)
    dIn = dUp @ all_gather(W_in, "X", axis=1, tiled=True).T
    dIn += dGate @ all_gather(W_gate, "X", axis=1, tiled=True).T
    dIn = psum_scatter(dIn, "Y", scatter_dimension=0, tiled=True)
    return dIn, dW_in, dW_gate, dW_out


# %% backward wrong: gradients of the chip's own tokens, cut and not summed
def gated_backward(dOut, In, Up, Gate, W_in, W_gate, W_out):
    dOut = all_gather(dOut, "Y", axis=0, tiled=True)
    dW_out = (Up * Gate).T @ dOut
    part = dW_out.shape[0] // jax.lax.axis_size("X")
    mine = jax.lax.axis_index("X") * part
    cut = jax.lax.dynamic_slice_in_dim
    dW_out = cut(dW_out, mine, part, 0)
    dTmp = dOut @ all_gather(W_out, "X", axis=0, tiled=True).T
    dUp, dGate = dTmp * Gate, dTmp * Up
    dW_in = cut(In.T @ dUp, mine, part, 1)
    dW_gate = cut(In.T @ dGate, mine, part, 1)
    dIn = dUp @ all_gather(W_in, "X", axis=1, tiled=True).T
    dIn += dGate @ all_gather(W_gate, "X", axis=1, tiled=True).T
    dIn = psum_scatter(dIn, "Y", scatter_dimension=0, tiled=True)
    return dIn, dW_in, dW_gate, dW_out


# %% backward wrong: dOut gathered for each product
def gated_backward(dOut, In, Up, Gate, W_in, W_gate, W_out):
    dOut = all_gather(dOut, "Y", axis=0, tiled=True)
    dW_out = (Up * Gate).T @ dOut
    dW_out = psum_scatter(dW_out, "X", scatter_dimension=0, tiled=True)
    again = jax.lax.dynamic_slice_in_dim(
        dOut,
        jax.lax.axis_index("Y") * (len(dOut) // jax.lax.axis_size("Y")),
        len(dOut) // jax.lax.axis_size("Y"),
        0,
    )
    dOut = all_gather(again, "Y", axis=0, tiled=True)
    dTmp = dOut @ all_gather(W_out, "X", axis=0, tiled=True).T
    dUp, dGate = dTmp * Gate, dTmp * Up
    dW_in = psum_scatter(In.T @ dUp, "X", scatter_dimension=1, tiled=True)
    dW_gate = psum_scatter(In.T @ dGate, "X", scatter_dimension=1, tiled=True)
    dIn = dUp @ all_gather(W_in, "X", axis=1, tiled=True).T
    dIn += dGate @ all_gather(W_gate, "X", axis=1, tiled=True).T
    dIn = psum_scatter(dIn, "Y", scatter_dimension=0, tiled=True)
    return dIn, dW_in, dW_gate, dW_out


# %% backward wrong: the mean over the batch's chips
def gated_backward(dOut, In, Up, Gate, W_in, W_gate, W_out):
    dOut = all_gather(dOut, "Y", axis=0, tiled=True)
    dW_out = (Up * Gate).T @ dOut / jax.lax.axis_size("X")
    dW_out = psum_scatter(dW_out, "X", scatter_dimension=0, tiled=True)
    dTmp = dOut @ all_gather(W_out, "X", axis=0, tiled=True).T
    dUp, dGate = dTmp * Gate, dTmp * Up
    dW_in = psum_scatter(
        In.T @ dUp / jax.lax.axis_size("X"),
        "X",
        scatter_dimension=1,
        tiled=True,
    )
    dW_gate = psum_scatter(
        In.T @ dGate / jax.lax.axis_size("X"),
        "X",
        scatter_dimension=1,
        tiled=True,
    )
    dIn = dUp @ all_gather(W_in, "X", axis=1, tiled=True).T
    dIn += dGate @ all_gather(W_gate, "X", axis=1, tiled=True).T
    dIn = psum_scatter(dIn, "Y", scatter_dimension=0, tiled=True)
    return dIn, dW_in, dW_gate, dW_out


# %% backward wrong: Up and Gate made again, though they were kept
def gated_backward(dOut, In, Up, Gate, W_in, W_gate, W_out):
    W_in = all_gather(W_in, "X", axis=1, tiled=True)
    W_gate = all_gather(W_gate, "X", axis=1, tiled=True)
    Up, Gate = In @ W_in, In @ W_gate
    dOut = all_gather(dOut, "Y", axis=0, tiled=True)
    dW_out = (Up * Gate).T @ dOut
    dW_out = psum_scatter(dW_out, "X", scatter_dimension=0, tiled=True)
    dTmp = dOut @ all_gather(W_out, "X", axis=0, tiled=True).T
    dUp, dGate = dTmp * Gate, dTmp * Up
    dW_in = psum_scatter(In.T @ dUp, "X", scatter_dimension=1, tiled=True)
    dW_gate = psum_scatter(In.T @ dGate, "X", scatter_dimension=1, tiled=True)
    dIn = dUp @ W_in.T + dGate @ W_gate.T
    dIn = psum_scatter(dIn, "Y", scatter_dimension=0, tiled=True)
    return dIn, dW_in, dW_gate, dW_out


# %% backward wrong: dIn is a slice of an unfinished sum
def gated_backward(dOut, In, Up, Gate, W_in, W_gate, W_out):
    dOut = all_gather(dOut, "Y", axis=0, tiled=True)
    dW_out = (Up * Gate).T @ dOut
    dW_out = psum_scatter(dW_out, "X", scatter_dimension=0, tiled=True)
    dTmp = dOut @ all_gather(W_out, "X", axis=0, tiled=True).T
    dUp, dGate = dTmp * Gate, dTmp * Up
    dW_in = psum_scatter(In.T @ dUp, "X", scatter_dimension=1, tiled=True)
    dW_gate = psum_scatter(In.T @ dGate, "X", scatter_dimension=1, tiled=True)
    dIn = dUp @ all_gather(W_in, "X", axis=1, tiled=True).T
    dIn += dGate @ all_gather(W_gate, "X", axis=1, tiled=True).T
    part = len(dIn) // jax.lax.axis_size("Y")
    mine = jax.lax.axis_index("Y") * part
    dIn = jax.lax.dynamic_slice_in_dim(dIn, mine, part, 0)
    return dIn, dW_in, dW_gate, dW_out


# %% backward wrong: gradients of two weights exchanged
def gated_backward(dOut, In, Up, Gate, W_in, W_gate, W_out):
    dOut = all_gather(dOut, "Y", axis=0, tiled=True)
    dW_out = (Up * Gate).T @ dOut
    dW_out = psum_scatter(dW_out, "X", scatter_dimension=0, tiled=True)
    dTmp = dOut @ all_gather(W_out, "X", axis=0, tiled=True).T
    dUp, dGate = dTmp * Gate, dTmp * Up
    dW_in = psum_scatter(In.T @ dUp, "X", scatter_dimension=1, tiled=True)
    dW_gate = psum_scatter(In.T @ dGate, "X", scatter_dimension=1, tiled=True)
    dIn = dUp @ all_gather(W_in, "X", axis=1, tiled=True).T
    dIn += dGate @ all_gather(W_gate, "X", axis=1, tiled=True).T
    dIn = psum_scatter(dIn, "Y", scatter_dimension=0, tiled=True)
    return dIn, dW_gate, dW_in, dW_out


# %% backward right: weights first, gradients of weights last
def gated_backward(dOut, In, Up, Gate, W_in, W_gate, W_out):
    W_in, W_gate = (
        all_gather(W, "X", axis=1, tiled=True) for W in (W_in, W_gate)
    )
    W_out = all_gather(W_out, "X", axis=0, tiled=True)
    dOut = all_gather(dOut, "Y", axis=0, tiled=True)
    dTmp = dOut @ W_out.T
    dUp, dGate = dTmp * Gate, dTmp * Up
    dIn = dUp @ W_in.T + dGate @ W_gate.T
    dIn = psum_scatter(dIn, "Y", scatter_dimension=0, tiled=True)
    dW_in, dW_gate = (
        psum_scatter(In.T @ x, "X", scatter_dimension=1, tiled=True)
        for x in (dUp, dGate)
    )
    dW_out = (Up * Gate).T @ dOut
    dW_out = psum_scatter(dW_out, "X", scatter_dimension=0, tiled=True)
    return dIn, dW_in, dW_gate, dW_out


# %% backward right: one gather and one scatter for all weights, in a list
def gated_backward(dOut, In, Up, Gate, W_in, W_gate, W_out):
    stack = jax.numpy.stack
    dOut = all_gather(dOut, "Y", axis=0, tiled=True)
    all_three = stack([W_in, W_gate, W_out.T])
    W_in, W_gate, back = all_gather(all_three, "X", axis=2, tiled=True)
    dTmp = dOut @ back
    dUp, dGate = dTmp * Gate, dTmp * Up
    both = jax.numpy.concatenate([dUp, dGate], axis=1)
    beside = jax.numpy.concatenate([W_in, W_gate], axis=1)
    dIn = psum_scatter(both @ beside.T, "Y", scatter_dimension=0, tiled=True)
    sums = stack([In.T @ dUp, In.T @ dGate, dOut.T @ (Up * Gate)])
    dW_in, dW_gate, back = psum_scatter(
        sums, "X", scatter_dimension=2, tiled=True
    )
    return [dIn, dW_in, dW_gate, back.T]


# %% backward right: JAX differentiates what is local
def gated_backward(dOut, In, Up, Gate, W_in, W_gate, W_out):
    dOut = all_gather(dOut, "Y", axis=0, tiled=True)

    def last(Up, Gate, W_out):
        return (Up * Gate) @ all_gather(W_out, "X", axis=0, tiled=True)

    _, back = jax.vjp(last, Up, Gate, W_out)
    dUp, dGate, dW_out = back(dOut)
    dIn = jax.numpy.concatenate([dUp, dGate], axis=1)
    both = [all_gather(W, "X", axis=1, tiled=True) for W in (W_in, W_gate)]
    dIn = dIn @ jax.numpy.concatenate(both, axis=1).T
    dIn = psum_scatter(dIn, "Y", scatter_dimension=0, tiled=True)
    dW_in = psum_scatter(In.T @ dUp, "X", scatter_dimension=1, tiled=True)
    dW_gate = psum_scatter(In.T @ dGate, "X", scatter_dimension=1, tiled=True)
    return dIn, dW_in, dW_gate, dW_out


# %% bytes wrong: activations twice as much in backward
def mixed_bytes(B, D, F, X, Y, matrices, In_kept, W_kept, gradient):
    w, t = matrices * D * F // Y, 2 * B * D // X
    back = (0 if W_kept else 2 * w) + gradient * w
    return [2 * w, 2 * t, back, 4 * t]


# %% bytes wrong: In is never kept
def mixed_bytes(B, D, F, X, Y, matrices, In_kept, W_kept, gradient):
    w, t = matrices * D * F // Y, 2 * B * D // X
    back = (0 if W_kept else 2 * w) + gradient * w
    return [2 * w, 2 * t, back, 3 * t]


# %% bytes wrong: weights are always gathered again
def mixed_bytes(B, D, F, X, Y, matrices, In_kept, W_kept, gradient):
    w, t = matrices * D * F // Y, 2 * B * D // X
    back = 2 * w + gradient * w
    return [2 * w, 2 * t, back, (2 if In_kept else 3) * t]


# %% bytes wrong: weights are never gathered again
def mixed_bytes(B, D, F, X, Y, matrices, In_kept, W_kept, gradient):
    w, t = matrices * D * F // Y, 2 * B * D // X
    back = gradient * w
    return [2 * w, 2 * t, back, (2 if In_kept else 3) * t]


# %% bytes wrong: gradients in bf16
def mixed_bytes(B, D, F, X, Y, matrices, In_kept, W_kept, gradient):
    w, t = matrices * D * F // Y, 2 * B * D // X
    back = (0 if W_kept else 2 * w) + 2 * w
    return [2 * w, 2 * t, back, (2 if In_kept else 3) * t]


# %% bytes wrong: weights in the width of their gradients
def mixed_bytes(B, D, F, X, Y, matrices, In_kept, W_kept, gradient):
    w, t = matrices * D * F // Y, 2 * B * D // X
    back = (0 if W_kept else gradient * w) + gradient * w
    return [2 * w, 2 * t, back, (2 if In_kept else 3) * t]


# %% bytes wrong: two matrices
def mixed_bytes(B, D, F, X, Y, matrices, In_kept, W_kept, gradient):
    w, t = 2 * D * F // Y, 2 * B * D // X
    back = (0 if W_kept else 2 * w) + gradient * w
    return [2 * w, 2 * t, back, (2 if In_kept else 3) * t]


# %% bytes wrong: each axis cuts its own
def mixed_bytes(B, D, F, X, Y, matrices, In_kept, W_kept, gradient):
    w, t = matrices * D * F // X, 2 * B * D // Y
    back = (0 if W_kept else 2 * w) + gradient * w
    return [2 * w, 2 * t, back, (2 if In_kept else 3) * t]


# %% bytes wrong: X and Y exchanged
def mixed_bytes(B, D, F, X, Y, matrices, In_kept, W_kept, gradient):
    w, t = matrices * D * F // Y, 2 * B * D // X
    back = (0 if W_kept else 2 * w) + gradient * w
    return [2 * t, 2 * w, (2 if In_kept else 3) * t, back]


# %% bytes wrong: axis by axis
def mixed_bytes(B, D, F, X, Y, matrices, In_kept, W_kept, gradient):
    w, t = matrices * D * F // Y, 2 * B * D // X
    back = (0 if W_kept else 2 * w) + gradient * w
    return [2 * w, back, 2 * t, (2 if In_kept else 3) * t]


# %% bytes wrong: kept and not kept exchanged
def mixed_bytes(B, D, F, X, Y, matrices, In_kept, W_kept, gradient):
    w, t = matrices * D * F // Y, 2 * B * D // X
    back = (0 if W_kept else 2 * w) + gradient * w
    return [2 * w, 2 * t, back, (3 if In_kept else 2) * t]


# %% bytes wrong: elements
def mixed_bytes(B, D, F, X, Y, matrices, In_kept, W_kept, gradient):
    w, t = matrices * D * F // Y // 2, B * D // X
    back = (0 if W_kept else 2 * w) + gradient * w
    return [2 * w, 2 * t, back, (2 if In_kept else 3) * t]


# %% bytes wrong: In is gathered for each product
def mixed_bytes(B, D, F, X, Y, matrices, In_kept, W_kept, gradient):
    w, t = matrices * D * F // Y, 2 * B * D // X
    back = (0 if W_kept else 2 * w) + gradient * w
    return [2 * w, matrices * t, back, (2 if In_kept else 3) * t]


# %% bytes wrong: what leaves a chip in a ring
def mixed_bytes(B, D, F, X, Y, matrices, In_kept, W_kept, gradient):
    w = matrices * D * F // Y * (X - 1) // X
    t = 2 * B * D // X * (Y - 1) // Y
    back = (0 if W_kept else 2 * w) + gradient * w
    return [2 * w, 2 * t, back, (2 if In_kept else 3) * t]


# %% bytes wrong: one array over Y in backward
def mixed_bytes(B, D, F, X, Y, matrices, In_kept, W_kept, gradient):
    weights, tokens = matrices * D * F // Y, 2 * B * D // X
    gathered = 0 if W_kept else 2 * weights
    back = (1 if In_kept else 2) * tokens
    return [2 * weights, 2 * tokens, gathered + gradient * weights, back]


# %% bytes wrong: activations as wide as gradients of weights
def mixed_bytes(B, D, F, X, Y, matrices, In_kept, W_kept, gradient):
    weights, tokens = matrices * D * F // Y, B * D // X
    gathered = 0 if W_kept else 2 * weights
    back = (2 if In_kept else 3) * tokens * gradient
    return [2 * weights, 4 * tokens, gathered + gradient * weights, back]


# %% bytes wrong: the table of the plain block in bf16
def mixed_bytes(B, D, F, X, Y, matrices, In_kept, W_kept, gradient):
    over_X, over_Y = D * F // Y, B * D // X
    back = 4 if W_kept else 8
    return [
        4 * over_X,
        4 * over_Y,
        back * over_X,
        (4 if In_kept else 6) * over_Y,
    ]


# %% bytes right: closed forms
def mixed_bytes(B, D, F, X, Y, matrices, In_kept, W_kept, gradient):
    back = matrices * D * F // Y * (gradient + 2 - 2 * W_kept)
    tokens = (6 - 2 * In_kept) * B * D // X
    return [2 * matrices * D * F // Y, 4 * B * D // X, back, tokens]


# %% bytes right: line by line
def mixed_bytes(B, D, F, X, Y, matrices, In_kept, W_kept, gradient):
    sizes = {"w": D * (F // Y) * 2, "g": D * (F // Y) * gradient}
    sizes["t"] = (B // X) * D * 2
    forward = ["w"] * matrices + ["t", "t"]
    backward = ["t", "t"] + ["g"] * matrices
    backward += [] if In_kept else ["t"]
    backward += [] if W_kept else ["w"] * matrices
    return [
        sum(sizes[kind] for kind in part if (kind == "t") == (axis == "Y"))
        for part in (forward, backward)
        for axis in "XY"
    ]


# %% best wrong: the forward pass alone, as in the chapter
best_X = sympy.sqrt(B * N * W_X / (F * W_Y))

# %% best wrong: gradients in bf16
best_X = sympy.sqrt(10 * B * N * W_X / (12 * F * W_Y))

# %% best wrong: In is kept
best_X = sympy.sqrt(8 * B * N * W_X / (16 * F * W_Y))

# %% best wrong: bf16, and In is kept
best_X = sympy.sqrt(8 * B * N * W_X / (12 * F * W_Y))

# %% best wrong: weights in float32 too
best_X = sympy.sqrt(10 * B * N * W_X / (24 * F * W_Y))

# %% best wrong: W_X and W_Y exchanged
best_X = sympy.sqrt(5 * B * N * W_Y / (8 * F * W_X))

# %% best wrong: the best Y
best_X = sympy.sqrt(8 * F * N * W_Y / (5 * B * W_X))

# %% best wrong: no square root
best_X = 5 * B * N * W_X / (8 * F * W_Y)

# %% best wrong: without bandwidths
best_X = sympy.sqrt(5 * B * N / (8 * F))

# %% best wrong: rounded
best_X = "floor(sqrt(5*B*N*W_X/(8*F*W_Y)) + 1/2)"

# %% best wrong: what moves over X and over Y exchanged
best_X = sympy.sqrt(8 * B * N * W_X / (5 * F * W_Y))


# %% best wrong: fewer of X with more chips
best_X = sympy.sqrt(5 * B * W_X / (8 * F * N * W_Y))


# %% best right: from the derivative of the sum
added = 16 * F * X / (N * W_X) + 10 * B / (X * W_Y)
[best_X] = sympy.solve(sympy.diff(added, X), X)

# %% best right: with a root that Python rounds
best_X = 0.625**0.5 * sympy.sqrt(B * N * W_X / (F * W_Y))


# %% best right: as text, factor by factor
best_X = "(B/F)**(1/2)*(W_X/W_Y)**(1/2)*(5*N/8)**(1/2)"


# %% tokens wrong: the threshold of the best Y
def tokens_needed(F, Y, alpha_X, alpha_Y, overlap):
    tokens = alpha_X * alpha_Y / F
    return tokens if overlap else 4 * tokens


# %% tokens wrong: a batch is always enough
def tokens_needed(F, Y, alpha_X, alpha_Y, overlap):
    tokens = alpha_X / Y
    return tokens if overlap else abs(tokens * F / (F - Y * alpha_Y))


# %% tokens wrong: overlapped, always
def tokens_needed(F, Y, alpha_X, alpha_Y, overlap):
    return alpha_X / Y if Y * alpha_Y <= F else np.inf


# %% tokens wrong: added, always
def tokens_needed(F, Y, alpha_X, alpha_Y, overlap):
    left = F - Y * alpha_Y
    return alpha_X / Y * F / left if left > 0 else np.inf


# %% tokens wrong: X has all chips
def tokens_needed(F, Y, alpha_X, alpha_Y, overlap):
    left = F - Y * alpha_Y
    if left <= 0:
        return np.inf
    return alpha_X if overlap else alpha_X * F / left


# %% tokens wrong: four times the tokens
def tokens_needed(F, Y, alpha_X, alpha_Y, overlap):
    if F <= Y * alpha_Y:
        return np.inf
    return alpha_X / Y * (1 if overlap else 4)


# %% tokens wrong: alphas exchanged
def tokens_needed(F, Y, alpha_X, alpha_Y, overlap):
    left = F - Y * alpha_X
    if left <= 0:
        return np.inf
    return alpha_Y / Y if overlap else alpha_Y / Y * F / left


# %% tokens wrong: half of the arithmetic for each, if added
def tokens_needed(F, Y, alpha_X, alpha_Y, overlap):
    if F <= 2 * Y * alpha_Y and not overlap or F <= Y * alpha_Y:
        return np.inf
    return alpha_X / Y * (1 if overlap else 2)


# %% tokens wrong: minus one where no batch is enough
def tokens_needed(F, Y, alpha_X, alpha_Y, overlap):
    left = F - Y * alpha_Y
    if left <= 0:
        return -1
    return alpha_X / Y * (1 if overlap else F / left)


# %% tokens wrong: equally long is too long, overlapped
def tokens_needed(F, Y, alpha_X, alpha_Y, overlap):
    if Y * alpha_Y >= F:
        return np.inf
    tokens = alpha_X / Y
    return tokens if overlap else tokens * F / (F - Y * alpha_Y)


# %% tokens wrong: a batch is enough that arithmetic and TP leave nothing of
def tokens_needed(F, Y, alpha_X, alpha_Y, overlap):
    if Y * alpha_Y > F:
        return np.inf
    tokens = alpha_X / Y
    return tokens if overlap else tokens * F / max(F - Y * alpha_Y, 1e-9)


# %% tokens wrong: rounded up to whole tokens
def tokens_needed(F, Y, alpha_X, alpha_Y, overlap):
    if Y * alpha_Y > F or (Y * alpha_Y == F and not overlap):
        return np.inf
    tokens = alpha_X / Y
    return np.ceil(tokens if overlap else tokens * F / (F - Y * alpha_Y))


# %% tokens right: shares of the arithmetic
def tokens_needed(F, Y, alpha_X, alpha_Y, overlap):
    share = Y * alpha_Y / F  # that activations take
    tokens = alpha_X / Y
    if share > 1 or (share == 1 and not overlap):
        return np.inf
    if not overlap:
        tokens /= 1 - share
    return tokens


# %% tokens right: by bisection
def tokens_needed(F, Y, alpha_X, alpha_Y, overlap):
    def busy(tokens):
        times = F * alpha_X / Y, tokens * Y * alpha_Y
        return (max(times) if overlap else sum(times)) <= tokens * F

    low, high = 1e-6, 1e15
    if not busy(high):
        return np.inf
    for _ in range(200):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if busy(middle) else (middle, high)
    return high


# %% tie wrong: one gather of each
tie = F

# %% tie wrong: the chapter's block
tie = 3 * F / 2

# %% tie wrong: weights gathered once
tie = m * F * (2 + g) / (2 * a)

# %% tie wrong: gradients in bf16
tie = 3 * m * F / a

# %% tie wrong: weights in the width of gradients
tie = 3 * g * m * F / (2 * a)

# %% tie wrong: two matrices
tie = F * (4 + g) / a

# %% tie wrong: elements of activations
tie = m * F * (4 + g) / a

# %% tie wrong: activations move four times
tie = m * F * (4 + g) / 8

# %% tie wrong: upside down
tie = 2 * a / (m * F * (4 + g))

# %% tie wrong: the forward pass of FSDP
tie = m * F / a


# %% tie wrong: g counted twice
tie = m * F * (2 + g) / a


# %% tie right: solved
[tie] = sympy.solve(4 * m * D * F + g * m * D * F - 2 * a * B * D, B)

# %% tie right: as text
tie = "2*m*F/a + g*m*F/(2*a)"


# %% split wrong: sequences ignored
def split(sequences, length, F, heads, N, overlap):
    found, B = [], sequences * length
    for Y in (2**k for k in range(N.bit_length() - 1)):
        X = N // Y
        if heads % Y:
            continue
        terms = F / (2 * Y), B / X
        took = max(terms) if overlap else sum(terms)
        found.append([F / 3 if Y == 1 else took, X, Y])
    return min(found)[1:] if found else []


# %% split wrong: heads ignored
def split(sequences, length, F, heads, N, overlap):
    found, B = [], sequences * length
    for Y in (2**k for k in range(N.bit_length() - 1)):
        X = N // Y
        if X > sequences:
            continue
        terms = F / (2 * Y), B / X
        took = max(terms) if overlap else sum(terms)
        found.append([F / 3 if Y == 1 else took, X, Y])
    return min(found)[1:] if found else []


# %% split wrong: neither heads nor sequences
def split(sequences, length, F, heads, N, overlap):
    found, B = [], sequences * length
    for Y in (2**k for k in range(N.bit_length() - 1)):
        X = N // Y
        terms = F / (2 * Y), B / X
        took = max(terms) if overlap else sum(terms)
        found.append([F / 3 if Y == 1 else took, X, Y])
    return min(found)[1:] if found else []


# %% split wrong: never FSDP alone
def split(sequences, length, F, heads, N, overlap):
    found, B = [], sequences * length
    for Y in (2**k for k in range(1, N.bit_length() - 1)):
        X = N // Y
        if heads % Y or X > sequences:
            continue
        terms = F / (2 * Y), B / X
        took = max(terms) if overlap else sum(terms)
        found.append([F / 3 if Y == 1 else took, X, Y])
    return min(found)[1:] if found else []


# %% split wrong: overlapped, always
def split(sequences, length, F, heads, N, overlap):
    found, B = [], sequences * length
    for Y in (2**k for k in range(N.bit_length() - 1)):
        X = N // Y
        if heads % Y or X > sequences:
            continue
        terms = F / (2 * Y), B / X
        took = max(terms)
        found.append([F / 3 if Y == 1 else took, X, Y])
    return min(found)[1:] if found else []


# %% split wrong: added, always
def split(sequences, length, F, heads, N, overlap):
    found, B = [], sequences * length
    for Y in (2**k for k in range(N.bit_length() - 1)):
        X = N // Y
        if heads % Y or X > sequences:
            continue
        terms = F / (2 * Y), B / X
        took = sum(terms)
        found.append([F / 3 if Y == 1 else took, X, Y])
    return min(found)[1:] if found else []


# %% split wrong: X and Y exchanged
def split(sequences, length, F, heads, N, overlap):
    found, B = [], sequences * length
    for Y in (2**k for k in range(N.bit_length() - 1)):
        X = N // Y
        if heads % Y or X > sequences:
            continue
        terms = F / (2 * Y), B / X
        took = max(terms) if overlap else sum(terms)
        found.append([F / 3 if Y == 1 else took, X, Y])
    return min(found)[:0:-1] if found else []


# %% split wrong: FSDP alone on two axes
def split(sequences, length, F, heads, N, overlap):
    found, B = [], sequences * length
    for Y in (2**k for k in range(N.bit_length() - 1)):
        X = N // Y
        if heads % Y or X > sequences:
            continue
        terms = F / (2 * Y), B / X
        took = max(terms) if overlap else sum(terms)
        found.append([F / 2 if Y == 1 else took, X, Y])
    return min(found)[1:] if found else []


# %% split wrong: activations of FSDP alone
def split(sequences, length, F, heads, N, overlap):
    found, B = [], sequences * length
    for Y in (2**k for k in range(N.bit_length() - 1)):
        X = N // Y
        if heads % Y or X > sequences:
            continue
        terms = F / (2 * Y), B / X
        took = max(terms) if overlap else sum(terms)
        found.append([took * 2 / 3 if Y == 1 else took, X, Y])
    return min(found)[1:] if found else []


# %% split wrong: the power of two next to the best X
def split(sequences, length, F, heads, N, overlap):
    B = sequences * length
    best = (2 * B * N / F) ** 0.5
    X = 2 ** round(np.log2(min(max(best, 2), N)))
    return [int(X), int(N // X)]


# %% split wrong: tokens are dealt out, not sequences
def split(sequences, length, F, heads, N, overlap):
    found, B = [], sequences * length
    for Y in (2**k for k in range(N.bit_length() - 1)):
        X = N // Y
        if heads % Y or X > B:
            continue
        terms = F / (2 * Y), B / X
        took = max(terms) if overlap else sum(terms)
        found.append([F / 3 if Y == 1 else took, X, Y])
    return min(found)[1:] if found else []


# %% split wrong: FSDP alone where no split is allowed
def split(sequences, length, F, heads, N, overlap):
    found, B = [], sequences * length
    for Y in (2**k for k in range(N.bit_length() - 1)):
        X = N // Y
        if heads % Y or X > sequences:
            continue
        terms = F / (2 * Y), B / X
        took = max(terms) if overlap else sum(terms)
        found.append([F / 3 if Y == 1 else took, X, Y])
    return min(found)[1:] if found else [N, 1]


# %% split right: from the smallest X upwards
def split(sequences, length, F, heads, N, overlap):
    found, X = {}, 2
    while X <= N:
        Y = N // X
        both = max if overlap else sum
        pair = [F / 3] if Y == 1 else [F / (2 * Y), sequences * length / X]
        if heads % Y == 0 and X <= sequences:
            found[X] = both(pair)
        X *= 2
    if not found:
        return []
    X = min(found, key=found.get)
    return (X, N // X)


# %% split right: in seconds, sorted
def split(sequences, length, F, heads, N, overlap):
    options = []
    for X in range(2, N + 1):
        Y = N / X
        whole = Y == int(Y) and heads % int(Y) == 0
        if not whole or X > sequences:
            continue
        Y, W = int(Y), 2 * hw.V5P.link_bw
        weights = 4 * F / Y / ((3 if Y == 1 else 2) * W)
        tokens = 0 if Y == 1 else 4 * sequences * length / X / W
        took = max(weights, tokens) if overlap else weights + tokens
        options.append((took, [X, Y]))
    return sorted(options)[0][1] if options else []


# %% split equivalent: line 8: `(F / (2 * Y), sequences * length / X)` is reversed
# Neither the larger of two terms nor their sum depends on their order.


# %% ways wrong: the habit, a node full
def ways(sequences, length, F, nodes, node, port, switch):
    return node if nodes <= sequences else 0


# %% ways wrong: the least that sequences allow
def ways(sequences, length, F, nodes, node, port, switch):
    fits = [Y for Y in range(1, node + 1) if node % Y == 0]
    fits = [Y for Y in fits if nodes * node // Y <= sequences]
    return min(fits) if fits else 0


# %% ways wrong: the root, with one port whatever Y is
def ways(sequences, length, F, nodes, node, port, switch):
    N = nodes * node
    best = N / (sequences * length / (1.5 * F) * port / switch * N) ** 0.5
    fits = [Y for Y in range(1, node + 1) if node % Y == 0]
    fits = [Y for Y in fits if N // Y <= sequences]
    return min(fits, key=lambda Y: abs(np.log(Y / best))) if fits else 0


# %% ways wrong: sequences ignored
def ways(sequences, length, F, nodes, node, port, switch):
    found, B = [], sequences * length
    for Y in range(1, node + 1):
        X = nodes * node // Y
        if node % Y:
            continue
        far, near = 6 * F / (node * port), 6 * F / Y / switch
        over_X = far if Y == node else max(far, near)
        over_Y = 4 * B / X / switch if Y > 1 else 0
        found.append((over_X + over_Y, Y))
    return min(found)[1] if found else 0


# %% ways wrong: one port for each gather
def ways(sequences, length, F, nodes, node, port, switch):
    found, B = [], sequences * length
    for Y in range(1, node + 1):
        X = nodes * node // Y
        if node % Y or X > sequences:
            continue
        far, near = 6 * F / Y / port, 6 * F / Y / switch
        over_X = far if Y == node else max(far, near)
        over_Y = 4 * B / X / switch if Y > 1 else 0
        found.append((over_X + over_Y, Y))
    return min(found)[1] if found else 0


# %% ways wrong: the switch is free
def ways(sequences, length, F, nodes, node, port, switch):
    found, B = [], sequences * length
    for Y in range(1, node + 1):
        X = nodes * node // Y
        if node % Y or X > sequences:
            continue
        far, near = 6 * F / (node * port), 6 * F / Y / switch
        over_X = far if Y == node else far
        over_Y = 4 * B / X / switch if Y > 1 else 0
        found.append((over_X + over_Y, Y))
    return min(found)[1] if found else 0


# %% ways wrong: the network is free
def ways(sequences, length, F, nodes, node, port, switch):
    found, B = [], sequences * length
    for Y in range(1, node + 1):
        X = nodes * node // Y
        if node % Y or X > sequences:
            continue
        far, near = 6 * F / (node * port), 6 * F / Y / switch
        over_X = 0 if Y == node else near
        over_Y = 4 * B / X / switch if Y > 1 else 0
        found.append((over_X + over_Y, Y))
    return min(found)[1] if found else 0


# %% ways wrong: the switch hands out whole layers, whatever Y is
def ways(sequences, length, F, nodes, node, port, switch):
    found, B = [], sequences * length
    for Y in range(1, node + 1):
        X = nodes * node // Y
        if node % Y or X > sequences:
            continue
        far, near = 6 * F / (node * port), 6 * F / switch
        over_X = far if Y == node else max(far, near)
        over_Y = 4 * B / X / switch if Y > 1 else 0
        found.append((over_X + over_Y, Y))
    return min(found)[1] if found else 0


# %% ways wrong: ports and switch one after the other
def ways(sequences, length, F, nodes, node, port, switch):
    found, B = [], sequences * length
    for Y in range(1, node + 1):
        X = nodes * node // Y
        if node % Y or X > sequences:
            continue
        far, near = 6 * F / (node * port), 6 * F / Y / switch
        over_X = far if Y == node else far + near
        over_Y = 4 * B / X / switch if Y > 1 else 0
        found.append((over_X + over_Y, Y))
    return min(found)[1] if found else 0


# %% ways wrong: powers of two only
def ways(sequences, length, F, nodes, node, port, switch):
    found, B = [], sequences * length
    for Y in range(1, node + 1):
        X = nodes * node // Y
        if Y & (Y - 1) or node % Y or X > sequences:
            continue
        far, near = 6 * F / (node * port), 6 * F / Y / switch
        over_X = far if Y == node else max(far, near)
        over_Y = 4 * B / X / switch if Y > 1 else 0
        found.append((over_X + over_Y, Y))
    return min(found)[1] if found else 0


# %% ways wrong: overlapped
def ways(sequences, length, F, nodes, node, port, switch):
    found, B = [], sequences * length
    for Y in range(1, node + 1):
        X = nodes * node // Y
        if node % Y or X > sequences:
            continue
        far, near = 6 * F / (node * port), 6 * F / Y / switch
        over_X = far if Y == node else max(far, near)
        over_Y = 4 * B / X / switch if Y > 1 else 0
        found.append((max(over_X, over_Y), Y))
    return min(found)[1] if found else 0


# %% ways wrong: 1 where no Y is enough
def ways(sequences, length, F, nodes, node, port, switch):
    found, B = [], sequences * length
    for Y in range(1, node + 1):
        X = nodes * node // Y
        if node % Y or X > sequences:
            continue
        far, near = 6 * F / (node * port), 6 * F / Y / switch
        over_X = far if Y == node else max(far, near)
        over_Y = 4 * B / X / switch if Y > 1 else 0
        found.append((over_X + over_Y, Y))
    return min(found)[1] if found else 1


# %% ways wrong: no gate
def ways(sequences, length, F, nodes, node, port, switch):
    found = []
    for Y in range(1, node + 1):
        X = nodes * node // Y
        if node % Y == 0 and sequences >= X:
            weights, tokens = 4 * F / Y, 4 * sequences * length / X
            over_X = weights / (node / Y * port)
            if node > Y:
                over_X = max(over_X, weights / switch)
            found.append((over_X + tokens / switch * (Y > 1), Y))
    return min(found)[1] if found else 0


# %% ways wrong: one activation
def ways(sequences, length, F, nodes, node, port, switch):
    found = []
    for Y in range(1, node + 1):
        X = nodes * node // Y
        if node % Y == 0 and sequences >= X:
            weights, tokens = 6 * F / Y, 2 * sequences * length / X
            over_X = weights / (node / Y * port)
            if node > Y:
                over_X = max(over_X, weights / switch)
            found.append((over_X + tokens / switch * (Y > 1), Y))
    return min(found)[1] if found else 0


# %% ways wrong: activations move without TP
def ways(sequences, length, F, nodes, node, port, switch):
    found = []
    for Y in range(1, node + 1):
        X = nodes * node // Y
        if node % Y == 0 and sequences >= X:
            weights, tokens = 6 * F / Y, 4 * sequences * length / X
            over_X = weights / (node / Y * port)
            if node > Y:
                over_X = max(over_X, weights / switch)
            found.append((over_X + tokens / switch, Y))
    return min(found)[1] if found else 0


# %% ways right: divisors first, times in a dict
def ways(sequences, length, F, nodes, node, port, switch):
    divisors = [Y for Y in range(1, node + 1) if node % Y == 0]
    seconds = {}
    for Y in divisors:
        if nodes * node // Y > sequences:
            continue
        layer = 3 * 2 * 5120 * F / Y
        mates = node // Y
        gather = layer / (mates * port)
        if mates > 1:
            gather = max(gather, layer / switch)
        tokens = sequences * length * Y / (nodes * node)
        moves = 0 if Y == 1 else 2 * 2 * tokens * 5120 / switch
        seconds[Y] = gather + moves
    return min(seconds, key=seconds.get) if seconds else 0


# %% ways right: from the whole node downwards
def ways(sequences, length, F, nodes, node, port, switch):
    best, least = 0, float("inf")
    for mates in range(1, node + 1):
        if node % mates or nodes * mates > sequences:
            continue
        Y = node / mates
        times = [1.5 * F / Y / mates / port]
        times += [1.5 * F / Y / switch] if mates > 1 else []
        sent = sequences * length / nodes / mates / switch if Y > 1 else 0
        if max(times) + sent < least:
            best, least = int(Y), max(times) + sent
    return best


# %% ways equivalent: line 5: 1 becomes 2 (2)
# No number is divided by one more than itself.

# %% ways equivalent: line 11: `max(over_X, weights / switch)` with its arguments reversed
# The larger of two does not depend on their order.


# %% use wrong: forgets memory
def can_use(B, N, gated, overlap, hbm):
    wide = 1.5 * hidden if gated else hidden
    found = ["dp", "fsdp"] if B / N >= flops / W / 3 else []
    X = 2
    while X < N:
        terms = wide * X / (N * 2), B / X
        took = max(terms) if overlap else sum(terms)
        if took <= B * wide / N * W / flops:
            return [*found, "mixed"]
        X = X * 2
    return found


# %% use wrong: all states are cut under data parallelism too
def can_use(B, N, gated, overlap, hbm):
    wide = 1.5 * hidden if gated else hidden
    states, kept = 10 * params, 2 * layers * B * (width + 2 * hidden)
    if (states + kept) / N > hbm:
        return []
    found = ["dp", "fsdp"] if B / N >= flops / W / 3 else []
    X = 2
    while X < N:
        terms = wide * X / (N * 2), B / X
        took = max(terms) if overlap else sum(terms)
        if took <= B * wide / N * W / flops:
            return [*found, "mixed"]
        X = X * 2
    return found


# %% use wrong: the threshold of real splits
def can_use(B, N, gated, overlap, hbm):
    wide = 1.5 * hidden if gated else hidden
    states, kept = 10 * params, 2 * layers * B * (width + 2 * hidden)
    enough, fits = B / N >= flops / W / 3, (states + kept) / N <= hbm
    found = ["dp"] if enough and states + kept / N <= hbm else []
    found = found + ["fsdp"] if enough and fits else found
    tokens = (flops / W) ** 2 / (2 * wide) * (1 if overlap else 4)
    return [*found, "mixed"] if fits and B / N >= tokens else found


# %% use wrong: never a gate
def can_use(B, N, gated, overlap, hbm):
    wide = hidden
    states, kept = 10 * params, 2 * layers * B * (width + 2 * hidden)
    enough, fits = B / N >= flops / W / 3, (states + kept) / N <= hbm
    found = ["dp"] if enough and states + kept / N <= hbm else []
    found = found + ["fsdp"] if enough and fits else found
    X = 2
    while X < N and fits:
        terms = wide * X / (N * 2), B / X
        took = max(terms) if overlap else sum(terms)
        if took <= B * wide / N * W / flops:
            return [*found, "mixed"]
        X = X * 2
    return found


# %% use wrong: a gate, always
def can_use(B, N, gated, overlap, hbm):
    wide = 1.5 * hidden
    states, kept = 10 * params, 2 * layers * B * (width + 2 * hidden)
    enough, fits = B / N >= flops / W / 3, (states + kept) / N <= hbm
    found = ["dp"] if enough and states + kept / N <= hbm else []
    found = found + ["fsdp"] if enough and fits else found
    X = 2
    while X < N and fits:
        terms = wide * X / (N * 2), B / X
        took = max(terms) if overlap else sum(terms)
        if took <= B * wide / N * W / flops:
            return [*found, "mixed"]
        X = X * 2
    return found


# %% use wrong: the gate makes weights larger, not the arithmetic
def can_use(B, N, gated, overlap, hbm):
    wide = 1.5 * hidden if gated else hidden
    states, kept = 10 * params, 2 * layers * B * (width + 2 * hidden)
    enough, fits = B / N >= flops / W / 3, (states + kept) / N <= hbm
    found = ["dp"] if enough and states + kept / N <= hbm else []
    found = found + ["fsdp"] if enough and fits else found
    X = 2
    while X < N and fits:
        terms = wide * X / (N * 2), B / X
        took = max(terms) if overlap else sum(terms)
        if took <= B * hidden / N * W / flops:
            return [*found, "mixed"]
        X = X * 2
    return found


# %% use wrong: overlapped, always
def can_use(B, N, gated, overlap, hbm):
    wide = 1.5 * hidden if gated else hidden
    states, kept = 10 * params, 2 * layers * B * (width + 2 * hidden)
    enough, fits = B / N >= flops / W / 3, (states + kept) / N <= hbm
    found = ["dp"] if enough and states + kept / N <= hbm else []
    found = found + ["fsdp"] if enough and fits else found
    X = 2
    while X < N and fits:
        if max(wide * X / (N * 2), B / X) <= B * wide / N * W / flops:
            return [*found, "mixed"]
        X = X * 2
    return found


# %% use wrong: FSDP's threshold on one axis
def can_use(B, N, gated, overlap, hbm):
    wide = 1.5 * hidden if gated else hidden
    states, kept = 10 * params, 2 * layers * B * (width + 2 * hidden)
    enough, fits = B / N >= flops / W, (states + kept) / N <= hbm
    found = ["dp"] if enough and states + kept / N <= hbm else []
    found = found + ["fsdp"] if enough and fits else found
    X = 2
    while X < N and fits:
        terms = wide * X / (N * 2), B / X
        took = max(terms) if overlap else sum(terms)
        if took <= B * wide / N * W / flops:
            return [*found, "mixed"]
        X = X * 2
    return found


# %% use wrong: the best split only if FSDP alone does not do
def can_use(B, N, gated, overlap, hbm):
    wide = 1.5 * hidden if gated else hidden
    states, kept = 10 * params, 2 * layers * B * (width + 2 * hidden)
    enough, fits = B / N >= flops / W / 3, (states + kept) / N <= hbm
    if enough:
        found = ["dp"] if states + kept / N <= hbm else []
        return found + ["fsdp"] if fits else found
    X = 2
    while X < N and fits:
        terms = wide * X / (N * 2), B / X
        took = max(terms) if overlap else sum(terms)
        if took <= B * wide / N * W / flops:
            return ["mixed"]
        X = X * 2
    return []


# %% use wrong: activations are kept whole on each chip
def can_use(B, N, gated, overlap, hbm):
    wide = 1.5 * hidden if gated else hidden
    states, kept = 10 * params, 2 * layers * B * (width + 2 * hidden)
    enough, fits = B / N >= flops / W / 3, states / N + kept <= hbm
    found = ["dp"] if enough and states + kept <= hbm else []
    found = found + ["fsdp"] if enough and fits else found
    X = 2
    while X < N and fits:
        terms = wide * X / (N * 2), B / X
        took = max(terms) if overlap else sum(terms)
        if took <= B * wide / N * W / flops:
            return [*found, "mixed"]
        X = X * 2
    return found


# %% use wrong: X may be 1, if there are more than two chips
def can_use(B, N, gated, overlap, hbm):
    wide = 1.5 * hidden if gated else hidden
    states, kept = 10 * params, 2 * layers * B * (width + 2 * hidden)
    enough, fits = B / N >= flops / W / 3, (states + kept) / N <= hbm
    found = ["dp"] if enough and states + kept / N <= hbm else []
    found = found + ["fsdp"] if enough and fits else found
    X = 1
    while X < N and fits and N > 2:
        terms = wide * X / (N * 2), B / X
        took = max(terms) if overlap else sum(terms)
        if took <= B * wide / N * W / flops:
            return [*found, "mixed"]
        X = X * 2
    return found


# %% use wrong: tokens of a chip rounded down
def can_use(B, N, gated, overlap, hbm):
    wide = 1.5 * hidden if gated else hidden
    each, alpha = B // N, flops / W
    kept = 2 * layers * each * (width + 2 * hidden)
    enough, fits = 3 * each >= alpha, 10 * params / N + kept <= hbm
    found = ["dp"] if enough and 10 * params + kept <= hbm else []
    found = found + ["fsdp"] if enough and fits else found
    Y = 2
    while Y < N and fits:
        terms = alpha / 2 / Y, alpha * Y / wide * each
        if (max(terms) if overlap else sum(terms)) <= each:
            return [*found, "mixed"]
        Y = Y * 2
    return found


# %% use wrong: a gate is kept for backward, too
def can_use(B, N, gated, overlap, hbm):
    states, kept = (
        10 * params,
        2 * layers * B * (width + (3 if gated else 2) * hidden),
    )
    each, fits = B / N, (states + kept) / N < hbm
    enough = each > flops / W / 3
    found = ["dp"] if enough and states + kept / N < hbm else []
    found = found + ["fsdp"] if enough and fits else found
    wide = hidden * 3 / 2 if gated else hidden
    for X in range(2, N):
        terms = wide * X / (N * 2), B / X
        took = max(terms) if overlap else sum(terms)
        if N % X == 0 and fits and took < each * wide * W / flops:
            return [*found, "mixed"]
    return found


# %% use wrong: the mixture may have one chip along Y
def can_use(B, N, gated, overlap, hbm):
    states, kept = 10 * params, 2 * layers * B * (width + 2 * hidden)
    each, fits = B / N, (states + kept) / N < hbm
    enough = each > flops / W / 3
    found = ["dp"] if enough and states + kept / N < hbm else []
    found = found + ["fsdp"] if enough and fits else found
    wide = hidden * 3 / 2 if gated else hidden
    for X in range(2, N + 1):
        terms = wide * X / (N * 2), B / X
        took = max(terms) if overlap else sum(terms)
        if N % X == 0 and fits and took < each * wide * W / flops:
            return [*found, "mixed"]
    return found


# %% use wrong: data parallelism moves nothing forward
def can_use(B, N, gated, overlap, hbm):
    states, kept = 10 * params, 2 * layers * B * (width + 2 * hidden)
    each, fits = B / N, (states + kept) / N < hbm
    enough = each > flops / W / 3
    found = ["dp"] if states + kept / N < hbm else []
    found = found + ["fsdp"] if enough and fits else found
    wide = hidden * 3 / 2 if gated else hidden
    for X in range(2, N):
        terms = wide * X / (N * 2), B / X
        took = max(terms) if overlap else sum(terms)
        if N % X == 0 and fits and took < each * wide * W / flops:
            return [*found, "mixed"]
    return found


# %% use wrong: in another order
def can_use(B, N, gated, overlap, hbm):
    wide = 1.5 * hidden if gated else hidden
    states, kept = 10 * params, 2 * layers * B * (width + 2 * hidden)
    enough, fits = B / N >= flops / W / 3, (states + kept) / N <= hbm
    found = ["dp"] if enough and states + kept / N <= hbm else []
    found = found + ["fsdp"] if enough and fits else found
    X = 2
    while X < N and fits:
        terms = wide * X / (N * 2), B / X
        took = max(terms) if overlap else sum(terms)
        if took <= B * wide / N * W / flops:
            return ["mixed", *found]
        X = X * 2
    return found


# %% use wrong: lists in a list
def can_use(B, N, gated, overlap, hbm):
    return [["dp"], ["fsdp"], ["mixed"]]


# %% use wrong: the best X, rounded down to a power of two
def can_use(B, N, gated, overlap, hbm):
    wide = 1.5 * hidden if gated else hidden
    states, kept = 10 * params, 2 * layers * B * (width + 2 * hidden)
    enough, fits = B / N >= flops / W / 3, (states + kept) / N <= hbm
    found = ["dp"] if enough and states + kept / N <= hbm else []
    found = found + ["fsdp"] if enough and fits else found
    if N < 4 or not fits:
        return found
    best = min(max((2 * B * N / wide) ** 0.5, 2), N / 2)
    X = 2.0 ** np.floor(np.log2(best))
    terms = wide * X / (N * 2), B / X
    took = max(terms) if overlap else sum(terms)
    return [*found, "mixed"] if took <= B * wide / N * W / flops else found


# %% use wrong: the first that can be used
def can_use(B, N, gated, overlap, hbm):
    wide = 1.5 * hidden if gated else hidden
    states, kept = 10 * params, 2 * layers * B * (width + 2 * hidden)
    enough, fits = B / N >= flops / W / 3, (states + kept) / N <= hbm
    found = ["dp"] if enough and states + kept / N <= hbm else []
    found = found + ["fsdp"] if enough and fits else found
    if found:
        return found[:1]
    X = 2
    while X < N and fits:
        terms = wide * X / (N * 2), B / X
        took = max(terms) if overlap else sum(terms)
        if took <= B * wide / N * W / flops:
            return ["mixed"]
        X = X * 2
    return found


# %% use wrong: activations are cut over X alone in the mixture
def can_use(B, N, gated, overlap, hbm):
    wide = 1.5 * hidden if gated else hidden
    states, kept = 10 * params, 2 * layers * B * (width + 2 * hidden)
    enough, fits = B / N >= flops / W / 3, (states + kept) / N <= hbm
    found = ["dp"] if enough and states + kept / N <= hbm else []
    found = found + ["fsdp"] if enough and fits else found
    X = 2
    while X < N:
        terms = wide * X / (N * 2), B / X
        took = max(terms) if overlap else sum(terms)
        fits = states / N + kept / X <= hbm
        if took <= B * wide / N * W / flops and fits:
            return [*found, "mixed"]
        X = X * 2
    return found


# %% use right: each split's own laws
def can_use(B, N, gated, overlap, hbm):
    wide = 1.5 * hidden if gated else hidden
    alpha = flops / W
    kept = 2 * layers * B * (width + 2 * hidden) / N
    fits = 10 * params / N + kept <= hbm

    def works(Y):
        X = N // Y
        fsdp, tp = alpha * X / (2 * B), alpha * Y / wide
        return (max(fsdp, tp) if overlap else fsdp + tp) <= 1

    tests = {
        "dp": 3 * B >= alpha * N and 10 * params + kept <= hbm,
        "fsdp": 3 * B >= alpha * N and fits,
        "mixed": fits
        and any(works(2**k) for k in range(1, N.bit_length() - 1)),
    }
    return [name for name, passed in tests.items() if passed]


# %% use right: in exact fractions, as a tuple
def can_use(B, N, gated, overlap, hbm):
    from fractions import Fraction

    wide = Fraction(3, 2) * hidden if gated else hidden
    alpha = Fraction(flops) / Fraction(W)
    own = Fraction(2 * layers * B * (width + 2 * hidden), N)
    share = Fraction(10 * params, N) + own <= hbm
    dense = alpha * N <= 3 * B
    splits = [2**k for k in range(1, N.bit_length() - 1)]
    loads = [(alpha * N / Y / 2 / B, alpha * Y / wide) for Y in splits]
    hidden_by = [(max(load) if overlap else sum(load)) <= 1 for load in loads]
    verdicts = dense and 10 * params + own <= hbm, dense and share
    verdicts += (share and any(hidden_by),)
    named = zip(("dp", "fsdp", "mixed"), verdicts)
    return tuple(name for name, verdict in named if verdict)


# %% use right: in seconds, with the splits of two neighbours of the best X
def can_use(B, N, gated, overlap, hbm):
    wide = 1.5 * hidden if gated else hidden
    math = 4 * B * width * wide / N / flops
    alone = 4 * width * wide / (3 * W)
    own = 2 * layers * (B / N) * (width + 2 * hidden)
    found = []
    if alone <= math:
        found += ["dp"] * (10 * params + own <= hbm)
        found += ["fsdp"] * (10 * params / N + own <= hbm)
    best = np.log2((2 * B * N / wide) ** 0.5)
    for power in range(int(best) - 1, int(best) + 3):
        X = 2.0**power
        if 2 <= X <= N / 2 and 10 * params / N + own <= hbm:
            weights = 4 * width * wide * X / N / (2 * W)
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

# %% use equivalent: line 13: `took < each * wide * W / flops` with LtE
# Just at a border both verdicts are right, and rounding decides.

# %% use equivalent: line 11: `(wide * X / (N * 2), B / X)` is reversed
# Neither the larger of two terms nor their sum depends on their order.

# %% use equivalent: line 10: `range(2, N)` ends one too soon
# The last number left out, N - 1, divides no power of two beyond 2.


# %% question wrong: the numbers of 4,096 chips
question_4 = {
    "1M": [1024, 4, 0.766, 0.1],
    "1M added": [1024, 4, 0.489, 0.1],
    "2M added": [4096, 1, 0.574, 0.2],
    "2M added, gated": [1024, 4, 0.874, 0.2],
}

# %% question wrong: communication over arithmetic
at_peak = 6 * params * 1e6 / (2048 * flops)
question_4 = {
    "1M": [512, 4, 1 / 1.355, at_peak],
    "1M added": [512, 4, 1 / 0.719, at_peak / 0.719],
    "2M added": [2048, 1, 1 / 1.149, 2 * at_peak],
    "2M added, gated": [512, 4, 1 / 1.222, 2 * at_peak],
}

# %% question wrong: conventions exchanged
at_peak = 6 * params * 1e6 / (2048 * flops)
question_4 = {
    "1M": [512, 4, 0.719, at_peak / 0.719],
    "1M added": [512, 4, 1.355, at_peak],
    "2M added": [1024, 2, 1.532, 2 * at_peak],
    "2M added, gated": [512, 4, 2.033, 2 * at_peak],
}

# %% question wrong: never FSDP alone
at_peak = 6 * params * 1e6 / (2048 * flops)
question_4 = {
    "1M": [512, 4, 1.355, at_peak],
    "1M added": [512, 4, 0.719, at_peak / 0.719],
    "2M added": [1024, 2, 0.979, 2 * at_peak / 0.979],
    "2M added, gated": [512, 4, 1.222, 2 * at_peak],
}

# %% question wrong: the gate makes no difference
at_peak = 6 * params * 1e6 / (2048 * flops)
question_4 = {
    "1M": [512, 4, 1.355, at_peak],
    "1M added": [512, 4, 0.719, at_peak / 0.719],
    "2M added": [2048, 1, 1.149, 2 * at_peak],
    "2M added, gated": [2048, 1, 1.149, 2 * at_peak],
}

# %% question wrong: FSDP alone on two axes
at_peak = 6 * params * 1e6 / (2048 * flops)
question_4 = {
    "1M": [512, 4, 1.355, at_peak],
    "1M added": [512, 4, 0.719, at_peak / 0.719],
    "2M added": [2048, 1, 0.766, 2 * at_peak / 0.766],
    "2M added, gated": [512, 4, 1.222, 2 * at_peak],
}

# %% question wrong: a step that waits takes no longer
at_peak = 6 * params * 1e6 / (2048 * flops)
question_4 = {
    "1M": [512, 4, 1.355, at_peak],
    "1M added": [512, 4, 0.719, at_peak],
    "2M added": [2048, 1, 1.149, 2 * at_peak],
    "2M added, gated": [512, 4, 1.222, 2 * at_peak],
}

# %% question wrong: faster than the arithmetic
at_peak = 6 * params * 1e6 / (2048 * flops)
question_4 = {
    "1M": [512, 4, 1.355, at_peak / 1.355],
    "1M added": [512, 4, 0.719, at_peak / 0.719],
    "2M added": [2048, 1, 1.149, 2 * at_peak / 1.149],
    "2M added, gated": [512, 4, 1.222, 2 * at_peak / 1.222],
}

# %% question wrong: one is missing
at_peak = 6 * params * 1e6 / (2048 * flops)
question_4 = {
    "1M": [512, 4, 1.355, at_peak],
    "1M added": [512, 4, 0.719, at_peak / 0.719],
    "2M added": [2048, 1, 1.149, 2 * at_peak],
}

# %% question wrong: seconds are missing
question_4 = {
    "1M": [512, 4, 1.355],
    "1M added": [512, 4, 0.719],
    "2M added": [2048, 1, 1.149],
    "2M added, gated": [512, 4, 1.222],
}

# %% question wrong: two thirds of the arithmetic on the H100s
at_peak = 6 * params * 1e6 / (2048 * flops)
at_1024 = 6 * params * 488 * 4096 / (1024 * hw.H100.flops)
question_4 = {
    "1M": [512, 4, 1.355, at_peak],
    "1M added": [512, 4, 0.719, at_peak / 0.719],
    "2M added": [2048, 1, 1.149, 2 * at_peak],
    "2M added, gated": [512, 4, 1.222, 2 * at_peak],
    "H100s": [256, 4, 0.394, at_1024 / 0.394],
}


# %% question wrong: the H100s have the FLOP/s of a v5p
at_peak = 6 * params * 1e6 / (2048 * flops)
at_1024 = 6 * params * 488 * 4096 / (1024 * flops)
question_4 = {
    "1M": [512, 4, 1.355, at_peak],
    "1M added": [512, 4, 0.719, at_peak / 0.719],
    "2M added": [2048, 1, 1.149, 2 * at_peak],
    "2M added, gated": [512, 4, 1.222, 2 * at_peak],
    "H100s": [256, 4, 0.591, at_1024 / 0.591],
}


# %% question wrong: a million is a power of two
at_peak = 6 * params * 2**20 / (2048 * flops)
at_1024 = 6 * params * 488 * 4096 / (1024 * hw.H100.flops)
question_4 = {
    "1M": [512, 4, 1.355, at_peak],
    "1M added": [512, 4, 0.719, at_peak / 0.719],
    "2M added": [2048, 1, 1.149, 2 * at_peak],
    "2M added, gated": [512, 4, 1.222, 2 * at_peak],
    "H100s": [256, 4, 0.591, at_1024 / 0.591],
}


# %% question right: every split, tried
question_4 = {}


def ratios(B, both, matrices=2):
    work = matrices * B * hidden / 2048 * W / flops
    yield work / (matrices * hidden / 3), 2048, 1
    for X in (2**k for k in range(1, 11)):
        over_X = matrices * hidden * X / 2048 / 2
        yield work / both((over_X, 2 * B / X)), X, 2048 // X


for key, case in {
    "1M": (1e6, max),
    "1M added": (1e6, sum),
    "2M added": (2e6, sum),
    "2M added, gated": (2e6, sum, 3),
}.items():
    ratio, *split_X_Y = max(ratios(*case))
    seconds = 6 * params * case[0] / (2048 * flops) / min(1, ratio)
    question_4[key] = [*split_X_Y, ratio, seconds]

B = 488 * 4096
work = 6 * B * hidden / 1024 / hw.H100.flops
ratios_of = {}
for Y in (4, 8):
    port = 6 * hidden / 8 / hw.H100.dcn_bw
    inside = 6 * hidden / Y / hw.H100.link_bw if Y < 8 else 0
    tp = 4 * B * Y / 1024 / hw.H100.link_bw
    ratios_of[Y] = work / (max(port, inside) + tp)
Y = max(ratios_of, key=ratios_of.get)
took = 6 * params * B / (1024 * hw.H100.flops) / min(1, ratios_of[Y])
question_4["H100s"] = [1024 // Y, Y, ratios_of[Y], took]

# %% question right: by the two laws of the chosen splits
fsdp_law, tp_law = W / flops * 2 * 1e6, W / flops * hidden
added = [
    1 / (512 / fsdp_law + 4 / tp_law),
    2e6 / 2048 * 3 * W / flops,
    1 / (512 / (2 * fsdp_law) + 4 / (1.5 * tp_law)),
]
step_of_1M = 3 * 2 * params / 2.048 / flops * 1e3
question_4 = {
    "1M": (512, 4, min(fsdp_law / 512, tp_law / 4), step_of_1M),
    "1M added": (512, 4, added[0], step_of_1M / added[0]),
    "2M added": (2048, 1, added[1], 2 * step_of_1M),
    "2M added, gated": (512, 4, added[2], 2 * step_of_1M),
}
at_1024 = 6 * params * 488 * 4096 / (1024 * hw.H100.flops)
question_4["H100s"] = [256, 4, 0.591, at_1024 / 0.591]

# %% question wrong: the node is filled with TP
at_peak = 6 * params * 1e6 / (2048 * flops)
at_1024 = 6 * params * 488 * 4096 / (1024 * hw.H100.flops)
question_4 = {
    "1M": [512, 4, 1.355, at_peak],
    "1M added": [512, 4, 0.719, at_peak / 0.719],
    "2M added": [2048, 1, 1.149, 2 * at_peak],
    "2M added, gated": [512, 4, 1.222, 2 * at_peak],
    "H100s": [128, 8, 0.472, at_1024 / 0.472],
}

# %% question wrong: more groups than sequences
at_peak = 6 * params * 1e6 / (2048 * flops)
at_1024 = 6 * params * 488 * 4096 / (1024 * hw.H100.flops)
question_4 = {
    "1M": [512, 4, 1.355, at_peak],
    "1M added": [512, 4, 0.719, at_peak / 0.719],
    "2M added": [2048, 1, 1.149, 2 * at_peak],
    "2M added, gated": [512, 4, 1.222, 2 * at_peak],
    "H100s": [1024, 1, 0.789, at_1024 / 0.789],
}

# %% question wrong: H100s that wait take no longer
at_peak = 6 * params * 1e6 / (2048 * flops)
at_1024 = 6 * params * 488 * 4096 / (1024 * hw.H100.flops)
question_4 = {
    "1M": [512, 4, 1.355, at_peak],
    "1M added": [512, 4, 0.719, at_peak / 0.719],
    "2M added": [2048, 1, 1.149, 2 * at_peak],
    "2M added, gated": [512, 4, 1.222, 2 * at_peak],
    "H100s": [256, 4, 0.591, at_1024],
}

# %% question equivalent: line 4: 1000000.0 becomes 1000001.0
# Half a percent is enough.

# %% question equivalent: line 4: 2048 becomes 2049
# Half a percent is enough.

# %% question equivalent: line 5: 488 becomes 489
# Half a percent is enough.

# %% question equivalent: line 5: 4096 becomes 4097
# Half a percent is enough.

# %% question equivalent: line 5: 1024 becomes 1025
# Half a percent is enough.


# %% window wrong: a window where the discriminant is negative
def window(B, F, N, alpha, M_X, M_Y, matrices):
    work = 6 * matrices * B * F / (N * alpha)
    a, c = 10 * B / (N * M_Y), 8 * matrices * F / M_X
    root = abs(work**2 - 4 * a * c) ** 0.5
    return [(work - root) / (2 * a), (work + root) / (2 * a)]


# %% window wrong: never a gate
def window(B, F, N, alpha, M_X, M_Y, matrices):
    work = 12 * B * F / (N * alpha)
    a, c = 10 * B / (N * M_Y), 16 * F / M_X
    if work**2 < 4 * a * c:
        return []
    root = abs(work**2 - 4 * a * c) ** 0.5
    return [(work - root) / (2 * a), (work + root) / (2 * a)]


# %% window wrong: the gate makes activations larger, too
def window(B, F, N, alpha, M_X, M_Y, matrices):
    work = 6 * matrices * B * F / (N * alpha)
    a, c = 5 * matrices * B / (N * M_Y), 8 * matrices * F / M_X
    if work**2 < 4 * a * c:
        return []
    root = abs(work**2 - 4 * a * c) ** 0.5
    return [(work - root) / (2 * a), (work + root) / (2 * a)]


# %% window wrong: the forward pass, with N/Y for X
def window(B, F, N, alpha, M_X, M_Y, matrices):
    work = 2 * matrices * B * F / (N * alpha)
    a, c = 4 * B / (N * M_Y), 2 * matrices * F / M_X
    if work**2 < 4 * a * c:
        return []
    root = abs(work**2 - 4 * a * c) ** 0.5
    return [(work - root) / (2 * a), (work + root) / (2 * a)]


# %% window wrong: three times the forward pass
def window(B, F, N, alpha, M_X, M_Y, matrices):
    work = 6 * matrices * B * F / (N * alpha)
    a, c = 12 * B / (N * M_Y), 6 * matrices * F / M_X
    if work**2 < 4 * a * c:
        return []
    root = abs(work**2 - 4 * a * c) ** 0.5
    return [(work - root) / (2 * a), (work + root) / (2 * a)]


# %% window wrong: gradients in bf16
def window(B, F, N, alpha, M_X, M_Y, matrices):
    work = 6 * matrices * B * F / (N * alpha)
    a, c = 10 * B / (N * M_Y), 6 * matrices * F / M_X
    if work**2 < 4 * a * c:
        return []
    root = abs(work**2 - 4 * a * c) ** 0.5
    return [(work - root) / (2 * a), (work + root) / (2 * a)]


# %% window wrong: In is kept
def window(B, F, N, alpha, M_X, M_Y, matrices):
    work = 6 * matrices * B * F / (N * alpha)
    a, c = 8 * B / (N * M_Y), 8 * matrices * F / M_X
    if work**2 < 4 * a * c:
        return []
    root = abs(work**2 - 4 * a * c) ** 0.5
    return [(work - root) / (2 * a), (work + root) / (2 * a)]


# %% window wrong: bf16, and In is kept
def window(B, F, N, alpha, M_X, M_Y, matrices):
    work = 6 * matrices * B * F / (N * alpha)
    a, c = 8 * B / (N * M_Y), 6 * matrices * F / M_X
    if work**2 < 4 * a * c:
        return []
    root = abs(work**2 - 4 * a * c) ** 0.5
    return [(work - root) / (2 * a), (work + root) / (2 * a)]


# %% window wrong: the upper end first
def window(B, F, N, alpha, M_X, M_Y, matrices):
    work = 6 * matrices * B * F / (N * alpha)
    a, c = 10 * B / (N * M_Y), 8 * matrices * F / M_X
    if work**2 < 4 * a * c:
        return []
    root = abs(work**2 - 4 * a * c) ** 0.5
    return [(work + root) / (2 * a), (work - root) / (2 * a)]


# %% window wrong: the window of X
def window(B, F, N, alpha, M_X, M_Y, matrices):
    work = 6 * matrices * B * F / (N * alpha)
    a, c = 10 * B / (N * M_Y), 8 * matrices * F / M_X
    if work**2 < 4 * a * c:
        return []
    root = abs(work**2 - 4 * a * c) ** 0.5
    return [2 * a * N / (work + root), 2 * a * N / (work - root)]


# %% window wrong: M_X and M_Y exchanged
def window(B, F, N, alpha, M_X, M_Y, matrices):
    work = 6 * matrices * B * F / (N * alpha)
    a, c = 10 * B / (N * M_X), 8 * matrices * F / M_Y
    if work**2 < 4 * a * c:
        return []
    root = abs(work**2 - 4 * a * c) ** 0.5
    return [(work - root) / (2 * a), (work + root) / (2 * a)]


# %% window wrong: no more than N, and no less than 1
def window(B, F, N, alpha, M_X, M_Y, matrices):
    work = 6 * matrices * B * F / (N * alpha)
    a, c = 10 * B / (N * M_Y), 8 * matrices * F / M_X
    if work**2 < 4 * a * c:
        return []
    root = abs(work**2 - 4 * a * c) ** 0.5
    return [
        max((work - root) / (2 * a), 1.0),
        min((work + root) / (2 * a), float(N)),
    ]


# %% window wrong: the window of overlapped traffic
def window(B, F, N, alpha, M_X, M_Y, matrices):
    low = 4 * N * alpha / (3 * M_X * B)
    high = 3 * matrices * F * M_Y / (5 * alpha)
    return [low, high] if low <= high else []


# %% window wrong: the chapter's roots, for X in the forward pass
def window(B, F, N, alpha, M_X, M_Y, matrices):
    F = F * matrices / 2
    roots = np.roots([F / (N * M_X), -B * F / (N * alpha), B / M_Y])
    return [] if np.iscomplex(roots).any() else sorted(map(float, roots))


# %% window right: the best Y, and a factor to both sides of it
def window(B, F, N, alpha, M_X, M_Y, matrices):
    best = (4 * matrices * F * N * M_Y / (5 * B * M_X)) ** 0.5
    half = 3 * matrices * F * M_Y / (10 * alpha) / best
    if half < 1:
        return []
    factor = half + (half**2 - 1) ** 0.5
    return [best / factor, best * factor]


# %% window right: NumPy's roots
def window(B, F, N, alpha, M_X, M_Y, matrices):
    c = 8 * matrices * F / M_X
    b = 6 * matrices * B * F / (N * alpha)
    roots = np.roots([10 * B / (N * M_Y), -b, c])
    return [] if np.iscomplex(roots).any() else sorted(map(float, roots))


# %% window right: array by array, and the ends by bisection
def window(B, F, N, alpha, M_X, M_Y, matrices):
    def late(Y):
        gathered, tokens = 2 * matrices * F / Y, 2 * B * Y / N
        over_X = (gathered + gathered + 2 * gathered) / M_X
        over_Y = (2 * tokens + 3 * tokens) / M_Y
        return over_X + over_Y - 3 * 2 * matrices * B * F / N / alpha

    tried = np.exp(np.linspace(-20, 30, 200_001))
    good = np.flatnonzero(late(tried) < 0)
    if not len(good):
        return []
    ends = []
    for inside, outside in ((good[0], -1), (good[-1], 1)):
        inner, outer = tried[inside], tried[inside + outside]
        for _ in range(60):
            middle = (inner + outer) / 2
            if late(middle) < 0:
                inner = middle
            else:
                outer = middle
        ends.append(float(inner))
    return ends


# %% window equivalent: line 6: `work ** 2 < 4 * a * c` with LtE
# At the border the window is a single Y, with or without it.


# %% chips wrong: the forward pass, as in the chapter
most_chips = B * F * m * M_X * M_Y / (8 * alpha**2)

# %% chips wrong: overlapped
most_chips = 9 * B * F * m * M_X * M_Y / (20 * alpha**2)

# %% chips wrong: without the gate
most_chips = 9 * B * F * M_X * M_Y / (40 * alpha**2)

# %% chips wrong: gradients in bf16
most_chips = 3 * B * F * m * M_X * M_Y / (20 * alpha**2)

# %% chips wrong: In is kept
most_chips = 9 * B * F * m * M_X * M_Y / (64 * alpha**2)

# %% chips wrong: axes added
most_chips = 9 * B * F * m * (M_X + M_Y) / (80 * alpha**2)

# %% chips wrong: tokens on each chip
most_chips = 80 * alpha**2 / (9 * F * m * M_X * M_Y)

# %% chips wrong: upside down
most_chips = 80 * alpha**2 / (9 * B * F * m * M_X * M_Y)

# %% chips wrong: an axis is left out
most_chips = 9 * B * F * m * M_X / (80 * alpha**2)

# %% chips wrong: FSDP alone
most_chips = B * (M_X + M_Y) / alpha

# %% chips wrong: the forward pass of a plain block
most_chips = B * F * M_X * M_Y / (4 * alpha**2)


# %% chips wrong: alpha once
most_chips = 9 * m * B * F * M_X * M_Y / (80 * alpha)


# %% chips wrong: without the axes
most_chips = 9 * m * B * F / (80 * alpha**2)


# %% chips wrong: the forward pass, overlapped
most_chips = B * F * M_X * M_Y / alpha**2


# %% chips right: solved
n = sympy.symbols("n", positive=True)
work = 6 * m * B * F / (n * alpha)
discriminant = work**2 - 4 * (10 * B / (n * M_Y)) * (8 * m * F / M_X)
[most_chips] = sympy.solve(discriminant, n)

# %% chips right: as text, the tokens over those of a chip
most_chips = "B / (80*alpha**2/(9*M_X*M_Y*F*m))"
