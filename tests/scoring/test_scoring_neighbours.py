"""Texts are near each other by the rare words they share."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zeroclaw_tui.scoring.neighbours import LEAST, LOOKED_AT, RareWords, words_of

TEXTS = st.lists(st.text(alphabet="ab cdé猫犬_ ", max_size=20), min_size=1, max_size=8)


def counted(*texts: str) -> RareWords:
    found = RareWords()
    for number, text in enumerate(texts):
        found.add(number, text)
    return found


def by_definition(texts: list[str], asked: str) -> dict[int, float]:
    """The cosine of the two bags of weighted words, added up word by word."""
    having = {
        word: sum(word in words_of(text) for text in texts) for text in [*texts, asked] for word in words_of(text)
    }

    def weight(word: str) -> float:
        return math.log((len(texts) + 1) / having[word]) if having[word] else math.log(len(texts) + 1)

    def length(words: tuple[str, ...]) -> float:
        return math.sqrt(sum(weight(word) ** 2 for word in words))

    found = {}
    for number, text in enumerate(texts):
        shared = set(words_of(text)) & set(words_of(asked))
        if shared:
            found[number] = sum(weight(word) ** 2 for word in shared) / (
                length(words_of(text)) * length(words_of(asked))
            )
    return found


@given(TEXTS, st.text(alphabet="ab cdé猫犬_ ", max_size=20))
def test_every_score_is_the_cosine_of_the_weighted_words(texts: list[str], asked: str) -> None:
    found = dict(counted(*texts).nearest(asked, 100).nearest)
    assert found == pytest.approx(
        {number: score for number, score in by_definition(texts, asked).items() if score >= LEAST}
    )


def test_a_rare_word_in_common_counts_more_than_a_frequent_one() -> None:
    texts = ["the tea is hot", "the marmalade is old", "the sun is up", "the rain is wet"]
    nearest = counted(*texts).nearest("the marmalade", 2).nearest
    assert [handle for handle, _ in nearest] == [1, 0] or nearest[0][0] == 1
    assert nearest[0][1] > 2 * nearest[1][1]


def test_the_text_itself_scores_1_and_can_be_left_out() -> None:
    store = counted("ramen and rust", "rust on iron", "nothing alike")
    assert store.nearest("ramen and rust", 5).nearest[0] == (0, pytest.approx(1.0))
    assert [handle for handle, _ in store.nearest("ramen and rust", 5, without=0).nearest] == [1]


def test_scripts_without_blanks_are_compared_by_pairs_of_letters() -> None:
    store = counted("我喜欢吃寿司", "今天天气很好", "寿司很贵")
    assert [handle for handle, _ in store.nearest("寿司", 5).nearest] == [2, 0]
    assert store.nearest("我喜欢吃寿司", 5).shared("寿司很贵") == ("寿司",)


def test_shared_words_are_told_the_rarest_first() -> None:
    store = counted("blue marmalade jar", "blue sky", "blue jar", "grey cat")
    assert store.nearest("blue marmalade jar", 5).shared("a blue JAR of marmalade") == ("marmalade", "jar", "blue")
    assert store.nearest("blue", 5).shared("red") == ()


def test_what_has_no_word_is_near_nothing() -> None:
    assert counted("", "!!!", "a b").nearest("?!", 5).nearest == []
    assert counted().nearest("a", 5).nearest == []
    assert counted("", "a").nearest("a", 5).nearest == [(1, pytest.approx(1.0))]


def test_of_a_long_text_only_the_beginning_counts() -> None:
    assert words_of("x " * LOOKED_AT + "end") == ("x",)
