"""A release in a notebook."""

import json
import re
from typing import Any

import shortlist as sl
from tests.helpers.browser import check_width
from tests.helpers.typed import present

COUNTS = {"ada": 900, "bob": 450, "cy": 200, "dee": 20}


def widths(html):
    return [float(width) for width in re.findall(r"width:([\d.]+)em\"></span>", html)]


def test_values_have_bars_in_their_proportion():
    release = sl.top_k(COUNTS, 3, epsilon=1.0, monotone=True, public=True, values=True, rng=sl.testing.seeded(1))
    shown, values = release._repr_html_(), present(release.values)
    assert len(widths(shown)) == 3
    assert abs(widths(shown)[1] / widths(shown)[0] - values[1] / values[0]) < 0.01
    assert "± " in shown
    assert f"<b>{release.summary}</b>" in shown


def test_without_values_there_are_none_and_strange_numbers_have_none():
    assert not widths(sl.top_k(COUNTS, 3, epsilon=1.0, monotone=True, public=True)._repr_html_())
    asked: Any = {"k": 2, "epsilon": 1.0, "monotone": True, "public": True, "values": True}
    written = json.loads(sl.top_k(COUNTS, **asked).to_json())
    for values, shown in (([-2.0, -3.0], []), ([-2.0, 4.0], [0.0, 6.0])):
        written["values"] = values
        assert widths(sl.Release.from_json(json.dumps(written))._repr_html_()) == shown


def test_groups_have_one_table():
    lists = sl.top_k([[900, 20], [7, 500]], k=1, epsilon=1.0, monotone=True)
    assert lists._repr_html_().count("<table") == 1
    assert lists.summary in lists._repr_html_()


LONG = {"Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft": 9000, "x" * 400: 8000}
WIDE = {"期間限定特製チャーシュー入り大盛り味噌ラーメン" * 3: 7000, "https://example.org/a/long/path" * 3: 50, "y": 1}


def test_long_names_break_on_a_phone(look):
    page = look("about:blank", width=390)
    for question in ({"values": True}, {"ordered": True}, {"method": "gaps"}):
        lists = sl.top_k({**LONG, **WIDE}, 4, epsilon=1.0, monotone=True, public=True, unit="z" * 200, **question)
        page.set_content(f"<!doctype html><title>a card</title>{lists._repr_html_()}")
        page.locator("details").evaluate("(one) => { one.open = true; }")
        check_width(page)
