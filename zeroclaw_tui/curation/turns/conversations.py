"""The conversation that a memory was made in, out of the chat that ZeroClaw keeps of its sessions.

Chat lies in `sessions/sessions.db` (ZeroClaw >= 0.4.3: channels, web socket, RPC) and `sessions/acp-sessions.db`
(>= 0.8.0: ACP), in the workspace or the data folder, or in a file a session, `sessions/KEY.jsonl` (>= 0.4.0; with the
ending `.migrated` once it is in sessions.db): {"role", "content"} a line, without times. Hygiene moves what is old to
`sessions/archive`, up to 0.8.1 the database too. All of it is only read.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from zeroclaw_tui.files.database import Reading, as_text, columns_of
from zeroclaw_tui.files.disk import file_size
from zeroclaw_tui.memory.errors import InspectorError, NotFound, Unreadable
from zeroclaw_tui.memory.text import first_names, one_line

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.memory.entry import MemoryEntry

FoundBy = Literal["tool call", "text", "session", "time"]
"""What ties a memory to a message, the surest first: the call that stored it, its words, its session with the time, or
nothing but the time."""
AROUND = 12
"""How many messages before the one, and after it."""
LONGEST_MESSAGE = 20_000
"""Characters of a message that are read; tools answer with whole files."""
NO_CHAT = "This install keeps no conversations: ZeroClaw has written no chat into {} here."

_FILES = ("sessions.db", "acp-sessions.db")
_LINES = (".jsonl", ".jsonl.migrated")
_MOST_OF_LINES = 64 * 1024**2
"""Bytes of the files that hold a session each, the newest first."""
_PREFIXES = ("", "gw_", "rpc_")
"""What stands before an id where it is the key of a session (web socket, RPC)."""
_SHORTEST_TEXT = 12
"""Shorter texts stand in any chat."""
_LONGEST_TEXT = 2000
_SECONDS_AFTER = 5
"""A message may be written so long after the memory that was made of it: with auto_save that comes first."""
_SECONDS_BEFORE = 600
"""And so long before it, where nothing but the time ties them."""
_DAY = 86_400

_OF_CHANNELS = "SELECT id, session_key, role, content, created_at FROM sessions"
_OF_ACP = (
    "SELECT said.id, held.session_uuid, said.role, said.content, said.created_at"
    " FROM acp_messages AS said JOIN acp_sessions AS held ON held.id = said.session_id"
)
_NEEDED: Mapping[str, tuple[str, Mapping[str, frozenset[str]]]] = {
    "sessions.db": (
        _OF_CHANNELS,
        {"sessions": frozenset({"id", "session_key", "role", "content", "created_at"})},
    ),
    "acp-sessions.db": (
        _OF_ACP,
        {
            "acp_messages": frozenset({"id", "session_id", "role", "content", "created_at"}),
            "acp_sessions": frozenset({"id", "session_uuid"}),
        },
    ),
}
_CALL_COLUMNS = frozenset({"message_id", "tool_name", "event_kind", "payload", "created_at"})
_CALLED = (
    "SELECT said.id, held.session_uuid FROM acp_tool_calls AS called"
    " JOIN acp_messages AS said ON said.id = called.message_id"
    " JOIN acp_sessions AS held ON held.id = said.session_id"
    " WHERE called.tool_name = 'memory_store' AND called.event_kind = 'in' AND json_valid(called.payload)"
    " AND json_extract(called.payload, '$.key') = :key"
    " ORDER BY abs(julianday(called.created_at) - julianday(:at)) LIMIT 1"
)
_NEAREST = "ORDER BY abs(julianday(at) - julianday(:at)) IS NULL, abs(julianday(at) - julianday(:at)), id DESC LIMIT 1"


@dataclass(frozen=True, slots=True)
class Message:
    """What was said. `role` is "user", "assistant" or "tool" as written, `at` the moment as written, UTC.

    Of more than LONGEST_MESSAGE characters `content` is the beginning, and `length` says how many there are.
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
    file: Path
    agent: str | None = None
    channel: str | None = None


def chat_files(library: Library) -> list[Path]:
    """The files of chat that this install has: databases, then those of a session each. Blocks."""
    folder = library.config.install.root / "sessions"
    places = [place for place in (folder, folder / "archive") if place.is_dir()]
    lines = [file for place in places for file in sorted(place.iterdir()) if file.name.endswith(_LINES)]
    return [file for file in (*(place / name for name in _FILES for place in places), *lines) if file_size(file)]


async def why_no_conversations(library: Library) -> str | None:
    """Why no memory here can be traced to a conversation, in a sentence; None where there is chat."""
    if await asyncio.to_thread(chat_files, library):
        return None
    return NO_CHAT.format(library.config.install.root / "sessions")


