"""The inspector while an endpoint is asked for the query's vector: what is shown, and what a newer query does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from recall_progress_world import configured
from support import settling
from support.screens import said, screen_words
from support.settling import settled
from textual.pilot import Pilot
from textual.widgets import Input

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.view import Pace
from zeroclaw_tui.tui.widgets.memory_list import MemoryList

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
ASKING = "2 injected so far · getting the query vector from 127.0.0.1 …"


@pytest.fixture(autouse=True)
def still_terminal(monkeypatch, tmp_path):
    settling.still_terminal(monkeypatch)
    monkeypatch.setenv("HOME", str(tmp_path))


@asynccontextmanager
async def inspecting(folder: Path, base: str) -> AsyncIterator[Pilot[Any]]:
    options = OpenOptions(config_dir=configured(folder, base))
    app = InspectorApp(options, clock=lambda: NOW, pace=Pace(debounce=0.0, poll=None, stopwatch=lambda: 0.0))
    async with app.run_test(size=(140, 40)) as pilot:
        await until(pilot, lambda: has_rows(pilot, 4))
        await settled(pilot)
        yield pilot


def rows(pilot: Pilot[Any]) -> MemoryList:
    return pilot.app.screen_stack[-1].query_one(MemoryList)


def has_rows(pilot: Pilot[Any], count: int) -> bool:
    """Whether the panes have come, and the list has so many rows."""
    found = pilot.app.screen_stack[-1].query(MemoryList)
    return bool(found) and found.first().row_count == count


async def until(pilot: Pilot[Any], condition: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await pilot.pause()
    await pilot.pause()


async def searched(pilot: Pilot[Any], query: str) -> None:
    """Type it all at once, as a paste does."""
    await pilot.press("slash")
    pilot.app.screen.query_one(Input).value = query
    await pilot.pause()


async def test_keyword_hits_are_shown_until_the_vector_is_there(folder, endpoint, service):
    service.holds = True
    async with inspecting(folder, endpoint.base) as pilot:
        await searched(pilot, "tea")
        await until(pilot, lambda: service.asked and ASKING in screen_words(pilot.app))
        assert rows(pilot).row_count == 2
        service.may_answer.set()
        await until(pilot, lambda: has_rows(pilot, 4))
        assert "the query's vector" not in screen_words(pilot.app)
        assert "so far" not in screen_words(pilot.app)
    assert service.asked == [["tea"]]


async def test_making_one_vector_again_says_what_was_sent(folder, endpoint, service, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", endpoint.base)
    async with inspecting(folder, "http://embeddings.example") as pilot:
        await pilot.app.screen.run_command("re_embed")
        asking = "Asking embeddings.example (text-embedding-3-small) for the vector of a text: about 9 "
        await until(pilot, lambda: asking in said(pilot.app))
        sent = "Its embedding now matches its content. Sent to embeddings.example."
        await until(pilot, lambda: sent in said(pilot.app))
