"""All experiments, in the order of the papers, and every figure and table that they show."""

from __future__ import annotations

from studies.papers import (
    adaptive_covid,
    adaptive_fixed,
    adaptive_large,
    adaptive_pate,
    canonical_data,
    canonical_epsilon,
    canonical_noise,
    canonical_table,
    canonical_times,
    canonical_zipf,
    gap_error,
    gap_hybrids,
    gap_pvalues,
    gap_theta,
    gap_thresholds,
    gumbel_tradeoff,
    gumbel_variance,
    noisy_max,
)
from studies.papers.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        gumbel_tradeoff.EXPERIMENT,
        gumbel_variance.EXPERIMENT,
        noisy_max.EXPERIMENT,
        canonical_data.NETFLIX,
        canonical_epsilon.EXPERIMENT,
        canonical_zipf.EXPERIMENT,
        canonical_noise.EXPERIMENT,
        *canonical_data.EXPERIMENTS[1:],
        canonical_table.EXPERIMENT,
        canonical_times.EXPERIMENT,
        gap_theta.EXPERIMENT,
        gap_error.BY_K,
        gap_error.BY_EPSILON,
        gap_thresholds.EXPERIMENT,
        gap_hybrids.EXPERIMENT,
        gap_pvalues.EXPERIMENT,
        adaptive_fixed.EXPERIMENT,
        adaptive_covid.EXPERIMENT,
        adaptive_large.EXPERIMENT,
        adaptive_pate.EXPERIMENT,
    )
}

EXHIBITS = [(experiment, exhibit) for experiment in EXPERIMENTS.values() for exhibit in experiment.exhibits]
"""Every figure and table of the five papers, with the experiment that shows it."""
