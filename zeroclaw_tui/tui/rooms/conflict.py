"""A memory that changed while it was being edited: both versions side by side, and what shall be kept."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from zeroclaw_tui.memory.change import StoredRow, Value
from zeroclaw_tui.memory.entry import EDITABLE
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui.format import absolute_time, count_text, fit
from zeroclaw_tui.tui.themes import MUTED
from zeroclaw_tui.tui.widgets.line_diff import MARKERS, DiffLine, diff_lines, merge
from zeroclaw_tui.tui.widgets.writing import ContentArea, can_be_typed_over

MOST_LINES = 400
"""So many lines of a comparison are shown, and so many characters of each."""
_SIDE_BY_SIDE = 100
_LOOKS = {"-": "$text-error", "+": "$text-success", "…": MUTED, " ": ""}
_VALUE_CELLS = 40


@dataclass(frozen=True, slots=True)
class Resolution:
    """What shall be kept; `content` is the merge as it was written."""

    keep: Literal["mine", "theirs", "merge"]
    content: str = ""


class ConflictScreen(ModalScreen[Resolution | None]):
    """`mine` is the row as it would be, `base` as it was opened, `theirs` as it is now. None goes back to typing."""

    CSS_PATH = "conflict.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "step_out", "back"),
        Binding("j", "cursor('down')", "down", show=False),
        Binding("k", "cursor('up')", "up", show=False),
        Binding("ctrl+s", "save_merge", "save", priority=True, show=False),
    ]

    def __init__(self, mine: StoredRow, base: StoredRow, theirs: StoredRow) -> None:
        super().__init__()
        self._mine, self._base, self._theirs = mine, base, theirs
        self._merged = ""
        self._is_warned = False

    def compose(self) -> ComposeResult:
        """Both versions, the choices; behind them the merge."""
        with Vertical(id="conflict"):
            key = fit(one_line(self._theirs.entry().key), _VALUE_CELLS).rstrip()
            yield Static(Content(f"{key} changed while you edited it"), id="title")
            with Horizontal(id="versions"):
                yield _Version("Mine", "as you typed it", id="mine")
                written = absolute_time(self._theirs.entry().updated_at or "")
                yield _Version("Theirs", f"written {written}", id="theirs")
            yield OptionList(id="choices", markup=False, compact=True)
            with Vertical(id="merging"):
                yield Static("", id="merge-note", markup=False)
                yield ContentArea(id="merge")
            yield Static("enter choose   tab read on   esc back to what you typed", id="keys", markup=False)

    def on_mount(self) -> None:
        """Compare in the background: contents may be long."""
        self.query_one("#choices").focus()
        self.run_worker(self._compare(), group="compare")

    def on_resize(self, event: Resize) -> None:
        """One above the other where there is no room beside."""
        self.set_class(event.size.width < _SIDE_BY_SIDE, "-stacked")

    @property
    def holds_text(self) -> bool:
        """What was typed is always part of it."""
        return True

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Keep one, or write the merge."""
        match event.option_id:
            case "mine" | "theirs" as kept:
                self.dismiss(Resolution(kept))
            case "merge":
                self._show_merge(True)

    def action_step_out(self) -> None:
        """From the merge to the choices, from there back to the editor."""
        if self.has_class("-merging"):
            self._show_merge(False)
        else:
            self.dismiss(None)

    def action_cursor(self, way: str) -> None:
        """Move among the choices, or in the version that is read."""
        focused = self.focused
        if isinstance(focused, OptionList):
            focused.action_cursor_down() if way == "down" else focused.action_cursor_up()
        elif isinstance(focused, VerticalScroll):
            focused.scroll_down() if way == "down" else focused.scroll_up()

    def action_save_merge(self) -> None:
        """Take the merge as it stands; with conflict markers left in it only when asked twice."""
        if not self.has_class("-merging"):
            return
        content = self.query_one(ContentArea).content
        has_markers = any(line in MARKERS for line in content.split("\n"))
        if has_markers and not self._is_warned:
            self._is_warned = True
            self.query_one("#merge-note", Static).update("! The markers are still in it. ctrl+s again saves it so.")
            return
        self.dismiss(Resolution("merge", content))

    async def _compare(self) -> None:
        mine, base, theirs = (row.entry().content for row in (self._mine, self._base, self._theirs))
        of_mine, of_theirs, (merged, clashes) = await asyncio.to_thread(
            lambda: (diff_lines(base, mine), diff_lines(base, theirs), merge(base, mine, theirs))
        )
        self.query_one("#mine", _Version).show(changed_fields(self._base, self._mine), of_mine)
        self.query_one("#theirs", _Version).show(changed_fields(self._base, self._theirs), of_theirs)
        self._merged = merged
        self._offer(clashes)

    def _offer(self, clashes: int) -> None:
        mine = [name for name, _, _ in changed_fields(self._base, self._mine)]
        if self._mine.entry().content != self._base.entry().content:
            mine.append("content")
        kept = f"your {' and '.join(mine) or 'version'}, all else as it is now"
        is_writable = can_be_typed_over(self._merged)
        places = "1 place" if clashes == 1 else f"{clashes} places"
        state = f"both changed the same lines in {places}" if clashes else "both changes fit together"
        choices = self.query_one(OptionList)
        choices.add_options(
            [
                _option("mine", "Keep mine", kept),
                _option("theirs", "Keep theirs", "what you typed is left"),
                _option("merge", "Edit the merge", state if is_writable else "too long to be typed over", is_writable),
            ]
        )
        choices.highlighted = 0
        note = (
            f"Both changed the same lines in {places}: there both stand between markers."
            if clashes
            else "Both changes are in it."
        )
        self.query_one("#merge-note", Static).update(note)
        if is_writable:
            self.query_one(ContentArea).put(self._merged)

    def _show_merge(self, is_shown: bool) -> None:
        self.set_class(is_shown, "-merging")
        self.query_one("#merge" if is_shown else "#choices").focus()
        keys = (
            "ctrl+s save the merge   esc choose again"
            if is_shown
            else "enter choose   tab read on   esc back to what you typed"
        )
        self.query_one("#keys", Static).update(keys)


