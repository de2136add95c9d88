"""How files lie in an install of either generation, and whether something is there."""

from __future__ import annotations

import errno
import os
import stat
import tomllib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from zeroclaw_tui.config.install import Install
from zeroclaw_tui.config.server_url import without_password
from zeroclaw_tui.memory.errors import Unreadable

OWN_FOLDER = "zeroclaw-tui"
CONFIG_NAME = "config.toml"
CORE_NAME = "MEMORY.md"
DAILY_FOLDER = "memory"
"""Where Markdown notes lie in a folder: those that last, and the folder of those of each day."""
WORKSPACE_FILES = (
    "AGENTS.md",
    "SOUL.md",
    "IDENTITY.md",
    "USER.md",
    "TOOLS.md",
    "HEARTBEAT.md",
    "BOOTSTRAP.md",
    "MEMORY_SNAPSHOT.md",
)
"""What lies in an agent's workspace and is no memory: ZeroClaw reads MEMORY.md and `memory/*.md` alone as that."""
_BACKENDS_WITHOUT_MARKDOWN = frozenset({"sqlite", "lucid", "postgres", "qdrant", "none"})


def workspace_install(config_dir: Path, root: Path, rule: str) -> Install:
    """An install of ZeroClaw <= 0.7.5, whose workspace may lie outside its config dir."""
    return Install(config_dir, root, database_of(root), "workspace", rule, config_dir / OWN_FOLDER)


def data_install(config_dir: Path, rule: str) -> Install:
    """An install of ZeroClaw >= 0.8.0, whose data folder is always `<config dir>/data`."""
    root = config_dir / "data"
    return Install(config_dir, root, database_of(root), "data", rule, config_dir / OWN_FOLDER)


def lone_install(given: Path, root: Path, database: Path, rule: str, environ: Mapping[str, str], home: Path) -> Install:
    """A store without a config; our own files for it lie under the user's data folder, by its real path."""
    import hashlib

    name = hashlib.sha256(os.fsencode(os.path.realpath(given))).hexdigest()
    return Install(None, root, database, "lone", rule, _data_home(environ, home) / OWN_FOLDER / name)


def lone_server(url: str, rule: str, environ: Mapping[str, str], home: Path) -> Install:
    """A server without an install; our own files for it lie under the user's data folder, by its URL's harmless parts.

    The folder is also the `root`, where no ZeroClaw ever puts anything.
    """
    import hashlib

    name = hashlib.sha256(without_password(url).encode("utf-8", "surrogateescape")).hexdigest()
    own_dir = _data_home(environ, home) / OWN_FOLDER / name
    return Install(None, own_dir, database_of(own_dir), "lone", rule, own_dir)


def lone_markdown(folder: Path, rule: str, environ: Mapping[str, str], home: Path) -> Install:
    """A Markdown folder alone: MEMORY.md and memory/ are looked up in it."""
    return lone_install(folder, folder, folder / "memory" / "brain.db", rule, environ, home)


def database_of(root: Path) -> Path:
    """`memory/brain.db`; `memory.db` beside it only where there is no brain.db, as older documents name it."""
    brain = root / "memory" / "brain.db"
    plain = root / "memory.db"
    return plain if not exists(brain) and exists(plain) else brain


def expand(text: str, home: Path) -> Path:
    """A path with a leading `~` or `~/` replaced, made absolute without resolving links or `..`."""
    if text == "~" or text.startswith("~/"):
        return (home / text[2:]).absolute()
    return Path(text).absolute()


def exists(path: Path) -> bool:
    """True when something is there. Raises Unreadable when the folders on the way cannot be entered."""
    return status_of(path) is not None


def is_folder(path: Path) -> bool:
    """True for a folder or a link to one. Raises Unreadable like `exists`."""
    status = status_of(path)
    return status is not None and stat.S_ISDIR(status.st_mode)


def status_of(path: Path) -> os.stat_result | None:
    """What the system says of a path, None when nothing is there; Unreadable for every other failure."""
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Unreadable(f"{path} is a link that leads in a circle.", hint="Mend the link.") from error
        if error.errno == errno.ENAMETOOLONG:
            raise Unreadable(f"The name {path} is too long for this system.", hint="Give a shorter one.") from error
        raise Unreadable(
            f"{path} cannot be looked at: {error.strerror}.", hint="Check the permissions of its folders."
        ) from error


def file_size(path: Path) -> int:
    """The size in bytes, 0 for a file that is not there."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def names_in(folder: Path) -> list[str]:
    """The names in a folder, sorted; empty when there is no such folder. Raises Unreadable when it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return []
    except OSError as error:
        raise Unreadable(
            f"The folder {folder} cannot be read: {error.strerror}.", hint="Check its permissions."
        ) from error


