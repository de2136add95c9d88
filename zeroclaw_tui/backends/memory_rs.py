"""A JSON file with memories of memory-rs (crate 0.1.0, formerly mem0-rs), read-only.

memory-rs itself stores memories in RAM only, and `memory-cli export` always writes an empty array. A file can be an
array of `MemoryItem`s from a program that uses the library, or a saved answer of the MCP tools `get_all_memories` and
`search_memory` (src/memory/main.rs and src/mcp/mod.rs).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.about import About
from zeroclaw_tui.backends.foreign import ForeignFile, key_of
from zeroclaw_tui.backends.loaded import Loaded
from zeroclaw_tui.files.disk import file_size, read_bytes
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, Unreadable
from zeroclaw_tui.memory.recall import ScoredEntry
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.scoring.evidence import OwnEvidence
from zeroclaw_tui.scoring.profiles import OwnRule, Trial
from zeroclaw_tui.scoring.stages import plain_cosines

if TYPE_CHECKING:
    import numpy as np

STAGE = "memory-rs"
MAX_BYTES = 64_000_000

NOT_READ = (
    "A file of memory-rs that no program reads: memory-rs keeps nothing on a disk, and ZeroClaw does not know it."
)
READ_ONLY = "memory-rs never reads this file, so it is read-only here. Copy it to a store with `zeroclaw memory copy`."
WORTH = (
    "memory-rs ranks by a hash of the whole text: the same text scores 1.0, and between any two others the score says "
    "nothing (about 0 on average, 0.175 either way), so that half of all memories are hits."
)
WHY_NOT = {
    "vectors": "memory-rs stores no vectors: it makes them from a hash of each text.",
    "keyword": "memory-rs searches no words: it compares hashes of whole texts.",
    "superseded": "memory-rs replaces memories in place, so none is superseded.",
    "pinned": "memory-rs cannot pin a memory.",
    "importance": "memory-rs has no importance.",
    "kind": "memory-rs has no kind except the type, shown as the category.",
    "write": READ_ONLY,
}

_HINT = "Pass a JSON array of memories, or a saved answer of get_all_memories or search_memory."
_REQUIRED = ("id", "user_id", "content", "memory_type")
_OPTIONAL = ("agent_id", "run_id", "created_at", "updated_at")
_BATCH = 2000


@dataclass(frozen=True)
class Export(Loaded):
    """The memories of a file; items with a repeated id are left out and counted."""

    repeated: int = 0


def is_export(path: Path) -> bool:
    """Whether a file is from memory-rs; False for an empty array, which can be from any program. Blocks."""
    try:
        return bool(read_export(path).entries)
    except InspectorError:
        return False


def read_export(path: Path) -> Export:
    """Read the memories of a file, in its order. Blocks. Raises Unreadable if it is not a memory-rs file."""
    try:
        if file_size(path) > MAX_BYTES:
            raise Unreadable(f"{path} is bigger than {MAX_BYTES // 1_000_000} MB.", hint="Split it.")
        data = read_bytes(path)
        if data is None:
            raise Unreadable(f"There is no file {path}.", hint=_HINT)
        document = json.loads(data.decode("utf-8-sig"))
        # Some programs save the answer of a tool as one JSON string.
        items = json.loads(document) if isinstance(document, str) else document
        if not isinstance(items, list):
            raise Unreadable(f"{path} is not an export of memory-rs: it is not an array.", hint=_HINT)
        entries = [_entry_of(item, position, path) for position, item in enumerate(items, 1)]
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{path} is not valid JSON: {one_line(str(error))[:80]}.", hint=_HINT) from error
    by_id: dict[str, MemoryEntry] = {}
    for entry in entries:
        by_id.setdefault(entry.id, entry)
    return Export(tuple(by_id.values()), len(entries) - len(by_id))


def _entry_of(item: Any, position: int, path: Path) -> MemoryEntry:
    """Parse the memory in an item, or in the field `memory` of a search result."""
    memory = item.get("memory", item) if isinstance(item, dict) else None
    if not isinstance(memory, dict) or not _has_the_fields(memory):
        raise Unreadable(f"{path} is not an export of memory-rs: its item {position:,} is not a memory.", hint=_HINT)
    metadata = memory.get("metadata")
    return MemoryEntry(
        id=memory["id"],
        key=key_of("memrs", memory["id"]),
        content=memory["content"],
        category=memory["memory_type"],
        timestamp=memory.get("created_at") or "",
        updated_at=memory.get("updated_at"),
        session_id=memory.get("run_id"),
        namespace=memory["user_id"],
        agent=memory.get("agent_id"),
        metadata=None if metadata is None else json.dumps(metadata, ensure_ascii=False),
        handle=position,
    )


def _has_the_fields(memory: Mapping[str, Any]) -> bool:
    return (
        all(isinstance(memory.get(name), str) for name in _REQUIRED)
        and all(isinstance(memory.get(name), str | None) for name in _OPTIONAL)
        and isinstance(memory.get("metadata"), dict | None)
    )


def hash_vector(text: str) -> np.ndarray:
    """Compute memory-rs's vector of a text: each byte of its SHA-256 twelve times, scaled to -1..1.

    Shape (384,), float32, as in src/embeddings/local.rs.
    """
    import numpy as np

    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    numbers = np.frombuffer(digest, dtype=np.uint8).astype(np.float32)
    vector: np.ndarray = (numbers / np.float32(255) - np.float32(0.5)) * np.float32(2)
    return np.repeat(vector, 12)


class MemoryRsExport(ForeignFile[Export]):
    """A JSON file of memory-rs; user_id is the namespace, run_id the session, memory_type the category."""

    name = "memory-rs"
    program = "memory-rs"
    about = About(
        not_read_because=NOT_READ, rule=OwnRule("a hash of the text", 5, takes_vector=False), computes_vectors=True
    )
    why_not = WHY_NOT

    def read(self) -> Export:
        return read_export(self.path)

    def describe(self, contents: Export) -> Iterator[str]:
        yield NOT_READ
        if not contents.entries:
            yield "It is empty, as every file is that `memory-cli export` writes."
        if contents.repeated:
            yield f"Items with the id of an item before are left out: {contents.repeated:,}."

    async def search(self, trial: Trial, vector: np.ndarray | None = None, *, deep: bool = False) -> OwnEvidence:
        """All memories with a score of 0 or more, best first; equal scores keep the order of the file."""
        request, export = trial.request, await self._loaded()
        entries = [entry for entry in export.entries if request.namespace in (None, entry.namespace)]
        scores = dict(zip(entries, await asyncio.to_thread(cosines, entries, request.query), strict=True))
        hits = sorted((entry for entry in entries if scores[entry] >= 0.0), key=lambda entry: -scores[entry])
        results = tuple(
            ScoredEntry(entry, rank, scores[entry], vector_score=scores[entry], stage=STAGE)
            for rank, entry in enumerate(hits, 1)
        )
        notes = [WORTH, *self.note_of_users(len(export.namespaces) if request.namespace is None else 1)]
        if request.agents or request.session_id or request.since or request.until:
            notes.append("memory-rs filters nothing: agents, session and time bounds leave nothing out.")
        return OwnEvidence(trial, results, STAGE, "cosine of hashes", tuple(notes), program=self.about.program)


def cosines(entries: Sequence[MemoryEntry], query: str) -> list[float]:
    """Compute the cosine of each memory's hash vector and the query's."""
    import numpy as np

    scores: list[float] = []
    for start in range(0, len(entries), _BATCH):
        matrix = np.stack([hash_vector(entry.content) for entry in entries[start : start + _BATCH]])
        scores += plain_cosines(hash_vector(query), matrix).tolist()
    return scores
