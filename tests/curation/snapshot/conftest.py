"""An install with a store of core memories."""

from __future__ import annotations

import pytest
from support.installs import make_install
from support.small_store import blob

ROWS = (
    {"key": "lang", "content": "User prefers Rust", "updated_at": "2026-03-02T10:00:00.000000001+00:00"},
    {"key": "pet", "content": "Cat named Mio", "session_id": "tg_1", "embedding": blob(0.5, 0.25)},
    {"key": "hard", "content": "above\n---\n### 🔑 `bogus`\nbelow\r\nend "},
    {"key": "day", "content": "Met Ana", "category": "daily"},
    {"key": "old", "content": "User prefers C", "superseded_by": "lang", "importance": 0.9, "namespace": "work"},
)


@pytest.fixture
async def library(request, tmp_path):
    """Four core memories, one of them superseded, and one of a day."""
    install = make_install(tmp_path / "zc", getattr(request, "param", "G4"), ROWS)
    async with install.opened() as library:
        yield library
