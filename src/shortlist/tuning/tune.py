"""`tune`: choose among private trainings by running a random number of them and keeping the best."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shortlist.accounting.tuned import RunLaw, Tuned
from shortlist.mechanisms.checks import check_ledger, checked_source
from shortlist.privacy import Guarantee, Ledger
from shortlist.sampling.entropy import Source
from shortlist.sampling.uniforms import WordStream, draw_number, draw_place
from shortlist.tuning.best import Best
from shortlist.tuning.question import Grid, checked_budget, checked_runs, one_run, runs_within

TOLD = "how long it took, and what train itself printed, is not protected: both tell how many runs there were"
PADDED = "as many trainings were run whatever was drawn; what train itself printed is not protected"
NOTHING = "nothing was run: with Poisson and binomial numbers of runs that happens"
FAILED = "the winner failed, and so did or scored -inf every other run: try train by sl.testing.rehearse on public data"


@dataclass(frozen=True, slots=True)
class Run:
    """What is kept of one run: failures are outcomes like others."""

    place: int
    output: Any
    score: float
    failed: bool


def tune(
    train: Callable[[Any], tuple[Any, float]],
    grid: Iterable[Any],
    *,
    guarantee: Guarantee | Mapping[Any, Guarantee] | Sequence[Guarantee] | None = None,
    runs: RunLaw | None = None,
    budget: Guarantee | None = None,
    eta: float | None = None,
    weights: Iterable[float] | None = None,
    cap: int | None = None,
    pad: bool = False,
    delta: float | None = None,
    unit: str = "person",
    neighbours: str = "add-remove",
    ledger: Ledger | None = None,
    purpose: str = "",
    rng: Source | None = None,
) -> Best:
    """The best of a random number of private runs, each on a candidate drawn from the grid (docs/tuning.md).

    The number of runs is drawn exactly and never told. Each run gets a fresh copy of its candidate and must use fresh
    randomness; a run that looks at earlier ones has no such guarantee. An exception in `train` is an outcome with
    the score -inf: nothing is raised, counted or shown. Ties go to the earlier run.

    Parameters
    ----------
    train
        From a candidate to (output, score); the largest score wins.
    grid
        The public candidates.
    guarantee
        What one call of `train` promises for output, score and failure together; one for all, a mapping from
        candidates, or a list in the order of the grid.
    runs
        `sl.NegativeBinomial(mean=10, eta=0)`, `sl.Poisson(10)` or `sl.Binomial(20, 0.5)`.
    budget
        PureDP, ZCDP or ApproxDP: the negative binomial law of the largest mean that fits; with `runs`, it must fit.
    eta
        Of that law, where `budget` is given alone; 0 if left out.
    weights
        Public positive numbers, used exactly: how likely each candidate is drawn. Alike if left out.
    cap, pad
        The number of runs is drawn given that it is at most `cap`. With `pad=True` always that many trainings are run
        (n of a binomial number), of which only the first count, so that time tells nothing.
    delta
        Book (epsilon, delta) at this delta, fixed beforehand, instead of the guarantee itself.
    unit, neighbours
        What one person is, and which tables are compared, for the record.
    ledger, purpose
        Where the charge is booked, durably, before the first run, and what for; it is never given back. `train`
        must not charge the same ledger: its runs are paid by this charge.
    rng
        None is the secure source. `sl.testing.seeded(7)` repeats itself and marks the result as not private.

    Returns
    -------
    Best
        `candidate`, `output`, `score`, `failed`, `guarantee` and the like; `candidate` is None where nothing was run.

    Raises
    ------
    TypeError, ValueError
        from public facts alone, before anything is run or booked.
    BudgetExceeded, LedgerError
        as the ledger would: nothing is run.

    Examples
    --------
    >>> import shortlist as sl
    >>> best = sl.tune(lambda c: (c, -c), [0.1, 1.0], guarantee=sl.PureDP(0.125), runs=sl.Binomial(8, 1.0))
    >>> best.candidate in (0.1, 1.0), best.guarantee.as_pure()
    (True, PureDP(epsilon=1.0))
    """
    if not callable(train):
        raise TypeError("train must be a function from a candidate to (output, score)")
    source, options = checked_source(rng), Grid.of(grid, weights)
    check_ledger(ledger)
    base = one_run(guarantee, options)
    law = _law(base, runs, budget, eta, cap)
    promised = Tuned(base, law)
    if budget is not None and checked_budget(budget).excess(promised) > 0:
        raise ValueError(f"runs must fit the budget {budget}: give fewer runs on average, or leave runs= out")
    many = _padded(law, pad)
    if neighbours not in ("add-remove", "replace"):
        raise ValueError('neighbours must be "add-remove" or "replace"')
    if not isinstance(unit, str):
        raise TypeError('unit must be text: write unit="person", for example')
    charge: Guarantee = promised if delta is None else promised.as_approx(delta)
    name = f"best of a random number of runs, {law}"
    reservation = None
    if ledger is not None:
        reservation = ledger.reserve(charge, purpose=purpose, mechanism=name, unit=f"{unit} ({neighbours})")
    winner = _best(train, options, law, many, source)
    return Best(
        candidate=None if winner is None else options.candidates[winner.place],
        index=None if winner is None else winner.place,
        output=None if winner is None else winner.output,
        score=None if winner is None else winner.score,
        failed=winner is not None and winner.failed,
        guarantee=promised,
        charge=charge,
        mechanism=name,
        why="named by the caller" if runs is not None else f"the largest mean that fits {budget}",
        notes=_notes(winner, many),
        unit=unit,
        neighbours=neighbours,
        secure=source.secure,
        receipt=None if reservation is None else reservation.receipt(),
    )


def _law(base: Guarantee, runs: RunLaw | None, budget: Guarantee | None, eta: float | None, cap: int | None) -> RunLaw:
    if runs is not None:
        if eta is not None:
            raise TypeError(
                "eta belongs to the law that budget= chooses: write runs=sl.NegativeBinomial(mean=9, eta=0)"
            )
        return checked_runs(runs, cap)
    if budget is None:
        raise TypeError("give runs=sl.NegativeBinomial(mean=10, eta=0), or budget=, for example budget=PureDP(1.0)")
    return runs_within(base, checked_budget(budget), 0.0 if eta is None else eta, cap)


def _padded(law: RunLaw, pad: bool) -> int | None:
    """How many trainings are always run; None where only those that count are."""
    if pad not in (True, False):
        raise TypeError("pad must be True or False")
    if not pad:
        return None
    if law.most is None:
        raise ValueError("pad needs a largest number of runs: write cap=50 too, or runs=sl.Binomial(20, 0.5)")
    return law.most


def _best(train: Callable[[Any], Any], grid: Grid, law: RunLaw, many: int | None, source: Source) -> Run | None:
    """The first of the largest score among those that count; the others are forgotten as soon as they are done."""
    stream = WordStream(source)
    counting = draw_number(law.ladder(), law.most, stream)
    best: Run | None = None
    for n in range(counting if many is None else many):
        place = draw_place(grid.sums, stream)
        run = _run(train, grid, place)
        if n < counting and (best is None or run.score > best.score):
            best = run
    return best


def _run(train: Callable[[Any], Any], grid: Grid, place: int) -> Run:
    """One call; whatever it raises is an outcome, and nothing of it is kept. Interrupts and exits go through."""
    try:
        output, score = train(grid.fresh(place))
        return Run(place, output, _as_score(score), False)
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:  # what it says may be private, and time limits of some libraries are no Exception
        return Run(place, None, -math.inf, True)


def _as_score(score: Any) -> float:
    """The score as a float; -inf if it is NaN or no number."""
    if isinstance(score, int) and abs(score) > 1 << 1000:
        return math.inf if score > 0 else -math.inf
    try:
        value = -math.inf if isinstance(score, str | bytes) else float(score)
    except Exception:
        return -math.inf
    return -math.inf if math.isnan(value) else value


def _notes(winner: Run | None, many: int | None) -> tuple[str, ...]:
    said = [TOLD if many is None else PADDED]
    if winner is None:
        said.append(NOTHING)
    elif winner.failed:
        said.append(FAILED)
    return tuple(said)
