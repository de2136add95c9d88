"""Asking before something is done: the answer that changes nothing always has the focus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import Key
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from zeroclaw_tui.curation.audit.secrets import masked
from zeroclaw_tui.curation.copies.copies import find_copies, summary, texts_of_plan
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.query import NEWEST_STORED
from zeroclaw_tui.tui.changes import (
    copies_words,
    plan_categories,
    plan_extent,
    plan_remarks,
    plan_title,
    worth_telling,
)
from zeroclaw_tui.tui.format import count_text
from zeroclaw_tui.tui.looks import ACCENT, MUTED
from zeroclaw_tui.tui.widgets.memory_list import MemoryList
from zeroclaw_tui.tui.widgets.packed_facts import PackedFacts

if TYPE_CHECKING:
    from zeroclaw_tui.curation.changes import PurgePlan
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.memory.change import Stamp
    from zeroclaw_tui.memory.entry import Handle

MOST_LOOKED_FOR = 2000
"""For more memories than this, copies are looked for once they are deleted and not while a person decides."""
_LINES_BESIDE = 20
"""What the plan of a few needs for everything that is no memory."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: the key that gives it, its words, a remark beside them. The first answer is the one that keeps."""

    key: str
    words: str
    remark: str = ""


class NumberInput(Input):
    """A line for a number, that leaves every other key to its screen."""

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Only what can be part of a number is typed here."""
        return character is not None and (character.isdecimal() or character == ",")

    def on_key(self, event: Key) -> None:
        """Let the letters through to the screen's keys."""
        if event.is_printable and not self.check_consume_key(event.key, event.character):
            event.prevent_default()


