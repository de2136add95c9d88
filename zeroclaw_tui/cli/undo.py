"""`memory undo` and `memory redo`: take back the last change, or do again what was; or the one of a number.

The document of an undo is that of every change (see `report`) with "undone": {"number", "verb", "at", "summary",
"count"} of the change that was taken back, or with --dry-run would be, and "next": the same of the one that another
undo would take back, or null. With --list it is {"backend", "location", "actions"}, the newest first, each with "open"
(how much of it is not taken back yet) and "until" (when the trash lets go of it, RFC 3339) besides. Exit code 1 where
there is nothing to take back or the last command changed nothing, after a no, and where something came in between: then
each memory is named with what is in its way. A redo has "redone" in the place of "undone", and "next" is what another
redo would do.
"""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any

from zeroclaw_tui.cli.guard import (
    NOTHING_DONE,
    Progress,
    check_can_ask,
    check_writable,
    confirm,
    telling_clashes,
    with_triggers,
)
from zeroclaw_tui.cli.output import DIM, GREEN, Line, Styled, document, moment_shown, note, width, write_lines
from zeroclaw_tui.cli.report import (
    MOST_ENTRIES,
    action_as_json,
    left_alone_lines,
    row_as_json,
    tell_document,
    tell_notes,
)
from zeroclaw_tui.curation.changes import Outcome, change_numbered, last_change, undone_change
from zeroclaw_tui.curation.changes import redo as do_again
from zeroclaw_tui.curation.changes import undo as take_back
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.trash.journal import REVERSING, Action
from zeroclaw_tui.curation.words import (
    COMES_AGAIN,
    NOTHING_TO_UNDO,
    is_taken_back_hygiene,
    reversal_words,
    reversed_words,
    summary_words,
)
from zeroclaw_tui.memory.change import Batches, RowChange
from zeroclaw_tui.memory.errors import DONE, INTERRUPTED, REFUSED, NotThere
from zeroclaw_tui.memory.text import counted, cut, padded

SAMPLES = 3
MOST_LISTED = 100
_DONE = {"undo": "undone", "redo": "redone"}


async def undo(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Say what the last change was and what taking it back does, ask, and do it."""
    if given.list:
        return await _list(library, given)
    if not given.dry_run:
        check_writable(library, given)
        check_can_ask("undo", yes=given.yes)
        await library.trash.settle(library.memory)
    if given.id is not None:
        last: Action | None = await change_numbered(library, given.id)
    else:
        last = await last_change(library, tells_nothing=not given.dry_run)
    if last is None:
        raise NotThere(NOTHING_TO_UNDO, hint="`zeroclaw memory trash list` shows what was deleted.")
    if given.dry_run:
        return _tell_plan(library, given, last, last.open, library.trash.open_changes(last.number))
    lines = _plan_lines(last, last.open, library.trash.open_changes(last.number))
    if not given.yes and not confirm("Take it back?", lines):
        return REFUSED
    with Progress("Taking back", last.open) as progress:

        def work() -> Awaitable[Outcome]:
            return take_back(
                library, expected=last.number, number=given.id, clash=given.clash, advance=progress.advance
            )

        outcome = await with_triggers(library, given, lambda: telling_clashes(work), asks=True)
    return REFUSED if outcome is None else await _tell_done(library, given, outcome, last.open)


async def redo(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Say what was taken back last and what doing it again does, ask, and do it."""
    if not given.dry_run:
        check_writable(library, given)
        check_can_ask("redo", yes=given.yes)
        await library.trash.settle(library.memory)
    change = await undone_change(library, given.id)
    numbers = await library.trash.numbers_to_redo(change.number)
    count = change.count - change.open
    if given.dry_run:
        return _tell_plan(library, given, change, count, library.trash.changes_numbered(numbers))
    lines = _plan_lines(change, count, library.trash.changes_numbered(numbers))
    if not given.yes and not confirm("Do it again?", lines):
        return REFUSED
    with Progress("Doing again", count) as progress:

        def work() -> Awaitable[Outcome]:
            return do_again(
                library, expected=change.number, number=given.id, clash=given.clash, advance=progress.advance
            )

        outcome = await with_triggers(library, given, lambda: telling_clashes(work), asks=True)
    return REFUSED if outcome is None else await _tell_done(library, given, outcome, count)


async def _list(library: Library, given: argparse.Namespace) -> int:
    actions = await library.trash.actions(limit=MOST_LISTED)
    if given.json:
        listed = [{**action_as_json(action), "open": action.open, "until": action.until} for action in actions]
        document({"backend": library.memory.name, "location": library.memory.location, "actions": listed})
        return DONE
    if not actions:
        write_lines([("No change was made here that the trash still holds.",)])
        return DONE
    wide = max(6, len(str(actions[0].number)))
    write_lines([(Styled(f"{padded('id', wide, right=True)}  {padded('done', 16)}  change", DIM),)])
    for action in actions:
        summary = summary_words(action)
        mark = "" if action.open or action.verb in REVERSING else "taken back: "
        beginning = f"{padded(str(action.number), wide, right=True)}  {padded(moment_shown(action.at), 16)}  {mark}"
        write_lines([(beginning, cut(summary, max(20, width() - len(beginning))))])
    return DONE


def _tell_plan(library: Library, given: argparse.Namespace, change: Action, count: int, rows: Batches) -> int:
    if given.json:
        entries = [row_as_json(row.row) for row in islice(_each(rows), MOST_ENTRIES)]
        planned = Outcome("redo" if given.verb == "redo" else "undo", count)
        told: dict[str, Any] = {_DONE[planned.verb]: action_as_json(change)}
        tell_document(library, planned, dry_run=True, entries=entries, **told)
    else:
        write_lines(_plan_lines(change, count, rows))
        note(NOTHING_DONE)
    return DONE


async def _tell_done(library: Library, given: argparse.Namespace, outcome: Outcome, wanted: int) -> int:
    tell_notes(outcome)
    is_redo = outcome.verb == "redo"
    change = outcome.redone if is_redo else outcome.undone
    if given.json:
        following = await (library.trash.last_undone() if is_redo else library.trash.last())
        told: dict[str, Any] = {_DONE[outcome.verb]: action_as_json(change) if change else None}
        tell_document(library, outcome, **told, next=action_as_json(following) if following else None)
    else:
        write_lines([(Styled("✓", GREEN), f" {reversed_words(outcome)} ({counted(outcome.count, 'change')})")])
        write_lines(left_alone_lines(outcome))
    if is_taken_back_hygiene(outcome):
        note(f"zeroclaw: {COMES_AGAIN}")
    if outcome.cancelled:
        again = f"{outcome.verb} again for the rest"
        note(f"zeroclaw: Stopped after {outcome.count:,} of {counted(wanted, 'change')}; {again}.")
    return INTERRUPTED if outcome.cancelled else DONE


def _plan_lines(change: Action, count: int, rows: Batches) -> Iterator[Line]:
    yield (f"The change {change.number}, {moment_shown(change.at)}: ", summary_words(change))
    for row in islice(_each(rows), SAMPLES):
        yield ("  ", cut(reversal_words(row), max(20, width() - 2)))
    if count > SAMPLES:
        yield (Styled(f"  … {count - SAMPLES:,} more", DIM),)


def _each(rows: Batches) -> Iterator[RowChange]:
    for batch in rows():
        yield from batch
