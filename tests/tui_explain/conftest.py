"""Nothing blinks, and nothing of this machine's desktop or terminal shows."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from textual.widgets import Input

sys.path.insert(0, str(Path(__file__).parents[1] / "tui_trash"))

from explain_samples import Kitchen


@pytest.fixture(autouse=True)
def still_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Input, "_toggle_cursor", lambda self: None)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION", "SSH_TTY", "NO_MOTION", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest_asyncio.fixture
async def kitchen(tmp_path: Path) -> AsyncIterator[Kitchen]:
    """A database of a few memories about food, opened with vectors for its messages."""
    kitchen = Kitchen(tmp_path)
    yield kitchen
    await kitchen.close()
