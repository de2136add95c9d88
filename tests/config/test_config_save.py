"""A config is saved in one step, with mode 0600, a backup and links kept; or saving is refused."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.config_folder import NEW, NOW, OLD, Folder, saved_backup
from support.memories import BrokenConfig, Refused, Unreadable
from support.other_user import NOBODY

from zeroclaw_tui.config import save
from zeroclaw_tui.config.save import list_backups, read_backup, save_config
from zeroclaw_tui.config.toml import read_config


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_saving_replaces_the_file_and_keeps_the_old_one_as_a_backup(folder: Folder) -> None:
    """Both are private to their owner, and no other file is left."""
    backup = saved_backup(folder)
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


def test_only_the_last_ten_backups_are_kept_and_other_files_not_removed(folder: Folder) -> None:
    """A renamed backup, and a link or folder with the name of a backup, are not removed."""
    folder.backups.mkdir(parents=True)
    ours = "config.2020-01-01T000000.000000Z.toml"
    foreign = ("keep.toml", "config.toml.bak", "config.2026-99-99T999999.000000Z.toml", f"{ours}.bak")
    for name in foreign:
        (folder.backups / name).write_text("mine")
    (folder.backups / ours).symlink_to(folder.backups / "keep.toml")
    made = [saved_backup(folder, b"x = %d\n" % at, NOW + timedelta(hours=at)) for at in range(13)]
    assert list(list_backups(folder.own_dir)) == made[:2:-1]
    left = {path.name for path in folder.backups.iterdir()}
    assert left == {*foreign, ours, *(backup.path.name for backup in made[3:])}


def test_backups_of_the_same_second_have_distinct_stable_names(folder: Folder) -> None:
    made = [saved_backup(folder, b"x = %d\n" % at) for at in range(3)]
    assert [backup.name for backup in made] == [
        "2026-11-22T041530Z",
        "2026-11-22T041530.250000Z",
        "2026-11-22T041530.250001Z",
    ]
    assert [read_backup(backup) for backup in made] == [OLD, b"x = 0\n", b"x = 1\n"]
    assert list(list_backups(folder.own_dir)) == made[::-1]


def test_a_symlinked_config_stays_a_link_and_its_target_is_replaced(folder: Folder) -> None:
    """The temporary file is next to the target, so that the rename stays within one file system."""
    target = folder.config.parent.parent / "dotfiles" / "zeroclaw.toml"
    target.parent.mkdir()
    folder.config.rename(target)
    middle = target.with_name("middle.toml")
    middle.symlink_to("zeroclaw.toml")
    folder.config.symlink_to("../dotfiles/middle.toml")
    saved_backup(folder)
    assert folder.config.is_symlink()
    assert middle.is_symlink()
    assert target.read_bytes() == NEW
    assert mode_of(target) == 0o600
    assert sorted(path.name for path in target.parent.iterdir()) == ["middle.toml", "zeroclaw.toml"]


def test_the_file_keeps_its_owner(folder: Folder) -> None:
    owner = NOBODY if os.getuid() == 0 else os.getuid()
    os.chown(folder.config, owner, -1)
    saved_backup(folder)
    assert folder.config.stat().st_uid == owner


def test_a_new_config_and_its_folder_are_private(tmp_path: Path) -> None:
    config = tmp_path / "home" / ".zeroclaw" / "config.toml"
    assert read_config(config) is None
    assert save_config(config, None, NEW, config.parent / "zeroclaw-tui", NOW) is None
    assert config.read_bytes() == NEW
    assert mode_of(config) == 0o600
    assert mode_of(config.parent) == 0o700
    assert list_backups(config.parent / "zeroclaw-tui") == ()
    assert sorted(path.name for path in config.parent.iterdir()) == ["config.toml", "zeroclaw-tui"]


def test_a_new_config_is_created_on_a_file_system_without_hard_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.toml"

    def no_links(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", no_links)
    save_config(config, None, NEW, tmp_path / "zeroclaw-tui", NOW)
    assert config.read_bytes() == NEW


def test_only_temporary_files_of_a_killed_run_are_removed(folder: Folder) -> None:
    ours = [
        folder.config.with_name(".config.toml.zeroclaw-tui-0123456789abcdef"),
        folder.config.with_name("..secret_key.zeroclaw-tui-0123456789abcdef"),
        folder.backups / ".config.2026-01-01T000000.000000Z.toml.zeroclaw-tui-0123456789abcdef",
    ]
    theirs = [folder.config.with_name(".config.toml.tmp-1234"), folder.config.with_name("my.zeroclaw-tui-notes")]
    folder.backups.mkdir(parents=True)
    for path in ours + theirs:
        path.write_bytes(b"half")
    saved_backup(folder)
    assert [path for path in ours if path.exists()] == []
    assert [path.read_bytes() for path in theirs] == [b"half", b"half"]


@pytest.mark.parametrize("has_links", [True, False])
def test_a_new_config_never_replaces_one_created_meanwhile(
    has_links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it was made before the save or at its last moment."""
    config = tmp_path / "config.toml"
    link = os.link

    def create_first(source: Path, target: Path, **options: Any) -> None:
        config.write_bytes(OLD)
        if not has_links:
            raise OSError(errno.ENOTSUP, "no links here")
        link(source, target, **options)

    monkeypatch.setattr(os, "link", create_first)
    for _ in range(2):
        with pytest.raises(Refused, match="created by another program while"):
            save_config(config, None, NEW, tmp_path / "zeroclaw-tui", NOW)
        assert config.read_bytes() == OLD
    assert [path.name for path in tmp_path.iterdir() if ".zeroclaw-tui-" in path.name] == []


