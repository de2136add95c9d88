"""`zeroclaw onboard` by flags: what it prints, writes and leaves alone."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from cli_onboard_samples import CONFIG, POSTGRES_URL
from support.commands import Command
from support.small_store import make

from zeroclaw_tui.config.schema import default_values

FLAGS = {
    "sqlite": (),
    "lucid": (),
    "markdown": (),
    "none": (),
    "postgres": ("--set", f"storage.postgres.db_url={POSTGRES_URL}"),
    "qdrant": ("--set", "storage.qdrant.url=http://127.0.0.1:6333"),
}


@pytest.mark.parametrize("backend", FLAGS)
def test_a_fresh_folder_gets_the_defaults_once(onboard: Command, config_dir: Path, backend: str) -> None:
    flags = ("--memory", backend, "--no-test", *FLAGS[backend])
    shown = onboard(*flags, "--dry-run")
    assert shown.code == 0, shown.err
    assert not config_dir.exists()
    assert "Nothing was changed" in shown.err
    added = {line[2:].partition("=")[0].strip() for line in shown.out.splitlines() if line.startswith("+ ")}
    keys = {key for key, value in default_values(backend)["memory"].items() if not isinstance(value, dict)}
    assert keys <= added

    written = onboard(*flags)
    assert (written.code, written.err) == (0, "")
    assert "install ZeroClaw (not found on your PATH)" in " ".join(written.out.split())
    file = config_dir / "config.toml"
    assert str(file) in written.out
    values = tomllib.loads(file.read_text())
    wanted = {key: default_values(backend)["memory"][key] for key in keys}
    wanted["backend"] = backend if backend == "none" else f"{backend}.default"
    assert {key: values["memory"][key] for key in keys} == wanted
    assert values["schema_version"] == 3, "without a ZeroClaw on PATH the newest form is written"
    assert file.stat().st_mode & 0o777 == 0o600
    before = file.read_bytes()

    again = onboard(*flags)
    assert again.code == 0
    assert "nothing to change" in again.out
    assert "Written" not in again.out
    assert file.read_bytes() == before


def test_only_what_was_asked_changes(onboard: Command, config_file: Path) -> None:
    answer = onboard("--set", "memory.vector_weight=0.5", "--no-test")
    assert answer.code == 0, answer.err
    assert config_file.read_text() == CONFIG.replace("vector_weight = 0.7", "vector_weight = 0.5")
    assert "1 changed, 12 unchanged" in answer.out
    lines = answer.out.splitlines()
    assert "- vector_weight = 0.7" in lines
    assert "+ vector_weight = 0.5" in lines
    assert lines.index("  [memory]") < lines.index("- vector_weight = 0.7")
    assert "Providers and channels" not in answer.out
    assert f"zeroclaw-tui --config-dir {config_file.parent}" in answer.out
    [backup] = onboard("--restore", "--json").json["backups"]
    assert f"zeroclaw onboard --config-dir {config_file.parent} --restore {backup['name']}" in answer.out


def test_without_a_terminal_interactive_is_refused_and_says_what_to_use(onboard: Command, config_dir: Path) -> None:
    answer = onboard("--interactive", "--no-test")
    assert answer.code == 2
    assert "--interactive needs a terminal" in answer.err
    assert "--defaults" in answer.err
    assert not (config_dir / "config.toml").exists()


def test_a_bare_command_without_a_terminal_changes_nothing_that_is_there(onboard: Command, config_file: Path) -> None:
    answer = onboard()
    assert (answer.code, answer.err) == (0, "")
    assert "nothing to change" in answer.out
    assert config_file.read_text() == CONFIG


def test_a_second_config_dir_that_could_be_meant_is_named(run: Any, tmp_path: Path, clean_environment: Path) -> None:
    home = clean_environment / ".zeroclaw"
    home.mkdir()
    (home / "config.toml").write_text(CONFIG)
    (home / "workspace" / "memory").mkdir(parents=True)
    (home / "workspace" / "memory" / "brain.db").write_bytes(b"")
    marked = clean_environment / "elsewhere"
    marked.mkdir()
    (marked / "config.toml").write_text(CONFIG)
    (home / "active_workspace.toml").write_text(f'config_dir = "{marked}"\n')
    answer = run("onboard", "--dry-run")
    assert answer.code == 0
    assert str(marked / "config.toml") in answer.out or "elsewhere/config.toml" in answer.out
    assert f"Using {marked}" in answer.err
    assert str(home) in answer.err


JSON_KEYS = {
    "config_file", "zeroclaw", "backend", "written", "backup", "changes", "diff", "lines", "tests", "notes",
    "warnings", "dry_run",
}  # fmt: skip


def test_the_document_of_a_dry_run(onboard: Command, config_file: Path) -> None:
    url = f"storage.postgres.db_url={POSTGRES_URL}"
    answer = onboard("--memory", "postgres", "--set", url, "--no-test", "--dry-run", "--json")
    assert answer.code == 0, answer.err
    message = answer.json
    assert set(message) == JSON_KEYS
    assert (message["written"], message["dry_run"], message["backup"], message["backend"]) == (
        False,
        True,
        None,
        "postgres",
    )
    assert message["config_file"] == str(config_file)
    assert message["zeroclaw"] == {"schema": 1, "version": None, "form": "plain names"}
    changes = {change["key"]: change for change in message["changes"]}
    assert changes["memory.backend"] == {
        "key": "memory.backend", "path": ["memory", "backend"], "from": "sqlite", "to": "postgres", "secret": False,
    }  # fmt: skip
    assert changes["storage.postgres.db_url"] == {
        "key": "storage.postgres.db_url",
        "path": ["storage", "provider", "config", "db_url"],
        "from": None,
        "to": "••••",
        "secret": True,
    }
    assert '+ backend = "postgres"' in message["diff"].splitlines()
    assert message["lines"]["kept"] > 0
    assert message["tests"] == []
    assert config_file.read_text() == CONFIG


def test_the_document_of_a_write_and_of_a_second_one(onboard: Command, config_file: Path) -> None:
    first = onboard("--set", "auto_save=false", "--no-test", "--json")
    assert first.err == ""
    assert (first.json["written"], first.json["dry_run"]) == (True, False)
    assert first.json["backup"]
    assert first.json["lines"] == {"changed": 1, "kept": 12}
    second = onboard("--set", "auto_save=false", "--json")
    assert set(second.json) == JSON_KEYS
    assert (second.json["written"], second.json["changes"], second.json["backup"]) == (False, [], None)


def test_flags_load_nothing_that_only_questions_need(config_dir: Path) -> None:
    arguments = ["onboard", "--config-dir", str(config_dir), "--defaults", "--dry-run"]
    code = (
        "import sys, zeroclaw_tui.cli.main as main\n"
        f"sys.argv = ['zeroclaw', *{arguments!r}]\n"
        "assert main.zeroclaw() == 0\n"
        "print('LOADED', *sys.modules, sep='\\n', file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.partition("LOADED\n")[2].split())
    assert loaded
    assert not loaded & {"textual", "questionary", "prompt_toolkit", "rich", "httpx", "asyncpg", "numpy"}


def test_the_commands_printed_after_writing_run_as_printed_where_the_scripts_are_not_on_path(
    onboard: Command, config_file: Path
) -> None:
    """The memories of the backend that was left are copied by one of them."""
    config_file.write_text('[memory]\nbackend = "sqlite"\nauto_save = true\n')
    database = config_file.parent / "workspace" / "memory" / "brain.db"
    database.parent.mkdir(parents=True)
    make(database, "G2", [{"key": "tea", "content": "likes it green"}])
    written = onboard("--memory", "markdown", PATH="/usr/bin:/bin")
    assert written.code == 0, written.err
    assert "config.toml now names Markdown. The memories in SQLite are still there. Copy them with:" in written.out
    commands = [line.strip() for line in written.out.splitlines() if line.startswith("    ")]
    copy, restore = (next(line for line in commands if verb in line) for verb in (" memory copy ", " --restore "))
    assert not any(line.startswith(("zeroclaw ", "zeroclaw-tui")) for line in commands)
    for command in (f"{copy} --yes", f"{restore} --yes"):
        done = subprocess.run(
            ["/bin/sh", "-c", command], capture_output=True, text=True, timeout=120, env={"PATH": "/usr/bin:/bin"}
        )
        assert done.returncode == 0, done.stderr
    assert "likes it green" in (config_file.parent / "workspace" / "MEMORY.md").read_text()
    assert 'backend = "sqlite"' in config_file.read_text()
