"""A mechanism keeps one budget: `epsilon=` and `delta=` are other ways to write it."""

import copy
import dataclasses
import pickle
from fractions import Fraction
from inspect import signature
from typing import Any

import numpy as np
import pytest

import shortlist as sl
from shortlist import mechanisms
from shortlist.mechanisms import (
    CanonicalLimitedDomain,
    CanonicalTopK,
    GuardedListTopK,
    GumbelTopKValues,
    HybridSparseVector,
    HybridTopK,
    LargeGap,
    OneshotTopK,
    OrderedCanonicalTopK,
    SparseVector,
    StableTopK,
)
from shortlist.pate import PATE
from shortlist.privacy import ZCDP, ApproxDP, PureDP
from tests.helpers.releases import EXAMPLES

COUNTS = sl.Scores([900, 870, 500, 450, 20, 7], monotone=True)

MADE = [*dict.fromkeys(EXAMPLES.values())]
"""Of every kind in every form of the registry, for an epsilon of 1."""

forms = pytest.mark.parametrize("made", MADE, ids=lambda made: f"{type(made).__name__}, {made.name}")


def words_of(made):
    """How a mechanism is made, its budget left out."""
    return {one.name: getattr(made, one.name) for one in dataclasses.fields(made) if one.init and one.name != "budget"}


@forms
def test_the_budget_is_one_field_and_the_guarantee(made):
    names = [one.name for one in dataclasses.fields(made)]
    assert "budget" in names
    assert not {"epsilon", "delta"} & {*names}
    assert made.guarantee is made.budget
    assert made.epsilon == 1.0


