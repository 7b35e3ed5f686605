"""docs/deploy.md as somebody follows it: its statements and its commands, in the order of the page."""

import re
import shlex
from pathlib import Path

import polars as pl
import pytest

pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'shortlist[postgres]'")

from shortlist import Ledger
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
            for statement in filter(str.strip, text.split(";")):
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
    with pytest.raises(Exception, match="permission denied for database"):
        server.sql("SELECT 1", base="page_budgets", user="ben")
