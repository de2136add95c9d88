"""What is asked of recall, and what comes back with every number that made it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from zeroclaw_tui.memory.entry import MemoryEntry

Layer = Literal["agent", "store"]
Rule = Literal["cli", "channel"]
SIMILAR = "similar"
"""The mode of a ranking that is no recall: what is near to a memory or a text, for a person's eye."""


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """A recall. `agents` are the aliases allowed (None: unscoped). `since` and `until` are RFC 3339 text.

    `layer` "agent" is what reaches an agent, wrappers included; "store" is the store's own recall.
    `rule` is the injection rule: that of the CLI agent or that of the channels.
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
    own_fusion: bool = False
    """Keywords and vectors fused inside the store's own database, which ZeroClaw does not do: for a person's eye."""


@dataclass(frozen=True, slots=True)
class ScoredEntry:
    """A recalled memory with the parts of its score; a part that does not exist is None, never 0.

    `keyword_raw` is -bm25, unbounded; `keyword_score` is it divided by the best of the batch. `vector_score` is the
    cosine in 0..1. `score` is what recall returns; `decayed` is it after time decay, where this version decays: the
    number held against the threshold.
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
    injected: bool = False
    not_injected_because: str | None = None
    withheld: str | None = None
    shared: tuple[str, ...] = ()
    """The words in common with what it is similar to, the rarest first."""

    def as_json(self) -> dict[str, Any]:
        """The result as the commands print it."""
        entry = self.entry
        return {
            "rank": self.rank,
            "id": entry.id,
            "key": entry.key,
            "content": entry.content,
            "category": entry.category,
            "timestamp": entry.timestamp,
            "session_id": entry.session_id,
            "agent": entry.agent,
            "score": self.score,
            "vector_score": self.vector_score,
            "keyword_score": self.keyword_score,
            "keyword_raw": self.keyword_raw,
            "stage": self.stage,
            "injected": self.injected,
            "not_injected_because": self.not_injected_because,
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
    awaits_vector: bool = False
    """The query's vector is still being fetched: what words alone find stands meanwhile."""

    @property
    def is_for_people(self) -> bool:
        """Whether no agent ever gets this ranking, so that there is nothing to hold it against."""
        return self.request.own_fusion or self.mode == SIMILAR

    @property
    def injected(self) -> int:
        """How many reach the prompt."""
        return sum(result.injected for result in self.results)

    def as_json(self) -> dict[str, Any]:
        """The document the recall command prints."""
        vector, keyword = self.weights
        return {
            "backend": self.backend,
            "location": self.location,
            "profile": self.profile,
            "profile_source": self.profile_source,
            "layer": self.request.layer,
            "query": self.request.query,
            "limit": self.request.limit,
            "mode": self.mode,
            "weights": {"vector": vector, "keyword": keyword},
            "threshold": self.threshold,
            "scale": self.scale,
            "rule": self.request.rule,
            "results": [result.as_json() for result in self.results],
        }
