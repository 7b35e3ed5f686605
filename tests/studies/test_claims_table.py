"""The table of claims in the docs: made from a run, and of the claims that the catalogue has now."""

from pathlib import Path

from studies.papers.catalogue import EXPERIMENTS
from studies.papers.claims_table import claims_table, main
from tests.studies.experiments import records

PAGE = Path(__file__).parents[2] / "docs" / "reproduce.md"


def test_every_claim_stands_on_the_page_with_its_place():
    lines = iter(PAGE.read_text().splitlines())
    for experiment in EXPERIMENTS.values():
        for exhibit in experiment.exhibits:
            for claim in exhibit.claims:
                start = f"| {experiment.paper.key}, {claim.place}; {exhibit.place} | {claim.says} | "
                assert any(line.startswith(start) for line in lines), start  # in this order, each once


def test_a_run_writes_its_verdicts_between_the_marks(tmp_path):
    both = records(tmp_path)
    assert "4 claims: 2 confirmed, 2 contradicted." in claims_table(both)
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- claims -->\nold\n<!-- end claims -->\nafter\n")
    main(tmp_path, page)  # these are no experiments of the catalogue
    assert page.read_text().startswith("before\n<!-- claims -->\n0 claims")
    assert page.read_text().endswith("<!-- end claims -->\nafter\n")
    assert "old" not in page.read_text()
