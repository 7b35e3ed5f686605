"""Labels may come from strangers: shown, they neither compute nor steer; stored, they stay as they are."""

import csv
import io
import json
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

import shortlist as sl
from shortlist._text import terminal_safe
from shortlist.pages.release_page import release_page
from shortlist.pages.texts import with_margin
from shortlist.pages.theme import page_safe
from shortlist.release_io import csv_table, spreadsheet_safe, write_table
from shortlist.studio.answers import PaidJob, Work
from shortlist.studio.inputs import Folder
from tests.helpers.terminal import called
from tests.helpers.typed import present

mpl.use("Agg")
HOSTILE = [
    '=HYPERLINK("http://evil","x")', "+cmd|' /C calc'!A0", "-2+3+cmd|' /C calc'!A0", "@SUM(1)", "\t=1", "\r=1", " =1",
    "＝1+1", "\x1b]0;title\x07", "\x1b[31mred", "a\x00b", "line\nbreak", "\u202eexe.txt", "\u2066x\u2069", "\x9b31m",
    "\ud800", "\u2028",
]  # fmt: skip
STEERING = "\x00\x07\x1b\x9b\t\r\n\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u2028\u2029\ud800"


def release_of(labels, **asked):
    return sl.top_k(dict.fromkeys(labels, 1000), len(labels), epsilon=1.0, monotone=True, public=True, **asked)


def is_calm(text, lines=False):
    return not any(letter in text for letter in STEERING if not (lines and letter == "\n"))


@pytest.mark.parametrize("label", HOSTILE)
def test_what_is_shown_steers_nothing(label):
    release = release_of([label, "tea"], unit=f"user {label}")
    for shown in (str(release), repr(release), release.line(), release._repr_html_(), release_page(release, label)):
        assert is_calm(shown, lines=True)
    axes = release.plot()
    promise = axes.get_xlabel().replace("\n", " ")  # its lines are broken by us
    assert is_calm("".join([*(part.get_text() for part in axes.texts), promise]))
    plt.close(axes.figure)
    assert len(str(release).splitlines()) == 9  # head, rule, two items, nothing, summary, order, guarantee, note


@pytest.mark.parametrize("label", HOSTILE)
def test_no_cell_of_a_csv_file_computes(label):
    (row,) = csv.DictReader(io.StringIO(csv_table({"item": [label]})))
    assert is_calm(row["item"])
    assert not row["item"].lstrip().startswith(tuple("=+-@＝＋－＠"))
    named = next(csv.reader(io.StringIO(csv_table({label: ["x"]}))))
    assert not named[0].lstrip().startswith(tuple("=+-@＝＋－＠"))


@pytest.mark.parametrize("label", HOSTILE)
def test_what_is_stored_keeps_the_label(label, tmp_path):
    release = release_of([label, "tea"])
    assert set(present(sl.Release.from_json(release.to_json()).items)) == {label, "tea"}
    assert is_calm(release.to_json())
    assert label not in release.to_json() or is_calm(label)
    if label.isascii() or label.isprintable():
        assert set(release.to_frame()["item"]) == {label, "tea"}
        write_table(str(tmp_path / "list.parquet"), release.columns())
        assert set(pl.read_parquet(tmp_path / "list.parquet")["item"]) == {label, "tea"}


def test_numbers_stay_numbers():
    cells = [-5, -5.5, 7, True, "-5", "+1.5e-3", "-.5", "12", None]
    assert [spreadsheet_safe(cell) for cell in cells] == cells
    assert [spreadsheet_safe(cell) for cell in ("-5-5", "+", "-", "--1", "+cmd")] == [
        "'-5-5",
        "'+",
        "'-",
        "'--1",
        "'+cmd",
    ]


def test_ordinary_text_stays_as_it_is():
    for text in ("tea", "Ελλάδα", "日本語", "שלום", "می‌خواهم", "👨‍👩‍👧", "l'été", "a = b", "x-y", "no\u00a0break", ""):
        assert terminal_safe(text) == spreadsheet_safe(text) == text
    assert terminal_safe("icon \uf8ff 全角\u3000空白") == "icon \uf8ff 全角\u3000空白"
    assert page_safe("<b>&") == "&lt;b&gt;&amp;"


def test_the_command_line_writes_lists_that_are_safe(tmp_path):
    rows = [(user, label) for label in ("=1+1", "\x1b[31mred") for user in range(300)]
    pl.DataFrame(rows, schema=["who", "what"], orient="row").write_parquet(tmp_path / "rows.parquet")
    asked = ("top", "rows.parquet", "-k", "2", "--user", "who", "--item", "what", "--epsilon", "1", "--delta", "1e-6")
    done = called(*asked, "--out", "list.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert is_calm(done.stdout, lines=True)
    assert (tmp_path / "list.csv").read_text().split() == ["item", "[31mred", "'=1+1"]
    found = json.loads(called(*asked, "--json", cwd=tmp_path).stdout)
    assert found["items"] == ["\x1b[31mred", "=1+1"]


def test_the_studio_hands_out_a_list_that_is_safe(tmp_path):
    plan: Any = SimpleNamespace(question=SimpleNamespace(stem="top2", purpose="weekly"))
    job = PaidJob("job", plan, release=release_of(["=1+1", "\x1b[31mred"]))
    _, content = present(Work(Folder.of(tmp_path)).download(job, "list.csv"))
    assert content.decode().split() == ["item", "[31mred", "'=1+1"]


def test_a_ledger_is_exported_safely(tmp_path):
    ledger = sl.Ledger(tmp_path / "book.db", budget=sl.PureDP(1.0))
    ledger.charge(sl.PureDP(0.5), purpose="=1+1\x1b[31m")
    done = called("ledger", "export", tmp_path / "book.db")
    (row,) = csv.DictReader(io.StringIO(done.stdout))
    assert row["purpose"] == "'=1+1 [31m"
    assert row["epsilon"] == "0.5"
    told = json.loads(called("ledger", "export", tmp_path / "book.db", "--json").stdout)
    assert told["entries"][0]["purpose"] == "=1+1\x1b[31m"


@given(st.floats(-1e9, 1e9), st.floats(1e-9, 1e9))
def test_a_margin_that_is_shown_holds_the_interval(value, half_width):
    number, wide = with_margin(value, half_width).removesuffix(" (95%)").replace(",", "").split(" ± ")
    shown, half = Fraction(number), Fraction(wide)
    assert shown - half <= Fraction(value) - Fraction(half_width)
    assert shown + half >= Fraction(value) + Fraction(half_width)
    assert half <= 2 * Fraction(half_width)


def test_wide_letters_and_marks_are_aligned():
    release = release_of(["映画", "film", "e\u0301te\u0301"], values=True, rng=sl.testing.seeded(1))
    lines = str(release).splitlines()[:5]
    starts = {cell_len(line[: line.index("±")]) for line in lines[2:]}
    assert len(starts) == 1
    assert len(set(map(len, lines))) > 1, "by letters they are not"


def test_equal_margins_are_shown_alike():
    assert {with_margin(100.0 + n / 7, 12.8146).split(" ± ")[1] for n in range(7)} == {"14 (95%)"}
