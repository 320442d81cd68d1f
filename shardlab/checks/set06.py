"""Set 06, data parallelism: gradients, their traffic, and what it costs.

Gradients are computed on one chip in float64, traffic is counted in the program
that was handed in, times are played, and limits are found by search.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod

import jax
import jax.numpy as jnp
import numpy as np
from jax import P
from jax.sharding import AbstractMesh, AxisType, NamedSharding

from shardlab import cost, count, hw, memory, ring, timeline
from shardlab.checks import compare, program, question, student
from shardlab.checks.question import WrongAnswer
from shardlab.timeline import Task

__all__ = [
    "check_accumulated",
    "check_crossing",
    "check_depth",
    "check_fewest",
    "check_gate",
    "check_gradients",
    "check_noise",
    "check_obstacles",
    "check_pod",
    "check_seconds",
    "check_uncovered",
    "grade_accumulated",
    "grade_crossing",
    "grade_depth",
    "grade_fewest",
    "grade_gate",
    "grade_gradients",
    "grade_noise",
    "grade_obstacles",
    "grade_pod",
    "grade_seconds",
    "grade_uncovered",
]


def _seed(draw):
    """A seed for the arrays of one case."""
    return int(draw.integers(2**31))


# --- programs ----------------------------------------------------------------


def _whole_gradients(In, Target, W_in, W_out):
    """dIn, dW_in, dW_out and Out - Target on one chip, for a sum."""
    In, Target, W_in, W_out = (
        np.asarray(x, np.float64) for x in (In, Target, W_in, W_out)
    )
    dOut = In @ W_in @ W_out - Target
    dTmp = dOut @ W_out.T
    return dTmp @ W_in.T, In.T @ dTmp, (In @ W_in).T @ dOut, dOut


def _inspect_gradients(answer, asked, N, B, D, F):
    """What a program of question 1 sends and should not."""
    kinds, enough = answer.kinds(), 2 * 2 * 4 * D * F
    if not kinds:
        raise WrongAnswer(
            f"{asked}: your chips hear nothing of each other. Each has the "
            "gradient of its own tokens, and the copies of the weights drift "
            "apart"
        )
    for c in answer.collectives():
        extra = answer.volume() > enough
        if c.kind == "all_reduce" and extra and c.volume in (8, 8 * B // N):
            raise WrongAnswer(
                f"{asked}: you use an AllReduce of {c.volume // 2:g} bytes: no "
                "chip needs the loss of others, nor has to ask them how many "
                "tokens they have, before the gradients are taken"
            )
        if c.kind == "all_reduce" and c.volume == 8 * B // N * D:
            raise WrongAnswer(
                f"{asked}: you sum arrays of this chip's tokens over chips; "
                "others have other tokens, and dIn stays where it is"
            )
    if answer.volume() < 4 * D * F:
        raise WrongAnswer(
            f"{asked}: you sum no gradient over chips, and move "
            f"{answer.volume():,} bytes. If the loss is summed before it is "
            "derived, each chip still has the gradient of its own tokens"
        )
    answer.allow("psum", "psum_scatter", "all_gather")
    if "all_gather" in kinds and "reduce_scatter" not in kinds:
        raise WrongAnswer(
            f"{asked}: you gather tokens or gradients of all chips, where a "
            "sum is wanted"
        )
    answer.at_most(volume=enough)


@question.visible("dp_gradients", (4, 32, 6, 10, 1), (2, 24, 4, 6, 2))
def check_gradients(N, B, D, F, seed=0):
    """Question 1: the backward pass of B tokens on N chips.

    N, B, D, F  chips, and sizes of In[B, D] and W_in[D, F]
    seed        of the arrays
    """
    draw = np.random.default_rng(seed)
    arrays = [
        draw.integers(-2, 3, shape).astype(np.float32)
        for shape in ((B, D), (B, D), (D, F), (F, D))
    ]
    request = program.request(
        *arrays,
        mesh={"X": N},
        in_specs=(P("X", None), P("X", None), P(), P()),
        out_specs=(P("X"), P("X", None), P(), P()),
        check_vma=False,
    )
    answer = student.program("dp_gradients", request)
    asked = f"dp_gradients on {N} chips"
    _inspect_gradients(answer, asked, N, B, D, F)
    *sums, far = _whole_gradients(*arrays)
    first = _whole_gradients(*(x[: B // N] for x in arrays[:2]), *arrays[2:])
    part, *got = answer.run(*arrays)
    _compare_loss(part, asked, N, B, D, (far**2).reshape(N, -1).sum(1) / 2)
    for name, mine, wanted, alone in zip(
        ("dIn", "dW_in", "dW_out"), got, sums, first[:3], strict=True
    ):
        likely = [
            (wanted, "you took the sum over tokens and forgot the mean"),
            (wanted * N / B, "your sum of means is N times too large"),
            (wanted / B / D, "you took a mean over D as well as over tokens"),
            (wanted / B / N, "you divided twice: yours is N times too small"),
            (2 * wanted / B, "you forgot that the loss is half the square"),
        ]
        if name != "dIn":
            likely += [
                (alone * scale, "yours is chip 0's own gradient, without a sum")
                for scale in (1 / B, N / B, 1)
            ]
        compare.close(
            f"{asked}, {name}",
            mine,
            wanted / B,
            terms=B + D + F,
            likely=likely,
            show=True,
            place=compare.on_devices(B // N) if name == "dIn" else None,
        )


def _compare_loss(part, asked, N, B, D, parts):
    """Each chip's part of the loss; `parts` are those of the sum."""
    compare.close(
        f"{asked}, parts of the loss",
        part,
        parts / B,
        terms=B * D,
        likely=[
            (parts.sum() / B, "you give the whole loss on every chip"),
            (2 * parts / B, "you forgot that the loss is half the square"),
            (parts, "you took the sum over tokens, not the mean"),
            (parts * N / B, "you divided by the tokens of one chip"),
            *(
                (parts * N / B / n, f"you took {n} chips; this mesh has {N}")
                for n in (4, 8)
            ),
            (parts / B / D, "you took a mean over D as well as over tokens"),
        ],
        show=True,
        place=compare.on_devices(1),
    )


