"""Mechanisms by the names a user types, and other people's functions by their file."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

from shortlist._text import meant
from shortlist.mechanisms import Mechanism
from shortlist.mechanisms.checks import Budget
from shortlist.mechanisms.entries import ENTRIES
from shortlist.mechanisms.entry import Entry, Request


def names() -> list[str]:
    """All that `shortlist audit` knows by name."""
    return sorted(_makers())


def mechanism_named(name: str, k: int | None, budget: Budget) -> Mechanism:
    """The mechanism of that name, or an error with those that may be meant; k=None is the one audited by default."""
    makers = _makers()
    if name not in makers:
        near = meant(name, names()) or f"; write one of {', '.join(names())}, or FILE.py:FUNCTION"
        raise ValueError(f"{name!r} is not known{near}")
    entry, build = makers[name]
    return build(entry.audited.k if k is None else k, budget)


def _makers() -> dict[str, tuple[Entry, Callable[[int, Budget], Mechanism]]]:
    """The methods of `top_k`, and the names for audits alone, which win."""

    def built(build: Callable[[Request], Mechanism]) -> Callable[[int, Budget], Mechanism]:
        return lambda k, budget: build(Request(k, budget))

    methods = {one.name: (entry, built(one.build)) for entry in ENTRIES for one in entry.methods}
    return methods | {one.name: (entry, one.build) for entry in ENTRIES for one in entry.audited.names}


def function_in(place: str) -> Callable[..., object]:
    """The function of `path/to/file.py:function`: a function from scores to an output, of anybody's."""
    path, _, name = place.rpartition(":")
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if not path.endswith(".py") or spec is None or spec.loader is None or not Path(path).is_file():
        raise ValueError("write FILE.py:FUNCTION, a Python file that is there and a function in it")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ValueError(f"{path} cannot be loaded ({type(error).__name__}: {error}); try it with python") from None
    function: object = getattr(module, name, None)
    if not callable(function):
        raise ValueError(f"there is no function {name!r} in that file")
    return function
