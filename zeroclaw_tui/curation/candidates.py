"""From what a person typed to the configs it may mean, and the other stores a config knows, each with how it is."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.factory import (
    BACKENDS,
    backend_info,
    backend_of_file,
    backend_of_url,
    create_memory,
    has_database,
    has_notes,
    plugin_names,
)
from zeroclaw_tui.config.load import CONFIRMED, READ_ONLY, load_config, store_to_confirm
from zeroclaw_tui.config.locations import (
    SCHEME,
    OpenOptions,
    expand,
    find_installs,
    has_markdown,
    home_folder,
    install_at,
    install_to_be,
    is_connection_string,
    is_url,
    lone_server,
    read_toml,
    without_password,
)
from zeroclaw_tui.config.memory_config import (
    DEFAULT,
    FILE,
    OPTION,
    MemoryConfig,
    Notes,
    form_of,
    shown,
    to_third_schema,
)
from zeroclaw_tui.config.settings import confirm_store, settings_problem
from zeroclaw_tui.config.storage import (
    LUCID_VARIABLES,
    OTHERS_DB_URL,
    OUR_DB_URLS,
    STORAGE_DB_URL,
    STORAGE_PROVIDER,
    source_of,
)
from zeroclaw_tui.files.database import is_database
from zeroclaw_tui.files.disk import exists, is_folder
from zeroclaw_tui.memory.errors import ASKED_READ_ONLY, InspectorError, NoInstall, NothingYet, Unreadable, UsageError
from zeroclaw_tui.memory.text import mask_secrets

if TYPE_CHECKING:
    from zeroclaw_tui.config.locations import Install


_NAMED = "the URL given"
_BY_CONTENT = "recognized by the file's contents"
_CUT_URL = r"[A-Za-z][A-Za-z0-9+.-]+:/(?!/)"
_WEB = frozenset({"http", "https"})
_KNOWN_SCHEMES = ", ".join(f"{scheme}://…" for profile in BACKENDS for scheme in profile.schemes)
_URL_HINT = f"Valid URLs: {_KNOWN_SCHEMES}, and http://… or https://… with --backend qdrant."


def configs_for(options: OpenOptions, environ: Mapping[str, str] | None = None) -> tuple[MemoryConfig, ...]:
    """The configs the options may mean, the one that wins first.

    Raises NoInstall, Unreadable, BrokenConfig, or UsageError for a user without a home or a location that cannot be
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
    """Raise UsageError, which shows nothing of it, for libpq's `host=… password=…` and for a URL that lacks a slash.

    Taken for a path either would be printed, password and all, by every error.
    """
    if given is not None and is_connection_string(str(given)) and not Path(given).exists():
        raise UsageError(
            "A PostgreSQL store needs a URL, not host=… user=… password=….",
            hint="Give a URL: postgres://user:password@host:5432/database.",
        )
    if given is not None and re.match(_CUT_URL, str(given)) and not Path(given).exists():
        raise UsageError("--location is not a valid URL.", hint=_URL_HINT)


def _with_backend(options: OpenOptions) -> OpenOptions:
    """The same with the backend that the scheme of a URL means. Raises UsageError for a URL that fits no backend."""
    url = options.location
    if url is None or not is_url(url):
        return options
    if not without_password(url):
        raise UsageError("--location is not a valid URL.", hint=_URL_HINT)
    meant = backend_of_url(url)
    if options.backend is None:
        if meant is None and url.partition("://")[0].lower() not in _WEB:
            raise UsageError(f"No backend is known for {_shown_scheme(url)} URLs.", hint=_URL_HINT)
        return options._replace(backend=meant, backend_by_scheme=meant is not None)
    profile = backend_info(options.backend)
    name = options.backend if profile is None else profile.key
    if profile is not None and (not profile.takes_url or meant not in (None, name)):
        raise UsageError(f"The backend {name} does not use {_shown_scheme(url)} URLs.", hint=_URL_HINT)
    return options


