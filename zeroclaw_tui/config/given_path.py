"""What a path that a person gives means: any folder or file of an install, or a store alone."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from zeroclaw_tui.config.install import Install
from zeroclaw_tui.config.layouts import (
    CONFIG_NAME,
    data_install,
    database_of,
    exists,
    expand,
    has_loose_markdown,
    has_markdown,
    holds_loose_notes,
    installs_in,
    is_folder,
    lone_install,
    lone_markdown,
    names_in,
    status_of,
    workspace_install,
)
from zeroclaw_tui.memory.errors import Unreadable

_HINT = (
    "Give a config dir, a workspace, a database file or a folder of Markdown files; `zeroclaw-tui --demo` needs none."
)


def install_at(
    path: Path,
    environ: Mapping[str, str],
    home: Path,
    *,
    rule: str = "the path given",
    is_workspace: bool = False,
) -> Install:
    """The install a path belongs to, with its config where one is found; else the store alone (layout "lone").

    Taken are a config dir, its config.toml, a workspace or data folder, its `memory/`, a database file, a folder with
    MEMORY.md or `memory/*.md`, one of these files, a workspace without any of it, and a folder of loose `*.md` files
    (`is_loose`): a person looks at such notes, no agent reads them. `is_workspace` says that a workspace was asked for,
    where there are none. A folder with one database only means that database. Nothing there, or nothing of these:
    Unreadable.
    """
    given = expand(str(path), home)
    status = status_of(given)
    if status is None:
        what = "is a link to nothing" if given.is_symlink() else "does not exist"
        raise Unreadable(f"{given} {what}.", hint=_HINT)
    if stat.S_ISDIR(status.st_mode):
        return _for_folder(given, environ, home, rule, is_workspace)
    if not stat.S_ISREG(status.st_mode):
        raise Unreadable(f"{given} is neither a file nor a folder.", hint=_HINT)
    install = _for_file(given, environ, home, rule)
    return replace(install, is_loose=False) if is_workspace else install


def install_to_be(path: Path, environ: Mapping[str, str], home: Path, *, is_folder: bool) -> Install:
    """The install that `install_at` will find once there is a store at a path: notes in a folder, or a database."""
    given, rule = expand(str(path), home), "the path given"
    if not is_folder:
        return _for_file(given, environ, home, rule)
    return installs_in(given, rule)[0] if _is_config_dir(given) else _for_root(given, environ, home, rule)


def _for_file(given: Path, environ: Mapping[str, str], home: Path, rule: str) -> Install:
    if given.name == CONFIG_NAME:
        return installs_in(given.parent, rule)[0]
    if given.suffix == ".md":
        return _of_notes(given.parent.parent if given.parent.name == "memory" else given.parent, environ, home, rule)
    root = _root_of_database(given)
    attached = _attached(root, rule) if root is not None else None
    if attached is not None and attached.database == given:
        return attached
    return lone_install(given, root or given.parent, given, rule, environ, home)


def _root_of_database(database: Path) -> Path | None:
    """The workspace or data folder of a database in its usual place, else None."""
    if database.name == "brain.db" and database.parent.name == "memory":
        return database.parent.parent
    return database.parent if database.name == "memory.db" else None


def _for_folder(given: Path, environ: Mapping[str, str], home: Path, rule: str, is_workspace: bool) -> Install:
    if _is_config_dir(given):
        return installs_in(given, rule)[0]
    if given.name == "memory" and (exists(given / "brain.db") or has_loose_markdown(given)):
        return _for_root(given.parent, environ, home, rule)
    if _is_root(given):
        return _for_root(given, environ, home, rule)
    databases = [name for name in names_in(given) if name.endswith(".db") and not is_folder(given / name)]
    if "brain.db" in databases or len(databases) == 1:
        name = "brain.db" if "brain.db" in databases else databases[0]
        return lone_install(given / name, given, given / name, rule, environ, home)
    if databases:
        names = ", ".join(databases[:5]) + (", …" if len(databases) > 5 else "")
        raise Unreadable(f"{given} holds several databases: {names}.", hint="Give the path of one of them.")
    if holds_loose_notes(given) and not is_workspace:
        return _of_notes(given, environ, home, rule)
    # The workspace or data folder of an install that has not stored anything yet.
    attached = _attached(given, rule)
    if attached is None and not has_loose_markdown(given):
        raise Unreadable(f"{given} has no config.toml, no database and no Markdown files in it.", hint=_HINT)
    return attached or lone_markdown(given, rule, environ, home)


def _of_notes(folder: Path, environ: Mapping[str, str], home: Path, rule: str) -> Install:
    named = environ.get("ZEROCLAW_WORKSPACE")
    is_loose = holds_loose_notes(folder) and not (named and expand(named, home) == folder)
    return replace(lone_markdown(folder, rule, environ, home), is_loose=is_loose)


def _is_config_dir(folder: Path) -> bool:
    return exists(folder / CONFIG_NAME) or any(_is_root(folder / name) for name in ("data", "workspace"))


def _is_root(folder: Path) -> bool:
    return exists(database_of(folder)) or has_markdown(folder)


def _for_root(root: Path, environ: Mapping[str, str], home: Path, rule: str) -> Install:
    database = database_of(root)
    if not exists(database):
        return _attached(root, rule) or lone_markdown(root, rule, environ, home)
    return _attached(root, rule) or lone_install(database, root, database, rule, environ, home)


def _attached(root: Path, rule: str) -> Install | None:
    """The install whose workspace or data folder this is, found by its config.toml, or None."""
    if root.name == "data" and exists(root.parent / CONFIG_NAME):
        return data_install(root.parent, rule)
    if root.name == "workspace" and exists(root.parent / CONFIG_NAME):
        return workspace_install(root.parent, root, rule)
    if exists(root / CONFIG_NAME):
        return workspace_install(root, root, rule)
    beside = root.parent / ".zeroclaw"
    return workspace_install(beside, root, rule) if exists(beside / CONFIG_NAME) else None
