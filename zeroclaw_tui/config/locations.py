"""Where an install lies: one ZeroClaw install on disk, one lone store, or a server; and what a person means by a path.

The rules of both generations are followed at once, since the installed version is not known: ZeroClaw <= 0.7.5 asks
ZEROCLAW_CONFIG_DIR, ZEROCLAW_WORKSPACE, the marker `active_workspace.toml`, then `~/.zeroclaw`; >= 0.8.0 asks
ZEROCLAW_CONFIG_DIR, ZEROCLAW_DATA_DIR, ZEROCLAW_WORKSPACE, Homebrew's folder on macOS, then `~/.zeroclaw`.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from zeroclaw_tui.config.toml import TooLargeError, parse_toml, problem_of
from zeroclaw_tui.files.disk import NotARegularFileError, exists, is_folder, names_in, read_regular, status_of
from zeroclaw_tui.memory.errors import BrokenConfig, InspectorError, NoInstall, Unreadable, UsageError
from zeroclaw_tui.memory.text import shell_word

Layout = Literal["workspace", "data", "lone"]
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
_KNOWN_HERE = (
    "Give a config directory, a workspace, a database file or a directory of Markdown files;"
    " `zeroclaw-tui --demo` needs none."
)
__all__ = ["find_installs", "home_folder", "install_at", "installs_meant", "workspace_rule"]
MARKER = "active_workspace.toml"
_HINT = (
    "`zeroclaw onboard --interactive` sets one up, `zeroclaw-tui PATH` opens one elsewhere, `zeroclaw-tui --demo`"
    " needs none."
)
SCHEME = "the scheme of --location"
"""The source of a backend that was chosen by its URL."""
_PARTS = r"(?P<scheme>[A-Za-z][A-Za-z0-9+.\-]*)://(?P<rest>.*)"
_CONNECTION_STRING = (
    r"\s*(?:host|hostaddr|port|dbname|user|password|passfile|service|sslmode|connect_timeout|options)\s*="
)
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SECRET_OPTION = "password|passwd|pwd|secret|token|api_?key|auth"


class Install(NamedTuple):
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

    @property
    def has_workspace(self) -> bool:
        """Whether there is a workspace or data folder around the store."""
        return self.layout != "lone" or self.database == self.root / "memory" / "brain.db"


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
    is_made: bool = False
    """Whether a store that is named and is not there will be made."""


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


def config_dir_option(install: Install, environ: Mapping[str, str]) -> str:
    """What names an install for a command of a shell; nothing where the commands find it by themselves."""
    if install.config_dir is None or _is_found_unnamed(install.config_dir, environ):
        return ""
    return f"--config-dir {shell_path(str(install.config_dir))}"


def command_at(install: Install, environ: Mapping[str, str], command: str, *arguments: str) -> str:
    """A command of ours for a shell, which means this install."""
    return " ".join(filter(None, (command, config_dir_option(install, environ), *arguments)))


def _is_found_unnamed(config_dir: Path, environ: Mapping[str, str]) -> bool:
    try:
        meant = installs_meant(environ, home_folder(environ))
    except InspectorError:
        return False
    winner = next((install for install in meant if holds_anything(install)), meant[0])
    return winner.config_dir == config_dir


def shell_path(path: str) -> str:
    """A path as a shell takes it, short for the home folder, whose tilde must stay outside of quotes."""
    # Unlike Path.home() it has an answer for a user without a home too.
    home = f"{os.path.expanduser('~')}/"
    return f"~/{shell_word(path.removeprefix(home))}" if path.startswith(home) else shell_word(path)


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
            return parse_toml(self._file.read_bytes().decode("utf-8-sig")) if self._file.is_file() else {}
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
        raise Unreadable(f"{given} {what}.", hint=_KNOWN_HERE)
    if stat.S_ISDIR(status.st_mode):
        return _for_folder(given, environ, home, rule, is_workspace)
    if not stat.S_ISREG(status.st_mode):
        raise Unreadable(f"{given} is neither a file nor a directory.", hint=_KNOWN_HERE)
    install = _for_file(given, environ, home, rule)
    return install._replace(is_loose=False) if is_workspace else install


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
        raise Unreadable(f"{given} has no config.toml, no database and no Markdown files in it.", hint=_KNOWN_HERE)
    return attached or lone_markdown(given, rule, environ, home)


def _of_notes(folder: Path, environ: Mapping[str, str], home: Path, rule: str) -> Install:
    named = environ.get("ZEROCLAW_WORKSPACE")
    is_loose = holds_loose_notes(folder) and not (named and expand(named, home) == folder)
    return lone_markdown(folder, rule, environ, home)._replace(is_loose=is_loose)


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
    default_dir = root.parent / ".zeroclaw"
    return workspace_install(default_dir, root, rule) if exists(default_dir / CONFIG_NAME) else None


def find_installs(
    environ: Mapping[str, str], home: Path, *, config_dir: Path | None = None, workspace: Path | None = None
) -> tuple[Install, ...]:
    """The install that wins, then others that hold a store. The two options win over every variable.

    Raises NoInstall, which says where was looked, and Unreadable when a folder on the way cannot be entered.
    """
    if config_dir is not None or workspace is not None:
        given = _by_option(environ, home, config_dir, workspace)
        if config_dir is None or holds_anything(given[0]):
            return given
        place = expand(str(config_dir), home)
        if workspace is None and has_markdown(place):
            return (lone_markdown(place, "--config-dir", environ, home),)
        raise _nothing(given[0].rule, [place, *(install.root for install in given)])
    found = _by_variable(environ, home)
    if not found:
        usual = _by_convention(environ, home)
        found = [install for install in usual if holds_anything(install)]
        if not found:
            raise _nothing("", [install.config_dir or install.root for install in usual])
    winner, *others = _each_once(found)
    if not holds_anything(winner):
        raise _nothing(winner.rule, [install.root for install in found])
    return (winner, *(install for install in others if _holds_store(install)))


def installs_meant(
    environ: Mapping[str, str], home: Path, *, config_dir: Path | None = None, workspace: Path | None = None
) -> tuple[Install, ...]:
    """Every install the rules lead to, in their order and whether or not anything is there yet; never empty.

    Raises Unreadable when a folder on the way cannot be entered, or when `workspace` alone is no part of an install.
    """
    if config_dir is not None or workspace is not None:
        return _by_option(environ, home, config_dir, workspace)
    return tuple(_each_once(_by_variable(environ, home) or _by_convention(environ, home)))


def home_folder(environ: Mapping[str, str], config_dir: Path | None = None) -> Path:
    """The home folder by HOME, else by the system's list of users. Raises UsageError for a user who has none.

    A config dir that is named needs no home, and a service may run as a user without one: the root stands in then.
    """
    try:
        return Path(environ.get("HOME") or Path.home())
    except RuntimeError as error:
        if config_dir is not None:
            return Path("/")
        raise UsageError(
            "This user has no home directory, and HOME is not set.", hint="Set HOME, or pass --config-dir DIR."
        ) from error


def workspace_rule(folder: Path, leaves: frozenset[str] = frozenset({"workspace"})) -> tuple[Path, Path]:
    """Config dir and workspace that ZEROCLAW_WORKSPACE means, as ZeroClaw reads it; the first that fits wins.

    A folder with a config.toml is the config dir; one beside a `.zeroclaw` with a config.toml, or whose name is among
    `leaves`, is a workspace of that `.zeroclaw`; any other is the config dir. ZeroClaw >= 0.8.0 also takes the name
    `data`, and uses only the config dir of the answer.
    """
    default_dir = folder.parent / ".zeroclaw"
    if exists(folder / CONFIG_NAME):
        return folder, folder / "workspace"
    if exists(default_dir / CONFIG_NAME) or folder.name in leaves:
        return default_dir, folder
    return folder, folder / "workspace"


def _by_option(
    environ: Mapping[str, str], home: Path, config_dir: Path | None, workspace: Path | None
) -> tuple[Install, ...]:
    if config_dir is None:
        return (install_at(workspace or Path(), environ, home, rule="--workspace", is_workspace=True),)
    place = expand(str(config_dir), home)
    if workspace is None:
        return tuple(installs_in(place, "--config-dir"))
    return (workspace_install(place, expand(str(workspace), home), "--config-dir and --workspace"),)


def _by_variable(environ: Mapping[str, str], home: Path) -> list[Install]:
    config_dir = environ.get("ZEROCLAW_CONFIG_DIR", "").strip()
    data_dir = environ.get("ZEROCLAW_DATA_DIR", "")
    workspace = environ.get("ZEROCLAW_WORKSPACE", "")
    if config_dir:
        return _by_config_dir(expand(config_dir, home), expand(workspace, home) if workspace else None)
    found: list[Install] = []
    if data_dir.strip():
        found += _by_data_dir(expand(data_dir, home))
    if workspace:
        found += _by_workspace(expand(workspace, home), data=not found)
    return sorted(found, key=lambda install: not _holds_store(install))


def _by_config_dir(config_dir: Path, workspace: Path | None) -> list[Install]:
    rule = "ZEROCLAW_CONFIG_DIR"
    if workspace is None:
        return installs_in(config_dir, rule)
    # ZeroClaw <= 0.7.5 reads ZEROCLAW_WORKSPACE a second time after the config is loaded, so that the config comes
    # from one variable and the workspace from the other.
    elsewhere = workspace_rule(workspace)[1]
    mixed = installs_in(config_dir, f"{rule}, with the workspace of ZEROCLAW_WORKSPACE (ZeroClaw <= 0.7.5)", elsewhere)
    data_rule = [data_install(config_dir, rule) if install.layout == "data" else install for install in mixed]
    left = workspace_install(config_dir, config_dir / "workspace", f"{rule}, not used while ZEROCLAW_WORKSPACE is set")
    return [*data_rule, left] if _holds_store(left) else data_rule


def _by_data_dir(folder: Path) -> list[Install]:
    config_dir, _ = workspace_rule(folder, frozenset({"workspace", "data"}))
    rule = "ZEROCLAW_DATA_DIR"
    left = workspace_install(config_dir, config_dir / "workspace", rule)
    return [data_install(config_dir, rule), *([left] if _holds_store(left) else [])]


def _by_workspace(folder: Path, *, data: bool) -> list[Install]:
    rule = "ZEROCLAW_WORKSPACE"
    config_dir, root = workspace_rule(folder)
    found = installs_in(config_dir, rule, root, data=False)
    if data:
        newer = data_install(workspace_rule(folder, frozenset({"workspace", "data"}))[0], f"{rule} (ZeroClaw >= 0.8.0)")
        first = _holds_store(newer) or (is_folder(newer.root) and not _holds_store(found[0]))
        found = [newer, *found] if first else [*found, newer]
    return found


def _by_convention(environ: Mapping[str, str], home: Path) -> list[Install]:
    default = home / ".zeroclaw"
    chosen, complaint = _marked_dir(default)
    places = [*_homebrew_dirs(environ), (default, f"the default, ~/.zeroclaw{complaint}")]
    if chosen is not None:
        marked = (chosen, f"the marker ~/.zeroclaw/{MARKER} (ZeroClaw <= 0.7.5)")
        # ZeroClaw >= 0.8.0 never reads the marker: a data folder in use says that this version is here.
        is_stale = any(_holds_store(data_install(place, rule)) for place, rule in places)
        places = [*places, marked] if is_stale else [marked, *places]
    return [install for place, rule in places for install in installs_in(place, rule)]


def _marked_dir(default: Path) -> tuple[Path | None, str]:
    """The config dir the marker names, or None and, when it names none, a remark for the rule shown."""
    marker = default / MARKER
    if not exists(marker):
        return None, ""
    try:
        named = parse_toml(read_regular(marker).decode("utf-8")).get("config_dir")
    except (OSError, ValueError):
        return None, f" ({MARKER} cannot be read and is ignored)"
    if not isinstance(named, str) or not named.strip():
        return None, f" ({MARKER} names no config_dir and is ignored)"
    chosen = default / named.strip()
    return (None, "") if chosen == default else (chosen, "")


def _homebrew_dirs(environ: Mapping[str, str]) -> list[tuple[Path, str]]:
    if sys.platform != "darwin":
        return []
    prefixes = dict.fromkeys((environ.get("HOMEBREW_PREFIX", ""), "/opt/homebrew", "/usr/local"))
    folders = [Path(prefix, "var", "zeroclaw") for prefix in prefixes if prefix]
    return [(folder, "Homebrew's folder (ZeroClaw >= 0.8.0 on macOS)") for folder in folders if is_folder(folder)]


def _holds_store(install: Install) -> bool:
    if install.config_dir is None:
        return holds_anything(install)
    return Peek(install.config_dir).holds_store(install)


def _each_once(found: Iterable[Install]) -> list[Install]:
    distinct: dict[str, Install] = {}
    for install in found:
        distinct.setdefault(os.path.realpath(install.database), install)
    return list(distinct.values())


def _nothing(rule: str, looked: Iterable[Path]) -> NoInstall:
    places = ", ".join(dict.fromkeys(str(place) for place in looked))
    if not rule:
        return NoInstall(f"No ZeroClaw install was found; looked in {places}.", hint=_HINT)
    return NoInstall(
        f"{rule} names no ZeroClaw install: no config.toml, database or Markdown memory in {places}.", hint=_HINT
    )


def is_url(location: str | None) -> bool:
    """Whether a location is a URL and no path."""
    return location is not None and "://" in location


def is_connection_string(location: str) -> bool:
    """Whether a location is of libpq's other form, `host=… password=…`, which may hold a password and is no path.

    From the PostgreSQL manual, "Connection Strings".
    """
    return re.match(_CONNECTION_STRING, location) is not None


def without_password(url: str) -> str:
    """A URL with scheme, user, server, path and harmless options: what two spellings of one password agree in.

    Everything up to the last @ is taken for user and password, since a password may hold any sign that somebody forgot
    to encode. A text that is no URL gives "".
    """
    matched = re.fullmatch(_PARTS, url.strip(), re.DOTALL)
    if matched is None:
        return ""
    scheme = matched["scheme"].lower()
    secret, at, place = matched["rest"].rpartition("@")
    user = secret.partition(":")[0]
    server, _, options = place.partition("?")
    public = sorted(pair for pair in parse_qsl(options) if not re.search(_SECRET_OPTION, pair[0], re.IGNORECASE))
    host, slash, path = server.partition("/")
    scheme = "postgres" if scheme == "postgresql" else scheme
    return f"{scheme}://{user}{at if user else ''}{host.lower()}{slash}{path}" + (
        f"?{urlencode(public)}" if public else ""
    )


def server_address(url: str) -> str:
    """Scheme, host, port and path of a URL; anything else in it may be a secret."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "localhost", parts.port
    except ValueError:
        return "an address that cannot be read"
    if not parts.scheme:
        return "no address"
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}{f':{port}' if port else ''}{parts.path.rstrip('/')}"


