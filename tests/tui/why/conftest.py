"""Stores whose recalls are known."""

from __future__ import annotations

from pathlib import Path

import pytest
from why_samples import Kitchen


@pytest.fixture
def kitchen(tmp_path: Path) -> Kitchen:
    """A database of a few memories about food."""
    return Kitchen.of_meals(tmp_path)


@pytest.fixture
def aged(tmp_path: Path) -> Kitchen:
    """A hybrid store whose cosines are written down."""
    return Kitchen.of_aged(tmp_path)
