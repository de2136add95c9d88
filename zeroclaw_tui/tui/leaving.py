"""What has to be done before the program ends: ask for what was typed, and finish what is being written."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Protocol, runtime_checkable

from textual.app import App
from textual.screen import Screen
from textual.worker import Worker, WorkerError

_STOPPED = frozenset(
    {
        "change",
        "copy-write",
        "editor-save",
        "trash-write",
        "history-write",
        "snapshot-write",
        "audit-write",
        "reindex-write",
        "hygiene-write",
    }
)
"""These may wait for an answer, or do many rows in batches; the batch under way is always finished."""
_AWAITED = frozenset({"copies-write", "doctor-write", "make-store"})


@runtime_checkable
class Guarded(Protocol):
    """A screen that knows when it was drawn; one that `is_final` takes no key that was typed before."""

    is_final: bool
    stands_since: float

    def stands(self) -> None:
        """It has been drawn."""
        ...


@runtime_checkable
class HoldsKeys(Protocol):
    """An app that keeps the keys which come while a room works out what to ask."""

    def hold_keys(self) -> None:
        """Keep the keys from now on."""
        ...

    def release_keys(self, *, dropped: bool = False) -> None:
        """Hand them on, or drop them; nothing where none are kept."""
        ...


@runtime_checkable
class HoldsText(Protocol):
    """A screen in which a person types what is nowhere else yet."""

    @property
    def holds_text(self) -> bool:
        """Whether something would be lost with the screen."""
        ...


def holds_text(screens: Iterable[Screen[Any]]) -> bool:
    """Whether one of these screens has text that was not saved."""
    return any(screen.holds_text for screen in screens if isinstance(screen, HoldsText))


async def finish_writing(app: App[Any], patience: float) -> None:
    """Begin nothing more, and wait until what is being written is whole; says so when that takes `patience` seconds."""
    writing = [worker for worker in app.workers if worker.group in _STOPPED | _AWAITED and not worker.is_finished]
    if not writing:
        return
    said = "Finishing what is being written, then this ends."
    timer = app.set_timer(patience, lambda: app.notify(said, markup=False))
    for worker in writing:
        if worker.group in _STOPPED:
            worker.cancel()
    for worker in writing:
        await _end_of(worker)
    timer.stop()


async def _end_of(worker: Worker[Any]) -> None:
    # A failure was told where the change was made; here only its end counts.
    with suppress(WorkerError):
        await worker.wait()
