"""Find the real zeroclaw on PATH."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from zeroclaw_tui.config.real_binary import our_command, real_zeroclaw, runnable, runnable_command, zeroclaw_version


def put(folder: Path, text: str, mode: int = 0o755) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / "zeroclaw"
    file.write_text(text)
    file.chmod(mode)
    return file


def path_of(*folders: Path | str) -> dict[str, str]:
    return {"PATH": os.pathsep.join(map(str, folders))}


def test_the_first_real_zeroclaw_is_used(tmp_path: Path) -> None:
    first = put(tmp_path / "a", "\x7fELF zeroclaw_tui is not looked for in a program")
    put(tmp_path / "b", "#!/bin/sh\n")
    assert real_zeroclaw(path_of(tmp_path / "none", tmp_path / "a", tmp_path / "b")) == str(first)


def test_our_script_of_another_environment_is_skipped(tmp_path: Path) -> None:
    put(tmp_path / "a", "#!/usr/bin/python3\nfrom zeroclaw_tui.cli.main import zeroclaw\n")
    real = put(tmp_path / "b", "#!/bin/sh\n")
    assert real_zeroclaw(path_of(tmp_path / "a", tmp_path / "b")) == str(real)


def test_the_running_script_is_skipped_by_its_real_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = put(tmp_path / "a", "#!/bin/sh\nexec something\n")
    (tmp_path / "b").mkdir()
    (tmp_path / "b/zeroclaw").symlink_to(ours)
    monkeypatch.setattr(sys, "argv", [str(ours)])
    assert real_zeroclaw(path_of(tmp_path / "a", tmp_path / "b")) is None


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Our scripts in a `.venv/bin`, next to the Python that runs this program."""
    scripts = tmp_path / "clone" / ".venv" / "bin"
    scripts.mkdir(parents=True)
    for name in ("zeroclaw", "zeroclaw-tui"):
        (scripts / name).write_text("#!/usr/bin/python3\nfrom zeroclaw_tui.cli import main\n")
        (scripts / name).chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(scripts / "python"))
    return scripts


def other_zeroclaw(folder: Path) -> Path:
    """Create another program of that name."""
    folder.mkdir()
    (folder / "zeroclaw").write_text("#!/bin/sh\n")
    (folder / "zeroclaw").chmod(0o755)
    return folder


def test_a_command_is_a_bare_name_if_path_finds_this_program(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{installed}:{other_zeroclaw(tmp_path / 'other')}")
    assert our_command("zeroclaw") == "zeroclaw"
    assert our_command("zeroclaw-tui") == "zeroclaw-tui"


def test_a_command_is_a_full_path_if_path_finds_another_program(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{other_zeroclaw(tmp_path / 'other')}:{installed}")
    assert our_command("zeroclaw") == str(installed / "zeroclaw")
    assert our_command("zeroclaw-tui") == "zeroclaw-tui"
    monkeypatch.setenv("PATH", "/nowhere")
    assert our_command("zeroclaw-tui") == str(installed / "zeroclaw-tui")


def test_commands_in_a_text_are_rewritten_so_that_they_run(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    text = "Run `zeroclaw memory undo` or `zeroclaw-tui`; zeroclaw itself is `zeroclaw`, as is `zeroclaw daemon`."
    assert runnable(text) == (
        f"Run `{installed}/zeroclaw memory undo` or `{installed}/zeroclaw-tui`; zeroclaw itself is `zeroclaw`, as is "
        "`zeroclaw daemon`."
    )
    assert runnable_command("zeroclaw onboard --restore x") == f"{installed}/zeroclaw onboard --restore x"
    assert runnable_command("ZEROCLAW_CONFIG_DIR=/x zeroclaw --real onboard") == (
        f"ZEROCLAW_CONFIG_DIR=/x {installed}/zeroclaw --real onboard"
    )
    assert runnable_command("export ZEROCLAW_LUCID_CMD='zeroclaw'") == "export ZEROCLAW_LUCID_CMD='zeroclaw'"


@pytest.mark.parametrize(
    ("script", "version"),
    [
        ("echo zeroclaw 0.6.1", "0.6.1"),
        ("echo v0.8.4-beta-1", "0.8.4"),
        ("echo hello", None),
        ("sleep 5; echo zeroclaw 0.7.5", None),
    ],
    ids=["a version", "a beta", "no version", "no answer in time"],
)
def test_the_installed_version_is_read_from_the_binary(tmp_path: Path, script: str, version: str | None) -> None:
    assert zeroclaw_version(str(put(tmp_path / "bin", f"#!/bin/sh\n{script}\n")), seconds=2) == version


def test_a_binary_that_cannot_be_started_has_no_version(tmp_path: Path) -> None:
    assert zeroclaw_version(str(tmp_path / "zeroclaw")) is None
