"""Keys, commands and options in README and help pages agree with the program."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from house.make_help_pages import FOLDER, PAGES

from zeroclaw_tui.cli.verbs import every_verb, memory_parser, verb_parser

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_the_pages_of_keys_and_commands_are_up_to_date(name: str) -> None:
    """`python tests/house/make_help_pages.py` writes them."""
    assert (FOLDER / name).read_text("utf-8") == PAGES[name]()


def test_every_option_of_the_readme_exists() -> None:
    """Each `--option` of the README is in the help of a program."""
    onboard = ["-c", "from zeroclaw_tui.cli.main import zeroclaw; zeroclaw()", "onboard", "--help"]
    shown = subprocess.run([sys.executable, *onboard], capture_output=True, text=True, check=False).stdout
    inspector = subprocess.run(
        [sys.executable, "-m", "zeroclaw_tui", "--help"], capture_output=True, text=True, check=False
    )
    shown += inspector.stdout
    shown += "".join(parser.format_help() for parser in (memory_parser(), *map(verb_parser, every_verb().values())))
    ours = "\n".join(line for line in README.splitlines() if not re.search(r"pip|uv tool|pytest", line))
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", ours))
    assert {option for option in named if option not in shown} == set()


def test_the_install_commands_name_this_package_and_its_drivers() -> None:
    """`.ci/run` runs these lines; this test compares them with pyproject.toml."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    part = README[README.index("## Install, upgrade") : README.index("## Stores and versions")]
    drivers = {name for names in re.findall(r"'\.\[([a-z,]+)\]'", part) for name in names.split(",")}
    assert drivers
    assert drivers <= set(project["optional-dependencies"])
    assert set(re.findall(r"uninstall (\w+)", part)) == {project["name"].replace("-", "_")}
    assert set(project["scripts"]) == {"zeroclaw", "zeroclaw-tui"}
