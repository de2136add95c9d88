"""What the room of changes shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from changes_samples import Sample


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    """A library with an empty store and an empty trash."""
    return Sample(tmp_path)
