"""The FTS5 and LIKE queries of each generation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rules import LANDMARKS, ScoringProfile, profile_for

from zeroclaw_tui.scoring.stages import like_search, lists_recent, match_expression, words

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=60)
OLD, NEW = profile_for("0.7.4"), profile_for("0.7.5")


def test_words_are_split_as_in_rust() -> None:
    assert words(" a\tb\u3000c\u2028d\x85e\u00a0f\u200bg ") == ["a", "b", "c", "d", "e", "f\u200bg"]
    assert words("a\x1cb\x1fc") == ["a\x1cb\x1fc"]


@pytest.mark.parametrize(
    ("query", "old", "new"),
    [
        ("Rust helix", '"Rust" OR "helix"', '"Rust" OR "helix"'),
        ('say "hi"', '"say" OR ""hi""', '"say" OR """hi"""'),
        ("wil*", '"wil*"', '"wil"*'),
        ("* a", '"*" OR "a"', '"*" OR "a"'),
        ('q"*', '"q"*"', '"q"""*'),
        ("w**", '"w**"', '"w*"*'),
        (" \t ", "", ""),
    ],
)
def test_quotes_and_prefix_words_change_with_0_7_5(query: str, old: str, new: str) -> None:
    assert match_expression(query, OLD) == old
    assert match_expression(query, NEW) == new


@pytest.mark.parametrize(
    ("version", "blank", "star"),
    [("0.5.4", False, False), ("0.5.5", True, False), ("0.7.4", True, False), ("0.7.5", True, True)],
)
def test_blank_and_star_list_the_newest_from_certain_versions_on(version: str, blank: bool, star: bool) -> None:
    profile = profile_for(version)
    assert lists_recent("\u3000 ", profile) is blank
    assert lists_recent(" * ", profile) is star
    assert not lists_recent("* *", profile)


@pytest.mark.parametrize(
    ("query", "profile", "patterns", "escapes"),
    [
        (r"50% a_b c\d", OLD, ("%50%%", "%a_b%", r"%c\d%"), False),
        (r"50% a_b c\d", NEW, (r"%50\%%", r"%a\_b%", r"%c\\d%"), True),
        ("wil*", OLD, ("%wil*%",), False),
        ("wil*", NEW, ("%wil%",), True),
        ("a b c d e f g h i j", NEW, tuple(f"%{letter}%" for letter in "abcdefgh"), True),
    ],
)
def test_like_searches_eight_words_and_escapes_wildcards_from_0_7_5_on(
    query: str, profile: ScoringProfile, patterns: tuple[str, ...], escapes: bool
) -> None:
    search = like_search(query, profile)
    assert search is not None
    assert (search.patterns, search.escapes) == (patterns, escapes)


@pytest.mark.parametrize(
    ("query", "key", "content", "is_accepted"),
    [
        ("wil*", "key", "a Wild cat", True),
        ("wil*", "user wilma", "", True),
        ("wil*", "key", "sawil user_wil", False),
        ("wil* saw", "key", "jigsaw", True),
        ("की*", "", "राम की", True),
        ("की*", "", "रामकी", False),
    ],
)
def test_a_prefix_must_begin_a_token_in_any_script(query: str, key: str, content: str, is_accepted: bool) -> None:
    search = like_search(query, NEW)
    assert search is not None
    assert search.accepts(key, content) is is_accepted
    assert (search.sql_limit(5), search.sql_limit(100)) == (40, 612), "more rows must be requested"


@given(ANY_TEXT, st.sampled_from(LANDMARKS), st.integers(0, 2**40))
def test_a_query_can_be_built_from_any_text(query: str, version: str, limit: int) -> None:
    profile = profile_for(version)
    expression = match_expression(query, profile)
    expression.encode("utf-8")
    assert bool(expression) == bool(words(query))
    search = like_search(query, profile)
    if search is not None:
        assert 0 <= limit <= search.sql_limit(limit)
        assert len(search.patterns) <= 8
        search.accepts(query, query)


@given(st.lists(st.text('ab"*é用', min_size=1, max_size=5), max_size=6))
def test_from_0_7_5_on_every_quote_inside_a_word_is_doubled(parts: list[str]) -> None:
    expression = match_expression(" ".join(parts), NEW)
    assert expression.count('"') == sum(2 * part.count('"') + 2 for part in parts)
