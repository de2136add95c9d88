"""What ZeroClaw blanks out before it stores, category by category."""

from __future__ import annotations

import pytest

from zeroclaw_tui.scoring.scanner import category_of, redact

ALL = ("private_key", "api_key", "secret", "email", "phone")
KEY = "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        (f"a {KEY} b {KEY}", "a [REDACTED:private_key] b [REDACTED:private_key]"),
        ("-----BEGIN RSA PRIVATE KEY----- abc", "-----BEGIN RSA PRIVATE KEY----- abc"),
        ("API-Key : 'abcdefghi_./+=-1'", "[REDACTED:api_key]"),
        ("apikey=abcdefghijklmno", "apikey=abcdefghijklmno"),
        ("api key=abcdefghijklmnop", "api key=abcdefghijklmnop"),
        ("my_api_key=abcdefghijklmnop", "my_api_key=abcdefghijklmnop"),
        ('token = "abcdefghijkl"', "[REDACTED:secret]"),
        ("Password:abcdefghijk", "Password:abcdefghijk"),
        ("pa\u017f\u017fword: abcdefghijkl", "[REDACTED:secret]"),
        ("passwords: abcdefghijklmnop", "passwords: abcdefghijklmnop"),
        ("mail ada.b+c@ex-ample.co.uk, please", "mail [REDACTED:email], please"),
        ("ada@localhost", "ada@localhost"),
        ("call +49 (30) 123-456 now", "call +[REDACTED:phone] now"),
        ("12345678", "12345678"),
        ("123456789", "[REDACTED:phone]"),
        ("at 2026-03-07 14", "at [REDACTED:phone]"),
        ("token: ada@example.org", "token: [REDACTED:email]"),
        ("secret=abcdefghijkl@example.org", "[REDACTED:secret]@example.org"),
    ],
)
def test_each_category_takes_what_its_rule_says(text: str, stored: str) -> None:
    assert redact(text, ALL)[0] == stored


def test_only_the_categories_named_are_blanked_out() -> None:
    text = f"{KEY} api_key=abcdefghijklmnop token=abcdefghijkl a@b.de 030 1234567"
    assert redact(text, ()) == (text, ())
    for category in ALL:
        stored, found = redact(text, (category,))
        assert found == (category,)
        assert stored.count("[REDACTED:") == 1
    assert redact(text, ALL)[1] == ALL


def test_the_words_of_the_setting() -> None:
    assert [category_of(word) for word in (" API_KEY ", "apikey", "PrivateKey", "phone", "mail")] == [
        "api_key",
        "api_key",
        "private_key",
        "phone",
        None,
    ]
