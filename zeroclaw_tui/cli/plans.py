"""A change: what it would do, a question answered, a store that takes writes, and what is told when it is done."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from zeroclaw_tui.cli.output import (
    BOLD,
    DIM,
    GREEN,
    NOTHING,
    RED,
    YELLOW,
    Styled,
    document,
    note,
    waiting,
    width,
    write_lines,
)
from zeroclaw_tui.config.real_binary import runnable
from zeroclaw_tui.memory.days import date_shown
from zeroclaw_tui.memory.errors import DONE, INTERRUPTED, REFUSED, InspectorError, Refused, UsageError
from zeroclaw_tui.memory.text import cells, counted, cut, display_text, one_line, padded, renamed_sentences, size_shown

if TYPE_CHECKING:
    import asyncio
    from types import FrameType, TracebackType

    from zeroclaw_tui.cli.output import Line
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.outcome import Outcome
    from zeroclaw_tui.curation.purge_plan import PurgePlan
    from zeroclaw_tui.curation.traces.copies import Copy, Text
    from zeroclaw_tui.curation.transfer.target import Target
    from zeroclaw_tui.memory.change import ApplyResult, OnConflict, Row, RowConflict, RowVersion
    from zeroclaw_tui.memory.entry import MemoryEntry


NOTHING_DONE = "zeroclaw: Nothing was changed."
LONGEST_TYPED = 40
_YES = ("y", "yes")
Result = TypeVar("Result")
MOST_CLASHES_SHOWN = 10
_WAYS_ON = (
    "Pass --overwrite to replace the existing memory or --rename to keep both; `zeroclaw memory {}` reverses either."
)
_REPAIRED = "Restored ZeroClaw's triggers and rebuilt the keyword index."
ROWS_AT_ONCE = 500
KEY_CELLS, TEXT_CELLS, LEAST_TEXT = 24, 44, 12
FOR_EVER = "This cannot be undone: earlier versions are also deleted from the trash."
MOST_ENTRIES = 1000
"""What takes a change back, behind what was done."""
MOST_NAMED = 10
"""How many memories that came under another key a command names."""
_NAMES = ("id", "key", "category", "agent", "timestamp", "updated_at", "size")
LOOKED_FOR_BEFORE = 10_000
"""Up to so many memories a plan says where copies lie; above that only what comes after the removal does."""
MOST_COMPARED = 200_000
"""Characters; comparing longer texts line by line could take minutes."""
FIELDS = ("key", "category", "session_id", "agent", "namespace", "importance", "pinned", "superseded_by")


def undo_hint() -> str:
    """The end of a sentence about a change: the command that undoes it."""
    return runnable("; `zeroclaw memory undo`")


def check_can_ask(verb: str, *, yes: bool) -> None:
    """Raise UsageError where a question could not be answered and no --yes answers it."""
    if not yes and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            f"`zeroclaw memory {verb}` needs confirmation, but stdin is not a terminal.",
            hint="Pass --yes to proceed or --dry-run to see the plan.",
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
    import signal

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


def check_writable(library: Library, given: argparse.Namespace) -> None:
    """Raise Refused with the reason where nothing can be changed."""
    from zeroclaw_tui.config.load import store_to_confirm
    from zeroclaw_tui.config.storage import OTHERS_DB_URL

    why = library.read_only_because
    if why is not None and not given.read_only and store_to_confirm(library.config) is not None:
        why = f"Nothing is written to the database of {OTHERS_DB_URL} before it is confirmed as ZeroClaw's."
    if why is None and library.memory.about.ends_with_program:
        why = f"{library.memory.name} keeps memories only while the program runs."
    if why is not None:
        raise Refused(why, hint="--read-only refuses every change." if given.read_only else "Nothing was changed.")


async def with_triggers(
    library: Library, given: argparse.Namespace, change: Callable[[], Awaitable[Result]], *, asks: bool
) -> Result | None:
    """Make a change; where triggers are missing put them back with --yes or, if the verb asks, when told to.

    None when the answer was no. Raises TriggersMissing where it may not ask, and whatever the change raises.
    """
    from zeroclaw_tui.curation.changes import repair
    from zeroclaw_tui.memory.change import TriggersMissing

    try:
        return await change()
    except TriggersMissing as missing:
        if not given.yes:
            if not asks:
                missing.hint = "Pass --yes to restore ZeroClaw's triggers and rebuild the index first."
                raise
            if not confirm("Restore them and continue?", [(f"{missing.message} {missing.hint}",)]):
                return None
    await repair(library)
    note(f"zeroclaw: {_REPAIRED}")
    return await change()


async def with_conflict_sentences(change: Callable[[], Awaitable[Result]], *, back: str = "undo") -> Result:
    """Make a change that brings something back; Conflicts are raised again in the words of a command.

    Of several each is named on stderr.

    `back` is the verb that reverses what the change then does.
    """
    from zeroclaw_tui.memory.change import Conflicts

    try:
        return await change()
    except Conflicts as clashes:
        if clashes.total > 1:
            for sentence in _named_clashes(clashes.found, clashes.total):
                note(f"zeroclaw: {sentence}")
        clashes.message += " Nothing was restored."
        clashes.hint = _WAYS_ON.format(back)
        raise


def clash_lines(foreseen: ApplyResult, on_conflict: OnConflict, *, back: str = "undo") -> Iterator[Line]:
    """What is in the way of what would come back, and what becomes of it; then what else would be said of it."""
    if foreseen.conflict_count:
        yield (Styled(f"  {_conflict_sentence(foreseen.conflict_count, on_conflict)}", YELLOW),)
        for sentence in _named_clashes(foreseen.conflicts, foreseen.conflict_count):
            yield ("    ", sentence)
        if on_conflict == "refuse":
            yield (Styled(f"  {_WAYS_ON.format(back)}", DIM),)
    for sentence in (*renamed_sentences(foreseen.renamed, MOST_NAMED, is_plan=True), *foreseen.notes):
        yield ("  ", one_line(sentence))


def _conflict_sentence(count: int, on_conflict: OnConflict) -> str:
    come, replace = ("comes", "replaces") if count == 1 else ("come", "replace")
    becomes = {
        "refuse": "in conflict, so nothing would be restored",
        "overwrite": f"{come} back and {replace} the current version, which goes to the trash",
        "rename": f"{come} back under another key",
        "skip": "in conflict and would be left out",
    }
    return f"{count:,} {becomes[on_conflict]}:"


def clashes_as_json(foreseen: ApplyResult, on_conflict: OnConflict) -> dict[str, Any]:
    """The same by the names of a plan's document."""
    named = [found.as_json() for found in foreseen.conflicts]
    return {"on_clash": on_conflict, "clashing": foreseen.conflict_count, "clashes": named}


