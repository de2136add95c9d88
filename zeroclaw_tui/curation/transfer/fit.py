"""What a store keeps of a memory that comes from elsewhere, and how two such memories are told to be the same."""

from __future__ import annotations

import hashlib
import re
import struct
import uuid
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.factory import backend_info
from zeroclaw_tui.config.locations import CORE_NAME
from zeroclaw_tui.config.memory_config import MemoryConfig, agent_folders
from zeroclaw_tui.curation.formats.jsonl import Identity
from zeroclaw_tui.memory.change import Row, Value
from zeroclaw_tui.memory.days import date_of_note, moment
from zeroclaw_tui.memory.entry import MemoryEntry, uuid_for
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.text import WHITE_SPACE, first_names, is_unicode, one_line
from zeroclaw_tui.scoring.injection import zeroclaw_moment

RESTORED = " (restored"
"""What stands behind the key of a memory that was put beside another one."""

DEFAULT_AGENT = "default"
CORE, DAILY = "core", "daily"
CARRIED = {
    "session_id": "sessions",
    "namespace": "namespaces",
    "importance": "importance",
    "pinned": "pinned",
    "superseded_by": "superseded",
    "kind": "kind",
}
"""The fields a store may lack, each with its name in `why_not`."""
TIMES = ("created_at", "updated_at")
VECTOR = "embedding"
ALWAYS = ("key", "content", "category")
KNOWN = frozenset({"id", *ALWAYS, *CARRIED, *TIMES, VECTOR, "agent_id"})
"""The names of which something is known; others are columns of other programs."""

_EVERYTHING_SAID = -1
_DIGEST = 16
_BYTES_EACH = 4
_UNKNOWN_CHARACTER = "\ufffd"
_CORE_STEM = Path(CORE_NAME).stem
_UNDATED_STEM = "undated"
"""The file in memory/ of what has no day."""
_KEYED = re.compile(r"\*\*(.+?)\*\*:(?:[ ](.*))?\Z", re.DOTALL)
_LINE_BREAKS = re.compile(r"\r\n|[\r\n]")


@dataclass(frozen=True, slots=True)
class KnownVectors:
    """What a store says of its vectors: `identity` as ZeroClaw >= 0.8.3 notes it, `dimensions` those of most."""

    identity: Identity | None = None
    dimensions: int | None = None

    def fits(self, vector: Value, theirs: Identity | None) -> bool:
        """Whether a vector that `theirs` made fits among them; what neither side knows does not stand in the way."""
        if not isinstance(vector, bytes) or not vector or len(vector) % _BYTES_EACH:
            return False
        if self.dimensions is not None and len(vector) != _BYTES_EACH * self.dimensions:
            return False
        return theirs is None or self.identity is None or theirs == self.identity


async def identity_of(memory: Memory) -> Identity | None:
    """What made a store's vectors; None where it does not say."""
    return known_vectors((await memory.health()).facts).identity if "vectors" not in memory.why_not else None


def known_vectors(facts: Mapping[str, Any]) -> KnownVectors:
    """What a store says of its vectors, by the facts of its health."""
    noted: Mapping[str, Any] = facts.get("embedding identity") or {}
    parts = [noted.get(f"embedding_{name}") for name in ("provider", "model", "dimensions")]
    identity = None
    if all(isinstance(part, str) for part in parts) and str(parts[2]).isdecimal():
        identity = Identity(str(parts[0]), str(parts[1]), int(str(parts[2])))
    lengths: Mapping[str, int] = facts.get("embedded by dimensions") or {}
    most = max(lengths, key=lambda length: lengths[length], default=None)
    if identity is not None:
        return KnownVectors(identity, identity.dimensions)
    return KnownVectors(None, None if most is None else int(most))


