"""Test queries: which keys should be recalled, and how well they are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.scoring.replay import Trial

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library


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


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The figures of all queries with one setting; `label` says which."""

    label: str
    k: int
    queries: tuple[QueryFigures, ...]
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Per query and in all: hit_rate, mrr, ndcg, prompt_rate."""
        raise NotImplementedError


def read_queries(file: Path) -> tuple[TestQuery, ...]:
    """The queries of a TOML ([[query]] tables) or JSONL file. Raises WrongUse in one sentence with the place."""
    raise NotImplementedError


async def evaluate(
    library: Library,
    queries: Sequence[TestQuery],
    trial_for: Callable[[TestQuery], Trial],
    label: str,
    advance: Callable[[int], Awaitable[None]] | None = None,
) -> Evaluation:
    """Recall every query and measure it. Raises InspectorError kinds; `advance` is told how many are done."""
    raise NotImplementedError
