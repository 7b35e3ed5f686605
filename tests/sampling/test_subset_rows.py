"""Classes of sets in rows: floats agree with the plain draw on the same words, and every rare way has the law."""

import numpy as np
import pytest

from shortlist.exact.noise import EXPONENTIAL, GUMBEL
from shortlist.sampling import sets as sampler
from shortlist.sampling import subset_rows
from shortlist.sampling import subset_rows as subset_weights
from shortlist.sampling.entropy import Seeded
from shortlist.sampling.sets import weights_for
from shortlist.sampling.subset_rows import NONE, OPEN, Deadlines, Record, first_in_rows, in_proportion, race_in_rows
from shortlist.sampling.subsets import first_proposal
from shortlist.sampling.uniforms import WordStream
from tests.helpers.subset_law import counted
from tests.helpers.support import assert_law
from tests.helpers.typed import present
from tests.mechanisms.canonical.test_sampler import CASES, Given, at_rate, kinds, law_of, leave_out, race_of, ranking_of

cases = pytest.mark.parametrize("case", [CASES[0], CASES[1], CASES[3], CASES[4], CASES[8]], ids=str)
DRAWS = 4_000


def assert_rows(case, noise, draws=DRAWS, seed=31):
    """Draws in rows have the law of all sets, and not that of another rate."""
    law, wrong = law_of(case, noise), at_rate(case, noise, 2.5)
    rows = race_of(case, noise).draw_many(Seeded(seed), draws)
    refuted = list(wrong.values()) if case is not CASES[8] else None
    assert_law(counted(rows, law), list(law.values()), wrong=refuted)


def weights(case, noise):
    return present(weights_for(ranking_of(case), DRAWS, top=noise == GUMBEL))


@kinds
@cases
def test_draws_in_rows_have_the_law(case, noise):
    assert_rows(case, noise, draws=20_000)


@pytest.mark.traced(False)
@cases
@pytest.mark.parametrize("halvings", [1, 3])
def test_a_race_in_floats_is_the_plain_race_on_the_same_words(case, halvings, monkeypatch):
    """Whatever a row has used, the plain draw finds the same class in, and uses no more of it."""
    monkeypatch.setattr(subset_weights.Weights, "halvings", halvings)
    here, draws, record = weights(case, EXPONENTIAL), 600, Record()
    words = Seeded(32).words(draws)
    record.add(np.arange(draws), words)
    opened: list[int] = []
    found = first_in_rows(here, Deadlines.uniform(words), record, Seeded(33), opened.append)
    assert not opened
    for row in range(draws):
        stream = WordStream(Given(), given=record.of(row))
        one = first_proposal(here, stream.uniform(), stream, halvings)
        assert (found.i[row], found.j[row]) == ((-1, 0) if one is None else (one.i, one.j))
        assert not stream._given


@cases
def test_proportions_in_floats_are_the_exact_ones_on_the_same_words(case, monkeypatch):
    here = weights(case, GUMBEL)
    quick = in_proportion(here, 500, Seeded(34))
    monkeypatch.setattr(subset_rows, "ROUNDING", 1e9)
    plain = in_proportion(here, 500, Seeded(34))
    assert np.array_equal(quick.i, plain.i)
    assert np.array_equal(quick.j[quick.i >= 0], plain.j[plain.i >= 0])


@kinds
@pytest.mark.parametrize(
    ("where", "name", "value"),
    [
        (subset_rows, "ROUNDING", 1e9),  # floats tell nothing
        (subset_rows, "ROUNDING", 0.03),  # they tell some
        (subset_rows, "LEAST", np.uint64(1 << 63)),
        (subset_rows, "SLICES", 1),
        (subset_rows, "ROUNDS", 1),
        (sampler, "APART", 62),  # many words are beyond the last multiple of the tickets
        (sampler, "APART", 4),  # weights so rough that the top k is accepted now and then
        (subset_weights, "GUIDE", 1),
        (sampler, "BLOCK", 64),
        (sampler, "MOST_MEMBERS", 1),  # one by one
        (sampler, "MOST_SHIFT", -99),
    ],
    ids=[
        "never sure",
        "often unsure",
        "short words",
        "one slice",
        "one round",
        "beyond the tickets",
        "rough weights",
        "no guide",
        "small blocks",
        "one by one",
        "too large for floats",
    ],
)
def test_every_rare_way_has_the_law(noise, where, name, value, monkeypatch):
    monkeypatch.setattr(where, name, value)
    assert_rows(CASES[3], noise, draws=1_200)


