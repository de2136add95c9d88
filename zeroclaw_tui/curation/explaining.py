"""Why one memory is, or is not, in the prompt for a message."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from zeroclaw_tui.curation.evidence import GatheredEvidence, gather_evidence
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import RecallResult
from zeroclaw_tui.scoring.evidence import StageEvidence
from zeroclaw_tui.scoring.explaining.lost import lost_of_session
from zeroclaw_tui.scoring.explanation import Explanation, WholeRecall, explained
from zeroclaw_tui.scoring.replay import Trial, replay

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library


async def explain(library: Library, entry: MemoryEntry, trial: Trial) -> Explanation:
    """The way of this memory for the trial's message; any row of the store can be asked about.

    Reads only. Raises InspectorError kinds; NotThere when the memory has gone meanwhile.
    """
    whole = await library.whole(entry.handle)
    gathered = await gather_evidence(library, trial)
    return await explained_by(gathered, whole, trial)


async def explained_by(gathered: GatheredEvidence, entry: MemoryEntry, trial: Trial) -> Explanation:
    """The same on evidence that is there already and serves the trial; `entry` has its whole content."""
    library = gathered.library
    way = await gathered.way(trial, entry)
    result = await gathered.replayed(trial)
    shares = await library.memory.word_shares(entry, trial.request.query, trial.profile)
    recall = await asyncio.to_thread(_whole_recall, gathered, trial, result)
    source = library.profile.source if trial.profile == library.profile.profile else "chosen here"
    return explained(way, trial, shares, source, result.notes, recall)


def _whole_recall(gathered: GatheredEvidence, trial: Trial, result: RecallResult) -> WholeRecall:
    evidence = gathered.evidence
    why = _why_no_vector(gathered.library)
    if not isinstance(evidence, StageEvidence):
        own_rule = gathered.library.memory.name
        return WholeRecall(result.results, result.scale, own_rule, why_no_vector=why)
    return WholeRecall(
        result.results,
        result.scale,
        store_rows=evidence.store_rows,
        why_no_vector=why,
        lost_of_session=lost_of_session(replay(evidence, trial)),
    )


def _why_no_vector(library: Library) -> str:
    """Why a message has no vector here, in a few words."""
    because = library.why_no_vectors
    if because is None:
        return "it could not be had"
    return because.removeprefix("keyword only: ").rstrip(".")