async def around(library: Library, entry: MemoryEntry, messages: int = AROUND) -> Conversation:
    """The messages before and after the one that this memory was made of.

    Looked for by the tool call that stored it, by its words, by its session, then by its time alone. Raises NotFound
    where there is no chat or none fits, and the kinds that reading a database raises.
    """
    files = await asyncio.to_thread(chat_files, library)
    if not files:
        raise NotFound(NO_CHAT.format(library.config.install.root / "sessions"), hint=_HINT)
    if entry.is_excerpt:
        entry = await library.memory.whole(entry.handle)
    found: list[Conversation] = []
    failure: InspectorError | None = None
    lines = [file for file in files if file.name.endswith(_LINES)]
    for file in (*(file for file in files if file not in lines), *lines[:1]):
        try:
            if file in lines:
                conversation = await asyncio.to_thread(_found_in_lines, lines, entry, messages)
            else:
                conversation = await Reading(file).run(partial(_found, file=file, entry=entry, around=messages))
        except InspectorError as error:
            # The other file may hold the conversation.
            failure = error
            continue
        if conversation is not None:
            found.append(conversation)
    if found:
        return min(found, key=lambda one: _SUREST.index(one.by))
    if failure is not None:
        raise failure
    looked = first_names([file.name for file in files])
    has, holds = ("has", "holds") if len(files) == 1 else ("have", "hold")
    session = f"{has} no session {one_line(entry.session_id)[:60]} any more and " if entry.session_id else ""
    raise NotFound(f"{looked} {session}{holds} nothing that this memory was made of.", hint=_HINT)


_HINT = "Chat is kept from ZeroClaw 0.4.3 on, and goes with its session."
_SUREST: tuple[FoundBy, ...] = ("tool call", "text", "session", "time")


def _found(connection: sqlite3.Connection, file: Path, entry: MemoryEntry, around: int) -> Conversation | None:
    said, needed = _NEEDED.get(file.name, _NEEDED[_FILES[0]])
    if any(not columns <= set(columns_of(connection, table)) for table, columns in needed.items()):
        return None
    chat = _Chat(connection, said)
    sessions = chat.sessions_of(entry.session_id)
    hit = chat.by_tool(entry, sessions) or chat.by_text(entry, sessions) or chat.by_time(entry, sessions)
    if hit is None:
        return None
    number, session, by = hit
    messages, place, before, after = chat.around(number, session, around)
    facts = _facts(connection, session)
    return Conversation(as_text(session), messages, place, by, before, after, file, *facts)


def _found_in_lines(files: Sequence[Path], entry: MemoryEntry, around: int) -> Conversation | None:
    """The same in files of a session each. Raises Unreadable."""
    left = _MOST_OF_LINES
    by_key: dict[str, Path] = {}
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE sessions (id INTEGER PRIMARY KEY, session_key, role, content, created_at)")
        for file in sorted(files, key=_changed_at, reverse=True):
            left -= file_size(file)
            if left < 0:
                break
            key = file.name.partition(".jsonl")[0]
            by_key.setdefault(key, file)
            connection.executemany(
                "INSERT INTO sessions (session_key, role, content, created_at) VALUES (:key, :role, :content, '')",
                (_bound({"key": key, "role": role, "content": content}) for role, content in _said_in(file)),
            )
        found = _found(connection, files[0], entry, around)
    # Without times nothing but its words tells which message it is.
    if found is None or found.by not in ("tool call", "text"):
        return None
    return replace(found, file=by_key[found.session])


def _changed_at(file: Path) -> float:
    # One that went meanwhile is told where it is read.
    with suppress(OSError):
        return file.stat().st_mtime
    return 0.0


def _said_in(file: Path) -> Iterator[tuple[str, str]]:
    """Roles and contents of a file's lines; a line that is broken is none, as ZeroClaw takes it."""
    try:
        with file.open(encoding="utf-8", errors="surrogateescape") as lines:
            for line in lines:
                with suppress(ValueError, RecursionError):
                    said = json.loads(line)
                    if isinstance(said, dict):
                        yield str(said.get("role") or ""), str(said.get("content") or "")
    except OSError as error:
        raise Unreadable(f"{file} cannot be read: {error.strerror or error}.") from error


_Hit = tuple[int, Any, FoundBy]


