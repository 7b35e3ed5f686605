"""Plans: exact, ranked, from public facts, and never below what is possible."""

import json
import math
import re
from typing import Any

import numpy as np
import pytest

import shortlist as sl
from shortlist.audit import Law, certify
from shortlist.mechanisms import (
    CanonicalLimitedDomain,
    CanonicalTopK,
    LimitedDomainTopK,
    NamesChoice,
    OneshotTopK,
    StableTopK,
)
from shortlist.planning.plans import collapse_point, counts_of_shape
from shortlist.planning.rows import FACTS
from shortlist.planning.search import least_epsilon_reaching
from tests.helpers.support import full_size, sized
from tests.helpers.typed import of_kind, present

ITEMS = 60
SHAPE: dict[str, Any] = {"items": ITEMS, "users": 20_000, "shape": "zipf:1.1"}


@pytest.fixture(scope="module")
def plan():
    return sl.plan(k=5, target=0.9, **SHAPE)


def row(found, method, budget):
    return next(one for one in found.rows if (one.method, one.budget) == (method, budget))


def test_each_epsilon_reaches_the_target_and_a_little_less_does_not(plan):
    values = counts_of_shape("zipf:1.1", ITEMS, 20_000, 5)
    for method, kind in (("canonical", CanonicalTopK), ("oneshot-gumbel", OneshotTopK)):
        epsilon = row(plan, method, "pure").epsilon
        assert kind(k=5, epsilon=epsilon).success_probability(values, monotone=True) >= 0.9
        assert kind(k=5, epsilon=0.995 * epsilon).success_probability(values, monotone=True) < 0.9


@pytest.mark.parametrize("budget", ["zcdp", "approx"])
def test_a_row_of_another_currency_is_a_budget_that_the_mechanism_can_keep(plan, budget):
    values = counts_of_shape("zipf:1.1", ITEMS, 20_000, 5)
    for method, kind in (("canonical", CanonicalTopK), ("oneshot-gumbel", OneshotTopK)):
        found = row(plan, method, budget)
        paid = sl.ZCDP(found.rho) if budget == "zcdp" else sl.ApproxDP(found.epsilon, found.delta)
        assert kind(k=5, budget=paid, noise="gumbel").success_probability(values, monotone=True) >= 0.9 - 1e-6


def test_rows_are_ranked_and_never_below_the_bound(plan):
    epsilons = [one.epsilon for one in plan.rows]
    assert epsilons == sorted(epsilons)
    assert plan.best == plan.rows[0]
    assert all(one.epsilon >= plan.bound for one in plan.rows if one.budget == "pure")


def test_both_domains_and_all_currencies_are_there(plan):
    assert {one.budget for one in plan.rows} == {"pure", "zcdp", "approx"}
    assert {one.domain for one in plan.rows} == {"known", "unknown"}
    assert not [one for one in plan.rows if one.domain == "unknown" and one.budget == "pure"]


@full_size
def test_what_an_epsilon_reaches_agrees_with_what_it_needs(plan):
    for one in plan.rows[:: sized(8, full=4)]:
        again = sl.plan(k=5, epsilon=one.epsilon, budget=one.budget, domain=one.domain, **SHAPE)
        assert row(again, one.method, one.budget).reached == pytest.approx(0.9, abs=0.01), one


def test_a_given_epsilon_shows_every_quality_of_each_mechanism():
    found = sl.plan(k=5, epsilon=0.02, goal="recall", budget=("pure", "zcdp"), **SHAPE)
    exact = CanonicalTopK(k=5, epsilon=0.02).quality(counts_of_shape("zipf:1.1", ITEMS, 20_000, 5), monotone=True)
    one = row(found, "canonical", "pure")
    assert (one.top, one.great, one.good, one.recall) == (exact.top, exact.great, exact.good, exact.recall)
    assert all(one.reached == one.recall for one in found.rows)
    assert [one.recall for one in found.rows] == sorted((one.recall for one in found.rows), reverse=True)


@pytest.mark.parametrize("goal", ["top", "great", pytest.param("good", marks=pytest.mark.long), "recall"])
def test_every_goal_has_a_plan(goal):
    found = sl.plan(k=2, goal=goal, items=9, users=5_000, shape="geometric:0.9", budget="pure")
    assert found.best.epsilon > 0
    assert found.target == (0.9 if goal == "recall" else 0.99)