def _no_backend(url: str) -> UsageError:
    return UsageError(f"A {_shown_scheme(url)} URL alone does not name the backend.", hint="Add --backend NAME.")


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
            raise _no_backend(options.location) from None
        return (lone_server(options.location, _NAMED, variables, home),)


def _named(path: Path, options: OpenOptions, variables: Mapping[str, str], home: Path) -> Install:
    """The install at a path; a folder that is named for Markdown may have nothing in it yet."""
    try:
        return install_at(path, variables, home)
    except Unreadable as error:
        kind = backend_info(options.backend or "")
        if options.is_made and kind is not None and not exists(expand(str(path), home)):
            return install_to_be(path, variables, home, is_folder=kind.has_notes)
        folder = expand(str(path), home)
        if not is_folder(folder):
            raise
        if kind is None:
            from zeroclaw_tui.curation.formats.registry import not_a_store

            raise not_a_store(folder, error) from error
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


def _names_database(location: str | None) -> bool:
    """Whether it is the path of a SQLite database that is no other program's."""
    if location is None or is_url(location):
        return False
    file = Path(location).expanduser()
    try:
        return file.is_file() and backend_of_file(file) is None and is_database(file)
    except OSError:
        # Opening it says why it cannot be read.
        return False


def _config_of(install: Install, options: OpenOptions, variables: Mapping[str, str]) -> MemoryConfig:
    def load(backend: str | None) -> MemoryConfig:
        return load_config(
            install,
            variables,
            backend=backend,
            location=options.location,
            read_only=options.read_only,
            version=options.profile,
        )

    by_content = None if options.backend is not None else _backend_by_content(install, options)
    config = load(by_content or options.backend)
    if options.backend is None and not has_database(config.backend) and _names_database(options.location):
        # The store in use is another one, whose backend would take a database for notes, or for nothing.
        by_content = "sqlite"
        config = load(by_content)
    kind = backend_info(config.backend)
    if is_url(options.location) and options.backend is None and kind is not None and not kind.takes_url:
        # A file backend would take it for a path, which is printed with its password and may even be created.
        raise _no_backend(str(options.location))
    if by_content is not None:
        config = config._replace(sources={**config.sources, "memory.backend": _BY_CONTENT})
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
    from zeroclaw_tui.curation.formats.registry import owner_of_notes

    found = owner_of_notes(folder)
    if found is None:
        return config
    reason = f"These notes look like those of {found.title}, which can only be read here."
    return config._replace(read_only=True, read_only_because=reason)


MARKS = (
    "keyword", "vectors", "sessions", "agents", "namespaces", "superseded", "pinned", "importance", "kind", "write",
)  # fmt: skip
"""What a standing tells of, in reading order."""
CHOSEN_HERE = "chosen here"
"""Among the sources of a config: what names a store that a person looks at in place of the one in use."""
_URLS = (STORAGE_DB_URL, *OUR_DB_URLS, OTHERS_DB_URL)
_LUCID = ("ZEROCLAW_LUCID_CMD", *LUCID_VARIABLES)
_USUAL = {"schema": "public", "table": "memories"}
_FOREIGN = "Only DATABASE_URL names it, so nothing is written until a person confirms it."
_CLOSING_SECONDS = 2.0
NOT_THERE_YET = "not created yet; ZeroClaw creates it at its first start"


