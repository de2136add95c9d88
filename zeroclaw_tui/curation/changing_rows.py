"""Bringing many rows to a wanted state in one action: importing, hydrating, giving another category."""

from __future__ import annotations

from zeroclaw_tui.curation.changing import Outcome, carried_out, refuse_read_only
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.trash.trash import Verb
from zeroclaw_tui.memory.change import Advance, Batches, Clash


async def change_rows(
    library: Library,
    verb: Verb,
    summary: str,
    wanted: Batches,
    *,
    clash: Clash = "refuse",
    advance: Advance | None = None,
) -> Outcome:
    """Bring rows to the state that `before` of each change says, from the one that `after` says (None: not there).

    The changes need no number. A row already in the wanted state is left alone and counts as done, so that doing it
    again finishes what was cut off. "overwrite" replaces what has the id or the key, "rename" puts the wanted row
    beside it under another key; both keep what they replace, and one undo takes all of it back.

    Raises Clashes with "refuse" before anything is written, Refused, Locked, TriggersMissing, Unreadable.
    """
    refuse_read_only(library)

    async def work(action: int, going: Advance) -> Outcome:
        keep = library.trash.keeper(action)
        reversal = await library.memory.revert(wanted, keep, clash=clash, advance=going)
        return Outcome(
            verb, reversal.reverted, cancelled=reversal.cancelled, notes=reversal.notes, renamed=reversal.renamed
        )

    return await carried_out(library, verb, summary, work, advance)
