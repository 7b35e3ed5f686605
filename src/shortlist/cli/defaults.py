"""`shortlist.toml`: what the options of the commands are, where they are not given.

It may name columns, the separator of text tables, the unit of privacy and the ledger. What a release costs is never in
a file: it is written where it is spent.
"""

from __future__ import annotations

import os
import tomllib
from typing import Any

FILE = "shortlist.toml"
WORDS = {"user": str, "item": list, "value": str, "separator": str, "unit": str, "ledger": str}
"""What it may hold, and in which type."""
COSTS = ("epsilon", "delta", "rho", "budget", "allow_large", "yes_really")


def defaults(folder: str = ".") -> dict[str, Any]:
    """The words of the file in that folder; none if there is none.

    Raises
    ------
    ValueError
        naming the word that may not stand there.
    """
    path = os.path.join(folder, FILE)
    try:
        with open(path, "rb") as file:
            words = tomllib.load(file)
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError, IsADirectoryError):
        words = None
    if words is None:
        raise ValueError(f'{FILE} cannot be read: it must be TOML, for example user = "user_id"')
    return {word: _checked(word, value) for word, value in words.items()}


def _checked(word: str, value: Any) -> Any:
    if word.replace("-", "_") in COSTS:
        raise ValueError(f"{FILE} must not say {word}: what a release costs is written where it is spent")
    if word not in WORDS:
        raise ValueError(f"{FILE} does not know {word}; it may say {', '.join(WORDS)}")
    if WORDS[word] is list and isinstance(value, str):
        return [value]
    texts = isinstance(value, list) and all(isinstance(one, str) for one in value)
    if not (texts if WORDS[word] is list else isinstance(value, str)):
        raise ValueError(f"{FILE}: {word} must be text{' or a list of texts' * (WORDS[word] is list)}")
    return value
