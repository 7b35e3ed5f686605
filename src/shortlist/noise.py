"""Noise by name, and noise of one's own: `piecewise_noise`, and `custom_noise` from code."""

from shortlist.exact.custom_noise import custom_noise, piecewise_noise
from shortlist.exact.noise import Noise

__all__ = ["Noise", "custom_noise", "piecewise_noise"]
