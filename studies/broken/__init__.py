"""The catalogue of broken mechanisms: published, shipped or easily written, each caught by auditor or box."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flint import ctx

from shortlist.audit import Law, audit, prove
from shortlist.audit.attack import target_of
from shortlist.audit.certified.base import PRECISION, Point
from studies.broken import (
    accounting,
    caps,
    groups,
    guarded,
    keys,
    names,
    options,
    quantiles,
    selection,
    sets,
    stable,
    thresholds,
    tuning,
)
from studies.broken.entry import Broken

CATALOGUE: tuple[Broken, ...] = (
    *thresholds.ENTRIES, *selection.ENTRIES, *sets.ENTRIES, *guarded.ENTRIES, *caps.ENTRIES, *keys.ENTRIES,
    *names.ENTRIES, *groups.ENTRIES, *stable.ENTRIES, *quantiles.ENTRIES, *accounting.ENTRIES, *tuning.ENTRIES,
    *options.ENTRIES,
)  # fmt: skip
CONFIDENCE = 0.999_999


@dataclass(frozen=True, slots=True)
class Caught:
    """How one of them was convicted: by `auditor`, `box`, both or none."""

    entry: Broken
    by: str
    trials: int
    epsilon_lower: float | None
    """The auditor's bound at confidence 99.9999%."""
    evidence: str
    """What the box says."""

    @property
    def convicted(self) -> bool:
        return bool(self.by)


def catch(entry: Broken, *, seed: int | None = None, trials: int | None = None, progress: bool | None = None) -> Caught:
    """Try whatever there is against it."""
    by, bound, evidence, draws = [], None, "", 0
    if entry.run is not None:
        draws = entry.trials if trials is None else trials
        verdict = audit(
            entry.run,
            claim=entry.claim,
            pairs=entry.pairs,
            trials=draws,
            confidence=CONFIDENCE,
            seed=seed if target_of(entry.run).repeatable else None,
            workers=1,
            progress=progress,
        )
        bound = verdict.epsilon_lower
        by += ["auditor"] * verdict.violated
    if entry.law is not None:
        law = entry.law

        def certified(x: Point) -> Law:
            with ctx.workprec(PRECISION):
                return law(x)

        proof = prove(certified, entry.pairs, entry.claim, epsilons=_epsilons(entry))
        evidence = str(proof)
        by += ["box"] * (not proof.holds)
    return Caught(entry, " and ".join(by), draws, bound, evidence)


def _epsilons(entry: Broken) -> list[float] | None:
    """Where the hockey stick is looked at: at the claim's own epsilon, and far out where only its delta is left."""
    epsilon = getattr(entry.claim, "epsilon", None)
    return [epsilon] if isinstance(epsilon, float) else [1.0, 12.0]


def catch_all(*, seed: int | None = None, progress: bool | None = None) -> Iterator[Caught]:
    """One after the other."""
    for entry in CATALOGUE:
        yield catch(entry, seed=seed, progress=progress)
