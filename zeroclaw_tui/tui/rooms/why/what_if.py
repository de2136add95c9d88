"""What-if: the settings of a trial, its recall compared with the current one, and saving it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.containers import Container, Vertical
from textual.content import Content
from textual.events import Key
from textual.widget import Widget
from textual.widgets import Static

from zeroclaw_tui.backends.lookup import count_facets
from zeroclaw_tui.curation.recall import GatheredEvidence, gather_evidence
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, SearchInterrupted, UsageError
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.recall import RecallResult, ScoredEntry
from zeroclaw_tui.memory.text import cut
from zeroclaw_tui.scoring.profiles import Trial
from zeroclaw_tui.scoring.what_if import ComparedRow, Comparison, compare
from zeroclaw_tui.tui.commands import show_failure
from zeroclaw_tui.tui.dialogs import Answer, choice, profile_question, review_question
from zeroclaw_tui.tui.format import bar, fit, score_text, shown_line, shown_words
from zeroclaw_tui.tui.rooms.why.trial import (
    SETTINGS,
    EmptyWords,
    NumberSetting,
    Pane,
    SettingLine,
    TrialComparison,
    TrialContext,
    TrialSettings,
    WordSetting,
    command_words,
    complaint_sentences,
    idle_because,
)
from zeroclaw_tui.tui.themes import MUTED, STRONG, WARNING
from zeroclaw_tui.tui.widgets.growing_text import GrowingText
from zeroclaw_tui.tui.widgets.header import Empty
from zeroclaw_tui.tui.widgets.lines import TitleLine
from zeroclaw_tui.tui.widgets.rows import EMPTY_CONTENT, EMPTY_KEY, Ranking, cut_key
from zeroclaw_tui.tui.widgets.table_list import Column, TableList

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.tui.rooms.why.trial import Inquiry

MANY = 2_000
"""From so many memories on reading them may take long enough to say how many there are."""
CURSOR = "▏"
_REPLAY = "what-if-replay"
_DIGITS = frozenset("0123456789")
_POINT = "."
_MOST_TYPED = 9
ENTERS, LEAVES, NEW, GONE, STAYS = "+ enters", "− leaves", "• new", "○ gone", "✓ stays"
_WORDS = {"enters": ENTERS, "leaves": LEAVES, "new": NEW, "gone": GONE}
_MOVE = 8
UP, DOWN = "↑", "↓"
NO_LONGER = "no longer recalled"
_SAID_BEFORE = re.compile("^skipped: |^threshold (?=[0-9])|(?<=^decayed )to ")
"""What a narrow list leaves out of a reason."""
_WIDE = 115
_LONGEST_REASON = 40
_NARROW_REASON = 14
_NARROW_KEY, _WIDE_KEY = 13, 22
_NUMBER = 5
_WIDE_BAR = 8
_BAR_GAP = 1
_BARS_FROM = 56
_KEYS_FROM = 98
"""Columns of the screen from which there are keys: below that the text of a memory needs their cells."""


@dataclass(frozen=True, slots=True)
class StoreAnswer:
    """What the store holds for a message: the recall as it is, evidence for it and for the trial, and its sessions."""

    asked: tuple[int, Trial]
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
    # The settings can be tried all the same, once the store answers.
    failed_words = ("The recall failed.", "", (("r", "try again"), ("/", "another message"), ("esc", "out")))

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(inquiry)
        self.typed: str | None = None
        self.answer: StoreAnswer | None = None
        self.comparison: Comparison | None = None
        self.memories: int | None = None
        """How many memories there are, as soon as they are counted."""
        self._value_before_typing = 0.0
        self._settings = TrialSettings(id="settings")
        self._rows = ComparisonList(id="comparison")
        self._is_replaying = False

    def compose(self) -> ComposeResult:
        yield TitleLine(id="headline")
        with Container(id="trial-and-list"):
            with Vertical(id="trial"):
                yield self._settings
                yield GrowingText(id="about")
                yield GrowingText(id="complaints")
            with Container(id="compared"):
                yield self._rows
                yield Empty()

    def on_mount(self) -> None:
        self.paint()
        self.go_to_first()

    def go_to_first(self) -> None:
        """Choose the first setting that is tried, else the first that does something here."""
        context, tried = self.context, self.inquiry.tried
        shown = tried.changed or SETTINGS
        works = (
            at for at, one in enumerate(SETTINGS) if one in shown and idle_because(one.name, tried, context) is None
        )
        self._settings.cursor = next(works, 0)

    @property
    def is_answered(self) -> bool:
        """Whether the trial can be decided on what was gathered for this message."""
        return self.answer is not None and self.answer.asked == self.question and self._serving() is not None

    @property
    def has_answer(self) -> bool:
        """Whether a comparison is on the screen."""
        return self.comparison is not None

    @property
    def reader(self) -> Widget | None:
        """The settings: they work before there is an answer too."""
        return self._settings

    @property
    def copied(self) -> str | None:
        """The command that recalls like this."""
        return command_words(self.inquiry.library, self.inquiry.tried)

    @property
    def chosen(self) -> MemoryEntry | None:
        """The memory under the cursor, if the list has the focus or no other memory is chosen."""
        return self._rows.entry if self.is_in_list or self.inquiry.entry is None else None

    @property
    def is_in_list(self) -> bool:
        """Whether keys go to the memories, and not to the settings."""
        return self.is_in(self._rows)

    @property
    def setting(self) -> NumberSetting | WordSetting:
        """The setting that is chosen."""
        return SETTINGS[self._settings.cursor]

    @property
    def context(self) -> TrialContext:
        """What of this store decides which settings do something."""
        gathered = self._serving() or (self.answer.gathered[0] if self.answer is not None else None)
        return TrialContext.of(self.inquiry.library, None if gathered is None else gathered.evidence[0])

    @property
    def effect(self) -> str:
        """The result of the trial in one line; empty while nothing is modified or known."""
        return self.comparison.words if self.comparison is not None and self.inquiry.tried.changed else ""

    async def ask(self) -> Callable[[], None]:
        """Everything the trial can be decided from; what was gathered for this message already is kept."""
        inquiry, question = self.inquiry, self.question
        before, tried = inquiry.tried.before, inquiry.tried.now
        earlier = self.answer if self.answer is not None and self.answer.asked == question else None
        facets = await count_facets(inquiry.library.memory, MemoryFilter(), before.request.as_of)
        self.memories = facets.total
        gathered = list(earlier.gathered) if earlier is not None else [await self._gather(before)]
        recalled = await gathered[0].replay(before)
        if not any(one.serves(tried) for one in gathered):
            gathered.append(await self._gather(tried))
        sessions = tuple(name for name in facets.session or () if name)
        answer = StoreAnswer(question, recalled, tuple(gathered), sessions, facets.total)

        def show() -> None:
            self.answer = answer
            self.decide()

        return show

    def forget(self) -> None:
        """No message, no comparison."""
        self.answer = self.comparison = None
        self.paint()

    def decide(self) -> None:
        """Decide what is tried on what was gathered, or ask for more of it."""
        answer, gathered = self.answer, self._serving()
        self.paint()
        if answer is not None and gathered is None:
            self.post_message(self.MoreWanted())
        elif answer is not None and not self._is_replaying:
            self._is_replaying = True
            self.run_worker(self._replay(), group=_REPLAY)

    def paint(self) -> None:
        """Settings, what the chosen one does, what is wrong with them, and their result."""
        inquiry, context = self.inquiry, self.context
        tried = inquiry.tried
        self._settings.show(self._lines(context))
        idle = idle_because(self.setting.name, tried, context)
        self.query_one("#about", Static).update(
            Content.styled(shown_words(idle[1] if idle else self.setting.about), MUTED)
        )
        sentences = complaint_sentences(inquiry.library.memory, tried, context) if inquiry.has_message else ()
        complaints = self.query_one("#complaints", Static)
        complaints.update(Content("\n").join(Content.styled(f"▲ {shown_words(one)}", WARNING) for one in sentences))
        complaints.display = bool(sentences)
        memories = self.answer.memories if self.answer is not None else None
        self.query_one("#headline", TitleLine).update(_headline(self.comparison, tried, memories))

    def step_out(self) -> bool:
        """From a number that is being typed, else from the list to the settings."""
        if self.typed is not None:
            self._try(self.setting.put(self.inquiry.tried, self._value_before_typing))
            return True
        if self.is_in_list:
            self.screen.set_focus(self._settings)
            return True
        return False

    def other_pane(self) -> None:
        """From the settings to the list, and back."""
        is_left = self.is_in_list or not self._rows.display or self.has_class("-empty")
        self.screen.set_focus(self._settings if is_left else self._rows)

    def choose(self) -> None:
        """Take what was typed, or choose from all there is."""
        setting = self.setting
        if self.typed is not None:
            self.typed = None
            self.paint()
        elif isinstance(setting, NumberSetting):
            self.app.notify(f"Type a number for the {setting.name}, or press left and right.", markup=False)
        elif self._explains_idle():
            return
        elif setting.name == "scoring profile":
            self._choose_profile(setting)
        else:
            self._choose(setting)

    def on_key(self, event: Key) -> None:
        if event.character is not None and (event.character in _DIGITS or event.character == _POINT):
            event.stop()
            self._type(event.character)

    def on_table_list_row_highlighted(self) -> None:
        if self.is_in_list:
            self.inquiry.entry = self._rows.entry

    def on_trial_settings_chosen(self) -> None:
        """Say what it does; what was typed for another one is taken already."""
        self.typed = None
        self.paint()

    def on_trial_settings_stepped(self, event: TrialSettings.Stepped) -> None:
        self.step(event.way)

    def step(self, way: int, *, is_big: bool = False) -> None:
        """The chosen setting a step on."""
        setting, tried = self.setting, self.inquiry.tried
        if self._explains_idle():
            return
        if isinstance(setting, NumberSetting):
            self._try(setting.stepped(tried, way, is_big=is_big))
        else:
            self._try(setting.moved(tried, way, self._sessions))

    def reset(self) -> None:
        """Take back what was typed last, else the chosen setting as it was."""
        if self.typed:
            self._retype(self.typed[:-1])
        else:
            self._try(self.setting.reset(self.inquiry.tried))

    def page(self, pages: int) -> None:
        """Read on in the list, wherever the focus is."""
        self._rows.action_move_pages(pages)

    @property
    def question(self) -> tuple[int, Trial]:
        """What the evidence and the recall as it is depend on."""
        return self.inquiry.number, self.inquiry.tried.before

    @property
    def _sessions(self) -> Sequence[str]:
        """The sessions that can be tried, the busiest first."""
        return self.answer.sessions if self.answer is not None else ()

    def _lines(self, context: TrialContext) -> list[SettingLine]:
        """Every setting; the text being typed replaces the chosen one's value."""
        tried, lines = self.inquiry.tried, []
        for setting in SETTINGS:
            idle = idle_because(setting.name, tried, context)
            is_typed = self.typed is not None and setting is self.setting
            is_shown = is_typed or setting.is_changed(tried)
            before = setting.words(TrialComparison.nothing(tried.before)) if is_shown else None
            now = f"{self.typed}{CURSOR}" if is_typed else setting.words(tried)
            lines.append(SettingLine(setting.name, now, before, idle[0] if idle else None))
        return lines

    async def _gather(self, trial: Trial) -> GatheredEvidence:
        return await gather_evidence(self.inquiry.library, trial)

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
        inquiry, rows = self.inquiry, self._rows
        self.comparison = compare(answer.before, after)
        if self.comparison.rows or after.withheld:
            self.remove_class("-empty")
            rows.show(self.comparison, inquiry.entry)
        else:
            if self.is_in(rows):
                self.screen.set_focus(self._settings)
            self.show_empty(_nothing_words(inquiry.tried, after))
            rows.set_rows(())
        # That there are no vectors here at all is next to the weights.
        self.notes = tuple(note for note in after.notes if note != inquiry.library.why_no_vectors)
        self.paint()
        self.post_message(self.Changed())

    def _explains_idle(self) -> bool:
        idle = idle_because(self.setting.name, self.inquiry.tried, self.context)
        if idle is not None:
            self.app.notify(shown_words(idle[1]), severity="warning", markup=False)
        return idle is not None

    def _try(self, tried: TrialComparison, typed: str | None = None) -> None:
        self.inquiry.tried, self.typed = tried, typed
        self.decide()
        self.post_message(self.Changed())

    def _type(self, character: str) -> None:
        setting = self.setting
        if isinstance(setting, WordSetting):
            words = f"The {setting.name} is not a number. Press left or right to change it."
            self.app.notify(words, severity="warning", markup=False)
        elif not self._explains_idle():
            if self.typed is None:
                self._value_before_typing = setting.get(self.inquiry.tried)
            typed = (self.typed or "") + character
            is_number = typed.count(_POINT) <= (0 if setting.is_whole else 1)
            if is_number and len(typed) <= _MOST_TYPED:
                self._retype(typed)

    def _retype(self, typed: str) -> None:
        """Try what was typed so far; as long as that is no number, what was there before it."""
        setting = self.setting
        tried = setting.put(self.inquiry.tried, self._value_before_typing)
        if typed.strip(_POINT) and isinstance(setting, NumberSetting):
            try:
                tried = setting.typed(self.inquiry.tried, typed)
            except UsageError as error:
                show_failure(self, error)
                return
        self._try(tried, typed or None)

    def _choose(self, setting: WordSetting) -> None:
        values = list(setting.choices(self.inquiry.tried, self._sessions))
        choices = [Answer("", setting.shown_words(value), at) for at, value in enumerate(values)]

        def take(at: int | None) -> None:
            if at is not None:
                self._try(setting.put(self.inquiry.tried, values[at]))

        current = values.index(setting.get(self.inquiry.tried))
        self.app.push_screen(choice(f"Which {setting.name}?", choices, current), take)

    def _choose_profile(self, setting: WordSetting) -> None:
        inquiry = self.inquiry
        self.app.push_screen(
            profile_question(inquiry.trial.profile.version),
            lambda version: self._try(setting.put(inquiry.tried, version)) if version else None,
        )


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


