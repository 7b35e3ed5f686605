"""The words of a question about plain values or about a table: what `top_k` and `select` take beside their own."""

from __future__ import annotations

from collections.abc import Iterable

from shortlist.scores import ScoreWords


class TableWords(ScoreWords, total=False):
    """The words of `Scores` for plain values, and those of `count` for a table: `user` and `item` make it one."""

    user: str
    item: str | Iterable[str]
    candidates: object
    value: str | None
    clip: tuple[float, float] | None
    most: int | None
    memory: str | None
    multiline: bool


TABLE_WORDS = TableWords.__annotations__.keys() - ScoreWords.__annotations__.keys()
"""Whoever writes one of these means a table."""
