"""Two kinds of dialog: a question answered by a letter, and a form that shows its effect; and a progress screen.

The result of a dialog is None when the user leaves it. The answer that changes nothing has the focus at first.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from rich.cells import cell_len
from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.events import Key
from textual.screen import ModalScreen
from textual.types import CSSPathType
from textual.widget import AwaitMount
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from zeroclaw_tui.config.real_binary import runnable
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, UsageError
from zeroclaw_tui.memory.text import counted, cut, display_text, one_line
from zeroclaw_tui.memory.text_difference import diff_lines
from zeroclaw_tui.tui.commands import show_failure
from zeroclaw_tui.tui.format import safe_text
from zeroclaw_tui.tui.themes import ACCENT, MUTED, SIGN_LOOKS, WARNING
from zeroclaw_tui.tui.view import bar
from zeroclaw_tui.tui.widgets.lines import GrowingText, LineInput
from zeroclaw_tui.tui.widgets.text_fields import OneOf, field_values

if TYPE_CHECKING:
    from zeroclaw_tui.curation.trial_settings import SettingChange

DIALOG_CSS = Path(__file__).with_name("dialogs.tcss")
"""The styles of all dialogs, also of subclasses in other modules."""
_MAX_VALUE = 80
_MAX_LINES, _SAME_SHOWN = 6, 30
"""The maximum lines of a diff in a question, and the characters shown before the first change of a line."""
Value = TypeVar("Value")
Result = TypeVar("Result")
Done = TypeVar("Done")
Work = Callable[..., Awaitable[Done]]
"""Long work that takes the keyword `on_progress`, a callback for the number of finished rows."""


class Dialog(ModalScreen[Result | None], Generic[Result]):
    """A panel over the room: a title, a body, the answers, and the keys."""

    CSS_PATH: ClassVar[CSSPathType | None] = DIALOG_CSS
    HORIZONTAL_BREAKPOINTS = [(0, "-slim"), (78, "-roomy")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-low"), (16, "-high")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pagedown", "page('down')", "a page on", show=False, priority=True),
        Binding("pageup", "page('up')", "a page back", show=False, priority=True),
    ]
    keys = "esc cancel"
    """The text of the last line."""
    must_be_seen = False
    """Whether keys typed before it was drawn are ignored, because its action cannot be undone."""

    def __init__(self, title: str, body: Content | None) -> None:
        super().__init__()
        self._title = title
        self._body = None if body is None else VerticalScroll(Static(body, id="body"), id="about", can_focus=False)

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static(Content(self._title), id="title")
            if self._body is not None:
                yield self._body.add_class("body")
            yield from self.compose_answers()
            yield Static(Content(self.keys), id="keys")

    def compose_answers(self) -> ComposeResult:
        yield from ()

    def discard_text(self) -> None:
        """Remove saved drafts of the typed text, because the user discards it."""

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit_body)

    def _fit_body(self) -> None:
        """Let the body scroll if it would take the space of the answers."""
        body = self._body
        if body is None or not self.is_attached:
            return
        panel = self.query_one("#dialog")
        rows = sum(child.outer_size.height + child.styles.margin.height for child in panel.children if child.display)
        needed = rows - body.outer_size.height + body.virtual_size.height + panel.gutter.height
        needed += panel.styles.margin.height
        # The panel has at most 95 per cent of the height.
        is_long = needed > self.size.height * 95 // 100
        if is_long != self.has_class("-long"):
            self.set_class(is_long, "-long")
            self.say("")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self.has_class("-long") if action == "page" else True

    def action_page(self, direction: str) -> None:
        """Scroll the body; the answers keep the focus."""
        if self._body is not None:
            scroll = self._body.scroll_page_down if direction == "down" else self._body.scroll_page_up
            scroll(animate=False)

    def action_step_out(self) -> None:
        self.dismiss(None)

    def say(self, words: str) -> None:
        """Show a message before the keys, until the next call."""
        keys = f"pgdn more   {self.keys}" if self.has_class("-long") else self.keys
        self.query_one("#keys", Static).update(Content(f"{words}   {keys}" if words else keys))


class Page(Dialog[None]):
    """A text to read."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark,f1,enter", "dismiss(None)", "close")]
    keys = "esc closes"


