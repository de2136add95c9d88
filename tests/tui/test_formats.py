"""Numbers, times and text in lists."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from zeroclaw_tui.tui.format import bar, fit, relative_age

NOW = datetime(2026, 11, 21, 22, 0, tzinfo=UTC)
AWKWARD = st.text(
    st.one_of(st.characters(), st.sampled_from("a 今日é\u0301\u200d\ufe0f👩👧☕🇫🇷ﷺ\u200b\u1100\u0e33")), max_size=60
)


@pytest.mark.parametrize(
    ("timestamp", "age"),
    [
        ("2026-11-21T21:59:30+00:00", "now"),
        ("2026-11-21T21:55:00Z", "5 min"),
        ("2026-11-21T19:00:00.123456789+00:00", "2 h"),
        ("2026-10-23T22:00:00Z", "29 d"),
        ("2026-03-02T09:14:12Z", "8 mo"),
        ("2024-01-01T00:00:00Z", "2 y"),
        ("2026-11-24T23:00:00Z", "in 3 d"),
        ("2026-11-21T23:30:00+02:00", "30 min"),
        ("yesterday", "?"),
    ],
)
def test_an_age_has_one_unit(timestamp: str, age: str) -> None:
    assert relative_age(timestamp, NOW) == age


@settings(deadline=None)
@given(AWKWARD, st.integers(0, 40), st.sampled_from(["left", "right"]))
def test_fitted_text_is_exactly_that_wide(text: str, cells: int, align: str) -> None:
    assert cell_len(fit(text, cells, align)) == cells  # type: ignore[arg-type]


@settings(deadline=None)
@given(AWKWARD, AWKWARD, st.integers(1, 40))
def test_fitted_columns_stay_aligned_side_by_side(left: str, right: str, cells: int) -> None:
    """A joiner at the edge of one column must not swallow a cell of the next."""
    assert cell_len(fit(left, cells) + "│" + fit(right, cells, "right")) == 2 * cells + 1


def test_what_does_not_fit_ends_in_an_ellipsis_at_a_whole_character() -> None:
    assert fit("Allergic to peanuts", 9) == "Allergic…"
    assert fit("今日は寿司", 6) == "今日… "
    assert fit("37 B", 6, "right") == "  37 B"
    assert fit("x" * 5_000_000, 4) == "xxx…"


@pytest.mark.parametrize(
    ("value", "drawn"),
    [
        (1.0, "████"),
        (0.5, "██  "),
        (0.0, "    "),
        (0.0001, "▏   "),
        (7.0, "████"),
        (None, "–   "),
        (float("nan"), "–   "),
    ],
)
def test_bar_counts_in_eighths(value: float | None, drawn: str) -> None:
    assert bar(value, 4) == drawn
