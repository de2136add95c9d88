"""Waiting for work that writes: whoever gives up asks it to stop, and stays until it has let go."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

from zeroclaw_tui.memory.change import Advance

Answer = TypeVar("Answer")


def unless(stop: threading.Event, advance: Advance | None) -> Advance:
    """An `advance` that also ends the work once `stop` is set."""
    return lambda done: not stop.is_set() and (advance is None or advance(done))


async def to_its_end(running: asyncio.Future[Answer], stop: Callable[[], None]) -> Answer:
    """What the work gives, or raises. Cancelled, it is asked to stop, and waited for however often one cancels."""
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError as cancellation:
            stop()
            cancelled = cancellation
    if cancelled is not None:
        if not running.cancelled():
            # Looked at, so that nobody is told of an error that was never asked for.
            running.exception()
        raise cancelled
    return running.result()
