"""A file of another tool that somebody opens as a store: the error names the command that imports it."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.warm_start import run_memory

DATA = Path(__file__).parents[2] / "data" / "formats"


@pytest.mark.parametrize(
    ("name", "looks"),
    [
        ("mem0.json", "looks like mem0"),
        ("server_memory.jsonl", "looks like the MCP server “memory”"),
    ],
)
def test_what_is_no_store_is_named_with_the_command_that_imports_it(name: str, looks: str) -> None:
    listed = run_memory("list", "--location", str(DATA / name))
    assert listed.returncode == 3
    assert f"{name} cannot be opened as a store. It {looks}" in listed.stderr
    assert f"`zeroclaw memory import {DATA / name}` brings the memories into your agent's memory." in listed.stderr


def test_what_has_no_known_format_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello\n" * 100)
    assert "is not a SQLite database" in run_memory("list", "--location", str(tmp_path / "notes.txt")).stderr
