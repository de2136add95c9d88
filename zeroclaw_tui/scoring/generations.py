"""The generations of ZeroClaw's own tables: which versions have which, and what a memory has in each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from zeroclaw_tui.scoring.profiles import parse_version

if TYPE_CHECKING:
    from zeroclaw_tui.memory.change import Value

_G1 = ("id", "key", "content", "category", "embedding", "created_at", "updated_at", "session_id")
_G2 = (*_G1, "namespace", "importance", "superseded_by")
_G3 = (*_G2, "agent_id")
_G4 = (*_G3, "kind", "pinned", "tenant_id")
COLUMNS = {"G1": _G1, "G2": _G2, "G3": _G3, "G4": _G4}
"""The columns of the memories table; ZeroClaw >= 0.8.4 has those of G4 too."""
ALL_COLUMNS = frozenset(_G4)
NEWEST_VERSION = {"G1": "0.5.6", "G2": "0.7.5", "G3": "0.8.2", "G4": "0.8.4"}
VERSIONS = {"G1": "0.1.2 to 0.5.6", "G2": "0.5.7 to 0.7.5", "G3": "0.8.0 to 0.8.2", "G4": "0.8.3 and later"}
_SAID = {
    "superseded": "mark for superseded memories", "pinned": "pins", "kind": "kinds", "namespace": "namespaces",
    "session_id": "sessions",
}  # fmt: skip

USUAL: Mapping[str, Value] = {"namespace": "default", "importance": 0.5, "pinned": 0}
"""What ZeroClaw gives a memory of which nothing is said."""
SMALLEST = 4096
"""ZeroClaw takes a database of fewer bytes for none, and hydrates."""


def generation_made_by(version: str) -> str:
    """The schema generation ("G1" to "G4") that a version of ZeroClaw makes. Raises WrongUse for what is no version."""
    numbers = parse_version(version)
    if numbers < (0, 5, 7):
        return "G1"
    if numbers < (0, 8, 0):
        return "G2"
    return "G3" if numbers < (0, 8, 3) else "G4"


def lacks(what: str) -> str:
    """The sentence for a field, or a capability, that a generation has no column for."""
    return f"This generation of ZeroClaw's schema has no {_SAID.get(what, what)}."
