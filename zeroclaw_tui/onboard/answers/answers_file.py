"""Answers in a file: read in either generation's spelling, written without secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from zeroclaw_tui.config.document.values import value_text
from zeroclaw_tui.config.notes import shown
from zeroclaw_tui.config.schema import MEMORY_KEYS, STORAGE_KEYS, kind_of
from zeroclaw_tui.config.setting_names import (
    DEFAULT_ALIAS,
    SETTINGS,
    checked_value,
    is_left_out,
    probably_meant,
    setting_name,
)
from zeroclaw_tui.config.toml_file import read_toml
from zeroclaw_tui.memory.errors import BrokenConfig, WrongUse
from zeroclaw_tui.memory.text import mask_secrets
from zeroclaw_tui.onboard.answers.given import Given

_SECTIONS = ("memory", "storage")
_SIGNS_OF_A_CONFIG = (*_SECTIONS, "schema_version", "default_temperature")
_ROUTES = ("embedding_routes", "model_routes")
_TABLES = frozenset(name.partition(".")[0] for name in MEMORY_KEYS if "." in name)
_PROVIDER = "storage.provider.config.provider"
_SECRET_VARIABLES = {
    "storage.postgres.db_url": "ZEROCLAW_POSTGRES_URL",
    "storage.qdrant.api_key": "QDRANT_API_KEY",
    "memory.embedding_api_key": "ZEROCLAW_memory__embedding_api_key",
}


def read_answers(path: Path) -> dict[str, Any]:
    """The settings of an answers file by name; it may also have the shape of a config.toml. Raises BrokenConfig,
    WrongUse."""
    document = None if path.is_dir() else read_toml(path)
    if document is None:
        what = f"{path} is a folder, not an answers file." if path.is_dir() else f"There is no answers file {path}."
        raise WrongUse(what, hint="Give the path of a file with answers in TOML.")
    return settings_in(document, str(path))


def settings_in(document: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The settings of a TOML document by name, each checked; `where` is named when one cannot be read."""
    found: dict[str, Any] = {}
    override = ""
    for written, value in _entries(document, where):
        if written == _PROVIDER:
            override = _provider(value, where)
        elif not is_left_out(written):
            name, value = _setting(written, value, where)
            if name in found and found[name] != value:
                raise WrongUse(f"{where} sets {name} twice, to different values.", hint="Leave one of them out.")
            found[name] = value
    # What stands there overrides memory.backend in ZeroClaw <= 0.7.5, the only one that reads it.
    return found | {"memory.backend": override} if override else found


def _provider(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise BrokenConfig(f"{where}: {_PROVIDER} is {kind_of(value)} and must be a text in quotes.", hint="Mend it.")
    return value.strip()


def _setting(written: str, value: Any, where: str) -> tuple[str, Any]:
    try:
        name = setting_name(written)
        return name, checked_value(name, value)
    except WrongUse as problem:
        raise WrongUse(f"{where}: {problem.message}", hint=problem.hint) from problem


def _entries(document: Mapping[str, Any], where: str) -> Iterator[tuple[str, Any]]:
    """Each setting as it is spelled, with its value; what only a whole config has is left out."""
    is_config = any(name in document for name in _SIGNS_OF_A_CONFIG)
    for name, value in document.items():
        if name in _SECTIONS and not isinstance(value, dict):
            raise BrokenConfig(f"{where}: {name} is {kind_of(value)} and must be a table.", hint="Mend it.")
        if name == "storage":
            yield from _storage(value, document, where)
        elif name == "memory":
            yield from _leaves(value, "memory")
        elif isinstance(value, dict):
            yield from _leaves(value, f"memory.{name}") if name in _TABLES else ()
        elif not _is_config_only(name, value, is_config):
            yield name, value


def _is_config_only(name: str, value: Any, is_config: bool) -> bool:
    if name in _ROUTES or (isinstance(value, list) and any(isinstance(item, dict) for item in value)):
        return True
    return is_config and not _is_known(name) and probably_meant(name) is None


def _is_known(name: str) -> bool:
    return f"memory.{name}" in SETTINGS or name in MEMORY_KEYS or name.partition(".")[0] in _SECTIONS


def _leaves(table: Mapping[str, Any], above: str) -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{above}.{name}")
        else:
            yield f"{above}.{name}", value


def _storage(storage: Mapping[str, Any], document: Mapping[str, Any], where: str) -> Iterator[tuple[str, Any]]:
    for kind, table in storage.items():
        if kind not in STORAGE_KEYS or not isinstance(table, dict):
            yield from _leaves({kind: table}, "storage")
            continue
        aliases = {name: below for name, below in table.items() if isinstance(below, dict)}
        plain = {name: value for name, value in table.items() if name not in aliases}
        yield from _leaves(plain, f"storage.{kind}")
        if aliases:
            yield from _leaves(aliases[_meant_alias(kind, aliases, document, where)], f"storage.{kind}")


def _meant_alias(kind: str, aliases: Mapping[str, Any], document: Mapping[str, Any], where: str) -> str:
    memory = document.get("memory")
    backend = memory.get("backend", "") if isinstance(memory, dict) else document.get("memory.backend", "")
    named, dot, alias = str(backend).strip().partition(".")
    if named.lower() == kind and dot and alias in aliases:
        return alias
    if len(aliases) == 1:
        return next(iter(aliases))
    if DEFAULT_ALIAS in aliases:
        return DEFAULT_ALIAS
    names = ", ".join(shown(name) for name in aliases)
    raise WrongUse(
        f"{where} has several [storage.{kind}] tables ({names}), and memory.backend names none of them.",
        hint="Leave one of them, or name it as memory.backend.",
    )


def answers_file_text(given: Mapping[str, Given]) -> str:
    """Given answers as an answers file (TOML, commented, no secrets: each is named in a comment instead)."""
    lines = [
        "# Answers for `zeroclaw onboard --answers FILE`. Flags and environment variables stand above them.",
    ]
    tables: dict[str, list[str]] = {}
    for name in sorted(given, key=list(SETTINGS).index):
        parts = name.split(".")
        depth = 1 if parts[0] == "memory" else 2
        tables.setdefault(".".join(parts[:depth]), []).extend(_lines(name, ".".join(parts[depth:]), given[name].value))
    for table, below in tables.items():
        lines += ["", f"[{table}]", *below]
    return "\n".join(lines) + "\n"


def _lines(name: str, key: str, value: Any) -> list[str]:
    if SETTINGS[name].is_secret or (isinstance(value, str) and mask_secrets(value) != value):
        variable = _SECRET_VARIABLES.get(name)
        ways = f"--set {name}=…" + (f" or the variable {variable}" if variable else "")
        return [f"# {name} holds a secret and is not kept in this file; give it with {ways}."]
    return [f"# {SETTINGS[name].about}", f"{key} = {value_text(value)}"]
