"""Scores: what is accepted, what R is, and that no error shows a score."""

import copy
import itertools
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shortlist import Scores
from shortlist._arrays import Frame
from shortlist.scores import as_scores

SECRET = 918273645


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ([1.0, float("nan")], ValueError, "NaN"),
        ([SECRET, float("inf")], ValueError, r"\+inf"),
        ([float("-inf")] * 2, ValueError, "every score is -inf"),
        ([], ValueError, "empty"),
        (np.zeros((SECRET % 7, 2)), ValueError, "one-dimensional"),
        (3, TypeError, "not an int"),
        (None, TypeError, "not None"),
        ({SECRET}, TypeError, "not a set"),
        ("12", TypeError, "not a str"),
        (iter([SECRET]), TypeError, "list_iterator"),
        (np.float64(3), TypeError, "float64"),
        (np.array(3), ValueError, "0-dimensional"),
        (np.array([1, SECRET], object), TypeError, "integers or floats"),
        (pd.Index([1, 2]), TypeError, "not an Index"),
        pytest.param(pl.Series([2**100], dtype=pl.Int128), TypeError, "integers or floats", marks=pytest.mark.newest),
        (np.array([2**63 + SECRET], ">u8"), ValueError, "64 bits"),
        ([np.int64(2**60 + 1), 0.5], ValueError, r"2\^53"),
        ({"a": np.int64(2**60 + 1), "b": 1.0}, ValueError, r"2\^53"),
        ([[1, 2], [3]], ValueError, "one-dimensional"),
        ([1 + 2j], TypeError, "complex"),
        ([None, SECRET], TypeError, "integers or floats"),
        ([Fraction(SECRET, 7)], TypeError, "integers or floats"),
        (["1", "2"], TypeError, "integers or floats"),
        (np.array(["2020-01-01"], "datetime64[D]"), TypeError, "integers or floats"),
        ([2**70, SECRET], ValueError, "64 bits"),
        (np.array([2**63 + SECRET], np.uint64), ValueError, "64 bits"),
        ([2**60 + SECRET, 0.5], ValueError, r"2\^53"),
        (np.array([1, 2], np.longdouble), TypeError, "at most 64 bits"),
        (np.ma.masked_array([1, SECRET], [True, False]), TypeError, "masked"),
        (pl.Series([1, None]), ValueError, "missing"),
        (pd.Series([1.0, None]), ValueError, "missing"),
        (pl.DataFrame({"a": [1]}), TypeError, "one series"),
    ],
)
def test_what_is_no_list_of_scores_has_its_own_error(values, error, message):
    with pytest.raises(error, match=message) as caught:
        Scores(values)
    assert str(SECRET) not in str(caught.value)


@pytest.mark.parametrize(
    ("question", "error", "message"),
    [
        ({"monotone": True, "neighbours": "replace"}, ValueError, "replacing a person"),
        ({"monotone": 1}, TypeError, "monotone"),
        ({"public": "yes"}, TypeError, "public"),
        ({"neighbours": "swap"}, ValueError, "add-remove"),
        ({"unit": ""}, ValueError, "unit"),
        ({"labels": ["a"]}, ValueError, "as many"),
        ({"labels": ["secret label", "secret label"]}, ValueError, "distinct"),
        ({"labels": [["x"], ["y"]]}, TypeError, "hashable"),
        ({"labels": "ab"}, TypeError, "one name per candidate"),
        ({"labels": {"a", "b"}}, TypeError, "in the order"),
        ({"labels": 5}, TypeError, "one name per candidate"),
        ({"labels": [float("nan"), float("nan")]}, ValueError, "NaN"),
        ({"neighbours": np.array(["replace"])}, ValueError, "add-remove"),
    ],
)
def test_what_does_not_describe_a_question_is_refused(question, error, message):
    with pytest.raises(error, match=message) as caught:
        Scores([5, 7], **question)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "values",
    [
        [3, 1, 2],
        (3.0, 1.0, 2.0),
        np.array([3, 1, 2], np.int8),
        np.array([3, 1, 2], np.uint64),
        np.array([3, 1, 2], np.float16),
        np.array([3, 1, 2], ">i4"),
        np.array([3, 0, 1, 0, 2, 0])[::2],
        np.array([2, 1, 3])[::-1],
        pd.Series([3, 1, 2]),
        pl.Series([3, 1, 2]),
        pa.chunked_array([[3], [1, 2]]),
        {"a": 3, "b": 1, "c": 2},
    ],
    ids=lambda values: type(values).__module__ + "." + type(values).__name__,
)
def test_lists_arrays_series_and_mappings_are_accepted(values):
    scores = Scores(values)
    assert scores.values.tolist() == [3, 1, 2]
    assert len(scores) == 3
    assert scores.values.dtype.isnative


def test_booleans_are_counts_of_one():
    assert Scores(np.array([True, False])).values.tolist() == [1, 0]


def test_large_integers_stay_exact():
    values = [2**62 + 1, 2**62, -(2**63)]
    assert Scores(values).values.tolist() == values


def test_arrays_are_not_copied_and_cannot_be_written_through():
    array = np.arange(4.0)
    scores = Scores(array)
    assert np.shares_memory(scores.values, array)
    with pytest.raises(ValueError, match="read-only"):
        scores.values[0] = 9
    array[0] = 1.0  # the caller's own array stays writeable


