"""Bytes that a device must hold: states of the parameters, and activations.

Each total is tallied from named terms, so that a reader sees what it is made
of, and each tally has a closed form beside it that shares no term with it.
Sizes are in elements, results in bytes for one device; 1 GB is 1e9 bytes.
Activations are exact ints, and a size that does not divide is an error.
"""

from dataclasses import dataclass
from typing import NamedTuple

from shardlab.arguments import one_of, real, takes, whole

__all__ = [
    "LAYER",
    "MOST_LAYERS",
    "RECIPES",
    "RECOMPUTE",
    "Kept",
    "Recipe",
    "activation_bytes",
    "activation_terms",
    "block_bytes",
    "block_terms",
    "bytes_per_param",
    "checkpoint_bytes",
    "checkpoint_terms",
    "max_params",
    "memory_over_step",
    "peak_over_step",
    "stage_activation_bytes",
    "state_bytes",
    "state_terms",
]

# ---- states of the parameters ----------------------------------------------


@dataclass(frozen=True)
class Recipe:
    """Bytes that training keeps for one parameter.

    param    the weight that the matmuls read
    grad     its gradient; 0 if it is not counted
    master   a second copy of the weight in more precision; 0 if there is none
    m, v     the two moments of Adam
    raises   ValueError unless each is a finite number of at least 0
    source   who counts like this
    """

    param: float
    grad: float
    master: float
    m: float
    v: float
    source: str = "the reader's own"

    def __post_init__(self):
        for part in _PARTS:
            real(part, getattr(self, part))
        if self.param == 0:
            raise ValueError(f"param must be above 0 bytes, got {self.param!r}")


_PARTS = ("param", "grad", "master", "m", "v")

RECIPES = {
    "weights-and-moments": Recipe(2, 0, 0, 4, 4, "scaling-book part 5"),
    "bf16-moments": Recipe(2, 2, 4, 2, 2, "CS336 (2025), lecture 7"),
    "mixed-precision": Recipe(2, 2, 4, 4, 4, "ZeRO paper"),
    "float32": Recipe(
        *(4, 0, 0, 4, 4),
        "MaxText: float32 weights and moments, no bf16 copy is stored",
    ),
    "float32-gradients": Recipe(
        *(2, 4, 4, 4, 4), "Megatron-Core documentation, distributed optimizer"
    ),
}


def _recipe(name, value):
    """The argument `name`, if it is a name in RECIPES or a Recipe."""
    if not isinstance(value, Recipe):
        one_of(name, value, RECIPES)
    return value


def _devices(name, value):
    """The argument `name`, if it is a whole number that a float can hold."""
    real(name, whole(name, value))
    return value


def _positive(name, value):
    return real(name, value, above=0)


_STATES = {"N": _devices, "zero": (0, 1, 2, 3), "recipe": _recipe}


@takes(recipe=_recipe)
def bytes_per_param(recipe):
    """Bytes that a recipe keeps for one parameter.

    recipe   a name in RECIPES, or a Recipe
    returns  bytes per parameter
    raises   ValueError if the recipe is not known
    source   ZeRO paper
    """
    recipe = RECIPES.get(recipe, recipe)
    return sum(getattr(recipe, part) for part in _PARTS)


@takes(params=_positive, **_STATES)
def state_terms(params, N=1, zero=0, recipe="mixed-precision"):
    """What one of N data-parallel devices keeps for the parameters.

    params   parameters of the model
    N        devices that share the work
    zero     what is cut in N: 0 nothing (plain data parallelism), 1 master
             and moments, 2 gradients as well, 3 weights as well (FSDP)
    recipe   a name in RECIPES, or a Recipe
    returns  bytes per device, for each part of the recipe
    raises   ValueError if an argument is out of range or unknown
    source   ZeRO paper, figure 1
    """
    recipe = RECIPES.get(recipe, recipe)
    cut_from = {"param": 3, "grad": 2, "master": 1, "m": 1, "v": 1}
    return {
        part: params * getattr(recipe, part) / (N if zero >= stage else 1)
        for part, stage in cut_from.items()
    }


@takes(params=_positive, **_STATES)
def state_bytes(params, N=1, zero=0, recipe="mixed-precision"):
    """The sum of `state_terms`, from the formulas of the ZeRO paper.

    params   parameters of the model
    N        devices that share the work
    zero     0 to 3, as in `state_terms`
    recipe   a name in RECIPES, or a Recipe
    returns  bytes per device
    raises   ValueError if an argument is out of range or unknown
    source   ZeRO paper, figure 1
    """
    return params * _state_bytes_per_param(N, zero, recipe)


