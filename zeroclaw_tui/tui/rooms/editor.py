"""Write one memory: its fields, its content, the effects of saving, and both versions after a conflict."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import DescendantFocus
from textual.message import Message
from textual.types import CSSPathType
from textual.widget import Widget
from textual.widgets import Static

from zeroclaw_tui.backends.lookup import count_facets, why_fixed
from zeroclaw_tui.curation.changes import edit_memory, store_memory
from zeroclaw_tui.memory.change import Conflict, Draft, Edit, Row, Value
from zeroclaw_tui.memory.days import absolute_time
from zeroclaw_tui.memory.entry import BUILT_IN_CATEGORIES, EDITABLE
from zeroclaw_tui.memory.errors import InspectorError, NotFound, UsageError
from zeroclaw_tui.memory.query import Facets, MemoryFilter
from zeroclaw_tui.memory.text import cut, display_text, one_line, size_shown
from zeroclaw_tui.memory.text_difference import MARKERS, merge
from zeroclaw_tui.tui.actions import difference_content
from zeroclaw_tui.tui.dialogs import DIALOG_CSS, Answer, Dialog, Question, yes_or_no
from zeroclaw_tui.tui.external import edit_text
from zeroclaw_tui.tui.themes import MUTED
from zeroclaw_tui.tui.widgets.growing_text import GrowingText
from zeroclaw_tui.tui.widgets.text_fields import ContentPane, LineInput, OneOf, can_edit_in_line

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.outcome import Outcome

_KEY_CELLS = 48
_MAX_LINE_LENGTH = 5_000
"""Characters; a longer field is left as it is."""
FIELDS = {
    "key": ("key", "a unique key"),
    "category": ("category", "core, daily, conversation or your own"),
    "session_id": ("session", "none"),
    "namespace": ("namespace", "the store's default"),
    "importance": ("importance", "0 to 1"),
    "pinned": ("pinned", ""),
}
"""The fields of one line, in order, each with its name on the screen and a hint."""
_OF_EVERY_DRAFT = ("content", "key", "category")
"""The fields that a new memory has in every store, also where they cannot be changed afterwards."""
_NO_YES = ("no", "yes")
Way = Literal["type on", "leave", "store"]
"""What to do after a conflict instead of saving."""


class EditorScreen(Dialog["Outcome"]):
    """Edit a memory, or write a new one where `row` is None; `typed` has fields that were written elsewhere.

    Gives what saving did, or None when it was left. What was typed stays until it is saved, or discarded by a yes.
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

    def __init__(self, library: Library, row: Row | None, *, typed: Mapping[str, Value] | None = None) -> None:
        key = "" if row is None else cut(one_line(row.entry().key), _KEY_CELLS)
        super().__init__("A new memory" if row is None else f"Edit {key}", None)
        self.add_class("-whole")
        self._library = library
        self._row = row
        self._form = EditorForm(library, row, typed or {})
        self._is_saving = False
        self._tried: tuple[str, ...] = ()
        """All values that were tried to be saved last."""
        self._focus_before: Widget | None = None

    def compose_answers(self) -> ComposeResult:
        yield self._form
        with Vertical(id="saving"):
            yield GrowingText(id="problem")
            yield GrowingText(id="note")

    def on_mount(self) -> None:
        self._paint_note()
        self.run_worker(self._suggest(), group="editor-suggest")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if self._is_saving and action in ("save", "write_outside", "step_out"):
            return False
        return super().check_action(action, parameters)

    def on_editor_form_changed(self) -> None:
        # Messages of what was typed before ctrl+s may come after the answer to it.
        if self._form.all_values() != self._tried:
            self._say_problem("")
        self._paint_note()

    def action_save(self) -> None:
        """Save, and leave on success."""
        if self._row is not None and not self._form.changed():
            self.dismiss(None)
            return
        self._tried = self._form.all_values()
        self._focus_before = self.focused
        self._set_saving(True)
        # Never exclusive: the next write must not stop this one.
        self.run_worker(self._save(), group="editor-save")

    def action_write_outside(self) -> None:
        """Open the content in the person's editor, and take over what it left."""
        edited = edit_text(self.app, self._form.content)
        if edited.text is not None:
            self.run_worker(self._form.put_content(edited.text), group="editor-take-over")
            edited.discard()
        if edited.sentence:
            self._say_problem(edited.sentence, is_failure=edited.is_failure)

    def action_step_out(self) -> None:
        """Leave at once, or ask when something was typed."""
        if self.holds_text:
            question = yes_or_no("Discard your changes?", None, "Discard")
            self.app.push_screen(question, self._discard)
        else:
            self.dismiss(None)

    def _discard(self, is_confirmed: bool | None) -> None:
        if is_confirmed:
            self.dismiss(None)

    @property
    def holds_text(self) -> bool:
        """Whether something was typed that is not saved."""
        changed = {*self._form.changed()}
        return bool(changed if self._row is not None else changed & {"content", "key"})

    async def _save(self) -> None:
        try:
            if self._row is None:
                saved: Outcome | Way = await store_memory(self._library, self._form.draft())
            else:
                saved = await save_edit(self.app, self._library, self._row, self._form.values())
        except InspectorError as error:
            self._set_saving(False)
            self._say_problem(str(error))
            return
        if saved == "type on":
            self._set_saving(False)
        else:
            self.dismiss(None if isinstance(saved, str) else saved)

    async def _suggest(self) -> None:
        try:
            facets = await count_facets(self._library.memory, MemoryFilter(), datetime.now(UTC).isoformat())
        except InspectorError:
            # Typing works without suggestions; saving reports what is wrong with the store.
            return
        self._form.suggest(facets)

    def _set_saving(self, is_saving: bool) -> None:
        self._is_saving = self._form.disabled = is_saving
        self._say_problem("")
        self._paint_note()
        if not is_saving and self._focus_before is not None:
            # As when the terminal comes back: one types on where one was, and nothing is selected.
            self.set_focus(self._focus_before, from_app_focus=True)

    def _say_problem(self, sentence: str, *, is_failure: bool = True) -> None:
        line = self.query_one("#problem", Static)
        line.set_class(bool(sentence), "-said")
        line.set_class(not is_failure, "-quiet")
        line.update(Content(f"✗ {display_text(sentence)}" if sentence and is_failure else display_text(sentence)))

    def _paint_note(self) -> None:
        """The size of the content, and what saving will do to its embedding."""
        content, changed, notes = self._form.content, self._form.changed(), list[str]()
        if content:
            notes.append(size_shown(len(content.encode("utf-8", "surrogatepass"))))
        if self._is_saving:
            notes = ["Saving …"]
        elif self._row is None and not {"key", "content"} <= {*changed}:
            notes.append("a key and a content are required")
        elif self._row is not None and not changed:
            notes.append("nothing changed")
        elif "content" in changed and "vectors" not in self._library.memory.why_not:
            has_vector = self._row is not None and self._row.entry().embedding_dimensions
            if self._library.embedder is not None:
                notes.append("the embedding is updated" if has_vector else "an embedding is created")
            elif has_vector:
                notes.append("the embedding is deleted, because no embeddings are configured")
        note = " · ".join(notes)
        if any(line in MARKERS for line in content.split("\n")):
            note += "\n! Lines that both changed are between markers. Choose before you save."
        self.query_one("#note", Static).update(Content(note))


