"""Which answers can be tested, and testing one."""

from __future__ import annotations

from collections.abc import Collection

from zeroclaw_tui.onboard.answers import Answers
from zeroclaw_tui.onboard.probes.finding import Finding

SECONDS = 8.0
"""The longest a test may take."""


def subjects(answers: Answers, changed: Collection[str] | None = None) -> tuple[str, ...]:
    """What to test for these answers: the backend ("sqlite", "markdown", "postgres", "lucid", "qdrant"), then
    "embedding" where a provider is on and the backend searches by vector. With `changed` (setting names) only those
    that one of them concerns; a changed `memory.backend` concerns the backend's."""
    raise NotImplementedError


async def run_probe(subject: str, answers: Answers, *, seconds: float = SECONDS) -> Finding:
    """Test one subject; never writes anything, never raises for what it finds, ends within the limit."""
    raise NotImplementedError