def test_one_winner_has_its_own_names():
    found = sl.plan(k=1, budget=("pure", "zcdp"), **SHAPE)
    assert {"permute-and-flip", "exponential"} <= {one.method for one in found.rows}
    assert found.collapse is None


def test_a_plan_without_a_public_list_holds_for_the_mechanisms():
    values, found = (
        counts_of_shape("zipf:0.9", 300, 2_000, 4),
        sl.plan(k=4, items=300, users=2_000, shape="zipf:0.9", goal="recall", target=0.8, domain="unknown", delta=1e-4),
    )
    for one in found.rows:
        paid = sl.ApproxDP(one.epsilon, 1e-4) if one.budget == "approx" else sl.ZCDP(one.rho, 5e-5)
        built = {
            "canonical-limited-domain": lambda paid: CanonicalLimitedDomain(k=4, budget=paid),
            "limited-domain": lambda paid: LimitedDomainTopK(k=4, budget=paid),
            "all-or-nothing": lambda paid: StableTopK(k=4, budget=paid),
            "names-choice": lambda paid: NamesChoice(k=4, budget=paid),
        }[one.method](paid)
        drawn = built.release_many(values, draws=1500, rng=sl.testing.seeded(3), monotone=True)
        sets: Any = getattr(drawn, "indices", drawn)
        recall = np.mean([len({0, 1, 2, 3}.intersection(one)) / 4 for one in sets])
        assert recall == pytest.approx(0.8, abs=0.06), one  # 5 standard errors of the widest, a set or nothing


def test_the_step_of_the_study_is_cheapest_by_a_stability_test():
    found = sl.plan(k=100, items=4096, users=100, shape="flat:100", budget="approx", domain="unknown")
    assert found.best.method == "all-or-nothing"
    assert found.best.epsilon == pytest.approx(0.152, abs=0.001)  # (Proposition 130)


def test_only_lists_where_the_order_is_wanted():
    found = sl.plan(k=4, ordered=True, epsilon=0.1, budget=("pure", "zcdp"), **SHAPE)
    assert {(one.ordered, one.domain) for one in found.rows} == {(True, "known"), (True, "unknown")}


def test_public_scores_and_general_sensitivity():
    found = sl.plan(k=2, scores=[90.0, 70.5, 20.0, 3.0, 1.0], sensitivity=1.0)
    assert found.bound is None
    assert all(one.domain == "known" for one in found.rows)
    assert found.best.epsilon > 0


def test_scores_with_labels_from_the_data_have_a_plan_for_unknown_domains_only():
    found = sl.plan(k=2, scores={"a": 900, "b": 300, "c": 1}, monotone=True, budget=("pure", "zcdp"))
    assert {one.domain for one in found.rows} == {"unknown"}


@full_size
@pytest.mark.parametrize("values", [[10**17, 5, 3, 2, 1], [0, 0, 0, 0], [-5, -6, -7, -100], [10**12, 5 * 10**11, 10]])
def test_extreme_scores_have_a_plan(values):
    """In the suite under one budget, each in its turn."""
    every = ("pure", "zcdp", "approx")
    budgets = sized(every[len(values) % 3], full=every)
    assert str(sl.plan(k=2, scores=values, monotone=True, budget=budgets))
    assert str(sl.plan(k=2, scores=values, monotone=True, epsilon=1.0, budget=budgets))


def test_private_scores_are_refused():
    counted = sl.Scores([5, 3, 1], monotone=True)._as_counted()
    with pytest.raises(ValueError, match="as_public"):
        sl.plan(k=1, scores=counted)


