"""Memories as they lie in Redis: one JSON document each under the key `memory:<key>`, as serde writes a MemoryEntry.

{"id", "key", "content", "category", "timestamp", "score"}, the category "Core", "Daily", "Conversation" or
{"Custom": name}. Fields beyond these are another program's and stay as they are. A document is put in place of another
in one step, only while that is what was read.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.redis.connect import Connection
from zeroclaw_tui.backends.revert import Operation, Rows, kept
from zeroclaw_tui.memory.change import Conflict, Draft, DuplicateKey, RowChange, Stamp, StoredRow, Value
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import BUILT_IN_CATEGORIES, MemoryEntry
from zeroclaw_tui.memory.errors import NotFound, Refused

if TYPE_CHECKING:
    from redis.asyncio import Redis


WHY_NOT = {
    "vectors": "The memories in Redis have no vectors: recall finds what contains the query.",
    "sessions": "The memories in Redis keep no session.",
    "agents": "The memories in Redis belong to no agent.",
    "namespaces": "The memories in Redis keep no namespace.",
    "superseded": "The memories in Redis are replaced in place, so none is superseded.",
    "pinned": "The memories in Redis cannot be pinned.",
    "importance": "The memories in Redis keep no importance.",
    "kind": "The memories in Redis keep no kind.",
    "session_id": "The memories in Redis keep no session.",
    "namespace": "The memories in Redis keep no namespace.",
}
PREFIX = b"memory:"
EXPIRES_AT = "expires_at"
"""The value of a row that tells when Redis removes it, in milliseconds since 1970; no part of its state."""

_CATEGORIES = {name.capitalize(): name for name in BUILT_IN_CATEGORIES}
_TEXTS = ("id", "key", "content", "timestamp")
_FIELDS = {"content": "content", "key": "key"}


@dataclass(frozen=True, slots=True)
class Held:
    """A memory and the text of its document. `says_another_key` where the document has not the key it lies under."""

    entry: MemoryEntry
    document: str
    says_another_key: bool = False

    def row(self, expires_at: int | None = None) -> StoredRow:
        """The row it is."""
        entry = self.entry
        values: dict[str, Value] = {
            "id": entry.id,
            "key": entry.key,
            "content": entry.content,
            "category": entry.category,
            "created_at": entry.timestamp,
            "document": self.document,
        }
        if expires_at is not None:
            values[EXPIRES_AT] = expires_at
        return StoredRow(entry.id, values, entry.key)


def name_of(key: str) -> bytes:
    """The name of a memory's key in Redis. Raises Refused for text that is no UTF-8."""
    try:
        return PREFIX + key.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise _no_text("key") from None


def key_of(name: bytes) -> str:
    """The memory's key that a name stands for."""
    return name.removeprefix(PREFIX).decode("utf-8", "surrogateescape")


def held(name: bytes, data: bytes) -> Held | None:
    """The memory in a value; None when it is none."""
    try:
        document = data.decode("utf-8")
        fields = _READ(document)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict) or not (fields.get("score") is None or _is_number(fields["score"])):
        return None
    for field in _TEXTS:
        text = fields.get(field)
        if not isinstance(text, str) or not (text.isascii() or "\\u" not in document or _is_text(text)):
            return None
    category = _category(fields.get("category"))
    return None if category is None else _held(key_of(name), fields, category, document)


def new_row(key: str, content: str, category: str, timestamp: str) -> StoredRow:
    """A memory of its own, as the document's own store writes it. Raises Refused."""
    fields = {
        "id": str(uuid.uuid4()), "key": key, "content": content, "category": _as_stored(category),
        "timestamp": timestamp, "score": None,
    }  # fmt: skip
    return _row(key, fields, None)


def native(row: StoredRow) -> StoredRow:
    """A row of any store as a document here; one that has its document stays as it is. Raises Refused."""
    if "document" in row.values:
        return row
    entry = row.entry()
    fields = {
        "id": row.id, "key": entry.key, "content": entry.content, "category": _as_stored(entry.category),
        "timestamp": entry.timestamp, "score": None,
    }  # fmt: skip
    return _row(entry.key, fields, None)


