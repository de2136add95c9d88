"""Why one memory is, or is not, in the prompt for a message: every stage on its way, and what helps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from textual.app import ComposeResult, RenderResult
from textual.content import Content
from textual.events import Click
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget

from zeroclaw_tui.backends.lookup import whole_entry
from zeroclaw_tui.curation.recall import explain
from zeroclaw_tui.memory.days import absolute_time, time_here
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.text import counted, mask_secrets, one_line
from zeroclaw_tui.scoring.explain import Advice, Explanation, Mark, Step
from zeroclaw_tui.scoring.profiles import Trial
from zeroclaw_tui.tui.format import bar, fit, shown_line, wrapped
from zeroclaw_tui.tui.rooms.why.trial import WAITING, Inquiry, Pane
from zeroclaw_tui.tui.themes import MUTED, STRONG, STRONG_ACCENT, score_colours
from zeroclaw_tui.tui.widgets.detail import DOT, ReadingPane
from zeroclaw_tui.tui.widgets.header import Empty
from zeroclaw_tui.tui.widgets.lines import TitleLine

if TYPE_CHECKING:
    from zeroclaw_tui.curation.turns import RecallCounts

GLYPHS: Mapping[Mark, str] = {"passed": "✓", "stopped": "✗", "absent": "–"}
_COLOURS: Mapping[Mark, str] = {"passed": "good", "stopped": "bad", "absent": "faint"}
_BARS = {
    "keyword": ("score", "keyword"),
    "vector": ("cosine", "vector"),
    "fusion": ("score", "final"),
    "decay": ("decayed", "final"),
    "rerank": ("reranked", "final"),
}
"""By stage: which of its numbers is in 0..1 and is drawn, and in which colour."""
BAR = 8
_GAP = 2
_LEFT = 2
_WIDE = 110
_MOST_HELP = 44
"""Longer help is below the words, so that it takes no room from all of them."""
_MOST_WORDS = 78
_STOPS_HERE = "stops here"
_LONGEST_TOLD = 400
_KEY_SHARE = 3
"""A long key leaves two of three cells to the message."""
_STAGE = 12

Piece = tuple[str, str]


class StagesPane(Pane):
    """The way of a memory to the prompt, stage by stage."""

    tab = "stages"
    heading = "In the stages"
    no_entry = (
        "Which memory?",
        "Choose one in a list of memories to see every stage on its way to the prompt.",
        (("w", "what is recalled for the message"), ("esc", "out")),
    )
    no_message = (
        "For which message?",
        "Type a message to see why this memory is or is not in the prompt.",
        (("/", "type the message"), ("esc", "out")),
    )
    failed_words = ("The explanation failed.", "", (("r", "try again"), ("/", "another message"), ("esc", "out")))

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(inquiry)
        self.explanation: Explanation | None = None
        self.answered: tuple[int, Handle, Trial] | None = None
        self._recalls: RecallCounts | None = None
        self._recalls_of: int | None = None
        """Which state of the store and the recording the counts are of, or are being read for."""

    def compose(self) -> ComposeResult:
        yield TitleLine(id="verdict")
        yield TitleLine(id="memory")
        yield TitleLine(id="recalls")
        yield Empty()
        with ReadingPane():
            yield ExplanationBlock()

    @property
    def has_answer(self) -> bool:
        """Whether an explanation is on the screen."""
        return self.explanation is not None

    @property
    def reader(self) -> Widget | None:
        """The stages, once they are there."""
        return None if self.has_class("-empty") else self.query_one(ReadingPane)

    @property
    def copied(self) -> str | None:
        """The whole text."""
        return None if self.explanation is None else explanation_text(self.explanation)

    @property
    def advice(self) -> Advice | None:
        """What was proved to put this memory in the prompt, by the numbers of a trial."""
        advice = self.explanation.advice if self.explanation is not None and self.is_answered else None
        return advice if advice is not None and advice.key == "w" else None

    async def ask(self) -> Callable[[], None]:
        """The way of the memory as it is now."""
        inquiry = self.inquiry
        assert inquiry.entry is not None
        question = self.question
        entry = await whole_entry(inquiry.library.memory, inquiry.entry.handle)
        explanation = await explain(inquiry.library, entry, inquiry.trial)

        def show() -> None:
            before = self.answered
            is_same = before is not None and before[1] == entry.handle and before[2].request.query == explanation.query
            inquiry.entry, self.answered = entry, question
            self._show(explanation, from_top=not is_same)

        return show

    def forget(self) -> None:
        """Nothing is explained."""
        self.explanation = self.answered = None
        self.paint()

    def paint(self) -> None:
        """As much of key and message as fits."""
        width = self.app.size.width - 2
        entry = self.inquiry.entry
        if self.answered is not None and (entry is None or self.answered[1] != entry.handle):
            self.explanation = self.answered = None
        if not self.has_answer and self.missing is None:
            self.show_empty(WAITING)
        title = "Why a memory is recalled, or not"
        if entry is not None:
            title = title_words(entry, self.explanation, self.inquiry.request.query, width)
        self.query_one("#verdict", TitleLine).update(Content.styled(title, STRONG))
        self.query_one("#memory", TitleLine).update(_memory_content(entry, width))
        recall_words = "" if entry is None or self._recalls is None else recalls_words(entry, self._recalls)
        recalls = self.query_one("#recalls", TitleLine)
        recalls.update(Content.styled(recall_words, MUTED))
        recalls.display = bool(recall_words)

    async def _read_recalls(self) -> None:
        """Find out how often memories were recalled."""
        from zeroclaw_tui.curation.turns import recall_counts

        try:
            self._recalls = await recall_counts(self.inquiry.library)
        except InspectorError as error:
            self.app.notify(shown_line(str(error)), title=error.title, severity="warning", markup=False)
        self.paint()

    @property
    def question(self) -> tuple[int, Handle, Trial] | None:
        entry = self.inquiry.entry
        return None if entry is None else (self.inquiry.number, entry.handle, self.inquiry.trial)

    def _show(self, explanation: Explanation, *, from_top: bool) -> None:
        self.explanation = explanation
        self.remove_class("-empty")
        self.query_one(ExplanationBlock).show(explanation)
        if from_top:
            self.query_one(ReadingPane).scroll_home(animate=False)
        self.paint()
        if self._recalls_of != self.inquiry.number:
            # Once for each look at the store; nothing waits for that.
            self._recalls_of = self.inquiry.number
            reading: Callable[[], Awaitable[None]] = self._read_recalls
            self.run_worker(reading, group="why-recalls", exclusive=True)


class ExplanationBlock(Widget):
    """As high as its lines need at its width; a click on what helps does it."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    ExplanationBlock { width: 1fr; height: auto; text-wrap: nowrap; text-overflow: clip; }
    """

    @dataclass
    class HelpWanted(Message):
        """What a stage offers was clicked; `key` is the key that does it."""

        key: str

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._explanation: Explanation | None = None

    def show(self, explanation: Explanation | None) -> None:
        """Show this way, or nothing."""
        self._explanation = explanation
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._lines(width)[0])

    def render(self) -> RenderResult:
        return Content("\n").join(self._lines(self.content_size.width)[0])

    def on_click(self, event: Click) -> None:
        """Do what the line under the mouse offers."""
        _, offers = self._lines(self.content_size.width)
        key = next((key for lines, key in offers if event.y in lines), None)
        if key is not None:
            event.stop()
            self.post_message(self.HelpWanted(key))

    def _lines(self, width: int) -> tuple[list[Content], list[tuple[range, str]]]:
        if self._explanation is None:
            return [], []
        colours = {name: colour.css for name, colour in score_colours(self.app).items()}
        return explanation_lines(self._explanation, max(20, width), colours)


def explanation_lines(
    explanation: Explanation, width: int, colours: Mapping[str, str]
) -> tuple[list[Content], list[tuple[range, str]]]:
    """The verdict, every stage, remarks and notes, at a width in cells; and which lines offer which key."""
    steps = (*explanation.steps, *explanation.later_stops)
    names = max((cell_len(shown_line(step.name)) for step in steps), default=0)
    helps = max((cells for step in steps if (cells := _help_cells(step)) <= _MOST_HELP), default=0)
    has_room = width >= _WIDE
    shape = _Shape(
        width, names, helps if has_room else 0, any(_bar_value(step) is not None for step in explanation.steps)
    )
    glyph, colour = ("✓", "good") if explanation.is_injected else ("✗", "bad")
    # First: the stages below it may be more than the screen has lines.
    lines = [*_sentence(explanation.verdict, width, (f"{glyph} ", colours[colour]), STRONG), Content("")]
    offers: list[tuple[range, str]] = []
    for step in steps:
        start = len(lines)
        lines += _step_lines(step, shape, colours)
        if step.key:
            offers.append((range(start, len(lines)), step.key))
    if explanation.remarks:
        lines.append(Content(""))
    for remark in explanation.remarks:
        lines += _sentence(remark, width, ("  ", ""), MUTED)
    if explanation.notes:
        lines.append(Content(""))
    for note in explanation.notes:
        lines += _sentence(mask_secrets(note), width, ("● ", colours["muted"]), MUTED)
    return lines, offers


@dataclass(frozen=True, slots=True)
class _Shape:
    """Where the columns are: `helps` is the width of what helps next to the words, 0 where it is below them."""

    width: int
    names: int
    helps: int
    has_bars: bool

    @property
    def indent(self) -> int:
        return _LEFT + 2 + self.names + _GAP

    @property
    def bars(self) -> int:
        """The cells of the bars, 0 where no stage has one."""
        return _GAP + BAR if self.has_bars else 0

    def has_text_beneath(self, step: Step) -> bool:
        """Whether what helps is next to the words."""
        return 0 < _help_cells(step) <= self.helps

    @property
    def words(self) -> int:
        """The cells of the words next to a bar."""
        taken = self.indent + self.bars + (self.helps + _GAP if self.helps else 0)
        return max(16, min(_MOST_WORDS, self.width - taken))


def _step_lines(step: Step, shape: _Shape, colours: Mapping[str, str]) -> list[Content]:
    # Without a bar the words may stand in its place.
    words = wrapped(shown_line(step.words), shape.words + (shape.bars if _bar_value(step) is None else 0))
    colour = colours[_COLOURS[step.mark]]
    stopped = step.mark == "stopped"
    name = shown_line(step.name)
    head: list[Piece] = [
        (" " * _LEFT, ""),
        (f"{GLYPHS[step.mark]} ", colour),
        (name + " " * (shape.names - cell_len(name) + _GAP), f"bold {colour}" if stopped else colours["text"]),
    ]
    recall_words = MUTED if step.mark == "absent" else colours["text"]
    lines: list[list[Piece]] = []
    for number, part in enumerate(words):
        start = head if number == 0 else [(" " * shape.indent, "")]
        lines.append([*start, (part, recall_words)])
    _add_right(lines[0], cell_len(words[0]), step, shape, colours)
    if step.helps and not shape.has_text_beneath(step):
        key = f"{step.key} " if step.key else ""
        for number, part in enumerate(
            wrapped(shown_line(step.helps), max(16, shape.width - shape.indent - cell_len(key)))
        ):
            lead = key if number == 0 else " " * cell_len(key)
            lines.append([(" " * shape.indent, ""), (lead, STRONG_ACCENT), (part, MUTED)])
    return [Content.assemble(*line) for line in lines]


def _add_right(line: list[Piece], used: int, step: Step, shape: _Shape, colours: Mapping[str, str]) -> None:
    """The bar, and what helps where that is next to the words."""
    value = _bar_value(step)
    if value is not None:
        drawn = " " * (shape.words - used + _GAP) + bar(value, BAR)
        line.append((drawn, colours[_BARS[step.name][1]]))
        used = shape.words + shape.bars
    gap = (" " * (shape.words + shape.bars - used + _GAP), "")
    if step.helps and shape.has_text_beneath(step):
        line += [gap, (f"{step.key} " if step.key else "", STRONG_ACCENT), (shown_line(step.helps), MUTED)]
    elif shape.helps and not step.helps and step.mark == "stopped":
        line += [gap, (_STOPS_HERE, colours["bad"])]


def _bar_value(step: Step) -> float | None:
    name = _BARS.get(step.name, ("", ""))[0]
    value: Any = step.numbers.get(name)
    if step.name == "decay" and value == step.numbers.get("score"):
        return None
    # Beyond 1 it is no share of anything: raw bm25, or another scale.
    return float(value) if isinstance(value, float) and 0 <= value <= 1 else None


def _help_cells(step: Step) -> int:
    if not step.helps:
        return cell_len(_STOPS_HERE) if step.mark == "stopped" else 0
    return cell_len(shown_line(step.helps)) + (cell_len(step.key) + 1 if step.key else 0)


def _sentence(text: str, width: int, lead: Piece, style: str) -> list[Content]:
    room = max(16, min(100, width - _LEFT - 2))
    return [
        Content.assemble(" " * _LEFT, lead if number == 0 else "  ", (part, style))
        for number, part in enumerate(wrapped(shown_line(text), room))
    ]


def _memory_content(entry: MemoryEntry | None, width: int) -> Content:
    """Category, date and how it begins, in one line."""
    if entry is None:
        return Content("")
    facts = DOT.join([one_line(entry.category[:_LONGEST_TOLD]) or "no category", absolute_time(entry.when)])
    words = one_line(entry.content[:_LONGEST_TOLD]) or "(blank)"
    return Content.styled(fit(f"{facts}{DOT}{words}", width).rstrip(), MUTED)


def recalls_words(entry: MemoryEntry, recalls: RecallCounts) -> str:
    """How often a memory was recalled, and when last; empty without recorded prompt blocks."""
    if not recalls.turns:
        return ""
    count = recalls.of(entry.key)
    recorded = f"{counted(recalls.turns, 'recorded turn')}"
    if not count.times:
        return f"Never recalled in {recorded} since {time_here(recalls.since or '')}"
    times = "once" if count.times == 1 else f"{count.times:,} times"
    return f"Recalled {times} in {recorded}, last {time_here(count.last)}"


def title_words(entry: MemoryEntry, explanation: Explanation | None, query: str, width: int) -> str:
    """What was found out, in one line; what does not fit of key and message is cut."""
    if explanation is None:
        asked = "Why " if not query.strip() else "Checking whether "
        rest = " is recalled, or not" if not query.strip() else " is recalled …"
        return f"{asked}{quoted(entry.key, width - len(asked) - len(rest))}{rest}"
    middle = f" {_where(explanation)} for "
    room = width - len(middle)
    key = quoted(entry.key, max(12, room // _KEY_SHARE))
    short = quoted(entry.key, room - len(_quotes(explanation.query)))
    key = short if len(short) > len(key) else key
    return f"{key}{middle}{quoted(explanation.query, room - len(key))}"


def explanation_text(explanation: Explanation) -> str:
    """Everything as plain text, to be pasted elsewhere; nothing in it steers a terminal."""
    trial = explanation.trial
    lines = [
        f"{_quotes(explanation.entry.key)} {_where(explanation)} for {_quotes(explanation.query)}",
        f"scoring {trial.profile.version} ({explanation.profile_source}), {trial.request.rule} rule"
        if explanation.program is None
        else f"by the rule of {explanation.program}",
        "",
    ]
    steps = (*explanation.steps, *explanation.later_stops)
    widest = max((len(step.name) for step in steps), default=_STAGE)
    for step in steps:
        helps = f"  [{one_line(step.helps)}]" if step.helps else ""
        lines.append(f"{GLYPHS[step.mark]} {step.name.ljust(widest)}  {one_line(step.words)}{helps}")
    lines += ["", one_line(explanation.verdict), *map(one_line, explanation.remarks)]
    lines += [one_line(mask_secrets(note)) for note in explanation.notes]
    return "\n".join(lines).rstrip() + "\n"


def _where(explanation: Explanation) -> str:
    is_in = "is" if explanation.is_injected else "is not"
    return f"{is_in} in the prompt" if explanation.program is None else f"{is_in} returned by {explanation.program}"


def quoted(text: str, cells: int) -> str:
    """A text in quotes, cut to so many cells, the quotes counted."""
    shown = one_line(text[:_LONGEST_TOLD]) or "(blank)"
    return f"“{fit(shown, max(4, cells - 2)).rstrip()}”"


def _quotes(text: str) -> str:
    return f"“{one_line(text[:_LONGEST_TOLD])}”"
