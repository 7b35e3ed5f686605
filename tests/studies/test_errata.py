"""The list of errata: complete rows, tests that exist, and the page in the docs made from it."""

from pathlib import Path

import pytest

from studies.broken import CATALOGUE
from studies.papers.errata import RIGHT, errata, is_grave, main, tables, written
from studies.papers.experiment import PAPERS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "errata.md"


def test_every_row_is_complete_and_names_a_test_that_exists():
    for row in errata():
        wanted = (
            ("place", "says", "example") if row["kind"] == RIGHT else ("place", "says", "wrong", "example", "change")
        )
        assert all(row[word].strip() for word in wanted), row
        assert row["paper"] in {*(paper.key for paper in PAPERS), ""}
        if row["test"]:
            file, name = row["test"].split("::")
            assert f"def {name}(" in (ROOT / file).read_text(), row["test"]
    assert all(row["test"] for row in errata() if row["kind"] == "breach")


@pytest.mark.parametrize("name", ["Gumbel", "canonical", "free-gap", "adaptive-k"])
def test_the_catalogue_of_broken_mechanisms_accuses_a_paper_of_its_breaches_and_of_nothing_else(name):
    accused = [entry.name for entry in CATALOGUE if entry.source.startswith(f"the {name} paper, its ")]
    assert len(accused) == sum(row["kind"] == "breach" for row in errata(name.lower()))
    assert not [entry.name for entry in CATALOGUE if f"the {name} paper" in entry.source and entry.name not in accused]


@pytest.mark.parametrize("kind", sorted({row["kind"] for row in errata()} - {RIGHT}))
def test_every_kind_is_explained_on_the_page(kind):
    assert f"*{kind.removesuffix(' (utility)')}*" in PAGE.read_text().partition("## ")[0]


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.key)
def test_every_paper_has_rows_of_what_is_wrong_and_of_what_is_right(paper):
    kinds = {row["kind"] == RIGHT for row in errata(paper.key)}
    assert kinds == {True, False}
    assert "Checked and found right" in tables(paper.key)


def test_graver_things_come_first_and_bars_are_escaped():
    rows = [line.split(" | ") for line in tables("canonical").splitlines()[2:]]
    kinds = [cells[2] for cells in rows if len(cells) > 5]
    assert kinds[0] == "breach"
    assert kinds == sorted(kinds, key=lambda kind: not is_grave({"kind": kind}))
    assert "\\|D2 - D1\\|" in tables("canonical")


def test_the_page_in_the_docs_is_made_from_the_list(tmp_path):
    text = PAGE.read_text()
    assert written(text) == text
    for paper in PAPERS:
        assert f"<!-- end {paper.key} -->" in text
    old = tmp_path / "errata.md"
    old.write_text("before\n<!-- gumbel -->\nold\n<!-- end gumbel -->\nafter\n")
    main(old)
    assert old.read_text().startswith("before\n<!-- gumbel -->\n| place |")
    assert old.read_text().endswith("<!-- end gumbel -->\nafter\n")
