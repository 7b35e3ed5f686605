"""The page of names that came from the data: how many of those asked for, counts with margins, and the way it went."""

import pandas as pd

import shortlist as sl
from shortlist._text import with_margin
from shortlist.pages.release_page import release_page
from tests.helpers.typed import present

ROWS = pd.DataFrame({"who": range(900), "what": ["tea"] * 500 + ["milk"] * 390 + [f"secret {n}" for n in range(10)]})


def test_fewer_than_asked_for_is_said_first():
    release = sl.top_k(sl.count(ROWS, user="who", item="what"), 5, epsilon=1.0, delta=1e-6, rng=sl.testing.seeded(3))
    assert set(present(release.items)) == {"milk", "tea"}
    page = release_page(release)
    assert "<h1>2 of 5 items, chosen privately</h1>" in page
    assert "fewer than 5 names reached the bar" in page
    assert "Which way it went" in page
    assert "secret" not in page
    assert "<h1>2 items" in release_page(sl.top_k(ROWS["what"].value_counts().to_dict(), 2, epsilon=9.0, delta=1e-6,
                                                  monotone=True, rng=sl.testing.seeded(3)))  # fmt: skip


def test_counts_have_their_margins_beside_them():
    release = sl.keys(ROWS, user="who", item="what", most=1, epsilon=1.0, delta=1e-6, rng=sl.testing.seeded(1))
    page = release_page(release)
    assert release.items == ["tea", "milk"]
    assert "<h1>2 items, chosen privately</h1>" in page
    for value, margin in zip(present(release.values), present(release.margins), strict=True):
        assert f"value <b>{with_margin(value, margin.half_width)}</b>" in page
    assert page.count("covers 95%") == 1
    assert "covers 95%" not in release_page(sl.top_k([9, 8, 1], 2, epsilon=1.0, monotone=True, gaps=True))
