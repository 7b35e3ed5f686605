"""One list of publications, with which releases, the docs, CITATION.cff and release pages agree."""

import re
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

import shortlist as sl
from shortlist.audit.entries import ENTRIES
from shortlist.mechanisms import CanonicalTopK, JointTopK
from shortlist.pages.release_page import release_page
from shortlist.pages.theme import mechanisms, references, sources
from studies.papers.experiment import PAPERS
from tests.helpers.references import CITATION, FIVE, PAGE, ROOT, citation, link, page
from tests.helpers.releases import EXAMPLES


def forms():
    """Every example of the registry, the same for twelve, and made with as few words as it takes: names differ."""
    for made in EXAMPLES.values():
        words = {one.name: getattr(made, one.name) for one in fields(made) if one.init and one.name != "limit"}
        needed = {one.name for one in fields(made) if one.default is MISSING} | {"budget", "noise"}
        plain = {name: value for name, value in words.items() if name in needed}
        yield from (made, type(made)(**plain))
        if "k" in words:
            yield type(made)(**{**words, "k": 12})


MADE = {one.name: one for one in forms()}
PAGES = {
    page: [one.key for name, at, found in mechanisms() if at == page for one in found] for _, page, _ in mechanisms()
}


def page_of(kind):
    """The page of a mechanism, where its proof stands."""
    return Path(kind.proof.partition("#")[0]).stem


@pytest.mark.parametrize("mechanism", MADE.values(), ids=MADE)
def test_the_name_in_a_release_leads_to_the_sources_on_the_page_of_its_mechanism(mechanism):
    found = [one.key for one in sources(mechanism.name)]
    assert found
    assert set(found) <= set(PAGES[page_of(type(mechanism))])


def test_every_page_is_there():
    assert {type(mechanism) for mechanism in MADE.values()} == {kind for kind in ENTRIES if page_of(kind) != "pate"}
    assert set(PAGES) == {page_of(kind) for kind in ENTRIES}
    assert sources("counted by hand") == ()


@pytest.mark.parametrize("name", PAGES)
def test_the_first_paragraph_of_a_mechanism_s_page_cites_its_sources(name):
    text = (ROOT / "docs" / "mechanisms" / f"{name}.md").read_text()
    first = " ".join(text.split("\n\n")[1].split())
    for key in PAGES[name]:
        one = references()[key]
        family = "anonymous" if key == "gumbel" else one.authors[0].partition(",")[0]
        assert f'["{one.title}"](../references.md#{key})' in first
        assert family in first
        assert str(one.year or "under review") in first


def test_the_bibliography_and_the_citation_file_are_made_from_the_list():
    assert PAGE.read_text() == page()
    assert CITATION.read_text() == citation()
    assert "- references.md" in (ROOT / "mkdocs.yml").read_text()


def test_identifiers_have_the_form_of_their_kind_and_nothing_is_listed_that_nothing_cites():
    texts = [path.read_text() for path in (ROOT / "docs").rglob("*.md") if path != PAGE]
    for key, one in references().items():
        assert re.fullmatch(r"(10\.\d{4,9}/[\w:/;.()-]+)?", one.doi)
        assert re.fullmatch(r"(\d{4}\.\d{4,5})?", one.arxiv)
        assert one.type in ("article", "conference-paper", "report", "unpublished")  # of the Citation File Format
        assert any(f"references.md#{key})" in text for text in texts), key


def test_every_link_to_the_bibliography_leads_to_an_item():
    for path in (ROOT / "docs").rglob("*.md"):
        assert set(re.findall(r"references\.md#([\w-]+)", path.read_text())) <= set(references()), path.name


def test_the_readme_and_the_report_name_the_five_papers():
    readme = (ROOT / "README.md").read_text().partition("## Papers\n")[2]
    assert all(f'"{references()[key].title}"' in readme for key in FIVE)
    assert {paper.title for paper in PAPERS} == {references()[key].title for key in FIVE}


def test_a_page_has_the_bibtex_of_its_mechanism_s_papers():
    release = CanonicalTopK(k=1, epsilon=1.0).release({"oak": 9, "elm": 2}, monotone=True, public=True)
    html = release_page(release)
    assert "<details><summary>The papers behind this mechanism</summary>" in html
    assert "@article{shekelyan2022,\n  author        = {Shekelyan, Michael and Loukides, Grigorios}," in html
    assert "  eprint        = {2201.13376}," in html
    one = JointTopK(k=1, epsilon=1.0).release({"oak": 9, "elm": 2}, monotone=True, public=True)
    assert "<summary>The paper behind this mechanism</summary>" in release_page(one)
    unknown = sl.Release.from_json(one.to_json().replace("joint top-1", "by hand"))
    assert "behind this mechanism" not in release_page(unknown)


def test_what_nobody_published_yet_has_an_entry_without_year_and_link():
    assert link(references()["gumbel"]) == ""
    assert references()["gumbel"].bibtex.startswith("@misc{gumbel,\n  author        = {Anonymous},")
    assert "year" not in references()["gumbel"].bibtex
    assert link(references()["ding2019"]) == "https://doi.org/10.14778/3368289.3368295"
    assert link(references()["kairouz2015"]) == "https://proceedings.mlr.press/v37/kairouz15.html"
