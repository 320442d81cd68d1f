"""Set 13, context parallelism: what moves, waits and is held.

Attention is compared with NumPy's on one chip, in float64, with every pair of
tokens looked at; work is pairs, counted one by one; traffic is counted in the
programs handed in, or in programs that are written here and traced; rings and
their turns are simulated hop by hop.
"""

from fractions import Fraction
from functools import cache
from math import inf

import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax
from jax.sharding import AbstractMesh, AxisType

from shardlab import count, hw, ring
from shardlab.checks import compare, program, question, student
from shardlab.checks.question import WrongAnswer

__all__ = [
    "check_decode",
    "check_fastest",
    "check_gathered",
    "check_longest",
    "check_order",
    "check_ulysses",
    "check_waits",
    "check_way_back",
    "check_windowed",
    "grade_decode",
    "grade_fastest",
    "grade_gathered",
    "grade_longest",
    "grade_order",
    "grade_ulysses",
    "grade_waits",
    "grade_way_back",
    "grade_windowed",
]

TOKENS = P(None, "X")


def _seed(draw):
    """A seed for the arrays of one case."""
    return int(draw.integers(2**31))


# --- attention on one chip ---------------------------------------------------


def _heads(K, H, order="repeat"):
    """K[..., G, d] with a key head for each of H query heads."""
    copies = H // K.shape[-2]
    if order == "repeat":
        return np.repeat(K, copies, axis=-2)
    return np.concatenate([K] * copies, axis=-2)


def _attention(Q, K, V, seen, order="repeat", scale=None, masked=-inf):
    """Attention in float64 of Q[b, T, H, d] to what `seen[T, S]` allows."""
    H, d = Q.shape[2:]
    Q, K, V = (np.asarray(x, float) for x in (Q, K, V))
    K, V = _heads(K, H, order), _heads(V, H, order)
    S = np.einsum("bthd,bshd->bhts", Q, K) * (d**-0.5 if scale is None else 1)
    S = np.where(seen, S, masked)
    with np.errstate(invalid="ignore"):
        weights = np.exp(S - S.max(-1, keepdims=True))
        weights = weights / weights.sum(-1, keepdims=True)
    return np.einsum("bhts,bshd->bthd", weights, V)


def _tensors(seed, *sizes):
    """Queries, keys and values in float32.

    Queries and keys are small whole numbers, whose scores stay exact; values
    have more digits than bf16, float16 or int8 hold: what is sent in half of
    the bytes does not arrive.
    """
    draw, (*few, values) = np.random.default_rng(seed), sizes
    arrays = [draw.integers(-3, 4, size) for size in few]
    arrays.append(draw.integers(-99_999, 100_000, values) / 2**15)
    return [x.astype(np.float32) for x in arrays]


def _likely(*pairs):
    """The pairs whose numbers are all finite."""
    return [(x, words) for x, words in pairs if np.isfinite(x).all()]


# --- 1: one token, many blocks -----------------------------------------------


def _blocks(q, K, V, here, order="repeat"):
    """Attention of q[H, d] to each device's rows alone, and their numbers."""
    S, found = len(K) // len(here), []
    for n, used in enumerate(here):
        rows = slice(n * S, n * S + used)
        if used:
            seen = np.ones((1, used), bool)
            one = (q[None, None], K[None, rows], V[None, rows], seen, order)
            found.append((_attention(*one)[0, 0], used))
    return found


def _added(whole, here):
    """Blocks whose numerators add up, each with a maximum of its own."""
    Q, K, V = (np.asarray(x, float)[0] for x in whole)
    S = np.einsum("thd,shd->hs", Q, _heads(K, Q.shape[1])) * Q.shape[2] ** -0.5
    rows, total, Out = len(K) // len(here), 0, 0
    for n, used in enumerate(here):
        at = slice(n * rows, n * rows + used)
        top = S[:, at].max(1, initial=-inf, keepdims=True)
        weights = np.exp(S[:, at] - top)
        total = total + weights.sum(1)[:, None]
        values = _heads(V[at], Q.shape[1])
        Out = Out + np.einsum("hs,shd->hd", weights, values)
    return Out / total


@question.visible(
    "decode",
    (4, 6, 6, 3, 4, (6, 2, 0, 5)),
    (3, 5, 4, 2, 16, (1, 5, 4)),
)
def check_decode(N, S, H, G, d, here, seed=0):
    """Question 1: attention of one token to keys on N devices, S rows each.

    H, G, d  query heads, key heads, elements of a head
    here     rows in use on each device
    seed     of the arrays
    """
    q, K, V = _tensors(seed, (H, d), (N * S, G, d), (N * S, G, d))
    q *= np.where(np.arange(H) % 2, 64, 0.25).astype(np.float32)[:, None]
    q[:, 0], K[..., 0] = 0, 8
    q[0, 0] = -75 * d**0.5  # all scores of this head are about -600
    unused = np.arange(N * S) % S >= np.repeat(here, S)
    V[unused] += 50
    asked = f"decode on {N} devices, {list(here)} rows in use"
    cut = P("X")
    request = program.request(
        *(q, K, V, np.asarray(here, np.int32)),
        mesh={"X": N},
        in_specs=(P(), cut, cut, cut),
        out_specs=P(),
    )
    answer = _summed_program("decode", request)
    if answer.gathered(of=(1, 2)) > 0:
        raise WrongAnswer(
            f"{asked}: you gather keys or values; they stay where they are"
        )
    answer.allow("psum")
    got = answer.run(q, K, V, np.asarray(here, np.int32))
    _finite_heads(asked, got, here)
    compare.close(
        asked,
        got,
        _attention(q[None, None], K[None], V[None], ~unused[None])[0, 0],
        rel=1e-4,
        likely=_mistaken_decodes(q, K, V, here, unused),
        show=True,
    )
    answer.at_most(volume=2 * 4 * (H * d + 2 * H))


def _summed_program(name, request):
    """A student's program that may sum over chips, and must not gather."""
    try:
        return student.program(name, request)
    except WrongAnswer as error:
        gather, said = 'a gather says so with to="invarying"', str(error)
        if gather not in said:
            raise
        words = "numerators and denominators both, and nothing is gathered"
        raise WrongAnswer(said.replace(gather, words)) from None


def _finite_heads(asked, got, here):
    """Say which heads of Out[H, d] are no finite numbers, and ask why."""
    if not isinstance(got, np.ndarray) or got.ndim != 2:
        return
    bad = np.flatnonzero(~np.isfinite(got).all(1)).tolist()
    if not bad:
        return
    why = (
        "exp of a score in the hundreds is too large, and all of them are 0 "
        "if a maximum far above is subtracted"
    )
    if len(bad) == len(got) and 0 in here:
        chip = list(here).index(0)
        why = f"chip {chip} has no rows in use: which maximum does it subtract?"
    raise WrongAnswer(f"{asked}: heads {bad} are no finite numbers; {why}")