def read_config(path: Path) -> bytes | None:
    """The bytes of a config, or None if there is no such file.

    Raises BrokenConfig for a directory, a link to nothing, or a file that cannot be read, each with its own sentence.
    """
    try:
        return read_regular(path)
    except FileNotFoundError as error:
        if not path.is_symlink():
            return None
        raise BrokenConfig(
            f"{path} is a link to {os.path.realpath(path)}, which is not there.",
            hint="Fix the link, or remove it to start with a new file.",
        ) from error
    except OSError as error:
        reason, hint = _why_unreadable(path, error)
        raise BrokenConfig(f"{path} {reason}.", hint=hint) from error


def _why_unreadable(path: Path, error: OSError) -> tuple[str, str]:
    """Why a config cannot be read, as the end of a sentence, and what to do."""
    if isinstance(error, IsADirectoryError):
        return "is a directory, not a file", "Move it away; ZeroClaw expects its config there."
    if isinstance(error, NotARegularFileError):
        return "is not a regular file", "Move it away; ZeroClaw expects its config there."
    if isinstance(error, NotADirectoryError):
        return f"cannot be there: {path.parent} is not a directory", "Name the config directory."
    if isinstance(error, PermissionError):
        return "cannot be read: you have no permission", "Run the command as the user that ZeroClaw runs as."
    if error.errno == errno.ELOOP:
        return "is a link that leads in a circle", "Fix the link."
    return f"cannot be read: {error.strerror}", "Check the disk."


