"""Recall as the agent would have it: the answer, why a memory is or is not in it, and the prompt's text.

One path for commands, screens and previews.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, get_args

from zeroclaw_tui.backends.lookup import cached_vector, whole_entry
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.embeddings.base import estimate_tokens
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import EmbeddingFailed, Refused
from zeroclaw_tui.memory.query import ENTRIES, Query
from zeroclaw_tui.memory.recall import UNLIMITED, RecallRequest, RecallResult, Rule, ScoredEntry
from zeroclaw_tui.scoring.decide import (
    Answer,
    Decision,
    answer,
    asked_of_store,
    decide,
    is_same,
    of_program,
    own_ranking,
    serves,
    takes_long,
)
from zeroclaw_tui.scoring.evidence import Evidence, OwnEvidence, StageEvidence, created_until, word_shares
from zeroclaw_tui.scoring.explain import Advice, Explanation, explained
from zeroclaw_tui.scoring.injection import RECALL_LIMIT, context_block, pool_size
from zeroclaw_tui.scoring.keywords import lists_recent, words
from zeroclaw_tui.scoring.placement import Placement, lost_of_session, placement_of
from zeroclaw_tui.scoring.profiles import (
    LANDMARKS,
    RerankSettings,
    RerankStrategy,
    ScoringProfile,
    SearchMode,
    Trial,
    parse_version,
    profile_for,
)
from zeroclaw_tui.scoring.steps import WholeRecall
from zeroclaw_tui.scoring.weights import told_apart

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.curation.library import Library


_KEYWORD_HITS_ONLY = "Keyword hits only."
_PROMPT_IS_EMPTY = "Without the message's vector ZeroClaw's own recall fails, and the agent gets nothing."


async def recall_memories(library: Library, trial: Trial) -> RecallResult:
    """The answer to a recall, judged for injection. Raises InspectorError kinds and SearchInterrupted.

    Layer "agent" drops what the store gives no agent and what the content scanner of ZeroClaw >= 0.8.4 flags, and tells
    it in `withheld`; layer "store" is the store's own recall. A query whose vector cannot be had is answered by
    keywords alone, with a note.
    """
    return await _decided(library, dated(trial), *await query_vector(library, trial))


async def recall_steps(
    library: Library, trial: Trial, *, words_first: bool = False
) -> AsyncGenerator[RecallResult, None]:
    """Recall in steps: first what the words alone find, marked `awaits_vector`, if the query's vector has to be
    fetched from an endpoint or `words_first` says that comparing vectors takes long.

    The last step is the answer of `recall_memories`. Closing the generator between two steps ends the request.
    """
    trial = dated(trial)
    if not (words_first and _uses_vector(library, trial)) and not await _waits(library, trial):
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
    embedder, has_vectors = library.embedder, "vectors" not in library.memory.why_not
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
        return await embedder.query(query), ()
    except EmbeddingFailed as failure:
        return None, (f"{failure.message} {_KEYWORD_HITS_ONLY} {failure.hint}".strip(),)


def why_by_words(notes: Iterable[str]) -> str | None:
    """The note of a recall whose query's vector could not be had, so that words alone answered; None for any other."""
    return next((note for note in notes if _KEYWORD_HITS_ONLY in note), None)


def _uses_vector(library: Library, trial: Trial) -> bool:
    """Whether recall asks for the vector of this query, if it can."""
    query, profile, memory = trial.request.query, trial.profile, library.memory
    rule = memory.about.rule
    if (rule is not None and not rule.takes_vector) or not words(query) or lists_recent(query, profile):
        return False
    return not (profile.search_modes and trial.settings.search_mode == "bm25")


async def _waits(library: Library, trial: Trial) -> bool:
    """Whether the query's vector has to be fetched from an endpoint."""
    query = trial.request.query
    if not library.waits_for(query) or "vectors" in library.memory.why_not or not _uses_vector(library, trial):
        return False
    return await _cached(library, query) is None


async def _cached(library: Library, query: str) -> np.ndarray | None:
    """The vector the store has of a query, where its length fits."""
    cached, embedder = await cached_vector(library.memory, query), library.embedder
    return cached if cached is not None and embedder is not None and len(cached) == embedder.dimensions else None


