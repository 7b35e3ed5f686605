"""`shortlist risk`: what an epsilon means, as probabilities."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Annotated

import typer

from shortlist._text import json_line
from shortlist.cli.options import Json
from shortlist.cli.output import echo_json, echo_lines
from shortlist.pages.guarantee_in_words import caution, percent, risk
from shortlist.privacy import ZCDP, ApproxDP, Guarantee, PureDP


def show_risk(
    epsilon: Annotated[
        float | None, typer.Argument(help="The epsilon of a release or of a budget.", metavar="EPSILON")
    ] = None,
    delta: Annotated[float | None, typer.Option(help="The delta beside it.", metavar="NUMBER")] = None,
    rho: Annotated[float | None, typer.Option(help="Instead of an epsilon: the rho of zCDP.", metavar="NUMBER")] = None,
    as_json: Json = False,
) -> None:
    """What an attacker who knows all other rows can learn about one user.

    \b
    For example: shortlist risk 1
    """
    if (epsilon is None) == (rho is None):
        raise typer.BadParameter("give an epsilon, as in `shortlist risk 1`, or --rho: one of them")
    if not 0 < (epsilon if rho is None else rho) < math.inf:  # type: ignore[operator]
        raise ValueError(f"{'EPSILON' if rho is None else '--rho'} must be a number above 0, for example 0.5")
    if delta is not None and not 0 <= delta < 1:
        raise ValueError("--delta must be a number from 0 to below 1, for example 1e-6")
    guarantee: Guarantee
    if rho is not None:
        guarantee = ZCDP(rho, delta or 0.0)
    else:
        guarantee = PureDP(epsilon) if delta is None else ApproxDP(epsilon, delta)  # type: ignore[arg-type]
    bounds = risk(guarantee)
    if as_json:
        echo_json(json_line({"guarantee": str(guarantee), **asdict(bounds)}))
        return
    lines = [f"{guarantee}: {bounds}."]
    lines += [
        f"A prior probability of {percent(prior)} that the user is in the data becomes at most {percent(posterior)}."
        for prior, posterior in bounds.posterior
    ]
    lines += [
        f"An attack with a false positive rate of {rate:.0%} has a true positive rate of at most {percent(power)}."
        for rate, power in bounds.power
    ]
    echo_lines("\n".join([*lines, *filter(None, [caution(guarantee)])]))
