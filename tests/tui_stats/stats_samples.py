"""Stores for the page of statistics, and an app that shows it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from textual.app import App
from textual.pilot import Pilot

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.in_memory import InMemory
from zeroclaw_tui.backends.listing import count_entries
from zeroclaw_tui.config.install import Install
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.profile_choice import ProfileChoice
from zeroclaw_tui.curation.trash.trash import Trash
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.query import MemoryFilter, Superseded
from zeroclaw_tui.memory.statistics import CacheUse, Statistics, Storage
from zeroclaw_tui.scoring.profiles import profile_for
from zeroclaw_tui.scoring.settings import ScoringSettings
from zeroclaw_tui.tui.loader import Pace
from zeroclaw_tui.tui.screens.stats import StatsScreen
from zeroclaw_tui.tui.themes import ZEROCLAW_DARK

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
WIDE = (140, 40)
NARROW = (80, 24)
BROWSER_SHEET = Path(__file__).parents[2] / "zeroclaw_tui" / "tui" / "screens" / "browser.tcss"
STORAGE = Storage(
    file=2_805_760,
    write_ahead_log=412_032,
    page_size=4096,
    pages=685,
    free_pages=12,
    embedding_cache=CacheUse(1806, 462_336),
    response_cache=CacheUse(12, 3480, 31),
    side_files=(("audit.db", 1_204_224), ("brain.db.[/x]\x1b[31m\u202e", 900), ("response_cache.db", 40_960)),
    problems=("discord.db could not be read \x1b[2J[/bold].",),
)


class Counted(InMemory):
    """An in-memory store that has vectors and a file."""

    capabilities = replace(InMemory.capabilities, vectors=True)
    storage: Storage | None = STORAGE

    async def statistics(self, filter: MemoryFilter | None = None) -> Statistics:
        wanted = MemoryFilter(superseded=Superseded.SHOW) if filter is None else filter
        counted = count_entries(await self.entries(wanted), has_vectors=self.capabilities.vectors)
        return replace(counted, storage=self.storage)


def entry(number: int, key: str, category: str, days: float, size: int, **more: Any) -> MemoryEntry:
    created = (NOW - timedelta(days=days)).isoformat()
    more = {"namespace": "default", "timestamp": created} | more
    return MemoryEntry(f"id-{number:04d}", key, "x" * size, category, size=size, **more)


def usual() -> list[MemoryEntry]:
    """A store of 400 that grew over five months, most of it embedded."""
    categories = ("core", "conversation", "conversation", "conversation", "daily", "notes")
    return [
        entry(
            number,
            f"memory_{number:04d}",
            categories[number % 6],
            150 * (1 - number / 400) ** 2,
            30 + number * number % 3000,
            session_id=f"telegram_{number % 9}" if number % 3 else None,
            embedding_dimensions=(1536 if number % 7 else 768) if number % 5 else None,
            superseded_by="another" if number % 90 == 0 else None,
        )
        for number in range(400)
    ]


def hostile() -> list[MemoryEntry]:
    """Names that would steer a terminal, be read as markup, or break columns."""
    names = (
        "[/markup] [bold]x[/]", "\x1b[31mred\x1b]0;t\x07", "user \u202egnp.exe", "宽字符" * 9, "k" * 5000, "",
        "Z̸̡̢̧͎͙͚͈̦͚̞̘ 👩‍👩‍👧‍👦", "lone \udc80", "sk-aaaaaaaaaaaaaaaaaaaaaaaa", "line\nfeed\ttab",
    )  # fmt: skip
    return [
        entry(number, f"{name}{number}" if name else "", name, number * 3, 10 ** (number % 7), session_id=name,
              embedding_dimensions=3 if number % 2 else None)
        for number, name in enumerate(names)
    ]  # fmt: skip


def library_of(memory: Memory, folder: Path) -> Library:
    place = Path("/srv/zeroclaw")
    install = Install(
        config_dir=place / ".zeroclaw",
        root=place / "workspace",
        database=place / "workspace" / "memory" / "brain.db",
        layout="workspace",
        rule="the default place",
        own_dir=folder / "own",
    )
    return Library(
        config=MemoryConfig(install),
        memory=memory,
        profile=ProfileChoice(profile_for("0.6.2"), "assumed"),
        settings=ScoringSettings(),
        embedder=None,
        trash=Trash(install, "in-memory:this process", lambda: NOW),
    )


class StatsApp(App[None]):
    """The page over an empty screen, and what it gave back."""

    CSS_PATH = BROWSER_SHEET

    def __init__(self, library: Library) -> None:
        super().__init__()
        self.library = library
        self.given: list[Any] = []
        self.register_theme(ZEROCLAW_DARK)
        self.theme = ZEROCLAW_DARK.name

    async def on_mount(self) -> None:
        await self.push_screen(StatsScreen(self.library, lambda: NOW, Pace(poll=None)), self.given.append)


def app_of(entries: Iterable[MemoryEntry], folder: Path, make: Callable[..., Memory] = Counted) -> StatsApp:
    return StatsApp(library_of(make(entries), folder))


async def settled(pilot: Pilot[Any]) -> None:
    """Let everything that was asked be answered and painted."""
    quiet = 0
    async with asyncio.timeout(20):
        while quiet < 3:
            await pilot.pause()
            running = [worker for worker in pilot.app.workers if not worker.is_finished]
            quiet = 0 if running else quiet + 1


def screen_words(app: App[Any]) -> str:
    """Every line on the screen, with one space between words."""
    strips = app.screen._compositor.render_strips(app.size)
    lines = "\n".join("".join(segment.text for segment in strip) for strip in strips)
    return " ".join(lines.split())