def _named_clashes(found: Sequence[RowConflict], total: int) -> Iterator[str]:
    yield from (on_conflict.words for on_conflict in found[:MOST_CLASHES_SHOWN])
    if total > MOST_CLASHES_SHOWN:
        yield f"… {total - MOST_CLASHES_SHOWN:,} more."


_SECONDS_BETWEEN_LINES = 5.0


class Progress:
    """How far a long change is, on stderr; after a ctrl-c the change stops at the next batch.

    A terminal shows it in one line that is written anew; elsewhere a line follows every five seconds.

    A second ctrl-c does what it always does. `total` is None where nobody knows how much there is. With
    `cancels_task` the first one cancels the task too, for what may take long without a batch.
    """

    def __init__(
        self,
        doing: str,
        total: int | None,
        *,
        cancels_task: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._doing, self._total = doing, total
        self._cancels_task = cancels_task
        self._task: asyncio.Task[Any] | None = None
        self._clock, self._written_at = clock, clock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._shows = sys.stderr.isatty()
        self._shown = False
        self._before: Any = None
        self.stopped = False

    def __enter__(self) -> Progress:
        import asyncio
        import signal

        if self._cancels_task:
            self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        self._before = signal.signal(signal.SIGINT, self._stop)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import signal

        self._task = None
        signal.signal(signal.SIGINT, self._before)
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def advance(self, done: int) -> bool:
        """Show how far it is; False once it should stop. Called on whichever thread works."""
        if self._total is None or done < self._total:
            of = "" if self._total is None else f" of {self._total:,}"
            if self._shows:
                waiting.end()
                sys.stderr.write(f"\r{self._doing} {done:,}{of} …")
                sys.stderr.flush()
                self._shown = True
            elif self._clock() - self._written_at >= _SECONDS_BETWEEN_LINES:
                self._written_at = self._clock()
                note(f"zeroclaw: {self._doing} {done:,}{of} …")
        return not self.stopped

    def _stop(self, number: int, frame: FrameType | None) -> None:
        import signal

        self.stopped = True
        signal.signal(signal.SIGINT, self._before)
        if self._shows:
            # Not by sys.stderr, which may be in the middle of a write.
            os.write(sys.stderr.fileno(), "\r\x1b[KStopping …".encode())
            self._shown = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._cancel_task)

    def _cancel_task(self) -> None:
        if self._task is not None:
            self._task.cancel()


