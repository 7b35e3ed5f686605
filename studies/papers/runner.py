"""Running experiments: what is there already is kept, what is new is written at once, by several processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import process_time

from studies.papers.catalogue import EXPERIMENTS
from studies.papers.experiment import Experiment, Setting
from studies.papers.store import Record, read, save, stored
from studies.papers.study_page import write_study

Tell = Callable[[Experiment, Record], None]


def reproduce(
    folder: Path,
    setting: Setting,
    experiments: Sequence[Experiment],
    tell: Tell = lambda experiment, record: None,
    jobs: int = 1,
) -> list[Record]:
    """Run what is not there yet and write the index page over everything in the folder.

    `tell` hears of each experiment when it is done. With several `jobs` the experiments (of the catalogue) share that
    many processes, except for those that measure time, which run alone and first.
    """
    folder.mkdir(parents=True, exist_ok=True)
    records: dict[str, Record] = {}
    for experiment, record in _finished(folder, setting, experiments, jobs):
        records[experiment.name] = record
        write_index(folder)
        tell(experiment, record)
    return [records[experiment.name] for experiment in experiments]


def _finished(
    folder: Path, setting: Setting, experiments: Sequence[Experiment], jobs: int
) -> Iterator[tuple[Experiment, Record]]:
    """Each experiment with its record, as soon as it is there."""
    shared = [] if jobs == 1 else [one for one in experiments if not one.alone and stored(folder, one, setting) is None]
    for experiment in experiments:
        if experiment not in shared:
            yield experiment, _finish(folder, setting, experiment)
    if not shared:
        return
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))
    try:
        tasks = {pool.submit(_finish_named, folder, setting, experiment.name): experiment for experiment in shared}
        for task in as_completed(tasks):
            yield tasks[task], task.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _finish(folder: Path, setting: Setting, experiment: Experiment) -> Record:
    """The record of an earlier run, or of this one."""
    record = stored(folder, experiment, setting)
    if record is not None:
        return record
    start = process_time()
    result = experiment.run(setting)
    return save(folder, experiment, setting, result, process_time() - start)


def _finish_named(folder: Path, setting: Setting, name: str) -> Record:
    """The same in another process, to which only names travel."""
    return _finish(folder, setting, EXPERIMENTS[name])


def write_index(folder: Path) -> None:
    """The report on every record in the folder, in the order of the catalogue."""
    records = [record for name in EXPERIMENTS if (record := read(folder, name)) is not None]
    write_study(folder, [record for record in records if (folder / record.figure).exists()])
