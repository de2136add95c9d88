"""Letting go of a store for a while: what needs the database for itself works meanwhile, then it is opened again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar, runtime_checkable

from textual.app import App

from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.errors import InspectorError, Unreadable

Done = TypeVar("Done")


class NotOpenAgain(Unreadable):
    """The store was let go of, and cannot be opened any more: nothing can be asked of it."""


@runtime_checkable
class Loads(Protocol):
    """A screen that asks the store by itself, now and then."""

    def stop_loading(self) -> None:
        """Ask no more."""
        ...

    def start_loading(self) -> None:
        """Ask again."""
        ...


@runtime_checkable
class OpensStores(Protocol):
    """An app that can open its store anew, and shows what is wrong where it does not open."""

    async def open_again(self) -> None:
        """Leave every other screen, and open it."""
        ...


async def with_store_closed(app: App[Any], library: Library, work: Callable[[], Awaitable[Done]]) -> Done:
    """Do something while nothing here holds the database open; however it ends, it is opened again.

    Raises what the work raises, or NotOpenAgain: then the app was asked to show why.
    """
    memory = library.memory
    if memory.file is None:
        return await work()
    loading = [screen for screen in app.screen_stack if isinstance(screen, Loads)]
    for screen in loading:
        screen.stop_loading()
    failure: InspectorError | None = None
    try:
        async with memory.without_connections():
            try:
                done = await work()
            except InspectorError as error:
                # Raised once the store is open again.
                failure = error
    except InspectorError as error:
        if isinstance(app, OpensStores):
            app.call_later(app.open_again)
        raise NotOpenAgain(error.message, hint=error.hint) from error
    for screen in loading:
        screen.start_loading()
    if failure is not None:
        raise failure
    return done
