"""An open store with its config, its embedder, and the ZeroClaw version whose scoring rules apply."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, get_args

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.factory import create_memory, empty_store
from zeroclaw_tui.backends.lookup import count_matching, entries_with_key, entry_with_id, whole_entry
from zeroclaw_tui.config.memory_config import NEWEST_SCHEMA, MemoryConfig
from zeroclaw_tui.config.real_binary import real_zeroclaw, zeroclaw_version
from zeroclaw_tui.config.schema import NEWEST_OLD
from zeroclaw_tui.config.settings import saved_profile
from zeroclaw_tui.embeddings.base import Embedder, endpoint_host, why_no_embedder
from zeroclaw_tui.memory.errors import MAKES_STORE, BeforeFirstStart, NotFound, NothingYet, Refused
from zeroclaw_tui.memory.query import EXCERPTS, MemoryFilter, Query, Superseded
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.scoring import profiles
from zeroclaw_tui.scoring.profiles import RerankSettings, ScanMode, ScoringProfile, ScoringSettings, Trial

if TYPE_CHECKING:
    from zeroclaw_tui.curation.journal import Trash
    from zeroclaw_tui.embeddings.base import Announce
    from zeroclaw_tui.memory.entry import MemoryEntry
    from zeroclaw_tui.memory.recall import RecallRequest

# The scanner and the journal are imported on first use: most commands need neither.

ASSUMED = "assumed"
SCAN_MODES: Mapping[str, ScanMode] = {"off": "off", "on": "on", "strict": "strict"}


class ProfileChoice(NamedTuple):
    """A scoring profile and its source: "option", "saved", "zeroclaw --version", "assumed" or "chosen here".

    The source of a version newer than the newest known one also names that version.
    """

    profile: ScoringProfile
    source: str

    @classmethod
    def from_version(cls, version: str, source: str) -> ProfileChoice:
        """Choose the profile of a version. Raises UsageError if the text is not a version."""
        profile = profiles.profile_for(version)
        return cls(profile, source if profile.newer is None else f"{source}; {profile.newer} is newer than what I know")


def choose_profile(
    config: MemoryConfig, option: str | None, newest: str | None = None, *, query_binary: bool = True
) -> ProfileChoice:
    """Use the option, else the saved choice, else the installed ZeroClaw, else the schema of the store. Blocks.

    `newest` is the newest version with that schema; `query_binary` says whether the installed ZeroClaw is started.
    """
    if option is not None:
        return ProfileChoice.from_version(option, "option")
    saved = saved_profile(config.install)
    if saved is not None:
        return ProfileChoice.from_version(saved, "saved")
    binary = real_zeroclaw() if query_binary else None
    installed = zeroclaw_version(binary) if binary is not None else None
    if installed is not None:
        return ProfileChoice.from_version(installed, "zeroclaw --version")
    return ProfileChoice.from_version(newest or profiles.NEWEST, ASSUMED)


def profile_for_new_store(config: MemoryConfig, option: str | None) -> ScoringProfile:
    """Choose the version whose schema a new store will have. Blocks."""
    choice = choose_profile(config, option)
    # ZeroClaw up to 0.7.5 cannot write to tables of 0.8.0 or later; newer versions migrate older tables.
    is_old = config.install.layout == "workspace" and config.schema < NEWEST_SCHEMA
    return profiles.profile_for(NEWEST_OLD) if is_old and choice.source == ASSUMED else choice.profile


@dataclass(eq=False, repr=False)
class Library:
    """An open store. Its methods only read, and may raise InspectorError; `curation/changes.py` writes."""

    config: MemoryConfig
    memory: Memory
    profile: ProfileChoice
    settings: ScoringSettings
    embedder: Embedder | None
    """None if the config names no embedding provider."""
    no_embedder_because: str | None = None
    """Why there is no embedder, and which setting changes that, in a sentence."""

    @cached_property
    def trash(self) -> Trash:
        """The journal of the changes to this store, used to undo them."""
        from zeroclaw_tui.curation.journal import Trash, store_name

        about, install = self.memory.about, self.config.install
        name = store_name(about.identity or self.memory.name, about.location, install.config_dir)
        return Trash(install, name, lambda: datetime.now(UTC).astimezone())

    @property
    def read_only_because(self) -> str | None:
        """Why the store cannot be changed, in a sentence; None if it can."""
        return self.memory.why_not.get("write")

    @property
    def why_no_vectors(self) -> str | None:
        """Why recall uses keywords only, in a sentence; None if it also uses vectors."""
        because = self.no_embedder_because
        return self.memory.why_not.get("vectors") or (because and f"keyword only: {because}")

    @property
    def embedding_host(self) -> str:
        return one_line(endpoint_host(self.config.embedding.provider) or self.config.embedding.provider)

    def on_first_request(self, announce: Announce) -> None:
        """Call `announce` once, before the first text is sent to another machine for embedding."""
        for embedder in (self.embedder, self.memory.upkeep.embedder):
            if embedder is not None:
                embedder.on_first_request(announce)

    def with_profile(self, version: str) -> None:
        self.profile = ProfileChoice.from_version(version, "chosen here")

    def trial(self, request: RecallRequest, settings: ScoringSettings | None = None) -> Trial:
        """The parameters of a recall with this profile, and with these settings or the library's own."""
        return Trial(request, self.profile.profile, settings or self.settings)

    async def scan_entries(self, entries: Sequence[MemoryEntry]) -> list[MemoryEntry]:
        """Scan the full content of these memories, unless deleted since; withheld memories get the reason."""
        if not self.profile.profile.scans_content or self.settings.threat_scan == "off":
            return list(entries)
        from zeroclaw_tui.scoring.injection import scan

        scanned = list(entries)
        for index, entry in enumerate(entries):
            with suppress(NotFound):
                whole = await whole_entry(self.memory, entry.handle) if entry.is_excerpt else entry
                # In a thread, because scanning a long content is slow.
                withheld = await asyncio.to_thread(scan, whole.content, self.settings.threat_scan)
                scanned[index] = replace(entry, withheld=withheld)
        return scanned

    async def superseded_hidden(self, filter: MemoryFilter) -> int:
        """Count the memories that a filter excludes only because they are superseded."""
        if filter.superseded is not Superseded.HIDE or "superseded" in self.memory.why_not:
            return 0
        return await count_matching(self.memory, filter.replace(superseded=Superseded.ONLY))

    async def superseding_entry(self, entry: MemoryEntry) -> MemoryEntry | None:
        """Find the memory that superseded another one, by the recorded key (ZeroClaw) or id (other programs)."""
        if not entry.superseded_by:
            return None
        candidates = [
            *await entries_with_key(self.memory, entry.superseded_by, entry.agent),
            await entry_with_id(self.memory, entry.superseded_by),
        ]
        return next((other for other in candidates if other is not None and other.handle != entry.handle), None)

    async def check_agents(self, agents: Sequence[str]) -> None:
        """Raise Refused for an agent that neither config nor store has, or if the store has no agents."""
        if self.memory.about.keeps_nothing:
            return
        if "agents" in self.memory.why_not:
            raise without_agents(self.memory)
        for agent in set(agents).difference(self.config.agents):
            own = MemoryFilter(agent=(agent,), superseded=Superseded.SHOW)
            if not await self.memory.rows(Query(EXCERPTS, own, limit=1)):
                known = {*self.config.agents, *(await self.memory.health()).facts.get("agents", ())}
                if agent not in known:
                    raise unknown_agent(agent, known)

    async def close(self) -> None:
        await self.memory.close()
        if self.embedder is not None:
            await self.embedder.close()


