"""Synthetic rows, and the whole story on them."""

from __future__ import annotations

import math
import os
from importlib.util import find_spec
from time import perf_counter
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from shortlist import count, top_k
from shortlist._files import remove, temporary_name
from shortlist.cli.output import argument, option, print_table, write_picture
from shortlist.example import FILMS, ROWS, TYPES, check_example, write_example
from shortlist.mechanisms import GuardedTopK, OneshotTopK
from shortlist.pages.plots import ACCENT, INK, SOFT

DEMO_ROWS, USERS, ITEMS, K, EPSILON = 1_000_000, 50_000, 500, 10, 0.03
STRIDE = 187
"""Prime to the number of films: names that say nothing of the rank."""
PICTURE = "shortlist-demo.png"


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
    console, films = Console(highlight=False), [f"film {n:03d}" for n in range(1, ITEMS + 1)]

    def say(code: str) -> None:
        console.print(Text(code, style="bold"), soft_wrap=True)

    folder = temporary_name("shortlist-demo-")
    try:
        os.mkdir(folder, 0o700)
        path = os.path.join(folder, "watched.parquet")
        make_rows(path)
        console.print(
            f"\n[bold]{DEMO_ROWS:,} rows[/] of (user, film): who watched what, {USERS:,} people and {ITEMS} films. "
            "They are made up, so the truth can be shown. The list of films is public; who watched which is not.\n"
        )
        start = perf_counter()
        scores = count(path, user="user_id", item="film", candidates=films)
        took = perf_counter() - start
    finally:
        remove(folder)
    say('scores = sl.count("watched.parquet", user="user_id", item="film", candidates=films)')
    console.print(
        f"[dim]Distinct people per film, counted by DuckDB in {took:.2f} s. One person may watch any number of "
        "films and moves each count by at most 1: there is no contribution cap to guess.[/]\n"
    )
    say(f"default = sl.top_k(scores, k={K}, epsilon={EPSILON})")
    say(f'oneshot = sl.top_k(scores, k={K}, epsilon={EPSILON}, method="oneshot-gumbel")')
    public = scores.as_public()  # made-up data: the truth may be looked at
    users = dict(zip(map(str, public.labels), public.values.tolist(), strict=True))
    releases = {"default": top_k(scores, K, epsilon=EPSILON)}
    releases["one-shot"] = top_k(scores, K, epsilon=EPSILON, method="oneshot-gumbel")
    chosen = {name: set(map(str, release.items or [])) for name, release in releases.items()}
    ranked = sorted(users, key=lambda name: (-users[name], name))
    rows = []
    for rank, film in enumerate(ranked, 1):
        marks = ["released" if film in films else "missed" * (rank <= K) for films in chosen.values()]
        if any(marks):
            rows.append([str(rank), film, f"{users[film]:,}", *marks])
    columns = dict(zip(("true rank", "film", "people", *chosen), zip(*rows, strict=True), strict=True))
    print_table(console, columns, ("true rank", "people"), [""] * K + ["red"] * (len(rows) - K))
    for mechanism, (name, release) in zip((GuardedTopK, OneshotTopK), releases.items(), strict=True):
        chance = mechanism(k=K, epsilon=EPSILON).success_probability(public)
        console.print(
            f"{name}: {release.guarantee} for one {release.unit}, by {release.mechanism}; all {K} are right with "
            f"probability {chance:.3f}"
        )
    _draw(console, users, ranked[: 4 * K], chosen)
    console.print(
        "\nRun it again: the noise is new each time. All the rows of one user together change the probability of any "
        f"list by at most a factor e^{EPSILON} = {math.exp(EPSILON):.3f}. On your own table:"
    )
    say("shortlist top rows.parquet -k 10 --user user_id --item film --candidates films.txt --epsilon 1")


def _draw(console: Console, users: dict[str, int], best: list[str], chosen: dict[str, set[str]]) -> None:
    """The true counts of the best films, and under them who was released."""
    if not find_spec("matplotlib"):
        console.print("[dim]For the picture: pip install 'shortlist\\[plot]'[/]")
        return
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.bar(range(len(best)), [users[name] for name in best], color=[ACCENT] * K + [SOFT] * (len(best) - K))
    step = -0.09 * users[best[0]]
    for line, (name, films) in enumerate(chosen.items(), 1):
        ranks = [rank for rank, film in enumerate(best) if film in films]
        beyond = f" ({len(films) - len(ranks)} further right)" if len(ranks) < len(films) else ""
        axes.scatter(ranks, [step * line] * len(ranks), color=[ACCENT if rank < K else "#b91c1c" for rank in ranks])
        axes.text(len(best) - 0.4, step * line, f"{name}{beyond}", va="center", ha="right")
    axes.axhline(0, color=INK, linewidth=0.8)
    axes.set_yticks([tick for tick in axes.get_yticks() if 0 <= tick <= users[best[0]]])
    axes.set(xticks=[], xlabel="items by their true rank; dots: who was released (red: not among the true best)")
    axes.set_title(f"People per item of made-up data, the true top {K} in green", loc="left", color=INK)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    write_picture(PICTURE, figure, dpi=160, private=False)
    console.print(f"the picture: [bold]{PICTURE}[/]")


def example(
    name: Annotated[str, argument("Which example: films.", "NAME")],
    folder: Annotated[str, option("Where to write the files; it must be there.", "PATH")] = ".",
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
