"""Places that want upkeep; days are those of UTC."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from upkeep_samples import Home, Workspace


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as zone:
        zone.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Notes, sessions and rows, some of them too old."""
    return Workspace(tmp_path)


@pytest.fixture
def home(clean_environment: Path) -> Home:
    """A store and the snapshot that ZeroClaw wrote of it before some changes."""
    home = Home(clean_environment)
    home.write_snapshot()
    return home
