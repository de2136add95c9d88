"""Keys in a burst, the palette, the help, and the ways on without an install, as a person meets them."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from support import small_store
from support.screens import WIDE, screen_text, screen_words
from support.settling import press, running, settled, until
from support.terminal import Terminal
from textual.app import ComposeResult
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input
from tui_samples import Inspector

from zeroclaw_tui.tui.dialogs import Page

INSPECTOR = [sys.executable, "-m", "zeroclaw_tui"]


@pytest.fixture
def config_dir(clean_environment: Path) -> Path:
    folder = clean_environment / ".zeroclaw"
    database = folder / "workspace" / "memory" / "brain.db"
    database.parent.mkdir(parents=True)
    (folder / "config.toml").write_text('[memory]\nbackend = "sqlite"\n', encoding="utf-8")
    small_store.make(database, "G1", [{"key": f"key{at}", "content": f"Memory number {at}."} for at in range(12)])
    return folder


def _keys(config_dir: Path) -> list[str]:
    with closing(sqlite3.connect(config_dir / "workspace" / "memory" / "brain.db")) as connection:
        return [key for (key,) in connection.execute("SELECT key FROM memories ORDER BY rowid")]


@pytest.mark.parametrize(
    ("burst", "words", "left"),
    [
        ("/zebra", "recall · contains · regex · similar  zebra", 12),
        ("dy", "11 memories", 11),
        ("jjjdy", "11 memories", 11),
        ("jjdyjjdy", "10 memories", 10),
        ("dyux", "For which message?", 12),
        ("?undo", "Undo the last change", 12),
    ],
)
def test_keys_typed_in_one_go_reach_what_they_were_typed_for(
    config_dir: Path, burst: str, words: str, left: int
) -> None:
    """All keys of a burst come in a single write to the terminal."""
    with Terminal([*INSPECTOR, str(config_dir)], columns=120, lines=30) as screen:
        screen.wait_for("12 memories")
        screen.press(burst)
        screen.wait_until(lambda: len(_keys(config_dir)) == left, f"{left} memories")
        screen.wait_for(words)
        if burst == "jjjdy":
            assert "key8" not in _keys(config_dir)


def test_a_number_typed_before_its_question_is_drawn_counts(config_dir: Path) -> None:
    with Terminal([*INSPECTOR, str(config_dir)], columns=120, lines=30) as screen:
        screen.wait_for("12 memories")
        screen.press("*d12\r")
        screen.wait_for("0 memories")
        assert _keys(config_dir) == []
        screen.press("u")
        screen.wait_for("12 memories")
        screen.press("q")
        assert screen.wait_exit() == 0


NAMES = {
    "doctor": "Check the store for problems",
    "explain": "Explain why this memory is recalled",
    "what-if": "Try other settings",
    "trash": "All changes and the trash",
    "theme": "Choose the colours",
    "colours": "Choose the colours",
    "sort": "Sort the list",
    "restore": "Undo the last change",
    "near": "Find memories similar to this one",
    "junk": "Find duplicates, junk and secrets",
    "quit": "Quit",
}


async def test_the_palette_knows_the_names_of_things_and_the_words_of_sentences(inspector: Inspector) -> None:
    async with running(inspector.app(), WIDE) as (app, pilot):
        await press(pilot, "colon")
        typing = app.screen.query_one(Input)
        for typed, sentence in NAMES.items():
            typing.value = "biggest"
            await until(pilot, lambda: "No matches found" in screen_text(app))
            typing.value = typed
            await until(pilot, lambda sentence=sentence: sentence in screen_text(app))
        await press(pilot, "escape", "ctrl+p", "=order")
        await until(pilot, lambda: "Sort the list" in screen_text(app))
        await press(pilot, "enter")
        assert "Sort by?" in screen_text(app)


async def test_the_palette_takes_away_nothing_that_came_over_it(inspector: Inspector) -> None:
    """As the question of a change that was being looked at when it was opened; and pages of nothing are no fault."""
    async with running(inspector.app(), WIDE) as (app, pilot):
        await press(pilot, "colon", "=no such command", "pagedown")
        palette, over = app.screen, Page("Notice", Content("Something came up."))
        await app.push_screen(over)
        palette.dismiss()
        await settled(pilot)
        assert "Something came up." in screen_text(app)
        await press(pilot, "escape", "escape")
        assert app.screen is app.screen_stack[0]


async def test_the_keys_are_searched_by_typing_run_and_copied_as_shell_commands(inspector: Inspector) -> None:
    async with running(inspector.app(), WIDE) as (app, pilot):
        await pilot.press("question_mark")
        await until(pilot, lambda: "Keys: type to search" in screen_text(app))
        await pilot.press(*"purge")
        await until(pilot, lambda: "Delete the marked memories" in screen_text(app))
        assert "Undo the last change" not in screen_text(app)
        assert "zeroclaw memory forget" in screen_words(app)
        await press(pilot, "ctrl+y")
        assert app.clipboard.startswith("zeroclaw memory forget")
        await pilot.press("enter")
        await until(pilot, lambda: "Delete recipe?" in screen_words(app))
        await press(pilot, "escape")
        assert app.screen is app.screen_stack[0]


def test_without_an_install_there_is_the_demo_and_a_path(clean_environment: Path) -> None:
    with Terminal(INSPECTOR, columns=80, lines=24) as screen:
        screen.wait_for("No install found", "⏎ demo", "? keys", "q quit")
        screen.press("\r")
        screen.wait_for("210 memories")
        screen.press("q")
        assert screen.wait_exit() == 0
    database = clean_environment / "elsewhere.db"
    small_store.make(database, "G1", [{"key": "tz", "content": "Timezone is EST"}])
    with Terminal(INSPECTOR, columns=100, lines=30) as screen:
        screen.wait_for("No install found")
        screen.press("O")
        screen.wait_for("Open which file or directory?")
        screen.press(str(database))
        screen.press("\r")
        screen.wait_for("1 memory")
        screen.press("q")
        assert screen.wait_exit() == 0


def test_a_number_typed_too_early_never_erases_for_good(config_dir: Path) -> None:
    with Terminal([*INSPECTOR, str(config_dir)], columns=120, lines=30) as screen:
        screen.wait_for("12 memories")
        screen.press("*d12\r")
        screen.wait_for("0 memories")
        screen.press("4")
        screen.wait_for("deleted 12 memories")
        screen.press(":empty the trash\r12\r")
        screen.wait_for("Type 12 to delete:")
        screen.press("\x1b")
        screen.wait_until(lambda: "Type 12 to delete:" not in screen.text, "the question gone")
        screen.press("q")
        screen.wait_for("0 memories")
        screen.press("u")
        screen.wait_for("12 memories")
        screen.press("q")
        assert screen.wait_exit() == 0
    assert len(_keys(config_dir)) == 12


async def test_keys_typed_right_after_a_dialog_closes_are_not_delayed(inspector: Inspector) -> None:
    """What the key closed hears nothing any more, and so cannot tell that the key has done all it does."""
    async with running(inspector.app()) as (app, pilot):
        await pilot.press("o")
        await until(pilot, lambda: "Sort by?" in screen_text(app))
        await press(pilot, "escape", "slash", "=eat")
        assert "recall · contains · regex · similar  eat" in screen_text(app)


class Late(Widget):
    """Looks for a part that is not there any more, once that is reported."""

    class Part(Widget):
        def on_unmount(self) -> None:
            assert isinstance(self.parent, Widget)
            self.parent.call_next(self.parent.query_one, Late.Part)

    def compose(self) -> ComposeResult:
        yield Late.Part()


async def test_what_still_wants_to_show_something_while_the_program_ends_is_no_fault(inspector: Inspector) -> None:
    async with running(inspector.app()) as (app, _):
        await app.screen.mount(Late())
        app.exit(0)
    assert app.return_code == 0
