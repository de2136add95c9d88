"""Fixtures for the time zone and for small installs."""

from __future__ import annotations

import time
from functools import partial

import pytest
from hygiene_world import place_at


@pytest.fixture(autouse=True)
def in_zone(monkeypatch):
    """Use UTC unless a test chooses another time zone."""

    def choose(name):
        monkeypatch.setenv("TZ", name)
        time.tzset()

    choose("UTC")
    yield choose
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def make_place(tmp_path):
    """Create an install of a version with rows and settings."""
    return partial(place_at, tmp_path)
