"""The samples of the browser's tests with a store that takes writes; nothing blinks."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from textual.widgets import Input

sys.path.insert(0, str(Path(__file__).parents[1] / "tui_trash"))

from transfer_samples import Place


@pytest.fixture(autouse=True)
def still_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Input, "_toggle_cursor", lambda self: None)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION", "SSH_TTY", "NO_MOTION", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest_asyncio.fixture
async def place(clean_environment: Path) -> AsyncIterator[Place]:
    """An install with a database of a few memories, and the inspector on it."""
    yield Place(clean_environment)
