"""What the best of a random number of runs costs, by our accounting and by dp-accounting's, at equal runs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from bench.peers import python_of

DELTA = 1e-6
CASES = [
    (base, mean, shape) for base in ("gaussian", "pure") for mean, shape in ((10, 0), (10, 1), (100, 0), (10, "inf"))
]
"""(one run: Gaussian with sigma = 2, or randomised response with epsilon = 1; mean; shape, "inf" is Poisson)."""
WORDS = {0: "logarithmic (eta 0)", 1: "geometric (eta 1)", "inf": "Poisson"}


def theirs() -> list[float]:
    """dp-accounting's own epsilons at DELTA, from its Renyi accountant in its own environment."""
    script = Path(__file__).with_name("peer_dp_accounting.py")
    words = [python_of("dp-accounting"), script, json.dumps(CASES), str(DELTA)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    epsilons: list[float] = json.loads(done.stdout.splitlines()[-1])
    return epsilons


def tune_table():
    """Epsilon at delta = 1e-6 of the best of a random number of runs: `Tuned`, and dp-accounting 0.6.0's accountant."""
    from shortlist.privacy import ZCDP, NegativeBinomial, Poisson, PureDP, Tuned

    yield "| one run | number of runs | mean | one run alone | shortlist | dp-accounting | less by |"
    yield "|---|---|---|---|---|---|---|"
    for (base, mean, shape), other in zip(CASES, theirs(), strict=True):
        one = ZCDP(0.125) if base == "gaussian" else PureDP(1.0)
        runs = Poisson(mean) if shape == "inf" else NegativeBinomial(mean=mean, eta=shape)
        ours = Tuned(one, runs).epsilon_at(DELTA)
        name = "Gaussian, sigma 2 (as rho = 1/8)" if base == "gaussian" else "randomised response, epsilon 1"
        cells = [name, WORDS[shape], str(mean), f"{one.epsilon_at(DELTA):.3f}", f"{ours:.3f}", f"{other:.3f}"]
        yield f"| {' | '.join(cells)} | {1 - ours / other:.0%} |"


TABLES = {"tune": tune_table}