@pytest.mark.traced(False)
@kinds
def test_what_the_sieve_leaves_out_comes_back_in_rows(noise, monkeypatch):
    leave_out(monkeypatch, below=0.6)
    assert present(weights(CASES[3], noise)).envelope.residual
    assert_rows(CASES[3], noise, draws=1_500)


def test_classes_are_weighed_one_by_one_only_where_that_pays(monkeypatch):
    monkeypatch.setattr(sampler, "FEW_CLASSES", 0)
    ranking = ranking_of(CASES[3])  # 3 of 7: 12 classes
    assert weights_for(ranking, 0, top=True) is None
    assert weights_for(ranking, 1, top=True) is not None
    monkeypatch.setattr(sampler, "MOST_CLASSES", 11)
    assert weights_for(ranking, 1, top=True) is None


def test_a_ticket_finds_its_class_and_a_word_beyond_the_last_multiple_none():
    here = weights(CASES[3], GUMBEL)
    tickets = np.append(0, here.edges[:-1])
    beyond = (1 << 64) // here.tickets * here.tickets
    words = np.append(tickets.astype(np.uint64), np.array([beyond - 1, beyond], np.uint64))
    assert here.find(words).tolist() == [NONE, *range(len(here.i) - 1), len(here.i) - 2, OPEN]
    race = weights(CASES[3], EXPONENTIAL)
    last = (1 << 64) // race.tickets * race.tickets
    assert race.propose(WordStream(Given(), given=[last, last + 1, last - 1])).j == race.j[-2]


def test_further_bits_of_a_number_are_never_words_that_were_given():
    stream = WordStream(Given(5, 6), ahead=1, given=[1, 2])
    number = stream.uniform()
    number.refine()
    assert number.value == (1 << 64) + 5
    assert [stream.word(), stream.word()] == [2, 6]


def test_deadlines_that_are_too_close_say_nothing():
    words = np.array([1 << 63, 1 << 63, 1 << 63, 5], np.uint64)
    top = Deadlines.uniform(words)
    late = Deadlines(np.array([0.5, 0.25, 0.75, 0.5]), np.full(4, 1e-9))
    due, second = top.or_earlier(late)
    assert np.isinf(due.room).tolist() == [True, False, False, True]
    assert second[1:3].tolist() == [True, False]
    assert due.due[1:3].tolist() == [0.25, 0.5]


def test_a_late_arrival_is_enclosed():
    """e^-v U^(1/a), at both ends of v."""
    words = Seeded(35).words(200)
    u, a = words * 2.0**-64, 0.25
    found = Deadlines.late(words, 1.0, 1.001, a)
    for v in (1.0, 1.001):
        assert (np.abs(np.exp(-v) * u ** (1 / a) - found.due) <= found.room).all()
    assert (found.room < 0.01 * found.due).all()
    assert np.isinf(Deadlines.late(np.array([5], np.uint64), 1.0, 1.0, a).room).all()


@pytest.mark.parametrize("width", [0.0, 0.5, 4.0, 30.0, 90.0])
def test_a_late_arrival_is_enclosed_where_its_weight_is_known_by_nats_alone(width):
    """A guard of faint junk, whose clock rings early: it may be before the top k, or long after."""
    words, a, high = np.linspace(2.0**44, 2.0**46, 200).astype(np.uint64), 0.09, -101.0
    found = Deadlines.late(words, high - width, high, a)
    for v in (high - width, high - width / 2, high):
        time = np.exp(np.minimum(np.log(words * 2.0**-64) / a - v, 9.0))
        assert (np.abs(time - found.due) <= found.room).all()
    top = Deadlines.uniform(np.full(200, 1 << 63, np.uint64))
    known, guarded = top.or_earlier(found)
    always, never = (np.exp(np.log(words * 2.0**-64) / a - v) for v in (high - width, high))
    assert (always[guarded & (known.room < np.inf)] < 0.5).all()
    assert (never[~guarded & (known.room < np.inf)] > 0.5).all()


def test_a_race_of_one_by_one_rows_uses_fresh_words_alone(monkeypatch):
    """No row can start: all are plain, and two seeds differ."""
    monkeypatch.setattr(subset_rows, "LEAST", np.uint64(2**64 - 1))
    here = weights(CASES[3], EXPONENTIAL)
    one, two = (race_in_rows(here, 60, Seeded(seed)) for seed in (36, 37))
    assert not np.array_equal(one.i, two.i)
