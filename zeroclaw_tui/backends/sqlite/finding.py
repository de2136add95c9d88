"""What SQLite cannot compare by itself: other alphabets in any case, and patterns, as functions of one connection."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from zeroclaw_tui.backends.matching import Needle, TextSearch, needles_of
from zeroclaw_tui.backends.sqlite.connection import any_text
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
    guard = _Guard()
    connection.create_function(_HOLDS, 3, guard.kept(lambda at, *texts: _holds(search.needles[at], *texts)))
    if (pattern := search.pattern) is not None:
        connection.create_function(_MATCHES, 2, guard.kept(lambda *texts: any(map(pattern.is_in, map(_text, texts)))))
    try:
        yield
    except sqlite3.OperationalError:
        if guard.error is not None:
            raise guard.error from None
        raise


class _Guard:
    """Keeps the error of a function, of which SQLite says no more than that there was one."""

    def __init__(self) -> None:
        self.error: Exception | None = None

    def kept(self, function: Callable[..., bool]) -> Callable[..., bool]:
        """The same function, its error kept."""

        def call(*values: Any) -> bool:
            try:
                return function(*values)
            except Exception as error:
                self.error = error
                raise

        return call


def _holds(needle: Needle, *texts: bytes | None) -> bool:
    return any(map(needle.is_in, map(_text, texts)))


def _text(value: bytes | None) -> str:
    return "" if value is None else any_text(value)
