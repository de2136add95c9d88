"""Wait exactly until a screen has finished its pending work."""

from __future__ import annotations

import asyncio
import unicodedata
from asyncio import BaseEventLoop
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any
from weakref import WeakSet

import pytest
import textual.app
import textual.css.stylesheet
import textual.pilot
from rich.cells import cell_len
from textual._compositor import Compositor
from textual._context import active_app
from textual.app import App
from textual.command import CommandList
from textual.css.model import RuleSet
from textual.css.parse import parse
from textual.css.tokenize import Token, tokenize_values
from textual.events import Key
from textual.keys import _character_to_key
from textual.notifications import Notification
from textual.pilot import Pilot
from textual.widgets import Input, TextArea
from textual.worker import Worker, get_current_worker

from support.screens import screen_text

_DESKTOP = ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION", "SSH_TTY", "NO_MOTION", "NO_COLOR", "VISUAL", "EDITOR")
_SECONDS = 60
_MOMENT = 0.001
"""Seconds between two looks at sockets, timers and other processes."""
_MOST_PAUSE = 0.05
_JOBS: WeakSet[asyncio.Future[Any]] = WeakSet()
"""The running thread jobs of every event loop."""
_ASKING: WeakSet[Worker[Any]] = WeakSet()
"""The workers that wait for a user's answer."""

_PARSED: dict[tuple[Any, ...], list[RuleSet]] = {}


def still_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turn off blinking, hide this machine's desktop and terminal, and end each pause as soon as the app is idle.

    An app draws after each step; here the screen is drawn only when a test reads it.
    """
    monkeypatch.setattr(Input, "cursor_blink", False)
    monkeypatch.setattr(TextArea, "cursor_blink", False)
    monkeypatch.setattr(textual.app, "wait_for_idle", _wait_for_idle)
    monkeypatch.setattr(textual.pilot, "wait_for_idle", _wait_for_idle)
    monkeypatch.setattr(App, "push_screen_wait", _record_questions(App.push_screen_wait))
    monkeypatch.setattr(BaseEventLoop, "run_in_executor", _record_jobs(BaseEventLoop.run_in_executor))
    monkeypatch.setattr(Compositor, "render_update", _draw_on_demand(Compositor.render_update))
    # All apps have the same styles, and parsing them takes a fifth of a test.
    monkeypatch.setattr(textual.css.stylesheet, "parse", _parsed_once)
    monkeypatch.setattr(textual.css.stylesheet, "tokenize_values", lambda values: _tokens_of(tuple(values.items())))
    # Notifications never expire, since a loaded machine may take any time before a test reads them.
    monkeypatch.setattr(Notification, "has_expired", False)
    for name in _DESKTOP:
        monkeypatch.delenv(name, raising=False)


@cache
def _tokens_of(variables: tuple[tuple[str, str], ...]) -> dict[str, list[Token]]:
    return tokenize_values(dict(variables))


def _parsed_once(*given: Any, variable_tokens: dict[str, list[Token]], **named: Any) -> list[RuleSet]:
    """Parse a style sheet once for the apps of all tests; the tokens are one object for the same theme."""
    key = (*given, *named.values(), id(variable_tokens))
    if key not in _PARSED:
        _PARSED[key] = list(parse(*given, variable_tokens=variable_tokens, **named))
    return _PARSED[key]


async def settled(pilot: Pilot[Any]) -> None:
    """Wait until all pending work is done and painted; a worker that waits for a user's answer counts as done."""
    quiet = 0
    with _limited(pilot.app):
        async with asyncio.timeout(_SECONDS):
            # The last result of a worker can start another worker.
            while quiet < 2:
                await _wait_for_idle()
                quiet = 0 if _unfinished_workers(pilot.app) or not await _is_at_rest(pilot.app) else quiet + 1


async def until(pilot: Pilot[Any], condition: Callable[[], object]) -> None:
    """Let the app run until a condition is true."""
    with _limited(pilot.app):
        async with asyncio.timeout(_SECONDS):
            pause = _MOMENT
            while not condition():
                await _wait_for_idle()
                # The condition may take seconds, and each look at a screen draws all of it.
                await asyncio.sleep(pause)
                pause = min(2 * pause, _MOST_PAUSE)
    await _wait_for_idle()


@contextmanager
def _limited(app: App[Any]) -> Iterator[None]:
    """On a time-out, fail with the text on the screen."""
    try:
        yield
    except TimeoutError:
        raise AssertionError(f"it never came true; working: {_unfinished_workers(app)}:\n{screen_text(app)}") from None


