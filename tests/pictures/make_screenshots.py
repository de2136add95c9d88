"""Draw `screenshots/` from the demo, at a fixed moment, by the program itself.

python tests/pictures/make_screenshots.py [FOLDER]
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest
from textual.events import Paste

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation.demo import make_demo
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.view import Pace

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import wizard_pictures
from support.settling import settled, still_terminal

MOMENT = datetime(2026, 11, 20, 18, 30, tzinfo=UTC)
WIDE, README = (140, 40), (140, 34)
_DISK = shutil._ntuple_diskusage(256 << 30, 192 << 30, 64 << 30)
TYPED = "=what is her cat called?"
"""What begins with "=" comes as one text: letter by letter each would be searched for."""
SHOTS: dict[str, tuple[tuple[int, int], Sequence[str]]] = {
    "recall": (README, ("/", TYPED, "enter")),
    "explain": (README, ("/", TYPED, "enter", "j", "j", "x")),
    "clean-up": (WIDE, ("3", "right", "right", "right")),
    "hygiene": (WIDE, ("3", "H")),
    "stores": (WIDE, ("6", "j")),
    "live": (README, ("5", "k")),
}


async def picture(shot: str, config_dir: Path) -> str:
    """One screen as SVG, after its keys and once nothing is under way any more."""
    size, keys = SHOTS[shot]
    ticks = count()
    pace = Pace(debounce=0.0, poll=None, stopwatch=lambda: next(ticks) * 0.012)
    app = InspectorApp(OpenOptions(config_dir=config_dir), clock=lambda: MOMENT, pace=pace)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        for key in keys:
            if key.startswith("="):
                app.post_message(Paste(key[1:]))
            else:
                await pilot.press(key)
            await settled(pilot)
        return app.export_screenshot(title="zeroclaw-tui")


def draw(folder: Path) -> None:
    """Write every picture."""
    still_terminal(pytest.MonkeyPatch())
    # How full this machine's disk is belongs on no picture.
    shutil.disk_usage = lambda path: _DISK  # type: ignore[assignment]
    # Nor is which databases its environment names.
    for name in [name for name in os.environ if name.startswith("ZEROCLAW_") or name == "DATABASE_URL"]:
        del os.environ[name]
    # Only our own zeroclaw is on the PATH: its version is assumed, and a command has its bare name, on every machine.
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    os.environ.update(TZ="UTC", NO_MOTION="1", PATH=path, TERM="xterm-256color", COLORTERM="truecolor")
    os.environ.pop("COLORFGBG", None)
    folder.mkdir(parents=True, exist_ok=True)
    # The path is part of the picture, so the sample install always is at the same one.
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        os.environ["HOME"] = str(home)
        config_dir = make_demo(home / "sample" / ".zeroclaw", MOMENT)
        for shot in SHOTS:
            svg = asyncio.run(picture(shot, config_dir))
            (folder / f"{shot}.svg").write_text(svg, encoding="utf-8")
    for name, svg in wizard_pictures.pictures():
        (folder / f"{name}.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2] / "screenshots")
