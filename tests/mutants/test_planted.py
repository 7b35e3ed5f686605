"""Every planted bug can still be planted: a place that was renamed would be missed only when all are tried."""

from pathlib import Path

from tests.mutants.__main__ import lost
from tests.mutants.planted import MUTANTS

ROOT = Path(__file__).parents[2]


def test_every_place_is_there_once():
    assert not lost(MUTANTS)
    assert lost([MUTANTS[0]._replace(old="no such line")])


def test_the_tests_that_must_fail_are_there():
    missing = {test for one in MUTANTS for test in one.tests if not (ROOT / test.partition("::")[0]).exists()}
    assert not missing
