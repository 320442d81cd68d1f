# Answers that the checks of exercise set 4 must reject or accept.
#
# A cell is titled with the answer cell's grade_id, then `wrong: ` with the
# mistake or `right: ` with what is different. Run by tests/exercises.


# %% gathers wrong: all before or all after
def gathers(I, J, K, X, Y):
    A, B, C = 2 * I * J * (X - 1) / X, 2 * J * K * (Y - 1) / Y, 2 * I * K
    ways = {
        "": C * (1 - 1 / (X * Y)),
        "AB": A + B,
    }
    best = min(ways, key=ways.get)
    return [best, ways[best]]


# %% gathers wrong: always after
def gathers(I, J, K, X, Y):
    A, B, C = 2 * I * J * (X - 1) / X, 2 * J * K * (Y - 1) / Y, 2 * I * K
    ways = {
        "": C * (1 - 1 / (X * Y)),
        "A": A + C * (Y - 1) / Y,
        "B": B + C * (X - 1) / X,
        "AB": A + B,
    }
    best = ""
    return [best, ways[best]]


# %% gathers wrong: always before
def gathers(I, J, K, X, Y):
    A, B, C = 2 * I * J * (X - 1) / X, 2 * J * K * (Y - 1) / Y, 2 * I * K
    ways = {
        "": C * (1 - 1 / (X * Y)),
        "A": A + C * (Y - 1) / Y,
        "B": B + C * (X - 1) / X,
        "AB": A + B,
    }
    best = "AB"
    return [best, ways[best]]


# %% gathers wrong: A is always gathered
def gathers(I, J, K, X, Y):
    A, B, C = 2 * I * J * (X - 1) / X, 2 * J * K * (Y - 1) / Y, 2 * I * K
    ways = {
        "": C * (1 - 1 / (X * Y)),
        "A": A + C * (Y - 1) / Y,
        "B": B + C * (X - 1) / X,
        "AB": A + B,
    }
    best = "A"
    return [best, ways[best]]


# %% gathers wrong: all of C gathered twice
def gathers(I, J, K, X, Y):
    A, B, C = 2 * I * J * (X - 1) / X, 2 * J * K * (Y - 1) / Y, 2 * I * K
    ways = {
        "": C * ((X - 1) / X + (Y - 1) / Y),
        "A": A + C * (Y - 1) / Y,
        "B": B + C * (X - 1) / X,
        "AB": A + B,
    }
    best = min(ways, key=ways.get)
    return [best, ways[best]]


# %% gathers wrong: volumes instead of bytes sent
def gathers(I, J, K, X, Y):
    A, B, C = 2 * I * J, 2 * J * K, 2 * I * K
    ways = {
        "": C,
        "A": A + C,
        "B": B + C,
        "AB": A + B,
    }
    best = min(ways, key=ways.get)
    return [best, ways[best]]


# %% gathers wrong: elements
def gathers(I, J, K, X, Y):
    A, B, C = I * J * (X - 1) / X, J * K * (Y - 1) / Y, I * K
    ways = {
        "": C * (1 - 1 / (X * Y)),
        "A": A + C * (Y - 1) / Y,
        "B": B + C * (X - 1) / X,
        "AB": A + B,
    }
    best = min(ways, key=ways.get)
    return [best, ways[best]]


# %% gathers wrong: axes exchanged
def gathers(I, J, K, X, Y):
    A, B, C = 2 * I * J * (Y - 1) / Y, 2 * J * K * (X - 1) / X, 2 * I * K
    ways = {
        "": C * (1 - 1 / (X * Y)),
        "A": A + C * (Y - 1) / Y,
        "B": B + C * (X - 1) / X,
        "AB": A + B,
    }
    best = min(ways, key=ways.get)
    return [best, ways[best]]


# %% gathers wrong: C over the axis that is gone
def gathers(I, J, K, X, Y):
    A, B, C = 2 * I * J * (X - 1) / X, 2 * J * K * (Y - 1) / Y, 2 * I * K
    ways = {
        "": C * (1 - 1 / (X * Y)),
        "A": A + C * (X - 1) / X,
        "B": B + C * (Y - 1) / Y,
        "AB": A + B,
    }
    best = min(ways, key=ways.get)
    return [best, ways[best]]


# %% gathers wrong: names what is gathered after
def gathers(I, J, K, X, Y):
    A, B, C = 2 * I * J * (X - 1) / X, 2 * J * K * (Y - 1) / Y, 2 * I * K
    ways = {
        "": C * (1 - 1 / (X * Y)),
        "A": A + C * (Y - 1) / Y,
        "B": B + C * (X - 1) / X,
        "AB": A + B,
    }
    best = min(ways, key=ways.get)
    return ["".join(x for x in "AB" if x not in best), ways[best]]


# %% gathers wrong: shards instead of wholes
def gathers(I, J, K, X, Y):
    A, B, C = (
        2 * I * J * (X - 1) / X**2,
        2 * J * K * (Y - 1) / Y**2,
        2 * I * K / X / Y,
    )
    ways = {
        "": C * (1 - 1 / (X * Y)),
        "A": A + C * (Y - 1) / Y,
        "B": B + C * (X - 1) / X,
        "AB": A + B,
    }
    best = min(ways, key=ways.get)
    return [best, ways[best]]


# %% gathers right: a decision at a time, in whole numbers
def gathers(I, J, K, X, Y):
    best, name = None, None
    for before in ("BA", "B", "A", ""):
        width, height = K // Y, I // X
        sent = 0
        if "A" in before:
            sent += 2 * height * J * (X - 1)
            height *= X
        if "B" in before:
            sent += 2 * J * width * (Y - 1)
            width *= Y
        while width < K:
            sent += 2 * height * width * (Y - 1)
            width *= Y
        if height < I:
            sent += 2 * height * width * (X - 1)
        if best is None or sent < best:
            best, name = sent, before
    return (name, best)


# %% gathers right: arrays of bytes
def gathers(I, J, K, X, Y):
    x, y = 1 - 1 / X, 1 - 1 / Y
    sent = np.array([I * K * (x + y - x * y), I * J * x + I * K * y])
    more = np.array([J * K * y + I * K * x, I * J * x + J * K * y])
    sent = 2 * np.concatenate([sent, more])
    where = int(np.argmin(sent))
    return ["", "A", "B", "AB"][where], float(sent[where])


# %% partial wrong: X cuts first
def partial(A, B, x, y, X, Y):
    width = A.shape[1] // (X * Y)
    first = (x * Y + y) * width
    own = slice(first, first + width)
    return A[:, own] @ B[own]


# %% partial wrong: Y alone cuts
def partial(A, B, x, y, X, Y):
    width = A.shape[1] // (X * Y)
    first = (y) * width
    own = slice(first, first + width)
    return A[:, own] @ B[own]


# %% partial wrong: every N-th column
def partial(A, B, x, y, X, Y):
    width = A.shape[1] // (X * Y)
    first = (y * X + x) * width
    own = slice(y * X + x, None, X * Y)
    return A[:, own] @ B[own]


# %% partial wrong: one column
def partial(A, B, x, y, X, Y):
    width = A.shape[1] // (X * Y)
    first = (y * X + x) * width
    own = slice(first, first + 1)
    return A[:, own] @ B[own]


# %% partial wrong: numbers devices from one
def partial(A, B, x, y, X, Y):
    width = A.shape[1] // (X * Y)
    first = (y * X + x + 1) * width
    own = slice(first, first + width)
    return A[:, own] @ B[own]


# %% partial wrong: the wrong size as a stride
def partial(A, B, x, y, X, Y):
    width = A.shape[1] // (X * Y)
    first = (y * Y + x) * width
    own = slice(first, first + width)
    return A[:, own] @ B[own]


# %% partial wrong: elementwise
def partial(A, B, x, y, X, Y):
    width = A.shape[1] // (X * Y)
    first = (y * X + x) * width
    own = slice(first, first + width)
    return A[:, own].sum(1, keepdims=True) * B[own].sum(0)


# %% partial wrong: the whole sum
def partial(A, B, x, y, X, Y):
    return A @ B


# %% partial right: as the sum that was written down
def partial(A, B, x, y, X, Y):
    J = A.shape[1]
    part = J // Y // X
    start = J // Y * y + part * x
    O = [[0.0] * B.shape[1] for _ in A]
    for i in range(len(A)):
        for k in range(B.shape[1]):
            for j in range(start, start + part):
                O[i][k] += float(A[i, j]) * float(B[j, k])
    return O


# %% partial right: cut by Y, then by X
def partial(A, B, x, y, X, Y):
    columns = np.split(np.split(A, Y, axis=1)[y], X, axis=1)[x]
    rows = np.split(np.split(B, Y)[y], X)[x]
    return sum(np.outer(a, b) for a, b in zip(columns.T, rows))


# %% quickest wrong: always cuts I
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    def gather(V, a):
        if a == 0:
            return 0.0
        return (1 - n**-a) * V / (a * W) + a * n // 2 * T_min

    def seconds(i, j, k):
        rows, inner, columns = I / n**i, J / n**j, K / n**k
        math = 2 * rows * inner * columns / C
        read = 2 * (rows * inner + inner * columns) / hbm_bw
        sums = 2 * gather(2 * rows * columns, j)
        return max(math, read) + sums + gather(2 * I * K, i + k)

    numbers = range(4)
    ways = [(i, j, k) for i in numbers for j in numbers for k in numbers]
    best = (3, 0, 0)
    return [*best, seconds(*best)]


# %% quickest wrong: cuts the larger of I and K
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    def gather(V, a):
        if a == 0:
            return 0.0
        return (1 - n**-a) * V / (a * W) + a * n // 2 * T_min

    def seconds(i, j, k):
        rows, inner, columns = I / n**i, J / n**j, K / n**k
        math = 2 * rows * inner * columns / C
        read = 2 * (rows * inner + inner * columns) / hbm_bw
        sums = 2 * gather(2 * rows * columns, j)
        return max(math, read) + sums + gather(2 * I * K, i + k)

    numbers = range(4)
    ways = [(i, j, k) for i in numbers for j in numbers for k in numbers]
    best = (3, 0, 0) if I > K else (0, 0, 3)
    return [*best, seconds(*best)]


# %% quickest wrong: always shares
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    def gather(V, a):
        if a == 0:
            return 0.0
        return (1 - n**-a) * V / (a * W) + a * n // 2 * T_min

    def seconds(i, j, k):
        rows, inner, columns = I / n**i, J / n**j, K / n**k
        math = 2 * rows * inner * columns / C
        read = 2 * (rows * inner + inner * columns) / hbm_bw
        sums = 2 * gather(2 * rows * columns, j)
        return max(math, read) + sums + gather(2 * I * K, i + k)

    numbers = range(4)
    ways = [(i, j, k) for i in numbers for j in numbers for k in numbers]
    best = min((w for w in ways if sum(w) == 3), key=lambda w: seconds(*w))
    return [*best, seconds(*best)]


# %% quickest wrong: never cuts the contraction
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    def gather(V, a):
        if a == 0:
            return 0.0
        return (1 - n**-a) * V / (a * W) + a * n // 2 * T_min

    def seconds(i, j, k):
        rows, inner, columns = I / n**i, J / n**j, K / n**k
        math = 2 * rows * inner * columns / C
        read = 2 * (rows * inner + inner * columns) / hbm_bw
        sums = 2 * gather(2 * rows * columns, j)
        return max(math, read) + sums + gather(2 * I * K, i + k)

    numbers = range(4)
    ways = [(i, j, k) for i in numbers for j in numbers for k in numbers]
    best = min(
        (w for w in ways if sum(w) <= 3 and not w[1]), key=lambda w: seconds(*w)
    )
    return [*best, seconds(*best)]


