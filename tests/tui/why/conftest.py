"""Nothing blinks, and nothing of this machine's desktop or terminal shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Input
from why_samples import Kitchen


@pytest.fixture(autouse=True)
def still_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Input, "_toggle_cursor", lambda self: None)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION", "SSH_TTY", "NO_MOTION", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def kitchen(tmp_path: Path) -> Kitchen:
    """A database of a few memories about food."""
    return Kitchen.of_meals(tmp_path)


@pytest.fixture
def aged(tmp_path: Path) -> Kitchen:
    """A hybrid store whose cosines are written down."""
    return Kitchen.of_aged(tmp_path)