def read_toml(path: Path) -> dict[str, Any] | None:
    """The document of a config, a byte order mark left out; None if there is no such file.

    Raises BrokenConfig with the file, and line and column where a character is to blame.
    """
    raw = read_config(path)
    return None if raw is None else parsed(decoded(raw, path), path)


def decoded(raw: bytes, path: Path) -> str:
    """The text of a file's bytes, a byte order mark left out. Raises BrokenConfig where they are not UTF-8."""
    body = raw.removeprefix(BYTE_ORDER_MARK)
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        start = body.rfind(b"\n", 0, error.start) + 1
        column = len(body[start : error.start].decode("utf-8")) + 1
        raise BrokenConfig(
            f"{path}, line {line}, column {column}: this byte is not UTF-8 text.", hint="Save the file as UTF-8."
        ) from error


def parsed(text: str, path: Path) -> dict[str, Any]:
    """What TOML reads in a text. Raises BrokenConfig with line, column and what to do, but never a value."""
    try:
        return parse_toml(text)
    except TooLargeError as error:
        raise BrokenConfig(f"{path} {error}.", hint="Check that this is a config of ZeroClaw.") from error
    except ValueError as error:
        problem = problem_of(text, str(error))
        raise BrokenConfig(
            f"{path}, line {problem.line}, column {problem.column}: {problem.sentence}", hint=problem.hint
        ) from error
