"""Set 14, expert parallelism: who works on which token, and who waits.

Experts that are chosen are those that few others beat; queues are stood in,
token by token; programs are held against one device without slots, gradients
of a loss against differences of it, a bias against the visits that it brings.
Nodes are counted over all choices of experts, experts are dealt to chips in
every way there is, and bytes on a torus travel link by link.
"""

import math
import re
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations, product

import numpy as np
from jax import P

from shardlab import hw, models, ring
from shardlab.checks import compare, expression, program, question, student
from shardlab.checks.question import WrongAnswer

__all__ = [
    "check_balance",
    "check_balanced",
    "check_dealt",
    "check_design",
    "check_gates",
    "check_kept",
    "check_nodes",
    "check_step",
    "check_work",
    "grade_balance",
    "grade_balanced",
    "grade_dealt",
    "grade_design",
    "grade_gates",
    "grade_kept",
    "grade_nodes",
    "grade_step",
    "grade_work",
]

DEEPSEEK = models.model("deepseek-v3")


def _seed(draw):
    """A seed that a generator draws."""
    return int(draw.integers(2**31))


# --- 1: weights --------------------------------------------------------------


def _best(values, k):
    """Which k experts of each token fewer than k others beat."""
    chosen = np.zeros(values.shape, bool)
    for token, row in enumerate(values):
        for expert, value in enumerate(row):
            ahead = (row > value) | ((row == value) & (_before(row, expert)))
            chosen[token, expert] = ahead.sum() < k
    return chosen


def _before(row, expert):
    """Which entries of a row stand before one of them."""
    return np.arange(len(row)) < expert


def _shared(numbers, chosen):
    """Numbers of the chosen experts, divided by their sum; 0 for none."""
    kept = numbers * chosen
    total = kept.sum(axis=1, keepdims=True)
    return kept / np.where(total > 0, total, 1)


@question.visible("gates", (6, 4, 2), (7, 3, 3, 1), (5, 6, 1, 2))
def check_gates(B, E, C, seed=0):
    """Question 1: weights of tokens at the experts that take them.

    B, E  tokens, experts; two tokens are equally good for expert 1, and one
          token is taken by none
    C     tokens that an expert takes, less than B - 1
    seed  of the scores
    """
    draw = np.random.default_rng(seed)
    scores = draw.normal(size=(B, E)).round(3)
    scores += 0.0001 * np.arange(B * E).reshape(B, E)  # no two are equal
    scores[draw.integers(B)] -= 8
    order = np.argsort(-scores[:, 1])
    scores[order[C], 1] = scores[order[C - 1], 1]  # but these
    affinity = 1 / (1 + np.exp(-scores))
    taken = _best(affinity.T, C).T
    asked = f"gates of {B} tokens, {E} experts, C = {C}"
    got = student.call("gates", scores, C)
    if _has_nan(got):
        raise WrongAnswer(
            f"{asked}: 0 / 0 is no number; a token that no expert took has "
            "weight zero at all of them"
        )
    compare.close(
        asked,
        got,
        _shared(affinity, taken),
        rel=1e-5,
        likely=_mistaken_gates(scores, affinity, taken, C),
        show=True,
        place=lambda token, expert: f"token {token}, expert {expert}",
    )


def _has_nan(got):
    """Whether there is something in an answer that is no number."""
    try:
        return bool(np.isnan(np.asarray(got, float)).any())
    except (TypeError, ValueError, OverflowError):
        return False


def _mistaken_gates(scores, affinity, taken, C):
    """What mistakes of question 1 return, with the mistake."""
    E, kept = scores.shape[1], affinity * taken
    soft = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    by_tokens = _best(affinity, min(C, E))
    late = _best(affinity.T[:, ::-1], C)[:, ::-1].T
    ties = affinity >= np.sort(affinity, axis=0)[[-C]]
    nobody = ~taken.any(axis=1, keepdims=True)
    rescued = taken | (nobody & _best(affinity, 1))
    least = _best(-affinity.T, C).T
    return [
        (_shared(affinity, by_tokens), "you let tokens choose their experts"),
        (kept, "the weights of a token that is taken have to add up to 1"),
        (
            kept / kept.sum(axis=0),
            "you divide by the sum over an expert's tokens, not over a "
            "token's experts",
        ),
        (_shared(affinity, ties), "where two are equal an expert takes both"),
        (
            _shared(affinity, late),
            "where two are equal an expert takes the later token",
        ),
        (
            kept / affinity.sum(axis=1, keepdims=True),
            "you divide by the sum over all experts, not over those that took "
            "the token",
        ),
        (
            _shared(soft, _best(soft.T, C).T),
            "you take a softmax over experts; affinities are sigmoids",
        ),
        (soft * _best(soft.T, C).T, "you take a softmax"),
        (
            _shared(np.exp(scores), taken),
            "you weigh with a softmax; affinities are sigmoids",
        ),
        (_shared(scores, taken), "you weigh with scores, not affinities"),
        (
            _shared(affinity, rescued),
            "you give a token that nobody took to an expert; it gets none",
        ),
        (
            np.where(nobody, 1 / E, _shared(affinity, taken)),
            "you give a token that nobody took to all experts; it gets none",
        ),
        (_shared(taken, taken), "you weigh all experts of a token alike"),
        (
            _shared(affinity, least),
            "your experts take the tokens with the lowest affinity",
        ),
    ]


def grade_gates():
    """Question 1 with other tokens."""
    draw = question.draw("gates")
    for C in (1, 2, 3, 5):
        B, E = int(draw.integers(C + 3, 12)), int(draw.integers(2, 9))
        check_gates(B, E, C, _seed(draw))


# --- 2: who finds a slot -----------------------------------------------------


def _queue(B, k, groups, order, stride=False):
    """The visits of each group in the order in which they are served.

    stride  whether a group is every so many-th token, not consecutive ones
    """
    size = B // groups
    for group in range(groups):
        tokens = range(group * size, group * size + size)
        if stride:
            tokens = range(group, B, groups)
        if order == "tokens":
            yield [(t, c) for t in tokens for c in range(k)]
        else:
            yield [(t, c) for c in range(k) for t in tokens]


def _served(chosen, C, groups, order, **other):
    """What finds a slot when all stand in line.

    chosen, groups, order  as the question has them

    C        slots
    other    what is mistaken: "each", whether each choice has slots of its
             own; "drop", whether a token that was turned away once is not
             served again; "full", whether slots stay taken for the next
             group; "stride" as in `_queue`
    """
    kept = [[0] * len(chosen[0]) for _ in chosen]
    taken, away = Counter(), set()
    stride = other.get("stride", False)
    for line in _queue(len(chosen), len(chosen[0]), groups, order, stride):
        if not other.get("full"):
            taken = Counter()
        for token, choice in line:
            door = chosen[token][choice], choice if other.get("each") else 0
            left_out = other.get("drop") and token in away
            if taken[door] < C and not left_out:
                kept[token][choice] = 1
                taken[door] += 1
            else:
                away.add(token)
    return kept


