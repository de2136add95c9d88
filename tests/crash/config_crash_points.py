"""Kill the writing of a config or of a key file before one of its writes, and check what is left.

    python tests/crash/config_crash_points.py ACTION FOLDER [--points N]

Without --points every write is tried. Prints which file is left after each kill, and exits with code 1 at the
first one that is not the complete old or new file, or when a second run does not finish.
"""

from __future__ import annotations

import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support import kill_points, killing
from support.config_folder import Folder

from zeroclaw_tui.config.save import list_backups, read_backup, save_config
from zeroclaw_tui.config.secrets import make_key_file
from zeroclaw_tui.config.toml import read_config
from zeroclaw_tui.memory.errors import Refused

OLD = b'# mine, \xc3\xa4\r\n[memory]\nbackend = "sqlite"\n' + b"# a long comment\n" * 500
NEW = OLD.replace(b"sqlite", b"postgres")
THIRD = b"[memory]\n"
START = datetime(2026, 1, 1, tzinfo=UTC)
KEYS = "11" * 32, "22" * 32


@dataclass(frozen=True)
class Place(Folder):
    """`config` is the given path, `target` the real path."""

    target: Path


def in_folder(folder: Path) -> Place:
    config = folder / "install" / "config.toml"
    target = folder / "dotfiles" / "zeroclaw.toml"
    return Place(config, target if config.is_symlink() else config)


def make_existing(folder: Path) -> None:
    config = in_folder(folder).config
    config.parent.mkdir(parents=True)
    config.write_bytes(OLD)
    config.chmod(0o644)


def make_linked(folder: Path) -> None:
    make_existing(folder)
    config = in_folder(folder).config
    (folder / "dotfiles").mkdir()
    config.rename(folder / "dotfiles" / "zeroclaw.toml")
    config.symlink_to("../dotfiles/zeroclaw.toml")


def make_nothing(folder: Path) -> None:
    folder.mkdir()


def make_ten_backups(folder: Path) -> None:
    make_existing(folder)
    place = in_folder(folder)
    for at in range(10):
        save(place, OLD, at)
    place.config.chmod(0o644)
    assert len(list_backups(place.own_dir)) == 10


def make_changed(folder: Path) -> None:
    """Create a config with a backup, which the killed run restores."""
    make_existing(folder)
    place = in_folder(folder)
    save(place, OLD, 0)
    place.config.write_bytes(NEW)
    place.config.chmod(0o644)


def save(place: Place, after: bytes, at: int) -> None:
    save_config(place.config, read_config(place.config), after, place.own_dir, START + timedelta(hours=at))


def act_save(folder: Path) -> None:
    place = in_folder(folder)
    before = read_config(place.config)
    kill_points.mark()
    save_config(place.config, before, NEW, place.own_dir, START + timedelta(days=1))
    kill_points.mark()


def act_restore(folder: Path) -> None:
    place = in_folder(folder)
    before = read_config(place.config)
    kill_points.mark()
    (backup,) = list_backups(place.own_dir)
    save_config(place.config, before, read_backup(backup), place.own_dir, START + timedelta(days=1))
    kill_points.mark()


def act_key(folder: Path) -> None:
    kill_points.mark()
    make_key_file(folder / "install", KEYS[0])
    kill_points.mark()


def check_config(base: Path, copy: Path, wanted: bytes) -> str:
    """Return whether the config is "old" or "new" after the kill, and check that saving again finishes."""
    before, place = in_folder(base), in_folder(copy)
    old = read_config(before.config)
    found = read_config(place.config)
    assert found in (old, wanted), "the config is neither the old nor the new one"
    assert place.config.is_symlink() == before.config.is_symlink(), "the link was replaced by a file"
    if found is not None:
        mode = stat.S_IMODE(place.target.stat().st_mode)
        assert mode == (0o600 if found == wanted else 0o644), f"the mode is {mode:o}"
    check_backups(before, place, old, is_new=found == wanted)
    save(place, THIRD, 100)
    check_finished(place, found)
    return "new" if found == wanted else "old"


def check_backups(before: Place, place: Place, old: bytes | None, *, is_new: bool) -> None:
    """Check for complete and unchanged backups, one for a replaced config, and none deleted too early."""
    former = {backup.name: read_backup(backup) for backup in list_backups(before.own_dir)}
    left = list_backups(place.own_dir)
    assert len(left) >= len(former), "a backup was deleted too early"
    for backup in left:
        assert read_backup(backup) == former.get(backup.name, old), "a backup is incomplete"
    if is_new and old is not None:
        assert read_backup(left[0]) == old, "the config was replaced without a backup"


def check_finished(place: Place, former: bytes | None) -> None:
    assert read_config(place.config) == THIRD
    assert stat.S_IMODE(place.target.stat().st_mode) == 0o600
    backups = list_backups(place.own_dir)
    assert len(backups) <= 10
    assert former is None or read_backup(backups[0]) == former
    assert place.temporary_files() == [], "a temporary file is left"


def check_key(base: Path, copy: Path, wanted: bytes) -> str:
    """Check for no key, or a complete one that is never replaced."""
    file = copy / "install" / ".secret_key"
    was_there = file.exists()
    if was_there:
        assert file.read_bytes() == wanted, "the key is incomplete"
    try:
        make_key_file(copy / "install", KEYS[1])
    except Refused:
        assert was_there, "a new key was refused although there is none"
    assert file.read_text() == KEYS[0 if was_there else 1], "the key was replaced"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert in_folder(copy).temporary_files() == [], "a temporary file is left"
    return "new" if was_there else "old"


@dataclass(frozen=True)
class Action:
    """How a folder is prepared, the action in it, its expected result, and the check afterwards."""

    make: Callable[[Path], None]
    act: Callable[[Path], None]
    wanted: bytes
    check: Callable[[Path, Path, bytes], str]


ACTIONS = {
    "save": Action(make_existing, act_save, NEW, check_config),
    "linked": Action(make_linked, act_save, NEW, check_config),
    "new": Action(make_nothing, act_save, NEW, check_config),
    "pruning": Action(make_ten_backups, act_save, NEW, check_config),
    "restore": Action(make_changed, act_restore, OLD, check_config),
    "key": Action(make_nothing, act_key, KEYS[0].encode(), check_key),
}


def main() -> int:
    given = killing.arguments(ACTIONS)
    action = ACTIONS[given.action]
    copy = given.folder / "copy"
    # Modules imported on first use are imported before the first fork; otherwise their system calls would count.
    make_changed(given.folder / "warm-up")
    list_backups(in_folder(given.folder / "warm-up").own_dir)
    action.make(copy)

    def check() -> None:
        print(action.check(copy.with_name("copy-base"), copy, action.wanted), flush=True)

    return killing.kill_at_points(given, copy, lambda: action.act(copy), check, holds="old or new, and whole")


if __name__ == "__main__":
    sys.exit(main())
