"""Which of the three schemas a config has, which generation of ZeroClaw reads it, and the change to the third."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

from zeroclaw_tui.config.locations import Install
from zeroclaw_tui.config.notes import Notes, shown
from zeroclaw_tui.config.setting_table import NEWEST_MODERN, NEWEST_OLD, Version, version_numbers

NEWEST_SCHEMA = 3
_FIRST_MODERN = (0, 8, 0)


class Form(NamedTuple):
    """`schema` is what the file says (1 where it says nothing). `is_modern` says that ZeroClaw >= 0.8.0 reads it;
    `version` is which one, where that is known."""

    schema: int
    is_modern: bool
    version: Version | None = None

    @property
    def reading_version(self) -> Version:
        """The version whose rules count: the known one, else the newest of its generation."""
        return self.version or version_numbers(NEWEST_MODERN if self.is_modern else NEWEST_OLD)


def form_of(document: dict[str, Any], install: Install, notes: Notes, version: str | None = None) -> Form:
    """The form of a config. The layout on disk counts too, for ZeroClaw >= 0.8.0 leaves an old file as it is.

    `version` is who is taken to read it; one of the other generation, chosen to look at, tells nothing of the file.
    """
    schema = _schema_of(document, notes)
    is_modern = schema >= NEWEST_SCHEMA or install.layout == "data"
    known = None if version is None else version_numbers(version)
    fits = known is not None and (known >= _FIRST_MODERN) == is_modern
    return Form(schema, is_modern, known if fits else None)


def _schema_of(document: dict[str, Any], notes: Notes) -> int:
    value = document.get("schema_version", 1)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        notes.warn("schema_version is not a whole number from 1; ZeroClaw >= 0.8.0 then starts on its defaults.")
        return 1
    if value > NEWEST_SCHEMA:
        notes.warn(
            f"schema_version {value} is newer than {NEWEST_SCHEMA}, the newest known here; it is read as "
            f"{NEWEST_SCHEMA}, and ZeroClaw up to 0.8.4 starts on its defaults."
        )
    return min(value, NEWEST_SCHEMA)


def to_third_schema(document: dict[str, Any], form: Form, notes: Notes) -> dict[str, Any]:
    """A copy of an older config as ZeroClaw >= 0.8.0 changes it in memory; keys already there win.

    `memory.backend` stays as it is, and a backend that only `[storage.provider.config]` named is lost.
    """
    changed = copy.deepcopy(document)
    if form.schema >= NEWEST_SCHEMA:
        return changed
    providers = notes.table(changed, "providers")
    if "embedding_routes" not in changed and "embedding_routes" in providers:
        changed["embedding_routes"] = providers["embedding_routes"]
    memory = notes.table(changed, "memory")
    storage = notes.table(changed, "storage")
    for kind in ("qdrant", "postgres"):
        _add(storage, kind, notes.table(memory, kind))
        memory.pop(kind, None)
    timeout = memory.pop("sqlite_open_timeout_secs", None)
    if timeout is not None:
        _add(storage, "sqlite", {"open_timeout_secs": timeout})
    _move_provider(storage, notes)
    if "memory" in changed:
        changed["memory"] = memory
    changed["storage"] = storage
    return changed


def _move_provider(storage: dict[str, Any], notes: Notes) -> None:
    settings = notes.table({"storage": storage}, "storage", "provider", "config")
    storage.pop("provider", None)
    named = settings.pop("provider", "")
    if not isinstance(named, str):
        notes.wrong_type("storage.provider.config.provider", named, "a text in quotes", "storage", "is left out")
        named = ""
    kind = named.strip().lower()
    if kind:
        notes.warn(
            f"[storage.provider.config] names the backend {shown(kind)}; ZeroClaw >= 0.8.0 no longer asks it and goes "
            "by memory.backend alone."
        )
    renamed = {"sqlite": {"db_url": "path", "connect_timeout_secs": "open_timeout_secs"}, "qdrant": {"db_url": "url"}}
    names = renamed.get(kind or "sqlite", {})
    _add(storage, kind or "sqlite", {names.get(name, name): value for name, value in settings.items()})


def _add(storage: dict[str, Any], kind: str, settings: dict[str, Any]) -> None:
    if not settings:
        return
    aliases = storage.get(kind, {})
    if isinstance(aliases, dict):
        present = aliases.get("default", {})
        if isinstance(present, dict):
            storage[kind] = {**aliases, "default": {**settings, **present}}
