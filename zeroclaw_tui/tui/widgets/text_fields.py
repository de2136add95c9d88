"""Fields in which a person writes a memory. What a terminal would obey or hide cannot be typed into them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.document._document import EditResult
from textual.events import Click
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea
from textual.widgets.text_area import Edit

from zeroclaw_tui.memory.hidden_text import hidden_runs
from zeroclaw_tui.memory.text import WHITE_SPACE, display_text, one_line
from zeroclaw_tui.tui.themes import ACCENT, MUTED

MAX_LENGTH = 200_000
"""Characters; a longer text would make every key wait."""
_EXCERPT = 600
_LINE_ENDS = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
_BLANKS = frozenset(WHITE_SPACE)
_DROPPED = "Removed control and hidden characters. Use $EDITOR to type them."


def can_edit_here(text: str) -> bool:
    """Whether a text is short enough for a ContentArea, and looks exactly as it is stored."""
    shown = text.replace("\r\n", "\n") if has_only_crlf(text) else text
    return len(text) <= MAX_LENGTH and display_text(shown) == shown


def can_edit_in_line(text: str) -> bool:
    """Whether a text fits in a LineInput and looks exactly as it is stored."""
    return not {"\t", "\n"} & {*text} and can_edit_here(text)


class ContentArea(TextArea):
    """Edits a text of several lines. Control and hidden characters cannot be typed or pasted into it."""

    def __init__(self, content: str = "", *, id: str | None = None, placeholder: str = "") -> None:
        super().__init__(
            content, soft_wrap=True, compact=True, highlight_cursor_line=False, placeholder=placeholder, id=id
        )

    def edit(self, edit: Edit) -> EditResult:
        """Apply an edit without the characters that a terminal obeys or does not show."""
        row, column = min(edit.from_location, edit.to_location)
        before = self.document.get_line(row)[max(0, column - 1) : column]
        edit.text = _visible(self, _LINE_ENDS.sub("\n", edit.text), before)
        return super().edit(edit)


class LineInput(Input):
    """Edits a text of one line. Control and hidden characters cannot be typed or pasted into it."""

    def __init__(self, value: str = "", *, id: str | None = None, placeholder: str = "") -> None:
        self._stored = value
        self._shown = value if can_edit_in_line(value) else one_line(value)
        super().__init__(self._shown, compact=True, placeholder=placeholder, id=id)

    @property
    def text(self) -> str:
        """What the field means: the value it was opened with until somebody changes it."""
        return self._stored if self.value == self._shown else self.value

    def replace(self, text: str, start: int, end: int) -> None:
        """Replace a part without the characters that a terminal obeys or does not show."""
        line = " ".join(re.split("[\n\t]", _LINE_ENDS.sub("\n", text)))
        super().replace(_visible(self, line, self.value[max(0, start - 1) : start]), start, end)


class OneOf(Widget, can_focus=True):
    """One of a few values on one line, changed with the arrows, the space bar or a click."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,space,l", "step(1)", "next", show=False),
        Binding("left,h", "step(-1)", "previous", show=False),
    ]
    at: reactive[int] = reactive(0)

    class Changed(Message):
        """Another value was chosen."""

    def __init__(self, values: Sequence[str], chosen: str, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._values = tuple(values)
        self.set_reactive(OneOf.at, self._values.index(chosen) if chosen in self._values else 0)

    @property
    def value(self) -> str:
        """The one chosen."""
        return self._values[self.at]

    def render(self) -> Content:
        mark = ACCENT if self.has_focus else MUTED
        return Content.assemble(("◂ ", mark), display_text(self.value), (" ▸", mark))

    def watch_at(self) -> None:
        self.post_message(self.Changed())

    def action_step(self, step: int) -> None:
        self.at = (self.at + step) % len(self._values)

    def on_click(self, event: Click) -> None:
        self.action_step(-1 if event.x < 2 else 1)


def field_values(form: Widget) -> dict[str, str]:
    """What is typed and chosen in a form, by the ids of its fields."""
    typed = {line.id or "": line.text for line in form.query(LineInput)}
    return typed | {choice.id or "": choice.value for choice in form.query(OneOf)}


def _visible(field: Widget, text: str, before: str) -> str:
    """The part of a typed or pasted text that can be shown; `before` is the character in front, which joiners need."""
    if display_text(before + text) == before + text:
        return text
    hidden = {at - len(before) for run in hidden_runs(before + text) for at in range(run.start, run.end)}
    allowed = "".join(
        character
        for at, character in enumerate(text)
        if character in _BLANKS or (at not in hidden and not _is_control(character))
    )
    if allowed != text:
        field.notify(_DROPPED, severity="warning")
    return allowed


def _is_control(character: str) -> bool:
    shown = display_text(character)
    return shown != character and len(shown) == 1


def has_only_crlf(text: str) -> bool:
    """Whether every line ends with a carriage return and a line feed, and there is at least one."""
    return "\r\n" in text and not {"\r", "\n"} & {*text.replace("\r\n", "")}


class ContentPane(Vertical):
    """One content. With `why_fixed` it cannot be changed at all."""

    def __init__(self, content: str, *, why_fixed: str | None = None, id: str | None = None) -> None:
        super().__init__(id=id)
        self._content = content
        self._why_fixed = why_fixed

    def compose(self) -> ComposeResult:
        yield self._fitting()

    @property
    def content(self) -> str:
        """The content as it is to be stored."""
        area = self._area
        return self._content if area is None else area.text

    async def put(self, content: str) -> None:
        """Take another content."""
        self._content = content
        area = self._area
        if area is not None and can_edit_here(content):
            area.load_text(content)
            return
        await self.remove_children()
        await self.mount(self._fitting())
        self.focus_inside()

    def focus_inside(self, *, at_end: bool = False) -> None:
        """Put the focus on it, with `at_end` behind the last character."""
        area = self._area
        if area is not None and at_end:
            area.move_cursor(area.document.end)
        self.children[0].focus()

    @property
    def _area(self) -> ContentArea | None:
        return next(iter(self.query(ContentArea)), None)

    def _fitting(self) -> ContentArea | OutsideContent:
        if self._why_fixed is not None:
            return OutsideContent(self._content, self._why_fixed, has_key=False)
        if can_edit_here(self._content):
            return ContentArea(self._content, placeholder="What should be remembered?")
        return OutsideContent(self._content, _why_outside(self._content))


class OutsideContent(Static, can_focus=True):
    """The beginning of a content, below the reason why it cannot be edited here."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("E,enter", "write_outside", "in $EDITOR")]

    def __init__(self, content: str, why: str, *, has_key: bool = True) -> None:
        key = ("\nPress E to open it in $EDITOR. You can edit the other fields here.", "$primary") if has_key else ""
        shown = display_text(content[:_EXCERPT]) + (" …" if len(content) > _EXCERPT else "")
        super().__init__(Content.assemble(why, key, "\n\n", (shown, MUTED)), markup=False)
        self._has_key = has_key

    async def action_write_outside(self) -> None:
        if self._has_key:
            await self.screen.run_action("write_outside")


def _why_outside(content: str) -> str:
    if len(content) > MAX_LENGTH:
        return f"{len(content):,} characters are too many to edit here."
    return "This content has control or hidden characters."
