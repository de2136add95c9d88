"""A real terminal for the tests: a program in a pty, its screen as a person sees it, its bytes as they came."""

from __future__ import annotations

import os
import signal
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

import pexpect
import pyte
from pexpect.fdpexpect import fdspawn

from support.warm_start import SCRIPTS, Forked, is_warm

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
_PAUSE = 0.05
# Synchronized output, mode 2026: what a program asks, what a terminal that knows it answers, and a frame's two ends.
_SYNC_QUESTION, _SYNC_ANSWER = b"\x1b[?2026$p", "\x1b[?2026;2$y"
_FRAME_START, _FRAME_END = b"\x1b[?2026h", b"\x1b[?2026l"


class _Fork(fdspawn):
    """One of our programs, forked from a server that has imported it: what `Terminal` asks of pexpect's children."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str], size: tuple[int, int]) -> None:
        ours, theirs = os.openpty()
        self.exitstatus: int | None = None
        self.signalstatus: int | None = None
        super().__init__(ours, timeout=PATIENCE, use_poll=True)
        self.setwinsize(*size)
        self._forked = Forked(argv, environment, [theirs] * 3, in_terminal=True)

    def send(self, text: str) -> int:
        """Type, with a pause before it as pexpect's own children have."""
        time.sleep(_PAUSE)
        return int(super().send(text))

    def setwinsize(self, rows: int, columns: int) -> None:
        """The terminal's size, of which the program is informed."""
        termios.tcsetwinsize(self.child_fd, (rows, columns))

    def isalive(self) -> bool:
        """Whether the program has not ended."""
        if self.exitstatus is None and self.signalstatus is None and self._forked.has_ended():
            code = self._forked.exit_code(PATIENCE)
            self.exitstatus, self.signalstatus = (code, None) if code >= 0 else (None, -code)
        return self.exitstatus is None and self.signalstatus is None

    def kill(self, number: int) -> None:
        """Send the program a signal."""
        self._forked.kill(number)

    def close(self, force: bool = True) -> None:
        """Hang up, and end the program where it still runs."""
        if not self.closed:
            super().close()
            if self.isalive():
                self._forked.kill(signal.SIGKILL)
                self._forked.exit_code(PATIENCE)


def _forked(argv: Sequence[str], environment: Mapping[str, str], size: tuple[int, int]) -> _Fork | None:
    """One of our programs, unless it is none or there are servers enough."""
    if list(argv[:3]) == [sys.executable, "-m", "zeroclaw_tui"]:
        argv = [str(SCRIPTS / "zeroclaw-tui"), *argv[3:]]
    program = Path(argv[0])
    if program.parent != SCRIPTS or not is_warm(program.name, environment):
        return None
    return _Fork(argv, environment, size)


class Terminal:
    """A program running in a pseudo-terminal of `columns` x `lines` cells.

    Our own programs are forked from one that has imported what they need, but for a `fresh` start, as a person's is.
    `variables` go before what a terminal of today says of itself, such as TERM.
    Waiting always means waiting for something on the screen; a screen that never shows it fails with its picture.
    As today's terminals do, it takes a frame that the program marks as one at once: no half of one is ever seen.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        columns: int = 80,
        lines: int = 24,
        env: dict[str, str] | None = None,
        variables: Mapping[str, str] | None = None,
        fresh: bool = False,
    ) -> None:
        environment = {**(os.environ if env is None else env), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        for name in ("NO_COLOR", "COLUMNS", "LINES"):
            environment.pop(name, None)
        environment.update(variables or {})
        size = (lines, columns)
        forked = None if fresh else _forked(argv, environment, size)
        self._child = forked or pexpect.spawn(
            argv[0], list(argv[1:]), dimensions=size, env=environment, timeout=PATIENCE, use_poll=True
        )
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self._unshown = b""
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
        """Give the window another size, of which the program is informed."""
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
        """Read until every text is on the screen."""
        self.wait_until(lambda: all(text in self.text for text in texts), repr(texts))

    def wait_until_absent(self, text: str) -> None:
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
        if _SYNC_QUESTION in data:
            self._child.send(_SYNC_ANSWER)
        self.raw += data
        unshown = self._unshown + data
        start = unshown.rfind(_FRAME_START)
        shown = len(unshown) if start < 0 or _FRAME_END in unshown[start:] else start
        self._stream.feed(unshown[:shown])
        self._unshown = unshown[shown:]
