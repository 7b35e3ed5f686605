"""Guarantees for those who keep their books with dp-accounting."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shortlist.accounting.guarantees import Guarantee


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
