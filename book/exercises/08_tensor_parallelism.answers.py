# Answers that the checks of exercise set 8 must reject or accept.
#
# A cell is titled with the answer cell's grade_id, then `wrong: ` with the
# mistake or `right: ` with what is different. Run by tests/exercises.

# %% order wrong: an AllReduce after each product
def order(first, second, B, D, F):
    return 4 * B * F + 4 * B * D


# %% order wrong: the chapter's, with all of Out on every chip
def order(first, second, B, D, F):
    middle = {("columns", "rows"): 0, ("rows", "columns"): 4 * B * F}
    middle = middle.get((first, second), 2 * B * F)
    return middle + (4 * B * D if second == "rows" else 2 * B * D)


# %% order wrong: the order does not matter
def order(first, second, B, D, F):
    return 2 * B * D if second == "rows" else 0


# %% order wrong: always the best order
def order(first, second, B, D, F):
    return 2 * B * D


# %% order wrong: rows twice, with an AllReduce between
def order(first, second, B, D, F):
    middle = {"columns": 2 * B * F, "rows": 4 * B * F}[first]
    if (first, second) == ("columns", "rows"):
        middle = 0
    return middle + (2 * B * D if second == "rows" else 0)


# %% order wrong: the other order
def order(first, second, B, D, F):
    first, second = second, first
    middle = {("columns", "rows"): 0, ("rows", "columns"): 4 * B * F}
    middle = middle.get((first, second), 2 * B * F)
    return middle + (2 * B * D if second == "rows" else 0)


# %% order wrong: elements
def order(first, second, B, D, F):
    middle = {("columns", "rows"): 0, ("rows", "columns"): 4 * B * F}
    middle = middle.get((first, second), 2 * B * F)
    return (middle + (2 * B * D if second == "rows" else 0)) // 2


# %% order wrong: a reduction counts once
def order(first, second, B, D, F):
    middle = 0 if (first, second) == ("columns", "rows") else 2 * B * F
    return middle + (2 * B * D if second == "rows" else 0)


# %% order wrong: terms of a sum are left
def order(first, second, B, D, F):
    middle = {("columns", "rows"): 0, ("rows", "columns"): 4 * B * F}
    middle = middle.get((first, second), 2 * B * F)
    return middle


# %% order right: arrays that move, one after the other
def order(first, second, B, D, F):
    moved = []
    if first == "rows":
        moved.append(B * F)
    if second == "columns":
        moved.append(B * F)
    else:
        moved.append(B * D)
    return 2 * sum(moved)


# %% order right: what has to be paid and what is missing
def order(first, second, B, D, F):
    debts = [first == "rows", second == "rows"]
    wanted_whole = [second == "columns", False]
    return sum(
        2 * B * width * (debt + whole)
        for width, debt, whole in zip((F, D), debts, wanted_whole)
    )


# %% megatron wrong: f is forgotten
def megatron(In, dOut, W_in, W_out):
    Tmp = relu(In @ W_in)
    Out = jax.lax.psum(Tmp @ W_out, "Y")
    dTmp = (dOut @ W_out.T) * (Tmp > 0)
    return Out, dTmp @ W_in.T, In.T @ dTmp, Tmp.T @ dOut


# %% megatron wrong: g is forgotten
def megatron(In, dOut, W_in, W_out):
    Tmp = relu(In @ W_in)
    dTmp = (dOut @ W_out.T) * (Tmp > 0)
    dIn = jax.lax.psum(dTmp @ W_in.T, "Y")
    return Tmp @ W_out, dIn, In.T @ dTmp, Tmp.T @ dOut


# %% megatron wrong: dOut is added up as well, as the derivative of g
def megatron(In, dOut, W_in, W_out):
    dOut = jax.lax.psum(jax.lax.pcast(dOut, "Y", to="varying"), "Y")
    Tmp = relu(In @ W_in)
    Out = jax.lax.psum(Tmp @ W_out, "Y")
    dTmp = (dOut @ W_out.T) * (Tmp > 0)
    dIn = jax.lax.psum(dTmp @ W_in.T, "Y")
    return Out, dIn, In.T @ dTmp, Tmp.T @ dOut


# %% megatron wrong: no derivative of max
def megatron(In, dOut, W_in, W_out):
    Tmp = relu(In @ W_in)
    Out = jax.lax.psum(Tmp @ W_out, "Y")
    dTmp = dOut @ W_out.T
    dIn = jax.lax.psum(dTmp @ W_in.T, "Y")
    return Out, dIn, In.T @ dTmp, Tmp.T @ dOut


# %% megatron wrong: weights are gathered, and everybody does everything
def megatron(In, dOut, W_in, W_out):
    me, width = jax.lax.axis_index("Y"), W_in.shape[1]
    W_in = jax.lax.all_gather(W_in, "Y", axis=1, tiled=True)
    W_out = jax.lax.all_gather(W_out, "Y", axis=0, tiled=True)
    Tmp = relu(In @ W_in)
    dTmp = (dOut @ W_out.T) * (Tmp > 0)
    dW_in, dW_out = In.T @ dTmp, Tmp.T @ dOut
    start = me * width
    dW_in = jax.lax.dynamic_slice_in_dim(dW_in, start, width, 1)
    dW_out = jax.lax.dynamic_slice_in_dim(dW_out, start, width, 0)
    return Tmp @ W_out, dTmp @ W_in.T, dW_in, dW_out


# %% megatron wrong: gradients of the weights are AllReduced, as in DP
def megatron(In, dOut, W_in, W_out):
    Tmp = relu(In @ W_in)
    Out = jax.lax.psum(Tmp @ W_out, "Y")
    dTmp = (dOut @ W_out.T) * (Tmp > 0)
    dIn = jax.lax.psum(dTmp @ W_in.T, "Y")
    dW_in, dW_out = jax.lax.psum((In.T @ dTmp, Tmp.T @ dOut), "Y")
    return Out, dIn, dW_in, dW_out


