"""Exact and near duplicates against models that compare everything with everything."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_texts import PLAIN
from support.small_store import blob

from zeroclaw_tui.curation import duplicates
from zeroclaw_tui.curation.clean_up import Finding, check_memories
from zeroclaw_tui.curation.duplicates import DuplicateFinder, Duplicates
from zeroclaw_tui.memory.text import WHITE_SPACE

WORDS = [f"{first}{last}" for first in ("ka", "lo", "mi", "tan", "ver") for last in ("ro", "sel", "dim", "pu", "xen")]


def _duplicates(rows: Sequence[tuple[str, str, bytes | None]]) -> Duplicates:
    """Of rows of an owner, a content and a vector."""
    finder = DuplicateFinder()
    for number, (owner, content, vector) in enumerate(rows):
        finder.add(owner, content, vector=vector, dimensions=None, rank=number)
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
    return sorted({tuple(sorted(group)) for group in map(frozenset, groups) if len(group) > 1}, key=list)  # type: ignore[arg-type]


blanks = st.text(alphabet=WHITE_SPACE + "\x1c", max_size=3)
bodies = st.sampled_from(["", "a", "a b", "A b", "a  b", "ä", "\x1f", "x" * 50])


@given(st.lists(st.tuples(st.sampled_from(["", "anna"]), blanks, bodies, blanks), max_size=12))
def test_exact_means_equal_after_trimming_within_one_owner(parts: list[tuple[str, str, str, str]]) -> None:
    rows = [(owner, lead + body + tail, None) for owner, lead, body, tail in parts]
    expected: dict[tuple[str, str], list[int]] = {}
    for at, (owner, content, _) in enumerate(rows):
        expected.setdefault((owner, content.strip(WHITE_SPACE)), []).append(at)
    assert _duplicates(rows).exact == sorted(group for group in expected.values() if len(group) > 1)


@given(st.integers(0, 10**9), st.integers(4, 60))
def test_near_duplicates_by_words_are_those_a_comparison_of_all_pairs_finds(seed: int, length: int) -> None:
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
def test_near_duplicates_by_vectors_are_those_of_all_cosines(seed: int, count: int) -> None:
    chance = random.Random(seed)
    numbers = [[chance.gauss(0, 1) for _ in range(3)] for _ in range(count)]
    owners = [chance.choice(["", "anna"]) for _ in range(count)]
    unit = numpy.array(numbers, dtype=numpy.float32)
    unit /= numpy.linalg.norm(unit, axis=1)[:, None]
    cosines = unit @ unit.T
    if (abs(cosines - duplicates.MIN_COSINE) < 1e-5).any():
        return
    linked = {
        (one, other)
        for one in range(count)
        for other in range(one)
        if owners[one] == owners[other] and cosines[one, other] >= duplicates.MIN_COSINE
    }
    rows = [
        (owner, f"{at} {at}", blob(*vector)) for at, (owner, vector) in enumerate(zip(owners, numbers, strict=True))
    ]
    found = _duplicates(rows)
    assert [tuple(group) for group in found.near] == _joined(count, linked)


def _edited(text: str) -> str:
    return text.replace("  ", " ") + " indeed"


LONG = [" ".join(PLAIN[at : at + 3]) for at in range(0, 12, 3)]


def test_owners_are_never_mixed_and_exact_ones_not_told_again() -> None:
    rows = [("a", LONG[0], None), ("b", LONG[0], None), ("a", f" {LONG[0]} ", None), ("a", LONG[1], None)]
    found = _duplicates(rows)
    assert (found.exact, found.near) == ([[0, 2]], [])
    # The near ones are told beside one of the exact ones, the newest.
    found = _duplicates([*rows, ("a", _edited(LONG[0]), None), ("b", _edited(LONG[1]), None)])
    assert (found.exact, found.near) == ([[0, 2]], [[2, 4]])


def test_vectors_decide_where_both_have_one_and_words_where_one_lacks_it() -> None:
    here, there = blob(1, 0), blob(0, 1)
    assert _duplicates([("", LONG[0], here), ("", _edited(LONG[0]), there)]).near == []
    assert _duplicates([("", LONG[0], here), ("", LONG[1], here)]).near == [[0, 1]]
    assert _duplicates([("", LONG[0], here), ("", _edited(LONG[0]), None)]).near == [[0, 1]]
    assert _duplicates([("", LONG[0], here), ("", _edited(LONG[0]), blob(0, 1, 0))]).near == [[0, 1]]
    assert _duplicates([("", LONG[0], blob(0, 0)), ("", _edited(LONG[0]), blob(0, 0))]).near == [[0, 1]]


def test_beyond_the_cap_words_are_compared_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates, "MAX_VECTORS", 2)
    rows = [
        ("", LONG[0], blob(1, 0)),
        ("", LONG[1], blob(1, 0)),
        ("", LONG[2], blob(1, 0)),
        ("", _edited(LONG[2]), blob(0, 1)),
    ]
    found = _duplicates(rows)
    assert found.near == [[0, 1], [2, 3]]
    assert found.left_out.startswith("2 vectors beyond the first")


def test_languages_without_blanks_and_texts_of_one_word() -> None:
    chinese = "我们昨天在北京的一家小饭馆里吃了非常好吃的花生和面条还喝了一点儿热茶"
    found = _duplicates([("", chinese, None), ("", chinese.replace("昨天", "前天"), None), ("", chinese[::-1], None)])
    assert found.near == [[0, 1]]
    assert _duplicates([("", "Hello!", None), ("", "hello", None), ("", "hallo", None)]).near == [[0, 1]]
    assert _duplicates([("", "!!!", None), ("", "???", None), ("", "🦀", None)]).near == []


def test_a_thousand_alike_are_one_group_and_take_no_million_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates, "MAX_COMPARISONS", 1000)
    texts = [f"{LONG[0]} {LONG[1]} {LONG[2]} the number of it is {number}" for number in range(1000)]
    found = _duplicates([("", text, None) for text in texts])
    assert found.near == [list(range(1000))]
    assert found.left_out == ""


def test_too_much_half_alike_is_said_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts that share a part, but too little of it."""
    monkeypatch.setattr(duplicates, "MAX_COMPARISONS", 100)
    chance = random.Random(1)
    texts = [f"{LONG[0]} {' '.join(chance.choices(WORDS, k=14))}" for _ in range(400)]
    assert "Not all memories were compared" in _duplicates([("", text, None) for text in texts]).left_out


async def test_the_report_names_groups_by_their_places(opened: Any) -> None:
    rows = [{"content": text} for text in (LONG[0], LONG[1], _edited(LONG[0]), LONG[1], LONG[2], f"{LONG[1]}\n")]
    for store in ("G1", "G2", "G3", "G4", "in-memory"):
        report = await check_memories(await opened(store, rows))
        exact, near = report.finding("exact duplicates"), report.finding("near duplicates")
        assert isinstance(exact, Finding)
        assert isinstance(near, Finding)
        assert [sample.stamp.id for sample in exact.samples] == ["id-001", "id-003", "id-005"]
        assert exact.groups == ((0, 1, 2),)
        assert [sample.stamp.id for sample in near.samples] == ["id-000", "id-002"]
        assert near.groups == ((0, 1),)
        assert near.samples[0].remark == near.samples[1].remark == "96 % alike"
        assert near.is_whole


async def test_what_is_left_out_is_told_in_the_finding(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates, "MAX_VECTORS", 2)
    rows = [{"content": PLAIN[at], "embedding": blob(1, 0)} for at in range(3)]
    near = (await check_memories(await opened("G2", rows))).finding("near duplicates")
    assert near is not None
    assert not near.is_whole
    assert "1 vector" in near.remark