def changed_row(row: StoredRow, values: Mapping[str, Value], *, new_id: bool = False) -> StoredRow:
    """A row with other values; what its document has beside them stays. Raises Refused."""
    try:
        fields: dict[str, Any] = json.loads(str(row.values["document"]), object_pairs_hook=_without_doubles)
    except ValueError:
        raise Refused(
            "Its document has a name twice, and only one of the two could be written back.", hint="Nothing was changed."
        ) from None
    for name, value in values.items():
        if name == "category":
            fields["category"] = _as_stored(str(value))
        elif name in _FIELDS:
            fields[name] = str(value)
    if new_id:
        fields["id"] = str(uuid.uuid4())
    expires_at = row.values.get(EXPIRES_AT)
    key = str(values.get("key", row.values["key"]))
    return _row(key, fields, expires_at if isinstance(expires_at, int) else None)


def other_fields(row: StoredRow) -> list[str]:
    """The names in a row's document that are none of a memory's, and the score where there is one."""
    fields = _READ(str(row.values["document"]))
    known = (*_TEXTS, "category", *(("score",) if fields.get("score") is None else ()))
    return [name for name in fields if name not in known]


def document_of(row: StoredRow) -> bytes:
    """The very bytes of a row's document."""
    return str(row.values["document"]).encode("utf-8", "surrogatepass")


