"""`shortlist keys`, and what it shares with the other commands that read a table: charges that stay, files to write."""

import polars as pl
import pytest
from typer.testing import CliRunner

import shortlist as sl
from shortlist import ApproxDP, Ledger, Release
from shortlist.cli.app import app
from tests.helpers.typed import present

KEYS = ["--user", "who", "--item", "what", "--epsilon", "1", "--delta", "1e-6"]
AGES = ["--user", "who", "--value", "what", "--lower", "0", "--upper", "9", "--epsilon", "1"]


def called(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def rows(tmp_path):
    """200 people who hold a, 100 who hold b, and 4 who hold c."""
    path = tmp_path / "rows.parquet"
    pl.DataFrame({"who": range(304), "what": ["a"] * 200 + ["b"] * 100 + ["c"] * 4}).write_parquet(path)
    return path


@pytest.mark.parametrize(
    "command", [["keys", *KEYS], ["top", *KEYS, "-k", "2"], ["top", *KEYS, "-k", "1", "--by", "where"],
                ["quantile", *AGES]],
    ids=lambda words: " ".join([words[0], *words[9:]]),
)  # fmt: skip
def test_a_table_that_breaks_after_the_charge_stays_charged_and_that_is_said(tmp_path, command):
    (tmp_path / "bad.csv").write_text("who,what,where\n" + "1,4,x\n" * 5000 + "2,5,y,3\n")
    book = tmp_path / "book.db"
    Ledger(book, budget=ApproxDP(3.0, 1e-5))
    failed = called(command[0], tmp_path / "bad.csv", *command[1:], "--ledger", book)
    assert failed.exit_code != 0
    assert "the charge stays" in failed.output
    assert len(Ledger(book).entries()) == 1


@pytest.mark.parametrize(
    "command", [["keys", *KEYS], ["top", *KEYS, "-k", "2"], ["quantile", *AGES]], ids=lambda w: w[0]
)
def test_a_file_that_cannot_be_written_is_refused_before_the_charge(tmp_path, rows, command):
    book = tmp_path / "book.db"
    Ledger(book, budget=ApproxDP(3.0, 1e-5))
    for option, path in (("--out", tmp_path / "no" / "x.csv"), ("--report", tmp_path / "x.pdf"), ("--out", rows)):
        assert called(command[0], rows, *command[1:], "--ledger", book, option, path).exit_code != 0
    assert not Ledger(book).entries()


def test_small_counts_are_left_out_by_the_command_too(rows):
    """Of released noisy counts, and refused where there are none."""
    asked = ["top", rows, *KEYS[:4], "-k", "2", "--epsilon", "8", "--delta", "1e-6", "--most", "1"]
    shown = called(*asked, "--values", "--at-least", "150", "--json")
    assert shown.exit_code == 0, shown.output
    release = Release.from_json(shown.stdout.strip())
    assert release.items == ["a"]
    assert min(present(release.values)) >= 150
    assert "below 150 are left out" in release.notes[-1]
    refused = called(*asked, "--at-least", "150")
    assert refused.exit_code != 0
    assert "noisy count" in str(refused.exception)


def test_the_note_of_a_large_least_count_is_not_rounded():
    scores = sl.Scores({"a": 2_000_000, "b": 7}, monotone=True)
    release = sl.top_k(scores, 1, epsilon=1.0, delta=1e-6, values=True, at_least=1_234_567)
    assert "below 1,234,567 are left out" in release.notes[-1]
