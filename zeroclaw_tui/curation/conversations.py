"""Find the conversation that a memory comes from, in the chats that ZeroClaw >= 0.4.3 stores in sessions/sessions.db
of the workspace or data directory."""

from __future__ import annotations

import asyncio
import sqlite3
from functools import partial
from typing import NamedTuple

from zeroclaw_tui.backends.cancellation import read_in_thread
from zeroclaw_tui.backends.lookup import whole_entry
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.files.database import columns_of
from zeroclaw_tui.files.disk import file_size
from zeroclaw_tui.memory.entry import MemoryEntry, as_text
from zeroclaw_tui.memory.errors import NotFound
from zeroclaw_tui.memory.text import one_line

AROUND = 4
"""The number of messages before and after the message."""
MAX_MESSAGE_LENGTH = 20_000
"""The number of characters read of each message; tools may return whole files."""
_HINT = "ZeroClaw stores chat from 0.4.3 on, and deletes it with its session."
_COLUMNS = frozenset({"id", "session_key", "role", "content", "created_at"})
_MIN_TEXT_LENGTH = 12
"""Shorter texts occur in any chat."""
_MAX_TEXT_LENGTH = 2000
_WITH_TEXT = "instr(content, :text)"
_MADE_BEFORE = "role = 'user' AND (julianday(:at) - julianday(created_at)) * 86400 >= -5"
"""With auto_save, a memory may be stored some seconds before its message."""
_DISTANCE = "abs(julianday(created_at) - julianday(:at))"
_MESSAGES = "SELECT role, substr(content, 1, :longest), created_at FROM sessions WHERE session_key = :session AND id"


class Message(NamedTuple):
    """A message, truncated if long. `role` and `at` are as stored, the time in UTC."""

    role: str
    content: str
    at: str


class Conversation(NamedTuple):
    """The messages around the one at index `position`, in order. `session` is the key of the session."""

    session: str
    messages: tuple[Message, ...]
    position: int


async def find_conversation(library: Library, entry: MemoryEntry, messages: int = AROUND) -> Conversation:
    """Read the messages before and after the one that a memory comes from.

    That is the message with its text, in its session if it has one, or else the last user message in that session
    before it was stored. Raises NotFound if there is no such message, and the errors of reading a database.
    """
    file = library.config.install.root / "sessions" / "sessions.db"
    if not await asyncio.to_thread(file_size, file):
        raise NotFound(f"There are no conversations: ZeroClaw has written no chat into {file} here.", hint=_HINT)
    if entry.is_excerpt:
        entry = await whole_entry(library.memory, entry.handle)
    found = await read_in_thread(file, partial(_find, entry=entry, around=messages))
    if found is None:
        session = f"has no session {one_line(entry.session_id)[:60]} any more and " if entry.session_id else ""
        raise NotFound(f"sessions.db {session}has no message that this memory comes from.", hint=_HINT)
    return found


def _find(connection: sqlite3.Connection, entry: MemoryEntry, around: int) -> Conversation | None:
    if not set(columns_of(connection, "sessions")) >= _COLUMNS:
        return None
    text = _bindable(entry.content.strip()[:_MAX_TEXT_LENGTH])
    facts, within = {"text": text, "at": _bindable(entry.timestamp)}, "1"
    if entry.session_id:
        # The key of a web socket or RPC session is its id with a prefix.
        bare = _bindable(entry.session_id).removeprefix("gw_").removeprefix("rpc_")
        facts |= {"session": _bindable(entry.session_id), "bare": bare, "gw": f"gw_{bare}", "rpc": f"rpc_{bare}"}
        within = "session_key IN (:session, :bare, :gw, :rpc)"
    is_long_enough = len(text) >= (1 if entry.session_id else _MIN_TEXT_LENGTH)
    for condition in (*([_WITH_TEXT] if is_long_enough else []), *([_MADE_BEFORE, "1"] if entry.session_id else [])):
        statement = (
            f"SELECT id, session_key FROM sessions WHERE {within} AND {condition}"
            f" ORDER BY {_DISTANCE} IS NULL, {_DISTANCE}, id DESC LIMIT 1"
        )
        for hit, session in connection.execute(statement, facts):
            place = {"session": session, "hit": hit, "longest": MAX_MESSAGE_LENGTH}
            before = connection.execute(f"{_MESSAGES} < :hit ORDER BY id DESC LIMIT {around:d}", place).fetchall()
            rows = connection.execute(f"{_MESSAGES} >= :hit ORDER BY id LIMIT {around + 1:d}", place).fetchall()
            messages = (Message(*map(as_text, message)) for message in [*before[::-1], *rows])
            return Conversation(as_text(session), tuple(messages), position=len(before))
    return None


def _bindable(text: str) -> str:
    """Replace lone surrogates, which sqlite3 rejects, by question marks."""
    return text.encode("utf-8", "replace").decode()
