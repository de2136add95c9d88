"""Text search: any case, any alphabet, parts of words, and patterns with a time limit."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.memories import MemoryEntry, UsageError
from support.questions import MemoryFilter

from zeroclaw_tui.backends import matching
from zeroclaw_tui.backends.matching import TextSearch, compiled, matches

ENDLESS = "(a|aa)+$"
"""Practically endless on many letters "a" followed by another letter."""
TRAP = "a" * 60 + "b"

texts = st.text(st.characters(codec="utf-8") | st.sampled_from("aAbBkKßẞſКкΣσςİıéÉ花生\u0301\0 \n"), max_size=40)


def entry(content: str, key: str = "key") -> MemoryEntry:
    return MemoryEntry("id", key, content, "core", "2026-11-01T00:00:00+00:00")


def finds(content: str, key: str = "key", **parts: object) -> bool:
    return matches(entry(content, key), MemoryFilter().replace(**parts))


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ("RUST", "prefers rust"), ("чай", "ЧАЙ без сахара"), ("GRÜẞE", "viele grüße"), ("ΟΔΟΣ", "οδος και οδοσ"),
        ("e", "cafe\u0301"), ("\0b", "a\0B"),
    ],
)  # fmt: skip
def test_a_text_is_found_in_any_case_and_alphabet(wanted, text):
    assert finds(text, contains=wanted)
    assert finds("elsewhere", key=text, contains=wanted)
    assert not finds("in 12 jars", key="jar", contains=wanted)


@given(texts, texts)
def test_the_spans_of_a_text_are_exactly_its_occurrences(wanted, text):
    """Each span is the text in some case; no spans means that the text does not occur."""
    if not wanted:
        return
    search = TextSearch(MemoryFilter(contains=wanted))
    spans, _ = search.spans(text, 5.0, 100)
    assert bool(spans) == search.finds("", text)
    assert all(TextSearch(MemoryFilter(contains=wanted)).finds("", text[start:end]) for start, end in spans)


@pytest.mark.parametrize(
    ("pattern", "place"), [("(", "at its end"), ("*a", "at character 1"), (r"\p{Nonsense}x", "at character 13")]
)
def test_an_invalid_pattern_is_reported_with_its_position(pattern, place):
    with pytest.raises(UsageError) as caught:
        finds("text", regex=pattern)
    assert place in caught.value.message
    assert caught.value.message.startswith("The pattern cannot be read")
    assert caught.value.hint


@pytest.mark.parametrize("pattern", ["(" * 3000, "a" * 20_000])
def test_a_pattern_too_deep_or_too_long_is_refused(pattern):
    with pytest.raises(UsageError, match="The pattern"):
        compiled(pattern)


def test_a_pattern_ignores_case_and_matches_unicode():
    assert finds("Ramen NOODLES", regex=r"\bnoodles?\b")
    assert finds("ЧАЙ", regex="чай")
    assert finds("花生", regex=r"^\p{Han}+$")
    assert finds("content", key="food_allergy", regex="^food_")
    assert not finds("noodle", regex="(?-i:Noodle)")


def test_an_endless_pattern_is_stopped_with_a_sentence(monkeypatch):
    monkeypatch.setattr(matching, "REGEX_SECONDS", 0.05)
    search = TextSearch(MemoryFilter(regex=ENDLESS))
    with pytest.raises(UsageError) as caught:
        search.finds("key", TRAP)
    assert "0.05 s" in caught.value.message
    assert "filter" in caught.value.hint


def test_the_time_limit_applies_to_all_texts_together(monkeypatch):
    """Each text alone is fast enough; texts after the time limit are not matched."""
    ticks = itertools.count()
    monkeypatch.setattr(matching, "REGEX_SECONDS", 3.0)
    search = TextSearch(MemoryFilter(regex="b"), clock=lambda: float(next(ticks)))
    assert [search.finds("", "abc") for _ in range(3)] == [True, True, True]
    with pytest.raises(UsageError, match="3 s"):
        search.finds("", "abc")
