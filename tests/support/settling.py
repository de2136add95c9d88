"""Waiting until a screen has answered everything it was asked, and no longer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import textual.app
import textual.pilot
from textual._context import active_app
from textual._wait import wait_for_idle as wait_for_idle_processor
from textual.app import App
from textual.pilot import Pilot
from textual.screen import ModalScreen
from textual.widgets import Input, TextArea
from textual.worker import Worker

_DESKTOP = ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION", "SSH_TTY", "NO_MOTION", "NO_COLOR", "VISUAL", "EDITOR")
_SECONDS = 60


def still_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing blinks, nothing of this machine's desktop or terminal shows, and a pause lasts as long as it must."""
    monkeypatch.setattr(Input, "_toggle_cursor", lambda self: None)
    monkeypatch.setattr(TextArea, "_toggle_cursor_blink_visible", lambda self: None)
    monkeypatch.setattr(textual.app, "wait_for_idle", _wait_for_idle)
    monkeypatch.setattr(textual.pilot, "wait_for_idle", _wait_for_idle)
    for name in _DESKTOP:
        monkeypatch.delenv(name, raising=False)


async def settled(pilot: Pilot[Any]) -> None:
    """Let everything that was asked be answered and painted; a change that waits for a dialog counts as done."""
    quiet = 0
    async with asyncio.timeout(_SECONDS):
        # The last answer of a worker can set off the next one.
        while quiet < 2:
            await pilot.pause()
            quiet = 0 if _working(pilot.app) or not await _is_at_rest(pilot.app) else quiet + 1


def _working(app: App[Any]) -> list[Worker[Any]]:
    """The workers that something is still to come from."""
    asks = isinstance(app.screen, ModalScreen) or len(app.screen_stack) > 2
    running = (one for one in app.workers if not one.is_finished)
    return [one for one in running if not (asks and (one.group == "change" or "write" in one.group))]


async def _wait_for_idle(min_sleep: float = 0.02, max_sleep: float = 1) -> None:
    """As Textual's own, which asks how busy the processor is: wrong on a loaded machine, and 20 ms at the least.

    Where something may come from a thread, a socket or another process that one is waited for as well.
    """
    app = active_app.get()
    if not await _is_at_rest(app) or any(not one.is_finished for one in app.workers):
        await wait_for_idle_processor(min_sleep, max_sleep)
        await _is_at_rest(app)


async def _is_at_rest(app: App[Any]) -> bool:
    """Work off and paint what can be now; True when nothing is left that only has to be done."""
    ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
    for _ in range(10_000):
        await asyncio.sleep(0)
        screen = app.screen_stack[-1] if app.screen_stack else None
        if ready:
            continue
        if app._resize_timer is not None:
            app._check_resize()
        elif screen is not None and screen.is_current and not app._batch_count and _is_to_be_painted(screen):
            screen._on_timer_update()
        else:
            # A widget in the middle of a message waits for no other one.
            return all(node._message_queue.ready_event._waiters for node in app._registry if node._running)
    return False


def _is_to_be_painted(screen: Any) -> bool:
    return bool(
        screen._layout_required
        or screen._scroll_required
        or screen._repaint_required
        or screen._recompose_required
        or screen._dirty_widgets
        or screen._callbacks
    )