def dated(trial: Trial) -> Trial:
    """The trial with a moment from which ages count: now, unless its request names one."""
    if trial.request.as_of:
        return trial
    return trial._replace(request=replace(trial.request, as_of=datetime.now().astimezone().isoformat()))


async def _decided(library: Library, trial: Trial, vector: np.ndarray | None, notes: tuple[str, ...]) -> RecallResult:
    """The recall with this vector: the store's hits for each session scope, decided."""
    memory = library.memory
    if memory.about.program is not None:
        trial = of_program(trial)
    if trial.request.created_until:
        # Cut stages would lack what moves up in place of the memories that are left out.
        evidence = await _evidence(library, trial, vector)
        result = await (await _gathered(library, trial, evidence, notes)).replayed(trial)
    else:
        result = await _cut_result(library, trial, vector, notes)
    results = result.results
    if memory.about.not_read_because is not None:
        results = tuple(
            replace(one, injected=False, not_injected_because=memory.about.not_read_because) for one in results
        )
    return replace(
        result, results=results, not_read_because=memory.about.not_read_because, program=memory.about.program
    )


async def _cut_result(
    library: Library, trial: Trial, vector: np.ndarray | None, notes: tuple[str, ...]
) -> RecallResult:
    """The recall, from stages that are cut for it."""
    request, settings, profile = trial.request, trial.settings, trial.profile
    evidence = [
        await library.memory.search(asked_of_store(trial, session), profile, settings, vector)
        for session in request.scopes
    ]
    decision = decide(evidence, trial)
    rows = {handle: entry for each in evidence for handle, entry in each.contents.items()}
    is_long = takes_long(rows.values())
    answered = await asyncio.to_thread(answer, decision, rows) if is_long else answer(decision, rows)
    return _result_of(library, decision, answered, notes, library.profile.source)


