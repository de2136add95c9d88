"""Where removed texts still lie, and cleaning that when it was asked for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from zeroclaw_tui.cli.output import note
from zeroclaw_tui.curation.changes import Outcome, PurgePlan
from zeroclaw_tui.curation.copies.copies import Copy, Text, clean_copies, find_copies, texts_of, texts_of_plan
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.errors import DONE, InspectorError

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
