"""Engines that speak PostgreSQL's language without parts of it: a plain form of a statement is found out once."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import asyncpg
import numpy as np
import pytest

from zeroclaw_tui.backends.postgres.store import PostgresMemory
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.profiles import ScoringSettings, profile_for
from zeroclaw_tui.testing.samples import NOW

Lacks = Callable[[str, type[asyncpg.PostgresError]], list[str]]


@pytest.fixture
def lacks(monkeypatch: pytest.MonkeyPatch) -> Lacks:
    """Has the server refuse every statement with such words in it from now on; gives those it refused."""

    def refuse(words: str, error: type[asyncpg.PostgresError]) -> list[str]:
        refused: list[str] = []
        for name in ("fetch", "fetchrow", "execute"):
            ask = getattr(asyncpg.Connection, name)

            async def asked(self: Any, query: str, *values: Any, ask: Any = ask, **named: Any) -> Any:
                if words not in query:
                    return await ask(self, query, *values, **named)
                refused.append(query)
                raise error(f"{words} is not supported")

            monkeypatch.setattr(asyncpg.Connection, name, asked)
        return refused

    return refuse


@pytest.mark.parametrize("form", ["key", "agents", "uuid"])
@pytest.mark.parametrize("error", [asyncpg.FeatureNotSupportedError, asyncpg.PostgresSyntaxError])
async def test_facets_are_counted_without_grouping_sets(place, opens, lacks, form, error):
    place.make_table(form)
    place.fill(form)
    memory, now = await opens(), NOW.isoformat()
    filters = (MemoryFilter(), MemoryFilter(contains="rust"), MemoryFilter(contains="nothing has that"))
    expected = [await memory.facets(wanted, now) for wanted in filters]
    refused = lacks("GROUPING SETS", error)
    again = [await memory.facets(wanted, now) for wanted in filters]
    assert again == expected
    assert [list((facets.session or {}).items()) for facets in again] == [
        list((facets.session or {}).items()) for facets in expected
    ]
    assert len(refused) == 1


@pytest.mark.parametrize("error", [asyncpg.FeatureNotSupportedError, asyncpg.UndefinedColumnError])
async def test_what_others_write_is_seen_without_xmin(place, opens, lacks, error):
    place.make_table("key")
    place.fill("key")
    memory = await opens()
    refused = lacks("xmin", error)
    first = await memory.data_version()
    assert await memory.data_version() == first
    place.run("INSERT INTO memories VALUES ('new', 'new', 'new', 'core', now(), now())")
    second = await memory.data_version()
    assert second != first
    place.run("UPDATE memories SET content = 'newer', updated_at = now() + interval '1 s' WHERE id = 'new'")
    third = await memory.data_version()
    assert third != second
    place.run("DELETE FROM memories WHERE id <> 'new'")
    assert await memory.data_version() != third
    assert len(refused) == 1


async def test_lists_are_read_where_a_setting_of_cursors_is_not_known(place, opens, lacks):
    place.make_table("key")
    place.fill("key")
    expected = [entry.id for entry in await (await opens()).entries(MemoryFilter())]
    refused = lacks("cursor_tuple_fraction", asyncpg.UndefinedObjectError)
    memory = await opens()
    assert [entry.id for entry in await memory.entries(MemoryFilter())] == expected
    assert expected
    assert len(refused) == 1


WORDS = (
    "rust",
    "über",
    "don't",
    "foo-bar",
    "back\\slash",
    "http://a.b/c?d=1",
    "用户",
    "a",
    "x_y",
    "12.5",
    "'",
    "tools",
)
QUERIES = (
    "rust",
    "rust tools",
    "don't",
    "foo-bar rust",
    "a.b/c",
    "http://a.b/c?d=1",
    "back\\slash",
    "x_y 12.5",
    "a a",
    "用户 a",
)


def _texts(chance: random.Random) -> Iterator[tuple[str, str]]:
    """Keys and contents with the words of the queries close together and far apart, and two that are very long."""
    for at in range(300):
        few = chance.sample(WORDS, chance.randint(1, len(WORDS)))
        yield f"{chance.choice(WORDS)} {at}", " ".join(chance.choices([*few, "filler"], k=chance.randint(0, 60)))
    # More words than have places, and more of one word than are counted.
    yield "rust long", "filler " * 16_380 + "rust tools a rust foo-bar rust tools x_y 12.5"
    yield "tools often", "rust tools a " * 400


async def test_recall_ranks_the_same_where_the_server_has_no_ts_rank_cd(place, opens):
    """What PostgreSQL itself computes, and what is computed here once its function is gone, to the bit."""
    place.make_table("vector")
    rows = [
        {"id": f"{at}", "key": key, "content": content, "updated_at": f"2026-03-01T10:00:0{at % 7}Z"}
        for at, (key, content) in enumerate(_texts(random.Random(5)))
    ]
    place.run(
        "INSERT INTO memories (id, key, content, category, created_at, updated_at) SELECT id, key, content, 'core', "
        "updated_at, updated_at FROM jsonb_populate_recordset(NULL::memories, "
        f"$rows${json.dumps(rows, ensure_ascii=False)}$rows$)"
    )

    async def recalled(memory: PostgresMemory, **asked: Any) -> list[list[tuple[str, float | None]]]:
        found = []
        for query in QUERIES:
            for limit in (3, 1000):
                request = RecallRequest(query, limit, **asked)
                answer = await memory.search(request, profile_for("0.8.4"), ScoringSettings())
                found.append([(scored.entry.id, scored.score) for scored in answer.entries])
        return found

    expected = await recalled(await opens())
    assert all(len(found) >= 3 for found in expected)
    place.run_as_superuser("ALTER FUNCTION pg_catalog.ts_rank_cd(tsvector, tsquery) RENAME TO gone")
    try:
        memory = await opens()
        assert await recalled(memory) == expected
        vector = np.array([1, 0, 0], dtype=np.float32)
        place.run("UPDATE memories SET embedding = '[1,0,0]' WHERE id = '7'")
        fused = await (await opens()).search(
            RecallRequest("rust", 3, own_fusion=True), profile_for("0.8.4"), ScoringSettings(), vector
        )
    finally:
        place.run_as_superuser("ALTER FUNCTION pg_catalog.gone(tsvector, tsquery) RENAME TO ts_rank_cd")
    assert [scored.entry.id for scored in fused.entries] == [id_ for id_, _ in expected[0]]
    assert "nothing is fused" in fused.notes[0]


async def test_a_server_that_knows_no_words_is_one_sentence(place, opens, lacks):
    place.make_table("key")
    memory = await opens()
    lacks("to_tsvector", asyncpg.UndefinedFunctionError)
    with pytest.raises(Refused, match="takes no texts apart") as told:
        await memory.search(RecallRequest("rust", 5), profile_for("0.8.4"), ScoringSettings())
    assert "finding work" in told.value.hint
