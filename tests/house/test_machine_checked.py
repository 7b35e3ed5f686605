"""The names of checked theorems agree between the book, its page and the proofs; what checks them can fail."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROOFS = ROOT / "proofs"


def load(name):
    spec = importlib.util.spec_from_file_location(f"proofs_{name}", PROOFS / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


check, cases = load("check"), load("cases")
BOOK, PAGE, FILES = check.lines_of_the_book(), check.rows_of_the_page(), check.sources()


def test_lines_of_the_book_rows_of_the_page_and_theorems_agree():
    assert len(PAGE) > 20
    assert not check.problems(BOOK, PAGE, FILES)


def test_other_names_on_the_page_are_theorems():
    defined = {f"{file}.{name}" for file, text in FILES.items() for name in check.DEFINED.findall(text)}
    assert {*check.other_names()} <= defined


@pytest.mark.parametrize(
    ("book", "page"),
    [
        ({"lemma-5": ["Shifting.lemma5"]}, {}),
        ({}, {"lemma-5": ["Shifting.lemma5"]}),
        ({"lemma-5": ["Shifting.lemma6"]}, {"lemma-5": ["Shifting.lemma6"]}),
        ({"lemma-5": []}, {"lemma-5": []}),
    ],
)
def test_a_name_that_is_missing_somewhere_is_found(book, page):
    assert check.problems(book, page, FILES)


@pytest.mark.parametrize("line", ["Proof. admit.", "Admitted.", "Axiom a : False.", "Unset Guard Checking."])
def test_an_assumption_is_found_but_not_in_a_comment(line):
    assert check.problems(BOOK, PAGE, FILES | {"Base": FILES["Base"] + line})
    assert not check.problems(BOOK, PAGE, FILES | {"Base": f"{FILES['Base']} (* (* *) {line} *)"})


def test_axioms_are_read_from_what_coq_prints():
    printed = "Axioms:\nClassical_Prop.classic : forall P, P \\/ ~ P\nBase.mine\n  : forall P : nat -> Prop,\n    P 0\n"
    assert check.axioms_in(printed) == {"Classical_Prop.classic", "Base.mine"}
    assert not check.axioms_in("Closed under the global context\n")
    assert check.axioms_in("Error: something else\n") - check.AXIOMS


@pytest.mark.parametrize("kind", cases.KINDS, ids=lambda kind: kind.name)
def test_cases_are_written_from_the_library_and_a_fault_changes_one(kind):
    told, wrong = cases.make_cases(kind, number=3), cases.make_cases(kind, fault=True, number=3)
    assert told[:-1] == wrong[:-1]
    assert told[-1] != wrong[-1]
    assert f"Definition agrees_{kind.program or kind.name} " in FILES["Exec"]


def test_the_page_names_the_packages_that_the_check_needs():
    page = check.read(check.PAGE)
    assert {*re.findall(r"[\w-]+", check.PACKAGES)} <= {*re.findall(r"`([\w-]+)`", page)}
