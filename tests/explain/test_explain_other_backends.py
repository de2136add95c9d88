"""Backends that rank by a rule of their own: rank and score with the scale named, then the same way to the prompt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from explain_world import library_of, why
from support.postgres_place import PostgresPlace
from support.postgres_server import PostgresServer, running_postgres
from support.redis_server import NO_SERVER, running_redis, server_program

from zeroclaw_tui.backends.in_memory import InMemory
from zeroclaw_tui.backends.lookup import entries_with_key
from zeroclaw_tui.backends.postgres.address import read_url
from zeroclaw_tui.backends.postgres.store import PostgresMemory
from zeroclaw_tui.backends.redis import RedisMemory
from zeroclaw_tui.curation.recall import explain, trial_of
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import NotFound
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.explain import Explanation

AT = "2026-03-19T10:00:00+00:00"
ROWS = (
    ("a", "tea", "green tea", "NULL"),
    ("b", "cup", "a cup of tea, then tea", "'tg_1'"),
    ("c", "dog", "barks", "NULL"),
)


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with running_postgres() as server:
        yield server


def words_of(explanation: Explanation) -> dict[str, str]:
    return {step.name: step.words for step in explanation.steps}


async def test_postgres_names_its_rank_and_its_scale(postgres: PostgresServer, tmp_path: Path) -> None:
    place = PostgresPlace(postgres, "explained")
    place.make_table("key")
    for id, key, content, session in ROWS:  # noqa: A001
        values = f"'{id}', '{key}', '{content}', 'core', '{AT}', '{AT}', {session}"
        place.run(f"INSERT INTO memories VALUES ({values})")

    async with library_of(PostgresMemory(read_url(place.url)), tmp_path, "0.7.5") as library:
        hit = await why(library, "tea", "tea", settings={"threshold": 0.25})
        assert words_of(hit)["rank"] == "rank 1 by postgres's own rule · ts_rank_cd = 0.30"
        assert hit.is_injected
        low = await why(library, "cup", "tea")
        assert (low.stopped_at, words_of(low)["threshold"]) == ("threshold", "0.20 < 0.40")
        assert "PostgreSQL ranks a word in the content at 0.10" in low.remarks[0]
        assert (await why(library, "dog", "tea")).stopped_at == "rank"
        elsewhere = await why(library, "cup", "tea", session_id="tg_2")
        assert (
            elsewhere.steps[-1].words
            == "postgres leaves it out: it belongs to session tg_1, and the message comes from tg_2"
        )
        assert elsewhere.steps[-1].helps == "recall without the session"
        of_none = await why(library, "tea", "tea", session_id="tg_1", until="2026-03-01T00:00:00+00:00")
        assert of_none.steps[-1].words.startswith("postgres leaves it out: created 2026-03-19T10:00:00")
        assert [step.words for step in of_none.later_stops] == [
            "postgres leaves it out: it has no session, and the message comes from tg_1"
        ]
        assert (await why(library, "cup", "tea", limit=1)).stopped_at == "limit"
        library.with_profile("0.5.6")
        bare = await why(library, "dog", "barks")
        assert bare.is_injected
        assert "no score (2 x key + content matches)" in words_of(bare)["rank"]


async def test_the_tutorials_table_asks_for_no_words(postgres: PostgresServer, tmp_path: Path) -> None:
    place = PostgresPlace(postgres, "tutorial")
    place.make_table("uuid")
    place.run(
        "INSERT INTO memories (id, key, content, category, timestamp) VALUES "
        f"('00000000-0000-4000-8000-00000000000a', 'tea', 'green tea <tool_result', '\"Core\"', '{AT}')"
    )
    async with library_of(PostgresMemory(read_url(place.url)), tmp_path, "0.8.4") as library:
        missed = await why(library, "tea", "green tea")
        late = await why(library, "tea", "green tea", until="2026-03-01T00:00:00+00:00")
    assert missed.steps[-1].words.startswith("postgres's own rule does not find it")
    assert "must contain" not in missed.steps[-1].words
    assert [step.name for step in missed.later_stops] == ["skip"]
    assert "recall is until 2026-03-01T00:00:00+00:00" in late.steps[-1].words


async def test_redis_names_namespace_and_time_and_no_session(tmp_path: Path) -> None:
    if server_program() is None:
        pytest.skip(NO_SERVER)
    with running_redis() as server:
        memory = RedisMemory(server.url())
        await memory.open()
        await memory.store("user_msg_1", "green tea", "core")
        await memory.close()
        async with library_of(RedisMemory(server.url()), tmp_path, "0.8.4") as library:
            bounds = {"until": "2020-01-01T00:00:00+00:00"}
            missed = await why(library, "user_msg_1", "tea", session_id="tg_1", namespace="work", **bounds)
    assert missed.steps[-1].words.startswith("redis leaves it out: created 2")
    assert [step.name for step in missed.later_stops] == ["rank", "skip"]
    assert missed.later_stops[0].words == "redis leaves it out: it is in namespace default, and recall is in work"


async def test_a_store_of_the_traits_verbs_alone(tmp_path: Path) -> None:
    entries = [MemoryEntry(id, key, content, "core", AT) for id, key, content, _ in ROWS]  # noqa: A001
    async with library_of(InMemory(entries), tmp_path, "0.8.4") as library:
        hit = await why(library, "tea", "tea")
        assert hit.is_injected
        assert "by in-memory's own rule" in words_of(hit)["rank"]
        miss = await why(library, "dog", "tea")
        assert miss.verdict == "It is not in the prompt: in-memory's own rule does not find it."


async def test_a_memory_that_has_gone_meanwhile(tmp_path: Path) -> None:
    entry = MemoryEntry("a", "tea", "green tea", "core", AT)
    async with library_of(InMemory([entry]), tmp_path, "0.8.4") as library:
        held = (await entries_with_key(library.memory, "tea"))[0]
        await library.memory.forget("tea")
        with pytest.raises(NotFound):
            await explain(library, held, trial_of(library, RecallRequest("tea")))
