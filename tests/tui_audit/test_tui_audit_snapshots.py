"""What the audit looks like, at the smallest size that is whole and at one that is comfortable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from audit_samples import NARROW, WIDE, AuditApp, hostile_rows, run_keys

Snap = Callable[..., bool]
BOTH = pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "140x40"])


@BOTH
@pytest.mark.parametrize(
    "pressed",
    [(), ("enter", "space", "j"), ("j", "asterisk", "enter"), ("question_mark",)],
    ids=["findings", "marked", "all", "keys"],
)
def test_findings(tmp_path: Path, snap_compare: Snap, size: tuple[int, int], pressed: tuple[str, ...]) -> None:
    """Findings over their memories, the memory beside or below."""
    assert snap_compare(AuditApp(tmp_path, None), terminal_size=size, run_before=run_keys(*pressed))


@pytest.mark.parametrize(
    "pressed", [("j", "M"), ("j", "M", "t"), ("asterisk", "c")], ids=["merge", "longest", "category"]
)
def test_dialogs(tmp_path: Path, snap_compare: Snap, pressed: tuple[str, ...]) -> None:
    """What stays and what goes under each group; the categories with their counts."""
    assert snap_compare(AuditApp(tmp_path, None), terminal_size=NARROW, run_before=run_keys(*pressed))


@pytest.mark.parametrize(
    "pressed", [(), ("enter", "j", "j", "j"), ("M",), ("enter", "c")], ids=["top", "rows", "merge", "category"]
)
def test_hostile(tmp_path: Path, snap_compare: Snap, pressed: tuple[str, ...]) -> None:
    """Every column stays in its place; nothing is styled, nothing reaches the terminal."""
    assert snap_compare(AuditApp(tmp_path, hostile_rows()), terminal_size=NARROW, run_before=run_keys(*pressed))


@pytest.mark.parametrize("rows", [[], [{"key": "one", "content": "ok"}]], ids=["empty", "one"])
def test_few(tmp_path: Path, snap_compare: Snap, rows: list[dict[str, str]]) -> None:
    """Nothing says what would fill it; one memory fills one line."""
    assert snap_compare(AuditApp(tmp_path, rows), terminal_size=NARROW, run_before=run_keys())


def test_read_only(tmp_path: Path, snap_compare: Snap) -> None:
    """Keys that write are dimmed, and a line says why."""
    assert snap_compare(AuditApp(tmp_path, None, read_only=True), terminal_size=NARROW, run_before=run_keys())


def test_no_dates(tmp_path: Path, snap_compare: Snap) -> None:
    """A question mark stands for an age that cannot be told."""
    rows = [{"key": f"k{at}", "content": "ok", "created_at": "soon", "updated_at": ""} for at in range(3)]
    assert snap_compare(AuditApp(tmp_path, rows), terminal_size=NARROW, run_before=run_keys("enter"))
