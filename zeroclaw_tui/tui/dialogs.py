"""Two kinds of dialog: a question answered by letter, and a form with its effect.

Each gives None when it is left; the answer that changes nothing has the focus at the start. Besides them the
progress of a long change.
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

from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, UsageError
from zeroclaw_tui.memory.text import counted, cut, display_text, one_line
from zeroclaw_tui.memory.text_difference import diff_lines
from zeroclaw_tui.tui.commands import show_failure
from zeroclaw_tui.tui.format import bar
from zeroclaw_tui.tui.themes import ACCENT, MUTED, SIGN_LOOKS, WARNING
from zeroclaw_tui.tui.widgets.lines import GrowingText
from zeroclaw_tui.tui.widgets.text_fields import LineInput, OneOf, field_values

if TYPE_CHECKING:
    from zeroclaw_tui.curation.trial_settings import SettingChange

DIALOG_CSS = Path(__file__).with_name("dialogs.tcss")
"""How every dialog looks, wherever its class is."""
_FIELDS = (
    "key", "category", "session_id", "namespace", "importance", "pinned", "kind", "superseded_by", "agent",
)  # fmt: skip
_MAX_VALUE = 80
_MAX_LINES, _SAME_SHOWN = 6, 30
"""How many lines of a difference a question shows, and how much of what stays the same."""
Value = TypeVar("Value")
Result = TypeVar("Result")
Done = TypeVar("Done")
Work = Callable[..., Awaitable[Done]]
"""Long work, which reports by the keyword `on_progress` how many rows are done."""


class Dialog(ModalScreen[Result | None], Generic[Result]):
    """A panel over the room, of a title, what it is about, what is answered, and its keys."""

    CSS_PATH: ClassVar[CSSPathType | None] = DIALOG_CSS
    HORIZONTAL_BREAKPOINTS = [(0, "-slim"), (78, "-roomy")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-low"), (16, "-high")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pagedown", "page('down')", "a page on", show=False, priority=True),
        Binding("pageup", "page('up')", "a page back", show=False, priority=True),
    ]
    keys = "esc cancel"
    """The last line."""
    must_be_seen = False
    """Whether keys that were typed before it was drawn are ignored: what it asks for cannot be undone."""

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
        """Remove what was written of the typed text, because a person discards it."""

    def on_resize(self) -> None:
        self.call_after_refresh(self._make_room)

    def _make_room(self) -> None:
        """What it is about scrolls where it would take the room of the answers."""
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

    def action_page(self, way: str) -> None:
        """Move through what it is about; the answers keep the focus."""
        if self._body is not None:
            scroll = self._body.scroll_page_down if way == "down" else self._body.scroll_page_up
            scroll(animate=False)

    def action_step_out(self) -> None:
        self.dismiss(None)

    def say(self, words: str) -> None:
        """Say something before the keys, until the next time."""
        keys = f"pgdn more   {self.keys}" if self.has_class("-long") else self.keys
        self.query_one("#keys", Static).update(Content(f"{words}   {keys}" if words else keys))


class Page(Dialog[None]):
    """A text to read."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark,f1,enter", "dismiss(None)", "close")]
    keys = "esc closes"


@dataclass(frozen=True, slots=True)
class Answer(Generic[Value]):
    """One answer: its letter ("" for none), its words, the value it gives, and a remark."""

    key: str
    words: str
    value: Value
    remark: str = ""


