"""The backend in use and the settings of its store; environment variables that override config.toml."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from zeroclaw_tui.config.memory_config import DEFAULT, FILE, OPTION, Notes, shown
from zeroclaw_tui.config.schema import (
    DB_URL_ALIASES,
    KIND_WORDS,
    MEMORY_KEYS,
    PROVIDER_CONFIG,
    SETTINGS,
    STORE_KINDS,
    WITHOUT_POSTGRES,
    Kind,
    Setting,
    Target,
    parse_as,
    settings_of,
    table_keys,
)

STORAGE_PROVIDER = SETTINGS["memory.backend"].variable
STORAGE_DB_URL = SETTINGS["storage.postgres.db_url"].variable
SHARED_DB_URL = "DATABASE_URL"
OUR_DB_URLS = ("ZEROCLAW_POSTGRES_URL", "ZEROCLAW_DB_URL")
ZEROCLAW_BACKENDS = frozenset({*STORE_KINDS, "none"})
_GENERIC = r"ZEROCLAW_([a-z0-9_]+)"
_SECTIONS = frozenset({"memory", "storage", "providers", "agents", "schema_version"})


class ConfigReader(NamedTuple):
    """Reads the settings of a config from its document, after migration, and from the environment; collects notes."""

    document: Mapping[str, Any]
    environ: Mapping[str, str]
    target: Target
    notes: Notes
    decrypt: Callable[[str, str], str | None]
    """Decrypts a config value, given the name of its key; returns None after a warning."""

    def table(self, *path: str) -> dict[str, Any]:
        """The table at a path of the document, empty if there is none."""
        return self.notes.table(self.document, *path)


def source_of(variable: str) -> str:
    """The name of a variable as a source."""
    return f"environment {variable}"


def read_variable(environ: Mapping[str, str], variable: str) -> str:
    """The trimmed value of a variable, empty if it is not set or blank."""
    return environ.get(variable, "").strip()


def apply_generic(document: dict[str, Any], environ: Mapping[str, str], target: Target, notes: Notes) -> dict[str, Any]:
    """Set the values of each `ZEROCLAW_<path>` in the document, in place (ZeroClaw >= 0.8.0: `__` for dots)."""
    for variable in sorted(environ) if target.is_modern else ():
        matched = re.fullmatch(_GENERIC, variable)
        path = matched.group(1).split("__") if matched else []
        if path and path[0] in _SECTIONS:
            _apply(document, path, variable, environ[variable], notes)
    return document


def _apply(document: dict[str, Any], path: list[str], variable: str, text: str, notes: Notes) -> None:
    kind = _kind_at(path)
    value = None if kind is None else parse_as(kind, text)
    if value is None:
        wrong = "names no setting" if kind is None else f"is not {KIND_WORDS[kind]}"
        notes.warn(f"{variable} {wrong}; ZeroClaw >= 0.8.0 does not start with it.")
        return
    table = document
    for name in path[:-1]:
        below = table.get(name)
        if not isinstance(below, dict):
            below = table[name] = {}
        table = below
    table[path[-1]] = value
    notes.sources[".".join(path)] = source_of(variable)


def _kind_at(path: list[str]) -> Kind | None:
    """The type of the key at a path, None if ZeroClaw >= 0.8.0 has no such key."""
    section, *rest = path
    if section == "memory":
        setting = MEMORY_KEYS.get(".".join(rest))
        return setting.kind if setting is not None and setting.until is None else None
    if section == "storage":
        return table_keys(rest[0]).get(rest[2]) if len(rest) == 3 else None
    if section == "agents" and rest[1:] == ["workspace", "read_memory_from"]:
        return "texts"
    return "text" if len(rest) > 1 else None


def value_from_variable(setting: Setting, environ: Mapping[str, str], notes: Notes) -> Any:
    """Read the variable of a setting (ZeroClaw <= 0.7.5), None if it has no usable value."""
    text = read_variable(environ, setting.variable)
    if not text:
        return None
    value = parse_as(setting.kind, text)
    if setting.kind == "count" and value is not None:
        value = max(value, setting.least or 0) or None
    if value is None:
        expected = "a whole number from 1" if setting.kind == "count" else KIND_WORDS[setting.kind]
        notes.warn(f"{setting.variable} is not {expected} and is left out.")
    return value


class Backend(NamedTuple):
    """The requested kind, its alias in schema 3, and the kind that ZeroClaw would use."""

    kind: str
    alias: str | None
    in_zeroclaw: str


def choose_backend(reader: ConfigReader, written: str, option: str | None) -> Backend:
    """Determine the backend in use; `written` is memory.backend. The kind is lowered as in ZeroClaw, not the alias."""
    name = written.strip() if reader.target.is_modern else _overriding(reader) or written.strip().lower()
    in_zeroclaw = _in_zeroclaw(name.lower(), reader.target, reader.notes)
    if option is not None:
        name = option.strip()
        reader.notes.sources["memory.backend"] = OPTION
    kind, dot, alias = name.partition(".")
    return Backend(kind.lower(), alias if dot else None, in_zeroclaw)


def _overriding(reader: ConfigReader) -> str:
    """The name that overrides memory.backend in ZeroClaw <= 0.7.5, empty if there is none."""
    name, source, notes = read_variable(reader.environ, STORAGE_PROVIDER), source_of(STORAGE_PROVIDER), reader.notes
    if not name:
        settings = reader.table(*PROVIDER_CONFIG.split("."))
        name = (notes.value(settings, "provider", "text", f"{PROVIDER_CONFIG}.provider") or "").strip()
        source = f"{FILE}, [{PROVIDER_CONFIG}] provider"
    if name:
        notes.sources["memory.backend"] = source
    return name.lower()


def _in_zeroclaw(name: str, target: Target, notes: Notes) -> str:
    """The kind that ZeroClaw uses for a name: Markdown for an unknown one."""
    known = name.partition(".")[0] if target.is_modern else name
    is_away = known == "postgres" and WITHOUT_POSTGRES[0] <= target.numbers <= WITHOUT_POSTGRES[1]
    if known in ZEROCLAW_BACKENDS and not is_away:
        return known
    notes.warn(f'ZeroClaw itself does not know the backend "{shown(name)}" and uses Markdown instead.', "store")
    return "markdown"


def read_storage(reader: ConfigReader, memory: Mapping[str, Any], backend: Backend) -> dict[str, Any]:
    """Read the settings of the backend's store, with decrypted secrets; `notes.sources` has them as `storage.<key>`."""
    notes, is_own = reader.notes, backend.kind not in ZEROCLAW_BACKENDS
    settings = _own(reader, backend) if is_own else _of_zeroclaw(reader, memory, backend)
    for name in settings:
        notes.sources.setdefault(f"storage.{name}", FILE)
    for name in list(settings) if is_own else ("db_url", "api_key"):
        value = settings.get(name)
        # ZeroClaw <= 0.7.5 uses Qdrant's key literally, even with the prefix of an encrypted value.
        if isinstance(value, str) and (is_own or reader.target.is_modern or name == "db_url"):
            settings[name] = reader.decrypt(value, f"storage.{name}")
    if backend.kind == "postgres":
        _postgres_url(settings, reader)
    known = () if backend.kind == "lucid" else settings_of(backend.kind)
    defaults = {setting.key: setting.default for setting in known if setting.default is not None}
    for name in defaults:
        notes.sources.setdefault(f"storage.{name}", DEFAULT)
    return {**defaults, **settings}


