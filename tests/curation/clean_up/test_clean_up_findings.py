"""Each finding names exactly the memories it is about, on every store."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest
from plain_texts import PLAIN
from support.opened import opened_at
from support.small_store import blob

from zeroclaw_tui.backends.lookup import versions
from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation.clean_up import CleanUpReport, FindingKind, check_memories
from zeroclaw_tui.memory.errors import SearchInterrupted
from zeroclaw_tui.memory.text import one_line

STORES = ("G1", "G2", "G3", "G4", "in-memory")

ALONE: dict[FindingKind, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
    "assistant replies": (
        [{"key": "assistant_resp"}, {"key": "assistant_resp_4f"}, {"key": "Assistant_Resp_X"}],
        [{"key": "assistant_response_style"}, {"key": "my_assistant_resp"}, {"key": "assistant"}],
    ),
    "recall blobs": (
        [{"content": f"{PLAIN[0]} [Memory context]\n- a: b"}, {"content": f"[Memory context] {PLAIN[1]}"}],
        [{"content": f"{PLAIN[2]} memory context"}, {"content": f"[Memory] {PLAIN[3]}"}],
    ),
    "tool results": (
        [{"content": f'<tool_result name="shell">{PLAIN[0]}</tool_result>'}, {"content": f"{PLAIN[1]} <tool_result"}],
        [{"content": f"{PLAIN[2]} tool_result"}, {"content": f"{PLAIN[3]} <tool>"}],
    ),
    "heartbeat and cron": (
        [
            {"content": f"[cron:7 daily] {PLAIN[0]}"},
            {"content": f"  [Heartbeat Task | high] {PLAIN[1]}"},
            {"content": f"[distilled_memory] {PLAIN[2]}"},
            {"content": f"{PLAIN[3]} DISTILLED_index_sig:77"},
        ],
        [{"content": f"{PLAIN[4]} [cron:7]"}, {"content": f"cron: {PLAIN[5]}"}, {"content": f"heartbeat {PLAIN[6]}"}],
    ),
    "too short": (
        [{"content": text} for text in ("nineteen characters", "  ok  \u2003\n" + " " * 40, "", "é" * 19)],
        [{"content": "twenty characters it"}, {"content": "🦀" * 20}],
    ),
    "too long": (
        [{"content": "ab c" * 1000 + "x"}],
        [{"content": "ab d" * 1000}, {"content": "ä€🦀 " * 1000}],
    ),
    "hidden text": (
        [
            {"content": f"{PLAIN[0]}\U000e0041\U000e0042"},
            {"content": f"pass\u200bword of {PLAIN[1]}"},
            {"content": f"{PLAIN[2]}\u3164"},
            {"content": f"\u202e{PLAIN[3]}"},
            {"key": "na\u00adme"},
        ],
        [
            {"content": f"{PLAIN[4]} 👩‍🚀❤️"},
            {"content": "می‌خواهم کتاب‌ها را بخوانم و بنویسم"},
            {"content": f"\ufeff{PLAIN[5]}\u00a0!"},
            {"content": f"שלום\u200f! {PLAIN[6]}"},
        ],
    ),
    "empty keys": ([{"key": ""}, {"key": " \t"}], [{"key": "0"}, {"key": "_"}]),
}  # fmt: skip


def _ids(report: CleanUpReport, kind: FindingKind) -> list[str]:
    finding = report.finding(kind)
    return [] if finding is None else [sample.stamp.id for sample in finding.samples]


@pytest.mark.parametrize("store", STORES)
async def test_a_memory_tells_by_itself_what_it_is(opened: Any, store: str) -> None:
    cases = [
        (kind, is_guilty, row)
        for kind, both in ALONE.items()
        for is_guilty in (True, False)
        for row in both[not is_guilty]
    ]
    rows = [
        {
            "key": f"k{at}",
            "content": f"{PLAIN[at % len(PLAIN)]} {PLAIN[-1 - at % len(PLAIN)]}",
            **row,
            "id": f"{kind if is_guilty else 'no'}-{at}",
        }
        for at, (kind, is_guilty, row) in enumerate(cases)
    ]
    report = await check_memories(await opened(store, rows))
    assert report.rows == len(rows)
    assert report.size == sum(len(row["content"].encode()) for row in rows)
    for kind in ALONE:
        guilty = [row for row in rows if row["id"].startswith(f"{kind}-")]
        assert _ids(report, kind) == [row["id"] for row in guilty]
        finding = report.finding(kind)
        assert finding is not None
        assert finding.size == sum(len(row["content"].encode()) for row in guilty)
        assert finding.remark.endswith(".")


async def test_a_memory_may_be_in_several_findings_and_superseded_ones_count(opened: Any) -> None:
    rows = [{"key": "assistant_resp_1", "content": "<tool_result", "superseded_by": "x"}]
    report = await check_memories(await opened("G4", rows))
    assert {finding.kind for finding in report.findings} == {"assistant replies", "tool results", "too short"}


async def test_the_most_bytes_come_first_and_an_empty_store_has_no_findings(opened: Any) -> None:
    rows = [{"content": "short"}, {"content": f"[cron:1] {PLAIN[0]}"}, {"key": "", "content": "x y " * 3000}]
    report = await check_memories(await opened("G1", rows))
    sizes = [finding.size for finding in report.findings]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == 12000
    assert (await check_memories(await opened("G3", []))).findings == ()


async def test_stamps_of_findings_are_those_of_the_store(opened: Any) -> None:
    """What is found can be removed: every stamp has the state the store itself gives it."""
    from zeroclaw_tui.testing.tools import EVERY

    rows = [{"content": text} for text in ("short", "same text of two memories", "same text of two memories ", "ß" * 9)]
    for store in STORES:
        library = await opened(store, rows)
        expected = {stamp.id: stamp for stamp in await versions(library.memory, EVERY)}
        report = await check_memories(library)
        found = [stamp for finding in report.findings for stamp in finding.stamps]
        assert len(found) == 4
        assert all(expected[stamp.id] == stamp for stamp in found)


VECTORS = {
    "good": (blob(1, 0, 0), ""),
    "good too": (blob(0, 1, -0.5), ""),
    "and this": (blob(0, 0.1, 0.9), ""),
    "none": (None, ""),
    "longer": (blob(1, 0, 0, 0), "4 numbers instead of 3"),
    "zeros": (blob(0, -0.0, 0), "all zeros"),
    "not a number": (blob(0, math.nan, 1), "invalid numbers"),
    "infinite": (blob(math.inf, 0, 1), "invalid numbers"),
    "cut": (blob(1, 0, 0)[:-1], "a truncated vector"),
    "empty": (b"", "an empty vector"),
}


def _with_vectors() -> list[dict[str, Any]]:
    return [
        {"id": name, "key": name, "content": PLAIN[at], "embedding": vector}
        for at, (name, (vector, _)) in enumerate(VECTORS.items())
    ]


@pytest.mark.parametrize("generation", ["G1", "G4"])
async def test_vectors_that_fit_no_query_are_found(opened: Any, generation: str) -> None:
    """Without an embedder the length that most have is the right one."""
    report = await check_memories(await opened(generation, _with_vectors()))
    finding = report.finding("stale vectors")
    assert finding is not None
    told = {sample.stamp.id: sample.remark for sample in finding.samples}
    assert told == {name: remark for name, (_, remark) in VECTORS.items() if remark}


async def test_the_configured_length_counts_where_there_is_an_embedder(opened: Any) -> None:
    library = await opened("G4", _with_vectors(), dimensions=4)
    assert library.embedder is not None
    told = _ids(await check_memories(library), "stale vectors")
    assert "longer" not in told
    assert {"good", "good too", "and this"} <= set(told)


async def test_two_lengths_of_one_count_tell_nothing(opened: Any) -> None:
    rows = [{"embedding": blob(1, 0)}, {"embedding": blob(0, 1, 0)}]
    assert (await check_memories(await opened("G2", rows))).finding("stale vectors") is None


async def test_an_excerpt_is_one_line_that_can_be_cleaned_for_any_screen(opened: Any) -> None:
    rows = [{"content": "\x1b[2J\x07 a\r\nb \u202e"}]
    report = await check_memories(await opened("G2", rows))
    for sample in report.findings[0].samples:
        assert one_line(sample.excerpt).isprintable()
        assert "\n" not in sample.excerpt


async def test_progress_rises_to_all_rows_and_a_no_ends_it(opened: Any) -> None:
    library = await opened("G4", [{"content": f"memory number {at} of many"} for at in range(900)])
    told: list[int] = []

    def going(done: int) -> bool:
        told.append(done)
        return True

    await check_memories(library, going)
    assert told == sorted(told)
    assert told[-1] == 900
    assert len(told) > 3

    def enough(done: int) -> bool:
        return done < 400

    with pytest.raises(SearchInterrupted):
        await check_memories(library, enough)


async def test_cancelling_ends_the_pass(opened: Any) -> None:
    library = await opened("G2", [{"content": f"memory number {at} of many"} for at in range(2000)])
    seen: list[int] = []
    looking: asyncio.Task[CleanUpReport]
    loop = asyncio.get_running_loop()

    def cancelled(done: int) -> bool:
        seen.append(done)
        if len(seen) == 1:
            loop.call_soon_threadsafe(looking.cancel)
            while not looking.cancelling():
                pass
        return True

    looking = asyncio.ensure_future(check_memories(library, cancelled))
    with pytest.raises(asyncio.CancelledError):
        await looking
    assert max(seen) < 2000


async def test_markdown_notes_are_looked_at_too(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    lines = ["ok", PLAIN[0], PLAIN[0], f"[cron:1] {PLAIN[1]}", "password=hunter2hunter2 is the one"]
    (tmp_path / "MEMORY.md").write_text("# Long-Term Memory\n\n" + "".join(f"- {line}\n" for line in lines))
    async with opened_at(OpenOptions(path=tmp_path, backend="markdown")) as library:
        report = await check_memories(library)
    counts = {finding.kind: finding.count for finding in report.findings}
    assert counts == {"too short": 1, "exact duplicates": 2, "heartbeat and cron": 1, "secrets": 1}