@takes(hbm=_positive, **_STATES)
def max_params(hbm, N=1, zero=0, recipe="mixed-precision"):
    """The most parameters whose states fit, with no room for activations.

    hbm      bytes of memory of one device
    N        devices that share the work
    zero     0 to 3, as in `state_terms`
    recipe   a name in RECIPES, or a Recipe
    returns  parameters of the model
    raises   ValueError if an argument is out of range or unknown
    source   scaling-book part 5; CS336 (2025), lecture 7
    """
    return hbm / _state_bytes_per_param(N, zero, recipe)


def _state_bytes_per_param(N, zero, recipe):
    recipe = RECIPES.get(recipe, recipe)
    total, param, grad = bytes_per_param(recipe), recipe.param, recipe.grad
    return {
        0: total,
        1: param + grad + (total - param - grad) / N,
        2: param + (total - param) / N,
        3: total / N,
    }[zero]


# ---- activations of one Transformer layer ----------------------------------


class Kept(NamedTuple):
    """Something that the forward pass of a layer keeps for the backward pass.

    bytes_each  bytes for each element of `of`
    of          "sbh", hidden states, or "abss", the scores of all heads
    cut_by      "TP", tensor parallelism cuts it, or "SP", only sequence
                parallelism does
    source      Korthikanti et al. (2022)
    """

    bytes_each: int
    of: str
    cut_by: str


LAYER = {
    "layer norm 1 input": Kept(2, "sbh", "SP"),
    "query, key, value input": Kept(2, "sbh", "SP"),
    "query and key": Kept(4, "sbh", "TP"),
    "value": Kept(2, "sbh", "TP"),
    "softmax output": Kept(2, "abss", "TP"),
    "softmax dropout mask": Kept(1, "abss", "TP"),
    "softmax dropout output": Kept(2, "abss", "TP"),
    "attention projection input": Kept(2, "sbh", "TP"),
    "attention dropout mask": Kept(1, "sbh", "SP"),
    "layer norm 2 input": Kept(2, "sbh", "SP"),
    "first MLP matmul input": Kept(2, "sbh", "SP"),
    "GeLU input": Kept(8, "sbh", "TP"),
    "second MLP matmul input": Kept(8, "sbh", "TP"),
    "MLP dropout mask": Kept(1, "sbh", "SP"),
}

RECOMPUTE = {
    "none": (),
    "selective": [name for name, kept in LAYER.items() if kept.of == "abss"],
    "full": [name for name in LAYER if name != "layer norm 1 input"],
}