def _headline(comparison: Comparison | None, tried: TrialComparison, memories: int | None) -> Content:
    """The result of the trial, and among how many memories."""
    among = "" if memories is None else f" of {memories:,} memories"
    if comparison is None:
        return Content.styled("What would be recalled with other settings", STRONG)
    recalled = f" · {len(comparison.after.results)} recalled{among}"
    if tried.changed:
        return Content.assemble((comparison.words, STRONG), (recalled, MUTED))
    counted = f"injected {comparison.after.injected}"
    return Content.assemble((counted, STRONG), (f"{recalled} · settings not modified", MUTED))


def _nothing_words(tried: TrialComparison, after: RecallResult) -> EmptyWords:
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

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__((), key=lambda row: row.entry and row.entry.id, divider=self._threshold_line, id=id)

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
        rows.append(_Row(ranked.result, compared, ranked.is_dim, ranked.reason))
    if ranking.line_at is not None:
        rows.insert(ranking.line_at, _Row(None, threshold=ranking.threshold))
    withheld = {result.entry.id for result in comparison.after.withheld}
    rows += [_Row(row.result, row, True, NO_LONGER) for row in without.values() if row.result.entry.id not in withheld]
    return rows


def _columns(rows: Sequence[_Row], width: int) -> list[Column[_Row]]:
    """Its change, rank, key, memory, final score, and a bar for each part of the score.

    A narrow list has bars without their numbers, a still narrower one none, and signs without their words. A reason
    stands instead of the bars.
    """
    is_wide = width >= _WIDE
    parts = [
        (name, part)
        for name, part in (("vector", "vector_score"), ("keyword", "keyword_score"))
        if any(getattr(row.result, part) is not None for row in rows)
    ]
    cells = [_WIDE_BAR + _NUMBER if is_wide else cell_len(name) for name, _ in parts]
    bars = sum(cells) + _BAR_GAP * max(0, len(parts) - 1)
    longest = _LONGEST_REASON if is_wide else _NARROW_REASON
    reasons = max((cell_len(_reason(row, is_wide)) for row in rows), default=0)
    last = max(bars, min(longest, reasons))

    def parts_of(row: _Row) -> Content | str:
        if row.reason is not None:
            return Content.styled(cut(_reason(row, is_wide), last), "faint")
        pieces: list[Content | str | tuple[str, str]] = []
        for (name, part), width in zip(parts, cells, strict=True):
            value = getattr(row.result, part)
            pieces += [" " * _BAR_GAP] if pieces else []
            look = "faint" if row.is_dim or value is None else name
            number = fit(score_text(value), _NUMBER, "right") if is_wide and value is not None else ""
            pieces.append((bar(value, width - len(number)), look))
            pieces.append((number, "faint" if row.is_dim else "muted"))
        return Content.assemble(*pieces)

    widest = max((cell_len(row.entry.key[:_WIDE_KEY]) for row in rows if row.entry is not None), default=0)
    keys = min(max(_NARROW_KEY, widest), _WIDE_KEY) if is_wide else _NARROW_KEY
    columns: list[Column[_Row]] = [
        Column("", _move if width >= _BARS_FROM else _move_sign, width=_MOVE if width >= _BARS_FROM else 1),
        Column("", _rank, width=len(str(len(rows))) + 1, right=True, look="muted"),
        Column("key", lambda row: _key(row, keys), width=keys, hidden_below=_KEYS_FROM),
        Column("memory", _memory, flex=True),
    ]
    if any(row.result is not None and row.result.score is not None for row in rows):
        columns.append(Column("final", _final, width=_NUMBER, right=True))
    if last:
        gap = " " * _BAR_GAP
        title = gap.join(fit(name, width) for (name, _), width in zip(parts, cells, strict=True))
        columns.append(Column(title, parts_of, width=last, hidden_below=_BARS_FROM))
    return columns