@dataclass(frozen=True, slots=True)
class Answer(Generic[Value]):
    """An answer: its letter ("" for none), its text, its value, and a remark."""

    key: str
    words: str
    value: Value
    remark: str = ""


class Question(Dialog[Value]):
    """A question with a few answers, chosen by letter, by `enter` on its line or by a click.

    `keep` is the text of the answer that changes nothing and returns None, like escape. Without it the answers are a
    choice: the current one is marked, and has the focus.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "step_out", "leave it", priority=True),
        Binding("q", "dismiss(None)", "cancel", show=False),
        Binding("j", "cursor('down')", "down", show=False),
        Binding("k", "cursor('up')", "up", show=False),
    ]

    def __init__(
        self,
        title: str,
        body: Content | None,
        keep: str | None,
        answers: Sequence[Answer[Value]],
        *,
        current: Value | None = None,
    ) -> None:
        super().__init__(title, body)
        self._answers: list[Answer[Any]] = [*([Answer("n", keep, None)] if keep is not None else []), *answers]
        self._is_choice = keep is None
        self._at = next((at for at, answer in enumerate(answers) if answer.value == current), None)
        letters = [answer.key for answer in self._answers if answer.key]
        self.keys = "   ".join(["enter choose", *([f"{' '.join(letters)} answer"] if letters else []), "esc cancel"])

    def compose_answers(self) -> ComposeResult:
        yield OptionList(*self._lines(), id="answers", markup=False, compact=True)

    def on_mount(self) -> None:
        answers = self.query_one(OptionList)
        answers.highlighted = (self._at or 0) if self._is_choice else 0
        answers.focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._answers[event.option_index].value)

    def on_key(self, event: Key) -> None:
        """Choose an answer by its letter."""
        for answer in self._answers:
            if answer.key and event.character == answer.key:
                event.stop()
                self.dismiss(answer.value)
                return

    def action_cursor(self, direction: str) -> None:
        options = self.query_one(OptionList)
        options.action_cursor_down() if direction == "down" else options.action_cursor_up()

    def _lines(self) -> list[Option]:
        """A line per answer: its letter or the mark of the current value, its text, and its remark, aligned."""
        key_cells = max(len(answer.key) for answer in self._answers)
        has_remarks = any(answer.remark for answer in self._answers)
        room = max(cell_len(answer.words) for answer in self._answers) if has_remarks else 0
        lines = []
        for index, answer in enumerate(self._answers):
            mark = ("● " if index == self._at else "  ") if self._is_choice else f"{answer.key.ljust(key_cells)}  "
            padding = " " * max(0, room - cell_len(answer.words))
            remark = (f"   {answer.remark}" if answer.remark else "", MUTED)
            lines.append(Option(Content.assemble((mark, ACCENT), answer.words + padding, remark)))
        return lines


def yes_or_no(title: str, yes: str, body: Content | None = None) -> Question[bool]:
    """A question with two answers: True for yes, None for cancel."""
    return Question(title, body, "Cancel", [Answer("y", yes, True)])


def confirmation(title: str, body: Content | None, count: int, verb: str) -> Dialog[Any]:
    """Ask before a change of `count` memories: up to ten are confirmed by `y`, more by typing the number."""
    from zeroclaw_tui.curation.outcome import TYPED_FROM

    if count >= TYPED_FROM:
        return typed_confirmation(title, body, f"{count:,}", verb)
    return yes_or_no(title, verb.capitalize(), body)


def choice(title: str, answers: Sequence[Answer[Value]], current: Value | None = None) -> Question[Value]:
    """A choice of a few values, the current one marked."""
    return Question(title, None, None, answers, current=current)


async def choose_profile(app: App[Any], library: Library) -> bool:
    """Ask for the ZeroClaw version whose scoring rules apply, and save it; False if none was chosen."""
    from zeroclaw_tui.config.settings import save_profile
    from zeroclaw_tui.scoring.profiles import rule_sets

    current = library.profile.profile.version
    answers = [Answer("", version, version, news) for version, news in rule_sets(current)]
    version = await app.push_screen_wait(choice("Scoring of which ZeroClaw version?", answers, current))
    if version is None:
        return False
    library.with_profile(version)
    try:
        save_profile(library.config.install, version)
    except InspectorError as error:
        show_failure(app, error)
    return True


def review_question(change: SettingChange, effect: str = "") -> Question[bool]:
    """Ask whether to save a change of config.toml; `effect` describes its result."""
    parts: list[str | tuple[str, str]] = [
        (f"{sign} {display_text(text)}\n", SIGN_LOOKS[sign]) for sign, text in change.lines
    ]
    if not change.lines:
        parts.append(("No changes: the file already has these settings.\n", MUTED))
    parts += [(f"▲ {display_text(warning)}\n", WARNING) for warning in change.warnings]
    body = Content.assemble(*parts, f"\n{display_text(effect)}" if effect else "")
    answer = Answer("y", "Save", True, "a backup of the file is kept")
    return Question("Save to config.toml?", body, "Cancel", [answer])


def field_changes(old: MemoryEntry, new: MemoryEntry) -> list[tuple[str, str, str]]:
    """The changed fields except the content: name, old value and new value."""
    from zeroclaw_tui.curation.outcome import changed_fields

    return [
        (name.removesuffix("_id").replace("_", " "), _field_text(getattr(old, name)), _field_text(getattr(new, name)))
        for name in changed_fields(old, new)
        if name != "content"
    ]


def difference_content(old: MemoryEntry, new: MemoryEntry) -> Content:
    """The differences of two versions of a memory: the first changed lines, and all changed fields."""
    lines = [line for line in diff_lines(old.content, new.content) if line.sign in ("+", "-")]
    # A long line that changed near its end is cut at its beginning.
    texts = zip(*(line.text for line in lines), strict=False) if len(lines) == 2 else ()
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], texts))
    start = max(0, same - _SAME_SHOWN)
    parts = [
        Content.styled(f"{line.sign} {'…' if start else ''}{cut(line.text[start:], 120)}", SIGN_LOOKS[line.sign])
        for line in lines[:_MAX_LINES]
    ]
    if len(lines) > _MAX_LINES:
        parts.append(Content.styled(f"… {counted(len(lines) - _MAX_LINES, 'more line')}", MUTED))
    parts += [Content.styled(f"{name}  {before} → {after}", MUTED) for name, before, after in field_changes(old, new)]
    return Content("\n").join(parts)


def _field_text(value: object) -> str:
    if value is None or value == "":
        return "(none)"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return cut(one_line(f"{value:g}" if isinstance(value, float) else str(value)[: 4 * _MAX_VALUE]), _MAX_VALUE)


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form; `values` if it is not free text. With a placeholder, typing does not replace its value."""

    name: str
    label: str
    value: str = ""
    values: tuple[str, ...] = ()
    placeholder: str = ""


