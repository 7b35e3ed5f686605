"""Hostile files and wrong arguments: one clear sentence, which shows nothing of the rows."""

import gzip
import io
import os
import sys
import tempfile
from typing import Any

import polars as pl
import pytest

import shortlist as sl
from shortlist.tables import files
from shortlist.tables.errors import TableError
from shortlist.tables.files import column_names
from tests.helpers.typed import present
from tests.tables.tables import found, write_file

SECRET = "Zebulon"
"""A value in every hostile table; no error may show it."""


def counted(path, **more):
    return sl.count(path, user="user", item="item", **more)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("quote.csv", f'user,item\n1,"{SECRET}\n2,b\n', "a quote opens on one line and does not close on it"),
        ("wide.csv", f"user,item\n1,a\n2,{SECRET},c\n", "counted: a line has more or fewer fields than the header"),
        ("narrow.csv", f"user,item\n1,a\n{SECRET}\n", "counted: a line has more or fewer fields than the header"),
        ("latin.csv", f"user,item\n1,caf\xe9 {SECRET}\n".encode("latin-1"), "the text is not UTF-8"),
        ("header.csv", f"us\xe9r,{SECRET}\n1,a\n".encode("latin-1"), "its header is no line of UTF-8 text"),
        ("missing.csv", f"user,{SECRET}\n1,a\n", "item='item': the table has no column of that name"),
        ("twice.csv", f"user,item,item\n1,a,{SECRET}\n", "item='item'"),
        ("headless.csv", f"{SECRET},a\n2,b\n", "user='user': the table has no column of that name"),
        ("empty.csv", "", "it has no header"),
        ("broken.csv.gz", b"\x1f\x8b no gzip", "it is no whole gzip file"),
        ("text.parquet", f"user,item\n{SECRET},a\n", "it is no parquet file"),
        ("empty.parquet", "", "it is no parquet file"),
        ("half.jsonl", f'{{"user": 1, "item": "{SECRET}"}}\n{{"user": 1, "it', "a line is no JSON object"),
        ("rows.xlsx", SECRET, "its name must end in"),
        ("rows", SECRET, "its name must end in"),
    ],
)
def test_a_file_that_cannot_be_counted_says_why_in_one_sentence(tmp_path, name, content, said):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises((ValueError, OSError)) as error:
        counted(path)
    message = str(error.value)
    assert said in message
    assert SECRET not in message
    assert "\n" not in message


