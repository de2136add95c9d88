"""What the detail says beside the content: the head, and how the score was made, as spans of text and colour name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from rich.cells import cell_len

from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import SIMILAR, RecallResult, ScoredEntry
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.scoring.profiles import ScoringProfile, profile_for
from zeroclaw_tui.tui.format import absolute_time, relative_age, score_text, size_text
from zeroclaw_tui.tui.widgets.ranked_rows import is_from_lucid, why_not_injected

Spans = list[tuple[str, str]]
"""Pieces of a line with the name of their colour in `score_colours`."""

DOT = " · "
OF_LUCID = "◇ from the lucid program; it cannot be changed here"
NOT_THE_AGENTS = "fused in the store: our own ranking, the agent does not do this"
KNOWN_SCALES = ("0..1", "raw bm25")
"""The scales of ZeroClaw's own scoring of words and vectors; every other one is only named."""
FROM_THE_NAME = "day from the file's name (ours)"
_LONGEST_PART = 120
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_HALF_LIFE_DAYS = 7
_DAY_SECONDS = 86_400
_CANDIDATES = 2


def origin_parts(entry: MemoryEntry, now: datetime | None) -> list[str]:
    """Category, date, session and agent; what the entry does not have is left out."""
    written = absolute_time(entry.when)
    if moment(entry.when) is None:
        created = f"no readable date: {written}" if entry.when.strip() else written
    else:
        created = f"created {written}" + (f" ({relative_age(entry.when, now)})" if now is not None else "")
    parts = [_part(entry.category) or "no category", created]
    if entry.dated and entry.dated != entry.timestamp:
        parts.append(FROM_THE_NAME)
    if entry.updated_at and absolute_time(entry.updated_at) != absolute_time(entry.timestamp):
        parts.append(f"updated {absolute_time(entry.updated_at)}")
    for name, value in (("session", entry.session_id), ("agent", entry.agent), ("tenant", entry.tenant_id)):
        if value:
            parts.append(f"{name} {_part(value)}")
    if entry.namespace and entry.namespace != "default":
        parts.append(f"namespace {_part(entry.namespace)}")
    return parts


def fact_parts(entry: MemoryEntry, norm: float | None) -> list[str]:
    """Vector, size, marks and id; what the entry does not have is left out."""
    parts = []
    if entry.embedding_dimensions:
        parts.append(f"{entry.embedding_dimensions}-d vector")
        if norm is not None:
            parts.append(f"norm {norm:.2f}")
    parts.append(size_text(entry.size))
    if entry.pinned:
        parts.append("◆ pinned")
    if entry.importance is not None:
        parts.append(f"importance {entry.importance:.2f}")
    if entry.kind:
        parts.append(f"kind {_part(entry.kind)}")
    if entry.withheld:
        parts.append(f"✗ withheld from the agent: {_part(entry.withheld)}")
    if entry.superseded_by == "":
        parts.append("→ no longer current, and nothing says by what")
    elif entry.superseded_by is not None:
        parts.append(f"→ superseded by {_part(entry.superseded_by) or 'another'}")
    parts.append(_part(entry.id) if _UUID.fullmatch(entry.id) else f"id {_part(entry.id)}")
    return parts


def packed(parts: Iterable[str], width: int) -> list[str]:
    """Parts joined by dots, as many on a line as fit in so many cells; a part is never broken."""
    lines: list[str] = []
    for part in parts:
        if lines and cell_len(lines[-1]) + len(DOT) + cell_len(part) <= width:
            lines[-1] += DOT + part
        else:
            lines.append(part)
    return lines


def score_lines(entry: MemoryEntry, result: ScoredEntry, recall: RecallResult) -> list[Spans]:
    """How the score came about, with this result's own numbers, and whether it reaches the prompt."""
    if recall.mode == SIMILAR:
        return _similar(result, recall)
    profile = profile_for(recall.profile)
    if recall.request.own_fusion:
        exact = _exact(result, recall)
        return [formula(result, recall, profile), [(NOT_THE_AGENTS, "muted")], *([exact] if exact else [])]
    lines = [formula(result, recall, profile)]
    if is_from_lucid(result):
        lines.append([(OF_LUCID, "muted")])
    lines += [line for line in (_keyword(result, recall, profile), _vector(result, recall, profile)) if line]
    if result.decayed is not None and result.decayed != result.score:
        lines.append(_decay(entry, result, recall))
    if result.reranked is not None:
        lines.append(_rerank(result))
    lines.append(_injection(result, recall))
    exact = _exact(result, recall)
    return [*lines, exact] if exact else lines


