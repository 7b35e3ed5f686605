"""The noisy choice on every small data set with every person, by its certified law and the library's own bars."""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, permutations, product
from math import exp, log

import pytest
from flint import ctx

from shortlist import ZCDP, ApproxDP
from shortlist.audit import prove_mechanism
from shortlist.audit.certified import base, unknown_domain
from shortlist.exact.thresholds import weight
from shortlist.mechanisms import KeySet, NamesChoice
from shortlist.mechanisms.partition import Branch, list_branch, set_branch
from tests.helpers.support import full_size, sized

NOTHING = Fraction(0)


def bare(k, limit, budget):
    """A set with its bar alone: no slack, no crowds."""
    found = set_branch(k, limit, budget, NOTHING)
    return replace(found, marks=found.marks[:1])


def kth(k, budget):
    """A key set, compared by the k-th count."""
    return Branch("keys", KeySet(budget=budget, values=False), ((k, NOTHING),), 0, 0.0)


def chances(branches, rate, counts):
    with ctx.workprec(base.PRECISION):
        return [float(one) for one in unknown_domain.choices(branches, Fraction(rate), counts)]


@pytest.mark.parametrize(
    ("counts", "k", "limits", "delta", "chosen", "outcomes"),
    [
        ([7, 5, 4, 3, 3, 1], 2, (2, 4), 0.01, [0.24696505, 0.23319261, 0.51984233],
         {(0, ()): 0.24158179, (1, ()): 0.22920527, (0, (0,)): 0.00375646}),
        ([30, 22, 21, 20, 9, 3, 3, 1], 3, (6, 7), 1e-4, [0.31805078, 0.36725598, 0.31469324],
         {(1, (0, 1, 2)): 0.10769106, (0, (0, 1, 2)): 0.04984211}),
    ],
)  # fmt: skip
def test_the_choice_and_what_follows_have_their_known_chances(counts, k, limits, delta, chosen, outcomes):
    budget = ApproxDP(0.9, delta)
    sets = [bare(k, limit, budget) for limit in limits]
    found = chances([*sets, kth(k, budget)], Fraction(1, 10), counts)
    assert found == pytest.approx(chosen, abs=3e-8)
    for (which, names), chance in outcomes.items():
        law = unknown_domain.sets_law(sets[which].mechanism, counts).chances
        assert found[which] * float(law[names]) == pytest.approx(chance, abs=3e-8)


def test_offsets_of_sets():
    found = {(k, limit): set_branch(k, limit, ApproxDP(1.0, 1e-6), NOTHING).offset - 1
             for k, limit in ((5, 10), (5, 160), (5, 2560), (10, 80), (30, 960))}  # fmt: skip
    known = {(5, 10): 23.850, (5, 160): 40.439, (5, 2560): 56.782, (10, 80): 49.522, (30, 960): 170.283}
    assert found == pytest.approx(known, abs=6e-4)


def histograms(labels, top):
    """Every histogram, best first, with every person who may be added."""
    for counts in product(range(top + 1), repeat=labels):
        if list(counts) == sorted(counts, reverse=True):
            for person in product((0, 1), repeat=labels):
                if any(person):
                    yield counts, tuple(a + b for a, b in zip(counts, person, strict=True))


def sticks(law, pairs, epsilon):
    """The largest hockey stick, both ways."""
    worst = 0.0
    for one, two in pairs:
        for here, there in ((law(one), law(two)), (law(two), law(one))):
            worst = max(worst, sum(max(0.0, p - exp(epsilon) * there.get(key, 0.0)) for key, p in here.items()))
    return worst


def mixture(branches, rate):
    @cache
    def law(counts):
        with ctx.workprec(base.PRECISION):
            found = unknown_domain.law_of_mixture(branches, Fraction(rate), counts, None, in_order=False)
            return {key: float(chance) for key, chance in found.chances.items()}

    return law


SETTINGS = [
    (1, (1, 2, 3), 0.3, 1.0, 0.05), (2, (2, 3), 0.3, 1.0, 0.05), (2, (2, 3), 0.5, 0.5, 0.2),
    (1, (1, 3), 1.0, 0.5, 0.3), (2, (2, 3, 4), 0.2, 2.0, 0.01),
]  # fmt: skip


@pytest.mark.parametrize(("k", "limits", "rate", "epsilon", "delta"), SETTINGS)
def test_a_choice_of_limits_keeps_the_sum_and_one_delta(k, limits, rate, epsilon, delta):
    branches = [bare(k, limit, ApproxDP(epsilon, delta)) for limit in limits]
    worst = sticks(mixture(branches, rate), list(histograms(4, 3)), rate + epsilon)
    assert 0 < worst < delta


