"""Everything about one memory: where it comes from, its content as plain text, and how its score was made."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.style import Style
from textual.widgets import Static

from zeroclaw_tui.memory.days import absolute_time, moment
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import RecallResult, ScoredEntry
from zeroclaw_tui.memory.text import display_text, one_line, size_shown
from zeroclaw_tui.memory.text_difference import DiffLine, Sign
from zeroclaw_tui.tui.format import NO_HIGHLIGHTS, Highlights, cleaned, relative_age
from zeroclaw_tui.tui.themes import score_colours
from zeroclaw_tui.tui.widgets.growing_text import GrowingText
from zeroclaw_tui.tui.widgets.score_lines import DOT, Spans, score_lines, short
from zeroclaw_tui.tui.widgets.table_list import EMPTY_CONTENT, EMPTY_KEY

MAX_SHOWN = 20_000
"""Characters of a content that are shown."""
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MAX_KEY = 300
_LINES_BEFORE_MATCH = 3
_MIN_FRAMED = 12
"""Lines from which a list and its detail have frames."""
_TAB = 4
_SECONDS_TO_LIGHT = 0.05
_SIGN_COLOURS: dict[Sign, str] = {"+": "good", "-": "bad", "~": "text", " ": "muted", "…": "faint"}


def origin_parts(entry: MemoryEntry, now: datetime | None) -> list[str]:
    """Category, date, session and agent; what the entry does not have is left out."""
    written = absolute_time(entry.when)
    if moment(entry.when) is None:
        created = f"no readable date: {written}" if entry.when.strip() else written
    else:
        created = f"created {written}" + (f" ({relative_age(entry.when, now)})" if now is not None else "")
    parts = [short(entry.category) or "no category", created]
    if entry.dated and entry.dated != entry.timestamp:
        parts.append("day from the file's name (ours)")
    if entry.updated_at and absolute_time(entry.updated_at) != absolute_time(entry.timestamp):
        parts.append(f"updated {absolute_time(entry.updated_at)}")
    for name, value in (("session", entry.session_id), ("agent", entry.agent), ("tenant", entry.tenant_id)):
        if value:
            parts.append(f"{name} {short(value)}")
    if entry.namespace and entry.namespace != "default":
        parts.append(f"namespace {short(entry.namespace)}")
    return parts


def fact_parts(entry: MemoryEntry) -> list[str]:
    """Vector, size, marks and id; what the entry does not have is left out."""
    parts = []
    if entry.embedding_dimensions:
        parts.append(f"{entry.embedding_dimensions}-d vector")
    parts.append(size_shown(entry.size))
    if entry.pinned:
        parts.append("◆ pinned")
    if entry.importance is not None:
        parts.append(f"importance {entry.importance:.2f}")
    if entry.kind:
        parts.append(f"kind {short(entry.kind)}")
    if entry.metadata:
        parts.append(f"metadata {short(entry.metadata)}")
    if entry.withheld:
        parts.append(f"✗ withheld from the agent: {short(entry.withheld)}")
    if entry.superseded_by == "":
        parts.append("→ superseded, replacement not recorded")
    elif entry.superseded_by is not None:
        parts.append(f"→ superseded by {short(entry.superseded_by) or 'another'}")
    parts.append(short(entry.id) if _UUID.fullmatch(entry.id) else f"id {short(entry.id)}")
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
    MemoryDetail > #detail-content { margin: 0 0 1 0; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.now: datetime | None = None
        """The moment that relative ages count to; without it only the dates are shown."""
        self._entry: MemoryEntry | None = None
        self._result: ScoredEntry | None = None
        self._recall: RecallResult | None = None
        self._lights = NO_HIGHLIGHTS
        self._width = 0

    def compose(self) -> ComposeResult:
        yield GrowingText(id="detail-head")
        yield PlainContent(id="detail-content")
        yield GrowingText(id="detail-facts")

    def show(
        self,
        entry: MemoryEntry,
        result: ScoredEntry | None,
        recall: RecallResult | None,
        lights: Highlights = NO_HIGHLIGHTS,
    ) -> None:
        """Show one memory, with its score when it was recalled. An excerpt may be followed by the whole.

        `lights` are lit up in key and content. The place of reading stays while it is the same memory.
        """
        old, is_lit_alike = self._entry, self._lights is lights
        if old is None or (old.handle, old.id) != (entry.handle, entry.id):
            self.scroll_home(animate=False)
        is_same_text = old is not None and (old.content, old.is_excerpt) == (entry.content, entry.is_excerpt)
        self._entry, self._result, self._recall, self._lights = entry, result, recall, lights
        self._paint_around()
        if not (is_same_text and is_lit_alike):
            self._paint_content()

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, lambda _: self._paint())
        self._paint()

    def on_resize(self) -> None:
        """Break the head's lines for the new width."""
        if self._width != self.scrollable_content_region.width:
            self._paint_around()

    def _paint(self) -> None:
        self._paint_around()
        self._paint_content()

    def _paint_around(self) -> None:
        """Key and origin above the content, the facts and the score below it."""
        entry, self._width = self._entry, self.scrollable_content_region.width
        if entry is None or not self.children:
            return
        head, facts = self.query_one("#detail-head", Static), self.query_one("#detail-facts", Static)
        width = max(20, self._width)
        raw = entry.key[:_MAX_KEY]
        key, lit = cleaned(raw, self._lights.spans(raw), one_line)
        title = self._lit(key, lit) if key else self._styled([[(EMPTY_KEY, "faint")]])
        origin = origin_parts(entry, self.now)
        if title.cell_length <= width // 2:
            # A short key has its origin next to it.
            first, *rest = packed(origin, width - title.cell_length - 2)
            title += self._styled([[(f"  {first}", "muted")]])
            origin = DOT.join(rest).split(DOT) if rest else []
        muted: list[Spans] = [[(line, "muted")] for line in packed(origin, width)]
        head.update(Content("\n").join([title, *map(self._styled, ([line] for line in muted))]))
        lines: list[Spans] = [[(line, "muted")] for line in packed(fact_parts(entry), width)]
        if self._result is not None and self._recall is not None:
            lines = [*score_lines(entry, self._result, self._recall), *lines]
        facts.update(self._styled(lines))

    def _paint_content(self) -> None:
        entry = self._entry
        if entry is None or not self.children:
            return
        plain = self.query_one(PlainContent)
        if not entry.content:
            plain.show(EMPTY_CONTENT)
            return
        line = plain.show(entry.content, self._lights)
        if not entry.is_excerpt and line is not None:
            # The line is there for a scroll to it only when the new height is.
            self.call_after_refresh(self._bring_into_sight, line)

    def _bring_into_sight(self, line: int) -> None:
        """Scroll to a line of the content, with a few lines before it."""
        y = self.query_one(PlainContent).virtual_region.y + line
        if y >= self.scroll_offset.y + self.scrollable_content_region.height:
            self.scroll_to(y=y - _LINES_BEFORE_MATCH, animate=False, force=True)

    def _lit(self, text: str, spans: Sequence[tuple[int, int]]) -> Content:
        """A title with its matches lit."""
        colours = score_colours(self.app)
        content = Content(text).stylize(Style(foreground=colours["text"], bold=True))
        for start, end in spans:
            style = Style(foreground=colours[self._lights.colour], bold=True, underline=True)
            content = content.stylize(style, start, end)
        return content

    def _styled(self, lines: list[Spans]) -> Content:
        """Lines of spans in the theme's colours; text is never read as markup."""
        colours = score_colours(self.app)
        return Content("\n").join(
            Content("").join(
                Content(text).stylize(Style(foreground=colours[name], bold=name == "final")) for text, name in line
            )
            for line in lines
        )


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
        if lines:
            plain.show_difference(lines)
        else:
            plain.show(text)
        self.set_class(bool(lines or text), "-goes-on")
        self.scroll_home(animate=False)


