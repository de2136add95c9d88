"""Changing single keys of a TOML text: which characters go, which come, and where."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Mapping
from typing import Any

from zeroclaw_tui.config.document.placing import Splice, new_keys
from zeroclaw_tui.config.document.statements import KeyPath, NotUnderstood, Section, sections_of
from zeroclaw_tui.config.document.values import is_same_value, serves_as, shown_key, value_text
from zeroclaw_tui.memory.errors import BrokenConfig, InspectorError, WrongUse


def edited(text: str, values: Mapping[str, Any], changes: Mapping[KeyPath, Any]) -> tuple[str, dict[str, Any]]:
    """The text with these keys set, and what TOML reads in it; `values` is what it reads in the text as given.

    Raises BrokenConfig where a key cannot be set, WrongUse for a value that no file can hold, InspectorError when the
    result would not read as meant.
    """
    try:
        return _edited(text, values, changes)
    except RecursionError as error:
        raise BrokenConfig(
            "This config nests its tables too deeply to be changed.", hint="Look at its longest keys and lists."
        ) from error


def _edited(text: str, values: Mapping[str, Any], changes: Mapping[KeyPath, Any]) -> tuple[str, dict[str, Any]]:
    meant = copy.deepcopy(dict(values))
    for table, wanted in _by_table(changes).items():
        present = _table_at(meant, table, wanted)
        differing = {name: value for name, value in wanted.items() if not _serves(present, name, value)}
        if differing:
            _check(present, table, differing)
            text = _with_keys(text, table, present, differing)
            _made_table(meant, table).update({name: _as_read(value) for name, value in differing.items()})
    return text, _read_back(text, meant, changes)


def _by_table(changes: Mapping[KeyPath, Any]) -> dict[KeyPath, dict[str, Any]]:
    by_table: dict[KeyPath, dict[str, Any]] = {}
    for path, value in changes.items():
        by_table.setdefault(tuple(path[:-1]), {})[path[-1]] = value
    return by_table


def _table_at(values: dict[str, Any], table: KeyPath, wanted: Mapping[str, Any]) -> dict[str, Any] | None:
    """The table as it is, None when there is none. Raises BrokenConfig when the way leads through no table."""
    found: Any = values
    for depth, name in enumerate(table, start=1):
        if name not in found:
            return None
        found = found[name]
        if not isinstance(found, dict):
            what = "a list" if isinstance(found, list) else "a single value"
            where, key = shown_key(table[:depth]), shown_key((*table, *list(wanted)[:1]))
            raise BrokenConfig(
                f"{where} is {what} in this config and not a table, so {key} cannot be set.",
                hint=f"Make {where} a table, or take it out.",
            )
    return dict(found)


def _serves(present: Mapping[str, Any] | None, name: str, value: Any) -> bool:
    return present is not None and name in present and serves_as(present[name], value)


def _check(present: Mapping[str, Any] | None, table: KeyPath, wanted: Mapping[str, Any]) -> None:
    for name, value in wanted.items():
        if isinstance((present or {}).get(name), dict):
            key = shown_key((*table, name))
            raise BrokenConfig(
                f"{key} is a table in this config where a single value belongs.",
                hint=f"Take the table {key} out, or rename it.",
            )
        try:
            (name + value_text(value)).encode("utf-8")
        except UnicodeEncodeError as error:
            raise WrongUse(
                f"The value given for {shown_key((*table, name))} holds bytes that are not text.",
                hint="Give it as UTF-8.",
            ) from error


def _with_keys(text: str, table: KeyPath, present: Mapping[str, Any] | None, wanted: Mapping[str, Any]) -> str:
    sections = sections_of(text)
    splices: list[Splice] = []
    missing: list[str] = []
    for name, value in wanted.items():
        if present is not None and name in present:
            splices.append(_replaced(sections, (*table, name), value_text(value)))
        else:
            missing.append(name)
    if missing:
        splices.append(new_keys(text, sections, table, {name: value_text(wanted[name]) for name in missing}))
    for splice in sorted(splices, key=lambda each: each.start, reverse=True):
        text = text[: splice.start] + splice.text + text[splice.end :]
    return text


def _replaced(sections: list[Section], path: KeyPath, written: str) -> Splice:
    for section in sections:
        for statement, _line in section.pairs:
            for pair in statement.all_pairs():
                if pair.path == path:
                    return Splice(pair.value_start, pair.value_end, written)
    raise BrokenConfig(
        f"{shown_key(path)} is a list of tables in this config where a single value belongs.",
        hint=f"Take the sections [[{shown_key(path)}]] out, or rename them.",
    )


def _made_table(values: dict[str, Any], table: KeyPath) -> dict[str, Any]:
    for name in table:
        values = values.setdefault(name, {})
    return values


def _as_read(value: Any) -> Any:
    return [_as_read(item) for item in value] if isinstance(value, list | tuple) else value


def _read_back(text: str, meant: dict[str, Any], changes: Mapping[KeyPath, Any]) -> dict[str, Any]:
    try:
        values = tomllib.loads(text)
        sections_of(text)
    except (tomllib.TOMLDecodeError, NotUnderstood) as error:
        raise _slip(changes) from error
    if not is_same_value(values, meant):
        raise _slip(changes)
    return values


def _slip(changes: Mapping[KeyPath, Any]) -> InspectorError:
    keys = ", ".join(shown_key(path) for path in changes)
    return InspectorError(
        f"This config is written in a way in which {keys} could not be changed safely, so nothing was written.",
        hint="Change it by hand, and report the way the sections around it are written.",
    )
