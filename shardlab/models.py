"""Shapes of models, each with a dated source, and what follows from them."""

import json
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import MappingProxyType

from shardlab.arguments import one_of, whole

__all__ = [
    "MODELS",
    "Model",
    "a_model",
    "active_params",
    "attention_params",
    "forward_flops",
    "model",
    "parameter_terms",
    "params",
    "simplify",
]


@dataclass(frozen=True)
class Model:
    """The shape of a Transformer; the model's own names are words.

    name            as `model` finds it, such as "llama-2-13b"
    L, D, F         layers, model size, hidden size of a dense layer's MLP
    heads           query heads; `kv_heads` of keys and of values, `head_size`
                    elements of each
    vocab           entries of the vocabulary
    context         tokens of a sequence in training, where a job names none
    gated           True: three weight matrices in an MLP; False: two
    tied            True: one table embeds tokens and makes logits
    experts         routed experts of a layer; 0: the model is dense
    active, shared  experts that a token visits; experts that all tokens visit
    F_expert        hidden size of one expert
    dense_layers    layers, among L, that have one dense MLP and no experts
    latent          (query rank, key-value rank, rotary size) of attention that
                    keeps a latent vector; (): none
    dropout         True: a layer drops out of attention, of its projection and
                    of its MLP, and keeps the masks, as Megatron's did
    ends            places, besides L, when layers are dealt to the stages of a
                    pipeline: 2 if embedding and head each take one
    simplified      True: time as the field's texts count it (`simplify`)
    window          tokens that a token attends to in `windowed` of the L
                    layers (sliding windows); 0: all layers attend to all
    predicts        further tokens that modules at the end predict, each with
                    one more layer and head (multi-token prediction)
    source          document and date
    """

    name: str
    L: int
    D: int
    F: int
    heads: int
    kv_heads: int
    head_size: int
    vocab: int
    context: int
    gated: bool = True
    tied: bool = False
    experts: int = 0
    active: int = 0
    shared: int = 0
    F_expert: int = 0
    dense_layers: int = 0
    latent: tuple[int, ...] = ()
    dropout: bool = False
    ends: int = 0
    simplified: bool = False
    window: int = 0
    windowed: int = 0
    predicts: int = 0
    source: str = "the reader's own"

    def __post_init__(self):
        for name in _AT_LEAST_ONE + _AT_LEAST_NONE:
            size = getattr(self, name)
            if whole(name, size, least=int(name in _AT_LEAST_ONE)) > LARGEST:
                raise ValueError(
                    f"{name} must be at most {LARGEST:,}, got {size}"
                )
        for name in ("gated", "tied", "dropout", "simplified"):
            one_of(name, getattr(self, name), (True, False))
        _refuse_text(self)
        _refuse_misfits(self)
        _refuse_bad_latent(self)

    def __hash__(self):
        return hash(self.name)  # a search looks its model up very often


LARGEST = 10**9  # no size of a model is larger, and its products are floats
_AT_LEAST_ONE = (
    *("L", "D", "F", "heads", "kv_heads", "head_size", "vocab", "context"),
)
_AT_LEAST_NONE = (
    *("experts", "active", "shared", "F_expert", "dense_layers", "ends"),
    *("window", "windowed", "predicts"),
)


def _refuse_text(model):
    for name in ("name", "source"):
        value = getattr(model, name)
        if not isinstance(value, str) or not value:
            raise ValueError(f"{name} must be some text, got {value!r}")


def _refuse_misfits(model):
    if model.heads % model.kv_heads:
        raise ValueError(
            f"heads must be a multiple of kv_heads = {model.kv_heads}, got "
            f"{model.heads}"
        )
    for name, most in (
        ("active", model.experts),
        ("dense_layers", model.L),
        ("windowed", model.L),
    ):
        if getattr(model, name) > most:
            raise ValueError(
                f"{name} must be at most {most}, got {getattr(model, name)}"
            )
    if bool(model.window) != bool(model.windowed):
        raise ValueError(
            "window must be above 0 just if some layers are windowed, got "
            f"{model.window} and {model.windowed} layers"
        )
    _refuse_half_experts(model)


