"""Why a command of the browser does not work with this store, this look at it, or the memory under the cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zeroclaw_tui.backends.profiles import has_database
from zeroclaw_tui.tui.commands import BROWSER_COMMANDS
from zeroclaw_tui.tui.view import View
from zeroclaw_tui.tui.widgets.ranked_rows import is_from_lucid

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.memory.recall import ScoredEntry

NO_SNAPSHOT = (
    "ZeroClaw writes and reads MEMORY_SNAPSHOT.md only for SQLite and Lucid; export writes the memories of every store."
)
_OF_LUCID = "It comes from the lucid program and cannot be changed here."
_UNEXPLAINED = "It comes from the lucid program, which gives no reasons: only memories of the store can be explained."
_NOT_COMPARED = "It comes from the lucid program: only memories of the store can be compared with others."
_WRITING = frozenset(command.action for command in BROWSER_COMMANDS if command.writes)
_ON_A_ROW = frozenset({"edit", "edit_externally", "re_embed", "delete", "erase", "show_again", "show_history"})
_NEEDS_MEMORIES = frozenset(
    {
        "open_search",
        "choose_filters",
        "next_mode",
        "choose_length",
        "choose_order",
        "choose_profile",
        "explain",
        "what_if",
        "show_prompt",
        "similar",
        "toggle_markdown",
        "copy_content",
        "copy_json",
        "toggle_mark",
        "mark_range",
        "mark_all",
        "mark_none",
        "show_history",
        "show_copies",
        "export_shown",
        "copy_to_store",
        "toggle_blocks",
        "show_upkeep('clean_up')",
        "show_upkeep('numbers')",
        "show_upkeep('snapshot')",
    }
)
"""What nothing comes of where nothing is ever stored."""
_UNKNOWN_OF_LUCID = {"explain": _UNEXPLAINED, "similar": _NOT_COMPARED} | dict.fromkeys(_ON_A_ROW, _OF_LUCID)
_PARTS = {"session": "sessions", "agent": "agents", "namespace": "namespaces", "superseded": "superseded"}


def why_dimmed(action: str, library: Library, view: View, under_cursor: ScoredEntry | None = None) -> str | None:
    """Why an action, as it is bound, cannot be done, in a sentence; None where it can.

    `under_cursor` is the result that the action would take, None where it takes marked memories or a listed one.
    """
    if library.memory.keeps_nothing and action in _NEEDS_MEMORIES:
        return library.read_only_because
    if action in _UNKNOWN_OF_LUCID and is_from_lucid(under_cursor):
        return _UNKNOWN_OF_LUCID[action]
    if action in _WRITING:
        because = why_read_only(library)
        if because is not None:
            return because
    return _why_not_here(action, library, view)


def why_read_only(library: Library) -> str | None:
    """Why nothing can be written, in a sentence; None where it can."""
    if library.read_only_because is not None or library.memory.capabilities.write:
        return library.read_only_because
    return library.memory.capabilities.why_not.get("write") or str(library.memory.refuse_to_write())


def unfiltered_because(library: Library) -> tuple[str, ...]:
    """What the list cannot be narrowed to in this store: a sentence for each part, none twice."""
    can = library.memory.capabilities
    told = [can.why_not.get(name) for name in _PARTS.values() if not getattr(can, name)]
    return tuple(dict.fromkeys(reason for reason in told if reason))


def _why_not_here(action: str, library: Library, view: View) -> str | None:
    memory, can = library.memory, library.memory.capabilities
    match action:
        case "edit" | "edit_externally" if view.shows_blocks:
            return "A block is edited line by line: B shows its lines."
        case "create" if "create" in can.why_not:
            return can.why_not["create"]
        case "edit" if not can.editable:
            return can.why_not.get("content") or f"{memory.name} changes no memory that is there."
        case "edit_externally" if "content" not in can.editable:
            return can.why_not.get("content") or f"{memory.name} does not change a content that is there."
        case "show_again" if not can.superseded:
            return can.why_not.get("superseded") or f"In {memory.name} no memory is superseded by another."
        case "re_embed":
            return library.why_no_vectors
        case "toggle_blocks" if not can.blocks:
            return can.why_not.get("blocks") or f"In {memory.name} every memory stands for itself; there are no blocks."
        case "choose_filters" if not can.facets:
            return can.why_not.get("facets") or f"{memory.name} does not count by category, session or age."
        case "show_upkeep('snapshot')" if not has_database(memory.name):
            return NO_SNAPSHOT
        case _:
            return None
