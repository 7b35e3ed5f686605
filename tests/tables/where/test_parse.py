"""The language of conditions: what is read, and that everything else is refused in words before a row is looked at."""

import datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shortlist as sl
from tests.helpers.support import LETTERS

ROWS = pl.DataFrame(
    {
        "who": [1, 2, 3, 4],
        "what": ["a", "b", "c", "d"],
        "week": [39, 40, 41, None],
        "release year": [1999, 2000, 2001, 2002],
        "day": [datetime.date(2024, 2, 28 + n // 2) for n in range(4)],
        "paid": [True, False, None, True],
        "when": [datetime.datetime(2024, 1, 1)] * 4,
    }
)


def kept(where):
    found = sl.count(ROWS, user="who", item="what", where=where).as_public()
    return "".join(sorted(map(str, found.labels)))


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ("week >= 40", "bc"),
        ("40 <= week", "bc"),
        ("NOT week >= 40", "a"),
        ("week != 40 or week IS null", "acd"),
        ("week = 39 OR week = 40 AND paid = TRUE", "a"),
        ("(week = 39 OR week = 40) AND paid = true", "a"),
        ("NOT (week BETWEEN 40 AND 41)", "a"),
        ("week NOT IN (39, 40.0)", "c"),
        ('"release year" > 2.0005e3', "cd"),
        ("week > 39.5 AND week < 40.5", "b"),
        ("what IN ('a', 'it''s', 'd')", "ad"),
        ("day = DATE '2024-02-29' AND day > '2024-02-28'", "cd"),
        ("paid <> TRUE", "b"),
        ("week > -1", "abc"),
        ("week < 1e30", "abc"),
        ("NOT NOT NOT week IS NULL", "abc"),
    ],
)
def test_what_conditions_mean(where, wanted):
    assert kept(where) == wanted


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("length(what) > 3", "calls no functions"),
        ("sum(week) OVER () > 1", "calls no functions"),
        ("week > (SELECT max(week) FROM rows)", "should be"),
        ("week IN (SELECT week FROM rows)", "other people's rows"),
        ("EXISTS (SELECT 1)", "other people's rows"),
        ("what LIKE 'a%'", "patterns are not part"),
        ("CASE WHEN week = 1 THEN 1 END = 1", "AND and OR"),
        ("week = 1; DROP TABLE rows", "is not part of it"),
        ("week -- 1", "should be"),
        ("week == 1", "write = for equal"),
        ("week + 1 > 3", "is not part of it"),
        ("week", "a comparison"),
        ("", "a column or a literal"),
        ("week >", "a column or a literal"),
        ("week > 1 what = 'a'", "AND, OR or the end"),
        ("1 = 1", "two literals"),
        ("1 < week < 3", "two comparisons in a row"),
        ("week = NULL", "write IS NULL"),
        ("week IN ()", "a column or a literal"),
        ("week IN (what)", "IN takes literals"),
        ("3 IN (week)", "ask about a column"),
        ("what = 'a", "never closed"),
        ("what = 'a\x00'", "NUL"),
        ("what = '\ud800'", "half a character"),
        ("week > 1" + "0" * 41, "at most 40 digits"),
        ("day = DATE '2024-02-30'", "a day of the calendar"),
        ("(" * 61 + "week = 1" + ")" * 61, "inside each other"),
        ("week = 'forty'", "a number without quotes"),
        ("day > 5", "DATE '2024-02-29'"),
        ("week = TRUE", "truth values"),
        ("paid > TRUE", "truth values"),
        ("paid = 1", "TRUE or FALSE"),
        ("week < what", "of two kinds"),
        ("when > '2024-01-01'", "convert it first"),
        ("nowhere = 1", "no column of that name"),
        ("week = 1 " + "OR week = 1 " * 2000, "at most 20,000 letters"),
    ],
)
def test_everything_else_is_refused(where, words):
    with pytest.raises(ValueError, match=r"where"):
        kept(where)
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - its words are looked at
        kept(where)
    assert words in str(caught.value)


@pytest.mark.parametrize("where", [pl.col("week") > 3, 5, b"week = 1", ["week = 1"], lambda row: True])
def test_expressions_of_an_engine_are_refused(where):
    with pytest.raises(TypeError, match="must be a condition as text"):
        sl.count(ROWS, user="who", item="what", where=where)


PIECES = ["week", "what", '"a b"', "'x'", "1", "-1.5", "(", ")", ",", "AND", "OR", "NOT", "IN", "BETWEEN", "IS", "NULL",
          "=", "<>", "<", ">=", "TRUE", "DATE", "'2024-02-29'", "SELECT", "f(", ";", "'", "\n", "é", "*"]  # fmt: skip


ONE_ROW = pl.DataFrame({"user": [1], "item": ["a"], "x": [1]})


@given(st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join) | st.text(LETTERS, max_size=30))
def test_any_text_is_read_or_refused_in_a_sentence(text):
    said = "where"
    try:
        sl.count(ONE_ROW, user="user", item="item", where=text)
    except ValueError as error:
        said = str(error)
    assert said.startswith("where")


def test_a_condition_of_too_many_comparisons_is_refused_alike_in_every_engine():
    with pytest.raises(ValueError, match="more than 100 comparisons"):
        sl.count(ONE_ROW, user="user", item="item", where=" OR ".join(f"x = {n}" for n in range(101)))
