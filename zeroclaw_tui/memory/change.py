"""Changes of rows, and their records in the journal, from which they can be undone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeAlias

from zeroclaw_tui.memory.entry import BUILT_IN_CATEGORIES, EDITABLE, Handle, MemoryEntry, as_text
from zeroclaw_tui.memory.errors import Refused, UsageError
from zeroclaw_tui.memory.text import one_line

Value = str | int | float | bytes | None
"""One value of a row. Text that is not UTF-8 in the store has surrogate escapes here."""

MEMORIES, AGENTS, EMBEDDING_CACHE = "memories", "agents", "embedding_cache"
FILE, NOTES_FILE, OTHER_ROW = "file", "notes_file", "other_row"
"""The table of a row. `FILE` is any file outside of the store, `NOTES_FILE` a file of a Markdown store, `OTHER_ROW` a
row of another database."""

SUPERSEDED_BY = "superseded_by"
"""A field that an edit can only clear (None), so that a superseded memory is current again."""

_NOT_COMPARED = frozenset({"embedding", "line", "file_context", "expires_at"})
_ENCODER = json.JSONEncoder(sort_keys=True, default=lambda blob: {"blob": blob.hex()})


# Row, RowChange and Change are not frozen: imports create many, and creating a frozen one takes four times as long.
@dataclass(slots=True)
class Row:
    """One row exactly as stored: every column by name, including columns unknown to this program.

    `id` is its primary key, `handle` its position in the store (SQLite: rowid), `agent` the owner's alias, if there is
    one. A memory's values have at least key and content; the other names are those of ZeroClaw's memories table, or the
    backend's own.
    """

    id: str
    values: Mapping[str, Value]
    handle: Handle | None = None
    agent: str | None = None
    table: str = MEMORIES

    @property
    def fingerprint(self) -> str:
        """SHA-256 in hex over all values except the vector and the position in a file.

        Both can change while the memory stays the same: ZeroClaw embeds a row again, or inserts lines above a line. The
        fingerprint of a file is that of its bytes, or the value "sha256" if the row has no bytes.
        """
        if self.table in (FILE, NOTES_FILE):
            data = self.values.get("bytes")
            return hashlib.sha256(data).hexdigest() if isinstance(data, bytes) else str(self.values.get("sha256"))
        compared = dict(self.values)
        for name in _NOT_COMPARED:
            compared.pop(name, None)
        return hashlib.sha256(_ENCODER.encode(compared).encode()).hexdigest()

    @property
    def key(self) -> str:
        """The key as text."""
        return as_text(self.values.get("key"))

    @property
    def size(self) -> int:
        """The size of its values in bytes."""
        return sum([len(one) if type(one) is str and one.isascii() else _size(one) for one in self.values.values()])

    @classmethod
    def from_entry(cls, entry: MemoryEntry) -> Row:
        """Make the row of a memory with its full content, with the names of ZeroClaw's columns."""
        return cls(entry.id, entry.columns(), entry.handle, entry.agent)

    def entry(self) -> MemoryEntry:
        """Make the memory of the row, with its full content."""
        handle = self.id if self.handle is None else self.handle
        return MemoryEntry.from_columns(self.id, self.values, handle=handle, agent=self.agent)


@dataclass(slots=True)
class RowChange:
    """One row before and after a change, None if there is no such row, as recorded in the journal.

    `number` is its number in the journal, `reverses` the number of the journaled change that it undoes or redoes;
    `replaces` means that the row had changed since. `after_state` is the stored fingerprint of a new row: then the
    journal saves only its id and key.
    """

    before: Row | None
    after: Row | None
    number: int | None = None
    reverses: int | None = None
    replaces: bool = False
    after_state: str | None = None

    @property
    def row(self) -> Row:
        """The row before the change, or else the one after it."""
        row = self.before or self.after
        if row is None:
            raise ValueError("a change has a before or an after")
        return row


class Journal(Protocol):
    """A durable record of rows before and after changes, for undo. Both methods block."""

    def record(self, changes: Sequence[RowChange]) -> None:
        """Save changes that are about to be written; returns when they are durable.

        An exception stops the batch before anything is written.
        """

    def withdraw(self) -> None:
        """Discard the changes of the last `record`, because none of them was written."""


ProgressCallback = Callable[[int], bool]
"""Called with the number of processed changes, on any thread; returns False to stop before the next batch."""

RowVisitor = Callable[[Row], None]
"""Called with one row, which it must not store: the contents of all rows may be larger than the memory."""

OnConflict = Literal["refuse", "skip", "overwrite", "rename"]
"""How `apply` handles a row that differs from the one its change expects: write nothing of the set, skip the row,
replace it, or write the new row with another key."""

