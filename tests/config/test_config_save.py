"""Saving a config: in one step, 0600, with a backup, through links."""

from __future__ import annotations

import errno
import os
import stat
from datetime import timedelta
from pathlib import Path

import pytest
from support.config_folder import NEW, NOW, OLD, Folder, saved
from support.other_user import NOBODY

from zeroclaw_tui.config.save import list_backups, read_backup, save_config
from zeroclaw_tui.config.toml import read_config


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_saving_replaces_the_file_and_keeps_the_old_one_as_a_backup(folder: Folder) -> None:
    """Both are for their owner only, and nothing else is left."""
    backup = saved(folder)
    assert folder.config.read_bytes() == NEW
    assert mode_of(folder.config) == 0o600
    assert backup.name == "2026-11-22T041530Z"
    assert backup.when == NOW.replace(microsecond=0)
    assert backup.path == folder.backups / "config.2026-11-22T041530.000000Z.toml"
    assert read_backup(backup) == OLD
    assert mode_of(backup.path) == 0o600
    assert mode_of(folder.backups) == 0o700
    assert mode_of(folder.own_dir) == 0o700
    assert list_backups(folder.own_dir) == (backup,)
    assert folder.temporary_files() == []


def test_only_the_last_ten_backups_stay_and_foreign_files_are_left_alone(folder: Folder) -> None:
    """A backup that somebody renamed, a link and a folder of the right name are not ours to remove."""
    folder.backups.mkdir(parents=True)
    ours = "config.2020-01-01T000000.000000Z.toml"
    foreign = ("keep.toml", "config.toml.bak", "config.2026-99-99T999999.000000Z.toml", f"{ours}.bak")
    for name in foreign:
        (folder.backups / name).write_text("mine")
    (folder.backups / ours).symlink_to(folder.backups / "keep.toml")
    made = [saved(folder, b"x = %d\n" % at, NOW + timedelta(hours=at)) for at in range(13)]
    assert list(list_backups(folder.own_dir)) == made[:2:-1]
    left = {path.name for path in folder.backups.iterdir()}
    assert left == {*foreign, ours, *(backup.path.name for backup in made[3:])}


def test_backups_of_one_second_have_names_of_their_own_that_never_change(folder: Folder) -> None:
    made = [saved(folder, b"x = %d\n" % at) for at in range(3)]
    assert [backup.name for backup in made] == [
        "2026-11-22T041530Z",
        "2026-11-22T041530.250000Z",
        "2026-11-22T041530.250001Z",
    ]
    assert [read_backup(backup) for backup in made] == [OLD, b"x = 0\n", b"x = 1\n"]
    assert list(list_backups(folder.own_dir)) == made[::-1]


def test_a_linked_config_stays_a_link_and_its_target_is_replaced(folder: Folder) -> None:
    """The temporary file is next to the target, so that the rename stays within one file system."""
    target = folder.config.parent.parent / "dotfiles" / "zeroclaw.toml"
    target.parent.mkdir()
    folder.config.rename(target)
    middle = target.with_name("middle.toml")
    middle.symlink_to("zeroclaw.toml")
    folder.config.symlink_to("../dotfiles/middle.toml")
    saved(folder)
    assert folder.config.is_symlink()
    assert middle.is_symlink()
    assert target.read_bytes() == NEW
    assert mode_of(target) == 0o600
    assert sorted(path.name for path in target.parent.iterdir()) == ["middle.toml", "zeroclaw.toml"]


def test_the_owner_of_the_file_stays_its_owner(folder: Folder) -> None:
    owner = NOBODY if os.getuid() == 0 else os.getuid()
    os.chown(folder.config, owner, -1)
    saved(folder)
    assert folder.config.stat().st_uid == owner


def test_a_new_config_is_made_with_its_folder_for_its_owner_only(tmp_path: Path) -> None:
    config = tmp_path / "home" / ".zeroclaw" / "config.toml"
    assert read_config(config) is None
    assert save_config(config, None, NEW, config.parent / "zeroclaw-tui", NOW) is None
    assert config.read_bytes() == NEW
    assert mode_of(config) == 0o600
    assert mode_of(config.parent) == 0o700
    assert list_backups(config.parent / "zeroclaw-tui") == ()
    assert sorted(path.name for path in config.parent.iterdir()) == ["config.toml", "zeroclaw-tui"]


def test_a_new_config_is_made_where_the_file_system_has_no_hard_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.toml"

    def no_links(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", no_links)
    save_config(config, None, NEW, tmp_path / "zeroclaw-tui", NOW)
    assert config.read_bytes() == NEW


def test_what_a_killed_run_left_is_removed_and_nothing_of_others(folder: Folder) -> None:
    ours = [
        folder.config.with_name(".config.toml.zeroclaw-tui-0123456789abcdef"),
        folder.config.with_name("..secret_key.zeroclaw-tui-0123456789abcdef"),
        folder.own_dir / ".settings.toml.zeroclaw-tui-0123456789abcdef",
        folder.backups / ".config.2026-01-01T000000.000000Z.toml.zeroclaw-tui-0123456789abcdef",
    ]
    theirs = [folder.config.with_name(".config.toml.tmp-1234"), folder.config.with_name("my.zeroclaw-tui-notes")]
    folder.backups.mkdir(parents=True)
    for path in ours + theirs:
        path.write_bytes(b"half")
    saved(folder)
    assert [path for path in ours if path.exists()] == []
    assert [path.read_bytes() for path in theirs] == [b"half", b"half"]
