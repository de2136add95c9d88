"""Which keys a plan writes, in which spelling, and what it refuses."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.memories import BrokenConfig, UsageError
from support.wizard_world import BACKENDS, NEEDED, OLD, URL, World, flat

from zeroclaw_tui.config.schema import default_values
from zeroclaw_tui.config.secrets import KEY_FILE
from zeroclaw_tui.onboard.answers import Answer
from zeroclaw_tui.onboard.plan import apply_plan, make_plan

NOBODY = 65534
SQLITE = '[memory]\nbackend = "sqlite"\nauto_save = true\n'
POSTGRES = SQLITE.replace("sqlite", "postgres")
THIRD = "schema_version = 3\n"
CONFIG = "[storage.provider.config]\n"
PROVIDER = f'{CONFIG}provider = "postgres"\ndbURL = "postgres://h/d"\n'
WHOLE = f"{CONFIG}db_url = 'postgres://h/d'\nschema = 's'\ntable = 't'\nconnect_timeout_secs = 3\nprovider = "
INLINE = "[storage]\nprovider = { config = { provider = 'postgres', database_url = 'postgres://h/d' } }\n"
ALIASED = "[storage.postgres.work]\ndb_url = 'postgres://h/d'\n"
PROVIDER_NAME = "storage.provider.config.provider"


def world_of(folder: Path, text: str, layout: str = "", **environ: str) -> World:
    world = World(folder, text, **environ).with_key()
    (world.config_dir / layout).mkdir(exist_ok=True)
    return world


@pytest.mark.parametrize(
    ("config", "layout", "memory", "after"),
    [
        (SQLITE, "", "lucid", {"memory.backend": "lucid"}),
        (THIRD + SQLITE, "", "lucid.mine", {"memory.backend": "lucid.mine"}),
        (THIRD + SQLITE, "", "none", {"memory.backend": "none"}),
        (THIRD + SQLITE.replace('"sqlite"', '"sqlite.main"'), "", "sqlite", {"memory.backend": "sqlite.main"}),
        (THIRD + SQLITE.replace('"sqlite"', '" SQLite "'), "", "sqlite", {"memory.backend": " SQLite "}),
        (THIRD + SQLITE + "[storage.lucid.work]\n", "", "lucid", {"memory.backend": "lucid.work"}),
        (f'{SQLITE}{CONFIG}provider = "postgres"\n', "", "sqlite", {PROVIDER_NAME: "sqlite"}),
        (f'{SQLITE}{CONFIG}provider = "Postgres"\n', "", "postgres", {PROVIDER_NAME: "Postgres"}),
        (f'{SQLITE}{CONFIG}provider = ""\n', "", "markdown", {PROVIDER_NAME: ""}),
        (f'{SQLITE}{CONFIG}schema = "s"\n', "", "markdown", {PROVIDER_NAME: None}),
        # The old table must name PostgreSQL, so that the new generation can move it.
        (f'{SQLITE}{WHOLE}""\n', "data", "postgres", {PROVIDER_NAME: "postgres"}),
        (f'{SQLITE}{WHOLE}"sqlite"\n', "data", "postgres", {PROVIDER_NAME: "postgres"}),
        (POSTGRES, "data", "postgres", {PROVIDER_NAME: "postgres"}),
        (SQLITE.replace("true", "false"), "", "markdown", {"memory.auto_save": False}),
    ],
)
def test_a_backend_is_written_in_the_spelling_of_the_file(
    tmp_path: Path, config: str, layout: str, memory: str, after: dict[str, str | None]
) -> None:
    world = world_of(tmp_path, config, layout)
    backend = memory.partition(".")[0]
    world.write(*(flag for flag in NEEDED.get(backend, ()) if "db_url" not in config), memory=memory)
    written = flat(world.values)
    assert {path: written.get(tuple(path.split("."))) for path in after} == after
    loaded = world.loaded()
    assert loaded.zeroclaw_backend == backend
    assert backend != "postgres" or loaded.storage["db_url"] in (URL, "postgres://h/d")


@pytest.mark.parametrize(
    ("config", "flags", "memory", "words"),
    [
        (SQLITE, (), "postgres", "--set storage.postgres.db_url="),
        (SQLITE, (), "qdrant", "--set storage.qdrant.url="),
        (SQLITE + 'vector_weight = "much"\n', ("vector_weight=0.5",), None, "memory.vector_weight"),
        (SQLITE + "[storage.provider]\nconfig = 3\n", ("storage.postgres.table=t",), None, "storage.provider.config"),
        (SQLITE + CONFIG + "provider = 3\n", ("vector_weight=0.5",), None, "provider"),
        (SQLITE, ("vector_weight=0", "keyword_weight=0"), None, "Both weights are 0"),
        (SQLITE, ("keyword_weight=0", "vector_weight=0.0"), None, "--set memory.vector_weight=0.7"),
        (SQLITE + "vector_weight = 0\n", ("keyword_weight=0",), None, "Both weights are 0"),
    ],
)
def test_a_missing_or_invalid_value_is_named_and_nothing_is_written(
    tmp_path: Path, config: str, flags: tuple[str, ...], memory: str | None, words: str
) -> None:
    world = World(tmp_path, config)
    with pytest.raises((BrokenConfig, UsageError)) as raised:
        world.write(*flags, memory=memory)
    assert words in f"{raised.value.message} {raised.value.hint}"
    assert raised.value.exit_code == 2
    assert world.file.read_text() == config


@pytest.mark.parametrize("name", ["memory.types.enabled", "memory.consolidation_extract_facts"])
def test_settings_that_zeroclaw_reads_only_with_sqlite_keep_the_backend(tmp_path: Path, name: str) -> None:
    world = world_of(tmp_path, f"{THIRD}{SQLITE}{name.removeprefix('memory.')} = true\n", "data")
    with pytest.raises(UsageError, match=f"{name} = true needs sqlite") as refused:
        world.plan(memory="markdown")
    assert f"--set {name}=false" in (refused.value.hint or "")
    assert not world.plan(f"{name}=false", memory="markdown").is_empty
    assert not world.plan("vector_weight=0.5").is_empty


def test_answers_equal_to_the_default_or_for_another_store_are_not_written(tmp_path: Path) -> None:
    world = World(tmp_path, SQLITE)
    answers = world.answers()
    for name, value in (
        ("memory.vector_weight", 0.7), ("memory.auto_save", True), ("memory.keyword_weight", 0.2),
        ("storage.postgres.table", "mine"),
    ):  # fmt: skip
        answers = answers.with_given(name, Answer(value, "answered"))
    assert [change.name for change in make_plan(answers).changes] == ["memory.keyword_weight"]
    assert [change.name for change in world.plan("storage.postgres.table=mine").changes] == ["storage.postgres.table"]


def test_keys_that_zeroclaw_requires_are_added_even_without_other_changes(tmp_path: Path) -> None:
    config = "[memory]\n# the starter's own\nvector_weight = 0.7\n"
    world = World(tmp_path, config).before_0_8()
    assert any("does not start" in warning for warning in world.situation().warnings)
    world.write()
    assert set(world.file.read_text().splitlines()) - set(config.splitlines()) == {
        'backend = "sqlite"',
        "auto_save = true",
    }
    assert world.situation().warnings == ()
    assert world.plan().is_empty


@pytest.mark.parametrize(("version", "is_added"), [("0.8.0", True), ("0.8.1", False), ("0.8.2", False)])
def test_a_missing_backend_is_added_for_zeroclaw_0_8_0(tmp_path: Path, version: str, is_added: bool) -> None:
    """From 0.8.1 on ZeroClaw reads a [memory] without a backend."""
    world = World(tmp_path, THIRD + "[memory]\nvector_weight = 0.7\n")
    plan = world.plan("vector_weight=0.5", target=world.situation().target._replace(version=version))
    assert ("memory.backend" in [change.name for change in plan.changes]) == is_added


@pytest.mark.parametrize(
    ("text", "layout", "variable", "backend"),
    [
        ("[memory]\nauto_save = true\n", "workspace", "ZEROCLAW_STORAGE_PROVIDER", "sqlite"),
        ("[memory]\nauto_save = true\n" + PROVIDER, "workspace", "ZEROCLAW_STORAGE_PROVIDER", "postgres"),
        (THIRD + "[memory]\nauto_save = true\n", "data", "ZEROCLAW_memory__backend", "sqlite.default"),
    ],
)
def test_a_missing_backend_is_the_default_of_the_file_whatever_the_environment(
    tmp_path: Path, text: str, layout: str, variable: str, backend: str
) -> None:
    world = world_of(tmp_path, text, layout, **{variable: "markdown"})
    world.write("vector_weight=0.5")
    assert world.values["memory"]["backend"] == backend


FORMS = {
    "old": (POSTGRES + PROVIDER, "workspace"),
    "old, inline": (POSTGRES + INLINE, "workspace"),
    "old, read by the new generation": (POSTGRES + PROVIDER, "data"),
    "aliased": (THIRD + POSTGRES.replace('postgres"', 'postgres.work"') + ALIASED, "data"),
    "dotted": ("memory.backend = 'postgres'\nmemory.auto_save = true\n" + PROVIDER, "workspace"),
}


@pytest.mark.parametrize("other", ["sqlite", "lucid", "markdown", "qdrant", "none"])
@pytest.mark.parametrize("form", FORMS)
def test_switching_back_to_postgres_needs_no_url_and_restores_the_settings(
    tmp_path: Path, form: str, other: str
) -> None:
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


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("text", [None, "", "\ufeff", "# mine\n\n# and more", "# mine\r\n"])
def test_a_file_without_a_key_gets_the_defaults_of_the_backend_and_keeps_its_comments(
    tmp_path: Path, backend: str, text: str | None
) -> None:
    world = World(tmp_path, text).before_0_8()
    plan = world.write(*NEEDED.get(backend, ()), memory=backend)
    values = flat(world.values)
    wanted = flat({"default_temperature": 0.7, **default_values(backend)})
    assert {path: values.get(path) for path in wanted} == wanted
    address = {"postgres": {"db_url"}, "qdrant": {"url", "api_key"}}.get(backend, set())
    assert {path[-1] for path in values if path not in wanted} == address
    written = world.file.read_bytes().decode()
    assert written.startswith("default_temperature = 0.7\n\n# " if text is None else text.rstrip("\r\n"))
    if text is None:
        assert set(values) == {change.path for change in plan.changes}
        assert "a config already has" not in written, "that note is only for the file of defaults"
        assert world.file.stat().st_mode & 0o777 == 0o600
    assert world.loaded().backend == backend
    assert world.plan(*NEEDED.get(backend, ()), memory=backend).is_empty


@pytest.mark.parametrize("backend", BACKENDS)
def test_another_backend_changes_only_itself_and_its_profile_unless_defaults_are_requested(
    tmp_path: Path, backend: str
) -> None:
    """A file without settings of hygiene and cache means 7 days, 30 days and 10,000 vectors."""
    profile = {"auto_save", "hygiene_enabled", "archive_after_days", "purge_after_days", "embedding_cache_size"}
    world = World(tmp_path, OLD.replace("sqlite", "qdrant" if backend != "qdrant" else "markdown")).before_0_8()
    answers = world.answers(*NEEDED.get(backend, ()), memory=backend)
    own = set() if backend == "sqlite" else profile - ({"auto_save"} if backend != "none" else set())
    store = {"postgres": {"provider", "db_url"}, "qdrant": {"url", "api_key"}}.get(backend, set())
    assert {change.path[-1] for change in make_plan(answers).changes} == {"backend", *own, *store}
    apply_plan(make_plan(world.answers(*NEEDED.get(backend, ()), memory=backend, with_defaults=True)))
    assert flat(world.values).items() >= flat(default_values(backend)).items()


@pytest.mark.parametrize("config", [None, OLD])
def test_files_that_root_creates_in_a_users_folder_belong_to_the_user(tmp_path: Path, config: str | None) -> None:
    """Otherwise ZeroClaw, run by the owner of the folder, could read neither the key nor the config."""
    owner = NOBODY if os.getuid() == 0 else os.getuid()
    world = World(tmp_path, config)
    world.config_dir.mkdir(exist_ok=True)
    for path in (world.config_dir, *world.config_dir.iterdir()):
        os.chown(path, owner, -1)
    world.write(f"storage.postgres.db_url={URL}", memory="postgres")
    own = [*world.config_dir.rglob("zeroclaw-tui"), *tmp_path.rglob("backups/*")]
    made = [world.file, world.config_dir / KEY_FILE, *own]
    assert len(made) == (3 if config is None else 4)
    assert {path.stat().st_uid for path in made} == {65534}
