"""Real signals, from outside, at moments spread over the whole life of a real `shortlist top`.

The clock only chooses the moments: what is checked holds at every one of them.
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

import polars as pl
import pytest

from shortlist import Ledger, PureDP
from tests.helpers.storm import HOME

NOTE = "list.csv-metadata.json"

RUNS, BLOCK = 300, 20
GOLDEN = 0.6180339887498949
"""Its multiples, modulo 1, are spread evenly however many are taken."""
KINDS = (signal.SIGINT, signal.SIGTERM)
PROGRAM = """
import os
from shortlist._signals import COMMAND
COMMAND.install()
os.write({pipe}, b".")
from shortlist._entry import main
main()
"""
"""It says when it has taken the signals over: before that Python itself answers them."""
TOP = ["top", "rows.csv", "-k", "2", "--user", "user_id", "--item", "movie", "--candidates", "known.txt", "--epsilon",
       "1", "--ledger", "budget.db", "--out", "list.csv", "--report", "top.html"]  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    for name in ("spill", "home"):
        (tmp_path / name).mkdir()
    home = tmp_path / "home"
    numbers = pl.select(pl.int_range(300_000).alias("n"))
    numbers.select(user_id=pl.col("n").hash(1), movie=pl.col("n").hash(2) % 500).write_csv(home / "rows.csv")
    (home / "known.txt").write_text("\n".join(map(str, range(500))))
    return tmp_path


def run(folder, after=None, kind=None):
    """(exit code, what it said, how long it took); the signal comes so many seconds after the first sign of life."""
    sign, pipe = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(pipe=pipe), *TOP], cwd=folder / "home", text=True, pass_fds=[pipe],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(HOME.parent), "TMPDIR": str(folder / "spill")},
        preexec_fn=lambda: [signal.signal(kind, signal.SIG_DFL) for kind in KINDS],
    )  # fmt: skip
    os.close(pipe)
    os.read(sign, 1)
    os.close(sign)
    start = time.perf_counter()
    if after is not None:
        threading.Timer(after, process.send_signal, [kind]).start()
    _, said = process.communicate(timeout=120)
    return process.returncode, said, time.perf_counter() - start


def clean(home):
    for name in ("list.csv", NOTE, "top.html"):
        (home / name).unlink(missing_ok=True)


@pytest.mark.long
def test_real_signals_at_any_moment_leave_nothing_behind(folder):
    home = folder / "home"
    book = Ledger(home / "budget.db", budget=PureDP(1e6))
    assert run(folder)[:2] == (0, "")
    whole = 0.0
    tally = {"stopped, nothing booked": 0, "stopped, charge booked": 0, "done before": 0}
    for turn in range(RUNS):
        clean(home)
        if turn % BLOCK == 0:  # a machine may grow slower or quicker
            whole = run(folder)[2]
            clean(home)
        before, kind = len(book.entries()), KINDS[turn % 2]
        code, said, _ = run(folder, 1.1 * whole * ((turn * GOLDEN) % 1), kind)
        entries = book.entries()[before:]
        assert len(entries) <= 1
        if code == 0:
            assert (said, len(entries)) == ("", 1)
        else:
            charge = (
                f"the charge was booked as entry {entries[0].number} and stays" if entries else "nothing was booked"
            )
            assert (code, said) == (128 + kind, f"shortlist: stopped; {charge}\n")
        tally["done before" if code == 0 else f"stopped, {'charge' if entries else 'nothing'} booked"] += 1
        files = set(os.listdir(home))
        assert files <= {"rows.csv", "known.txt", "budget.db", "list.csv", NOTE, "top.html"}
        if NOTE in files:
            assert "list.csv" in files
            json.loads((home / NOTE).read_text())
        if "list.csv" in files:
            assert entries
            assert re.fullmatch(r"item\r\n\d+\r\n\d+\r\n", (home / "list.csv").read_bytes().decode())
        if "top.html" in files:
            assert (home / "top.html").read_text().rstrip().endswith("</html>")
        assert not os.listdir(folder / "spill")
    assert book.verify() == len(book.entries())
    print(tally)
    assert min(tally["stopped, nothing booked"], tally["stopped, charge booked"]) > RUNS // 20
