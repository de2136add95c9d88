"""The memory settings of one config, environment and options, with their sources and warnings."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from zeroclaw_tui.config.locations import Install
from zeroclaw_tui.config.schema import KIND_WORDS, MEMORY_KEYS, Kind, Target, fits, kind_named, kind_of, version_numbers
from zeroclaw_tui.files.disk import is_folder
from zeroclaw_tui.memory.text import mask_secrets, one_line

FILE = "config.toml"
DEFAULT = "default"
OPTION = "option"
_MAX_NAME_LENGTH = 60
_MIN_SIMILARITY = 0.75
Concern = Literal["file", "fact", "store", "recall", "vectors", "hygiene", "snapshot"]
"""The topic of a warning: the file itself, a fact that needs no attention, the open store, recall, embeddings, hygiene,
or the snapshot."""
_CONCERNS: Mapping[str, Concern] = {
    "vector_weight": "recall",
    "keyword_weight": "recall",
    "search_mode": "recall",
    "min_relevance_score": "recall",
    "embedding": "vectors",
    "hygiene_enabled": "hygiene",
    "archive_after_days": "hygiene",
    "purge_after_days": "hygiene",
    "conversation_retention_days": "hygiene",
    "daily_": "hygiene",
    "core_": "hygiene",
    "policy.retention_days": "hygiene",
    "policy.threat_scan": "recall",
    "snapshot_": "snapshot",
}
NEWEST_SCHEMA = 3
_FIRST_MODERN = (0, 8, 0)


def concern_of(setting: str) -> Concern:
    """The topic that a setting of [memory] affects ("memory.vector_weight": "recall"); "file" if none of the others."""
    name = setting.removeprefix("memory.")
    return next((concern for start, concern in _CONCERNS.items() if name.startswith(start)), "file")


class EmbeddingConfig(NamedTuple):
    """The embedding settings. `provider` is none, local, openai, openrouter or `custom:<url>`.

    `api_key` is decrypted, and never part of the repr.
    """

    provider: str = "none"
    model: str = "text-embedding-3-small"
    dimensions: int = 1536
    api_key: str | None = None

    def __repr__(self) -> str:
        return f"EmbeddingConfig({self.provider!r}, {self.model!r}, {self.dimensions})"

    @property
    def is_on(self) -> bool:
        """Whether the provider can create embeddings."""
        return self.provider not in ("", "none") and self.dimensions > 0


class MemoryConfig(NamedTuple):
    """The effective memory settings of one install."""

    install: Install
    backend: str = "sqlite"
    """The kind of store, without an alias."""
    alias: str | None = None
    """The part of memory.backend after its dot."""
    zeroclaw_backend: str = "sqlite"
    """The backend that ZeroClaw itself uses: "markdown" for an unknown name."""
    schema: int = 1
    vector_weight: float = 0.7
    keyword_weight: float = 0.3
    search_mode: str = "hybrid"
    min_relevance_score: float = 0.4
    hygiene_enabled: bool = True
    archive_after_days: int = 7
    purge_after_days: int = 30
    conversation_retention_days: int = 30
    daily_retention_days: int = 0
    core_retention_days: int = 0
    embedding_cache_size: int = 10000
    auto_save: bool = True
    rerank_enabled: bool = False
    rerank_strategy: str = "none"
    rerank_threshold: int = 5
    mmr_lambda: float = 0.7
    importance_weight: float = 0.2
    recency_weight: float = 0.1
    candidate_multiplier: int = 4
    threat_scan: str = "on"
    threat_scan_load_time: bool = True
    embedding: EmbeddingConfig = EmbeddingConfig()
    agents: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """The agents' aliases in schema 3, each with the aliases whose memory it may also read."""
    agent_workspaces: Mapping[str, str] = MappingProxyType({})
    """The agents' folders in the config, as written there, for those agents that have one."""
    recall_limits: Mapping[str, int] = MappingProxyType({})
    """`memory_recall_limit` of the agents' runtime profiles, for those that have one; 0 is unlimited."""
    location: str | None = None
    """A path or URL from --location, instead of the install's own."""
    read_only: bool = False
    storage: Mapping[str, Any] = MappingProxyType({})
    """The settings of the backend's store (db_url, schema, collection, …), with decrypted secrets."""
    values: Mapping[str, Any] = MappingProxyType({})
    """All keys below [memory] as read from the file."""
    sources: Mapping[str, str] = MappingProxyType({})
    """A description of each value's source, by its key ("memory.backend")."""
    warnings: tuple[str, ...] = ()
    concerns: Mapping[str, Concern] = MappingProxyType({})
    """The topic of each warning, by its sentence; "file" if missing."""

    def __repr__(self) -> str:
        # The values in `storage` and `values` can be secrets.
        return f"MemoryConfig({self.backend!r} of {self.install!r})"

    def warnings_about(self, *concerns: Concern) -> tuple[str, ...]:
        """The warnings about these topics."""
        return tuple(sentence for sentence in self.warnings if self.concerns.get(sentence, "file") in concerns)

    def value(self, key: str) -> Any:
        """A value of [memory] by its dotted key; the default if the type is wrong."""
        value: Any = self.values
        for part in key.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        setting = MEMORY_KEYS[key]
        return value if fits(setting.kind, value) else setting.default

    def readable_by(self, agents: Sequence[str]) -> tuple[str, ...]:
        """These agents, each followed by the agents whose memory it may also read, without duplicates."""
        return tuple(dict.fromkeys(alias for agent in agents for alias in (agent, *self.agents.get(agent, ()))))

    @property
    def database(self) -> Path:
        """The SQLite file to open."""
        return Path(self.location) if self.location and self.backend in ("sqlite", "lucid") else self.install.database