def _similar(result: ScoredEntry, recall: RecallResult) -> list[Spans]:
    """By what and how much it is near."""
    is_by_vector = result.vector_score is not None
    near = score_text(result.vector_score if is_by_vector else result.keyword_score)
    lines: list[Spans] = [[(f"near {near}", "vector" if is_by_vector else "keyword"), (f": {recall.scale}", "muted")]]
    if result.shared:
        lines.append([("both have ", "muted"), (", ".join(map(_part, result.shared)), "keyword")])
    return lines


def formula(result: ScoredEntry, recall: RecallResult, profile: ScoringProfile) -> Spans:
    """The score as the sum, quotient or plain number it is in this version's rules.

    What counts is the way of the whole search: in a merge a row found by one stage alone is weighted too.
    """
    if result.score is None:
        why = "lucid gives none" if is_from_lucid(result) else "listed by when it was last stored"
        return [("no score", "final"), (f": {why}", "muted")]
    lead: Spans = [("final ", "muted"), (score_text(result.score), "final"), (" = ", "muted")]
    is_known = _is_known(recall)
    match result.stage:
        case "like":
            words = "found by its letters alone, where every hit scores 1"
            return [*lead[:2], (f": {words}", "muted")]
        case "keyword" if recall.mode != "hybrid" and is_known:
            return lead + _keyword_only(result, profile)
        case "vector" if recall.mode != "hybrid" and profile.plain_vector_only and is_known:
            return [*lead, ("cosine, as it is: no keyword hit in the whole search", "vector")]
        case "hybrid" | "keyword" | "vector" if is_known and not recall.request.own_fusion:
            return lead + _weighted(result, recall.weights, profile)
    if recall.request.own_fusion:
        return [*lead[:2], (f", on a scale of {_part(recall.scale)}", "muted")]
    source = f", from the {_part(result.source)}" if result.source not in (None, "active") else ""
    return [*lead[:2], (f": by the rule of {_part(result.stage)} ({_part(recall.scale)}){source}", "muted")]


def _keyword_only(result: ScoredEntry, profile: ScoringProfile) -> Spans:
    if not profile.normalises_keyword_only:
        return [("bm25, as it is: no vectors in this search", "keyword")]
    best = _best_raw(result)
    if best is None:
        return [("bm25 / best bm25 of this search", "keyword")]
    return [(score_text(result.keyword_raw), "keyword"), (" / ", "muted"), (score_text(best), "keyword")]


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
        if total:
            total.append((" + ", "muted"))
        total += [(f"{weight:g} × ", "muted"), (score_text(value), name if value is not None else "faint")]
    present = [weight for weight, _, _ in parts]
    if not profile.divides_by_weights_present or abs(sum(present) - 1) < 1e-9:
        return total
    if len(present) == 1:
        return [*total, (f" / {present[0]:g}", "muted")]
    return [("(", "muted"), *total, (f") / ({' + '.join(f'{weight:g}' for weight in present)})", "muted")]


def _keyword(result: ScoredEntry, recall: RecallResult, profile: ScoringProfile) -> Spans | None:
    if result.keyword_score is None and result.keyword_raw is None:
        return [("keyword: ", "keyword"), ("not among the best", "muted")] if recall.mode == "hybrid" else None
    best = _best_raw(result)
    facts = [_rank(result.keyword_rank, recall, profile)]
    if result.keyword_raw is not None:
        beside = f" / {score_text(best)}" if best is not None else ""
        facts.append(f"{_raw_name(recall)} {score_text(result.keyword_raw)}{beside}")
    elif result.keyword_score is not None:
        facts.append(score_text(result.keyword_score))
    return [("keyword: ", "keyword"), (", ".join(fact for fact in facts if fact), "text")]


