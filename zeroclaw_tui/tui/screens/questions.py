"""What the browser asks before it changes something."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.content import Content

from zeroclaw_tui.tui.changing_words import first_line, memory_facts, one_remark
from zeroclaw_tui.tui.looks import MUTED
from zeroclaw_tui.tui.screens.confirm import PurgeScreen, QuestionScreen
from zeroclaw_tui.tui.screens.trash_words import key_words

if TYPE_CHECKING:
    from zeroclaw_tui.curation.changes import PurgePlan
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.memory.entry import MemoryEntry


async def confirms_removal(app: App[Any], library: Library, plan: PurgePlan, now: datetime) -> bool:
    """Ask, by the size of the plan; False when nothing shall be deleted. Raises NotThere for one that has gone."""
    if plan.count == 1:
        entry = await library.memory.whole(plan.stamps[0].handle)
        return await app.push_screen_wait(delete_question(library, entry, plan))
    return await app.push_screen_wait(PurgeScreen(library, plan, now))


def delete_question(library: Library, entry: MemoryEntry, plan: PurgePlan | None = None) -> QuestionScreen:
    """Whether one memory shall go: what it is, how it begins, where it goes."""
    body = Content.assemble(
        (memory_facts(entry), MUTED), "\n", first_line(entry.content), "\n\n", (one_remark(library, plan), MUTED)
    )
    return QuestionScreen(f"Delete {key_words(entry.key)}?", body, "Keep it", "Delete it")
