"""A server given by its URL needs no install, and its password is never shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.memories import UsageError
from support.places import CONFIRMED, READ_ONLY, MemoryConfig, OpenOptions, store_to_confirm, without_password

from zeroclaw_tui.cli.health import effective_settings
from zeroclaw_tui.cli.options import open_options
from zeroclaw_tui.cli.verbs import memory_arguments
from zeroclaw_tui.config.settings import confirm_store, confirmed_stores, settings_file
from zeroclaw_tui.curation.config_choice import configs_for

SECRET = "hunter2"
POSTGRES = '[memory]\nbackend = "postgres"\n'


def config_of(tmp_path: Path, *arguments: str, **variables: str) -> MemoryConfig:
    options = open_options(memory_arguments(["list", *arguments]))
    return configs_for(options, {"HOME": str(tmp_path), **variables})[0]


@pytest.mark.parametrize(
    ("url", "backend"),
    [
        (f"postgres://ada:{SECRET}@h/d", "postgres"), (f"PostgreSQL://ada:{SECRET}@h/d", "postgres"),
        (f"redis://:{SECRET}@h:6379/0", "redis"), (f"rediss://h?password={SECRET}", "redis"),
    ],
)  # fmt: skip
def test_a_url_alone_opens_a_store_with_its_own_folder(tmp_path, url, backend):
    config = config_of(tmp_path, "--location", url, XDG_DATA_HOME=str(tmp_path / "share"))
    install = config.install
    assert (config.backend, config.location, install.layout, install.config_file) == (backend, url, "lone", None)
    assert install.own_dir.parent == tmp_path / "share" / "zeroclaw-tui"
    other = config_of(tmp_path, "--location", url.replace(SECRET, "another"), XDG_DATA_HOME=str(tmp_path / "share"))
    assert other.install.own_dir == install.own_dir
    elsewhere = config_of(tmp_path, "--location", url.replace("@h", "@other").replace("//h", "//other"))
    assert elsewhere.install.own_dir.name != install.own_dir.name
    assert not (tmp_path / "share").exists()
    assert SECRET not in str(install)
    assert SECRET not in str(effective_settings(config))
    assert config.warnings == ()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--location", "mysql://ada:hunter2@h"), "No backend is known for mysql:// URLs."),
        (("--location", "http://h:6333"), "http:// URL alone does not name the backend."),
        (("--location", "://x"), "--location is not a valid URL."),
        (("--backend", "sqlite", "--location", "postgres://ada:hunter2@h"), "sqlite does not use postgres://"),
        (("--backend", "postgres", "--location", "host=h password=hunter2 user=ada"), "A PostgreSQL store needs a URL"),
        (("--location", "dbname = d password='hunter2 x'"), "A PostgreSQL store needs a URL"),
    ],
)  # fmt: skip
def test_a_url_that_matches_no_backend_is_a_usage_error(tmp_path, arguments, said):
    with pytest.raises(UsageError) as error:
        config_of(tmp_path, *arguments)
    assert said in error.value.message
    assert SECRET not in str(error.value)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("postgresql://ada:p@ss/w@Host:5432/d?sslmode=require", "postgres://ada@host:5432/d?sslmode=require"),
        ("postgres://h/d?password=x&user=ada&sslpassword=y", "postgres://h/d?user=ada"),
        ("redis://:secret@h:1/0", "redis://h:1/0"),
        ("rediss://ada@h", "rediss://ada@h"),
        ("no url", ""),
    ],
)
def test_the_name_of_a_server_has_no_password(url, name):
    assert without_password(url) == name


def config_from_environment(tmp_path: Path, url: str = f"postgres://ada:{SECRET}@h/d", **options: Any) -> MemoryConfig:
    folder = tmp_path / "zc"
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(POSTGRES)
    return configs_for(OpenOptions(config_dir=folder, **options), {"HOME": str(tmp_path), "DATABASE_URL": url})[0]


def test_a_database_named_only_by_database_url_is_read_only_until_confirmed(tmp_path):
    config = config_from_environment(tmp_path)
    assert config.read_only
    assert READ_ONLY in config.warnings
    name = store_to_confirm(config)
    assert name == "postgres://ada@h/d public.memories"
    confirm_store(config.install, name)
    confirm_store(config.install, name)
    assert confirmed_stores(config.install) == (name,)
    assert SECRET not in settings_file(config.install).read_text()
    confirmed = config_from_environment(tmp_path, "postgresql://ada:another@H/d")
    assert not confirmed.read_only
    assert (CONFIRMED in confirmed.warnings, READ_ONLY in confirmed.warnings) == (True, False)
    assert store_to_confirm(confirmed) is None
    assert config_from_environment(tmp_path, "postgres://ada@h/another").read_only
    assert config_from_environment(tmp_path, read_only=True).read_only


SOURCES = (
    (
        '[memory]\nbackend = "postgres"\n[storage.provider.config]\nprovider = "postgres"\n'
        'dbURL = "postgres://ada:hunter2@h/d"\nschema = "mem"\nconnect_timeout_secs = 5\n',
        {},
        {"storage.db_url": "config.toml", "storage.schema": "config.toml", "storage.table": "default"},
    ),
    (
        POSTGRES,
        {"ZEROCLAW_STORAGE_DB_URL": "postgres://ada:hunter/2hunter2@h/d", "ZEROCLAW_STORAGE_CONNECT_TIMEOUT_SECS": "7"},
        {
            "storage.db_url": "environment ZEROCLAW_STORAGE_DB_URL",
            "storage.connect_timeout_secs": "environment ZEROCLAW_STORAGE_CONNECT_TIMEOUT_SECS",
        },
    ),
)


@pytest.mark.parametrize(("text", "environ", "sources"), SOURCES, ids=range(len(SOURCES)))
def test_health_shows_the_source_of_every_value_and_no_secret(tmp_path, text, environ, sources):
    folder = tmp_path / "zc"
    folder.mkdir()
    (folder / "config.toml").write_text(text)
    config = configs_for(OpenOptions(config_dir=folder), {"HOME": str(tmp_path), **environ})[0]
    shown = effective_settings(config)
    assert {key: shown[key]["source"] for key in sources} == sources
    assert {f"storage.{name}" for name in config.storage} <= set(shown)
    assert "hunter" not in str(shown)
    assert "hunter" not in repr(config)
    assert "hunter" not in str(config.warnings)