RowVersion: TypeAlias = MemoryEntry
"""The version of a row: a memory with a `state`, without its content. A change is written only if the row still has
this state."""


@dataclass(frozen=True, slots=True)
class Vector:
    """The vector of a content, float32 little-endian, with its provider and model, the same in a whole store."""

    data: bytes = field(repr=False)
    provider: str
    model: str

    @property
    def dimensions(self) -> int:
        """The number of dimensions."""
        return len(self.data) // 4


@dataclass(frozen=True, slots=True)
class Draft:
    """A new memory. None means the store's default; `agent` None is the store's default agent."""

    key: str
    content: str
    category: str = "core"
    session_id: str | None = None
    namespace: str | None = None
    importance: float | None = None
    pinned: bool | None = None
    agent: str | None = None
    vector: Vector | None = None
    """The vector of its content, if the store does not compute it itself."""

    @property
    def explicit(self) -> dict[str, Value]:
        """The explicit values of the fields that have defaults in a store."""
        stated = {name: getattr(self, name) for name in ("namespace", "importance", "pinned")}
        return {name: value for name, value in stated.items() if value is not None}

    def entry(self, id: str) -> MemoryEntry:
        """Make the memory with an id, without times."""
        stated: dict[str, Any] = {name: getattr(self, name) for name in EDITABLE}
        return MemoryEntry(id=id, timestamp="", agent=self.agent, **stated)

    def checked(self) -> Draft:
        """Normalise the category. Raises UsageError for values that no memory can have."""
        values = _checked({name: getattr(self, name) for name in EDITABLE})
        return replace(self, category=str(values["category"]), session_id=self.session_id or None)


@dataclass(frozen=True, slots=True)
class Edit:
    """New values for some of EDITABLE; None clears a session or SUPERSEDED_BY. Other fields are unchanged.

    Without values only the vector is set, and the times are unchanged too.
    """

    values: Mapping[str, Value]
    vector: Vector | None = None
    """The vector of new content; without one the row's vector is dropped."""

    def checked(self) -> Edit:
        """Normalise the category. Raises UsageError for values that no memory can have."""
        return replace(self, values=_checked(self.values))


@dataclass(slots=True)
class Change:
    """One row to write.

    `before` is the version or the full row that the store must still have; None if there is no such row yet. `after`
    is the exact new row, or a Draft or an Edit that the store completes by ZeroClaw's rules; None deletes the row.
    `reverses` is the number of the journaled change that this one undoes.
    """

    before: RowVersion | Row | None
    after: Row | Draft | Edit | None
    reverses: int | None = None

    @property
    def target(self) -> RowVersion | Row | None:
        """The affected row, as far as known; None for a Draft without a row to replace."""
        if self.before is not None:
            return self.before
        return self.after if isinstance(self.after, Row) else None

    @property
    def table(self) -> str:
        """The table of the row."""
        row = self.before or self.after
        return row.table if isinstance(row, Row) else MEMORIES

    @property
    def size(self) -> int:
        """The approximate size of its values in bytes."""
        row = self.after if isinstance(self.after, Row) else self.before
        if isinstance(self.after, Draft):
            return len(self.after.content)
        return 0 if row is None else row.size


def inverse_changes(change: RowChange) -> list[Change]:
    """Make the changes that undo a journaled change; two if one row replaced another."""
    before, after = change.before, change.after
    if after is not None and change.after_state is not None:
        return [Change(after.entry().version(change.after_state), before, change.number)]
    if before is not None and after is not None and before.id != after.id:
        return [Change(after, None), Change(None, before, change.number)]
    return [Change(after, before, change.number)]


def _checked(values: Mapping[str, Value]) -> dict[str, Value]:
    """Check values of a memory, and normalise the category. Raises UsageError with one sentence."""
    if values.get(SUPERSEDED_BY) is not None or values.keys() - {*EDITABLE, SUPERSEDED_BY}:
        raise ValueError(f"an edit cannot set {', '.join(values)}")
    checked = dict(values)
    if "key" in values and not as_text(values["key"]).strip():
        raise UsageError("A memory needs a key.", hint="Give a key that no other memory of this agent has.")
    if "content" in values and not as_text(values["content"]).strip():
        raise UsageError("A memory needs content.", hint="Write a text, or delete the memory if you want to remove it.")
    if "category" in values:
        checked["category"] = normal_category(as_text(values["category"]))
    importance = values.get("importance")
    if importance is not None and not (isinstance(importance, int | float) and 0 <= importance <= 1):
        raise UsageError(f"Importance must be between 0 and 1, not {importance!r}.", hint="0.5 is usual.")
    return checked


