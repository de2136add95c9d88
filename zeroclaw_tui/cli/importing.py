"""`memory import`: bring memories in from a file.

Its document is that of every change (see `told`) with these names: "file", "format", "new", "same", "taken" (how many
of the file are not there, are there the same, have an id or a key that is taken), "samples" (the first keys that are
taken) and "on_clash" ("skip", "overwrite" or "rename"). `count` is how many were brought in, or would be.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from zeroclaw_tui.cli.asking import NOTHING_DONE, check_can_ask, confirm
from zeroclaw_tui.cli.exporting import expanded
from zeroclaw_tui.cli.guarding import Progress, check_writable, with_triggers
from zeroclaw_tui.cli.output import BOLD, DIM, GREEN, YELLOW, Line, Styled, counted, note, write_lines
from zeroclaw_tui.cli.told import tell_document, tell_notes
from zeroclaw_tui.curation.changing import Outcome, note_nothing
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.transfer.imports import ImportPlan, import_memories, plan_import
from zeroclaw_tui.curation.transfer.reconcile import OnClash
from zeroclaw_tui.memory.errors import DONE, INTERRUPTED, REFUSED
from zeroclaw_tui.memory.text import one_line

MOST_RENAMED = 10
_TAKEN: dict[OnClash, str] = {
    "skip": "left out; --overwrite replaces what is there, --rename brings them in under another key",
    "overwrite": "put in place of what is there",
    "rename": "brought in under another key",
}


async def import_(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Check the whole file, say what it would bring, ask, and do it."""
    if not given.dry_run:
        check_writable(library, given)
        check_can_ask("import", yes=given.yes)
    on_clash: OnClash = given.on_clash
    with Progress("Reading", None) as reading:
        plan = await plan_import(library, expanded(given.file), given.format, advance=reading.advance)
    count = plan.brings(on_clash)
    if given.dry_run or not count:
        if not given.dry_run:
            await note_nothing(library, "import", one_line(plan.path.name))
        return _tell_plan(library, given, plan, count)
    if not given.yes and not confirm("Go on?", _plan_lines(plan, on_clash)):
        return REFUSED
    with Progress("Importing", count) as progress:
        outcome = await with_triggers(
            library, given, lambda: import_memories(library, plan, on_clash, advance=progress.advance), asks=True
        )
    return REFUSED if outcome is None else _tell_done(library, given, plan, outcome)


def _plan_lines(plan: ImportPlan, on_clash: OnClash) -> Iterator[Line]:
    yield (Styled(f"Import {counted(plan.brings(on_clash))} from {one_line(plan.path.name)}?", BOLD),)
    yield from _facts(plan, on_clash)
    yield ("  `zeroclaw memory undo` takes it back.",)


def _facts(plan: ImportPlan, on_clash: OnClash) -> Iterator[Line]:
    width = len(f"{max(plan.new, plan.same, plan.taken):,}")
    taken = plan.taken - (plan.beside if on_clash == "rename" else 0)
    yield (f"  {plan.new:>{width},} new",)
    if plan.same:
        yield (f"  {plan.same:>{width},} there already, the same",)
    if plan.beside and on_clash == "rename":
        yield (f"  {plan.beside:>{width},} there already, under another key",)
    if taken:
        yield (Styled(f"  {taken:>{width},} whose id or key is taken: {_TAKEN[on_clash]}", YELLOW),)
        more = taken - len(plan.samples)
        named = ", ".join(plan.samples) + (f" and {more:,} more" if more > 0 else "")
        yield (Styled(f"  {'':{width}} {named}", DIM),)
    for sentence in plan.notes:
        yield ("  ", sentence)


def _tell_plan(library: Library, given: argparse.Namespace, plan: ImportPlan, count: int) -> int:
    if given.json:
        planned = Outcome("import", count if given.dry_run else 0, notes=plan.notes)
        tell_document(library, planned, dry_run=given.dry_run, **_document(plan, given))
        return DONE
    if count:
        write_lines(_plan_lines(plan, given.on_clash))
    else:
        write_lines(
            [
                (
                    "Nothing to import: ",
                    f"of {counted(plan.count)} in {one_line(plan.path.name)}",
                )
            ]
        )
        write_lines(_facts(plan, given.on_clash))
    if given.dry_run:
        note(NOTHING_DONE)
    return DONE


def _tell_done(library: Library, given: argparse.Namespace, plan: ImportPlan, outcome: Outcome) -> int:
    for sentence in plan.notes if given.yes and not given.json else ():
        note(f"zeroclaw: {sentence}")
    tell_notes(outcome)
    if given.json:
        tell_document(library, outcome, **_document(plan, given))
    else:
        write_lines(_done_lines(plan, outcome, given.on_clash))
    if outcome.cancelled:
        rest = plan.brings(given.on_clash)
        note(f"zeroclaw: Stopped after {outcome.count:,} of {counted(rest)}; importing again goes on.")
        return INTERRUPTED
    return DONE


def _done_lines(plan: ImportPlan, outcome: Outcome, on_clash: OnClash) -> Iterator[Line]:
    yield (Styled("✓", GREEN), f" Imported {counted(outcome.count)} from {one_line(plan.path.name)}.")
    if on_clash == "skip" and plan.taken:
        yield (f"Left out {counted(plan.taken)} whose id or key is taken.",)
    for old, new in list(outcome.renamed.items())[:MOST_RENAMED]:
        yield (f"{one_line(old)} came in as {one_line(new)}.",)
    if len(outcome.renamed) > MOST_RENAMED:
        yield (Styled(f"… {len(outcome.renamed) - MOST_RENAMED:,} more.", DIM),)
    if outcome.action is not None:
        yield ("`zeroclaw memory undo` takes it back.",)


def _document(plan: ImportPlan, given: argparse.Namespace) -> dict[str, Any]:
    return {
        "file": str(plan.path),
        "format": plan.format,
        "new": plan.new,
        "same": plan.same,
        "taken": plan.taken,
        "samples": list(plan.samples),
        "on_clash": given.on_clash,
    }
