"""Plans and comparisons where each person counts for a few items: histograms and key sets beside selection."""

import json
from typing import Any

import numpy as np
import pytest

import shortlist as sl
from shortlist import ZCDP, ApproxDP
from shortlist.execute import choose_method, histogram_from
from shortlist.mechanisms import KeySet, NamesChoice, NoisyHistogram
from shortlist.mechanisms.base import Request
from shortlist.planning.rows import contestants
from shortlist.privacy import PureDP
from tests.helpers.terminal import called

COUNTS = [300, 240, 200, 150, 90, 40, 12, 3]
WORDS: dict[str, Any] = {"k": 3, "scores": COUNTS, "monotone": True, "epsilon": 0.2, "delta": 1e-4, "most": 2}


@pytest.fixture(scope="module")
def plan():
    return sl.plan(**WORDS)


def rows_of(plan, method):
    return {row.budget: row for row in plan.rows if row.method == method}


def test_histograms_have_their_own_law_under_every_budget(plan):
    rows = rows_of(plan, "histogram")
    assert set(rows) == {"pure", "zcdp", "approx"}
    budgets = {"pure": PureDP(0.2), "zcdp": ZCDP(rows["zcdp"].rho), "approx": ApproxDP(0.2, 1e-4)}
    for budget, row in rows.items():
        own = NoisyHistogram(k=3, most=2, budget=budgets[budget]).quality(COUNTS, monotone=True)
        assert (row.top, row.recall) == pytest.approx((own.top, own.recall), abs=1e-6)
        assert row.ordered
        assert row.domain == "known"


def test_key_sets_and_the_choice_have_their_own_law(plan):
    for method, build in (
        ("keys", lambda budget: KeySet(most=2, k=3, values=False, budget=budget)),
        ("names-choice", lambda budget: NamesChoice(k=3, budget=budget)),
    ):
        rows = rows_of(plan, method)
        assert set(rows) == {"zcdp", "approx"}
        for budget, row in rows.items():
            paid = ApproxDP(0.2, 1e-4) if budget == "approx" else ZCDP(row.rho, 5e-5)
            own = build(paid)
            assert row.top == pytest.approx(own.success_probability(COUNTS, monotone=True), abs=1e-5)
            assert row.recall == pytest.approx(own.expected_recall(COUNTS, monotone=True), abs=1e-5)
            assert row.domain == "unknown"


def test_an_epsilon_that_is_found_reaches_the_target():
    found = sl.plan(k=2, scores=COUNTS, monotone=True, target=0.9, most=1, budget=("pure", "approx"), domain="known")
    for budget, row in rows_of(found, "histogram").items():
        for epsilon, enough in ((row.epsilon, True), (0.99 * row.epsilon, False)):
            paid = PureDP(epsilon) if budget == "pure" else ApproxDP(epsilon, 1e-6)
            reached = NoisyHistogram(k=2, most=1, budget=paid).success_probability(COUNTS, monotone=True)
            assert (reached >= 0.9) == enough


def test_the_crossing_is_that_of_the_public_rule(plan):
    assert plan.most == 2
    assert plan.crossing == {"pure": 3, "looser": 6, "values": 2}
    assert "from k = 3 on (pure) or k = 6" in str(plan)
    assert plan.to_json()["crossing"] == plan.crossing
    assert sl.plan(**{**WORDS, "most": None, "budget": "pure"}).crossing is None
    for most in range(1, 60):
        for pure, values in ((True, False), (False, False), (True, True), (False, True)):
            k = histogram_from(most, pure=pure, values=values)
            budget = PureDP(1.0) if pure else ZCDP(0.1)
            asked = [
                choose_method(Request(one, budget, not values, values, most=most))[0] == "histogram"
                for one in (k, k - 1)
                if one
            ]
            assert asked == [True, False][: len(asked)]
            assert k**2 >= 2 * most**2 > (k - 1) ** 2 or not pure or values
            assert 9 * k >= 24 * most > 9 * (k - 1) or pure or values


def test_nothing_changes_without_a_cap():
    plain = sl.plan(**{**WORDS, "most": None, "budget": "pure", "domain": "known"})
    capped = sl.plan(**{**WORDS, "budget": "pure", "domain": "known"})
    assert [row for row in capped.rows if row.method != "histogram"] == list(plain.rows)
    assert "most" not in plain.to_json()


def test_a_shape_in_which_people_hold_more_is_scaled_down():
    found = sl.plan(k=2, epsilon=0.5, items=50, users=1000, shape="zipf:1.0", most=1, budget="pure", domain="known")
    whole = np.floor(1000 / np.arange(1, 51)).astype(int)
    kept = np.floor(whole * (1000 / whole.sum())).astype(int)
    assert kept.sum() <= 1000
    own = NoisyHistogram(k=2, most=1, epsilon=0.5).success_probability(kept, monotone=True)
    assert rows_of(found, "histogram")["pure"].top == pytest.approx(own, abs=1e-9)
    assert "at most 1 a person" in found.described


def test_scores_bring_their_own_cap():
    import polars as pl

    rows = pl.DataFrame({"u": [*range(90), *range(60), *range(20)], "i": ["a"] * 90 + ["b"] * 60 + ["c"] * 20})
    counted = sl.count(rows, user="u", item="i", candidates=["a", "b", "c"], most=2).as_public()
    found = sl.plan(k=1, scores=counted, epsilon=0.5, budget="pure", domain="known")
    assert found.most == 2
    with pytest.raises(ValueError, match="counted with most=2"):
        sl.plan(k=1, scores=counted, epsilon=0.5, most=3)
    labels = [row.mechanism for row in sl.compare(counted, 1, epsilon=1.0).rows]
    assert labels[-1] == "histogram, at most 2 a person"


@pytest.mark.parametrize(("words", "word"), [({"most": 0}, "at least 1"), ({"most": "2"}, "whole number")])
def test_a_cap_that_is_none_is_refused(words, word):
    with pytest.raises((ValueError, TypeError), match=word):
        sl.plan(**{**WORDS, **words})
    with pytest.raises(ValueError, match="counts of people"):
        sl.plan(k=1, scores=[1.5, 0.2], epsilon=1.0, most=2)


def test_compared_histograms_are_the_planned_ones():
    capped = {one.label for one in contestants(3, "known", False, 2) if one.row.needs and "pure" in one.currencies}
    table = sl.compare(COUNTS, 3, epsilon=[0.1, 0.4], monotone=True, most=2)
    ours = [row for row in table.rows if row.mechanism in capped]
    assert len(ours) == 2
    for row in ours:
        own = NoisyHistogram(k=3, most=2, epsilon=row.epsilon).quality(COUNTS, monotone=True)
        assert (row.top, row.great, row.good, row.recall) == (own.top, own.great, own.good, own.recall)


def test_absurd_budgets_have_a_plan():
    for epsilon in (1e-9, 1e6):
        found = sl.plan(
            k=2, scores=[9, 5, 3, 1], monotone=True, epsilon=epsilon, most=2, domain="unknown", budget="approx"
        )
        assert rows_of(found, "keys")["approx"].top == pytest.approx(float(epsilon > 1), abs=1e-6)


def test_the_command_shows_them(tmp_path):
    asked = ["plan", "-k", "3", "--shape", "zipf:1.1", "--items", "40", "--users", "500", "--epsilon", "0.5"]
    done = called(*asked, "--budget", "pure", "--domain", "known", "--most", "2", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert shown["crossing"] == {"pure": 3, "looser": 6, "values": 2}
    assert "histogram" in {row["method"] for row in shown["rows"]}
