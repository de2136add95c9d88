"""Another program that is quicker: it acts after the trash has what goes, before anything is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from zeroclaw_tui.curation.running_action import RunningAction
from zeroclaw_tui.memory.change import RowChange


def after_recording(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Act each time that something was recorded."""
    record = RunningAction.record

    def record_and_act(action: RunningAction, changes: Sequence[RowChange]) -> None:
        record(action, changes)
        act()

    monkeypatch.setattr(RunningAction, "record", record_and_act)
