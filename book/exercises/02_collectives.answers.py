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


# %% edits wrong: a ReduceScatter of no sum adds a subscript
def edited(cuts, sums, collective, axis, dim):
    cuts = list(cuts)
    if collective in ("AllReduce", "ReduceScatter"):
        if axis not in sums and collective == "AllReduce":
            return "illegal"
        sums = sums.replace(axis, "")
    else:
        places = [d for d in (0, 1) if cuts[d].endswith(axis)]
        if not places:
            return "illegal"
        if collective == "AllToAll" and dim in places:
            return "illegal"
        cuts[places[0]] = cuts[places[0]][:-1]
    if collective in ("ReduceScatter", "AllToAll"):
        cuts[dim] += axis
    return [cuts, sums]


# %% edits wrong: an AllToAll adds the letter of an axis that cuts nothing
def edited(cuts, sums, collective, axis, dim):
    cuts = list(cuts)
    if collective in ("AllReduce", "ReduceScatter"):
        if axis not in sums:
            return "illegal"
        sums = sums.replace(axis, "")
    else:
        places = [d for d in (0, 1) if cuts[d].endswith(axis)]
        if not places and (collective == "AllGather" or axis in "".join(cuts)):
            return "illegal"
        if collective == "AllToAll" and dim in places:
            return "illegal"
        if places:
            cuts[places[0]] = cuts[places[0]][:-1]
    if collective in ("ReduceScatter", "AllToAll"):
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


# %% line_gather wrong: the library's gather
def line_gather(A):
    return jax.lax.all_gather(A, "X", axis=1, tiled=True)


