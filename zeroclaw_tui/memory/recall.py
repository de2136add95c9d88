"""Requests for a recall, and its results with all parts of the scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from zeroclaw_tui.memory.entry import MemoryEntry

Layer = Literal["agent", "store"]
Rule = Literal["cli", "channel", "cron", "library"]
"""The kind of turn: of the CLI agent, of a channel, of cron or the heartbeat, or of the embedded agent (web socket,
RPC, ACP)."""
UNLIMITED = 2**31
"""The limit of a turn that recalls everything; higher limits are reduced to it."""
SIMILAR = "similar"
"""The mode of a ranking by similarity to a memory or a text, which is not a recall."""


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """A request for a recall. `agents` are the allowed aliases (None: all). `since` and `until` are RFC 3339 texts.

    `limit` is the limit of the turn; if ZeroClaw reranks (>= 0.8.4), more are recalled. `session_id` is the session
    scope of the message, `extra_sessions` are recalled after it, as channels do for chat and sender.
    `layer` "agent" is the recall for an agent, including wrappers; "store" is the store's own recall.
    `rule` is the kind of turn, which decides how memories are injected.
    `as_of` is the RFC 3339 time at which time decay is computed.
    """

    query: str
    limit: int = 5
    session_id: str | None = None
    agents: tuple[str, ...] | None = None
    namespace: str | None = None
    since: str | None = None
    until: str | None = None
    layer: Layer = "agent"
    rule: Rule = "cli"
    as_of: str = ""
    extra_sessions: tuple[str, ...] = ()
    turn_limit: int = 5
    """The `limit` of ZeroClaw itself; a different `limit` is a trial."""
    created_until: str = ""
    """Memories created after this RFC 3339 time are excluded before ranking, which ZeroClaw does not do: for the recall
    of a past turn."""

    @property
    def limits_shown(self) -> tuple[int, int]:
        """The limit and the turn's limit in the notation of config.toml: 0 is unlimited."""
        limit, turn = (each if each < UNLIMITED else 0 for each in (self.limit, self.turn_limit))
        return limit, turn


class Stop(NamedTuple):
    """The reason why a recalled memory is not in the prompt.

    `words` is the reason as shown to users; for the stage "recall", in which nothing is injected at all, a sentence.
    `rule` is the finding of the scanner, or the rule within the stages "skip", "rerank" and "cap".
    """

    stage: Literal["recall", "scanner", "limit", "rerank", "threshold", "skip", "cap"]
    words: str
    rule: str = ""


_PRINTED_OF_ENTRY = ("id", "key", "content", "category", "timestamp", "session_id", "agent")
_PRINTED_SCORES = ("score", "vector_score", "keyword_score", "keyword_raw", "stage", "decayed", "reranked")


class ScoredEntry(NamedTuple):
    """A recalled memory with the parts of its score; a missing part is None, never 0.

    `keyword_raw` is -bm25, unbounded; `keyword_score` is `keyword_raw` divided by the best of the batch. `vector_score`
    is the cosine in 0..1. `score` is the score of the recall; `decayed` is the score after time decay, if this version
    decays, and `reranked` the blended score of the rerank stage, which replaces decay: the score to compare with the
    threshold. `place` is the position, from 1, after the rerank stage.
    `withheld` is the reason why an agent does not get it: the finding of the content scanner (ZeroClaw >= 0.8.4), or
    the store's own reason.
    """

    entry: MemoryEntry
    rank: int
    score: float | None
    vector_score: float | None = None
    keyword_score: float | None = None
    keyword_raw: float | None = None
    stage: str = "recent"
    keyword_rank: int | None = None
    vector_rank: int | None = None
    decayed: float | None = None
    reranked: float | None = None
    place: int | None = None
    scope: int = 0
    """The index of the request's session scope that recalled it, from 0."""
    injected: bool = False
    stop: Stop | None = None
    withheld: str | None = None
    source: str | None = None
    """The part of another program's store that it is from ("active", "archive", "graph"), if the store has parts."""

    @property
    def not_injected_because(self) -> str | None:
        """The reason why it does not reach the prompt; None if it does, or if that is not decided yet."""
        return None if self.stop is None else self.stop.words

    def as_json(self) -> dict[str, Any]:
        """The JSON of the result in the commands."""
        return {
            "rank": self.rank,
            **{name: getattr(self.entry, name) for name in _PRINTED_OF_ENTRY},
            **{name: getattr(self, name) for name in _PRINTED_SCORES},
            "rerank_place": self.place,
            "injected": self.injected,
            "not_injected_because": self.not_injected_because,
            **({} if self.source is None else {"source": self.source}),
        }


@dataclass(frozen=True, slots=True)
class RecallResult:
    """The results of a recall. `scale` names the range of `score` ("0..1", "raw bm25", "matched words / words").

    `withheld` are rows withheld from the agent, in the order they would have had.
    `notes` are sentences for users: ignored errors, why there are no vectors.
    """

    request: RecallRequest
    backend: str
    location: str
    profile: str
    profile_source: str
    mode: str
    weights: tuple[float, float]
    threshold: float
    scale: str
    results: tuple[ScoredEntry, ...]
    injected: int
    """The number of memories that reach the prompt."""
    withheld: tuple[ScoredEntry, ...] = ()
    notes: tuple[str, ...] = ()
    lacks_vector_because: str | None = None
    """Why the query could not be embedded, so that only keywords were searched, as a sentence, also in `notes`."""
    pool: int | None = None
    """The number of memories that a session scope recalls for the rerank stage; None without that stage."""
    not_read_because: str | None = None
    """Why no agent uses this store as its memory, as a sentence: then injection does not apply."""
    program: str | None = None
    """The other program whose rule ranked this ("R-Mem"); None for ZeroClaw's rules."""
    awaits_vector: bool = False
    """Whether the query is still being embedded; until then the keyword hits are shown."""

    @property
    def ranked(self) -> tuple[ScoredEntry, ...]:
        """The candidates for the prompt, best first: the results, or those that passed the rerank stage."""
        if self.pool is None:
            return self.results
        placed = [result for result in self.results if result.place is not None]
        return tuple(sorted(placed, key=lambda result: result.place or 0))

    def as_json(self) -> dict[str, Any]:
        """The JSON document of the recall command."""
        limit, turn_limit = self.request.limits_shown
        sessions = (self.request.session_id, *self.request.extra_sessions)
        unasked = {} if self.not_read_because is None else {"injected": None}
        return {
            **{name: getattr(self, name) for name in ("backend", "location", "profile", "profile_source")},
            **{name: getattr(self.request, name) for name in ("layer", "query")},
            "limit": limit,
            "turn_limit": turn_limit,
            "sessions": [session for session in sessions if session is not None],
            "rerank_pool": self.pool,
            "mode": self.mode,
            "weights": dict(zip(("vector", "keyword"), self.weights, strict=True)),
            "threshold": self.threshold,
            "scale": self.scale,
            "rule": self.request.rule,
            "results": [result.as_json() | unasked for result in self.results],
            "notes": list(self.notes),
        }
