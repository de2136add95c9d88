"""Recall as ZeroClaw does, replay a recall with other settings, explain it, and make the prompt block."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from zeroclaw_tui.backends.lookup import whole_entry
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.embeddings.base import estimate_tokens
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import EmbeddingFailed, Refused
from zeroclaw_tui.memory.query import ENTRIES, Query
from zeroclaw_tui.memory.recall import UNLIMITED, RecallRequest, RecallResult, Rule, Stop
from zeroclaw_tui.memory.text import distinct_numbers
from zeroclaw_tui.scoring.decide import Answer, Decision, answer, can_decide, decide, for_other_program, store_request
from zeroclaw_tui.scoring.evidence import Evidence, StageEvidence
from zeroclaw_tui.scoring.injection import RECALL_LIMIT, compared_score, context_block, pool_size, reranks
from zeroclaw_tui.scoring.profiles import OwnRule, ScoringProfile, Trial
from zeroclaw_tui.scoring.record import FAILS_WITHOUT_VECTOR, Record, StoreFacts, is_same, record_of
from zeroclaw_tui.scoring.stages import lists_recent, search_mode, session_scopes, words

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.scoring.explanation import Advice, Explanation

# Recall


async def recall_memories(library: Library, trial: Trial) -> RecallResult:
    """Run a recall, and decide what is injected. Raises InspectorError and SearchInterrupted.

    Layer "agent" lists in `withheld` the memories that ZeroClaw's scanner or the store keeps from agents; layer "store"
    is the store's own recall. If the query's vector cannot be made, keywords alone are used, with a note.
    """
    return await _recall(library, with_as_of(trial), await _query_vector(library, trial))


async def recall_steps(
    library: Library, request: RecallRequest, *, keywords_first: bool = False
) -> AsyncGenerator[RecallResult, None]:
    """Recall with the library's settings, in steps.

    The first step is by keywords alone (`awaits_vector`), if the vector may be slow or `keywords_first` is set. The
    last step is the result of `recall_memories`. Closing the generator between the steps cancels the request.
    """
    trial, query = with_as_of(Trial(request, library.profile.profile, library.settings)), request.query
    may_wait = requests_vector(library, query) and "vectors" not in library.memory.why_not
    is_slow = uses_vector(library, trial) and (keywords_first or (may_wait and await _cached(library, query) is None))
    if not is_slow:
        yield await recall_memories(library, trial)
        return
    by_words = await _recall(library, trial, QueryVector())
    # The request starts only with the first result, because further typing would make earlier requests useless.
    asking = asyncio.ensure_future(_query_vector(library, trial))
    try:
        yield replace(by_words, awaits_vector=True)
        vector = await asking
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    yield await _recall(library, trial, vector)


async def _recall(library: Library, trial: Trial, found: QueryVector) -> RecallResult:
    """Answer a recall with this query vector."""
    if library.memory.about.program is not None:
        trial = for_other_program(trial)
    # Memories created later are left out; what moves up in their place may be behind the limits of the statements.
    gathered = await _gather(library, trial, found, deep=bool(trial.request.created_until))
    return await gathered.replay(trial)


def with_as_of(trial: Trial) -> Trial:
    """Set the time from which ages count: now, unless the request has one."""
    if trial.request.as_of:
        return trial
    return trial._replace(request=replace(trial.request, as_of=datetime.now().astimezone().isoformat()))


def recall_limit(library: Library, profile: ScoringProfile, rule: Rule, agents: Sequence[str] | None) -> int:
    """The number of memories that are recalled for a message: that of the store's own rule, else `turn_limit`."""
    own = library.memory.about.rule
    if own is not None and own.limit is not None:
        return own.limit
    return turn_limit(library.config, profile, rule, agents)


def turn_limit(config: MemoryConfig, profile: ScoringProfile, rule: Rule, agents: Sequence[str] | None) -> int:
    """The number of memories that ZeroClaw recalls for a message of this kind of turn.

    5 for the CLI agent, cron and channels; the embedded agent of ZeroClaw >= 0.8.0 has `memory_recall_limit` of its
    runtime profile, where 0 is unlimited. Without `agents` it is the only one of the config that has such a limit.
    """
    if rule != "library" or not profile.agents_have_limits:
        return RECALL_LIMIT
    alias = agents[0] if agents else next(iter(config.agents), "") if len(config.agents) == 1 else ""
    return config.recall_limits.get(alias, RECALL_LIMIT) or UNLIMITED


# The query's vector


