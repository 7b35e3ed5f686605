"""What the constructors and questions of mechanisms accept: checked once, refused in words, no private value shown."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from dataclasses import fields
from fractions import Fraction
from typing import Any, TypeVar, cast

import numpy as np

from shortlist._arrays import Values
from shortlist.accounting.checks import number, up
from shortlist.exact.noise_distributions import EXPONENTIAL, GUMBEL, Noise, noise_named
from shortlist.privacy import ZCDP, ApproxDP, Guarantee, Ledger, PureDP
from shortlist.sampling.entropy import SECURE, Secure, Seeded, Source
from shortlist.scores import Scores

Budget = PureDP | ZCDP | ApproxDP
"""What may be paid with."""
Paid = TypeVar("Paid", PureDP, ZCDP, ApproxDP, Budget)


def check_ledger(ledger: object) -> None:
    """Refuse what is neither a ledger nor None."""
    if ledger is not None and not isinstance(ledger, Ledger):
        raise TypeError('ledger must be a Ledger: write ledger=Ledger("budget.db")')


def checked_source(rng: object) -> Source:
    """The secure source for None; of other sources only seeded ones of ours."""
    if rng is None:
        return SECURE
    if isinstance(rng, Secure | Seeded):
        return rng
    raise TypeError("rng must be None (secure) or sl.testing.seeded(n) (tests only); other generators leak")


def checked_budget(
    epsilon: float | None, budget: Guarantee | None, scale: float | None = None, rounds: int = 1
) -> Budget:
    """`epsilon=` is short for `budget=PureDP(epsilon)`; one of them must be given, or both saying the same,
    as `dataclasses.replace` does.

    `scale=` is short for the epsilon of which noise of that scale, in units of R, pays for so many rounds.
    """
    if scale is not None:
        if epsilon is not None or budget is not None:
            raise TypeError("scale= says what it costs: leave epsilon= and budget= out, or leave scale= out")
        epsilon = up(rounds / Fraction(number("scale", scale, above=True)))
    short = None if epsilon is None else PureDP(epsilon)
    if short is not None and budget in (None, short):
        return short
    if (epsilon is None) == (budget is None):
        both = "" if budget is None else "; dataclasses.replace takes budget=PureDP(1.0)"
        raise TypeError(f"give either epsilon= or budget=, for example epsilon=1.0{both}")
    if not isinstance(budget, PureDP | ZCDP | ApproxDP):
        raise TypeError("budget must be PureDP(..), ZCDP(..) or ApproxDP(..), for example budget=PureDP(1.0)")
    return plain_budget(budget)


def plain_budget(budget: Paid) -> Paid:
    """The same number in its family itself: a class made of it may say that it costs less than what is drawn for it."""
    families: tuple[type[Guarantee], ...] = (PureDP, ZCDP, ApproxDP)
    if type(budget) in families:
        return budget
    family: Any = next(one for one in families if isinstance(budget, one))
    return cast(Paid, family(*(getattr(budget, one.name) for one in fields(family))))


def checked_pure(
    mechanism: str, epsilon: float | None, budget: Guarantee | None, scale: float | None = None, rounds: int = 1
) -> PureDP:
    """A pure budget, or the reason why no other is possible."""
    budget = checked_budget(epsilon, budget, scale, rounds)
    if not isinstance(budget, PureDP):
        raise TypeError(f"{mechanism} keeps pure budgets only (a gap has no bounded range); write epsilon=1.0")
    return budget


def checked_k(k: object) -> int:
    """A whole number of items, 1 or more."""
    return _checked_whole("k", k, "k=10")


def checked_draws(draws: object) -> int:
    """A whole number of draws, 1 or more."""
    return _checked_whole("draws", draws, "draws=1000")


def _checked_whole(name: str, value: object, example: str) -> int:
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} must be a whole number, for example {example}") from None
    if number < 1:
        raise ValueError(f"{name} must be at least 1")
    return number


def checked_weights(name: str, weights: object) -> list[Fraction]:
    """Public positive numbers, exactly as given."""
    if not isinstance(weights, Iterable) or isinstance(weights, str | bytes):
        raise TypeError(f"{name} must be one positive number for each candidate: write {name}=[1, 2, 1], for example")
    return [_checked_weight(name, one) for one in weights]


def _checked_weight(name: str, weight: object) -> Fraction:
    plain = weight.item() if isinstance(weight, np.generic) else weight
    if isinstance(plain, int | float | Fraction) and not isinstance(plain, bool) and 0 < plain < math.inf:
        return Fraction(plain)
    raise ValueError(f"{name} must be positive numbers: write {name}=[1, 2, 1], for example")


def checked_threshold(threshold: object) -> int | float:
    """A finite number, exactly as given."""
    value = threshold.item() if isinstance(threshold, np.generic) else threshold
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("threshold must be a number, for example threshold=100")
    if not -(2**63) <= value < 2**63 if isinstance(value, int) else not math.isfinite(value):
        raise ValueError("threshold must be finite, and a whole one must fit into 64 bits; write threshold=100")
    return value


def checked_noise(noise: str | Noise) -> Noise:
    """A noise by its name, or as it is."""
    return noise if isinstance(noise, Noise) else noise_named(noise)


def noise_for(noise: str | Noise | None, budget: Budget) -> Noise:
    """The noise that was said; where none was, exponential for a pure budget and Gumbel for any other."""
    if noise is not None:
        return checked_noise(noise)
    return EXPONENTIAL if isinstance(budget, PureDP) else GUMBEL


def check_noise_keeps(noise: Noise, budget: Budget) -> None:
    """Refuse a budget that is not pure for noise without a bounded range."""
    if not isinstance(budget, PureDP) and not noise.bounded_range:
        raise ValueError(f'{noise.name} noise keeps pure budgets only; for {budget} write noise="gumbel"')


def checked_work(work: object) -> None:
    """Refuse a word for the work that is not known."""
    if not isinstance(work, str) or work not in ("adaptive", "fixed"):
        raise ValueError('work must be "adaptive" (fast) or "fixed" (the same for all scores)')


def check_known_candidates(scores: Scores, k: int) -> None:
    """The candidates must be public, and at least k of them choosable."""
    if not scores.public:
        raise ValueError(
            "the names come from the data, and that needs a delta: write delta=1e-6 too; or, if the list of names is "
            "public knowledge, candidates=[...] where the rows are counted, public=True for scores of your own"
        )
    if k > scores._size:
        raise ValueError(f"k={k} is more than the {scores._size} candidates; choose a smaller k")
    if scores._values is not None and not _at_least(scores._values, k):
        raise ValueError(f"k={k} is more than the candidates that may be chosen (those above -inf)")


def _at_least(values: Values, k: int) -> bool:
    """Whether at least k values are above -inf, looking no further than needed."""
    if values.dtype.kind != "f":
        return True
    count = 0
    for start in range(0, len(values), 1 << 16):
        count += int(np.count_nonzero(values[start : start + (1 << 16)] > -np.inf))
        if count >= k:
            return True
    return False


def check_studied(scores: Scores) -> None:
    """Exact utility and repeated draws are functions of the scores: they are for public scores."""
    if scores.from_table:
        raise ValueError(
            "this is computed from the scores themselves and would show people's data; if these scores are public or "
            "made up, say so: scores.as_public()"
        )