class EditorForm(Vertical):
    """The fields of a memory, or of a new one where `row` is None; `typed` has fields that were written elsewhere."""

    class Changed(Message):
        """Something was typed."""

    def __init__(self, library: Library, row: Row | None, typed: Mapping[str, Value]) -> None:
        super().__init__(id="form")
        self._library = library
        self._row = row
        self._before = {**dict.fromkeys(FIELDS, ""), "category": "core", "pinned": _NO_YES[0]}
        self._content_before = ""
        if row is not None:
            entry = row.entry()
            self._before = {name: _as_typed(name, getattr(entry, name)) for name in FIELDS}
            self._content_before = entry.content
        self._content = str(typed.get("content", self._content_before))
        self._first = self._before | {name: _as_typed(name, typed[name]) for name in FIELDS if name in typed}

    def compose(self) -> ComposeResult:
        with Vertical(id="fields"):
            for name, (words, hint) in FIELDS.items():
                why = self._why_not(name)
                with Horizontal(classes="field -fixed" if why else "field"):
                    yield Static(words, classes="name", markup=False)
                    if why:
                        stored = self._row is not None and self._row.values.get(name) not in (None, "")
                        yield from _fixed(self._before[name] if stored else "", why)
                    elif name == "pinned":
                        yield OneOf(_NO_YES, self._first[name], id=name)
                    else:
                        yield LineInput(self._first[name], placeholder=hint, id=name)
            if "agents" not in self._library.memory.why_not:
                with Horizontal(classes="field" if self._row is None else "field -fixed"):
                    yield Static("agent", classes="name", markup=False)
                    if self._row is None:
                        yield OneOf(tuple(self._library.config.agents) or ("default",), "default", id="agent")
                    else:
                        yield from _fixed(self._row.agent or "", "A memory stays with its agent.")
        yield ContentPane(self._content, why_fixed=self._why_not("content"), id="content")

    def on_mount(self) -> None:
        if self._row is None:
            self.query_one("#key").focus()
        else:
            self.query_one(ContentPane).focus_inside(at_end=True)

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        for field in self.query(".field"):
            field.set_class(event.widget in field.children, "-focused")

    def on_input_submitted(self) -> None:
        self.screen.focus_next()

    def on_input_changed(self) -> None:
        self.post_message(self.Changed())

    def on_text_area_changed(self) -> None:
        self.post_message(self.Changed())

    def on_one_of_changed(self) -> None:
        self.post_message(self.Changed())

    @property
    def content(self) -> str:
        """The content as it is to be stored."""
        return self.query_one(ContentPane).content

    def changed(self) -> tuple[str, ...]:
        """The fields that differ from what was opened, the content first."""
        content = ("content",) if self.content != self._content_before else ()
        return (*content, *(name for name in FIELDS if self._value_of(name) != self._before[name]))

    def all_values(self) -> tuple[str, ...]:
        """The text of every field, to see whether it has changed."""
        return (self.content, *map(self._value_of, FIELDS))

    def values(self) -> dict[str, Value]:
        """The fields that differ, as they are to be stored. Raises UsageError."""
        return {one: self.content if one == "content" else _stored(one, self._value_of(one)) for one in self.changed()}

    def draft(self) -> Draft:
        """A new memory of all the fields. Raises UsageError."""
        values = {name: _stored(name, self._value_of(name)) for name in FIELDS if not self._why_not(name)}
        agent = next((choice.value for choice in self.query("#agent").results(OneOf)), None)
        return _draft({**values, "content": self.content}, agent)

    async def put_content(self, text: str) -> None:
        """Take a content that was written elsewhere."""
        await self.query_one(ContentPane).put(text)
        self.post_message(self.Changed())

    def suggest(self, facets: Facets) -> None:
        """Offer what other memories have."""
        categories = [*BUILT_IN_CATEGORIES, *facets.category]
        found = {"category": categories, "session_id": facets.session, "namespace": facets.namespace}
        for name, values in found.items():
            for line in self.query(f"#{name}").results(LineInput):
                line.suggest(values or ())
        agents = dict.fromkeys([*self._library.config.agents, *(facets.agent or {})])
        for choice in self.query("#agent").results(OneOf):
            choice.offer(agents)

    def _value_of(self, name: str) -> str:
        for line in self.query(f"#{name}").results(LineInput):
            return line.text
        for choice in self.query(f"#{name}").results(OneOf):
            return choice.value
        return self._before[name]

    def _why_not(self, name: str) -> str | None:
        """Why a field cannot be changed, as a sentence; None when it can."""
        is_in_every_store = self._row is None and name in _OF_EVERY_DRAFT
        if not is_in_every_store and (why := why_fixed(self._library.memory, name)):
            return why
        before = self._before.get(name, "")
        if len(before) > _MAX_LINE_LENGTH:
            return "Too long to edit here."
        return None if can_edit_in_line(before) else "Hidden characters: use `memory edit`"


