"""Fixtures of the inspector's tests, isolated from this machine's desktop and terminal."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest
from pytest_textual_snapshot import node_to_report_path, normalize_svg
from support import settling
from tui.samples import Inspector

from zeroclaw_tui.tui import external


@pytest.fixture(autouse=True)
def still_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    settling.still_terminal(monkeypatch)


@pytest.fixture
def inspector(tmp_path: Path) -> Inspector:
    """A store of 248 memories, 3 of them superseded, with embeddings."""
    return Inspector(tmp_path)


@pytest.fixture
def temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for the private folders of the user's editor, empty at first."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(external.tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def snap_compare(snap_compare: Callable[..., bool], request: pytest.FixtureRequest) -> Callable[..., bool]:
    """Like the plug-in's fixture, but also print the difference: its report is deleted with the clone."""

    def compare(*given: Any, **named: Any) -> bool:
        is_same = snap_compare(*given, **named)
        if not is_same:
            _, expected, actual, *_ = pickle.loads(node_to_report_path(request.node).read_bytes())
            print("\n".join(unified_diff(_elements(expected), _elements(normalize_svg(actual)), n=0, lineterm="")))
        return is_same

    return compare


def _elements(picture: str) -> list[str]:
    """Return one element per line: a line of the picture has those of a whole row of the screen, or of all rows."""
    return picture.replace("><", ">\n<").splitlines()
