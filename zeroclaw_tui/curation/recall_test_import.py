"""Recall tests out of what was really asked: the turns that ZeroClaw recorded, and the chats of sessions.db."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from zeroclaw_tui.curation.recall_test_files import TestQuery, append_queries, read_queries
from zeroclaw_tui.curation.recall_tests import evaluate, plain_trial, trial_of_test, with_batched_queries
from zeroclaw_tui.files.database import columns_of, connect_read_only_blocking, translate_sqlite_errors
from zeroclaw_tui.memory.text import is_unicode
from zeroclaw_tui.scoring.keywords import words

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

MOST_IMPORTED = 200
LONGEST_QUERY = 2_000
"""In characters; a longer message is a document that was pasted rather than a question."""
_LOOKED_AT = 10_000
_NO_CHANNEL = {"gw_": "web", "rpc_": "rpc"}
"""Sessions of sessions.db that are no channel's, by how their key begins (ZeroClaw 0.8.4)."""
Turn = tuple[str, str | None, str | None, str | None]
"""A message with its session, agent and channel."""


@dataclass(frozen=True, slots=True)
class Imported:
    """How many tests were written; `known` stood in the file already, for `unanswered` nothing is recalled now."""

    tests: tuple[TestQuery, ...]
    known: int
    unanswered: int


async def import_queries(library: Library, file: Path, now: datetime) -> Imported:
    """Put the newest messages that were really asked behind a file's tests, each once.

    What reaches the prompt for it now is what is expected, with the note "as it was on" this day. Raises InspectorError
    kinds; UsageError where the file holds something else than tests.
    """
    turns = await _recorded_turns(library)
    turns += await asyncio.to_thread(_chat_turns, library.config.install.root / "sessions" / "sessions.db")
    present = await asyncio.to_thread(_tests_of, file)
    standing = {(one.query, one.session_id, one.agent, one.channel) for one in present}
    chosen = list(dict.fromkeys(turn for turn in turns if _is_question(turn[0])))
    fresh = [turn for turn in chosen if turn not in standing][:MOST_IMPORTED]
    tests = await _as_it_is(library, fresh, now)
    if tests:
        await asyncio.to_thread(append_queries, file, *tests)
    return Imported(tuple(tests), sum(turn in standing for turn in chosen), len(fresh) - len(tests))


def _tests_of(file: Path) -> Sequence[TestQuery]:
    file = file.expanduser()
    return read_queries(file) if file.exists() and file.stat().st_size else ()


async def _as_it_is(library: Library, turns: Sequence[Turn], now: datetime) -> list[TestQuery]:
    asked = [TestQuery(query, (), query, session, (), agent, channel) for query, session, agent, channel in turns]
    sharing = with_batched_queries(library, [one.query for one in asked])
    plain = plain_trial(library)
    plain = plain._replace(request=replace(plain.request, as_of=now.isoformat()))
    run = await evaluate(sharing, asked, partial(trial_of_test, library, plain))
    has_prompt = library.memory.about.not_read_because is None and library.memory.about.program is None
    note = f"as it was on {now.date().isoformat()}"
    tests = []
    for figures in run.queries:
        keys = figures.injected if has_prompt else figures.recalled[: run.k]
        expected = tuple(dict.fromkeys(key for key in keys if is_unicode(key)))
        if expected:
            tests.append(replace(figures.asked, expected=expected, note=note))
    return tests


async def _recorded_turns(library: Library) -> list[Turn]:
    from zeroclaw_tui.curation.turns import recorded

    recording = await recorded(library, most=_LOOKED_AT)
    return [(turn.query, turn.session, turn.agent, turn.channel) for turn in reversed(recording.turns)]


def _chat_turns(file: Path) -> list[Turn]:
    """What people wrote, the newest first. Sessions by ZeroClaw 0.4.3 to 0.8.4."""
    if not file.is_file():
        return []
    with translate_sqlite_errors(file), closing(connect_read_only_blocking(file)) as connection:
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        return list(_turns_of(connection))


def _turns_of(connection: sqlite3.Connection) -> Iterable[Turn]:
    if not columns_of(connection, "sessions"):
        return
    agents: dict[str, str] = {}
    if "agent_alias" in columns_of(connection, "session_metadata"):
        agents = dict(
            connection.execute("SELECT session_key, agent_alias FROM session_metadata WHERE agent_alias <> ''")
        )
    statement = (
        "SELECT session_key, content FROM sessions WHERE role = 'user' AND typeof(content) = 'text'"
        " AND length(content) <= ? ORDER BY id DESC LIMIT ?"
    )
    for key, content in connection.execute(statement, (LONGEST_QUERY, _LOOKED_AT)):
        kind = next((channel for start, channel in _NO_CHANNEL.items() if str(key).startswith(start)), None)
        if kind is not None:
            yield content, None, agents.get(key), kind
        else:
            yield content, str(key), agents.get(key), str(key).partition("_")[0]


def _is_question(query: str) -> bool:
    return len(query) <= LONGEST_QUERY and is_unicode(query) and bool(words(query))
