"""Choose a store: find the configs that match the options, and list the stores that a config names, with status."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from zeroclaw_tui.backends import factory
from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.config import locations, memory_config
from zeroclaw_tui.config.load import CONFIRMED, READ_ONLY, load_config, store_to_confirm
from zeroclaw_tui.config.locations import Install, OpenOptions, has_markdown, server_address
from zeroclaw_tui.config.memory_config import FILE, MemoryConfig, shown
from zeroclaw_tui.config.settings import confirm_store, settings_problem
from zeroclaw_tui.config.storage import OUR_DB_URLS, SHARED_DB_URL, STORAGE_DB_URL
from zeroclaw_tui.config.toml import read_toml
from zeroclaw_tui.files.database import is_database
from zeroclaw_tui.files.disk import exists, is_folder
from zeroclaw_tui.memory.errors import ASKED_READ_ONLY, InspectorError, NoInstall, NothingYet, Unreadable, UsageError
from zeroclaw_tui.memory.text import mask_secrets

_CONNECTION_STRING = (
    r"\s*(?:host|hostaddr|port|dbname|user|password|passfile|service|sslmode|connect_timeout|options)\s*="
)
_CUT_URL = r"[A-Za-z][A-Za-z0-9+.-]+:/(?!/)"
_KNOWN_SCHEMES = ", ".join(f"{scheme}://…" for info in factory.BACKENDS for scheme in info.schemes)
_URL_HINT = f"Valid URLs: {_KNOWN_SCHEMES}, and http://… or https://… with --backend qdrant."
_BACKEND = "memory.backend"
_BY_CONTENT = "the content of the file"
"""The source of a backend that was recognised from the content of the named file."""
CHOSEN_HERE = "chosen here"
"""The key in `MemoryConfig.sources` for the reason of a store that was chosen from the list of candidates."""


def configs_for(options: OpenOptions, environ: Mapping[str, str] | None = None) -> tuple[MemoryConfig, ...]:
    """Find the configs that match the options, first the one that ZeroClaw uses. Blocks.

    Raises NoInstall, Unreadable, BrokenConfig, and UsageError for a location or a user without a valid path.
    """
    for text in map(str, filter(None, (options.location, options.path))):
        # As a path, either would appear in every error message, with its password.
        if re.match(_CONNECTION_STRING, text) and not Path(text).exists():
            raise UsageError(
                "A PostgreSQL store needs a URL, not host=… user=… password=….",
                hint="Give a URL: postgres://user:password@host:5432/database.",
            )
        if re.match(_CUT_URL, text) and not Path(text).exists():
            raise UsageError("--location is not a valid URL.", hint=_URL_HINT)
    variables = os.environ if environ is None else environ
    source = None
    if options.location is not None and locations.is_url(options.location):
        backend = _backend_of_url(options.location, options.backend)
        source = locations.SCHEME if options.backend is None and backend is not None else None
        options = options._replace(backend=backend)
    home = locations.home_folder(variables, options.config_dir)
    if options.create_missing and options.path is not None and not exists(locations.expand(str(options.path), home)):
        # A new store is a database unless another backend is named.
        options = options._replace(backend=options.backend or "sqlite", location=str(options.path))
    return tuple(_config_of(install, options, variables, source) for install in _installs(options, variables, home))


def _backend_of_url(url: str, named: str | None) -> str | None:
    """Return the named backend, else that of the URL's scheme. Raises UsageError if the URL matches no backend."""
    if not locations.without_password(url):
        raise UsageError("--location is not a valid URL.", hint=_URL_HINT)
    scheme, by_scheme = url.partition("://")[0], factory.backend_of_url(url)
    if named is None:
        if by_scheme is None and scheme.lower() not in ("http", "https"):
            raise UsageError(f"No backend is known for {shown(scheme)}:// URLs.", hint=_URL_HINT)
        return by_scheme
    info = factory.backend_info(named)
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
        # A location needs no install, but a named install must exist.
        if options.location is None or options.config_dir is not None or options.workspace is not None:
            raise
        if not locations.is_url(options.location):
            return (locations.install_at(Path(options.location), variables, home),)
        if options.backend is None:
            raise _needs_backend(options.location) from None
        return (locations.standalone_server(options.location, "the URL given", variables, home),)


