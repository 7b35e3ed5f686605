"""Who writes a word that is not known, or a file that is not read as meant, is told what to write instead."""

import pickle
from typing import Any

import polars as pl
import pytest

import shortlist

sl: Any = shortlist  # what is written here is wrong, and shall be

ROWS = pl.DataFrame({"person": [1, 2, 3], "city": ["Bern", "Bern", "Genf"], "country": ["CH"] * 3, "age": [3, 4, 5]})
SCORES = sl.Scores([3, 1, 2], monotone=True)
COLUMNS = {"user": "person", "item": "city", "candidates": ["Bern", "Genf"]}


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: sl.top_k(SCORES, k=1, epsilon=1.0, value=True), "value: for a table.*did you mean values=True\\?"),
        (lambda: sl.top_k(SCORES, k=1, epsilon=1.0, smallest=True), "smallest is no word .*write largest=False"),
        (lambda: sl.top_k(SCORES, k=1, epsilon=1.0, delimiter=";"), "delimiter is no word .*write separator="),
        (lambda: sl.count(ROWS, user="person", item="city", candidate=[]), "count knows no.*did you mean 'candidates'"),
        (lambda: sl.count(ROWS, user="person", itm="city"), "count knows no word 'itm'; did you mean 'item'"),
        (lambda: sl.count(ROWS, user="person", item="city", sep=";"), "count knows no word 'sep'; write separator="),
        (lambda: sl.count(ROWS, user="person", item="city", epsilon=1), "'epsilon'; a count costs nothing yet"),
        (lambda: sl.keys(ROWS, user="person", item="city", epsilon=1.0, detla=1e-6), "did you mean 'delta'"),
        (lambda: sl.keys(ROWS, user="person", item="city", by="country"), "keys knows no word 'by'; names for each gr"),
        (lambda: sl.keys(ROWS, user="person", item="city", zebra=1), "keys knows no word 'zebra'; see help\\(keys\\)"),
        (lambda: sl.quantile(ROWS, user="person", vlaue="age"), "quantile knows no word.*did you mean 'value'"),
        (lambda: sl.Ledger("no.db", epsilon=3), "Ledger knows no word 'epsilon'; write budget=PureDP\\(3.0\\)"),
        (lambda: sl.Ledger("no.db", budget=3.0), "write budget=PureDP\\(3.0\\), or budget=ApproxDP\\(3.0, 1e-6\\)"),
    ],
)
def test_a_word_that_is_not_known_leads_to_the_one_that_is(ask, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TypeError, match=said):
        ask()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "said"),
    [("median", "write quantile"), ("topk", "did you mean 'top_k'"), ("bottom_k", "write top_k.*largest=False")],
)
def test_a_name_that_is_not_there_leads_to_the_one_that_is(name, said):
    with pytest.raises(AttributeError, match=said):
        getattr(sl, name)


def test_what_is_kind_is_still_the_function_itself():
    assert pickle.loads(pickle.dumps(sl.count)) is sl.count
    assert sl.count.__module__ == "shortlist.tables.count"
    assert "Parameters" in (sl.count.__doc__ or "")


def test_names_from_the_data_without_a_delta_say_both_ways_out():
    with pytest.raises(ValueError, match=r"needs a delta: write delta=1e-6 too; or, .*candidates=\[...\]"):
        sl.top_k(ROWS, k=1, epsilon=1.0, user="person", item="city")


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_another_separator_is_told_where_it_makes_the_names_that_were_asked_for(tmp_path, separator):
    file = tmp_path / "rows.csv"
    ROWS.write_csv(file, separator=separator)
    with pytest.raises(ValueError, match="one single field") as caught:
        sl.count(str(file), **COLUMNS)
    assert str(caught.value).endswith(f"write separator={separator!r}")
    assert "country" not in str(caught.value), "the header itself is not shown"
    with pytest.raises(ValueError, match="one single field"):
        sl.quantile(str(file), user="person", value="age", lower=0, upper=9, epsilon=1.0)
    assert sl.count(str(file), **COLUMNS, separator=separator).public


def test_a_first_line_of_other_names_is_not_told(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("4711;a secret;CH\n12;another;DE\n")
    with pytest.raises(ValueError, match="has the file a line of names") as caught:
        sl.count(str(file), **COLUMNS)
    assert not {"4711", "secret", ";;"} & set(str(caught.value).split())
    assert "separator" not in str(caught.value)


def test_text_without_quotes_in_a_condition_is_told():
    with pytest.raises(
        ValueError, match=r"'CH': the table has no column of that name; a text goes in single quotes.* = 'CH'"
    ):
        sl.count(ROWS, **COLUMNS, where="country = CH")


def test_a_file_of_utf_16_says_so(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("person,city\n1,Bern\n", encoding="utf-16")
    with pytest.raises(ValueError, match="UTF-16; save it as UTF-8"):
        sl.count(str(file), **COLUMNS)