class QuestionScreen(ModalScreen[bool]):
    """A title, what it is about, and No and Yes. Gives True for Yes; escape and whatever else gives False."""

    CSS_PATH = "confirm.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,n", "dismiss(False)", "leave it"),
        Binding("y", "dismiss(True)", "do it"),
        Binding("j", "cursor('down')", "down", show=False),
        Binding("k", "cursor('up')", "up", show=False),
    ]

    def __init__(self, title: str, body: Content, no: str, yes: str) -> None:
        super().__init__()
        self._title = title
        self._body = body
        self._answers = (Answer("n", no), Answer("y", yes))

    def compose(self) -> ComposeResult:
        """Title, what it is about, the answers, the keys."""
        with Vertical(id="question"):
            yield Static(Content(self._title), id="title")
            yield Static(self._body, id="body")
            yield OptionList(*options_of(self._answers), id="answers", markup=False, compact=True)
            yield Static("enter choose   y n answer   esc leave it", id="keys", markup=False)

    def on_mount(self) -> None:
        """Nothing happens by accident."""
        self.query_one(OptionList).highlighted = 0

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Give the answer."""
        self.dismiss(event.option_index == 1)

    def action_cursor(self, way: str) -> None:
        """Move like in a list."""
        options = self.query_one(OptionList)
        options.action_cursor_down() if way == "down" else options.action_cursor_up()


class PurgeScreen(ModalScreen[bool]):
    """What a removal of several memories would remove. Gives True when it shall be done.

    A few are all shown and confirmed like a question; of many the first are shown, `v` shows all, and their number has
    to be typed.
    """

    CSS_PATH = "confirm.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "step_out", "keep everything", priority=True),
        Binding("v", "toggle_all", "see all"),
        Binding("y", "confirm", "delete", show=False),
        Binding("n,q", "dismiss(False)", "keep", show=False),
    ]

    def __init__(self, library: Library, plan: PurgePlan, now: datetime) -> None:
        super().__init__()
        self._library = library
        self._plan = plan
        self._now = now

    def compose(self) -> ComposeResult:
        """The plan, the memories, where they go, and how to confirm."""
        plan = self._plan
        shown = self._first()
        with Vertical(id="plan"):
            yield Static(Content(plan_title(plan)), id="title")
            categories = PackedFacts(id="categories")
            categories.facts = tuple(plan_categories(plan))
            yield categories
            yield Static(Content(plan_extent(plan)), id="facts")
            yield MemoryList(id="doomed")
            if len(shown) < plan.count:
                more = f"… {count_text(plan.count - len(shown))} more "
                yield Static(Content.assemble(more, ("(v to see all)", ACCENT)), id="more")
            yield Static(Content(plan_remarks(self._library, plan)), id="remarks")
            yield Static("", id="where", markup=False)
            if plan.is_typed:
                with Horizontal(id="typed"):
                    yield Static(Content(f"Type {count_text(plan.count)} to purge:"), id="ask")
                    yield NumberInput(id="number", compact=True, restrict="[0-9,]*")
            answers = (Answer("n", "Keep everything"), Answer("y", f"Delete all {count_text(plan.count)}"))
            if not plan.is_typed:
                yield OptionList(*options_of(answers), id="answers", markup=False, compact=True)
            yield Static(self._keys(), id="keys", markup=False)

    def on_mount(self) -> None:
        """Show the memories, look for their copies, and let nothing happen by accident."""
        rows = self.query_one(MemoryList)
        rows.can_focus = False
        rows.set_look(sort=NEWEST_STORED, now=self._now, show_agent=False)
        self._show_rows(self._first())
        self.set_class(len(self._first()) < self._plan.count, "-cut")
        if self._plan.is_typed:
            self.query_one(Input).focus()
        else:
            answers = self.query_one(OptionList)
            answers.highlighted = 0
            answers.focus()
        if self._plan.count <= MOST_LOOKED_FOR:
            self.run_worker(self._look_for_copies(), group="copies")
        else:
            self.query_one("#where", Static).update("Copies elsewhere are looked for once they are in the trash.")

    def on_memory_list_rows_wanted(self, event: MemoryList.RowsWanted) -> None:
        """Load the rows that come into sight."""
        event.stop()
        self.run_worker(self._load(event.handles), group="rows")

    def on_memory_list_row_highlighted(self, event: MemoryList.RowHighlighted) -> None:
        """Nothing else follows the cursor here."""
        event.stop()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Only the very number will do."""
        event.stop()
        if event.value.replace(",", "") == str(self._plan.count):
            self.dismiss(True)
        elif event.value:
            self.query_one("#keys", Static).update(Content(f"That is another number.   {self._keys()}"))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Give the answer."""
        self.dismiss(event.option_index == 1)

    def on_key(self, event: Key) -> None:
        """Move between the answers as in a list."""
        if event.key in ("j", "k") and not self._plan.is_typed and not self.has_class("-all"):
            answers = self.query_one(OptionList)
            answers.action_cursor_down() if event.key == "j" else answers.action_cursor_up()

    def action_confirm(self) -> None:
        """Yes, where a key is enough."""
        if not self._plan.is_typed:
            self.dismiss(True)

    def action_toggle_all(self) -> None:
        """Every memory in a list to scroll, or the short plan again."""
        rows = self.query_one(MemoryList)
        shows_all = not self.has_class("-all")
        rows.can_focus = shows_all
        self.set_class(shows_all, "-all")
        self._show_rows(self._plan.stamps if shows_all else self._first())
        (rows if shows_all else self.query_one("#number, #answers")).focus()
        self.query_one("#keys", Static).update(Content(self._keys()))

    def action_step_out(self) -> None:
        """From the whole list to the plan, from there back with everything kept."""
        if self.has_class("-all"):
            self.action_toggle_all()
        else:
            self.dismiss(False)

    def _first(self) -> Sequence[Stamp]:
        """What the short plan shows: the samples of many; of a few as many as there is room for."""
        if self._plan.is_typed:
            return self._plan.samples
        return self._plan.stamps[: max(len(self._plan.samples), self.app.size.height - _LINES_BESIDE)]

    def _keys(self) -> str:
        if self.has_class("-all"):
            return "v the plan again   tab to the answer   esc back"
        return "enter purge   esc keeps everything" if self._plan.is_typed else "enter choose   y n answer   esc keep"

    def _show_rows(self, stamps: Sequence[Stamp]) -> None:
        rows = self.query_one(MemoryList)
        rows.styles.height = None if self.has_class("-all") else len(stamps) + 1
        rows.show_order([stamp.handle for stamp in stamps])

    async def _load(self, handles: Sequence[Handle]) -> None:
        try:
            entries = await self._library.memory.rows(handles)
        except InspectorError as error:
            self.notify(str(error), title=error.title, severity="error", markup=False)
            return
        shown = [replace(entry, content=masked(entry.content)) for entry in entries]
        # None is left where the question was answered while they were read.
        for rows in self.query(MemoryList):
            rows.put_rows(shown)

    async def _look_for_copies(self) -> None:
        where = self.query_one("#where", Static)
        try:
            found = await find_copies(self._library, await texts_of_plan(self._library, self._plan))
        except InspectorError as error:
            where.update(Content(f"Copies elsewhere could not be looked for: {error.message}"))
            return
        where.update(Content(copies_words(summary(worth_telling(found)))))


def options_of(answers: Sequence[Answer]) -> list[Option]:
    """Answers as lines of a list, each with its key."""
    return [
        Option(Content.assemble((answer.key, ACCENT), f"  {answer.words}", (f"   {answer.remark}", MUTED)))
        for answer in answers
    ]
