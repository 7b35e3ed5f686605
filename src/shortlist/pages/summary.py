"""A release in a few sentences: what came out, what it can give away, what it cost, what is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortlist._text import terminal_safe
from shortlist.accounting.guarantees import ZCDP, ApproxDP, PureDP
from shortlist.pages.guarantee_in_words import caution, chance_to_be_right, percent

if TYPE_CHECKING:
    from shortlist.accounting.guarantees import Guarantee
    from shortlist.grouped_release import GroupedRelease
    from shortlist.release import Release


def first_of(release: Release) -> str:
    """Which items come first, where they come in order."""
    return "smallest" if release.largest is False else "best"


def in_words(release: Release) -> str:
    """From released and public facts alone.

    >>> import shortlist as sl
    >>> sl.top_k([900, 20, 500, 7], k=2, epsilon=1.0, monotone=True).summary[-45:]
    'go from 50% to at most 73.2%, at epsilon 1.0.'
    """
    return terminal_safe(" ".join([_came(release), _gives_away(release), *_left(release)]))


def groups_in_words(release: GroupedRelease) -> str:
    """The same of many lists: what all of them together can give away.

    >>> import shortlist as sl
    >>> sl.top_k([[900, 20], [7, 500]], k=1, epsilon=1.0, monotone=True).summary[:24]
    '2 lists, 2 items in all.'
    """
    lists, items = len(release), sum(map(len, release.values()))
    came = f"{lists:,} list{'s' * (lists != 1)}, {items:,} item{'s' * (items != 1)} in all."
    return terminal_safe(" ".join([came, _gives_away(release), *_left(release)]))


def _came(release: Release) -> str:
    many = len(release)
    if release.q is not None:
        return f"{many:,} quantile{'s' * (many != 1)} came out."
    of = "came out" if release.asked is None else f"of {release.asked:,} asked for"
    return f"{many:,} {of}{', the smallest' if release.largest is False else ''}."


def _gives_away(release: Release | GroupedRelease) -> str:
    replaced = release.neighbours == "replace"
    doubt = "which of two versions of their data was used" if replaced else "whether they are in the data"
    right, price = percent(chance_to_be_right(release.guarantee)), _price(release.guarantee)
    said = f"One {release.unit}: the odds of guessing {doubt} go from 50% to at most {right}, at {price}."
    return f"{said} {large}" if (large := caution(release.guarantee)) else said


def _price(guarantee: Guarantee) -> str:
    if isinstance(guarantee, PureDP):
        return f"epsilon {guarantee.epsilon}"
    if isinstance(guarantee, ApproxDP):
        return f"epsilon {guarantee.epsilon}" + (f" and delta {guarantee.delta}" if guarantee.delta else "")
    if isinstance(guarantee, ZCDP):
        return f"rho {guarantee.rho}" + (f" and delta {guarantee.delta}" if guarantee.delta else "")
    return str(guarantee)


def _left(release: Release | GroupedRelease) -> list[str]:
    receipt = release.receipt
    if receipt is None:
        return []
    return [f"Entry {receipt.entry} of {receipt.ledger}; {receipt.balance or f'left: {receipt.remaining}'}."]
