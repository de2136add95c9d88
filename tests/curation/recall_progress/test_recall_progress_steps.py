"""A recall in steps: what words find while the query's vector is fetched, then the answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
from recall_progress_world import Service, configured
from support.http_endpoints import HttpEndpoint

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation.config_choice import configs_for
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.curation.recall import recall_memories, recall_steps
from zeroclaw_tui.memory.recall import RecallRequest, RecallResult

TEA = RecallRequest("tea", as_of="2026-03-02T00:00:00Z")


async def opened(folder: Path, base: str) -> Library:
    config = configs_for(OpenOptions(config_dir=configured(folder, base)), {"HOME": str(folder)})[0]
    return await open_library(config)


@pytest.fixture
async def library(folder: Path, endpoint: HttpEndpoint) -> AsyncIterator[Library]:
    made = await opened(folder, endpoint.base)
    yield made
    await made.close()


async def steps(library: Library, request: RecallRequest = TEA) -> list[RecallResult]:
    return [step async for step in recall_steps(library, library.trial(request))]


async def test_leaving_after_the_first_step_ends_the_request(library: Library, service: Service) -> None:
    service.holds = True
    before = asyncio.all_tasks()
    async with aclosing(recall_steps(library, library.trial(TEA))) as taken:
        await anext(taken)
        assert len(asyncio.all_tasks()) > len(before)
    assert asyncio.all_tasks() == before


async def test_the_local_embedder_needs_one_step_unless_words_come_first(folder: Path, endpoint: HttpEndpoint) -> None:
    configured(folder, endpoint.base)
    text = (folder / "config.toml").read_text().replace(f"custom:{endpoint.base}", "local")
    (folder / "config.toml").write_text(text)
    config = configs_for(OpenOptions(config_dir=folder), {"HOME": str(folder)})[0]
    library = await open_library(config)
    assert [step.awaits_vector for step in await steps(library)] == [False]
    by_words, answer = [step async for step in recall_steps(library, library.trial(TEA), words_first=True)]
    assert (by_words.awaits_vector, answer) == (True, await recall_memories(library, library.trial(TEA)))
    blank = RecallRequest("")
    assert len([step async for step in recall_steps(library, library.trial(blank), words_first=True)]) == 1
    await library.close()
