"""The table of known backends, and the creation of the store of a config."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from zeroclaw_tui.backends.plugins import installed_plugins
from zeroclaw_tui.memory.errors import DriverMissing, Refused, UsageError

if TYPE_CHECKING:
    from zeroclaw_tui.backends.base import Memory
    from zeroclaw_tui.backends.health import StartCheck
    from zeroclaw_tui.config.memory_config import MemoryConfig

_OTHER_NAMES = {"postgresql": "postgres", "md": "markdown"}


class BackendInfo(NamedTuple):
    """The properties of one backend."""

    key: str
    label: str
    in_zeroclaw: bool = True
    """Whether any ZeroClaw release has this backend."""
    has_database: bool = False
    """Whether its memories are in a brain.db on this machine."""
    has_notes: bool = False
    """Whether its memories are a folder of Markdown."""
    is_foreign_file: bool = False
    """Whether its memories are one file of another program."""
    keeps_nothing: bool = False
    place: str = ""
    """Where its memories are, if neither in a file nor behind a URL."""
    schemes: tuple[str, ...] = ()
    """The URL schemes that belong to this backend alone."""
    forwards_writes: bool = False
    """Whether it also passes stored memories to another program, which keeps them."""

    @property
    def title(self) -> str:
        """Its name in sentences."""
        return self.label.partition(":")[0]

    @property
    def takes_url(self) -> bool:
        """Whether its location can be a URL."""
        return not (self.has_database or self.has_notes or self.is_foreign_file or self.place)


BACKENDS: tuple[BackendInfo, ...] = (
    BackendInfo("sqlite", "SQLite: one local file, keyword and vector search (recommended)", has_database=True),
    BackendInfo(
        "lucid",
        "Lucid: the local SQLite file, and the lucid program for what is not found there",
        has_database=True,
        forwards_writes=True,
    ),
    BackendInfo("postgres", "PostgreSQL: a server, reached by URL", schemes=("postgres", "postgresql")),
    BackendInfo("markdown", "Markdown: plain files that people can read and edit", has_notes=True),
    BackendInfo("qdrant", "Qdrant: a vector database, reached by URL"),
    BackendInfo(
        "redis",
        "Redis: a server, reached by URL; ZeroClaw itself does not know it",
        in_zeroclaw=False,
        schemes=("redis", "rediss"),
    ),
    BackendInfo(
        "rmem",
        "R-Mem: another program's store; ZeroClaw itself does not know it",
        in_zeroclaw=False,
        is_foreign_file=True,
    ),
    BackendInfo(
        "memory-rs",
        "memory-rs: memories of another program as JSON, read-only; ZeroClaw itself does not know it",
        in_zeroclaw=False,
        is_foreign_file=True,
    ),
    BackendInfo(
        "in-memory",
        "In memory: lost when the program ends; ZeroClaw itself does not know it",
        in_zeroclaw=False,
        place="this process",
    ),
    BackendInfo("none", "None: nothing is remembered", keeps_nothing=True, place="nowhere"),
)


def backend_info(name: str) -> BackendInfo | None:
    """Find a backend by its name; None if the name is unknown."""
    wanted = name.strip().lower()
    wanted = _OTHER_NAMES.get(wanted, wanted)
    return next((info for info in BACKENDS if info.key == wanted), None)


def backend_of_url(url: str) -> str | None:
    """Find the backend that a URL's scheme belongs to; None if it belongs to none."""
    scheme = url.partition("://")[0].strip().lower()
    return next((info.key for info in BACKENDS if scheme in info.schemes), None)


def known_backend(name: str) -> BackendInfo:
    """Find a backend by its name; for an unknown name, one without any capability."""
    return backend_info(name) or BackendInfo(name, name)


def foreign_file(config: MemoryConfig) -> Path | None:
    """The file of another program that is the store of a config; None for any other store."""
    if not known_backend(config.backend).is_foreign_file:
        return None
    named = config.location or config.storage.get("path")
    return Path(named).expanduser() if isinstance(named, str) and named else config.install.database


def forwards_writes(*names: str) -> bool:
    """Whether any of these backends also passes stored memories to another program, which keeps them."""
    return any(known_backend(name).forwards_writes for name in names)


