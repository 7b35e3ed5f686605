"""What strangers typed, in the places where it would act: pictures, spreadsheets, messages, notes."""

import datetime
import json
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import polars as pl
import pytest

import shortlist as sl
from shortlist.cli.releases import show
from shortlist.privacy import Composition, PureDP
from shortlist.release_io import csv_table, spreadsheet_safe, write_table
from tests.helpers.terminal import main

mpl.use("Agg")


def release_of(labels, **asked):
    return sl.top_k(dict.fromkeys(labels, 1000), len(labels), epsilon=1.0, monotone=True, public=True, **asked)


def changed(release, **fields):
    """The release that a file with these fields gives."""
    return sl.Release.from_json(json.dumps({**json.loads(release.to_json()), **fields}))


@pytest.mark.parametrize("format", ["svg", "png"])
def test_a_picture_takes_neither_labels_nor_units_for_formulas(format, tmp_path):
    axes = release_of([r"a $\frac{$ b", "tea"], unit=r"user $\frac{$").plot()
    axes.figure.savefig(tmp_path / f"list.{format}", format=format)
    assert r"$\frac{$" in axes.get_xlabel()
    plt.close(axes.figure)


def test_a_picture_gives_no_word_of_others_to_tex():
    with mpl.rc_context({"text.usetex": True}):
        axes = release_of([r"\input{/etc/passwd}", "tea"], unit=r"\input{/etc/passwd}").plot()
    words = [*(text for text in axes.texts if "input" in text.get_text()), axes.xaxis.label]
    assert len(words) == 2
    assert not any(text.get_usetex() or text.get_parse_math() for text in words)
    plt.close(axes.figure)


def test_a_unit_of_any_length_makes_a_picture_of_bounded_work():
    axes = release_of(["tea"], unit="u" * 100_000).plot()
    assert len(axes.get_xlabel()) <= 170
    plt.close(axes.figure)


@pytest.mark.parametrize(
    ("label", "safe"),
    [
        ("tea;=1+1", "tea;'=1+1"),
        (";=1+1;", ";'=1+1;"),
        ('tea;"=1+1;', "tea;'\"=1+1;"),
        ("a; @SUM(1);b", "a;' @SUM(1);b"),
        ("\u200c=1+1", "'\u200c=1+1"),
        ("tea;-5;x", "tea;-5;x"),
        ("tea; milk", "tea; milk"),
    ],
)
def test_no_part_of_a_cell_computes_where_semicolons_separate_cells(label, safe):
    assert spreadsheet_safe(label) == safe


def test_a_number_that_prints_as_a_formula_does_not_get_into_a_file():
    class Count(int):
        def __str__(self):
            return "=1+1"

    assert "\n'=1+1" in csv_table({"item": [Count(1)]})


def test_notes_and_reasons_of_a_file_steer_no_terminal(capsys, monkeypatch):
    release = changed(release_of(["tea"]), notes=["red \x1b[31m\nline"], why="w\x1b[31m")
    assert "\x1b" not in str(release)
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    show(release)
    shown = capsys.readouterr().out
    assert "[31m line" in shown
    assert "\x1b[31m" not in shown


def test_an_error_that_names_a_file_steers_no_terminal(capsys, monkeypatch):
    asked = ["-k", "1", "--user", "u", "--item", "m", "--epsilon", "1", "--delta", "1e-6"]
    monkeypatch.setattr(sys, "argv", ["shortlist", "top", "x\x1b[31m\u202e.csv", *asked])
    monkeypatch.setattr("typer.echo", lambda text, err: sys.stderr.write(text))
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert "x [31m .csv" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([2**64 - 1, 3], pl.UInt64),
        ([-(2**63), 2**63 - 1], pl.Int64),
        ([datetime.date(2024, 1, 31), datetime.date(1999, 12, 31)], pl.Date),
        ([True, False], pl.Boolean),
    ],
)
def test_a_parquet_file_keeps_labels_of_every_kind_that_is_counted(labels, kind, tmp_path):
    write_table(str(tmp_path / "list.parquet"), {"item": labels})
    written = pl.read_parquet(tmp_path / "list.parquet")["item"]
    assert written.dtype == kind
    assert written.to_list() == labels


@pytest.mark.parametrize("times", [0, -1, 1.5, True])
def test_a_guarantee_is_not_charged_less_than_once(times):
    with pytest.raises(ValueError, match="above 0"):
        Composition(((PureDP(1.0), 3), (PureDP(2.0), times)))


def test_a_file_that_charges_less_than_nothing_is_refused():
    parts = [[{"kind": "PureDP", "epsilon": 1.0}, 3], [{"kind": "PureDP", "epsilon": 1.0}, -2]]
    with pytest.raises(ValueError, match="no Composition"):
        changed(release_of(["tea"]), charge={"kind": "Composition", "parts": parts})


def test_a_file_that_names_a_column_twice_is_refused():
    """Names that are there already get longer: a thousand equal ones would take minutes to print."""
    with pytest.raises(ValueError, match="twice"):
        changed(release_of(["tea"]), items=[], indices=None, item_columns=["a"] * 1000)


def test_a_number_of_a_million_digits_is_refused_at_once_whatever_python_allows():
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        with pytest.raises(ValueError, match="a number is too long"):
            sl.Release.from_json("1" * 1_000_000)
    finally:
        sys.set_int_max_str_digits(before)
