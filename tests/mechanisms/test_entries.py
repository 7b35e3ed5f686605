"""What must hold of every mechanism, whichever it is: found by its entry alone."""

import dataclasses
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shortlist as sl
from shortlist import ZCDP, ApproxDP, PureDP, mechanisms, pate
from shortlist.audit import prove_mechanism, prove_pate
from shortlist.audit.attack import Target, source_of
from shortlist.audit.entries import ENTRIES, entry_of, examples
from shortlist.audit.events import read_many
from shortlist.mechanisms import Mechanism
from shortlist.mechanisms.registry import METHODS
from shortlist.pate import PATE, MultiLabelPATE
from shortlist.planning.rows import FACTS, ROWS, compared, contestants
from shortlist.testing import seeded
from tests.helpers.support import full_size, sized
from tests.helpers.terminal import called
from tests.helpers.typed import present

ROOT = Path(__file__).parents[2]
every = pytest.mark.parametrize("kind", ENTRIES, ids=lambda kind: kind.__name__)


MECHANISMS: dict[str, Any] = {name: mechanism for name, mechanism, _ in examples()}
SCORES = {name: scores for name, _, scores in examples()}
CROWDS = [PATE(rho=0.125, delta=1e-6, queries=1, classes=2), MultiLabelPATE(rho=0.5, delta=0.1, queries=1)]
each = pytest.mark.parametrize("name", MECHANISMS)


def test_every_kind_has_one_entry_and_is_built_by_a_name():
    said = called("audit", "nobody").stderr
    assert [name for name in MECHANISMS if name not in said] == []
    kinds = [*ENTRIES]
    offered = {getattr(mechanisms, name) for name in mechanisms.__all__} - {Mechanism}
    assert set(kinds) == offered | {PATE, MultiLabelPATE} == {type(one) for one in [*MECHANISMS.values(), *CROWDS]}
    assert all(hasattr(pate, kind.__name__) or kind in offered for kind in kinds)


def test_every_name_is_that_of_one_thing():
    said = [name for entry in ENTRIES.values() for name in entry.methods]
    assert len(set(said)) == len(said)
    assert set(said) == set(METHODS)
    alone = [name for entry in ENTRIES.values() for name in entry.examples]
    assert len(set(alone)) == len(alone)
    assert {row.method for row in ROWS} <= set(METHODS)
    pure = [one.label for one in contestants(3, "known", False) if "pure" in one.currencies]
    # what is compared is planned, under the same name
    assert sorted(pure) == sorted(one.label for one in compared(3, None))


@every
def test_its_page_has_a_snippet_and_its_proof(kind):
    path, _, anchor = kind.proof.partition("#")
    assert path.startswith("docs/mechanisms/")
    page = (ROOT / path).read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    assert anchor in {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in headings}
    snippets = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    methods = "|".join([kind.__name__, *(f'"{one}"' for one in ENTRIES[kind].methods), "values=True"])
    assert any(re.search(methods, text) for text in snippets)


def test_facts_are_of_methods():
    assert set(FACTS) <= set(METHODS)


@each
def test_it_is_a_frozen_value(name):
    mechanism, other = MECHANISMS[name], {again: made for again, made, _ in examples()}[name]
    assert mechanism == other
    assert hash(mechanism) == hash(other)
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism
    with pytest.raises((dataclasses.FrozenInstanceError, TypeError)):
        mechanism.k = 3
    known = {kind.__name__: kind for kind in (PureDP, ApproxDP, ZCDP, *ENTRIES)}
    assert eval(repr(mechanism), {**known, **vars(__import__("fractions"))}) == mechanism


@each
def test_its_charge_fits_its_budget(name):
    mechanism = MECHANISMS[name]
    assert mechanism.guarantee.excess(mechanism.charge) <= 1e-12


@each
def test_many_draws_have_the_shape_of_single_ones(name):
    mechanism, scores = MECHANISMS[name], SCORES[name]
    found = mechanism.release_many(scores, draws=400, rng=seeded(1))
    rows = found.indices if hasattr(found, "indices") else found.reshape(400, -1)
    assert len(rows) == 400
    source = seeded(2)
    singles = [mechanism.release(scores, rng=source) for _ in range(12)]
    if present(entry_of(mechanism)).ranks:
        assert {one.k for one in singles} <= set(rows[:, 0].tolist())
        return
    assert rows.max() < len(scores)
    sizes = set(np.count_nonzero(rows >= 0, axis=1).tolist())
    assert {len(one.items or ()) for one in singles} <= sizes
    assert all(one.ordered == mechanism.ordered for one in singles)


@each
def test_it_is_proved_on_a_small_box(name):
    mechanism = MECHANISMS[name]
    how, k = present(entry_of(mechanism)), getattr(mechanism, "k", None) or 1
    d = how.size(mechanism) if how.size else k + 1
    proof = prove_mechanism(mechanism, d=d, top=0 if how.size else 1, monotone=getattr(mechanism, "monotone", True))
    assert proof.holds, proof.violation
    assert proof.log_ratio > 0


@full_size
@each
def test_the_auditor_finds_nothing(name):
    mechanism = MECHANISMS[name]
    found = sl.audit(mechanism, trials=sized(600, full=4_000), seed=1, workers=1, progress=False)
    assert not found.violated


VOTES: dict[type, list[tuple[Any, Any]]] = {
    PATE: [([0, 0, 0], [0, 0, 1])],
    MultiLabelPATE: [([[1, 0], [1, 0], [0, 0]], [[1, 0], [1, 0], [1, 1]])],
}


@pytest.mark.parametrize("crowd", CROWDS, ids=repr)
def test_a_query_to_teachers_is_proved_and_attacked(crowd):
    proof = prove_pate(crowd, labels=2, teachers=3)
    assert proof.holds, proof.violation
    assert proof.log_ratio > 0

    def draw(votes, draws, seed):
        return read_many(crowd.label_many(votes, draws=draws, rng=source_of(seed)), draws)

    target = Target(repr(crowd), draw, 1_000, False, True)
    claim = crowd.query.as_approx(0.1)
    assert not sl.audit(target, claim=claim, trials=2_000, pairs=VOTES[type(crowd)], seed=1, workers=1).violated


def test_the_tables_of_the_docs_are_those_of_the_entries():
    from bench.mechanisms import PAGES, written

    for page in PAGES:
        assert written(page) == page.read_text(), "write it again with: python -m bench.mechanisms"


@every
def test_the_long_audit_attacks_it(kind):
    from bench.audit import EVERY

    crowds = PATE, MultiLabelPATE  # attacked a query at a time
    assert kind in crowds or any(isinstance(one, kind) for one, _ in EVERY)


def test_a_mechanism_that_is_made_of_ours_is_audited_like_it():
    class Mine(mechanisms.StableTopK):
        pass

    assert present(entry_of(Mine(k=1, epsilon=1.0, delta=0.05))).inputs == "histograms"
    assert prove_mechanism(Mine(k=1, epsilon=1.0, delta=0.05), d=2, top=1).holds
    assert entry_of(object()) is None
