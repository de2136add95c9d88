"""Making the vectors that memories lack, at a chosen pace, stoppable and resumable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.change import Stamp


@dataclass(frozen=True, slots=True)
class ReindexPlan:
    """Which memories lack a vector, or have one of the wrong length. `characters` and `tokens` (about a quarter of
    them) are what would be sent; `cost` in US dollars, None where the model's price is not known or nothing is sent."""

    missing: tuple[Stamp, ...]
    wrong: tuple[Stamp, ...]
    characters: int
    tokens: int
    cost: float | None
    model: str
    is_remote: bool

    @property
    def count(self) -> int:
        """How many vectors to make."""
        return len(self.missing) + len(self.wrong)


@dataclass(frozen=True, slots=True)
class Reindexed:
    """How it went; `left` changed meanwhile, `failed` are sentences. `stopped` says that it can be gone on with."""

    filled: int
    left: int
    failed: tuple[str, ...] = ()
    stopped: bool = False


async def plan_reindex(library: Library, *, ids: tuple[str, ...] | None = None) -> ReindexPlan:
    """What is to be done, of all memories or of these. Raises Refused with the reason where there is no embedder or the
    store keeps no vectors."""
    raise NotImplementedError


async def reindex(
    library: Library, plan: ReindexPlan, *, per_minute: int | None = None, advance: Callable[[int], bool] | None = None
) -> Reindexed:
    """Make the vectors, at most `per_minute` requests; what is made is written every few rows, so that stopping or a
    kill loses at most those, and doing it again goes on. An endpoint that says no ends it with what it said; a busy one
    (429) is waited for. `advance` is told how many are done; False stops."""
    raise NotImplementedError
