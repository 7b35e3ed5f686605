"""What the engines share: names nobody else has, and errors in one sentence that shows nothing of the table."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from typing import TypeVar

from shortlist._runtime import MissingPackageError
from shortlist.errors import Text
from shortlist.privacy import ApprovalNeeded, BudgetExceeded, LedgerError

Result = TypeVar("Result")


def fresh() -> str:
    """A name for something temporary."""
    return f"shortlist_{secrets.token_hex(8)}"


class TableError(ValueError):
    """A table that cannot be counted. Its text shows nothing of the table.

    Code that runs inside `in_one_sentence` raises this for a public fact; any other ValueError may quote a row.
    """


PUBLIC = (TableError, MissingPackageError, LedgerError, BudgetExceeded, ApprovalNeeded)
"""Errors of this package alone, with public texts where its own code raises them."""


def in_one_sentence(what: str, action: Callable[[], Result]) -> Result:
    """What the action gives. Engines put rows into their errors; ours say what failed, and in which class of error.

    Errors of our own (`PUBLIC`, and refusals of an argument) that our own code raises stay what they are, without what
    they came from. The error is raised outside of any `except`, for `from None` hides the engine's and keeps it as
    `__context__`.
    """
    told: BaseException
    try:
        return action()
    except KeyboardInterrupt:
        told = KeyboardInterrupt()
    except BaseException as error:
        ours = isinstance(error, PUBLIC) or bool(error.args and isinstance(error.args[0], Text))  # of `bad_value`, say
        if ours and _is_raised_here(error):
            told = error.with_traceback(None)
            told.__cause__ = told.__context__ = None
        elif not isinstance(error, Exception) and type(error).__name__ != "PanicException":  # polars' own
            raise
        else:
            interrupted = str(error).startswith(("Query interrupted", "INTERRUPT"))  # DuckDB's words for Ctrl-C
            told = KeyboardInterrupt() if interrupted else TableError(f"{what}: {_reason(error)}")
    raise told


def _is_raised_here(error: BaseException) -> bool:
    """Whether code of this package raised it, and not a function of the caller's that an engine runs on every row."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return place is not None and str(place.tb_frame.f_globals.get("__name__")).startswith("shortlist.")


def _reason(error: BaseException) -> str:
    """What kind of error it was: its class, or a known reason. Never its own words, nor where: that counts rows."""
    words = str(error)
    known = next((said for pattern, said in REASONS.items() if re.search(pattern, words)), None)
    return known or f"the engine refused ({type(error).__name__})"


REASONS = {
    r"unterminated quote": "a quote is opened and never closed",
    r"Maximum line size": "a line is longer than 2,000,000 bytes",
    r"state machine reached an invalid state": "its lines end in different ways, or a quote stands where none may",
    r"Expected Number of Columns": "a line has more or fewer fields than the header",
    r"nvalid unicode|not utf-8|not valid UTF8|nvalid (?:UTF|utf)-?8|nvalid string encoding|to UTF-8|codec can't": (
        "the text is not UTF-8; convert it first"
    ),
    r"byte order mark": "it begins with a byte order mark; write it as UTF-8 without one",
    r"Malformed JSON": "a line is no JSON object",
    r"JSON transform error": "a line is no JSON object, or has a field twice",
    r"maximum_object_size": "a line is longer than 16 MB",
    r"GZIP": "it is no whole gzip file",
    r"too small to be a Parquet|No magic bytes|not a parquet|Invalid.*Parquet": "it is no parquet file",
    r"Permission denied": "it may not be read",
    r"Out of Memory|out of memory": "the engine ran out of memory; give it more, or more disk for temporary files",
    r"Could not convert|Conversion Error": "a value does not fit the type of its column",
    r"Connection (?:already )?closed|Connection Error": "its connection is closed",
}
