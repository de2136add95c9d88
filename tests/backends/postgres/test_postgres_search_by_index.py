"""Recall by ZeroClaw's indexes on words is its own statement's answer: the same rows with the same scores, in order."""

from __future__ import annotations

import random
from typing import Any

import asyncpg
import pytest
from support.postgres_place import PostgresPlace

from zeroclaw_tui.backends.postgres.store import PostgresMemory
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.profiles import ScoringSettings, profile_for

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


async def own_answer(place: PostgresPlace, query: str, limit: int) -> list[tuple[Any, ...]]:
    connection = await asyncpg.connect(place.url)
    try:
        return [tuple(row) for row in await connection.fetch(OWN, query, limit)]
    finally:
        await connection.close()


async def answer(memory: PostgresMemory, query: str, limit: int, version: str = "0.8.4") -> list[tuple[Any, ...]]:
    found = await memory.search(RecallRequest(query, limit), profile_for(version), ScoringSettings())
    return [(scored.entry.id, scored.score) for scored in found.entries]


@pytest.mark.parametrize("form", ["key", "agents"])
async def test_every_query_has_the_answer_of_zeroclaws_own_statement(form, place, opens):
    """Also where a tag goes on from the key into the content, and where a content begins with a path.

    Of the agents' table the server knows which words most keys have, which some, and which none.
    """
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
    if form == "agents":
        await connection.execute("ANALYZE memories")
    memory = await opens()
    some_found = 0
    for query in QUERIES:
        expected = [tuple(row) for row in await connection.fetch(OWN, query, 1_000)]
        for limit in (5, 1_000):
            assert await answer(memory, query, limit) == expected[:limit], query
        some_found += bool(expected)
    await connection.close()
    assert some_found > len(QUERIES) / 2


@pytest.mark.parametrize("is_ours", [True, False])
async def test_an_open_tag_in_a_key_is_minded_once_it_is_there(place, opens, is_ours):
    """What a recall learned of all keys holds until this program or another one writes."""
    place.make_table("key")
    place.fill("key")
    memory = await opens()
    key, content = '<a "', 'x> <b "y> zz" c>'
    for is_there in (False, True):
        expected = await own_answer(place, "zz", 10)
        assert bool(expected) == is_there
        for _ in range(2):
            assert await answer(memory, "zz", 10) == expected
        if is_ours:
            await memory.store(key, content, "core")
        elif not is_there:
            place.run(f"INSERT INTO memories VALUES ('tag', '{key}', '{content}', 'core', now(), now())")


async def test_the_indexes_are_asked_where_both_are_there(place, opens):
    """The server counts how often: not at all before, and where one is missing the table is gone through."""
    place.make_table("key")
    place.run(
        "INSERT INTO memories SELECT 'id-' || n, 'key ' || n, 'memory number' || n, 'core', now(), now() "
        "FROM generate_series(1, 5000) n; ANALYZE memories"
    )
    scans = "SELECT sum(idx_scan) FROM pg_stat_user_indexes WHERE indexrelname LIKE '%_fts'"
    for is_there in (True, False):
        memory = await opens()
        assert [id_ for id_, _ in await answer(memory, "number77", 10)] == ["id-77"]
        # What a connection counted the server knows once that connection has ended.
        await memory.close()
        if is_there:
            assert int(place.run(scans)) > 0
            place.run("DROP INDEX idx_memories_key_fts")


async def test_a_query_of_no_word_at_all_finds_nothing(place, opens):
    place.make_table("key")
    place.fill("key")
    memory = await opens()
    assert await answer(memory, "... !", 10) == await own_answer(place, "... !", 10) == []
