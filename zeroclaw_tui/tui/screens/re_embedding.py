"""Making the vector of one memory anew, from the list and from its explanation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from zeroclaw_tui.memory.text import one_line

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.memory.entry import MemoryEntry


@dataclass(frozen=True, slots=True)
class ReEmbedded:
    """Whether there is a new vector, and a sentence on it."""

    is_done: bool
    words: str


async def re_embed(library: Library, entry: MemoryEntry) -> ReEmbedded:
    """Make it of the present content; what that sends to another machine is said. Raises InspectorError kinds."""
    from zeroclaw_tui.curation.reindex import announce, plan_reindex, reindex
    from zeroclaw_tui.embeddings.backing_off import FOR_ONE

    plan = await plan_reindex(library, ids=(entry.id,))
    if not plan.count:
        return ReEmbedded(False, "There is no text to make a vector of.")
    call = announce(library, plan)
    sent = f" Sent to {one_line(call.place)}: {call.size_words}." if call is not None else ""
    done = await reindex(library, plan, patience=FOR_ONE)
    if done.filled:
        return ReEmbedded(True, f"It has a vector of its present content now.{sent}")
    return ReEmbedded(False, " ".join(done.failed) or "It changed meanwhile and was left alone.")
