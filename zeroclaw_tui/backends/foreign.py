"""Files of other programs: loaded whole, loaded again after each change, and never written."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from abc import abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Self

from zeroclaw_tui.backends.about import Notice
from zeroclaw_tui.backends.base import Contents, ReloadedMemory, SearchedMemory
from zeroclaw_tui.files.disk import file_stamps
from zeroclaw_tui.memory.errors import UsageError

if TYPE_CHECKING:
    from zeroclaw_tui.config.memory_config import MemoryConfig

_KEY_DIGITS = 12


class ForeignFile(SearchedMemory, ReloadedMemory[Contents]):
    """A store in one file of another program; subclasses read and describe the file.

    Recall follows that program's rule under any scoring profile, for the user in `namespace` or for all users.
    """

    program: str
    """The other program's name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.about = self.about._replace(location=str(path), program=self.program)

    @abstractmethod
    def read(self) -> Contents:
        """Read the file. Blocks. Raises Unreadable, Corrupt, Locked."""

    @abstractmethod
    def describe(self, contents: Contents) -> Iterable[str]:
        """Sentences for users when the file is opened."""

    @classmethod
    def from_config(cls, config: MemoryConfig) -> Self:
        """Use the file named by --location or the config, or opened by its path. Raises UsageError if there is none."""
        path = config.location or config.storage.get("path")
        if isinstance(path, str) and path:
            return cls(Path(path).expanduser())
        if config.install.layout == "lone":
            return cls(config.install.database)
        raise UsageError(
            f"No file of {cls.program} given.",
            hint=f"Pass --location PATH or set path under [storage.{cls.name}] in config.toml.",
        )

    async def open(self) -> None:
        await self._loaded()

    async def _state(self) -> object:
        # SQLite creates an empty WAL file when it reads, which is not a change.
        return await asyncio.to_thread(lambda: file_stamps((self.path, f"{os.path.realpath(self.path)}-wal")))

    async def _load(self) -> Contents:
        contents = await asyncio.to_thread(self.read)
        sentences = [*self.describe(contents)]
        if len(contents.namespaces) > 1:
            sentences.append(f"It holds the memories of {len(contents.namespaces):,} users; --namespace names one.")
        self.about = self.about._replace(notices=tuple(Notice(sentence, is_minor=True) for sentence in sentences))
        return contents

    def note_of_users(self, count: int) -> list[str]:
        """A note on a recall for several users, none for one user."""
        searches = f"{self.program} searches for one user at a time: these are the results of its {count:,} users."
        return [searches] if count > 1 else []


def key_of(prefix: str, id: str) -> str:
    """Make the key for an id: the prefix and the first 12 digits of a UUID, or of the hash of any other id."""
    digits = id.lower().replace("-", "")
    if re.fullmatch(r"[0-9a-f]{12,}", digits) is None:
        digits = hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{prefix}_{digits[:_KEY_DIGITS]}"
