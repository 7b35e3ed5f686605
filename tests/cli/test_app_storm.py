"""One interrupt per run, at every line of the count, the paid release and all of `top` and `keys`, in this process."""

import json
import os
import re
import signal
from typing import Any

import polars as pl
import pytest

import shortlist as sl
from shortlist import ApproxDP, Ledger, PureDP
from shortlist._files import sweep
from tests.helpers.storm import HOME, MissedError, Storm, interrupt
from tests.helpers.support import full_size, sized
from tests.helpers.terminal import main
from tests.tables.tables import opened

KNOWN = ["a", "b", "c"]
ASKED = {"user": "user", "item": "item", "candidates": KNOWN}
STRIDE = sized(3, full=1)
"""In the suite every third place is struck, in `make audit` each."""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A table, a ledger, and a folder for what is temporary."""
    for name in ("spill", "home"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "spill"))
    monkeypatch.chdir(tmp_path / "home")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it may be ignored
    pl.DataFrame({"user": range(9), "item": ["a", "a", "b"] * 3}).write_csv("rows.csv")
    (tmp_path / "home" / "known.txt").write_text("\n".join(KNOWN))
    yield tmp_path
    signal.signal(signal.SIGINT, before)


def check_empty(home):
    """No engine has left anything, and the one folder for all of them goes with the process."""
    assert not list((home / "spill").glob("*/*"))
    sweep()
    assert not os.listdir(home / "spill")


@full_size
def test_a_count_that_is_interrupted_leaves_nothing(home):
    def work():
        return opened("top_k", "rows.csv", **ASKED).read(lambda share: None).as_public().values.tolist()

    files = ["tables/files.py", "tables/duckdb.py", "tables/count.py", "tables/errors.py"]
    storm = Storm(work, [*files, "_files.py"], before=sweep)
    for place in storm.places[::STRIDE]:
        with pytest.raises(KeyboardInterrupt):
            storm.strike(place, interrupt)
        check_empty(home)
    assert work() == [6, 3, 0]
    assert len(storm.places) > 80


@full_size
def test_a_paid_release_that_is_interrupted_is_paid_for_if_it_was_drawn(home):
    """Booked before a row is read: an interrupt may cost the charge, never give a list without one."""
    book = Ledger("budget.db", budget=PureDP(1000.0))
    drawn = []

    def work():
        asked: Any = {"user": "user", "item": "item", "candidates": KNOWN, "ledger": book, "purpose": "storm"}
        drawn.append(sl.select("rows.csv", epsilon=1.0, **asked).item)

    storm = Storm(work, ["execute.py", "tables/count.py"])
    for place in storm.places[:: sized(2, full=1)]:
        before, lists = len(book.entries()), len(drawn)
        with pytest.raises(KeyboardInterrupt):
            storm.strike(place, interrupt)
        assert len(book.entries()) - before >= len(drawn) - lists
        check_empty(home)
    book.verify()


NOTE = "list.csv-metadata.json"
TOP = ["top", "rows.csv", "-k", "2", "--user", "user", "--item", "item", "--candidates", "known.txt", "--epsilon", "1",
       "--ledger", "budget.db", "--out", "list.csv", "--report", "top.html"]  # fmt: skip


TOP_LIST = r"item\r\n[abc]\r\n[abc]\r\n"
KEYS = ["keys", "rows.csv", "--user", "user", "--item", "item", "--most", "1", "--epsilon", "30", "--delta", "1e-6",
        "--ledger", "budget.db", "--out", "list.csv", "--report", "top.html"]  # fmt: skip
KEYS_LIST = r"rank,item,value,margin\r\n(\d,[ab],[\d.]+,[\d.]+\r\n)*"


def run(capfd, monkeypatch, words=TOP):
    monkeypatch.setattr("sys.argv", ["shortlist", *words])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code, capfd.readouterr().err


def check_stopped(home, kind, code, said, book, before, listed=TOP_LIST):
    """True words, whole files, no draft; a command whose work was done may have ended well."""
    entries = [entry.number for entry in book.entries() if entry.number > before]
    assert len(entries) <= 1
    if code == 0:
        assert (said, len(entries)) == ("", 1)
    else:
        charge = f"the charge was booked as entry {entries[0]} and stays" if entries else "nothing was booked"
        assert (code, said) == (128 + kind, f"shortlist: stopped; {charge}\n")
    files = set(os.listdir(home / "home"))
    assert files <= {"rows.csv", "known.txt", "budget.db", "list.csv", NOTE, "top.html"}
    if NOTE in files:
        assert "list.csv" in files
        json.loads((home / "home" / NOTE).read_text())
    if "list.csv" in files:
        assert re.fullmatch(listed, (home / "home" / "list.csv").read_bytes().decode())
        assert entries
    if "top.html" in files:
        assert (home / "home" / "top.html").read_text().rstrip().endswith("</html>")
    assert not list((home / "spill").glob("*/*"))


def storm_of_top(home, capfd, monkeypatch, files, chosen, most=10**9, stride=1, words=TOP, listed=TOP_LIST):
    book = Ledger("budget.db", budget=PureDP(1e6) if words is TOP else ApproxDP(1e6, 0.1))

    def clean():
        for name in ("list.csv", NOTE, "top.html"):
            (home / "home" / name).unlink(missing_ok=True)

    storm = Storm(lambda: run(capfd, monkeypatch, words), files, before=clean)
    places = list(filter(chosen, storm.places))
    ends, missed = [], 0
    for turn, place in enumerate(places[:: max(stride, -(-len(places) // most))]):
        kind = (signal.SIGINT, signal.SIGTERM)[turn % 2]
        before = len(book.entries())
        try:
            code, said = storm.strike(place, lambda kind=kind: signal.raise_signal(kind))
        except MissedError:  # what is remembered is not worked out again
            missed += 1
            continue
        check_stopped(home, kind, code, said, book, before, listed)
        ends.append(code)
    assert {130, 143} <= set(ends)
    assert missed <= len(ends) // 50
    clean()
    assert run(capfd, monkeypatch, words) == (0, "")
    return ends


@full_size
def test_the_command_is_stopped_at_any_of_its_lines(home, capfd, monkeypatch):
    own = ("top", "deliver", "_run", "open_ledger", "execute")
    files = ["cli/releases.py", "execute.py"]
    ends = storm_of_top(
        home, capfd, monkeypatch, files, lambda place: place[0] == "line" and place[2] in own, stride=STRIDE
    )
    assert len(ends) > 30 // STRIDE


@full_size
def test_keys_are_stopped_at_any_of_their_lines(home, capfd, monkeypatch):
    """Names from the data: of the command, and of all that is done for it between the charge and the list."""
    ends = storm_of_top(
        home, capfd, monkeypatch, ["cli/releases.py", "execute.py"], lambda place: place[0] == "line", stride=STRIDE,
        words=KEYS, listed=KEYS_LIST,
    )  # fmt: skip
    assert len(ends) > 20 // STRIDE


MOST = 400
"""Places of the long storm: evenly many of all that there are."""


@pytest.mark.long
def test_the_command_is_stopped_at_any_line_or_return_of_all_that_it_runs(home, capfd, monkeypatch):
    rooms = ("cli", "tables", "accounting", "ledger", "pages", "mechanisms", "sampling", "exact")
    files = [str(path.relative_to(HOME)) for room in rooms for path in (HOME / room).rglob("*.py")]
    files += [
        "_files.py",
        "release_io.py",
        "api.py",
        "execute.py",
        "query.py",
        "sources.py",
        "release.py",
        "scores.py",
    ]
    inside = [("app.py", "main")]  # it gives the signals back
    ends = storm_of_top(home, capfd, monkeypatch, files, lambda place: place[1:3] not in inside, most=MOST)
    print(f"{len(ends):,} places; {sum(code != 0 for code in ends):,} runs stopped")
    assert len(ends) > MOST // 2