def _refuse_half_experts(model):
    for name in ("active", "F_expert"):
        value = getattr(model, name)
        if bool(model.experts) != bool(value):
            raise ValueError(
                f"{name} must be above 0 just if there are experts, got "
                f"{value} with experts = {model.experts}"
            )
    if model.simplified and model.experts:
        raise ValueError(
            f"experts must be 0 in a simplified model, got {model.experts}"
        )


def _refuse_bad_latent(model):
    latent = model.latent
    if not isinstance(latent, tuple) or len(latent) not in (0, 3):
        raise ValueError(
            "latent must be () or (query rank, key-value rank, rotary size), "
            f"got {latent!r}"
        )
    for value in latent:
        if whole("latent", value) > LARGEST:
            raise ValueError(f"latent must be at most {LARGEST:,}, got {value}")


# ---- what there is -----------------------------------------------------------

LLAMA_2 = "Llama 2 paper, arXiv 2307.09288, and released weights, 2023-07-18"
LLAMA_3 = "Llama 3 report, arXiv 2407.21783, table 3, 2024-07-31"
GEMMA_2 = "Gemma 2 report, arXiv 2408.00118, table 1, 2024-07-31"
DEEPSEEK = "DeepSeek-V3 report, arXiv 2412.19437, section 4.2, 2024-12-27"
DEEPSEEK_V2 = "DeepSeek-V2 report, arXiv 2405.04434, section 3.1.2, 2024-05-07"
DEEPSEEK_LLM = "DeepSeek LLM report, arXiv 2401.02954, table 2, 2024-01-05"
OLMO_2 = "OLMo 2 report, arXiv 2501.00656, and OLMo-core, 2025-03-13"
PALM = "PaLM paper, arXiv 2204.02311, table 1, 2022-04-05"
YI = "Yi report, arXiv 2403.04652, table 1, 2024-03-07"
MEGATRON = "Megatron-LM paper, arXiv 2104.04473, table 1, 2021-04-09"


