"""Everything about one memory: where it comes from, its whole content, and how its score was made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.content import Content
from textual.markup import MarkupError
from textual.reactive import reactive
from textual.style import Style
from textual.widgets import Static

from zeroclaw_tui.backends.text_search import Span
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import RecallResult, ScoredEntry
from zeroclaw_tui.memory.text import display_text, one_line
from zeroclaw_tui.tui.format import count_text, fit, size_text
from zeroclaw_tui.tui.lighting import NO_LIGHTS, Lights, cleaned, lit_cell
from zeroclaw_tui.tui.themes import score_colours
from zeroclaw_tui.tui.widgets.detail_text import DOT, Spans, fact_parts, origin_parts, packed, score_lines
from zeroclaw_tui.tui.widgets.list_rows import EMPTY_CONTENT, EMPTY_KEY
from zeroclaw_tui.tui.widgets.plain_content import MOST_SHOWN, PlainContent
from zeroclaw_tui.tui.widgets.reading_pane import ReadingPane

if TYPE_CHECKING:
    from textual.widgets import Markdown

    from zeroclaw_tui.tui.widgets.safe_markdown import SafeMarkdown

_FEW_LINES = 8
_LAYING_OUT = "detail-markdown"
_LONGEST_TITLE = 300
_LINES_BEFORE_MATCH = 3


class MemoryDetail(ReadingPane):
    """One memory in full, scrolling with the keys of the list."""

    DEFAULT_CSS = """
    MemoryDetail {
        width: 1fr;
        height: 1fr;
        padding: 0 1;
        scrollbar-size-vertical: 1;
        scrollbar-gutter: stable;

        & > Static { width: 1fr; height: auto; }
        & > #detail-content { margin: 1 0; }
        & > #detail-note { margin: 0 0 1 0; }
        & > #detail-markdown { padding: 0; margin: 1 0 0 0; }
        &.-few-lines > #detail-content { margin: 0 0 1 0; }
        &.-few-lines > #detail-markdown { margin: 0; }
    }
    """
    as_markdown: reactive[bool] = reactive(False, init=False)
    """Whether the content is laid out as Markdown; text that cannot be stays plain and says so."""
    lights: reactive[Lights] = reactive(NO_LIGHTS, init=False)
    """What is lit up in key and content."""
    now: reactive[datetime | None] = reactive(None, init=False)
    """The moment that relative ages count to; without it only the dates are shown."""

    def __init__(self, *, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._entry: MemoryEntry | None = None
        self._result: ScoredEntry | None = None
        self._recall: RecallResult | None = None
        self._norm: float | None = None
        self._sentence = ""
        self._width = 0

    def compose(self) -> ComposeResult:
        """Head, content, a note on what is not shown, and the score; the Markdown view comes when asked for."""
        yield Static(id="detail-head", markup=False)
        yield PlainContent(id="detail-content")
        yield Static(id="detail-note", markup=False)
        yield Static(id="detail-score", markup=False)

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
        """Start empty, and follow the theme."""
        self.app.theme_changed_signal.subscribe(self, lambda _: self._paint_around())
        self._paint_around()
        self._paint_content()

    def on_resize(self) -> None:
        """Break the head's lines for the new width, and join them where there are few."""
        width, has_few_lines = self.scrollable_content_region.width, self.size.height <= _FEW_LINES
        if (width, has_few_lines) != (self._width, self.has_class("-few-lines")):
            self._width = width
            self.set_class(has_few_lines, "-few-lines")
            self._paint_around()

    def on_plain_content_match_reached(self, event: PlainContent.MatchReached) -> None:
        """Bring the first match into sight, with a few lines before it."""
        event.stop()
        plain = self.query_one(PlainContent)
        line = plain.virtual_region.y + event.line
        if line >= self.scroll_offset.y + self.scrollable_content_region.height:
            self.scroll_to(y=line - _LINES_BEFORE_MATCH, animate=False, force=True)

    def watch_lights(self) -> None:
        """Light up other matches."""
        self._paint_around()
        self._paint_content()

    def watch_as_markdown(self) -> None:
        """Lay the content out the other way."""
        self._paint_content()

    def watch_now(self) -> None:
        """Count the age to another moment."""
        self._paint_around()

    def on_markdown_link_clicked(self, event: Markdown.LinkClicked) -> None:
        """Open nothing that a memory names."""
        event.stop()
        event.prevent_default()

    def _paint_around(self) -> None:
        if not self.is_mounted:
            return
        head, foot = self._around_content()
        self.query_one("#detail-head", Static).update(head)
        score = self.query_one("#detail-score", Static)
        score.update(self._styled(foot))
        score.display = bool(foot)

    def _paint_content(self) -> None:
        if not self.is_mounted:
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
        lights = self.lights if entry is not None and entry.content else NO_LIGHTS
        plain.show("" if entry is None else entry.content or EMPTY_CONTENT, lights)
        for markdown in self.query("#detail-markdown"):
            markdown.display = False
        note = self.query_one("#detail-note", Static)
        words = self._note(refused)
        note.display = bool(words)
        note.update(self._styled([[(words, "faint")]]))

    async def _lay_out(self, text: str) -> None:
        try:
            first = await (await self._markdown()).lay_out(text, self.lights, self._match_style())
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError, MarkupError):
            self._show_plain("it cannot be laid out")
        else:
            self.query_one(PlainContent).display = False
            if first is not None:
                self.call_after_refresh(self.scroll_to_widget, first, animate=False)

    def _match_style(self) -> Style:
        return Style(foreground=score_colours(self.app)[self.lights.colour], bold=True, underline=True)

    def _why_not_markdown(self, content: str) -> str | None:
        if not self.as_markdown:
            return None
        # The parser takes a tenth of the time to the first frame, and most people never press the key.
        from zeroclaw_tui.tui.widgets.safe_markdown import why_not_markdown

        return why_not_markdown(content)

    async def _markdown(self) -> SafeMarkdown:
        from zeroclaw_tui.tui.widgets.safe_markdown import SafeMarkdown

        for shown in self.query(SafeMarkdown):
            return shown
        shown = SafeMarkdown(id="detail-markdown")
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
        beside, *rest = packed(origin, width - cell_len(title[0]) - 2)
        about = [[(line, "muted")] for line in packed([*DOT.join(rest).split(DOT), *facts] if rest else facts, width)]
        return self._styled([[title, ("  " + beside, "muted")]], title, lit), [*about, *score]

    def _note(self, refused: str | None) -> str:
        entry = self._entry
        if entry is None:
            return ""
        if entry.is_excerpt:
            return "…"
        notes = []
        if len(entry.content) > MOST_SHOWN:
            more = count_text(len(entry.content) - MOST_SHOWN)
            notes.append(f"… {more} more characters of {size_text(entry.size)}; y copies all of them")
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
