"""Which vectors a store holds: what made them, and how long they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.curation.transfer.jsonl import Header, Identity
from zeroclaw_tui.memory.change import Value

_BYTES_EACH = 4


@dataclass(frozen=True, slots=True)
class KnownVectors:
    """What a store says of its vectors: `identity` as ZeroClaw >= 0.8.3 notes it, `dimensions` those of most."""

    identity: Identity | None = None
    dimensions: int | None = None

    def takes(self, vector: Value, header: Header | None) -> bool:
        """Whether a vector of a file fits among them; what neither side knows does not stand in the way."""
        return self.fits(vector, header.embedding if header is not None else None)

    def fits(self, vector: Value, theirs: Identity | None) -> bool:
        """The same for a vector that `theirs` made."""
        if not isinstance(vector, bytes) or not vector or len(vector) % _BYTES_EACH:
            return False
        if self.dimensions is not None and len(vector) != _BYTES_EACH * self.dimensions:
            return False
        return theirs is None or self.identity is None or theirs == self.identity


async def identity_of(memory: Memory) -> Identity | None:
    """What made a store's vectors; None where it does not say."""
    return known_vectors((await memory.health()).facts).identity if memory.capabilities.vectors else None


def known_vectors(facts: Mapping[str, Any]) -> KnownVectors:
    """What a store says of its vectors, by the facts of its health."""
    noted: Mapping[str, Any] = facts.get("embedding identity") or {}
    parts = [noted.get(f"embedding_{name}") for name in ("provider", "model", "dimensions")]
    identity = None
    if all(isinstance(part, str) for part in parts) and str(parts[2]).isdecimal():
        identity = Identity(str(parts[0]), str(parts[1]), int(str(parts[2])))
    lengths: Mapping[str, int] = facts.get("embedded by dimensions") or {}
    most = max(lengths, key=lambda length: lengths[length], default=None)
    if identity is not None:
        return KnownVectors(identity, identity.dimensions)
    return KnownVectors(None, None if most is None else int(most))