def _install_at(path: Path, options: OpenOptions, variables: Mapping[str, str], home: Path) -> Install:
    """Find the install at a path, which may be an empty folder for Markdown, or missing for a new store."""
    try:
        return locations.install_at(path, variables, home)
    except Unreadable:
        info = factory.backend_info(options.backend or "")
        folder = locations.expand(str(path), home)
        is_new = options.create_missing and not exists(folder)
        if info is None or not (is_new or (info.has_notes and is_folder(folder))):
            raise
        return locations.planned_install(path, variables, home, is_folder=info.has_notes)


def _config_of(
    install: Install, options: OpenOptions, variables: Mapping[str, str], source: str | None
) -> MemoryConfig:
    """Load the config of an install; `source` names what chose the backend, if not the config or an option."""
    read_only, version = options.read_only, options.profile
    load = partial(load_config, install, variables, location=options.location, read_only=read_only, version=version)
    config = load(backend=options.backend)
    by_content = None if options.backend is not None else _backend_by_content(install, options.location)
    if by_content is not None and not all(
        factory.known_backend(name).has_database for name in (by_content, config.backend)
    ):
        config, source = load(backend=by_content), _BY_CONTENT
    info = factory.backend_info(config.backend)
    if locations.is_url(options.location) and options.backend is None and info is not None and not info.takes_url:
        # A file backend would create a file with this name, and show the password.
        raise _needs_backend(str(options.location))
    if source is not None:
        config = config._replace(sources={**config.sources, _BACKEND: source})
    if install.layout == "lone" and info is not None and not info.in_zeroclaw:
        # ZeroClaw uses Markdown for every unknown backend name.
        config = config._replace(zeroclaw_backend="markdown")
    problem = settings_problem(install)
    return config if problem is None else config._replace(warnings=(*config.warnings, problem))


def _backend_by_content(install: Install, location: str | None) -> str | None:
    """Recognise the backend of the named file by its content; None for other files, and if it is not a file."""
    if locations.is_url(location):
        return None
    file = Path(location or "").expanduser()
    if location is None and install.layout == "lone":
        file = install.database
    # The store itself explains why a file cannot be read.
    with suppress(OSError):
        if file.is_file():
            return factory.backend_of_file(file) or ("sqlite" if is_database(file) else None)
    return None


def describe_choice(config: MemoryConfig) -> str:
    """Name the backend, what chose it, and the one that ZeroClaw itself would use if that differs."""
    source = _why(config)
    chosen = f"chosen by {source.removeprefix(f'{FILE}, ')}"
    if source == FILE:
        chosen = f"memory.backend in {FILE}"
    elif source == memory_config.DEFAULT:
        chosen = "the default, because memory.backend is not set"
    line = f"{shown(backend_name(config))}: {chosen}"
    info = factory.backend_info(config.backend)
    is_zeroclaws_file = config.install.layout == "lone" and (info is None or info.in_zeroclaw)
    if is_zeroclaws_file or config.zeroclaw_backend == (config.backend if info is None else info.key):
        return f"{line}."
    return f"{line}; ZeroClaw itself would use {config.zeroclaw_backend}."


def backend_name(config: MemoryConfig) -> str:
    """The backend of a config, with its alias if it has one."""
    return f"{config.backend}.{config.alias}" if config.alias else config.backend


# The stores that a config names

