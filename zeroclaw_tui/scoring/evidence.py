"""What a store found for one query, all that a recall is decided from: the hits of its stages, or its own ranking."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry
from zeroclaw_tui.scoring.settings import ScoringSettings

if TYPE_CHECKING:
    import numpy as np


Hit = tuple[int, float]
"""A row's handle and its score in one stage: -bm25 or the cosine, rounded to 32 bits."""

ScanOrder = Literal["stored", "session", "agent"]
"""How SQLite reads rows where equal scores leave the order to it: as they were stored, those of the session first, or
agent by agent in the order of their ids."""


@dataclass(frozen=True, slots=True)
class RowTable:
    """What the filters of a recall look at, one place a row, by ascending handle.

    `handles` has shape (rows,), int64. `session`, `category`, `agent`, `namespace` are places in the lists of names
    beside them, int32, -1 for none; `superseded` is bool. `ids` and `created` are text. Two agents may have one name;
    `agent_ids` has theirs at the same places, and `agents_by_alias` the id of each alias the store knows.
    `id_ranks` has shape (rows,), int64: the place of each row in the order of the ids.
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
    agent_ids: Sequence[str] = ()
    agents_by_alias: Mapping[str, str] = field(default_factory=dict)
    id_ranks: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class LikeEvidence:
    """More on what the LIKE fall-back of a query finds. Shapes (rows,), in its order.

    `patterns` are what was looked for. `accepted`, bool: whether the row also satisfies the prefix words; None where
    there are none. `early`, bool: whether it holds a word other than the last; None for a query of one word.
    `moments`, int64: equal numbers are rows of equal `updated_at`. `order` is how those are read agent by agent.
    """

    patterns: tuple[str, ...]
    moments: np.ndarray
    accepted: np.ndarray | None = None
    early: np.ndarray | None = None
    order: ScanOrder = "stored"


@dataclass(frozen=True, slots=True)
class VectorFaults:
    """Why the vector stage may find nothing: `handles` are the rows, int64, whose stored vector is no BLOB; where the
    stage meets one it fails, and `said` tells it."""

    handles: np.ndarray
    said: str


@dataclass(frozen=True, slots=True)
class StageEvidence:
    """The hits of the stages of ZeroClaw's hybrid search for one query: all of them, whoever's and of whatever session,
    or those that one recall looks at (`cut_for`).

    `keyword_*`: all rows that FTS5 matches, -bm25 as float32, best first. `vector_*`: all rows with a cosine above 0 to
    the query's vector, float32, best first; ties stand as the stage orders them. `like`: the rows that hold one of the
    first eight words, in the order of the LIKE fall-back; `recent`: all rows in the order of the list of the newest
    (only for a query that lists them). Shapes (hits,), handles int64. `rows` knows at least every row named here.
    `vector_live` says that a query vector takes part. `expression` is what FTS5 was asked: with a profile that makes
    another one of the query, other evidence is needed. `notes` are for people, and so are those of the two stages.
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
    keyword_notes: tuple[str, ...] = ()
    vector_notes: tuple[str, ...] = ()
    has_agents: bool = True
    has_times: bool = True
    """Whether the store keeps agents and times of creation at all."""
    vector_asked: bool = True
    """Whether a query vector was looked for: without, nothing can be said of a recall that uses one."""
    like_asked: bool = True
    """Whether the LIKE fall-back was read: without, nothing can be said of a recall that comes to it."""
    like_facts: LikeEvidence | None = None
    """More on `like`; None where there are no words."""
    durable_order: ScanOrder = "stored"
    agent_order: ScanOrder = "stored"
    """How rows are read for the vector stage of ZeroClaw >= 0.8.4: of one session, and of some agents."""
    faults: VectorFaults | None = None
    cut_for: object | None = None
    """The store's request, profile and search mode that its stages are cut for, to 2 x the limit, with the filters of
    their statements applied; None where every hit is there."""
    contents: Mapping[Handle, MemoryEntry] = field(default_factory=dict, repr=False, compare=False)
    """Rows that were read with their whole content on the way."""
    derived: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)
    """What replays worked out and may need again; nothing in it is needed."""


@dataclass(frozen=True, slots=True)
class OwnEvidence:
    """The ranking of a backend that scores by a rule of its own, as deep as it goes: limit, threshold and time decay
    can be changed on it, the rest not.

    `places` are those of the entries, from 1, in the list that the backend cuts to its limit, where something is
    left out after that cut; 0 is a place that no limit cuts off. None: their ranks.
    """

    request: RecallRequest
    entries: tuple[ScoredEntry, ...]
    mode: str
    scale: str
    is_complete: bool
    """False where the backend stopped at a limit and there may be more."""
    notes: tuple[str, ...] = field(default=())
    places: tuple[int, ...] | None = None
    profile: str = ""
    """The version whose rules it was asked by; "" where the backend knows only one rule."""
    settings: ScoringSettings | None = None
    program: str | None = None
    """The other program whose rule it is, where no ZeroClaw reads the store: then nothing of ZeroClaw's judges it."""
    told: Callable[[MemoryEntry], str] | None = None
    """How the rule came to a memory of the store, or why it leaves it out, in a clause; where it tells."""
    is_of_limit: bool = False
    """Whether it holds for the limit of `request` alone, because another limit makes another ranking."""
    derived: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)
    """What replays worked out and may need again; nothing in it is needed."""

    @property
    def contents(self) -> Mapping[Handle, MemoryEntry]:
        """The rows of the ranking."""
        return {scored.entry.handle: scored.entry for scored in self.entries}


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
