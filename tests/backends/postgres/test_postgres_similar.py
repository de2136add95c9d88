"""Similar texts are found by the words of the server."""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg
from support.planted_texts import planted
from support.postgres_place import PostgresPlace


async def fill(place: PostgresPlace, contents: Sequence[str]) -> None:
    """Rows with these contents, the first stored first, in a table with ZeroClaw's indexes."""
    place.make_table("key")
    connection = await asyncpg.connect(place.url)
    await connection.executemany(
        "INSERT INTO memories VALUES ($1, $2, $3, 'core', now(), now() + $4 * interval '1 second')",
        [(f"id-{at:05}", f"key {at}", content, at) for at, content in enumerate(contents)],
    )
    await connection.close()


async def test_planted_texts_are_found_among_thousands(place, opens):
    texts, places = planted(3_000, near=5)
    await fill(place, texts)
    memory = await opens()
    found, compared = await memory.near(texts[0], 6)
    assert sorted(int(near.handle.removeprefix("id-")) for near in found) == [0, *places]
    assert compared == 3_000
    scores = [near.score for near in found]
    assert scores == sorted(scores, reverse=True)
    assert 0 < scores[-1] <= scores[0] <= 1


async def test_a_script_without_blanks_is_compared_by_pairs_of_letters(place, opens):
    await fill(place, ["我喜欢吃寿司", "天气", "寿司很贵"])
    found, _ = await (await opens()).near("寿司", 5)
    assert {near.handle for near in found} == {"id-00000", "id-00002"}
