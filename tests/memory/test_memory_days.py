"""How moments are shown: on the clock they were written by, for commands and inspector alike."""

from __future__ import annotations

import pytest

from zeroclaw_tui.memory.days import absolute_time, date_shown


@pytest.mark.parametrize(
    ("timestamp", "shown"),
    [
        ("2026-03-02T09:14:12.123456789+01:00", "2026-03-02 09:14"),
        ("2026-03-02 09:14:12", "2026-03-02 09:14"),
        ("2026-03-02", "2026-03-02"),
        ("20260302T091412Z", "2026-03-02 09:14"),
        ("not a \x1b[31mdate", "not a ␛[31mdate"),
        ("", "no date"),
    ],
)
def test_time_is_that_of_the_clock_it_was_written_by(timestamp: str, shown: str) -> None:
    assert absolute_time(timestamp) == shown


@pytest.mark.parametrize(
    ("timestamp", "shown"),
    [
        ("2026-03-02T23:14:12+01:00", "2026-03-02"),
        ("20260302T091412Z", "2026-03-02"),
        ("no date at all", "no date at all"),
    ],
)
def test_the_date_is_the_beginning_of_it(timestamp: str, shown: str) -> None:
    assert date_shown(timestamp) == shown
