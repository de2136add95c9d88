"""Starting: what is loaded, what is refused without a terminal, and the completion scripts."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.bash_completion import completed
from support.terminal import Terminal

Run = Callable[..., Any]
HEAVY = {"textual", "questionary", "httpx", "tomlkit", "numpy", "shtab", "cryptography", "rich"}


def _loaded_by(install: Path, *arguments: str) -> set[str]:
    code = (
        "import sys, zeroclaw_tui.cli.main as main\n"
        f"sys.argv = ['zeroclaw', *{list(arguments)!r}]\n"
        "try: code = main.zeroclaw()\n"
        "except SystemExit as left: code = left.code\n"
        "print('LOADED', *sorted(sys.modules), sep='\\n', file=sys.stderr)\n"
        "sys.exit(code)"
    )
    environment = {**os.environ, "ZEROCLAW_CONFIG_DIR": str(install), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    return set(done.stderr.partition("LOADED\n")[2].split())


@pytest.mark.parametrize(
    "arguments",
    [
        ("memory", "list"), ("memory", "list", "--json"), ("memory", "get", "pet"), ("memory", "stats"),
        ("memory", "facets"), ("memory", "health"), ("memory", "recall", "rust"), ("memory", "--help"),
        ("memory", "store", "a", "b"), ("memory", "forget", "pet", "--yes"), ("memory", "trash", "list"),
    ],
)  # fmt: skip
def test_a_command_loads_nothing_it_does_not_use(install: Path, arguments: tuple[str, ...]) -> None:
    # What decides a recall is arithmetic over arrays.
    used = {"numpy"} if "recall" in arguments else set()
    assert not _loaded_by(install, *arguments) & (HEAVY - used)


@pytest.mark.parametrize("option", ["--help", "--version", "--print-completion=bash"])
def test_the_inspector_introduces_itself_without_textual(option: str) -> None:
    code = (
        "import sys, zeroclaw_tui.cli.main as main\n"
        f"sys.argv = ['zeroclaw-tui', {option!r}]\n"
        "try: main.inspector()\n"
        "except SystemExit as left: assert left.code == 0\n"
        "assert 'textual' not in sys.modules and 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_version_and_help(run: Run) -> None:
    assert run("--version", program="zeroclaw-tui").out == "zeroclaw-tui 0.1.0\n"
    shown = run("--help", program="zeroclaw-tui").out
    assert all(word in shown for word in ("PATH", "--demo", "--read-only", "--profile"))


def test_python_dash_m_is_the_inspector() -> None:
    done = subprocess.run([sys.executable, "-m", "zeroclaw_tui", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "zeroclaw-tui 0.1.0\n")


@pytest.mark.parametrize("arguments", [(), ("--demo",), ("/nowhere",)])
def test_without_a_terminal_the_inspector_names_the_commands(run: Run, arguments: tuple[str, ...]) -> None:
    answer = run(*arguments, program="zeroclaw-tui")
    assert (answer.code, answer.out) == (2, "")
    assert "zeroclaw memory" in answer.err


def test_the_demo_takes_no_other_place(run: Run) -> None:
    answer = run("--demo", "/somewhere", program="zeroclaw-tui")
    assert answer.code == 2
    assert "--demo" in answer.err


@pytest.mark.parametrize("end", ["q", "SIGTERM", "SIGHUP"])
def test_the_demo_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: Callable[[str], str], end: str
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    with Terminal([script("zeroclaw-tui"), "--demo"], columns=100, lines=30) as screen:
        screen.wait_for("210 memories")
        assert [path.name.startswith("zeroclaw-tui-demo-") for path in folder.iterdir()] == [True]
        if end == "q":
            screen.press("q")
        else:
            screen._child.kill(getattr(signal, end))
        assert screen.wait_exit() == (0 if end == "q" else -getattr(signal, end))
    assert list(folder.iterdir()) == []


def test_colour_comes_on_a_terminal_and_cleaned_text_too(install: Path, script: Callable[[str], str]) -> None:
    command = [script("zeroclaw"), "memory", "get", "pet", "--config-dir", str(install)]
    with Terminal(command, columns=100) as screen:
        assert screen.wait_exit() == 0
        assert "Cat named Mio" in screen.text
        assert b"\x1b[1mpet\x1b[0m" in screen.raw


@pytest.mark.parametrize("program", ["zeroclaw", "zeroclaw-tui"])
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_scripts_are_valid(run: Run, program: str, shell: str, tmp_path: Path) -> None:
    answer = run("--print-completion", shell, program=program)
    assert answer.code == 0
    assert "--config-dir" in answer.out
    interpreter = shutil.which(shell)
    if interpreter is None:
        assert shell == "zsh"
        assert answer.out.startswith(f"#compdef {program}\n")
        return
    file = tmp_path / "completion"
    file.write_text(answer.out)
    subprocess.run([interpreter, "-n", str(file)], check=True)


def test_bash_completes_verbs_and_options(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "completion"
    file.write_text(run("--print-completion", "bash").out)
    assert {"list", "get", "recall"} <= completed(file, "zeroclaw", "memory", "")
    assert "--older-than" in completed(file, "zeroclaw", "memory", "list", "--o")
    assert "store" in completed(file, "zeroclaw", "memory", "recall", "--layer", "")
    assert {"store", "edit", "forget", "purge", "clear", "undo", "trash"} <= completed(file, "zeroclaw", "memory", "")
    assert "--clean-copies" in completed(file, "zeroclaw", "memory", "purge", "--c")
    assert {"list", "restore", "empty", "history"} <= completed(file, "zeroclaw", "memory", "trash", "")
    assert "--every-store" in completed(file, "zeroclaw", "memory", "trash", "list", "--e")


def test_an_unknown_shell(run: Run) -> None:
    answer = run("--print-completion", "fish")
    assert answer.code == 2
    assert "bash" in answer.err
