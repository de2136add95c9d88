"""From what a person typed to the configs it may mean."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.factory import BACKENDS, backend_of_file, backend_of_url, backend_profile, has_notes
from zeroclaw_tui.config.load import load_config
from zeroclaw_tui.config.locations import (
    SCHEME,
    exists,
    expand,
    find_installs,
    home_folder,
    install_at,
    install_to_be,
    is_connection_string,
    is_folder,
    is_url,
    lone_server,
    without_password,
)
from zeroclaw_tui.config.memory_config import shown
from zeroclaw_tui.config.settings import settings_problem
from zeroclaw_tui.memory.errors import NoInstall, Unreadable, WrongUse

if TYPE_CHECKING:
    from zeroclaw_tui.config.locations import Install, OpenOptions
    from zeroclaw_tui.config.memory_config import MemoryConfig

_NAMED = "the URL given"
_BY_CONTENT = "known by what is in the file"
_WEB = frozenset({"http", "https"})
_KNOWN_SCHEMES = ", ".join(f"{scheme}://…" for profile in BACKENDS for scheme in profile.schemes)
_URL_HINT = f"Known are {_KNOWN_SCHEMES}, and http://… or https://… with --backend qdrant."


def configs_for(options: OpenOptions, environ: Mapping[str, str] | None = None) -> tuple[MemoryConfig, ...]:
    """The configs the options may mean, the one that wins first.

    Raises NoInstall, Unreadable, BrokenConfig, or WrongUse for a user without a home or a location that cannot be
    meant, each with what to do next.
    """
    for given in (options.location, options.path):
        check_location(given)
    options = _with_backend(options)
    variables = os.environ if environ is None else environ
    home = home_folder(variables, options.config_dir)
    if options.is_made and options.path is not None and not exists(expand(str(options.path), home)):
        # What is not there tells no backend, and a database is what ZeroClaw makes unless it is told otherwise.
        options = options._replace(backend=options.backend or "sqlite", location=str(options.path))
    return tuple(_config_of(install, options, variables) for install in _found(options, variables, home))


def check_location(given: str | Path | None) -> None:
    """Raise WrongUse, which shows nothing of it, for libpq's `host=… password=…`: taken for a path it would be named,
    password and all, by every error."""
    if given is not None and is_connection_string(str(given)) and not Path(given).exists():
        raise WrongUse(
            "A PostgreSQL database is named by a URL here, not by host=… user=… password=….",
            hint="Give a URL: postgres://user:password@host:5432/database.",
        )


def _with_backend(options: OpenOptions) -> OpenOptions:
    """The same with the backend that the scheme of a URL means. Raises WrongUse for a URL that fits no backend."""
    url = options.location
    if url is None or not is_url(url):
        return options
    if not without_password(url):
        raise WrongUse("--location is no URL that can be read.", hint=_URL_HINT)
    meant = backend_of_url(url)
    if options.backend is None:
        if meant is None and url.partition("://")[0].lower() not in _WEB:
            raise WrongUse(f"No backend is known for {_shown_scheme(url)} URLs.", hint=_URL_HINT)
        return options._replace(backend=meant, backend_by_scheme=meant is not None)
    profile = backend_profile(options.backend)
    name = options.backend if profile is None else profile.key
    if profile is not None and (not profile.takes_url or meant not in (None, name)):
        raise WrongUse(f"The backend {name} is not reached by a {_shown_scheme(url)} URL.", hint=_URL_HINT)
    return options


def _shown_scheme(url: str) -> str:
    return f"{shown(url.partition('://')[0])}://"


def _found(options: OpenOptions, variables: Mapping[str, str], home: Path) -> tuple[Install, ...]:
    if options.path is not None:
        return (_named(options.path, options, variables, home),)
    try:
        return find_installs(variables, home, config_dir=options.config_dir, workspace=options.workspace)
    except Unreadable:
        if options.workspace is None or options.config_dir is not None:
            raise
        return (_named(options.workspace, options, variables, home),)
    except NoInstall:
        # A store that is fully named needs no install around it, but one that is named as well must be there.
        if options.location is None or options.config_dir is not None or options.workspace is not None:
            raise
        if not is_url(options.location):
            return (install_at(Path(options.location), variables, home),)
        if options.backend is None:
            raise WrongUse(
                f"{_shown_scheme(options.location)} alone does not say which backend it is.", hint="Add --backend NAME."
            ) from None
        return (lone_server(options.location, _NAMED, variables, home),)


def _named(path: Path, options: OpenOptions, variables: Mapping[str, str], home: Path) -> Install:
    """The install at a path; a folder that is named for Markdown may have nothing in it yet."""
    try:
        return install_at(path, variables, home)
    except Unreadable as error:
        kind = backend_profile(options.backend or "")
        if options.is_made and kind is not None and not exists(expand(str(path), home)):
            return install_to_be(path, variables, home, is_folder=kind.has_notes)
        folder = expand(str(path), home)
        if not is_folder(folder):
            raise
        if kind is None:
            from zeroclaw_tui.curation.formats.detection import in_place_of

            raise in_place_of(folder, error) from error
        if not kind.has_notes:
            raise
        return install_to_be(path, variables, home, is_folder=True)


def _backend_by_content(install: Install, options: OpenOptions) -> str | None:
    """The backend of another program whose store the named file is; None for any other file."""
    if options.location is not None:
        file = None if is_url(options.location) else Path(options.location).expanduser()
    else:
        file = install.database if install.layout == "lone" else None
    if file is None or not file.is_file():
        return None
    return backend_of_file(file)


def _config_of(install: Install, options: OpenOptions, variables: Mapping[str, str]) -> MemoryConfig:
    by_content = None if options.backend is not None else _backend_by_content(install, options)
    config = load_config(
        install,
        variables,
        backend=by_content or options.backend,
        location=options.location,
        read_only=options.read_only,
        version=options.profile,
    )
    if by_content is not None:
        config = config._replace(sources={**config.sources, "memory.backend": _BY_CONTENT})
    kind = backend_profile(config.backend)
    if install.layout == "lone" and kind is not None and not kind.in_zeroclaw:
        # No config says anything else: this is what every name that ZeroClaw does not know leads to.
        config = config._replace(zeroclaw_backend="markdown")
    if options.backend_by_scheme:
        config = config._replace(sources={**config.sources, "memory.backend": SCHEME})
    if install.layout == "lone" and options.backend is None and has_notes(config.backend):
        config = _of_another_tool(config)
    problem = settings_problem(install)
    return config if problem is None else config._replace(warnings=(*config.warnings, problem))


def _of_another_tool(config: MemoryConfig) -> MemoryConfig:
    """The notes of another tool are only looked at, and it is said what brings them in."""
    folder = Path(config.location).expanduser() if config.location is not None else config.install.root
    if not is_folder(folder):
        return config
    from zeroclaw_tui.curation.formats.detection import notes_of_another

    told = notes_of_another(folder)
    return config if told is None else config._replace(read_only=True, read_only_because=told)
