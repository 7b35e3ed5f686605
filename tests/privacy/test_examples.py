"""The examples in docstrings and in docs/accounting.md run and say what they print."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from shortlist.privacy import calibration, guarantees

DOCS = Path(__file__).parents[2] / "docs" / "accounting.md"


@pytest.mark.parametrize("module", [calibration, guarantees])
def test_docstrings(module):
    assert doctest.testmod(module).failed == 0


def test_accounting_page():
    assert doctest.testfile(str(DOCS), module_relative=False).failed == 0
