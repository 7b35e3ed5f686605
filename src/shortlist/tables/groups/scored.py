"""Held groups as scores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shortlist.scores import GroupedScores, Names, Remote, Scores
from shortlist.tables.groups.grouping import plain_key
from shortlist.tables.groups.held import GroupHeld, GroupNames, GroupWeights, NoGroups
from shortlist.tables.question import Question


class Nothing:
    """Candidates before any group is looked at: none."""

    scores = np.empty(0, np.int64)
    sizes = np.empty(0, np.int64)

    def names(self, positions: object) -> list[object]:
        return []


def scores_of_groups(held: GroupHeld, question: Question, candidates: object, unit: str, table: str) -> GroupedScores:
    """Scores for every group, made when they are asked for."""
    clip, cap, grouping = question.clip, question.cap, question.grouping
    assert grouping is not None
    weighted = cap is not None and held.engine.weighted
    template = Scores._of_table(
        Remote(Nothing(), GroupWeights(held, -1, cap.most) if cap is not None and weighted else None),
        sensitivity=1.0 if clip is None else clip.sensitivity,
        monotone=clip is None or clip.monotone,
        public=candidates is not None,
        unit=unit,
        frame=None,
        columns=question.items if len(question.items) > 1 else (),
        most=question.most,
        source=question.in_words(table),
    )
    sizes = {int(size) for size in held.offered} if held.offered is not None else set()
    return GroupedScores._of(
        template,
        _maker(held, template, None if clip is None else clip.grid, cap.most if cap is not None and weighted else None),
        names=held,
        keys=None if held.listed is None else [plain_key(row) for row in held.listed],
        by=grouping.by,
        per_user=grouping.per_user,
        frame=held.engine.frame,
        size=sizes.pop() if len(sizes) == 1 else None,
    )


def schema_of_groups(question: Question, candidates: int | None, unit: str) -> GroupedScores:
    """What is public of the scores of groups, by the question alone: not even a header is read.

    `candidates` is how many there are in each group, where they are public.
    """
    assert question.grouping is not None
    listed = question.grouping.listed
    capped = question.capped(candidates is not None)
    offered = None if candidates is None or listed is None else np.full(len(listed), candidates, np.int64)
    held = GroupHeld(NoGroups(capped.weighted), None if listed is None else list(listed), offered)
    return scores_of_groups(held, capped, candidates, unit, "")


def _maker(held: GroupHeld, template: Scores, grid: float | None, most: int | None) -> Callable[[int], Scores]:
    def made(group: int) -> Scores:
        names: Names = GroupNames(held, group)
        weights = None if most is None else GroupWeights(held, group, most)
        return template._with_content(Remote(names, weights, 1 if grid is None else float(grid)))

    return made
