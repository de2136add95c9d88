"""Situations made of a config text, for tests of the answers."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from zeroclaw_tui.config.document import ConfigDocument
from zeroclaw_tui.config.locations import Install
from zeroclaw_tui.config.schema import Target
from zeroclaw_tui.onboard.situation import Situation

OLD = Target(schema=1, has_aliases=False, is_modern=False)
OLD_FILE_READ_BY_NEW = Target(schema=1, has_aliases=False, is_modern=True)
ALIASED = Target(schema=3, has_aliases=True, is_modern=True)
GENERATIONS = (OLD, OLD_FILE_READ_BY_NEW, ALIASED)

URL = "storage.postgres.db_url"
PASSWORD = "hunter2"
POSTGRES = f"postgres://me:{PASSWORD}@db.example/agents"


def situation(
    text: str | None = '[memory]\nbackend = "sqlite"\nauto_save = true\n',
    target: Target = OLD,
    *,
    backend: str | None = None,
    environ: Mapping[str, str] | None = None,
    config_dir: Path = Path("/nowhere"),
) -> Situation:
    """What the wizard would find with this config; None is no config. The backend in use is what the text says."""
    values = tomllib.loads(text or "")
    named = values.get("memory", {}).get("backend", "sqlite")
    root = config_dir / ("data" if target.is_modern else "workspace")
    layout = "data" if target.is_modern else "workspace"
    return Situation(
        config_file=config_dir / "config.toml",
        install=Install(config_dir, root, root / "memory/brain.db", layout, "test", config_dir / "zeroclaw-tui"),
        raw=None if text is None else text.encode(),
        document=ConfigDocument(text or "", False, values),
        target=target,
        backend=backend or named.partition(".")[0],
        environ=environ or {},
    )