BADGES = (
    "keyword", "vectors", "sessions", "agents", "namespaces", "superseded", "pinned", "importance", "kind", "write",
)  # fmt: skip
"""The capabilities of a store, in reading order."""
_DB_URLS = (STORAGE_DB_URL, *OUR_DB_URLS, SHARED_DB_URL)
_ADDRESSES = {"lucid": "storage.binary_path", "postgres": "storage.db_url", "qdrant": "storage.url"}
"""The settings that name a store, by backend, set in config.toml or by an environment variable."""
_UNCONFIRMED = "Only DATABASE_URL names it, so nothing is written until a person confirms it."
_CLOSE_SECONDS = 2.0


class Candidate(NamedTuple):
    """A store that could be opened. `why` is the source that names it ("config.toml", "its memory/brain.db")."""

    config: MemoryConfig
    why: str
    is_current: bool = False

    @property
    def name(self) -> str:
        return backend_name(self.config)

    @property
    def location(self) -> str:
        """The location shown to people: a path, or the address of a server without user, password and options, with
        the schema, table or collection of the config."""
        config = self.config
        place = str(config.location or config.storage.get("url") or config.storage.get("db_url") or "")
        info = factory.backend_info(config.backend)
        if info is not None and not info.takes_url:
            is_file = info.has_database or info.is_foreign_file
            place = config.location or info.place or str(config.database if is_file else config.install.root)
        if place and "://" not in place:
            return place
        # One server may have several stores.
        names = [str(config.storage[name]) for name in ("schema", "table", "collection") if config.storage.get(name)]
        return server_address(place) + (f" · {'.'.join(names)}" if names else "")

    @property
    def is_foreign(self) -> bool:
        """Whether only DATABASE_URL names the store, and no user has confirmed that it is ZeroClaw's."""
        return store_to_confirm(self.config) is not None

    @classmethod
    def from_path(cls, path: Path) -> Candidate:
        """Find the store in a file or directory. Blocks. Raises Unreadable or UsageError if there is none."""
        return cls(configs_for(OpenOptions(path=path))[0], "opened here")

    def confirm(self) -> Candidate:
        """Save that DATABASE_URL is ZeroClaw's; return it as writable. Blocks. Raises BrokenConfig, Unreadable."""
        name = store_to_confirm(self.config)
        if name is not None:
            confirm_store(self.config.install, name)
        warnings = tuple(CONFIRMED if sentence == READ_ONLY else sentence for sentence in self.config.warnings)
        return self._replace(config=self.config._replace(read_only=False, warnings=warnings), is_current=False)


def candidates(
    config: MemoryConfig, environ: Mapping[str, str] | None = None, *, started: MemoryConfig | None = None
) -> tuple[Candidate, ...]:
    """Find the stores named by config.toml, directories, environment and plug-ins, the open one first. Blocks.

    `started` is the config that the program was started with. Raises BrokenConfig if config.toml cannot be read.
    """
    candidates: dict[tuple[str, str, str], Candidate] = {}
    current = Candidate(config, _why(config), is_current=True)
    for candidate in (current, *_known_stores(config, os.environ if environ is None else environ, started)):
        chosen = candidate.config
        candidates.setdefault((chosen.backend, candidate.location, str(chosen.storage)), candidate)
    return tuple(candidates.values())


