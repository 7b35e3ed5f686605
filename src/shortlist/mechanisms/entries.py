"""All mechanisms: the one list, beside its folder and its page, that a new one is added to."""

from __future__ import annotations

from importlib import import_module

from shortlist.mechanisms.entry import Audited, Entry, Method

FOLDERS = (
    "noisy_max",
    "oneshot",
    "joint",
    "canonical",
    "guarded",
    "ordered_canonical",
    "guarded_list",
    "gumbel_values",
    "histogram",
    "gaps",
    "measured",
    "exponential_gap",
    "sparse_vector",
    "hybrids",
    "stable",
    "limited_domain",
    "canonical_limited",
    "keys",
    "names_choice",
    "large_gap",
    "quantile",
    "pate",
)
"""In this order they stand in tables, comparisons and messages."""


def _entries_of(folder: str) -> tuple[Entry, ...]:
    """What stands in a folder: one entry, or a tuple of a few that share their page."""
    entry: Entry | tuple[Entry, ...] = import_module(f"{__package__}.{folder}.entry").ENTRY
    return entry if isinstance(entry, tuple) else (entry,)


ENTRIES: tuple[Entry, ...] = tuple(entry for folder in FOLDERS for entry in _entries_of(folder))

METHODS: dict[str, Method] = {method.name: method for entry in ENTRIES for method in entry.methods}
"""By the words for `method=`."""


def entry_of(subject: object) -> Entry | None:
    """The entry of a mechanism, or of the one that it is made of; None for what is none of ours."""
    return next((entry for entry in ENTRIES if isinstance(subject, entry.kind)), None)


def audited(subject: object) -> Audited | None:
    """How a mechanism is audited; None for what is none of ours."""
    entry = entry_of(subject)
    return None if entry is None else entry.audited


def table(pages: str) -> list[str]:
    """All mechanisms as a table in Markdown; `pages` leads from where it stands to docs/mechanisms."""
    rows = ["| mechanism | what it does | what a release carries | budgets | `method=` |", "|---|---|---|---|---|"]
    for entry in ENTRIES:
        name = f"[`{entry.kind.__name__}`]({pages}{entry.page})"
        words = ", ".join(f"`{method.name}`" for method in entry.methods)
        rows.append(f"| {name} | {entry.summary} | {entry.gives} | {entry.budgets} | {words} |")
    return rows
