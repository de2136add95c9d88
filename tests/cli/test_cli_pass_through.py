"""Other commands are passed to the real zeroclaw with the same arguments, never in a loop."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from support.commands import Command

from zeroclaw_tui.config.real_binary import PASS_THROUGH_MARKER

SYSTEM = "/usr/bin:/bin"


@pytest.mark.parametrize(
    "arguments",
    [
        ("agent", "-m", "hello  world"), ("--help",), ("--version",), (),
        ("status", "--json", ""), ("--", "memory"), ("--config-dir", "/tmp/x", "agent", "-x", "a"),
        ("completions", "bash"), ("-x", "\n"),
        ("onboard", "--channels-only"), ("onboard", "--reinit"), ("onboard", "--force", "--interactive"),
        ("onboard", "--api-key", "sk-1", "--provider", "openrouter", "--memory", "sqlite"), ("onboard", "memory"),
        ("onboard", "channels", "--dry-run"), ("onboard", "--model=x", "--json"), ("onboard", "--api-key", ""),
        ("onboard", "--help", "--force"), ("onboard", "--"), ("onboard", "--restore", "latest", "extra"),
        ("--config-dir", "/tmp/x y", "onboard", "--channels-only"), ("--backend", "sqlite", "onboard"),
        ("--json", "--yes", "onboard", "--force", "a b", "*", "ü\\n", "$HOME", "'"),
    ],
)  # fmt: skip
def test_other_commands_are_passed_on_unchanged(run: Command, fake: str, arguments: tuple[str, ...]) -> None:
    answer = run(*arguments, PATH=fake)
    assert answer.out == "".join(f"<{argument}>\n" for argument in arguments)
    assert (answer.code, answer.err) == (7, "")


def test_the_option_real_always_passes_on(run: Command, fake: str) -> None:
    assert run("--real", "onboard", "--dry-run", PATH=fake).out == "<onboard>\n<--dry-run>\n"
    assert run("--real", "memory", "list", "--json", PATH=fake).out == "<memory>\n<list>\n<--json>\n"
    assert run("--real", "memory", "reindex", "--yes", PATH=fake).out == "<memory>\n<reindex>\n<--yes>\n"


def test_memory_commands_run_here_even_with_options_in_front(run: Command, fake: str, install: Path) -> None:
    answer = run("--config-dir", str(install), "memory", "get", "pet", "--profile", "0.7.5", PATH=fake)
    assert answer.out.startswith("Key:       pet\n")


def test_our_own_script_on_path_is_not_mistaken_for_the_real_one(
    run: Command, fake: str, tmp_path: Path, script: Callable[[str], str]
) -> None:
    folder = tmp_path / "ours"
    folder.mkdir()
    (folder / "zeroclaw").symlink_to(script("zeroclaw"))
    own = str(Path(script("zeroclaw")).parent)
    assert run("status", PATH=f"{folder}:{own}:{fake}").out == "<status>\n"
    alone = run("status", PATH=f"{folder}:{own}:{SYSTEM}")
    assert alone.code == 127


def test_without_a_real_zeroclaw_other_commands_are_refused(run: Command) -> None:
    answer = run("status")
    assert (answer.code, answer.out) == (127, "")
    assert answer.err.startswith("zeroclaw: This command belongs to the real zeroclaw, which is not on PATH.")
    assert run("--real", "memory", "list").code == 127


def test_without_a_real_zeroclaw_help_and_version_are_ours(run: Command) -> None:
    shown = run("--help")
    assert shown.code == 0
    assert "memory" in shown.out
    assert "--real" in shown.out
    assert "--version" in shown.out
    assert run("--version").out.startswith("zeroclaw-tui ")


def test_an_endless_loop_is_stopped(run: Command, tmp_path: Path, script: Callable[[str], str]) -> None:
    """A wrapper pretends to be the real one but calls this script again."""
    folder = tmp_path / "loop"
    folder.mkdir()
    wrapper = folder / "zeroclaw"
    wrapper.write_text(f'#!/bin/sh\nexec {script("zeroclaw")} "$@"\n')
    wrapper.chmod(0o755)
    answer = run("status", PATH=f"{folder}:{SYSTEM}")
    assert (answer.code, answer.out) == (127, "")
    assert "passed the command back" in answer.err
    assert run("status", **{PASS_THROUGH_MARKER: "3"}).code == 127


def test_a_real_zeroclaw_that_cannot_start_is_reported(run: Command, tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / "zeroclaw").write_bytes(b"\x7fELFnothing")
    os.chmod(folder / "zeroclaw", 0o755)
    answer = run("status", PATH=f"{folder}:{SYSTEM}")
    assert answer.code == 127
    assert "Cannot start" in answer.err
    assert "Traceback" not in answer.err
