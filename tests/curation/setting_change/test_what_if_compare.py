"""Two recalls side by side: who enters the prompt, who leaves it, and what is recalled no longer or only now."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import RecallRequest, RecallResult, ScoredEntry
from zeroclaw_tui.scoring.what_if import compare


def recalled(*rows: tuple[str, bool]) -> RecallResult:
    results = [
        ScoredEntry(
            MemoryEntry(id=id_, key=f"key {id_}", content="c", category="core", timestamp=""),
            rank,
            1 / rank,
            injected=is_injected,
        )
        for rank, (id_, is_injected) in enumerate(rows, 1)
    ]
    request = RecallRequest("tea")
    return RecallResult(request, "sqlite", "/x", "0.8.4", "assumed", "keyword", (0.7, 0.3), 0.4, "0..1", tuple(results))


def test_each_memory_moves_as_its_places_say() -> None:
    comparison = compare(
        recalled(("stays in", True), ("leaves", True), ("gone", False), ("gone and out", True), ("enters", False)),
        recalled(("enters", True), ("stays in", True), ("new", False), ("leaves", False), ("new and in", True)),
    )
    moves = {row.result.entry.id: row.move for row in comparison.rows}
    assert moves == {
        "enters": "enters",
        "stays in": "stays",
        "new": "new",
        "leaves": "leaves",
        "new and in": "enters",
        "gone": "gone",
        "gone and out": "leaves",
    }


def test_rows_stand_in_the_later_order_and_then_what_is_gone() -> None:
    comparison = compare(
        recalled(("a", True), ("b", True), ("c", False), ("d", False)), recalled(("c", True), ("a", False))
    )
    places = [(row.result.entry.id, row.rank_before, row.rank_after) for row in comparison.rows]
    assert places == [("c", 3, 1), ("a", 1, 2), ("b", 2, None), ("d", 4, None)]
    assert comparison.rows[0].result.rank == 1
    assert comparison.rows[2].result.rank == 2


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ([("a", True), ("b", True)], [("a", True), ("c", True), ("d", True)], "injected 2 → 3, 2 enter, 1 leaves"),
        ([("a", True), ("b", True)], [("a", True), ("b", True), ("c", True)], "injected 2 → 3, 1 enters"),
        ([("a", True), ("b", True)], [("a", False), ("b", False)], "injected 2 → 0, 2 leave"),
        ([("a", True), ("b", True)], [("b", True), ("a", True)], "injected 2 → 2, the same ones"),
        ([("a", True)], [("b", True)], "injected 1 → 1, 1 enters, 1 leaves"),
        ([("a", False)], [("a", False)], "injected 0 → 0"),
        ([], [], "injected 0 → 0"),
    ],
)  # fmt: skip
def test_the_words_count_who_enters_and_who_leaves(
    before: Sequence[tuple[str, bool]], after: Sequence[tuple[str, bool]], words: str
) -> None:
    assert compare(recalled(*before), recalled(*after)).words == words


def test_two_memories_of_one_key_are_two() -> None:
    """Agents may hold the same key; the id tells them apart."""
    before, after = recalled(("one", True), ("two", False)), recalled(("two", True), ("one", False))
    assert {row.result.entry.id: row.move for row in compare(before, after).rows} == {"one": "leaves", "two": "enters"}
