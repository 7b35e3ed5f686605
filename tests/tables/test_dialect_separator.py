"""A separator is said and never guessed; the check of quotes knows it."""

from typing import Any

import polars as pl
import pytest

import shortlist as sl

ASK: dict[str, Any] = {"user": "user", "item": "item", "candidates": ["tea", "a;b", "a,b"]}


def counted(tmp_path, text, **words):
    path = tmp_path / "rows.csv"
    path.write_bytes(text.encode())
    scores = sl.count(path, **ASK, **words).as_public()
    return dict(zip(scores.labels, scores.values.tolist(), strict=True))


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_fields_stand_between_separators(tmp_path, separator):
    quoted = f"a{separator}b"
    text = f'user,"item"\n1,tea\n2,"{quoted}"\n'.replace(",", separator).replace(f"a{separator}b", quoted)
    path = tmp_path / "rows.csv"
    path.write_text(text)
    scores = sl.count(path, user="user", item="item", candidates=["tea", quoted], separator=separator)
    assert scores.as_public().values.tolist() == [1, 1]


def test_quotes_open_after_the_separator_alone(tmp_path):
    assert counted(tmp_path, 'user;item\n1;"a;b"\n2;a,b\n', separator=";") == {"tea": 0, "a;b": 1, "a,b": 1}
    with pytest.raises(ValueError, match="a quote stands where none may"):
        counted(tmp_path, 'user;item\n1;x,"tea"\n', separator=";")  # a comma is a letter here
    with pytest.raises(ValueError, match="a quote opens on one line"):
        counted(tmp_path, 'user;item\n1;"tea\n2;tea\n', separator=";")


def test_one_line_is_one_row_with_any_separator(tmp_path):
    with pytest.raises(ValueError, match="cannot be counted"):
        counted(tmp_path, "user;item\n1;tea;more\n", separator=";")


@pytest.mark.parametrize(
    ("separator", "said"),
    [
        ("", TypeError),
        (";;", TypeError),
        (3, TypeError),
        ("a", ValueError),
        ("\n", ValueError),
        ('"', ValueError),
        ("'", ValueError),
    ],
)
def test_others_are_refused(tmp_path, separator, said):
    with pytest.raises(said, match="separator must be"):
        counted(tmp_path, "user,item\n", separator=separator)


def test_it_is_for_csv_files(tmp_path):
    (tmp_path / "rows.tsv").write_text("user\titem\n")
    with pytest.raises(ValueError, match="separator is for CSV files"):
        sl.count(tmp_path / "rows.tsv", separator=";", **ASK)
    with pytest.raises(TypeError, match="separator is for files"):
        sl.count(pl.DataFrame({"user": [1], "item": ["tea"]}), separator=";", **ASK)
    with pytest.raises(TypeError, match="value must be the name of a column"):
        sl.quantile([1, 2, 3], lower=0, upper=9, epsilon=1.0, separator=";")
