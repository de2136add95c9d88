"""`memory undo`: take back the last change, or the one of a number.

Its document is that of every change (see `told`) with "undone": {"number", "verb", "at", "summary", "count"} of the
change that was taken back, or with --dry-run would be, and "next": the same of the one that another undo would take
back, or null. With --list it is {"backend", "location", "actions"}, the newest first, each with "open" (how much of it
is not taken back yet) and "until" (when the trash lets go of it, RFC 3339) besides. Exit code 1 where there is nothing
to take back or the last command changed nothing, after a no, and where something came in between: then each memory is
named with what is in its way.
"""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Iterator
from datetime import datetime
from itertools import islice

from zeroclaw_tui.cli.asking import NOTHING_DONE, check_can_ask, confirm
from zeroclaw_tui.cli.guarding import Progress, check_writable, telling_clashes, with_triggers
from zeroclaw_tui.cli.output import DIM, GREEN, Line, Styled, document, moment_shown, note, width, write_lines
from zeroclaw_tui.cli.told import (
    MOST_ENTRIES,
    action_as_json,
    left_alone_lines,
    row_as_json,
    tell_document,
    tell_notes,
)
from zeroclaw_tui.curation.changes import Outcome, change_numbered, last_change
from zeroclaw_tui.curation.changes import undo as take_back
from zeroclaw_tui.curation.hygiene.words import COMES_AGAIN, is_taken_back_hygiene
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.trash.trash import Action
from zeroclaw_tui.curation.trash.words import reversal_words, summary_words
from zeroclaw_tui.memory.change import RowChange
from zeroclaw_tui.memory.errors import DONE, INTERRUPTED, REFUSED, NotThere
from zeroclaw_tui.memory.text import counted, cut, padded

SAMPLES = 3
MOST_LISTED = 100


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
        raise NotThere("There is nothing to take back.", hint="`zeroclaw memory trash list` shows what was deleted.")
    if given.dry_run:
        return _tell_plan(library, given, last)
    if not given.yes and not confirm("Take it back?", _plan_lines(library, last)):
        return REFUSED
    with Progress("Taking back", last.open) as progress:

        def work() -> Awaitable[Outcome]:
            return take_back(
                library, expected=last.number, number=given.id, clash=given.clash, advance=progress.advance
            )

        outcome = await with_triggers(library, given, lambda: telling_clashes(work), asks=True)
    return REFUSED if outcome is None else await _tell_done(library, given, outcome, last.open)


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
        mark = "" if action.open or action.verb == "undo" else "taken back: "
        beginning = f"{padded(str(action.number), wide, right=True)}  {padded(moment_shown(action.at), 16)}  {mark}"
        write_lines([(beginning, cut(summary, max(20, width() - len(beginning))))])
    return DONE


def _tell_plan(library: Library, given: argparse.Namespace, last: Action) -> int:
    if given.json:
        entries = [row_as_json(change.row) for change in islice(_changes(library, last), MOST_ENTRIES)]
        planned = Outcome("undo", last.open)
        tell_document(library, planned, dry_run=True, entries=entries, undone=action_as_json(last))
    else:
        write_lines(_plan_lines(library, last))
        note(NOTHING_DONE)
    return DONE


async def _tell_done(library: Library, given: argparse.Namespace, outcome: Outcome, wanted: int) -> int:
    tell_notes(outcome)
    undone = outcome.undone
    if given.json:
        following = await library.trash.last()
        tell_document(
            library,
            outcome,
            undone=action_as_json(undone) if undone else None,
            next=action_as_json(following) if following else None,
        )
    else:
        what = f": {summary_words(undone)}" if undone else ""
        write_lines([(Styled("✓", GREEN), f" Took back {counted(outcome.count, 'change')}{what}")])
        write_lines(left_alone_lines(outcome))
    if is_taken_back_hygiene(outcome):
        note(f"zeroclaw: {COMES_AGAIN}")
    if outcome.cancelled:
        note(f"zeroclaw: Stopped after {outcome.count:,} of {counted(wanted, 'change')}; undo again for the rest.")
    return INTERRUPTED if outcome.cancelled else DONE


def _plan_lines(library: Library, last: Action) -> Iterator[Line]:
    yield (f"The change {last.number}, {moment_shown(last.at)}: ", summary_words(last))
    for change in islice(_changes(library, last), SAMPLES):
        yield ("  ", cut(reversal_words(change), max(20, width() - 2)))
    if last.open > SAMPLES:
        yield (Styled(f"  … {last.open - SAMPLES:,} more", DIM),)


def _changes(library: Library, action: Action) -> Iterator[RowChange]:
    for batch in library.trash.open_changes(action.number)():
        yield from batch
