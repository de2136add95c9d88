"""What the room of turns shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from live_samples import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A config dir with six memories, and no trace yet."""
    return Place(tmp_path)
