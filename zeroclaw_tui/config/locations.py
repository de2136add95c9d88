"""Finding an install: a ZeroClaw install on disk, a standalone store or a server, also from a path given by a user.

The rules of both generations apply together, since the installed version is unknown: ZeroClaw <= 0.7.5 uses
ZEROCLAW_CONFIG_DIR, ZEROCLAW_WORKSPACE, the marker `active_workspace.toml`, then `~/.zeroclaw`; >= 0.8.0 uses
ZEROCLAW_CONFIG_DIR, ZEROCLAW_DATA_DIR, ZEROCLAW_WORKSPACE, Homebrew's folder on macOS, then `~/.zeroclaw`.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from zeroclaw_tui.config.schema import kind_named
from zeroclaw_tui.config.toml import read_toml
from zeroclaw_tui.files.disk import exists, is_folder, names_in, status_of
from zeroclaw_tui.memory.errors import BrokenConfig, InspectorError, NoInstall, Unreadable, UsageError
from zeroclaw_tui.memory.text import shell_word

Layout = Literal["workspace", "data", "lone"]
OWN_FOLDER = "zeroclaw-tui"
CONFIG_NAME = "config.toml"
CORE_NAME = "MEMORY.md"
"""The Markdown file of core memories."""
DAILY_FOLDER = "memory"
"""The folder of the Markdown files of each day."""
MARKER = "active_workspace.toml"
_DEFAULT = "the default, ~/.zeroclaw"
SCHEME = "the scheme of --location"
"""The source of a backend that was chosen by its URL."""
_BACKENDS_WITHOUT_MARKDOWN = frozenset({"sqlite", "lucid", "postgres", "qdrant", "none"})
_WHAT_TO_GIVE = (
    "Give a config directory, a workspace, a database file or a directory of Markdown files;"
    " `zeroclaw-tui --demo` needs none."
)
_HOW_TO_START = (
    "`zeroclaw onboard --interactive` sets one up; --config-dir DIR, --workspace DIR or --location PATH opens one"
    " elsewhere; `zeroclaw-tui --demo` needs none."
)
_SECRET_OPTION = "password|passwd|pwd|secret|token|api_?key|auth"


class Install(NamedTuple):
    """The paths of one install."""

    config_dir: Path | None
    """None for a standalone store."""
    root: Path
    """The workspace or data folder, which contains MEMORY.md, memory/ and state/."""
    database: Path
    """The SQLite file, existing or not."""
    layout: Layout
    """"workspace" up to 0.7.5, "data" from 0.8.0, "lone" for a file, folder or server without an install."""
    rule: str
    """A description of the rule that selected the install."""
    own_dir: Path
    """The folder of this program's own files for the install."""

    @property
    def config_file(self) -> Path | None:
        """The config.toml, existing or not; None for a standalone store."""
        return self.config_dir / CONFIG_NAME if self.config_dir else None

    @property
    def has_workspace(self) -> bool:
        """Whether the store is in a workspace or data folder."""
        return self.layout != "lone" or self.database == self.root / "memory" / "brain.db"


class OpenOptions(NamedTuple):
    """The command line options that select what to open."""

    path: Path | None = None
    config_dir: Path | None = None
    workspace: Path | None = None
    backend: str | None = None
    location: str | None = None
    profile: str | None = None
    agent: str | None = None
    read_only: bool = False
    create_missing: bool = False
    """Whether a missing store will be created."""


def workspace_install(config_dir: Path, root: Path, rule: str) -> Install:
    """An install of ZeroClaw <= 0.7.5, whose workspace may be outside its config dir."""
    return Install(config_dir, root, database_of(root), "workspace", rule, config_dir / OWN_FOLDER)


def data_install(config_dir: Path, rule: str) -> Install:
    """An install of ZeroClaw >= 0.8.0, whose data folder is always `<config dir>/data`."""
    root = config_dir / "data"
    return Install(config_dir, root, database_of(root), "data", rule, config_dir / OWN_FOLDER)


def standalone_server(url: str, rule: str, environ: Mapping[str, str], home: Path) -> Install:
    """A server without an install; our own folder is also the `root`, to which no ZeroClaw ever writes."""
    own_dir = _own_dir(without_password(url).encode("utf-8", "surrogateescape"), environ, home)
    return Install(None, own_dir, database_of(own_dir), "lone", rule, own_dir)


