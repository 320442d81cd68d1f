# Answers that the checks of exercise set 20 must reject or accept.
#
# A cell is titled with the answer cell's grade_id, then `wrong: ` with the
# mistake or `right: ` with what is different. Run by tests/exercises.


# %% bare wrong: all times of the network
def bare(tasks):
    found = []
    for queue, start, end in sorted(tasks, key=lambda task: task[1:]):
        if queue != "network":
            continue
        if found and found[-1][1] >= start:
            found[-1][1] = max(found[-1][1], end)
        else:
            found.append([start, end])
    return found


# %% bare wrong: whenever the chip is idle
def bare(tasks):
    cuts = sorted({at for _, start, end in tasks for at in (start, end)})
    found = []
    for left, right in zip([0, *cuts], cuts, strict=False):
        runs = {queue for queue, a, b in tasks if a <= left and right <= b}
        if "chip" in runs or left == right:
            continue
        if found and found[-1][1] == left:
            found[-1][1] = right
        else:
            found.append([left, right])
    return found


# %% bare wrong: what is hidden
def bare(tasks):
    cuts = sorted({at for _, start, end in tasks for at in (start, end)})
    found = []
    for left, right in zip(cuts, cuts[1:], strict=False):
        runs = {queue for queue, a, b in tasks if a <= left and right <= b}
        if len(runs) != 2:
            continue
        if found and found[-1][1] == left:
            found[-1][1] = right
        else:
            found.append([left, right])
    return found


# %% bare wrong: intervals that touch stay apart
def bare(tasks):
    cuts = sorted({at for _, start, end in tasks for at in (start, end)})
    found = []
    for left, right in zip(cuts, cuts[1:], strict=False):
        runs = {queue for queue, a, b in tasks if a <= left and right <= b}
        if runs == {"network"}:
            found.append([left, right])
    return found


# %% bare wrong: a sum in the place of intervals
def bare(tasks):
    busy = sum(end - start for queue, start, end in tasks if queue != "chip")
    chip = sum(end - start for queue, start, end in tasks if queue == "chip")
    return [[0, max(busy - chip, 0)]]


# %% bare right: millisecond by millisecond
def bare(tasks):
    found = []
    for now in range(max(end for _, _, end in tasks)):
        runs = {queue for queue, a, b in tasks if a <= now < b}
        if "network" in runs and "chip" not in runs:
            if found and found[-1][1] == now:
                found[-1] = (found[-1][0], now + 1)
            else:
                found.append((now, now + 1))
    return found


# %% bare right: sets of milliseconds
def bare(tasks):
    covered = {"chip": set(), "network": set()}
    for queue, start, end in tasks:
        covered[queue] |= set(range(start, end))
    left = covered["network"] - covered["chip"]
    starts = sorted(at for at in left if at - 1 not in left)
    ends = sorted(at + 1 for at in left if at + 1 not in left)
    return [[float(a), float(b)] for a, b in zip(starts, ends, strict=True)]


# %% culprit wrong: the longest bar
def culprit(traces):
    most = max(
        (end - start, process, number)
        for process, trace in enumerate(traces)
        for number, (start, end) in enumerate(trace)
    )
    return [most[1], most[2], most[0]]


# %% culprit wrong: who waited
def culprit(traces):
    late = []
    for number in range(len(traces[0])):
        times = [end - start for start, end in (t[number] for t in traces)]
        process = times.index(max(times))
        late.append([max(times) - min(times), process, number])
    most, process, number = max(late)
    return [process, number, most]


# %% culprit wrong: starts on different clocks
def culprit(traces):
    late = []
    for number in range(len(traces[0])):
        starts = [trace[number][0] for trace in traces]
        process = starts.index(max(starts))
        late.append([max(starts) - min(starts), number, process])
    most, number, process = max(late)
    return [process, number, most]


# %% culprit wrong: how long the first one waited in all
def culprit(traces):
    late = []
    for number in range(len(traces[0])):
        times = [end - start for start, end in (t[number] for t in traces)]
        process = times.index(min(times))
        late.append([max(times) - min(times), process, number, max(times)])
    _, process, number, most = max(late)
    return [process, number, most]


