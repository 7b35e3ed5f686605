"""All mechanisms as they are proved on a box and attacked: the entries that stand beside their certified laws.

The audit, the tables of the docs and the tests of what holds of all mechanisms read `ENTRIES`. What `method=` builds
stands in `shortlist.mechanisms.registry`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

from shortlist import mechanisms, pate
from shortlist.audit.certified import race, sets, stable, threshold, unknown_domain
from shortlist.audit.certified.base import Entry
from shortlist.mechanisms import Mechanism
from shortlist.mechanisms.base import Budget, Request
from shortlist.mechanisms.registry import METHODS
from shortlist.privacy import ApproxDP, PureDP
from shortlist.scores import Scores

Example = Callable[[int, Budget], Mechanism]
"""Makes a mechanism of (k, budget)."""

ENTRIES: dict[Any, Entry] = {
    getattr(mechanisms if hasattr(mechanisms, entry.kind) else pate, entry.kind): entry
    for module in (race, sets, threshold, stable, unknown_domain)
    for entry in module.ENTRIES
}
"""By the class."""
EXAMPLE_COUNTS = (9, 7, 4, 2, 1, 1, 0)


def entry_of(subject: object) -> Entry | None:
    """The entry of a mechanism, or of the one that it is made of; None for what is none of ours."""
    return next((ENTRIES[kind] for kind in type(subject).__mro__ if kind in ENTRIES), None)


def makers() -> dict[str, tuple[Entry, Example]]:
    """Return what makes each mechanism by name: the methods of `top_k`, and the examples, which win."""

    def by_method(name: str) -> Example:
        return lambda k, budget: METHODS[name].build(Request(k, budget))

    def by_words(kind: Any, words: Any) -> Example:
        size = {field.name for field in fields(kind)} & {"k"}
        return lambda k, budget: kind(
            **dict.fromkeys(size, k) | (words(k) if callable(words) else words), budget=budget
        )

    known = ENTRIES.items()
    methods = {name: (entry, by_method(name)) for _, entry in known for name in entry.methods}
    return methods | {name: (one, by_words(kind, words)) for kind, one in known for name, words in one.examples.items()}


def examples() -> Iterator[tuple[str, Mechanism, Scores]]:
    """Yield one mechanism of every name with public scores that fit it: what must hold of all is tested on them."""
    for name, (entry, make) in makers().items():
        try:
            mechanism = make(entry.k, PureDP(1.0))
        except (TypeError, ValueError):
            mechanism = make(entry.k, ApproxDP(1.0, 0.05))
        public, counts = entry.inputs != "histograms", EXAMPLE_COUNTS
        given = list(counts) if public else {f"item {i}": n for i, n in enumerate(counts) if n}
        yield name, mechanism, Scores(given, monotone=getattr(mechanism, "monotone", True), public=public)
