"""`u` and `U` in the list: at once for what was just done, asked about for what was done long ago or by others."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.screens import said, screen_words
from support.settling import press, running, settled, until
from tui.tui_samples import NOW, Inspector

from zeroclaw_tui.curation.journal import Trash


@pytest.fixture
def inspector(tmp_path: Any) -> Inspector:
    """A store of 248 memories that takes writes."""
    return Inspector(tmp_path)


async def keys_in(inspector: Inspector) -> set[str]:
    return {entry.key for entry in await inspector.store.list()}


def elsewhere(inspector: Inspector, ago: timedelta = timedelta(0)) -> Trash:
    """The trash as another process sees it, at a moment before now."""
    library = inspector.library
    assert library is not None
    return Trash(library.config.install, library.trash.store, lambda: NOW - ago)


async def test_a_recent_change_of_this_session_is_undone_and_redone_without_a_question(inspector: Inspector) -> None:
    async with running(inspector.app()) as (_, pilot):
        await press(pilot, "d", "y")
        assert "recipe" not in await keys_in(inspector)
        await press(pilot, "u")
        assert "Undid: deleted recipe." in said(pilot.app)
        assert "recipe" in await keys_in(inspector)
        await press(pilot, "U")
        assert "Redid: deleted recipe." in said(pilot.app)
        assert "recipe" not in await keys_in(inspector)
        await press(pilot, "U")
        assert "Nothing to redo." in said(pilot.app)


@pytest.mark.parametrize("is_old", [False, True], ids=["another session", "longer ago"])
async def test_what_was_done_long_ago_or_in_another_session_is_asked_about(inspector: Inspector, is_old: bool) -> None:
    async with running(inspector.app()) as (app, pilot):
        library = inspector.library
        assert library is not None
        if is_old:
            library.trash = elsewhere(inspector, timedelta(hours=18))
        await press(pilot, "d", "y")
        if is_old:
            # The same session, later.
            library.trash.now = lambda: NOW
        else:
            library.trash = elsewhere(inspector)
        await press(pilot, "u")
        words = screen_words(app)
        when = "yesterday 18:00" if is_old else "12:00"
        assert f"Undo: deleted recipe, {when}?" in words
        assert "comes back: recipe" in words
        assert ("It was made in an earlier session" in words) is not is_old
        await press(pilot, "n")
        assert "recipe" not in await keys_in(inspector)
        await press(pilot, "u", "enter")
        assert "recipe" not in await keys_in(inspector)
        await press(pilot, "u", "y")
        assert "recipe" in await keys_in(inspector)


async def test_a_stray_second_u_does_not_reach_into_an_earlier_session(inspector: Inspector) -> None:
    async with running(inspector.app()) as (app, pilot):
        library = inspector.library
        assert library is not None
        await press(pilot, "d", "y")
        library.trash = elsewhere(inspector)
        await press(pilot, "d", "y")
        gone = await keys_in(inspector)
        await press(pilot, "u", "u")
        assert "Undo: deleted recipe, 12:00?" in screen_words(app)
        assert len(await keys_in(inspector) - gone) == 1
        await press(pilot, "n", "U")
        assert await keys_in(inspector) == gone


async def test_u_in_the_reader_undoes_an_edit_made_there(inspector: Inspector) -> None:
    async with running(inspector.app()) as (app, pilot):
        await press(pilot, "enter", "e")
        await pilot.press(*"!!", "ctrl+s")
        await until(pilot, lambda: "Changed" in said(pilot.app))
        await settled(pilot)
        assert "Serve hot.!!" in screen_words(app)
        await press(pilot, "u")
        assert "Serve hot.!!" not in screen_words(app)
        assert "1 of 245" in screen_words(app)
