"""One line says which backend was chosen and why, by every way there is to choose one."""

from __future__ import annotations

from pathlib import Path

import pytest

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation.candidates import configs_for, describe_choice

PROVIDER = '[memory]\nbackend = "sqlite"\n[storage.provider.config]\nprovider = "postgres"\n'
MODERN = 'schema_version = 3\n[memory]\nbackend = "postgres.work"\n[storage.postgres.work]\ndb_url = "postgres://h/d"\n'


def line_of(tmp_path: Path, text: str, environ: dict[str, str] | None = None, **options: object) -> str:
    folder = tmp_path / "zc"
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(text)
    variables = {"HOME": str(tmp_path), **(environ or {})}
    return describe_choice(configs_for(OpenOptions(config_dir=folder, **options), variables)[0])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "environ", "options", "line"),
    [
        ('[memory]\nbackend = "markdown"\n', {}, {}, 'markdown: memory.backend = "markdown" in config.toml.'),
        ("[memory]\n", {}, {}, "sqlite: the default, since memory.backend is not set."),
        (PROVIDER, {}, {}, 'postgres: [storage.provider.config] provider stands above memory.backend = "sqlite".'),
        (PROVIDER.replace("sqlite", "postgres"), {}, {}, 'postgres: memory.backend = "postgres" in config.toml.'),
        (
            PROVIDER, {"ZEROCLAW_STORAGE_PROVIDER": "markdown"}, {},
            'markdown: environment ZEROCLAW_STORAGE_PROVIDER stands above memory.backend = "sqlite".',
        ),
        (
            PROVIDER, {}, {"backend": "markdown"},
            'markdown: --backend stands above memory.backend = "sqlite"; ZeroClaw itself would use postgres.',
        ),
        (
            PROVIDER, {}, {"location": "rediss://h"},
            'redis: the scheme of --location stands above memory.backend = "sqlite"; '
            "ZeroClaw itself would use postgres.",
        ),
        ("[memory]\n", {}, {"backend": "sqlite"}, "sqlite: --backend stands above the default, sqlite."),
        (MODERN, {}, {}, 'postgres.work: memory.backend = "postgres.work" in config.toml.'),
        (MODERN, {"ZEROCLAW_memory__backend": "none"}, {}, "none: environment ZEROCLAW_memory__backend."),
        (
            '[memory]\nbackend = "In-Memory"\n', {}, {},
            'in-memory: memory.backend = "In-Memory" in config.toml; ZeroClaw itself would use markdown, since it does '
            "not know that name.",
        ),
        (
            '[memory]\nbackend = "cortex"\n', {}, {},
            'cortex: memory.backend = "cortex" in config.toml; ZeroClaw itself would use markdown.',
        ),
    ],
)  # fmt: skip
def test_the_line_names_what_chose_and_what_it_stands_above(
    tmp_path: Path, text: str, environ: dict[str, str], options: dict[str, str], line: str
) -> None:
    assert line_of(tmp_path, text, environ, **options) == line


def test_a_store_alone_says_how_it_was_named(tmp_path: Path) -> None:
    variables = {"HOME": str(tmp_path)}
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "MEMORY.md").write_text("- one\n")
    (config,) = configs_for(OpenOptions(path=tmp_path / "notes"), variables)
    assert describe_choice(config) == "markdown: the path given."
    (config,) = configs_for(OpenOptions(location="postgres://h/d"), variables)
    assert describe_choice(config) == "postgres: the scheme of --location."
    (config,) = configs_for(OpenOptions(location="http://h:6333", backend="qdrant"), variables)
    assert describe_choice(config) == "qdrant: named by --backend."


def test_a_secret_in_the_place_of_a_name_is_not_shown(tmp_path: Path) -> None:
    line = line_of(tmp_path, '[memory]\nbackend = "postgres://ada:hunter2@h/d"\n')
    assert "hunter2" not in line
