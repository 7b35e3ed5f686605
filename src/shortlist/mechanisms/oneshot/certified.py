"""The certified law of one-shot top-k: who the k largest noisy scores are (Theorem 57)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortlist.certified.law import Law, noise_name
from shortlist.certified.races import ordered_law, set_law

if TYPE_CHECKING:
    from shortlist.mechanisms.oneshot.mechanism import OneshotTopK
    from shortlist.scores import Scores


def law(mechanism: OneshotTopK, scores: Scores) -> Law:
    """The list where its law is enumerated in order, the set elsewhere."""
    noise = noise_name(mechanism.noise)
    race = ordered_law if mechanism.ordered and (mechanism.k <= 2 or noise == "gumbel") else set_law
    return Law(race(scores.values.tolist(), mechanism.k, noise, mechanism._scale(scores)))
