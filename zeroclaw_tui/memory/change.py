"""Changes of rows, and what the journal records of them so that they can be undone."""

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
"""One value of a row. Text that is no UTF-8 in the store is here with surrogate escapes."""

MEMORIES, AGENTS, EMBEDDING_CACHE = "memories", "agents", "embedding_cache"
FILE, NOTES_FILE, OTHER_ROW = "file", "notes_file", "other_row"
"""The table that a row belongs to. `FILE` is any file outside of the store, `NOTES_FILE` a file of a Markdown store,
`OTHER_ROW` a row of another database."""

SUPERSEDED_BY = "superseded_by"
"""A field that an edit can only clear (None), so that a superseded memory is current again."""

_NOT_COMPARED = frozenset({"embedding", "line", "file_context", "expires_at"})
_ENCODER = json.JSONEncoder(sort_keys=True, default=lambda blob: {"blob": blob.hex()})


# An import makes ten of Row, RowChange and Change for each memory; frozen, each would take four times as long.
@dataclass(slots=True)
class Row:
    """One row exactly as its store has it: every column by name, also columns that this program does not know.

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

        Both can change while the memory stays the same: ZeroClaw embeds a row again, or writes above a line. The
        fingerprint of a file is that of its bytes, or the value "sha256" where the row has no bytes.
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
        """Its key as text."""
        return as_text(self.values.get("key"))

    @property
    def size(self) -> int:
        """The bytes of its values."""
        return sum([len(one) if type(one) is str and one.isascii() else _size(one) for one in self.values.values()])

    @classmethod
    def of(cls, entry: MemoryEntry) -> Row:
        """The row that a memory with its full content is, by the names of ZeroClaw's columns."""
        return cls(entry.id, entry.columns(), entry.handle, entry.agent)

    def entry(self) -> MemoryEntry:
        """The memory it is, with its full content."""
        handle = self.id if self.handle is None else self.handle
        return MemoryEntry.from_columns(self.id, self.values, handle=handle, agent=self.agent)


@dataclass(slots=True)
class RowChange:
    """One row before and after a change, None where there is no such row, as the journal records it.

    `number` is its number in the journal, `reverses` the number of the journaled change that it undoes or does again;
    `replaces` says that the row was another one by then. `after_state` is the fingerprint of a new row as the store has
    it: then the journal saves only its id and key.
    """

    before: Row | None
    after: Row | None
    number: int | None = None
    reverses: int | None = None
    replaces: bool = False
    after_state: str | None = None

    @property
    def row(self) -> Row:
        """Whichever there is, the earlier one first."""
        row = self.before or self.after
        if row is None:
            raise ValueError("a change has a before or an after")
        return row


class Journal(Protocol):
    """A durable record of rows before and after they change, so that a change can be undone. Both verbs block."""

    def record(self, changes: Sequence[RowChange]) -> None:
        """Save changes that are about to be written; returns once they are safe on disk.

        What it raises stops the batch before anything of it is written.
        """

    def withdraw(self) -> None:
        """Discard what the last `record` saved, because none of it was written."""


ProgressCallback = Callable[[int], bool]
"""Called with the number of changes done so far, on whichever thread works; returns False to stop before the next
batch."""

See = Callable[[Row], None]
"""Called with one row; must not keep it."""

OnConflict = Literal["refuse", "skip", "overwrite", "rename"]
"""What `apply` does with a row that is not as its change expects it: write nothing of the set, leave the row out,
replace it, or write the new row under another key."""

RowVersion: TypeAlias = MemoryEntry
"""The version of a row: a memory with a `state`, and without its content. A change is written only if the row still has
this state."""


