"""Recall of ZeroClaw's own tables by version: results, order and scores."""

from __future__ import annotations

import random

import asyncpg
import pytest
from support.memories import UsageError
from support.recalls import ids, recalled

SUBSTRINGS = ("0.1.2", "0.5.6")
WORDS = ("0.5.7", "0.6.2", "0.7.4", "0.7.5", "0.8.0", "0.8.4")
MOMENT = "2026-03-{:02d}T10:00:00Z"
ROWS = (
    ("a", "rust", "the language of the tools", "s1"),
    ("b", "tools", "rust and Python, Rust above all", None),
    ("c", "rust_notes", "on rust", "s1"),
    ("d", "100%_sure", "a_b or aXb", None),
    ("e", "other", "nothing of that", "s2"),
)


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
"""Queries that match no key."""
QUERIES = (
    "rust", "RUST the", "rust rust", "foo-bar", "foo bar", "bar", "c", "/c", "/notes", "~/notes", "/run.sh", "./run.sh",
    "notes", "/b/c", "b", "a.de/c", "x@y.de y.de", "it's", "s", "'", "''", "\\", "!rust | the", "rust & !the", "rust:*",
    "深色主题", "深色", "主题 用户", "größe é", "v1.2.3", "1.5e-3", "7", "-7", "the and", "<b>", "a_b", "50%", "...",
    "zz", "rust foo a b", "tag", "<a rust", "y", "de", "quartz", "quartz violet", "user quartz", "user violet rust",
    "user", "quartz /c", "violet notes",
)  # fmt: skip


def odd_text(chosen: random.Random, longest: int) -> str:
    """Join some pieces, often without a blank between them."""
    return "".join(
        chosen.choice(PIECES) + chosen.choice(("", " ", " ")) for _ in range(chosen.randint(1, longest))
    ).rstrip(" ")


@pytest.fixture
async def memory(place, opens):
    place.make_table("key")
    rows = []
    for day, (row_id, key, content, session) in enumerate(ROWS, 1):
        moment, owned = MOMENT.format(day), "NULL" if session is None else f"'{session}'"
        rows.append(f"('{row_id}', '{key}', '{content}', 'core', '{moment}', '{moment}', {owned})")
    place.run(f"INSERT INTO memories VALUES {', '.join(rows)}")
    return await opens()


@pytest.mark.parametrize("version", SUBSTRINGS)
async def test_the_query_is_a_substring_that_scores_2_in_the_key_and_1_in_the_content(memory, version):
    """By hand: c has it in both, a in the key, b in the content; case is ignored."""
    found = await recalled(memory, " RUST ", version)
    assert [(scored.entry.id, scored.keyword_raw) for scored in found.entries] == [("c", 3), ("a", 2), ("b", 1)]
    assert {scored.score for scored in found.entries} == {None}
    assert {scored.stage for scored in found.entries} == {"postgres"}
    assert found.scale == "2 x key + content matches"
    assert "cannot read this score" in found.notes[-1]
    assert ids(await recalled(memory, "rust and", version)) == ["b"]
    assert ids(await recalled(memory, "and rust", version)) == []


@pytest.mark.parametrize("version", SUBSTRINGS)
async def test_equal_scores_are_ordered_newest_first(memory, version, place):
    place.run("UPDATE memories SET updated_at = '2026-04-01T00:00:00Z' WHERE id = 'b'")
    found = await recalled(memory, "o", version)
    assert [(scored.entry.id, scored.keyword_raw) for scored in found.entries] == [
        ("b", 3), ("e", 3), ("c", 3), ("d", 1), ("a", 1),
    ]  # fmt: skip
    assert ids(await recalled(memory, "o", version, limit=2)) == ["b", "e"]


@pytest.mark.parametrize("version", SUBSTRINGS)
async def test_wildcards_in_the_query_are_not_escaped(memory, version):
    found = await recalled(memory, "a_b", version)
    assert ids(found) == ["d"]
    assert ids(await recalled(memory, "r%t", version)) == ["c", "a", "b"]
    assert "d" in ids(await recalled(memory, "0%s", version))
    assert ids(await recalled(memory, "\\%", version)) == ["d"]


