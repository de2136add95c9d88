"""A real terminal for the tests: a program in a pty, its screen as a person sees it, its bytes as they came."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType

import pexpect
import pyte

KEYS = {
    "enter": "\r",
    "escape": "\x1b",
    "tab": "\t",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "pagedown": "\x1b[6~",
    "ctrl+b": "\x02",
    "ctrl+c": "\x03",
    "ctrl+f": "\x06",
    "ctrl+o": "\x0f",
    "ctrl+p": "\x10",
    "ctrl+r": "\x12",
    "ctrl+u": "\x15",
}
PATIENCE = 30.0


class Terminal:
    """A program running in a pseudo-terminal of `columns` x `lines` cells.

    `variables` go before what a terminal of today says of itself, such as TERM.
    Waiting always means waiting for something on the screen; a screen that never shows it fails with its picture.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        columns: int = 80,
        lines: int = 24,
        env: dict[str, str] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        environment = {**(os.environ if env is None else env), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        for name in ("NO_COLOR", "COLUMNS", "LINES"):
            environment.pop(name, None)
        environment.update(variables or {})
        self._child = pexpect.spawn(
            argv[0],
            list(argv[1:]),
            dimensions=(lines, columns),
            env=environment,
            timeout=PATIENCE,
            use_poll=True,
        )
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self.raw = b""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.close(force=True)

    @property
    def rows(self) -> list[str]:
        """The screen, a string a line."""
        # The right half of a wide character is an empty cell.
        cells = self._screen.buffer
        return [
            "".join(cells[line][column].data for column in range(self._screen.columns)).rstrip()
            for line in range(self._screen.lines)
        ]

    @property
    def cells(self) -> list[list[pyte.screens.Char]]:
        """The screen, a list of cells a line, each with its character and colours."""
        columns = range(self._screen.columns)
        return [[self._screen.buffer[line][column] for column in columns] for line in range(self._screen.lines)]

    @property
    def text(self) -> str:
        """The whole screen as one string."""
        return "\n".join(self.rows)

    def press(self, *keys: str) -> None:
        """Send keys by name, or text as typed."""
        for key in keys:
            self._child.send(KEYS.get(key, key))

    def click(self, column: int, row: int) -> None:
        """Press and release the left mouse button on a cell, counted from 0."""
        for end in "Mm":
            self._child.send(f"\x1b[<0;{column + 1};{row + 1}{end}")

    def resize(self, columns: int, lines: int) -> None:
        """Give the window another size, which the program is told."""
        self._screen.resize(lines, columns)
        self._child.setwinsize(lines, columns)

    def wait_until(self, holds: Callable[[], bool], what: str) -> None:
        """Read until a condition on the screen holds."""
        deadline = time.monotonic() + PATIENCE
        while not holds():
            if time.monotonic() > deadline:
                raise AssertionError(f"never saw {what}; the screen was:\n{self.text}")
            self._read(0.2)

    def wait_for(self, *texts: str) -> None:
        """Read until every text stands on the screen."""
        self.wait_until(lambda: all(text in self.text for text in texts), repr(texts))

    def wait_gone(self, text: str) -> None:
        """Read until a text has left the screen."""
        self.wait_until(lambda: text not in self.text, f"{text!r} go")

    def wait_exit(self) -> int:
        """Read until the program has ended; its exit code."""
        deadline = time.monotonic() + PATIENCE
        while self._child.isalive():
            if time.monotonic() > deadline:
                raise AssertionError(f"the program never ended; the screen was:\n{self.text}")
            self._read(0.2)
        self._child.close()
        return self._child.exitstatus if self._child.exitstatus is not None else -self._child.signalstatus

    def _read(self, seconds: float) -> None:
        try:
            data = self._child.read_nonblocking(65536, timeout=seconds)
        except (pexpect.TIMEOUT, pexpect.EOF):
            return
        self.raw += data
        self._stream.feed(data)
