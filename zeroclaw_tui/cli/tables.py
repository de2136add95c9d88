"""The aligned tables of recall, facets and health, for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from zeroclaw_tui.backends.answers import Health
from zeroclaw_tui.cli.output import BOLD, CYAN, DIM, GREEN, NOTHING, RED, YELLOW, Line, Styled, width
from zeroclaw_tui.curation.words import hidden_fact
from zeroclaw_tui.memory.query import Facets
from zeroclaw_tui.memory.recall import RecallResult, ScoredEntry
from zeroclaw_tui.memory.text import cells, counted, cut, one_line, padded

LONGEST_KEY = 28
MOST_VALUES = 20


def recall_lines(result: RecallResult) -> Iterator[Line]:
    """What was recalled: a header, a row for each memory, and under it why it is not injected."""
    yield (Styled(_recall_header(result), DIM),)
    yield ()
    if not result.results:
        yield ("Nothing is recalled for ", Styled(one_line(result.request.query) or "a blank query", BOLD), ".")
    else:
        yield from _recall_table(result.results, has_reasons=result.not_read_because is None)
    for scored in result.withheld:
        yield (Styled("withheld from the agent: ", YELLOW), one_line(scored.entry.key), f" ({scored.withheld})")
    if result.results and result.not_read_because is None:
        yield ()
        yield (f"{result.injected} of {len(result.results)} injected by the {result.request.rule} rule",)


def facets_lines(facets: Facets, hidden: int, backend: str, location: str) -> Iterator[Line]:
    """Counts by value, a block for each facet the store has; `hidden` superseded memories are not counted."""
    head = [counted(facets.total)]
    if hidden:
        head.append(hidden_fact(hidden))
    elif facets.superseded:
        head.append(f"{facets.superseded:,} superseded")
    if facets.not_embedded:
        head.append(f"{facets.not_embedded:,} not embedded")
    yield (Styled(" · ".join(head), BOLD),)
    yield (Styled(f"{backend} · {one_line(location)}", DIM),)
    blocks: tuple[tuple[str, Mapping[str, int] | None], ...] = (
        ("Category", facets.category),
        ("Session", facets.session),
        ("Agent", facets.agent),
        ("Namespace", facets.namespace),
        ("Age", facets.ages),
    )
    for title, counts in blocks:
        if counts:
            yield ()
            yield (Styled(title, BOLD),)
            yield from _count_lines(counts)


def health_lines(health: Health, facts: Mapping[str, Any]) -> Iterator[Line]:
    """A verdict, what was found, and the facts in two columns."""
    mark = Styled("✓", GREEN) if health.ok else Styled("✗", RED)
    yield (mark, " ", Styled(one_line(health.summary), BOLD))
    for finding in health.findings:
        yield ("  – ", one_line(finding))
    yield ()
    names = [one_line(str(name)) for name in facts]
    left = max(map(cells, names), default=0)
    for name, value in zip(names, facts.values(), strict=True):
        shown = one_line(value_shown(value))
        is_list = isinstance(value, list | tuple)
        yield (
            "  ",
            Styled(padded(name, left), DIM),
            "  ",
            cut(shown, max(20, width() - left - 4)) if is_list else shown,
        )


def value_shown(value: Any) -> str:
    """A fact's value in words."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {value_shown(item)}" for name, item in value.items()) or NOTHING
    if isinstance(value, list | tuple):
        return ", ".join(map(value_shown, value)) or NOTHING
    return str(value)


def _recall_header(result: RecallResult) -> str:
    vector, keyword = result.weights
    if result.program is not None:
        return f"{result.backend} · by the rule of {result.program} · scale {result.scale}"
    # What no agent of ZeroClaw's reads is held against nothing.
    threshold = f" · threshold {result.threshold:.2f}" if result.not_read_because is None else ""
    weights = f" {vector:g} / {keyword:g}" if result.mode == "hybrid" else ""
    return (
        f"{result.backend} · scoring {result.profile} ({result.profile_source}) · {result.mode}{weights}"
        f"{threshold} · scale {result.scale} · {result.request.layer} layer"
        f"{'' if result.pool is None else ' · reranked'}"
    )


def _recall_table(results: Sequence[ScoredEntry], *, has_reasons: bool) -> Iterator[Line]:
    rank = max(2, len(str(results[-1].rank)))
    has_vectors = any(scored.vector_score is not None for scored in results)
    has_keywords = any(scored.keyword_score is not None for scored in results)
    key = min(LONGEST_KEY, max(6, *(cells(one_line(scored.entry.key)) for scored in results)))
    left = rank + 2 + 8 + (9 if has_vectors else 0) + (10 if has_keywords else 0)
    room = max(20, width() - left - key - 2)
    head = " " * rank + "  " + padded("final", 6, right=True) + "  "
    head += (padded("vector", 7, right=True) + "  ") if has_vectors else ""
    head += (padded("keyword", 8, right=True) + "  ") if has_keywords else ""
    yield (Styled(head + padded("key", key) + "  memory", DIM),)
    for scored in results:
        yield (
            padded(str(scored.rank), rank, right=True) + "  ",
            Styled(_number(scored.score, 6), BOLD),
            "  ",
            *((Styled(_number(scored.vector_score, 7), CYAN), "  ") if has_vectors else ()),
            *((Styled(_number(scored.keyword_score, 8), YELLOW), "  ") if has_keywords else ()),
            padded(cut(one_line(scored.entry.key), key), key) + "  ",
            cut(one_line(scored.entry.content[: 4 * room]), room),
        )
        if scored.source not in (None, "active"):
            yield (" " * left, Styled(f"from the {one_line(scored.source or '')}", DIM))
        if has_reasons and scored.not_injected_because:
            yield (" " * left, Styled(f"not injected: {one_line(scored.not_injected_because)}", DIM))
        elif scored.place is not None:
            yield (
                " " * left,
                Styled(f"injected: reranked to {_number(scored.reranked, 0)}, place {scored.place}", DIM),
            )


def _number(value: float | None, wide: int) -> str:
    shown = NOTHING if value is None else f"{value:.2f}"
    # A row alone in its store scores 0.000001 for a hit, which is little but not nothing.
    return padded("<0.01" if value and shown == "0.00" else shown, wide, right=True)


def _count_lines(counts: Mapping[str, int]) -> Iterator[Line]:
    shown = {one_line(name) or "(none)": count for name, count in list(counts.items())[:MOST_VALUES]}
    room = max(20, width() - 20)
    left = min(room, max(map(cells, shown)))
    right = max(len(f"{count:,}") for count in shown.values())
    for name, count in shown.items():
        yield ("  ", padded(cut(name, left), left), "  ", padded(f"{count:,}", right, right=True))
    if len(counts) > MOST_VALUES:
        yield (Styled(f"  … {len(counts) - MOST_VALUES:,} more; --json has all", DIM),)
