"""The words of a question about plain values or about a table: what `top_k` and `select` take beside their own."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from shortlist.scores import ScoresOptions


class TableWords(ScoresOptions, total=False):
    """The words of `Scores` for plain values, and those of `count` for a table: `user` and `item` make it one.

    `progress` is told how far the count is.
    """

    user: str
    item: str | Iterable[str]
    candidates: object
    value: str | None
    clip: tuple[float, float] | None
    most: int | None
    where: str | None
    groups: Iterable[Hashable] | None
    groups_per_user: int | None
    memory: str | None
    multiline: bool
    separator: str | None
    progress: Callable[[float], None] | None


class GroupWords(TableWords, total=False):
    """The same, and by what the rows of a table are grouped."""

    by: str | Iterable[str] | None


TABLE_WORDS = GroupWords.__annotations__.keys() - ScoresOptions.__annotations__.keys()
"""Whoever writes one of these means a table."""
