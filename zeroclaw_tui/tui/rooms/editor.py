"""Write one memory: its fields, its content, the effects of saving, and both versions after a conflict."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import DescendantFocus
from textual.message import Message
from textual.types import CSSPathType
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from zeroclaw_tui.backends.lookup import count_facets, why_fixed
from zeroclaw_tui.curation.changes import edit_memory, store_memory
from zeroclaw_tui.memory.change import Conflict, Draft, Edit, Row, Value
from zeroclaw_tui.memory.days import absolute_time
from zeroclaw_tui.memory.entry import BUILT_IN_CATEGORIES, EDITABLE
from zeroclaw_tui.memory.errors import InspectorError, NotFound, UsageError
from zeroclaw_tui.memory.query import Facets, MemoryFilter
from zeroclaw_tui.memory.text import cut, display_text, one_line, size_shown
from zeroclaw_tui.memory.text_difference import MARKERS, merge
from zeroclaw_tui.tui.actions import difference_content, repairing
from zeroclaw_tui.tui.dialogs import DIALOG_CSS, Answer, Dialog, Question, yes_or_no
from zeroclaw_tui.tui.external import Edited, edit_text
from zeroclaw_tui.tui.themes import MUTED
from zeroclaw_tui.tui.widgets.growing_text import GrowingText
from zeroclaw_tui.tui.widgets.text_fields import (
    ContentPane,
    LineInput,
    OneOf,
    can_edit_in_line,
)

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.outcome import Outcome

_KEY_CELLS = 48
_AGEING = {"conversation": "conversation_retention_days", "daily": "daily_retention_days"}
FIELDS = {
    "key": "key",
    "category": "category",
    "session_id": "session",
    "namespace": "namespace",
    "importance": "importance",
    "pinned": "pinned",
}
"""The fields of one line, in order, and what they are called."""
MAX_LINE_LENGTH = 5_000
"""Characters; a longer field is left as it is."""
_HINTS = {
    "key": "a unique key",
    "category": "core, daily, conversation or your own",
    "session_id": "none",
    "namespace": "the store's default",
    "importance": "0 to 1",
}
_OF_EVERY_DRAFT = ("content", "key", "category")
"""What is said of a new memory in every store, also where it cannot be changed afterwards."""
_USUAL_AGENT = "default"
_NO_YES = ("no", "yes")
_VALUE_CELLS = 40


class EditorScreen(Dialog["Outcome"]):
    """Edit a memory, or write a new one where `row` is None; `typed` has fields that were written elsewhere.

    Gives what saving did, or None when it was left. What was typed stays until it is saved or thrown away by a yes.
    """

    CSS_PATH: ClassVar[CSSPathType | None] = [DIALOG_CSS, "editor.tcss"]
    AUTO_FOCUS = ""
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
        self._focus_before: Widget | None = None

    def compose_answers(self) -> ComposeResult:
        yield self._form
        with Vertical(id="saving"):
            yield GrowingText(id="problem")
            yield GrowingText(id="note")

    @property
    def keys(self) -> str:
        """How one saves and leaves."""
        return "ctrl+s save   ctrl+e in $EDITOR   tab next field   esc leave"

    def on_mount(self) -> None:
        self._paint_note()
        self.run_worker(self._suggest(), group="editor-suggest")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if self._is_saving and action in ("save", "write_outside", "step_out"):
            return False
        return super().check_action(action, parameters)

    def on_editor_form_changed(self) -> None:
        # Messages of what was typed before ctrl+s may come after the answer to it.
        if self._form.typed() != self._tried:
            self._say_problem("")
        self._paint_note()

    def on_descendant_focus(self) -> None:
        self._paint_note()

    def action_save(self) -> None:
        """Save, and leave on success."""
        if self._row is not None and not self._form.changed():
            self.dismiss(None)
            return
        self._tried = self._form.typed()
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
        if not self.holds_text:
            self.dismiss(None)
            return
        question = yes_or_no("Discard your changes?", None, "Cancel", "Discard")
        self.app.push_screen(question, self._throw_away)

    def _throw_away(self, answer: bool | None) -> None:
        if answer:
            self.dismiss(None)

    @property
    def holds_text(self) -> bool:
        """Whether something was typed that is not saved."""
        changed = self._form.changed()
        return bool(changed) if self._row is not None else bool({*changed} & {"content", "key"})

    async def _save(self) -> None:
        try:
            if self._row is None:
                saved: Outcome | Left = await save_new(self.app, self._library, self._form.draft())
            else:
                saved = await save_edit(self.app, self._library, self._row, self._form.values())
        except InspectorError as error:
            self._set_saving(False)
            self._say_problem(str(error))
            return
        if saved is Left.BACK:
            self._set_saving(False)
        else:
            self.dismiss(None if isinstance(saved, Left) else saved)

    async def _suggest(self) -> None:
        try:
            facets = await count_facets(self._library.memory, MemoryFilter(), datetime.now(UTC).isoformat())
        except InspectorError:
            # Typing works without suggestions; saving reports what is wrong with the store.
            return
        self._form.suggest(facets)

    def _set_saving(self, is_saving: bool) -> None:
        if is_saving:
            self._focus_before = self.focused
        self._is_saving = is_saving
        self._form.disabled = is_saving
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
        if self._is_saving:
            self.query_one("#note", Static).update(Content("Saving …"))
            return
        content = self._form.content
        size = [size_shown(len(content.encode("utf-8", "surrogatepass")))] if content else []
        note = " · ".join([*size, *self._effects()])
        if any(line in MARKERS for line in content.split("\n")):
            note += "\n! Lines that both changed are between markers. Choose before you save."
        self.query_one("#note", Static).update(Content(note))

    def _effects(self) -> list[str]:
        """What saving will do besides the obvious."""
        changed = self._form.changed()
        if self._row is None and not {"key", "content"} <= {*changed}:
            return ["a key and a content are required"]
        if self._row is not None and not changed:
            return ["nothing changed"]
        effects = []
        if "content" in changed and "vectors" not in self._library.memory.why_not:
            effects += self._vector_effect()
        days = getattr(self._library.config, _AGEING.get(self._form.value_of("category").strip().lower(), ""), 0)
        if self._row is not None and days:
            effects.append("updated_at becomes now, so retention starts again")
        return effects

    def _vector_effect(self) -> list[str]:
        has_vector = self._row is not None and self._row.entry().embedding_dimensions
        if self._library.embedder is not None:
            return ["the embedding is updated" if has_vector else "an embedding is created"]
        return ["the embedding is deleted, because no embeddings are configured"] if has_vector else []


class EditorForm(Vertical):
    """The fields of a memory, or of a new one where `row` is None; `typed` has fields that were written elsewhere."""

    class Changed(Message):
        """Something was typed."""

    def __init__(self, library: Library, row: Row | None, typed: Mapping[str, Value]) -> None:
        super().__init__(id="form")
        self._library = library
        self._row = row
        self._before = _before(row)
        self._content_before = "" if row is None else row.entry().content
        self._text = str(typed.get("content", self._content_before))
        self._first = self._before | {name: _as_typed(name, typed[name]) for name in FIELDS if name in typed}

    def compose(self) -> ComposeResult:
        with Vertical(id="fields"):
            for name, words in FIELDS.items():
                why = self._why_not(name)
                with Horizontal(classes="field -fixed" if why else "field"):
                    yield Static(words, classes="name", markup=False)
                    if why:
                        yield from self._fixed(name, why)
                    elif name == "pinned":
                        yield OneOf(_NO_YES, self._first[name], id=name)
                    else:
                        yield LineInput(self._first[name], placeholder=_HINTS[name], id=name)
            yield from self._agent()
        yield ContentPane(self._text, why_fixed=self._why_not("content"), id="content")

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

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Changed())

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self.post_message(self.Changed())

    def on_one_of_changed(self, event: OneOf.Changed) -> None:
        event.stop()
        self.post_message(self.Changed())

    @property
    def content(self) -> str:
        """The content as it is to be stored."""
        return self.query_one(ContentPane).content

    def changed(self) -> tuple[str, ...]:
        """The fields that differ from what was opened, the content first."""
        content = ("content",) if self.content != self._content_before else ()
        return (*content, *(name for name in FIELDS if self.value_of(name) != self._before[name]))

    def typed(self) -> tuple[str, ...]:
        """All values, to see whether they have changed."""
        return (self.content, *(self.value_of(name) for name in FIELDS))

    def values(self) -> dict[str, Value]:
        """The fields that differ, as they are to be stored. Raises UsageError."""
        return {one: self.content if one == "content" else _value(one, self.value_of(one)) for one in self.changed()}

    def draft(self) -> Draft:
        """A new memory of all the fields. Raises UsageError."""
        values = {name: _value(name, self.value_of(name)) for name in FIELDS if not self._why_not(name)}
        agent = next((choice.value for choice in self.query("#agent").results(OneOf)), None)
        return draft_of({**values, "content": self.content}, agent)

    async def put_content(self, text: str) -> None:
        """Take a content that was written elsewhere."""
        await self.query_one(ContentPane).put(text)
        self.post_message(self.Changed())

    def suggest(self, facets: Facets) -> None:
        """Offer what other memories have."""
        found = {"category": facets.category, "session_id": facets.session, "namespace": facets.namespace}
        for name, values in found.items():
            own = BUILT_IN_CATEGORIES if name == "category" else ()
            for line in self.query(f"#{name}").results(LineInput):
                line.suggest([*own, *(values or {})])
        agents = dict.fromkeys([*self._library.config.agents, *(facets.agent or {})])
        for choice in self.query("#agent").results(OneOf):
            choice.offer(agents)

    def value_of(self, name: str) -> str:
        """A field with its current value."""
        for line in self.query(f"#{name}").results(LineInput):
            return line.text
        for choice in self.query(f"#{name}").results(OneOf):
            return choice.value
        return self._before[name]

    def _why_not(self, name: str) -> str | None:
        """Why a field cannot be changed, as a sentence; None when it can."""
        if self._row is None and name in _OF_EVERY_DRAFT:
            return self._why_not_here(name)
        return why_fixed(self._library.memory, name) or self._why_not_here(name)

    def _why_not_here(self, name: str) -> str | None:
        """Why a field of one line cannot be edited on this screen."""
        before = self._before.get(name, "")
        if len(before) > MAX_LINE_LENGTH:
            return "Too long to edit here."
        return None if can_edit_in_line(before) else "Hidden characters: use `memory edit`"

    def _fixed(self, name: str, why: str) -> ComposeResult:
        if self._row is not None and self._row.values.get(name) not in (None, ""):
            yield Static(one_line(self._before[name][:200]), classes="value", markup=False)
        yield Static(why, classes="why", markup=False)

    def _agent(self) -> ComposeResult:
        """The owner: chosen for a new memory, only shown for an existing one."""
        if "agents" in self._library.memory.why_not:
            return
        is_new = self._row is None
        with Horizontal(classes="field" if is_new else "field -fixed"):
            yield Static("agent", classes="name", markup=False)
            if self._row is None:
                yield OneOf(tuple(self._library.config.agents) or (_USUAL_AGENT,), _USUAL_AGENT, id="agent")
            else:
                yield Static(one_line(self._row.agent or ""), classes="value", markup=False)
                yield Static("A memory stays with its agent.", classes="why", markup=False)


def draft_of(values: Mapping[str, Value], agent: str | None) -> Draft:
    """A new memory of these fields; what is empty is left to the store's default."""
    importance, pinned = values.get("importance"), values.get("pinned")
    return Draft(
        key=str(values.get("key") or ""),
        content=str(values.get("content") or ""),
        category=str(values.get("category") or ""),
        session_id=_text_or_none(values.get("session_id")),
        namespace=_text_or_none(values.get("namespace")),
        importance=float(importance) if isinstance(importance, int | float) else None,
        pinned=None if pinned is None else bool(pinned),
        agent=agent,
    )


