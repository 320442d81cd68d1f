"""Which experts a token visits, and how the visits are kept even.

Scores are one number for each token and expert, higher for those that a token
likes better: chances of a softmax, or sigmoids. A visit is one token at one of
its k experts.
"""

import math

import jax
import jax.numpy as jnp

from shardlab.arguments import at_least_one, how_many, takes

__all__ = [
    "balance_loss",
    "choose",
    "choose_near",
    "drops",
    "imbalance",
    "move_bias",
    "nodes_of",
    "slots",
    "visits",
]


def _few(k, scores):
    if k > scores.shape[1]:
        raise ValueError(f"k must be at most {scores.shape[1]}, got {k}")


@takes(_few, k=how_many)
def choose(scores, k, bias=0.0):
    """The experts that each token visits, best first.

    scores   scores[B, E]
    k        experts that a token visits
    bias     bias[E], added for the choice only
    returns  experts[B, k], whole numbers
    raises   ValueError unless k is a whole number from 1 to E
    source   DeepSeek-V3 report, section 2.1.2
    """
    return jax.lax.top_k(scores + bias, k)[1]


def _near(scores, k, nodes, most):
    E = scores.shape[1]
    if E % nodes or nodes < most:
        raise ValueError(
            f"nodes must divide E = {E} and be at least most = {most}, "
            f"got {nodes}"
        )
    if k % most or k // most > E // nodes:
        raise ValueError(
            f"k must be a multiple of most = {most}, and k / most at most "
            f"E / nodes = {E // nodes}, got {k}"
        )


@takes(_near, k=how_many, nodes=how_many, most=how_many)
def choose_near(scores, k, nodes, most, bias=0.0):
    """The experts that each token visits, on a few nodes only.

    scores   scores[B, E]; the experts of a node stand together
    k        experts that a token visits, a multiple of `most`
    nodes    among which the experts are dealt
    most     nodes that a token may visit: where its best k / most add to most
    bias     bias[E], added for the choice only
    returns  experts[B, k], best first
    raises   ValueError that names the argument and what was expected
    source   DeepSeek-V3 report, section 2.1.2, node-limited routing
    """
    on_node = (scores + bias).reshape(len(scores), nodes, -1)  # [B, nodes, n]
    best = jax.lax.top_k(on_node, k // most)[0].sum(axis=2)  # [B, nodes]
    open_ = jax.nn.one_hot(jax.lax.top_k(best, most)[1], nodes).sum(1) > 0
    near = jnp.where(open_[..., None], on_node, -jnp.inf)
    return jax.lax.top_k(near.reshape(scores.shape), k)[1]


@takes(E=how_many)
def visits(experts, E):
    """How many visits each expert gets.

    experts  experts[B, k]
    E        experts of the layer
    returns  visits[E], whole numbers whose sum is k B
    raises   ValueError unless E is a whole number of at least 1
    source   Switch Transformer paper
    """
    chosen = experts.reshape(-1, 1) == jnp.arange(E)
    return chosen.sum(axis=0)


def imbalance(visits):
    """Visits of the busiest expert over those of the mean one.

    visits   visits[E], not all 0
    returns  a number from 1, all alike, to E, all at one
    source   chapter 14
    """
    return visits.max() / visits.mean()


@takes(B=how_many, k=how_many, E=how_many, capacity=at_least_one)
def slots(B, k, E, capacity=1):
    """Slots of an expert for a group of tokens.

    B, k, E   tokens of the group, experts that each visits, experts
    capacity  slots over the visits of the mean expert, at least 1
    returns   a whole number C, rounded up
    raises    ValueError that names the argument and what was expected
    source    Switch Transformer paper, expert capacity
    """
    return math.ceil(capacity * k * B / E)


@takes(C=how_many)
def drops(visits, C):
    """Visits that find no slot.

    visits   visits[E] of one group, or [groups, E]
    C        slots of an expert for a group
    returns  a whole number
    raises   ValueError unless C is a whole number of at least 1
    source   Switch Transformer paper
    """
    return int(jnp.maximum(jnp.asarray(visits) - C, 0).sum())


def balance_loss(chances, experts):
    """The auxiliary loss, as a rule the larger the less even the visits.

    chances  chances[B, E], each row of sum 1
    experts  experts[B, k] that the tokens visit
    returns  E times the sum of the share of visits times the mean chance of
             each expert: 1 if all are alike, E / k if all tokens choose the
             same k experts for certain. Its gradient flows through the
             chances alone
    source   Switch Transformer paper, equation 4
    """
    E = chances.shape[1]
    share = visits(experts, E) / experts.size
    return E * (share * chances.mean(axis=0)).sum()


def move_bias(bias, visits, rate):
    """The bias of the next step: up where visits are few, down where many.

    bias     bias[E], added to the scores for the choice only
    visits   visits[E] of this step, of all chips
    rate     by how much; DeepSeek-V3 took 0.001
    returns  bias[E]
    source   DeepSeek-V3 report, section 2.1.2
    """
    return bias + rate * jnp.sign(visits.mean() - visits)


def _whole_nodes(E, nodes):
    if E % nodes:
        raise ValueError(f"nodes must divide E = {E}, got {nodes}")


@takes(_whole_nodes, E=how_many, nodes=how_many)
def nodes_of(experts, E, nodes):
    """Which nodes each token visits.

    experts  experts[B, k]
    E, nodes  experts of the layer, and nodes among which they are dealt
    returns  [B, nodes], True where one of the token's experts is
    raises   ValueError unless nodes divides E
    source   chapter 14
    """
    here = experts // (E // nodes)
    return (here[..., None] == jnp.arange(nodes)).any(axis=1)