@dataclass(frozen=True, slots=True)
class Origin:
    """What is known of what gives: the store (None: a file), its columns (None: no rows), what made its vectors.

    The rows of a file need not all say the same: what one does not say is not compared, and an overwrite leaves it.
    """

    memory: Memory | None = None
    columns: frozenset[str] | None = None
    vectors: KnownVectors = field(default_factory=KnownVectors)
    outdated: frozenset[str] = field(default=frozenset(), repr=False)
    """The ids of lines of notes whose key another line has further on."""
    is_foreign: bool = False
    """Whether a file is one of another tool."""
    compares_times: bool = True
    """Whether a memory with other times is another one; a snapshot of ZeroClaw has them from an earlier store."""
    owner: str | None = None
    """The agent that all of it shall belong to, whatever it says itself."""

    @property
    def is_file(self) -> bool:
        """Whether it is a file, or a folder of files, and no store."""
        return self.memory is None

    @property
    def is_notes(self) -> bool:
        """Whether it keeps plain lines, with neither keys, ids nor times of their own."""
        return self.memory is not None and self.memory.keeps_lines

    def is_line(self, row: Row) -> bool:
        """Whether a row is a line of notes, with its place as its handle: "<file stem>:<number>"."""
        return self.is_notes or (self.memory is None and isinstance(row.handle, str))

    def read(self, row: Row) -> Row:
        """A row of it with everything that it says of the memory."""
        return read_line(row) if self.is_notes else row

    def is_outdated(self, row: Row) -> bool:
        """Whether another line says the same key later: ZeroClaw appends to notes what it stores anew."""
        return row.id in self.outdated


@dataclass(frozen=True, slots=True)
class IdentityMarks:
    """Marks of memories of the store that make one that comes the same: `all`, each on any of them; or else `part`,
    where none has `key`."""

    all: Collection[bytes]
    key: bytes | None = None
    part: bytes | None = None


