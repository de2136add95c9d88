"""What the house still has to mend; nothing may be added to either list."""

from __future__ import annotations

ONE_CHILD = {
    "Kept",
    "MemoryFilter",
    "Scope",
    "SqliteMemory",
    "StoredRow",
    "TriggersMissing",
}
"""Classes with exactly one child."""
