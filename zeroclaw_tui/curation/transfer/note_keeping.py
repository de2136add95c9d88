"""What a folder of Markdown notes keeps of the memories of another store: a line each."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.listing import moment
from zeroclaw_tui.config.layouts import CORE_NAME
from zeroclaw_tui.config.memory_config import MemoryConfig, agent_folders
from zeroclaw_tui.curation.changing import Outcome, carried_out
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.transfer.keeping import Keeping, Origin
from zeroclaw_tui.curation.transfer.noted import line_of
from zeroclaw_tui.curation.transfer.spool import Spool
from zeroclaw_tui.curation.trash.trash import Verb
from zeroclaw_tui.memory.change import Advance, StoredRow, Value

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
        has_no_key = self.origin.is_line(row) and row.handle == entry.key
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
        if self.origin.is_line(row):
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


def note_keeping(memory: Memory, origin: Origin, config: MemoryConfig) -> NoteKeeping:
    """What the notes of a config keep; looks at its folders."""
    place = Path(memory.location)
    return NoteKeeping(memory, origin, frozenset(agent_folders(config)), place.stem if place.is_file() else None)


async def append_lines(library: Library, verb: Verb, summary: str, lines: Spool, advance: Advance | None) -> Outcome:
    """Append fitted rows to the notes of a library as one action, which undo takes back."""

    async def work(action: int, going: Advance) -> Outcome:
        done = await library.memory.append(lines.batches, library.trash.keeper(action), going)
        return Outcome(verb, done.reverted, cancelled=done.cancelled)

    return await carried_out(library, verb, summary, work, advance)
