"""A mechanism as a ledger recorded it, said in words: an officer knows no classes of Python."""

from __future__ import annotations

import re

from shortlist._text import READ, without_arguments

RECORDED = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|\b(?P<name>[A-Z]\w*)(?=\((?:k=(?P<k>\d+)\b)?)""")
"""Texts in quotes, which stay as they are; names of classes with how many they were to choose, if that comes first."""
HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def mechanism_in_words(recorded: str) -> str:
    """Without how it is set.

    >>> mechanism_in_words("MeasuredTopK(k=5, budget=PureDP(epsilon=1.0))"), mechanism_in_words("counted by hand")
    ('measured top-5', 'counted by hand')
    >>> mechanism_in_words("k=1 by NoisyMax(budget=PureDP(epsilon=1.0)) for 'NoisyMax(', 'CH'; 1 per user")
    "k=1 by noisy max for 'NoisyMax(', 'CH'; 1 per user"
    """
    return without_arguments(RECORDED.sub(_said, recorded[:READ]))


def _said(match: re.Match[str]) -> str:
    if match["name"] is None:
        return match[0]
    words = [word if word.isupper() and word[1:] else word.lower() for word in HUMPS.split(match["name"])]
    return " ".join(words).replace("top k", f"top-{match['k'] or 'k'}")
