"""An install in which ZeroClaw left something next to its store."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.opened import opened

from zeroclaw_tui.curation.library import Library

SECRET = "The door code is 4711, tell nobody"
OTHER = "Prefers Rust for tools and Python for plots"


@dataclass(frozen=True)
class Place:
    """A config dir, its workspace or data folder, and the database in it."""

    config_dir: Path
    root: Path
    database: Path

    def write(self, name: str, text: str | bytes) -> Path:
        """A file under the root."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def opened(self, **options: Any) -> AbstractAsyncContextManager[Library]:
        """Its library."""
        return opened(config_dir=self.config_dir, **options)
