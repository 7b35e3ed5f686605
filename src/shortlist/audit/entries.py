"""How each mechanism is described in the docs, proved on a box and attacked: one entry for each.

The audit, the tables of the docs and the tests of what holds of all mechanisms read `ENTRIES`. What `method=` builds
stands in `shortlist.mechanisms.registry`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from shortlist.mechanisms import (
    CanonicalLimitedDomain,
    CanonicalTopK,
    ExponentialWithGap,
    GuardedListTopK,
    GuardedTopK,
    GumbelTopKValues,
    HybridSparseVector,
    HybridTopK,
    JointTopK,
    KeySet,
    LargeGap,
    LimitedDomainTopK,
    MeasuredSet,
    MeasuredTopK,
    Mechanism,
    NamesChoice,
    NoisyHistogram,
    NoisyMax,
    OneshotTopK,
    OrderedCanonicalTopK,
    Quantile,
    SparseVector,
    StableTopK,
    TopKWithGaps,
)
from shortlist.mechanisms.base import Budget, Request
from shortlist.mechanisms.registry import METHODS, Build
from shortlist.pate import PATE, MultiLabelPATE
from shortlist.privacy import ApproxDP, PureDP
from shortlist.scores import Scores

Example = Callable[[int, Budget], Mechanism]
"""Makes a mechanism of (k, budget)."""


@dataclass(frozen=True, slots=True)
class Audited:
    """How a mechanism is proved on a box and attacked by its draws."""

    certified: str
    """Its certified distribution: `module:function` below `shortlist.audit.certified`, since it is heavy to load."""
    inputs: Literal["scores", "histograms", "line", "votes"] = "scores"
    """Histograms are counts of labels that come from the data: neighbors are one more user. A line has counts of
    users along it: neighbors are one more, whose vote may be shared between two places. Votes are of teachers."""
    sees_level: bool = False
    """Whether a number that is added to all scores changes its distribution."""
    relabelled: bool = False
    """Whether outcomes are (sorted set, something else), so that one order of the scores is enough for all."""
    one_by_one: bool = False
    """Whether its draws take tens of microseconds each, one after the other: then jobs are smaller."""
    ranks: bool = False
    """Whether its numbers are ranks and not positions of candidates."""
    at_threshold: bool = False
    """Whether scores are to be tried around its threshold."""
    k: int = 1
    """The k that is audited if none is given."""
    size: Callable[[Any], int] | None = None
    """How many scores to try; None: k winners and two losers."""

    @property
    def law(self) -> str:
        """Where its certified distribution stands."""
        return f"shortlist.audit.certified.{self.certified}"


@dataclass(frozen=True, slots=True)
class Entry:
    """A mechanism: how it is built, what the tables of the docs say of it, and how it is audited."""

    kind: Any
    summary: str
    gives: str
    """What a release carries."""
    budgets: str
    audited: Audited
    methods: tuple[str, ...] = ()
    """Those of `method=` that build it."""
    examples: Mapping[str, Example] = field(default_factory=dict)
    """More names for `shortlist audit`, each with a mechanism: of what is no method, or built otherwise there."""

    @property
    def page(self) -> str:
        """In docs/mechanisms."""
        proof: str = self.kind.proof
        return proof.removeprefix("docs/mechanisms/").partition("#")[0]


EXAMPLE_COUNTS = (9, 7, 4, 2, 1, 1, 0)


def _example(kind: Callable[..., Mechanism], **words: Any) -> Example:
    """Return what makes this mechanism of k items for an audit."""
    return lambda k, budget: kind(k=k, budget=budget, **words)


def _single(kind: Callable[..., Mechanism], **words: Any) -> Example:
    """Return what makes this mechanism for an audit, whatever k is."""
    return lambda k, budget: kind(budget=budget, **words)


def _twice(mechanism: Any) -> int:
    """How many scores an audit tries: with fewer there is no guard."""
    size: int = 2 * mechanism.k
    return size


NOISES = ("laplace", "logistic", "half-logistic", "gaussian")
SPARSE_VECTORS: dict[str, dict[str, Any]] = {
    "sparse-vector": {},
    "sparse-vector-laplace": {"noise": "laplace"},
    "sparse-vector-geometric": {"noise": "geometric"},
    "adaptive-sparse-vector": {"adaptive": True},
    "sparse-vector-branches": {"branches": (4, 2)},
}

ENTRIES: tuple[Entry, ...] = (
    Entry(
        NoisyMax,
        "adds noise to every score and releases who is on top; permute-and-flip and the exponential mechanism",
        "one winner",
        "pure; zCDP and (ε, δ) with Gumbel noise, (ε, δ) with Gaussian noise",
        Audited("race:noisy_max_law"),
        ("permute-and-flip", "exponential"),
        {f"noisy-max-{noise}": _single(NoisyMax, noise=noise) for noise in NOISES},
    ),
    Entry(
        OneshotTopK,
        "adds noise once to every score and releases the k largest; with Gumbel noise it is peeling",
        "k items in order",
        "pure; zCDP and (ε, δ) with Gumbel noise",
        Audited("race:oneshot_law"),
        (
            "oneshot-gumbel",
            "peeling",
            "oneshot-exponential",
            "oneshot-laplace",
            "oneshot-logistic",
            "oneshot-half-logistic",
        ),
    ),
    Entry(
        JointTopK,
        "the exponential mechanism over ordered sequences",
        "k items in order",
        "pure, zCDP, (ε, δ)",
        Audited("sets:joint_law", one_by_one=True),
        ("joint",),
    ),
    Entry(
        CanonicalTopK,
        "one noisy maximum over all sets of k",
        "a set of k",
        "pure; zCDP and (ε, δ) with Gumbel noise",
        Audited("sets:canonical_law", one_by_one=True),
        ("canonical",),
    ),
    Entry(
        GuardedTopK,
        "canonical top-k that falls back to one-shot where wrong sets would crowd out the right one",
        "a set of k, and which way it went",
        "pure, (ε, δ), zCDP",
        Audited("sets:law_of_guarded_set", relabelled=True, one_by_one=True, k=3, size=_twice),
        ("guarded",),
    ),
    Entry(
        OrderedCanonicalTopK,
        "one noisy maximum over all lists of k, in which the right list leads by its gap",
        "k items in order",
        "pure; zCDP and (ε, δ) with Gumbel noise",
        Audited("sets:ordered_canonical_law", one_by_one=True),
        ("ordered-canonical",),
    ),
    Entry(
        GuardedListTopK,
        "ordered canonical top-k that falls back to one-shot where wrong lists would crowd out the right one",
        "k items in order, and which way it went",
        "pure, (ε, δ), zCDP",
        Audited("sets:law_of_guarded_list", one_by_one=True, k=2, size=_twice),
        ("guarded-list",),
    ),
    Entry(
        GumbelTopKValues,
        "Gumbel noise once, the k largest noisy scores released as they are",
        "k items in order with noisy values",
        "(ε, δ)",
        Audited("race:gumbel_values_law", sees_level=True),
        ("gumbel-values",),
    ),
    Entry(
        NoisyHistogram,
        "noise on every capped count, and the k largest of the noisy counts: one price for every k",
        "k items in order with values",
        "pure, zCDP, (ε, δ)",
        Audited("race:histogram_law", sees_level=True, size=lambda mechanism: mechanism.most),
        ("histogram",),
        {"histogram": lambda k, budget: NoisyHistogram(k=k, most=k + 1, budget=budget)},
    ),
    Entry(
        TopKWithGaps,
        "the k largest noisy scores, and by how much each leads the next, free of charge",
        "k items in order with gaps",
        "pure",
        Audited("race:gaps_law"),
        ("gaps",),
    ),
    Entry(
        MeasuredTopK,
        "selects with half of epsilon, measures with the other, and combines measurements and gaps",
        "k items in order with values and gaps",
        "pure",
        Audited("race:law_of_measured_top_k", sees_level=True),
        examples={"measured": _example(MeasuredTopK)},
    ),
    Entry(
        MeasuredSet,
        "selects a set with one part of the budget, and measures each of its members with the other",
        "at most k items in order of their noisy values, with margins",
        "pure, zCDP, (ε, δ)",
        Audited("race:law_of_measured_set", sees_level=True, one_by_one=True),
        ("measured-set",),
    ),
    Entry(
        ExponentialWithGap,
        "the exponential mechanism's winner with its lead, and how sure that lead makes it",
        "one winner with its gap and a p-value",
        "pure",
        Audited("race:exponential_gap_law"),
        examples={
            "exponential-with-gap": _single(ExponentialWithGap),
            "gap-of-a-winner": _single(ExponentialWithGap, winner=0),
        },
    ),
    Entry(
        SparseVector,
        "which of many questions are above a threshold, one after another; those below are free",
        "answers with gaps, until k were above",
        "pure",
        Audited("threshold:sparse_vector_law", sees_level=True, at_threshold=True),
        examples={name: _example(SparseVector, threshold=0, **words) for name, words in SPARSE_VECTORS.items()},
    ),
    Entry(
        HybridTopK,
        "top-k with gaps in which a threshold runs as well: the list ends where it finishes",
        "at most k items in order with gaps; costs less if fewer",
        "pure",
        Audited("threshold:hybrids_law", sees_level=True, at_threshold=True),
        examples={"hybrid-top-k": _example(HybridTopK, threshold=0)},
    ),
    Entry(
        HybridSparseVector,
        "the items above a noisy threshold, the k largest at most",
        "at most k items in order with gaps; costs less if fewer",
        "pure",
        Audited("threshold:hybrids_sparse_vector_law", sees_level=True, at_threshold=True),
        examples={"hybrid-sparse-vector": _example(HybridSparseVector, threshold=0)},
    ),
    Entry(
        StableTopK,
        "chooses k where the gap is large, tests that the set is stable, and releases it without noise",
        "a set, or nothing; filled up to k if wanted",
        "(ε, δ), zCDP with a δ",
        Audited("stable:stable_law", inputs="histograms", sees_level=True),
        ("stable", "all-or-nothing"),
        {"stable": _example(StableTopK)},
    ),
    Entry(
        LimitedDomainTopK,
        "a list of labels that come from the data, which ends at a noisy bar",
        "at most k items in order, and whether the bar ended them; costs less if fewer",
        "(ε, δ), zCDP with a δ",
        Audited("unknown_domain:law_of_limited_domain", inputs="histograms", sees_level=True),
        ("limited-domain",),
        {
            "limited-domain": lambda k, budget: LimitedDomainTopK(k=k, budget=budget, limit=k + 1),
            "limited-domain-exponential": lambda k, budget: LimitedDomainTopK(
                k=k, budget=budget, limit=k + 1, noise="exponential"
            ),
        },
    ),
    Entry(
        CanonicalLimitedDomain,
        "a set of labels that come from the data, in one round",
        "a set of at most k",
        "(ε, δ), zCDP with a δ",
        Audited("unknown_domain:canonical_limited_law", inputs="histograms", sees_level=True, one_by_one=True),
        ("canonical-limited-domain",),
        {"canonical-limited-domain": _example(CanonicalLimitedDomain)},
    ),
    Entry(
        KeySet,
        "every label whose noisy sum reaches a bar, from counts to which a person brings a capped part",
        "names with noisy counts, or a set",
        "(ε, δ), zCDP with a δ",
        Audited(  # nobody may bring more labels than count
            "unknown_domain:keys_law",
            inputs="histograms",
            sees_level=True,
            size=lambda mechanism: min(3, mechanism.most),
        ),
        ("keys",),
        {"keys": _single(KeySet, most=3), "keys-2": _single(KeySet, most=2)},
    ),
    Entry(
        NamesChoice,
        "a noisy choice between sets, a list and a key set of names from the data, then the one that was chosen",
        "at most k items, and which way it went",
        "(ε, δ), zCDP with a δ",
        Audited("unknown_domain:names_choice_law", inputs="histograms", sees_level=True, one_by_one=True),
        ("names-choice",),
        {"names-choice": _example(NamesChoice)},
    ),
    Entry(
        LargeGap,
        "how many: the rank behind which the scores fall off",
        "a number k",
        "pure, zCDP, (ε, δ)",
        Audited("stable:large_gap_law", sees_level=True, ranks=True),
        examples={"large-gap": _single(LargeGap)},
    ),
    Entry(
        Quantile,
        "a median or other quantiles of one number per person, on a public grid of any size",
        "one point of the grid for each q",
        "pure, zCDP, (ε, δ)",
        Audited("stable:quantile_law", inputs="line", sees_level=True, one_by_one=True, size=lambda mechanism: 3),
        examples={
            "quantile": _single(Quantile, q=0.5, votes_per_user=1),
            "quantile-gumbel": _single(Quantile, q=0.25, noise="gumbel", votes_per_user=1),
            "quantiles": _single(Quantile, q=(0.25, 0.5, 0.75), votes_per_user=1),
        },
    ),
    Entry(
        PATE,
        "the class that most teachers name, for a fixed number of queries",
        "one label",
        "zCDP, stated at a δ",
        Audited("stable:class_law", inputs="votes"),
    ),
    Entry(
        MultiLabelPATE,
        "the labels on which a stable majority of teachers agrees, for a fixed number of queries",
        "a set of labels, or none",
        "zCDP, stated at a δ",
        Audited("stable:pate_law", inputs="votes", sees_level=True),
    ),
)
"""In this order they stand in tables."""


def entry_of(subject: object) -> Entry | None:
    """The entry of a mechanism, or of the one that it is made of; None for what is none of ours."""
    return next((entry for entry in ENTRIES if isinstance(subject, entry.kind)), None)


def audit_of(subject: object) -> Audited | None:
    """How a mechanism is audited; None for what is none of ours."""
    entry = entry_of(subject)
    return None if entry is None else entry.audited


def makers() -> dict[str, tuple[Entry, Example]]:
    """Return what makes each mechanism by name: the methods of `top_k`, and the examples, which win."""

    def of_method(build: Build) -> Example:
        return lambda k, budget: build(Request(k, budget))

    methods = {name: (entry, of_method(METHODS[name].build)) for entry in ENTRIES for name in entry.methods}
    return methods | {name: (entry, make) for entry in ENTRIES for name, make in entry.examples.items()}


def examples() -> Iterator[tuple[str, Mechanism, Scores]]:
    """Yield one mechanism of every name with public scores that fit it: what must hold of all is tested on them."""
    for name, (entry, make) in makers().items():
        mechanism = _first_of(make, entry.audited.k)
        if entry.audited.inputs == "histograms":
            counts: Any = {f"item {i}": n for i, n in enumerate(EXAMPLE_COUNTS) if n}
        else:
            counts = list(EXAMPLE_COUNTS)
        monotone = getattr(mechanism, "monotone", True)
        yield name, mechanism, Scores(counts, monotone=monotone, public=entry.audited.inputs != "histograms")


def _first_of(make: Example, k: int) -> Mechanism:
    """Return the mechanism under the first of two budgets that it takes."""
    try:
        return make(k, PureDP(1.0))
    except (TypeError, ValueError):
        return make(k, ApproxDP(1.0, 0.05))


def table(pages: str) -> list[str]:
    """All mechanisms as a table in Markdown; `pages` leads from where it stands to docs/mechanisms."""
    rows = ["| mechanism | what it does | what a release carries | budgets | `method=` |", "|---|---|---|---|---|"]
    for entry in ENTRIES:
        name = f"[`{entry.kind.__name__}`]({pages}{entry.page})"
        words = ", ".join(f"`{name}`" for name in entry.methods)
        rows.append(f"| {name} | {entry.summary} | {entry.gives} | {entry.budgets} | {words} |")
    return rows
