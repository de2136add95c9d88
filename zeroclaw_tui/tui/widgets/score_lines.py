"""How the score of a recalled memory came about, with its own numbers."""

from __future__ import annotations

from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import SIMILAR, RecallResult, ScoredEntry
from zeroclaw_tui.memory.text import cut, one_line
from zeroclaw_tui.scoring.profiles import ScoringProfile, profile_for
from zeroclaw_tui.tui.format import score_text
from zeroclaw_tui.tui.widgets.rows import why_not_injected

Spans = list[tuple[str, str]]
"""Pieces of a line, each with the name of its look."""
DOT = " · "
KNOWN_SCALES = ("0..1", "raw bm25")
"""The scales of ZeroClaw's own scoring of words and vectors; every other one is only named."""
_MAX_PART = 120
_HALF_LIFE_DAYS = 7
_DAY_SECONDS = 86_400


def short(text: str) -> str:
    """Any text as a part of a line."""
    return cut(one_line(text[: 4 * _MAX_PART]), _MAX_PART)


def score_lines(entry: MemoryEntry, result: ScoredEntry, recall: RecallResult) -> list[Spans]:
    """How the score came about, and whether the memory reaches the prompt."""
    if recall.mode == SIMILAR:
        near, look = (
            (result.keyword_score, "keyword") if result.vector_score is None else (result.vector_score, "vector")
        )
        return [[(f"similarity {score_text(near)}", look), (f": {recall.scale}", "muted")]]
    lines = [_formula(result, recall, profile_for(recall.profile))]
    if result.keyword_score is not None or result.keyword_raw is not None:
        lines.append([("keyword: ", "keyword"), (f"{_rank(result.keyword_rank)}{_keyword(result, recall)}", "text")])
    if result.vector_score is not None:
        cosine = f"{_rank(result.vector_rank)}cosine {score_text(result.vector_score)}"
        lines.append([("vector: ", "vector"), (cosine, "text")])
    if result.decayed is not None and result.decayed != result.score:
        lines.append(_decay(entry, result, recall))
    if result.reranked is not None:
        lines.append([("after rerank ", "muted"), (score_text(result.reranked), "final")])
    lines.append(_injection(result, recall))
    exact = _exact(result, recall)
    return [*lines, [(f"exactly: {exact}", "faint")]] if exact else lines


def _formula(result: ScoredEntry, recall: RecallResult, profile: ScoringProfile) -> Spans:
    """The score as the sum, quotient or plain number it is in this version's rules.

    What counts is the mode of the whole search: in a merge a row found by one stage alone is weighted too.
    """
    if result.score is None:
        why = f": {recall.program} ranks nothing without a query vector" if recall.program is not None else ""
        return [("no score", "final"), (why, "muted")]
    final: Spans = [("final ", "muted"), (score_text(result.score), "final")]
    # Lucid names its rows' scale behind that of the database's.
    if recall.scale.partition(";")[0] not in KNOWN_SCALES or result.stage not in ("hybrid", "keyword", "vector"):
        source = f", from the {short(result.source)}" if result.source not in (None, "active") else ""
        return [*final, (f": by the rule of {short(result.stage)} ({short(recall.scale)}){source}", "muted")]
    final.append((" = ", "muted"))
    if recall.mode != "hybrid" and result.stage == "keyword":
        return final + _keyword_only(result, profile)
    if recall.mode != "hybrid" and result.stage == "vector" and profile.plain_vector_only:
        return [*final, ("cosine unchanged: the search has no keyword hit", "vector")]
    return final + _weighted(result, recall.weights, profile)


def _keyword_only(result: ScoredEntry, profile: ScoringProfile) -> Spans:
    if not profile.normalises_keyword_only:
        return [("bm25 unchanged: the search has no vectors", "keyword")]
    best = _best_raw(result)
    if best is None:
        return [("bm25 / best bm25 of this search", "keyword")]
    return [(f"{score_text(result.keyword_raw)} / {score_text(best)}", "keyword")]


def _weighted(result: ScoredEntry, weights: tuple[float, float], profile: ScoringProfile) -> Spans:
    parts = [
        (weight, value, name)
        for weight, value, name in (
            (weights[0], result.vector_score, "vector"),
            (weights[1], result.keyword_score, "keyword"),
        )
        if value is not None or not profile.divides_by_weights_present
    ]
    total: Spans = []
    for weight, value, name in parts:
        total += [(f"{' + ' if total else ''}{weight:g} × ", "muted"), (score_text(value), name)]
    present = [weight for weight, _, _ in parts]
    if not profile.divides_by_weights_present or abs(sum(present) - 1) < 1e-9:
        return total
    if len(present) == 1:
        return [*total, (f" / {present[0]:g}", "muted")]
    return [("(", "muted"), *total, (f") / ({' + '.join(f'{weight:g}' for weight in present)})", "muted")]


def _keyword(result: ScoredEntry, recall: RecallResult) -> str:
    if result.keyword_raw is None:
        return score_text(result.keyword_score)
    best = _best_raw(result)
    of_best = f" / {score_text(best)}" if best is not None else ""
    return f"{_raw_name(recall)} {score_text(result.keyword_raw)}{of_best}"


def _rank(rank: int | None) -> str:
    return "" if rank is None else f"rank {rank}, "


def _decay(entry: MemoryEntry, result: ScoredEntry, recall: RecallResult) -> Spans:
    created, until = moment(entry.timestamp), moment(recall.request.as_of)
    age = f"{(until - created).total_seconds() / _DAY_SECONDS:.1f}" if created and until else "age"
    formula = f" = {score_text(result.score)} × 2^(−{age} d / {_HALF_LIFE_DAYS} d)"
    return [("after decay ", "muted"), (score_text(result.decayed), "final"), (formula, "muted")]


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


def _exact(result: ScoredEntry, recall: RecallResult) -> str:
    """The numbers with all their digits: each is a float32, so seven are all there are."""
    named = (
        ("final", result.score),
        ("after decay", result.decayed if result.decayed != result.score else None),
        ("after rerank", result.reranked),
        ("cosine", result.vector_score),
        ("keyword", result.keyword_score),
        (_raw_name(recall), result.keyword_raw),
    )
    return DOT.join(f"{name} {value:.7g}" for name, value in named if value is not None)


def _raw_name(recall: RecallResult) -> str:
    """How the unbounded number of a keyword hit is called."""
    return "bm25" if recall.scale.partition(";")[0] in KNOWN_SCALES else short(recall.scale)


def _best_raw(result: ScoredEntry) -> float | None:
    if result.keyword_raw is None or not result.keyword_score:
        return None
    return result.keyword_raw / result.keyword_score