def plugin_names() -> tuple[str, ...]:
    """The distinct names of plug-ins that are not names of built-in backends."""
    names = dict.fromkeys(plugin.name for plugin in installed_plugins())
    return tuple(name for name in names if backend_info(name) is None)


CLASSES = {
    "sqlite": "zeroclaw_tui.backends.sqlite.store:SqliteMemory",
    "lucid": "zeroclaw_tui.backends.lucid:LucidMemory",
    "postgres": "zeroclaw_tui.backends.postgres.store:PostgresMemory",
    "markdown": "zeroclaw_tui.backends.markdown.store:MarkdownMemory",
    "qdrant": "zeroclaw_tui.backends.qdrant.store:QdrantMemory",
    "redis": "zeroclaw_tui.backends.redis:RedisMemory",
    "rmem": "zeroclaw_tui.backends.rmem:RMemMemory",
    "memory-rs": "zeroclaw_tui.backends.memory_rs:MemoryRsExport",
    "none": "zeroclaw_tui.backends.none:NoneMemory",
    "in-memory": "zeroclaw_tui.backends.in_memory:InMemory",
}
"""Where each backend's class is; a module is imported when its backend is used."""
PROBES = {
    "postgres": "zeroclaw_tui.backends.postgres.store:probe",
    "qdrant": "zeroclaw_tui.backends.qdrant.client:probe",
}
"""The functions that test whether ZeroClaw can start with a server."""
_WITH_DRIVER = ("postgres", "redis")
"""The backends whose driver is installed with an extra."""


def create_memory(config: MemoryConfig) -> Memory:
    """Create the store of a config without opening it.

    Built-in backends take precedence over plug-ins of the same name. Raises Refused for a backend whose driver or
    package is not usable, UsageError for an unknown name, and the errors of the backend's `from_config`.
    """
    info = backend_info(config.backend)
    if info is not None:
        backend: type[Memory] = _imported(CLASSES[info.key], info.key)
        return backend.from_config(config)
    name = config.backend.strip().lower()
    found = [plugin for plugin in installed_plugins() if plugin.name == name]
    if len(found) == 1:
        return found[0].create(config)
    if found:
        raise Refused(
            f"Several packages offer a backend {name!r}: {', '.join(plugin.package for plugin in found)}.",
            hint="Uninstall all but one of them.",
        )
    known = ", ".join((*(info.key for info in BACKENDS), *plugin_names()))
    raise UsageError(
        f"There is no memory backend {config.backend!r}.",
        hint=f"Known backends: {known}. ZeroClaw itself would use Markdown here; --backend markdown opens it.",
        title="Unknown backend",
    )


async def probe_server(config: MemoryConfig, seconds: float) -> StartCheck:
    """Test whether ZeroClaw can start with the PostgreSQL or Qdrant server of a config; nothing is created.

    Raises DriverMissing, NotReachable, and UsageError for settings that ZeroClaw itself cannot use.
    """
    probe: Callable[[MemoryConfig, float], Awaitable[StartCheck]] = _imported(PROBES[config.backend], config.backend)
    return await probe(config, seconds)


def _imported(place: str, key: str) -> Any:
    """Import the class or function "module:name". Raises DriverMissing if its library is not installed."""
    module, name = place.split(":")
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in ("", "zeroclaw_tui") or key not in _WITH_DRIVER:
            raise
        raise DriverMissing(
            f"The backend {key} needs {missing}, which is not installed.",
            hint=f"Install it with `{shlex.quote(sys.executable)} -m pip install {missing}`.",
        ) from error


def empty_store(store: Memory) -> Memory:
    """Create an empty substitute for a store that ZeroClaw has not created yet."""
    from zeroclaw_tui.backends.none import NoneMemory

    return NoneMemory(not_made=store)


def backend_of_file(path: Path) -> str | None:
    """Detect by its content which other program's store a file is; None for any other file. Blocks."""
    # Follow links here, so that the store itself can explain that it does not follow them.
    file = Path(os.path.realpath(path))
    if file.suffix.lower() == ".json":
        from zeroclaw_tui.backends.memory_rs import is_export

        return "memory-rs" if is_export(file) else None
    from zeroclaw_tui.files.database import has_tables

    return "rmem" if has_tables(file, "memories", "history", "relations") else None