def uses_vector(library: Library, trial: Trial) -> bool:
    """Whether this recall uses the vector of its query, if available."""
    query, profile, rule = trial.request.query, trial.profile, library.memory.about.rule
    if (rule is not None and not rule.takes_vector) or not words(query) or lists_recent(query, profile):
        return False
    return search_mode(trial) != "bm25"


def requests_vector(library: Library, query: str) -> bool:
    """Whether the vector of a query has to be requested from an embedding endpoint."""
    return library.embedder is not None and not library.embedder.is_cached(query)


async def text_vector(library: Library, text: str, *, of_any_length: bool = False) -> np.ndarray | None:
    """The vector of a text, cached in the store or from the embedder; None without one. Raises EmbeddingFailed.

    Only with `of_any_length` a cached vector may differ in length from those of the embedder.
    """
    if library.embedder is None:
        return None
    cached = await _cached(library, text, of_any_length=of_any_length)
    return cached if cached is not None else await library.embedder.query(text)


async def _cached(library: Library, text: str, *, of_any_length: bool = False) -> np.ndarray | None:
    """The vector that the store has cached for a text, if it has the embedder's length or `of_any_length` is set."""
    database, embedder = library.memory.upkeep.database, library.embedder
    cached = None if database is None else await database.cached_vector(text)
    if cached is None or of_any_length:
        return cached
    return cached if embedder is not None and len(cached) == embedder.dimensions else None


class QueryVector(NamedTuple):
    """The vector of a query. Without one, `note` may say why; `has_failed` if the embedder failed."""

    vector: np.ndarray | None = None
    note: str | None = None
    has_failed: bool = False


async def _query_vector(library: Library, trial: Trial) -> QueryVector:
    """Look up the query's vector, if this recall uses one."""
    has_embedder, has_vectors = library.embedder is not None, "vectors" not in library.memory.why_not
    if not uses_vector(library, trial) or not (has_embedder or has_vectors):
        # A store without vectors says so in its notices, not at every recall.
        return QueryVector()
    if not (has_embedder and has_vectors):
        return QueryVector(note=library.why_no_vectors)
    try:
        vector = await text_vector(library, trial.request.query, of_any_length=trial.profile.reuses_vectors)
    except EmbeddingFailed as failure:
        return QueryVector(note=f"{failure.message} Keyword hits only. {failure.hint}".strip(), has_failed=True)
    is_old = vector is not None and library.embedder is not None and len(vector) != library.embedder.dimensions
    uses = f"ZeroClaw {trial.profile.version} searches with this message's cached vector, which another model made."
    return QueryVector(vector, uses if is_old else None)


# Replaying a recall from gathered evidence


