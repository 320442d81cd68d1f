# Answers that the checks of exercise set 18 must reject or accept.
#
# A cell is titled with the answer cell's grade_id, then `wrong: ` with the
# mistake or `right: ` with what is different. Run by tests/exercises.


# %% rows wrong: by the number of the process
def rows(shape, axes, ranks, B):
    each = B // ranks
    return [[rank * each + n for n in range(each)] for rank in range(ranks)]


# %% rows wrong: everybody reads everything
def rows(shape, axes, ranks, B):
    return [list(range(B)) for _ in range(ranks)]


# %% rows wrong: the first axis is the minor one
def rows(shape, axes, ranks, B):
    cut = [shape[axis] for axis in axes[::-1]]
    each, chips = B // prod(cut), prod(shape) // ranks
    found = []
    for rank in range(ranks):
        parts = set()
        for chip in range(rank * chips, (rank + 1) * chips):
            places = np.unravel_index(chip, shape)
            at = [places[axis] for axis in axes[::-1]]
            parts.add(int(np.ravel_multi_index(at, cut)) if axes else 0)
        found.append([p * each + n for p in sorted(parts) for n in range(each)])
    return found


# %% rows wrong: axes in the order of the mesh
def rows(shape, axes, ranks, B):
    axes = sorted(axes)
    cut = [shape[axis] for axis in axes]
    each, chips = B // prod(cut), prod(shape) // ranks
    found = []
    for rank in range(ranks):
        parts = set()
        for chip in range(rank * chips, (rank + 1) * chips):
            places = np.unravel_index(chip, shape)
            at = [places[axis] for axis in axes]
            parts.add(int(np.ravel_multi_index(at, cut)) if axes else 0)
        found.append([p * each + n for p in sorted(parts) for n in range(each)])
    return found


# %% rows wrong: only the first chip of a process
def rows(shape, axes, ranks, B):
    cut = [shape[axis] for axis in axes]
    each, chips = B // prod(cut), prod(shape) // ranks
    found = []
    for rank in range(ranks):
        places = np.unravel_index(rank * chips, shape)
        at = [places[axis] for axis in axes]
        part = int(np.ravel_multi_index(at, cut)) if axes else 0
        found.append([part * each + n for n in range(each)])
    return found


# %% rows wrong: once for each chip
def rows(shape, axes, ranks, B):
    cut = [shape[axis] for axis in axes]
    each, chips = B // prod(cut), prod(shape) // ranks
    found = []
    for rank in range(ranks):
        mine = []
        for chip in range(rank * chips, (rank + 1) * chips):
            places = np.unravel_index(chip, shape)
            at = [places[axis] for axis in axes]
            part = int(np.ravel_multi_index(at, cut)) if axes else 0
            mine += [part * each + n for n in range(each)]
        found.append(mine)
    return found


# %% rows wrong: dealt like cards
def rows(shape, axes, ranks, B):
    cut = [shape[axis] for axis in axes]
    parts_in_all, chips = prod(cut), prod(shape) // ranks
    found = []
    for rank in range(ranks):
        parts = set()
        for chip in range(rank * chips, (rank + 1) * chips):
            places = np.unravel_index(chip, shape)
            at = [places[axis] for axis in axes]
            parts.add(int(np.ravel_multi_index(at, cut)) if axes else 0)
        found.append([n for n in range(B) if n % parts_in_all in parts])
    return found


# %% rows right: by what JAX says
def rows(shape, axes, ranks, B):
    names = tuple(f"axis{number}" for number in range(len(shape)))
    devices = np.array(jax.devices()[: prod(shape)]).reshape(shape)
    mesh = jax.sharding.Mesh(devices, names)
    spec = jax.P(tuple(names[axis] for axis in axes) or None)
    place = jax.NamedSharding(mesh, spec)
    indices = place.devices_indices_map((B,))
    parts = [set(range(B)[indices[one][0]]) for one in devices.flat]
    each = len(parts) // ranks
    return [
        sorted(set.union(*parts[n * each : (n + 1) * each]))
        for n in range(ranks)
    ]


# %% rows right: the batch as an array with the mesh's axes
def rows(shape, axes, ranks, B):
    cut = [shape[axis] for axis in axes]
    parts = np.arange(B).reshape(*cut, -1) if axes else np.arange(B)[None]
    if not axes:
        return [list(range(B)) for _ in range(ranks)]
    left = [axis for axis in range(len(shape)) if axis not in axes]
    order = np.argsort([*axes, *left])
    size = parts.shape[-1]
    full = np.zeros([*cut, *(shape[axis] for axis in left), size], int)
    full += parts.reshape(*cut, *(1 for _ in left), size)
    full = np.moveaxis(full, -1, 0).transpose(0, *(1 + order))
    chips = np.moveaxis(full, 0, -1).reshape(ranks, -1)
    return [sorted(set(mine.tolist())) for mine in chips]


