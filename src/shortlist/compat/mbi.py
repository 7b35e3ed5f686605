"""The exponential mechanism as synthesizers of the private-pgm family (AIM, MST) call it, drawn exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shortlist.mechanisms.base import check_ledger
from shortlist.mechanisms.gaps import ExponentialWithGap
from shortlist.mechanisms.race import NoisyMax
from shortlist.privacy import Ledger
from shortlist.sampling.entropy import Source
from shortlist.scores import Scores


def exponential_mechanism(
    qualities: Mapping[Any, float] | Sequence[float] | np.ndarray[Any, Any],
    epsilon: float,
    sensitivity: float = 1.0,
    base_measure: Mapping[Any, float] | None = None,
    *,
    monotonic: bool = False,
    ledger: Ledger | None = None,
    purpose: str = "",
    rng: Source | None = None,
) -> Any:
    """One candidate, with chances in proportion to e^(epsilon q / (2 sensitivity)), drawn exactly.

    epsilon-bounded range, which is what code of this family counts as epsilon^2/8 of zCDP: a ledger is charged
    `BoundedRange(epsilon)`, in zCDP a rho a little below epsilon^2/8 (Theorem 52, Theorem 241).

    Parameters
    ----------
    qualities
        One number for each candidate: a mapping from candidates, whose winning key is returned, or an array, whose
        winning position is returned. The list of candidates is public; what the numbers say of people is not. A quality
        of -inf never wins, as in private-pgm; which candidates have it must then be public too, for no sensitivity
        holds of a number that one person makes finite.
    epsilon, sensitivity
        As in private-pgm: one person moves a quality by at most `sensitivity`, up or down.
    base_measure
        For a mapping: a public positive weight for each candidate, by which its chance is multiplied.
    monotonic
        Whether one person moves all qualities the same way: then it is e^(epsilon q / sensitivity), at the same price.
    ledger, purpose
        Where the charge is booked before the qualities are looked at, and what for.
    rng
        None is the secure source; `sl.testing.seeded(7)` is for tests.

    Returns
    -------
    object
        The key of the winner, or its position as an `int`.

    Raises
    ------
    TypeError, ValueError
        for qualities that are no numbers, and a base measure without a mapping: for arrays private-pgm means
        logarithms by it, for mappings weights.

    Examples
    --------
    >>> exponential_mechanism({("age", "sex"): 900.0, ("age", "job"): 20.0}, 1.0, sensitivity=2.0)
    ('age', 'sex')
    >>> exponential_mechanism(np.array([0.0, 500.0]), epsilon=1.0)
    1
    """
    check_ledger(ledger)
    keys, scores = _read(qualities, sensitivity, monotonic)
    prior = None
    if base_measure is not None:
        if keys is None or not isinstance(base_measure, Mapping) or set(base_measure) != set(keys):
            raise TypeError("base_measure must be a mapping with the keys of qualities, from candidates to weights")
        prior = [base_measure[key] for key in keys]
    mechanism = NoisyMax(epsilon=float(epsilon), noise="gumbel", prior=prior)
    place = mechanism.release(scores, rng=rng, ledger=ledger, purpose=purpose).index
    return place if keys is None else keys[place]


def exponential_mechanism_with_gap(
    qualities: Mapping[Any, float] | Sequence[float] | np.ndarray[Any, Any],
    epsilon: float,
    sensitivity: float = 1.0,
    *,
    monotonic: bool = False,
    ledger: Ledger | None = None,
    purpose: str = "",
    rng: Source | None = None,
) -> tuple[Any, float]:
    """The candidate that `exponential_mechanism` draws, and its noisy lead over the second, in units of the qualities.

    epsilon-DP for both, so the gap is free where epsilons are added up (Theorem 86). It is not free under zCDP: a
    ledger is charged `PureDP(epsilon)`, whose rho is nearly epsilon^2/2. Code that counts epsilon^2/8 for a round, as
    AIM and MST do, must count epsilon tanh(epsilon/2) for this one.

    Parameters
    ----------
    qualities, epsilon, sensitivity, monotonic, ledger, purpose, rng
        As in `exponential_mechanism`; two candidates at least. There is no `base_measure`: weights have no gap.

    Returns
    -------
    tuple
        The key of the winner, or its position as an `int`, and the gap.

    Raises
    ------
    TypeError, ValueError
        for qualities that are no numbers, and for fewer than two.

    Examples
    --------
    >>> winner, gap = exponential_mechanism_with_gap({("age", "sex"): 900.0, ("age", "job"): 20.0}, 1.0, 2.0)
    >>> winner, gap > 700
    (('age', 'sex'), True)
    """
    check_ledger(ledger)
    keys, scores = _read(qualities, sensitivity, monotonic)
    mechanism = ExponentialWithGap(epsilon=float(epsilon))
    release = mechanism.release(scores, rng=rng, ledger=ledger, purpose=purpose)
    return (release.index if keys is None else keys[release.index]), release.gap


def _read(qualities: Any, sensitivity: float, monotonic: bool) -> tuple[list[Any] | None, Scores]:
    """(the keys of a mapping, the question)."""
    keys = list(qualities) if isinstance(qualities, Mapping) else None
    values: Any = qualities if keys is None else [qualities[key] for key in keys]
    plain = values if isinstance(values, list | tuple) else np.asarray(values)  # a list tells whole numbers from floats
    return keys, Scores(plain, sensitivity=float(sensitivity), monotone=bool(monotonic))
