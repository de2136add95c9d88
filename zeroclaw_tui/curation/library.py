"""One opened store with the config and the embedder it is read with, and which version's rules it is scored by."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, get_args

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.factory import create_memory, empty_store
from zeroclaw_tui.backends.lookup import (
    count_facets,
    count_matching,
    entries_with_key,
    entry_with_id,
    whole_entry,
)
from zeroclaw_tui.config.memory_config import NEWEST_SCHEMA, MemoryConfig
from zeroclaw_tui.config.real_binary import real_zeroclaw
from zeroclaw_tui.config.schema import NEWEST_OLD
from zeroclaw_tui.config.settings import saved_profile
from zeroclaw_tui.embeddings.base import Embedder, endpoint_host
from zeroclaw_tui.embeddings.factory import create_embedder
from zeroclaw_tui.memory.errors import (
    MAKES_STORE,
    BeforeFirstStart,
    NotFound,
    NothingYet,
    Refused,
    Unreadable,
    UsageError,
)
from zeroclaw_tui.memory.query import EXCERPTS, NEWEST_STORED, MemoryFilter, Query, Superseded
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.scoring.profiles import (
    LANDMARKS,
    NEWEST,
    SCHEMA_VERSIONS,
    RerankSettings,
    ScoringProfile,
    ScoringSettings,
    SearchMode,
    Trial,
    generation_made_by,
    parse_version,
    profile_for,
)

if TYPE_CHECKING:
    from zeroclaw_tui.curation.journal import Trash
    from zeroclaw_tui.embeddings.base import Announce
    from zeroclaw_tui.memory.entry import MemoryEntry
    from zeroclaw_tui.memory.recall import RecallRequest
    from zeroclaw_tui.scoring.injection import ScanMode


ASK_SECONDS = 2.0
_FIRST_WITH_AGENTS = "G3"
_RULES = {
    "hides_superseded": "superseded hidden",
    "decays_cli": "old ones decay",
    "prefix_words": "word* is a prefix",
    "star_lists_recent": "* lists the newest",
    "one_injection_rule": "one injection rule",
    "normalises_keyword_only": "keyword scores 0..1",
    "scans_content": "content scanner",
}


ASSUMED = "assumed"


class ProfileChoice(NamedTuple):
    """A profile and its source: "option", "saved", "zeroclaw --version", "assumed" or "chosen here"; behind a version
    that is not known yet also that it is newer."""

    profile: ScoringProfile
    source: str

    @classmethod
    def of(cls, version: str, source: str) -> ProfileChoice:
        """The choice of a version. Raises UsageError when it is none."""
        profile = profile_for(version)
        return cls(profile, source if profile.newer is None else f"{source}; {profile.newer} is newer than what I know")

    @classmethod
    def by_hand(cls, version: str) -> ProfileChoice:
        """The choice a person makes while looking."""
        return cls.of(version, "chosen here")


def known_rules(current: str) -> list[tuple[str, str]]:
    """A version of each set of rules, `current` among them, oldest first, with what its rules have that those of the
    version before have not."""
    versions = sorted({*LANDMARKS, current}, key=parse_version)
    profiles = [profile_for(version) for version in versions]
    before = (None, *profiles)
    return [(profile.version, _news(profile, earlier)) for profile, earlier in zip(profiles, before, strict=False)]


def _news(profile: ScoringProfile, before: ScoringProfile | None) -> str:
    if before is None:
        return "the first rules"
    news = [words for name, words in _RULES.items() if getattr(profile, name) and not getattr(before, name)]
    if profile.agent_scope != "none" and before.agent_scope == "none":
        news.append("agents apart")
    return ", ".join(news) or "nothing a list would show"


async def choose_profile(
    config: MemoryConfig, memory: Memory, given: str | None, *, asks_binary: bool = True
) -> ProfileChoice:
    """The option, else the saved choice, else what the real binary says where it is asked, else the newest of this
    schema."""
    if given is not None:
        return ProfileChoice.of(given, "option")
    saved = saved_profile(config.install)
    if saved is not None:
        return ProfileChoice.of(saved, "saved")
    binary = real_zeroclaw() if asks_binary else None
    answer = await answered_version(binary) if binary else None
    if answer is not None:
        return ProfileChoice.of(answer, "zeroclaw --version")
    return ProfileChoice.of(memory.about.newest_version or NEWEST, ASSUMED)


async def profile_to_make(config: MemoryConfig, memory: Memory, given: str | None) -> ScoringProfile:
    """Of which version a store is made where there is none yet."""
    choice = await choose_profile(config, memory, given)
    is_old = config.install.layout == "workspace" and config.schema < NEWEST_SCHEMA
    # An older ZeroClaw stores nothing in tables from 0.8.0 on; a newer one brings older tables to its own.
    return profile_for(NEWEST_OLD) if is_old and choice.source == ASSUMED else choice.profile


def profile_remark(profile: ScoringProfile, memory: Memory) -> str | None:
    """What ZeroClaw of this version would do with a store of another generation's schema; None where it fits.

    Versions up to 0.7.5 read tables from 0.8.0 on but store nothing in them; later ones add what they lack when they
    open a file, and 0.8.0 makes it anew.
    """
    if memory.about.newest_version is None or memory.about.generation is None:
        return None
    wanted, found = generation_made_by(profile.version), memory.about.generation
    if wanted == found or found not in SCHEMA_VERSIONS:
        return None
    subject = f"ZeroClaw {profile.version}"
    table = f"this file, which has the tables of {SCHEMA_VERSIONS[found]}"
    if wanted > found:
        back = ", and no older version stores in it then" if wanted >= _FIRST_WITH_AGENTS > found else ""
        done = f"would first migrate {table}{back}"
    elif found >= _FIRST_WITH_AGENTS > wanted:
        done = f"could read {table}, but store nothing in it"
    else:
        done = f"would open {table}, and ignore their extra columns"
    return f"{subject} {done}; the scores shown are those that it would give."


async def answered_version(binary: Path) -> str | None:
    """What `zeroclaw --version` answers within two seconds, trimmed, if it has a version in it; else None.

    Whoever asks then says that the version is not known or assumed.
    """
    import shutil

    command = shutil.which(str(binary)) or str(binary)
    try:
        process = await asyncio.create_subprocess_exec(
            command,
            "--version",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return None
    try:
        answer, _ = await asyncio.wait_for(process.communicate(), ASK_SECONDS)
    except TimeoutError:
        return None
    finally:
        # The whole group: a wrapper script's child would keep the pipe open, and waiting would last as long as it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    text = answer.decode("utf-8", "replace")
    with contextlib.suppress(UsageError):
        parse_version(text)
        return text.strip()
    return None


# What searches, asks endpoints and keeps changes is imported by its first use: a store is opened to be looked at first.

SCANNED_AT_ONCE = 20_000
"""Up to so many characters a scan takes well under a millisecond; longer contents go to a thread."""
FINDINGS_KEPT = 4000


@dataclass(slots=True, eq=False, repr=False)
class Library:
    """An open store. Every verb here is a coroutine, may raise InspectorError kinds, and only reads.

    What writes is in `curation/changes.py`.
    """

    config: MemoryConfig
    memory: Memory
    profile: ProfileChoice
    settings: ScoringSettings
    embedder: Embedder | None
    """None when the config names no embedding provider."""
    kept_in: Trash | None = None
    """Its trash, once it was asked for: looking alone has no need of one."""
    no_embedder_because: str | None = None
    """Why there is none, and which setting changes that; a sentence."""
    _findings: dict[tuple[object, ...], str | None] = field(default_factory=dict)
    """What was found in long contents, by their state: a busy agent has the same rows listed again and again."""

    @property
    def trash(self) -> Trash:
        """What was changed here and can be taken back."""
        if self.kept_in is None:
            from zeroclaw_tui.curation.journal import Trash

            self.kept_in = Trash(self.config.install, trash_name(self.memory, self.config), _now)
        return self.kept_in

    @trash.setter
    def trash(self, trash: Trash) -> None:
        self.kept_in = trash

    @property
    def read_only_because(self) -> str | None:
        """Why nothing can be changed here, in a sentence; None when it can."""
        return self.memory.why_not.get("write")

    @property
    def embedding_host(self) -> str:
        """The host that texts are sent to for their vectors."""
        return one_line(endpoint_host(self.config.embedding.provider) or self.config.embedding.provider)

    async def scanned(self, entries: Sequence[MemoryEntry]) -> list[MemoryEntry]:
        """The same rows, each with what ZeroClaw of this profile withholds it from the agent for, by its full content.

        Rows that have gone meanwhile stay as they are.
        """
        mode = self.settings.threat_scan
        if not self.profile.profile.scans_content or mode == "off":
            return list(entries)
        return [replace(entry, withheld=await self._finding(entry, mode)) for entry in entries]

    async def _finding(self, entry: MemoryEntry, mode: ScanMode) -> str | None:
        from zeroclaw_tui.scoring.injection import scan

        if not entry.is_excerpt and len(entry.content) <= SCANNED_AT_ONCE:
            return scan(entry.content, mode)
        state = (entry.id, entry.handle, entry.updated_at, entry.size)
        if state not in self._findings:
            content = entry.content
            if entry.is_excerpt:
                try:
                    content = (await whole_entry(self.memory, entry.handle)).content
                except NotFound:
                    return entry.withheld
            self._findings[state] = await asyncio.to_thread(scan, content, mode)
            while len(self._findings) > FINDINGS_KEPT:
                self._findings.pop(next(iter(self._findings)))
        return self._findings[state]

    async def superseded_hidden(self, filter: MemoryFilter) -> int:
        """How many memories a filter leaves out for no other reason than that a newer one replaced them; 0 where it
        shows them or the store has none such."""
        if filter.superseded is not Superseded.HIDE or "superseded" in self.memory.why_not:
            return 0
        return await count_matching(self.memory, filter.but(superseded=Superseded.ONLY))

    async def newer(self, entry: MemoryEntry) -> MemoryEntry | None:
        """The memory that superseded another one; None where it is not there, or nothing says which.

        ZeroClaw names it by its key, which belongs to one agent; R-Mem, and other programs in ZeroClaw's tables, by
        its id. Of several of that key in a foreign table the one in the same namespace is meant.
        """
        named = entry.superseded_by
        if not named:
            return None
        of_key = [one for one in await entries_with_key(self.memory, named, entry.agent) if one.handle != entry.handle]
        if of_key:
            return min(of_key, key=lambda one: one.namespace != entry.namespace)
        of_id = await entry_with_id(self.memory, named)
        return None if of_id is None or of_id.handle == entry.handle else of_id

    async def check_agents(self, agents: Sequence[str]) -> None:
        """Raise Refused for an agent that neither config nor store knows, and for any where memories belong to none."""
        if self.memory.about.keeps_nothing:
            return
        if "agents" in self.memory.why_not:
            raise without_agents(self.memory)
        for agent in agents:
            held = MemoryFilter(agent=(agent,), superseded=Superseded.SHOW)
            if agent in self.config.agents or await self.memory.rows(Query(EXCERPTS, held, NEWEST_STORED, limit=1)):
                continue
            every = await count_facets(self.memory, MemoryFilter(superseded=Superseded.SHOW), _now().isoformat())
            without_memories = (await self.memory.health()).facts.get("agents", ())
            known = {*self.config.agents, *(every.agent or ()), *without_memories}
            if agent not in known:
                raise unknown_agent(agent, known)

    def trial(self, request: RecallRequest, settings: ScoringSettings | None = None) -> Trial:
        """The recall of a request by this profile and these settings, or by others."""
        return Trial(request, self.profile.profile, settings or self.settings)

    def on_first_request(self, announce: Announce) -> None:
        """Call `announce` once, before the first text leaves this machine for its vector."""
        for embedder in (self.embedder, self.memory.upkeep.embedder):
            if embedder is not None:
                embedder.on_first_request(announce)

    def waits_for(self, query: str) -> bool:
        """Whether an embedding endpoint has to be asked for the vector of a query the store has none of."""
        return self.embedder is not None and not self.embedder.is_cached(query)

    def with_profile(self, version: str) -> None:
        """Score by the rules of another version from now on."""
        self.profile = ProfileChoice.by_hand(version)

    @property
    def why_no_vectors(self) -> str | None:
        """A sentence when recall is by keyword only, or None."""
        return self.memory.why_not.get("vectors") or self.no_embedder_because

    async def close(self) -> None:
        """Close everything."""
        await self.memory.close()
        if self.embedder is not None:
            await self.embedder.close()


def without_agents(memory: Memory) -> Refused:
    """The error for an agent that is named where memories belong to none."""
    return Refused(memory.why_not["agents"], hint="Leave the agent out.")


def unknown_agent(agent: str, known: Iterable[str]) -> Refused:
    """The error for an agent that is none of those known."""
    names = ", ".join(map(one_line, sorted(known)))
    hint = f"Known are {names}." if names else "Leave the agent out."
    return Refused(f"There is no agent {one_line(agent)!r} here.", hint=hint)


async def open_library(
    config: MemoryConfig, profile: str | None = None, *, may_be_missing: bool = False, asks_binary: bool = True
) -> Library:
    """Open the store a config names. Raises InspectorError kinds; `profile` is a ZeroClaw version. Who neither
    scores nor writes need not ask the real ZeroClaw for its own, which takes longer than a list.

    The store of an install that ZeroClaw has not made yet raises BeforeFirstStart, or is one of 0 memories where it
    `may_be_missing`; one that was named, or lost what it held, raises NothingYet.
    """
    memory = create_memory(config)
    try:
        try:
            await memory.open()
        except NothingYet as nothing:
            if not _is_before_first_start(config, memory):
                raise
            if not may_be_missing:
                told = f"{one_line(memory.about.location)} does not exist yet. ZeroClaw creates it at its first start."
                raise BeforeFirstStart(told, hint=MAKES_STORE) from nothing
            await memory.close()
            memory = empty_store(memory)
        except Unreadable as error:
            if memory.about.path is None or (config.install.config_file is not None and config.location is None):
                raise
            from zeroclaw_tui.curation.formats.registry import not_a_store

            raise await asyncio.to_thread(not_a_store, memory.about.path, error) from error
        choice = await choose_profile(config, memory, profile, asks_binary=asks_binary)
        embedder, because = create_embedder(config.embedding)
        library = Library(config, memory, choice, scoring_settings(config), embedder, None, because)
    except BaseException:
        # Whatever ended the opening, ctrl-c too: a connection left open would keep the process from ending.
        await memory.close()
        raise
    return library


def _is_before_first_start(config: MemoryConfig, memory: Memory) -> bool:
    """True for the own store of an install with a config.toml; an empty file in its place may have been full before."""
    config_file = config.install.config_file
    is_own = config.location is None and config_file is not None and config_file.exists()
    return is_own and not (memory.about.path is not None and memory.about.path.exists())


def trash_name(memory: Memory, config: MemoryConfig) -> str:
    """Under which name the trash knows a store."""
    from zeroclaw_tui.curation.journal import store_name

    return store_name(memory.about.identity or memory.name, memory.about.location, config.install.config_dir)


def _now() -> datetime:
    return datetime.now(UTC).astimezone()


def scoring_settings(config: MemoryConfig) -> ScoringSettings:
    """The numbers and words that ZeroClaw scores with by this config."""
    modes: dict[str, SearchMode] = {mode: mode for mode in get_args(SearchMode)}
    scans: dict[str, ScanMode] = {"on": "on", "off": "off", "strict": "strict"}
    return ScoringSettings(
        config.vector_weight,
        config.keyword_weight,
        config.min_relevance_score,
        modes.get(config.search_mode, "hybrid"),
        scans.get(config.threat_scan, "on") if config.threat_scan_load_time else "off",
        rerank_settings(config),
    )


def rerank_settings(config: MemoryConfig) -> RerankSettings:
    """The rerank stage by this config; a strategy that ZeroClaw does not know counts as none."""
    return RerankSettings(
        config.rerank_enabled,
        "mmr" if config.rerank_strategy.strip().lower() == "mmr" else "none",
        config.rerank_threshold,
        config.mmr_lambda,
        config.importance_weight,
        config.recency_weight,
        config.candidate_multiplier,
    )
