"""What one config, its environment and the options given say about memory, each value with its source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zeroclaw_tui.config.locations import Install, is_folder
from zeroclaw_tui.config.notes import Concern


@dataclass(frozen=True, slots=True)
class EmbeddingConfig:
    """How texts become vectors. `provider` is none, local, openai, openrouter or `custom:<url>`.

    `api_key` is plain text in memory only and never part of the repr.
    """

    provider: str = "none"
    model: str = "text-embedding-3-small"
    dimensions: int = 1536
    api_key: str | None = field(default=None, repr=False)

    @property
    def is_on(self) -> bool:
        """True when the provider can make vectors."""
        return self.provider not in ("", "none") and self.dimensions > 0


@dataclass(frozen=True, slots=True)
class MemoryConfig:
    """The effective memory settings of one install.

    `backend` is the bare kind ("sqlite"); `alias` the part after the dot in schema 3. `zeroclaw_backend` is what
    ZeroClaw itself would use where that differs (an unknown name becomes "markdown"). `schema` is 1, 2 or 3.
    `sources` maps a key ("memory.backend") to where its value came from in words. `warnings` are sentences about wrong
    types, unknown keys and values that do not do what they seem to. `values` are all keys under [memory] as read.
    """

    install: Install
    backend: str = "sqlite"
    alias: str | None = None
    zeroclaw_backend: str = "sqlite"
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
    embedding: EmbeddingConfig = field(default_factory=EmbeddingConfig)
    agents: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Agent aliases of schema 3, each with the aliases whose memory it may read besides its own."""
    agent_workspaces: Mapping[str, str] = field(default_factory=dict)
    """The folders that the config names for some of the agents, as written there."""
    recall_limits: Mapping[str, int] = field(default_factory=dict)
    """`memory_recall_limit` of the runtime profiles of those agents that have one; 0 is unlimited."""
    location: str | None = None
    """A path or URL given by option in place of the install's own."""
    read_only: bool = False
    read_only_because: str | None = None
    """Why it is only read where nobody asked for that, a sentence."""
    storage: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The settings of the backend's store (db_url, schema, collection, …), secrets in plain text in memory only."""
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    sources: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    concerns: Mapping[str, Concern] = field(default_factory=dict, repr=False)
    """What each warning is about, by its sentence; "file" for one that is not named."""

    def warned_about(self, *concerns: Concern) -> tuple[str, ...]:
        """The warnings about these."""
        return tuple(sentence for sentence in self.warnings if self.concerns.get(sentence, "file") in concerns)

    def readable_by(self, agents: Sequence[str]) -> tuple[str, ...]:
        """These agents and, after each, those whose memory it may read besides its own; none twice."""
        return tuple(dict.fromkeys(alias for agent in agents for alias in (agent, *self.agents.get(agent, ()))))

    @property
    def database(self) -> Path:
        """The SQLite file to open."""
        return Path(self.location) if self.location and self.backend in ("sqlite", "lucid") else self.install.database


def agent_folders(config: MemoryConfig) -> dict[str, Path]:
    """Each agent's own folder of notes that is there: the path its config gives, else agents/<alias>/workspace."""
    folder = config.install.config_dir
    if config.location or config.install.layout != "data" or folder is None:
        return {}
    usual = {alias: folder / "agents" / alias / "workspace" for alias in config.agents}
    given = {alias: folder / Path(path).expanduser() for alias, path in config.agent_workspaces.items()}
    return {alias: path for alias, path in (usual | given).items() if is_folder(path)}
