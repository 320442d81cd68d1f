# Answers that the checks of exercise set 17 must reject or accept.
#
# A cell is titled with the answer cell's grade_id, then `wrong: ` with the
# mistake or `right: ` with what is different. Run by tests/exercises.

# %% scaled wrong: the guess, half the interval for twice the chips
r = sympy.symbols("r", positive=True)
shared = 1 / r
own = 1 / r
grown = sympy.Integer(1)
lost = r

# %% scaled wrong: longer intervals for more chips
r = sympy.symbols("r", positive=True)
shared = sympy.sqrt(r)
own = 1 / r
grown = sympy.Integer(1)
lost = r

# %% scaled wrong: bandwidth of its own makes no difference
r = sympy.symbols("r", positive=True)
shared = own = 1 / sympy.sqrt(r)
grown = sympy.Integer(1)
lost = r

# %% scaled wrong: a larger machine loses less
r = sympy.symbols("r", positive=True)
shared = 1 / sympy.sqrt(r)
own = 1 / r
grown = sympy.Integer(1)
lost = 1 / r

# %% scaled wrong: no root of the product
r = sympy.symbols("r", positive=True)
shared = 1 / sympy.sqrt(r)
own = 1 / (r * sympy.sqrt(r))
grown = sympy.Integer(1)
lost = r

# %% scaled wrong: bandwidth of its own makes up for the failures
r = sympy.symbols("r", positive=True)
shared = 1 / sympy.sqrt(r)
own = sympy.Integer(1)
grown = sympy.Integer(1)
lost = r

# %% scaled wrong: a larger state, and the failures are forgotten
r = sympy.symbols("r", positive=True)
shared = 1 / sympy.sqrt(r)
own = 1 / r
grown = sympy.sqrt(r)
lost = r

# %% scaled wrong: a larger state takes no longer
r = sympy.symbols("r", positive=True)
shared = 1 / sympy.sqrt(r)
own = 1 / r
grown = 1 / sympy.sqrt(r)
lost = r

# %% scaled wrong: the loss grows as in the first case
r = sympy.symbols("r", positive=True)
shared = 1 / sympy.sqrt(r)
own = 1 / r
grown = sympy.Integer(1)
lost = sympy.sqrt(r)

# %% scaled wrong: with the same interval the same loss
r = sympy.symbols("r", positive=True)
shared = 1 / sympy.sqrt(r)
own = 1 / r
grown = lost = sympy.Integer(1)

# %% scaled wrong: only repeated work grows
r = sympy.symbols("r", positive=True)
shared = 1 / sympy.sqrt(r)
own = 1 / r
grown = sympy.Integer(1)
lost = (1 + r) / 2

# %% scaled right: as text, and a number
shared = "r**(-1/2)"
own = "1/r"
grown = 1
lost = "r"

# %% scaled right: from the root, with all its symbols
r, s, M = sympy.symbols("r s M", positive=True)


def best(s, M):
    return sympy.sqrt(2 * s * M)


def least(s, M):
    tau = best(s, M)
    return s / tau + tau / (2 * M)


shared = sympy.simplify(best(s, M / r) / best(s, M))
own = sympy.simplify(best(s / r, M / r) / best(s, M))
grown = sympy.simplify(best(s * r, M / r) / best(s, M))
lost = sympy.simplify(least(s * r, M / r) / least(s, M))


# %% kept_share wrong: no failure takes the copies along
def kept_share(interval, m, mtbf, copy, save, restart, hard):
    spent = 0.0
    for number in range(1, m + 1):
        stretch = interval + copy + save * (number == m)
        spent += expm1(stretch / mtbf) * (mtbf + restart)
    return m * interval / spent


# %% kept_share wrong: every failure takes them along
def kept_share(interval, m, mtbf, copy, save, restart, hard):
    spent = 0.0
    for number in range(1, m + 1):
        stretch = interval + copy + save * (number == m)
        spent += expm1(stretch / mtbf) * (mtbf + restart + spent)
    return m * interval / spent


# %% kept_share wrong: hard is taken for soft
def kept_share(interval, m, mtbf, copy, save, restart, hard):
    spent = 0.0
    for number in range(1, m + 1):
        stretch = interval + copy + save * (number == m)
        failures = expm1(stretch / mtbf)
        spent += failures * (mtbf + restart + (1 - hard) * spent)
    return m * interval / spent


# %% kept_share wrong: each stop is a save
def kept_share(interval, m, mtbf, copy, save, restart, hard):
    spent = 0.0
    for _ in range(m):
        failures = expm1((interval + copy + save) / mtbf)
        spent += failures * (mtbf + restart + hard * spent)
    return m * interval / spent


# %% kept_share wrong: the m-th stop takes no copy
def kept_share(interval, m, mtbf, copy, save, restart, hard):
    spent = 0.0
    for number in range(1, m + 1):
        stretch = interval + (save if number == m else copy)
        failures = expm1(stretch / mtbf)
        spent += failures * (mtbf + restart + hard * spent)
    return m * interval / spent


# %% kept_share wrong: copies take no time
def kept_share(interval, m, mtbf, copy, save, restart, hard):
    spent = 0.0
    for number in range(1, m + 1):
        stretch = interval + save * (number == m)
        failures = expm1(stretch / mtbf)
        spent += failures * (mtbf + restart + hard * spent)
    return m * interval / spent


# %% kept_share wrong: restarts take no time
def kept_share(interval, m, mtbf, copy, save, restart, hard):
    spent = 0.0
    for number in range(1, m + 1):
        stretch = interval + copy + save * (number == m)
        failures = expm1(stretch / mtbf)
        spent += failures * (mtbf + hard * spent)
    return m * interval / spent


# %% kept_share wrong: restarts fail as well
def kept_share(interval, m, mtbf, copy, save, restart, hard):
    spent, up = 0.0, mtbf * expm1(restart / mtbf)
    for number in range(1, m + 1):
        stretch = interval + copy + save * (number == m)
        failures = expm1(stretch / mtbf)
        spent += failures * (mtbf + up + hard * spent)
    return m * interval / spent


# %% kept_share wrong: copies are work as well
def kept_share(interval, m, mtbf, copy, save, restart, hard):
    spent = 0.0
    for number in range(1, m + 1):
        stretch = interval + copy + save * (number == m)
        failures = expm1(stretch / mtbf)
        spent += failures * (mtbf + restart + hard * spent)
    return m * (interval + copy) / spent


# %% kept_share wrong: of first order
def kept_share(interval, m, mtbf, copy, save, restart, hard):
    period = m * (interval + copy) + save
    again = (1 - hard) * (interval + copy) / 2 + hard * period / 2
    return m * interval / period * (1 - (again + restart) / mtbf)