class Form(Dialog[Mapping[str, str]]):
    """Fields to type or choose, and below them their effect; the result is the values by name.

    `below` describes the effect of the current values, and raises UsageError for invalid ones: the form stays open.
    """

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "cancel"),
        Binding("enter", "submit", "continue", show=False),
        Binding("down", "app.focus_next", "next", show=False),
        Binding("up", "app.focus_previous", "previous", show=False),
    ]

    def __init__(
        self,
        title: str,
        body: Content | None,
        fields: Sequence[Field],
        below: Callable[[Mapping[str, str]], Content],
        *,
        does: str = "continue",
    ) -> None:
        super().__init__(title, body)
        self._fields = fields
        self._below = below
        moves = "   tab next" if len(fields) > 1 else ""
        moves += "   ◂ ▸ choose" if any(field.values for field in fields) else ""
        self.keys = f"enter {does}{moves}   esc cancel"

    def compose_answers(self) -> ComposeResult:
        for field in self._fields:
            with Horizontal(classes="field"):
                if len(self._fields) > 1:
                    yield Static(Content(field.label), classes="name")
                if field.values:
                    yield OneOf(field.values, field.value, id=field.name)
                else:
                    yield LineInput(field.value, placeholder=field.placeholder, id=field.name)
        yield GrowingText(id="below")

    @property
    def has_unsaved_text(self) -> bool:
        """Whether the user changed a field."""
        return self.is_mounted and field_values(self) != {field.name: field.value for field in self._fields}

    def on_mount(self) -> None:
        self.add_class("-typed")
        first = self._fields[0]
        self.set_focus(self.query_one(f"#{first.name}"), from_app_focus=bool(first.placeholder))
        self._show_below(is_submitted=False)

    @on(Input.Changed)
    @on(OneOf.Changed)
    def show_effect(self) -> None:
        """Show the effect of the current values."""
        self._show_below(is_submitted=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_submit()

    def action_submit(self) -> None:
        if self._show_below(is_submitted=True):
            self.dismiss(field_values(self))

    def _show_below(self, *, is_submitted: bool) -> bool:
        below = self.query_one("#below", Static)
        try:
            below.update(self._below(field_values(self)))
        except UsageError as error:
            if is_submitted:
                below.update(Content.styled(f"{error.message} {error.hint}".strip(), "$text-error"))
            else:
                below.update(Content(error.hint or error.message))
            return False
        return True


def typed_confirmation(title: str, body: Content | None, word: str, verb: str) -> Form:
    """A form that is confirmed by typing a word, or a number with or without commas."""
    kind = "number" if word[0].isdecimal() else "word"

    def below(values: Mapping[str, str]) -> Content:
        if values["word"].strip() not in (word, word.replace(",", "")):
            raise UsageError(f"The {kind} does not match.", hint=f"Type {word} to {verb}.")
        return Content(f"Press ⏎ to {verb}.")

    return Form(title, body, [Field("word", "")], below, does=verb)


async def ask_path(app: App[Any], title: str, remark: str, read: Callable[[Path], Awaitable[Done]]) -> Done | None:
    """Ask for the path of a file or directory, again if `read` raises InspectorError; None if cancelled."""
    typed, failure = "", None
    while True:
        form = Form(title, failure, [Field("path", "path", typed, placeholder="~/…")], lambda _: Content(remark))
        values = await app.push_screen_wait(form)
        if values is None:
            return None
        typed = values["path"]
        try:
            return await read(parse_path(typed))
        except InspectorError as error:
            failure = Content.styled(safe_text(runnable(str(error))), "$text-error")


def parse_path(typed: str) -> Path:
    """Parse a typed path, and expand a tilde. Raises UsageError for an invalid path."""
    path = typed.strip()
    if not path or "\0" in path:
        raise UsageError("A path cannot contain the character NUL." if path else "Enter a path.")
    try:
        return Path(path).expanduser().absolute()
    except RuntimeError as error:
        raise UsageError("Home directory not found.") from error


class ProgressScreen(Dialog[None]):
    """A sentence, a bar and a count; it closes itself when the change is over. A `total` of 0 means unknown."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "stop", "stop after this batch")]
    keys = "esc stops after this batch"

    def __init__(self, sentence: str, total: int) -> None:
        super().__init__(sentence, None)
        self._total = total
        self._done = 0
        self._is_stopped = False
        self.is_over = False

    def advance(self, done: int) -> bool:
        """Set the number of finished rows, from any thread; returns False to stop before the next batch."""
        self._done = done
        return not self._is_stopped

    def compose_answers(self) -> ComposeResult:
        yield Static(self._so_far(), id="so-far")

    def on_mount(self) -> None:
        self.add_class("-typed")
        self.set_interval(0.1, self.follow)

    def follow(self) -> None:
        """Show the progress, or close when the change is over."""
        if not self.is_over:
            self.query_one("#so-far", Static).update(self._so_far())
        elif self.app.screen is self:
            # Dismissing a screen behind a dialog would remove the dialog instead.
            self.dismiss()

    def action_stop(self) -> None:
        self._is_stopped = True
        self.keys = "Stopping after this batch …"
        self.say("")

    def _so_far(self) -> Content:
        if not self._total:
            return Content(f"{self._done:,}")
        share, of = min(1.0, self._done / self._total), f" of {self._total:,}"
        return Content.assemble((bar(share, 36), ACCENT), f"  {self._done:,}", (of, MUTED))


async def with_progress(app: App[Any], sentence: str, total: int, patience: float, work: Work[Done]) -> Done:
    """Run work, and show its progress if it takes longer than `patience` seconds."""
    screen = ProgressScreen(sentence, total)
    mounting: list[AwaitMount] = []

    def show() -> None:
        if not screen.is_over:
            mounting.append(app.push_screen(screen))

    timer = app.set_timer(patience, show)
    try:
        return await work(on_progress=screen.advance)
    finally:
        timer.stop()
        screen.is_over = True
        for mounted in mounting:
            # Otherwise the next question could cover the progress screen.
            await mounted
            screen.follow()
