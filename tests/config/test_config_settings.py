"""This program's own settings for an install."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from support.memories import BrokenConfig, Unreadable
from support.places import Install

from zeroclaw_tui.config.settings import (
    save_profile,
    save_theme,
    saved_profile,
    saved_theme,
    settings_file,
    settings_problem,
)


@pytest.fixture
def install(tmp_path: Path) -> Install:
    root = tmp_path / "workspace"
    return Install(tmp_path, root, root / "memory/brain.db", "workspace", "test", tmp_path / "zeroclaw-tui")


def test_without_saved_settings_there_is_no_choice_and_no_file(install: Install) -> None:
    assert (saved_profile(install), saved_theme(install), settings_problem(install)) == (None, None, None)
    assert not install.own_dir.exists()


def test_saved_choices_are_private(install: Install) -> None:
    save_profile(install, "0.7.5")
    save_theme(install, "dusk")
    assert (saved_profile(install), saved_theme(install)) == ("0.7.5", "dusk")
    assert stat.S_IMODE(install.own_dir.stat().st_mode) == 0o700
    assert stat.S_IMODE(settings_file(install).stat().st_mode) == 0o600
    assert [file.name for file in install.own_dir.iterdir()] == ["settings.toml"]


def test_each_store_has_its_own_profile(install: Install) -> None:
    other = install._replace(database=install.config_dir / 'da"ta' / "brain.db")  # type: ignore[operator]
    save_profile(install, "0.7.5")
    save_profile(other, "0.8.4")
    assert (saved_profile(install), saved_profile(other)) == ("0.7.5", "0.8.4")


def test_other_settings_and_comments_are_kept(install: Install) -> None:
    install.own_dir.mkdir()
    settings_file(install).write_text("# mine\nkeys = 'vim' # kept\n")
    save_theme(install, "dusk")
    text = settings_file(install).read_text()
    assert "# mine\nkeys = 'vim' # kept\n" in text


@pytest.mark.parametrize("text", ["theme = ", "theme = 3", "profiles = 'x'", "\xff"])
def test_broken_settings_are_reported_and_prevent_only_saving(install: Install, text: str) -> None:
    install.own_dir.mkdir()
    settings_file(install).write_bytes(text.encode("latin-1"))
    assert (saved_profile(install), saved_theme(install)) == (None, None)
    problem = settings_problem(install)
    assert problem is not None
    assert "settings.toml" in problem
    with pytest.raises(BrokenConfig, match=r"settings\.toml"):
        save_theme(install, "dusk")
    assert settings_file(install).read_bytes() == text.encode("latin-1")


def test_an_unwritable_settings_file_is_reported(install: Install) -> None:
    install.own_dir.write_text("a file where the folder should be")
    with pytest.raises((Unreadable, BrokenConfig), match=r"settings\.toml"):
        save_theme(install, "dusk")