async def plan_entries(library: Library, entries: Sequence[MemoryEntry]) -> PurgePlan:
    """The plan for exactly these memories, those gone meanwhile left out."""
    from zeroclaw_tui.backends.lookup import versions_at
    from zeroclaw_tui.curation.purge_plan import plan_of

    handles = list(dict.fromkeys(entry.handle for entry in entries))
    return plan_of(
        [
            stamp
            for start in range(0, len(handles), ROWS_AT_ONCE)
            for stamp in await versions_at(library.memory, handles[start : start + ROWS_AT_ONCE])
        ]
    )


async def plan_lines(
    library: Library, plan: PurgePlan, verb: str, *, forever: bool, copies: Sequence[Copy]
) -> list[Line]:
    """The plan: how many, of what, how old, the first few, where they go and where copies lie."""

    question = f"{verb.capitalize()} {counted(plan.count)}{' permanently' if forever else ''}?"
    lines = await what_lines(library, plan, question)
    whereto = _whereto(plan, forever=forever, copies=copies)
    return [*lines, *spared_lines(plan, verb), *whereto]


def spared_lines(plan: PurgePlan, verb: str) -> list[Line]:
    """The memories that stay although the filters leave them; none where there are none."""
    way = "`zeroclaw memory purge --superseded only` takes" if verb == "clear" else "--superseded show takes"
    spared = plan.superseded_sentence(way)
    return [(Styled(f"  {spared}", YELLOW),)] if spared else []


async def what_lines(library: Library, plan: PurgePlan, question: str) -> list[Line]:
    """A question, and which memories it is about."""
    from zeroclaw_tui.memory.query import EXCERPTS, Query

    samples = await library.memory.rows(Query(EXCERPTS, handles=[stamp.handle for stamp in plan.samples]))
    lines: list[Line] = [(Styled(question, BOLD),), ("  ", " · ".join(plan.sentences())), *map(_sample_line, samples)]
    if plan.count > len(samples):
        lines.append((Styled(f"  … {plan.count - len(samples):,} more", DIM),))
    return lines


def _sample_line(entry: MemoryEntry) -> Line:
    from zeroclaw_tui.memory.secret_text import masked

    key, text = cut(one_line(masked(entry.key)), KEY_CELLS), f'"{one_line(masked(entry.content))}"'
    room = min(TEXT_CELLS, width() - KEY_CELLS - 16)
    if room < LEAST_TEXT:
        return ("  ", key, "  ", cut(text, max(LEAST_TEXT, width() - cells(key) - 4)))
    return ("  ", padded(key, KEY_CELLS), "  ", padded(cut(text, room), room), "  ", date_shown(entry.when))


def _whereto(plan: PurgePlan, *, forever: bool, copies: Sequence[Copy]) -> Iterator[Line]:
    from zeroclaw_tui.curation.traces.copies import planned_sentence

    if forever:
        yield (Styled(f"  {FOR_EVER}", YELLOW),)
    else:
        they, them = ("It goes", "it") if plan.count == 1 else ("They go", "them")
        yield (runnable(f"  {they} to the trash; `zeroclaw memory undo` restores {them}."),)
    if copies:
        yield (f"  {planned_sentence(copies)}",)


class Copies(NamedTuple):
    """Where texts still lie, what was cleaned, and the exit code of that; `notes` say what could not be told."""

    found: tuple[Copy, ...] = ()
    cleaned: Outcome | None = None
    code: int = DONE
    notes: tuple[str, ...] = ()


NO_COPIES = Copies()


