"""What the room of turns shows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_samples import Place


@pytest.fixture
def tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The computer's clock goes nine hours before UTC."""
    with monkeypatch.context() as zone:
        zone.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A config dir with six memories, and no trace yet."""
    return Place(tmp_path)
