"""The inspector as a person starts it: in a real terminal, with keys and mouse, on databases ZeroClaw wrote."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from pathlib import Path

import pytest
from support.terminal import Terminal

DATA = Path(__file__).parents[1] / "data" / "zeroclaw"
WIDER = Path(os.environ.get("ZEROCLAW_FIXTURES", DATA))
STORES = sorted({*DATA.rglob("*.db"), *WIDER.rglob("brain*.db")})
SIZES = [(80, 24), (140, 40)]
INSPECTOR = [sys.executable, "-m", "zeroclaw_tui"]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def own_copy(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    copy = tmp_path / "memory" / "brain.db"
    copy.parent.mkdir()
    shutil.copyfile(request.param, copy)
    return copy


@pytest.mark.parametrize("own_copy", STORES, indirect=True, ids=lambda path: f"{path.parent.name}-{path.stem}")
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_browsing_and_searching_leave_every_byte(own_copy: Path, size: tuple[int, int]) -> None:
    """Move, search both ways, filter, read the keys, quit: exit 0, and the file is what it was."""
    before = _digest(own_copy)
    with Terminal([*INSPECTOR, str(own_copy)], columns=size[0], lines=size[1]) as screen:
        screen.wait_for("memories")
        screen.press("j", "j", "G", "g")
        screen.press("/")
        screen.wait_for("recall")
        screen.press("rust")
        screen.wait_for("rust", "limit 5")
        screen.press("ctrl+f")
        screen.wait_for("contains")
        screen.press("enter")
        screen.press("escape", "escape", "?")
        screen.wait_for("zeroclaw")
        screen.press("escape", "q")
        assert screen.wait_exit() == 0
    assert _digest(own_copy) == before


def test_the_demo_starts_from_nothing(clean_environment: Path) -> None:
    """With an empty HOME and no install the sample memories open, and nothing is left behind."""
    with Terminal([*INSPECTOR, "--demo"], columns=140, lines=40) as screen:
        screen.wait_for("memories", "Category")
        screen.press("/", "what does she like to eat?")
        screen.wait_for("recall", "threshold")
        screen.press("escape", "escape", "q")
        assert screen.wait_exit() == 0
    assert list(clean_environment.iterdir()) == []


def test_without_an_install_the_screen_says_where_it_looked() -> None:
    with Terminal(INSPECTOR, columns=80, lines=24) as screen:
        screen.wait_for("No install found", "--demo")
        screen.press("q")
        assert screen.wait_exit() == 3
