"""Vectors in PostgreSQL: the tutorial's recall by cosine, and the nearest rows, with the extension in any schema."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
from support.postgres_place import PostgresPlace
from support.recalls import keys, recalled
from support.warm_start import run_memory

EAST = np.array([1, 0, 0], dtype=np.float32)
ROWS = (
    ("00000000-0000-4000-8000-00000000000a", "east", "Plot of beans", "[1,0,0]"),
    ("00000000-0000-4000-8000-00000000000b", "north east", "Plot of kale", "[0.6,0.8,0]"),
    ("00000000-0000-4000-8000-00000000000c", "north", "Plot of slugs", "[0,1,0]"),
    ("00000000-0000-4000-8000-00000000000d", "nowhere", "No plot at all", None),
)


def fill(place: PostgresPlace, form: str) -> None:
    place.make_table(form)
    times, moments = ("timestamp", "now()") if form == "uuid" else ("created_at, updated_at", "now(), now()")
    owner, agent = ("", "") if form != "agents" else (", agent_id", ", 'a-default'")
    rows = []
    for row_id, key, content, vector in ROWS:
        written = "NULL" if vector is None else f"'{vector}'"
        rows.append(f"""('{row_id}', '{key}', '{content}', '"Core"', {written}, {moments}{agent})""")
    place.run(f"INSERT INTO memories (id, key, content, category, embedding, {times}{owner}) VALUES {', '.join(rows)}")


def command_recalls(place: PostgresPlace, query: str) -> subprocess.CompletedProcess[str]:
    return run_memory("recall", query, "--backend", "postgres", "--location", place.url)


@pytest.mark.parametrize("where", ["public", "extensions"])
async def test_the_tutorials_table_recalls_by_cosine(place, opens, where):
    """By hand: (1,0,0) with itself is 1, with (.6,.8,0) .6, with (0,1,0) 0; a row without a vector is not returned."""
    fill(place, "uuid")
    if where != "public":
        place.run_as_superuser(f'CREATE SCHEMA extensions AUTHORIZATION "{place.user}"')
        place.run_as_superuser("ALTER EXTENSION vector SET SCHEMA extensions")
    found = await recalled(await opens(), "anything", vector=EAST)
    assert keys(found) == ["east", "north east", "north"]
    assert [scored.score for scored in found.entries] == pytest.approx([1.0, 0.6, 0.0], abs=1e-6)
    assert [scored.vector_rank for scored in found.entries] == [1, 2, 3]
    assert {scored.stage for scored in found.entries} == {"postgres"}
    assert (found.mode, found.scale) == ("vector", "cosine")


async def test_without_an_embedder_nothing_is_recalled_and_the_reason_is_reported(place, opens):
    fill(place, "uuid")
    found = await recalled(await opens(), "anything", vector=None)
    assert found.entries == ()
    assert any("Without an embedding provider" in note for note in found.notes)


@pytest.mark.parametrize("embedding", ["", ", embedding real[]"])
async def test_without_pgvector_the_tutorials_table_recalls_nothing_and_says_so(place, embedding):
    place.run(
        "CREATE TABLE memories (id UUID PRIMARY KEY, key TEXT UNIQUE NOT NULL, content TEXT NOT NULL, "
        f"category TEXT NOT NULL, timestamp TIMESTAMPTZ NOT NULL, session_id TEXT{embedding})"
    )
    place.run(f"""INSERT INTO memories (id, key, content, category, timestamp)
        VALUES ('{ROWS[0][0]}', 'plot', 'Plot of beans', '"Core"', now())""")
    shown = command_recalls(place, "beans")
    assert shown.returncode == 0
    assert "needs pgvector" in shown.stderr
    assert shown.stderr.count("zeroclaw: ") == 1
    assert "keyword" not in shown.stderr + shown.stdout
    assert "vector" not in shown.stdout


async def test_zeroclaws_tables_recall_only_by_keywords(place, opens):
    fill(place, "vector")
    found = await recalled(await opens(), "north", vector=EAST)
    assert sorted(keys(found)) == ["north", "north east"]
    assert [scored.vector_score for scored in found.entries] == [None, None]


@pytest.mark.parametrize("form", ["uuid", "agents"])
async def test_the_nearest_rows_are_reported_by_the_server(place, opens, form):
    """By hand: (1,0,0) with (.6,.8,0) is .6; rows at a right angle or without a vector are not near."""
    fill(place, form)
    memory = await opens()
    entry = await memory.get("east")
    near, compared = await memory.near(entry, 10)
    scores = {found.handle[-1]: found.score for found in near}
    assert scores == pytest.approx({"a": 1.0, "b": 0.6}, abs=1e-6)
    assert compared == 3
    assert await memory.near(await memory.get("nowhere"), 10) is None
    assert await memory.near(np.ones(5, dtype=np.float32), 10) is None
