"""Names from the data in one call: every name that enough people hold, with noisy counts and their margins."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from shortlist._arrays import check_flag
from shortlist._files import leave_spill_folder
from shortlist._text import kind_of_words
from shortlist.choose import budget_within, warn_if_absurd
from shortlist.list_request import check_least, left_out, left_out_in_words
from shortlist.mechanisms import KeySet
from shortlist.mechanisms.base import check_delta_budget, check_source
from shortlist.mechanisms.partition import FEW, Recounted
from shortlist.paid_release import Booked
from shortlist.privacy import ZCDP, Guarantee, Ledger
from shortlist.release import Release
from shortlist.sampling.entropy import SECURE, Source
from shortlist.scores import Scores
from shortlist.table_release import checked_progress, reading
from shortlist.tables.count import OpenTable, Progress, open_table
from shortlist.tables.question import Question


@kind_of_words(
    "keys",
    by="; names for each group: top_k(rows, k, by=..., epsilon=..., delta=..., user=..., item=...)",
    k="; for so many of them: top_k(rows, k, epsilon=..., delta=..., user=..., item=...)",
    candidates="; of a public list: top_k(rows, k, candidates=..., epsilon=..., user=..., item=...)",
)
def keys(
    rows: object,
    *,
    user: str,
    item: str | Iterable[str],
    most: int | None = None,
    where: str | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    budget: Guarantee | None = None,
    weighted: bool | None = None,
    values: bool = True,
    at_least: float | None = None,
    unit: str = "user",
    memory: str | None = None,
    multiline: bool = False,
    separator: str | None = None,
    allow_large: bool = False,
    rng: Source | None = None,
    ledger: Ledger | None = None,
    purpose: str = "",
    progress: Callable[[float], None] | None = None,
) -> Release:
    """Release every name that enough people hold, with a noisy count of each: no public list is needed.

    Each person counts for at most `most` names, so that one bar serves for all names, however many there are.

    Parameters
    ----------
    rows
        As in `sl.count`: a path or glob, a frame, a DuckDB relation, an Ibis table or a Spark DataFrame.
    user, item
        Columns by name. Several item columns make one name: `item=["artist", "title"]`.
    most
        For how many names each person counts, a public number. None lets each person share one vote among up to 64
        names, which does well where people hold different numbers of them; if everybody holds one, write `most=1`.
    where
        Which rows count, as text: `"week >= 40"` (as in `sl.count`).
    epsilon, delta, budget
        What it may cost: `epsilon=1.0, delta=1e-6` is short for `budget=ApproxDP(1.0, 1e-6)`; `ZCDP(rho, delta)` is
        taken too. A delta is needed: it is the chance that a name is shown which one person alone brought.
    weighted
        Whether each person shares one vote among the names; None: if no `most` was given.
    values
        Whether counts come with the names. With `most` they are people for whom the name counts; weighted, a quarter
        of the budget measures how many people hold it.
    at_least
        Leave out names whose noisy count is below it. It looks at released counts alone, and costs nothing.
    unit, memory, multiline, separator
        As in `sl.count`.
    allow_large
        True: do not warn of an epsilon above 30, which promises nobody anything.
    rng
        None is the secure source. `sl.testing.seeded(7)` repeats itself and marks the release as not private.
    ledger, purpose
        Where the charge is booked, durably, before a row is read; and what for.
    progress
        A function that is told the share of the rows that were read, from 0 to 1: 0 when what was asked for is paid
        and reading begins. In between it is told for files alone.

    Returns
    -------
    Release
        with the names as `items`, the largest count first, `values`, and `margins`; a set without values.

    Raises
    ------
    ValueError, TypeError, OSError
        in one sentence that shows nothing of the table; nothing is booked if a row was not read yet.
    BudgetExceeded
        if the ledger has no room: nothing is booked and nothing looked at.

    Examples
    --------
    >>> import polars as pl
    >>> rows = pl.DataFrame({"who": range(600), "what": ["tea"] * 400 + ["milk"] * 199 + ["a secret"]})
    >>> keys(rows, user="who", item="what", most=1, epsilon=1.0, delta=1e-6).items
    ['tea', 'milk']
    """
    request = KeyRequest.of(
        user, item, most=most, where=where, **budget_within(ledger, epsilon, delta, budget), weighted=weighted,
        values=values, at_least=at_least, unit=unit, memory=memory, multiline=multiline,
        separator=separator,
    )  # fmt: skip
    warn_if_absurd(request.mechanism.guarantee, allow_large)
    source, tell = check_source(rng), checked_progress(progress)
    paid = None if ledger is None else request.booked(rows, ledger, purpose, source)
    release = request.released(rows, source, paid, tell)
    leave_spill_folder()
    return release


@dataclass(frozen=True, slots=True)
class KeyRequest:
    """What was asked for, checked: public facts alone."""

    question: Question
    mechanism: KeySet
    at_least: float | None
    reading: dict[str, Any]

    @classmethod
    def of(
        cls,
        user: str,
        item: str | Iterable[str],
        *,
        most: int | None,
        where: str | None = None,
        epsilon: float | None,
        delta: float | None,
        budget: Guarantee | None,
        weighted: bool | None,
        values: bool,
        at_least: float | None,
        unit: str,
        memory: str | None,
        multiline: bool,
        separator: str | None = None,
    ) -> KeyRequest:
        paid = check_delta_budget(epsilon, delta, budget)
        mechanism = KeySet(most=most, budget=paid, weighted=weighted, values=values)
        question = Question.of(user, item, None, None, most, where)
        least = check_least(at_least, check_flag("values", values))
        reading = {"unit": unit, "memory": memory, "multiline": multiline, "separator": separator}
        return cls(question, mechanism, least, reading)

    @property
    def why(self) -> str:
        """In words, by the public rule."""
        capped, budget = self.mechanism, self.mechanism.guarantee
        if capped.weighted:
            return (
                f"each person shares one vote among up to {capped.most} names, so the bar is the same for all of them"
            )
        if capped.most is not None and capped.most <= FEW and not isinstance(budget, ZCDP):
            return f"each person counts for at most {capped.most}: truncated geometric noise has the lowest bar"
        return f"each person counts for at most {capped.most} names: Gaussian noise, and counts come free"

    def booked(self, rows: object, ledger: Ledger, purpose: str, source: Source = SECURE) -> Booked:
        """Check what can be checked without a row, then book."""
        unit = f"{self.reading.get('unit', 'user')} (add-remove)"
        ledger.check(self.mechanism.charge, self.mechanism.guarantee, unit=unit, fresh=False)
        accepted = self.open(rows).schema()
        return Booked.of(self.mechanism, accepted, ledger, purpose, source, left_out_in_words(self.at_least))

    def open(self, rows: object) -> OpenTable:
        """The table, whose names and types alone are looked at until it is counted."""
        return open_table(rows, self.question, **self.reading)

    def released(self, rows: object, source: Source, paid: Booked | None, progress: Progress | None = None) -> Release:
        """Count, draw, and say why."""
        with reading(progress, paid):
            scores = self.open(rows).count(progress)
        scores = self._counting_again(scores, rows)
        release = self.mechanism.release(scores, rng=source) if paid is None else paid.release(scores, source)
        release = replace(release, why=self.why)
        return release if self.at_least is None else left_out(release, self.at_least)

    def _counting_again(self, scores: Scores, rows: object) -> Scores:
        """The same scores; where many names come out, their people are counted among these names."""
        weights = scores._weights
        if weights is None or not self.mechanism.weighted or self.question.most is not None:
            return scores

        def again(names: list[Hashable], most: int) -> list[int]:
            question = replace(self.question, most=most)
            counts = open_table(rows, question, names, **self.reading).count().as_public()
            people = dict(zip(counts.labels, counts.values.tolist(), strict=True))
            return [people[name] for name in names]

        return scores._with_weights(Recounted(weights, again))
