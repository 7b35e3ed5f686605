"""The table of the page on epsilon is the library's own."""

import re
from pathlib import Path

import shortlist as sl
from shortlist.pages.guarantee_in_words import percent

PAGE = Path(__file__).parents[2] / "docs" / "choosing-epsilon.md"


def test_the_table_says_what_odds_says():
    rows = re.findall(r"^\| ([\d.]+) \| ([\d.]+%) \| ([\d.]+%) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) == 7
    for epsilon, right, after in rows:
        told = sl.odds(float(epsilon))
        assert (percent(told.right), percent(told.after[0][1])) == (right, after)
