"""One ZeroClaw install on disk, or one lone store."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

Layout = Literal["workspace", "data", "lone"]


@dataclass(frozen=True, slots=True)
class Install:
    """Where things lie. `layout` is "workspace" up to 0.7.5, "data" from 0.8.0, "lone" for a file or folder alone,
    or a server that is named without an install.

    `root` is the workspace or data folder: MEMORY.md, memory/, state/ are in it. `database` is the SQLite file it
    uses or would use, whether or not it exists. `rule` says in words what chose it ("ZEROCLAW_CONFIG_DIR",
    "the path given"). `own_dir` is where this program keeps its own files for it. `is_loose` says that `root` is a
    folder of loose notes that a person named, and no workspace.
    """

    config_dir: Path | None
    root: Path
    database: Path
    layout: Layout
    rule: str
    own_dir: Path
    is_loose: bool = False

    @property
    def config_file(self) -> Path | None:
        """The config.toml, whether or not it exists; None for a lone store."""
        return self.config_dir / "config.toml" if self.config_dir else None


class OpenOptions(NamedTuple):
    """What was asked for on the command line; None or False where nothing was."""

    path: Path | None = None
    config_dir: Path | None = None
    workspace: Path | None = None
    backend: str | None = None
    location: str | None = None
    profile: str | None = None
    agent: str | None = None
    read_only: bool = False
    backend_by_scheme: bool = False
    """Whether `backend` was not named, but is what the URL's scheme means."""
    is_made: bool = False
    """Whether a store that is named and is not there will be made."""
