"""What the house still has to mend; nothing may be added to either list."""

from __future__ import annotations

ONE_CHILD = {
    "AuditChanging",
    "AuditListing",
    "ChangingScreen",
    "HygieneListing",
    "Kept",
    "ListingScreen",
    "LitScreen",
    "MarkingScreen",
    "MemoryFilter",
    "Scope",
    "ScoresScreen",
    "SnapshotListing",
    "SqliteMemory",
    "StoredRow",
    "TrashListing",
    "TriggersMissing",
    "UpkeepScreen",
    "WhatIfListing",
}
"""Classes with exactly one child."""