async def press(pilot: Pilot[Any], *keys: str) -> None:
    """Press keys one after the other, each after the app has settled.

    Text after "=" is typed at once; text after ":" is the name of a command for the palette.
    """
    for key in keys:
        if key.startswith("="):
            burst(pilot.app, key[1:])
        elif key.startswith(":"):
            await press(pilot, "colon", f"={key[1:]}")
            await until(pilot, lambda: key[1:] in _highlighted_command(pilot.app))  # noqa: B023
            _post_key(pilot.app, "enter")
        else:
            _post_key(pilot.app, key)
        await _wait_for_idle()
        await pilot.app.animator.wait_until_complete()
        await settled(pilot)


def _highlighted_command(app: App[Any]) -> str:
    """Return the line of the palette that enter chooses, "" if there is none."""
    commands = app.screen.query_one(CommandList)
    return "" if commands.highlighted is None else str(commands.get_option_at_index(commands.highlighted).prompt)


def _post_key(app: App[Any], key: str) -> None:
    """Send one key by name, or a letter as typed."""
    letter = key
    if len(key) == 1:
        key = _character_to_key(key)
    else:
        try:
            letter = unicodedata.lookup(key.replace("_", " ").upper())
        except KeyError:
            letter = ""
    app.post_message(Key(key, letter or None))


def burst(app: App[Any], typed: str) -> None:
    """Send letters as a fast typist or a paste does: all of them before the first one is handled."""
    for letter in typed:
        _post_key(app, "enter" if letter == "\r" else letter)


async def click_text(pilot: Pilot[Any], text: str, within: str = "*") -> None:
    """Click the first letter of the first occurrence of a text, inside the given widget if any; then settle."""
    region = pilot.app.screen.query(within).first().region if within != "*" else pilot.app.screen.region
    for y, shown in enumerate(screen_text(pilot.app).splitlines()):
        cells = [character for character in shown for _ in range(max(1, cell_len(character)))]
        part = "".join(cells[region.x : region.right])
        if region.y <= y < region.bottom and text in part:
            await pilot.click(offset=(region.x + part.index(text), y))
            await settled(pilot)
            return
    raise AssertionError(f"{text!r} is not on the screen:\n{screen_text(pilot.app)}")


def pressing(*keys: str) -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Return a function that settles the app and presses keys before a picture."""

    async def run(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        await press(pilot, *keys)

    return run


def _unfinished_workers(app: App[Any]) -> list[Worker[Any]]:
    """Return the unfinished workers that do not wait for a user's answer."""
    return [one for one in app.workers if not one.is_finished and one not in _ASKING]


async def _wait_for_idle(min_sleep: float = 0, max_sleep: float = 1) -> None:
    """Replace Textual's function, which measures CPU load: wrong on a loaded machine, and at least 20 ms."""
    app = active_app.get()
    await _rest(app, max_sleep)
    if _unfinished_workers(app):
        await asyncio.sleep(_MOMENT)
        await _is_at_rest(app)


async def _rest(app: App[Any], seconds: float) -> None:
    """Wait for thread jobs and the work they start, for at most this many seconds."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while True:
        is_at_rest = await _is_at_rest(app)
        jobs = [job for job in _JOBS if job.get_loop() is loop and not job.done()]
        left = end - loop.time()
        if left <= 0 or (is_at_rest and not jobs):
            return
        if jobs:
            await asyncio.wait(jobs, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(_MOMENT)


async def _is_at_rest(app: App[Any]) -> bool:
    """Handle pending messages and paint; True when nothing is left that could be done now."""
    ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
    for _ in range(10_000):
        await asyncio.sleep(0)
        screen = app.screen_stack[-1] if app.screen_stack else None
        if ready:
            continue
        if app._resize_timer is not None:
            app._check_resize()
        elif screen is not None and screen.is_current and not app._batch_count and _needs_painting(screen):
            screen._on_timer_update()
        else:
            # A widget that is handling a message does not wait for the next one.
            nodes = (app, *app._registry)
            return all(node._message_queue.ready_event._waiters for node in nodes if node._running)
    return False


def _needs_painting(screen: Any) -> bool:
    return bool(
        screen._layout_required
        or screen._scroll_required
        or screen._repaint_required
        or screen._recompose_required
        or screen._dirty_widgets
        or screen._callbacks
    )


def _draw_on_demand(render: Callable[..., Any]) -> Callable[..., Any]:
    def render_update(compositor: Compositor, full: bool = False, **named: Any) -> Any:
        if full:
            return render(compositor, full, **named)
        compositor._dirty_regions.clear()
        return None

    return render_update


def _record_questions(ask: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def push_screen_wait(app: App[Any], *given: Any, **named: Any) -> Any:
        worker = get_current_worker()
        _ASKING.add(worker)
        try:
            return await ask(app, *given, **named)
        finally:
            _ASKING.discard(worker)

    return push_screen_wait


def _record_jobs(run: Callable[..., asyncio.Future[Any]]) -> Callable[..., asyncio.Future[Any]]:
    def run_in_executor(*given: Any) -> asyncio.Future[Any]:
        job = run(*given)
        _JOBS.add(job)
        return job

    return run_in_executor
