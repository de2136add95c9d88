"""Every form of config, every backend: only what was asked changes, ZeroClaw reads what was meant, twice is once."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.wizard_world import BACKENDS, NEEDED, OLD, World, flat

from zeroclaw_tui.config.schema import default_values
from zeroclaw_tui.onboard.answers import gather
from zeroclaw_tui.onboard.plan import apply_plan, make_plan

PROFILE = ("auto_save", "hygiene_enabled", "archive_after_days", "purge_after_days", "embedding_cache_size")


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
