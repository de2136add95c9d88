"""What a backend answers about itself: what it can do, how it is, and what its own recall returned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.recall import ScoredEntry


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a backend can do. `why_not` has one sentence for each thing it cannot ("vectors", "sessions", "write")."""

    vectors: bool = False
    keyword: bool = False
    sessions: bool = True
    agents: bool = False
    namespaces: bool = False
    superseded: bool = False
    pinned: bool = False
    importance: bool = False
    kind: bool = False
    facets: bool = True
    watch: bool = False
    write: bool = False
    editable: tuple[str, ...] = ()
    """Which of the fields in memory/change.py's EDITABLE can be changed; for the others `why_not` has a sentence."""
    cached_vectors: bool = False
    """Whether copies of vectors lie beside the memories, found by a hash of the content."""
    blocks: bool = False
    """Whether `MemoryFilter.blocks` shows something else than the rows."""
    own_fusion: bool = False
    """Whether the store can answer `RecallRequest.own_fusion`."""
    why_not: Mapping[str, str] = field(default_factory=dict)


THE_TRAIT = Capabilities(
    write=True,
    editable=("content", "key", "category", "session_id"),
    why_not={
        "vectors": "This store keeps no vectors.",
        "keyword": "This store has no keyword index.",
        "agents": "This store does not tell agents apart.",
        "namespaces": "This store keeps no namespace.",
        "superseded": "This store does not keep what a newer memory replaced.",
        "kind": "This store keeps no kind.",
        "watch": "This store does not tell when another program has written.",
        "importance": "This store keeps no importance.",
        "pinned": "This store keeps no pins.",
        "namespace": "This store keeps no namespace.",
    },
)
"""What the verbs of ZeroClaw's trait can do by themselves: a backend that says nothing about itself can do this."""


@dataclass(frozen=True, slots=True)
class Health:
    """How a store is. `findings` are sentences, the worst first; `facts` are names and values in reading order."""

    ok: bool
    summary: str
    findings: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether ZeroClaw could start with a store: `summary` in a few words ("connects in 12 ms"), `facts` more of them.

    `problem` is what ZeroClaw would stumble over, None where all is well.
    """

    summary: str
    facts: tuple[str, ...] = ()
    problem: InspectorError | None = None


@dataclass(frozen=True, slots=True)
class StoreRecall:
    """What the store's own recall returned, best first. `stage` is the path it took; `notes` are for people."""

    entries: tuple[ScoredEntry, ...]
    mode: str
    scale: str
    notes: tuple[str, ...] = ()
