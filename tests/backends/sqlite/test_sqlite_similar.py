"""Similar texts are found by the rare words that they share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.planted_texts import planted
from support.small_store import make

from zeroclaw_tui.backends.sqlite.store import SqliteMemory


async def nearest(path: Path, text: str, limit: int) -> tuple[list[Any], int]:
    memory = SqliteMemory(path)
    await memory.open()
    try:
        near = await memory.near(text, limit)
        assert near is not None
        return [(each.handle, each.score) for each in near.neighbours], near.compared
    finally:
        await memory.close()


async def handles(path: Path, text: str, limit: int = 5) -> list[Any]:
    found, _ = await nearest(path, text, limit)
    return [handle for handle, _ in found]


async def test_planted_texts_are_found_among_thousands(tmp_path: Path) -> None:
    texts, places = planted(3_000, near=5)
    path = make(tmp_path / "brain.db", "G2", [{"id": str(at), "content": text} for at, text in enumerate(texts)])
    found, compared = await nearest(path, texts[0], 6)
    assert sorted(handle - 1 for handle, _ in found) == [0, *places]
    assert compared == 3_000
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)
    assert 0 < scores[-1] <= scores[0] <= 1


async def test_a_script_without_blanks_is_compared_by_pairs_of_letters(tmp_path: Path) -> None:
    path = make(
        tmp_path / "brain.db", "G2", [{"content": "我喜欢吃寿司"}, {"content": "天气"}, {"content": "寿司很贵"}]
    )
    assert set(await handles(path, "寿司")) == {1, 3}
