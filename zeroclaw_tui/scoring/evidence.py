"""What the stages of a recall found, before anything is cut: enough to decide the recall again with other numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from zeroclaw_tui.memory.entry import Handle
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True)
class RowTable:
    """What the filters of a recall look at, one place a row, by ascending handle.

    `handles` has shape (rows,), int64. `session`, `category`, `agent`, `namespace` are places in the lists of names
    beside them, int32, -1 for none; `superseded` is bool. `ids` and `created` are text.
    """

    handles: np.ndarray
    ids: Sequence[str]
    created: Sequence[str]
    session: np.ndarray
    category: np.ndarray
    agent: np.ndarray
    namespace: np.ndarray
    superseded: np.ndarray
    sessions: Sequence[str] = ()
    categories: Sequence[str] = ()
    agents: Sequence[str] = ()
    namespaces: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class StageEvidence:
    """Every hit of the stages of ZeroClaw's hybrid search for one query, whoever's and of whatever session they are.

    `keyword_*`: all rows that FTS5 matches, -bm25 as float32, best first. `vector_*`: all rows with a cosine above 0 to
    the query's vector, float32, best first; ties stand as the stage orders them. `like`: the rows that hold one of the
    first eight words, in the order of the LIKE fall-back; `recent`: all rows in the order of the list of the newest
    (only for a query that lists them). Shapes (hits,), handles int64. `rows` knows at least every row named here.
    `vector_live` says that a query vector takes part. `expression` is what FTS5 was asked: with a profile that makes
    another one of the query, other evidence is needed. `notes` are for people.
    """

    query: str
    expression: str
    keyword_handles: np.ndarray
    keyword_scores: np.ndarray
    vector_handles: np.ndarray
    vector_scores: np.ndarray
    like: np.ndarray
    recent: np.ndarray
    rows: RowTable
    store_rows: int
    vector_live: bool
    has_sessions: bool = True
    dimensions: int | None = None
    """The length of the query's vector."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OwnEvidence:
    """The ranking of a backend that scores by a rule of its own, as deep as it goes: limit, threshold and time decay
    can be changed on it, the rest not."""

    request: RecallRequest
    entries: tuple[ScoredEntry, ...]
    mode: str
    scale: str
    is_complete: bool
    """False where the backend stopped at a limit and there may be more."""
    notes: tuple[str, ...] = field(default=())


Evidence = StageEvidence | OwnEvidence


@dataclass(frozen=True, slots=True)
class WordShare:
    """One word of the query in one memory. `share` is its part of -bm25 (None where the backend has no such number),
    `rows` in how many memories the word occurs (None where that was not counted)."""

    word: str
    is_found: bool
    share: float | None = None
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A memory that is near another one; `shared` are the words they have in common, the rarest first."""

    handle: Handle
    score: float
    shared: tuple[str, ...] = ()
