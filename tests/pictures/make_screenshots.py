"""Draw `screenshots/` from the demo, at a fixed moment, by the program itself.

python tests/pictures/make_screenshots.py [FOLDER]
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from textual.app import App
from textual.pilot import Pilot

from zeroclaw_tui.curation.demo import make_demo
from zeroclaw_tui.curation.opening import OpenOptions
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.loader import Pace

MOMENT = datetime(2026, 11, 20, 18, 30, tzinfo=UTC)
WIDE, NARROW, README = (140, 40), (80, 24), (140, 34)
QUESTION = "what is her cat called?"
SHOTS: dict[str, tuple[tuple[int, int], Sequence[str]]] = {
    "recall": (README, ("/", *QUESTION, "enter")),
    "recall-80x24": (NARROW, ("/", *QUESTION, "enter")),
    "browse": (WIDE, ("j", "j", "j")),
    "browse-80x24": (NARROW, ("j", "j", "j")),
    "contains": (WIDE, ("/", "ctrl+f", *"ramen", "enter")),
    "filters": (WIDE, ("F",)),
    "orders": (WIDE, ("o",)),
    "profiles": (WIDE, ("p",)),
    "keys": (WIDE, ("question_mark",)),
    "palette": (WIDE, ("colon",)),
    "no-install-80x24": (NARROW, ()),
}


async def picture(shot: str, config_dir: Path) -> str:
    """One screen as SVG, after its keys and once nothing is under way any more."""
    size, keys = SHOTS[shot]
    options = OpenOptions() if shot.startswith("no-install") else OpenOptions(config_dir=config_dir)
    ticks = count()
    pace = Pace(debounce=0.0, poll=None, stopwatch=lambda: next(ticks) * 0.012)
    app = InspectorApp(options, clock=lambda: MOMENT, pace=pace)
    async with app.run_test(size=size) as pilot:
        await settle(app, pilot)
        for key in keys:
            await pilot.press(key)
            await settle(app, pilot)
        return app.export_screenshot(title="zeroclaw-tui")


async def settle(app: App[object], pilot: Pilot[object]) -> None:
    """Wait until no worker runs, twice over since one may start another."""
    for _ in range(3):
        await pilot.pause()
        if list(app.workers):
            await app.workers.wait_for_complete()
    await pilot.pause()


def draw(folder: Path) -> None:
    """Write every picture."""
    # No zeroclaw on the PATH, so the version is assumed everywhere alike.
    os.environ.update(TZ="UTC", NO_MOTION="1", PATH="/usr/bin:/bin")
    folder.mkdir(parents=True, exist_ok=True)
    # The path is part of the picture, so the sample install always lies at the same one.
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        os.environ["HOME"] = str(home)
        config_dir = make_demo(home / "sample" / ".zeroclaw", MOMENT)
        for shot in SHOTS:
            svg = asyncio.run(picture(shot, config_dir))
            (folder / f"{shot}.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2] / "screenshots")
