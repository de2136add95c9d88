"""What a store keeps of a memory that comes from another one, and how two such memories are told to be the same."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.curation.transfer.identity import KnownVectors
from zeroclaw_tui.curation.transfer.noted import read_back
from zeroclaw_tui.memory.change import StoredRow

RESTORED = " (restored"
"""What stands behind the key of a memory that was put beside another one."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What is known of what gives: the store (None: a file), its columns (None: no rows), what made its vectors."""

    memory: Memory | None
    columns: frozenset[str] | None
    vectors: KnownVectors
    outdated: frozenset[str] = field(default=frozenset(), repr=False)
    """The ids of lines of notes whose key another line has further on."""

    @property
    def is_notes(self) -> bool:
        """Whether it keeps plain lines, with neither keys, ids nor times of their own."""
        return self.memory is not None and self.memory.keeps_lines

    def is_line(self, row: StoredRow) -> bool:
        """Whether a row is a line of notes, with its place as its handle: "<file stem>:<number>"."""
        return self.is_notes or (self.memory is None and isinstance(row.handle, str))

    def read(self, row: StoredRow) -> StoredRow:
        """A row of it with everything that it says of the memory."""
        return read_back(row) if self.is_notes else row

    def is_outdated(self, row: StoredRow) -> bool:
        """Whether another line says the same key later: ZeroClaw appends to notes what it stores anew."""
        return row.id in self.outdated


class Keeping(ABC):
    """What one store keeps of the memories of another one."""

    memory: Memory
    origin: Origin
    has_keys: bool
    """Whether a key belongs to one memory there."""

    @abstractmethod
    def fitted(self, row: StoredRow) -> StoredRow:
        """The row as the store shall have it."""

    @abstractmethod
    def place(self, row: StoredRow, key: str | None = None) -> bytes:
        """What no two memories of the store have in common; with another key the place it would have under that."""

    @abstractmethod
    def state(self, row: StoredRow, *, but_key: bool = False) -> bytes:
        """SHA-256 over what the store keeps of a row, its id and its vector left out."""

    def whole(self, row: StoredRow, state: bytes) -> bytes:
        """SHA-256 with id and vector too, where both are kept; of a row with that state."""
        return state

    def refuses(self, row: StoredRow) -> str | None:
        """Why the store cannot take a row at all, in a sentence without its count; None where it can."""
        return None
