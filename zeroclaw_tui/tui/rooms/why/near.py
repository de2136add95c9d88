"""The memories nearest to one of them: by their vectors where it has one, else by the rare words they share."""

from __future__ import annotations

from collections.abc import Callable

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.content import Content
from textual.widget import Widget

from zeroclaw_tui.curation.similar import SimilarMemory, SimilarResult, similar_memories
from zeroclaw_tui.memory.days import absolute_time
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.text import cut, display_text, one_line
from zeroclaw_tui.tui.format import bar, fit, score_text
from zeroclaw_tui.tui.rooms.why.trial import WAITING, Inquiry, Pane
from zeroclaw_tui.tui.themes import MUTED, STRONG
from zeroclaw_tui.tui.widgets.detail import PackedFacts, PlainContent, ReadingPane
from zeroclaw_tui.tui.widgets.header import Empty
from zeroclaw_tui.tui.widgets.lines import TitleLine
from zeroclaw_tui.tui.widgets.rows import EMPTY_CONTENT, EMPTY_KEY, cut_key
from zeroclaw_tui.tui.widgets.table_list import Column, TableList

MOST_SHOWN = 50
_BAR, _NUMBER = 8, 5
_WORDS, _WORDS_FROM = 30, 120
_WIDE, _NARROW_KEY, _WIDE_KEY = 100, 16, 28
_LONGEST = 200
_LONGEST_FACT = 60


