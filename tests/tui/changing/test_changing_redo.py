"""What was taken back is done again, in stores of every way to write: rows, lines of a file, documents of a server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.redis_server import NO_SERVER, running_redis, server_program
from support.screens import WIDE, said
from support.settling import settled, until
from support.two_stores import install_of_two_stores
from tui_samples import NOW, STILL, browser

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation.config_choice import configs_for
from zeroclaw_tui.curation.library import open_library
from zeroclaw_tui.tui.app import InspectorApp


@pytest.fixture(params=["sqlite", "markdown", "redis"])
def options(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenOptions]:
    folder = install_of_two_stores(tmp_path)
    if request.param != "redis":
        yield OpenOptions(path=folder, backend=request.param)
        return
    if server_program() is None:
        pytest.skip(NO_SERVER)
    with running_redis() as server:
        given = OpenOptions(config_dir=folder, backend="redis", location=server.url())
        asyncio.run(_store(given))
        yield given


async def _store(given: OpenOptions) -> None:
    library = await open_library(configs_for(given, {})[0])
    for key in ("tz", "food"):
        await library.memory.store(key, f"{key} is known", "core")
    await library.close()


async def test_a_deletion_is_taken_back_and_done_again(options: OpenOptions) -> None:
    app = InspectorApp(options, clock=lambda: NOW, pace=STILL)
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await until(pilot, lambda: browser(app).library is not None)
        await settled(pilot)
        library = browser(app).library
        assert library is not None

        async def contents() -> set[str]:
            return {entry.content for entry in await library.memory.list()}

        async def press(*keys: str) -> None:
            # At once, as fingers do: a question under way would never settle.
            await pilot.press(*keys)
            await settled(pilot)

        before = await contents()
        await press("d", "y")
        left = await contents()
        assert len(left) == len(before) - 1
        await press("u")
        assert await contents() == before
        await press("U")
        assert said(app).startswith("Redid") or "\nRedid" in said(app)
        assert await contents() == left
