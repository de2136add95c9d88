"""Recall works as in R-Mem, including its faults."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import pytest
from support import recalls
from support.recalls import contents
from support.rmem_file import BEES_KEY, BREAD_KEY, WHITE_KEY, RMemFile, vector
from support.rules import StoreRecall
from support.stores import sentences

from zeroclaw_tui.backends.rmem import RMemMemory, keyword_expression
from zeroclaw_tui.scoring.stages import plain_cosines

BREAD_VECTOR, NOBODYS_VECTOR = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


async def recalled(
    memory: RMemMemory,
    query: str,
    numbers: Sequence[float] | None = BREAD_VECTOR,
    limit: int = 10,
    user: str | None = None,
) -> StoreRecall:
    """Recall with this query vector."""
    asked = None if numbers is None else np.array(numbers, dtype=np.float32)
    return await recalls.recalled(memory, query, vector=asked, limit=limit, namespace=user, layer="store")


def shown(found: StoreRecall) -> list[tuple[str, float | None]]:
    """Return keys and scores in order."""
    return [(one.entry.key, None if one.score is None else round(one.score, 3)) for one in found.entries]


async def test_only_hits_of_the_keyword_stage_are_ranked(memory):
    found = await recalled(memory, "rye bread")
    assert shown(found) == [(BREAD_KEY, 1.0)]
    assert found.entries[0].source == "active"
    assert {one.stage for one in found.entries} == {"rmem"}


async def test_archived_texts_are_recalled_when_all_scores_are_low(memory):
    found = await recalled(memory, "bees", NOBODYS_VECTOR)
    assert shown(found) == [(WHITE_KEY, 0.11), (BEES_KEY, 0.0)]
    assert [one.source for one in found.entries] == ["archive", "active"]


async def test_a_relation_always_scores_nine_tenths(memory):
    """It ranks above a memory with a cosine of 0 and below one with a cosine of 1."""
    found = await recalled(memory, "honey")
    assert [(one.entry.kind, one.source) for one in found.entries][1] == ("semantic:relation", "graph")
    assert shown(found)[0] == (BREAD_KEY, 1.0)
    assert found.entries[1].score == pytest.approx(0.9)
    assert found.entries[1].vector_score is None


@pytest.mark.parametrize("sign", ["?", "'", "("])
async def test_punctuation_that_fts5_cannot_parse_skips_the_keyword_stage(memory, sign):
    found = await recalled(memory, f"bread{sign}")
    assert len(found.entries) >= 2
    assert any("The keyword stage fails" in note for note in found.notes)


def test_words_of_at_least_three_bytes_are_searched():
    """ "hi" is ignored, one Chinese character is searched; blanks are those of Unicode."""
    assert keyword_expression("hi  the\u3000茶 oh\u2003rye") == "the OR 茶 OR rye"
    assert keyword_expression("a\x1cb") == "a\x1cb"
    assert keyword_expression("is it so") == ""


async def test_only_the_oldest_hits_are_ranked(tmp_path, opened):
    """With a limit of 2 the keyword stage stops after six rows, however well the seventh matches."""
    file = RMemFile(tmp_path / "rustmem.db")
    for number in range(7):
        file.add(f"{number:032x}", "mila", f"tea {number}", vector(*((0, 1, 0) if number == 6 else (1, number, 0))))
    memory = await opened(file)
    found = await recalled(memory, "tea", limit=2)
    assert contents(found) == ["tea 5", "tea 4"]
    assert contents(await recalled(memory, "tea", limit=3)) == ["tea 6", "tea 5", "tea 4"]


async def test_equal_scores_keep_the_order_of_the_rows(tmp_path, opened):
    file = RMemFile(tmp_path / "rustmem.db")
    for name in ("c", "a", "b"):
        file.add(name * 32, "mila", f"{name} tea", vector(0, 1, 0))
    assert contents(await recalled(await opened(file), "so")) == ["c tea", "a tea", "b tea"]


async def test_rows_without_vector_or_date_are_dropped_and_bad_vectors_score_0(tmp_path, opened):
    """A vector of another length, an empty one and a truncated one score 0."""
    file = RMemFile(tmp_path / "rustmem.db")
    file.add("0" * 32, "mila", "no vector", None)
    file.add("1" * 32, "mila", "no date", vector(0, 1, 0))
    file.run("UPDATE memories SET created_at = NULL WHERE text = 'no date'")
    for number, data in enumerate((vector(0, 1), b"", vector(0, 1, 0) + b"\0", vector(0, 0, 0)), 2):
        file.add(f"{number}" * 32, "mila", f"odd {number}", data)
    file.add("9" * 32, "mila", "fits", vector(0, 2, 0))
    found = await recalled(await opened(file), "so")
    assert [(one.entry.content, one.score) for one in found.entries] == [
        ("fits", 1.0), ("odd 2", 0.0), ("odd 3", 0.0), ("odd 4", 0.0), ("odd 5", 0.0)
    ]  # fmt: skip


async def test_a_memory_older_than_the_keyword_index_is_not_found_if_any_row_matches(tmp_path, opened):
    file = RMemFile(tmp_path / "rustmem.db")
    file.add("0" * 32, "mila", "tea, old", vector(0, 1, 0), indexed=False)
    file.add("1" * 32, "mila", "tea, new", vector(1, 0, 0))
    memory = await opened(file)
    assert contents(await recalled(memory, "tea")) == ["tea, new"]
    assert contents(await recalled(memory, "coffee")) == ["tea, old", "tea, new"]


async def test_a_new_memory_is_found_by_the_words_of_a_deleted_one(tmp_path, opened):
    file = RMemFile(tmp_path / "rustmem.db")
    file.add("0" * 32, "mila", "secret garden", vector(1, 0, 0))
    file.delete("0" * 32)
    file.add("1" * 32, "mila", "plain bread", vector(0, 1, 0))
    assert contents(await recalled(await opened(file), "garden")) == ["plain bread"]


async def test_a_text_that_supersedes_itself_is_dropped_and_others_stay(tmp_path, opened):
    file = RMemFile(tmp_path / "rustmem.db")
    for number, (text, numbers) in enumerate(
        [("same", (0, 1, 0)), ("same", (0, 1, 0)), ("other", (0, 1, 1)), ("same", (1, 1, 1))]
    ):
        file.add(f"{number}" * 32, "mila", text, vector(*numbers))
    assert contents(await recalled(await opened(file), "so")) == ["same", "other", "same"]


async def test_wildcards_in_the_query_match_relations(tmp_path, opened):
    """ "%" finds every relation, the most mentioned first and no invalid ones; punctuation is removed."""
    file = RMemFile(tmp_path / "rustmem.db")
    file.relate("mila", "Mila", "sells", "Honey", mentions=1)
    file.relate("mila", "Anna", "buys", "Wax", mentions=5)
    file.relate("mila", "Mila", "sold", "Jam", valid=0)
    memory = await opened(file)
    assert contents(await recalled(memory, "%%")) == ["Anna buys Wax", "Mila sells Honey"]
    assert contents(await recalled(memory, "h_ney?!")) == ["Mila sells Honey"]
    assert contents(await recalled(memory, "sells")) == []
    assert contents(await recalled(memory, "x")) == []
    assert contents(await recalled(memory, "a" * 50_001)) == []


async def test_one_user_is_searched_at_a_time(file, opened):
    """A single user is the default; several are searched in turn, with a note; an unknown user finds nothing."""
    file.add("a" * 32, "tom", "Tom bakes bread", vector(0, 1, 1))
    memory = await opened(file)
    both = await recalled(memory, "bread")
    assert contents(both) == ["Mila prefers rye bread", "Tom bakes bread"]
    assert any("2 users" in note for note in both.notes)
    assert any("2 users" in notice for notice in sentences(memory.about.notices))
    assert contents(await recalled(memory, "bread", user="tom")) == ["Tom bakes bread"]
    assert contents(await recalled(memory, "bread", user="nobody")) == []


async def test_without_a_query_vector_only_the_other_stages_run(memory):
    found = await recalled(memory, "honey bread", None)
    assert [(one.entry.content, one.source) for one in found.entries] == [
        ("Mila sells Honey", "graph"), ("Mila prefers rye bread", "active")
    ]  # fmt: skip
    assert found.entries[1].score is None
    assert any("R-Mem ranks nothing" in note for note in found.notes)
    other = await recalled(memory, "bread", (0.0, 1.0))
    assert other.entries[0].score is None


def test_the_cosine_equals_that_of_a_loop_over_32_bit_numbers():
    """Each product, sum and root is rounded to 32 bits, in order."""

    def rounded(value):
        return float(struct.unpack("<f", struct.pack("<f", value))[0])

    def loop(one, other):
        dot = left = right = 0.0
        for a, b in zip(one, other, strict=True):
            dot = rounded(dot + rounded(a * b))
            left, right = rounded(left + rounded(a * a)), rounded(right + rounded(b * b))
        return rounded(dot / rounded(rounded(left**0.5) * rounded(right**0.5)))

    random = np.random.default_rng(7)
    rows = random.normal(size=(20, 768)).astype(np.float32)
    query = random.normal(size=768).astype(np.float32)
    expected = [loop(query.tolist(), row.tolist()) for row in rows]
    assert plain_cosines(query, rows).tolist() == expected
