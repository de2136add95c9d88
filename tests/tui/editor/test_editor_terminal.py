"""The editor in a real terminal: no memory steers it, and it is lent to the editor and given back whole."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from editor_samples import editor_program
from support.terminal import Terminal

SCRIPT = str(Path(__file__).with_name("editor_in_terminal.py"))
STEERING = [
    b"\x1b]0;EVIL",
    b"\x1b]52;c;RVZJ",
    b"\x1b[31mEVIL",
    "\x9b2J".encode(),
    b"\x9b2J",
    "\x9d0;".encode(),
    b"\x00",
]
HIDING = ["\u202e".encode(), "\u2066".encode(), b"\x08"]


@pytest.mark.parametrize(("kind", "size"), [("editor", (80, 24)), ("conflict", (140, 40))], ids=["editor", "conflict"])
def test_nothing_hostile_reaches_the_terminal(tmp_path: Path, kind: str, size: tuple[int, int]) -> None:
    """Moving through every field, typing, a conflict, reading both versions: no raw control character."""
    with Terminal([sys.executable, SCRIPT, kind, str(tmp_path)], columns=size[0], lines=size[1]) as screen:
        if kind == "editor":
            screen.wait_for("category", "EVIL", "ctrl+s save", "U+")
            screen.press("tab", "0.9", "\x13")
            screen.wait_for("changed while you edited it", "Keep theirs")
            screen.press("escape")
            screen.wait_until_absent("Keep theirs")
            screen.press("escape")
            screen.wait_for("Discard your changes?")
            screen.press("y")
        else:
            screen.wait_for("Keep theirs", "EVIL")
            screen.press("j", "tab", "j", "tab", "j", "escape")
        assert screen.wait_exit() == 0
    assert b"EVIL" in screen.raw
    assert [sent for sent in (*STEERING, *HIDING) if sent in screen.raw] == []


def test_the_editor_gets_the_terminal_and_the_screen_returns(tmp_path: Path) -> None:
    """The editor reads a line from the same terminal as a person types it; the screen comes back with the text."""
    program = editor_program(tmp_path, "path.write_text(input('Your turn: '))")
    arguments = [sys.executable, SCRIPT, "editor", str(tmp_path)]
    with Terminal(arguments, env={**os.environ, "VISUAL": program}) as screen:
        screen.wait_for("ctrl+s save")
        screen.press("\x05")
        screen.wait_for("Your turn:")
        screen.press("Written outside.", "enter")
        screen.wait_for("ctrl+s save", "Written outside.")
        screen.wait_until_absent("Your turn:")
        screen.press("escape")
        screen.wait_for("Discard your changes?")
        screen.press("y")
        assert screen.wait_exit() == 0


def test_ctrl_c_in_the_editor_does_not_end_the_program(tmp_path: Path) -> None:
    """Ctrl+c ends the editor, whose failure is reported; what stood in the screen is still there."""
    program = editor_program(tmp_path, "input('Your turn: ')")
    arguments = [sys.executable, SCRIPT, "editor", str(tmp_path)]
    with Terminal(arguments, env={**os.environ, "VISUAL": program}) as screen:
        screen.wait_for("ctrl+s save")
        screen.press("\x05")
        screen.wait_for("Your turn:")
        screen.press("ctrl+c")
        screen.wait_for("was ended by signal 2", "EVIL")
        screen.press("escape")
        assert screen.wait_exit() == 0
