"""Nothing blinks, and no editor of this machine is taken."""

from __future__ import annotations

import pytest
from textual.widgets import Input, TextArea


@pytest.fixture(autouse=True)
def still_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Input, "_toggle_cursor", lambda self: None)
    monkeypatch.setattr(TextArea, "_toggle_cursor_blink_visible", lambda self: None)
    for name in ("SSH_CONNECTION", "SSH_TTY", "NO_MOTION", "NO_COLOR", "VISUAL", "EDITOR"):
        monkeypatch.delenv(name, raising=False)
