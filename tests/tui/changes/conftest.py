"""Nothing blinks, and nothing of this machine's desktop or terminal shows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from textual.widgets import Input

sys.path.insert(0, str(Path(__file__).parents[2] / "tui_trash"))

from tui_trash_samples import Sample


@pytest.fixture(autouse=True)
def still_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Input, "_toggle_cursor", lambda self: None)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION", "SSH_TTY", "NO_MOTION", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    """A library with an empty store and an empty trash."""
    return Sample(tmp_path)