def print_change(
    store: Library | Target,
    outcome: Outcome,
    *,
    verb: str | None = None,
    dry_run: bool = False,
    entries: Sequence[dict[str, Any]] = (),
    copies: Copies = NO_COPIES,
    **more: Any,
) -> None:
    """Write the one document of a change; `verb` is what was typed, where that is another.

    Every verb that changes memory writes the same document; what does not concern it is null or empty:

        {"verb", "backend", "location", "dry_run", "count", "action", "until", "entries", "changed", "gone", "renamed",
         "notes", "also_found_in", "cleaned"}

    `count` is how many memories were changed, or would be with `dry_run`. `action` is the number of the change in the
    trash and `until` when the trash drops it (RFC 3339); both null when nothing changed or nothing brings it back.
    `entries` holds at most 1,000 of {"id", "key", "category", "agent", "timestamp", "updated_at", "size"}, `size` in
    bytes. `changed` and `gone` are ids that were left alone because they changed or went meanwhile; `renamed` maps old
    keys to those they came back under. `also_found_in` lists {"kind", "place", "count", "can_clean", "remark"};
    `cleaned` is {"action", "count"} where --clean-copies cleaned. A verb's own names come after these.
    """
    from zeroclaw_tui.curation.library import Library

    name, place = (
        (store.memory.name, store.memory.about.location)
        if isinstance(store, Library)
        else (store.config.backend, store.location)
    )
    names = ("verb", "backend", "location", "dry_run", "count", "action", "until", "entries")
    about = {
        "verb": verb or outcome.verb,
        "backend": name,
        "location": place,
        "dry_run": dry_run,
        "entries": list(entries[:MOST_ENTRIES]),
        "notes": [*outcome.notes, *copies.notes],
        "also_found_in": [copy.as_json() for copy in copies.found],
        "cleaned": _cleaned_as_json(copies.cleaned),
    }
    # The names come in the order that is described above.
    document(dict.fromkeys(names) | outcome.as_json() | about | more)


def named_as_json(memory: RowVersion | MemoryEntry) -> dict[str, Any]:
    """A memory of a change, by the names of `entries`."""
    return {name: getattr(memory, name) for name in _NAMES}


def trash_lines(outcome: Outcome) -> Iterator[Line]:
    """Until when the trash keeps what a removal took, and what restores it."""
    if outcome.action is not None:
        yield (outcome.trash_sentence(date_shown(outcome.action.until), undo_hint()),)


def copies_lines(copies: Sequence[Copy], *, cleaning: bool = False) -> Iterator[Line]:
    """Where the text still lies: a line of all, and one for each place."""
    from zeroclaw_tui.curation.traces.copies import left_sentence

    if not copies:
        return
    yield (Styled(left_sentence(copies), YELLOW),)
    for copy in copies:
        yield ("  ", copy.sentence, *_mark(copy))
    if not cleaning and any(copy.can_clean for copy in copies):
        yield (Styled("--clean-copies removes those marked as cleanable with the memory itself.", DIM),)


def cleaned_lines(cleaned: Outcome | None) -> Iterator[Line]:
    """What --clean-copies removed."""
    from zeroclaw_tui.curation.traces.copies import cleaned_sentence

    if cleaned is not None and cleaned.count:
        yield (f"{cleaned_sentence(cleaned)} That is a separate change, and undo reverses it first.",)


def left_alone_lines(outcome: Outcome) -> Iterator[Line]:
    """Which memories were not touched, and under which keys others came back."""
    for sentence in (*outcome.skipped_sentences(with_ids=True), *renamed_sentences(outcome.renamed, MOST_NAMED)):
        yield (sentence,)


def print_notes(outcome: Outcome) -> None:
    """Say on stderr what the change remarked."""
    for sentence in outcome.notes:
        note(f"zeroclaw: {sentence}")


def _mark(copy: Copy) -> Line:
    return (" ", Styled("(can be cleaned)", YELLOW)) if copy.can_clean else ()


def _cleaned_as_json(cleaned: Outcome | None) -> dict[str, Any] | None:
    if cleaned is None:
        return None
    return {"action": cleaned.action.number if cleaned.action else None, "count": cleaned.count}


async def print_done(
    library: Library,
    given: argparse.Namespace,
    plan: PurgePlan,
    outcome: Outcome,
    look: Callable[[], Awaitable[Copies]],
    done: Line,
) -> int:
    """Tell it; the exit code. `done` says what was done.

    `look` finds where the texts still lie. That can take a while in a big store, so what was done is told before.
    """
    print_notes(outcome)
    if given.json:
        copies = await look()
        left = {*outcome.changed, *outcome.gone}
        # Of a change that was stopped nobody here knows which were done: the trash does.
        those = [] if outcome.cancelled else [stamp for stamp in plan.stamps if stamp.id not in left]
        entries = [named_as_json(stamp) for stamp in those[:MOST_ENTRIES]]
        print_change(library, outcome, entries=entries, copies=copies, **plan.as_json())
    else:
        write_lines([done] if outcome.count or outcome.cancelled else [])
        write_lines(left_alone_lines(outcome))
        write_lines([] if outcome.verb == "forget" else trash_lines(outcome))
        sys.stdout.flush()
        copies = await look()
        write_lines(cleaned_lines(copies.cleaned))
        write_lines(copies_lines(copies.found, cleaning=given.clean_copies))
    if outcome.cancelled:
        note(f"zeroclaw: Stopped after {outcome.count:,} of {counted(plan.count)}.")
        return INTERRUPTED
    return REFUSED if outcome.changed else copies.code