def test_a_target_that_nobody_reaches_says_so():
    flat = sl.plan(k=3, scores=np.full(1200, 1), monotone=True, domain="unknown")
    assert math.isinf(flat.best.epsilon)
    assert "recall" in flat.why
    assert "none" in str(flat)
    flat.plot()


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"shape": "zipf"}, "zipf:1.1"),
        ({"shape": "geometric:2"}, "between 0 and 1"),
        ({"shape": "flat:1.5"}, "whole number"),
        ({"items": 0}, "items"),
        ({"items": 10**9}, "at most"),
        ({"users": "many"}, "users"),
        ({"k": ITEMS}, "smaller k"),
        ({"target": 1.5}, "target"),
        ({"goal": "best"}, "goal"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 0.5}, "delta"),
        ({"budget": "free"}, "budget"),
        ({"domain": ()}, "domain"),
        ({"budget": ["pure", ["a"]]}, "budget"),
        ({"ordered": "no"}, "ordered"),
        ({"target": 0.9, "epsilon": 1.0}, "not both"),
        ({"scores": [1, 2, 3]}, "describe the data"),
        ({"monotone": True}, "scores= only"),
        ({"budget": "pure", "domain": "unknown"}, "no mechanism fits"),
    ],
)
def test_bad_questions_say_what_to_write(wrong, word):
    with pytest.raises((ValueError, TypeError), match=word):
        sl.plan(**{"k": 5, **SHAPE, **wrong})


def test_it_prints_draws_and_becomes_a_frame(plan):
    assert "canonical" in str(plan)
    assert "lower bound" in str(plan)
    assert len(plan.to_frame()) == len(plan.rows)
    assert len(plan.plot().get_yticklabels()) == len(plan.rows)
    assert "<pre" in plan._repr_html_()
    assert json.loads(json.dumps(plan.to_json()))["rows"][0]["mechanism"] == plan.best.mechanism
    reaches = sl.plan(k=5, epsilon=0.05, budget="pure", **SHAPE)
    assert "top" in str(reaches)
    reaches.plot()


def test_the_collapse_point_is_where_the_largest_class_equals_the_top_set():
    values, k, gamma = np.array([50, 44, 31, 30, 12, 9, 9, 3, 1, 0]), 4, 0.5
    brute = max(
        math.log(math.comb(i + j, i))
        / ((1 - gamma) * (values[k - 1 - i] - values[k]) + gamma * (values[k - 1] - values[k + j]))
        for i in range(k)
        for j in range(len(values) - k)
    )
    assert collapse_point(values, k, gamma) == pytest.approx(brute)
    assert collapse_point(values, k, gamma, 2.0) == pytest.approx(2 * brute)
    assert collapse_point(np.full(6, 3), 3, 0.5) == math.inf


def test_canonical_falls_within_a_few_percent_of_its_collapse_point(shared_data):
    values = np.load(shared_data / "INCOME.n4096.npy").astype(np.int64)
    here = collapse_point(values, 100, 0.5)
    recall = [CanonicalTopK(k=100, epsilon=f * here).quality(values, monotone=True).recall for f in (0.9, 1.1)]
    assert recall[0] < 0.5 < 0.9 < recall[1]


def test_the_search_finds_the_least_epsilon_from_any_start():
    for start in (1e-6, 1.0, 1e6):
        found = least_epsilon_reaching(lambda e: 1 - math.exp(-e), 0.99, start=start, width=1e-6)
        assert found == pytest.approx(math.log(100), rel=1e-5)
        assert 1 - math.exp(-found) >= 0.99
    assert least_epsilon_reaching(lambda e: 0.5, 0.9) == math.inf
    assert least_epsilon_reaching(lambda e: 0.95, 0.9) == 0.0


@pytest.mark.parametrize("budget", [sl.PureDP(1.0), sl.ApproxDP(1.0, 1e-6), sl.ZCDP(0.1)], ids=str)
@pytest.mark.parametrize("words", [{}, {"ordered": True}, {"values": True}], ids=str)
@pytest.mark.parametrize("k", [1, 2, 9, 60])
def test_why_names_no_file_and_no_benchmark(k, words, budget):
    why = sl.top_k(list(range(400)), k=k, budget=budget, monotone=True, **words).why
    assert why.startswith("auto: ")
    assert not re.search(r"docs/|\.md|data set|\d\.\d|at most \d", why)


