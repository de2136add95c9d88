"""The table of settings: type, default, range, the versions that have each, its places in config.toml and the
environment, and its description; and the commented files of `defaults/`, from the wheel or from the source tree."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

Kind = Literal["switch", "count", "number", "text", "texts", "table"]

KIND_WORDS: Mapping[Kind, str] = MappingProxyType(
    {
        "switch": "true or false",
        "count": "a whole number from 0",
        "number": "a number",
        "text": "a text in quotes",
        "texts": "a list of texts",
        "table": "a table",
    }
)
_KIND_OF_DEFAULT: Mapping[type, Kind] = MappingProxyType(
    {bool: "switch", int: "count", float: "number", str: "text", tuple: "texts", dict: "table"}
)
_WORDS_OF_TYPE: Mapping[type, str] = {
    bool: "true or false", int: "a whole number", float: "a number with a point",
    str: "a text", list: "a list", dict: "a table",
}  # fmt: skip
Version = tuple[int, int, int]
NEWEST_MODERN = "0.8.4"
NEWEST_OLD = "0.7.5"
WITHOUT_POSTGRES = ((0, 6, 3), (0, 7, 3))
"""The first and the last version without the backend postgres."""
DAYS_BY_CATEGORY = "memory.policy.retention_days_by_category"
PROVIDER_CONFIG = "storage.provider.config"
"""The table of one store, usually PostgreSQL's, up to 0.7.5."""
_OLD_DEFAULTS = {"storage.lucid.recall_timeout_ms": 500, "storage.lucid.store_timeout_ms": 800}
U32 = 2**32 - 1
I64 = 2**63 - 1


