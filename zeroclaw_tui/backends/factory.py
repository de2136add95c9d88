"""One way to any backend: a config in, a Memory out."""

from __future__ import annotations

import difflib
from importlib import import_module
from pathlib import Path
from typing import Any

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.profiles import BACKENDS, BackendProfile, backend_profile
from zeroclaw_tui.config.layouts import exists, has_markdown, is_folder
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.memory.errors import Refused, Unreadable, WrongUse

CLASSES = {
    "sqlite": "zeroclaw_tui.backends.sqlite.store:SqliteMemory",
    "markdown": "zeroclaw_tui.backends.markdown.store:MarkdownMemory",
    "none": "zeroclaw_tui.backends.none:NoneMemory",
    "in-memory": "zeroclaw_tui.backends.in_memory:InMemory",
}
"""Where each backend's class is; a module is imported when its backend is asked for."""


def create_memory(config: MemoryConfig) -> Memory:
    """The store a config names, not yet opened.

    Raises Refused for a backend that this release does not open, WrongUse for a name nobody knows, and Unreadable
    where the database is missing but the install has Markdown notes.
    """
    profile = backend_profile(config.backend)
    if profile is None:
        raise _nobody_knows(config)
    if profile.not_yet is not None:
        raise Refused(profile.not_yet, hint=_hint(profile, config))
    module, name = CLASSES[profile.key].split(":")
    positional, named = _arguments(profile.key, config)
    memory: Memory = getattr(import_module(module), name)(*positional, **named)
    return memory


def _arguments(key: str, config: MemoryConfig) -> tuple[tuple[Any, ...], dict[str, Any]]:
    match key:
        case "sqlite":
            _look_for_database(config)
            return (config.database,), {"read_only": config.read_only}
        case "markdown":
            return (_markdown_root(config),), {"agents": _agent_folders(config), "read_only": config.read_only}
        case _:
            return (), {}


def _markdown_root(config: MemoryConfig) -> Path:
    return Path(config.location).expanduser() if config.location else config.install.root


def _agent_folders(config: MemoryConfig) -> dict[str, Path]:
    """Each agent's own folder of notes, where ZeroClaw >= 0.8 keeps them."""
    install = config.install
    if config.location or install.layout != "data" or install.config_dir is None:
        return {}
    folders = {alias: install.config_dir / "agents" / alias / "workspace" for alias in config.agents}
    return {alias: folder for alias, folder in folders.items() if is_folder(folder)}


def _look_for_database(config: MemoryConfig) -> None:
    if config.location or exists(config.database) or not has_markdown(config.install.root):
        return
    raise Unreadable(
        f"There is no database {config.database}.",
        hint=f"{config.install.root} has Markdown notes: --backend markdown opens them.",
    )


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
