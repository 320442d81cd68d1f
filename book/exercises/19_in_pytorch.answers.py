# Answers that the checks of exercise set 19 must reject or accept.
#
# A cell is titled with the answer cell's grade_id, then `wrong: ` with the
# mistake or `right: ` with what is different. Run by tests/exercises.


# %% there wrong: the order of two cuts is not looked at
def placements(cuts, sums, axes):
    found = {axis: "Replicate()" for axis in axes}
    for dimension, text in enumerate(cuts):
        for axis in text:
            found[axis] = f"Shard({dimension})"
    found |= {axis: "Partial()" for axis in sums}
    return list(found.values())


def layout(placements, axes):
    cuts, sums = ["", ""], ""
    for axis, word in zip(axes, placements):
        if word.startswith("Shard"):
            cuts[int(word[6])] += axis
        elif word == "Partial()":
            sums += axis
    return [cuts, sums]


# %% there wrong: an entry for each dimension
def placements(cuts, sums, axes):
    return [
        f"Shard({axes.index(text[0])})" if text else "Replicate()"
        for text in cuts
    ]


def layout(placements, axes):
    cuts, sums = ["", ""], ""
    for axis, word in zip(axes, placements):
        if word.startswith("Shard"):
            cuts[int(word[6])] += axis
        elif word == "Partial()":
            sums += axis
    return [cuts, sums]


# %% there wrong: no dimension is cut twice
def placements(cuts, sums, axes):
    if any(len(text) > 1 for text in cuts):
        return []
    found = []
    for axis in axes:
        word = "Partial()" if axis in sums else "Replicate()"
        for n, text in enumerate(cuts):
            if axis in text:
                word = f"Shard({n})"
        found.append(word)
    return found


def layout(placements, axes):
    cuts, sums = ["", ""], ""
    for axis, word in zip(axes, placements):
        if word.startswith("Shard"):
            cuts[int(word[6])] += axis
        elif word == "Partial()":
            sums += axis
    return [cuts, sums]


# %% there wrong: sums are forgotten
def placements(cuts, sums, axes):
    found = []
    for axis in axes:
        word = "Replicate()"
        for n, text in enumerate(cuts):
            if axis in text:
                word = f"Shard({n})"
        found.append(word)
    ordered = all(list(t) == sorted(t, key=axes.index) for t in cuts)
    return found if ordered else []


def layout(placements, axes):
    cuts = ["", ""]
    for axis, word in zip(axes, placements):
        if word.startswith("Shard"):
            cuts[int(word[6])] += axis
    return [cuts, ""]


# %% there wrong: axes in the order of the alphabet
def placements(cuts, sums, axes):
    found = []
    for axis in sorted(axes):
        word = "Partial()" if axis in sums else "Replicate()"
        for n, text in enumerate(cuts):
            if axis in text:
                word = f"Shard({n})"
        found.append(word)
    return found if all(t == "".join(sorted(t)) for t in cuts) else []


def layout(placements, axes):
    cuts, sums = ["", ""], ""
    for axis, word in sorted(zip(axes, placements)):
        if word.startswith("Shard"):
            cuts[int(word[6])] += axis
        elif word == "Partial()":
            sums += axis
    return [cuts, sums]


# %% there wrong: back, the last axis cuts first
def placements(cuts, sums, axes):
    found = []
    for axis in axes:
        word = "Partial()" if axis in sums else "Replicate()"
        for n, text in enumerate(cuts):
            if axis in text:
                word = f"Shard({n})"
        found.append(word)
    ordered = all(list(t) == sorted(t, key=axes.index) for t in cuts)
    return found if ordered else []


def layout(placements, axes):
    cuts, sums = ["", ""], ""
    for axis, word in zip(axes, placements):
        if word.startswith("Shard"):
            cuts[int(word[6])] = axis + cuts[int(word[6])]
        elif word == "Partial()":
            sums += axis
    return [cuts, sums]


# %% there wrong: back, a single axis for each dimension
def placements(cuts, sums, axes):
    found = []
    for axis in axes:
        word = "Partial()" if axis in sums else "Replicate()"
        for n, text in enumerate(cuts):
            if axis in text:
                word = f"Shard({n})"
        found.append(word)
    ordered = all(list(t) == sorted(t, key=axes.index) for t in cuts)
    return found if ordered else []


def layout(placements, axes):
    by_word = dict(zip(placements, axes))
    cuts = [by_word.get(f"Shard({n})", "") for n in (0, 1)]
    return [cuts, by_word.get("Partial()", "")]


# %% there wrong: nothing is returned where there is no list
def placements(cuts, sums, axes):
    for cut in cuts:
        if [axes.index(a) for a in cut] != sorted(axes.index(a) for a in cut):
            return None
    out = []
    for a in axes:
        where = [d for d, cut in enumerate(cuts) if a in cut]
        if where:
            out.append(f"Shard({where[0]})")
        elif a in sums:
            out.append("Partial()")
        else:
            out.append("Replicate()")
    return out


def layout(placements, axes):
    cuts, sums = ["", ""], ""
    for p, a in zip(placements, axes):
        if p == "Partial()":
            sums += a
        elif p != "Replicate()":
            cuts[int(p[6])] += a
    return [cuts, sums]


# %% there wrong: axes in order over all dimensions
def placements(cuts, sums, axes):
    for cut in ["".join(cuts)]:
        if [axes.index(a) for a in cut] != sorted(axes.index(a) for a in cut):
            return []
    out = []
    for a in axes:
        where = [d for d, cut in enumerate(cuts) if a in cut]
        if where:
            out.append(f"Shard({where[0]})")
        elif a in sums:
            out.append("Partial()")
        else:
            out.append("Replicate()")
    return out


