"""Places where no ledger can be: a sentence, never the system's raw error, and nothing left there."""

import os

import pytest

from shortlist import Ledger, PureDP
from shortlist.privacy import LedgerError


@pytest.mark.parametrize("length", [236, 255, 300])
def test_a_name_too_long_for_a_draft_beside_it_is_told(tmp_path, length):
    with pytest.raises(LedgerError, match="cannot be used"):
        Ledger(tmp_path / ("x" * length), budget=PureDP(1.0))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_at_all_is_told(tmp_path, monkeypatch):
    """A read-only file system refuses to unlink even what is not there."""

    def refuse(*_args, **_more):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(os, "unlink", refuse)
    with pytest.raises(LedgerError, match="Read-only"):
        Ledger(tmp_path / "budget.db", budget=PureDP(1.0))


@pytest.mark.parametrize("make", [lambda: Ledger("a.db", budget=PureDP(1.0)), lambda: Ledger.open("a.db")])
def test_a_current_folder_that_is_gone_is_told(tmp_path, monkeypatch, make):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(LedgerError, match="current folder"):
        make()
