"""`shortlist example`: made-up rows in files, to try the other commands on."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from shortlist.example import FILMS, ROWS, TYPES, check_example, write_example


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
