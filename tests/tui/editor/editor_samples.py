"""A store whose memories can be changed, and an app that shows one screen over nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from textual.app import App, ComposeResult
from textual.screen import Screen
from textual.widgets import Static
from tui.tui_samples import SampleMemory, sample_config, sample_library, sample_memories

from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.change import Row
from zeroclaw_tui.tui.themes import ZEROCLAW_DARK, ZEROCLAW_LIGHT

G4: dict[str, str] = {}
LACKS = "This generation of ZeroClaw's schema has no {}."
MARKDOWN = {
    "agents": "These Markdown files belong to no agent.",
    "vectors": "Markdown memory has no vectors.",
    "key": "A Markdown memory is named by its place in the file.",
    "category": "The file it lies in is its category.",
    "session_id": "Markdown files keep no sessions.",
} | {name: f"Markdown files keep no {name}." for name in ("importance", "pinned", "namespace")}


def row(content: str = "Likes ramen and rust coloured plates.", **values: Any) -> Row:
    return Row(
        "00000000-0000-4000-8000-000000000002",
        {
            "id": "00000000-0000-4000-8000-000000000002",
            "key": "fav_food",
            "content": content,
            "category": "core",
            "created_at": "2026-03-02T09:14:00.000000000+00:00",
            "updated_at": "2026-03-02T09:14:00.000000000+00:00",
            "session_id": "telegram_12345",
            "namespace": "default",
            "importance": 0.5,
            "pinned": 0,
            "embedding": bytes(16),
        }
        | values,
        handle=2,
        agent="default",
    )


def library_with(why_not: Mapping[str, str], *, folder: Path = Path("/srv/zeroclaw"), **parts: Any) -> Library:
    store = SampleMemory(sample_memories(12))
    store.why_not = why_not
    config = sample_config(folder, agents={"default": (), "researcher": ("default",)})
    return sample_library(store, config, **parts)


class ScreenApp(App[None]):
    """Shows one screen, or runs one coroutine; `result` is what came of it, `suspended` how often it gave way."""

    def __init__(
        self,
        screen: Callable[[], Screen[Any]] | None = None,
        work: Callable[[App[Any]], Coroutine[Any, Any, Any]] | None = None,
    ) -> None:
        super().__init__()
        self._screen_maker = screen
        self._work = work
        self.results: list[Any] = []
        self.suspended = 0
        self.register_theme(ZEROCLAW_DARK)
        self.register_theme(ZEROCLAW_LIGHT)
        self.theme = ZEROCLAW_DARK.name

    def compose(self) -> ComposeResult:
        yield Static("the browser behind")

    def on_ready(self) -> None:
        if self._screen_maker is not None:
            self.push_screen(self._screen_maker(), self.take)
        if self._work is not None:
            self.run_worker(self._run(self._work), group="test")

    def take(self, result: Any) -> None:
        self.results.append(result)

    @contextmanager
    def suspend(self) -> Iterator[None]:
        self.suspended += 1
        yield

    async def _run(self, work: Callable[[App[Any]], Coroutine[Any, Any, Any]]) -> None:
        self.results.append(await work(self))


def editor_program(folder: Path, body: str) -> str:
    """A program as EDITOR names it: Python that has `path` and what it holds in `before`; gives the command."""
    script = folder / "editor program.py"
    script.write_text(
        "import os, sys\nfrom pathlib import Path\npath = Path(sys.argv[-1])\nbefore = path.read_bytes()\n" + body
    )
    return f"{sys.executable} '{script}' --wait"
