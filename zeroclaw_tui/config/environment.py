"""Environment variables that stand above config.toml, and those that seem to."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from zeroclaw_tui.config.form import Form
from zeroclaw_tui.config.memory_config import Notes
from zeroclaw_tui.config.schema import KIND_WORDS, MEMORY_KEYS, STORAGE_KEYS, Kind, fits

_GENERIC = re.compile(r"ZEROCLAW_([a-z0-9_]+)")
_SECTIONS = frozenset({"memory", "storage", "providers", "agents", "schema_version"})

STORAGE_PROVIDER = "ZEROCLAW_STORAGE_PROVIDER"
STORAGE_DB_URL = "ZEROCLAW_STORAGE_DB_URL"
STORAGE_TIMEOUT = "ZEROCLAW_STORAGE_CONNECT_TIMEOUT_SECS"
OTHERS_DB_URL = "DATABASE_URL"
OUR_DB_URLS = ("ZEROCLAW_POSTGRES_URL", "ZEROCLAW_DB_URL")

_OLD_PREFIXES = ("ZEROCLAW_STORAGE_", "ZEROCLAW_LUCID_")

LUCID_COMMAND = "ZEROCLAW_LUCID_CMD"
LUCID_VARIABLES: Mapping[str, tuple[str, int]] = {
    "ZEROCLAW_LUCID_BUDGET": ("budget", 1),
    "ZEROCLAW_LUCID_LOCAL_HIT_THRESHOLD": ("local_hit_threshold", 1),
    "ZEROCLAW_LUCID_RECALL_TIMEOUT_MS": ("recall_timeout_ms", 20),
    "ZEROCLAW_LUCID_STORE_TIMEOUT_MS": ("store_timeout_ms", 50),
    "ZEROCLAW_LUCID_FAILURE_COOLDOWN_MS": ("failure_cooldown_ms", 100),
}
"""Each whole-number variable of the Lucid bridge (ZeroClaw <= 0.7.5): our key, and the least value it takes."""


def source_of(variable: str) -> str:
    """How a variable is named as a source."""
    return f"environment {variable}"


def given(environ: Mapping[str, str], variable: str) -> str:
    """The trimmed value of a variable, empty when it is not set or blank."""
    return environ.get(variable, "").strip()


def apply_generic(document: dict[str, Any], environ: Mapping[str, str], form: Form, notes: Notes) -> dict[str, Any]:
    """The document with each `ZEROCLAW_<path>` put in (ZeroClaw >= 0.8.0: lower case, `__` for dots).

    The document is changed in place and returned. Names that do nothing in this generation are told.
    """
    for variable in sorted(environ):
        matched = _GENERIC.fullmatch(variable)
        path = matched.group(1).split("__") if matched else []
        if not path or path[0] not in _SECTIONS:
            continue
        if form.is_modern:
            _apply(document, path, variable, environ[variable], notes)
        else:
            notes.warn(f"{variable} does nothing here: only ZeroClaw >= 0.8.0 reads such names.")
    if form.is_modern:
        for variable in sorted(environ):
            if variable.startswith(_OLD_PREFIXES) and given(environ, variable):
                notes.warn(f"{variable} does nothing here: ZeroClaw >= 0.8.0 no longer reads it.")
    return document


def _apply(document: dict[str, Any], path: list[str], variable: str, text: str, notes: Notes) -> None:
    kind = _kind_at(path)
    if kind is None:
        why = "cannot be set so" if path == ["schema_version"] else "names no key"
        notes.warn(f"{variable} {why}; ZeroClaw >= 0.8.0 does not start with it.")
        return
    value = parsed(kind, text)
    if value is None:
        notes.warn(f"{variable} is not {KIND_WORDS[kind]}; ZeroClaw >= 0.8.0 does not start with it.")
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
    """The type of the key a path leads to, None when no key of ZeroClaw >= 0.8.0 lies there."""
    section, *rest = path
    if section == "memory":
        key = MEMORY_KEYS.get(".".join(rest))
        return key.kind if key is not None and key.until is None else None
    if section == "storage":
        return STORAGE_KEYS.get(rest[0], {}).get(rest[2]) if len(rest) == 3 else None
    if section == "agents" and rest[1:] == ["workspace", "read_memory_from"]:
        return "texts"
    return "text" if len(rest) > 1 else None


def parsed(kind: Kind, text: str) -> Any:
    """The value a variable's text stands for, None when it is not of that type. Lists are JSON or comma-separated."""
    if kind == "text":
        return text
    if kind == "texts" and not text.lstrip().startswith("["):
        return [item.strip() for item in text.split(",") if item.strip()]
    import json

    readers: dict[Kind, Callable[[str], Any]] = {"count": int, "number": float}
    try:
        value = readers.get(kind, json.loads)(text.strip())
    except ValueError:
        return None
    return value if fits(kind, value) else None


def lucid_settings(environ: Mapping[str, str], notes: Notes) -> dict[str, Any]:
    """What the variables of the Lucid bridge say (ZeroClaw <= 0.7.5).

    A number below its least is raised to it, but for the budget: one of 0 is left out.
    """
    settings: dict[str, Any] = {}
    command = given(environ, LUCID_COMMAND)
    if command:
        settings["binary_path"] = command
        notes.sources["storage.binary_path"] = source_of(LUCID_COMMAND)
    for variable, (name, least) in LUCID_VARIABLES.items():
        text = given(environ, variable)
        number = parsed("count", text) if text else None
        if name == "budget" and number == 0:
            notes.warn(f"{variable} is 0 and is left out.")
        elif number is not None:
            settings[name] = max(number, least)
            notes.sources[f"storage.{name}"] = source_of(variable)
        elif text:
            notes.warn(f"{variable} is not {KIND_WORDS['count']} and is left out.")
    return settings
