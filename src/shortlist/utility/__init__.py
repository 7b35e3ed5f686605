"""Exact success probabilities: how good an answer is, computed and not simulated."""
