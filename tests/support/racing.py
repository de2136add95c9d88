"""Another program that is quicker: it acts after the trash has what goes, before anything is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from zeroclaw_tui.curation.trash.trash import RunningAction
from zeroclaw_tui.memory.change import RowChange


def after_keeping(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Act each time that something was kept."""
    keep = RunningAction.keep

    def keep_and_act(action: RunningAction, changes: Sequence[RowChange]) -> None:
        keep(action, changes)
        act()

    monkeypatch.setattr(RunningAction, "keep", keep_and_act)
