"""Results on disk: a parquet table, an SVG picture and a JSON record for each experiment, and taking them up again.

The record carries a fingerprint of all that decides the result: the code of the whole package, version, effort, seed,
and the data files. A run that was interrupted finds the records of what it finished and goes on with the rest.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import shortlist
from shortlist._runtime import version
from shortlist.release_io import write_text, write_whole
from studies.papers.data import data_file
from studies.papers.experiment import Columns, Difference, Experiment, Line, Paper, Result, Setting, said
from studies.papers.figures import stamp

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PACKAGE = Path(shortlist.__file__).parent

FORMAT = 2
"""Raise it when records or experiments change so that old results must not be taken up."""


@dataclass(frozen=True, slots=True)
class Told:
    """One figure or table as a report tells it: the paper's setting, and every difference of ours."""

    place: str
    about: str
    theirs: tuple[tuple[str, str], ...]
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """One finished experiment as a report finds it: all that is said about it, and where its files are."""

    name: str
    paper: Paper
    shows: str
    title: str
    question: str
    see: str
    caption: str
    made_up: tuple[str, ...]
    timed: bool
    lines: tuple[Line, ...]
    exhibits: tuple[Told, ...]
    beyond: tuple[str, ...]
    figure: str
    table: str
    rows: int
    seconds: float
    """Of processor: how busy the machine was makes no difference."""
    effort: str
    seed: int
    fingerprint: str


def fingerprint(experiment: Experiment, setting: Setting) -> str:
    """All that decides the result, in sixteen letters."""
    source = sha256(Path(experiment.run.__code__.co_filename).read_bytes()).hexdigest()
    facts: list[Any] = [FORMAT, version(), package_hash(PACKAGE), source, experiment.name]
    facts += [setting.effort, setting.seed]
    for name in experiment.uses:
        path = data_file(name, setting)
        facts.append("made up" if path is None else sha256(path.read_bytes()).hexdigest())
    return sha256(json.dumps(facts).encode()).hexdigest()[:16]


@lru_cache
def package_hash(package: Path) -> str:
    """Of every Python file of the package: an experiment may use any of them."""
    digest = sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package).as_posix()} {sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def stored(folder: Path, experiment: Experiment, setting: Setting) -> Record | None:
    """The record of an earlier run with the same fingerprint whose files are all there, or None."""
    record = read(folder, experiment.name)
    if record is None or record.fingerprint != fingerprint(experiment, setting):
        return None
    return record if all((folder / file).exists() for file in (record.figure, record.table)) else None


def read(folder: Path, name: str) -> Record | None:
    """The record of that name, or None if there is none that can be read."""
    try:
        content = json.loads((folder / f"{name}.json").read_text())
        lines = tuple(Line(**line) for line in content.pop("lines"))
        exhibits = tuple(_told_again(told) for told in content.pop("exhibits"))
        made_up, beyond = (tuple(content.pop(word)) for word in ("made_up", "beyond"))
        return Record(
            paper=Paper(**content.pop("paper")),
            lines=lines,
            exhibits=exhibits,
            made_up=made_up,
            beyond=beyond,
            **content,
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _told_again(told: dict[str, Any]) -> Told:
    theirs = tuple((word, value) for word, value in told["theirs"])
    return Told(told["place"], told["about"], theirs, tuple(Difference(**one) for one in told["differences"]))


def save(folder: Path, experiment: Experiment, setting: Setting, result: Result, seconds: float) -> Record:
    """Write the table, then the picture, then the record, which comes last so that it never speaks too soon."""
    name = experiment.name
    figure = experiment.draw(result.columns)
    stamp(figure, result.made_up)
    write_parquet(result.columns, folder / f"{name}.parquet")
    write_svg(figure, folder / f"{name}.svg")
    record = Record(
        name=name,
        paper=experiment.paper,
        shows=experiment.shows,
        title=experiment.title,
        question=experiment.question,
        see=experiment.see,
        caption=result.caption,
        made_up=result.made_up,
        timed=result.timed,
        lines=experiment.lines(result.columns),
        exhibits=tuple(
            Told(
                exhibit.place,
                exhibit.about,
                tuple((word, said(value)) for word, value in exhibit.theirs.items()),
                tuple(exhibit.differences(setting)),
            )
            for exhibit in experiment.exhibits
        ),
        beyond=result.beyond,
        figure=f"{name}.svg",
        table=f"{name}.parquet",
        rows=len(next(iter(result.columns.values()))),
        seconds=round(seconds, 2),
        effort=setting.effort,
        seed=setting.seed,
        fingerprint=fingerprint(experiment, setting),
    )
    write_text(str(folder / f"{name}.json"), json.dumps(asdict(record), indent=1), private=False)
    return record


def write_parquet(columns: Columns, path: Path) -> None:
    """The table, with one type for each column."""
    import duckdb

    frame = {name: _array(name, cells) for name, cells in columns.items()}

    def write(draft: str) -> None:
        target = draft.replace("'", "''")
        with duckdb.connect() as connection:
            connection.register("columns", frame)
            connection.execute(f"copy (select * from columns) to '{target}' (format parquet, use_tmp_file false)")

    write_whole(str(path), write, private=False)


def read_parquet(path: Path) -> Columns:
    """The table again, column by column."""
    import duckdb

    with duckdb.connect() as connection:
        cursor = connection.execute("select * from read_parquet(?)", [str(path)])
        names = [column[0] for column in cursor.description]
        rows = cursor.fetchall()
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def _array(name: str, cells: list[Any]) -> Any:
    kinds = {type(cell) for cell in cells}
    if kinds == {str}:
        return np.array(cells, dtype=object)
    if len(kinds) != 1 and not kinds <= {int, float}:
        raise TypeError(f"column {name!r} must have one type, not {', '.join(sorted(kind.__name__ for kind in kinds))}")
    return np.array(cells)


def write_svg(figure: Figure, path: Path) -> None:
    """The same picture for the same numbers, byte for byte."""
    import matplotlib as mpl

    def write(draft: str) -> None:
        with mpl.rc_context({"svg.hashsalt": path.stem, "svg.fonttype": "none"}):
            figure.savefig(draft, format="svg", metadata={"Date": None, "Creator": "shortlist"})

    write_whole(str(path), write, private=False)
