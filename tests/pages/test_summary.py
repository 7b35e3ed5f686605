"""A release in a few sentences: what came out, what it can give away, what it cost and what is left."""

import math
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

import shortlist as sl
from shortlist import ZCDP, ApproxDP, PureDP, risk
from shortlist.mechanisms import NoisyMax
from shortlist.testing import seeded

SCORES = {"ada": 900, "bob": 500, "cy": 20, "di": 3}


def release(**words):
    return sl.top_k(SCORES, 2, monotone=True, public=True, rng=seeded(1), **words)


def test_what_came_out_what_it_costs_and_what_is_left(tmp_path):
    ledger = sl.Ledger(tmp_path / "q4.db", budget=PureDP(3.0))
    said = release(epsilon=1.0, ledger=ledger, unit="voter").summary
    assert said.startswith(
        "2 of 2 asked for. 4 candidates, declared public by the caller. Best guess whether one voter is in the data: "
        "right at most 73.2% of the time (50% without this release), at epsilon 1.0. Entry 1 of q4.db; booked: epsilon "
        "1 of 3, 1 release; a charge of up to epsilon 2 would"
    )
    smallest = release(epsilon=1.0, largest=False).summary
    assert "2 of 2 asked for, the smallest. 4 candidates, declared public by the caller. Best" in smallest


@pytest.mark.parametrize(
    ("budget", "price"),
    [
        (PureDP(0.5), "at epsilon 0.5."),
        (ApproxDP(0.5, 1e-6), "at epsilon 0.5 and delta 1e-6."),
        (ZCDP(0.1), "at rho 0.1."),
    ],
)
def test_every_budget_has_its_odds_and_its_price(budget, price):
    said = release(budget=budget)
    assert said.summary.endswith(price)
    assert f"right at most {risk(budget).in_short.split()[-1]} of the time" in said.summary
    assert said.summary in str(said)
    assert said.summary in said._repr_html_()


def test_fewer_than_asked_for_and_none_is_said():
    few = {f"n{i}": 3 for i in range(9)}
    none = sl.top_k(few, 5, epsilon=1.0, delta=1e-6, monotone=True, rng=seeded(1))
    assert none.summary.startswith("0 of 5 asked for: a name must stand about ")
    assert sl.Release.from_json(none.to_json()).summary == none.summary
    alone = NoisyMax(epsilon=1.0).release([1, 2], rng=seeded(1))
    assert alone.summary.startswith("1 came out. ")


def test_two_versions_of_somebodys_data_are_told_apart_where_people_are_replaced():
    said = sl.select([9, 1], epsilon=1.0, neighbours="replace", rng=seeded(1)).summary
    assert "which of two versions of the data of one user was used" in said


def test_risk_takes_an_epsilon_or_a_guarantee():
    assert risk(1.0) == risk(PureDP(1.0))
    assert str(risk(1)).endswith("right at most 73.2% of the time (50% without the release)")
    assert risk(ApproxDP(0.0, 0.0)).in_short == "50% becomes at most 50%"
    for wrong in (-1.0, 0.0, "1", None, float("nan"), True):
        with pytest.raises(ValueError, match="epsilon must be a number greater than 0"):
            risk(wrong)  # type: ignore[arg-type]


def drawn(values, **words):
    """A measured list whose values are these."""
    made = sl.top_k(SCORES, 2, epsilon=5.0, values=True, gaps=True, monotone=True, public=True, rng=seeded(1), **words)
    return replace(made, extras=replace(made.extras, values=values, gaps=[690.569, 0.044]))


def test_a_set_says_that_its_order_says_nothing_and_how_to_ask_for_it():
    said = (
        "A set, sorted by label: the order says nothing; an order is another release, and charged again: ordered=True."
    )
    one = release(epsilon=1.0)
    assert said in str(one).splitlines()
    assert said in one._repr_html_()
    lists = sl.top_k([[9, 4, 1], [7, 2, 1]], 2, epsilon=1.0, monotone=True, rng=seeded(1))
    assert str(lists).splitlines().count(said) == 1
    assert said in lists._repr_html_()
    assert not release(epsilon=1.0, ordered=True).remarks
    assert not sl.select(SCORES, epsilon=1.0, monotone=True, public=True, rng=seeded(1)).remarks
    named = release(epsilon=1.0, method="canonical").remarks  # no order is to be had of it
    assert named == ["A set, sorted by label: the order says nothing."]


