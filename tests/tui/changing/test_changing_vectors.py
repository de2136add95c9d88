"""Making the vector of one memory again from the list."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from changing_samples import screen_of
from support import small_store
from support.screens import said
from support.settling import press, running
from tui_samples import STILL

from zeroclaw_tui.backends.lookup import entries_with_key
from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.tui.app import InspectorApp

CONFIG = '[memory]\nbackend = "sqlite"\nembedding_provider = "local"\nembedding_model = "words"\n'


@pytest.mark.parametrize(
    ("content", "sentence", "has_one"),
    [
        ("likes ramen", "Its embedding now matches its content.", True),
        (" \n", "This memory has no text to embed.", False),
    ],
)
async def test_r_makes_the_vector_or_says_why_none(tmp_path: Path, content: str, sentence: str, has_one: bool) -> None:
    database = tmp_path / "workspace" / "memory" / "brain.db"
    database.parent.mkdir(parents=True)
    small_store.make(database, "G2", [{"content": content}])
    (tmp_path / "config.toml").write_text(CONFIG)
    options = OpenOptions(config_dir=tmp_path)
    app = InspectorApp(options, clock=lambda: datetime(2026, 11, 20, tzinfo=UTC), pace=STILL)
    async with running(app) as (_, pilot):
        await press(pilot, ":re-embed")
        assert sentence in said(pilot.app)
        library = screen_of(pilot).library
        assert library is not None
        (entry,) = await entries_with_key(library.memory, "key0")
        assert (entry.embedding_dimensions is not None) == has_one
