"""What was changed and deleted here: undo, redo, and the verbs of the trash."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.cli.chosen import exactly, nothing_found, several_agents
from zeroclaw_tui.cli.options import add_dry_run, add_page, agents_given, positive
from zeroclaw_tui.cli.output import BOLD, DIM, GREEN, YELLOW, Styled, document, note, width, write_lines
from zeroclaw_tui.cli.plans import (
    LOOKED_FOR_BEFORE,
    MOST_ENTRIES,
    NOTHING_DONE,
    Progress,
    check_can_ask,
    check_writable,
    confirm,
    confirm_count,
    conflict_lines,
    content_difference,
    difference_lines,
    named_as_json,
    print_change,
    print_notes,
    skipped_lines,
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
    from zeroclaw_tui.curation.journal_records import TrashRow, Version
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.outcome import Outcome
    from zeroclaw_tui.memory.change import ApplyResult, RowChange


_SAMPLES = 3
_MOST_LISTED = 100
_MOST_FOUND = 10_000
_KEY_CELLS = 24
_EMPTY = "The trash is empty."


# Undo and redo


def _undo_options(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    _add_id(which)
    which.add_argument("--list", action="store_true", help="List the changes made here with their numbers")
    _add_conflict_options(parser)
    add_dry_run(parser)


@verb(
    "undo",
    "Undo the last change",
    CHANGED,
    _undo_options,
    changes=True,
    examples=("undo --dry-run", "undo --list"),
)
async def undo(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Undo the last change, or that of a number, once a person agrees; with --list show all of them."""
    return await (_list_changes if given.list else _turn_action)(library, given)


def _redo_options(parser: argparse.ArgumentParser) -> None:
    _add_id(parser)
    _add_conflict_options(parser)
    add_dry_run(parser)


