"""What a backend can do, and why it cannot do the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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
    """Which of the fields in memory/entry.py's EDITABLE can be changed; for the others `why_not` has a sentence."""
    cached_vectors: bool = False
    """Whether copies of vectors lie beside the memories, found by a hash of the content."""
    blocks: bool = False
    """Whether `MemoryFilter.blocks` shows something else than the rows."""
    own_fusion: bool = False
    """Whether the store can answer `RecallRequest.own_fusion`."""
    stages: bool = False
    """Whether recall goes stage by stage, as ZeroClaw's hybrid search does."""
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