def normal_category(typed: str) -> str:
    """Normalise a category: ZeroClaw's own in lower case, others stripped. Raises UsageError if it is empty."""
    category = typed.strip()
    if not category:
        raise UsageError("A memory needs a category.", hint=f"ZeroClaw's own are {', '.join(BUILT_IN_CATEGORIES)}.")
    return category.lower() if category.lower() in BUILT_IN_CATEGORIES else category


class EditConflict(Refused):
    """A memory has changed since it was opened; `current` is its row now."""

    title = "Changed in the meantime"

    def __init__(self, current: Row) -> None:
        message = "Another program changed this memory at the same time; nothing was changed."
        super().__init__(message, hint="Check it with `zeroclaw memory get`, then repeat the edit.")
        self.current = current


@dataclass(frozen=True, slots=True)
class RowConflict:
    """A row that differs from the one a change expects.

    `wanted` is the row to write, `existing` the current one; None if it was deleted.
    """

    wanted: Row
    existing: Row | None
    reason: Literal["key exists", "changed", "deleted"]

    def as_json(self) -> dict[str, str | None]:
        """The row to write, the reason why it cannot be written, and the id of the existing row."""
        existing = None if self.existing is None else self.existing.id
        return {"id": self.wanted.id, "key": self.wanted.key, "because": self.words, "present": existing}

    @property
    def words(self) -> str:
        """The conflict as a sentence."""
        wanted, existing = self.wanted, self.existing
        name = one_line(wanted.id)
        named = f"{one_line(wanted.key)!r} (id {name})" if wanted.table == MEMORIES else name
        if self.reason == "deleted":
            return f"{named} no longer exists."
        if self.reason == "key exists" and existing is not None and existing.id != wanted.id:
            return f"{named}: the key exists again (id {one_line(existing.id)})."
        when = existing.entry().updated_at if existing is not None else None
        return f"{named} changed since{f', on {one_line(when)}' if when else ''}."


MAX_CONFLICTS = 100
"""The maximum number of conflicts in a result."""


@dataclass(slots=True)
class ApplyResult:
    """The result of `apply`, or of a dry run.

    `written` counts the changed rows. `already` has the ids of rows that needed no change, `skipped` those of rows that
    were skipped because of a conflict. `conflict_count` counts all conflicting rows, including overwritten and renamed
    ones; `conflicts` are the first MAX_CONFLICTS of them. `rows` are the first new rows as stored, in the order of the
    changes. `renamed` maps a key to the one that was used instead. `notes` are sentences for users.
    """

    written: int = 0
    already: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    conflicts: list[RowConflict] = field(default_factory=list)
    conflict_count: int = 0
    rows: list[Row] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    cancelled: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def done(self) -> int:
        """The number of rows that are now as wanted."""
        return self.written + len(self.already)

    def add(self, other: ApplyResult) -> None:
        """Add the result of further changes."""
        self.written += other.written
        self.already += other.already
        self.skipped += other.skipped
        self.conflicts += other.conflicts[: MAX_CONFLICTS - len(self.conflicts)]
        self.conflict_count += other.conflict_count
        self.rows += other.rows[: MAX_CONFLICTS - len(self.rows)]
        self.renamed |= other.renamed
        self.note(*other.notes)

    def add_conflict(self, conflict: RowConflict, *, skipped: str | None = None) -> None:
        """Add a row that differs from the expected one; `skipped` is the id of a row that is skipped because of it."""
        self.conflicts.append(conflict)
        self.conflict_count += 1
        self.skipped += [] if skipped is None else [skipped]

    def note(self, *sentences: str) -> None:
        """Add sentences to the notes, without duplicates."""
        self.notes += [sentence for sentence in dict.fromkeys(sentences) if sentence not in self.notes]

    def refused(self) -> ApplyResult:
        """Reduce it to the conflicts, because nothing is written."""
        return ApplyResult(skipped=self.skipped, conflicts=self.conflicts, conflict_count=self.conflict_count)


class UndoConflicts(Refused):
    """Rows have changed since, so nothing was undone or restored; `found` has at most MAX_CONFLICTS."""

    title = "Not undone"

    def __init__(self, found: Sequence[RowConflict], total: int) -> None:
        self.found, self.total = tuple(found), total
        self.details = {"clashes": [conflict.as_json() for conflict in self.found]}
        more = f" The same applies to {total - 1:,} more." if total > 1 else ""
        hint = "Choose overwrite, keep both (rename), or skip. You can undo all of them."
        super().__init__(f"{found[0].words}{more}", hint=hint)


def _size(value: Value) -> int:
    data = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
    return len(data) if isinstance(data, bytes) else 8
