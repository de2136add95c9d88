"""Open stores, and what a person does to them, by names that stay when a module is renamed."""

from __future__ import annotations

from zeroclaw_tui.curation.changes import edit_memory, preview_turn, redo, remove_memories, restore, store_memory, undo
from zeroclaw_tui.curation.library import Library, ProfileChoice, open_library, profile_to_make
from zeroclaw_tui.curation.outcome import Outcome, PurgePlan, excerpt_of, plan_purge, superseded_sentence
