"""Engines that speak PostgreSQL's language without parts of it: a plain form of a statement is found out once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import asyncpg
import pytest

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
        for name in ("fetch", "fetchrow"):
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


async def test_that_recall_needs_a_function_the_server_lacks_is_one_sentence(place, opens, lacks):
    place.make_table("key")
    memory = await opens()
    lacks("ts_rank_cd", asyncpg.UndefinedFunctionError)
    with pytest.raises(Refused, match="has no ts_rank_cd") as told:
        await memory.search(RecallRequest("rust", 5), profile_for("0.8.4"), ScoringSettings())
    assert "finding work" in told.value.hint
