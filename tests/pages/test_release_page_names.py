"""The page of names that came from the data: how many of those asked for, counts with margins, and the way it went."""

import re
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from matplotlib import font_manager

import shortlist as sl
from shortlist.pages import plots
from shortlist.pages.release_page import release_page
from shortlist.pages.texts import with_margin
from tests.helpers.typed import present

ROWS = pd.DataFrame({"who": range(900), "what": ["tea"] * 500 + ["milk"] * 390 + [f"secret {n}" for n in range(10)]})


def test_fewer_than_asked_for_is_said_first():
    release = sl.top_k(sl.count(ROWS, user="who", item="what"), 5, epsilon=1.0, delta=1e-6, rng=sl.testing.seeded(3))
    assert set(present(release.items)) == {"milk", "tea"}
    page = release_page(release)
    assert "<h1>2 of 5 items, chosen privately</h1>" in page
    assert "Fewer than 5 names reached the bar" in page
    assert re.search(r'<p class="lead">2 of 5 asked for: a name (?:must stand|needs) about [\d.,]+ \w+', page)
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
        assert f"<b>{with_margin(value, margin.half_width).removesuffix(' (95%)')}</b>" in page
    assert page.count('class="track"') == 2
    assert page.count("covers 95%") == 1
    assert "covers 95%" not in release_page(sl.top_k([9, 8, 1], 2, epsilon=1.0, monotone=True, gaps=True))


def test_quantiles_are_sentences_and_no_ranks():
    rows = pd.DataFrame({"who": range(700), "age": [1, 2, 5, 5, 5, 7, 9] * 100})
    asked: dict[str, Any] = {
        "user": "who",
        "value": "age",
        "q": [0.25, 0.5, 0.99],
        "lower": 0,
        "upper": 10,
        "epsilon": 9.0,
    }
    made = sl.quantile(rows, **asked, rng=sl.testing.seeded(1))
    page = release_page(made)
    for words in ("a quarter are at or below <bdi><b>", "median <bdi><b>", "99% are at or below <bdi><b>"):
        assert words in page
    assert 'class="rank"' not in page
    assert "They were drawn with differential privacy" in page
    axes = made.plot()
    drawn = [text.get_text() for text in axes.texts]
    assert [words.rpartition(" ")[0] for words in drawn] == [
        "a quarter are at or below",
        "median",
        "99% are at or below",
    ]
    assert axes.get_title(loc="left") == "3 quantiles"
    plt.close(axes.figure)


def test_margins_are_explained_once_on_a_page_of_groups_and_ways_in_words():
    lists = sl.top_k([[90, 4, 1], [70, 2, 1]], 2, epsilon=1.0, values=True, monotone=True, rng=sl.testing.seeded(1))
    assert release_page(lists, "").count("± is half of an interval that covers 95%") == 1
    guarded = sl.top_k([900, 500, 90, 70, 20, 3, 2], 3, epsilon=1.0, monotone=True, rng=sl.testing.seeded(1))
    assert guarded.used == "canonical"
    assert "the way for clear winners (canonical)" in release_page(guarded)


def test_letters_that_no_font_has_are_told(monkeypatch):
    few = [font for font in font_manager.fontManager.ttflist if font.name.startswith(("DejaVu Sans", plots.BOXES))]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", few)
    monkeypatch.setattr(font_manager, "findSystemFonts", list)
    plots.families.cache_clear()
    with pytest.warns(UserWarning, match="some are drawn as boxes"):
        plots.families("東京")
    plots.families.cache_clear()


def test_a_page_has_what_must_be_known_of_its_list_and_no_words_for_programs():
    rare = sl.top_k([30, 20, 10, 5, 2, 1], 4, epsilon=0.1, monotone=True, values=True, rng=sl.testing.seeded(2))
    page = release_page(rare)
    assert "A value below its ± says little: leave such items out by eye." in page
    assert ("Noise can take a value below 0" in page) == (min(present(rare.values)) < 0)
    unordered = release_page(sl.top_k([900, 500, 90, 70, 20, 3, 2], 3, epsilon=1.0, monotone=True))
    assert unordered.count("order says nothing") == 1
    for text in (page, unordered, release_page(sl.top_k([[9, 8, 1], [7, 5, 2]], 2, epsilon=1.0, monotone=True), "")):
        assert not any(word in text for word in ("at_least=", "ordered=", "docs/"))


@pytest.mark.parametrize("epsilon", [3.0, 12.0])
def test_pages_say_that_a_large_epsilon_promises_little(epsilon, tmp_path):
    one = sl.top_k([9, 8, 1], 2, epsilon=epsilon, monotone=True)
    many = sl.top_k([[9, 8, 1], [7, 5, 2]], 2, epsilon=epsilon, monotone=True)
    sl.Ledger(tmp_path / "q4.db", budget=sl.PureDP(epsilon)).report(tmp_path / "q4.html")
    for page in (release_page(one), release_page(many, ""), (tmp_path / "q4.html").read_text()):
        assert ("An epsilon above 10 promises little" in page) == (epsilon > 10)


def test_a_page_is_called_by_its_title_its_purpose_or_what_it_holds(tmp_path):
    ledger = sl.Ledger(tmp_path / "q4.db", budget=sl.PureDP(3.0))
    paid = sl.top_k([9, 8, 1], 2, epsilon=1.0, monotone=True, ledger=ledger, purpose="weekly chart")
    assert "<h1>weekly chart</h1>" in release_page(paid)
    assert "<h1>Films</h1>" in release_page(paid, "Films")
    ages = pd.DataFrame({"who": range(90), "age": range(90), "where": ["CH", "DE"] * 45})
    asked: dict[str, Any] = {"user": "who", "value": "age", "q": 0.5, "lower": 0, "upper": 99, "epsilon": 1.0}
    groups = sl.quantile(ages, **asked, by="where", groups=["CH", "DE"])
    assert "<h1>Quantiles of 2 groups, chosen privately</h1>" in release_page(groups, "")
    assert groups.summary.startswith("2 groups, 2 quantiles in all.")


def test_nothing_is_said_to_be_booked_where_nothing_is(tmp_path):
    ledger = sl.Ledger(tmp_path / "q4.db", budget=sl.ZCDP(0.5, 1e-6))
    ledger.report(tmp_path / "q4.html")
    page = (tmp_path / "q4.html").read_text()
    assert "Nothing is booked yet." in page
    assert "verified: it has no entries yet." in page
