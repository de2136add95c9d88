"""What keeps a config from being saved: each its own sentence, and everything is as it was."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.config_folder import NEW, NOW, OLD, Folder, saved
from support.other_user import NOBODY

from zeroclaw_tui.config import save
from zeroclaw_tui.config.save import list_backups, read_backup, save_config
from zeroclaw_tui.config.toml import read_config
from zeroclaw_tui.memory.errors import BrokenConfig, Refused, Unreadable


@pytest.mark.parametrize("has_links", [True, False])
def test_a_new_config_never_replaces_one_made_in_the_meantime(
    has_links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not before the save, and not in its last moment."""
    config = tmp_path / "config.toml"
    link = os.link

    def made_before_it(source: Path, target: Path, **options: Any) -> None:
        config.write_bytes(OLD)
        if not has_links:
            raise OSError(errno.ENOTSUP, "no links here")
        link(source, target, **options)

    monkeypatch.setattr(os, "link", made_before_it)
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
    ("meanwhile", "in_the_last_moment"),
    [
        *((what, late) for what in (_written, _removed, _linked) for late in (False, True)),
        # Before the save begins this is a linked config like any other.
        (_moved_behind_a_link, True),
    ],
)
def test_a_file_changed_in_the_meantime_is_left_as_it_is(
    meanwhile: Callable[[Path], None], in_the_last_moment: bool, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changed before the save or during it: nothing is written. A backup that was made by then stays."""
    backup_made = save.make_backup

    def then_changed(*arguments: Any) -> save.Backup:
        backup = backup_made(*arguments)
        meanwhile(folder.config)
        return backup

    if in_the_last_moment:
        monkeypatch.setattr(save, "make_backup", then_changed)
    else:
        meanwhile(folder.config)
    with pytest.raises(
        Refused, match=r"(changed by another program|removed) while you were answering.*Nothing was written"
    ) as caught:
        save_config(folder.config, OLD, NEW, folder.own_dir, NOW)
    assert caught.value.exit_code == 1
    config, is_gone = folder.config, meanwhile is _removed
    assert config.exists() != is_gone
    assert is_gone or config.read_bytes() == (OLD if meanwhile is _moved_behind_a_link else b"theirs = 1\n")
    assert config.is_symlink() == (meanwhile in (_linked, _moved_behind_a_link))
    assert len(list_backups(folder.own_dir)) == in_the_last_moment
    assert folder.temporary_files() == []


@pytest.mark.parametrize(
    ("number", "said"),
    [(errno.ENOSPC, "the disk is full"), (errno.EACCES, "Permission denied"), (errno.EIO, os.strerror(errno.EIO))],
)
@pytest.mark.parametrize("name", ["open", "fsync", "replace", "fchmod"])
def test_a_save_that_fails_anywhere_leaves_everything_as_it_was(
    name: str, number: int, said: str, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of its calls fails once; a backup that was made by then is the same as the file."""
    first = saved(folder, OLD)
    real = getattr(os, name)
    sentence = 0
    for failing_call in range(1, 50):
        calls = 0

        def fails_once(*arguments: Any, at: int = failing_call, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            # What the test itself and the reading of the config open is not meant.
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
        # The comparison with the file reads it, and may fail as well.
        assert said in problem.message or "config.toml cannot be read" in problem.message
        assert problem.hint
        assert folder.config.read_bytes() == OLD
        assert list_backups(folder.own_dir)[-1] == first
        assert {read_backup(backup) for backup in list_backups(folder.own_dir)} == {OLD}
    assert sentence
    assert folder.config.read_bytes() == NEW


def test_an_interrupt_leaves_the_file_and_nothing_else(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while the new file is being written; after the rename the backup stays, since it is the old version."""
    written = os.fsync

    def interrupted(handle: int) -> None:
        written(handle)
        if stat.S_ISREG(os.fstat(handle).st_mode) and os.fstat(handle).st_size == len(NEW):
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            saved(folder)
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
            saved(folder)
    assert folder.config.read_bytes() == NEW
    assert [read_backup(backup) for backup in list_backups(folder.own_dir)] == [OLD]


def test_a_write_protected_file_is_refused_although_its_folder_could_be_written(
    open_to_all: Folder, as_nobody: Callable[[Callable[[], Any]], Any]
) -> None:
    open_to_all.config.chmod(0o444)
    os.chown(open_to_all.config, *(2 * [NOBODY if os.getuid() == 0 else -1]))
    kind, said = as_nobody(lambda: saved(open_to_all))
    assert kind == "Refused"
    assert "is write-protected" in said
    assert open_to_all.config.read_bytes() == OLD
    assert not open_to_all.own_dir.exists()


def test_a_file_of_another_user_is_not_taken_from_them(
    open_to_all: Folder, as_nobody: Callable[[Callable[[], Any]], Any]
) -> None:
    """They could not read the new one, which is for its owner only."""
    for mode in (0o666, 0o644):
        open_to_all.config.chmod(mode)
        kind, said = as_nobody(lambda: saved(open_to_all))
        assert kind == "Refused"
        assert "belongs to another user" in said
    assert open_to_all.config.read_bytes() == OLD
    assert list_backups(open_to_all.own_dir) == ()
    assert open_to_all.temporary_files() == []


def test_a_file_nobody_else_may_read_is_one_sentence(
    open_to_all: Folder, as_nobody: Callable[[Callable[[], Any]], Any]
) -> None:
    open_to_all.config.chmod(0o600)
    kind, said = as_nobody(lambda: read_config(open_to_all.config))
    assert kind == "BrokenConfig"
    assert "cannot be read: Permission denied" in said


def test_what_is_no_file_is_reported_by_what_it_is(tmp_path: Path) -> None:
    """A folder, a link to nothing, a link in a circle, a pipe (which is not waited for), a file for a folder."""
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


def test_a_dangling_link_is_not_written_through_as_a_new_config(tmp_path: Path) -> None:
    (tmp_path / "config.toml").symlink_to("nowhere.toml")
    with pytest.raises(Refused):
        save_config(tmp_path / "config.toml", None, NEW, tmp_path / "zeroclaw-tui", NOW)
    assert not (tmp_path / "nowhere.toml").exists()
