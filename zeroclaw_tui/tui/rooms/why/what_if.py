"""What-if: the settings of a trial, its recall compared with the current one, and saving it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.containers import Container, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from zeroclaw_tui.backends.lookup import count_facets
from zeroclaw_tui.curation.recall import GatheredEvidence, gather_evidence
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, SearchInterrupted
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.recall import RecallResult, ScoredEntry
from zeroclaw_tui.scoring.profiles import Trial
from zeroclaw_tui.scoring.what_if import ComparedRow, Comparison, compare
from zeroclaw_tui.tui.commands import show_failure, warn
from zeroclaw_tui.tui.dialogs import Answer, Field, Form, choice, profile_question, review_question
from zeroclaw_tui.tui.format import score_text, shown_line, shown_words
from zeroclaw_tui.tui.rooms.why.pane import EmptyWords, Pane
from zeroclaw_tui.tui.rooms.why.trial import (
    SETTINGS,
    Inquiry,
    Setting,
    StoreFacts,
    Tried,
    command_words,
    complaint_sentences,
    idle_because,
)
from zeroclaw_tui.tui.themes import MUTED, STRONG, WARNING
from zeroclaw_tui.tui.widgets.growing_text import GrowingText
from zeroclaw_tui.tui.widgets.header import Empty
from zeroclaw_tui.tui.widgets.lines import TitleLine
from zeroclaw_tui.tui.widgets.rows import Ranking, final_score
from zeroclaw_tui.tui.widgets.table_list import EMPTY_CONTENT, EMPTY_KEY, Column, TableList, cut_key

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

MANY = 2_000
"""From so many memories on reading them may take long enough to say how many there are."""
_REPLAY = "what-if-replay"
_MOVES = {
    "enters": ("+ enters", "good"),
    "leaves": ("− leaves", "bad"),
    "new": ("• new", "faint"),
    "gone": ("○ gone", "faint"),
}
_STAYS = ("✓ stays", "muted")
_NO_LONGER = "no longer recalled"
_MOVE = 8
_KEY, _SETTING = 16, 15
_MOVES_FROM, _NUMBERS_FROM, _KEYS_FROM = 50, 56, 90
"""Cells of the list from which it has the words of moves, the parts of scores, and keys."""


@dataclass(frozen=True, slots=True)
class StoreAnswer:
    """What the store holds for a message: the recall as it is, evidence for it and for the trial, and its sessions."""

    before: RecallResult
    gathered: tuple[GatheredEvidence, ...]
    sessions: tuple[str, ...]
    memories: int


class WhatIfPane(Pane):
    """The settings and the list that follows them: evidence is gathered once a message, and decided on at every key."""

    tab = "what_if"
    heading = "In what-if"
    no_message = (
        "No message yet.",
        "Type a message to see what other settings would recall for it.",
        (("/", "type a message"), ("esc", "out")),
    )
    failed_fact = "The recall failed."

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(inquiry)
        self.answer: StoreAnswer | None = None
        self.comparison: Comparison | None = None
        self.memories: int | None = None
        """How many memories there are, as soon as they are counted."""
        columns = (
            Column[Setting]("setting", self._name_of, width=_SETTING),
            Column[Setting]("value", self._value_of, flex=True),
        )
        self.settings: TableList[Setting] = TableList(columns, SETTINGS, id="settings")
        self.rows = ComparisonList()
        self._is_replaying = False

    def compose(self) -> ComposeResult:
        yield TitleLine(id="headline")
        with Container(id="trial-and-list"):
            with Vertical(id="trial"):
                yield self.settings
                yield GrowingText(id="about")
                yield GrowingText(id="complaints")
            with Container(id="compared"):
                yield self.rows
                yield Empty()

    def on_mount(self) -> None:
        self.paint()
        self.go_to_first()

    def go_to_first(self) -> None:
        """Choose the first setting that is tried, else the first that does something here."""
        tried, store = self.inquiry.tried, self.store
        shown = tried.changed or SETTINGS
        works = (at for at, one in enumerate(SETTINGS) if one in shown and not idle_because(one.name, tried.now, store))
        self.settings.cursor = next(works, 0)

    @property
    def question(self) -> tuple[int, Trial]:
        """What the evidence and the recall as it is depend on."""
        return self.inquiry.number, self.inquiry.tried.before

    @property
    def is_answered(self) -> bool:
        """Whether the trial can be decided on what was gathered for this message."""
        return super().is_answered and self._serving() is not None

    @property
    def reader(self) -> Widget | None:
        """The settings: they work before there is an answer too."""
        return self.settings

    @property
    def copied(self) -> str | None:
        """The command that recalls like this."""
        return command_words(self.inquiry.library, self.inquiry.tried)

    @property
    def is_in_list(self) -> bool:
        """Whether keys go to the memories; the list itself learns of its focus only later than the next key comes."""
        return self.screen.focused is self.rows

    @property
    def setting(self) -> Setting:
        """The setting that is chosen."""
        return SETTINGS[self.settings.cursor]

    @property
    def store(self) -> StoreFacts:
        """What of this store decides which settings do something."""
        gathered = self._serving() or (self.answer.gathered[0] if self.answer is not None else None)
        return StoreFacts.of(self.inquiry.library, None if gathered is None else gathered.evidence[0])

    @property
    def effect(self) -> str:
        """The result of the trial in one line; empty while nothing is modified or known."""
        return self.comparison.words if self.comparison is not None and self.inquiry.tried.changed else ""

    async def ask(self) -> Callable[[], None]:
        """Everything the trial can be decided from; what was gathered for this message already is kept."""
        inquiry, question = self.inquiry, self.question
        library, tried = inquiry.library, inquiry.tried
        facets = await count_facets(library.memory, MemoryFilter(), tried.before.request.as_of)
        self.memories = facets.total
        gathered = list(self.answer.gathered) if self.answer is not None and self.answered == question else []
        gathered = gathered or [await gather_evidence(library, tried.before)]
        recalled = await gathered[0].replay(tried.before)
        if not any(one.serves(tried.now) for one in gathered):
            gathered.append(await gather_evidence(library, tried.now))
        sessions = tuple(name for name in facets.session or () if name)

        def show() -> None:
            self.answered, self.answer = question, StoreAnswer(recalled, tuple(gathered), sessions, facets.total)
            self.decide()

        return show

    def decide(self) -> None:
        """Decide what is tried on what was gathered, or ask for more of it."""
        self.paint()
        if self.answered is None:
            return
        if self._serving() is None:
            self.post_message(self.MoreWanted())
        elif not self._is_replaying:
            self._is_replaying = True
            self.run_worker(self._replay(), group=_REPLAY)

    def paint(self) -> None:
        """Settings, what the chosen one does, what is wrong with them, and their result."""
        if self.answered is None:
            self.answer = self.comparison = None
        tried, store = self.inquiry.tried, self.store
        self.settings.refresh()
        idle = idle_because(self.setting.name, tried.now, store)
        about = shown_words(idle[1] if idle else self.setting.about)
        self.query_one("#about", Static).update(Content.styled(about, MUTED))
        sentences = () if self.missing else complaint_sentences(self.inquiry.library, tried.now, store)
        complaints = self.query_one("#complaints", Static)
        complaints.update(Content("\n").join(Content.styled(f"▲ {shown_words(one)}", WARNING) for one in sentences))
        complaints.display = bool(sentences)
        memories = None if self.answer is None else self.answer.memories
        self.query_one("#headline", TitleLine).update(_headline(self.comparison, tried, memories))

    def other_pane(self) -> None:
        """From the settings to the list, and back."""
        is_left = self.is_in_list or self.has_class("-empty")
        self.screen.set_focus(self.settings if is_left else self.rows)

    def choose(self) -> None:
        """Type a number, or choose from all there is."""
        setting, tried = self.setting, self.inquiry.tried
        if self._says_idle():
            return

        def take(value: Any) -> None:
            if value is not None:
                self.try_out(setting.put(tried, value))

        if setting.range is not None:
            self._type_number(setting)
        elif setting.name == "scoring profile":
            self.app.push_screen(profile_question(tried.now.profile.version), take)
        else:
            values = list(setting.choices(tried, self._sessions))
            answers = [Answer("", setting.words(value), at) for at, value in enumerate(values)]
            current = values.index(setting.get(tried))
            question = choice(f"Which {setting.name}?", answers, current)
            self.app.push_screen(
                question, lambda at: None if at is None else self.try_out(setting.put(tried, values[at]))
            )

    def _type_number(self, setting: Setting) -> None:
        tried = self.inquiry.tried

        def below(values: Mapping[str, str]) -> Content:
            setting.typed(tried, values["number"])
            return Content(setting.about)

        def take(values: Mapping[str, str] | None) -> None:
            if values is not None:
                self.try_out(setting.typed(tried, values["number"]))

        field = Field("number", setting.name, str(setting.get(tried)))
        self.app.push_screen(Form(f"The {setting.name}: {setting.takes}", None, [field], below), take)

    def on_table_list_row_highlighted(self, event: TableList.RowHighlighted) -> None:
        if event.table is self.settings:
            self.paint()
        elif self.is_in_list:
            self.inquiry.entry = self.rows.entry

    def step(self, way: int, *, is_big: bool = False) -> None:
        """The chosen setting a step on."""
        if not self._says_idle():
            self.try_out(self.setting.moved(self.inquiry.tried, way, self._sessions, is_big=is_big))

    def reset(self) -> None:
        """The chosen setting as it was."""
        self.try_out(self.inquiry.tried.without(self.setting))

    def try_out(self, tried: Tried) -> None:
        """Decide with these settings."""
        self.inquiry.tried = tried
        self.decide()
        self.post_message(self.Changed())

    @property
    def _sessions(self) -> Sequence[str]:
        """The sessions that can be tried, the busiest first."""
        return self.answer.sessions if self.answer is not None else ()

    def _name_of(self, setting: Setting) -> Content:
        is_idle = idle_because(setting.name, self.inquiry.trial, self.store) is not None
        return Content.styled(setting.name, "faint" if is_idle else "muted")

    def _value_of(self, setting: Setting) -> Content:
        """What it was and is, or why it does nothing."""
        tried = self.inquiry.tried
        now, idle = setting.words(setting.get(tried)), idle_because(setting.name, tried.now, self.store)
        was = f"{setting.words(setting.get_before(tried))} → " if setting in tried.changed else ""
        if idle is not None:
            return Content.styled(f"{was}{now}  {idle[0]}", "faint")
        return Content.assemble((was, "muted"), (now, "final" if was else "text"))

    def _serving(self) -> GatheredEvidence | None:
        if self.answer is None:
            return None
        return next((one for one in self.answer.gathered if one.serves(self.inquiry.trial)), None)

    async def _replay(self) -> None:
        """Decide the newest trial; answers to older ones are dropped."""
        try:
            while (answer := self.answer) is not None:
                tried, gathered = self.inquiry.tried, self._serving()
                if gathered is None:
                    return
                after = await gathered.replay(tried.now)
                if tried is self.inquiry.tried and answer is self.answer:
                    self._show_after(answer, after)
                    return
        except SearchInterrupted:
            # The message changed: its own answer comes.
            return
        except InspectorError as error:
            show_failure(self, error)
        finally:
            self._is_replaying = False

    def _show_after(self, answer: StoreAnswer, after: RecallResult) -> None:
        inquiry = self.inquiry
        self.comparison = compare(answer.before, after)
        if self.comparison.rows or after.withheld:
            self.remove_class("-empty")
            self.rows.show(self.comparison, inquiry.entry)
        else:
            if self.is_in_list:
                self.screen.set_focus(self.settings)
            self.show_empty(_nothing_words(inquiry.tried, after))
            self.rows.set_rows(())
        # That there are no vectors here at all is next to the weights.
        self.notes = tuple(note for note in after.notes if note != inquiry.library.why_no_vectors)
        self.paint()
        self.post_message(self.Changed())

    def _says_idle(self) -> bool:
        idle = idle_because(self.setting.name, self.inquiry.trial, self.store)
        if idle is not None:
            warn(self, idle[1])
        return idle is not None


async def write_settings(app: App[Any], library: Library, trial: Trial, now: datetime, effect: str) -> bool:
    """Show what changes in config.toml, and save it when that is wanted; `effect` describes the result of the trial.

    The library scores by it from then on. Runs in a worker. Raises Refused when there is nothing to write or the file
    changed in the meantime, UsageError, BrokenConfig, Unreadable.
    """
    from zeroclaw_tui.curation.setting_change import plan_settings_change, save_settings_change

    change = await asyncio.to_thread(plan_settings_change, library, trial)
    words = f"For this message, with the modified settings: {effect}." if effect else ""
    if not await app.push_screen_wait(review_question(change, words)):
        return False
    await save_settings_change(library, change, now)
    return True


def _headline(comparison: Comparison | None, tried: Tried, memories: int | None) -> Content:
    """The result of the trial, and among how many memories."""
    if comparison is None:
        return Content.styled("What would be recalled with other settings", STRONG)
    among = "" if memories is None else f" of {memories:,} memories"
    recalled = f" · {len(comparison.after.results)} recalled{among}"
    if tried.changed:
        return Content.assemble((comparison.words, STRONG), (recalled, MUTED))
    injected = f"injected {comparison.after.injected}"
    return Content.assemble((injected, STRONG), (f"{recalled} · settings not modified", MUTED))


def _nothing_words(tried: Tried, after: RecallResult) -> EmptyWords:
    """The words instead of a list: nothing is recalled, with the old or the modified settings."""
    sentence = after.notes[0] if after.notes else "No stage of the search finds a memory, so no setting can help."
    if tried.now.request.session_id is not None:
        sentence = "The recall is limited to one session. Set session to any."
    back = (("\\", "reset the settings"),) if tried.changed else ()
    return "Nothing is recalled for this message.", sentence, (("/", "another message"), *back)


@dataclass(frozen=True, slots=True)
class _Row:
    """One memory: its result, what becomes of it, and why it stays out where the threshold's line does not say so.

    `compared` is None for what is withheld from the agent before and after. The line of the threshold has no result.
    """

    result: ScoredEntry | None
    compared: ComparedRow | None = None
    is_dim: bool = False
    reason: str | None = None
    threshold: float = 0.0

    @property
    def entry(self) -> MemoryEntry | None:
        return None if self.result is None else self.result.entry


class ComparisonList(TableList[_Row]):
    """The later recall in its order, then what it withholds and what it recalls no more.

    The threshold is a line of its own between the rows, where the cursor does not stop.
    """

    def __init__(self) -> None:
        super().__init__((), key=lambda row: row.entry and row.entry.id, divider=self._threshold_line, id="comparison")

    @property
    def entry(self) -> MemoryEntry | None:
        """The memory under the cursor."""
        row = self.selected
        return None if row is None else row.entry

    def show(self, comparison: Comparison, entry: MemoryEntry | None) -> None:
        """Show a comparison, the cursor on that memory where it is recalled, else on the first."""
        rows = _rows(comparison)
        at = next((at for at, row in enumerate(rows) if entry and row.entry and row.entry.id == entry.id), 0)
        self.set_rows(rows, cursor=at)
        self._lay_out()

    def on_resize(self) -> None:
        super().on_resize()
        self._lay_out()

    def _threshold_line(self, row: _Row) -> str | None:
        """The line between what reaches the threshold and what does not; None for a memory."""
        if row.result is not None:
            return None
        words = f"{'─' * _MOVE}──  threshold {score_text(row.threshold)}: below is not injected  "
        return words + "─" * max(0, self.scrollable_content_region.width - 2 - cell_len(words))

    def _lay_out(self) -> None:
        self.set_columns(_columns([row for row in self.rows if row.result], self.size.width))


def _rows(comparison: Comparison) -> list[_Row]:
    """Every line of the list from top to bottom."""
    ranking = Ranking.of(comparison.after)
    after = {row.result.entry.id: row for row in comparison.rows if row.rank_after is not None}
    without = {row.result.entry.id: row for row in comparison.rows if row.rank_after is None}
    rows = []
    for ranked in ranking.rows:
        compared = (without if ranked.result.withheld else after).get(ranked.result.entry.id)
        rows.append(_Row(ranked.result, compared, ranked.is_dim, ranked.reason, ranking.threshold))
    if ranking.line_at is not None:
        rows.insert(ranking.line_at, _Row(None, threshold=ranking.threshold))
    withheld = {result.entry.id for result in comparison.after.withheld}
    gone = [row for row in without.values() if row.result.entry.id not in withheld]
    rows += [_Row(row.result, row, True, _NO_LONGER, ranking.threshold) for row in gone]
    return rows


def _columns(rows: Sequence[_Row], width: int) -> list[Column[_Row]]:
    """Its change, rank, key, memory, the final score and its parts, as there is room."""
    columns: list[Column[_Row]] = [
        Column(
            "",
            _move if width >= _MOVES_FROM else lambda row: _move(row)[:1],
            width=_MOVE if width >= _MOVES_FROM else 1,
        ),
        Column("", _rank, width=len(str(len(rows))) + 1, right=True, look="muted"),
        Column("key", _key, width=_KEY, hidden_below=_KEYS_FROM),
        Column("memory", _memory, flex=True),
    ]
    scores = [("", "")] + [final_score(row.result, row.threshold) for row in rows if row.result is not None]
    width_of_scores = max(5, *(cell_len(before + compared) for before, compared in scores))
    columns.append(Column("final", _final, width=width_of_scores, right=True))
    for name, part in (("vector", "vector_score"), ("keyword", "keyword_score")):
        if any(getattr(row.result, part) is not None for row in rows):
            columns.append(_part(name, part))
    return columns


def _part(name: str, part: str) -> Column[_Row]:
    return Column(name, lambda row: _number(row, part, name), width=len(name), right=True, hidden_below=_NUMBERS_FROM)


def _number(row: _Row, part: str, look: str) -> Content:
    value = getattr(row.result, part)
    return Content.styled(score_text(value), "faint" if row.is_dim or value is None else look)


def _move(row: _Row) -> Content:
    if row.compared is None:
        return Content("")
    unmoved = _STAYS if row.compared.is_injected else ("", "faint")
    return Content.styled(*_MOVES.get(row.compared.move, unmoved))


def _rank(row: _Row) -> str:
    """Its place, and whether it rose or sank among what is recalled."""
    compared, result = row.compared, row.result
    if result is None or result.withheld or (compared is not None and compared.rank_after is None):
        return ""
    before = result.rank if compared is None or compared.rank_before is None else compared.rank_before
    return f"{result.rank}{' ' if before == result.rank else '↑' if result.rank < before else '↓'}"


def _key(row: _Row) -> Content | str:
    key = row.entry.key if row.entry is not None else ""
    return _dimmed(cut_key(key, _KEY) if key else EMPTY_KEY, row, is_faint=not key)


def _memory(row: _Row) -> Content | str:
    """Why it is not injected, where the threshold's line does not say so, and how it begins."""
    content = row.entry.content if row.entry is not None else ""
    words = content if content.strip() else EMPTY_CONTENT
    return _dimmed(f"{row.reason} · {words}" if row.reason else words, row, is_faint=not content.strip())


def _final(row: _Row) -> Content:
    """The number that is compared with the threshold, after what it was before decay or rerank."""
    assert row.result is not None
    before, compared = final_score(row.result, row.threshold)
    return Content.assemble((before, "faint"), (compared, "faint" if row.is_dim else "final"))


def _dimmed(text: str, row: _Row, *, is_faint: bool = False) -> Content | str:
    # A styled text is not cleaned where it is drawn.
    return Content.styled(shown_line(text), "faint") if row.is_dim or is_faint else text
