"""What the library says to Python, in the words of the command line: `delta=1e-6` is written `--delta 1e-6` there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping

LISTS = {"--groups": "CH,DE,FR", "--candidates": "FILE", "--item": "COLUMN --item COLUMN"}
"""How a list is given on the command line, for example."""
GUARANTEE = r"\b[A-Z]\w*\([^()]*\)"
PAIR = r"\((\w+), (\w+)\)"
GIVEN = re.compile(rf"{GUARANTEE}|\b([a-z_]+)=('[^']*'|\"[^\"]*\"|\[[\w., ]*\]|{PAIR}|[\w.+-]*[\w]|)")
"""A word with its value; what stands in a guarantee stays as it is."""
SUBJECT = re.compile(r"^([a-z_]+)(?: and ([a-z_]+))?(?= must | is for | looks at | go together| go with |: )")
"""What a sentence is about, where it begins with words of Python."""
LONG_WORD = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b(?![=(])")
"""No word of English has such a line in it."""
IN_PYTHON = re.compile(r", or (?:[\w=]+\(.*?\) in Python|ledger\.\w+\([^()]*\),)")
"""What only a program can write, beside what the command line can."""
OTHER_END = re.compile(r"( must be (?:below|above) )([a-z_]+)(?=$|[;,:.])")
"""A number is held against another one, by its name."""
SHORT = ("k", "q")
"""Options of one letter."""
NOTHING: Mapping[str, str] = {}
SEVERAL = re.compile(r"(--?[a-z-]+ \S+), (?=--?[a-z])")


def without_python(words: str) -> str:
    """The same without what is for programs alone.

    >>> without_python("q4.db is not there; `shortlist ledger init` makes it, or Ledger(path, budget=...) in Python")
    'q4.db is not there; `shortlist ledger init` makes it'
    """
    return IN_PYTHON.sub("", words)


def in_the_words_of(options: Collection[str], words: str, arguments: Mapping[str, str] = NOTHING) -> str:
    """A sentence of the library for whoever writes these options; what is no option stays as it is.

    >>> known = {"-k", "--delta", "--value", "--clip", "--at-least"}
    >>> in_the_words_of(known, "value and clip go together: write value='stars', clip=(0, 5)")
    '--value and --clip go together: write --value stars --clip 0,5'
    >>> in_the_words_of(known, "k must be at least 1; at_least is for values, seed=3")
    '-k must be at least 1; --at-least is for values, seed=3'
    """

    def option(name: str | None) -> str:
        """How it is written here; empty if it is not known."""
        written = f"-{name}" if name in SHORT else f"--{(name or '').replace('_', '-')}"
        return written if written in options else arguments.get(name or "", "")

    def given(match: re.Match[str]) -> str:
        if not (word := option(match[1])):
            return match[0]
        if match[3]:
            return f"{word} {match[3]},{match[4]}".replace("low,high", "LOW,HIGH")
        if match[2] == "[...]":
            return f"{word} {LISTS.get(word, '...')}"
        if match[2].startswith("["):
            return " ".join(f"{word} {one.strip()}" for one in match[2][1:-1].split(","))
        value = match[2].strip("'\"")
        plain = "tab" if value == "\\t" else shlex.quote(value)
        return {"True": word, "": word, "None": f"no {word}"}.get(value, f"{word} {plain}")

    def subject(match: re.Match[str]) -> str:
        names = [name for name in match.groups() if name]
        return " and ".join(map(option, names)) if all(map(option, names)) else match[0]

    said = SUBJECT.sub(subject, words)
    said = OTHER_END.sub(lambda match: match[1] + (option(match[2]) or match[2]), said)
    if "--delta" in options:
        said = said.replace("budget=ApproxDP(epsilon, delta)", "--epsilon 1 --delta 1e-6, for example")
    said = LONG_WORD.sub(lambda match: option(match[0]) or match[0], said)
    return SEVERAL.sub(r"\1 ", GIVEN.sub(given, said))
