"""The noisy choice as a mechanism: its draws, its exact laws, what it says, and what it refuses."""

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import shortlist as sl
from shortlist import ZCDP, ApproxDP, Ledger, PureDP, Scores
from shortlist.audit import Law, certify
from shortlist.execute import choose_mechanism
from shortlist.mechanisms import KeySet, LimitedDomainTopK, NamesChoice
from shortlist.mechanisms.base import Request
from shortlist.mechanisms.partition import share
from tests.helpers.typed import of_kind, present

FLAT = {f"date {i}": 739 + i for i in range(92)}
COUNTS = [40, 31, 30, 22, 9, 9, 3, 1]
BUDGET = ApproxDP(1.0, 1e-6)


def far(observed, expected, draws):
    """How far from its mean a count is, in standard deviations: 6 is about 1e-9."""
    return abs(observed - draws * expected) / max(1.0, (draws * expected * (1 - expected)) ** 0.5)


@pytest.fixture(scope="module")
def rows():
    """600 people who hold ten things each, of 40."""
    rng = np.random.default_rng(3)
    weights = 1 / np.arange(1, 41)
    held = [rng.choice(40, 10, replace=False, p=weights / weights.sum()) for _ in range(600)]
    return pd.DataFrame({"who": np.repeat(np.arange(600), 10), "what": [f"thing {i:02}" for one in held for i in one]})


def test_flat_counts_are_named():
    """What a single set of limit 2 k does not name at all."""
    scores = Scores(FLAT, monotone=True)
    assert [len(present(sl.top_k(scores, 5, epsilon=1.0, delta=1e-6, rng=sl.testing.seeded(n)).items))
            for n in range(12)].count(5) >= 10  # fmt: skip
    assert NamesChoice(k=5, epsilon=1.0, delta=1e-6).expected_recall(scores) > 0.5
    assert sl.top_k(scores, 5, epsilon=1.0, delta=1e-6, method="canonical-limited-domain").items == []


@pytest.mark.parametrize("budget", [BUDGET, ZCDP(0.05, 1e-6), ApproxDP(1e-300, 1e-6), ApproxDP(40.0, 0.3)])
def test_the_parts_fit_the_budget(budget):
    choice, left = share(budget)
    rest: Any = left
    if isinstance(budget, ZCDP):
        assert left.delta == budget.delta
        assert choice**2 / 8 == pytest.approx(budget.rho / 100, rel=0.02)
        rho = of_kind(ZCDP, sl.privacy.BoundedRange(choice).as_zcdp()).rho
        assert Fraction(rho) + Fraction(rest.rho) <= Fraction(budget.rho) * (1 + Fraction(1, 10**14))
    else:
        assert left.delta == budget.delta
        assert Fraction(choice) + Fraction(rest.epsilon) <= Fraction(budget.epsilon)
        assert choice == pytest.approx(budget.epsilon / 10)


def test_every_branch_fits_the_rest_of_the_budget():
    for k, budget in ((3, ApproxDP(1.0, 1e-4)), (10, ApproxDP(0.5, 1e-6)), (4, ZCDP(0.1, 1e-5))):
        mechanism = NamesChoice(k=k, budget=budget, most=64)
        rest = share(budget)[1]
        for branch in mechanism.branches:
            assert rest.excess(branch.mechanism.charge) <= 1e-12, branch


def test_draws_have_the_certified_law():
    mechanism, draws = NamesChoice(k=2, epsilon=2.0, delta=0.1), 8000
    scores = Scores([9, 6, 5, 1], monotone=True, public=False, labels=list("abcd"))
    found = mechanism.release_many(scores, draws=draws, rng=sl.testing.seeded(8))
    seen: dict[tuple[str, int, tuple[int, ...]], int] = {}
    for which, row in zip(present(found.chosen)[:, 0], found.indices, strict=True):
        branch = mechanism.branches[which]
        key = (branch.kind, branch.row, tuple(int(i) for i in row if i >= 0))
        seen[key] = seen.get(key, 0) + 1
    law = {key: float(p) for key, p in of_kind(Law, certify(mechanism, scores)).chances.items()}
    assert sum(law.values()) == pytest.approx(1)
    assert set(seen) <= set(law)
    assert all(far(seen.get(key, 0), p, draws) < 6 for key, p in law.items())