def _before(row: Row | None) -> dict[str, str]:
    """The fields as text, as they are when the form opens."""
    if row is None:
        return {**dict.fromkeys(FIELDS, ""), "category": "core", "pinned": _NO_YES[0]}
    entry = row.entry()
    return {
        "key": entry.key,
        "category": entry.category,
        "session_id": entry.session_id or "",
        "namespace": entry.namespace or "",
        "importance": _as_typed("importance", entry.importance),
        "pinned": _as_typed("pinned", entry.pinned),
    }


def _as_typed(name: str, value: Value | bool) -> str:
    """A value as the form shows it."""
    if name == "pinned":
        return _NO_YES[bool(value)]
    return "" if value is None else f"{value:.15g}" if isinstance(value, float) else str(value)


def _value(name: str, typed: str) -> Value:
    if name == "pinned":
        return int(typed == _NO_YES[1])
    if name == "importance":
        return _importance(typed)
    return (typed or None) if name in ("session_id", "namespace") else typed


def _importance(typed: str) -> float | None:
    if not typed.strip():
        return None
    try:
        return float(typed.strip().replace(",", "."))
    except ValueError:
        raise UsageError(
            f"Importance {typed.strip()!r} is not a number.", hint="Enter a number between 0 and 1."
        ) from None


def _text_or_none(value: Value) -> str | None:
    return str(value) if value else None


