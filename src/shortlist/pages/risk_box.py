"""What an attacker can learn, as bars and tables; and other parts shared by release and ledger pages."""

from __future__ import annotations

from shortlist._text import page_safe
from shortlist.accounting.guarantees import Guarantee
from shortlist.pages.guarantee_in_words import Risk, caution, in_short, percent
from shortlist.pages.theme import table


def caution_in(guarantee: Guarantee) -> str:
    """A gentle warning of an epsilon that promises little; empty for others."""
    words = caution(guarantee)
    return f'<p class="warning" role="note">{page_safe(words)}</p>' if words else ""


def price_in(guarantee: Guarantee) -> str:
    """What was paid, on one line of the page."""
    return f'<span class="whole">{page_safe(in_short(guarantee))}</span>'


def risk_box(bounds: Risk, before: str, after: str) -> str:
    """Return the probabilities as HTML; `before` and `after` are the labels of the two bars, as HTML."""
    return (
        f'<div class="risk keep">{bar(before, 0.5, "")}{bar(after, bounds.guess, "after")}'
        f"{_posteriors(bounds)}{_powers(bounds)}</div>"
    )


def bar(words: str, chance: float, kind: str) -> str:
    """One chance, in words and as a bar."""
    shown = percent(chance)
    return (
        f'<div class="row {kind}"><span>{words}</span><b>{shown}</b>'
        f'<div class="bar"><i style="width:{100 * chance:.1f}%"></i></div></div>'
    )


def meter(share: float) -> str:
    """How much of a budget is booked."""
    return (
        f'<div class="meter" role="img" aria-label="{share:.0%} of the budget is spent">'
        f'<i style="width:{100 * share:.1f}%"></i></div>'
    )


def facts(rows: list[tuple[str, str]]) -> str:
    """Names and texts side by side, as HTML."""
    return '<dl class="facts">' + "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows) + "</dl>"


def _posteriors(bounds: Risk) -> str:
    if not bounds.posterior:
        return ""
    rows = [(percent(prior), percent(posterior)) for prior, posterior in bounds.posterior]
    return table(("prior probability that the user is in the data", "posterior, at most"), rows)


def _powers(bounds: Risk) -> str:
    rows = [(f"{rate:.0%}", percent(power)) for rate, power in bounds.power]
    return table(("false positive rate of an attack", "true positive rate, at most"), rows)
