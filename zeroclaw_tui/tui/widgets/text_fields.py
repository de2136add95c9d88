"""Fields for editing a memory. Control and hidden characters cannot be typed into them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.document._document import EditResult
from textual.events import Click
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import TextArea
from textual.widgets.text_area import Edit

from zeroclaw_tui.memory.text import display_text
from zeroclaw_tui.tui.themes import ACCENT, MUTED
from zeroclaw_tui.tui.widgets.lines import LineInput, visible_text, why_not_here

_EXCERPT = 600


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
        edit.text = visible_text(self, edit.text, before)
        return super().edit(edit)


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