class Fit(ABC):
    """What one store keeps of the memories of one origin.

    A state is a digest of 16 bytes for each part that is compared, one behind the other, that of the key first.
    """

    memory: Memory
    origin: Origin
    has_keys: bool
    """Whether a key belongs to one memory there."""
    renews_ids = False
    """Whether a memory gets another id where its own is taken."""

    @abstractmethod
    def fitted(self, row: Row) -> Row:
        """The row as the store shall have it."""

    @abstractmethod
    def place(self, row: Row, key: str | None = None) -> bytes:
        """What no two memories of the store have in common; with another key the place it would have under that."""

    @abstractmethod
    def state(self, row: Row) -> bytes:
        """Of what the store keeps of a row, its id and its vector left out."""

    def said(self, row: Row) -> int:
        """Which parts of its state a row of the origin itself says, as a mask from the lowest bit on."""
        return _EVERYTHING_SAID

    def agree(self, one: bytes, other: bytes, said: int, *, but_key: bool = False) -> bool:
        """Whether two states are equal in all parts that are said."""
        start = int(but_key)
        if one[_DIGEST * start :] == other[_DIGEST * start :]:
            return True
        if said == _EVERYTHING_SAID:
            return False
        places = range(start, len(one) // _DIGEST)
        return all(
            one[_DIGEST * at : _DIGEST * (at + 1)] == other[_DIGEST * at : _DIGEST * (at + 1)]
            for at in places
            if said >> at & 1
        )

    def is_other(self, one: bytes, other: bytes, said: int) -> bool:
        """Whether states of one key are of two memories, and not of one that was changed."""
        return False

    def whole(self, row: Row) -> bytes:
        """A digest of id and vector, where both are kept; empty where neither is."""
        return b""

    def marks(self, row: Row) -> Collection[bytes]:
        """Digests by which a memory of the store is found besides its place."""
        return ()

    def sought(self, row: Row, said: int) -> IdentityMarks | None:
        """Which marks make a row that comes the same."""
        return None

    def refuses(self, row: Row) -> str | None:
        """Why the store cannot take a row at all, in a sentence without its count; None where it can."""
        return None

    def over(self, fitted: Row, row: Row, there: tuple[str, Value, Value]) -> Row:
        """A row without an id as it takes the place of the store's memory of its key: id and times are in `there`."""
        return fitted


@dataclass(frozen=True)
class RowFit(Fit):
    """A store of rows. `columns` is None where it has none to tell; `agents` are the aliases it knows."""

    memory: Memory
    origin: Origin
    columns: frozenset[str] | None
    agents: frozenset[str]
    vectors: KnownVectors
    now: str
    has_keys = True

    @cached_property
    def keeps_rows(self) -> bool:
        """Whether ids and times come through; through the trait's own verbs they do not."""
        return self.memory.keeps_rows

    @cached_property
    def has_agents(self) -> bool:
        """Whether memories belong to agents there."""
        return "agents" not in self.memory.why_not

    @cached_property
    def has_vectors(self) -> bool:
        """Whether vectors can be kept."""
        has_column = not self.columns or VECTOR in self.columns
        return has_column and "vectors" not in self.memory.why_not

    def keeps(self, name: str) -> bool:
        """Whether a field of a row is kept."""
        if name in ALWAYS:
            return True
        if name in TIMES:
            return self.keeps_rows and (name == "created_at" or self._has_updates)
        if name in CARRIED:
            return CARRIED[name] not in self.memory.why_not
        if name == VECTOR:
            return self.has_vectors
        return name not in KNOWN and self._keeps_other(name)

    def _keeps_other(self, name: str) -> bool:
        """Of a column nobody here knows. A store without rows to tell takes what a store of its own kind has."""
        if self.columns is not None:
            return name in self.columns
        if self.origin.is_file:
            return self.keeps_rows
        return type(self.origin.memory) is type(self.memory) and name in (self.origin.columns or ())

    @property
    def _has_updates(self) -> bool:
        """Whether a row has the time of its last change besides that of its first storing."""
        return self.memory.keeps_updates and (self.columns is None or "updated_at" in self.columns)

    def takes_vector(self, vector: Value) -> bool:
        """Whether a vector fits among those of the store; one that embeds key and content makes its own of others'."""
        theirs = self.origin.vectors.identity
        if self.memory.about.embeds_itself and type(self.origin.memory) is not type(self.memory):
            return False
        return self.has_vectors and self.vectors.fits(vector, theirs)

    def owner(self, agent: str | None) -> str | None:
        """Whose memory it will be there; None where there are no agents, or a file leaves a choice of several.

        It is the agent that was named for all. Else a store that is copied brings its agents along, and a file's
        memories go to an agent that is there.
        """
        if not self.has_agents or self.origin.owner is not None:
            return self.origin.owner
        return self._usual_owner(agent)

    def _usual_owner(self, agent: str | None) -> str | None:
        if agent is not None and (agent in self.agents or not self.origin.is_file):
            return agent
        if DEFAULT_AGENT in self.agents or not self.agents:
            return DEFAULT_AGENT
        if len(self.agents) == 1:
            return next(iter(self.agents))
        return agent if self.origin.is_file else DEFAULT_AGENT

    def text(self, value: Value) -> Value:
        """A text as the store can hold it."""
        if self.memory.keeps_bytes or value is None:
            return value
        text = value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
        if not isinstance(text, str):
            return text
        if self.memory.keeps_texts or not self.keeps_rows:
            return text
        if not is_unicode(text):
            text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        return text if self.memory.keeps_nul else text.replace("\0", _UNKNOWN_CHARACTER)

    def fitted(self, row: Row) -> Row:
        """With its own id where there is one, without what the store has no place for.

        Raises Refused for a memory of a file that does not say which of several agents it belongs to.
        """
        values = {name: self.text(value) for name, value in row.values.items() if self.keeps(name) and name != VECTOR}
        for name in ALWAYS:
            values.setdefault(name, "")
        if not values["category"]:
            values["category"] = CORE
        if self.keeps_rows:
            self._fit_times(values)
        if values.get("pinned", 0) is None:
            del values["pinned"]
        owner = self.owner(row.agent)
        if owner is None and self.has_agents:
            raise Refused(
                f"This store belongs to the agents {one_line(', '.join(sorted(self.agents)))}, and the file does not"
                " name the agent of its memories.",
                hint="Give each memory of the file an agent, or name one agent for all with --agent.",
            )
        wanted = row.id or id_made(replace(row, agent=owner), self.memory.about.location)
        if self.memory.ids_are_uuids:
            wanted = uuid_for(wanted)
        vector = row.values.get(VECTOR)
        if self.has_vectors:
            values[VECTOR] = vector if self.takes_vector(vector) else None
        handle = row.handle if self.origin.is_file and isinstance(row.handle, int) else None
        return Row(wanted, {"id": wanted, **values}, handle, owner)

    def _fit_times(self, values: dict[str, Value]) -> None:
        if values.get("created_at") is None:
            values["created_at"] = self.now
        if self._has_updates and values.get("updated_at") is None:
            values["updated_at"] = values["created_at"]
        if not self.memory.keeps_texts:
            for name in values.keys() & set(TIMES):
                values[name] = _to_microseconds(values[name]) or self.now

    def over(self, fitted: Row, row: Row, there: tuple[str, Value, Value]) -> Row:
        """What the file does not say stays as the store has it; only the time of the last store is new.

        When it was first stored stays too where another tool says it, as in ZeroClaw's own upsert.
        """
        wanted, created, _ = there
        values = {**fitted.values, "id": wanted}
        if not row.values.get("category"):
            del values["category"]
        if (self.origin.is_foreign or row.values.get("created_at") is None) and "created_at" in values:
            values["created_at"] = created
        if row.values.get("updated_at") is None and "updated_at" in values:
            values["updated_at"] = self.now
        return Row(wanted, values, fitted.handle, fitted.agent)

    def place(self, row: Row, key: str | None = None) -> bytes:
        """Its key, and its agent where there are agents."""
        return digest((comparable(row.values.get("key") if key is None else key), self._agent(row)))

    def state(self, row: Row) -> bytes:
        """Over every field both sides keep: of a store in two parts, key and all else; of a file in one for each."""
        values = row.values if self.memory.keeps_bytes else _values_of(row.entry(), row)
        parts = [self._value(name, values) for name in self._names]
        if not self.origin.is_file:
            return digest(parts[:1]) + digest((*parts[1:], self._agent(row)))
        texts, facts = parts[:2], [*parts[2:], self._agent(row)]
        return b"".join([*(digest((part,)) for part in texts), *map(_digest_of_fact, facts)])

    def is_other(self, one: bytes, other: bytes, said: int) -> bool:
        """What says other things in another namespace: tools give one key in each of several projects."""
        if "namespace" not in self._names or not said >> self._names.index("namespace") & 1:
            return False
        places = [_DIGEST * self._names.index(name) for name in ("content", "namespace")]
        return all(one[at : at + _DIGEST] != other[at : at + _DIGEST] for at in places)

    def said(self, row: Row) -> int:
        """Of a file what stands in the row, and whose it is."""
        if not self.origin.is_file:
            return _EVERYTHING_SAID
        names, values = self._names, row.values
        says = (bool(values.get(name)) if name == "category" or name in TIMES else name in values for name in names)
        return sum(1 << at for at, is_said in enumerate(says) if is_said) | 1 << len(names)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        if self.origin.is_file:
            given: Collection[str] = frozenset({*CARRIED, *TIMES, *(self.columns or ())})
        else:
            given = self.origin.columns or frozenset()
        compared = [name for name in CARRIED if name in given and self.keeps(name)]
        if self.origin.compares_times and not self.origin.is_notes and not self.origin.is_foreign:
            # Another tool's are often those of a file, which change with its neighbours.
            compared += [name for name in TIMES if name in given and self.keeps(name)]
        return (*ALWAYS, *compared, *sorted(name for name in given if name not in KNOWN and self.keeps(name)))

    def _value(self, name: str, values: Mapping[str, Value]) -> bytes:
        value = values.get(name)
        match name:
            case "namespace":
                value = value or "default"
            case "pinned":
                value = int(bool(value)) if isinstance(value, int | None) else value
            case "importance" if isinstance(value, float) and not self.memory.keeps_bytes:
                # A column of reals may have four bytes for each.
                value = struct.unpack("<f", struct.pack("<f", value))[0]
            case "created_at" | "updated_at" if not self.memory.keeps_texts:
                value = _to_microseconds(value)
            case "session_id" if not self.memory.keeps_bytes:
                value = value or None
        return comparable(value)

    def _agent(self, row: Row) -> bytes:
        """Whose a fitted row is, or one of the store."""
        return comparable(self._usual_owner(row.agent) if self.has_agents else None)

    def whole(self, row: Row) -> bytes:
        """Its id, and its vector to the byte."""
        parts = []
        if self.keeps_rows:
            parts.append(comparable(row.id))
        if self.keeps_rows and self.has_vectors and not self.memory.about.embeds_itself:
            parts.append(comparable(row.values.get(VECTOR)))
        return digest(parts)

    def refuses(self, row: Row) -> str | None:
        """A store that keeps nothing without a vector of its own, and has nothing to make one with."""
        makes_them = not self.memory.about.embeds_itself or "vectors" not in self.memory.why_not
        if makes_them or self.takes_vector(row.values.get(VECTOR)):
            return None
        return self.memory.why_not["vectors"].removesuffix(".")


@dataclass(frozen=True, slots=True)
class NoteFit(Fit):
    """A store of plain lines. `agents` are the aliases whose folders it has; `only` the stem of its one file."""

    memory: Memory
    origin: Origin
    agents: frozenset[str]
    only: str | None = None
    has_keys = False

    @classmethod
    def of(cls, memory: Memory, origin: Origin, config: MemoryConfig) -> NoteFit:
        """What the notes of a config keep; looks at its folders, so it blocks."""
        place = Path(memory.about.location)
        agents = frozenset(agent_folders(config))
        if origin.owner is not None and origin.owner not in agents:
            raise Refused(f"Agent {one_line(origin.owner)!r} has no notes here.", hint="Name an agent that has notes.")
        return cls(memory, origin, agents, place.stem if place.is_file() else None)

    def owner(self, agent: str | None) -> str | None:
        """Whose folder it goes to; None is the one of all."""
        return self.origin.owner or (agent if agent in self.agents else None)

    def fitted(self, row: Row) -> Row:
        """A line, and the stem of the file it goes to in `created_at`."""
        entry, stem = row.entry(), self.stem(row)
        has_no_key = self.origin.is_line(row) and row.handle == entry.key
        values: dict[str, Value] = {
            "key": entry.key,
            "content": line_of(None if has_no_key else entry.key, entry.content),
            "category": CORE if stem == _CORE_STEM else DAILY,
            "created_at": stem,
        }
        return Row("", values, None, self.owner(row.agent))

    def stem(self, row: Row) -> str:
        """The file it goes to, without its suffix: core memories, as those of no category are, to one, the others to
        that of the day."""
        if self.only is not None:
            return self.only
        if self.origin.is_line(row):
            return str(row.handle).rpartition(":")[0]
        entry = row.entry()
        if entry.category in ("", CORE):
            return _CORE_STEM
        written = moment(entry.timestamp)
        return _UNDATED_STEM if written is None else written.astimezone().date().isoformat()

    def place(self, row: Row, key: str | None = None) -> bytes:
        """A line is known by its key and its folder; lines of other notes, and those without a key, by all they say."""
        own = _keyed(row.entry().content)[0] if key is None else in_one_line(key)
        if self.origin.is_notes or not (own or self.origin.is_foreign):
            return self.state(row)
        return _digest_of_texts(own, row.agent or "")

    def state(self, row: Row) -> bytes:
        """Of its key, of its text and its folder, and of its file."""
        entry = row.entry()
        key, text = _keyed(entry.content)
        return _digest_of_texts(key) + _digest_of_texts(text, entry.agent or "") + _digest_of_texts(entry.timestamp)

    def said(self, row: Row) -> int:
        """All, but of another tool's memory not the file, which goes by its day."""
        return _EVERYTHING_SAID if not self.origin.is_foreign else 0b011


def read_line(row: Row) -> Row:
    """What a line of notes says: the key ZeroClaw wrote before the content, and the day of its file as its time.

    ZeroClaw writes `- **<key>**: <content>`, core into MEMORY.md and the rest into memory/<local date>.md, and reads
    each line back under the name of its file and its number. A line without a key has its place as its key. It has no
    id; its handle is its place.
    """
    entry = row.entry()
    values: dict[str, Value] = {"key": entry.key, "content": entry.content, "category": entry.category}
    created = _day_begins(entry.timestamp)
    if created is not None:
        values["created_at"] = created
    key, text = _keyed(entry.content)
    if key:
        values |= {"key": key, "content": text}
    return Row("", values, entry.key, row.agent)


def _keyed(line: str) -> tuple[str, str]:
    """The key of a line of notes, which is empty where it has none, and the rest of it."""
    keyed = _KEYED.match(line)
    return ("", line) if keyed is None else (keyed.group(1), keyed.group(2) or "")


def line_of(key: str | None, content: str) -> str:
    """The text of a memory's line, without its bullet; what no line can hold is gone."""
    if key is None:
        return in_one_line(content)
    return f"**{in_one_line(key)}**: {in_one_line(content)}".strip(WHITE_SPACE)


def in_one_line(text: str) -> str:
    """With a blank for each line break, no blanks around, and U+FFFD for what is no UTF-8."""
    flat = _LINE_BREAKS.sub(" ", text).strip(WHITE_SPACE)
    if not is_unicode(flat):
        flat = flat.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return flat


def is_read_back(key: str) -> bool:
    """Whether a key that stands before a content is read back as it was."""
    return bool(key.strip(WHITE_SPACE)) and "**" not in key and key == in_one_line(key)


def id_made(row: Row, place: str) -> str:
    """The id of a memory that has none in its file: always the same in one store, so that it is known again."""
    key, content = row.values.get("key"), row.values.get("content")
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"zeroclaw-tui import {place!r} {row.agent!r} {key!r} {content!r}"))


