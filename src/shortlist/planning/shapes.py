"""Data described in a word: counts of a public shape, so that nobody's data has to be looked at to plan."""

from __future__ import annotations

import numpy as np

from shortlist._arrays import Indices
from shortlist.accounting.checked_numbers import count

EXAMPLES = "'zipf:1.1', 'geometric:0.9' or 'flat:200'"
MOST_ITEMS = 10_000_000


def shaped(shape: object, items: object, users: object, k: int) -> Indices:
    """How many users hold each item, the most popular first.

    * ``zipf:S``: users / i^S hold the i-th item;
    * ``geometric:Q``: users Q^(i-1), 0 < Q < 1;
    * ``flat:STEP``: everybody holds each of the k best, and STEP users fewer each of the others.

    Examples
    --------
    >>> shaped("zipf:1", 4, 120, 2)
    array([120,  60,  40,  30])
    >>> shaped("flat:20", 4, 120, 2)
    array([120, 120, 100, 100])
    """
    kind, value = _parsed(shape)
    number, people = count("items", items), count("users", users)
    if number > MOST_ITEMS:
        raise ValueError(f"items must be at most {MOST_ITEMS:,}: a plan computes exact laws over all of them")
    rank = np.arange(1.0, number + 1)
    if kind == "zipf":
        with np.errstate(over="ignore"):  # nobody holds items so rare
            counts = people / rank**value
    elif kind == "geometric":
        if not 0 < value < 1:
            raise ValueError("shape: a geometric ratio is between 0 and 1, for example 'geometric:0.9'")
        counts = people * value ** (rank - 1)
    else:
        if value != int(value) or value > people:
            raise ValueError("shape: a step is a whole number of users, at most users, for example 'flat:200'")
        counts = np.where(rank <= k, people, people - value)
    return np.floor(counts).astype(np.int64)


def _parsed(shape: object) -> tuple[str, float]:
    word = shape if isinstance(shape, str) else ""
    kind, _, text = word.partition(":")
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if kind not in ("zipf", "geometric", "flat") or not 0 <= value < np.inf:
        raise ValueError(f"shape must be a word and a number, for example {EXAMPLES}")
    return kind, value