def test_exact_recall_is_that_of_the_draws():
    mechanism, draws = NamesChoice(k=3, epsilon=1.0, delta=1e-3), 6000
    scores = Scores(COUNTS, monotone=True)
    rows = mechanism.release_many(scores, draws=draws, rng=sl.testing.seeded(2)).indices
    recall = np.isin(rows, (0, 1, 2)).sum() / (3 * draws)
    assert recall == pytest.approx(mechanism.expected_recall(scores), abs=0.02)
    right = (np.sort(rows, axis=1) == [0, 1, 2]).all(axis=1).mean()
    assert right == pytest.approx(mechanism.success_probability(scores), abs=0.03)
    assert mechanism.choice_probabilities(scores).sum() == pytest.approx(1)


def test_rows_may_take_a_key_set_and_names_are_right(rows):
    scores = sl.count(rows, user="who", item="what")
    mechanism = choose_mechanism(Request(20, ApproxDP(0.6, 1e-6), public=False, weighed=True)).mechanism
    assert mechanism == NamesChoice(k=20, epsilon=0.6, delta=1e-6, most=64)
    releases = [mechanism.release(scores, rng=sl.testing.seeded(n)) for n in range(6)]
    best = {f"thing {i:02}" for i in range(24)}
    assert {"a key set"} <= {one.used for one in releases}
    for release in releases:
        assert len(best & set(present(release.items))) >= 0.8 * len(present(release.items))
    public = scores.as_public()
    drawn = mechanism.release_many(public, draws=40, rng=sl.testing.seeded(1))
    keys = present(drawn.chosen)[:, 0] == len(mechanism.branches) - 1
    labels = public.labels
    names = [labels[i] for i in drawn.indices[keys][0] if i >= 0]
    assert len(best & set(names)) >= 0.8 * len(names) > 0


def test_an_order_of_rows_is_a_choice_of_list_and_keys(rows):
    scores = sl.count(rows, user="who", item="what")
    release = sl.top_k(scores, 5, epsilon=4.0, delta=1e-6, ordered=True)
    assert release.ordered
    assert present(release.items)[0] == "thing 00"
    assert {one.kind for one in NamesChoice(k=5, budget=BUDGET, most=64, in_order=True).branches} == {"list", "keys"}


def test_the_public_rule(rows):
    def chosen(k, **words):
        method = words.pop("method", "auto")
        return choose_mechanism(Request(k, BUDGET, public=False, **words), method).mechanism

    assert chosen(10) == NamesChoice(k=10, budget=BUDGET)
    assert chosen(10, weighed=True) == NamesChoice(k=10, budget=BUDGET, most=64)
    assert chosen(10, weighed=True, most=7) == NamesChoice(k=10, budget=BUDGET, most=7)
    assert chosen(10, weighed=True, limit=50) == NamesChoice(k=10, budget=BUDGET, most=64, limit=50)
    assert chosen(10, weighed=True, most=2) == KeySet(k=10, most=2, budget=BUDGET, values=False)
    assert chosen(10, weighed=True, most=1, values=True) == KeySet(k=10, most=1, budget=BUDGET)
    assert chosen(65, weighed=True) == KeySet(k=65, budget=BUDGET, values=False)
    assert chosen(65, weighed=True, values=True) == KeySet(k=65, budget=BUDGET)
    assert chosen(65, weighed=True, ordered=True) == KeySet(k=65, budget=BUDGET, values=False, in_order=True)
    assert chosen(65) == NamesChoice(k=65, budget=BUDGET)
    assert isinstance(chosen(10, ordered=True), LimitedDomainTopK)
    assert isinstance(chosen(1, weighed=True), LimitedDomainTopK)
    capped = sl.count(rows, user="who", item="what", most=1)
    assert sl.top_k(capped, 3, epsilon=1.0, delta=1e-6, values=True).values is not None