def _fixed(value: str, why: str) -> ComposeResult:
    if value:
        yield Static(one_line(value[:200]), classes="value", markup=False)
    yield Static(why, classes="why", markup=False)


def _as_typed(name: str, value: Value | bool) -> str:
    """A value as the form shows it."""
    if name == "pinned":
        return _NO_YES[bool(value)]
    return "" if value is None else f"{value:.15g}" if isinstance(value, float) else str(value)


def _stored(name: str, typed: str) -> Value:
    """A typed text as it is to be stored. Raises UsageError."""
    if name == "pinned":
        return int(typed == _NO_YES[1])
    if name == "importance" and typed.strip():
        try:
            return float(typed.strip().replace(",", "."))
        except ValueError:
            words = f"Importance {typed.strip()!r} is not a number."
            raise UsageError(words, hint="Enter a number between 0 and 1.") from None
    return typed if name in ("key", "category") else typed or None


def _draft(values: Mapping[str, Value], agent: str | None) -> Draft:
    """A new memory of these fields; what is empty is left to the store's default."""
    session_id, namespace = (str(values[name]) if values.get(name) else None for name in ("session_id", "namespace"))
    importance, pinned = values.get("importance"), values.get("pinned")
    return Draft(
        key=str(values.get("key") or ""),
        content=str(values.get("content") or ""),
        category=str(values.get("category") or ""),
        session_id=session_id,
        namespace=namespace,
        importance=float(importance) if isinstance(importance, int | float) else None,
        pinned=None if pinned is None else bool(pinned),
        agent=agent,
    )