# %% kept_share wrong: the share that is lost
def kept_share(interval, m, mtbf, copy, save, restart, hard):
    spent = 0.0
    for number in range(1, m + 1):
        stretch = interval + copy + save * (number == m)
        failures = expm1(stretch / mtbf)
        spent += failures * (mtbf + restart + hard * spent)
    return 1 - m * interval / spent


# %% kept_share wrong: what is done again takes its plain length
def kept_share(interval, m, mtbf, copy, save, restart, hard):
    spent = 0.0
    for made in range(m):
        stretch = interval + copy + save * (made == m - 1)
        again = hard * made * (interval + copy)
        spent += expm1(stretch / mtbf) * (mtbf + restart + again)
    return m * interval / spent


# %% kept_share wrong: the goodput of the chapter
def kept_share(interval, m, mtbf, copy, save, restart, hard):
    return cost.goodput(interval, copy + save / m, mtbf, restart)


# %% kept_share wrong: of first order, half an interval for each failure
def kept_share(interval, m, mtbf, copy, save, restart, hard):
    stops = (copy + save / m) / interval
    return 1 - stops - (interval / 2 + restart) / mtbf


# %% kept_share wrong: each stop is an m-th of a save longer
def kept_share(interval, m, mtbf, copy, save, restart, hard):
    spent = 0.0
    for _ in range(m):
        failures = expm1((interval + copy + save / m) / mtbf)
        spent += failures * (mtbf + restart + hard * spent)
    return m * interval / spent


# %% kept_share wrong: the mean of two runs
def kept_share(interval, m, mtbf, copy, save, restart, hard):
    soft = cost.goodput(interval, copy + save / m, mtbf, restart)
    lost = cost.goodput(m * interval, m * copy + save, mtbf, restart)
    return (1 - hard) * soft + hard * lost


# %% kept_share right: equations, solved together
def kept_share(interval, m, mtbf, copy, save, restart, hard):
    stops = np.full(m, float(copy))
    stops[-1] += save
    lives = np.exp(-(interval + stops) / mtbf)
    fails = 1 - lives
    A = np.diag(1 - fails * (1 - hard)) - np.diag(lives[:-1], 1)
    A[:, 0] -= fails * hard
    left = np.linalg.solve(A, fails * (mtbf + restart))
    return m * interval / left[0]


# %% kept_share right: how often each stretch is tried
def kept_share(interval, m, mtbf, copy, save, restart, hard):
    lengths = [interval + copy] * (m - 1) + [interval + copy + save]
    lives = [exp(-length / mtbf) for length in lengths]
    tries, seconds = 1 / lives[-1], 0.0
    # Backwards: a stretch is begun by who ends the one before.
    begun = [0.0] * m
    for number in reversed(range(m)):
        ends = 1.0
        ends += sum(
            begun[j] * (1 - lives[j]) * hard for j in range(number + 1, m)
        )
        # Its own hard failures throw it back before its beginning.
        begun[number] = ends / lives[number]
    for number in range(m):
        fails = 1 - lives[number]
        seconds += begun[number] * fails * (mtbf + restart)
    assert tries > 0
    return m * interval / seconds


# %% best_interval wrong: the run stands still while it is written
def best_interval(mtbf, stop, write, lanes, restart):
    def share(interval):
        return cost.goodput(interval, stop + write, mtbf, restart)

    least = max(1, (write + stop) / lanes - stop)
    best = max(np.linspace(least, least + mtbf, 10_000), key=share)
    return best, share(best)


# %% best_interval wrong: a round takes as long as its write, too
def best_interval(mtbf, stop, write, lanes, restart):
    def share(interval):
        return cost.goodput(interval, stop + write / lanes, mtbf, restart)

    least = max(1, (write + stop) / lanes - stop)
    best = max(np.linspace(least, least + mtbf, 10_000), key=share)
    return best, share(best)


# %% best_interval wrong: as many lanes as it takes
def best_interval(mtbf, stop, write, lanes, restart):
    def share(interval):
        return cost.goodput(interval, stop, mtbf, restart, write)

    least = 1
    best = max(np.linspace(least, least + mtbf, 10_000), key=share)
    return best, share(best)


# %% best_interval wrong: one lane
def best_interval(mtbf, stop, write, lanes, restart):
    def share(interval):
        return cost.goodput(interval, stop, mtbf, restart, write)

    least = write
    best = max(np.linspace(least, least + mtbf, 10_000), key=share)
    return best, share(best)


# %% best_interval wrong: the stop is no part of a round
def best_interval(mtbf, stop, write, lanes, restart):
    def share(interval):
        return cost.goodput(interval, stop, mtbf, restart, write)

    least = write / lanes
    best = max(np.linspace(least, least + mtbf, 10_000), key=share)
    return best, share(best)


# %% best_interval wrong: the next stop ends when a lane is free
def best_interval(mtbf, stop, write, lanes, restart):
    def share(interval):
        return cost.goodput(interval, stop, mtbf, restart, write)

    least = max(1, write / lanes - stop)
    best = max(np.linspace(least, least + mtbf, 10_000), key=share)
    return best, share(best)


# %% best_interval wrong: lanes share a write
def best_interval(mtbf, stop, write, lanes, restart):
    def share(interval):
        return cost.goodput(interval, stop, mtbf, restart, write / lanes)

    least = max(1, (write + stop) / lanes - stop)
    best = max(np.linspace(least, least + mtbf, 10_000), key=share)
    return best, share(best)


# %% best_interval wrong: the write costs nothing
def best_interval(mtbf, stop, write, lanes, restart):
    def share(interval):
        return cost.goodput(interval, stop, mtbf, restart)

    least = max(1, (write + stop) / lanes - stop)
    best = max(np.linspace(least, least + mtbf, 10_000), key=share)
    return best, share(best)


# %% best_interval wrong: the share comes first
def best_interval(mtbf, stop, write, lanes, restart):
    def share(interval):
        return cost.goodput(interval, stop, mtbf, restart, write)

    least = max(1, (write + stop) / lanes - stop)
    best = max(np.linspace(least, least + mtbf, 10_000), key=share)
    return share(best), best


# %% best_interval wrong: half of the write is lost
def best_interval(mtbf, stop, write, lanes, restart):
    def share(interval):
        return cost.goodput(interval, stop, mtbf, restart, write / 2)

    least = max(1, (write + stop) / lanes - stop)
    best = max(np.linspace(least, least + mtbf, 10_000), key=share)
    return best, share(best)


# %% best_interval wrong: the restart costs nothing
def best_interval(mtbf, stop, write, lanes, restart):
    def share(interval):
        return cost.goodput(interval, stop, mtbf, 0.0, write)

    least = max(1, (write + stop) / lanes - stop)
    best = max(np.linspace(least, least + mtbf, 10_000), key=share)
    return best, share(best)


