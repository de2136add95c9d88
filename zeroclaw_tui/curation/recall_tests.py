"""How well test queries recall what they should: the figures of each, and of all together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.lookup import cached_vector
from zeroclaw_tui.curation.recall import recall_memories, turn_limit
from zeroclaw_tui.curation.recall_test_files import TestQuery
from zeroclaw_tui.embeddings.base import Embedder
from zeroclaw_tui.memory.errors import EmbeddingFailed
from zeroclaw_tui.memory.query import EXCERPTS, Query
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.keywords import words
from zeroclaw_tui.scoring.measures import is_hit, ndcg, reciprocal_rank
from zeroclaw_tui.scoring.profiles import Trial

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.backends.base import Memory
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.memory.recall import RecallResult


class BatchedQueries(Embedder):
    """An embedder that, at the first query it is asked for, has the vectors of all of them fetched, and keeps them.

    Vectors the store has cached are not asked for. What failed stays failed: in runs that are compared a query must not
    have a vector in one and none in the other because the endpoint came back between them.
    """

    def __init__(self, embedder: Embedder, memory: Memory, texts: Iterable[str]) -> None:
        self.name = embedder.name
        self.dimensions = embedder.dimensions
        self.is_remote = embedder.is_remote
        self._embedder = embedder
        self._memory = memory
        self._texts = dict.fromkeys(text for text in texts if words(text))
        self._errors: dict[str, EmbeddingFailed] | None = None

    async def embed(self, text: str) -> np.ndarray:
        """The vector of a query, shape (dimensions,), float32. Raises EmbeddingFailed."""
        if self._errors is None:
            missing = [each for each in self._texts if not await self._is_cached(each)]
            self._errors = await self._embedder.prefetch(missing)
        if text in self._errors:
            # Raised again and again, the same exception would collect every place it was raised at.
            raise self._errors[text].with_traceback(None)
        return await self._embedder.query(text)

    async def _is_cached(self, text: str) -> bool:
        vector = await cached_vector(self._memory, text)
        return vector is not None and len(vector) == self.dimensions


def with_batched_queries(library: Library, texts: Iterable[str]) -> Library:
    """The same open library, whose recalls of these texts ask an embedding endpoint for all of them at once."""
    if library.embedder is None:
        return library
    return replace(library, embedder=BatchedQueries(library.embedder, library.memory, texts))


@dataclass(frozen=True, slots=True)
class QueryFigures:
    """One query's measures at k, each 0..1; `recalled` are the keys in order, `injected` those in the prompt."""

    asked: TestQuery
    recalled: tuple[str, ...]
    injected: tuple[str, ...]
    hit: bool
    reciprocal_rank: float
    ndcg: float
    in_prompt: bool
    """Whether an expected one reaches the prompt."""
    missing: tuple[str, ...] = ()
    """The expected keys that do not reach the prompt."""
    unwanted: tuple[str, ...] = ()
    """The rejected keys that do."""

    @property
    def passed(self) -> bool:
        """Whether every expected key reaches the prompt and no rejected one does.

        Where no ZeroClaw puts the store's memories in a prompt, what counts is that it is recalled.
        """
        return not self.missing and not self.unwanted

    @property
    def failure(self) -> str:
        """What is wrong with it; "" where it passes."""
        parts = []
        if self.missing:
            parts.append(f"missing: {', '.join(self.missing)}")
        if self.unwanted:
            parts.append(f"rejected but in the prompt: {', '.join(self.unwanted)}")
        return "; ".join(parts)

    def as_json(self) -> dict[str, Any]:
        """The query's part of the document."""
        return {
            "name": self.asked.name,
            "query": self.asked.query,
            "session": self.asked.session_id,
            "agent": self.asked.agent,
            "channel": self.asked.channel,
            "expected": list(self.asked.expected),
            "rejected": list(self.asked.rejected),
            "recalled": list(self.recalled),
            "injected": list(self.injected),
            # Where nothing is expected there is nothing to measure.
            "hit": self.hit if self.asked.expected else None,
            "reciprocal_rank": self.reciprocal_rank if self.asked.expected else None,
            "ndcg": self.ndcg if self.asked.expected else None,
            "in_prompt": self.in_prompt if self.asked.expected else None,
            "passed": self.passed,
            "missing": list(self.missing),
            "unwanted": list(self.unwanted),
        }


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The figures of all queries with one setting. `weights` are those of vector and keyword."""

    k: int
    queries: tuple[QueryFigures, ...]
    notes: tuple[str, ...] = ()
    profile: str = ""
    weights: tuple[float, float] = (0.0, 0.0)
    threshold: float = 0.0
    search_mode: str = "hybrid"
    as_of: str = ""
    """The moment time decay counts to."""
    is_weighed: bool = True
    """Whether vector and keyword scores are weighed; False where the store ranks by a rule of its own."""

    @property
    def in_all(self) -> Mapping[str, float]:
        """The means over the queries that expect something, each 0..1; 0 where there is none."""
        measured = [figures for figures in self.queries if figures.asked.expected]
        return {
            "hit_rate": _mean(figures.hit for figures in measured),
            "mrr": _mean(figures.reciprocal_rank for figures in measured),
            "ndcg": _mean(figures.ndcg for figures in measured),
            "prompt_rate": _mean(figures.in_prompt for figures in measured),
        }

    @property
    def passed(self) -> int:
        """How many queries pass."""
        return sum(figures.passed for figures in self.queries)

    def as_json(self) -> dict[str, Any]:
        """The run's part of the document."""
        vector, keyword = self.weights
        return {
            "tests": len(self.queries),
            "passed": self.passed,
            "failed": len(self.queries) - self.passed,
            "k": self.k,
            "profile": self.profile,
            "weights": {"vector": vector, "keyword": keyword},
            "threshold": self.threshold,
            "search_mode": self.search_mode,
            "as_of": self.as_of,
            **self.in_all,
            "notes": list(self.notes),
            "results": [figures.as_json() for figures in self.queries],
        }


