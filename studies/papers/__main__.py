"""Redraw every figure and table of the five papers, ours beside theirs: `make reproduce`."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from studies.papers.catalogue import EXPERIMENTS
from studies.papers.data import DATA_SETS, data_file
from studies.papers.experiment import Setting
from studies.papers.runner import reproduce as run_all

if TYPE_CHECKING:
    from studies.papers.experiment import Experiment, Setting
    from studies.papers.store import Record


def reproduce(
    out: Annotated[
        Path,
        typer.Option(help="The folder for pictures, tables and the page; made if it is not there.", metavar="FOLDER"),
    ] = Path("report"),
    data: Annotated[
        Path | None,
        typer.Option(help="A folder with the papers' own data; what it lacks is made up.", metavar="FOLDER"),
    ] = None,
    only: Annotated[list[str] | None, typer.Option(help="Experiments by name: a,b,c.", metavar="NAMES")] = None,
    full: Annotated[
        bool, typer.Option("--full", help="As many trials as the papers and finer curves: several times the work.")
    ] = False,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers (run times aside).", metavar="N")] = 1,
    jobs: Annotated[int, typer.Option(min=1, help="How many processes share the work.", metavar="N")] = 2,
    names: Annotated[bool, typer.Option("--list", help="Only list the experiments.")] = False,
) -> None:
    """Redraw every figure and table of the five papers. What is in the folder already is kept, so it can be stopped.

    \b
    For example: python -m studies.papers --out report/
    """
    wanted = [name for given in only or () for name in given.split(",")]
    unknown = sorted(set(wanted) - set(EXPERIMENTS))
    if unknown:
        raise ValueError(f"--only {unknown[0]} is not an experiment; write one of {', '.join(EXPERIMENTS)}")
    if data is not None and not data.is_dir():
        raise ValueError(f"--data {data} is not a folder; leave it out to use made-up counts of the same size")
    chosen = [experiment for name, experiment in EXPERIMENTS.items() if not wanted or name in wanted]
    if names:
        for experiment in chosen:
            typer.echo(f"{experiment.name:24} {experiment.paper.key}, {experiment.shows}: {experiment.title}")
        _echo_data(chosen, Setting(data=data))
        return
    if find_spec("matplotlib") is None:
        raise ValueError("the pictures need matplotlib: pip install '.[plot]'")
    if data is not None:
        _echo_data(chosen, Setting(data=data))
    _run(out, Setting("full" if full else "fast", seed, data), chosen, jobs)


def _echo_data(chosen: list[Experiment], setting: Setting) -> None:
    """Which data sets the folder has, which figures and tables they make real, and which are still made up."""
    for name, result in DATA_SETS.items():
        shown = [
            f"{experiment.paper.key} {exhibit.place}"
            for experiment in chosen
            for exhibit in experiment.exhibits
            if name in exhibit.data
        ]
        if shown:
            state = "made up" if data_file(name, setting) is None else "real"
            typer.echo(f"{state:8} {result.file}: {', '.join(shown)}")


def _run(out: Path, setting: Setting, chosen: list[Experiment], jobs: int) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console()
    plain: dict[str, Any] = {"highlight": False, "soft_wrap": True}
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        console=console, disable=not console.is_terminal,
    )  # fmt: skip
    with bar:
        task = bar.add_task("reproducing", total=len(chosen))

        def tell(experiment: Experiment, record: Record) -> None:
            bar.advance(task)
            bar.console.print(f"[bold]{record.name}[/]  {record.title} ({record.seconds:.0f} s of processor)", **plain)
            for line in record.lines:
                bar.console.print(escape(f"  {line.verdict}: {line.paper} ({line.place}) Ours: {line.ours}"), **plain)

        run_all(out, setting, chosen, tell, min(jobs, len(chosen)))
    console.print(escape(f"{len(chosen)} experiments; the page is {out / 'index.html'}"), **plain)


if __name__ == "__main__":
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(reproduce)
    try:
        app()
    except ValueError as error:
        sys.exit(f"python -m studies.papers: {error}")