# %% best_interval wrong: a restart never fails
def best_interval(mtbf, stop, write, lanes, restart):
    def share(interval):
        return (
            cost.goodput(interval, stop, mtbf, 0.0, write)
            * mtbf
            / (mtbf + restart)
        )

    least = max(1, (write + stop) / lanes - stop)
    best = max(np.linspace(least, least + mtbf, 10_000), key=share)
    return best, share(best)


# %% best_interval wrong: from stop to stop
def best_interval(mtbf, stop, write, lanes, restart):
    def share(interval):
        return cost.goodput(interval, stop, mtbf, restart, write)

    least = max(1, (write + stop) / lanes - stop)
    best = max(np.linspace(least, least + mtbf, 10_000), key=share)
    return best + stop, share(best)


# %% best_interval wrong: the root
def best_interval(mtbf, stop, write, lanes, restart):
    tau = max((2 * stop * mtbf) ** 0.5, (write + stop) / lanes - stop)
    return tau, cost.goodput(tau, stop, mtbf, restart, write)


# %% best_interval wrong: the root, with the write
def best_interval(mtbf, stop, write, lanes, restart):
    tau = (2 * (stop + write) * mtbf) ** 0.5
    tau = max(tau, (write + stop) / lanes - stop)
    return tau, cost.goodput(tau, stop, mtbf, restart, write)


# %% best_interval wrong: the root, with the restart
def best_interval(mtbf, stop, write, lanes, restart):
    tau = (2 * stop * (mtbf + restart)) ** 0.5
    tau = max(tau, (write + stop) / lanes - stop)
    return tau, cost.goodput(tau, stop, mtbf, restart, write)


# %% best_interval wrong: the interval grows with the write
def best_interval(mtbf, stop, write, lanes, restart):
    tau = max(cost.daly_interval(stop, mtbf), stop) + write
    return tau, cost.goodput(tau, stop, mtbf, restart, write)


# %% best_interval wrong: a share of first order
def best_interval(mtbf, stop, write, lanes, restart):
    def share(interval):
        return cost.goodput(interval, stop, mtbf, restart, write)

    least = max(1, (write + stop) / lanes - stop)
    best = max(np.linspace(least, least + mtbf, 10_000), key=share)
    lost = stop / best + (best / 2 + write + restart) / mtbf
    return best, 1 - lost


# %% best_interval wrong: the share that is lost
def best_interval(mtbf, stop, write, lanes, restart):
    def share(interval):
        return cost.goodput(interval, stop, mtbf, restart, write)

    least = max(1, (write + stop) / lanes - stop)
    best = max(np.linspace(least, least + mtbf, 10_000), key=share)
    return best, 1 - share(best)


# %% best_interval wrong: the mean time between failures
def best_interval(mtbf, stop, write, lanes, restart):
    def share(interval):
        return cost.goodput(interval, stop, mtbf, restart, write)

    least = max(1, (write + stop) / lanes - stop)
    best = max(np.linspace(least, least + mtbf, 10_000), key=share)
    return mtbf, share(mtbf)


# %% best_interval right: life by life, narrowed down
def best_interval(mtbf, stop, write, lanes, restart):
    def share(interval):
        kept, number = 0.0, 1
        while number < 5000:
            safe = restart + number * (interval + stop) + write
            if safe > 40 * mtbf:
                break
            kept += exp(-safe / mtbf)
            number += 1
        return kept * interval / mtbf

    low = max((write - (lanes - 1) * stop) / lanes, mtbf / 1000)
    high = low + 2 * mtbf
    while high - low > 1e-4 * low:
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if share(left) < share(right):
            low = left
        else:
            high = right
    return [low, share(low)]


# %% best_interval right: where the slope is zero
def best_interval(mtbf, stop, write, lanes, restart):
    tau, part = mtbf, stop / mtbf
    for _ in range(60):  # exp(-(tau + stop) / mtbf) = 1 - tau / mtbf, by Newton
        q = exp(-tau / mtbf - part)
        tau -= (q - 1 + tau / mtbf) * mtbf / (1 - q)
    tau = max(tau, (write - (lanes - 1) * stop) / lanes)
    q = exp(-tau / mtbf - part)
    once = exp(-restart / mtbf) * exp(-write / mtbf)
    return [tau, once * tau / mtbf * q / (1 - q)]


# %% resume wrong: replicas are saved again
def save(shards):
    return {number: list(shard) for number, shard in enumerate(shards)}


def reads(index, ranges):
    return [name for name, held in index.items() if common(held, ranges)]


def restore(pieces, ranges):
    block = np.zeros([stop - start for start, stop in ranges])
    for held, piece in pieces.values():
        both = common(held, ranges)
        block[within(both, ranges)] = piece[within(both, held)]
    return block


def common(held, ranges):
    pairs = zip(held, ranges, strict=True)
    both = [(max(a, c), min(b, d)) for (a, b), (c, d) in pairs]
    return both if all(start < stop for start, stop in both) else None


def within(both, ranges):
    pairs = zip(both, ranges, strict=True)
    return tuple(slice(a - f, b - f) for (a, b), (f, _) in pairs)


# %% resume wrong: pieces are named by their first row
def save(shards):
    return {ranges[0][0]: [ranges, block] for ranges, block in shards}


def reads(index, ranges):
    return [name for name, held in index.items() if common(held, ranges)]


def restore(pieces, ranges):
    block = np.zeros([stop - start for start, stop in ranges])
    for held, piece in pieces.values():
        both = common(held, ranges)
        block[within(both, ranges)] = piece[within(both, held)]
    return block


def common(held, ranges):
    pairs = zip(held, ranges, strict=True)
    both = [(max(a, c), min(b, d)) for (a, b), (c, d) in pairs]
    return both if all(start < stop for start, stop in both) else None


def within(both, ranges):
    pairs = zip(both, ranges, strict=True)
    return tuple(slice(a - f, b - f) for (a, b), (f, _) in pairs)


# %% resume wrong: restored in float32
def save(shards):
    return {str(ranges): [ranges, block] for ranges, block in shards}


def reads(index, ranges):
    return [name for name, held in index.items() if common(held, ranges)]


def restore(pieces, ranges):
    block = np.zeros([stop - start for start, stop in ranges], np.float32)
    for held, piece in pieces.values():
        both = common(held, ranges)
        block[within(both, ranges)] = piece[within(both, held)]
    return block


def common(held, ranges):
    pairs = zip(held, ranges, strict=True)
    both = [(max(a, c), min(b, d)) for (a, b), (c, d) in pairs]
    return both if all(start < stop for start, stop in both) else None


def within(both, ranges):
    pairs = zip(both, ranges, strict=True)
    return tuple(slice(a - f, b - f) for (a, b), (f, _) in pairs)


