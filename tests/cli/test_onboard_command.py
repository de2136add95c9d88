"""`zeroclaw onboard` with flags: its output, its changes to files, and its refusals."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from onboard_samples import CONFIG, POSTGRES_URL
from support.commands import Command
from support.files import files_below
from support.http_endpoints import embeddings, serving
from support.small_store import make

from zeroclaw_tui.config.schema import default_values

DB_URL = f"storage.postgres.db_url={POSTGRES_URL}"
ODD = "a\x1b[31mb\x07\u009b\n[memory]\nauto_save=false\u2028x\x7f"


@pytest.mark.parametrize("flags", [("--memory", "lucid"), ("--memory", "postgres", "--set", DB_URL)])
def test_a_new_folder_gets_the_defaults_once(onboard: Command, tmp_path: Path, flags: tuple[str, ...]) -> None:
    file, backend = tmp_path / "zc" / "config.toml", flags[1]
    shown = onboard(*flags, "--no-test", "--dry-run")
    assert (shown.code, "Nothing was changed" in shown.err, file.parent.exists()) == (0, True, False)
    written = onboard(*flags, "--no-test")
    assert (written.code, written.err, str(file) in written.out) == (0, "", True)
    assert "install ZeroClaw (not found on your PATH)" in " ".join(written.out.split())
    values = tomllib.loads(file.read_text())
    assert values["schema_version"] == 3, "without a ZeroClaw on PATH the newest schema is written"
    assert values["memory"].items() >= (default_values(backend)["memory"] | {"backend": f"{backend}.default"}).items()
    added = {line[2:].partition("=")[0].strip() for line in shown.out.splitlines() if line.startswith("+ ")}
    assert {key for key, value in values["memory"].items() if not isinstance(value, dict)} <= added
    assert file.stat().st_mode & 0o777 == 0o600
    before = file.read_bytes()
    again = onboard(*flags, "--no-test")
    assert (again.code, "nothing to change" in again.out, file.read_bytes()) == (0, True, before)


def test_only_requested_settings_change(onboard: Command, config_file: Path) -> None:
    answer = onboard("--set", "memory.vector_weight=0.5", "--no-test")
    assert answer.code == 0, answer.err
    assert config_file.read_text() == CONFIG.replace("vector_weight = 0.7", "vector_weight = 0.5")
    assert "1 changed, 12 unchanged" in answer.out
    lines = answer.out.splitlines()
    changed = [line for line in lines if line.startswith(("- ", "+ "))]
    assert changed == ["- vector_weight = 0.7", "+ vector_weight = 0.5"]
    assert lines.index("  [memory]") < lines.index("- vector_weight = 0.7")
    assert "Providers and channels" not in answer.out
    assert f"zeroclaw-tui --config-dir {config_file.parent}" in answer.out
    [backup] = onboard("--restore", "--json").json["backups"]
    assert f"zeroclaw onboard --config-dir {config_file.parent} --restore {backup['name']}" in answer.out


def test_without_a_terminal_a_bare_command_changes_nothing_and_interactive_is_refused(
    onboard: Command, config_file: Path
) -> None:
    bare = onboard()
    assert (bare.code, bare.err, "nothing to change" in bare.out) == (0, "", True)
    refused = onboard("--interactive", "--no-test")
    assert (refused.code, "--interactive needs a terminal" in refused.err) == (2, True)
    assert "--defaults" in refused.err
    assert config_file.read_text() == CONFIG


def test_a_second_possible_config_dir_is_named(run: Command, clean_environment: Path) -> None:
    home, marked = clean_environment / ".zeroclaw", clean_environment / "elsewhere"
    for folder in (home, marked):
        folder.mkdir()
        (folder / "config.toml").write_text(CONFIG)
    (home / "active_workspace.toml").write_text(f'config_dir = "{marked}"\n')
    answer = run("onboard", "--dry-run")
    assert (answer.code, "elsewhere/config.toml" in answer.out) == (0, True)
    assert f"Using {marked}" in answer.err
    assert str(home) in answer.err


JSON_KEYS = {
    "config_file", "zeroclaw", "backend", "written", "backup", "changes", "diff", "lines", "tests", "notes",
    "warnings", "dry_run",
}  # fmt: skip


def test_the_json_of_a_dry_run_shows_the_plan(onboard: Command, config_file: Path) -> None:
    answer = onboard("--memory", "postgres", "--set", DB_URL, "--no-test", "--dry-run", "--json")
    message = answer.json
    assert set(message) == JSON_KEYS
    named = {"config_file": str(config_file), "written": False, "dry_run": True, "backup": None, "backend": "postgres"}
    assert message.items() >= {**named, "tests": []}.items()
    assert message["zeroclaw"] == {"schema": 1, "version": None, "form": "plain names"}
    changes = {change.pop("key"): change for change in message["changes"]}
    assert changes["memory.backend"] == {
        "path": ["memory", "backend"], "from": "sqlite", "to": "postgres", "secret": False,
    }  # fmt: skip
    assert changes["storage.postgres.db_url"] == {
        "path": ["storage", "provider", "config", "db_url"], "from": None, "to": "••••", "secret": True,
    }  # fmt: skip
    assert '+ backend = "postgres"' in message["diff"].splitlines()
    assert message["lines"]["kept"] > 0
    assert config_file.read_text() == CONFIG


def test_the_json_of_a_write_and_of_a_repeated_one(onboard: Command, config_file: Path) -> None:
    first = onboard("--set", "auto_save=false", "--no-test", "--json")
    assert (first.err, first.json["written"], first.json["dry_run"]) == ("", True, False)
    assert first.json["backup"]
    assert first.json["lines"] == {"changed": 1, "kept": 12}
    second = onboard("--set", "auto_save=false", "--json").json
    assert set(second) == JSON_KEYS
    assert (second["written"], second["changes"], second["backup"]) == (False, [], None)


def test_the_printed_commands_work_even_if_the_scripts_are_not_on_path(onboard: Command, config_file: Path) -> None:
    """One of them copies the memories of the previous backend."""
    config_file.write_text('[memory]\nbackend = "sqlite"\nauto_save = true\n')
    database = config_file.parent / "workspace" / "memory" / "brain.db"
    database.parent.mkdir(parents=True)
    make(database, "G2", [{"key": "tea", "content": "likes it green"}])
    written = onboard("--memory", "markdown", PATH="/usr/bin:/bin")
    assert written.code == 0, written.err
    assert "config.toml now names Markdown. The memories in SQLite are still there. Copy them with:" in written.out
    commands = [line.strip() for line in written.out.splitlines() if line.startswith("    ")]
    assert not any(line.startswith(("zeroclaw ", "zeroclaw-tui")) for line in commands)
    for verb in (" memory copy ", " --restore "):
        command = next(line for line in commands if verb in line)
        path = {"PATH": "/usr/bin:/bin"}
        subprocess.run(["/bin/sh", "-c", f"{command} --yes"], capture_output=True, timeout=120, env=path, check=True)
    assert "likes it green" in (config_file.parent / "workspace" / "MEMORY.md").read_text()
    assert 'backend = "sqlite"' in config_file.read_text()


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("flags", [("--dry-run",), ("--memory=markdown", "--set=memory.auto_save=false", "--dry-run")])
def test_our_own_options_are_handled_here(
    run: Command, fake: str, tmp_path: Path, at: int, flags: tuple[str, ...]
) -> None:
    folder = str(tmp_path / "zc")
    before, after = ("--config-dir", folder), (f"--config-dir={folder}",)
    places = (("onboard", *before), ("onboard", *after), (*before, "onboard"))
    answer = run(*places[at], *flags, PATH=fake)
    assert (answer.code, "backend" in answer.out, "<onboard>" in answer.out) == (0, True, False)
    assert not (tmp_path / "zc").exists()


@pytest.mark.parametrize(
    ("arguments", "has_real", "code", "words"),
    [
        (("--dry-runn",), True, 2, ["Unknown argument --dry-runn.", "Did you mean --dry-run?"]),
        (("--restor", "x"), True, 2, ["Unknown argument --restor.", "Did you mean --restore?"]),
        (("--channels-only",), False, 127, ["Unknown argument --channels-only.", "real zeroclaw"]),
        (("--api-key", "sk-sekret"), False, 127, ["Unknown argument --api-key.", "`zeroclaw onboard --help`"]),
        (("channels",), False, 127, ["Unknown argument channels.", "real zeroclaw"]),
        (("--config-dir", ""), False, 2, ["is empty"]),
        (("--workspace=", "--memory", "sqlite", "--no-test"), False, 2, ["is empty"]),
        (("--answers", ""), False, 2, ["is empty"]),
    ],
)
def test_an_unknown_argument_is_named(
    run: Command, fake: str, arguments: tuple[str, ...], has_real: bool, code: int, words: list[str]
) -> None:
    """A typing mistake is not passed on, because the real ZeroClaw would write."""
    answer = run("onboard", *arguments, **({"PATH": fake} if has_real else {}))
    assert (answer.code, answer.out) == (code, "")
    assert all(each in answer.err for each in words)
    assert ("Did you mean" in answer.err) == has_real
    assert not Path("config.toml").exists()


def test_help_is_ours_and_names_every_option(run: Command, fake: str) -> None:
    for flag in ("--help", "-h"):
        shown = run("onboard", flag, PATH=fake)
        assert shown.code == 0
        for option in (
            "--interactive", "--memory", "--set", "--defaults", "--answers", "--no-test", "--dry-run", "--restore",
            "--json", "--yes", "--config-dir", "--workspace", "the real zeroclaw",
        ):  # fmt: skip
            assert option in " ".join(shown.out.split())


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (("--memory", "redis"), "redis"),
        (("--set", "memory.vector_wieght=0.5"), "vector_weight"),
        (("--set", "x=1"), "x"),
        (("--answers", "/nowhere/answers.toml"), "/nowhere/answers.toml"),
        (("--restore", "latest", "--memory", "sqlite"), "--memory"),
        (("--restore", "--set", "a=b"), "--set"),
        (("--interactive", "--json"), "--json"),
        (("--memory",), "--memory"),
        (("--dry-run=yes",), "--dry-run"),
        (("--set", f"memory.embedding_model={ODD}", "--no-test"), ""),
        (("--set", f"memory.{ODD}=1"), ""),
        (("--memory", ODD), ""),
        (("--restore", ODD), ""),
        (("--answers", f"/{ODD}"), ""),
    ],
    ids=lambda value: " ".join(value).replace(ODD, "ODD") if isinstance(value, tuple) else "",
)
def test_wrong_flags_write_nothing_and_are_cleaned_for_the_terminal(
    onboard: Command, config_file: Path, flags: tuple[str, ...], named: str
) -> None:
    answer = onboard(*flags)
    assert (answer.code, answer.message) == (1 if flags == ("--restore", ODD) else 2, "")
    assert named in answer.err
    assert not {"\x1b", "\x07", "\x9b", "\u2028", "\x7f"} & set(answer.err)
    assert files_below(config_file.parent) == {config_file.name: CONFIG.encode()}


@pytest.mark.parametrize(
    ("raw", "named"),
    [
        (b'[memory]\nbackend = "sqlite"\n[memory]\nauto_save = true\n', "this key or table is set a second time"),
        (b'[memory]\nbackend = "sql\xffite"\n', "line 2, column 15: this byte is not UTF-8"),
        (b'[memory]\nauto_save = true\n[x]\nbot_token = "t-sekret\n', "line 4, column 22"),
        (b"schema_version = 4\n[memory]\n", "schema_version 4 is newer than this program knows"),
        (b'memory = "sqlite"\n', "memory is a text"),
    ],
)
def test_an_invalid_config_is_reported_and_not_changed(
    onboard: Command, config_file: Path, raw: bytes, named: str
) -> None:
    """One sentence names the position, another says what to do."""
    config_file.write_bytes(raw)
    answer = onboard("--set", "memory.auto_save=false", "--json")
    assert (answer.code, answer.message) == (2, "")
    assert named in answer.err
    assert len(answer.err.splitlines()) == 2, answer.err
    assert "--restore" not in answer.err, "there is no backup"
    assert files_below(config_file.parent) == {config_file.name: raw}


def test_a_user_without_a_home_folder_may_give_the_config_dir(config_file: Path) -> None:
    code = (
        "import os, pathlib, sys\n"
        "def nowhere(): raise RuntimeError('no home')\n"
        "pathlib.Path.home = nowhere\n"
        "import zeroclaw_tui.cli.main as main\n"
        "sys.exit(main.zeroclaw())"
    )
    environment = {name: value for name, value in os.environ.items() if name != "HOME"}
    command = [sys.executable, "-c", code, "onboard", "--dry-run"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no home directory" in done.stderr
    assert "--config-dir" in done.stderr
    command += ["--config-dir", str(config_file.parent)]
    assert subprocess.run(command, capture_output=True, env=environment, timeout=60).returncode == 0


def test_a_path_with_odd_characters_is_printed_quoted_for_the_shell(run: Command, tmp_path: Path) -> None:
    folder = tmp_path / "my agent's\n\x1b[31m place ü"
    folder.mkdir()
    (folder / "config.toml").write_text(CONFIG)
    answer = run("onboard", "--config-dir", str(folder), "--set", "auto_save=false", "--no-test")
    assert (answer.code, "\x1b" in answer.out) == (0, False), answer.err
    [command] = [line for line in answer.out.splitlines() if "--restore" in line]
    typed = command.strip().replace("zeroclaw onboard", 'printf "<%s>"')
    shell = subprocess.run(["bash", "-c", typed], capture_output=True, check=True)
    assert f"<{folder}>" in os.fsdecode(shell.stdout)
    back = run("onboard", "--config-dir", str(folder), "--restore", "latest", "--yes")
    assert (back.code, "\x1b" in back.out) == (0, False)
    assert (folder / "config.toml").read_text() == CONFIG


@pytest.fixture
def closed_url() -> Iterator[str]:
    """A URL with a port of this machine that is bound but not listening."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield DB_URL.replace(":1/", f":{taken.getsockname()[1]}/")


