"""Questions in a terminal: on stderr, with No as the default, and never where nobody can answer."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable

from zeroclaw_tui.cli.output import Line, note, write_lines
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.memory.text import display_text

NOTHING_DONE = "zeroclaw: Nothing was changed."
LONGEST_TYPED = 40
_YES = ("y", "yes")


def check_can_ask(verb: str, *, yes: bool, dry_run: str = "--dry-run only shows what would happen") -> None:
    """Raise WrongUse where a question could not be answered and no --yes answers it."""
    if not yes and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise WrongUse(
            f"`zeroclaw memory {verb}` asks first, and there is no terminal to answer in.",
            hint=f"--yes does it without asking; {dry_run}.",
        )


def confirm(question: str, shown: Iterable[Line] = ()) -> bool:
    """Ask for yes or no; no answer is a no. Ctrl-c says that nothing was done and goes on as KeyboardInterrupt."""
    return _agreed(f"{question} [y/N] ", shown, lambda answer: answer.lower() in _YES)


def confirm_typed(question: str, expected: Iterable[str], shown: Iterable[Line] = ()) -> bool:
    """Ask for a text to be typed; anything else is a no."""
    accepted = tuple(expected)
    return _agreed(f"{question} ", shown, lambda answer: answer in accepted)


def confirm_count(count: int, doing: str, shown: Iterable[Line] = ()) -> bool:
    """Ask for a number to be typed, with or without its commas."""
    return confirm_typed(f"Type {count:,} to {doing}:", (str(count), f"{count:,}"), shown)


def typed(question: str, shown: Iterable[Line] = ()) -> str:
    """Ask for a line of text; "" where none was typed or the input has ended."""
    sys.stdout.flush()
    write_lines([*shown], sys.stderr)
    sys.stderr.write(display_text(question))
    sys.stderr.flush()
    return _answer()


def can_be_typed(text: str) -> bool:
    """True for a text that a person can be asked to type."""
    return 0 < len(text) <= LONGEST_TYPED and text.isprintable() and text == text.strip()


def _agreed(question: str, shown: Iterable[Line], holds: Callable[[str], bool]) -> bool:
    agreed = holds(typed(question, shown))
    if not agreed:
        note(NOTHING_DONE)
    return agreed


def _answer() -> str:
    # The event loop would only note a ctrl-c and go on waiting for the line.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        line = sys.stdin.buffer.readline()
    except KeyboardInterrupt:
        note(f"\n{NOTHING_DONE}")
        raise
    finally:
        signal.signal(signal.SIGINT, before)
    if not line.endswith(b"\n"):
        note("")
    return line.decode("utf-8", "replace").strip()