class _Version(VerticalScroll):
    """One version: its name, its changed fields, its changed lines."""

    def __init__(self, name: str, remark: str, *, id: str) -> None:
        super().__init__(id=id)
        self._heading = Content.assemble((name, "bold"), (f"   {remark}", MUTED))

    def compose(self) -> ComposeResult:
        """The heading over the lines."""
        yield Static(self._heading, classes="heading")
        yield Static("", classes="lines", markup=False)

    def show(self, fields: Sequence[tuple[str, Value, Value]], lines: Sequence[DiffLine]) -> None:
        """Fill it."""
        shown: list[Content] = [
            Content.assemble(
                ("~ ", "$warning"),
                (f"{name.removesuffix('_id')} ", MUTED),
                _short(name, before),
                (" → ", MUTED),
                (_short(name, after), "bold"),
            )
            for name, before, after in fields
        ]
        if shown:
            shown.append(Content(""))
        for line in lines[:MOST_LINES]:
            text = line.text[:MOST_LINES] + ("…" if len(line.text) > MOST_LINES else "")
            shown.append(Content.styled(f"{line.sign} {text}", _LOOKS[line.sign]))
        if len(lines) > MOST_LINES:
            shown.append(Content.styled(f"… {count_text(len(lines) - MOST_LINES)} more lines", MUTED))
        self.query_one(".lines", Static).update(Content("\n").join(shown))


def changed_fields(base: StoredRow, row: StoredRow) -> list[tuple[str, Value, Value]]:
    """The fields of one line that differ, each with both values."""
    return [
        (name, base.values.get(name), row.values.get(name))
        for name in EDITABLE
        if name != "content" and base.values.get(name) != row.values.get(name)
    ]


def _short(name: str, value: Value) -> str:
    if name == "pinned":
        return "yes" if value else "no"
    if value is None or value == "":
        return "none"
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return fit(one_line(text[:500]), _VALUE_CELLS).rstrip()


def _option(name: str, words: str, remark: str, is_open: bool = True) -> Option:
    return Option(Content.assemble(f"{words:<16}", (remark, MUTED)), id=name, disabled=not is_open)
