"""What a folder of Markdown notes keeps of the memories of another store: a line each."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.listing import moment
from zeroclaw_tui.config.layouts import CORE_NAME
from zeroclaw_tui.curation.transfer.keeping import Keeping, Origin
from zeroclaw_tui.curation.transfer.noted import line_of
from zeroclaw_tui.memory.change import StoredRow, Value

CORE, DAILY = "core", "daily"
_CORE_STEM = Path(CORE_NAME).stem
_UNDATED_STEM = "undated"
"""The file in memory/ of what has no day."""


@dataclass(frozen=True, slots=True)
class NoteKeeping(Keeping):
    """A store of plain lines. `agents` are the aliases whose folders it has; `only` the stem of its one file."""

    memory: Memory
    origin: Origin
    agents: frozenset[str]
    only: str | None = None
    has_keys = False

    def owner(self, agent: str | None) -> str | None:
        """Whose folder it goes to; None is the one of all."""
        return agent if agent in self.agents else None

    def fitted(self, row: StoredRow) -> StoredRow:
        """A line, and the stem of the file it goes to in `created_at`."""
        entry, stem = row.entry(), self.stem(row)
        has_no_key = self.origin.is_notes and row.handle == entry.key
        values: dict[str, Value] = {
            "key": entry.key,
            "content": line_of(None if has_no_key else entry.key, entry.content),
            "category": CORE if stem == _CORE_STEM else DAILY,
            "created_at": stem,
        }
        return StoredRow("", values, None, self.owner(row.agent))

    def stem(self, row: StoredRow) -> str:
        """The file it goes to, without its suffix: core memories to one, the others to that of the day."""
        if self.only is not None:
            return self.only
        if self.origin.is_notes:
            return str(row.handle).rpartition(":")[0]
        entry = row.entry()
        if entry.category == CORE:
            return _CORE_STEM
        written = moment(entry.timestamp)
        return _UNDATED_STEM if written is None else written.astimezone().date().isoformat()

    def place(self, row: StoredRow, key: str | None = None) -> bytes:
        """A line is known by what it says and where."""
        return self.state(row)

    def state(self, row: StoredRow, *, but_key: bool = False) -> bytes:
        """Over its text, its file and its folder."""
        entry = row.entry()
        parts = (entry.content, entry.timestamp, entry.agent or "")
        joined = "".join(f"{len(part)} {part}" for part in parts)
        return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).digest()
