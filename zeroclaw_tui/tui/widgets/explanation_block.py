"""The way of one memory to the prompt, a line or more for each stage: mark, stage, words, score, what helps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len
from textual.app import RenderResult
from textual.content import Content
from textual.events import Click
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget

from zeroclaw_tui.memory.text import mask_secrets, one_line
from zeroclaw_tui.scoring.explanation import Explanation, Mark, Step
from zeroclaw_tui.tui.looks import MUTED, STRONG, STRONG_ACCENT
from zeroclaw_tui.tui.themes import score_colours
from zeroclaw_tui.tui.widgets.plain_content import next_line
from zeroclaw_tui.tui.widgets.score_bars import bar

GLYPHS: Mapping[Mark, str] = {"passed": "✓", "stopped": "✗", "absent": "–"}
_COLOURS: Mapping[Mark, str] = {"passed": "good", "stopped": "bad", "absent": "faint"}
_BARS = {
    "keyword": ("score", "keyword"),
    "vector": ("cosine", "vector"),
    "fusion": ("score", "final"),
    "decay": ("decayed", "final"),
    "rerank": ("reranked", "final"),
}
"""By stage: which of its numbers lies in 0..1 and is drawn, and in which colour."""
BAR = 8
_GAP = 2
_LEFT = 2
_WIDE = 110
_MOST_HELP = 44
"""Longer help stands below the words, so that it takes no room from all of them."""
_MOST_WORDS = 78
_LONGEST = 2000
_STOPS_HERE = "stops here"

Piece = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Help:
    """What the lines from `start` to before `end` offer; `key` does it."""

    start: int
    end: int
    key: str


class ExplanationBlock(Widget):
    """As high as its lines need at its width; a click on what helps does it."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    ExplanationBlock { width: 1fr; height: auto; text-wrap: nowrap; text-overflow: clip; }
    """

    class HelpWanted(Message):
        """What a stage offers was clicked; `key` is the key that does it."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._explanation: Explanation | None = None

    def show(self, explanation: Explanation | None) -> None:
        """Show this way, or nothing."""
        self._explanation = explanation
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """A line for each that is needed."""
        return len(self._lines(width)[0])

    def render(self) -> RenderResult:
        """The lines at this width."""
        return Content("\n").join(self._lines(self.content_size.width)[0])

    def on_click(self, event: Click) -> None:
        """Do what the line under the mouse offers."""
        _, offers = self._lines(self.content_size.width)
        offer = next((one for one in offers if one.start <= event.y < one.end), None)
        if offer is not None:
            event.stop()
            self.post_message(self.HelpWanted(offer.key))

    def _lines(self, width: int) -> tuple[list[Content], list[Help]]:
        if self._explanation is None:
            return [], []
        colours = {name: colour.css for name, colour in score_colours(self.app).items()}
        return explanation_lines(self._explanation, max(20, width), colours)


def explanation_lines(
    explanation: Explanation, width: int, colours: Mapping[str, str]
) -> tuple[list[Content], list[Help]]:
    """The verdict, every stage, remarks and notes, at a width in cells; and which lines offer a key."""
    names = max((cell_len(_shown(step.name)) for step in explanation.steps), default=0)
    helps = max((cells for step in explanation.steps if (cells := _help_cells(step)) <= _MOST_HELP), default=0)
    has_room = width >= _WIDE
    shape = _Shape(
        width, names, helps if has_room else 0, any(_bar_value(step) is not None for step in explanation.steps)
    )
    glyph, colour = ("✓", "good") if explanation.is_injected else ("✗", "bad")
    # First: the stages below it may be more than the screen has lines.
    lines = [*_sentence(explanation.verdict, width, (f"{glyph} ", colours[colour]), STRONG), Content("")]
    offers: list[Help] = []
    for step in explanation.steps:
        start = len(lines)
        lines += _step_lines(step, shape, colours)
        if step.key:
            offers.append(Help(start, len(lines), step.key))
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
    """Where the columns stand: `helps` is the width of what helps beside the words, 0 where it stands below them."""

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

    def is_beside(self, step: Step) -> bool:
        """Whether what helps stands beside the words."""
        return 0 < _help_cells(step) <= self.helps

    @property
    def words(self) -> int:
        """The cells of the words beside a bar."""
        taken = self.indent + self.bars + (self.helps + _GAP if self.helps else 0)
        return max(16, min(_MOST_WORDS, self.width - taken))


def _step_lines(step: Step, shape: _Shape, colours: Mapping[str, str]) -> list[Content]:
    # Without a bar the words may stand in its place.
    words = _wrapped(step.words, shape.words + (shape.bars if _bar_value(step) is None else 0))
    colour = colours[_COLOURS[step.mark]]
    stopped = step.mark == "stopped"
    name = _shown(step.name)
    head: list[Piece] = [
        (" " * _LEFT, ""),
        (f"{GLYPHS[step.mark]} ", colour),
        (name + " " * (shape.names - cell_len(name) + _GAP), f"bold {colour}" if stopped else colours["text"]),
    ]
    told = MUTED if step.mark == "absent" else colours["text"]
    lines: list[list[Piece]] = []
    for number, part in enumerate(words):
        start = head if number == 0 else [(" " * shape.indent, "")]
        lines.append([*start, (part, told)])
    _add_right(lines[0], cell_len(words[0]), step, shape, colours)
    if step.helps and not shape.is_beside(step):
        key = f"{step.key} " if step.key else ""
        for number, part in enumerate(_wrapped(step.helps, max(16, shape.width - shape.indent - cell_len(key)))):
            lead = key if number == 0 else " " * cell_len(key)
            lines.append([(" " * shape.indent, ""), (lead, STRONG_ACCENT), (part, MUTED)])
    return [Content.assemble(*line) for line in lines]


def _add_right(line: list[Piece], used: int, step: Step, shape: _Shape, colours: Mapping[str, str]) -> None:
    """The bar, and what helps where that stands beside the words."""
    value = _bar_value(step)
    if value is not None:
        drawn = " " * (shape.words - used + _GAP) + bar(value, BAR)
        line.append((drawn, colours[_BARS[step.name][1]]))
        used = shape.words + shape.bars
    gap = (" " * (shape.words + shape.bars - used + _GAP), "")
    if step.helps and shape.is_beside(step):
        line += [gap, (f"{step.key} " if step.key else "", STRONG_ACCENT), (_shown(step.helps), MUTED)]
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
    return cell_len(_shown(step.helps)) + (cell_len(step.key) + 1 if step.key else 0)


def _sentence(text: str, width: int, lead: Piece, style: str) -> list[Content]:
    room = max(16, min(100, width - _LEFT - 2))
    return [
        Content.assemble(" " * _LEFT, lead if number == 0 else "  ", (part, style))
        for number, part in enumerate(_wrapped(text, room))
    ]


def _wrapped(text: str, width: int) -> Sequence[str]:
    clean, lines, start = _shown(text), [], 0
    while start < len(clean):
        line, start = next_line(clean, start, width)
        lines.append(line)
    return lines or [""]


def _shown(text: str) -> str:
    return one_line(text[:_LONGEST])
