"""A store on a server: its rows go, its neighbours stay, and what the server itself keeps is named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from erase_samples import OTHERS, TEXT, bytes_left
from support.redis_server import NO_SERVER, RedisServer, running_redis, server_program

from zeroclaw_tui.config.install import OpenOptions
from zeroclaw_tui.curation.changes import plan_purge, remove_memories, store_memory
from zeroclaw_tui.curation.erase.database_erasure import Chosen
from zeroclaw_tui.curation.erase.erase import erase_texts, plan_erase
from zeroclaw_tui.curation.erase.spellings import Spellings
from zeroclaw_tui.curation.library import open_library
from zeroclaw_tui.curation.opening import configs_for
from zeroclaw_tui.memory.change import Draft
from zeroclaw_tui.memory.query import MemoryFilter


@pytest.fixture
def server() -> Iterator[RedisServer]:
    if server_program() is None:
        pytest.skip(NO_SERVER)
    with running_redis() as server:
        yield server


async def test_rows_go_and_what_the_server_keeps_is_named(server: RedisServer, tmp_path: Path) -> None:
    (tmp_path / "zc").mkdir()
    (tmp_path / "zc" / "config.toml").write_text('[memory]\nbackend = "none"\nauto_save = false\n')
    options = OpenOptions(config_dir=tmp_path / "zc", backend="redis", location=server.url())
    library = await open_library(configs_for(options)[0])
    try:
        for at, content in enumerate((OTHERS[0], f"I met {TEXT.upper()}", OTHERS[1], f"{TEXT} again")):
            await store_memory(library, Draft(f"key{at}", content))
        await remove_memories(library, await plan_purge(library, MemoryFilter(contains="again")), "purge")
        plan = await plan_erase(library, Chosen(Spellings([TEXT])))
        assert {(place.kind, place.found) for place in plan.places} == {("store", 1), ("trash", 3)}
        report = await erase_texts(library, plan)
        assert [(one.kind, "append-only" in one.why) for one in report.left] == [("store", True)]
        assert sorted(entry.content for entry in await library.memory.list()) == sorted(OTHERS[:2])
    finally:
        await library.close()
    assert bytes_left(tmp_path) == []
