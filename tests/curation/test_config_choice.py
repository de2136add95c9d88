"""The configs that options can select, and the stores known to a config with their status."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.memories import UsageError
from support.places import MemoryConfig, OpenOptions
from support.small_store import create_database
from support.two_stores import install_of_two_stores

from zeroclaw_tui.curation.config_choice import Candidate, candidates, check_candidate, configs_for, describe_choice

SECRET = "hunter2"


@pytest.fixture
def folder(tmp_path):
    """An install of before 0.8.0: brain.db with two memories and notes with three."""
    return install_of_two_stores(tmp_path)


def test_a_user_without_a_home_folder_must_give_the_config_folder(folder, monkeypatch):
    def no_home():
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(UsageError, match="no home directory"):
        configs_for(OpenOptions(), {})
    assert configs_for(OpenOptions(config_dir=folder), {})[0].install.config_dir == folder


def test_a_database_path_opens_as_sqlite_whatever_the_config_says(folder, tmp_path):
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
def test_the_choice_says_why_the_backend_was_chosen(tmp_path, text, environ, options, line):
    (tmp_path / "config.toml").write_text(text)
    found = configs_for(OpenOptions(config_dir=tmp_path, **options), {"HOME": str(tmp_path), **environ})
    assert describe_choice(found[0]) == line


def test_a_secret_in_place_of_a_backend_is_not_shown(tmp_path):
    (tmp_path / "config.toml").write_text(f'[memory]\nbackend = "postgres://ada:{SECRET}@h/d"\n')
    assert SECRET not in describe_choice(configs_for(OpenOptions(config_dir=tmp_path), {"HOME": str(tmp_path)})[0])


# Stores known to a config


SERVER = f"postgres://z:{SECRET}@db:5432"


def config_of(folder: Path, environ: Mapping[str, str] | None = None, **options: Any) -> MemoryConfig:
    return configs_for(OpenOptions(path=folder, **options), environ or {})[0]


def known(folder: Path, environ: Mapping[str, str] | None = None) -> list[Candidate]:
    variables = environ or {}
    return list(candidates(config_of(folder, variables), variables))


def names(found: list[Candidate]) -> list[tuple[str, str]]:
    return [(candidate.name, candidate.why) for candidate in found]


def test_tables_of_the_config_and_the_environment_name_each_store_once(folder):
    (folder / "config.toml").write_text(
        f'[memory]\nbackend = "sqlite"\n[memory.qdrant]\nurl = "http://localhost:6333"\ncollection = "mine"\n'
        f'[storage.provider.config]\nprovider = ""\ndb_url = "{SERVER}/own"\n'
    )
    environ = {"ZEROCLAW_POSTGRES_URL": f"{SERVER}/ours", "ZEROCLAW_LUCID_CMD": "/usr/bin/lucid"}
    found = known(folder, environ)
    assert names(found) == [
        ("sqlite", "config.toml"),
        ("lucid", "environment ZEROCLAW_LUCID_CMD"),
        ("postgres", "a table of config.toml"),
        ("qdrant", "a table of config.toml"),
        ("postgres", "environment ZEROCLAW_POSTGRES_URL"),
        ("markdown", "its Markdown notes"),
        ("none", "every config"),
    ]
    places = [candidate.location for candidate in found]
    assert places[2:4] == ["postgres://db:5432/own · public.memories", "http://localhost:6333 · mine"]
    choices = [describe_choice(candidate.config) for candidate in found]
    assert choices[5].startswith("markdown: chosen by its Markdown notes;")
    assert SECRET not in repr(places + choices)


def test_every_alias_of_schema_3_is_a_store(folder):
    (folder / "config.toml").write_text(
        'schema_version = 3\n[memory]\nbackend = "postgres.work"\n'
        '[storage.postgres.work]\ndb_url = "postgres://db/work"\n[storage.postgres.home]\ndb_url = "postgres://db/home"\n'
    )
    found = names(known(folder))
    assert found[0] == ("postgres.work", "config.toml")
    assert ("postgres.home", "config.toml, [storage.postgres.home]") in found
    assert [name for name, _ in found].count("postgres.work") == 1


def test_after_a_switch_the_first_store_is_still_listed(folder, tmp_path):
    other = tmp_path / "other.db"
    create_database(other, "G1")
    started = config_of(folder, location=str(other))
    (markdown,) = (candidate for candidate in candidates(started, {}) if candidate.name == "markdown")
    found = candidates(markdown.config, {}, started=started)
    assert (found[0].is_current, found[0].why) == (True, "its Markdown notes")
    databases = [candidate.location for candidate in found if candidate.name == "sqlite"]
    assert databases == [str(other), str(folder / "workspace" / "memory" / "brain.db")]


async def test_a_stopped_or_silent_server_is_reported_as_a_problem(folder):
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        port = silent.getsockname()[1]
        environ = {"ZEROCLAW_POSTGRES_URL": f"postgres://z:{SECRET}@127.0.0.1:{port}/db"}
        (server,) = (candidate for candidate in known(folder, environ) if candidate.name == "postgres")
        assert (await check_candidate(server, seconds=0.3)).problem == "no answer within 0.3 s"
    problem = (await check_candidate(server)).problem
    assert problem is not None
    assert "127.0.0.1" in problem
    assert SECRET not in problem
