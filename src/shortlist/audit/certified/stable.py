"""The certified distributions of large gaps, stable sets, votes and quantiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from math import ceil, log2
from typing import TYPE_CHECKING, Any

from flint import arb

from shortlist.audit.certified import sets, unknown_domain
from shortlist.audit.certified.base import Chances, Entry, Law, choice_law, gather, ordered_law, rational, set_law

if TYPE_CHECKING:
    from shortlist.mechanisms.quantiles import Quantile
    from shortlist.mechanisms.stable import LargeGap, StableTopK
    from shortlist.pate import PATE, MultiLabelPATE
    from shortlist.scores import Scores


RANKS = 1000
"""The last rank without a limit, where the list of candidates is not public."""


def large_gap_law(mechanism: LargeGap, scores: Scores) -> Law:
    """{rank: chance}."""
    return Law(rank_law(mechanism, scores, mechanism._scale(scores), "gaussian" if mechanism.sigma else "gumbel"))


def rank_law(mechanism: Any, scores: Scores, scale: Fraction, noise: str) -> dict[int, arb]:
    """{rank: chance}, from 1, by the limit and the regularizer of the mechanism; -inf is never chosen."""
    x = sorted((Fraction(value) for value in scores.values.tolist()), reverse=True)
    last = mechanism.limit or (len(x) - 1 if scores.public else RANKS)
    ranking = [*x, *[Fraction(0)] * (last + 1)]
    shifts = [_regularize(mechanism.regularizer, j) for j in range(1, last + 1)]
    able = [j for j in range(last) if shifts[j] > -math.inf]
    exponents = [(ranking[j] - ranking[j + 1] + Fraction(shifts[j])) / scale for j in able]
    if noise == "gumbel":
        return dict(zip((j + 1 for j in able), choice_law(exponents, noise), strict=True))
    return {able[i] + 1: chance for (i,), chance in ordered_law(exponents, 1, noise, 1).items()}


def _regularize(regularizer: Any, rank: int) -> Any:
    if regularizer is None:
        return 0
    value = regularizer(rank) if callable(regularizer) else regularizer[rank - 1]
    return value if isinstance(value, Fraction) else float(value)


def stable_law(mechanism: StableTopK, scores: Scores) -> Law:
    """(rank, its set or None): the set is named with the chance that its test passes, which a tie never does.

    Where it is filled up: (rank, whether the test passed, the labels).
    """
    counts, test = scores.values.tolist(), mechanism._parts.test
    unit = Fraction(scores.range_sensitivity)
    if mechanism.k is not None and not mechanism.fill:
        ranks = {mechanism.k: arb(1)}
    else:
        noise = "gaussian" if mechanism.sigma_1 else "gumbel"
        ranks = rank_law(mechanism, scores, mechanism._scale(scores), noise)
    order = sorted(range(len(counts)), key=lambda i: (-counts[i], i))
    chances: dict[Any, arb] = {}
    for j, chance in ranks.items():
        ranking = [*(counts[i] for i in order), *[0] * (j + 1)]
        lead = (Fraction(ranking[j - 1]) - Fraction(ranking[j])) / unit
        success = passing(str(mechanism.test), test, lead.numerator // lead.denominator)
        ways: dict[tuple[int, ...] | None, arb] = {None: chance * (1 - success)}
        if not success.is_zero():
            ways[tuple(sorted(order[:j]))] = chance * success
        for members, share in ways.items():
            if not mechanism.fill:
                chances[j, members] = share
                continue
            for labels, part in _fill(mechanism, scores, members or ()).items():
                chances[j, members is not None, labels] = share * part
    return Law(chances)


def _fill(mechanism: StableTopK, scores: Scores, stable: tuple[int, ...]) -> dict[tuple[int, ...], arb]:
    """k labels of the stable set, or that set and as many others as make k: canonical rounds."""
    k, counts = mechanism.k, scores.values.tolist()
    assert k is not None
    if len(stable) == k:
        return {stable: arb(1)}
    inside = len(stable) > k
    base = () if inside else stable
    among = list(stable) if inside else [i for i in range(len(counts)) if i not in stable]
    values, size = [counts[i] for i in among], k - len(base)
    one_round: Any = mechanism._filling(size, public=scores.public or inside)
    if mechanism.fill == "peeling":
        peeled = set_law(values, size, "gumbel", one_round._scale(scores))
        return {tuple(sorted((*base, *(among[i] for i in y)))): part for y, part in peeled.items()}
    if scores.public or inside:
        law = sets.sets_law(one_round, values, one_round._rate(scores))
    else:
        law = unknown_domain.sets_law(one_round, values)
    return {tuple(sorted((*base, *(among[i] for i in y)))): part for y, part in law.chances.items()}


def passing(name: str, test: Any, gap: int) -> arb:
    """The chance of passing, from the formulas (Theorem 102, 103): the optimal test by its recursion."""
    if gap == 0:
        return arb(0)
    if name == "gaussian":
        above = max(gap, test.slack) - test.slack
        far = (arb(test.z) - arb(rational(test.rate)) * arb(above)) / arb(2).sqrt()
        return far.erfc() / 2
    e, delta = arb(rational(test.epsilon)), arb(rational(test.delta))
    if name == "laplace":
        need = (1 / (2 * delta)).log() - e * (gap - 1)
        return (-need).exp() / 2 if need >= 0 else 1 - need.exp() / 2
    chance = arb(0)
    for _ in range(gap):
        steps = (e.exp() * chance + delta, 1 - (-e).exp() * (1 - chance - delta), arb(1))
        chance = min(steps, key=float)
    return chance


def pate_law(pate: MultiLabelPATE, counts: Sequence[int]) -> Law:
    """The set of labels, or None: k, or a rank by noise on the gaps; then the test, for gaps that move by 2."""
    ranking = [*sorted(counts, reverse=True), 0]
    gaps = [ranking[j] - ranking[j + 1] for j in range(len(counts))]
    if pate.k is None:
        noise = "gumbel" if pate.sigma_1 is None else "gaussian"
        won = ordered_law([gap / pate._scale for gap in gaps], 1, noise, 1)
        ranks = {j: chance for (j,), chance in won.items()}
    else:
        ranks = {pate.k - 1: arb(1)}
    outcomes: list[tuple[Any, arb]] = []
    for j, chance in ranks.items():
        success = passing("gaussian", pate._test, gaps[j])
        outcomes.append((None, chance * (1 - success)))
        if gaps[j]:
            outcomes.append((tuple(i for i, count in enumerate(counts) if count >= ranking[j]), chance * success))
    return Law(gather(outcomes))


def class_law(pate: PATE, counts: Sequence[int]) -> Law:
    """The class with the most votes: Gaussian noise of that deviation, or Gumbel noise of scale 2 / e.

    A vote that is replaced moves two counts.
    """
    if pate.sigma is not None:
        return Law(ordered_law(list(counts), 1, "gaussian", Fraction(pate.sigma)))
    whole = pate.query.as_pure()
    assert whole is not None
    return Law(ordered_law(list(counts), 1, "gumbel", 2 / Fraction(whole.epsilon)))


# Quantiles


def quantile_law(mechanism: Quantile, scores: Scores) -> Law:
    """{(place for each q): chance}, from the counts at each place and the stated q, noise and epsilon of a level."""
    wanted = mechanism.q if isinstance(mechanism.q, tuple) else (mechanism.q,)
    q = [Fraction(str(one)) for one in wanted]
    votes = [Fraction(count) for count in scores.values.tolist()]
    stated, noise = mechanism.votes_per_user, str(mechanism.noise)
    share = len(votes) * Fraction(scores.largest_sensitivity) if stated is None else Fraction(stated)
    rate = Fraction(mechanism.epsilon_of_a_level) / share
    if mechanism.levels != ceil(log2(len(q) + 1)):
        raise ArithmeticError("the number of levels is not that of the recursion")
    return Law(_part(votes, 0, q, Fraction(0), Fraction(1), rate, noise))


def _part(
    votes: list[Fraction], first: int, q: Sequence[Fraction], low: Fraction, high: Fraction, rate: Fraction, noise: str
) -> Chances:
    """The law of these q between low and high, on the points from the first on."""
    if not q:
        return {(): arb(1)}
    middle = len(q) // 2
    inside = (q[middle] - low) / (high - low)
    moved = Fraction(1) if inside in (0, 1) else 2 * max(inside, 1 - inside)
    people, table = sum(votes, start=Fraction(0)), {}
    scores = []
    for place in range(len(votes)):
        below = sum(votes[:place], start=Fraction(0))
        within = below + votes[place]
        scores.append(-max(below - inside * people, inside * people - within, Fraction(0)))
    chances = choice_law([rate / moved * score for score in scores], noise)
    for place, chance in enumerate(chances):
        half = votes[place] / 2
        before = _part([*votes[:place], half], first, q[:middle], low, q[middle], rate, noise)
        after = _part([half, *votes[place + 1 :]], first + place, q[middle + 1 :], q[middle], high, rate, noise)
        for head, one in before.items():
            for tail, two in after.items():
                table[*head, first + place, *tail] = chance * one * two
    return table


ENTRIES = (
    Entry("StableTopK", stable_law, ("stable", "all-or-nothing"), {"stable": {}}, inputs="histograms", sees_level=True),
    Entry("LargeGap", large_gap_law, examples={"large-gap": {}}, sees_level=True, ranks=True),
    Entry(
        "Quantile",
        quantile_law,
        examples={
            "quantile": {"q": 0.5, "votes_per_user": 1},
            "quantile-gumbel": {"q": 0.25, "noise": "gumbel", "votes_per_user": 1},
            "quantiles": {"q": (0.25, 0.5, 0.75), "votes_per_user": 1},
        },
        inputs="line",
        sees_level=True,
        size=lambda mechanism: 3,
    ),
    Entry("PATE", class_law, inputs="votes"),
    Entry("MultiLabelPATE", pate_law, inputs="votes", sees_level=True),
)
