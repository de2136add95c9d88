"""Memories of memory-rs (crate 0.1.0, formerly mem0-rs) that a program wrote as JSON: to be looked at.

memory-rs itself keeps nothing on a disk: its store is a map in memory, the database it is given is never opened, and
`memory-cli export` always writes an empty array. What there can be is an array that a program using the library made of
its `MemoryItem`s, or the answer of its MCP tools `get_all_memories` and `search_memory` (src/memory/main.rs and
src/mcp/mod.rs).
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.base import Capabilities, Scored
from zeroclaw_tui.backends.fallback import Held, HeldMemory, copied_by
from zeroclaw_tui.backends.health import Health, StoreRecall
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, Unreadable, UsageError
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.scoring.evidence import Evidence, OwnEvidence
from zeroclaw_tui.scoring.profiles import ScoringProfile, ScoringSettings
from zeroclaw_tui.scoring.vectors import plain_cosines

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.config.memory_config import MemoryConfig

STAGE = "memory-rs"
SCALE = "cosine of hashes"
LIMIT = 5
"""How many its search returns where nobody says."""
DIMENSIONS = 384
MOST_BYTES = 64_000_000
MOST_ITEMS = 200_000
MOST_DEPTH = 16

NOT_READ = (
    "A file of memory-rs that no program reads: memory-rs keeps nothing on a disk, and ZeroClaw does not know it."
)
READ_ONLY = (
    "memory-rs never reads this file: it is what some program wrote down, so nothing is changed in it; `memory copy` "
    "brings it into a store."
)
WORTH = (
    "memory-rs ranks by a hash of the whole text: the same text scores 1.0, and between any two others the score says "
    "nothing (about 0 on average, 0.175 either way), so that half of all memories are hits."
)
WHY_NOT = {
    "vectors": "memory-rs writes no vectors down: it makes them anew of a hash of each text.",
    "keyword": "memory-rs looks for no words: it compares hashes of whole texts.",
    "superseded": "memory-rs replaces memories in place, so none is superseded.",
    "pinned": "memory-rs cannot pin a memory.",
    "importance": "memory-rs keeps no importance.",
    "kind": "memory-rs keeps no kind but the type, shown as the category.",
    **dict.fromkeys(("write", "content", "key", "category", "session_id", "namespace"), READ_ONLY),
}

_TEXTS = ("id", "user_id", "content", "memory_type")
_OPTIONAL = ("agent_id", "run_id", "created_at", "updated_at")
_KEY_DIGITS = 12
_NOT_HEX = re.compile(r"[^0-9a-f]")
_HINT = "Give an array of memory-rs' MemoryItems, or the saved answer of its tool get_all_memories or search_memory."
_RANKED_AT_ONCE = 2000


@dataclass(frozen=True)
class Export(Held):
    """What a file holds. `doubles` are left out."""

    doubles: int = 0
    identity: tuple[int, ...] = field(default=(), compare=False)


def is_export(path: Path) -> bool:
    """Whether a file is one of these, by its content; an empty array may be anybody's. Blocks."""
    try:
        return bool(read_export(path).entries)
    except InspectorError:
        return False


def read_export(path: Path) -> Export:
    """The memories of a file, in its order. Raises Unreadable for what is no such file, or too big for one. Blocks."""
    data, identity = _read(path)
    items = _items(_decoded(data, path), path)
    entries: list[MemoryEntry] = []
    seen: dict[str, int] = {}
    keys: dict[str, int] = {}
    known: set[tuple[str, str, str]] = set()
    doubles = 0
    for place, item in enumerate(items):
        memory = _memory_of(item)
        if memory is None:
            raise Unreadable(f"{path} is no export of memory-rs: its item {place + 1:,} is no memory.", hint=_HINT)
        entry = _entry(memory, place)
        said = (entry.id, entry.content, entry.updated_at or "")
        if said in known:
            # An answer of a search that was saved twice.
            doubles += 1
            continue
        known.add(said)
        entries.append(_told_apart(entry, seen, keys))
    return Export(tuple(entries), doubles, identity)


def _read(path: Path) -> tuple[bytes, tuple[int, ...]]:
    try:
        # A named pipe would wait for a writer, and a link may lead anywhere.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Unreadable(
                f"{path} is a symbolic link, which is not followed to another program's file.",
                hint=f"Give the file itself: {os.path.realpath(path)}.",
            ) from error
        raise Unreadable(f"{path} cannot be read: {error.strerror}.", hint=_HINT) from error
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise Unreadable(f"{path} is not a regular file.", hint=_HINT)
        data = file.read(MOST_BYTES + 1) if found.st_size <= MOST_BYTES else b""
    if found.st_size > MOST_BYTES or len(data) > MOST_BYTES:
        raise Unreadable(f"{path} is bigger than {MOST_BYTES // 1_000_000} MB.", hint="Split it.")
    return data, _identity(found)


