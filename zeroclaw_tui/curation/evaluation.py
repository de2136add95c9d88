"""Test queries: which keys should be recalled, and how well they are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.curation.recall import recall_memories
from zeroclaw_tui.scoring.measures import is_hit, ndcg, reciprocal_rank

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.memory.recall import RecallResult
    from zeroclaw_tui.scoring.settings import Trial

MEASURES = ("hit_rate", "mrr", "ndcg", "prompt_rate")
"""The figures of all queries together, each 0..1, by the names they have in documents."""


@dataclass(frozen=True, slots=True)
class TestQuery:
    """One query of the file with the keys that should be recalled; `name` is how it is called in reports."""

    __test__ = False

    query: str
    expected: tuple[str, ...]
    name: str
    session_id: str | None = None


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

    def as_json(self) -> dict[str, Any]:
        """The query's part of the document."""
        return {
            "name": self.asked.name,
            "query": self.asked.query,
            "session": self.asked.session_id,
            "expected": list(self.asked.expected),
            "recalled": list(self.recalled),
            "injected": list(self.injected),
            "hit": self.hit,
            "reciprocal_rank": self.reciprocal_rank,
            "ndcg": self.ndcg,
            "in_prompt": self.in_prompt,
        }


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The figures of all queries with one setting; `label` says which. `weights` are those of vector and keyword."""

    label: str
    k: int
    queries: tuple[QueryFigures, ...]
    notes: tuple[str, ...] = ()
    profile: str = ""
    weights: tuple[float, float] = (0.0, 0.0)
    threshold: float = 0.0
    search_mode: str = "hybrid"
    as_of: str = ""
    """The moment time decay counts to."""

    @property
    def in_all(self) -> Mapping[str, float]:
        """The mean of each of MEASURES over the queries; 0 where there is none."""
        return {
            "hit_rate": _mean(figures.hit for figures in self.queries),
            "mrr": _mean(figures.reciprocal_rank for figures in self.queries),
            "ndcg": _mean(figures.ndcg for figures in self.queries),
            "prompt_rate": _mean(figures.in_prompt for figures in self.queries),
        }

    def as_json(self) -> dict[str, Any]:
        """Per query and in all: hit_rate, mrr, ndcg, prompt_rate."""
        vector, keyword = self.weights
        return {
            "label": self.label,
            "profile": self.profile,
            "weights": {"vector": vector, "keyword": keyword},
            "threshold": self.threshold,
            "search_mode": self.search_mode,
            "as_of": self.as_of,
            **self.in_all,
            "notes": list(self.notes),
            "queries": [figures.as_json() for figures in self.queries],
        }


def difference(before: Evaluation, after: Evaluation) -> dict[str, float]:
    """What each of MEASURES gains from one run to the other, -1..1."""
    was, is_now = before.in_all, after.in_all
    return {name: is_now[name] - was[name] for name in MEASURES}


def figures_of(asked: TestQuery, result: RecallResult) -> QueryFigures:
    """The measures of one recall at the limit it was asked with."""
    k = result.request.limit
    # Where ZeroClaw reranks, that is the order in which memories compete; what it recalls is only the pool.
    recalled = tuple(scored.entry.key for scored in result.ranked)
    injected = tuple(scored.entry.key for scored in result.results if scored.injected)
    return QueryFigures(
        asked=asked,
        recalled=recalled,
        injected=injected,
        hit=is_hit(recalled, asked.expected, k),
        reciprocal_rank=reciprocal_rank(recalled, asked.expected, k),
        ndcg=ndcg(recalled, asked.expected, k),
        in_prompt=not set(injected).isdisjoint(asked.expected),
    )


async def evaluate(
    library: Library,
    queries: Sequence[TestQuery],
    trial_for: Callable[[TestQuery], Trial],
    label: str,
    advance: Callable[[int], Awaitable[None]] | None = None,
) -> Evaluation:
    """Recall every query and measure it. Raises InspectorError kinds; `advance` is told how many are done.

    Rules and numbers of the first query's trial are told as those of the run.
    """
    figures: list[QueryFigures] = []
    notes: Counter[str] = Counter()
    of_run = Evaluation(label, 0, ())
    for done, asked in enumerate(queries, 1):
        trial = trial_for(asked)
        result = await _recalled(library, trial)
        if done == 1:
            of_run = _empty_run(label, trial, result)
        figures.append(figures_of(asked, result))
        notes.update(dict.fromkeys(result.notes, 1))
        if advance is not None:
            await advance(done)
    return replace(of_run, queries=tuple(figures), notes=tuple(_told(notes, len(figures))))


def _told(notes: Counter[str], queries: int) -> Iterator[str]:
    """The notes of all recalls, with how many they are about where it is not all of them."""
    for note, count in notes.items():
        yield note if count == queries else f"{note} (This is about {count:,} of the {queries:,} queries.)"


async def keys_nobody_has(library: Library, queries: Iterable[TestQuery]) -> tuple[str, ...]:
    """The expected keys that no memory of the store has, superseded or not, in the order of the file."""
    keys = list(dict.fromkeys(key for asked in queries for key in asked.expected))
    found = {entry.key for entry in await library.memory.get_batch(keys)}
    missing = [key for key in keys if key not in found]
    # A Markdown store's `get` is also content with a text that holds the key.
    return tuple([key for key in missing if not await _is_there(library, key)])


async def _is_there(library: Library, key: str) -> bool:
    return any(entry.key == key for entry in await library.memory.with_key(key))


def _empty_run(label: str, trial: Trial, result: RecallResult) -> Evaluation:
    return Evaluation(
        label=label,
        k=result.request.limit,
        queries=(),
        profile=result.profile,
        weights=result.weights,
        threshold=result.threshold,
        search_mode=trial.settings.search_mode,
        as_of=result.request.as_of,
    )


async def _recalled(library: Library, trial: Trial) -> RecallResult:
    choice = replace(library.profile, profile=trial.profile)
    return await recall_memories(
        library.memory, library.embedder, choice, trial.settings, trial.request, library.why_no_vectors
    )


def _mean(values: Iterable[float]) -> float:
    each = list(values)
    return math.fsum(each) / len(each) if each else 0.0
