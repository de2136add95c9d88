"""The stores that a config knows besides the open one, and the status of each."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.factory import backend_info, create_memory, has_database, plugin_names
from zeroclaw_tui.config.load import CONFIRMED, READ_ONLY, load_config, store_to_confirm
from zeroclaw_tui.config.locations import OpenOptions, has_markdown, server_address
from zeroclaw_tui.config.memory_config import FILE, OPTION, MemoryConfig, Notes, target_of, to_third_schema
from zeroclaw_tui.config.settings import confirm_store
from zeroclaw_tui.config.storage import OTHERS_DB_URL, OUR_DB_URLS, STORAGE_DB_URL
from zeroclaw_tui.config.toml import read_toml
from zeroclaw_tui.curation.config_choice import CHOSEN_HERE, backend_name, configs_for
from zeroclaw_tui.files.disk import exists
from zeroclaw_tui.memory.errors import ASKED_READ_ONLY, InspectorError, NothingYet
from zeroclaw_tui.memory.text import mask_secrets

BADGES = (
    "keyword", "vectors", "sessions", "agents", "namespaces", "superseded", "pinned", "importance", "kind", "write",
)  # fmt: skip
"""What a store may be able to do, in reading order."""
_DB_URLS = (STORAGE_DB_URL, *OUR_DB_URLS, OTHERS_DB_URL)
_NAMED_BY_ENVIRONMENT = {"lucid": "storage.binary_path", "postgres": "storage.db_url", "qdrant": "storage.url"}
"""The backends whose store an environment variable may name, each with the setting that it replaces."""
_DEFAULT_TABLE = {"schema": "public", "table": "memories"}
_UNCONFIRMED = "Only DATABASE_URL names it, so nothing is written until a person confirms it."
_CLOSE_SECONDS = 2.0


class Candidate(NamedTuple):
    """A store that could be opened. `why` is what names it ("config.toml", "its memory/brain.db")."""

    config: MemoryConfig
    why: str
    is_current: bool = False

    @property
    def name(self) -> str:
        return backend_name(self.config)

    @property
    def location(self) -> str:
        """Where the store is, for people: a path, or the address of a server without user, password and options."""
        config = self.config
        info = backend_info(config.backend)
        has_options = info is not None and info.has_url_options
        if config.location and not has_options:
            return server_address(config.location) if "://" in config.location else config.location
        if info is not None and not info.takes_url:
            is_file = info.has_local_database or info.is_foreign_file
            return info.place or str(config.database if is_file else config.install.root)
        from urllib.parse import parse_qsl

        url = str(config.location or config.storage.get("url") or config.storage.get("db_url") or "")
        named = {**_DEFAULT_TABLE, **config.storage, **(dict(parse_qsl(url.partition("?")[2])) if has_options else {})}
        within = ".".join(str(named[name]) for name in (() if info is None else info.within) if named.get(name))
        return server_address(url) + (f" · {within}" if within else "")

    @property
    def is_foreign(self) -> bool:
        """Whether only DATABASE_URL names the store, and nobody has confirmed yet that it is ZeroClaw's."""
        return store_to_confirm(self.config) is not None

    @classmethod
    def from_path(cls, path: Path) -> Candidate:
        """The store in a file or directory. Blocks. Raises Unreadable or UsageError if there is none."""
        return cls(configs_for(OpenOptions(path=path))[0], "opened here")

    def confirmed(self) -> Candidate:
        """Remember that the database of DATABASE_URL is ZeroClaw's, and return it open for writing. Blocks.

        Raises BrokenConfig or Unreadable if this cannot be saved.
        """
        name = store_to_confirm(self.config)
        if name is not None:
            confirm_store(self.config.install, name)
        warnings = tuple(CONFIRMED if sentence == READ_ONLY else sentence for sentence in self.config.warnings)
        return self._replace(config=self.config._replace(read_only=False, warnings=warnings), is_current=False)


