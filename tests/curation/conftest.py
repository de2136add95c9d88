"""Installs that are broken on purpose, and libraries to change."""

from __future__ import annotations

import pytest
from journal_world import opened_world
from patient import ROWS, Patient
from support.installs import make_install


@pytest.fixture
def make_patient(tmp_path):
    """Makes installs, with an empty folder for a database where no generation is named."""

    def make(generation="G2", settings=""):
        made = make_install(tmp_path / "zc", generation, ROWS, settings=settings)
        return Patient(made.config_dir, made.root)

    return make


@pytest.fixture(params=["G4"])
async def world(request, tmp_path):
    """A library to change: a database of the newest generation, unless a test names another store."""
    async with opened_world(tmp_path, request.param) as world:
        yield world
