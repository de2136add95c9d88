"""Fields for editing a memory. Control and hidden characters cannot be typed into them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.document._document import EditResult
from textual.events import Click
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Input, TextArea
from textual.widgets.text_area import Edit

from zeroclaw_tui.memory.hidden_text import hidden_runs
from zeroclaw_tui.memory.text import WHITE_SPACE, display_text, one_line
from zeroclaw_tui.tui.themes import ACCENT, MUTED

_EXCERPT = 600
_LINE_ENDS = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
_BLANKS = frozenset(WHITE_SPACE)


def why_not_here(text: str) -> str | None:
    """Say why a text cannot be edited on the screen; None if the screen shows it exactly as it is stored."""
    # Each key press would be slow.
    if len(text) > 200_000:
        return f"{len(text):,} characters are too many to edit here."
    lines = text.replace("\r\n", "\n")
    # The editor would change mixed line endings.
    shown = text if {"\r", "\n"} & {*text.replace("\r\n", "")} else lines
    return None if display_text(shown) == shown else "This content has control or hidden characters."


def can_edit_in_line(text: str) -> bool:
    """Whether a text fits in a LineInput and looks exactly as it is stored."""
    return not {"\t", "\n"} & {*text} and why_not_here(text) is None


class ContentArea(TextArea):
    """Edits a content. Control and hidden characters cannot be typed or pasted into it.

    A content that cannot be edited here, or is fixed (`why_fixed`), is read-only: the reason and its beginning.
    """

    def __init__(self, content: str, *, why_fixed: str | None = None, id: str | None = None) -> None:
        self._stored, self._why_fixed = content, why_fixed
        super().__init__(
            self._shown_text,
            soft_wrap=True,
            read_only=self._why is not None,
            compact=True,
            highlight_cursor_line=False,
            placeholder="What should be remembered?",
            id=id,
        )

    @property
    def content(self) -> str:
        """The content to store."""
        return self._stored if self.read_only else self.text

    def put(self, content: str) -> None:
        """Set another content."""
        self._stored = content
        self.read_only = self._why is not None
        self.load_text(self._shown_text)

    @property
    def _why(self) -> str | None:
        return self._why_fixed or why_not_here(self._stored)

    @property
    def _shown_text(self) -> str:
        """The text of the editor: the content, or why it is read-only and its beginning."""
        content, why = self._stored, self._why
        if why is None:
            return content
        how = "" if self._why_fixed else "\nPress ctrl+e to open it in $EDITOR. You can edit the other fields here."
        excerpt = display_text(content[:_EXCERPT]) + (" …" if len(content) > _EXCERPT else "")
        return f"{why}{how}\n\n{excerpt}"

    def edit(self, edit: Edit) -> EditResult:
        """Apply an edit without control and hidden characters."""
        row, column = min(edit.from_location, edit.to_location)
        before = self.document.get_line(row)[max(0, column - 1) : column]
        edit.text = _visible(self, _LINE_ENDS.sub("\n", edit.text), before)
        return super().edit(edit)


class LineInput(Input):
    """Edits a single-line text. Control and hidden characters cannot be typed or pasted into it."""

    def __init__(self, value: str = "", *, id: str | None = None, placeholder: str = "") -> None:
        self._stored = value
        self._shown_text = value if can_edit_in_line(value) else one_line(value)
        super().__init__(self._shown_text, compact=True, placeholder=placeholder, id=id)

    @property
    def text(self) -> str:
        """The value of the field: the original value until it is changed."""
        return self._stored if self.value == self._shown_text else self.value

    def replace(self, text: str, start: int, end: int) -> None:
        """Replace a part without control and hidden characters."""
        line = " ".join(re.split("[\n\t]", _LINE_ENDS.sub("\n", text)))
        super().replace(_visible(self, line, self.value[max(0, start - 1) : start]), start, end)


class OneOf(Widget, can_focus=True):
    """A choice of a few values on one line, changed with the arrow keys, the space bar or a click."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,space,l", "step(1)", "next", show=False),
        Binding("left,h", "step(-1)", "previous", show=False),
    ]
    at: reactive[int] = reactive(0)

    class Changed(Message):
        """The value was changed."""

    def __init__(self, values: Sequence[str], chosen: str, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._values = tuple(values)
        self.set_reactive(OneOf.at, self._values.index(chosen) if chosen in self._values else 0)

    @property
    def value(self) -> str:
        """The chosen value."""
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
    """The values of a form, by the ids of its fields."""
    typed = {line.id or "": line.text for line in form.query(LineInput)}
    return typed | {choice.id or "": choice.value for choice in form.query(OneOf)}


def _visible(field: Widget, text: str, before: str) -> str:
    """Remove characters that cannot be shown from typed text; `before` is the character in front, for joiners."""
    if display_text(before + text) == before + text:
        return text
    hidden = {index - len(before) for run in hidden_runs(before + text) for index in range(run.start, run.end)}
    # A control character is displayed as another character.
    hidden |= {index for index, char in enumerate(text) if len(display_text(char)) == 1 and display_text(char) != char}
    allowed = "".join(char for index, char in enumerate(text) if index not in hidden or char in _BLANKS)
    if allowed != text:
        field.notify("Removed control and hidden characters. Use $EDITOR to type them.", severity="warning")
    return allowed