def _result_of(
    library: Library, decision: Decision, answered: Answer, notes: tuple[str, ...], source: str
) -> RecallResult:
    trial, settings = decision.trial, decision.trial.settings
    return RecallResult(
        request=trial.request,
        backend=library.memory.name,
        location=library.memory.about.location,
        profile=trial.profile.version,
        profile_source=source,
        mode=answered.mode,
        weights=(settings.vector_weight, settings.keyword_weight),
        threshold=settings.threshold,
        scale=answered.scale,
        results=answered.results,
        withheld=answered.withheld,
        notes=(*notes, *decision.notes),
        pool=pool_size(trial) if trial.reranks else None,
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
        trial = dated(trial)
        if self._takes_long(trial):
            return None
        decision = decide(self.evidence, trial)
        return None if self._missing(decision) or self._is_long(decision) else self._result(decision)

    async def replayed(self, trial: Trial) -> RecallResult:
        """The recall as the trial has it; what is not read yet is read."""
        trial = dated(trial)
        decision = await self._decide(trial)
        if self._takes_long(trial) or self._is_long(decision):
            return await asyncio.to_thread(self._result, decision)
        return self._result(decision)

    async def way(self, trial: Trial, entry: MemoryEntry) -> Placement:
        """The way of one memory (with its whole content) through that recall."""
        trial = dated(trial)
        return await asyncio.to_thread(placement_of, await self._decide(trial), self.rows, entry)

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
        trial, profile = decision.trial, self.library.profile
        # Nobody misses the vector of a message that is not asked for.
        is_by_words = trial.profile.search_modes and trial.settings.search_mode == "bm25"
        source = profile.source if trial.profile == profile.profile else "chosen here"
        answered = answer(decision, self.rows)
        return _result_of(self.library, decision, answered, () if is_by_words else self.notes, source)


def trial_of(library: Library, request: RecallRequest) -> Trial:
    """The recall as it is: this library's profile and settings, `as_of` filled in."""
    return dated(Trial(request, library.profile.profile, library.settings))


async def gather_evidence(library: Library, trial: Trial, *, whole_store: bool = False) -> GatheredEvidence:
    """Ask the store once for everything a recall of this query can be decided from. Raises InspectorError kinds.

    The query's vector is asked for as recall does it; where it cannot be had a note says so. With `whole_store` the
    contents of all rows found are read too, in the background's thread; of more than ALL_AT_ONCE the first of each
    stage.
    """
    trial = dated(trial)
    _check_is_read(library, trial)
    vector, notes = await query_vector(library, trial)
    gathered = await _gathered(library, trial, await _evidence(library, trial, vector), notes)
    for each in {id(each): each for each in gathered.evidence}.values():
        if whole_store and isinstance(each, StageEvidence):
            found = await asyncio.to_thread(_found, each)
            gathered.rows |= await read_rows(library, found)
    return gathered


def _check_is_read(library: Library, trial: Trial) -> None:
    memory = library.memory
    if memory.about.not_read_because is not None and (memory.about.program is None or trial.request.layer == "agent"):
        raise Refused(memory.about.not_read_because, hint="What they return to an agent is unknown.")


async def _gathered(
    library: Library, trial: Trial, evidence: tuple[Evidence, ...], notes: tuple[str, ...]
) -> GatheredEvidence:
    # What every decision needs is worked out here, where the time is not missed.
    await asyncio.to_thread(decide, evidence, trial)
    own = [each.contents for each in evidence if isinstance(each, OwnEvidence)]
    return GatheredEvidence(library, evidence, notes, {handle: entry for each in own for handle, entry in each.items()})


async def _evidence(library: Library, trial: Trial, vector: np.ndarray | None) -> tuple[Evidence, ...]:
    """Deep evidence for each session scope: hits of stages serve all scopes, a store's own ranking serves one."""
    asked = [asked_of_store(trial, session) for session in trial.request.scopes]
    first = await _search_deep(library, asked[0], trial, vector)
    if isinstance(first, StageEvidence):
        return (first,) * len(asked)
    return (first, *[await _search_deep(library, each, trial, vector) for each in asked[1:]])


async def _search_deep(library: Library, request: RecallRequest, trial: Trial, vector: np.ndarray | None) -> Evidence:
    evidence = await library.memory.search(request, trial.profile, trial.settings, vector, deep=True)
    if not request.created_until:
        return evidence
    return await asyncio.to_thread(created_until, evidence, datetime.fromisoformat(request.created_until))


async def read_rows(library: Library, handles: Sequence[Handle]) -> dict[Handle, MemoryEntry]:
    """Rows with their whole content; rows gone meanwhile are left out."""
    if not handles:
        return {}
    return {entry.handle: entry for entry in await library.memory.rows(Query(ENTRIES, handles=handles))}


def _found(evidence: StageEvidence) -> list[Handle]:
    """The rows to read ahead: every row a stage found, or of a big store those it ranks first."""
    stages = (evidence.keyword_handles, evidence.vector_handles, evidence.like, evidence.recent)
    most = ALL_AT_ONCE if len(evidence.rows.handles) <= ALL_AT_ONCE else READ_AHEAD
    return list(dict.fromkeys(handle for hits in stages for handle in hits[:most].tolist()))[:ALL_AT_ONCE]


_WEIGHTS = ((0.5, 0.5), (0.3, 0.7), (0.9, 0.1), (0.1, 0.9), (1.0, 0.0), (0.0, 1.0))
_LIMITS = (6, 7, 8, 10, 12, 15, 20, 30, 50, 100)
_UNNARROWED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("recall without the session", {"session_id": None, "further_sessions": ()}),
    ("recall in every namespace", {"namespace": None}),
    ("recall for every agent", {"agents": None}),
    ("recall without the time bounds", {"since": None, "until": None}),
)


async def explain(library: Library, entry: MemoryEntry, trial: Trial) -> Explanation:
    """The way of this memory for the trial's message; any row of the store can be asked about.

    Reads only. Raises InspectorError kinds; NotFound when the memory has gone meanwhile.
    """
    whole = await whole_entry(library.memory, entry.handle)
    if library.memory.about.program is not None:
        trial = of_program(trial)
    gathered = await gather_evidence(library, trial)
    return await advised(gathered, await explained_by(gathered, whole, trial), trial)