def figures_of(asked: TestQuery, result: RecallResult) -> QueryFigures:
    """The measures of one recall at the limit it was asked with."""
    k = result.request.limit
    # Where ZeroClaw reranks, that is the order in which memories compete; what it recalls is only the pool.
    recalled = tuple(scored.entry.key for scored in result.ranked)
    injected = tuple(scored.entry.key for scored in result.results if scored.injected)
    has_prompt = result.not_read_because is None and result.program is None
    reached = set(injected if has_prompt else recalled[:k])
    return QueryFigures(
        asked=asked,
        recalled=recalled,
        injected=injected,
        hit=is_hit(recalled, asked.expected, k),
        reciprocal_rank=reciprocal_rank(recalled, asked.expected, k),
        ndcg=ndcg(recalled, asked.expected, k),
        in_prompt=not set(injected).isdisjoint(asked.expected),
        missing=tuple(key for key in asked.expected if key not in reached),
        unwanted=tuple(key for key in asked.rejected if key in reached),
    )


def plain_trial(library: Library) -> Trial:
    """A CLI agent's turn of a blank message as the library's profile and settings have it."""
    profile = library.profile.profile
    limit = library.memory.about.recall_limit or turn_limit(library.config, profile, "cli", None)
    return Trial(RecallRequest("", limit, turn_limit=limit), profile, library.settings)


def trial_of_test(library: Library, plain: Trial, asked: TestQuery) -> Trial:
    """The recall of a test: `plain` with the message, and with the session, the agent and the channel that the test
    names. A limit that was not another one than the turn's is that of the turn it is then."""
    present = plain.request
    request = replace(present, query=asked.query)
    if asked.session_id is not None:
        request = replace(request, session_id=asked.session_id, further_sessions=())
    if asked.agent is not None:
        own = (asked.agent,)
        request = replace(request, agents=library.config.readable_by(own) if present.layer == "agent" else own)
    if asked.rule is not None:
        request = replace(request, rule=asked.rule)
    if (request.agents, request.rule) != (present.agents, present.rule):
        turns = library.memory.about.recall_limit or turn_limit(
            library.config, plain.profile, request.rule, request.agents
        )
        limit = turns if present.limit == present.turn_limit else present.limit
        request = replace(request, limit=limit, turn_limit=turns)
    return plain._replace(request=request)


async def evaluate(
    library: Library,
    queries: Sequence[TestQuery],
    trial_for: Callable[[TestQuery], Trial],
    on_progress: Callable[[int], Awaitable[None]] | None = None,
) -> Evaluation:
    """Recall every query and measure it. Raises InspectorError kinds; `on_progress` gets how many are done.

    Rules and numbers of the first query's trial count as those of the run.
    """
    run = Evaluation(0, ())
    figures: list[QueryFigures] = []
    notes: Counter[str] = Counter()
    for asked in queries:
        trial = trial_for(asked)
        result = await recall_memories(library, trial)
        if not figures:
            run = Evaluation(
                result.request.limit, (), profile=result.profile, weights=result.weights, threshold=result.threshold,
                search_mode=trial.settings.search_mode, as_of=result.request.as_of,
                is_weighed=result.mode != result.backend,
            )  # fmt: skip
        figures.append(figures_of(asked, result))
        notes.update(dict.fromkeys(result.notes, 1))
        if on_progress is not None:
            await on_progress(len(figures))
    sentences = tuple(
        sentence if count == len(figures) else f"{sentence} (In {count:,} of {len(figures):,} tests.)"
        for sentence, count in notes.items()
    )
    return replace(run, queries=tuple(figures), notes=sentences)


async def keys_nobody_has(library: Library, queries: Iterable[TestQuery]) -> tuple[str, ...]:
    """The expected keys that no memory of the store has, superseded or not, in the order of the file."""
    keys = list(dict.fromkeys(key for asked in queries for key in asked.expected))
    found = {entry.key for entry in await library.memory.rows(Query(EXCERPTS, keys=keys))}
    return tuple(key for key in keys if key not in found)


def _mean(values: Iterable[float]) -> float:
    each = list(values)
    return math.fsum(each) / len(each) if each else 0.0
