"""What made the vectors of a store or a file, and whether a vector fits among those of a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zeroclaw_tui.curation.formats.jsonl import Identity
from zeroclaw_tui.memory.change import Value

_BYTES_EACH = 4


@dataclass(frozen=True, slots=True)
class KnownVectors:
    """What a store says of its vectors: `identity` as ZeroClaw >= 0.8.3 notes it, `dimensions` those of most."""

    identity: Identity | None = None
    dimensions: int | None = None

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> KnownVectors:
        """Read it from the facts of a store's health."""
        noted: Mapping[str, Any] = facts.get("embedding identity") or {}
        parts = [noted.get(f"embedding_{name}") for name in ("provider", "model", "dimensions")]
        if all(isinstance(part, str) for part in parts) and str(parts[2]).isdecimal():
            identity = Identity(str(parts[0]), str(parts[1]), int(str(parts[2])))
            return cls(identity, identity.dimensions)
        lengths: Mapping[str, int] = facts.get("embedded by dimensions") or {}
        most = max(lengths, key=lambda length: lengths[length], default=None)
        return cls(None, None if most is None else int(most))

    def fits(self, vector: Value, source: Identity | None) -> bool:
        """Whether a vector made by `source` fits among them, as far as both sides say what made theirs."""
        if not isinstance(vector, bytes) or not vector or len(vector) % _BYTES_EACH:
            return False
        if self.dimensions is not None and len(vector) != _BYTES_EACH * self.dimensions:
            return False
        return source is None or self.identity is None or source == self.identity