# %% quickest wrong: everybody does all
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    def gather(V, a):
        if a == 0:
            return 0.0
        return (1 - n**-a) * V / (a * W) + a * n // 2 * T_min

    def seconds(i, j, k):
        rows, inner, columns = I / n**i, J / n**j, K / n**k
        math = 2 * rows * inner * columns / C
        read = 2 * (rows * inner + inner * columns) / hbm_bw
        sums = 2 * gather(2 * rows * columns, j)
        return max(math, read) + sums + gather(2 * I * K, i + k)

    numbers = range(4)
    ways = [(i, j, k) for i in numbers for j in numbers for k in numbers]
    best = min((w for w in ways if sum(w) == 0), key=lambda w: seconds(*w))
    return [*best, seconds(*best)]


# %% quickest wrong: reading left out
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    def gather(V, a):
        if a == 0:
            return 0.0
        return (1 - n**-a) * V / (a * W) + a * n // 2 * T_min

    def seconds(i, j, k):
        rows, inner, columns = I / n**i, J / n**j, K / n**k
        math = 2 * rows * inner * columns / C
        read = 2 * (rows * inner + inner * columns) / hbm_bw
        sums = 2 * gather(2 * rows * columns, j)
        return math + sums + gather(2 * I * K, i + k)

    numbers = range(4)
    ways = [(i, j, k) for i in numbers for j in numbers for k in numbers]
    best = min((w for w in ways if sum(w) <= 3), key=lambda w: seconds(*w))
    return [*best, seconds(*best)]


# %% quickest wrong: reading added
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    def gather(V, a):
        if a == 0:
            return 0.0
        return (1 - n**-a) * V / (a * W) + a * n // 2 * T_min

    def seconds(i, j, k):
        rows, inner, columns = I / n**i, J / n**j, K / n**k
        math = 2 * rows * inner * columns / C
        read = 2 * (rows * inner + inner * columns) / hbm_bw
        sums = 2 * gather(2 * rows * columns, j)
        return math + read + sums + gather(2 * I * K, i + k)

    numbers = range(4)
    ways = [(i, j, k) for i in numbers for j in numbers for k in numbers]
    best = min((w for w in ways if sum(w) <= 3), key=lambda w: seconds(*w))
    return [*best, seconds(*best)]


# %% quickest wrong: perfect overlap
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    def gather(V, a):
        if a == 0:
            return 0.0
        return (1 - n**-a) * V / (a * W) + a * n // 2 * T_min

    def seconds(i, j, k):
        rows, inner, columns = I / n**i, J / n**j, K / n**k
        math = 2 * rows * inner * columns / C
        read = 2 * (rows * inner + inner * columns) / hbm_bw
        sums = 2 * gather(2 * rows * columns, j)
        return max(math, read, sums + gather(2 * I * K, i + k))

    numbers = range(4)
    ways = [(i, j, k) for i in numbers for j in numbers for k in numbers]
    best = min((w for w in ways if sum(w) <= 3), key=lambda w: seconds(*w))
    return [*best, seconds(*best)]


# %% quickest wrong: latency left out
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    def gather(V, a):
        if a == 0:
            return 0.0
        return (1 - n**-a) * V / (a * W)

    def seconds(i, j, k):
        rows, inner, columns = I / n**i, J / n**j, K / n**k
        math = 2 * rows * inner * columns / C
        read = 2 * (rows * inner + inner * columns) / hbm_bw
        sums = 2 * gather(2 * rows * columns, j)
        return max(math, read) + sums + gather(2 * I * K, i + k)

    numbers = range(4)
    ways = [(i, j, k) for i in numbers for j in numbers for k in numbers]
    best = min((w for w in ways if sum(w) <= 3), key=lambda w: seconds(*w))
    return [*best, seconds(*best)]


# %% quickest wrong: limits
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    def gather(V, a):
        if a == 0:
            return 0.0
        return V / (a * W) + a * n // 2 * T_min

    def seconds(i, j, k):
        rows, inner, columns = I / n**i, J / n**j, K / n**k
        math = 2 * rows * inner * columns / C
        read = 2 * (rows * inner + inner * columns) / hbm_bw
        sums = 2 * gather(2 * rows * columns, j)
        return max(math, read) + sums + gather(2 * I * K, i + k)

    numbers = range(4)
    ways = [(i, j, k) for i in numbers for j in numbers for k in numbers]
    best = min((w for w in ways if sum(w) <= 3), key=lambda w: seconds(*w))
    return [*best, seconds(*best)]


# %% quickest wrong: one axis at a time
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    def gather(V, a):
        if a == 0:
            return 0.0
        return (1 - n**-a) * V / W + a * n // 2 * T_min

    def seconds(i, j, k):
        rows, inner, columns = I / n**i, J / n**j, K / n**k
        math = 2 * rows * inner * columns / C
        read = 2 * (rows * inner + inner * columns) / hbm_bw
        sums = 2 * gather(2 * rows * columns, j)
        return max(math, read) + sums + gather(2 * I * K, i + k)

    numbers = range(4)
    ways = [(i, j, k) for i in numbers for j in numbers for k in numbers]
    best = min((w for w in ways if sum(w) <= 3), key=lambda w: seconds(*w))
    return [*best, seconds(*best)]


# %% quickest wrong: an AllReduce moves once
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    def gather(V, a):
        if a == 0:
            return 0.0
        return (1 - n**-a) * V / (a * W) + a * n // 2 * T_min

    def seconds(i, j, k):
        rows, inner, columns = I / n**i, J / n**j, K / n**k
        math = 2 * rows * inner * columns / C
        read = 2 * (rows * inner + inner * columns) / hbm_bw
        sums = gather(2 * rows * columns, j)
        return max(math, read) + sums + gather(2 * I * K, i + k)

    numbers = range(4)
    ways = [(i, j, k) for i in numbers for j in numbers for k in numbers]
    best = min((w for w in ways if sum(w) <= 3), key=lambda w: seconds(*w))
    return [*best, seconds(*best)]


# %% quickest wrong: an AllReduce of all of C
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    def gather(V, a):
        if a == 0:
            return 0.0
        return (1 - n**-a) * V / (a * W) + a * n // 2 * T_min

    def seconds(i, j, k):
        rows, inner, columns = I / n**i, J / n**j, K / n**k
        math = 2 * rows * inner * columns / C
        read = 2 * (rows * inner + inner * columns) / hbm_bw
        sums = 2 * gather(2 * I * K, j)
        return max(math, read) + sums + gather(2 * I * K, i + k)

    numbers = range(4)
    ways = [(i, j, k) for i in numbers for j in numbers for k in numbers]
    best = min((w for w in ways if sum(w) <= 3), key=lambda w: seconds(*w))
    return [*best, seconds(*best)]


# %% quickest wrong: reads B only
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    def gather(V, a):
        if a == 0:
            return 0.0
        return (1 - n**-a) * V / (a * W) + a * n // 2 * T_min

    def seconds(i, j, k):
        rows, inner, columns = I / n**i, J / n**j, K / n**k
        math = 2 * rows * inner * columns / C
        read = 2 * (inner * columns) / hbm_bw
        sums = 2 * gather(2 * rows * columns, j)
        return max(math, read) + sums + gather(2 * I * K, i + k)

    numbers = range(4)
    ways = [(i, j, k) for i in numbers for j in numbers for k in numbers]
    best = min((w for w in ways if sum(w) <= 3), key=lambda w: seconds(*w))
    return [*best, seconds(*best)]


# %% quickest right: loops, and the best so far
def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    found = [0, 0, 0, max(2 * I * J * K / C, 2 * J * (I + K) / hbm_bw)]
    for i in range(4):
        for j in range(4 - i):
            for k in range(4 - i - j):
                a = i + k
                took = 2 * I * J * K / n ** (a + j) / C
                moved = I * J / n ** (i + j) + J * K / n ** (j + k)
                took = max(took, 2 * moved / hbm_bw)
                if j:
                    V = 2 * I * K / n**a
                    took += 2 * V * (1 - 1 / n**j) / (j * W) + j * n * T_min
                if a:
                    V = 2 * I * K
                    took += V * (1 - 1 / n**a) / (a * W) + a * n * T_min / 2
                if took < found[3]:
                    found = [i, j, k, took]
    return found


# %% quickest right: axis by axis: a word of three letters
from itertools import product as words


def quickest(I, J, K, n, C, W, hbm_bw, T_min):
    ways = {}
    for word in words("IJK-", repeat=3):
        cut = [word.count(letter) for letter in "IJK"]
        rows, inner, columns = (s / n**c for s, c in zip((I, J, K), cut))
        busy = max(
            2 * rows * inner * columns / C,
            2 * inner * (rows + columns) / hbm_bw,
        )
        hops = (2 * cut[1] + cut[0] + cut[2]) * n / 2
        wires = 0.0
        if cut[1]:
            lacking = 1 - float(n) ** -cut[1]
            wires += 4 * rows * columns * lacking / (cut[1] * W)
        if free := cut[0] + cut[2]:
            wires += 2 * I * K * (1 - float(n) ** -free) / (free * W)
        ways[tuple(cut)] = busy + hops * T_min + wires
    best = min(ways, key=ways.get)
    return np.array([*best, ways[best]])


# %% share wrong: no hops
C, W, n, I, K, T = sympy.symbols("C W n I K T", positive=True)
share = 1 - 1 / n**3
comm = share * 2 * I * K / (3 * W)
longer_than = comm / (share * 2 * I * K / C)


# %% share wrong: those who share do nothing
C, W, n, I, K, T = sympy.symbols("C W n I K T", positive=True)
share = 1 - 1 / n**3
comm = share * 2 * I * K / (3 * W) + 3 * n / 2 * T
longer_than = comm / (2 * I * K / C)


# %% share wrong: the limit for the gather
C, W, n, I, K, T = sympy.symbols("C W n I K T", positive=True)
share = 1 - 1 / n**3
comm = 2 * I * K / (3 * W) + 3 * n / 2 * T
longer_than = comm / (share * 2 * I * K / C)


# %% share wrong: one axis
C, W, n, I, K, T = sympy.symbols("C W n I K T", positive=True)
share = 1 - 1 / n**3
comm = share * 2 * I * K / W + 3 * n / 2 * T
longer_than = comm / (share * 2 * I * K / C)


# %% share wrong: the hops of one axis
C, W, n, I, K, T = sympy.symbols("C W n I K T", positive=True)
share = 1 - 1 / n**3
comm = share * 2 * I * K / (3 * W) + n / 2 * T
longer_than = comm / (share * 2 * I * K / C)


# %% share wrong: one hop
C, W, n, I, K, T = sympy.symbols("C W n I K T", positive=True)
share = 1 - 1 / n**3
comm = share * 2 * I * K / (3 * W) + T
longer_than = comm / (share * 2 * I * K / C)


# %% share wrong: hops of lines
C, W, n, I, K, T = sympy.symbols("C W n I K T", positive=True)
share = 1 - 1 / n**3
comm = share * 2 * I * K / (3 * W) + 3 * (n - 1) * T
longer_than = comm / (share * 2 * I * K / C)


# %% share wrong: both ways counted twice
C, W, n, I, K, T = sympy.symbols("C W n I K T", positive=True)
share = 1 - 1 / n**3
comm = share * 2 * I * K / (6 * W) + 3 * n / 2 * T
longer_than = comm / (share * 2 * I * K / C)


