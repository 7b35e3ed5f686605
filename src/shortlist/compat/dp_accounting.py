"""Guarantees for dp-accounting: events and privacy loss distributions."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

from shortlist.accounting import compose
from shortlist.accounting.curves import Pair
from shortlist.accounting.guarantees import number
from shortlist.bounds import whole_profile
from shortlist.errors import bad_value
from shortlist.privacy import Guarantee

TAIL = 1e-15
"""Mass that may be counted as an infinite loss; it is added to every delta."""
MOST_POINTS = 1_000_000


def dp_event(guarantee: Guarantee) -> Any:
    """`guarantee` as an event of dp-accounting: a sum of zCDP events, each with its count.

    Its accountants know no bounded range, no randomised response under add/remove, and no Gumbel value; a
    zCDP event is sound under each of its neighbouring relations, and its count is heeded (that of a
    randomised response was not, in version 0.6).

    Raises
    ------
    ImportError
        if dp-accounting is not installed.
    ValueError
        if there is no zCDP guarantee, or it has a delta of its own, which no event can say.
    """
    try:
        events: Any = import_module("dp_accounting.dp_event")
    except ImportError as missing:
        raise ImportError("to_dp_event needs dp-accounting: pip install dp-accounting") from missing
    parts = []
    for part, times in guarantee.charges:
        zcdp = part.as_zcdp()
        if zcdp is None or zcdp.delta:
            raise ValueError(f"dp-accounting has no event for {part}: {part.why_not() or 'its delta cannot be said'}")
        parts.append(events.SelfComposedDpEvent(events.ZCDpEvent(rho=zcdp.rho), times))
    return events.ComposedDpEvent(parts)


def pld(guarantee: Guarantee, step: float) -> Any:
    """`guarantee` as a privacy loss distribution of dp-accounting: chords of its profile between multiples of `step`.

    The profile is that of both orders of neighbours, so the one distribution stands for adding and for removing; chords
    lie above it, so every number that follows is an upper bound.

    Raises
    ------
    ImportError
        if dp-accounting is not installed.
    ValueError
        for a step that is not positive, or so small that the losses need more than a million of them.
    """
    width = number("step", step, above=True)
    pair = Pair(whole_profile(guarantee.curves()), 1, compose.pure_total(guarantee.curves()))
    far = compose.reach(pair, TAIL)
    if not far / width < MOST_POINTS / 2:
        raise bad_value(f"$step must be larger: losses up to {far:g} need at most a million of them; write $step=1e-3")
    try:
        masses: Any = import_module("dp_accounting.pld.pld_pmf")
        distributions: Any = import_module("dp_accounting.pld.privacy_loss_distribution")
    except ImportError as missing:
        raise ImportError("to_pld needs dp-accounting: pip install dp-accounting") from missing
    atoms = compose.connect(pair, far, width, 2 * math.ceil(far / width))
    known = dict(zip(atoms.places.tolist(), atoms.masses.tolist(), strict=True))
    return distributions.PrivacyLossDistribution(masses.create_pmf(known, width, atoms.infinite, True))
