"""Several stores of one config, each a stand-in for a backend: what it can and cannot do, and when it is silent."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tui_samples import NOW, STILL, SampleMemory, memory, sample_config, sample_library, sample_memories

from zeroclaw_tui.backends.about import About
from zeroclaw_tui.backends.base import Entries, Memory, Scored
from zeroclaw_tui.backends.in_memory import InMemory
from zeroclaw_tui.backends.loaded import Loaded
from zeroclaw_tui.backends.none import NoneMemory
from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.candidates import Candidate, StoreStatus
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import NotReachable
from zeroclaw_tui.memory.recall import ScoredEntry
from zeroclaw_tui.scoring.evidence import OwnEvidence
from zeroclaw_tui.scoring.profiles import Trial
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.view import Pace

GONE = NotReachable("The server at db:5432 went away.", hint="Start it again, then r.")
NO_SESSION = "Markdown keeps no session."
NO_VECTORS = "Markdown keeps no vectors."
ONLY_CONTENT = "Only the content of a line can be changed."


class Away(SampleMemory):
    """Stops answering, and answers again, whenever the test says so; counts what it was asked in the meantime."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.asked_in_vain = 0

    def _answer(self) -> None:
        if self.failure is not None:
            self.asked_in_vain += 1
            raise self.failure

    async def _loaded(self) -> Loaded:
        self._answer()
        return await super()._loaded()

    async def version(self) -> int | None:
        self._answer()
        return await super().version()

    async def health_check(self) -> bool:
        self._answer()
        return True

    async def update(self, *parts: Any, **more: Any) -> Any:
        self._answer()
        return await super().update(*parts, **more)


class Notes(InMemory):
    """What a Markdown store can: whole lines."""

    name = "markdown"
    about = About(location="/srv/zeroclaw/.zeroclaw/workspace")
    why_not: Mapping[str, str] = {
        "sessions": NO_SESSION,
        "vectors": NO_VECTORS,
        "agents": "These notes are one agent's.",
        "namespaces": "Markdown knows no namespaces.",
        "superseded": "In Markdown nothing replaces a line.",
        "kind": "Markdown knows no kinds.",
        "watch": "Nobody watches these notes.",
        **dict.fromkeys(("key", "category", "session_id", "namespace", "importance", "pinned"), ONLY_CONTENT),
    }

    async def search(self, trial: Trial, vector: Any = None, **_: Any) -> OwnEvidence:
        found = await super().search(trial, vector)
        return replace(found, scale="matched words / words")


def notes() -> Notes:
    """Four lines."""
    lines = ("Likes ramen.", "Allergic to peanuts.", "Timezone is EST.", "Runs on Sundays.")
    return Notes([memory(f"MEMORY.md:{at}", line, "core", at, at, session_id=None) for at, line in enumerate(lines, 1)])


class Lucid(SampleMemory):
    """Two of its own rows, then two that only the lucid program knows."""

    name = "lucid"

    async def search(self, trial: Trial, vector: Any = None, **_: Any) -> OwnEvidence:
        found = await super().search(trial._replace(request=replace(trial.request, limit=2)), vector)
        message = ("Prefers tea to coffee in the morning.", "Decided on Rust for the new service.")
        foreign = [
            ScoredEntry(memory(f"lucid_{at}", text, "core", at, 900 + at), 2 + at, 1.05 - at * 0.05, stage="lucid")
            for at, text in enumerate(message, 1)
        ]
        return replace(found, request=trial.request, entries=(*found.entries, *foreign), depth=None)


class Server(SampleMemory):
    """A database on a server."""

    name = "postgres"
    about = About(location="postgres://db:5432/zeroclaw · public.memories", rule=None)