class Setting(NamedTuple):
    """One setting: `memory.<key>`, as in config.toml, or `storage.<kind>.<key>`, in ZeroClaw >= 0.8.0
    `storage.<kind>.<alias>.<key>`."""

    name: str
    kind: Kind
    default: Any
    about: str
    since: str = "0.1.2"
    until: str | None = None
    """The last version that reads it; None if the newest does."""
    low: float | None = None
    high: float | None = None
    """The range of useful values, `low` and `high` included."""
    bounded_since: str | None = None
    """The version from which on `high` applies; older ones accept higher values."""
    choices: tuple[str, ...] = ()
    is_strict: bool = True
    """Whether ZeroClaw rejects values other than the choices."""
    is_secret: bool = False
    old_key: str = ""
    """Its key in config.toml up to 0.7.5, for a setting of a store."""
    variable: str = ""
    """The environment variable that takes precedence over config.toml in ZeroClaw up to 0.7.5."""
    variable_fills: bool = False
    """Whether that variable is used only if config.toml has no value."""
    least: int | None = None
    """The minimum that replaces a smaller number in the variable; without it 0 means no value."""

    @property
    def key(self) -> str:
        """The last part of its name: "db_url"."""
        return self.name.rpartition(".")[2]

    def is_known_to(self, target: Target) -> bool:
        """Whether the target version of ZeroClaw has the setting."""
        is_over = self.until is not None and target.numbers > version_numbers(self.until)
        return version_numbers(self.since) <= target.numbers and not is_over

    def default_for(self, target: Target) -> Any:
        """The default in the target version, a list as a new list; None if there is none."""
        is_newest = target.numbers >= (0, 8, 4)
        if not is_newest and self.name in _OLD_DEFAULTS:
            return _OLD_DEFAULTS[self.name]
        if is_newest and self.name == "memory.retrieval_stages":
            return ["fts", "vector"]
        return list(self.default) if isinstance(self.default, tuple) else self.default

    def expected_type(self, value: object) -> str:
        """The expected type of a TOML value that ZeroClaw cannot read; empty if it can."""
        if not fits(self.kind, value):
            return KIND_WORDS[self.kind]
        if isinstance(value, dict) and not all(fits("count", days) for days in value.values()):
            return "a table of whole numbers"
        return ""

    @property
    def allowed(self) -> str:
        """A description of the allowed values."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.kind == "count":
            return f"a whole number from {int(self.low or 0)} to {I64 if self.high is None else int(self.high)}"
        if self.kind == "number" and self.low is not None:
            return f"a number from {self.low:g}" + ("" if self.high is None else f" to {self.high:g}")
        return KIND_WORDS[self.kind]

    def bounds(self, version: Version | None) -> tuple[float, float]:
        """The minimum and maximum for a ZeroClaw version, or for all versions if it is None."""
        since = self.bounded_since
        is_free = since is not None and (version is None or version < version_numbers(since))
        low = -math.inf if self.low is None else self.low
        if self.high is None or is_free:
            return low, math.inf
        return low, self.high


class Target(NamedTuple):
    """The format of a config, and the ZeroClaw version that reads it."""

    schema: int
    has_aliases: bool
    """Whether it has `[storage.<kind>.<alias>]`, and `kind.alias` as a backend."""
    is_modern: bool
    """Whether ZeroClaw >= 0.8.0 reads it."""
    version: str | None = None
    """The version that reads it, if known."""

    @property
    def reading_version(self) -> str:
        """The version whose rules apply: the known one, else the newest of its generation."""
        return self.version or (NEWEST_MODERN if self.is_modern else NEWEST_OLD)

    @property
    def numbers(self) -> Version:
        """The reading version as three numbers."""
        return version_numbers(self.reading_version)


def _memory(name: str, default: Any, about: str, since: str = "0.1.2", **more: Any) -> Setting:
    """A setting of [memory], with the kind of its default."""
    return Setting(f"memory.{name}", _KIND_OF_DEFAULT[type(default)], default, about, since, **more)


def _days(name: str, default: int, about: str, since: str = "0.1.2") -> Setting:
    return _memory(name, default, about, since, high=U32)


def _share(name: str, default: float, about: str, since: str, **more: Any) -> Setting:
    return _memory(name, default, about, since, low=0.0, high=1.0, **more)


def _word(name: str, choices: tuple[str, ...], about: str, since: str, **more: Any) -> Setting:
    """A setting with a few choices, of which the first is the default."""
    return _memory(name, choices[0], about, since, choices=choices, **more)


_GENERAL = (
    _memory("backend", "sqlite", "The memory backend.", variable="ZEROCLAW_STORAGE_PROVIDER"),
    _memory("auto_save", True, "Stores user messages of 20 characters or more as conversation memories."),
    _memory("default_namespace", "default", "The namespace of new memories; no ZeroClaw version uses it.", "0.5.7"),
)
_RETENTION = (
    _memory("hygiene_enabled", True, "Archives and deletes old memories about twice a day."),
    _days("archive_after_days", 7, "Days after which daily Markdown files and sessions are archived; 0 is never."),
    _days("purge_after_days", 30, "Days after which archived files are deleted; 0 is never."),
    _days("conversation_retention_days", 30, "Days a conversation memory is kept after its last change; 0 is forever."),
    _days("daily_retention_days", 0, "Days a daily memory is kept after its last change; 0 is forever.", "0.8.1"),
    _days("core_retention_days", 0, "Days a core memory is kept after its creation; 0 is forever.", "0.8.1"),
    _memory("core_max_rows", 0, "Maximum number of core memories; 0 is no limit.", "0.8.3"),
    _memory("core_max_bytes", 0, "Maximum size of all core memories in bytes; 0 is no limit.", "0.8.3"),
    _memory("daily_max_rows", 0, "Maximum number of daily memories; 0 is no limit.", "0.8.3"),
    _word("evict_order", ("value", "oldest"), "Which memories are deleted first above a limit.", "0.8.3"),
    _memory("pin_namespaces", (), "Namespaces never evicted; no ZeroClaw version uses it.", "0.8.3"),
    _memory("pin_min_importance", 1.01, "Importance that pins; no ZeroClaw version uses it.", "0.8.3"),
)
_EMBEDDING = (
    _memory("embedding_provider", "none", "Embedding provider: none, openai, openrouter or custom:<url>."),
    _memory(
        "embedding_model", "text-embedding-3-small", "The embedding model; `hint:<name>` picks an embedding route."
    ),
    _memory("embedding_dimensions", 1536, "Embedding dimensions; 0 disables embeddings."),
    Setting("memory.embedding_api_key", "text", None, "The key of the embedding service.", "0.8.2", is_secret=True),
    _memory("auto_reindex_on_identity_change", False, "Recomputes all embeddings when the model changes.", "0.8.3"),
    _memory("embedding_cache_size", 10000, "Maximum number of cached embeddings; 0 disables the cache."),
    _memory("chunk_max_tokens", 512, "Maximum tokens of a part of a document; not used for memories."),
)
_SEARCH = (
    _memory("vector_weight", 0.7, "Weight of the vector score.", low=0.0),
    _memory("keyword_weight", 0.3, "Weight of the keyword score.", low=0.0),
    _word("search_mode", ("hybrid", "bm25", "embedding"), "Search by keywords, by vectors, or both.", "0.6.3"),
    # Before 0.8.4, scores by words alone are raw BM25, which has no upper end.
    _share(
        "min_relevance_score", 0.4, "Relevance threshold: a memory with a lower score is not injected.", "0.1.2",
        bounded_since="0.8.4",
    ),
    _memory(
        "retrieval_stages", ("cache", "fts", "vector"),
        "The stages of a search; only `cache` has an effect, from 0.8.4.", "0.5.7",
    ),
    _share("fts_early_return_score", 0.85, "No ZeroClaw version uses it.", "0.5.7"),
    _memory("candidate_multiplier", 4, "Reranked pool, as a multiple of the limit.", "0.8.4", low=1, high=20),
    _memory("rerank_enabled", False, "Reranks by importance and age; has an effect from 0.8.4.", "0.5.7"),
    _memory("rerank_threshold", 5, "Minimum number of results for MMR.", "0.5.7"),
    _word("rerank_strategy", ("none", "mmr"), "How to rerank: mmr also prefers variety.", "0.8.4", is_strict=False),
    _share("mmr_lambda", 0.7, "Relevance (1) against variety (0) in MMR.", "0.8.4"),
    _share("importance_weight", 0.2, "Weight of importance in reranking.", "0.8.4"),
    _share("recency_weight", 0.1, "Weight of recency in reranking.", "0.8.4"),
)  # fmt: skip
_WRITING = (
    _share(
        "conflict_threshold", 0.85, "The score above which a new memory replaces an old one; used from 0.8.3.", "0.5.7"
    ),
    _memory("conflict_supersede_enabled", True, "Hides the memory that a new one replaces.", "0.8.3"),
    _memory("dedup_on_write", False, "Looks for near duplicates when memories are consolidated.", "0.8.3"),
    _share("dedup_jaccard_threshold", 0.8, "The share of common words that makes a duplicate.", "0.8.3"),
    _word("dedup_action", ("reject", "merge"), "What happens to a near duplicate.", "0.8.3"),
    _memory("consolidation_extract_facts", False, "Stores single facts of a conversation; sqlite only.", "0.8.4"),
    _memory("types.enabled", False, "Gives memories a kind; sqlite only.", "0.8.4"),
)
_FILES = (
    _memory("response_cache_enabled", False, "Answers a repeated prompt from a cache."),
    _days("response_cache_ttl_minutes", 60, "Minutes an answer stays in that cache."),
    _memory("response_cache_max_entries", 5000, "Maximum number of answers in that cache."),
    _memory("response_cache_hot_entries", 256, "Maximum number of these in the process.", "0.5.0"),
    _memory("snapshot_enabled", False, "Allows core memories to be written to MEMORY_SNAPSHOT.md."),
    _memory("snapshot_on_hygiene", False, "Writes that snapshot at each hygiene run; both switches are needed."),
    _memory("auto_hydrate", True, "Fills an empty store from that snapshot."),
    _memory("audit_enabled", False, "Logs every memory operation; from 0.8.4.", "0.5.7"),
    _days("audit_retention_days", 30, "Days that log is kept.", "0.5.7"),
    _word("sqlite_journal_mode", ("wal", "delete"), "SQLite's journal.", "0.1.8", is_strict=False, until="0.1.8"),
)
_POLICY = (
    _memory("policy.max_entries_per_namespace", 0, "Maximum memories of a namespace; 0 is no limit.", "0.5.7"),
    _memory("policy.max_entries_per_category", 0, "Maximum memories of a category; 0 is no limit.", "0.5.7"),
    _memory("policy.retention_days_by_category", {}, "Days each category is kept.", "0.5.7"),
    _memory("policy.read_only_namespaces", (), "Namespaces the agent may not write.", "0.5.7"),
    _word(
        "policy.threat_scan", ("on", "off", "strict"), "Withholds memories that look like an attack or a credential.",
        "0.8.4", is_strict=False,
    ),
    _memory("policy.threat_scan_load_time", True, "Scans when memories are read as well.", "0.8.4"),
    _word(
        "policy.threat_scan_on_hit", ("reject", "block-on-read"),
        "What happens to a flagged memory when it is written.", "0.8.4", is_strict=False,
    ),
    _memory("policy.redact_on_write", False, "Redacts credentials and addresses before storing.", "0.8.4"),
    _memory(
        "policy.redact_categories", ("secret", "api_key", "private_key", "email", "phone"), "What is redacted.", "0.8.4"
    ),
)  # fmt: skip
_BY_CATEGORY = tuple(
    Setting(
        f"{DAYS_BY_CATEGORY}.{category}",
        "count",
        None,
        f"Days a {category} memory is kept, above the setting of that category; 0 is forever.",
        since,
        low=0,
        high=U32,
    )
    for category, since in (("conversation", "0.5.7"), ("daily", "0.8.1"), ("core", "0.8.1"))
)
"""The settings for the categories that ZeroClaw looks up in that table."""


def _of_postgres(key: str, kind: Kind, default: Any, about: str, table: str = PROVIDER_CONFIG, **more: Any) -> Setting:
    return Setting(f"storage.postgres.{key}", kind, default, about, old_key=f"{table}.{key}", **more)


def _of_qdrant(key: str, default: str | None, about: str, *, fills: bool) -> Setting:
    name, variable = f"qdrant.{key}", f"QDRANT_{key.upper()}"
    setting = Setting(f"storage.{name}", "text", default, about, "0.1.7", old_key=f"memory.{name}")
    return setting._replace(variable=variable, variable_fills=fills, is_secret=key == "api_key")


def _of_lucid(key: str, default: int, about: str, least: int | None, *, is_over: bool = False) -> Setting:
    """A setting that up to 0.7.5 only a variable sets; with `is_over` no later version has it."""
    since, until = ("0.1.2", NEWEST_OLD) if is_over else ("0.8.4", None)
    variable, low = f"ZEROCLAW_LUCID_{key.upper()}", least or 1 if is_over else 1
    name = f"storage.lucid.{key}"
    return Setting(name, "count", default, about, since, until, low, variable=variable, least=least)


_STORES = (
    Setting(
        "storage.sqlite.open_timeout_secs", "count", None, "Seconds to wait for the database file, at most 300.",
        low=0, high=300, old_key="memory.sqlite_open_timeout_secs",
    ),
    _of_postgres(
        "db_url", "text", None, "The address of the database, with user and password.",
        is_secret=True, variable="ZEROCLAW_STORAGE_DB_URL",
    ),
    _of_postgres("schema", "text", "public", "The PostgreSQL schema that holds the table."),
    _of_postgres("table", "text", "memories", "The table that holds the memories."),
    _of_postgres(
        "connect_timeout_secs", "count", None, "Seconds to wait for the server, at most 300.",
        low=1, high=300, variable="ZEROCLAW_STORAGE_CONNECT_TIMEOUT_SECS",
    ),
    _of_postgres(
        "vector_enabled", "switch", False, "Adds pgvector columns, which nothing fills.", "memory.postgres",
        since="0.7.4",
    ),
    _of_postgres(
        "vector_dimensions", "count", 1536, "Dimensions of those vectors.", "memory.postgres", since="0.7.4", low=1
    ),
    _of_qdrant("url", None, "The URL of the Qdrant server.", fills=True),
    _of_qdrant("collection", "zeroclaw_memories", "The Qdrant collection.", fills=False),
    _of_qdrant("api_key", None, "The API key for Qdrant.", fills=True),
    Setting("storage.lucid.binary_path", "text", "lucid", "The lucid program.", "0.8.4", variable="ZEROCLAW_LUCID_CMD"),
    _of_lucid("recall_timeout_ms", 3000, "Timeout for lucid recall in milliseconds.", 20),
    _of_lucid("store_timeout_ms", 3000, "Timeout for storing in lucid in milliseconds.", 50),
    _of_lucid("budget", 200, "Maximum number of tokens requested from lucid.", None, is_over=True),
    _of_lucid("local_hit_threshold", 3, "Number of local hits from which lucid is not run.", 1, is_over=True),
    _of_lucid("failure_cooldown_ms", 15000, "Milliseconds to wait after lucid failed.", 100, is_over=True),
)  # fmt: skip
_MEMORY = (*_GENERAL, *_RETENTION, *_EMBEDDING, *_SEARCH, *_WRITING, *_FILES, *_POLICY)

SETTINGS: Mapping[str, Setting] = MappingProxyType(
    {setting.name: setting for setting in (*_MEMORY, *_BY_CATEGORY, *_STORES) if setting.kind != "table"}
)
"""Every setting by its name. The table `memory.policy.retention_days_by_category` is represented by three settings, one
for each category that ZeroClaw looks up."""


def settings_of(kind: str) -> tuple[Setting, ...]:
    """The settings of a backend's store."""
    return tuple(setting for name, setting in SETTINGS.items() if name.startswith(f"storage.{kind}."))


