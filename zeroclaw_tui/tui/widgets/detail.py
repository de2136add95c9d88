"""Everything about one memory: where it comes from, its whole content as plain text, and how its score was made."""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import accumulate
from operator import itemgetter
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.app import ComposeResult, RenderResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.markup import MarkupError
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Static

from zeroclaw_tui.backends.matching import Span
from zeroclaw_tui.memory.days import absolute_time, moment
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import SIMILAR, RecallResult, ScoredEntry
from zeroclaw_tui.memory.text import display_text, one_line, size_shown
from zeroclaw_tui.memory.text_difference import DiffLine, Sign
from zeroclaw_tui.scoring.profiles import ScoringProfile, profile_for
from zeroclaw_tui.tui.format import (
    NO_HIGHLIGHTS,
    Highlights,
    cleaned,
    fit,
    lit_cell,
    next_line,
    relative_age,
    score_text,
    segments,
    wrapped,
)
from zeroclaw_tui.tui.themes import score_colours
from zeroclaw_tui.tui.widgets.growing_text import GrowingText
from zeroclaw_tui.tui.widgets.rows import EMPTY_CONTENT, EMPTY_KEY, is_from_lucid, why_not_injected

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from textual.widgets import Markdown

Spans = list[tuple[str, str]]
"""Pieces of a line with the name of their colour in `score_colours`."""
DOT = " · "
OF_LUCID = "◇ from the lucid program; it cannot be changed here"
KNOWN_SCALES = ("0..1", "raw bm25")
"""The scales of ZeroClaw's own scoring of words and vectors; every other one is only named."""
FROM_THE_NAME = "day from the file's name (ours)"
_LONGEST_PART = 120
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_HALF_LIFE_DAYS = 7
_DAY_SECONDS = 86_400
_CANDIDATES = 2
_FEW_LINES = 8
_LAYING_OUT = "detail-markdown"
_LONGEST_TITLE = 300
_LINES_BEFORE_MATCH = 3
MOST_SHOWN = 200_000
_AT_ONCE = 10_000
_TAB = 4
_LIT_AT_ONCE = 20_000
_SECONDS_TO_LIGHT = 1.0
"""How long a pattern may be matched against one content, in a thread."""
_LIGHTING = "lighting"
MOST_MARKDOWN = 20_000
_MOST_TOKENS = 1_500
# An entity would turn into a character that was not seen before, such as a bidi control.
_ACTING_RULES = ["entity", "link", "image", "autolink", "linkify", "reference", "html_inline", "html_block"]

_GUTTER = 2
_SIGN_COLOURS: dict[Sign, str] = {"+": "good", "-": "bad", "~": "text", " ": "muted", "…": "faint"}


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
    parts.append(size_shown(entry.size))
    if entry.pinned:
        parts.append("◆ pinned")
    if entry.importance is not None:
        parts.append(f"importance {entry.importance:.2f}")
    if entry.kind:
        parts.append(f"kind {_part(entry.kind)}")
    if entry.metadata:
        parts.append(f"metadata {_part(entry.metadata)}")
    if entry.withheld:
        parts.append(f"✗ withheld from the agent: {_part(entry.withheld)}")
    if entry.superseded_by == "":
        parts.append("→ superseded, replacement not recorded")
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
    """How similar it is, and by which score."""
    is_by_vector = result.vector_score is not None
    near = score_text(result.vector_score if is_by_vector else result.keyword_score)
    lines: list[Spans] = [
        [(f"similarity {near}", "vector" if is_by_vector else "keyword"), (f": {recall.scale}", "muted")]
    ]
    if result.shared:
        lines.append([("both have ", "muted"), (", ".join(map(_part, result.shared)), "keyword")])
    return lines


