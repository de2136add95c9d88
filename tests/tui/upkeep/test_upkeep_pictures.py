"""What the tabs of upkeep look like, in the inspector itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from support import small_store
from support.screens import NARROW, screen_words
from support.settling import press, settled, until
from textual.pilot import Pilot
from upkeep_samples import NOW, Home, Workspace, polluted_rows

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation import doctor
from zeroclaw_tui.curation.doctor import DoctorFinding, DoctorReport
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.view import Pace

Snap = Callable[..., bool]
USUAL = (120, 30)
REPORT = DoctorReport(
    (
        DoctorFinding(
            "keyword-index",
            "12 of 680 memories are not in the keyword index.",
            "serious",
            "The agent does not find them by their words. They come back with a rebuild.",
            "rebuild keyword index",
            target="/srv/zeroclaw/workspace/memory/brain.db",
        ),
        DoctorFinding("vectors", "1,204 memories have no vector.", "worth knowing", "", "fill vectors"),
        DoctorFinding("two", "There are two databases, and one is used.", "worth knowing", "", by_hand="Look at it."),
        *(
            DoctorFinding(title, title, "fine", "")
            for title in ("Every memory has a date that can be read.", "No write waits in a log.")
        ),
    ),
    False,
)


def inspector(options: OpenOptions) -> InspectorApp:
    return InspectorApp(options, clock=lambda: NOW, pace=Pace(debounce=0, poll=None, patience=30))


def shows(tab: str, words: str, *keys: str) -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Go to a tab, wait for what it finds, and press keys there."""

    async def run(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: "memor" in screen_words(pilot.app))
        await settled(pilot)
        # The folder of a test has another name each time.
        pilot.app.sub_title = "/srv/zeroclaw/workspace/memory/brain.db"
        await press(pilot, tab)
        await until(pilot, lambda: words in screen_words(pilot.app))
        await settled(pilot)
        for key in keys:
            await press(pilot, key)
            await settled(pilot)

    return run


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A polluted store that grew over some months."""
    rows = [
        {**row, "created_at": f"2026-{3 + at % 8:02}-{1 + at:02}T08:00:00+00:00"}
        for at, row in enumerate(polluted_rows())
    ]
    return small_store.make(tmp_path / "brain.db", "G4", rows)


@pytest.mark.parametrize("size", [USUAL, NARROW], ids=["120x30", "80x24"])
def test_clean_up(database: Path, snap_compare: Snap, size: tuple[int, int]) -> None:
    """Kinds with what is marked and its share, the remark, the memories in columns, the memory at the right."""
    app = inspector(OpenOptions(path=database))
    assert snap_compare(app, terminal_size=size, run_before=shows("3", "assistant replies"))


def test_hygiene(workspace: Workspace, snap_compare: Snap) -> None:
    """Rules with their counts, those that take nothing in one line, the day, the things, one of them left out."""
    app = inspector(OpenOptions(config_dir=workspace.config_dir, profile="0.7.5"))
    assert snap_compare(app, terminal_size=USUAL, run_before=shows(":hygiene", "6 items due", "space"))


def test_health(database: Path, snap_compare: Snap, monkeypatch: pytest.MonkeyPatch) -> None:
    """The serious first, with its repair at the right."""

    async def examine(*_: Any, **__: Any) -> DoctorReport:
        return REPORT

    monkeypatch.setattr(doctor, "examine", examine)
    app = inspector(OpenOptions(path=database))
    assert snap_compare(app, terminal_size=USUAL, run_before=shows(":health", "1 serious"))


def test_snapshot(home: Home, snap_compare: Snap) -> None:
    """The kinds of difference, the rows with two marked, and the difference line by line."""
    home.config_dir.joinpath("config.toml").write_text('[memory]\nbackend = "sqlite"\n', encoding="utf-8")
    home.make()
    app = InspectorApp(
        OpenOptions(config_dir=home.config_dir), clock=home.clock, pace=Pace(debounce=0, poll=None, patience=30)
    )
    run = shows(":snapshot", "2 only there", "j", "j", "space", "space", "k")
    assert snap_compare(app, terminal_size=USUAL, run_before=run)