class TraitOnly(Memory):
    """A plug-in that has ZeroClaw's own verbs and nothing else."""

    name = "plain"
    about = About(location="elsewhere")

    def __init__(self) -> None:
        self._held = {"one": memory("one", "The only memory.", "core", 1, 1)}

    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None:
        self._held[key] = memory(key, content, category, 0, len(self._held) + 1, session_id=session_id)

    async def recall(
        self, query: str, limit: int, session_id: str | None = None, since: str | None = None, until: str | None = None
    ) -> Scored:
        found = [entry for entry in self._held.values() if query.lower() in entry.content.lower()]
        return [ScoredEntry(entry, rank, None) for rank, entry in enumerate(found[:limit], 1)]

    async def get(self, key: str) -> MemoryEntry | None:
        return self._held.get(key)

    async def list(self, category: str | None = None, session_id: str | None = None) -> Entries:
        return list(self._held.values())

    async def forget(self, key: str) -> bool:
        return self._held.pop(key, None) is not None

    async def count(self) -> int:
        return len(self._held)

    async def health_check(self) -> bool:
        return True


class Known:
    """A config that knows several stores: `memories` by name, `answers` by name; one without an answer never answers.

    `refusals` are what opening one raises.
    """

    def __init__(self, folder: Path, memories: dict[str, Memory], pace: Pace = STILL, **library: Any) -> None:
        self.folder = folder
        self.memories = memories
        self.pace = pace
        self.library_parts = library
        self.answers: dict[str, StoreStatus | None] = {}
        self.refusals: dict[str, Exception] = {}
        self.confirmed: list[str] = []
        self.asked: list[str] = []
        self.closed: list[str] = []
        self.foreign: frozenset[str] = frozenset()
        self.may_list = threading.Event()
        """Until it is set, looking which stores there are does not come to its end."""
        self.may_list.set()

    def app(self, options: OpenOptions | None = None) -> InspectorApp:
        return KnownApp(self, options or OpenOptions())

    def config(self, name: str) -> MemoryConfig:
        storage = {"db_url": f"postgres://zeroclaw:hunter2@db:5432/{name}", "schema": "public", "table": "memories"}
        kind, _, alias = name.partition(".")
        if name in self.foreign:
            sources = {"storage.db_url": "environment DATABASE_URL"}
            return sample_config(self.folder, backend=kind, storage=storage, read_only=True, sources=sources)
        return sample_config(self.folder, backend=kind, alias=alias or None, storage=storage, zeroclaw_backend=kind)

    async def open(self, config: MemoryConfig) -> Library:
        name = f"{config.backend}.{config.alias}" if config.alias else config.backend
        if name in self.refusals:
            raise self.refusals[name]
        store: Any = self.memories[name]
        closed = self.closed

        class Closing(Library):
            async def close(self) -> None:
                closed.append(name)
                await super().close()

        made = sample_library(store, config, **self.library_parts)
        library = Closing(made.config, store, made.profile, made.settings, made.embedder, made.no_embedder_because)
        library.trash = made.trash
        return library

    def candidates(self, config: MemoryConfig) -> Sequence[Candidate]:
        self.may_list.wait()
        here = f"{config.backend}.{config.alias}" if config.alias else config.backend
        names = [here, *(name for name in [*self.memories, *self.refusals] if name != here)]
        return [
            Candidate(config if name == here else self.config(name), f"config.toml, {name}", is_current=name == here)
            for name in dict.fromkeys(names)
        ]

    async def check(self, candidate: Candidate) -> StoreStatus:
        self.asked.append(candidate.name)
        answer = self.answers.get(candidate.name, StoreStatus(count=12, badges=("keyword", "sessions", "write")))
        if answer is None:
            await asyncio.Event().wait()
        assert answer is not None
        return answer


class KnownApp(InspectorApp):
    """An inspector on such stores."""

    def __init__(self, known: Known, options: OpenOptions) -> None:
        super().__init__(options, clock=lambda: NOW, pace=known.pace)
        self._known = known

    def find_configs(self, options: OpenOptions) -> tuple[MemoryConfig, ...]:
        return (self._known.config(next(iter(self._known.memories))),)

    async def open_library(self, config: MemoryConfig) -> Library:
        return await self._known.open(config)

    def find_stores(self, current: MemoryConfig, started: MemoryConfig) -> Sequence[Candidate]:
        return self._known.candidates(current)

    async def check_store(self, candidate: Candidate) -> StoreStatus:
        return await self._known.check(candidate)


def sqlite() -> SampleMemory:
    """248 memories of the browser's own samples."""
    return SampleMemory(sample_memories())


def none() -> NoneMemory:
    """What keeps nothing."""
    return NoneMemory()
