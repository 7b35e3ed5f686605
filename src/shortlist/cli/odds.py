"""`shortlist odds`: what an epsilon means, as chances."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Annotated

import typer

from shortlist._text import json_line
from shortlist.cli.options import Json
from shortlist.cli.output import echo_json, say
from shortlist.pages.guarantee_in_words import caution, odds, percent
from shortlist.privacy import ZCDP, ApproxDP, Guarantee, PureDP


def show_odds(
    epsilon: Annotated[
        float | None, typer.Argument(help="The epsilon of a release or of a budget.", metavar="EPSILON")
    ] = None,
    delta: Annotated[float | None, typer.Option(help="The delta beside it.", metavar="NUMBER")] = None,
    rho: Annotated[float | None, typer.Option(help="Instead of an epsilon: the rho of zCDP.", metavar="NUMBER")] = None,
    as_json: Json = False,
) -> None:
    """What somebody who knows everything else can still learn of one person.

    \b
    For example: shortlist odds 1
    """
    if (epsilon is None) == (rho is None):
        raise typer.BadParameter("give an epsilon, as in `shortlist odds 1`, or --rho: one of them")
    if not 0 < (epsilon if rho is None else rho) < math.inf:  # type: ignore[operator]
        raise ValueError(f"{'EPSILON' if rho is None else '--rho'} must be a number above 0, for example 0.5")
    if delta is not None and not 0 <= delta < 1:
        raise ValueError("--delta must be a number from 0 to below 1, for example 1e-6")
    guarantee: Guarantee
    if rho is not None:
        guarantee = ZCDP(rho, delta or 0.0)
    else:
        guarantee = PureDP(epsilon) if delta is None else ApproxDP(epsilon, delta)  # type: ignore[arg-type]
    chances = odds(guarantee)
    if as_json:
        echo_json(json_line({"guarantee": str(guarantee), **asdict(chances)}))
        return
    lines = [f"{guarantee}: {chances}."]
    lines += [f"A suspicion of {percent(before)} becomes at most {percent(after)}." for before, after in chances.after]
    lines += [
        f"An attack that wrongly accuses {alarm:.0%} of the innocent catches at most {percent(caught)} of the others."
        for alarm, caught in chances.caught
    ]
    say("\n".join([*lines, *filter(None, [caution(guarantee)])]))
