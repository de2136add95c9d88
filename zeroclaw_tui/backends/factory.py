"""One way to any backend: a config in, a Memory out."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.profiles import BACKENDS, BackendProfile, backend_profile
from zeroclaw_tui.config.locations import exists
from zeroclaw_tui.memory.errors import DriverMissing, Refused, WrongUse

if TYPE_CHECKING:
    from zeroclaw_tui.backends.base import Memory
    from zeroclaw_tui.config.memory_config import MemoryConfig

CLASSES = {
    "sqlite": "zeroclaw_tui.backends.sqlite.store:SqliteMemory",
    "lucid": "zeroclaw_tui.backends.lucid:LucidMemory",
    "postgres": "zeroclaw_tui.backends.postgres.store:PostgresMemory",
    "markdown": "zeroclaw_tui.backends.markdown.store:MarkdownMemory",
    "qdrant": "zeroclaw_tui.backends.qdrant.store:QdrantMemory",
    "redis": "zeroclaw_tui.backends.redis.store:RedisMemory",
    "rmem": "zeroclaw_tui.backends.rmem.store:RMemMemory",
    "memory-rs": "zeroclaw_tui.backends.memory_rs:MemoryRsExport",
    "none": "zeroclaw_tui.backends.none:NoneMemory",
    "in-memory": "zeroclaw_tui.backends.in_memory:InMemory",
}
"""Where each backend's class is; a module is imported when its backend is asked for."""
EXTRAS = {"postgres": "postgres", "redis": "redis"}
"""The extra of this package that brings what a backend's server is spoken to with."""


def create_memory(config: MemoryConfig) -> Memory:
    """The store a config names, not yet opened.

    A name of ours wins; only another one is looked for among the plug-ins. Raises Refused for a backend that this
    release does not open or whose driver or package is not usable, WrongUse for a name nobody knows, and what the
    backend's `from_config` raises.
    """
    profile = backend_profile(config.backend)
    if profile is None:
        return _from_plugin(config)
    if profile.not_yet is not None:
        raise Refused(profile.not_yet, hint=_hint(profile, config))
    module, name = CLASSES[profile.key].split(":")
    try:
        backend: type[Memory] = getattr(import_module(module), name)
        return backend.from_config(config)
    except ModuleNotFoundError as error:
        raise _without_driver(profile.key, error) from error


def stand_in(store: Memory) -> Memory:
    """For a store that ZeroClaw has not made yet: it has 0 memories."""
    from zeroclaw_tui.backends.none import NoneMemory

    return NoneMemory(not_made=store)


def backend_of_file(path: Path) -> str | None:
    """The backend of another program whose store a file is, by its content; None for any other file. Blocks."""
    # Known through a link too, so that the store itself can say that it follows none.
    file = Path(os.path.realpath(path))
    if file.suffix.lower() == ".json":
        from zeroclaw_tui.backends.memory_rs import is_export

        return "memory-rs" if is_export(file) else None
    from zeroclaw_tui.backends.rmem.tables import is_rmem

    return "rmem" if is_rmem(file) else None


def _without_driver(key: str, error: ModuleNotFoundError) -> DriverMissing:
    """The sentence for a library that is not installed. Raises what is no library's fault again."""
    from zeroclaw_tui.backends.drivers import command_for

    missing = (error.name or "").partition(".")[0]
    if missing in ("", "zeroclaw_tui") or key not in EXTRAS:
        raise error
    return DriverMissing(
        f"The backend {key} needs {missing}, which is not installed.",
        hint=f"`{command_for(EXTRAS[key])}` brings it.",
    )


def _from_plugin(config: MemoryConfig) -> Memory:
    # Packages are only looked through for a name that is none of ours.
    from zeroclaw_tui.backends.plugins import plugin_of

    plugin = plugin_of(config.backend)
    if plugin is None:
        raise _nobody_knows(config)
    return plugin.made(config)


def _hint(profile: BackendProfile, config: MemoryConfig) -> str:
    if profile.hint and (not profile.has_local_database or exists(config.install.database)):
        return profile.hint
    return "--backend NAME with --location PATH opens another store."


def _nobody_knows(config: MemoryConfig) -> WrongUse:
    from zeroclaw_tui.backends.plugins import plugin_names

    known = [*(profile.key for profile in BACKENDS), *plugin_names()]
    import difflib

    near = difflib.get_close_matches(config.backend.strip().lower(), known, n=1, cutoff=0.5)
    meant = f"Did you mean {near[0]!r}? " if near else f"Known are {', '.join(known)}. "
    return WrongUse(
        f"There is no memory backend {config.backend!r}.",
        hint=f"{meant}ZeroClaw itself would use Markdown here, which --backend markdown opens.",
        title="Unknown backend",
    )
