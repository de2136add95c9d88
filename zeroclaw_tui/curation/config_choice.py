"""The configs that the options of a command may mean, and what chose the backend of a config."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from zeroclaw_tui.backends.factory import BACKENDS, backend_info, backend_of_file, backend_of_url, has_database
from zeroclaw_tui.config import locations
from zeroclaw_tui.config.load import load_config
from zeroclaw_tui.config.locations import Install, OpenOptions
from zeroclaw_tui.config.memory_config import DEFAULT, FILE, OPTION, MemoryConfig, shown
from zeroclaw_tui.config.settings import settings_problem
from zeroclaw_tui.files.database import is_database
from zeroclaw_tui.files.disk import exists, is_folder
from zeroclaw_tui.memory.errors import NoInstall, Unreadable, UsageError

_CONNECTION_STRING = (
    r"\s*(?:host|hostaddr|port|dbname|user|password|passfile|service|sslmode|connect_timeout|options)\s*="
)
_CUT_URL = r"[A-Za-z][A-Za-z0-9+.-]+:/(?!/)"
_KNOWN_SCHEMES = ", ".join(f"{scheme}://…" for info in BACKENDS for scheme in info.schemes)
_URL_HINT = f"Valid URLs: {_KNOWN_SCHEMES}, and http://… or https://… with --backend qdrant."
_BACKEND = "memory.backend"
_BY_CONTENT = "the content of the file"
"""The source of a backend that the named file itself shows."""
CHOSEN_HERE = "chosen here"
"""The entry of `MemoryConfig.sources` that says what names a store which was chosen from the list of candidates."""


def configs_for(options: OpenOptions, environ: Mapping[str, str] | None = None) -> tuple[MemoryConfig, ...]:
    """Find the configs that the options may mean, the one that ZeroClaw uses first. Blocks.

    Raises NoInstall, Unreadable, BrokenConfig, or UsageError for a user without a home directory or a location that is
    not valid, each with what to do next.
    """
    for location in (options.location, options.path):
        _check_location("" if location is None else str(location))
    variables = os.environ if environ is None else environ
    source = None
    if options.location is not None and locations.is_url(options.location):
        backend = _backend_of_url(options.location, options.backend)
        source = locations.SCHEME if options.backend is None and backend is not None else None
        options = options._replace(backend=backend)
    home = locations.home_folder(variables, options.config_dir)
    if options.is_made and options.path is not None and not exists(locations.expand(str(options.path), home)):
        # A new store is a database unless another backend is named.
        options = options._replace(backend=options.backend or "sqlite", location=str(options.path))
    return tuple(_config_of(install, options, variables, source) for install in _installs(options, variables, home))


def _check_location(text: str) -> None:
    """Raise UsageError for libpq's `host=… password=…` and for a URL that lacks a slash, without showing them.

    As a path, either would appear in every error, with its password.
    """
    if re.match(_CONNECTION_STRING, text) and not Path(text).exists():
        raise UsageError(
            "A PostgreSQL store needs a URL, not host=… user=… password=….",
            hint="Give a URL: postgres://user:password@host:5432/database.",
        )
    if re.match(_CUT_URL, text) and not Path(text).exists():
        raise UsageError("--location is not a valid URL.", hint=_URL_HINT)


def _backend_of_url(url: str, named: str | None) -> str | None:
    """The backend that was named, else that of the URL's scheme. Raises UsageError for a URL that fits no backend."""
    if not locations.without_password(url):
        raise UsageError("--location is not a valid URL.", hint=_URL_HINT)
    scheme, by_scheme = url.partition("://")[0], backend_of_url(url)
    if named is None:
        if by_scheme is None and scheme.lower() not in ("http", "https"):
            raise UsageError(f"No backend is known for {shown(scheme)}:// URLs.", hint=_URL_HINT)
        return by_scheme
    info = backend_info(named)
    if info is not None and not (info.takes_url and by_scheme in (None, info.key)):
        raise UsageError(f"The backend {info.key} does not use {shown(scheme)}:// URLs.", hint=_URL_HINT)
    return named


def _needs_backend(url: str) -> UsageError:
    scheme = shown(url.partition("://")[0])
    return UsageError(f"A {scheme}:// URL alone does not name the backend.", hint="Add --backend NAME.")


