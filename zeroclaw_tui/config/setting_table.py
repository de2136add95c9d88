"""Every setting a person may answer for in one table, and the versions of ZeroClaw that act on each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from zeroclaw_tui.config.schema import MEMORY_KEYS, U32, MemoryKey

Version = tuple[int, int, int]

NEWEST_MODERN = "0.8.4"
NEWEST_OLD = "0.7.5"
DAYS_BY_CATEGORY = "memory.policy.retention_days_by_category"

_OTHERS = ("qdrant.", "postgres.", "mem0.", "sqlite_open_timeout_secs")
"""Keys of [memory] that are another spelling of a storage setting, and mem0's, which only 0.5.5 and 0.5.6 knew."""


class Target(NamedTuple):
    """What is written to. `schema` is what the file says; `has_aliases` that it spells storage as
    `[storage.<kind>.<alias>]` and may name `kind.alias` (schema 3, or a file that already does so);
    `is_modern` that ZeroClaw >= 0.8.0 reads it; `version` the installed ZeroClaw's where it is known."""

    schema: int
    has_aliases: bool
    is_modern: bool
    version: str | None = None

    @property
    def reading_version(self) -> str:
        """The version whose rules count: the known one, else the newest of the generation (0.8.4 or 0.7.5)."""
        return self.version or (NEWEST_MODERN if self.is_modern else NEWEST_OLD)


def version_numbers(text: str) -> Version:
    """The three numbers of "0.8.4" or "v0.8.4-beta-1"; ValueError when there are none."""
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    if found is None:
        raise ValueError(f"{text!r} is no version")
    major, minor, patch = (int(part or 0) for part in found.groups())
    return (major, minor, patch)


def _text(name: str, about: str, default: str | None = None, **more: Any) -> MemoryKey:
    return MemoryKey(name, "text", default, about, **more)


def _count(name: str, about: str, default: int | None = None, **more: Any) -> MemoryKey:
    return MemoryKey(name, "count", default, about, **more)


_STORAGE = (
    _text("postgres.db_url", "The address of the database, with user and password.", is_secret=True),
    _text("postgres.schema", "The PostgreSQL schema that holds the table.", "public"),
    _text("postgres.table", "The table that holds the memories.", "memories"),
    _count("postgres.connect_timeout_secs", "Seconds to wait for the server, at most 300.", low=1, high=300),
    MemoryKey("postgres.vector_enabled", "switch", False, "Adds pgvector columns, which nothing fills.", since="0.6.1"),
    _count("postgres.vector_dimensions", "The length of those vectors.", 1536, since="0.6.1", low=1),
    _text("qdrant.url", "Where Qdrant answers.", since="0.1.7"),
    _text("qdrant.collection", "The Qdrant collection.", "zeroclaw_memories", since="0.1.7"),
    _text("qdrant.api_key", "Qdrant's key.", since="0.1.7", is_secret=True),
    _count("sqlite.open_timeout_secs", "Seconds to wait for the database file, at most 300.", low=0, high=300),
    _text("lucid.binary_path", "The lucid program.", "lucid", since="0.8.4"),
    _count("lucid.recall_timeout_ms", "Milliseconds a question to lucid may take.", 3000, since="0.8.4", low=1),
    _count("lucid.store_timeout_ms", "Milliseconds handing a memory to lucid may take.", 3000, since="0.8.4", low=1),
)
_FROM_ENVIRONMENT_ONLY = (
    _count("lucid.budget", "The most tokens asked of lucid.", 200, until="0.7.5", low=1),
    _count("lucid.local_hit_threshold", "From how many local hits on lucid is not asked.", 3, until="0.7.5", low=1),
    _count(
        "lucid.failure_cooldown_ms",
        "Milliseconds without a question after lucid failed.",
        15000,
        until="0.7.5",
        low=100,
    ),
)


def _table() -> dict[str, MemoryKey]:
    memory = [key._replace(name=f"memory.{key.name}") for key in MEMORY_KEYS.values() if _is_memorys(key)]
    storage = [key._replace(name=f"storage.{key.name}") for key in (*_STORAGE, *_FROM_ENVIRONMENT_ONLY)]
    return {key.name: key for key in (*memory, *_days_by_category(), *storage)}


