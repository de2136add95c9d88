"""The backend "none", which stores nothing, also used as a substitute for a store that does not exist yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zeroclaw_tui.backends.about import About, Notice, sentences
from zeroclaw_tui.backends.base import Memory, RowMemory, Scored
from zeroclaw_tui.backends.health import Health
from zeroclaw_tui.backends.loaded import Loaded
from zeroclaw_tui.config.locations import is_url
from zeroclaw_tui.memory.errors import MAKES_STORE
from zeroclaw_tui.memory.text import one_line

if TYPE_CHECKING:
    from zeroclaw_tui.config.memory_config import MemoryConfig

_PARTS = (
    "vectors", "keyword", "sessions", "agents", "namespaces", "superseded", "pinned", "importance", "kind", "watch",
    "write",
)  # fmt: skip
_TURN_ON = 'Set memory.backend to "sqlite" in config.toml and start the agent again to turn memory on.'


class NoneMemory(RowMemory):
    """Accepts every call and stores nothing, as ZeroClaw's own does.

    It is also the empty substitute for a store before ZeroClaw's first start.
    """

    name = "none"
    about = About(location="nowhere", keeps_nothing=True, keeps_deleted=None)

    def __init__(self, in_use: str = "none", *, not_made: Memory | None = None) -> None:
        """`in_use` is the backend that ZeroClaw itself uses, `not_made` the store to substitute."""
        self._not_made = not_made
        if not_made is not None:
            self.name, theirs = not_made.name, not_made.about
            place = one_line(theirs.location)
            nothing = f", nor a place for them in {place}" if is_url(place) else f": {place} is not there"
            notice = Notice(f"No memories yet{nothing}. ZeroClaw makes it at its first start; {MAKES_STORE}")
            shown = (notice, *theirs.notices)
            self.about = self.about._replace(location=theirs.location, identity=theirs.identity, notices=shown)
            return
        nothing = 'Nothing is stored: the backend "none" keeps nothing.'
        more = _TURN_ON if in_use == "none" else f"ZeroClaw itself uses {in_use} here."
        self.why_not = dict.fromkeys(_PARTS, nothing)
        self.about = self.about._replace(notices=(Notice(f"{nothing} {more}"),))

    @classmethod
    def from_config(cls, config: MemoryConfig) -> NoneMemory:
        return cls(config.zeroclaw_backend)

    async def _loaded(self) -> Loaded:
        return Loaded()

    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None: ...

    async def recall(
        self, query: str, limit: int, session_id: str | None = None, since: str | None = None, until: str | None = None
    ) -> Scored:
        return []

    async def forget(self, key: str) -> bool:
        return False

    async def health(self) -> Health:
        state = "stores nothing" if self._not_made is None else "not there yet"
        return Health(True, state, findings=sentences(self.about.notices), facts={"memories": 0})
