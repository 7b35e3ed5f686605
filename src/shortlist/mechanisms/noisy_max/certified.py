"""The certified law of one winner (Proposition 54)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortlist.certified.law import Law, noise_name
from shortlist.certified.races import ordered_law

if TYPE_CHECKING:
    from shortlist.mechanisms.noisy_max.mechanism import NoisyMax
    from shortlist.scores import Scores


def law(mechanism: NoisyMax, scores: Scores) -> Law:
    """{(winner,): chance}: one-shot top-k of one."""
    return Law(ordered_law(scores.values.tolist(), 1, noise_name(mechanism.noise), mechanism._top_one._scale(scores)))
