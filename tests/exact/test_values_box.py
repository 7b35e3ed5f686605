"""Gumbel values by their certified hockey sticks: the exact profile is enough, and nothing less is."""

from fractions import Fraction

import pytest

from shortlist import ApproxDP
from shortlist.audit.values import prove_values, value_stick
from shortlist.mechanisms import GumbelTopKValues
from shortlist.privacy import GumbelDP
from shortlist.scores import Scores


@pytest.mark.parametrize("monotone", [False, True], ids=["general", "monotone"])
def test_one_value_keeps_its_budget_and_its_whole_profile(monotone):
    mechanism = GumbelTopKValues(k=1, budget=ApproxDP(1.0, 1e-3))
    assert prove_values(mechanism, d=2, monotone=monotone).holds
    mu = float(1 / mechanism.scale(Scores([0, 1], monotone=monotone)))
    assert prove_values(mechanism, d=2, top=1, monotone=monotone, claim=GumbelDP(mu * (1 + 1e-12), 1, monotone)).holds
    assert not prove_values(
        mechanism, d=2, top=1, monotone=monotone, claim=ApproxDP(1.0, 8e-4 if monotone else 4e-4)
    ).holds


def test_the_oracle_of_one_round():
    """SPEC 4, gamma 1, h = [0, .3, 1] -> h + [0, 1, .5], minima: our scores are -h."""
    h, moved = (0, -0.3, -1), (0, -1.3, -1.5)
    forward = [0.184097828, 0.127331167, 0.076681868]
    backward = [0.165945083, 0.101870691, 0.062536578]
    for epsilon, one, two in zip((0.1, 0.3, 0.5), forward, backward, strict=True):
        assert float(value_stick(h, moved, Fraction(1), epsilon)) == pytest.approx(one, abs=1e-8)
        assert float(value_stick(moved, h, Fraction(1), epsilon)) == pytest.approx(two, abs=1e-8)


def test_all_scores_moved_together_reach_the_exact_profile():
    """SPEC 3: delta_1(.5) at mu = .5 is .0842264552, in the worse direction."""
    sticks = [float(value_stick(x, y, Fraction(2), 0.5)) for x, y in (((0, 0), (1, 1)), ((1, 1), (0, 0)))]
    assert max(sticks) == pytest.approx(0.0842264552, abs=1e-9)


def test_exchanged_scores_are_compared_by_their_winner():
    assert float(value_stick((1, 0), (0, 1), Fraction(1), 0.5)) == pytest.approx(
        0.7310585786 - 1.6487212707 * 0.2689414214, abs=1e-9
    )
    with pytest.raises(ValueError, match="k=1"):
        prove_values(GumbelTopKValues(k=2, budget=ApproxDP(1.0, 1e-3)))