def _known_stores(
    config: MemoryConfig, environ: Mapping[str, str], started: MemoryConfig | None
) -> Iterator[Candidate]:
    """Yield the stores in display order, some of them twice."""
    if started is not None:
        yield Candidate(started, _why(started))
    install = config.install
    info = factory.backend_info(config.backend)
    if info is not None and info.is_foreign_file and install.layout == "lone":
        # A file of another program has no config.
        return
    is_read_only = any(one.read_only and store_to_confirm(one) is None for one in (config, started or config))
    without_urls = {name: value for name, value in environ.items() if name not in _DB_URLS}

    def load(name: str | None, variables: Mapping[str, str] = environ) -> MemoryConfig:
        return load_config(install, variables, backend=name, read_only=is_read_only)

    def choose(loaded: MemoryConfig, why: str) -> Candidate:
        return Candidate(loaded._replace(sources={**loaded.sources, CHOSEN_HERE: why}), why)

    configured = load(None)
    yield Candidate(configured, _why(configured))
    for name, why in _aliases_in_file(config):
        yield choose(load(name, without_urls), why)
    for variables in (without_urls, environ):
        for name, setting in _ADDRESSES.items():
            loaded = load(name, variables)
            source = loaded.sources.get(setting, memory_config.DEFAULT)
            if source != memory_config.DEFAULT:
                yield choose(loaded, f"a table of {FILE}" if source == FILE else source)
    if exists(install.database):
        yield choose(load("sqlite"), f"its {os.path.relpath(install.database, install.root)}")
    if has_markdown(install.root):
        yield choose(load("markdown"), "its Markdown notes")
    for name in factory.plugin_names():
        yield choose(load(name), "an installed plug-in")
    yield choose(load("none"), "every config")


def _aliases_in_file(config: MemoryConfig) -> Iterator[tuple[str, str]]:
    """Yield the stores with an alias in config.toml (schema 3): the name that selects it, and its table."""
    file = config.install.config_file
    document = (read_toml(file) if file is not None else None) or {}
    notes = memory_config.Notes()
    target = memory_config.target_of(document, config.install, notes)
    if not target.is_modern:
        return
    kinds = notes.table(memory_config.migrate_to_schema_3(document, target, notes), "storage")
    for kind in kinds:
        is_missing = factory.known_backend(kind).has_database and not exists(config.install.database)
        if factory.backend_info(kind) is not None and not is_missing:
            for alias in notes.table(kinds, kind):
                yield f"{kind}.{alias}", f"{FILE}, [storage.{kind}.{alias}]"


def _why(config: MemoryConfig) -> str:
    """The source that names the store of a config."""
    source = config.sources.get(CHOSEN_HERE) or config.sources.get(_BACKEND, memory_config.DEFAULT)
    return "--backend" if source == memory_config.OPTION else source


class StoreStatus(NamedTuple):
    """The result of opening a store to check it."""

    problem: str | None = None
    """Why the store did not open, in a sentence; None if it did."""
    memories: int | None = None
    badges: tuple[str, ...] = ()
    """The capabilities of the store, from BADGES."""
    limitations: Mapping[str, str] = MappingProxyType({})
    """The missing capabilities, from BADGES, each with the reason."""
    is_missing: bool = False
    """Whether ZeroClaw creates the store at its first start."""


async def check_candidate(candidate: Candidate, seconds: float = 5.0) -> StoreStatus:
    """Open a store read-only and count its memories; an error, or no answer in time, is part of the status."""
    memory: Memory | None = None
    try:
        async with asyncio.timeout(seconds):
            # In a thread, because the first use of a backend imports its driver.
            memory = await asyncio.to_thread(factory.create_memory, candidate.config._replace(read_only=True))
            await memory.open()
            count = await memory.count()
    except NothingYet:
        return StoreStatus("not created yet; ZeroClaw creates it at its first start", is_missing=True)
    except InspectorError as error:
        return StoreStatus(mask_secrets(error.message))
    except TimeoutError:
        return StoreStatus(f"no answer within {seconds:g} s")
    finally:
        if memory is not None:
            # A server that does not answer must not delay the result.
            with suppress(TimeoutError, InspectorError):
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await memory.close()
    limitations = {name: memory.why_not[name] for name in BADGES if name in memory.why_not}
    if limitations.get("write") == ASKED_READ_ONLY:
        if candidate.is_foreign:
            limitations["write"] = _UNCONFIRMED
        elif not candidate.config.read_only:
            # The store was opened read-only just for this check.
            del limitations["write"]
    return StoreStatus(None, count, tuple(name for name in BADGES if name not in limitations), limitations)
