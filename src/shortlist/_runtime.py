"""Imports when they are needed, values that cannot change, what process this is, and calls that do not fit."""

from __future__ import annotations

import os
from _thread import RLock
from dataclasses import FrozenInstanceError
from functools import cache, wraps
from importlib import import_module
from inspect import CO_VARKEYWORDS
from operator import attrgetter
from typing import Any, TypeVar, cast

TYPE_CHECKING = False  # that of `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Callable

IMPORTS = RLock()


class MissingPackageError(ModuleNotFoundError):
    """A package that is not installed. The text says what needs it and how to install it, and nothing else."""


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=IMPORTS.acquire, after_in_parent=IMPORTS.release, after_in_child=IMPORTS.release)


def lazy_import(module: str, name: str) -> Any:
    """What a module has under that name. For what may never be needed, and needs a library that may not be there."""
    with IMPORTS:
        return getattr(import_module(module), name)


class _Process:
    token = object()

    @classmethod
    def renew(cls) -> None:
        cls.token = object()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Process.renew)


def this_process() -> object:
    """Another object in every forked child."""
    return _Process.token


@cache
def version() -> str:
    """For example "0.2.0"; "unknown" where the package was not installed but only lies on the path."""
    try:
        installed: str = lazy_import("importlib.metadata", "version")("shortlist")  # it loads email, zipfile and socket
    except ModuleNotFoundError:
        return "unknown"
    return installed


Value = TypeVar("Value")


def present(value: Value | None) -> Value:
    """The value, which is there: for what the code knows and its types do not."""
    assert value is not None
    return value


Record = TypeVar("Record")
Called = TypeVar("Called", bound="Callable[..., Any]")
Kind = TypeVar("Kind", bound=type)


def replace_fields(record: Record, **changes: Any) -> Record:
    """A frozen, slotted dataclass with other values in some fields, which must be fit for it: nothing is checked again.

    It is quicker than `dataclasses.replace`, for what is made anew in every call.
    """
    copy: Record = object.__new__(type(record))
    for name in record.__slots__:  # type: ignore[attr-defined]
        object.__setattr__(copy, name, changes[name] if name in changes else getattr(record, name))
    return copy


def set_fields(record: Record, **changes: Any) -> Record:
    """The same of a record that was made in this very call and that nobody else holds yet: it is changed in place."""
    for name, value in changes.items():
        object.__setattr__(record, name, value)
    return record


def forward(path: str) -> Any:
    """Return a property that reads an attribute of an attribute ("_content.size"), in C: no call of ours.

    Annotate it as a `ClassVar` of what it reads, so that a dataclass does not take it for a field.
    """
    return property(attrgetter(path))


def refuse_changes(kind: Kind, words: str) -> Kind:
    """Let nobody set or delete anything, with these `words`; those of a dataclass with slots know its own fields alone.

    >>> from dataclasses import dataclass
    >>> Spot = refuse_changes(dataclass(frozen=True, slots=True)(type("Spot", (), {})), "a spot has no {}")
    >>> Spot().size = 3
    Traceback (most recent call last):
    dataclasses.FrozenInstanceError: a spot has no size
    """

    def refuse(record: object, name: str, value: object = None) -> None:
        raise FrozenInstanceError(words.format(name))

    record: Any = kind
    record.__setattr__ = record.__delattr__ = refuse
    return kind


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
        @wraps(function)
        def call(*arguments: Any, **words: Any) -> Any:
            try:
                return function(*arguments, **words)
            except TypeError as error:
                trace = error.__traceback__
                if trace is None or trace.tb_next is not None:  # of the function itself, which was called
                    raise
            raise TypeError(f"{name} {_explain_call(function, name, arguments, words, said)}")

        return cast(Called, call)

    return kind


def _explain_call(function: Any, name: str, arguments: Any, words: dict[str, Any], said: dict[str, str]) -> str:
    """Why a function cannot be called so; no value is shown but a number that goes by another name."""
    other_word = lazy_import("shortlist._text", "other_word")
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
