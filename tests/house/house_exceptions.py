"""What the house still has to mend; nothing may be added to either list."""

from __future__ import annotations

ONE_CHILD = {
    "AuditChanging",
    "AuditListing",
    "BrowsedQdrant",
    "ChangingScreen",
    "HygieneListing",
    "Kept",
    "ListingScreen",
    "LitScreen",
    "MarkingScreen",
    "MemoryFilter",
    "PointWriter",
    "Rows",
    "Scope",
    "ScoresScreen",
    "SearchableSqlite",
    "SearchedQdrant",
    "SnapshotListing",
    "SqliteMemory",
    "StoredRow",
    "TrashListing",
    "TriggersMissing",
    "UpkeepScreen",
    "WhatIfListing",
    "WritablePostgres",
    "WritableSqlite",
    "WrongUse",
}
"""Classes with exactly one child."""

CONCRETE_BACKENDS_ABOVE = {
    "onboard/probes/postgres_url.py imports postgres",
}
"""Modules above the backends' floor that import a concrete backend."""
