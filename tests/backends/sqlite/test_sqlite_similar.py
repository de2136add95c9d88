"""What SQLite's keyword index tells is what reading every memory tells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.small_store import change, make

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.sqlite import counts
from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.scoring.neighbours import LOOKED_AT

ODD = (
    "Crème brûlée, CRÈME", "creme brulee", "我喜欢吃寿司 and tea", "it’s “tea” — with milk… 🍵", "straße STRASSE",
    "", " \t", "!?", "snake_case tea", "x²  ½ tea", "İstanbul tea", "tea\0 behind it", "te\u0301a",
    "x " * LOOKED_AT + "tea", "tea tea TEA", "\ufe0ftea", "naïve\u00a0tea",
)  # fmt: skip
WORDS = ("tea", "milk", "sugar", "the", "Rust", "x", "creme", "07", "strasse", "snake")
CONTENTS = st.one_of(st.sampled_from(ODD), st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join))
ROWS = st.lists(
    st.fixed_dictionaries({"content": CONTENTS, "superseded_by": st.sampled_from([None, None, None, "id-000"])}),
    min_size=1, max_size=30,
)  # fmt: skip


async def both(path: Path, asked: str, limit: int, without: int | None) -> tuple[Any, Any]:
    memory = SqliteMemory(path)
    await memory.open()
    try:
        by_index = await memory.nearest_by_words(asked, limit, without)
        by_reading = await Memory.nearest_by_words(memory, asked, limit, without)
        return by_index, by_reading
    finally:
        await memory.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS, CONTENTS, st.integers(1, 8), st.one_of(st.none(), st.integers(1, 30)))
async def test_the_index_tells_what_reading_all_tells(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    rows: list[dict[str, Any]],
    asked: str,
    limit: int,
    without: int | None,
) -> None:
    """Two texts are read at a time, as of a million four hundred are."""
    monkeypatch.setattr(counts, "_READ_AT_FIRST", 1)
    monkeypatch.setattr(counts, "_AT_ONCE", 2)
    path = make(tmp_path_factory.mktemp("near") / "brain.db", "G4", rows)
    by_index, by_reading = await both(path, asked, limit, without)
    assert by_index == by_reading


async def test_among_thousands_only_the_best_are_read_and_are_the_same(tmp_path: Path) -> None:
    rows = [
        {"id": str(number), "content": f"the note {number % 7} of {number % 400} and {number % 31} {number // 3}"}
        for number in range(3000)
    ]
    path = make(tmp_path / "brain.db", "G2", rows)
    for asked in (rows[1234]["content"], "the note", "of 399 and 30", "nobody says this"):
        by_index, by_reading = await both(path, asked, 20, 1235)
        assert by_index == by_reading


@pytest.mark.parametrize("statement", [
    "DROP TRIGGER memories_ai",
    "DELETE FROM memories_fts_docsize WHERE id = 1",
    "UPDATE memories_fts_data SET block = x'00' WHERE id > 10",
])  # fmt: skip
async def test_without_a_sound_index_every_memory_is_read(tmp_path: Path, statement: str) -> None:
    path = make(tmp_path / "brain.db", "G2", [{"content": "milk and tea"}, {"content": "tea"}, {"content": "rust"}])
    change(path, statement)
    by_index, by_reading = await both(path, "tea", 5, None)
    assert by_index == by_reading
    assert [handle for handle, _ in by_index.nearest] == [2, 1]


@pytest.mark.parametrize("few", [0, 10_000])
async def test_where_words_are_too_many_to_count_it_says_that_it_is_approximate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """Of few texts all are read instead."""
    monkeypatch.setattr(counts, "_MOST_COUNTED", 50)
    monkeypatch.setattr(counts, "_MOST_GUESSED", 300)
    monkeypatch.setattr(counts, "FEW", few)
    contents = [f"note{number % 5} of {' '.join(f'{number}x{at}' for at in range(8))}" for number in range(1500)]
    contents[700] = f"{contents[699]} again"
    path = make(tmp_path / "brain.db", "G2", [{"content": content} for content in contents])
    by_index, by_reading = await both(path, contents[699], 5, 700)
    assert by_index.is_approximate is (few == 0)
    assert by_index.nearest[0] == by_reading.nearest[0] == (701, by_reading.nearest[0][1])
    assert [score for _, score in by_index.nearest] == [score for _, score in by_reading.nearest]