# %% share wrong: overlap, and no hops
C, W, n = sympy.symbols("C W n", positive=True)
longer_than = (1 - 1 / n**3) * C / (3 * W)


# %% share right: solved
C, W, n, I, J, K, T = sympy.symbols("C W n I J K T", positive=True)
alone = 2 * I * J * K / C
gather = 2 * I * K * (n**3 - 1) / (3 * n**3 * W) + sympy.Rational(3, 2) * n * T
[longer_than] = sympy.solve(alone - alone / n**3 - gather, J)


# %% share right: as text
longer_than = "C/W/3 + 3*n**4*T*C / (4*I*K*(n**3 - 1))"


# %% narrow wrong: adds up nothing
cuts = {
    "In": ["", "XY"],
    "W_in": ["XY", ""],
    "W_out": ["", "XY"],
    "Out": ["", "XY"],
}


def narrow(In, W_in, W_out):
    Tmp = In @ W_in
    return Tmp @ W_out


# %% narrow wrong: adds up over X alone
cuts = {
    "In": ["", "XY"],
    "W_in": ["XY", ""],
    "W_out": ["", "XY"],
    "Out": ["", "XY"],
}


def narrow(In, W_in, W_out):
    Tmp = jax.lax.psum(In @ W_in, "X")
    return Tmp @ W_out


# %% narrow wrong: a mean
cuts = {
    "In": ["", "XY"],
    "W_in": ["XY", ""],
    "W_out": ["", "XY"],
    "Out": ["", "XY"],
}


def narrow(In, W_in, W_out):
    Tmp = jax.lax.pmean(In @ W_in, ("X", "Y"))
    return Tmp @ W_out


# %% narrow wrong: In and Out lie otherwise
cuts = {
    "In": ["", "XY"],
    "W_in": ["XY", ""],
    "W_out": ["", "XY"],
    "Out": ["XY", ""],
}


def narrow(In, W_in, W_out):
    Tmp = jax.lax.psum(In @ W_in, ("X", "Y"))
    return Tmp @ W_out


# %% narrow wrong: weights cut by X alone
cuts = {
    "In": ["", "XY"],
    "W_in": ["X", ""],
    "W_out": ["", "XY"],
    "Out": ["", "XY"],
}


def narrow(In, W_in, W_out):
    Tmp = jax.lax.psum(In @ W_in, ("X", "Y"))
    return Tmp @ W_out


# %% narrow wrong: one array is missing
cuts = {
    "In": ["", "XY"],
    "W_in": ["XY", ""],
    "W_out": ["", "XY"],
}


def narrow(In, W_in, W_out):
    Tmp = jax.lax.psum(In @ W_in, ("X", "Y"))
    return Tmp @ W_out


# %% narrow wrong: an axis twice
cuts = {
    "In": ["X", "XY"],
    "W_in": ["XY", ""],
    "W_out": ["", "XY"],
    "Out": ["", "XY"],
}


def narrow(In, W_in, W_out):
    Tmp = jax.lax.psum(In @ W_in, ("X", "Y"))
    return Tmp @ W_out


# %% narrow wrong: the order of the axes
cuts = {
    "In": ["", "XY"],
    "W_in": ["YX", ""],
    "W_out": ["", "XY"],
    "Out": ["", "XY"],
}


def narrow(In, W_in, W_out):
    Tmp = jax.lax.psum(In @ W_in, ("X", "Y"))
    return Tmp @ W_out


# %% narrow wrong: the chapter's block
cuts = {
    "In": ["", "XY"],
    "W_in": ["", "XY"],
    "W_out": ["XY", ""],
    "Out": ["", "XY"],
}


def narrow(In, W_in, W_out):
    both = ("X", "Y")
    In = jax.lax.all_gather(In, both, axis=1, tiled=True)
    Out = In @ W_in @ W_out
    return jax.lax.psum_scatter(Out, both, scatter_dimension=1, tiled=True)


# %% narrow wrong: tokens are cut, and weights gathered
cuts = {
    "In": ["XY", ""],
    "W_in": ["XY", ""],
    "W_out": ["", "XY"],
    "Out": ["XY", ""],
}


def narrow(In, W_in, W_out):
    W_in = jax.lax.all_gather(W_in, ("X", "Y"), axis=0, tiled=True)
    W_out = jax.lax.all_gather(W_out, ("X", "Y"), axis=1, tiled=True)
    return In @ W_in @ W_out


# %% narrow wrong: an AllReduce of whole tokens at the end
cuts = {
    "In": ["", ""],
    "W_in": ["", "XY"],
    "W_out": ["XY", ""],
    "Out": ["", ""],
}


def narrow(In, W_in, W_out):
    return jax.lax.psum(In @ W_in @ W_out, ("X", "Y"))


# %% narrow right: Y before X, and the sum in two halves
cuts = {
    "In": ("", "YX"),
    "W_in": ("YX", ""),
    "W_out": ("", "YX"),
    "Out": ("", "YX"),
}


def narrow(In, W_in, W_out):
    both = ("Y", "X")
    Tmp = In @ W_in
    Tmp = jax.lax.psum_scatter(Tmp, both, scatter_dimension=1, tiled=True)
    return jax.lax.all_gather(Tmp, both, axis=1, tiled=True) @ W_out


# %% narrow right: one axis after the other
wide, tall = ["", "XY"], ["XY", ""]
cuts = dict(In=wide, W_in=tall, W_out=wide, Out=wide)


def narrow(In, W_in, W_out):
    N = jax.lax.axis_size("X") * jax.lax.axis_size("Y")
    parts = jnp.stack(jnp.split(In @ W_in, N))
    for axis in ("X", "Y"):
        parts = jax.lax.psum_scatter(
            parts, axis, scatter_dimension=0, tiled=True
        )
    for axis in ("Y", "X"):
        parts = jax.lax.all_gather(parts, axis, axis=0, tiled=True)
    return jnp.concatenate(parts) @ W_out


# %% budget wrong: both matrices whole
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: one matrix
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: X cuts weights, too
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / (X * Y)
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: elements
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: no room for what is gathered
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = chip.hbm_bytes // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: a gathered matrix in place of its part
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix * (Y - 1) / Y) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: two gathered
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - 2 * matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: one gathered in every block
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = chip.hbm_bytes // (held + matrix)
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: part of a block fits
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) / held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: the memory of all chips
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (X * Y * chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: one of the two products
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 2 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: all of the arithmetic
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: all tokens on every chip
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / Y / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: all hidden units on every chip
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / X / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: reads whole matrices
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": Y * held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: reads one of two matrices
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / 2 / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: the gather alone
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: one link, on a torus as on a switch
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / chip.link_bw,
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: two directions, on a switch as on a torus
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / (2 * chip.link_bw),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: the way out of a node
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / chip.dcn_bw,
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: limits
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: tokens of all rows of chips
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: moves what lies in the middle
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * F / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: over the other axis
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (X - 1) / X / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), max(times, key=times.get)]


# %% budget wrong: always memory
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), "reading"]


# %% budget wrong: always arithmetic
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), "math"]


# %% budget wrong: always the network
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), "comm"]


# %% budget wrong: the shortest
def budget(name, X, Y, B, D, F):
    chip = hw.chip(name)
    matrix, V = 2 * D * F, 2 * B * D / X
    held = 2 * matrix / Y
    most = (chip.hbm_bytes - matrix) // held
    times = {
        "math": 4 * B * D * F / (X * Y) / chip.flops,
        "reading": held / chip.hbm_bw,
        "comm": 2 * V * (Y - 1) / Y / hw.axis_bw(chip),
    }
    return [held, most, *times.values(), min(times, key=times.get)]