# %% line_gather wrong: made of an AllReduce
def line_gather(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    mine = jnp.where((jnp.arange(N) == me)[:, None, None], A, 0)
    return jnp.concatenate(jax.lax.psum(mine, "X"), axis=1)


# %% line_gather wrong: the ring of the chapter, along columns
def line_gather(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    received = [A]
    for _ in range(N - 1):
        received.append(jax.lax.ppermute(received[-1], "X", onward))
    order = (me - jnp.arange(N)) % N
    return jnp.concatenate(jnp.stack(received)[order], axis=1)


# %% line_gather wrong: the ring both ways of the chapter, along columns
def line_gather(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    backward = [(chip, (chip - 1) % N) for chip in range(N)]
    behind, ahead = [A], [A]
    for _ in range(N // 2):
        behind.append(jax.lax.ppermute(behind[-1], "X", onward))
    for _ in range((N - 1) // 2):
        ahead.append(jax.lax.ppermute(ahead[-1], "X", backward))
    received = jnp.stack(behind + ahead[1:][::-1])
    order = (me - jnp.arange(N)) % N
    return jnp.concatenate(received[order], axis=1)


# %% line_gather wrong: the ring with one wire cut
def line_gather(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    right = [(chip, chip + 1) for chip in range(N - 1)]
    received = [A]
    for _ in range(N - 1):
        received.append(jax.lax.ppermute(received[-1], "X", right))
    order = (me - jnp.arange(N)) % N
    return jnp.concatenate(jnp.stack(received)[order], axis=1)


# %% line_gather wrong: passes whole arrays along
def line_gather(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    right = [(chip, chip + 1) for chip in range(N - 1)]
    left = [(chip + 1, chip) for chip in range(N - 1)]
    whole = jnp.zeros((N, *A.shape), A.dtype).at[me].set(A)
    for _ in range(N - 1):
        onward = jax.lax.ppermute(whole, "X", right)
        back = jax.lax.ppermute(whole, "X", left)
        whole = jnp.where(whole != 0, whole, onward + back)
    return jnp.concatenate(whole, axis=1)


# %% line_gather wrong: zeros overwrite what came from the left
def line_gather(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    right = [(chip, chip + 1) for chip in range(N - 1)]
    left = [(there, here) for here, there in right]
    whole = jnp.zeros((N, *A.shape), A.dtype).at[me].set(A)
    onward = back = A
    for hop in range(1, N):
        onward = jax.lax.ppermute(onward, "X", right)
        whole = whole.at[(me - hop) % N].set(onward)
    for hop in range(1, N):
        back = jax.lax.ppermute(back, "X", left)
        whole = whole.at[(me + hop) % N].set(back)
    return jnp.concatenate(whole, axis=1)


# %% line_gather wrong: zeros overwrite now from the left, now from the right
def line_gather(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    right = [(chip, chip + 1) for chip in range(N - 1)]
    left = [(there, here) for here, there in right]
    whole = jnp.zeros((N, *A.shape), A.dtype).at[me].set(A)
    onward = back = A
    for hop in range(1, N):
        onward = jax.lax.ppermute(onward, "X", right)
        back = jax.lax.ppermute(back, "X", left)
        whole = whole.at[(me - hop) % N].set(onward)
        whole = whole.at[(me + hop) % N].set(back)
    return jnp.concatenate(whole, axis=1)


# %% line_gather wrong: what came from the left for what came from the right
def line_gather(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    right = [(chip, chip + 1) for chip in range(N - 1)]
    left = [(chip + 1, chip) for chip in range(N - 1)]
    behind, ahead = [A], [A]
    for _ in range(N - 1):
        behind.append(jax.lax.ppermute(behind[-1], "X", right))
        ahead.append(jax.lax.ppermute(ahead[-1], "X", left))
    received = jnp.stack(ahead + behind[:0:-1])
    return jnp.concatenate(received[me - jnp.arange(N)], axis=1)


# %% line_gather wrong: its own block twice
def line_gather(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    right = [(chip, chip + 1) for chip in range(N - 1)]
    left = [(chip + 1, chip) for chip in range(N - 1)]
    whole = jnp.zeros((N, *A.shape), A.dtype).at[me].add(2 * A)
    onward = back = A
    for hop in range(1, N):
        onward = jax.lax.ppermute(onward, "X", right)
        back = jax.lax.ppermute(back, "X", left)
        whole = whole.at[(me - hop) % N].add(onward)
        whole = whole.at[(me + hop) % N].add(back)
    return jnp.concatenate(whole, axis=1)


# %% line_gather wrong: sends its own block to everybody, far or near
def line_gather(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    received = [A]
    for s in range(1, N):
        away = [(chip, (chip + s) % N) for chip in range(N)]
        received.append(jax.lax.ppermute(A, "X", away))
    order = (me - jnp.arange(N)) % N
    return jnp.concatenate(jnp.stack(received)[order], axis=1)


# %% line_gather wrong: rows where columns are cut
def line_gather(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    right = [(chip, chip + 1) for chip in range(N - 1)]
    left = [(chip + 1, chip) for chip in range(N - 1)]
    behind, ahead = [A], [A]
    for _ in range(N - 1):
        behind.append(jax.lax.ppermute(behind[-1], "X", right))
        ahead.append(jax.lax.ppermute(ahead[-1], "X", left))
    received = jnp.stack(behind + ahead[:0:-1])
    return jnp.concatenate(received[me - jnp.arange(N)])


# %% line_gather right: added into place, where zeros do no harm
def line_gather(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    right = [(chip, chip + 1) for chip in range(N - 1)]
    left = [(there, here) for here, there in right]
    whole = jnp.zeros((N, *A.shape), A.dtype).at[me].set(A)
    onward = back = A
    for hop in range(1, N):
        onward = jax.lax.ppermute(onward, "X", right)
        back = jax.lax.ppermute(back, "X", left)
        whole = whole.at[(me - hop) % N].add(onward)
        whole = whole.at[(me + hop) % N].add(back)
    return jnp.hstack(list(whole))


# %% line_gather right: loops that JAX runs, and a choice by place
def line_gather(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    right = [(chip, chip + 1) for chip in range(N - 1)]
    left = [(chip + 1, chip) for chip in range(N - 1)]

    def came(pairs):
        def hop(passing, _):
            new = jax.lax.ppermute(passing, "X", pairs)
            return new, new

        _, others = jax.lax.scan(hop, A, length=N - 1)
        return jnp.concatenate([A[None], others])

    place = jnp.arange(N)
    behind = came(right)[jnp.abs(me - place)]
    ahead = came(left)[jnp.abs(me - place)]
    whole = jnp.where((place <= me)[:, None, None], behind, ahead)
    return whole.transpose(1, 0, 2).reshape(len(A), -1)


# %% line_gather right: nothing is sent that nobody lacks
def line_gather(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    whole = jnp.zeros((*A.shape[:1], N, A.shape[1]), A.dtype).at[:, me].set(A)
    onward = back = A
    for hop in range(1, N):
        right = [(chip, chip + 1) for chip in range(hop - 1, N - 1)]
        left = [(chip + 1, chip) for chip in range(N - hop)]
        onward = jax.lax.ppermute(onward, "X", right)
        back = jax.lax.ppermute(back, "X", left)
        whole = whole.at[:, me - hop].add(onward)
        whole = whole.at[:, (me + hop) % N].add(back)
    return whole.reshape(len(A), -1)


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
    return jax.lax.all_gather(C, "X", to="invarying").sum(axis=0)


# %% in_two wrong: the dimension that N divides
def all_reduce(C):
    N = jax.lax.axis_size("X")
    dim = [size % N == 0 for size in C.shape].index(True)
    piece = jax.lax.psum_scatter(C, "X", scatter_dimension=dim, tiled=True)
    return jax.lax.all_gather(piece, "X", axis=dim, tiled=True, to="invarying")


# %% in_two wrong: pads rows
def all_reduce(C):
    N = jax.lax.axis_size("X")
    pad = [(0, -len(C) % N)] + [(0, 0)] * (C.ndim - 1)
    piece = jax.lax.psum_scatter(jnp.pad(C, pad), "X", tiled=True)
    whole = jax.lax.all_gather(piece, "X", tiled=True, to="invarying")
    return whole[: len(C)]


# %% in_two wrong: pads where nothing is missing
def all_reduce(C):
    N, flat = jax.lax.axis_size("X"), C.ravel()
    flat = jnp.pad(flat, (0, N - flat.size % N))
    piece = jax.lax.psum_scatter(flat, "X", tiled=True)
    whole = jax.lax.all_gather(piece, "X", tiled=True, to="invarying")
    return whole[: C.size].reshape(C.shape)


# %% in_two wrong: the rest is cut off
def all_reduce(C):
    N, flat = jax.lax.axis_size("X"), C.ravel()
    flat = flat[: flat.size // N * N]
    piece = jax.lax.psum_scatter(flat, "X", tiled=True)
    whole = jax.lax.all_gather(piece, "X", tiled=True, to="invarying")
    whole = jnp.pad(whole, (0, C.size - whole.size))
    return whole.reshape(C.shape)


# %% in_two wrong: pads in front, and takes the front
def all_reduce(C):
    N, flat = jax.lax.axis_size("X"), C.ravel()
    flat = jnp.pad(flat, (-flat.size % N, 0))
    piece = jax.lax.psum_scatter(flat, "X", tiled=True)
    whole = jax.lax.all_gather(piece, "X", tiled=True, to="invarying")
    return whole[: C.size].reshape(C.shape)


# %% in_two wrong: pads to a multiple of N numbers for each device
def all_reduce(C):
    N, flat = jax.lax.axis_size("X"), C.ravel()
    flat = jnp.pad(flat, (0, -flat.size % N**2))
    piece = jax.lax.psum_scatter(flat, "X", tiled=True)
    whole = jax.lax.all_gather(piece, "X", tiled=True, to="invarying")
    return whole[: C.size].reshape(C.shape)


# %% in_two wrong: does not say that all are alike
def all_reduce(C):
    N, flat = jax.lax.axis_size("X"), C.ravel()
    flat = jnp.pad(flat, (0, -flat.size % N))
    piece = jax.lax.psum_scatter(flat, "X", tiled=True)
    whole = jax.lax.all_gather(piece, "X", tiled=True)
    return whole[: C.size].reshape(C.shape)


# %% in_two wrong: the mean
def all_reduce(C):
    N, flat = jax.lax.axis_size("X"), C.ravel()
    flat = jnp.pad(flat, (0, -flat.size % N))
    piece = jax.lax.psum_scatter(flat, "X", tiled=True)
    piece = piece / N
    whole = jax.lax.all_gather(piece, "X", tiled=True, to="invarying")
    return whole[: C.size].reshape(C.shape)


# %% in_two wrong: gathers first, and scatters the copies
def all_reduce(C):
    N, flat = jax.lax.axis_size("X"), C.ravel()
    flat = jnp.pad(flat, (0, -flat.size % N))
    whole = jax.lax.all_gather(flat, "X").sum(axis=0)
    piece = jax.lax.psum_scatter(whole, "X", tiled=True) / N
    return jax.lax.all_gather(piece, "X", tiled=True, to="invarying")


# %% in_two right: rows of N numbers, the last one filled
def all_reduce(C):
    N = jax.lax.axis_size("X")
    rows = -(-C.size // N)
    filled = jnp.zeros(rows * N, C.dtype).at[: C.size].set(C.ravel())
    columns = filled.reshape(rows, N)
    piece = jax.lax.psum_scatter(columns, "X", scatter_dimension=1)
    whole = jax.lax.all_gather(piece, "X", axis=1, to="invarying")
    return whole.ravel()[: C.size].reshape(C.shape)


# %% in_two right: zeros in front
def all_reduce(C):
    N = jax.lax.axis_size("X")
    more = jnp.zeros(-C.size % N, C.dtype)
    flat = jnp.concatenate([more, C.reshape(-1)])
    piece = jax.lax.psum_scatter(flat.reshape(N, -1), "X")
    whole = jax.lax.all_gather(piece, "X", to="invarying")
    return whole.reshape(-1)[more.size :].reshape(C.shape)


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


# %% exchange wrong: the shifts of the chapter, with the axes exchanged
def exchange(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    parts = jnp.stack(jnp.split(A, N))
    received = [parts[me]]
    for s in range(1, N):
        away = [(chip, (chip + s) % N) for chip in range(N)]
        received.append(jax.lax.ppermute(parts[(me + s) % N], "X", away))
    order = (me - jnp.arange(N)) % N
    return jnp.concatenate(jnp.stack(received)[order], axis=1)


# %% exchange wrong: the shifts of the chapter, hop by hop
def exchange(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    parts = jnp.stack(jnp.split(A, N))
    received = [parts[me]]
    for s in range(1, N):
        part = parts[(me + s) % N]
        for _ in range(s):
            part = jax.lax.ppermute(part, "X", onward)
        received.append(part)
    order = (me - jnp.arange(N)) % N
    return jnp.concatenate(jnp.stack(received)[order], axis=1)


# %% exchange wrong: parts in the order of their arrival
def exchange(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    parts = jnp.stack(jnp.split(A, N))
    message = parts[(me - 1) % N][None]
    for hop in range(2, N + 1):
        came = jax.lax.ppermute(message, "X", onward)
        own = parts[(me - hop) % N][None]
        message = jnp.concatenate([came, own])
    return jnp.concatenate(message, axis=1)


# %% exchange wrong: the parts with the shortest way first
def exchange(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    parts = jnp.stack(jnp.split(A, N))
    message = parts[(me + 1) % N][None]
    for hop in range(2, N + 1):
        came = jax.lax.ppermute(message, "X", onward)
        own = parts[(me + hop) % N][None]
        message = jnp.concatenate([came, own])
    order = (jnp.arange(N) - me - 1) % N
    return jnp.concatenate(message[order], axis=1)


# %% exchange wrong: its own part first, in the order of the others
def exchange(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    parts = jnp.stack(jnp.split(A, N))
    message = parts[(me - 1) % N][None]
    for hop in range(2, N + 1):
        came = jax.lax.ppermute(message, "X", onward)
        own = parts[(me - hop) % N][None]
        message = jnp.concatenate([came, own])
    order = (jnp.arange(N) - me) % N
    return jnp.concatenate(message[order], axis=1)


# %% exchange wrong: the parts from behind, taken for those from ahead
def exchange(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    parts = jnp.stack(jnp.split(A, N))
    message = parts[(me - 1) % N][None]
    for hop in range(2, N + 1):
        came = jax.lax.ppermute(message, "X", onward)
        own = parts[(me - hop) % N][None]
        message = jnp.concatenate([own, came])
    order = (jnp.arange(N) - me) % N
    return jnp.concatenate(message[order], axis=1)


# %% exchange wrong: a place for every part, empty or not, in each message
def exchange(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    parts = jnp.stack(jnp.split(A, N))
    held = jnp.zeros_like(parts).at[me].set(parts[(me - 1) % N])
    for hop in range(2, N + 1):
        held = jax.lax.ppermute(held, "X", onward)
        held = held.at[me].set(parts[(me - hop) % N])
    return jnp.concatenate(held, axis=1)


# %% exchange wrong: cuts the rows one by one
def exchange(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    parts = A.reshape(N, len(A) // N, -1, order="F")
    message = parts[(me - 1) % N][None]
    for hop in range(2, N + 1):
        came = jax.lax.ppermute(message, "X", onward)
        own = parts[(me - hop) % N][None]
        message = jnp.concatenate([came, own])
    order = (jnp.arange(N) - me - 1) % N
    return jnp.concatenate(message[order], axis=1)


# %% exchange right: the other way round
def exchange(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    back = [((chip + 1) % N, chip) for chip in range(N)]
    parts = A.reshape(N, len(A) // N, -1)
    message = []
    for hop in range(1, N + 1):
        message = [parts[(me + hop) % N], *message]
        if hop < N:
            message = list(jax.lax.ppermute(jnp.stack(message), "X", back))
    return jnp.hstack(list(jnp.roll(jnp.stack(message), me, axis=0)))


# %% exchange right: columns grow as the parts come
def exchange(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    farthest, *others = jnp.roll(jnp.stack(jnp.split(A, N))[::-1], me, axis=0)
    message = farthest
    for part in others:
        message = jnp.hstack([jax.lax.ppermute(message, "X", onward), part])
    return jnp.roll(message, (me + 1) * A.shape[1], axis=1)


# %% exchange right: those that stay away shrink
def exchange(A):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]
    parts = jnp.roll(jnp.stack(jnp.split(A, N)), -me - 1, axis=0)
    away, came = parts[:-1], [parts[-1]]
    for _ in range(N - 1):
        away = jax.lax.ppermute(away, "X", onward)
        away, arrived = away[1:], away[0]
        came.append(arrived)
    order = (me - jnp.arange(N)) % N
    return jnp.concatenate(jnp.stack(came)[order], axis=1)


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


# %% matrices wrong: those of the chapter, along rows
def all_gather_matrix(N, rows, width):
    return np.kron(np.ones((N, 1)), np.eye(N * rows * width))


def reduce_scatter_matrix(N, rows, width):
    return all_gather_matrix(N, rows, width).T


def all_to_all_matrix(N, n):
    parts = np.arange(N * N).reshape(N, N)
    return np.kron(np.eye(N * N)[parts.T.ravel()], np.eye(n))


# %% matrices wrong: the chapter's ReduceScatter, along rows
def all_gather_matrix(N, rows, width):
    numbers = np.arange(N * rows * width).reshape(N, rows, width)
    copy = np.eye(numbers.size)[numbers.swapaxes(0, 1).ravel()]
    return np.tile(copy, (N, 1))


def reduce_scatter_matrix(N, rows, width):
    return np.kron(np.ones((1, N)), np.eye(N * rows * width))


def all_to_all_matrix(N, n):
    parts = np.arange(N * N).reshape(N, N)
    return np.kron(np.eye(N * N)[parts.T.ravel()], np.eye(n))


# %% matrices wrong: the permutation turned round
def all_gather_matrix(N, rows, width):
    numbers = np.arange(N * rows * width).reshape(rows, N, width)
    copy = np.eye(numbers.size)[numbers.swapaxes(0, 1).ravel()]
    return np.tile(copy, (N, 1))


def reduce_scatter_matrix(N, rows, width):
    return all_gather_matrix(N, rows, width).T


def all_to_all_matrix(N, n):
    parts = np.arange(N * N).reshape(N, N)
    return np.kron(np.eye(N * N)[parts.T.ravel()], np.eye(n))


# %% matrices wrong: the gather repeats numbers, not blocks
def all_gather_matrix(N, rows, width):
    return np.kron(np.eye(N * rows * width), np.ones((N, 1)))


def reduce_scatter_matrix(N, rows, width):
    return all_gather_matrix(N, rows, width).T


def all_to_all_matrix(N, n):
    parts = np.arange(N * N).reshape(N, N)
    return np.kron(np.eye(N * N)[parts.T.ravel()], np.eye(n))


# %% matrices wrong: gather and scatter exchanged
def reduce_scatter_matrix(N, rows, width):
    numbers = np.arange(N * rows * width).reshape(N, rows, width)
    copy = np.eye(numbers.size)[numbers.swapaxes(0, 1).ravel()]
    return np.tile(copy, (N, 1))


def all_gather_matrix(N, rows, width):
    return reduce_scatter_matrix(N, rows, width).T


def all_to_all_matrix(N, n):
    parts = np.arange(N * N).reshape(N, N)
    return np.kron(np.eye(N * N)[parts.T.ravel()], np.eye(n))


# %% matrices wrong: an AllToAll that stays at home
def all_gather_matrix(N, rows, width):
    numbers = np.arange(N * rows * width).reshape(N, rows, width)
    copy = np.eye(numbers.size)[numbers.swapaxes(0, 1).ravel()]
    return np.tile(copy, (N, 1))


def reduce_scatter_matrix(N, rows, width):
    return all_gather_matrix(N, rows, width).T


def all_to_all_matrix(N, n):
    return np.eye(N * N * n)


# %% matrices wrong: a transposition of numbers, not of parts
def all_gather_matrix(N, rows, width):
    numbers = np.arange(N * rows * width).reshape(N, rows, width)
    copy = np.eye(numbers.size)[numbers.swapaxes(0, 1).ravel()]
    return np.tile(copy, (N, 1))


def reduce_scatter_matrix(N, rows, width):
    return all_gather_matrix(N, rows, width).T


def all_to_all_matrix(N, n):
    numbers = np.arange(N * N * n).reshape(N, N * n)
    return np.eye(N * N * n)[numbers.T.ravel()]


# %% matrices wrong: a mean where a sum belongs
def all_gather_matrix(N, rows, width):
    numbers = np.arange(N * rows * width).reshape(N, rows, width)
    copy = np.eye(numbers.size)[numbers.swapaxes(0, 1).ravel()]
    return np.tile(copy, (N, 1))


def reduce_scatter_matrix(N, rows, width):
    return np.linalg.pinv(all_gather_matrix(N, rows, width))


def all_to_all_matrix(N, n):
    parts = np.arange(N * N).reshape(N, N)
    return np.kron(np.eye(N * N)[parts.T.ravel()], np.eye(n))


# %% matrices right: unit vectors are gathered
def all_gather_matrix(N, rows, width):
    unit = np.eye(N * rows * width).reshape(N, rows, width, -1)
    whole = np.concatenate(unit, axis=1).reshape(N * rows * width, -1)
    return np.concatenate([whole] * N)


def reduce_scatter_matrix(N, rows, width):
    terms = np.eye(N * N * rows * width).reshape(N, rows, N * width, -1)
    pieces = np.split(terms.sum(0), N, axis=1)
    return np.stack(pieces).reshape(N * rows * width, -1)


def all_to_all_matrix(N, n):
    unit = np.eye(N * N * n).reshape(N, N, n, -1)
    return unit.swapaxes(0, 1).reshape(N * N * n, -1)


# %% matrices right: entry by entry
def all_gather_matrix(N, rows, width):
    A = np.zeros((N * N * rows * width, N * rows * width), dtype=int)
    for device in range(N):
        for owner in range(N):
            for row in range(rows):
                for k in range(width):
                    after = ((device * rows + row) * N + owner) * width + k
                    A[after, (owner * rows + row) * width + k] = 1
    return A


def reduce_scatter_matrix(N, rows, width):
    return all_gather_matrix(N, rows, width).T.tolist()


def all_to_all_matrix(N, n):
    A = np.zeros((N * N * n, N * N * n), dtype=int)
    for a in range(N):
        for b in range(N):
            for k in range(n):
                A[(b * N + a) * n + k, (a * N + b) * n + k] = 1
    return A


# %% formulas wrong: what a chip sends on a ring
V, N, k = sympy.symbols("V N k", positive=True, integer=True)
gather_crossing = V * (N - 1) / N
scatter_crossing = V * (N - 1) / N
reduce_crossing = 2 * V * (N - 1) / N
exchange_crossing = V * (N - 1) / N**2

# %% formulas wrong: the ReduceScatter loads a wire like the gather
V, N, k = sympy.symbols("V N k", positive=True, integer=True)
gather_crossing = k * V / N
scatter_crossing = k * V / N
reduce_crossing = 2 * k * V / N
exchange_crossing = k * (N - k) * V / N**2

# %% formulas wrong: an AllReduce is two gathers
V, N, k = sympy.symbols("V N k", positive=True, integer=True)
gather_crossing = k * V / N
scatter_crossing = (N - k) * V / N
reduce_crossing = 2 * k * V / N
exchange_crossing = k * (N - k) * V / N**2

# %% formulas wrong: an AllReduce as on a ring
V, N, k = sympy.symbols("V N k", positive=True, integer=True)
gather_crossing = k * V / N
scatter_crossing = (N - k) * V / N
reduce_crossing = 2 * V * (N - 1) / N
exchange_crossing = k * (N - k) * V / N**2

# %% formulas wrong: an exchange as on a ring
V, N, k = sympy.symbols("V N k", positive=True, integer=True)
gather_crossing = k * V / N
scatter_crossing = (N - k) * V / N
reduce_crossing = V
exchange_crossing = V * (N - 1) / N**2

# %% formulas wrong: terms cross one by one
V, N, k = sympy.symbols("V N k", positive=True, integer=True)
gather_crossing = k * V / N
scatter_crossing = k * V * (N - k) / N
reduce_crossing = k * V
exchange_crossing = k * (N - k) * V / N**2

# %% formulas wrong: the chips on the right gather
V, N, k = sympy.symbols("V N k", positive=True, integer=True)
gather_crossing = (N - k) * V / N
scatter_crossing = (N - k) * V / N
reduce_crossing = 2 * (N - k) * V / N
exchange_crossing = k * (N - k) * V / N**2

# %% formulas wrong: the middle of the line
V, N, k = sympy.symbols("V N k", positive=True, integer=True)
gather_crossing = k * V / N
scatter_crossing = (N - k) * V / N
reduce_crossing = V
exchange_crossing = V / 4

# %% formulas wrong: a part for each chip on the left
V, N, k = sympy.symbols("V N k", positive=True, integer=True)
gather_crossing = k * V / N
scatter_crossing = (N - k) * V / N
reduce_crossing = V
exchange_crossing = k * V / N**2

# %% formulas wrong: V is one chip's block
V, N, k = sympy.symbols("V N k", positive=True, integer=True)
gather_crossing = k * V
scatter_crossing = (N - k) * V
reduce_crossing = N * V
exchange_crossing = k * (N - k) * V / N

# %% formulas wrong: an exchange in both directions
V, N, k = sympy.symbols("V N k", positive=True, integer=True)
gather_crossing = k * V / N
scatter_crossing = (N - k) * V / N
reduce_crossing = V
exchange_crossing = 2 * k * (N - k) * V / N**2

# %% formulas right: shares of the chips on either side
V, N, k = sympy.symbols("V N k", positive=True, integer=True)
left, right = k / N, 1 - k / N
gather_crossing = left * V
scatter_crossing = right * V
reduce_crossing = gather_crossing + scatter_crossing
exchange_crossing = left * right * V

# %% formulas right: as text
gather_crossing = "k*V/N"
scatter_crossing = "V - V*k/N"
reduce_crossing = "V"
exchange_crossing = "V*k/N - V*k**2/N**2"

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

# %% exchange equivalent: line 7: `(me - 1) % N` loses its right side
# A negative index counts from the end, as the remainder would.

# %% exchange equivalent: line 10: `(me - hop) % N` loses its right side
# A negative index counts from the end, as the remainder would.

# %% exchange equivalent: line 12: `(jnp.arange(N) - me - 1) % N` loses its right side
# A negative index counts from the end, as the remainder would.

# %% matrices equivalent: line 5: `numbers.swapaxes(0, 1)` with its arguments reversed
# To exchange two dimensions is the same in either order.
