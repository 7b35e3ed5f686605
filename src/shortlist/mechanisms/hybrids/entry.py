"""The entries of the two hybrids of top-k and sparse vector: no methods of `top_k`, only classes."""

from __future__ import annotations

from shortlist.mechanisms.entry import Audited, Entry, Named
from shortlist.mechanisms.hybrids.mechanism import HybridSparseVector, HybridTopK

TOP_K = Entry(
    kind=HybridTopK,
    page="hybrids.md",
    summary="top-k with gaps in which a threshold runs as well: the list ends where it finishes",
    gives="at most k items in order with gaps; costs less if fewer",
    budgets="pure",
    audited=Audited(
        law="shortlist.mechanisms.hybrids.certified:law",
        sees_level=True,
        at_threshold=True,
        names=(Named("hybrid-top-k", lambda k, budget: HybridTopK(threshold=0, k=k, budget=budget)),),
    ),
)

SPARSE_VECTOR = Entry(
    kind=HybridSparseVector,
    page="hybrids.md",
    summary="the items above a noisy threshold, the k largest at most",
    gives="at most k items in order with gaps; costs less if fewer",
    budgets="pure",
    audited=Audited(
        law="shortlist.mechanisms.hybrids.certified:sparse_vector_law",
        sees_level=True,
        at_threshold=True,
        names=(Named("hybrid-sparse-vector", lambda k, budget: HybridSparseVector(threshold=0, k=k, budget=budget)),),
    ),
)

ENTRY = (TOP_K, SPARSE_VECTOR)