# %% resume wrong: pieces are named by what they hold
def save(shards):
    return {block.tobytes().hex(): [ranges, block] for ranges, block in shards}


def reads(index, ranges):
    return [name for name, held in index.items() if common(held, ranges)]


def restore(pieces, ranges):
    block = np.zeros([stop - start for start, stop in ranges])
    for held, piece in pieces.values():
        both = common(held, ranges)
        block[within(both, ranges)] = piece[within(both, held)]
    return block


def common(held, ranges):
    pairs = zip(held, ranges, strict=True)
    both = [(max(a, c), min(b, d)) for (a, b), (c, d) in pairs]
    return both if all(start < stop for start, stop in both) else None


def within(both, ranges):
    pairs = zip(both, ranges, strict=True)
    return tuple(slice(a - f, b - f) for (a, b), (f, _) in pairs)


# %% resume wrong: pieces are named by where they begin
def save(shards):
    return {
        str([start for start, _ in ranges]): [ranges, block]
        for ranges, block in shards
    }


def reads(index, ranges):
    return [name for name, held in index.items() if common(held, ranges)]


def restore(pieces, ranges):
    block = np.zeros([stop - start for start, stop in ranges])
    for held, piece in pieces.values():
        both = common(held, ranges)
        block[within(both, ranges)] = piece[within(both, held)]
    return block


def common(held, ranges):
    pairs = zip(held, ranges, strict=True)
    both = [(max(a, c), min(b, d)) for (a, b), (c, d) in pairs]
    return both if all(start < stop for start, stop in both) else None


def within(both, ranges):
    pairs = zip(both, ranges, strict=True)
    return tuple(slice(a - f, b - f) for (a, b), (f, _) in pairs)


# %% resume wrong: names are tuples
def save(shards):
    return {
        tuple(map(tuple, ranges)): [ranges, block] for ranges, block in shards
    }


def reads(index, ranges):
    return [name for name, held in index.items() if common(held, ranges)]


def restore(pieces, ranges):
    block = np.zeros([stop - start for start, stop in ranges])
    for held, piece in pieces.values():
        both = common(held, ranges)
        block[within(both, ranges)] = piece[within(both, held)]
    return block


def common(held, ranges):
    pairs = zip(held, ranges, strict=True)
    both = [(max(a, c), min(b, d)) for (a, b), (c, d) in pairs]
    return both if all(start < stop for start, stop in both) else None


def within(both, ranges):
    pairs = zip(both, ranges, strict=True)
    return tuple(slice(a - f, b - f) for (a, b), (f, _) in pairs)


# %% resume wrong: everybody reads everything
def save(shards):
    return {str(ranges): [ranges, block] for ranges, block in shards}


def reads(index, ranges):
    return list(index)


def restore(pieces, ranges):
    block = np.zeros([stop - start for start, stop in ranges])
    for held, piece in pieces.values():
        both = common(held, ranges)
        block[within(both, ranges)] = piece[within(both, held)]
    return block


def common(held, ranges):
    pairs = zip(held, ranges, strict=True)
    both = [(max(a, c), min(b, d)) for (a, b), (c, d) in pairs]
    return both if all(start < stop for start, stop in both) else None


def within(both, ranges):
    pairs = zip(both, ranges, strict=True)
    return tuple(slice(a - f, b - f) for (a, b), (f, _) in pairs)


# %% resume wrong: pieces that touch, or are empty, are read
def save(shards):
    return {str(ranges): [ranges, block] for ranges, block in shards}


def reads(index, ranges):
    return [
        name
        for name, held in index.items()
        if all(
            a <= d and c <= b
            for (a, b), (c, d) in zip(held, ranges, strict=True)
        )
    ]


def restore(pieces, ranges):
    block = np.zeros([stop - start for start, stop in ranges])
    for held, piece in pieces.values():
        both = [
            (max(a, c), min(b, d))
            for (a, b), (c, d) in zip(held, ranges, strict=True)
        ]
        block[within(both, ranges)] = piece[within(both, held)]
    return block


def within(both, ranges):
    pairs = zip(both, ranges, strict=True)
    return tuple(slice(a - f, b - f) for (a, b), (f, _) in pairs)


# %% resume wrong: only pieces that lie inside are read
def save(shards):
    return {str(ranges): [ranges, block] for ranges, block in shards}


def reads(index, ranges):
    return [
        name
        for name, held in index.items()
        if all(
            c <= a < b <= d for (a, b), (c, d) in zip(held, ranges, strict=True)
        )
    ]


def restore(pieces, ranges):
    block = np.zeros([stop - start for start, stop in ranges])
    for held, piece in pieces.values():
        where = tuple(
            slice(a - c, b - c)
            for (a, b), (c, _) in zip(held, ranges, strict=True)
        )
        block[where] = piece
    return block


# %% resume wrong: rows decide, columns are forgotten
def save(shards):
    return {str(ranges): [ranges, block] for ranges, block in shards}


def reads(index, ranges):
    (c, d), *_ = ranges
    return [
        name for name, ((a, b), *_) in index.items() if max(a, c) < min(b, d)
    ]


def restore(pieces, ranges):
    block = np.zeros([stop - start for start, stop in ranges])
    for held, piece in pieces.values():
        both = common(held, ranges)
        block[within(both, ranges)] = piece[within(both, held)]
    return block


def common(held, ranges):
    pairs = zip(held, ranges, strict=True)
    return [(max(a, c), min(b, d)) for (a, b), (c, d) in pairs]


def within(both, ranges):
    pairs = zip(both, ranges, strict=True)
    return tuple(slice(a - f, b - f) for (a, b), (f, _) in pairs)


# %% resume wrong: room for the whole array, and a part of it is returned
def save(shards):
    return {str(ranges): [ranges, block] for ranges, block in shards}


def reads(index, ranges):
    names = []
    for name, held in index.items():
        pairs = zip(held, ranges, strict=True)
        if all(max(a, c) < min(b, d) for (a, b), (c, d) in pairs):
            names.append(name)
    return names


def restore(pieces, ranges):
    held = [ranges, *(held for held, _ in pieces.values())]
    shape = [
        max(pair[1] for pair in pairs) for pairs in zip(*held, strict=True)
    ]
    whole = np.zeros(shape)
    for held, piece in pieces.values():
        whole[tuple(slice(a, b) for a, b in held)] = piece
    return whole[tuple(slice(a, b) for a, b in ranges)]


# %% resume wrong: a piece is taken from its beginning
def save(shards):
    return {str(ranges): [ranges, block] for ranges, block in shards}


def reads(index, ranges):
    return [name for name, held in index.items() if common(held, ranges)]


def restore(pieces, ranges):
    block = np.zeros([stop - start for start, stop in ranges])
    for held, piece in pieces.values():
        both = common(held, ranges)
        sizes = tuple(slice(0, b - a) for a, b in both)
        block[within(both, ranges)] = piece[sizes]
    return block


