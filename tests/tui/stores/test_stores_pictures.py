"""What each store looks like, at the smallest size that is whole and at one that is comfortable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from stores_samples import NO_SESSION, NO_VECTORS, Known, none, notes, sqlite
from support.settling import pressing

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.curation.candidates import StoreStatus

Snap = Callable[..., bool]
SIZE = (120, 30)
PLACE = Path("/srv/zeroclaw")
ALL = ("keyword", "vectors", "sessions", "superseded", "pinned", "importance", "write")


def stores() -> dict[str, Memory]:
    return {"sqlite": sqlite(), "markdown": notes(), "none": none()}


def test_every_store_has_answered(snap_compare: Snap) -> None:
    """Counts right-aligned; below, where the chosen one is, what it can, and what not and why."""
    known = Known(PLACE, stores())
    known.answers = {
        "sqlite": StoreStatus(None, 12431, ALL, {"agents": "This database has no column for agents."}),
        "markdown": StoreStatus(
            None,
            4,
            ("keyword", "write"),
            {"vectors": NO_VECTORS, "sessions": NO_SESSION, "agents": "These notes are one agent's."},
        ),
        "none": StoreStatus(None, 0, (), {"keyword": "Nothing is stored."}),
    }
    assert snap_compare(known.app(), terminal_size=SIZE, run_before=pressing("6", "j"))
