"""What an epsilon gives and what it risks."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any
from zipfile import BadZipFile

from shortlist._arrays import attempt
from shortlist.cli import output
from shortlist.cli.output import Json, argument, flag, option
from shortlist.pages.summary import caution, percent, risk
from shortlist.planning import plan as planned
from shortlist.planning.plans import NUMBERS
from shortlist.release_io import json_line

PRIOR = "A prior probability of {} that the user is in the data becomes at most {}."
POWER = "An attack with a false positive rate of {} has a true positive rate of at most {}."
SCORES = "Or PUBLIC counts: a .npy file, or a text file with one number a line."


def plan(
    k: Annotated[int, option("How many items.", "N", "-k")],
    shape: Annotated[str | None, option("The data in a word: zipf:1.1, geometric:0.9 or flat:200.", "WORD")] = None,
    items: Annotated[int | None, option("How many candidates, with --shape.", "N")] = None,
    users: Annotated[int | None, option("How many users, with --shape.", "N")] = None,
    scores: Annotated[Path | None, option(SCORES, "FILE")] = None,
    target: Annotated[float | None, option("What to reach: 0.99, or 0.9 for recall.", "NUMBER")] = None,
    goal: Annotated[str, option("top (all of the top k), great, good or recall.", "WORD")] = "top",
    epsilon: Annotated[float | None, option("Instead of a target: what each reaches with so much.", "NUMBER")] = None,
    delta: Annotated[float, option("For zCDP and approximate budgets and unknown domains.", "NUMBER")] = 1e-6,
    budget: Annotated[list[str] | None, option("pure, zcdp or approx; all if left out.", "WORD")] = None,
    domain: Annotated[list[str] | None, option("known or unknown candidates; both if left out.", "WORD")] = None,
    ordered: Annotated[bool, flag("Only what releases the order too.", "--ordered")] = False,
    most: Annotated[int | None, option("Each person counts for at most so many items.", "N")] = None,
    picture: Annotated[Path | None, option("Draw the table into this file.", "FILE", "--plot")] = None,
    as_json: Json = False,
) -> None:
    """Rank the mechanisms for data described in a word. It never looks at private scores.

    \b
    For example: shortlist plan -k 10 --shape zipf:1.1 --items 10000 \\
                   --users 50000 --target 0.99
    """
    if picture is not None:
        output.check_matplotlib()
    question: dict[str, Any] = {} if scores is None else {"scores": _public_counts(scores), "monotone": True}
    answer = planned(
        k=k, target=target, goal=goal, epsilon=epsilon, items=items, users=users, shape=shape, delta=delta,
        budget=budget or ("pure", "zcdp", "approx"), domain=domain or ("known", "unknown"), ordered=ordered,
        most=most, **question,
    )  # fmt: skip
    if picture is not None:
        output.write_picture(str(picture), answer.plot().figure, dpi=150, private=False)
    if as_json:
        output.echo_json(json_line(answer.to_json()))
        return
    output.show_table(
        {name: cells for name, cells in answer.texts().items() if any(cells)},
        NUMBERS,
        lambda: str(answer),
        above=[("bold", answer.described)],
        below=[("", line) for line in answer.beside()],
        styles=["bold green"],
        spare=[name for name in SPARE if name != answer.goal],
    )


def _public_counts(path: Path) -> Any:
    import numpy as np

    unfit = f"--scores {path} must be a .npy file or a text file with one number a line"
    read = np.load if path.suffix == ".npy" else lambda file: np.loadtxt(file, ndmin=1)
    values: Any = attempt(lambda: read(path), (ValueError, EOFError, BadZipFile), unfit)
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iuf":
        raise ValueError(f"--scores {path} must hold numbers")
    whole = np.isfinite(values).all() and (np.abs(values) < 2.0**53).all() and np.array_equal(values, np.round(values))
    return values.astype(np.int64) if whole else values


SPARE = ("rho", "delta", "great", "good", "top", "recall", "gives")
"""Columns that a narrow terminal has no room for, the least needed first: no word is to be broken."""


def show_risk(
    epsilon: Annotated[float | None, argument("The epsilon of a release or of a budget.", "EPSILON")] = None,
    delta: Annotated[float | None, option("The delta beside it.", "NUMBER")] = None,
    rho: Annotated[float | None, option("Instead of an epsilon: the rho of zCDP.", "NUMBER")] = None,
    as_json: Json = False,
) -> None:
    """What an attacker who knows all other rows can learn about one user.

    \b
    For example: shortlist risk 1
    """
    value = epsilon if rho is None else rho
    if value is not None and not 0 < value < math.inf:
        raise ValueError(f"{'EPSILON' if rho is None else '--rho'} must be a number above 0, for example 0.5")
    if delta is not None and not 0 <= delta < 1:
        raise ValueError("--delta must be a number from 0 to below 1, for example 1e-6")
    guarantee = output.read_budget(epsilon, delta, rho, "an epsilon, as in `shortlist risk 1`")
    bounds = risk(guarantee)
    lines = [f"{guarantee}: {bounds}."]
    lines += [PRIOR.format(percent(prior), percent(posterior)) for prior, posterior in bounds.posterior]
    lines += [POWER.format(f"{rate:.0%}", percent(power)) for rate, power in bounds.power]
    words = "\n".join([*lines, *filter(None, [caution(guarantee)])])
    output.tell({"guarantee": str(guarantee), **asdict(bounds)}, words, as_json=as_json)
