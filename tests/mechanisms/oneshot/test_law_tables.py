"""The tables of one-shot lists and sets (Table 154, 158, 159)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.helpers import by_force
from tests.helpers.laws import NOISES, inclusion_probabilities, number_correct, quality, right_probability

DATA = Path(__file__).resolve().parents[3].parent / "shared" / "data"

SETS = {
    "exponential": [0.3619372, 0.1526619, 0.2213824, 0.0854381, 0.1202672, 0.0583132],
    "laplace": [0.2832299, 0.1548496, 0.2097723, 0.1139423, 0.1548496, 0.0833563],
}
"""Sets 01, 02, 03, 12, 13, 23 for scores 3, 2, 0, 1 in steps of 1/4 (Table 154)."""


@pytest.mark.parametrize("name", SETS)
def test_sets_of_two_agree_with_the_table(name):
    s = [0.75, 0.5, 0.0, 0.25]
    sets = by_force.set_probabilities(s, 2, name)
    np.testing.assert_allclose(list(sets.values()), SETS[name], atol=6e-8)
    printed = dict(zip(sets, SETS[name], strict=True))
    included = inclusion_probabilities(np.array(s), 2, name)
    np.testing.assert_allclose(included, by_force.inclusion(printed, 4), atol=2e-7)
    assert right_probability(np.array(s), 2, name) == pytest.approx(SETS[name][0], abs=6e-8)


def test_lists_of_two_agree_with_the_table():
    printed = {
        (0, 1): 0.48633011,
        (0, 2): 0.17891085,
        (1, 0): 0.21555612,
        (1, 2): 0.02917235,
        (2, 0): 0.06581762,
        (2, 1): 0.02421295,
    }
    s = np.array([2.0, 1.0, 0.0])
    included = inclusion_probabilities(s, 2, "gumbel")
    np.testing.assert_allclose(included, by_force.inclusion(printed, 3), atol=2e-8)
    assert right_probability(s, 2, "gumbel") == pytest.approx(printed[0, 1] + printed[1, 0], abs=1e-8)


FIVE = {
    ("exponential", 1): (0.6702420499, 0.8958805037, 0.00423043, 0.19977814, 0.79599144),
    ("exponential", 2): (0.4563892664, 0.7892714421, 0.02106818, 0.37932075, 0.59961107),
    ("gumbel", 1): (0.5477523706, 0.8533901714, 0.00813414, 0.27695138, 0.71491448),
    ("gumbel", 2): (0.3729115268, 0.7443554236, 0.03142185, 0.44844545, 0.52013270),
    ("laplace", 1): (0.5673149143, 0.8688386501, 0.00611284, 0.25009702, 0.74379014),
    ("laplace", 2): (0.3945569536, 0.7609412497, 0.02644242, 0.42523266, 0.54832492),
    ("logistic", 1): (0.4606915548, 0.8065213565, 0.01528456, 0.35638816, 0.62832728),
    ("logistic", 2): (0.3258713408, 0.7109348861, 0.04253600, 0.49305823, 0.46440577),
    ("half-logistic", 1): (0.5866140282, 0.8657952190, 0.00696554, 0.25447848, 0.73855598),
    ("half-logistic", 2): (0.3943120122, 0.7558529335, 0.02867620, 0.43094174, 0.54038207),
}
"""x = 5, 4, 4, 1, 0, k = 2, eps = .8: (noise, R) -> P[right], recall, P[c = 0, 1, 2]."""


@pytest.mark.parametrize(("name", "R"), FIVE)
def test_five_items_agree_with_the_table_and_with_an_independent_path(name, R):
    s = 0.8 / (2 * R) * np.array([5.0, 4.0, 4.0, 1.0, 0.0])
    right, recall, *correct = FIVE[name, R]
    by_lists = name == "gumbel"
    sets = by_force.as_sets(by_force.plackett_luce(s, 2)) if by_lists else by_force.set_probabilities(s, 2, name)
    law = number_correct(s, 2, name)
    assert right_probability(s, 2, name) == pytest.approx(by_force.right(sets, s, 2), abs=1e-12)
    assert right_probability(s, 2, name) == pytest.approx(right, abs=1e-10)
    np.testing.assert_allclose(law, by_force.correct(sets, s, 2), atol=1e-12)
    np.testing.assert_allclose(law, correct, atol=6e-9)
    assert law @ [0, 0.5, 1] == pytest.approx(recall, abs=1e-10)


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("exponential", [0.77712686, 0.50731708, 0.50731708, 0.12561301, 0.08262598]),
        ("gumbel", [0.67313495, 0.51682270, 0.51682270, 0.17469031, 0.11852935]),
        ("laplace", [0.68003846, 0.52881942, 0.52881942, 0.15900060, 0.10332210]),
    ],
)
def test_inclusions_of_five_items_agree_with_the_table(name, printed):
    s = 0.4 * np.array([5.0, 4.0, 4.0, 1.0, 0.0])
    np.testing.assert_allclose(inclusion_probabilities(s, 2, name), printed, atol=6e-9)


ROWS = [
    ("NETFLIX.n17770", 10, 0.002, "exponential", (0.076356371, 0.85742217, 0.15573549, 0.47037462)),
    ("NETFLIX.n17770", 10, 0.002, "gumbel", (0.038535314, 0.82905177, 0.093495756, 0.37738137)),
    ("NETFLIX.n17770", 100, 0.1, "exponential", (0.0034077967, 0.97220863, 0.45237572, 0.98900354)),
    ("NETFLIX.n17770", 100, 0.1, "gumbel", (0.00069359549, 0.96457000, 0.31513136, 0.98388682)),
    ("PATENT.n4096", 10, 0.05, "exponential", (0.025682822, 0.80053496, 0.098935721, 0.43196925)),
    ("PATENT.n4096", 10, 0.05, "gumbel", (0.0073844192, 0.75046572, 0.045110644, 0.31217968)),
    ("PATENT.n4096", 100, 0.3, "exponential", (8.5447902e-11, 0.89226701, 1.1820324e-5, 0.089214785)),
    ("PATENT.n4096", 100, 0.3, "gumbel", (4.717865e-14, 0.86474401, 1.2855347e-7, 0.032426457)),
    ("SEARCHLOGS.n4096", 10, 0.1, "exponential", (0.17752003, 0.89347963, 0.35893644, 0.98647006)),
    ("SEARCHLOGS.n4096", 10, 0.1, "gumbel", (0.10487133, 0.87106355, 0.26227573, 0.98007268)),
    ("HEPTH.n4096", 10, 0.5, "exponential", (0.10463669, 0.85922971, 0.22728267, 0.66643565)),
    ("HEPTH.n4096", 10, 0.5, "gumbel", (0.039634982, 0.82078387, 0.11758077, 0.55451214)),
    ("MEDCOST.n4096", 10, 1.0, "exponential", (0.001191353, 0.72594435, 0.0032002833, 0.017723588)),
    ("MEDCOST.n4096", 10, 1.0, "gumbel", (0.00039563013, 0.67343719, 0.0011644591, 0.008016586)),
    ("INCOME.n4096", 10, 0.001, "exponential", (0.34842955, 0.93336783, 0.60533242, 0.98721354)),
    ("INCOME.n4096", 10, 0.001, "gumbel", (0.28609235, 0.92390752, 0.53697476, 0.98291750)),
]
"""Real counts: P[right], recall, P[great], P[good], all for R = 1 (Table 159)."""


def counts(name):
    path = DATA / f"{name}.npy"
    if not path.exists():
        pytest.skip(f"the shared data folder has no {path.name} here")
    return np.load(path).astype(np.float64)


@pytest.mark.parametrize(("data", "k", "epsilon", "name", "printed"), ROWS)
def test_real_counts_agree_with_the_table(data, k, epsilon, name, printed):
    found = quality(epsilon / k * counts(data), k, name)
    np.testing.assert_allclose((found.top, found.recall, found.great, found.good), printed, rtol=1.1e-7)


LONG = {(1000, "laplace"), (1000, "half-logistic"), (1000, "logistic"), (100, "laplace"), (100, "half-logistic")}


@pytest.mark.parametrize(
    ("k", "epsilon", "name"),
    [
        pytest.param(k, epsilon, name, marks=[pytest.mark.long] if (k, name) in LONG else [])
        for k, epsilon in ((10, 0.002), (100, 0.1), (1000, 1.0))
        for name in NOISES
    ],
)
def test_meters_read_zero_on_netflix(k, epsilon, name):
    s, noise = epsilon / k * counts("NETFLIX.n17770"), name
    law, included = number_correct(s, k, noise), inclusion_probabilities(s, k, noise)
    assert law.sum() == pytest.approx(1, abs=1e-11)
    assert included.sum() == pytest.approx(k, abs=k * 1e-11)
    correct = s >= np.sort(s)[-k]
    assert law @ np.arange(k + 1) == pytest.approx(included[correct].sum(), abs=k * 1e-11)
