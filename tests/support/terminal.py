"""A terminal for tests: a program in a pty, its screen as a user sees it, and its raw output."""

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
# Synchronized output, mode 2026: a program's query, the answer of a terminal with support, start and end of a frame.
_SYNC_QUESTION, _SYNC_ANSWER = b"\x1b[?2026$p", "\x1b[?2026;2$y"
_FRAME_START, _FRAME_END = b"\x1b[?2026h", b"\x1b[?2026l"


class _Fork(fdspawn):
    """One of our programs, forked from a warm server, with the methods of a pexpect child that `Terminal` uses."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str], size: tuple[int, int]) -> None:
        ours, theirs = os.openpty()
        self.exitstatus: int | None = None
        self.signalstatus: int | None = None
        super().__init__(ours, timeout=PATIENCE, use_poll=True)
        self.setwinsize(*size)
        self._forked = Forked(argv, environment, [theirs] * 3, in_terminal=True)

    def send(self, text: str) -> int:
        """Type a text after a pause, as a pexpect child does."""
        time.sleep(_PAUSE)
        return int(super().send(text))

    def setwinsize(self, rows: int, columns: int) -> None:
        """Set the size of the terminal and notify the program."""
        termios.tcsetwinsize(self.child_fd, (rows, columns))

    def isalive(self) -> bool:
        """Whether the program is still running."""
        if self.exitstatus is None and self.signalstatus is None and self._forked.has_ended():
            code = self._forked.exit_code(PATIENCE)
            self.exitstatus, self.signalstatus = (code, None) if code >= 0 else (None, -code)
        return self.exitstatus is None and self.signalstatus is None

    def kill(self, number: int) -> None:
        """Send a signal to the program."""
        self._forked.kill(number)

    def close(self, force: bool = True) -> None:
        """Hang up, and end the program if it still runs."""
        if not self.closed:
            super().close()
            if self.isalive():
                self._forked.kill(signal.SIGKILL)
                self._forked.exit_code(PATIENCE)


def _forked(argv: Sequence[str], environment: Mapping[str, str], size: tuple[int, int]) -> _Fork | None:
    """Fork one of our programs; None for another program or if enough servers run already."""
    if list(argv[:3]) == [sys.executable, "-m", "zeroclaw_tui"]:
        argv = [str(SCRIPTS / "zeroclaw-tui"), *argv[3:]]
    program = Path(argv[0])
    if program.parent != SCRIPTS or not is_warm(program.name, environment):
        return None
    return _Fork(argv, environment, size)


class Terminal:
    """A program running in a pseudo-terminal of `columns` x `lines` cells.

    Our own programs are forked from a server that has imported their modules; a `fresh` start is not forked.
    `variables` override the variables that a current terminal sets, such as TERM.
    Each wait is for something on the screen; a time-out fails with the text of the screen.
    As in current terminals, a frame marked by the program (mode 2026) appears at once, never half drawn.
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
        """The screen, one string per line."""
        # The right half of a wide character is an empty cell.
        cells = self._screen.buffer
        return [
            "".join(cells[line][column].data for column in range(self._screen.columns)).rstrip()
            for line in range(self._screen.lines)
        ]

    @property
    def cells(self) -> list[list[pyte.screens.Char]]:
        """The screen, one list of cells per line, each with its character and colours."""
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
        """Resize the window and notify the program."""
        self._screen.resize(lines, columns)
        self._child.setwinsize(lines, columns)

    def wait_until(self, holds: Callable[[], bool], what: str) -> None:
        """Read until a condition on the screen is true."""
        deadline = time.monotonic() + PATIENCE
        while not holds():
            if time.monotonic() > deadline:
                raise AssertionError(f"{what} never appeared; the screen was:\n{self.text}")
            self._read(0.2)

    def wait_for(self, *texts: str) -> None:
        """Read until all texts are on the screen."""
        self.wait_until(lambda: all(text in self.text for text in texts), repr(texts))

    def wait_until_absent(self, text: str) -> None:
        """Read until a text has left the screen."""
        self.wait_until(lambda: text not in self.text, f"{text!r} go")

    def wait_exit(self) -> int:
        """Read until the program has ended; return its exit code."""
        deadline = time.monotonic() + PATIENCE
        while self._read(0.2) or self._child.isalive():
            if time.monotonic() > deadline:
                raise AssertionError(f"the program never ended; the screen was:\n{self.text}")
        self._child.close()
        return self._child.exitstatus if self._child.exitstatus is not None else -self._child.signalstatus

    def _read(self, seconds: float) -> bool:
        """Read what the program has written; return False once there can be no more."""
        try:
            data = self._child.read_nonblocking(65536, timeout=seconds)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        if _SYNC_QUESTION in data:
            self._child.send(_SYNC_ANSWER)
        self.raw += data
        unshown = self._unshown + data
        start = unshown.rfind(_FRAME_START)
        shown = len(unshown) if start < 0 or _FRAME_END in unshown[start:] else start
        self._stream.feed(unshown[:shown])
        self._unshown = unshown[shown:]
        return True