@dataclass(frozen=True, slots=True)
class Vector:
    """A content's vector, float32 little-endian, and what made it: a store's vectors all come from one model."""

    data: bytes = field(repr=False)
    provider: str
    model: str

    @property
    def dimensions(self) -> int:
        """How many numbers."""
        return len(self.data) // 4


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory to be. What is None is left to the store's default; `agent` None is the store's default agent."""

    key: str
    content: str
    category: str = "core"
    session_id: str | None = None
    namespace: str | None = None
    importance: float | None = None
    pinned: bool | None = None
    agent: str | None = None
    vector: Vector | None = None
    """The vector of its content, where the store does not make it itself."""

    @property
    def named(self) -> dict[str, Value]:
        """What it says of the fields that every store may fill in by itself."""
        stated = {name: getattr(self, name) for name in ("namespace", "importance", "pinned")}
        return {name: value for name, value in stated.items() if value is not None}

    def entry(self, id: str) -> MemoryEntry:
        """The memory it becomes under an id, without times."""
        stated: dict[str, Any] = {name: getattr(self, name) for name in EDITABLE}
        return MemoryEntry(id=id, timestamp="", agent=self.agent, **stated)

    def checked(self) -> Draft:
        """The same with its category in ZeroClaw's spelling. Raises UsageError for what no memory can have."""
        values = _checked({name: getattr(self, name) for name in EDITABLE})
        return replace(self, category=str(values["category"]), session_id=self.session_id or None)


@dataclass(frozen=True, slots=True)
class Edit:
    """New values for some of EDITABLE; None takes a session away, or SUPERSEDED_BY. What is not named stays.

    Without values the row gets the vector alone, and its times stay too.
    """

    values: Mapping[str, Value]
    vector: Vector | None = None
    """The vector of new content; without one the row loses its own."""

    def checked(self) -> Edit:
        """The same with its category in ZeroClaw's spelling. Raises UsageError for what no memory can have."""
        return replace(self, values=_checked(self.values))


@dataclass(slots=True)
class Change:
    """One row to write.

    `before` is what the store must still have: the version or the whole row; None if there is no such row yet.
    `after` is the row exactly as it shall be, or a Draft or an Edit that the store completes by ZeroClaw's rules; None
    deletes the row. `reverses` is the number of the journaled change that this one undoes.
    """

    before: RowVersion | Row | None
    after: Row | Draft | Edit | None
    reverses: int | None = None

    @property
    def target(self) -> RowVersion | Row | None:
        """The row it is about, as far as it is known; None for a Draft without a row to replace."""
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
        """About how many bytes of values it has."""
        row = self.after if isinstance(self.after, Row) else self.before
        if isinstance(self.after, Draft):
            return len(self.after.content)
        return 0 if row is None else row.size


def undoing(change: RowChange) -> list[Change]:
    """What undoes a journaled change; two changes where one row took the place of another."""
    before, after = change.before, change.after
    if after is not None and change.after_state is not None:
        return [Change(after.entry().version(change.after_state), before, change.number)]
    if before is not None and after is not None and before.id != after.id:
        return [Change(after, None), Change(None, before, change.number)]
    return [Change(after, before, change.number)]


def _checked(values: Mapping[str, Value]) -> dict[str, Value]:
    """Values of a memory, its category as ZeroClaw spells it. Raises UsageError with one sentence."""
    if values.get(SUPERSEDED_BY) is not None or values.keys() - {*EDITABLE, SUPERSEDED_BY}:
        raise ValueError(f"an edit cannot set {', '.join(values)}")
    checked = dict(values)
    if "key" in values and not as_text(values["key"]).strip():
        raise UsageError("A memory needs a key.", hint="Give a key that no other memory of this agent has.")
    if "content" in values and not as_text(values["content"]).strip():
        raise UsageError("A memory needs content.", hint="Write a text, or delete the memory if you want to remove it.")
    if "category" in values:
        checked["category"] = category_meant(as_text(values["category"]))
    importance = values.get("importance")
    if importance is not None and not (isinstance(importance, int | float) and 0 <= importance <= 1):
        raise UsageError(f"Importance must be between 0 and 1, not {importance!r}.", hint="0.5 is usual.")
    return checked