def test_many_names_come_from_a_key_set_and_are_not_fewer_for_a_larger_k(rows):
    scores = sl.count(rows, user="who", item="what")
    found = {k: len(present(sl.top_k(scores, k, epsilon=1.0, delta=1e-6, rng=sl.testing.seeded(4)).items))
             for k in (65, 300, 5000)}  # fmt: skip
    assert len(set(found.values())) == 1
    assert found[65] > 20


def test_notes_say_the_way_and_why_fewer_and_no_count():
    mechanism = NamesChoice(k=5, epsilon=1.0, delta=1e-6)
    for branch in mechanism.branches:
        way, fewer = mechanism._notes(branch, 2)
        assert branch.used in way
        assert branch.height in way
        assert "a smaller k lowers that bar" in fewer
        assert mechanism._notes(branch, 5) == [way]
    keys = NamesChoice(k=5, epsilon=1.0, delta=1e-6, most=64).branches[-1]
    assert "the same for every k" in mechanism._notes(keys, 2)[1]
    assert mechanism.branches[0].height == "27.5 people above the 11th"
    for k, place in ((1, "3rd"), (5, "11th"), (6, "13th"), (10, "21st"), (55, "111th"), (500, "1,001st")):
        assert NamesChoice(k=k, epsilon=1.0, delta=1e-6).branches[0].height.endswith(f"people above the {place}")


def test_notes_depend_on_the_way_and_on_how_many_came_alone():
    said: dict[tuple[str | None, bool], set[tuple[str, ...]]] = {}
    for n, counts in enumerate(({}, {"a": 1}, {"a": 300, "b": 290}, FLAT, {f"x{i}": 9000 for i in range(30)})):
        for seed in range(6):
            release = sl.top_k(
                Scores(counts, monotone=True), 4, epsilon=1.0, delta=1e-6, rng=sl.testing.seeded(6 * n + seed)
            )
            assert release.notes[0].startswith(f"a noisy choice took {release.used}")
            said.setdefault((release.used, len(present(release.items)) < 4), set()).add(release.notes)
    assert all(len(notes) == 1 for notes in said.values())
    assert len(said) > 2


def test_nothing_is_given_back(tmp_path):
    with Ledger(tmp_path / "budget.db", budget=ApproxDP(3.0, 1e-5)) as ledger:
        for counts in (FLAT, {"a": 2}):
            sl.top_k(Scores(counts, monotone=True), 4, epsilon=1.0, delta=1e-6, ledger=ledger)
        assert ledger.spent.epsilon == 2.0
        assert ledger.spent.delta == 2e-6


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ({"k": 2, "epsilon": 1.0}, "without a delta"),
        ({"k": 2, "epsilon": 1.0, "delta": 0.6}, "below 1/2"),
        ({"k": 2, "budget": PureDP(1.0)}, "without a delta"),
        ({"k": 5, "epsilon": 1.0, "delta": 1e-6, "limit": 4}, "limit"),
        ({"k": 2, "epsilon": 5e-324, "delta": 1e-6}, "too small to be shared"),
        ({"k": 5000, "epsilon": 1.0, "delta": 1e-6}, "nothing to choose from"),
        ({"k": 5, "epsilon": 1.0, "delta": 1e-6, "in_order": True}, "nothing to choose from"),
        ({"k": 5, "epsilon": 1.0, "delta": 1e-6, "most": 5000}, "most"),
    ],
)
def test_what_does_not_fit_is_refused(words, match):
    with pytest.raises(ValueError, match=match):
        NamesChoice(**words)


def test_a_key_set_needs_weights():
    with pytest.raises(ValueError, match="count a table"):
        NamesChoice(k=2, epsilon=1.0, delta=1e-6, most=64).release({"a": 3, "b": 2}, monotone=True)
    with pytest.raises(ValueError, match="needs a cap"):
        sl.top_k({"a": 3, "b": 2}, 2, epsilon=1.0, delta=1e-6, method="keys", monotone=True)
