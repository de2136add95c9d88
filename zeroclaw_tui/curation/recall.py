"""Recall as the agent would have it: one path for commands, screens and previews."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING

from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.embeddings.base import query_with
from zeroclaw_tui.memory.errors import EmbeddingFailed
from zeroclaw_tui.memory.recall import UNLIMITED, RecallResult, Rule
from zeroclaw_tui.scoring.decide import answer, asked_of_store, decide, of_program, takes_long
from zeroclaw_tui.scoring.injection import RECALL_LIMIT, pool_size
from zeroclaw_tui.scoring.keywords import lists_recent, words
from zeroclaw_tui.scoring.profiles import ScoringProfile, Trial

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.curation.library import Library

KEYWORD_HITS_ONLY = "Keyword hits only."
"""Part of the note of a recall whose query's vector could not be had."""
_TOGETHER = 50
"""So many queries take 20 MB while they are compared with 100,000 vectors."""


async def recall_memories(library: Library, trial: Trial) -> RecallResult:
    """The answer to a recall, judged for injection. Raises InspectorError kinds and SearchInterrupted.

    Layer "agent" drops what the store gives no agent and what the content scanner of ZeroClaw >= 0.8.4 flags, and tells
    it in `withheld`; layer "store" is the store's own recall. A query whose vector cannot be had is answered by
    keywords alone, with a note.
    """
    return await _decided(library, dated(trial), *await query_vector(library, trial))


async def recall_each(library: Library, trials: Iterable[Trial]) -> AsyncGenerator[RecallResult, None]:
    """The answers of `recall_memories` in their order, where many recalls are asked; their vectors are compared
    together."""
    waiting = iter(trials)
    while some := list(islice(waiting, _TOGETHER)):
        found = [await query_vector(library, trial) for trial in some]
        vectors = [vector for vector, _ in found if vector is not None]
        alike = [vector for vector in vectors if len(vector) == len(vectors[0])]
        if alike:
            await library.memory.prepare_vectors(alike)
        for trial, (vector, notes) in zip(some, found, strict=True):
            yield await _decided(library, dated(trial), vector, notes)


async def recall_steps(library: Library, trial: Trial) -> AsyncGenerator[RecallResult, None]:
    """The same in steps: while an endpoint is asked for the query's vector, first what the words alone find, marked
    `awaits_vector`; the last step is the answer of `recall_memories`. Leaving it between two steps ends the asking."""
    trial = dated(trial)
    if not await _waits(library, trial):
        yield await _decided(library, trial, *await query_vector(library, trial))
        return
    by_words = await _decided(library, trial, None, ())
    # Asked while the first answer is looked at; not before that, as typing on would make every request in vain.
    asking = asyncio.ensure_future(query_vector(library, trial))
    try:
        yield replace(by_words, awaits_vector=True)
        vector, notes = await asking
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    if vector is None:
        yield replace(by_words, notes=(*notes, *by_words.notes))
    else:
        yield await _decided(library, trial, vector, notes)


async def query_vector(library: Library, trial: Trial) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """The query's vector where this recall uses one, and notes on why there is none."""
    embedder, has_vectors = library.embedder, library.memory.capabilities.vectors
    if not _uses_vector(library, trial) or (embedder is None and not has_vectors):
        # Where the store has no vectors either nobody expects them: its notices say it, not every recall.
        return None, ()
    if embedder is None or not has_vectors:
        why = library.why_no_vectors
        return None, (why,) if why else ()
    query = trial.request.query
    cached = await _cached(library, query)
    if cached is not None:
        return cached, ()
    try:
        return await query_with(embedder, query), ()
    except EmbeddingFailed as failure:
        return None, (f"{failure.message} {KEYWORD_HITS_ONLY} {failure.hint}".strip(),)


def _uses_vector(library: Library, trial: Trial) -> bool:
    """Whether recall asks for the vector of this query, if it can."""
    query, profile = trial.request.query, trial.profile
    if library.memory.embeds_itself or not words(query) or lists_recent(query, profile):
        return False
    return not (profile.search_modes and trial.settings.search_mode == "bm25")


async def _waits(library: Library, trial: Trial) -> bool:
    """Whether the query's vector has to be fetched from an endpoint."""
    query = trial.request.query
    if not library.waits_for(query) or not library.memory.capabilities.vectors or not _uses_vector(library, trial):
        return False
    return await _cached(library, query) is None


async def _cached(library: Library, query: str) -> np.ndarray | None:
    """The vector the store has of a query, where its length fits."""
    cached, embedder = await library.memory.cached_vector(query), library.embedder
    return cached if cached is not None and embedder is not None and len(cached) == embedder.dimensions else None


def dated(trial: Trial) -> Trial:
    """The trial with a moment from which ages count: now, unless its request names one."""
    if trial.request.as_of:
        return trial
    return trial._replace(request=replace(trial.request, as_of=datetime.now().astimezone().isoformat()))


async def _decided(library: Library, trial: Trial, vector: np.ndarray | None, notes: tuple[str, ...]) -> RecallResult:
    """The recall with this vector: the store's hits for each session scope, decided."""
    memory = library.memory
    if memory.program is not None:
        trial = of_program(trial)
    request, settings, profile = trial.request, trial.settings, trial.profile
    evidence = [
        await memory.recall_evidence(asked_of_store(trial, session), profile, settings, vector)
        for session in request.scopes
    ]
    decision = decide(evidence, trial)
    rows = {handle: entry for each in evidence for handle, entry in each.contents.items()}
    is_long = takes_long(rows.values())
    answered = await asyncio.to_thread(answer, decision, rows) if is_long else answer(decision, rows)
    results = answered.results
    if memory.not_read_because is not None:
        results = tuple(replace(one, injected=False, not_injected_because=memory.not_read_because) for one in results)
    return RecallResult(
        request=request,
        backend=memory.name,
        location=memory.location,
        profile=profile.version,
        profile_source=library.profile.source,
        mode=answered.mode,
        weights=(settings.vector_weight, settings.keyword_weight),
        threshold=settings.threshold,
        scale=answered.scale,
        results=results,
        withheld=answered.withheld,
        notes=(*notes, *decision.notes),
        pool=pool_size(trial) if trial.reranks else None,
        not_read_because=memory.not_read_because,
        program=memory.program,
    )


def turn_limit(config: MemoryConfig, profile: ScoringProfile, rule: Rule, agents: Sequence[str] | None) -> int:
    """How many memories ZeroClaw recalls for a message of this kind of turn.

    5 for the CLI agent, cron and channels; the embedded agent of ZeroClaw >= 0.8.0 has `memory_recall_limit` of its
    runtime profile, where 0 is unlimited. Without `agents` it is the only one of the config that has such a limit.
    """
    if rule != "library" or not profile.agents_have_limits:
        return RECALL_LIMIT
    alias = agents[0] if agents else next(iter(config.agents), "") if len(config.agents) == 1 else ""
    return config.recall_limits.get(alias, RECALL_LIMIT) or UNLIMITED
