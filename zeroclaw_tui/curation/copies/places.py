"""Which files of an install may hold copies of its memories."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from zeroclaw_tui.backends.markdown.folders import agent_folders
from zeroclaw_tui.config.layouts import names_in
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.copies.found import Copy, Kind, not_looked_at
from zeroclaw_tui.curation.snapshot.text import NAME as SNAPSHOT
from zeroclaw_tui.memory.errors import InspectorError

_MARKDOWN = ".md"
_DATABASES = ("brain.db", "memory.db", "discord.db")
_BACKUP_OF_DATABASE = ".db.backup-"


@dataclass(frozen=True, slots=True)
class Places:
    """The files that are there, by what they are; `problems` are folders that could not be listed.

    `database` is the store's own SQLite file, None where the store is something else. `live_snapshot` is the one that
    ZeroClaw would read. `archived` are notes in Markdown, `conversations` archives of any other form.
    """

    database: Path | None
    live_snapshot: Path | None
    snapshots: tuple[Path, ...]
    notes: tuple[Path, ...]
    archived: tuple[Path, ...]
    conversations: tuple[Path, ...]
    backups: tuple[Path, ...]
    databases: tuple[Path, ...]
    audits: tuple[Path, ...]
    response_caches: tuple[Path, ...]
    problems: tuple[Copy, ...] = ()


def find_places(config: MemoryConfig, backend: str) -> Places:
    """Every place ZeroClaw itself may have written a copy to, as far as it is there. Reads folders only."""
    problems: list[Copy] = []
    database = config.database if backend in ("sqlite", "lucid") else None
    root, agents = _root(config), _agent_folders(config, problems)
    folders = ([] if root is None else [root]) + agents
    archives = [] if root is None else [root / "memory" / "archive", root / "sessions" / "archive"]
    archived = [path for folder in archives for path in _files_in(folder, "archive", problems)]
    inner = dict.fromkeys([*([database.parent] if database else []), *(folder / "memory" for folder in folders)])
    return Places(
        database=database,
        live_snapshot=None if root is None else root / SNAPSHOT,
        snapshots=_there(folder / name / SNAPSHOT for folder in folders for name in ("", "memory")),
        notes=() if backend == "markdown" else _notes(folders, problems),
        archived=tuple(path for path in archived if path.suffix == _MARKDOWN),
        conversations=tuple(path for path in archived if path.suffix != _MARKDOWN),
        backups=_backups(config, root, inner, problems),
        databases=_databases(config, [*inner, *folders], database),
        audits=_there(folder / "audit.db" for folder in inner),
        response_caches=_there(folder / "response_cache.db" for folder in inner),
        problems=tuple(problems),
    )


def _root(config: MemoryConfig) -> Path | None:
    """The workspace or data folder of the store; None for a file that lies somewhere else."""
    if config.location is not None:
        given = Path(config.location).expanduser()
        return given if config.backend == "markdown" and given.is_dir() else _around(given)
    install = config.install
    return install.root if install.layout != "lone" or config.backend == "markdown" else _around(install.database)


def _around(database: Path) -> Path | None:
    if database.name == "memory.db":
        return database.parent
    return database.parent.parent if database.parent.name == "memory" else None


def _agent_folders(config: MemoryConfig, problems: list[Copy]) -> list[Path]:
    """Every agent's own folder, where ZeroClaw >= 0.8 keeps notes, and where its migration moved old files to."""
    folder = config.install.config_dir
    if folder is None or config.location is not None:
        return []
    names = _names(folder / "agents", "markdown", problems)
    usual = [path for name in names if (path := folder / "agents" / name / "workspace").is_dir()]
    return [*dict.fromkeys([*usual, *agent_folders(config).values()])]


def _notes(folders: Iterable[Path], problems: list[Copy]) -> tuple[Path, ...]:
    found: list[Path] = []
    for folder in folders:
        found += [folder / "MEMORY.md", *_files_in(folder / "memory", "markdown", problems)]
    return tuple(path for path in _there(found) if path.suffix == _MARKDOWN and path.name != SNAPSHOT)


def _backups(config: MemoryConfig, root: Path | None, inner: Iterable[Path], problems: list[Copy]) -> tuple[Path, ...]:
    """Copies ZeroClaw made of the database before it migrated it, and of everything before it moved or imported it."""
    found = [path for folder in inner for path in _files_in(folder, "backup", problems) if _is_backup(path.name)]
    trees = [] if root is None else [root / "memory" / "migrations"]
    folder = config.install.config_dir
    if folder is not None and config.location is None:
        trees += [folder / name for name in _names(folder, "backup", problems) if name.startswith("backup-")]
        beside = _names(folder.parent, "backup", problems)
        trees += [folder.parent / name for name in beside if name.startswith(f"{folder.name}.backup.")]
    below = _files_below(trees, "backup", problems)
    found += [path for path in below if path.suffix == _MARKDOWN or path.name in _DATABASES or _is_backup(path.name)]
    return _there(found)


def _is_backup(name: str) -> bool:
    return _BACKUP_OF_DATABASE in name and not name.endswith(("-wal", "-shm", "-journal"))


def _databases(config: MemoryConfig, folders: Iterable[Path], store: Path | None) -> tuple[Path, ...]:
    """Other databases with ZeroClaw's memories table: Discord's history, and stores not in use."""
    found = [folder / name for folder in folders for name in _DATABASES]
    if config.install.config_dir is not None and config.location is None:
        found += [config.install.config_dir / name / "memory" / "brain.db" for name in ("workspace", "data")]
    own = None if store is None else os.path.realpath(store)
    return tuple(path for path in _there(found) if os.path.realpath(path) != own)


def _there(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Those that are files, each once."""
    return tuple(path for path in dict.fromkeys(paths) if path.is_file())


def _names(folder: Path, kind: Kind, problems: list[Copy]) -> list[str]:
    try:
        return names_in(folder)
    except InspectorError as error:
        problems.append(not_looked_at(kind, folder, error))
        return []


def _files_in(folder: Path, kind: Kind, problems: list[Copy]) -> list[Path]:
    return [path for name in _names(folder, kind, problems) if (path := folder / name).is_file()]


def _files_below(folders: Iterable[Path], kind: Kind, problems: list[Copy]) -> list[Path]:
    """All files in these folders and below; links to folders are not followed."""

    def tell(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            problems.append(not_looked_at(kind, error.filename, error))

    every: list[Path] = []
    for folder in folders:
        for base, inner, names in os.walk(folder, onerror=tell):
            inner.sort()
            every += [Path(base, name) for name in sorted(names)]
    return every
