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
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from textual.events import Paste

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation.changes import edit_memory, plan_purge, remove_memories
from zeroclaw_tui.curation.demo import make_demo
from zeroclaw_tui.curation.library import open_library
from zeroclaw_tui.curation.store_choice import configs_for
from zeroclaw_tui.curation.trash.trash import Trash
from zeroclaw_tui.memory.change import Edit
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.loader import Pace

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import wizard_pictures
from support.settling import settled, still_terminal

MOMENT = datetime(2026, 11, 20, 18, 30, tzinfo=UTC)
WIDE, NARROW, README = (140, 40), (80, 24), (140, 34)
_DISK = shutil._ntuple_diskusage(256 << 30, 192 << 30, 64 << 30)
TYPED = "=what is her cat called?"
"""What begins with "=" comes as one text: letter by letter each would be searched for."""
SHOTS: dict[str, tuple[tuple[int, int], Sequence[str]]] = {
    "recall": (README, ("/", TYPED, "enter")),
    "recall-80x24": (NARROW, ("/", TYPED, "enter")),
    "browse": (WIDE, ("j", "j", "j")),
    "browse-80x24": (NARROW, ("j", "j", "j")),
    "reader": (WIDE, ("j", "enter")),
    "explain": (README, ("/", TYPED, "enter", "j", "j", "x")),
    "what-if": (WIDE, ("/", TYPED, "enter", "w", "down", "down", "left", "left", "left")),
    "prompt": (WIDE, ("/", TYPED, "enter", "P")),
    "keys": (WIDE, ("question_mark",)),
    "palette": (WIDE, ("colon",)),
    "no-install-80x24": (NARROW, ()),
    "purge": (WIDE, ("/", "ctrl+f", "=murmur", "enter", "*", "d")),
    "editor": (WIDE, ("j", "e")),
    "clean-up": (WIDE, ("A", "j", "j", "j")),
    "clean-up-80x24": (NARROW, ("A",)),
    "hygiene": (WIDE, ("H",)),
    "health": (WIDE, ("D",)),
    "numbers": (WIDE, ("I",)),
    "snapshot": (WIDE, ("S",)),
    "stores": (WIDE, ("b", "j")),
    "live": (README, ("t", "k")),
    "live-80x24": (NARROW, ("t",)),
}
AFTER_CHANGES: dict[str, tuple[tuple[int, int], Sequence[str]]] = {
    "changes": (WIDE, ("T", "j")),
    "changes-80x24": (NARROW, ("T", "enter")),
}
"""Drawn once some memories were edited and deleted."""
PURGED = MemoryFilter(category=("daily",), contains="murmur")
EDITED = "tomas_baby"
NEW_TEXT = "Tomás and Rita expect a girl in February. No owl recordings at full volume near the nursery."


async def picture(shot: str, config_dir: Path) -> str:
    """One screen as SVG, after its keys and once nothing is under way any more."""
    size, keys = (SHOTS | AFTER_CHANGES)[shot]
    options = OpenOptions() if shot.startswith("no-install") else OpenOptions(config_dir=config_dir)
    ticks = count()
    pace = Pace(debounce=0.0, poll=None, stopwatch=lambda: next(ticks) * 0.012)
    app = InspectorApp(options, clock=lambda: MOMENT, pace=pace)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        for key in keys:
            if key.startswith("="):
                app.post_message(Paste(key[1:]))
            else:
                await pilot.press(key)
            await settled(pilot)
        return app.export_screenshot(title="zeroclaw-tui")


async def change(config_dir: Path) -> None:
    """Edit one memory and delete a few, some time before the moment of the pictures."""
    library = await open_library(configs_for(OpenOptions(config_dir=config_dir))[0])
    times = (MOMENT - timedelta(hours=26 - 5 * at) for at in count())
    library.trash = Trash(library.config.install, library.trash.store, lambda: next(times))
    try:
        for entry in await library.memory.with_key(EDITED):
            row = await library.memory.stored(entry.id)
            if row is not None:
                await edit_memory(library, entry.id, Edit({"content": NEW_TEXT}), row.fingerprint)
        await remove_memories(library, await plan_purge(library, PURGED), "purge")
    finally:
        await library.close()


def draw(folder: Path) -> None:
    """Write every picture."""
    still_terminal(pytest.MonkeyPatch())
    # How full this machine's disk is belongs on no picture.
    shutil.disk_usage = lambda path: _DISK  # type: ignore[assignment]
    # No zeroclaw on the PATH, so the version is assumed everywhere alike.
    # Nor which databases its environment names.
    for name in [name for name in os.environ if name.startswith("ZEROCLAW_") or name == "DATABASE_URL"]:
        del os.environ[name]
    os.environ.update(TZ="UTC", NO_MOTION="1", PATH="/usr/bin:/bin", TERM="xterm-256color", COLORTERM="truecolor")
    os.environ.pop("COLORFGBG", None)
    folder.mkdir(parents=True, exist_ok=True)
    # The path is part of the picture, so the sample install always lies at the same one.
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        os.environ["HOME"] = str(home)
        config_dir = make_demo(home / "sample" / ".zeroclaw", MOMENT)
        for shots in (SHOTS, AFTER_CHANGES):
            if shots is AFTER_CHANGES:
                asyncio.run(change(config_dir))
            for shot in shots:
                svg = asyncio.run(picture(shot, config_dir))
                (folder / f"{shot}.svg").write_text(svg, encoding="utf-8")
    for name, svg in wizard_pictures.pictures():
        (folder / f"{name}.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2] / "screenshots")
