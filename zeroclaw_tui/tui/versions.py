"""What was done to a memory, in words: an action, one step in its history, and what was deleted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Literal, TypeVar

from textual.content import Content

from zeroclaw_tui.curation.audit.audit import excerpt_of
from zeroclaw_tui.curation.trash.journal import Action
from zeroclaw_tui.curation.trash.trash import TrashRow, Version
from zeroclaw_tui.curation.words import summary_words
from zeroclaw_tui.memory.change import MEMORIES, StoredRow
from zeroclaw_tui.memory.days import absolute_time
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.secret_text import masked
from zeroclaw_tui.memory.text import display_text, mask_secrets, one_line, size_shown
from zeroclaw_tui.memory.text_difference import MOST_SHOWN, DiffLine, Sign, diff_lines
from zeroclaw_tui.tui.changes import gone_words, store_words
from zeroclaw_tui.tui.format import count_text, relative_age
from zeroclaw_tui.tui.themes import MUTED, STRONG
from zeroclaw_tui.tui.widgets.table_list import Column

Row = TypeVar("Row")
Place = Literal["changes", "rows", "memory", "deleted"]
"""What a list shows: changes, the rows of one, those of one memory, or what was deleted."""
Line = Action | Version | TrashRow | None
"""None: a row that is on its way."""
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
_LOOKED_AT = 2000
_LOOKS: dict[Sign, str] = {"+": "good", "-": "bad", "~": "muted"}
_DELETED = {
    "purge": "purged",
    "clear": "cleared",
    "undo": "removed by undo",
    "redo": "deleted again",
    "restore": "removed",
}
_GONE = {"hygiene": "let go by hygiene", "merge": "merged away", "store": "stored over", "edit": "replaced"}
_CAME = {"undo": "back by undo", "redo": "stored again", "restore": "brought back"}
_EDITED = {"undo": "edit undone", "redo": "edited again", "restore": "overwritten", "store": "stored over"}


def wanted_version(step: Version) -> StoredRow:
    """What a step brings back: what was there before it, or what it made where nothing was."""
    row = step.before or step.after
    if row is None:
        raise ValueError("a step has a before or an after")
    return row


def state_words(change: Action) -> str:
    """How much of a change is taken back."""
    if change.open == change.count:
        return ""
    if not change.open:
        return "taken back"
    return f"{count_text(change.count - change.open)} of {count_text(change.count)} taken back"


def row_words(step: Version) -> str:
    """A row of a change: its key and how it begins; of what is no memory, where it is."""
    row = wanted_version(step)
    if row.table != MEMORIES:
        return one_line(mask_secrets(row.id))
    entry = row.entry()
    return f"{one_line(masked(entry.key))}  {excerpt_of(entry.content)}"


def change_content(change: Action, now: datetime) -> Content:
    """A change: what, when, to how many rows, and until when it can be taken back."""
    state = state_words(change)
    facts = [
        f"{absolute_time(change.at)} ({relative_age(change.at, now)})",
        "1 row" if change.count == 1 else f"{count_text(change.count)} rows",
        size_shown(change.size),
        f"kept until {absolute_time(change.until)[:10]}",
        f"change {change.number}",
    ]
    return Content.assemble(
        (summary_words(change), STRONG), (f"\n{' · '.join(facts)}", MUTED), (f"\n{state}" if state else "", "bold")
    )


def step_content(step: Version) -> Content:
    """When and what, then every field that changed, aligned."""
    words = step_words(step)
    parts: list[str | tuple[str, str]] = [(words, STRONG), (f"  {absolute_time(step.at)}", MUTED)]
    parts += [(f"\n{one_line(masked(wanted_version(step).entry().key))}", MUTED)] if _is_memory(step) else []
    rows = field_changes(step)
    vector = vector_words(step)
    widest = max((len(name) for name, _, _ in rows), default=6)
    for name, old, new in rows:
        parts += ["\n", (f"{name.ljust(widest)}  {old} → ", MUTED), new]
    if vector:
        parts += ["\n", (f"{'vector'.ljust(widest)}  {vector}", MUTED)]
    return Content.assemble(*parts)


def deleted_content(row: TrashRow, store: str, now: datetime) -> Content:
    """What happened to a deleted memory, and until when the trash holds it; `store` is the one that is open."""
    entry = row.row.entry()
    done = _DELETED.get(row.verb, _GONE.get(row.verb, "deleted"))
    facts = [
        one_line(entry.category) or "no category",
        f"{done} {absolute_time(row.deleted_at)} ({relative_age(row.deleted_at, now)})",
        f"goes {absolute_time(row.until)} ({gone_words(row.until, now)})",
        *([f"session {one_line(entry.session_id)}"] if entry.session_id else []),
        *([f"from {store_words(row.store)}"] if row.store != store else []),
    ]
    return Content.assemble((one_line(masked(entry.key)), STRONG), (f"\n{' · '.join(facts)}", MUTED))


def deleted_lines(row: TrashRow) -> list[DiffLine]:
    """The content of a deleted memory, as it can be read."""
    text = display_text(row.row.entry().content[:MOST_SHOWN])
    return [DiffLine(" ", line.expandtabs(4)) for line in text.split("\n")]


def diff_of(step: Version) -> list[DiffLine]:
    """What a step changed of the content; of a memory that came or went all of it."""
    if not _is_memory(step):
        return []
    before, after = (row.entry().content if row is not None else "" for row in (step.before, step.after))
    return [] if before == after else diff_lines(before, after)


def _is_memory(step: Version) -> bool:
    return wanted_version(step).table == MEMORIES


def step_glyph(step: Version) -> Sign:
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
    if step.before is None or step.after is None or not _is_memory(step):
        return []
    content = ["content"] if step.before.entry().content != step.after.entry().content else []
    names = [*content, *(name for name, _, _ in field_changes(step))]
    return names or (["vector"] if vector_words(step) else [])


def field_changes(step: Version) -> list[Change]:
    """Every field but the content that an edit changed."""
    if step.before is None or step.after is None or not _is_memory(step):
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


def columns_of(
    place: Place, now: datetime, *, every_store: bool = False, state_cells: int = 0
) -> Sequence[Column[Line]]:
    """The columns of a place; a row that is on its way has blank cells."""

    def of(kind: type[Row], words: Callable[[Row], Content | str]) -> Callable[[Line], Content | str]:
        return lambda line: words(line) if isinstance(line, kind) else ""

    def age(at: str) -> str:
        return relative_age(at, now)

    if place == "changes":
        return (
            Column("when", of(Action, lambda line: age(line.at)), width=8, look="muted"),
            Column("change", of(Action, summary_words), flex=True),
            Column("rows", of(Action, lambda line: count_text(line.count)), width=7, right=True, look="muted"),
            Column("", of(Action, state_words), width=state_cells, look="muted"),
            Column(
                "goes",
                of(Action, lambda line: gone_words(line.until, now)),
                7,
                right=True,
                hidden_below=90,
                look="faint",
            ),
        )
    if place == "deleted":
        after: Column[Line] = Column(
            "category", of(TrashRow, lambda line: line.row.entry().category), 12, look="muted", hidden_below=90
        )
        if every_store:
            after = Column("from", of(TrashRow, lambda line: store_words(line.store)), width=24, look="muted")
        return (
            Column("deleted", of(TrashRow, lambda line: age(line.deleted_at)), width=8, look="muted"),
            Column("key", of(TrashRow, lambda line: masked(line.row.entry().key)), width=20),
            Column("memory", of(TrashRow, lambda line: masked(line.row.entry().content[:_LOOKED_AT])), flex=True),
            after,
            Column(
                "size", of(TrashRow, lambda line: size_shown(line.size)), 7, right=True, hidden_below=90, look="muted"
            ),
            Column("goes", of(TrashRow, lambda line: gone_words(line.until, now)), width=7, right=True, look="faint"),
        )
    glyph = Column[Line](
        "", of(Version, lambda line: Content.styled(step_glyph(line), _LOOKS[step_glyph(line)])), width=1
    )
    if place == "memory":
        return (
            Column("when", of(Version, lambda line: age(line.at)), width=8, look="muted"),
            glyph,
            Column("what", of(Version, step_words), width=16),
            Column("changed", of(Version, lambda line: ", ".join(what_changed(line))), flex=True, look="muted"),
        )
    return (
        glyph,
        Column("what", of(Version, step_words), width=16, look="muted"),
        Column("memory", of(Version, row_words), flex=True),
        Column("changed", of(Version, lambda line: ", ".join(what_changed(line))), 20, hidden_below=100, look="muted"),
    )
