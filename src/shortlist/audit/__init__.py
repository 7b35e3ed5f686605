"""Trust: exact proofs on a box of neighbours, a statistical attack on anything, and what both have caught."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortlist.audit.attack import attack
from shortlist.privacy import Guarantee

if TYPE_CHECKING:
    from shortlist.audit.attack import AuditResult

__all__ = ["audit"]


def audit(
    subject: object,
    *,
    claim: Guarantee | None = None,
    trials: int = 100_000,
    confidence: float = 0.999,
    d: int | None = None,
    monotone: bool = False,
    pairs: Iterable[tuple[Any, Any]] | None = None,
    seed: int | None = None,
    workers: int | None = None,
    progress: bool | None = None,
    resume: str | Path | None = None,
) -> AuditResult:
    """A lower bound on the true epsilon of a mechanism, or of anybody's function from scores to an output.

    Parameters
    ----------
    subject
        A mechanism, or a function: f(scores), f(scores, rng=) with a numpy generator, or f(scores, draws=, rng=) that
        returns many draws at once. Outputs may be indices, lists, sets, numbers, streams, releases or nests of them.
    claim
        What it promises. A mechanism knows; for a function it must be said.
    trials
        Draws from each of the two neighbours that are compared in the end, and what goes before.
    confidence
        That of the bound.
    d, monotone
        How many scores to try, of sensitivity 1, and whether one person moves them all the same way.
    pairs
        Neighbours of your own to try instead: any two inputs that the subject takes and one person tells apart.
    seed
        For repetition (only where the subject draws from `rng`). None is the secure source.
    workers, progress
        Processes (None: all cores), and whether to show a bar (None: on a terminal).
    resume
        A file in which to note what was done; the same audit with the same file goes on from there. Another one is
        refused: other arguments, other pairs, or a function whose code has changed (not what it calls).

    Returns
    -------
    `AuditResult`, whose `epsilon_lower` holds with the stated confidence, and `violated`.

    Examples
    --------
    >>> import shortlist as sl
    >>> from shortlist.mechanisms import NoisyMax
    >>> found = sl.audit(NoisyMax(epsilon=1.0), trials=20_000, seed=1, workers=1)
    >>> found.violated, 0.5 < found.epsilon_lower <= 1.0
    (False, True)
    """
    return attack(
        subject,
        claim=claim,
        trials=trials,
        confidence=confidence,
        d=d,
        monotone=monotone,
        pairs=pairs,
        seed=seed,
        workers=workers,
        progress=progress,
        resume=resume,
    )
