"""Lists for groups: one charge for the groups that one person may be in, and nothing else is released."""

import itertools
import pickle
from collections import Counter
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from flint import arb, ctx

import shortlist as sl
from shortlist import ZCDP, ApproxDP, PureDP
from shortlist.audit import Law, certify, prove
from shortlist.audit.certified import base
from shortlist.execute import larger_share, plain_share
from shortlist.mechanisms import LimitedDomainTopK, NoisyMax
from shortlist.privacy import BoundedRange
from shortlist.tables import question as caps
from studies.broken import CATALOGUE
from tests.helpers.support import assert_law
from tests.helpers.typed import of_kind, present

ITEMS, GROUPS = ["a", "b"], ["X", "Y"]
ROWS = list(itertools.product(GROUPS, ITEMS))


def frame(tables) -> pl.DataFrame:
    """Each person's rows, one after the other."""
    rows = [(str(who), item, group) for who, own in enumerate(tables) for group, item in own]
    return pl.DataFrame(rows, schema={"who": pl.String, "item": pl.String, "group": pl.String}, orient="row")


def subsets():
    return [own for many in range(len(ROWS) + 1) for own in itertools.combinations(ROWS, many)]


def counted(tables, per_user):
    """The counts of both groups, by the library's own code."""
    scores = sl.count(
        frame(tables), user="who", item="item", by="group", groups=GROUPS, candidates=ITEMS, groups_per_user=per_user
    )
    found = []
    for key in GROUPS:
        part = scores[key].as_public()
        counts = dict(zip(part.labels, part.values.tolist(), strict=True))
        found.append(tuple(counts[item] for item in ITEMS))
    return tuple(found)


def together(laws) -> Law:
    """Independent draws, one of each."""
    found: dict[Any, Any] = {(): arb(1)}
    for law in laws:
        found = {(*key, one): chance * p for key, chance in found.items() for one, p in law.chances.items()}
    return Law(found)


@pytest.fixture
def _salted(monkeypatch):
    monkeypatch.setattr(caps, "fresh_salt", lambda: "5a17" * 8)


@pytest.mark.usefixtures("_salted")
@pytest.mark.parametrize(("per_user", "ratio"), [(1, 0.8136663), (2, 1.6273326)])
def test_a_person_in_any_groups_is_within_the_charge_on_the_whole_box(per_user, ratio):
    """Whatever one other person has, and whatever a person brings: into one group, into several, into new ones."""
    mechanism = NoisyMax(epsilon=1.0, noise="gumbel")

    @cache
    def one_group(counts):
        return certify(mechanism, sl.Scores(list(counts), monotone=True))

    tables = cache(lambda rows: counted([own for own in rows if own], per_user))

    @cache
    def of_both(counts):
        with ctx.workprec(base.PRECISION):
            return together(map(one_group, counts))

    def law(rows):
        return of_both(tables(rows))

    pairs = [((other, ()), (other, own)) for other in subsets() for own in subsets()]
    claim = mechanism.charge.repeat(per_user)
    proof = prove(law, pairs, claim, epsilons=[float(per_user)])
    assert proof.holds, proof.violation
    assert proof.log_ratio == pytest.approx(ratio, abs=1e-7)
    less = prove(law, pairs, PureDP(ratio - 1e-3), epsilons=[float(per_user)])
    assert not less.holds  # the box sees a charge that is too small
    moved = [((other, own), (other, another)) for other in subsets()[:4] for own in subsets() for another in subsets()]
    assert prove(law, moved, PureDP(2.0 * per_user), epsilons=[2.0 * per_user]).holds  # out of groups, into others


def test_keys_from_the_data_are_within_epsilon_and_delta_on_a_box():
    """A group that nobody was in: its list is empty surely, and an empty list is not told from no group."""
    mechanism = LimitedDomainTopK(k=1, budget=ApproxDP(1.0, 0.05), limit=2)

    def one_group(counts):
        if not any(counts):
            return Law({"not listed": arb(1)})
        law: dict[Any, Any] = {}
        found = certify(mechanism, sl.Scores(list(counts), monotone=True, public=False))
        for (order, _), chance in of_kind(Law, found).chances.items():
            key = order or "not listed"
            law[key] = law.get(key, arb(0)) + chance
        return Law(law)

    def law(counts):
        with ctx.workprec(base.PRECISION):
            return together(one_group(one) for one in counts)

    before = list(itertools.product(range(3), repeat=2))
    new = [(((0, 0), other), (own, other)) for other in before for own in ((1, 0), (0, 1), (1, 1))]
    old = [((one, (0, 1)), (tuple(np.add(one, own).tolist()), (0, 1))) for one in before for own in ((1, 0), (1, 1))]
    assert prove(law, [*new, *old], ApproxDP(1.0, 0.05), epsilons=[1.0]).holds
    both = [(((0, 0), (0, 0)), ((1, 1), (1, 1)))]
    assert prove(law, both, ApproxDP(1.0, 0.05).repeat(2), epsilons=[2.0]).holds
    once = ApproxDP(1.0, 1.01 * float(1 - one_group((1, 1)).chances["not listed"]))
    assert prove(law, [(((0, 0), (0, 0)), ((1, 1), (0, 0)))], once, epsilons=[1.0]).holds
    assert not prove(law, both, once, epsilons=[1.0]).holds  # of two groups the box sees that both must be paid


