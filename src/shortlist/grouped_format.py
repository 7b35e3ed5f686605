"""A grouped release as JSON and back, unchanged: a release each, and what holds for all (docs/release-format.md)."""

from __future__ import annotations

import json
from typing import Any

from shortlist._codecs import FLAG, LABEL, TEXT, WHOLE, Codec, Damaged, field, listed, optional, parsed, word
from shortlist._text import json_line
from shortlist.release_format import FRAME, GUARANTEE, RECEIPT, fields_of, written

FORMAT = "shortlist grouped release"
VERSION = 1

COMMON: dict[str, Codec] = {
    "by": listed(TEXT, tuple),
    "groups_per_user": WHOLE,
    "guarantee": GUARANTEE,
    "charge": GUARANTEE,
    "per_group": GUARANTEE,
    "unit": TEXT,
    "neighbours": word("add-remove", "replace"),
    "secure": FLAG,
    "mechanism": TEXT,
    "why": TEXT,
    "notes": listed(TEXT, tuple),
    "receipt": optional(RECEIPT),
    "frame": optional(FRAME),
    "item_columns": listed(TEXT, tuple),
}


def written_groups(release: Any) -> str:
    """The grouped release as one line of JSON."""
    content: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    content |= {name: codec.write(getattr(release, name)) for name, codec in COMMON.items()}
    content["groups"] = [
        {"key": LABEL.write(key), "release": json.loads(written(one))} for key, one in release.releases.items()
    ]
    return json_line(content, strict=True)


def read_groups(text: object) -> dict[str, Any]:
    """The words of a grouped release; `releases` are pairs of a key and the words of its release.

    Raises
    ------
    TypeError
        if it is no text.
    ValueError
        in one sentence, if it is no grouped release, one of another version, or damaged.
    """
    if not isinstance(text, str | bytes):
        raise TypeError("text must be the JSON that to_json() of a grouped release gave")
    try:
        return _fields(parsed(text))
    except Damaged as damage:
        reason = str(damage)
    raise ValueError(f"this is no grouped release that shortlist can read: {reason}")


def _fields(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise Damaged(f'it does not say "format": "{FORMAT}"')
    if type(content.get("version")) is not int or content["version"] != VERSION:
        raise Damaged(f"its version is not {VERSION}; a newer shortlist may know it")
    if set(content) != {"format", "version", "groups", *COMMON}:
        raise Damaged("something is missing, or it holds something that this version does not know")
    words = {name: field(name, codec, content[name]) for name, codec in COMMON.items()}
    if not isinstance(content["groups"], list):
        raise Damaged("groups: a list is wanted")
    words["releases"] = [_group(one, len(words["by"])) for one in content["groups"]]
    if len({(type(key), key) for key, _ in words["releases"]}) < len(words["releases"]):
        raise Damaged("a group stands there twice")
    return words


def _group(content: Any, columns: int) -> tuple[Any, dict[str, Any]]:
    if not isinstance(content, dict) or set(content) != {"key", "release"}:
        raise Damaged("groups: each has a key and a release")
    key = field("key", LABEL, content["key"])
    if columns > 1 and not (type(key) is tuple and len(key) == columns):
        raise Damaged("a key does not have a part for each column of by")
    return key, fields_of(content["release"])
