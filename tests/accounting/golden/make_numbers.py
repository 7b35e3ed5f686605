"""Numbers that others computed: dp-accounting 0.6 and mpmath. The tests read `numbers.json` and need neither.

python -m venv golden && golden/bin/pip install dp-accounting==0.6.0 mpmath
golden/bin/python tests/accounting/golden/make_numbers.py > tests/accounting/golden/numbers.json
"""

from __future__ import annotations

import json
import sys

import dp_accounting
import mpmath as mp
import numpy as np
from dp_accounting import dp_event
from dp_accounting.pld import common, privacy_loss_distribution
from dp_accounting.rdp import RdpAccountant

mp.mp.dps = 40

# Each a list of (epsilon, delta, times).
PRODUCTS = [
    [(0.1, 0.0, 100)],
    [(0.5, 0.0, 20)],
    [(0.01, 0.0, 2000)],
    [(0.1, 1e-8, 30)],
    [(0.05, 0.0, 200), (0.3, 0.0, 10), (1.0, 0.0, 1)],
    [(0.2, 1e-9, 40), (0.02, 0.0, 500), (0.0, 1e-7, 2)],
]
RHOS = [0.001, 0.1, 0.5, 2.0, 20.0]
GUMBEL = [
    (1, 0.5, 0.5),
    (3, 0.7, 0.5),
    (10, 0.05, 0.5),
    (10, 0.1, 4.0),
    (10, 0.1, 8.0),
    (1, 1e-4, 2e-4),
    (100, 0.01, 1.0),
]
TWO_CLOCK = [(1, 0.5, 0.3), (3, 0.7, 0.5), (10, 0.1, 1.0), (10, 0.1, 4.0), (4, 0.05, 1.0)]


def product(parts: list[tuple[float, float, int]]) -> privacy_loss_distribution.PrivacyLossDistribution:
    total = None
    for epsilon, delta, times in parts:
        one = privacy_loss_distribution.from_privacy_parameters(
            common.DifferentialPrivacyParameters(epsilon, delta),
            value_discretization_interval=1e-4,
        )
        many = one.self_compose(times) if times > 1 else one
        total = many if total is None else total.compose(many)
    assert total is not None
    return total


def products() -> list[dict[str, object]]:
    return [
        {"parts": parts, "delta": delta, "pessimistic": product(parts).get_epsilon_for_delta(delta)}
        for parts in PRODUCTS
        for delta in (1e-3, 1e-6)
    ]


def zcdp() -> list[dict[str, float]]:
    orders = np.concatenate([np.linspace(1.01, 4, 300), np.linspace(4, 64, 600), np.geomspace(64, 1e5, 400)])
    rows = []
    for rho in RHOS:
        for delta in (1e-3, 1e-6, 1e-10):
            accountant = RdpAccountant(orders)
            accountant.compose(dp_event.ZCDpEvent(rho))
            gauss = privacy_loss_distribution.from_gaussian_mechanism(
                (1 / (2 * rho)) ** 0.5, value_discretization_interval=1e-3, pessimistic_estimate=True
            )
            rows.append(
                {
                    "rho": rho,
                    "delta": delta,
                    "renyi": accountant.get_epsilon(delta),
                    "gaussian": gauss.get_epsilon_for_delta(delta),
                }
            )
    return rows


def gumbel(k: int, mu: float, epsilon: float) -> mp.mpf:
    """Integral of (p - e^epsilon q)_+ for gamma laws of shape k, p of scale e^mu and q of scale 1."""
    mu, epsilon = mp.mpf(mu), mp.mpf(epsilon)

    def excess(g: mp.mpf) -> mp.mpf:
        p = g ** (k - 1) * mp.exp(-g * mp.exp(-mu) - k * mu) / mp.factorial(k - 1)
        q = g ** (k - 1) * mp.exp(-g) / mp.factorial(k - 1)
        return p - mp.exp(epsilon) * q

    start = (k * mu + epsilon) / (1 - mp.exp(-mu))
    scale = mp.exp(mu)
    return mp.quad(excess, [start, start + scale, start + 4 * scale, start + 20 * scale, start + 80 * scale, mp.inf])


def two_clock(k: int, mu: float, epsilon: float) -> mp.mpf:
    """The same for two gamma clocks that move opposite ways: one integral outside, gamma tails inside."""
    mu, epsilon = mp.mpf(mu), mp.mpf(epsilon)
    down, rise = 1 - mp.exp(-mu), mp.exp(mu) - 1

    def outer(g: mp.mpf) -> mp.mpf:
        t = (epsilon + down * g) / rise
        inner = mp.gammainc(k, t, regularized=True) - mp.exp(epsilon - k * mu + down * g) * mp.gammainc(
            k, t * mp.exp(mu), regularized=True
        )
        return g ** (k - 1) * mp.exp(-g) / mp.factorial(k - 1) * inner

    return mp.quad(outer, [0, k / 4, k / 2, k, 2 * k, 4 * k, 4 * k + 20, 4 * k + 100, mp.inf])


def main() -> None:
    found = {
        "dp_accounting": getattr(dp_accounting, "__version__", "0.6.0"),
        "products": products(),
        "zcdp": zcdp(),
        "gumbel": [[*case, mp.nstr(gumbel(*case), 17)] for case in GUMBEL],
        "two_clock": [[*case, mp.nstr(two_clock(*case), 17)] for case in TWO_CLOCK],
    }
    json.dump(found, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
