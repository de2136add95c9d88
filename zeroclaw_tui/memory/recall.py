"""What is asked of recall, and what comes back with every number that made it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from zeroclaw_tui.memory.text import distinct_numbers

if TYPE_CHECKING:
    from zeroclaw_tui.memory.entry import MemoryEntry

Layer = Literal["agent", "store"]
Rule = Literal["cli", "channel", "cron", "library"]
"""Whose turn it is: the CLI agent's, a channel's, that of cron or the heartbeat, or that of the embedded agent (web
socket, RPC, ACP)."""
UNLIMITED = 2**31
"""The limit of a turn that recalls everything, and of any that asks for more."""
SIMILAR = "similar"
"""The mode of a ranking that is no recall: what is near to a memory or a text, for a person's eye."""


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """A recall. `agents` are the aliases allowed (None: unscoped). `since` and `until` are RFC 3339 text.

    `limit` is that of the turn; where ZeroClaw reranks (>= 0.8.4), more are recalled. `session_id` is the session scope
    of the message, `further_sessions` are those recalled after it, as channels do for chat and sender.
    `layer` "agent" is what reaches an agent, wrappers included; "store" is the store's own recall.
    `rule` is whose turn it is, which decides how memories are put before the message.
    `as_of` is the RFC 3339 moment to which time decay counts.
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
    further_sessions: tuple[str, ...] = ()
    turn_limit: int = 5
    """What ZeroClaw itself would have as `limit`: another one is a trial."""
    created_until: str = ""
    """Memories created after this RFC 3339 moment are left out before anything is ranked, which ZeroClaw does not do:
    for a recall as a turn of the past had it."""

    @property
    def scopes(self) -> tuple[str | None, ...]:
        """The session scopes in their order; None is the one without a session."""
        return (self.session_id, *self.further_sessions)

    @property
    def limits_shown(self) -> tuple[int, int]:
        """The limit and that of the turn as config.toml writes them: 0 is unlimited."""
        limit, turn = (each if each < UNLIMITED else 0 for each in (self.limit, self.turn_limit))
        return limit, turn


@dataclass(frozen=True, slots=True)
class Stop:
    """What keeps a recalled memory out of the prompt.

    `rule` names the rule within the stage: the finding of the scanner, the skip rule, what rerank compares it with,
    "characters" or "entries" of the caps, "decay" or "rerank" if that changed the score before the threshold. For the
    stage "recall", where nothing at all is injected, it is a whole sentence. `score` is the compared number, `limit`
    the threshold, cap or pool size, `score_before` what recall returned.
    """

    stage: Literal["recall", "scanner", "limit", "rerank", "threshold", "skip", "cap"]
    rule: str = ""
    score: float | None = None
    limit: float = 0
    score_before: float | None = None

    @property
    def words(self) -> str:
        """The reason as commands and inspector show it."""
        what = "characters reached" if self.rule == "characters" else "entries already in"
        words = {
            "recall": self.rule,
            "scanner": f"withheld: {self.rule}",
            "limit": f"limit: the pool of {self.limit:,} is full",
            "rerank": f"rerank: {self.rule}",
            "skip": f"skipped: {self.rule}",
            "cap": f"cap: {self.limit:,} {what}",
        }
        if self.stage in words:
            return words[self.stage]
        score = self.score or 0.0
        shown, limit = distinct_numbers(score, self.limit)
        before = "" if self.score_before is None else f"{self.score_before:.2f}"
        # The score in the next column is the one before.
        change = f" after {self.rule} from {before}" if before not in ("", f"{score:.2f}") else ""
        return f"threshold {shown} < {limit}{change}"


_PRINTED_OF_ENTRY = ("id", "key", "content", "category", "timestamp", "session_id", "agent")
_PRINTED_SCORES = ("score", "vector_score", "keyword_score", "keyword_raw", "stage", "decayed", "reranked")


@dataclass(frozen=True, slots=True)
class ScoredEntry:
    """A recalled memory with the parts of its score; a part that does not exist is None, never 0.

    `keyword_raw` is -bm25, unbounded; `keyword_score` is it divided by the best of the batch. `vector_score` is the
    cosine in 0..1. `score` is what recall returns; `decayed` is it after time decay, where this version decays, and
    `reranked` it after the blend of the rerank stage, where that acts in place of decay: the number compared with the
    threshold. `place` counts, from 1, in the order in which the rerank stage hands memories on.
    `withheld` says why an agent does not get it: the finding of the content scanner (ZeroClaw >= 0.8.4), or the store's
    own reason.
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
    """Which of the request's session scopes recalled it, from 0."""
    injected: bool = False
    stop: Stop | None = None
    withheld: str | None = None
    source: str | None = None
    """Which part of another program's store it comes from ("active", "archive", "graph"), where its recall has such."""

    @property
    def not_injected_because(self) -> str | None:
        """Why it does not reach the prompt, in words; None if it does, and before that is decided."""
        return None if self.stop is None else self.stop.words

    @property
    def compared_score(self) -> float | None:
        """The number that is compared with the threshold."""
        if self.reranked is not None:
            return self.reranked
        return self.score if self.decayed is None else self.decayed

    def as_json(self) -> dict[str, Any]:
        """The result as the commands print it."""
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
    """The answer to a recall. `scale` names the range of `score` ("0..1", "raw bm25", "matched words / words").

    `withheld` are rows that are kept from the agent, in the order they would have had.
    `notes` are sentences for people: swallowed errors, why there are no vectors.
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
    withheld: tuple[ScoredEntry, ...] = ()
    notes: tuple[str, ...] = ()
    lacks_vector_because: str | None = None
    """Why the query's vector could not be had, so that words alone answered, in a sentence that is a note too."""
    pool: int | None = None
    """How many memories a session scope recalls for the rerank stage; None where that does not act."""
    not_read_because: str | None = None
    """Why no agent reads this store as its memory, in a sentence: then nothing here is or is not injected."""
    program: str | None = None
    """The other program whose rule ranked this ("R-Mem"); None where it was a rule of ZeroClaw's."""
    awaits_vector: bool = False
    """The query's vector is still being fetched; until then the keyword hits are shown."""

    @property
    def injected(self) -> int:
        """How many reach the prompt."""
        return sum(result.injected for result in self.results)

    @property
    def ranked(self) -> tuple[ScoredEntry, ...]:
        """What competes for the prompt, best first: the results, or what the rerank stage hands on of them."""
        if self.pool is None:
            return self.results
        placed = [result for result in self.results if result.place is not None]
        return tuple(sorted(placed, key=lambda result: result.place or 0))

    def as_json(self) -> dict[str, Any]:
        """The document the recall command prints."""
        limit, turn_limit = self.request.limits_shown
        unasked = {} if self.not_read_because is None else {"injected": None}
        return {
            **{name: getattr(self, name) for name in ("backend", "location", "profile", "profile_source")},
            **{name: getattr(self.request, name) for name in ("layer", "query")},
            "limit": limit,
            "turn_limit": turn_limit,
            "sessions": [session for session in self.request.scopes if session is not None],
            "rerank_pool": self.pool,
            "mode": self.mode,
            "weights": dict(zip(("vector", "keyword"), self.weights, strict=True)),
            "threshold": self.threshold,
            "scale": self.scale,
            "rule": self.request.rule,
            "results": [result.as_json() | unasked for result in self.results],
            "notes": list(self.notes),
        }
