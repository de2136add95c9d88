"""Nothing blinks, and nothing of this machine's desktop or terminal shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from hygiene_samples import Workspace
from textual.widgets import Input


@pytest.fixture(autouse=True)
def still_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Input, "_toggle_cursor", lambda self: None)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION", "SSH_TTY", "NO_MOTION", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Three notes and two rows are due, one archived note too."""
    return Workspace(tmp_path)
