"""Text for people: terminals, numbers, advice and near misses."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches

JOINERS = "\u200c\u200d"
"""Parts of words and of pictures in many scripts; they move nothing."""

STEERING = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode's classes of control and format characters, half characters, and breaks of lines and paragraphs."""


def terminal_safe(text: str) -> str:
    """On one line, with a space for every character that steers instead of showing.

    These are control characters (escape sequences begin with one), line breaks, the marks that turn the direction of
    writing, other invisible marks, and halves of characters.

    >>> terminal_safe("red \\x1b[31m alert\\nsecond line \\u202etxt.exe")
    'red  [31m alert second line  txt.exe'
    """
    if text.isprintable():  # almost all are
        return text
    return "".join(letter if is_shown(letter) else " " for letter in text)


def is_shown(letter: str) -> bool:
    return letter in JOINERS or unicodedata.category(letter) not in STEERING


def about(number: float) -> str:
    """A number to three digits, written out.

    >>> about(6312.4), about(14.93), about(0.5)
    ('6,310', '14.9', '0.5')
    """
    return f"{float(f'{number:.3g}'):,.10g}"


def ordinal(n: int) -> str:
    """1st, 2nd, 3rd, 11th.

    >>> ordinal(1), ordinal(11), ordinal(1022)
    ('1st', '11th', '1,022nd')
    """
    last = {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n:,}{'th' if n % 100 in (11, 12, 13) else last}"


def suggest(word: str, known: Iterable[str]) -> str:
    """What somebody may have meant who wrote `word`, as the end of a sentence; empty if nothing is near.

    >>> suggest("epsilom", ["epsilon", "delta"])
    "; did you mean 'epsilon'?"
    >>> suggest("colour", ["epsilon", "delta"])
    ''
    """
    names = list(known)
    alike = [name for name in names if name.strip().casefold() == word.strip().casefold()]
    begun = [name for name in names if len(word) > 2 and name.startswith(word)]
    near = alike or get_close_matches(word, names, n=1, cutoff=0.7) or (begun if len(begun) == 1 else [])
    return f"; did you mean {near[0]!r}?" if near else ""
