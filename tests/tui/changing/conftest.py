"""The samples of the browser's tests, with a store that takes writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from changing_samples import Writable
from tui_samples import Inspector, sample_memories


@pytest.fixture
def inspector(tmp_path: Path) -> Inspector:
    """A store of 248 memories that takes writes, its trash in a folder of its own."""
    return Inspector(tmp_path, Writable(sample_memories()))
