"""Few classes of subsets: each is proposed by a weight above its mass, and refused by what is too much."""

from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest
from flint import arb

from shortlist._arrays import Runs
from shortlist.exact import subsets
from shortlist.sampling import sets
from shortlist.sampling import subsets as subset_few
from tests.helpers.inside import Seeded, WordStream, ball, rank_scores
from tests.helpers.typed import of_kind

SCORES: dict[str, Any] = {
    "near": [9, 8, 7, 7, 6, 5, 3],
    "flat": [4] * 9,
    "far": [2**40, 2**40, 900, 3, 0, 0, -(2**40)],
    "floats": [0.5, 3.25, -1.0, 2.75, 3.0, 0.125, 1e-9],
}


class Tickets(WordStream):
    """A stream whose integers below a bound are given."""

    __slots__ = ("given",)

    def __init__(self, *given: int) -> None:
        self.given = list(given)

    def below(self, bound: int) -> int:
        ticket = self.given.pop(0)
        assert 0 <= ticket < bound
        return ticket


def of(
    scores: Any, k: int, gamma: Fraction, rate: Fraction = Fraction(1, 2)
) -> tuple[subsets.Ranking, subset_few.FewClasses]:
    ranking = rank_scores(np.array(scores), k, rate, gamma, gap_aware=True)
    return ranking, of_kind(subset_few.FewClasses, sets.proposals_of(ranking))


@pytest.mark.parametrize("gamma", [Fraction(3, 5), Fraction(1)])
@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("rate", [Fraction(1, 50), Fraction(2)])
def test_every_class_has_a_chance_in_proportion_to_its_exact_mass(scores, gamma, rate):
    """P[proposed] P[accepted] = 2^shift C(i + j, i) e^-loss / total of each, exactly; neither is above 1."""
    k, d = 3, len(SCORES[scores])
    ranking, few = of(SCORES[scores], k, gamma, rate)
    before, seen = 0, set()
    for row, end in enumerate(few.upto):
        upto = few._upto(row).tolist()
        for start, stop in zip([0, *upto[:-1]], upto, strict=True):
            proposal = few.propose(Tickets(end - 1, stop - 1))
            again, (i, j) = few.propose(Tickets(before, start)), proposal.choice
            assert (again.choice, again.low, again.high) == (proposal.choice, proposal.low, proposal.high)
            seen.add((i, j))
            proposed = ball(Fraction(end - before, few.total) * Fraction(stop - start, upto[-1]))
            loss = ranking.loss(i, k - ranking.merges + j)
            mass = arb(comb(i + j, i)) * (-ball(loss)).exp()
            wanted = mass * ball(Fraction(2) ** few.shift / few.total)
            assert (proposed * proposal.chance()).overlaps(wanted)
            assert proposal.chance() <= 1
            assert proposal.low <= float(proposal.chance().log()) <= proposal.high
        before = end
    rows = [k - 1] if gamma == 1 else list(range(k))
    assert seen == {(i, j) for i in rows for j in range(ranking.merges, d - k + ranking.merges)}


def test_heavy_classes_are_hardly_ever_refused():
    _, few = of(np.floor(1e3 / np.arange(1, 60) ** 0.8).astype(np.int64), 5, Fraction(3, 5), Fraction(1, 100))
    stream = WordStream(Seeded(11))
    assert min(few.propose(stream).low for _ in range(300)) > -1e-4


def test_many_classes_are_left_to_cells(monkeypatch):
    ranking, few = of(SCORES["near"], 3, Fraction(3, 5))
    monkeypatch.setattr(subset_few, "FEW", 11)
    assert subset_few.falls_if_few(few.classes) is None
    assert isinstance(sets.proposals_of(ranking), subset_few.Envelope)


def test_runs_of_equal_scores_are_the_same_classes():
    scores = np.array(SCORES["near"])
    values, sizes = np.unique(-scores, return_counts=True)
    few = of_kind(
        subset_few.FewClasses,
        sets.proposals_of(rank_scores(Runs.of(-values, sizes), 3, Fraction(1, 2), Fraction(3, 5), gap_aware=True)),
    )
    assert few.upto == of(scores, 3, Fraction(3, 5))[1].upto


def test_what_is_kept_depends_on_public_sizes_alone():
    subset_few.log_sizes.cache_clear()
    subset_few._sizes.cache_clear()
    for scores in ([5, 4, 3, 2, 1, 0], [10, 10, 10, 0, 0, 0]):
        of(scores, 2, Fraction(1, 2))
    assert subset_few._sizes.cache_info().currsize == subset_few.log_sizes.cache_info().currsize == 1
