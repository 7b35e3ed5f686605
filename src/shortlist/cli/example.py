"""`shortlist example`: made-up rows in files, to try the other commands on."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from shortlist._files import write_text
from shortlist.cli.output import write_table
from shortlist.example import check_example, film_names, film_rows


def example(
    name: Annotated[str, typer.Argument(help="Which example: films.", show_default=False)],
    folder: Annotated[str, typer.Option(help="Where to write the files; it must be there.")] = ".",
) -> None:
    """Write made-up rows and the public list that belongs to them: films.parquet and films.txt."""
    check_example(name)
    table, listed = (os.path.normpath(os.path.join(folder, f"{name}.{ending}")) for ending in ("parquet", "txt"))
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"{folder} is not a folder; make it first, or leave --folder out")
    for path in (table, listed):
        if os.path.lexists(path):
            raise FileExistsError(f"{path} is there already and stays as it is; remove it first, or give --folder")
    rows, films = film_rows(), film_names()
    write_table(table, rows, private=False)
    write_text(listed, "".join(f"{film}\n" for film in films), private=False)
    typer.echo(f"{table}: {len(rows['film']):,} made-up rows of {', '.join(rows)}")
    typer.echo(f"{listed}: the public list, {len(films)} films")