def _own_dir(identity: bytes, environ: Mapping[str, str], home: Path) -> Path:
    """Our own folder for a store without a config dir, below the user's data folder."""
    import hashlib

    given = environ.get("XDG_DATA_HOME", "")
    data_home = Path(given) if given.startswith("/") else home / ".local" / "share"
    return data_home / OWN_FOLDER / hashlib.sha256(identity).hexdigest()


def command_at(install: Install, environ: Mapping[str, str], command: str, *arguments: str) -> str:
    """Format one of our shell commands so that it uses this install."""
    return " ".join(filter(None, (command, config_dir_option(install, environ), *arguments)))


def config_dir_option(install: Install, environ: Mapping[str, str]) -> str:
    """The command line option that selects an install; empty if the commands find it by default."""
    if install.config_dir is None:
        return ""
    try:
        meant = candidate_installs(environ, home_folder(environ))
    except InspectorError:
        meant = ()
    winner = next(filter(has_config_or_data, meant), meant[0] if meant else None)
    is_found = winner is not None and winner.config_dir == install.config_dir
    return "" if is_found else f"--config-dir {shell_path(str(install.config_dir))}"


def shell_path(path: str) -> str:
    """A path for a shell, with a tilde for the home folder."""
    home = f"{os.path.expanduser('~')}/"
    return f"~/{shell_word(path.removeprefix(home))}" if path.startswith(home) else shell_word(path)


def expand(text: str, home: Path) -> Path:
    """Replace a leading `~` in a path, and make it absolute without resolving links or `..`."""
    if text == "~" or text.startswith("~/"):
        return (home / text[2:]).absolute()
    return Path(text).absolute()


def home_folder(environ: Mapping[str, str], config_dir: Path | None = None) -> Path:
    """The home folder. Raises UsageError if the user has none, unless `config_dir` is given."""
    try:
        return Path(environ.get("HOME") or Path.home())
    except RuntimeError as error:
        if config_dir is not None:
            return Path("/")
        raise UsageError(
            "This user has no home directory, and HOME is not set.", hint="Set HOME, or pass --config-dir DIR."
        ) from error


def database_of(root: Path) -> Path:
    """`memory/brain.db`, or the older `memory.db` if only that exists."""
    brain = root / "memory" / "brain.db"
    plain = root / "memory.db"
    return plain if not exists(brain) and exists(plain) else brain


def _has_notes(folder: Path) -> bool:
    """Whether a `*.md` is directly in the folder."""
    return any(name.endswith(".md") for name in names_in(folder))


def has_markdown(root: Path) -> bool:
    """Whether the folder has a MEMORY.md or a `memory/*.md`."""
    return exists(root / CORE_NAME) or _has_notes(root / DAILY_FOLDER)


def notes_root(given: Path) -> Path:
    """The root folder of a given file or folder: the parent of a `memory/` with notes in it, else the folder itself."""
    folder = given.parent if given.suffix == ".md" else given
    return folder.parent if folder.name == DAILY_FOLDER and _has_notes(folder) else folder


def has_config_or_data(install: Install) -> bool:
    """Whether there is a config.toml, a database or Markdown memory."""
    config = install.config_file
    return (config is not None and exists(config)) or exists(install.database) or has_markdown(install.root)


def _has_store(install: Install) -> bool:
    """Whether there is a store of the kind in the config; with ZeroClaw >= 0.8.0 an agent may have the notes."""
    if exists(install.database):
        return True
    if install.config_dir is None:
        return has_markdown(install.root)
    memory = _read_leniently(install.config_dir / CONFIG_NAME).get("memory")
    # ZeroClaw uses Markdown for every unknown name.
    if kind_named(memory.get("backend") if isinstance(memory, dict) else None) in _BACKENDS_WITHOUT_MARKDOWN:
        return False
    agents = install.config_dir / "agents"
    folders = [agents / name / "workspace" for name in names_in(agents)] if install.layout == "data" else []
    return any(map(has_markdown, [install.root, *folders]))


def _read_leniently(file: Path) -> dict[str, Any]:
    """Read a TOML file; empty if it cannot be read, because loading it later reports the reason."""
    try:
        return read_toml(file) or {}
    except BrokenConfig:
        return {}


