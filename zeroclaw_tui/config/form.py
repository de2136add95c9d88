"""Which of the three schemas a config has, which generation of ZeroClaw reads it, the change to the third, and what
ZeroClaw's own `Config::validate` refuses about memory, so that no such config is written.

Of the validation: from ZeroClaw's tagged sources; read_memory_from is checked from 0.8.0 on, the rest from 0.8.4 on.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from zeroclaw_tui.config.locations import Install
from zeroclaw_tui.config.memory_config import Notes, shown
from zeroclaw_tui.config.schema import MEMORY_KEYS, NEWEST_MODERN, NEWEST_OLD, Version, fits, version_numbers
from zeroclaw_tui.memory.errors import WrongUse

NEWEST_SCHEMA = 3
_FIRST_MODERN = (0, 8, 0)
VALIDATED_SINCE = (0, 8, 4)
_SIBLINGS_SINCE = (0, 8, 0)
_RANGES = ("candidate_multiplier", "min_relevance_score", "mmr_lambda", "importance_weight", "recency_weight")
_SQLITE_ONLY = ("types.enabled", "consolidation_extract_facts")
_TIMEOUTS = ("recall_timeout_ms", "store_timeout_ms")
_BACKEND = "memory.backend"


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


class Violation(NamedTuple):
    """One thing ZeroClaw refuses: a sentence, what to do, and the settings behind it as config.toml spells them."""

    message: str
    hint: str
    keys: frozenset[str]


def violations(document: Mapping[str, Any], version: str) -> tuple[Violation, ...]:
    """What `Config::validate` of that ZeroClaw version refuses in a config as TOML reads it, in any schema.

    What it cannot read at all (a wrong type) is no matter of validation and passes here.
    """
    numbers = version_numbers(version)
    if numbers < _SIBLINGS_SINCE:
        return ()
    schema = document.get("schema_version", 1)
    is_number = isinstance(schema, int) and not isinstance(schema, bool)
    config = to_third_schema(dict(document), Form(min(schema, 3) if is_number else 1, is_modern=True), Notes())
    found = list(_of_siblings(config))
    if numbers >= VALIDATED_SINCE:
        found += [*_of_ranges(config), *_of_sqlite_only(config), *_of_lucid(config)]
    return tuple(found)


def check_change(before: Mapping[str, Any], after: Mapping[str, Any], changed: Iterable[str], version: str) -> None:
    """Raise WrongUse where a change makes a config one that ZeroClaw refuses, or touches what it refuses already.

    `changed` are the settings that are written, as config.toml spells them ("memory.backend"). What was wrong
    elsewhere in the file stays: it is no reason to refuse another change.
    """
    present, touched = violations(before, version), frozenset(changed)
    for violation in violations(after, version):
        if violation not in present or violation.keys & touched:
            raise WrongUse(f"ZeroClaw {version} refuses such a config: {violation.message}", hint=violation.hint)


def range_words(name: str) -> str:
    """The range of a key of [memory], both ends named: "from 1 to 20"."""
    key = MEMORY_KEYS[name]
    return f"from {key.low:g} to {key.high:g}"


def is_validated_range(setting: str) -> bool:
    """Whether ZeroClaw itself checks the range of a setting ("memory.mmr_lambda"), from VALIDATED_SINCE on."""
    return setting.removeprefix("memory.") in _RANGES


def is_in_range(name: str, value: float) -> bool:
    """Whether a number is one that ZeroClaw's validation takes for a key of [memory]; True for a key it does not
    check."""
    key = MEMORY_KEYS.get(name)
    if name not in _RANGES or key is None or key.low is None or key.high is None:
        return True
    return math.isfinite(value) and key.low <= value <= key.high


def _of_ranges(config: Mapping[str, Any]) -> Iterator[Violation]:
    memory = _table(config, "memory")
    for name in _RANGES:
        key, value = MEMORY_KEYS[name], memory.get(name)
        if value is None or not fits(key.kind, value):
            continue
        if not is_in_range(name, value):
            setting = f"memory.{name}"
            yield Violation(
                f"{setting} is {value:g} and must be a number {range_words(name)}.",
                f"Set it {range_words(name)}: --set {setting}={key.default}.",
                frozenset({setting}),
            )


def _of_sqlite_only(config: Mapping[str, Any]) -> Iterator[Violation]:
    memory = _table(config, "memory")
    for name in _SQLITE_ONLY:
        value: Any = memory
        for part in name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if value is not True:
            continue
        setting = f"memory.{name}"
        hint = f"Switch it off: --set {setting}=false."
        backend = memory.get("backend", "sqlite")
        kind = _kind(backend) if isinstance(backend, str) else "sqlite"
        if kind != "sqlite":
            message = f"{setting} = true takes memory.backend = sqlite, and that is {shown(kind)}."
            yield Violation(message, hint, frozenset({setting, _BACKEND}))
        for alias, other in _backends_of_agents(config).items():
            if other != "sqlite":
                where = f"agents.{alias}.memory.backend"
                message = f"{setting} = true takes agents that all use sqlite, and {shown(where)} is {shown(other)}."
                yield Violation(message, hint, frozenset({setting, where}))


def _of_lucid(config: Mapping[str, Any]) -> Iterator[Violation]:
    for alias in _table(config, "storage", "lucid"):
        settings = _table(config, "storage", "lucid", alias)
        place = f"storage.lucid.{alias}"
        path = settings.get("binary_path")
        if isinstance(path, str) and not path.strip():
            key = f"{place}.binary_path"
            yield Violation(f"{shown(key)} must not be blank.", "Name the lucid program there.", frozenset({key}))
        for name in _TIMEOUTS:
            if settings.get(name) == 0 and not isinstance(settings.get(name), bool):
                key = f"{place}.{name}"
                yield Violation(f"{shown(key)} must not be 0.", "Give milliseconds from 1 on.", frozenset({key}))


def _of_siblings(config: Mapping[str, Any]) -> Iterator[Violation]:
    backends = _backends_of_agents(config)
    for alias, backend in backends.items():
        names = _table(config, "agents", alias, "workspace").get("read_memory_from", [])
        key = f"agents.{alias}.workspace.read_memory_from"
        for name in names if fits("texts", names) else ():
            wrong = None
            if name == alias:
                wrong = "names the agent itself"
            elif name not in backends:
                wrong = f"names {shown(name)}, and there is no such agent"
            elif backends[name] != backend:
                wrong = f"names {shown(name)}, whose memory is in {shown(backends[name])} and not in {shown(backend)}"
            if wrong is not None:
                keys = frozenset({key, f"agents.{alias}.memory.backend", f"agents.{name}.memory.backend"})
                yield Violation(f"{shown(key)} {wrong}.", f"Take {shown(name)} out there.", keys)


def _backends_of_agents(config: Mapping[str, Any]) -> dict[str, str]:
    """The kind of memory of each agent, sqlite where nothing is said."""
    agents = {alias: _table(config, "agents", alias, "memory") for alias in _table(config, "agents")}
    named = {alias: memory.get("backend", "sqlite") for alias, memory in agents.items()}
    return {alias: _kind(name) if isinstance(name, str) else "sqlite" for alias, name in named.items()}


def _kind(backend: str) -> str:
    return backend.strip().lower().partition(".")[0]


def _table(values: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    found: Any = values
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}