class Left(Enum):
    """What to do when the memory has changed: type on, leave it, or store it as a new one."""

    BACK = "back"
    AS_IT_IS = "as it is"
    ANEW = "anew"


async def save_new(app: App[Any], library: Library, draft: Draft) -> Outcome:
    """Store a new memory. Runs in a worker; raises what storing raises."""
    return await repairing(app, library, partial(store_memory, library, draft))


async def save_edit(app: App[Any], library: Library, row: Row, values: Mapping[str, Value]) -> Outcome | Left:
    """Change these fields of a row as it was opened. Runs in a worker, since it may have to ask.

    A row that changed in the meantime is shown next to the typed text, each time it changes; a deleted one can be
    stored as new. Raises every other InspectorError.
    """
    base, wanted = row, dict(values)
    while True:
        edit = partial(edit_memory, library, row.id, Edit(wanted), base.fingerprint)
        try:
            return await repairing(app, library, edit)
        except Conflict as conflict:
            theirs = conflict.theirs
            answer = await app.push_screen_wait(await asyncio.to_thread(conflict_question, base, theirs))
            if answer is None:
                return Left.BACK
            if answer == "theirs":
                return Left.AS_IT_IS
            if answer == "merge":
                return await _edit_both(app, library, base, theirs, wanted)
            base = theirs
        except NotFound:
            return await _store_anew(app, library, base, wanted)


