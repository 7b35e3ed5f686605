"""Numbers as people write them: a comma is never swallowed, and what is refused says how to write it."""

from importlib.resources import files

import pytest

import shortlist as sl
from shortlist.query import options_of
from tests.helpers.studios import QUESTION, Running, fill

LISTED = ("top_k", "value")
"""A list on the page is of counts."""
QUANTILES = {"kind": "quantile", "value": "age", "lower": "0", "upper": "120"}


@pytest.fixture
def studio(tmp_path):
    fill(tmp_path)
    running = Running(tmp_path)
    yield running
    running.close()


@pytest.mark.parametrize("name", ["epsilon", "delta", "k", "most"])
def test_a_comma_in_a_number_is_refused_in_words(studio, name):
    status, answer = studio.ask("plan", {**QUESTION, name: "1,5"})
    assert status == 400
    assert answer["error"].startswith(f"{name}: write decimals with a point (0.5)")


def test_a_comma_in_a_budget_makes_no_ledger(studio):
    status, answer = studio.ask("ledger", {"name": "new.db", "epsilon": "1,5", "delta": None})
    assert (status, (studio.folder / "new.db").exists()) == (400, False)
    assert answer["error"].startswith("epsilon: write decimals with a point")


@pytest.mark.parametrize("q", ["0,1", "0,5", "0,1, 0,5"])
def test_quantiles_with_a_decimal_comma_are_no_pairs(studio, q):
    status, answer = studio.ask("plan", {**QUESTION, **QUANTILES, "q": q})
    assert status == 400
    assert answer["error"].startswith("q: write decimals with a point")
    assert studio.ask("plan", {**QUESTION, **QUANTILES, "q": "0, 1"})[0] == 200
    assert studio.ask("plan", {**QUESTION, **QUANTILES, "q": "0.25,0.5"})[0] == 200


def test_no_field_of_the_page_lets_a_browser_drop_what_was_typed():
    page = files("shortlist").joinpath("studio/assets/studio.html").read_text()
    assert 'type="number"' not in page


@pytest.mark.parametrize("call", ["top_k", "quantile"])
def test_every_plain_option_of_a_table_is_a_field(studio, call):
    asked = QUESTION if call == "top_k" else {**QUESTION, **QUANTILES}
    for one in options_of(call):
        if one.part == "table" and one.type in ("str | None", "int | None", "bool") and (call, one.name) != LISTED:
            status, answer = studio.ask("plan", {**asked, one.name: ["odd"]})
            assert (status, answer["error"].partition(":")[0]) == (400, one.name)


@pytest.mark.parametrize(("name", "example"), [("epsilon", "0.5"), ("delta", "1e-6")])
def test_what_is_no_number_is_answered_by_an_example(studio, name, example):
    for wrong in ("a lot", -1, True):
        answer = studio.ask("plan", {**QUESTION, name: wrong})[1]
        assert answer["error"] == f"{name}: write a number above 0, for example {example}"
    assert sl.Ledger(studio.folder / "year.db").spent.epsilon == 0
