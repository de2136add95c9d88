"""One step in the history of a memory, in words: what was done, which fields changed from what to what."""

from __future__ import annotations

from zeroclaw_tui.curation.trash.trash import Version
from zeroclaw_tui.memory.change import StoredRow
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.text import one_line

Change = tuple[str, str, str]
"""A field, what it was, and what it became."""

FIELDS = (
    ("key", "key"),
    ("category", "category"),
    ("session_id", "session"),
    ("namespace", "namespace"),
    ("importance", "importance"),
    ("pinned", "pinned"),
    ("kind", "kind"),
    ("superseded_by", "superseded by"),
    ("agent", "agent"),
)
_LONGEST = 80
_DELETED = {
    "purge": "purged",
    "clear": "cleared",
    "undo": "removed by undo",
    "redo": "deleted again",
    "restore": "removed",
}
_CAME = {"undo": "back by undo", "redo": "stored again", "restore": "brought back"}
_EDITED = {"undo": "edit undone", "redo": "edited again", "restore": "overwritten", "store": "stored over"}


def step_glyph(step: Version) -> str:
    """+ for what came, - for what went, ~ for what changed."""
    if step.before is None:
        return "+"
    return "-" if step.after is None else "~"


def step_words(step: Version) -> str:
    """What was done."""
    if step.before is None:
        return _CAME.get(step.verb, "stored")
    if step.after is None:
        return _DELETED.get(step.verb, "deleted")
    return _EDITED.get(step.verb, "edited")


def what_changed(step: Version) -> list[str]:
    """The names of what an edit changed; nothing for a memory that came or went."""
    if step.before is None or step.after is None:
        return []
    content = ["content"] if step.before.entry().content != step.after.entry().content else []
    names = [*content, *(name for name, _, _ in field_changes(step))]
    return names or (["vector"] if vector_words(step) else [])


def field_changes(step: Version) -> list[Change]:
    """Every field but the content that an edit changed."""
    if step.before is None or step.after is None:
        return []
    old, new = step.before.entry(), step.after.entry()
    return [
        (words, _value(old, name), _value(new, name))
        for name, words in FIELDS
        if getattr(old, name) != getattr(new, name)
    ]


def vector_words(step: Version) -> str:
    """What became of the vector."""
    old, new = _vector(step.before), _vector(step.after)
    if step.before is None or step.after is None or old == new:
        return ""
    if new is None:
        return "dropped: it belonged to the old content"
    dimensions = f"{len(new) // 4} dimensions"
    return f"renewed, {dimensions}" if old is not None else f"made, {dimensions}"


def _vector(row: StoredRow | None) -> bytes | None:
    value = row.values.get("embedding") if row is not None else None
    return value if isinstance(value, bytes) else None


def _value(entry: MemoryEntry, name: str) -> str:
    value = getattr(entry, name)
    if value is None or value == "":
        return "(none)"
    if isinstance(value, bool):
        return "yes" if value else "no"
    shown = one_line(f"{value:g}" if isinstance(value, float) else str(value)[: 4 * _LONGEST])
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"
