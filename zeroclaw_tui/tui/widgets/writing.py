"""Where memories are written: fields and texts that show what is hostile by stand-ins and give it back as it was."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.document._document import EditResult
from textual.events import Click
from textual.message import Message
from textual.reactive import reactive
from textual.suggester import SuggestFromList
from textual.widget import Widget
from textual.widgets import Input, TextArea
from textual.widgets.text_area import Edit

from zeroclaw_tui.memory.text import display_text
from zeroclaw_tui.tui.stand_ins import StandIns, has_only_crlf, with_line_feeds
from zeroclaw_tui.tui.themes import ACCENT, MUTED

LONGEST = 200_000
"""Characters; a longer text would make every key wait."""


def can_be_typed_over(text: str) -> bool:
    """Whether a text is short enough, and has few enough hostile characters, for a ContentArea."""
    return len(text) <= LONGEST and StandIns().can_show(text)


class ContentArea(TextArea):
    """A text to type over. `content` is what it stands for, to the byte while nobody types."""

    def __init__(self, content: str = "", *, id: str | None = None, placeholder: str = "") -> None:
        self.stand_ins = StandIns()
        super().__init__(
            self._shown(content), soft_wrap=True, compact=True, highlight_cursor_line=False, placeholder=placeholder,
            id=id,
        )  # fmt: skip

    @property
    def content(self) -> str:
        """The text as it is to be stored."""
        return self.stand_ins.meant(self.text)

    def put(self, content: str) -> None:
        """Begin anew with another text."""
        self.stand_ins = StandIns()
        self.load_text(self._shown(content))

    def edit(self, edit: Edit) -> EditResult:
        """Every typed and pasted text comes through here."""
        row, column = min(edit.from_location, edit.to_location)
        after = self.document.get_line(row)[max(0, column - 1) : column]
        edit.text = self.stand_ins.shown(with_line_feeds(edit.text), beside=self.text, after=after)
        return super().edit(edit)

    def action_copy(self) -> None:
        """Copy what the selection stands for."""
        super().action_copy()
        self._copy_meant()

    def action_cut(self) -> None:
        """Cut, and copy what the selection stood for."""
        super().action_cut()
        self._copy_meant()

    def _shown(self, content: str) -> str:
        if has_only_crlf(content):
            lines = content.replace("\r\n", "\n")
            return self.stand_ins.shown(lines, beside=lines).replace("\n", "\r\n")
        return self.stand_ins.shown(content, beside=content)

    def _copy_meant(self) -> None:
        meant = self.stand_ins.meant(self.app.clipboard)
        # The clipboard takes UTF-8 only.
        self.app.copy_to_clipboard(meant.encode("utf-8", "replace").decode("utf-8"))


class LineInput(Input):
    """A field of one line. `meant` is what it stands for."""

    def __init__(self, value: str = "", *, id: str | None = None, placeholder: str = "") -> None:
        self.stand_ins = StandIns(one_line=True)
        super().__init__(
            self.stand_ins.shown(value, beside=value), compact=True, select_on_focus=False, placeholder=placeholder,
            id=id,
        )  # fmt: skip

    @property
    def meant(self) -> str:
        """The value as it is to be stored."""
        return self.stand_ins.meant(self.value)

    def suggest(self, values: Iterable[str]) -> None:
        """Offer these while someone types; those that would have to be cleaned are left out."""
        harmless = [value for value in values if value and StandIns(one_line=True).shown(value) == value]
        self.suggester = SuggestFromList(harmless, case_sensitive=False)

    def replace(self, text: str, start: int, end: int) -> None:
        """Every typed and pasted text comes through here."""
        line = " ".join(with_line_feeds(text).split("\n"))
        after = self.value[max(0, start - 1) : start]
        super().replace(self.stand_ins.shown(line, beside=self.value, after=after), start, end)


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

    def offer(self, values: Iterable[str]) -> None:
        """These values instead; the one chosen stays where it is among them. None at all changes nothing."""
        chosen, offered = self.value, tuple(values)
        if offered:
            self._values = offered
            self.set_reactive(OneOf.at, offered.index(chosen) if chosen in offered else 0)
            self.refresh()

    def render(self) -> Content:
        """The value between its arrows."""
        mark = ACCENT if self.has_focus else MUTED
        parts: list[str | tuple[str, str]] = [("◂ ", mark), display_text(self.value), (" ▸", mark)]
        if len(self._values) > 2:
            parts.append((f"   {self.at + 1} of {len(self._values)}", MUTED))
        return Content.assemble(*parts)

    def watch_at(self) -> None:
        """Tell."""
        self.post_message(self.Changed())

    def action_step(self, step: int) -> None:
        """The next one, round and round."""
        self.at = (self.at + step) % len(self._values)

    def on_click(self, event: Click) -> None:
        """The left arrow goes back, everything else forth."""
        self.action_step(-1 if event.x < 2 else 1)
