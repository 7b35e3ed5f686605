"""The lead of a given winner: its law, its price alone and with the winner, refusals (Theorem 258)."""

import dataclasses
import math
import pickle
from functools import partial

import numpy as np
import pytest
from scipy.stats import kstest

import shortlist as sl
from shortlist import PureDP, Scores
from shortlist.audit import alike, certify, neighbours, prove
from shortlist.mechanisms import ExponentialWithGap, NoisyMax
from shortlist.testing import seeded
from tests.helpers.typed import present


@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("winner", [0, 2])
def test_the_lead_of_a_given_winner_keeps_epsilon_on_a_box(winner, monotone):
    mechanism = ExponentialWithGap(epsilon=1.0, winner=winner)

    def law(x):
        return certify(mechanism, Scores(list(x), monotone=monotone))

    pairs = list(neighbours(3, 2, monotone=monotone, everywhere=True))
    same = partial(alike, exchangeable=False, shift_invariant=True)
    proof = prove(law, pairs, PureDP(1.0), alike=same)
    assert proof.holds
    assert proof.log_ratio > 0.6
    assert not prove(law, pairs, PureDP(0.55), alike=same).holds
    far = [((30, 0, 0), (29, 1, 1)) if not monotone else ((30, 0, 0), (31, 0, 0))]
    if winner == 0:
        assert prove(law, far, PureDP(1.0)).log_ratio > 0.99  # where the winner is sure, all of it is used


def survival(x, s, scale, y):
    w = sum(math.exp((x[j] - x[s]) / scale) for j in range(len(x)) if j != s)
    return (1 + w) / (1 + w * np.exp(y / scale))


@pytest.mark.traced(False)
@pytest.mark.parametrize("s", [0, 1, 3])
def test_the_lead_has_the_law_of_the_gap_given_the_winner(s):
    x = [1.5, 1.0, 0.0, -2.0, -np.inf]
    mechanism = ExponentialWithGap(epsilon=2.0, winner=s)
    gaps = present(mechanism.release_many(x, sensitivity=0.5, draws=3000, rng=seeded(s)).reals)[:, 0]
    assert gaps.min() > 0
    assert kstest(gaps, lambda y: 1 - survival(x[:4], s, 0.5, y)).pvalue > 1e-6
    assert kstest(gaps, lambda y: 1 - survival(x[:4], s, 0.6, y)).pvalue < 1e-6


@pytest.mark.traced(False)
def test_a_winner_drawn_before_and_its_lead_have_the_law_of_both():
    """Winners by the plain mechanism, then their leads, against winners with gaps in one race."""
    x, source = [1.5, 1.0, 0.0], seeded(7)
    plain, whole = NoisyMax(epsilon=1.0, noise="gumbel"), ExponentialWithGap(epsilon=1.0)
    winners = plain.release_many(x, draws=3000, rng=source, monotone=True)
    both = whole.release_many(x, draws=12_000, rng=source, monotone=True)
    for s in range(3):
        count = int(np.count_nonzero(winners == s))
        given = ExponentialWithGap(epsilon=1.0, winner=s)
        leads = present(given.release_many(x, draws=count, rng=source, monotone=True).reals)[:, 0]
        raced = present(both.reals)[both.indices[:, 0] == s, 0]
        points = np.quantile(raced, [0.1, 0.3, 0.5, 0.7, 0.9])
        for point, share in zip(points, (0.1, 0.3, 0.5, 0.7, 0.9), strict=True):
            off = 5 * math.sqrt(share * (1 - share) / count) + 0.01
            assert (leads <= point).mean() == pytest.approx(share, abs=off)


def test_a_release_says_what_it_is_and_what_it_pays_for():
    scores = Scores({"ada": 900, "bob": 20, "cy": 500}, monotone=True, public=True)
    mechanism = ExponentialWithGap(epsilon=1.0, winner="ada")
    release = mechanism.release(scores, rng=seeded(1))
    assert release.item == "ada"
    assert release.gap == pytest.approx(400, abs=40)
    assert release.p_value is not None
    assert release.p_value < 1e-6
    assert "pays for its draw too" in " ".join(release.notes)
    assert release.guarantee == PureDP(1.0)
    assert sl.Release.from_json(release.to_json()) == release
    assert mechanism == pickle.loads(pickle.dumps(mechanism))
    assert "winner" not in repr(ExponentialWithGap(epsilon=1.0))
    assert dataclasses.replace(mechanism, winner=None) == ExponentialWithGap(epsilon=1.0)
    worst = ExponentialWithGap(epsilon=1.0, winner="bob").release(scores, rng=seeded(1))
    assert 0 < worst.gap < 40
    least = ExponentialWithGap(epsilon=1.0, winner="bob").release(scores, largest=False, rng=seeded(1))
    assert least.gap == pytest.approx(480, abs=40)


def test_who_cannot_have_won_is_refused(tmp_path):
    ledger = sl.Ledger(tmp_path / "l.db", budget=PureDP(5.0))
    for winner, match in ((7, "one of the candidates"), ("ada", "one of the"), (True, "one of the"), (2, "-inf")):
        with pytest.raises(ValueError, match=match):
            ExponentialWithGap(epsilon=1.0, winner=winner).release([3.0, 1.0, -np.inf], ledger=ledger)
    rows, films = sl.example("films")
    table = sl.count(rows, user="user_id", item="film", candidates=films)
    with pytest.raises(ValueError, match="an order that must be public"):
        ExponentialWithGap(epsilon=1.0, winner=films[0]).release(table, ledger=ledger)
    assert ledger.spent.epsilon == 0
