"""How a planned change of many memories went, in words or as the one document of a change."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Awaitable, Callable

from zeroclaw_tui.cli.copying import Copies
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
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.errors import INTERRUPTED, REFUSED
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
