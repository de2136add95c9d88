"""Edit or write one memory: its fields, its content, and both versions after a conflict."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.types import CSSPathType
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from zeroclaw_tui.backends.lookup import why_fixed
from zeroclaw_tui.curation.changes import edit_memory, store_memory
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.outcome import Outcome
from zeroclaw_tui.memory.change import Draft, Edit, EditConflict, Row, Value
from zeroclaw_tui.memory.days import absolute_time
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, UsageError
from zeroclaw_tui.memory.text import cut, display_text, one_line
from zeroclaw_tui.tui.dialogs import DIALOG_CSS, Answer, Dialog, Question, difference_content, yes_or_no
from zeroclaw_tui.tui.external import NOTHING_CHANGED, Edited, edit_text
from zeroclaw_tui.tui.themes import MUTED
from zeroclaw_tui.tui.widgets.lines import GrowingText, LineInput, can_edit_in_line
from zeroclaw_tui.tui.widgets.text_fields import ContentArea, OneOf, field_values

_KEY_CELLS = 48
FIELDS = {
    "key": ("key", "a unique key"),
    "category": ("category", "core, daily, conversation or your own"),
    "session_id": ("session", "none"),
    "namespace": ("namespace", "the store's default"),
    "importance": ("importance", "0 to 1"),
    "pinned": ("pinned", ""),
}
"""The single-line fields in order, each with its label and a hint."""
_OF_EVERY_DRAFT = ("content", "key", "category")
"""The fields of a new memory in every store, even if they cannot be changed afterwards."""
_NO_YES = ("no", "yes")


class EditorScreen(Dialog[Outcome]):
    """Edit a memory, or write a new one if `row` is None.

    The result is the outcome of saving, or None. Typed text stays until it is saved, or discarded after a question.
    `is_outside` opens the content in the user's editor at once, and saves the result.
    """

    CSS_PATH: ClassVar[CSSPathType | None] = [DIALOG_CSS, "editor.tcss"]
    AUTO_FOCUS = ""
    keys = "ctrl+s save   ctrl+e in $EDITOR   tab next field   esc leave"
    VERTICAL_BREAKPOINTS = [(0, "-low"), (20, "-high")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "save", id="editor.save", priority=True, tooltip="Save the memory"),
        Binding("ctrl+e", "write_outside", "$EDITOR", id="editor.external", priority=True, tooltip="In your editor"),
        Binding("escape", "step_out", "leave", id="editor.leave", tooltip="Close; asks first if you typed something"),
    ]

    def __init__(self, library: Library, row: Row | None, *, is_outside: bool = False) -> None:
        key = "" if row is None else cut(one_line(row.entry().key), _KEY_CELLS)
        super().__init__("A new memory" if row is None else f"Edit {key}", None)
        self.add_class("-whole")
        self._library, self._row = library, row
        entry = MemoryEntry("", "", "", "core", "") if row is None else row.entry()
        self._before = {name: _as_typed(name, getattr(entry, name)) for name in (*FIELDS, "content")}
        self._content = ContentArea(self._before["content"], why_fixed=self._why_not("content"), id="content")
        self._is_outside = is_outside
        self._edited: Edited | None = None
        """The text from the user's editor that is not saved yet."""
        self._is_saving = False
        self._tried: Mapping[str, str] = {}
        """The changed fields of the last attempt to save."""

    def compose_answers(self) -> ComposeResult:
        with Vertical(id="form"):
            with Vertical(id="fields"):
                for name, (words, hint) in FIELDS.items():
                    yield from self._field(name, words, hint)
                if self._row is None and "agents" not in self._library.memory.why_not:
                    with Horizontal(classes="field"):
                        yield Static("agent", classes="name")
                        yield OneOf(tuple(self._library.config.agents) or ("default",), "default", id="agent")
            yield self._content
        yield GrowingText(id="problem")

    def _field(self, name: str, words: str, hint: str) -> ComposeResult:
        why = self._why_not(name)
        with Horizontal(classes="field -fixed" if why else "field"):
            yield Static(words, classes="name")
            if why:
                is_stored = self._row is not None and self._row.values.get(name) not in (None, "")
                value = f"{one_line(self._before[name][:200])}  " if is_stored else ""
                yield Static(f"{value}{why}", classes="why", markup=False)
            elif name == "pinned":
                yield OneOf(_NO_YES, self._before[name], id=name)
            else:
                yield LineInput(self._before[name], placeholder=hint, id=name)

    def on_mount(self) -> None:
        if self._row is None:
            self.query_one("#key").focus()
        else:
            self._content.focus()
            if not self._content.read_only:
                self._content.move_cursor(self._content.document.end)
        if self._is_outside:
            self.call_after_refresh(self.action_write_outside, then_save=True)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if self._is_saving and action in ("save", "write_outside", "step_out"):
            return False
        return super().check_action(action, parameters)

    def on_input_submitted(self) -> None:
        self.focus_next()

    @on(Input.Changed)
    @on(TextArea.Changed)
    @on(OneOf.Changed)
    def hide_problem(self) -> None:
        """Hide the message about the last attempt once the values differ from it."""
        # The event of a letter typed before ctrl+s may arrive after the result of saving.
        if self.changed() != self._tried:
            self._say("")

    def changed(self) -> dict[str, str]:
        """The fields that differ from the opened memory, as typed."""
        typed = self._before | field_values(self) | {"content": self._content.content}
        return {name: typed[name] for name, before in self._before.items() if typed[name] != before}

    @property
    def has_unsaved_text(self) -> bool:
        """Whether there is unsaved text."""
        changed = self.changed()
        return bool(changed) if self._row is not None else not changed.keys().isdisjoint(("content", "key"))

    def action_save(self) -> None:
        """Save, and close on success."""
        if self._row is not None and not self.changed():
            self.dismiss(None)
            return
        self._tried, focused = self.changed(), self.focused
        self._is_saving = self.query_one("#form").disabled = True
        self._say("Saving …")
        # Never exclusive: the next write must not stop this one.
        self.run_worker(self._save(focused), group="editor-save")

    def action_write_outside(self, *, then_save: bool = False) -> None:
        """Edit the content in the user's editor, and `then_save` it, or close if nothing was changed."""
        try:
            edited = edit_text(self.app, self._content.content)
        except InspectorError as error:
            self._say(str(error))
            return
        if edited is not None:
            self.discard_text()
            self._edited = edited
            self._content.put(edited.text)
        if not then_save:
            self._say(NOTHING_CHANGED if edited is None else "")
        elif edited is not None:
            self.action_save()
        else:
            self.app.notify(NOTHING_CHANGED, markup=False)
            self.dismiss(None)

    def discard_text(self) -> None:
        """Remove the file with the text from the user's editor."""
        if self._edited is not None:
            self._edited.discard()
            self._edited = None

    def dismiss(self, result: Outcome | None = None) -> AwaitComplete:
        """Close, after the text was saved or discarded."""
        self.discard_text()
        return super().dismiss(result)

    def action_step_out(self) -> None:
        """Close, but ask first if there is unsaved text."""
        if self.has_unsaved_text:
            self.app.push_screen(yes_or_no("Discard your changes?", "Discard"), self._discard)
        else:
            self.dismiss(None)

    def _discard(self, is_confirmed: bool | None) -> None:
        if is_confirmed:
            self.dismiss(None)

    async def _save(self, focused: Widget | None) -> None:
        """Write the typed values, and close; after a failure, show it, and put the focus back on the `focused` field.

        If the row was changed since, ask with both versions, each time that happens.
        """
        base, problem = self._row, ""
        answer: Literal["mine", "theirs"] | None = "mine"
        try:
            values = {name: _parse(name, typed) for name, typed in self.changed().items()}
            while answer == "mine":
                try:
                    self.dismiss(await self._write(base, values))
                    return
                except EditConflict as conflict:
                    before, base = base or conflict.current, conflict.current
                question = await asyncio.to_thread(conflict_question, before, base)
                answer = await self.app.push_screen_wait(question)
            if answer == "theirs":
                self.dismiss(None)
                return
        except InspectorError as error:
            problem = str(error)
        self._is_saving = self.query_one("#form").disabled = False
        # from_app_focus, so that the text of the field is not selected.
        self.set_focus(focused, from_app_focus=True)
        self._say(problem)

    async def _write(self, base: Row | None, values: Mapping[str, Value]) -> Outcome:
        """Change these fields of the row `base`, or store a new memory. Raises InspectorError."""
        if base is not None:
            return await edit_memory(self._library, base.id, Edit(dict(values)), base.fingerprint)
        # Empty fields get the store's default.
        filled: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
        if "pinned" in filled:
            filled["pinned"] = bool(filled["pinned"])
        filled = {"key": "", "content": "", "agent": field_values(self).get("agent")} | filled
        return await store_memory(self._library, Draft(**filled))

    def _say(self, sentence: str) -> None:
        self.query_one("#problem", Static).update(display_text(sentence))

    def _why_not(self, name: str) -> str | None:
        """Say why a field cannot be changed; None if it can."""
        is_in_every_store = self._row is None and name in _OF_EVERY_DRAFT
        if not is_in_every_store and (why := why_fixed(self._library.memory, name)):
            return why
        before = "" if name == "content" else self._before[name]
        return None if can_edit_in_line(before) else "Hidden characters: use `memory edit`"