@dataclass(slots=True)
class GatheredEvidence:
    """What the store found for a query, and the rows read so far; a trial that it cannot decide needs a new search."""

    library: Library
    evidence: tuple[Evidence, ...]
    """One for each session scope of the recall; evidence without limits is the same for all of them."""
    found: QueryVector
    rows: dict[Handle, MemoryEntry] = field(default_factory=dict)
    missing: set[Handle] = field(default_factory=set)
    """Rows that no longer existed when they were read."""

    def can_decide(self, trial: Trial) -> bool:
        """Whether this evidence is sufficient for a trial."""
        return can_decide(self.evidence, trial)

    async def record(self, trial: Trial, entry: MemoryEntry) -> Record:
        """Record what each stage of the recall does with one memory, which has its whole content."""
        memory, about = self.library.memory, self.library.memory.about
        because = memory.why_not.get("vectors") or self.library.no_embedder_because or "it is not available"
        fails = self._vector_for(trial).has_failed and about.program is None
        facts = StoreFacts(memory.name, about.rule or OwnRule(), "sessions" not in memory.why_not, because, fails)
        return await asyncio.to_thread(record_of, await self._answer(trial), entry, facts)

    async def _answer(self, trial: Trial) -> Answer:
        answered = await asyncio.to_thread(self._answer_from_rows, with_as_of(trial))
        if isinstance(answered, Answer):
            return answered
        unread = self._unread(answered)
        entries = await self.library.memory.rows(Query(ENTRIES, handles=unread))
        self.rows |= {entry.handle: entry for entry in entries}
        self.missing.update(handle for handle in unread if handle not in self.rows)
        return await asyncio.to_thread(answer, answered, self.rows)

    def _answer_from_rows(self, trial: Trial) -> Answer | Decision:
        """Answer the trial, or only decide it if rows must be read first; one thread, as each costs a millisecond."""
        decision = decide(self.evidence, trial)
        return decision if self._unread(decision) else answer(decision, self.rows)

    def _unread(self, decision: Decision) -> list[Handle]:
        return [handle for handle in decision.wanted if handle not in self.rows and handle not in self.missing]

    async def replay(self, trial: Trial) -> RecallResult:
        """Answer the recall of a trial; rows that were not read yet are read from the store."""
        answered = await self._answer(trial)
        trial, settings = answered.decision.trial, answered.decision.trial.settings
        vector, about = self._vector_for(trial), self.library.memory.about
        results, none = answered.results, about.not_read_because or (FAILS_WITHOUT_VECTOR if vector.has_failed else "")
        if none:
            results = tuple(scored._replace(injected=False, stop=Stop("recall", none)) for scored in results)
        return RecallResult(
            request=trial.request,
            backend=self.library.memory.name,
            location=about.location,
            profile=trial.profile.version,
            profile_source=self.source_of(trial),
            mode=answered.mode,
            weights=(settings.vector_weight, settings.keyword_weight),
            threshold=settings.threshold,
            scale=answered.scale,
            results=results,
            withheld=answered.withheld,
            injected=sum(scored.injected for scored in results),
            notes=self.notes_on(answered),
            lacks_vector_because=vector.note if vector.has_failed else None,
            pool=pool_size(trial) if reranks(trial) else None,
            not_read_because=about.not_read_because,
            program=about.program,
        )

    def notes_on(self, answered: Answer) -> tuple[str, ...]:
        """Describe what the recall could not use or left out."""
        note = self._vector_for(answered.decision.trial).note
        return (*filter(None, [note]), *answered.decision.notes)

    def _vector_for(self, trial: Trial) -> QueryVector:
        # Search mode bm25 uses no vector, so none is missing.
        return QueryVector() if search_mode(trial) == "bm25" else self.found

    def source_of(self, trial: Trial) -> str:
        """The source of the trial's scoring version."""
        choice = self.library.profile
        return choice.source if trial.profile == choice.profile else "chosen here"


async def gather_evidence(library: Library, trial: Trial) -> GatheredEvidence:
    """Query the store once for all evidence that decides a recall of this query. Raises InspectorError."""
    trial, about = with_as_of(trial), library.memory.about
    if about.not_read_because is not None and (about.program is None or trial.request.layer == "agent"):
        raise Refused(about.not_read_because, hint="What they return to an agent is unknown.")
    return await _gather(library, trial, await _query_vector(library, trial), deep=True)


async def _gather(library: Library, trial: Trial, found: QueryVector, *, deep: bool) -> GatheredEvidence:
    """Gather evidence for each session scope; with `deep` it has no limits, and hits of stages serve all scopes."""
    scopes, evidence = session_scopes(trial.request), list[Evidence]()
    while len(evidence) < len(scopes):
        request = store_request(trial, scopes[len(evidence)])
        found_in_scope = await library.memory.search(trial._replace(request=request), found.vector, deep=deep)
        evidence += [found_in_scope] * (len(scopes) if deep and isinstance(found_in_scope, StageEvidence) else 1)
    rows = {handle: entry for each in evidence for handle, entry in each.contents.items()}
    return GatheredEvidence(library, tuple(evidence), found, rows)


# Explaining a recall


async def explain(library: Library, entry: MemoryEntry, trial: Trial) -> Explanation:
    """Explain why this memory is or is not in the prompt for the trial's message. Raises InspectorError."""
    whole = await whole_entry(library.memory, entry.handle)
    if library.memory.about.program is not None:
        trial = for_other_program(trial)
    gathered = await gather_evidence(library, trial)
    record = await gathered.record(trial, whole)
    explanation = explained_by(gathered, record)
    if explanation.is_injected or record.program is not None:
        return explanation
    deciding = [advice for advice in _advice_to_try(record) if gathered.can_decide(advice.trial)]
    for advice in deciding[:3]:
        results = (await gathered.replay(advice.trial)).results
        if any(scored.injected and is_same(scored.entry, whole) for scored in results):
            return explanation.with_advice(advice)
    return explanation.without_help() if deciding else explanation


def explained_by(gathered: GatheredEvidence, record: Record) -> Explanation:
    """Explain a memory's record, without advice."""
    from zeroclaw_tui.scoring.explain import explain_record

    return explain_record(record, gathered.source_of(record.trial), gathered.notes_on(record.answer))


