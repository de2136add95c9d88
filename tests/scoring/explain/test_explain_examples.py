"""Explanations of known cases on small databases: worked examples, tiny stores, quotes, sessions, replies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from explain_world import small_library, why
from support.replaying import FixedEmbedder
from support.small_store import blob

from zeroclaw_tui.scoring.explanation import Explanation

RUST: Sequence[dict[str, Any]] = (
    {"id": "a", "key": "lang", "content": "User prefers Rust"},
    {"id": "b", "key": "editor", "content": "User uses Helix editor daily"},
    {"id": "c", "key": "pet", "content": "Cat named Mio"},
    {"id": "d", "key": "tz", "content": "Timezone is EST"},
    {"id": "e", "key": "food", "content": "Likes ramen and rust colored plates"},
)


def step(explanation: Explanation, name: str) -> Any:
    return next(each for each in explanation.steps if each.name == name)


async def test_each_word_shows_its_number_of_memories_and_its_share(tmp_path: Path) -> None:
    async with small_library(tmp_path, "G2", RUST, "0.8.3") as library:
        words = step(await why(library, "editor", "does Helix know rust"), "words")
    assert words.words == "matches “Helix” (in 1 of 5 memories, 1.02 of 1.02); missing: does, know, rust"


HITS = (
    {"id": "x", "key": "x", "content": "nothing", "embedding": blob(0.9, 0.19**0.5)},
    {"id": "y", "key": "y", "content": "tea tea", "embedding": blob(0.5, 0.75**0.5)},
    {"id": "z", "key": "z", "content": "tea and some more words that make this row longer than the other one is"},
    {"id": "w", "key": "w", "content": "other things"},
    {"id": "v", "key": "v", "content": "more things"},
    {"id": "u", "key": "u", "content": "some other things"},
)


async def test_both_stages_are_weighted_by_the_rules_of_the_version(tmp_path: Path) -> None:
    async with small_library(tmp_path, "G2", HITS, "0.8.3", embedder="hash:2") as library:
        library.embedder = FixedEmbedder(1.0, 0.0)
        share = (await why(library, "z", "tea")).as_json()["numbers"]["keyword"]["part"]
        expected = {"x": 0.63, "y": 0.65, "z": 0.3 * share}
        for key, score in expected.items():
            assert (await why(library, key, "tea")).record.fused_score == pytest.approx(score, abs=1e-6)
        vector_only = await why(library, "x", "tea")
        assert step(vector_only, "fusion").words == "0.7 × 0.90 + 0.3 × – = 0.63 · rank 2"
        assert "0.57" in vector_only.remarks[0]
        keyword_only = await why(library, "z", "tea")
        assert keyword_only.remarks == (
            "Next to vector hits a keyword-only hit can reach at most 0.30 and the threshold is 0.40: it will never be "
            "injected.",
        )
        library.with_profile("0.8.4")
        for key, score in {"x": 0.9, "y": 0.65, "z": share}.items():
            assert (await why(library, key, "tea")).record.fused_score == pytest.approx(score, abs=1e-6)
        assert step(await why(library, "x", "tea"), "fusion").words == "0.7 × 0.90 / 0.7 = 0.90 · rank 1"
        assert step(await why(library, "y", "tea"), "fusion").words == (
            "(0.7 × 0.50 + 0.3 × 1.00) / (0.7 + 0.3) = 0.65 · rank 2"
        )


@pytest.mark.parametrize(("days", "decayed"), [(7, 0.5), (14, 0.25)])
async def test_the_score_of_a_daily_memory_decays_with_age(tmp_path: Path, days: int, decayed: float) -> None:
    rows = [
        {"key": "tea", "content": "likes tea", "category": "daily", "created_at": f"2026-03-{20 - days:02d}T12:00:00Z"}
    ]
    async with small_library(tmp_path, "G2", rows, "0.8.4") as library:
        explanation = await why(library, "tea", "tea")
        core = await why(library, "tea", "tea", settings={"threshold": 0.0})
    decay = step(explanation, "decay")
    assert decay.words == f"1.00 × 2^(-{days}.0 d / 7 d) = {decayed:.2f}"
    assert explanation.record.compared_score == pytest.approx(decayed)
    assert explanation.is_injected is (decayed >= 0.4)
    assert core.is_injected


async def test_a_quote_in_the_message_before_0_7_5_is_explained(tmp_path: Path) -> None:
    query = 'the "Rust'
    async with small_library(tmp_path, "G2", RUST, "0.7.4") as library:
        broken = await why(library, "lang", query)
        assert step(broken, "keyword").words == "FTS5 cannot read this message, so no memory has a keyword match"
        assert step(broken, "keyword").key == "p"
        assert any("FTS5 refuses" in each for each in broken.notes)
        assert broken.record.stopped_at == "like"
        library.with_profile("0.7.5")
        escaped = await why(library, "lang", query)
        assert step(escaped, "keyword").mark == "passed"
        assert not any("FTS5" in each for each in escaped.notes)


async def test_a_score_that_decayed_to_almost_zero_is_explained_by_age(tmp_path: Path) -> None:
    """A lower threshold does not help a memory that has decayed to almost 0; core memories do not decay."""
    rows = (
        {"key": "old", "content": "green tea", "category": "daily"},
        {"key": "b", "content": "rain"},
        {"key": "c", "content": "more rain"},
    )
    async with small_library(tmp_path, "G4", rows, "0.8.4") as library:
        faded = await why(library, "old", "green tea", as_of="2026-09-01T10:00:00+00:00")
    assert faded.record.stopped_at == "threshold"
    assert (
        faded.verdict == "It is not in the prompt: its score has faded to 0.00 with age, below the threshold of 0.40."
    )
    helps = "the category core, which does not fade"
    assert (faded.steps[-1].helps, faded.steps[-1].key) == (helps, "e")


UNFOUND: Sequence[dict[str, Any]] = (
    {"key": "late", "content": "it is late"},
    {"key": "far", "content": "something else", "embedding": blob(-1, 0)},
    {"key": "long", "content": "something else", "embedding": blob(1, 0, 0)},
    {"key": "found", "content": "rust", "embedding": blob(1, 1)},
)


@pytest.mark.parametrize(
    ("key", "mode", "has_vector", "words"),
    [
        ("late", "hybrid", True, "no keyword match, and this memory has no vector"),
        (
            "long",
            "hybrid",
            True,
            "no keyword match, and its vector and the message's differ in length, because two models made them",
        ),
        ("far", "hybrid", True, "no keyword match, and its cosine is not above 0"),
        ("far", "hybrid", False, "no keyword match, and the message has no vector: no embeddings configured"),
        ("far", "bm25", True, "no keyword match, and search mode bm25 ignores vectors"),
        ("far", "embedding", True, "search mode embedding ignores keywords, and its cosine is not above 0"),
        (
            "late",
            "embedding",
            True,
            "search mode embedding ignores keywords, and this memory has no vector",
        ),
    ],
)
async def test_a_memory_that_no_stage_finds_is_explained_with_what_is_missing(
    tmp_path: Path, key: str, mode: str, has_vector: bool, words: str
) -> None:
    async with small_library(tmp_path, "G4", UNFOUND, "0.8.4", embedder="hash:2" if has_vector else None) as library:
        library.embedder = FixedEmbedder(1.0, 0.0) if has_vector else None
        explanation = await why(library, key, "rust", settings={"search_mode": mode})
    assert explanation.record.stopped_at == "candidates"
    assert explanation.verdict == f"It is not in the prompt: {words}."


@pytest.mark.parametrize("query", ["at*", "zebra " * 8 + "ate", "zebra"])
async def test_the_words_of_the_fall_back_search_are_named(tmp_path: Path, query: str) -> None:
    """A prefix inside a word is no match; the first eight words count, including repeated ones."""
    async with small_library(tmp_path, "G4", UNFOUND[:1], "0.8.4") as library:
        explanation = await why(library, "late", query)
    assert explanation.record.stopped_at == "like"
    assert explanation.steps[-1].words.endswith("it contains none of the message's first 8 words")
    assert "limit" not in explanation.steps[-1].helps


TEA = {"key": "tea", "content": "green tea", "category": "core", "created_at": "2026-03-13T12:00:00+00:00"}
LATE = "2026-03-20T12:00:00+00:00"


@pytest.mark.parametrize(
    ("row", "asked", "stage", "words"),
    [
        ({"superseded_by": "new_diet"}, {}, "superseded", "a newer memory replaced it: new_diet"),
        ({}, {"since": LATE}, "time", f"created {TEA['created_at']}, and recall is from {LATE} on"),
        ({"session_id": "b"}, {"session_id": "a"}, "session", "it belongs to session b, and the message comes from a"),
        ({}, {"session_id": "a"}, "session", "it has no session, and the message comes from a"),
        ({}, {"namespace": "work"}, "namespace", "it is in namespace default, and recall is in work"),
        ({}, {"query": "", "limit": 1}, "recent", "a blank message lists the newest, and only the first 4 pass"),
        ({}, {"query": "*", "limit": 1}, "recent", "a lone * lists the newest, and only the first 4 pass"),
        ({"content": "a cup of green tea"}, {"limit": 1}, "limit", "ranked 2nd, and only the first is recalled"),
        ({"key": "assistant_resp_1"}, {}, "skip", "ZeroClaw skips its own replies"),
        ({"key": "user_msg_1"}, {}, "skip", "ZeroClaw skips saved messages"),
        ({"key": "a_history"}, {}, "skip", "ZeroClaw skips histories"),
        ({"content": "green tea [IMAGE:x]"}, {}, "skip", "ZeroClaw skips content with [IMAGE:"),
        ({"content": "green tea <tool_result"}, {}, "skip", "ZeroClaw skips content with <tool_result"),
        ({"content": "[cron: green tea"}, {}, "skip", "ZeroClaw skips content that looks like its own records"),
        ({"category": "conversation"}, {"rule": "cron"}, "skip", "cron and heartbeat do not get conversation memories"),
    ],
)  # fmt: skip
async def test_each_stop_is_explained_in_words(
    tmp_path: Path, row: dict[str, Any], asked: dict[str, Any], stage: str, words: str
) -> None:
    first = {"key": "first", "content": "tea", "created_at": "2026-03-19T12:00:00+00:00", "session_id": "a"}
    rows = [TEA | row, first, *({"key": f"other_{at}", "content": "rain"} for at in range(6))]
    request = {"query": "tea", "settings": {"threshold": 0.0}, **asked}
    async with small_library(tmp_path, "G4", rows, "0.8.4") as library:
        explanation = await why(library, rows[0]["key"], **request)
    assert explanation.steps[-1].name == stage
    assert explanation.steps[-1].words.startswith(words)
