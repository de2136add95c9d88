"""Hygiene where folders cannot be synced, the config dir moves, or another inspector was at work meanwhile."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hygiene_world import NOW, STATE, Place, row

from zeroclaw_tui.curation.changes import undo
from zeroclaw_tui.curation.hygiene.plan import plan_hygiene, run_hygiene

OLD = "2026-01-01T00:00:00+00:00"


@pytest.fixture
def place(make_place: Callable[..., Place]) -> Place:
    """An old row, a note to archive, one to delete, and an old audit entry."""
    made = make_place("0.8.4", [row("talk", "conversation", OLD)])
    made.write("memory/2026-03-01.md", b"to be archived\n", day="2026-03-02")
    made.write("memory/archive/2026-01-01.md", b"to be deleted\n", day="2026-01-02")
    made.make_audit([OLD])
    return made


@pytest.mark.parametrize("code", [errno.EINVAL, errno.EIO])
async def test_a_folder_that_cannot_be_synced_costs_no_file(
    code: int, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = os.fsync

    def fsync(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode) and Path(os.readlink(f"/proc/self/fd/{handle}")).name != "state":
            raise OSError(code, os.strerror(code))
        synced(handle)

    before = place.tree()
    async with place.opened() as library:
        with monkeypatch.context() as changed:
            changed.setattr(os, "fsync", fsync)
            outcome = await run_hygiene(library, await plan_hygiene(library, NOW))
        assert (outcome.count, outcome.notes) == (4, ())
        assert sorted(place.tree()) == ["memory/archive/2026-03-01.md", STATE]
        await undo(library)
    assert place.tree() == before


@pytest.mark.parametrize("name", ["memory/2026-03-01.md", "memory/archive/2026-01-01.md"])
async def test_a_file_that_cannot_be_read_is_left_and_the_rest_goes_on(
    name: str, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = os.open

    def refuse(file: Any, *args: Any, **more: Any) -> int:
        if str(file).endswith(name):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file))
        return opened(file, *args, **more)

    async with place.opened() as library:
        plan = await plan_hygiene(library, NOW)
        with monkeypatch.context() as changed:
            changed.setattr(os, "open", refuse)
            outcome = await run_hygiene(library, plan)
    assert outcome.count == 3
    assert "cannot be read: Permission denied" in outcome.notes[0]
    assert name in place.tree()
    assert place.keys() == []


async def test_a_file_system_without_hard_links_takes_the_state_file(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(*args: object, **more: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    async with place.opened() as library:
        monkeypatch.setattr(os, "link", link)
        outcome = await run_hygiene(library, await plan_hygiene(library, NOW))
    assert (outcome.count, outcome.notes) == (4, ())
    assert (place.root / STATE).exists()


async def test_files_come_back_to_where_the_config_dir_was_moved(place: Place) -> None:
    before, entries = place.tree(), place.entries()
    async with place.opened() as library:
        await run_hygiene(library, await plan_hygiene(library, NOW))
    moved = Place(place.config_dir.with_name("moved"), place.version)
    shutil.move(place.config_dir, moved.config_dir)
    async with moved.opened() as library:
        assert (await plan_hygiene(library, NOW)).state.by_us
        outcome = await undo(library)
    assert (outcome.count, outcome.notes) == (4, ())
    assert (moved.tree(), moved.entries(), moved.keys()) == (before, entries, ["talk"])
    assert not place.config_dir.exists()


async def test_a_cut_off_run_is_put_right_where_the_config_dir_was_moved(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(path: Path, missing_ok: bool = False) -> None:
        raise RuntimeError("killed")

    before = place.tree()
    async with place.opened() as library:
        with monkeypatch.context() as changed:
            changed.setattr(Path, "unlink", cut_off)
            changed.setattr(library.trash, "recover", no_recovery)
            with pytest.raises(RuntimeError, match="killed"):
                await run_hygiene(library, await plan_hygiene(library, NOW), without={"file:memory/2026-03-01.md"})
    moved = Place(place.config_dir.with_name("moved"), place.version)
    shutil.move(place.config_dir, moved.config_dir)
    async with moved.opened() as library:
        outcome = await undo(library)
    assert (outcome.count, outcome.notes) == (1, ())
    assert (moved.tree(), moved.keys()) == (before, ["talk"])


async def no_recovery(memory: object) -> None:
    """As of a process that was killed."""


async def test_what_changed_while_another_inspector_held_the_trash_is_left_alone(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with place.opened() as library:
        begin = library.trash.begin

        async def begin_late(verb: str, summary: str) -> int:
            place.write("memory/2026-03-01.md", b"written again\n", day="2026-03-19")
            return await begin(verb, summary)  # type: ignore[arg-type]

        plan = await plan_hygiene(library, NOW)
        monkeypatch.setattr(library.trash, "begin", begin_late)
        outcome = await run_hygiene(library, plan)
    assert (outcome.count, outcome.changed) == (3, ("file:memory/2026-03-01.md",))
    assert place.tree()["memory/2026-03-01.md"][0] == b"written again\n"


async def test_a_state_file_that_is_a_link_is_known_as_ours(place: Place) -> None:
    real = place.write("elsewhere.json", b"{}")
    link = place.root / STATE
    link.parent.mkdir()
    link.symlink_to(real)
    async with place.opened() as library:
        await run_hygiene(library, await plan_hygiene(library, NOW))
        assert link.is_symlink()
        assert (await plan_hygiene(library, NOW)).state.by_us
