"""The detail of one memory: its origin, its content as plain text, and the parts of its score."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from zeroclaw_tui.memory.days import absolute_time, moment
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import SIMILAR, RecallResult, ScoredEntry
from zeroclaw_tui.memory.text import cut, display_text, one_line, size_shown
from zeroclaw_tui.memory.text_difference import DiffLine
from zeroclaw_tui.tui.format import relative_age
from zeroclaw_tui.tui.themes import LOOKS, MUTED, SIGN_LOOKS, STRONG
from zeroclaw_tui.tui.view import NO_HIGHLIGHTS, Highlights, score_text
from zeroclaw_tui.tui.widgets.lines import DOT, GrowingText
from zeroclaw_tui.tui.widgets.memory_list import why_not_injected
from zeroclaw_tui.tui.widgets.table_list import EMPTY_CONTENT, EMPTY_KEY

Spans = list[tuple[str, str]]
"""The parts of a line, each with the name of its style."""
MAX_SHOWN = 20_000
"""The maximum number of characters shown of a content."""
_MAX_PART = 120
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def origin_parts(entry: MemoryEntry, now: datetime | None) -> list[str]:
    """Category, date, session, agent and namespace; missing values are left out."""
    created = absolute_time(entry.when)
    if moment(entry.when) is not None:
        created = f"created {created}" + (f" ({relative_age(entry.when, now)})" if now is not None else "")
    parts = [short(entry.category) or "no category", created]
    if entry.dated and entry.dated != entry.timestamp:
        parts.append("day from the file's name (ours)")
    if entry.updated_at and absolute_time(entry.updated_at) != absolute_time(entry.timestamp):
        parts.append(f"updated {absolute_time(entry.updated_at)}")
    namespace = entry.namespace if entry.namespace != "default" else None
    facts = {"session": entry.session_id, "agent": entry.agent, "tenant": entry.tenant_id, "namespace": namespace}
    return parts + [f"{name} {short(value)}" for name, value in facts.items() if value]


def fact_parts(entry: MemoryEntry) -> list[str]:
    """Vector, size, flags and id; missing values are left out."""
    replacement = short(entry.superseded_by or "") or "another"
    facts = (
        (entry.embedding_dimensions, f"{entry.embedding_dimensions}-d vector"),
        (True, size_shown(entry.size)),
        (entry.pinned, "◆ pinned"),
        (entry.importance is not None, f"importance {entry.importance or 0:.2f}"),
        (entry.kind, f"kind {short(entry.kind or '')}"),
        (entry.metadata, f"metadata {short(entry.metadata or '')}"),
        (entry.withheld, f"✗ withheld from the agent: {short(entry.withheld or '')}"),
        (entry.superseded_by is not None, f"→ superseded by {replacement}"),
        (True, short(entry.id) if _UUID.fullmatch(entry.id) else f"id {short(entry.id)}"),
    )
    return [words for is_there, words in facts if is_there]


class ReadingPane(VerticalScroll, can_focus=True, inherit_bindings=False):
    """A focusable, scrolling pane next to, below or instead of a list."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    ReadingPane {
        width: 1fr;
        height: 1fr;
        padding: 0 1;
        scrollbar-size-vertical: 1;
        scrollbar-gutter: stable;

        & > Static { width: 1fr; height: auto; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "scroll_down", "Down", id="pane.down", show=False, tooltip="A line on"),
        Binding("k,up", "scroll_up", "Up", id="pane.up", show=False, tooltip="A line back"),
        Binding("g,home", "scroll_home", "Top", id="pane.top", show=False, tooltip="To the beginning"),
        Binding("G,end", "scroll_end", "End", id="pane.bottom", show=False, tooltip="To the end"),
        Binding("ctrl+d", "half_page(1)", "Half down", id="pane.half_down", show=False, tooltip="Half a page down"),
        Binding("ctrl+u", "half_page(-1)", "Half up", id="pane.half_up", show=False, tooltip="Half a page up"),
        Binding("pagedown", "page_down", "Page down", id="pane.page_down", show=False, tooltip="A page on"),
        Binding("pageup", "page_up", "Page up", id="pane.page_up", show=False, tooltip="A page back"),
    ]

    def action_half_page(self, direction: int) -> None:
        self.scroll_relative(y=direction * max(1, self.scrollable_content_region.height // 2), animate=False)


class MemoryDetail(ReadingPane):
    """A memory in full, scrolled with the keys of the list."""

    DEFAULT_CSS = """
    MemoryDetail > #detail-content { margin: 0 0 1 0; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.now: datetime | None = None
        """The time for relative ages; if None, only dates are shown."""
        self._entry: MemoryEntry | None = None
        self._highlights = NO_HIGHLIGHTS

    def compose(self) -> ComposeResult:
        yield GrowingText(id="detail-head")
        yield GrowingText(id="detail-content")
        yield GrowingText(id="detail-facts")

    def show(
        self,
        entry: MemoryEntry,
        result: ScoredEntry | None,
        recall: RecallResult | None,
        highlights: Highlights = NO_HIGHLIGHTS,
    ) -> None:
        """Show a memory, with its score if it was recalled. An excerpt may be followed by the whole.

        `highlights` are highlighted in key and content. The scroll position stays while it is the same memory.
        """
        old, is_same_search = self._entry, self._highlights is highlights
        self._entry, self._highlights = entry, highlights
        if old is None or (old.handle, old.id) != (entry.handle, entry.id):
            self.scroll_home(animate=False)
        title = highlights.apply(one_line(entry.key[:300]) or EMPTY_KEY).stylize_before(STRONG)
        origin = Content.styled(DOT.join(origin_parts(entry, self.now)), MUTED)
        self.query_one("#detail-head", Static).update(title + "\n" + origin)
        lines = score_lines(result, recall) if result is not None and recall is not None else []
        score = [Content.assemble(*((text, LOOKS[look]) for text, look in line)) for line in lines]
        facts = Content.styled(DOT.join(fact_parts(entry)), MUTED)
        self.query_one("#detail-facts", Static).update(Content("\n").join([*score, facts]))
        if old is None or not is_same_search or (old.content, old.is_excerpt) != (entry.content, entry.is_excerpt):
            self._show_content(entry)

    def _show_content(self, entry: MemoryEntry) -> None:
        pane = self.query_one("#detail-content", Static)
        shown = plain_content(entry.content or EMPTY_CONTENT, self._highlights)
        pane.update(shown)
        if shown.spans and pane.size.width and not entry.is_excerpt:
            line = len(shown[: shown.spans[0].start].wrap(pane.size.width)) - 1
            # Scrolling to the line works only after the layout of the new content.
            self.call_after_refresh(self._scroll_to_line, line)

    def _scroll_to_line(self, line: int) -> None:
        """Scroll to a line of the content that is below the view, with three lines before it."""
        y = self.query_one("#detail-content").virtual_region.y + line
        if y >= self.scroll_offset.y + self.scrollable_content_region.height:
            self.scroll_to(y=y - 3, animate=False, force=True)


class ListAndDetail(Container):
    """A list above its detail, or next to it on a `-wide` screen, each in a frame with its title.

    A low window has no frames.
    """

    # The class -wide is set on the screen, outside of this widget.
    SCOPED_CSS = False
    DEFAULT_CSS = """
    ListAndDetail { width: 1fr; height: 1fr; layout: vertical; }
    ListAndDetail > * { width: 1fr; height: 1fr; border: round $border; border-title-color: $foreground-muted; }
    ListAndDetail > *:focus, ListAndDetail > *:focus-within {
        border: round $primary; border-title-color: $primary; border-title-style: bold;
    }
    ListAndDetail > ReadingPane { width: 1fr; height: 40%; min-height: 3; padding: 0 1; }
    ListAndDetail.-low > * { border: none; }
    ListAndDetail.-low > ReadingPane { border-top: solid $border; }
    .-wide ListAndDetail { layout: horizontal; }
    .-wide ListAndDetail > ReadingPane { width: 38%; min-width: 44; height: 1fr; }
    .-wide ListAndDetail.-low > ReadingPane { border-top: none; }
    """

    def on_resize(self) -> None:
        self.set_class(self.size.height < 12, "-low")


def plain_content(text: str, highlights: Highlights = NO_HIGHLIGHTS) -> Content:
    """The beginning of a text as plain text, with highlighted matches."""
    shown, more = highlights.apply(display_text(text[:MAX_SHOWN]).expandtabs(4), 0.05), len(text) - MAX_SHOWN
    return shown + f"\n… {more:,} more characters; y copies all of them" if more > 0 else shown


def with_text(about: Content, text: str) -> Content:
    """The facts about a row, and below them the beginning of a text."""
    return Content("\n\n").join([about, plain_content(text)]) if text else about


def with_difference(about: Content, lines: Sequence[DiffLine]) -> Content:
    """The facts about a row, and below them the lines of a diff."""
    parts, room = [about, Content("")] if lines else [about], MAX_SHOWN
    for number, line in enumerate(lines):
        if room < 0:
            parts.append(Content(f"… {len(lines) - number:,} more lines"))
            break
        parts.append(Content.styled(f"{line.sign} {line.text[:room]}", SIGN_LOOKS[line.sign]))
        room -= len(line.text)
    return Content("\n").join(parts)


def short(text: str) -> str:
    """Shorten any text for use in a line."""
    return cut(one_line(text[: 4 * _MAX_PART]), _MAX_PART)


def score_lines(result: ScoredEntry, recall: RecallResult) -> list[Spans]:
    """The score and its parts, and whether the memory is injected."""
    if recall.mode == SIMILAR:
        by_vector = result.vector_score is not None
        score = result.vector_score if by_vector else result.keyword_score
        look = "vector" if by_vector else "keyword"
        return [[(f"similarity {score_text(score)}", look), (f": {recall.scale}", "muted")]]
    # Lucid appends the scale of its results to that of the database.
    is_known = recall.scale.partition(";")[0] in ("0..1", "raw bm25")
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
    """The score, and its rule if that is not ZeroClaw's scoring of keywords and vectors."""
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
