"""`memory explain`: why one memory is, or is not, in the prompt for a message."""

from __future__ import annotations

import argparse
from datetime import datetime

from zeroclaw_tui.cli.arguments import agents_given
from zeroclaw_tui.cli.explanation_lines import explanation_lines
from zeroclaw_tui.cli.finding import exactly, the_one
from zeroclaw_tui.cli.output import document, write_lines
from zeroclaw_tui.cli.recalling import tell_notes
from zeroclaw_tui.cli.trials import trial_given
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.prompt import explain as explain_memory
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import DONE


async def explain(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Print the way of the memory that is meant, whatever the verdict."""
    entry = await _meant(library, given)
    trial = trial_given(library, given, now)
    explanation = await explain_memory(library, entry, trial)
    if given.json:
        document(explanation.as_json())
    else:
        write_lines(explanation_lines(explanation, trial))
    tell_notes(library, explanation.notes, set())
    return DONE


async def _meant(library: Library, given: argparse.Namespace) -> MemoryEntry:
    """The memory of this key that the agents hold; of another agent too, since why they do not see it is the answer."""
    agents = agents_given(given)
    held = bool(agents) and given.key is not None and await exactly(library, given.key, given.id, agents)
    return await the_one(library, given.key, given.id, agents if held else ())
