"""Which part of a URL is hidden while it is typed."""

from __future__ import annotations

import pytest

from zeroclaw_tui.onboard.prompts import password_span


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("postgres://ann:secret@db:5432/zeroclaw", "secret"),
        ("postgres://ann:se", "se"),
        ("postgres://ann:", ""),
        ("postgres://ann:p@ss@db/zeroclaw", "p@ss"),
        ("postgres://ann:p/ss@db/zeroclaw", "p/ss"),
        ("postgres://db:5432/zeroclaw", ""),
        ("postgres://db:5432", ""),
        ("postgres://ann@db:5432/zeroclaw", ""),
        ("postgres://db/zeroclaw", ""),
        ("postgres", ""),
        ("  postgresql://ann:x@db", "x"),
    ],
)
def test_password_of_a_url(text: str, hidden: str) -> None:
    start, end = password_span(text)
    assert text[start:end] == hidden
