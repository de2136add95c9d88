"""Which keys a plan touches, and how it spells them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.wizard_world import NEEDED, URL, World

from zeroclaw_tui.memory.errors import BrokenConfig, UsageError
from zeroclaw_tui.onboard.answers import Given
from zeroclaw_tui.onboard.plan import make_plan

SHORT = '[memory]\nbackend = "sqlite"\nauto_save = true\n'
THIRD = "schema_version = 3\n"


def added(world: World, before: str) -> set[str]:
    return set(world.file.read_text().splitlines()) - set(before.splitlines())


def test_an_answer_that_says_what_is_true_anyway_is_not_written(tmp_path: Path) -> None:
    world = World(tmp_path, SHORT)
    answers = world.answers()
    for name, value in (("memory.vector_weight", 0.7), ("memory.auto_save", True), ("memory.keyword_weight", 0.2)):
        answers = answers.with_given(name, Given(value, "answered"))
    assert [change.name for change in make_plan(answers).changes] == ["memory.keyword_weight"]


def test_what_zeroclaw_does_not_start_without_is_added_although_nothing_else_changes(tmp_path: Path) -> None:
    config = "[memory]\n# the starter's own\nvector_weight = 0.7\n"
    world = World(tmp_path, config).before_0_8()
    assert any("does not start" in warning for warning in world.situation().warnings)
    world.write()
    assert added(world, config) == {'backend = "sqlite"', "auto_save = true"}
    assert world.situation().warnings == ()
    assert world.plan().is_empty


@pytest.mark.parametrize(("version", "is_added"), [("0.8.0", True), ("0.8.1", False), ("0.8.2", False)])
def test_a_missing_backend_is_added_where_zeroclaw_0_8_0_reads_the_file(
    tmp_path: Path, version: str, is_added: bool
) -> None:
    """From 0.8.1 on it reads a [memory] without one."""
    world = World(tmp_path, THIRD + "[memory]\nvector_weight = 0.7\n")
    plan = world.plan("vector_weight=0.5", target=world.situation().target._replace(version=version))
    assert ("memory.backend" in [change.name for change in plan.changes]) == is_added


@pytest.mark.parametrize(
    ("config", "memory", "written"),
    [
        (SHORT, "lucid", "lucid"),
        (THIRD + SHORT, "lucid.mine", "lucid.mine"),
        (THIRD + SHORT, "none", "none"),
        (THIRD + SHORT.replace('"sqlite"', '"sqlite.main"'), "sqlite", "sqlite.main"),
        (THIRD + SHORT.replace('"sqlite"', '" SQLite "'), "sqlite", " SQLite "),
        (THIRD + SHORT + "[storage.lucid.work]\n", "lucid", "lucid.work"),
    ],
)
def test_the_backend_is_spelled_as_this_file_spells_it(tmp_path: Path, config: str, memory: str, written: str) -> None:
    world = World(tmp_path, config)
    world.write(memory=memory)
    assert world.values["memory"]["backend"] == written


@pytest.mark.parametrize(
    ("provider", "memory", "after"),
    [
        ('provider = "postgres"', "sqlite", {"provider": "sqlite"}),
        ('provider = "Postgres"', "postgres", {"provider": "Postgres"}),
        ('provider = ""', "markdown", {"provider": ""}),
        ('schema = "s"', "markdown", {"schema": "s"}),
    ],
)
def test_the_name_that_is_above_the_backend_is_put_right(
    tmp_path: Path, provider: str, memory: str, after: dict[str, str]
) -> None:
    world = World(tmp_path, f"{SHORT}\n[storage.provider.config]\n{provider}\n").with_key()
    world.write(*NEEDED.get(memory, ()), memory=memory)
    settings = world.values["storage"]["provider"]["config"]
    assert {name: settings[name] for name in after} == after
    assert ("provider" in settings) is ("provider" in after)
    assert world.loaded().zeroclaw_backend == memory


def test_an_old_table_says_that_it_is_postgres_where_the_new_generation_moves_it(tmp_path: Path) -> None:
    world = World(tmp_path, SHORT.replace("sqlite", "postgres")).with_key()
    (world.config_dir / "data").mkdir()
    world.write(*NEEDED["postgres"])
    assert world.values["storage"]["provider"]["config"]["provider"] == "postgres"
    assert world.loaded().storage["db_url"] == URL


def test_a_store_that_is_not_in_use_is_written_only_by_name(tmp_path: Path) -> None:
    world = World(tmp_path, SHORT)
    answered = world.answers().with_given("storage.postgres.table", Given("mine", "answered"))
    assert make_plan(answered).is_empty
    assert [change.name for change in world.plan("storage.postgres.table=mine").changes] == ["storage.postgres.table"]


@pytest.mark.parametrize(
    ("memory", "message"), [("postgres", "--set storage.postgres.db_url="), ("qdrant", "--set storage.qdrant.url=")]
)
def test_a_missing_answer_names_its_flag(tmp_path: Path, memory: str, message: str) -> None:
    world = World(tmp_path, SHORT)
    with pytest.raises(UsageError) as raised:
        world.plan(memory=memory)
    assert message in raised.value.hint
    assert raised.value.exit_code == 2
    assert world.file.read_text() == SHORT


@pytest.mark.parametrize(
    ("config", "assignments", "key"),
    [
        (SHORT + 'vector_weight = "much"\n', ("vector_weight=0.5",), "memory.vector_weight"),
        (SHORT + "[storage.provider]\nconfig = 3\n", ("storage.postgres.table=t",), "storage.provider.config"),
        (SHORT + "[storage.provider.config]\nprovider = 3\n", ("vector_weight=0.5",), "provider"),
    ],
)
def test_a_wrong_type_in_the_way_is_named_and_nothing_is_written(
    tmp_path: Path, config: str, assignments: tuple[str, ...], key: str
) -> None:
    world = World(tmp_path, config)
    with pytest.raises(BrokenConfig, match=key):
        world.write(*assignments)
    assert world.file.read_text() == config
