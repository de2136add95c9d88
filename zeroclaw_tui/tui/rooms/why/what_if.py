"""What-if: the settings of a trial, its recall compared with the current one, and saving it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from zeroclaw_tui.backends.lookup import count_facets
from zeroclaw_tui.curation.recall import GatheredEvidence, gather_evidence
from zeroclaw_tui.curation.setting_change import complaints_of
from zeroclaw_tui.curation.trial_settings import SETTINGS, Setting, Tried
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.recall import RecallResult
from zeroclaw_tui.scoring.profiles import Trial
from zeroclaw_tui.scoring.what_if import ComparedRow, Comparison, compare
from zeroclaw_tui.tui.commands import Command
from zeroclaw_tui.tui.dialogs import Answer, Field, Form, choice
from zeroclaw_tui.tui.format import fit, shown_line, shown_words
from zeroclaw_tui.tui.rooms.why.pane import Inquiry, Pane
from zeroclaw_tui.tui.themes import MUTED, WARNING
from zeroclaw_tui.tui.widgets.header import Empty
from zeroclaw_tui.tui.widgets.lines import Banner, GrowingText, StatusBar, TabName, TitleLine
from zeroclaw_tui.tui.widgets.memory_list import RankedRow, ranked_columns, ranked_rows, threshold_words
from zeroclaw_tui.tui.widgets.table_list import EMPTY_CONTENT, Column, TableList

_MOVES = {
    "enters": ("+ enters", "good"),
    "leaves": ("− leaves", "bad"),
    "new": ("• new", "faint"),
    "gone": ("○ gone", "faint"),
}
_STAYS = ("✓ stays", "muted")
_MOVE, _SETTING = 8, 15
_MOVES_FROM = 50
"""Cells of the list from which it has the words of moves."""


class WhatIfPane(Pane):
    """The settings and the list that follows them: evidence is gathered once a message, and judged at every key."""

    NAME = TabName("what_if", "w", "what-if")
    KEYS: ClassVar[Sequence[Command]] = (
        Command("less", "left,minus", "less", "The chosen setting a step down", True),
        Command("more", "right,plus,equals_sign", "more", "The chosen setting a step up", True),
        Command("reset", "backspace", "reset", "Reset the chosen setting"),
        Command("choose", "enter", "choose", "Choose a value or type a number; in the list: its stages", True),
        Command("other_pane", "tab,shift+tab", "pane", "From the settings to the list, and back"),
    )

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(inquiry)
        self._gathered: list[GatheredEvidence] = []
        """The evidence for the recall as it is, then for trials that need more."""
        self._gathered_for: tuple[int, Trial] | None = None
        self._before: RecallResult | None = None
        """The recall with the settings as they are."""
        self.comparison: Comparison | None = None
        self.sessions: Sequence[str] = ()
        """The sessions that can be tried, the busiest first."""
        columns = (
            Column[Setting]("setting", lambda setting: setting.name, width=_SETTING, look="muted"),
            Column[Setting]("value", self._value_of, flex=True),
        )
        self.settings: TableList[Setting] = TableList(columns, SETTINGS, id="settings")
        self.rows = TableList[RankedRow](
            self._columns,
            heading=lambda row: threshold_words(row, self.rows.size.width - 3),
            is_left_out=lambda row: row.is_dim,
            id="comparison",
        )
        self._compared: dict[str, ComparedRow] = {}
        """What becomes of each memory, by its id."""

    def compose(self) -> ComposeResult:
        yield Banner()
        yield TitleLine(id="headline")
        with Container(id="trial-and-list"):
            with Vertical(id="trial"):
                yield self.settings
                yield GrowingText(id="about")
                yield GrowingText(id="complaints")
            with Container(id="compared"):
                yield self.rows
                yield Empty()
        yield StatusBar()

    def on_mount(self) -> None:
        self.go_to_first()

    def go_to_first(self) -> None:
        """Choose the first setting that is tried, else the first of all."""
        self.settings.cursor = SETTINGS.index((*self.inquiry.tried.changed, *SETTINGS)[0])

    @property
    def reader(self) -> Widget:
        """The settings: they work before there is an answer too."""
        return self.settings

    @property
    def is_in_list(self) -> bool:
        """Whether keys go to the memories; the list itself learns of its focus only later than the next key comes."""
        return self.screen.focused is self.rows

    @property
    def entry(self) -> MemoryEntry | None:
        """The memory under the cursor of the list."""
        row = self.rows.selected
        return None if row is None else row.result.entry

    @property
    def setting(self) -> Setting:
        """The setting that is chosen."""
        return SETTINGS[self.settings.cursor]

    @property
    def effect(self) -> str:
        """The result of the trial in one line; empty while nothing is modified or known."""
        return self.comparison.words if self.comparison is not None and self.inquiry.tried.changed else ""

    async def load(self) -> None:
        """Compare the trial with the recall as it is; the store is asked once for each message and kind of search."""
        number, _, tried = question = self.inquiry.question
        if self._before is None or self._gathered_for != (number, tried.before):
            facets = await count_facets(self.library.memory, MemoryFilter(), tried.before.request.as_of)
            self.sessions = tuple(name for name in facets.by.get("session", ()) if name)
            evidence = await gather_evidence(self.library, tried.before)
            self._before, self._gathered = await evidence.replay(tried.before), [evidence]
            self._gathered_for = number, tried.before
        serving = next((one for one in self._gathered if one.serves(tried.now)), None)
        if serving is None:
            serving = await gather_evidence(self.library, tried.now)
            self._gathered.append(serving)
        after = await serving.replay(tried.now)
        self.answered, self.comparison = question, compare(self._before, after)
        # That there are no vectors here is among the complaints.
        self.notes = tuple(note for note in after.notes if note != self.library.why_no_vectors)
        rows = _rows(self.comparison)
        self._compared = {row.result.entry.id: row for row in self.comparison.rows}
        wanted = None if self.inquiry.entry is None else self.inquiry.entry.id
        ids = [row.result.entry.id for row in rows]
        self.rows.set_rows(rows, cursor=ids.index(wanted) if wanted is not None and wanted in ids else 0)

    def show_loaded(self) -> None:
        if self.answered is None:
            self.comparison = None
        super().show_loaded()

    def paint(self) -> None:
        """Settings, what the chosen one does, what is wrong with them, and their result."""
        tried = self.inquiry.tried
        self.settings.redraw()
        self.query_one("#about", Static).update(Content.styled(self.setting.about, MUTED))
        sentences = () if self.missing else complaints_of(self.library, tried.now)
        complaints = self.query_one("#complaints", Static)
        complaints.update(Content.styled("\n".join(f"▲ {shown_words(one)}" for one in sentences), WARNING))
        complaints.display = bool(sentences)
        headline, facts = "What would be recalled with other settings", list[str]()
        if self.comparison is not None:
            after = self.comparison.after
            headline = self.effect or f"injected {after.injected}"
            facts = [f"{len(after.results)} recalled", "" if tried.changed else "settings not modified"]
            if not self.rows.rows:
                sentence = after.notes[0] if after.notes else "No stage of the search finds a memory."
                self.show_empty(("Nothing is recalled for this message.", sentence, (("/", "another message"),)))
        self.query_one("#headline", TitleLine).say(headline, *facts)

    def step_out(self) -> bool:
        """From the list to the settings."""
        was_in_list = self.is_in_list
        if was_in_list:
            self.action_other_pane()
        return was_in_list

    def action_other_pane(self) -> None:
        """From the settings to the list, and back."""
        is_left = self.is_in_list or self.has_class("-empty")
        self.screen.set_focus(self.settings if is_left else self.rows)

    def on_table_list_row_opened(self) -> None:
        self.action_choose()

    def action_choose(self) -> None:
        """Show the stages of the memory under the cursor; for a setting, ask for a number or offer all its values."""
        setting, tried = self.setting, self.inquiry.tried
        if self.is_in_list:
            self.room.show_tab("stages")
            return

        def below(typed: Mapping[str, str]) -> Content:
            setting.parsed(typed["number"])
            return Content(setting.about)

        if setting.range is not None:
            field = Field("number", setting.name, str(setting.get(tried.now)))
            form = Form(f"The {setting.name}: {setting.takes}", None, [field], below)
            self.app.push_screen(
                form, lambda typed: self.try_out(setting.put(tried, setting.parsed(typed["number"]))) if typed else None
            )
        else:
            values = list(setting.choices(tried, self.sessions))
            answers = [Answer("", setting.words(value), at) for at, value in enumerate(values)]
            question = choice(f"Which {setting.name}?", answers, values.index(setting.get(tried.now)))
            # By its place, because no session is a value too.
            self.app.push_screen(
                question, lambda at: None if at is None else self.try_out(setting.put(tried, values[at]))
            )

    def on_table_list_row_highlighted(self, event: TableList.RowHighlighted) -> None:
        if event.table is self.settings:
            self.paint()
        elif self.is_in_list:
            self.inquiry.entry = self.entry

    def action_less(self) -> None:
        self._step(-1)

    def action_more(self) -> None:
        self._step(1)

    def _step(self, way: int) -> None:
        self.try_out(self.setting.moved(self.inquiry.tried, way, self.sessions))

    def action_reset(self) -> None:
        """The chosen setting as it was."""
        tried, setting = self.inquiry.tried, self.setting
        self.try_out(setting.put(tried, setting.get(tried.before)))

    def try_out(self, tried: Tried) -> None:
        """Judge with these settings."""
        self.inquiry.tried = tried
        self.open()

    def _value_of(self, setting: Setting) -> Content:
        """What it was and is."""
        tried = self.inquiry.tried
        now = setting.words(setting.get(tried.now))
        if setting not in tried.changed:
            return Content(now)
        was = setting.words(setting.get(tried.before))
        return Content.assemble((f"{was} → ", "muted"), (now, "final"))

    def _move_of(self, row: RankedRow, cells: int) -> Content:
        """What becomes of a memory: its sign, and the word where there is room."""
        compared = self._compared.get(row.result.entry.id)
        is_injected = compared is not None and compared.is_injected
        words, look = _MOVES.get("" if compared is None else compared.move, _STAYS if is_injected else ("", "faint"))
        return Content.styled(words[:cells].ljust(cells), look)

    def _columns(self, width: int) -> Sequence[Column[Any]]:
        cells = _MOVE if width >= _MOVES_FROM else 1
        move = Column[Any]("", width=cells, draw=self._move_of)
        if self.comparison is None:
            return [move]
        return [move, *ranked_columns(width - cells - 1, self.comparison.after, _draw_memory)]


def _rows(comparison: Comparison) -> list[RankedRow]:
    """The later recall in its order, then what it withholds and what it no longer recalls."""
    rows = ranked_rows(comparison.after)
    shown = {row.result.entry.id for row in rows}
    left_out = [row.result for row in comparison.rows if row.result.entry.id not in shown]
    return [*rows, *(RankedRow(result, True, "no longer recalled") for result in left_out)]


def _draw_memory(row: RankedRow, cells: int) -> Content:
    """Why it is not injected, where the threshold's line does not say so, and how it begins."""
    words = shown_line(row.result.entry.content) or EMPTY_CONTENT
    if row.reason:
        words = f"{row.reason} · {words}"
    return Content(fit(words, cells))
