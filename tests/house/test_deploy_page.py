"""docs/deploy.md as somebody follows it: its statements and its commands, in the order of the page."""

import re
import shlex
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest

pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'shortlist[postgres]'")

import psycopg

from shortlist import Ledger, PureDP
from shortlist.ledger.postgres import LOCK
from tests.helpers.support import in_suite
from tests.helpers.terminal import called

PAGE = (Path(__file__).parents[2] / "docs" / "deploy.md").read_text()
OURS = {"bookkeeper": "page_owner", "anna": "page_analyst", "budgets": "page_budgets"}
"""What others of this server may have under that name."""


@pytest.fixture
def blocks(server):
    """(language, text) of the page's blocks, for this server."""
    words = PAGE.replace("@db.example/budgets?", f"@/budgets?host={server.folder}&")
    for name, ours in OURS.items():
        words = words.replace(name, ours)
    return re.findall(r"```(sh|sql)\n(.*?)```", words, re.DOTALL)


def test_the_page_can_be_followed(server, blocks, tmp_path):
    pl.DataFrame({"user": range(60), "movie": ["Metropolis", "Pi", "M"] * 20}).write_parquet(tmp_path / "rows.parquet")
    (tmp_path / "movies.txt").write_text("Metropolis\nPi\nM\nDune\n")
    *first, moving = blocks
    for language, text in first:
        if language == "sql":
            for statement in filter(str.strip, [text] if "$$" in text else text.split(";")):
                server.sql(statement)
            continue
        for line in text.replace("\\\n", "").replace(" -k 10", " -k 2").splitlines():
            if line.startswith("shortlist"):
                done = called(*shlex.split(line, comments=True)[1:], cwd=tmp_path)
                assert done.returncode == 0, done.stderr
    address = next(word for word in shlex.split(moving[1]) if word.startswith("postgresql:"))
    assert [entry.who for entry in Ledger(address).entries()] == ["page_analyst"]
    assert called("ledger", "init", "q4.db", "--epsilon", "1", cwd=tmp_path).returncode == 0
    words = [word.replace("name=q4", "name=moved") for word in shlex.split(moving[1])[1:]]
    assert called(*words, cwd=tmp_path).returncode == 0
    steps = [line for language, text in blocks if language == "sh" for line in text.splitlines()]
    assert "-m venv" in steps[0]
    assert "pip install" in steps[1], "Debian refuses to install outside of an environment"
    with pytest.raises(Exception, match="permission denied for database"):
        server.sql("SELECT 1", base="page_budgets", user="ben")


@pytest.mark.parametrize("lively", in_suite([False, True], 1))
def test_the_cure_for_a_held_lock_ends_its_holder_and_nobody_else(server, blocks, lively):
    """A holder that is idle, and one that runs statement after statement outside of any transaction."""
    (cure,) = [text for language, text in blocks if "pg_terminate_backend" in text]
    ledger = Ledger(server.url("ledgers", f"cure_{lively}"), budget=PureDP(4.0))
    book: Any = ledger._store
    holding, ended, over, unharmed = (threading.Event() for _ in range(4))

    def hold():
        with psycopg.connect(host=str(server.folder), dbname="ledgers", user="anna", autocommit=True) as line:
            line.execute("SELECT pg_advisory_lock(%s, %s)", (LOCK, book._number))
            holding.set()
            try:
                while not over.wait(0.001 if lively else 0.2):
                    if lively:
                        line.execute("SELECT 1")
                line.execute("SELECT 1")
            except psycopg.Error:
                ended.set()

    def spend():
        while not over.wait(0.005):
            other.charge(PureDP(2.0**-20))
        unharmed.set()

    other = Ledger(server.url("ledgers", f"cure_{lively}.other"), budget=PureDP(4.0))
    threads = [threading.Thread(target=hold), threading.Thread(target=spend)]
    for thread in threads:
        thread.start()
    assert holding.wait(30)
    server.sql(cure)
    over.set()
    for thread in threads:
        thread.join()
    assert ended.is_set()
    assert unharmed.is_set()
    ledger.charge(PureDP(0.25))
    assert other.verify() > 100
