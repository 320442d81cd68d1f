# Answers that the checks of exercise set 2 must reject or accept.
#
# A cell is titled with the answer cell's grade_id, then `wrong: ` with the
# mistake or `right: ` with what is different. Run by tests/exercises.

# %% edits wrong: gathers the first letter as gladly as the last
def edited(cuts, sums, collective, axis, dim):
    cuts = list(cuts)
    if collective in ("AllReduce", "ReduceScatter"):
        if axis not in sums:
            return "illegal"
        sums = sums.replace(axis, "")
    else:
        if axis not in "".join(cuts):
            return "illegal"
        place = 0 if axis in cuts[0] else 1
        cuts[place] = cuts[place].replace(axis, "")
        if collective == "AllToAll" and dim == place:
            return "illegal"
    if collective in ("ReduceScatter", "AllToAll"):
        cuts[dim] += axis
    return [cuts, sums]


# %% edits wrong: puts the new letter first
def edited(cuts, sums, collective, axis, dim):
    cuts = list(cuts)
    if collective in ("AllReduce", "ReduceScatter"):
        if axis not in sums:
            return "illegal"
        sums = sums.replace(axis, "")
    else:
        places = [d for d in (0, 1) if cuts[d].endswith(axis)]
        if not places or collective == "AllToAll" and dim in places:
            return "illegal"
        cuts[places[0]] = cuts[places[0]][:-1]
    if collective in ("ReduceScatter", "AllToAll"):
        cuts[dim] = axis + cuts[dim]
    return [cuts, sums]


# %% edits wrong: an AllReduce of no sum changes nothing
def edited(cuts, sums, collective, axis, dim):
    cuts = list(cuts)
    if collective in ("AllReduce", "ReduceScatter"):
        sums = sums.replace(axis, "")
    else:
        places = [d for d in (0, 1) if cuts[d].endswith(axis)]
        if not places or collective == "AllToAll" and dim in places:
            return "illegal"
        cuts[places[0]] = cuts[places[0]][:-1]
    if collective in ("ReduceScatter", "AllToAll"):
        cuts[dim] += axis
    return [cuts, sums]


# %% edits wrong: a ReduceScatter removes a subscript
def edited(cuts, sums, collective, axis, dim):
    cuts = list(cuts)
    if collective == "AllReduce":
        if axis not in sums:
            return "illegal"
        return [cuts, sums.replace(axis, "")]
    places = [d for d in (0, 1) if cuts[d].endswith(axis)]
    if not places or collective == "AllToAll" and dim in places:
        return "illegal"
    cuts[places[0]] = cuts[places[0]][:-1]
    if collective == "AllToAll":
        cuts[dim] += axis
    return [cuts, sums]


# %% edits wrong: an AllToAll may move a letter to where it is
def edited(cuts, sums, collective, axis, dim):
    cuts = list(cuts)
    if collective in ("AllReduce", "ReduceScatter"):
        if axis not in sums:
            return "illegal"
        sums = sums.replace(axis, "")
    else:
        places = [d for d in (0, 1) if cuts[d].endswith(axis)]
        if not places:
            return "illegal"
        cuts[places[0]] = cuts[places[0]][:-1]
    if collective in ("ReduceScatter", "AllToAll"):
        cuts[dim] += axis
    return [cuts, sums]


# %% edits wrong: keeps the letter that an AllToAll moves
def edited(cuts, sums, collective, axis, dim):
    cuts = list(cuts)
    if collective in ("AllReduce", "ReduceScatter"):
        if axis not in sums:
            return "illegal"
        sums = sums.replace(axis, "")
    else:
        places = [d for d in (0, 1) if cuts[d].endswith(axis)]
        if not places or collective == "AllToAll" and dim in places:
            return "illegal"
        if collective == "AllGather":
            cuts[places[0]] = cuts[places[0]][:-1]
    if collective in ("ReduceScatter", "AllToAll"):
        cuts[dim] += axis
    return [cuts, sums]


# %% edits wrong: any letter can be gathered, and moved to where it is
def edited(cuts, sums, collective, axis, dim):
    cuts = list(cuts)
    where = [d for d, letters in enumerate(cuts) if axis in letters]
    if collective in ("AllGather", "AllToAll"):
        if not where:
            return "illegal"
        cuts[where[0]] = cuts[where[0]].replace(axis, "")
        if collective == "AllToAll":
            cuts[dim] += axis
    else:
        if axis not in sums:
            return "illegal"
        sums = sums.replace(axis, "")
        if collective == "ReduceScatter":
            cuts[dim] += axis
    return [cuts, sums]


# %% edits by-heart: the cases shown
def edited(cuts, sums, collective, axis, dim):
    case = "".join([*cuts, sums, "|", collective, axis, str(dim)])
    return {
        "X|AllGatherX0": [["", ""], ""],
        "XY|AllReduceY0": [["X", ""], ""],
        "XY|ReduceScatterY1": [["X", "Y"], ""],
        "XY|ReduceScatterY0": [["XY", ""], ""],
        "X|AllToAllX1": [["", "X"], ""],
        "XY|AllToAllX1": [["", "YX"], ""],
        "XY|AllGatherY0": [["X", ""], ""],
        "YX|AllToAllY0": "illegal",
    }.get(case, "illegal")