def _tokens(B, E, k, seed):
    """Experts of each token, best first; low numbers are liked more."""
    draw = np.random.default_rng(seed)
    liked = draw.normal(size=(B, E)) - np.arange(E) / 3
    return np.argsort(-liked, axis=1)[:, :k].tolist()


@question.visible(
    "kept",
    (15, 4, 3, 0.75, 3, "choices", 1),
    (18, 5, 2, 1.5, 3, "choices", 4),
    (9, 5, 2, 1.25, 1, "tokens", 3),
    (10, 5, 2, 1.25, 1, "choices", 3),
    (15, 7, 2, 1.5, 3, "tokens", 2),
)
def check_kept(B, E, k, factor, groups, order, seed=0):
    """Question 2: which visits find a slot."""
    chosen = _tokens(B, E, k, seed)
    size, each = B // groups, k * B / groups / E
    mean = factor * each
    C, small = math.ceil(mean), math.ceil(factor * k * groups / E)
    other = {"tokens": "choices", "choices": "tokens"}[order]
    right = _served(chosen, C, groups, order)
    last = [row[::-1] for row in chosen[::-1]]
    last = [row[::-1] for row in _served(last, C, groups, order)[::-1]]
    whole = math.ceil(factor * k * B / E)
    rounded = {
        math.floor(mean),
        math.ceil(factor * math.ceil(each)),
        math.ceil(factor * math.floor(each)),
    }
    likely = [
        *(
            (
                _served(chosen, slots, groups, order),
                f"you give too {'few' if slots < C else 'many'} slots; factor "
                "times the mean is rounded up, once and at the end",
            )
            for slots in rounded
        ),
        (
            _served(chosen, C, groups, other),
            f"yours is the order {other!r}",
        ),
        (
            _served(chosen, C, 1, order),
            "each group has slots and a line of its own",
        ),
        (
            _served(chosen, C, groups, order, full=True),
            "each group has slots of its own; empty the counts",
        ),
        (
            _served(chosen, C, groups, order, stride=True),
            "groups are of consecutive tokens",
        ),
        (
            _served(chosen, small, size, order),
            "groups is how many there are, not how many tokens one has",
        ),
        (
            _served(chosen, whole, groups, order),
            "slots are counted for the tokens of a group, not of the batch",
        ),
        (
            _served(chosen, whole, 1, order),
            "you take all tokens for one group",
        ),
        (
            _served(chosen, math.ceil(mean / k), groups, order),
            "a token makes k visits, and all of them need slots",
        ),
        (_served(chosen, C + 1, groups, order), "you give a slot too many"),
        (
            _served(chosen, C, groups, order, each=True),
            "all choices of an expert share its slots",
        ),
        (
            _served(chosen, C, groups, order, drop=True),
            "a token that is turned away by one expert may still visit another",
        ),
        (
            [[int(all(row))] * k for row in right],
            "a visit is dropped, not all visits of its token",
        ),
        (last, "who comes first is served; yours serves the last"),
        ([[1 - x for x in row] for row in right], "yours are those dropped"),
    ]
    compare.equal(
        f"kept for {B} tokens, {E} experts, k = {k}, factor {factor}, "
        f"groups = {groups}, {order!r}",
        student.call("kept", chosen, E, factor, groups, order),
        right,
        likely=[pair for pair in likely if pair[0] != right],
        names=[
            f"row for token {t} (experts {c})" for t, c in enumerate(chosen)
        ],
    )


def grade_kept():
    """Question 2 with other tokens."""
    draw = question.draw("kept")
    for order in ("choices", "tokens"):
        for groups, factor in ((1, 1.0), (2, 1.25), (3, 0.5), (5, 1.5)):
            k, E = int(draw.integers(1, 4)), int(draw.integers(4, 9))
            B = groups * int(draw.integers(4, 9))
            check_kept(B, E, k, factor, groups, order, _seed(draw))
    check_kept(5, 4, 2, 1.0, 5, "choices")  # groups of one token


# --- 3: there and back -------------------------------------------------------


def _placed(devices, b, E, C, draw):
    """Places[devices * b, E, C] of tokens that visit two experts each."""
    Places = np.zeros((devices * b, E, C), np.float32)
    for d in range(devices):
        taken = Counter()
        for t in range(d * b, d * b + b):
            for e in draw.permutation(E)[:2].tolist():
                if taken[e] < C:
                    Places[t, e, taken[e]] = 1
                    taken[e] += 1
    return Places


def _alone(In, visits, Weight, W_in, W_out, dOut, least=0):
    """Out and gradients on one device, without slots, in float64.

    least  what a ReLU raises smaller numbers to; -np.inf takes it away
    """
    part = Weight * visits  # [B, E]
    Tmp = np.einsum("bd,edf->bef", In, W_in)
    hidden = np.maximum(Tmp, least)
    Out = np.einsum("be,bef,efd->bd", part, hidden, W_out)
    dhidden = np.einsum("be,bd,efd->bef", part, dOut, W_out)
    dTmp = dhidden * (Tmp > least)
    dIn = np.einsum("bef,edf->bd", dTmp, W_in)
    dW_in = np.einsum("bd,bef->edf", In, dTmp)
    dW_out = np.einsum("be,bef,bd->efd", part, hidden, dOut)
    return Out, dIn, dW_in, dW_out


NAMES = ("Out", "dIn", "dW_in", "dW_out")


