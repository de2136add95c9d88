"""How a planned change of many memories went, in words or as the one document of a change."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from zeroclaw_tui.cli.output import Line, note, write_lines
from zeroclaw_tui.cli.told import (
    MOST_ENTRIES,
    cleaned_lines,
    copies_lines,
    left_alone_lines,
    spared_as_json,
    stamp_as_json,
    tell_document,
    tell_notes,
    trash_lines,
)
from zeroclaw_tui.curation.changes import Outcome, PurgePlan
from zeroclaw_tui.curation.copies.copies import clean_copies, find_copies, texts_of, texts_of_plan
from zeroclaw_tui.curation.copies.places import Copy
from zeroclaw_tui.curation.copies.texts import Text
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.errors import DONE, INTERRUPTED, REFUSED, InspectorError
from zeroclaw_tui.memory.text import counted


async def tell_done(
    library: Library,
    given: argparse.Namespace,
    plan: PurgePlan,
    outcome: Outcome,
    look: Callable[[], Awaitable[Copies]],
    done: Line,
    *,
    way_back: Line | None = None,
) -> int:
    """Tell it; the exit code. `done` says what was done, `way_back` what undoes it where nothing went to the trash.

    `look` finds where the texts still lie. That can take a while in a big store, so what was done is told before.
    """
    tell_notes(outcome)
    if given.json:
        copies = await look()
        left = {*outcome.changed, *outcome.gone}
        # Of a change that was stopped nobody here knows which were done: the trash does.
        those = [] if outcome.cancelled else [stamp for stamp in plan.stamps if stamp.id not in left]
        entries = [stamp_as_json(stamp) for stamp in those[:MOST_ENTRIES]]
        tell_document(
            library, outcome, entries=entries, copies=copies.found, cleaned=copies.cleaned, **spared_as_json(plan)
        )
    else:
        write_lines([done] if outcome.count or outcome.cancelled else [])
        write_lines(left_alone_lines(outcome))
        if way_back is None:
            write_lines(trash_lines(outcome.action))
        elif outcome.action is not None:
            write_lines([way_back])
        sys.stdout.flush()
        copies = await look()
        write_lines(cleaned_lines(copies.cleaned))
        write_lines(copies_lines(copies.found, cleaning=given.clean_copies))
    if outcome.cancelled:
        note(f"zeroclaw: Stopped after {outcome.count:,} of {counted(plan.count)}.")
        return INTERRUPTED
    return REFUSED if outcome.changed else copies.code


LOOKED_FOR_BEFORE = 10_000
"""Up to so many memories a plan says where copies lie; above that only what comes after the removal does."""


@dataclass(frozen=True, slots=True)
class Copies:
    """Where texts still lie, what was cleaned, and the exit code of that."""

    found: tuple[Copy, ...] = ()
    cleaned: Outcome | None = None
    code: int = DONE


async def copies_of_plan(library: Library, plan: PurgePlan) -> tuple[Copy, ...]:
    """Where the texts of a plan lie besides; empty for a plan too large to look for."""
    if plan.count > LOOKED_FOR_BEFORE:
        return ()
    return tuple(await find_copies(library, await texts_of_plan(library, plan)))


async def copies_left(
    library: Library, given: argparse.Namespace, outcome: Outcome, texts: Sequence[Text] = ()
) -> Copies:
    """Look where the texts that a change removed still lie, and clean with --clean-copies.

    Nothing where nothing was removed. `texts` are those of a change that left nothing in the trash. The change itself
    is done: what fails here is told and becomes the exit code.
    """
    if not outcome.count:
        return Copies()
    try:
        if outcome.action is not None:
            texts = await texts_of(library, outcome.action.number)
        found = await find_copies(library, texts) if texts else []
        cleanable = [copy for copy in found if copy.can_clean]
        if not (given.clean_copies and cleanable):
            return Copies(tuple(found))
        cleaned = await clean_copies(library, cleanable)
        return Copies(tuple(await find_copies(library, texts)), cleaned)
    except InspectorError as error:
        note(f"zeroclaw: The change is done, but not what concerns copies elsewhere: {error}")
        return Copies(code=error.exit_code)
