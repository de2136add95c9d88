"""The store that memories are imported or copied to, which may have yet to be made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.factory import create_memory
from zeroclaw_tui.backends.lookup import make_store
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.library import Library, open_library, profile_to_make
from zeroclaw_tui.files.disk import temporary_folder
from zeroclaw_tui.memory.errors import NothingYet


@dataclass(slots=True)
class Target:
    """Where memories go. `library` is None until `make` has made a store that is not there yet.

    `profile` is the ZeroClaw version given for it, if any; `location` where it is or will be, for people.
    """

    config: MemoryConfig
    library: Library | None
    profile: str | None
    location: str

    @classmethod
    def of(cls, library: Library) -> Target:
        return cls(library.config, library, None, library.memory.about.location)

    @classmethod
    async def at(cls, config: MemoryConfig, profile: str | None = None) -> Target:
        """The store of a config, whether or not it is there. Raises what opening raises but NothingYet."""
        memory = create_memory(config)
        target = cls(config, None, profile, memory.about.location)
        try:
            if not memory.about.keeps_lines or await memory.health_check():
                with suppress(NothingYet):
                    target.library = await open_library(config, profile)
                    target.location = target.library.memory.about.location
        finally:
            await memory.close()
        return target

    async def close(self) -> None:
        if self.library is not None:
            await self.library.close()

    async def make(self) -> Library:
        """The open store, made first where it is not there yet. Raises what making and opening raise."""
        if self.library is None:
            memory = self._not_made()
            try:
                await make_store(memory, await asyncio.to_thread(profile_to_make, self.config, self.profile))
            finally:
                await memory.close()
            self.library = await open_library(self.config, self.profile)
        return self.library

    @asynccontextmanager
    async def planned_store(self) -> AsyncIterator[Memory]:
        """The store, or where it is not there yet one that is as it will be."""
        if self.library is not None:
            yield self.library.memory
            return
        memory = self._not_made()
        profile = await asyncio.to_thread(profile_to_make, self.config, self.profile)
        with temporary_folder("zeroclaw-tui-") as folder:
            try:
                if memory.about.path is None:
                    await make_store(memory, profile, dry_run=True)
                else:
                    # A database elsewhere shows what the new one will store.
                    sample = self.config._replace(location=str(folder / "brain.db"), read_only=False)
                    memory = create_memory(sample)
                    memory.about = replace(memory.about, location=self.location)
                    await make_store(memory, profile)
                    await memory.open()
                yield memory
            finally:
                await memory.close()

    def _not_made(self) -> Memory:
        """The store that is not there yet; a folder that was named is made too."""
        memory = create_memory(self.config)
        if memory.about.keeps_lines and self.config.location is not None:
            alone = self.config.install._replace(root=Path(memory.about.location), layout="lone")
            return create_memory(self.config._replace(install=alone, location=None))
        return memory