class Question(Dialog[Value]):
    """One of a few answers, by its letter, by `enter` on its line or by a click.

    `keep` is the answer that changes nothing and gives None, like escape. Without it the answers are a choice: the one
    that holds now is marked, and has the focus.
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
        letters = [answer.key for answer in answers if answer.key]
        if letters and keep is not None:
            letters.insert(0, "n")
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
        """The letter of an answer gives it."""
        for answer in self._answers:
            if answer.key and event.character == answer.key:
                event.stop()
                self.dismiss(answer.value)
                return

    def action_cursor(self, way: str) -> None:
        options = self.query_one(OptionList)
        options.action_cursor_down() if way == "down" else options.action_cursor_up()

    def _lines(self) -> list[Option]:
        """A letter or the mark of the current value, the words, and the remark, aligned where there is one."""
        key_cells = max(len(answer.key) for answer in self._answers)
        has_remarks = any(answer.remark for answer in self._answers)
        room = max(cell_len(answer.words) for answer in self._answers) if has_remarks else 0
        lines = []
        for at, answer in enumerate(self._answers):
            mark = ("● " if at == self._at else "  ") if self._is_choice else f"{answer.key.ljust(key_cells)}  "
            padding = " " * max(0, room - cell_len(answer.words))
            remark = (f"   {answer.remark}" if answer.remark else "", MUTED)
            lines.append(Option(Content.assemble((mark, ACCENT), answer.words + padding, remark)))
        return lines


def yes_or_no(title: str, body: Content | None, yes: str) -> Question[bool]:
    """A question with two answers; gives True for yes, None for cancel."""
    return Question(title, body, "Cancel", [Answer("y", yes, True)])


def confirmation(title: str, body: Content | None, count: int, verb: str) -> Dialog[Any]:
    """Ask before an act on so many memories: up to ten are confirmed by `y`, more by typing their number."""
    from zeroclaw_tui.curation.outcome import TYPED_FROM

    if count >= TYPED_FROM:
        return typed_confirmation(title, body, f"{count:,}", verb)
    return yes_or_no(title, body, verb.capitalize())


def choice(title: str, answers: Sequence[Answer[Value]], current: Value | None = None) -> Question[Value]:
    """One of a few values, the one that holds now marked."""
    return Question(title, None, None, answers, current=current)


async def choose_profile(app: App[Any], library: Library) -> bool:
    """Ask for the ZeroClaw version whose scoring rules recall uses, and remember it; False when none is chosen."""
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
    """Whether what changes in config.toml should be saved; `effect` describes the result."""
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
    """Every field but the content that differs: its name, its old value and its new value."""
    return [
        (name.removesuffix("_id").replace("_", " "), _field_words(getattr(old, name)), _field_words(getattr(new, name)))
        for name in _FIELDS
        if getattr(old, name) != getattr(new, name)
    ]


def difference_content(old: MemoryEntry, new: MemoryEntry) -> Content:
    """The first lines and all fields in which two versions of a memory differ."""
    lines = [line for line in diff_lines(old.content, new.content) if line.sign in ("+", "-")]
    # Of a long line that changed near its end the beginning would say nothing.
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


def _field_words(value: object) -> str:
    if value is None or value == "":
        return "(none)"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return cut(one_line(f"{value:g}" if isinstance(value, float) else str(value)[: 4 * _MAX_VALUE]), _MAX_VALUE)


@dataclass(frozen=True, slots=True)
class Field:
    """A line of a form: what it is called, its value, and the few values it may have where it is no free text."""

    name: str
    label: str
    value: str = ""
    values: tuple[str, ...] = ()
    placeholder: str = ""


class Form(Dialog[Mapping[str, str]]):
    """Fields to type or choose, and below them their effect; gives the values by name.

    `below` describes the effect so far, and raises UsageError for invalid values, which keeps the form open.
    """

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
    def holds_text(self) -> bool:
        """Whether a person changed a field."""
        return self.is_mounted and field_values(self) != {field.name: field.value for field in self._fields}

    def on_mount(self) -> None:
        self.add_class("-typed")
        self.query_one(f"#{self._fields[0].name}").focus()
        self._show_below(is_submitted=False)

    @on(Input.Changed)
    @on(OneOf.Changed)
    def show_effect(self) -> None:
        """Show the effect of what is typed so far."""
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
    """A form that gives None unless a word is typed, or a number with or without its commas."""
    kind = "number" if word[0].isdecimal() else "word"

    def below(values: Mapping[str, str]) -> Content:
        if values["word"].strip() not in (word, word.replace(",", "")):
            raise UsageError(f"The {kind} does not match.", hint=f"Type {word} to {verb}.")
        return Content(f"Press ⏎ to {verb}.")

    return Form(title, body, [Field("word", "")], below, does=verb)


def path_form(title: str, remark: str) -> Form:
    """A form that asks for the path of a file or directory, by the name `path`; `path_typed` reads it."""

    def below(values: Mapping[str, str]) -> Content:
        try:
            path_typed(values["path"])
        except UsageError as error:
            raise UsageError(error.message, hint=remark) from error
        return Content(remark)

    return Form(title, None, [Field("path", "path", placeholder="~/…")], below)


def path_typed(typed: str) -> Path:
    """The typed path, with the home directory instead of a tilde. Raises UsageError for an invalid path."""
    path = typed.strip()
    if not path or "\0" in path:
        raise UsageError("A path cannot contain the character NUL." if path else "Enter a path.")
    try:
        return Path(path).expanduser().absolute()
    except RuntimeError as error:
        raise UsageError("Home directory not found.") from error


class ProgressScreen(Dialog[None]):
    """A sentence, a bar, a count. It leaves by itself once the change is over; a `total` of 0 is unknown."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "stop", "stop after this batch")]
    keys = "esc stops after this batch"

    def __init__(self, sentence: str, total: int) -> None:
        super().__init__(sentence, None)
        self._total = total
        self._done = 0
        self._is_stopped = False
        self.is_over = False

    def advance(self, done: int) -> bool:
        """Take the count of finished rows, on any thread; False to stop before the next batch."""
        self._done = done
        return not self._is_stopped

    def compose_answers(self) -> ComposeResult:
        yield Static(self._so_far(), id="so-far")

    def on_mount(self) -> None:
        self.add_class("-typed")
        self.set_interval(0.1, self.follow)

    def follow(self) -> None:
        """Show how far it is, or leave when it is over."""
        if not self.is_over:
            self.query_one("#so-far", Static).update(self._so_far())
        elif self.app.screen is self:
            # Dismissing a screen that is behind a dialog would take the dialog away.
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
    """Do something; when it takes longer than `patience` seconds, show how far it is."""
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
            # The next question must not cover it.
            await mounted
            screen.follow()
