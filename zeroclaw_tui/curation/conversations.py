"""The conversation that a memory was made in, read from the chat that ZeroClaw >= 0.4.3 stores in sessions/sessions.db
of the workspace or data directory."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
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
MAX_MESSAGE_LENGTH = 20_000
"""Characters of a message that are read; tools answer with whole files."""
_NO_CHAT = "There are no conversations: ZeroClaw has written no chat into {} here."
_HINT = "ZeroClaw stores chat from 0.4.3 on, and deletes it with its session."
_COLUMNS = frozenset({"id", "session_key", "role", "content", "created_at"})
_PREFIXES = ("", "gw_", "rpc_")
"""What comes before an id where it is the key of a session (web socket, RPC)."""
_MIN_TEXT_LENGTH = 12
"""Shorter texts occur in any chat."""
_MAX_TEXT_LENGTH = 2000
_NEAREST = (
    "ORDER BY abs(julianday(created_at) - julianday(:at)) IS NULL, abs(julianday(created_at) - julianday(:at)),"
    " id DESC LIMIT 1"
)
_SAID_BEFORE = "role = 'user' AND (julianday(:at) - julianday(created_at)) * 86400 >= -5"
"""With auto_save a memory is stored up to some seconds before the message that it was made of."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message. `role` is "user", "assistant" or "tool" as written, `at` the time as written, UTC.

    Of more than MAX_MESSAGE_LENGTH characters `content` is the beginning, and `length` is how many there are.
    """

    role: str
    content: str
    at: str
    length: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages around the one at `position` in `messages`, in their order.

    `session` is its key as ZeroClaw has it. `before` and `after` are how many more messages it has on either side.
    """

    session: str
    messages: tuple[Message, ...]
    position: int
    found_by: FoundBy
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
    """Read the messages before and after the one that this memory was made of.

    Of a memory with a session only that session is read: the message with its text, or else the last one of a person
    before it was stored. Of others it is the message with its text in any session. Raises NotFound where there is no
    chat or no such message, and the kinds that reading a database raises.
    """
    why_not = await why_no_conversations(library)
    if why_not is not None:
        raise NotFound(why_not, hint=_HINT)
    if entry.is_excerpt:
        entry = await whole_entry(library.memory, entry.handle)
    found = await read_in_thread(_chat_file(library), partial(_find, entry=entry, around=messages))
    if found is None:
        session = f"has no session {one_line(entry.session_id)[:60]} any more and " if entry.session_id else ""
        raise NotFound(f"sessions.db {session}holds nothing that this memory was made of.", hint=_HINT)
    return found


def _find(connection: sqlite3.Connection, entry: MemoryEntry, around: int) -> Conversation | None:
    if not set(columns_of(connection, "sessions")) >= _COLUMNS:
        return None
    sessions = _session_keys(entry.session_id)
    text = _bindable(entry.content.strip()[:_MAX_TEXT_LENGTH])
    facts = {"text": text, "at": _bindable(entry.timestamp)}
    is_long_enough = len(text) >= (1 if sessions else _MIN_TEXT_LENGTH)
    hit = _nearest(connection, "instr(content, :text)", facts, sessions) if is_long_enough else None
    found_by: FoundBy = "text" if hit is not None else "session"
    if hit is None and sessions:
        hit = _nearest(connection, _SAID_BEFORE, facts, sessions) or _nearest(connection, "1", facts, sessions)
    return None if hit is None else _read_around(connection, *hit, found_by, around)


def _session_keys(session_id: str | None) -> list[str]:
    """The keys under which the chat of a session may be stored."""
    if not session_id:
        return []
    bare = session_id.removeprefix("gw_").removeprefix("rpc_")
    return list(dict.fromkeys(map(_bindable, (session_id, *(prefix + bare for prefix in _PREFIXES)))))


def _nearest(
    connection: sqlite3.Connection, condition: str, facts: dict[str, str], sessions: Sequence[str]
) -> tuple[int, Any] | None:
    """The id and session of the message in these sessions, or in any, that is nearest in time."""
    names = {f"session{number}": key for number, key in enumerate(sessions)}
    within = f"session_key IN ({', '.join(f':{name}' for name in names)})" if names else "1"
    statement = f"SELECT id, session_key FROM sessions WHERE {within} AND {condition} {_NEAREST}"
    found: tuple[int, Any] | None = connection.execute(statement, facts | names).fetchone()
    return found


def _read_around(
    connection: sqlite3.Connection, number: int, session: Any, found_by: FoundBy, most: int
) -> Conversation:
    facts = {"session": session, "id": number, "most": most, "longest": MAX_MESSAGE_LENGTH}
    chosen = (
        "SELECT role, substr(content, 1, :longest), created_at, length(content) FROM sessions"
        " WHERE session_key = :session"
    )
    before = connection.execute(f"{chosen} AND id < :id ORDER BY id DESC LIMIT :most", facts).fetchall()[::-1]
    after = connection.execute(f"{chosen} AND id >= :id ORDER BY id LIMIT :most + 1", facts).fetchall()
    counted = "SELECT sum(id < :id), sum(id >= :id) FROM sessions WHERE session_key = :session"
    earlier, later = connection.execute(counted, facts).fetchone()
    messages = tuple(
        Message(as_text(role), as_text(content), as_text(at), length if isinstance(length, int) else 0)
        for role, content, at, length in (*before, *after)
    )
    agent, channel = _agent_and_channel(connection, session)
    return Conversation(
        as_text(session),
        messages,
        position=len(before),
        found_by=found_by,
        before=earlier - len(before),
        after=later - len(after),
        agent=agent,
        channel=channel,
    )


def _agent_and_channel(connection: sqlite3.Connection, session: Any) -> tuple[str | None, str | None]:
    """The agent and the channel of a session, where they are written."""
    columns = columns_of(connection, "session_metadata")
    if "session_key" not in columns:
        return None, None
    named = ", ".join(name if name in columns else "NULL" for name in ("agent_alias", "channel_id"))
    found = connection.execute(f"SELECT {named} FROM session_metadata WHERE session_key = ?", (session,)).fetchone()
    agent, channel = (as_text(value) or None for value in found or (None, None))
    return agent, channel


def _bindable(text: str) -> str:
    """A text that sqlite3 takes: it refuses lone surrogates, and no message holds what replaces them."""
    return text.encode("utf-8", "replace").decode()