def _moved(setting: Setting) -> Setting:
    return setting._replace(name=setting.old_key, until=NEWEST_OLD)


MEMORY_KEYS: Mapping[str, Setting] = MappingProxyType(
    {
        key.name.removeprefix("memory."): key
        for key in (*_MEMORY, *map(_moved, SETTINGS.values()))
        if key.name.startswith("memory.")
    }
)
"""Every key of [memory] by its name there ("policy.threat_scan"), including keys that became settings of a store."""
STORE_KINDS = ("sqlite", "postgres", "qdrant", "markdown", "lucid")
"""The backends with a table [storage.<kind>.<alias>] (ZeroClaw >= 0.8.0)."""
NEVER_USED = ("storage.sqlite.path", "storage.markdown.directory", "storage.postgres.tls")
"""The keys that ZeroClaw reads but does not use."""


def table_keys(kind: str) -> dict[str, Kind]:
    """The keys of `[storage.<kind>.<alias>]` with their types; empty for a kind that ZeroClaw does not have."""
    unused: dict[str, dict[str, Kind]] = {"sqlite": {"path": "text"}, "markdown": {"directory": "text"}}
    return unused.get(kind, {}) | {setting.key: setting.kind for setting in settings_of(kind) if setting.until is None}


DB_URL_ALIASES = ("dbURL", "database_url", "databaseUrl")
"""Other spellings of `db_url` that ZeroClaw accepts."""


