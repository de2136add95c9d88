"""Similarity of texts by their shared rare words."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.memories import Handle

from zeroclaw_tui.scoring.neighbours import COMPARED_CHARACTERS, MIN_SCORE, RareWords, shared_words, words_of

TEXTS = st.lists(st.text(alphabet="ab cdé猫犬_ ", max_size=20), min_size=1, max_size=8)


def counted(*texts: str) -> RareWords:
    found = RareWords()
    for number, text in enumerate(texts):
        found.add(number, text)
    return found


def handles(store: RareWords, asked: str) -> list[Handle]:
    return [near.handle for near in store.nearest(asked, 5).neighbours]


def by_definition(texts: list[str], asked: str) -> dict[int, float]:
    """Return the cosine of two weighted bags of words, computed word by word."""
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
    found = {near.handle: near.score for near in counted(*texts).nearest(asked, 100).neighbours}
    assert found == pytest.approx(
        {number: score for number, score in by_definition(texts, asked).items() if score >= MIN_SCORE}
    )


def test_scripts_without_blanks_are_compared_by_pairs_of_characters() -> None:
    store = counted("我喜欢吃寿司", "今天天气很好", "寿司很贵")
    assert handles(store, "寿司") == [2, 0]
    assert shared_words("我喜欢吃寿司", "寿司很贵") == ("寿司",)


def test_the_longest_shared_words_come_first() -> None:
    assert shared_words("blue marmalade jar", "a blue JAR of marmalade") == ("marmalade", "blue", "jar")
    assert shared_words("one two three four five six", "six five four three two one")[0] == "three"
    assert len(shared_words("one two three four five six", "six five four three two one")) == 5
    assert shared_words("blue", "red") == ()


def test_a_text_without_words_has_no_similar_texts() -> None:
    assert handles(counted("", "!!!", "a b"), "?!") == []
    assert handles(counted(), "a") == []
    assert handles(counted("", "a"), "a") == [1]


def test_only_the_beginning_of_a_long_text_counts() -> None:
    assert words_of("x " * COMPARED_CHARACTERS + "end") == ("x",)