@pytest.mark.parametrize(
    ("k", "users", "delta"),
    [
        (1, 20_000, 1e-6),
        (4, 20_000, 1e-4),
        pytest.param(2, 500, 0.01, marks=pytest.mark.long),
        pytest.param(3, 20_000, 1e-6, marks=pytest.mark.long),
    ],
)
def test_a_list_without_a_public_domain_keeps_what_its_plan_promises(k, users, delta):
    values = counts_of_shape("zipf:1.1", 50, users, k)
    found = sl.plan(k=k, items=50, users=users, shape="zipf:1.1", domain="unknown", budget="approx", delta=delta)
    epsilon = row(found, "limited-domain", "approx").epsilon
    for factor, enough in ((1.0, True), (0.99, False)):
        noise = "exponential" if k <= 3 else "gumbel"  # as method="limited-domain" has it
        built = LimitedDomainTopK(k=k, budget=sl.ApproxDP(factor * epsilon, delta), noise=noise)
        chance = built.success_probability(values, monotone=True)
        assert (chance >= 0.99) == enough, (factor, chance)


def test_what_a_list_reaches_with_an_epsilon_is_the_mechanism_s_own_law():
    found = sl.plan(k=1, scores=[30, 1, 0], monotone=True, epsilon=0.5, delta=0.01, domain="unknown", budget="approx")
    built = LimitedDomainTopK(k=1, epsilon=0.5, delta=0.01, noise="exponential")
    law = of_kind(Law, certify(built, sl.Scores([30, 1], monotone=True)))
    right = sum(float(chance) for names, chance in law.chances.items() if names in ((0,), ((0,), False)))
    assert row(found, "limited-domain", "approx").top == pytest.approx(right, abs=1e-9)


@full_size
def test_printed_costs_are_enough_and_printed_bounds_and_chances_are_kept():
    for users in range(1000, 1400, sized(200, full=40)):
        found = sl.plan(k=2, items=20, users=users, shape="zipf:1.1", budget="pure", domain="known")
        for text, one in zip(found.texts()["epsilon"], found.rows, strict=True):
            assert one.epsilon <= float(text) <= 1.011 * one.epsilon
        said = float(found.beside()[1].partition("below ")[2].split()[0])
        assert 0.99 * present(found.bound) <= said <= present(found.bound)
    reached = sl.plan(k=2, epsilon=50.0, scores=[900, 500, 3, 2], monotone=True)
    assert "1.0000" not in str(reached)
    for text, one in zip(reached.texts()["top"], reached.rows, strict=True):
        assert float(text) <= one.top


@pytest.mark.parametrize("users", [2**53 + 1, 2**63, 10**30])
def test_more_users_than_floats_can_count_are_refused(users):
    with pytest.raises(ValueError, match="users"):
        sl.plan(k=1, items=5, users=users, shape="zipf:1")


def test_candidates_that_may_not_be_chosen_do_not_count():
    with pytest.raises(ValueError, match="k=2 of 2 items"):
        sl.plan(k=2, scores=[-math.inf, 3.0, 1.0])
    assert sl.plan(k=1, scores=[-math.inf, 3.0, 1.0]).best.epsilon > 0


def test_a_target_that_chance_reaches_says_so():
    found = sl.plan(k=1, scores=[1, 1, 1], monotone=True, budget="pure")
    assert "any epsilon is enough" in found.why
    assert "needs the least" not in found.why
    assert set(found.texts()["epsilon"]) == {"any"}


def test_negative_scores_are_no_counts():
    with pytest.raises(ValueError, match="none negative"):
        sl.plan(k=2, scores=[-5, -9, 1, 0], monotone=True, domain="unknown")
    found = sl.plan(k=2, scores=[-5, -9, 1, 0], monotone=True)
    assert {one.domain for one in found.rows} == {"known"}
    assert found.bound is None


def test_names_that_are_not_public_are_not_called_so():
    assert "names not public" in sl.plan(k=1, scores={"a": 300, "b": 1}, monotone=True).described
    assert "public" not in sl.plan(k=1, scores=[300, 1], monotone=True).described


def test_what_is_known_beforehand_is_what_the_page_says(pytestconfig):
    page = (pytestconfig.rootpath / "docs/planning.md").read_text()
    for method, figures in {
        "canonical": ("9.6, 110 and 765",),
        "oneshot-exponential": ("0.78 to 0.93",),
        "guarded": ("1.29",),
    }.items():
        for figure in figures:
            assert figure in FACTS[method]
            assert figure in page
