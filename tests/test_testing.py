"""Wrong claims about a score function are refuted, with small tables that show it; right ones are never confirmed."""

import math
import random
import re
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shortlist.testing import check_sensitivity

FILMS = ("a", "b", "c")
ROWS = [
    {"user": n, "film": FILMS[(n + k) % 3], "stars": 1.0 + (n * k) % 5} for n in range(12) for k in range(1 + n % 3)
]


def people(rows):
    """How many people saw each film: sensitivity 1, monotone."""
    return {film: len({row["user"] for row in rows if row["film"] == film}) for film in FILMS}


def test_a_right_claim_is_not_refuted_and_not_confirmed():
    found = check_sensitivity(people, ROWS, user="user", monotone=True)
    assert not found.refuted
    assert "proves nothing" in str(found)
    assert not check_sensitivity(people, ROWS, user="user", neighbours="replace").refuted


def lines(rows):
    return {film: sum(row["film"] == film for row in rows) for film in FILMS}


def share(rows):
    return {film: count / max(1, len({row["user"] for row in rows})) for film, count in people(rows).items()}


def favourite(rows):
    """Everybody votes for the film that most others saw."""
    seen = people(rows)
    top = max(FILMS, key=lambda film: (seen[film], film))
    return {film: float(len({row["user"] for row in rows})) * (film == top) for film in FILMS}


def stars(rows):
    return {film: sum(row["stars"] for row in rows if row["film"] == film) for film in FILMS}


def only_seen(rows):
    return {film: count for film, count in people(rows).items() if count}


def fragile(rows):
    if any(math.isnan(row["stars"]) for row in rows):
        raise ValueError("no number")
    return people(rows)


WRONG: dict[str, tuple[Any, dict[str, Any], str]] = {
    "many lines of one person": (lines, {}, "up by"),
    "not monotone": (share, {"monotone": True}, "not monotone"),
    "a winner takes all": (favourite, {}, "more than 1"),
    "sums that are not clipped": (stars, {}, "more than 1|not finite"),
    "candidates from the data": (only_seen, {}, "list of candidates"),
    "raises on some rows": (fragile, {}, "raises ValueError"),
    "counts half as much": (people, {"sensitivity": 0.5}, "more than 0.5"),
    "counts go up": (people, {"sensitivity": (1.0, 0.0)}, "up by"),
    "order of rows": (lambda rows: [rows[0]["stars"] if rows else 0.0], {}, "order of the rows"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_claim_is_refuted_in_words(name):
    score, claim, says = WRONG[name]
    found = check_sensitivity(score, ROWS, user="user", **claim)
    assert found.refuted
    assert re.search(says, found.finding)


def test_what_is_found_is_small_and_shows_it():
    found = check_sensitivity(lines, ROWS, user="user")
    assert len(found.before) == 0
    assert len(found.after) == 2
    assert len({row["user"] for row in found.after}) == 1
    assert max(lines(found.after).values()) == 2


def test_randomness_in_a_score_is_found():
    rng = random.Random(1)
    assert "from call to call" in check_sensitivity(lambda rows: [rng.random()], ROWS, user="user").finding


@pytest.mark.parametrize(
    ("make", "read"),
    [
        (pd.DataFrame, lambda table: table.to_dict("records")),
        (pl.DataFrame, lambda table: table.rows(named=True)),
        (pa.Table.from_pylist, lambda table: table.to_pylist()),
    ],
    ids=["pandas", "polars", "pyarrow"],
)
def test_frames_come_back_as_what_they_were(make, read):
    table = make(ROWS)
    assert not check_sensitivity(lambda rows: people(read(rows)), table, user="user", monotone=True, tries=60).refuted
    found = check_sensitivity(lambda rows: lines(read(rows)), table, user="user")
    assert found.refuted
    assert type(found.after) is type(table)


@pytest.mark.parametrize(
    "words",
    [
        {"user": "nobody"},
        {"sensitivity": -1.0},
        {"sensitivity": (1.0, 2.0, 3.0)},
        {"neighbours": "swap"},
        {"neighbours": "replace", "monotone": True},
    ],
)
def test_claims_of_another_kind_are_refused(words):
    with pytest.raises(ValueError, match=r"must be|does not hold"):
        check_sensitivity(people, ROWS, **{"user": "user", **words})
    with pytest.raises(TypeError, match="rows must be"):
        check_sensitivity(people, 5, user="user")


TEN = [{"who": n, "what": n % 3} for n in range(12)]


def few(rows):
    """Of few rows it cannot say anything; of more it moves by 5 for one more person."""
    rows = list(rows)
    if len(rows) < 6:
        raise ValueError("too few rows")
    return [5.0 * len(rows)]


def test_a_counterexample_is_not_shrunk_to_a_pair_on_which_both_raise():
    found = check_sensitivity(few, TEN, user="who", sensitivity=1.0)
    assert found.refuted
    sizes = len(list(found.before)), len(list(found.after))
    assert max(sizes) >= 6, sizes


def test_a_score_that_always_raises_is_refuted_by_no_pair():
    def never(rows):
        if len(list(rows)) != len(TEN):
            raise ValueError("other rows")
        return [0.0]

    found = check_sensitivity(never, TEN, user="who", sensitivity=1.0)
    assert found.refuted  # by a pair of which one is the whole table
    assert len(list(found.before)) == len(TEN) or len(list(found.after)) == len(TEN)
