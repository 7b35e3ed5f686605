"""Classes of subsets with integer weights, one by one, so that a single word finds one: what rows of draws share."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shortlist._arrays import Floats, Indices, Words
from shortlist.sampling.subset_rejection import ERROR, Envelope, Proposal
from shortlist.sampling.uniforms import WordStream

APART = 46
"""Weights amount to less than 2^APART, the residual one apart: few words are beyond the last multiple of them."""

GUIDE = 16
"""So many leading bits of a ticket tell its class, where a single one has them all."""

MOST_HALVINGS = 20
"""Of the end of the first slice of the times."""

NONE, OPEN = -1, -2
"""In place of a class: the top k, or nobody before the deadline; and what a row does not tell yet."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Tickets: first those of the top k, if it is drawn beside the classes, then the residual ones, then each class's.

    Columns over the classes have the top k as their last entry, at place NONE.
    """

    envelope: Envelope
    """Its cells are single classes."""
    top: int
    """How many tickets the top k has: none in a race, where it arrives on its own."""
    i: Indices
    j: Indices
    low: Floats
    """At most the chance of acceptance."""
    high: Floats
    """At least that."""
    weight: Floats
    """e^-loss."""
    edges: Indices
    """Where the tickets of each class begin, and where those of the last end."""
    drop: int
    """A ticket has so many bits behind its leading ones."""
    guide: NDArray[np.int32] = field(init=False)
    """Whose all tickets with these leading bits are, or OPEN."""

    def __post_init__(self) -> None:
        starts = np.arange(((self.tickets - 1) >> self.drop) + 1) << self.drop
        places, last = self._search(starts), self._search(starts + ((1 << self.drop) - 1))
        object.__setattr__(self, "guide", np.where(places == last, places, OPEN).astype(np.int32))

    @property
    def shift(self) -> int:
        return self.envelope.shift

    @property
    def total(self) -> int:
        """Of the classes: at least 2^shift times their mass."""
        return self.envelope.total

    @property
    def tickets(self) -> int:
        return self.top + self.total

    @property
    def halvings(self) -> int:
        """Nearly everybody has arrived at 2^-halvings, where the classes have a large mass."""
        return min(max(self.total.bit_length() - self.shift - 5, 1), MOST_HALVINGS)

    def propose(self, stream: WordStream) -> Proposal:
        """A class, in a race: the remainder of a word, unless that is beyond the last multiple of the tickets."""
        while True:
            times, ticket = divmod(stream.word(), self.tickets)
            if times < (1 << 64) // self.tickets:
                return self.envelope.at(ticket, stream)

    def find(self, words: Words) -> Indices:
        """Places, by the same rule: OPEN for the residual weight and beyond the last multiple."""
        tickets = np.uint64(self.tickets)
        times = words // tickets
        ticket = (words - times * tickets).view(np.int64)
        places = self.guide.take(ticket >> self.drop).astype(np.int64)
        unsure = np.flatnonzero(places == OPEN)
        places[unsure] = self._search(ticket[unsure])
        places[times >= np.uint64((1 << 64) // self.tickets)] = OPEN
        return places

    def _search(self, tickets: Indices) -> Indices:
        places = np.searchsorted(self.edges, tickets, side="right") - 1
        places[tickets < self.edges[0]] = OPEN
        places[tickets < self.top] = NONE
        return places


def weights_of(envelope: Envelope, *, top: bool) -> Weights:
    """The tickets of an envelope that has every class apart; `top` says whether the top k is drawn with them."""
    cells, classes, shift = envelope.cells, envelope.classes, envelope.shift
    own = (1 << max(shift, 0)) if top else 0
    edges = np.append(0, envelope.cumulative) + (own + envelope.residual)
    rise, fall = classes.rise[cells.row], np.asarray(classes.fall[cells.first])
    high = cells.upper + shift * math.log(2.0) - np.log(np.diff(edges))
    error = ERROR * (64.0 + abs(shift) + np.abs(cells.upper) + rise + fall)
    low, high = high - (cells.upper - cells.lower) - error, high + error
    of_top = min(shift, 0) * math.log(2.0)
    return Weights(
        envelope,
        own,
        np.append(classes.i[cells.row], -1),
        np.append(cells.first, 0),
        np.exp(np.append(low, of_top)),
        np.exp(np.append(high, of_top)),
        np.exp(-np.append(rise + fall, 0.0)),
        edges,
        max((own + envelope.total - 1).bit_length() - GUIDE, 0),
    )
