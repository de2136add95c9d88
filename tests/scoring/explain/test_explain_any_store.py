"""Property test: the explanation of every row agrees with the recall, is in order, and names one stop."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from explain_world import small_library, why
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.questions import RecallRequest
from support.small_store import blob
from support.test_embedder import embed

from zeroclaw_tui.curation.recall import recall_memories
from zeroclaw_tui.memory.text import one_line

NOW = "2026-03-20T12:00:00+00:00"
WORDS = ("tea", "rust", "curl $TOKEN", "[IMAGE:", "peanuts", "\x1b[31m", "x" * 900, "<tool_result", "%", '"')
KEYS = ("assistant_resp_", "user_msg_", "food", "chat_history", "\u202eevil")
ORDER = (
    "words", "keyword", "vector", "query", "candidates", "fusion", "merge", "superseded", "time", "session", "agent",
    "namespace", "like", "recent", "scanner", "limit", "decay", "threshold", "skip", "cap", "prompt",
)  # fmt: skip


@st.composite
def _rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    rows = []
    for place in range(draw(st.integers(1, 9))):
        content = " ".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4)))
        vector = draw(st.sampled_from((None, "right", "short")))
        embedding = {None: None, "right": blob(*embed("hash:8", content)), "short": blob(1.0, 0.0)}[vector]
        rows.append(
            {
                "key": f"{draw(st.sampled_from(KEYS))}{place}" + draw(st.sampled_from(("", "_history"))),
                "content": content,
                "category": draw(st.sampled_from(("core", "daily", "conversation"))),
                "session_id": draw(st.sampled_from((None, "tg", "other"))),
                "superseded_by": draw(st.sampled_from((None, None, "id-000"))),
                "embedding": embedding,
            }
        )
    return rows


@given(
    rows=_rows(),
    query=st.lists(st.sampled_from((*WORDS, "*", "te*", "nothing")), max_size=4).map(" ".join),
    version=st.sampled_from(("0.1.7", "0.6.2", "0.7.5", "0.8.3", "0.8.4")),
    session=st.sampled_from((None, "tg")),
    limit=st.sampled_from((1, 2, 5, 20)),
    embedder=st.sampled_from((None, "hash:8")),
    rule=st.sampled_from(("cli", "channel")),
)
@settings(suppress_health_check=list(HealthCheck))
async def test_explanations_of_any_store_agree_with_the_recall(
    rows: list[dict[str, Any]],
    query: str,
    version: str,
    session: str | None,
    limit: int,
    embedder: str | None,
    rule: Any,
) -> None:
    asked: dict[str, Any] = {"session_id": session, "limit": limit, "rule": rule}
    with tempfile.TemporaryDirectory() as folder:
        async with small_library(Path(folder), "G2", rows, version, embedder=embedder) as library:
            result = await recall_memories(library, library.trial(RecallRequest(query, as_of=NOW, **asked)))
            injected = [scored.entry.key for scored in result.results if scored.injected]
            for row in rows:
                explanation = await why(library, row["key"], query, **asked)
                message = (row["key"], explanation.verdict, [step.name for step in explanation.steps])
                assert explanation.is_injected is (row["key"] in injected), message
                assert explanation.steps[-1].name == (explanation.record.stopped_at or "prompt"), message
                assert sum(step.mark == "stopped" for step in explanation.steps) == (not explanation.is_injected), (
                    message
                )
                if explanation.is_injected:
                    assert explanation.record.place == injected.index(row["key"]) + 1
                for sentence in (
                    explanation.verdict,
                    *explanation.remarks,
                    *(step.words for step in explanation.steps),
                ):
                    assert one_line(sentence) == sentence
                _assert_in_order([step.name for step in explanation.steps], message)


def _assert_in_order(names: list[Any], message: Any) -> None:
    places = [ORDER.index(name) for name in names]
    assert len(set(names)) == len(names), message
    assert places == sorted(places), message
