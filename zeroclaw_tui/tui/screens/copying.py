"""Copying what one store has into another: the plan, the question, the progress, and what it came to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.app import App

from zeroclaw_tui.curation.transfer.copy import CopyOutcome, CopyPlan, copy_memories, plan_copy
from zeroclaw_tui.memory.change import Advance
from zeroclaw_tui.memory.query import MemoryFilter, Superseded
from zeroclaw_tui.tui import opening
from zeroclaw_tui.tui.screens.asking import AnswersScreen
from zeroclaw_tui.tui.screens.progress import with_progress
from zeroclaw_tui.tui.screens.stores_words import clean, copied_words, copy_answers, copy_body, copy_title
from zeroclaw_tui.tui.words import memories_words

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.switching import Candidate

_EVERYTHING = MemoryFilter(superseded=Superseded.SHOW)


async def copy_to(
    app: App[Any], library: Library, candidate: Candidate, profile: str | None, patience: float
) -> str | None:
    """Compare, ask, copy and verify; gives what was done, None when a person left it. Raises InspectorError kinds."""
    target = await opening.open_copy_target(candidate.config, profile)
    try:

        async def compare(advance: Advance) -> CopyPlan:
            return await plan_copy(library, target, _EVERYTHING, advance=advance)

        plan = await with_progress(app, f"Comparing with {clean(candidate.location)}", 0, patience, compare)
        asking = AnswersScreen(copy_title(plan), copy_body(plan, app.size.height), "Copy nothing", copy_answers(plan))
        policy = await app.push_screen_wait(asking)
        if policy is None:
            return None

        async def copy(advance: Advance) -> CopyOutcome:
            return await copy_memories(library, target, _EVERYTHING, policy, advance=advance)

        count = plan.brings(policy)
        outcome = await with_progress(app, f"Copying {memories_words(count)}", count, patience, copy)
        return copied_words(outcome, plan.target)
    finally:
        await target.close()
