"""What the house still has to mend; nothing may be added to either list."""

from __future__ import annotations

ONE_CHILD = {
    "ChangingScreen",
    "Kept",
    "ListingScreen",
    "LitScreen",
    "MarkingScreen",
    "MemoryFilter",
    "Scope",
    "ScoresScreen",
    "SqliteMemory",
    "StoredRow",
    "TrashListing",
    "TriggersMissing",
    "UpkeepScreen",
    "WhatIfListing",
}
"""Classes with exactly one child."""
