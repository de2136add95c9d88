"""Why one memory is, or is not, in the prompt for a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.scoring.explanation import Explanation
from zeroclaw_tui.scoring.replay import Trial

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library


async def explain(library: Library, entry: MemoryEntry, trial: Trial) -> Explanation:
    """The way of this memory for the trial's message; any row of the store can be asked about.

    Reads only. Raises InspectorError kinds; NotThere when the memory has gone meanwhile.
    """
    raise NotImplementedError
