"""What a person changes, and what of it must be kept so that it can be taken back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from zeroclaw_tui.memory.entry import BUILT_IN_CATEGORIES, EDITABLE, Handle, MemoryEntry, column_text
from zeroclaw_tui.memory.errors import Refused, UsageError
from zeroclaw_tui.memory.text import one_line

Value = str | int | float | bytes | None
"""One value of a row. Text that is no UTF-8 in the store is here with surrogate escapes."""

MEMORIES, AGENTS, EMBEDDING_CACHE, FILE, AUDIT_LOG = "memories", "agents", "embedding_cache", "file", "memory_audit"
OTHER_ROW = "other_row"
"""What a stored row belongs to: the table of that name, a file beside the store, the log of audit.db beside it, or any
table of another database."""

SUPERSEDED_BY = "superseded_by"
"""What an edit may only take away (None): a superseded memory is then shown again. Where the store has any."""

_NOT_COMPARED = frozenset({"embedding", "line", "file_context", "expires_at"})
_CHANGES = "A memory has changed or was created again."


@dataclass(frozen=True, slots=True)
class StoredRow:
    """One row exactly as its store holds it: every column by name, also those that nobody here knows.

    `id` is its primary key. `handle` is where it lay (SQLite: rowid). `agent` is the owner's alias, where there is
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
        """SHA-256 in hex over all values but the vector and the place in a file.

        ZeroClaw may embed a row anew that is otherwise the same, and write before a line of a file.
        """
        compared = {name: _comparable(value) for name, value in self.values.items() if name not in _NOT_COMPARED}
        return hashlib.sha256(json.dumps(compared, sort_keys=True).encode()).hexdigest()

    @property
    def key(self) -> str:
        """Its key as text."""
        return column_text(self.values.get("key"))

    @property
    def size(self) -> int:
        """The bytes of its values."""
        return sum(_size(value) for value in self.values.values())

    @classmethod
    def of(cls, entry: MemoryEntry) -> StoredRow:
        """The row that a memory with its full content is, by the names of ZeroClaw's columns."""
        return cls(entry.id, entry.columns(), entry.handle, entry.agent)

    def entry(self) -> MemoryEntry:
        """The memory it is, with its full content."""
        return MemoryEntry.from_columns(self.id, self.values, handle=self.handle, agent=self.agent)


@dataclass(frozen=True, slots=True)
class RowChange:
    """One row before and after; None where it was not, or is no more. `number` is the trash's, once it is kept.

    `reverses` is the number of the kept change that this one takes back.
    """

    before: StoredRow | None
    after: StoredRow | None
    number: int | None = None
    reverses: int | None = None

    @property
    def row(self) -> StoredRow:
        """Whichever there is, the earlier one first."""
        row = self.before or self.after
        if row is None:
            raise ValueError("a change has a before or an after")
        return row


Keep = Callable[[Sequence[RowChange]], None]
"""Takes what is about to change, on the thread that changes it, and returns once it is safely on disk.

Whatever it raises stops the change before anything of it happened.
"""

Advance = Callable[[int], bool]
"""Told how many rows are done so far, on whichever thread works; False stops before the next batch."""

See = Callable[[StoredRow], None]
"""Shown one row; must not keep it."""

Batches = Callable[[], Iterator[Sequence[RowChange]]]
"""Kept changes, a few hundred at a time; may be iterated more than once, on any thread."""

