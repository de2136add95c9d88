"""Fixtures: a folder with a config, a function that runs work as an unprivileged user, and one that edits a text and
checks the rules of every edit."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support import other_user
from support.config_folder import Folder, make_folder

from zeroclaw_tui.config.document import ConfigDocument
from zeroclaw_tui.config.toml import KeyPath

Edit = Callable[[str, Mapping[str, Any]], str]


def path_of(name: str) -> KeyPath:
    return tuple(name.split("."))


def with_keys(values: Mapping[str, Any], changes: Mapping[KeyPath, Any]) -> dict[str, Any]:
    """Return the parsed document expected after an edit."""
    expected = copy.deepcopy(dict(values))
    for path, value in changes.items():
        table = expected
        for name in path[:-1]:
            table = table.setdefault(name, {})
        table[path[-1]] = value
    return expected


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return make_folder(tmp_path)


@pytest.fixture
def open_to_all() -> Iterator[Folder]:
    """A config folder that every user can reach and write to."""
    with other_user.shared_folder() as parent:
        folder = make_folder(parent)
        folder.config.parent.chmod(0o777)
        yield folder


@pytest.fixture
def as_nobody() -> Callable[[Callable[[], Any]], Any]:
    """Call a function as a user who owns nothing; return its result, or the type and message of its error."""

    return other_user.as_nobody


@pytest.fixture
def edit() -> Edit:
    """Edit a text (keys as `memory.backend`); check its parsed values and that a second edit changes nothing."""

    def edited(text: str, changes: Mapping[str, Any]) -> str:
        paths = {path_of(name): value for name, value in changes.items()}
        before = ConfigDocument.from_text(text)
        after = before.with_values(paths)
        assert tomllib.loads(after.text) == with_keys(before.values, paths) == after.values
        assert after.with_values(paths) == after
        assert before.text == text
        return after.text

    return edited
