"""For tests only: randomness that repeats itself, and rehearsals on public data. Nothing here is private."""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from shortlist._neighbour_search import Claim, Search, Table
from shortlist.sampling.entropy import Seeded


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
            raise TypeError(
                f"train must return (output, score), not {type(pair).__name__}: for {candidate!r} it did not"
            )
        output, score = pair
        if isinstance(score, str | bytes) or not hasattr(score, "__float__"):
            raise TypeError(
                f"train must return a score that is a number: for {candidate!r} it is {type(score).__name__}"
            )
        if math.isnan(float(score)):
            raise ValueError(f"train must return a score that is a number: for {candidate!r} it is NaN")
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
    table = Table.of(rows)
    if table.rows and user not in table.rows[0]:
        raise ValueError(f"user must be a column of rows: there is no {user!r}")
    search = Search(score, table, user, _claim(sensitivity, monotone, neighbours), random.Random(seed))
    alone = search.alone()
    if alone:
        return SensitivityCheck(True, alone, None, None, 0)
    for tried, (before, after) in enumerate(search.pairs(operator.index(tries)), 1):
        if search.verdict(before, after):
            before, after = search.shrink(before, after)
            finding = search.verdict(before, after)
            return SensitivityCheck(True, finding, table.back(before), table.back(after), tried)
    said = f"no counterexample among {tries} pairs of neighbours; that proves nothing"
    return SensitivityCheck(False, said, None, None, tries)


def _claim(sensitivity: object, monotone: object, neighbours: object) -> Claim:
    both = sensitivity if isinstance(sensitivity, tuple) else (sensitivity, sensitivity)
    if len(both) != 2 or not all(isinstance(one, int | float) and 0 <= one < math.inf for one in both):
        raise ValueError("sensitivity must be a number of at least 0, or (down, up): write sensitivity=1.0")
    if neighbours not in ("add-remove", "replace"):
        raise ValueError('neighbours must be "add-remove" or "replace"')
    if monotone and neighbours == "replace":
        raise ValueError('monotone=True does not hold with neighbours="replace": write monotone=False')
    return Claim(float(both[0]), float(both[1]), bool(monotone), neighbours == "replace")