async def explained_by(gathered: GatheredEvidence, entry: MemoryEntry, trial: Trial) -> Explanation:
    """The same on evidence that is there and serves the trial, without advice; `entry` has its whole content."""
    library = gathered.library
    way = await gathered.way(trial, entry)
    result = await gathered.replayed(trial)
    shares = await asyncio.to_thread(word_shares, gathered.evidence[0], entry, trial.request.query)
    recall = await asyncio.to_thread(_whole_recall, gathered, trial, result, entry)
    source = library.profile.source if trial.profile == library.profile.profile else "chosen here"
    return explained(way, trial, shares, source, result.notes, recall)


async def advised(gathered: GatheredEvidence, explanation: Explanation, trial: Trial) -> Explanation:
    """The explanation with advice that was decided again to the end, in place of what usually helps where it stops."""
    if explanation.is_injected or explanation.program is not None:
        return explanation
    way = await gathered.way(trial, explanation.entry)
    return explanation.advised(await _advice(gathered, way, trial))


async def _advice(gathered: GatheredEvidence, way: Placement, trial: Trial) -> Advice | None:
    """The first other numbers, filters or version with which the whole recall puts the memory in the prompt."""
    if await _is_in_as_core(gathered, way, trial):
        return Advice("the category core, which does not fade,", "e", trial)
    for what, key, tried in _others(way, trial):
        if await _is_in(gathered, way, tried):
            return Advice(what, key, tried)
    for what, key, tried in _first_changes(way, trial):
        if not gathered.serves(tried):
            continue
        if await _is_in(gathered, way, tried):
            return Advice(what, key, tried)
        way_then = await gathered.way(tried, way.entry)
        for more, more_key, both in _others(way_then, tried):
            if more_key == "w" and await _is_in(gathered, way, both):
                return Advice(f"{what} and {more}", key, both)
        lower = _at_its_score(way_then, tried)
        if lower is None:
            continue
        for more, _, all_three in _limits(lower[2]):
            if await _is_in(gathered, way, all_three):
                return Advice(f"{what}, {lower[0]} and {more}", key, all_three)
    return None


async def _is_in(gathered: GatheredEvidence, way: Placement, trial: Trial) -> bool:
    """Whether the memory is in the prompt by another trial; False where the evidence does not answer it."""
    if not gathered.serves(trial):
        return False
    result = await gathered.replayed(trial)
    return any(scored.injected and is_same(scored.entry, way.entry) for scored in result.results)


def _first_changes(way: Placement, trial: Trial) -> Iterator[tuple[str, str, Trial]]:
    """What lets it pass one stage, where another stage may still stop it: its session, its score as the threshold, and
    no filter at all."""
    request = trial.request
    yield from filter(None, (_in_its_session(way, trial), _at_its_score(way, trial)))
    fields: dict[str, Any] = {name: value for _, changes in _UNNARROWED for name, value in changes.items()}
    if any(getattr(request, name) for name in fields):
        yield "recall without any filter", "F", trial._replace(request=replace(request, **fields))


def _in_its_session(way: Placement, trial: Trial) -> tuple[str, str, Trial] | None:
    request = trial.request
    if way.entry.session_id is None or request.has_session:
        return None
    within = replace(request, session_id=way.entry.session_id)
    return "a message of its session", "w", trial._replace(request=within)


def _at_its_score(way: Placement, trial: Trial) -> tuple[str, str, Trial] | None:
    held = None if way.candidate is None else way.candidate.held
    low = math.floor(held * 100) / 100 if held is not None and math.isfinite(held) else 0.0
    if not 0 < low < trial.settings.threshold:
        return None
    return f"a threshold of {low:.2f}", "w", trial._replace(settings=trial.settings._replace(threshold=low))


async def _is_in_as_core(gathered: GatheredEvidence, way: Placement, trial: Trial) -> bool:
    """Whether a memory that age keeps out would be in the prompt as one of the category core."""
    if way.stopped_at != "threshold" or way.judged is None or way.judged.decayed == way.judged.score:
        return False
    handle = way.entry.handle
    rows = {**gathered.rows, handle: replace(way.entry, category="core")}
    answered = await asyncio.to_thread(lambda: answer(decide(gathered.evidence, trial), rows))
    return any(scored.injected and is_same(scored.entry, way.entry) for scored in answered.results)