# %% megatron wrong: means
def megatron(In, dOut, W_in, W_out):
    Tmp = relu(In @ W_in)
    Out = jax.lax.pmean(Tmp @ W_out, "Y")
    dTmp = (dOut @ W_out.T) * (Tmp > 0)
    dIn = jax.lax.pmean(dTmp @ W_in.T, "Y")
    return Out, dIn, In.T @ dTmp, Tmp.T @ dOut


# %% megatron right: JAX derives the way back, and places f
def megatron(In, dOut, W_in, W_out):
    def forward(In, W_in, W_out):
        return jax.lax.psum(relu(In @ W_in) @ W_out, "Y")

    Out, back = jax.vjp(forward, In, W_in, W_out)
    return Out, *back(dOut)


# %% megatron right: each AllReduce is a scatter and a gather
def megatron(In, dOut, W_in, W_out):
    def reduced(term):
        part = jax.lax.psum_scatter(term, "Y", scatter_dimension=1, tiled=True)
        return jax.lax.all_gather(part, "Y", axis=1, tiled=True)

    Tmp = relu(In @ W_in)
    dTmp = jnp.where(Tmp > 0, dOut @ W_out.T, 0)
    Out, dIn = reduced(Tmp @ W_out), reduced(dTmp @ W_in.T)
    return Out, dIn, In.T @ dTmp, Tmp.T @ dOut


# %% cut_between wrong: an AllReduce, and a part of it kept
def cut_between(In, dOut, W_in, W_out):
    def mine(whole):
        width = whole.shape[1] // jax.lax.axis_size("Y")
        start = width * jax.lax.axis_index("Y")
        return jax.lax.dynamic_slice_in_dim(whole, start, width, 1)

    In = jax.lax.all_gather(In, "Y", axis=1, tiled=True)
    Tmp = relu(In @ W_in)
    Out = mine(jax.lax.psum(Tmp @ W_out, "Y"))
    dOut = jax.lax.all_gather(dOut, "Y", axis=1, tiled=True)
    dTmp = (dOut @ W_out.T) * (Tmp > 0)
    dIn = mine(jax.lax.psum(dTmp @ W_in.T, "Y"))
    return Out, dIn, In.T @ dTmp, Tmp.T @ dOut


# %% cut_between wrong: In is gathered again
def cut_between(In, dOut, W_in, W_out):
    first = jax.lax.all_gather(In, "Y", axis=1, tiled=True)
    Tmp = relu(first @ W_in)
    Out = Tmp @ W_out
    Out = jax.lax.psum_scatter(Out, "Y", scatter_dimension=1, tiled=True)
    dOut = jax.lax.all_gather(dOut, "Y", axis=1, tiled=True)
    dTmp = (dOut @ W_out.T) * (Tmp > 0)
    dIn = dTmp @ W_in.T
    dIn = jax.lax.psum_scatter(dIn, "Y", scatter_dimension=1, tiled=True)
    again = jax.lax.all_gather(In, "Y", axis=1, tiled=True)
    return Out, dIn, again.T @ dTmp, Tmp.T @ dOut


# %% cut_between wrong: dOut is gathered twice
def cut_between(In, dOut, W_in, W_out):
    In = jax.lax.all_gather(In, "Y", axis=1, tiled=True)
    Tmp = relu(In @ W_in)
    Out = Tmp @ W_out
    Out = jax.lax.psum_scatter(Out, "Y", scatter_dimension=1, tiled=True)
    first = jax.lax.all_gather(dOut, "Y", axis=1, tiled=True)
    dTmp = (first @ W_out.T) * (Tmp > 0)
    dIn = dTmp @ W_in.T
    dIn = jax.lax.psum_scatter(dIn, "Y", scatter_dimension=1, tiled=True)
    second = jax.lax.all_gather(dOut, "Y", axis=1, tiled=True)
    return Out, dIn, In.T @ dTmp, Tmp.T @ second


# %% cut_between wrong: f is forgotten, each keeps its own columns of a term
def cut_between(In, dOut, W_in, W_out):
    width = In.shape[1]
    In = jax.lax.all_gather(In, "Y", axis=1, tiled=True)
    Tmp = relu(In @ W_in)
    Out = Tmp @ W_out
    Out = jax.lax.psum_scatter(Out, "Y", scatter_dimension=1, tiled=True)
    dOut = jax.lax.all_gather(dOut, "Y", axis=1, tiled=True)
    dTmp = (dOut @ W_out.T) * (Tmp > 0)
    start = width * jax.lax.axis_index("Y")
    dIn = jax.lax.dynamic_slice_in_dim(dTmp @ W_in.T, start, width, 1)
    return Out, dIn, In.T @ dTmp, Tmp.T @ dOut


