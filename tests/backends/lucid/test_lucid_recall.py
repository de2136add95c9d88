"""Recall: when the program runs, what its answer adds, and what happens when it fails."""

from __future__ import annotations

from functools import partial

import pytest
from support.lucid_program import write_program, write_saying
from support.memories import NotFound
from support.questions import EXCERPTS, Query
from support.recalls import contents, recalled
from support.stores import whole_entry

TEA = [{"key": f"tea{number}", "content": f"tea of kind {number}"} for number in range(4)]
LUCID = [("decision", "tea: green"), ("Visual, image", "tea cup"), ("bug", "tea spilt")]
CONTEXT = "<lucid-context>\n- [decision] a\n- [bug] b\n- [context] c\n</lucid-context>\n"


search = partial(recalled, query="tea", version="0.7.5")


async def test_lucid_adds_what_the_database_lacks(bridge, tmp_path):
    """Local rows come first, then lucid's, marked by stage and scored by rank; the note says what happened."""
    program = write_program(tmp_path / "bin", memories=LUCID)
    memory = await bridge(program, TEA[:2])
    found = await search(memory)
    added = [(row.entry.key, row.stage, row.rank) for row in found.entries[2:]]
    assert added == [(f"lucid_{number}", "lucid", number + 3) for number in range(3)]
    assert {row.stage for row in found.entries[:2]} == {"keyword"}
    assert [row.entry.category for row in found.entries[2:]] == ["core", "visual", "daily"]
    assert [row.score for row in found.entries[2:]] == pytest.approx([1.0, 0.95, 0.9])
    assert found.scale == "raw bm25; lucid by rank: 1.0, 0.95, 0.90 … 0.1"
    assert found.mode == "keyword"
    assert found.notes[0] == "Lucid was run and returned 3 memories."
    assert program.calls == [["context", "tea", "--budget=200", f"--project={tmp_path}/workspace"]]


@pytest.mark.parametrize(
    ("rows", "limit", "threshold", "asked"),
    [(2, 5, 3, True), (3, 5, 3, False), (2, 2, 3, False), (1, 2, 3, True), (4, 9, 5, True), (1, 5, 1, False)],
)
async def test_lucid_runs_only_for_too_few_local_hits(bridge, tmp_path, rows, limit, threshold, asked):
    """Lucid runs for fewer hits than the limit and the threshold; otherwise the note says why it did not."""
    program = write_program(tmp_path / "bin", memories=LUCID)
    memory = await bridge(program, TEA[:rows], local_hit_threshold=threshold)
    found = await search(memory, limit=limit)
    assert bool(program.calls) is asked
    assert len(found.entries) == (min(rows + 3, limit) if asked else rows)
    if not asked:
        hits = "1 local hit is" if rows == 1 else f"{rows} local hits are"
        assert found.notes == (f"Lucid was not run: {hits} enough.",)


async def test_lucid_pauses_for_15_seconds_after_a_failure(bridge, tmp_path, clock):
    """Local rows are still returned; the note gives the remaining seconds, after which lucid runs again."""
    program = write_program(tmp_path / "bin", "failing")
    memory = await bridge(program, TEA[:1])
    found = await search(memory)
    assert contents(found) == ["tea of kind 0"]
    assert "exit code 1: Error: the database ␛[31mis locked" in found.notes[0]
    clock.seconds += 3.5
    assert (await search(memory)).notes == ("Lucid was not run: it is paused for 12 s after a failure.",)
    assert len(program.calls) == 1
    clock.seconds += 11.5
    await search(memory)
    assert len(program.calls) == 2


@pytest.mark.parametrize(
    ("version", "query", "given", "found"),
    [("0.7.5", "*", "", 1), ("0.7.5", " ", "", 1), ("0.7.4", "*", "*", 0), ("0.7.4", " ", " ", 1)],
)
async def test_from_0_7_5_a_blank_query_runs_lucid_with_an_empty_task(bridge, tmp_path, version, query, given, found):
    """The real program refuses an empty task, so a pause follows, in ZeroClaw as well."""
    program = write_program(tmp_path / "bin")
    memory = await bridge(program, TEA[:1])
    assert len((await search(memory, query=query, version=version)).entries) == found
    assert [call[1] for call in program.calls] == [given]
    assert any("it is paused" in note for note in (await search(memory, query=query, version=version)).notes) is (
        given == ""
    )


async def test_agents_of_0_8_recall_without_lucid(bridge, tmp_path):
    """A recall for agents uses only the database; one without agents notes that no agent gets lucid's rows."""
    program = write_saying(tmp_path / "bin", CONTEXT)
    memory = await bridge(program, TEA[:1], "G4")
    scoped = await search(memory, version="0.8.4", agents=("default",))
    assert len(scoped.entries) == 1
    assert program.calls == []
    assert any("asks lucid only if no agent is named" in note for note in scoped.notes)
    unscoped = await search(memory, version="0.8.4")
    assert len(unscoped.entries) == 4
    assert any("its agents recall from the local database alone" in note for note in unscoped.notes)


@pytest.mark.parametrize(("namespace", "kept"), [("default", ["tea of kind 0", "a", "b"]), ("work", ["tea of kind 1"])])
async def test_a_namespace_is_filtered_from_twice_the_limit(bridge, tmp_path, namespace, kept):
    """Lucid's rows are in the default namespace."""
    program = write_saying(tmp_path / "bin", CONTEXT)
    memory = await bridge(program, [TEA[0], TEA[1] | {"namespace": "work"}])
    found = await search(memory, namespace=namespace, limit=3)
    assert contents(found) == kept
    assert [row.rank for row in found.entries] == list(range(1, len(kept) + 1))
    assert len(program.calls) == 1


@pytest.mark.parametrize(
    ("version", "until_", "count"),
    [("0.7.5", "2026-06-01T00:00:00Z", 1), ("0.7.5", None, 4), ("0.5.4", "2020-01-01", 4)],
)
async def test_time_bounds_apply_from_0_5_5_on(bridge, tmp_path, version, until_, count):
    """Lucid's rows have the current time."""
    memory = await bridge(write_saying(tmp_path / "bin", CONTEXT), TEA[:1])
    assert len((await search(memory, version=version, until=until_)).entries) == count


async def test_lucids_rows_can_be_read_until_the_next_recall(bridge, tmp_path):
    """They are read whole and as excerpts, together with rows of the database and in the requested order."""
    long = "x" * 1000
    memory = await bridge(write_saying(tmp_path / "bin", f"<lucid-context>\n- [bug] {long}\n</lucid-context>"), TEA[:1])
    local, lucid = (row.entry for row in (await search(memory)).entries)
    assert (await whole_entry(memory, lucid.handle)).content == long
    first, second = await memory.rows(Query(EXCERPTS, handles=[lucid.handle, local.handle]))
    assert (first.is_excerpt, long.startswith(first.content), second.content) == (True, True, "tea of kind 0")
    await search(memory, query="something else")
    with pytest.raises(NotFound):
        await whole_entry(memory, lucid.handle)
    assert (await memory.rows(Query(EXCERPTS, handles=[lucid.handle]))) == []
    assert await memory.get("lucid_0") is None
    assert await memory.count() == 1


async def test_a_copy_of_a_database_row_is_recalled_once(bridge, tmp_path):
    """A copy has the same key and content, ignoring case."""
    memory = await bridge(write_saying(tmp_path / "bin", CONTEXT), [{"key": "LUCID_1", "content": "B"}])
    assert contents(await search(memory, query="b")) == ["B", "a", "c"]