def category_meant(typed: str) -> str:
    """ZeroClaw's own categories in lower case, others as typed, without blanks around. Raises UsageError when empty."""
    category = typed.strip()
    if not category:
        raise UsageError("A memory needs a category.", hint=f"ZeroClaw's own are {', '.join(BUILT_IN_CATEGORIES)}.")
    return category.lower() if category.lower() in BUILT_IN_CATEGORIES else category


class Conflict(Refused):
    """The row is no longer what was opened: `theirs` is what it is now."""

    title = "Changed in the meantime"

    def __init__(self, theirs: Row) -> None:
        message = "Another program changed this memory at the same time; nothing was changed."
        super().__init__(message, hint="Check it with `zeroclaw memory get`, then repeat the edit.")
        self.theirs = theirs


@dataclass(frozen=True, slots=True)
class RowConflict:
    """A row that is not as a change expects it.

    `wanted` is the row as it would be, `existing` the one in its place; None if it was deleted.
    """

    wanted: Row
    existing: Row | None
    reason: Literal["key exists", "changed", "deleted"]

    def as_json(self) -> dict[str, str | None]:
        """The row that would be written, why it cannot, and the id of the row in its place."""
        existing = None if self.existing is None else self.existing.id
        return {"id": self.wanted.id, "key": self.wanted.key, "because": self.words, "present": existing}

    @property
    def words(self) -> str:
        """The same in a sentence."""
        wanted, existing = self.wanted, self.existing
        name = one_line(wanted.id)
        named = f"{one_line(wanted.key)!r} (id {name})" if wanted.table == MEMORIES else name
        if self.reason == "deleted":
            return f"{named} no longer exists."
        if self.reason == "key exists" and existing is not None and existing.id != wanted.id:
            return f"{named}: the key exists again (id {one_line(existing.id)})."
        when = existing.entry().updated_at if existing is not None else None
        return f"{named} changed since{f', on {one_line(when)}' if when else ''}."


CONFLICTS_LISTED = 100
"""How many conflicts a result lists at most."""


@dataclass(slots=True)
class ApplyResult:
    """What `apply` did, or would do.

    `written` counts the rows that changed. `already` has the ids of rows that were as wanted before, `skipped` those of
    rows that were left out because of a conflict. `conflict_count` counts all rows that were not as expected, those
    that were overwritten or renamed too; `conflicts` are the first CONFLICTS_LISTED of them.
    `rows` are the first new rows as the store has them, in the order of the changes. `renamed` maps a key to the one
    that was used instead. `notes` are sentences for people.
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
        """How many rows are as wanted now."""
        return self.written + len(self.already)

    def add(self, other: ApplyResult) -> None:
        """Add what further changes came to."""
        self.written += other.written
        self.already += other.already
        self.skipped += other.skipped
        self.conflicts += other.conflicts[: CONFLICTS_LISTED - len(self.conflicts)]
        self.conflict_count += other.conflict_count
        self.rows += other.rows[: CONFLICTS_LISTED - len(self.rows)]
        self.renamed |= other.renamed
        self.note(*other.notes)

    def add_conflict(self, conflict: RowConflict, *, skipped: str | None = None) -> None:
        """Add a row that is not as it was expected; `skipped` is the id of one that is left out for it."""
        self.conflicts.append(conflict)
        self.conflict_count += 1
        self.skipped += [] if skipped is None else [skipped]

    def note(self, *sentences: str) -> None:
        """Add sentences that are not among the notes."""
        self.notes += [sentence for sentence in dict.fromkeys(sentences) if sentence not in self.notes]

    def refused(self) -> ApplyResult:
        """What is left of it where nothing is written."""
        return ApplyResult(skipped=self.skipped, conflicts=self.conflicts, conflict_count=self.conflict_count)


class Conflicts(Refused):
    """Rows are not as the changes expect them; nothing was written. `found` has at most CONFLICTS_LISTED."""

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
