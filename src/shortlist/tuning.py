"""The best of a random number of private runs."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, Self

from shortlist import release_io as io
from shortlist import tuned
from shortlist._arrays import check_flag
from shortlist._text import terminal_safe
from shortlist.exact.search import bisect, find_crossing, neighbours
from shortlist.mechanisms.base import Budget, check_ledger, check_source, check_weights
from shortlist.pages.texts import text_table
from shortlist.pages.theme import html_table
from shortlist.privacy import ZCDP, ApproxDP, Guarantee, Ledger, PureDP, Receipt
from shortlist.sampling.entropy import Source, WordStream
from shortlist.tuned import Capped, Mixed, NegativeBinomial, RunLaw, Tuned

FORMAT = "shortlist tuned"


@dataclass(frozen=True, slots=True, repr=False)
class Best:
    """The best of a random number of private runs. How many there were is not in it, and is never told.

    Parameters
    ----------
    candidate, index
        The winner, and its place in the grid; None where nothing was run at all.
    output
        What `train` gave beside its score; None where it failed. It is not part of equality and of JSON: a model is
        saved by its own means.
    score
        The winner's score; -inf where it failed or was no number, None where nothing was run.
    failed
        Whether the winner's run raised an exception: then every run did, or scored -inf.
    guarantee, charge
        The promise to one `unit`, and what a ledger books for it.
    mechanism, why, notes
        How it was made, why so, and what it all means, in words.
    unit, neighbours
        What one person is, and which tables are compared: `"add-remove"` or `"replace"`.
    secure
        False for seeded randomness, which is for tests and not private.
    receipt
        Where the charge was booked, and how the ledger stood then; None without a ledger.

    Examples
    --------
    >>> import shortlist as sl
    >>> best = sl.tune(lambda c: (None, c), [1, 2], guarantee=sl.PureDP(0.1), runs=sl.Binomial(8, 1.0))
    >>> sl.tuning.Best.from_json(best.to_json()) == best
    True
    """

    candidate: Any
    index: int | None
    output: Any = field(compare=False)
    score: float | None
    failed: bool
    guarantee: Tuned
    charge: Guarantee
    mechanism: str
    why: str
    notes: tuple[str, ...]
    unit: str
    neighbours: str
    secure: bool
    receipt: Receipt | None = None

    def columns(self) -> dict[str, list[Any]]:
        """The released table: a row for the winner, or none."""
        there = self.index is not None
        return {"candidate": [self.candidate] * there, "score": [self.score] * there, "failed": [self.failed] * there}

    def texts(self) -> dict[str, list[str]]:
        """The same as a person reads it: the score to six digits, all fit for a terminal."""
        cells = {"candidate": str(self.candidate), "score": f"{self.score or 0.0:.6g}", "failed": str(self.failed)}
        return {name: [terminal_safe(cell)] * (self.index is not None) for name, cell in cells.items()}

    def line(self) -> str:
        """Guarantee, mechanism, unit of privacy, in one line."""
        warning = "" if self.secure else "  [seeded randomness: for tests, not private]"
        promised = self.guarantee.as_pure() or self.guarantee
        return terminal_safe(f"{promised} for one {self.unit} ({self.neighbours}) by {self.mechanism}{warning}")

    def __str__(self) -> str:
        said = text_table(self.texts()) if self.index is not None else "nothing was run"
        return "\n".join([said, "", self.line(), *map(terminal_safe, self.notes)])

    def __repr__(self) -> str:
        said = "nothing was run" if self.index is None else f"candidate {self.index}"
        return f"<Best: {said}: {self.line()}>"

    def _repr_html_(self) -> str:
        return html_table(self.texts(), [self.line(), *self.notes])

    def to_json(self) -> str:
        """Everything in it but `output` as one line of JSON, for `from_json`.

        Raises
        ------
        ValueError
            for a candidate that is no text, number, truth value, date, tuple of these, or mapping from text to these.
        """
        return io.json_line(BEST.write({name: getattr(self, name) for name in FIELDS}), strict=True)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The value whose `text` `to_json` wrote; its `output` is None.

        Raises
        ------
        ValueError
            in one sentence, for a text that is none, is damaged, or is of a version that is not known here.
        """
        return cls(output=None, **BEST.read_text(text, _check_agreement))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_json()` to a file: whole or not at all, and a new one for its owner alone."""
        io.write_text(io.path_text(path, "best.json"), self.to_json() + "\n")


def _write_candidate(candidate: Any) -> Any:
    """A label, or the parameters of a model by name."""
    if isinstance(candidate, Mapping):
        if not all(type(name) is str for name in candidate):
            raise ValueError("a candidate has names that are no text, which JSON would lose; use pickle")
        return {"parameters": {name: _write_candidate(value) for name, value in candidate.items()}}
    return io.LABEL.write(candidate)


def _read_candidate(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"parameters"} and isinstance(value["parameters"], dict):
        return {name: _read_candidate(one) for name, one in value["parameters"].items()}
    return io.LABEL.read(value)


FIELDS: dict[str, io.Codec] = {
    "candidate": io.Codec(_write_candidate, _read_candidate),
    "index": io.optional(io.WHOLE),
    "score": io.optional(io.REAL),
    "failed": io.FLAG,
    **{name: io.COMMON[name] for name in ("guarantee", "charge", "mechanism", "why", "notes", "unit", "neighbours",
                                          "secure", "receipt")},
}  # fmt: skip
"""What stands in JSON: all but the output."""


def _check_agreement(content: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(content["guarantee"], Tuned):
        raise io.Damaged("guarantee: that of tuning is wanted")
    if (content["index"] is None) != (content["score"] is None):
        raise io.Damaged("score and index do not agree")
    return content


BEST = io.Document(FORMAT, "result of tuning", "best.to_json()", io.part(FIELDS))

CLOSE = 1e-3
"""How near, relatively, gamma comes to the best one where that has no closed form; the guarantee it has is exact."""

NO_GUARANTEE = "say what one run of train promises for output, score and failures together: guarantee=PureDP(0.5)"


@dataclass(frozen=True, slots=True)
class Grid:
    """Candidates, kept as they were given whatever `train` does to its own, and their weights as running sums."""

    candidates: tuple[Any, ...]
    sums: list[int]

    @classmethod
    def of(cls, grid: object, weights: object) -> Grid:
        """Refuses an empty grid, candidates that cannot be copied, and weights that are not positive."""
        if not isinstance(grid, Iterable) or isinstance(grid, str | bytes):
            raise TypeError("grid must be a list of candidates: write grid=[0.1, 1.0, 10.0], for example")
        try:
            candidates = tuple(copy.deepcopy(one) for one in grid)
        except Exception:  # a candidate's own method may raise anything
            raise TypeError("grid must be of candidates that can be copied: numbers, text or mappings") from None
        if not candidates:
            raise ValueError("grid must not be empty: write grid=[0.1, 1.0, 10.0], for example")
        shares = [Fraction(1)] * len(candidates) if weights is None else check_weights("weights", weights)
        if len(shares) != len(candidates):
            raise ValueError("weights must be one positive number for each candidate, or be left out")
        return cls(candidates, tuned.whole_shares(shares))


def one_run(guarantee: object, grid: Grid) -> Guarantee:
    """Return what one run promises: one guarantee for all candidates, or one for each, mixed by the weights."""
    if isinstance(guarantee, Guarantee):
        return guarantee
    each: Sequence[Any] = ()
    if isinstance(guarantee, Mapping):
        if not all(isinstance(one, Hashable) and one in guarantee for one in grid.candidates):
            raise ValueError("guarantee must have an entry for every candidate, {0.1: PureDP(0.5), ..}, or one for all")
        each = [guarantee[one] for one in grid.candidates]
    elif isinstance(guarantee, Sequence):
        each = guarantee
    if len(each) != len(grid.candidates) or not all(isinstance(one, Guarantee) for one in each):
        raise TypeError(NO_GUARANTEE)
    together: dict[Guarantee, int] = {}
    for one, (below, above) in zip(each, pairwise([0, *grid.sums]), strict=True):
        together[one] = together.get(one, 0) + above - below
    if len(together) == 1:
        return next(iter(together))
    common = math.gcd(*together.values())
    return Mixed(tuple((one, share // common) for one, share in together.items()))


def runs_within(base: Guarantee, budget: Budget, eta: float, cap: int | None) -> RunLaw:
    """The negative binomial law of the largest mean whose guarantee fits the budget; checked.

    Raises
    ------
    ValueError
        if one run alone costs more, or every number of runs fits.
    """

    def law(gamma: float) -> RunLaw:
        runs = NegativeBinomial(gamma=gamma, eta=eta)
        return runs if cap is None else Capped(runs, cap)

    nearly_one, least = 1 - 2.0**-30, NegativeBinomial(mean=math.nextafter(tuned.MOST_RUNS, 0), eta=eta).gamma
    pure = base.as_pure()
    if isinstance(budget, PureDP) and pure is not None and cap is None:
        epsilon, most = pure.epsilon, budget.epsilon
        fits: Callable[[float], bool] = lambda gamma: (tuned.pure_cost(law(gamma), epsilon) or math.inf) <= most  # noqa: E731
        _check_ends(fits(nearly_one), fits(least))
        return law(bisect(fits, least, nearly_one, neighbours)[1])

    def excess(log_gamma: float) -> float:
        return min(max(_beyond(budget, Tuned(base, law(math.exp(log_gamma)))), -50.0), 50.0)

    def fits_exactly(log_gamma: float) -> bool:
        return budget.excess(Tuned(base, law(min(math.exp(log_gamma), nearly_one)))) <= 0

    ends = [(log_gamma, excess(log_gamma)) for log_gamma in (math.log(least), math.log(nearly_one))]
    _check_ends(ends[1][1] <= 0, ends[0][1] <= 0)
    enough = find_crossing(excess, ends[0], ends[1], CLOSE)[1]
    while not fits_exactly(enough):  # where a delta fits, the epsilon may be a rounding too large
        _check_ends(enough < 0, False)
        enough += 0.1 * CLOSE
    return law(min(math.exp(enough), nearly_one))


def _beyond(budget: Budget, guarantee: Guarantee) -> float:
    """Above 0 if it does not fit: by the delta where there is one, which is one look where an epsilon is a search.

    Roots of -ln delta are nearly straight lines, as those of Gaussian tails are.
    """
    if isinstance(budget, ApproxDP) and budget.epsilon and budget.delta:
        delta = max(guarantee.delta_at(budget.epsilon), 1e-320)
        return math.sqrt(-math.log(budget.delta)) - math.sqrt(-math.log(delta))
    return budget.excess(guarantee)


def _check_ends(one_fits: bool, all_fit: bool) -> None:
    if not one_fits:
        raise ValueError("one run alone costs more than the budget allows: give a larger budget, or train with less")
    if all_fit:
        raise ValueError("every number of runs fits this budget: say how many, runs=sl.NegativeBinomial(mean=100)")


TOLD = "how long it took, and what train itself printed, is not protected: both tell how many runs there were"
PADDED = "as many trainings were run whatever was drawn; what train itself printed is not protected"
NOTHING = "nothing was run: with Poisson and binomial numbers of runs that happens"
FAILED = "the winner failed, and so did or scored -inf every other run: try train by sl.testing.rehearse on public data"


Run = tuple[float, int, Any, bool]
"""What is kept of one run: score, place, output and whether it failed. Failures are outcomes like others."""


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
    source, options = check_source(rng), Grid.of(grid, weights)
    check_ledger(ledger)
    base = one_run(guarantee, options)
    law = _law(base, runs, budget, eta, cap)
    promised = Tuned(base, law)
    if budget is not None and check_budget(budget).excess(promised) > 0:
        raise ValueError(f"runs must fit the budget {budget}: give fewer runs on average, or leave runs= out")
    if check_flag("pad", pad) and law.most is None:
        raise ValueError("pad needs a largest number of runs: write cap=50 too, or runs=sl.Binomial(20, 0.5)")
    many = law.most if pad else None  # how many trainings are always run
    if neighbours not in ("add-remove", "replace"):
        raise ValueError('neighbours must be "add-remove" or "replace"')
    if not isinstance(unit, str):
        raise TypeError('unit must be text: write unit="person", for example')
    charge: Guarantee = promised if delta is None else promised.as_approx(delta)
    name = f"best of a random number of runs, {law}"
    reservation = None
    if ledger is not None:
        reservation = ledger.reserve(charge, purpose=purpose, mechanism=name, unit=f"{unit} ({neighbours})")
    score, place, output, failed = _best(train, options, law, many, source) or (None, None, None, False)
    return Best(
        candidate=None if place is None else options.candidates[place],
        index=place,
        output=output,
        score=score,
        failed=failed,
        guarantee=promised,
        charge=charge,
        mechanism=name,
        why="named by the caller" if runs is not None else f"the largest mean that fits {budget}",
        notes=(TOLD if many is None else PADDED, *([NOTHING] if place is None else [FAILED] * failed)),
        unit=unit,
        neighbours=neighbours,
        secure=source.secure,
        receipt=None if reservation is None else reservation.receipt(),
    )


def _law(base: Guarantee, runs: RunLaw | None, budget: Guarantee | None, eta: float | None, cap: int | None) -> RunLaw:
    """The law of the number of runs that was given, capped where a cap is; or the largest that fits the budget."""
    if runs is None:
        if budget is None:
            raise TypeError("give runs=sl.NegativeBinomial(mean=10, eta=0), or budget=, for example budget=PureDP(1.0)")
        return runs_within(base, check_budget(budget), 0.0 if eta is None else eta, cap)
    if eta is not None:
        raise TypeError("eta belongs to the law that budget= chooses: write runs=sl.NegativeBinomial(mean=9, eta=0)")
    if not isinstance(runs, RunLaw):
        raise TypeError("runs must be sl.NegativeBinomial(mean=10, eta=0), sl.Poisson(10) or sl.Binomial(20, 0.5)")
    if cap is None:
        return runs
    if isinstance(runs, Capped):
        raise TypeError("cap must be said once: leave cap= out, or give the law without one")
    return Capped(runs, cap)


def check_budget(budget: object) -> Budget:
    """PureDP, ZCDP or ApproxDP."""
    if not isinstance(budget, PureDP | ZCDP | ApproxDP):
        raise TypeError("budget must be PureDP(..), ZCDP(..) or ApproxDP(..), for example budget=ApproxDP(4.0, 1e-6)")
    return budget


def _best(train: Callable[[Any], Any], grid: Grid, law: RunLaw, many: int | None, source: Source) -> Run | None:
    """The first of the largest score among those that count; the others are forgotten as soon as they are done."""
    stream = WordStream(source)
    counting = tuned.draw_number(law, stream)
    best: Run | None = None
    for n in range(counting if many is None else many):
        place = tuned.draw_place(grid.sums, stream)
        run = _run(train, grid, place)
        if n < counting and (best is None or run[0] > best[0]):
            best = run
    return best


def _run(train: Callable[[Any], Any], grid: Grid, place: int) -> Run:
    """One call; whatever it raises is an outcome, and nothing of it is kept. Interrupts and exits go through."""
    try:
        output, score = train(copy.deepcopy(grid.candidates[place]))  # what a run writes there is nobody else's
        return _as_score(score), place, output, False
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException:  # what it says may be private, and time limits of some libraries are no Exception
        return -math.inf, place, None, True


def _as_score(score: Any) -> float:
    """The score as a float; -inf if it is NaN or no number."""
    if isinstance(score, int) and abs(score) > 1 << 1000:
        return math.inf if score > 0 else -math.inf
    try:
        value = -math.inf if isinstance(score, str | bytes) else float(score)
    except Exception:
        return -math.inf
    return -math.inf if math.isnan(value) else value
