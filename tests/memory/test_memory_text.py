"""Display of texts and times."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zeroclaw_tui.memory.days import absolute_time, date_shown
from zeroclaw_tui.memory.text import display_text, one_line

ANY_TEXT = st.text(st.characters(), max_size=200)


@given(ANY_TEXT)
def test_shown_text_has_no_control_but_line_feed_and_tab(text: str) -> None:
    shown = display_text(text)
    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"]


@given(ANY_TEXT)
def test_a_row_is_one_line(text: str) -> None:
    shown = one_line(text)
    assert not set(shown) & set("\n\r\t\x0b\x0c\x1b\x00")


@given(st.text(st.characters(codec="ascii", categories=["L", "N", "P", "Zs"]), max_size=100))
def test_plain_text_is_shown_unchanged(text: str) -> None:
    assert display_text(text) == text


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b]0;owned\x1b\\", "␛]0;owned␛\\"),
        ("a\x00b", "a␀b"),
        ("\x9b31m", "�31m"),
        ("safe\u202egnp.exe", "safe⟨U+202E⟩gnp.exe"),
        ("\ud800", "�"),
        ("line\r\nend", "line\nend"),
        ("over\rwrite", "over␍write"),
        ("o" + "\u0301" * 50, "o" + "\u0301" * 4),
    ],
)
def test_hostile_text_becomes_visible(hostile: str, shown: str) -> None:
    assert display_text(hostile) == shown


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
def test_times_are_shown_in_the_zone_in_which_they_were_written(timestamp: str, shown: str) -> None:
    assert absolute_time(timestamp) == shown


@pytest.mark.parametrize(
    ("timestamp", "shown"),
    [
        ("2026-03-02T23:14:12+01:00", "2026-03-02"),
        ("20260302T091412Z", "2026-03-02"),
        ("no date at all", "no date at all"),
    ],
)
def test_the_date_is_the_beginning_of_the_timestamp(timestamp: str, shown: str) -> None:
    assert date_shown(timestamp) == shown
