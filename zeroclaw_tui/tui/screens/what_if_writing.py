"""Writing what is tried to config.toml, once a person has seen what changes there."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import TYPE_CHECKING, Any

from textual.app import App

from zeroclaw_tui.curation.what_if import plan_settings_change, save_settings_change
from zeroclaw_tui.scoring.settings import Trial
from zeroclaw_tui.tui.screens.hygiene_rules import RuleReviewScreen

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library


async def written(app: App[Any], library: Library, trial: Trial, now: datetime, words: str) -> bool:
    """Show what changes in the file, and save it when that is wanted; `words` are what the trial comes to.

    The library scores by it from then on. Runs in a worker. Raises Refused when there is nothing to write or the file
    changed meanwhile, WrongUse, BrokenConfig, Unreadable.
    """
    change = await asyncio.to_thread(plan_settings_change, library, trial, now)
    effect = f"For this message, with all that is tried: {words}." if words else ""
    if await app.push_screen_wait(RuleReviewScreen(change, effect)) != "save":
        return False
    await save_settings_change(library, change, now)
    return True
