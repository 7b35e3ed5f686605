"""What tells one audit from another: its inputs and the code of what is audited, as short texts."""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Iterator
from functools import partial
from types import CellType, CodeType, FunctionType, MethodType


def fingerprint(thing: object) -> str:
    """The same for equal inputs and for the same code, in any process; different otherwise.

    A function is told by its code, its defaults and what it closes over, not by what it calls. Whatever cannot be
    pickled is told by its `repr`.
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in _parts(thing, set()):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _parts(thing: object, seen: set[int]) -> Iterator[bytes]:
    contents = _held(thing)
    if contents is None:
        yield _pickled(thing)
        if callable(thing) and isinstance(type(thing).__call__, FunctionType):
            yield from _parts(type(thing).__call__, seen)
        return
    yield f"{type(thing).__name__} {len(contents)}".encode()
    if isinstance(thing, FunctionType):
        if id(thing) in seen:
            return  # it closes over itself
        seen.add(id(thing))
    for one in contents:
        yield from _parts(one, seen)


def _held(thing: object) -> list[object] | None:
    """What makes it up, if it may hold code, which pickle knows by name at best."""
    if isinstance(thing, CodeType):
        return [thing.co_code, *thing.co_names, *thing.co_varnames, *thing.co_consts]
    if isinstance(thing, FunctionType):
        return [thing.__code__, thing.__defaults__, thing.__kwdefaults__, *map(_content, thing.__closure__ or ())]
    if isinstance(thing, MethodType):
        return [thing.__func__, thing.__self__]
    if isinstance(thing, partial):
        return [thing.func, thing.args, thing.keywords]
    if isinstance(thing, set | frozenset):
        return sorted(thing, key=repr)  # strings come in another order in each process
    if isinstance(thing, dict):
        return [*thing.keys(), *thing.values()]
    return list(thing) if isinstance(thing, list | tuple) else None


def _content(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return None  # not set yet


def _pickled(thing: object) -> bytes:
    """Without memory of what was seen: it is the values that count, not which of them are one object."""
    stream = io.BytesIO()
    pickler = pickle.Pickler(stream, protocol=5)
    pickler.fast = True
    try:
        pickler.dump(thing)
    except (pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError):
        return repr(thing).encode()
    return stream.getvalue()
