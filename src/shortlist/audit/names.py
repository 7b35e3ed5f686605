"""Mechanisms by the names a user types, and other people's functions by their file."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

from shortlist.choose import METHODS
from shortlist.mechanisms import (
    CanonicalLimitedDomain,
    ExponentialWithGap,
    HybridSparseVector,
    HybridTopK,
    LargeGap,
    LimitedDomainTopK,
    MeasuredTopK,
    Mechanism,
    NoisyMax,
    SparseVector,
    StableTopK,
)
from shortlist.mechanisms.checks import Budget
from shortlist.privacy import Guarantee

Maker = Callable[[int, Guarantee], Mechanism]

THRESHOLD = 0
OTHERS: dict[str, Maker] = {
    "noisy-max-laplace": lambda k, budget: NoisyMax(budget=budget, noise="laplace"),
    "noisy-max-logistic": lambda k, budget: NoisyMax(budget=budget, noise="logistic"),
    "noisy-max-half-logistic": lambda k, budget: NoisyMax(budget=budget, noise="half-logistic"),
    "exponential-with-gap": lambda k, budget: ExponentialWithGap(budget=budget),
    "measured": lambda k, budget: MeasuredTopK(k=k, budget=budget),
    "sparse-vector": lambda k, budget: SparseVector(threshold=THRESHOLD, k=k, budget=budget),
    "sparse-vector-laplace": lambda k, budget: SparseVector(threshold=THRESHOLD, k=k, budget=budget, noise="laplace"),
    "sparse-vector-geometric": lambda k, budget: SparseVector(
        threshold=THRESHOLD, k=k, budget=budget, noise="geometric"
    ),
    "adaptive-sparse-vector": lambda k, budget: SparseVector(threshold=THRESHOLD, k=k, budget=budget, adaptive=True),
    "hybrid-top-k": lambda k, budget: HybridTopK(threshold=THRESHOLD, k=k, budget=budget),
    "noisy-max-gaussian": lambda k, budget: NoisyMax(budget=budget, noise="gaussian"),
    "large-gap": lambda k, budget: LargeGap(budget=budget),
    "stable": lambda k, budget: StableTopK(k=k, budget=budget),
    "limited-domain": lambda k, budget: LimitedDomainTopK(k=k, budget=budget, limit=k + 1),
    "limited-domain-exponential": lambda k, budget: LimitedDomainTopK(
        k=k, budget=budget, limit=k + 1, noise="exponential"
    ),
    "canonical-limited-domain": lambda k, budget: CanonicalLimitedDomain(k=k, budget=budget),
    "hybrid-sparse-vector": lambda k, budget: HybridSparseVector(threshold=THRESHOLD, k=k, budget=budget),
}


def names() -> list[str]:
    """All that `shortlist audit` knows by name."""
    return sorted({*METHODS, *OTHERS})


def mechanism_named(name: str, k: int, budget: Budget) -> Mechanism:
    """The mechanism of that name, or an error that lists the names."""
    makers = {**METHODS, **OTHERS}
    if name not in makers:
        raise ValueError(f"{name!r} is not known; write one of {', '.join(names())}, or FILE.py:FUNCTION")
    return makers[name](k, budget)


def function_in(place: str) -> Callable[..., object]:
    """The function of `path/to/file.py:function`: a function from scores to an output, of anybody's."""
    path, _, name = place.rpartition(":")
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if not path.endswith(".py") or spec is None or spec.loader is None or not Path(path).is_file():
        raise ValueError("write FILE.py:FUNCTION, a Python file that is there and a function in it")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ValueError(f"{path} cannot be loaded ({type(error).__name__}: {error}); try it with python") from None
    function = getattr(module, name, None)
    if not callable(function):
        raise ValueError(f"there is no function {name!r} in that file")
    found: Callable[..., object] = function
    return found
