"""What the engines share: names nobody else has, and errors in one sentence that shows nothing of the table."""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Iterator


def fresh() -> str:
    """A name for something temporary."""
    return f"shortlist_{secrets.token_hex(8)}"


class TableError(ValueError):
    """A table that cannot be counted. Its text shows nothing of the table."""


@contextlib.contextmanager
def in_one_sentence(what: str) -> Iterator[None]:
    """Engines put rows into their errors; ours say what failed, and in which class of error."""
    try:
        yield
    except (TableError, KeyboardInterrupt):
        raise
    except Exception as error:
        if str(error).startswith(("Query interrupted", "INTERRUPT")):  # DuckDB's words for Ctrl-C
            raise KeyboardInterrupt from None
        raise TableError(f"{what}: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    """What kind of error it was: its class, or a known reason. Never its own words, nor where: that counts rows."""
    words = str(error)
    known = next((said for pattern, said in REASONS.items() if re.search(pattern, words)), None)
    return known or f"the engine refused ({type(error).__name__})"


REASONS = {
    r"unterminated quote": "a quote is opened and never closed",
    r"Expected Number of Columns": "a line has more or fewer fields than the header",
    r"Invalid unicode|not utf-8|not valid UTF8": "the text is not UTF-8; convert the file first",
    r"Malformed JSON": "a line is no JSON object",
    r"too small to be a Parquet|No magic bytes|not a parquet|Invalid.*Parquet": "it is no parquet file",
    r"Permission denied": "it may not be read",
    r"Out of Memory|out of memory": "the engine ran out of memory; give it more, or more disk for temporary files",
    r"Could not convert|Conversion Error": "the candidates do not fit the type of the item column",
    r"Connection (?:already )?closed|Connection Error": "its connection is closed",
}
