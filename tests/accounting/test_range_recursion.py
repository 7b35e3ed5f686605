"""V_j on a grid: never below what trying many windows finds, and hardly above (Theorem 29, Lemma 30)."""

from typing import Any

import numpy as np
import pytest

from shortlist.accounting import curves as range_recursion
from tests.helpers.inside import many_rounds

fresh = range_recursion.recursion.__wrapped__


def plain_rounds(epsilon: float, rounds: int, cells: int, tries: int) -> Any:
    """V at 0, step, ... by trying many t between the grid points: from below, for chords of V on the grid."""
    step = epsilon / cells
    grid = step * np.arange(rounds * cells + 1)
    t = np.linspace(0.0, epsilon, tries * cells + 1)
    b = np.expm1(t) / np.expm1(epsilon)
    values = np.zeros(grid.size)
    for _ in range(rounds):
        known = values

        def chord(x: Any) -> Any:
            at = np.minimum(np.abs(x) / step, grid.size - 1.0)
            cell = np.minimum(at.astype(int), grid.size - 2)
            share = np.expm1((at - cell) * step) / np.expm1(step)
            above = known[cell] + share * (known[cell + 1] - known[cell])  # noqa: B023
            return np.where(x >= 0, above, -np.expm1(np.minimum(x, 0.0)) + np.exp(np.minimum(x, 0.0)) * above)

        values = np.array([np.max((1 - b) * chord(x - t) + b * chord(x - t + epsilon)) for x in grid])
    return values


@pytest.mark.parametrize("epsilon", [1e-200, 1e-12, 1e-4, 0.3, 0.6, 5.0, 12.0])
def test_a_round_is_never_understated(epsilon):
    """On the same grid: what 40 windows to a cell reach is never more, and hardly less."""
    values, plain = fresh(epsilon, 4, finest=20)[1], plain_rounds(epsilon, 4, 20, 40)
    assert np.all(values >= plain)
    assert values[:-5] == pytest.approx(plain[:-5], rel=2e-4, abs=0.0)


@pytest.mark.parametrize("epsilon", [1e-100, 0.05, 3.0])
@pytest.mark.parametrize("rounds", [2, 9])
def test_what_is_not_clear_is_tried_on_the_whole_grid(epsilon, rounds, monkeypatch):
    quick = fresh(epsilon, rounds)[1]
    monkeypatch.setattr(range_recursion, "CLEAR", np.inf)
    careful = fresh(epsilon, rounds)[1]
    assert np.all(careful >= quick * (1 - 1e-13))
    assert careful == pytest.approx(quick, rel=1e-7)


@pytest.mark.parametrize("epsilon", [0.05, 3.0])
def test_where_no_cell_is_known_the_grid_and_a_margin_are_enough(epsilon, monkeypatch):
    known = fresh(epsilon, 5)[1]
    monkeypatch.setattr(range_recursion, "CLEAR", np.inf)
    monkeypatch.setattr(range_recursion, "NEAR", -1.0)  # nothing is near enough, so every h is unknown
    careful = fresh(epsilon, 5)[1]
    assert np.all(careful >= known * (1 - 1e-13))
    assert careful[:-256] == pytest.approx(known[:-256], rel=2e-2)


@pytest.mark.parametrize("epsilon", [1e-50, 0.1, 2.0])
def test_rounding_never_takes_a_maximum_away(epsilon, monkeypatch):
    """With each V raised by up to as much as all rounding together, nothing falls below what it was."""
    known, plain, random = fresh(epsilon, 20)[1], range_recursion.one_more, np.random.default_rng(0)

    def rounded(values, grid):
        return plain(values * (1 + 2.0**-40 * random.random(values.size)), grid)

    monkeypatch.setattr(range_recursion, "one_more", rounded)
    assert np.all(fresh(epsilon, 20)[1] >= known)


def test_below_what_matters_v_is_cut_from_above():
    whole, cut = fresh(0.05, 100)[1], fresh(0.05, 100, 30.0)[1]
    assert cut.size < 0.6 * whole.size
    assert np.all(cut >= whole[: cut.size] * (1 - 1e-12))
    assert cut[:1000] == pytest.approx(whole[:1000], rel=1e-9)
    assert whole[cut.size - 1] < np.exp(-30.0)
    assert many_rounds(0.05, 100, 1e-12)(np.array([4.9]))[0] >= many_rounds(0.05, 100)(np.array([4.9]))[0]


@pytest.mark.parametrize("rounds", [2, 7])
def test_tiny_rounds_cost_in_proportion(rounds):
    """V(x) / epsilon at x = share * epsilon has a limit; rounding once hid a third of it at epsilon = 1e-12."""
    share = np.linspace(0.0, rounds - 0.02, 60)
    known = many_rounds(1e-7, rounds)(share * 1e-7) / 1e-7
    for tiny in (1e-12, 1e-50, 1e-200):
        assert many_rounds(tiny, rounds)(share * tiny) / tiny == pytest.approx(known, rel=1e-5)
    assert np.all(
        many_rounds(1e-12, rounds)(share * 1e-12) >= range_recursion.one_round(1e-12)(share * 1e-12) * (1 - 1e-9)
    )


@pytest.mark.parametrize(("epsilon", "rounds"), [(10.0, 500), (15.99, 350)])
def test_corners_that_rounding_bent_are_no_error(epsilon, rounds):
    _, values = range_recursion.recursion(
        epsilon, rounds
    )  # V is 1 for long, and the cap makes a corner that points upwards
    assert ((values >= 0) & (values <= 1)).all()
    assert values[0] == 1.0
