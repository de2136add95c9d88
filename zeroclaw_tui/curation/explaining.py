"""Why one memory is, or is not, in the prompt for a message."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

from zeroclaw_tui.curation.evidence import GatheredEvidence, gather_evidence
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import RecallResult
from zeroclaw_tui.scoring.decide import answer, decide, is_same, of_program
from zeroclaw_tui.scoring.evidence import StageEvidence
from zeroclaw_tui.scoring.explanation import Advice, Explanation, WholeRecall, explained
from zeroclaw_tui.scoring.profiles import LANDMARKS, parse_version, profile_for
from zeroclaw_tui.scoring.settings import RerankSettings, RerankStrategy, SearchMode, Trial
from zeroclaw_tui.scoring.way import Way, lost_of_session

_WEIGHTS = ((0.5, 0.5), (0.3, 0.7), (0.9, 0.1), (0.1, 0.9), (1.0, 0.0), (0.0, 1.0))
_LIMITS = (6, 7, 8, 10, 12, 15, 20, 30, 50, 100)
_UNNARROWED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("recall without the session", {"session_id": None, "further_sessions": ()}),
    ("recall in every namespace", {"namespace": None}),
    ("recall for every agent", {"agents": None}),
    ("recall without the time bounds", {"since": None, "until": None}),
)

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library


async def explain(library: Library, entry: MemoryEntry, trial: Trial) -> Explanation:
    """The way of this memory for the trial's message; any row of the store can be asked about.

    Reads only. Raises InspectorError kinds; NotThere when the memory has gone meanwhile.
    """
    whole = await library.memory.whole(entry.handle)
    if library.memory.program is not None:
        trial = of_program(trial)
    gathered = await gather_evidence(library, trial)
    return await advised(gathered, await explained_by(gathered, whole, trial), trial)


async def explained_by(gathered: GatheredEvidence, entry: MemoryEntry, trial: Trial) -> Explanation:
    """The same on evidence that is there and serves the trial, without advice; `entry` has its whole content."""
    library = gathered.library
    way = await gathered.way(trial, entry)
    result = await gathered.replayed(trial)
    shares = await library.memory.word_shares(entry, trial.request.query, trial.profile)
    recall = await asyncio.to_thread(_whole_recall, gathered, trial, result, entry)
    source = library.profile.source if trial.profile == library.profile.profile else "chosen here"
    return explained(way, trial, shares, source, result.notes, recall)


async def advised(gathered: GatheredEvidence, explanation: Explanation, trial: Trial) -> Explanation:
    """The explanation with advice that was decided again to the end, in place of what usually helps where it stops."""
    if explanation.is_injected or explanation.program is not None:
        return explanation
    way = await gathered.way(trial, explanation.entry)
    return explanation.advised(await _advice(gathered, way, trial))


async def _advice(gathered: GatheredEvidence, way: Way, trial: Trial) -> Advice | None:
    """The first other numbers, filters or version with which the whole recall puts the memory in the prompt."""
    if await _is_in_as_core(gathered, way, trial):
        return Advice("the category core, which does not fade,", "e", trial)
    for words, key, tried in _others(way, trial):
        if not gathered.serves(tried):
            continue
        result = await gathered.replayed(tried)
        if any(scored.injected and is_same(scored.entry, way.entry) for scored in result.results):
            return Advice(words, key, tried)
    return None


async def _is_in_as_core(gathered: GatheredEvidence, way: Way, trial: Trial) -> bool:
    """Whether a memory that age keeps out would be in the prompt as one of the category core."""
    if way.stopped_at != "threshold" or way.judged is None or way.judged.decayed == way.judged.score:
        return False
    handle = way.entry.handle
    rows = {**gathered.rows, handle: replace(way.entry, category="core")}
    answered = await asyncio.to_thread(lambda: answer(decide(gathered.evidence, trial), rows))
    return any(scored.injected and is_same(scored.entry, way.entry) for scored in answered.results)


def _others(way: Way, trial: Trial) -> Iterator[tuple[str, str, Trial]]:
    """What a person could try, the smallest change first: in words, with its key, and as a trial."""
    request, settings = trial.request, trial.settings
    held = None if way.judged is None else way.judged.held
    if way.entry.session_id is not None and not request.has_session:
        within = replace(request, session_id=way.entry.session_id)
        yield "a message of its session", "w", replace(trial, request=within)
    low = math.floor(held * 100) / 100 if held is not None and math.isfinite(held) else 0.0
    if 0 < low < settings.threshold:
        yield f"a threshold of {low:.2f}", "w", replace(trial, settings=replace(settings, threshold=low))
    if way.merged:
        for vector, keyword in _WEIGHTS:
            if (vector, keyword) != (settings.vector_weight, settings.keyword_weight):
                other = replace(settings, vector_weight=vector, keyword_weight=keyword)
                yield f"a weighting of {vector:g} / {keyword:g}", "w", replace(trial, settings=other)
    if trial.profile.search_modes:
        for mode in get_args(SearchMode):
            if mode != settings.search_mode:
                yield f"the search mode {mode}", "w", replace(trial, settings=replace(settings, search_mode=mode))
    if trial.profile.reranks:
        for words, rerank in _reranks(settings.rerank):
            yield words, "w", replace(trial, settings=replace(settings, rerank=rerank))
    for limit in _LIMITS:
        if limit > request.limit:
            own = request.limits_shown[1]
            has = f" (the turn has {own:,})" if own else ""
            yield f"a limit of {limit:,}{has}", "w", replace(trial, request=replace(request, limit=limit))
    for words, fields in _UNNARROWED:
        if any(getattr(request, field) for field in fields):
            yield words, "F", replace(trial, request=replace(request, **fields))
    for version in LANDMARKS:
        if parse_version(version) > parse_version(trial.profile.version):
            yield f"the scoring of ZeroClaw {version}", "p", replace(trial, profile=profile_for(version))


def _reranks(present: RerankSettings) -> Iterator[tuple[str, RerankSettings]]:
    if present.enabled:
        yield "rerank switched off", replace(present, enabled=False)
    else:
        yield "rerank switched on", replace(present, enabled=True)
    for strategy in get_args(RerankStrategy):
        if strategy != present.strategy or not present.enabled:
            yield f"rerank with strategy {strategy}", replace(present, enabled=True, strategy=strategy)
    for weight in (0.5, 0.8):
        yield f"rerank with importance weighing {weight:g}", replace(present, enabled=True, importance_weight=weight)
        yield f"rerank with recency weighing {weight:g}", replace(present, enabled=True, recency_weight=weight)


def _whole_recall(gathered: GatheredEvidence, trial: Trial, result: RecallResult, entry: MemoryEntry) -> WholeRecall:
    evidence = gathered.evidence[0]
    why = _why_no_vector(gathered.library)
    if not isinstance(evidence, StageEvidence):
        own_rule = gathered.library.memory.name
        told = evidence.told(entry) if evidence.told is not None else ""
        return WholeRecall(
            result.results, result.scale, own_rule, why_no_vector=why, program=evidence.program, told=told
        )
    return WholeRecall(
        result.results,
        result.scale,
        store_rows=evidence.store_rows,
        why_no_vector=why,
        lost_of_session=lost_of_session(decide(gathered.evidence, trial)),
    )


def _why_no_vector(library: Library) -> str:
    """Why a message has no vector here, in a few words."""
    because = library.why_no_vectors
    if because is None:
        return "it could not be had"
    return because.removeprefix("keyword only: ").rstrip(".")
