"""Names for queries and recalls, re-exported so that a renamed module changes one file."""

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
