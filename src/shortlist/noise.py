"""Noise by name, and noise of one's own: `piecewise_noise`."""

from shortlist.exact.noise_distributions import Noise
from shortlist.exact.piecewise_noise import piecewise_noise

__all__ = ["Noise", "piecewise_noise"]
