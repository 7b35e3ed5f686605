"""What the library says, in the words of the page: no arguments of Python, no files of the repository."""

from __future__ import annotations

import re

NO_COLUMN = re.compile(r"""^(\w+)=(?:'([^']*)'|"([^"]*)"): the table has no column of that name.*$""", re.DOTALL)
FOR_PROGRAMS = re.compile(r" \((?:see sl\.\w+|docs/[\w/-]+\.md(?:#[\w-]+)?)\)")


def page_words(text: str) -> str:
    """A sentence for somebody in front of a page, who knows its fields by their labels.

    >>> page_words("user='userid': the table has no column of that name; write it as the table does")
    'user: the table has no column userid; write it as the table does, or read the names of its columns'
    >>> page_words("0.1 to 3 are common (see sl.odds).")
    '0.1 to 3 are common.'
    """
    missing = NO_COLUMN.match(text)
    if missing:
        column = missing[2] or missing[3]
        return f"{missing[1]}: the table has no column {column}; write it as the table does, or {READ}"
    return FOR_PROGRAMS.sub("", text)


READ = "read the names of its columns"
