"""Running experiments one after the other: what is there already is kept, what is new is written at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

from shortlist.reproduce.experiment import Experiment, Setting
from shortlist.reproduce.store import Record, kept, read, save


def reproduce(
    folder: Path,
    setting: Setting,
    experiments: Sequence[Experiment],
    tell: Callable[[Experiment, Record | None], None] = lambda experiment, record: None,
) -> list[Record]:
    """Run what is not there yet and write the index page over everything in the folder.

    `tell` hears of each experiment twice: with None before it, and with its record after it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    records = []
    for experiment in experiments:
        tell(experiment, None)
        record = kept(folder, experiment, setting)
        if record is None:
            start = perf_counter()
            result = experiment.run(setting)
            record = save(folder, experiment, setting, result, perf_counter() - start)
        records.append(record)
        write_index(folder)
        tell(experiment, record)
    return records


def write_index(folder: Path) -> None:
    """The report on every record in the folder, in the order of the catalogue."""
    from shortlist.report.study import write_study
    from shortlist.reproduce.catalogue import EXPERIMENTS

    found = [record for name in EXPERIMENTS if (record := read(folder, name)) is not None]
    write_study(folder, [record for record in found if (folder / record.figure).exists()])
