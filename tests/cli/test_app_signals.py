"""Whenever the command is stopped: one line, 128 + the signal, and nothing left behind but what was booked."""

import os
import signal
import subprocess
import sys

import polars as pl
import pytest

import shortlist as sl
from shortlist import Ledger, PureDP
from tests.helpers.stopping import MOMENTS
from tests.helpers.storm import HOME

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOADING = [moment for moment in MOMENTS if moment.startswith("loading") and moment != "loading DuckDB"]
BOOKED = ["after the charge", "counting", "drawing", "in a finalizer", "writing", "written", "reported", "done"]
KINDS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
LONG = pytest.mark.long
"""Of signals whose handler is the same, and of moments between two others: in the suite those stand for them, and
`test_storm` stops the command at every line."""
PAID = ["loading DuckDB", "inside DuckDB's import", "before the charge", *BOOKED]
NOTE = "list.csv-metadata.json"
SOME = ["loading DuckDB", "before the charge", "counting", "writing", "done"]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Enough rows that DuckDB tells how far it is; and few, for the moments at which that is not asked."""
    home = tmp_path_factory.mktemp("rows")
    for name, many in (("many", 400_000), ("few", 10_000)):
        numbers = pl.select(pl.int_range(many).alias("n"))
        numbers.select(user_id=pl.col("n").hash(1), movie=pl.col("n").hash(2) % 5_000).write_csv(home / f"{name}.csv")
    return home


@pytest.fixture
def folder(tmp_path):
    for name in ("spill", "home"):
        (tmp_path / name).mkdir()
    (tmp_path / "home" / "known.txt").write_text("\n".join(map(str, range(5000))))
    Ledger(tmp_path / "home" / "budget.db", budget=PureDP(3.0))
    return tmp_path


def stopped(folder, tables, moment, kind, *more):
    rows = tables / ("many.csv" if moment == "counting" else "few.csv")
    asked = ("top", rows, "-k", 2, "--user", "user_id", "--item", "movie", "--candidates", "known.txt", "--epsilon", 1)
    return subprocess.run(
        [sys.executable, "-m", "tests.helpers.stopping", moment, str(int(kind)), *map(str, asked), *more],
        cwd=folder / "home",
        env={**os.environ, "PYTHONPATH": f"{HOME.parent}{os.pathsep}{ROOT}", "TMPDIR": str(folder / "spill")},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        preexec_fn=lambda: signal.signal(kind, signal.SIG_DFL),  # a runner may ignore some
    )  # fmt: skip


def left(folder):
    """All files there are."""
    assert not os.listdir(folder / "spill")
    found = {path.name for path in (folder / "home").iterdir()}
    assert found <= {"known.txt", "budget.db", "list.csv", NOTE, "top.html"}
    assert NOTE not in found or "list.csv" in found
    return found


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("moment", LOADING)
def test_while_it_is_loaded_nothing_has_happened(folder, tables, moment, kind):
    done = stopped(folder, tables, moment, kind, "--ledger", "budget.db", "--out", "list.csv")
    assert (done.returncode, done.stdout) == (128 + kind, "")
    assert done.stderr == "shortlist: stopped; nothing was booked\n"
    assert left(folder) == {"known.txt", "budget.db"}
    assert not Ledger(folder / "home" / "budget.db").entries()


@pytest.mark.parametrize("moment", SOME + [pytest.param(one, marks=LONG) for one in PAID if one not in SOME])
def test_it_says_whether_the_charge_was_booked(folder, tables, moment):
    kind = KINDS[list(MOMENTS).index(moment) % len(KINDS)]
    book = Ledger(folder / "home" / "budget.db")
    book.charge(PureDP(0.5), purpose="another")
    done = stopped(folder, tables, moment, kind, "--ledger", "budget.db", "--out", "list.csv", "--report", "top.html")
    booked = moment in BOOKED
    said = "the charge was booked as entry 2 and stays" if booked else "nothing was booked"
    assert (done.returncode, done.stderr) == (128 + kind, f"shortlist: stopped; {said}\n")
    assert len(book.entries()) == 1 + booked
    assert (left(folder) >= {"list.csv", NOTE}) == ("list.csv" in left(folder)) == (moment == "done")
    assert bool(done.stdout) == (moment in BOOKED[BOOKED.index("writing") :])
    book.charge(PureDP(0.5))  # nobody holds a lock


@pytest.mark.parametrize("kind", [signal.SIGINT, *(pytest.param(kind, marks=LONG) for kind in KINDS[1:])])
def test_without_a_ledger_nothing_is_booked(folder, tables, kind):
    done = stopped(folder, tables, "counting", kind, "--out", "list.csv")
    assert (done.returncode, done.stderr) == (128 + kind, "shortlist: stopped; nothing was booked\n")
    assert left(folder) == {"known.txt", "budget.db"}


@pytest.mark.parametrize("kind", [signal.SIGTERM, *(pytest.param(kind, marks=LONG) for kind in KINDS[::2])])
def test_a_signal_after_the_work_changes_nothing(folder, tables, kind):
    done = stopped(folder, tables, "ending", kind, "--ledger", "budget.db", "--out", "list.csv")
    assert (done.returncode, done.stderr) == (0, "")
    assert left(folder) == {"known.txt", "budget.db", "list.csv", NOTE}
    assert len(sl.Ledger(folder / "home" / "budget.db").entries()) == 1


def test_what_is_to_be_ignored_is_ignored(folder, tables):
    """As `nohup` asks for."""
    command = [
        sys.executable,
        "-m",
        "tests.helpers.stopping",
        "counting",
        str(int(signal.SIGHUP)),
        "top",
        str(tables / "many.csv"),
    ]
    asked = ["-k", "2", "--user", "user_id", "--item", "movie", "--candidates", "known.txt", "--epsilon", "1"]
    done = subprocess.run([*command, *asked], cwd=folder / "home", capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": f"{HOME.parent}{os.pathsep}{ROOT}"}, timeout=120,
                          preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
