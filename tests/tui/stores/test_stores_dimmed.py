"""What a store cannot do is dimmed, and its key says why; what it can do works."""

from __future__ import annotations

from pathlib import Path

import pytest
from stores_samples import NO_VECTORS, Known, Lucid, Server, TraitOnly, none, notes, sqlite
from support.screens import WIDE, said, screen_text, screen_words, unsaid
from support.settling import press, running, until
from tui_samples import browser, entries_in

from zeroclaw_tui.backends.in_memory import InMemory
from zeroclaw_tui.tui.rooms.browser import BROWSER_COMMANDS
from zeroclaw_tui.tui.rooms.editor import EditorScreen

STORES = {
    "sqlite": sqlite,
    "markdown": notes,
    "none": none,
    "lucid": Lucid,
    "postgres": Server,
    "in-memory": InMemory,
    "plain": TraitOnly,
}
DIMMED = {
    "sqlite": set(),
    "markdown": {"re_embed", "snapshot", "show_again"},
    "lucid": set(),
    "postgres": {"snapshot"},
    "in-memory": {"re_embed", "snapshot"},
}


@pytest.mark.parametrize("name", list(STORES))
async def test_every_command_is_there_or_says_in_a_sentence_why_not(tmp_path: Path, name: str) -> None:
    async with running(Known(tmp_path, {name: STORES[name]()}).app(), WIDE) as (app, _):
        reasons = {one.id: why for one in BROWSER_COMMANDS if (why := browser(app).why_dimmed(one.id)) is not None}
        assert all(why.endswith(".") and " " in why for why in reasons.values())
        if name in DIMMED:
            assert set(reasons) == DIMMED[name]
        for command in BROWSER_COMMANDS:
            is_dimmed = command.id in reasons
            if command.id != "search_mode":
                assert (browser(app).check_action(command.id, ()) is None) == is_dimmed


async def test_where_nothing_is_stored_each_key_says_so(tmp_path: Path) -> None:
    async with running(Known(tmp_path, {"none": none()}).app()) as (app, pilot):
        for key in ("slash", "F", "e", "d", "n", "u", "o", "y"):
            unsaid(app)
            await press(pilot, key)
            assert said(app) == 'Not here: Nothing is stored: the backend "none" keeps nothing.'
            assert "This backend stores no memories." in screen_text(app)


async def test_markdown_says_in_each_room_what_it_lacks_and_its_content_can_be_edited(tmp_path: Path) -> None:
    """The same notice does not pile up."""
    async with running(Known(tmp_path, {"markdown": notes()}, embeds=False).app(), WIDE) as (app, pilot):
        await press(pilot, ":re-embed", ":re-embed", ":re-embed")
        assert said(app) == f"Not here: {NO_VECTORS}"
        await press(pilot, "slash", "=ramen")
        assert "█" not in screen_text(app)
        await press(pilot, "escape", "escape", "colon", "=re-embed")
        assert NO_VECTORS in screen_words(app)
        await press(pilot, "escape", "colon", "=snapshot")
        assert "ZeroClaw writes and reads MEMORY_SNAPSHOT.md only for" in screen_words(app)
        await press(pilot, "escape", "escape", "e")
        assert isinstance(app.screen, EditorScreen)
        assert screen_text(app).count("Only the content of a line can be changed.") >= 4


async def test_rows_of_lucid_are_marked_and_cannot_be_changed(tmp_path: Path) -> None:
    store = Lucid(entries_in(sqlite()))
    async with running(Known(tmp_path, {"lucid": store}).app(), WIDE) as (app, pilot):
        await press(pilot, "slash", "=eat", "enter")
        assert screen_text(app).count("◇ lucid") == 2
        await press(pilot, "G")
        for key in ("e", "d", ":re-embed"):
            await press(pilot, key)
        assert said(app) == "Not here: This memory comes from the lucid program and cannot be changed here."
        await pilot.press("g", "d")
        await until(pilot, lambda: "Delete" in screen_text(app))
