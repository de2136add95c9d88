"""Pictures of the wizard: the real program in a pseudo-terminal, its screen as SVG."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.style import Style
from rich.text import Text
from support.terminal import Terminal

QUESTIONS = "── 1 of "
WIDE, NARROW, TINY = (100, 34), (80, 24), (40, 30)
STEPS: dict[str, tuple[tuple[int, int], Sequence[tuple[str, ...]]]] = {
    # Each step: what must be on the screen, then the keys to press.
    "wizard-80x24": (NARROW, ((QUESTIONS,),)),
    "wizard-40x30": (TINY, ((QUESTIONS,),)),
}
"""Filled in below, once the words of the screens are known."""


def picture(argv: Sequence[str], home: Path, size: tuple[int, int], steps: Sequence[tuple[str, ...]]) -> str:
    """The last screen as SVG: for each step wait for its first text, then press the others."""
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin", "TZ": "UTC", "LANG": "C.UTF-8", "NO_MOTION": "1"}
    columns, lines = size
    with Terminal(argv, columns=columns, lines=lines, env=environment) as terminal:
        for text, *keys in steps:
            terminal.wait_for(text)
            terminal.press(*keys)
        return _drawn(terminal, columns)


def _drawn(terminal: Terminal, columns: int) -> str:
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=columns, file=nowhere, force_terminal=True, color_system="truecolor")
        for cells in terminal.cells:
            line = Text(no_wrap=True, end="\n")
            for cell in cells:
                if cell.data:
                    line.append(cell.data, _style(cell.fg, cell.bg, cell.bold, cell.reverse))
            console.print(line)
        return console.export_svg(title="zeroclaw onboard --interactive")


def _style(foreground: str, background: str, bold: bool, reverse: bool) -> Style:
    def colour(name: str) -> str | None:
        if name == "default":
            return None
        return f"#{name}" if len(name) == 6 and all(letter in "0123456789abcdef" for letter in name) else name

    return Style(color=colour(foreground), bgcolor=colour(background), bold=bold, reverse=reverse)


def wizard(*arguments: str) -> list[str]:
    """The command line of the wizard, by this Python."""
    code = "import sys; from zeroclaw_tui.cli.main import zeroclaw; sys.exit(zeroclaw())"
    return [sys.executable, "-c", code, "onboard", *arguments]
