"""Backends without a query language: the same limits, off the event loop."""

from __future__ import annotations

import pytest

from zeroclaw_tui.backends import matching
from zeroclaw_tui.backends.in_memory import InMemory
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.query import MemoryFilter, Sort
from zeroclaw_tui.testing.tools import handles_of

ENDLESS = "(a|aa)+$"
TRAP = "a" * 60 + "b"


def held(*contents: str) -> InMemory:
    moment = "2026-11-01T00:00:00+00:00"
    return InMemory(MemoryEntry(f"id{at}", f"key{at}", text, "core", moment) for at, text in enumerate(contents))


async def test_in_memory_stops_a_pattern_that_runs_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = held("fine b", TRAP)
    monkeypatch.setattr(matching, "REGEX_SECONDS", 0.05)
    with pytest.raises(UsageError, match=r"0\.05 s"):
        (await handles_of(memory, MemoryFilter(regex=ENDLESS), Sort()))
    assert len(await handles_of(memory, MemoryFilter(regex="B$"), Sort())) == 2
