"""The clock's zone, and small installs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from hygiene_world import Place, place_at


@pytest.fixture(autouse=True)
def in_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Everything is in UTC until a test says otherwise."""

    def choose(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    choose("UTC")
    yield choose
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def make_place(tmp_path: Path) -> Callable[..., Place]:
    """An install of a version with rows and settings."""
    return partial(place_at, tmp_path)