def common(held, ranges):
    pairs = zip(held, ranges, strict=True)
    both = [(max(a, c), min(b, d)) for (a, b), (c, d) in pairs]
    return both if all(start < stop for start, stop in both) else None


def within(both, ranges):
    pairs = zip(both, ranges, strict=True)
    return tuple(slice(a - f, b - f) for (a, b), (f, _) in pairs)


# %% resume right: element by element
def save(shards):
    pieces = {}
    for ranges, block in shards:
        if block.size and all(held != ranges for held, _ in pieces.values()):
            pieces[len(pieces)] = [ranges, block]
    return pieces


def elements(ranges):
    sizes = [stop - start for start, stop in ranges]
    firsts = [start for start, _ in ranges]
    for own in np.ndindex(*sizes):
        yield own, tuple(f + i for f, i in zip(firsts, own, strict=True))


def reads(index, ranges):
    wanted = {place for _, place in elements(ranges)}
    return [
        name
        for name, held in index.items()
        if any(place in wanted for _, place in elements(held))
    ]


def restore(pieces, ranges):
    found = {}
    for held, piece in pieces.values():
        for own, place in elements(held):
            found[place] = piece[own]
    block = np.zeros([stop - start for start, stop in ranges])
    for own, place in elements(ranges):
        block[own] = found[place]
    return block


# %% resume right: pieces are cut by lists of rows
def save(shards):
    pieces = {}
    for ranges, block in shards:
        name = " ".join(f"{start}:{stop}" for start, stop in ranges)
        pieces.setdefault(name, (ranges, np.array(block)))
    return pieces


def shared_rows(held, ranges):
    """For each dimension the numbers that both have."""
    return [
        np.arange(max(a, c), min(b, d))
        for (a, b), (c, d) in zip(held, ranges, strict=True)
    ]


def reads(index, ranges):
    return sorted(
        name
        for name in index
        if all(len(rows) for rows in shared_rows(index[name], ranges))
    )


def restore(pieces, ranges):
    block = np.full([stop - start for start, stop in ranges], np.nan)
    for held, piece in pieces.values():
        rows = shared_rows(held, ranges)
        here = [r - start for r, (start, _) in zip(rows, ranges, strict=True)]
        there = [r - start for r, (start, _) in zip(rows, held, strict=True)]
        block[np.ix_(*here)] = piece[np.ix_(*there)]
    return block.tolist() if block.size else block


# %% suspects wrong: a sum of the words
def suspects(W):
    words = jax.lax.bitcast_convert_type(W, jnp.uint32)
    digest = jax.lax.psum(words.sum(), "Y")
    digests = jax.lax.all_gather(digest, "X")
    alike = (digests[:, None] == digests).sum(axis=1)
    return (2 * alike <= len(alike)).astype(int)


# %% suspects wrong: an XOR of the words
def suspects(W):
    words = jax.lax.bitcast_convert_type(W, jnp.uint32)
    digest = jnp.bitwise_xor.reduce(words.reshape(-1))
    digest = jnp.bitwise_xor.reduce(jax.lax.all_gather(digest, "Y"))
    digests = jax.lax.all_gather(digest, "X")
    alike = (digests[:, None] == digests).sum(axis=1)
    return (2 * alike <= len(alike)).astype(int)


# %% suspects wrong: a sum of numbers, not of bits
def suspects(W):
    digest = jax.lax.psum(W.sum(), "Y")
    digests = jax.lax.all_gather(digest, "X")
    alike = (digests[:, None] == digests).sum(axis=1)
    return (2 * alike <= len(alike)).astype(int)


# %% suspects wrong: the norm, without NaN
def suspects(W):
    square = jnp.nan_to_num(W / 1e16) ** 2
    digest = jax.lax.psum(square.sum(), "Y")
    digests = jax.lax.all_gather(digest, "X")
    alike = (digests[:, None] == digests).sum(axis=1)
    return (2 * alike <= len(alike)).astype(int)


# %% suspects wrong: words times their odd places, so two signs cancel
def suspects(W):
    words = jax.lax.bitcast_convert_type(W, jnp.uint32).reshape(-1)
    before = jax.lax.axis_index("Y").astype(jnp.uint32) * words.size
    odd = 2 * (before + jnp.arange(words.size, dtype=jnp.uint32)) + 1
    digest = jax.lax.psum((words * odd).sum(), "Y")
    digests = jax.lax.all_gather(digest, "X")
    alike = (digests[:, None] == digests).sum(axis=1)
    return (2 * alike <= len(alike)).astype(int)


# %% suspects wrong: each part along Y has the same numbers
def suspects(W):
    words = jax.lax.bitcast_convert_type(W, jnp.uint32).reshape(-1)
    bits = words[:, None] >> jnp.arange(32, dtype=jnp.uint32) & 1
    number = jnp.arange(1, bits.size + 1, dtype=jnp.uint32)
    digest = jax.lax.psum((bits.reshape(-1) * number).sum(), "Y")
    digests = jax.lax.all_gather(digest, "X")
    alike = (digests[:, None] == digests).sum(axis=1)
    return (2 * alike <= len(alike)).astype(int)


# %% suspects wrong: what differs from the first copy
def suspects(W):
    words = jax.lax.bitcast_convert_type(W, jnp.uint32).reshape(-1)
    bits = words[:, None] >> jnp.arange(32, dtype=jnp.uint32) & 1
    number = jnp.arange(1, bits.size + 1, dtype=jnp.uint32)
    number += jax.lax.axis_index("Y").astype(jnp.uint32) * bits.size
    digest = jax.lax.psum((bits.reshape(-1) * number).sum(), "Y")
    digests = jax.lax.all_gather(digest, "X")
    return (digests != digests[0]).astype(int)


# %% suspects wrong: each device judges its own part of the copies
def suspects(W):
    words = jax.lax.bitcast_convert_type(W, jnp.uint32).reshape(-1)
    bits = words[:, None] >> jnp.arange(32, dtype=jnp.uint32) & 1
    number = jnp.arange(1, bits.size + 1, dtype=jnp.uint32)
    digest = (bits.reshape(-1) * number).sum()
    digests = jax.lax.all_gather(digest, "X")
    alike = (digests[:, None] == digests).sum(axis=1)
    return (2 * alike <= len(alike)).astype(int)


# %% suspects wrong: the copies themselves are compared
def suspects(W):
    words = jax.lax.bitcast_convert_type(W, jnp.uint32)
    copies = jax.lax.all_gather(words, "X")
    same = (copies[:, None] == copies).all(axis=(2, 3)).astype(int)
    same = jax.lax.pmin(same, "Y")
    return (2 * same.sum(axis=1) <= len(copies)).astype(int)


