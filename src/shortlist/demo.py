"""`shortlist demo`: a made-up election, its winner and its top 10, and what they cost."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from shortlist.choose import select, top_k
from shortlist.noise.entropy import Seeded
from shortlist.release import Release
from shortlist.scores import Scores

NAMES = [
    *("Amara", "Beatriz", "Chidi", "Dalia", "Emre", "Freya", "Goran", "Hana", "Idris", "Jolana", "Kofi", "Leila"),
    *("Milos", "Noor", "Oskar", "Priya", "Quentin", "Rosa", "Santiago", "Tomoko", "Uma", "Viktor", "Wanda", "Yusuf"),
]
VOTERS = 2000


def election() -> Scores:
    """How many of 2,000 made-up voters approve of each candidate: the same data every time, and nobody's."""
    popularity = 0.55 * np.arange(1, len(NAMES) + 1) ** -0.45
    ballots = np.ldexp(Seeded(2026).words(VOTERS * len(NAMES)).astype(np.float64), -64).reshape(VOTERS, -1)
    approvals = (ballots < popularity).sum(axis=0)
    return Scores(approvals, labels=NAMES, monotone=True, public=True, unit="voter")


def run() -> None:
    """Print the story."""
    console = Console()
    scores = election()
    console.print(
        f"\n[bold]{VOTERS:,} voters[/] approved of any number of {len(NAMES)} candidates. "
        "Who they are is public; who approved of whom is not.\n"
    )
    winner = select(scores, epsilon=0.5)
    console.print("[bold]The winner[/], epsilon = 0.5")
    console.print(Panel(f"[bold green]{winner.item}[/]", expand=False))
    console.print(f"{_cost(winner)}\n")
    release = top_k(scores, k=10, epsilon=1.0, ordered=True)
    console.print("[bold]The top 10[/], epsilon = 1.0")
    table = Table(show_edge=False, pad_edge=False)
    for name in release.columns():
        table.add_column(name, justify="right" if name == "rank" else "left")
    for row in zip(*release.columns().values(), strict=True):
        table.add_row(*map(str, row))
    console.print(table)
    console.print(f"{_cost(release)}\n")
    console.print(
        "Run it again: the noise is new each time. No voter changes the odds of any outcome by more than a factor "
        "e^0.5 = 1.65 above and e^1 = 2.72 below."
    )


def _cost(release: Release) -> str:
    return f"{release.guarantee} for one {release.unit}, by {release.mechanism}\n[dim]{release.why}[/]"
