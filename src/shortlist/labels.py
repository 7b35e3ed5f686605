"""Labels as they are released: plain values that hold nothing but themselves, and an order that says nothing."""

from __future__ import annotations

import datetime
import enum
import re
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from shortlist.sampling.entropy import Source
from shortlist.sampling.uniforms import WordStream, shuffle

PLAIN = frozenset((str, int, bool, float, datetime.date, datetime.datetime, bytes, type(None)))


ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
OWN: dict[type, Callable[[Any], Hashable]] = {
    str: str.__str__, int: int.__int__, float: float.__float__, bytes: lambda label: bytes.join(b"", [label]),
}  # fmt: skip
"""How a value of a class made from one of these becomes one of Python's own, whatever its own methods say."""


def plain_label(label: Any) -> Hashable:
    """The same label as a value of Python's own, where there is an equal one; otherwise as it is.

    A scalar of numpy or arrow may be a view into the column it was taken from, and would carry all of it along; a text
    of a class of its own may know the document that it was cut from (parsers of HTML and XML make such texts).
    """
    if type(label) in PLAIN:
        return label  # type: ignore[no-any-return]
    if isinstance(label, enum.Enum):  # a constant of a program
        return label
    if isinstance(label, tuple):
        return tuple(map(plain_label, label))
    if isinstance(label, frozenset):
        return frozenset(map(plain_label, label))
    if isinstance(label, memoryview):
        return label.tobytes()
    if isinstance(label, np.generic):
        return _of_numpy(label)
    own = next((way for kind, way in OWN.items() if isinstance(label, kind)), None)
    if own is not None:
        return own(label)
    library = type(label).__module__.partition(".")[0]
    if library == "pyarrow" and hasattr(label, "as_py"):
        return plain_label(label.as_py())
    if library == "pandas" and isinstance(label, datetime.datetime) and getattr(label, "nanosecond", 1) == 0:
        return label.to_pydatetime()  # type: ignore[attr-defined, no-any-return]
    return label  # type: ignore[no-any-return]


def _of_numpy(label: np.generic) -> Hashable:
    """Times stay numpy's: they own their bytes, and nanoseconds have no equal."""
    if isinstance(label, np.datetime64 | np.timedelta64):
        return label
    value = label.item()
    return label if isinstance(value, np.generic) else plain_label(value)


def typed(label: Any) -> Hashable:
    """A key that is equal for the same label alone, where labels may compare equal: 1, 1.0 and True, 0.0 and -0.0, one
    moment in two zones. NaN is the same as NaN.
    """
    if isinstance(label, tuple):
        return type(label), tuple(map(typed, label))
    if isinstance(label, frozenset):
        return type(label), frozenset(map(typed, label))
    if type(label) is datetime.datetime:
        return type(label), label.isoformat(), label.fold, label.tzname()
    if type(label) is float:
        return type(label), repr(label)
    return type(label), label


def by_label(items: Sequence[Hashable], indices: Sequence[int] | None, source: Source) -> list[int]:
    """Positions sorted by label, and where labels do not compare by their type and text.

    Labels may compare only partly (sets do), different ones may read alike, and methods of their own may notice in
    which order they are asked. So the sort starts from an order that says nothing: by index, or drawn for the purpose
    and then by text. The law of the result is a function of the set alone, whatever order the items came in.
    """
    if indices is not None:
        start = sorted(range(len(items)), key=indices.__getitem__)
        if set(map(type, items)) <= {int} and list(items) == list(indices):  # candidates without names
            return start
    else:
        order = shuffle(len(items), WordStream(source))
        start = sorted(order, key=_texts(items, order))
    try:
        return sorted(start, key=items.__getitem__)  # type: ignore[arg-type]
    except Exception:  # a label's own comparison may raise anything
        return sorted(start, key=_texts(items, start))


def _texts(items: Sequence[Hashable], order: Sequence[int]) -> Callable[[int], tuple[str, str]]:
    """The type and text of each, asked for in that order."""
    return {i: (type(items[i]).__name__, _text(items[i])) for i in order}.__getitem__


def _text(item: Hashable) -> str:
    """Without addresses in memory: objects that were made in the order of their scores would lie in that order."""
    try:
        return str(item) if type(item) in PLAIN else ADDRESS.sub("", str(item))
    except Exception:  # its own method may raise anything: then it reads like every other of its type
        return ""
