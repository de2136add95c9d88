"""Memories in Redis, in the layout of the tutorial for custom backends; ZeroClaw itself has no such backend.

Each memory is one JSON document under `memory:<key>`, as serde writes a MemoryEntry: {"id", "key", "content",
"category", "timestamp", "score"}, the category "Core", "Daily", "Conversation" or {"Custom": name}. Other fields of a
document belong to other programs and are preserved. All documents are loaded at once, and again after any write. A
write succeeds only if no document has changed since it was read (WATCH, MULTI, EXEC).
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from redis import exceptions
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from zeroclaw_tui.backends.about import About, Notice, why_not_field
from zeroclaw_tui.backends.base import ReloadedMemory, Scored, T
from zeroclaw_tui.backends.fallback import ignored_parts
from zeroclaw_tui.backends.loaded import Loaded, sort_key_by_time
from zeroclaw_tui.backends.tables import local_now
from zeroclaw_tui.backends.writing import OwnedKey, RowWriter, Work, WriteConflict
from zeroclaw_tui.memory.change import Draft, Edit, Row, RowChange, RowVersion, Value
from zeroclaw_tui.memory.entry import BUILT_IN_CATEGORIES, MemoryEntry, as_text
from zeroclaw_tui.memory.errors import ASKED_READ_ONLY, NotReachable, Refused, UsageError
from zeroclaw_tui.memory.query import ENTRIES, NEWEST_STORED, MemoryFilter, Query
from zeroclaw_tui.memory.recall import ScoredEntry
from zeroclaw_tui.memory.text import cut, one_line, unicode_text
from zeroclaw_tui.scoring.evidence import OwnEvidence, StoreRecall, depth_of, own_evidence
from zeroclaw_tui.scoring.profiles import OwnRule

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.config.memory_config import MemoryConfig
    from zeroclaw_tui.scoring.profiles import Trial

WHY_NOT = {
    "vectors": "The memories in Redis have no vectors: recall finds what contains the query.",
    "sessions": "The memories in Redis have no session.",
    "agents": "The memories in Redis belong to no agent.",
    "namespaces": "The memories in Redis have no namespace.",
    "superseded": "The memories in Redis are replaced in place, so none is superseded.",
    "pinned": "The memories in Redis cannot be pinned.",
    "importance": "The memories in Redis have no importance.",
    "kind": "The memories in Redis have no kind.",
}
ANSWER_SECONDS = 10.0
"""The timeout of one command."""
CONNECT_SECONDS = 5.0
"""The timeout of connecting."""
_PREFIX = b"memory:"
_MAX_ANSWER_LENGTH = 200
_TEXTS = ("id", "key", "content", "timestamp")
_COLUMNS = {"key": "key", "content": "content", "category": "category", "timestamp": "created_at"}
"""Fields of a document, and the columns of a row for them."""
_CATEGORIES = {name.capitalize(): name for name in BUILT_IN_CATEGORIES}
_STATE = ("run_id", "rdb_changes_since_last_save", "rdb_last_save_time", "expired_keys", "evicted_keys")
"""The fields of INFO that change when any program writes or a memory expires."""
_URL = "redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], rediss:// with TLS, or unix:///PATH?db=DATABASE"


@dataclass(frozen=True, slots=True)
class Document(MemoryEntry):
    """A memory with the text of its document."""

    text: str = ""

    def columns(self) -> dict[str, Any]:
        return {
            "id": self.id, "key": self.key, "content": self.content, "category": self.category,
            "created_at": self.timestamp, "document": self.text,
        }  # fmt: skip


def parse_document(key: str, data: bytes) -> Document | None:
    """Parse the memory in a value; None if the value is not a memory."""
    try:
        text = data.decode()
        fields = _DECODER.decode(text)
        id, _, content, timestamp = texts = [fields[name] for name in _TEXTS]  # noqa: A001
        stored = fields["category"]
        category = _CATEGORIES[stored] if isinstance(stored, str) else stored["Custom"]
        # Fails for values that are not texts, and for unpaired surrogates, which ZeroClaw cannot read either.
        "".join([*texts, category]).encode()
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return Document(id, key, content, category, timestamp, handle=key, text=text)


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def with_values(row: Row | None, **values: Value) -> Row:
    """Change values of a row, or make a new row; other fields of its document are preserved. Raises Refused."""
    try:
        fields = {} if row is None else _DECODER.decode(str(row.values["document"]))
        fields |= values
        if (category := values.get("category")) is not None:
            fields["category"] = str(category).capitalize() if category in BUILT_IN_CATEGORIES else {"Custom": category}
        data = json.dumps(fields, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except ValueError:
        raise Refused(
            "Redis holds memories as JSON in UTF-8, and this one cannot be written like that.",
            hint="Nothing was changed. Replace what shows as �, or a number that is too large.",
        ) from None
    return _row_of(str(values.get("key", fields["key"] if row is None else row.key)), data)


def _row_of(key: str, data: bytes) -> Row:
    """The row of a document. Raises Refused if it is not a memory."""
    document = parse_document(key, data)
    if document is None:
        raise _not_a_memory(key)
    return Row.from_entry(document)


def _not_a_memory(key: str) -> Refused:
    return Refused(
        f"The value under {'memory:' + key[:60]!r} is not a memory, and it stays as it is.", hint="Choose another key."
    )


def _as_document(row: Row) -> Row:
    """Convert a row of any store to a document; an existing document is changed where it differs from the values."""
    values: dict[str, Value] = {"id": row.id}
    for name, column in _COLUMNS.items():
        values[name] = unicode_text(as_text(row.values.get(column)))
    if "document" not in row.values:
        return with_values(None, **values, score=None)
    stated = _row_of(row.key, _data(row))
    is_same = stated.id == row.id and all(stated.values[column] == values[name] for name, column in _COLUMNS.items())
    return stated if is_same else with_values(row, **values)


def _name_of(key: str) -> bytes:
    """The Redis key of a memory's key. Raises Refused."""
    try:
        return _PREFIX + key.encode()
    except UnicodeEncodeError:
        raise Refused("A key in Redis must be UTF-8.", hint="Replace what shows as �.") from None


