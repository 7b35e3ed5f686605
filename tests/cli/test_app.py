"""The command line, through real processes."""

import subprocess
import sys

import pytest

from shortlist.privacy import ApprovalNeeded, LedgerError, OutcomeUnknown
from tests.helpers.terminal import called, run


def test_without_a_command_it_shows_what_there_is():
    done = run()
    assert "demo" in done.stdout + done.stderr


def test_importing_the_package_loads_nothing_heavy():
    heavy = {"scipy", "matplotlib", "flint", "duckdb", "pandas", "polars", "cryptography", "narwhals", "typer", "rich"}
    code = "import sys, shortlist; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & heavy


UNKNOWN = OutcomeUnknown("postgresql://bookkeeper/budgets?name=q4", "5c1e")


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (LedgerError("q4.db is damaged"), 1, "q4.db is damaged"),
        (ApprovalNeeded("q4.db", 7), 4, "entry 7"),
        (UNKNOWN, 5, "`shortlist ledger find LEDGER 5c1e` says whether it was booked"),
        (KeyError("a row"), 1, "something went wrong inside (KeyError)"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_release_that_does_not_come_ends_with_its_code(error, code, said, monkeypatch):
    def fail(*words, **question):
        raise error

    monkeypatch.setattr("shortlist.cli.releases.top_k", fail)
    line = ("top", "rows.parquet", "--user", "u", "--item", "i", "--epsilon", "1", "--delta", "1e-6")
    done = called(*line)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("shortlist: ")
    assert done.stderr.count("\n") == 1
    assert said in done.stderr
    assert "a row" not in done.stderr
    assert "ledger.find" not in done.stderr
