"""For tests only: randomness that repeats itself, and rehearsals on public data. Nothing here is private."""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shortlist._runtime import IMPORTS
from shortlist.sampling.entropy import Seeded

__all__ = ["SensitivityCheck", "check_sensitivity", "rehearse", "seeded"]


def seeded(seed: int) -> Seeded:
    """A repeatable source for `rng=`. Anybody who guesses the seed can undo the noise.

    Parameters
    ----------
    seed
        A whole number; the same one gives the same draws, in the same version.

    Returns
    -------
    Seeded
        To be passed as `rng=`. Releases drawn from it say `secure == False`.

    Examples
    --------
    >>> import shortlist as sl
    >>> sl.select([3, 1, 2], epsilon=1.0, rng=sl.testing.seeded(7)).secure
    False
    """
    return Seeded(operator.index(seed))


def rehearse(train: Callable[[Any], tuple[Any, float]], grid: Iterable[Any]) -> list[tuple[Any, Any, float]]:
    """Run each candidate once, on public data, and raise whatever goes wrong: `sl.tune` hides that.

    Parameters
    ----------
    train
        As for `sl.tune`, but over public or made-up data: errors are raised as they are, and all scores shown.
    grid
        The candidates.

    Returns
    -------
    list
        (candidate, output, score) of each.

    Raises
    ------
    TypeError
        if `train` does not return a pair, or its score is no number; and whatever `train` raises.
    ValueError
        if a score is NaN: `sl.tune` would take it for -inf.

    Examples
    --------
    >>> rehearse(lambda c: (None, 2.0 * c), [1, 3])
    [(1, None, 2.0), (3, None, 6.0)]
    """
    results = []
    for candidate in grid:
        pair = train(candidate)
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(f"train must return (output, score): for {candidate!r} it is {type(pair).__name__}")
        output, score = pair
        if isinstance(score, str | bytes) or not hasattr(score, "__float__"):
            raise TypeError(f"train must return a number as its score: for {candidate!r} it is {type(score).__name__}")
        if math.isnan(float(score)):
            raise ValueError(f"train must return a number as its score: for {candidate!r} it is NaN")
        results.append((candidate, output, float(score)))
    return results


@dataclass(frozen=True, slots=True)
class SensitivityCheck:
    """What a search for a counterexample found. That it found none proves nothing.

    Parameters
    ----------
    refuted
        Whether the claim is wrong.
    finding
        What was found, in words.
    before, after
        Two tables that show it, in the caller's own kind; None where there are none.
    tries
        How many pairs of neighbours were looked at.

    Examples
    --------
    >>> check_sensitivity(lambda rows: [len(rows)], [{"user": 1}], user="user").refuted
    True
    """

    refuted: bool
    finding: str
    before: Any
    after: Any
    tries: int

    def __str__(self) -> str:
        return f"refuted: {self.finding}" if self.refuted else self.finding


def check_sensitivity(
    score: Callable[[Any], Any],
    rows: Any,
    *,
    user: str,
    sensitivity: float | tuple[float, float] = 1.0,
    monotone: bool = False,
    neighbours: str = "add-remove",
    tries: int = 300,
    seed: int = 0,
) -> SensitivityCheck:
    """Try to refute what you claim of your own score function. It refutes; it never confirms.

    People are left out and added: copies of real ones, one with everybody's rows, one row many times, new mixtures of
    values, odd numbers (NaN, infinite, huge). It also looks whether the score of one table changes from call to call
    or with the order of rows, and whether it raises. A counterexample is shrunk. For public or made-up rows: the score
    is called on them, and what is found is shown.

    Parameters
    ----------
    score
        From a table like `rows` to one number for each candidate: a list, an array, or a mapping from candidates.
    rows
        A list of dictionaries, or a frame of pandas, polars or pyarrow.
    user
        The column that says whose row it is.
    sensitivity
        How far one person moves a score at most, or (down, up) when a person is added.
    monotone
        Whether one person moves all scores the same way.
    neighbours
        `"add-remove"`, or `"replace"` for tables of which the number of people is public.
    tries, seed
        How many pairs of neighbours are looked at, and which.

    Returns
    -------
    SensitivityCheck
        `refuted`, `finding` in words, and two small tables that show it.

    Raises
    ------
    TypeError, ValueError
        for a claim or rows of another kind; and whatever `score` raises on `rows` as they are.

    Examples
    --------
    >>> rows = [{"user": n, "film": film} for n in range(5) for film in ("a", "b")]
    >>> count = lambda table: {film: len({r["user"] for r in table if r["film"] == film}) for film in ("a", "b")}
    >>> print(check_sensitivity(count, rows, user="user", monotone=True))
    no counterexample among 300 pairs of neighbours; that proves nothing
    >>> lines = lambda table: {film: sum(r["film"] == film for r in table) for film in ("a", "b")}
    >>> check_sensitivity(lines, rows, user="user", monotone=True).refuted  # one person may have many lines
    True
    """
    known, back = read_rows(rows)
    if known and user not in known[0]:
        raise ValueError(f"user must be a column of rows: there is no {user!r}")
    both = sensitivity if isinstance(sensitivity, tuple) else (sensitivity, sensitivity)
    if len(both) != 2 or not all(isinstance(one, int | float) and 0 <= one < math.inf for one in both):
        raise ValueError("sensitivity must be a number of at least 0, or (down, up): write sensitivity=1.0")
    if neighbours not in ("add-remove", "replace"):
        raise ValueError('neighbours must be "add-remove" or "replace"')
    replace = neighbours == "replace"
    if monotone and replace:
        raise ValueError('monotone=True does not hold with neighbours="replace": write monotone=False')
    down, up = map(float, both)
    search = Search(score, known, back, user, down, up, bool(monotone), replace, random.Random(seed))
    alone = search.alone()
    if alone:
        return SensitivityCheck(True, alone, None, None, 0)
    for tried, (before, after) in enumerate(search.pairs(operator.index(tries)), 1):
        if search.verdict(before, after):
            before, after = search.shrink(before, after)
            finding = search.verdict(before, after)
            return SensitivityCheck(True, finding, back(before), back(after), tried)
    said = f"no counterexample among {tries} pairs of neighbours; that proves nothing"
    return SensitivityCheck(False, said, None, None, tries)


