"""How good the list would be if the counts looked as the analyst expects: a computation on made-up counts."""

from __future__ import annotations

from typing import Any

from shortlist.report.studio.question import Plan


def expected(plan: Plan, asked: dict[str, Any]) -> str | None:
    """None where nothing was described."""
    return None