def test_the_oracles_of_broken_groups():
    by_name = {entry.name: entry for entry in CATALOGUE if entry.name.startswith("groups")}

    def ratio(name, pairs=None):
        entry = by_name[name]
        return prove(present(entry.law), pairs or entry.pairs, entry.claim).log_ratio

    assert ratio("groups, paid once and not truncated") == pytest.approx(1.6273326, abs=1e-6)
    for many, wanted in ((1, 1.620115), (2, 2.620115), (5, 5.620115), (10, 10.620115)):
        found = ratio("groups, kept by how crowded they are", [((many, 0), (many, 1))])
        assert found == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("many", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("budget", [PureDP(1.0), ZCDP(0.5), ZCDP(0.5, 1e-6), ApproxDP(1.0, 1e-6), PureDP(0.1)])
def test_the_shares_of_a_budget_are_within_it(budget, many):
    share = plain_share(budget, many)
    assert budget.excess(share.repeat(many)) <= 0
    assert type(share) is type(budget)
    if isinstance(share, PureDP):
        assert Fraction(float(np.nextafter(share.epsilon, 2))) * many > Fraction(of_kind(PureDP, budget).epsilon)


def test_many_groups_of_approximate_privacy_cost_less_than_their_sum():
    budget = ApproxDP(1.0, 1e-6)
    share = of_kind(ApproxDP, larger_share(budget, 200, lambda one: BoundedRange(one.epsilon)))
    assert share.epsilon > 2 * budget.epsilon / 200
    assert budget.excess(BoundedRange(share.epsilon).repeat(200)) <= 0


def rows_of(people=300, seed=1):
    rng = np.random.default_rng(seed)
    many = 8 * people
    return pl.DataFrame(
        {
            "who": rng.integers(0, people, many),
            "film": [f"film {n}" for n in np.minimum(rng.zipf(1.4, many), 12)],
            "country": [["CH", "DE", "FR"][n] for n in rng.integers(0, 3, many)],
        }
    )


FILMS = [f"film {n}" for n in range(1, 21)]


def grouped(**asked):
    words = {"groups": ["CH", "DE", "FR"], "candidates": FILMS} | asked
    return sl.count(rows_of(), user="who", item="film", by="country", **words)


@pytest.mark.parametrize("per_user", [1, 2, 3])
def test_one_charge_is_booked_for_the_groups_of_one_person(tmp_path, per_user):
    ledger = sl.Ledger(tmp_path / "budget.db", budget=PureDP(1.0))
    lists = sl.top_k(grouped(groups_per_user=per_user), 3, epsilon=0.6, ledger=ledger, purpose="lists")
    assert lists.guarantee == PureDP(0.6)
    assert lists.per_group.epsilon * per_user == pytest.approx(0.6)
    assert lists.charge == lists.per_group.repeat(per_user)
    assert all(one.guarantee == lists.per_group and one.receipt is None for one in lists.values())
    assert len(ledger.entries()) == 1
    assert lists.receipt is not None
    with pytest.raises(sl.BudgetExceeded):
        sl.top_k(grouped(groups_per_user=per_user), 3, epsilon=0.6, ledger=ledger)
    assert len(ledger.entries()) == 1


def test_a_group_is_drawn_as_it_would_be_alone():
    """The law of one group's winner is that of its own scores, whatever the other groups are."""
    scores, source = grouped(), sl.testing.seeded(5)
    alone = NoisyMax(epsilon=0.05, noise="exponential")
    drawn = [sl.select(scores, epsilon=0.05, rng=source) for _ in range(400)]
    for key in ("CH", "FR"):
        part = scores[key].as_public()
        wins = Counter(lists[key].item for lists in drawn)
        uniform = [1 / len(part)] * len(part)
        assert_law([wins[name] for name in part.labels], alone.probabilities(part), wrong=uniform)


def test_a_release_of_groups_is_a_value(tmp_path):
    lists = sl.top_k(grouped(), 3, epsilon=1.0, values=True)
    assert list(lists) == ["CH", "DE", "FR"]
    assert len(lists) == 3
    assert lists == sl.GroupedRelease.from_json(lists.to_json()) == pickle.loads(pickle.dumps(lists))
    lists.save(tmp_path / "lists.json")
    assert sl.GroupedRelease.load(tmp_path / "lists.json") == lists
    table = lists.to_frame()
    assert table.columns == ["country", "rank", "item", "value", "margin", "gap"][: len(table.columns)]
    assert table.filter(pl.col("country") == "DE")["item"].to_list() == lists["DE"].items
    assert lists["CH"].to_frame().columns[0] == "rank"
    lists.report(tmp_path / "lists.html", title="Films <b>")
    page = (tmp_path / "lists.html").read_text()
    assert "Films &lt;b&gt;" in page
    assert all(str(item) in page for one in lists.values() for item in one)
    assert "in at most 1 group" in page
    assert "CH" in str(lists)
    with pytest.raises(ValueError, match="no grouped release"):
        sl.GroupedRelease.from_json(lists["CH"].to_json())


def test_pictures_of_groups_show_twelve_of_them_at_most():
    plt = pytest.importorskip("matplotlib.pyplot")
    rows = rows_of().with_columns(country=pl.col("who") % 15)
    lists = sl.top_k(
        sl.count(rows, user="who", item="film", by="country", groups=range(15), candidates=FILMS), 2, epsilon=1.0
    )
    assert [ax.get_title(loc="left") for ax in lists.plot()] == [str(key) for key in range(12)]
    plt.close("all")


def test_k_may_differ_by_group_and_names_may_come_from_the_data():
    lists = sl.top_k(grouped(), {"CH": 1, "DE": 2, "FR": 5}, epsilon=1.0)
    assert [len(one) for one in lists.values()] == [1, 2, 5]
    with pytest.raises(ValueError, match="exactly the public groups"):
        sl.top_k(grouped(), {"CH": 1}, epsilon=1.0)
    unlisted = sl.top_k(grouped(candidates=None), 2, epsilon=1.0, delta=1e-4)
    assert list(unlisted) == ["CH", "DE", "FR"]
    with pytest.raises(ValueError, match="delta"):
        sl.top_k(grouped(candidates=None), 2, epsilon=1.0)


def test_groups_whose_list_is_empty_are_not_listed_where_keys_come_from_the_data():
    rows = pl.concat([rows_of(), pl.DataFrame({"who": [9999], "film": ["SECRET"], "country": ["Zebulon"]})])
    scores = sl.count(rows, user="who", item="film", by="country")
    lists = sl.top_k(scores, 3, epsilon=2.0, delta=1e-6)
    assert set(lists) <= {"CH", "DE", "FR"}
    for form in (pickle.dumps(lists), lists.to_json().encode(), str(lists).encode(), repr(scores).encode()):
        assert b"Zebulon" not in form
        assert b"SECRET" not in form
    refused: list[dict[str, Any]] = [{"values": True}, {"gaps": True}]
    for words in refused:
        with pytest.raises(ValueError, match="need public groups"):
            sl.top_k(scores, 3, epsilon=1.0, delta=1e-6, **words)
    with pytest.raises(ValueError, match="delta"):
        sl.top_k(scores, 3, epsilon=1.0)


def test_lists_of_scores_are_charged_together_or_as_one_if_the_caller_promises():
    vectors = [[90, 1, 2, 3], [1, 90, 2, 3], [1, 2, 90, 3]]
    lists = sl.top_k(vectors, 1, epsilon=3.0, monotone=True)
    assert (lists.guarantee, lists.per_group, lists.charge) == (PureDP(3.0), PureDP(1.0), PureDP(1.0).repeat(3))
    assert [one.items for one in lists.values()] == [[0], [1], [2]]
    promised = sl.top_k(vectors, 1, epsilon=3.0, monotone=True, parallel=True)
    assert (promised.guarantee, promised.per_group) == (PureDP(3.0), PureDP(3.0))
    assert "the caller says" in promised.notes[0]
    mixed = [sl.Scores([1, 2], monotone=True), sl.Scores({"a": 1, "b": 2}, monotone=True)]
    with pytest.raises(ValueError, match="must be alike"):
        sl.top_k(mixed, 1, epsilon=1.0, delta=1e-6)
    unfit = [sl.Scores({"a": 9}, monotone=True), sl.Scores({"a": 9}, monotone=True, sensitivity=2.0)]
    with pytest.raises(ValueError):  # noqa: PT011 - every list is looked at, in the words of the mechanism
        sl.top_k(unfit, 1, epsilon=1.0, delta=1e-6, method="limited-domain")
    with pytest.raises(ValueError, match="add-remove"):
        sl.top_k(vectors, 1, epsilon=1.0, neighbours="replace", parallel=True)
    with pytest.raises(TypeError, match="parallel is for"):
        sl.top_k([1, 2, 3], 1, epsilon=1.0, parallel=True)  # type: ignore[arg-type]
