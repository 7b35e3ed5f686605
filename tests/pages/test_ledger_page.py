"""The page of a whole ledger: every release, the risk of the budget, what is left; and its table beside it."""

import csv
import html
import os
import re
from typing import Any

import polars as pl
import pytest

import shortlist as sl
from shortlist import ApproxDP, Ledger, PureDP
from shortlist._files import sweep
from shortlist.privacy import ZCDP, LedgerError
from tests.helpers.storm import Storm, interrupt
from tests.helpers.support import full_size, sized
from tests.helpers.terminal import called
from tests.ledger.test_file import edit

HOSTILE = "=HYPERLINK(1)<script>alert(1)</script>\x1b[31m"


@pytest.fixture
def ledger(tmp_path):
    made = Ledger(tmp_path / "q4.db", budget=ApproxDP(3.0, 1e-6))
    rows = pl.DataFrame({"user_id": range(60), "film": ["a", "b", "c"] * 20})
    scores = sl.count(rows, user="user_id", item="film", candidates=["a", "b", "c", "d"])
    sl.top_k(scores, k=2, epsilon=0.5, ledger=made, purpose="weekly chart")
    made.reserve(PureDP(0.5), refundable=("pure",), purpose=HOSTILE, unit="user (add-remove)").refund(PureDP(0.25))
    return made


def written(ledger, tmp_path):
    ledger.report(tmp_path / "q4.html")
    with open(tmp_path / "q4.csv", newline="", encoding="utf-8") as file:
        return (tmp_path / "q4.html").read_text(encoding="utf-8"), list(csv.DictReader(file))


def test_the_page_has_every_release_and_the_odds_of_the_whole_budget(ledger, tmp_path):
    page, _ = written(ledger, tmp_path)
    text = re.sub(r"<[^>]+>", " ", page)
    for words in ("weekly chart", "a polars table: user user_id, item film", "95.3%", "of entry 2", "guarded top-2",
                  "epsilon 0.75 of 3 at delta 1e-6",
                  "a charge of up to epsilon 2.25 would still be admitted", "all 3 entries follow from one another",
                  ledger.head, "Progress, and no promise"):  # fmt: skip
        assert words in text, words
    assert page.rstrip().endswith("</html>")


def test_texts_of_strangers_do_nothing_on_the_page_nor_in_the_table(ledger, tmp_path):
    page, rows = written(ledger, tmp_path)
    assert "<script" not in page
    assert "\x1b" not in page
    assert rows[1]["purpose"].startswith("'=HYPERLINK")
    assert "\x1b" not in (tmp_path / "q4.csv").read_text()


def test_the_table_has_decimals_and_all_entries(ledger, tmp_path):
    _, rows = written(ledger, tmp_path)
    assert [row["kind"] for row in rows] == ["charge", "charge", "refund"]
    assert [row["epsilon"] for row in rows] == ["0.5", "0.5", "0.25"]
    assert rows[2]["refund_of"] == "2"
    assert "/" not in "".join(row["total_epsilon"] + row["rho"] + row["total_delta"] for row in rows)


def test_both_files_are_for_their_owner_alone_and_whole(ledger, tmp_path):
    written(ledger, tmp_path)
    for name in ("q4.html", "q4.csv"):
        assert os.stat(tmp_path / name).st_mode & 0o777 == 0o600
    assert sorted(os.listdir(tmp_path)) == ["q4.csv", "q4.db", "q4.html"]


@pytest.mark.parametrize("budget", [PureDP(3.0), ZCDP(0.5, 1e-6), ZCDP(0.5), ApproxDP(3.0, 1e-6)])
def test_every_kind_of_budget_has_a_page_also_an_empty_one(tmp_path, budget):
    ledger = Ledger(tmp_path / "q4.db", budget=budget)
    assert "None so far" in written(ledger, tmp_path)[0]
    ledger.charge(PureDP(0.1))
    assert "Where it stands" in written(ledger, tmp_path)[0]


def test_a_damaged_ledger_has_no_page(ledger, tmp_path):
    edit(ledger.path, "UPDATE entries SET purpose = 'nothing to see' WHERE number = 2")
    with pytest.raises(LedgerError):
        ledger.report(tmp_path / "q4.html")
    assert not (tmp_path / "q4.html").exists()