def test_odd_content_is_counted_as_data(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_bytes(b'user,item\n1,=SUM(A1)\n2,"=SUM(A1)"\n3,"a ""b"""\n4,x\x0by\n5,\n,z\n6,""\n7,"two\nlines"\n')
    wanted = {"=SUM(A1)": 2, 'a "b"': 1, "x\x0by": 1, "": 1, "two\nlines": 1}
    assert found(counted(path, multiline=True)) == wanted


def test_types_are_never_guessed_from_the_rows(tmp_path):
    """One person's row must not change how another's is read: 007 stays 007 whoever else is there."""
    path = tmp_path / "rows.csv"
    path.write_text("user,item\n1,007\n2,7\n")
    assert found(counted(path)) == {"007": 1, "7": 1}
    path.write_text("user,item\n1,007\n2,7\n3,seven\n01,7\n")
    assert found(counted(path)) == {"007": 1, "7": 2, "seven": 1}


def test_values_that_are_no_numbers_are_dropped(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("user,item,stars\n1,a,5\n2,a,five\n3,a,\n4,a,nan\n5,a,1e400\n6,a,2.5\n")
    assert found(counted(path, candidates=["a"], value="stars", clip=(0, 5))) == {"a": 12.5}


@pytest.mark.parametrize("rows", ["", "1,a\n"])
def test_no_rows_and_one_user_are_data_like_any_other(tmp_path, rows):
    path = tmp_path / "rows.csv"
    path.write_text(f"user,item\n{rows}")
    release = sl.top_k(counted(path, candidates=["a", "b", "c"]), 2, epsilon=1.0)
    assert len(present(release.items)) == 2
    unknown = sl.top_k(counted(path), 2, epsilon=1.0, delta=1e-9)
    assert unknown.items == []
    assert repr(counted(path)) == "Scores(candidates from data, sensitivity=1.0, monotone, add-remove)"


def test_paths_globs_directories_and_what_may_not_be_read(tmp_path):
    for n in range(3):
        (tmp_path / f"part {n}.csv").write_text(f"user,item\n{n},a\n0,b\n")
    (tmp_path / "odd[1]*.csv").write_text("user,item\n1,z\n")
    assert found(counted(tmp_path / "part *.csv")) == {"a": 3, "b": 1}
    assert found(counted(tmp_path / "odd[1]*.csv")) == {"z": 1}
    with pytest.raises(IsADirectoryError, match="is a directory; write"):
        counted(tmp_path)
    with pytest.raises(FileNotFoundError, match="is not there"):
        counted(tmp_path / "nothing*.parquet")
    with gzip.open(tmp_path / "rows.csv.gz", "wt") as file:
        file.write("user,item\n1,a\n")
    assert found(counted(tmp_path / "rows.csv.gz")) == {"a": 1}
    (tmp_path / "rows.tsv").write_text("user\titem\n1\ta,b\n")
    assert found(counted(tmp_path / "rows.tsv")) == {"a,b": 1}


@pytest.mark.parametrize("second", ["item,user\nb,2\n", "2,b\n", "user,item,more\n2,b,c\n"])
def test_files_of_a_glob_have_the_same_header(tmp_path, second):
    """DuckDB reads the others by position: users would be items, and a file without a header lose a row."""
    (tmp_path / "a.csv").write_text("user,item\n1,a\n")
    (tmp_path / "b.csv").write_text(second)
    with pytest.raises(TableError, match="must have the same header"):
        counted(tmp_path / "*.csv")


def test_files_of_a_glob_have_the_same_types(tmp_path):
    """DuckDB casts the others to the types of the first: users 1.2 and 1.4 would be one."""
    pl.DataFrame({"user": [1], "item": ["a"]}).write_parquet(tmp_path / "1.parquet")
    pl.DataFrame({"user": [1.2, 1.4], "item": ["a", "a"]}).write_parquet(tmp_path / "2.parquet")
    with pytest.raises(TableError, match="must have the same types"):
        counted(tmp_path / "*.parquet")
    pl.DataFrame({"more": [0], "item": ["b"], "user": [2]}).write_parquet(tmp_path / "2.parquet")
    assert found(counted(tmp_path / "*.parquet")) == {"a": 1, "b": 1}
    pl.DataFrame({"User": [2], "item": ["b"]}).write_parquet(tmp_path / "2.parquet")
    with pytest.raises(TableError, match="must have the same types"):
        counted(tmp_path / "*.parquet")


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_folders_say_nothing(tmp_path, ending):
    """Names of folders would replace a column, and be numbers until one of them is not."""
    for n in ("12", "x"):
        folder = tmp_path / f"item={n}"
        folder.mkdir()
        rows = pl.DataFrame({"user": [n], "item": ["a"]})
        write_file(rows, ending, folder / f"rows.{ending}")
    assert found(counted(tmp_path / "*" / f"*.{ending}")) == {"a": 2}


def test_one_line_of_json_does_not_decide_whether_there_is_an_error(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"user": 1, "thing": "a"}\n')
    assert found(counted(path, candidates=["a"])) == {"a": 0}
    path.write_text('{"user": 1, "thing": "a"}\n{"user": 2, "item": "a"}\n')
    assert found(counted(path, candidates=["a"])) == {"a": 1}


def test_a_file_without_permission_is_one_sentence(tmp_path, monkeypatch):
    path = tmp_path / "rows.csv"
    path.write_text("user,item\n1,a\n")
    path.chmod(0)
    if os.geteuid() == 0:  # who may read everything: what others would be told
        monkeypatch.setattr(os, "access", lambda *asked: False)
    with pytest.raises(PermissionError, match="may not be read"):
        counted(path)


ROWS = pl.DataFrame({"user": [1], "item": ["a"], "list": [[1]], "value": [1.0], "number": [1]})


@pytest.mark.parametrize(
    ("arguments", "kind", "said"),
    [
        ({"source": 7}, TypeError, "source must be a path"),
        ({"source": ROWS["item"]}, TypeError, "source must be a frame"),
        ({"user": 7}, TypeError, "user must be the name of a column"),
        ({"item": []}, ValueError, "at least one column"),
        ({"item": ["item", "item"]}, ValueError, "twice"),
        ({"item": "user"}, ValueError, "different columns"),
        ({"item": "nothing"}, ValueError, "no column of that name"),
        ({"item": "list"}, ValueError, "must be a column of text"),
        ({"user": "list"}, ValueError, "must be a column of plain values"),
        ({"value": "value"}, TypeError, "go together"),
        ({"clip": (0, 5)}, TypeError, "go together"),
        ({"value": "item", "clip": (0, 5), "candidates": ["a"]}, ValueError, "column of numbers"),
        ({"value": "value", "clip": (0, 5)}, ValueError, "sums need candidates"),
        ({"value": "value", "clip": (5, 0), "candidates": ["a"]}, ValueError, "low <= high"),
        ({"value": "value", "clip": (0, 0), "candidates": ["a"]}, ValueError, "not both 0"),
        ({"value": "value", "clip": 5, "candidates": ["a"]}, TypeError, "pair"),
        ({"value": "value", "clip": (0, float("inf")), "candidates": ["a"]}, ValueError, "finite"),
        ({"value": "value", "clip": (True, 2), "candidates": ["a"]}, TypeError, "pair"),
        ({"value": "value", "clip": ("a", "b"), "candidates": ["a"]}, TypeError, "pair"),
        ({"value": "value", "clip": (0, 1e300), "candidates": ["a"]}, ValueError, "ordinary size"),
        ({"candidates": []}, ValueError, "must not be empty"),
        ({"candidates": ["a", None]}, ValueError, "must not be missing"),
        ({"candidates": [["a"]]}, ValueError, "do not fit"),
        ({"candidates": [b"a"], "source": "rows.parquet"}, ValueError, "do not fit"),
        ({"candidates": 7}, TypeError, "candidates must be"),
        ({"candidates": {"a": 1}}, TypeError, "candidates must be"),
        ({"candidates": "nowhere.txt"}, FileNotFoundError, "is not there"),
        ({"candidates": "other.csv"}, ValueError, "the file must have the item columns"),
        ({"candidates": "other.csv", "source": "rows.parquet"}, ValueError, "the file must have the item columns"),
        ({"candidates": "none.csv", "source": "rows.parquet"}, ValueError, "must not be empty"),
        ({"candidates": pl.DataFrame({"x": ["a"]})}, ValueError, "the frame must have the item columns"),
        ({"candidates": ["a"], "item": ["item", "number"]}, ValueError, "tuples of 2"),
        ({"candidates": "names.txt", "item": ["item", "number"]}, ValueError, "several columns"),
        ({"candidates": ["one"], "item": "number", "source": "rows.parquet"}, ValueError, "do not fit"),
        ({"candidates": ["one"], "item": "number"}, ValueError, "do not fit"),
        ({"item": "value"}, ValueError, "must be a column of text"),
        ({"source": "http://host/rows.csv"}, ValueError, "a file on this machine"),
        ({"unit": ""}, ValueError, "unit must be a word"),
        ({"memory": "512MB"}, TypeError, "memory is for files"),
        ({"memory": "much", "source": "rows.parquet"}, ValueError, "memory must be a size"),
        ({"memory": "99999999999TB", "source": "rows.parquet"}, ValueError, "memory must be a size"),
    ],
)
def test_wrong_arguments_are_named(tmp_path, monkeypatch, arguments, kind, said):
    monkeypatch.chdir(tmp_path)
    ROWS.write_parquet("rows.parquet")
    (tmp_path / "other.csv").write_text("thing\na\n")
    (tmp_path / "none.csv").write_text("item\n")
    (tmp_path / "names.txt").write_text("a\n")
    asked = {"source": ROWS, "user": "user", "item": "item", **arguments}
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(kind, match=said):
        sl.count(asked.pop("source"), **asked)
    assert not list(tmp_path.glob("shortlist-*/*"))


def test_a_table_larger_than_the_memory_limit_goes_to_a_private_folder_that_goes_away(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    numbers = pl.select(pl.int_range(1_500_000).alias("n"))
    numbers.select(user="n", item=pl.col("n").hash(1).cast(pl.String)).write_parquet(tmp_path / "rows.parquet")
    scores = sl.count(tmp_path / "rows.parquet", user="user", item="item", memory="64MB")
    (folder,) = tmp_path.glob("shortlist-*")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert list(folder.glob("*/*"))
    del scores
    assert not list(folder.iterdir())


@pytest.mark.parametrize("ending", ["txt", "csv"])
def test_candidates_that_change_after_the_charge_are_not_drawn_from(tmp_path, ending):
    """All of two candidates cost nothing; two of three would be a release that nobody paid for. Lines are read once,
    before the charge; a table file is read in the engine, and again."""
    table, listed = tmp_path / "rows.csv", tmp_path / f"known.{ending}"
    table.write_text("user,item\n1,a\n2,b\n3,c\n")
    first = "" if ending == "txt" else "item\n"
    listed.write_text(f"{first}a\nb\n")
    ledger = sl.Ledger(tmp_path / "budget.db", budget=sl.PureDP(3.0))
    asked: dict[str, Any] = {"user": "user", "item": "item", "candidates": listed, "epsilon": 1.0, "ledger": ledger}
    assert sl.top_k(table, 2, **asked).items == ["a", "b"]
    assert ledger.spent.epsilon == 0

    def change(share: float) -> None:
        listed.write_text(f"{first}a\nb\nc\n")

    if ending == "txt":
        assert sl.top_k(table, 2, **asked, progress=change).items == ["a", "b"]
    else:
        with pytest.raises(ValueError, match="changed between the charge and the count"):
            sl.top_k(table, 2, **asked, progress=change)
    assert len(ledger.entries()) == 2


@pytest.mark.parametrize("ending", ["txt", "csv", "jsonl", "parquet"])
def test_other_candidates_that_are_as_many_are_not_drawn_from_either(tmp_path, ending):
    """The ledger has the hash of those that were charged for."""
    table, listed = tmp_path / "rows.csv", tmp_path / f"known.{ending}"
    table.write_text("user,item\n" + "".join(f"{user},{item}\n" for user in range(99) for item in ("tea", "milk")))

    def write(items: list[str]) -> None:
        draft = tmp_path / "draft"
        if ending == "txt":
            draft.write_text("\n".join(items))
        else:
            write_file(pl.DataFrame({"item": items}), ending, draft)
        draft.replace(listed)

    write(["wine", "beer"])
    ledger = sl.Ledger(tmp_path / "budget.db", budget=sl.PureDP(99.0))
    asked: dict[str, Any] = {"user": "user", "item": "item", "candidates": listed, "epsilon": 9.0, "ledger": ledger}

    def change(share: float) -> None:
        write(["milk", "tea"])

    if ending == "txt":
        assert {*sl.top_k(table, 1, **asked, progress=change).items} <= {"wine", "beer"}
    else:
        with pytest.raises(ValueError, match="changed between the charge and the count") as caught:
            sl.top_k(table, 1, **asked, progress=change)
        assert "the charge stays: entry 1" in caught.value.__notes__[0]


@pytest.mark.skipif(sys.platform == "darwin", reason="its file names are UTF-8")
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_file_whose_name_is_not_utf8_is_refused_in_words_before_a_charge(tmp_path, ending):
    path = tmp_path / f"caf\udce9.{ending}"
    path.write_text('{"who": 1, "what": "tea"}\n' if ending == "jsonl" else "who,what\n1,tea\n")
    ledger = sl.Ledger(tmp_path / "l.db", budget=sl.PureDP(9.0))
    asked: dict[str, Any] = {"user": "who", "epsilon": 1.0, "ledger": ledger}
    for release in (
        lambda: sl.top_k(path, 1, item="what", candidates=["tea", "milk"], **asked),
        lambda: sl.quantile(path, value="what", lower=0, upper=9, **asked),
    ):
        with pytest.raises(ValueError, match="is not UTF-8 text, so rename it"):
            release()
    assert ledger.entries() == []


@pytest.mark.parametrize("blank", [b"", b"\n \n"])
def test_of_json_lines_no_more_is_read_than_a_line_may_be_long(tmp_path, monkeypatch, blank):
    monkeypatch.setattr("shortlist.tables.files.LONGEST_OBJECT", 1000)
    path = tmp_path / "rows.jsonl"
    path.write_bytes(blank + b'{"who": 1, "what": "' + b"x" * 100_000 + b'"}\n')
    with pytest.raises(ValueError, match="its first line is longer than 16 MB"):
        column_names(str(path))
    path.write_bytes(blank + b'{"who": 1, "what": "tea"}\n' + b"x" * 100_000)
    assert column_names(str(path)) == ["who", "what"]
    path.write_bytes(b"\n" * 100_000)
    assert column_names(str(path)) == []
    read = []

    class Counting(io.BytesIO):
        def readline(self, size=-1):
            line = super().readline(size)
            read.append(len(line))
            return line

    files._first_line(Counting(b"\n" * 100_000))
    files._first_line(Counting(b"x" * 100_000))
    assert sum(read) <= 2 * 1001
