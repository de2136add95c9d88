"""Every form of config, every backend: only what was asked changes, ZeroClaw reads what was meant, twice is once."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest
from plan_world import BACKENDS, CHANNELS, FORMS, NEEDED, OLD, URL, World, flat

from zeroclaw_tui.config.schema import default_values
from zeroclaw_tui.onboard.answers import gather
from zeroclaw_tui.onboard.plan import (
    apply_plan,
    make_plan,
)

PROFILE = ("auto_save", "hygiene_enabled", "archive_after_days", "purge_after_days", "embedding_cache_size")
every_way = pytest.mark.parametrize(("form", "backend"), [(form, backend) for form in FORMS for backend in BACKENDS])


@every_way
def test_only_the_asked_keys_and_their_lines_differ_and_a_second_run_changes_nothing(
    tmp_path: Path, form: str, backend: str
) -> None:
    world = World(tmp_path, FORMS[form]).with_key()
    before = flat(world.values)
    plan = world.write(*NEEDED.get(backend, ()), memory=backend)
    after = flat(world.values)
    changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    assert changed == {change.path for change in plan.changes}
    assert {path[0] for path in changed} <= {"memory", "storage"}
    for path in before:
        if path in changed:
            assert path[-1] in ("backend", "provider", *PROFILE, "dbURL", "db_url")
    _assert_no_other_line_is_touched(form, world, {path[-1] for path in changed})

    written = world.file.read_bytes()
    again = world.write(*NEEDED.get(backend, ()), memory=backend)
    assert again.is_empty
    assert again.after.to_bytes() == written == world.file.read_bytes()


def _assert_no_other_line_is_touched(form: str, world: World, keys: set[str]) -> None:
    compared = difflib.ndiff(FORMS[form].splitlines(), world.file.read_text().splitlines())
    gone = [line[2:] for line in compared if line.startswith("- ")]
    if form == "inline":
        assert all(line.startswith("memory = {") for line in gone)
    else:
        assert all(line.split("=")[0].strip().rpartition(".")[2] in keys for line in gone)
    assert CHANNELS in world.file.read_text() or CHANNELS not in FORMS[form]


@every_way
def test_zeroclaw_reads_what_was_meant(tmp_path: Path, form: str, backend: str) -> None:
    world = World(tmp_path, FORMS[form]).with_key()
    world.write(*NEEDED.get(backend, ()), "memory.vector_weight=0.25", memory=backend)
    if form == "aliases in an old schema":
        (world.config_dir / "data").mkdir()
    config = world.loaded()
    assert (config.backend, config.zeroclaw_backend) == (backend, backend)
    assert config.vector_weight == 0.25
    assert config.auto_save is (backend != "none")
    if backend == "postgres":
        assert config.storage["db_url"] == URL
        assert (config.storage["schema"], config.storage["table"]) == ("public", "memories")
        # Only a new file brings the defaults.
        assert config.storage.get("connect_timeout_secs") is None
    if backend == "qdrant":
        assert config.storage["url"] == "http://localhost:6333"
        assert config.storage["collection"] == "zeroclaw_memories"
        assert config.storage["api_key"] == "tunafish"
    assert not any("does not start" in warning for warning in config.warnings)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_empty_folder_gets_the_defaults_file_of_the_backend(tmp_path: Path, backend: str) -> None:
    world = World(tmp_path).before_0_8()
    plan = world.write(*NEEDED.get(backend, ()), memory=backend)
    wanted = flat({"default_temperature": 0.7, **default_values(backend)})
    answered = {path: value for path, value in flat(world.values).items() if path not in wanted}
    assert {path: value for path, value in flat(world.values).items() if path in wanted} == wanted
    assert {path[-1] for path in answered} == {
        "postgres": {"db_url"},
        "qdrant": {"url", "api_key"},
    }.get(backend, set())
    assert set(flat(world.values)) == {change.path for change in plan.changes}
    assert world.file.read_text().startswith("default_temperature = 0.7\n\n# ")
    assert "a config already has" not in world.file.read_text(), "that is about the file of defaults"
    assert world.file.stat().st_mode & 0o777 == 0o600
    assert world.loaded().backend == backend
    assert world.plan(*NEEDED.get(backend, ()), memory=backend).is_empty


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("text", ["", "\ufeff", "# mine\n\n# and more", "# mine\r\n"])
def test_a_file_that_holds_no_key_gets_what_a_new_one_gets_and_keeps_its_comments(
    tmp_path: Path, backend: str, text: str
) -> None:
    world = World(tmp_path, text).before_0_8()
    world.write(*NEEDED.get(backend, ()), memory=backend)
    written = world.file.read_bytes().decode()
    assert written.startswith(text.rstrip("\r\n"))
    assert world.values["default_temperature"] == 0.7
    new = World(tmp_path / "other").before_0_8()
    new.write(*NEEDED.get(backend, ()), memory=backend)
    assert {key: value for key, value in flat(world.values).items() if key[-1] != "db_url"} == {
        key: value for key, value in flat(new.values).items() if key[-1] != "db_url"
    }
    assert world.plan(*NEEDED.get(backend, ()), memory=backend).is_empty


@pytest.mark.parametrize("backend", [*BACKENDS, "postgres.work"])
@pytest.mark.parametrize("text", [None, "# mine\n"])
def test_where_0_8_reads_it_a_file_without_keys_begins_in_its_own_form(
    tmp_path: Path, backend: str, text: str | None
) -> None:
    kind, _, alias = backend.partition(".")
    world = World(tmp_path, text)
    plan = world.write(*NEEDED.get(kind, ()), memory=backend)
    assert plan.changes[0].name == "schema_version"
    assert world.values["schema_version"] == 3
    assert "default_temperature" not in world.values
    assert not {"provider"} & set(world.values.get("storage", {}))
    assert not {"qdrant", "postgres", "sqlite_open_timeout_secs"} & set(world.values["memory"])
    config = world.loaded()
    assert (config.backend, config.warnings) == (kind, ())
    if kind == "postgres":
        assert config.storage["db_url"] == URL
        assert set(world.values["storage"]["postgres"]) == {alias or "default"}
    if kind == "qdrant":
        assert (config.storage["url"], config.storage["api_key"]) == ("http://localhost:6333", "tunafish")
    assert world.plan(*NEEDED.get(kind, ()), memory=backend).is_empty


@pytest.mark.parametrize("backend", BACKENDS)
def test_another_backend_in_an_existing_file_changes_the_backend_and_the_profile_alone(
    tmp_path: Path, backend: str
) -> None:
    """A file that says nothing of hygiene and the cache means 7 days, 30 days and 10,000 vectors."""
    world = World(tmp_path, OLD.replace("sqlite", "qdrant" if backend != "qdrant" else "markdown")).before_0_8()
    plan = world.write(*NEEDED.get(backend, ()), memory=backend)
    profile = set() if backend == "sqlite" else {*PROFILE} - ({"auto_save"} if backend != "none" else set())
    store = {"postgres": {"provider", "db_url"}, "qdrant": {"url", "api_key"}}.get(backend, set())
    assert {change.path[-1] for change in plan.changes} == {"backend", *profile, *store}


@pytest.mark.parametrize("backend", BACKENDS)
def test_defaults_asked_for_are_all_written_into_an_existing_file(tmp_path: Path, backend: str) -> None:
    """`--defaults`: the whole table of the backend, except what is there and auto_save that is off."""
    world = World(tmp_path, OLD.replace("sqlite", "lucid" if backend != "lucid" else "sqlite")).before_0_8()
    answers = gather(world.situation(), memory=backend, assignments=NEEDED.get(backend, ()), with_defaults=True)
    apply_plan(make_plan(answers))
    written = flat(world.values)
    assert {path: written.get(path) for path in flat(default_values(backend))} == flat(default_values(backend))