async def _edit_both(
    app: App[Any], library: Library, base: Row, theirs: Row, wanted: Mapping[str, Value]
) -> Outcome | Left:
    """Open the editor on their version, with the fields and the lines of both."""
    contents = (base.entry().content, str(wanted.get("content", base.entry().content)), theirs.entry().content)
    merged, _ = await asyncio.to_thread(merge, *contents)
    typed = {**wanted, "content": merged}
    return await app.push_screen_wait(EditorScreen(library, theirs, typed=typed)) or Left.BACK


async def _store_anew(app: App[Any], library: Library, base: Row, wanted: Mapping[str, Value]) -> Outcome | Left:
    answers = [
        Answer("y", "Store as new", Left.ANEW),
        Answer("l", "Do not store", Left.AS_IT_IS),
    ]
    question = Question("This memory was deleted while you edited it. Store it as a new one?", None, "Cancel", answers)
    answer = await app.push_screen_wait(question)
    if answer is not Left.ANEW:
        return answer or Left.BACK
    writable = [name for name in EDITABLE if name in _OF_EVERY_DRAFT or not why_fixed(library.memory, name)]
    fields = {name: base.values.get(name) for name in writable}
    return await save_new(app, library, draft_of({**fields, **wanted}, base.agent))


async def edit_externally(app: App[Any], library: Library, row: Row) -> Outcome | None:
    """Open a memory's content in the person's editor and save what comes back; None when nothing was changed.

    Runs in a worker. A notification reports every failure, with the file that has the typed text. Leaving
    the comparison with a newer version opens the editor screen.
    """
    if library.read_only_because:
        _show_effect(app, library.read_only_because, is_failure=True)
        return None
    edited = edit_text(app, row.entry().content)
    if edited.sentence:
        _show_effect(app, edited.sentence, is_failure=edited.is_failure)
    if edited.text is None:
        return None
    return await _save_edited(app, library, row, edited, edited.text)


async def _save_edited(app: App[Any], library: Library, row: Row, edited: Edited, text: str) -> Outcome | None:
    try:
        saved = await save_edit(app, library, row, {"content": text})
    except InspectorError as error:
        _show_effect(app, f"{error} Your text is saved in {edited.file}.", is_failure=True, title=error.title)
        return None
    if saved is Left.BACK:
        outcome = await app.push_screen_wait(EditorScreen(library, row, typed={"content": text}))
        edited.discard()
        return outcome
    edited.discard()
    return None if isinstance(saved, Left) else saved


def _show_effect(app: App[Any], sentence: str, *, is_failure: bool, title: str = "") -> None:
    app.notify(display_text(sentence), title=title, severity="error" if is_failure else "information", markup=False)


def conflict_question(base: Row, theirs: Row) -> Question[Literal["mine", "theirs", "merge"]]:
    """Ask what to do with a memory that is `theirs` now and was `base` when it was opened."""
    entry = theirs.entry()
    written = Content.styled(f"The other version, written {absolute_time(entry.updated_at or '')}:\n", MUTED)
    answers: list[Answer[Literal["mine", "theirs", "merge"]]] = [
        Answer("m", "Keep mine", "mine", "what you did not change stays as stored now"),
        Answer("t", "Keep theirs", "theirs", "your changes are discarded"),
        Answer("b", "Edit both", "merge", "the merge of both opens in the editor"),
    ]
    title = f"{cut(one_line(entry.key), _VALUE_CELLS)} changed while you edited it"
    return Question(title, Content.assemble(written, difference_content(base.entry(), entry)), "Type on", answers)