def agent_folders(config: MemoryConfig) -> dict[str, Path]:
    """Each agent's existing folder of notes: the path in the config, else agents/<alias>/workspace."""
    folder = config.install.config_dir
    if config.location or config.install.layout != "data" or folder is None:
        return {}
    usual = {alias: folder / "agents" / alias / "workspace" for alias in config.agents}
    given = {alias: folder / Path(path).expanduser() for alias, path in config.agent_workspaces.items()}
    return {alias: path for alias, path in (usual | given).items() if is_folder(path)}


class Notes:
    """The sources and warnings collected while a config is read."""

    def __init__(self) -> None:
        self.sources: dict[str, str] = {}
        self.concerns: dict[str, Concern] = {}
        """The warnings in order, each with its topic."""

    def warn(self, sentence: str, concern: Concern = "file") -> None:
        """Add a warning, unless it exists already."""
        self.concerns.setdefault(sentence, concern)

    def unknown(self, name: str, place: str, known: Iterable[str]) -> None:
        """Warn of a key that no ZeroClaw version has, and suggest a similar one."""
        import difflib

        near = difflib.get_close_matches(name, list(known), n=1, cutoff=_MIN_SIMILARITY)
        meant = f"; did you mean {near[0]}?" if near else "."
        self.warn(f"{place} has the key {shown(name)}, which ZeroClaw does not know and ignores{meant}")

    def table(self, document: Mapping[str, Any], *path: str) -> dict[str, Any]:
        """Get the table at a path of a document, empty if missing, with a warning if it is not a table."""
        value: Any = document
        for depth, name in enumerate(path, start=1):
            value = value.get(name, {})
            if not isinstance(value, dict):
                where = ".".join(path[:depth])
                self.wrong_type(where, value, "a table", path[0], "is left out")
                return {}
        return dict(value)

    def value(self, table: Mapping[str, Any], name: str, kind: Kind, where: str) -> Any:
        """Get a value of a table; None if it is missing, and with a warning if its type is wrong."""
        if name not in table:
            return None
        if fits(kind, table[name]):
            return table[name]
        self.wrong_type(where, table[name], KIND_WORDS[kind], where.partition(".")[0], "is left out")
        return None

    def wrong_type(self, where: str, value: object, expected: str, section: str, done: str) -> None:
        """Warn of a value of the wrong type, without showing it."""
        self.warn(
            f"{shown(where)} is {kind_of(value)} and must be {expected}; it {done} here. ZeroClaw <= 0.7.5 refuses "
            f"a config with such a value, >= 0.8.0 ignores the whole [{section}] section.",
            concern_of(where),
        )


def shown(name: str) -> str:
    """Prepare a text from a config for a sentence: masked, on one line and truncated."""
    clean = one_line(mask_secrets(name))
    return clean if len(clean) <= _MAX_NAME_LENGTH else clean[: _MAX_NAME_LENGTH - 1] + "…"


def target_of(document: dict[str, Any], install: Install, notes: Notes, version: str | None = None) -> Target:
    """Determine which ZeroClaw reads a config, also by the layout on disk, as >= 0.8.0 does not rewrite an old file.

    A `version` of the other generation is ignored.
    """
    schema = _schema_of(document, notes)
    is_modern = schema >= NEWEST_SCHEMA or install.layout == "data"
    is_right = version is not None and (version_numbers(version) >= _FIRST_MODERN) == is_modern
    return Target(schema, schema >= NEWEST_SCHEMA, is_modern, version if is_right else None)


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


def migrate_to_schema_3(document: dict[str, Any], target: Target, notes: Notes) -> dict[str, Any]:
    """Migrate a copy of an older config as ZeroClaw >= 0.8.0 does in memory; existing keys take precedence.

    `memory.backend` is unchanged, and a backend that is only in `[storage.provider.config]` is lost.
    """
    changed = copy.deepcopy(document)
    if target.schema >= NEWEST_SCHEMA:
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
    _move_provider(storage, memory.get("backend", "sqlite"), notes)
    if "memory" in changed:
        changed["memory"] = memory
    changed["storage"] = storage
    return changed


def _move_provider(storage: dict[str, Any], backend: object, notes: Notes) -> None:
    settings = notes.table({"storage": storage}, "storage", "provider", "config")
    storage.pop("provider", None)
    named = settings.pop("provider", "")
    if not isinstance(named, str):
        notes.wrong_type("storage.provider.config.provider", named, "a text in quotes", "storage", "is left out")
        named = ""
    kind = named.strip().lower()
    if kind and kind != kind_named(backend):
        notes.warn(
            f"[storage.provider.config] names the backend {shown(kind)}; ZeroClaw >= 0.8.0 ignores it and uses "
            "only memory.backend."
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
