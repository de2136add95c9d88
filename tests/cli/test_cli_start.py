"""Start: loaded modules, refusals without a terminal, and completion scripts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.commands import Command
from support.http_endpoints import always, self_signed, serving
from support.terminal import Terminal

from zeroclaw_tui.cli.options import SHELLS


def _loaded_by(install: Path, program: str, *arguments: str) -> set[str]:
    code = (
        "import sys, zeroclaw_tui.cli.main as main\n"
        f"sys.argv = [{program!r}, *{list(arguments)!r}]\n"
        f"try: code = main.{'inspector' if program == 'zeroclaw-tui' else 'zeroclaw'}()\n"
        "except SystemExit as left: code = left.code\n"
        "print('LOADED', *sorted(sys.modules), sep='\\n', file=sys.stderr)\n"
        "sys.exit(code)"
    )
    environment = {**os.environ, "ZEROCLAW_CONFIG_DIR": str(install), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    return set(done.stderr.partition("LOADED\n")[2].split())


HEAVY = {"textual", "questionary", "prompt_toolkit", "httpx", "numpy", "cryptography", "rich", "asyncpg"}
WRITES = {
    "zeroclaw_tui.backends.fallback", "zeroclaw_tui.backends.sqlite.write", "zeroclaw_tui.curation.changes",
    "zeroclaw_tui.curation.journal", "zeroclaw_tui.scoring.decide", "zeroclaw_tui.backends.postgres.store",
    "zeroclaw_tui.memory.change",
}  # fmt: skip
"""Modules that write or rank."""
NOT_FOR_RECALL = HEAVY - {"numpy"} | {"numpy.ma", "difflib", "shutil", "zeroclaw_tui.memory.change"}
"""Modules that a recall does not need: it computes only with arrays."""
STORES = {"asyncio", "dataclasses", "sqlite3", "tomllib._parser", "json", "zeroclaw_tui.curation.library"}


@pytest.mark.parametrize(
    ("command", "never"),
    [
        ("zeroclaw memory list", HEAVY | WRITES | {"_ssl", "dis", "shutil"}),
        ("zeroclaw memory list --json", HEAVY),
        ("zeroclaw memory get pet", HEAVY | WRITES),
        ("zeroclaw memory stats", HEAVY | WRITES),
        ("zeroclaw memory health", HEAVY),
        ("zeroclaw memory recall rust", NOT_FOR_RECALL),
        ("zeroclaw memory store a b", HEAVY),
        ("zeroclaw memory forget pet --yes", HEAVY),
        ("zeroclaw memory trash list", HEAVY),
        ("zeroclaw onboard --defaults --dry-run", HEAVY),
        ("zeroclaw --help", STORES),
        ("zeroclaw memory", STORES),
        ("zeroclaw memory --help", HEAVY | STORES),
        ("zeroclaw memory list --help", STORES),
        ("zeroclaw-tui --help", {"textual", "numpy"}),
        ("zeroclaw-tui --version", {"textual", "numpy"}),
        ("zeroclaw-tui --print-completion=bash", {"textual", "numpy"}),
    ],
)
def test_a_command_loads_only_the_modules_it_uses(install: Path, command: str, never: set[str]) -> None:
    assert not _loaded_by(install, *command.split()) & never


def test_requests_to_a_server_after_a_list_have_tls(install: Path, tmp_path: Path) -> None:
    certificate = self_signed(tmp_path)
    code = (
        "import sys, zeroclaw_tui.cli.main as main\n"
        "sys.argv = ['zeroclaw', 'memory', 'list']\n"
        "assert main.zeroclaw() == 0\n"
        "import asyncio, inspect, ssl\n"
        "async def ask(port):\n"
        "    trusted = ssl.create_default_context(cafile=sys.stdin.readline().strip())\n"
        "    reader, writer = await asyncio.open_connection('127.0.0.1', port, ssl=trusted)\n"
        "    writer.write(b'GET / HTTP/1.0\\r\\n\\r\\n')\n"
        "    assert b' 200 ' in await reader.readline()\n"
        "    writer.close()\n"
        "assert inspect.iscoroutinefunction(ask)\n"
        "asyncio.run(ask(int(sys.stdin.readline())))"
    )
    with serving(always(200, {}), certificate) as endpoint:
        port = endpoint.server_address[1]
        subprocess.run(
            [sys.executable, "-c", code],
            input=f"{port}\n{certificate[0]}\n",
            text=True,
            check=True,
            capture_output=True,
            env={**os.environ, "ZEROCLAW_CONFIG_DIR": str(install), "PATH": "/usr/bin:/bin"},
        )


def test_python_dash_m_starts_the_inspector() -> None:
    done = subprocess.run([sys.executable, "-m", "zeroclaw_tui", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "zeroclaw-tui 0.4.0\n")


@pytest.mark.parametrize("arguments", [(), ("--demo",), ("/nowhere",)])
def test_without_a_terminal_the_inspector_names_the_commands(run: Command, arguments: tuple[str, ...]) -> None:
    answer = run(*arguments, program="zeroclaw-tui")
    assert (answer.code, answer.out) == (2, "")
    assert "zeroclaw memory" in answer.err


def test_the_demo_accepts_no_path(run: Command) -> None:
    answer = run("--demo", "/somewhere", program="zeroclaw-tui")
    assert answer.code == 2
    assert "--demo" in answer.err


def test_the_demo_leaves_no_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: Callable[[str], str]
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    with Terminal([script("zeroclaw-tui"), "--demo"], columns=100, lines=30) as screen:
        screen.wait_for("210 memories")
        assert [path.name.startswith("zeroclaw-tui-demo-") for path in folder.iterdir()] == [True]
        screen.press("q")
        assert screen.wait_exit() == 0
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("program", ["zeroclaw", "zeroclaw-tui"])
@pytest.mark.parametrize("shell", SHELLS)
def test_completion_scripts_are_valid(run: Command, program: str, shell: str, tmp_path: Path) -> None:
    answer = run("--print-completion", shell, program=program)
    assert (answer.code, answer.err) == (0, "")
    file = tmp_path / "completion"
    file.write_text(answer.out)
    subprocess.run([_interpreter(shell), "-n", str(file)], check=True)


def _interpreter(shell: str) -> str:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"no {shell} on this machine")
    return found


STARTS = {
    # A prompt of one character, without the user's own startup files.
    "bash": (["bash", "--norc", "-i"], "PS1='% '; bind 'set show-all-if-ambiguous on'; source {file}"),
    "zsh": (["zsh", "-f", "-i"], "PS1='% '; fpath=({file.parent} $fpath); autoload -U compinit && compinit -D -u"),
}


@pytest.mark.parametrize("shell", SHELLS)
def test_the_tab_key_completes_in_the_shell(run: Command, install: Path, tmp_path: Path, shell: str) -> None:
    program, start = STARTS[shell]
    _interpreter(shell)
    file = tmp_path / "completions" / "_zeroclaw"
    file.parent.mkdir()
    file.write_text(run("--print-completion", shell).out)
    variables = {
        "HOME": str(tmp_path), "ZEROCLAW_CONFIG_DIR": str(install),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }  # fmt: skip
    with Terminal(program, columns=100, variables=variables) as screen:
        screen.press(start.format(file=file), "enter", "echo rea''dy", "enter")
        screen.wait_for("ready")
        screen.press("zeroclaw memory trash ", "tab")
        screen.wait_for("restore", "empty", "list")
        screen.press("ctrl+c", "zeroclaw memory sta", "tab", "--cat", "tab", "core", "enter")
        screen.wait_for("zeroclaw memory stats --category core", "Total:    6")
        screen.press("zeroclaw onboard --memory ", "tab")
        screen.wait_for("postgres", "lucid", "markdown", "qdrant", "none")


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [(("list",), False), (("get", "food"), False), (("recall", "x"), True)],
)
def test_the_real_zeroclaw_is_run_for_its_version_only_if_needed(
    run: Command, install: Path, tmp_path: Path, arguments: tuple[str, ...], asked: bool
) -> None:
    was_asked, real = tmp_path / "asked", tmp_path / "bin" / "zeroclaw"
    real.parent.mkdir()
    real.write_text(f"#!/bin/sh\n: > {was_asked}\necho zeroclaw 0.7.5\n")
    real.chmod(0o755)
    run("memory", *arguments, ZEROCLAW_CONFIG_DIR=str(install), PATH=f"{real.parent}:/usr/bin:/bin")
    assert was_asked.exists() == asked