def has_loose_markdown(folder: Path) -> bool:
    """True when a `*.md` lies directly in the folder."""
    return any(name.endswith(".md") for name in names_in(folder))


def has_markdown(root: Path) -> bool:
    """True when the folder has a MEMORY.md or a `memory/*.md`."""
    return exists(root / CORE_NAME) or has_loose_markdown(root / DAILY_FOLDER)


def holds_loose_notes(folder: Path) -> bool:
    """True when `*.md` lie in a folder that is no workspace, neither by what is in it nor by a config around it."""
    if not has_loose_markdown(folder) or has_markdown(folder) or exists(database_of(folder)):
        return False
    return not (any(exists(folder / name) for name in WORKSPACE_FILES) or _has_config(folder))


def _has_config(folder: Path) -> bool:
    """True for a config dir, its workspace or data folder, and the workspace of one of its agents."""
    if exists(folder / CONFIG_NAME):
        return True
    if folder.name in ("workspace", "data") and exists(folder.parent / CONFIG_NAME):
        return True
    agents = folder.parent.parent
    return folder.name == "workspace" and agents.name == "agents" and exists(agents.parent / CONFIG_NAME)


def notes_root(given: Path) -> Path:
    """The folder that a named one belongs to: of `memory/` with notes in it the one above, else itself."""
    return given.parent if given.name == "memory" and has_loose_markdown(given) else given


def holds_anything(install: Install) -> bool:
    """True when there is a config.toml, a database or Markdown memory."""
    config = install.config_file
    return (config is not None and exists(config)) or exists(install.database) or has_markdown(install.root)


class Peek:
    """What must be known of a config.toml before it is loaded: its schema and whether memory is in Markdown.

    A file that cannot be read tells nothing here; loading it says what is wrong with it.
    """

    def __init__(self, config_dir: Path) -> None:
        self._file = config_dir / CONFIG_NAME

    @cached_property
    def _document(self) -> dict[str, Any]:
        try:
            # Reading a named pipe would wait for a writer.
            return tomllib.loads(self._file.read_bytes().decode("utf-8-sig")) if self._file.is_file() else {}
        except (OSError, ValueError):
            return {}

    @cached_property
    def is_third_schema(self) -> bool:
        """True for the form of ZeroClaw >= 0.8.0."""
        schema = self._document.get("schema_version")
        return isinstance(schema, int) and schema >= 3

    @cached_property
    def uses_markdown(self) -> bool:
        """True when ZeroClaw keeps memory in Markdown, which every name it does not know leads to."""
        memory = self._document.get("memory")
        backend = memory.get("backend") if isinstance(memory, dict) else None
        kind = backend.strip().lower().partition(".")[0] if isinstance(backend, str) else "sqlite"
        return kind not in _BACKENDS_WITHOUT_MARKDOWN

    def holds_store(self, install: Install) -> bool:
        """True when the install has memory of the kind its config names."""
        if exists(install.database):
            return True
        return self.uses_markdown and (has_markdown(install.root) or self._agents_have_markdown(install))

    def _agents_have_markdown(self, install: Install) -> bool:
        """True when an agent has notes in its own folder, where ZeroClaw >= 0.8.0 keeps them."""
        agents = self._file.parent / "agents"
        return install.layout == "data" and any(has_markdown(agents / name / "workspace") for name in names_in(agents))


def installs_in(config_dir: Path, rule: str, workspace: Path | None = None, *, data: bool = True) -> list[Install]:
    """The installs of one config dir, the one in use first, then others that hold a store.

    `<config dir>/data` with a store wins over a workspace with a store; without any store the folder that exists
    decides, then the schema of the config. `workspace` stands in for `<config dir>/workspace`.
    """
    peek = Peek(config_dir)
    both = [workspace_install(config_dir, workspace or config_dir / "workspace", rule)]
    if data:
        both.insert(0, data_install(config_dir, rule))
    in_itself = workspace_install(config_dir, config_dir, rule)
    holding = [install for install in both if peek.holds_store(install)]
    if not holding and exists(in_itself.database):
        holding = [in_itself]
    winner = holding[0] if holding else _by_folder(both, peek)
    others = [install for install in holding if install is not winner]
    return [winner, *others]


def _by_folder(installs: list[Install], peek: Peek) -> Install:
    for install in installs:
        if has_markdown(install.root):
            return install
    for install in installs:
        if is_folder(install.root):
            return install
    return installs[0] if peek.is_third_schema else installs[-1]


def _data_home(environ: Mapping[str, str], home: Path) -> Path:
    given = environ.get("XDG_DATA_HOME", "")
    return Path(given) if given.startswith("/") else home / ".local" / "share"