def refused(onboard: Command, config_file: Path, flags: tuple[str, ...], code: int) -> Any:
    """Run a command, check its exit code and that no file or folder changed, and return its answer."""
    before = sorted(config_file.parent.rglob("*")), files_below(config_file.parent)
    answer = onboard(*flags)
    assert answer.code == code, answer.err
    assert "✗ " not in answer.out, "the final error must be printed once"
    assert "Written" not in answer.out
    assert "Nothing was written." in answer.err
    assert "Pass --no-test to write anyway." in answer.err
    assert len(answer.err.splitlines()) == 2, answer.err
    message = onboard(*flags, "--json")
    assert (message.code, message.err) == (code, answer.err)
    assert (message.json["written"], message.json["backup"]) == (False, None)
    [found] = [test for test in message.json["tests"] if test["verdict"] == "bad"]
    assert found["sentence"].rstrip(".") in answer.err
    assert (sorted(config_file.parent.rglob("*")), files_below(config_file.parent)) == before
    return answer


def test_a_wrong_dimension_error_names_the_flag_that_corrects_it(onboard: Command, config_file: Path) -> None:
    config_file.write_text('schema_version = 3\n[memory]\nbackend = "sqlite.default"\nauto_save = true\n')
    with serving(embeddings(768, "key-sekret")) as endpoint:
        provider = f"memory.embedding_provider=custom:{endpoint.base}"
        flags = ("--set", provider, "--set", "memory.embedding_api_key=key-sekret")
        message = refused(onboard, config_file, flags, 2).err
        assert "Pass --set memory.embedding_dimensions=768 to fix it." in message
        answer = onboard(*flags, "--set", "memory.embedding_dimensions=768")
    assert answer.code == 0, answer.err
    assert "sekret" not in config_file.read_text()


def test_a_weight_can_be_changed_while_the_database_is_down(
    onboard: Command, config_file: Path, closed_url: str
) -> None:
    """Only changed settings are tested."""
    flags = ("--memory", "postgres", "--set", closed_url)
    refused(onboard, config_file, flags, 3)
    assert onboard(*flags, "--no-test").code == 0
    assert "enc2:" in config_file.read_text()
    answer = onboard("--set", "memory.vector_weight=0.6", "--json")
    assert (answer.code, answer.json["tests"], answer.json["written"]) == (0, [], True)
