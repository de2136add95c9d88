"""What SQLite cannot compare by itself: other alphabets in any case, and patterns, as functions of one connection."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from zeroclaw_tui.backends.matching import Needle, TextSearch, needles_of
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.memory.query import MemoryFilter

_HOLDS = "holds_in_any_case"
_MATCHES = "matches_pattern"
_TEXTS = "CAST(m.content AS BLOB), CAST(m.key AS BLOB)"

Condition = tuple[str, tuple[Any, ...]]


def conditions(filter: MemoryFilter) -> list[Condition]:
    """The conditions of a filter's text parts and what to bind, over the memories table as `m`, for use in `finding`.

    Compared as bytes: LIKE would stop at a NUL and read `%` and `_` as wildcards, and text that is no UTF-8 stays
    what it is.
    """
    found = [_condition(needle, number) for number, needle in enumerate(needles_of(filter))]
    return [*found, (f"{_MATCHES}({_TEXTS})", ())] if filter.regex else found


def _condition(needle: Needle, number: int) -> Condition:
    if not needle.is_plain:
        return f"{_HOLDS}({number:d}, {_TEXTS})", ()
    wanted = needle.text.encode()
    looked = [f"instr(CAST(lower({column}) AS BLOB), ?) > 0" for column in ("m.content", "m.key")]
    return f"({' OR '.join(looked)})", (wanted, wanted)


@contextmanager
def finding(connection: sqlite3.Connection, filter: MemoryFilter, seconds: float) -> Iterator[None]:
    """Within this the connection has the functions that `conditions` of the same filter names; for a thread.

    Raises WrongUse for a pattern that cannot be read or is matched for longer than `seconds` in all.
    """
    if not filter.looks_for_text:
        yield
        return
    search = TextSearch(filter, seconds)
    needles = search.needles
    failed: list[WrongUse] = []

    def holds(at: int, content: bytes | None, key: bytes | None) -> bool:
        return needles[at].is_in(_text(content)) or needles[at].is_in(_text(key))

    def matches(content: bytes | None, key: bytes | None) -> bool:
        try:
            return is_in(_text(content), _text(key))
        except WrongUse as error:
            # SQLite says of a function no more than that it failed.
            failed.append(error)
            raise

    connection.create_function(_HOLDS, 3, holds)
    if search.pattern is not None:
        is_in = search.pattern.is_in
        connection.create_function(_MATCHES, 2, matches)
    try:
        yield
    except sqlite3.OperationalError:
        if failed:
            raise failed[0] from None
        raise


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode("utf-8", "surrogateescape")
