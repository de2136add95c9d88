"""Which ZeroClaw installs are meant when no path is given, and which rule chose each.

The rules of both generations are followed at once, since the installed version is not known: ZeroClaw <= 0.7.5 asks
ZEROCLAW_CONFIG_DIR, ZEROCLAW_WORKSPACE, the marker `active_workspace.toml`, then `~/.zeroclaw`; >= 0.8.0 asks
ZEROCLAW_CONFIG_DIR, ZEROCLAW_DATA_DIR, ZEROCLAW_WORKSPACE, Homebrew's folder on macOS, then `~/.zeroclaw`.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from zeroclaw_tui.config.document.replacing import read_regular
from zeroclaw_tui.config.given_path import install_at
from zeroclaw_tui.config.install import Install
from zeroclaw_tui.config.layouts import (
    CONFIG_NAME,
    Peek,
    data_install,
    exists,
    expand,
    has_markdown,
    holds_anything,
    installs_in,
    is_folder,
    lone_markdown,
    workspace_install,
)
from zeroclaw_tui.memory.errors import NoInstall, WrongUse

__all__ = ["find_installs", "home_folder", "install_at", "installs_meant", "workspace_rule"]

MARKER = "active_workspace.toml"
_HINT = "Try `zeroclaw-tui --demo`, or give the place yourself: `zeroclaw-tui PATH`."


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
    """The home folder by HOME, else by the system's list of users. Raises WrongUse for a user who has none.

    A config dir that is named needs no home, and a service may run as a user without one: the root stands in then.
    """
    try:
        return Path(environ.get("HOME") or Path.home())
    except RuntimeError as error:
        if config_dir is not None:
            return Path("/")
        raise WrongUse(
            "This user has no home folder, and HOME is not set.", hint="Set HOME, or name the place: --config-dir DIR."
        ) from error


def workspace_rule(folder: Path, leaves: frozenset[str] = frozenset({"workspace"})) -> tuple[Path, Path]:
    """Config dir and workspace that ZEROCLAW_WORKSPACE means, as ZeroClaw reads it; the first that fits wins.

    A folder with a config.toml is the config dir; one beside a `.zeroclaw` with a config.toml, or whose name is among
    `leaves`, is a workspace of that `.zeroclaw`; any other is the config dir. ZeroClaw >= 0.8.0 also takes the name
    `data`, and uses only the config dir of the answer.
    """
    beside = folder.parent / ".zeroclaw"
    if exists(folder / CONFIG_NAME):
        return folder, folder / "workspace"
    if exists(beside / CONFIG_NAME) or folder.name in leaves:
        return beside, folder
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
        named = tomllib.loads(read_regular(marker).decode("utf-8")).get("config_dir")
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
    kept: dict[str, Install] = {}
    for install in found:
        kept.setdefault(os.path.realpath(install.database), install)
    return list(kept.values())


def _nothing(rule: str, looked: Iterable[Path]) -> NoInstall:
    places = ", ".join(dict.fromkeys(str(place) for place in looked))
    if not rule:
        return NoInstall(f"No ZeroClaw install was found; looked in {places}.", hint=_HINT)
    return NoInstall(
        f"{rule} names a place without a config.toml, a database or Markdown memory; looked in {places}.", hint=_HINT
    )
