"""Synthetic rows, and the whole story on them."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from importlib.util import find_spec
from time import perf_counter
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from shortlist import count, top_k
from shortlist._files import remove, temporary_name
from shortlist.cli.output import write_picture
from shortlist.example import FILMS, ROWS, TYPES, check_example, write_example
from shortlist.mechanisms import GuardedTopK, OneshotTopK
from shortlist.pages.plots import plot_against_truth
from shortlist.release import Release
from shortlist.scores import Scores

DEMO_ROWS, USERS, ITEMS, K, EPSILON = 1_000_000, 50_000, 500, 10, 0.03
STRIDE = 187
"""Prime to the number of films: names that say nothing of the rank."""
PICTURE = "shortlist-demo.png"


@dataclass(frozen=True, slots=True)
class Truth:
    """The counts of the made-up data: nobody's, so they may be shown."""

    users: dict[str, int]

    @property
    def best(self) -> list[str]:
        return sorted(self.users, key=lambda name: (-self.users[name], name))


def make_rows(path: str) -> None:
    """A million made-up rows of (user, film), the same every time: some films are watched far more than others."""
    import duckdb

    with duckdb.connect(":memory:") as connection:
        connection.execute(
            f"COPY (SELECT hash(row, 'user') % {USERS} AS user_id, printf('film %03d', 1 + {STRIDE} * place % {ITEMS}) "
            "AS film FROM (SELECT row, CAST(floor("
            f"{ITEMS} * pow((hash(row, 'film') % 1000003) / 1000003, 2)) AS INTEGER) AS place "
            f"FROM range({DEMO_ROWS}) AS rows(row))) TO '{path.replace(chr(39), chr(39) * 2)}' (FORMAT parquet)"
        )


def demo() -> None:
    """Make a million rows, count them, release a top 10 in two ways beside the truth, and draw a picture.

    \b
    For example: shortlist demo
    """
    run()


def run(picture: str = PICTURE) -> None:
    """Print the story, and draw it."""
    console, films = Console(highlight=False), [f"film {n:03d}" for n in range(1, ITEMS + 1)]
    folder = temporary_name("shortlist-demo-")
    try:
        os.mkdir(folder, 0o700)
        truth, releases, public = _released(console, os.path.join(folder, "watched.parquet"), films)
    finally:
        remove(folder)
    _compared(console, truth, releases)
    _priced(console, releases, public)
    _drawn(console, truth, releases, picture)
    console.print(
        "\nRun it again: the noise is new each time. All the rows of one user together change the probability of any "
        f"list by at most a factor e^{EPSILON} = {math.exp(EPSILON):.3f}. On your own table:"
    )
    _said(console, "shortlist top rows.parquet -k 10 --user user_id --item film --candidates films.txt --epsilon 1")


def _released(console: Console, path: str, films: list[str]) -> tuple[Truth, dict[str, Release], Scores]:
    make_rows(path)
    console.print(
        f"\n[bold]{DEMO_ROWS:,} rows[/] of (user, film): who watched what, {USERS:,} people and {ITEMS} films. They "
        "are made up, so the truth can be shown. The list of films is public; who watched which is not.\n"
    )
    start = perf_counter()
    scores = count(path, user="user_id", item="film", candidates=films)
    took = perf_counter() - start
    _said(console, 'scores = sl.count("watched.parquet", user="user_id", item="film", candidates=films)')
    console.print(
        f"[dim]Distinct people per film, counted by DuckDB in {took:.2f} s. One person may watch any number of "
        "films and moves each count by at most 1: there is no contribution cap to guess.[/]\n"
    )
    _said(console, f"default = sl.top_k(scores, k={K}, epsilon={EPSILON})")
    _said(console, f'oneshot = sl.top_k(scores, k={K}, epsilon={EPSILON}, method="oneshot-gumbel")')
    releases = {
        "default": top_k(scores, K, epsilon=EPSILON),
        "one-shot": top_k(scores, K, epsilon=EPSILON, method="oneshot-gumbel"),
    }
    public = scores.as_public()  # made-up data: the truth may be looked at
    truth = Truth(dict(zip(map(str, public.labels), public.values.tolist(), strict=True)))
    return truth, releases, public


def _said(console: Console, code: str) -> None:
    console.print(Text(code, style="bold"), soft_wrap=True)


def _compared(console: Console, truth: Truth, releases: dict[str, Release]) -> None:
    """Whoever was released, and the true top k, by their true rank."""
    table = Table(show_edge=False, pad_edge=False)
    for column in ("true rank", "film", "people", *releases):
        table.add_column(column, justify="right" if column in ("true rank", "people") else "left")
    chosen = {name: set(map(str, release.items or [])) for name, release in releases.items()}
    for rank, film in enumerate(truth.best, 1):
        if rank <= K or any(film in names for names in chosen.values()):
            marks = (("released" if film in names else "missed" * (rank <= K)) for names in chosen.values())
            style = "" if rank <= K else "red"
            table.add_row(str(rank), film, f"{truth.users[film]:,}", *marks, style=style)
    console.print(table)


def _priced(console: Console, releases: dict[str, Release], public: Scores) -> None:
    """What each cost, and how often it is right: computed from the made-up scores, without simulation."""
    named: dict[str, GuardedTopK | OneshotTopK] = {
        "default": GuardedTopK(k=K, epsilon=EPSILON),
        "one-shot": OneshotTopK(k=K, epsilon=EPSILON),
    }
    for name, release in releases.items():
        chance = named[name].success_probability(public)
        console.print(
            f"{name}: {release.guarantee} for one {release.unit}, by {release.mechanism}; all {K} are right with "
            f"probability {chance:.3f}"
        )


def _drawn(console: Console, truth: Truth, releases: dict[str, Release], path: str) -> None:
    if not find_spec("matplotlib"):
        console.print("[dim]For the picture: pip install 'shortlist\\[plot]'[/]")
        return
    import matplotlib as mpl

    mpl.use("Agg")
    axes = plot_against_truth(truth.users, releases, k=K, most=4 * K)
    write_picture(path, axes.figure, dpi=160, private=False)  # type: ignore[arg-type]
    console.print(f"the picture: [bold]{path}[/]")


def example(
    name: Annotated[str, typer.Argument(help="Which example: films.", show_default=False, metavar="NAME")],
    folder: Annotated[str, typer.Option(help="Where to write the files; it must be there.", metavar="PATH")] = ".",
) -> None:
    """Write made-up rows and the public list that belongs to them: films.parquet and films.txt.

    \b
    For example: shortlist example films
    """
    check_example(name)
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"{folder} is not a folder; make it first, or leave --folder out")
    table, listed = write_example(folder, name)
    typer.echo(f"{table}: {ROWS:,} made-up rows of {', '.join(TYPES)}")
    typer.echo(f"{listed}: the public list, {FILMS} films")
