"""Certified laws share nothing with the exact laws and the samplers but the stated parameters of a mechanism.

The graph is that of the import statements, whatever stands under `if TYPE_CHECKING` left out: those are never run. The
packages above a module (`shortlist`, `shortlist.mechanisms`) are loaded with it, but nothing of them is used by it.
"""

import ast
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from shortlist import Scores
from shortlist.audit import Law, certify
from shortlist.mechanisms import CanonicalTopK, GuardedTopK, LargeGap
from shortlist.mechanisms import sets as canonical
from shortlist.mechanisms import sets as guarded
from shortlist.mechanisms import stable as large_gap
from shortlist.privacy import ZCDP
from tests.helpers.typed import of_kind

SOURCE = Path(__file__).parents[2] / "src"
FORBIDDEN = ("shortlist.exact", "shortlist.sampling", "shortlist.utility", "shortlist.noise", "shortlist.mechanisms")
CERTIFIED = SOURCE / "shortlist" / "audit" / "certified"


def file_of(module):
    path = SOURCE.joinpath(*module.split("."))
    return next((one for one in (path.with_suffix(".py"), path / "__init__.py") if one.is_file()), None)


def statements(tree):
    """All that may run, in functions too: not what is for type checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from (one for part in node.orelse for one in (part, *statements(part)))
            continue
        yield node
        yield from statements(node)


def imported(text):
    """The modules of ours that a module imports."""
    for node in statements(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.startswith("shortlist"))
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports name the whole path"
            if (node.module or "").startswith("shortlist"):
                for name in node.names:
                    deeper = f"{node.module}.{name.name}"
                    yield deeper if file_of(deeper) else node.module


@cache
def imported_by(module):
    return tuple(imported(file_of(module).read_text()))


def reached(modules):
    """These modules and all that they import, directly or not, each with who imports it first."""
    found, waiting = dict.fromkeys(modules), list(modules)
    while waiting:
        here = waiting.pop()
        for module in imported_by(here):
            if module not in found:
                found[module] = here
                waiting.append(module)
    return found


def trespasses(modules):
    def forbidden(module):
        return any(module == one or module.startswith(f"{one}.") for one in FORBIDDEN)

    return {module: by for module, by in reached(modules).items() if forbidden(module)}


def certified():
    return [f"shortlist.audit.certified.{path.stem}" for path in sorted(CERTIFIED.glob("[a-z]*.py"))]


@pytest.mark.parametrize("module", certified())
def test_a_certified_law_stands_alone(module):
    assert trespasses([module]) == {}


def test_it_would_be_seen_however_far_away_and_in_functions_too():
    assert trespasses(["shortlist.mechanisms.lists"])
    assert "shortlist.exact.subsets" in trespasses(["shortlist.audit.prove"])
    source = "def late():\n    from shortlist.utility import quality\nif TYPE_CHECKING:\n    import shortlist.scores\n"
    assert list(imported(source)) == ["shortlist.utility"]


STATED = {
    "_bar", "_canonical", "_coin", "_cost", "_filling", "_kind", "_measuring", "_one_shot",
    "_one_shot_scale", "_parts", "_rate", "_rates", "_round", "_scale", "_scales", "_test",
    "_negated",
}  # fmt: skip
"""Which noise there is and how much, which offsets and tests there are, what an outcome is said to cost and whether the
scores are negated: all that a certified law may ask for beside public names. A wrong calibration then shows on
the box."""


def test_they_ask_a_mechanism_for_what_it_states_alone():
    asked = {
        node.attr
        for path in CERTIFIED.glob("*.py")
        if path.stem != "base"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and ast.unparse(node.value) != "self"
    }
    assert asked - {"__name__"} == STATED


def sure(mechanism, scores):
    """P[the true top k], by the certified law."""
    best = tuple(range(mechanism.k))
    chances = of_kind(Law, certify(mechanism, scores)).chances.items()
    return sum(float(chance) for one, chance in chances if one == best or one[0] == best)


X = Scores([9, 8, 7, 5, 3, 1, 0])
WRONG: dict[str, tuple[Any, Any, str, Any]] = {
    "the hazard of the guard": (GuardedTopK(k=3, epsilon=1.0), guarded, "share_of", lambda k, d: Fraction(1, 8)),
    "what is junk": (GuardedTopK(k=3, epsilon=1.0), guarded, "rho_of", lambda k, budget: Fraction(1, 2)),
    "g of the sets": (GuardedTopK(k=3, epsilon=1.0), guarded, "gamma_of", lambda k, budget: Fraction(1, 2)),
    "tau": (GuardedTopK(k=3, epsilon=1.0), guarded, "TAU", Fraction(1)),
    "tau of the switch": (GuardedTopK(k=3, budget=ZCDP(1.0)), guarded, "SWITCH_TAU", Fraction(12)),
    "the slope of the switch": (GuardedTopK(k=3, budget=ZCDP(1.0)), guarded, "SLOPE", Fraction(1, 2)),
    "the public gamma": (CanonicalTopK(k=2, epsilon=1.0), canonical, "default_gamma", lambda k, d: Fraction(4, 5)),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_mistake_in_the_exact_code_is_not_repeated(case, monkeypatch):
    mechanism, module, name, wrong = WRONG[case]
    assert sure(mechanism, X) == pytest.approx(mechanism.success_probability(X), abs=1e-8)
    monkeypatch.setattr(module, name, wrong)
    monkeypatch.setattr(guarded, "guarding_of", guarded.guarding_of.__wrapped__)  # it remembers what is public
    assert abs(sure(mechanism, X) - mechanism.success_probability(X)) > 1e-5


def test_the_ranks_of_a_large_gap_are_counted_and_weighed_anew(monkeypatch):
    mechanism = LargeGap(epsilon=1.0, regularizer=[0.5, -0.25, 1])
    before = of_kind(Law, certify(mechanism, X)).chances
    monkeypatch.setattr(large_gap, "offsets", lambda regularizer, limit: [Fraction(0)] * limit)
    monkeypatch.setattr(large_gap, "last_rank", lambda scores, limit: 2)
    after = of_kind(Law, certify(mechanism, X)).chances
    assert {rank: float(chance) for rank, chance in after.items()} == {n: float(p) for n, p in before.items()}
    assert list(after) == [1, 2, 3]
