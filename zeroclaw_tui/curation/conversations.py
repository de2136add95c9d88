"""The conversation that a memory was made in, read from the chat that ZeroClaw >= 0.4.3 stores in sessions/sessions.db
of the workspace or data directory."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from zeroclaw_tui.backends.cancellation import read_in_thread
from zeroclaw_tui.backends.lookup import whole_entry
from zeroclaw_tui.files.database import as_text, columns_of
from zeroclaw_tui.files.disk import file_size
from zeroclaw_tui.memory.errors import NotFound
from zeroclaw_tui.memory.text import one_line

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.memory.entry import MemoryEntry

FoundBy = Literal["text", "session"]
"""What ties a memory to a message: its text, or its session with the time."""
AROUND = 12
"""How many messages before the one, and after it."""
LONGEST_MESSAGE = 20_000
"""Characters of a message that are read; tools answer with whole files."""

_NO_CHAT = "There are no conversations: ZeroClaw has written no chat into {} here."
_HINT = "ZeroClaw stores chat from 0.4.3 on, and deletes it with its session."
_COLUMNS = frozenset({"id", "session_key", "role", "content", "created_at"})
_PREFIXES = ("gw_", "rpc_")
"""What comes before an id where it is the key of a session (web socket, RPC)."""
_SHORTEST_TEXT = 12
"""Shorter texts occur in any chat."""
_LONGEST_TEXT = 2000
_SECONDS_AFTER = 5
"""A message may be written so long after the memory that was made of it: with auto_save that comes first."""
_DAY = 86_400
_NEAREST = (
    "ORDER BY abs(julianday(created_at) - julianday(:at)) IS NULL, abs(julianday(created_at) - julianday(:at)),"
    " id DESC LIMIT 1"
)


@dataclass(frozen=True, slots=True)
class Message:
    """A message. `role` is "user", "assistant" or "tool" as written, `at` the time as written, UTC.

    Of more than LONGEST_MESSAGE characters `content` is the beginning, and `length` is how many there are.
    """

    role: str
    content: str
    at: str
    length: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages around the one at `place` in `messages`, in their order.

    `session` is its key as ZeroClaw has it. `before` and `after` are how many more messages it has on either side.
    """

    session: str
    messages: tuple[Message, ...]
    place: int
    by: FoundBy
    before: int
    after: int
    agent: str | None = None
    channel: str | None = None


def _chat_file(library: Library) -> Path:
    return library.config.install.root / "sessions" / "sessions.db"


async def why_no_conversations(library: Library) -> str | None:
    """Why no memory here can be traced to a conversation, in a sentence; None where there is chat."""
    file = _chat_file(library)
    return None if await asyncio.to_thread(file_size, file) else _NO_CHAT.format(file)


async def around(library: Library, entry: MemoryEntry, messages: int = AROUND) -> Conversation:
    """The messages before and after the one that this memory was made of.

    Of a memory with a session only that session is read: the message with its text, or else the last one of a person
    before it was stored. Of others it is the message with its text in any session. Raises NotFound where there is no
    chat or no such message, and the kinds that reading a database raises.
    """
    why_not = await why_no_conversations(library)
    if why_not is not None:
        raise NotFound(why_not, hint=_HINT)
    if entry.is_excerpt:
        entry = await whole_entry(library.memory, entry.handle)
    found = await read_in_thread(_chat_file(library), partial(_found, entry=entry, around=messages))
    if found is None:
        session = f"has no session {one_line(entry.session_id)[:60]} any more and " if entry.session_id else ""
        raise NotFound(f"sessions.db {session}holds nothing that this memory was made of.", hint=_HINT)
    return found


def _found(connection: sqlite3.Connection, entry: MemoryEntry, around: int) -> Conversation | None:
    if not set(columns_of(connection, "sessions")) >= _COLUMNS:
        return None
    sessions = _sessions_of(connection, entry.session_id)
    if entry.session_id and not sessions:
        # Its conversation is gone, and another one with the same words is not the one it was made in.
        return None
    by_text = _by_text(connection, entry, sessions)
    hit = by_text or (_by_time(connection, entry, sessions) if sessions else None)
    if hit is None:
        return None
    number, session = hit
    messages, place, before, after = _around(connection, number, session, around)
    by: FoundBy = "session" if by_text is None else "text"
    agent, channel = _agent_and_channel(connection, session)
    return Conversation(as_text(session), messages, place, by, before, after, agent, channel)