# %% culprit wrong: the shortest time of all
def culprit(traces):
    least = min(
        (end - start, process, number)
        for process, trace in enumerate(traces)
        for number, (start, end) in enumerate(trace)
    )
    _, process, number = least
    times = [end - start for start, end in (t[number] for t in traces)]
    return [process, number, max(times) - min(times)]


# %% culprit right: clocks set by the ends
def culprit(traces):
    best = (-1, 0, 0)
    for number in range(len(traces[0])):
        comes = [trace[number][0] - trace[number][1] for trace in traces]
        late = max(comes) - min(comes)
        if late > best[0]:
            best = (late, comes.index(max(comes)), number)
    return [best[1], best[2], float(best[0])]


# %% culprit right: clocks set by the end of the first collective
def culprit(traces):
    zero = [trace[0][1] for trace in traces]
    found = {}
    for number in range(len(traces[0])):
        comes = [t[number][0] - at for t, at in zip(traces, zero, strict=True)]
        found[max(comes) - min(comes)] = (comes.index(max(comes)), number)
    late = max(found)
    return (*found[late], late)


# %% place wrong: states over X alone
def place(params, L, D, vocab, T, chips, hbm, most):
    cut = 2 * L * T * D + 2 * 2 * vocab * D + 4 * T * vocab
    Y = 1
    while Y <= most:
        held = 16 * params / (chips / Y) + cut / Y
        if held <= hbm:
            return [Y, held]
        Y *= 2
    return [0, 0]


# %% place wrong: nothing but weights is cut
def place(params, L, D, vocab, T, chips, hbm, most):
    held = 16 * params / chips
    held += 2 * L * T * D + 2 * 2 * vocab * D + 4 * T * vocab
    return [1, held] if held <= hbm else [0, 0]


# %% place wrong: the table has no gradient
def place(params, L, D, vocab, T, chips, hbm, most):
    cut = 2 * L * T * D + 2 * vocab * D + 4 * T * vocab
    Y = 1
    while Y <= most:
        held = 16 * params / chips + cut / Y
        if held <= hbm:
            return [Y, held]
        Y *= 2
    return [0, 0]


# %% place wrong: logits in bf16
def place(params, L, D, vocab, T, chips, hbm, most):
    cut = 2 * L * T * D + 2 * 2 * vocab * D + 2 * T * vocab
    Y = 1
    while Y <= most:
        held = 16 * params / chips + cut / Y
        if held <= hbm:
            return [Y, held]
        Y *= 2
    return [0, 0]


# %% place wrong: the input of one layer
def place(params, L, D, vocab, T, chips, hbm, most):
    cut = 2 * T * D + 2 * 2 * vocab * D + 4 * T * vocab
    Y = 1
    while Y <= most:
        held = 16 * params / chips + cut / Y
        if held <= hbm:
            return [Y, held]
        Y *= 2
    return [0, 0]


# %% place wrong: inputs are whole on each chip
def place(params, L, D, vocab, T, chips, hbm, most):
    cut = 2 * 2 * vocab * D + 4 * T * vocab
    Y = 1
    while Y <= most:
        held = 16 * params / chips + 2 * L * T * D + cut / Y
        if held <= hbm:
            return [Y, held]
        Y *= 2
    return [0, 0]


# %% place wrong: a byte must be left
def place(params, L, D, vocab, T, chips, hbm, most):
    cut = 2 * L * T * D + 2 * 2 * vocab * D + 4 * T * vocab
    Y = 1
    while Y <= most:
        held = 16 * params / chips + cut / Y
        if held < hbm:
            return [Y, held]
        Y *= 2
    return [0, 0]


# %% place wrong: as much TP as there is
def place(params, L, D, vocab, T, chips, hbm, most):
    cut = 2 * L * T * D + 2 * 2 * vocab * D + 4 * T * vocab
    held = 16 * params / chips + cut / most
    return [most, held] if held <= hbm else [0, 0]


# %% place right: all powers at once
def place(params, L, D, vocab, T, chips, hbm, most):
    inputs, tables, logits = 2 * L * T * D, 4 * vocab * D, 4 * T * vocab
    states = 16 * params / chips
    powers = [2**n for n in range(20) if 2**n <= most]
    sums = {Y: states + (inputs + tables + logits) / Y for Y in powers}
    good = [Y for Y in powers if sums[Y] <= hbm]
    return (good[0], sums[good[0]]) if good else (0, 0.0)