# %% edits right: by what each collective takes and gives
def edited(cuts, sums, collective, axis, dim):
    takes_sums = collective.endswith(("Reduce", "Scatter"))
    gives_cut = collective in ("ReduceScatter", "AllToAll")
    rows, columns = cuts
    if takes_sums and axis in sums:
        sums = "".join(sorted(set(sums) - {axis}))
    elif (
        not takes_sums and rows.endswith(axis) and not (gives_cut and dim == 0)
    ):
        rows = rows[:-1]
    elif (
        not takes_sums
        and columns.endswith(axis)
        and not (gives_cut and dim == 1)
    ):
        columns = columns[:-1]
    else:
        return "illegal"
    if gives_cut:
        rows, columns = (
            (rows + axis, columns) if dim == 0 else (rows, columns + axis)
        )
    return ([rows, columns], sums)


# %% edits right: a table of functions
def edited(cuts, sums, collective, axis, dim):
    def gather():
        for place, letters in enumerate(cuts):
            if letters[-1:] == axis:
                new = [*cuts]
                new[place] = letters[:-1]
                return new, place
        raise KeyError(axis)

    def pay():
        if axis not in sums:
            raise KeyError(axis)
        return [letter for letter in sums if letter != axis]

    def add(places):
        return [c + axis if d == dim else c for d, c in enumerate(places)]

    def to_all():
        new, place = gather()
        if place == dim:
            raise KeyError(axis)
        return [add(new), sums]

    table = {
        "AllGather": lambda: [gather()[0], sums],
        "AllReduce": lambda: [list(cuts), "".join(pay())],
        "ReduceScatter": lambda: [add(cuts), "".join(pay())],
        "AllToAll": to_all,
    }
    try:
        return table[collective]()
    except KeyError:
        return "illegal"


# %% ring_gather wrong: the library's gather
def ring_gather(A):
    return jax.lax.all_gather(A, "X", axis=1, tiled=True)


