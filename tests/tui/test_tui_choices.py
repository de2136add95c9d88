"""What a person chooses: profile, theme, copying, commands by name."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from support.settling import settled
from tui_samples import (
    NARROW,
    WIDE,
    Inspector,
    SampleMemory,
    browser,
    hostile_memories,
    line,
    screen_text,
    screen_words,
    until,
)

from zeroclaw_tui.config.settings import save_theme, saved_profile, saved_theme
from zeroclaw_tui.curation.evaluation.queries import TESTS, TestQuery, append_queries
from zeroclaw_tui.tui import external
from zeroclaw_tui.tui.rooms.browser import BROWSER_COMMANDS
from zeroclaw_tui.tui.widgets.detail import MemoryDetail
from zeroclaw_tui.tui.widgets.memory_list import MemoryList


async def test_a_chosen_profile_scores_from_then_on_and_is_remembered(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("slash", *"ramen", "enter")
        await settled(pilot)
        assert "scoring 0.6.2 (assumed)" in line(app, 0)
        assert saved_profile(inspector.configs[0].install) is None
        await pilot.press("p", "G", "end", "enter")
        await settled(pilot)
        assert "scoring 0.8.4 (chosen here)" in line(app, 0)
        assert saved_profile(inspector.configs[0].install) == "0.8.4"
        recalled = browser(app).panes.recalled
        assert recalled is not None
        assert recalled.profile == "0.8.4"


async def test_leaving_the_chooser_changes_and_keeps_nothing(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await pilot.press("p", "j", "escape")
        assert "0.6.2" in line(app, 0)
        assert not inspector.configs[0].install.own_dir.exists()


async def test_another_profile_says_first_which_recall_tests_lose_their_answer(inspector: Inspector) -> None:
    """Asked where there are tests; a no leaves the rules as they are."""
    own_dir = inspector.configs[0].install.own_dir
    own_dir.mkdir(parents=True)
    append_queries(own_dir / TESTS, TestQuery("ramen", (), "spicy", rejected=("nobody",)))
    app = inspector.app()
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await pilot.press("p", "end", "enter")
        await until(pilot, lambda: "recall test" in screen_words(app))
        assert "Score like ZeroClaw 0.8.4 from now on?" in screen_words(app)
        await pilot.press("n")
        await settled(pilot)
        assert "0.6.2" in line(app, 0)
        await pilot.press("p", "end", "enter", "y")
        await settled(pilot)
        assert "0.8.4" in line(app, 0)


async def test_a_choice_that_cannot_be_kept_holds_and_is_told(inspector: Inspector) -> None:
    inspector.configs[0].install.own_dir.parent.mkdir(parents=True, exist_ok=True)
    inspector.configs[0].install.own_dir.write_text("a file where the folder should be")
    app = inspector.app()
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("p", "end", "enter")
        await until(pilot, lambda: "settings.toml cannot be read" in screen_words(app))
        assert "chosen here" in line(app, 0)


async def test_a_saved_theme_is_used_and_a_chosen_one_is_saved(inspector: Inspector) -> None:
    install = inspector.configs[0].install
    save_theme(install, "zeroclaw-light")
    app = inspector.app()
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        assert app.theme == "zeroclaw-light"
        app.theme = "nord"
        await settled(pilot)
        assert saved_theme(install) == "nord"
        assert stat.S_IMODE((install.own_dir / "settings.toml").stat().st_mode) == 0o600


async def test_a_theme_that_is_not_there_is_told_and_ours_is_used(inspector: Inspector) -> None:
    save_theme(inspector.configs[0].install, "[/nowhere]")
    app = inspector.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        assert app.theme == "zeroclaw-dark"
        await until(pilot, lambda: "There is no theme '[/nowhere]'" in screen_words(app))
        assert saved_theme(inspector.configs[0].install) == "[/nowhere]"


async def test_looking_never_writes_settings(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await pilot.press("slash", *"eat", "enter", "m", "f", "o", "enter", "r")
        await settled(pilot)
    assert not inspector.configs[0].install.own_dir.exists()


async def test_y_copies_the_content_and_the_palette_the_json(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("j", "y")
        await until(pilot, lambda: "Sent to the terminal's clipboard." in screen_text(app))
        assert app.clipboard == "用户喜欢深色主题，使用中文回答"
        browser(app).action_copy_json()
        await settled(pilot)
        copied = json.loads(app.clipboard)
        assert copied["key"] == "语言"
        assert len(copied) == 14


async def test_lone_surrogates_can_be_copied(tmp_path: Path) -> None:
    app = Inspector(tmp_path, SampleMemory([m for m in hostile_memories() if "lone" in m.content])).app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("y")
        await settled(pilot)
        assert "surrogate" in app.clipboard


async def test_nothing_to_copy_is_said(tmp_path: Path) -> None:
    app = Inspector(tmp_path, SampleMemory()).app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("y")
        await until(pilot, lambda: "There is no memory to copy." in screen_text(app))


def test_the_desktop_is_asked_only_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "xclip"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert external.clipboard_program() is None
    monkeypatch.setenv("DISPLAY", ":0")
    assert external.clipboard_program() == ["xclip", "-selection", "clipboard"]
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22")
    assert external.clipboard_program() is None


async def test_the_desktops_program_gets_the_text(
    inspector: Inspector, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "xclip"
    program.write_text(f"#!/bin/sh\n/bin/cat > {tmp_path}/copied\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DISPLAY", ":0")
    app = inspector.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("j", "y")
        await until(pilot, lambda: "Copied to the clipboard." in screen_text(app))
    assert (tmp_path / "copied").read_text() == "用户喜欢深色主题，使用中文回答"


async def test_help_names_every_key_that_is_bound(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=(180, 100)) as pilot:
        await settled(pilot)
        await pilot.press("question_mark")
        await settled(pilot)
        shown = screen_words(app)
        for command in BROWSER_COMMANDS:
            if command.keys and command.action != "toggle_blocks":
                assert command.sentence in shown
        assert "In the list" in shown
        assert ": ^p Find a command" in shown
        assert "A row or a line on or back" in shown
        await pilot.press("escape")
        assert app.screen is browser(app)


async def test_a_rebound_key_works_and_help_and_footer_say_so(inspector: Inspector) -> None:
    app = inspector.app()
    app.set_keymap({"order": "z"})
    async with app.run_test(size=(140, 80)) as pilot:
        await settled(pilot)
        await pilot.press("z")
        await until(pilot, lambda: "In which order?" in screen_text(app))
        await pilot.press("escape", "question_mark")
        await until(pilot, lambda: "z Choose the order of the list" in screen_words(app))


@pytest.mark.parametrize("key", ["colon", "ctrl+p"])
async def test_the_palette_finds_commands_by_their_words(inspector: Inspector, key: str) -> None:
    app = inspector.app()
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await pilot.press(key, *"biggest")
        await until(pilot, lambda: "No matches found" in screen_text(app))
        await pilot.press("escape", key, *"order of")
        await until(pilot, lambda: "Choose the order of the list" in screen_text(app))
        await pilot.press("down", "enter")
        await until(pilot, lambda: "In which order?" in screen_text(app))


async def test_a_key_that_is_not_bound_does_nothing(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        before = screen_text(app)
        await pilot.press("z")
        await settled(pilot)
        assert screen_text(app) == before
        assert await inspector.store.count() == 248


async def test_m_lays_the_content_out_as_markdown_and_back(inspector: Inspector) -> None:
    app = inspector.app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        assert "broth of **miso**" in screen_text(app)
        await pilot.press("m")
        await until(pilot, lambda: "broth of miso" in screen_text(app))
        await pilot.press("m")
        await until(pilot, lambda: "broth of **miso**" in screen_text(app))
        assert not browser(app).query_one(MemoryDetail).as_markdown


@pytest.mark.parametrize("size", [NARROW, WIDE])
async def test_no_memory_can_style_or_break_the_screen(tmp_path: Path, size: tuple[int, int]) -> None:
    """Each hostile memory under the cursor, plain and as Markdown, in the listing, found and copied."""
    app = Inspector(tmp_path, SampleMemory(hostile_memories())).app()
    async with app.run_test(size=size, notifications=True) as pilot:
        await settled(pilot)
        assert "[/foo] [bold]not bold[/]" in screen_text(app)
        for _ in range(len(hostile_memories())):
            await pilot.press("m", "y", "m", "j")
            await settled(pilot)
            assert not {"\x1b", "\x07", "\x9b", "\r", "\u202e"} & set(screen_text(app))
        assert browser(app).query_one(MemoryList).row_count == len(hostile_memories())


async def test_no_motion_where_it_is_not_wanted(inspector: Inspector, monkeypatch: pytest.MonkeyPatch) -> None:
    assert inspector.app().animation_level == "full"
    monkeypatch.setenv("NO_MOTION", "1")
    assert inspector.app().animation_level == "none"
    monkeypatch.delenv("NO_MOTION")
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22")
    assert inspector.app().animation_level == "none"


async def test_contents_of_a_length_alone_are_shown_until_its_chip_goes(inspector: Inspector) -> None:
    """What is shown then is what `*` and `d` would delete."""
    await inspector.store.store("essay", "word " * 900, "core")
    app = inspector.app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        rows = browser(app).query_one(MemoryList)
        everything = rows.row_count
        browser(app).action_choose_length()
        await pilot.press("end", "up", "enter")
        await settled(pilot)
        assert "over 4 KB ✕" in line(app, 1)
        assert rows.row_count == 1
        assert rows.selected_entry is not None
        assert rows.selected_entry.key == "essay"
        browser(app).action_choose_length()
        await pilot.press("home", "enter")
        await settled(pilot)
        assert rows.row_count == everything
