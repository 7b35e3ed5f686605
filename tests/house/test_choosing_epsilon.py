"""The table of the page on epsilon is the library's own."""

import re
from pathlib import Path

import shortlist as sl
from shortlist.pages.summary import percent

PAGE = Path(__file__).parents[2] / "docs" / "choosing-epsilon.md"


def test_the_table_agrees_with_risk():
    rows = re.findall(r"^\| ([\d.]+) \| ([\d.]+%) \| ([\d.]+%) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) == 7
    for epsilon, guess, posterior in rows:
        told = sl.risk(float(epsilon))
        assert (percent(told.guess), percent(told.posterior[0][1])) == (guess, posterior)
