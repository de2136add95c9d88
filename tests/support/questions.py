"""Queries and recalls, by names that stay when a module is renamed."""

from __future__ import annotations

from zeroclaw_tui.memory.query import (
    AGE_GROUPS,
    ENTRIES,
    EVERYTHING,
    EXCERPTS,
    HANDLES,
    NEWEST_STORED,
    NEWEST_UPDATED,
    NO_DATE,
    OLDEST_STORED,
    ROWS,
    VERSIONS,
    MemoryFilter,
    Query,
    Sort,
    SortField,
    Superseded,
)
from zeroclaw_tui.memory.recall import UNLIMITED, RecallRequest, RecallResult, Rule, ScoredEntry, Stop