def _others(way: Placement, trial: Trial) -> Iterator[tuple[str, str, Trial]]:
    """What a person could try, the smallest change first: in words, with its key, and as a trial."""
    request, settings = trial.request, trial.settings
    yield from filter(None, (_in_its_session(way, trial), _at_its_score(way, trial)))
    if way.merged:
        for vector, keyword in _WEIGHTS:
            if (vector, keyword) != (settings.vector_weight, settings.keyword_weight):
                other = settings._replace(vector_weight=vector, keyword_weight=keyword)
                yield f"a weighting of {vector:g} / {keyword:g}", "w", trial._replace(settings=other)
    if trial.profile.search_modes:
        for mode in get_args(SearchMode):
            if mode != settings.search_mode:
                yield f"the search mode {mode}", "w", trial._replace(settings=settings._replace(search_mode=mode))
    if trial.profile.reranks:
        for told, rerank in _reranks(settings.rerank):
            yield told, "w", trial._replace(settings=settings._replace(rerank=rerank))
    yield from _limits(trial)
    for told, fields in _UNNARROWED:
        if any(getattr(request, name) for name in fields):
            yield told, "F", trial._replace(request=replace(request, **fields))
    for version in LANDMARKS:
        if parse_version(version) > parse_version(trial.profile.version):
            yield f"the scoring of ZeroClaw {version}", "p", trial._replace(profile=profile_for(version))


def _limits(trial: Trial) -> Iterator[tuple[str, str, Trial]]:
    own = trial.request.limits_shown[1]
    has = f" (the turn has {own:,})" if own else ""
    for limit in _LIMITS:
        if limit > trial.request.limit:
            yield f"a limit of {limit:,}{has}", "w", trial._replace(request=replace(trial.request, limit=limit))


def _reranks(present: RerankSettings) -> Iterator[tuple[str, RerankSettings]]:
    if present.enabled:
        yield "rerank switched off", present._replace(enabled=False)
    else:
        yield "rerank switched on", present._replace(enabled=True)
    for strategy in get_args(RerankStrategy):
        if strategy != present.strategy or not present.enabled:
            yield f"rerank with strategy {strategy}", present._replace(enabled=True, strategy=strategy)
    for weight in (0.5, 0.8):
        yield f"rerank with importance weighing {weight:g}", present._replace(enabled=True, importance_weight=weight)
        yield f"rerank with recency weighing {weight:g}", present._replace(enabled=True, recency_weight=weight)


def _whole_recall(gathered: GatheredEvidence, trial: Trial, result: RecallResult, entry: MemoryEntry) -> WholeRecall:
    evidence = gathered.evidence[0]
    why = _why_no_vector(gathered.library)
    if not isinstance(evidence, StageEvidence):
        own_rule = gathered.library.memory.name
        whole = WholeRecall(result.results, result.scale, own_rule, why_no_vector=why, program=evidence.program)
        reasons = () if evidence.reasons is None else tuple(evidence.reasons(entry))
        return replace(whole, reasons=reasons, has_sessions="sessions" not in gathered.library.memory.why_not)
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
        return "it is not available"
    return because.removeprefix("keyword only: ").rstrip(".")