@forms
def test_a_mechanism_evaluates_copies_and_pickles_back(made):
    names = {name: getattr(mechanisms, name) for name in mechanisms.__all__}
    again = eval(repr(made), names | {"PureDP": PureDP, "ApproxDP": ApproxDP, "Fraction": Fraction})
    for other in (again, copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert other == made
        assert hash(other) == hash(made)
        assert other.budget == made.budget


PURE = [made for made in MADE if made.budget == PureDP(1.0) and "epsilon" in signature(type(made)).parameters]


@pytest.mark.parametrize("made", PURE, ids=lambda made: type(made).__name__)
def test_epsilon_is_short_for_a_pure_budget(made):
    kind, words = type(made), words_of(made)
    made = kind(**words, epsilon=0.5)
    assert made.budget == PureDP(0.5)
    assert made == kind(**words, budget=PureDP(0.5)) == kind(**words, epsilon=0.5, budget=PureDP(0.5))
    with pytest.raises(TypeError, match="give either epsilon= or budget="):
        kind(**words)
    with pytest.raises(AttributeError, match=r"PureDP\(epsilon=0.5\), which has no delta; read .budget"):
        made.delta  # noqa: B018


WITH_DELTA = [
    made for made in MADE if isinstance(made.budget, ApproxDP) and "delta" in signature(type(made)).parameters
]


@pytest.mark.parametrize("made", WITH_DELTA, ids=lambda made: type(made).__name__)
def test_epsilon_and_delta_are_short_for_an_approximate_budget(made):
    kind, words = type(made), words_of(made)
    made = kind(**words, epsilon=0.5, delta=1e-6)
    assert made.budget == ApproxDP(0.5, 1e-6)
    assert (made.epsilon, made.delta) == (0.5, 1e-6)
    assert made == kind(**words, budget=ApproxDP(0.5, 1e-6))


@forms
def test_replacing_something_else_keeps_the_budget(made):
    assert dataclasses.replace(made) == made
    if getattr(made, "k", None):
        assert dataclasses.replace(made, k=2).budget == made.budget


@pytest.mark.parametrize(
    "made",
    [OneshotTopK(k=2, epsilon=1.0), OneshotTopK(k=2, budget=ApproxDP(1, 1e-6)), OneshotTopK(k=2, budget=ZCDP(0.5)),
     *WITH_DELTA],
    ids=repr,
)  # fmt: skip
def test_replacing_epsilon_alone_never_changes_the_currency(made):
    """It is refused, with the way to write it."""
    with pytest.raises(TypeError, match=r"give either .* dataclasses.replace takes budget="):
        dataclasses.replace(made, epsilon=2.0)
    other = dataclasses.replace(made.budget, **{"rho" if isinstance(made.budget, ZCDP) else "epsilon": 2.0})
    assert dataclasses.replace(made, budget=other).guarantee == other


@pytest.mark.parametrize("name", ["k", "epsilon", "budget", "delta", "limit"])
def test_a_mechanism_cannot_be_changed(name):
    with pytest.raises(dataclasses.FrozenInstanceError, match=f"nor its {name}: dataclasses.replace makes another"):
        setattr(OneshotTopK(k=2, epsilon=1.0), name, 3)


@pytest.mark.parametrize(
    "mechanism",
    [CanonicalTopK(k=2, budget=ApproxDP(1, 1e-6)), StableTopK(k=2, epsilon=1, delta=1e-6),
     CanonicalLimitedDomain(k=2, epsilon=1, delta=1e-6), CanonicalTopK(k=2, budget=ZCDP(0.5)),
     StableTopK(k=2, budget=ZCDP(0.1, 1e-6))],
    ids=repr,
)  # fmt: skip
def test_the_epsilon_for_a_target_is_in_the_currency_of_the_mechanism(mechanism):
    found = sl.epsilon_for(mechanism, COUNTS, target=0.99)
    budget = mechanism.budget

    def reached(size):
        like = ZCDP(size, budget.delta) if isinstance(budget, ZCDP) else ApproxDP(size, budget.delta)
        return dataclasses.replace(mechanism, budget=like).success_probability(COUNTS)

    assert reached(found) >= 0.99 > reached(found * (1 - 2e-6))


@pytest.mark.parametrize(
    "mechanism",
    [
        LargeGap(epsilon=1.0),
        GumbelTopKValues(k=2, budget=ApproxDP(1.0, 1e-6)),
        HybridTopK(threshold=50, k=4, epsilon=1.0),
        SparseVector(threshold=50, k=4, epsilon=1.0, monotone=True),
        StableTopK(epsilon=1.0, delta=1e-6),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_has_a_law_has_an_epsilon_for_it(mechanism):
    counts = sl.Scores([90, 70, 66, 40, 12, 3], monotone=True)
    found, budget = sl.epsilon_for(mechanism, counts, target=0.9), mechanism.budget

    def reached(size):
        return dataclasses.replace(mechanism, budget=dataclasses.replace(budget, epsilon=size)).success_probability(
            counts
        )

    assert reached(found) >= 0.9 > reached(found * (1 - 2e-6))


@pytest.mark.parametrize("mechanism", [PATE(rho=0.5, delta=1e-6, queries=1, classes=2), "joint"])
def test_a_mechanism_whose_success_is_not_known_is_refused_in_words(mechanism):
    with pytest.raises(TypeError, match=r"mechanism must be one like CanonicalTopK.* success probability"):
        sl.epsilon_for(mechanism, COUNTS, target=0.9)


def test_a_mechanism_without_a_budget_is_refused_in_words():
    class Own:
        def success_probability(self, scores):
            return 1.0

    with pytest.raises(TypeError, match="one with a budget and a known success probability"):
        sl.epsilon_for(Own(), COUNTS, target=0.9)


@forms
@pytest.mark.parametrize("slots", [False, True])
def test_a_dataclass_made_of_a_mechanism_is_paid_with_a_budget(made, slots):
    """It could not be made at all: the short forms that it does not have were missing."""
    kind: Any = dataclasses.make_dataclass(
        "Tagged", [("tag", str, "mine")], bases=(type(made),), frozen=True, kw_only=True, slots=slots
    )
    words = words_of(made) | {"budget": made.budget}
    tagged = kind(**words)
    assert tagged.tag == "mine"
    assert (tagged.budget, tagged.guarantee, tagged.charge) == (made.budget, made.guarantee, made.charge)
    assert dataclasses.replace(tagged, tag="yours", budget=made.budget).tag == "yours"
    with pytest.raises(TypeError, match="epsilon"):
        kind(**{**words, "epsilon": 1.0})


@pytest.mark.parametrize("method", ["auto", "canonical", "guarded", "joint", "oneshot-gumbel", "ordered-canonical"])
def test_whether_floats_run_out_in_a_draw_is_nobodys_to_know(method):
    """It depends on the scores, so that an error of it, which a caller may have asked NumPy for, would tell of them."""
    for values in ([2**62, -(2**62), -(2**63), 2**63 - 1, 0, 3], [1e300, -1e300, 5.0, 0.0, 1e-310, -np.inf, 7.0]):
        for k in (2, 3):
            plain = sl.top_k(values, k, epsilon=1.0, method=method, rng=sl.testing.seeded(3))
            with np.errstate(all="raise"):
                assert sl.top_k(values, k, epsilon=1.0, method=method, rng=sl.testing.seeded(3)).items == plain.items


@pytest.mark.parametrize("method", ["joint", "ordered-canonical", "guarded-list"])
def test_scores_whose_differences_are_beyond_all_floats_are_drawn_from(method):
    assert 0 in sl.top_k([1.7e308, 0.5, -1.7e308, 0.25], 2, epsilon=1.0, method=method)


@pytest.mark.parametrize("budget", [PureDP(1.0), ZCDP(0.5), ApproxDP(1.0, 1e-6)], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("kind", [GuardedListTopK, OrderedCanonicalTopK])
def test_scores_that_are_more_nats_apart_than_floats_hold_are_drawn_from(kind, budget):
    """A rate times a loss was infinite: an error that only such scores brought about."""
    for scores in ([1.7e308, 0.5, -1.7e308, 1.7e308, -1.0, 0.0], [2**63 - 1, -(2**63), 0, 1, 2, 3]):
        release = kind(k=2, budget=budget).release(scores, sensitivity=5e-324, rng=sl.testing.seeded(5))
        assert 0 in release.items


def test_noise_too_narrow_for_floats_has_a_margin():
    release = HybridSparseVector(threshold=0.0, k=2, epsilon=1.0).release([3.0, 1.0], sensitivity=5e-324)
    assert [margin.half_width for margin in release.margins or ()] == [np.inf, np.inf]
