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
from pathlib import Path

from textual.app import App
from textual.pilot import Pilot

from zeroclaw_tui.curation.demo import make_demo
from zeroclaw_tui.curation.opening import OpenOptions
from zeroclaw_tui.tui.app import InspectorApp

MOMENT = datetime(2026, 11, 20, 18, 30, tzinfo=UTC)
WIDE, NARROW = (140, 40), (80, 24)
QUESTION = "what does she like to eat?"
SHOTS: dict[str, tuple[tuple[int, int], Sequence[str]]] = {
    "recall": (WIDE, ("/", *QUESTION, "enter")),
    "recall-80x24": (NARROW, ("/", *QUESTION, "enter")),
    "browse": (WIDE, ("j", "j", "j")),
    "browse-80x24": (NARROW, ("j", "j", "j")),
    "contains": (WIDE, ("/", "ctrl+f", *"ramen", "enter")),
    "filters": (WIDE, ("F",)),
    "keys": (WIDE, ("question_mark",)),
}


async def picture(shot: str, config_dir: Path) -> str:
    """One screen as SVG, after its keys and once nothing is under way any more."""
    size, keys = SHOTS[shot]
    app = InspectorApp(OpenOptions(config_dir=config_dir, profile="0.8.4"), clock=lambda: MOMENT)
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
    os.environ.update(TZ="UTC", NO_MOTION="1")
    folder.mkdir(parents=True, exist_ok=True)
    # The path is part of the picture, so the sample install always lies at the same one.
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        os.environ["HOME"] = str(home)
        config_dir = make_demo(home / ".zeroclaw", MOMENT)
        for shot in SHOTS:
            svg = asyncio.run(picture(shot, config_dir))
            (folder / f"{shot}.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2] / "screenshots")
