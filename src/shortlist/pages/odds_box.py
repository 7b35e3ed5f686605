"""What an attacker can learn, as bars and tables, and other parts that the page of a release and of a ledger share."""

from __future__ import annotations

from shortlist._text import page_safe
from shortlist.accounting.guarantees import Guarantee
from shortlist.pages.guarantee_in_words import Odds, caution, in_short, percent
from shortlist.pages.theme import table


def caution_in(guarantee: Guarantee) -> str:
    """A gentle warning of an epsilon that promises little; empty for others."""
    words = caution(guarantee)
    return f'<p class="warning" role="note">{page_safe(words)}</p>' if words else ""


def price_in(guarantee: Guarantee) -> str:
    """What was paid, on one line of the page."""
    return f'<span class="whole">{page_safe(in_short(guarantee))}</span>'


def odds_box(chances: Odds, before: str, after: str) -> str:
    """The chances as HTML; `before` and `after` are words for the two bars, as HTML."""
    return (
        f'<div class="odds keep">{bar(before, 0.5, "")}{bar(after, chances.right, "after")}'
        f"{_suspicions(chances)}{_alarms(chances)}</div>"
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


def _suspicions(chances: Odds) -> str:
    if not chances.after:
        return ""
    rows = [(percent(before), percent(after)) for before, after in chances.after]
    return table(("if they suspected it before", "they may now suspect it at most"), rows)


def _alarms(chances: Odds) -> str:
    rows = [(f"{alarm:.0%} of the innocent", f"{percent(caught)} of the others") for alarm, caught in chances.caught]
    return table(("an attack that wrongly accuses", "catches at most"), rows)
