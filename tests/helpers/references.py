"""`python -m tests.helpers.references`: the bibliography in the docs and the references of CITATION.cff."""

from __future__ import annotations

import json
from pathlib import Path

from shortlist.pages.theme import Reference, mechanisms, references

ROOT = Path(__file__).parents[2]
PAGE, CITATION = ROOT / "docs" / "references.md", ROOT / "CITATION.cff"
FIVE = ("gumbel", "shoemate2025", "shekelyan2022", "ding2022", "zhu2022")
MARK = "references:\n"


def link(one):
    """Where a publication can be read, or "" if nothing is known."""
    if one.doi:
        return f"https://doi.org/{one.doi}"
    return one.url or (f"https://arxiv.org/abs/{one.arxiv}" if one.arxiv else "")


def cited(one: Reference) -> str:
    """An item of the bibliography, with its anchor and the mechanisms that rest on it."""
    names = [" ".join(reversed(author.split(", "))) for author in one.authors]
    authors = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    place = ", ".join(str(part) for part in (one.venue, one.year) if part and part != "arXiv")
    identifiers = [f"[doi:{one.doi}]({link(one)})"] if one.doi else [f"[{one.url}]({one.url})"] if one.url else []
    identifiers += [f"[arXiv:{one.arxiv}](https://arxiv.org/abs/{one.arxiv})"] if one.arxiv else []
    pages = sorted({page for _, page, found in mechanisms() if one in found})
    used = f" Used by {', '.join(f'[{page}](mechanisms/{page}.md)' for page in pages)}." if pages else ""
    return f'- <a id="{one.key}"></a>{authors}. "{one.title}". {". ".join([place, *identifiers])}.{used}'


def page() -> str:
    """docs/references.md."""
    rest = [one for key, one in references().items() if key not in FIVE]
    return "\n".join(
        [
            "# References\n",
            "The papers that the mechanisms, the accounting and the checks come from. `CITATION.cff` lists them too,",
            "and a release page has the BibTeX of the papers behind its mechanism.",
            "\n## The five papers\n",
            "The package began with these: [their figures, reproduced](reproduce.md), and [their errata](errata.md).\n",
            *[cited(references()[key]) for key in FIVE],
            "\n## Prior and related work\n",
            *[cited(one) for one in sorted(rest, key=lambda one: (one.authors[0], one.year or 0))],
            "",
        ]
    )


def cff(one: Reference) -> list[str]:
    """A reference in the Citation File Format 1.2.0; JSON texts are YAML."""
    venue = {"article": "journal", "conference-paper": "collection-title"}.get(one.type, "notes")
    facts = {"type": one.type, "title": one.title, "year": one.year, venue: one.venue, "doi": one.doi}
    facts |= {"url": "" if one.doi else link(one)}
    lines = [f"    {word}: {json.dumps(fact, ensure_ascii=False)}" for word, fact in facts.items() if fact]
    lines.append("    authors:")
    for family, _, given in (author.partition(", ") for author in one.authors):
        lines += [f"      - family-names: {json.dumps(family, ensure_ascii=False)}"] if given else []
        lines += [f"        given-names: {json.dumps(given, ensure_ascii=False)}"] if given else []
        lines += [] if given else [f"      - name: {json.dumps(family, ensure_ascii=False)}"]
    return ["  - " + lines[0].strip(), *lines[1:]]


def citation() -> str:
    """CITATION.cff with the references renewed, which stand last."""
    before = CITATION.read_text(encoding="utf-8").partition(MARK)[0]
    return before + MARK + "\n".join(line for one in references().values() for line in cff(one)) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    CITATION.write_text(citation(), encoding="utf-8")
