"""What is near by rare words is what reading every row tells, or is said to be approximate."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import asyncpg
import pytest
from support.postgres_place import PostgresPlace

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.postgres.store import PostgresMemory
from zeroclaw_tui.scoring.neighbours import WordNeighbours

MANY = 21_000
"""Of fewer rows all are read."""
PLAIN = tuple(f"word{number}" for number in range(300))
ODD = (
    *PLAIN[:40], "größe", "Straße", "STRASSE", "Éclair", "foo-bar", "bar", "https://a.example/c?d=e", "x@y.example",
    "-7", "7", "1.5e-3", "v1.2.3", "a_b", "/etc/passwd", "<b>", "&amp;", "it's", "深色主题", "主题", "2026-11-22",
)  # fmt: skip
FILLER = "array_to_string(ARRAY['common', 'note', 'filler' || n % 997, 'unique' || n], ' ')"


async def filled(place: PostgresPlace, contents: Sequence[str], many: int = 0) -> None:
    """Rows with these contents, and so many others that share nothing but two common words."""
    place.make_table("key")
    place.run("DROP INDEX idx_memories_content_fts, idx_memories_key_fts")
    connection = await asyncpg.connect(place.url)
    await connection.executemany(
        "INSERT INTO memories VALUES ($1, $2, $3, 'core', now(), now() + $4 * interval '1 second')",
        [(f"id-{at:05}", f"key {at}", content, at % 50) for at, content in enumerate(contents)],
    )
    await connection.execute(
        f"INSERT INTO memories SELECT 'many-' || n, 'many ' || n, {FILLER}, 'core', now(), now() "
        f"FROM generate_series(1, {many}) n"
    )
    await connection.close()


def make_indexes(place: PostgresPlace) -> None:
    for column in ("content", "key"):
        place.run(f"CREATE INDEX idx_memories_{column}_fts ON memories USING gin (to_tsvector('simple', {column}))")


def texts(chosen: random.Random, pieces: Sequence[str], count: int) -> list[str]:
    return [" ".join(chosen.choices(pieces, k=chosen.randint(1, 9))) for _ in range(count)]


async def both(memory: PostgresMemory, asked: str, without: Any = None) -> tuple[WordNeighbours, WordNeighbours]:
    by_store = await memory.nearest_by_words(asked, 8, without)
    return by_store, await Memory.nearest_by_words(memory, asked, 8, without)


@pytest.mark.parametrize("pieces", [PLAIN, ODD], ids=["plain", "odd"])
async def test_a_few_hundred_rows_have_the_answer_of_reading_all(place, opens, pieces):
    chosen = random.Random(3)
    contents = [*texts(chosen, pieces, 400), "", " ", "!?"]
    await filled(place, contents)
    make_indexes(place)
    memory = await opens()
    for at in range(0, 400, 37):
        found, expected = await both(memory, contents[at], f"id-{at:05}")
        assert found == expected
        assert not found.is_approximate


async def test_without_the_index_many_rows_have_the_answer_of_reading_all(place, opens):
    """Unless another text might be nearer by what the passes keep, and that is said."""
    chosen = random.Random(4)
    contents = texts(chosen, ODD, 600)
    await filled(place, contents, MANY)
    memory = await opens()
    exact = 0
    for at in range(0, 600, 200):
        found, expected = await both(memory, contents[at], f"id-{at:05}")
        assert found.counts == expected.counts
        assert found.compared == expected.compared == MANY + 600
        if not found.is_approximate:
            exact += 1
            assert [id_ for id_, _ in found.nearest] == [id_ for id_, _ in expected.nearest]
            assert dict(found.nearest) == pytest.approx(dict(expected.nearest))
    assert exact


async def test_with_the_index_plain_words_have_the_neighbours_of_reading_all(place, opens):
    """How often the common words occur is told by a sample, so scores are as near as that."""
    chosen = random.Random(5)
    contents = texts(chosen, PLAIN, 600)
    await filled(place, contents, MANY)
    make_indexes(place)
    memory = await opens()
    for asked in (f"common {contents[5]}", "common filler13 unique13"):
        found, expected = await both(memory, asked, "id-00005")
        assert found.is_approximate
        assert found.compared == MANY + 600
        assert found.counts == pytest.approx(expected.counts, rel=0.02)
        scores = dict(expected.nearest)
        assert [score for _, score in found.nearest] == pytest.approx(list(scores.values()), rel=0.02)
        last = min(scores.values(), default=0.0)
        assert all(score == pytest.approx(scores.get(id_, last), rel=0.02) for id_, score in found.nearest)


async def test_with_the_index_what_the_server_takes_apart_otherwise_is_said_to_be_approximate(place, opens):
    """A text is near itself and those with the same address, and one of a script without blanks is read for."""
    chosen = random.Random(6)
    contents = [*texts(chosen, ODD, 600), "see https://docs.example/guide soon", "or https://docs.example/guide later"]
    await filled(place, contents, MANY)
    make_indexes(place)
    memory = await opens()
    found = await memory.nearest_by_words(contents[-1], 3)
    assert [id_ for id_, _ in found.nearest][:2] == ["id-00601", "id-00600"]
    assert found.is_approximate
    found, expected = await both(memory, "深色主题")
    assert [id_ for id_, _ in found.nearest] == [id_ for id_, _ in expected.nearest]


async def test_few_rows_come_over_where_there_is_an_index(place, opens, fetched):
    await filled(place, texts(random.Random(7), PLAIN, 600), 3 * MANY)
    make_indexes(place)
    memory = await opens()
    fetched.clear()
    await memory.nearest_by_words("word1 word2 unique77", 8)
    assert sum(count for _, count in fetched) < 1.5 * MANY


async def test_of_words_that_everybody_uses_the_answer_is_said_to_be_approximate(place, opens):
    await filled(place, ["common note", "note", "common"], 2 * MANY)
    make_indexes(place)
    memory = await opens()
    found = await memory.nearest_by_words("common note", 3)
    assert found.is_approximate
    assert found.compared == 2 * MANY + 3


async def test_a_view_of_many_rows_is_read_twice(place, opens):
    """The server takes no sample of a view."""
    contents = texts(random.Random(8), PLAIN, 50)
    await filled(place, contents, MANY)
    place.run("CREATE VIEW shown AS SELECT * FROM memories")
    found, expected = await both(await opens(table="shown"), contents[3], "id-00003")
    assert found.counts == expected.counts
    assert [id_ for id_, _ in found.nearest] == [id_ for id_, _ in expected.nearest]