def _data(row: Row) -> bytes:
    return str(row.values["document"]).encode()


def _parse_url(url: str) -> dict[str, Any]:
    """Parse the connection options. Raises UsageError, which never shows the URL."""
    with suppress(ValueError):
        options: dict[str, Any] = dict(parse_url(url.strip()))
        parts = urlsplit(url.strip())
        is_complete = bool(options.get("path", "").strip("/") if parts.scheme == "unix" else options.get("host"))
        has_database = "db" in options or parts.scheme == "unix" or not parts.path.strip("/")
        if is_complete and has_database and parse_qs(parts.query).keys() <= {"db", "password"}:
            return {"host": "", "port": 6379, "db": 0} | options
    raise UsageError("The Redis URL cannot be used.", hint=f"Write it as {_URL}.")


class RedisMemory(ReloadedMemory[Loaded]):
    """The memories of one server. Writes are atomic."""

    name = "redis"
    about = About(
        rule=OwnRule("substring", takes_vector=False, has_one_namespace=True),
        keeps_deleted="Redis keeps deleted keys in its append-only file until BGREWRITEAOF, in its dump until BGSAVE, "
        "and in replicas and backups, which this program cannot read.",
    )

    def __init__(self, url: str, *, read_only: bool = False, clock: Callable[[], str] = local_now) -> None:
        self._options = options = _parse_url(url)
        if path := options.get("path"):
            self._server, location = path, f"unix://{path}?db={options['db']}"
        else:
            host = f"[{options['host']}]" if ":" in options["host"] else options["host"]
            self._server = f"{host}:{options['port']}"
            location = f"{urlsplit(url.strip()).scheme}://{self._server}/{options['db']}"
        self.about = self.about._replace(location=location)
        self._clock = clock
        self._client: Redis | None = None
        self.why_not = {**WHY_NOT, "write": ASKED_READ_ONLY} if read_only else WHY_NOT

    @classmethod
    def from_config(cls, config: MemoryConfig) -> RedisMemory:
        url = config.location or config.storage.get("url") or config.storage.get("db_url")
        if not url or not isinstance(url, str):
            raise UsageError(
                "No Redis server given.",
                hint=f"--location takes its URL, or [storage.redis.default] url in config.toml: {_URL}.",
            )
        return cls(url, read_only=config.read_only)

    async def open(self) -> None:
        await self.close()
        options = self._options.copy()
        if "path" in options:
            del options["host"], options["port"]
        pool = BlockingConnectionPool(
            **options, max_connections=8, timeout=60, socket_timeout=ANSWER_SECONDS, protocol=2,
            # A request without an answer may have been carried out, so a write is never repeated.
            retry=Retry(NoBackoff(), 0),
        )  # fmt: skip
        self._client = Redis.from_pool(pool)
        try:
            with self._asking() as client:
                async with asyncio.timeout(CONNECT_SECONDS):
                    info = await client.info()
            if info.get("redis_mode", "standalone") != "standalone" or "rdb_changes_since_last_save" not in info:
                raise Refused(
                    f"{self._server} is part of a cluster or does not count changes, so it cannot be used.",
                    hint="Name a single Redis server.",
                )
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        client, self._client, self._contents = self._client, None, None
        if client is not None:
            await client.aclose()

    @contextmanager
    def _asking(self) -> Iterator[Any]:
        """Yield the client, and raise driver errors as NotReachable or Refused, without the URL."""
        if self._client is None:
            raise NotReachable(f"Redis at {self._server} is not connected.", hint="Try again when it is back.")
        try:
            yield self._client
        except (exceptions.TimeoutError, TimeoutError):
            raise NotReachable(
                f"Redis at {self._server} does not answer in time.", hint="Check if the server is busy."
            ) from None
        except (exceptions.ResponseError, exceptions.AuthenticationError, exceptions.BusyLoadingError) as error:
            is_of_writing = isinstance(error, exceptions.ReadOnlyError | exceptions.OutOfMemoryError)
            kind = Refused if is_of_writing else NotReachable
            # In a transaction the driver prepends the command, with the memory in it.
            answer = str(error).rpartition(" caused error: ")[2].strip("()'\",. ")
            answer = cut(one_line(answer), _MAX_ANSWER_LENGTH)
            raise kind(f"Redis at {self._server} refuses: {answer}.", hint="Check URL, user and server.") from None
        except (exceptions.RedisError, OSError):
            raise NotReachable(
                f"Redis at {self._server} cannot be reached.",
                hint="Start Redis, or check host, port and scheme of the URL.",
            ) from None

    async def _state(self) -> object:
        with self._asking() as client:
            info = await client.info()
            return tuple(info.get(name) for name in _STATE)

    async def _load(self) -> Loaded:
        values: list[bytes | None] = []
        with self._asking() as client:
            found = client.scan_iter(_PREFIX + b"*", count=1000, _type="string")
            names: list[bytes] = sorted({name async for name in found})
            for start in range(0, len(names), 500):
                values += await client.mget(names[start : start + 500])
        entries, findings = await asyncio.to_thread(_read, names, values)
        self.about = self.about._replace(notices=tuple(Notice(sentence, is_minor=True) for sentence in findings))
        return Loaded(tuple(entries), sort_key=sort_key_by_time)

    async def recall(
        self, query: str, limit: int, session_id: str | None = None, since: str | None = None, until: str | None = None
    ) -> Scored:
        """Find the newest memories that contain the query, ignoring case; the session is ignored."""
        in_window = MemoryFilter(newer_than=since, older_than=until)
        ordered = await self.rows(Query(ENTRIES, in_window, NEWEST_STORED))
        wanted = query.lower()
        found = await asyncio.to_thread(lambda: [entry for entry in ordered if wanted in entry.content.lower()])
        return [ScoredEntry(entry, rank, None, stage=self.name) for rank, entry in enumerate(found[:limit], 1)]

    async def search(self, trial: Trial, vector: np.ndarray | None = None, *, deep: bool = False) -> OwnEvidence:
        """Recall in the same way for every profile: no ZeroClaw version has a rule for Redis."""
        request = trial.request
        is_other = request.namespace not in (None, "default")
        depth = depth_of(request, deep=deep)
        entries = [] if is_other else await self.recall(request.query, depth, None, request.since, request.until)
        found = StoreRecall(tuple(entries), self.name, "found or not", tuple(ignored_parts(request, WHY_NOT)))
        return own_evidence(trial, found, depth)

    async def _with_writer(self, work: Work[T], *, permanently: bool = False) -> T:
        with self._asking():
            return await super()._with_writer(work)

    def _writer(self) -> RowWriter:
        return RedisWriter(self, self._client, self._clock)