@question.visible("step", (2, 3, 4, 4, 2, 5, 6), (4, 2, 3, 8, 1, 3, 5))
def check_step(X, Y, b, E, C, D, F, seed=0):
    """Question 3: a layer of experts and its gradients, on X times Y devices.

    X, Y  devices that share experts, and the hidden size of each
    b     tokens of each device
    E, C  experts, and slots of each for a device's tokens
    D, F  sizes; F is that of a device's part of an expert, and larger than
          X C, so that it takes more bytes to gather weights than slots
    seed  of tokens and weights
    """
    draw = np.random.default_rng(seed)
    Places = _placed(X * Y, b, E, C, draw)
    shapes = {
        "In": (X * Y * b, D),
        "Weight": (X * Y * b, E),
        "W_in": (E, D, F * Y),
        "W_out": (E, F * Y, D),
        "dOut": (X * Y * b, D),
    }
    x = {n: draw.normal(size=s).astype(np.float32) for n, s in shapes.items()}
    x["Weight"] = np.abs(x["Weight"]) + 0.1
    order = (x["In"], Places, x["Weight"], x["W_in"], x["W_out"], x["dOut"])
    tokens = P(("X", "Y"))
    weights = P("X", None, "Y"), P("X", "Y", None)
    request = program.request(
        *order,
        mesh={"X": X, "Y": Y},
        in_specs=(tokens, tokens, tokens, *weights, tokens),
        out_specs=(tokens, tokens, *weights),
    )
    asked = f"step on {X} x {Y} devices"
    answer = student.program("step", request)
    answer.allow("all_to_all", "all_gather", "psum_scatter")
    found = compare.entries(asked, answer.run(*order), 4)
    wide = [a.astype(float) for a in order]
    visits = Places.sum(axis=2).astype(float)
    model = _alone(wide[0], visits, *wide[2:])
    others = _mistaken_steps(wide, visits)
    terms = _terms(wide, visits, Y, b)
    others.append((terms, "over Y there are terms of a sum, not yet added up"))
    zeros = [0 * right for right in model]
    others.append((zeros, "yours is zero, whatever tokens there are"))
    if _astray(answer, order, found[0], model[0]):
        said = "what one token sends comes back to another; slots change places"
        others.append((found, said))
    elif _elsewhere(found[0], model[0], wide, visits):
        said = (
            "slots come to experts that they are not for; an AllToAll cuts the "
            "dimension of experts, and joins what comes along that of slots"
        )
        others.append((found, said))
    for number, name in enumerate(NAMES):
        compare.close(
            f"{asked}, {name}",
            np.asarray(found[number]),
            model[number],
            rel=1e-4,
            likely=[(other[number], said) for other, said in others],
            show=True,
            place=compare.on_devices(b) if number < 2 else None,
        )
    _check_traffic(asked, answer, X, Y, 4 * E * C * D)


def _astray(answer, order, Out, model):
    """Whether a wrong `step` gives to one token what comes of another."""
    if compare.near(Out, model, 1e-4 * np.abs(model).max()):
        return False
    # A layer with a ReLU and no biases gives 2 x where In is 2 x.
    by = 2.0 ** np.arange(len(model))[:, None]
    scaled = np.asarray(answer.run((order[0] * by).astype("f4"), *order[1:])[0])
    return not compare.near(scaled / by, Out, 1e-4 * np.abs(model).max())


def _elsewhere(Out, model, wide, visits):
    """Whether tokens get as many results as they should, of other experts."""
    if compare.near(Out, model, 1e-4 * np.abs(model).max()):
        return False
    In, _, Weight, W_in, W_out, _ = wide
    hidden = np.maximum(np.einsum("bd,edf->bef", In, W_in), 0)
    made = np.einsum("bef,efd->bed", hidden, W_out)  # by every expert
    slack = 1e-4 * np.abs(Weight[:, :, None] * made).max()
    for token, row in enumerate(visits):
        asked = np.flatnonzero(row)
        ways = (
            Weight[token, asked] @ made[token, list(experts)]
            for experts in product(range(len(row)), repeat=len(asked))
        )
        if not any(compare.near(Out[token], way, slack) for way in ways):
            return False
    return True


def _mistaken_steps(wide, visits):
    """Results of `step` that show a mistake, with the mistake."""
    In, _, Weight, W_in, W_out, dOut = wide
    one, every = np.ones_like(Weight), np.ones_like(visits)
    return [
        (
            _alone(In, visits, one, W_in, W_out, dOut),
            "your results are not weighted",
        ),
        (
            _alone(In, visits, Weight**2, W_in, W_out, dOut),
            "your results are weighted twice",
        ),
        (
            _alone(In, visits, Weight, W_in, W_out, dOut, -np.inf),
            "the ReLU between the two matrices is missing",
        ),
        (
            _alone(In, every, Weight, W_in, W_out, dOut),
            "a token without a slot in an expert gets nothing from it",
        ),
        (
            _alone(In, visits, Weight, W_in, W_out, np.ones_like(dOut)),
            "you take the gradient of a sum; that of Out is dOut",
        ),
    ]


def _terms(wide, visits, Y, b):
    """Results if each device along Y uses its part of F for its own tokens."""
    In, _, Weight, W_in, W_out, dOut = wide
    total, F = None, W_in.shape[2] // Y
    owner = np.arange(len(In)) // b % Y
    for y in range(Y):
        mine = visits * (owner == y)[:, None]
        part = np.arange(F * Y) // F == y
        found = _alone(In, mine, Weight, W_in * part, W_out, dOut)
        total = found if total is None else map(np.add, total, found)
        total = list(total)
    return total


