"""`shortlist top --by`: a list for every group, paid for once, before a row is read."""

from __future__ import annotations

from typing import Any

from shortlist._signals import COMMAND
from shortlist.choose import group_request
from shortlist.cli.progress_bar import drawn
from shortlist.grouped_release import GroupedRelease
from shortlist.privacy import Ledger
from shortlist.sampling.entropy import SECURE
from shortlist.tables.count import Progress, counted_groups, uncounted_groups
from shortlist.tables.file_sources import rows_of_file
from shortlist.tables.groups.scored import unread_groups
from shortlist.tables.question import Question

BETWEEN = "|"
"""Stands between the parts of a key, where several columns make it."""


def keys_of(groups: str | None, columns: int) -> list[Any] | None:
    """The public keys, from `CH,DE,FR`, or `CH|40,DE|40` for two columns."""
    if groups is None:
        return None
    keys = [one.strip() for one in groups.split(",")]
    return keys if columns == 1 else [tuple(key.split(BETWEEN)) for key in keys]


def lists_of_groups(
    source: str,
    question: Question,
    candidates: str | None,
    k: int | None,
    plan: dict[str, Any],
    reading: dict[str, Any],
    book: Ledger | None,
    purpose: str,
) -> GroupedRelease:
    """Count, draw and, where there is a ledger, book first."""
    if book is not None:  # before the header is looked at
        number = None if candidates is None else len(set(rows_of_file(candidates, question.items)))
        unread = group_request(unread_groups(question, number, reading["unit"]), k, **plan)
        book.check(book.with_room(unread.charge, unread.guarantee))
    accepted = uncounted_groups(source, question, candidates, **reading)
    request = group_request(accepted, k, **plan)
    COMMAND.check()
    reservation = request.booked(book, purpose)

    def draw(progress: Progress | None) -> GroupedRelease:
        scores = counted_groups(source, question, candidates, progress=progress, **reading)
        return request.released(scores, SECURE, reservation)

    return drawn(reservation, draw)
