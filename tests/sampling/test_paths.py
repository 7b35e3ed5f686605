"""A few draws on every path: what is drawn here is possible; that its law is right, thousands of draws tell elsewhere.

Here coverage looks, which would make those thousands slow.
"""

from dataclasses import replace

import numpy as np
import pytest

from shortlist.sampling import skipping
from shortlist.sampling import subsets as envelopes
from shortlist.sampling import subsets as groups
from shortlist.sampling import subsets as thinning
from shortlist.sampling import thresholds as barrier
from tests.helpers.inside import EXPONENTIAL, GUMBEL, KINDS, Seeded, word
from tests.mechanisms.canonical.test_sampler import ANY, CASES, drawn_in_groups, leave_out, many, race_of
from tests.mechanisms.sparse_vector.by_formula import patterns
from tests.sampling.test_noisy_threshold import KINDS as TESTED
from tests.sampling.test_noisy_threshold import VALUES, in_batch, rules_of
from tests.sampling.test_race import coarse

FEW = 40


def assert_sets(rows, case):
    """k different candidates in each row, and none that can never be chosen."""
    found, (scores, k, *_) = np.sort(np.array(rows), axis=1), case
    assert found.shape == (FEW, k)
    assert (np.diff(found, axis=1) > 0).all()
    assert (np.array(scores)[found] > -1e300).all()


@pytest.mark.parametrize("noise", [GUMBEL, EXPONENTIAL], ids=["gumbel", "exponential"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_subsets(case, noise):
    assert_sets(many(race_of(case, noise), Seeded(1), FEW), case)


@pytest.mark.parametrize("noise", [GUMBEL, EXPONENTIAL], ids=["gumbel", "exponential"])
@pytest.mark.parametrize("below", [0.6, 0.0])
def test_subsets_through_the_residual(noise, below, monkeypatch):
    leave_out(monkeypatch, below=below)
    for case in (CASES[0], CASES[1], CASES[3]):
        assert_sets(many(race_of(case, noise), Seeded(2), FEW), case)


@pytest.mark.parametrize("noise", [GUMBEL, EXPONENTIAL], ids=["gumbel", "exponential"])
def test_subsets_that_balls_decide(noise, monkeypatch):
    for module in (envelopes, thinning):
        monkeypatch.setattr(module, "ERROR", 0.4)
    monkeypatch.setattr(envelopes, "ULPS", 1.0)
    for case in CASES[:4]:
        assert_sets(many(race_of(case, noise, width=9.0), Seeded(3), FEW), case)


@pytest.mark.parametrize("noise", ANY, ids=[noise.name for noise in ANY])
def test_subsets_by_group_maxima(noise, monkeypatch):
    def unsure(words, level):
        q, error = noise.quantile(words, level)
        return q, error + 0.8

    for case in (CASES[0], CASES[1], CASES[8]):
        assert_sets(drawn_in_groups(case, noise, FEW), case)
    monkeypatch.setattr(groups, "BLOCK", 4)
    assert_sets(drawn_in_groups(CASES[0], replace(noise, quantile=unsure), FEW), CASES[0])
    assert_sets(many(race_of(CASES[3], KINDS["logistic"]), Seeded(4), FEW), CASES[3])


@pytest.mark.parametrize(("noise", "adaptive"), TESTED)
def test_questions_among_hopeless_ones(noise, adaptive, monkeypatch):
    for name, value in (("BLOCK", 32), ("FIRST_CHUNK", 64), ("GROWTH", 2)):
        monkeypatch.setattr(barrier, name, value)
    where, values = [0, 70, 71, 300], np.full(301, -200)
    values[where] = VALUES
    rules, source = rules_of(noise, adaptive), Seeded(5)
    possible = {pattern for pattern, _ in patterns(rules, len(VALUES))}
    for force in (None, coarse):
        drawn = {in_batch(rules_of(noise, adaptive, force), values, source, where) for _ in range(FEW)}
        assert drawn <= possible


def test_successes_that_floats_cannot_decide(monkeypatch):
    monkeypatch.setattr(skipping, "failure_error", lambda v, ratio, level: np.full_like(ratio, np.inf))
    source = Seeded(8)
    for _ in range(FEW):
        assert (np.diff(skipping.successes(12, 2, word(source), source), prepend=-1, append=12) > 0).all()


def test_successes_where_the_words_drawn_at_once_do_not_suffice(monkeypatch):
    monkeypatch.setattr(skipping, "enough_words", lambda trials, level: 1)
    source = Seeded(6)
    for trials, level in ((7, 1), (12, 2), (40, 4)):
        for _ in range(FEW):
            found = skipping.successes(trials, level, word(source), source)
            assert (np.diff(found, prepend=-1, append=trials) > 0).all()
