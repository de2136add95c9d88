"""Where memories are written: fields and texts that show what is hostile by stand-ins and give it back as it was."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.document._document import EditResult
from textual.events import Click
from textual.message import Message
from textual.reactive import reactive
from textual.suggester import SuggestFromList
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea
from textual.widgets.text_area import Edit

from zeroclaw_tui.memory.hidden_text import hidden_runs
from zeroclaw_tui.memory.text import WHITE_SPACE, display_text
from zeroclaw_tui.tui.themes import ACCENT, MUTED

LONGEST = 200_000
"""Characters; a longer text would make every key wait."""
_PLAIN = re.compile(r"[\x20-\x7e\n\t]*")
_LINE_ENDS = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
_ONE_LINE = {"\n": "␊", "\t": "␉"}
_POOL = "▣▤▥▦▧▨▩◈◉◍◐◑◒◓◔◕◖◗◘◙◚◛◜◝◞◟◠◡◢◣◤◥◧◨◩◪◫◬◭◮"
# Tag letters stand as letters in circles, so that what they spell can be read.
_CIRCLED = {0xE0041 + at: chr(0x24B6 + at) for at in range(26)} | {0xE0061 + at: chr(0x24D0 + at) for at in range(26)}
_SIGNS = _POOL + "".join(_CIRCLED.values())
_BLANKS = frozenset(WHITE_SPACE) - frozenset("\u2028\u2029")
_NO_MORE = "\ufffd"
_TOLD = 3
_EXCERPT = 600


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
        super().action_copy()
        self._copy_meant()

    def action_cut(self) -> None:
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
        super().__init__(self.stand_ins.shown(value, beside=value), compact=True, placeholder=placeholder, id=id)

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
        mark = ACCENT if self.has_focus else MUTED
        parts: list[str | tuple[str, str]] = [("◂ ", mark), display_text(self.value), (" ▸", mark)]
        if len(self._values) > 2:
            parts.append((f"   {self.at + 1} of {len(self._values)}", MUTED))
        return Content.assemble(*parts)

    def watch_at(self) -> None:
        self.post_message(self.Changed())

    def action_step(self, step: int) -> None:
        self.at = (self.at + step) % len(self._values)

    def on_click(self, event: Click) -> None:
        self.action_step(-1 if event.x < 2 else 1)


class StandIns:
    """One visible character for each one that steers a terminal or hides text, and the way back.

    Control characters stand as their pictures, others as signs that the text itself does not hold. With `one_line`
    line feeds and tabs have stand-ins too.
    """

    def __init__(self, *, one_line: bool = False) -> None:
        self._one_line = one_line
        self._shown: dict[str, str] = {}
        self._meant: dict[str, str] = {}
        """Which sign stands for what; the other way round above."""

    def can_show(self, text: str) -> bool:
        """Whether there are enough signs for all that has to be hidden in this text."""
        return len(self._hostile(text)[0]) <= len(_SIGNS)

    def shown(self, text: str, beside: str = "", after: str = "") -> str:
        """The text as it may be shown and typed over.

        `beside` is what already is, whose signs are not taken; `after` is what it comes right behind, a letter that a
        joiner belongs to.
        """
        if _PLAIN.fullmatch(text) and not (self._one_line and ("\n" in text or "\t" in text)):
            return text
        found, places = self._hostile(text, after)
        taken = {*text, *beside}
        for character in sorted(found):
            if character not in self._shown:
                self._add(character, taken)
        # A sign that stands for something else by now needs a stand-in of its own.
        for sign in sorted({*text} & self._meant.keys()):
            if sign not in self._shown:
                self._add(sign, taken)
        if not self._shown:
            return text
        # What is hostile only somewhere, such as a joiner outside an emoji, stays plain where it is not.
        return "".join(
            self._shown[character] if at in places or character in self._meant else character
            for at, character in enumerate(text)
        )

    def meant(self, shown: str) -> str:
        """What a shown text stands for."""
        return shown.translate({ord(sign): meant for sign, meant in self._meant.items()})

    def legend(self, shown: str) -> str:
        """Which signs of a shown text stand for what, as a sentence; "" when none does."""
        signs = [sign for sign in self._meant if sign in shown]
        told = [f"{sign} is U+{ord(self._meant[sign]):04X}" for sign in signs[:_TOLD]]
        if len(signs) > _TOLD:
            told.append(f"{len(signs) - _TOLD} more signs stand for hidden characters")
        return " · ".join(told)

    def _hostile(self, text: str, after: str = "") -> tuple[set[str], set[int]]:
        """The characters that need a stand-in, and where they stand. A blank needs none: it is typed over like one."""
        runs = hidden_runs(after + text)
        places = {at - len(after) for run in runs for at in range(max(run.start, len(after)), run.end)}
        places = {at for at in places if text[at] not in _BLANKS}
        always = {character for character in set(text) if self._is_control(character)}
        if always:
            places |= {at for at, character in enumerate(text) if character in always}
        return always | {text[at] for at in places}, places

    def _is_control(self, character: str) -> bool:
        """Whether it has a picture, or a sign that stands for all of its kind."""
        if self._one_line and character in _ONE_LINE:
            return True
        shown = display_text(character)
        return shown != character and len(shown) == 1

    def _add(self, character: str, taken: set[str]) -> None:
        pictured = _ONE_LINE.get(character) or _CIRCLED.get(ord(character)) or display_text(character)
        free = (sign for sign in (pictured, *_SIGNS) if len(sign) == 1 and sign not in (_NO_MORE, *self._meant))
        sign = next((sign for sign in free if sign not in taken), None)
        if sign is None:
            self._shown[character] = _NO_MORE
        else:
            self._shown[character] = sign
            self._meant[sign] = character


def with_line_feeds(text: str) -> str:
    """Text as it is pasted or typed: every kind of line end as a line feed."""
    return _LINE_ENDS.sub("\n", text)


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

    async def action_write_outside(self) -> None:
        if self._has_key:
            await self.screen.run_action("write_outside")


def _why_outside(content: str) -> str:
    if len(content) > LONGEST:
        return f"{len(content):,} characters are too many to be typed over here."
    return "This content holds too many kinds of characters that a terminal would obey."
