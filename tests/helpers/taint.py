"""Looks for private labels and counts in everything that can be reached from a release, or read off it."""

from __future__ import annotations

import datetime
import gc
import pickle
import pickletools
import re
import types
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
from matplotlib.figure import Figure

import shortlist as sl
from shortlist import risk
from shortlist.pages import release_page as one_release
from shortlist.pages import summary

COUNTS = {
    "tea": 5923, "milk": 5657, "PLANT-alpha": 2917, "PLANT-beta": 2917, "PLANT-gamma": 2917, "PLANT-delta": 1483,
}  # fmt: skip
"""Users per item. Two clear winners; the next three are tied, so that four are no stable set."""
SECRET_TEXTS = ("PLANT",)
SECRET_NUMBERS = frozenset(COUNTS.values())
"""True counts: of the losers, and of the winners too."""
CANDIDATES = [*COUNTS, "PLANT-nobody"]

RISKS = cache(risk)
"""Of a guarantee alone, and slow: once for each."""

PLAIN = (str, int, bool, float, type(None), datetime.date, list, tuple, dict, bytes, frozenset)
STOP = (type, types.ModuleType, types.BuiltinFunctionType, types.CodeType)
"""Shared by everybody: classes and modules hold no data of one release."""


def rows_of(counts=None) -> pl.DataFrame:
    pairs = [(user, item) for item, many in (counts or COUNTS).items() for user in range(many)]
    return pl.DataFrame(pairs, schema=["user", "item"], orient="row")


def reachable(root):
    """Every object that can be reached, by Python's own bookkeeping: attributes, slots, closures, containers."""
    found, left = {}, [root]
    while left:
        thing = left.pop()
        if id(thing) in found or isinstance(thing, STOP):
            continue
        found[id(thing)] = thing
        inside = gc.get_referents(thing)
        if isinstance(thing, types.FunctionType):
            function: Any = thing
            shared = {id(function.__globals__), id(function.__builtins__)}
            inside = [one for one in inside if id(one) not in shared]
        if isinstance(thing, dict):
            inside += thing.keys()  # of a dictionary of texts Python tells the values alone
        if isinstance(thing, np.ndarray | np.generic):
            inside.append(thing.base)
        left += inside
    return list(found.values())


def is_ours(thing):
    """A class of this package: made of slots, so that all it holds is among its referents."""
    return type(thing).__module__.startswith("shortlist.") and not hasattr(thing, "__dict__")


def in_thing(thing, texts, numbers):
    """Whether one object is, or shows, a plant."""
    if isinstance(thing, str | bytes):
        words = thing if isinstance(thing, str) else thing.decode(errors="replace")
        return any(text in words for text in texts)
    if isinstance(thing, int | float | np.number):
        return thing in numbers
    if isinstance(thing, np.ndarray):
        return in_text(str(thing.tolist()), texts, numbers)
    if isinstance(thing, PLAIN) or is_ours(thing):
        return False  # its parts are looked at one by one
    try:
        return in_text(str(thing), texts, numbers)
    except Exception:
        return False


def in_text(words, texts, numbers):
    return any(text in words for text in texts) or any(
        re.search(rf"(?<![\w.]){n}(?![\w]|\.\d)", words) for n in numbers
    )


def texts_of(release):
    """Whatever a release shows."""
    axes = release.plot(Figure().add_subplot())
    drawn = [part.get_text() for part in (*axes.texts, axes.title, axes.xaxis.label, axes.yaxis.label)]
    drawn.append(axes.get_title(loc="left"))
    with patch.object(summary, "risk", RISKS):
        page = one_release.release_page(release)
    shown = [str(release), repr(release), release.line(), release._repr_html_(), page, *drawn]
    return [*shown, release.to_json(), *map(repr, release.columns().values())]


def in_pickle(thing, texts, numbers):
    operations = pickletools.genops(pickle.dumps(thing))
    return any(in_thing(argument, texts, numbers) for _, argument, _ in operations if argument is not None)


def leaks(thing, texts=SECRET_TEXTS, numbers=SECRET_NUMBERS):
    """What is wrong with a value that should be public: plants in it, or objects that nobody can look into."""
    things = reachable(thing)
    wrong = [f"a plant in a {type(one).__name__}" for one in things if in_thing(one, texts, numbers)]
    wrong += [f"a {type(one).__name__}" for one in things if not isinstance(one, PLAIN) and not is_ours(one)]
    try:
        wrong += ["a plant in the pickle"] * in_pickle(thing, texts, numbers)
    except (TypeError, pickle.PicklingError, AttributeError) as error:
        wrong.append(f"no pickle: {error}")
    if isinstance(thing, sl.Release):
        try:
            wrong += ["a plant in what is shown"] * any(in_text(words, texts, numbers) for words in texts_of(thing))
        except (TypeError, ValueError, AttributeError) as error:
            wrong.append(f"not shown: {error}")
    return wrong


def check_release(release):
    """Clean, apart from what was released: a loser that came out is no secret any more, and a whole number with noise
    may be the true one by chance."""
    texts = [name for name in CANDIDATES if name.startswith("PLANT") and name not in (release.items or ())]
    found = leaks(release, texts, SECRET_NUMBERS - {*(release.values or ())})
    assert found == [], (found, release)