def _is_memorys(key: MemoryKey) -> bool:
    return not key.name.startswith(_OTHERS) and key.kind != "table"


def _days_by_category() -> list[MemoryKey]:
    """The three categories that ZeroClaw looks up in the table of days; each is a setting of its own."""
    versions = {"conversation": "0.5.7", "daily": "0.8.1", "core": "0.8.1"}
    about = "Days a {} memory is kept, above the setting of that category; 0 is for ever."
    return [
        _count(f"{DAYS_BY_CATEGORY}.{name}", about.format(name), since=since, low=0, largest=U32)
        for name, since in versions.items()
    ]


BACKEND = "memory.backend"
"""The setting everything else depends on."""

SETTINGS: Mapping[str, MemoryKey] = MappingProxyType(_table())
"""Every setting by its name: type, default, range, choices, is_secret, since and until (of its being read at all from
config.toml, in either place), and one sentence. `backend` is among them as `memory.backend`. The table
`memory.policy.retention_days_by_category` is three settings, one for each category that ZeroClaw looks up."""

LUCID_ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    {
        "storage.lucid.binary_path": "ZEROCLAW_LUCID_CMD",
        "storage.lucid.recall_timeout_ms": "ZEROCLAW_LUCID_RECALL_TIMEOUT_MS",
        "storage.lucid.store_timeout_ms": "ZEROCLAW_LUCID_STORE_TIMEOUT_MS",
        "storage.lucid.budget": "ZEROCLAW_LUCID_BUDGET",
        "storage.lucid.local_hit_threshold": "ZEROCLAW_LUCID_LOCAL_HIT_THRESHOLD",
        "storage.lucid.failure_cooldown_ms": "ZEROCLAW_LUCID_FAILURE_COOLDOWN_MS",
    }
)
"""The settings that ZeroClaw <= 0.7.5 asks its environment for, and nothing else."""

_OLD_DEFAULTS: Mapping[str, Any] = {
    "storage.lucid.recall_timeout_ms": 500,
    "storage.lucid.store_timeout_ms": 800,
}
POSTGRES_AWAY = ((0, 6, 3), (0, 7, 3))
"""The first and last version without the backend postgres."""


def default_of(name: str, target: Target) -> Any:
    """What this ZeroClaw takes where the file has no value; None where there is no default. Lists are new ones.

    Lucid's time limits were 500 and 800 ms up to 0.8.3; the stages of a search lost `cache` with 0.8.4.
    """
    version = version_numbers(target.reading_version)
    if version < (0, 8, 4) and name in _OLD_DEFAULTS:
        return _OLD_DEFAULTS[name]
    if name == "memory.retrieval_stages" and version >= (0, 8, 4):
        return ["fts", "vector"]
    default = SETTINGS[name].default
    return list(default) if isinstance(default, tuple) else default


def is_read(name: str, target: Target) -> bool:
    """True when a ZeroClaw of this target reads the setting from config.toml (and acts on the key at all).

    With a known version exactly by since and until; without one by the generation. `storage.lucid.*` is read from
    0.8.4 on; before, the environment is asked. `storage.sqlite.path` and `storage.markdown.directory` never are.
    """
    key = SETTINGS.get(name)
    if key is None or name.removeprefix("storage.") in {only.name for only in _FROM_ENVIRONMENT_ONLY}:
        return False
    version = version_numbers(target.reading_version)
    if name.startswith("storage.postgres.") and POSTGRES_AWAY[0] <= version <= POSTGRES_AWAY[1]:
        return False
    return version_numbers(key.since) <= version and (key.until is None or version <= version_numbers(key.until))


def environment_variable(name: str, target: Target) -> str | None:
    """The variable that this ZeroClaw asks in place of its config for a setting, None where there is none."""
    if version_numbers(target.reading_version) >= (0, 8, 0):
        return None
    return LUCID_ENVIRONMENT.get(name)


def reading_words(name: str) -> str:
    """Which versions read a setting, in words for a sentence: "0.8.4 and later", "up to 0.7.5", "0.1.8"."""
    key = SETTINGS[name]
    if key.until is None:
        return f"{key.since} and later"
    return key.until if key.since == key.until else f"{key.since} to {key.until}"