def test_a_path_that_is_no_page_or_the_ledger_itself_is_refused(ledger, tmp_path):
    with pytest.raises(ValueError, match=r"must end in \.html"):
        ledger.report(tmp_path / "q4.txt")
    other = Ledger(tmp_path / "own.csv", budget=PureDP(1.0))
    with pytest.raises(ValueError, match="the ledger itself"):
        other.report(tmp_path / "own.html")


def test_the_command_writes_both(ledger, tmp_path):
    done = called("ledger", "report", ledger.path, "--out", tmp_path / "page.html", "--title", "Fourth quarter")
    assert (done.returncode, done.stderr) == (0, "")
    assert "<h1>Fourth quarter</h1>" in (tmp_path / "page.html").read_text()
    assert (tmp_path / "page.csv").exists()


@full_size
def test_a_report_that_is_interrupted_leaves_whole_files_or_none(ledger, tmp_path):
    for name in ("page", "spare"):
        (tmp_path / name).mkdir()

    def clean():
        for one in (tmp_path / "page").iterdir():
            one.unlink()

    storm = Storm(
        lambda: ledger.report(tmp_path / "page" / "q4.html"),
        ["pages/ledger_page.py", "_files.py", "release_io.py"],
        clean,
    )
    for place in storm.places[:: sized(3, full=1)]:
        with pytest.raises(KeyboardInterrupt):
            storm.strike(place, interrupt)
        sweep()
        there = {one.name: one.read_text(encoding="utf-8") for one in (tmp_path / "page").iterdir()}
        assert set(there) <= {"q4.html", "q4.csv"}
        assert there.get("q4.html", "</html>").rstrip().endswith("</html>")
        assert there.get("q4.csv", "\n").endswith("\n")
    assert len(storm.places) > 50
    assert ledger.verify() == 3


def test_lists_of_groups_are_told_by_mechanism_and_key(tmp_path):
    ledger = Ledger(tmp_path / "year.db", budget=PureDP(3.0))
    scores = sl.count(
        pl.DataFrame({"who": [1, 2], "what": ["tea", "milk"], "where": ["CH", "a (b"]}),
        user="who", item="what", by="where", groups=["CH", "a (b"], candidates=["tea", "milk", "water", "wine"],
    )  # fmt: skip
    sl.top_k(scores, {"CH": 1, "a (b": 3}, epsilon=1.0, ledger=ledger)
    ledger.report(tmp_path / "q4.html")
    page = html.unescape((tmp_path / "q4.html").read_text())
    assert "k=1 by noisy max for 'CH'; k=3 by guarded top-3 for 'a (b'; 1 per user" in page


@pytest.mark.parametrize("question", ["list", "quantile", "written otherwise"])
def test_what_leaves_a_machine_names_a_file_without_its_folder(tmp_path, question):
    folder = tmp_path / "secret project: user x"
    folder.mkdir()
    (folder / "rows.csv").write_text("u;m\n" + "".join(f"{n};{n % 7}\n" for n in range(70)))
    ledger = Ledger(tmp_path / "q4.db", budget=PureDP(3.0))
    path = str(folder / "rows.csv")
    words: dict[str, Any] = {"user": "u", "separator": ";", "epsilon": 1.0, "ledger": ledger}
    if question == "quantile":
        release = sl.quantile(path, value="m", q=0.5, lower=0, upper=9, **words)
    else:
        more: dict[str, Any] = {"multiline": True} if question == "written otherwise" else {}
        release = sl.top_k(path, 2, item="m", candidates=[*map(str, range(7))], **words, **more)
    assert str(tmp_path) in str(ledger.entries()[0].source)
    page, ((row),) = written(ledger, tmp_path)
    release.report(tmp_path / "page.html")
    for shown in (page, str(row), release.to_json(), str(release), (tmp_path / "page.html").read_text()):
        assert "secret" not in shown
        assert tmp_path.name not in shown
    assert row["source"].startswith("rows.csv, separator ';'")
    assert "rows.csv" in page
