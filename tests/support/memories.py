"""Names for memories, their changes and errors, re-exported so that a renamed module changes one file."""

from __future__ import annotations

from zeroclaw_tui.memory.change import (
    EMBEDDING_CACHE,
    ApplyResult,
    Change,
    Draft,
    Edit,
    EditConflict,
    Journal,
    OnConflict,
    Row,
    RowChange,
    RowVersion,
    UndoConflicts,
    Value,
    Vector,
)
from zeroclaw_tui.memory.entry import JSON_FIELDS, Handle, MemoryEntry, kind_from
from zeroclaw_tui.memory.errors import (
    NOT_REACHABLE,
    WRONG_USE,
    BeforeFirstStart,
    BrokenConfig,
    Corrupt,
    DiskFull,
    EmbeddingFailed,
    InspectorError,
    Locked,
    NoInstall,
    NotFound,
    NothingYet,
    NotReachable,
    Refused,
    SearchInterrupted,
    Unreadable,
    UsageError,
)
from zeroclaw_tui.testing.samples import NOW, sample_entries