def test_a_key_set_that_says_nothing_has_its_share_of_the_choice():
    k, limits, rate, epsilon, delta = SETTINGS[0]
    budget = ApproxDP(epsilon, delta)
    sets = [bare(k, limit, budget) for limit in limits]

    @cache
    def law(counts):
        *parts, silent = chances([*sets, kth(k, budget)], rate, counts)
        found = {None: silent}
        for one, part in zip(sets, parts, strict=True):
            named = unknown_domain.sets_law(one.mechanism, counts).chances
            found |= {(one.row, names): part * float(chance) for names, chance in named.items()}
        return found

    assert sticks(law, list(histograms(4, 3)), rate + epsilon) == pytest.approx(0.0155, abs=5e-5)


@pytest.mark.parametrize(("k", "limits", "rate", "epsilon", "delta"), [
    (2, (2, 3), 0.5, 0.5, 0.2), (1, (1, 3), 0.7, 0.5, 0.3), (2, (2, 4), 1.0, 1.0, 0.4),
])  # fmt: skip
def test_the_range_of_the_choice_is_its_price_exactly(k, limits, rate, epsilon, delta):
    """With crowds, a list and slack: all bars move by 0 to 1, and some by 0 where others move by 1."""
    budget, slack = ApproxDP(epsilon, delta), 1 / Fraction(rate)
    branches = [
        *(set_branch(k, limit, budget, slack) for limit in limits),
        list_branch(k, max(limits), budget, slack, in_order=False),
    ]

    @cache
    def shares(counts):
        return chances([*branches, kth(k, budget)], rate, counts)

    widest = 0.0
    for one, two in histograms(4, 4):
        moved = [log(a / b) for a, b in zip(shares(one), shares(two), strict=True)]
        widest = max(widest, max(moved) - min(moved))
    assert widest == pytest.approx(rate, abs=1e-12)
    assert sticks(mixture(branches, rate), list(histograms(4, 3)), rate + epsilon) < delta


@pytest.mark.parametrize(
    "mechanism",
    [
        NamesChoice(k=2, epsilon=2.0, delta=0.2),
        NamesChoice(k=2, epsilon=1.0, delta=0.1, limit=2),
        NamesChoice(k=2, budget=ZCDP(0.5, 0.2)),
        NamesChoice(k=1, budget=ZCDP(0.5, 0.2), limit=2),
    ],
    ids=repr,
)
def test_the_whole_is_proved_on_a_box(mechanism):
    proof = prove_mechanism(mechanism, d=4, top=2)
    assert proof.holds, proof.violation
    much = mechanism.guarantee
    less = ZCDP(much.rho / 3, 0.01) if isinstance(much, ZCDP) else ApproxDP(much.epsilon / 3, 0.01)
    assert not prove_mechanism(mechanism, d=4, top=2, claim=less).holds


PEOPLE = [set_ for set_ in product((0, 1), repeat=3) if any(set_)]


def columns(crowd):
    """(counts, weights) of three labels that these people hold."""
    counts, weights = [0, 0, 0], [0, 0, 0]
    for person in crowd:
        for i in range(3):
            counts[i] += person[i]
            weights[i] += person[i] * weight(sum(person))
    return tuple(counts), tuple(weights)


def first_by_name(pair):
    """Of all pairs that differ by the names of the three labels alone, the first: their laws differ by names too."""
    return min(
        tuple(tuple(tuple(column[i] for i in order) for column in both) for both in pair)
        for order in permutations(range(3))
    )


@full_size
@pytest.mark.parametrize(("rate", "epsilon", "delta"), [(0.3, 0.9, 0.05), (1.0, 0.5, 0.2)])
def test_counts_and_weights_together_keep_the_sum_and_one_delta(rate, epsilon, delta):
    """Every crowd of up to three people with every fourth, in the suite up to the names of labels: sets at two limits,
    a list, and a key set of weights."""
    budget, slack = ApproxDP(epsilon, delta), 1 / Fraction(rate)
    keys = KeySet(budget=budget, values=False, k=3)
    branches = [
        set_branch(1, 1, budget, slack), set_branch(1, 2, budget, slack),
        list_branch(1, 2, budget, slack, in_order=False), Branch("keys", keys, ((1, NOTHING),), 0, 0.0),
    ]  # fmt: skip

    @cache
    def law(both):
        with ctx.workprec(base.PRECISION):
            found = unknown_domain.law_of_mixture(branches, Fraction(rate), *both, in_order=False)
            return {key: float(chance) for key, chance in found.chances.items()}

    crowds = [crowd for size in range(4) for crowd in combinations_with_replacement(PEOPLE, size)]
    every = {(columns(crowd), columns((*crowd, person))) for crowd in crowds for person in PEOPLE}
    pairs = sized({first_by_name(pair) for pair in every}, full=every)
    worst = sticks(law, pairs, rate + epsilon)
    assert 0 < worst < delta
    assert sticks(law, pairs, 0.9 * epsilon) > 0.3 * delta  # it can fail
