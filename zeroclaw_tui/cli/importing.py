"""`memory import`: bring memories in from a file or folder.

Its document is that of every change (see `told`) with these names: "file", "format", "title" and "why" (what it is
taken for, and how that was known), "new", "same", "taken" (how many of the file are not there, are there the same, have
an id or a key that is taken), "samples" (the first keys that are taken), "previews" (the first three new memories as
they will stand), "categories" (how many of which), "makes" (a sentence, or null: what is made first) and "on_clash"
("skip", "overwrite" or "rename"). `count` is how many were brought in, or would be.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from zeroclaw_tui.cli.asking import NOTHING_DONE, check_can_ask, confirm
from zeroclaw_tui.cli.exporting import expanded
from zeroclaw_tui.cli.guarding import Progress, check_writable, with_triggers
from zeroclaw_tui.cli.output import BOLD, DIM, GREEN, Line, Styled, note, write_lines
from zeroclaw_tui.cli.store_copying import fact_lines, renamed_lines
from zeroclaw_tui.cli.told import tell_document, tell_notes
from zeroclaw_tui.curation.changes import Outcome, note_nothing
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.transfer.imports import ImportPlan, Wish, import_memories, plan_import
from zeroclaw_tui.curation.transfer.reconcile import OnClash
from zeroclaw_tui.curation.transfer.target import Target
from zeroclaw_tui.curation.words import category_words, lost_words, preview_words, source_words
from zeroclaw_tui.memory.errors import DONE, INTERRUPTED, REFUSED, Refused
from zeroclaw_tui.memory.text import counted, one_line


async def import_(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Check the whole file, say what it would bring, ask, and do it."""
    return await _import(Target.of(library), given)


async def import_to_new(target: Target, given: argparse.Namespace) -> int:
    """The same into a store that is made first."""
    if given.read_only and not given.dry_run:
        raise Refused("--read-only refuses every write.", hint="--dry-run only says what would be imported.")
    return await _import(target, given)


async def _import(target: Target, given: argparse.Namespace) -> int:
    library = target.library
    if not given.dry_run:
        if library is not None:
            check_writable(library, given)
        check_can_ask("import", yes=given.yes)
    on_clash: OnClash = given.on_clash
    wish = Wish(given.format, frozenset(given.along))
    with Progress("Reading", None) as reading:
        plan = await plan_import(target, expanded(given.file), wish, advance=reading.advance)
    count = plan.brings(on_clash)
    if given.dry_run or not count:
        if library is not None and not given.dry_run:
            await note_nothing(library, "import", one_line(plan.path.name))
        return _tell_plan(target, given, plan, count)
    if not given.yes and not confirm("Go on?", _plan_lines(plan, on_clash)):
        return REFUSED
    opened = await target.make()
    with Progress("Importing", count) as progress:
        outcome = await with_triggers(
            opened, given, lambda: import_memories(target, plan, on_clash, advance=progress.advance), asks=True
        )
    return REFUSED if outcome is None else _tell_done(opened, given, plan, outcome)


def _plan_lines(plan: ImportPlan, on_clash: OnClash) -> Iterator[Line]:
    yield (Styled(f"Import {counted(plan.brings(on_clash))} from {one_line(plan.path.name)}?", BOLD),)
    if plan.why:
        yield ("  ", source_words(plan))
    yield from fact_lines(plan, on_clash)
    if plan.why:
        yield ("  ", f"Of what: {category_words(plan)}.")
    for key, about, content in preview_words(plan):
        yield (Styled(f"  {key} ({about})", BOLD),)
        yield (Styled(f"    {content}", DIM),)
    yield ("  `zeroclaw memory undo` takes it back.",)


def _tell_plan(target: Target, given: argparse.Namespace, plan: ImportPlan, count: int) -> int:
    if given.json:
        notes = (*plan.losses, *plan.notes)
        planned = Outcome("import", count if given.dry_run else 0, notes=notes)
        tell_document(target, planned, dry_run=given.dry_run, **_document(plan, given))
        return DONE
    if count:
        write_lines(_plan_lines(plan, given.on_clash))
    else:
        write_lines([("Nothing to import: ", f"of {counted(plan.count)} in {one_line(plan.path.name)}")])
        write_lines(fact_lines(plan, given.on_clash))
    if given.dry_run:
        note(NOTHING_DONE)
    return DONE


def _tell_done(library: Library, given: argparse.Namespace, plan: ImportPlan, outcome: Outcome) -> int:
    for sentence in lost_words(plan) if given.yes and not given.json else ():
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
    yield from renamed_lines(outcome.renamed)
    if outcome.action is not None:
        yield ("`zeroclaw memory undo` takes it back.",)


def _document(plan: ImportPlan, given: argparse.Namespace) -> dict[str, Any]:
    return {
        "file": str(plan.path),
        "format": plan.format,
        "title": plan.title,
        "why": plan.why or None,
        "new": plan.new,
        "same": plan.same,
        "taken": plan.taken,
        "samples": list(plan.samples),
        "previews": [
            {"key": entry.key, "category": entry.category, "timestamp": entry.timestamp, "content": entry.content}
            for entry in plan.previews
        ],
        "categories": dict(plan.categories),
        "makes": plan.makes,
        "on_clash": given.on_clash,
    }
