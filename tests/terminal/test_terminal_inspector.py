"""The inspector in a real terminal, with keys and mouse, on databases written by ZeroClaw."""

from __future__ import annotations

import gzip
import hashlib
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from support.databases import create_database
from support.terminal import Terminal

DATA = Path(__file__).parents[1] / "data"
WIDER = Path(os.environ.get("ZEROCLAW_FIXTURES", DATA / "zeroclaw"))
STORES = sorted([*DATA.rglob("*.db"), *DATA.rglob("*brain*.db.gz"), *WIDER.rglob("brain*.db")])
SIZES = [(80, 24), (140, 40)]
INSPECTOR = [sys.executable, "-m", "zeroclaw_tui"]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _leave(screen: Terminal) -> None:
    """Leave the search, open and close the keys, and quit; wait for each screen before the next key."""
    screen.press("escape")
    screen.wait_for("last stored first")
    screen.press("?")
    screen.wait_for("Search the memories")
    screen.press("escape")
    screen.wait_until_absent("Search the memories")
    screen.press("q")
    assert screen.wait_exit() == 0


@pytest.fixture
def own_copy(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    copy = tmp_path / "memory" / "brain.db"
    copy.parent.mkdir()
    original = Path(request.param)
    content = original.read_bytes()
    copy.write_bytes(gzip.decompress(content) if original.suffix == ".gz" else content)
    return copy


@pytest.mark.parametrize(
    ("own_copy", "size"),
    [pytest.param(store, SIZES[at % 2], id=f"{store.parent.name}-{store.name}") for at, store in enumerate(STORES)],
    indirect=["own_copy"],
)
def test_browsing_and_searching_change_no_byte(own_copy: Path, size: tuple[int, int]) -> None:
    """Move, search in both ways, filter, open the keys, quit: exit code 0 and an unchanged file."""
    before = _digest(own_copy)
    with Terminal([*INSPECTOR, str(own_copy)], columns=size[0], lines=size[1]) as screen:
        screen.wait_for("memories")
        screen.press("j", "j", "G", "g")
        screen.press("/")
        screen.wait_for("recall")
        screen.press("rust")
        screen.wait_for("rust", "limit 5")
        screen.press("tab")
        screen.wait_for("contains")
        screen.press("enter")
        screen.wait_for("w what-if")
        _leave(screen)
    assert _digest(own_copy) == before


def test_the_demo_starts_without_an_install(clean_environment: Path) -> None:
    """With an empty HOME and no install the sample memories open, and no file is left."""
    with Terminal([*INSPECTOR, "--demo"], columns=140, lines=40) as screen:
        screen.wait_for("memories", "Category")
        screen.press("/", "what does she like to eat?")
        screen.wait_for("likes_to_eat", "threshold", "injected as entry 1")
        screen.press("enter")
        screen.wait_for("w what-if")
        _leave(screen)
    assert list(clean_environment.iterdir()) == []


def test_without_an_install_the_screen_lists_the_searched_folders() -> None:
    with Terminal(INSPECTOR, columns=80, lines=24) as screen:
        screen.wait_for("No install found", "--demo")
        screen.press("q")
        assert screen.wait_exit() == 3


HOSTILE = {
    "osc52": "before \x1b]52;c;b3duZWQ=\x1b\\ after",
    "title": "before \x1b]0;owned\x07 after",
    "clear": "before \x1b[2J\x9b2J after",
    "[/markup]": "[/] [@click=app.quit()]quit[/] [bold]",
}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "memory" / "brain.db"
    path.parent.mkdir()
    create_database(path, "G1")
    return path


def _add(path: Path, rows: dict[str, str], category: str = "core") -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany(
            "INSERT INTO memories (id, key, content, category, created_at, updated_at) VALUES (?1, ?1, ?2, ?3, ?4, ?4)",
            [(key, content, category, "2026-01-02T03:04:05+00:00") for key, content in rows.items()],
        )


def test_no_memory_reaches_the_terminal_as_an_escape_sequence(store: Path) -> None:
    """Every hostile row is selected once, in list and detail; none of its escape sequences is printed."""
    _add(store, HOSTILE)
    with Terminal([*INSPECTOR, str(store)], columns=140, lines=40) as screen:
        screen.wait_for("4 memories", "[/] [@click=app.quit()]quit")
        for key in ("clear", "title", "osc52"):
            screen.press("j")
            screen.wait_until(lambda key=key: _is_at(screen, key), f"the cursor on {key}")
        screen.wait_for("before ␛]52;c;b3duZWQ=␛\\ after")
        screen.press("q")
        assert screen.wait_exit() == 0
    for sequence in (b"\x1b]52;c;b3du", b"\x1b]0;owned", b"\x1b[2J\xc2\x9b", b"\xc2\x9b2J"):
        assert sequence not in screen.raw


def test_the_mouse_filters_and_selects(store: Path) -> None:
    _add(store, {"alpha": "first", "omega": "last"})
    _add(store, {"daily_note": "noted"}, category="daily")
    with Terminal([*INSPECTOR, str(store)], columns=140, lines=40) as screen:
        screen.wait_for("3 memories", "Category")
        _click(screen, "daily            1")
        screen.wait_for("1 memory", "daily ✕")
        _click(screen, "daily ✕")
        screen.wait_for("3 memories")
        _click(screen, "alpha")
        screen.wait_until(lambda: _is_at(screen, "alpha"), "the cursor on alpha")
        screen.press("q")
        assert screen.wait_exit() == 0


def _is_at(screen: Terminal, key: str) -> bool:
    return any(f" {key} " in row.partition("▌")[2] for row in screen.rows)


def _click(screen: Terminal, text: str) -> None:
    screen.wait_for(text)
    row = next(at for at, line in enumerate(screen.rows) if text in line)
    screen.click(screen.rows[row].index(text) + 1, row)


def test_concurrent_writes_of_an_agent_appear(store: Path) -> None:
    _add(store, {"old": "known for long"})
    with Terminal([*INSPECTOR, str(store)], columns=80, lines=24) as screen:
        screen.wait_for("1 memor", "known for long")
        _add(store, {"fresh": "just heard"})
        screen.wait_for("just heard", "2 memories")
        screen.press("q")
        assert screen.wait_exit() == 0


@pytest.mark.parametrize(
    ("spoil", "said", "code"),
    [
        (lambda path: path.write_bytes(b""), "is empty", 3),
        (lambda path: path.write_text("no database\n" * 400), "not a SQLite database", 3),
        (lambda path: path.write_bytes(path.read_bytes()[:4096]), "Damaged", 3),
        (lambda path: path.unlink(), "does not exist", 3),
    ],
    ids=["empty", "text", "truncated", "missing"],
)
def test_an_unopenable_store_is_reported_on_a_screen(store: Path, spoil: object, said: str, code: int) -> None:
    spoil(store)  # type: ignore[operator]
    with Terminal([*INSPECTOR, str(store)], columns=80, lines=24) as screen:
        # The sentence is wrapped at the end of the path.
        screen.wait_until(lambda: said in " ".join(screen.text.split()), said)
        screen.wait_for("r retry", "q quit")
        screen.press("q")
        assert screen.wait_exit() == code
    assert b"Traceback" not in screen.raw
