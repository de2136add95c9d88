"""The README tells the truth about keys, commands and options."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from zeroclaw_tui.cli.verbs import every_verb, memory_parser, verb_parser

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")


def test_every_key_of_the_table_is_bound_and_every_bound_key_is_in_it() -> None:
    from zeroclaw_tui.tui.rooms.browser import BROWSER_COMMANDS

    names = {
        "slash": "/",
        "question_mark": "?",
        "colon": ":",
        "escape": "esc",
        "asterisk": "*",
        "backslash": "\\",
        "full_stop": ".",
    }
    bound = {
        names.get(key, key)
        for command in BROWSER_COMMANDS
        for key in command.key.split(",")
        # Only bound while another install is there, and said on the screen then.
        if command.id != "installs"
    }
    table = README[README.index("## Keys") : README.index("The mouse does")]
    told = {key for cell in re.findall(r"`([^`]+)`", table) for key in cell.split()} - {"$EDITOR"}
    moves = {"j", "k", "g", "G", "ctrl+d", "ctrl+u", "⏎"}
    assert told - moves == bound - {"", "f1", "j", "k", "enter"}


@pytest.mark.parametrize("verb", {name.split()[0]: name for name in every_verb()})
def test_every_command_is_told(verb: str) -> None:
    assert f"`zeroclaw memory {verb}" in README or f"`{verb}`" in README


def test_every_option_told_is_there() -> None:
    """Each `--option` of the README stands in the help of one of the programs."""
    onboard = ["-c", "from zeroclaw_tui.cli.main import zeroclaw; zeroclaw()", "onboard", "--help"]
    shown = subprocess.run([sys.executable, *onboard], capture_output=True, text=True, check=False).stdout
    inspector = subprocess.run(
        [sys.executable, "-m", "zeroclaw_tui", "--help"], capture_output=True, text=True, check=False
    )
    shown += inspector.stdout
    shown += "".join(parser.format_help() for parser in (memory_parser(), *map(verb_parser, every_verb().values())))
    ours = "\n".join(line for line in README.splitlines() if not re.search(r"pip|uv tool|pytest", line))
    told = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", ours))
    assert {option for option in told if option not in shown} == set()


def test_the_lines_to_install_name_this_package_and_drivers_it_has() -> None:
    """`.ci/run` runs them; here they are held against pyproject.toml."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    part = README[README.index("## Install, upgrade") : README.index("## Where the rest is")]
    drivers = {name for names in re.findall(r"'\.\[([a-z,]+)\]'", part) for name in names.split(",")}
    assert drivers
    assert drivers <= set(project["optional-dependencies"])
    assert set(re.findall(r"uninstall (\w+)", part)) == {project["name"].replace("-", "_")}
    assert set(project["scripts"]) == {"zeroclaw", "zeroclaw-tui"}
