"""Sample memories, in-memory stores of every kind, and an inspector on them."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from support.inspector import RoomApp
from support.libraries import Library, ProfileChoice
from support.marks import plan_of_marked
from support.memories import ApplyResult, Change, Draft, Edit, EmbeddingFailed, Journal, MemoryEntry, NotReachable, Row
from support.places import Install, MemoryConfig, OpenOptions
from support.questions import ENTRIES, OLDEST_STORED, MemoryFilter, Query, RecallRequest, ScoredEntry
from support.rules import OwnEvidence, ScoringSettings, StoreRecall, Trial, depth_of, own_evidence, profile_for
from support.stores import About, Memory, row_with_id

from zeroclaw_tui.backends.in_memory import InMemory
from zeroclaw_tui.backends.loaded import Loaded
from zeroclaw_tui.backends.markdown.store import MarkdownMemory
from zeroclaw_tui.backends.upkeep import Upkeep
from zeroclaw_tui.curation import changes
from zeroclaw_tui.curation.config_choice import Candidate, StoreStatus
from zeroclaw_tui.curation.journal import Trash
from zeroclaw_tui.curation.journal_records import Verb
from zeroclaw_tui.embeddings.local import LocalEmbedder
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.rooms.changes import ChangesRoom
from zeroclaw_tui.tui.view import Pace

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
_TICKS = count()
STILL = Pace(debounce=0.0, patience=30, overdue=30, poll=None, stopwatch=lambda: next(_TICKS) * 0.018)
GONE = NotReachable("The server at db:5432 went away.", hint="Start it again, then r.")
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


def paced(**parts: Any) -> Pace:
    """Return a pace without any timers except these."""
    return replace(STILL, **parts)


SESSIONS = ("telegram_12345", "discord_77", None)


def memory(key: str, content: str, category: str, days: float, number: int, **more: Any) -> MemoryEntry:
    """Return a memory of this many days ago; its number is its handle and its position in the order of storing."""
    created = (NOW - timedelta(days=days, minutes=number)).isoformat()
    plain = MemoryEntry(f"00000000-0000-4000-8000-{number:012}", key, content, category, created, handle=number)
    return replace(plain, **({"updated_at": created, "session_id": SESSIONS[number % 3]} | more))


def sample_memories(chat: int = 240) -> list[MemoryEntry]:
    """Return many chat memories, every eightieth superseded, followed by the named memories."""
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
    return filler + [memory(*parts, chat + number) for number, parts in enumerate(NAMED, 1)]


def hostile_memories() -> list[MemoryEntry]:
    """Return memories that would break a screen which parses text as markup or sends it raw to the terminal."""
    return [memory(*parts, number) for number, parts in enumerate(HOSTILE, 1)]


def entries_in(store: InMemory) -> list[MemoryEntry]:
    """Return all memories of a store, without an event loop."""
    return list(store.entries.values())


def keys_in(store: InMemory) -> set[str]:
    """Return the keys of all memories of a store."""
    return {entry.key for entry in entries_in(store)}


class SampleMemory(InMemory):
    """A store that ranks by matching words, so that results have every part of a score; records its calls.

    While `failure` is set every call fails; `steps` delays deletions.
    """

    name = "sqlite"
    about = About(location="/srv/zeroclaw/.zeroclaw/workspace/memory/brain.db", rule=None)
    why_not: Mapping[str, str] = {"agents": "All of these are one agent's.", "namespaces": "These have no namespace."}

    def __init__(self, entries: Iterable[MemoryEntry] = ()) -> None:
        super().__init__(entries, clock=lambda: NOW)
        self.changes = 1
        self.failure: Exception | None = None
        self.failed = 0
        self.steps: Any = None
        self.requests: list[RecallRequest] = []

    def _answer(self) -> None:
        if self.failure is not None:
            self.failed += 1
            raise self.failure

    async def _loaded(self) -> Loaded:
        self._answer()
        return await super()._loaded()

    async def version(self) -> int | None:
        self._answer()
        return self.changes

    async def apply(self, changes: Iterable[Change], journal: Journal | None, **options: Any) -> ApplyResult:
        self._answer()
        every = list(changes)
        if self.steps is not None and all(change.after is None for change in every):
            await self.steps(options.get("on_progress"))
        return await super().apply(every, journal, **options)

    @property
    def upkeep(self) -> Upkeep:
        return Upkeep(database=self)  # type: ignore[arg-type]

    async def cached_vector(self, text: str) -> None:
        """Return None, since there is no cache."""

    async def search(self, trial: Trial, vector: np.ndarray | None = None, *, deep: bool = False) -> OwnEvidence:
        self.requests.append(trial.request)
        self._answer()
        words = {word.strip("?") for word in trial.request.query.casefold().split()}
        shares = []
        for entry in await self.rows(Query(ENTRIES, MemoryFilter(), OLDEST_STORED)):
            hits = len(words & set(entry.content.casefold().replace(".", "").replace(":", "").split()))
            if hits and trial.request.session_id in (None, entry.session_id):
                shares.append((hits / len(words), entry))
        shares.sort(key=lambda pair: (-pair[0], pair[1].key))
        scored = [self._scored(rank, share, entry, vector is None) for rank, (share, entry) in enumerate(shares, 1)]
        scored.sort(key=lambda one: -(one.score or 0))
        depth = depth_of(trial.request, deep=deep)
        ranked = tuple(one._replace(rank=rank) for rank, one in enumerate(scored[:depth], 1))
        return own_evidence(trial, StoreRecall(ranked, "keyword" if vector is None else "hybrid", "0..1"), depth)

    @staticmethod
    def _scored(rank: int, share: float, entry: MemoryEntry, is_keyword: bool) -> ScoredEntry:
        """In a hybrid search every fourth memory has no vector."""
        found = ScoredEntry(entry, rank, share * 6, keyword_score=share, keyword_raw=share * 6, keyword_rank=rank)
        if is_keyword:
            return found._replace(stage="keyword")
        cosine = 0.91 - 0.13 * rank if rank != 4 else None
        score = 0.7 * (cosine or 0) + 0.3 * share
        return found._replace(score=score, vector_score=cosine, stage="hybrid", vector_rank=rank)


def notes(folder: Path) -> MarkdownMemory:
    """Return a Markdown store with a file of four lines."""
    lines = ("Likes ramen.", "Allergic to peanuts.", "Timezone is EST.", "Runs on Sundays.")
    (folder / "MEMORY.md").write_text("# Memory\n\n" + "".join(f"- {line}\n" for line in lines))
    return MarkdownMemory(folder)


class SampleEmbedder(LocalEmbedder):
    """Returns the same vector for every text; with `vectors`, those of its texts, and fails for other texts."""

    name = "sample"

    def __init__(self, dimensions: int = 4, vectors: Mapping[str, Sequence[float]] | None = None) -> None:
        self.dimensions = dimensions
        self.vectors = None if vectors is None else dict(vectors)

    async def embed(self, text: str) -> np.ndarray:
        if self.vectors is not None and text not in self.vectors:
            raise EmbeddingFailed("The endpoint does not know this message.", hint="Type another.")
        vector = self.vectors[text] if self.vectors is not None else [1.0] + [0.0] * (self.dimensions - 1)
        return np.array(vector, dtype=np.float32)


def sample_config(folder: Path, **parts: Any) -> MemoryConfig:
    """Return a config of an install that does not have to exist on disk."""
    root = folder / ".zeroclaw" / "workspace"
    database = root / "memory" / "brain.db"
    return MemoryConfig(Install(root.parent, root, database, "workspace", "the default place", folder / "own"), **parts)


def sample_library(
    store: Memory,
    config: MemoryConfig,
    *,
    embeds: bool = True,
    version: str = "0.6.2",
    clock: Callable[[], datetime] = lambda: NOW,
) -> Library:
    """Return a library on an in-memory store, with a trash on disk."""
    missing = "No embeddings are configured: memory.embedding_provider in config.toml turns them on."
    profile = ProfileChoice(profile_for(version), "assumed")
    embedder = SampleEmbedder() if embeds else None
    library = Library(config, store, profile, ScoringSettings(), embedder, None if embeds else missing)
    library.trash = Trash(config.install, "in-memory:this process", clock)
    return library


def editable(folder: Path) -> Library:
    """Return a library with two agents whose memories can all be changed."""
    store = SampleMemory(sample_memories(12))
    store.why_not = {}
    return sample_library(store, sample_config(folder, agents={"default": (), "researcher": ("default",)}))


class Inspector:
    """An inspector on in-memory stores, the first of which is shown at the start.

    `answers` has the status of each store, None for one that never answers; `refusals` has the errors raised when a
    store is opened. The stores in `foreign` are named only by DATABASE_URL.
    """

    def __init__(self, folder: Path, *stores: Memory, **library: Any) -> None:
        self.folder, self.library_parts = folder, library
        self.foreign: frozenset[str] = frozenset()
        self.stores = {store.name: store for store in stores or [SampleMemory(sample_memories())]}
        self.store: Any = next(iter(self.stores.values()))
        self.configs: Sequence[MemoryConfig] = (self.config(self.store.name),)
        self.library: Any = None
        self.answers: dict[str, StoreStatus | None] = {}
        self.refusals: dict[str, Exception] = {}
        self.asked: list[str] = []
        self.closed: list[str] = []
        self.may_list = threading.Event()
        self.may_list.set()
        self.may_open = asyncio.Event()
        self.late = ""

    def app(self, *, pace: Pace = STILL, **options: Any) -> InspectorApp:
        """Return the inspector with these command-line options."""
        inspector = self

        class SampleApp(InspectorApp):
            def find_configs(self, options: OpenOptions) -> tuple[MemoryConfig, ...]:
                return tuple(inspector.configs)

            async def open_library(self, config: MemoryConfig) -> Library:
                return await inspector.open(config)

            def find_stores(self, current: MemoryConfig, started: MemoryConfig) -> Sequence[Candidate]:
                return inspector.candidates(current)

            async def check_store(self, candidate: Candidate) -> StoreStatus:
                return await inspector.check(candidate)

        return SampleApp(OpenOptions(**options), clock=lambda: NOW, pace=pace)

    def config(self, name: str) -> MemoryConfig:
        """Return the config of a store."""
        storage = {"db_url": f"postgres://zeroclaw:hunter2@db:5432/{name}", "schema": "public", "table": "memories"}
        if name not in self.foreign:
            return sample_config(self.folder, backend=name, storage=storage, zeroclaw_backend=name)
        sources = {"storage.db_url": "environment DATABASE_URL"}
        return sample_config(self.folder, backend=name, storage=storage, read_only=True, sources=sources)

    async def open(self, config: MemoryConfig) -> Library:
        """Open the library of a store, which records when it is closed."""
        if config.backend == self.late:
            await self.may_open.wait()
        if config.backend in self.refusals:
            raise self.refusals[config.backend]
        await self.stores[config.backend].open()
        self.library = sample_library(self.stores[config.backend], config, **self.library_parts)
        close = self.library.close

        async def noting_close() -> None:
            self.closed.append(config.backend)
            await close()

        self.library.close = noting_close
        return self.library  # type: ignore[no-any-return]

    def candidates(self, config: MemoryConfig) -> Sequence[Candidate]:
        """Return every store, once the test allows the listing."""
        self.may_list.wait()
        here = config.backend
        return [
            Candidate(config if name == here else self.config(name), f"config.toml, {name}", is_current=name == here)
            for name in dict.fromkeys([here, *self.stores, *self.refusals])
        ]

    async def check(self, candidate: Candidate) -> StoreStatus:
        """Return the status that the test has set for a store."""
        self.asked.append(candidate.name)
        answer = self.answers.get(candidate.name, StoreStatus(memories=12, badges=("keyword", "sessions", "write")))
        if answer is None:
            await asyncio.Event().wait()
        assert answer is not None
        return answer


def row(number: int, key: str, content: str, category: str = "core", **more: Any) -> Row:
    """Return the row of a memory of two months ago."""
    return Row.from_entry(memory(key, content, category, 60, number, **({"session_id": None} | more)))


class Trashed:
    """An in-memory library with a trash on disk, to which a test adds the changes of some weeks."""

    def __init__(self, folder: Path) -> None:
        self.moment = NOW
        self.memory = InMemory((), clock=self.clock)
        self.library = sample_library(self.memory, sample_config(folder), embeds=False, clock=self.clock)
        self.trash = self.library.trash

    def clock(self) -> datetime:
        """Return the time set by the test."""
        return self.moment

    async def delete(self, *ids: str, verb: Verb = "forget") -> None:
        """Delete memories as the list does."""
        await changes.remove_memories(self.library, await plan_of_marked(self.library, ids), verb)

    async def edit(self, id: str, **values: Any) -> None:
        stored = await row_with_id(self.memory, id)
        await changes.edit_memory(self.library, id, Edit(values), stored.fingerprint)

    async def purge_chat(self, count: int) -> MemoryEntry:
        """Store chat memories three days ago, edit the first and return it, and purge all of them a day ago."""
        self.moment = NOW - timedelta(days=3)
        rows = [row(1000 + at, f"user_msg_{at:04}", f"Asked about topic {at % 17}.", "chat") for at in range(count)]
        for one in rows:
            self.memory.add(one.entry())
        await self.edit(rows[0].id, content="Asked about bread.\nAnd butter.", category="daily")
        self.moment = NOW - timedelta(days=1)
        await self.delete(*[one.id for one in rows], verb="purge")
        self.moment = NOW
        return rows[0].entry()

    async def purge_and_store(self) -> None:
        """Purge twelve chat memories and store another one, two hours ago."""
        await self.purge_chat(12)
        self.moment = NOW - timedelta(hours=2)
        await changes.store_memory(self.library, Draft("tz", "Timezone is EST"))
        self.moment = NOW

    def room(self, memory: MemoryEntry | None = None) -> RoomApp:
        """Return the room of all changes, or of those of one memory."""
        return RoomApp(lambda: ChangesRoom(self.library, self.clock, STILL, memory))


def editor_program(folder: Path, body: str) -> str:
    """Write an editor in Python, which has `path` and its content `before`; return the command for EDITOR."""
    script = folder / "editor program.py"
    script.write_text(
        "import os, sys\nfrom pathlib import Path\npath = Path(sys.argv[-1])\nbefore = path.read_bytes()\n" + body
    )
    return f"{sys.executable} '{script}' --wait"
