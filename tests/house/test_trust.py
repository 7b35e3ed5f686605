"""What the documentation promises is there: proofs that resolve, five headings a page, errata with tests that exist."""

import re
from pathlib import Path

import pytest

from shortlist import mechanisms
from shortlist.pate import PATE, MultiLabelPATE
from tests.helpers.typed import present

ROOT = Path(__file__).parents[2]
CONCRETE = [
    *(getattr(mechanisms, name) for name in mechanisms.__all__ if name != "Mechanism"),
    MultiLabelPATE,
    PATE,
]


def anchors(page):
    """The anchors of a page's headings, as they are made on the web, and those that it sets itself."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    own = re.findall(r'<a id="([\w-]+)"></a>', page.read_text())
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles} | set(own)


@pytest.mark.parametrize("mechanism", CONCRETE, ids=lambda one: one.__name__)
def test_the_proof_of_every_mechanism_is_where_it_says(mechanism):
    path, _, anchor = mechanism.proof.partition("#")
    page = ROOT / path
    assert page.is_file()
    assert anchor in anchors(page)


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "mechanisms").glob("*.md")), ids=lambda page: page.stem)
def test_every_mechanisms_page_has_promise_formula_proof_oracle_and_limits(page):
    titles = re.findall(r"^## (.*)$", page.read_text(), re.MULTILINE)
    wanted = ["Promise", "Formula", "Proof", "Oracle", "Limits"]
    assert [title for title in titles if title in wanted] == wanted


def test_every_erratum_names_a_test_that_exists():
    rows = re.findall(r"\[(test_\w+)\]\(\.\./(tests/[\w/]+\.py)\)", (ROOT / "docs" / "errata.md").read_text())
    assert len(rows) >= 20
    for name, path in rows:
        assert f"def {name}(" in (ROOT / path).read_text(), name


@pytest.mark.parametrize("page", ["errata.md", "known-weaknesses.md", "audit.md"])
def test_links_to_headings_resolve(page):
    for target, anchor in re.findall(r"\]\(([^)#]+\.md)#([^)]+)\)", (ROOT / "docs" / page).read_text()):
        assert anchor in anchors(ROOT / "docs" / target), (target, anchor)


def test_the_tables_in_the_docs_are_from_real_runs_and_all_were_caught():
    text = (ROOT / "docs" / "audit.md").read_text()
    for name in ("audit", "audit-releases", "audit-catalogue", "audit-tightness"):
        table = present(re.search(rf"<!-- {name} -->\n(.*?)<!-- end {name} -->", text, re.DOTALL)).group(1)
        assert table.count("\n|") > 8
    assert "NOT CAUGHT" not in text
    assert "**violated**" not in text