# %% between wrong: the ring does not come back
def between(shape, axis, ranks, V):
    chips = np.moveaxis(np.arange(prod(shape)).reshape(shape), axis, 0)
    process = chips // (chips.size // ranks)
    crosses = process[1:] != process[:-1]
    return V * (shape[axis] - 1) // shape[axis] * int(crosses.sum())


# %% between wrong: the guess, one border
def between(shape, axis, ranks, V):
    N = shape[axis]
    return V * (N - 1) // N * (ranks - 1)


# %% between wrong: all links
def between(shape, axis, ranks, V):
    N = shape[axis]
    return V * (N - 1) // N * prod(shape)


# %% between wrong: the whole array over each link
def between(shape, axis, ranks, V):
    chips = np.arange(prod(shape)).reshape(shape)
    process = chips // (chips.size // ranks)
    return V * int((process != np.roll(process, -1, axis)).sum())


# %% between wrong: one piece over each link
def between(shape, axis, ranks, V):
    chips = np.arange(prod(shape)).reshape(shape)
    process = chips // (chips.size // ranks)
    crosses = (process != np.roll(process, -1, axis)).sum()
    return V // shape[axis] * int(crosses)


# %% between wrong: a single ring
def between(shape, axis, ranks, V):
    chips = np.moveaxis(np.arange(prod(shape)).reshape(shape), axis, -1)
    ring = chips.reshape(-1, shape[axis])[0] // (chips.size // ranks)
    crosses = int((ring != np.roll(ring, -1)).sum())
    return V * (shape[axis] - 1) // shape[axis] * crosses


# %% between wrong: both directions
def between(shape, axis, ranks, V):
    chips = np.arange(prod(shape)).reshape(shape)
    process = chips // (chips.size // ranks)
    crosses = (process != np.roll(process, -1, axis)).sum()
    return 2 * V * (shape[axis] - 1) // shape[axis] * int(crosses)


# %% between wrong: chips in columns
def between(shape, axis, ranks, V):
    chips = np.arange(prod(shape)).reshape(shape, order="F")
    process = chips // (chips.size // ranks)
    crosses = (process != np.roll(process, -1, axis)).sum()
    return V * (shape[axis] - 1) // shape[axis] * int(crosses)


