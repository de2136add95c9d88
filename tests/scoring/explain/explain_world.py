"""Libraries on small databases, scored as by a ZeroClaw version, with a deterministic embedder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from support.libraries import Library, ProfileChoice
from support.places import MemoryConfig, install_at, load_config
from support.questions import RecallRequest
from support.replaying import RecordedEmbedder
from support.rules import ScoringSettings, profile_for
from support.small_store import make
from support.stores import Memory, SqliteMemory, entries_with_key

from zeroclaw_tui.curation.recall import explain, with_as_of
from zeroclaw_tui.scoring.explanation import Explanation

NOW = "2026-03-20T12:00:00+00:00"


def _config(folder: Path) -> MemoryConfig:
    config_dir = folder / "zc"
    config_dir.mkdir(exist_ok=True)
    (config_dir / "config.toml").write_text("[memory]\n")
    return load_config(install_at(config_dir, {}, folder), {})


@asynccontextmanager
async def library_of(
    memory: Memory,
    folder: Path,
    version: str,
    embedder: str | None = None,
    settings: ScoringSettings | None = None,
) -> AsyncIterator[Library]:
    """Return a library on an open store, with the settings of one config."""
    config = _config(folder)
    await memory.open()
    library = Library(
        config,
        memory,
        ProfileChoice(profile_for(version), "option"),
        settings or ScoringSettings(),
        RecordedEmbedder(embedder) if embedder else None,
        None if embedder else "no embeddings configured; set memory.embedding_provider to search.",
    )
    try:
        yield library
    finally:
        await memory.close()


@asynccontextmanager
async def small_library(
    folder: Path, generation: str, rows: Iterable[dict[str, Any]], version: str, **more: Any
) -> AsyncIterator[Library]:
    """Return a library on a new database with these rows."""
    path = folder / "brain.db"
    make(path, generation, rows)
    async with library_of(SqliteMemory(path), folder, version, **more) as library:
        yield library


async def why(library: Library, key: str, query: str, **request: Any) -> Explanation:
    """Explain the memory with this key; `settings` overrides those of the library."""
    settings = request.pop("settings", {})
    entry = (await entries_with_key(library.memory, key))[0]
    trial = with_as_of(library.trial(RecallRequest(query, **{"as_of": NOW, **request})))
    return await explain(library, entry, trial._replace(settings=trial.settings._replace(**settings)))
