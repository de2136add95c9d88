"""Waiting until a screen has answered everything it was asked."""

from __future__ import annotations

import asyncio
from typing import Any

from textual.pilot import Pilot


async def settled(pilot: Pilot[Any]) -> None:
    """Let everything that was asked be answered and painted; a change that waits for a dialog counts as done.

    After a pause every message is worked off and nothing computes: without a running worker nothing more comes.
    """
    async with asyncio.timeout(30):
        while True:
            await pilot.pause()
            waits = len(pilot.app.screen_stack) > 2
            if not any(not one.is_finished and not (waits and "write" in one.group) for one in pilot.app.workers):
                return