class Candidate(NamedTuple):
    """One store that could be opened. `why` is what names it ("config.toml", "its memory/brain.db")."""

    config: MemoryConfig
    why: str
    is_current: bool = False

    @property
    def name(self) -> str:
        """The backend, with its alias where the config has one."""
        config = self.config
        return f"{config.backend}.{config.alias}" if config.alias else config.backend

    @property
    def location(self) -> str:
        """Where it lies, without any password: a path, or the address of a server."""
        return location_of(self.config)

    @property
    def is_foreign(self) -> bool:
        """Whether only DATABASE_URL names it, which may be another program's database."""
        return is_foreign(self.config)

    @classmethod
    def of_file(cls, path: Path) -> Candidate:
        """A file or folder as a store to look at, of the kind its content says.

        Blocks for a few file looks. Raises Unreadable or UsageError for one that holds no memories.
        """
        return cls(configs_for(OpenOptions(path=path))[0], "opened here")

    def confirmed(self) -> Candidate:
        """The same as it may be opened from now on: a person says that its database is ZeroClaw's, which is kept.

        Blocks. Raises BrokenConfig or Unreadable when that cannot be kept.
        """
        name = store_to_confirm(self.config)
        if name is not None:
            confirm_store(self.config.install, name)
        warnings = tuple(CONFIRMED if told == READ_ONLY else told for told in self.config.warnings)
        return self._replace(config=self.config._replace(read_only=False, warnings=warnings), is_current=False)


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """How a candidate is: whether it opened, a sentence where it did not, how many memories, and what it can do.

    `marks` are names of what it can do ("keyword", "vectors", "sessions", "agents", "write"); `cannot` maps each other
    one to its reason.
    """

    ok: bool
    summary: str
    count: int | None = None
    marks: tuple[str, ...] = ()
    cannot: tuple[tuple[str, str], ...] = ()

    @property
    def is_not_there_yet(self) -> bool:
        """Whether ZeroClaw would make it at its first start."""
        return self.summary == NOT_THERE_YET


def candidates(
    config: MemoryConfig, environ: Mapping[str, str] | None = None, *, started: MemoryConfig | None = None
) -> tuple[Candidate, ...]:
    """Every store the config of this install, its folders, the environment and the plug-ins know; the current first.

    `started` is the config the session began with, which stays a candidate. No store is named twice. Blocks for a few
    file looks: run it in a thread. Raises BrokenConfig where config.toml cannot be read any more.
    """
    variables = os.environ if environ is None else environ
    known: dict[tuple[Any, ...], Candidate] = {}
    for candidate in _known(config, variables, started):
        known.setdefault(_place(candidate.config), candidate)
    # What a person chose here is named by what makes it known.
    same = known.pop(_place(config), None)
    why = same.why if same is not None and _why(config) == OPTION else _why(config)
    return (Candidate(config, why, is_current=True), *known.values())


async def standing_of(candidate: Candidate, profile: str | None, seconds: float = 5.0) -> StoreStatus:
    """Open it read-only, count, and let go of it; what goes wrong or takes longer is told in the answer.

    `profile` is the ZeroClaw version whose rules were asked for; how a store stands does not depend on it.
    """
    config = candidate.config
    memory: Memory | None = None
    try:
        async with asyncio.timeout(seconds):
            # Made in a thread: the first look at a backend imports its driver.
            memory = await asyncio.to_thread(create_memory, config._replace(read_only=True))
            await memory.open()
            count = await memory.count()
            return _standing(memory, config, count)
    except NothingYet:
        return StoreStatus(False, NOT_THERE_YET)
    except InspectorError as error:
        return StoreStatus(False, mask_secrets(error.message))
    except TimeoutError:
        return StoreStatus(False, f"no answer within {seconds:g} s")
    finally:
        if memory is not None:
            await _let_go(memory)


def location_of(config: MemoryConfig) -> str:
    """Where the store of a config lies, for people: a path, or a server's address without user, password and query."""
    profile = backend_info(config.backend)
    has_options = profile is not None and profile.has_url_options
    if config.location and not has_options:
        return _address(config.location) if "://" in config.location else config.location
    if profile is not None and not profile.takes_url:
        is_file = profile.has_local_database or profile.is_foreign_file
        return profile.place or str(config.database if is_file else config.install.root)
    url = str(config.location or config.storage.get("url") or config.storage.get("db_url") or "")
    from urllib.parse import parse_qsl

    named = {**_USUAL, **config.storage, **(dict(parse_qsl(url.partition("?")[2])) if has_options else {})}
    within = ".".join(str(named[name]) for name in (() if profile is None else profile.within) if named.get(name))
    return _address(url) + (f" · {within}" if within else "")


