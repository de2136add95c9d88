"""`zeroclaw onboard` in a terminal: the questions begin, and ctrl-c leaves the file as it was."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from onboard_samples import CONFIG
from support.terminal import Terminal

COMMAND = [str(Path(sys.executable).parent / "zeroclaw"), "onboard"]


@pytest.mark.parametrize("flags", [(), ("--interactive", "--set", "memory.auto_save=false")])
def test_the_questions_begin_and_ctrl_c_ends_them(config_file: Path, flags: tuple[str, ...]) -> None:
    with Terminal([*COMMAND, "--config-dir", str(config_file.parent), *flags], columns=80, lines=24) as screen:
        screen.wait_for("Which settings do you want to configure?")
        screen.press("ctrl+c")
        assert screen.wait_exit() == 130
        assert "Nothing was changed" in screen.text
    assert config_file.read_text() == CONFIG


def test_a_command_to_copy_stays_one_line_however_narrow_the_terminal_is(config_file: Path) -> None:
    with Terminal(
        [*COMMAND, "--config-dir", str(config_file.parent), "--set", "auto_save=false", "--no-test"], columns=40
    ) as screen:
        assert screen.wait_exit() == 0
        message = screen.raw.decode()
    assert f"zeroclaw onboard --config-dir {config_file.parent} --restore 2" in message
    with Terminal([*COMMAND, "--config-dir", str(config_file.parent), "--restore", "latest", "--yes"]) as screen:
        assert screen.wait_exit() == 0
        message = screen.raw.decode()
    assert f"zeroclaw onboard --config-dir {config_file.parent} --restore 2" in message


def test_flags_alone_never_ask_in_a_terminal(config_file: Path) -> None:
    flags = ("--set", "auto_save=false", "--dry-run")
    with Terminal([*COMMAND, "--config-dir", str(config_file.parent), *flags], columns=120, lines=40) as screen:
        assert screen.wait_exit() == 0
        assert "+ auto_save = false" in screen.text
        assert b"\x1b[32m+ auto_save = false\x1b[0m" in screen.raw
        assert b"\x1b[31m- auto_save = true\x1b[0m" in screen.raw
