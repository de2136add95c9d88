"""Hit, reciprocal rank and nDCG equal their definitions, computed in another way."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zeroclaw_tui.scoring.measures import ndcg, reciprocal_rank

KEYS = st.sampled_from("abcdefgh")
RANKED = st.lists(KEYS, max_size=8)
EXPECTED = st.lists(KEYS, max_size=5)
CUT = st.integers(1, 9)


def discounted(relevances: list[int]) -> float:
    """Return the discounted gain of a list of relevances, as a product of two arrays."""
    return float(np.dot(relevances, 1 / np.log2(np.arange(2, len(relevances) + 2))))


def first_seen(ranked: list[str], expected: list[str]) -> list[int]:
    return [int(key in expected and ranked.index(key) == place) for place, key in enumerate(ranked)]


def by_definition(ranked: list[str], expected: list[str], k: int) -> float:
    """Return the gain of the results divided by that of all relevances in descending order."""
    everything = sorted(set(ranked) | set(expected))
    best = sorted((int(key in expected) for key in everything), reverse=True)[:k]
    return discounted(first_seen(ranked, expected)[:k]) / discounted(best) if any(best) else 0.0


@given(RANKED, EXPECTED, CUT)
def test_ndcg_is_the_gain_divided_by_the_best_possible_gain(ranked: list[str], expected: list[str], k: int) -> None:
    assert ndcg(ranked, expected, k) == pytest.approx(by_definition(ranked, expected, k), abs=1e-12)


@given(RANKED, EXPECTED, CUT)
def test_the_reciprocal_rank_is_that_of_the_first_expected_result(
    ranked: list[str], expected: list[str], k: int
) -> None:
    places = sorted(place for key in set(expected) for place, found in enumerate(ranked, 1) if found == key)
    within = [place for place in places if place <= k]
    assert reciprocal_rank(ranked, expected, k) == (float(Fraction(1, within[0])) if within else 0.0)