# %% place right: from the room that is left
def place(params, L, D, vocab, T, chips, hbm, most):
    states = 16 * params / chips
    cut = 2 * L * T * D + 4 * vocab * D + 4 * T * vocab
    for Y in (1, 2, 4, 8, 16, 32, 64):
        if Y <= most and cut <= (hbm - states) * Y:
            return [Y, cut / Y + states]
    return [0, 0]


# %% loads wrong: a third each
def loads(shape, order, V):
    chips = 1
    for n in shape:
        chips *= n
    return [V * (chips - 1) // (chips * len(shape))] * len(shape)


# %% loads wrong: pieces do not grow
def loads(shape, order, V):
    chips = 1
    for n in shape:
        chips *= n
    return [(n - 1) * V // chips for n in shape]


# %% loads wrong: all of V on each axis
def loads(shape, order, V):
    return [(n - 1) * V // n for n in shape]


# %% loads wrong: backwards
def loads(shape, order, V):
    chips = 1
    for n in shape:
        chips *= n
    has, found = V // chips, [0] * len(shape)
    for axis in order[::-1]:
        found[axis] = (shape[axis] - 1) * has
        has *= shape[axis]
    return found


# %% loads wrong: in the order of the gather
def loads(shape, order, V):
    chips = 1
    for n in shape:
        chips *= n
    has, found = V // chips, []
    for axis in order:
        found.append((shape[axis] - 1) * has)
        has *= shape[axis]
    return found


# %% loads wrong: the order is not asked
def loads(shape, order, V):
    chips = 1
    for n in shape:
        chips *= n
    has, found = V // chips, []
    for n in shape:
        found.append((n - 1) * has)
        has *= n
    return found


# %% loads right: from the end
def loads(shape, order, V):
    found, has = {}, V
    for axis in reversed(order):
        found[axis] = has - has // shape[axis]
        has //= shape[axis]
    return tuple(found[axis] for axis in range(len(shape)))


# %% loads right: as fractions of V
def loads(shape, order, V):
    found = [0.0] * len(shape)
    for place, axis in enumerate(order):
        later = 1
        for other in order[place:]:
            later *= shape[other]
        found[axis] = V * (shape[axis] - 1) / later
    return [round(x) for x in found]


# %% tokens wrong: two matmuls
S, X, C, W = sympy.symbols("S X C W", positive=True)
tokens = 2 * (S - 1) * C / (S * X * W)

# %% tokens wrong: every chip sends whole gradients
S, X, C, W = sympy.symbols("S X C W", positive=True)
tokens = (S - 1) * C / (S * W)

# %% tokens wrong: an AllReduce sends everything twice
S, X, C, W = sympy.symbols("S X C W", positive=True)
tokens = C / (X * W)

# %% tokens wrong: one pass round the ring
S, X, C, W = sympy.symbols("S X C W", positive=True)
tokens = (S - 1) * C / (2 * S * X * W)

# %% tokens wrong: S - 1 times the piece
S, X, C, W = sympy.symbols("S X C W", positive=True)
tokens = (S - 1) * C / (X * W)

# %% tokens wrong: upside down
S, X, C, W = sympy.symbols("S X C W", positive=True)
tokens = S * X * W / ((S - 1) * C)

# %% tokens right: in pieces
S, X, C, W = sympy.symbols("S X C W", positive=True)
ring = 2 * (1 - 1 / S)
tokens = ring * 4 / X / W / (8 / C)

# %% tokens right: as text
tokens = "(1 - 1/S) * C / (X * W)"


# %% believed wrong: the knee at C/M
def believed(points, D, F):
    (few, flat), (many, long) = points[0], points[-1]
    C = 2 * many * D * F / long
    M = 2 * (few * D + D * F + few * F) / flat
    return [C, M, C / M]


# %% believed wrong: only weights are read
def believed(points, D, F):
    (_, flat), (many, long) = points[0], points[-1]
    C = 2 * many * D * F / long
    M = 2 * D * F / flat
    return [C, M, D * F / (D * F * M / C - D - F)]


# %% believed wrong: the result is not written
def believed(points, D, F):
    (few, flat), (many, long) = points[0], points[-1]
    C = 2 * many * D * F / long
    M = 2 * (few * D + D * F) / flat
    return [C, M, D * F / (D * F * M / C - D)]


# %% believed wrong: a multiply-add is one
def believed(points, D, F):
    (few, flat), (many, long) = points[0], points[-1]
    C = many * D * F / long
    M = 2 * (few * D + D * F + few * F) / flat
    return [C, M, D * F / (D * F * M / C - D - F)]


# %% believed wrong: elements
def believed(points, D, F):
    (few, flat), (many, long) = points[0], points[-1]
    C = 2 * many * D * F / long
    M = (few * D + D * F + few * F) / flat
    return [C, M, D * F / (D * F * M / C - D - F)]


# %% believed wrong: both from the last point
def believed(points, D, F):
    (many, long) = points[-1]
    C = 2 * many * D * F / long
    M = 2 * (many * D + D * F + many * F) / long
    return [C, M, D * F / (D * F * M / C - D - F)]


# %% believed wrong: activations help
def believed(points, D, F):
    (few, flat), (many, long) = points[0], points[-1]
    C = 2 * many * D * F / long
    M = 2 * (few * D + D * F + few * F) / flat
    return [C, M, D * F / (D * F * M / C + D + F)]


# %% believed right: two lines that meet
def believed(points, D, F):
    def moved(B):
        return 2 * (B * (D + F) + D * F)

    C = 2 * points[-1][0] * D * F / points[-1][1]
    M = moved(points[0][0]) / points[0][1]
    each = 2 * D * F / C - 2 * (D + F) / M
    return C, M, 2 * D * F / M / each


# %% believed right: by bisection
def believed(points, D, F):
    (few, flat), (many, long) = points[0], points[-1]
    C = 2 * many * D * F / long
    M = 2 * (few * D + D * F + few * F) / flat
    low, high = 0.0, 1e7
    for _ in range(200):
        B = (low + high) / 2
        late = 2 * B * D * F / C > 2 * (B * D + D * F + B * F) / M
        low, high = (low, B) if late else (B, high)
    return [C, M, low]


# %% bare equivalent: line 4: `(start, end)` is reversed
# The order in which a set is filled does not matter.

# %% culprit equivalent: line 5: 0 becomes 1
# All processes take part in equally many collectives.

# %% loads equivalent: line 7: 0 becomes 1
# What stands there first is overwritten, for every axis is in `order`.


# %% bare wrong: the end of the last task is the end of all
def bare(tasks):
    def joined(queue):
        found = []
        for name, start, end in sorted(tasks, key=lambda task: task[1:]):
            if name != queue:
                continue
            if found and start <= found[-1][1]:
                found[-1][1] = end
            else:
                found.append([start, end])
        return found

    def covered(intervals, at):
        return any(start <= at < end for start, end in intervals)

    network, chip, found = joined("network"), joined("chip"), []
    for at in range(max(end for *_, end in tasks)):
        if not covered(network, at) or covered(chip, at):
            continue
        if found and found[-1][1] == at:
            found[-1][1] = at + 1
        else:
            found.append([at, at + 1])
    return found


# %% culprit wrong: who is late by most in all
def culprit(traces):
    times = [[end - start for start, end in trace] for trace in traces]
    longest = [max(column) for column in zip(*times)]
    late = [[m - x for m, x in zip(longest, own)] for own in times]
    process = max(range(len(late)), key=lambda p: sum(late[p]))
    number = late[process].index(max(late[process]))
    return [process, number, late[process][number]]


# %% culprit wrong: two processes alone
def culprit(traces):
    best = [0, 0, -1]
    for number, (one, other) in enumerate(zip(*traces[:2])):
        more = (one[1] - one[0]) - (other[1] - other[0])
        if abs(more) > best[2]:
            best = [int(more > 0), number, abs(more)]
    return best


# %% culprit wrong: clocks set by the first start
def culprit(traces):
    late = []
    for number in range(len(traces[0])):
        starts = [trace[number][0] - trace[0][0] for trace in traces]
        process = starts.index(max(starts))
        late.append([max(starts) - min(starts), process, number])
    most, process, number = max(late)
    return [process, number, most]


# %% place wrong: any number
def place(params, L, D, vocab, T, chips, hbm, most):
    cut = 2 * L * T * D + 2 * 2 * vocab * D + 4 * T * vocab
    for ways in range(1, most + 1):
        held = 16 * params / chips + cut / ways
        if held <= hbm:
            return [ways, held]
    return [0, 0]


# %% place wrong: as much as it takes
def place(params, L, D, vocab, T, chips, hbm, most):
    cut = 2 * L * T * D + 2 * 2 * vocab * D + 4 * T * vocab
    for power in range(60):
        held = 16 * params / chips + cut / 2**power
        if held <= hbm:
            return [2**power, held]
    return [0, 0]


# %% place wrong: nothing where nothing fits
def place(params, L, D, vocab, T, chips, hbm, most):
    cut = 2 * L * T * D + 2 * 2 * vocab * D + 4 * T * vocab
    ways = 1
    while ways <= most:
        held = 16 * params / chips + cut / ways
        if held <= hbm:
            return [ways, held]
        ways *= 2


# %% place wrong: less than the most
def place(params, L, D, vocab, T, chips, hbm, most):
    cut = 2 * L * T * D + 2 * 2 * vocab * D + 4 * T * vocab
    ways = 1
    while ways < most:
        held = 16 * params / chips + cut / ways
        if held <= hbm:
            return [ways, held]
        ways *= 2
    return [0, 0]


# %% place wrong: 14 bytes a parameter
def place(params, L, D, vocab, T, chips, hbm, most):
    cut = 2 * L * T * D + 2 * 2 * vocab * D + 4 * T * vocab
    ways = 1
    while ways <= most:
        held = 14 * params / chips + cut / ways
        if held <= hbm:
            return [ways, held]
        ways *= 2
    return [0, 0]


# %% loads wrong: the guess, a share each
def loads(shape, order, V):
    return [V / len(shape)] * len(shape)


# %% loads wrong: its own piece as well
def loads(shape, order, V):
    chips = 1
    for n in shape:
        chips *= n
    has, found = V // chips, [0] * len(shape)
    for axis in order:
        found[axis] = shape[axis] * has
        has *= shape[axis]
    return found


# %% loads wrong: all of V at the start
def loads(shape, order, V):
    has, found = V, [0] * len(shape)
    for axis in order:
        found[axis] = (shape[axis] - 1) * has
        has *= shape[axis]
    return found


# %% loads wrong: half each way
def loads(shape, order, V):
    chips = 1
    for n in shape:
        chips *= n
    has, found = V // chips, [0] * len(shape)
    for axis in order:
        found[axis] = (shape[axis] - 1) * has / 2
        has *= shape[axis]
    return found


# %% believed wrong: bytes/s first
def believed(points, D, F):
    (few, flat), (many, long) = points[0], points[-1]
    C = 2 * many * D * F / long
    M = 2 * (few * D + D * F + few * F) / flat
    return [M, C, D * F / (D * F * M / C - D - F)]


# %% believed wrong: the knee of a square
def believed(points, D, F):
    (few, flat), (many, long) = points[0], points[-1]
    C = 2 * many * D * F / long
    M = 2 * (few * D + D * F + few * F) / flat
    return [C, M, D / (D * M / C - 2)]


# %% culprit wrong: the longest time since the collective before
def culprit(traces):
    found = []
    for process, trace in enumerate(traces):
        for number in range(1, len(trace)):
            gap = trace[number][0] - trace[number - 1][1]
            found.append((gap, process, number))
    late, process, number = max(found)
    return [process, number, late]


# %% culprit wrong: the first collective is left out
def culprit(traces):
    found = []
    for number in range(1, len(traces[0])):
        gaps = [trace[number][0] - trace[number - 1][1] for trace in traces]
        late = max(gaps) - min(gaps)
        found.append((late, gaps.index(max(gaps)), number))
    late, process, number = max(found)
    return [process, number, late]