def _as_typed(name: str, value: Value | bool) -> str:
    """Format a value for the form."""
    if name == "pinned":
        return _NO_YES[bool(value)]
    return "" if value is None else f"{value:.15g}" if isinstance(value, float) else str(value)


def _parse(name: str, typed: str) -> Value:
    """Parse a typed text into the value to store. Raises UsageError."""
    if name == "pinned":
        return int(typed == _NO_YES[1])
    if name == "importance" and typed.strip():
        try:
            return float(typed.strip().replace(",", "."))
        except ValueError:
            words = f"Importance {typed.strip()!r} is not a number."
            raise UsageError(words, hint="Enter a number between 0 and 1.") from None
    return typed if name in _OF_EVERY_DRAFT else typed or None


def conflict_question(base: Row, theirs: Row) -> Question[Literal["mine", "theirs"]]:
    """Ask how to resolve a conflict: the memory was `base` when opened, and is `theirs` now."""
    entry = theirs.entry()
    written = Content.styled(f"The other version, written {absolute_time(entry.updated_at or '')}:\n", MUTED)
    answers: list[Answer[Literal["mine", "theirs"]]] = [
        Answer("m", "Keep mine", "mine", "what you did not change stays as stored now"),
        Answer("t", "Keep theirs", "theirs", "your changes are discarded"),
    ]
    title = f"{cut(one_line(entry.key), _KEY_CELLS)} changed while you edited it"
    return Question(title, Content.assemble(written, difference_content(base.entry(), entry)), "Keep editing", answers)