class ListAndDetail(Container):
    """A list above its detail, or next to it on a screen that is `-wide`, each in a frame with its title.

    In a low window there are no frames.
    """

    # The class that a wide screen has is outside of this widget.
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

    def __init__(self, *titles: str) -> None:
        super().__init__()
        self._titles = titles

    def on_mount(self) -> None:
        for pane, title in zip(self.children, self._titles, strict=True):
            pane.border_title = title

    def on_resize(self) -> None:
        self.set_class(self.size.height < _MIN_FRAMED, "-low")


class PlainContent(GrowingText):
    """The beginning of a text as plain text, or the lines of a difference."""

    def show(self, content: str, lights: Highlights = NO_HIGHLIGHTS) -> int | None:
        """Show a text with what is looked for lit up; gives the line of the first match."""
        raw = content[:MAX_SHOWN]
        text, spans = cleaned(raw, lights.spans(raw, _SECONDS_TO_LIGHT), display_text)
        shown = Content(text)
        style = Style(foreground=score_colours(self.app)[lights.colour], bold=True, underline=True)
        for start, end in spans:
            shown = shown.stylize(style, start, end)
        if len(content) > MAX_SHOWN:
            shown += Content(f"\n… {len(content) - MAX_SHOWN:,} more characters; y copies all of them")
        self.update(shown.expand_tabs(_TAB))
        if not spans or not self.size.width:
            return None
        return len(Content(text[: spans[0][0]]).expand_tabs(_TAB).wrap(self.size.width)) - 1

    def show_difference(self, lines: Sequence[DiffLine]) -> None:
        """Show lines with + and - before them."""
        colours, parts, left = score_colours(self.app), [], MAX_SHOWN
        for number, line in enumerate(lines):
            if left < 0:
                parts.append(Content(f"… {len(lines) - number:,} more lines"))
                break
            style = Style(foreground=colours[_SIGN_COLOURS[line.sign]])
            parts.append(Content(f"{line.sign} {line.text[:left]}").stylize(style))
            left -= len(line.text)
        self.update(Content("\n").join(parts))
