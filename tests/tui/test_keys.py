"""Keys in a burst, the palette, the help, the top line, saved choices, and starting without an install."""

from __future__ import annotations

import shutil
import stat
import sys
from pathlib import Path

import pytest
from support import small_store
from support.inspector import running
from support.memories import BrokenConfig, Corrupt, Locked, NoInstall, Unreadable
from support.screens import WIDE
from support.terminal import Terminal
from textual.app import ComposeResult
from textual.widget import Widget
from textual.widgets import Input
from tui.installs import DiskInstall
from tui.samples import Inspector, SampleMemory, hostile_memories, memory

from zeroclaw_tui.config.settings import save_theme, saved_profile, saved_theme
from zeroclaw_tui.tui import external
from zeroclaw_tui.tui.app import StartRoom
from zeroclaw_tui.tui.rooms.browser import BROWSER_COMMANDS

INSPECTOR = [sys.executable, "-m", "zeroclaw_tui"]


@pytest.fixture
def twelve(clean_environment: Path) -> DiskInstall:
    return DiskInstall(clean_environment, [{"content": f"Memory number {at}."} for at in range(12)], generation="G1")


BURSTS = (
    ("/zebra", "The agent recalls nothing for “zebra”.", 12),
    ("\x1b", "last stored first", 12),
    ("jjjdy", "11 memories", 11),
    ("jjdyjjdy", "9 memories", 9),
    ("dyux", "For which message?", 9),
    ("\x1b", "last stored first", 9),
    ("?undo", "Undo the last change", 9),
)


def test_keys_typed_in_a_burst_reach_the_intended_screens(twelve: DiskInstall) -> None:
    """All keys of a burst arrive in a single write to the terminal."""
    with Terminal([*INSPECTOR, str(twelve.config_dir)], columns=120, lines=30) as screen:
        screen.wait_for("12 memories")
        for burst, words, left in BURSTS:
            screen.press(burst)
            screen.wait_until(lambda left=left: len(twelve.contents()) == left, f"{left} memories")
            screen.wait_for(words)
            assert ("key8" in twelve.contents()) == (left == 12)


NAMES = {
    "doctor": "Check the store for problems",
    "colours": "Choose the colours",
    "restore": "Undo the last change",
    "junk": "Find duplicates, junk and secrets",
}


async def test_the_palette_finds_commands_by_name_and_by_description(inspector: Inspector) -> None:
    async with running(inspector.app(), WIDE) as screen:
        await screen.press("colon")
        typing = screen.top.query_one(Input)
        for typed, sentence in NAMES.items():
            typing.value = "biggest"
            await screen.until("No matches found")
            typing.value = typed
            await screen.until(sentence)
        await screen.press("escape", "ctrl+p", "=order")
        await screen.until("Sort the list")
        await screen.press("enter", shows="Sort by?")


async def test_keys_in_the_help_are_searched_run_and_copied_as_shell_commands(inspector: Inspector) -> None:
    async with running(inspector.app(), WIDE) as screen:
        await screen.pilot.press("question_mark")
        await screen.until("Keys: type to search")
        await screen.pilot.press(*"purge")
        await screen.until("Delete the marked memories")
        screen.hides("Undo the last change")
        screen.shows("zeroclaw memory forget")
        await screen.press("ctrl+y")
        assert screen.app.clipboard.startswith("zeroclaw memory forget")
        await screen.pilot.press("enter")
        await screen.until("Delete recipe?")
        await screen.press("escape")
        assert screen.top is screen.browser


def test_without_an_install_the_demo_and_a_path_are_offered(clean_environment: Path) -> None:
    database = clean_environment / "elsewhere.db"
    small_store.make(database, "G1", [{"key": "tz", "content": "Timezone is EST"}])
    for keys, shown in ((["\r"], "210 memories"), (["O", str(database), "\r"], "1 memory")):
        with Terminal(INSPECTOR, columns=80, lines=24) as screen:
            screen.wait_for("No install found", "⏎ demo", "? keys", "q quit")
            screen.press(keys[0])
            if len(keys) > 1:
                screen.wait_for("Open which file or directory?")
                screen.press(*keys[1:])
            screen.wait_for(shown)
            screen.press("q")
            assert screen.wait_exit() == 0


def test_a_number_typed_before_its_question_counts_except_for_permanent_deletion(twelve: DiskInstall) -> None:
    with Terminal([*INSPECTOR, str(twelve.config_dir)], columns=120, lines=30) as screen:
        screen.wait_for("12 memories")
        screen.press("*d12\r")
        screen.wait_for("0 memories")
        assert twelve.contents() == {}
        screen.press("4")
        screen.wait_for("deleted 12 memories")
        # The first key reaches the list below, the others the question.
        screen.press(":empty the trash\r112\r")
        screen.wait_for("Type 12 to delete.")
        screen.press("\x1b")
        screen.wait_until(lambda: "Type 12 to delete." not in screen.text, "the question closed")
        screen.press("q")
        screen.wait_for("0 memories")
        screen.press("u")
        screen.wait_for("12 memories")
        screen.press("q")
        assert screen.wait_exit() == 0
    assert len(twelve.contents()) == 12


class Late(Widget):
    """Queries a part that has just been unmounted."""

    class Part(Widget):
        def on_unmount(self) -> None:
            assert isinstance(self.parent, Widget)
            self.parent.call_next(self.parent.query_one, Late.Part)

    def compose(self) -> ComposeResult:
        yield Late.Part()