async def open_library(
    config: MemoryConfig, profile: str | None = None, *, may_be_missing: bool = False, query_binary: bool = True
) -> Library:
    """Open the store of a config. `profile` is a ZeroClaw version; `query_binary` is that of `choose_profile`.

    Raises NothingYet for a missing store, or BeforeFirstStart if ZeroClaw will create it; with `may_be_missing` the
    latter opens an empty store instead.
    """
    memory = create_memory(config)
    try:
        try:
            await memory.open()
        except NothingYet as error:
            if not await asyncio.to_thread(_is_before_first_start, config, memory):
                raise
            if not may_be_missing:
                missing = f"{one_line(memory.about.location)} does not exist yet."
                sentence = f"{missing} ZeroClaw creates it at its first start."
                raise BeforeFirstStart(sentence, hint=MAKES_STORE) from error
            await memory.close()
            memory = empty_store(memory)
        newest = memory.about.newest_version
        choice = await asyncio.to_thread(choose_profile, config, profile, newest, query_binary=query_binary)
        embedder, reason = None, why_no_embedder(config.embedding)
        if reason is None:
            # Deferred: the embedder takes 6 ms to import.
            from zeroclaw_tui.embeddings.endpoint import create_embedder

            embedder = create_embedder(config.embedding)
        return Library(config, memory, choice, scoring_settings(config), embedder, reason)
    except BaseException:
        # Also after ctrl-c: an open connection would keep the process from ending.
        await memory.close()
        raise


def _is_before_first_start(config: MemoryConfig, memory: Memory) -> bool:
    """Whether this is an install's own store and has no file yet. An empty file may have had memories before."""
    config_file = config.install.config_file
    is_own = config.location is None and config_file is not None and config_file.exists()
    return is_own and not (memory.about.path is not None and memory.about.path.exists())


def scoring_settings(config: MemoryConfig) -> ScoringSettings:
    """The scoring settings of a config; an unknown search mode, scan mode or strategy has no effect."""
    modes: dict[str, profiles.SearchMode] = {mode: mode for mode in get_args(profiles.SearchMode)}
    names = {name: f"rerank_{name}" for name in ("enabled", "strategy", "threshold")}
    rerank = RerankSettings(**{field: getattr(config, names.get(field, field)) for field in RerankSettings._fields})
    return ScoringSettings(
        vector_weight=config.vector_weight,
        keyword_weight=config.keyword_weight,
        threshold=config.min_relevance_score,
        search_mode=modes.get(config.search_mode, "hybrid"),
        threat_scan=SCAN_MODES.get(config.threat_scan, "on") if config.threat_scan_load_time else "off",
        rerank=rerank._replace(strategy="mmr" if rerank.strategy.strip().lower() == "mmr" else "none"),
    )


def without_agents(memory: Memory) -> Refused:
    """The error for naming an agent in a store without agents."""
    return Refused(memory.why_not["agents"], hint="Leave the agent out.")


def unknown_agent(agent: str, known: Iterable[str]) -> Refused:
    """The error for an unknown agent."""
    names = ", ".join(map(one_line, sorted(known)))
    hint = f"Known agents: {names}." if names else "Leave the agent out."
    return Refused(f"There is no agent {one_line(agent)!r} here.", hint=hint)
