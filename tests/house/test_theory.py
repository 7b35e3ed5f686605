"""The book of theorems holds together: numbers, anchors, links, and the tests and modules it names."""

import ast
import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "docs" / "theory"
INDEX = BOOK / "README.md"
CHAPTERS = sorted(BOOK.glob("[0-9]*.md"))
PAGES = [INDEX, *CHAPTERS]

KINDS = "Definition|Theorem|Lemma|Proposition|Algorithm|Table"
STATEMENT = re.compile(
    rf'^<a id="(?P<anchor>[\w-]+)"></a>\n\n### (?P<kind>{KINDS}) (?P<number>\d+)\. (?P<title>.+)\n'
    r"(?P<body>(?:(?!<a id|## ).*\n)*)",
    re.MULTILINE,
)
ROW = re.compile(
    rf"^\| \[({KINDS}) (\d+)\]\(([\w.-]+)#[\w-]+\) \| (.*?) \| \[\d+\]\([\w.-]+\) \| (.*) \| (.*) \|$", re.MULTILINE
)
RETIRED = {*range(177, 186), *range(265, 268), 269}
"""Numbers of statements about code that was removed: they are not used again."""

PROVED = {"Theorem", "Lemma", "Proposition"}


def text_of(page):
    return page.read_text(encoding="utf-8")


def quoted(text):
    """What stands between backticks."""
    return re.findall(r"`([^`]+)`", text)


def statements():
    """(page, match) of every statement, in the order of the chapters."""
    return [(page, found) for page in CHAPTERS for found in STATEMENT.finditer(text_of(page))]


def by_number():
    return {int(found["number"]): (page, found) for page, found in statements()}


def anchors(page):
    """Those we set ourselves, and those that a page's headings get on the web."""
    text = text_of(page)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    made = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
    return made | set(re.findall(r'<a id="([\w-]+)"></a>', text))


def links(page):
    """(target, anchor) of every link, "" for the page itself and for no anchor."""
    return re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", text_of(page))


def test_every_heading_of_the_third_level_is_a_statement_with_its_anchor():
    for page in CHAPTERS:
        headings = re.findall(r"^### .*$", text_of(page), re.MULTILINE)
        assert len(headings) == len(STATEMENT.findall(text_of(page))), page.name
    for _, found in statements():
        assert found["anchor"] == f"{found['kind'].lower()}-{found['number']}"


def test_every_number_is_defined_once_and_none_is_missing():
    numbers = [int(found["number"]) for _, found in statements()]
    assert len(numbers) == len(set(numbers))
    assert sorted([*numbers, *RETIRED]) == list(range(1, len(numbers) + len(RETIRED) + 1))


def test_every_theorem_lemma_and_proposition_has_a_proof_that_ends():
    for _, found in statements():
        if found["kind"] in PROVED:
            assert "*Proof.*" in found["body"], found["number"]
            assert found["body"].count("*Proof.*") == found["body"].count("∎") == 1, found["number"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_and_anchor_resolves(page):
    for target, anchor in links(page):
        if target.startswith("http"):
            continue
        aim = (page.parent / target) if target else page
        assert aim.exists(), target
        assert not anchor or anchor in anchors(aim), (target, anchor)


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.stem)
def test_a_link_says_the_kind_and_number_it_leads_to(page):
    cited = re.findall(rf"\[({KINDS})\s(\d+)\]\([^)#]*#([\w-]+)\)", text_of(page))
    assert all(anchor == f"{kind.lower()}-{number}" for kind, number, anchor in cited)


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.stem)
def test_links_from_other_pages_into_the_book_resolve(page):
    for target, anchor in links(page):
        aim = (page.parent / target).resolve()
        if target and aim.parent == BOOK and anchor:
            assert anchor in anchors(aim), (target, anchor)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_test_named_exists(page):
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text_of(page))
    assert named
    for path, name in named:
        assert (ROOT / path).is_file(), path
        assert not name or f"def {name}(" in text_of(ROOT / path), f"{path}::{name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_module_named_exists(page):
    for module in set(re.findall(r"`(shortlist(?:\.\w+)+)`", text_of(page))):
        assert importlib.util.find_spec(module) is not None, module


def test_the_index_has_every_statement_with_its_title_modules_and_tests():
    rows = ROW.findall(text_of(INDEX))
    assert [int(row[1]) for row in rows] == sorted(by_number())
    for kind, number, file, title, modules, tests in rows:
        page, found = by_number()[int(number)]
        assert (kind, file, title) == (found["kind"], page.name, found["title"].rstrip("."))
        used, _, checked = found["body"].partition("*Used in*")[2].partition("*Checked by*")
        assert quoted(modules) == quoted(used)
        assert quoted(tests) == quoted(checked or found["body"].partition("*Checked by*")[2])


CITATION = re.compile(rf"\((?:{KINDS}) \d+(?:,? (?:and )?(?:(?:{KINDS}) )?\d+)*\)")
"""A statement of the book as code cites it: (Theorem 12), (Lemma 5, Theorem 12). What names a paper is none."""


