"""The samples of the browser's tests, with a store that takes writes; nothing blinks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from textual.widgets import Input

sys.path.insert(0, str(Path(__file__).parents[1] / "tui"))

from changing_samples import Writable
from tui_samples import Inspector, sample_memories


@pytest.fixture(autouse=True)
def still_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Input, "_toggle_cursor", lambda self: None)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION", "SSH_TTY", "NO_MOTION", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def inspector(tmp_path: Path) -> Inspector:
    """A store of 248 memories that takes writes, its trash in a folder of its own."""
    return Inspector(tmp_path, Writable(sample_memories()))
