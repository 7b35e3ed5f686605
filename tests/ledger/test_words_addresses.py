"""Addresses that are nearly those of a server are no files, and are not repeated: there may be a password in them."""

import traceback
from pathlib import Path

import pytest

from shortlist import Ledger, PureDP
from tests.helpers.terminal import called

SECRET = "s3cret-word"
NEARLY = [
    f"PostgreSQL://anna:{SECRET}@db/base?name=q4",
    f"postgresql+psycopg://anna:{SECRET}@db/base?name=q4",
    f" postgresql://anna:{SECRET}@db/base?name=q4",
    f"postgresql:/anna:{SECRET}@db/base?name=q4",
    f"jdbc:postgresql://db/base?user=anna&password={SECRET}",
    f"mysql://anna:{SECRET}@db/base",
    f"host=db user=anna password={SECRET} dbname=base",
    Path(f"postgresql://anna:{SECRET}@db/base?name=q4"),
]


@pytest.mark.parametrize("path", NEARLY, ids=range(len(NEARLY)))
@pytest.mark.parametrize("budget", [None, PureDP(1.0)])
def test_what_is_nearly_an_address_is_not_repeated(path, budget, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="address of a server") as caught:
        Ledger(path, budget=budget)
    assert SECRET not in "".join(traceback.format_exception(caught.value, limit=0))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["show"], ["verify"], ["init", "--epsilon", "1"], ["find", "00"], ["close"]])
def test_nor_in_the_terminal(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in (NEARLY[0], NEARLY[3], NEARLY[6]):
        done = called("ledger", command[0], str(path), *command[1:])
        assert done.returncode in (1, 2)
        assert SECRET not in done.stdout + done.stderr


def test_names_of_files_with_colons_and_folders_stay_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    for name in ("q4:2026.db", "a/b:c.db", "x=1.db"):
        assert Ledger(name, budget=PureDP(1.0)).verify() == 0
