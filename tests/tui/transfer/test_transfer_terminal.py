"""Exporting and importing as a person does it, in a real terminal."""

from __future__ import annotations

import sys
from pathlib import Path

from support import small_store
from support.terminal import Terminal
from transfer_samples import Place

INSPECTOR = [sys.executable, "-m", "zeroclaw_tui"]


def test_out_and_in_again(clean_environment: Path) -> None:
    """Export, lose a memory, import: it is there again."""
    place = Place(clean_environment)
    before = place.contents()
    with Terminal([*INSPECTOR, str(place.config_dir)]) as screen:
        screen.wait_for("3 memories")
        _command(screen, "export the", "Export the memories shown")
        screen.wait_for("Export 3 memories?")
        # A letter goes to the field at once, a key that is bound there goes up to the screen first.
        screen.press("ctrl+u")
        screen.wait_for("Enter a path")
        screen.press("~/out.jsonl")
        screen.wait_for("~/out.jsonl")
        screen.press("enter")
        screen.wait_for("exported to")
        small_store.change(place.database, "DELETE FROM memories WHERE key = 'food'")
        screen.wait_for("2 memories")
        _command(screen, "import", "Import memories from")
        screen.wait_for("Import which file?")
        screen.press("~/out.jsonl")
        screen.wait_for("~/out.jsonl")
        screen.press("enter")
        screen.wait_for("Import 1 memory from out.jsonl?", "2 already there")
        screen.press("y")
        screen.wait_for("Imported 1 memory")
        screen.press("q")
        assert screen.wait_exit() == 0
    assert place.contents() == before


def _command(screen: Terminal, typed: str, sentence: str) -> None:
    screen.press(":")
    screen.wait_for("Search for commands")
    screen.press(typed)
    screen.wait_until(lambda: sentence in screen.text and "Choose the colours" not in screen.text, sentence)
    screen.press("enter")