# %% suspects wrong: those that agree
def suspects(W):
    words = jax.lax.bitcast_convert_type(W, jnp.uint32).reshape(-1)
    bits = words[:, None] >> jnp.arange(32, dtype=jnp.uint32) & 1
    number = jnp.arange(1, bits.size + 1, dtype=jnp.uint32)
    number += jax.lax.axis_index("Y").astype(jnp.uint32) * bits.size
    digest = jax.lax.psum((bits.reshape(-1) * number).sum(), "Y")
    digests = jax.lax.all_gather(digest, "X")
    alike = (digests[:, None] == digests).sum(axis=1)
    return (2 * alike > len(alike)).astype(int)


# %% suspects wrong: each copy says only whether it is suspect itself
def suspects(W):
    words = jax.lax.bitcast_convert_type(W, jnp.uint32)
    digest = jax.lax.psum(words.sum(dtype=jnp.uint32), "Y")
    digests = jax.lax.all_gather(digest, "X")
    return (digest != jnp.median(digests)).astype(int)


# %% suspects right: words scrambled with their places
def suspects(W):
    bits = jax.lax.bitcast_convert_type(W, jnp.uint32)
    place = jnp.arange(bits.size, dtype=jnp.uint32).reshape(bits.shape)
    place += jax.lax.axis_index("Y").astype(jnp.uint32) * bits.size
    word = bits ^ (place * jnp.uint32(0x9E3779B1))
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        word = (word ^ (word >> shift)) * jnp.uint32(factor)
    digest = jax.lax.psum((word ^ (word >> 16)).sum(), "Y")
    digests = jax.lax.all_gather(digest, "X")
    alike = (digests[:, None] == digests).sum(axis=1)
    return (2 * alike <= len(alike)).astype(int)


