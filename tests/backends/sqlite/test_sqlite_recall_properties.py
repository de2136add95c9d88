"""Property tests: the fast keyword query returns ZeroClaw's own list, and no text breaks a recall."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.questions import RecallRequest
from support.recalls import recalled
from support.rules import LANDMARKS, ScoringSettings, Trial, profile_for
from support.small_store import blob, make
from support.stores import SqliteMemory

from zeroclaw_tui.backends.sqlite.schema import Schema, schema_sql
from zeroclaw_tui.backends.sqlite.search import scope_of, search_keywords
from zeroclaw_tui.scoring.stages import match_expression

PROFILE = profile_for("0.7.5")
ZEROCLAWS = """SELECT m.rowid, bm25(memories_fts) AS score FROM memories_fts f JOIN memories m ON m.rowid = f.rowid
               WHERE memories_fts MATCH ? ORDER BY score LIMIT ?"""
TEXTS = st.lists(st.sampled_from(["rust", "tea", "cat", "fog"]), max_size=4).map(" ".join)
ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=40)
COLUMNS = frozenset({"id", "key", "content", "created_at", "updated_at", "session_id", "superseded_by"})
SCHEMA = Schema("G2", COLUMNS, frozenset(), True, False, True, False)


@given(
    st.lists(st.tuples(TEXTS, TEXTS), max_size=60),
    st.sets(st.integers(1, 60), max_size=6),
    TEXTS.filter(bool),
    st.integers(0, 30),
)
def test_keyword_hits_and_ties_equal_those_of_the_join(rows, deleted, query, count):
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in schema_sql("G2"):
            connection.execute(statement)
        connection.executemany(
            "INSERT INTO memories (id, key, content, created_at, updated_at) VALUES (?, ?, ?, '', '')",
            [(str(at), f"{key} k{at}", content) for at, (key, content) in enumerate(rows)],
        )
        connection.execute("DROP TRIGGER memories_ad")
        connection.executemany("DELETE FROM memories WHERE rowid = ?", [(rowid,) for rowid in deleted])
        scope = scope_of(Trial(RecallRequest(query, count), PROFILE, ScoringSettings()), None, SCHEMA)
        found = search_keywords(scope, connection)
        joined = connection.execute(ZEROCLAWS, (match_expression(query, PROFILE), 2 * count)).fetchall()
        hits = list(zip(found.handles.tolist(), found.scores.tolist(), strict=True))
        assert hits == [(rowid, float(np.float32(-score))) for rowid, score in joined]
        assert found.notes == ()


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path: Path = tmp_path_factory.mktemp("store") / "brain.db"
    make(path, "G4", [{"content": f"rust {at} 用户", "embedding": blob(at, 1), "session_id": "s"} for at in range(30)])
    with asyncio.Runner() as runner:
        memory = SqliteMemory(path)
        runner.run(memory.open())
        yield runner, memory
        runner.run(memory.close())


@given(
    ANY_TEXT,
    st.sampled_from([*LANDMARKS, "0.5.5", "0.6.3"]),
    st.integers(-1, 60),
    st.none() | ANY_TEXT,
    st.none() | st.lists(ANY_TEXT, max_size=3).map(tuple),
    st.none() | ANY_TEXT,
    st.none() | ANY_TEXT,
    st.booleans(),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_text_breaks_a_recall(store, query, version, limit, session, agents, namespace, since, with_vector):
    runner, memory = store
    request = {"session_id": session, "agents": agents, "namespace": namespace, "since": since}
    vector = np.array([1, 2], dtype=np.float32) if with_vector else None
    found = runner.run(recalled(memory, query, version, vector=vector, limit=limit, **request))
    assert len(found.entries) <= max(limit, 0)
    assert [scored.rank for scored in found.entries] == list(range(1, len(found.entries) + 1))
    assert found.mode in ("hybrid", "keyword", "vector", "like", "recent")
