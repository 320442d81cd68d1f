"""Tokens that travel to their experts, on nodes behind a network."""

from math import comb
from typing import NamedTuple

from shardlab.arguments import how_many, size, takes
from shardlab.hw import Chip

__all__ = ["Dispatch", "nodes_visited", "t_dispatch"]


class Dispatch(NamedTuple):
    """Seconds of one way, to the experts or back.

    card     through each GPU's network card, to other nodes
    port     through each GPU's port into the switch of its node
    """

    card: float
    port: float


def _dealt(E, k, nodes):
    if E % nodes:
        raise ValueError(f"nodes must divide E = {E}, got {nodes}")
    if k > E:
        raise ValueError(f"k must be at most E = {E}, got {k}")


@takes(_dealt, E=how_many, k=how_many, nodes=how_many)
def nodes_visited(E, k, nodes):
    """Nodes on which a token's experts are, if all choices are equally likely.

    E, k     experts, and how many different ones a token visits
    nodes    among which the experts are dealt
    returns  mean number of nodes, its own counted like any other
    raises   ValueError that names the argument and what was expected
    source   chapter 14
    """
    nowhere_here = comb(E - E // nodes, k) / comb(E, k)
    return nodes * (1 - nowhere_here)


def _has_card(chip):
    if chip.axes or not chip.dcn_bw:
        raise ValueError(
            f"chip must be one of nodes, such as h100, got {chip.name}"
        )


@takes(
    _has_card,
    B=size,
    D=size,
    chip=Chip,
    nodes=how_many,
    copies=size,
    k=how_many,
    gpus=how_many,
    itemsize=size,
)
def t_dispatch(B, D, chip, nodes, copies, k, gpus=8, itemsize=2):
    """Seconds until tokens are where their experts are, on nodes of GPUs.

    B, D      tokens of each GPU, and model size, in elements
    chip      Chip with a network card
    nodes     over which the experts are spread, all equally busy
    copies    of a token that are sent to nodes, its own counted like any
              other: k if each visit travels alone, and the number of nodes
              visited if a copy is handed on inside the node
    k, gpus   experts that a token visits, and GPUs of a node
    itemsize  bytes per element; 1 is fp8
    returns   Dispatch; the two ways can be busy at the same time
    raises    ValueError that names the argument and what was expected
    source    DeepSeek-V3 report, section 3.2.2
    """
    token = D * itemsize
    outside = B * copies * token * (nodes - 1) / nodes
    inside = B * k * token * (gpus - 1) / gpus
    return Dispatch(outside / chip.dcn_bw, inside / chip.link_bw)
