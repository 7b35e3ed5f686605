"""What nobody expected ends a command in one line all the same: no traceback, and no word that might show a row."""

import os

import numpy as np
import pytest

from shortlist import Ledger, PureDP
from shortlist.cli import app as cli
from tests.helpers.terminal import called

BROKEN = {
    "syntax.py": "def f(:",
    "loading.py": "raise KeyError('x')",
    "calling.py": "def f(*_a, **_k): raise LookupError('x')",
}


def refused(done, code=1):
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("shortlist: "), done.stderr
    assert done.stderr.count("\n") == 1


def test_an_unknown_error_shows_its_kind_alone(monkeypatch, capsys):
    def fail(**_):
        raise KeyError("private")

    monkeypatch.setattr(cli, "app", fail)
    assert cli.work() == 1
    assert capsys.readouterr().err == "shortlist: something went wrong inside (KeyError)\n"


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_function_under_audit_is_told(tmp_path, name):
    (tmp_path / name).write_text(BROKEN[name])
    refused(called("audit", f"{tmp_path / name}:f", "--trials", "1000"))


def test_counts_that_are_no_array_are_told(tmp_path):
    (tmp_path / "empty.npy").touch()
    (tmp_path / "zip.npy").write_bytes(b"PK\x03\x04")
    with open(tmp_path / "many.npy", "wb") as file:
        np.savez(file, one=[1, 2])
    for name in ("empty.npy", "zip.npy", "many.npy"):
        done = called("plan", "-k", "1", "--epsilon", "1", "--scores", str(tmp_path / name))
        refused(done)
        assert "--scores" in done.stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_list_that_cannot_be_written_is_refused_before_the_charge(tmp_path):
    (tmp_path / "table.csv").write_text("u,m\n1,tea\n2,milk\n")
    (tmp_path / "list.txt").write_text("tea\nmilk\nrum\n")
    ledger = Ledger(tmp_path / "budget.db", budget=PureDP(9.0))
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "circle.csv").symlink_to(tmp_path / "circle.csv")
    for out in ("pipe.csv", "circle.csv", "x" * 300 + ".csv"):
        asked = ("--user", "u", "--item", "m", "-k", "1", "--epsilon", "1", "--ledger", str(ledger.path))
        files = (str(tmp_path / "table.csv"), "--candidates", str(tmp_path / "list.txt"), "--out", str(tmp_path / out))
        refused(called("top", *files, *asked))
    assert ledger.entries() == []
