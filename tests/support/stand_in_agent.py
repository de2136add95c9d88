"""A stand-in for ZeroClaw 0.8.2 to 0.8.4 that recalls, builds the memory block by its own code and records the turn."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from support.databases import create_database
from support.libraries import Library
from support.questions import RecallRequest, ScoredEntry
from support.traces import NOW, RecordingInstall, Sent
from zeroclaw_tui.curation.recall import recall_memories

AGENT = "00000000-0000-4000-8000-000000000001"
MOST, LONGEST, ALL = 4, 800, 4000


def make_store(install: RecordingInstall) -> None:
    """Create an empty store of ZeroClaw 0.8.4 with the agent `default`."""
    create_database(install.database, "G4", default_agent_id=AGENT)


def store(
    database: Path,
    key: str,
    content: str,
    *,
    at: datetime = NOW,
    session: str | None = None,
    category: str = "core",
    updated: datetime | None = None,
) -> None:
    """Insert a memory of the agent, or replace the content of one, as ZeroClaw does."""
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(
            "INSERT INTO memories (id, key, content, category, created_at, updated_at, session_id, agent_id)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (agent_id, key) DO UPDATE SET content = excluded.content,"
            " updated_at = excluded.updated_at",
            (f"id-{key}", key, content, category, at.isoformat(), (updated or at).isoformat(), session, AGENT),
        )


def forget(database: Path, key: str) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("DELETE FROM memories WHERE key = ?", (key,))


class StandInAgent:
    """Records turns in an install; `library` opens its store."""

    def __init__(self, install: RecordingInstall, library: Library) -> None:
        self._install, self._library = install, library

    async def turn(self, sent: Sent, scopes: Sequence[str | None] = (None,)) -> Sent:
        """Recall for a message in these session scopes, put the block before the message and record the turn."""
        is_group = sent.target is not None and sent.target.startswith("group:")
        if is_group and sent.version < "0.8.3":
            blocks = [block for scope in scopes if (block := await self._block(sent, [scope]))]
            block = "\n".join(blocks)
        else:
            block = await self._block(sent, scopes)
        done = replace(sent, block=block)
        self._install.record(done)
        return done

    async def _block(self, sent: Sent, scopes: Sequence[str | None]) -> str:
        found: dict[str, ScoredEntry] = {}
        for scope in scopes:
            request = RecallRequest(sent.query, 5, session_id=scope, agents=("default",), as_of=sent.at.isoformat())
            for scored in (await recall_memories(self._library, self._library.trial(request))).results:
                found.setdefault(scored.entry.key, scored)
        has_session = any(scope is not None for scope in scopes)
        is_capped = sent.channel is not None or sent.version >= "0.8.3"
        decays = sent.channel is None or sent.version >= "0.8.3"
        lines: list[str] = []
        used, floor = 0, self._library.settings.threshold
        for key, content in _kept(found.values(), sent, floor, decays=decays, has_session=has_session):
            shown = content[:LONGEST].rstrip() + "..." if is_capped and len(content) > LONGEST else content
            line = f"- {key}: {shown}\n"
            if is_capped and (len(lines) == MOST or used + len(line) > ALL):
                break
            lines.append(line)
            used += len(line)
        return "".join(["[Memory context]\n", *lines, "[/Memory context]\n\n"]) if lines else ""


def _kept(
    found: Iterable[ScoredEntry], sent: Sent, floor: float, *, decays: bool, has_session: bool
) -> Iterator[tuple[str, str]]:
    for scored in found:
        entry, score = scored.entry, scored.score
        age = max(0, int((sent.at - datetime.fromisoformat(entry.timestamp)).total_seconds())) / 86400
        if score is not None and decays and entry.category != "core":
            score *= 0.5 ** (age / 7)
        is_foreign = entry.category == "conversation" and not has_session and sent.version >= "0.8.3"
        if (score is None or score >= floor) and not is_foreign and not entry.key.startswith("user_msg"):
            yield entry.key, entry.content
