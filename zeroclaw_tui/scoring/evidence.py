"""The evidence of a store for one query, from which a recall is decided, and the filters for a request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.recall import UNLIMITED, RecallRequest, ScoredEntry
from zeroclaw_tui.scoring.profiles import ScoringProfile, Trial
from zeroclaw_tui.scoring.stages import words

if TYPE_CHECKING:
    import numpy as np

FilterName = Literal["superseded", "time", "session", "agent", "namespace"]
FILTERS: tuple[FilterName, ...] = ("superseded", "time", "session", "agent", "namespace")
"""The filters of a recall, in the order in which ZeroClaw applies them."""
Hit = tuple[int, float]
"""A row's handle and its score in one stage: -bm25 or the cosine, rounded to 32 bits."""

ScanOrder = Literal["stored", "session", "agent"]
"""SQLite's order of rows with equal scores: as they were stored, those of the session first, or by agent in the order
of the agents' ids."""

DURABLE = ("core", "daily")
"""Categories whose rows without a session are visible in every session, from 0.8.4 on, while vectors are used."""
DEFAULT_NAMESPACE = "default"
"""The namespace of a row without one."""


class RowTable(NamedTuple):
    """The columns that the filters of a recall need, one item per row, by ascending handle.

    `handles` has shape (rows,), int64. `session`, `category`, `agent`, `namespace` are indexes of the lists of names
    below, int32, -1 for none; `superseded` is bool. `ids` and `created` are texts. Two agents may have the same name;
    `agent_ids` has their ids at the same indexes, and `agents_by_alias` the id of each alias in the store. `id_ranks`
    has shape (rows,), int64: the position of each row in the order of the ids.
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
    agents_by_alias: Mapping[str, str] = MappingProxyType({})
    id_ranks: np.ndarray | None = None


class LikeEvidence(NamedTuple):
    """Details of the results of the LIKE fall-back for a query. Shapes (rows,), in its order.

    `patterns` are the LIKE patterns. `accepted`, bool: whether the row also satisfies the prefix words; None if there
    are none. `early`, bool: whether it contains a word other than the last; None for a query of one word.
    `moments`, int64: equal for rows with equal `updated_at`. `order` is the order of those when filtered by agents.
    """

    patterns: tuple[str, ...]
    moments: np.ndarray
    accepted: np.ndarray | None = None
    early: np.ndarray | None = None
    order: ScanOrder = "stored"


@dataclass(frozen=True)
class StageEvidence:
    """The hits of the stages of ZeroClaw's hybrid search for one query.

    Included are all hits, of any agent and session, or only those that one recall needs (`limited_to`).
    `keyword_*`: all rows that FTS5 matches, -bm25 as float32, best first. `vector_*`: all rows with a cosine above 0 to
    the query's vector, float32, best first; ties are in the stage's order. `like`: the rows that contain one of the
    first eight words, in the order of the LIKE fall-back; `recent`: all rows in the order of the list of the newest
    (only for a query that lists them). Shapes (hits,), handles int64. `rows` has at least every row named here.
    `vector_live` is True if a query vector is used. `expression` is the FTS5 expression: a profile with another one for
    the query needs other evidence. `notes` and `keyword_notes` are sentences for users.
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
    has_agents: bool = True
    """Whether the store has agents at all."""
    vector_requested: bool = True
    """Whether a query vector was requested: if not, a recall that uses one cannot be decided."""
    like_facts: LikeEvidence | None = None
    """Details of `like`; None for a query without words."""
    durable_order: ScanOrder = "stored"
    agent_order: ScanOrder = "stored"
    """The order of rows in the vector stage of ZeroClaw >= 0.8.4: for one session, and for some agents."""
    limited_to: object | None = None
    """The store's request, profile and search mode that the stages are limited to: 2 x the limit, with the filters of
    their statements applied; None if all hits are included."""
    contents: Mapping[Handle, MemoryEntry] = field(default_factory=dict, repr=False, compare=False)
    """Rows that were read with their full content anyway."""
    word_hits: Mapping[str, tuple[np.ndarray, np.ndarray] | None] | None = field(
        default=None, repr=False, compare=False
    )
    """For each word of the query, all rows that FTS5 matches for this word alone: handles, int64, and -bm25, float64;
    None for a word that FTS5 rejects. None as a whole for limited evidence, or without a keyword index."""

    @cached_property
    def masks(self) -> RowMasks:
        """The filters on its rows."""
        return RowMasks(self)