def test_ranks_and_values_that_disagree_are_explained_in_lists_and_groups():
    said = "Ranks and values have noise of their own and disagree here: such items are too close to tell."
    assert said in str(drawn([100.0, 900.0]))
    assert said not in str(drawn([900.0, 100.0]))
    assert said in str(drawn([900.0, 100.0], largest=False))
    lists = sl.top_k(
        [[9, 4, 1], [7, 2, 1]], 2, epsilon=50.0, values=True, gaps=True, monotone=True, rng=seeded(1), allow_large=True
    )
    turned = replace(lists, releases={key: drawn([1.0, 2.0]) for key in lists})
    assert str(turned).count(said) == 1
    assert "Each value is made of a new noisy measurement" in str(turned), "the note of every list stands below them"


def test_counts_below_zero_and_within_their_margin_are_explained():
    assert "Noise can take a value below 0" in str(drawn([900.0, -3.0]))
    wide = drawn([900.0, 0.01])
    most = math.ceil(max(margin.half_width for margin in wide.margins or ()))
    assert f"says little: leave such items out by eye; next time at_least={most} does so, but to ask again" in str(wide)
    assert "at_least" not in str(drawn([0.01, 900.0], largest=False)), "the smallest are what was asked for"
    assert "says little" not in str(drawn([900.0, 500.0]))


def test_leads_are_named_and_have_the_digits_of_the_values():
    head, _, first, second = str(drawn([900.25, 500.125])).splitlines()[:4]
    assert head.split("  ")[-1] == "lead over next"
    assert [line.split()[-1] for line in (first, second)] == ["690.6", "0.0"]
    alone = sl.top_k(SCORES, 2, epsilon=5.0, gaps=True, monotone=True, public=True, rng=seeded(1))
    leads = replace(alone, extras=replace(alone.extras, gaps=[690.569, 8.25])).texts()["lead over next"]
    assert leads == ["691", "8"]
    assert "gap" in alone.columns(), "frames and files keep their name"
    over = sl.mechanisms.HybridSparseVector(threshold=100, k=2, epsilon=5.0).release([900, 500, 1], rng=seeded(1))
    assert "over the threshold" in str(over)


def test_a_number_that_the_data_chose_is_said_to_be_theirs():
    counts = {"ada": 9000, "bob": 8900, "cy": 20, "di": 3}
    made = sl.top_k(counts, None, epsilon=1.0, delta=1e-6, monotone=True, rng=seeded(1))
    assert made.remarks[0] == "The data chose how many: behind them the scores fall off."


def test_counts_after_a_cap_say_so_and_those_in_groups_too():
    rows = {"who": [1, 1, 2, 3], "what": ["tea", "milk", "tea", "milk"], "where": ["CH", "DE", "CH", "DE"]}
    words: dict[str, Any] = {"user": "who", "item": "what", "candidates": ["tea", "milk", "water"]}
    for most, items in ((1, "1 item"), (2, "2 items")):
        capped = sl.top_k(sl.count(pl.DataFrame(rows), **words, most=most), 2, epsilon=1.0, values=True)
        assert (
            f"Each user counts for {items} at most, drawn from their own: without this cap counts can be higher"
            in str(capped)
        )
        assert "drawn from their own" in capped._repr_html_()
    assert "drawn from" not in str(sl.top_k(sl.count(pl.DataFrame(rows), **words, most=1), 2, epsilon=1.0))
    named = sl.keys(pl.DataFrame(rows), user="who", item="what", most=1, epsilon=5.0, delta=1e-3)
    assert "Each user counts for 1 item at most" in str(named)
    groups = sl.top_k(sl.count(pl.DataFrame(rows), **words, by="where", groups=["CH", "DE"]), 1, epsilon=1.0)
    assert "so that counts may be well below those of all rows" in str(groups)


def test_nothing_is_said_twice():
    rows = {"user": list(range(300)), "item": ["tea"] * 200 + ["mate"] * 100}
    shown = str(sl.keys(pl.DataFrame(rows), user="user", item="item", epsilon=1.0, delta=1e-6, most=2, rng=seeded(1)))
    assert shown.casefold().count("a name needs") == 1
