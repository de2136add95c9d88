"""Switching to another backend and back again: nothing has to be given twice, and nothing is deleted sooner."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.wizard_world import NEEDED, OLD, URL, World

from zeroclaw_tui.config.secrets import KEY_FILE
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.onboard.plan import apply_plan

NOBODY = 65534
SQLITE = '[memory]\nbackend = "sqlite"\nauto_save = true\n'
POSTGRES = SQLITE.replace("sqlite", "postgres")
PROVIDER = '[storage.provider.config]\nprovider = "postgres"\ndbURL = "postgres://h/d"\n'
ALIASED = "[storage.postgres.work]\ndb_url = 'postgres://h/d'\n"
INLINE = "[storage]\nprovider = { config = { provider = 'postgres', database_url = 'postgres://h/d' } }\n"
FORMS = {
    "old": (POSTGRES + PROVIDER, "workspace"),
    "old, inline": (POSTGRES + INLINE, "workspace"),
    "old, read by the new generation": (POSTGRES + PROVIDER, "data"),
    "aliased": ("schema_version = 3\n" + POSTGRES.replace('postgres"', 'postgres.work"') + ALIASED, "data"),
    "dotted": ("memory.backend = 'postgres'\nmemory.auto_save = true\n" + PROVIDER, "workspace"),
}


def world_of(folder: Path, text: str, layout: str, **environ: str) -> World:
    world = World(folder, text, **environ).with_key()
    (world.config_dir / layout).mkdir()
    return world


@pytest.mark.parametrize("other", ["sqlite", "lucid", "markdown", "qdrant", "none"])
@pytest.mark.parametrize("form", FORMS)
def test_the_way_back_needs_no_address_and_ends_where_it_began(tmp_path: Path, form: str, other: str) -> None:
    world = world_of(tmp_path, *FORMS[form])
    before = world.loaded()
    world.write(*NEEDED.get(other, ()), memory=other)
    assert world.loaded().zeroclaw_backend == other
    world.write(memory="postgres")
    config = world.loaded()
    assert (config.zeroclaw_backend, config.alias) == ("postgres", before.alias)
    assert config.storage["db_url"] == "postgres://h/d"
    assert not any("does not start" in warning for warning in config.warnings)
    assert world.plan(memory="postgres").is_empty


def test_hygiene_and_days_are_no_stricter_after_the_way_there_and_back(tmp_path: Path) -> None:
    world = world_of(tmp_path, POSTGRES + "hygiene_enabled = false\narchive_after_days = 400\n" + PROVIDER, "workspace")
    for memory in ("sqlite", "postgres", "sqlite", "none", "sqlite"):
        world.write(memory=memory)
        config = world.loaded()
        assert config.hygiene_enabled is False
        assert config.archive_after_days in (0, 400)


@pytest.mark.parametrize("named", ["", "sqlite"])
def test_a_complete_old_table_is_named_for_postgres_where_the_new_generation_moves_it(
    tmp_path: Path, named: str
) -> None:
    table = PROVIDER.replace('"postgres"', f'"{named}"') + "schema = 's'\ntable = 't'\nconnect_timeout_secs = 3\n"
    world = world_of(tmp_path, SQLITE + table.replace("dbURL", "db_url"), "data")
    world.write(memory="postgres")
    assert world.values["storage"]["provider"]["config"]["provider"] == "postgres"
    assert world.loaded().storage["db_url"] == "postgres://h/d"


@pytest.mark.parametrize(
    ("text", "layout", "variable", "backend"),
    [
        ("[memory]\nauto_save = true\n", "workspace", "ZEROCLAW_STORAGE_PROVIDER", "sqlite"),
        ("[memory]\nauto_save = true\n" + PROVIDER, "workspace", "ZEROCLAW_STORAGE_PROVIDER", "postgres"),
        ("schema_version = 3\n[memory]\nauto_save = true\n", "data", "ZEROCLAW_memory__backend", "sqlite.default"),
    ],
)
def test_a_missing_backend_is_what_the_file_alone_means(
    tmp_path: Path, text: str, layout: str, variable: str, backend: str
) -> None:
    world = world_of(tmp_path, text, layout, **{variable: "markdown"})
    world.write("vector_weight=0.5")
    assert world.values["memory"]["backend"] == backend


def test_days_of_a_category_asked_by_name_are_reported_from_what_holds_today(tmp_path: Path) -> None:
    world = world_of(tmp_path, SQLITE, "workspace")
    name = "memory.policy.retention_days_by_category.conversation"
    assert any(f"{name} changes from 30 days to 2 days" in note for note in world.plan(f"{name}=2").notes)
    assert not any("changes from" in note for note in world.plan(f"{name}=60").notes)


@pytest.mark.parametrize("name", ["memory.types.enabled", "memory.consolidation_extract_facts"])
def test_what_zeroclaw_takes_with_sqlite_only_keeps_the_backend(tmp_path: Path, name: str) -> None:
    world = world_of(tmp_path, f"schema_version = 3\n{SQLITE}{name.removeprefix('memory.')} = true\n", "data")
    with pytest.raises(UsageError, match=f"{name} = true needs sqlite") as refused:
        world.plan(memory="markdown")
    assert f"--set {name}=false" in (refused.value.hint or "")
    assert not world.plan(f"{name}=false", memory="markdown").is_empty
    assert not world.plan("vector_weight=0.5").is_empty


@pytest.mark.parametrize("config", [None, OLD])
def test_what_root_makes_in_anothers_folder_is_theirs(tmp_path: Path, config: str | None) -> None:
    """ZeroClaw, run by the owner of the folder, could read neither the key nor the config otherwise."""
    owner = NOBODY if os.getuid() == 0 else os.getuid()
    world = World(tmp_path, config)
    world.config_dir.mkdir(exist_ok=True)
    for path in (world.config_dir, *world.config_dir.iterdir()):
        os.chown(path, owner, -1)
    apply_plan(world.plan(f"storage.postgres.db_url={URL}", memory="postgres"))
    made = [
        world.file,
        world.config_dir / KEY_FILE,
        *world.config_dir.rglob("zeroclaw-tui"),
        *tmp_path.rglob("backups/*"),
    ]
    assert len(made) == (3 if config is None else 4)
    assert {path.stat().st_uid for path in made} == {65534}
