"""One way to any backend: a config in, a Memory out."""

from __future__ import annotations

import difflib
from importlib import import_module

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.profiles import BACKENDS, BackendProfile, backend_profile
from zeroclaw_tui.config.layouts import exists
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.memory.errors import Refused, WrongUse

CLASSES = {
    "sqlite": "zeroclaw_tui.backends.sqlite.store:SqliteMemory",
    "lucid": "zeroclaw_tui.backends.lucid.store:LucidMemory",
    "postgres": "zeroclaw_tui.backends.postgres.store:PostgresMemory",
    "markdown": "zeroclaw_tui.backends.markdown.store:MarkdownMemory",
    "qdrant": "zeroclaw_tui.backends.qdrant.store:QdrantMemory",
    "redis": "zeroclaw_tui.backends.redis.store:RedisMemory",
    "none": "zeroclaw_tui.backends.none:NoneMemory",
    "in-memory": "zeroclaw_tui.backends.in_memory:InMemory",
}
"""Where each backend's class is; a module is imported when its backend is asked for."""


def create_memory(config: MemoryConfig) -> Memory:
    """The store a config names, not yet opened.

    Raises Refused for a backend that this release does not open, WrongUse for a name nobody knows, and what the
    backend's `from_config` raises.
    """
    profile = backend_profile(config.backend)
    if profile is None:
        raise _nobody_knows(config)
    if profile.not_yet is not None:
        raise Refused(profile.not_yet, hint=_hint(profile, config))
    module, name = CLASSES[profile.key].split(":")
    backend: type[Memory] = getattr(import_module(module), name)
    return backend.from_config(config)


def _hint(profile: BackendProfile, config: MemoryConfig) -> str:
    if profile.hint and (not profile.has_local_database or exists(config.install.database)):
        return profile.hint
    return "--backend NAME with --location PATH opens another store."


def _nobody_knows(config: MemoryConfig) -> WrongUse:
    known = [profile.key for profile in BACKENDS]
    near = difflib.get_close_matches(config.backend.strip().lower(), known, n=1, cutoff=0.5)
    meant = f"Did you mean {near[0]!r}? " if near else f"Known are {', '.join(known)}. "
    return WrongUse(
        f"There is no memory backend {config.backend!r}.",
        hint=f"{meant}ZeroClaw itself would use Markdown here, which --backend markdown opens.",
        title="Unknown backend",
    )