class OwnEvidence(NamedTuple):
    """The ranking of a backend with its own rule, down to `depth`.

    Trials that it decides may differ only in limit, threshold and time decay.
    `places` are the positions of the entries, from 1, in the list to which the backend applies its limit, if it
    filters after that; 0 means that no limit applies. None: the positions are their ranks.
    """

    trial: Trial
    """The trial it was made for; others with different weights, threshold and rerank can be decided from it."""
    entries: tuple[ScoredEntry, ...]
    mode: str
    scale: str
    notes: tuple[str, ...] = ()
    depth: int | None = None
    """The highest limit that it supports; None if there are no more entries."""
    places: tuple[int, ...] | None = None
    program: str | None = None
    """The other program that the rule belongs to, if no ZeroClaw reads the store, so that its rules do not apply."""
    depends_on_limit: bool = False
    """Whether it is valid only for the limit of its request, because another limit changes the ranking."""

    @property
    def contents(self) -> Mapping[Handle, MemoryEntry]:
        """The rows of the ranking."""
        return {scored.entry.handle: scored.entry for scored in self.entries}


Evidence = StageEvidence | OwnEvidence


class StoreRecall(NamedTuple):
    """The results of a store's own recall, best first. `mode` is the kind of recall; `notes` are for users."""

    entries: tuple[ScoredEntry, ...]
    mode: str
    scale: str
    notes: tuple[str, ...] = ()


DEEP_LIMIT = 1000
"""How many memories a store with its own rule ranks, so that lower limits can be decided from them."""


def depth_of(request: RecallRequest, *, deep: bool) -> int:
    """The number of memories that a store with its own rule ranks for a request."""
    return max(DEEP_LIMIT, request.limit) if deep else request.limit


def own_evidence(trial: Trial, found: StoreRecall, depth: int) -> OwnEvidence:
    """Make evidence from the first `depth` memories that a store ranks by the rules of a profile."""
    return OwnEvidence(trial, *found, depth=depth if len(found.entries) >= depth else None)


def existed(created: str, until: str) -> bool:
    """Whether a memory existed at the time `until`, or always for ""; True if its creation time is unreadable."""
    at = moment(created) if until else None
    return at is None or at <= datetime.fromisoformat(until)


def is_within_bounds(entry: MemoryEntry, request: RecallRequest) -> bool:
    """Whether a memory is within the time bounds of a request; True if its creation time is unreadable."""
    since, until, at = moment(request.since), moment(request.until), moment(entry.timestamp)
    return at is None or not ((since is not None and at < since) or (until is not None and at > until))


class WordShare(NamedTuple):
    """One word of the query in one memory. `share` is its part of -bm25 (None if the backend has no such score),
    `rows` the number of memories with the word (None if not counted)."""

    word: str
    is_found: bool
    share: float | None = None
    rows: int | None = None


def word_shares(evidence: Evidence, entry: MemoryEntry, query: str) -> list[WordShare]:
    """Compute what each word of a query adds to a memory's keyword score; a word that occurs twice adds twice.

    Without a keyword index, only find out whether the word is in key or content, ignoring case.
    """
    import numpy as np

    hits = evidence.word_hits if isinstance(evidence, StageEvidence) else None
    if hits is None or not isinstance(entry.handle, int):
        text = f"{entry.key}\n{entry.content}".casefold()
        return [WordShare(word, word.casefold() in text) for word in dict.fromkeys(words(query))]
    counts, shares = Counter(words(query)), list[WordShare]()
    for word, found in hits.items():
        if found is None:
            shares.append(WordShare(word, is_found=False))
            continue
        handles, scores = found
        at = np.flatnonzero(handles == entry.handle)
        share = float(scores[at[0]]) * counts[word] if len(at) else 0.0
        shares.append(WordShare(word, is_found=bool(len(at)), share=share, rows=len(handles)))
    return shares


@dataclass(frozen=True, slots=True)
class Scope:
    """A request as supported by a database and a profile.

    `vector_live` is True if a query vector is used. `agent_ids` are the allowed agents' ids, None if agents do not
    matter; then `store_rows`, the number of rows in the store, is not needed either.
    """

    request: RecallRequest
    profile: ScoringProfile
    vector_live: bool
    agent_ids: tuple[str, ...] | None = None
    store_rows: int = 0

    @property
    def agent_limit(self) -> int:
        """The limit after the filter for agents: twice the limit if a namespace is filtered afterwards."""
        return self.request.limit * 2 if self.request.namespace is not None else self.request.limit

    @property
    def store_limit(self) -> int:
        """The limit of the store's own recall: all rows if agents are filtered afterwards."""
        if self.agent_ids is None or self.profile.agent_scope == "sql":
            return self.agent_limit
        return self.recent_limit

    @property
    def recent_limit(self) -> int:
        """The limit of the list of the newest; its agents are filtered afterwards in every version."""
        return self.agent_limit if self.agent_ids is None else max(self.store_rows, self.agent_limit)

    @property
    def stage_limit(self) -> int:
        """The limit of the keyword stage and of the vector stage."""
        return min(2 * self.store_limit, UNLIMITED)

    def excluded_by(self, entry: MemoryEntry, agent_id: str | None, *, crosses: bool) -> list[FilterName]:
        """List the filters that exclude a row of this agent, in order. With `crosses`, rows without a session may be
        visible in every session (ZeroClaw >= 0.8.4, while vectors are used)."""
        request, profile, created = self.request, self.profile, entry.timestamp
        may_cross = crosses and self.vector_live and profile.durable_rows_cross_sessions
        is_late = request.until is not None and created > request.until
        is_of_agents = entry.agent in (request.agents or ()) and agent_id in (self.agent_ids or ())
        filters: tuple[tuple[FilterName, bool], ...] = (
            ("superseded", profile.hides_superseded and entry.superseded_by is not None),
            ("time", created < (request.since or "") or is_late),
            ("session", not self.is_of_session(entry) and not (may_cross and is_durable(entry))),
            ("agent", request.agents is not None and not is_of_agents),
            ("namespace", request.namespace not in (None, entry.namespace or DEFAULT_NAMESPACE)),
        )
        return [name for name, stops in filters if stops]

    def is_of_session(self, entry: MemoryEntry) -> bool:
        """Whether a row belongs to the requested session."""
        return self.request.session_id in (None, entry.session_id)


