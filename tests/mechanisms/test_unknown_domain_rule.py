"""top_k without a public list: the rule (Algorithm 117), from public facts alone."""

import warnings
from typing import Any

import pytest

import shortlist as sl
from shortlist import ZCDP, ApproxDP, Ledger, PureDP, Scores
from shortlist.execute import choose_mechanism
from shortlist.mechanisms import LimitedDomainTopK, NamesChoice, StableTopK
from shortlist.mechanisms.base import Request
from shortlist.mechanisms.registry import METHODS
from tests.helpers.typed import present

COUNTS = {f"movie {i}": 20_000 // (i + 1) for i in range(300)}
BUDGET = ApproxDP(1.0, 1e-6)


def automatic(k, budget, ordered, limit, method="auto"):
    """(the mechanism, why) for candidates that are not public."""
    return choose_mechanism(Request(k, budget, ordered, public=False, limit=limit), method)[:2]


@pytest.fixture
def scores():
    return Scores(COUNTS, monotone=True)


@pytest.mark.parametrize("k", [2, 3, 10, 50, 200])
@pytest.mark.parametrize("budget", [BUDGET, ZCDP(0.02294, 1e-6)], ids=repr)
def test_a_set_comes_from_a_noisy_choice(k, budget):
    mechanism, why = automatic(k, budget, False, None)
    assert mechanism == NamesChoice(k=k, budget=budget)
    assert "a tenth of the budget chooses" in why
    assert f"above the {2 * k + 1}" in why


def test_one_winner_comes_from_a_list_with_exponential_noise(scores):
    assert automatic(1, BUDGET, False, None)[0] == LimitedDomainTopK(k=1, budget=BUDGET, noise="exponential")
    assert sl.select(scores, epsilon=1.0, delta=1e-6).item == "movie 0"


@pytest.mark.parametrize(("k", "noise"), [(3, "exponential"), (4, "gumbel")])
def test_an_order_comes_from_a_list(k, noise):
    assert automatic(k, BUDGET, True, None)[0] == LimitedDomainTopK(k=k, budget=BUDGET, noise=noise)
    assert automatic(k, ZCDP(0.1, 1e-6), True, None)[0].noise == "gumbel"


def test_too_many_sets_are_not_weighed():
    assert isinstance(automatic(5000, BUDGET, False, None)[0], LimitedDomainTopK)
    with pytest.warns(UserWarning, match="delta=0.6"):
        release = sl.top_k(Scores(COUNTS, monotone=True), 2, budget=ApproxDP(1.0, 0.6))
    assert release.why.startswith("auto: LimitedDomainTopK")


def test_top_k_with_a_delta_needs_no_candidates(scores):
    release = sl.top_k(scores, k=10, epsilon=1.0, delta=1e-6)
    assert release.items == sorted(f"movie {i}" for i in range(10))
    assert release.guarantee == ApproxDP(1.0, 1e-6)
    assert release.why.startswith("auto: NamesChoice, because no public list was given")
    assert release.indices is None
    again = sl.top_k(COUNTS, k=10, budget=ApproxDP(1.0, 1e-6), monotone=True)
    assert again.items == release.items
    listed = sl.top_k(scores, k=3, epsilon=4.0, delta=1e-6, ordered=True)
    assert listed.items == ["movie 0", "movie 1", "movie 2"]


def test_no_k_lets_the_gaps_decide():
    cliff = {f"x{i}": 900 + i for i in range(5)} | {f"y{i}": 2 for i in range(50)}
    words: list[dict[str, Any]] = [{}, {"public": True}]
    for more in words:
        release = sl.top_k(cliff, None, epsilon=1.0, delta=1e-6, monotone=True, **more)
        assert release.items == [f"x{i}" for i in range(5)]
        assert release.k == 5
        assert "the data choose k" in release.why


def test_methods_by_name(scores):
    for method in (name for name, method in METHODS.items() if method.domain == "unknown" and name != "keys"):
        release = sl.top_k(scores, k=5, epsilon=2.0, delta=1e-6, method=method)
        assert len(present(release.items)) == 5
        assert release.why == "named by the caller"
        assert not release.ordered
    assert sl.top_k(scores, k=5, epsilon=2.0, delta=1e-6, method="limited-domain", ordered=True).ordered
    assert automatic(5, BUDGET, False, None, "stable")[0] == StableTopK(k=5, budget=BUDGET, fill=True)
    assert automatic(5, BUDGET, False, 77, "canonical-limited-domain")[0].limit == 77


def test_a_public_list_with_a_delta_goes_on_as_before():
    release = sl.top_k([900, 20, 500], k=2, epsilon=1.0, delta=1e-6, monotone=True)
    assert release.mechanism == "guarded top-2"
    assert release.guarantee == ApproxDP(1.0, 1e-6)
    assert release.indices == [0, 2]


def test_without_a_delta_both_ways_out_are_said(scores):
    for budget in (PureDP(1.0), ZCDP(0.1)):
        with pytest.raises(ValueError, match=r"delta=1e-6.*candidates="):
            sl.top_k(scores, k=3, budget=budget)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"k": None, "epsilon": 1.0, "delta": 1e-6, "values": True}, "values"),
        ({"k": 3, "epsilon": 1.0, "delta": 1e-6, "gaps": True}, "gaps"),
        ({"k": None, "epsilon": 1.0, "delta": 1e-6, "ordered": True}, "k=None"),
        ({"k": None, "epsilon": 1.0, "delta": 1e-6, "method": "limited-domain"}, "stable"),
        ({"k": None, "epsilon": 1.0}, "needs a delta"),
        ({"k": 3, "epsilon": 1.0, "delta": 1e-6, "method": "stable", "ordered": True}, "limited-domain"),
        ({"k": 3, "epsilon": 1.0, "limit": 10}, "limit is for"),
        ({"k": 3, "epsilon": 1.0, "delta": 1e-6, "limit": 2}, "limit"),
        ({"k": 3, "epsilon": 1.0, "delta": 2.0}, "delta"),
        ({"k": 3, "epsilon": 1.0, "method": "limited-domain"}, "delta"),
        ({"k": 3, "epsilon": 1.0, "delta": 1e-6, "method": "best"}, "canonical-limited-domain"),
    ],
)
def test_what_does_not_fit_is_refused_before_data_is_looked_at(scores, arguments, match):
    with pytest.raises(ValueError, match=match):
        sl.top_k(scores, **arguments)


