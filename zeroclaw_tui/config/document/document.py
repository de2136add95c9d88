"""A config.toml as it was found, and as it becomes when some keys change and every other byte stays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zeroclaw_tui.config.document.editing import edited
from zeroclaw_tui.config.document.statements import KeyPath
from zeroclaw_tui.config.toml_file import BYTE_ORDER_MARK, decoded, parsed

__all__ = ["ConfigDocument", "KeyPath"]

_ABSENT = object()


@dataclass(frozen=True, slots=True)
class ConfigDocument:
    """`text` is the file without its byte order mark, line ends untouched; `values` what TOML reads in it."""

    text: str = field(default="", repr=False)
    has_byte_order_mark: bool = False
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_bytes(cls, raw: bytes, path: Path) -> ConfigDocument:
        """The document of a file's bytes; `path` is only named. Raises BrokenConfig with line and column."""
        text = decoded(raw, path)
        return cls(text, raw.startswith(BYTE_ORDER_MARK), parsed(text, path))

    @classmethod
    def from_text(cls, text: str) -> ConfigDocument:
        """The document of a text of our own."""
        return cls(text, False, parsed(text, Path("config.toml")))

    def to_bytes(self) -> bytes:
        """What belongs into the file."""
        return (BYTE_ORDER_MARK if self.has_byte_order_mark else b"") + self.text.encode("utf-8")

    def has(self, path: KeyPath) -> bool:
        """True when the key is there."""
        return self.get(path, _ABSENT) is not _ABSENT

    def get(self, path: KeyPath, default: Any = None) -> Any:
        """The value at a path, the default where there is none (or where the way leads through no table)."""
        value: Any = self.values
        for name in path:
            if not isinstance(value, Mapping) or name not in value:
                return default
            value = value[name]
        return value

    def with_values(self, changes: Mapping[KeyPath, Any]) -> ConfigDocument:
        """The document in which exactly these keys have these values (str, bool, int, float, list of these).

        A value that equals the present one (type too, but an int may stand for a float) is not rewritten. A present
        value is replaced where it stands, its spacing and comment kept, however the table is written (header, dotted,
        inline). A new key goes behind the last key of its own section, before the blank lines and comments that
        follow, with the section's indentation and line end; a new table goes behind the last section of its family,
        else to the end. The result is read back and compared with what was meant, so that a slip is an error here and
        never a damaged file. Raises BrokenConfig where the way to a key leads through something that is no table.
        """
        text, values = edited(self.text, self.values, changes)
        return ConfigDocument(text, self.has_byte_order_mark, values)
