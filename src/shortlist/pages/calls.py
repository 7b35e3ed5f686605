"""What to write in place of a call that does not fit: of arguments that are not known, missing, or one too many."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from inspect import CO_VARKEYWORDS
from typing import Any

from shortlist._text import suggest

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


EXAMPLES = {"k": "10", "user": '"user_id"', "item": '"film"', "epsilon": "1.0", "delta": "1e-6", "target": "0.99"}
"""What is written for them, for example."""


def explain_call(function: Any, name: str, arguments: Any, words: dict[str, Any], said: dict[str, str]) -> str:
    """Why a function cannot be called so; no value is shown but a number that goes by another name."""
    code = function.__code__
    first = code.co_varnames[: code.co_argcount]
    named = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    unknown = words.keys() - {*first, *named}
    if unknown and not code.co_flags & CO_VARKEYWORDS:
        word = min(unknown)
        return f"knows no word {word!r}{said.get(word) or other_word(word, [*first, *named]) or f'; see help({name})'}"
    own = [one for one in first if one != "self"]
    given = len(arguments) - len(first) + len(own)
    if given > len(own):
        word = "epsilon" if "epsilon" in named and "epsilon" not in words else next(iter(named), "")
        alone = f"takes {' and '.join(own)} alone without {'its name' if len(own) == 1 else 'their names'}"
        number = arguments[len(first)]
        value = f"{number}" if type(number) in (int, float) and word != "parallel" else EXAMPLES.get(word, "...")
        return f"{alone if own else 'takes everything by name'}: write {word}={value}, for example"
    optional = {*own[len(own) - len(function.__defaults__ or ()) :], *(function.__kwdefaults__ or {})}
    missing = [one for one in (*own[given:], *named) if one not in optional and one not in words]
    if missing:
        written = ", ".join(f"{one}={EXAMPLES.get(one, '...')}" for one in missing)
        return f"needs {' and '.join(missing)}: write {written}, for example"
    twice = [one for one in own[:given] if one in words]
    return f"has {' and '.join(twice)} twice, in its place and by name: write it once"