@pytest.mark.parametrize(
    ("values", "question", "public"),
    [
        ([1, 2], {}, True),
        (np.array([1, 2]), {}, True),
        ([1, 2], {"public": False}, False),
        ({"a": 1}, {}, False),
        ({"a": 1}, {"public": True}, True),
        (pd.Series([1], index=["a"]), {}, False),
        (pd.Series([1]), {}, False),
        (pl.Series([1]), {}, False),
        ([1], {"labels": ["a"]}, False),
        ([1], {"labels": ["a"], "public": True}, True),
    ],
)
def test_labels_came_from_somewhere_unless_said_to_be_public(values, question, public):
    assert Scores(values, **question).public is public


def test_labels_come_from_mappings_indices_and_the_keyword():
    assert list(Scores({"x": 1, "y": 2}).labels) == ["x", "y"]
    assert list(Scores(pd.Series([1, 2], index=["x", "y"])).labels) == ["x", "y"]
    assert list(Scores(pd.Series([1, 2])).labels) == [0, 1]
    assert list(Scores([1, 2], labels=np.array(["x", "y"])).labels) == ["x", "y"]
    assert list(Scores([1, 2], labels=pl.Series(["x", "y"])).labels) == ["x", "y"]
    assert list(Scores([1, 2], labels=pa.array(["x", "y"])).labels) == ["x", "y"]
    assert list(Scores([1, 2]).labels) == [0, 1]
    with pytest.raises(ValueError, match="own labels"):
        Scores({"x": 1}, labels=["y"])


def test_the_repr_shows_no_score_no_label_and_no_private_count():
    hidden = repr(Scores({"secret": SECRET, "other": 3}))
    assert "secret" not in hidden
    assert str(SECRET) not in hidden
    assert "2" not in hidden
    shown = repr(Scores([SECRET, 3], monotone=True, sensitivity=2))
    assert shown == "Scores(2 candidates, sensitivity=2, monotone, add-remove, public)"
    assert repr(Scores([1])) == "Scores(1 candidate, sensitivity=1.0, add-remove, public)"


def test_scores_from_people_say_so_until_declared_public():
    counted = Scores([4, 5], labels=["a", "b"], public=True)._as_counted()
    assert counted.from_table
    assert not counted.as_public().from_table
    assert counted.as_public().labels == counted.labels
    assert not Scores([1]).from_table


def test_plain_values_take_the_question_along_and_scores_do_not():
    assert as_scores([1, 2], monotone=True).monotone
    with pytest.raises(TypeError, match="monotone"):
        as_scores(Scores([1, 2]), monotone=True)
    with pytest.raises(TypeError, match="already"):
        Scores(Scores([1]))


def test_a_subclass_of_a_series_is_a_series():
    class Mine(pd.Series):
        pass

    scores = Scores(Mine([1, 2], index=["a", "b"]))
    assert not scores.public
    assert list(scores.labels) == ["a", "b"]


def test_copies_cannot_be_written_through_either():
    for clone in (copy.deepcopy(Scores([1, 2])), pickle.loads(pickle.dumps(Scores([1, 2])))):
        with pytest.raises(ValueError, match="read-only"):
            clone.values[0] = 9


def test_the_words_of_the_question_can_be_read_back():
    scores = Scores([1, 2], sensitivity=(1, 2), unit="household", neighbours="add-remove")
    assert scores.sensitivity == (1, 2)
    assert scores.unit == "household"
    assert scores.neighbours == "add-remove"
    assert scores.frame is None
    assert Scores(pl.Series([1])).frame == Frame("polars")


WAYS = {"list": list, "mapping": lambda cells: dict(enumerate(cells)), "series": pd.Series, "array": np.array}


@pytest.mark.parametrize("made", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize(
    ("cells", "error", "message"),
    [
        ([Fraction(1, 3), Fraction(1, 2)], TypeError, r"not fractions.*int\(3 \* score\).*sensitivity=3"),
        ([1, Fraction(1, 2)], TypeError, "not fractions or decimals"),
        ([Decimal("0.1"), 2], TypeError, "not fractions or decimals"),
        ([2**70, 1], ValueError, "64 bits.*// 1024"),
        ([1, 2**70], ValueError, "64 bits"),
        ([1, -(2**63) - 1], ValueError, "64 bits"),
        ([2**70, 0.5], ValueError, "do not mix exactly"),
        (["a", 1.5], TypeError, "integers or floats"),
    ],
)
def test_numbers_that_no_float_and_no_64_bits_hold_are_refused_with_what_to_write(made, cells, error, message):
    with pytest.raises(error, match=message) as refused:
        Scores(made(cells))
    assert str(2**70) not in str(refused.value)


def test_whole_numbers_of_which_some_are_too_wide_are_not_called_floats():
    for cells in ([2**63, -1], [2**63, 1], [2**64 - 1, 2**63]):
        with pytest.raises(ValueError, match="64 bits"):
            Scores(cells)
    with pytest.raises(TypeError, match="integers or floats"):
        Scores(np.array([1, 2], dtype=object))


def test_what_the_refusals_advise_moves_no_further_than_they_say():
    """Floats of fractions would: two of them that differ by 1 lie more than 1 apart."""
    apart = Fraction(float(Fraction(11, 10))) - Fraction(float(Fraction(1, 10)))
    assert apart > 1
    thirds = [Fraction(n, 3) for n in range(-9, 10)]
    for one, two in itertools.product(thirds, repeat=2):
        if abs(one - two) <= 1:
            assert abs(int(3 * one) - int(3 * two)) <= 3
    for low, high in itertools.product(range(-2100, 2100, 37), repeat=2):
        if abs(low - high) <= 1024:
            assert abs(low // 1024 - high // 1024) <= 1