_Hit = tuple[int, Any]
"""A message's id and its session."""


def _sessions_of(connection: sqlite3.Connection, session_id: str | None) -> list[str]:
    """The keys under which the chat of a memory's session is stored."""
    if not session_id:
        return []
    bare = session_id
    for prefix in _PREFIXES:
        bare = bare.removeprefix(prefix)
    keys = dict.fromkeys((session_id, bare, *(prefix + bare for prefix in _PREFIXES)))
    statement = "SELECT 1 FROM sessions WHERE session_key = :key LIMIT 1"
    return [key for key in keys if connection.execute(statement, _bound({"key": key})).fetchone()]


def _by_text(connection: sqlite3.Connection, entry: MemoryEntry, sessions: Sequence[str]) -> _Hit | None:
    """The message that holds the memory's text."""
    text = entry.content.strip()[:_LONGEST_TEXT]
    if not text or (not sessions and len(text) < _SHORTEST_TEXT):
        return None
    return _nearest(connection, "instr(content, :text)", {"text": text, "at": entry.timestamp}, sessions)


def _by_time(connection: sqlite3.Connection, entry: MemoryEntry, sessions: Sequence[str]) -> _Hit | None:
    """The last message of a person before the memory was stored."""
    facts = {"at": entry.timestamp, "day": _DAY, "later": -_SECONDS_AFTER}
    condition = "role = 'user' AND (julianday(:at) - julianday(created_at)) * :day >= :later"
    return _nearest(connection, condition, facts, sessions) or _nearest(connection, "1", facts, sessions)


def _nearest(
    connection: sqlite3.Connection, condition: str, facts: Mapping[str, Any], sessions: Sequence[str]
) -> _Hit | None:
    """The message in these sessions, or in any, that is nearest in time."""
    names = {f"session{at}": key for at, key in enumerate(sessions)}
    within = f"session_key IN ({', '.join(f':{name}' for name in names)})" if names else "1"
    statement = f"SELECT id, session_key FROM sessions WHERE {within} AND {condition} {_NEAREST}"
    found: _Hit | None = connection.execute(statement, _bound({**facts, **names})).fetchone()
    return found


def _around(
    connection: sqlite3.Connection, number: int, session: Any, most: int
) -> tuple[tuple[Message, ...], int, int, int]:
    """Messages around one, its place among them, and how many more there are before and after."""
    facts = {"session": session, "id": number, "most": most, "longest": LONGEST_MESSAGE}
    chosen = (
        "SELECT role, substr(content, 1, :longest), created_at, length(content) FROM sessions"
        " WHERE session_key = :session"
    )
    before = connection.execute(f"{chosen} AND id < :id ORDER BY id DESC LIMIT :most", facts).fetchall()[::-1]
    after = connection.execute(f"{chosen} AND id >= :id ORDER BY id LIMIT :most + 1", facts).fetchall()
    counted = "SELECT sum(id < :id), sum(id > :id) FROM sessions WHERE session_key = :session"
    earlier, later = connection.execute(counted, facts).fetchone()
    messages = tuple(
        Message(as_text(role), as_text(content), as_text(at), length if isinstance(length, int) else 0)
        for role, content, at, length in (*before, *after)
    )
    return messages, len(before), (earlier or 0) - len(before), (later or 0) - len(after) + 1


def _agent_and_channel(connection: sqlite3.Connection, session: Any) -> tuple[str | None, str | None]:
    """The agent and the channel of a session, where they are written."""
    columns = columns_of(connection, "session_metadata")
    if "session_key" not in columns:
        return None, None
    named = ", ".join(name if name in columns else "NULL" for name in ("agent_alias", "channel_id"))
    found = connection.execute(f"SELECT {named} FROM session_metadata WHERE session_key = ?", (session,)).fetchone()
    agent, channel = (as_text(value) or None for value in found or (None, None))
    return agent, channel


def _bound(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Values that sqlite3 takes: it refuses lone surrogates, and no message holds what replaces them."""
    return {
        name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
        for name, value in facts.items()
    }