def comparable(value: Value) -> bytes:
    """What is equal for values that a store does not tell apart."""
    if isinstance(value, str):
        return b"t" + value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return b"b" + value
    # A column of reals gives back 1.0 for 1, and a switch is True here and 1 there.
    number = int(value) if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()) else value
    return f"n{number!r}".encode()


def _day_begins(stem: str) -> str | None:
    """The local midnight of a day's file, RFC 3339; None for a file that names no day."""
    day = date_of_note(f"{stem}.md")
    return datetime.fromisoformat(day).astimezone().isoformat() if day else None


def _values_of(entry: MemoryEntry, row: Row) -> Mapping[str, Value]:
    more = {name: value for name, value in row.values.items() if name not in KNOWN}
    named: dict[str, Value] = {
        "key": entry.key, "content": entry.content, "category": entry.category, "created_at": entry.timestamp,
        "updated_at": entry.updated_at or entry.timestamp, "session_id": entry.session_id,
        "namespace": entry.namespace, "importance": entry.importance, "superseded_by": entry.superseded_by,
        "pinned": entry.pinned, "kind": entry.kind,
    }  # fmt: skip
    return {**more, **named}


def _digest_of_texts(*texts: str) -> bytes:
    return digest(text.encode("utf-8", "surrogatepass") for text in texts)