_KINDS = {
    "skipped": "skipped as {what}",
    "withheld": "withheld from the agent ({what})",
    "limit": "behind the pool",
    "rerank": "left out by rerank",
    "cap": "too long for the prompt",
}
"""What the parts of "kind: what" mean, in the reasons of injection."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What stands before the message. `text` is literal, "" when nothing is injected; `tokens` is a rough count.

    `why_empty` says in a sentence why nothing is injected. `differs_by_rule` tells that the CLI agent and the channels
    inject by different rules in this version.
    """

    text: str
    rule: Rule
    result: RecallResult
    characters: int
    tokens: int
    entries: int
    differs_by_rule: bool
    why_empty: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The document the prompt command prints."""
        return {
            "query": self.result.request.query,
            "text": self.text,
            "rule": self.rule,
            "differs_by_rule": self.differs_by_rule,
            "characters": self.characters,
            "tokens": self.tokens,
            "entries": self.entries,
            "why_empty": self.why_empty,
            "profile": self.result.profile,
            "profile_source": self.result.profile_source,
            "threshold": self.result.threshold,
            "results": [
                _result_json(scored, is_read=self.result.not_read_because is None) for scored in self.result.results
            ],
            "notes": list(self.result.notes),
        }


async def prompt_for(library: Library, trial: Trial) -> Prompt:
    """The prompt block for the trial's message by its request's rule. Raises InspectorError kinds.

    It is always what reaches the agent, whatever layer the request names.
    """
    request = replace(trial.request, layer="agent")
    result = await recall_memories(library, trial._replace(request=request))
    if why_by_words(result.notes):
        kept = (replace(one, injected=False, not_injected_because=_PROMPT_IS_EMPTY) for one in result.results)
        result = replace(result, results=tuple(kept))
    text = context_block(result.results, trial.profile, request.rule)
    return Prompt(
        text=text,
        rule=request.rule,
        result=result,
        characters=len(text),
        tokens=estimate_tokens(len(text)),
        entries=result.injected,
        differs_by_rule=not trial.profile.one_injection_rule,
        why_empty=None if text else _why_empty(result),
    )


def _result_json(scored: ScoredEntry, *, is_read: bool) -> dict[str, Any]:
    return {
        "rank": scored.rank,
        "id": scored.entry.id,
        "key": scored.entry.key,
        "score": scored.score,
        "decayed": scored.decayed,
        "reranked": scored.reranked,
        "rerank_place": scored.place,
        "injected": scored.injected if is_read else None,
        "not_injected_because": scored.not_injected_because,
    }


def _why_empty(result: RecallResult) -> str:
    """Why none of the recalled is injected, in a sentence."""
    count = len(result.results)
    if result.not_read_because is not None:
        return result.not_read_because
    if why_by_words(result.notes):
        return _PROMPT_IS_EMPTY
    if not count:
        if not result.withheld:
            return "Nothing was recalled."
        kinds = ", ".join(dict.fromkeys(scored.withheld or "" for scored in result.withheld))
        return f"Nothing was recalled for the agent: {len(result.withheld)} withheld from it ({kinds})."
    under = [scored for scored in result.results if (scored.not_injected_because or "").startswith("threshold")]
    best, threshold, decay = _best(under, result.threshold) if under else ("", "", "")
    if len(under) == count == 1:
        return f"1 recalled, and it is below the threshold {threshold}: it scores {best}{decay}."
    if len(under) == count:
        return f"{count} recalled, none reaches the threshold {threshold}; the best is {best}{decay}."
    parts = [f"{number} {what}" for what, number in Counter(_kinds(result.results)).items()]
    if under:
        parts.append(f"{len(under)} below the threshold {threshold} (the best is {best}{decay})")
    return f"{count} recalled, none of it is injected: {', '.join(parts)}."


def _kinds(entries: Sequence[ScoredEntry]) -> list[str]:
    named = [(scored.not_injected_because or "").partition(": ") for scored in entries]
    return [_KINDS[kind].format(what=what) for kind, _, what in named if kind in _KINDS]


def _best(under: Sequence[ScoredEntry], threshold: float) -> tuple[str, str, str]:
    """The highest number held against the threshold, the threshold, and what decay did to it, as shown."""
    best = max(under, key=_held)
    if math.isinf(_held(best)):
        return "no number", f"{threshold:.2f}", ""
    score, shown = told_apart(_held(best), threshold)
    changed = "rerank" if best.reranked is not None else "decay" if best.decayed is not None else ""
    was_enough = changed and best.score is not None and best.score >= threshold
    return score, shown, f" after {changed} from {best.score:.2f}" if was_enough else ""


def _held(scored: ScoredEntry) -> float:
    held = scored.held
    # What is no number is under every threshold, and under every number.
    return -math.inf if held is None or math.isnan(held) else held
