"""All experiments, in the order of the papers."""

from __future__ import annotations

from shortlist.reproduce import canonical_epsilon, gumbel_tradeoff, gumbel_variance, noisy_max
from shortlist.reproduce.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (gumbel_tradeoff, gumbel_variance, noisy_max, canonical_epsilon)
}
