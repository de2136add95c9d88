"""Where each setting lies in a config.toml, and what stands there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zeroclaw_tui.config.document.document import ConfigDocument, KeyPath
from zeroclaw_tui.config.form import NEWEST_SCHEMA
from zeroclaw_tui.config.notes import shown
from zeroclaw_tui.config.schema import DB_URL_ALIASES, KIND_WORDS, fits, kind_of
from zeroclaw_tui.config.setting_table import BACKEND, SETTINGS, Target, version_numbers
from zeroclaw_tui.memory.errors import BrokenConfig

DEFAULT_ALIAS = "default"
PROVIDER_CONFIG: KeyPath = ("storage", "provider", "config")

_IN_MEMORY = {
    "storage.postgres.vector_enabled": "postgres.vector_enabled",
    "storage.postgres.vector_dimensions": "postgres.vector_dimensions",
    "storage.qdrant.url": "qdrant.url",
    "storage.qdrant.collection": "qdrant.collection",
    "storage.qdrant.api_key": "qdrant.api_key",
    "storage.sqlite.open_timeout_secs": "sqlite_open_timeout_secs",
}
"""The storage settings that ZeroClaw <= 0.7.5 keeps below [memory]."""
_FIRST_VECTORS = {
    "storage.postgres.vector_enabled": "pgvector_enabled",
    "storage.postgres.vector_dimensions": "pgvector_dimensions",
}
"""Their spelling in [storage.provider.config], which only 0.6.1 and 0.6.2 read."""
_FIRST_VECTOR_VERSIONS = ((0, 6, 1), (0, 6, 2))


def place_of(name: str, document: ConfigDocument, target: Target, alias: str = DEFAULT_ALIAS) -> KeyPath:
    """Where the setting lies, or would lie, in this file; another spelling that the file uses (dbURL) is kept.

    ZeroClaw >= 0.8.0 takes what an older file has in the old places for the alias `default`, so that a value found
    there, and nowhere else, is changed there.
    """
    section, kind, *rest = name.split(".")
    if section == "memory":
        return tuple(name.split("."))
    aliased = _spelled(document, (section, kind, alias, *rest))
    if kind == "lucid":
        return aliased
    old = _old_place(name, document, target)
    if not target.has_aliases:
        return old
    is_moved = target.schema < NEWEST_SCHEMA and alias == DEFAULT_ALIAS
    return old if is_moved and document.has(old) and not document.has(aliased) else aliased


def _old_place(name: str, document: ConfigDocument, target: Target) -> KeyPath:
    """The place of a storage setting in the form up to 0.7.5."""
    if name in _FIRST_VECTORS and _has_first_vectors(document, target):
        return (*PROVIDER_CONFIG, _FIRST_VECTORS[name])
    if name in _IN_MEMORY:
        return ("memory", *_IN_MEMORY[name].split("."))
    return _spelled(document, (*PROVIDER_CONFIG, name.rpartition(".")[2]))


def _has_first_vectors(document: ConfigDocument, target: Target) -> bool:
    if target.is_modern:
        return False
    if target.version is not None:
        first, last = _FIRST_VECTOR_VERSIONS
        return first <= version_numbers(target.version) <= last
    return any(document.has((*PROVIDER_CONFIG, key)) for key in _FIRST_VECTORS.values())


def _spelled(document: ConfigDocument, path: KeyPath) -> KeyPath:
    if path[-1] != "db_url" or document.has(path):
        return path
    used = (*(((*path[:-1], spelling)) for spelling in DB_URL_ALIASES),)
    return next((other for other in used if document.has(other)), path)


def written_value(name: str, document: ConfigDocument, target: Target, alias: str = DEFAULT_ALIAS) -> Any:
    """The value the file has for a setting, None when it has none. Raises BrokenConfig for a value of a wrong type,
    naming the key but never showing a secret. An encrypted value is returned as it stands. `memory.backend` is
    returned as written, trimmed."""
    key = SETTINGS[name]
    path = place_of(name, document, target, alias)
    _check_tables(document, path)
    value = document.get(path)
    if value is None:
        return None
    if not fits(key.kind, value):
        raise _wrong_type(path, value, KIND_WORDS[key.kind])
    if key.kind == "count" and value > key.largest:
        raise _wrong_type(path, value, f"a whole number from 0 to {key.largest}")
    if key.kind == "number":
        return float(value)
    return _plain(name, value)


def _plain(name: str, value: Any) -> Any:
    """A value free of the document's own types, so that nobody changes the document by it."""
    if isinstance(value, str):
        return str(value).strip() if name == BACKEND else str(value)
    return [str(item) for item in value] if isinstance(value, list) else value


def _check_tables(document: ConfigDocument, path: KeyPath) -> None:
    for depth in range(1, len(path)):
        value = document.get(path[:depth])
        if value is not None and not isinstance(value, Mapping):
            raise _wrong_type(path[:depth], value, "a table")


def _wrong_type(path: KeyPath, value: Any, expected: str) -> BrokenConfig:
    return BrokenConfig(
        f"{shown('.'.join(path))} in config.toml is {kind_of(value)} and must be {expected}.",
        hint="Mend it by hand; ZeroClaw <= 0.7.5 refuses such a config, >= 0.8.0 drops the whole section.",
    )
