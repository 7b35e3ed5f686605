"""Exact laws of the answers, against certified transcripts and against runs."""

import numpy as np
import pytest
from flint import ctx

import shortlist as sl
from shortlist.audit.certified import threshold
from shortlist.mechanisms import SparseVector
from tests.helpers.support import assert_law
from tests.helpers.typed import present

KINDS = [
    {},
    {"noise": "laplace"},
    {"noise": "geometric"},
    {"adaptive": True},
    {"adaptive": True, "noise": "geometric", "monotone": True},
    {"branches": (4, 2), "deviations": 1.0, "noise": "laplace"},
    {"theta": 0.02},
    {"theta": 0.98},
]
X = [5, 2, 3, 9]


def is_right(answers):
    return all(one != "below" if x > 3 else x == 3 or one == "below" for one, x in zip(answers, X, strict=False))


@pytest.mark.parametrize("words", KINDS, ids=str)
def test_sequences_have_their_certified_chances(words):
    mechanism = SparseVector(threshold=3, k=2, epsilon=2.0, **words)
    x, rules = X[: 2 if mechanism.branches else 4], mechanism.rules
    found = mechanism.probabilities(x)
    with ctx.workprec(300):
        expected = {
            one: float(threshold.transcript(rules, x, one).mid()) for one, _ in threshold.patterns(rules, len(x))
        }
    assert found.keys() == expected.keys()
    for answers, chance in expected.items():
        assert found[answers] == pytest.approx(chance, abs=1e-9)
    right = sum(chance for answers, chance in expected.items() if is_right(answers))
    assert mechanism.success_probability(x) == pytest.approx(right, abs=1e-9)
    other = SparseVector(threshold=3, k=2, epsilon=2.001, **words)
    assert abs(other.success_probability(x) - right) > 1e-6


def test_runs_have_this_law():
    mechanism, draws = SparseVector(threshold=3, k=2, epsilon=2.0, adaptive=True), 6000
    law = mechanism.probabilities(X)
    drawn = mechanism.release_many(X, draws=draws, rng=sl.testing.seeded(4))
    names, counts = ["top", "middle"], dict.fromkeys(law, 0)
    for places, tests in zip(drawn.indices.tolist(), present(drawn.chosen).tolist(), strict=True):
        answers, spent = ["below"] * 4, 0
        for place, test in zip(places, tests, strict=True):
            if place >= 0:
                answers[place], spent, last = names[test], spent + 1 + test, place
        counts[tuple(answers[: last + 1] if spent >= 3 else answers)] += 1
    chances = np.array(list(law.values()))
    likely = chances > 0.01
    seen = np.array(list(counts.values()))
    merged = np.append(seen[likely], seen[~likely].sum()), np.append(chances[likely], chances[~likely].sum())
    assert_law(*merged, wrong=np.sqrt(merged[1]) / np.sqrt(merged[1]).sum())


def test_long_runs_and_what_is_never_asked():
    questions = np.tile([0, 2000], 60)
    for words in ({}, {"adaptive": True}, {"noise": "geometric"}):
        sure = SparseVector(threshold=1000, k=5, epsilon=2.0, monotone=True, **words)
        assert sure.success_probability(questions) == pytest.approx(1, abs=1e-6)
    never = SparseVector(threshold=5, k=1, epsilon=1.0)
    found = never.probabilities([-np.inf, 10.0])
    assert found["middle",] == 0
    assert found["below", "middle"] == pytest.approx(never.probabilities([10.0])["middle",], abs=1e-12)


def test_too_many_sequences_and_private_answers_are_refused():
    mechanism = SparseVector(threshold=3, k=20, epsilon=1.0, monotone=True)
    with pytest.raises(ValueError, match=r"more than 100,000 sequences of answers: ask fewer"):
        mechanism.probabilities(list(range(18)))
    private = sl.Scores([5, 3], monotone=True)._as_counted()
    for law in (mechanism.probabilities, mechanism.success_probability):
        with pytest.raises(ValueError, match="would show people's data"):
            law(private)
