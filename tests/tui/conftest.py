"""Nothing blinks, and nothing of this machine's desktop or terminal shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import settling
from tui_samples import Inspector


@pytest.fixture(autouse=True)
def still_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    settling.still_terminal(monkeypatch)


@pytest.fixture
def inspector(tmp_path: Path) -> Inspector:
    """A store of 248 memories, 3 of them superseded, with embeddings."""
    return Inspector(tmp_path)
