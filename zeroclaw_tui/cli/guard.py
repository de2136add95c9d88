"""What every change stands on: a question answered, a store that takes writes, and an end that ctrl-c can bring about.

Questions in a terminal: on stderr, with No as the default, and never where nobody can answer.

What every change stands on: a store that takes writes, its triggers, and an end that ctrl-c can bring about.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Iterable
from types import FrameType, TracebackType
from typing import Any, TypeVar

from zeroclaw_tui.cli.output import Line, note, write_lines
from zeroclaw_tui.config.environment import OTHERS_DB_URL
from zeroclaw_tui.config.load import store_to_confirm
from zeroclaw_tui.curation.changes import Outcome, repair
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.change import Clashes, ClashFound, TriggersMissing
from zeroclaw_tui.memory.errors import Refused, WrongUse
from zeroclaw_tui.memory.text import display_text, one_line

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


Result = TypeVar("Result")
MOST_CLASHES_SHOWN = 10
_REPAIRED = "ZeroClaw's triggers were put back and the keyword index rebuilt."


def check_writable(library: Library, given: argparse.Namespace) -> None:
    """Raise Refused with the reason where nothing can be changed."""
    why = library.read_only_because
    if why is not None and not given.read_only and store_to_confirm(library.config) is not None:
        why = f"Nothing is written to the database of {OTHERS_DB_URL} before it is confirmed as ZeroClaw's."
    if why is None and library.memory.ends_with_program:
        why = f"{library.memory.name} keeps memories only while the program runs, so a command can leave nothing there."
    if why is None and not library.memory.capabilities.write:
        why = library.memory.capabilities.why_not.get("write") or str(library.memory.refuse_to_write())
    if why is not None:
        raise Refused(why, hint="--read-only refuses every change." if given.read_only else "Nothing was changed.")


async def with_triggers(
    library: Library, given: argparse.Namespace, change: Callable[[], Awaitable[Result]], *, asks: bool
) -> Result | None:
    """Make a change; where triggers are missing put them back with --yes or, if the verb asks, when told to.

    None when the answer was no. Raises TriggersMissing where it may not ask, and whatever the change raises.
    """
    try:
        return await change()
    except TriggersMissing as missing:
        if not given.yes:
            if not asks:
                missing.hint = "With --yes ZeroClaw's own triggers are put back and the index rebuilt first."
                raise
            if not confirm("Put them back and go on?", [(f"{missing.message} {missing.hint}",)]):
                return None
    await repair(library)
    note(f"zeroclaw: {_REPAIRED}")
    return await change()


async def telling_clashes(change: Callable[[], Awaitable[Outcome]]) -> Outcome:
    """Make a change that takes something back; Clashes are raised again with each clash named on stderr."""
    try:
        return await change()
    except Clashes as clashes:
        for sentence in _clash_sentences(clashes.found):
            note(f"zeroclaw: {sentence}")
        if clashes.total > MOST_CLASHES_SHOWN:
            note(f"zeroclaw: … {clashes.total - MOST_CLASHES_SHOWN:,} more.")
        clashes.message = "Nothing was brought back."
        clashes.hint = (
            "--overwrite replaces what is there now, --rename puts the old one back beside it; both can be undone."
        )
        raise


class Progress:
    """How far a long change is, on stderr if that is a terminal; after a ctrl-c the change stops at the next batch.

    A second ctrl-c does what it always does. `total` is None where nobody knows how much there is. `call_off` ends what
    may be long without a batch, as a search is that finds nothing; it runs on the event loop.
    """

    def __init__(self, doing: str, total: int | None, call_off: Callable[[], None] | None = None) -> None:
        self._doing, self._total = doing, total
        self._call_off = call_off
        self._loop: asyncio.AbstractEventLoop | None = None
        self._shows = sys.stderr.isatty()
        self._shown = False
        self._before: Any = None
        self.stopped = False

    def __enter__(self) -> Progress:
        if self._call_off is not None:
            self._loop = asyncio.get_running_loop()
        self._before = signal.signal(signal.SIGINT, self._stop)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.signal(signal.SIGINT, self._before)
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def advance(self, done: int) -> bool:
        """Show how far it is; False once it should stop. Called on whichever thread works."""
        if self._shows and (self._total is None or done < self._total):
            of = "" if self._total is None else f" of {self._total:,}"
            sys.stderr.write(f"\r{self._doing} {done:,}{of} …")
            sys.stderr.flush()
            self._shown = True
        return not self.stopped

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.stopped = True
        signal.signal(signal.SIGINT, self._before)
        if self._loop is not None and self._call_off is not None:
            self._loop.call_soon_threadsafe(self._call_off)


def _clash_sentences(found: Iterable[ClashFound]) -> list[str]:
    return [_clash_sentence(clash) for clash in [*found][:MOST_CLASHES_SHOWN]]


def _clash_sentence(clash: ClashFound) -> str:
    wanted = clash.wanted.entry()
    named = f"{one_line(wanted.key)!r} (id {one_line(wanted.id)})"
    present = clash.present
    match clash.reason:
        case "key exists" if present is not None and present.id != wanted.id:
            return f"{named} cannot come back: the key exists again (id {one_line(present.id)})."
        case "gone":
            return f"{named} has gone since."
        case _:
            return f"{named} changed since{_when(present.entry().updated_at) if present else ''}."


def _when(updated_at: str | None) -> str:
    return f", on {one_line(updated_at)}" if updated_at else ""