# %% cut_between wrong: weights are gathered instead, as in FSDP
def cut_between(In, dOut, W_in, W_out):
    me, width = jax.lax.axis_index("Y"), W_in.shape[1]
    In = jax.lax.all_gather(In, "Y", axis=1, tiled=True)
    dOut = jax.lax.all_gather(dOut, "Y", axis=1, tiled=True)
    W_in = jax.lax.all_gather(W_in, "Y", axis=1, tiled=True)
    W_out = jax.lax.all_gather(W_out, "Y", axis=0, tiled=True)
    Tmp = relu(In @ W_in)
    dTmp = (dOut @ W_out.T) * (Tmp > 0)
    results = Tmp @ W_out, dTmp @ W_in.T, In.T @ dTmp, Tmp.T @ dOut
    columns = [
        jax.lax.dynamic_slice_in_dim(x, me * w, w, 1)
        for x, w in zip(results[:3], (In.shape[1] // 4, 1, width))
    ]
    return *columns, jax.lax.dynamic_slice_in_dim(results[3], 0, width, 0)


# %% cut_between wrong: rows are scattered
def cut_between(In, dOut, W_in, W_out):
    In = jax.lax.all_gather(In, "Y", axis=1, tiled=True)
    Tmp = relu(In @ W_in)
    Out = Tmp @ W_out
    Out = jax.lax.psum_scatter(Out.T, "Y", scatter_dimension=0, tiled=True)
    dOut = jax.lax.all_gather(dOut, "Y", axis=1, tiled=True)
    dTmp = (dOut @ W_out.T) * (Tmp > 0)
    dIn = dTmp @ W_in.T
    dIn = jax.lax.psum_scatter(dIn.T, "Y", scatter_dimension=0, tiled=True)
    return Out, dIn, In.T @ dTmp, Tmp.T @ dOut


# %% cut_between wrong: no derivative of max
def cut_between(In, dOut, W_in, W_out):
    In = jax.lax.all_gather(In, "Y", axis=1, tiled=True)
    Tmp = relu(In @ W_in)
    Out = Tmp @ W_out
    Out = jax.lax.psum_scatter(Out, "Y", scatter_dimension=1, tiled=True)
    dOut = jax.lax.all_gather(dOut, "Y", axis=1, tiled=True)
    dTmp = dOut @ W_out.T
    dIn = dTmp @ W_in.T
    dIn = jax.lax.psum_scatter(dIn, "Y", scatter_dimension=1, tiled=True)
    return Out, dIn, In.T @ dTmp, Tmp.T @ dOut


# %% cut_between right: JAX turns the gather and the scatter round
def cut_between(In, dOut, W_in, W_out):
    def forward(In, W_in, W_out):
        In = jax.lax.all_gather(In, "Y", axis=1, tiled=True)
        Out = relu(In @ W_in) @ W_out
        return jax.lax.psum_scatter(Out, "Y", scatter_dimension=1, tiled=True)

    Out, back = jax.vjp(forward, In, W_in, W_out)
    return Out, *back(dOut)


# %% cut_between right: both gathers first, of rows of the transposed
def cut_between(In, dOut, W_in, W_out):
    both = jnp.stack([In.T, dOut.T])
    In, dOut = jax.lax.all_gather(both, "Y", axis=1, tiled=True)
    Tmp = relu(W_in.T @ In)
    dTmp = (W_out @ dOut) * (Tmp > 0)
    both = jnp.stack([W_out.T @ Tmp, W_in @ dTmp])
    both = jax.lax.psum_scatter(both, "Y", scatter_dimension=1, tiled=True)
    return both[0].T, both[1].T, In @ dTmp.T, Tmp @ dOut.T


# %% dealt wrong: g is forgotten
def dealt(In, W_Q, W_K, W_V, W_O):
    Q, K, V = (jnp.tensordot(In, W, 1) for W in (W_Q, W_K, W_V))
    Heads = jax.vmap(attend, in_axes=1, out_axes=1)(Q, K, V)
    return jnp.tensordot(Heads, W_O, 2)


# %% dealt wrong: an AllReduce for each head
def dealt(In, W_Q, W_K, W_V, W_O):
    Out = 0
    for n in range(W_Q.shape[1]):
        Q, K, V = (In @ W[:, n] for W in (W_Q, W_K, W_V))
        Out = Out + jax.lax.psum(attend(Q, K, V) @ W_O[n], "Y")
    return Out + jax.lax.psum(0 * Out, "Y")


# %% dealt wrong: the weights are gathered
def dealt(In, W_Q, W_K, W_V, W_O):
    W_Q, W_K, W_V = (
        jax.lax.all_gather(W, "Y", axis=1, tiled=True) for W in (W_Q, W_K, W_V)
    )
    W_O = jax.lax.all_gather(W_O, "Y", axis=0, tiled=True)
    Q, K, V = (jnp.tensordot(In, W, 1) for W in (W_Q, W_K, W_V))
    Heads = jax.vmap(attend, in_axes=1, out_axes=1)(Q, K, V)
    return jnp.tensordot(Heads, W_O, 2)


# %% dealt wrong: all of what the heads found is gathered
def dealt(In, W_Q, W_K, W_V, W_O):
    Q, K, V = (jnp.tensordot(In, W, 1) for W in (W_Q, W_K, W_V))
    Heads = jax.vmap(attend, in_axes=1, out_axes=1)(Q, K, V)
    Heads = jax.lax.all_gather(Heads, "Y", axis=1, tiled=True)
    W_O = jax.lax.all_gather(W_O, "Y", axis=0, tiled=True)
    return jnp.tensordot(Heads, W_O, 2)


# %% dealt wrong: scores are added up over chips
def dealt(In, W_Q, W_K, W_V, W_O):
    Q, K, V = (jnp.tensordot(In, W, 1) for W in (W_Q, W_K, W_V))
    scores = jax.lax.psum(jnp.einsum("ihd,jhd->hij", Q, K), "Y")
    Heads = jnp.einsum("hij,jhd->ihd", relu(scores), V)
    return jax.lax.psum(jnp.tensordot(Heads, W_O, 2), "Y")


# %% dealt wrong: the result is cut
def dealt(In, W_Q, W_K, W_V, W_O):
    Q, K, V = (jnp.tensordot(In, W, 1) for W in (W_Q, W_K, W_V))
    Heads = jax.vmap(attend, in_axes=1, out_axes=1)(Q, K, V)
    Out = jnp.tensordot(Heads, W_O, 2)
    return jax.lax.psum_scatter(Out, "Y", scatter_dimension=1, tiled=True)


# %% dealt right: head by head, added up before it is sent
def dealt(In, W_Q, W_K, W_V, W_O):
    Out = 0
    for n in range(W_Q.shape[1]):
        Q, K, V = (In @ W[:, n] for W in (W_Q, W_K, W_V))
        Out = Out + attend(Q, K, V) @ W_O[n]
    return jax.lax.psum(Out, "Y")


# %% dealt right: the sum as a scatter and a gather
def dealt(In, W_Q, W_K, W_V, W_O):
    Q, K, V = (jnp.einsum("bD,Dhd->hbd", In, W) for W in (W_Q, W_K, W_V))
    Heads = relu(Q @ K.transpose(0, 2, 1)) @ V
    Out = jnp.einsum("hbd,hdD->bD", Heads, W_O)
    part = jax.lax.psum_scatter(Out, "Y", scatter_dimension=1, tiled=True)
    return jax.lax.all_gather(part, "Y", axis=1, tiled=True)


# %% shared_keys wrong: each chip keeps its own part of the gradient
def shared_keys(In, dOut, W_Q, W_K, W_V, W_O):
    me, Y = jax.lax.axis_index("Y"), jax.lax.axis_size("Y")
    mine = me * W_K.shape[1] // Y
    Q, V = jnp.tensordot(In, W_Q, 1), In @ W_V[:, mine]

    def local(W_K):
        K = In @ W_K[:, mine]
        Heads = [attend(Q[:, n], K, V) for n in range(Q.shape[1])]
        return jnp.tensordot(jnp.stack(Heads, 1), W_O, 2)

    Out, back = jax.vjp(local, jax.lax.pcast(W_K, "Y", to="varying"))
    [dW_K] = back(jax.lax.pcast(dOut, "Y", to="varying"))
    return jax.lax.psum(Out, "Y"), dW_K


# %% shared_keys wrong: the first keys for all
def shared_keys(In, dOut, W_Q, W_K, W_V, W_O):
    def forward(W_K):
        K, V = In @ W_K[:, 0], In @ W_V[:, 0]
        Q = jnp.tensordot(In, W_Q, 1)
        Heads = [attend(Q[:, n], K, V) for n in range(Q.shape[1])]
        return jax.lax.psum(jnp.tensordot(jnp.stack(Heads, 1), W_O, 2), "Y")

    Out, back = jax.vjp(forward, W_K)
    return Out, back(dOut)[0]


# %% shared_keys wrong: keys are dealt in turn
def shared_keys(In, dOut, W_Q, W_K, W_V, W_O):
    mine = jax.lax.axis_index("Y") % W_K.shape[1]

    def forward(W_K):
        K, V = In @ W_K[:, mine], In @ W_V[:, mine]
        Q = jnp.tensordot(In, W_Q, 1)
        Heads = [attend(Q[:, n], K, V) for n in range(Q.shape[1])]
        return jax.lax.psum(jnp.tensordot(jnp.stack(Heads, 1), W_O, 2), "Y")

    Out, back = jax.vjp(forward, W_K)
    return Out, back(dOut)[0]


# %% shared_keys wrong: dOut is added up, too
def shared_keys(In, dOut, W_Q, W_K, W_V, W_O):
    me, Y = jax.lax.axis_index("Y"), jax.lax.axis_size("Y")
    mine = me * W_K.shape[1] // Y

    def forward(W_K):
        K, V = In @ W_K[:, mine], In @ W_V[:, mine]
        Q = jnp.tensordot(In, W_Q, 1)
        Heads = [attend(Q[:, n], K, V) for n in range(Q.shape[1])]
        return jax.lax.psum(jnp.tensordot(jnp.stack(Heads, 1), W_O, 2), "Y")

    Out, back = jax.vjp(forward, W_K)
    summed = jax.lax.psum(jax.lax.pcast(dOut, "Y", to="varying"), "Y")
    return Out, back(summed)[0]


# %% shared_keys wrong: a mean over chips
def shared_keys(In, dOut, W_Q, W_K, W_V, W_O):
    me, Y = jax.lax.axis_index("Y"), jax.lax.axis_size("Y")
    mine = me * W_K.shape[1] // Y
    Q, V = jnp.tensordot(In, W_Q, 1), In @ W_V[:, mine]

    def local(W_K):
        K = In @ W_K[:, mine]
        Heads = [attend(Q[:, n], K, V) for n in range(Q.shape[1])]
        return jnp.tensordot(jnp.stack(Heads, 1), W_O, 2)

    Out, back = jax.vjp(local, jax.lax.pcast(W_K, "Y", to="varying"))
    [dW_K] = back(jax.lax.pcast(dOut, "Y", to="varying"))
    return jax.lax.psum(Out, "Y"), jax.lax.pmean(dW_K, "Y")


# %% shared_keys wrong: queries are gathered
def shared_keys(In, dOut, W_Q, W_K, W_V, W_O):
    W_Q = jax.lax.all_gather(W_Q, "Y", axis=1, tiled=True, to="invarying")
    W_O = jax.lax.all_gather(W_O, "Y", axis=0, tiled=True, to="invarying")

    def forward(W_K):
        h, G, Out = W_Q.shape[1], W_K.shape[1], 0
        for n in range(h):
            K, V = In @ W_K[:, n * G // h], In @ W_V[:, n * G // h]
            Out = Out + attend(In @ W_Q[:, n], K, V) @ W_O[n]
        return Out

    Out, back = jax.vjp(forward, W_K)
    return Out, back(dOut)[0]


# %% shared_keys right: JAX knows that a copied weight has a summed gradient
def shared_keys(In, dOut, W_Q, W_K, W_V, W_O):
    me, Y = jax.lax.axis_index("Y"), jax.lax.axis_size("Y")
    mine = me // (Y // W_K.shape[1])

    def forward(W_K):
        K, V = In @ W_K[:, mine], In @ W_V[:, mine]
        Q = jnp.tensordot(In, W_Q, 1)
        Heads = [attend(Q[:, n], K, V) for n in range(Q.shape[1])]
        return jax.lax.psum(jnp.tensordot(jnp.stack(Heads, 1), W_O, 2), "Y")

    Out, back = jax.vjp(forward, W_K)
    return Out, back(dOut)[0]


# %% shared_keys right: the derivative by hand, put in its place by a mask
def shared_keys(In, dOut, W_Q, W_K, W_V, W_O):
    G = W_K.shape[1]
    mine = jax.lax.axis_index("Y") * G // jax.lax.axis_size("Y")
    chosen = (jnp.arange(G) == mine).astype(In.dtype)
    K = In @ jnp.einsum("DGd,G->Dd", W_K, chosen)
    V = In @ jnp.einsum("DGd,G->Dd", W_V, chosen)
    Q = jnp.tensordot(In, W_Q, 1)
    scores = jnp.einsum("ihd,jd->hij", Q, K)
    Heads = jnp.einsum("hij,jd->ihd", relu(scores), V)
    dHeads = jnp.einsum("iD,hdD->ihd", dOut, W_O)
    dScores = jnp.einsum("ihd,jd->hij", dHeads, V) * (scores > 0)
    dK = jnp.einsum("hij,ihd->jd", dScores, Q)
    dW_K = jnp.einsum("jD,jd,G->DGd", In, dK, chosen)
    Out = jnp.tensordot(Heads, W_O, 2)
    return jax.lax.psum((Out, dW_K), "Y")


# %% limit wrong: without the gate
def limit(F, C, link_bw, n_axes, gated, itemsize, rings):
    return F * 2 / itemsize * n_axes * link_bw * (2 if rings else 1) / C


# %% limit wrong: F is both hidden matrices together
def limit(F, C, link_bw, n_axes, gated, itemsize, rings):
    width = 2 * F if gated else F
    return width * 2 / itemsize * n_axes * link_bw * (2 if rings else 1) / C


# %% limit wrong: elements instead of bytes
def limit(F, C, link_bw, n_axes, gated, itemsize, rings):
    width = 1.5 * F if gated else F
    return width * n_axes * link_bw * (2 if rings else 1) / C


# %% limit wrong: precision does not matter, whatever is sent
def limit(F, C, link_bw, n_axes, gated, itemsize, rings):
    width = 1.5 * F if gated else F
    return width * itemsize / 2 * n_axes * 2 * link_bw / C


# %% limit wrong: always rings
def limit(F, C, link_bw, n_axes, gated, itemsize, rings):
    width = 1.5 * F if gated else F
    return width * 2 / itemsize * n_axes * 2 * link_bw / C


# %% limit wrong: one axis only
def limit(F, C, link_bw, n_axes, gated, itemsize, rings):
    width = 1.5 * F if gated else F
    return width * 2 / itemsize * link_bw * (2 if rings else 1) / C


# %% limit wrong: AllReduces for gathers and scatters
def limit(F, C, link_bw, n_axes, gated, itemsize, rings):
    width = 1.5 * F if gated else F
    return width / itemsize * n_axes * link_bw * (2 if rings else 1) / C


# %% limit wrong: upside down
def limit(F, C, link_bw, n_axes, gated, itemsize, rings):
    width = 1.5 * F if gated else F
    W = n_axes * link_bw * (2 if rings else 1)
    return C * itemsize / (2 * W * width)


# %% limit wrong: whole chips
def limit(F, C, link_bw, n_axes, gated, itemsize, rings):
    width = 1.5 * F if gated else F
    W = n_axes * link_bw * (2 if rings else 1)
    return float(int(width * 2 / itemsize * W / C))


# %% limit right: tokens that a chip needs, and what they are worth
def limit(F, C, link_bw, n_axes, gated, itemsize, rings):
    W = link_bw * n_axes
    if rings:
        W *= 2
    needed = C / W * itemsize / 2
    hidden = F + F / 2 if gated else F
    return hidden / needed


# %% limit right: from two times, for some batch
def limit(F, C, link_bw, n_axes, gated, itemsize, rings):
    B, D, Y = 1000.0, 4096.0, 8.0
    math = (3 if gated else 2) * 2 * B * D * F / (Y * C)
    links = 2 * n_axes if rings else n_axes
    comm = 2 * itemsize * B * D / (links * link_bw)
    return Y * (math / comm)


# %% elements wrong: an AllReduce counts once
b, s, h, t = sympy.symbols("b s h t", integer=True, positive=True)
layer = 2 * b * s * h * (t - 1) / t
recomputed = 3 * b * s * h * (t - 1) / t
at_most = 2 * b * s * h

# %% elements wrong: without the factor of a ring
b, s, h, t = sympy.symbols("b s h t", integer=True, positive=True)
layer = 4 * b * s * h
recomputed = 6 * b * s * h
at_most = 4 * b * s * h

# %% elements wrong: halves in a row, as in the chapter
b, s, h, t = sympy.symbols("b s h t", integer=True, positive=True)
layer = 8 * b * s * h * (t - 1) / t
recomputed = 12 * b * s * h * (t - 1) / t
at_most = 8 * b * s * h

# %% elements wrong: one g for both halves, and an f for each
b, s, h, t = sympy.symbols("b s h t", integer=True, positive=True)
layer = 6 * b * s * h * (t - 1) / t
recomputed = 8 * b * s * h * (t - 1) / t
at_most = 6 * b * s * h

# %% elements wrong: everything runs twice
b, s, h, t = sympy.symbols("b s h t", integer=True, positive=True)
layer = 4 * b * s * h * (t - 1) / t
recomputed = 8 * b * s * h * (t - 1) / t
at_most = 4 * b * s * h

# %% elements wrong: recomputation sends nothing
b, s, h, t = sympy.symbols("b s h t", integer=True, positive=True)
layer = 4 * b * s * h * (t - 1) / t
recomputed = layer
at_most = 4 * b * s * h

# %% elements wrong: bytes of float32
b, s, h, t = sympy.symbols("b s h t", integer=True, positive=True)
layer = 16 * b * s * h * (t - 1) / t
recomputed = 24 * b * s * h * (t - 1) / t
at_most = 16 * b * s * h

# %% elements wrong: the limit of the recomputed layer
b, s, h, t = sympy.symbols("b s h t", integer=True, positive=True)
layer = 4 * b * s * h * (t - 1) / t
recomputed = 6 * b * s * h * (t - 1) / t
at_most = 6 * b * s * h

# %% elements wrong: the limit of halves in a row
b, s, h, t = sympy.symbols("b s h t", integer=True, positive=True)
layer = 4 * b * s * h * (t - 1) / t
recomputed = 6 * b * s * h * (t - 1) / t
at_most = 8 * b * s * h

# %% elements right: as text
layer = "4*b*s*h - 4*b*s*h/t"
recomputed = "6*b*s*h*(1 - 1/t)"
at_most = "4*b*h*s"

# %% elements right: one from the other
b, s, h, t = sympy.symbols("b s h t", integer=True, positive=True)
array = b * s * h
scattered = gathered = array - array / t
one_pass = scattered + gathered
layer = sympy.expand(2 * one_pass)
recomputed = layer + one_pass
at_most = sympy.limit(layer, t, sympy.oo)


# %% degree wrong: as if it overlapped
def degree(F, heads, kv_heads, node, C, W, part):
    Y = 1
    while 2 * Y <= node and heads % (2 * Y) == kv_heads % (2 * Y) == 0:
        if 6 * F / (2 * Y * C) < part * 4 / W:
            break
        Y *= 2
    return Y


# %% degree wrong: key-value heads may be copied
def degree(F, heads, kv_heads, node, C, W, part):
    Y = 1
    while 2 * Y <= node and heads % (2 * Y) == 0:
        math, comm = 6 * F / (2 * Y * C), 4 / W
        if math < part * (math + comm):
            break
        Y *= 2
    return Y


# %% degree wrong: no gate
def degree(F, heads, kv_heads, node, C, W, part):
    Y = 1
    while 2 * Y <= node and heads % (2 * Y) == kv_heads % (2 * Y) == 0:
        math, comm = 4 * F / (2 * Y * C), 4 / W
        if math < part * (math + comm):
            break
        Y *= 2
    return Y


# %% degree wrong: beyond the node
def degree(F, heads, kv_heads, node, C, W, part):
    Y = 1
    while heads % (2 * Y) == kv_heads % (2 * Y) == 0:
        math, comm = 6 * F / (2 * Y * C), 4 / W
        if math < part * (math + comm):
            break
        Y *= 2
    return Y


# %% degree wrong: one too many
def degree(F, heads, kv_heads, node, C, W, part):
    Y = 1
    while 2 * Y <= node and heads % (2 * Y) == kv_heads % (2 * Y) == 0:
        math, comm = 6 * F / (Y * C), 4 / W
        if math < part * (math + comm):
            break
        Y *= 2
    return Y


# %% degree wrong: always eight, as everybody does
def degree(F, heads, kv_heads, node, C, W, part):
    return min(8, node)


# %% degree wrong: wires are forgotten
def degree(F, heads, kv_heads, node, C, W, part):
    Y = 1
    while 2 * Y <= node and heads % (2 * Y) == kv_heads % (2 * Y) == 0:
        Y *= 2
    return Y


# %% degree right: from the top
def degree(F, heads, kv_heads, node, C, W, part):
    limit = 1.5 * F * W / C
    for Y in (2**k for k in range(12, 0, -1)):
        share = limit / (limit + Y)
        if Y <= node and heads % Y + kv_heads % Y == 0 and share >= part:
            return Y
    return 1


# %% degree right: as a closed formula
def degree(F, heads, kv_heads, node, C, W, part):
    most = min(node, 1.5 * F * W / C * (1 - part) / part)
    most = int(np.floor(np.log2(max(most, 1))))
    both = int(np.gcd(heads, kv_heads))
    return min(2**most, both & -both)


# %% cut_between wrong: terms are gathered and added
def cut_between(In, dOut, W_in, W_out):
    width, me = In.shape[1], jax.lax.axis_index("Y")

    def whole(x):
        return jax.lax.all_gather(x, "Y", axis=1, tiled=True)

    def mine(term):
        every = jax.lax.all_gather(term, "Y").sum(0)
        return jax.lax.dynamic_slice_in_dim(every, width * me, width, 1)

    In, dOut = whole(In), whole(dOut)
    Tmp = relu(In @ W_in)
    dTmp = (dOut @ W_out.T) * (Tmp > 0)
    return mine(Tmp @ W_out), mine(dTmp @ W_in.T), In.T @ dTmp, Tmp.T @ dOut


# %% degree wrong: longer than that part
def degree(F, heads, kv_heads, node, C, W, part):
    Y = 1
    while 2 * Y <= node and heads % (2 * Y) == kv_heads % (2 * Y) == 0:
        math, comm = 6 * F / (2 * Y * C), 4 / W
        if math <= part * (math + comm):
            break
        Y *= 2
    return Y


# %% degree wrong: AllReduces
def degree(F, heads, kv_heads, node, C, W, part):
    Y = 1
    while 2 * Y <= node and heads % (2 * Y) == kv_heads % (2 * Y) == 0:
        math, comm = 6 * F / (2 * Y * C), 8 / W
        if math < part * (math + comm):
            break
        Y *= 2
    return Y


# %% degree wrong: the node must be made up of groups
def degree(F, heads, kv_heads, node, C, W, part):
    Y = 1
    while node % (2 * Y) == heads % (2 * Y) == kv_heads % (2 * Y) == 0:
        math, comm = 6 * F / (2 * Y * C), 4 / W
        if math < part * (math + comm):
            break
        Y *= 2
    return Y


# %% dealt wrong: the heads of a chip are one wide head
def dealt(In, W_Q, W_K, W_V, W_O):
    B = len(In)
    Q, K, V = (
        jnp.tensordot(In, W, 1).reshape(B, -1) for W in (W_Q, W_K, W_V)
    )
    wide = W_O.reshape(-1, W_O.shape[-1])
    return jax.lax.psum(attend(Q, K, V) @ wide, "Y")


# %% norm_gradients wrong: as the chapter does it, with whole tokens
def norm_gradients(dNormed, In, gain):
    def norm(In, gain):
        square = jnp.mean(In**2, axis=1, keepdims=True)
        return gain * In * jax.lax.rsqrt(square + 1e-6)

    gain = jax.lax.pcast(gain, "X", to="varying")
    dIn, dgain = jax.vjp(norm, In, gain)[1](dNormed)
    return dIn, jax.lax.psum(dgain, "X")


# %% norm_gradients wrong: the mean of g x is a chip's own
def norm_gradients(dNormed, In, gain):
    square = jax.lax.pmean(jnp.mean(In**2, axis=1, keepdims=True), "Y")
    r = 1 / jnp.sqrt(square + 1e-6)
    g = dNormed * gain
    dIn = r * g - In * r**3 * jnp.mean(g * In, axis=1, keepdims=True)
    return dIn, jax.lax.psum(jnp.sum(dNormed * In * r, axis=0), "X")


# %% norm_gradients wrong: the sum over tokens is forgotten
def norm_gradients(dNormed, In, gain):
    def mean(x):
        return jax.lax.pmean(jnp.mean(x, axis=1, keepdims=True), "Y")

    r = 1 / jnp.sqrt(mean(In**2) + 1e-6)
    g = dNormed * gain
    dIn = r * g - In * r**3 * mean(g * In)
    return dIn, jnp.sum(dNormed * In * r, axis=0)


# %% norm_gradients wrong: a mean over tokens' chips
def norm_gradients(dNormed, In, gain):
    def mean(x):
        return jax.lax.pmean(jnp.mean(x, axis=1, keepdims=True), "Y")

    r = 1 / jnp.sqrt(mean(In**2) + 1e-6)
    g = dNormed * gain
    dIn = r * g - In * r**3 * mean(g * In)
    return dIn, jax.lax.pmean(jnp.sum(dNormed * In * r, axis=0), "X")


# %% norm_gradients wrong: the gain is summed over both axes
def norm_gradients(dNormed, In, gain):
    def mean(x):
        return jax.lax.pmean(jnp.mean(x, axis=1, keepdims=True), "Y")

    r = 1 / jnp.sqrt(mean(In**2) + 1e-6)
    g = dNormed * gain
    dIn = r * g - In * r**3 * mean(g * In)
    return dIn, jax.lax.psum(jnp.sum(dNormed * In * r, axis=0), ("X", "Y"))


# %% norm_gradients wrong: the gain is summed over Y
def norm_gradients(dNormed, In, gain):
    def mean(x):
        return jax.lax.pmean(jnp.mean(x, axis=1, keepdims=True), "Y")

    r = 1 / jnp.sqrt(mean(In**2) + 1e-6)
    g = dNormed * gain
    dIn = r * g - In * r**3 * mean(g * In)
    return dIn, jax.lax.psum(jnp.sum(dNormed * In * r, axis=0), "Y")


# %% norm_gradients wrong: features are gathered
def norm_gradients(dNormed, In, gain):
    def mean(x):
        whole = jax.lax.all_gather(x, "Y", axis=1, tiled=True)
        return jnp.mean(whole, axis=1, keepdims=True)

    r = 1 / jnp.sqrt(mean(In**2) + 1e-6)
    g = dNormed * gain
    dIn = r * g - In * r**3 * mean(g * In)
    return dIn, jax.lax.psum(jnp.sum(dNormed * In * r, axis=0), "X")


# %% norm_gradients wrong: the norm is not normalised by the gradient
def norm_gradients(dNormed, In, gain):
    square = jax.lax.pmean(jnp.mean(In**2, axis=1, keepdims=True), "Y")
    r = 1 / jnp.sqrt(square + 1e-6)
    dgain = jax.lax.psum(jnp.sum(dNormed * In * r, axis=0), "X")
    return dNormed * gain * r, dgain


# %% norm_gradients wrong: one mean of all tokens
def norm_gradients(dNormed, In, gain):
    def norm(In, gain):
        r = 1 / jnp.sqrt(jax.lax.pmean(jnp.mean(In**2), ("X", "Y")) + 1e-6)
        return In * r * gain

    return jax.vjp(norm, In, gain)[1](dNormed)


# %% norm_gradients wrong: the gain's gradient has the gain in it
def norm_gradients(dNormed, In, gain):
    def mean(x):
        return jax.lax.pmean(jnp.mean(x, axis=1, keepdims=True), "Y")

    r = 1 / jnp.sqrt(mean(In**2) + 1e-6)
    g = dNormed * gain
    dIn = r * g - In * r**3 * mean(g * In)
    return dIn, jax.lax.psum(jnp.sum(g * In * r, axis=0), "X")


# %% norm_gradients wrong: added up by JAX, and once more
def norm_gradients(dNormed, In, gain):
    def norm(In, gain):
        square = jax.lax.pmean(jnp.mean(In**2, axis=1, keepdims=True), "Y")
        return gain * In * jax.lax.rsqrt(square + 1e-6)

    dIn, dgain = jax.vjp(norm, In, gain)[1](dNormed)
    return dIn, jax.lax.psum(dgain, "X")


# %% norm_gradients wrong: without the 1e-6
def norm_gradients(dNormed, In, gain):
    def mean(x):
        return jax.lax.pmean(jnp.mean(x, axis=1, keepdims=True), "Y")

    r = 1 / jnp.sqrt(mean(In**2))
    g = dNormed * gain
    dIn = r * g - In * r**3 * mean(g * In)
    return dIn, jax.lax.psum(jnp.sum(dNormed * In * r, axis=0), "X")


# %% norm_gradients right: JAX derives it, and adds up by itself
def norm_gradients(dNormed, In, gain):
    def norm(In, gain):
        square = jax.lax.pmean(jnp.mean(In**2, axis=1, keepdims=True), "Y")
        return gain * In * jax.lax.rsqrt(square + 1e-6)

    _, back = jax.vjp(norm, In, gain)
    return back(dNormed)


# %% norm_gradients right: both means in one sum, a ratio of sums
def norm_gradients(dNormed, In, gain):
    g = dNormed * gain
    width = In.shape[1] * jax.lax.axis_size("Y")
    both = jnp.stack([jnp.sum(In * In, 1), jnp.sum(g * In, 1)])
    square, slope = jax.lax.psum(both, "Y") / width
    r = jax.lax.rsqrt(square + 1e-6)[:, None]
    dIn = r * (g - In * r**2 * slope[:, None])
    dgain = jnp.einsum("bd,bd->d", dNormed * r, In)
    return dIn, jax.lax.psum(dgain, "X")


# %% doubled wrong: each drop is from the start
def doubled(drops, chips, sequences):
    left = [1 - drop for drop in drops]
    runs = [
        v * w * min(chips // w, sequences)
        for v, w in zip([1.0, *left], (2, 4, 8, 16, 32, 64, 128))
    ]
    return left, 2 ** (1 + runs.index(max(runs)))


# %% doubled wrong: drops add up
def doubled(drops, chips, sequences):
    left = [1 - sum(drops[: n + 1]) for n in range(len(drops))]
    runs = [
        v * w * min(chips // w, sequences)
        for v, w in zip([1.0, *left], (2, 4, 8, 16, 32, 64, 128))
    ]
    return left, 2 ** (1 + runs.index(max(runs)))


# %% doubled wrong: the fastest chip
def doubled(drops, chips, sequences):
    return np.cumprod(1 - np.array(drops)).tolist(), 2


# %% doubled wrong: the fastest group, as the chapter draws it
def doubled(drops, chips, sequences):
    left = np.cumprod(1 - np.array(drops))
    groups = np.append(1, left) * 2.0 ** np.arange(len(drops) + 1)
    return left.tolist(), int(2 ** (1 + np.argmax(groups)))


# %% doubled wrong: the fewest ways at which no group is idle
def doubled(drops, chips, sequences):
    left, ways = np.cumprod(1 - np.array(drops)).tolist(), 2
    while chips // ways > sequences and ways < 2 ** (len(drops) + 1):
        ways *= 2
    return left, ways


# %% doubled wrong: more chips than there are
def doubled(drops, chips, sequences):
    left = np.cumprod(1 - np.array(drops)).tolist()
    runs = [v * 2**n * sequences for n, v in enumerate([1.0, *left])]
    return left, 2 ** (1 + runs.index(max(runs)))


# %% doubled wrong: stops at the first doubling that does not pay
def doubled(drops, chips, sequences):
    left, ways = [1.0, *np.cumprod(1 - np.array(drops)).tolist()], 2

    def speed(ways):
        n = ways.bit_length() - 2
        return left[n] * ways * min(chips // ways, sequences)

    while ways < 2 ** len(left) and speed(2 * ways) > speed(ways):
        ways *= 2
    return left[1:], ways


# %% doubled wrong: counts doublings, not ways
def doubled(drops, chips, sequences):
    left = [1.0, *np.cumprod(1 - np.array(drops)).tolist()]
    runs = [
        v * 2 ** (n + 1) * min(chips // 2 ** (n + 1), sequences)
        for n, v in enumerate(left)
    ]
    return left[1:], runs.index(max(runs))


# %% doubled wrong: two ways are not among them
def doubled(drops, chips, sequences):
    left = np.cumprod(1 - np.array(drops))
    ways = 4 * 2 ** np.arange(len(left))
    runs = left * ways * np.minimum(chips // ways, sequences)
    return left.tolist(), int(ways[runs.argmax()])


# %% doubled wrong: the most ways
def doubled(drops, chips, sequences):
    return np.cumprod(1 - np.array(drops)).tolist(), 2 ** (len(drops) + 1)


# %% doubled right: with NumPy, all degrees at once
def doubled(drops, chips, sequences):
    left = np.cumprod([1.0, *(1 - np.array(drops))])
    ways = 2 ** np.arange(1, len(left) + 1)
    working = np.minimum(chips, sequences * ways)
    return left[1:].tolist(), int(ways[np.argmax(left * working)])


# %% doubled right: one number at a time
def doubled(drops, chips, sequences):
    def speed(n):
        return speed(n - 1) * (1 - drops[n - 1]) if n else 1.0

    def run(n):
        groups = chips // 2 ** (n + 1)
        idle = max(0, groups - sequences)
        return speed(n) * 2 ** (n + 1) * (groups - idle)

    degrees = range(len(drops) + 1)
    best = max(degrees, key=run)
    return [speed(n) for n in degrees if n], 2 ** (best + 1)
