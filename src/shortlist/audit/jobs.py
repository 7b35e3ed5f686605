"""Jobs of draws: over all cores, with a progress bar, repeatable from a seed, and resumable from a file."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortlist._files import write_text
from shortlist.audit.black_box import Target
from shortlist.audit.encoding import Sample
from shortlist.audit.events import Event

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor


@dataclass(frozen=True, slots=True)
class Job:
    """So many draws for one input; counted if there is an event, returned otherwise."""

    input: Any
    draws: int
    seed: int | None
    event: Event | None = None


class _Current:
    """What forked workers audit: set before they are made, because functions need not be picklable."""

    target: Target | None = None


def _work(job: Job) -> Sample | int:
    target = _Current.target
    assert target is not None
    sample = target.draw(job.input, job.draws, job.seed)
    return sample if job.event is None else job.event.count(sample)


def seed_of(seed: int | None, *words: object) -> int | None:
    """A seed of its own for every job; None stays None: the secure source."""
    if seed is None:
        return None
    text = repr((seed, *words)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=7).digest(), "big")


class JobRunner:
    """Runs jobs and hands back their results as they come, each with its place."""

    def __init__(self, target: Target, workers: int | None, progress: bool | None) -> None:
        self.target = target
        self.workers = _workers(target, workers)
        self._progress = sys.stderr.isatty() if progress is None else progress
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> JobRunner:
        _Current.target = self.target
        if self.workers > 1:
            import multiprocessing
            from concurrent.futures import ProcessPoolExecutor

            self._pool = ProcessPoolExecutor(self.workers, mp_context=multiprocessing.get_context("fork"))
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        _Current.target = None

    def run(self, jobs: Sequence[Job], what: str) -> Iterator[tuple[int, Any]]:
        """(place of the job, its result), in any order."""
        with self._bar(what, sum(job.draws for job in jobs)) as advance:
            for place, result in self._results(jobs):
                advance(jobs[place].draws)
                yield place, result

    def _results(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Any]]:
        if self._pool is None:
            for place, job in enumerate(jobs):
                yield place, _work(job)
            return
        from concurrent.futures import FIRST_COMPLETED, wait

        waiting: dict[Future[Any], int] = {}
        rest = iter(enumerate(jobs))
        while True:
            while len(waiting) < 2 * self.workers and (one := next(rest, None)) is not None:
                waiting[self._pool.submit(_work, one[1])] = one[0]
            if not waiting:
                return
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                yield waiting.pop(future), future.result()

    @contextmanager
    def _bar(self, what: str, total: int) -> Iterator[Callable[[int], None]]:
        if not self._progress:
            yield lambda _: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        console = Console(stderr=True, force_terminal=True)
        with Progress(*columns, console=console, auto_refresh=False, transient=True) as bar:
            task = bar.add_task(what, total=total)

            def advance(draws: int) -> None:
                bar.advance(task, draws)
                bar.refresh()

            yield advance


def _workers(target: Target, workers: int | None) -> int:
    """All cores, where the target allows it and the platform can fork."""
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise ValueError("workers must be a whole number of at least 1, or None for all cores")
    import multiprocessing

    if not target.parallel or "fork" not in multiprocessing.get_all_start_methods():
        return 1
    return workers or os.cpu_count() or 1


def batches(draws: int, size: int) -> list[int]:
    """So many draws, in jobs of at most that size."""
    return [min(size, draws - start) for start in range(0, draws, size)]


class Notebook:
    """What a long audit has found so far, in a file: an audit with the same words goes on where it was cut off."""

    def __init__(self, path: str | Path | None, signature: str) -> None:
        self._path = None if path is None else Path(path)
        self.state: dict[str, Any] = {"signature": signature}
        if self._path is not None and self._path.exists():
            content = json.loads(self._path.read_text())
            if not isinstance(content, dict) or content.get("signature") != signature:
                raise ValueError("resume names the file of another audit: give the same arguments, or another path")
            self.state = content

    def keep(self, **facts: Any) -> None:
        """Write at once, so that nothing done is lost."""
        self.state.update(facts)
        if self._path is not None:
            write_text(str(self._path), json.dumps(self.state))