def formula(result: ScoredEntry, recall: RecallResult, profile: ScoringProfile) -> Spans:
    """The score as the sum, quotient or plain number it is in this version's rules.

    What counts is the way of the whole search: in a merge a row found by one stage alone is weighted too.
    """
    if result.score is None:
        why = "listed by time of storing"
        if is_from_lucid(result):
            why = "lucid gives none"
        elif recall.program is not None:
            why = f"{recall.program} ranks nothing without a query vector"
        return [("no score", "final"), (f": {why}", "muted")]
    lead: Spans = [("final ", "muted"), (score_text(result.score), "final"), (" = ", "muted")]
    is_known = _is_known(recall)
    match result.stage:
        case "like":
            words = "found by text search, where every hit scores 1"
            return [*lead[:2], (f": {words}", "muted")]
        case "keyword" if recall.mode != "hybrid" and is_known:
            return lead + _keyword_only(result, profile)
        case "vector" if recall.mode != "hybrid" and profile.plain_vector_only and is_known:
            return [*lead, ("cosine unchanged: the search has no keyword hit", "vector")]
        case "hybrid" | "keyword" | "vector" if is_known:
            return lead + _weighted(result, recall.weights, profile)
    source = f", from the {_part(result.source)}" if result.source not in (None, "active") else ""
    return [*lead[:2], (f": by the rule of {_part(result.stage)} ({_part(recall.scale)}){source}", "muted")]


def _keyword_only(result: ScoredEntry, profile: ScoringProfile) -> Spans:
    if not profile.normalises_keyword_only:
        return [("bm25 unchanged: the search has no vectors", "keyword")]
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
        next_to_it = f" / {score_text(best)}" if best is not None else ""
        facts.append(f"{_raw_name(recall)} {score_text(result.keyword_raw)}{next_to_it}")
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
    words = f", place {result.place}" if result.place is not None else ""
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
    return "bm25" if _is_known(recall) else _part(recall.scale)


def _best_raw(result: ScoredEntry) -> float | None:
    if result.keyword_raw is None or not result.keyword_score:
        return None
    return result.keyword_raw / result.keyword_score


def _part(text: str) -> str:
    shown = one_line(text[: 4 * _LONGEST_PART])
    return shown if len(shown) <= _LONGEST_PART else shown[: _LONGEST_PART - 1] + "…"