async def test_an_update_of_the_screen_during_exit_is_no_error(inspector: Inspector) -> None:
    async with running(inspector.app()) as screen:
        await screen.top.mount(Late())
        screen.app.exit(0)
    assert screen.app.return_code == 0


async def test_a_chosen_profile_is_used_at_once_and_saved(inspector: Inspector) -> None:
    """A choice that cannot be saved still applies, and is reported."""
    install = inspector.configs[0].install
    async with running(inspector.app(), WIDE) as screen:
        await screen.press("slash", "=ramen", "enter")
        assert "scoring 0.6.2 (assumed)" in screen.line(1)
        assert saved_profile(install) is None
        await screen.press(":scoring", "G", "end", "enter")
        assert "scoring 0.8.4 (chosen here)" in screen.line(1)
        assert saved_profile(install) == screen.browser.page.recall.profile == "0.8.4"
        shutil.rmtree(install.own_dir)
        install.own_dir.write_text("a file where the folder should be")
        await screen.press(":scoring", "home", "enter")
        await screen.until("Not a directory.")
        assert "scoring 0.1.7 (chosen here)" in screen.line(1)


async def test_a_saved_theme_is_used_and_a_chosen_one_is_saved(inspector: Inspector) -> None:
    install = inspector.configs[0].install
    save_theme(install, "zeroclaw-light")
    async with running(inspector.app()) as screen:
        assert screen.app.theme == "zeroclaw-light"
        screen.app.theme = "nord"
        await screen.settle()
        assert saved_theme(install) == "nord"
        assert stat.S_IMODE((install.own_dir / "settings.toml").stat().st_mode) == 0o600


async def test_y_copies_the_content_to_the_terminal_and_the_desktop_clipboard(
    inspector: Inspector, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The copy is exact, including lone surrogates."""
    program = tmp_path / "xclip"
    program.write_text(f"#!/bin/sh\n/bin/cat > {tmp_path}/copied\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    await inspector.store.store("odd", "lone \udcff surrogate", "core")
    async with running(inspector.app()) as screen:
        await screen.press("y")
        assert "surrogate" in screen.app.clipboard
        await screen.press("j", "j", "y", shows="Sent to the terminal's clipboard.")
        assert screen.app.clipboard == "用户喜欢深色主题，使用中文回答"
        monkeypatch.setenv("DISPLAY", ":0")
        await screen.pilot.press("y")
        await screen.until("Copied to the clipboard.")
    assert (tmp_path / "copied").read_text() == "用户喜欢深色主题，使用中文回答"
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22")
    assert external.clipboard_program() is None


async def test_help_names_every_bound_key_including_rebound_ones(inspector: Inspector) -> None:
    app = inspector.app()
    app.set_keymap({"sort": "z"})
    async with running(app, (180, 160)) as screen:
        await screen.press("z", shows="Sort by?")
        await screen.press("escape", "question_mark")
        shown = screen.words
        assert "z sort Sort the list" in shown
        for command in BROWSER_COMMANDS:
            if command.key:
                assert command.title in shown
        assert "Move by row or line" in shown
        await screen.press("escape")
        assert screen.top is screen.browser


async def test_no_memory_can_style_or_break_the_screen(tmp_path: Path) -> None:
    """Each hostile memory is selected, shown and copied."""
    async with running(Inspector(tmp_path, SampleMemory(hostile_memories())).app()) as screen:
        await screen.press("G", shows="[/foo] [bold]")
        await screen.press("g")
        for _ in range(len(hostile_memories())):
            await screen.press("y", "j")
            assert not {"\x1b", "\x07", "\x9b", "\r", "\u202e"} & set(screen.text)
        assert screen.rows.row_count == len(hostile_memories())


OPENING = [
    NoInstall("There is no ZeroClaw install here.", hint="Give a path, or try --demo."),
    Unreadable("/srv/brain.db cannot be read: permission denied.", hint="Read it as its owner."),
    Corrupt("/srv/brain.db is damaged.", hint="Copy it, then .recover the copy."),
    Locked("Another program holds /srv/brain.db.", hint="Wait for it, then r."),
    BrokenConfig("config.toml cannot be read: line 3, column 7.", hint="Mend that line."),
]


async def test_an_unopenable_store_shows_a_screen_until_r_opens_it(inspector: Inspector) -> None:
    inspector.refusals["sqlite"] = OPENING[0]
    async with running(inspector.app()) as screen:
        for error in OPENING:
            inspector.refusals["sqlite"] = error
            await screen.press("r", shows=(error.title, error.message, error.hint, "r retry"))
            await screen.press("escape")
            assert isinstance(screen.top, StartRoom)
        await screen.press("question_mark", shows="Open the store again")
        await screen.press("escape")
        inspector.refusals.clear()
        await screen.press("r")
        assert screen.rows.row_count == 245
        await screen.pilot.press("q")
    assert screen.app.return_value == 0
    inspector.refusals["sqlite"] = OPENING[0]
    async with running(inspector.app()) as screen:
        await screen.pilot.press("q")
    assert screen.app.return_value == OPENING[0].exit_code != 0


async def test_a_store_of_only_superseded_memories_says_that_they_are_hidden(tmp_path: Path) -> None:
    old = [memory("tz", "EST", "core", 3, 1, superseded_by="later")]
    async with running(Inspector(tmp_path, SampleMemory(old)).app()) as screen:
        screen.shows("No memories here. 1 superseded hidden.", "F change the filters")
        await screen.press("F", "=superseded")
        await screen.until("superseded 1")
        await screen.press("enter")
        await screen.until(lambda: "EST" in screen.line_with("tz"))
        screen.shows("1 memory · with superseded")