def _mistaken_decodes(q, K, V, here, unused):
    """What decoding by mistake gives, with the mistakes."""
    parts = _blocks(q, K, V, here)
    whole = (q[None, None], K[None], V[None])
    used = np.array([used for _, used in parts])
    each = np.array([Out for Out, _ in parts])
    mean = np.tensordot(used / used.sum(), each, 1)
    R, S = q.shape[0] // K.shape[1], len(K) // len(here)
    unread = [
        V[n * S :][:S].mean(0) for n, n_used in enumerate(here) if not n_used
    ]
    unread = sum((np.repeat(x, R, 0) for x in unread), np.zeros(q.shape))
    every = np.ones((1, len(K)), bool)
    valid = ~unused[None]
    rows = np.arange(len(K)) % (len(K) // len(here))
    one_more = (rows <= np.repeat(here, len(K) // len(here)))[None]
    return _likely(
        (
            _added(whole, here),
            "you add up what chips have subtracted different maxima from",
        ),
        (each.mean(0), "you take the mean of blocks, whatever they weigh"),
        (
            each.sum(0) / len(here),
            "you take the mean of blocks, whatever they weigh",
        ),
        (
            (each.sum(0) + unread) / len(here),
            "you take the mean of chips, even of those without rows",
        ),
        (each.sum(0), "you add results that were divided by their own sums"),
        (mean, "you weigh a block by its rows; its sum of exp is its weight"),
        (_attention(*whole, every)[0, 0], "you read rows that are not in use"),
        (
            _attention(*whole, one_more)[0, 0],
            "you read one row more than is in use",
        ),
        *(
            (
                _attention(*whole, valid, masked=masked)[0, 0],
                "rows that are not in use weigh more than those that are, "
                "whose scores of head 0 are about -600",
            )
            for masked in (-500, -300, -100, -50, -10, 0)
        ),
        (
            _attention(*whole, valid, "tile")[0, 0],
            "your query heads read other key heads",
        ),
        (
            _attention(*whole, valid, scale=1)[0, 0],
            "scores are divided by the square root of d",
        ),
    )


def grade_decode():
    """Question 1 with other devices and rows."""
    for N, d in ((2, 4), (8, 4), (5, 16)):
        draw = question.draw(f"decode on {N}")
        S, G, R = (int(n) for n in draw.integers(2, 6, 3))
        here = draw.integers(0, S + 1, N)
        here[int(draw.integers(N))] = S
        here[int(draw.integers(1, N)) - 1] = 0
        here[-1] = max(here[-1], 1)
        check_decode(N, S, R * G, G, d, tuple(here.tolist()), _seed(draw))


# --- 2: a ring with a window -------------------------------------------------

WINDOW = 12


@question.visible(
    "windowed",
    (4, 2, 5, 6, 2, 4),
    (3, 1, 11, 3, 3, 16),
    (2, 1, 5, 2, 1, 4, 0, False),
)
def check_windowed(N, b, t, H, G, d, seed=0, run=True):
    """Question 2: ring attention on N chips to the last 12 tokens.

    b, t     sequences, and tokens of each on one chip
    H, G, d  query heads, key heads, elements of a head
    seed     of the arrays
    run      whether to compare results, and not only what travels
    """
    T = N * t
    arrays = _tensors(seed, (b, T, H, d), (b, T, G, d), (b, T, G, d))
    sizes = np.where(np.arange(H) % 2, 64, 0.25).astype(np.float32)
    arrays[0] *= sizes[:, None]
    asked = f"windowed on {N} chips of {t} tokens"
    request = program.request(
        *arrays, mesh={"X": N}, in_specs=(TOKENS,) * 3, out_specs=TOKENS
    )
    answer = student.program("windowed", request)
    answer.allow("ppermute")
    ahead = np.arange(T)[:, None] - np.arange(T)
    right = (ahead >= 0) & (ahead < WINDOW)
    if run:
        _right_window(asked, answer.run(*arrays), arrays, ahead, t)
    block = 2 * arrays[1].nbytes // N
    _few_hops(asked, answer.sent() / block, _farthest(right, t))
    if answer.gathered() > 2 * block:
        raise WrongAnswer(
            f"{asked}: you hold {answer.gathered() // block} blocks of other "
            "chips at a time, and two are enough: one at work, one arriving"
        )


def _right_window(asked, got, arrays, ahead, t):
    """Compare attention to the last tokens with NumPy's."""

    def place(i, token, *_):
        return f"sequence {i}, chip {token // t}, its query {token % t}"

    right = (ahead >= 0) & (ahead < WINDOW)
    model, likely = _attention(*arrays, right), []
    if np.shape(got) == model.shape and not np.isfinite(got).all():
        where = np.argwhere(~np.isfinite(got))[0]
        raise WrongAnswer(
            f"{asked}: {place(*where)}, head {where[2]} is no finite number"
        )
    if np.shape(got) == model.shape and not np.allclose(got, model, 1e-5, 1e-5):
        likely = _mistaken_windows(arrays, ahead, right, t)
    compare.close(
        asked, got, model, rel=1e-4, likely=likely, show=True, place=place
    )


def _farthest(seen, t):
    """How many chips away the farthest key is that a query sees."""
    queries, keys = np.nonzero(seen)
    return int((queries // t - keys // t).max())


def _few_hops(asked, sent, needed):
    """Insist that keys and values go no farther than they are seen."""
    if sent > needed:
        raise WrongAnswer(
            f"{asked}: each chip sends {sent:g} blocks of keys and values; "
            f"enough are {needed}: who of the others sees a block?"
        )


def _mistaken_windows(arrays, ahead, right, t):
    """What a wrong mask or a wrong order of heads gives, with the mistakes."""
    T = len(ahead)
    chip = np.arange(T) // t
    home = (chip[:, None] - chip) % (T // t)
    wrapped = (chip[:, None] - home) * t + np.arange(T) % t
    off = np.arange(T)[:, None] - wrapped
    own = (np.arange(T) % t)[:, None] - np.arange(T) % t
    hops, later = _farthest(right, t), (chip - chip[:, None]) % (T // t)
    backward = (own + later * t >= 0) & (own + later * t < WINDOW)
    backward &= (later <= hops) & (chip[:, None] >= later)
    future = "your tokens see tokens of the future"
    masks = (
        (ahead >= 0, "your tokens see all of the past, not the last 12"),
        (abs(ahead) < WINDOW, future),
        ((ahead < WINDOW) & (chip[:, None] >= chip), future),
        ((ahead < WINDOW) & (home <= hops), future),
        ((off < WINDOW) & (home <= hops), future),
        (
            backward,
            "your keys go round the other way: those that arrive are of a "
            "later chip, and you take them for an earlier one's",
        ),
        (np.ones_like(right), "you mask nothing"),
        ((ahead >= 0) & (ahead <= WINDOW), "your window has 13 tokens"),
        ((ahead >= 0) & (ahead < WINDOW - 1), "your window has 11 tokens"),
        (
            right & (chip[:, None] == chip),
            "your tokens see those of their own chip only",
        ),
        *(
            (
                right & (chip[:, None] - chip <= far),
                f"your keys make {far} hop{'s' * (far > 1)}, and some are seen "
                "farther away",
            )
            for far in range(1, hops)
        ),
        (
            (off >= 0) & (off < WINDOW),
            "blocks that come round from the end of the sequence are of the "
            "future, and you take them for the past",
        ),
        (
            (own >= 0) & (own < WINDOW),
            "you number tokens from 0 on each chip",
        ),
        *(
            (
                (own >= 0) & (own < WINDOW) & (home <= hops) & come,
                "you number tokens from 0 on each chip",
            )
            for come in (True, chip[:, None] >= chip)
        ),
    )
    return _likely(
        *((_attention(*arrays, mask), words) for mask, words in masks),
        (
            _unshrunk(*arrays, right, t),
            "when the maximum rises, what was added up before has to shrink",
        ),
        (
            _unshrunk(*arrays, right, t, shrink=0.5),
            "what was added up before shrinks by what the maximum rises, "
            "exp(old - new), and not by half",
        ),
        (
            _summed(*arrays, right, t),
            "you add results of blocks that were divided, each by its own sum",
        ),
        *(
            (
                mean,
                "you take the mean of blocks; each weighs as much as its sum "
                "of exp",
            )
            for mean in _averaged(*arrays, right, t)
        ),
        *(
            (
                _attention(
                    *arrays,
                    right,
                    masked=np.where(home <= hops, float(masked), -inf),
                ),
                "masked scores weigh more than those that are seen, which go "
                "into the hundreds below 0",
            )
            for masked in (-300, -100, -50, -10, 0)
        ),
        *(
            (heads, "your query heads read other key heads")
            for heads in _tiled(*arrays, right)
        ),
        (
            _attention(*arrays, right, scale=1),
            "scores are divided by the square root of d",
        ),
    )


def _tiled(Q, K, V, right):
    """Heads that read key head h % G, left in their order and not."""
    tiled = _attention(Q, K, V, right, "tile")
    by_key = tiled.reshape(*Q.shape[:2], -1, K.shape[2], Q.shape[3])
    return tiled, by_key.swapaxes(2, 3).reshape(Q.shape)


def _by_turns(right, t):
    """What is seen in each turn of a ring that stops when nothing is."""
    chip = np.arange(len(right)) // t
    for turn in range(len(right) // t):
        seen = right & (chip[:, None] - chip == turn)
        if seen.any():
            yield seen


def _summed(Q, K, V, right, t):
    """Results of blocks added up as they are."""
    found = [_attention(Q, K, V, seen) for seen in _by_turns(right, t)]
    return sum(np.nan_to_num(Out) for Out in found)


def _averaged(Q, K, V, right, t):
    """Means of blocks: of those that each token sees, and one by one."""
    blocks = [_attention(Q, K, V, seen) for seen in _by_turns(right, t)]
    yield np.nanmean(blocks, axis=0)
    Out = blocks[0]
    for block in blocks[1:]:
        Out = np.where(np.isnan(block), Out, (Out + block) / 2)
    yield Out


def _unshrunk(Q, K, V, right, t, shrink=1):
    """Blocks merged with a maximum that rises, and a wrong shrinking."""
    H, d = Q.shape[2:]
    Q, K, V = (np.asarray(x, float) for x in (Q, K, V))
    K, V = _heads(K, H), _heads(V, H)
    scores = np.einsum("bthd,bshd->bhts", Q, K) * d**-0.5
    top, total, Out = -inf, 0, 0
    for seen in _by_turns(right, t):
        S = np.where(seen, scores, -inf)
        top = np.maximum(top, S.max(-1, keepdims=True))
        weights = np.exp(S - top)
        total = shrink * total + weights.sum(-1, keepdims=True)
        Out = shrink * Out + np.einsum("bhts,bshd->bhtd", weights, V)
    return np.moveaxis(Out / total, 1, 2)


def grade_windowed():
    """Question 2 on other rings."""
    for N, t in ((8, 4), (5, 13), (2, 12), (6, 2)):
        draw = question.draw(f"windowed on {N}")
        b, G, R = (int(n) for n in draw.integers(1, 4, 3))
        check_windowed(N, b, t, R * G, G, 4, _seed(draw))


# --- 3: who waits ------------------------------------------------------------


def _pairs(shards):
    """Pairs that each chip computes in each turn: array [turn, chip].

    shards   for each chip its tokens, by number; a token sees those before
             it and itself
    """
    N = len(shards)
    return np.array(
        [
            [
                int((shards[c][:, None] >= shards[(c - turn) % N]).sum())
                for c in range(N)
            ]
            for turn in range(N)
        ]
    )


def _idle(shards):
    """The share of the chips' time that they wait, in lockstep."""
    work = _pairs(shards)
    most = int(work.max(axis=1).sum())
    return 1 - Fraction(int(work.sum()), most * len(shards))


def _waits_in_a_row(N, t):
    """Idle share when each chip has t tokens that follow each other."""
    return _idle(np.arange(N * t).reshape(N, t))


def _waits_striped(N, t):
    """Idle share when chip c has the tokens c, c + N, c + 2N, ..."""
    return _idle(np.arange(N * t).reshape(t, N).T)


@question.visible("waits", ([(2, 3), (5, 4), (7, 2), (3, 8)],))
def check_waits(points):
    """Question 3: two idle shares, at points (N, t)."""
    points = [tuple(point) for point in points]
    compare.formula(
        "in_a_row",
        student.expression("in_a_row"),
        "N t",
        _waits_in_a_row,
        points,
        likely=[
            (
                "(N - 1)/(2*N - 1)",
                "you take a diagonal block for half a block; a token sees "
                "itself, too",
            ),
            (
                "(N - 1)/(2*N)",
                "that is the share of masked blocks; a diagonal block does not "
                "take as long as a whole one",
            ),
            ("(N*t - 1)/(2*N*t)", "that is the share of masked pairs"),
            ("1/2", "the own block keeps every chip busy"),
            (
                "N*t/(2*N*t - t + 1) + 1/(2*N*t - t + 1)",
                "that is the busy share",
            ),
            ("100*(N - 1)*t/((2*N - 1)*t + 1)", "a share, and no percent"),
            ("(N - 1)/N", "yours is the first chip's in all turns"),
            (
                "(N - 1)*t/((2*N - 1)*t - 1)",
                "a token sees itself: t (t + 1) / 2 pairs on the diagonal",
            ),
        ],
    )
    compare.formula(
        "striped",
        student.expression("striped"),
        "N t",
        _waits_striped,
        points,
        likely=[
            (
                "0",
                "with its own keys or an earlier chip's a block has its "
                "diagonal, with a later chip's not: t pairs less",
            ),
            (
                "(N - 1)/(2*N*t)",
                "each turn lasts as long as for its busiest chip",
            ),
            (
                "(t - 1)/(2*t)",
                "you let a masked half of a block take time; all blocks are "
                "triangles here",
            ),
            ("100*(N - 1)/(N*(t + 1))", "a share, and no percent"),
            ("1/(t + 1)", "in the first turn all see themselves"),
            ("(N*t + 1)/(N*t + N)", "that is the busy share"),
            (
                "(N - 1)*t/((2*N - 1)*t + 1)",
                "that is of tokens that follow each other",
            ),
        ],
    )


def grade_waits():
    """Question 3 at other points."""
    draw = question.draw("waits")
    check_waits(
        [
            (N, int(draw.integers(1, 12)))
            for N in (2, 4, 6, 8, int(draw.integers(9, 13)))
        ]
    )


# --- 4: documents ------------------------------------------------------------


def _work(order, lengths, N):
    """Pairs that each chip computes in each turn, documents kept apart."""
    document = np.repeat(np.arange(len(lengths)), lengths)
    token = np.arange(len(document))
    seen = (document[:, None] == document) & (token[:, None] >= token)
    shards = np.reshape(order, (N, -1))
    return np.array(
        [
            [
                int(seen[np.ix_(shards[c], shards[(c - turn) % N])].sum())
                for c in range(N)
            ]
            for turn in range(N)
        ]
    )


def _zigzag(T, N):
    """Tokens 0 to T - 1 in zig-zag over N chips, as if one document."""
    pieces = np.array_split(np.arange(T), 2 * N)
    pairs = [(pieces[c], pieces[2 * N - 1 - c]) for c in range(N)]
    return np.concatenate([part for pair in pairs for part in pair]).tolist()


def _placed(order, lengths):
    """Whether these are the numbers of all tokens, each once."""
    whole = all(isinstance(each, int) for each in order)
    return whole and sorted(order) == list(range(sum(lengths)))


@question.visible("order", ([18, 6, 36], 3), ([8, 24, 16], 2), ([40], 4))
def check_order(lengths, N):
    """Question 4: an order of tokens in which no chip waits for another."""
    asked = f"order({lengths}, {N})"
    got = compare.entries(asked, student.call("order", lengths, N), None)
    if len(got) != sum(lengths):
        reason = f"expected {sum(lengths)} tokens, got {len(got)}"
        compare.wrong(asked, got, reason)
    if not _placed(got, lengths):
        reason = f"expected the numbers 0 to {sum(lengths) - 1}, each once"
        compare.wrong(asked, got, reason)
    work = _work(got, lengths, N)
    for turn, each in enumerate(work.tolist()):
        if len(set(each)) > 1:
            most, least = int(np.argmax(each)), int(np.argmin(each))
            raise WrongAnswer(
                f"{asked}{_known_order(got, lengths, N)}: in turn {turn} chip "
                f"{most} has {each[most]} pairs to compute and chip {least} "
                f"has {each[least]}"
            )


def _known_order(order, lengths, N):
    """What an order that does not balance is, if it is a well-known one."""
    T = sum(lengths)
    striped = np.arange(T).reshape(-1, N).T.ravel().tolist()
    texts = np.split(np.arange(T), np.cumsum(lengths)[:-1])
    runs = [np.split(text, N) for text in texts]
    follow = [text[_zigzag(len(text), N)] for text in texts]
    for known, words in (
        (list(range(T)), " leaves the tokens as they are"),
        (_zigzag(T, N), " is zig-zag as if there were one document"),
        (striped, " is striped; a later chip's stripe sees more"),
        (
            np.concatenate([run[c] for c in range(N) for run in runs]),
            " cuts each document in order: a later chip's tokens see more",
        ),
        (
            np.concatenate(follow),
            f" puts one document after another: chip 0 has the first {T // N} "
            "of all tokens, not a share of each document",
        ),
    ):
        if list(map(str, order)) == list(map(str, known)):
            return words
    turned = _work(np.argsort(order), lengths, N)
    if N > 2 and (np.ptp(turned, axis=1) == 0).all():
        return " says where each token goes, not which comes next"
    return ""


def grade_order():
    """Question 4 with other documents."""
    draw = question.draw("order")
    for N in (2, 3, 4, 5):
        few = int(draw.integers(2, 6))
        lengths = 2 * N * draw.integers(1, 5, few)
        check_order(lengths.tolist(), N)


# --- 5: everything gathered --------------------------------------------------


def _mesh(N):
    """A mesh of N chips that do not exist."""
    return AbstractMesh((N,), ("X",), (AxisType.Auto,))


def _counted(body, N, *shapes):
    """Bytes that a chip sends in a local function of bf16 arrays."""
    mapped = jax.shard_map(
        body, mesh=_mesh(N), in_specs=TOKENS, out_specs=TOKENS
    )
    arrays = (jax.ShapeDtypeStruct(shape, jnp.bfloat16) for shape in shapes)
    return count.sent(count.collectives(mapped, *arrays))


def _gather_pieces(*pieces):
    """Keys and values, gathered piece by piece."""
    return [lax.all_gather(x, "X", axis=1, tiled=True) for x in pieces]


def _scatter_pieces(*pieces):
    """Gradients of keys and values, added up and dealt piece by piece."""
    return [
        lax.psum_scatter(x, "X", scatter_dimension=1, tiled=True)
        for x in pieces
    ]


@cache
def _gathered(b, T, d, N, pieces):
    """Bytes sent forward and backward, counted, and held, moment by moment."""

    def arrays(heads, dtype):
        return [jax.ShapeDtypeStruct((b, T, heads, d), dtype)] * 2

    def sent(body, heads, dtype):
        spec = TOKENS if body is _gather_pieces else P()
        mapped = jax.shard_map(
            body,
            mesh=_mesh(N),
            in_specs=spec,
            out_specs=P() if body is _gather_pieces else TOKENS,
            check_vma=False,
        )
        moves = count.collectives(mapped, *arrays(heads, dtype))
        return int(count.sent(moves))

    def size(heads, dtype):
        return sum(x.size * x.dtype.itemsize for x in arrays(heads, dtype))

    keys, sums = jnp.bfloat16, jnp.float32
    moved, most, there = [0, 0], [0, 0], None
    for number in range(len(pieces)):  # forward
        there, heads = number, pieces[number]
        moved[0] += sent(_gather_pieces, heads, keys)
        most[0] = max(most[0], size(heads, keys))
    for number in reversed(range(len(pieces))):
        heads = pieces[number]
        if number != there:
            moved[1] += sent(_gather_pieces, heads, keys)
        moved[1] += sent(_scatter_pieces, heads, sums)
        most[1] = max(most[1], size(heads, keys) + size(heads, sums))
    return moved + most


SENT_AND_HELD = "sent forward", "sent backward", "held forward", "held backward"


@question.visible(
    "gathered",
    (3, 8192, 42, 128, 8, [2, 4, 1]),
    (5, 4096, 24, 64, 8, [1, 2, 2, 1]),
    (3, 960, 16, 32, 5, [8]),
)
def check_gathered(b, T, H, d, N, pieces):
    """Question 5: bytes sent and bytes held when keys are gathered."""
    how = (b, T, H, d, N, pieces)
    asked = f"gathered{how}"
    got = compare.numbers(asked, student.call("gathered", *how), 4)
    rights = _gathered(b, T, d, N, tuple(pieces))
    if got != rights and sorted(got) == sorted(rights):
        compare.wrong(
            asked,
            got,
            f"in another order; asked for are {', '.join(SENT_AND_HELD)}",
        )
    mistakes = _mistaken_sent(*how) + _mistaken_held(*how)
    for name, each, right, likely in zip(
        SENT_AND_HELD, got, rights, mistakes, strict=True
    ):
        compare.equal(
            f"{asked}, {name}",
            each,
            right,
            likely=[*likely, *_any_bytes(right, H, sum(pieces), b)],
        )


def _mistaken_sent(b, T, H, d, N, pieces):
    """Mistakes in bytes that a chip sends, forward and backward."""
    part, G = b * T * d // N, sum(pieces)  # elements of a key head
    first, last = pieces[0], pieces[-1]

    def sent(keys, sums):
        return 4 * part * keys * (N - 1) + 8 * part * sums * (N - 1)

    right = sent(G, 0), sent(G - last, G)
    anyway = [
        [
            (each * N // (N - 1), "a chip's own part stays where it is"),
            (each // (N - 1), "a chip's part goes to N - 1 others"),
            (each * N, "a chip sends its own tokens only"),
        ]
        for each in right
    ]
    backward = [
        (sent(G, G), "the last piece is still there from the forward pass"),
        (sent(G - first, G), "the piece that is kept is the last one"),
        (sent(G - max(pieces), G), "the piece that is kept is the last one"),
        (sent(G - last, G - last), "the last piece has gradients, too"),
        (sent(0, G), "all pieces but the last are gathered again"),
        (sent(G - last, 0), "gradients have to be scattered"),
        (sent(G - last, G / 2), "dK and dV go in float32"),
        (sent(G - last, 2 * G), "gradients are scattered, not AllReduced"),
    ]
    return [anyway[0], backward + anyway[1]]


def _mistaken_held(b, T, H, d, N, pieces):
    """Mistakes in bytes that a chip holds, forward and backward."""
    head, most = b * T * d, max(pieces)
    found = []
    for each in (4, 12):
        found.append(
            [
                (each * head * sum(pieces), "one piece is whole at a time"),
                (each * head * most // N, "whole sequences are held"),
                (
                    each * head * (most + pieces[-1]),
                    "nothing but a piece is held while another is gathered",
                ),
                *(
                    (each * head * heads, "a larger piece is held, too")
                    for heads in {*pieces, sum(pieces) // len(pieces)} - {most}
                ),
            ]
        )
    found[1] += [
        (4 * head * most, "the gradients of a piece are whole, too"),
        (8 * head * most, "K and V are there beside dK and dV"),
        (2 * 4 * head * most, "dK and dV are in float32"),
        (
            4 * head * pieces[-1] + 8 * head * most,
            "while dK and dV of the largest piece are made, its K and V are "
            "there",
        ),
    ]
    return found


def _any_bytes(right, H, G, b):
    """Mistakes that any number of bytes can show."""
    return [
        (right * H // G, "you count a key head for each query head"),
        (right // 2, "that is half of it; is a byte or an array missing?"),
        (right * 2, "that is twice as much; bf16 has two bytes"),
        (right // b, "there are b sequences"),
    ]


def grade_gathered():
    """Question 5 with other sizes."""
    draw = question.draw("gathered")
    for most in (1, 3, 5):
        t, N, R = (int(n) for n in draw.integers(2, 8, 3))
        pieces = draw.integers(1, 7, most)
        pieces[most // 2] = 7  # the largest, neither first nor last
        H = R * int(pieces.sum())
        b = int(draw.choice([3, 5, 7]))
        check_gathered(b, N * t, H, 16, N, pieces.tolist())


# --- 6: fewer key heads than chips -------------------------------------------


def _read(N, H, G):
    """The most key heads that the query heads of one chip read."""
    return max(_reads(N, H, G))


def _reads(N, H, G):
    """How many key heads the query heads of each chip read."""
    heads = np.repeat(np.arange(G), H // G).reshape(N, -1)
    return [len(set(row)) for row in heads.tolist()]


def _reader(N, H, G):
    """The first chip that reads most key heads."""
    return _reads(N, H, G).index(_read(N, H, G))


@question.visible(
    "ulysses",
    (4, 2, 2, 12, 6, 4),
    (3, 1, 2, 15, 5, 16),
)
def check_ulysses(N, b, t, H, G, d, seed=0):
    """Question 6: Ulysses on N chips whose heads do not divide.

    b, t     sequences, and tokens of each on one chip
    H, G, d  query heads, key heads, elements of a head
    seed     of the arrays
    """
    T = N * t
    arrays = _tensors(seed, (b, T, H, d), (b, T, G, d), (b, T, G, d))
    arrays[0] *= 0.25
    asked = f"ulysses on {N} chips, {H} and {G} heads"
    request = program.request(
        *arrays, mesh={"X": N}, in_specs=(TOKENS,) * 3, out_specs=TOKENS
    )
    answer = student.program("ulysses", request)
    if "all_gather" in answer.kinds():
        raise WrongAnswer(
            f"{asked}: you gather, and AllToAlls alone are enough, with fewer "
            "bytes: what of a gathered array does a chip never read?"
        )
    answer.allow("all_to_all")
    key = arrays[1].nbytes // G
    most = 2 * (arrays[0].nbytes + key * N * _read(N, H, G))
    dealt = answer.sent() * N**2 / (N - 1) / 2 - arrays[0].nbytes
    dealt = round(dealt / key / N, 1)
    if 0 < dealt < _read(N, H, G):
        raise WrongAnswer(
            f"{asked}: your AllToAlls bring each chip {dealt:g} key heads, and "
            f"chip {_reader(N, H, G)} reads {_read(N, H, G)}: which ones?"
        )
    got = answer.run(*arrays)
    right = _attention(*arrays, np.tril(np.ones((T, T), bool)))
    found = compare.real_array(asked, got, right.shape)
    if not compare.near(found, right, 1e-4 * abs(right).max()):
        _say_who_reads(asked, found, arrays)
    compare.close(
        asked,
        got,
        right,
        rel=1e-4,
        likely=_mistaken_masks(arrays),
        show=True,
        place=lambda i, token, head, *_: (
            f"sequence {i}, chip {token // t}, its query {token % t}, head "
            f"{head}"
        ),
    )
    if answer.sent() * N**2 > most * (N - 1):
        raise WrongAnswer(
            f"{asked}: each chip sends {answer.sent():,.0f} bytes, and "
            f"{most * (N - 1) // N**2:,} are enough: no chip reads more than "
            f"{_read(N, H, G)} key heads"
        )


def _say_who_reads(asked, got, arrays):
    """Name the first query head that reads the wrong head, if all read one."""
    Q, K, V = arrays
    T, H, G = *Q.shape[1:3], K.shape[2]
    causal, found = np.tril(np.ones((T, T), bool)), {}
    for k, v in np.ndindex(G, G):
        Out = _attention(Q, K[:, :, [k]], V[:, :, [v]], causal)
        same = np.isclose(got, Out, 1e-4, 1e-4).all((0, 1, 3))
        found.update(dict.fromkeys(np.flatnonzero(same).tolist(), (k, v)))
    if len(found) < H:
        return
    for h in range(H):
        if found[h] != (h * G // H,) * 2:
            k, v = found[h]
            raise WrongAnswer(
                f"{asked}: your query head {h} reads head {k} of K and {v} of "
                f"V, and it should read {h * G // H} of both"
            )


def _mistaken_masks(arrays):
    """What comes of wrong masks and scores, with the mistakes."""
    T = arrays[0].shape[1]
    causal = np.tril(np.ones((T, T), bool))
    return [
        (_attention(*arrays, causal | True), "your tokens see the future"),
        (
            _attention(*arrays, causal, scale=1),
            "scores are divided by the square root of d",
        ),
    ]


def grade_ulysses():
    """Question 6 on other chips."""
    for N, G, R in ((8, 2, 4), (2, 3, 2), (6, 4, 3), (4, 4, 2)):
        draw = question.draw(f"ulysses on {N} with {G}")
        b, t = (int(n) for n in draw.integers(1, 4, 2))
        check_ulysses(N, b, t, R * G, G, 4, _seed(draw))


# --- 7: the way back ---------------------------------------------------------


def _journey(N):
    """Hops of what is only read, and of sums, followed chip by chip."""
    met, reads = [{chip} for chip in range(N)], 0
    while any(len(blocks) < N for blocks in met):
        reads += 1
        for chip in range(N):
            met[chip].add((chip - reads) % N)
    sums, at, added = 0, 1 % N, {0, 1 % N}  # of chip 0, begun on the next one
    while at != 0:
        sums, at = sums + 1, (at + 1) % N
        added.add(at)
    if added != set(range(N)):
        raise ValueError(f"a sum must meet all chips of {N}, got {added}")
    return reads, sums


def _travels(b, t, H, G, d, N):
    """Bytes that a chip sends, by what travels: arrays, hop by hop."""
    shapes = {"K": (b, t, G, d), "V": (b, t, G, d)}
    shapes |= {"Q": (b, t, H, d), "dOut": (b, t, H, d)}
    shapes |= {"lse": (b, t, H), "mean": (b, t, H)}
    types = dict.fromkeys(("K", "V", "Q", "dOut"), np.dtype(jnp.bfloat16))

    def size(name):
        shape = shapes[name.removeprefix("sum of d")]
        return int(np.prod(shape)) * types.get(name, np.dtype("f4")).itemsize

    reads, sums = _journey(N)
    keys = sum(map(size, ("sum of dK", "sum of dV"))) * sums
    return [
        reads * sum(map(size, "KV")) + keys,
        keys,
        reads * sum(map(size, ("Q", "dOut", "lse", "mean")))
        + sums * size("sum of dQ"),
    ]


@question.visible(
    "way_back",
    (1, 1024, 40, 8, 128, 8),
    (3, 96, 6, 6, 32, 5),
    (5, 40, 4, 1, 16, 2),
)
def check_way_back(b, t, H, G, d, N):
    """Question 7: bytes that a chip sends in a ring's backward pass."""
    how = (b, t, H, G, d, N)
    asked = f"way_back{how}"
    got = compare.numbers(asked, student.call("way_back", *how), 3)
    key, query = 2 * b * t * G * d, 2 * b * t * H * d
    ways = ("K and V travel again", "K and V were kept", "queries travel")
    likely = (
        [
            (4 * key * (N - 1), "dK and dV are two sums, both in float32"),
            (
                3 * key * (N - 1),
                "there are K and V, dK and dV, and you count half of that",
            ),
            (5 * key * (N - 1), "K and V travel both, two bytes an element"),
            ((2 * key + 4 * key) * N, "no block makes N hops"),
            (
                2 * key * (N - 1) + 4 * key * N,
                "a sum that begins on the next chip is home after N - 1 hops",
            ),
            (2 * key * (N - 1), "that is K and V alone, or elements"),
            (8 * key * (N - 1), "K and V are bf16"),
            (
                (2 * query + 4 * key) * (N - 1),
                "keys and values have G heads, as their sums have",
            ),
            (6 * query * (N - 1), "keys, values and their sums have G heads"),
            (
                6 * key * (N - 1) // N,
                "a chip's own block is already an N-th of all keys",
            ),
            (2 * key * (N - 1) + 4 * key, "sums pass all chips on their way"),
        ],
        [
            (4 * key * N, "a sum is home after N - 1 hops"),
            (2 * key * (N - 1), "dK and dV are two sums, both in float32"),
            (6 * key * (N - 1), "K and V are there, and need not travel"),
            (0, "dK and dV are sums over all chips, and travel even so"),
            (2 * key * (N - 1) + key, "there are two sums"),
            (4 * key, "sums pass all chips on their way home"),
        ],
        [
            (4 * query * (N - 1), "lse and mean travel with each query"),
            (2 * query * (N - 1), "dQ is a sum, too, and travels"),
            (
                (2 * query + 8 * b * t * H) * (N - 1),
                "dQ is a sum, too, and travels",
            ),
            ((4 * query + 8 * b * t * H) * N, "no block makes N hops"),
            (
                (3 * query + 8 * b * t * H) * (N - 1),
                "Q and dOut are two arrays of bf16, and dQ is one of float32",
            ),
            (
                (5 * query + 8 * b * t * H) * (N - 1),
                "of bf16 there are Q and dOut, and nothing else",
            ),
            (
                (4 * query + 8 * b * t * H * d) * (N - 1),
                "lse and mean are one number each a head and token, not d",
            ),
            (
                (4 * query + 8 * b * t * G) * (N - 1),
                "lse and mean are of query heads, and there are H",
            ),
            (
                (4 * key + 8 * b * t * H) * (N - 1),
                "queries have H heads",
            ),
            (
                (4 * query + 4 * b * t * H) * (N - 1),
                "lse and mean are float32, one number each a head and token",
            ),
            (
                (2 * query + 8 * b * t * H) * (N - 1) + 2 * query * N,
                "a sum that begins on the next chip is home after N - 1 hops",
            ),
            (
                (4 * key + 8 * b * t * G) * (N - 1),
                "queries have H heads",
            ),
        ],
    )
    for way, each, right, mistakes in zip(
        ways, got, _travels(*how), likely, strict=True
    ):
        compare.equal(
            f"{asked}, {way}",
            each,
            right,
            likely=[
                *mistakes,
                *_any_bytes(right, H, G, b),
                (right // (N - 1), "that is one hop"),
                (right // (N - 1) * N, "no block makes N hops"),
                (right * N, "t are the tokens of one chip"),
            ],
        )


def grade_way_back():
    """Question 7 with other sizes."""
    draw = question.draw("way back")
    for N in (2, 3, 8):
        b, t, G, R = (int(n) for n in draw.integers(2, 9, 4))
        check_way_back(b, t, R * G, G, 8, N)


# --- 8: the longest context --------------------------------------------------

# Llama 3 report, arXiv 2407.21783, table 3; parameters counted from it.
LLAMA = {"L": 32, "D": 4096, "H": 32, "G": 8, "d": 128, "params": 8_030_261_248}
WORK = 250_000


def _held_tokens(scheme, T, N):
    """Key heads times tokens that a chip holds, by what each scheme lays out.

    returns  a whole number; None where heads cannot be dealt
    """
    H, G = LLAMA["H"], LLAMA["G"]
    if scheme == "ring":
        here, passing = T // N, T // N
        return (here + passing) * G
    if scheme == "gather":
        return T * G
    if H % N:
        return None
    chip_heads = range(H // N)
    return T * len({head * G // H for head in chip_heads})


def _fits(T, hbm, N, scheme):
    """Whether training at T tokens fits on N chips; the arrays of one chip."""
    held = _held_tokens(scheme, T, N)
    if held is None:
        return False
    states = Fraction(16 * LLAMA["params"], N)
    inputs = 2 * LLAMA["L"] * (T // N) * LLAMA["D"]
    keys = sum(2 * held * LLAMA["d"] for _ in ("K", "V", "dK", "dV"))
    return states + inputs + WORK * (T // N) + keys <= hbm


def _longest(hbm, N, scheme):
    """The most tokens that fit, a multiple of 2N, by trying."""
    low, high = 0, 1  # in units of 2N tokens
    while _fits(2 * N * high, hbm, N, scheme):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if _fits(2 * N * middle, hbm, N, scheme):
            low = middle
        else:
            high = middle
    return 2 * N * low


# A v5p slice 4x4x4, 8 nodes of H100, 4 nodes of H200, a whole pod of v5e.
@question.visible(
    "longest",
    (hw.V5P.hbm_bytes, 64, "ring"),
    (hw.V5P.hbm_bytes, 64, "gather"),
    (hw.H100.hbm_bytes, 64, "ring"),
    (hw.H100.hbm_bytes, 64, "ulysses"),
    (hw.H200.hbm_bytes, 32, "ulysses"),
    (hw.H200.hbm_bytes, 4, "ulysses"),
    (hw.V5E.hbm_bytes, 256, "gather"),
    (hw.V5E.hbm_bytes, 8, "ring"),
)
def check_longest(hbm, N, scheme):
    """Question 8: the longest context of LLaMA-3 8B on a machine."""
    asked = f"longest({hbm:g}, {N}, {scheme!r})"
    got = compare.whole_number(asked, student.call("longest", hbm, N, scheme))
    right = _longest(hbm, N, scheme)
    if not right:
        heads = LLAMA["H"] % N and scheme == "ulysses"
        why = "heads cannot be dealt to so many chips"
        why = why if heads else "16 bytes a parameter are too many"
        reason = f"nothing fits: {why}"
        compare.equal(asked, got, 0, likely=[(got, reason)] if got else [])
        return
    likely = _likely_lengths(hbm, N, scheme)
    likely.append((0, "something fits; FSDP cuts the states over all chips"))
    if got % (2 * N):
        likely.append((got, f"expected a multiple of 2N = {2 * N}"))
    fits = "more than fit" if got > right else "less than fit"
    likely.append((got, f"that is {fits}, all arrays counted"))
    compare.equal(asked, got, right, likely=likely)


def _likely_lengths(hbm, N, scheme):
    """Lengths that mistakes give, with the mistakes."""
    L, D, H, G, d, params = LLAMA.values()

    def length(states=16 * params / N, inputs=2 * L * D, keys=None, work=WORK):
        each = inputs + work + (ours if keys is None else keys)
        return int((hbm - states) // (2 * each)) * 2 * N

    ours = 8 * d * _held_tokens(scheme, N, N)
    return [
        (length(states=0), "weights, gradients and moments take room, too"),
        (length(states=16 * params), "FSDP cuts the states over all chips"),
        (length(states=2 * params / N), "training keeps 16 bytes a parameter"),
        (length(inputs=2 * D), "every layer keeps its input"),
        (length(inputs=L * D), "an element of bf16 has two bytes"),
        (length(work=0), "the layer at work takes room"),
        (length(work=L * WORK), "only one layer is at work at a time"),
        (
            length(keys=ours / 2 if scheme != "ring" else 8 * d * G),
            "a ring holds two blocks, each of K, V, dK and dV"
            if scheme == "ring"
            else "that is half of the four: K, V, dK and dV are held, of all "
            "key heads that a chip reads",
        ),
        (length(keys=0), "you forget keys and values"),
        (length(keys=ours * L), "keys of one layer are held at a time"),
        (
            length(keys=8 * d * G),
            "a chip has one key head at least, of the whole sequence"
            if scheme == "ulysses"
            else "you count the keys of a chip's own tokens",
        ),
        (length(keys=16 * d * G), "that is what a ring holds"),
        (length(keys=8 * d * G * N), "that is what a gather holds"),
        (length(keys=ours * H / G), "keys have G heads, not H"),
        (length(keys=8 * d * max(1, G // N)), "a chip holds all tokens of it"),
        (length() // N, "T are the tokens of all chips"),
        (length(keys=2 * ours), "K, V, dK and dV are bf16, and held once"),
        (length(keys=ours + 8 * d * G), "no chip holds a block more"),
        (length() + 2 * N, "those are 2N tokens more than fit"),
    ]


def grade_longest():
    """Question 8 on other machines."""
    draw = question.draw("longest")
    for chip in (hw.V6E, hw.A100, hw.B200):
        for scheme in ("ring", "gather", "ulysses"):
            N = 2 ** int(draw.integers(3, 8))
            check_longest(chip.hbm_bytes, N, scheme)
    check_longest(hw.V5P.hbm_bytes, 2 ** int(draw.integers(1, 4)), "ulysses")
    check_longest(hw.V5P.hbm_bytes, 48, "ulysses")
    check_longest(hw.H100.hbm_bytes, 24, "ring")
    each = 2 * LLAMA["L"] * LLAMA["D"] + WORK + 16 * LLAMA["G"] * LLAMA["d"]
    exact = LLAMA["params"] + 2 * int(draw.integers(9e3, 1e4)) * each
    check_longest(exact, 16, "ring")  # to the last byte


# --- 9: which of the three ---------------------------------------------------


def _alternative(kind, N, shape):
    """Bytes that a chip sends to gather or to exchange one array of bf16."""

    def gather(x):
        return lax.all_gather(x, "X", axis=1, tiled=True)[:, :1]

    def exchange(x):
        return lax.all_to_all(x, "X", split_axis=2, concat_axis=1, tiled=True)

    return _counted({"gather": gather, "exchange": exchange}[kind], N, shape)


def _moves(kind, N, shape, link_bw, torus):
    """Seconds to gather or exchange one array, simulated or counted."""
    size = 2 * int(np.prod(shape))
    if not torus:
        return _alternative(kind, N, shape) / link_bw
    run = {"gather": ring.all_gather, "exchange": ring.all_to_all}[kind]
    return run(size, N, link_bw=link_bw).seconds


def _turns(N, kernel, hop):
    """Seconds of a ring whose next block travels during each turn."""
    now, arrives = 0.0, 0.0
    for _ in range(N):
        begins = max(now, arrives)
        now, arrives = begins + kernel, begins + hop
    return now


@cache
def _seconds(T, H, G, d, N, flops, link_bw, torus, pause):
    """Seconds of each scheme, forward; infinity where it is impossible."""
    pairs = Fraction(T * T, 2)
    math = float(4 * pairs * H * d / N / Fraction(flops))
    block = 2 * 2 * (T // N) * G * d
    hop = block / (2 * link_bw if torus else link_bw)
    found = {"ring": _turns(N, math / N + pause, hop)}
    keys, queries = (1, T, G, d), (1, T, H, d)
    how = (link_bw, torus)
    found["gather"] = 2 * _moves("gather", N, keys, *how) + math + pause
    copied = (1, T, max(G, N), d)
    found["ulysses"] = inf
    if H % N == 0:
        moved = [_moves("exchange", N, x, *how) for x in (queries, copied)]
        found["ulysses"] = 2 * sum(moved) + math + pause
    return found


NODE = (hw.H100.flops, hw.H100.link_bw, False)
TORUS = (hw.V5P.flops, hw.V5P.link_bw, True)


@question.visible(
    "fastest",
    (3072, 24, 6, 128, 6, *NODE, 1e-5),
    (131_072, 32, 8, 128, 8, *NODE, 1e-5),
    (16_384, 12, 4, 128, 8, *NODE, 2e-5),
    (16_384, 32, 8, 128, 16, *TORUS, 5e-5),
    (16_384, 32, 32, 128, 16, *TORUS, 5e-5),
    (65_536, 32, 8, 128, 16, *TORUS, 1e-5),
    (4096, 16, 4, 128, 8, *NODE, 1e-5),
    (16_384, 32, 8, 128, 16, *TORUS, 1e-6),
)
def check_fastest(T, H, G, d, N, flops, link_bw, torus, pause):
    """Question 9: the fastest of the three, and its seconds."""
    how = (T, H, G, d, N, flops, link_bw, torus, pause)
    words = ", ".join(x if x is torus else f"{x:g}" for x in how[:7])
    asked = f"fastest({words}, {torus}, {pause:g})"
    got = compare.entries(asked, student.call("fastest", *how), 2)
    found = _seconds(*how)
    best = min(found, key=found.get)
    if not isinstance(got[0], str) or str(got[0]) not in found:
        compare.wrong(asked, got, f"expected one of {', '.join(found)} first")
    _right_seconds(asked, got, found[str(got[0])], how)
    if str(got[0]) != best:
        share = 1 - found[best] / found[str(got[0])]
        reason = f"these are its seconds, and another takes {share:.0%} less"
        compare.wrong(asked, got, reason)


def _right_seconds(asked, got, right, how):
    """Compare the seconds of the scheme that was chosen."""
    if right == inf:
        compare.wrong(asked, got, "its query heads cannot be dealt to N chips")
    likely = _likely_seconds(str(got[0]), *how)
    if isinstance(got[1], (int, float)) and got[1] != inf:
        size = "more" if got[1] > right else "less"
        likely.append((got[1], f"that is {size} than its steps take together"))
    compare.close(asked, got[1], right, likely=likely)


def _likely_seconds(name, T, H, G, d, N, flops, link_bw, torus, pause):
    """Seconds that mistakes give, with the mistakes."""
    math = 2 * T * T * H * d / N / flops
    W = 2 * link_bw if torus else link_bw
    keys, queries = 2 * T * G * d, 2 * T * H * d
    hop, kernel = 2 * keys / N / W, math / N + pause
    links = "a chip sends link_bw into a switch"
    if torus:
        links = "a chip has two links, link_bw each"

    def seconds(math=math, pause=pause, keys=keys, queries=queries, W=W):
        if name == "ring":
            turn = math / N + pause
            return turn + (N - 1) * max(turn, 2 * keys / N / W)
        if name == "gather":
            return 2 * keys * (N - 1) / N / W + math + pause
        moved = 2 * queries + 2 * keys * max(G, N) / G
        share = 1 / 4 if torus else (N - 1) / N**2
        return moved * share / W + math + pause

    pairs = [
        (seconds(math=2 * math), "half of all pairs are of the future"),
        (seconds(pause=0), "each call of the kernel has a pause"),
        (seconds(math=N * math), "the chips share the work"),
        (seconds(math=math / 2), "2 T^2 H d is of the seen half already"),
        (seconds(math=math * G / H), "the kernel works for H heads"),
        (seconds(math=math / N), "T is all of the sequence, cut once"),
        (seconds(math=0), "you leave out the arithmetic"),
        (
            seconds(W=W / 2),
            "that is half of the bandwidth or twice the bytes, which are two "
            f"an element; {links}",
        ),
        (
            seconds(W=2 * W),
            "that is twice the bandwidth or half of the bytes: K and V both "
            f"travel, two bytes an element; {links}",
        ),
        (seconds(keys=keys / 2), "keys and values travel, both"),
        (seconds(keys=keys * H / G), "keys and values have G heads"),
        (seconds(keys=2 * keys), "K and V go once, two bytes an element"),
    ]
    if name == "ring":
        return pairs + [
            (N * kernel + (N - 1) * hop, "the next block travels meanwhile"),
            (N * kernel, "some turns wait for their block"),
            (max(N * kernel, (N - 1) * hop), "the first turn hides one hop"),
            (N * max(kernel, hop), "in the last turn nothing travels"),
            (
                math / N + (N - 1) * max(math / N, hop) + pause,
                "the kernel is called in each turn",
            ),
            (
                seconds(pause=pause / N),
                "each of the N calls costs a whole pause",
            ),
            (
                math / N + (N - 1) * max(math / N, hop) + N * pause,
                "a call lasts as long as its pause and its work together, and "
                "the block travels during both",
            ),
        ]
    if name == "gather":
        return pairs + [
            (2 * keys / W + math + pause, "N - 1 parts of N arrive"),
            (max(2 * keys * (N - 1) / N / W, math + pause), NOT_HIDDEN),
            (2 * keys * (N - 1) / N / W + N * kernel, "the kernel runs once"),
        ]
    return _likely_exchanges(T, H, G, d, N, link_bw, torus, math, pause) + pairs


def _likely_exchanges(T, H, G, d, N, link_bw, torus, math, pause):
    """Seconds of Ulysses that mistakes give, with the mistakes."""
    W = 2 * link_bw if torus else link_bw
    keys, queries = 4 * T * G * d, 4 * T * H * d  # of two arrays
    copies, calls = keys * max(G, N) / G, math + pause
    switch, passed = (N - 1) / N**2, 1 / 4
    share, moved = passed if torus else switch, queries + copies
    return [
        (moved / N / W + calls, "a chip keeps an N-th of its part"),
        (
            (queries + keys) * share / W + calls,
            "G heads are fewer than N chips, and each chip needs one",
        ),
        (
            moved * switch / link_bw + calls,
            "that is behind a switch; a ring is used both ways at once, and "
            "its chips pass on what is not theirs",
        ),
        (
            moved * passed / (2 * link_bw) + calls,
            "that is on a ring; behind a switch nobody passes anything on",
        ),
        (max(moved * share / W, calls), NOT_HIDDEN),
        (moved * share / W + math + N * pause, "the kernel runs once"),
        (
            (queries / 2 + copies) * share / W + calls,
            "what comes out has to be turned back into tokens",
        ),
        (2 * queries * share / W + calls, "keys and values have G heads"),
        (moved * switch / W + calls, "on a ring chips pass on for others"),
        (moved * passed / W + calls, "a switch passes nothing on by chips"),
        (moved * (N - 1) / N / W + calls, "a chip has an N-th of it"),
    ]


NOT_HIDDEN = "here nothing can begin before all has arrived"


def grade_fastest():
    """Question 9 on other machines."""
    draw = question.draw("fastest")
    T = 1024 * int(draw.integers(8, 16))  # whose hops take longer than calls
    check_fastest(T, 32, 8, 128, 16, *TORUS, 1e-6)
    switch = (hw.B200.flops, hw.B200.link_bw, False)
    slab = (hw.V6E.flops, hw.V6E.link_bw, True)
    for N, machine in ((8, switch), (4, switch), (16, slab), (8, TORUS)):
        for _ in range(3):
            G, R = (2 ** int(n) for n in draw.integers(0, 4, 2))
            T = 1024 * 2 ** int(draw.integers(1, 8))
            pause = float(draw.choice([1e-5, 3e-5, 1e-4]))
            how = (T, G * R, G, 128, N, *machine, pause)
            first, second = sorted(_seconds(*how).values())[:2]
            if second > 1.001 * first:
                check_fastest(*how)