def activation_terms(s, b, h, a, t=1, sp=False, recompute="none"):
    """What one layer keeps for its backward pass, term by term.

    s, b, h, a   sequence length, sequences, hidden size, heads
    t            devices over which tensor parallelism cuts the layer
    sp           True if sequence parallelism cuts the rest over them as well
    recompute    "none"; "selective", all scores; "full", all but the input
    returns      bytes per device for each name in LAYER that is kept, ints
    raises       ValueError unless h divides by a, a by t, and with sp s by t
    source       Korthikanti et al. (2022)
    """
    s, b, h, a, t = _layer_sizes(s, b, h, a, t, sp)
    dropped = RECOMPUTE[one_of("recompute", recompute, RECOMPUTE)]
    elements = {"sbh": s * b * h, "abss": a * b * s * s}
    cut = {"TP": t, "SP": t if sp else 1}
    return {
        name: kept.bytes_each * (elements[kept.of] // cut[kept.cut_by])
        for name, kept in LAYER.items()
        if name not in dropped
    }


def activation_bytes(s, b, h, a, t=1, sp=False, recompute="none"):
    """sbh (10 + 24/t + 5as/(ht)); with sp sbh (34 + 5as/h) / t.

    s, b, h, a   sequence length, sequences, hidden size, heads
    t            devices over which tensor parallelism cuts the layer
    sp           True if sequence parallelism cuts the rest over them as well
    recompute    "none"; "selective", all scores; "full", all but the input
    returns      bytes per device and layer, an int: sum of `activation_terms`
    raises       ValueError unless h divides by a, a by t, and with sp s by t
    source       Korthikanti et al. (2022)
    """
    s, b, h, a, t = _layer_sizes(s, b, h, a, t, sp)
    one_of("recompute", recompute, ("none", "selective", "full"))
    if recompute == "full":
        return 2 * s * b * h // (t if sp else 1)
    scores = 5 * a * s * s * b if recompute == "none" else 0
    if sp:
        return (34 * s * b * h + scores) // t
    return 10 * s * b * h + (24 * s * b * h + scores) // t


def _layer_sizes(s, b, h, a, t, sp):
    sizes = {"s": s, "b": b, "h": h, "a": a, "t": t}
    s, b, h, a, t = (whole(name, value) for name, value in sizes.items())
    one_of("sp", sp, (False, True))
    _refuse_rest("h", h, "a", a)
    _refuse_rest("a", a, "t", t)
    if sp:
        _refuse_rest("s", s, "t", t)
    return s, b, h, a, t


def _refuse_rest(name, value, by_name, by):
    if value % by:
        raise ValueError(
            f"{name} must be a multiple of {by_name} = {by}, got {value}"
        )


def stage_activation_bytes(layer_bytes, L, in_flight, v=1):
    """Activations that each stage of a pipeline holds at its worst moment.

    layer_bytes  bytes that one layer keeps for one microbatch
    L            layers of the model, cut equally over stages and chunks
    in_flight    for each stage the most microbatches it holds at one time; a
                 microbatch in two chunks of a stage counts twice
    v            chunks a stage
    returns      list of bytes, one a stage
    raises       ValueError if L does not divide or an argument is no count
    source       chapter 11
    """
    if not isinstance(in_flight, (list, tuple)) or not in_flight:
        raise ValueError(
            f"in_flight must be a list of a count a stage, got {in_flight!r}"
        )
    counts = [whole(f"in_flight[{s}]", n, 0) for s, n in enumerate(in_flight)]
    layer_bytes, L = whole("layer_bytes", layer_bytes), whole("L", L)
    chunks = len(counts) * whole("v", v)
    _refuse_rest("L", L, "stages x v", chunks)
    return [n * (L // chunks) * layer_bytes for n in counts]


# ---- the two-matmul block --------------------------------------------------


def checkpoint_terms(L, B, D, F, gated=True, itemsize=2):
    """What L blocks keep if only the outputs of their matmuls are kept.

    L, B, D, F   layers, tokens, model and hidden size
    gated        True for three matmuls and three checkpoints a layer, False
                 for two of each
    itemsize     bytes per element; 2 is bf16
    returns      bytes in all, before any sharding, for each matmul's output
    raises       ValueError unless sizes are whole and at least 1
    source       scaling-book part 5, question 2
    """
    sizes = {"L": L, "B": B, "D": D, "F": F, "itemsize": itemsize}
    L, B, D, F, itemsize = (whole(name, n) for name, n in sizes.items())
    terms = {"W_in": F, "W_gate": F, "W_out": D}
    if not one_of("gated", gated, (True, False)):
        del terms["W_gate"]
    return {name: itemsize * L * B * width for name, width in terms.items()}


def checkpoint_bytes(L, B, D, F, gated=True, itemsize=2):
    """The sum of `checkpoint_terms`, in closed form: 2 L B (D + 2 F) in bf16.

    L, B, D, F   layers, tokens, model and hidden size
    gated        True for three checkpoints a layer, False for two
    itemsize     bytes per element; 2 is bf16
    returns      bytes in all, before any sharding
    raises       ValueError unless sizes are whole and at least 1
    source       scaling-book part 5, question 2
    """
    sizes = {"L": L, "B": B, "D": D, "F": F, "itemsize": itemsize}
    L, B, D, F, itemsize = (whole(name, n) for name, n in sizes.items())
    matmuls_to_F = 2 if one_of("gated", gated, (True, False)) else 1
    return itemsize * L * B * (D + matmuls_to_F * F)


def block_terms(B, D, F, X=1, Y=1, itemsize=2):
    """What one device holds when the forward of In W_in W_out is at its peak.

    B, D, F   tokens, model and hidden size
    X, Y      devices on the FSDP axis and on the TP axis
    itemsize  bytes per element; 2 is bf16
    returns   bytes per device for each array alive at the second matmul
    raises    ValueError unless X divides B and D, and Y divides D and F
    source    scaling-book part 3, question 7; chapters 7 to 9
    """
    B, D, F, X, Y, itemsize = _block_sizes(B, D, F, X, Y, itemsize)
    arrays = {
        "In[B_X, D_Y]": (B // X) * (D // Y),
        "In[B_X, D]": (B // X) * D if Y > 1 else 0,
        "W_in[D_X, F_Y]": (D // X) * (F // Y),
        "W_out[F_Y, D_X]": (F // Y) * (D // X),
        "W_out[F_Y, D]": (F // Y) * D if X > 1 else 0,
        "Tmp[B_X, F_Y]": (B // X) * (F // Y),
        "Out[B_X, D]": (B // X) * D,
    }
    return {name: itemsize * size for name, size in arrays.items() if size}


def block_bytes(B, D, F, X=1, Y=1, itemsize=2):
    """The sum of `block_terms`, in closed form.

    B, D, F   tokens, model and hidden size
    X, Y      devices on the FSDP axis and on the TP axis
    itemsize  bytes per element; 2 is bf16
    returns   bytes per device, an int
    raises    ValueError unless X divides B and D, and Y divides D and F
    source    scaling-book part 3, question 7; chapters 7 to 9
    """
    B, D, F, X, Y, itemsize = _block_sizes(B, D, F, X, Y, itemsize)
    resident = B * D + 2 * D * F + B * F
    gathered = X * D * F * (X > 1) + Y * B * D * (Y > 1)
    return itemsize * (resident + gathered + Y * B * D) // (X * Y)


def _block_sizes(B, D, F, X, Y, itemsize):
    sizes = {"B": B, "D": D, "F": F, "X": X, "Y": Y, "itemsize": itemsize}
    B, D, F, X, Y, itemsize = (whole(name, n) for name, n in sizes.items())
    for name, value in (("B", B), ("D", D)):
        _refuse_rest(name, value, "X", X)
    for name, value in (("D", D), ("F", F)):
        _refuse_rest(name, value, "Y", Y)
    return B, D, F, X, Y, itemsize


# ---- memory over one training step -----------------------------------------

MOST_LAYERS = 10**6  # each is two moments of a step


def memory_over_step(L, layer_params, layer_bytes, recipe, first=False):
    """What one device holds, moment by moment, in a step through L layers.

    L             layers, all alike
    layer_params  parameters of one layer
    layer_bytes   activations that one layer keeps for its backward pass
    recipe        a name in RECIPES, or a Recipe
    first         True for the very first step: its update makes the moments
    returns       list of (moment, bytes of weights, gradients, moments and
                  activations by name); a master copy counts as weights
    raises        ValueError if an argument is out of range or unknown
    source        CS336 (2025), lecture 7
    """
    L, layer_params, layer_bytes, recipe = _step_sizes(
        L, layer_params, layer_bytes, recipe, first
    )
    layer = _layer_bytes(layer_params, layer_bytes, recipe)
    return [
        (name, {what: n * layer[what] for what, n in layers.items()})
        for name, layers in _moments_of_step(L, first)
    ]


def peak_over_step(L, layer_params, layer_bytes, recipe, first=False):
    """The most that one device holds at any moment of a step.

    The peak is in the backward pass: at its first layer if a layer's kept
    activations outweigh its gradients, else at its last. In the very first
    step it may be in the update, which makes the moments.

    L ... first   as in `memory_over_step`
    returns       bytes
    raises        ValueError if an argument is out of range or unknown
    source        CS336 (2025), lecture 7
    """
    L, params, kept, recipe = _step_sizes(
        L, layer_params, layer_bytes, recipe, first
    )
    grads, moments = params * recipe.grad, L * params * (recipe.m + recipe.v)
    backward = max(L * kept + grads, kept + L * grads)
    if first:
        backward -= moments
    weights = L * params * (recipe.param + recipe.master)
    return weights + moments + max(backward, L * grads)


def _step_sizes(L, layer_params, layer_bytes, recipe, first):
    real("layer_params", layer_params, above=0)
    real("layer_bytes", layer_bytes)
    one_of("first", first, (False, True))
    if whole("L", L) > MOST_LAYERS:
        raise ValueError(f"L must be at most {MOST_LAYERS:,} layers, got {L}")
    _recipe("recipe", recipe)
    return L, layer_params, layer_bytes, RECIPES.get(recipe, recipe)


def _layer_bytes(layer_params, layer_bytes, recipe):
    return {
        "weights": layer_params * (recipe.param + recipe.master),
        "gradients": layer_params * recipe.grad,
        "moments": layer_params * (recipe.m + recipe.v),
        "activations": layer_bytes,
    }


def _moments_of_step(L, first):
    """Yield each moment and how many layers hold each thing then."""
    held = {"weights": L, "gradients": 0, "moments": 0 if first else L}
    yield "start", held | {"activations": 0}
    for layer in range(1, L + 1):
        yield f"forward {layer}", held | {"activations": layer}
    for layer in range(L, 0, -1):
        now = {"gradients": L + 1 - layer, "activations": layer}
        yield f"backward {layer}", held | now
    yield "update", held | {"gradients": L, "moments": L, "activations": 0}