@verb(
    "redo",
    "Redo the last undone change",
    CHANGED,
    _redo_options,
    changes=True,
    examples=("redo --dry-run", "redo --id 12"),
)
async def redo(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Redo what was undone last, or the change of a number, once a person agrees."""
    return await _turn_action(library, given)


async def _turn_action(library: Library, given: argparse.Namespace) -> int:
    """Show what an undo or a redo does, ask, and do it."""
    from zeroclaw_tui.curation.changes import action_to_turn, turn_action

    is_undo = given.verb == "undo"
    if not given.dry_run:
        check_writable(library, given)
        check_can_ask(given.verb, yes=given.yes)
        await library.trash.recover(library.memory)
    action = await action_to_turn(library, given.verb, given.id)
    numbers = await library.trash.numbers_to_turn(action.number, given.verb)
    count = action.open if is_undo else action.count - action.open
    name = "undone" if is_undo else "redone"
    head: Line = (f"Change {action.number}, {time_here(action.at)}: ", action.title)
    if given.dry_run:
        return await _print_plan(library, given, head, numbers, count, **{name: action.as_json()})
    if not given.yes:
        preview = await with_conflict_sentences(partial(_preview, library, given, numbers))
        if not confirm(f"{given.verb.capitalize()} it?", _plan_lines(library, given, head, numbers, count, preview)):
            return REFUSED
    turn = partial(turn_action, library, given.verb, expected=action.number, number=given.id)
    outcome = await _with_progress(library, given, f"{given.verb.capitalize()}ing", count, turn, asks=True)
    if outcome is None:
        return REFUSED
    facts: dict[str, Any] = {}
    if given.json:
        following = await (library.trash.last() if is_undo else library.trash.last_undone())
        facts = {name: outcome.turned.as_json() if outcome.turned else None}
        facts["next"] = following.as_json() if following else None
    return _print_done(library, given, outcome, count, "change", **facts)


async def _preview(library: Library, given: argparse.Namespace, numbers: Sequence[int]) -> ApplyResult:
    """Return what undoing these changes would do; of very many only how many they are.

    Raises Conflicts, because a question would be about what cannot be done.
    """
    from zeroclaw_tui.curation.changes import preview_turn
    from zeroclaw_tui.memory.change import ApplyResult, Conflicts

    if len(numbers) > LOOKED_FOR_BEFORE:
        return ApplyResult(len(numbers))
    preview = await preview_turn(library, numbers, given.on_conflict)
    if preview.conflict_count and given.on_conflict == "refuse":
        raise Conflicts(preview.conflicts, preview.conflict_count)
    return preview


async def _print_plan(
    library: Library, given: argparse.Namespace, head: Line, numbers: Sequence[int], count: int, **facts: Any
) -> int:
    from zeroclaw_tui.curation.changes import preview_turn
    from zeroclaw_tui.curation.outcome import Outcome

    preview = await preview_turn(library, numbers, given.on_conflict)
    if not given.json:
        write_lines(_plan_lines(library, given, head, numbers, count, preview))
        note(NOTHING_DONE)
        return DONE
    kind: Any = given.verb.removeprefix("trash ")
    outcome = Outcome(kind, count if preview.written else 0, renamed=preview.renamed, notes=preview.notes)
    conflicts = [conflict.as_json() for conflict in preview.conflicts]
    facts |= {"on_clash": given.on_conflict, "clashing": preview.conflict_count, "clashes": conflicts}
    entries = [named_as_json(change.row.entry()) for change in _first_changes(library, numbers, MOST_ENTRIES)]
    print_change(library, outcome, dry_run=True, entries=entries, **facts)
    return DONE


def _plan_lines(
    library: Library, given: argparse.Namespace, head: Line, numbers: Sequence[int], count: int, preview: ApplyResult
) -> list[Line]:
    from zeroclaw_tui.curation.outcome import undo_sentence

    room = max(20, width() - 2)
    samples = [("  ", cut(undo_sentence(one), room)) for one in _first_changes(library, numbers, _SAMPLES)]
    return [head, *samples, *_more_lines(count), *conflict_lines(preview, given.on_conflict)]


def _first_changes(library: Library, numbers: Sequence[int], count: int) -> list[RowChange]:
    """Return the first changes, without those of notes files, which come along with their memories."""
    from zeroclaw_tui.memory.change import NOTES_FILE

    every = (change for change in library.trash.changes_to_turn(numbers) if change.row.table != NOTES_FILE)
    return list(islice(every, count))


async def _with_progress(
    library: Library,
    given: argparse.Namespace,
    doing: str,
    count: int,
    change: Callable[..., Awaitable[Outcome]],
    *,
    asks: bool,
) -> Outcome | None:
    with Progress(doing, count) as progress:
        make = partial(change, on_conflict=given.on_conflict, on_progress=progress.advance)
        return await with_triggers(library, given, lambda: with_conflict_sentences(make), asks=asks)


def _print_done(
    library: Library, given: argparse.Namespace, outcome: Outcome, wanted: int, noun: str, **facts: Any
) -> int:
    print_notes(outcome)
    if given.json:
        print_change(library, outcome, **facts)
    else:
        counts = f" ({counted(outcome.count, noun)})" if outcome.turned else ""
        write_lines([(Styled("✓", GREEN), f" {outcome.headline()}{counts}"), *skipped_lines(outcome)])
    if not outcome.cancelled:
        return DONE
    note(f"zeroclaw: Stopped after {outcome.count:,} of {counted(wanted, noun)}; {given.verb} again for the rest.")
    return INTERRUPTED


async def _list_changes(library: Library, given: argparse.Namespace) -> int:
    actions = await library.trash.actions(limit=_MOST_LISTED)
    if given.json:
        listed = [{**action.as_json(), "open": action.open, "until": action.until} for action in actions]
        document({**_store_names(library), "actions": listed})
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


def _more_lines(count: int) -> list[Line]:
    return [(Styled(f"  … {count - _SAMPLES:,} more", DIM),)] if count > _SAMPLES else []


def _store_names(library: Library) -> dict[str, str]:
    return {"backend": library.memory.name, "location": library.memory.about.location}


# The trash


def _trash_list_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--contains", metavar="TEXT", help="Key or content contains TEXT (case-insensitive)")
    add_page(parser)
    parser.add_argument("--every-store", action="store_true", help="Include all stores of this config directory")


@verb(
    "trash list",
    "List deleted memories",
    "{backend, location, total, offset, limit, usage, entries}",
    _trash_list_options,
    examples=("trash list --contains tea", "trash list --json"),
)
async def trash_list(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """List deleted memories: the fields of `get`, with when and by which change each was deleted."""
    from dataclasses import asdict

    await _recover(library, given)
    rows, total = await library.trash.listing(
        given.contains or "", limit=given.limit, offset=given.offset, every_store=given.every_store
    )
    usage = await library.trash.usage()
    if given.json:
        page = {"total": total, "offset": given.offset, "limit": given.limit}
        entries = [_row_as_json(row) for row in rows]
        document({**_store_names(library), **page, "usage": asdict(usage), "entries": entries})
        return DONE
    write_lines(_list_lines(rows, total, given))
    sizes = f"{size_shown(usage.bytes)} of {size_shown(usage.bytes_kept)}"
    about = f"{counted(usage.rows)} in the trash of this config dir, {sizes}; each stays for {usage.days_kept} days."
    write_lines([(Styled(about, DIM),)])
    if usage.rows and not total and not (given.contains or given.every_store):
        write_lines([("All of them are from other stores; --every-store lists them.",)])
    return DONE


async def _recover(library: Library, given: argparse.Namespace) -> None:
    """End what a change that was cut off left half done, where that may be written."""
    if not given.read_only and library.read_only_because is None:
        await library.trash.recover(library.memory)


def _trash_restore_options(parser: argparse.ArgumentParser) -> None:
    _add_numbers(parser)
    parser.add_argument("--contains", metavar="TEXT", help="All whose key or content contains TEXT (case-insensitive)")
    parser.add_argument("--all", action="store_true", help="All of this store")
    _add_conflict_options(parser)
    add_dry_run(parser)


@verb(
    "trash restore",
    "Restore deleted memories",
    CHANGED,
    _trash_restore_options,
    changes=True,
    examples=("trash restore 12", "trash restore --all --dry-run"),
)
async def trash_restore(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Restore deleted memories."""
    from zeroclaw_tui.curation.changes import check_restorable, restore

    if not given.dry_run:
        await _recover(library, given)
        check_writable(library, given)
    numbers = await _numbers_given(library, given)
    count = len(numbers)
    if given.dry_run:
        await check_restorable(library, numbers)
        return await _print_plan(library, given, (Styled(f"Restore {counted(count)}?", BOLD),), numbers, count)
    make = partial(restore, library, numbers)
    outcome = await _with_progress(library, given, "Restoring", count, make, asks=False)
    return REFUSED if outcome is None else _print_done(library, given, outcome, count, "memory")


async def _numbers_given(library: Library, given: argparse.Namespace) -> list[int]:
    """Return the numbers of the memories to restore. Raises UsageError, NotFound."""
    ways = [bool(given.numbers), given.contains is not None, given.all]
    if sum(ways) != 1:
        raise UsageError(
            "Restore what?" if not any(ways) else "Restore by one way at a time.",
            hint="Give NUMBERs as `zeroclaw memory trash list` shows them, --contains TEXT or --all.",
        )
    found = list(dict.fromkeys(given.numbers)) or await library.trash.numbers(given.contains or "")
    if not found:
        raise NotFound("The trash has no such memory.", hint="`zeroclaw memory trash list` shows what it has.")
    return found


def _trash_empty_options(parser: argparse.ArgumentParser) -> None:
    _add_numbers(parser)
    add_dry_run(parser)


@verb(
    "trash empty",
    "Permanently delete memories from the trash (default: all)",
    CHANGED,
    _trash_empty_options,
    examples=("trash empty --dry-run", "trash empty 12"),
)
async def trash_empty(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Permanently delete from the trash."""
    from zeroclaw_tui.curation.outcome import Outcome
    from zeroclaw_tui.curation.purge_plan import TYPED_FROM

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
        rows, count = await library.trash.listing(limit=_SAMPLES)
    lines: list[Line] = [(_EMPTY,)]
    if count or await library.trash.actions(limit=1):
        lines = _empty_lines(rows, count, everything=numbers is None)
        if not given.dry_run:
            is_typed = count >= TYPED_FROM
            ask = (
                partial(confirm_count, count, "delete them permanently")
                if is_typed
                else partial(confirm, "Delete them?")
            )
            if not given.yes and not ask(lines):
                return REFUSED
            count = await library.trash.empty(numbers)
            lines = [(Styled("✓", GREEN), f" {counted(count)} permanently deleted.")]
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
    for row in rows[:_SAMPLES]:
        lines.append(("  ", one_line(row.row.entry().key), f"  deleted {time_here(row.deleted_at)[:10]}"))
    also = ", and neither can any change made to this store so far" if everything else ""
    return [*lines, *_more_lines(count), (Styled(f"  This cannot be undone{also}.", YELLOW),)]


def _list_lines(rows: Sequence[TrashRow], total: int, given: argparse.Namespace) -> Iterator[Line]:
    if not rows:
        yield (_EMPTY if not total else f"Nothing at offset {given.offset} (total: {total:,}).",)
        return
    wide = max(6, *(len(str(row.number)) for row in rows))
    room = max(16, width() - wide - _KEY_CELLS - 42)
    head = f"{padded('number', wide, right=True)}  {padded('deleted', 16)}  {padded('by', 7)}"
    head = f"{head}  {padded('key', _KEY_CELLS)}  {padded('memory', room)}  {padded('size', 7, right=True)}"
    yield (Styled(head, DIM),)
    for row in rows:
        entry = row.row.entry()
        yield (
            f"{padded(str(row.number), wide, right=True)}  {padded(time_here(row.deleted_at), 16)}  ",
            f"{padded(row.verb, 7)}  ",
            Styled(_fitted(entry.key, _KEY_CELLS), BOLD),
            f"  {_fitted(entry.content[: 4 * room], room)}  {padded(size_shown(row.size), 7, right=True)}",
        )
        if given.every_store:
            yield (" " * (wide + 2), Styled(one_line(row.store), DIM))
    if given.offset + len(rows) < total:
        yield (f"{total - given.offset - len(rows):,} more; use --offset {given.offset + given.limit}.",)


def _fitted(text: str, room: int) -> str:
    return padded(cut(one_line(text), room), room)


def _row_as_json(row: TrashRow) -> dict[str, Any]:
    names = ("number", "action", "verb", "deleted_at", "until", "size", "store")
    return {name: getattr(row, name) for name in names} | row.row.entry().as_json()


# The history of one memory


async def print_history(library: Library, given: argparse.Namespace) -> int:
    """Print every change made here to one memory, which may be deleted by now, the newest first."""
    await _recover(library, given)
    ids = await _ids_given(library, given)
    versions = [(wanted, version) for wanted in ids for version in await library.trash.history(wanted)]
    versions.sort(key=lambda found: found[1].action, reverse=True)
    if given.json:
        listed = [_version_as_json(wanted, version) for wanted, version in versions]
        document({**_store_names(library), "ids": ids, "versions": listed})
        return DONE
    for _, version in versions:
        key = one_line(version.rows[-1].entry().key)
        write_lines([(Styled(f"{time_here(version.at)}  {version.verb}", BOLD), f"  {key}")])
        write_lines([*difference_lines(version.before, version.after), ()])
    if not versions:
        write_lines([("No change was made to this memory here.",)])
    return DONE


async def _ids_given(library: Library, given: argparse.Namespace) -> list[str]:
    """The ids that have or had the key: deleted and stored anew, a memory has another."""
    agents = agents_given(given)
    present = await exactly(library, given.key, given.id, agents)
    if given.key is None:
        rows = [version.rows[-1] for version in await library.trash.history(given.id)]
        if not present and not any(not agents or row.agent in agents for row in rows):
            raise NotFound(nothing_found(None, given.id))
        return [given.id]
    if len(present) > 1:
        raise several_agents(present)
    deleted, _ = await library.trash.listing(given.key, limit=_MOST_FOUND)
    entries = [entry for row in deleted if (entry := row.row.entry()).key == given.key]
    ids = [entry.id for entry in present]
    ids += [entry.id for entry in entries if (not agents or entry.agent in agents) and given.id in (None, entry.id)]
    if not ids:
        raise NotFound(nothing_found(given.key, given.id), hint="Pass --id ID for a memory that was renamed.")
    return list(dict.fromkeys(ids))


def _version_as_json(id: str, version: Version) -> dict[str, Any]:
    difference = content_difference(version.before, version.after)
    rows = {"before": version.before, "after": version.after}
    return {
        "action": version.action,
        "verb": version.verb,
        "at": version.at,
        "id": id,
        **{name: None if row is None else row.entry().as_json() for name, row in rows.items()},
        "diff": None if difference is None else "\n".join(difference),
    }


# Options


def _add_id(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--id", type=positive, metavar="N", help="The change with this number, even if later changes exist"
    )


def _add_numbers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("numbers", nargs="*", type=positive, metavar="NUMBER", help="Numbers as shown by `trash list`")


def _add_conflict_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--overwrite", dest="on_conflict", action="store_const", const="overwrite", default="refuse",
        help="Replace the existing memory",
    )  # fmt: skip
    group.add_argument(
        "--rename", dest="on_conflict", action="store_const", const="rename", default="refuse",
        help="Keep both; restore under another key",
    )  # fmt: skip