def _own(reader: ConfigReader, backend: Backend) -> dict[str, Any]:
    """Read the settings of a backend that ZeroClaw does not have: `[storage.NAME]`, overridden by
    `[storage.NAME.<alias>]`. The backend checks their types.
    """
    kind, alias, notes = backend.kind, backend.alias or "default", reader.notes
    table = reader.table("storage", kind)
    settings = _with_url({name: value for name, value in table.items() if not isinstance(value, dict)})
    if isinstance(table.get(alias), dict):
        settings |= _with_url(notes.table(table, alias))
    elif backend.alias:
        notes.warn(f"There is no [storage.{shown(kind)}.{shown(alias)}].", "store")
    if table:
        notes.warn(
            f"[storage.{shown(kind)}] is read by this program alone: ZeroClaw ignores it, and may leave it out when it "
            "saves config.toml.",
            "fact",
        )
    return settings


def _of_zeroclaw(reader: ConfigReader, memory: Mapping[str, Any], backend: Backend) -> dict[str, Any]:
    """Read `[storage.<kind>.<alias>]` (ZeroClaw >= 0.8.0), or the old keys and variables (<= 0.7.5)."""
    target, notes = reader.target, reader.notes
    kind, alias = backend.kind, backend.alias or "default"
    path = ("storage", kind, alias) if target.is_modern else tuple(PROVIDER_CONFIG.split("."))
    table = _with_url(reader.table(*path)) if target.is_modern or kind == "postgres" else {}
    if target.is_modern and kind in ("postgres", "qdrant") and alias not in reader.table("storage", kind):
        notes.warn(f"There is no [storage.{kind}.{shown(alias)}]; ZeroClaw does not start {kind} without it.")
    settings: dict[str, Any] = {}
    for setting in settings_of(kind):
        section, _, old_key = setting.old_key.partition(".")
        if not target.is_modern and section == "memory":
            place, value = setting.old_key, memory.get(old_key)
        elif target.is_modern and setting.until is not None:
            continue
        else:
            place = ".".join((*path, setting.key))
            value = notes.value(table, setting.key, setting.kind, place)
        source = notes.sources.get(place, FILE)
        is_asked = not target.is_modern and setting.variable not in ("", STORAGE_DB_URL)
        if is_asked and not (value and setting.variable_fills):
            overriding = value_from_variable(setting, reader.environ, notes)
            if overriding is not None:
                value, source = overriding, source_of(setting.variable)
        if value is not None:
            settings[setting.key], notes.sources[f"storage.{setting.key}"] = value, source
    return settings


def _postgres_url(settings: dict[str, Any], reader: ConfigReader) -> None:
    """Set the effective URL: from ZeroClaw's variable, from ours, from DATABASE_URL, or from config.toml."""
    variables, notes = (*OUR_DB_URLS, SHARED_DB_URL), reader.notes
    for variable in variables if reader.target.is_modern else (STORAGE_DB_URL, *variables):
        url = read_variable(reader.environ, variable)
        if not url or (variable == SHARED_DB_URL and not url.startswith(("postgres://", "postgresql://"))):
            continue
        settings["db_url"] = url
        notes.sources["storage.db_url"] = source_of(variable)
        if variable in OUR_DB_URLS:
            notes.warn(f"{variable} chose the database here; ZeroClaw itself does not read it.", "store")
        return


def _with_url(settings: dict[str, Any]) -> dict[str, Any]:
    """Rename the URL to its usual key."""
    for alias in DB_URL_ALIASES:
        if alias in settings:
            settings.setdefault("db_url", settings.pop(alias))
    return settings