@dataclass(frozen=True, slots=True)
class _Chat:
    """The messages of one database, under the same names whichever it is."""

    connection: sqlite3.Connection
    said: str

    def sessions_of(self, session_id: str | None) -> list[str]:
        """The keys under which chat of a memory's session lies here."""
        if not session_id:
            return []
        bare = session_id
        for prefix in _PREFIXES[1:]:
            bare = bare.removeprefix(prefix)
        keys = dict.fromkeys((session_id, *(prefix + bare for prefix in _PREFIXES)))
        return [key for key in keys if self._rows("SELECT 1 FROM chat WHERE session = :key LIMIT 1", {"key": key})]

    def by_text(self, entry: MemoryEntry, sessions: Sequence[str]) -> _Hit | None:
        """The message that holds the memory's words, in its sessions or, where it has none here, in any."""
        text = entry.content.strip()[:_LONGEST_TEXT]
        if not text or (not sessions and len(text) < _SHORTEST_TEXT):
            return None
        return self._one("instr(content, :text)", {"text": text, "at": entry.timestamp}, sessions, "text")

    def by_time(self, entry: MemoryEntry, sessions: Sequence[str]) -> _Hit | None:
        """What a person said last before the memory was made: in its session, else within minutes."""
        seconds = "(julianday(:at) - julianday(at)) * :day"
        facts = {"at": entry.timestamp, "day": _DAY, "later": -_SECONDS_AFTER, "most": _SECONDS_BEFORE}
        condition = f"role = 'user' AND {seconds} >= :later"
        if sessions:
            return self._one(condition, facts, sessions, "session") or self._one("1", facts, sessions, "session")
        if entry.session_id:
            return None
        # What a summary of the talk gave names no session.
        return self._one(f"{condition} AND {seconds} <= :most", facts, (), "time")

    def by_tool(self, entry: MemoryEntry, sessions: Sequence[str]) -> _Hit | None:
        """The message whose tool call stored the memory: ACP keeps calls of their own, others name the key in one."""
        if self.said == _OF_ACP:
            found = []
            if set(columns_of(self.connection, "acp_tool_calls")) >= _CALL_COLUMNS:
                facts = _bound({"key": entry.key, "at": entry.timestamp})
                found = self.connection.execute(_CALLED, facts).fetchall()
            return (*found[0], "tool call") if found else None
        named = {
            "text": json.dumps(entry.key),
            "plain": json.dumps(entry.key, ensure_ascii=False),
            "at": entry.timestamp,
        }
        condition = (
            "role IN ('tool', 'assistant') AND instr(content, 'memory_store')"
            " AND (instr(content, :text) OR instr(content, :plain))"
        )
        return self._one(condition, named, sessions, "tool call")

    def around(self, number: int, session: Any, most: int) -> tuple[tuple[Message, ...], int, int, int]:
        """Messages around one, its place among them, and how many more there are before and after."""
        facts = {"session": session, "id": number, "most": most, "longest": LONGEST_MESSAGE}
        shown = "SELECT role, substr(content, 1, :longest), at, length(content) FROM chat WHERE session = :session"
        before = self._rows(f"{shown} AND id < :id ORDER BY id DESC LIMIT :most", facts)[::-1]
        after = self._rows(f"{shown} AND id >= :id ORDER BY id LIMIT :most + 1", facts)
        counted = "SELECT sum(id < :id), sum(id > :id) FROM chat WHERE session = :session"
        ((earlier, later),) = self._rows(counted, facts)
        messages = tuple(
            Message(as_text(role), as_text(content), as_text(at), length if isinstance(length, int) else 0)
            for role, content, at, length in (*before, *after)
        )
        return messages, len(before), (earlier or 0) - len(before), (later or 0) - len(after) + 1

    def _one(self, condition: str, facts: Mapping[str, Any], sessions: Sequence[str], by: FoundBy) -> _Hit | None:
        names = {f"session{at}": key for at, key in enumerate(sessions)}
        within = f"session IN ({', '.join(f':{name}' for name in names)})" if names else "1"
        found = self._rows(
            f"SELECT id, session FROM chat WHERE {within} AND {condition} {_NEAREST}", {**facts, **names}
        )
        return (*found[0], by) if found else None

    def _rows(self, statement: str, facts: Mapping[str, Any]) -> list[Any]:
        chat = f"WITH chat(id, session, role, content, at) AS ({self.said}) "
        return self.connection.execute(chat + statement, _bound(facts)).fetchall()


def _facts(connection: sqlite3.Connection, session: Any) -> tuple[str | None, str | None]:
    """The agent and the channel of a session, where they are written."""
    for table, key in (("session_metadata", "session_key"), ("acp_sessions", "session_uuid")):
        columns = columns_of(connection, table)
        if key not in columns:
            continue
        named = ", ".join(name if name in columns else "NULL" for name in ("agent_alias", "channel_id"))
        found = connection.execute(f"SELECT {named} FROM {table} WHERE {key} = ?", (session,)).fetchone()
        if found is not None:
            agent, channel = (as_text(value) or None for value in found)
            return agent, channel
    return None, None


def _bound(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Values that sqlite3 takes: it refuses lone surrogates, and no message holds what stands for them."""
    return {
        name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
        for name, value in facts.items()
    }
