"""Packed files: what our check reads is what DuckDB counts, or the file is refused."""

import gzip
import sys
from typing import Any

import pytest
import zstandard

import shortlist as sl
from tests.helpers.terminal import called

ROWS = b"user,item\n" + b"".join(b"%d,tea\n" % n for n in range(2000))
ASK: dict[str, Any] = {"user": "user", "item": "item"}


def pack(data):
    return zstandard.ZstdCompressor().compress(data)


SKIPPED = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"abcd"
FORMS = {
    "one": pack(ROWS), "two": pack(ROWS[:5000]) + pack(ROWS[5000:]), "skipped": SKIPPED + pack(ROWS) + SKIPPED,
    "many": b"".join(pack(ROWS[n : n + 7]) for n in range(0, len(ROWS), 7)),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_every_frame_is_checked_and_counted(tmp_path, form):
    path = tmp_path / "rows.csv.zst"
    path.write_bytes(FORMS[form])
    assert sl.count(path, candidates=["tea"], **ASK).as_public().values.tolist() == [2000]


@pytest.mark.parametrize("form", FORMS)
def test_a_quote_in_any_frame_is_found(tmp_path, form):
    path = tmp_path / "rows.csv.zst"
    path.write_bytes(FORMS[form] + pack(b'1,"tea\n2,x\n'))
    with pytest.raises(ValueError, match="a quote opens on one line"):
        sl.count(path, candidates=["tea"], **ASK)


@pytest.mark.parametrize("damage", ["cut", "garbage", "plain"])
def test_what_is_not_whole_is_refused(tmp_path, damage):
    path = tmp_path / "rows.csv.zst"
    path.write_bytes({"cut": pack(ROWS)[:-5], "garbage": pack(ROWS) + b"garbage", "plain": ROWS}[damage])
    with pytest.raises(ValueError, match="it is no whole zstd file") as refused:
        sl.count(path, candidates=["tea"], **ASK)
    assert refused.value.__cause__ is None
    assert "tea" not in str(refused.value)


def test_gzip_and_a_missing_library(tmp_path, monkeypatch):
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(ROWS))
    assert sl.count(path, candidates=["tea"], **ASK).as_public().values.tolist() == [2000]
    (tmp_path / "rows.csv.zst").write_bytes(pack(ROWS))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(ModuleNotFoundError, match="pip install 'shortlist\\[zstd\\]'"):
        sl.count(tmp_path / "rows.csv.zst", candidates=["tea"], **ASK)


@pytest.mark.parametrize("release", ["top", "keys", "quantile"])
def test_a_missing_library_is_found_before_a_charge(tmp_path, monkeypatch, release):
    """Of JSON lines nothing is read before the charge, so the library itself must be looked for."""
    monkeypatch.setitem(sys.modules, "zstandard", None)
    (tmp_path / "rows.jsonl.zst").write_bytes(pack(b'{"user": 1, "item": "tea", "age": 3}\n'))
    (tmp_path / "list.txt").write_text("tea\nmilk\n")
    sl.Ledger(tmp_path / "l.db", budget=sl.privacy.ApproxDP(3.0, 1e-5))
    words = {
        "top": ("-k", "1", "--item", "item", "--candidates", "list.txt"),
        "keys": ("--item", "item", "--delta", "1e-6"),
        "quantile": ("--value", "age", "--lower", "0", "--upper", "9"),
    }[release]
    paid = ("--epsilon", "1", "--ledger", "l.db")
    done = called(release, "rows.jsonl.zst", "--user", "user", *words, *paid, cwd=tmp_path)
    said = "shortlist: a .zst file needs zstandard: pip install 'shortlist[zstd]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)
    assert sl.Ledger(tmp_path / "l.db").entries() == []


def test_a_missing_library_is_found_before_a_charge_for_the_list_too(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    (tmp_path / "rows.csv").write_bytes(ROWS)
    (tmp_path / "list.jsonl.zst").write_bytes(pack(b'{"item": "tea"}\n'))
    ledger = sl.Ledger(tmp_path / "l.db", budget=sl.privacy.PureDP(3.0))
    with pytest.raises(ModuleNotFoundError, match="pip install 'shortlist\\[zstd\\]'"):
        sl.top_k(tmp_path / "rows.csv", 1, candidates=tmp_path / "list.jsonl.zst", epsilon=1.0, ledger=ledger, **ASK)
    assert ledger.entries() == []


def test_lines_of_json_may_be_packed_too(tmp_path):
    path = tmp_path / "rows.jsonl.zst"
    path.write_bytes(pack(b'{"user": 1, "item": "tea"}\n{"user": 2, "item": "tea"}\n'))
    assert sl.count(path, candidates=["tea"], **ASK).as_public().values.tolist() == [2]


@pytest.mark.parametrize("cut", [1, 4, 9])
def test_json_lines_that_were_cut_between_lines_are_refused(tmp_path, cut):
    first, second = (b"".join(b'{"user":"%d","item":"tea"}\n' % n for n in part) for part in (range(9), range(9, 20)))
    path = tmp_path / "rows.jsonl.zst"
    path.write_bytes(pack(first) + pack(second))
    assert sl.count(path, candidates=["tea"], **ASK).as_public().values.tolist() == [20]
    path.write_bytes(pack(first) + pack(second)[:-cut])
    with pytest.raises(ValueError, match="it is no whole zstd file"):
        sl.count(path, candidates=["tea"], **ASK)
