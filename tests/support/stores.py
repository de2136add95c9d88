"""Names for the store contract and the default store, re-exported so that a renamed module changes one file."""

from __future__ import annotations

from zeroclaw_tui.backends.about import About, Notice, OwnRule, key_and_content, sentences
from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.lookup import (
    count_facets,
    count_matching,
    entries_with_key,
    entry_with_id,
    fill_vectors,
    make_store,
    require_database,
    row_with_id,
    versions,
    versions_at,
    whole_entry,
    why_fixed,
)
from zeroclaw_tui.backends.sqlite.store import SqliteMemory
