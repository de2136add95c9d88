"""Notes of a plan: kept settings with reasons, overrides, and consequences of an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.small_store import blob, make
from support.wizard_world import BACKENDS, NEEDED, World

SQLITE = '[memory]\nbackend = "sqlite"\nauto_save = true\n'
POSTGRES = (
    '[memory]\nbackend = "postgres"\nauto_save = true\nhygiene_enabled = false\narchive_after_days = 0\n'
    'purge_after_days = 365\n[storage.provider.config]\ndb_url = "postgres://h/d"\n'
)
THIRD = "schema_version = 3\n"
NONE = '[memory]\nbackend = "none"\nauto_save = false\n'
CHAT_DAYS = "memory.policy.retention_days_by_category.conversation"
NOT_MOVED = "The memories in SQLite are not moved, and no longer recalled."
OVERRIDES = "The environment variable {} is set and overrides"


@dataclass(frozen=True)
class Note:
    """Words of a note, with the flags and the config dir that cause it."""

    words: str
    flags: tuple[str, ...] = ()
    memory: str | None = None
    config: str = SQLITE
    environ: Mapping[str, str] = field(default_factory=dict)
    row: Mapping[str, Any] | None = None  # of the database; None is no database


def postgres(url: str, words: str = "has no password") -> Note:
    return Note(words, (f"db_url={url}",), "postgres")


def overridden(variable: str, value: str, *flags: str, memory: str | None = None, config: str = SQLITE) -> Note:
    return Note(OVERRIDES.format(variable), flags, memory, config, {variable: value})


VECTOR = {"embedding": blob(1.0, 2.0)}
REINDEX = "zeroclaw memory reindex"
WRITTEN = [
    Note("Hygiene is turned on.", ("hygiene_enabled=true",), "sqlite", POSTGRES),
    Note("memory.conversation_retention_days changes from 30 days to 3 days", ("conversation_retention_days=3",)),
    Note(f"{CHAT_DAYS} changes from 30 days to 2 days", (f"{CHAT_DAYS}=2",)),
    Note("Qdrant stores nothing", NEEDED["qdrant"], "qdrant"),
    Note(NOT_MOVED, memory="markdown", row={}),
    Note("The memories in SQLite are not moved", memory="none", row={}),
    Note("SQLite and Lucid share one database", memory="lucid", row={}),
    Note("Still off, unlike the defaults of Markdown: auto_save.", memory="markdown", config=NONE),
    Note("--set auto_save=true --set hygiene_enabled=true`.", memory="sqlite", config=f"{NONE}hygiene_enabled = false"),
    Note(REINDEX, ("embedding_model=text-embedding-3-large",), row=VECTOR),
    Note(REINDEX, ("embedding_dimensions=768",), row=VECTOR),
    overridden("ZEROCLAW_STORAGE_PROVIDER", "markdown", memory="sqlite", config=POSTGRES),
    overridden("ZEROCLAW_STORAGE_PROVIDER", "markdown", memory="sqlite"),
    overridden("ZEROCLAW_STORAGE_DB_URL", "postgres://x/y", "db_url=postgres://h/e", config=POSTGRES),
    overridden("QDRANT_COLLECTION", "mine", "storage.qdrant.collection=other", *NEEDED["qdrant"], memory="qdrant"),
    overridden("ZEROCLAW_memory__vector_weight", "0.1", "vector_weight=0.5", config=THIRD + SQLITE),
    overridden("ZEROCLAW_storage__postgres__work__table", "mine", "storage.postgres.table=other", *NEEDED["postgres"],
               memory="postgres.work", config=THIRD + SQLITE),
    postgres("postgres://anna@127.0.0.1:5432/m"),
    postgres("postgres://127.0.0.1:5432/m"),
    postgres("postgres://127.0.0.1:5432/m", "PGPASSWORD"),
]  # fmt: skip
NOT_WRITTEN = [
    Note("changes from", (f"{CHAT_DAYS}=60",)),
    Note("Qdrant stores", (*NEEDED["qdrant"], "embedding_provider=openai"), "qdrant"),
    Note("not moved", memory="markdown"),
    Note("Still off", ("auto_save=true",), "sqlite", NONE),
    Note("Still off", ("auto_save=false",), "sqlite", NONE),
    Note("reindex", ("embedding_model=text-embedding-3-large",)),
    Note(REINDEX, ("embedding_dimensions=1536",), row=VECTOR),
    Note(REINDEX, ("embedding_cache_size=5",), row=VECTOR),
    postgres("postgres://anna:word@127.0.0.1:5432/m"),
    postgres("postgres://anna@127.0.0.1:5432/m?password=word"),
    postgres("${DATABASE}"),
    postgres("${DATABASE}", "PGPASSWORD"),
]


def notes_of(folder: Path, note: Note) -> str:
    world = World(folder, note.config, **note.environ).with_key()
    if note.row is not None:
        (world.config_dir / "workspace/memory").mkdir(parents=True)
        make(world.config_dir / "workspace/memory/brain.db", "G2", [dict(note.row)])
    return "\n".join(world.plan(*note.flags, memory=note.memory).notes)


@pytest.mark.parametrize("note", WRITTEN, ids=str)
def test_consequences_of_an_answer_are_reported(tmp_path: Path, note: Note) -> None:
    assert note.words in notes_of(tmp_path, note)


@pytest.mark.parametrize("note", NOT_WRITTEN, ids=str)
def test_notes_without_a_cause_are_not_reported(tmp_path: Path, note: Note) -> None:
    assert note.words not in notes_of(tmp_path, note)


def test_warnings_of_the_next_run_are_reported_by_this_one(tmp_path: Path) -> None:
    world = World(tmp_path, SQLITE)
    useless = 'No embedding route has the hint "none"; the [memory] values are used, as ZeroClaw does.'
    asked = world.write("embedding_model=hint:none")
    assert useless in asked.notes
    assert useless in world.situation().warnings
    left, cured = world.plan("vector_weight=0.5"), world.plan("embedding_model=other")
    assert (useless in left.warnings, useless in left.notes) == (True, False)
    assert (useless in cured.warnings, useless in cured.notes) == (False, False)
    assert useless in world.plan().warnings


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("form", [None, SQLITE, THIRD + SQLITE])
def test_a_file_written_by_the_wizard_has_no_warnings(tmp_path: Path, form: str | None, backend: str) -> None:
    world = World(tmp_path, form)
    world.write(*NEEDED.get(backend, ()), memory=backend)
    assert world.situation().warnings == ()
