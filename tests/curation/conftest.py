"""Installs that are broken on purpose, and libraries to change."""

from __future__ import annotations

import pytest
from journal_world import opened_world
from support.patient import Patient


@pytest.fixture
def make_patient(tmp_path):
    """Makes installs; the generation tells the layout unless one is said."""

    def make(generation="G2", layout="", more=""):
        is_new = generation in ("G3", "G4")
        head = "schema_version = 3\n" if is_new else "default_temperature = 0.7\n"
        config = f'{head}[memory]\nbackend = "sqlite"\n{more}'
        return Patient(tmp_path / "zc", generation, layout or ("data" if is_new else "workspace"), config)

    return make


@pytest.fixture(params=["G4"])
async def world(request, tmp_path):
    """A library to change: a database of the newest generation, unless a test names another store."""
    async with opened_world(tmp_path, request.param) as world:
        yield world
