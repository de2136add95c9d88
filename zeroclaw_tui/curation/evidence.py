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
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.recall import RecallRequest, RecallResult
from zeroclaw_tui.scoring.decide import Decision, answer, asked_of_store, decide, own_ranking, serves, takes_long
from zeroclaw_tui.scoring.evidence import Evidence, OwnEvidence, StageEvidence
from zeroclaw_tui.scoring.rerank import pool_size
from zeroclaw_tui.scoring.settings import Trial
from zeroclaw_tui.scoring.way import Way, way_of

if TYPE_CHECKING:
    import numpy as np

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
    evidence: tuple[Evidence, ...]
    """One for each session scope of the recall; what is uncut serves them all."""
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
        decision = decide(self.evidence, trial)
        return None if self._missing(decision) or self._is_long(decision) else self._result(decision)

    async def replayed(self, trial: Trial) -> RecallResult:
        """The recall as the trial has it; what is not read yet is read."""
        trial = _dated(trial)
        decision = await self._decide(trial)
        if self._takes_long(trial) or self._is_long(decision):
            return await asyncio.to_thread(self._result, decision)
        return self._result(decision)

    async def way(self, trial: Trial, entry: MemoryEntry) -> Way:
        """The way of one memory (with its whole content) through that recall."""
        trial = _dated(trial)
        return await asyncio.to_thread(way_of, await self._decide(trial), self.rows, entry)

    async def _decide(self, trial: Trial) -> Decision:
        if self.is_big:
            decision = await asyncio.to_thread(decide, self.evidence, trial)
        else:
            decision = decide(self.evidence, trial)
        missing = self._missing(decision)
        if missing:
            found = await read_rows(self.library, missing)
            self.rows |= found
            self.gone.update(handle for handle in missing if handle not in found)
        return decision

    def _takes_long(self, trial: Trial) -> bool:
        """Whether more is ranked than a frame has time for."""
        if asked_of_store(trial).limit > MOST_AT_ONCE:
            return True
        return self.is_big and bool(trial.request.agents) and trial.profile.agent_scope == "after"

    def _is_long(self, decision: Decision) -> bool:
        """Whether the contents that are looked at are longer than a frame has time for."""
        limit = asked_of_store(decision.trial).limit
        own = [
            scored.entry
            for each in self.evidence
            if isinstance(each, OwnEvidence)
            for scored in own_ranking(each, limit)
        ]
        return takes_long([*own, *(self.rows[handle] for handle in decision.wanted if handle in self.rows)])

    @property
    def is_big(self) -> bool:
        """Whether ranking what was found belongs in a thread."""
        return any(
            isinstance(each, StageEvidence) and len(each.rows.handles) > DECIDED_AT_ONCE for each in self.evidence
        )

    def _missing(self, decision: Decision) -> list[Handle]:
        return [handle for handle in decision.wanted if handle not in self.rows and handle not in self.gone]

    def _result(self, decision: Decision) -> RecallResult:
        trial, library = decision.trial, self.library
        settings = trial.settings
        answered = answer(decision, self.rows)
        is_own = trial.profile == library.profile.profile
        # Nobody misses the vector of a message that is not asked for.
        is_by_words = trial.profile.search_modes and settings.search_mode == "bm25"
        return RecallResult(
            request=trial.request,
            backend=library.memory.name,
            location=library.memory.location,
            profile=trial.profile.version,
            profile_source=library.profile.source if is_own else "chosen here",
            mode=answered.mode,
            weights=(settings.vector_weight, settings.keyword_weight),
            threshold=settings.threshold,
            scale=answered.scale,
            results=answered.results,
            withheld=answered.withheld,
            notes=(*(() if is_by_words else self.notes), *decision.notes),
            pool=pool_size(trial) if trial.reranks else None,
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
    if memory.not_read_because is not None and (memory.program is None or trial.request.layer == "agent"):
        raise Refused(memory.not_read_because, hint="What reaches an agent cannot be told of them.")
    request, profile, settings = trial.request, trial.profile, trial.settings
    vector, notes = await query_vector(
        memory, library.embedder, profile, settings, request.query, library.why_no_vectors
    )
    evidence = await _evidence(library, trial, vector)
    gathered = GatheredEvidence(library, evidence, notes)
    # What every decision needs is worked out here, where the time is not missed.
    await asyncio.to_thread(decide, evidence, trial)
    for each in {id(each): each for each in evidence}.values():
        if isinstance(each, OwnEvidence):
            gathered.rows |= each.contents
        elif whole_store:
            found = await asyncio.to_thread(_found, each)
            with _without_collecting():
                gathered.rows |= await read_rows(library, found)
    return gathered


async def _evidence(library: Library, trial: Trial, vector: np.ndarray | None) -> tuple[Evidence, ...]:
    """One for each session scope. What the stages found uncut is everybody's; a backend's own ranking is of one."""
    asked = [asked_of_store(trial, session) for session in trial.request.scopes]
    first = await library.memory.evidence(asked[0], trial.profile, trial.settings, vector)
    if isinstance(first, StageEvidence):
        return (first,) * len(asked)
    rest = [await library.memory.evidence(each, trial.profile, trial.settings, vector) for each in asked[1:]]
    return (first, *rest)


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