def _row(key: str, fields: Mapping[str, Any], expires_at: int | None) -> StoredRow:
    try:
        document = json.dumps(fields, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        document.encode("utf-8")
    except UnicodeEncodeError:
        raise _no_text("content") from None
    except ValueError:
        raise Refused("Its document has a number that cannot be written back.", hint="Nothing was changed.") from None
    category = _category(fields["category"]) or ""
    return _held(key, fields, category, document).row(expires_at)


def _held(key: str, fields: Mapping[str, Any], category: str, document: str) -> Held:
    content = fields["content"]
    size = len(content) if content.isascii() else len(content.encode("utf-8", "surrogatepass"))
    entry = MemoryEntry(fields["id"], key, content, category, fields["timestamp"], handle=key, size=size)
    return Held(entry, document, fields["key"] != key)


def _category(stored: object) -> str | None:
    if isinstance(stored, str):
        return _CATEGORIES.get(stored)
    if isinstance(stored, dict) and list(stored) == ["Custom"] and isinstance(stored["Custom"], str):
        return str(stored["Custom"])
    return None


def _as_stored(category: str) -> str | dict[str, str]:
    return category.capitalize() if category in BUILT_IN_CATEGORIES else {"Custom": category}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_text(text: str) -> bool:
    """An escaped half of a surrogate pair is none; the agent's own reader refuses such a document."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The values by name. Raises ValueError where a name comes twice."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a name comes twice")
    return fields


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no JSON")


def _no_text(what: str) -> Refused:
    return Refused(f"The {what} is not UTF-8, and a JSON document holds nothing else.", hint="Replace what shows as �.")


_READ = json.JSONDecoder(parse_constant=_no_number).decode
"""Reads a document; made once, since making it takes as long as reading one."""


NAMES_AT_ONCE = 500
_PARSED_ON_A_THREAD = 400_000
_WRITTEN = len("2026-03-01T10:00:00.123456789+01:00")
PATTERN = PREFIX + b"*"
State = tuple[Any, ...]


@dataclass(frozen=True)
class Everything:
    """The memories in the order of storing; `foreign` are the names of values that are none."""

    memories: tuple[Held, ...] = ()
    foreign: tuple[bytes, ...] = ()
    state: State | None = None

    @cached_property
    def by_key(self) -> dict[str, Held]:
        """By the key they lie under."""
        return {memory.entry.key: memory for memory in self.memories}

    @cached_property
    def keys_of_ids(self) -> dict[str, list[str]]:
        """The keys under which each id lies; a value that was copied has the id of the first."""
        found: dict[str, list[str]] = {}
        for memory in self.memories:
            found.setdefault(memory.entry.id, []).append(memory.entry.key)
        return found

    @cached_property
    def size(self) -> int:
        """How many characters the documents have."""
        return sum(len(memory.document) for memory in self.memories)

    def key_of(self, id: str) -> str | None:
        """The key of an id. Raises Refused where several memories have it."""
        keys = self.keys_of_ids.get(id, [])
        if len(keys) > 1:
            raise Refused(f"{len(keys)} memories have the id {id[:60]}, so it names none.", hint="Remove the copies.")
        return keys[0] if keys else None


def order_of_storing(entry: MemoryEntry) -> tuple[Any, ...]:
    """By time, then by key; what is no time comes first."""
    when = _moment(entry.timestamp)
    # Nine digits are written and six are compared as a time: the text decides between the rest.
    return (when is not None, when or 0, entry.timestamp, entry.key)


def _moment(timestamp: str) -> datetime | None:
    """As `moment`, in half the time for what ZeroClaw writes: nine digits of fraction and an offset."""
    if len(timestamp) == _WRITTEN and timestamp[19] == "." and timestamp[26:29].isdigit():
        try:
            when = datetime.fromisoformat(timestamp[:26] + timestamp[29:])
        except ValueError:
            return None
        if when.tzinfo is not None:
            return when
    return moment(timestamp)


async def read_everything(connection: Connection, state: State | None) -> Everything:
    """Read every memory, some hundreds at a time; what comes or goes meanwhile may be in it or not."""
    names = await connection.names(PATTERN)
    memories: list[Held] = []
    foreign: list[bytes] = []
    for start in range(0, len(names), NAMES_AT_ONCE):
        some = names[start : start + NAMES_AT_ONCE]
        values = await connection.values(some)
        if sum(len(value) for value in values if value) > _PARSED_ON_A_THREAD:
            parsed = await asyncio.to_thread(_parsed, some, values)
        else:
            parsed = _parsed(some, values)
        for name, memory in zip(some, parsed, strict=True):
            if memory is not None:
                memories.append(memory)
            else:
                foreign.append(name)
    ordered = await asyncio.to_thread(sorted, memories, key=lambda memory: order_of_storing(memory.entry))
    return Everything(tuple(ordered), tuple(await _still_there(connection, foreign)), state)


async def state_of(connection: Connection) -> State | None:
    """What changes with every write to a server; None where one does not tell."""
    facts = await connection.facts()
    if "rdb_changes_since_last_save" not in facts:
        return None
    names = ("run_id", "rdb_changes_since_last_save", "rdb_last_save_time", "expired_keys", "evicted_keys")
    counts = [(name, fact.get("keys")) for name, fact in facts.items() if isinstance(fact, dict) and name[:2] == "db"]
    return (*(facts.get(name) for name in names), *sorted(counts))


async def _still_there(connection: Connection, names: Sequence[bytes]) -> list[bytes]:
    """Those that a look says are there; others went between the scan and the reading."""
    return [name for name, is_there in zip(names, await connection.each("EXISTS", names), strict=True) if is_there]


def _parsed(names: Sequence[bytes], values: Sequence[bytes | None]) -> list[Held | None]:
    return [None if value is None else held(name, value) for name, value in zip(names, values, strict=True)]


TRIES = 20
"""So often a step is begun anew that somebody else's write came into."""
_GONE = "This memory no longer exists."


@dataclass(frozen=True, slots=True)
class Found:
    """What lies under a name: a memory, or a value that is none, and when Redis removes it (milliseconds of 1970)."""

    memory: Held | None
    expires_at: int | None = None

    def row(self) -> StoredRow | None:
        """The row of a memory."""
        return None if self.memory is None else self.memory.row(self.expires_at)


async def look(connection: Connection, names: Sequence[bytes]) -> dict[bytes, Found]:
    """What lies under these names; those with nothing are left out."""
    if not names:
        return {}
    values = await _texts(names, connection.values, connection.each)
    found: dict[bytes, Found] = {}
    for (name, value), left in zip(values.items(), await connection.each("PTTL", list(values)), strict=True):
        memory = None if value is None else held(name, value)
        found[name] = Found(memory, _now() + left if left > 0 else None)
    return found


async def swap(
    connection: Connection, operations: Sequence[Operation], before: Callable[[], Any] | None = None
) -> None:
    """Do all of these in order and at once, or none.

    `before` is awaited when all is as expected. Raises Conflict or NotFound for a row that is not what it was,
    DuplicateKey for a key that another memory has, Refused for one that holds something else.
    """
    if not operations:
        return
    with connection.asking() as server:
        await _swap_at_once(server, operations, before)


async def _swap_at_once(
    server: Redis, operations: Sequence[Operation], before: Callable[[], Any] | None = None
) -> None:
    from redis.exceptions import WatchError

    names = _names(operations)
    for _ in range(TRIES):
        pipeline: Any
        async with server.pipeline(transaction=True) as pipeline:
            await pipeline.watch(*names)
            _check(operations, await watched_texts(pipeline, names))
            if before is not None:
                await before()
                before = None
            pipeline.multi()
            for operation in operations:
                append(pipeline, operation.over, operation.wanted)
            try:
                await pipeline.execute()
            except WatchError:
                continue
            return
    raise being_written()


def _names(operations: Iterable[Operation]) -> list[bytes]:
    return sorted(
        {
            name_of(str(row.values["key"]))
            for operation in operations
            for row in (operation.over, operation.wanted)
            if row
        }
    )


async def watched_texts(pipeline: Any, names: Sequence[bytes]) -> dict[bytes, bytes | None]:
    """The values under these names, None for a value that is no text; those with nothing are left out."""

    async def each(command: str, asked: Sequence[bytes]) -> list[Any]:
        return [await pipeline.execute_command(command, name) for name in asked]

    return await _texts(names, pipeline.mget, each)


async def _texts(
    names: Sequence[bytes],
    values: Callable[[Sequence[bytes]], Awaitable[Sequence[bytes | None]]],
    each: Callable[[str, Sequence[bytes]], Awaitable[Sequence[Any]]],
) -> dict[bytes, bytes | None]:
    found = dict(zip(names, await values(names), strict=True))
    silent = [name for name, value in found.items() if value is None]
    answers = await each("EXISTS", silent) if silent else ()
    there = [name for name, is_there in zip(silent, answers, strict=True) if is_there]
    # What came between the two questions is a text after all.
    found |= dict(zip(there, await values(there), strict=True)) if there else {}
    return {name: value for name, value in found.items() if value is not None or name in there}


def _check(operations: Iterable[Operation], present: Mapping[bytes, bytes | None]) -> None:
    now = dict(present)
    for operation in operations:
        over, wanted = operation.over, operation.wanted
        if over is not None:
            name = name_of(str(over.values["key"]))
            if name not in now:
                raise NotFound(_GONE, hint="Press r to reload the list.")
            if now[name] != document_of(over):
                raise Conflict(row_of(name, now[name]))
            del now[name]
        if wanted is not None:
            name = name_of(str(wanted.values["key"]))
            if name in now:
                raise DuplicateKey(str(wanted.values["key"]), row_of(name, now[name]))
            now[name] = document_of(wanted)


def row_of(name: bytes, value: bytes | None) -> StoredRow:
    """The row of a value. Raises Refused for one that is no memory."""
    memory = None if value is None else held(name, value)
    if memory is None:
        raise not_a_memory(name)
    return memory.row()


def being_written() -> Refused:
    """The error for memories that somebody else writes again and again."""
    return Refused("Another program keeps writing these memories.", hint="Try again when the agent is idle.")


def not_a_memory(name: bytes) -> Refused:
    """The error for a key that holds something else."""
    key = name.removeprefix(PREFIX).decode("utf-8", "replace")[:60]
    return Refused(f"Under memory:{key} lies a value that is no memory, and it is left alone.", hint="Choose another.")


def append(pipeline: Any, over: StoredRow | None, wanted: StoredRow | None) -> None:
    """Put an operation into a transaction; what lies under the same name as before expires as before."""
    stays = over is not None and wanted is not None and wanted.values["key"] == over.values["key"]
    if over is not None and not stays:
        pipeline.delete(name_of(str(over.values["key"])))
    if wanted is None:
        return
    name = name_of(str(wanted.values["key"]))
    pipeline.set(name, document_of(wanted), keepttl=stays)
    expires_at = wanted.values.get(EXPIRES_AT)
    if not stays and isinstance(expires_at, int) and expires_at > _now():
        pipeline.pexpireat(name, expires_at)


def _now() -> int:
    return time.time_ns() // 1_000_000


_NO_END = "What was to expire in Redis meanwhile is back without an end."


class RedisRows(Rows):
    """The rows of one verb: where each id lies is looked up once, what lies there anew for every step.

    `place` tells the key of an id as it was some time ago; `fresh` reads everything anew, which takes long, and is only
    asked where an id does not lie where it was. A client's clock and the server's need not agree: times to live are
    counted from the moment they are read.
    """

    def __init__(
        self,
        connection: Connection,
        place: Callable[[str], str | None],
        fresh: Callable[[], Awaitable[Everything]],
        clock: Callable[[], str],
    ) -> None:
        super().__init__()
        self._connection = connection
        self._place = place
        self._fresh: Callable[[], Awaitable[Everything]] | None = fresh
        self._in_trash: set[str] = set()
        self._clock = clock
        self._moved: dict[str, str] = {}
        self._seen: dict[bytes, Found | None] = {}

    async def of_ids(self, ids: Iterable[str]) -> dict[str, StoredRow]:
        """The rows of these ids, as they are now."""
        wanted = list(ids)
        found = await self._where_they_were(wanted)
        if len(found) < len(wanted) and await self._read_anew():
            found = await self._where_they_were(wanted)
        return found

    async def of_stamps(self, stamps: Sequence[Stamp]) -> Sequence[StoredRow | None]:
        """Their rows; a handle is the key that its id lay under, unless several memories have that id."""
        places = {stamp.id: str(stamp.handle) for stamp in stamps}
        if len(places) == len(stamps):
            self._moved = places | self._moved
        return await super().of_stamps(stamps)

    async def of_key(self, key: str, owner: str | None = None) -> StoredRow | None:
        """The row of that key. Raises Refused where something else lies there."""
        name = name_of(key)
        if name not in self._seen:
            self._seen[name] = (await look(self._connection, [name])).get(name)
        found = self._seen[name]
        if found is None:
            return None
        row = found.row()
        if row is None:
            raise not_a_memory(name)
        return row

    def identity(self, row: StoredRow) -> str:
        """Its id."""
        return row.id

    async def present(self, row: StoredRow) -> StoredRow | None:
        """The row of its id, under the key it has or another."""
        with suppress(Refused):
            there = await self.of_key(str(row.values["key"]))
            if there is not None and there.id == row.id:
                return there
        await self._read_anew()
        key = self._key_of(row.id)
        there = None if key is None else await self.of_key(key)
        return there if there is not None and there.id == row.id else None

    def same(self, one: StoredRow, other: StoredRow) -> bool:
        """Whether the documents are the same, and the keys they lie under."""
        return native(one).fingerprint == native(other).fingerprint

    def drafted(self, draft: Draft, existing: StoredRow | None, owner: str | None) -> StoredRow:
        """With a new id and the time it is now, or those of the row it replaces."""
        self.remarks |= {} if draft.session_id is None else {WHY_NOT["session_id"]: None}
        self.remarks |= {WHY_NOT[name]: None for name in draft.named}
        self.remarks |= {} if draft.agent is None else {WHY_NOT["agents"]: None}
        return drafted(draft, existing, self._clock)

    def edited(self, row: StoredRow, values: Mapping[str, Value]) -> StoredRow:
        """With other values. Raises Refused for what its document cannot hold."""
        for name, value in values.items():
            if name in WHY_NOT and value is not None:
                raise Refused(WHY_NOT[name])
        return changed_row(row, values)

    def returned(self, row: StoredRow, over: StoredRow | None, owner: str | None, *, apart: bool) -> StoredRow:
        """Its very document; with another id where its own belongs to another row, under the key it now has."""
        row = _under_its_key(native(row))
        return changed_row(row, {}, new_id=True) if apart else row

    async def expect(self, changes: Sequence[RowChange]) -> None:
        """Look at all that these changes concern."""
        rows = [row for change in changes for row in (change.before, change.after) if row is not None]
        keys = {str(row.values["key"]) for row in rows} | {key for row in rows if (key := self._key_of(row.id))}
        names = [name_of(key) for key in keys]
        found = await look(self._connection, names)
        self._seen = {name: found.get(name) for name in names}

    async def drop(self, row: StoredRow) -> bool:
        """Remove a row that still is what was read; False when it had gone."""
        try:
            await self.carry_out([Operation(row, None)])
        except NotFound:
            return False
        return True

    async def write(self, operations: Sequence[Operation]) -> Sequence[RowChange]:
        """Rows that only go and were written since they were looked at are left out of what was done."""
        if not operations or any(one.wanted is not None or one.reverses is not None for one in operations):
            return await super().write(operations)

        async def keep_them() -> None:
            new = [one.change for one in operations if one.change.row.id not in self._in_trash]
            await kept(self.keep, new)
            self._in_trash |= {change.row.id for change in new}

        done: Sequence[Operation] = ()
        with suppress(Conflict, NotFound):
            await swap(self._connection, operations, keep_them)
            done = operations
        self._seen = {}
        return [one.change for one in done]

    async def upsert(self, drafts: Sequence[Draft]) -> bool:
        """In one step."""
        await store_all(self._connection, drafts, self._clock)
        return True

    async def carry_out(self, operations: Sequence[Operation]) -> Sequence[RowChange]:
        """All at once, where each row still is what was read. Raises Conflict, NotFound, DuplicateKey."""
        await swap(self._connection, operations)
        self._seen = {}
        for row in (operation.wanted for operation in operations):
            if row is not None:
                self._moved[row.id] = row.key
                end = row.values.get(EXPIRES_AT)
                if isinstance(end, int) and end < _now():
                    self.remarks[_NO_END] = None
        return [operation.change for operation in operations]

    async def _where_they_were(self, ids: Iterable[str]) -> dict[str, StoredRow]:
        keys = {id: key for id in ids if (key := self._key_of(id)) is not None}  # noqa: A001
        found = await look(self._connection, [name_of(key) for key in keys.values()])
        rows = {id: found[name_of(key)].row() for id, key in keys.items() if name_of(key) in found}  # noqa: A001
        return {id: row for id, row in rows.items() if row is not None and row.id == id}  # noqa: A001

    async def _read_anew(self) -> bool:
        """Once; False when that was done."""
        fresh, self._fresh = self._fresh, None
        if fresh is not None:
            self._place = (await fresh()).key_of
        return fresh is not None

    def _key_of(self, id: str) -> str | None:
        return self._moved.get(id) or self._place(id)


def drafted(draft: Draft, existing: StoredRow | None, clock: Callable[[], str]) -> StoredRow:
    """The row a draft becomes, new or in place of another."""
    if existing is None:
        return new_row(draft.key, draft.content, draft.category, clock())
    return changed_row(existing, {"content": draft.content, "category": draft.category})


async def store_all(connection: Connection, drafts: Sequence[Draft], clock: Callable[[], str]) -> None:
    """Store drafts in one step; the last of a key wins. Raises Refused before any is written."""
    wanted = {name_of(draft.key): draft for draft in drafts}
    if wanted:
        with connection.asking() as server:
            await _store_at_once(server, wanted, clock)


async def _store_at_once(server: Redis, wanted: Mapping[bytes, Draft], clock: Callable[[], str]) -> None:
    from redis.exceptions import WatchError

    names = list(wanted)
    for _ in range(TRIES):
        pipeline: Any
        async with server.pipeline(transaction=True) as pipeline:
            await pipeline.watch(*names)
            present = await watched_texts(pipeline, names) if await pipeline.exists(*names) else {}
            pipeline.multi()
            for name, draft in wanted.items():
                existing = row_of(name, present[name]) if name in present else None
                append(pipeline, existing, drafted(draft, existing, clock))
            with suppress(WatchError):
                await pipeline.execute()
                return
    raise being_written()


def _under_its_key(row: StoredRow) -> StoredRow:
    """With the key it goes to in its document too, where taking back gave it another than it had."""
    key = row.values["key"]
    return row if row.handle == key else changed_row(row, {"key": key})