def _check_traffic(asked, answer, X, Y, slots):
    """Insist on what each axis carries; `slots` is bytes of E C D numbers."""
    over_X = 4 * slots * (X - 1) // X
    over_Y = 4 * slots * (Y - 1)
    for axis, enough, reason in (
        (
            "X",
            over_X,
            "each device sends its own tokens' slots there and back, in both "
            "passes, and gathers over Y what has come",
        ),
        (
            "Y",
            over_Y,
            "gather the slots that have come, not weights, and scatter the "
            "sums; backward is the same",
        ),
    ):
        sent = answer.sent(axis)
        there = sum(c.times for c in answer.over("X") if c.sent == over_X // 4)
        if sent > enough and there > 4:
            raise WrongAnswer(
                f"{asked}: slots travel over X {there} times, and 4 are "
                "enough; if your forward pass runs twice, jax.vjp gives both "
                "Out and what leads back"
            )
        if sent > enough:
            raise WrongAnswer(
                f"{asked}: your program sends {sent:,} bytes from each device "
                f"over {axis}, and {enough:,} are enough: {reason}"
            )
    if answer.over(("X", "Y")):
        raise WrongAnswer(
            f"{asked}: you exchange over both axes at once; experts are cut "
            "over X, so tokens need not change their place along Y"
        )


def grade_step():
    """Question 3 on other meshes."""
    draw = question.draw("step")
    for X, Y in ((2, 2), (3, 2), (2, 4)):
        b, D, F = (int(n) for n in draw.integers(2, 6, 3))
        E, C = X * int(draw.integers(1, 4)), int(draw.integers(1, 3))
        check_step(X, Y, b, max(2, E), C, D, X * C + F, _seed(draw))


# --- 4: after the exchange ---------------------------------------------------


def _worked(Rows, counts, W, ids):
    """Out of real rows whose experts are given, zeros for the others."""
    Out = np.zeros((len(Rows), W.shape[2]))
    for row, expert in enumerate(ids):
        Out[row] = Rows[row].astype(float) @ W[expert]
    return Out


@question.visible(
    "work",
    ([[2, 0, 3], [1, 4, 0], [0, 2, 2], [3, 1, 1]], 23, 16, 12),
)
def check_work(counts, R, D, F, seed=0):
    """Question 4: experts' products on rows that came sender by sender.

    counts  counts[S, E], rows of each sender for each expert
    R       rows that there is room for
    D, F    sizes
    seed    of rows and matrices
    """
    draw, counts = np.random.default_rng(seed), np.array(counts, np.int32)
    S, E = counts.shape
    Rows = draw.normal(size=(R, D)).astype(np.float32)
    W = draw.normal(size=(E, D, F)).astype(np.float32)
    asked = f"work on rows of {S} senders for {E} experts"
    request = program.request(
        Rows, counts, W, mesh={"X": 1}, in_specs=P(), out_specs=P()
    )
    answer = _traced_work(request)
    here = np.tile(np.arange(E), S)
    ids = np.repeat(here, counts.ravel())
    right = _worked(Rows, counts, W, ids)
    compare.close(
        asked,
        answer.run(Rows, counts, W),
        right,
        rel=1e-4,
        likely=_mistaken_work(Rows, counts, W, ids),
        show=True,
    )
    printed = student.types("work", request)
    used = compare.entries(asked, [line[0] for line in printed], None)
    many = used.count("ragged_dot_general")
    if many != 1:
        said = f"calls ragged_dot {many} times" if many else "has no ragged_dot"
        raise WrongAnswer(
            f"{asked}: your program {said}; one call for all rows is asked: "
            "each matrix is read once, and each row meets one of them"
        )
    # On a CPU ragged_dot holds the rows once for each matrix.
    room = 2 * R * D * (3 * E + 4) + 4 * (3 * R * F + 16 * R + S * E)
    if (live := answer.live()) > room:
        raise WrongAnswer(
            f"{asked}: your program holds {live:,} bytes at a time, and "
            f"{room:,} are enough: no matrix has to be copied, for a sender or "
            "for a row"
        )


# Words in which JAX refuses what depends on numbers that it does not know yet.
UNKNOWN = ("static integers", "needs the numbers themselves", "Concret")


def _traced_work(request):
    """The student's `work`; that counts are not known yet is told as such."""
    try:
        return student.program("work", request)
    except WrongAnswer as error:
        if not any(words in str(error) for words in UNKNOWN):
            raise
        line = re.search(
            r"; in line \d+ of your cell.*",
            str(error).replace(", in line", "; in line"),
        )
        raise WrongAnswer(
            "work: counts are known only when the program runs; no slice, no "
            "loop and no shape can depend on them" + (line[0] if line else "")
        ) from None


def _mistaken_work(Rows, counts, W, ids):
    """Results of `work` that show a mistake, with the mistake."""
    S, E = counts.shape
    R, real = len(Rows), len(ids)
    by_expert = np.repeat(np.arange(E), counts.sum(axis=0))
    runs = np.repeat(np.arange(S * E) // S, counts.ravel())
    turned = np.repeat(np.tile(np.arange(E), S), counts.T.ravel())
    order = np.argsort(ids, kind="stable")
    full = np.zeros((R, W.shape[2]))
    full[:real] = _worked(Rows[order], counts, W, ids[order])[:real]
    right = _worked(Rows, counts, W, ids)
    rest = R - real
    padded = np.concatenate([ids, np.full(rest, E - 1)])
    first = np.concatenate([ids, np.zeros(rest, int)])
    again = np.zeros_like(full)
    again[:real] = right[:real][order]
    back = np.zeros_like(full)
    back[:real] = full[:real][order]
    ahead = np.concatenate([np.arange(real, R), order])  # remains go first
    shifted = np.zeros_like(full)
    shifted[ahead] = _worked(Rows[ahead], counts, W, by_expert)
    return [
        (
            _worked(Rows, counts, W, by_expert),
            "rows come sender by sender; yours takes them for sorted by expert",
        ),
        *(
            (
                _worked(Rows, counts, W, other),
                "counts[S, E] has a row for each sender; yours reads it by "
                "columns",
            )
            for other in (runs, turned)
        ),
        (full, "your results are sorted by expert; give them back in order"),
        (back, "you sort the results a second time instead of undoing it"),
        (again, "you sort the results; give them back in order"),
        (
            _worked(Rows, counts, W, padded),
            "what lies behind the real rows is no row of the last expert",
        ),
        (
            _worked(Rows, counts, W, first),
            "what lies behind the real rows is no row of the first expert",
        ),
        (
            shifted,
            "your remains go first, so ragged_dot takes them for rows; let "
            "them go last",
        ),
    ]


def grade_work():
    """Question 4 with other counts."""
    draw = question.draw("work")
    uneven = [[0, 3, 1, 2, 0], [2, 1, 0, 0, 4], [1, 0, 0, 3, 1]]
    check_work(uneven, 22, 15, 16)
    for S, E in ((3, 3), (5, 4), (4, 6)):
        counts = draw.integers(0, 5, (S, E))
        counts[draw.integers(S), draw.integers(E)] = 6
        R = int(counts.sum() + draw.integers(1, 6))
        D = int(draw.integers(14, 20))
        check_work(counts.tolist(), R, D, 3 * E + 4, _seed(draw))


# --- 5: one loss for all -----------------------------------------------------


def _balance(Logits, Choice):
    """The loss of a batch, in float64."""
    chances = np.exp(Logits - Logits.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    E = Logits.shape[1]
    share = np.bincount(Choice.ravel(), minlength=E) / Choice.size
    return E * (share * chances.mean(axis=0)).sum()


def _slope(loss, Logits, h=1e-5):
    """The gradient of a loss by differences, entry by entry."""
    found = np.zeros_like(Logits)
    for index in np.ndindex(Logits.shape):
        up, down = Logits.copy(), Logits.copy()
        up[index] += h
        down[index] -= h
        found[index] = (loss(up) - loss(down)) / (2 * h)
    return found


@question.visible("balance", (4, 3, 5, 2), (3, 4, 7, 3))
def check_balance(N, rows, E, k, seed=0):
    """Question 5: the loss of all tokens, and its gradient for each.

    N, rows  devices, and tokens of each
    E, k     experts, and how many of them a token visits
    seed     of the logits
    """
    draw = np.random.default_rng(seed)
    Logits = draw.normal(size=(N * rows, E)) + np.repeat(
        draw.normal(size=(N, E)), rows, axis=0
    )
    Logits = Logits.astype(np.float32)
    Choice = np.argsort(-Logits, axis=1)[:, :k].astype(np.int32)
    asked = f"balance on {N} devices"
    asks = {
        "mesh": {"X": N},
        "in_specs": (P("X"), P("X")),
        "out_specs": (P(), P("X")),
    }
    try:
        answer = student.program(
            "balance", program.request(Logits, Choice, **asks)
        )
    except WrongAnswer:
        # What is not allowed is said before what JAX cannot see.
        freely = program.request(Logits, Choice, **asks, check_vma=False)
        local = student.program("balance", freely)
        local.allow("psum")
        if not local.collectives():
            raise WrongAnswer(
                "your balance sends nothing, so its loss is that of a device's "
                "own tokens; the question's is that of all"
            ) from None
        raise
    answer.allow("psum")
    found = compare.entries(asked, answer.run(Logits, Choice), 2)
    wide = Logits.astype(float)
    loss = _balance(wide, Choice)
    slope = _slope(lambda x: _balance(x, Choice), wide)
    parts = list(zip(np.split(wide, N), np.split(Choice, N), strict=True))
    own = [_balance(*part) for part in parts]
    slopes = np.concatenate(
        [_slope(lambda x, c=c: _balance(x, c), each) for each, c in parts]
    )
    share = np.bincount(Choice.ravel(), minlength=E) / Choice.size
    compare.close(
        f"{asked}, the loss",
        found[0],
        loss,
        rel=1e-5,
        likely=[
            (
                np.mean(own),
                "you take the mean of the devices' losses; the loss is that of "
                "all tokens, smaller where devices make up for one another",
            ),
            (sum(own), "you add the devices' losses"),
            (loss / E, "the factor E is missing"),
            (loss * k, "shares of visits add up to 1; divide by k, too"),
            (loss * N, "you divide by the tokens of one device"),
            (loss * N * N, "you divide by the tokens of one device, twice"),
            (
                _balance(wide, Choice[:, :1]),
                "you count first choices only; all k are visits",
            ),
            (
                E * (share * wide.mean(axis=0)).sum(),
                "you take logits for chances; those are a softmax of them",
            ),
            (
                E / rows,
                "you take a softmax over tokens; a token's chances are one "
                "over experts",
            ),
            (-loss, "the loss has another sign"),
        ],
        show=True,
    )
    compare.close(
        f"{asked}, the gradient",
        np.asarray(found[1]),
        slope,
        rel=1e-4,
        likely=[
            (
                slope * N,
                f"yours is {N} times too large: added up too often, or "
                "divided by one device's tokens",
            ),
            (slope / N, f"yours is {N} times too small"),
            (
                slopes / N,
                "yours is the gradient of the mean of the devices' losses",
            ),
            (slopes, "yours is the gradient of each device's own loss"),
            (np.tile(sum(np.split(slope, N)), (N, 1)), _SUMMED),
            (np.tile(sum(np.split(slope, N)) / N, (N, 1)), _SUMMED),
            (-slope, "the gradient has another sign"),
            (_cut(wide, Choice), "a chance is of all logits of its token"),
        ],
        show=True,
        place=compare.on_devices(rows),
    )
    answer.at_most(volume=2 * 4 * (2 * E + 1))


_SUMMED = "the gradient of logits belongs to their own tokens; do not add it up"


def _cut(Logits, Choice):
    """A gradient in which the softmax is taken for the identity."""
    E = Logits.shape[1]
    share = np.bincount(Choice.ravel(), minlength=E) / Choice.size
    chances = np.exp(Logits)
    chances /= chances.sum(axis=1, keepdims=True)
    return E * share * chances / len(Logits)


def grade_balance():
    """Question 5 with other tokens."""
    draw = question.draw("balance")
    for N in (2, 3, 5):
        rows, k = int(draw.integers(2, 6)), int(draw.integers(1, 4))
        E = int(draw.integers(4, 9))
        check_balance(N, rows, E, k, _seed(draw))


# --- 6: without a loss -------------------------------------------------------


def _liked(B, E, seed):
    """Affinities[B, E] of experts that are liked more or less, and unevenly."""
    draw = np.random.default_rng(seed)
    spread, mean = draw.uniform(0.3, 2, E), draw.normal(size=E)
    return 1 / (1 + np.exp(-(mean + spread * draw.normal(size=(B, E)))))


def _visits(Affinity, bias, k):
    """Visits of each expert when tokens choose by affinity and bias."""
    order = np.argsort(-(Affinity + bias), axis=1, kind="stable")
    return np.bincount(order[:, :k].ravel(), minlength=len(bias))


@question.visible(
    "balanced",
    (210, 7, 2, (1, 1, 2, 1, 1, 1, 1)),
    (300, 8, 3, (2, 1, 1, 1, 1, 2, 1, 1), 1),
    (143, 11, 1, (1, 1, 1, 1, 3, 1, 1, 2, 1, 1, 1), 4),
    (190, 6, 2, (1, 1, 1, 1, 1, 1), 2),
)
def check_balanced(B, E, k, copies, seed=0):
    """Question 6: biases under which all chips are visited alike.

    B, E, k  tokens, experts, and how many a token chooses
    copies   chips that hold each expert
    seed     of the affinities
    """
    Affinity, chips = _liked(B, E, seed), np.array(copies)
    asked = f"balanced for {B} tokens, {E} experts, k = {k}, copies {copies}"
    got = student.call("balanced", Affinity, k, list(copies))
    bias = compare.real_array(asked, got, (E,))
    mean = k * B / chips.sum()
    visits = _visits(Affinity, bias, k)
    each = visits / chips
    # In 60 draws of three cases the solution ends at most 0.3 visits above 1.05
    # times the mean, other right answers below it, wrong ones 22 or more above.
    if each.max() <= 1.05 * mean + 2:
        return
    most = int(each.argmax())
    before = (_visits(Affinity, np.zeros(E), k) / chips).max()
    worse = ""
    if visits.max() <= 1.05 * k * B / E + 2:
        worse = (
            "; all experts are visited alike, and those with copies should be "
            "visited more"
        )
    elif not bias.any():
        worse = "; that is what comes without a bias"
    elif each.max() > before:
        worse = (
            "; without any bias the busiest chip takes fewer, so look at the "
            "sign"
        )
    raise WrongAnswer(
        f"{asked}: with your bias {each[most]:.4g} visits go to each chip of "
        f"expert {most}; the mean of a chip is {mean:.4g}, and 1.05 times that "
        f"plus two may go{worse}"
    )


def grade_balanced():
    """Question 6 with other tokens."""
    draw = question.draw("balanced")
    for k in (1, 2, 4):
        B, E = int(draw.integers(400, 800)), 2 * k + int(draw.integers(4, 9))
        copies = draw.integers(1, 3, E)
        copies[draw.integers(E)] = 2
        check_balanced(B, E, k, tuple(copies.tolist()), _seed(draw))


# --- 7: how many nodes -------------------------------------------------------


def _over_choices(E, N, k, M, count):
    """The mean of `count(nodes visited)` over all that a token may choose.

    E, N, k  experts, nodes among which they are dealt, visits
    M        nodes that a token may visit, drawn with equal chances
    count    function of a set of nodes; the token itself is on node 0
    """
    total, ways = 0, 0
    for near in combinations(range(N), M):
        experts = [e for e in range(E) if e * N // E in near]
        for chosen in combinations(experts, k):
            total += count({e * N // E for e in chosen})
            ways += 1
    return Fraction(total, ways)


@cache
def _none(E, N, k):
    """How likely a token is to visit no node but its own."""
    return _over_choices(E, N, k, N, lambda nodes: int(nodes == {0}))


@cache
def _both(E, N, k):
    """How likely a token is to visit both of two nodes."""
    return _over_choices(E, N, k, N, lambda nodes: int({0, 1} <= nodes))


@cache
def _copies(E, N, k, M):
    """Copies that a token sends to other nodes."""
    return _over_choices(E, N, k, M, lambda nodes: len(nodes - {0}))


MISSED = "binomial(E - E/N, k)/binomial(E, k)"
NEITHER = "binomial(E - 2*E/N, k)/binomial(E, k)"
NO_DICE = "what one node has of k visits, the others have not; no powers"
FEWER = "binomial(E*M/N - E/N, k)/binomial(E*M/N, k)"
# Each formula's symbols, its count, and formulas that show a mistake.
FORMULAS = {
    "none": (
        "E N k",
        _none,
        [
            ("N**(-k)", "you let a token choose an expert twice"),
            (MISSED, "that is how likely it is to miss one certain node"),
            (f"1 - {MISSED}", "that is how likely it is to visit its own node"),
            (f"({MISSED})**(N - 1)", NO_DICE),
            ("N*binomial(E/N, k)/binomial(E, k)", "all k are on *its* node"),
            (
                "1 - binomial(E/N, k)/binomial(E, k)",
                "that is how likely it is to send a copy",
            ),
            ("1/binomial(E, k)", "a node has more than one expert"),
            ("1/N", "that is the chance of one visit; it has k"),
            ("1 - k/N", "two of the experts may be on one node"),
        ],
    ),
    "both": (
        "E N k",
        _both,
        [
            (f"(1 - {MISSED})**2", NO_DICE),
            (f"1 - 2*({MISSED})", "who misses both was taken away twice"),
            (
                f"1 - {NEITHER}",
                "that is how likely one of them is to have a visit, or both",
            ),
            (NEITHER, "that is how likely neither of them is to have a visit"),
            (f"1 - {MISSED}", "that is how likely one certain node is"),
            (
                f"N*(N - 1)/2*(1 - 2*{MISSED} + {NEITHER})",
                "you add up all pairs of nodes; two certain ones are meant",
            ),
            (
                f"1 - 2*({MISSED}) - {NEITHER}",
                "who misses both was taken away three times",
            ),
            (
                "1 - 2*(1 - 1/N)**k + (1 - 2/N)**k",
                "you let a token choose an expert twice",
            ),
            (
                "(E/N)**2*binomial(E - 2, k - 2)/binomial(E, k)",
                "with more experts on one of them you count a choice again",
            ),
        ],
    ),
    "limited": (
        "E N k M",
        _copies,
        [
            (f"M*(1 - {FEWER})", "to its own node a token sends no copy"),
            (
                f"(M - 1)*(1 - {FEWER})",
                "a token's own node need not be one of the M",
            ),
            (
                f"(N - 1)*(1 - {MISSED})",
                "a token visits no more than M nodes, and all k experts there",
            ),
            (
                f"M*(N - 1)/N*(1 - {MISSED})",
                "a token chooses among the experts of M nodes, not among all E",
            ),
            ("M*(N - 1)/N", "not all of the M nodes need be visited"),
            (
                f"(N - 1)*(1 - {FEWER})",
                "each node is one of the M with chance M/N only",
            ),
            (
                "M*(N - 1)/N*(1 - (1 - 1/M)**k)",
                "you let a token choose an expert twice",
            ),
            ("M", "not all of the M nodes need be visited"),
            ("k*(N - 1)/N", "one copy serves all experts of a node"),
        ],
    ),
}
POINTS = ((6, 2, 2), (6, 3, 2), (8, 4, 3), (9, 3, 4), (10, 5, 3), (12, 4, 2))


@question.visible("none, both, limited", (POINTS,))
def check_nodes(points):
    """Question 7: two chances and copies, at triples of E, N and k."""
    for name, (symbols, count, likely) in FORMULAS.items():
        places = [tuple(point) for point in points]
        if name == "limited":
            places = [
                (E, N, k, M)
                for E, N, k in places
                for M in (2, N - 1, N)
                if k <= E * M // N
            ]
        got = student.expression(name)
        used = expression.uses(compare.readable(name, got, symbols))
        if "symbol" not in used:
            reason = f"a formula in {', '.join(symbols.split())} is asked for"
            compare.wrong(name, got, reason)
        compare.formula(name, got, symbols, count, places, likely=likely)


def grade_nodes():
    """Question 7 for other models."""
    draw = question.draw("nodes")
    points = []
    for N in draw.choice(np.arange(2, 8), 4, replace=False).tolist():
        each = int(draw.integers(2, 4))
        points.append((N * each, N, int(draw.integers(1, min(6, 2 * each)))))
    check_nodes(points)


# --- 8: the slowest chip -----------------------------------------------------


def _time(visits, block):
    """Rows that a matmul works on, in whole blocks."""
    return -(-visits // block) * block


def _deals(experts, each):
    """All ways to deal experts into hands of this size."""
    if not experts:
        yield []
        return
    for others in combinations(experts[1:], each - 1):
        rest = [e for e in experts[1:] if e not in others]
        for hands in _deals(rest, each):
            yield [(experts[0], *others), *hands]


def _slowest(times, hands):
    """The most that one chip has to do."""
    return max(sum(times[e] for e in hand) for hand in hands)


@question.visible(
    "dealt",
    ([50, 3, 20, 18, 17, 15, 12, 9], 2, 1),
    ([41, 13, 30, 11, 24, 22, 9, 17, 33], 3, 8),
    ([31, 29, 20, 17, 17, 11, 10, 3, 2, 1], 5, 4),
    ([9, 9, 9, 9, 9, 9, 17, 17], 4, 16),
    ([8, 2, 4, 0, 8, 6, 0, 18, 12], 3, 4),
    ([12, 4, 26, 14, 1, 1, 18, 19, 12], 3, 1),
)
def check_dealt(visits, chips, block):
    """Question 8: experts dealt to chips so that the slowest is fastest."""
    asked = f"dealt({visits}, {chips}, {block})"
    got = compare.numbers(
        asked, student.call("dealt", visits, chips, block), len(visits)
    )
    each = len(visits) // chips
    hands = [[e for e, c in enumerate(got) if c == n] for n in range(chips)]
    if [len(hand) for hand in hands] != [each] * chips:
        reason = (
            f"expected {each} experts on each of the chips 0 to {chips - 1}, "
            "an entry for each expert"
        )
        compare.wrong(asked, got, reason)
    times = [_time(n, block) for n in visits]
    yours = _slowest(times, hands)
    deals = list(_deals(list(range(len(visits))), each))
    best = min(_slowest(times, deal) for deal in deals)
    if yours > best:
        slow = max(range(chips), key=lambda c: sum(times[e] for e in hands[c]))
        why = ""
        if _alike(times, hands, deals):
            why = ". Chips that differ least need not have the fastest slowest"
        elif _rounded(visits, block, hands, deals):
            why = f". Do you round otherwise? Experts take {times} rows"
        raise WrongAnswer(
            f"{asked}: your chip {slow} has experts {hands[slow]} and works on "
            f"{yours} rows in blocks of {block}; there is a way in which no "
            f"chip works on more than {best}{why}"
        )


def _alike(times, hands, deals):
    """Whether no other hands differ less: in their spread, or in squares."""
    each = [
        [sum(times[e] for e in hand) for hand in deal]
        for deal in (hands, *deals)
    ]
    spread = [max(rows) - min(rows) for rows in each]
    squares = [sum(n * n for n in rows) for rows in each]
    return spread[0] == min(spread) or squares[0] == min(squares)


def _rounded(visits, block, hands, deals):
    """Whether these hands are the best if visits are rounded in another way."""
    down = [n // block * block for n in visits]
    ways = [
        visits,
        down,
        [n + block for n in down],
        [max(block, _time(n, block)) for n in visits],
    ]
    best = any(
        _slowest(rows, hands) == min(_slowest(rows, deal) for deal in deals)
        for rows in ways
    )
    most = [
        max(_time(sum(visits[e] for e in hand), block) for hand in deal)
        for deal in (hands, *deals)
    ]
    return best or most[0] == min(most)


def grade_dealt():
    """Question 8 with other counts."""
    draw = question.draw("dealt")
    for experts, chips in ((9, 3), (8, 2), (8, 4), (10, 2), (6, 3)):
        block = int(draw.choice([1, 4, 8, 16]))
        visits = draw.integers(0, 70, experts)
        visits -= visits % block * (draw.random(experts) < 0.4)  # full blocks
        check_dealt(visits.tolist(), chips, block)


# --- 9: two machines ---------------------------------------------------------


def _slice(chip, shape, rings):
    """A slice of TPUs as the question describes it."""
    return {
        "shape": list(shape),
        "rings": list(rings),
        "flops": chip.flops,
        "link_bw": chip.link_bw,
    }


def _cluster(chip, nodes, most, inside=None):
    """Nodes of GPUs as the question describes them."""
    return {
        "nodes": nodes,
        "gpus": chip.node_size,
        "most": most,
        "flops": chip.flops,
        "inside": inside or chip.link_bw,
        "outside": chip.dcn_bw,
    }


@cache
def _longest(shape, rings):
    """Bytes over the busiest link, for each byte that a chip exchanges."""
    chips = math.prod(shape)
    V = 12 * chips * chips
    moved = ring.all_to_all(
        V, shape, link_bw=1.0, wrap=rings, algorithm="balanced"
    )
    return moved.seconds / (V / chips)


@cache
def _distinct(places, size, k):
    """Places that k different experts are in, `size` of them in each."""
    ways = {(0, 0): 1}
    for _ in range(places):
        more = Counter()
        for (hit, taken), many in ways.items():
            for here in range(min(size, k - taken) + 1):
                key = hit + (here > 0), taken + here
                more[key] += many * math.comb(size, here)
        ways = more
    full = {hit: many for (hit, taken), many in ways.items() if taken == k}
    return sum(h * m for h, m in full.items()) / sum(full.values())


def _on_torus(model, machine):
    """Seconds of exchange over those of matmuls, on a torus."""
    shape, rings = tuple(machine["shape"]), tuple(machine["rings"])
    work = 6 * model["F"] / machine["flops"]  # of a visit, for each D
    return 3 * _longest(shape, rings) / machine["link_bw"] / work


def _in_nodes(model, machine, **other):
    """The same through a node's switch and between nodes.

    other  replaces parts: "copies" and "hops" for a token and each element,
           "both", whether the two networks wait for another
    """
    N, g, M = machine["nodes"], machine["gpus"], machine["most"]
    E, k = model["E"], model["k"]
    copies = _distinct(M, E // N, k) * (N - 1) / N
    hops = _distinct(M * g, E // (N * g), k) * (g - 1) / g
    copies, hops = other.get("copies", copies), other.get("hops", hops)
    seconds = [copies / machine["outside"], hops / machine["inside"]]
    slower = sum(seconds) if other.get("both") else max(seconds)
    return 3 * slower / (6 * model["F"] * k / machine["flops"])


def _ratio(model, machine):
    """Seconds of exchange over those of matmuls."""
    run = _on_torus if "shape" in machine else _in_nodes
    return run(model, machine)


V3 = {
    "E": DEEPSEEK.experts,
    "k": DEEPSEEK.active,
    "F": DEEPSEEK.F_expert,
}
RINGS, LINES = (True,) * 3, (False,) * 3
# 64 chips for DeepSeek-V3: slices of TPU v5p and v5e, and nodes of H100s; then
# shapes that tell one mistake from another, and nodes with a slow way inside.
SLICES = [
    _slice(hw.V5P, (4, 4, 4), RINGS),
    _slice(hw.V5P, (2, 4, 8), (False, True, True)),
    _slice(hw.V5E, (8, 8), LINES[:2]),
    _slice(hw.V5E, (4, 16), (False, True)),
]
CLUSTERS = [_cluster(hw.H100, 8, 8), _cluster(hw.H100, 8, 4)]
ODD = [
    _slice(hw.V5P, (5, 8), (True, False)),
    _slice(hw.V5P, (3, 5), (True, True)),
    _slice(hw.V5P, (3, 5, 4), (True, False, True)),
]
SLOW = [_cluster(hw.H100, 8, 4, 1.6e11), _cluster(hw.H100, 8, 2, 4e10)]


@question.visible(
    "design",
    (V3, [ODD[2], ODD[0], SLICES[3], SLICES[0], SLICES[1]]),
    (V3, [SLICES[2], CLUSTERS[1], SLICES[0], CLUSTERS[0]]),
    (V3 | {"k": 6, "F": 1408}, SLOW),
    (V3, [ODD[1], SLOW[1]]),
)
def check_design(model, machines):
    """Question 9: exchange over matmuls of several machines, and the best."""
    got = student.call("design", model, machines)
    best, ratios = compare.entries("design", got, 2)
    ratios = compare.numbers("the ratios of design", ratios, len(machines))
    right = [_ratio(model, machine) for machine in machines]
    for ratio, model_ratio, machine in zip(
        ratios, right, machines, strict=True
    ):
        compare.close(
            f"the ratio of {_named(machine)}",
            ratio,
            model_ratio,
            likely=_mistaken_ratios(model, machine, model_ratio),
        )
    best = compare.whole_number("the best of design", best)
    compare.equal(
        "the best of design",
        best,
        int(np.argmin(right)),
        likely=[
            (int(np.argmax(right)), "that one waits longest"),
            (int(np.argmin(right)) + 1, "machines are counted from 0"),
        ],
    )


def _named(machine):
    """A machine in a few words."""
    if "shape" in machine:
        sizes = " x ".join(map(str, machine["shape"]))
        kinds = ["line", "ring"]
        each = ", ".join(kinds[closed] for closed in machine["rings"])
        return f"a torus of {sizes} ({each})"
    return (
        f"{machine['nodes']} nodes of {machine['gpus']}, at most "
        f"{machine['most']} a token, {machine['inside'] / 1e9:g} GB/s inside"
    )


def _mistaken_ratios(model, machine, right):
    """Ratios that show a mistake, with the mistake."""
    twice = "twice too large; a multiply-add is two FLOPs"
    if "shape" in machine:
        twice += ", and links work both ways"
    likely = [
        (right * 4 / 3, "dispatch takes 1 byte an element, combine 2"),
        (right * 2 / 3, "dispatch takes 1 byte an element, combine 2"),
        (right / 3, "you forget to combine, or bytes of an element"),
        (right * 3 / 2, "an expert is gated: three matmuls, 6 D F FLOPs"),
        (right * 3, "an expert has three matmuls, not one"),
        (right * 2, twice),
        (right * model["k"], "its k experts all work for a token"),
        (right / model["k"], "you count one of k experts for the exchange"),
        (1 / right, "you give matmuls over exchange"),
    ]
    own = _torus_mistakes if "shape" in machine else _node_mistakes
    return own(model, machine, right) + likely


def _torus_mistakes(model, machine, right):
    """Ratios on a torus that show a mistake."""
    shape, rings = tuple(machine["shape"]), tuple(machine["rings"])
    unit = right / _longest(shape, rings)
    each = [_longest((n,), (r,)) for n, r in zip(shape, rings, strict=True)]
    closed = [_longest((n,), (True,)) for n in shape]
    open_ = [_longest((n,), (False,)) for n in shape]
    quarter = [n / (8 if r else 4) for n, r in zip(shape, rings, strict=True)]
    gather = [
        (n - 1) / (2 if r else 1) for n, r in zip(shape, rings, strict=True)
    ]
    chips, ways = math.prod(shape), 2 * len(shape)
    switch = "a torus is no switch: chips pass on what is not theirs"
    found = [
        (sum(each), "all axes work at once, each on a part"),
        (sum(each) / len(each), "parts wait for the slowest axis"),
        (min(each), "parts wait for the slowest axis, not the fastest"),
        (max(closed), "an axis that is no ring has half the links"),
        (max(open_), "yours takes rings for lines"),
        (max(quarter), "n/8 is for even rings; count odd ones exactly"),
        (
            2 * max(quarter),
            "links work both ways; and count odd axes exactly, not by n/8",
        ),
        (
            max(each) / len(each),
            "all axes wait for the slowest; and bytes go there and back",
        ),
        (chips / 8, "you take the torus for one ring of all chips"),
        (max(gather), "that is a gather; an exchange takes far less"),
        ((chips - 1) / chips, switch),
        ((chips - 1) / chips / 2, switch),
        ((chips - 1) / chips / ways, switch),
        (1, switch),
    ]
    factors = [(unit * share, said) for share, said in found]
    if max(closed) == max(each):
        factors += [
            (2 * right, "a ring has a link each way, and both work"),
            (right / 2, "W is both links of a ring; link_bw is one"),
        ]
    return [pair for pair in factors if pair[0] != right]


def _node_mistakes(model, machine, right):
    """Ratios in nodes that show a mistake."""
    N, g, M = machine["nodes"], machine["gpus"], machine["most"]
    E, k = model["E"], model["k"]

    def ratio(**other):
        return _in_nodes(model, machine, **other)

    copies, hops = _distinct(M, E // N, k), _distinct(M * g, E // N // g, k)
    free = _distinct(N, E // N, k) * (N - 1) / N
    anywhere = _distinct(N * g, E // N // g, k) * (g - 1) / g
    repeated = N * (1 - (1 - 1 / N) ** k) * (N - 1) / N
    again = M * (1 - (1 - 1 / M) ** k) * (N - 1) / N
    once = "a node's experts share one copy, passed on inside"
    chips = "experts of one GPU share one copy"
    return [
        (ratio(both=True), "both networks work at once; the slower one counts"),
        (ratio(hops=0), "the way inside a node is missing, or too short"),
        (ratio(copies=0), "you forget the way between nodes"),
        (ratio(copies=k * (N - 1) / N), once),
        (ratio(copies=k), once),
        (ratio(hops=k * (g - 1) / g), chips),
        (ratio(hops=k), chips),
        (ratio(copies=copies), "to its own node a token sends no copy"),
        (ratio(copies=free), "a token visits at most `most` nodes"),
        (ratio(copies=M), "not all of the nodes that it may are visited"),
        (ratio(copies=M * (N - 1) / N), "not all of them need be visited"),
        (ratio(copies=M - 1), "its own node need not be one of the M"),
        (ratio(copies=copies - 1), "its own node need not be one of them"),
        (ratio(copies=copies * (M - 1) / M), "its own node need not be one"),
        (ratio(copies=repeated), "a token chooses no expert twice"),
        (ratio(copies=again), "a token chooses no expert twice"),
        (
            ratio(hops=hops),
            "the GPU where a copy arrives need not pass it to itself",
        ),
        (
            ratio(hops=hops / max(copies, 1) * (g - 1) / g),
            "the copies of all nodes are passed on inside",
        ),
        (
            ratio(hops=hops / M * (g - 1) / g),
            "inside a node GPUs pass on what comes from other nodes, too",
        ),
        (
            ratio(hops=hops * (N * g - 1) / (N * g)),
            "the GPU where a copy arrives need not pass it to itself, on any "
            "node",
        ),
        (
            ratio(hops=copies * (N - 1) / N),
            "the copy of a node is passed on to each GPU that is visited there",
        ),
        (ratio(hops=anywhere), "inside, too, at most `most` nodes are visited"),
    ]


def grade_design():
    """Question 9 with other models and machines."""
    draw = question.draw("design")
    for chip in (hw.V5P, hw.V5E):
        shape = [int(n) for n in draw.integers(2, 9, 2)]
        rings = [bool(n) for n in draw.integers(0, 2, 2)]
        N, g = int(draw.choice([2, 4, 8])), 4
        node = _cluster(hw.H200, N, int(draw.integers(1, N + 1)), 1e11)
        slow = _cluster(hw.H200, N, 1, float(draw.uniform(1e10, 5e10)))
        model = {
            "E": N * g * int(draw.integers(2, 6)),
            "k": int(draw.integers(2, 5)),
            "F": int(draw.integers(500, 4000)),
        }
        machines = [node | {"gpus": g}, slow | {"gpus": g}]
        check_design(model, [_slice(chip, shape, rings), *machines])