# %% suspects right: an XOR of the numbers of all bits that are set
def suspects(W):
    words = jax.lax.bitcast_convert_type(W, jnp.uint32).reshape(-1)
    first = jax.lax.axis_index("Y").astype(jnp.uint32) * words.size
    digest = jnp.uint32(0)
    for bit in range(32):
        number = 32 * (first + jnp.arange(words.size, dtype=jnp.uint32)) + bit
        chosen = jnp.where(words >> bit & 1, number + 1, 0)
        digest ^= jnp.bitwise_xor.reduce(chosen)
    digest = jnp.bitwise_xor.reduce(jax.lax.all_gather(digest, "Y"))
    digests = jax.lax.all_gather(digest, "X")
    most = jnp.sort(digests)[len(digests) // 2]
    return digests != most


# %% step_seconds wrong: all are waited for
def step_seconds(times, chances, N, late):
    mean, before, done = 0.0, 0.0, 0.0
    for seconds, chance in sorted(zip(times, chances, strict=True)):
        done += chance
        mean += seconds * (done**N - before**N)
        before = done
    return mean


# %% step_seconds wrong: a step of fewer chips
def step_seconds(times, chances, N, late):
    mean, before, done = 0.0, 0.0, 0.0
    for seconds, chance in sorted(zip(times, chances, strict=True)):
        done += chance
        mean += seconds * (done ** (N - late) - before ** (N - late))
        before = done
    return mean


# %% step_seconds wrong: fewer than late may be slow
def step_seconds(times, chances, N, late):
    mean, before, slower = 0.0, 0.0, 1.0
    for seconds, chance in sorted(zip(times, chances, strict=True)):
        slower -= chance
        over = (1 - slower) ** N
        for j in range(1, late):
            over += comb(N, j) * slower**j * (1 - slower) ** (N - j)
        mean += seconds * (over - before)
        before = over
    return mean


# %% step_seconds wrong: exactly late are slow
def step_seconds(times, chances, N, late):
    mean, before, slower = 0.0, 0.0, 1.0
    for seconds, chance in sorted(zip(times, chances, strict=True)):
        slower -= chance
        over = comb(N, late) * slower**late * (1 - slower) ** (N - late)
        mean += seconds * (over - before)
        before = over
    return mean


# %% step_seconds wrong: chips that take just as long are slow
def step_seconds(times, chances, N, late):
    mean, before, slower = 0.0, 0.0, 1.0
    for seconds, chance in sorted(zip(times, chances, strict=True)):
        over = sum(
            comb(N, j) * slower**j * (1 - slower) ** (N - j)
            for j in range(late + 1)
        )
        slower -= chance
        mean += seconds * (over - before)
        before = over
    return mean


# %% step_seconds wrong: exactly late are slow, and the last time ends it
def step_seconds(times, chances, N, late):
    mean, before, slower = 0.0, 0.0, 1.0
    for seconds, chance in sorted(zip(times, chances, strict=True)):
        slower -= chance
        over = (
            comb(N, late) * max(slower, 0) ** late * (1 - slower) ** (N - late)
        )
        if seconds == max(times):
            over = 1.0
        mean += seconds * (over - before)
        before = over
    return mean


# %% step_seconds wrong: times are taken for sorted
def step_seconds(times, chances, N, late):
    mean, before, slower = 0.0, 0.0, 1.0
    for seconds, chance in zip(times, chances, strict=True):
        slower -= chance
        over = sum(
            comb(N, j) * slower**j * (1 - slower) ** (N - j)
            for j in range(late + 1)
        )
        mean += seconds * (over - before)
        before = over
    return mean


# %% step_seconds wrong: the mean of one chip
def step_seconds(times, chances, N, late):
    return sum(t * c for t, c in zip(times, chances, strict=True))


# %% step_seconds wrong: always the slowest time
def step_seconds(times, chances, N, late):
    return max(times)


# %% step_seconds wrong: slowest and fastest only
def step_seconds(times, chances, N, late):
    pairs = sorted(zip(times, chances, strict=True))
    hit = 1 - (1 - pairs[-1][1]) ** N
    return hit * pairs[-1][0] + (1 - hit) * pairs[0][0]


# %% step_seconds wrong: the time that all but late chips take on average
def step_seconds(times, chances, N, late):
    done = 0.0
    for seconds, chance in sorted(zip(times, chances, strict=True)):
        done += chance
        if done >= (N - late) / N - 1e-9:
            return seconds


# %% step_seconds right: chip by chip, how many are late
def step_seconds(times, chances, N, late):
    mean, before = 0.0, 0.0
    for seconds in sorted(set(times)):
        p = sum(c for t, c in zip(times, chances, strict=True) if t > seconds)
        many = [1.0] + [0.0] * late
        for _ in range(N):
            for j in reversed(range(late + 1)):
                many[j] *= 1 - p
                if j:
                    many[j] += many[j - 1] * p
        mean += seconds * (sum(many) - before)
        before = sum(many)
    return mean


# %% step_seconds right: how much longer than the shortest time
def step_seconds(times, chances, N, late):
    order = np.argsort(times)
    times, chances = np.array(times)[order], np.array(chances)[order]
    slower = 1 - np.cumsum(chances)[:-1]
    j = np.arange(late + 1)[:, None]
    ways = np.array([[float(comb(N, i))] for i in range(late + 1)])
    over = (ways * slower**j * (1 - slower) ** (N - j)).sum(axis=0)
    return times[0] + ((1 - over) * np.diff(times)).sum()


# %% storage wrong: a restart reads nothing
def storage(machine, lost):
    mtbf = machine["chip_mtbf"] / machine["chips"]
    copy = machine["state"] / machine["chips"] / machine["host_bw"]

    def least(background):
        low, high = 6.0, 18.0
        while high - low > 1e-5:
            middle = (low + high) / 2
            moved = machine["state"] / 10**middle
            save, write = (copy, moved) if background else (moved, 0)
            tried = np.sqrt(2 * save * mtbf) * np.linspace(0.3, 1.2, 300)
            kept = max(
                cost.goodput(
                    max(t, write), save, mtbf, machine["restart"], write
                )
                for t in tried
            )
            low, high = (middle, high) if 1 - kept > lost else (low, middle)
        return 10**high

    return least(False), least(True)


# %% storage wrong: the next copy does not wait for the last
def storage(machine, lost):
    mtbf = machine["chip_mtbf"] / machine["chips"]
    copy = machine["state"] / machine["chips"] / machine["host_bw"]

    def least(background):
        low, high = 6.0, 18.0
        while high - low > 1e-5:
            middle = (low + high) / 2
            moved = machine["state"] / 10**middle
            save, write = (copy, moved) if background else (moved, 0)
            restart = machine["restart"] + moved
            tried = np.sqrt(2 * save * mtbf) * np.linspace(0.3, 1.2, 300)
            kept = max(
                cost.goodput(t, save, mtbf, restart, write) for t in tried
            )
            low, high = (middle, high) if 1 - kept > lost else (low, middle)
        return 10**high

    return least(False), least(True)


# %% storage wrong: each chip copies the whole state
def storage(machine, lost):
    mtbf = machine["chip_mtbf"] / machine["chips"]
    copy = machine["state"] / machine["host_bw"]

    def least(background):
        low, high = 6.0, 19.0
        while high - low > 1e-5:
            middle = (low + high) / 2
            moved = machine["state"] / 10**middle
            save, write = (copy, moved) if background else (moved, 0)
            restart = machine["restart"] + moved
            tried = np.sqrt(2 * save * mtbf) * np.linspace(0.3, 1.2, 300)
            kept = max(
                cost.goodput(max(t, write), save, mtbf, restart, write)
                for t in tried
            )
            low, high = (middle, high) if 1 - kept > lost else (low, middle)
        return 10**high

    return least(False), least(True)


# %% storage wrong: only one chip can fail
def storage(machine, lost):
    mtbf = machine["chip_mtbf"]
    copy = machine["state"] / machine["chips"] / machine["host_bw"]

    def least(background):
        low, high = 6.0, 18.0
        while high - low > 1e-6:
            middle = (low + high) / 2
            moved = machine["state"] / 10**middle
            save, write = (copy, moved) if background else (moved, 0)
            restart = machine["restart"] + moved
            tried = np.sqrt(2 * save * mtbf) * np.linspace(0.3, 1.2, 300)
            kept = max(
                cost.goodput(max(t, write), save, mtbf, restart, write)
                for t in tried
            )
            low, high = (middle, high) if 1 - kept > lost else (low, middle)
        return 10**high

    return least(False), least(True)


# %% storage wrong: bandwidth of one chip
def storage(machine, lost):
    mtbf = machine["chip_mtbf"] / machine["chips"]
    own = machine["state"] / machine["chips"]

    def least(background):
        low, high = 1.0, 18.0
        while high - low > 1e-5:
            middle = (low + high) / 2
            moved = own / 10**middle
            save, write = moved, 0
            if background:
                save, write = own / machine["host_bw"], moved
            restart = machine["restart"] + moved
            tried = np.sqrt(2 * save * mtbf) * np.linspace(0.3, 1.2, 300)
            kept = max(
                cost.goodput(max(t, write), save, mtbf, restart, write)
                for t in tried
            )
            low, high = (middle, high) if 1 - kept > lost else (low, middle)
        return 10**high

    return least(False), least(True)


# %% storage wrong: of first order
def storage(machine, lost):
    mtbf = machine["chip_mtbf"] / machine["chips"]
    copy = machine["state"] / machine["chips"] / machine["host_bw"]

    def least(background):
        low, high = 6.0, 18.0
        while high - low > 1e-5:
            middle = (low + high) / 2
            moved = machine["state"] / 10**middle
            save, write = (copy, moved) if background else (moved, 0)
            tau = max(write, np.sqrt(2 * save * mtbf))
            again = tau / 2 + write + machine["restart"] + moved
            less = save / tau + again / mtbf
            low, high = (middle, high) if less > lost else (low, middle)
        return 10**high

    return least(False), least(True)


# %% storage wrong: by way of hosts first
def storage(machine, lost):
    mtbf = machine["chip_mtbf"] / machine["chips"]
    copy = machine["state"] / machine["chips"] / machine["host_bw"]

    def least(background):
        low, high = 6.0, 18.0
        while high - low > 1e-5:
            middle = (low + high) / 2
            moved = machine["state"] / 10**middle
            save, write = (copy, moved) if background else (moved, 0)
            restart = machine["restart"] + moved
            tried = np.sqrt(2 * save * mtbf) * np.linspace(0.3, 1.2, 300)
            kept = max(
                cost.goodput(max(t, write), save, mtbf, restart, write)
                for t in tried
            )
            low, high = (middle, high) if 1 - kept > lost else (low, middle)
        return 10**high

    return least(True), least(False)


# %% storage wrong: Young's loss, turned round
def storage(machine, lost):
    mtbf = machine["chip_mtbf"] / machine["chips"]
    copy = machine["state"] / machine["chips"] / machine["host_bw"]

    def least(background):
        low, high = 6.0, 18.0
        while high - low > 1e-5:
            middle = (low + high) / 2
            moved = machine["state"] / 10**middle
            save, write = (copy, moved) if background else (moved, 0)
            restart = machine["restart"] + moved
            tried = np.sqrt(2 * save * mtbf) * np.linspace(0.3, 1.2, 300)
            kept = max(
                cost.goodput(max(t, write), save, mtbf, restart, write)
                for t in tried
            )
            low, high = (middle, high) if 1 - kept > lost else (low, middle)
        return 10**high

    return 2 * machine["state"] / mtbf / lost**2, least(True)


# %% storage wrong: bits a second
def storage(machine, lost):
    mtbf = machine["chip_mtbf"] / machine["chips"]
    copy = machine["state"] / machine["chips"] / machine["host_bw"]

    def least(background):
        low, high = 6.0, 18.0
        while high - low > 1e-5:
            middle = (low + high) / 2
            moved = machine["state"] / 10**middle
            save, write = (copy, moved) if background else (moved, 0)
            restart = machine["restart"] + moved
            tried = np.sqrt(2 * save * mtbf) * np.linspace(0.3, 1.2, 300)
            kept = max(
                cost.goodput(max(t, write), save, mtbf, restart, write)
                for t in tried
            )
            low, high = (middle, high) if 1 - kept > lost else (low, middle)
        return 10**high

    return 8 * least(False), 8 * least(True)


# %% storage wrong: what is kept, not what is lost
def storage(machine, lost):
    mtbf = machine["chip_mtbf"] / machine["chips"]
    copy = machine["state"] / machine["chips"] / machine["host_bw"]

    def least(background):
        low, high = 6.0, 18.0
        while high - low > 1e-5:
            middle = (low + high) / 2
            moved = machine["state"] / 10**middle
            save, write = (copy, moved) if background else (moved, 0)
            restart = machine["restart"] + moved
            tried = np.sqrt(2 * save * mtbf) * np.linspace(0.3, 1.2, 300)
            kept = max(
                cost.goodput(max(t, write), save, mtbf, restart, write)
                for t in tried
            )
            low, high = (middle, high) if kept > lost else (low, middle)
        return 10**high

    return least(False), least(True)


# %% storage wrong: sixty intervals are tried, and no more
def storage(machine, lost):
    mtbf = machine["chip_mtbf"] / machine["chips"]
    copy = machine["state"] / machine["chips"] / machine["host_bw"]

    def share(bandwidth, background):
        moved = machine["state"] / bandwidth
        save, write = (copy, moved) if background else (moved, 0)
        restart = machine["restart"] + moved
        tried = np.geomspace(max(write, 0.01), 10 * mtbf, 60).tolist()
        return 1 - max(
            cost.goodput(interval, save, mtbf, restart, write)
            for interval in tried
        )

    found = []
    for background in (False, True):
        low, high = 1e6, 1e18
        for _ in range(60):
            middle = (low * high) ** 0.5
            if share(middle, background) > lost:
                low = middle
            else:
                high = middle
        found.append(high)
    return found


# %% storage right: the formula written out, narrowed down twice
def storage(machine, lost):
    M = machine["chip_mtbf"] / machine["chips"]
    own = machine["state"] / machine["chips"] / machine["host_bw"]

    def kept(tau, save, write, restart):
        survives = exp(-(restart + write) / M)
        return tau / M * survives / expm1(min(600, (tau + save) / M))

    def best(save, write, restart):
        low, high = max(write, save / 50), write + 5 * M
        for _ in range(90):
            a, b = low + (high - low) * 0.38, low + (high - low) * 0.62
            if kept(a, save, write, restart) < kept(b, save, write, restart):
                low = a
            else:
                high = b
        return kept(low, save, write, restart)

    def enough(bandwidth, hosts):
        moved = machine["state"] / bandwidth
        if moved > 20 * M:
            return False
        again = machine["restart"] + moved
        share = best(own, moved, again) if hosts else best(moved, 0, again)
        return 1 - share <= lost

    answers = []
    for hosts in (False, True):
        step, bandwidth = 1e6, 1e6
        while not enough(bandwidth, hosts):
            bandwidth *= 2
        step = bandwidth / 2
        while step > 1e-5 * bandwidth:
            if enough(bandwidth - step, hosts):
                bandwidth -= step
            step /= 2
        answers.append(bandwidth)
    return answers


# %% storage right: in seconds of moving, with NumPy
def storage(machine, lost):
    M = machine["chip_mtbf"] / machine["chips"]
    own = machine["state"] / machine["chips"] / machine["host_bw"]
    wide = np.geomspace(1e-4, 8, 4000) * M

    def share(moved, hosts):
        save, write = (own, moved) if hosts else (moved, 0.0)
        tau = np.append(wide[wide > write], max(write, wide[0]))
        wait = np.exp(-(machine["restart"] + moved + write) / M)
        return 1 - (tau / M * wait / np.expm1((tau + save) / M)).max()

    found = []
    for hosts in (False, True):
        low, high = 0.0, 2 * M
        for _ in range(50):
            middle = (low + high) / 2
            if share(middle, hosts) <= lost:
                low = middle
            else:
                high = middle
        found.append(machine["state"] / low)
    return np.array(found)


# %% storage equivalent: line 17: `max(write, cost.daly_interval(save, mtbf))` with its arguments reversed
# The larger of two numbers is the same in either order.

# %% storage equivalent: line 22: 6.0 becomes 7.0
# Any range that holds the answer may be halved.

# %% storage equivalent: line 22: 18.0 becomes 19.0
# Any range that holds the answer may be halved.

# %% storage equivalent: line 23: 24 becomes 25
# A range that is halved once more is narrower still.

# %% storage equivalent: line 23: `range(24)` ends one too soon
# A range that is halved once less is narrow enough for a thousandth.

# %% storage equivalent: line 23: `range(24)` starts one too late
# A range that is halved once less is narrow enough for a thousandth.

# %% storage equivalent: line 25: `share(10 ** middle, background) > lost` with GtE
# A bandwidth that loses exactly this share is never tried.

# %% step_seconds equivalent: line 5: True becomes False
# Times and chances are equally many.

# %% best_interval equivalent: line 9: 1 becomes 2
# No best interval is as short as two seconds.

# %% best_interval equivalent: line 9: `max(1, (write + stop) / lanes - stop)` with its arguments reversed
# The larger of two numbers is the same in either order.

# %% best_interval equivalent: line 10: 10000 becomes 10001
# Steps are fine enough for a hundredth with either number.

# %% suspects equivalent: line 8: `jax.lax.psum((bits * number).sum(), 'Y')` gathers what it adds
# It sends 4 bytes to each of the others along Y, as the question allows.

# %% suspects equivalent: line 11: `alike > 0.5` with GtE
# There is always a digest that more than half of the copies have.

# %% resume equivalent: line 11: `common(held, ranges)` with its arguments reversed
# What two parts share is the same in either order.

# %% resume equivalent: line 20: `common(held, ranges)` with its arguments reversed
# What two parts share is the same in either order.

# %% resume equivalent: line 27: True becomes False
# Both have a range for each dimension.

# %% resume equivalent: line 28: `max(a, c)` with its arguments reversed
# The larger of two numbers is the same in either order.

# %% resume equivalent: line 28: `min(b, d)` with its arguments reversed
# The smaller of two numbers is the same in either order.

# %% resume equivalent: line 34: True becomes False
# Both have a range for each dimension.
