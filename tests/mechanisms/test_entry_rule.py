"""The public rule: for all that is public of a question, it names one method that takes it."""

from itertools import product
from typing import Any

import pytest

import shortlist as sl
from shortlist import ZCDP, ApproxDP, PureDP
from shortlist.execute import choose_mechanism, choose_method
from shortlist.mechanisms.base import Request
from shortlist.mechanisms.registry import METHODS

BUDGETS: tuple[PureDP | ApproxDP | ZCDP, ...] = (
    PureDP(1.0),
    ZCDP(0.1),
    ZCDP(0.1, 1e-6),
    ApproxDP(1.0, 1e-6),
    ApproxDP(1.0, 0.0),
    ApproxDP(1.0, 0.6),
)
FLAGS = (False, True)
NUMBERS = (None, 1, 2, 3, 4, 50, 5000)
COUNTED = (
    *((public, limit, None, False) for public in FLAGS for limit in (None, 6000)),
    *((False, limit, most, True) for limit in (None, 6000) for most in (None, 2, 7)),
)
"""A public list, a limit, a cap, and whether rows were counted without a list."""


def fits(request):
    """What `choose_mechanism` lets through to the rule."""
    if request.has_public_list:
        return request.k is not None and request.limit is None
    return not (request.gaps or (request.k is None and (request.ordered or request.values)))


GRID = [
    request
    for k, budget, ordered, values, gaps, (public, limit, most, weighed) in product(
        NUMBERS, BUDGETS, FLAGS, FLAGS, FLAGS, COUNTED
    )
    if fits(request := Request(k, budget, ordered, values, gaps, public, limit, most, weighed))
]


def test_the_rule_names_a_method_that_fits_every_question():
    taken = set()
    for request in GRID:
        name, why = choose_method(request)
        assert METHODS[name].domain in ("either", "known" if request.has_public_list else "unknown")
        assert why
        taken.add(name)
    assert taken == set(METHODS) - {
        "peeling", "oneshot-laplace", "oneshot-logistic", "oneshot-half-logistic", "joint", "canonical", "histogram",
        "gumbel-values", "ordered-canonical", "canonical-limited-domain",
        "all-or-nothing",
    }  # fmt: skip


def test_a_list_is_guarded_by_the_number_of_items_and_the_budget_alone():
    def name(k, budget, **words):
        return choose_method(Request(k, budget, ordered=True, **words))[0]

    assert {k: name(k, PureDP(1.0)) for k in (2, 7, 8, 100, 101, 5000)} == {
        2: "oneshot-exponential", 7: "oneshot-exponential", 8: "guarded-list", 100: "guarded-list",
        101: "oneshot-exponential", 5000: "oneshot-exponential",
    }  # fmt: skip
    assert {k: name(k, ZCDP(0.1)) for k in (2, 19, 20, 100, 101)} == {
        2: "oneshot-gumbel", 19: "oneshot-gumbel", 20: "guarded-list", 100: "guarded-list", 101: "oneshot-gumbel",
    }  # fmt: skip
    assert name(500, ApproxDP(1.0, 1e-6)) == "oneshot-gumbel"
    assert name(50, ApproxDP(1.0, 1e-6)) == "guarded-list"
    assert name(50, PureDP(1.0), values=True) != "guarded-list"


def test_what_does_not_fit_is_refused_in_words_and_not_by_the_rule():
    every = product(NUMBERS, BUDGETS, FLAGS, FLAGS, FLAGS, FLAGS, (None, 6000))
    for k, budget, ordered, values, gaps, public, limit in every:
        if not fits(Request(k, budget, ordered, values, gaps, public, limit)):
            with pytest.raises(ValueError, match=r"k=None|values need|gaps need|limit"):
                choose_mechanism(Request(k, budget, ordered, values, gaps, public, limit))


def test_a_named_method_is_built_as_the_rule_would_build_it():
    for k, ordered in ((1, True), (4, False), (4, True)):
        request = Request(k, PureDP(1.0), ordered)
        chosen, why, *_ = choose_mechanism(request)
        named, reason, *_ = choose_mechanism(request, choose_method(request)[0])
        assert chosen == named
        assert why
        assert reason == ""


def test_the_rule_says_who_can_give_what_is_missing():
    for what, able in (("values", '"gumbel-values" or "histogram" or "gaps" or "measured-set"'), ("gaps", '"gaps"')):
        words: dict[str, Any] = {what: True}
        with pytest.raises(ValueError, match=f"releases no {what}.* or {able}"):
            choose_mechanism(Request(2, PureDP(1.0), **words), "joint")


@pytest.mark.parametrize("limit", [[7], 0, -3, 1.5, "7", True])
@pytest.mark.parametrize("method", ["auto", "stable", "joint"])
def test_a_limit_that_is_no_number_of_rows_is_refused_by_its_name(limit, method):
    with pytest.raises(ValueError, match="limit must be a whole number"):
        sl.top_k({"a": 3, "b": 1}, 2, epsilon=1.0, delta=1e-6, limit=limit, method=method)