def layout(placements, axes):
    cuts, sums = ["", ""], ""
    for p, a in zip(placements, axes):
        if p == "Partial()":
            sums += a
        elif p != "Replicate()":
            cuts[int(p[6])] += a
    return [cuts, sums]


# %% there wrong: only the first dimension is looked at
def placements(cuts, sums, axes):
    for cut in cuts[:1]:
        if [axes.index(a) for a in cut] != sorted(axes.index(a) for a in cut):
            return []
    out = []
    for a in axes:
        where = [d for d, cut in enumerate(cuts) if a in cut]
        if where:
            out.append(f"Shard({where[0]})")
        elif a in sums:
            out.append("Partial()")
        else:
            out.append("Replicate()")
    return out


def layout(placements, axes):
    cuts, sums = ["", ""], ""
    for p, a in zip(placements, axes):
        if p == "Partial()":
            sums += a
        elif p != "Replicate()":
            cuts[int(p[6])] += a
    return [cuts, sums]


# %% there right: axis by axis
def placements(cuts, sums, axes):
    found = {axis: "Replicate()" for axis in axes}
    for dimension, text in enumerate(cuts):
        last = -1
        for axis in text:
            found[axis] = f"Shard({dimension})"
            if axes.index(axis) < last:
                return []
            last = axes.index(axis)
    for axis in sums:
        found[axis] = "Partial()"
    return tuple(found.values())


def layout(placements, axes):
    cuts, sums = ["", ""], ""
    for axis, word in zip(axes, placements):
        if word.startswith("Shard"):
            cuts[int(word[6])] += axis
        elif word == "Partial()":
            sums += axis
    return [cuts, sums]


# %% there right: by trying out all lists
def layout(placements, axes):
    held = {word: [] for word in ("Shard(0)", "Shard(1)", "Partial()")}
    for n in range(len(axes)):
        held.get(placements[n], []).append(axes[n])
    first, second, sums = map("".join, held.values())
    return (first, second), sums


def placements(cuts, sums, axes):
    words = [f"Shard({n})" for n in range(len(cuts))]
    lists = [[]]
    for axis in axes:
        here = ["Partial()"] if axis in sums else [*words, "Replicate()"]
        lists = [[*one, word] for one in lists for word in here]
    for one in lists:
        back = [
            "".join(a for a, w in zip(axes, one) if w == word) for word in words
        ]
        if back == list(cuts):
            return one
    return []


# %% there right: arrays of texts
def placements(cuts, sums, axes):
    for cut in cuts:
        if [axes.index(a) for a in cut] != sorted(axes.index(a) for a in cut):
            return []
    out = []
    for a in axes:
        where = [d for d, cut in enumerate(cuts) if a in cut]
        if where:
            out.append(f"Shard({where[0]})")
        elif a in sums:
            out.append("Partial()")
        else:
            out.append("Replicate()")
    return np.array(out)


def layout(placements, axes):
    cuts, sums = ["", ""], ""
    for p, a in zip(placements, axes):
        if p == "Partial()":
            sums += a
        elif p != "Replicate()":
            cuts[int(p[6])] += a
    return [cuts, sums]


# %% there equivalent: line 16: True becomes False
# There is a placement for each axis, so `zip` has nothing to complain of.


