"""What is known beforehand about each method: the sentence that `method="auto"` cites and that a plan repeats.

Every figure is from an exact law on public data, in docs/performance.md or docs/planning.md; none is about the
caller's scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Fact:
    """One sentence and the page that has its table."""

    sentence: str
    page: str

    def __str__(self) -> str:
        return f"{self.sentence} ({self.page})"


FACTS: dict[str, Fact] = {
    "permute-and-flip": Fact(
        "its failures are half those of the exponential mechanism where one rival decides", "docs/planning.md"
    ),
    "exponential": Fact("bounded range costs a quarter of the rho of any other noise", "docs/planning.md"),
    "oneshot-exponential": Fact(
        "on six public data sets it needed 0.78 to 0.93 of the epsilon of peeling for the same chance",
        "docs/planning.md",
    ),
    "oneshot-gumbel": Fact("k rounds of bounded range compose with the square root of k", "docs/planning.md"),
    "guarded": Fact(
        "on six public data sets it needed at most 1.29 times the epsilon of canonical for the true top k",
        "docs/planning.md",
    ),
    "canonical": Fact(
        "it needed 9.6, 110 and 765 times less epsilon than peeling for the top 10, 100 and 1,000 of Netflix",
        "docs/planning.md",
    ),
    "joint": Fact("its loss is never better than canonical's", "docs/mechanisms/joint.md"),
    "canonical-limited-domain": Fact(
        "its bar is lower than that of a list from k = 2 on, at delta = 1e-6", "docs/planning.md"
    ),
    "stable": Fact("where the scores fall off behind rank k, its cost does not grow with k", "docs/planning.md"),
    "limited-domain": Fact("a list that ends at its bar, and pays for the rounds it used", "docs/planning.md"),
}


@cache
def cited(method: str) -> str:
    """The fact about a method as an addition to a sentence, or nothing."""
    fact = FACTS.get(method)
    return "" if fact is None else f"; {fact}"
