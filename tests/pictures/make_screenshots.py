"""Draw `screenshots/`: the inspector on the demo at a fixed time, and the wizard in a pseudo-terminal.

python tests/pictures/make_screenshots.py [FOLDER]
"""

from __future__ import annotations

import asyncio
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pyte
import pytest
from rich.console import Console
from rich.style import Style
from rich.text import Text

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation.demo import make_demo
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.view import Pace

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support import small_store
from support.inspector import running
from support.settling import still_terminal
from support.terminal import Terminal

MOMENT = datetime(2026, 11, 20, 18, 30, tzinfo=UTC)
SCRIPTS = Path(sys.executable).parent
WIDE, README = (140, 40), (140, 34)
_DISK = shutil._ntuple_diskusage(256 << 30, 192 << 30, 64 << 30)
TYPED = "=what is her cat called?"
SHOTS: dict[str, tuple[tuple[int, int], Sequence[str]]] = {
    "recall": (README, ("slash", TYPED, "enter")),
    "explain": (README, ("slash", TYPED, "enter", "j", "j", "x")),
    "clean-up": (WIDE, ("3", "right", "right", "right")),
    "hygiene": (WIDE, ("3", "H")),
    "stores": (WIDE, ("6", "j")),
    "live": (README, ("5", "k")),
}
"""The size and keys of each picture of the inspector, as for `support.settling.press`."""
CONFIG = """\
# The kitchen assistant. Months of work, please keep it.
default_temperature = 0.7
api_key = "sk-or-v1-0123456789abcdef0123456789abcdef"   # the chat provider's

[memory]            # what it remembers
backend   = "sqlite"
auto_save = true
hygiene_enabled = true
archive_after_days = 7
purge_after_days = 30
conversation_retention_days = 90   # so that a season can be compared with the last

# ------------------------- who may talk to it -------------------------
[channels_config.telegram]
bot_token = "123456:not-a-real-one"
allowed_users = ["ann"]
"""
REVIEW = (
    ("❯ Basics", "enter"),
    ("❯ SQLite", "down", "down", "enter"),
    ("ctrl+b back\n ❯", "postgres://zeroclaw:swordfish@db.home:5432/zeroclaw", "enter"),
    ("Cancel without saving\n   ← back",),
)
"""The steps to the review of the wizard: a text to wait for on the screen, then the keys to press.

The text is the last one drawn, since keys typed earlier would be echoed by the terminal itself.
"""


async def picture(shot: str, config_dir: Path) -> str:
    """Return a screen of the inspector as SVG, after its keys and once it is idle."""
    size, keys = SHOTS[shot]
    ticks = count()
    pace = Pace(debounce=0.0, poll=None, stopwatch=lambda: next(ticks) * 0.012)
    app = InspectorApp(OpenOptions(config_dir=config_dir), clock=lambda: MOMENT, pace=pace)
    async with running(app, size) as screen:
        for key in keys:
            await screen.press(key)
        return app.export_screenshot(title="zeroclaw-tui")


def wizard_review(home: Path) -> str:
    """Return the review of the wizard as SVG; no probe is run, since its finding depends on the machine."""
    config_dir = home / ".zeroclaw"
    database = config_dir / "workspace" / "memory" / "brain.db"
    database.parent.mkdir(parents=True)
    (config_dir / "config.toml").write_text(CONFIG, encoding="utf-8")
    (config_dir / ".secret_key").write_text("00" * 32, encoding="ascii")
    small_store.make(database, "G2", [{"content": f"memory {at}"} for at in range(431)])
    command = [str(SCRIPTS / "zeroclaw"), "onboard", "--interactive", "--no-test"]
    with Terminal(command, columns=100, lines=54, env={**os.environ, "LANG": "C.UTF-8"}) as terminal:
        for text, *keys in REVIEW:
            terminal.wait_for(text)
            terminal.press(*keys)
        cells = terminal.cells
    console = Console(record=True, width=100, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for line in cells:
        console.print(Text.assemble(*((cell.data, _style(cell)) for cell in line), no_wrap=True))
    return console.export_svg(title="zeroclaw onboard --interactive")


def _style(cell: pyte.screens.Char) -> Style:
    def colour(name: str) -> str | None:
        is_hex = len(name) == 6 and all(letter in "0123456789abcdef" for letter in name)
        return None if name == "default" else f"#{name}" if is_hex else name

    return Style(color=colour(cell.fg), bgcolor=colour(cell.bg), bold=cell.bold, reverse=cell.reverse)


def draw(folder: Path) -> None:
    """Write every picture."""
    still_terminal(pytest.MonkeyPatch())
    # No picture may show the disk usage of this machine.
    shutil.disk_usage = lambda path: _DISK  # type: ignore[assignment]
    # Nor the databases named in its environment.
    for name in [name for name in os.environ if name.startswith("ZEROCLAW_") or name == "DATABASE_URL"]:
        del os.environ[name]
    # Only our own zeroclaw is on the PATH, so that every machine assumes the same version and shows bare command names.
    path = f"{SCRIPTS}:/usr/bin:/bin"
    os.environ.update(TZ="UTC", NO_MOTION="1", PATH=path, TERM="xterm-256color", COLORTERM="truecolor")
    os.environ.pop("COLORFGBG", None)
    folder.mkdir(parents=True, exist_ok=True)
    # The path is part of the picture, so the sample install always has the same path.
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        os.environ["HOME"] = str(home)
        config_dir = make_demo(home / "sample" / ".zeroclaw", MOMENT)
        drawn = {shot: asyncio.run(picture(shot, config_dir)) for shot in SHOTS}
        for shot, svg in (drawn | {"wizard-review": wizard_review(home)}).items():
            (folder / f"{shot}.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2] / "screenshots")
