"""Certified laws on small inputs, compared with the promise.

They stand in the folders of the mechanisms and are written from the formulas in docs/mechanisms, not from the samplers.
Only how much noise there is they ask the mechanism, where its sampler asks too: a wrong calibration shows on the box.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pkgutil import resolve_name
from typing import Any

from flint import ctx

from shortlist.audit.attack import on_a_line, with_two_votes
from shortlist.audit.certified.base import PRECISION, Law, Point, RealLaw
from shortlist.audit.enumeration import TOLERANCE, Proof, alike, lines, neighbours, prove
from shortlist.mechanisms import Mechanism
from shortlist.mechanisms.base import Budget
from shortlist.mechanisms.registry import Audited, audited
from shortlist.pate import PATE, MultiLabelPATE
from shortlist.privacy import Guarantee
from shortlist.scores import Scores

AnyLaw = Law | RealLaw


def law_of(mechanism: Mechanism, scores: Scores) -> AnyLaw:
    """The certified law of this mechanism on these scores.

    Raises
    ------
    ValueError
        where none is known.
    """
    law: AnyLaw = _certify(mechanism, scores)
    return law


def _certify(subject: object, question: object) -> Any:
    """The law that the entry of its kind names, as balls."""
    law = resolve_name(_how(subject).law)
    with ctx.workprec(PRECISION):
        return law(subject, question)


def _how(subject: object) -> Audited:
    how = audited(subject)
    if how is None:
        raise ValueError(f"no certified law is known for {type(subject).__name__}; use sl.audit, which only draws")
    return how


def prove_mechanism(
    mechanism: Mechanism,
    *,
    d: int = 3,
    top: int = 2,
    monotone: bool = False,
    public: bool = True,
    claim: Guarantee | None = None,
) -> Proof:
    """Enumerate the mechanism on all neighbours of the box {0..top}^d and compare it with its charge.

    Without a `claim` the charge must also fit the budget that was asked for. Where the order of the scores makes no
    difference, one order of each is enough. If the list is not `public`, a count of 0 is an absent label.

    >>> from shortlist.mechanisms import NoisyMax
    >>> print(prove_mechanism(NoisyMax(epsilon=1.0), d=2, top=1))
    proved on this box: PureDP(epsilon=1.0) for 24 pairs of neighbours, largest log ratio 1.000000
    """

    def law(x: Point) -> AnyLaw:
        return law_of(mechanism, Scores(list(x), monotone=monotone, public=public))

    promised = mechanism.charge if claim is None else claim
    how = _how(mechanism)
    if how.inputs == "histograms":
        monotone = True
        same = partial(alike, exchangeable=True, shift_invariant=False)
        proof = prove(_remember(law, False, False), histograms(d, top), promised, alike=same)
    elif how.inputs == "line":
        votes = with_two_votes(mechanism)
        proof = prove(_remember(lambda x: law_of(votes, on_a_line(x)), False, False), lines(d, top), promised)
    else:
        free, shift = mechanism.is_permutation_invariant, not how.sees_level
        remembered = _remember(law, shift, how.relabelled)
        same = partial(alike, exchangeable=free, shift_invariant=shift)
        proof = prove(remembered, neighbours(d, top, monotone=monotone, everywhere=not free), promised, alike=same)
    return _within_budget(proof, mechanism.guarantee) if claim is None else proof


def _within_budget(proof: Proof, budget: Guarantee) -> Proof:
    """The proof, unless what it proves is more than the budget allows."""
    if not proof.holds or not isinstance(budget, Budget) or budget.excess(proof.claim) <= TOLERANCE:
        return proof
    return replace(proof, violation=f"{proof.claim} does not fit the budget {budget}")


def prove_pate(
    crowd: PATE | MultiLabelPATE, *, labels: int = 3, teachers: int = 5, claim: Guarantee | None = None
) -> Proof:
    """Enumerate one query on all counts of so many teachers' votes, one teacher's votes replaced."""

    def law(counts: Point) -> Law:
        certified: Law = _certify(crowd, counts)
        return certified

    same = partial(alike, exchangeable=True, shift_invariant=False)
    return prove(law, ballots(labels, teachers), crowd.query if claim is None else claim, alike=same)


def _remember(law: Callable[[Point], AnyLaw], shift: bool, relabel: bool) -> Callable[[Point], AnyLaw]:
    """Each law once per shift, and per order of the scores where outcomes are (sorted set, rest)."""
    laws: dict[Point, AnyLaw] = {}

    def law_at(x: Point) -> AnyLaw:
        point = tuple(value - max(x) for value in x) if shift else x
        order = sorted(range(len(x)), key=lambda i: point[i]) if relabel else list(range(len(x)))
        key = tuple(point[i] for i in order)
        if key not in laws:
            laws[key] = law(key)
        plain = laws[key]
        if not (relabel and isinstance(plain, Law)):
            return plain
        renamed = {
            (tuple(sorted(order[i] for i in members)), rest): chance
            for (members, rest), chance in plain.chances.items()
        }
        return Law(dict(sorted(renamed.items())))

    return law_at


def histograms(labels: int, top: int) -> Iterator[tuple[Point, Point]]:
    """All histograms with counts up to `top`, each with one more user, who may bring any labels."""
    for x, y in neighbours(labels, top, monotone=True):
        if min(y) >= 0:
            yield x, y


def ballots(labels: int, teachers: int) -> Iterator[tuple[Point, Point]]:
    """Counts of votes, and what one teacher may make of them: every count one more, one less, or the same."""
    for x, y in neighbours(labels, teachers):
        if min(y) >= 0 and max(y) <= teachers:
            yield x, y
