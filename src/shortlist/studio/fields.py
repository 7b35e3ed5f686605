"""What the page sends, field by field: checked, and refused in words that say what to write."""

from __future__ import annotations

import csv
import sys
from typing import Any

from shortlist.pages.guarantee_in_words import ABSURD, epsilon_of, risk
from shortlist.privacy import ApproxDP, Guarantee, PureDP

NEEDED = {
    "user": "write which column says who a row is about, for example user_id",
    "item": "write which column holds the items, for example film; several go with commas",
    "value": "write which column holds the number or the date, for example age",
    "lower": "write the smallest value that you expect, a public number or a date such as 2024-01-31",
    "upper": "write the largest value that you expect, a public number or a date such as 2024-12-31",
    "name": "write a name for the file, for example budget.db",
}
"""What an empty field is missing."""
EXAMPLES = {"epsilon": "0.5", "delta": "1e-6"}


def text_in(request: dict[str, Any], name: str, *, needed: bool = True) -> str:
    """A text of the page, that can be seen."""
    value = request.get(name, "")
    if not isinstance(value, str) or len(value) > 1000:
        raise ValueError(f"{name}: write a text of at most 1,000 characters")
    if not value.isprintable():
        raise ValueError(f"{name}: write it without line breaks and other signs that cannot be seen")
    if needed and not value:
        raise ValueError(f"{name}: {NEEDED[name]}")
    return value


def columns_in(request: dict[str, Any], name: str) -> tuple[str, ...]:
    """Columns from "film, country"; one with a comma in its name stands in quotes."""
    return split(text_in(request, name), name)


def split(line: str, name: str) -> tuple[str, ...]:
    """The words of one line, between commas."""
    try:
        words = tuple(word.strip() for word in next(csv.reader([line], skipinitialspace=True, strict=True)))
    except (csv.Error, StopIteration):
        raise ValueError(f'{name}: put quotes around the whole of a name with a comma, as in "a, b"') from None
    if not all(words):
        raise ValueError(f"{name}: there is a comma with nothing beside it; take it away")
    return words


def separator_in(request: dict[str, Any]) -> str | None:
    """What stands between the fields of a CSV file; None for a comma."""
    value = request.get("separator")
    if value in (None, "", ","):
        return None
    if value not in (";", "\t", "|"):
        raise ValueError("separator: choose a comma, a semicolon, a bar or a tab")
    return str(value)


def groups_in(request: dict[str, Any]) -> tuple[str, ...]:
    """The public keys, from "CH, DE, FR"; refused without the column they are in."""
    words = text_in(request, "groups", needed=False).split(",")
    groups = tuple(word.strip() for word in words if word.strip())
    if groups and not text_in(request, "by", needed=False):
        raise ValueError("by: write the column that says to which group a row belongs, or take the groups away")
    return groups


def budget_in(request: dict[str, Any]) -> PureDP | ApproxDP:
    """What may be spent."""
    epsilon, delta = _number(request, "epsilon"), request.get("delta")
    if delta in (None, "", 0):
        return PureDP(epsilon)
    return ApproxDP(epsilon, _number(request, "delta"))


def check_large(guarantee: Guarantee, request: dict[str, Any]) -> None:
    """Refuse what promises nobody anything, unless the tick says that it is known."""
    if not flag_in(request, "large") and epsilon_of(guarantee) > ABSURD:
        raise ValueError(
            f"epsilon: above {ABSURD:g} it promises nobody anything ({risk(guarantee).in_short}); write a smaller one, "
            "0.1 to 3 are common, or tick that you know it, if the data are public or made up"
        )


def _number(request: dict[str, Any], name: str) -> float:
    value = request.get(name)
    _check_comma(value, name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= sys.float_info.max:
        raise ValueError(f"{name}: write a number above 0, for example {EXAMPLES[name]}")
    return float(value)


def _check_comma(value: object, name: str) -> None:
    """A comma is refused in words: whether it parts decimals or thousands, only who wrote it knows."""
    if isinstance(value, str) and "," in value:
        raise ValueError(f"{name}: write decimals with a point (0.5), and thousands without a comma")


def whole_in(request: dict[str, Any], name: str) -> int:
    """A whole number of the page."""
    value = request.get(name)
    _check_comma(value, name)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1_000_000:
        raise ValueError(f"{name}: write a whole number from 1 to 1,000,000")
    return value


def flag_in(request: dict[str, Any], name: str) -> bool:
    """A tick of the page."""
    value = request.get(name, False)
    if not isinstance(value, bool):
        raise ValueError(f"{name}: true or false")
    return value
