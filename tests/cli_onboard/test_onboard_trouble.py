"""What `zeroclaw onboard` cannot or will not do: one sentence, an exit code, nothing written, no secret."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_onboard_samples import CONFIG, POSTGRES_URL

from zeroclaw_tui.cli import main
from zeroclaw_tui.cli import onboard as command

Onboard = Any
NOBODY = 65534


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port of this machine that is taken, but on which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (("--memory", "postgress"), "postgres"),
        (("--memory", "redis"), "redis"),
        (("--memory", "sqlite.main"), "sqlite"),
        (("--set", "memory.vector_wieght=0.5"), "vector_weight"),
        (("--set", "memory.vector_weight=heavy"), "vector_weight"),
        (("--set", "memory.vector_weight"), "vector_weight"),
        (("--answers", "/nowhere/answers.toml"), "/nowhere/answers.toml"),
    ],
)
def test_wrong_answers(onboard: Onboard, config_file: Path, flags: tuple[str, ...], named: str) -> None:
    answer = onboard(*flags)
    assert (answer.code, answer.out) == (2, ""), answer.out
    assert named in answer.err
    assert config_file.read_text() == CONFIG
    assert not (config_file.parent / "zeroclaw-tui").exists()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('default_temperature = 0.7\n[memory]\nbackend = "sqlite\n', "line 3"),
        ('[memory]\nbackend = "sqlite"\n[memory]\nauto_save = true\n', "line 3"),
        ("schema_version = 4\n[memory]\n", "schema_version"),
        ('schema_version = "3"\n', "schema_version"),
        ('memory = "sqlite"\n', "memory"),
        ("[memory]\nauto_save = 1\n", "auto_save"),
    ],
)
def test_a_config_that_must_not_be_touched(onboard: Onboard, config_dir: Path, text: str, named: str) -> None:
    config_dir.mkdir()
    (config_dir / "config.toml").write_text(text)
    answer = onboard("--set", "memory.auto_save=false", "--json")
    assert (answer.code, answer.out) == (2, "")
    assert named in answer.err
    assert (config_dir / "config.toml").read_text() == text


def test_a_folder_and_a_link_to_nothing_in_its_place(onboard: Onboard, config_dir: Path) -> None:
    place = config_dir / "config.toml"
    place.mkdir(parents=True)
    folder = onboard("--memory", "sqlite")
    assert (folder.code, folder.out) == (2, "")
    assert str(place) in folder.err
    place.rmdir()
    place.symlink_to(config_dir / "gone.toml")
    link = onboard("--memory", "sqlite")
    assert (link.code, link.out) == (2, "")
    assert str(place) in link.err
    assert link.err != folder.err
    assert place.is_symlink()
    assert not place.exists()


def test_a_misspelt_key_in_the_file_is_told_and_kept(onboard: Onboard, config_file: Path) -> None:
    config_file.write_text(CONFIG.replace("vector_weight", "vector_wieght"))
    answer = onboard("--set", "auto_save=false", "--no-test")
    assert answer.code == 0
    assert "vector_wieght" in answer.err
    assert "did you mean vector_weight?" in answer.err
    assert "vector_wieght = 0.7" in config_file.read_text()


def test_a_closed_port(onboard: Onboard, config_file: Path, closed_port: int) -> None:
    url = POSTGRES_URL.replace(":1/", f":{closed_port}/")
    flags = ("--memory", "postgres", "--set", f"storage.postgres.db_url={url}")
    answer = onboard(*flags)
    assert answer.code == 3
    assert "✗ " in answer.out
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


def test_only_what_changes_is_tested(onboard: Onboard, config_file: Path, closed_port: int) -> None:
    """A database that is down does not keep anybody from changing a weight."""
    url = POSTGRES_URL.replace(":1/", f":{closed_port}/")
    assert onboard("--memory", "postgres", "--set", f"storage.postgres.db_url={url}", "--no-test").code == 0
    answer = onboard("--set", "memory.vector_weight=0.6", "--json")
    assert answer.code == 0
    assert (answer.json["tests"], answer.json["written"]) == ([], True)


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A folder that every user can enter."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.parametrize(("owns_file", "exit_code"), [(False, 1), (True, 3)])
def test_a_user_who_may_not_write(reachable: Path, owns_file: bool, exit_code: int) -> None:
    """The file of somebody else is refused; a file of one's own in a folder that cannot be written is told too."""
    file = reachable / "zc" / "config.toml"
    file.parent.mkdir()
    file.write_text(CONFIG)
    file.chmod(0o644 if owns_file else 0o444)
    if owns_file and os.getuid() == 0:
        os.chown(file, NOBODY, NOBODY)
    file.parent.chmod(0o555)
    arguments = ["onboard", "--config-dir", str(file.parent), "--set", "auto_save=false", "--no-test"]
    # The other user may not be able to read Python's own folder: what a dry run loads is there already.
    code = (
        "import contextlib, io, os, sys\n"
        "import zeroclaw_tui.cli.main as main\n"
        f"sys.argv = ['zeroclaw', *{arguments!r}, '--dry-run']\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):\n"
        "    assert main.zeroclaw() == 0\n"
        f"os.getuid() or (os.setgroups([]), os.setgid({NOBODY}), os.setuid({NOBODY}))\n"
        f"sys.argv = ['zeroclaw', *{arguments!r}]\n"
        "sys.exit(main.zeroclaw())"
    )
    environment = {**os.environ, "HOME": str(reachable), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=60)
    assert (done.returncode, done.stdout) == (exit_code, ""), done.stderr
    assert str(file.parent) in done.stderr
    assert "Traceback" not in done.stderr
    assert "fault of the program" not in done.stderr
    assert file.read_text() == CONFIG


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run `zeroclaw` in this process; its exit code and what it wrote to stderr."""
    for name in ("excepthook",):
        monkeypatch.setattr(sys, name, getattr(sys, name))
    import threading

    monkeypatch.setattr(threading, "excepthook", threading.excepthook)

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["zeroclaw", *arguments])
        code = main.zeroclaw()
        return code, capsys.readouterr().err

    return run


def test_a_file_that_changed_meanwhile(monkeypatch: pytest.MonkeyPatch, in_process: Any, config_file: Path) -> None:
    planned = command.make_plan

    def plan_then_somebody_writes(answers: Any) -> Any:
        plan = planned(answers)
        config_file.write_text(CONFIG + "# somebody else was here\n")
        return plan

    monkeypatch.setattr(command, "make_plan", plan_then_somebody_writes)
    code, told = in_process("onboard", "--config-dir", str(config_file.parent), "--set", "auto_save=false", "--no-test")
    assert code == 1
    assert str(config_file) in told
    assert config_file.read_text() == CONFIG + "# somebody else was here\n"


def test_an_input_that_ends_in_the_middle_of_the_questions(
    monkeypatch: pytest.MonkeyPatch, in_process: Any, config_file: Path
) -> None:
    """A terminal can say that it is one and have nobody at it."""
    from zeroclaw_tui.onboard import wizard
    from zeroclaw_tui.onboard.terminal import prompts

    class Nobody:
        def isatty(self) -> bool:
            return True

    def ended(*_: Any) -> Any:
        raise EOFError

    monkeypatch.setattr(sys, "stdin", Nobody())
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(prompts, "terminal_asker", lambda: None)
    monkeypatch.setattr(wizard, "run_wizard", ended)
    code, told = in_process("onboard", "--config-dir", str(config_file.parent))
    assert code == 2
    assert all(option in told for option in ("--defaults", "--set", "--answers"))
    assert config_file.read_text() == CONFIG


def test_ctrl_c_while_a_test_runs(monkeypatch: pytest.MonkeyPatch, in_process: Any, config_dir: Path) -> None:
    async def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "run_probe", interrupted)
    code, _ = in_process("onboard", "--config-dir", str(config_dir), "--memory", "sqlite")
    assert code == 130
    assert not config_dir.exists()


def test_the_inspector_opens_where_the_wizard_ended(
    monkeypatch: pytest.MonkeyPatch, in_process: Any, config_dir: Path
) -> None:
    from zeroclaw_tui.onboard import wizard
    from zeroclaw_tui.onboard.terminal import prompts
    from zeroclaw_tui.tui import app

    asked: list[wizard.Request] = []
    opened: list[Any] = []

    def walked(asker: Any, request: wizard.Request, environ: Any) -> wizard.Ended:
        asked.append(request)
        return wizard.Ended(0, inspect=config_dir)

    class Person:
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Person())
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(prompts, "terminal_asker", lambda: None)
    monkeypatch.setattr(wizard, "run_wizard", walked)
    monkeypatch.setattr(app, "run_inspector", lambda options: opened.append(options) or 0)
    code, _ = in_process(
        "onboard", "--interactive", "--memory", "lucid", "--set", "a=b", "--no-test", "--config-dir", str(config_dir)
    )
    assert code == 0
    assert asked == [
        wizard.Request(config_dir=config_dir, memory="lucid", assignments=("a=b",), tests=False, dry_run=False)
    ]
    assert [options.config_dir for options in opened] == [config_dir]
