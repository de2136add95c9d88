"""What every change stands on: a store that takes writes, its triggers, and an end that ctrl-c can bring about."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Iterable
from types import FrameType, TracebackType
from typing import Any, TypeVar

from zeroclaw_tui.cli.asking import confirm
from zeroclaw_tui.cli.output import note
from zeroclaw_tui.config.confirming import store_to_confirm
from zeroclaw_tui.config.environment import OTHERS_DB_URL
from zeroclaw_tui.curation.changes import Outcome, repair
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.change import Clashes, ClashFound, TriggersMissing
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.text import one_line

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