class _Rule(NamedTuple):
    """A config dir selected by a rule, and the layouts to consider; `workspace` replaces its own workspace."""

    words: str
    config_dir: Path
    workspace: Path | None = None
    layouts: tuple[Layout, ...] = ("data", "workspace")

    def installs(self) -> list[Install]:
        """List its installs, the one in use first, then others that have a store.

        `<config dir>/data` with a store takes precedence over a workspace with a store; without any store the existing
        folder decides, then the schema of the config.
        """
        place = self.config_dir
        old = workspace_install(place, self.workspace or place / "workspace", self.words)
        both = [data_install(place, self.words)] if "data" in self.layouts else []
        both += [old] if "workspace" in self.layouts else []
        in_itself = workspace_install(place, place, self.words)
        holding = [install for install in both if _has_store(install)]
        if not holding and old in both and exists(in_itself.database):
            return [in_itself]
        with_notes = [install for install in both if has_markdown(install.root)]
        with_folder = [install for install in both if is_folder(install.root)]
        schema = _read_leniently(place / CONFIG_NAME).get("schema_version")
        by_schema = both[0] if isinstance(schema, int) and schema >= 3 else both[-1]
        return holding or (with_notes or with_folder or [by_schema])[:1]


def install_at(path: Path, environ: Mapping[str, str], home: Path, *, rule: str = "the path given") -> Install:
    """Find the install that a path belongs to, with its config if there is one; else the store alone (layout "lone").

    The path is a config dir, its config.toml, a workspace or data folder, its `memory/`, a database file, a folder
    with MEMORY.md or `memory/*.md`, or one of these files. Raises Unreadable if it is none of these.
    """
    given = expand(str(path), home)
    status = status_of(given)
    if status is None:
        raise Unreadable(f"{given} does not exist.", hint=_WHAT_TO_GIVE)
    place = _Place(given, environ, home, rule)
    if stat.S_ISDIR(status.st_mode):
        return place.of_folder()
    if stat.S_ISREG(status.st_mode):
        return place.of_file()
    raise Unreadable(f"{given} is neither a file nor a directory.", hint=_WHAT_TO_GIVE)


def planned_install(path: Path, environ: Mapping[str, str], home: Path, *, is_folder: bool) -> Install:
    """The install that `install_at` will find after a store is created at a path: notes in a folder, or a database."""
    place = _Place(expand(str(path), home), environ, home, "the path given")
    if not is_folder:
        return place.of_file()
    return place.of_config_dir() or place.of_root(place.given)


class _Place(NamedTuple):
    """A path given by a user, with the parameters for finding its install."""

    given: Path
    environ: Mapping[str, str]
    home: Path
    rule: str

    def of_file(self) -> Install:
        given, root = self.given, self.given.parent
        if given.name == CONFIG_NAME:
            return _Rule(self.rule, root).installs()[0]
        if given.suffix == ".md":
            root = root.parent if root.name == DAILY_FOLDER else root
            if not has_markdown(root):
                raise Unreadable(f"{given} is not a memory: ZeroClaw only reads {CORE_NAME} and {DAILY_FOLDER}/*.md.")
            return self.of_root(root)
        is_brain = given.name == "brain.db" and root.name == "memory"
        root = root.parent if is_brain else root
        attached = self.attached(root) if is_brain or given.name == "memory.db" else None
        return attached if attached is not None and attached.database == given else self.lone(root, given)

    def of_folder(self) -> Install:
        given = self.given
        install = self.of_config_dir()
        if install is not None:
            return install
        if given.name == "memory" and (exists(given / "brain.db") or _has_notes(given)):
            return self.of_root(given.parent)
        if _is_root(given):
            return self.of_root(given)
        if exists(given / "brain.db"):
            return self.lone(given, given / "brain.db")
        # A workspace or data folder without a store so far.
        attached = self.attached(given)
        if attached is None:
            raise Unreadable(
                f"{given} has no config.toml, no database and no Markdown memory in it.", hint=_WHAT_TO_GIVE
            )
        return attached

    def of_config_dir(self) -> Install | None:
        is_config_dir = exists(self.given / CONFIG_NAME) or any(
            _is_root(self.given / name) for name in ("data", "workspace")
        )
        return _Rule(self.rule, self.given).installs()[0] if is_config_dir else None

    def of_root(self, root: Path) -> Install:
        database = database_of(root)
        return self.attached(root) or self.lone(root, database, identity=database if exists(database) else root)

    def attached(self, root: Path) -> Install | None:
        """Find the install with this workspace or data folder, by its config.toml."""
        if root.name == "data" and exists(root.parent / CONFIG_NAME):
            return data_install(root.parent, self.rule)
        is_named = root.name == "workspace"
        places = (*([root.parent] if is_named else []), root, root.parent / ".zeroclaw")
        found = next((place for place in places if exists(place / CONFIG_NAME)), None)
        return None if found is None else workspace_install(found, root, self.rule)

    def lone(self, root: Path, database: Path, *, identity: Path | None = None) -> Install:
        """A store without a config; our own files for it are named after its real path."""
        own_dir = _own_dir(os.fsencode(os.path.realpath(identity or database)), self.environ, self.home)
        return Install(None, root, database, "lone", self.rule, own_dir)


