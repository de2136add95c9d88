"""The config dirs to which the wizard may write, and the situation found there before the questions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from support.files import files_below, put
from support.memories import UsageError
from support.small_store import blob, make

from zeroclaw_tui.onboard.situation import Situation, candidates, situation_at

OLD = '[memory]\nbackend = "sqlite"\nauto_save = true\n'


def database(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return make(path, "G2", [{}])


def test_without_an_install_the_target_is_the_default_in_the_old_layout(tmp_path: Path) -> None:
    (candidate,) = candidates({}, tmp_path)
    assert candidate.config_file == tmp_path / ".zeroclaw/config.toml"
    assert (candidate.layout, candidate.rule) == ("workspace", "the default, ~/.zeroclaw")
    assert not (tmp_path / ".zeroclaw").exists()


@pytest.mark.parametrize(
    ("environ", "place"),
    [
        ({"ZEROCLAW_CONFIG_DIR": "~/mine"}, "mine"),
        ({"ZEROCLAW_DATA_DIR": "~/mine"}, "mine"),
        ({"ZEROCLAW_DATA_DIR": "~/mine/data"}, "mine/.zeroclaw"),
        ({"ZEROCLAW_WORKSPACE": "~/mine"}, "mine"),
        ({"ZEROCLAW_WORKSPACE": "~/project/workspace"}, "project/.zeroclaw"),
    ],
)
def test_a_variable_sets_the_config_dir_to_create(tmp_path: Path, environ: dict[str, str], place: str) -> None:
    (candidate,) = candidates(environ, tmp_path)
    assert candidate.config_dir == tmp_path / place
    assert candidate.rule.startswith(next(iter(environ)))


def test_two_stores_of_the_same_config_dir_are_one_candidate(tmp_path: Path) -> None:
    put(tmp_path / ".zeroclaw/config.toml", OLD)
    database(tmp_path / ".zeroclaw/workspace/memory/brain.db")
    database(tmp_path / ".zeroclaw/data/memory/brain.db")
    (candidate,) = candidates({}, tmp_path)
    assert candidate.layout == "data"


def test_a_lone_store_has_no_config_to_write(tmp_path: Path) -> None:
    brain = database(tmp_path / "alone/brain.db")
    for place in (brain, brain.parent):
        with pytest.raises(UsageError, match="without a config dir") as caught:
            candidates({}, tmp_path, workspace=place)
        assert "--config-dir" in caught.value.hint


async def situation(home: Path, config: str | None = None, environ: Mapping[str, str] | None = None) -> Situation:
    if config is not None:
        put(home / ".zeroclaw/config.toml", config)
    (candidate,) = candidates(environ or {}, home)
    return await situation_at(candidate, environ or {})


def binary(folder: Path, answer: str) -> str:
    program = put(folder / "zeroclaw", f"#!/bin/sh\necho '{answer}'\n")
    program.chmod(0o755)
    return str(folder)


async def test_a_missing_install_is_an_empty_situation(tmp_path: Path) -> None:
    found = await situation(tmp_path)
    assert found.is_new
    assert (found.raw, found.document.values, found.backend, found.found) == (None, {}, "sqlite", ())
    assert (found.target.schema, found.target.has_aliases, found.target.is_modern) == (3, True, True)
    assert found.target.version is None
    assert found.install.root == tmp_path / ".zeroclaw/data"
    assert found.install.own_dir == tmp_path / ".zeroclaw/zeroclaw-tui"
    assert not found.config_dir.exists()


async def test_memories_of_databases_and_notes_are_counted_without_changes(tmp_path: Path) -> None:
    home = tmp_path / ".zeroclaw"
    for place, generation, count in (("workspace", "G2", 3), ("data", "G4", 1)):
        (home / place / "memory").mkdir(parents=True)
        make(home / place / "memory/brain.db", generation, [{"key": f"k{at}"} for at in range(count)])
    put(home / "data/MEMORY.md", "- likes tea\n- likes rain\n")
    put(home / "config.toml", OLD)
    before = files_below(tmp_path)
    found = await situation(tmp_path)
    assert found.found == (
        f"{home}/data/memory/brain.db: 1 memory",
        f"{home}/data: 2 memories",
    )
    own = {path: raw for path, raw in files_below(tmp_path).items() if path.endswith(("brain.db-shm", "brain.db-wal"))}
    after = {path: raw for path, raw in files_below(tmp_path).items() if path not in own}
    assert after == before
    assert not any(raw for path, raw in own.items() if path.endswith("-wal"))


async def test_an_unopenable_database_is_reported_in_one_sentence(tmp_path: Path) -> None:
    put(tmp_path / ".zeroclaw/workspace/memory/brain.db", "no database at all, but long enough " * 40)
    found = await situation(tmp_path, OLD)
    (fact,) = found.found
    assert fact.endswith("workspace/memory/brain.db is not a SQLite database.")


@pytest.mark.parametrize("vector", [None, blob(1.0, 2.0)])
async def test_the_situation_says_whether_vectors_are_created(tmp_path: Path, vector: bytes | None) -> None:
    (tmp_path / ".zeroclaw/workspace/memory").mkdir(parents=True)
    make(tmp_path / ".zeroclaw/workspace/memory/brain.db", "G2", [{"embedding": vector}])
    assert (await situation(tmp_path, OLD)).has_vectors is (vector is not None)


@pytest.mark.parametrize(
    ("config", "schema", "has_aliases", "is_modern"),
    [
        (OLD, 1, False, False),
        ("schema_version = 2\n", 2, False, False),
        ("schema_version = 3\n", 3, True, True),
        ('[memory]\nbackend = "Postgres.work"\nauto_save = true\n', 1, True, True),
        ('[memory]\nbackend = "mem0.work"\nauto_save = true\n', 1, False, False),
        ('[storage.postgres.work]\ndb_url = "postgres://h/d"\n', 1, True, True),
        ("[storage.sqlite]\npath = 'x'\n", 1, False, False),
        ("[storage.provider.config]\nprovider = 'sqlite'\n", 1, False, False),
    ],
)
async def test_the_form_of_the_file_decides_the_spelling_of_storage(
    tmp_path: Path, config: str, schema: int, has_aliases: bool, is_modern: bool
) -> None:
    target = (await situation(tmp_path, config)).target
    assert (target.schema, target.has_aliases, target.is_modern) == (schema, has_aliases, is_modern)


async def test_a_new_program_reads_an_old_file_by_its_own_rules(tmp_path: Path) -> None:
    """ZeroClaw >= 0.8.0 no longer takes the backend from [storage.provider.config]."""
    folder = binary(tmp_path / "bin", "zeroclaw 0.8.3")
    config = OLD + '[storage.provider.config]\nprovider = "postgres"\n'
    found = await situation(tmp_path, config, {"PATH": f"{folder}:/usr/bin:/bin"})
    assert found.target.is_modern
    assert found.backend == "sqlite"