# %% between right: chip by chip
def between(shape, axis, ranks, V):
    each, crosses = prod(shape) // ranks, 0
    for chip in range(prod(shape)):
        place = list(np.unravel_index(chip, shape))
        place[axis] = (place[axis] + 1) % shape[axis]
        other = int(np.ravel_multi_index(place, shape))
        crosses += chip // each != other // each
    return crosses * (V - V // shape[axis])


# %% between right: by the stride of an axis
def between(shape, axis, ranks, V):
    each, N = prod(shape) // ranks, shape[axis]
    stride = prod(shape[axis + 1 :])
    crosses = 0
    for chip in range(prod(shape)):
        last = chip // stride % N == N - 1
        other = chip - (N - 1) * stride if last else chip + stride
        if chip // each != other // each:
            crosses += 1
    return V / N * (N - 1) * crosses


# %% law wrong: plain least squares
def law(N, points):
    V, seconds = np.array(points).T
    slope, start = np.polyfit(V, seconds, 1)
    return start / (2 * (N - 1)), 2 * (N - 1) / N / slope


# %% law wrong: through the ends
def law(N, points):
    (V, seconds), (more, longer) = points[0], points[-1]
    beta = (longer - seconds) / (more - V)
    return (seconds - beta * V) / (2 * (N - 1)), 2 * (N - 1) / N / beta


# %% law wrong: one end for each
def law(N, points):
    (_, seconds), (more, longer) = points[0], points[-1]
    return seconds / (2 * (N - 1)), 2 * (N - 1) / N * more / longer


# %% law wrong: alpha of all rounds
def law(N, points):
    V, seconds = np.array(points).T
    terms = np.stack([1 / seconds, 2 * (N - 1) / N * V / seconds], axis=1)
    (alpha, beta), *_ = np.linalg.lstsq(terms, np.ones(len(V)))
    return alpha, 1 / beta


# %% law wrong: an AllReduce of N - 1 rounds
def law(N, points):
    V, seconds = np.array(points).T
    terms = np.stack([N - 1 + 0 * V, 2 * (N - 1) / N * V], 1) / seconds[:, None]
    (alpha, beta), *_ = np.linalg.lstsq(terms, np.ones(len(V)))
    return alpha, 1 / beta


# %% law wrong: V over each link
def law(N, points):
    V, seconds = np.array(points).T
    terms = np.stack([2 * (N - 1) + 0 * V, V], 1) / seconds[:, None]
    (alpha, beta), *_ = np.linalg.lstsq(terms, np.ones(len(V)))
    return alpha, 1 / beta


# %% law wrong: the bytes of one phase
def law(N, points):
    V, seconds = np.array(points).T
    terms = np.stack([2 * (N - 1) + 0 * V, (N - 1) / N * V], 1)
    terms /= seconds[:, None]
    (alpha, beta), *_ = np.linalg.lstsq(terms, np.ones(len(V)))
    return alpha, 1 / beta


# %% law wrong: seconds a byte
def law(N, points):
    V, seconds = np.array(points).T
    terms = np.stack([2 * (N - 1) + 0 * V, 2 * (N - 1) / N * V], 1)
    terms /= seconds[:, None]
    (alpha, beta), *_ = np.linalg.lstsq(terms, np.ones(len(V)))
    return alpha, beta


# %% law wrong: the speed first
def law(N, points):
    V, seconds = np.array(points).T
    terms = np.stack([2 * (N - 1) + 0 * V, 2 * (N - 1) / N * V], 1)
    terms /= seconds[:, None]
    (alpha, beta), *_ = np.linalg.lstsq(terms, np.ones(len(V)))
    return 1 / beta, alpha


# %% law right: weights for polyfit
def law(N, points):
    V, seconds = np.array(points).T
    slope, start = np.polyfit(V, seconds, 1, w=1 / seconds)
    return start / (2 * (N - 1)), 2 * (N - 1) / N / slope


# %% law right: the ends, and then what is between
def law(N, points):
    V, seconds = np.array(points).T
    alpha, beta = seconds[0], seconds[-1] / V[-1]
    for _ in range(200):
        at_zero, slope = seconds - beta * V, (seconds - alpha) / V
        light = (seconds / (alpha + beta * V)) ** -2 / seconds**2
        alpha = np.sum(light * at_zero) / np.sum(light)
        heavy = light * V**2
        beta = np.sum(heavy * slope) / np.sum(heavy)
    return [alpha / (2 * (N - 1)), 2 * (N - 1) / N / beta]


# %% from_host_to_host wrong: the ring does not come back
def from_host_to_host(N, H, V):
    distances = [2**k for k in range(N.bit_length() - 1)]
    pieces = [V // 2 ** (k + 1) for k in range(len(distances))]
    near = sum(N * p for d, p in zip(distances, pieces) if d >= H)
    far = sum(N * p for d, p in zip(distances[::-1], pieces) if d >= H)
    return (N // H - 1) * (V - V // N), far, near


# %% from_host_to_host wrong: far is near
def from_host_to_host(N, H, V):
    distances = [2**k for k in range(N.bit_length() - 1)]
    pieces = [V // 2 ** (k + 1) for k in range(len(distances))]
    near = sum(N * p for d, p in zip(distances, pieces) if d >= H)
    far = sum(N * p for d, p in zip(distances[::-1], pieces) if d >= H)
    return N // H * (V - V // N), near, far


# %% from_host_to_host wrong: of a single chip
def from_host_to_host(N, H, V):
    distances = [2**k for k in range(N.bit_length() - 1)]
    pieces = [V // 2 ** (k + 1) for k in range(len(distances))]
    near = sum(p for d, p in zip(distances, pieces) if d >= H)
    far = sum(p for d, p in zip(distances[::-1], pieces) if d >= H)
    return N // H * (V - V // N), far, near


# %% from_host_to_host wrong: each exchange counted once
def from_host_to_host(N, H, V):
    distances = [2**k for k in range(N.bit_length() - 1)]
    pieces = [V // 2 ** (k + 1) for k in range(len(distances))]
    near = sum(N * p for d, p in zip(distances, pieces) if d >= H) // 2
    far = sum(N * p for d, p in zip(distances[::-1], pieces) if d >= H) // 2
    return N // H * (V - V // N), far, near


# %% from_host_to_host wrong: hosts are not looked at
def from_host_to_host(N, H, V):
    all_of_it = N * (V - V // N)
    return all_of_it, all_of_it, all_of_it


# %% from_host_to_host wrong: halving, hosts are not looked at
def from_host_to_host(N, H, V):
    all_of_it = N * (V - V // N)
    return N // H * (V - V // N), all_of_it, all_of_it


# %% from_host_to_host wrong: near leaves all pieces alike
def from_host_to_host(N, H, V):
    distances = [2**k for k in range(N.bit_length() - 1)]
    pieces = [V // 2 ** (k + 1) for k in range(len(distances))]
    far = sum(N * p for d, p in zip(distances[::-1], pieces) if d >= H)
    return N // H * (V - V // N), far, far


# %% from_host_to_host right: in closed form
def from_host_to_host(N, H, V):
    near = V * (N - H) / H
    return (N - 1) * V / H, H * near, near


# %% from_host_to_host right: chip by chip
def from_host_to_host(N, H, V):
    def halving(distances):
        sent, size = 0, V
        for distance in distances:
            size //= 2
            for chip in range(N):
                if chip // H != (chip ^ distance) // H:
                    sent += size
        return sent

    distances = [1 << k for k in range(N.bit_length() - 1)]
    ring = sum(
        (N - 1) * (V // N)
        for chip in range(N)
        if chip // H != (chip + 1) % N // H
    )
    return [ring, halving(reversed(distances)), halving(distances)]


# %% bucket wrong: one delay a round
N, d, W = sympy.symbols("N d W", positive=True)
bucket = d * W * N
tenth = 9 * bucket
hosts = [83, 5]


# %% bucket wrong: the whole bucket in each round
N, d, W = sympy.symbols("N d W", positive=True)
bucket = 2 * d * W
tenth = 9 * bucket
hosts = [83, 5]


# %% bucket wrong: V over the link
N, d, W = sympy.symbols("N d W", positive=True)
bucket = 4 * d * W * (N - 1)
tenth = 9 * bucket
hosts = [83, 5]


# %% bucket wrong: rounds of one phase, bytes of both
N, d, W = sympy.symbols("N d W", positive=True)
bucket = 2 * d * W * (N - 1)
tenth = 9 * bucket
hosts = [83, 5]


# %% bucket wrong: bytes of one phase, rounds of both
N, d, W = sympy.symbols("N d W", positive=True)
bucket = 4 * d * W * N
tenth = 9 * bucket
hosts = [83, 5]


# %% bucket wrong: a tenth of what is carried
N, d, W = sympy.symbols("N d W", positive=True)
bucket = 2 * d * W * N
tenth = 10 * bucket
hosts = [83, 5]


# %% bucket wrong: a tenth is five times a half
N, d, W = sympy.symbols("N d W", positive=True)
bucket = 2 * d * W * N
tenth = 5 * bucket
hosts = [83, 5]


# %% bucket wrong: less waiting in smaller buckets
N, d, W = sympy.symbols("N d W", positive=True)
bucket = 2 * d * W * N
tenth = bucket / 10
hosts = [83, 5]


# %% bucket right: as text
bucket = "2*N*W*d"
tenth = "18*N*W*d"
hosts = [83, 5]


# %% bucket right: solved by SymPy
N, d, W, V = sympy.symbols("N d W V", positive=True)
waits = 2 * (N - 1) * 2 * d
carries = 2 * (N - 1) / N * V / W
(bucket,) = sympy.solve(waits - carries, V)
(tenth,) = sympy.solve(waits - (waits + carries) / 10, V)
hosts = [83, 5]


# %% done wrong: as if nothing could hang
def done(programs):
    return [len(calls) for calls in programs]


# %% done wrong: a single round
def done(programs):
    behind = [0] * len(programs)
    for rank in range(len(programs)):
        if behind[rank] < len(programs[rank]):
            call = programs[rank][behind[rank]]
            here = [programs[q][behind[q] : behind[q] + 1] for q in call[1]]
            if all(other == [call] for other in here):
                for other in call[1]:
                    behind[other] += 1
    return behind


# %% done wrong: up to the first difference
def done(programs):
    same = 0
    for calls in zip(*programs):
        if any(call != calls[0] for call in calls):
            break
        same += 1
    return [same] * len(programs)


# %% done wrong: all with the same name take part
def done(programs):
    behind = [0] * len(programs)
    while True:
        calls = [p[b : b + 1] for p, b in zip(programs, behind)]
        names = [call[0][0] if call else None for call in calls]
        if names[0] is None or any(name != names[0] for name in names):
            return behind
        behind = [b + 1 for b in behind]


# %% done wrong: one waits for those that come some day
def done(programs):
    found = []
    for calls in programs:
        made = 0
        for call in calls:
            if not all(call in programs[other] for other in call[1]):
                break
            made += 1
        found.append(made)
    return found


# %% done wrong: the call that hangs is counted
def done(programs):
    behind = [0] * len(programs)
    moved = True
    while moved:
        moved = False
        for rank, calls in enumerate(programs):
            if behind[rank] == len(calls):
                continue
            call = calls[behind[rank]]
            if all(
                programs[q][behind[q] : behind[q] + 1] == [call]
                for q in call[1]
            ):
                for other in call[1]:
                    behind[other] += 1
                moved = True
    return [min(b + 1, len(p)) for b, p in zip(behind, programs)]


# %% done right: calls taken off the front
def done(programs):
    queues = [list(calls) for calls in programs]
    going = True
    while going:
        going = False
        for queue in queues:
            if queue and all(queues[q][:1] == queue[:1] for q in queue[0][1]):
                for other in list(queue[0][1]):
                    queues[other].pop(0)
                going = True
    return [len(p) - len(q) for p, q in zip(programs, queues)]


# %% done right: by how many calls of a list everybody has reached
def done(programs):
    behind = [0] * len(programs)

    def step():
        for rank, calls in enumerate(programs):
            for call in calls[behind[rank] : behind[rank] + 1]:
                reached = [
                    q
                    for q in call[1]
                    if behind[q] < len(programs[q])
                    and programs[q][behind[q]] == call
                ]
                if len(reached) == len(call[1]):
                    for q in reached:
                        behind[q] += 1
                    return True
        return False

    while step():
        pass
    return np.array(behind)


# %% rows wrong: the first and the last chip of a process
def rows(shape, axes, ranks, B):
    cut = [shape[axis] for axis in axes]
    each, chips = B // prod(cut), prod(shape) // ranks
    found = []
    for rank in range(ranks):
        parts = set()
        for chip in (rank * chips, (rank + 1) * chips - 1):
            places = np.unravel_index(chip, shape)
            at = [places[axis] for axis in axes]
            parts.add(int(np.ravel_multi_index(at, cut)) if axes else 0)
        found.append([p * each + n for p in sorted(parts) for n in range(each)])
    return found


# %% rows wrong: in the order of chips
def rows(shape, axes, ranks, B):
    cut = [shape[axis] for axis in axes]
    each, chips = B // prod(cut), prod(shape) // ranks
    found = []
    for rank in range(ranks):
        parts = {}
        for chip in range(rank * chips, (rank + 1) * chips):
            places = np.unravel_index(chip, shape)
            at = [places[axis] for axis in axes]
            parts[int(np.ravel_multi_index(at, cut)) if axes else 0] = True
        found.append([p * each + n for p in parts for n in range(each)])
    return found


# %% rows wrong: all from the first to the last
def rows(shape, axes, ranks, B):
    cut = [shape[axis] for axis in axes]
    each, chips = B // prod(cut), prod(shape) // ranks
    found = []
    for rank in range(ranks):
        parts = set()
        for chip in range(rank * chips, (rank + 1) * chips):
            places = np.unravel_index(chip, shape)
            at = [places[axis] for axis in axes]
            parts.add(int(np.ravel_multi_index(at, cut)) if axes else 0)
        found.append(list(range(min(parts) * each, (max(parts) + 1) * each)))
    return found


# %% between wrong: two chips are joined by one link
def between(shape, axis, ranks, V):
    chips = np.arange(prod(shape)).reshape(shape)
    process = chips // (chips.size // ranks)
    other = np.roll(chips, -1, axis)
    links = {
        frozenset((int(a), int(b)))
        for a, b in zip(chips.flat, other.flat)
        if process.flat[a] != process.flat[b]
    }
    N = shape[axis]
    return V * (N - 1) // N * len(links)


# %% law wrong: weights that polyfit squares once more
def law(N, points):
    V, seconds = np.array(points).T
    slope, start = np.polyfit(V, seconds, 1, w=1 / seconds**2)
    return start / (2 * (N - 1)), 2 * (N - 1) / N / slope


# %% law wrong: two waits a round
def law(N, points):
    V, seconds = np.array(points).T
    slope, start = np.polyfit(V, seconds, 1, w=1 / seconds)
    return start / (4 * (N - 1)), 2 * (N - 1) / N / slope


# %% law wrong: rounds of halving
def law(N, points):
    V, seconds = np.array(points).T
    slope, start = np.polyfit(V, seconds, 1, w=1 / seconds)
    return start / np.log2(N), 2 * (N - 1) / N / slope


# %% from_host_to_host wrong: all three alike
def from_host_to_host(N, H, V):
    ring = N // H * (V - V // N)
    return ring, ring, ring


# %% from_host_to_host wrong: a partner H away is on the same host
def from_host_to_host(N, H, V):
    distances = [2**k for k in range(N.bit_length() - 1)]
    pieces = [V // 2 ** (k + 1) for k in range(len(distances))]
    near = sum(N * p for d, p in zip(distances, pieces) if d > H)
    far = sum(N * p for d, p in zip(distances[::-1], pieces) if d > H)
    return N // H * (V - V // N), far, near


# %% from_host_to_host wrong: the first piece is the whole array
def from_host_to_host(N, H, V):
    return N // H * (V - V // N), 2 * V * (N - H), 2 * V * (N - H) // H


# %% from_host_to_host wrong: pieces are put in order afterwards
def from_host_to_host(N, H, V):
    ring = N // H * (V - V // N)
    return ring, V * (N - H) + V // 2, V * (N - H) // H + V // 2


# %% done wrong: by the name of a call, not by its list
def done(programs):
    behind = [0] * len(programs)
    moved = True
    while moved:
        moved = False
        for rank, program in enumerate(programs):
            if behind[rank] == len(program):
                continue
            name, ranks = program[behind[rank]]
            following = [programs[q][behind[q] : behind[q] + 1] for q in ranks]
            if all(call and call[0][0] == name for call in following):
                for q in ranks:
                    behind[q] += 1
                moved = True
    return behind


# %% done wrong: by the list of a call, not by its name
def done(programs):
    behind = [0] * len(programs)
    moved = True
    while moved:
        moved = False
        for rank, program in enumerate(programs):
            if behind[rank] == len(program):
                continue
            _, ranks = program[behind[rank]]
            following = [programs[q][behind[q] : behind[q] + 1] for q in ranks]
            if all(call and call[0][1] == ranks for call in following):
                for q in ranks:
                    behind[q] += 1
                moved = True
    return behind


# %% done wrong: each process once, as far as it gets
def done(programs):
    behind = [0] * len(programs)
    for rank, program in enumerate(programs):
        while behind[rank] < len(program):
            call = program[behind[rank]]
            following = [
                programs[q][behind[q] : behind[q] + 1] for q in call[1]
            ]
            if any(other != [call] for other in following):
                break
            for q in call[1]:
                behind[q] += 1
    return behind


# %% done wrong: three rounds
def done(programs):
    behind = [0] * len(programs)
    for _ in range(3):
        for rank, program in enumerate(programs):
            if behind[rank] == len(program):
                continue
            call = program[behind[rank]]
            following = [
                programs[q][behind[q] : behind[q] + 1] for q in call[1]
            ]
            if all(other == [call] for other in following):
                for q in call[1]:
                    behind[q] += 1
    return behind


# %% bucket wrong: quicker wires bear more hosts
N, d, W = sympy.symbols("N d W", positive=True)
bucket = 2 * d * W * N
tenth = 9 * bucket
hosts = [5, 83]


# %% bucket wrong: rounded up
N, d, W = sympy.symbols("N d W", positive=True)
bucket = 2 * d * W * N
tenth = 9 * bucket
hosts = [84, 6]


# %% bucket wrong: speed of one chip
N, d, W = sympy.symbols("N d W", positive=True)
bucket = 2 * d * W * N
tenth = 9 * bucket
hosts = [333, 41]


# %% bucket wrong: one delay a round for the two machines
N, d, W = sympy.symbols("N d W", positive=True)
bucket = 2 * d * W * N
tenth = 9 * bucket
hosts = [166, 10]


# %% bucket wrong: hosts for a tenth
N, d, W = sympy.symbols("N d W", positive=True)
bucket = 2 * d * W * N
tenth = 9 * bucket
hosts = [9, 1]


# %% bucket equivalent: line 8: 25000000.0 becomes 25000001.0
# A byte more in the bucket, and the same whole number of hosts.


# %% bucket equivalent: line 8: 25000000.0 becomes 25000001.0 (2)
# A byte more on the wire, and the same whole number of hosts.


# %% bucket equivalent: line 8: 400000000.0 becomes 400000001.0
# A byte more on the wire, and the same whole number of hosts.
