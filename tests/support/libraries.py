"""Names for open stores and the actions on them, re-exported so that a renamed module changes one file."""

from __future__ import annotations

from zeroclaw_tui.curation.changes import edit_memory, preview_undo, redo, remove_memories, restore, store_memory, undo
from zeroclaw_tui.curation.library import Library, ProfileChoice, open_library, profile_for_new_store
from zeroclaw_tui.curation.outcome import Outcome, PurgePlan, excerpt_of, plan_purge, superseded_sentence
