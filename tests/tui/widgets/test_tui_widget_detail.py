"""The detail of one memory."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tui_widget_samples import HOSTILE, NOW, WidgetApp, hybrid_recall, memory, recalled, scored, shown

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import RecallResult, ScoredEntry, Stop
from zeroclaw_tui.tui.widgets.detail import MAX_SHOWN, MemoryDetail, PlainContent, origin_parts, score_lines


def _painted(app: WidgetApp) -> str:
    """The whole screen as text."""
    screen = app.screen
    lines = [[segment.text for segment in strip] for strip in screen._compositor.render_strips()]
    return "\n".join("".join(line).rstrip() for line in lines)


async def test_all_a_memory_has_is_shown_and_what_it_lacks_is_absent() -> None:
    detail = MemoryDetail()
    app = WidgetApp(detail)
    parts = {"session_id": "telegram_12345", "agent": "main", "namespace": "home", "kind": "semantic:fact"}
    numbers = {"importance": 0.7, "pinned": True, "embedding_dimensions": 1536, "superseded_by": "id-9"}
    text = "Allergic to peanuts.\n\n  - satay\n  - mole"
    facts = (
        "key_1 core · created 2026-03-02 09:14 (8 mo)", "updated 2026-04-01 10:00", "session telegram_12345",
        "agent main", "1536-d vector · 40 B", "◆ pinned", "importance 0.70", "kind semantic:fact",
        "→ superseded by id-9", "id id-1",
    )  # fmt: skip
    async with app.run_test(size=(60, 24)) as pilot:
        detail.now = NOW
        detail.show(memory(1, text, updated_at="2026-04-01T10:00:00Z", **parts, **numbers), None, None)
        await pilot.pause()
        painted = _painted(app)
        for words in facts:
            assert words in " ".join(painted.split())
        assert text.replace("  -", "   -") in painted
        detail.show(memory(2, "plain"), None, None)
        await pilot.pause()
        painted = _painted(app)
        for word in ("vector", "session", "agent", "pinned", "importance", "kind", "superseded", "final"):
            assert word not in painted


async def test_the_whole_of_an_excerpt_keeps_the_place_of_reading() -> None:
    detail = MemoryDetail()
    app = WidgetApp(detail)
    async with app.run_test(size=(60, 12)) as pilot:
        detail.show(memory(1, "line\n" * 50, is_excerpt=True), None, None)
        await pilot.pause()
        detail.focus()
        await pilot.press("j", "j", "j")
        place = detail.scroll_offset.y
        assert place == 3
        detail.show(memory(1, "line\n" * 80), None, None)
        await pilot.pause()
        assert detail.scroll_offset.y == place
        detail.show(memory(2, "line\n" * 80), None, None)
        await pilot.pause()
        assert detail.scroll_offset.y == 0


async def test_a_huge_memory_shows_its_beginning_and_says_how_much_more_there_is() -> None:
    content = "今日は " * 700_000
    detail = MemoryDetail()
    app = WidgetApp(detail)
    async with app.run_test(size=(60, 20)) as pilot:
        detail.show(memory(1, content), None, None)
        await pilot.pause()
        assert "今日は" in _painted(app)
        shown_text = "\n".join(shown(detail.query_one(PlainContent)))
        assert f"{len(content) - MAX_SHOWN:,} more characters" in shown_text


async def test_hostile_content_reaches_the_screen_as_plain_text() -> None:
    detail = MemoryDetail()
    app = WidgetApp(detail)
    parts = dict.fromkeys(("key", "category", "session_id", "agent", "kind", "namespace", "timestamp"), HOSTILE)
    entry = replace(memory(1, f"{HOSTILE}\n\n# {HOSTILE}"), **parts)
    result = scored(1, 0.5, stage=HOSTILE, stop=Stop("skip", HOSTILE))
    async with app.run_test(size=(100, 60)) as pilot:
        detail.show(entry, result, recalled([result], scale=HOSTILE))
        await pilot.pause()
        text = _painted(app)
        assert not [c for c in text if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160 or c in "\u202e\ud800"]
        assert "[bold]hi[/]" in text
        assert "␛" in text


def _sentences(result: ScoredEntry, recall: RecallResult) -> list[str]:
    return ["".join(text for text, _ in line) for line in score_lines(result, recall)]


def test_the_numbers_are_this_results_own() -> None:
    recall = hybrid_recall()
    assert _sentences(recall.results[0], recall) == [
        "final 0.86; x shows how it was made",
        "keyword: rank 2, bm25 4.31, 0.74 of the best",
        "vector: rank 1, cosine 0.91",
        "✓ injected as entry 1 of 3",
    ]
    assert _sentences(recall.results[3], recall)[-1] == "✗ not injected: skipped: assistant reply"
    assert _sentences(recall.results[5], recall) == [
        "final 0.30; x shows how it was made",
        "keyword: 1.00 of the best",
        "✗ not injected: threshold 0.30 < 0.40",
    ]
    assert "✗ withheld from the agent: exfil_curl" in _sentences(recall.withheld[0], recall)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (scored(1, 1.0, stage="like"), "final 1.00: by the rule of like (0..1)"),
        (scored(1, None, stage="recent"), "no score"),
        (scored(1, 0.5, stage="markdown"), "final 0.50: by the rule of markdown (0..1)"),
    ],
)
def test_the_rule_of_a_score_is_named_where_it_is_another(result: ScoredEntry, words: str) -> None:
    assert _sentences(result, recalled([result], profile="0.7.5", mode=result.stage))[0] == words


def test_the_score_after_decay_is_shown_where_it_is_another() -> None:
    result = scored(1, 0.8, decayed=0.4, vector_score=0.8)
    assert "after decay 0.40" in _sentences(result, recalled([result], profile="0.8.4"))
    undecayed = scored(1, 0.8, decayed=0.8, vector_score=0.8)
    assert not any("decay" in line for line in _sentences(undecayed, recalled([undecayed], profile="0.8.4")))


@pytest.mark.parametrize(("timestamp", "words"), [("MEMORY", "MEMORY"), ("", "no date")])
def test_what_is_no_date_is_not_called_the_moment_of_creation(timestamp: str, words: str) -> None:
    entry = MemoryEntry(id="1", key="a", content="b", category="core", timestamp=timestamp)
    assert origin_parts(entry, None)[1] == words
