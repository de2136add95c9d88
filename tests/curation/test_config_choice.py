"""The configs that the options of a command may mean, and why a backend was chosen."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.small_store import create_database
from support.two_stores import install_of_two_stores

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation.config_choice import configs_for, describe_choice
from zeroclaw_tui.memory.errors import UsageError

SECRET = "hunter2"


@pytest.fixture
def folder(tmp_path):
    """An install of before 0.8.0 with a brain.db."""
    return install_of_two_stores(tmp_path)


def test_a_user_without_a_home_directory_names_the_config_directory(folder, monkeypatch):
    def no_home():
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(UsageError, match="no home directory"):
        configs_for(OpenOptions(), {})
    assert configs_for(OpenOptions(config_dir=folder), {})[0].install.config_dir == folder


def test_a_database_is_opened_as_one_whatever_backend_the_config_names(folder, tmp_path):
    (folder / "config.toml").write_text('[memory]\nbackend = "markdown"\n')
    database = tmp_path / "other.db"
    create_database(database, "G1")
    (config,) = configs_for(OpenOptions(path=folder, location=str(database)), {})
    assert (config.backend, config.database) == ("sqlite", database)
    assert describe_choice(config).startswith("sqlite: chosen by the content of the file")


PROVIDER = '[memory]\nbackend = "sqlite"\n[storage.provider.config]\nprovider = "postgres"\n'
MODERN = 'schema_version = 3\n[memory]\nbackend = "postgres.work"\n[storage.postgres.work]\ndb_url = "postgres://h/d"\n'


@pytest.mark.parametrize(
    ("text", "environ", "options", "line"),
    [
        ('[memory]\nbackend = "markdown"\n', {}, {}, "markdown: memory.backend in config.toml."),
        ("[memory]\n", {}, {}, "sqlite: the default, because memory.backend is not set."),
        (PROVIDER, {}, {}, "postgres: chosen by [storage.provider.config] provider."),
        (PROVIDER, {}, {"backend": "markdown"}, "markdown: chosen by --backend; ZeroClaw itself would use postgres."),
        (
            PROVIDER, {}, {"location": "rediss://h"},
            "redis: chosen by the scheme of --location; ZeroClaw itself would use postgres.",
        ),
        (MODERN, {}, {}, "postgres.work: memory.backend in config.toml."),
        (MODERN, {"ZEROCLAW_memory__backend": "none"}, {}, "none: chosen by environment ZEROCLAW_memory__backend."),
        (
            '[memory]\nbackend = "In-Memory"\n', {}, {},
            "in-memory: memory.backend in config.toml; ZeroClaw itself would use markdown.",
        ),
    ],
)  # fmt: skip
def test_a_choice_names_what_chose_the_backend(tmp_path, text, environ, options, line):
    (tmp_path / "config.toml").write_text(text)
    found = configs_for(OpenOptions(config_dir=tmp_path, **options), {"HOME": str(tmp_path), **environ})
    assert describe_choice(found[0]) == line


def test_a_secret_in_place_of_a_backend_is_not_shown(tmp_path):
    (tmp_path / "config.toml").write_text(f'[memory]\nbackend = "postgres://ada:{SECRET}@h/d"\n')
    assert SECRET not in describe_choice(configs_for(OpenOptions(config_dir=tmp_path), {"HOME": str(tmp_path)})[0])