def _vector(result: ScoredEntry, recall: RecallResult, profile: ScoringProfile) -> Spans | None:
    if result.vector_score is None:
        return [("vector: ", "vector"), ("not among the nearest", "muted")] if recall.mode == "hybrid" else None
    facts = [_rank(result.vector_rank, recall, profile), f"cosine {score_text(result.vector_score)}"]
    return [("vector: ", "vector"), (", ".join(fact for fact in facts if fact), "text")]


def _rank(rank: int | None, recall: RecallResult, profile: ScoringProfile) -> str:
    """The rank among the candidates of its kind; their most is twice the store's limit (eight times from 0.8.4)."""
    if rank is None:
        return ""
    request = recall.request
    if profile.agent_scope == "after" and request.agents is not None and request.layer == "agent":
        return f"rank {rank}"
    from zeroclaw_tui.scoring.decide import SCANNER_WINDOW

    window = SCANNER_WINDOW if profile.scans_content and request.layer == "agent" else 1
    return f"rank {rank} of up to {request.limit * _CANDIDATES * window}"


def _decay(entry: MemoryEntry, result: ScoredEntry, recall: RecallResult) -> Spans:
    created, until = moment(entry.timestamp), moment(recall.request.as_of)
    age = f"{(until - created).total_seconds() / _DAY_SECONDS:.1f}" if created and until else "age"
    return [
        ("after decay ", "muted"),
        (score_text(result.decayed), "final"),
        (f" = {score_text(result.score)} × 2^(−{age} d / {_HALF_LIFE_DAYS} d)", "muted"),
    ]


def _rerank(result: ScoredEntry) -> Spans:
    words = f", place {result.place} of what it hands on" if result.place is not None else ""
    return [("after rerank ", "muted"), (score_text(result.reranked), "final"), (words, "muted")]


def _injection(result: ScoredEntry, recall: RecallResult) -> Spans:
    if result.withheld:
        return [("✗ ", "bad"), (f"withheld from the agent: {_part(result.withheld)}", "text")]
    if recall.not_read_because is not None:
        return [("– ", "muted"), (_part(recall.not_read_because), "text")]
    if not result.injected:
        words = why_not_injected(result)
        return [("✗ ", "bad"), (words if words == "not injected" else f"not injected: {words}", "text")]
    from zeroclaw_tui.scoring.injection import in_prompt_order

    above = [each.entry.id for each in in_prompt_order(recall.results)].index(result.entry.id) + 1
    return [("✓ ", "good"), (f"injected as entry {above} of {recall.injected}", "text")]


def _exact(result: ScoredEntry, recall: RecallResult) -> Spans | None:
    """The numbers with all their digits: each is a float32, so seven are all there are."""
    named = (
        ("final", result.score),
        ("after decay", result.decayed if result.decayed != result.score else None),
        ("after rerank", result.reranked),
        ("cosine", result.vector_score),
        ("keyword", result.keyword_score),
        (_raw_name(recall), result.keyword_raw),
    )
    facts = [f"{name} {value:.7g}" for name, value in named if value is not None]
    return [("exactly: " + DOT.join(facts), "faint")] if facts else None


def _is_known(recall: RecallResult) -> bool:
    """Whether scores are on a scale of ZeroClaw's own; Lucid names its rows' scale behind that of the database's."""
    return recall.scale.partition(";")[0] in KNOWN_SCALES


def _raw_name(recall: RecallResult) -> str:
    """How the unbounded number of a keyword hit is called."""
    if recall.request.own_fusion:
        return "keyword, unscaled"
    return "bm25" if _is_known(recall) else _part(recall.scale)


def _best_raw(result: ScoredEntry) -> float | None:
    if result.keyword_raw is None or not result.keyword_score:
        return None
    return result.keyword_raw / result.keyword_score


def _part(text: str) -> str:
    shown = one_line(text[: 4 * _LONGEST_PART])
    return shown if len(shown) <= _LONGEST_PART else shown[: _LONGEST_PART - 1] + "…"
