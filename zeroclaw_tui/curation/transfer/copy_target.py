"""The store that a copy goes to: opened as the config of the install names it, or made where it is not there yet."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.factory import create_memory
from zeroclaw_tui.backends.profiles import backend_profile, has_database, has_notes
from zeroclaw_tui.config.document.replacing import temporary_folder
from zeroclaw_tui.config.given_path import install_to_be
from zeroclaw_tui.config.install import Install
from zeroclaw_tui.config.load import load_config
from zeroclaw_tui.config.locations import home_folder
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.config.server_url import is_url
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.curation.opening import OpenOptions, check_location, configs_for
from zeroclaw_tui.curation.profile_choice import choose_profile
from zeroclaw_tui.curation.trash.journal import store_name
from zeroclaw_tui.memory.errors import NothingYet, Refused, WrongUse
from zeroclaw_tui.memory.text import one_line


@dataclass(slots=True)
class CopyTarget:
    """Where memories go. `library` is None where the store is not there yet; then `makes` says what will be made.

    `profile` is the ZeroClaw version given for it, if any. Once the copy has made the store, `library` is it.
    """

    config: MemoryConfig
    library: Library | None
    makes: NothingYet | None = None
    profile: str | None = None
    location: str = ""
    """Where it is or will be, for people."""

    async def close(self) -> None:
        """Let go of it."""
        if self.library is not None:
            await self.library.close()

    async def make(self) -> Library:
        """The open store, made first where it is not there yet. Raises what making and opening raise."""
        if self.library is None:
            memory = _not_made(self.config)
            try:
                await memory.make((await choose_profile(self.config, memory, self.profile)).profile)
            finally:
                await memory.close()
            self.library = await open_library(self.config, self.profile)
        return self.library


async def open_target(
    source: Library,
    backend: str,
    location: str | None,
    profile: str | None = None,
    *,
    environ: Mapping[str, str] | None = None,
) -> CopyTarget:
    """The store to copy to, as this install's config names that backend, or at a path or URL.

    Raises WrongUse where it is the source itself, and what opening raises; a store that is not there yet is no error.
    """
    config = await asyncio.to_thread(
        _config, source.config, backend, location, os.environ if environ is None else environ
    )
    memory = create_memory(config)
    try:
        _refuse(source, memory)
        if memory.keeps_lines and not await memory.health_check():
            raise NothingYet(f"There is no folder {memory.location} yet.")
        library = await open_library(config, profile)
    except NothingYet as nothing:
        return CopyTarget(config, None, nothing, profile, memory.location)
    finally:
        await memory.close()
    try:
        _refuse(source, library.memory)
    except BaseException:
        await library.close()
        raise
    return CopyTarget(config, library, None, profile, library.memory.location)


def _config(given: MemoryConfig, backend: str, location: str | None, environ: Mapping[str, str]) -> MemoryConfig:
    """The config of this install with that backend."""
    check_location(location)
    known = backend_profile(backend)
    kind = backend if known is None else known.key
    if location is None and has_database(kind):
        # Named outright: of an install that has notes alone, its database would not be opened.
        location = str(given.install.database)
    elif location is not None and "://" not in location:
        location = str(Path(location).expanduser())
    return load_config(_install(given, kind, location, environ), environ, backend=kind, location=location)


def _install(given: MemoryConfig, backend: str, location: str | None, environ: Mapping[str, str]) -> Install:
    """The install in whose trash the copy is kept, where it can be taken back: that of the source.

    A lone source cannot be named beside the target, so there it is the one the target's own place leads to.
    """
    if location is None or given.install.config_dir is not None:
        return given.install
    if is_url(location):
        return configs_for(OpenOptions(backend=backend, location=location), environ)[0].install
    home = home_folder(environ, None)
    return install_to_be(Path(location), environ, home, is_folder=has_notes(backend))


@asynccontextmanager
async def foreseen(target: CopyTarget) -> AsyncIterator[Memory]:
    """The target, or where it is not there yet one that is as it will be."""
    if target.library is not None:
        yield target.library.memory
        return
    memory = _not_made(target.config)
    if memory.file is None:
        try:
            yield memory
        finally:
            await memory.close()
        return
    profile = (await choose_profile(target.config, memory, target.profile)).profile
    with temporary_folder("zeroclaw-tui-") as folder:
        sample = create_memory(replace(target.config, location=str(folder / "brain.db"), read_only=False))
        sample.location = target.location
        try:
            await sample.make(profile)
            await sample.open()
            yield sample
        finally:
            await sample.close()


def _not_made(config: MemoryConfig) -> Memory:
    """The store of a config that is not there yet; a folder that was named is made too."""
    memory = create_memory(config)
    if memory.keeps_lines and config.location is not None:
        alone = replace(config.install, root=Path(memory.location), layout="lone", is_loose=False)
        return create_memory(replace(config, install=alone, location=None))
    return memory


def _refuse(source: Library, memory: Memory) -> None:
    """Raises WrongUse where both are one store, and Refused where nothing is ever stored."""
    theirs = source.memory
    if _name(theirs, source.config) == _name(memory, source.config) or _is_one_file(theirs, memory):
        raise WrongUse(
            f"{one_line(memory.location)} is the store to copy from.",
            hint="--to and --to-location name another one.",
        )
    if memory.keeps_nothing:
        raise Refused(memory.read_only_because or "Nothing is stored there.", hint="Name another backend.")


def _name(memory: Memory, config: MemoryConfig) -> str:
    return store_name(memory.trash_name, memory.location, config.install.config_dir)


def _is_one_file(one: Memory, other: Memory) -> bool:
    if one.file is None or other.file is None:
        return False
    try:
        return os.path.samefile(one.file, other.file)
    except OSError:
        return False