async def save_edit(app: App[Any], library: Library, row: Row, values: Mapping[str, Value]) -> Outcome | Way:
    """Change these fields of a row as it was opened. Runs in a worker, since it may have to ask.

    A row that changed in the meantime is shown next to the typed text, each time it changes; a deleted one can be
    stored as new. Raises every other InspectorError.
    """
    base = row
    while True:
        try:
            return await edit_memory(library, row.id, Edit(dict(values)), base.fingerprint)
        except Conflict as conflict:
            theirs = conflict.theirs
        except NotFound:
            return await _store_as_new(app, library, base, values)
        answer = await app.push_screen_wait(await asyncio.to_thread(conflict_question, base, theirs))
        if answer == "merge":
            contents = (base.entry().content, str(values.get("content", base.entry().content)), theirs.entry().content)
            merged, _ = await asyncio.to_thread(merge, *contents)
            editor = EditorScreen(library, theirs, typed={**values, "content": merged})
            return await app.push_screen_wait(editor) or "type on"
        if answer != "mine":
            return "type on" if answer is None else "leave"
        base = theirs


async def _store_as_new(app: App[Any], library: Library, base: Row, values: Mapping[str, Value]) -> Outcome | Way:
    title = "This memory was deleted while you edited it. Store it as a new one?"
    answers: list[Answer[Way]] = [Answer("y", "Store as new", "store"), Answer("l", "Do not store", "leave")]
    answer = await app.push_screen_wait(Question(title, None, "Cancel", answers))
    if answer != "store":
        return answer or "type on"
    writable = [name for name in EDITABLE if name in _OF_EVERY_DRAFT or not why_fixed(library.memory, name)]
    fields = {name: base.values.get(name) for name in writable}
    return await store_memory(library, _draft({**fields, **values}, base.agent))


async def edit_externally(app: App[Any], library: Library, row: Row) -> Outcome | None:
    """Open a memory's content in the person's editor and save what comes back; None when nothing was changed.

    Runs in a worker. A notification reports every failure, with the file that has the typed text. Leaving
    the comparison with a newer version opens the editor screen.
    """
    edited = edit_text(app, row.entry().content)
    if edited.sentence:
        severity: Literal["error", "information"] = "error" if edited.is_failure else "information"
        app.notify(display_text(edited.sentence), severity=severity, markup=False)
    if edited.text is None:
        return None
    values: dict[str, Value] = {"content": edited.text}
    try:
        saved = await save_edit(app, library, row, values)
    except InspectorError as error:
        sentence = f"{error} Your text is saved in {edited.file}."
        app.notify(display_text(sentence), title=error.title, severity="error", markup=False)
        return None
    outcome = None if isinstance(saved, str) else saved
    if saved == "type on":
        outcome = await app.push_screen_wait(EditorScreen(library, row, typed=values))
    edited.discard()
    return outcome


def conflict_question(base: Row, theirs: Row) -> Question[Literal["mine", "theirs", "merge"]]:
    """Ask what to do with a memory that is `theirs` now and was `base` when it was opened."""
    entry = theirs.entry()
    written = Content.styled(f"The other version, written {absolute_time(entry.updated_at or '')}:\n", MUTED)
    answers: list[Answer[Literal["mine", "theirs", "merge"]]] = [
        Answer("m", "Keep mine", "mine", "what you did not change stays as stored now"),
        Answer("t", "Keep theirs", "theirs", "your changes are discarded"),
        Answer("b", "Edit both", "merge", "the merge of both opens in the editor"),
    ]
    title = f"{cut(one_line(entry.key), _KEY_CELLS)} changed while you edited it"
    return Question(title, Content.assemble(written, difference_content(base.entry(), entry)), "Type on", answers)