def is_durable(entry: MemoryEntry) -> bool:
    """Whether a row belongs to no session and may be visible in every one."""
    return entry.session_id is None and entry.category in DURABLE


def supported_request(
    request: RecallRequest, profile: ScoringProfile, *, has_agents: bool
) -> tuple[RecallRequest, list[str]]:
    """Reduce a request to its supported parts, with sentences on the others. Empty `agents` means all agents."""
    notes: list[str] = []
    limit = min(max(request.limit, 0), UNLIMITED)
    supported = replace(request, limit=limit, agents=request.agents or None)
    if supported.agents and (profile.agent_scope == "none" or not has_agents):
        knows_none = f"ZeroClaw {profile.version}" if profile.agent_scope == "none" else "This database"
        notes.append(f"{knows_none} knows no agents, so every agent's memories are recalled.")
        supported = replace(supported, agents=None)
    if (supported.since or supported.until) and not profile.has_time_bounds:
        notes.append(f"ZeroClaw {profile.version} has no time bounds in recall, so none are applied.")
        supported = replace(supported, since=None, until=None)
    return supported, notes


class RowMasks:
    """Filters on the row table, each an array of shape (rows,), bool. An argument of None selects every row."""

    def __init__(self, evidence: StageEvidence) -> None:
        import numpy as np

        rows = evidence.rows
        self._has_sessions = evidence.has_sessions
        self._rows = rows
        self._durable = (rows.session == -1) & _have_name(rows.category, rows.categories, DURABLE)
        self.positions = {
            name: np.searchsorted(rows.handles, getattr(evidence, name))
            for name in ("keyword_handles", "vector_handles", "like", "recent")
        }
        self.id_ranks = rows.id_ranks if rows.id_ranks is not None else _ranks_of(rows.ids)

    def of_session(self, session: str | None, *, crosses: bool = False) -> np.ndarray:
        """Rows of exactly this session, and with `crosses` also durable rows without a session."""
        wanted = None if session is None else (session,) if self._has_sessions else ()
        seen = _have_name(self._rows.session, self._rows.sessions, wanted)
        return seen | self._durable if crosses else seen

    def in_stage(self, session: str | None, agent_ids: Sequence[str] | None, *, durable: bool) -> np.ndarray:
        """Rows that a statement restricted to session and agents selects."""
        seen = self.of_session(session, crosses=durable and self._has_sessions)
        seen &= _have_name(self._rows.agent, self._rows.agent_ids, agent_ids)
        return seen

    def existing(self, until: str) -> np.ndarray:
        """Rows that existed at a time."""
        import numpy as np

        created = self._rows.created
        return np.array([existed(at, until) for at in created] if until else np.ones(len(created)), dtype=bool)

    def in_scope(self, scope: Scope) -> np.ndarray:
        """Rows of the session and within the time bounds that are not superseded."""
        crosses = scope.vector_live and scope.profile.durable_rows_cross_sessions
        seen = self.visible(scope)
        seen &= self.of_session(scope.request.session_id, crosses=crosses)
        return seen

    def visible(self, scope: Scope) -> np.ndarray:
        """Rows within the time bounds that are not superseded."""
        within = self.within(scope.request.since, scope.request.until)
        return within & ~self._rows.superseded if scope.profile.hides_superseded else within

    def within(self, since: str | None, until: str | None) -> np.ndarray:
        """Rows between two bounds, compared as text."""
        import numpy as np

        if since is None and until is None:
            return np.ones(len(self._rows.handles), dtype=bool)
        first, created = since or "", self._rows.created
        return np.array([first <= at and (until is None or at <= until) for at in created], dtype=bool)

    def of_agents(self, names: Sequence[str] | None) -> np.ndarray:
        """Rows of the agents with these names."""
        return _have_name(self._rows.agent, self._rows.agents, names)

    def of_namespace(self, namespace: str | None) -> np.ndarray:
        """Rows of a namespace."""
        names = [name or DEFAULT_NAMESPACE for name in self._rows.namespaces]
        found = _have_name(self._rows.namespace, names, None if namespace is None else (namespace,))
        return found | (self._rows.namespace == -1) if namespace == DEFAULT_NAMESPACE else found


