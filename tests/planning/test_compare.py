"""compare and epsilon_for: exact, increasing, and only on public scores."""

import math

import matplotlib as mpl
import numpy as np
import pytest

import shortlist as sl
from shortlist import ApproxDP, Scores
from shortlist.mechanisms import GuardedTopK, JointTopK, NoisyMax, OneshotTopK
from shortlist.planning.rows import list_rivals

mpl.use("Agg")
CONTESTANTS = [one.label for one in list_rivals(3, None)]
SCORES = Scores([9.0, 9.0, 3.0, 3.0, 3.0, 2.0], monotone=True)


def test_every_mechanism_has_a_row_at_every_epsilon():
    table = sl.compare(SCORES, k=2, epsilon=[1.0, 0.1, 0.3])
    assert len(table.rows) == 3 * len(CONTESTANTS)
    for name in CONTESTANTS:
        mine = [row for row in table.rows if row.mechanism == name]
        assert [row.epsilon for row in mine] == [0.1, 0.3, 1.0]
        assert sorted(row.top for row in mine) == [row.top for row in mine]
    assert table.columns()["top"][0] == pytest.approx(
        OneshotTopK(k=2, epsilon=0.1, noise="exponential").success_probability(SCORES), abs=1e-9
    )


def test_no_mechanism_is_above_the_limit():
    counts = Scores([90, 85, 70, 62, 61, 30, 12, 3], monotone=True)
    table = sl.compare(counts, k=3, epsilon=[0.05, 0.2, 0.5, 1.0])
    assert len(table.limit) == 4
    limit = dict(table.limit)
    assert all(row.top <= limit[row.epsilon] + 1e-9 for row in table.rows)
    assert not sl.compare([1.5, 0.2], k=1, epsilon=1.0).limit


def test_one_epsilon_is_a_table_too():
    table = sl.compare([5, 4, 1], k=1, epsilon=0.5, monotone=True)
    assert {row.epsilon for row in table.rows} == {0.5}
    assert "mechanism" in str(table)
    assert "<pre" in table._repr_html_()
    assert len(table.to_frame()) == len(CONTESTANTS)


def test_the_picture_has_one_curve_for_each_mechanism():
    ax = sl.compare(SCORES, k=2, epsilon=[0.1, 1.0]).plot()
    assert len(ax.lines) == len(CONTESTANTS)
    counts = sl.compare([9, 5, 1], k=1, epsilon=[0.1, 1.0], monotone=True).plot()
    assert len(counts.lines) == len(CONTESTANTS) + 1
    assert sl.compare(SCORES, k=2, epsilon=0.1).plot(ax=ax) is ax


@pytest.mark.parametrize("mechanism", [OneshotTopK(k=2, epsilon=3.0), JointTopK(k=2, epsilon=1.0)])
@pytest.mark.parametrize("target", [0.2, 0.9, 0.999])
def test_the_epsilon_found_is_enough_and_a_little_less_is_not(mechanism, target):
    import dataclasses

    epsilon = sl.epsilon_for(mechanism, SCORES, target=target)
    assert dataclasses.replace(mechanism, budget=sl.PureDP(epsilon)).success_probability(SCORES) >= target
    assert dataclasses.replace(mechanism, budget=sl.PureDP(epsilon * (1 - 2e-6))).success_probability(SCORES) < target


@pytest.mark.parametrize(("k", "target"), [(3, 0.9), (8, 0.9), (8, 0.01), (54, 0.5)])
def test_the_least_epsilon_with_a_delta_is_the_least(k, target):
    counts = Scores((3000 / np.arange(1, 61) ** 0.7).astype(np.int64), monotone=True)
    found = sl.epsilon_for(GuardedTopK(k=k, budget=ApproxDP(1.0, 1e-6)), counts, target=target)
    at, below = (GuardedTopK(k=k, budget=ApproxDP(found * by, 1e-6)) for by in (1.0, 1 - 1e-5))
    assert at.success_probability(counts) >= target > below.success_probability(counts)


def test_a_delta_that_pays_for_everything_needs_no_epsilon():
    counts = Scores((3000 / np.arange(1, 61) ** 0.7).astype(np.int64), monotone=True)
    assert sl.epsilon_for(GuardedTopK(k=3, budget=ApproxDP(1.0, 0.9)), counts, target=1e-4) < 1e-6


def test_permute_and_flip_on_two_candidates_has_a_closed_form():
    """P[wrong] = e^(-epsilon gap) / 2."""
    assert sl.epsilon_for(NoisyMax(epsilon=1.0), [10, 3], target=0.99, monotone=True) == pytest.approx(
        math.log(50) / 7, rel=1e-6
    )


def test_a_target_that_is_always_met_or_never_met():
    assert sl.epsilon_for(NoisyMax(epsilon=1.0), [5, 5], target=0.9) < 1e-20
    with pytest.raises(ValueError, match="as_public"):
        sl.epsilon_for(NoisyMax(epsilon=1.0), Scores([1, 2])._as_counted(), target=0.9)


@pytest.mark.parametrize("target", [0, 1, -0.5, 2, "high", float("nan"), True])
def test_a_target_that_is_no_probability_is_refused(target):
    with pytest.raises(ValueError, match="target"):
        sl.epsilon_for(NoisyMax(epsilon=1.0), [1, 2], target=target)


@pytest.mark.parametrize("epsilon", [[], [0.1, -1], "x"])
def test_epsilons_that_are_none_are_refused(epsilon):
    with pytest.raises((ValueError, TypeError), match="epsilon"):
        sl.compare([1, 2], k=1, epsilon=epsilon)


def test_comparisons_look_at_public_scores_only():
    with pytest.raises(ValueError, match="as_public"):
        sl.compare(Scores([1, 2])._as_counted(), k=1, epsilon=1.0)
    assert sl.compare(Scores(np.array([1, 2]))._as_counted().as_public(), k=1, epsilon=1.0).rows


def test_the_limit_of_counts_at_the_ends_of_64_bits_is_no_limit():
    found = sl.compare(np.array([2**63 - 1, -(2**63)]), 1, epsilon=1.0, monotone=True)
    assert dict(found.limit)[1.0] == pytest.approx(1.0)
