"""Noise by name, and noise of one's own: `piecewise_noise`, and `custom_noise` from code."""

from shortlist.exact.custom_noise import custom_noise
from shortlist.exact.noise_distributions import Noise
from shortlist.exact.piecewise_noise import piecewise_noise

__all__ = ["Noise", "custom_noise", "piecewise_noise"]