def _have_name(codes: np.ndarray, names: Sequence[str], wanted: Sequence[str] | None) -> np.ndarray:
    """Rows with one of the wanted names."""
    import numpy as np

    if wanted is None:
        return np.ones(len(codes), dtype=bool)
    # A row without a name has the code -1, which indexes the last item.
    is_wanted: np.ndarray = np.array([*(name in wanted for name in names), False], dtype=bool)[codes]
    return is_wanted


def _ranks_of(ids: Sequence[str]) -> np.ndarray:
    import numpy as np

    ranks = np.empty(len(ids), dtype=np.int64)
    ranks[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
    return ranks


class StageHits(NamedTuple):
    """The hits visible to a stage, best first.

    `positions` are indexes of the row table, int64, `scores` float32, shapes (hits,). `places` are the rows' ranks from
    1 among the hits, or 0 for a row that is not a hit, int64, shape (rows,).
    """

    positions: np.ndarray
    scores: np.ndarray
    places: np.ndarray

    def hit(self, position: int, most: int) -> tuple[int, float] | tuple[None, None]:
        """Get the rank and the score of a row by its index in the row table, if it is one of the first `most` hits."""
        place = int(self.places[position])
        return (place, float(self.scores[place - 1])) if 0 < place <= most else (None, None)


def keyword_hits(evidence: StageEvidence, scope: Scope) -> StageHits:
    """The hits of FTS5; ZeroClaw >= 0.8.4 restricts them to agents, and while vectors are used, to the session."""
    masks, positions = evidence.masks, evidence.masks.positions["keyword_handles"]
    seen = masks.existing(scope.request.created_until)
    if scope.profile.filters_in_sql:
        session = scope.request.session_id if scope.vector_live else None
        seen &= masks.in_stage(session, scope.agent_ids, durable=True)
    return _stage_hits(evidence, positions[seen[positions]], evidence.keyword_scores[seen[positions]])


def vector_hits(evidence: StageEvidence, scope: Scope) -> StageHits:
    """The hits by cosine, restricted to the session, and from 0.8.4 on to the agents.

    With a restriction, SQLite reads rows with equal scores in the order of the index it uses.
    """
    import numpy as np

    masks, in_sql = evidence.masks, scope.profile.filters_in_sql
    session, agents = scope.request.session_id, scope.agent_ids if in_sql else None
    seen = masks.in_stage(session, agents, durable=in_sql) & masks.existing(scope.request.created_until)
    positions = masks.positions["vector_handles"]
    positions, scores = positions[seen[positions]], evidence.vector_scores[seen[positions]]
    order = evidence.agent_order if agents is not None else evidence.durable_order
    is_restricted = session is not None or agents is not None
    is_new = scores[1:] != scores[:-1]
    if in_sql and is_restricted and order != "stored" and not is_new.all():
        groups = np.concatenate([[0], np.cumsum(is_new)])
        sorted_at = np.lexsort((scan_keys(evidence, order, session)[positions], groups))
        positions = positions[sorted_at]
    return _stage_hits(evidence, positions, scores)


def no_hits(evidence: StageEvidence) -> StageHits:
    """The hits of a stage that finds nothing."""
    return _stage_hits(evidence, evidence.masks.positions["keyword_handles"][:0], evidence.keyword_scores[:0])


def scan_keys(evidence: StageEvidence, order: ScanOrder, session: str | None) -> np.ndarray:
    """The sort key for rows with equal scores, before the order of storing, shape (rows,)."""
    import numpy as np

    rows = evidence.rows
    if order == "session" and session is not None:
        return np.where(evidence.masks.of_session(session), 0, 1)
    if order == "agent" and rows.agent_ids:
        keys: np.ndarray = np.append(_ranks_of(rows.agent_ids), -1)[rows.agent]
        return keys
    return np.zeros(len(rows.handles), dtype=np.int64)


def _stage_hits(evidence: StageEvidence, positions: np.ndarray, scores: np.ndarray) -> StageHits:
    import numpy as np

    places = np.zeros(len(evidence.rows.handles), dtype=np.int64)
    places[positions] = np.arange(1, len(positions) + 1)
    return StageHits(positions, scores, places)
