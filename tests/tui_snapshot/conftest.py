"""A home with a store and a snapshot; nothing blinks, and nothing of this machine's desktop or terminal shows."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from textual.widgets import Input

sys.path.insert(0, str(Path(__file__).parents[1] / "tui_trash"))

from tui_snapshot_samples import Home


@pytest.fixture(autouse=True)
def still_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Input, "_toggle_cursor", lambda self: None)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION", "SSH_TTY", "NO_MOTION", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest_asyncio.fixture
async def home(clean_environment: Path) -> AsyncIterator[Home]:
    """A store, opened with the screen, and the snapshot that ZeroClaw wrote of it before some changes."""
    home = Home(clean_environment)
    yield home
    await home.close()
