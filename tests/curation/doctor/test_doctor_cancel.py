"""A long check or copy that is cancelled ends at once, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from support.patient import NOW

from zeroclaw_tui.backends.cancellation import CancellableTask
from zeroclaw_tui.backends.sqlite import repair
from zeroclaw_tui.curation.doctor import examine
from zeroclaw_tui.curation.repairs import back_up
from zeroclaw_tui.files import whole_database


async def test_a_cancelled_backup_leaves_no_copy(make_patient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cancelled after the first of its steps."""
    patient = make_patient()
    task: asyncio.Task[Path] | None = None
    loop = asyncio.get_running_loop()
    check = CancellableTask.check

    def cancelling(self: CancellableTask, *more: object) -> None:
        if not self._is_cancelled.is_set():
            assert task is not None
            loop.call_soon_threadsafe(task.cancel)
            assert self._is_cancelled.wait(30)
        check(self, *more)

    monkeypatch.setattr(whole_database, "_PAGES_AT_ONCE", 1)
    monkeypatch.setattr(CancellableTask, "check", cancelling)
    task = asyncio.ensure_future(back_up(patient.config, NOW))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert list((patient.folder / "zeroclaw-tui" / "backups").iterdir()) == []


async def test_the_copy_of_a_deep_check_is_private_and_removed(
    make_patient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    patient = make_patient()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen: list[int] = []
    copy_database = repair.copy_database

    def looking(path: Path, target: Path, check: Callable[..., None]) -> None:
        copy_database(path, target, check)
        seen.extend([target.parent.stat().st_mode & 0o777, target.stat().st_mode & 0o777])

    monkeypatch.setattr(repair, "copy_database", looking)
    async with patient.library() as library:
        assert (await examine(patient.config, library, deep=True)).is_healthy
    assert seen == [0o700, 0o600]
    assert not [name for name in os.listdir(tmp_path) if name.startswith("zeroclaw-tui-check")]