# %% ring_gather wrong: made of an AllReduce
def ring_gather(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    mine = jnp.where((jnp.arange(N) == me)[:, None, None], A, 0)
    return jnp.concatenate(jax.lax.psum(mine, "X"), axis=1)


# %% ring_gather wrong: passes whole arrays round
def ring_gather(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    whole = jnp.zeros((N, *A.shape), A.dtype).at[me].set(A)
    for _ in range(N - 1):
        came = jax.lax.ppermute(whole, "X", onward)
        whole = came.at[me].set(A)
    return jnp.concatenate(whole, axis=1)


# %% ring_gather wrong: blocks in the order of their arrival
def ring_gather(A):
    N = jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    received = [A]
    for _ in range(N - 1):
        received.append(jax.lax.ppermute(received[-1], "X", onward))
    return jnp.concatenate(received, axis=1)


# %% ring_gather wrong: sends its own block to everybody, far or near
def ring_gather(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    received = [A]
    for s in range(1, N):
        away = [(chip, (chip + s) % N) for chip in range(N)]
        received.append(jax.lax.ppermute(A, "X", away))
    order = (me - jnp.arange(N)) % N
    return jnp.concatenate(jnp.stack(received)[order], axis=1)


# %% ring_gather wrong: once too often round
def ring_gather(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    received = []
    for _ in range(N):
        A = jax.lax.ppermute(A, "X", onward)
        received.append(A)
    order = (me - 1 - jnp.arange(N)) % N
    return jnp.concatenate(jnp.stack(received)[order], axis=1)


# %% ring_gather wrong: four chips, whatever there are
def ring_gather(A):
    me, N = jax.lax.axis_index("X"), 4
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    received = [A]
    for _ in range(N - 1):
        received.append(jax.lax.ppermute(received[-1], "X", onward))
    order = (me - jnp.arange(N)) % N
    return jnp.concatenate(jnp.stack(received)[order], axis=1)


# %% ring_gather wrong: both ways, where one was asked for
def ring_gather(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    back = [(there, here) for here, there in onward]
    received = {0: A, -1: jax.lax.ppermute(A, "X", back)}
    for hop in range(1, N - 1):
        received[hop] = jax.lax.ppermute(received[hop - 1], "X", onward)
    stacked = jnp.stack([received[k] for k in [*range(N - 1), -1]])
    return jnp.concatenate(stacked[(me - jnp.arange(N)) % N], axis=1)


# %% ring_gather wrong: rows where columns are cut
def ring_gather(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    received = [A]
    for _ in range(N - 1):
        received.append(jax.lax.ppermute(received[-1], "X", onward))
    order = (me - jnp.arange(N)) % N
    return jnp.concatenate(jnp.stack(received)[order])


# %% ring_gather wrong: the blocks stacked, not end to end
def ring_gather(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    received = [A]
    for _ in range(N - 1):
        received.append(jax.lax.ppermute(received[-1], "X", onward))
    order = (me - jnp.arange(N)) % N
    return jnp.stack(received)[order]


# %% ring_gather right: the other way round, written into place
def ring_gather(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    back = [((chip + 1) % N, chip) for chip in range(N)]
    whole = jnp.zeros((N, *A.shape), A.dtype).at[me].set(A)
    for hop in range(1, N):
        A = jax.lax.ppermute(A, "X", back)
        whole = whole.at[(me + hop) % N].set(A)
    return jnp.hstack(list(whole))


# %% ring_gather right: a loop that JAX runs
def ring_gather(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]

    def hop(passing, _):
        came = jax.lax.ppermute(passing, "X", onward)
        return came, came

    _, others = jax.lax.scan(hop, A, length=N - 1)
    received = jnp.concatenate([A[None], others])
    ordered = jnp.roll(received[::-1], me + 1, axis=0)
    return ordered.transpose(1, 0, 2).reshape(len(A), -1)


# %% both_ways wrong: the library's gather
def gather_both_ways(A):
    return jax.lax.all_gather(A, "X", tiled=True)


# %% both_ways wrong: one way only
def gather_both_ways(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    received = [A]
    for _ in range(N - 1):
        received.append(jax.lax.ppermute(received[-1], "X", onward))
    order = (me - jnp.arange(N)) % N
    return jnp.concatenate(jnp.stack(received)[order])


# %% both_ways wrong: every block all round, both ways
def gather_both_ways(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    back = [(chip, (chip - 1) % N) for chip in range(N)]
    behind, ahead = [A], [A]
    for _ in range(N - 1):
        behind.append(jax.lax.ppermute(behind[-1], "X", onward))
        ahead.append(jax.lax.ppermute(ahead[-1], "X", back))
    order = (me - jnp.arange(N)) % N
    return jnp.concatenate(jnp.stack(behind)[order])


# %% both_ways wrong: straight to everybody, by the shorter way
def gather_both_ways(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    received = [A]
    for s in range(1, N):
        away = [(chip, (chip + s) % N) for chip in range(N)]
        received.append(jax.lax.ppermute(A, "X", away))
    order = (me - jnp.arange(N)) % N
    return jnp.concatenate(jnp.stack(received)[order])


# %% both_ways wrong: right for odd numbers of chips only
def gather_both_ways(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    back = [(chip, (chip - 1) % N) for chip in range(N)]
    behind, ahead = [A], [A]
    for _ in range(N // 2):
        behind.append(jax.lax.ppermute(behind[-1], "X", onward))
        ahead.append(jax.lax.ppermute(ahead[-1], "X", back))
    received = jnp.stack(behind + ahead[:0:-1])
    order = (me - jnp.arange(N)) % N
    return jnp.concatenate(received[order])


# %% both_ways wrong: two blocks in one message
def gather_both_ways(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    pair = jnp.stack([A, A])
    received = [A]
    for _ in range(N - 1):
        pair = jax.lax.ppermute(pair, "X", onward)
        received.append(pair[0])
    order = (me - jnp.arange(N)) % N
    return jnp.concatenate(jnp.stack(received)[order])


# %% both_ways wrong: halves, and both of them the same way
def gather_both_ways(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    flat = A.reshape(-1)
    left, right = [flat[: flat.size // 2]], [flat[flat.size // 2 :]]
    for _ in range(N - 1):
        left.append(jax.lax.ppermute(left[-1], "X", onward))
        right.append(jax.lax.ppermute(right[-1], "X", onward))
    order = (me - jnp.arange(N)) % N
    whole = jnp.concatenate([jnp.stack(left), jnp.stack(right)], axis=1)
    return whole[order].reshape(-1, A.shape[1])


# %% both_ways wrong: the block from the opposite chip by one way only
def gather_both_ways(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    back = [(chip, (chip - 1) % N) for chip in range(N)]
    behind, ahead = [A], [A]
    for _ in range(N // 2):
        behind.append(jax.lax.ppermute(behind[-1], "X", onward))
    for _ in range((N - 1) // 2):
        ahead.append(jax.lax.ppermute(ahead[-1], "X", back))
    received = jnp.stack(behind + ahead[:0:-1])
    order = (me - jnp.arange(N)) % N
    return jnp.concatenate(received[order])


# %% both_ways wrong: the halves of the opposite block exchanged
def gather_both_ways(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    back = [(chip, (chip - 1) % N) for chip in range(N)]
    behind, ahead, middle = [A], [A], []
    for _ in range((N - 1) // 2):
        behind.append(jax.lax.ppermute(behind[-1], "X", onward))
        ahead.append(jax.lax.ppermute(ahead[-1], "X", back))
    if N % 2 == 0:
        left, _ = jnp.split(behind[-1], 2, axis=1)
        _, right = jnp.split(ahead[-1], 2, axis=1)
        left = jax.lax.ppermute(left, "X", onward)
        right = jax.lax.ppermute(right, "X", back)
        middle = [jnp.concatenate([right, left], axis=1)]
    received = jnp.stack(behind + middle + ahead[:0:-1])
    return jnp.concatenate(received[(me - jnp.arange(N)) % N])


# %% both_ways right: written into place, rows of the opposite block shared
def gather_both_ways(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    right = [(chip, (chip + 1) % N) for chip in range(N)]
    left = [(there, here) for here, there in right]
    flat = A.reshape(-1)
    whole = jnp.zeros((N, flat.size), A.dtype).at[me].set(flat)
    first = second = flat
    for hop in range(1, (N + 1) // 2):
        first = jax.lax.ppermute(first, "X", left)
        second = jax.lax.ppermute(second, "X", right)
        whole = whole.at[(me + hop) % N].set(first)
        whole = whole.at[(me - hop) % N].set(second)
    if N % 2 == 0:
        middle, far = flat.size // 2, (me + N // 2) % N
        first = jax.lax.ppermute(first[:middle], "X", left)
        second = jax.lax.ppermute(second[middle:], "X", right)
        whole = whole.at[far].set(jnp.concatenate([first, second]))
    return whole.reshape(-1, A.shape[1])


# %% both_ways right: slices of columns, collected in a dict
def gather_both_ways(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    wires = {
        way: [(chip, (chip + way) % N) for chip in range(N)] for way in (1, -1)
    }
    came = {0: A}
    for hop in range(1, (N - 1) // 2 + 1):
        for way in (1, -1):
            last = came[way * (hop - 1)]
            came[way * hop] = jax.lax.ppermute(last, "X", wires[way])
    if N % 2 == 0:
        hop, width = N // 2, A.shape[1] // 2
        parts = [
            jax.lax.ppermute(came[way * (hop - 1)][:, part], "X", wires[way])
            for way, part in ((1, slice(width)), (-1, slice(width, None)))
        ]
        came[hop] = jnp.hstack(parts)
    rows = [came[k] if k in came else came[k - N] for k in range(N)]
    return jnp.concatenate(jnp.stack(rows)[(me - jnp.arange(N)) % N])


# %% both_ways wrong: even numbers of chips only
def gather_both_ways(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    on = [(c, (c + 1) % N) for c in range(N)]
    back = [(c, (c - 1) % N) for c in range(N)]
    behind, ahead = [A], [A]
    for _ in range(N // 2 - 1):
        behind.append(jax.lax.ppermute(behind[-1], "X", on))
        ahead.append(jax.lax.ppermute(ahead[-1], "X", back))
    h = A.shape[1] // 2
    a = jax.lax.ppermute(behind[-1][:, :h], "X", on)
    b = jax.lax.ppermute(ahead[-1][:, h:], "X", back)
    received = jnp.stack(
        behind + [jnp.concatenate([a, b], axis=1)] + ahead[1:][::-1]
    )
    return received[(me - jnp.arange(N)) % N].reshape(-1, A.shape[1])


# %% both_ways wrong: halves of every block go all the way round
def gather_both_ways(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    right = [(chip, (chip + 1) % N) for chip in range(N)]
    left = [(there, here) for here, there in right]
    flat = A.reshape(-1)
    middle = flat.size // 2
    whole = jnp.zeros((N, flat.size), A.dtype).at[me].set(flat)
    first, second = flat[:middle], flat[middle:]
    for hop in range(1, N):
        first = jax.lax.ppermute(first, "X", left)
        second = jax.lax.ppermute(second, "X", right)
        whole = whole.at[(me + hop) % N, :middle].set(first)
        whole = whole.at[(me - hop) % N, middle:].set(second)
    return whole.reshape(-1, A.shape[1])


# %% line_scatter wrong: the library's ReduceScatter
def line_reduce_scatter(C):
    return jax.lax.psum_scatter(C, "X", scatter_dimension=0, tiled=True)


# %% line_scatter wrong: a gather where a scatter was asked for
def line_reduce_scatter(C):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    terms = jax.lax.all_gather(C, "X", tiled=False)
    return jnp.stack(jnp.split(terms.sum(0), N))[me]


# %% line_scatter wrong: an AllReduce, and then a piece of it
def line_reduce_scatter(C):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    return jnp.stack(jnp.split(jax.lax.psum(C, "X"), N))[me]


# %% line_scatter wrong: the ring of the chapter
def line_reduce_scatter(C):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    backward = [(chip, (chip - 1) % N) for chip in range(N)]
    pieces = C.reshape(N, -1, C.shape[1])
    total = pieces[(me + 1) % N]
    for hop in range(2, N + 1):
        total = jax.lax.ppermute(total, "X", backward) + pieces[(me + hop) % N]
    return total


# %% line_scatter wrong: whole terms go along
def line_reduce_scatter(C):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    right = [(chip, chip + 1) for chip in range(N - 1)]
    left = [(chip + 1, chip) for chip in range(N - 1)]
    pieces = jnp.stack(jnp.split(C, N))
    there = back = total = C
    for _ in range(N - 1):
        there = jax.lax.ppermute(there, "X", right)
        back = jax.lax.ppermute(back, "X", left)
        total = total + there + back
    return jnp.stack(jnp.split(total, N))[me]


# %% line_scatter wrong: parts go straight to where they belong
def line_reduce_scatter(C):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    pieces = jnp.stack(jnp.split(C, N))
    total = pieces[me]
    for s in range(1, N):
        away = [(chip, (chip + s) % N) for chip in range(N)]
        total = total + jax.lax.ppermute(pieces[(me + s) % N], "X", away)
    return total


# %% line_scatter wrong: its own term twice
def line_reduce_scatter(C):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    right = [(chip, chip + 1) for chip in range(N - 1)]
    left = [(chip + 1, chip) for chip in range(N - 1)]
    pieces = jnp.stack(jnp.split(C, N))
    onward, back = pieces[(me - 1) % N], pieces[(me + 1) % N]
    for hop in range(2, N + 1):
        onward = jax.lax.ppermute(onward, "X", right) + pieces[(me - hop) % N]
        back = jax.lax.ppermute(back, "X", left) + pieces[(me + hop) % N]
    return onward + back


# %% line_scatter wrong: the terms of one side only
def line_reduce_scatter(C):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    right = [(chip, chip + 1) for chip in range(N - 1)]
    left = [(chip + 1, chip) for chip in range(N - 1)]
    pieces = jnp.stack(jnp.split(C, N))
    onward = pieces[(me - 1) % N]
    for hop in range(2, N + 1):
        onward = jax.lax.ppermute(onward, "X", right) + pieces[(me - hop) % N]
    return onward


# %% line_scatter wrong: the streams exchanged
def line_reduce_scatter(C):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    right = [(chip, chip + 1) for chip in range(N - 1)]
    left = [(chip + 1, chip) for chip in range(N - 1)]
    pieces = jnp.stack(jnp.split(C, N))
    onward, back = pieces[(me + 1) % N], pieces[(me - 1) % N]
    for hop in range(2, N + 1):
        onward = jax.lax.ppermute(onward, "X", right) + pieces[(me + hop) % N]
        back = jax.lax.ppermute(back, "X", left) + pieces[(me - hop) % N]
    return onward + back - pieces[me]


# %% line_scatter wrong: forgets its own term
def line_reduce_scatter(C):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    right = [(chip, chip + 1) for chip in range(N - 1)]
    left = [(chip + 1, chip) for chip in range(N - 1)]
    pieces = jnp.stack(jnp.split(C, N))
    onward, back = pieces[(me - 1) % N], pieces[(me + 1) % N]
    for hop in range(2, N + 1):
        onward = jax.lax.ppermute(onward, "X", right) + pieces[(me - hop) % N]
        back = jax.lax.ppermute(back, "X", left) + pieces[(me + hop) % N]
    return onward + back - 2 * pieces[me]


# %% line_scatter right: what comes from the right without the own term
def line_reduce_scatter(C):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    right = [(chip, chip + 1) for chip in range(N - 1)]
    left = [(chip + 1, chip) for chip in range(N - 1)]
    pieces = jnp.stack(jnp.split(C, N))
    onward, back = pieces[(me - 1) % N], jnp.zeros_like(pieces[0])
    for hop in range(2, N + 1):
        onward = jax.lax.ppermute(onward, "X", right) + pieces[(me - hop) % N]
    for hop in range(1, N):
        back = jax.lax.ppermute(back + pieces[(me + hop) % N], "X", left)
    return onward + back


# %% line_scatter right: pieces rolled into the order of sending
def line_reduce_scatter(C):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    right = [(chip, chip + 1) for chip in range(N - 1)]
    left = [(chip + 1, chip) for chip in range(N - 1)]
    pieces = jnp.stack(jnp.split(C, N))
    there, *rest = jnp.roll(pieces[::-1], me, axis=0)
    for part in rest:
        there = jax.lax.ppermute(there, "X", right) + part
    back, *rest = jnp.roll(pieces, -me - 1, axis=0)
    for part in rest[:-1]:
        back = jax.lax.ppermute(back, "X", left) + part
    return there + jax.lax.ppermute(back, "X", left)


# %% in_two wrong: psum
def all_reduce(C):
    return jax.lax.psum(C, "X")


# %% in_two wrong: gathers all terms and adds them
def all_reduce(C):
    terms = jax.lax.all_gather(C, "X", tiled=False, to="invarying")
    return terms.sum(0)


# %% in_two wrong: always the first dimension
def all_reduce(C):
    piece = jax.lax.psum_scatter(C, "X", scatter_dimension=0, tiled=True)
    return jax.lax.all_gather(piece, "X", axis=0, tiled=True, to="invarying")


# %% in_two wrong: always the last dimension
def all_reduce(C):
    dim = C.ndim - 1
    piece = jax.lax.psum_scatter(C, "X", scatter_dimension=dim, tiled=True)
    return jax.lax.all_gather(piece, "X", axis=dim, tiled=True, to="invarying")


# %% in_two wrong: does not say that all are alike
def all_reduce(C):
    N = jax.lax.axis_size("X")
    dim = [size % N == 0 for size in C.shape].index(True)
    piece = jax.lax.psum_scatter(C, "X", scatter_dimension=dim, tiled=True)
    return jax.lax.all_gather(piece, "X", axis=dim, tiled=True)


# %% in_two wrong: the mean
def all_reduce(C):
    N = jax.lax.axis_size("X")
    dim = [size % N == 0 for size in C.shape].index(True)
    piece = jax.lax.psum_scatter(C, "X", scatter_dimension=dim, tiled=True)
    return jax.lax.all_gather(
        piece / N, "X", axis=dim, tiled=True, to="invarying"
    )


# %% in_two wrong: only the ReduceScatter
def all_reduce(C):
    N = jax.lax.axis_size("X")
    dim = [size % N == 0 for size in C.shape].index(True)
    return jax.lax.psum_scatter(C, "X", scatter_dimension=dim, tiled=True)


# %% in_two wrong: gathers first, and scatters the copies
def all_reduce(C):
    N = jax.lax.axis_size("X")
    dim = [size % N == 0 for size in C.shape].index(True)
    whole = jax.lax.all_gather(C, "X", axis=dim, tiled=True)
    return jax.lax.psum_scatter(whole, "X", scatter_dimension=dim, tiled=True)


# %% in_two right: as one flat vector
def all_reduce(C):
    piece = jax.lax.psum_scatter(
        C.reshape(-1), "X", scatter_dimension=0, tiled=True
    )
    flat = jax.lax.all_gather(piece, "X", axis=0, tiled=True, to="invarying")
    return flat.reshape(C.shape)


# %% in_two right: the dimension first of all
def all_reduce(C):
    N = jax.lax.axis_size("X")
    dim = max(range(C.ndim), key=lambda d: C.shape[d] % N == 0)
    turned = jnp.moveaxis(C, dim, 0)
    turned = turned.reshape(N, -1, *turned.shape[1:])
    piece = jax.lax.psum_scatter(turned, "X", tiled=False)
    whole = jax.lax.all_gather(piece, "X", axis=0, tiled=True, to="invarying")
    return jnp.moveaxis(whole, 0, dim)


# %% exchange wrong: the library's AllToAll
def exchange(A):
    return jax.lax.all_to_all(A, "X", split_axis=0, concat_axis=1, tiled=True)


# %% exchange wrong: gathers everything and cuts its part out
def exchange(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    whole = jax.lax.all_gather(A, "X", axis=1, tiled=True)
    return jnp.stack(jnp.split(whole, N))[me]


# %% exchange wrong: whole blocks go round, and each cuts its part out
def exchange(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    received = [A]
    for _ in range(N - 1):
        received.append(jax.lax.ppermute(received[-1], "X", onward))
    order = (me - jnp.arange(N)) % N
    whole = jnp.concatenate(jnp.stack(received)[order], axis=1)
    return jnp.stack(jnp.split(whole, N))[me]


# %% exchange wrong: parts in the order of their arrival
def exchange(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    parts = jnp.stack(jnp.split(A, N))
    received = [parts[me]]
    for s in range(1, N):
        away = [(chip, (chip + s) % N) for chip in range(N)]
        received.append(jax.lax.ppermute(parts[(me + s) % N], "X", away))
    return jnp.concatenate(received, axis=1)


# %% exchange wrong: sends the part of the wrong device
def exchange(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    parts = jnp.stack(jnp.split(A, N))
    received = [parts[me]]
    for s in range(1, N):
        away = [(chip, (chip + s) % N) for chip in range(N)]
        received.append(jax.lax.ppermute(parts[(me - s) % N], "X", away))
    order = (me - jnp.arange(N)) % N
    return jnp.concatenate(jnp.stack(received)[order], axis=1)


# %% exchange wrong: cuts the columns, not the rows
def exchange(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    parts = A.reshape(N, len(A) // N, -1, order="F")
    received = [parts[me]]
    for s in range(1, N):
        away = [(chip, (chip + s) % N) for chip in range(N)]
        received.append(jax.lax.ppermute(parts[(me + s) % N], "X", away))
    order = (me - jnp.arange(N)) % N
    return jnp.concatenate(jnp.stack(received)[order], axis=1)


# %% exchange right: written into place, the other way round
def exchange(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    rows, width = A.shape[0] // N, A.shape[1]
    parts = A.reshape(N, rows, width)
    result = jnp.zeros((rows, N, width), A.dtype).at[:, me].set(parts[me])
    for s in range(1, N):
        away = [(chip, (chip - s) % N) for chip in range(N)]
        came = jax.lax.ppermute(parts[(me - s) % N], "X", away)
        result = result.at[:, (me + s) % N].set(came)
    return result.reshape(rows, N * width)


# %% exchange right: parts rolled so that number s travels s places
def exchange(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    parts = jnp.roll(jnp.stack(jnp.split(A, N)), -me, axis=0)
    came = [
        jax.lax.ppermute(part, "X", [(c, (c + s) % N) for c in range(N)])
        for s, part in enumerate(parts[1:], start=1)
    ]
    received = jnp.stack([parts[0], *came])
    return jnp.hstack(list(jnp.roll(received[::-1], me + 1, axis=0)))


# %% exchange right: its own part goes to itself, over no wire
def exchange(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    parts = jnp.stack(jnp.split(A, N))
    received = []
    for s in range(N):
        away = [(chip, (chip + s) % N) for chip in range(N)]
        received.append(jax.lax.ppermute(parts[(me + s) % N], "X", away))
    order = (me - jnp.arange(N)) % N
    return jnp.concatenate(jnp.stack(received)[order], axis=1)


# %% gradient wrong: as it was
def gradient(In, Target, Real, W):
    def loss(W):
        error = Real[:, None] * (In @ W - Target)
        return jnp.sum(error**2) / (Real.sum() * error.shape[1])

    return jax.grad(loss)(W) / jax.lax.axis_size("X")


# %% gradient wrong: the mean of means, without its NaN
def gradient(In, Target, Real, W):
    def loss(W):
        error = Real[:, None] * (In @ W - Target)
        rows = jnp.maximum(Real.sum(), 1)
        return jnp.sum(error**2) / (rows * error.shape[1])

    return jax.grad(loss)(W) / jax.lax.axis_size("X")


# %% gradient wrong: padding counts as well
def gradient(In, Target, Real, W):
    def loss(W):
        return jnp.sum(Real[:, None] * (In @ W - Target) ** 2)

    rows = In.shape[0] * jax.lax.axis_size("X")
    return jax.grad(loss)(W) / (rows * Target.shape[1])


# %% gradient wrong: summed twice
def gradient(In, Target, Real, W):
    def loss(W):
        return jnp.sum(Real[:, None] * (In @ W - Target) ** 2)

    rows = jax.lax.psum(Real.sum(), "X")
    return jax.lax.psum(jax.grad(loss)(W), "X") / (rows * Target.shape[1])


# %% gradient wrong: a mean over devices of what is a sum
def gradient(In, Target, Real, W):
    def loss(W):
        return jnp.sum(Real[:, None] * (In @ W - Target) ** 2)

    rows = jax.lax.psum(Real.sum(), "X")
    dW = jax.grad(loss)(W) / jax.lax.axis_size("X")
    return dW / (rows * Target.shape[1])


# %% gradient wrong: the sum over columns
def gradient(In, Target, Real, W):
    def loss(W):
        return jnp.sum(Real[:, None] * (In @ W - Target) ** 2)

    return jax.grad(loss)(W) / jax.lax.psum(Real.sum(), "X")


# %% gradient wrong: padding has an error, too
def gradient(In, Target, Real, W):
    def loss(W):
        return jnp.sum((In @ W - Target) ** 2)

    rows = jax.lax.psum(Real.sum(), "X")
    return jax.grad(loss)(W) / (rows * Target.shape[1])


# %% gradient wrong: each device its own term
def gradient(In, Target, Real, W):
    W = jax.lax.pcast(W, "X", to="varying")

    def loss(W):
        return jnp.sum(Real[:, None] * (In @ W - Target) ** 2)

    rows = jax.lax.psum(Real.sum(), "X")
    return jax.grad(loss)(W) / (rows * Target.shape[1])


# %% gradient wrong: gathers the batch
def gradient(In, Target, Real, W):
    In, Target, Real = (
        jax.lax.all_gather(x, "X", tiled=True, to="invarying")
        for x in (In, Target, Real)
    )

    def loss(W):
        return jnp.sum(Real[:, None] * (In @ W - Target) ** 2)

    return jax.grad(loss)(W) / (Real.sum() * Target.shape[1])


# %% gradient right: varies first, then the sum over devices
def gradient(In, Target, Real, W):
    W = jax.lax.pcast(W, "X", to="varying")

    def loss(W):
        return jnp.sum(Real[:, None] * (In @ W - Target) ** 2)

    dW, rows = jax.lax.psum((jax.grad(loss)(W), Real.sum()), "X")
    return dW / (rows * Target.shape[1])


# %% gradient right: by hand
def gradient(In, Target, Real, W):
    error = Real[:, None] * (In @ W - Target)
    everywhere = jax.lax.psum(Real.sum(), "X") * Target.shape[1]
    return jax.lax.psum(2 / everywhere * In.T @ error, "X")


# %% matrices wrong: the gather repeats numbers, not blocks
def all_gather_matrix(N, n):
    return np.kron(np.eye(N * n), np.ones((N, 1)))


def reduce_scatter_matrix(N, n):
    return all_gather_matrix(N, n).T


def all_to_all_matrix(N, n):
    parts = np.arange(N * N).reshape(N, N)
    return np.kron(np.eye(N * N)[parts.T.ravel()], np.eye(n))


# %% matrices wrong: gather and scatter exchanged
def all_gather_matrix(N, n):
    return np.kron(np.ones((1, N)), np.eye(N * n))


def reduce_scatter_matrix(N, n):
    return np.kron(np.ones((N, 1)), np.eye(N * n))


def all_to_all_matrix(N, n):
    parts = np.arange(N * N).reshape(N, N)
    return np.kron(np.eye(N * N)[parts.T.ravel()], np.eye(n))


# %% matrices wrong: an AllToAll that stays at home
def all_gather_matrix(N, n):
    return np.kron(np.ones((N, 1)), np.eye(N * n))


def reduce_scatter_matrix(N, n):
    return np.kron(np.ones((1, N)), np.eye(N * n))


def all_to_all_matrix(N, n):
    return np.eye(N * N * n)


# %% matrices wrong: a transposition of numbers, not of parts
def all_gather_matrix(N, n):
    return np.kron(np.ones((N, 1)), np.eye(N * n))


def reduce_scatter_matrix(N, n):
    return np.kron(np.ones((1, N)), np.eye(N * n))


def all_to_all_matrix(N, n):
    numbers = np.arange(N * N * n).reshape(N, N * n)
    return np.eye(N * N * n)[numbers.T.ravel()]


# %% matrices wrong: a mean where a sum belongs
def all_gather_matrix(N, n):
    return np.kron(np.ones((N, 1)), np.eye(N * n))


def reduce_scatter_matrix(N, n):
    return np.linalg.pinv(all_gather_matrix(N, n))


def all_to_all_matrix(N, n):
    parts = np.arange(N * N).reshape(N, N)
    return np.kron(np.eye(N * N)[parts.T.ravel()], np.eye(n))


# %% matrices wrong: four devices
def all_gather_matrix(N, n):
    return np.kron(np.ones((4, 1)), np.eye(4 * n))


def reduce_scatter_matrix(N, n):
    return np.kron(np.ones((1, 4)), np.eye(4 * n))


def all_to_all_matrix(N, n):
    parts = np.arange(16).reshape(4, 4)
    return np.kron(np.eye(16)[parts.T.ravel()], np.eye(n))


# %% matrices right: by tiling
def all_gather_matrix(N, n):
    return np.concatenate([np.eye(N * n)] * N)


def reduce_scatter_matrix(N, n):
    return np.concatenate([np.eye(N * n)] * N, axis=1)


def all_to_all_matrix(N, n):
    unit = np.eye(N * N * n).reshape(N, N, n, -1)
    return unit.swapaxes(0, 1).reshape(N * N * n, -1)


# %% matrices right: entry by entry
def all_gather_matrix(N, n):
    A = np.zeros((N * N * n, N * n), dtype=int)
    for device in range(N):
        for k in range(N * n):
            A[device * N * n + k, k] = 1
    return A


def reduce_scatter_matrix(N, n):
    A = np.zeros((N * n, N * N * n), dtype=int)
    for device in range(N):
        for k in range(N * n):
            A[k, device * N * n + k] = 1
    return A


def all_to_all_matrix(N, n):
    A = np.zeros((N * N * n, N * N * n), dtype=int)
    for a in range(N):
        for b in range(N):
            for k in range(n):
                A[(b * N + a) * n + k, (a * N + b) * n + k] = 1
    return A


# %% formulas wrong: the limits for many chips
V, N = sympy.symbols("V N", positive=True, integer=True)
gather_sent = V
reduce_sent = 2 * V
exchange_sent = V / N
naive_sent = N * V

# %% formulas wrong: bytes are counted where they are stored
V, N = sympy.symbols("V N", positive=True, integer=True)
gather_sent = V / N
reduce_sent = V
exchange_sent = V / N
naive_sent = V

# %% formulas wrong: the conventional quarter
V, N = sympy.symbols("V N", positive=True, integer=True)
gather_sent = V * (N - 1) / N
reduce_sent = 2 * V * (N - 1) / N
exchange_sent = V / 4
naive_sent = V * (N - 1)

# %% formulas wrong: an AllReduce as dear as one half
V, N = sympy.symbols("V N", positive=True, integer=True)
gather_sent = V * (N - 1) / N
reduce_sent = V * (N - 1) / N
exchange_sent = V * (N - 1) / N**2
naive_sent = V * (N - 1)

# %% formulas wrong: V is one chip's block
V, N = sympy.symbols("V N", positive=True, integer=True)
gather_sent = V * (N - 1)
reduce_sent = 2 * V * (N - 1)
exchange_sent = V * (N - 1) / N
naive_sent = V * (N - 1) * N

# %% formulas wrong: all chips together
V, N = sympy.symbols("V N", positive=True, integer=True)
gather_sent = V * (N - 1)
reduce_sent = 2 * V * (N - 1)
exchange_sent = V * (N - 1) / N
naive_sent = V * (N - 1) * N

# %% formulas right: what is sent is what is not kept
V, N = sympy.symbols("V N", positive=True, integer=True)
gather_sent = V - V / N
reduce_sent = 2 * gather_sent
exchange_sent = gather_sent / N
naive_sent = N * V - V

# %% formulas right: as text
gather_sent = "(1 - 1/N) * V"
reduce_sent = "2*V*(1 - 1/N)"
exchange_sent = "V/N - V/N**2"
naive_sent = "V*(N - 1)"

# %% plans wrong: an AllReduce over each axis, nodes last
gpu_plan = [["AllReduce", "Y", 0], ["AllReduce", "X", 0]]
tpu_plan = [["ReduceScatter", "Y", 1], ["ReduceScatter", "X", 0]]

# %% plans wrong: the network first
gpu_plan = [
    ["ReduceScatter", "X", 0],
    ["AllReduce", "Y", 0],
    ["AllGather", "X", 0],
]
tpu_plan = [["ReduceScatter", "Y", 1], ["ReduceScatter", "X", 0]]

# %% plans wrong: no sum over the nodes
gpu_plan = [["ReduceScatter", "Y", 0], ["AllGather", "Y", 0]]
tpu_plan = [["ReduceScatter", "Y", 1], ["ReduceScatter", "X", 0]]

# %% plans wrong: gathers what nothing has cut
gpu_plan = [
    ["AllGather", "Y", 0],
    ["AllReduce", "X", 0],
    ["AllReduce", "Y", 0],
]
tpu_plan = [["ReduceScatter", "Y", 1], ["ReduceScatter", "X", 0]]

# %% plans wrong: gathers the letters in the wrong order
gpu_plan = [
    ["ReduceScatter", "Y", 0],
    ["ReduceScatter", "X", 0],
    ["AllGather", "Y", 0],
    ["AllGather", "X", 0],
]
tpu_plan = [["ReduceScatter", "Y", 1], ["ReduceScatter", "X", 0]]

# %% plans wrong: the line first
gpu_plan = [
    ["ReduceScatter", "Y", 0],
    ["AllReduce", "X", 0],
    ["AllGather", "Y", 0],
]
tpu_plan = [["ReduceScatter", "X", 0], ["ReduceScatter", "Y", 1]]

# %% plans wrong: rows and columns exchanged
gpu_plan = [
    ["ReduceScatter", "Y", 0],
    ["AllReduce", "X", 0],
    ["AllGather", "Y", 0],
]
tpu_plan = [["ReduceScatter", "Y", 0], ["ReduceScatter", "X", 1]]

# %% plans wrong: stops at the sum over the ring
gpu_plan = [
    ["ReduceScatter", "Y", 0],
    ["AllReduce", "X", 0],
    ["AllGather", "Y", 0],
]
tpu_plan = [["ReduceScatter", "Y", 1]]

# %% plans right: scattered over nodes, too
gpu_plan = [
    ["ReduceScatter", "Y", 1],
    ["ReduceScatter", "X", 0],
    ["AllGather", "X", 0],
    ["AllGather", "Y", 1],
]
tpu_plan = [["ReduceScatter", "Y", 1], ["ReduceScatter", "X", 0]]

# %% plans right: tuples, and the other dimension
gpu_plan = (
    ("ReduceScatter", "Y", 1),
    ("AllReduce", "X", 1),
    ("AllGather", "Y", 1),
)
tpu_plan = (("ReduceScatter", "Y", 1), ("ReduceScatter", "X", 0))

# %% edits equivalent: line 5: `('AllReduce', 'ReduceScatter')` is reversed
# A name is among two names in whatever order they stand.

# %% edits equivalent: line 16: `('ReduceScatter', 'AllToAll')` is reversed
# A name is among two names in whatever order they stand.

# %% ring_gather equivalent: line 9: `(me - jnp.arange(N)) % N` loses its right side
# A negative index counts from the end, as the remainder would.

# %% plans equivalent: line 5: 0 becomes 1
# A sum may be cut along either dimension, if it is gathered along the same.

# %% plans equivalent: line 6: 0 becomes 1
# An AllReduce adds no subscript, so its dim means nothing.

# %% plans equivalent: line 7: 0 becomes 1
# A gather adds no subscript, so its dim means nothing.

# %% both_ways equivalent: line 6: `(chip - 1) % N` loses its right side
# JAX takes device -1 for the last one.

# %% both_ways equivalent: line 18: `(me - jnp.arange(N)) % N` loses its right side
# A negative index counts from the end, as the remainder would.

# %% line_scatter equivalent: line 8: `(me - 1) % N` loses its left side
# Chip 0 alone starts with a piece that lands in a sum, the last one.

# %% line_scatter equivalent: line 8: `(me - 1) % N` loses its right side
# Chip 0 alone starts with a piece that lands in a sum, the last one.

# %% line_scatter equivalent: line 8: `(me - 1) % N` with another operation
# Chip 0 alone starts with a piece that lands in a sum, the last one.

# %% line_scatter equivalent: line 10: `(me - hop) % N` loses its right side
# A negative index counts from the end, as the remainder would.

# %% exchange equivalent: line 10: `(me - jnp.arange(N)) % N` loses its right side
# A negative index counts from the end, as the remainder would.