# %% rows wrong: one cut for all axes
def rows(n, sizes, placements):
    found = []
    k = prod(k for k, p in zip(sizes, placements) if p == "Shard(0)")
    size = -(-n // k)
    for rank in range(prod(sizes)):
        part = 0
        for k, at, p in zip(sizes, np.unravel_index(rank, sizes), placements):
            part = part * k + int(at) if p == "Shard(0)" else part
        found.append([min(part * size, n), min((part + 1) * size, n)])
    return found


# %% rows wrong: as even as can be
def rows(n, sizes, placements):
    k = prod(k for k, p in zip(sizes, placements) if p == "Shard(0)")
    ends = np.cumsum([0] + [len(p) for p in np.array_split(np.arange(n), k)])
    found = []
    for rank in range(prod(sizes)):
        part = 0
        for k, at, p in zip(sizes, np.unravel_index(rank, sizes), placements):
            part = part * k + int(at) if p == "Shard(0)" else part
        found.append([int(ends[part]), int(ends[part + 1])])
    return found


# %% rows wrong: the last axis cuts first
def rows(n, sizes, placements):
    found = []
    for rank in range(prod(sizes)):
        first, end = 0, n
        places = np.unravel_index(rank, sizes)
        for k, at, p in [*zip(sizes, places, placements)][::-1]:
            if p == "Shard(0)":
                size = -(-(end - first) // k)
                first = min(first + int(at) * size, end)
                end = min(first + size, end)
        found.append([first, end])
    return found


# %% rows wrong: rounds down
def rows(n, sizes, placements):
    found = []
    for rank in range(prod(sizes)):
        first, end = 0, n
        places = np.unravel_index(rank, sizes)
        for k, at, p in zip(sizes, places, placements):
            if p == "Shard(0)":
                size = (end - first) // k
                first = first + int(at) * size
                end = first + size
        found.append([first, end])
    return found


# %% rows wrong: padded pieces
def rows(n, sizes, placements):
    found = []
    for rank in range(prod(sizes)):
        first, end = 0, n
        places = np.unravel_index(rank, sizes)
        for k, at, p in zip(sizes, places, placements):
            if p == "Shard(0)":
                size = -(-(end - first) // k)
                first = first + int(at) * size
                end = first + size
        found.append([first, end])
    return found


# %% rows wrong: every axis cuts
def rows(n, sizes, placements):
    found = []
    for rank in range(prod(sizes)):
        first, end = 0, n
        for k, at in zip(sizes, np.unravel_index(rank, sizes)):
            size = -(-(end - first) // k)
            first = min(first + int(at) * size, end)
            end = min(first + size, end)
        found.append([first, end])
    return found


# %% rows wrong: the first axis is the fastest
def rows(n, sizes, placements):
    found = []
    for rank in range(prod(sizes)):
        first, end = 0, n
        places = np.unravel_index(rank, sizes, order="F")
        for k, at, p in zip(sizes, places, placements):
            if p == "Shard(0)":
                size = -(-(end - first) // k)
                first = min(first + int(at) * size, end)
                end = min(first + size, end)
        found.append([first, end])
    return found


# %% rows wrong: a piece of a piece may end at n
def rows(n, sizes, placements):
    out = []
    for rank in range(prod(sizes)):
        places, r = [], rank
        for k in reversed(sizes):
            places.insert(0, r % k)
            r //= k
        first, end = 0, n
        for k, p, what in zip(sizes, places, placements):
            if what == "Shard(0)":
                size = -(-(end - first) // k)
                first, end = (
                    min(first + p * size, n),
                    min(first + (p + 1) * size, n),
                )
        out.append([first, end])
    return out


# %% rows wrong: each axis cuts evenly
def rows(n, sizes, placements):
    out = []
    for rank in range(prod(sizes)):
        places, r = [], rank
        for k in reversed(sizes):
            places.insert(0, r % k)
            r //= k
        first, end = 0, n
        for k, p, what in zip(sizes, places, placements):
            if what == "Shard(0)":
                even, more = divmod(end - first, k)
                first += p * even + min(p, more)
                end = first + even + (p < more)
        out.append([first, end])
    return out


# %% rows wrong: each axis cuts n rows
def rows(n, sizes, placements):
    out = []
    for rank in range(prod(sizes)):
        places, r = [], rank
        for k in reversed(sizes):
            places.insert(0, r % k)
            r //= k
        first, end = 0, n
        for k, p, what in zip(sizes, places, placements):
            if what == "Shard(0)":
                size = -(-n // k)
                first, end = (
                    min(first + p * size, end),
                    min(first + (p + 1) * size, end),
                )
        out.append([first, end])
    return out


# %% rows wrong: one row more than the quotient
def rows(n, sizes, placements):
    out = []
    for rank in range(prod(sizes)):
        places, r = [], rank
        for k in reversed(sizes):
            places.insert(0, r % k)
            r //= k
        first, end = 0, n
        for k, p, what in zip(sizes, places, placements):
            if what == "Shard(0)":
                size = (end - first) // k + 1
                first, end = (
                    min(first + p * size, end),
                    min(first + (p + 1) * size, end),
                )
        out.append([first, end])
    return out


# %% rows wrong: the first axis alone cuts
def rows(n, sizes, placements):
    out = []
    for rank in range(prod(sizes)):
        places, r = [], rank
        for k in reversed(sizes):
            places.insert(0, r % k)
            r //= k
        first, end = 0, n
        for k, p, what in zip(sizes, places, placements):
            if what == "Shard(0)":
                size = -(-(end - first) // k)
                first, end = (
                    min(first + p * size, end),
                    min(first + (p + 1) * size, end),
                )
                break
        out.append([first, end])
    return out


# %% rows right: lists of rows, axis by axis
def rows(n, sizes, placements):
    parts = [list(range(n))]
    for k, placement in zip(sizes, placements):
        new = []
        for part in parts:
            if placement == "Replicate()":
                new += [part] * k
            else:
                size = (len(part) + k - 1) // k
                new += [part[p * size : p * size + size] for p in range(k)]
        parts = new
    return [(p[0], p[-1] + 1) if p else (0, 0) for p in parts]


# %% rows right: recursion over the axes
def rows(n, sizes, placements, first=0):
    if len(sizes) == 0:
        return [[first, first + n]]
    found, left = [], n
    for _ in range(sizes[0]):
        own = n
        if placements[0] == "Shard(0)":
            own = min(left, int(np.ceil(n / sizes[0])))
        start = first + n - left if placements[0] == "Shard(0)" else first
        found += rows(own, sizes[1:], placements[1:], start)
        left -= own if placements[0] == "Shard(0)" else 0
    return found


# %% rows equivalent: line 8: True becomes False
# There is a placement for each axis, so `zip` has nothing to complain of.


# %% rows equivalent: line 11: `min(first + int(place) * size, end)` with its arguments reversed
# The smaller of two numbers is the same in either order.


# %% rows equivalent: line 12: `min(first + size, end)` with its arguments reversed
# The smaller of two numbers is the same in either order.


# %% change wrong: other axes cut nothing
def change(sizes, before, after, V):
    (axis,) = [n for n in range(len(sizes)) if before[n] != after[n]]
    old, new, N = before[axis], after[axis], sizes[axis]
    inside = before[axis + 1 :]
    if "Shard" in old and old in inside or "Shard" in new and new in inside:
        return ["impossible", 0]
    once = V * (N - 1) // N
    if old == "Partial()":
        if new == "Replicate()":
            return ["AllReduce", 2 * once]
        return ["ReduceScatter", once]
    if old == "Replicate()":
        return ["nothing", 0]
    if new == "Replicate()":
        return ["AllGather", once]
    return ["AllToAll", once // N]


# %% change wrong: every group has what it needs
def change(sizes, before, after, V):
    (axis,) = [n for n in range(len(sizes)) if before[n] != after[n]]
    old, new, N = before[axis], after[axis], sizes[axis]
    for n, k in enumerate(sizes):
        V //= k if n != axis and "Shard" in before[n] else 1
    once = V * (N - 1) // N
    if old == "Partial()":
        if new == "Replicate()":
            return ["AllReduce", 2 * once]
        return ["ReduceScatter", once]
    if old == "Replicate()":
        return ["nothing", 0]
    if new == "Replicate()":
        return ["AllGather", once]
    return ["AllToAll", once // N]


# %% change wrong: impossible whichever axis cuts the same dimension
def change(sizes, before, after, V):
    (axis,) = [n for n in range(len(sizes)) if before[n] != after[n]]
    old, new, N = before[axis], after[axis], sizes[axis]
    rest = [word for n, word in enumerate(before) if n != axis]
    if "Shard" in old and old in rest or "Shard" in new and new in rest:
        return ["impossible", 0]
    for n, k in enumerate(sizes):
        V //= k if n != axis and "Shard" in before[n] else 1
    once = V * (N - 1) // N
    if old == "Partial()":
        if new == "Replicate()":
            return ["AllReduce", 2 * once]
        return ["ReduceScatter", once]
    if old == "Replicate()":
        return ["nothing", 0]
    if new == "Replicate()":
        return ["AllGather", once]
    return ["AllToAll", once // N]


# %% change wrong: an AllToAll sends as much as a gather
def change(sizes, before, after, V):
    (axis,) = [n for n in range(len(sizes)) if before[n] != after[n]]
    old, new, N = before[axis], after[axis], sizes[axis]
    inside = before[axis + 1 :]
    if "Shard" in old and old in inside or "Shard" in new and new in inside:
        return ["impossible", 0]
    for n, k in enumerate(sizes):
        V //= k if n != axis and "Shard" in before[n] else 1
    once = V * (N - 1) // N
    if old == "Partial()":
        if new == "Replicate()":
            return ["AllReduce", 2 * once]
        return ["ReduceScatter", once]
    if old == "Replicate()":
        return ["nothing", 0]
    return ["AllGather" if new == "Replicate()" else "AllToAll", once]


# %% change wrong: a sum goes round once
def change(sizes, before, after, V):
    (axis,) = [n for n in range(len(sizes)) if before[n] != after[n]]
    old, new, N = before[axis], after[axis], sizes[axis]
    inside = before[axis + 1 :]
    if "Shard" in old and old in inside or "Shard" in new and new in inside:
        return ["impossible", 0]
    for n, k in enumerate(sizes):
        V //= k if n != axis and "Shard" in before[n] else 1
    once = V * (N - 1) // N
    if old == "Partial()":
        if new == "Replicate()":
            return ["AllReduce", once]
        return ["ReduceScatter", once]
    if old == "Replicate()":
        return ["nothing", 0]
    if new == "Replicate()":
        return ["AllGather", once]
    return ["AllToAll", once // N]


# %% change wrong: sums all of it, and drops a part
def change(sizes, before, after, V):
    (axis,) = [n for n in range(len(sizes)) if before[n] != after[n]]
    old, new, N = before[axis], after[axis], sizes[axis]
    inside = before[axis + 1 :]
    if "Shard" in old and old in inside or "Shard" in new and new in inside:
        return ["impossible", 0]
    for n, k in enumerate(sizes):
        V //= k if n != axis and "Shard" in before[n] else 1
    once = V * (N - 1) // N
    if old == "Partial()":
        return ["AllReduce", 2 * once]
    if old == "Replicate()":
        return ["nothing", 0]
    if new == "Replicate()":
        return ["AllGather", once]
    return ["AllToAll", once // N]


# %% change wrong: the whole array of the group
def change(sizes, before, after, V):
    (axis,) = [n for n in range(len(sizes)) if before[n] != after[n]]
    old, new, N = before[axis], after[axis], sizes[axis]
    inside = before[axis + 1 :]
    if "Shard" in old and old in inside or "Shard" in new and new in inside:
        return ["impossible", 0]
    for n, k in enumerate(sizes):
        V //= k if n != axis and "Shard" in before[n] else 1
    if old == "Partial()":
        if new == "Replicate()":
            return ["AllReduce", 2 * V]
        return ["ReduceScatter", V]
    if old == "Replicate()":
        return ["nothing", 0]
    if new == "Replicate()":
        return ["AllGather", V]
    return ["AllToAll", V // N]


# %% change wrong: all other axes cut
def change(sizes, before, after, V):
    (axis,) = [n for n in range(len(sizes)) if before[n] != after[n]]
    old, new, N = before[axis], after[axis], sizes[axis]
    inside = before[axis + 1 :]
    if "Shard" in old and old in inside or "Shard" in new and new in inside:
        return ["impossible", 0]
    once = V * N // prod(sizes) * (N - 1) // N
    if old == "Partial()":
        if new == "Replicate()":
            return ["AllReduce", 2 * once]
        return ["ReduceScatter", once]
    if old == "Replicate()":
        return ["nothing", 0]
    if new == "Replicate()":
        return ["AllGather", once]
    return ["AllToAll", once // N]


# %% change wrong: only the next axis can be in the way
def change(sizes, before, after, V):
    (a,) = [i for i in range(len(sizes)) if before[i] != after[i]]
    N, b, c = sizes[a], before[a], after[a]
    v = V
    for i, k in enumerate(sizes):
        if i != a and before[i].startswith("Shard"):
            v /= k
    for later in before[a + 1 : a + 2]:
        if later.startswith("Shard") and later in (b, c):
            return ["impossible", 0]
    if b == "Partial()":
        if c == "Replicate()":
            return ["AllReduce", 2 * v * (N - 1) / N]
        return ["ReduceScatter", v * (N - 1) / N]
    if b == "Replicate()":
        return ["nothing", 0]
    if c == "Replicate()":
        return ["AllGather", v * (N - 1) / N]
    return ["AllToAll", v * (N - 1) / N**2]


# %% change wrong: a group of all ranks
def change(sizes, before, after, V):
    (a,) = [i for i in range(len(sizes)) if before[i] != after[i]]
    N, b, c = prod(sizes), before[a], after[a]
    v = V
    for i, k in enumerate(sizes):
        if i != a and before[i].startswith("Shard"):
            v /= k
    for later in before[a + 1 :]:
        if later.startswith("Shard") and later in (b, c):
            return ["impossible", 0]
    if b == "Partial()":
        if c == "Replicate()":
            return ["AllReduce", 2 * v * (N - 1) / N]
        return ["ReduceScatter", v * (N - 1) / N]
    if b == "Replicate()":
        return ["nothing", 0]
    if c == "Replicate()":
        return ["AllGather", v * (N - 1) / N]
    return ["AllToAll", v * (N - 1) / N**2]


# %% change wrong: what a group sends
def change(sizes, before, after, V):
    (a,) = [i for i in range(len(sizes)) if before[i] != after[i]]
    N, b, c = sizes[a], before[a], after[a]
    v = V
    for i, k in enumerate(sizes):
        if i != a and before[i].startswith("Shard"):
            v /= k
    for later in before[a + 1 :]:
        if later.startswith("Shard") and later in (b, c):
            return ["impossible", 0]
    if b == "Partial()":
        if c == "Replicate()":
            return ["AllReduce", 2 * v * (N - 1)]
        return ["ReduceScatter", v * (N - 1)]
    if b == "Replicate()":
        return ["nothing", 0]
    if c == "Replicate()":
        return ["AllGather", v * (N - 1)]
    return ["AllToAll", v * N]


# %% change wrong: a part can always be dropped
def change(sizes, before, after, V):
    (a,) = [i for i in range(len(sizes)) if before[i] != after[i]]
    N, b, c = sizes[a], before[a], after[a]
    v = V
    for i, k in enumerate(sizes):
        if i != a and before[i].startswith("Shard"):
            v /= k
    for later in before[a + 1 :]:
        if later.startswith("Shard") and later in (b, c) and b != "Replicate()":
            return ["impossible", 0]
    if b == "Partial()":
        if c == "Replicate()":
            return ["AllReduce", 2 * v * (N - 1) / N]
        return ["ReduceScatter", v * (N - 1) / N]
    if b == "Replicate()":
        return ["nothing", 0]
    if c == "Replicate()":
        return ["AllGather", v * (N - 1) / N]
    return ["AllToAll", v * (N - 1) / N**2]


# %% change right: a table of collectives
def change(sizes, before, after, V):
    axis = [a == b for a, b in zip(before, after)].index(False)
    N, v = sizes[axis], V
    for n, k in enumerate(sizes):
        if n != axis and before[n].startswith("Shard"):
            v = v / k
    for word in before[axis + 1 :]:
        if word.startswith("Shard") and word in (before[axis], after[axis]):
            return "impossible", 0
    kind = before[axis][0] + after[axis][0]
    name, share = {
        "SR": ("AllGather", (N - 1) / N),
        "PR": ("AllReduce", 2 * (N - 1) / N),
        "PS": ("ReduceScatter", (N - 1) / N),
        "SS": ("AllToAll", (N - 1) / N**2),
        "RS": ("nothing", 0),
    }[kind]
    return name, round(v * share)


# %% change right: piece by piece, by what a rank has at rest
def change(sizes, before, after, V):
    (axis,) = (n for n, w in enumerate(after) if w != before[n])
    old, new, inside = before[axis], after[axis], set(before[axis + 1 :])
    N = sizes[axis]
    cutting = [
        k
        for k, w in zip(sizes, before)
        if w not in ("Replicate()", "Partial()")
    ]
    own = V // prod(cutting)
    if (inside - {"Replicate()", "Partial()"}) & {old, new}:
        return ["impossible", 0]
    if old == "Replicate()":
        return ["nothing", 0]
    if old != "Partial()":
        if new != "Replicate()":
            return ["AllToAll", (N - 1) * own // N]
        return ["AllGather", (N - 1) * own]
    piece = own // N
    rounds = N - 1 if "Shard" in new else 2 * (N - 1)
    return ["ReduceScatter" if "Shard" in new else "AllReduce", rounds * piece]


# %% change equivalent: line 4: True becomes False
# Both lists have an entry for each axis, so `zip` has nothing to complain of.


# %% sent wrong: the root is gathered again
def sent(layers, root, N, m):
    def piece(shapes):
        return sum(-(-shape[0] // N) * prod(shape[1:]) for shape in shapes)

    everything = piece(root) + sum(map(piece, layers))
    return (N - 1) * (4 * m * everything + 4 * everything)


# %% sent wrong: weights are kept
def sent(layers, root, N, m):
    def piece(shapes):
        return sum(-(-shape[0] // N) * prod(shape[1:]) for shape in shapes)

    everything = piece(root) + sum(map(piece, layers))
    return (N - 1) * (2 * m * everything + 4 * everything)


# %% sent wrong: gradients in bf16
def sent(layers, root, N, m):
    def piece(shapes):
        return sum(-(-shape[0] // N) * prod(shape[1:]) for shape in shapes)

    inside = sum(map(piece, layers))
    gathered = 2 * m * (piece(root) + 2 * inside)
    return (N - 1) * (gathered + 2 * (piece(root) + inside))


# %% sent wrong: no padding
def sent(layers, root, N, m):
    def piece(shapes):
        return sum(prod(shape) for shape in shapes) / N

    inside = sum(map(piece, layers))
    gathered = 2 * m * (piece(root) + 2 * inside)
    return (N - 1) * (gathered + 4 * (piece(root) + inside))


# %% sent wrong: a group is padded as a whole
def sent(layers, root, N, m):
    def piece(shapes):
        return -(-sum(prod(shape) for shape in shapes) // N)

    inside = sum(map(piece, layers))
    gathered = 2 * m * (piece(root) + 2 * inside)
    return (N - 1) * (gathered + 4 * (piece(root) + inside))


# %% sent wrong: every microbatch scatters
def sent(layers, root, N, m):
    def piece(shapes):
        return sum(-(-shape[0] // N) * prod(shape[1:]) for shape in shapes)

    inside = sum(map(piece, layers))
    gathered = 2 * m * (piece(root) + 2 * inside)
    return (N - 1) * (gathered + 4 * m * (piece(root) + inside))


# %% sent wrong: gathered once in a step
def sent(layers, root, N, m):
    def piece(shapes):
        return sum(-(-shape[0] // N) * prod(shape[1:]) for shape in shapes)

    inside = sum(map(piece, layers))
    gathered = 2 * (piece(root) + 2 * inside)
    return (N - 1) * (gathered + 4 * (piece(root) + inside))


# %% sent wrong: the whole array
def sent(layers, root, N, m):
    def piece(shapes):
        return sum(-(-shape[0] // N) * prod(shape[1:]) for shape in shapes)

    inside = sum(map(piece, layers))
    gathered = 2 * m * (piece(root) + 2 * inside)
    return N * (gathered + 4 * (piece(root) + inside))


# %% sent wrong: the root is gathered once in a step
def sent(layers, root, N, m):
    """Bytes that each rank sends in a step of m microbatches."""

    def piece(shapes):
        return sum(-(-s[0] // N) * prod(s[1:]) for s in shapes)

    L = sum(piece(x) for x in layers)
    r = piece(root)
    return (N - 1) * (2 * (r + 2 * m * L) + 4 * (r + L))


# %% sent wrong: weights in float32
def sent(layers, root, N, m):
    """Bytes that each rank sends in a step of m microbatches."""

    def piece(shapes):
        return sum(-(-s[0] // N) * prod(s[1:]) for s in shapes)

    L = sum(piece(x) for x in layers)
    r = piece(root)
    return (N - 1) * (4 * m * (r + 2 * L) + 4 * (r + L))


# %% sent wrong: rows that are left over are dropped
def sent(layers, root, N, m):
    """Bytes that each rank sends in a step of m microbatches."""

    def piece(shapes):
        return sum((s[0] // N) * prod(s[1:]) for s in shapes)

    L = sum(piece(x) for x in layers)
    r = piece(root)
    return (N - 1) * (2 * m * (r + 2 * L) + 4 * (r + L))


# %% sent wrong: a part of each piece
def sent(layers, root, N, m):
    """Bytes that each rank sends in a step of m microbatches."""

    def piece(shapes):
        return sum(-(-s[0] // N) * prod(s[1:]) for s in shapes)

    L = sum(piece(x) for x in layers)
    r = piece(root)
    return (N - 1) / N * (2 * m * (r + 2 * L) + 4 * (r + L))


# %% sent wrong: no root
def sent(layers, root, N, m):
    """Bytes that each rank sends in a step of m microbatches."""

    def piece(shapes):
        return sum(-(-s[0] // N) * prod(s[1:]) for s in shapes)

    L = sum(piece(x) for x in layers)
    r = 0
    return (N - 1) * (2 * m * (r + 2 * L) + 4 * (r + L))


# %% sent wrong: all layers are like the first
def sent(layers, root, N, m):
    """Bytes that each rank sends in a step of m microbatches."""

    def piece(shapes):
        return sum(-(-s[0] // N) * prod(s[1:]) for s in shapes)

    L = len(layers) * piece(layers[0]) if layers else 0
    r = piece(root)
    return (N - 1) * (2 * m * (r + 2 * L) + 4 * (r + L))


# %% sent wrong: the last layer is kept for backward
def sent(layers, root, N, m):
    """Bytes that each rank sends in a step of m microbatches."""

    def piece(shapes):
        return sum(-(-s[0] // N) * prod(s[1:]) for s in shapes)

    L = sum(piece(x) for x in layers)
    r = piece(root)
    return (N - 1) * (
        2 * m * (r + 2 * L - (piece(layers[-1]) if layers else 0)) + 4 * (r + L)
    )


# %% sent wrong: the last dimension is cut
def sent(layers, root, N, m):
    """Bytes that each rank sends in a step of m microbatches."""

    def piece(shapes):
        return sum(-(-s[-1] // N) * prod(s[:-1]) for s in shapes)

    L = sum(piece(x) for x in layers)
    r = piece(root)
    return (N - 1) * (2 * m * (r + 2 * L) + 4 * (r + L))


# %% sent wrong: gradients are added up everywhere
def sent(layers, root, N, m):
    """Bytes that each rank sends in a step of m microbatches."""

    def piece(shapes):
        return sum(-(-s[0] // N) * prod(s[1:]) for s in shapes)

    L = sum(piece(x) for x in layers)
    r = piece(root)
    return (N - 1) * (2 * m * (r + 2 * L) + 8 * (r + L))


# %% sent right: message by message
def sent(layers, root, N, m):
    total = 0

    def send(shapes, width):
        nonlocal total
        for rows, *rest in shapes:
            total += width * (N - 1) * int(np.ceil(rows / N)) * prod(rest)

    for microbatch in range(m):
        send(root, 2)
        for shapes in layers:
            send(shapes, 2)
        for shapes in reversed(layers):
            send(shapes, 2)
            if microbatch == m - 1:
                send(shapes, 4)
    send(root, 4)
    return total


# %% sent right: bytes a parameter
def sent(layers, root, N, m):
    costs = [(shape, 2 * m + 4) for shape in root]
    costs += [(shape, 4 * m + 4) for shapes in layers for shape in shapes]
    padded = [
        (shape[0] + (-shape[0]) % N) * prod(shape[1:]) * each
        for shape, each in costs
    ]
    return sum(padded) * (N - 1) / N


# %% program wrong: by the calls alone
def program(records, L, D, F, B):
    calls = {}
    for _, kind, _, times in records:
        calls[kind] = calls.get(kind, 0) + times
    if "broadcast" in calls:
        return "ZeRO class"
    if "all_gather" not in calls:
        return "DDP" if calls["all_reduce"] == 2 * L else "Megatron"
    if "all_reduce" in calls:
        return "sequence"
    if calls["all_gather"] == 4 * L:
        return "FSDP"
    return "TP" if calls["all_gather"] == 2 * L else "one group"


# %% program wrong: whether weights or activations move, by their bytes
def program(records, L, D, F, B):
    seen = {(part, kind): V for part, kind, V, _ in records}
    kinds = {kind for _, kind in seen}
    if "broadcast" in kinds:
        return "ZeRO class"
    if "all_gather" not in kinds:
        return "Megatron" if 2 * B * D in seen.values() else "DDP"
    if "all_reduce" in kinds:
        return "sequence"
    if 2 * B * D in seen.values():
        return "TP"
    if ("update", "all_gather") in seen:
        return "ZeRO layout"
    if ("backward", "all_gather") not in seen:
        one = seen["forward", "all_gather"] == 2 * D * F
        return "kept" if one else "one group"
    one = seen["backward", "reduce_scatter"] == 2 * D * F
    return "FSDP" if one else "float32"


# %% program wrong: what is scattered is not looked at
def program(records, L, D, F, B):
    seen = {(part, kind): V for part, kind, V, _ in records}
    for key, name in {
        ("update", "broadcast"): "ZeRO class",
        ("update", "all_gather"): "ZeRO layout",
        ("update", "all_reduce"): "sequence",
        ("forward", "reduce_scatter"): "TP",
        ("forward", "all_reduce"): "Megatron",
        ("backward", "all_reduce"): "DDP",
        ("backward", "all_gather"): "FSDP",
    }.items():
        if key in seen:
            return name
    one = seen["forward", "all_gather"] == 2 * D * F
    return "kept" if one else "one group"


# %% program wrong: one group looks like kept
def program(records, L, D, F, B):
    seen = {(part, kind): V for part, kind, V, _ in records}
    for key, name in {
        ("update", "broadcast"): "ZeRO class",
        ("update", "all_gather"): "ZeRO layout",
        ("update", "all_reduce"): "sequence",
        ("forward", "reduce_scatter"): "TP",
        ("forward", "all_reduce"): "Megatron",
        ("backward", "all_reduce"): "DDP",
    }.items():
        if key in seen:
            return name
    if ("backward", "all_gather") not in seen:
        return "kept"
    one = seen["backward", "reduce_scatter"] == 2 * D * F
    return "FSDP" if one else "float32"


# %% program wrong: the first row tells
def program(records, L, D, F, B):
    part, kind, V, times = records[0]
    if kind == "all_reduce":
        return "Megatron" if part == "forward" else "DDP"
    if part == "update":
        return "ZeRO class" if kind == "broadcast" else "ZeRO layout"
    if kind == "reduce_scatter" and part == "forward":
        return "TP"
    return "FSDP" if V == 2 * D * F else "one group"


# %% program right: what each program has in each part
def program(records, L, D, F, B):
    W = 2 * D * F
    rows = {(part, kind, V == W) for part, kind, V, _ in records}
    words = {(part, kind) for part, kind, _ in rows}
    table = {
        "DDP": "backward all_reduce",
        "ZeRO class": "backward all_reduce, update broadcast",
        "ZeRO layout": "update reduce_scatter, update all_gather",
        "Megatron": "forward all_reduce, backward all_reduce",
        "TP": "forward all_gather, forward reduce_scatter, "
        "backward all_gather, backward reduce_scatter",
        "sequence": "forward all_gather, forward reduce_scatter, "
        "backward all_gather, backward reduce_scatter, update all_reduce",
        "FSDP": "forward all_gather, backward all_gather, "
        "backward reduce_scatter",
        "kept": "forward all_gather, backward reduce_scatter",
    }
    (name,) = [
        name
        for name, text in table.items()
        if {tuple(pair.split()) for pair in text.split(", ")} == words
    ]
    if ("backward", "reduce_scatter", True) not in rows:
        return {"FSDP": "float32", "kept": "one group"}.get(name, name)
    return name


# %% program right: by times where it can
def program(records, L, D, F, B):
    times = {}
    for part, kind, _, n in records:
        times[part[0] + kind] = times.get(part[0] + kind, 0) + n
    if "ubroadcast" in times:
        return "ZeRO class"
    if "ureduce_scatter" in times:
        return "ZeRO layout"
    if "ball_reduce" in times:
        return "Megatron" if times.get("fall_reduce") else "DDP"
    if "freduce_scatter" in times:
        return "sequence" if "uall_reduce" in times else "TP"
    if times["fall_gather"] == 1:
        return "one group"
    if "ball_gather" not in times:
        return "kept"
    gathered = sum(n * V for _, kind, V, n in records if kind[0] == "a")
    scattered = sum(n * V for _, kind, V, n in records if kind[0] == "r")
    return "FSDP" if gathered == 2 * scattered else "float32"


# %% keep wrong: the first layers
def keep(L, layer, root, chips, hbm, other):
    states = 16 * (L * layer + root) / chips
    room = int((hbm - states - other - 2 * root) // (2 * layer))
    return list(range(min(room, L))) if room >= 2 else []


# %% keep wrong: two more for those that pass
def keep(L, layer, root, chips, hbm, other):
    states = 16 * (L * layer + root) / chips
    room = int((hbm - states - other - 2 * root) // (2 * layer)) - 2
    return list(range(L - min(max(room, 0), L), L))


# %% keep wrong: the root is forgotten
def keep(L, layer, root, chips, hbm, other):
    states = 16 * (L * layer + root) / chips
    room = int((hbm - states - other) // (2 * layer))
    return list(range(L - min(room, L), L)) if room >= 2 else []


# %% keep wrong: states of layers alone
def keep(L, layer, root, chips, hbm, other):
    states = 16 * L * layer / chips
    room = int((hbm - states - other - 2 * root) // (2 * layer))
    return list(range(L - min(room, L), L)) if room >= 2 else []


# %% keep wrong: states are not cut
def keep(L, layer, root, chips, hbm, other):
    states = 16 * (L * layer + root)
    room = int((hbm - states - other - 2 * root) // (2 * layer))
    return list(range(L - min(room, L), L)) if room >= 2 else []


# %% keep wrong: weights in one byte
def keep(L, layer, root, chips, hbm, other):
    states = 16 * (L * layer + root) / chips
    room = int((hbm - states - other - root) // layer)
    return list(range(L - min(room, L), L)) if room >= 2 else []


# %% keep wrong: every other layer
def keep(L, layer, root, chips, hbm, other):
    states = 16 * (L * layer + root) / chips
    room = int((hbm - states - other - 2 * root) // (2 * layer))
    return list(range(0, L, 2))[:room] if room >= 2 else []


# %% keep wrong: where nothing fits the last stays
def keep(L, layer, root, chips, hbm, other):
    states = 16 * (L * layer + root) / chips
    room = int((hbm - states - other - 2 * root) // (2 * layer))
    return list(range(L - min(max(room, 0), L), L))


# %% keep wrong: one more for the layer that passes
def keep(L, layer, root, chips, hbm, other):
    free = hbm - other - 16 * (L * layer + root) / chips - 2 * root
    n = int(free // (2 * layer))
    if n < min(2, L):
        return []
    k = min(n - 1, L)
    return list(range(L - k, L))


# %% keep wrong: the other bytes are forgotten
def keep(L, layer, root, chips, hbm, other):
    free = hbm - 16 * (L * layer + root) / chips - 2 * root
    n = int(free // (2 * layer))
    if n < min(2, L):
        return []
    k = min(n, L)
    return list(range(L - k, L))


# %% keep wrong: never quite full
def keep(L, layer, root, chips, hbm, other):
    free = hbm - other - 16 * (L * layer + root) / chips - 2 * root
    n = int((free - 1) // (2 * layer))
    if n < min(2, L):
        return []
    k = min(n, L)
    return list(range(L - k, L))


# %% keep wrong: rounded up
def keep(L, layer, root, chips, hbm, other):
    free = hbm - other - 16 * (L * layer + root) / chips - 2 * root
    n = int(-(-free // (2 * layer)))
    if n < min(2, L):
        return []
    k = min(n, L)
    return list(range(L - k, L))


# %% keep wrong: all but the last
def keep(L, layer, root, chips, hbm, other):
    free = hbm - other - 16 * (L * layer + root) / chips - 2 * root
    n = int(free // (2 * layer))
    if n < min(2, L):
        return []
    k = min(n, L)
    return list(range(L - 1 - k, L - 1))


# %% keep right: counting upwards
def keep(L, layer, root, chips, hbm, other):
    kept = []
    while len(kept) < L:
        more = [L - 1 - len(kept), *kept]
        whole = 2 * (root + max(len(more), 2) * layer)
        held = 16 * (L * layer + root) + chips * (whole + other)
        if held > chips * hbm:
            break
        kept = more
    return kept


# %% keep right: pass by pass
def keep(L, layer, root, chips, hbm, other):
    states = 16 * (L * layer + root) / chips
    for first in range(L):
        most = 0
        for now in range(2 * L):
            there = set()
            for step in (now, min(now + 1, 2 * L - 1)):
                there.add(step if step < L else 2 * L - 1 - step)
            for n in range(first, L):
                if n <= now < 2 * L - n:
                    there.add(n)
            most = max(most, len(there))
        if states + other + 2 * (root + most * layer) <= hbm:
            return list(range(first, L))
    return []


# %% keep right: a range
def keep(L, layer, root, chips, hbm, other):
    free = hbm - other - 16 * (L * layer + root) / chips - 2 * root
    n = int(free // (2 * layer))
    if n < min(2, L):
        return []
    k = min(n, L)
    return range(L - k, L)


# %% keep right: the last two, and others from the first
def keep(L, layer, root, chips, hbm, other):
    free = hbm - other - 16 * (L * layer + root) / chips - 2 * root
    n = int(free // (2 * layer))
    if n < min(2, L):
        return []
    k = min(n, L)
    return [*range(k - 2), L - 2, L - 1]


# %% keep equivalent: line 6: `min(room, L)` with its arguments reversed
# The smaller of two numbers is the same in either order.
