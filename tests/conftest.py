"""What every test stands on: no config of the developer's can leak in, and nothing blinks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_LEAKS = ("ZEROCLAW_", "DATABASE_URL", "QDRANT_", "MEM0_", "XDG_", "OPENAI_", "OPENROUTER_")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty HOME, and no variable that ZeroClaw or this program reads, but the fixtures' folder."""
    for name in list(os.environ):
        if name.startswith(_LEAKS) and name not in ("ZEROCLAW_FIXTURES", "ZEROCLAW_ALLOW_SKIP"):
            monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TZ", "UTC")
    # Whatever terminal the tests are started from, what they draw has all colours on a dark ground.
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("COLORFGBG", raising=False)
    return home
