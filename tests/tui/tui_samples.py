"""A store with a few hundred memories, a library around it, and an inspector on that which is still."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from support.screens import lit_in
from support.settling import pressing, settled
from textual.pilot import Pilot

from zeroclaw_tui.backends.about import About
from zeroclaw_tui.backends.in_memory import InMemory
from zeroclaw_tui.backends.loaded import Loaded
from zeroclaw_tui.config.locations import Install, OpenOptions
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.journal import Trash
from zeroclaw_tui.curation.library import Library, ProfileChoice
from zeroclaw_tui.embeddings.base import Embedder
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.query import ENTRIES, OLDEST_STORED, MemoryFilter, Query
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry
from zeroclaw_tui.scoring.evidence import OwnEvidence, StoreRecall, depth_of, own_evidence
from zeroclaw_tui.scoring.profiles import ScoringSettings, Trial, profile_for
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.rooms.browser import BrowserRoom
from zeroclaw_tui.tui.view import Pace
from zeroclaw_tui.tui.widgets.lines import SearchBar

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
_TICKS = count()
STILL = Pace(debounce=0.0, patience=30, overdue=30, poll=None, stopwatch=lambda: next(_TICKS) * 0.018)


def paced(**parts: Any) -> Pace:
    """A pace that is still but for these parts."""
    return replace(STILL, **parts)


NAMED = (
    ("food_allergy", "Allergic to peanuts, careful with satay and mole. Carries an antihistamine.", "core", 263),
    ("fav_food", "Likes ramen and rust coloured plates to eat from.", "core", 262),
    ("tz", "Timezone is EST, but travels in spring.", "core", 200),
    ("lunch_2026_11", "Ordered sushi twice this week: what she likes to eat most.", "daily", 2),
    ("market", "The farmers' market opens at eight and has things to eat.", "notes", 12),
    ("cutlery", "Bought new chopsticks. She said she would like a wok as well.", "daily", 5),
    ("语言", "用户喜欢深色主题，使用中文回答", "core", 90),
    ("recipe", "# Ramen\n\n- broth of **miso**\n- noodles\n- an egg\n\nServe hot.", "notes", 20),
)
HOSTILE = (
    ("[/markup]", "[/foo] [bold]not bold[/] [@click=app.bell()]no link[/] [", "core", 1),
    ("escape", "before \x1b[31mred\x1b]0;title\x07\x1b]52;c;aGk=\x1b\\ after\x9b2J\r\x08\x00 end", "core", 1),
    ("bidi", "user \u202egnp.exe\u202c and \u2066isolated\u2069 \u200frtl", "daily", 1),
    ("k" * 300, "A key of three hundred letters.", "notes", 1),
    ("", "A memory whose key is empty.", "core", 1),
    ("emoji 👩‍👩‍👧‍👦", "Family 👩‍👩‍👧‍👦, flag 🇫🇷, zalgo Z̸̡̢̧͎͙͚͈̦͚̞̘", "notes", 1),
    ("宽字符", "全角文字也要对齐：" + "宽" * 80, "daily", 1),
    ("surrogate \udc80", "lone \udcff surrogate", "core", 1),
    ("blank", "", "core", 1),
    ("%s {0}", "%d %n {entry} {0.__class__} $HOME", "core", 1),
)
SESSIONS = ("telegram_12345", "discord_77", None)


def memory(key: str, content: str, category: str, days: float, number: int, **more: Any) -> MemoryEntry:
    created = (NOW - timedelta(days=days, minutes=number)).isoformat()
    return MemoryEntry(
        id=f"00000000-0000-4000-8000-{number:012}",
        key=key,
        content=content,
        category=category,
        timestamp=created,
        updated_at=created,
        session_id=more.pop("session_id", SESSIONS[number % 3]),
        handle=number,
        **more,
    )


def sample_memories(chat: int = 240) -> list[MemoryEntry]:
    """The named ones last stored, on a heap of chat."""
    filler = [
        memory(
            f"user_msg_{number:04}",
            f"Talked about topic {number % 17} and asked for step {number % 5}.",
            "conversation" if number % 4 else "daily",
            (chat - number) * 0.9,
            number,
            superseded_by="later" if number % 80 == 0 else None,
        )
        for number in range(1, chat + 1)
    ]
    named = [memory(*parts, chat + number) for number, parts in enumerate(NAMED, 1)]
    return filler + named


def hostile_memories() -> list[MemoryEntry]:
    return [memory(*parts, number) for number, parts in enumerate(HOSTILE, 1)]


def entries_in(store: InMemory) -> list[MemoryEntry]:
    """All memories of a store, at once."""
    return list(store._entries.values())


class SampleMemory(InMemory):
    """Ranks by words found, so that results have every part of a score; watches what it is asked."""

    name = "sqlite"
    about = About(location="/srv/zeroclaw/.zeroclaw/workspace/memory/brain.db", rule=None)
    why_not: Mapping[str, str] = {
        "agents": "All of these are one agent's.",
        "namespaces": "These have no namespace.",
    }

    def __init__(self, entries: Iterable[MemoryEntry] = ()) -> None:
        super().__init__(entries, clock=lambda: NOW)
        self.changes = 1
        self.failure: Exception | None = None
        self.requests: list[RecallRequest] = []

    async def _loaded(self) -> Loaded:
        if self.failure is not None:
            raise self.failure
        return await super()._loaded()

    async def version(self) -> int | None:
        return self.changes

    async def search(self, trial: Trial, vector: np.ndarray | None = None, *, deep: bool = False) -> OwnEvidence:
        request = trial.request
        self.requests.append(request)
        if self.failure is not None:
            raise self.failure
        words = {word.strip("?") for word in request.query.casefold().split()}
        found = []
        for entry in await self.rows(Query(ENTRIES, MemoryFilter(), OLDEST_STORED)):
            hits = len(words & set(entry.content.casefold().replace(".", "").replace(":", "").split()))
            if hits and request.session_id in (None, entry.session_id):
                found.append((hits / len(words), entry))
        found.sort(key=lambda pair: (-pair[0], pair[1].key))
        scored = [self._scored(rank, share, entry, vector) for rank, (share, entry) in enumerate(found, 1)]
        scored.sort(key=lambda one: -(one.score or 0))
        depth = depth_of(request, deep=deep)
        ranked = tuple(replace(one, rank=rank) for rank, one in enumerate(scored[:depth], 1))
        found = StoreRecall(ranked, "hybrid" if vector is not None else "keyword", "0..1")
        return own_evidence(trial, found, depth)

    @staticmethod
    def _scored(rank: int, share: float, entry: MemoryEntry, vector: np.ndarray | None) -> ScoredEntry:
        if vector is None:
            return ScoredEntry(
                entry, rank, share * 6, keyword_score=share, keyword_raw=share * 6, stage="keyword", keyword_rank=rank
            )
        cosine = 0.91 - 0.13 * rank if rank != 4 else None
        score = 0.7 * (cosine or 0) + 0.3 * share
        return ScoredEntry(
            entry,
            rank,
            score,
            vector_score=cosine,
            keyword_score=share,
            keyword_raw=share * 6,
            stage="hybrid",
            keyword_rank=rank,
            vector_rank=rank,
        )


class SampleEmbedder(Embedder):
    name = "sample"
    dimensions = 4

    async def embed(self, text: str) -> np.ndarray:
        return np.ones(4, dtype=np.float32)


def sample_config(folder: Path, **parts: Any) -> MemoryConfig:
    install = Install(
        config_dir=folder / ".zeroclaw",
        root=folder / ".zeroclaw" / "workspace",
        database=folder / ".zeroclaw" / "workspace" / "memory" / "brain.db",
        layout="workspace",
        rule="the default place",
        own_dir=folder / "own",
    )
    return MemoryConfig(install, **parts)


def sample_library(store: InMemory, config: MemoryConfig, *, embeds: bool = True, version: str = "0.6.2") -> Library:
    library = Library(
        config=config,
        memory=store,
        profile=ProfileChoice(profile_for(version), "assumed"),
        settings=ScoringSettings(),
        embedder=SampleEmbedder() if embeds else None,
        no_embedder_because=None
        if embeds
        else "No embeddings are configured: memory.embedding_provider in config.toml turns them on.",
    )
    library.trash = Trash(config.install, "in-memory:this process", lambda: NOW)
    return library


class Inspector:
    """What a test needs to make an app: the store behind it, and how many times it was opened."""

    def __init__(self, folder: Path, store: InMemory | None = None, **library: Any) -> None:
        self.folder = folder
        self.store = store if store is not None else SampleMemory(sample_memories())
        self.configs: Sequence[MemoryConfig] = (sample_config(folder),)
        self.library_parts = library
        self.failure: Exception | None = None
        self.opened: list[MemoryConfig] = []
        self.library: Library | None = None

    def app(self, *, pace: Pace = STILL, options: OpenOptions | None = None) -> InspectorApp:
        return SampleApp(self, options or OpenOptions(), pace)

    async def open(self, config: MemoryConfig) -> Library:
        if self.failure is not None:
            raise self.failure
        self.opened.append(config)
        self.library = sample_library(self.store, config, **self.library_parts)
        return self.library


class SampleApp(InspectorApp):
    """An inspector on the store of an `Inspector`."""

    def __init__(self, inspector: Inspector, options: OpenOptions, pace: Pace) -> None:
        super().__init__(options, clock=lambda: NOW, pace=pace)
        self._inspector = inspector

    def find_configs(self, options: OpenOptions) -> tuple[MemoryConfig, ...]:
        return tuple(self._inspector.configs)

    async def open_library(self, config: MemoryConfig) -> Library:
        return await self._inspector.open(config)


def keys(*pressed: str, query: str | None = None) -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Wait for the store, press keys one after the other, and type a query into the bar."""

    async def run(pilot: Pilot[Any]) -> None:
        await pressing(*pressed)(pilot)
        if query is not None:
            pilot.app.screen.query_one(SearchBar).input.value = query
            await settled(pilot)

    return run


def browser(app: InspectorApp) -> BrowserRoom:
    found = app.screen_stack[0]
    assert isinstance(found, BrowserRoom)
    return found


def lit_mode(app: InspectorApp) -> str:
    """The search mode that is lit in the search line."""
    return "".join(lit_in(browser(app).query_one("SearchBar > .prompt")))
