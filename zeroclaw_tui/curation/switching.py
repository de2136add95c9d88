"""The stores one config knows, so that a person can look at another: each with where it is and how it is."""

from __future__ import annotations

from dataclasses import dataclass

from zeroclaw_tui.config.memory_config import MemoryConfig


@dataclass(frozen=True, slots=True)
class Candidate:
    """One store that could be opened. `why` is what names it ("config.toml", "memory/brain.db is there")."""

    config: MemoryConfig
    why: str
    is_current: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """How a candidate is: whether it opened, a sentence where it did not, how many memories, and what it can do.

    `marks` are names of capabilities ("keyword", "vectors", "sessions", "agents", "write"); `cannot` maps each other
    one to its reason.
    """

    ok: bool
    summary: str
    count: int | None = None
    marks: tuple[str, ...] = ()
    cannot: tuple[tuple[str, str], ...] = ()


def candidates(config: MemoryConfig) -> tuple[Candidate, ...]:
    """Every store the config of this install, its folders, the environment and the plug-ins know; the current first.

    Blocks for a few file looks: run it in a thread.
    """
    raise NotImplementedError


async def standing_of(candidate: Candidate, profile: str | None, seconds: float = 5.0) -> Standing:
    """Open it read-only, count, and let go of it; what goes wrong or takes longer is told in the answer."""
    raise NotImplementedError
