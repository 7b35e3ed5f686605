"""A request for quantiles: what was asked for, checked by public facts alone, then booked, then read and drawn."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shortlist.choose import checked_budget_of
from shortlist.errors import bad_type, bad_value
from shortlist.groups import GroupRequest
from shortlist.ledger.ledger import Reservation
from shortlist.mechanisms import Quantile
from shortlist.mechanisms.base import Budget
from shortlist.paid_release import Booked
from shortlist.privacy import Guarantee, Ledger
from shortlist.quantile_inputs import Progress, Series
from shortlist.release import GroupedRelease, Release
from shortlist.sampling.entropy import SECURE, Source
from shortlist.scores import GroupedScores, Scores, Votes
from shortlist.table_release import reading
from shortlist.tables.count import OpenValues, open_values
from shortlist.tables.dialect import PLAIN, TextForm
from shortlist.tables.public_lists import check_public_list
from shortlist.tables.question import Grouping, plain_key
from shortlist.tables.values import Placed, ValueQuestion

METHODS = {"auto": None, "exponential": "gumbel", "permute-and-flip": "exponential"}
"""The words for `method=`, and the noise of each."""

OUTSIDE = "whatever lies outside the range counts at its ends, and a cell that holds no such value is left out"
SHARED = "the rows of a person share one vote"


def quantile_request(
    rows: object, *, by: object = None, groups: object = None, groups_per_user: object = None, **words: Any
) -> QuantileRequest | QuantileGroups:
    """A request about all people, or about every group."""
    check_public_list("groups", groups, rows)
    grouping = Grouping.of(by, groups, groups_per_user)
    return QuantileRequest.of(rows, **words) if grouping is None else QuantileGroups.of(rows, grouping, **words)


def why_of(mechanism: Quantile, method: str) -> str:
    """Return the reason for `release.why`; empty if the caller named the method."""
    if method != "auto":
        return ""
    if mechanism.noise == "exponential":
        return "Quantile with exponential noise (permute-and-flip), the default under pure DP"
    return "Quantile with Gumbel noise (the exponential mechanism), the default under budgets that are not pure"


def _checked_method(method: object) -> str:
    if not isinstance(method, str) or method not in METHODS:
        raise bad_value(f"$method must be one of {', '.join(map(repr, METHODS))}")
    return method


def _empty(line: OpenValues, share: int, unit: object, words: str) -> Scores:
    """All that is public, and no vote."""
    if not isinstance(unit, str) or not unit:
        raise bad_value('$unit must be a word, for example $unit="user"')
    nothing = np.zeros(0, np.int64)
    votes = Votes(line.grid, nothing, nothing)
    facts: dict[str, Any] = {"monotone": True, "public": True, "unit": unit, "frame": line.frame, "source": words}
    return Scores._of_table(votes, sensitivity=share, **facts)


@dataclass(frozen=True, slots=True)
class QuantileRequest:
    """What was asked for, checked by public facts alone; and the rows, not read yet."""

    mechanism: Quantile
    empty: Scores
    """With the grid and all else that is public, and no vote."""
    place: Callable[[Progress | None], list[Placed]]
    notes: tuple[str, ...]
    method: str

    @classmethod
    def of(
        cls,
        rows: object,
        *,
        user: str | None,
        value: str | None,
        q: object,
        lower: object,
        upper: object,
        step: object,
        per_user: str,
        epsilon: float | None,
        delta: float | None,
        budget: Guarantee | None,
        method: str,
        unit: str,
        memory: str | None,
        multiline: bool,
        separator: str | None = None,
    ) -> QuantileRequest:
        mechanism = Quantile(
            q=q,  # type: ignore[arg-type]
            budget=checked_budget_of(epsilon, delta, budget),
            noise=METHODS[_checked_method(method)],
        )
        text = TextForm.of(multiline, separator)
        notes: tuple[str, ...]
        if value is None and not isinstance(rows, str | os.PathLike):
            if user is not None or memory is not None or text != PLAIN:
                raise bad_type('$value must be the name of a column, for example $value="age"')
            series = Series.of(rows, lower, upper, step)
            line, share, notes = OpenValues(series.grid, series.frame, series.places), 1, ()
            words = f"numbers in memory, {series.grid.in_words}"
        else:
            question = ValueQuestion.of(user, value, lower, upper, step, per_user)
            line, share = open_values(rows, question, memory, text), question.share
            words = question.in_words(text.in_words(rows))
            notes = (SHARED,) if share > 1 else ()
        return cls(mechanism, _empty(line, share, unit, words), line.places, (OUTSIDE, *notes), method)

    @property
    def guarantee(self) -> Guarantee:
        return self.mechanism.guarantee

    def booked(self, ledger: Ledger, purpose: str, source: Source = SECURE) -> Booked:
        """Check what can be checked without a row, then book."""
        unit = f"{self.empty.unit} ({self.empty.neighbours})"
        ledger.check(self.mechanism.charge, self.mechanism.guarantee, unit=unit, fresh=False)
        return Booked.of(self.mechanism, self.empty, ledger, purpose, source)

    @property
    def why(self) -> str:
        """In words, by the public rule."""
        words = why_of(self.mechanism, self.method)
        return f"auto: {words}" if words else "named by the caller"

    def released(self, source: Source, paid: Booked | None, progress: Progress | None = None) -> Release:
        """Read, draw, and say why."""
        with reading(progress, paid):
            [(places, weights)] = self.place(progress)
        votes = self.empty._with_votes(places, weights)
        release = self.mechanism.release(votes, rng=source) if paid is None else paid.release(votes, source)
        return replace(release, why=self.why, notes=(*release.notes, *self.notes))


def _group_request(
    empty: Scores, line: OpenValues, grouping: Grouping, q: object, budget: Budget, method: str
) -> GroupRequest:
    noise = METHODS[_checked_method(method)]
    notes = (OUTSIDE, *((f"{SHARED} in a group",) if empty.largest_sensitivity > 1 else ()))

    def build(number: int | None, share: Budget) -> tuple[Quantile, str, bool]:
        mechanism = Quantile(q=q, budget=share, noise=noise)  # type: ignore[arg-type]
        return mechanism, why_of(mechanism, method), True

    def finish(release: Release, why: str, keeps_order: bool, number: int | None) -> Release:
        words = f"auto: {why}" if why else release.why
        return replace(release, why=words, notes=(*release.notes, *notes))

    groups = GroupedScores._of(
        empty, lambda group: empty, names=None, keys=line.keys, by=grouping.by, per_user=grouping.per_user,
        frame=line.frame, size=line.grid.size,
    )  # fmt: skip
    return GroupRequest.of(groups, None, budget, build, finish)


def planned(
    question: ValueQuestion | None, q: object, budget: Budget, unit: str, method: str = "auto"
) -> tuple[Quantile, str, Guarantee]:
    """(what will run, why, what is charged), by the question alone: not even a header is read. None: no table."""
    noise = METHODS[_checked_method(method)]
    mechanism = Quantile(q=q, budget=budget, noise=noise)  # type: ignore[arg-type]
    grouping = None if question is None else question.grouping
    if question is None or grouping is None:
        return mechanism, why_of(mechanism, method), mechanism.charge
    assert grouping.listed is not None
    line = OpenValues(question.grid, None, lambda tell: [], tuple(map(plain_key, grouping.listed)))
    request = _group_request(_empty(line, question.share, unit, ""), line, grouping, q, budget, method)
    return mechanism, request.why, request.charge


@dataclass(frozen=True, slots=True)
class QuantileGroups:
    """A request about every group: one charge for the groups that one person may be in (Theorem 252)."""

    request: GroupRequest
    empty: Scores
    place: Callable[[Progress | None], list[Placed]]

    @classmethod
    def of(
        cls,
        rows: object,
        grouping: Grouping,
        *,
        user: str | None,
        value: str | None,
        q: object,
        lower: object,
        upper: object,
        step: object,
        per_user: str,
        epsilon: float | None,
        delta: float | None,
        budget: Guarantee | None,
        method: str,
        unit: str,
        memory: str | None,
        multiline: bool,
        separator: str | None = None,
    ) -> QuantileGroups:
        paid = checked_budget_of(epsilon, delta, budget)
        question = ValueQuestion.of(user, value, lower, upper, step, per_user, grouping)
        text = TextForm.of(multiline, separator)
        line = open_values(rows, question, memory, text)
        empty = _empty(line, question.share, unit, question.in_words(text.in_words(rows)))
        return cls(_group_request(empty, line, grouping, q, paid, method), empty, line.places)

    @property
    def guarantee(self) -> Guarantee:
        return self.request.guarantee

    def booked(self, ledger: Ledger, purpose: str, source: Source = SECURE) -> Reservation | None:
        """Book the charge of all groups, once."""
        return self.request.booked(ledger, purpose, source)

    def released(self, source: Source, paid: Reservation | None, progress: Progress | None = None) -> GroupedRelease:
        """Read, and draw every group on its own."""
        with reading(progress, paid):
            votes = self.place(progress)
        scores = self.request.scores._with_votes(votes)
        return self.request.released(scores, source, paid)
