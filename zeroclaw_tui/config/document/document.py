"""A config.toml as it was found, and as it becomes when some keys change and every other byte stays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

KeyPath = tuple[str, ...]
"""A key from the root on: ("storage", "provider", "config", "db_url")."""


@dataclass(frozen=True, slots=True)
class ConfigDocument:
    """`text` is the file without its byte order mark, line ends untouched; `values` what TOML reads in it."""

    text: str = ""
    has_byte_order_mark: bool = False
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_bytes(cls, raw: bytes, path: Path) -> ConfigDocument:
        """The document of a file's bytes; `path` is only named. Raises BrokenConfig with line and column."""
        raise NotImplementedError

    @classmethod
    def from_text(cls, text: str) -> ConfigDocument:
        """The document of a text of our own."""
        raise NotImplementedError

    def to_bytes(self) -> bytes:
        """What belongs into the file."""
        raise NotImplementedError

    def has(self, path: KeyPath) -> bool:
        """True when the key is there."""
        raise NotImplementedError

    def get(self, path: KeyPath, default: Any = None) -> Any:
        """The value at a path, the default where there is none (or where the way leads through no table)."""
        raise NotImplementedError

    def with_values(self, changes: Mapping[KeyPath, Any]) -> ConfigDocument:
        """The document in which exactly these keys have these values (str, bool, int, float, list of these).

        A value that equals the present one (type too, but an int may stand for a float) is not rewritten. A present
        value is replaced where it stands, its spacing and comment kept, however the table is written (header, dotted,
        inline). A new key goes behind the last key of its own section, before the blank lines and comments that
        follow, with the section's indentation and line end; a new table goes behind the last section of its family,
        else to the end. The result is read back and compared with what was meant, so that a slip is an error here and
        never a damaged file. Raises BrokenConfig where the way to a key leads through something that is no table.
        """
        raise NotImplementedError
