"""What was changed and deleted here: undo, redo, and the verbs of the trash."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from zeroclaw_tui.cli.options import (
    add_dry_run,
    add_page,
    agents_given,
    exactly,
    nothing_found,
    positive,
    several_agents,
)
from zeroclaw_tui.cli.output import (
    BOLD,
    DIM,
    GREEN,
    YELLOW,
    Styled,
    document,
    note,
    width,
    write_lines,
)
from zeroclaw_tui.cli.plans import (
    LOOKED_FOR_BEFORE,
    MOST_ENTRIES,
    NOTHING_DONE,
    Progress,
    check_can_ask,
    check_writable,
    clash_lines,
    clashes_as_json,
    confirm,
    confirm_count,
    content_difference,
    difference_lines,
    left_alone_lines,
    named_as_json,
    print_change,
    print_notes,
    with_conflict_sentences,
    with_triggers,
)
from zeroclaw_tui.cli.verbs import CHANGED, verb
from zeroclaw_tui.memory.days import time_here
from zeroclaw_tui.memory.errors import DONE, INTERRUPTED, REFUSED, NotFound, Refused, UsageError
from zeroclaw_tui.memory.text import counted, cut, one_line, padded, size_shown

if TYPE_CHECKING:
    from datetime import datetime

    from zeroclaw_tui.cli.output import Line
    from zeroclaw_tui.curation.journal import TrashUsage
    from zeroclaw_tui.curation.journal_records import Action, TrashRow, Verb, Version
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.outcome import Outcome
    from zeroclaw_tui.memory.change import ApplyResult, Batches, RowChange


SAMPLES = 3
MOST_LISTED = 100
_DONE = {"undo": "undone", "redo": "redone"}
KEY_CELLS = 24
ROWS_AT_ONCE = 500
NOTHING_THERE = "The trash is empty."


def _undo_options(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--id", type=positive, metavar="N", help="The change with this number, even if later changes exist"
    )
    which.add_argument("--list", action="store_true", help="List the changes made here with their numbers")
    _add_clash(parser)
    add_dry_run(parser)


@verb("undo", "Undo the last change", CHANGED, _undo_options, changes=True)
async def undo(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Say what the last change was, what taking it back does and what is in its way; ask, and do it.

    The document of an undo is that of every change (see `print_change`) with "undone": {"number", "verb", "at",
    "summary", "count"} of the change that was undone, or would be, and "next": the same of the one that another
    undo would undo, or null. With --dry-run there are "on_clash" ("refuse", "overwrite" or "rename"), "clashing"
    (how many memories cannot simply come back) and "clashes" in place of "next", at most 100 of {"id", "key",
    "because", "present"}, `present` the id of what is in its place; `count` is 0 where nothing would be done. With
    --list it is {"backend", "location", "actions"}, the newest first, each with "open" (what is not undone) and
    "until" (when the trash deletes it, RFC 3339) besides. Exit code 1 where there is nothing to undo, after a no, and
    where something has changed in between: then each memory is named with its conflict.
    """
    from zeroclaw_tui.curation import changes

    if given.list:
        return await _list_changes(library, given)
    await _ready(library, given)
    if given.id is not None:
        last: Action | None = await changes.change_numbered(library, given.id)
    else:
        last = await library.trash.last()
    if last is None:
        raise await changes.nothing_to_undo(library)
    return await _reverse(library, given, _Way("undo", "redo", "Undo it?", "Undoing", changes.undo), last)


def _redo_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--id", type=positive, metavar="N", help="The change with this number, even if later changes exist"
    )
    _add_clash(parser)
    add_dry_run(parser)