def fits(kind: Kind, value: object) -> bool:
    """Whether a TOML value has the type; a whole number of 64 bits is also a number, true is neither."""
    if kind == "switch":
        return isinstance(value, bool)
    if kind == "count":
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= I64
    if kind == "number":
        is_whole = isinstance(value, int) and not isinstance(value, bool) and -I64 - 1 <= value <= I64
        return is_whole or isinstance(value, float)
    if kind == "texts":
        return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
    return isinstance(value, dict if kind == "table" else str)


def parse_as(kind: Kind, text: str) -> Any:
    """Parse a text as a value of a kind, None if it is not valid. Lists are JSON or comma-separated."""
    if kind == "text":
        return text
    if kind == "texts" and not text.lstrip().startswith("["):
        return [item.strip() for item in text.split(",") if item.strip()]
    readers: dict[Kind, Callable[[str], Any]] = {"count": int, "number": float}
    try:
        value = readers.get(kind, json.loads)(text.strip())
    except ValueError:
        return None
    return value if fits(kind, value) else None


def kind_of(value: object) -> str:
    """Describe the type of a TOML value, without the value itself, which may be a secret."""
    return _WORDS_OF_TYPE.get(type(value), "a date or time")


def kind_named(backend: object) -> str:
    """The kind of store in the backend of a config, sqlite if there is none."""
    return backend.strip().lower().partition(".")[0] if isinstance(backend, str) else "sqlite"


@cache
def version_numbers(text: str) -> Version:
    """Parse "0.8.4" or "v0.8.4-beta-1" into three numbers. Raises ValueError."""
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    if found is None:
        raise ValueError(f"{text!r} is not a version")
    major, minor, patch = (int(part or 0) for part in found.groups())
    return (major, minor, patch)


BACKENDS_WITH_DEFAULTS = ("sqlite", "postgres", "lucid", "markdown", "qdrant", "none")


def defaults_folder() -> Path:
    """The folder of the default files: `_defaults` in an installed package, else `defaults` in the source tree."""
    package = Path(__file__).resolve().parent.parent
    packed = package / "_defaults"
    return packed if packed.is_dir() else package.parent / "defaults"


def default_text(backend: str) -> str:
    """The text of a backend's default file, including comments."""
    return (defaults_folder() / f"{backend}.toml").read_text("utf-8")


def default_values(backend: str) -> dict[str, Any]:
    """The parsed default file of a backend: `memory`, in it `qdrant` for Qdrant, and `storage` for PostgreSQL."""
    return tomllib.loads(default_text(backend))