def _to_microseconds(value: Value) -> str | None:
    """A moment in UTC with six digits of fraction; None for what is no moment."""
    parsed = moment(value) if isinstance(value, str) else None
    return None if parsed is None else parsed.astimezone(UTC).isoformat(timespec="microseconds")


def digest(parts: Iterable[bytes]) -> bytes:
    """Of 16 bytes; another one wherever a part begins or ends elsewhere."""
    made = hashlib.blake2b(digest_size=_DIGEST)
    lengths = []
    for part in parts:
        lengths.append(len(part))
        made.update(part)
    made.update(struct.pack(f"<{len(lengths) + 1}Q", *lengths, len(lengths)))
    return made.digest()


@lru_cache(maxsize=4_096)
def _digest_of_fact(part: bytes) -> bytes:
    """The digest of a field other than key and content, which many memories have in common."""
    return digest((part,))


_MEANS_NOTHING: dict[str, tuple[Value, ...]] = {"namespace": ("default", ""), "pinned": (0,), "importance": (0.5,)}
"""Values that ZeroClaw gives by itself."""
_CALLED = {
    "session_id": "session",
    "namespace": "namespace",
    "importance": "importance",
    "pinned": "pin",
    "superseded_by": "superseding memory",
    "kind": "kind",
    "agent": "agent",
    VECTOR: "vector",
}
_OF_LINES = {
    "category": "Markdown has only the categories core and daily, so others become daily ({:,}).",
    "all": "Markdown stores only the date of daily memories, no date for core memories, and no ids ({:,}).",
    "lines": "Each line of Markdown is a memory, so line breaks become blanks ({:,}).",
    "blanks": "Blanks at the start and end of a content are left out ({:,}).",
    "bytes": "Bytes that are not UTF-8 become �, because ZeroClaw would read none of the notes otherwise ({:,}).",
    "keys": "Keys that are blank or contain ** or line breaks are read back differently ({:,}).",
}
_MOST_NAMES, _NAMES_TOLD, _NAME_CELLS = 200, 6, 30


