"""The samples of the browser's tests, around several stores of one config; nothing blinks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from textual.widgets import Input

sys.path.insert(0, str(Path(__file__).parents[1] / "tui"))


@pytest.fixture(autouse=True)
def still_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Input, "_toggle_cursor", lambda self: None)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION", "SSH_TTY", "NO_MOTION", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
