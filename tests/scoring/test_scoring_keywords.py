"""What FTS5 and LIKE are asked for a query, in each generation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zeroclaw_tui.scoring.keywords import like_search, lists_recent, match_expression, words
from zeroclaw_tui.scoring.profiles import LANDMARKS, profile_for

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=60)
OLD, NEW = profile_for("0.7.4"), profile_for("0.7.5")


def test_words_split_where_rust_splits() -> None:
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
def test_blank_and_star_list_the_newest_from_their_versions_on(version: str, blank: bool, star: bool) -> None:
    profile = profile_for(version)
    assert lists_recent("\u3000 ", profile) is blank
    assert lists_recent(" * ", profile) is star
    assert not lists_recent("* *", profile)


def test_like_wildcards_are_escaped_from_0_7_5_on() -> None:
    query = r"50% a_b c\d"
    old, new = like_search(query, OLD), like_search(query, NEW)
    assert old is not None
    assert new is not None
    assert (old.patterns, old.escapes) == (("%50%%", "%a_b%", r"%c\d%"), False)
    assert (new.patterns, new.escapes) == ((r"%50\%%", r"%a\_b%", r"%c\\d%"), True)


def test_like_looks_for_the_first_eight_words() -> None:
    search = like_search(" ".join("abcdefghij"), NEW)
    assert search is not None
    assert search.words == tuple("abcdefgh")


def test_a_prefix_word_has_to_begin_a_token_and_asks_for_more_rows() -> None:
    search = like_search("wil*", NEW)
    assert search is not None
    assert search.patterns == ("%wil%",)
    assert (search.sql_limit(5), search.sql_limit(100)) == (40, 612)
    assert search.accepts("key", "a Wild cat")
    assert search.accepts("user wilma", "")
    assert not search.accepts("key", "sawil user_wil")
    beside = like_search("wil* saw", NEW)
    assert beside is not None
    assert beside.accepts("key", "jigsaw")
    plain = like_search("wil*", OLD)
    assert plain is not None
    assert (plain.patterns, plain.sql_limit(5), plain.accepts("", "")) == (("%wil*%",), 5, True)


def test_letters_of_other_scripts_belong_to_tokens() -> None:
    search = like_search("की*", NEW)
    assert search is not None
    assert search.accepts("", "राम की")
    assert not search.accepts("", "रामकी")


@given(ANY_TEXT, st.sampled_from(LANDMARKS), st.integers(0, 2**40))
def test_no_text_breaks_the_building_of_a_query(query: str, version: str, limit: int) -> None:
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
