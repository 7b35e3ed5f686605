"""What the library says, in the words of the page: no arguments of Python, no files of the repository."""

from __future__ import annotations

import re

from shortlist._text import as_sentence, terminal_safe
from shortlist.grouped_release import GroupedRelease
from shortlist.pages.summary import NEEDS, UNORDERED, page_remarks
from shortlist.release import Release
from shortlist.tables.column_names import NO_NAMES

NO_COLUMN = re.compile(r"""^(\w+)=(?:'([^']*)'|"([^"]*)"): the table has no column of that name(.*)$""", re.DOTALL)
FOR_PROGRAMS = re.compile(r" \((?:see sl\.\w+|docs/[\w/-]+\.md(?:#[\w-]+)?)\)")

APPROVE = re.compile(r"approval \(`shortlist ledger approve LEDGER \d+`\); then")
"""The page has a view that names the ledger in this command."""


def page_words(text: str) -> str:
    """A sentence for somebody in front of a page, who knows its fields by their labels.

    >>> page_words("user='userid': the table has no column of that name; write it as the table does")
    'user: the table has no column userid; write it as the table does, or read the names of its columns'
    >>> page_words("0.1 to 3 are common (see sl.risk).")
    '0.1 to 3 are common.'
    """
    missing = NO_COLUMN.match(text)
    if missing:
        column, hint = missing[2] or missing[3], missing[4]
        if hint != NO_NAMES and not hint.startswith("; did you mean"):
            hint = f"; write it as the table does, or {READ}"
        return f"{missing[1]}: the table has no column {column}{hint}"
    return APPROVE.sub("approval, as “The ledgers” says; then", FOR_PROGRAMS.sub("", text))


def notes_shown(release: Release | GroupedRelease) -> list[str]:
    """What a reader of the lists has to know, each sentence once: not what the page says above them."""
    lists = [release] if isinstance(release, Release) else list(release.values())
    remarks = [remark for one in lists for remark in page_remarks(one) if remark != UNORDERED]
    shared = [note for one in lists[:1] for note in one.notes if all(note in other.notes for other in lists)]
    notes = [*remarks, *shared, *release.notes]
    said = (as_sentence(page_words(terminal_safe(note))) for note in notes if not _told_in(release.summary, note))
    return list(dict.fromkeys(said))


def _told_in(summary: str, note: str) -> bool:
    """Whether the summary says it already, or what a name needed to come out."""
    needs = NEEDS.search(note)
    return note in summary or (needs is not None and needs[0].strip(" ,") in summary)


READ = "read the names of its columns"