class NearPane(Pane):
    """The nearest memories with their scores, and the one under the cursor to be read on."""

    tab = "near"
    heading = "In the list"
    no_entry = (
        "Near to which memory?",
        "Choose one where memories are listed, and see which others say nearly the same.",
        (("w", "what is recalled for the message"), ("esc", "out")),
    )
    failed_words = ("Nothing could be compared.", "", (("r", "try again"), ("esc", "out")))

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(inquiry)
        self.found: SimilarResult | None = None
        self.answered: tuple[int, Handle] | None = None
        self._read: Handle | None = None
        self._rows = TableList[SimilarMemory]((), key=lambda near: near.entry.id, id="neighbours")
        self._text = ReadingPane()

    def compose(self) -> ComposeResult:
        yield TitleLine(id="of")
        yield Empty()
        with Container(id="list-and-text"):
            yield self._rows
            with Vertical(id="neighbour"):
                yield PackedFacts()
                with self._text:
                    yield PlainContent()

    @property
    def has_answer(self) -> bool:
        """Whether neighbours are on the screen."""
        return self.found is not None

    @property
    def reader(self) -> Widget | None:
        """The list, where there is one."""
        return None if self.has_class("-empty") else self._rows

    @property
    def copied(self) -> str | None:
        """The content under the cursor."""
        near = self._rows.selected
        return None if near is None else near.entry.content

    @property
    def chosen(self) -> MemoryEntry | None:
        """The neighbour under the cursor, once somebody went on to it."""
        return self.neighbour if self._rows.cursor else None

    @property
    def neighbour(self) -> MemoryEntry | None:
        """The neighbour under the cursor."""
        near = self._rows.selected
        return None if near is None or self.has_class("-empty") else near.entry

    async def ask(self) -> Callable[[], None]:
        """Compare this memory with the others."""
        inquiry, question = self.inquiry, self.question
        found = await similar_memories(inquiry.library, entry=inquiry.entry, limit=MOST_SHOWN)

        def show() -> None:
            is_same = self.answered is not None and question is not None and self.answered[1] == question[1]
            self.answered = question
            self._show(found, keeps_cursor=is_same)

        return show

    def forget(self) -> None:
        """Nothing is compared."""
        self.found = self.answered = None
        self.notes = ()
        self.paint()

    def paint(self) -> None:
        """As much of the key as fits."""
        entry, width = self.inquiry.entry, self.app.size.width - 2
        if self.answered is not None and (entry is None or self.answered[1] != entry.handle):
            self.found = self.answered = None
        if self.found is None and entry is not None:
            self.show_empty(WAITING)
        elif self.found is not None:
            self._rows.set_columns(_columns(self.found, is_wide=width >= _WIDE))
        lead, rest = "Near to ", ""
        if entry is None:
            self.query_one("#of", TitleLine).update(Content.styled("What is near to a memory", STRONG))
            return
        if self.found is not None and self.is_answered and entry.content:
            rest = f"  {one_line(entry.content[:_LONGEST])}"
        room = max(12, width // 3 if rest else width - cell_len(lead) - 2)
        key = f"“{fit(one_line(entry.key[:_LONGEST]) or EMPTY_KEY, room).rstrip()}”"
        rest = fit(rest, max(0, width - cell_len(lead) - cell_len(key))).rstrip()
        self.query_one("#of", TitleLine).update(Content.assemble((lead + key, STRONG), (rest, MUTED)))

    def step_out(self) -> bool:
        """From the text to the list."""
        if self.is_in(self._text):
            self.screen.set_focus(self._rows)
            return True
        return False

    def other_pane(self) -> None:
        """From the list to the text, and back."""
        if not self.step_out() and not self.has_class("-empty"):
            self.screen.set_focus(self._text)

    def open(self) -> None:
        """Read on in the memory under the cursor."""
        if not self.has_class("-empty"):
            self.screen.set_focus(self._text)

    @property
    def question(self) -> tuple[int, Handle] | None:
        entry = self.inquiry.entry
        return None if entry is None else (self.inquiry.number, entry.handle)

    def _show(self, found: SimilarResult, *, keeps_cursor: bool) -> None:
        self.found = found
        by = "their vectors" if found.way == "vector" else "rare words"
        compared = f"{found.looked_at:,} compared by {by}"
        self.notes = (f"{len(found.results)} near", compared, *([found.because] if found.because else []))
        if found.results:
            self.remove_class("-empty")
        else:
            because = f"{compared}. {found.because or ''}".rstrip()
            self.show_empty(("Nothing is near to it.", because, (("x", "why it is recalled, or not"), ("esc", "out"))))
        rows = self._rows
        rows.set_rows(found.results, cursor=None if keeps_cursor else 0)
        self.paint()

    def on_table_list_row_highlighted(self) -> None:
        """Show the neighbour under the cursor."""
        near = self._rows.selected
        if near is None or near.entry.handle == self._read:
            return
        self._read = near.entry.handle
        entry = near.entry
        facts = [entry.key or EMPTY_KEY, entry.category or "no category", absolute_time(entry.when)]
        facts += [f"session {entry.session_id}"] if entry.session_id else []
        facts += [f"both have {', '.join(near.shared)}"] if near.shared else []
        self.query_one(PackedFacts).facts = tuple(cut(one_line(fact[:_LONGEST]), _LONGEST_FACT) for fact in facts)
        self.query_one(PlainContent).show(entry.content)
        self._text.scroll_home(animate=False)


def _columns(found: SimilarResult, *, is_wide: bool) -> list[Column[SimilarMemory]]:
    """Key, memory, how near it is, and in a wide list the words in common."""
    look = "vector" if found.way == "vector" else "keyword"

    def nearness(near: SimilarMemory) -> Content:
        number = fit(score_text(near.score), _NUMBER, "right")
        return Content.assemble((bar(near.score, _BAR), look), (number, "muted"))

    widest = max((cell_len(near.entry.key[:_WIDE_KEY]) for near in found.results), default=0)
    keys = min(max(_NARROW_KEY, widest), _WIDE_KEY) if is_wide else _NARROW_KEY
    columns: list[Column[SimilarMemory]] = [
        Column("key", lambda near: near.entry.key or EMPTY_KEY, width=keys, shortened=cut_key),
        Column("memory", lambda near: display_text(near.entry.content[:2000]) or EMPTY_CONTENT, flex=True),
    ]
    if any(near.shared for near in found.results):
        columns.append(
            Column("both have", lambda near: ", ".join(near.shared), _WORDS, hidden_below=_WORDS_FROM, look="muted")
        )
    title = "cosine" if found.way == "vector" else "shared words"
    return [*columns, Column(title, nearness, _BAR + _NUMBER)]