def test_a_large_delta_is_warned_of_and_a_small_one_is_not(scores):
    with pytest.warns(UserWarning, match="delta=0.01"):
        sl.top_k(scores, k=3, epsilon=1.0, delta=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sl.top_k(scores, k=3, epsilon=1.0, delta=1e-6)


def test_the_choice_does_not_look_at_the_data():
    """The same mechanism for nobody, for one user, and for many."""
    said = {sl.top_k(Scores(h, monotone=True), k=7, epsilon=1.0, delta=1e-6).why for h in ({}, {"a": 1}, COUNTS)}
    assert len(said) == 1


def test_a_ledger_books_the_finer_charge(tmp_path, scores):
    with Ledger(tmp_path / "budget.db", budget=ApproxDP(3.0, 1e-5)) as ledger:
        sl.top_k(scores, k=10, epsilon=1.0, delta=1e-6, ledger=ledger, method="canonical-limited-domain")
        assert ledger.spent.epsilon == 1.0
        assert ledger.spent.rho == 0.12330156148224454
        assert ledger.spent.delta == 1e-6


@pytest.mark.parametrize(
    "call", [sl.select, lambda counts, **words: sl.top_k(counts, 1, **words)], ids=["select", "top_k"]
)
def test_a_large_delta_is_warned_of_where_the_package_was_called(call):
    """A place inside would be the same for all callers, and Python shows a warning once for each place."""
    with pytest.warns(UserWarning, match="delta=0.01") as caught:
        call({"ada": 30, "bob": 2}, epsilon=1.0, delta=0.01, monotone=True)
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize("k", [1, 2, 4, None])
@pytest.mark.parametrize("epsilon", [1e-308, 1e-320])
def test_with_a_bar_beyond_all_floats_nothing_is_named(k, epsilon):
    release = sl.top_k({"ada": 30, "bob": 2}, k, epsilon=epsilon, delta=1e-6, monotone=True, rng=sl.testing.seeded(1))
    assert not release
    assert release.guarantee == ApproxDP(epsilon, 1e-6)


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("ordered", [False, True])
def test_a_budget_that_cannot_be_shared_is_refused_in_words(k, ordered):
    with pytest.raises(ValueError, match="too small to be shared"):
        sl.top_k(COUNTS, k, epsilon=5e-324, delta=1e-6, monotone=True, public=False, ordered=ordered)