def _is_root(folder: Path) -> bool:
    return exists(database_of(folder)) or has_markdown(folder)


def find_installs(
    environ: Mapping[str, str], home: Path, *, config_dir: Path | None = None, workspace: Path | None = None
) -> tuple[Install, ...]:
    """Find the install to use, then others that have a store. The two options take precedence over variables.

    Raises NoInstall with the searched places, and Unreadable if a folder cannot be entered.
    """
    meant = candidate_installs(environ, home, config_dir=config_dir, workspace=workspace)
    found = [*filter(has_config_or_data, meant)]
    if found or (config_dir is None and workspace is not None):
        winner, *others = found or meant
        return (winner, *filter(_has_store, others))
    if config_dir is not None and workspace is None and has_markdown(expand(str(config_dir), home)):
        place = _Place(expand(str(config_dir), home), environ, home, "--config-dir")
        return (place.of_root(place.given),)
    is_named = not any(install.rule == _DEFAULT for install in meant)
    what = f"{meant[0].rule} names no ZeroClaw install" if is_named else "No ZeroClaw install was found"
    places = ", ".join(dict.fromkeys(str(install.config_dir or install.root) for install in meant))
    raise NoInstall(f"{what}; looked in {places}.", hint=_HOW_TO_START)


def candidate_installs(
    environ: Mapping[str, str], home: Path, *, config_dir: Path | None = None, workspace: Path | None = None
) -> tuple[Install, ...]:
    """List every install by the rules, in order of precedence, existing or not; never empty.

    Raises Unreadable if a folder cannot be entered, or if `workspace` alone is not part of an install.
    """
    if config_dir is None and workspace is not None:
        return (install_at(workspace, environ, home, rule="--workspace"),)
    if config_dir is not None and workspace is not None:
        place = expand(str(config_dir), home)
        return (workspace_install(place, expand(str(workspace), home), "--config-dir and --workspace"),)
    if config_dir is not None:
        return tuple(_Rule("--config-dir", expand(str(config_dir), home)).installs())
    by_variable = [install for rule in _by_variable(environ, home) for install in rule.installs()]
    by_variable.sort(key=lambda install: not _has_store(install))
    by_convention = () if by_variable else _by_convention(environ, home)
    distinct: dict[str, Install] = {}
    for install in by_variable or [install for rule in by_convention for install in rule.installs()]:
        distinct.setdefault(os.path.realpath(install.database), install)
    return tuple(distinct.values())


def workspace_rule(folder: Path, leaves: tuple[str, ...] = ("workspace",)) -> tuple[Path, Path]:
    """Derive config dir and workspace from ZEROCLAW_WORKSPACE as ZeroClaw does; the first matching rule applies.

    A folder with a config.toml is the config dir; one next to a `.zeroclaw` with a config.toml, or with a name in
    `leaves`, is a workspace of that `.zeroclaw`; any other is the config dir. ZeroClaw >= 0.8.0 also accepts the name
    `data`, and uses only the resulting config dir.
    """
    default_dir = folder.parent / ".zeroclaw"
    is_workspace = exists(default_dir / CONFIG_NAME) or folder.name in leaves
    if is_workspace and not exists(folder / CONFIG_NAME):
        return default_dir, folder
    return folder, folder / "workspace"