# %% budget right: from the blocks
def budget(name, X, Y, B, D, F):
    chip = hw.CHIPS[name]
    blocks = [jax.ShapeDtypeStruct((D // Y, F), jnp.bfloat16)] * 2
    held = sum(block.size * block.dtype.itemsize for block in blocks)
    left, most = chip.hbm_bytes - Y * held / 2, 0
    while left >= held:
        left, most = left - held, most + 1
    math = sum(2 * (B // X) * block.size for block in blocks) / chip.flops
    hop = 2 * (B // X) * D / Y / chip.link_bw  # a piece, one way
    comm = 2 * (Y - 1) * hop / (2 if chip.axes else 1)
    names = {math: "math", held / chip.hbm_bw: "reading", comm: "comm"}
    return [held, most, *names, names[max(names)]]


# %% budget right: closed forms
def budget(name, X, Y, B, D, F):
    chip, tokens = hw.chip(name), B / X
    W = chip.link_bw if name[0] not in "vt" else 2 * chip.link_bw
    times = (
        4 * tokens * D * F / (Y * chip.flops),
        4 * D * F / (Y * chip.hbm_bw),
        4 * tokens * D * (1 - 1 / Y) / W,
    )
    most = int((chip.hbm_bytes / (2 * D * F) - 1) * Y / 2)
    longest = "math"
    if times[1] > times[0]:
        longest = "reading"
    if times[2] > max(times[:2]):
        longest = "comm"
    return (4 * D * F / Y, most, *times, longest)


# %% done wrong: one after the other
def done(hops, product):
    return sum(hops) + (len(hops) + 1) * product


# %% done wrong: the longer of the two
def done(hops, product):
    return max(sum(hops), (len(hops) + 1) * product)


# %% done wrong: the formula for even hops
def done(hops, product):
    return max((len(hops) + 1) * product, sum(hops) + product)


# %% done wrong: every product waits for its hop only
def done(hops, product):
    return product + sum(max(hop, product) for hop in hops)


# %% done wrong: its own block is free
def done(hops, product):
    there, free = 0.0, 0.0
    for hop in hops:
        there += hop
        free = max(free, there) + product
    return free


# %% done right: the worst block decides
def done(hops, product):
    blocks = len(hops) + 1
    return max(sum(hops[:k]) + (blocks - k) * product for k in range(blocks))


# %% done right: events in order of time
def done(hops, product):
    arrivals = [0.0, *np.cumsum(hops).tolist()]
    clock, idle = 0.0, 0.0
    while arrivals:
        came = arrivals.pop(0)
        if came > clock:
            idle += came - clock
            clock = came
        clock += product
    return idle + (len(hops) + 1) * product


# %% done equivalent: line 7: `max(free, there)` with its arguments reversed
# Of two numbers the larger one is the same in either order.


# %% done wrong: a hop starts when the product before it ends
def done(hops, product):
    free = product
    for hop in hops:
        free = free + max(hop, product)
    return free


# %% done wrong: arrivals are not accumulated
def done(hops, product):
    t = product
    for h in hops:
        t = max(t, h) + product
    return t


# %% quickest equivalent: line 11: `(I / n ** i, J / n ** j, K / n ** k)` is reversed
# What is multiplied, read and sent is the same with I and K exchanged.


# %% quickest equivalent: line 15: `max(math, read)` with its arguments reversed
# The larger of two numbers is the same in either order.


# %% quickest equivalent: line 17: 4 becomes 5
# Four axes for one dimension are more than there are, and left out later.


# %% quickest equivalent: line 18: `(i, j, k)` is reversed
# All ways are in the list all the same, in another order.


# %% sliced wrong: the chapter's rule, without slices
def sliced(A, B):
    (rows, left), (right, columns) = A, B
    inner = left if len(left) > len(right) else right
    alike = inner.startswith(left) and inner.startswith(right)
    used = rows + inner + columns
    if left != right or len(set(used)) < len(used):
        return "send"
    return [[rows, inner], [inner, columns]]


# %% sliced wrong: sets of letters, whatever their order
def sliced(A, B):
    (rows, left), (right, columns) = A, B
    inner = left if len(left) > len(right) else right
    alike = set(left) <= set(inner) and set(right) <= set(inner)
    used = rows + inner + columns
    if not alike or len(set(used)) < len(used):
        return "send"
    return [[rows, inner], [inner, columns]]


# %% sliced wrong: what was cut last must be alike
def sliced(A, B):
    (rows, left), (right, columns) = A, B
    inner = left if len(left) > len(right) else right
    alike = inner.endswith(left) and inner.endswith(right)
    used = rows + inner + columns
    if not alike or len(set(used)) < len(used):
        return "send"
    return [[rows, inner], [inner, columns]]


# %% sliced wrong: forgets that A's rows are cut by that axis, as in FSDP
def sliced(A, B):
    (rows, left), (right, columns) = A, B
    inner = left if len(left) > len(right) else right
    alike = inner.startswith(left) and inner.startswith(right)
    used = rows + columns
    if not alike or len(set(used)) < len(used):
        return "send"
    return [[rows, inner], [inner, columns]]


# %% sliced wrong: forgets the diagonal
def sliced(A, B):
    (rows, left), (right, columns) = A, B
    inner = left if len(left) > len(right) else right
    alike = inner.startswith(left) and inner.startswith(right)
    if not alike or set(inner) & set(rows + columns):
        return "send"
    return [[rows, inner], [inner, columns]]


# %% sliced wrong: slices a free dimension as well
def sliced(A, B):
    (rows, left), (right, columns) = A, B
    inner = left if len(left) > len(right) else right
    alike = inner.startswith(left) and inner.startswith(right)
    used = rows + inner + columns
    if not alike or len(set(used)) < len(used):
        return "send"
    if "X" not in used:
        rows += "X"
    return [[rows, inner], [inner, columns]]


# %% sliced wrong: slices B alone
def sliced(A, B):
    (rows, left), (right, columns) = A, B
    inner = left if len(left) > len(right) else right
    alike = inner.startswith(left) and inner.startswith(right)
    used = rows + inner + columns
    if not alike or len(set(used)) < len(used):
        return "send"
    return [[rows, left], [inner, columns]]


# %% sliced wrong: puts both strings one behind the other
def sliced(A, B):
    (rows, left), (right, columns) = A, B
    inner = left + "".join(c for c in right if c not in left)
    used = rows + inner + columns
    if len(set(used)) < len(used):
        return "send"
    return [[rows, inner], [inner, columns]]


# %% sliced right: letter by letter
def sliced(A, B):
    (rows, left), (right, columns) = list(A), list(B)
    for a, b in zip(left, right):
        if a != b:
            return "send"
    while len(left) < len(right):
        left += right[len(left)]
    while len(right) < len(left):
        right += left[len(right)]
    for axis in "XY":
        if (rows + left + columns).count(axis) > 1:
            return "send"
    return [[rows, left], [right, columns]]


# %% sliced right: the longer one's end is the slice
def sliced(A, B):
    short, long = sorted([A[1], B[0]], key=len)
    if long[: len(short)] != short or set(A[0]) & set(B[1]):
        return "send"
    if set(long) & (set(A[0]) | set(B[1])):
        return "send"
    return (A[0], long), (long, B[1])


# %% biased wrong: a scatter for each product
def biased(A, B, D, E, b):
    start = jax.lax.axis_index("X") * b.size
    C = A @ B
    own = jax.lax.dynamic_slice_in_dim(C, start, b.size, 1) + b
    C = jax.lax.dynamic_update_slice_in_dim(C, own, start, 1)
    C = jax.lax.psum_scatter(C, "X", scatter_dimension=0, tiled=True)
    other = jax.lax.psum_scatter(D @ E, "X", scatter_dimension=0, tiled=True)
    return jnp.maximum(C + other, 0)


# %% biased wrong: max before the sum
def biased(A, B, D, E, b):
    start = jax.lax.axis_index("X") * b.size
    C = A @ B + D @ E
    own = jax.lax.dynamic_slice_in_dim(C, start, b.size, 1) + b
    C = jax.lax.dynamic_update_slice_in_dim(C, own, start, 1)
    C = jax.lax.psum_scatter(
        jnp.maximum(C, 0), "X", scatter_dimension=0, tiled=True
    )
    return C


# %% biased wrong: gathers the bias, and adds it after the scatter
def biased(A, B, D, E, b):
    C = A @ B + D @ E
    C = jax.lax.psum_scatter(C, "X", scatter_dimension=0, tiled=True)
    return jnp.maximum(C + jax.lax.all_gather(b, "X", tiled=True), 0)


# %% biased wrong: gathers the bias, and everybody adds it
def biased(A, B, D, E, b):
    C = A @ B + D @ E + jax.lax.all_gather(b, "X", tiled=True)
    C = jax.lax.psum_scatter(C, "X", scatter_dimension=0, tiled=True)
    return jnp.maximum(C, 0)


# %% biased wrong: its piece of the bias on all columns of its term
def biased(A, B, D, E, b):
    C = A @ B + D @ E + jnp.tile(b, B.shape[1] // b.size)
    C = jax.lax.psum_scatter(C, "X", scatter_dimension=0, tiled=True)
    return jnp.maximum(C, 0)


# %% biased wrong: its piece of the bias on all columns of its rows
def biased(A, B, D, E, b):
    C = A @ B + D @ E
    C = jax.lax.psum_scatter(C, "X", scatter_dimension=0, tiled=True)
    return jnp.maximum(C + jnp.tile(b, B.shape[1] // b.size), 0)


# %% biased wrong: scatters columns
def biased(A, B, D, E, b):
    start = jax.lax.axis_index("X") * b.size
    C = A @ B + D @ E
    own = jax.lax.dynamic_slice_in_dim(C, start, b.size, 1) + b
    C = jax.lax.dynamic_update_slice_in_dim(C, own, start, 1)
    C = jax.lax.psum_scatter(C, "X", scatter_dimension=1, tiled=True)
    return jnp.maximum(C, 0)


# %% biased wrong: no bias
def biased(A, B, D, E, b):
    start = jax.lax.axis_index("X") * b.size
    C = A @ B + D @ E
    own = jax.lax.dynamic_slice_in_dim(C, start, b.size, 1)
    C = jax.lax.dynamic_update_slice_in_dim(C, own, start, 1)
    C = jax.lax.psum_scatter(C, "X", scatter_dimension=0, tiled=True)
    return jnp.maximum(C, 0)


# %% biased wrong: an AllReduce, and rows of it
def biased(A, B, D, E, b):
    start = jax.lax.axis_index("X") * b.size
    C = A @ B + D @ E
    own = jax.lax.dynamic_slice_in_dim(C, start, b.size, 1) + b
    C = jax.lax.dynamic_update_slice_in_dim(C, own, start, 1)
    C = jax.lax.psum(C, "X")
    rows = len(C) // jax.lax.axis_size("X")
    first = rows * jax.lax.axis_index("X")
    C = jax.lax.dynamic_slice_in_dim(C, first, rows, 0)
    return jnp.maximum(C, 0)


# %% biased right: a mask, and one product of what is joined
def biased(A, B, D, E, b):
    N, me = jax.lax.axis_size("X"), jax.lax.axis_index("X")
    mine = (jnp.arange(N) == me).astype(b.dtype)
    both = jnp.concatenate([A, D], axis=1) @ jnp.concatenate([B, E])
    C = both + jnp.outer(mine, b).ravel()
    C = jax.lax.psum_scatter(C, "X", scatter_dimension=0, tiled=True)
    return jnp.where(C > 0, C, 0)


# %% biased right: the bias rolled to its columns
def biased(A, B, D, E, b):
    wide = jnp.zeros(B.shape[1], b.dtype).at[: b.size].set(b)
    wide = jnp.roll(wide, b.size * jax.lax.axis_index("X"))
    rows = (A @ B + D @ E + wide).reshape(jax.lax.axis_size("X"), -1, len(wide))
    return jnp.maximum(jax.lax.psum_scatter(rows, "X"), 0)


# %% sliced equivalent: line 5: `len(left) > len(right)` with GtE
# Of two strings of one length either will do: if they differ, neither begins
# with the other.


# %% biased equivalent: line 9: `jnp.maximum(C, 0)` with its arguments reversed
# The larger of two numbers is the same in either order.


# %% cheapest wrong: the smaller of B and C moves, as it looks
def cheapest(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    (I, J), K = A.shape, B.shape[1]
    best = "gather" if J < I else "scatter"
    if best == "gather":
        A = jax.lax.dynamic_slice_in_dim(A, me * (I // N), I // N, 0)
        return A @ jax.lax.all_gather(B, "X", axis=0, tiled=True)
    if best == "scatter":
        A = jax.lax.dynamic_slice_in_dim(A, me * (J // N), J // N, 1)
        return jax.lax.psum_scatter(A @ B, "X", scatter_dimension=0, tiled=True)
    B = jax.lax.all_to_all(B, "X", split_axis=1, concat_axis=0, tiled=True)
    return jax.lax.all_to_all(
        A @ B, "X", split_axis=0, concat_axis=1, tiled=True
    )


# %% cheapest wrong: the smaller of B and C moves, C where they are alike
def cheapest(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    (I, J), K = A.shape, B.shape[1]
    best = "gather" if J <= I else "scatter"
    if best == "gather":
        A = jax.lax.dynamic_slice_in_dim(A, me * (I // N), I // N, 0)
        return A @ jax.lax.all_gather(B, "X", axis=0, tiled=True)
    if best == "scatter":
        A = jax.lax.dynamic_slice_in_dim(A, me * (J // N), J // N, 1)
        return jax.lax.psum_scatter(A @ B, "X", scatter_dimension=0, tiled=True)
    B = jax.lax.all_to_all(B, "X", split_axis=1, concat_axis=0, tiled=True)
    return jax.lax.all_to_all(
        A @ B, "X", split_axis=0, concat_axis=1, tiled=True
    )


# %% cheapest wrong: always exchanges
def cheapest(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    (I, J), K = A.shape, B.shape[1]
    best = "turn"
    if best == "gather":
        A = jax.lax.dynamic_slice_in_dim(A, me * (I // N), I // N, 0)
        return A @ jax.lax.all_gather(B, "X", axis=0, tiled=True)
    if best == "scatter":
        A = jax.lax.dynamic_slice_in_dim(A, me * (J // N), J // N, 1)
        return jax.lax.psum_scatter(A @ B, "X", scatter_dimension=0, tiled=True)
    B = jax.lax.all_to_all(B, "X", split_axis=1, concat_axis=0, tiled=True)
    return jax.lax.all_to_all(
        A @ B, "X", split_axis=0, concat_axis=1, tiled=True
    )


# %% cheapest wrong: always gathers
def cheapest(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    (I, J), K = A.shape, B.shape[1]
    best = "gather"
    if best == "gather":
        A = jax.lax.dynamic_slice_in_dim(A, me * (I // N), I // N, 0)
        return A @ jax.lax.all_gather(B, "X", axis=0, tiled=True)
    if best == "scatter":
        A = jax.lax.dynamic_slice_in_dim(A, me * (J // N), J // N, 1)
        return jax.lax.psum_scatter(A @ B, "X", scatter_dimension=0, tiled=True)
    B = jax.lax.all_to_all(B, "X", split_axis=1, concat_axis=0, tiled=True)
    return jax.lax.all_to_all(
        A @ B, "X", split_axis=0, concat_axis=1, tiled=True
    )


# %% cheapest wrong: always scatters
def cheapest(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    (I, J), K = A.shape, B.shape[1]
    best = "scatter"
    if best == "gather":
        A = jax.lax.dynamic_slice_in_dim(A, me * (I // N), I // N, 0)
        return A @ jax.lax.all_gather(B, "X", axis=0, tiled=True)
    if best == "scatter":
        A = jax.lax.dynamic_slice_in_dim(A, me * (J // N), J // N, 1)
        return jax.lax.psum_scatter(A @ B, "X", scatter_dimension=0, tiled=True)
    B = jax.lax.all_to_all(B, "X", split_axis=1, concat_axis=0, tiled=True)
    return jax.lax.all_to_all(
        A @ B, "X", split_axis=0, concat_axis=1, tiled=True
    )


# %% cheapest wrong: four devices, however many there are
def cheapest(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    (I, J), K = A.shape, B.shape[1]
    ways = {"gather": J * 4, "scatter": I * 4, "turn": I + J}
    best = min(ways, key=ways.get)
    if best == "gather":
        A = jax.lax.dynamic_slice_in_dim(A, me * (I // N), I // N, 0)
        return A @ jax.lax.all_gather(B, "X", axis=0, tiled=True)
    if best == "scatter":
        A = jax.lax.dynamic_slice_in_dim(A, me * (J // N), J // N, 1)
        return jax.lax.psum_scatter(A @ B, "X", scatter_dimension=0, tiled=True)
    B = jax.lax.all_to_all(B, "X", split_axis=1, concat_axis=0, tiled=True)
    return jax.lax.all_to_all(
        A @ B, "X", split_axis=0, concat_axis=1, tiled=True
    )


# %% cheapest right: pieces of B multiplied as they come round a ring
def cheapest(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    (I, J), K = A.shape, B.shape[1]
    if I > (N - 1) * J:
        onward, i, j = [(n, (n + 1) % N) for n in range(N)], I // N, J // N
        A, C = jax.lax.dynamic_slice_in_dim(A, me * i, i, 0), 0
        for hop in range(N):
            if hop:
                B = jax.lax.ppermute(B, "X", onward)
            first = (me - hop) % N * j
            C += jax.lax.dynamic_slice_in_dim(A, first, j, 1) @ B
        return C
    if J > (N - 1) * I:
        A = jax.lax.dynamic_slice_in_dim(A, me * (J // N), J // N, 1)
        return jax.lax.psum_scatter(A @ B, "X", scatter_dimension=0, tiled=True)
    B = jax.lax.all_to_all(B, "X", split_axis=1, concat_axis=0, tiled=True)
    return jax.lax.all_to_all(
        A @ B, "X", split_axis=0, concat_axis=1, tiled=True
    )


# %% cheapest wrong: an exchange costs B alone
def cheapest(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    (I, J), K = A.shape, B.shape[1]
    ways = {"gather": J * N, "scatter": I * N, "turn": J}
    best = min(ways, key=ways.get)
    if best == "gather":
        A = jax.lax.dynamic_slice_in_dim(A, me * (I // N), I // N, 0)
        return A @ jax.lax.all_gather(B, "X", axis=0, tiled=True)
    if best == "scatter":
        A = jax.lax.dynamic_slice_in_dim(A, me * (J // N), J // N, 1)
        return jax.lax.psum_scatter(A @ B, "X", scatter_dimension=0, tiled=True)
    B = jax.lax.all_to_all(B, "X", split_axis=1, concat_axis=0, tiled=True)
    return jax.lax.all_to_all(
        A @ B, "X", split_axis=0, concat_axis=1, tiled=True
    )


# %% cheapest wrong: an exchange costs C alone
def cheapest(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    (I, J), K = A.shape, B.shape[1]
    ways = {"gather": J * N, "scatter": I * N, "turn": I}
    best = min(ways, key=ways.get)
    if best == "gather":
        A = jax.lax.dynamic_slice_in_dim(A, me * (I // N), I // N, 0)
        return A @ jax.lax.all_gather(B, "X", axis=0, tiled=True)
    if best == "scatter":
        A = jax.lax.dynamic_slice_in_dim(A, me * (J // N), J // N, 1)
        return jax.lax.psum_scatter(A @ B, "X", scatter_dimension=0, tiled=True)
    B = jax.lax.all_to_all(B, "X", split_axis=1, concat_axis=0, tiled=True)
    return jax.lax.all_to_all(
        A @ B, "X", split_axis=0, concat_axis=1, tiled=True
    )


# %% cheapest wrong: exchanges up to N times as large
def cheapest(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    (I, J), K = A.shape, B.shape[1]
    best = "gather" if I > N * J else "scatter" if J > N * I else "turn"
    if best == "gather":
        A = jax.lax.dynamic_slice_in_dim(A, me * (I // N), I // N, 0)
        return A @ jax.lax.all_gather(B, "X", axis=0, tiled=True)
    if best == "scatter":
        A = jax.lax.dynamic_slice_in_dim(A, me * (J // N), J // N, 1)
        return jax.lax.psum_scatter(A @ B, "X", scatter_dimension=0, tiled=True)
    B = jax.lax.all_to_all(B, "X", split_axis=1, concat_axis=0, tiled=True)
    return jax.lax.all_to_all(
        A @ B, "X", split_axis=0, concat_axis=1, tiled=True
    )


# %% cheapest wrong: exchanges up to half of N times as large
def cheapest(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    (I, J), K = A.shape, B.shape[1]
    best = "gather" if 2 * I > N * J else "scatter" if 2 * J > N * I else "turn"
    if best == "gather":
        A = jax.lax.dynamic_slice_in_dim(A, me * (I // N), I // N, 0)
        return A @ jax.lax.all_gather(B, "X", axis=0, tiled=True)
    if best == "scatter":
        A = jax.lax.dynamic_slice_in_dim(A, me * (J // N), J // N, 1)
        return jax.lax.psum_scatter(A @ B, "X", scatter_dimension=0, tiled=True)
    B = jax.lax.all_to_all(B, "X", split_axis=1, concat_axis=0, tiled=True)
    return jax.lax.all_to_all(
        A @ B, "X", split_axis=0, concat_axis=1, tiled=True
    )


# %% cheapest wrong: a gather sends as much as an exchange
def cheapest(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    (I, J), K = A.shape, B.shape[1]
    ways = {"gather": J, "scatter": I, "turn": I + J}
    best = min(ways, key=ways.get)
    if best == "gather":
        A = jax.lax.dynamic_slice_in_dim(A, me * (I // N), I // N, 0)
        return A @ jax.lax.all_gather(B, "X", axis=0, tiled=True)
    if best == "scatter":
        A = jax.lax.dynamic_slice_in_dim(A, me * (J // N), J // N, 1)
        return jax.lax.psum_scatter(A @ B, "X", scatter_dimension=0, tiled=True)
    B = jax.lax.all_to_all(B, "X", split_axis=1, concat_axis=0, tiled=True)
    return jax.lax.all_to_all(
        A @ B, "X", split_axis=0, concat_axis=1, tiled=True
    )


# %% cheapest wrong: exchanges B, then gathers C
def cheapest(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    (I, J), K = A.shape, B.shape[1]
    ways = {"gather": J * N, "scatter": I * N, "turn": I + J}
    best = min(ways, key=ways.get)
    if best == "gather":
        A = jax.lax.dynamic_slice_in_dim(A, me * (I // N), I // N, 0)
        return A @ jax.lax.all_gather(B, "X", axis=0, tiled=True)
    if best == "scatter":
        A = jax.lax.dynamic_slice_in_dim(A, me * (J // N), J // N, 1)
        return jax.lax.psum_scatter(A @ B, "X", scatter_dimension=0, tiled=True)
    B = jax.lax.all_to_all(B, "X", split_axis=1, concat_axis=0, tiled=True)
    C = jax.lax.all_gather(A @ B, "X", axis=1, tiled=True)
    return jax.lax.dynamic_slice_in_dim(C, me * (I // N), I // N, 0)


# %% cheapest wrong: an AllReduce, and rows of it
def cheapest(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    (I, J), K = A.shape, B.shape[1]
    ways = {"gather": J * N, "scatter": I * N, "turn": I + J}
    best = min(ways, key=ways.get)
    if best == "gather":
        A = jax.lax.dynamic_slice_in_dim(A, me * (I // N), I // N, 0)
        return A @ jax.lax.all_gather(B, "X", axis=0, tiled=True)
    if best == "scatter":
        A = jax.lax.dynamic_slice_in_dim(A, me * (J // N), J // N, 1)
        C = jax.lax.psum(A @ B, "X")
        return jax.lax.dynamic_slice_in_dim(C, me * (I // N), I // N, 0)
    B = jax.lax.all_to_all(B, "X", split_axis=1, concat_axis=0, tiled=True)
    return jax.lax.all_to_all(
        A @ B, "X", split_axis=0, concat_axis=1, tiled=True
    )


# %% cheapest wrong: multiplies all rows, and takes its own
def cheapest(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    (I, J), K = A.shape, B.shape[1]
    ways = {"gather": J * N, "scatter": I * N, "turn": I + J}
    best = min(ways, key=ways.get)
    if best == "gather":
        C = A @ jax.lax.all_gather(B, "X", axis=0, tiled=True)
        return jax.lax.dynamic_slice_in_dim(C, me * (I // N), I // N, 0)
    if best == "scatter":
        A = jax.lax.dynamic_slice_in_dim(A, me * (J // N), J // N, 1)
        return jax.lax.psum_scatter(A @ B, "X", scatter_dimension=0, tiled=True)
    B = jax.lax.all_to_all(B, "X", split_axis=1, concat_axis=0, tiled=True)
    return jax.lax.all_to_all(
        A @ B, "X", split_axis=0, concat_axis=1, tiled=True
    )


# %% cheapest wrong: multiplies zeros in place of the rows of others
def cheapest(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    (I, J), K = A.shape, B.shape[1]
    ways = {"gather": J * N, "scatter": I * N, "turn": I + J}
    best = min(ways, key=ways.get)
    if best == "gather":
        A = jax.lax.dynamic_slice_in_dim(A, me * (I // N), I // N, 0)
        return A @ jax.lax.all_gather(B, "X", axis=0, tiled=True)
    if best == "scatter":
        rows = jnp.zeros((N, *B.shape), B.dtype).at[me].set(B)
        C = A @ rows.reshape(J, K)
        return jax.lax.psum_scatter(C, "X", scatter_dimension=0, tiled=True)
    B = jax.lax.all_to_all(B, "X", split_axis=1, concat_axis=0, tiled=True)
    return jax.lax.all_to_all(
        A @ B, "X", split_axis=0, concat_axis=1, tiled=True
    )


# %% cheapest wrong: the first columns of A for everybody
def cheapest(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    (I, J), K = A.shape, B.shape[1]
    ways = {"gather": J * N, "scatter": I * N, "turn": I + J}
    best = min(ways, key=ways.get)
    if best == "gather":
        A = jax.lax.dynamic_slice_in_dim(A, me * (I // N), I // N, 0)
        return A @ jax.lax.all_gather(B, "X", axis=0, tiled=True)
    if best == "scatter":
        C = A[:, : J // N] @ B
        return jax.lax.psum_scatter(C, "X", scatter_dimension=0, tiled=True)
    B = jax.lax.all_to_all(B, "X", split_axis=1, concat_axis=0, tiled=True)
    return jax.lax.all_to_all(
        A @ B, "X", split_axis=0, concat_axis=1, tiled=True
    )


# %% cheapest wrong: the first rows of A for everybody
def cheapest(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    (I, J), K = A.shape, B.shape[1]
    ways = {"gather": J * N, "scatter": I * N, "turn": I + J}
    best = min(ways, key=ways.get)
    if best == "gather":
        return A[: I // N] @ jax.lax.all_gather(B, "X", axis=0, tiled=True)
    if best == "scatter":
        A = jax.lax.dynamic_slice_in_dim(A, me * (J // N), J // N, 1)
        return jax.lax.psum_scatter(A @ B, "X", scatter_dimension=0, tiled=True)
    B = jax.lax.all_to_all(B, "X", split_axis=1, concat_axis=0, tiled=True)
    return jax.lax.all_to_all(
        A @ B, "X", split_axis=0, concat_axis=1, tiled=True
    )


# %% cheapest wrong: the mean of terms
def cheapest(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    (I, J), K = A.shape, B.shape[1]
    ways = {"gather": J * N, "scatter": I * N, "turn": I + J}
    best = min(ways, key=ways.get)
    if best == "gather":
        A = jax.lax.dynamic_slice_in_dim(A, me * (I // N), I // N, 0)
        return A @ jax.lax.all_gather(B, "X", axis=0, tiled=True)
    if best == "scatter":
        A = jax.lax.dynamic_slice_in_dim(A, me * (J // N), J // N, 1)
        C = jax.lax.psum_scatter(A @ B, "X", scatter_dimension=0, tiled=True)
        return C / N
    B = jax.lax.all_to_all(B, "X", split_axis=1, concat_axis=0, tiled=True)
    return jax.lax.all_to_all(
        A @ B, "X", split_axis=0, concat_axis=1, tiled=True
    )


# %% cheapest wrong: split and join exchanged
def cheapest(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    (I, J), K = A.shape, B.shape[1]
    ways = {"gather": J * N, "scatter": I * N, "turn": I + J}
    best = min(ways, key=ways.get)
    if best == "gather":
        A = jax.lax.dynamic_slice_in_dim(A, me * (I // N), I // N, 0)
        return A @ jax.lax.all_gather(B, "X", axis=0, tiled=True)
    if best == "scatter":
        A = jax.lax.dynamic_slice_in_dim(A, me * (J // N), J // N, 1)
        return jax.lax.psum_scatter(A @ B, "X", scatter_dimension=0, tiled=True)
    B = jax.lax.all_to_all(B, "X", split_axis=0, concat_axis=1, tiled=True)
    return jax.lax.all_to_all(
        A @ B, "X", split_axis=1, concat_axis=0, tiled=True
    )


# %% cheapest wrong: columns of C, stacked to the shape of rows
def cheapest(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    (I, J), K = A.shape, B.shape[1]
    ways = {"gather": J * N, "scatter": I * N, "turn": I + J}
    best = min(ways, key=ways.get)
    if best == "gather":
        A = jax.lax.dynamic_slice_in_dim(A, me * (I // N), I // N, 0)
        return A @ jax.lax.all_gather(B, "X", axis=0, tiled=True)
    if best == "scatter":
        A = jax.lax.dynamic_slice_in_dim(A, me * (J // N), J // N, 1)
        return jax.lax.psum_scatter(A @ B, "X", scatter_dimension=0, tiled=True)
    B = jax.lax.all_to_all(B, "X", split_axis=1, concat_axis=0, tiled=True)
    return (A @ B).reshape(I // N, K)


# %% cheapest wrong: rows of C, with their columns in another order
def cheapest(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    (I, J), K = A.shape, B.shape[1]
    ways = {"gather": J * N, "scatter": I * N, "turn": I + J}
    best = min(ways, key=ways.get)
    if best == "gather":
        A = jax.lax.dynamic_slice_in_dim(A, me * (I // N), I // N, 0)
        return A @ jax.lax.all_gather(B, "X", axis=0, tiled=True)
    if best == "scatter":
        A = jax.lax.dynamic_slice_in_dim(A, me * (J // N), J // N, 1)
        return jax.lax.psum_scatter(A @ B, "X", scatter_dimension=0, tiled=True)
    B = jax.lax.all_to_all(B, "X", split_axis=1, concat_axis=0, tiled=True)
    C = jax.lax.all_to_all(A @ B, "X", split_axis=0, concat_axis=0, tiled=True)
    return C.reshape(N, I // N, K // N).transpose(1, 2, 0).reshape(I // N, K)


# %% cheapest right: by how much larger one is than the other
def cheapest(A, B):
    N = jax.lax.axis_size("X")
    I, J = A.shape
    if I >= (N - 1) * J:
        mine = jnp.stack(jnp.split(A, N))[jax.lax.axis_index("X")]
        return mine @ jax.lax.all_gather(B, "X").reshape(J, -1)
    if J >= (N - 1) * I:
        columns = A.reshape(I, N, J // N)[:, jax.lax.axis_index("X")]
        terms = (columns @ B).reshape(N, I // N, -1)
        return jax.lax.psum_scatter(terms, "X")
    pieces = jnp.stack(jnp.split(B, N, axis=1))
    columns = jax.lax.all_to_all(pieces, "X", 0, 0).reshape(J, -1)
    C = (A @ columns).reshape(N, I // N, -1)
    C = jax.lax.all_to_all(C, "X", 0, 0)
    return jnp.concatenate(list(C), axis=1)


# %% cheapest right: bytes in a list, products by einsum
def cheapest(A, B):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    (I, J), K = A.shape, B.shape[1]
    share = (N - 1) / N
    sent = [J * K * share, I * K * share, (I + J) * K / N * share]
    way = int(np.argmin(sent))
    if way == 0:
        whole = jax.lax.all_gather(B, "X", axis=0, tiled=True)
        rows = me * (I // N) + jnp.arange(I // N)
        return jnp.einsum("ij,jk->ik", A[rows], whole)
    if way == 1:
        columns = me * (J // N) + jnp.arange(J // N)
        C = jnp.einsum("ij,jk->ik", A[:, columns], B)
        return jax.lax.psum_scatter(C, "X", tiled=True)
    B = jax.lax.all_to_all(B, "X", 1, 0, tiled=True)
    C = jnp.einsum("ij,jk->ik", A, B)
    return jax.lax.all_to_all(C, "X", 0, 1, tiled=True)


# %% strategies wrong: bytes alone, in turn
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = D / 2
width = C * X / (W * (X - 1))
chips = D * W / (3 * C)
ratio = (M / W + M * K / C) / (K / W + M * K / (X * C))


# %% strategies wrong: the arithmetic of (2) forgotten
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = (2 * D / W) / (4 / W - 2 * D / C)
width = C * X / (W * (X - 1))
chips = D * W / (3 * C)
ratio = (M / W + M * K / C) / (K / W + M * K / (X * C))


# %% strategies wrong: a ReduceScatter in turn
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = (2 * D / W) / (2 / W - 2 * D / C * (1 - 1 / X))
width = C * X / (W * (X - 1))
chips = D * W / (3 * C)
ratio = (M / W + M * K / C) / (K / W + M * K / (X * C))


# %% strategies wrong: a sign lost
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = (2 * D / W) / (4 / W + 2 * D / C * (1 - 1 / X))
width = C * X / (W * (X - 1))
chips = D * W / (3 * C)
ratio = (M / W + M * K / C) / (K / W + M * K / (X * C))


# %% strategies wrong: an X-th for what is saved
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = (2 * D / W) / (4 / W - 2 * D / C / X)
width = C * X / (W * (X - 1))
chips = D * W / (3 * C)
ratio = (M / W + M * K / C) / (K / W + M * K / (X * C))


# %% strategies wrong: the width of full overlap, as in the chapter
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
width = C / W
chips = D * W / (3 * C)
ratio = (M / W + M * K / C) / (K / W + M * K / (X * C))


# %% strategies wrong: the width of an AllReduce
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
width = 2 * C * X / (W * (X - 1))
chips = D * W / (3 * C)
ratio = (M / W + M * K / C) / (K / W + M * K / (X * C))


# %% strategies wrong: a multiply-add is one
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
width = C * X / (2 * W * (X - 1))
chips = D * W / (3 * C)
ratio = (M / W + M * K / C) / (K / W + M * K / (X * C))


# %% strategies wrong: the width with its factor below
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
width = C * (X - 1) / (W * X)
chips = D * W / (3 * C)
ratio = (M / W + M * K / C) / (K / W + M * K / (X * C))


# %% strategies wrong: the width of an X-th
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
width = C * X / W
chips = D * W / (3 * C)
ratio = (M / W + M * K / C) / (K / W + M * K / (X * C))


# %% strategies wrong: the width upside down
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
width = W * (X - 1) / (C * X)
chips = D * W / (3 * C)
ratio = (M / W + M * K / C) / (K / W + M * K / (X * C))


# %% strategies wrong: chips of full overlap, as in the chapter
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
width = C * X / (W * (X - 1))
chips = D * W / C
ratio = (M / W + M * K / C) / (K / W + M * K / (X * C))


# %% strategies wrong: chips of an AllReduce
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
width = C * X / (W * (X - 1))
chips = D * W / (6 * C)
ratio = (M / W + M * K / C) / (K / W + M * K / (X * C))


# %% strategies wrong: chips of an AllReduce with full overlap
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
width = C * X / (W * (X - 1))
chips = D * W / (2 * C)
ratio = (M / W + M * K / C) / (K / W + M * K / (X * C))


# %% strategies wrong: three quarters for the wires
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
width = C * X / (W * (X - 1))
chips = 3 * D * W / C
ratio = (M / W + M * K / C) / (K / W + M * K / (X * C))


# %% strategies wrong: chips upside down
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
width = C * X / (W * (X - 1))
chips = 3 * C / (D * W)
ratio = (M / W + M * K / C) / (K / W + M * K / (X * C))


# %% strategies wrong: a quarter is a quarter of arithmetic
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
width = C * X / (W * (X - 1))
chips = D * W / (4 * C)
ratio = (M / W + M * K / C) / (K / W + M * K / (X * C))


# %% strategies wrong: three quarters of the wires' time
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
width = C * X / (W * (X - 1))
chips = 4 * D * W / (3 * C)
ratio = (M / W + M * K / C) / (K / W + M * K / (X * C))


# %% strategies wrong: the ratio of bytes
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
width = C * X / (W * (X - 1))
chips = D * W / (3 * C)
ratio = M / K


# %% strategies wrong: the ratio upside down
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
width = C * X / (W * (X - 1))
chips = D * W / (3 * C)
ratio = (K / W + M * K / (X * C)) / (M / W + M * K / C)


# %% strategies wrong: all arithmetic for both
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
width = C * X / (W * (X - 1))
chips = D * W / (3 * C)
ratio = (M / W + M * K / C) / (K / W + M * K / C)


# %% strategies wrong: a share of the arithmetic for both
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
width = C * X / (W * (X - 1))
chips = D * W / (3 * C)
ratio = (M / W + M * K / (X * C)) / (K / W + M * K / (X * C))


# %% strategies wrong: the ratio to an AllReduce
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
width = C * X / (W * (X - 1))
chips = D * W / (3 * C)
ratio = (M / W + M * K / C) / (2 * K / W + M * K / (X * C))


# %% strategies wrong: the ratio to a sum of B
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
tokens = (2 * D / W) / (4 / W - 2 * D / C * (1 - 1 / X))
width = C * X / (W * (X - 1))
chips = D * W / (3 * C)
ratio = (N * M / W + N * M * K / C) / (M * K / W + N * M * K / (X * C))


# %% strategies right: solved by SymPy
B, D, F, X, C, W = sympy.symbols("B D F X C W", positive=True)
N, M, K = sympy.symbols("N M K", positive=True)
one = 2 * D * F / W + 2 * B * D * F / C
two = 2 * 2 * B * F / W + 2 * B * D * F / C / X
three = 2 * B * F / W + 2 * B * D * F / C / X
[tokens] = sympy.solve(one - two, B)
[width] = sympy.solve(sympy.diff(one - three, B), D)
[chips] = sympy.solve(2 * B * D * F / C / X - 3 * three / 4, X)
math = 2 * N * M * K / C
ratio = (2 * N * M / W + math) / (2 * N * K / W + math / X)


# %% strategies right: as text
tokens = "D / (2 - D*W*(X - 1)/(C*X))"
width = "C/W/(1 - 1/X)"
chips = "D/(C/W)/3"
ratio = "X*M*(C + K*W)/(K*(X*C + M*W))"


# %% lines wrong: rings
I, J, K, X, Y = sympy.symbols("I J K X Y", positive=True)
C, link_bw = sympy.symbols("C link_bw", positive=True)
sums = I * K * (Y - 1) / (X * Y * link_bw) * 2
training = J * K * (X - 1) / (X * Y * link_bw)
inference = 0
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: an AllReduce that moves half of it, on rings
I, J, K, X, Y = sympy.symbols("I J K X Y", positive=True)
C, link_bw = sympy.symbols("C link_bw", positive=True)
sums = I * K * (Y - 1) / (X * Y * link_bw)
training = 2 * J * K * (X - 1) / (X * Y * link_bw)
inference = 0
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: the weights on rings
I, J, K, X, Y = sympy.symbols("I J K X Y", positive=True)
C, link_bw = sympy.symbols("C link_bw", positive=True)
sums = 4 * I * K * (Y - 1) / (X * Y * link_bw)
training = J * K * (X - 1) / (X * Y * link_bw)
inference = 0
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: limits of many chips
I, J, K, X, Y = sympy.symbols("I J K X Y", positive=True)
C, link_bw = sympy.symbols("C link_bw", positive=True)
sums = 4 * I * K / (X * link_bw)
training = 2 * J * K / (Y * link_bw)
inference = 0
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: the limit of many chips, of the weights alone
I, J, K, X, Y = sympy.symbols("I J K X Y", positive=True)
C, link_bw = sympy.symbols("C link_bw", positive=True)
sums = 4 * I * K * (Y - 1) / (X * Y * link_bw)
training = 2 * J * K / (Y * link_bw)
inference = 0
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: whole arrays, as if the other axis did not cut
I, J, K, X, Y = sympy.symbols("I J K X Y", positive=True)
C, link_bw = sympy.symbols("C link_bw", positive=True)
sums = 4 * I * K * (Y - 1) / (Y * link_bw)
training = 2 * J * K * (X - 1) / (X * Y * link_bw)
inference = 0
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: whole weights, as if the other axis did not cut
I, J, K, X, Y = sympy.symbols("I J K X Y", positive=True)
C, link_bw = sympy.symbols("C link_bw", positive=True)
sums = 4 * I * K * (Y - 1) / (X * Y * link_bw)
training = 2 * J * K * (X - 1) / (X * link_bw)
inference = 0
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: the second gathers A
I, J, K, X, Y = sympy.symbols("I J K X Y", positive=True)
C, link_bw = sympy.symbols("C link_bw", positive=True)
sums = 4 * I * K * (Y - 1) / (X * Y * link_bw)
training = 2 * I * J * (X - 1) / (X * link_bw)
inference = 0
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: the gather of J by J
I, J, K, X, Y = sympy.symbols("I J K X Y", positive=True)
C, link_bw = sympy.symbols("C link_bw", positive=True)
sums = 4 * I * K * (Y - 1) / (X * Y * link_bw)
training = 2 * J * J * (X - 1) / (X * Y * link_bw)
inference = 0
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: an AllReduce of the weights
I, J, K, X, Y = sympy.symbols("I J K X Y", positive=True)
C, link_bw = sympy.symbols("C link_bw", positive=True)
sums = 4 * I * K * (Y - 1) / (X * Y * link_bw)
training = 4 * J * K * (X - 1) / (X * Y * link_bw)
inference = 0
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: the sum of A
I, J, K, X, Y = sympy.symbols("I J K X Y", positive=True)
C, link_bw = sympy.symbols("C link_bw", positive=True)
sums = 4 * I * J * (Y - 1) / (X * Y * link_bw)
training = 2 * J * K * (X - 1) / (X * Y * link_bw)
inference = 0
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: the sum of B
I, J, K, X, Y = sympy.symbols("I J K X Y", positive=True)
C, link_bw = sympy.symbols("C link_bw", positive=True)
sums = 4 * J * K * (Y - 1) / (Y * Y * link_bw)
training = 2 * J * K * (X - 1) / (X * Y * link_bw)
inference = 0
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: the lines exchanged
I, J, K, X, Y = sympy.symbols("I J K X Y", positive=True)
C, link_bw = sympy.symbols("C link_bw", positive=True)
sums = 4 * I * K * (X - 1) / (X * X * link_bw)
training = 2 * J * K * (X - 1) / (X * Y * link_bw)
inference = 0
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: the number of blocks of the other line
I, J, K, X, Y = sympy.symbols("I J K X Y", positive=True)
C, link_bw = sympy.symbols("C link_bw", positive=True)
sums = 4 * I * K * (X - 1) / (X * Y * link_bw)
training = 2 * J * K * (X - 1) / (X * Y * link_bw)
inference = 0
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: the gather over the other line
I, J, K, X, Y = sympy.symbols("I J K X Y", positive=True)
C, link_bw = sympy.symbols("C link_bw", positive=True)
sums = 4 * I * K * (Y - 1) / (X * Y * link_bw)
training = 2 * J * K * (Y - 1) / (Y * Y * link_bw)
inference = 0
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: the blocks of the other line, of the weights
I, J, K, X, Y = sympy.symbols("I J K X Y", positive=True)
C, link_bw = sympy.symbols("C link_bw", positive=True)
sums = 4 * I * K * (Y - 1) / (X * Y * link_bw)
training = 2 * J * K * (Y - 1) / (X * Y * link_bw)
inference = 0
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: inference gathers, too
I, J, K, X, Y = sympy.symbols("I J K X Y", positive=True)
C, link_bw = sympy.symbols("C link_bw", positive=True)
sums = 4 * I * K * (Y - 1) / (X * Y * link_bw)
training = 2 * J * K * (X - 1) / (X * Y * link_bw)
inference = training
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: inference moves C
I, J, K, X, Y = sympy.symbols("I J K X Y", positive=True)
C, link_bw = sympy.symbols("C link_bw", positive=True)
sums = 4 * I * K * (Y - 1) / (X * Y * link_bw)
training = 2 * J * K * (X - 1) / (X * Y * link_bw)
inference = 2 * I * K * (Y - 1) / (X * Y * link_bw)
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: the rule of rings for the length
I, J, K, X, Y = sympy.symbols("I J K X Y", positive=True)
C, link_bw = sympy.symbols("C link_bw", positive=True)
sums = 4 * I * K * (Y - 1) / (X * Y * link_bw)
training = 2 * J * K * (X - 1) / (X * Y * link_bw)
inference = 0
least_length = C * Y / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: the limit for the length
I, J, K, X, Y = sympy.symbols("I J K X Y", positive=True)
C, link_bw = sympy.symbols("C link_bw", positive=True)
sums = 4 * I * K * (Y - 1) / (X * Y * link_bw)
training = 2 * J * K * (X - 1) / (X * Y * link_bw)
inference = 0
least_length = 2 * C * Y / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: the length of a single half
I, J, K, X, Y = sympy.symbols("I J K X Y", positive=True)
C, link_bw = sympy.symbols("C link_bw", positive=True)
sums = 4 * I * K * (Y - 1) / (X * Y * link_bw)
training = 2 * J * K * (X - 1) / (X * Y * link_bw)
inference = 0
least_length = C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: the length by the other axis
I, J, K, X, Y = sympy.symbols("I J K X Y", positive=True)
C, link_bw = sympy.symbols("C link_bw", positive=True)
sums = 4 * I * K * (Y - 1) / (X * Y * link_bw)
training = 2 * J * K * (X - 1) / (X * Y * link_bw)
inference = 0
least_length = 2 * C * (X - 1) / link_bw
least_tokens = C * (X - 1) / link_bw


# %% lines wrong: the tokens of rings
I, J, K, X, Y = sympy.symbols("I J K X Y", positive=True)
C, link_bw = sympy.symbols("C link_bw", positive=True)
sums = 4 * I * K * (Y - 1) / (X * Y * link_bw)
training = 2 * J * K * (X - 1) / (X * Y * link_bw)
inference = 0
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * X / (2 * link_bw)


# %% lines wrong: the tokens by the other axis
I, J, K, X, Y = sympy.symbols("I J K X Y", positive=True)
C, link_bw = sympy.symbols("C link_bw", positive=True)
sums = 4 * I * K * (Y - 1) / (X * Y * link_bw)
training = 2 * J * K * (X - 1) / (X * Y * link_bw)
inference = 0
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (Y - 1) / link_bw


# %% lines wrong: tokens for each chip
I, J, K, X, Y = sympy.symbols("I J K X Y", positive=True)
C, link_bw = sympy.symbols("C link_bw", positive=True)
sums = 4 * I * K * (Y - 1) / (X * Y * link_bw)
training = 2 * J * K * (X - 1) / (X * Y * link_bw)
inference = 0
least_length = 2 * C * (Y - 1) / link_bw
least_tokens = C * (X - 1) / X / link_bw


# %% lines right: solved by SymPy, and simplified
I, J, K, X, Y = sympy.symbols("I J K X Y", positive=True)
C, link_bw = sympy.symbols("C link_bw", positive=True)
V = 2 * I / X * K
sums = sympy.simplify(2 * V * (1 - 1 / Y) / link_bw)
training = sympy.simplify(2 * J * K / Y * (1 - 1 / X) / link_bw)
inference = sympy.Integer(0)
math = 2 * I * J * K / (X * Y * C)
[least_length] = sympy.solve(math - sums, J)
[least_tokens] = sympy.solve(math - training, I)


# %% lines right: as text
sums = "(Y - 1)*4*I*K/X/Y/link_bw"
training = "(2*J*K/Y - 2*J*K/(X*Y))/link_bw"
inference = 0.0
least_length = "2*(C*Y - C)/link_bw"
least_tokens = "(X - 1)/(link_bw/C)"


# %% round_trip wrong: the sum sets out with its rows
def round_trip(In, W_in, W_out):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]

    def term(x):
        return jnp.maximum(x @ W_in, 0) @ W_out

    x, total = In, term(In)
    for _ in range(N - 1):
        x = jax.lax.ppermute(x, "X", onward)
        total = jax.lax.ppermute(total, "X", onward) + term(x)
    return jax.lax.ppermute(total, "X", onward)


# %% round_trip wrong: the last hop is missing
def round_trip(In, W_in, W_out):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]

    def term(x):
        return jnp.maximum(x @ W_in, 0) @ W_out

    x, total = In, None
    for _ in range(N - 1):
        x = jax.lax.ppermute(x, "X", onward)
        if total is None:
            total = term(x)
        else:
            total = jax.lax.ppermute(total, "X", onward) + term(x)
    return total + term(In)


# %% round_trip wrong: the own term is left out
def round_trip(In, W_in, W_out):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]

    def term(x):
        return jnp.maximum(x @ W_in, 0) @ W_out

    x, total = In, None
    for _ in range(N - 1):
        x = jax.lax.ppermute(x, "X", onward)
        if total is None:
            total = term(x)
        else:
            total = jax.lax.ppermute(total, "X", onward) + term(x)
    return jax.lax.ppermute(total, "X", onward)


# %% round_trip wrong: the own term counts twice
def round_trip(In, W_in, W_out):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]

    def term(x):
        return jnp.maximum(x @ W_in, 0) @ W_out

    x, total = In, None
    for _ in range(N - 1):
        x = jax.lax.ppermute(x, "X", onward)
        if total is None:
            total = term(x)
        else:
            total = jax.lax.ppermute(total, "X", onward) + term(x)
    return jax.lax.ppermute(total, "X", onward) + 2 * term(In)


# %% round_trip wrong: sums go the other way
def round_trip(In, W_in, W_out):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]

    def term(x):
        return jnp.maximum(x @ W_in, 0) @ W_out

    back = [(chip, (chip - 1) % N) for chip in range(N)]
    x, total = In, None
    for _ in range(N - 1):
        x = jax.lax.ppermute(x, "X", onward)
        if total is None:
            total = term(x)
        else:
            total = jax.lax.ppermute(total, "X", back) + term(x)
    return jax.lax.ppermute(total, "X", back) + term(In)


# %% round_trip wrong: a gather and a scatter
def round_trip(In, W_in, W_out):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]

    def term(x):
        return jnp.maximum(x @ W_in, 0) @ W_out

    x = jax.lax.all_gather(In, "X", axis=0, tiled=True)
    return jax.lax.psum_scatter(term(x), "X", scatter_dimension=0, tiled=True)


# %% round_trip wrong: rows come one by one, and the sum is made at the end
def round_trip(In, W_in, W_out):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]

    def term(x):
        return jnp.maximum(x @ W_in, 0) @ W_out

    x, terms = In, [term(In)]
    for _ in range(N - 1):
        x = jax.lax.ppermute(x, "X", onward)
        terms.append(term(x))
    total = terms[1]  # the rows of the chip before
    for hop in range(2, N):
        total = jax.lax.ppermute(total, "X", onward) + terms[hop]
    return jax.lax.ppermute(total, "X", onward) + terms[0]


# %% round_trip wrong: max after the sum
def round_trip(In, W_in, W_out):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]

    def term(x):
        return jnp.maximum(x @ W_in, 0) @ W_out

    x, total = In, None
    for _ in range(N - 1):
        x = jax.lax.ppermute(x, "X", onward)
        if total is None:
            total = x @ W_in @ W_out
        else:
            total = jax.lax.ppermute(total, "X", onward) + x @ W_in @ W_out
    total = jax.lax.ppermute(total, "X", onward) + In @ W_in @ W_out
    return jnp.maximum(total, 0)


# %% round_trip wrong: no max
def round_trip(In, W_in, W_out):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]

    def term(x):
        return jnp.maximum(x @ W_in, 0) @ W_out

    x, total = In, None
    for _ in range(N - 1):
        x = jax.lax.ppermute(x, "X", onward)
        if total is None:
            total = x @ W_in @ W_out
        else:
            total = jax.lax.ppermute(total, "X", onward) + x @ W_in @ W_out
    return jax.lax.ppermute(total, "X", onward) + In @ W_in @ W_out


# %% round_trip wrong: two pieces in one message
def round_trip(In, W_in, W_out):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]

    def term(x):
        return jnp.maximum(x @ W_in, 0) @ W_out

    x, total = In, jnp.zeros_like(In)
    for _ in range(N - 1):
        x, total = jax.lax.ppermute(jnp.stack([x, total]), "X", onward)
        total = total + term(x)
    return jax.lax.ppermute(total, "X", onward) + term(In)


# %% round_trip wrong: a sum of nothing travels first
def round_trip(In, W_in, W_out):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]

    def term(x):
        return jnp.maximum(x @ W_in, 0) @ W_out

    x, total = In, jnp.zeros_like(In)
    for _ in range(N - 1):
        x = jax.lax.ppermute(x, "X", onward)
        total = jax.lax.ppermute(total, "X", onward) + term(x)
    return jax.lax.ppermute(total, "X", onward) + term(In)


# %% round_trip wrong: weights go round
def round_trip(In, W_in, W_out):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]

    def term(x):
        return jnp.maximum(x @ W_in, 0) @ W_out

    total = term(In)
    for _ in range(N - 1):
        W_in = jax.lax.ppermute(W_in, "X", onward)
        W_out = jax.lax.ppermute(W_out, "X", onward)
        total = total + jnp.maximum(In @ W_in, 0) @ W_out
    return total


# %% round_trip wrong: straight home from each chip
def round_trip(In, W_in, W_out):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]

    def term(x):
        return jnp.maximum(x @ W_in, 0) @ W_out

    x, total = In, term(In)
    for hop in range(1, N):
        home = [(chip, (chip - hop) % N) for chip in range(N)]
        x = jax.lax.ppermute(x, "X", onward)
        total = total + jax.lax.ppermute(term(x), "X", home)
    return total


# %% round_trip wrong: adds its own rows at every stop
def round_trip(In, W_in, W_out):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]

    def term(x):
        return jnp.maximum(x @ W_in, 0) @ W_out

    x, total = In, None
    for _ in range(N - 1):
        x = jax.lax.ppermute(x, "X", onward)
        if total is None:
            total = term(x)
        else:
            total = jax.lax.ppermute(total, "X", onward) + term(In)
    return jax.lax.ppermute(total, "X", onward) + term(In)


# %% round_trip wrong: each chip's own rows alone
def round_trip(In, W_in, W_out):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]

    def term(x):
        return jnp.maximum(x @ W_in, 0) @ W_out

    return term(In)


# %% round_trip right: a loop that JAX runs
def round_trip(In, W_in, W_out):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]

    def term(x):
        return jnp.maximum(x @ W_in, 0) @ W_out

    def hop(carried, _):
        x, total = carried
        x = jax.lax.ppermute(x, "X", onward)
        return (x, term(x) + jax.lax.ppermute(total, "X", onward)), None

    x = jax.lax.ppermute(In, "X", onward)
    carried = x, term(x)
    (_, total), _ = jax.lax.scan(hop, carried, length=N - 2)
    return term(In) + jax.lax.ppermute(total, "X", onward)


# %% round_trip right: sums first, and rows sent on before they are multiplied
def round_trip(In, W_in, W_out):
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    onward = [(chip, (chip + 1) % N) for chip in range(N)]

    def term(x):
        return jnp.maximum(x @ W_in, 0) @ W_out

    x = jax.lax.ppermute(In, "X", onward)
    total = jnp.zeros_like(In)
    for hop in range(N - 1):
        ahead = x
        if hop < N - 2:
            ahead = jax.lax.ppermute(x, "X", onward)
        total = jnp.add(total, term(x))
        total = jax.lax.ppermute(total, "X", onward)
        x = ahead
    return total + term(In)


# %% round_trip equivalent: line 8: `jnp.maximum(x @ W_in, 0)` with its arguments reversed
# The larger of two numbers is the same in either order.


# %% biased wrong: three devices, however many there are
def biased(A, B, D, E, b):
    size = B.shape[1] // 3
    start = jax.lax.axis_index("X") * size
    C = A @ B + D @ E
    own = jax.lax.dynamic_slice_in_dim(C, start, size, 1) + b
    C = jax.lax.dynamic_update_slice_in_dim(C, own, start, 1)
    C = jax.lax.psum_scatter(C, "X", scatter_dimension=0, tiled=True)
    return jnp.maximum(C, 0)


# %% biased wrong: its piece of the bias on the first columns
def biased(A, B, D, E, b):
    C = (A @ B + D @ E).at[:, : b.size].add(b)
    C = jax.lax.psum_scatter(C, "X", scatter_dimension=0, tiled=True)
    return jnp.maximum(C, 0)


# %% biased wrong: a step of one column from device to device
def biased(A, B, D, E, b):
    start = jax.lax.axis_index("X")
    C = A @ B + D @ E
    own = jax.lax.dynamic_slice_in_dim(C, start, b.size, 1) + b
    C = jax.lax.dynamic_update_slice_in_dim(C, own, start, 1)
    C = jax.lax.psum_scatter(C, "X", scatter_dimension=0, tiled=True)
    return jnp.maximum(C, 0)


# %% biased wrong: the bias in place of terms
def biased(A, B, D, E, b):
    start = jax.lax.axis_index("X") * b.size
    C = A @ B + D @ E
    own = jnp.broadcast_to(b, (len(C), b.size))
    C = jax.lax.dynamic_update_slice_in_dim(C, own, start, 1)
    C = jax.lax.psum_scatter(C, "X", scatter_dimension=0, tiled=True)
    return jnp.maximum(C, 0)


# %% narrow wrong: one sum after the other
wide, tall = ["", "XY"], ["XY", ""]
cuts = dict(In=wide, W_in=tall, W_out=wide, Out=wide)


def narrow(In, W_in, W_out):
    return jax.lax.psum(jax.lax.psum(In @ W_in, "X"), "Y") @ W_out


# %% narrow wrong: gathers the terms
wide, tall = ["", "XY"], ["XY", ""]
cuts = dict(In=wide, W_in=tall, W_out=wide, Out=wide)


def narrow(In, W_in, W_out):
    return jax.lax.all_gather(In @ W_in, ("X", "Y")).sum(0) @ W_out


# %% narrow wrong: In moves over X, and the middle over Y
wide = ["", "YX"]
cuts = dict(In=wide, W_in=["Y", "X"], W_out=["X", "Y"], Out=wide)


def narrow(In, W_in, W_out):
    In = jax.lax.all_gather(In, "X", axis=1, tiled=True)
    Out = jax.lax.psum(In @ W_in, "Y") @ W_out
    return jax.lax.psum_scatter(Out, "X", scatter_dimension=1, tiled=True)


# %% done wrong: whole seconds
def done(hops, product):
    there, free = 0.0, product
    for hop in hops:
        there += hop
        free = max(free, there) + product
    return int(free)


# %% done wrong: products alone
def done(hops, product):
    return (len(hops) + 1) * product


# %% partial wrong: both places added
def partial(A, B, x, y, X, Y):
    width = A.shape[1] // (X * Y)
    first = (x + y) * width
    own = slice(first, first + width)
    return A[:, own] @ B[own]


# %% gathers wrong: what a device has before
def gathers(I, J, K, X, Y):
    A, B, C = 2 * I * J, 2 * J * K, 2 * I * K
    sent = {
        "": C * (1 - 1 / (X * Y)),
        "A": A * (X - 1) / X + C * (Y - 1) / Y,
        "B": B * (Y - 1) / Y + C * (X - 1) / X,
        "AB": A * (X - 1) / X + B * (Y - 1) / Y,
    }
    had = {
        "": C / (X * Y),
        "A": A / X + C / Y,
        "B": B / Y + C / X,
        "AB": A / X + B / Y,
    }
    best = min(sent, key=sent.get)
    return [best, had[best]]
