"""Randomness of experiments: repeatable, and each has its own."""

import numpy as np

from studies.papers.experiment import Setting


def drawn(setting, name):
    return setting.source(name).words(4).tolist()


def test_a_seed_repeats_and_every_name_and_every_seed_has_draws_of_its_own():
    one = Setting("small", seed=1)
    assert drawn(one, "a") == drawn(Setting("fast", seed=1), "a")
    others = [drawn(one, "a"), drawn(one, "b"), drawn(Setting("small", seed=2), "a"), drawn(Setting(seed=11), "")]
    assert len(np.unique(others)) == 16