def _identity(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _decoded(data: bytes, path: Path) -> Any:
    """The JSON of a file; one string that holds JSON is read once more, as some programs save an answer."""
    try:
        text = data.decode("utf-8-sig")
        _check_depth(text)
        document = _READ(text)
        if isinstance(document, str):
            _check_depth(document)
            document = _READ(document)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{path} is no JSON that can be read: {one_line(str(error))[:80]}.", hint=_HINT) from error
    return document


def _check_depth(text: str) -> None:
    """Raise ValueError where brackets lie deeper in one another than memories ever do; those in texts count too."""
    depth = 0
    for bracket in re.finditer(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', text, re.DOTALL):
        sign = text[bracket.start()]
        if sign in "[{":
            depth += 1
            if depth > MOST_DEPTH:
                raise ValueError("it is nested too deep")
        elif sign in "]}":
            depth -= 1


def _items(document: Any, path: Path) -> Sequence[Any]:
    if not isinstance(document, list):
        raise Unreadable(f"{path} is no export of memory-rs: it is no array.", hint=_HINT)
    if len(document) > MOST_ITEMS:
        raise Unreadable(f"{path} has more than {MOST_ITEMS:,} items.", hint="Split it.")
    return document


def _memory_of(item: Any) -> Mapping[str, Any] | None:
    """The memory that an item is, or that a search result has; None where it is none."""
    memory = item.get("memory", item) if isinstance(item, dict) else None
    if not isinstance(memory, dict) or not all(isinstance(memory.get(name), str) for name in _TEXTS):
        return None
    if not all(memory.get(name) is None or isinstance(memory[name], str) for name in _OPTIONAL):
        return None
    return None if memory.get("metadata") is not None and not isinstance(memory["metadata"], dict) else memory


def _entry(memory: Mapping[str, Any], place: int) -> MemoryEntry:
    id = memory["id"]  # noqa: A001
    digits = _NOT_HEX.sub("", id.lower())
    if len(digits) < _KEY_DIGITS or len(digits) != len(id.replace("-", "")):
        digits = hashlib.sha256(_utf8(id)).hexdigest()
    return MemoryEntry(
        id=id,
        key=f"memrs_{digits[:_KEY_DIGITS]}",
        content=memory["content"],
        category=memory["memory_type"],
        timestamp=memory.get("created_at") or "",
        updated_at=memory.get("updated_at"),
        session_id=memory.get("run_id"),
        namespace=memory["user_id"],
        agent=memory.get("agent_id"),
        metadata=json.dumps(metadata, ensure_ascii=False) if (metadata := memory.get("metadata")) else None,
        handle=place + 1,
    )


def _told_apart(entry: MemoryEntry, ids: dict[str, int], keys: dict[str, int]) -> MemoryEntry:
    """The same, with a number behind an id or a key that is there already."""
    ids[entry.id] = ids.get(entry.id, 0) + 1
    keys[entry.key] = keys.get(entry.key, 0) + 1
    if ids[entry.id] > 1:
        entry = replace(entry, id=f"{entry.id}#{ids[entry.id]}")
    return entry if keys[entry.key] == 1 else replace(entry, key=f"{entry.key}_{keys[entry.key]}")


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no JSON")


_READ = json.JSONDecoder(parse_constant=_no_number).decode


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def hash_vector(text: str) -> np.ndarray:
    """What memory-rs takes for the meaning of a text: each byte of its SHA-256, twelve times, between -1 and 1.

    Shape (384,), float32. As its src/embeddings/local.rs makes it.
    """
    import numpy as np

    places = np.arange(DIMENSIONS) * 32 // DIMENSIONS
    digest = np.frombuffer(hashlib.sha256(_utf8(text)).digest(), dtype=np.uint8)
    vector: np.ndarray = (digest[places].astype(np.float32) / np.float32(255) - np.float32(0.5)) * np.float32(2)
    return vector


def searched(entries: Sequence[MemoryEntry], query: str, limit: int) -> list[tuple[MemoryEntry, float]]:
    """Those that memory-rs returns, best first: every score from 0 on counts.

    Where scores are equal memory-rs leaves the order to chance; here it is that of the file.
    """
    import numpy as np

    wanted, found = hash_vector(query), list[tuple[MemoryEntry, float]]()
    for start in range(0, len(entries), _RANKED_AT_ONCE):
        some = entries[start : start + _RANKED_AT_ONCE]
        scores = plain_cosines(wanted, np.stack([hash_vector(entry.content) for entry in some])).tolist()
        found += [(entry, score) for entry, score in zip(some, scores, strict=True) if score >= 0.0]
    found.sort(key=lambda pair: -pair[1])
    return found[: max(0, limit)]


class MemoryRsExport(HeldMemory):
    """A JSON file of memory-rs' memories; user_id is a namespace, run_id a session, memory_type the category."""

    name = "memory-rs"
    program = "memory-rs"
    recall_limit = LIMIT
    embeds_itself = True
    keeps_texts = True
    recalls_by = "a hash of the text"
    not_read_because = NOT_READ
    read_only_because = READ_ONLY
    capabilities = Capabilities(agents=True, namespaces=True, watch=True, why_not=WHY_NOT)

    def __init__(self, path: Path) -> None:
        self.path = path
        self.location = str(path)
        self._export: Export | None = None
        self._version = 0
        self._looking = asyncio.Lock()

    @classmethod
    def from_config(cls, config: MemoryConfig) -> MemoryRsExport:
        """The file that the location names, or that an install was opened by. Raises UsageError."""
        if config.location is None and config.install.layout != "lone":
            raise UsageError("memory-rs needs to know which file.", hint="--location takes the path of a JSON file.")
        return cls(Path(config.location).expanduser() if config.location else config.install.database)

    async def open(self) -> None:
        """Read the file. Raises Unreadable."""
        self._export = export = await asyncio.to_thread(read_export, self.path)
        self._version += 1
        told = [NOT_READ]
        if not export.entries:
            told.append("It is empty, as every file is that `memory-cli export` writes.")
        if len(export.namespaces) > 1:
            told.append(f"It holds the memories of {len(export.namespaces):,} users; --namespace names one.")
        if export.doubles:
            told.append(f"Items that say the same again are left out: {export.doubles:,}.")
        self.notices = self.facts = (*told, copied_by(self.path))

    async def held(self) -> Export:
        """What the file holds; read anew where it has changed."""
        async with self._looking:
            if self._export is None:
                raise RuntimeError("open() comes first")
            try:
                now = _identity(await asyncio.to_thread(os.lstat, self.path))
            except OSError as error:
                raise Unreadable(f"{self.path} cannot be looked at: {error.strerror}.", hint=_HINT) from error
            if now != self._export.identity:
                await self.open()
            return self._export

    async def version(self) -> int | None:
        """Changes when the file has."""
        await self.held()
        return self._version

    async def health(self) -> Health:
        """What the file holds, and what a recall over it is worth."""
        export = await self.held()
        facts = {
            "file": str(self.path),
            "memories": len(export.entries),
            "users": [one_line(user)[:60] for user in export.namespaces],
            "items with metadata": sum(entry.metadata is not None for entry in export.entries),
            "items left out as doubles": export.doubles,
        }
        return Health(True, "can be read", (NOT_READ, WORTH), facts)

    async def recall(
        self, query: str, limit: int, session_id: str | None = None, since: str | None = None, until: str | None = None
    ) -> Scored:
        """What memory-rs would return for everybody; it knows no session and no bounds in time."""
        return list((await self._searched(RecallRequest(query, limit))).entries)

    async def search(
        self,
        request: RecallRequest,
        profile: ScoringProfile,
        settings: ScoringSettings,
        query_vector: np.ndarray | None = None,
    ) -> StoreRecall:
        """What memory-rs would return, were these its memories, whatever the profile: for the user that `namespace`
        names, else for every one."""
        return await self._searched(request)

    async def evidence(
        self,
        request: RecallRequest,
        profile: ScoringProfile,
        settings: ScoringSettings,
        query_vector: np.ndarray | None = None,
    ) -> Evidence:
        """The whole ranking, with the score of what is left out."""
        whole = await self._searched(replace(request, limit=MOST_ITEMS))

        def told(entry: MemoryEntry) -> str:
            if request.namespace not in (None, entry.namespace):
                return "it is of another user than the one asked for"
            score = float(plain_cosines(hash_vector(request.query), hash_vector(entry.content)[None, :])[0])
            return f"the cosine of the two hashes is {score:.3f}, which says nothing of the texts"

        return OwnEvidence(
            request, whole.entries, whole.mode, whole.scale, True, whole.notes, program=self.program, told=told
        )

    async def _searched(self, request: RecallRequest) -> StoreRecall:
        export = await self.held()
        among = [entry for entry in export.entries if request.namespace in (None, entry.namespace)]
        found = await asyncio.to_thread(searched, among, request.query, request.limit)
        notes = [WORTH]
        if request.namespace is None and len(export.namespaces) > 1:
            notes.append(
                f"memory-rs searches for one user at a time: the hits of its {len(export.namespaces):,} users are put "
                "together by score; --namespace names one."
            )
        if request.agents or request.session_id or request.since or request.until:
            notes.append("memory-rs filters nothing: agents, a session and bounds in time leave nothing out.")
        results = tuple(
            ScoredEntry(entry, rank, score, vector_score=score, stage=STAGE)
            for rank, (entry, score) in enumerate(found, 1)
        )
        return StoreRecall(results, STAGE, SCALE, tuple(notes))

    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None:
        """Raises Refused: see READ_ONLY."""
        raise self.refuse_to_write()

    async def forget(self, key: str) -> bool:
        """Raises Refused: see READ_ONLY."""
        raise self.refuse_to_write()