def _llama(name, L, D, F, heads, kv_heads, vocab, context, source, ends=0):
    shape = (L, D, F, heads, kv_heads, D // heads, vocab, context)
    return Model(name, *shape, ends=ends, source=source)


def _gemma(name, L, D, F, heads, kv_heads, head_size):
    # Its table prints twice this F: the gate and the input matrix together.
    shape = (L, D, F, heads, kv_heads, head_size, 256_128, 8192)
    return Model(name, *shape, tied=True, source=GEMMA_2)


def _megatron(name, L, D, heads):
    shape = (L, D, 4 * D, heads, heads, D // heads, 51_200, 2048)
    how = {"gated": False, "tied": True, "dropout": True}
    return Model(name, *shape, **how, source=MEGATRON)


_KNOWN = [
    _llama("llama-2-7b", 32, 4096, 11_008, 32, 32, 32_000, 4096, LLAMA_2),
    _llama("llama-2-13b", 40, 5120, 13_824, 40, 40, 32_000, 4096, LLAMA_2),
    _llama("llama-2-70b", 80, 8192, 28_672, 64, 8, 32_000, 4096, LLAMA_2),
    _llama("llama-3-8b", 32, 4096, 14_336, 32, 8, 128_256, 8192, LLAMA_3),
    _llama("llama-3-70b", 80, 8192, 28_672, 64, 8, 128_256, 8192, LLAMA_3),
    # The report gives the first and the last stage one layer less each.
    _llama(
        *("llama-3-405b", 126, 16_384, 53_248, 128, 8, 128_256, 8192),
        source=LLAMA_3,
        ends=2,
    ),
    _gemma("gemma-2-2b", 26, 2304, 9216, 8, 4, 256),
    _gemma("gemma-2-9b", 42, 3584, 14_336, 16, 8, 256),
    _gemma("gemma-2-27b", 46, 4608, 36_864, 32, 16, 128),
    Model(
        *("deepseek-v3", 61, 7168, 18_432, 128, 128, 128, 129_280, 4096),
        experts=256,
        active=8,
        shared=1,
        F_expert=2048,
        dense_layers=3,
        latent=(1536, 512, 64),
        ends=3,  # assumed: 61 layers make equal stages with three places more
        source=DEEPSEEK,
    ),
    Model(
        *("deepseek-v2", 60, 5120, 12_288, 128, 128, 128, 102_400, 4096),
        experts=160,
        active=6,
        shared=2,
        F_expert=1536,
        dense_layers=1,
        latent=(1536, 512, 64),
        ends=4,  # assumed, so that 16 stages are equal
        source=DEEPSEEK_V2,
    ),
    _llama(
        *("deepseek-67b", 95, 8192, 22_016, 64, 8, 102_400, 4096),
        source=DEEPSEEK_LLM,
        ends=1,  # assumed, so that stages are equal
    ),
    _llama("yi-34b", 60, 7168, 20_480, 56, 8, 64_000, 4096, YI),
    _llama("olmo-2-32b", 64, 5120, 27_648, 40, 8, 100_352, 4096, OLMO_2),
    # Its vocabulary has 256,000 entries; a few more divide by 12.
    Model(
        *("palm-540b", 118, 18_432, 73_728, 48, 1, 256, 256_008, 2048),
        tied=True,
        source=PALM,
    ),
    _megatron("megatron-1.7b", 24, 2304, 24),
    _megatron("megatron-3.6b", 30, 3072, 32),
    _megatron("megatron-7.5b", 36, 4096, 32),
    _megatron("megatron-18b", 40, 6144, 48),
    _megatron("megatron-39b", 48, 8192, 64),
    _megatron("megatron-76b", 60, 10_240, 80),
    _megatron("megatron-145b", 80, 12_288, 96),
    _megatron("megatron-310b", 96, 16_384, 128),
    _megatron("megatron-530b", 105, 20_480, 128),
    _megatron("megatron-1t", 128, 25_600, 160),
]


def simplify(model):
    """The same model as the field's texts time it, a model of its own.

    Its layer is two matmuls, without gate and attention; nothing has to
    divide; each mesh axis lies on whole axes of the network, all of them rings
    of many chips. Its memory is that of the real model.

    model    a dense Model
    returns  Model, named "...-mlp"
    raises   ValueError if model is no Model, or has experts
    source   scaling-book part 5
    """
    model = a_model(model)
    if model.simplified:
        return model
    return replace(model, name=f"{model.name}-mlp", simplified=True)


def a_model(model):
    """The argument `model`, if it is a Model.

    model    Model
    returns  Model
    raises   ValueError that says how to look one up by name, if it is not
    source   chapter 15
    """
    if not isinstance(model, Model):
        raise ValueError(
            "model must be a Model, such as plan.model('llama-2-13b'), "
            f"got {model!r}"
        )
    return model


MODELS = MappingProxyType(
    {m.name: m for m in _KNOWN}
    | {s.name: s for s in (simplify(m) for m in _KNOWN if not m.experts)}
)


def model(name):
    """The model of that name, or the one that a JSON file describes.

    name     a key of MODELS in any case, or the path of a file: ".json"
    returns  Model
    raises   ValueError that lists the names, or says what is wrong in the file
    source   chapter 15
    """
    if isinstance(name, str) and name.endswith(".json"):
        return _from_file(name)
    try:
        return MODELS[name.lower() if isinstance(name, str) else name]
    except (KeyError, TypeError):
        names = ", ".join(n for n in MODELS if not n.endswith("-mlp"))
        raise ValueError(
            f"model must be one of {names}; a dense one with -mlp after its "
            f"name; or a .json file; got {name!r}"
        ) from None


def _from_file(path):
    try:
        said = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"model file {path!r}: {reason}") from None
    if not isinstance(said, dict):
        raise ValueError(f"model file {path!r} must hold a JSON object")
    _refuse_fields(path, said)
    if isinstance(said.get("latent"), list):
        said["latent"] = tuple(said["latent"])
    return Model(**said)


def _refuse_fields(path, said):
    names, needed = [f.name for f in fields(Model)], ("name", *_AT_LEAST_ONE)
    for problem, found in (
        ("no field of a model", [n for n in said if n not in names]),
        ("missing", [n for n in needed if n not in said]),
    ):
        if found:
            raise ValueError(
                f"model file {path!r}: {', '.join(found)} is {problem}; "
                f"fields are {', '.join(names)}"
            )


# ---- what follows ------------------------------------------------------------


def parameter_terms(model):
    """Parameters of a model, part by part, without norms.

    model    Model
    returns  dict of ints: attention, mlp, experts (routed), router, embedding
    raises   ValueError if model is no Model
    source   scaling-book part 5, question 1; DeepSeek-V3 report, section 4.2
    """
    m, matrices = a_model(model), 3 if model.gated else 2
    layers = m.L + m.predicts
    sparse = layers - m.dense_layers if m.experts else 0
    shared = m.shared * m.F_expert * sparse
    dense = (layers - sparse) * m.F + shared
    return {
        "attention": layers * attention_params(m),
        "mlp": matrices * m.D * dense + 2 * m.D * m.D * m.predicts,
        "experts": matrices * m.D * sparse * m.experts * m.F_expert,
        "router": m.D * sparse * m.experts,
        "embedding": m.vocab * m.D * (1 if m.tied else 2),
    }


def params(model):
    """Parameters of a model in all, without norms.

    model    Model
    returns  int
    raises   ValueError if model is no Model
    source   scaling-book part 5, question 1
    """
    return sum(parameter_terms(model).values())


def attention_params(model):
    """Parameters of the attention of one layer.

    model    Model
    returns  int: query, key, value and output matrices; with a latent vector
             the matrices down to it and up from it
    raises   ValueError if model is no Model
    source   scaling-book part 4; DeepSeek-V3 report, section 2.1.1
    """
    m = a_model(model)
    h = m.heads * m.head_size
    if not m.latent:
        return m.D * (2 * h + 2 * m.kv_heads * m.head_size)
    query, keys, rotary = m.latent
    down = m.D * (query + keys + rotary)
    up = query * (h + m.heads * rotary) + keys * 2 * h
    return down + up + h * m.D


def forward_flops(model, sequence):
    """FLOPs of the forward pass for one token, part by part.

    model     Model
    sequence  tokens that each token attends to; causal masks save nothing
    returns   dict of ints: matmuls and scores of all layers, head
    raises    ValueError that names the argument and what was expected
    source    scaling-book part 4; PaLM paper
    """
    m, s = a_model(model), whole("sequence", sequence)
    if m.simplified:
        return {"matmuls": 4 * m.L * m.D * m.F, "scores": 0, "head": 0}
    terms = parameter_terms(m)
    visited = terms["experts"] * m.active // max(m.experts, 1)
    weights = terms["attention"] + terms["mlp"] + terms["router"] + visited
    rotary = m.latent[2] if m.latent else 0
    width = m.heads * (2 * m.head_size + rotary)
    seen = (m.L + m.predicts - m.windowed) * s
    seen += m.windowed * min(s, m.window)
    return {
        "matmuls": 2 * weights,
        "scores": 2 * seen * width,
        "head": 2 * m.D * m.vocab * (1 + m.predicts),
    }


def active_params(model):
    """Parameters that one token meets: all but the experts it does not visit.

    model    Model
    returns  int
    raises   ValueError if model is no Model
    source   DeepSeek-V3 report, section 4.2
    """
    terms = parameter_terms(model)
    visited = terms["experts"] * model.active // max(model.experts, 1)
    return sum(terms.values()) - terms["experts"] + visited