async def copies_of_plan(library: Library, plan: PurgePlan) -> tuple[Copy, ...]:
    """Where the texts of a plan lie besides; empty for a plan too large to look for."""
    from zeroclaw_tui.curation.traces.copies import find_copies, texts_of_plan

    if plan.count > LOOKED_FOR_BEFORE:
        return ()
    return tuple(await find_copies(library, await texts_of_plan(library, plan)))


async def copies_left(
    library: Library, given: argparse.Namespace, outcome: Outcome, texts: Sequence[Text] = ()
) -> Copies:
    """Look where the texts that a change removed still lie, and clean with --clean-copies.

    Nothing where nothing was removed. `texts` are those of a change that left nothing in the trash. The change itself
    is done: what fails here, or is broken off, is told and becomes the exit code.
    """
    import asyncio

    from zeroclaw_tui.curation.traces.copies import clean_copies, find_copies, texts_of

    if not outcome.count:
        return NO_COPIES
    cleaned: Outcome | None = None
    missing = "the search for other copies of its texts was stopped"
    if given.clean_copies:
        missing += ", and none was cleaned"
    try:
        if outcome.action is not None:
            texts = await texts_of(library, outcome.action.number)
        found = await find_copies(library, texts) if texts else []
        cleanable = [copy for copy in found if copy.can_clean]
        if not (given.clean_copies and cleanable):
            return Copies(tuple(found))
        missing = "the copies were not all cleaned; `zeroclaw memory undo --list` shows what was"
        cleaned = await clean_copies(library, cleanable)
        missing = "other copies of its texts were not searched for again"
        return Copies(tuple(await find_copies(library, texts)), cleaned)
    except InspectorError as error:
        code, explanation = error.exit_code, f"The change is done, but not what concerns copies elsewhere: {error}"
    except asyncio.CancelledError:
        if (task := asyncio.current_task()) is not None:
            task.uncancel()
        code, explanation = INTERRUPTED, f"The change is done, but {missing}."
    note(f"zeroclaw: {explanation}")
    return Copies((), cleaned, code, (explanation,))


def changed_fields(before: Row, after: Row) -> list[str]:
    """The names of what differs for a person, content last."""
    old, new = before.entry(), after.entry()
    return [name for name in (*FIELDS, "content") if getattr(old, name) != getattr(new, name)]


def content_difference(before: Row | None, after: Row | None) -> list[str] | None:
    """The unified diff of two contents, a string a line; None where they are equal or too long to compare."""
    import difflib

    old, new = _content(before), _content(after)
    if old == new or len(old) + len(new) > MOST_COMPARED:
        return None
    lines = difflib.unified_diff(old.split("\n") if old else [], new.split("\n") if new else [], lineterm="", n=2)
    return [*lines][2:]


def difference_lines(before: Row | None, after: Row | None) -> Iterator[Line]:
    """What differs, for people: a line for each field, then the diff of the content."""
    if before is not None and after is not None:
        old, new = before.entry(), after.entry()
        for name in changed_fields(before, after):
            if name != "content":
                yield (f"  {name.removesuffix('_id')}: ", *_from_to(old, new, name))
    differing = content_difference(before, after)
    if differing is None and _content(before) != _content(after):
        yield (f"  content: {_size(before)} → {_size(after)}, too long to compare here",)
    for line in differing or ():
        yield ("  ", _styled(line))


def _from_to(old: MemoryEntry, new: MemoryEntry, name: str) -> Line:
    return (_shown(getattr(old, name)), " → ", _shown(getattr(new, name)))


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return NOTHING if value is None else one_line(str(value)) or '""'


def _styled(line: str) -> Styled:
    code = {"+": GREEN, "-": RED}.get(line[:1], DIM)
    return Styled(line, code)


def _content(row: Row | None) -> str:
    return "" if row is None else row.entry().content


def _size(row: Row | None) -> str:
    return NOTHING if row is None else size_shown(row.entry().size)
