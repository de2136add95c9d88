"""Nothing blinks, and nothing of this machine's desktop or terminal shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Input
from what_if_samples import Kitchen


@pytest.fixture(autouse=True)
def still_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Input, "_toggle_cursor", lambda self: None)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION", "SSH_TTY", "NO_MOTION", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def kitchen(tmp_path: Path) -> Kitchen:
    """A hybrid store: rows with and without a vector, sessions, one that is too old, an assistant's reply."""
    return Kitchen(tmp_path)
