"""What `zeroclaw onboard` cannot or will not do: one sentence, an exit code, nothing written, no secret."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_onboard_samples import CONFIG, POSTGRES_URL
from support.commands import Command


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port of this machine that is taken, but on which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (("--memory", "redis"), "redis"),
        (("--set", "memory.vector_wieght=0.5"), "vector_weight"),
        (("--answers", "/nowhere/answers.toml"), "/nowhere/answers.toml"),
    ],
)
def test_wrong_answers(onboard: Command, config_file: Path, flags: tuple[str, ...], named: str) -> None:
    answer = onboard(*flags)
    assert (answer.code, answer.out) == (2, ""), answer.out
    assert named in answer.err
    assert config_file.read_text() == CONFIG
    assert not (config_file.parent / "zeroclaw-tui").exists()


TABLE_TWICE = '[memory]\nbackend = "sqlite"\n[memory]\nauto_save = true\n'


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (TABLE_TWICE.encode(), "this key or table is set a second time"),
        (b'[memory]\nbackend = "sql\xffite"\n', "line 2, column 15: this byte is not UTF-8"),
        (b'[memory]\nauto_save = true\n[x]\nbot_token = "t-sekret\n', "line 4, column 22"),
        (b"schema_version = 4\n[memory]\n", "schema_version 4 is newer than this program knows"),
        (b'memory = "sqlite"\n', "memory is a text"),
    ],
)
def test_a_config_that_must_not_be_touched(onboard: Command, config_dir: Path, text: bytes, named: str) -> None:
    """One sentence with the place, and one with what to do."""
    config_dir.mkdir()
    (config_dir / "config.toml").write_bytes(text)
    answer = onboard("--set", "memory.auto_save=false", "--json")
    assert (answer.code, answer.message) == (2, "")
    assert named in answer.err
    assert len(answer.err.splitlines()) == 2, answer.err
    assert "--restore" not in answer.err, "there is no backup"
    assert (config_dir / "config.toml").read_bytes() == text
    assert [path.name for path in config_dir.iterdir()] == ["config.toml"]


@pytest.mark.parametrize("option", ["--config-dir", "--workspace", "--answers"])
def test_an_unset_shell_variable_does_not_mean_the_folder_one_is_in(run: Any, tmp_path: Path, option: str) -> None:
    for arguments in (("onboard", option, ""), ("onboard", f"{option}=", "--memory", "sqlite", "--no-test")):
        answer = run(*arguments)
        assert (answer.code, answer.out) == (2, "")
        assert "is empty" in answer.err
    assert not Path("config.toml").exists()


def test_a_user_without_a_home_is_reported_and_may_name_the_place(config_file: Path) -> None:
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


ODD = "a\x1b[31mb\x07\u009b\n[memory]\nauto_save=false\u2028x\x7f"


def test_control_characters_are_written_nowhere_and_steer_nothing(onboard: Command, config_file: Path) -> None:
    for flags in (
        ("--set", f"memory.embedding_model={ODD}", "--no-test"),
        ("--set", f"memory.{ODD}=1"),
        ("--memory", ODD),
        ("--restore", ODD),
        ("--answers", f"/{ODD}"),
    ):
        refused = onboard(*flags)
        assert refused.code in (1, 2)
        assert not {"\x1b", "\x07", "\x9b", "\u2028", "\x7f"} & set(refused.out + refused.err)
    assert config_file.read_text() == CONFIG


def test_a_place_with_an_odd_name_is_shown_so_that_it_can_be_typed(onboard: Command, run: Any, tmp_path: Path) -> None:
    folder = tmp_path / "my agent's\n\x1b[31m place ü"
    folder.mkdir()
    (folder / "config.toml").write_text(CONFIG)
    answer = run("onboard", "--config-dir", str(folder), "--set", "auto_save=false", "--no-test")
    assert answer.code == 0, answer.err
    assert "\x1b" not in answer.out
    [command] = [line for line in answer.out.splitlines() if "--restore" in line]
    typed = command.strip().replace("zeroclaw onboard", 'printf "<%s>"')
    shell = subprocess.run(["bash", "-c", typed], capture_output=True, check=True)
    assert f"<{folder}>" in os.fsdecode(shell.stdout)
    back = run("onboard", "--config-dir", str(folder), "--restore", "latest", "--yes")
    assert back.code == 0
    assert "\x1b" not in back.out
    assert (folder / "config.toml").read_text() == CONFIG


def test_a_closed_port(onboard: Command, config_file: Path, closed_port: int) -> None:
    url = POSTGRES_URL.replace(":1/", f":{closed_port}/")
    flags = ("--memory", "postgres", "--set", f"storage.postgres.db_url={url}")
    answer = onboard(*flags)
    assert answer.code == 3
    assert "✗ " not in answer.out
    assert "Nothing was written." in answer.err
    assert "--no-test" in answer.err
    assert config_file.read_text() == CONFIG
    assert not (config_file.parent / ".secret_key").exists()

    shown = onboard(*flags, "--dry-run", "--json")
    assert shown.code == 3
    assert [(found["subject"], found["verdict"]) for found in shown.json["tests"]] == [("postgres", "bad")]
    assert shown.json["written"] is False

    written = onboard(*flags, "--no-test")
    assert written.code == 0
    assert "enc2:" in config_file.read_text()


def test_only_what_changes_is_tested(onboard: Command, config_file: Path, closed_port: int) -> None:
    """A database that is down does not keep anybody from changing a weight."""
    url = POSTGRES_URL.replace(":1/", f":{closed_port}/")
    assert onboard("--memory", "postgres", "--set", f"storage.postgres.db_url={url}", "--no-test").code == 0
    answer = onboard("--set", "memory.vector_weight=0.6", "--json")
    assert answer.code == 0
    assert (answer.json["tests"], answer.json["written"]) == ([], True)
