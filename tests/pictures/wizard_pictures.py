"""Pictures of the wizard: the real program in a pseudo-terminal, its screen as SVG."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyte
from rich.console import Console
from rich.style import Style
from rich.text import Text
from support import small_store
from support.terminal import Terminal

URL = "postgres://zeroclaw:swordfish@db.home:5432/zeroclaw"
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
SHOTS: dict[str, tuple[tuple[int, int], Sequence[Sequence[str]]]] = {
    "wizard-review": (
        (100, 54),
        (
            ("❯ Basics", "enter"),
            ("❯ SQLite", "down", "down", "enter"),
            ("ctrl+b back\n ❯", URL, "enter"),
            ("Cancel without saving\n   ← back",),
        ),
    )
}
"""For each picture its size and steps: what must be on the screen, then the keys to press.

The last that is drawn is waited for: what is typed before, the terminal itself would show as well.
"""


def pictures() -> Iterator[tuple[str, str]]:
    """Each picture's name and SVG."""
    for name, (size, steps) in SHOTS.items():
        with _sample_home() as home:
            yield name, _picture(home, size, steps)


@contextmanager
def _sample_home() -> Iterator[Path]:
    """A home with one install; its place is part of no picture."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        config_dir = home / ".zeroclaw"
        config_dir.mkdir()
        (config_dir / "config.toml").write_text(CONFIG, encoding="utf-8")
        (config_dir / ".secret_key").write_text("00" * 32, encoding="ascii")
        database = config_dir / "workspace" / "memory" / "brain.db"
        database.parent.mkdir(parents=True)
        small_store.make(database, "G2", [{"content": f"memory {at}"} for at in range(431)])
        yield home


def _picture(home: Path, size: tuple[int, int], steps: Sequence[Sequence[str]]) -> str:
    # With our scripts on PATH a command is its bare name, on every machine.
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    environment = {"HOME": str(home), "PATH": path, "TZ": "UTC", "LANG": "C.UTF-8", "NO_MOTION": "1"}
    columns, lines = size
    with Terminal(_command(), columns=columns, lines=lines, env=environment) as terminal:
        for text, *keys in steps:
            terminal.wait_for(text)
            terminal.press(*keys)
        return _drawn(terminal.cells, columns)


def _command() -> list[str]:
    script = shutil.which("zeroclaw", path=str(Path(sys.executable).parent))
    assert script is not None, "the package is not installed beside this Python"
    # What a probe finds changes with the disk and the time, and a picture must not.
    return [script, "onboard", "--interactive", "--no-test"]


def _drawn(screen: Sequence[Sequence[pyte.screens.Char]], columns: int) -> str:
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=columns, file=nowhere, force_terminal=True, color_system="truecolor")
        for cells in screen:
            line = Text(no_wrap=True, end="\n")
            for cell in cells:
                line.append(cell.data, _style(cell))
            console.print(line)
        return console.export_svg(title="zeroclaw onboard --interactive")


def _style(cell: pyte.screens.Char) -> Style:
    def colour(name: str) -> str | None:
        is_hex = len(name) == 6 and all(letter in "0123456789abcdef" for letter in name)
        return None if name == "default" else f"#{name}" if is_hex else name

    return Style(color=colour(cell.fg), bgcolor=colour(cell.bg), bold=cell.bold, reverse=cell.reverse)
