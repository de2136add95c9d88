"""The verbs undo, redo, and those of the trash."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.cli import output, plans
from zeroclaw_tui.cli.chosen import find_exact, not_found, several_agents
from zeroclaw_tui.cli.options import DRY_RUN, PAGE, agent_names, conflict_options, option, positive
from zeroclaw_tui.cli.output import BOLD, DIM, YELLOW, Styled
from zeroclaw_tui.cli.verbs import CHANGED, verb
from zeroclaw_tui.memory.days import time_here
from zeroclaw_tui.memory.errors import DONE, REFUSED, NotFound, Refused, UsageError
from zeroclaw_tui.memory.text import counted, cut, one_line, size_shown

if TYPE_CHECKING:
    from zeroclaw_tui.cli.output import Line
    from zeroclaw_tui.curation.journal_records import Version
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.outcome import Outcome
    from zeroclaw_tui.memory.change import ApplyResult, RowChange


_SAMPLES = 3
_MOST_LISTED = 100
_MOST_FOUND = 10_000
_LONGEST_CELL = 30
_EMPTY = "The trash is empty."
_ON_CONFLICT = conflict_options(
    "on_conflict",
    "refuse",
    overwrite="Replace the existing memory",
    rename="Keep both; restore under another key",
)
_REVERSAL_OPTIONS = (
    option("--id", type=positive, metavar="N", help="The change with this number, even if later changes exist"),
    _ON_CONFLICT,
    DRY_RUN,
)


# Undo and redo


@verb(
    "undo",
    f"{CHANGED} and undone, next, on_clash, clashing, clashes; with --list {{backend, location, actions}}",
    options=[
        option("--list", action="store_true", help="List the changes made here with their numbers"),
        *_REVERSAL_OPTIONS,
    ],
    examples=("undo --dry-run", "undo --list"),
)
async def undo(library: Library, args: argparse.Namespace) -> int:
    """Undo the last change, or the one with a number, after confirmation; with --list show all changes."""
    return await (_list_changes if args.list else _reverse_action)(library, args)


@verb(
    "redo",
    f"{CHANGED} and redone, next, on_clash, clashing, clashes",
    options=[*_REVERSAL_OPTIONS],
    examples=("redo --dry-run", "redo --id 12"),
)
async def redo(library: Library, args: argparse.Namespace) -> int:
    """Redo the last undone change, or the one with a number, after confirmation."""
    return await _reverse_action(library, args)


async def _reverse_action(library: Library, args: argparse.Namespace) -> int:
    """Show the plan of an undo or redo, ask, and do it."""
    from zeroclaw_tui.curation.changes import action_to_reverse, reverse_action

    is_undo = args.verb == "undo"
    plans.check_can_change(library, args)
    if not args.dry_run:
        await _recover(library, args)
    action = await action_to_reverse(library, args.verb, args.id)
    numbers = await library.trash.numbers_to_reverse(action.number, args.verb)
    count = action.open if is_undo else action.count - action.open
    name = "undone" if is_undo else "redone"
    head: Line = (f"Change {action.number}, {time_here(action.at)}: ", action.title)
    if args.dry_run:
        return await _print_plan(library, args, head, numbers, count, **{name: action.as_json()})
    if not args.yes:
        with plans.print_conflicts():
            preview = await _preview(library, args, numbers)
        lines = _plan_lines(library, args, head, numbers, count, preview)
        if not plans.confirm(f"{args.verb.capitalize()} it?", lines):
            return REFUSED
    reverse = partial(reverse_action, library, verb=args.verb, expected=action.number, number=args.id)
    outcome = await _run(args, f"{args.verb.capitalize()}ing", count, reverse)
    facts: dict[str, Any] = {}
    if args.json:
        following = await (library.trash.last() if is_undo else library.trash.last_undone())
        facts = {name: outcome.reversed_action.as_json() if outcome.reversed_action else None}
        facts["next"] = following.as_json() if following else None
    return _print_done(library, args, outcome, count, "change", **facts)


async def _run(args: argparse.Namespace, doing: str, count: int, change: Callable[..., Awaitable[Outcome]]) -> Outcome:
    with plans.print_conflicts(), plans.Progress(doing, count) as progress:
        return await change(on_conflict=args.on_conflict, on_progress=progress.advance)


async def _preview(library: Library, args: argparse.Namespace, numbers: Sequence[int]) -> ApplyResult:
    """Preview the undo of these changes. Raises UndoConflicts if it cannot be done, so that no question is asked."""
    from zeroclaw_tui.curation.changes import preview_undo
    from zeroclaw_tui.memory.change import UndoConflicts

    preview = await preview_undo(library, numbers, args.on_conflict)
    if preview.conflict_count and args.on_conflict == "refuse":
        raise UndoConflicts(preview.conflicts, preview.conflict_count)
    return preview


async def _print_plan(
    library: Library, args: argparse.Namespace, head: Line, numbers: Sequence[int], count: int, **facts: Any
) -> int:
    from zeroclaw_tui.curation.changes import preview_undo
    from zeroclaw_tui.curation.outcome import Outcome

    preview = await preview_undo(library, numbers, args.on_conflict)
    kind: Any = args.verb.removeprefix("trash ")
    outcome = Outcome(kind, count if preview.written else 0, renamed=preview.renamed, notes=tuple(preview.notes))
    conflicts = [conflict.as_json() for conflict in preview.conflicts]
    facts |= {"on_clash": args.on_conflict, "clashing": preview.conflict_count, "clashes": conflicts}
    first = _first_changes(library, numbers, plans.MAX_ENTRIES) if args.json else []
    entries = [plans.entry_summary(change.row.entry()) for change in first]
    document = plans.change_document(library, outcome, dry_run=True, entries=entries, **facts)
    return plans.print_plan(args, _plan_lines(library, args, head, numbers, count, preview), document)


def _plan_lines(
    library: Library, args: argparse.Namespace, head: Line, numbers: Sequence[int], count: int, preview: ApplyResult
) -> list[Line]:
    from zeroclaw_tui.curation.outcome import undo_sentence

    room = max(20, output.width() - 2)
    samples = [f"  {cut(undo_sentence(change), room)}" for change in _first_changes(library, numbers, _SAMPLES)]
    return [head, *samples, *_more_lines(count), *plans.conflict_lines(preview, args.on_conflict)]


def _first_changes(library: Library, numbers: Sequence[int], count: int) -> list[RowChange]:
    """Return the first changes, without those of notes files, which accompany the changes of their memories."""
    from zeroclaw_tui.memory.change import NOTES_FILE

    every = (change for change in library.trash.changes_to_reverse(numbers) if change.row.table != NOTES_FILE)
    return list(islice(every, count))


def _print_done(
    library: Library, args: argparse.Namespace, outcome: Outcome, wanted: int, noun: str, **facts: Any
) -> int:
    output.notes(outcome.notes)
    counts = f" ({counted(outcome.count, noun)})" if outcome.reversed_action else ""
    lines = [output.done(f"{outcome.headline()}{counts}"), *plans.skipped_lines(outcome)]
    output.print_result(args, plans.change_document(library, outcome, **facts), lines)
    return plans.note_stopped(outcome.count, counted(wanted, noun)) if outcome.cancelled else DONE


async def _list_changes(library: Library, args: argparse.Namespace) -> int:
    actions = await library.trash.actions(limit=_MOST_LISTED)
    listed = [{**action.as_json(), "open": action.open, "until": action.until} for action in actions]
    rows = [
        (str(action.number), time_here(action.at), action.title if action.open else f"undone: {action.title}")
        for action in actions
    ]
    lines = output.table(rows, ("id", "done", "change"), right=(0,)) if rows else ["No changes recorded here."]
    return output.print_result(args, {**output.place_of(library), "actions": listed}, lines)


def _more_lines(count: int) -> list[Line]:
    return [Styled(f"  … {count - _SAMPLES:,} more", DIM)] if count > _SAMPLES else []


# The trash


@verb(
    "trash list",
    "{backend, location, total, offset, limit, usage, entries}",
    options=[
        option("--contains", metavar="TEXT", help="Key or content contains TEXT (case-insensitive)"),
        *PAGE,
    ],
    examples=("trash list --contains tea", "trash list --json"),
)
async def trash_list(library: Library, args: argparse.Namespace) -> int:
    """List deleted memories: the fields of `get`, and when and by which change each was deleted."""
    await _recover(library, args)
    rows, total = await library.trash.listing(args.contains or "", limit=args.limit, offset=args.offset)
    usage = await library.trash.usage()
    page = {"total": total, "offset": args.offset, "limit": args.limit, "usage": usage}
    document = {**output.place_of(library), **page, "entries": [_row_as_json(row) for row in rows]}
    place = "store" if library.config.install.config_dir is None else "config dir"
    sizes = f"{size_shown(usage['bytes'])} of {size_shown(usage['bytes_kept'])}"
    stays = f"each stays for {usage['days_kept']} days"
    about = f"{counted(usage['rows'])} in the trash of this {place}, {sizes}; {stays}."
    return output.print_result(args, document, [*_list_lines(rows, total, args), Styled(about, DIM)])


async def _recover(library: Library, args: argparse.Namespace) -> None:
    """Recover an interrupted change, unless the store is read-only."""
    if not args.read_only and library.read_only_because is None:
        await library.trash.recover(library.memory)


@verb(
    "trash restore",
    f"{CHANGED} and on_clash, clashing, clashes",
    options=[
        option("numbers", nargs="*", type=positive, metavar="NUMBER", help="Numbers as shown by `trash list`"),
        option("--contains", metavar="TEXT", help="All whose key or content contains TEXT (case-insensitive)"),
        option("--all", action="store_true", help="All of this store"),
        _ON_CONFLICT,
        DRY_RUN,
    ],
    examples=("trash restore 12", "trash restore --all --dry-run"),
)
async def trash_restore(library: Library, args: argparse.Namespace) -> int:
    """Restore deleted memories."""
    from zeroclaw_tui.curation.changes import check_restorable, restore

    if not args.dry_run:
        await _recover(library, args)
        plans.check_writable(library, args)
    numbers = await _numbers(library, args)
    count = len(numbers)
    if args.dry_run:
        await check_restorable(library, numbers)
        return await _print_plan(library, args, Styled(f"Restore {counted(count)}?", BOLD), numbers, count)
    outcome = await _run(args, "Restoring", count, partial(restore, library, numbers))
    return _print_done(library, args, outcome, count, "memory")


async def _numbers(library: Library, args: argparse.Namespace) -> list[int]:
    """Return the numbers of the memories to restore. Raises UsageError, NotFound."""
    ways = [bool(args.numbers), bool((args.contains or "").strip()), args.all]
    if sum(ways) != 1:
        raise UsageError(
            "No memories given." if not any(ways) else "NUMBER, --contains and --all exclude each other.",
            hint="Pass NUMBERs as `zeroclaw memory trash list` shows them, --contains TEXT or --all.",
        )
    numbers = list(dict.fromkeys(args.numbers)) or await library.trash.numbers(args.contains or "")
    if not numbers:
        problem = "The trash of this store is empty." if args.all else "The trash has no such memory."
        raise NotFound(problem, hint="`zeroclaw memory trash list` shows what it has.")
    return numbers


@verb(
    "trash empty",
    CHANGED,
    [DRY_RUN],
    examples=("trash empty --dry-run", "trash empty --yes"),
)
async def trash_empty(library: Library, args: argparse.Namespace) -> int:
    """Permanently delete every change of this store from the trash."""
    from zeroclaw_tui.curation.outcome import Outcome

    await _recover(library, args)
    if args.read_only:
        raise Refused("With --read-only nothing is changed, not even the trash.")
    if not args.dry_run:
        plans.check_can_ask("zeroclaw memory trash empty", yes=args.yes)
    rows, count = await library.trash.listing(limit=_SAMPLES)
    is_empty = not count and not await library.trash.actions(limit=1)
    lines: list[Line] = [_EMPTY] if is_empty else _empty_lines(rows, count)
    if not is_empty and not args.dry_run:
        if not args.yes and not plans.confirm_count(count, "delete them permanently", lines):
            return REFUSED
        count = await library.trash.empty()
        lines = [output.done(f"{counted(count)} permanently deleted.")]
    document = plans.change_document(library, Outcome("clean", count), verb="empty", dry_run=args.dry_run)
    return plans.print_plan(args, lines, document)


def _empty_lines(rows: Sequence[Version], count: int) -> list[Line]:
    samples = [f"  {one_line(row.row.entry().key)}  deleted {time_here(row.at)[:10]}" for row in rows]
    end = "  This cannot be undone, and neither can any change made to this store so far."
    head = Styled(f"Empty the trash of {counted(count)}?", BOLD)
    return [head, *samples, *_more_lines(count), Styled(end, YELLOW)]


def _list_lines(rows: Sequence[Version], total: int, args: argparse.Namespace) -> list[Line]:
    if not rows:
        return [_EMPTY if not total else f"Nothing at offset {args.offset} (total: {total:,})."]
    cells: list[Sequence[Line]] = [
        (
            str(row.number),
            time_here(row.at),
            row.verb,
            size_shown(row.row.size),
            Styled(row.row.entry().key, BOLD),
            row.row.entry().content,
        )
        for row in rows
    ]
    heads = ("number", "deleted", "by", "size", "key", "memory")
    remaining = total - args.offset - len(rows)
    more = [f"{remaining:,} more; use --offset {args.offset + args.limit}."] if remaining > 0 else []
    return [*output.table(cells, heads, right=(0, 3), longest=_LONGEST_CELL), *more]


def _row_as_json(row: Version) -> dict[str, Any]:
    names = ("number", "action", "verb", "until", "store")
    facts = {name: getattr(row, name) for name in names} | {"deleted_at": row.at, "size": row.row.size}
    return facts | row.row.entry().as_json()


# The history of one memory


async def print_history(library: Library, args: argparse.Namespace) -> int:
    """Print the changes made here to a memory, which may be deleted by now, the newest first."""
    await _recover(library, args)
    ids = await _ids(library, args)
    versions = [(wanted, version) for wanted in ids for version in await library.trash.history(wanted)]
    versions.sort(key=lambda found: found[1].action, reverse=True)
    if args.json:
        listed = [_version_as_json(wanted, version) for wanted, version in versions]
        output.print_document({**output.place_of(library), "ids": ids, "versions": listed})
        return DONE
    for _, version in versions:
        key = one_line(version.rows[-1].entry().key)
        head = (Styled(f"{time_here(version.at)}  {version.verb}", BOLD), f"  {key}")
        output.write_lines([head, *plans.difference_lines(version.before, version.after), ""])
    if not versions:
        output.write_lines(["No change was made to this memory here."])
    return DONE


async def _ids(library: Library, args: argparse.Namespace) -> list[str]:
    """The ids that have or had the key; a memory that is deleted and stored again gets a new id."""
    agents = agent_names(args)
    present = await find_exact(library, args.key, args.id, agents)
    if len(present) > 1:
        raise several_agents(present)
    deleted, _ = await library.trash.listing(args.key or "", limit=_MOST_FOUND)
    entries = [*present, *(row.row.entry() for row in deleted)]
    ids = [
        entry.id
        for entry in entries
        if args.key in (None, entry.key) and args.id in (None, entry.id) and (not agents or entry.agent in agents)
    ]
    if not ids:
        raise not_found(args.key, args.id, hint="Pass --id ID for a memory that was renamed.")
    return list(dict.fromkeys(ids))


def _version_as_json(id: str, version: Version) -> dict[str, Any]:
    difference = plans.content_difference(version.before, version.after)
    rows = {"before": version.before, "after": version.after}
    return {
        "action": version.action,
        "verb": version.verb,
        "at": version.at,
        "id": id,
        **{name: None if row is None else row.entry().as_json() for name, row in rows.items()},
        "diff": None if difference is None else "\n".join(difference),
    }