def _read(names: Sequence[bytes], values: Sequence[bytes | None]) -> tuple[list[Document], list[str]]:
    """Parse the memories, with a sentence about values that are not memories."""
    by_id: dict[str, Document] = {}
    others: list[str] = []
    for name, data in zip(names, values, strict=True):
        key = name.removeprefix(_PREFIX).decode(errors="replace")
        # A value that is None was deleted after its name was read.
        if data is None:
            continue
        document = parse_document(key, data) if key.encode() == name.removeprefix(_PREFIX) else None
        if document is None or by_id.setdefault(document.id, document) is not document:
            others.append(key)
    if not others:
        return list(by_id.values()), []
    shown = ", ".join(repr(key[:40]) for key in others[:5]) + (", …" if len(others) > 5 else "")
    return list(by_id.values()), [
        f"Values under memory:* that are not memories, or have the id of another one: {len(others)} ({shown}). They "
        "are not shown and stay as they are."
    ]


class RedisWriter(RowWriter):
    """Writes documents; rows are identified by their id."""

    why_not = WHY_NOT

    def __init__(self, memory: RedisMemory, client: Any, clock: Callable[[], str]) -> None:
        super().__init__()
        self._memory, self._client, self._clock = memory, client, clock
        self._keys: dict[str, str] | None = None

    async def read(self, rows: Sequence[RowVersion | Row], keys: Collection[OwnedKey]) -> Iterable[Row]:
        """Read the rows. Raises Refused if the value of one of the keys is not a memory."""
        found = await self._at({*(row.key for row in rows), *(key for _, key in keys)})
        missing = {row.id for row in rows} - {row.id for row in found}
        if missing:
            if self._keys is None:
                # Load only once: our own writes during a long command would cause a reload each time.
                self._keys = {entry.id: entry.key for entry in (await self._memory._loaded()).entries}
            others = await self._at({self._keys[one] for one in missing if one in self._keys})
            found += [row for row in others if row.id in missing]
        return found

    def same(self, one: Row, other: Row) -> bool:
        return _as_document(one).fingerprint == _as_document(other).fingerprint

    def new_row(self, draft: Draft, existing: Row | None, owner: str | None) -> Row:
        ignored = [*draft.explicit, *(name for name in ("session_id", "agent") if getattr(draft, name))]
        self.notes |= {sentence: None for name in ignored if (sentence := why_not_field(WHY_NOT, name))}
        if existing is not None:
            return with_values(existing, content=draft.content, category=draft.category)
        return with_values(
            None, id=str(uuid.uuid4()), key=draft.key, content=draft.content, category=draft.category,
            timestamp=self._clock(), score=None,
        )  # fmt: skip

    def edited_row(self, row: Row, edit: Edit) -> Row:
        return with_values(row, **edit.values)

    def restored_row(self, row: Row, existing: Row | None, owner: str | None, *, new_id: bool) -> Row:
        """Restore the row's exact document, with a new key or id only if undo assigns one."""
        row = _as_document(row)
        if row.handle != row.values["key"]:
            row = with_values(row, key=row.values["key"])
        return with_values(row, id=str(uuid.uuid4())) if new_id else row

    async def write(self, changes: Sequence[RowChange]) -> Mapping[str, Row]:
        """Write all changes if no document has changed since it was read and each new key is unused."""
        old = {one.before.key: one.before for one in changes if one.before is not None}
        new = {one.after.key: one.after for one in changes if one.after is not None}
        async with self._client.pipeline(transaction=True) as pipeline:
            await pipeline.watch(*map(_name_of, old.keys() | new.keys()))
            present = await _values(pipeline, old.keys() | new.keys())
            if any(data != (_data(old[key]) if key in old else None) for key, data in present.items()):
                raise WriteConflict
            pipeline.multi()
            for key in old.keys() - new.keys():
                pipeline.delete(_name_of(key))
            for key, row in new.items():
                # A document that keeps its key keeps its expiry time.
                pipeline.set(_name_of(key), _data(row), keepttl=key in old)
            try:
                await pipeline.execute()
            except exceptions.WatchError as error:
                raise WriteConflict from error
        if self._keys is not None:
            self._keys |= {row.id: key for key, row in new.items()}
        return {}

    async def _at(self, keys: Collection[str]) -> list[Row]:
        """Read the rows with these keys."""
        values = await _values(self._client, keys)
        return [_row_of(key, data) for key, data in values.items() if data is not None]


async def _values(client: Any, keys: Iterable[str]) -> dict[str, bytes | None]:
    """Read the values of these keys, None if missing. Raises Refused for a value that is not a string."""
    names = {key: _name_of(key) for key in keys}
    values = dict(zip(names, await client.mget([*names.values()]) if names else (), strict=True))
    missing = [key for key, data in values.items() if data is None]
    if missing and await client.exists(*(names[key] for key in missing)):
        for key in missing:
            if await client.type(names[key]) not in (b"none", b"string"):
                raise _not_a_memory(key)
    return values
