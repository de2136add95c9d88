"""A polluted store of ZeroClaw's own shape, and an app that shows its audit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from support.settling import settled
from support.small_store import make
from textual.app import App
from textual.pilot import Pilot
from zeroclaw_tui.tui.screens.audit import AuditScreen

from zeroclaw_tui.config.install import OpenOptions
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.curation.opening import configs_for
from zeroclaw_tui.tui.loader import Pace
from zeroclaw_tui.tui.themes import ZEROCLAW_DARK

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
WIDE = (140, 40)
NARROW = (80, 24)
BROWSER_SHEET = Path(__file__).parents[2] / "zeroclaw_tui" / "tui" / "screens" / "browser.tcss"
SECRET = "sk-proj-9fK2mQ7xT4bV1nC8zR5wY3aL6dJ0"
Row = dict[str, Any]


def polluted_rows() -> list[Row]:
    """Fourteen replies, one thing said three times, another twice, a secret, and two that are clean."""
    rows: list[Row] = [
        {"key": f"assistant_resp_{at:02d}", "content": f"Here are some ideas about topic number {at} " + "word " * at,
         "category": "conversation"}
        for at in range(14)
    ]  # fmt: skip
    rows += [
        {"key": f"food_{at}", "content": "She likes ramen and rust coloured plates to eat from.", "category": category}
        for at, category in enumerate(("core", "daily", "notes"))
    ]
    rows += [{"key": f"tz_{at}", "content": "Her time zone is that of New York, all year."} for at in range(2)]
    rows += [
        {"key": "provider", "content": f"The key of the provider is {SECRET}, kept since March."},
        {"key": "cutlery", "content": "Bought new chopsticks and a wok for the kitchen in Lisbon."},
        {"key": "market", "content": "The farmers' market opens at eight on Saturdays only.", "category": "notes"},
    ]
    return rows


def hostile_rows() -> list[Row]:
    """Keys and categories that would steer a terminal, be read as markup, or break columns."""
    names = ("[/x] [bold]y[/]", "\x1b[31mred\x1b]0;t\x07", "user \u202egnp.exe", "宽字符" * 9, "k" * 5000)
    return [
        {"key": f"{name}{at}", "content": f"[/foo] \x1b[2J 全角 \u202e says the very same thing {name[:40]}",
         "category": name}
        for name in names for at in range(2)
    ] + [{"key": "", "content": "A memory whose key is empty is never found by it again."}]  # fmt: skip


class AuditApp(App[None]):
    """The audit over an empty screen, and what it gave back."""

    CSS_PATH = BROWSER_SHEET

    def __init__(self, path: Path, rows: Sequence[Row] | None, *, read_only: bool = False) -> None:
        super().__init__()
        self.path = path / "workspace" / "memory" / "brain.db"
        self.path.parent.mkdir(parents=True)
        make(self.path, "G4", polluted_rows() if rows is None else rows)
        self.read_only = read_only
        self.given: list[Any] = []
        self.library: Library
        self.register_theme(ZEROCLAW_DARK)
        self.theme = ZEROCLAW_DARK.name

    async def on_mount(self) -> None:
        (config, *_) = configs_for(OpenOptions(path=self.path, read_only=self.read_only))
        self.library = await open_library(config)
        pace = Pace(poll=None, patience=60)
        await self.push_screen(AuditScreen(self.library, lambda: NOW, pace), self.given.append)

    async def on_unmount(self) -> None:
        await self.library.close()

    @property
    def audit(self) -> AuditScreen:
        """The screen under whatever dialog is open."""
        return next(screen for screen in self.screen_stack if isinstance(screen, AuditScreen))

    async def keys(self) -> list[str]:
        """The keys of all memories that are stored."""
        return sorted(entry.key for entry in await self.library.memory.list())


async def press(pilot: Pilot[Any], *keys: str) -> None:
    """Press keys one after the other, each once the one before is settled; what begins with "=" is typed at once."""
    for key in keys:
        await pilot.press(*(key[1:] if key.startswith("=") else [key]))
        await settled(pilot)


def run_keys(*keys: str) -> Callable[[Pilot[Any]], Any]:
    async def run(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        await press(pilot, *keys)

    return run


def screen_words(app: App[Any]) -> str:
    """Every line on the screen, with one space between words and without the bar beside a row."""
    strips = app.screen._compositor.render_strips(app.size)
    lines = "\n".join("".join(segment.text for segment in strip) for strip in strips)
    return " ".join(lines.replace("▌", " ").split())
