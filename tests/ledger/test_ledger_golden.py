"""Ledgers that 0.1.0 made open, verify and charge for ever."""

import json
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from shortlist import Ledger
from shortlist.privacy import BoundedRange
from tests.ledger.golden.make_ledgers import facts

GOLDEN = Path(__file__).parent / "golden" / "ledgers"
FACTS = json.loads((GOLDEN / "facts.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", FACTS)
def test_a_ledger_of_version_0_1_0_says_what_it_said(name, tmp_path):
    ledger = Ledger(shutil.copy(GOLDEN / name, tmp_path))
    assert json.loads(json.dumps(facts(ledger))) == FACTS[name]
    assert ledger.verify(head=FACTS[name]["head"]) == FACTS[name]["entries"]


@pytest.mark.parametrize("name", FACTS)
def test_a_ledger_of_version_0_1_0_is_charged_and_keeps_its_chain(name, tmp_path):
    path = shutil.copy(GOLDEN / name, tmp_path)
    ledger, old = Ledger.open(path), FACTS[name]
    ledger.reserve(BoundedRange(0.02), refundable=("pure", "zcdp")).refund(BoundedRange(0.01))
    again = Ledger(path)
    assert again.verify(head=old["head"]) == old["entries"] + 2
    for column in ("epsilon", "curve"):
        total = getattr(again.entries()[-1].total, column)
        before = (old["sums"] or ["0", "0"])[column == "curve"]
        assert total is None or before is None or total > Fraction(before)


def test_purposes_of_every_kind_are_read_back(tmp_path):
    purposes = [entry.purpose for entry in Ledger(shutil.copy(GOLDEN / "pure.db", tmp_path)).entries()]
    assert purposes[:5] == ["", "Überblick 概要 🗳", "'; DROP TABLE entries; --", "a\x00b\nc\x1b[31m", "weekly chart"]