async def test_a_blank_query_lists_the_newest(memory):
    for version in (*SUBSTRINGS, *WORDS):
        for query in ("", " \t"):
            found = await recalled(memory, query, version)
            assert ids(found) == ["e", "d", "c", "b", "a"]
            assert [(scored.score, scored.keyword_raw) for scored in found.entries] == [(None, None)] * 5
        assert ids(await recalled(memory, "", version, limit=2)) == ["e", "d"]


async def test_a_star_lists_the_newest_in_the_versions_that_support_it(memory):
    assert ids(await recalled(memory, "*", "0.7.5")) == ["e", "d", "c", "b", "a"]
    assert ids(await recalled(memory, "*", "0.6.2")) == []


@pytest.mark.parametrize("version", ["0.5.6", "0.8.4"])
async def test_session_times_and_limit_filter_the_results(memory, version):
    assert ids(await recalled(memory, "rust", version, session_id="s1")) == ["c", "a"]
    assert ids(await recalled(memory, "rust", version, session_id="none")) == []
    since = await recalled(memory, "rust", version, since="2026-03-02T11:00:00+01:00", until=MOMENT.format(2))
    assert ids(since) == ["b"]
    assert ids(await recalled(memory, "rust", version, limit=0)) == []
    with pytest.raises(UsageError, match="Invalid time"):
        await recalled(memory, "rust", version, since="yesterday")


@pytest.mark.parametrize("version", ["0.5.6", "0.8.4"])
async def test_a_hostile_query_is_only_searched_for(memory, place, version):
    """Each query finds the one memory with this content, if PostgreSQL finds words in it."""
    hostile = ["'; DROP TABLE memories; --", "a & !b | (c", "$1 %s {x}", "'x' \"y\"", ":*z", "\x1b[31mred", "日本語"]
    for query in hostile:
        await memory.store(query, query, "core")
        assert query in [scored.entry.content for scored in (await recalled(memory, query, version)).entries]
    assert await memory.count() == len(ROWS) + len(hostile)
    await recalled(memory, "%" * 500 + "\\", version)


async def test_newer_tables_filter_by_agent_and_namespace(place, opens):
    place.make_table("agents")
    place.run(
        "INSERT INTO memories (id, key, content, category, created_at, updated_at, agent_id, namespace) VALUES "
        "('a', 'k', 'rust', 'core', now(), now(), 'a-default', 'default'), "
        "('b', 'k', 'rust too', 'core', now(), now() - interval '1 h', 'a-scout', 'work'), "
        "('c', 'l', 'rust again', 'core', now(), now() - interval '2 h', 'a-scout', NULL)"
    )
    memory = await opens()
    assert ids(await recalled(memory, "rust", "0.8.0")) == ["a", "b", "c"]
    assert ids(await recalled(memory, "rust", "0.8.0", agents=("scout",))) == ["b", "c"]
    assert ids(await recalled(memory, "rust", "0.8.4", agents=("scout",), limit=1)) == ["b"]
    assert ids(await recalled(memory, "", "0.8.4", agents=("scout", "default"))) == ["a", "b", "c"]
    assert ids(await recalled(memory, "rust", "0.8.4", agents=("nobody",))) == []
    assert ids(await recalled(memory, "rust", "0.8.4", namespace="work")) == ["b"]
    assert ids(await recalled(memory, "rust", "0.8.4", namespace="default")) == ["a", "c"]
    unscoped = await recalled(memory, "rust", "0.7.5", agents=("scout",))
    assert ids(unscoped) == ["a", "b", "c"]
    assert any("knows no agents" in note for note in unscoped.notes)


@pytest.mark.parametrize("form", ["key", "agents"])
async def test_every_query_gives_the_result_of_zeroclaws_own_statement(form, place, opens):
    """Also when a tag continues from the key into the content, and when a content begins with a path."""
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
            found = await recalled(memory, query, "0.8.4", limit=limit)
            assert [(scored.entry.id, scored.score) for scored in found.entries] == expected[:limit], query
        some_found += bool(expected)
    await connection.close()
    assert some_found > len(QUERIES) / 2