@verb("redo", "Redo the last undone change", CHANGED, _redo_options, changes=True)
async def redo(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Say what was undone last, what a redo does and what is in conflict; ask, and do it.

    The document is that of `undo`, with "redone" in the place of "undone"; "next" is what another redo would do.
    """
    from zeroclaw_tui.curation import changes

    await _ready(library, given)
    change = await changes.undone_change(library, given.id)
    return await _reverse(library, given, _Way("redo", "undo", "Redo it?", "Redoing", changes.redo), change)


class _Way(NamedTuple):
    """How a change is reversed, and what takes that `back`."""

    verb: Literal["undo", "redo"]
    back: str
    question: str
    doing: str
    reverse: Callable[..., Awaitable[Outcome]]


async def _ready(library: Library, given: argparse.Namespace) -> None:
    if not given.dry_run:
        check_writable(library, given)
        check_can_ask(given.verb, yes=given.yes)
        await library.trash.recover(library.memory)


async def _reverse(library: Library, given: argparse.Namespace, way: _Way, change: Action) -> int:
    numbers = await library.trash.numbers_to_turn(change.number, way.verb)
    count = change.open if way.verb == "undo" else change.count - change.open
    rows = library.trash.changes_numbered(numbers)
    if given.dry_run or not given.yes:
        foreseen = await _foreseen(library, given, numbers, way.back)
        head: Line = (f"Change {change.number}, {time_here(change.at)}: ", change.title)
        lines = _plan_lines(given, head, rows, count, foreseen, way.back)
        if given.dry_run:
            facts: dict[str, Any] = {_DONE[way.verb]: change.as_json()}
            return _print_plan(library, given, way.verb, rows, count, foreseen, lines, **facts)
        if not confirm(way.question, lines):
            return REFUSED
    with Progress(way.doing, count) as progress:

        def work() -> Awaitable[Outcome]:
            return way.reverse(
                library,
                expected=change.number,
                number=given.id,
                on_conflict=given.on_conflict,
                on_progress=progress.advance,
            )

        outcome = await with_triggers(library, given, lambda: with_conflict_sentences(work, back=way.back), asks=True)
    return REFUSED if outcome is None else await _print_done(library, given, outcome, count)


async def _foreseen(library: Library, given: argparse.Namespace, numbers: Sequence[int], back: str) -> ApplyResult:
    """What taking these back would do; for a question about so many that looking takes long, only how many they are.

    Raises Conflicts where a question would be about what cannot be done.
    """
    from zeroclaw_tui.curation.changes import foresee
    from zeroclaw_tui.memory.change import ApplyResult, Conflicts

    if not given.dry_run and len(numbers) > LOOKED_FOR_BEFORE:
        return ApplyResult(len(numbers))

    async def look() -> ApplyResult:
        foreseen = await foresee(library, numbers, given.on_conflict)
        if foreseen.conflict_count and given.on_conflict == "refuse" and not given.dry_run:
            raise Conflicts(foreseen.conflicts, foreseen.conflict_count)
        return foreseen

    return await with_conflict_sentences(look, back=back)


async def _list_changes(library: Library, given: argparse.Namespace) -> int:
    actions = await library.trash.actions(limit=MOST_LISTED)
    if given.json:
        listed = [{**action.as_json(), "open": action.open, "until": action.until} for action in actions]
        document({"backend": library.memory.name, "location": library.memory.about.location, "actions": listed})
        return DONE
    if not actions:
        write_lines([("No changes recorded here.",)])
        return DONE
    wide = max(6, len(str(actions[0].number)))
    write_lines([(Styled(f"{padded('id', wide, right=True)}  {padded('done', 16)}  change", DIM),)])
    for action in actions:
        mark = "" if action.open else "undone: "
        beginning = f"{padded(str(action.number), wide, right=True)}  {padded(time_here(action.at), 16)}  {mark}"
        write_lines([(beginning, cut(action.title, max(20, width() - len(beginning))))])
    return DONE


def _plan_lines(
    given: argparse.Namespace, head: Line, rows: Batches, count: int, foreseen: ApplyResult, back: str
) -> Iterator[Line]:
    from zeroclaw_tui.curation.outcome import undo_sentence

    yield head
    for row in islice(_each(rows), SAMPLES):
        yield ("  ", cut(undo_sentence(row), max(20, width() - 2)))
    if count > SAMPLES:
        yield (Styled(f"  … {count - SAMPLES:,} more", DIM),)
    yield from clash_lines(foreseen, given.on_conflict, back=back)


def _print_plan(
    library: Library,
    given: argparse.Namespace,
    verb: Verb,
    rows: Batches,
    count: int,
    foreseen: ApplyResult,
    lines: Iterator[Line],
    **more: Any,
) -> int:
    from zeroclaw_tui.curation.outcome import Outcome

    if given.json:
        entries = [named_as_json(row.row.entry()) for row in islice(_each(rows), MOST_ENTRIES)]
        planned = Outcome(verb, count if foreseen.written else 0, renamed=foreseen.renamed, notes=foreseen.notes)
        more |= clashes_as_json(foreseen, given.on_conflict)
        print_change(library, planned, dry_run=True, entries=entries, **more)
    else:
        write_lines(lines)
        note(NOTHING_DONE)
    return DONE


async def _print_done(library: Library, given: argparse.Namespace, outcome: Outcome, wanted: int) -> int:

    print_notes(outcome)
    is_redo = outcome.verb == "redo"
    change = outcome.turned
    if given.json:
        following = await (library.trash.last_undone() if is_redo else library.trash.last())
        facts: dict[str, Any] = {_DONE[outcome.verb]: change.as_json() if change else None}
        print_change(library, outcome, **facts, next=following.as_json() if following else None)
    else:
        write_lines([(Styled("✓", GREEN), f" {outcome.headline()} ({counted(outcome.count, 'change')})")])
        write_lines(left_alone_lines(outcome))
    if outcome.cancelled:
        again = f"{outcome.verb} again for the rest"
        note(f"zeroclaw: Stopped after {outcome.count:,} of {counted(wanted, 'change')}; {again}.")
    return INTERRUPTED if outcome.cancelled else DONE


def _each(rows: Batches) -> Iterator[RowChange]:
    """The changes to show; those of notes files come with their memories."""
    from zeroclaw_tui.memory.change import NOTES_FILE

    for batch in rows():
        yield from (change for change in batch if change.row.table != NOTES_FILE)


def _trash_list_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--contains", metavar="TEXT", help="Key or content contains TEXT (case-insensitive)")
    add_page(parser)
    parser.add_argument("--every-store", action="store_true", help="Include all stores of this config directory")


@verb(
    "trash list",
    "List deleted memories",
    "{backend, location, total, offset, limit, usage, entries}",
    _trash_list_options,
)
async def trash_list(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """List what was deleted.

    Each of "entries" has "number", "action", "verb", "deleted_at", "until", "size" (bytes, vector included), "store"
    and the names of an entry as `get` prints it; "usage" is {"rows", "bytes", "days_kept", "bytes_kept", "oldest"} of
    the whole trash.
    """
    from dataclasses import asdict

    await _recover(library, given)
    rows, total = await library.trash.listing(
        given.contains or "", limit=given.limit, offset=given.offset, every_store=given.every_store
    )
    usage = await library.trash.usage()
    if not given.json:
        write_lines(_list_lines(rows, total, given))
        write_lines([(Styled(_usage_text(usage), DIM),)])
        if usage.rows and not total and not (given.contains or given.every_store):
            write_lines([("All of them are from other stores; --every-store lists them.",)])
        return DONE
    document(
        {
            "backend": library.memory.name,
            "location": library.memory.about.location,
            "total": total,
            "offset": given.offset,
            "limit": given.limit,
            "usage": asdict(usage),
            "entries": [_row_as_json(row) for row in rows],
        }
    )
    return DONE


async def _recover(library: Library, given: argparse.Namespace) -> None:
    """End what a change that was cut off left half done, where that may be written."""
    if not given.read_only and library.read_only_because is None:
        await library.trash.recover(library.memory)


def _trash_restore_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("numbers", nargs="*", type=positive, metavar="NUMBER", help="Numbers as shown by `trash list`")
    parser.add_argument("--contains", metavar="TEXT", help="All whose key or content contains TEXT (case-insensitive)")
    parser.add_argument("--all", action="store_true", help="All of this store")
    parser.add_argument("--id", metavar="ID", help="The memory with this id")
    _add_clash(parser)
    add_dry_run(parser)


@verb("trash restore", "Restore deleted memories", CHANGED, _trash_restore_options, changes=True)
async def trash_restore(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Bring deleted memories back; the document is that of every change (see `print_change`).

    With --dry-run it has "on_clash", "clashing" and "clashes" besides, as that of `undo`.
    """
    from zeroclaw_tui.curation.changes import check_restorable, restore

    if not given.dry_run:
        await _recover(library, given)
        check_writable(library, given)
    numbers = await _numbers_meant(library, given)
    if given.dry_run:
        await check_restorable(library, numbers)
        foreseen, count = await _foreseen(library, given, numbers, "undo"), len(numbers)
        rows = library.trash.changes_numbered(numbers)
        lines = _plan_lines(given, (Styled(f"Restore {counted(count)}?", BOLD),), rows, count, foreseen, "undo")
        return _print_plan(library, given, "restore", rows, count, foreseen, lines)
    with Progress("Restoring", len(numbers)) as progress:
        outcome = await with_triggers(
            library,
            given,
            lambda: with_conflict_sentences(
                lambda: restore(library, numbers, on_conflict=given.on_conflict, on_progress=progress.advance),
            ),
            asks=False,
        )
    assert outcome is not None
    print_notes(outcome)
    if given.json:
        print_change(library, outcome)
    else:
        write_lines([(Styled("✓", GREEN), f" {outcome.headline()}")])
        write_lines(left_alone_lines(outcome))
    if outcome.cancelled:
        note(f"zeroclaw: Stopped after {outcome.count:,} of {counted(len(numbers))}.")
    return INTERRUPTED if outcome.cancelled else DONE


async def _numbers_meant(library: Library, given: argparse.Namespace) -> list[int]:
    """The numbers in the trash of what should come back. Raises UsageError, NotFound."""
    ways = [bool(given.numbers), given.contains is not None, given.all, given.id is not None]
    if sum(ways) != 1:
        raise UsageError(
            "Restore what?" if not any(ways) else "Restore by one way at a time.",
            hint="Give NUMBERs as `zeroclaw memory trash list` shows them, --contains TEXT, --id ID or --all.",
        )
    if given.numbers:
        return list(dict.fromkeys(given.numbers))
    if given.id is not None:
        found = [row.number async for row in _every_row(library) if row.row.id == given.id][:1]
    else:
        found = await library.trash.numbers(given.contains or "")
    if not found:
        raise NotFound("The trash has no such memory.", hint="`zeroclaw memory trash list` shows what does.")
    return found


def _trash_empty_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("numbers", nargs="*", type=positive, metavar="NUMBER", help="Numbers as shown by `trash list`")
    add_dry_run(parser)


@verb(
    "trash empty",
    "Permanently delete memories from the trash (default: all)",
    CHANGED,
    _trash_empty_options,
)
async def trash_empty(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Permanently delete from the trash; its document is that of every change, "verb" empty and `action` null."""
    await _recover(library, given)
    if given.read_only:
        raise Refused("With --read-only nothing is changed, not even the trash.")
    if not given.dry_run:
        check_can_ask("trash empty", yes=given.yes)
    numbers = list(dict.fromkeys(given.numbers)) or None
    if numbers:
        rows = [await library.trash.row(number) for number in numbers]
        count = len(rows)
    else:
        rows, count = await library.trash.listing(limit=SAMPLES)
        if not count and not await library.trash.actions(limit=1):
            return _print_empty(library, given, 0, [(NOTHING_THERE,)])
    lines = _empty_lines(rows, count, everything=numbers is None)
    if given.dry_run:
        return _print_empty(library, given, count, lines)
    if not given.yes and not _agreed_to_empty(count, lines):
        return REFUSED
    gone = await library.trash.empty(numbers)
    return _print_empty(library, given, gone, [(Styled("✓", GREEN), f" {counted(gone)} permanently deleted.")])


def _agreed_to_empty(count: int, shown: Sequence[Line]) -> bool:
    from zeroclaw_tui.curation.purge_plan import TYPED_FROM

    if count >= TYPED_FROM:
        return confirm_count(count, "delete them permanently", shown)
    return confirm("Delete permanently?", shown)


def _print_empty(library: Library, given: argparse.Namespace, count: int, lines: Sequence[Line]) -> int:
    from zeroclaw_tui.curation.outcome import Outcome

    if given.json:
        print_change(library, Outcome("clean", count), verb="empty", dry_run=given.dry_run)
        return DONE
    write_lines(lines)
    if given.dry_run:
        note(NOTHING_DONE)
    return DONE


def _empty_lines(rows: Sequence[TrashRow], count: int, *, everything: bool) -> list[Line]:
    head = f"Empty the trash of {counted(count)}?" if everything else f"Permanently delete {counted(count)}?"
    lines: list[Line] = [(Styled(head, BOLD),)]
    for row in rows[:SAMPLES]:
        lines.append(("  ", one_line(row.row.entry().key), f"  deleted {time_here(row.deleted_at)[:10]}"))
    if count > SAMPLES:
        lines.append((Styled(f"  … {count - SAMPLES:,} more", DIM),))
    last = "  This cannot be undone"
    last += ", and neither can any change made to this store so far." if everything else "."
    return [*lines, (Styled(last, YELLOW),)]


async def print_history(library: Library, given: argparse.Namespace) -> int:
    """Print every change made here to one memory, which may be deleted by now, the newest first.

    Its document is {"backend", "location", "ids", "versions"}. Each version has "action", "verb", "at", "id", "before",
    "after" (entries or null) and "diff", the unified diff of the content or null.
    """
    await _recover(library, given)
    ids = await _ids_meant(library, given)
    versions = [(wanted, version) for wanted in ids for version in await library.trash.history(wanted)]
    versions.sort(key=lambda found: found[1].action, reverse=True)
    if given.json:
        document(
            {
                "backend": library.memory.name,
                "location": library.memory.about.location,
                "ids": ids,
                "versions": [_version_as_json(wanted, version) for wanted, version in versions],
            }
        )
    elif versions:
        write_lines(line for _, version in versions for line in _version_lines(version))
    else:
        write_lines([("No change was made to this memory here.",)])
    return DONE


async def _ids_meant(library: Library, given: argparse.Namespace) -> list[str]:
    """The ids that have or had the key: deleted and stored anew, a memory has another."""
    agents = agents_given(given)
    present = await exactly(library, given.key, given.id, agents)
    if given.id is not None and given.key is None:
        rows = [version.after or version.before for version in await library.trash.history(given.id)]
        shown_rows = [row for row in rows if not agents or (row is not None and row.agent in agents)]
        if not present and not shown_rows:
            raise NotFound(nothing_found(None, given.id))
        return [given.id]
    if len(present) > 1:
        raise several_agents(present)
    ids = [entry.id for entry in present]
    async for row in _every_row(library, given.key):
        entry = row.row.entry()
        if entry.key == given.key and (not agents or entry.agent in agents) and given.id in (None, entry.id):
            ids.append(entry.id)
    if not ids:
        raise NotFound(nothing_found(given.key, given.id), hint="Pass --id ID for a memory that was renamed.")
    return list(dict.fromkeys(ids))


async def _every_row(library: Library, contains: str = "") -> AsyncIterator[TrashRow]:
    offset, total = 0, 1
    while offset < total:
        rows, total = await library.trash.listing(contains, limit=ROWS_AT_ONCE, offset=offset)
        for row in rows:
            yield row
        offset += ROWS_AT_ONCE


def _list_lines(rows: Sequence[TrashRow], total: int, given: argparse.Namespace) -> Iterator[Line]:
    if not rows:
        yield (NOTHING_THERE if not total else f"Nothing at offset {given.offset} (total: {total:,}).",)
        return
    wide = max(6, *(len(str(row.number)) for row in rows))
    room = max(16, width() - wide - KEY_CELLS - 42)
    head = (
        f"{padded('number', wide, right=True)}  {padded('deleted', 16)}  {padded('by', 7)}  {padded('key', KEY_CELLS)}"
    )
    yield (Styled(f"{head}  {padded('memory', room)}  {padded('size', 7, right=True)}", DIM),)
    for row in rows:
        entry = row.row.entry()
        yield (
            padded(str(row.number), wide, right=True) + "  ",
            padded(time_here(row.deleted_at), 16) + "  ",
            padded(row.verb, 7) + "  ",
            Styled(_fitted(entry.key, KEY_CELLS), BOLD),
            "  " + _fitted(entry.content[: 4 * room], room) + "  ",
            padded(size_shown(row.size), 7, right=True),
        )
        if given.every_store:
            yield (" " * (wide + 2), Styled(one_line(row.store), DIM))
    if given.offset + len(rows) < total:
        yield (f"{total - given.offset - len(rows):,} more; use --offset {given.offset + given.limit}.",)


def _fitted(text: str, room: int) -> str:
    return padded(cut(one_line(text), room), room)


def _usage_text(usage: TrashUsage) -> str:
    return (
        f"{counted(usage.rows)} in the trash of this config dir, {size_shown(usage.bytes)} of"
        f" {size_shown(usage.bytes_kept)}; each stays for {usage.days_kept} days."
    )


def _version_lines(version: Version) -> Iterator[Line]:
    row = version.after or version.before
    key = one_line(row.entry().key) if row else ""
    yield (Styled(f"{time_here(version.at)}  {_done(version)}", BOLD), f"  {key}")
    yield from difference_lines(version.before, version.after)
    yield ()


def _done(version: Version) -> str:
    """What was done, in a word: an undo brings back, takes away or changes."""
    if version.before is None:
        return f"{version.verb}: here again" if version.verb in ("undo", "redo", "restore") else version.verb
    return f"{version.verb}: gone" if version.after is None else version.verb


def _row_as_json(row: TrashRow) -> dict[str, Any]:
    return {
        "number": row.number,
        "action": row.action,
        "verb": row.verb,
        "deleted_at": row.deleted_at,
        "until": row.until,
        "size": row.size,
        "store": row.store,
        **row.row.entry().as_json(),
    }


def _version_as_json(id: str, version: Version) -> dict[str, Any]:
    difference = content_difference(version.before, version.after)
    return {
        "action": version.action,
        "verb": version.verb,
        "at": version.at,
        "id": id,
        "before": version.before.entry().as_json() if version.before else None,
        "after": version.after.entry().as_json() if version.after else None,
        "diff": None if difference is None else "\n".join(difference),
    }


def _add_clash(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--overwrite", dest="on_conflict", action="store_const", const="overwrite", default="refuse",
        help="Replace the existing memory",
    )  # fmt: skip
    group.add_argument(
        "--rename", dest="on_conflict", action="store_const", const="rename", default="refuse",
        help="Keep both; restore under another key",
    )  # fmt: skip
