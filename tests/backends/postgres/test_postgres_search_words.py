"""Recall by words is the answer of ZeroClaw's own statement: the same rows with the same scores, in order."""

from __future__ import annotations

import random
from typing import Any

import asyncpg
import pytest

from zeroclaw_tui.backends.postgres.store import PostgresMemory
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.profiles import ScoringSettings, profile_for
from zeroclaw_tui.testing.tools import recall_of

OWN = """
SELECT id, ts_rank_cd(to_tsvector('simple', key), q)::float8 * 2 + ts_rank_cd(to_tsvector('simple', content), q)::float8
FROM memories, plainto_tsquery('simple', $1) AS q WHERE to_tsvector('simple', key || ' ' || content) @@ q
ORDER BY 2 DESC, updated_at DESC, id LIMIT $2"""
PIECES = (
    "rust", "Rust", "the", "and", "it's", "'", '"', "foo-bar", "foo", "a.de", "x@y.de", "http://a.de/c?d=e", "/etc/x",
    "./run.sh", "~/notes", "../b/c", "~a", "<b>", "<a ", "<!--", "-->", "c>", '"y', "&amp;", "1.5e-3", "-7", "+3", "\\",
    "深色主题", "用户", "é", "Größe", "ſ", "v1.2.3", "a_b", "%", "_", ":*", "!", "|", "(", "\t", "\n", "50%", "@",
    "#tag",
)  # fmt: skip
CONTENT_ALONE = ("", "", "quartz", "violet", "quartz violet", "quartz ./c")
"""What no key has."""
QUERIES = (
    "rust", "RUST the", "rust rust", "foo-bar", "foo bar", "bar", "c", "/c", "/notes", "~/notes", "/run.sh", "./run.sh",
    "notes", "/b/c", "b", "a.de/c", "x@y.de y.de", "it's", "s", "'", "''", "\\", "!rust | the", "rust & !the", "rust:*",
    "深色主题", "深色", "主题 用户", "größe é", "v1.2.3", "1.5e-3", "7", "-7", "the and", "<b>", "a_b", "50%", "...",
    "zz", "rust foo a b", "tag", "<a rust", "y", "de", "quartz", "quartz violet", "user quartz", "user violet rust",
    "user", "quartz /c", "violet notes",
)  # fmt: skip


def odd_text(chosen: random.Random, longest: int) -> str:
    """Some pieces, often without a blank between them."""
    return "".join(
        chosen.choice(PIECES) + chosen.choice(("", " ", " ")) for _ in range(chosen.randint(1, longest))
    ).rstrip(" ")


async def answer(memory: PostgresMemory, query: str, limit: int, version: str = "0.8.4") -> list[tuple[Any, ...]]:
    found = await recall_of(memory, RecallRequest(query, limit), profile_for(version), ScoringSettings())
    return [(scored.entry.id, scored.score) for scored in found.entries]


@pytest.mark.parametrize("form", ["key", "agents"])
async def test_every_query_has_the_answer_of_zeroclaws_own_statement(form, place, opens):
    """Also where a tag goes on from the key into the content, and where a content begins with a path."""
    chosen = random.Random(11)
    agent = ", agent_id" if form == "agents" else ""
    place.make_table(form)
    connection = await asyncpg.connect(place.url)
    rows = [
        (f"id-{at:04}", f"{odd_text(chosen, 2)} user {at}", f"{odd_text(chosen, 8)} {chosen.choice(CONTENT_ALONE)}")
        for at in range(500)
    ]
    rows += [("tag", '<a "', 'x> <b "y> zz" c>'), ("path", "way", "~/notes and more"), ("dots", "up", "../b/c")]
    await connection.executemany(
        f"INSERT INTO memories (id, key, content, category, created_at, updated_at{agent}) "
        f"VALUES ($1, $2, $3, 'core', now(), now(){', $$a-default$$' if agent else ''})",
        rows,
    )
    memory = await opens()
    some_found = 0
    for query in QUERIES:
        expected = [tuple(row) for row in await connection.fetch(OWN, query, 1_000)]
        for limit in (5, 1_000):
            assert await answer(memory, query, limit) == expected[:limit], query
        some_found += bool(expected)
    await connection.close()
    assert some_found > len(QUERIES) / 2
