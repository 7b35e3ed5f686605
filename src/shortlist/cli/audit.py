"""`shortlist audit`: attack a mechanism, and prove it on a box."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from shortlist._text import json_line
from shortlist.audit import audit as attack
from shortlist.audit.attack import Found, default_size, function_in, mechanism_named, names
from shortlist.audit.prove import prove_mechanism
from shortlist.cli.output import Json, echo_json
from shortlist.mechanisms.registry import audited
from shortlist.privacy import ApproxDP, Guarantee, PureDP

MOST_OUTCOMES = 3
"""The box is tried with at most so many winners."""


def audit(
    name: Annotated[
        str | None,
        typer.Argument(help="A mechanism by name, or FILE.py:FUNCTION, anybody's.", show_default=False, metavar="NAME"),
    ] = None,
    epsilon: Annotated[
        float, typer.Option(help="What it claims: epsilon, pure unless there is a delta.", metavar="NUMBER")
    ] = 1.0,
    delta: Annotated[float | None, typer.Option(help="What it claims: delta.", metavar="NUMBER")] = None,
    k: Annotated[
        int | None,
        typer.Option("-k", min=1, help="How many winners; 1, or what the mechanism needs.", metavar="N"),
    ] = None,
    trials: Annotated[int, typer.Option(min=1000, help="Draws from each of two neighbours.", metavar="N")] = 1_000_000,
    confidence: Annotated[float, typer.Option(help="That of the bound.", metavar="NUMBER")] = 0.999,
    d: Annotated[int | None, typer.Option("-d", min=1, help="How many scores to try.", metavar="N")] = None,
    monotone: Annotated[bool, typer.Option(help="One person moves all scores the same way.")] = False,
    seed: Annotated[
        int | None, typer.Option(help="For repetition; secure randomness if left out.", metavar="N")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; all cores if left out.", metavar="N")] = None,
    resume: Annotated[
        str | None, typer.Option(help="A file to note what was done, and to go on from.", metavar="FILE")
    ] = None,
    as_json: Json = False,
) -> None:
    """A lower bound on the true epsilon. Exit code 1 if the claim is violated.

    \b
    For example: shortlist audit permute-and-flip --epsilon 1 --trials 100000
    """
    if name is None:
        raise typer.BadParameter(f"name a mechanism ({', '.join(names())}), or FILE.py:FUNCTION")
    claim = PureDP(epsilon) if delta is None else ApproxDP(epsilon, delta)
    subject = _subject(name, k, claim)
    proof = _proof(subject, monotone)
    verdict = attack(
        subject, claim=claim, trials=trials, confidence=confidence, d=d, monotone=monotone, seed=seed, workers=workers,
        resume=resume,
    )  # fmt: skip
    refuted = verdict.violated or (proof is not None and not proof.holds)
    if as_json:
        echo_json(json_line(_facts(verdict, str(proof) if proof is not None else None)))
    else:
        typer.echo(str(verdict))
        one, two = verdict.pair
        typer.echo(f"{2 * verdict.tested:,} draws of one event at {verdict.rate:,.0f} a second, on {one} and {two}")
        typer.echo(str(proof) if proof is not None else "no certified law is known for it: nothing proved on a box")
    if refuted:
        raise typer.Exit(1)


def _subject(name: str, k: int | None, claim: PureDP | ApproxDP) -> Any:
    if ":" in name:
        return function_in(name)
    return mechanism_named(name, k, claim)


def _proof(mechanism: Any, monotone: bool) -> Any:
    """The box, where a certified law is known and small."""
    k = getattr(mechanism, "k", 1)
    if audited(mechanism) is None or k > MOST_OUTCOMES:
        return None
    return prove_mechanism(mechanism, d=min(default_size(mechanism), 6), top=1, monotone=monotone)


def _facts(verdict: Found, proof: str | None) -> dict[str, Any]:
    return {
        "subject": verdict.name,
        "epsilon_lower": verdict.epsilon_lower,
        "confidence": verdict.confidence,
        "violated": verdict.violated,
        "claim": str(verdict.claim),
        "trials": verdict.trials,
        "box": proof,
    }


def claimed(claim: Guarantee) -> str:
    """A claim in few letters, for tables."""
    return str(claim).replace("epsilon=", "").replace("delta=", "").replace("rho=", "")
