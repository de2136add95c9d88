"""`search`, and --contains and --regex on every verb with filters."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.small_store import make
from support.warm_start import run_memory

from zeroclaw_tui.cli.entries import SEARCH_CHANGED

ROWS = [
    {"key": "tea", "content": "Black Tea with milk"},
    {"key": "milk", "content": "Oat milk only"},
    {"key": "chai", "content": "ЧАЙ с молоком"},
]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return make(tmp_path / "brain.db", "G4", ROWS)


def run(store: Path, *arguments: str) -> tuple[int, str, str]:
    environment = {**os.environ, "HOME": str(store.parent), "ZEROCLAW_CONFIG_DIR": str(store.parent / "none")}
    done = run_memory(*arguments, "--location", str(store), environment=environment)
    return done.returncode, done.stdout, done.stderr


def keys(answer: str) -> list[str]:
    found = json.loads(answer)
    return sorted(entry["key"] for entry in (found["entries"] if isinstance(found, dict) else found))


@pytest.mark.parametrize("verb", ["list", "stats", "purge", "export"])
def test_a_pattern_that_cannot_be_read_is_wrong_use_everywhere(store: Path, tmp_path: Path, verb: str) -> None:
    more = {"purge": ("--yes",), "export": (str(tmp_path / "out.jsonl"),)}.get(verb, ())
    code, out, err = run(store, verb, *more, "--regex", "tea(")
    assert code == 2
    assert "The pattern cannot be read at its end" in err
    assert "Traceback" not in err
    assert out == ""
    assert not (tmp_path / "out.jsonl").exists()


SEARCH_NOTE = f"zeroclaw: {SEARCH_CHANGED}\n"


@pytest.mark.parametrize(
    ("arguments", "as_list"),
    [
        (("OAT", "milk"), ("--contains", "oat milk")),
        (("milk", "--regex", "(?i)black"), ("--contains", "milk", "--regex", "(?i)black")),
        (("nobody",), ("--contains", "nobody")),
    ],
)  # fmt: skip
def test_search_is_the_list_of_what_has_the_text(
    store: Path, arguments: tuple[str, ...], as_list: tuple[str, ...]
) -> None:
    for form in ((), ("--json",)):
        code, out, err = run(store, "search", *arguments, *form)
        listed = run(store, "list", *as_list, *form)
        assert (code, out) == listed[:2]
        assert err == SEARCH_NOTE + listed[2]


@pytest.mark.parametrize("arguments", [(), ("",), ("--category", "core"), ("--regex", "")])
def test_search_for_nothing_is_wrong_use(store: Path, arguments: tuple[str, ...]) -> None:
    code, out, err = run(store, "search", *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 2
