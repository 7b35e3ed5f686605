"""Text for people: terminals, numbers, advice and near misses."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
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


SAID: dict[str, str] = {
    "sep": "; write separator=",
    "delimiter": "; write separator=",
    "smallest": "; write largest=False",
    "bottom_k": "; write top_k(..., largest=False)",
    "median": "; write quantile(..., q=0.5)",
}
"""What others call it, and what to write here, where that is no near spelling."""


def other_word(word: str, known: Iterable[str], said: Mapping[str, str] = SAID) -> str:
    """What to write instead of a word that is not known, as the end of a sentence; empty if nobody can tell.

    >>> other_word("sep", ["separator"]), other_word("itm", ["item", "user"])
    ('; write separator=', "; did you mean 'item'?")
    """
    names = list(known)
    other = said.get(word, "")
    told = re.match(r"; write (\w+)", other)
    return other if told is not None and told[1] in names else suggest(word, names)
