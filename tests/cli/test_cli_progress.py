"""How far a long change is, where stderr is no terminal."""

from __future__ import annotations

from itertools import count

import pytest

from zeroclaw_tui.cli.plans import Progress


def test_without_a_terminal_a_line_is_written_every_five_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = count(0.0, 1.25)
    with Progress("Importing", 25_000, clock=lambda: next(seconds)) as progress:
        for done in range(0, 25_000, 2_500):
            assert progress.advance(done)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "zeroclaw: Importing 7,500 of 25,000 …"
    assert len(lines) == 2


def test_a_change_that_ends_at_once_writes_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("Importing", 500, clock=lambda: 0.0) as progress:
        progress.advance(250)
        progress.advance(500)
    assert capsys.readouterr().err == ""
