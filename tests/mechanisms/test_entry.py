"""Adding a mechanism touches its folder and one line of the list; nothing else in the code has a list of them."""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shortlist.mechanisms.entries import ENTRIES, METHODS
from tests.helpers.typed import of_kind

SOURCE = Path(__file__).parents[2] / "src" / "shortlist"

TOY = {
    "__init__.py": "",
    "mechanism.py": '''
from dataclasses import dataclass
from typing import ClassVar

from shortlist.mechanisms.checks import check_known_candidates
from shortlist.mechanisms.contract import Mechanism
from shortlist.mechanisms.oneshot.mechanism import OneshotTopK
from shortlist.privacy import PureDP


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyTopK(Mechanism):
    """A list by Laplace noise, under another name."""

    k: int
    budget: PureDP

    proof: ClassVar[str] = "docs/mechanisms/toy.md#proof"
    exchangeable: ClassVar[bool] = True
    ordered: ClassVar[bool] = True
    name: ClassVar[str] = "toy"

    @property
    def guarantee(self):
        return self.budget

    @property
    def _race(self):
        return OneshotTopK(k=self.k, budget=self.budget, noise="laplace")

    def _check(self, scores):
        check_known_candidates(scores, self.k)

    def _draw(self, scores, source):
        return self._race._draw(scores, source)

    def release_many(self, scores, *, draws, rng=None, **question):
        return self._race.release_many(scores, draws=draws, rng=rng, **question)

    def success_probability(self, scores):
        return self._race.success_probability(scores)

    def quality(self, scores):
        return self._race.quality(scores)

    def inclusion_probabilities(self, scores):
        return self._race.inclusion_probabilities(scores)
''',
    "certified.py": """
from shortlist.certified.law import Law
from shortlist.certified.races import ordered_law


def law(mechanism, scores):
    return Law(ordered_law(scores.values.tolist(), mechanism.k, "laplace", mechanism._race._scale(scores)))
""",
    "entry.py": """
from shortlist.mechanisms.entry import Audited, Compared, Entry, Method
from shortlist.mechanisms.plan_rows import listed
from shortlist.mechanisms.toy.mechanism import ToyTopK
from shortlist.privacy import PureDP

ENTRY = Entry(
    kind=ToyTopK,
    page="toy.md",
    summary="a toy",
    gives="k items in order",
    budgets="pure",
    methods=(Method("toy", lambda request: ToyTopK(k=request.size, budget=request.budget)),),
    compared=(Compared("toy", lambda k, epsilon: ToyTopK(k=k, budget=PureDP(epsilon))),),
    planned=lambda k: (
        listed("toy", "toy", lambda p: ToyTopK(k=k, budget=PureDP(p)), ordered=True, currencies=("pure",)),
    ),
    audited=Audited(law="shortlist.mechanisms.toy.certified:law"),
)
""",
}
"""A whole mechanism."""

TRIED = """
import json
import shortlist as sl
from shortlist.audit.attack import mechanism_named; from shortlist.audit.attack import names
from shortlist.audit.prove import prove_mechanism
from shortlist.mechanisms.entries import table

counts, toy = [30, 20, 10, 1], mechanism_named("toy", 1, sl.PureDP(1.0))
release = sl.top_k(counts, 2, epsilon=3.0, method="toy", ordered=True, monotone=True, rng=sl.testing.seeded(1))
found = sl.audit(toy, trials=500, seed=1, workers=1, progress=False)
plan = sl.plan(k=2, scores=counts, monotone=True, epsilon=1.0, budget="pure", domain="known")
print(json.dumps({
    "top_k": release.mechanism,
    "compare": "toy" in [row.mechanism for row in sl.compare(counts, k=2, epsilon=1.0, monotone=True).rows],
    "plan": [(row.mechanism, row.method) for row in plan.rows if row.mechanism == "toy"],
    "named": "toy" in names(),
    "included": round(sum(toy.inclusion_probabilities(sl.Scores(counts, monotone=True))), 6),
    "violated": found.violated,
    "proved": prove_mechanism(toy, d=3, top=1).holds,
    "refuted": not prove_mechanism(toy, d=3, top=1, claim=sl.PureDP(0.5)).holds,
    "table": [row for row in table("") if "toy.md" in row],
    "default": sl.top_k(counts, 2, epsilon=3.0, monotone=True).mechanism,
}))
"""


def test_a_folder_and_one_line_add_a_mechanism(tmp_path):
    copy = tmp_path / "shortlist"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__", "assets"))
    for name, text in TOY.items():
        (copy / "mechanisms" / "toy").mkdir(exist_ok=True)
        (copy / "mechanisms" / "toy" / name).write_text(text)
    listing = copy / "mechanisms" / "entries.py"
    text = listing.read_text()
    assert text.count('    "pate",\n') == 1
    listing.write_text(text.replace('    "pate",\n', '    "pate",\n    "toy",\n'))
    ran = subprocess.run(
        [sys.executable, "-c", TRIED],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {
        "top_k": "toy",
        "compare": True,
        "plan": [["toy", "toy"]],
        "named": True,
        "included": 1.0,
        "violated": False,
        "proved": True,
        "refuted": True,
        "table": ["| [`ToyTopK`](toy.md) | a toy | k items in order | pure | `toy` |"],
        "default": "guarded top-2",
    }


KINDS = {entry.kind.__name__ for entry in ENTRIES}


def registries(text):
    """Lines of displays and unions that name three mechanisms or more, by class or by method."""
    if sum(word in text for word in {*KINDS, *METHODS}) < 3:
        return
    for node in ast.walk(ast.parse(text)):
        union = isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr)
        if not union and not isinstance(node, ast.Dict | ast.List | ast.Tuple | ast.Set):
            continue
        inside = list(ast.walk(node))
        classes = {one.id for one in inside if isinstance(one, ast.Name)} & KINDS
        classes |= {one.attr for one in inside if isinstance(one, ast.Attribute)} & KINDS
        words = {one.value for one in inside if isinstance(one, ast.Constant) and isinstance(one.value, str)}
        if len(classes) >= 3 or len(words & set(METHODS)) >= 3 or len(words & KINDS) >= 3:
            yield of_kind(ast.expr, node).lineno


def test_no_other_list_of_mechanisms_exists():
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        assert name.startswith("mechanisms/") or not list(registries(path.read_text())), name


def test_inside_their_room_only_the_list_and_the_names_for_users_know_several():
    for path in sorted((SOURCE / "mechanisms").rglob("*.py")):
        name = path.relative_to(SOURCE / "mechanisms").as_posix()
        if name not in ("__init__.py", "entries.py", "oneshot/entry.py"):  # the last has six methods of its own
            assert not list(registries(path.read_text())), name


@pytest.mark.parametrize(
    "text",
    [
        "MAKERS = {JointTopK: 1, GuardedTopK: 2, OneshotTopK: 3}",
        "isinstance(x, JointTopK | GuardedTopK | OneshotTopK)",
        "isinstance(x, (m.JointTopK, m.GuardedTopK, m.OneshotTopK))",
        "WHY = {'joint': '', 'guarded': '', 'canonical': ''}",
    ],
)
def test_another_list_would_be_seen(text):
    assert list(registries(text))
