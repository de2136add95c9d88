"""Completion scripts for bash and zsh, made from the parsers themselves."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from zeroclaw_tui.config.defaults import BACKENDS_WITH_DEFAULTS

_FOLDERS = ("config_dir", "workspace")
_FILES = ("path", "batch", "location", "answers")
_WORDS = {"memory": BACKENDS_WITH_DEFAULTS}
"""Options with a few words of their own, which the parser takes as they come: a slip is told better elsewhere."""


def print_completion(parser: argparse.ArgumentParser, shell: str) -> int:
    """Write the script of one shell to stdout."""
    import shtab

    _mark_paths(parser, shtab.DIRECTORY, shtab.FILE)
    sys.stdout.write(shtab.complete(parser, shell=shell) + "\n")
    return 0


def _mark_paths(parser: argparse.ArgumentParser, folder: dict[str, Any], file: dict[str, Any]) -> None:
    for action in parser._actions:
        if action.dest in _FOLDERS:
            action.complete = folder  # type: ignore[attr-defined]
        elif action.dest in _FILES:
            action.complete = file  # type: ignore[attr-defined]
        elif action.dest in _WORDS:
            action.choices = _WORDS[action.dest]
        if isinstance(action, argparse._SubParsersAction):
            for below in dict.fromkeys(action.choices.values()):
                _mark_paths(below, folder, file)