Clash = Literal["refuse", "overwrite", "rename", "skip"]
"""What to do where a key exists again or a row changed since: nothing at all, replace it, put back beside it, or leave
just that one out."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """Which memory, in which state: a row is only removed while it still has the state that was shown.

    `state` is the backend's own text. The rest is what a plan counts; `size` is the content's length in bytes.
    """

    id: str
    state: str
    key: str = ""
    category: str = ""
    size: int = 0
    timestamp: str = ""
    updated_at: str = ""
    agent: str | None = None
    handle: Handle = ""
    dated: str | None = None

    @property
    def when(self) -> str:
        """What its age counts from, as a memory has it."""
        return self.timestamp if self.dated is None else self.dated


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
class NewVector:
    """A vector for the row of an id, made of the content whose row had this fingerprint."""

    id: str
    fingerprint: str
    vector: Vector


@dataclass(frozen=True, slots=True)
class FilledVectors:
    """How many rows took a vector, and the ids of those left alone because they changed or went meanwhile."""

    filled: int
    left: tuple[str, ...] = ()


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

    @property
    def named(self) -> dict[str, Value]:
        """What it says of the fields that every store may fill in by itself."""
        said = {"namespace": self.namespace, "importance": self.importance, "pinned": self.pinned}
        return {name: value for name, value in said.items() if value is not None}

    def checked(self) -> Draft:
        """The same with its category in ZeroClaw's spelling. Raises UsageError for what no memory can have."""
        values = checked_values(
            {"key": self.key, "content": self.content, "category": self.category, "importance": self.importance}
        )
        return Draft(
            self.key, self.content, str(values["category"]), self.session_id or None, self.namespace, self.importance,
            self.pinned, self.agent,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Edit:
    """New values for some of EDITABLE; None takes a session away, or SUPERSEDED_BY. What is not named stays."""

    values: Mapping[str, Value]

    def checked(self) -> Edit:
        """The same with its category in ZeroClaw's spelling. Raises UsageError for what no memory can have."""
        return Edit(checked_values(self.values))


def checked_values(values: Mapping[str, Value]) -> dict[str, Value]:
    """Values of a memory, its category as ZeroClaw spells it. Raises UsageError with one sentence."""
    if values.get(SUPERSEDED_BY) is not None:
        raise UsageError(
            "Only ZeroClaw can mark a memory as superseded.", hint="You can only restore a superseded one."
        )
    unknown = [name for name in values if name not in (*EDITABLE, SUPERSEDED_BY)]
    if unknown:
        raise UsageError(f"A memory has no {', '.join(unknown)} to set.", hint=f"It has {', '.join(EDITABLE)}.")
    checked = dict(values)
    if "key" in values and not column_text(values["key"]).strip():
        raise UsageError("A memory needs a key.", hint="Give a key that no other memory of this agent has.")
    if "content" in values and not column_text(values["content"]).strip():
        raise UsageError("A memory needs content.", hint="To remove the memory, delete it; it goes to the trash.")
    if "category" in values:
        checked["category"] = category_meant(column_text(values["category"]))
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


@dataclass(frozen=True, slots=True)
class Written:
    """What a store or an edit did to its row; `notes` are sentences for people."""

    change: RowChange
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Removal:
    """How a removal went: how many went, and the ids of those left because they changed, or already deleted.

    `notes` are sentences for people.
    """

    removed: int
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    cancelled: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reversal:
    """How taking back went, or would go. `renamed` maps an old key to the one it came back under; `notes` are
    sentences.

    `left` are the ids of rows that were not taken back since something is in their way. Of what was only looked at,
    `clashing` is how many something is in the way of, and `clashes` are the first of them.
    """

    reverted: int
    renamed: Mapping[str, str] = field(default_factory=dict)
    cancelled: bool = False
    notes: tuple[str, ...] = ()
    clashes: tuple[ClashFound, ...] = ()
    clashing: int = 0
    left: tuple[str, ...] = ()


class Conflict(Refused):
    """The row is no longer what was opened: `theirs` is what it is now."""

    title = "Changed meanwhile"

    def __init__(self, theirs: StoredRow) -> None:
        super().__init__("This memory has changed since you opened it.", hint="Compare both versions, then choose.")
        self.theirs = theirs


class DuplicateKey(Refused):
    """Another memory of the same agent has that key."""

    title = "Key taken"

    def __init__(self, key: str, existing: StoredRow) -> None:
        owner = f" of agent {existing.agent}" if existing.agent else ""
        super().__init__(
            f"There is already a memory{owner} with the key {key!r}.", hint="Choose another key, or edit that one."
        )
        self.existing = existing


class TriggersMissing(Refused):
    """The triggers that keep the keyword index are gone; `repair` puts them back."""

    title = "Repair first"

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(
            f"The keyword index cannot be updated: triggers missing ({', '.join(names)}).",
            hint="Run `zeroclaw memory doctor --repair all`.",
        )


@dataclass(frozen=True, slots=True)
class ClashFound:
    """One memory that cannot simply come back: what would, and what is in its place (None: it has gone)."""

    wanted: StoredRow
    present: StoredRow | None
    reason: Literal["key exists", "changed", "gone"]

    def as_json(self) -> dict[str, str | None]:
        """What would come back, why it cannot, and the id of what is in its place."""
        present = None if self.present is None else self.present.id
        return {"id": self.wanted.id, "key": self.wanted.key, "because": self.words, "present": present}

    @property
    def words(self) -> str:
        """The same in a sentence."""
        wanted, present = self.wanted.entry(), self.present
        named = f"{one_line(wanted.key)!r} (id {one_line(wanted.id)})"
        if self.reason == "gone":
            return f"{named} is gone."
        if self.reason == "key exists" and present is not None and present.id != wanted.id:
            return f"{named}: the key exists again (id {one_line(present.id)})."
        when = present.entry().updated_at if present is not None else None
        return f"{named} changed since{f', on {one_line(when)}' if when else ''}."


CLASHES_TOLD = 100
"""How many are named at most."""


class Clashes(Refused):
    """Taking back would overwrite what came since; nothing was done. `found` holds at most CLASHES_TOLD."""

    title = "Not taken back"

    def __init__(self, found: Sequence[ClashFound], total: int) -> None:
        self.found, self.total = tuple(found), total
        self.details = {"clashes": [clash.as_json() for clash in self.found]}
        super().__init__(
            " ".join(
                [found[0].words if found else _CHANGES, *([f"The same applies to {total - 1:,} more."] * (total > 1))]
            ),
            hint="Choose overwrite, keep both (rename), or skip. You can undo all of them.",
        )


def _comparable(value: Value) -> Any:
    return {"blob": value.hex()} if isinstance(value, bytes) else value


def _size(value: Value) -> int:
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode("utf-8", "surrogateescape"))
    return len(value) if isinstance(value, bytes) else 8
