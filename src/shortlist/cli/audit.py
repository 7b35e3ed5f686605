"""`shortlist audit`: attack a mechanism, and prove it on a box."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from shortlist.audit import audit as attack
from shortlist.audit import prove_mechanism
from shortlist.audit.attack import default_size, function_in, mechanism_named, mechanism_names
from shortlist.audit.entries import entry_of
from shortlist.cli.output import Json, argument, option, read_budget, tell

MOST_OUTCOMES = 3
"""The box is tried with at most so many winners."""


def audit(
    name: Annotated[str | None, argument("A mechanism by name, or FILE.py:FUNCTION, anybody's.", "NAME")] = None,
    epsilon: Annotated[float, option("What it claims: epsilon, pure unless there is a delta.", "NUMBER")] = 1.0,
    delta: Annotated[float | None, option("What it claims: delta.", "NUMBER")] = None,
    k: Annotated[int | None, option("How many winners; 1, or what the mechanism needs.", "N", "-k", min=1)] = None,
    trials: Annotated[int, option("Draws from each of two neighbours.", "N", min=1000)] = 1_000_000,
    confidence: Annotated[float, option("That of the bound.", "NUMBER")] = 0.999,
    d: Annotated[int | None, option("How many scores to try.", "N", "-d", min=1)] = None,
    monotone: Annotated[bool, option("One person moves all scores the same way.")] = False,
    seed: Annotated[int | None, option("For repetition; secure randomness if left out.", "N")] = None,
    workers: Annotated[int | None, option("Processes; all cores if left out.", "N", min=1)] = None,
    resume: Annotated[str | None, option("A file to note what was done, and to go on from.", "FILE")] = None,
    as_json: Json = False,
) -> None:
    """A lower bound on the true epsilon. Exit code 1 if the claim is violated.

    \b
    For example: shortlist audit permute-and-flip --epsilon 1 --trials 100000
    """
    if name is None:
        raise typer.BadParameter(f"name a mechanism ({', '.join(mechanism_names())}), or FILE.py:FUNCTION")
    claim, proof = read_budget(epsilon, delta, None), None
    subject: Any = function_in(name) if ":" in name else mechanism_named(name, k, claim)
    if entry_of(subject) is not None and getattr(subject, "k", 1) <= MOST_OUTCOMES:  # a certified law is known
        proof = prove_mechanism(subject, d=min(default_size(subject), 6), top=1, monotone=monotone)
    verdict = attack(
        subject, claim=claim, trials=trials, confidence=confidence, d=d, monotone=monotone, seed=seed, workers=workers,
        resume=resume,
    )  # fmt: skip
    refuted = verdict.violated or (proof is not None and not proof.holds)
    box, (one, two) = None if proof is None else str(proof), verdict.pair
    facts = {name: getattr(verdict, name) for name in ("epsilon_lower", "confidence", "violated")}
    facts |= {"claim": str(verdict.claim), "trials": verdict.trials, "box": box}
    drawn = f"{2 * verdict.tested:,} draws of one event at {verdict.rate:,.0f} a second, on {one} and {two}"
    words = f"{verdict}\n{drawn}\n{box or 'no certified distribution is known: nothing proved on a box'}"
    tell({"subject": verdict.name, **facts}, words, as_json=as_json)
    if refuted:
        raise typer.Exit(1)