def chosen_words(config: MemoryConfig) -> str:
    """What chose the store, in one line."""
    why = config.sources.get(CHOSEN_HERE)
    line = describe_choice(config)
    return line if why is None else line.replace("--backend stands above", f"chosen here ({why}) in place of")


def is_foreign(config: MemoryConfig) -> bool:
    """Whether the store is the one DATABASE_URL names and nobody has said yet that it is ZeroClaw's."""
    return store_to_confirm(config) is not None


def _known(config: MemoryConfig, environ: Mapping[str, str], started: MemoryConfig | None) -> Iterator[Candidate]:
    """The candidates in the order they are shown, some of them twice."""
    if started is not None:
        yield Candidate(started, _why(started))
    asked_read_only = any(one.read_only and not is_foreign(one) for one in (config, started or config))

    def loaded(name: str | None, why: str | None, variables: Mapping[str, str] = environ) -> Candidate:
        made = load_config(config.install, variables, backend=name, read_only=asked_read_only)
        if why is not None:
            made = made._replace(sources={**made.sources, CHOSEN_HERE: why})
        return Candidate(made, why or _why(made))

    open_here = backend_info(config.backend)
    if open_here is not None and open_here.is_foreign_file and config.install.layout == "lone":
        # No config is there, and the file is none of ZeroClaw's.
        return
    yield loaded(None, None)
    yield from (loaded(name, why, _without_urls(environ)) for name, why in _in_file(config))
    if exists(config.install.database):
        yield loaded("sqlite", f"its {_short(config, config.install.database)}")
        given = next((name for name in _LUCID if environ.get(name, "").strip()), None)
        if given is not None:
            yield loaded("lucid", source_of(given))
    if has_markdown(config.install.root):
        yield loaded("markdown", "its Markdown notes")
    for variable in _URLS:
        if environ.get(variable, "").strip():
            made = loaded("postgres", source_of(variable), {**_without_urls(environ), variable: environ[variable]})
            if made.config.sources.get("storage.db_url") == source_of(variable):
                yield made
    if environ.get("QDRANT_URL", "").strip():
        made = loaded("qdrant", source_of("QDRANT_URL"))
        if made.config.sources.get("storage.url") == source_of("QDRANT_URL"):
            yield made
    yield from (loaded(name, "an installed plug-in") for name in plugin_names())
    yield loaded("none", "every config")


def _in_file(config: MemoryConfig) -> Iterator[tuple[str, str]]:
    """Each store that config.toml has settings for: the name that chooses it, and which table names it."""
    file = config.install.config_file
    document = (read_toml(file) if file is not None else None) or {}
    notes = Notes()
    form = form_of(document, config.install, notes)
    if not form.is_modern:
        provider = notes.table(document, "storage", "provider", "config")
        named = backend_info(str(provider.get("provider") or ""))
        if provider.get("db_url") or (named is not None and named.has_url_options):
            yield "postgres", f"{FILE}, [storage.provider.config]"
        for kind in ("postgres", "qdrant"):
            if notes.table(document, "memory", kind):
                yield kind, f"{FILE}, [memory.{kind}]"
        return
    kinds = notes.table(to_third_schema(document, form, notes), "storage")
    for kind in kinds:
        is_file_store = has_database(kind)
        if backend_info(kind) is None or (is_file_store and not exists(config.install.database)):
            continue
        for alias in notes.table(kinds, kind):
            yield f"{kind}.{alias}", f"{FILE}, [storage.{kind}.{alias}]"


def _place(config: MemoryConfig) -> tuple[Any, ...]:
    """What tells one store from another, whatever names it."""
    kind, storage = config.backend, config.storage
    if config.location:
        return (kind, config.location)
    profile = backend_info(kind)
    if profile is not None and not profile.takes_url:
        return (kind, location_of(config))
    named = ("db_url", "schema", "table", "url", "collection")
    return (kind, *(str(storage.get(name, "")).rstrip("/") for name in named))