class Losses:
    """Looks at each memory of the source as it is and as the target shall have it."""

    def __init__(self, fit: Fit) -> None:
        self._fit = fit
        self._counts: Counter[str] = Counter()
        self._columns: Counter[str] = Counter()
        self._agents: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()

    def look(self, row: Row, fitted: Row) -> None:
        """Count what of one memory is lost."""
        fit = self._fit
        # A category that is left out says nothing; one that is blank was said, and is another one afterwards.
        is_blank = "category" in row.values and not row.values["category"]
        self._counts["blank categories"] += is_blank and fitted.values.get("category") == CORE
        if isinstance(fit, RowFit):
            self._count_fields(row, fit.keeps)
            self._look_at_row(fit, row, fitted)
        elif isinstance(fit, NoteFit):
            self._count_fields(row, lambda name: False)
            self._look_at_line(fit, row)

    def refuse(self, why: str) -> None:
        """One that the target cannot take."""
        self._refused[why] += 1

    def _count_fields(self, row: Row, keeps: Callable[[str], bool]) -> None:
        for name, value in row.values.items():
            if value in (None, "") or value in _MEANS_NOTHING.get(name, ()) or keeps(name):
                continue
            if name in CARRIED or name == VECTOR:
                self._counts[name] += 1
            elif name not in KNOWN:
                self._count_others(row, name)

    def _look_at_row(self, fit: RowFit, row: Row, fitted: Row) -> None:
        counts = self._counts
        vector = row.values.get(VECTOR)
        counts["other vectors"] += vector is not None and fit.has_vectors and not fit.takes_vector(vector)
        if row.agent not in (None, DEFAULT_AGENT) and not fit.has_agents:
            counts["agent"] += 1
        elif fit.has_agents and row.agent not in (None, *fit.agents, fit.owner(None)):
            self._count(self._agents, str(row.agent))
        counts["all"] += 1
        for name in ("key", "content"):
            counts["text"] += row.values.get(name) != fitted.values.get(name)
        counts["updated"] += row.values.get("updated_at") not in (None, row.values.get("created_at"))
        if fit.keeps_rows and not fit.origin.is_notes:
            reads = zeroclaw_moment if fit.memory.keeps_texts else moment
            told = [value for name in TIMES if (value := row.values.get(name)) is not None]
            counts["times"] += not all(isinstance(value, str) and reads(value) for value in told)

    def _look_at_line(self, fit: NoteFit, row: Row) -> None:
        counts, entry = self._counts, row.entry()
        if entry.agent not in (None, DEFAULT_AGENT) and fit.owner(entry.agent) is None:
            counts["agent"] += 1
        # The key of a keyless line of other notes is only its place.
        is_place = fit.origin.is_line(row) and row.handle == entry.key
        counts["all"] += not is_place
        counts["category"] += entry.category not in ("", CORE, DAILY)
        texts = (entry.key, entry.content)
        counts["bytes"] += not all(map(is_unicode, texts))
        counts["lines"] += any("\n" in text or "\r" in text for text in texts)
        counts["blanks"] += in_one_line(entry.content) != entry.content and "\n" not in entry.content
        counts["keys"] += not is_place and not is_read_back(entry.key)

    def _count_others(self, row: Row, name: str) -> None:
        memory = self._fit.origin.memory
        for other in (name,) if memory is None else memory.other_fields(row, name):
            self._count(self._columns, other)

    def sentences(self) -> Iterator[str]:
        """One for each kind of loss."""
        fit = self._fit
        profile = backend_info(fit.memory.name)
        label = f"The store {fit.memory.name}" if profile is None else profile.title
        for why, refused in self._refused.items():
            yield f"{why} ({refused:,})."
        for name, called in _CALLED.items():
            if lost := self._counts[name]:
                yield f"{label} does not store the {called} ({lost:,})."
        if blank := self._counts["blank categories"]:
            yield f"Blank categories become core ({blank:,})."
        if self._columns:
            yield f"{label} has no column for {_names(self._columns)}: its values are left out."
        if isinstance(fit, NoteFit):
            yield from self._of_lines()
        elif isinstance(fit, RowFit):
            yield from self._of_rows(fit, label)

    def _of_rows(self, fit: RowFit, label: str) -> Iterator[str]:
        counts = self._counts
        if self._agents:
            owner, number = fit.owner(None), sum(self._agents.values())
            if owner is not None and fit.origin.is_file:
                whose = f"their memories go to the agent {one_line(owner)} ({number:,})"
                several = "agent" if len(self._agents) == 1 else "agents"
                yield f"{label} does not know the {several} {_names(self._agents)}: {whose}."
            else:
                yield f"New agents are added to {label}: {_names(self._agents)}."
        count = counts["other vectors"]
        if count and fit.memory.about.embeds_itself:
            yield f"{label} embeds key and content together, so vectors of contents alone are made again ({count:,})."
        elif count:
            yield (
                f"Vectors of another model or length than those of {label} are left out ({count:,}); "
                "run `zeroclaw memory reindex` afterwards."
            )
        if not fit.keeps_rows and counts["all"]:
            yield f"{label} gives each memory a new id and new times ({counts['all']:,})."
        if fit.origin.is_notes and counts["all"]:
            yield (
                "Lines of notes have no times, so each gets the day of its file or the time of the copy"
                f" ({counts['all']:,})."
            )
        if count := counts["text"]:
            yield f"{label} stores neither NUL nor bytes that are not UTF-8, so � replaces them ({count:,})."
        if not fit.keeps("updated_at") and fit.keeps_rows and (count := counts["updated"]):
            yield f"{label} stores when a memory was created, but not when it last changed ({count:,})."
        if (count := counts["times"]) and not fit.memory.keeps_texts:
            yield f"Times that cannot be read become the time of the import ({count:,})."
        elif count and fit.origin.is_file:
            yield f"Times that ZeroClaw cannot read stay as they are ({count:,})."

    def _of_lines(self) -> Iterator[str]:
        for name, sentence in _OF_LINES.items():
            if count := self._counts[name]:
                yield sentence.format(count)

    def _count(self, counter: Counter[str], name: str) -> None:
        if name in counter or len(counter) < _MOST_NAMES:
            counter[name] += 1


def _names(names: Collection[str]) -> str:
    return first_names(list(names), most=_NAMES_TOLD, longest=_NAME_CELLS)