def _installs(options: OpenOptions, variables: Mapping[str, str], home: Path) -> tuple[Install, ...]:
    if options.path is not None:
        return (_install_at(options.path, options, variables, home),)
    try:
        return locations.find_installs(variables, home, config_dir=options.config_dir, workspace=options.workspace)
    except Unreadable:
        if options.workspace is None or options.config_dir is not None:
            raise
        return (_install_at(options.workspace, options, variables, home),)
    except NoInstall:
        # A location needs no install, but an install that was named must exist.
        if options.location is None or options.config_dir is not None or options.workspace is not None:
            raise
        if not locations.is_url(options.location):
            return (locations.install_at(Path(options.location), variables, home),)
        if options.backend is None:
            raise _needs_backend(options.location) from None
        return (locations.lone_server(options.location, "the URL given", variables, home),)


def _install_at(path: Path, options: OpenOptions, variables: Mapping[str, str], home: Path) -> Install:
    """Find the install at a path, which may be empty for Markdown, and missing for a store that will be made."""
    try:
        return locations.install_at(path, variables, home)
    except Unreadable:
        info = backend_info(options.backend or "")
        folder = locations.expand(str(path), home)
        is_new = options.is_made and not exists(folder)
        if info is None or not (is_new or (info.has_notes and is_folder(folder))):
            raise
        return locations.install_to_be(path, variables, home, is_folder=info.has_notes)


def _config_of(
    install: Install, options: OpenOptions, variables: Mapping[str, str], source: str | None
) -> MemoryConfig:
    """Load the config of an install; `source` is what chose the backend, if that is not config or option."""
    read_only, version = options.read_only, options.profile
    load = partial(load_config, install, variables, location=options.location, read_only=read_only, version=version)
    config = load(backend=options.backend)
    by_content = None if options.backend is not None else _backend_by_content(install, options.location)
    if by_content is not None and not (has_database(by_content) and has_database(config.backend)):
        config, source = load(backend=by_content), _BY_CONTENT
    info = backend_info(config.backend)
    if locations.is_url(options.location) and options.backend is None and info is not None and not info.takes_url:
        # A backend of files would create a file of this name, and show its password.
        raise _needs_backend(str(options.location))
    if source is not None:
        config = config._replace(sources={**config.sources, _BACKEND: source})
    if install.layout == "lone" and info is not None and not info.in_zeroclaw:
        # ZeroClaw takes every name that it does not know for Markdown.
        config = config._replace(zeroclaw_backend="markdown")
    problem = settings_problem(install)
    return config if problem is None else config._replace(warnings=(*config.warnings, problem))


def _backend_by_content(install: Install, location: str | None) -> str | None:
    """The backend whose store the named file is, by its content; None for anything but a file, and for other files."""
    if locations.is_url(location):
        return None
    if location is not None:
        file = Path(location).expanduser()
    elif install.layout == "lone":
        file = install.database
    else:
        return None
    # The store itself explains why a file cannot be read.
    with suppress(OSError):
        if file.is_file():
            return backend_of_file(file) or ("sqlite" if is_database(file) else None)
    return None


def describe_choice(config: MemoryConfig) -> str:
    """Name the backend, what chose it, and the one that ZeroClaw itself would use if that is another.

    For example `redis: chosen by --backend; ZeroClaw itself would use sqlite.`
    """
    source = config.sources.get(CHOSEN_HERE) or config.sources.get(_BACKEND, DEFAULT)
    chosen = f"chosen by {'--backend' if source == OPTION else source.removeprefix(f'{FILE}, ')}"
    if source == FILE:
        chosen = f"memory.backend in {FILE}"
    elif source == DEFAULT:
        chosen = "the default, because memory.backend is not set"
    line = f"{shown(backend_name(config))}: {chosen}"
    info = backend_info(config.backend)
    is_known_alone = config.install.layout == "lone" and (info is None or info.in_zeroclaw)
    if is_known_alone or config.zeroclaw_backend == (config.backend if info is None else info.key):
        return f"{line}."
    return f"{line}; ZeroClaw itself would use {config.zeroclaw_backend}."


def backend_name(config: MemoryConfig) -> str:
    """The backend of a config, with its alias if it has one."""
    return f"{config.backend}.{config.alias}" if config.alias else config.backend
