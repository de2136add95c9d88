"""The numbers of a recalled memory; how they were made is explained in the room Why."""

from __future__ import annotations

from zeroclaw_tui.memory.recall import SIMILAR, RecallResult, ScoredEntry
from zeroclaw_tui.memory.text import cut, one_line
from zeroclaw_tui.tui.format import score_text
from zeroclaw_tui.tui.widgets.rows import why_not_injected

Spans = list[tuple[str, str]]
"""Pieces of a line, each with the name of its look."""
DOT = " · "
_KNOWN_SCALES = ("0..1", "raw bm25")
"""The scales of ZeroClaw's own scoring of words and vectors; every other one is only named."""
_MAX_PART = 120


def short(text: str) -> str:
    """Any text as a part of a line."""
    return cut(one_line(text[: 4 * _MAX_PART]), _MAX_PART)


def score_lines(result: ScoredEntry, recall: RecallResult) -> list[Spans]:
    """The score and its parts, and whether the memory reaches the prompt."""
    if recall.mode == SIMILAR:
        by_vector = result.vector_score is not None
        near = result.vector_score if by_vector else result.keyword_score
        look = "vector" if by_vector else "keyword"
        return [[(f"similarity {score_text(near)}", look), (f": {recall.scale}", "muted")]]
    # Lucid names its rows' scale behind that of the database's.
    is_known = recall.scale.partition(";")[0] in _KNOWN_SCALES
    lines = [_score(result, recall, is_known=is_known and result.stage in ("hybrid", "keyword", "vector"))]
    if result.keyword_score is not None or result.keyword_raw is not None:
        raw = f"{'bm25' if is_known else short(recall.scale)} {score_text(result.keyword_raw)}"
        share = f"{score_text(result.keyword_score)} of the best"
        parts = [raw if result.keyword_raw is not None else "", share if result.keyword_score is not None else ""]
        words = _rank(result.keyword_rank) + ", ".join(filter(None, parts))
        lines.append([("keyword: ", "keyword"), (words, "text")])
    if result.vector_score is not None:
        cosine = f"{_rank(result.vector_rank)}cosine {score_text(result.vector_score)}"
        lines.append([("vector: ", "vector"), (cosine, "text")])
    if result.decayed is not None and result.decayed != result.score:
        lines.append([("after decay ", "muted"), (score_text(result.decayed), "final")])
    if result.reranked is not None:
        lines.append([("after rerank ", "muted"), (score_text(result.reranked), "final")])
    return [*lines, _injection(result, recall)]


def _score(result: ScoredEntry, recall: RecallResult, *, is_known: bool) -> Spans:
    """The score, and the rule that gave it where that is not ZeroClaw's scoring of words and vectors."""
    if result.score is None:
        why = f": {recall.program} ranks nothing without a query vector" if recall.program is not None else ""
        return [("no score", "final"), (why, "muted")]
    final: Spans = [("final ", "muted"), (score_text(result.score), "final")]
    if is_known:
        return [*final, ("; x shows how it was made", "muted")]
    source = f", from the {short(result.source)}" if result.source not in (None, "active") else ""
    return [*final, (f": by the rule of {short(result.stage)} ({short(recall.scale)}){source}", "muted")]


def _rank(rank: int | None) -> str:
    return "" if rank is None else f"rank {rank}, "


def _injection(result: ScoredEntry, recall: RecallResult) -> Spans:
    if result.withheld:
        return [("✗ ", "bad"), (f"withheld from the agent: {short(result.withheld)}", "text")]
    if recall.not_read_because is not None:
        return [("– ", "muted"), (short(recall.not_read_because), "text")]
    if not result.injected:
        words = why_not_injected(result)
        return [("✗ ", "bad"), (words if words == "not injected" else f"not injected: {words}", "text")]
    from zeroclaw_tui.scoring.injection import in_prompt_order

    above = [each.entry.id for each in in_prompt_order(recall.results)].index(result.entry.id) + 1
    return [("✓ ", "good"), (f"injected as entry {above} of {recall.injected}", "text")]
