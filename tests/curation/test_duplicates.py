"""Exact and near duplicates against models that compare everything with everything."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy
from hypothesis import given
from hypothesis import strategies as st

from zeroclaw_tui.curation import duplicates
from zeroclaw_tui.curation.duplicates import DuplicateFinder, Duplicates
from zeroclaw_tui.memory.text import WHITE_SPACE

Array = numpy.ndarray[Any, numpy.dtype[Any]]
WORDS = [f"{first}{last}" for first in ("ka", "lo", "mi", "tan", "ver") for last in ("ro", "sel", "dim", "pu", "xen")]


def unit(*numbers: float) -> Array:
    """A vector of the length 1."""
    vector = numpy.array(numbers, dtype=numpy.float32)
    return (vector / numpy.linalg.norm(vector)).astype(numpy.float32)


def _duplicates(rows: Sequence[tuple[str, str, Array | None]]) -> Duplicates:
    """The duplicates among rows of an owner, a content and a vector."""
    finder = DuplicateFinder()
    for number, (owner, content, vector) in enumerate(rows):
        finder.add(number, owner, content, vector)
    return finder.find(lambda: None)


def _pairs(content: str) -> frozenset[tuple[str, ...]]:
    words = re.findall(r"[^\W]+", content.lower())
    return frozenset(pairwise(words)) if len(words) > 1 else frozenset((word,) for word in words)


def _shared(one: str, other: str) -> float:
    first, second = _pairs(one), _pairs(other)
    return len(first & second) / len(first | second) if first | second else 0.0


def _joined(count: int, linked: set[tuple[int, int]]) -> list[list[int]]:
    """The model of groups: everything that is linked, over others or not."""
    groups = [{number} for number in range(count)]
    for one, other in linked:
        first, second = groups[one], groups[other]
        if first is not second:
            first |= second
            for number in second:
                groups[number] = first
    return sorted({tuple(sorted(group)) for group in map(frozenset, groups) if len(group) > 1}, key=list)


blanks = st.text(alphabet=WHITE_SPACE + "\x1c", max_size=3)
bodies = st.sampled_from(["", "a", "a b", "A b", "a  b", "ä", "\x1f", "x" * 50])


@given(st.lists(st.tuples(st.sampled_from(["", "anna"]), blanks, bodies, blanks), max_size=12))
def test_exact_means_equal_after_trimming_within_one_owner(parts):
    rows = [(owner, lead + body + tail, None) for owner, lead, body, tail in parts]
    expected: dict[tuple[str, str], list[int]] = {}
    for at, (owner, content, _) in enumerate(rows):
        expected.setdefault((owner, content.strip(WHITE_SPACE)), []).append(at)
    assert _duplicates(rows).exact == sorted(group for group in expected.values() if len(group) > 1)


@given(st.integers(0, 10**9), st.integers(4, 60))
def test_near_duplicates_by_words_are_those_a_comparison_of_all_pairs_finds(seed, length):
    """Every group hangs together by pairs of 80 %; pairs of 90 % are never missed."""
    chance = random.Random(seed)
    texts = [" ".join(chance.choices(WORDS, k=length)) for _ in range(4)]
    for text in [*texts, *texts]:
        words = text.split()
        for _ in range(chance.randrange(3)):
            words[chance.randrange(len(words))] = chance.choice(WORDS)
        texts.append(" ".join(words))
    texts = list(dict.fromkeys(texts))
    found = _duplicates([("", text, None) for text in texts])
    assert not found.exact
    count = len(texts)
    every = [(one, other) for one in range(count) for other in range(one)]
    at_80 = _joined(
        count, {pair for pair in every if _shared(texts[pair[0]], texts[pair[1]]) >= duplicates.MIN_SHARED_WORDS}
    )
    at_90 = _joined(count, {pair for pair in every if _shared(texts[pair[0]], texts[pair[1]]) >= 0.9})
    groups = [set(group) for group in found.near]
    assert all(any(group <= set(whole) for whole in at_80) for group in groups)
    assert all(any(set(sure) <= group for group in groups) for sure in at_90)
    for group in found.near:
        for number in group:
            best = max(_shared(texts[number], texts[other]) for other in group if other != number)
            assert duplicates.MIN_SHARED_WORDS <= found.likeness[number] <= best + 1e-6


@given(st.integers(0, 10**9), st.integers(2, 40))
def test_near_duplicates_by_vectors_are_those_of_all_cosines(seed, count):
    chance = random.Random(seed)
    numbers = [[chance.gauss(0, 1) for _ in range(3)] for _ in range(count)]
    owners = [chance.choice(["", "anna"]) for _ in range(count)]
    matrix = numpy.array(numbers, dtype=numpy.float32)
    matrix /= numpy.linalg.norm(matrix, axis=1)[:, None]
    cosines = matrix @ matrix.T
    if (abs(cosines - duplicates.MIN_COSINE) < 1e-5).any():
        return
    linked = {
        (one, other)
        for one in range(count)
        for other in range(one)
        if owners[one] == owners[other] and cosines[one, other] >= duplicates.MIN_COSINE
    }
    rows = [
        (owner, f"{at} {at}", unit(*vector)) for at, (owner, vector) in enumerate(zip(owners, numbers, strict=True))
    ]
    found = _duplicates(rows)
    assert [tuple(group) for group in found.near] == _joined(count, linked)


def _edited(text: str) -> str:
    return text.replace("  ", " ") + " indeed"


LONG = (
    "Anna planted three apple trees behind the old barn and the ferry to the island leaves at half past seven",
    "Our second printer jams whenever the paper is damp while the market sells fresh goat cheese every Thursday",
    "A spare bicycle pump hangs next to the garage door and grandfather tells the story of the frozen lake again",
)


def test_vectors_decide_where_both_have_one_and_words_where_one_lacks_it():
    here, there = unit(1, 0), unit(0, 1)
    assert _duplicates([("", LONG[0], here), ("", _edited(LONG[0]), there)]).near == []
    assert _duplicates([("", LONG[0], here), ("", LONG[1], here)]).near == [[0, 1]]
    assert _duplicates([("", LONG[0], here), ("", _edited(LONG[0]), None)]).near == [[0, 1]]
    assert _duplicates([("", LONG[0], here), ("", _edited(LONG[0]), unit(0, 1, 0))]).near == [[0, 1]]


def test_a_thousand_alike_are_one_group():
    texts = [f"{LONG[0]} {LONG[1]} {LONG[2]} the number of it is {number}" for number in range(1000)]
    assert _duplicates([("", text, None) for text in texts]).near == [list(range(1000))]
    beam = unit(1, 0.01)
    assert _duplicates([("", f"{at} {at}", beam) for at in range(1000)]).near == [list(range(1000))]