def _by_variable(environ: Mapping[str, str], home: Path) -> list[_Rule]:
    config_dir = environ.get("ZEROCLAW_CONFIG_DIR", "").strip()
    data_dir, workspace = environ.get("ZEROCLAW_DATA_DIR", "").strip(), environ.get("ZEROCLAW_WORKSPACE", "")
    folder = expand(workspace, home)
    if config_dir:
        words, place = "ZEROCLAW_CONFIG_DIR", expand(config_dir, home)
        if not workspace:
            return [_Rule(words, place)]
        # ZeroClaw <= 0.7.5 reads ZEROCLAW_WORKSPACE again after loading the config, so that the config comes from one
        # variable and the workspace from the other.
        return [
            _Rule(f"{words} and ZEROCLAW_WORKSPACE", place, workspace_rule(folder)[1]),
            _Rule(f"{words}, not used while ZEROCLAW_WORKSPACE is set", place, layouts=("workspace",)),
        ]
    rules: list[_Rule] = []
    if data_dir:
        place, _ = workspace_rule(expand(data_dir, home), ("workspace", "data"))
        layouts: tuple[Layout, ...] = ("data", "workspace")
        rules += [_Rule("ZEROCLAW_DATA_DIR", place, layouts=(layout,)) for layout in layouts]
    if workspace:
        rules.append(_Rule("ZEROCLAW_WORKSPACE", *workspace_rule(folder), ("workspace",)))
    if workspace and not data_dir:
        place, _ = workspace_rule(folder, ("workspace", "data"))
        newer = _Rule("ZEROCLAW_WORKSPACE (ZeroClaw >= 0.8.0)", place, layouts=("data",))
        (install,) = newer.installs()
        rules.insert(0 if _has_store(install) or is_folder(install.root) else 1, newer)
    return rules


def _by_convention(environ: Mapping[str, str], home: Path) -> list[_Rule]:
    default = home / ".zeroclaw"
    rules = [*_homebrew_dirs(environ), _Rule(_DEFAULT, default)]
    named = _read_leniently(default / MARKER).get("config_dir")
    marked = default / named.strip() if isinstance(named, str) else default
    if marked != default:
        # ZeroClaw >= 0.8.0 never reads the marker: a data folder in use means that this version is installed.
        is_ignored = any(_has_store(data_install(rule.config_dir, rule.words)) for rule in rules)
        at = len(rules) if is_ignored else 0
        rules.insert(at, _Rule(f"the marker ~/.zeroclaw/{MARKER} (ZeroClaw <= 0.7.5)", marked))
    return rules


def _homebrew_dirs(environ: Mapping[str, str]) -> list[_Rule]:
    if sys.platform != "darwin":
        return []
    prefixes = dict.fromkeys(filter(None, (environ.get("HOMEBREW_PREFIX"), "/opt/homebrew", "/usr/local")))
    folders = [Path(prefix, "var", "zeroclaw") for prefix in prefixes]
    return [_Rule("Homebrew's folder (ZeroClaw >= 0.8.0 on macOS)", folder) for folder in folders if is_folder(folder)]


def is_url(location: str | None) -> bool:
    """Whether a location is a URL, not a path."""
    return location is not None and "://" in location


def without_password(url: str) -> str:
    """Reduce a URL to scheme, user, server, path and harmless options; empty for a text that is not a URL.

    Everything up to the last @ counts as user and password, since a password may contain unencoded characters.
    """
    scheme, separator, rest = url.strip().partition("://")
    if not separator or not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.\-]*", scheme):
        return ""
    credentials, _, place = rest.rpartition("@")
    user = credentials.partition(":")[0]
    server, _, options = place.partition("?")
    public = sorted(pair for pair in parse_qsl(options) if not re.search(_SECRET_OPTION, pair[0], re.IGNORECASE))
    host, slash, path = server.partition("/")
    scheme = "postgres" if scheme.lower() == "postgresql" else scheme.lower()
    query = f"?{urlencode(public)}" if public else ""
    return f"{scheme}://{f'{user}@' if user else ''}{host.lower()}{slash}{path}{query}"


def server_address(url: str) -> str:
    """Reduce a URL to scheme, host, port and path, since the rest may contain secrets."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "localhost", parts.port
    except ValueError:
        return "an address that cannot be read"
    if not parts.scheme:
        return "no address"
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}{f':{port}' if port else ''}{parts.path.rstrip('/')}"