def candidates(
    config: MemoryConfig, environ: Mapping[str, str] | None = None, *, started: MemoryConfig | None = None
) -> tuple[Candidate, ...]:
    """Find the stores that config.toml, the directories, the environment and plug-ins name, the open one first. Blocks.

    `started` is the config with which the program was started. Raises BrokenConfig if config.toml cannot be read.
    """
    found: dict[tuple[str, str], Candidate] = {}
    current = Candidate(config, _why(config), is_current=True)
    for candidate in (current, *_known_stores(config, os.environ if environ is None else environ, started)):
        found.setdefault((candidate.config.backend, candidate.location), candidate)
    return tuple(found.values())


def _known_stores(
    config: MemoryConfig, environ: Mapping[str, str], started: MemoryConfig | None
) -> Iterator[Candidate]:
    """The stores in the order in which they are shown, some of them twice."""
    if started is not None:
        yield Candidate(started, _why(started))
    install = config.install
    info = backend_info(config.backend)
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
    for name, why in _stores_in_file(config):
        yield choose(load(name, without_urls), why)
    if exists(install.database):
        yield choose(load("sqlite"), f"its {os.path.relpath(install.database, install.root)}")
    if has_markdown(install.root):
        yield choose(load("markdown"), "its Markdown notes")
    for name, setting in _NAMED_BY_ENVIRONMENT.items():
        loaded = load(name)
        source = loaded.sources.get(setting, "")
        if source.startswith("environment "):
            yield choose(loaded, source)
    for name in plugin_names():
        yield choose(load(name), "an installed plug-in")
    yield choose(load("none"), "every config")


def _stores_in_file(config: MemoryConfig) -> Iterator[tuple[str, str]]:
    """Each store that config.toml has settings for: the name that chooses it, and the table that names it."""
    file = config.install.config_file
    document = (read_toml(file) if file is not None else None) or {}
    notes = Notes()
    target = target_of(document, config.install, notes)
    if not target.is_modern:
        provider = notes.table(document, "storage", "provider", "config")
        info = backend_info(str(provider.get("provider") or ""))
        if provider.get("db_url") or (info is not None and info.has_url_options):
            yield "postgres", f"{FILE}, [storage.provider.config]"
        for kind in ("postgres", "qdrant"):
            if notes.table(document, "memory", kind):
                yield kind, f"{FILE}, [memory.{kind}]"
        return
    kinds = notes.table(to_third_schema(document, target, notes), "storage")
    for kind in kinds:
        is_missing = has_database(kind) and not exists(config.install.database)
        if backend_info(kind) is not None and not is_missing:
            for alias in notes.table(kinds, kind):
                yield f"{kind}.{alias}", f"{FILE}, [storage.{kind}.{alias}]"


def _why(config: MemoryConfig) -> str:
    source = config.sources.get(CHOSEN_HERE) or config.sources.get("memory.backend") or "opened"
    return "--backend" if source == OPTION else source


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """The result of opening a store for a look."""

    problem: str | None = None
    """Why the store did not open, in a sentence; None if it did."""
    count: int | None = None
    badges: tuple[str, ...] = ()
    """What the store can do, of BADGES."""
    limitations: Mapping[str, str] = field(default_factory=dict)
    """What it cannot do, of BADGES, each with the reason."""
    is_missing: bool = False
    """Whether ZeroClaw creates the store at its first start."""


async def check_candidate(candidate: Candidate, seconds: float = 5.0) -> StoreStatus:
    """Open a store read-only and count its memories; an error, or no answer in time, is part of the status."""
    memory: Memory | None = None
    try:
        async with asyncio.timeout(seconds):
            # In a thread, because the first look at a backend imports its driver.
            memory = await asyncio.to_thread(create_memory, candidate.config._replace(read_only=True))
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
            # A server that does not answer must not delay the answer.
            with suppress(TimeoutError, InspectorError):
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await memory.close()
    limitations = {name: memory.why_not[name] for name in BADGES if name in memory.why_not}
    if limitations.get("write") == ASKED_READ_ONLY:
        if candidate.is_foreign:
            limitations["write"] = _UNCONFIRMED
        elif not candidate.config.read_only:
            # The store is read-only for this look alone.
            del limitations["write"]
    return StoreStatus(None, count, tuple(name for name in BADGES if name not in limitations), limitations)
