"""What the gaps of a release say about the scores of its items; or, in words, why they say nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from shortlist.estimates import ChainedGaps, LowerBound, UpperBound, checked_measurements

if TYPE_CHECKING:
    from shortlist.extras import Extras


def gaps_of(extras: Extras, name: str) -> list[float]:
    """The gaps, for whoever asked for what is called `name`."""
    if extras.gaps is not None:
        return extras.gaps
    raise AttributeError(f"this release has no gaps, so no .{name}; ask for them, as with gaps=True")


def refined(extras: Extras, measurements: Iterable[float], variance: float) -> list[float]:
    """The best linear unbiased estimates of the scores from gaps and later measurements of that variance."""
    gaps, evidence = gaps_of(extras, "refine"), extras.evidence
    if evidence is None:
        raise AttributeError("these gaps are no estimates of scores: there is nothing to refine")
    if extras.largest is not False:
        return evidence.refine(gaps, measurements, variance)
    negated = (-one for one in checked_measurements(measurements, len(gaps)))  # of which gaps are the leads
    return [-one for one in evidence.refine(gaps, negated, variance)]


def lower_bounds(extras: Extras, confidence: float) -> list[LowerBound]:
    """One for each score, where the largest were asked for."""
    if extras.largest is False:
        raise AttributeError("of the smallest the gaps bound the scores from above; read .upper_bound")
    return _bounds(extras, "lower_bound", confidence)


def upper_bounds(extras: Extras, confidence: float) -> list[UpperBound]:
    """One for each score, where the smallest were asked for."""
    if extras.largest is not False:
        raise AttributeError("of the largest the gaps bound the scores from below; read .lower_bound")
    return [UpperBound(0.0 - one.value, one.confidence) for one in _bounds(extras, "upper_bound", confidence)]


def _bounds(extras: Extras, name: str, confidence: float) -> list[LowerBound]:
    gaps, evidence = gaps_of(extras, name), extras.evidence
    if evidence is None or isinstance(evidence, ChainedGaps):
        raise AttributeError("these gaps are not gaps to a known threshold: no bound on a score follows from them")
    return evidence.lower_bound(gaps, confidence)
