"""Count our files that run between a letter typed into the search bar and the painted list.

    python tests/bench/one_letter.py [--rows 1000] [--functions]

The inspector shows a SQLite store with vectors, recalls as the agent does, and has answered one letter before, so
that nothing is imported during the measurement. Every thread is traced, except the poll for writes of other
programs, which no letter starts. The list counts as painted when its drawing is sent to the terminal. The limit is
18 files.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import threading
from collections import defaultdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.big_store import CONFIG, WORDS, make_store
from support.settling import settled
from textual.pilot import Pilot

import zeroclaw_tui
from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.view import Pace

BAR = 18
DIMENSIONS = 64
SECONDS = 60.0
PACKAGE = str(Path(zeroclaw_tui.__file__).parent) + "/"


class Watch:
    """Records our functions called between a letter and the painted results, in every thread started after it."""

    def __init__(self) -> None:
        self.called: dict[str, dict[str, None]] = defaultdict(dict)
        self.is_painted = True
        self._is_drawn = False
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def start(self) -> None:
        """Clear the recorded calls and start recording."""
        self.called.clear()
        self.is_painted = self._is_drawn = False

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        if self.is_painted or event != "call":
            return
        code = frame.f_code
        if code.co_filename.startswith(PACKAGE):
            if code.co_name != "<module>":
                self.called[code.co_filename.removeprefix(PACKAGE)][code.co_qualname] = None
            self._is_drawn |= code.co_qualname == "MemoryList._texts" and "MemoryList.show_results" in self._seen
        elif self._is_drawn and code.co_qualname == "App._display":
            self.is_painted = True

    @property
    def _seen(self) -> dict[str, None]:
        return self.called["tui/widgets/memory_list.py"]


async def painted(pilot: Pilot[Any], watch: Watch, key: str) -> None:
    """Type a letter and let the app run until its results are painted."""
    watch.start()
    await pilot.press(key)
    async with asyncio.timeout(SECONDS):
        while not watch.is_painted:
            await pilot.pause(0.01)


async def files_of_one_letter(folder: Path, rows: int) -> dict[str, list[str]]:
    """Return the functions called from the second letter to its painted results, by file."""
    install = folder / "zeroclaw"
    (install / "data" / "memory").mkdir(parents=True)
    (install / "config.toml").write_text(CONFIG.format(DIMENSIONS), encoding="utf-8")
    make_store(install / "data" / "memory" / "brain.db", rows, DIMENSIONS)
    watch = Watch()
    word = WORDS[0]
    async with InspectorApp(
        OpenOptions(config_dir=install), clock=partial(datetime.now, UTC), pace=Pace(poll=None)
    ).run_test(size=(140, 40)) as pilot:
        await settled(pilot)
        await pilot.press("slash")
        await settled(pilot)
        await painted(pilot, watch, word[0])
        await settled(pilot)
        await painted(pilot, watch, word[1])
    return {name: list(functions) for name, functions in sorted(watch.called.items())}


def main() -> None:
    """Print the files by package, and their number."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=1000)
    options.add_argument("--functions", action="store_true", help="name what is called in each file")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        called = asyncio.run(files_of_one_letter(Path(folder), given.rows))
    for name, functions in called.items():
        print(f"{name:40} {len(functions):3}  {', '.join(functions) if given.functions else ''}".rstrip())
    print(f"{len(called)} files (bar {BAR})")
    sys.exit(len(called) > BAR)


if __name__ == "__main__":
    main()
