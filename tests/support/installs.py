"""An install as ZeroClaw leaves it: a config dir with a SQLite store, unless no store exists yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support import small_store
from support.libraries import Library
from support.opened import opened_at
from support.places import MemoryConfig, OpenOptions
from zeroclaw_tui.curation.config_choice import configs_for


@dataclass(frozen=True)
class Install:
    """A config dir and its workspace or data folder."""

    config_dir: Path
    root: Path

    @property
    def database(self) -> Path:
        return self.root / "memory" / "brain.db"

    def configure(self, settings: str = "", backend: str = "sqlite") -> None:
        """Write config.toml; `settings` are further lines of [memory] and further tables."""
        head = "schema_version = 3\n" if self.root.name == "data" else "default_temperature = 0.7\n"
        text = f'{head}[memory]\nbackend = "{backend}"\nauto_save = true\n{settings}'
        (self.config_dir / "config.toml").write_text(text)

    def write(self, name: str, text: str | bytes) -> Path:
        """Write a file below the root."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def change(self, statement: str, values: Sequence[Any] = ()) -> None:
        """Run one statement on the database, as another program would."""
        small_store.change(self.database, statement, values)

    def config(self, environment: Mapping[str, str] | None = None, **options: Any) -> MemoryConfig:
        """Return the config that a command with these options reads."""
        chosen = OpenOptions(config_dir=self.config_dir, **options)
        return configs_for(chosen, {"HOME": str(self.config_dir.parent), **(environment or {})})[0]

    def opened(self, version: str | None = None, **options: Any) -> AbstractAsyncContextManager[Library]:
        """Open the library as a command with these options does."""
        return opened_at(self.config(**options), version)


def make_install(
    config_dir: Path, generation: str | None = "G4", rows: Iterable[dict[str, Any]] = (), **config: str
) -> Install:
    """Create an install with a database of a generation; None creates one of before 0.8.0 without a database."""
    install = Install(config_dir, config_dir / ("data" if generation in ("G3", "G4") else "workspace"))
    install.database.parent.mkdir(parents=True)
    install.configure(**config)
    if generation:
        small_store.make(install.database, generation, rows)
    return install