def _written(config: Path) -> None:
    config.write_bytes(b"theirs = 1\n")


def _removed(config: Path) -> None:
    config.unlink()


def _linked(config: Path) -> None:
    config.with_name("elsewhere").write_bytes(b"theirs = 1\n")
    config.unlink()
    config.symlink_to("elsewhere")


def _moved_behind_a_link(config: Path) -> None:
    config.rename(config.with_name("elsewhere"))
    config.symlink_to("elsewhere")


@pytest.mark.parametrize(
    ("foreign_change", "in_the_last_moment"),
    [
        *((what, late) for what in (_written, _removed, _linked) for late in (False, True)),
        # Before the save begins, this is an ordinary linked config.
        (_moved_behind_a_link, True),
    ],
)
def test_a_file_changed_by_another_program_is_not_overwritten(
    foreign_change: Callable[[Path], None], in_the_last_moment: bool, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changed before or during the save: nothing is written. A backup made before the change stays."""
    backup_made = save.make_backup

    def then_changed(*arguments: Any) -> save.Backup:
        backup = backup_made(*arguments)
        foreign_change(folder.config)
        return backup

    if in_the_last_moment:
        monkeypatch.setattr(save, "make_backup", then_changed)
    else:
        foreign_change(folder.config)
    with pytest.raises(
        Refused, match=r"(changed by another program|removed) while you were answering.*Nothing was written"
    ) as caught:
        save_config(folder.config, OLD, NEW, folder.own_dir, NOW)
    assert caught.value.exit_code == 1
    config, is_missing = folder.config, foreign_change is _removed
    assert config.exists() != is_missing
    assert is_missing or config.read_bytes() == (OLD if foreign_change is _moved_behind_a_link else b"theirs = 1\n")
    assert config.is_symlink() == (foreign_change in (_linked, _moved_behind_a_link))
    assert len(list_backups(folder.own_dir)) == in_the_last_moment
    assert folder.temporary_files() == []


@pytest.mark.parametrize(
    ("number", "said"),
    [(errno.ENOSPC, "the disk is full"), (errno.EACCES, "Permission denied"), (errno.EIO, os.strerror(errno.EIO))],
)
@pytest.mark.parametrize("name", ["open", "fsync", "replace", "fchmod"])
def test_a_failed_save_leaves_everything_unchanged(
    name: str, number: int, said: str, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each system call fails once; a backup made before the failure equals the file."""
    first = saved_backup(folder, OLD)
    real = getattr(os, name)
    sentence = 0
    for failing_call in range(1, 50):
        calls = 0

        def fails_once(*arguments: Any, at: int = failing_call, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            # Files opened by the test itself and by reading the config do not count.
            if calls == at:
                raise OSError(number, os.strerror(number))
            return real(*arguments, **options)

        with monkeypatch.context() as patched:
            patched.setattr(os, name, fails_once)
            try:
                save_config(folder.config, OLD, NEW, folder.own_dir, NOW + timedelta(hours=1))
            except (Unreadable, BrokenConfig) as error:
                problem = error
            else:
                break
        sentence += 1
        assert folder.temporary_files() == []
        # The comparison reads the file and may fail as well.
        assert said in problem.message or "config.toml cannot be read" in problem.message
        assert problem.hint
        assert folder.config.read_bytes() == OLD
        assert list_backups(folder.own_dir)[-1] == first
        assert {read_backup(backup) for backup in list_backups(folder.own_dir)} == {OLD}
    assert sentence
    assert folder.config.read_bytes() == NEW


def test_an_interrupted_save_leaves_only_the_file(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while the new file is written; after the rename the backup stays, since it is the old version."""
    written = os.fsync

    def interrupted(handle: int) -> None:
        written(handle)
        if stat.S_ISREG(os.fstat(handle).st_mode) and os.fstat(handle).st_size == len(NEW):
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            saved_backup(folder)
    assert folder.config.read_bytes() == OLD
    assert list_backups(folder.own_dir) == ()
    assert folder.temporary_files() == []
    replace = os.replace

    def interrupted_after(source: Path, target: Path) -> None:
        replace(source, target)
        if Path(target) == folder.config:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", interrupted_after)
        with pytest.raises(KeyboardInterrupt):
            saved_backup(folder)
    assert folder.config.read_bytes() == NEW
    assert [read_backup(backup) for backup in list_backups(folder.own_dir)] == [OLD]


def test_a_write_protected_file_is_refused_even_in_a_writable_folder(
    open_to_all: Folder, as_nobody: Callable[[Callable[[], Any]], Any]
) -> None:
    open_to_all.config.chmod(0o444)
    os.chown(open_to_all.config, *(2 * [NOBODY if os.getuid() == 0 else -1]))
    kind, said = as_nobody(lambda: saved_backup(open_to_all))
    assert kind == "Refused"
    assert "is write-protected" in said
    assert open_to_all.config.read_bytes() == OLD
    assert not open_to_all.own_dir.exists()


def test_a_file_of_another_user_is_not_replaced(
    open_to_all: Folder, as_nobody: Callable[[Callable[[], Any]], Any]
) -> None:
    """The other user could not read the new file, which is private to its owner."""
    for mode in (0o666, 0o644):
        open_to_all.config.chmod(mode)
        kind, said = as_nobody(lambda: saved_backup(open_to_all))
        assert kind == "Refused"
        assert "belongs to another user" in said
    assert open_to_all.config.read_bytes() == OLD
    assert list_backups(open_to_all.own_dir) == ()
    assert open_to_all.temporary_files() == []


def test_an_unreadable_config_of_another_user_is_reported(
    open_to_all: Folder, as_nobody: Callable[[Callable[[], Any]], Any]
) -> None:
    open_to_all.config.chmod(0o600)
    kind, said = as_nobody(lambda: read_config(open_to_all.config))
    assert kind == "BrokenConfig"
    assert "cannot be read: Permission denied" in said


def test_a_path_that_is_no_file_is_reported_with_its_kind(tmp_path: Path) -> None:
    """A folder, a dangling link, a link loop, a pipe (without waiting for it), a file instead of a folder."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "dangling").symlink_to("nowhere.toml")
    (tmp_path / "circle").symlink_to("circle")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("")
    for name, said in {
        "folder": "is not a regular file",
        "dangling": f"is a link to {tmp_path / 'nowhere.toml'}, which is not there",
        "circle": "cannot be read: Too many levels of symbolic links",
        "pipe": "is not a regular file",
        "file/config.toml": "cannot be read: Not a directory",
    }.items():
        with pytest.raises(BrokenConfig) as caught:
            read_config(tmp_path / name)
        assert said in caught.value.message
        assert caught.value.hint
    assert not (tmp_path / "nowhere.toml").exists()


def test_a_new_config_is_not_written_through_a_dangling_link(tmp_path: Path) -> None:
    (tmp_path / "config.toml").symlink_to("nowhere.toml")
    with pytest.raises(Refused):
        save_config(tmp_path / "config.toml", None, NEW, tmp_path / "zeroclaw-tui", NOW)
    assert not (tmp_path / "nowhere.toml").exists()
