"""Moments are typed as an age, a date or RFC 3339, and mean what a person means."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from zeroclaw_tui.cli.options import bound_meant, moment_meant
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.errors import UsageError

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("30d", "2026-10-22T12:00:00+00:00"),
        ("12h", "2026-11-21T00:00:00+00:00"),
        ("2W", "2026-11-07T12:00:00+00:00"),
        (" 0d ", "2026-11-21T12:00:00+00:00"),
    ],
)
def test_an_age_counts_back_from_now(typed: str, meant: str) -> None:
    assert moment_meant(typed, NOW) == meant
    assert bound_meant(typed, NOW) == meant


@pytest.mark.parametrize("typed", ["2026-03-01T10:00:00+02:00", "2026-03-01T10:00:00.123456789Z"])
def test_rfc_3339_stays_as_it_is(typed: str) -> None:
    assert moment_meant(typed, NOW) == typed
    assert bound_meant(typed, NOW) == typed


def test_without_an_offset_it_is_local_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert moment(moment_meant("2026-03-01", NOW)) == datetime(2026, 3, 1, 5, tzinfo=UTC)
        assert moment(moment_meant("2026-07-01 10:00", NOW)) == datetime(2026, 7, 1, 14, tzinfo=UTC)
    finally:
        monkeypatch.setenv("TZ", "UTC")
        time.tzset()


def test_a_bound_of_recall_stays_the_text_zeroclaw_compares() -> None:
    assert bound_meant("2026-03-01", NOW) == "2026-03-01"


@pytest.mark.parametrize("typed", ["", "soon", "30", "30x", "-3d", "2026-13-01", "9999999w", "d", "1e3d", "٣d0"])
def test_anything_else_is_refused(typed: str) -> None:
    with pytest.raises(UsageError):
        moment_meant(typed, NOW)
