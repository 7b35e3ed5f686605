"""Columns that are not there: near names are told where they are names, and a first line of data never is."""

from typing import Any, cast

import polars as pl
import pytest

import shortlist as sl

SECRET = "R0663"


@pytest.fixture
def headless(tmp_path):
    path = tmp_path / "headless.csv"
    path.write_text(f"{SECRET},Alien\nR0664,Heat\n")
    return str(path)


@pytest.mark.parametrize("user", ["r0663", "R063", " R0663 ", "user"])
def test_a_first_line_of_data_is_not_quoted(headless, user):
    asked: dict[str, Any] = {"lower": 0, "upper": 9, "epsilon": 1.0}
    for ask in (
        lambda: sl.count(headless, user=user, item="alien"),
        lambda: sl.keys(headless, user=user, item="alien", epsilon=1.0, delta=1e-6),
        lambda: sl.quantile(headless, user=user, value="alien", **asked),
    ):
        with pytest.raises(ValueError, match="none of the names you gave is in its first line: has the file") as caught:
            ask()
        assert SECRET not in str(caught.value).replace(repr(user), "")


def test_a_line_of_names_is_known_by_another_name_that_is_in_it(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("visitor,page,branch\na,x,Bern\n")
    for words, said in (
        ({"user": "visitors", "item": "page"}, "user='visitors'.*did you mean 'visitor'"),
        ({"user": "visitor", "item": "page,branch"}, r"several columns are item=\[...\]"),
        ({"user": "visitor", "item": "page", "where": "brnch = 'Bern'"}, "where: 'brnch'.*did you mean 'branch'"),
        ({"user": "visitor", "item": "page", "where": "nowhere = 'Bern'"}, "'nowhere'.*; write it as the table does"),
        ({"user": "visitor", "item": "page", "where": 'branch = "Nord"'}, "in single quotes, as in = 'Nord'"),
        ({"user": "visitor", "item": "page", "where": "week = 1 OR (branch = Nord)"}, "'week'.*as the table does"),
    ):
        with pytest.raises(ValueError, match=said):
            sl.count(str(path), **cast(dict[str, Any], words))
    with pytest.raises(ValueError, match=r"value='weight'.*write it as the table does"):
        sl.quantile(str(path), user="visitor", value="weight", lower=0, upper=9, epsilon=1.0)


def test_standard_input_is_no_table():
    with pytest.raises(ValueError, match="standard input is not read"):
        sl.count("-", user="visitor", item="page")


@pytest.mark.parametrize("name", ["*", "^a$", "^.*$"])
@pytest.mark.parametrize("lazy", [False, True])
def test_to_polars_a_name_is_no_pattern(name, lazy):
    rows = pl.DataFrame({"who": [1, 2, 3], "a": ["x", "x", "x"], name: ["tea", "tea", "milk"]})
    counted = sl.count(rows.lazy() if lazy else rows, user="who", item=name, where=f"\"{name}\" <> 'milk'").as_public()
    assert dict(zip(counted.labels, counted.values, strict=True)) == {"tea": 2}
