"""Calls that do not fit a function are answered in words: what was misspelt, what is missing, what goes by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import CO_VARKEYWORDS
from typing import Any, TypeVar, cast

from shortlist._text import other_word

Called = TypeVar("Called", bound=Callable[..., Any])
EXAMPLES = {"k": "10", "user": '"user_id"', "item": '"film"', "epsilon": "1.0", "delta": "1e-6", "target": "0.99"}
"""What is written for them, for example."""


def kind_of_words(name: str, **said: str) -> Callable[[Called], Called]:
    """For a function: what is written and not known is refused with what to write instead, before anything else.

    So is what is missing, and what was written without its name. Where the function takes words of every name, it
    judges them by itself. `said` has what to say of some words.

    >>> tea = kind_of_words("tea", milk="; there is none")(lambda cups, *, sugar=0: sugar)
    >>> tea(1, sugr=1)
    Traceback (most recent call last):
    TypeError: tea knows no word 'sugr'; did you mean 'sugar'?
    >>> tea(1, 2)
    Traceback (most recent call last):
    TypeError: tea takes cups alone without its name: write sugar=2, for example
    >>> tea(sugar=1)
    Traceback (most recent call last):
    TypeError: tea needs cups: write cups=..., for example
    """

    def kind(function: Called) -> Called:
        code = function.__code__
        first = code.co_varnames[: code.co_argcount]
        named = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        known = {*first, *named}
        judges = bool(code.co_flags & CO_VARKEYWORDS)

        @wraps(function)
        def called(*arguments: Any, **words: Any) -> Any:
            if not judges and not words.keys() <= known:
                word = min(words.keys() - known)
                hint = said.get(word) or other_word(word, [*first, *named]) or f"; see help({name})"
                raise TypeError(f"{name} knows no word {word!r}{hint}")
            try:
                return function(*arguments, **words)
            except TypeError as error:
                trace = error.__traceback__
                if trace is None or trace.tb_next is not None:  # of the function itself, which was called
                    raise
            raise TypeError(_unfit(function, name, first, named, arguments, words))

        return cast(Called, called)

    return kind


def _unfit(
    function: Any, name: str, first: tuple[str, ...], named: tuple[str, ...], arguments: Any, words: dict[str, Any]
) -> str:
    """Why a function cannot be called so; no value is shown but a number that goes by another name."""
    own = [one for one in first if one != "self"]
    given = len(arguments) - len(first) + len(own)
    if given > len(own):
        word = "epsilon" if "epsilon" in named and "epsilon" not in words else next(iter(named), "")
        alone = f"takes {' and '.join(own)} alone without {'its name' if len(own) == 1 else 'their names'}"
        number = arguments[len(first)]
        value = f"{number}" if type(number) in (int, float) and word != "parallel" else EXAMPLES.get(word, "...")
        return f"{name} {alone if own else 'takes everything by name'}: write {word}={value}, for example"
    optional = {*own[len(own) - len(function.__defaults__ or ()) :], *(function.__kwdefaults__ or {})}
    missing = [one for one in (*own[given:], *named) if one not in optional and one not in words]
    if missing:
        written = ", ".join(f"{one}={EXAMPLES.get(one, '...')}" for one in missing)
        return f"{name} needs {' and '.join(missing)}: write {written}, for example"
    twice = [one for one in own[:given] if one in words]
    return f"{name} has {' and '.join(twice)} twice, in its place and by name: write it once"