def _move(row: _Row) -> Content:
    compared = row.compared
    if compared is None:
        return Content("")
    words = _WORDS.get(compared.move, STAYS if compared.is_injected else "")
    look = {"enters": "good", "leaves": "bad"}.get(compared.move, "muted" if compared.is_injected else "faint")
    return Content.styled(words, look)


def _move_sign(row: _Row) -> Content:
    return _move(row)[:1]


def _rank(row: _Row) -> str:
    """Its place, and whether it rose or sank among what is recalled."""
    compared = row.compared
    if row.result is None or row.result.withheld or (compared is not None and compared.rank_after is None):
        return ""
    before = after = row.result.rank
    if compared is not None and compared.rank_before is not None:
        before = compared.rank_before
    return f"{row.result.rank}{' ' if before == after else UP if after < before else DOWN}"


def _key(row: _Row, cells: int) -> Content | str:
    key = row.entry.key if row.entry is not None else ""
    return _dimmed(cut_key(key, cells) if key else EMPTY_KEY, row, is_faint=not key)


def _memory(row: _Row) -> Content | str:
    content = row.entry.content if row.entry is not None else ""
    return _dimmed(content if content.strip() else EMPTY_CONTENT, row, is_faint=not content.strip())


def _dimmed(text: str, row: _Row, *, is_faint: bool) -> Content | str:
    # A styled text is not cleaned where it is drawn.
    return Content.styled(shown_line(text), "faint") if row.is_dim or is_faint else text


def _final(row: _Row) -> Content | str:
    score = None if row.result is None else row.result.score
    return Content.styled(score_text(score), "faint" if row.is_dim else "final")


def _reason(row: _Row, is_wide: bool) -> str:
    reason, result = row.reason or "", row.result
    if result is not None and result.compared_score != result.score and reason.startswith("threshold"):
        reason = f"{'decayed' if result.reranked is None else 'reranked'} to {score_text(result.compared_score)}"
    return reason if is_wide else _SAID_BEFORE.sub("", reason)
