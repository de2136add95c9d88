"""A kitchen's worth of memories with vectors whose cosine is written down, and the what-if screen on them."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from support.small_store import blob, make
from textual.app import App
from textual.pilot import Pilot

from zeroclaw_tui.config.install import OpenOptions
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.curation.opening import configs_for
from zeroclaw_tui.curation.trash.trash import Trash
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.tui.loader import Pace
from zeroclaw_tui.tui.screens.what_if import WhatIfScreen
from zeroclaw_tui.tui.themes import ZEROCLAW_DARK, ZEROCLAW_LIGHT

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
WIDE = (140, 40)
NARROW = (80, 24)
MESSAGE = "what does she like to eat?"
BROWSER_SHEET = Path(__file__).parents[2] / "zeroclaw_tui" / "tui" / "screens" / "browser.tcss"
CONFIG = """# the kitchen's agent
default_temperature = 0.7

[memory]
backend = "sqlite"   # one file is enough
auto_save = true
# found by trying
min_relevance_score = 0.4
"""
ROWS = (
    ("food_allergy", "Allergic to peanuts, careful with satay and mole.", "core", 0.91, "telegram_12345", 262),
    ("fav_food", "She does like ramen and rust coloured plates to eat from.", "core", 0.69, None, 262),
    ("lunch_2026_03", "Ordered sushi twice this week.", "core", 0.50, "telegram_12345", 250),
    ("market", "The farmers' market opens at eight.", "core", 0.44, None, 80),
    ("cutlery", "Bought chopsticks: she would like to eat with these.", "core", None, None, 12),
    ("wok", "She wants a wok as well.", "core", 0.30, "cli", 5),
    ("tz", "Timezone is EST, but she travels in spring.", "core", 0.12, None, 200),
    ("soup", "Made soup with what was left.", "daily", 0.72, "telegram_12345", 3),
    ("assistant_resp_9f", "You could eat ramen again, she does like it.", "conversation", 0.45, "cli", 1),
)
HOSTILE = (
    ("[/foo] [@click=app.bell()]x[/]", "[bold]eat[/] [link=http://x]y[/] [", "core", 0.95, "[/session]", 1),
    ("esc \x1b]0;t\x07\x9b2J", "eat \x1b[31mred\x1b]52;c;aGk=\x1b\\ after\x9b2J\r\x08\x00 end", "core", 0.9, None, 1),
    ("bidi \u202egnp", "eat \u202e\u2066drow\u2069 \u200bend", "core", 0.8, "\x1b[2Jcli\u202e", 1),
    ("k" * 300, "eat " + "w" * 3000, "core", 0.7, None, 1),
    ("宽字符" * 40, "eat 全角文字也要对齐" * 40, "core", 0.6, None, 1),
    ("", "eat\n\n\tlines\r\nand tabs", "core", 0.3, None, 1),
)


class SampleEmbedder:
    """The vector every cosine here is measured from."""

    name = "sample"
    dimensions = 2
    is_remote = False

    async def embed(self, text: str) -> np.ndarray:
        return np.array([1.0, 0.0], dtype=np.float32)

    async def close(self) -> None:
        pass


def stored(rows: Iterable[Sequence[Any]], *, with_vectors: bool = True) -> list[dict[str, Any]]:
    """Rows for a database: key, content, category, cosine to any message, session, days of age."""
    found = []
    for at, (key, content, category, cosine, session, days) in enumerate(rows):
        moment = (NOW - timedelta(days=days)).isoformat()
        row = {"id": f"id-{at:04d}", "key": key, "content": content, "category": category, "session_id": session}
        row |= {"created_at": moment, "updated_at": moment}
        if cosine is not None and with_vectors:
            row["embedding"] = blob(cosine, math.sqrt(1 - cosine**2))
        found.append(row)
    return found


class Kitchen:
    """A config dir on disk of the generation up to 0.7.5, with a database and comments in its config.toml."""

    def __init__(
        self,
        folder: Path,
        *,
        rows: Iterable[Sequence[Any]] = ROWS,
        vectors: bool = True,
        config: str = CONFIG,
        generation: str = "G2",
        profile: str = "0.7.5",
    ) -> None:
        self.config_dir = folder / "zc"
        self.database = self.config_dir / "workspace" / "memory" / "brain.db"
        self.database.parent.mkdir(parents=True)
        make(self.database, generation, stored(rows, with_vectors=vectors))
        self.config_file = self.config_dir / "config.toml"
        self.config_file.write_text(config)
        self.has_vectors = vectors
        self.profile = profile

    async def open(self, **options: Any) -> Library:
        """The library, with an embedder where there are vectors."""
        given = OpenOptions(config_dir=self.config_dir, profile=self.profile, **options)
        config = configs_for(given, {"HOME": str(self.config_dir.parent)})[0]
        library = await open_library(config, given.profile)
        library.trash = Trash(config.install, library.trash.store, lambda: NOW)
        if self.has_vectors:
            library.embedder, library.no_embedder_because = SampleEmbedder(), None
        return library


class WhatIfApp(App[None]):
    """The what-if screen over an empty one, and what it gave back."""

    CSS_PATH = BROWSER_SHEET

    def __init__(self, kitchen: Kitchen, query: str = MESSAGE, *, poll: float | None = None, **options: Any) -> None:
        super().__init__()
        self.kitchen = kitchen
        self.given: list[bool | None] = []
        self.library: Library | None = None
        self._query = query
        self._poll = poll
        self._options = options
        self.register_theme(ZEROCLAW_DARK)
        self.register_theme(ZEROCLAW_LIGHT)
        self.theme = ZEROCLAW_DARK.name

    async def on_mount(self) -> None:
        self.library = await self.kitchen.open(**self._options)
        request = RecallRequest(self._query)
        pace = Pace(debounce=0.0, poll=self._poll, patience=30)
        await self.push_screen(WhatIfScreen(self.library, request, lambda: NOW, pace), self.given.append)

    async def on_unmount(self) -> None:
        if self.library is not None:
            await self.library.close()

    @property
    def what_if(self) -> WhatIfScreen:
        """The screen, dialogs over it or not."""
        return next(screen for screen in self.screen_stack if isinstance(screen, WhatIfScreen))


async def until(pilot: Pilot[Any], condition: Callable[[], object]) -> None:
    """Let the app run until something holds."""
    async with asyncio.timeout(20):
        while not condition():
            await pilot.pause()
    await pilot.pause()


def screen_text(app: App[Any]) -> str:
    """Every line on the screen, as a person reads it."""
    strips = app.screen._compositor.render_strips(app.size)
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


def screen_words(app: App[Any]) -> str:
    """The same with one space between words, and without the bar beside a row or a toast."""
    return " ".join(screen_text(app).replace("▌", " ").split())


def line_with(app: App[Any], words: str) -> str:
    """The first line of the screen that has these words, with one space between words."""
    lines = [" ".join(line.replace("▌", " ").split()) for line in screen_text(app).split("\n")]
    return next(line for line in lines if words in line)


def told(app: App[Any]) -> str:
    """Every toast so far, as one text."""
    return " ".join(f"{note.title} {note.message}" for note in app._notifications)