Rows = list[dict[str, Any]]
Score = Callable[[Any], Any]
NUMBERS = (0, -1, 1, 10**6, -(10**6), 1e300, math.nan, math.inf, -math.inf)
"""What somebody may write into a column of numbers."""
CLOSE = 1e-9
"""Relative: sums of floats in another order are no counterexample."""


def read_rows(rows: Any) -> tuple[Rows, Callable[[Rows], Any]]:
    """A list of dictionaries, or a frame of pandas, polars or pyarrow, as dictionaries; and the way back."""
    if isinstance(rows, list) and all(isinstance(row, Mapping) for row in rows):
        return [dict(row) for row in rows], lambda table: [dict(row) for row in table]
    with IMPORTS:
        import narwhals as nw
    try:
        frame = nw.from_native(rows, eager_only=True)
    except TypeError:
        raise TypeError("rows must be a list of dictionaries, or a frame of pandas, polars or pyarrow") from None
    schema, backend = frame.schema, frame.implementation

    def back(table: Rows) -> Any:
        columns = {name: [row[name] for row in table] for name in schema}
        return nw.from_dict(columns, schema=dict(schema), backend=backend).to_native()

    return list(frame.rows(named=True)), back


@dataclass(frozen=True, slots=True)
class Search:
    """One search: the score, what is claimed of it, whose row each is, and a repeatable source of tables."""

    score: Score
    rows: Rows
    back: Callable[[Rows], Any]
    """From rows to a table of the caller's own kind."""
    user: str
    down: float
    """How far one person moves a score down at most, as is claimed; `up` is how far up."""
    up: float
    monotone: bool
    replace: bool
    """Whether one person's rows are replaced, instead of added."""
    rng: random.Random

    def refute(self, before: dict[Any, float], after: dict[Any, float]) -> str:
        """What two neighbours' scores refute, in words; "" if nothing. `after` has one person more, or another one."""
        if set(before) != set(after):
            return "the list of candidates itself depends on one person"
        moves = {one: after[one] - before[one] for one in before}
        if not all(map(math.isfinite, moves.values())):
            return "a score is not finite: no sensitivity holds"
        slack = CLOSE * max([1.0, *map(abs, before.values()), *map(abs, after.values())])
        highest, lowest = max(moves.values(), default=0.0), min(moves.values(), default=0.0)
        if highest > self.up + slack:
            return f"one person moves a score up by {highest:.6g}, more than {self.up:g}"
        if -lowest > self.down + slack:
            return f"one person moves a score down by {-lowest:.6g}, more than {self.down:g}"
        if self.monotone and highest > slack and lowest < -slack:
            return f"one person moves one score up by {highest:.6g} and another down by {-lowest:.6g}: not monotone"
        return ""

    def scores(self, rows: Rows) -> dict[Any, float]:
        """{candidate: score}; a list's candidates are its positions. Whatever it raises is raised."""
        answer = self.score(self.back(rows))
        pairs = answer.items() if isinstance(answer, Mapping) else enumerate(answer)
        return {one: float(value) for one, value in pairs}

    def verdict(self, before: Rows, after: Rows) -> str:
        """What this pair refutes, in words; "" if nothing. A pair that the caller's kind of table refuses is none."""
        answers, raised = [], []
        for rows in (before, after):
            try:
                self.back(rows)
            except Exception:  # a value that does not fit its column
                return ""
            try:
                answers.append(self.scores(rows))
            except Exception as error:
                raised.append(type(error).__name__)
        if not raised:
            return self.refute(*answers)
        if len(raised) == 2 and raised[0] == raised[1]:  # which tells nothing apart
            return ""
        return f"the score raises {raised[0]} on one of two neighbours, and that tells them apart"

    def alone(self) -> str:
        """What is wrong with the score on one table: randomness of its own, or a look at the order of rows."""
        rows, first = self.rows, self.scores(self.rows)
        if not _same(first, self.scores(rows)):
            return "the score of one and the same table changes from call to call"
        orders = [rows[::-1], *(self.rng.sample(rows, len(rows)) for _ in range(4))]
        if all(_same(first, self.scores(mixed)) for mixed in orders):
            return ""
        return "the score depends on the order of the rows"

    def pairs(self, tries: int) -> Iterator[tuple[Rows, Rows]]:
        """Tables with people left out, and the same with one person more (or another one)."""
        people = list(dict.fromkeys(row[self.user] for row in self.rows))
        for n in range(tries):
            present = set(people if n % 3 == 0 else self.rng.sample(people, self.rng.randint(0, len(people))))
            base = [row for row in self.rows if row[self.user] in present]
            new = self._person(people)
            if self.replace:
                gone = self.rng.choice(people) if people else None
                rest = [row for row in base if row[self.user] != gone]
                yield rest + self._rename_person(self._person(people), people), rest + self._rename_person(new, people)
            elif n % 2 and present:
                gone = self.rng.choice(sorted(present, key=repr))
                yield [row for row in base if row[self.user] != gone], base
            else:
                yield base, base + self._rename_person(new, people)

    def _person(self, people: Sequence[Any]) -> Rows:
        """Rows of somebody new: a copy of a real person, everything at once, one row many times, odd numbers."""
        rows, rng = self.rows, self.rng
        if not rows:
            return []
        kind = rng.randrange(5)
        if kind < 2:
            one = rng.choice(people) if kind == 0 else None
            return [dict(row) for row in rows if kind or row[self.user] == one]
        if kind == 2:
            return [dict(rng.choice(rows))] * rng.choice((1, 2, 50))
        columns = [name for name in rows[0] if name != self.user]
        made = [{name: rng.choice(rows)[name] for name in rows[0]} for _ in range(rng.randint(1, 4))]
        if kind == 3:
            return made
        numeric = [name for name in columns if _is_number(rows[0][name])]
        for row in made:
            for name in numeric:
                odd = rng.choice(NUMBERS)
                row[name] = odd if isinstance(rows[0][name], float) or isinstance(odd, int) else int(1e15)
        return made

    def _rename_person(self, rows: Rows, people: Sequence[Any]) -> Rows:
        """These rows under a name that nobody has."""
        numbers = people and all(_is_number(one) for one in people)
        name = max(people) + 1 if numbers else "somebody new"
        while name in people:
            name += "!"
        return [{**row, self.user: name} for row in rows]

    def shrink(self, before: Rows, after: Rows) -> tuple[Rows, Rows]:
        """The same counterexample with as few other people, and as few rows of the one, as a greedy search leaves."""
        people = list(dict.fromkeys(row[self.user] for row in before))
        size = len(people)
        while size:
            for start in range(0, len(people), size):
                gone = set(people[start : start + size])
                one, two = ([row for row in rows if row[self.user] not in gone] for rows in (before, after))
                if one != two and self.verdict(one, two):
                    before, after = one, two
            people = list(dict.fromkeys(row[self.user] for row in before))
            size = min(size, len(people)) // 2 if size > 1 else 0
        common = [row for row in before if row in after]
        extra = [row for row in after if row not in common]
        for row in extra:
            rest = [one for one in after if one is not row]
            if len(extra) > 1 and self.verdict(before, rest):
                after = rest
        return before, after


def _same(one: dict[Any, float], two: dict[Any, float]) -> bool:
    if set(one) != set(two):
        return False
    return all(math.isclose(one[key], two[key], rel_tol=CLOSE, abs_tol=CLOSE) or one[key] is two[key] for key in one)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
