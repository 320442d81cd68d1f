"""A film of tokens that travel to their experts and back."""

from typing import NamedTuple

import numpy as np

from shardlab.arguments import how_many, takes
from shardlab.plot.colours import colour, shade, variable
from shardlab.plot.films import FRAME, reel
from shardlab.plot.pipes import block, slid
from shardlab.plot.steps import box, text

__all__ = ["dispatch_player", "slots_taken"]

HIGH, TOKENS, SENT = 17, 22, 80  # a block; tops of the first two rows
NAME = 24  # width of an expert's name
WORDS = (
    "Each chip has its own tokens.",
    "The router chooses {k} experts for each token, and a copy of the token "
    "takes a slot for each of them; a visit that finds none is dropped, in "
    "red.",
    "First AllToAll, the dispatch: every chip sends the slots of an expert to "
    "the chip that has this expert, empty ones too.",
    "Each expert multiplies all its rows at once; a prime marks a result.",
    "Second AllToAll, the combine: results return to the slots that their "
    "tokens had.",
    "Each token adds up its results, weighted by the router's chances. White: "
    "the layer has nothing for a token that was dropped each time.",
)


class _Look(NamedTuple):
    """How a dispatch is drawn.

    B, E, Z, C  tokens of a chip, experts, chips, slots
    """

    B: int
    E: int
    Z: int
    C: int

    def left(self, chip):
        """Left of a chip."""
        return chip * FRAME / self.Z + 8

    def wide(self, at_home=True):
        """Of a slot, at home or at its expert."""
        room = FRAME / self.Z - 18
        return room / self.E if at_home else (room - NAME) / self.Z - 2

    def sent(self, chip, expert, slot):
        """Where a slot lies before it is sent, and after it is back."""
        x = self.left(chip) + expert * self.wide()
        return x, SENT + slot * HIGH

    def got(self, expert, chip, slot):
        """Where a slot lies at its expert: experts below each other."""
        here, mine = divmod(expert, self.E // self.Z)
        row = mine * (self.C * HIGH + 8) + slot * HIGH
        x = self.left(here) + NAME + chip * (self.wide(False) + 2)
        return x, self.top() + row

    def top(self):
        """Of the rows of experts."""
        return SENT + self.C * HIGH + 52

    def bottom(self):
        """Of a chip."""
        return self.top() + self.E // self.Z * (self.C * HIGH + 8) + 2


def slots_taken(experts, E, C):
    """{(expert, slot): token} of one chip, first choices first."""
    found, next_slot = {}, [0] * E
    for choice in np.asarray(experts).T:
        for token, expert in enumerate(choice):
            if next_slot[expert] < C:
                found[int(expert), next_slot[expert]] = token
            next_slot[expert] += 1
    return found


def _drawn_slots(look, visits, moment):
    """SVG of all slots at a moment: 1 chosen, 2 sent, 3 made, 4 back."""
    parts, at_home = [], moment in (1, 4)
    for chip, expert, slot in np.ndindex(look.Z, look.E, look.C):
        home = look.sent(chip, expert, slot)
        away = look.got(expert, chip, slot)
        (x, y), (u, v) = (home, away) if at_home else (away, home)
        token = visits[chip].get((expert, slot))
        wide = look.wide(at_home) - at_home * 2
        if token is None:
            continue
        words = f"{chip * look.B + token}" + "′" * (moment > 2)
        fill = shade("Z", chip, look.Z)
        drawn = _slot(fill, words, x, y, wide)
        if moment == 1:
            u, v = look.left(chip) + token * 36, TOKENS
        parts.append(drawn if moment == 3 else slid(drawn, u - x, v - y))
    return "".join(parts)


def _slot(fill, words, x, y, wide):
    """SVG of a taken slot; words that are too wide for it are narrowed."""
    if 7 * len(words) - 3.5 * words.count("′") <= wide - 3:
        return block(fill, words, x, y, wide, HIGH - 2)
    parts = f'<path class="b" fill="{fill}" d="{box(x, y, wide, HIGH - 2)}"/>'
    said = text(words, x + 1.5, y + (HIGH - 2) / 2 + 4.2, fill)
    narrow = f'<text textLength="{wide - 3:g}" lengthAdjust="spacingAndGlyphs"'
    return parts + said.replace("<text", narrow, 1)


def _drawn_places(look):
    """SVG of all slots while they are empty, and of the experts' names."""
    parts = []
    for chip, expert, slot in np.ndindex(look.Z, look.E, look.C):
        parts.append(_empty(*look.sent(chip, expert, slot), look.wide() - 2))
        place = look.got(expert, chip, slot)
        parts.append(_empty(*place, look.wide(False)))
    for expert in range(look.E):
        x, y = look.got(expert, 0, 0)
        parts.append(text(f"E{expert}", x - NAME, y + HIGH - 5))
        for chip in range(look.Z):
            x = look.sent(chip, expert, 0)[0] + look.wide() / 2 - 5
            parts.append(text(f"{expert}", x, SENT - 6))
    return "".join(parts)


def _drawn_dropped(look, groups, visits):
    """SVG of the tokens whose visits find no slot, below those that do."""
    parts, mark = [], variable("mark")
    for chip, group in enumerate(groups):
        kept = {(e, token) for (e, _), token in visits[chip].items()}
        lost = [
            str(chip * look.B + token)
            for token, experts in enumerate(group)
            for expert in experts
            if (int(expert), token) not in kept
        ]
        if lost:
            y = SENT + look.C * HIGH + 14
            words = text(f"dropped: {', '.join(lost)}", look.left(chip), y)
            parts.append(words.replace("<text", f'<text fill="{mark}"', 1))
    return "".join(parts)


def _empty(x, y, wide):
    place = f'x="{x:g}" y="{y:g}" width="{wide:g}" height="{HIGH - 2}"'
    return f'<rect class="i" {place}/>'


def _drawn_chips(look):
    """SVG of what never moves: the chips, and what stands on them."""
    parts = []
    for chip in range(look.Z):
        x, wide = look.left(chip) - 5, FRAME / look.Z - 6
        place = f'x="{x:g}" y="2" width="{wide:g}" height="{look.bottom():g}"'
        parts.append(f'<rect {place} rx="6"/>')
        parts.append(text(f"chip {chip}: its tokens", x + 4, 16))
        parts.append(text("slots for experts", x + 4, SENT - 22))
        parts.append(text("experts here", x + 4, look.top() - 8))
    return "".join(parts)


def _drawn_tokens(look, visits, results):
    """SVG of the tokens of all chips, or of what has become of them."""
    parts = []
    for chip, token in np.ndindex(look.Z, look.B):
        x = look.left(chip) + token * 36
        helped = token in visits[chip].values()
        words = f"{chip * look.B + token}" + "″" * (results and helped)
        fill = colour("forward" if helped else "paper")
        if not results:
            fill = shade("Z", chip, look.Z)
        parts.append(block(fill, words, x, TOKENS, 32, HIGH))
    return "".join(parts)


def _fits(experts, E, Z):
    if len(experts) % Z or E % Z:
        raise ValueError(
            f"Z must divide {len(experts)} tokens and E = {E}, got {Z}"
        )


@takes(_fits, E=how_many, Z=how_many, C=how_many)
def dispatch_player(experts, E, Z, C):
    """A film of a layer of experts: choose, send, multiply, return, add up.

    experts  experts[B, k] that the tokens of all chips visit
    E, Z, C  experts, chips, and slots of an expert for each chip
    returns  Player. Blocks are tokens, in the colour of the chip that they
             are from; dashed places are empty slots, which travel too
    raises   ValueError unless Z divides the tokens and the experts
    source   chapter 14
    """
    groups = np.split(np.asarray(experts), Z)
    look = _Look(len(groups[0]), E, Z, C)
    visits = [slots_taken(group, E, C) for group in groups]
    still = _drawn_chips(look) + _drawn_places(look)
    lost, frames = _drawn_dropped(look, groups, visits), []
    for moment, words in enumerate(WORDS):
        drawn = still + _drawn_tokens(look, visits, moment == 5)
        drawn += lost * (moment > 0)
        if 0 < moment < 5:
            drawn += _drawn_slots(look, visits, moment)
        frames.append((words.format(k=groups[0].shape[1]), drawn))
    high = look.bottom() + 6
    return reel("Tokens visit their experts", frames, high, poster=1)
