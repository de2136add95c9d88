"""Shared steps of changes: show the plan, ask, show progress, and report."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from zeroclaw_tui.cli import output
from zeroclaw_tui.cli.output import BOLD, DIM, GREEN, NOTHING, RED, YELLOW, Line, Styled, runnable
from zeroclaw_tui.curation.outcome import PurgePlan, changed_fields, renaming_sentences, superseded_sentence
from zeroclaw_tui.memory.days import date_shown
from zeroclaw_tui.memory.errors import DONE, INTERRUPTED, REFUSED, InspectorError, Refused, UsageError
from zeroclaw_tui.memory.text import counted, cut, display_text, one_line, shell_word, size_shown

if TYPE_CHECKING:
    from types import FrameType

    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.outcome import Outcome
    from zeroclaw_tui.curation.traces.search import TextPlace
    from zeroclaw_tui.curation.transfer.plan import Target
    from zeroclaw_tui.memory.change import ApplyResult, OnConflict, Row, RowConflict, RowVersion
    from zeroclaw_tui.memory.entry import MemoryEntry


NOTHING_DONE = "zeroclaw: Nothing was changed."
MAX_ENTRIES = 1000
"""The maximum number of memories in a document."""
MOST_NAMED = 10
"""The maximum number of conflicts, and of renamed memories, that a command names."""
MAX_SEARCHED_BEFORE = 10_000
"""For plans with more memories, conflicts and copies are not searched before the change."""
MOST_COMPARED = 200_000
"""In characters; comparing longer texts line by line could take minutes."""
_KEY_CELLS, _TEXT_CELLS = 24, 44
_SAMPLES = 3
"""The number of memories shown of a plan."""
_CONFLICT_HINT = "Pass --overwrite to replace the existing memory or --rename to keep both."
_NAMES = ("id", "key", "category", "agent", "timestamp", "updated_at", "size")


def undo_hint() -> str:
    """The command that undoes a change, as the end of a sentence."""
    return runnable("; `zeroclaw memory undo`")


def check_can_ask(command: str, *, yes: bool) -> None:
    """Raise UsageError if the command would ask, without --yes and without a terminal."""
    if not yes and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            f"`{command}` needs confirmation, but stdin is not a terminal.",
            hint="Pass --yes to proceed or --dry-run to see the plan.",
        )


def confirm(question: str, shown: Iterable[Line]) -> bool:
    """Ask for yes or no; an empty answer means no."""
    return confirm_typed(f"{question} [y/N]", ("y", "yes"), shown)


def confirm_count(count: int, doing: str, shown: Iterable[Line]) -> bool:
    """Ask the user to type a number, with or without commas."""
    return confirm_typed(f"Type {count:,} to {doing}:", (str(count), f"{count:,}"), shown)


def confirm_typed(question: str, accepted: Collection[str], shown: Iterable[Line]) -> bool:
    """Ask the user to type one of `accepted`, in any case; anything else, also the end of the input, means no.

    Ctrl-C prints that nothing was changed, and raises KeyboardInterrupt.
    """
    import signal

    sys.stdout.flush()
    output.write_lines(shown, sys.stderr)
    sys.stderr.write(display_text(f"{question} "))
    sys.stderr.flush()
    # The handler of the event loop would not interrupt readline.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        line = sys.stdin.buffer.readline()
    except KeyboardInterrupt:
        output.note(f"\n{NOTHING_DONE}")
        raise
    finally:
        signal.signal(signal.SIGINT, before)
    if not line.endswith(b"\n"):
        output.note("")
    is_accepted = line.decode("utf-8", "replace").strip().lower() in accepted
    if not is_accepted:
        output.note(NOTHING_DONE)
    return is_accepted


def check_can_change(library: Library, args: argparse.Namespace) -> None:
    """Raise if a change cannot be written or confirmed; a dry run is always allowed."""
    if not args.dry_run:
        check_writable(library, args)
        check_can_ask(f"zeroclaw memory {args.verb}", yes=args.yes)


def check_writable(library: Library, args: argparse.Namespace) -> None:
    """Raise Refused with the reason if nothing can be changed."""
    from zeroclaw_tui.config.load import store_to_confirm
    from zeroclaw_tui.config.storage import SHARED_DB_URL

    why = library.read_only_because
    if why is not None and not args.read_only and store_to_confirm(library.config) is not None:
        why = f"Nothing is written to the database of {SHARED_DB_URL} before it is confirmed as ZeroClaw's."
    if why is None and library.memory.about.is_volatile:
        why = f"{library.memory.name} keeps memories only while the program runs."
    if why is not None:
        raise Refused(why, hint="--read-only refuses every change." if args.read_only else "Nothing was changed.")


def print_plan(args: argparse.Namespace, lines: Iterable[Line], plan: dict[str, Any]) -> int:
    """Print a plan or a result, for people or as a document; after a dry run also say that nothing was changed."""
    code = output.print_result(args, plan, lines)
    if args.dry_run and not args.json:
        output.note(NOTHING_DONE)
    return code


@contextmanager
def print_conflicts() -> Iterator[None]:
    """Print several conflicts of a change on stderr; the error names the options that help."""
    from zeroclaw_tui.memory.change import UndoConflicts

    try:
        yield
    except UndoConflicts as conflicts:
        if conflicts.total > 1:
            output.notes(_conflict_sentences(conflicts.found, conflicts.total))
        conflicts.message += " Nothing was restored."
        conflicts.hint = _CONFLICT_HINT
        raise


def conflict_lines(preview: ApplyResult, on_conflict: OnConflict) -> Iterator[Line]:
    """Yield the conflicts of a restore, their consequence, and the notes of the preview."""
    count = preview.conflict_count
    if count:
        come, replace = ("comes", "replaces") if count == 1 else ("come", "replace")
        happens = {
            "refuse": "in conflict, so nothing would be restored",
            "overwrite": f"{come} back and {replace} the current version, which goes to the trash",
            "rename": f"{come} back under another key",
        }
        yield Styled(f"  {count:,} {happens[on_conflict]}:", YELLOW)
        yield from (f"    {sentence}" for sentence in _conflict_sentences(preview.conflicts, count))
        if on_conflict == "refuse":
            yield Styled(f"  {_CONFLICT_HINT}", DIM)
    for sentence in (*renaming_sentences(preview.renamed, MOST_NAMED, is_plan=True), *preview.notes):
        yield f"  {one_line(sentence)}"


def _conflict_sentences(found: Sequence[RowConflict], total: int) -> Iterator[str]:
    yield from (conflict.words for conflict in found[:MOST_NAMED])
    if total > MOST_NAMED:
        yield f"… {total - MOST_NAMED:,} more."


class Progress:
    """A progress line on a terminal for a long change; `total` is None if unknown.

    After Ctrl-C the change stops at the next batch. A second Ctrl-C interrupts as usual.
    """

    def __init__(self, doing: str, total: int | None = None) -> None:
        self._doing, self._total = doing, total
        self._before: Any = None
        self.stopped = False

    def __enter__(self) -> Progress:
        import signal

        self._before = signal.signal(signal.SIGINT, self._stop)
        return self

    def __exit__(self, *failure: object) -> None:
        import signal

        signal.signal(signal.SIGINT, self._before)
        self._show("")

    def advance(self, done: int) -> bool:
        """Show the progress; returns False if the change should stop. Called from any thread."""
        of = "" if self._total is None else f" of {self._total:,}"
        self._show(f"{self._doing} {done:,}{of} …")
        return not self.stopped

    def _show(self, text: str) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()

    def _stop(self, number: int, frame: FrameType | None) -> None:
        import signal

        self.stopped = True
        signal.signal(signal.SIGINT, self._before)


async def plan_entries(library: Library, entries: Sequence[MemoryEntry]) -> PurgePlan:
    """Plan to delete exactly these memories, except those that no longer exist."""
    from zeroclaw_tui.backends.lookup import versions_at

    return PurgePlan(tuple(await versions_at(library.memory, list(dict.fromkeys(entry.handle for entry in entries)))))


async def plan_lines(
    library: Library, plan: PurgePlan, verb: str, *, forever: bool, copies: Sequence[TextPlace]
) -> list[Line]:
    """Describe a deletion: number, categories and age of the memories, the first ones, how to undo it, and copies."""
    from zeroclaw_tui.curation.traces.copies import found_sentence
    from zeroclaw_tui.memory.query import EXCERPTS, Query

    handles = [version.handle for version in plan.versions[:_SAMPLES]]
    samples = await library.memory.rows(Query(EXCERPTS, handles=handles))
    question = f"{verb.capitalize()} {counted(plan.count)}{' permanently' if forever else ''}?"
    lines: list[Line] = [Styled(question, BOLD), f"  {' · '.join(plan.sentences())}"]
    if samples:
        lines += output.table(map(_sample, samples), longest=_TEXT_CELLS + 2, indent="  ")
    if plan.count > len(samples):
        lines.append(Styled(f"  … {plan.count - len(samples):,} more", DIM))
    lines += superseded_lines(plan, verb)
    if forever:
        lines.append(Styled("  This cannot be undone: earlier versions are also deleted from the trash.", YELLOW))
    else:
        they, them = ("It goes", "it") if plan.count == 1 else ("They go", "them")
        lines.append(runnable(f"  {they} to the trash; `zeroclaw memory undo` restores {them}."))
    return [*lines, *([f"  {found_sentence(copies)}"] if copies else [])]


def _sample(entry: MemoryEntry) -> tuple[Line, ...]:
    key, text = (
        cut(output.masked_line(entry.key), _KEY_CELLS),
        cut(f'"{output.masked_line(entry.content)}"', _TEXT_CELLS),
    )
    return key or " ", text, date_shown(entry.when)


def superseded_lines(plan: PurgePlan, verb: str) -> list[Line]:
    """Say how many memories stay only because they are superseded; no line if there are none."""
    way = "--superseded show takes"
    if verb == "clear" and plan.filter is not None:
        words = [f"--agent {shell_word(agent)}" for agent in plan.filter.agent or ()]
        words += [f"--category {shell_word(category)}" for category in plan.filter.category or ()]
        way = f"`{' '.join(['zeroclaw memory purge --superseded only', *words])}` takes"
    sentence = superseded_sentence(plan.superseded_hidden, way)
    return [Styled(runnable(f"  {sentence}"), YELLOW)] if sentence else []


class Copies(NamedTuple):
    """Other copies of the texts of a change, and what was cleaned; `failure` is why that is incomplete."""

    found: tuple[TextPlace, ...] = ()
    cleaned: Outcome | None = None
    failure: InspectorError | None = None

    @property
    def notes(self) -> list[str]:
        """The failure as a sentence."""
        return [] if self.failure is None else [f"The change is done, but other copies are not known: {self.failure}"]

    @property
    def exit_code(self) -> int:
        """The exit code of the failure."""
        return DONE if self.failure is None else self.failure.exit_code


NO_COPIES = Copies()


def change_document(
    store: Library | Target,
    outcome: Outcome,
    *,
    verb: str | None = None,
    dry_run: bool = False,
    entries: Sequence[dict[str, Any]] = (),
    copies: Copies = NO_COPIES,
    **more: Any,
) -> dict[str, Any]:
    """The document of all changes, as `help json` describes it; the fields of `more` come last."""
    from zeroclaw_tui.curation.library import Library

    cleaned = copies.cleaned
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
        "entries": list(entries[:MAX_ENTRIES]),
        "notes": [*outcome.notes, *copies.notes],
        "also_found_in": [copy.as_json() for copy in copies.found],
        "cleaned": None
        if cleaned is None
        else {"action": cleaned.action.number if cleaned.action else None, "count": cleaned.count},
    }
    # The order of the fields is that of the help.
    return dict.fromkeys(names) | outcome.as_json() | about | more


def entry_summary(memory: RowVersion | MemoryEntry) -> dict[str, Any]:
    """A memory as an item of `entries` in the document of a change."""
    return {name: getattr(memory, name) for name in _NAMES}


def print_copies(copies: Copies, *, cleaning: bool) -> None:
    """Print what --clean-copies cleaned, then the other copies: a summary, and a line for each place."""
    from zeroclaw_tui.curation.traces.copies import cleaned_sentence, found_sentence

    lines: list[Line] = []
    if copies.cleaned is not None and copies.cleaned.count:
        sentence = "That is a separate change, and undo reverses it first."
        lines.append(f"{cleaned_sentence(copies.cleaned)} {sentence}")
    if copies.found:
        lines.append(Styled(found_sentence(copies.found), YELLOW))
    for copy in copies.found:
        lines.append(("  ", copy.sentence, Styled(" (can be cleaned)" if copy.can_clean else "", YELLOW)))
    if not cleaning and any(copy.can_clean for copy in copies.found):
        repeat = "undo the change and repeat it with --clean-copies"
        erase = runnable("`zeroclaw memory erase TEXT`, which cannot be undone")
        lines.append(Styled(f"To clean them: {repeat}, or run {erase}.", DIM))
    output.write_lines(lines)
    output.notes(copies.notes)


def note_stopped(count: int, total: str) -> int:
    """Say on stderr how much of a change was done before Ctrl-C, and return the exit code."""
    output.note(f"zeroclaw: Stopped after {count:,} of {total}. Run it again for the rest.")
    return INTERRUPTED


def skipped_lines(outcome: Outcome) -> Iterator[Line]:
    """Yield which memories were skipped, and which ones got another key."""
    yield from outcome.skipped_sentences(with_ids=True)
    yield from renaming_sentences(outcome.renamed, MOST_NAMED)


async def print_done(
    library: Library,
    args: argparse.Namespace,
    plan: PurgePlan,
    outcome: Outcome,
    done: Line,
    texts: Sequence[str] | None = (),
) -> int:
    """Print the result, with `done` as its first line, then the other copies of the texts; return the exit code.

    `texts` are those of a change that left nothing in the trash; if None, copies are not searched.
    """
    output.notes(outcome.notes)
    if not args.json:
        output.write_lines([*([done] if outcome.count or outcome.cancelled else []), *skipped_lines(outcome)])
        if outcome.verb != "forget" and outcome.action is not None:
            output.write_lines([outcome.trash_sentence(undo_hint())])
        sys.stdout.flush()
    copies = NO_COPIES if texts is None else await look_for_copies(library, args, outcome, texts)
    if args.json:
        skipped = {*outcome.changed, *outcome.missing}
        # After a stopped change only the trash knows which memories were deleted.
        deleted = [] if outcome.cancelled else [version for version in plan.versions if version.id not in skipped]
        entries = [entry_summary(version) for version in deleted[:MAX_ENTRIES]]
        output.print_document(change_document(library, outcome, entries=entries, copies=copies, **plan.as_json()))
    else:
        print_copies(copies, cleaning=args.clean_copies)
    if outcome.cancelled:
        return note_stopped(outcome.count, counted(plan.count))
    return REFUSED if outcome.changed else copies.exit_code


async def copies_of_plan(library: Library, plan: PurgePlan) -> tuple[TextPlace, ...]:
    """Find other copies of the texts of a plan; empty if the plan is too large to search."""
    from zeroclaw_tui.curation.traces.copies import entries_of, find_copies

    if plan.count > MAX_SEARCHED_BEFORE:
        return ()
    return tuple(await find_copies(library, [entry.content for entry in await entries_of(library, plan)]))


async def look_for_copies(
    library: Library, args: argparse.Namespace, outcome: Outcome, texts: Sequence[str] = ()
) -> Copies:
    """Find other copies of the texts that a change removed, and clean them if --clean-copies is given.

    `texts` are those of a change that left nothing in the trash.
    """
    from zeroclaw_tui.curation.traces.copies import clean_copies, contents_of, find_copies

    if not outcome.count:
        return NO_COPIES
    cleaned: Outcome | None = None
    try:
        if outcome.action is not None:
            texts = await contents_of(library, outcome.action.number)
        copies = await find_copies(library, texts)
        cleanable = [copy for copy in copies if copy.can_clean]
        if args.clean_copies and cleanable:
            cleaned = await clean_copies(library, cleanable)
            copies = await find_copies(library, texts)
        return Copies(tuple(copies), cleaned)
    except InspectorError as error:
        return Copies((), cleaned, error)


def content_difference(before: Row | None, after: Row | None) -> list[str] | None:
    """Return the lines of the unified diff of two contents; None if they are equal or very long."""
    import difflib

    old, new = ("" if row is None else row.entry().content for row in (before, after))
    if old == new or len(old) + len(new) > MOST_COMPARED:
        return None
    lines = difflib.unified_diff(old.split("\n") if old else [], new.split("\n") if new else [], lineterm="", n=2)
    return [*lines][2:]


def difference_lines(before: Row | None, after: Row | None) -> Iterator[Line]:
    """Yield the differences: a line for each field, then the diff of the content."""
    if before is not None and after is not None:
        old, new = before.entry(), after.entry()
        for name in changed_fields(old, new):
            if name != "content":
                yield f"  {name.removesuffix('_id')}: {_as_text(getattr(old, name))} → {_as_text(getattr(new, name))}"
    lines = content_difference(before, after)
    # The journal does not store the content of a new memory.
    contents = ["" if row is None else row.entry().content for row in (before, after)]
    if lines is None and contents[0] != contents[1]:
        sizes = [NOTHING if row is None else size_shown(row.entry().size) for row in (before, after)]
        yield f"  content: {' → '.join(sizes)}, too long to compare here"
    for line in lines or ():
        yield ("  ", Styled(line, {"+": GREEN, "-": RED}.get(line[:1], DIM)))


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return NOTHING if value is None else one_line(str(value)) or '""'
