"""The entry of sparse vector: questions over a threshold, no method of `top_k`, only a class."""

from __future__ import annotations

from typing import Any

from shortlist.mechanisms.checks import Budget
from shortlist.mechanisms.entry import Audited, Entry, Named
from shortlist.mechanisms.sparse_vector.mechanism import SparseVector


def _named(name: str, **words: Any) -> Named:
    def build(k: int, budget: Budget) -> SparseVector:
        return SparseVector(threshold=0, k=k, budget=budget, **words)

    return Named(name, build)


ENTRY = Entry(
    kind=SparseVector,
    page="sparse-vector.md",
    summary="which of many questions are above a threshold, one after another; those below are free",
    gives="answers with gaps, until k were above",
    budgets="pure",
    audited=Audited(
        law="shortlist.mechanisms.sparse_vector.certified:law",
        sees_level=True,
        at_threshold=True,
        names=(
            _named("sparse-vector"),
            _named("sparse-vector-laplace", noise="laplace"),
            _named("sparse-vector-geometric", noise="geometric"),
            _named("adaptive-sparse-vector", adaptive=True),
            _named("sparse-vector-branches", branches=(4, 2)),
        ),
    ),
)
