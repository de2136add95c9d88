"""What ZeroClaw's own `Config::validate` refuses about memory, so that it is never written.

Before 0.8.0 it checks nothing of memory, then who reads whose memory, and from 0.8.4 on the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from zeroclaw_tui.config.memory_config import NEWEST_SCHEMA, Notes, kind_named, shown, to_third_schema
from zeroclaw_tui.config.schema import MEMORY_KEYS, Target, fits, version_numbers
from zeroclaw_tui.memory.errors import UsageError

_CHECKS_AGENTS_SINCE = (0, 8, 0)
_CHECKS_VALUES_SINCE = (0, 8, 4)
_SQLITE_ONLY = ("types.enabled", "consolidation_extract_facts")


class Violation(NamedTuple):
    """One thing ZeroClaw refuses: a sentence, what to do, and the settings behind it as config.toml spells them."""

    message: str
    hint: str
    keys: frozenset[str]


def violations(document: Mapping[str, Any], version: str) -> tuple[Violation, ...]:
    """What that ZeroClaw version refuses in the values of a config.toml. Wrong types are not its concern."""
    numbers = version_numbers(version)
    if numbers < _CHECKS_AGENTS_SINCE:
        return ()
    schema = document.get("schema_version", 1)
    is_number = isinstance(schema, int) and not isinstance(schema, bool)
    target = Target(min(schema, NEWEST_SCHEMA) if is_number else 1, has_aliases=True, is_modern=True)
    config = to_third_schema(dict(document), target, Notes())
    found = list(_of_agents(config))
    if numbers >= _CHECKS_VALUES_SINCE:
        found += [*_of_ranges(config), *_of_sqlite_only(config), *_of_lucid(config)]
    return tuple(found)


def check_change(before: Mapping[str, Any], after: Mapping[str, Any], changed: Iterable[str], version: str) -> None:
    """Raise UsageError where a change makes a config one that ZeroClaw refuses, or touches what it refuses already.

    `changed` are the keys that are written, as config.toml spells them. What is wrong elsewhere is no reason to refuse.
    """
    present, touched = violations(before, version), frozenset(changed)
    for violation in violations(after, version):
        if violation not in present or violation.keys & touched:
            raise UsageError(f"ZeroClaw {version} refuses such a config: {violation.message}", hint=violation.hint)


def _of_ranges(config: Mapping[str, Any]) -> Iterator[Violation]:
    for key, setting in MEMORY_KEYS.items():
        value = _table(config, "memory").get(key)
        if not setting.is_validated or value is None or not fits(setting.kind, value):
            continue
        low, high = setting.low or 0, setting.high or 0
        if not (math.isfinite(value) and low <= value <= high):
            allowed = f"from {low:g} to {high:g}"
            yield Violation(
                f"{setting.name} is {value:g} and must be a number {allowed}.",
                f"Set it {allowed}: --set {setting.name}={setting.default}.",
                frozenset({setting.name}),
            )


def _of_sqlite_only(config: Mapping[str, Any]) -> Iterator[Violation]:
    memory = _table(config, "memory")
    others = {f"agents.{alias}.memory.backend": kind for alias, kind in _backends_of_agents(config).items()}
    users = {"memory.backend": kind_named(memory.get("backend")), **others}
    for key in _SQLITE_ONLY:
        table, _, name = key.rpartition(".")
        if _table(memory, *filter(None, [table])).get(name) is not True:
            continue
        for where, kind in users.items():
            if kind != "sqlite":
                yield Violation(
                    f"memory.{key} = true needs sqlite, and {shown(where)} is {shown(kind)}.",
                    f"Switch it off: --set memory.{key}=false.",
                    frozenset({f"memory.{key}", where}),
                )


def _of_lucid(config: Mapping[str, Any]) -> Iterator[Violation]:
    for alias in _table(config, "storage", "lucid"):
        for name, value in _table(config, "storage", "lucid", alias).items():
            key = f"storage.lucid.{alias}.{name}"
            if name == "binary_path" and isinstance(value, str) and not value.strip():
                yield Violation(f"{shown(key)} must not be blank.", "Name the lucid program there.", frozenset({key}))
            if name.endswith("_timeout_ms") and value == 0 and not isinstance(value, bool):
                yield Violation(f"{shown(key)} must not be 0.", "Give milliseconds from 1 on.", frozenset({key}))


def _of_agents(config: Mapping[str, Any]) -> Iterator[Violation]:
    backends = _backends_of_agents(config)
    for alias, backend in backends.items():
        names = _table(config, "agents", alias, "workspace").get("read_memory_from", [])
        for name in names if fits("texts", names) else ():
            key = f"agents.{alias}.workspace.read_memory_from"
            wrong = ""
            if name == alias:
                wrong = "names the agent itself"
            elif name not in backends:
                wrong = f"names {shown(name)}, and there is no such agent"
            elif backends[name] != backend:
                wrong = f"names {shown(name)}, whose memory is in {shown(backends[name])} and not in {shown(backend)}"
            if wrong:
                keys = frozenset({key, f"agents.{alias}.memory.backend", f"agents.{name}.memory.backend"})
                yield Violation(f"{shown(key)} {wrong}.", f"Take {shown(name)} out there.", keys)


def _backends_of_agents(config: Mapping[str, Any]) -> dict[str, str]:
    agents = _table(config, "agents")
    return {alias: kind_named(_table(config, "agents", alias, "memory").get("backend")) for alias in agents}


def _table(values: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    found: Any = values
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}