class ReadingPane(VerticalScroll, can_focus=True, inherit_bindings=False):
    """A pane next to or below a list, or in its place, that takes the focus and scrolls."""

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

    def action_half_page(self, way: int) -> None:
        self.scroll_relative(y=way * max(1, self.scrollable_content_region.height // 2), animate=False)


class MemoryDetail(ReadingPane):
    """One memory in full, scrolling with the keys of the list."""

    DEFAULT_CSS = """
    MemoryDetail {
        & > #detail-content { margin: 1 0; }
        & > #detail-note { margin: 0 0 1 0; }
        & > #detail-markdown { padding: 0; margin: 1 0 0 0; }
        &.-few-lines > #detail-content { margin: 0 0 1 0; }
        &.-few-lines > #detail-markdown { margin: 0; }
    }
    """
    as_markdown: reactive[bool] = reactive(False, init=False)
    """Whether the content is laid out as Markdown; text that cannot be stays plain and says so."""
    lights: reactive[Highlights] = reactive(NO_HIGHLIGHTS, init=False)
    """What is lit up in key and content."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._entry: MemoryEntry | None = None
        self._result: ScoredEntry | None = None
        self._recall: RecallResult | None = None
        self._norm: float | None = None
        self._sentence = ""
        self._width = 0
        self.now: datetime | None = None
        """The moment that relative ages count to when it is painted next; without it only the dates are shown."""

    def compose(self) -> ComposeResult:
        yield GrowingText(id="detail-head")
        yield PlainContent(id="detail-content")
        yield GrowingText(id="detail-note")
        yield GrowingText(id="detail-score")

    def show(
        self,
        entry: MemoryEntry,
        result: ScoredEntry | None,
        recall: RecallResult | None,
        norm: float | None = None,
    ) -> None:
        """Show one memory, with its score when it was recalled. An excerpt may be followed by the whole.

        `norm` is the length of its vector. The place of reading stays while it is the same memory.
        """
        old = self._entry
        if old is None or (old.handle, old.id) != (entry.handle, entry.id):
            self.scroll_home(animate=False)
        is_same_text = old is not None and (old.content, old.is_excerpt) == (entry.content, entry.is_excerpt)
        self._entry, self._result, self._recall, self._norm = entry, result, recall, norm
        self._paint_around()
        if not is_same_text:
            self._paint_content()

    def show_nothing(self, sentence: str) -> None:
        """Show no memory, and one sentence in its place."""
        self._entry, self._sentence = None, sentence
        self._paint_around()
        self._paint_content()
        self.scroll_home(animate=False)

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, lambda _: self._paint_around())
        self._paint_around()
        self._paint_content()

    def on_resize(self) -> None:
        """Break the head's lines for the new width, and join them where there are few."""
        if self._measure():
            self._paint_around()

    def on_plain_content_match_reached(self, event: PlainContent.MatchReached) -> None:
        """Bring the first match into sight, with a few lines before it."""
        event.stop()
        plain = self.query_one(PlainContent)
        line = plain.virtual_region.y + event.line
        if line >= self.scroll_offset.y + self.scrollable_content_region.height:
            self.scroll_to(y=line - _LINES_BEFORE_MATCH, animate=False, force=True)

    def watch_lights(self) -> None:
        self._paint_around()
        self._paint_content()

    def watch_as_markdown(self) -> None:
        self._paint_content()

    def on_markdown_link_clicked(self, event: Markdown.LinkClicked) -> None:
        event.stop()
        event.prevent_default()

    def _measure(self) -> bool:
        """Go by the size there is now; whether it leaves other room for the head."""
        before = (self._width, self.has_class("-few-lines"))
        if self.size:
            self._width = self.scrollable_content_region.width
            self.set_class(self.size.height <= _FEW_LINES, "-few-lines")
        return before != (self._width, self.has_class("-few-lines"))

    def _paint_around(self) -> None:
        if not self.children:
            return
        # Textual 8.2.8 posts no Resize for a size that it had to work out for somebody else before.
        self._measure()
        head, foot = self._around_content()
        self.query_one("#detail-head", Static).update(head)
        score = self.query_one("#detail-score", Static)
        score.update(self._styled(foot))
        score.display = bool(foot)

    def _paint_content(self) -> None:
        if not self.children:
            return
        self.workers.cancel_group(self, _LAYING_OUT)
        content = self._entry.content if self._entry is not None else ""
        refused = self._why_not_markdown(content)
        self._show_plain(refused)
        if self.as_markdown and refused is None and content.strip():
            # Not a coroutine: a worker cancelled before its first step would leave that behind, never awaited.
            laying_out: Callable[[], Awaitable[None]] = partial(self._lay_out, display_text(content))
            self.run_worker(laying_out, group=_LAYING_OUT, exclusive=True)

    def _show_plain(self, refused: str | None) -> None:
        entry = self._entry
        plain = self.query_one(PlainContent)
        plain.display = entry is not None
        # What stands for an empty content is no match for anything.
        lights = self.lights if entry is not None and entry.content else NO_HIGHLIGHTS
        plain.show("" if entry is None else entry.content or EMPTY_CONTENT, lights)
        for markdown in self.query("#detail-markdown"):
            markdown.display = False
        note = self.query_one("#detail-note", Static)
        words = self._note(refused)
        note.display = bool(words)
        note.update(self._styled([[(words, "faint")]]))

    async def _lay_out(self, text: str) -> None:
        try:
            markdown = await self._markdown()
            # Built out of sight, so that nobody sees it without its lights.
            markdown.display = False
            await markdown.update(text)
            lit = [block for block in markdown.query(Static) if _made_harmless(block, self.lights, self._match_style())]
            markdown.display = True
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError, MarkupError):
            self._show_plain("it cannot be rendered")
        else:
            self.query_one(PlainContent).display = False
            if lit:
                self.call_after_refresh(self.scroll_to_widget, lit[0], animate=False)

    def _match_style(self) -> Style:
        return Style(foreground=score_colours(self.app)[self.lights.colour], bold=True, underline=True)

    def _why_not_markdown(self, content: str) -> str | None:
        if not self.as_markdown:
            return None
        if len(content) > MOST_MARKDOWN:
            return f"longer than {MOST_MARKDOWN:,} characters"
        # Every block becomes a widget of its own.
        return "too many paragraphs, items or cells" if len(inert_parser().parse(content)) > _MOST_TOKENS else None

    async def _markdown(self) -> Markdown:
        from textual.widgets import Markdown

        for shown in self.query(Markdown):
            return shown
        shown = Markdown(id="detail-markdown", parser_factory=inert_parser, open_links=False)
        await self.mount(shown, after="#detail-content")
        return shown

    def _around_content(self) -> tuple[Content, list[Spans]]:
        """The head, and the lines under the content; where there are few lines the head takes one of them only."""
        entry = self._entry
        if entry is None:
            return self._styled([[(self._sentence, "faint")]]), []
        raw = entry.key[:_LONGEST_TITLE]
        key, lit = cleaned(raw, self.lights.spans(raw), one_line)
        title = (key, "text") if key else (EMPTY_KEY, "faint")
        origin, facts = origin_parts(entry, self.now), fact_parts(entry, self._norm)
        width = max(20, self._width)
        score = score_lines(entry, self._result, self._recall) if self._result and self._recall else []
        if not self.has_class("-few-lines"):
            about = [[(line, "muted")] for parts in (origin, facts) for line in packed(parts, width)]
            return self._styled([[title], *about], title, lit), score
        if key:
            key, lit = lit_cell(raw, min(cell_len(key), width // 2), self.lights)
        title = (key, "text") if key else (fit(EMPTY_KEY, min(len(EMPTY_KEY), width // 2)), "faint")
        next_to_it, *rest = packed(origin, width - cell_len(title[0]) - 2)
        about = [[(line, "muted")] for line in packed([*DOT.join(rest).split(DOT), *facts] if rest else facts, width)]
        return self._styled([[title, ("  " + next_to_it, "muted")]], title, lit), [*about, *score]

    def _note(self, refused: str | None) -> str:
        entry = self._entry
        if entry is None:
            return ""
        if entry.is_excerpt:
            return "…"
        notes = []
        if len(entry.content) > MOST_SHOWN:
            more = f"{len(entry.content) - MOST_SHOWN:,}"
            notes.append(f"… {more} more characters of {size_shown(entry.size)}; y copies all of them")
        if refused is not None:
            notes.append(f"shown as plain text: {refused}")
        return "\n".join(notes)

    def _styled(self, lines: list[Spans], title: tuple[str, str] | None = None, lit: Sequence[Span] = ()) -> Content:
        """Lines of spans in the theme's colours, matches in the title lit; text is never read as markup."""
        colours = score_colours(self.app)
        pieces: list[Content] = []
        for at, line in enumerate(lines):
            if at:
                pieces.append(Content("\n"))
            for span in line:
                text, name = span
                style = Style(foreground=colours[name], bold=True if span is title or name == "final" else None)
                piece = Content(text).stylize(style)
                for start, end in lit if span is title else ():
                    piece = piece.stylize(self._match_style(), start, end)
                pieces.append(piece)
        return Content("").join(pieces)


def inert_parser() -> MarkdownIt:
    """A parser of GitHub's Markdown that knows neither links nor pictures nor HTML, its entities included.

    What a memory holds of these stays the text it is, address and all.
    """
    # It takes a tenth of the time to the first frame, and most people never press the key.
    from markdown_it import MarkdownIt

    parser = MarkdownIt("gfm-like", {"html": False, "linkify": False})
    return parser.disable(_ACTING_RULES, ignoreInvalid=True)


def _made_harmless(block: Static, lights: Highlights, lit: Style) -> bool:
    """Light up the matches in a block; whether there are any. Its tooltip goes: Textual reads a cell's as markup."""
    block.tooltip = None
    content = block.content
    spans = lights.spans(content.plain) if isinstance(content, Content) else ()
    for start, end in spans:
        content = content.stylize(lit, start, end)  # type: ignore[union-attr]
    if spans:
        block.update(content)
    return bool(spans)


class AboutPane(ReadingPane):
    """All about the row of a list: words, then a difference, else a text."""

    DEFAULT_CSS = "AboutPane.-goes-on > Static { margin-bottom: 1; }"

    def compose(self) -> ComposeResult:
        yield Static("", id="about", markup=False)
        yield PlainContent()

    def show(self, about: Content, lines: Sequence[DiffLine] = (), text: str = "") -> None:
        """Show this, from its beginning."""
        self.query_one("#about", Static).update(about)
        plain = self.query_one(PlainContent)
        plain.show_difference(lines) if lines else plain.show(text)
        self.set_class(bool(lines or text), "-goes-on")
        self.scroll_home(animate=False)


class ListAndDetail(Container):
    """A list above its detail; next to it on a screen that is `-wide`."""

    # What a screen is wide enough for stands outside of it.
    SCOPED_CSS = False
    DEFAULT_CSS = """
    ListAndDetail { width: 1fr; height: 1fr; margin-top: 1; layout: vertical; }
    ListAndDetail > * { width: 1fr; height: 1fr; }
    ListAndDetail > ReadingPane {
        width: 1fr; height: 40%; min-height: 3; padding: 0 1; border-top: solid $border-blurred;
    }
    .-wide ListAndDetail { layout: horizontal; }
    .-wide ListAndDetail > ReadingPane {
        width: 38%; min-width: 44; height: 1fr; padding: 0 1 0 3; border-top: none;
    }
    """


class PackedFacts(Widget):
    """As high as its facts need at its width. They are shown as they are: clean them first."""

    DEFAULT_CSS = "PackedFacts { width: 1fr; height: auto; }"

    facts: reactive[tuple[str, ...]] = reactive((), layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._lines(width))

    def render(self) -> RenderResult:
        return Content("\n".join(self._lines(self.content_size.width)))

    def _lines(self, width: int) -> list[str]:
        return [line for part in packed(self.facts, width) for line in wrapped(part, width)]


class PlainContent(Widget):
    """Plain text of any length, or the lines of a difference.

    Only a first piece is wrapped before it is painted; the rest follows between frames.
    """

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    PlainContent {
        width: 1fr;
        height: auto;
    }
    """

    @dataclass
    class MatchReached(Message):
        """The first match is on this line, counted from 0."""

        line: int

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._text = ""
        self._spans: Sequence[Span] = ()
        self._colour = NO_HIGHLIGHTS.colour
        self._signs: Sequence[tuple[int, Sign]] = ()
        """Of a difference where each of its lines begins in the text, and its sign."""
        self._is_first_described = False
        self._lines: list[str] = []
        self._starts: list[int] = []
        self._start = 0
        self._width = 0
        self._is_waiting = False

    @property
    def lines(self) -> list[str]:
        """The lines that are wrapped so far."""
        return self._lines

    @property
    def is_wrapping(self) -> bool:
        """Whether lines are still to come."""
        return self._start < len(self._text)

    def show(self, content: str, lights: Highlights = NO_HIGHLIGHTS) -> None:
        """Show the first 200,000 characters of a memory's content, with what is looked for lit up.

        In a long one the matches are looked for in a thread, and are lit a moment later.
        """
        shown = content[:MOST_SHOWN]
        self._colour = lights.colour
        self.workers.cancel_group(self, _LIGHTING)
        is_long = len(shown) > _LIT_AT_ONCE
        self._take(*_laid_out(shown, () if is_long else lights.spans(shown)))
        if is_long and lights:
            # Not a coroutine: a worker cancelled before its first step would leave that behind, never awaited.
            lighting: Callable[[], Awaitable[None]] = partial(self._light_later, shown, lights)
            self.run_worker(lighting, group=_LIGHTING, exclusive=True)

    def show_difference(self, lines: Sequence[DiffLine]) -> None:
        """Show lines with + and - before them."""
        self.workers.cancel_group(self, _LIGHTING)
        starts = accumulate((len(line.text) + 1 for line in lines), initial=0)
        signs = [(start, line.sign) for start, line in zip(starts, lines, strict=False)]
        self._take("".join(f"{line.text}\n" for line in lines), (), signs)

    async def _light_later(self, content: str, lights: Highlights) -> None:
        def look() -> tuple[str, Sequence[Span]]:
            return _laid_out(content, lights.spans(content, _SECONDS_TO_LIGHT))

        text, spans = await asyncio.to_thread(look)
        if spans:
            self._take(text, spans)

    def _take(self, text: str, spans: Sequence[Span], signs: Sequence[tuple[int, Sign]] = ()) -> None:
        self._text, self._spans, self._signs = text, spans, signs
        self._is_first_described = False
        self._restart(self._width)
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        if width != self._width:
            self._restart(width)
        return len(self._lines)

    def render_line(self, y: int) -> Strip:
        style = RichStyle(color=self.rich_style.color, bgcolor=self.rich_style.bgcolor)
        if y >= len(self._lines):
            return Strip.blank(self.size.width, style)
        line, start = self._lines[y], self._starts[y]
        if self._signs:
            sign = self._signs[bisect_right(self._signs, start, key=itemgetter(0)) - 1][1]
            blank = RichStyle(bgcolor=self.rich_style.bgcolor)
            look = blank + RichStyle(color=score_colours(self.app)[_SIGN_COLOURS[sign]].rich_color)
            return Strip([Segment(f"{sign} {line}", look)]).adjust_cell_length(self.size.width, blank)
        lit = [(max(0, first - start), min(len(line), last - start)) for first, last in self._spans_in(start, line)]
        colour = score_colours(self.app)[self._colour].rich_color
        match = style + RichStyle(color=colour, bold=True, underline=True)
        return Strip(segments(line, lit, style, match)).adjust_cell_length(self.size.width, style)

    def _spans_in(self, start: int, line: str) -> Sequence[Span]:
        first = bisect_right(self._spans, start, key=itemgetter(1))
        last = bisect_left(self._spans, start + len(line), key=itemgetter(0))
        return self._spans[first:last]

    def _restart(self, width: int) -> None:
        self._width = width
        self._lines = []
        self._starts = []
        self._start = 0
        self._wrap_more()

    def _wrap_more(self) -> None:
        until = min(self._start + _AT_ONCE, len(self._text))
        width = self._width - (_GUTTER if self._signs else 0)
        while width > 0 and self._start < until:
            self._starts.append(self._start)
            line, self._start = next_line(self._text, self._start, width)
            self._lines.append(line)
        self._describe_first()
        if width > 0 and self.is_wrapping and not self._is_waiting:
            self._is_waiting = self.call_after_refresh(self._go_on)

    def _describe_first(self) -> None:
        """Say where the first match is, once that line is wrapped."""
        if self._spans and not self._is_first_described and self._start > self._spans[0][0]:
            self._is_first_described = True
            line = bisect_right(self._starts, self._spans[0][0]) - 1
            # The line is there for a scroll to it only when the new height is.
            self.call_after_refresh(self.post_message, self.MatchReached(line))

    def _go_on(self) -> None:
        self._is_waiting = False
        self._wrap_more()
        self.refresh(layout=True)


def _laid_out(content: str, spans: Sequence[Span]) -> tuple[str, Sequence[Span]]:
    """A content as it is shown, and where the spans are in that."""
    text, shown = cleaned(content, spans, display_text)
    if not shown or "\t" not in text:
        return text.expandtabs(_TAB), shown
    # How wide a tab is depends on what is before it on its line.
    pieces, edges, moved, at, column = text.split("\t"), [edge for span in shown for edge in span], list[int](), 0, 0
    place, number = 0, 0
    for piece in pieces:
        while number < len(edges) and edges[number] <= at + len(piece):
            moved.append(place + edges[number] - at)
            number += 1
        end = piece.rfind("\n")
        column = column + len(piece) if end < 0 else len(piece) - end - 1
        blanks = _TAB - column % _TAB
        place += len(piece) + blanks
        at += len(piece) + 1
        column += blanks
    return text.expandtabs(_TAB), list(zip(moved[::2], moved[1::2], strict=True))
