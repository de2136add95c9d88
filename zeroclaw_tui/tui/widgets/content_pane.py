"""A content to type over, or, where that cannot be, how it begins and why it is written elsewhere."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from zeroclaw_tui.memory.text import display_text
from zeroclaw_tui.tui.format import count_text
from zeroclaw_tui.tui.themes import MUTED
from zeroclaw_tui.tui.widgets.writing import LONGEST, ContentArea, can_be_typed_over

_EXCERPT = 600


class ContentPane(Vertical):
    """One content. With `why_fixed` it cannot be changed at all."""

    class OutsideWanted(Message):
        """It shall be opened in the person's own editor."""

    def __init__(self, content: str, *, why_fixed: str | None = None, id: str | None = None) -> None:
        super().__init__(id=id)
        self._content = content
        self._why_fixed = why_fixed

    def compose(self) -> ComposeResult:
        """Whichever fits the content."""
        yield self._fitting()

    @property
    def content(self) -> str:
        """The content as it is to be stored."""
        area = self._area
        return self._content if area is None else area.content

    @property
    def legend(self) -> str:
        """Which signs stand for characters that cannot be shown."""
        area = self._area
        return "" if area is None else area.stand_ins.legend(area.text)

    async def put(self, content: str) -> None:
        """Take another content."""
        self._content = content
        area = self._area
        if area is not None and can_be_typed_over(content):
            area.put(content)
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
        if can_be_typed_over(self._content):
            return ContentArea(self._content, placeholder="What shall be remembered")
        return OutsideContent(self._content, _why_outside(self._content))


class OutsideContent(Static, can_focus=True):
    """How a content begins, under the reason why it is not typed over here."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("E,enter", "write_outside", "in $EDITOR")]

    def __init__(self, content: str, why: str, *, has_key: bool = True) -> None:
        key = ("\nE opens it in $EDITOR; all else can be changed here.", "$primary") if has_key else ""
        shown = display_text(content[:_EXCERPT]) + (" …" if len(content) > _EXCERPT else "")
        super().__init__(Content.assemble(why, key, "\n\n", (shown, MUTED)), markup=False)
        self._has_key = has_key

    def action_write_outside(self) -> None:
        """Ask for the editor."""
        if self._has_key:
            self.post_message(ContentPane.OutsideWanted())


def _why_outside(content: str) -> str:
    if len(content) > LONGEST:
        return f"{count_text(len(content))} characters are too many to be typed over here."
    return "This content holds too many kinds of characters that a terminal would obey."
