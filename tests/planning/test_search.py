"""The least epsilon that is enough: rounded up by little, and in few tries where chances are smooth."""

import math
from typing import Any

import pytest
from scipy.special import expit

from shortlist.planning.search import least_epsilon_reaching
from tests.helpers.typed import noting

WIDTH = 4e-7
CHANCES = {  # of ln epsilon, with where they reach .99
    "odds of epsilon": (lambda x: expit(x), math.log(99)),
    "bent": (lambda x: expit(2 * x + 0.3 * x**2 + 1), None),
    "a jump": (lambda x: 0.2 if x < 0.3 else 0.995, 0.3),
    "a jump from none to all": (lambda x: float(x >= -2.7), -2.7),
    "two slopes": (lambda x: expit(4.5 + 0.01 * min(x, 1.2) + 40 * max(x - 1.2, 0.0)), None),
    "flat on one side": (lambda x: 1 - 0.02 * math.exp(-max(x - 0.1, 0.0) * 50), None),
    "steps": (lambda x: min(0.999, 0.9 + 0.01 * math.floor(7 * x)), 9 / 7),
}


@pytest.mark.parametrize("name", CHANCES)
@pytest.mark.parametrize("start", [1e-3, 1.0, 50.0])
def test_the_least_that_is_enough_is_found_and_it_was_tried(name, start):
    chance, where = CHANCES[name]
    tried = {}

    def quality(epsilon):
        tried[epsilon] = chance(math.log(epsilon))
        return tried[epsilon]

    found = least_epsilon_reaching(quality, 0.99, start=start, width=WIDTH)
    assert tried[found] >= 0.99
    assert any(right < 0.99 and found * (1 - 1.01 * WIDTH) < less < found for less, right in tried.items())
    assert where is None or math.log(found) == pytest.approx(where, abs=2 * WIDTH)
    assert len(tried) < 100


@pytest.mark.parametrize("name", ["odds of epsilon", "bent"])
@pytest.mark.parametrize("off", [-0.07, 0.04])
def test_a_smooth_chance_takes_eight_tries(name, off):
    chance, _ = CHANCES[name]
    right = least_epsilon_reaching(lambda e: chance(math.log(e)), 0.99, width=1e-9)
    tries: list[Any] = []
    quality = noting(tries, lambda epsilon: float(chance(math.log(epsilon))))
    least_epsilon_reaching(quality, 0.99, start=right * math.exp(off), width=WIDTH, step=0.1)
    assert len(tries) <= 8
