"""Texts of errors and notes in which arguments are marked: each surface writes them in its own way.

`$k` is an argument, `$epsilon=1.0` an argument with a value, and `$<...>` holds words for Python alone; what stands in
quotes is never a mark. Python reads "k", "epsilon=1.0" and the words. The command line makes "-k" and "--epsilon 1.0"
of the first two, and the studio knows by the first which of its fields an error is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

QUOTED = r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\""""
MARK = rf"(?<!\w)(?:{QUOTED})|\$<([^>]*)>|\$([a-z_]\w*)(?:=({QUOTED}|\w*\([^()]*\)|\[[^\[\]]*\]|[\w.+-]*\w|))?"


class Argument(NamedTuple):
    """An argument in a text. Its value is as Python writes it: empty for `name=`, None for the name alone."""

    name: str
    value: str | None

    def __str__(self) -> str:
        return self.name if self.value is None else f"{self.name}={self.value}"


class ForPython(str):
    """Words for somebody who writes Python, and for nobody else."""

    __slots__ = ()


class Text(str):
    """A text with marked arguments. It is the text as Python reads it; `facts` are for surfaces that say it otherwise.

    >>> text = Text("$k must be at least 1: write $k=5$<, or see help(top_k)>")
    >>> print(text)
    k must be at least 1: write k=5, or see help(top_k)
    >>> text.subject, [part.value for part in text.parts if isinstance(part, Argument)]
    ('k', [None, '5'])
    >>> print(Text("where: 'costs $k' is not a condition"))
    where: 'costs $k' is not a condition
    """

    parts: tuple[str | Argument, ...]
    facts: dict[str, Any]

    def __new__(cls, marked: str, **facts: Any) -> Text:
        parts = marked.parts if isinstance(marked, Text) else tuple(_split(marked))
        text = super().__new__(cls, "".join(map(str, parts)))
        text.parts, text.facts = parts, facts
        return text

    def __str__(self) -> str:
        """Itself, so that `str(error)` keeps the marks."""
        return self

    @property
    def subject(self) -> str:
        """The name of the argument that it begins with; empty if there is none."""
        first = self.parts[0] if self.parts else ""
        return first.name if isinstance(first, Argument) else ""


class PrivacyWarning(UserWarning):
    """Warn of a choice that may protect less than intended, or of a refund that was lost.

    Parameters
    ----------
    text
        What is wrong and what to write instead. `str(warning)` is plain text.

    Examples
    --------
    >>> import warnings
    >>> import shortlist as sl
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", sl.PrivacyWarning)
    ...     release = sl.select([1, 2], epsilon=40.0, monotone=True)
    >>> caught[0].category.__name__
    'PrivacyWarning'
    """

    def __init__(self, text: str) -> None:
        super().__init__("".join(text))
        self.text = text


def bad_value(marked: str, **facts: Any) -> ValueError:
    """The error of an argument that has a wrong value."""
    return ValueError(Text(marked, **facts))


def bad_type(marked: str, **facts: Any) -> TypeError:
    """The error of an argument that is of a wrong type, missing, or one too many."""
    return TypeError(Text(marked, **facts))


def _split(marked: str) -> Iterator[str | Argument]:
    """The parts of a text with marks."""
    end = 0
    for match in re.finditer(MARK, marked):
        aside, name, value = match.groups()
        if aside is None and name is None:  # a text in quotes
            continue
        if match.start() > end:
            yield marked[end : match.start()]
        yield ForPython(aside) if name is None else Argument(name, value)
        end = match.end()
    if marked[end:]:
        yield marked[end:]
