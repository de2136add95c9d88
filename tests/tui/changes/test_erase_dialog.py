"""Erasing from the inspector: the text is asked for, the plan shown, the answer typed, the report read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from support import small_store
from support.rooms import WorkApp
from support.screens import WIDE, screen_words
from support.settling import press, running
from textual.widgets import Input
from tui_samples import STILL

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation.config_choice import configs_for
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.tui.rooms.copies import erase

MET = MemoryEntry("id-000", "met", "I met Zebediah Q at the [bold]pier[/]", "core", "")
OTHER = MemoryEntry("id-001", "key1", "Prefers Rust for tools", "core", "")


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    """A store of two memories, and a prompt file that holds the content of one."""
    folder = tmp_path / "zc"
    (folder / "data" / "memory").mkdir(parents=True)
    (folder / "config.toml").write_text('schema_version = 3\n[memory]\nbackend = "sqlite"\n')
    rows = [{"key": MET.key, "content": MET.content}, {"content": OTHER.content}, {"content": "Zebediah Q rang"}]
    small_store.make(folder / "data" / "memory" / "brain.db", "G4", rows)
    (folder / "data" / "USER.md").write_text(MET.content)
    opened = await open_library(configs_for(OpenOptions(config_dir=folder))[0])
    yield opened
    await opened.close()


def erasing(library: Library, marked: Sequence[MemoryEntry], here: MemoryEntry | None = None) -> WorkApp:
    """Erases, next to marked memories or not."""
    return WorkApp(lambda app: erase(app, library, marked, STILL.patience, here=here))


async def contents(library: Library) -> list[str]:
    return sorted(entry.content for entry in await library.memory.list())


async def test_marked_memories_and_a_text_are_erased_after_the_word_is_typed(library: Library) -> None:
    async with running(erasing(library, [MET])) as (app, pilot):
        assert "Erase 1 memory and its text from the whole install" in screen_words(app)
        app.screen.query_one(Input).value = "zebediah q"
        await press(pilot, "enter")
        assert "Found in 2 places; to be erased: 2" in screen_words(app)
        assert "2 memories go: met, key2" in screen_words(app)
        assert "This cannot be undone" in screen_words(app)
        await press(pilot, "=no", "enter")
        assert "The word does not match." in screen_words(app)
        assert len(await contents(library)) == 3
        app.screen.query_one(Input).value = "erase"
        await press(pilot, "enter")
        assert "Nothing is left" in screen_words(app)
        assert "zebediah" not in screen_words(app).lower()
        await press(pilot, "escape")
    report = app.given[0]
    assert report is not None
    assert report.is_complete
    assert await contents(library) == [OTHER.content]


async def test_without_marks_the_current_memory_is_erased_if_no_text_is_typed(library: Library) -> None:
    async with running(erasing(library, [], OTHER)) as (app, pilot):
        assert "Erase a text from the whole install" in screen_words(app)
        assert "empty to erase the memory key1 and its text" in screen_words(app)
        app.screen.query_one(Input).value = "Zebediah Q"
        await press(pilot, "enter")
        assert "2 memories go: met, key2" in screen_words(app)
        await press(pilot, "escape")
    async with running(erasing(library, [], OTHER)) as (app, pilot):
        await press(pilot, "enter")
        assert "1 memory goes: key1" in screen_words(app)
        await press(pilot, "escape")


async def test_cancelling_any_step_changes_nothing(library: Library) -> None:
    async with running(erasing(library, []), WIDE) as (app, pilot):
        await press(pilot, "enter")
        assert "There is no text to erase." in screen_words(app)
        app.screen.query_one(Input).value = "ZEBEDIAH Q"
        await press(pilot, "enter")
        assert "Type erase to confirm:" in screen_words(app)
        await press(pilot, "escape")
        assert "Type erase" not in screen_words(app)
    assert app.given == [None]
    async with running(erasing(library, [])) as (app, pilot):
        app.screen.query_one(Input).value = "nobody has this"
        await press(pilot, "enter")
        assert "Found nowhere; searched" in screen_words(app)
        assert "Type erase" not in screen_words(app)
    assert len(await contents(library)) == 3


async def test_a_long_plan_can_be_paged(library: Library) -> None:
    chats = library.config.install.root / "sessions"
    chats.mkdir()
    for number in range(40):
        (chats / f"{number:02}.jsonl").write_text(f'{{"role":"user","content":"{MET.content}"}}\n')
    async with running(erasing(library, [])) as (app, pilot):
        app.screen.query_one(Input).value = "Zebediah Q"
        await press(pilot, "enter")
        assert "2 memories go: met, key2" in screen_words(app)
        assert "Type erase to confirm:" in screen_words(app)
        assert "sessions/39" not in screen_words(app)
        await press(pilot, *["pagedown"] * 15)
        assert "sessions/39" in screen_words(app)
        assert "Type erase to confirm:" in screen_words(app)
        await press(pilot, "escape")
