"""Pictures of each room at 120x30, and at 80x24 if the layout differs; hygiene and stores are in README."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.memories import NoInstall
from support.settling import pressing
from textual.app import App
from tui import installs, samples
from tui.installs import DiskInstall, aged_install, food_install, polluted_rows, some_turns
from tui.samples import Inspector, SampleMemory, Trashed

SRV = Path("/srv/zeroclaw")
QUESTION = "=what would she like to eat?"


def sample(folder: Path) -> App[Any]:
    return Inspector(SRV).app()


def no_install(folder: Path) -> App[Any]:
    inspector = Inspector(SRV)
    sentence = "There is no ZeroClaw install in ~/.zeroclaw, and none of its variables is set."
    hint = "Give the path of a config dir, a workspace or a brain.db, or look around with --demo."
    inspector.refusals["sqlite"] = NoInstall(sentence, hint=hint)
    return inspector.app()


def at_srv(install: DiskInstall) -> App[Any]:
    """Return the inspector with a fixed path on the screen, since the folder of a test always differs."""
    app = install.app()
    app.watch(app, "sub_title", lambda title: setattr(app, "sub_title", "/srv/zeroclaw/workspace/memory/brain.db"))
    return app


def polluted(folder: Path) -> App[Any]:
    return at_srv(DiskInstall(folder, polluted_rows(), generation="G4"))


def changes(folder: Path) -> App[Any]:
    sample = Trashed(folder)
    asyncio.run(sample.purge_and_store())
    return sample.room()


USUAL, SMALL, LOW = (120, 30), (80, 24), (40, 12)
Make = Callable[[Path], App[Any]]
PICTURES: dict[str, tuple[Make, tuple[str, ...], tuple[tuple[int, int], ...]]] = {
    "memories": (sample, (), (USUAL, SMALL)),
    "recall": (sample, ("slash", QUESTION), (USUAL, SMALL)),
    "hostile": (lambda folder: Inspector(SRV, SampleMemory(samples.hostile_memories())).app(), ("j",) * 8, (USUAL,)),
    "filters": (sample, ("F",), (USUAL,)),
    "keys": (sample, ("question_mark",), (USUAL,)),
    "palette": (sample, ("colon",), (USUAL,)),
    "no-install": (no_install, (), (USUAL,)),
    "reader": (sample, ("slash", "=ramen", "enter", "enter"), (USUAL,)),
    "editor": (sample, ("e", "= And tea."), (USUAL, LOW)),
    "stages": (lambda folder: food_install(folder).why("explain", "lunch_2026_03"), (), (USUAL, SMALL)),
    "what-if": (
        lambda folder: aged_install(folder).why("what_if", "lunch_2026_03"),
        ("down", "down", "left", "left", "left", "down", "down", "left"),
        (USUAL, SMALL),
    ),
    "prompt": (lambda folder: food_install(folder).why("prompt"), (), (USUAL,)),
    "clean-up": (polluted, ("3",), (USUAL, SMALL)),
    "health": (polluted, (":health", "G"), (USUAL,)),
    "snapshot": (
        lambda folder: at_srv(installs.snapshot_install(folder)),
        (":snapshot", "j", "j", "space", "space", "k"),
        (USUAL,),
    ),
    "changes": (changes, ("G",), (USUAL, SMALL)),
    "live": (lambda folder: installs.recorded_install(folder, some_turns()).live(), ("k",), (USUAL, SMALL)),
}


@pytest.mark.parametrize(
    ("name", "size"),
    [
        pytest.param(name, size, id=f"{name} {size[0]}x{size[1]}")
        for name, (*_, sizes) in PICTURES.items()
        for size in sizes
    ],
)
def test_picture(
    snap_compare: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, size: tuple[int, int]
) -> None:
    # The size of the trash depends on the version of SQLite.
    monkeypatch.setattr("zeroclaw_tui.curation.journal_file.JournalFile.size", lambda file: 123_456)
    make, keys, _ = PICTURES[name]
    assert snap_compare(make(tmp_path), terminal_size=size, run_before=pressing(*keys))


def test_picture_without_colours(snap_compare: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cursor, the bars and dimmed text can still be distinguished."""
    monkeypatch.setenv("NO_COLOR", "1")
    assert snap_compare(Inspector(SRV).app(), terminal_size=SMALL, run_before=pressing("slash", QUESTION))