def _standing(memory: Memory, config: MemoryConfig, count: int) -> StoreStatus:
    marks = tuple(name for name in MARKS if name not in memory.why_not)
    cannot = tuple((name, memory.why_not[name]) for name in MARKS if name in memory.why_not)
    if is_foreign(config):
        cannot = tuple((name, _FOREIGN if why == ASKED_READ_ONLY else why) for name, why in cannot)
    elif not config.read_only:
        # It was opened so only for this look, so that nothing is told about writing by that.
        cannot = tuple((name, why) for name, why in cannot if why != ASKED_READ_ONLY)
        is_silent = "write" not in marks and all(name != "write" for name, _ in cannot)
        marks = (*marks, "write") if is_silent else marks
    said = "keeps nothing" if memory.about.keeps_nothing else "answers"
    return StoreStatus(True, said, count, marks, cannot)


async def _let_go(memory: Memory) -> None:
    # A server that hangs must not hold up the answer that it does.
    with suppress(TimeoutError, InspectorError):
        async with asyncio.timeout(_CLOSING_SECONDS):
            await memory.close()


def _why(config: MemoryConfig) -> str:
    return config.sources.get("memory.backend", "") or "opened"


def _short(config: MemoryConfig, path: os.PathLike[str]) -> str:
    """A path from the workspace on."""
    return os.path.relpath(path, config.install.root)


def _without_urls(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name not in _URLS}


def _address(url: object) -> str:
    """Host, port and database of a URL; anything else in it may be a secret."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(str(url or ""))
        host, port = parts.hostname, parts.port
    except ValueError:
        return "an address that cannot be read"
    if not parts.scheme:
        return "no address"
    shown = f"[{host}]" if host and ":" in host else host or "localhost"
    return f"{parts.scheme}://{shown}{f':{port}' if port else ''}{parts.path.rstrip('/')}"


_BACKEND = "memory.backend"


def describe_choice(config: MemoryConfig) -> str:
    """Give the backend, what chose it over what, and what ZeroClaw itself would use if that is another.

    For example `postgres: [storage.provider.config] provider stands above memory.backend = "sqlite".`
    """
    profile = backend_info(config.backend)
    is_known = profile is not None and profile.in_zeroclaw
    line = f"{shown(f'{config.backend}.{config.alias}' if config.alias else config.backend)}: {_choice_reason(config)}"
    if config.install.layout == "lone":
        if profile is None or is_known:
            return f"{line}."
        return f"{line}; ZeroClaw itself does not know that name and would use Markdown."
    if config.zeroclaw_backend == (config.backend if profile is None else profile.key):
        return f"{line}."
    by_option = config.sources.get(_BACKEND) in (OPTION, SCHEME)
    reason = "" if is_known or by_option else ", since it does not know that name"
    return f"{line}; ZeroClaw itself would use {config.zeroclaw_backend}{reason}."


def _choice_reason(config: MemoryConfig) -> str:
    source = config.sources.get(_BACKEND, DEFAULT)
    written = config.values.get("backend")
    setting = f'memory.backend = "{shown(written)}"' if isinstance(written, str) else None
    in_file = source.startswith(FILE)
    if setting and (source in (DEFAULT, FILE) or (in_file and written == config.backend)):
        return f"{setting} in {FILE}"
    if source == DEFAULT:
        return "the default, since memory.backend is not set"
    if (in_file and setting is None) or (source.startswith("environment") and source != source_of(STORAGE_PROVIDER)):
        return source
    if config.install.layout == "lone":
        return "named by --backend" if source == OPTION else source
    chosen = "--backend" if source == OPTION else source.removeprefix(f"{FILE}, ")
    return f"{chosen} stands above {setting or 'the default, sqlite'}"
