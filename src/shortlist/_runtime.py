"""Imports when they are needed, values that cannot change, what process this is, and calls that do not fit."""

from __future__ import annotations

import os
from _thread import RLock
from dataclasses import FrozenInstanceError
from functools import cache, wraps
from importlib import import_module
from operator import attrgetter
from typing import Any, TypeVar, cast

TYPE_CHECKING = False  # that of `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Callable

IMPORTS = RLock()


class MissingPackageError(ModuleNotFoundError):
    """A package that is not installed. The text says what needs it and how to install it, and nothing else."""


def lazy_import(module: str, name: str) -> Any:
    """What a module has under that name. For what may never be needed, and needs a library that may not be there."""
    with IMPORTS:
        return getattr(import_module(module), name)


class LazyModule:
    """A module that is imported when something of it is asked for: what explains, where trusted code hands it out."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        self.__dict__[name] = value = lazy_import(self._module, name)
        return value


SIGNAL_CHECKS: list[Callable[[], None]] = []
"""What raises a signal that was noted and not raised yet; empty where no command runs (`_signals`)."""


def check_signals() -> None:
    """Raise a signal that came while a library worked."""
    for check in SIGNAL_CHECKS:
        check()


class _Process:
    token = object()

    @classmethod
    def renew(cls) -> None:
        cls.token = object()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=IMPORTS.acquire, after_in_parent=IMPORTS.release, after_in_child=IMPORTS.release)
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
            explain_call = lazy_import("shortlist.pages.calls", "explain_call")
            raise TypeError(f"{name} {explain_call(function, name, arguments, words, said)}")

        return cast(Called, call)

    return kind
