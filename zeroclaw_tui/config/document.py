"""A config.toml, and edits of single keys that preserve every other byte."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from zeroclaw_tui.config.toml import BOM, KeyPath, Statement, decode_toml, parse_toml, shown_key, statements_of
from zeroclaw_tui.memory.errors import BrokenConfig, InspectorError, UsageError

_ABSENT = object()


@dataclass(frozen=True)
class ConfigDocument:
    """A config file: `text` without the byte order mark, with its original line ends, and the parsed `values`."""

    text: str = field(default="", repr=False)
    has_byte_order_mark: bool = False
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_bytes(cls, raw: bytes, path: Path) -> ConfigDocument:
        """Parse the bytes of a file; `path` is used in messages. Raises BrokenConfig with line and column."""
        text = decode_toml(raw, path)
        return cls(text, raw.startswith(BOM), parse_toml(text, path))

    @classmethod
    def from_text(cls, text: str) -> ConfigDocument:
        """Parse a text that is not from a file."""
        return cls(text, False, parse_toml(text, Path("config.toml")))

    @cached_property
    def statements(self) -> list[Statement]:
        """The statements of the text, in order."""
        return statements_of(self.text)

    def to_bytes(self) -> bytes:
        """The bytes of the file."""
        return (BOM if self.has_byte_order_mark else b"") + self.text.encode("utf-8")

    def has(self, path: KeyPath) -> bool:
        """Whether the key is set."""
        return self.get(path, _ABSENT) is not _ABSENT

    def get(self, path: KeyPath, default: Any = None) -> Any:
        """The value of a key, or the default if it is not set or a part of its path is not a table."""
        value: Any = self.values
        for name in path:
            if not isinstance(value, Mapping) or name not in value:
                return default
            value = value[name]
        return value

    def with_values(self, changes: Mapping[KeyPath, Any]) -> ConfigDocument:
        """Set these keys (to a str, bool, int, float or a list of these) and change nothing else.

        A value that equals the current one in value and type is not rewritten; an int also equals a float. A new key is
        added after the last key of its section, a new section after the last one of its family. The result is parsed
        and compared before it is returned. Raises BrokenConfig if a part of a path is not a table, UsageError for a
        value that is not valid UTF-8, and InspectorError if anything else would change.
        """
        # Deferred: tomlkit takes 37 ms to import, and only writing needs it.
        from zeroclaw_tui.config.edit import edited_text

        expected, wanted = copy.deepcopy(dict(self.values)), dict[KeyPath, Any]()
        for path, value in changes.items():
            table = _table_of(expected, path)
            if path[-1] not in table or not _equals(table[path[-1]], value):
                _require_text(path, value)
                wanted[path], table[path[-1]] = value, list(value) if isinstance(value, tuple) else value
        if not wanted:
            return self
        try:
            after = checked_edit(self, edited_text(self.statements, wanted), wanted)
        except ValueError as error:
            raise _unsafe(wanted) from error
        if repr(_comparable(after.values)) != repr(_comparable(expected)):
            raise _unsafe(wanted)
        return after


def checked_edit(before: ConfigDocument, text: str, changed: Mapping[KeyPath, Any]) -> ConfigDocument:
    """Parse an edited text, and check that only the changed keys, and headers for them, differ.

    Raises InspectorError if any other statement was changed, added or lost, and ValueError if it is not TOML.
    """
    after = ConfigDocument(text, before.has_byte_order_mark, parse_toml(text, Path("config.toml")))
    old, new = (_other_statements(each.statements, changed) for each in (before, after))
    known, headers = set(old), {_header_text(path[:-1]) for path in changed}
    rest = [each for each in new if each in known or each not in headers]
    if rest and old and not before.text.endswith("\n"):
        # A last line without a line end gets one if something is added after it.
        rest[-1] = old[-1] if rest[-1].rstrip("\r\n") == old[-1] else rest[-1]
    if rest != old:
        raise _unsafe(changed)
    return after


def _other_statements(statements: list[Statement], changed: Mapping[KeyPath, Any]) -> list[str]:
    """List the statements that set none of these keys, without blank lines; the keys' headers are reduced to paths."""
    tables = {path[:-1] for path in changed}
    parts = {path[:length] for path in changed for length in range(1, len(path) + 1)}
    return [
        _header_text(each.path) if each.kind == "table" and each.path in tables else each.text
        for each in statements
        if each.text.strip() and not (each.kind == "key" and each.path in parts)
    ]


def _header_text(table: KeyPath) -> str:
    return f"header of {table}"


def _unsafe(changes: Mapping[KeyPath, Any]) -> InspectorError:
    keys = ", ".join(shown_key(path) for path in changes)
    return InspectorError(
        f"This config is written in a way in which {keys} could not be changed safely, so nothing was written.",
        hint="Change it by hand, and report how the sections around it are written.",
    )


def _table_of(values: dict[str, Any], path: KeyPath) -> dict[str, Any]:
    """Get the table of a key, created if missing. Raises BrokenConfig if a single value cannot be set there."""
    for depth, name in enumerate(path[:-1], 1):
        values = values.setdefault(name, {})
        if not isinstance(values, dict):
            raise _no_place(path, f"{shown_key(path[:depth])} is not a table")
    current = values.get(path[-1])
    is_list_of_tables = isinstance(current, list) and current and all(isinstance(each, dict) for each in current)
    if isinstance(current, dict) or is_list_of_tables:
        raise _no_place(path, "it is a table")
    return values


def _no_place(path: KeyPath, why: str) -> BrokenConfig:
    sentence = f"{shown_key(path)} cannot be set in this config: {why}."
    return BrokenConfig(sentence, hint="Fix that by hand, then run it again.")


def _require_text(path: KeyPath, value: Any) -> None:
    try:
        ("".join(path) + str(value)).encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(
            f"The value for {shown_key(path)} is not valid UTF-8.", hint="Give it as UTF-8 text."
        ) from error


def _equals(current: Any, wanted: Any) -> bool:
    if isinstance(wanted, list | tuple) and isinstance(current, list):
        return len(current) == len(wanted) and all(map(_equals, current, wanted))
    if isinstance(wanted, float) and type(current) is int:
        return bool(current == wanted)
    return type(current) is type(wanted) and repr(current) == repr(wanted)


def _comparable(value: Any) -> Any:
    """Sort the keys of all tables. Values with an equal repr then have equal values and types, including nan."""
    if isinstance(value, Mapping):
        return tuple(sorted((name, _comparable(inner)) for name, inner in value.items()))
    return value
