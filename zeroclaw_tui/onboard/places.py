"""The config dirs the wizard might write to, and what of memory lies in each."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from zeroclaw_tui.config.locations import (
    CONFIG_NAME,
    Install,
    database_of,
    exists,
    expand,
    holds_anything,
    installs_meant,
    is_folder,
    names_in,
    workspace_install,
    workspace_rule,
)
from zeroclaw_tui.memory.errors import WrongUse


@dataclass(frozen=True, slots=True)
class Store:
    """A folder of one config dir with memory in it: a database, or Markdown (`MEMORY.md`, files in `memory/`).

    `name` is the folder as seen from the config dir ("data", "agents/default/workspace"), its path where it lies
    elsewhere, and "." for the config dir itself.
    """

    root: Path
    name: str
    database: Path | None
    has_core_notes: bool
    day_notes: int

    @property
    def database_name(self) -> str:
        """The database in the manner of `name`, empty where there is none."""
        return str(Path(self.name, self.database.relative_to(self.root))) if self.database else ""

    @property
    def markdown_fact(self) -> str:
        """What Markdown there is in words ("workspace: MEMORY.md and 12 Markdown files in memory/"), or empty."""
        days = (
            f"{self.day_notes:,} Markdown file{'s' if self.day_notes > 1 else ''} in memory/" if self.day_notes else ""
        )
        parts = [part for part in ("MEMORY.md" if self.has_core_notes else "", days) if part]
        where = "the config dir itself" if self.name == "." else self.name
        return f"{where}: {' and '.join(parts)}" if parts else ""


def installs_to_choose(
    environ: Mapping[str, str], home: Path, config_dir: Path | None, workspace: Path | None
) -> list[Install]:
    """One install of each config dir that may be meant, the one that wins first; what `candidates` is made of.

    Config dirs that hold something go before those that do not; where none does, only the first is left.
    """
    if config_dir is None and workspace is not None:
        found = [_of_workspace(workspace, environ, home)]
    else:
        found = list(installs_meant(environ, home, config_dir=config_dir, workspace=workspace))
    holding = [install for install in found if holds_anything(install)]
    return _one_each(holding or found[:1])


def _of_workspace(workspace: Path, environ: Mapping[str, str], home: Path) -> Install:
    folder = expand(str(workspace), home)
    if not exists(folder) or (is_folder(folder) and not names_in(folder)):
        # Nothing lies there yet: ZeroClaw itself would go by the name alone.
        return workspace_install(*workspace_rule(folder), "--workspace")
    install = installs_meant(environ, home, workspace=workspace)[0]
    if install.config_dir is None:
        raise WrongUse(
            f"{folder} is a store without a config dir, and the wizard writes a config.",
            hint="Give the folder of its config.toml too: --config-dir DIR --workspace DIR.",
        )
    return install


def _one_each(installs: Iterable[Install]) -> list[Install]:
    first: dict[str, Install] = {}
    for install in installs:
        if install.config_dir is not None:
            first.setdefault(os.path.realpath(install.config_dir), install)
    return list(first.values())


def stores_of(install: Install, more: Iterable[Path] = ()) -> tuple[Store, ...]:
    """Every folder of the install's config dir that has memory, the one in use first, and of `more`, which the config
    names. Raises Unreadable."""
    looked = [_look(root, name) for root, name in _folders(install, more)]
    return tuple(store for store in looked if store.database or store.markdown_fact)


def _folders(install: Install, more: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """Folders of an install where memory may be, each with its name."""
    config_dir = install.config_dir or install.root
    agents = config_dir / "agents"
    own = [agents / name / "workspace" for name in names_in(agents)] if install.layout == "data" else []
    seen: set[str] = set()
    for place in (install.root, config_dir / "data", config_dir / "workspace", config_dir, *own, *more):
        real = os.path.realpath(place)
        if real not in seen:
            seen.add(real)
            is_inside = place.is_relative_to(config_dir)
            yield place, str(place.relative_to(config_dir) if is_inside else place)


def _look(root: Path, name: str) -> Store:
    database = database_of(root)
    notes = [file for file in names_in(root / "memory") if file.endswith(".md")]
    return Store(root, name, database if exists(database) else None, exists(root / "MEMORY.md"), len(notes))


def found_in(install: Install) -> tuple[str, ...]:
    """What lies in a config dir, one fact a line, without opening anything."""
    config = install.config_file
    facts = [CONFIG_NAME if config is not None and exists(config) else ""]
    for store in stores_of(install):
        facts += [store.database_name, store.markdown_fact]
    return tuple(fact for fact in facts if fact)
