"""Ratios against numpy and against peers, each peer in an environment of its own: `make bench`."""
