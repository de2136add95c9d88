"""Evidence of one query, gathered once, and recalls decided on it again and again."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from zeroclaw_tui.curation.recall import query_vector
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.recall import RecallRequest, RecallResult
from zeroclaw_tui.scoring.agent_view import asked_of_store, takes_long
from zeroclaw_tui.scoring.evidence import Evidence, OwnEvidence, StageEvidence
from zeroclaw_tui.scoring.replay import Replay, Trial, Way, answer, replay, serves, way_of
from zeroclaw_tui.scoring.replaying.own import recalled

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

ALL_AT_ONCE = 20_000
"""With `whole_store` the contents of up to so many rows are read ahead, so that no re-ranking waits for the store."""
READ_AHEAD = 2_000
"""Of a bigger store so many of each stage: a recall of 100 needs 800, the rest is read when it is wanted."""
DECIDED_AT_ONCE = 20_000
"""Evidence of up to so many rows is ranked within a frame; more of it goes to a thread."""
MOST_AT_ONCE = 2000
"""Up to so many results are made within a frame."""


@dataclass(slots=True)
class GatheredEvidence:
    """What the store found for a query, and the rows read so far. A trial that `serves` refuses needs another one."""

    library: Library
    evidence: Evidence
    notes: tuple[str, ...]
    rows: dict[Handle, MemoryEntry] = field(default_factory=dict)
    gone: set[Handle] = field(default_factory=set)
    """Rows that were no longer there when they were read."""

    def serves(self, trial: Trial) -> bool:
        """Whether this evidence answers the trial."""
        return serves(self.evidence, trial)

    def replayed_now(self, trial: Trial) -> RecallResult | None:
        """The recall as the trial has it, without waiting; None when rows have to be read first, or so much is to be
        ranked that it belongs in a thread."""
        trial = _dated(trial)
        if self._takes_long(trial):
            return None
        replayed = replay(self.evidence, trial)
        return None if self._missing(replayed) or self._is_long(replayed) else self._result(replayed)

    async def replayed(self, trial: Trial) -> RecallResult:
        """The recall as the trial has it; what is not read yet is read."""
        trial = _dated(trial)
        replayed = await self._replay(trial)
        if self._takes_long(trial) or self._is_long(replayed):
            return await asyncio.to_thread(self._result, replayed)
        return self._result(replayed)

    async def way(self, trial: Trial, entry: MemoryEntry) -> Way:
        """The way of one memory (with its whole content) through that recall."""
        trial = _dated(trial)
        return await asyncio.to_thread(way_of, await self._replay(trial), self.rows, entry)

    async def _replay(self, trial: Trial) -> Replay:
        if self.is_big:
            replayed = await asyncio.to_thread(replay, self.evidence, trial)
        else:
            replayed = replay(self.evidence, trial)
        missing = self._missing(replayed)
        if missing:
            found = await read_rows(self.library, missing)
            self.rows |= found
            self.gone.update(handle for handle in missing if handle not in found)
        return replayed

    def _takes_long(self, trial: Trial) -> bool:
        """Whether more is ranked than a frame has time for."""
        if asked_of_store(trial.request, trial.profile).limit > MOST_AT_ONCE:
            return True
        return self.is_big and bool(trial.request.agents) and trial.profile.agent_scope == "after"

    def _is_long(self, replayed: Replay) -> bool:
        """Whether the contents that are looked at are longer than a frame has time for."""
        if isinstance(self.evidence, OwnEvidence):
            limit = asked_of_store(replayed.trial.request, replayed.trial.profile).limit
            return takes_long(scored.entry for scored in recalled(self.evidence, limit))
        return takes_long(self.rows[handle] for handle in replayed.wanted if handle in self.rows)

    @property
    def is_big(self) -> bool:
        """Whether ranking what was found belongs in a thread."""
        return isinstance(self.evidence, StageEvidence) and len(self.evidence.rows.handles) > DECIDED_AT_ONCE

    def _missing(self, replayed: Replay) -> list[Handle]:
        return [handle for handle in replayed.wanted if handle not in self.rows and handle not in self.gone]

    def _result(self, replayed: Replay) -> RecallResult:
        trial, library = replayed.trial, self.library
        settings = trial.settings
        results, withheld, mode, scale = answer(replayed, self.rows)
        is_own = trial.profile == library.profile.profile
        # Nobody misses the vector of a message that is not asked for.
        is_by_words = trial.profile.search_modes and settings.search_mode == "bm25"
        return RecallResult(
            request=trial.request,
            backend=library.memory.name,
            location=library.memory.location,
            profile=trial.profile.version,
            profile_source=library.profile.source if is_own else "chosen here",
            mode=mode,
            weights=(settings.vector_weight, settings.keyword_weight),
            threshold=settings.threshold,
            scale=scale,
            results=results,
            withheld=withheld,
            notes=(*(() if is_by_words else self.notes), *replayed.notes),
        )


def trial_of(library: Library, request: RecallRequest) -> Trial:
    """The recall as it is: this library's profile and settings, `as_of` filled in."""
    return _dated(Trial(request, library.profile.profile, library.settings))


async def gather_evidence(library: Library, trial: Trial, *, whole_store: bool = False) -> GatheredEvidence:
    """Ask the store once for everything a recall of this query can be decided from. Raises InspectorError kinds.

    The query's vector is asked for as recall does it; where it cannot be had a note says so. With `whole_store` the
    contents of all rows found are read too, in the background's thread; of more than ALL_AT_ONCE the first of each
    stage.
    """
    trial, memory = _dated(trial), library.memory
    request, profile, settings = trial.request, trial.profile, trial.settings
    vector, notes = await query_vector(
        memory, library.embedder, profile, settings, request.query, library.why_no_vectors
    )
    evidence = await memory.evidence(asked_of_store(request, profile), profile, settings, vector)
    gathered = GatheredEvidence(library, evidence, notes)
    # What every replay needs is worked out here, where the time is not missed.
    await asyncio.to_thread(replay, evidence, trial)
    if whole_store and isinstance(evidence, StageEvidence):
        found = await asyncio.to_thread(_found, evidence)
        with _without_collecting():
            gathered.rows = await read_rows(library, found)
    if isinstance(evidence, OwnEvidence):
        gathered.rows = {scored.entry.handle: scored.entry for scored in evidence.entries}
    return gathered


async def read_rows(library: Library, handles: Sequence[Handle]) -> dict[Handle, MemoryEntry]:
    """Rows with their whole content; rows gone meanwhile are left out."""
    if not handles:
        return {}
    return {entry.handle: entry for entry in await library.memory.whole_rows(handles)}


def _found(evidence: StageEvidence) -> list[Handle]:
    """The rows to read ahead: every row a stage found, or of a big store those it ranks first."""
    stages = (evidence.keyword_handles, evidence.vector_handles, evidence.like, evidence.recent)
    most = ALL_AT_ONCE if len(evidence.rows.handles) <= ALL_AT_ONCE else READ_AHEAD
    return list(dict.fromkeys(handle for hits in stages for handle in hits[:most].tolist()))[:ALL_AT_ONCE]


@contextmanager
def _without_collecting() -> Iterator[None]:
    """No cyclic garbage is looked for meanwhile: with 20,000 rows in the making that stops every thread for 50 ms and
    more. Only for reads of a local file, which end soon."""
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_on:
            gc.enable()


def _dated(trial: Trial) -> Trial:
    if trial.request.as_of:
        return trial
    return replace(trial, request=replace(trial.request, as_of=datetime.now().astimezone().isoformat()))
