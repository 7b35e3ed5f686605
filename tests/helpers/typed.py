"""What a test knows of a value before it looks inside: where it does not hold, the test fails here and says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")


def present(value: T | None) -> T:
    """The value, which is there."""
    assert value is not None
    return value


def of_kind(kind: type[T], value: object) -> T:
    """The value, which is of that kind."""
    assert isinstance(value, kind), type(value)
    return value


def noting(calls: list[Any], function: Callable[P, T]) -> Callable[P, T]:
    """The function, which puts the positional arguments of every call into `calls`."""

    def noted(*args: P.args, **words: P.kwargs) -> T:
        calls.append(args)
        return function(*args, **words)

    return noted
