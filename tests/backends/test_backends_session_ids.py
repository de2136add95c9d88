"""Session ids as ZeroClaw >= 0.8.0 spells them."""

from __future__ import annotations

import pytest

from zeroclaw_tui.backends.tables import sanitised


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("telegram_12-3", "telegram_12-3"),
        ("discord:guild/chan#9", "discord_guild_chan_9"),
        ("grüße é", "grüße_é"),
        # Vowel signs and circled letters are alphanumeric to Rust, and not to Python.
        ("नमस्ते ⓐ", "नमस\u094dते_ⓐ".replace("\u094d", "_")),
    ],
)
def test_what_is_no_letter_and_no_digit_becomes_an_underscore(given, stored):
    assert sanitised(given) == stored