def _advice_to_try(record: Record) -> Iterator[Advice]:
    """Yield settings that may put the memory in the prompt, by the stage that stops it."""
    from zeroclaw_tui.scoring.explanation import Advice

    trial, settings, stop = record.trial, record.trial.settings, record.stopped_at
    if stop in ("time", "session", "agent", "namespace"):
        unfiltered = replace(
            trial.request, session_id=None, extra_sessions=(), agents=None, namespace=None, since=None, until=None
        )
        yield Advice("recall without any filter", "F", trial._replace(request=unfiltered))
    if stop == "threshold":
        score = record.compared_score
        low = math.floor(score * 100) / 100 if score is not None and math.isfinite(score) else 0.0
        if 0 < low < settings.threshold:
            lower = settings._replace(threshold=low)
            yield Advice(f"a threshold of {low:.2f}", "w", trial._replace(settings=lower))
    if stop == "rerank":
        without = settings._replace(rerank=settings.rerank._replace(enabled=False))
        yield Advice("rerank switched off", "w", trial._replace(settings=without))
    if record.merged and stop in ("merge", "limit", "threshold", "cap"):
        cosine = 0.0 if record.vector is None else record.vector.score
        by_keyword = record.keyword is not None and (record.keyword.part or 0.0) >= cosine
        vector, keyword = (0.0, 1.0) if by_keyword else (1.0, 0.0)
        weighted = settings._replace(vector_weight=vector, keyword_weight=keyword)
        if weighted != settings:
            yield Advice(f"a weighting of {vector:g} / {keyword:g}", "w", trial._replace(settings=weighted))


# The prompt block

_REASONS = {
    "skip": "skipped as {rule}",
    "scanner": "withheld from the agent ({rule})",
    "limit": "behind the pool",
    "rerank": "left out by rerank",
    "cap": "too long for the prompt",
}
"""The reason by the stage that stops a memory."""


class Prompt(NamedTuple):
    """The text before the message. `text` is literal, "" if nothing is injected, for the reason in `why_empty`.

    `differs_by_rule` says that the CLI agent and the channels have different injection rules in this version.
    """

    text: str
    rule: Rule
    result: RecallResult
    differs_by_rule: bool
    why_empty: str | None

    @property
    def characters(self) -> int:
        return len(self.text)

    @property
    def tokens(self) -> int:
        """The estimated number of tokens."""
        return estimate_tokens(len(self.text))

    @property
    def entries(self) -> int:
        """The number of memories in the text."""
        return self.result.injected

    def as_json(self) -> dict[str, Any]:
        own = ("text", "rule", "differs_by_rule", "characters", "tokens", "entries", "why_empty")
        document = self.result.as_json()
        of_recall = ("profile", "profile_source", "threshold", "results", "notes")
        return {
            "query": document["query"],
            **{name: getattr(self, name) for name in own},
            **{name: document[name] for name in of_recall},
        }


async def prompt_for(library: Library, trial: Trial) -> Prompt:
    """Make the prompt block for the trial's message, as the agent gets it, for any layer."""
    request = replace(trial.request, layer="agent")
    result = await recall_memories(library, trial._replace(request=request))
    text = context_block(result.results, trial.profile, request.rule)
    differs = not trial.profile.one_injection_rule
    return Prompt(text, request.rule, result, differs, None if text else _why_empty(result))


def _why_empty(result: RecallResult) -> str:
    """Say why none of the recalled memories is injected."""
    if result.not_read_because is not None:
        return result.not_read_because
    if result.lacks_vector_because:
        return FAILS_WITHOUT_VECTOR
    if not result.results and result.withheld:
        kinds = ", ".join(dict.fromkeys(scored.withheld or "" for scored in result.withheld))
        return f"Nothing was recalled for the agent: {len(result.withheld)} withheld from it ({kinds})."
    if not result.results:
        return "Nothing was recalled."
    stops = [scored.stop for scored in result.results if scored.stop is not None]
    reasons = Counter(_REASONS[stop.stage].format(rule=stop.rule) for stop in stops if stop.stage in _REASONS)
    parts = [f"{count} {reason}" for reason, count in reasons.items()]
    stopped = ((scored.stop, compared_score(scored)) for scored in result.results)
    if below := [score or 0.0 for stop, score in stopped if stop is not None and stop.stage == "threshold"]:
        best, limit = distinct_numbers(max(below), result.threshold)
        parts.append(f"{len(below)} below the threshold {limit} (the best is {best})")
    return f"{len(result.results)} recalled, none injected: {', '.join(parts)}."
