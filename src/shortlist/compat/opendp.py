"""A mechanism as a measurement of OpenDP, for those who compose with its combinators."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from shortlist.mechanisms.base import Mechanism
from shortlist.privacy import ZCDP, ApproxDP, PureDP
from shortlist.scores import Scores


def measurement(
    mechanism: Mechanism, *, sensitivity: float = 1.0, monotone: bool = False, size: int | None = None, T: type = float
) -> Any:
    """A user-defined measurement of OpenDP that draws from `mechanism`, with its guarantee as privacy map.

    Input: a vector of scores. Metric: the largest change of a score (`linf_distance`). Output: the positions of the
    winners. Privacy map: the mechanism's guarantee for distances up to `sensitivity`; beyond that it refuses.

    OpenDP trusts functions of others only with `dp.enable_features("contrib", "honest-but-curious")`.

    Parameters
    ----------
    mechanism
        One that chooses among public candidates; its guarantee is `PureDP`, `ZCDP` or `ApproxDP`.
    sensitivity
        How far one person moves a score; noise is drawn for it, whatever distance the map is asked for.
    monotone
        Whether one person moves all scores the same way: OpenDP's `linf_distance(monotonic=True)`.
    size
        How many scores, if the domain shall say it.
    T
        `float` or `int`, the type of the scores.

    Returns
    -------
    opendp.mod.Measurement
        From a list of scores to a list of positions.

    Raises
    ------
    ImportError
        if OpenDP is not installed.
    TypeError
        for a mechanism or a guarantee of another kind.

    Examples
    --------
    >>> from shortlist.mechanisms import NoisyMax
    >>> measurement(NoisyMax(epsilon=1.0)).map(1.0)  # doctest: +SKIP
    1.0
    """
    if not isinstance(mechanism, Mechanism):
        raise TypeError("mechanism must be one of shortlist.mechanisms, for example NoisyMax(epsilon=1.0)")
    if T not in (float, int):
        raise TypeError("T must be float or int, the type of the scores")
    limit = Scores([0], sensitivity=sensitivity).largest_sensitivity
    try:
        dp: Any = import_module("opendp.prelude")
    except ImportError as missing:
        raise ImportError("measurement needs OpenDP: pip install opendp") from missing
    loss: Any
    match mechanism.guarantee:
        case PureDP(epsilon):
            measure, loss = dp.max_divergence(), epsilon
        case ZCDP(rho, 0):
            measure, loss = dp.zero_concentrated_divergence(), rho
        case ApproxDP(epsilon, delta):
            measure, loss = dp.approximate(dp.max_divergence()), (epsilon, delta)
        case _:
            wanted = "PureDP, ApproxDP, or ZCDP without a delta"
            raise TypeError(f"mechanism must promise {wanted}: write budget=PureDP(1.0)")

    def draw(values: Any) -> list[int]:
        release = mechanism.release(Scores(list(values), sensitivity=sensitivity, monotone=monotone))
        return list(release.indices or [])

    def price(distance: float) -> Any:
        if not distance <= limit:  # exact: a float against a fraction
            raise ValueError(f"the noise is for scores that one person moves by at most {float(limit):g}")
        return loss

    atom = dp.atom_domain(T=float, nan=False) if T is float else dp.atom_domain(T=int)
    domain = dp.vector_domain(atom) if size is None else dp.vector_domain(atom, size=size)
    metric = dp.linf_distance(T=T, monotonic=monotone)
    return dp.m.make_user_measurement(domain, metric, measure, draw, price, TO="Vec<i32>")
