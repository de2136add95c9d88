"""Hit, reciprocal rank and nDCG against their definitions, reckoned in another way."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zeroclaw_tui.scoring.measures import is_hit, ndcg, reciprocal_rank

KEYS = st.sampled_from("abcdefgh")
RANKED = st.lists(KEYS, max_size=8)
EXPECTED = st.lists(KEYS, max_size=5)
CUT = st.integers(1, 9)


def discounted(relevances: list[int]) -> float:
    """The gain of a list of relevances by their places, as a product of two arrays."""
    return float(np.dot(relevances, 1 / np.log2(np.arange(2, len(relevances) + 2))))


def first_seen(ranked: list[str], expected: list[str]) -> list[int]:
    return [int(key in expected and ranked.index(key) == place) for place, key in enumerate(ranked)]


def by_definition(ranked: list[str], expected: list[str], k: int) -> float:
    """The gain of what was found over that of all relevances sorted downwards."""
    everything = sorted(set(ranked) | set(expected))
    best = sorted((int(key in expected) for key in everything), reverse=True)[:k]
    return discounted(first_seen(ranked, expected)[:k]) / discounted(best) if any(best) else 0.0


@given(RANKED, EXPECTED, CUT)
def test_ndcg_is_the_gain_over_the_best_there_is(ranked: list[str], expected: list[str], k: int) -> None:
    assert ndcg(ranked, expected, k) == pytest.approx(by_definition(ranked, expected, k), abs=1e-12)


@given(st.sets(KEYS, min_size=1, max_size=3), st.sets(KEYS, max_size=2), CUT)
def test_no_order_of_the_keys_is_better_than_one_with_the_expected_first(
    expected: set[str], others: set[str], k: int
) -> None:
    keys = sorted(expected | others)
    figures = {ranking: ndcg(ranking, expected, k) for ranking in permutations(keys)}
    assert max(figures.values()) == 1.0
    for ranking, figure in figures.items():
        leads = set(ranking[: min(k, len(expected))]) <= expected
        assert (figure == 1.0) is leads, ranking


@given(RANKED, EXPECTED, CUT)
def test_every_figure_is_between_0_and_1(ranked: list[str], expected: list[str], k: int) -> None:
    assert 0.0 <= ndcg(ranked, expected, k) <= 1.0
    assert 0.0 <= reciprocal_rank(ranked, expected, k) <= 1.0
    assert is_hit(ranked, expected, k) is (reciprocal_rank(ranked, expected, k) > 0) is (ndcg(ranked, expected, k) > 0)


@given(RANKED, EXPECTED, CUT)
def test_the_reciprocal_rank_counts_what_is_before_the_first_expected(
    ranked: list[str], expected: list[str], k: int
) -> None:
    places = sorted(place for key in set(expected) for place, found in enumerate(ranked, 1) if found == key)
    within = [place for place in places if place <= k]
    assert reciprocal_rank(ranked, expected, k) == (float(Fraction(1, within[0])) if within else 0.0)


@given(RANKED, st.permutations(["a", "b", "c", "c"]), CUT)
def test_order_and_repetition_of_what_is_expected_change_nothing(
    ranked: list[str], expected: list[str], k: int
) -> None:
    plain = ["a", "b", "c"]
    for measure in (is_hit, reciprocal_rank, ndcg):
        assert measure(ranked, expected, k) == measure(ranked, plain, k)
