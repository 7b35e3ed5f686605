"""`python -m bench.mechanisms`: the table of all mechanisms, in this order, into the pages that show it."""

from __future__ import annotations

import re
from pathlib import Path

from shortlist.audit.entries import ENTRIES
from shortlist.mechanisms.registry import METHODS

ROOT = Path(__file__).parents[1]
PAGES = {ROOT / "README.md": "docs/mechanisms/", ROOT / "docs/reference/mechanisms.md": "../mechanisms/"}
"""The pages, and how docs/mechanisms is reached from each."""


TEXTS = {
    "NoisyMax": (
        "adds noise to every score and releases who is on top; permute-and-flip and the exponential mechanism",
        "one winner",
        "pure; zCDP and (ε, δ) with Gumbel noise, (ε, δ) with Gaussian noise",
    ),
    "OneshotTopK": (
        "adds noise once to every score and releases the k largest; with Gumbel noise it is peeling",
        "k items in order",
        "pure; zCDP and (ε, δ) with Gumbel noise",
    ),
    "JointTopK": (
        "the exponential mechanism over ordered sequences",
        "k items in order",
        "pure, zCDP, (ε, δ)",
    ),
    "CanonicalTopK": (
        "one noisy maximum over all sets of k",
        "a set of k",
        "pure; zCDP and (ε, δ) with Gumbel noise",
    ),
    "GuardedTopK": (
        "canonical top-k that falls back to one-shot where wrong sets would crowd out the right one",
        "a set of k, and which way it went",
        "pure, (ε, δ), zCDP",
    ),
    "OrderedCanonicalTopK": (
        "one noisy maximum over all lists of k, in which the right list leads by its gap",
        "k items in order",
        "pure; zCDP and (ε, δ) with Gumbel noise",
    ),
    "GuardedListTopK": (
        "ordered canonical top-k that falls back to one-shot where wrong lists would crowd out the right one",
        "k items in order, and which way it went",
        "pure, (ε, δ), zCDP",
    ),
    "GumbelTopKValues": (
        "Gumbel noise once, the k largest noisy scores released as they are",
        "k items in order with noisy values",
        "(ε, δ)",
    ),
    "NoisyHistogram": (
        "noise on every capped count, and the k largest of the noisy counts: one price for every k",
        "k items in order with values",
        "pure, zCDP, (ε, δ)",
    ),
    "TopKWithGaps": (
        "the k largest noisy scores, and by how much each leads the next, free of charge",
        "k items in order with gaps",
        "pure",
    ),
    "MeasuredTopK": (
        "selects with half of epsilon, measures with the other, and combines measurements and gaps",
        "k items in order with values and gaps",
        "pure",
    ),
    "MeasuredSet": (
        "selects a set with one part of the budget, and measures each of its members with the other",
        "at most k items in order of their noisy values, with margins",
        "pure, zCDP, (ε, δ)",
    ),
    "ExponentialWithGap": (
        "the exponential mechanism's winner with its lead, and how sure that lead makes it",
        "one winner with its gap and a p-value",
        "pure",
    ),
    "SparseVector": (
        "which of many questions are above a threshold, one after another; those below are free",
        "answers with gaps, until k were above",
        "pure",
    ),
    "HybridTopK": (
        "top-k with gaps in which a threshold runs as well: the list ends where it finishes",
        "at most k items in order with gaps; costs less if fewer",
        "pure",
    ),
    "HybridSparseVector": (
        "the items above a noisy threshold, the k largest at most",
        "at most k items in order with gaps; costs less if fewer",
        "pure",
    ),
    "StableTopK": (
        "chooses k where the gap is large, tests that the set is stable, and releases it without noise",
        "a set, or nothing; filled up to k if wanted",
        "(ε, δ), zCDP with a δ",
    ),
    "LimitedDomainTopK": (
        "a list of labels that come from the data, which ends at a noisy bar",
        "at most k items in order, and whether the bar ended them; costs less if fewer",
        "(ε, δ), zCDP with a δ",
    ),
    "CanonicalLimitedDomain": (
        "a set of labels that come from the data, in one round",
        "a set of at most k",
        "(ε, δ), zCDP with a δ",
    ),
    "KeySet": (
        "every label whose noisy sum reaches a bar, from counts to which a person brings a capped part",
        "names with noisy counts, or a set",
        "(ε, δ), zCDP with a δ",
    ),
    "NamesChoice": (
        "a noisy choice between sets, a list and a key set of names from the data, then the one that was chosen",
        "at most k items, and which way it went",
        "(ε, δ), zCDP with a δ",
    ),
    "LargeGap": (
        "how many: the rank behind which the scores fall off",
        "a number k",
        "pure, zCDP, (ε, δ)",
    ),
    "Quantile": (
        "a median or other quantiles of one number per person, on a public grid of any size",
        "one point of the grid for each q",
        "pure, zCDP, (ε, δ)",
    ),
    "PATE": (
        "the class that most teachers name, for a fixed number of queries",
        "one label",
        "zCDP, stated at a δ",
    ),
    "MultiLabelPATE": (
        "the labels on which a stable majority of teachers agrees, for a fixed number of queries",
        "a set of labels, or none",
        "zCDP, stated at a δ",
    ),
}
"""What each mechanism does, what a release carries, and its budgets."""


def table(pages: str) -> list[str]:
    """All mechanisms as a table in Markdown; `pages` leads from where it stands to docs/mechanisms."""
    by_name = {kind.__name__: kind for kind in ENTRIES}
    assert by_name.keys() == TEXTS.keys(), by_name.keys() ^ TEXTS.keys()
    rows = ["| mechanism | what it does | what a release carries | budgets | `method=` |", "|---|---|---|---|---|"]
    for name, texts in TEXTS.items():
        page = by_name[name].proof.removeprefix("docs/mechanisms/").partition("#")[0]
        methods = ", ".join(f"`{method}`" for method in METHODS if method in ENTRIES[by_name[name]].methods)
        rows.append(f"| [`{name}`]({pages}{page}) | {' | '.join(texts)} | {methods} |")
    return rows


def written(page: Path) -> str:
    """The page with its table as it should be."""
    block = "\n".join(["<!-- mechanisms -->", *table(PAGES[page]), "<!-- end mechanisms -->"])
    found, times = re.subn(
        "<!-- mechanisms -->.*?<!-- end mechanisms -->", lambda _: block, page.read_text(), flags=re.S
    )
    assert times == 1, page
    return found


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(written(page))
