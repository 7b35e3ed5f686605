"""Run by a peer's own interpreter: draws of its private median of whole numbers, from counts of people by value.

The arguments are the peer's name and a JSON list of (counts, epsilon, draws); prints the points that came out.
"""

import json
import sys

import numpy as np


def by_diffprivlib(values, points, epsilon, draws):
    """Epsilon for one row replaced, how many there are being public; a real number, rounded to a point."""
    from diffprivlib.tools import quantile

    rows = values.astype(float)
    found = [quantile(rows, 0.5, epsilon=epsilon, bounds=(0, points - 1)) for _ in range(draws)]
    return np.rint(found).astype(int).tolist()


def by_opendp(values, points, epsilon, draws):
    """Epsilon for one row added or removed."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i32")), dp.symmetric_distance()
    words = {"candidates": list(range(points)), "alpha": 0.5}
    # its epsilon is never below 1 / scale, and may be above it in the last place
    median = dp.m.make_private_quantile(*space, dp.max_divergence(), scale=1 / epsilon, **words)
    assert abs(median.map(1) - epsilon) < 1e-9
    return [median(values.tolist()) for _ in range(draws)]


if __name__ == "__main__":
    draw = {"diffprivlib": by_diffprivlib, "opendp": by_opendp}[sys.argv[1]]
    outcomes = []
    for counts, epsilon, draws in json.loads(sys.stdin.read()):
        outcomes.append(draw(np.repeat(np.arange(len(counts)), counts), len(counts), epsilon, draws))
    print(json.dumps(outcomes))