def grade_gradients():
    """Question 1 with other sizes."""
    for sizes in ((8, 64, 4, 6), (2, 16, 8, 12)):
        draw = question.draw(f"gradients of {sizes[0]}")
        check_gradients(*sizes, _seed(draw))


def _summed_gradients(In, Target, W_in, W_out):
    """dW_in and dW_out of tokens on one chip, in float64."""
    _, dW_in, dW_out, _ = _whole_gradients(In, Target, W_in, W_out)
    return dW_in, dW_out


def _inspect_sums(answer, asked, k, D, F):
    """Sums of question 2 that are missing, and sums that come too often."""
    kinds, once = answer.kinds(), 2 * 2 * 4 * D * F
    if not kinds:
        raise WrongAnswer(
            f"{asked}: your chips hear nothing of each other; the copies drift "
            "apart"
        )
    answer.allow("psum", "psum_scatter", "all_gather")
    if answer.volume() >= k * once:
        raise WrongAnswer(
            f"{asked}: you sum every microbatch over X, {k} times the bytes of "
            "a single sum: add up on the chip first"
        )
    if answer.volume() > once:
        raise WrongAnswer(
            f"{asked}: you move {answer.volume():,} bytes; one AllReduce of "
            f"each gradient takes {once:,}"
        )


@question.visible("accumulated", (4, 8, 16, 4, 48, 1))
def check_accumulated(N, k, m, D, F, seed=0):
    """Question 2: gradients of k microbatches on N chips.

    N, k, m, D, F  chips, microbatches, tokens of one on a chip, and sizes
    seed           of the arrays
    """
    draw = np.random.default_rng(seed)
    arrays = [
        draw.integers(-1, 2, shape).astype(np.float32)
        for shape in ((k, m * N, D), (k, m * N, D), (D, F), (F, D))
    ]
    spec = P(None, "X", None)
    request = program.request(
        *arrays,
        mesh={"X": N},
        in_specs=(spec, spec, P(), P()),
        out_specs=(P(), P()),
        check_vma=False,
    )
    answer = student.program("accumulated", request)
    asked = f"accumulated, {k} microbatches on {N} chips"
    _inspect_sums(answer, asked, k, D, F)
    In, Target, *W = arrays
    flat = [x.reshape(-1, D) for x in (In, Target)]
    wanted = _summed_gradients(*flat, *W)
    last = _summed_gradients(In[-1], Target[-1], *W)
    mine = _summed_gradients(*(x[:, :m].reshape(-1, D) for x in arrays[:2]), *W)
    for name, got, whole, end, own, start in zip(
        ("dW_in", "dW_out"),
        answer.run(*arrays),
        wanted,
        last,
        mine,
        W,
        strict=True,
    ):
        compare.close(
            f"{asked}, {name}",
            got,
            whole,
            terms=k * m * N,
            likely=[
                (whole / k, "you took the mean over microbatches, not the sum"),
                (whole / N, "you took the mean over chips, not the sum"),
                (whole / (k * m * N), "you took the mean over tokens"),
                (whole / m, "you took the mean over the tokens of each"),
                (2 * whole, "you forgot that the loss is half the square"),
                (whole + N * start, "your totals start at the weights"),
                (whole * N, "you summed twice: yours is N times too large"),
                (end, "yours is the last microbatch alone"),
                (own, "yours is chip 0's own gradient, without a sum"),
            ],
            show=True,
        )
    # Microbatches; weights, totals and a term; Tmp and dTmp; what is D wide.
    room = 4 * (2 * k * m * D + 6 * D * F + 2 * m * F + 4 * m * D)
    if answer.live() > room:
        raise WrongAnswer(
            f"{asked}: your program holds {answer.live():,} bytes on a chip at "
            f"a time, and {room:,} are enough. Activations or gradients of "
            "several microbatches are alive at once: within each step of the "
            "loop take both passes, and add what comes out to the total"
        )


def grade_accumulated():
    """Question 2 with other sizes."""
    for sizes in ((8, 16, 12, 6, 64), (2, 12, 20, 6, 64)):
        draw = question.draw(f"accumulated {sizes[0]}")
        check_accumulated(*sizes, _seed(draw))


# --- tokens, layers and batches ----------------------------------------------


def _fewest_by_search(C, link_bw, X, itemsize):
    """Halve an interval, with the time that hops on a ring take, exactly."""
    n = 8 * X
    steps = ring.all_reduce_steps(n * itemsize, X)
    # A ring of 1 byte/s gives bytes that are whole: no float is compared.
    sent = Fraction(ring.seconds(steps, 1))
    low, high = 0, 10**7
    while high - low > 1:
        middle = (low + high) // 2
        math = Fraction(4 * n * middle) / Fraction(C)
        if math >= sent / Fraction(link_bw):
            high = middle
        else:
            low = middle
    return high


