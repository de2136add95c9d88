"""Installs with a given config.toml and a small database that recall finds something in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.config_forms import FIRST, ROWS
from support.small_store import make

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.candidates import configs_for

MakeConfig = Callable[..., MemoryConfig]


@pytest.fixture
def made(tmp_path: Path) -> MakeConfig:
    """Make an install with this config.toml and load it as the commands do."""

    def make_config(
        text: str = FIRST, environ: dict[str, str] | None = None, *, read_only: bool = False
    ) -> MemoryConfig:
        folder = tmp_path / "zc"
        is_third = "schema_version = 3" in text
        database = folder / ("data" if is_third else "workspace") / "memory" / "brain.db"
        if not database.exists():
            database.parent.mkdir(parents=True)
            make(database, "G4" if is_third else "G2", ROWS)
        (folder / "config.toml").write_bytes(text.encode())
        options = OpenOptions(config_dir=folder, read_only=read_only)
        return configs_for(options, {"HOME": str(tmp_path), **(environ or {})})[0]

    return make_config
