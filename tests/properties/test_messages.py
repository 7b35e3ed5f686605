"""Secret numbers and labels are planted, and everything that goes wrong is read for them."""

import itertools
import warnings
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

import shortlist as sl
from shortlist import ZCDP, ApproxDP, Ledger, PureDP, Scores
from shortlist.mechanisms import (
    CanonicalLimitedDomain,
    CanonicalTopK,
    GumbelTopKValues,
    HybridTopK,
    LargeGap,
    LimitedDomainTopK,
    NoisyMax,
    OneshotTopK,
    SparseVector,
    StableTopK,
    TopKWithGaps,
)
from shortlist.mechanisms.registry import METHODS
from tests.helpers.support import LETTERS, full_size, sized

KNOWN = [name for name, method in METHODS.items() if method.domain == "known"]

FEW = settings(max_examples=sized(20, full=200))
numbers = st.lists(st.integers(7_310_000, 7_319_999), min_size=2, max_size=6, unique=True)
wrong = st.one_of(
    st.none(), st.integers(-5, 5), st.floats(), st.text(LETTERS, max_size=3), st.booleans(), st.just([]), st.just(())
)


def label(number):
    return f"secret-{number * 7}"


def told(error):
    """All that a traceback would print."""
    seen = []
    while error is not None:
        seen += [str(error), repr(error), *getattr(error, "__notes__", [])]
        error = error.__cause__ or error.__context__
    return " ".join(seen)


def assert_silent(text, values):
    for value in values:
        for form in (str(value), f"{value:,}", str(float(value)), repr(float(value) / 3)[:9], label(value)):
            assert form not in text


def attempt(values, act):
    """Run it; whatever it raises or warns is silent about the values."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            act()
        except Exception as error:
            assert_silent(told(error), values)
    assert_silent(" ".join(str(one.message) for one in caught), values)


@full_size
@FEW
@given(
    numbers,
    st.sampled_from(["k", "epsilon", "method", "ordered", "sensitivity", "monotone", "neighbours", "public"]),
    wrong,
)
def test_wrong_arguments_of_top_k_do_not_tell_the_scores(values, name, bad):
    arguments = {"k": 2, "epsilon": 1.0, "method": "auto"} | {name: bad}
    for scores in (values, [float(v) for v in values], {label(v): v for v in values}):
        attempt(values, lambda s=scores: sl.top_k(s, **arguments))


@full_size
@FEW
@given(numbers, st.sampled_from(["labels", "sensitivity", "monotone", "neighbours", "public", "unit"]), wrong)
def test_wrong_questions_do_not_tell_the_scores(values, name, bad):
    attempt(values, lambda: Scores(values, **{name: bad}))
    attempt(values, lambda: Scores([*values, bad]))
    attempt(values, lambda: Scores([values, [bad]]))
    attempt(values, lambda: Scores({**{label(v): v for v in values}, "x": bad}))
    attempt(values, lambda: Scores(values, labels=[label(v) for v in values[:-1]]))
    attempt(values, lambda: Scores([1] * len(values), labels=[label(values[0])] * len(values)))


@full_size
@FEW
@given(numbers)
def test_no_repr_shows_a_score_or_a_label(values):
    scores = Scores({label(v): v for v in values}, monotone=True)
    assert_silent(f"{scores!r} {scores}", values)
    assert str(len(values)) not in repr(scores)  # how many labels there are is private too
    for mechanism in (LimitedDomainTopK(k=1, epsilon=1.0, delta=1e-6), StableTopK(epsilon=1.0, delta=1e-6)):
        release = mechanism.release(scores)
        named = set(release.items or [])
        hidden = [v for v in values if label(v) not in named]
        assert_silent(f"{release!r} {release} {release._repr_html_()} {release.notes} {release.why}", hidden)


MECHANISMS = [
    NoisyMax(epsilon=1.0),
    OneshotTopK(k=9, epsilon=1.0),
    CanonicalTopK(k=9, epsilon=1.0),
    TopKWithGaps(k=9, epsilon=1.0),
    GumbelTopKValues(k=9, budget=ApproxDP(1.0, 1e-6)),
    SparseVector(threshold=1, k=2, epsilon=1.0, noise="geometric"),
    HybridTopK(threshold=1, k=2, epsilon=1.0),
    LargeGap(epsilon=1.0, limit=50),
    StableTopK(k=9, epsilon=1.0, delta=1e-6),
    LimitedDomainTopK(k=9, epsilon=1.0, delta=1e-6),
    CanonicalLimitedDomain(k=9, epsilon=1.0, delta=1e-6),
]


@full_size
@FEW
@given(numbers, st.sampled_from(MECHANISMS), st.booleans(), st.booleans())
def test_mechanisms_that_refuse_do_not_tell_why_in_numbers(values, mechanism, public, from_table):
    forms = [
        Scores({label(v): v for v in values}, public=public),
        Scores({label(v): float(v) for v in values}, public=public),
        Scores({label(v): -v for v in values}, public=public, monotone=True),
    ]
    for scores in forms:
        asked = scores._as_counted() if from_table else scores
        attempt(values, lambda s=asked: mechanism.release(s, rng=7))
        attempt(values, lambda s=asked: mechanism.release(s, sensitivity=2))
        for study in ("probabilities", "success_probability", "quality", "inclusion_probabilities", "release_many"):
            act = getattr(mechanism, study, None)
            if act is not None:
                attempt(values, lambda s=asked, a=act: a(s))


@full_size
@FEW
@given(numbers, st.sampled_from(sorted(KNOWN)))
def test_a_budget_that_is_exceeded_tells_of_the_budget_alone(values, method):
    for budget, asked in ((PureDP(0.1), PureDP(1.0)), (ZCDP(0.001), ZCDP(0.5))):
        with TemporaryDirectory() as folder, Ledger(f"{folder}/budget.db", budget=budget) as ledger:
            attempt(values, lambda: sl.top_k(values, 1, budget=asked, method=method, ledger=ledger))  # noqa: B023


@full_size
@FEW
@given(numbers, wrong)
def test_streams_that_refuse_do_not_tell_the_answers(values, bad):
    sv = SparseVector(threshold=0, k=1, epsilon=1.0)
    attempt(values, lambda: list(itertools.islice(sv.stream([-float(v) for v in values] + [bad]), 20)))


@full_size
@FEW
@given(numbers)
def test_an_audit_that_fails_does_not_tell_its_inputs(values):
    def fails(scores):
        raise ValueError("no")

    attempt(values, lambda: sl.audit(fails, claim=PureDP(1.0), trials=1000, pairs=[(tuple(values), tuple(values))]))
