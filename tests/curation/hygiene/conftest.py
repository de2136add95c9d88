"""The clock's zone, and small installs."""

from __future__ import annotations

import time
from functools import partial

import pytest
from hygiene_world import place_at


@pytest.fixture(autouse=True)
def in_zone(monkeypatch):
    """Everything is in UTC until a test says otherwise."""

    def choose(name):
        monkeypatch.setenv("TZ", name)
        time.tzset()

    choose("UTC")
    yield choose
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def make_place(tmp_path):
    """An install of a version with rows and settings."""
    return partial(place_at, tmp_path)
