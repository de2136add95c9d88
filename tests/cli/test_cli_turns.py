"""Whose turn it is, and which sessions it recalls in."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.commands import Command
from support.databases import create_database

AGENT = "00000000-0000-4000-8000-000000000001"
CONFIG = """schema_version = 3
[memory]
backend = "sqlite"
[runtime_profiles.wide]
memory_recall_limit = {limit}
[agents.writer]
runtime_profile = "wide"
"""


@pytest.fixture
def turns(run: Command, tmp_path: Path) -> Callable[..., Any]:
    """Run `zeroclaw memory ...` on an install of 0.8.4 with fourteen notes and a chat in two sessions."""
    home = tmp_path / "zc"
    database = home / "data" / "memory" / "brain.db"
    database.parent.mkdir(parents=True)
    rows: list[tuple[str, str, str, str | None]] = [
        (f"note_{at:02d}", f"tea number {at}", "daily", None) for at in range(14)
    ]
    rows += [("chat_one", "tea in the chat", "conversation", "one"), ("sender", "tea of ann", "conversation", "ann")]
    create_database(database, "G4", default_agent_id=AGENT)
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE agents SET alias = 'writer'")
        connection.executemany(
            "INSERT INTO memories (id, key, content, category, created_at, updated_at, session_id, agent_id) "
            "VALUES (?, ?, ?, ?, '2026-03-01T10:00:00+00:00', '2026-03-01T10:00:00+00:00', ?, ?)",
            [(f"id-{key}", key, content, category, session, AGENT) for key, content, category, session in rows],
        )

    def command(*arguments: str, limit: int = 7, **more: Any) -> Any:
        (home / "config.toml").write_text(CONFIG.format(limit=limit))
        as_of = ["--as-of", "2026-03-01T10:00:00+00:00"]
        return run("memory", "--config-dir", str(home), "--profile", "0.8.4", *arguments, *as_of, **more)

    return command


def keys(document: Any) -> list[str]:
    return [result["key"] for result in document["results"]]


def test_the_embedded_agent_has_the_limit_of_its_runtime_profile(turns: Command) -> None:
    library = turns("recall", "tea", "--rule", "library", "--agent", "writer", "--json")
    assert (library.json["limit"], len(library.json["results"])) == (7, 7)
    unlimited = turns("recall", "tea", "--rule", "library", "--agent", "writer", "--json", limit=0)
    assert (unlimited.json["limit"], unlimited.json["turn_limit"], len(unlimited.json["results"])) == (0, 0, 16)
    assert len(turns("recall", "tea", "--rule", "cron", "--agent", "writer", "--json").json["results"]) == 5


def test_session_scopes_are_recalled_in_their_order_each_key_once(turns: Command) -> None:
    scopes = ["--session", "one", "--session", "ann"]
    document = turns("recall", "tea", "--rule", "channel", *scopes, "--json").json
    assert document["sessions"] == ["one", "ann"]
    assert keys(document) == ["chat_one", "sender"]
    lines = b'{"query": "tea", "sessions": ["ann", "one"]}\n{"query": "tea", "session": "one"}\n'
    answers = turns("recall", "--batch", "-", "--rule", "channel", stdin=lines).out.splitlines()
    assert [keys(json.loads(line)) for line in answers] == [["sender", "chat_one"], ["chat_one"]]
