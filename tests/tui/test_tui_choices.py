"""What a person chooses: profile, theme, copying, commands by name."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from support.screens import NARROW, WIDE, line, screen_text, screen_words
from support.settling import press, running, settled, until
from tui_samples import Inspector, SampleMemory, browser, hostile_memories

from zeroclaw_tui.config.settings import save_theme, saved_profile, saved_theme
from zeroclaw_tui.tui import external
from zeroclaw_tui.tui.rooms.browser import BROWSER_COMMANDS
from zeroclaw_tui.tui.widgets.memory_list import MemoryList


async def test_a_chosen_profile_scores_from_then_on_and_is_remembered(inspector: Inspector) -> None:
    async with running(inspector.app(), WIDE) as (app, pilot):
        await press(pilot, "slash", "=ramen", "enter")
        assert "scoring 0.6.2 (assumed)" in line(app, 1)
        assert saved_profile(inspector.configs[0].install) is None
        await press(pilot, ":scoring", "G", "end", "enter")
        assert "scoring 0.8.4 (chosen here)" in line(app, 1)
        assert saved_profile(inspector.configs[0].install) == "0.8.4"
        recalled = browser(app).panes.page.recall
        assert recalled is not None
        assert recalled.profile == "0.8.4"


async def test_a_choice_that_cannot_be_saved_holds_and_is_reported(inspector: Inspector) -> None:
    inspector.configs[0].install.own_dir.parent.mkdir(parents=True, exist_ok=True)
    inspector.configs[0].install.own_dir.write_text("a file where the folder should be")
    async with running(inspector.app(), WIDE) as (app, pilot):
        await press(pilot, ":scoring", "end", "enter")
        await until(pilot, lambda: "Not a directory." in screen_words(app))
        assert "chosen here" in line(app, 1)


async def test_a_saved_theme_is_used_and_a_chosen_one_is_saved(inspector: Inspector) -> None:
    install = inspector.configs[0].install
    save_theme(install, "zeroclaw-light")
    async with running(inspector.app()) as (app, pilot):
        assert app.theme == "zeroclaw-light"
        app.theme = "nord"
        await settled(pilot)
        assert saved_theme(install) == "nord"
        assert stat.S_IMODE((install.own_dir / "settings.toml").stat().st_mode) == 0o600


async def test_y_copies_the_content(inspector: Inspector) -> None:
    """Letter for letter, lone surrogates too."""
    await inspector.store.store("odd", "lone \udcff surrogate", "core")
    async with running(inspector.app()) as (app, pilot):
        await press(pilot, "y")
        assert "surrogate" in app.clipboard
        await press(pilot, "j", "j", "y")
        assert "Sent to the terminal's clipboard." in screen_text(app)
        assert app.clipboard == "用户喜欢深色主题，使用中文回答"


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
    async with running(inspector.app()) as (app, pilot):
        await pilot.press("j", "y")
        await until(pilot, lambda: "Copied to the clipboard." in screen_text(app))
    assert (tmp_path / "copied").read_text() == "用户喜欢深色主题，使用中文回答"


async def test_help_names_every_key_that_is_bound_also_one_bound_again(inspector: Inspector) -> None:
    app = inspector.app()
    app.set_keymap({"sort": "z"})
    async with running(app, (180, 160)) as (_, pilot):
        await press(pilot, "z")
        assert "Sort by?" in screen_text(app)
        await press(pilot, "escape", "question_mark")
        shown = screen_words(app)
        assert "z sort Sort the list" in shown
        for command in BROWSER_COMMANDS:
            if command.key:
                assert command.title in shown
        assert "Move by row or line" in shown
        await press(pilot, "escape")
        assert app.screen is browser(app)


@pytest.mark.parametrize("size", [NARROW, WIDE])
async def test_no_memory_can_style_or_break_the_screen(tmp_path: Path, size: tuple[int, int]) -> None:
    """Each hostile memory under the cursor, shown and copied."""
    async with running(Inspector(tmp_path, SampleMemory(hostile_memories())).app(), size) as (app, pilot):
        await press(pilot, "G")
        assert "[/foo] [bold]" in screen_text(app)
        await press(pilot, "g")
        for _ in range(len(hostile_memories())):
            await press(pilot, "y", "j")
            assert not {"\x1b", "\x07", "\x9b", "\r", "\u202e"} & set(screen_text(app))
        assert browser(app).query_one(MemoryList).row_count == len(hostile_memories())
