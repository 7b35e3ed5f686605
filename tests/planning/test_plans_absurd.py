"""Whatever a plan is asked, it answers or refuses in words."""

import math
import warnings

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import shortlist as sl
from tests.helpers.support import full_size, sized

ASKED = {"k": 2, "items": 6, "users": 1000, "shape": "zipf:1.1", "budget": "pure", "domain": "known"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        *(
            ({"delta": delta}, "delta must be")
            for delta in (5e-324, 1e-310, 1e-300, 1e-101, 0.5, 1 - 2**-53, 1.0, -1.0)
        ),
        *(({"delta": delta}, "delta must be") for delta in (math.nan, math.inf, "1e-6", None, 10**400)),
        *(({"epsilon": epsilon}, "epsilon must be") for epsilon in (5e-324, 1e-300, 1e-10, 1e7, 1e300, math.inf, 0.0)),
        *(({"epsilon": epsilon}, "epsilon must be") for epsilon in (math.nan, -1.0, 10**400, True, "1")),
        *(({"target": target}, "target must be") for target in (0.0, 1.0, -0.5, math.nan, math.inf, 10**400, "0.9")),
        *(({"users": users}, "users must be") for users in (0, -1, 2**53 + 1, 10**400, 1.5, True)),
        *(({"items": items}, "items must be") for items in (0, 2**60, 10**400)),
        *(({"k": k}, "k") for k in (0, 6, 2**60, 10**400, 1.5)),
        *(
            ({"shape": shape}, "shape")
            for shape in ("zipf:inf", "zipf:nan", "zipf:-1", "geometric:1", "flat:1e300", "")
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_absurd_is_refused_by_name(changes, said):
    for more in ({}, {"budget": ("zcdp", "approx"), "domain": "unknown"}):
        with pytest.raises((ValueError, TypeError), match=said):
            sl.plan(**{**ASKED, **more, **changes})


def check(**asked):
    """An answer whose numbers are chances and costs, or a refusal in words; no warning from below."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            found = sl.plan(**{**ASKED, **asked})
        except (ValueError, TypeError):  # ours: anything else is no answer
            return
    assert all(0 <= row.reached <= 1 and row.epsilon >= 0 for row in found.rows)
    assert str(found)
    assert found.to_json()["rows"]


shapes = st.sampled_from(
    ["zipf:0", "zipf:1.1", "zipf:1e308", "zipf:5e-324", "geometric:5e-324", "geometric:0.9", "flat:0", "flat:1"]
)


asked = {
    "k": st.integers(1, 5),
    "users": st.one_of(st.integers(1, 20), st.integers(1, 2**53)),
    "shape": shapes,
    "epsilon": st.floats(1e-9, 1e6),
    "delta": st.floats(1e-100, 0.5, exclude_max=True),
    "budget": st.sampled_from(["pure", "zcdp", "approx"]),
    "goal": st.sampled_from(["top", "great", "good", "recall"]),
    "ordered": st.booleans(),
}


@settings(max_examples=6, deadline=None, derandomize=True)
@example({"k": 5, "users": 6, "shape": "zipf:1e308", "epsilon": 4.4, "delta": 0.25, "budget": "pure", "goal": "recall"})
@given(st.fixed_dictionaries(asked))
def test_any_plan_on_public_names_answers_or_refuses_in_words(facts):
    check(**facts)


@pytest.mark.long
@settings(max_examples=400, deadline=None)
@given(st.fixed_dictionaries({**asked, "domain": st.sampled_from(["known", "unknown"])}))
def test_any_plan_answers_or_refuses_in_words(facts):
    check(**facts)


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-9, 1e-100), (1e6, 1e-100), (1e6, 0.4999)])
def test_the_farthest_budgets_answer_for_names_from_the_data_too(epsilon, delta):
    check(epsilon=epsilon, delta=delta, budget=("zcdp", "approx"), domain="unknown")


@full_size
@pytest.mark.parametrize("target", [1e-6, 1 - 2**-53])
@pytest.mark.parametrize("users", [3, 2**53])
def test_the_farthest_targets_are_answered(target, users):
    """In the suite under one budget, so that each end of either meets both."""
    one = "pure" if (target < 0.5) == (users < 5) else "zcdp"
    check(target=target, users=users, budget=sized(one, full=("pure", "zcdp")))


def test_where_no_item_is_wrong_nothing_is_needed_and_nothing_sought(monkeypatch):
    """A tie from the k-th on: every k of a public list have the whole recall, not those of names above a bar."""
    monkeypatch.setattr("shortlist.planning.plans.least_epsilon_reaching", None)
    plan = sl.plan(k=3, goal="recall", scores=[9, 4, 0, 0, 0, 0], monotone=True, domain="known")
    assert {row.epsilon for row in plan.rows} == {0.0}
    monkeypatch.undo()
    unknown = sl.plan(k=3, goal="recall", scores=[9, 4, 0, 0, 0, 0], monotone=True, domain="unknown", target=0.3)
    assert min(row.epsilon for row in unknown.rows) > 0
    assert min(row.epsilon for row in sl.plan(k=3, scores=[9, 4, 0, 0, 0, 0], monotone=True, budget="pure").rows) > 0
