"""The papers that mechanisms come from: one list, for release pages, the bibliography of the docs and CITATION.cff."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from shortlist.pages.theme import asset

LIST = "pages/references.json"
BIBTEX = {"article": ("article", "journal"), "conference-paper": ("inproceedings", "booktitle")}
"""The kind of an entry and the field of its venue; all others are `misc` with a note."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """One publication; identifiers that are not known for sure are left out."""

    key: str
    type: str
    """As the Citation File Format has it."""
    authors: tuple[str, ...]
    """Each as "Family, Given", or one name."""
    title: str
    venue: str
    year: int | None = None
    doi: str = ""
    arxiv: str = ""
    url: str = ""

    @property
    def link(self) -> str:
        """Where it can be read, or "" if nothing is known."""
        if self.doi:
            return f"https://doi.org/{self.doi}"
        return self.url or (f"https://arxiv.org/abs/{self.arxiv}" if self.arxiv else "")

    @property
    def bibtex(self) -> str:
        """Its entry for BibTeX."""
        kind, field = BIBTEX.get(self.type, ("misc", "note"))
        fields: dict[str, Any] = {"author": " and ".join(self.authors), "title": f"{{{self.title}}}", "year": self.year}
        fields |= {field: self.venue, "doi": self.doi, "eprint": self.arxiv}
        fields |= {"archiveprefix": "arXiv" if self.arxiv else "", "url": self.url}
        lines = [f"  {name:13} = {{{value}}}," for name, value in fields.items() if value]
        return "\n".join([f"@{kind}{{{self.key},", *lines, "}"])


@cache
def references() -> dict[str, Reference]:
    """All of them by key."""
    table: dict[str, dict[str, Any]] = json.loads(asset(LIST))["references"]
    return {key: Reference(key=key, **row | {"authors": tuple(row["authors"])}) for key, row in table.items()}


@cache
def mechanisms() -> tuple[tuple[str, str, tuple[Reference, ...]], ...]:
    """How the names of a mechanism begin, with # for every number; its page in the docs; where it comes from."""
    rows = json.loads(asset(LIST))["mechanisms"]
    return tuple((row["name"], row["page"], tuple(references()[key] for key in row["sources"])) for row in rows)


def sources(mechanism: str) -> tuple[Reference, ...]:
    """Where the mechanism with that name in a release comes from; nothing for a name that is not ours.

    >>> [one.key for one in sources("joint top-10")], sources("counted by hand")
    (['gillenwater2022'], ())
    """
    name = re.sub(r"\d+", "#", mechanism)
    begins = [row for row in mechanisms() if name.startswith(row[0])]
    return max(begins, key=lambda row: len(row[0]))[2] if begins else ()
