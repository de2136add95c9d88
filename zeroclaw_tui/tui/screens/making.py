"""Making the database that is not there from its snapshot."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from textual.app import App
from textual.content import Content

from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.snapshot import hydrate as hydrating
from zeroclaw_tui.curation.snapshot import snapshot as snapshots
from zeroclaw_tui.curation.snapshot.hydrate import HydratePlan
from zeroclaw_tui.curation.snapshot.text import NAME
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.tui.looks import MUTED
from zeroclaw_tui.tui.screens.confirm import QuestionScreen
from zeroclaw_tui.tui.screens.working import shown_words
from zeroclaw_tui.tui.words import memories_words


def make_from_snapshot(app: App[Any], config: MemoryConfig, version: str | None, then: Callable[[], object]) -> None:
    """Ask with what the snapshot holds; on yes make the database for ZeroClaw of that version, then call `then`."""
    app.run_worker(_ask(app, config, version, then), group="make-ask", exclusive=True)


async def _ask(app: App[Any], config: MemoryConfig, version: str | None, then: Callable[[], object]) -> None:
    try:
        plan = await asyncio.to_thread(hydrating.plan_making, config, snapshots.place_of(config), version=version)
    except InspectorError as error:
        _say(app, error)
        return
    notes = " ".join(map(shown_words, plan.notes))
    body = Content.assemble(
        f"{NAME} brings {memories_words(len(plan.new))}.\n{shown_words(str(config.database))} is made with them.",
        (f"\n\n{notes}" if notes else "", MUTED),
        ("\n\nThe snapshot itself stays as it is.", MUTED),
    )
    question = QuestionScreen("Make the database from the snapshot?", body, "Make nothing", "Make it")
    if await app.push_screen_wait(question):
        # A worker of its own: quitting waits for this one, which asks nothing.
        app.run_worker(_make(app, config, plan, version, then), group="make-store")


async def _make(
    app: App[Any],
    config: MemoryConfig,
    plan: HydratePlan,
    version: str | None,
    then: Callable[[], object],
) -> None:
    try:
        await asyncio.to_thread(hydrating.make_store, config, plan.new, version, rows=plan.rows)
    except InspectorError as error:
        _say(app, error)
        return
    app.notify(f"The database is made with {memories_words(len(plan.new))}.", markup=False)
    then()


def _say(app: App[Any], error: InspectorError) -> None:
    app.notify(shown_words(str(error)), title=error.title, severity="error", markup=False)
