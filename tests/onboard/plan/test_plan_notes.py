"""What a plan says: what is kept and why, what overrides it, where an answer came from."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.small_store import blob, make
from support.wizard_world import BACKENDS, NEEDED, World

from zeroclaw_tui.memory.errors import UsageError

SQLITE = '[memory]\nbackend = "sqlite"\nauto_save = true\n'
KEEPING = (
    '[memory]\nbackend = "postgres"\nauto_save = true\nhygiene_enabled = false\narchive_after_days = 0\n'
    'purge_after_days = 365\n[storage.provider.config]\ndb_url = "postgres://h/d"\n'
)
THIRD = "schema_version = 3\n"


def noted(world: World, *assignments: str, memory: str | None = None) -> str:
    return "\n".join(world.plan(*assignments, memory=memory).notes)


def test_what_is_asked_by_name_is_done_and_said(tmp_path: Path) -> None:
    world = World(tmp_path, KEEPING)
    asked = ("hygiene_enabled=true", "archive_after_days=7", "conversation_retention_days=3")
    plan = world.write(*asked, memory="sqlite")
    memory = world.values["memory"]
    assert (memory["hygiene_enabled"], memory["archive_after_days"]) == (True, 7)
    message = "\n".join(plan.notes)
    assert "Hygiene is turned on." in message
    assert "memory.conversation_retention_days changes from 30 days to 3 days" in message


def test_memories_are_not_copied_and_that_is_reported(tmp_path: Path) -> None:
    world = World(tmp_path, SQLITE)
    assert "not moved" not in noted(world, memory="markdown")
    (world.config_dir / "workspace/memory").mkdir(parents=True)
    make(world.config_dir / "workspace/memory/brain.db", "G2", [{}])
    assert "The memories in SQLite are not moved, and no longer recalled." in noted(world, memory="markdown")
    assert "SQLite and Lucid share one database" in noted(world, memory="lucid")
    assert "The memories in SQLite are not moved" in noted(world, memory="none")


@pytest.mark.parametrize(
    ("assignment", "is_noted"),
    [
        ("embedding_model=text-embedding-3-large", True),
        ("embedding_dimensions=768", True),
        ("embedding_dimensions=1536", False),
        ("embedding_cache_size=5", False),
    ],
)
def test_vectors_that_no_longer_fit_are_reported(tmp_path: Path, assignment: str, is_noted: bool) -> None:
    world = World(tmp_path, SQLITE)
    assert "reindex" not in noted(world, assignment)
    (world.config_dir / "workspace/memory").mkdir(parents=True)
    make(world.config_dir / "workspace/memory/brain.db", "G2", [{"embedding": blob(1.0, 2.0)}])
    assert ("zeroclaw memory reindex" in noted(world, assignment)) is is_noted


def test_qdrant_without_embeddings_stores_nothing(tmp_path: Path) -> None:
    world = World(tmp_path, SQLITE)
    assert "Qdrant stores nothing" in noted(world, *NEEDED["qdrant"], memory="qdrant")
    assert "Qdrant stores" not in noted(world, *NEEDED["qdrant"], "embedding_provider=openai", memory="qdrant")


@pytest.mark.parametrize(
    ("config", "variable", "value", "memory", "assignment"),
    [
        (KEEPING, "ZEROCLAW_STORAGE_PROVIDER", "markdown", "sqlite", ""),
        (KEEPING, "ZEROCLAW_STORAGE_DB_URL", "postgres://x/y", None, "storage.postgres.db_url=postgres://h/e"),
        (SQLITE, "QDRANT_COLLECTION", "mine", "qdrant", "storage.qdrant.collection=other"),
        (THIRD + SQLITE, "ZEROCLAW_memory__vector_weight", "0.1", None, "vector_weight=0.5"),
        (
            THIRD + SQLITE,
            "ZEROCLAW_storage__postgres__work__table",
            "mine",
            "postgres.work",
            "storage.postgres.table=other",
        ),
    ],
)
def test_a_variable_that_overrides_what_is_written_is_named(
    tmp_path: Path, config: str, variable: str, value: str, memory: str | None, assignment: str
) -> None:
    world = World(tmp_path, config, **{variable: value}).with_key()
    kind = (memory or "").partition(".")[0]
    needed = [text for text in NEEDED.get(kind, ()) if text.partition("=")[0] != assignment.partition("=")[0]]
    message = noted(world, *needed, *([assignment] if assignment else []), memory=memory)
    assert f"The environment variable {variable} is set and overrides" in message


@pytest.mark.parametrize(
    ("url", "is_noted"),
    [
        ("postgres://anna@127.0.0.1:5432/m", True),
        ("postgres://127.0.0.1:5432/m", True),
        ("postgres://anna:word@127.0.0.1:5432/m", False),
        ("postgres://anna@127.0.0.1:5432/m?password=word", False),
        ("${DATABASE}", False),
    ],
)
def test_a_database_url_without_a_password_is_reported_with_what_follows(
    tmp_path: Path, url: str, is_noted: bool
) -> None:
    said = noted(World(tmp_path, SQLITE), f"db_url={url}", memory="postgres")
    assert ("has no password" in said) == is_noted
    assert ("PGPASSWORD" in said) == is_noted


def test_what_the_next_run_would_warn_of_is_reported_by_this_one(tmp_path: Path) -> None:
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
def test_a_file_of_ours_needs_no_warning(tmp_path: Path, form: str | None, backend: str) -> None:
    world = World(tmp_path, form)
    world.write(*NEEDED.get(backend, ()), memory=backend)
    assert world.situation().warnings == ()


def test_weights_that_make_every_score_0_are_refused(tmp_path: Path) -> None:
    world = World(tmp_path, SQLITE)
    for asked in (("vector_weight=0", "keyword_weight=0"), ("keyword_weight=0", "vector_weight=0.0")):
        with pytest.raises(UsageError, match="Both weights are 0") as refused:
            world.plan(*asked)
        assert "--set memory.vector_weight=0.7" in refused.value.hint
    world.write("vector_weight=0")
    with pytest.raises(UsageError, match="Both weights are 0"):
        world.plan("keyword_weight=0")


def test_auto_save_that_is_off_stays_off(tmp_path: Path) -> None:
    world = World(tmp_path, SQLITE.replace("sqlite", "none").replace("true", "false"))
    world.write(memory="markdown")
    assert world.values["memory"]["auto_save"] is False
