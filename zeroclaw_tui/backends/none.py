"""The backend that remembers nothing, as `memory.backend = "none"` asks, and what stands for a store not made yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zeroclaw_tui.backends.base import THE_TRAIT, Answer, Capabilities, Entries, Memory, Scored, Work
from zeroclaw_tui.backends.health import Health
from zeroclaw_tui.config.locations import is_url
from zeroclaw_tui.memory.change import (
    Vector,
)
from zeroclaw_tui.memory.entry import EDITABLE, MemoryEntry
from zeroclaw_tui.memory.errors import MAKES_STORE, Refused
from zeroclaw_tui.memory.text import one_line

if TYPE_CHECKING:
    from zeroclaw_tui.config.memory_config import MemoryConfig

_CONFIGURED = 'Nothing is stored, because memory.backend is "none".'
_HOW = 'Set memory.backend to "sqlite" in config.toml and start the agent again to turn memory on.'
_CHOSEN = 'Nothing is stored: the backend "none" keeps nothing.'
_IN_USE = "ZeroClaw itself uses {} here."
_NOT_MADE = "No memories yet: {} is not there. ZeroClaw makes it at its first start; {}"
_NO_PLACE = "No memories yet, nor a place for them in {}. ZeroClaw makes it at its first start; {}"
"""Of a server, which answers."""
_PARTS = (
    "vectors", "keyword", "sessions", "agents", "namespaces", "superseded", "kind", "watch", "write", *EDITABLE,
)  # fmt: skip


class NoneMemory(Memory):
    """Takes every verb, keeps nothing and finds nothing, as ZeroClaw's own does.

    It also stands for a store that is not there yet, as it is before ZeroClaw's first start: that has 0 memories.
    """

    name = "none"
    keeps_deleted = None
    location = "nowhere"
    keeps_nothing = True

    def __init__(self, in_use: str = "none", *, not_made: Memory | None = None) -> None:
        """`in_use` is the backend that ZeroClaw itself uses, where a person chose this one only to look at it.

        `not_made` is the store that could not be opened because there is nothing yet.
        """
        self._not_made = not_made
        if not_made is not None:
            self.name, self.location = not_made.name, not_made.location
            self.capabilities = THE_TRAIT
            self.notices = (
                (_NO_PLACE if is_url(self.location) else _NOT_MADE).format(one_line(self.location), MAKES_STORE),
            )
            return
        is_configured = in_use == "none"
        nothing = _CONFIGURED if is_configured else _CHOSEN
        self.read_only_because = nothing
        self.notices = (f"{nothing} {_HOW if is_configured else _IN_USE.format(in_use)}",)
        self.capabilities = Capabilities(sessions=False, why_not=dict.fromkeys(_PARTS, nothing))

    @classmethod
    def from_config(cls, config: MemoryConfig) -> NoneMemory:
        """What keeps nothing, and says whether the config asks for that."""
        return cls(config.zeroclaw_backend)

    @property
    def trash_name(self) -> str:
        """That of the store it stands for, whose trash may hold what was in it."""
        return super().trash_name if self._not_made is None else self._not_made.trash_name

    def refuse_to_write(self) -> Refused:
        """The error for a change of what keeps nothing, or is not there."""
        if self._not_made is None:
            return super().refuse_to_write()
        return Refused(f"{self.location} is not there yet.", hint=MAKES_STORE)

    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None:
        """Keep nothing."""

    async def recall(
        self, query: str, limit: int, session_id: str | None = None, since: str | None = None, until: str | None = None
    ) -> Scored:
        """Find nothing."""
        return []

    async def get(self, key: str) -> MemoryEntry | None:
        """None."""
        return None

    async def list(self, category: str | None = None, session_id: str | None = None) -> Entries:
        """An empty list."""
        return []

    async def forget(self, key: str) -> bool:
        """False."""
        return False

    async def count(self) -> int:
        """0."""
        return 0

    async def health_check(self) -> bool:
        """True."""
        return True

    async def write_rows(self, work: Work[Answer], vector: Vector | None = None) -> Answer:
        """Refused."""
        raise self.refuse_to_write()

    async def health(self) -> Health:
        """Says that nothing is stored, and how to turn memory on, or what makes the store."""
        state = "stores nothing" if self._not_made is None else "not there yet"
        return Health(True, state, findings=self.notices, facts={"memories": 0})