def cited_in(text):
    """(kind, number) of every statement of the book that a text cites; a bare number has the kind before it."""
    for brackets in CITATION.findall(text):
        kind = ""
        for named, number in re.findall(rf"({KINDS})?\s?(\d+)", brackets):
            kind = named or kind
            yield kind, int(number)


def test_citations_are_read_as_they_are_meant():
    assert list(cited_in("so (Theorem 12).")) == [("Theorem", 12)]
    assert list(cited_in("(Lemma 5, Theorem 12 and 14)")) == [("Lemma", 5), ("Theorem", 12), ("Theorem", 14)]
    assert not list(cited_in("Theorem 11's (Lyu et al., Algorithm 5), (Lemma 3 of the Gumbel paper)"))


FOLDERS = ("src", "studies", "tests", "docs", "bench", "examples")
SUFFIXES = (".py", ".md", ".json", ".js", ".css", ".html", ".svg")


def texts(*suffixes):
    """Every text of the repository but this one: those with such an ending, or all."""
    files = [file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*"))]
    for file in [ROOT / "README.md", *files]:
        if file.suffix in (suffixes or SUFFIXES) and file.resolve() != Path(__file__).resolve():
            yield file


def test_every_citation_of_the_book_names_a_statement_that_exists():
    known = {(found["kind"], int(found["number"])) for _, found in statements()}
    for file in texts(".py", ".md"):
        for cited in cited_in(text_of(file)):
            assert cited in known, (file.name, *cited)


OUTSIDE = re.compile(
    r"\bS[P]EC(?:_[A-Z]+)?\b|\bE[R]RATA\b|\b(?:SAMPLER|HOUSE|FIN[D]INGS|STYLE|PRODUCT2?)\.md|\bFIN[D]INGS\b"
    r"|(?<!noqa: )\b[UGN]\d+(?:\.\d+)?\b"
)
"""Files that were never in the repository, and the numbers of their sections."""
NO_CITATION = {
    ("test_taint.py", "U1"),
}
"""A type of numpy."""


def outside(file):
    found = {(file.name, cited) for cited in OUTSIDE.findall(text_of(file))}
    return sorted(found - NO_CITATION)


def test_nothing_outside_the_repository_is_cited():
    assert not [cited for file in texts() for cited in outside(file)]


@pytest.mark.parametrize("text", ["S" + "PEC 11", "S" + "PEC_GUARD", "U" + "4.", "(N" + "2.6)", "ERR" + "ATA 004"])
def test_a_citation_of_a_file_outside_would_be_found(text, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(text)
    assert outside(page)


NUMBERED = re.compile(rf"\b(?:{KINDS}) \d+")
OF_A_PAPER = re.compile(r"paper|et al\.")


def test_code_tells_our_numbers_from_those_of_the_papers():
    for file in texts(".py"):
        for line in CITATION.sub("", text_of(file)).splitlines():
            assert not NUMBERED.search(line) or OF_A_PAPER.search(line), (file.name, line)


def shown(source):
    """The texts of a module that somebody may see: all but docstrings, and strings that stand alone like them."""
    silent: set[int] = set()
    tree = ast.parse(source)
    for node in ast.walk(tree):  # from above: what an expression holds comes after it
        if isinstance(node, ast.Expr):
            silent.add(id(node.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent:
            yield node.value


def test_users_see_no_number_of_ours():
    for file in sorted((ROOT / "src").rglob("*.py")):
        for text in shown(text_of(file)) if re.search(KINDS, text_of(file)) else ():
            assert not CITATION.search(text), (file.name, text)
            assert not NUMBERED.search(text) or OF_A_PAPER.search(text), (file.name, text)


def test_what_is_shown_is_read_as_it_is_meant():
    silent = '"""A docstring (Theorem 1)."""\nA = 1\n"""Of A (Theorem 2)."""\n'
    source = silent + 'raise ValueError(f"no {A}" " (Theorem 3)")'
    assert [text for text in shown(source) if CITATION.search(text)] == [" (Theorem 3)"]


def test_pages_that_we_build_show_no_number_of_ours():
    for file in sorted((ROOT / "src" / "shortlist").glob("*/assets/*")):
        if file.name != "errata.json":
            assert not NUMBERED.search(text_of(file)), file.name
    for row in json.loads(text_of(ROOT / "studies" / "papers" / "assets" / "errata.json")):
        assert row["paper"] or not re.search(r"\b(Thm|Lemma|Alg|Cor|Def|Table) \d", row["place"]), row


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "mechanisms").glob("*.md")), ids=lambda page: page.stem)
def test_every_mechanism_page_leads_to_its_full_proof(page):
    assert re.search(r"^Full proof: \[Theorem \d+\]\(\.\./theory/", text_of(page), re.MULTILINE)


def test_the_readme_leads_to_the_book():
    assert "(docs/theory/README.md)" in text_of(ROOT / "README.md")
