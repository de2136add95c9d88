"""A home with ~/.zeroclaw, its database, and the snapshot ZeroClaw wrote of it before some memories changed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from support import small_store
from tui_trash_samples import Clock, ScreenApp

from zeroclaw_tui.config.install import Install
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.curation.snapshot.text import NAME, SIDE_CAR, snapshot_text
from zeroclaw_tui.curation.trash.trash import Trash
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.tui.loader import Pace
from zeroclaw_tui.tui.screens.snapshot import SnapshotScreen

EXPORTED = datetime(2026, 11, 20, 21, 4, tzinfo=UTC)
RECIPE = "# Ramen\n\n- broth\n- noodles\n- an egg\n\nServe hot.\n"
SAME = (("tz", "Timezone is EST"), ("editor", "Prefers a dark theme"), ("tea", "Drinks green tea in the morning"))
HOSTILE_HERE = (
    ("[/markup]", "[/foo] [bold]not bold[/] [@click=app.bell()]no link[/] ["),
    ("escape", "before \x1b[31mred\x1b]0;title\x07\x1b]52;c;aGk=\x1b\\ after\x9b2J\x08\x00 end"),
    ("bidi", "user \u202egnp.exe\u202c and \u2066isolated\u2069 \u200frtl"),
    ("k" * 300, "A key of three hundred letters."),
    ("宽字符", "全角文字也要对齐：" + "宽" * 80),
    ("long", "5,000 characters " + "x" * 5000),
    ("secret", "The key is sk-abcdefghijklmnopqrstuvwxyz0123 and postgres://me:geheim@host/db"),
)


def entries(pairs: Iterable[tuple[str, str]]) -> list[MemoryEntry]:
    moment = "2026-11-01T08:00:00+00:00"
    return [MemoryEntry(f"id-{key}", key, content, "core", moment, moment) for key, content in pairs]


class Home:
    """`here` is what the store has, `there` what the snapshot has."""

    here = (
        *SAME,
        ("food_allergy", "Allergic to peanuts and shellfish."),
        ("recipe", RECIPE.replace("an egg", "two eggs\n- nori")),
        ("phone", "Bought a new phone in November"),
        ("rule", "first\n---\nsecond"),
    )
    there = (
        *SAME,
        ("food_allergy", "Allergic to peanuts."),
        ("recipe", RECIPE),
        ("old_car", "Drives an old car"),
        ("pet", "Has a cat called Momo"),
    )

    def __init__(self, folder: Path) -> None:
        self.config_dir = folder / ".zeroclaw"
        self.root = self.config_dir / "workspace"
        self.snapshot = self.root / NAME
        self.side_car = self.root / SIDE_CAR
        self.clock = Clock(datetime(2026, 11, 22, 9, 0, tzinfo=UTC))
        database = self.root / "memory" / "brain.db"
        self.config = MemoryConfig(
            Install(self.config_dir, self.root, database, "workspace", "the default place", self.config_dir / "own")
        )
        self.library: Library | None = None

    async def opened(self, generation: str = "G1", **more: Any) -> Library:
        """The store with what is here."""
        self.config.database.parent.mkdir(parents=True, exist_ok=True)
        rows = [{"key": key, "content": content} for key, content in self.here]
        small_store.make(self.config.database, generation, [*rows, {"key": "chat", "category": "daily"}])
        self.library = await open_library(self.config)
        self.library.trash = Trash(self.config.install, self.library.trash.store, self.clock)
        return self.library

    def write_snapshot(self) -> None:
        """As ZeroClaw wrote it, of what is there."""
        self.root.mkdir(parents=True, exist_ok=True)
        self.snapshot.write_text(snapshot_text(entries(self.there), EXPORTED), encoding="utf-8")

    def app(self) -> ScreenApp:
        """The screen on the store, which is opened before it."""
        return ScreenApp(lambda: SnapshotScreen(self._library, self.clock, Pace(patience=0.01)), self._before)

    async def keys(self) -> set[str]:
        """The keys the store has now."""
        return {entry.key for entry in await self._library.memory.list(None)}

    async def content(self, key: str) -> str:
        """What the store has of a key."""
        entry = await self._library.memory.get(key)
        assert entry is not None
        return entry.content

    async def close(self) -> None:
        if self.library is not None:
            await self.library.close()

    async def _before(self) -> None:
        if self.library is None:
            await self.opened()

    @property
    def _library(self) -> Library:
        assert self.library is not None
        return self.library