def _ceiling(x):
    """The smallest whole number that is not below x."""
    return int(-(-x // 1))


@question.visible(
    "fewest_tokens",
    (4.59e14, 9e10, 16, 2),
    (1.97e14, 4.5e10, 4, 4),
    (2.0**48, 2.0**36, 8, 4),  # a whole number to the last digit
    (1.3002e14, 1e11, 64, 2),  # 650.1 in the limit
)
def check_fewest(C, link_bw, X, itemsize):
    """Question 3: tokens with which arithmetic is as long as the sums."""
    exact = C * itemsize / (4 * link_bw)
    wanted = _fewest_by_search(C, link_bw, X, itemsize)
    compare.equal(
        f"fewest_tokens({C:g}, {link_bw:g}, {X}, {itemsize})",
        student.call("fewest_tokens", C, link_bw, X, itemsize),
        wanted,
        likely=[
            (wanted - 1, "yours is one too few: the sums still take longer"),
            (wanted + 1, "yours is one too many: round up once, at the end"),
            (_ceiling(exact), "yours is the limit of very many chips"),
            (_ceiling(exact * (X - 1)), "yours are the tokens of all chips"),
            (
                _fewest_by_search(C, link_bw, X, 2),
                "you took two bytes a gradient, whatever was given",
            ),
            (
                _fewest_by_search(2 * C, link_bw, X, itemsize),
                "yours are twice too many: both directions carry data, and a "
                "gradient has `itemsize` bytes",
            ),
            (
                _fewest_by_search(C, 2 * link_bw, X, itemsize),
                "yours are half of what is needed: an AllReduce has two halves",
            ),
            (
                _fewest_by_search(C, 1.5 * link_bw, X, itemsize),
                "you count six FLOPs a parameter; the backward pass has four",
            ),
            (
                _ceiling(exact * (X - 1) / X**2),
                "you divide by the chips once more; the tokens are one chip's",
            ),
        ],
    )


def grade_fewest():
    """Question 3 with other chips."""
    draw = question.draw("fewest")
    for chips in (2, 3, 5, 8, 64):
        # Never a whole number, which rounding could miss: 5 does not divide it.
        flops = 1e12 * (draw.integers(90, 999) + 0.0371)
        bandwidth = 1e9 * draw.integers(20, 99)
        itemsize = int(draw.choice([1, 2, 4]))
        check_fewest(float(flops), float(bandwidth), chips, itemsize)
    for chips in (2, 8):
        check_fewest(2.0**48, 2.0**36, chips, 4)  # whole to the last digit


FORMATS = {1: np.int8, 2: np.float16, 4: np.float32}


def _layers_that_fit(hbm, D, F, tokens, recipe):
    """Add layer after layer, made of arrays, until the next is too much."""
    everywhere = NamedSharding(AbstractMesh((8,), ("X",)), P(None, None))

    def array(shape, itemsize):
        return jax.ShapeDtypeStruct(
            shape, FORMATS[itemsize], sharding=everywhere
        )

    layer = [array((tokens, width), 2) for width in (D, F)]
    layer += [
        array(shape, size)
        for shape in ((D, F), (F, D))
        for size in recipe
        if size
    ]
    fitted, each = 0, count.held(layer)
    while (fitted + 1) * each <= hbm:
        fitted += 1
    return fitted


@question.visible(
    "most_layers",
    (96 * 10**9, 1024, 2048, 65536, [2, 2, 4, 4, 4]),
    (96 * 10**9, 1024, 2048, 65536, [4, 4, 0, 2, 2]),
    (96 * 10**9, 8192, 32768, 20480, [2, 2, 4, 4, 4]),
    (96 * 10**9, 8192, 32768, 32768, [2, 0, 0, 4, 4]),
    (7 * 5504, 8, 16, 60, [2, 2, 4, 1, 1]),  # to the last byte
    (7 * 5440, 8, 16, 60, [2, 2, 4, 1, 1]),
    (100, 8, 8, 1, [2, 2, 4, 4, 4]),
)
def check_depth(hbm, D, F, tokens, recipe):
    """Question 4: the most layers that fit on one chip."""
    bare = _layers_that_fit(hbm, D, F, 0, recipe)
    wanted = _layers_that_fit(hbm, D, F, tokens, recipe)
    states, kept = 2 * D * F * sum(recipe), 2 * tokens * (D + F)
    compare.equal(
        f"most_layers({hbm}, {D}, {F}, {tokens}, {recipe})",
        student.call("most_layers", hbm, D, F, tokens, recipe),
        wanted,
        likely=[
            (
                _layers_that_fit(hbm, D, F, 2 * tokens, recipe),
                "you keep In and Tmp in four bytes; they are in bf16",
            ),
            (
                hbm // (states + 2 * tokens * F),
                "you keep Tmp alone; In is kept as well",
            ),
            (
                hbm // (states + kept + 2 * tokens * D),
                "you keep Out; only In and Tmp are kept",
            ),
            (
                hbm // (states // 2 + kept),
                "you count one matrix; there are two",
            ),
            (bare, "you leave no room for activations"),
            (
                (hbm - kept) // states,
                "you keep the activations of one layer; each has its own",
            ),
            (
                hbm // (states + 2 * tokens * D),
                "you keep In alone; Tmp is kept as well",
            ),
            (
                _layers_that_fit(hbm, D, F, tokens, [2, 0, 0, 4, 4]),
                "you took 10 bytes a parameter; the recipe has others",
            ),
            (
                _layers_that_fit(hbm, D, F, tokens, [2, 2, 4, 4, 4]),
                "you took 16 bytes a parameter; the recipe has others",
            ),
            (
                hbm // (states + kept - 2 * D * F * recipe[1]),
                "you leave out the gradient; it is kept as well",
            ),
            (
                hbm // (states + kept // 2),
                "you keep In and Tmp in one byte; they are in bf16",
            ),
            (
                _layers_that_fit(hbm, D, F, 8 * tokens, recipe),
                "you took the tokens of all chips; those given are one chip's",
            ),
            (wanted + 1, "your last layer does not fit any more"),
            (
                wanted - 1,
                "yours is one too few; one more fits to the last byte",
            ),
        ],
    )


def grade_depth():
    """Question 4 with other layers and recipes."""
    draw = question.draw("depth")
    for recipe in ([2, 2, 4, 2, 2], [4, 4, 0, 4, 4], [2, 2, 4, 1, 1]):
        sizes = (64 * draw.integers(2, 40, 3)).tolist()
        fitted = _layers_that_fit(10**11, *sizes, recipe)
        check_depth(
            10**11 // fitted * int(draw.integers(2, 90)), *sizes, recipe
        )
        wide, hidden, tokens = sizes
        each = 2 * wide * hidden * sum(recipe) + 2 * tokens * (wide + hidden)
        check_depth(7 * each, *sizes, recipe)  # to the last byte
        check_depth(7 * each - 1, *sizes, recipe)


def _batch_by_search(pod, C, link_bw, length, axes=None):
    """The first batch whose backward arithmetic is as long as its sums."""
    chip = replace(
        hw.V5P,
        flops=C,
        link_bw=link_bw,
        axes=len(pod),
        pod=tuple(pod),
        slice_max=(),
    )
    X, low, high = prod(pod), 0, 10**9
    while high - low > 1:
        middle = (low + high) // 2
        step = cost.t_layer(
            *("dp", middle * length, 64, 256, chip),
            X=X,
            M_X=axes or len(pod),
        )
        if step.backward.math >= step.backward.comm:
            high = middle
        else:
            low = middle
    return high


@question.visible(
    "pod_sequences",
    ([16, 20, 28], 4.59e14, 9e10, 4096),
    ([16, 16], 1.97e14, 4.5e10, 2048),
    ([20, 20, 20], 6.0006e14, 1e11, 100),  # 1000.1 tokens on each chip
    ([4, 8], 2.0**50, 2.0**36, 1024),  # whole to the last digit
)
def check_pod(pod, C, link_bw, length):
    """Question 5: the fewest sequences that keep a pod compute-bound."""
    wanted = _batch_by_search(pod, C, link_bw, length)
    one_chip = C / (len(pod) * 2 * link_bw)
    of_three = prod(pod) * C / (3 * 2 * link_bw)
    compare.equal(
        f"pod_sequences({pod}, {C:g}, {link_bw:g}, {length})",
        student.call("pod_sequences", pod, C, link_bw, length),
        wanted,
        likely=[
            (
                _batch_by_search(pod, C, link_bw, length, 1),
                "you use the links of one axis only",
            ),
            (
                _batch_by_search(pod, 2 * C, link_bw, length),
                "yours are twice too many: a ring has two directions, and a "
                "gradient in bf16 two bytes",
            ),
            (
                _batch_by_search(pod, C, link_bw, 1),
                "yours are tokens, not sequences",
            ),
            (
                _ceiling(one_chip / length),
                "yours are enough for one chip; the pod has more",
            ),
            (_ceiling(of_three / length), "you took three axes for every pod"),
            (
                _ceiling(prod(pod) * _ceiling(one_chip) / length),
                "you rounded the tokens of one chip; round at the end only",
            ),
            (
                prod(pod) * _ceiling(one_chip / length),
                "you give each chip whole sequences; here they may be cut",
            ),
            (
                _ceiling((prod(pod) - 1) * one_chip / length),
                "you send (N - 1)/N; the limit of many chips is asked for",
            ),
            (
                _ceiling(sum(pod) * one_chip / length),
                "you add up the axes; a pod has the product of them",
            ),
            (wanted - 1, "yours is one too few: still communication-bound"),
            (wanted + 1, "yours is one too many"),
        ],
    )


def grade_pod():
    """Question 5 with other pods."""
    draw = question.draw("pod")
    for axes in (1, 2, 3):
        sizes = (4 * draw.integers(1, 6, axes)).tolist()
        # Never a whole number, which rounding could miss: 7 does not divide it.
        flops = 7e12 * draw.integers(13, 140) + 1e12
        bandwidth = 1e9 * draw.integers(20, 99)
        length = 7 * int(draw.integers(15, 430))
        check_pod(sizes, float(flops), float(bandwidth), length)


# --- time --------------------------------------------------------------------


def _played(layers, product, reduce):
    """The tasks of the backward pass, played."""
    tasks, last = [], ()
    for n in range(2 * layers):
        tasks.append(Task(f"dW {n}", "chip", product, last))
        tasks.append(Task(f"sum {n}", "network", reduce, (f"dW {n}",)))
        tasks.append(Task(f"next {n}", "chip", product, (f"dW {n}",)))
        last = (f"next {n}",)
    return timeline.play(tasks)


def _preferred(layers, product, reduce, key=max, late=0, whose=slice(-2, None)):
    """When both sums of the first layer are done, if it is preferred.

    key    which of the sums that wait goes next
    late   how long before the network is free a dW must be there
    whose  which sums are asked for, in the order in which they come
    """
    heap = sorted((2 * n + 1) * product for n in range(2 * layers))
    now, waiting, ends = 0, [], {}
    while len(ends) < 2 * layers:
        while heap and heap[0] <= now - late * bool(waiting):
            waiting.append(heap.pop(0))
        if not waiting:
            now = heap[0]
            continue
        came = key(waiting)
        waiting.remove(came)
        now += reduce
        ends[came] = now
    return max(ends[came] for came in sorted(ends)[whose])


@question.visible(
    "uncovered",
    (2, 1.0, 4.5),
    (3, 1.0, 3.5),
    (3, 2.0, 1.5),
    (1, 0.25, 0.375),
    (3, 4.0, 5.0),
    (4, 1.0, 3.5),
    (3, 1.0, 4.0),  # a dW comes at the moment when the network is free
)
def check_uncovered(layers, product, reduce):
    """Question 6: when all is done, what is not hidden, and what is first."""
    run = _played(layers, product, reduce)
    end, bare = timeline.makespan(run), timeline.exposed(run)
    math, comm = 4 * layers * product, 2 * layers * reduce
    asked = f"uncovered({layers}, {product}, {reduce})"
    got = student.call("uncovered", layers, product, reduce)
    first, second, third = compare.numbers(asked, got, 3)
    merged = 0
    for n in range(layers):
        merged = max(merged, (4 * n + 3) * product) + reduce
    # A few sums of floats; where nothing is bare, the second is rounded to 0.
    compare.close(
        f"{asked}, the first",
        first,
        end,
        rel=1e-9,
        likely=[
            (math, "you forget that the last sum outlasts the chip"),
            (max(math, comm), "you take the maximum; a sum waits for its dW"),
            (math + comm, "you add them up, as if the chip stopped for sums"),
            (
                max(merged, math),
                "you have one sum a layer; a layer has two",
            ),
            (
                math + reduce,
                "your last sum waits for the last product; it may start when "
                "its dW is there",
            ),
            (
                math - product + reduce,
                "your last sum never waits for the network, or your chip is "
                "never the last",
            ),
            (product + comm, "your network never pauses after the first dW"),
            (
                end + product,
                "your sums start one product late; each can start when its "
                "own dW is there",
            ),
        ],
    )
    _compare_bare(
        f"{asked}, the second",
        second,
        bare,
        1e-9 * end,
        [
            (comm, "you count all sums; some hide behind products"),
            (
                max(comm - math, 0),
                "you hide sums behind products that come before them",
            ),
            (reduce, "you leave all of the last AllReduce bare"),
            ((end - math) / 2, "you give half of it"),
        ],
    )
    last = _preferred(layers, product, reduce)
    compare.close(
        f"{asked}, the third",
        third,
        last,
        rel=1e-9,
        likely=[
            (
                _preferred(layers, product, reduce, min),
                "in yours the first layer's sums are done only with the last "
                "of all; its dW come last, and should not wait for all others",
            ),
            (
                product + 2 * layers * reduce,
                "your network takes all sums in a row; the first layer's wait "
                "for all others",
            ),
            (
                _preferred(layers, product, reduce, whose=slice(2)),
                "those are the sums that come first; they are the last layer's",
            ),
            (
                _preferred(layers, product, reduce, late=product / 1000),
                "a dW that comes at the moment when the network is free is "
                "waiting, too",
            ),
            (
                last - reduce,
                "one of the first layer's two sums is not yet done",
            ),
            (
                (4 * layers - 3) * product + 2 * reduce,
                "you forget that the network may be busy, or that the last dW "
                "comes later, when the first layer's turn comes",
            ),
            (
                (4 * layers - 1) * product + reduce,
                "your last sum waits for nothing; one that has begun is not "
                "interrupted",
            ),
            (
                (4 * layers - 1) * product + 2 * reduce,
                "you let both sums wait for the last dW; dW_out is there "
                "two products earlier",
            ),
        ],
    )


def _compare_bare(asked, got, right, slack, likely):
    """Compare seconds that may be none, with a slack that is not a share."""
    if compare.near(got, right, slack):
        return
    for value, sentence in likely:
        if compare.near(got, value, slack):
            compare.wrong(asked, got, sentence)
    compare.wrong(asked, got, compare.LAST_RESORT)


def grade_uncovered():
    """Question 6 with other times."""
    draw = question.draw("uncovered")
    for product_, reduce in ((1, 9), (4, 5), (4, 7), (5, 1), (3, 3)):
        scale = 2.0 ** int(draw.integers(-3, 4))  # sums stay exact
        layers = int(draw.integers(2, 9))
        check_uncovered(layers, scale * product_, scale * reduce)


def _average_length(examples, B):
    """Mean squared length over every batch of B that can be drawn."""
    batches = product(range(len(examples)), repeat=B)
    means = [examples[list(batch)].mean(0) for batch in batches]
    return float(np.mean([(mean**2).sum() for mean in means]))


@question.visible(
    "noise_scale",
    (2, 6, [[4.0, 1], [3, -1], [-2, 5]]),
    (1, 4, [[1.0, 2], [3, -1], [2, 3]]),
)
def check_noise(few, many, examples):
    """Question 7: the noise scale, from lengths averaged over all batches."""
    examples = np.array(examples)
    chip, mean = (_average_length(examples, B) for B in (few, many))
    spread = ((examples - examples.mean(0)) ** 2).sum(1).mean()
    signal = (examples.mean(0) ** 2).sum()
    # Noise that falls with the root of the batch, and sizes exchanged.
    root = (chip - mean) / (few**-0.5 - many**-0.5)
    turned = (few * mean - many * chip) / (few - many)
    swapped = (many * chip - few * mean) / (many - few)
    compare.close(
        f"noise_scale({few}, {chip:.6g}, {many}, {mean:.6g})",
        student.call("noise_scale", few, chip, many, mean),
        spread / signal,
        likely=[
            (spread, "yours is the noise alone; divide by the signal"),
            (spread / mean, "you take the length for many as the signal"),
            (spread / chip, "you take the length for few as the signal"),
            (signal / spread, "yours is upside down"),
            (few * (chip - mean) / mean, "you take the mean as the signal"),
            (many * (chip - mean) / mean, "you take the mean as the signal"),
            (spread / few / signal, "yours is the noise of few, not of one"),
            (root / (chip - root / few**0.5), "your noise falls with a root"),
            (few * (chip - turned) / turned, "you exchanged the two batches"),
            (
                spread / swapped,
                "you exchanged the two batches where you find the signal",
            ),
            (
                -spread / signal,
                "yours is negative: the larger batch has the smaller noise",
            ),
            (
                (spread / signal) ** 0.5,
                "you take a root; lengths are squared, and stay so",
            ),
            (
                -spread / (chip + spread / few),
                "yours is negative: the larger batch has the smaller noise",
            ),
            (
                (chip - mean) / mean,
                "the difference of the two lengths is not yet the noise of one "
                "example: the sentence divides that by the batch, in both",
            ),
            (
                (chip - mean) / signal,
                "the difference of the two lengths is not yet the noise of one "
                "example: the sentence divides that by the batch, in both",
            ),
            (
                few * (chip - mean) / signal,
                "you take the noise of many as nothing; it is small, not none",
            ),
            (
                few * many * (chip - mean) / signal,
                "from the difference of 1/few and 1/many you keep the product "
                "of both and forget their difference",
            ),
            (
                spread / (chip - spread),
                "you take off the noise of one example; a length for few holds "
                "a few-th of it",
            ),
            (
                spread / (mean - spread),
                "you take off the noise of one example; a length for many "
                "holds a many-th of it",
            ),
        ],
    )


def grade_noise():
    """Question 7 with other examples."""
    draw = question.draw("noise")
    for few, many in ((1, 6), (2, 5), (3, 6)):
        check_noise(few, many, draw.normal(1, 2, (3, 4)).tolist())


def _each(recipe):
    """Bytes of a recipe: weight, gradient, master copy and both moments."""
    return [int(n) for n in memory.state_terms(1, recipe=recipe).values()]


MIXED, SUMS = _each("mixed-precision"), _each("float32-gradients")
SHORT = _each("bf16-moments")


def _network(chip, X):
    """A row of chips, in words."""
    if not chip.axes:
        return "a GPU has one port, which is all that it sends"
    if hw.wraps(chip, X):
        return "the axis is a ring, used both ways round"
    return (
        "the axis is a line, whose last link brings all but one piece in the "
        "ReduceScatter, and again in the AllGather"
    )


def _obstacles(params, B, chip, X, recipe):
    """Bytes of a state, and the times of sums hop by hop and of products."""
    found = []
    if params * sum(recipe) > chip.hbm_bytes:
        found.append("memory")
    steps = ring.all_reduce_steps(
        2 * X,
        X,
        wrap=hw.wraps(chip, X),
        directions=hw.ring_directions(chip),
    )
    once = Fraction(ring.seconds(steps, 1)) / (2 * X)  # for a byte of V
    comms = float(once) * recipe[1] / chip.link_bw
    if comms > 4 * B / X / chip.flops:
        found.append("network")
    return found


@question.visible(
    "obstacles",
    (1_000_000_000, 8 * 3000, "v5e", 8, MIXED),  # fits to the byte
    (1_000_000_000, 16 * 3000, "v5e", 16, MIXED),
    (1_000_000_000, 16 * 3000, "v5e", 16, SUMS),
    (13_000_000_000, 8 * 2000, "h100", 8, MIXED),
    (13_000_000_000, 8 * 1500, "h100", 8, MIXED),
    (6_000_000_000, 4 * 2000, "v5p", 4, MIXED),
    (7_000_000_000, 4 * 1500, "v5p", 4, SHORT),
    (4_000_000_000, 8 * 1000, "h100", 8, SUMS),
)
def check_obstacles(params, B, name, X, recipe):
    """Question 8: what forbids plain data parallelism on a row of chips."""
    case = (params, B, name, X, recipe)
    asked, chip = f"obstacles{case}", hw.chip(name)
    got = compare.entries(asked, student.call("obstacles", *case), None)
    wanted = _obstacles(params, B, chip, X, recipe)
    both = ["memory", "network"]
    if not all(word in both for word in got):
        compare.wrong(asked, got, 'expected only "memory" and "network"')
    for word, sentence in (
        (
            "memory",
            f"each chip has {chip.hbm_bytes / 1e9:.0f} GB, and keeps all that "
            "the recipe lists, for every parameter",
        ),
        (
            "network",
            f"each of {X} chips has {B / X:.0f} tokens, each gradient "
            f"{recipe[1]} bytes, and {_network(chip, X)}",
        ),
    ):
        if (word in got) != (word in wanted):
            verb = "name" if word in got else "do not name"
            compare.wrong(asked, got, f'you {verb} "{word}": {sentence}')
    compare.equal(asked, got, wanted, [(both[::-1], "memory comes first")])


def grade_obstacles():
    """Question 8 with other models, batches and chips."""
    draw = question.draw("obstacles")
    rows = {"v5e": (4, 8, 16), "v6e": (2, 8, 16), "v5p": (2, 6, 8, 16)}
    rows |= {"h100": (2, 4, 8), "b200": (8,), "a100": (3, 8)}
    for name, sizes in rows.items():
        chip = hw.chip(name)
        for X in sizes:
            recipe = draw.permutation([2, 3, 4, 6, 8]).tolist()
            W = hw.axis_bw(chip, hw.wraps(chip, X))
            knee = recipe[1] * (X - 1) / X * chip.flops / (2 * W)
            most = chip.hbm_bytes / sum(recipe)
            for tokens in (0.48, 0.98, 1.02, 2.1):
                params = int(most * draw.choice([0.4, 0.98, 1.02, 2.5]))
                B = int(tokens * knee * X)
                check_obstacles(params, B, name, X, recipe)


V5P = (4.59e14, 9e10)


@question.visible(
    "dp_seconds",
    (40, 3_000_000, 5120, 13824, 4096, *V5P, False),
    (40, 3_000_000, 5120, 13824, 4096, *V5P, True),
    (40, 16_000_000, 5120, 13824, 4096, *V5P, True),
    (40, 16_000_000, 5120, 13824, 4096, *V5P, False),
)
def check_seconds(layers, B, D, F, X, C, link_bw, overlap):
    """Question 9: seconds of a step, layer by layer from volumes.

    layers, B, D, F  sizes of the stack
    X, C, link_bw    chips, and what one and its links can do
    overlap          whether the sums run beside the backward pass
    """
    params, W = 2 * D * F * layers, 2 * link_bw
    chip = replace(hw.V5P, flops=C, link_bw=link_bw)
    each = cost.t_layer("dp", B, D, F, chip, X=X)
    compare.close(
        f"dp_seconds({params}, {B}, {X}, {C:g}, {W:g}, {overlap})",
        student.call("dp_seconds", params, B, X, C, W, overlap),
        layers * cost.step_seconds(each, overlap),
        likely=_slips_of_seconds(
            6 * params * B / (X * C), 4 * params / W, X, overlap
        ),
    )


def _slips_of_seconds(math, comms, X, overlap):
    """Seconds that a mistake gives, with the mistake.

    math, comms  seconds of all arithmetic, and of the AllReduces
    """

    def step(forward, backward, comms, overlap=overlap):
        if overlap:
            return forward + max(backward, comms)
        return forward + backward + comms

    first, second = math / 3, 2 * math / 3
    return [
        (
            max(math, comms),
            "you hide sums behind the forward pass; they come later",
        ),
        (
            step(first, second, comms, not overlap),
            "you overlap the sums, though `overlap` is False"
            if not overlap
            else "you overlap nothing, though `overlap` is True",
        ),
        (
            step(first, second, comms / 2),
            "you pass over the array once; an AllReduce does so twice",
        ),
        (
            step(first, second, 2 * comms),
            "you send eight bytes a parameter; 8DF is for 2DF of them",
        ),
        (
            step(first, first, comms),
            "your arithmetic is a third short: the backward pass has twice "
            "the FLOPs of the forward pass, and both count",
        ),
        (
            max(first, comms) + second,
            "you run the sums beside the forward pass; they come later",
        ),
        (
            max(second, comms) if overlap else second + comms,
            "you leave out the forward pass",
        ),
        (
            step(first, second, comms / X),
            "your chips share the traffic; each sends for all gradients",
        ),
        (
            step(first, second, comms * (X - 1) / X),
            "yours is exact for a ring; the limit of many chips is asked for",
        ),
        (
            step(X * first, X * second, comms),
            "you let each chip take all tokens; X chips share them",
        ),
    ]


def grade_seconds():
    """Question 9 with other stacks."""
    draw = question.draw("seconds")
    for tokens in (300, 1500, 1900, 9000):
        sizes = (128 * draw.integers(4, 60, 2)).tolist()
        chips, layers = (
            16 * int(draw.integers(1, 60)),
            int(draw.integers(2, 90)),
        )
        on = (chips, 3.1e14, 8e10)
        for overlap in (True, False):
            check_seconds(layers, tokens * chips, *sizes, *on, overlap)


def _crossing(first, second, passes=2, **how):
    """The tokens at which two machines are equally fast, by halving.

    first, second  tuples of chips, FLOP/s of one, and bytes/s
    passes, how    as in `_step`
    """
    low, high = 0.0, 1.0
    while _step(first, high, passes, **how) < _step(
        second, high, passes, **how
    ):
        low, high = high, 2 * high
    for _ in range(80):
        middle = (low + high) / 2
        slower = _step(first, middle, passes, **how)
        if slower < _step(second, middle, passes, **how):
            low = middle
        else:
            high = middle
    return high


def _step(machine, tokens, passes=2, overlap=True, hides=2):
    """Seconds of a step of plain DP for each parameter.

    passes   how often the gradients go over the network
    overlap  whether sums run beside arithmetic
    hides    passes of arithmetic that sums run beside: 2 are the backward one
    """
    X, C, W = machine
    one_pass = 2 * tokens / (X * C)
    before = Task("before", "chip", (3 - hides) * one_pass)
    beside = Task("beside", "chip", hides * one_pass, ("before",))
    after = "before" if overlap else "beside"
    sums = Task("sums", "network", 2 * passes / W, (after,))
    return timeline.makespan(timeline.play([before, beside, sums]))


_CUBE, _NODES = (512, 4.59e14, 5.4e11), (512, 9.9e14, 4e11)


@question.visible(
    "crossing",
    (_CUBE, _NODES, True),
    (_CUBE, _NODES, False),
    ((256, 2e14, 6e11), (384, 9e14, 1e11), True),  # the first never waits
    ((640, 4e14, 1e11), (512, 9e14, 9e10), True),  # both wait
    ((640, 4e14, 1e11), (512, 9e14, 9e10), False),
)
def check_crossing(first, second, overlap):
    """Question 11: the tokens at which two machines are equally fast.

    first, second  tuples of chips, FLOP/s of one, and bytes/s; the first has
                   the quicker network, the second the quicker chips
    overlap        whether sums run beside the backward pass
    """
    right = _crossing(first, second, overlap=overlap)
    (X, C, W), (Y, E, V) = first, second
    waiting = (1 / V - 1 / W) / (1 / (X * C) - 1 / (Y * E))
    compare.close(
        f"crossing({first}, {second}, {overlap})",
        student.call("crossing", first, second, overlap),
        right,
        likely=[
            (
                _crossing(first, second, overlap=not overlap),
                "you overlap the sums, though `overlap` is False"
                if not overlap
                else "you overlap nothing, though `overlap` is True",
            ),
            (
                _crossing(first, second, overlap=overlap, hides=3),
                "you hide sums behind the forward pass; they come later",
            ),
            (
                _crossing(first, second, 1, overlap=overlap),
                "you pass over the gradients once; an AllReduce does so twice",
            ),
            (right / X, "those are the tokens of one chip of the first"),
            (right / Y, "those are the tokens of one chip of the second"),
            (
                X * C / W,
                "there the first no longer waits for its network; the second "
                "need not be as fast yet",
            ),
            (
                Y * E / V,
                "there the second no longer waits for its network; it may "
                "have overtaken the first before",
            ),
            (
                2 * waiting,
                "you let both wait for their networks; where the lines meet "
                "the first may have passed its kink",
            ),
            (
                2 / V / (3 / (X * C) - 1 / (Y * E)),
                "you let the first never wait for its network; where the "
                "lines meet it may still do so",
            ),
            (0, "the first is the faster one for small batches"),
        ],
    )


def grade_crossing():
    """Question 11 with other machines."""
    draw = question.draw("crossing")
    for _ in range(6):
        first = [int(64 * draw.integers(2, 40)), draw.uniform(2e14, 5e14)]
        chips = int(first[0] * draw.uniform(0.8, 1.5))
        second = [chips, first[1] * draw.uniform(1.6, 3)]
        first.append(float(draw.uniform(1e11, 6e11)))
        second.append(float(first[2] * draw.uniform(0.2, 0.9)))
        for overlap in (True, False):
            check_crossing(tuple(first), tuple(second), overlap)


def _layer_step(In, *W):
    """Gradients of the seven matrices of a layer on each chip, summed."""
    mine = [jax.lax.pcast(w, "X", to="varying") for w in W]

    def loss(W):
        up, gate, down, Q, K, V, O = W
        seen = In @ Q * (In @ K @ (In @ V).T).sum()
        return ((seen @ O + (In @ up * (In @ gate)) @ down) ** 2).sum()

    return jax.lax.psum(jax.grad(loss)(mine), "X")


def _layer_count(D, F, K, X):
    """Bytes that leave a chip, counted in its program."""
    mesh = AbstractMesh((X,), ("X",), axis_types=(AxisType.Auto,))
    mlp, attention = [(D, F), (D, F), (F, D)], [(D, D), (D, K), (D, K), (D, D)]
    arrays = [
        jax.ShapeDtypeStruct(shape, jnp.float32)
        for shape in ((2 * X, D), *mlp, *attention)
    ]
    step = jax.shard_map(
        _layer_step,
        mesh=mesh,
        in_specs=(P("X"), *[P()] * 7),
        out_specs=P(),
    )
    moved = count.collectives(step, *arrays)
    return sum(Fraction(c.sent) * c.times for c in moved)


@question.visible("layer_bytes", ([(4, 8, 1, 2), (8, 6, 4, 4), (3, 5, 2, 8)],))
def check_gate(points):
    """Question 10: the formula at points (D, F, K, X)."""
    ring = "(X - 1)/X"
    whole = "D*(3*F + 2*D + 2*K)"
    compare.formula(
        "layer_bytes",
        student.expression("layer_bytes"),
        "D F K X",
        _layer_count,
        [tuple(point) for point in points],
        closed=True,
        likely=[
            (f"24*D*F*{ring}", "you count the MLP alone; attention has four"),
            (f"16*D*(D + K)*{ring}", "you count attention alone"),
            (f"8*{whole}", "yours is the limit of many chips"),
            (
                f"4*{whole}*{ring}",
                "yours is half: gradients have four bytes here, and an "
                "AllReduce passes over them twice",
            ),
            (f"2*{whole}*{ring}", "yours is bf16, passed over once"),
            (
                f"12*{whole}*{ring}",
                "you let weights travel as well; under DP every chip has them",
            ),
            (f"8*{whole}/X", "you count one hop"),
            (f"8*{whole}*(X - 1)", "you send all of it to every other chip"),
            (
                f"8*D*(2*F + 2*D + 2*K)*{ring}",
                "you have two matrices in the MLP; it has a gate",
            ),
            (
                f"8*D*(3*F + 4*D)*{ring}",
                "your keys are as wide as queries; W_K and W_V are narrower",
            ),
        ],
    )


def grade_gate():
    """Question 10 at other points."""
    draw = question.draw("gate")
    for chips in draw.choice(np.arange(2, 65), 5, replace=False).tolist():
        width, hidden, keys = draw.integers(1, 9, 3).tolist()
        check_gate([(chips * width, 2 * hidden, keys, chips)])
