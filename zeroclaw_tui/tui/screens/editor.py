"""Writing one memory: its fields, its content, and what saving it will do."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from zeroclaw_tui.curation.changes import look_at
from zeroclaw_tui.curation.library import SCANNED_AT_ONCE
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.text import display_text, one_line
from zeroclaw_tui.scoring.scanner import scan
from zeroclaw_tui.tui.external_editor import edit_text
from zeroclaw_tui.tui.format import fit, size_text
from zeroclaw_tui.tui.looks import MUTED
from zeroclaw_tui.tui.screens.editor_form import EditorForm
from zeroclaw_tui.tui.screens.saving import Left, Question, save_edit, save_new

if TYPE_CHECKING:
    from zeroclaw_tui.curation.changes import Outcome
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.memory.change import StoredRow

_KEY_CELLS = 48
_AGEING = {"conversation": "conversation_retention_days", "daily": "daily_retention_days"}


class EditorScreen(ModalScreen["Outcome | None"]):
    """Edit a memory, or write a new one where `row` is None; `text` is a content to begin with.

    Gives what saving did, or None when it was left. What was typed stays until it is saved or thrown away by a yes.
    """

    CSS_PATH = "editor.tcss"
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "save", id="editor.save", priority=True, tooltip="Save the memory"),
        Binding("ctrl+e", "write_outside", "$EDITOR", id="editor.external", priority=True, tooltip="In your editor"),
        Binding("escape", "leave", "leave", id="editor.leave", tooltip="Leave; asks when something was typed"),
    ]

    def __init__(self, library: Library, row: StoredRow | None, *, text: str | None = None) -> None:
        super().__init__()
        self._library = library
        self._row = row
        self._form = EditorForm(library, row, text)
        self._is_saving = False
        self._found: str | None = None
        self._tried: tuple[str, ...] = ()
        self._focus_before: Widget | None = None

    def compose(self) -> ComposeResult:
        """What is edited, the fields, what is wrong, what saving does, the keys."""
        with Vertical(id="editor"):
            yield Static(self._title(), id="title")
            yield self._form
            with Vertical(id="saving"):
                yield Static("", id="problem", markup=False)
                yield Static("", id="note", markup=False)
            with Horizontal(id="keys"):
                yield _KeyLabel("ctrl+s", "save", "save")
                yield _KeyLabel("ctrl+e", "in $EDITOR", "write_outside")
                yield _KeyLabel("tab", "next field", "app.focus_next")
                yield _KeyLabel("esc", "leave", "leave")

    def on_mount(self) -> None:
        """Offer what other memories have, once it is counted."""
        self._look_for_threats()
        self._paint_note()
        self.run_worker(self._suggest(), group="editor-suggest")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Nothing is started twice."""
        return not (self._is_saving and action in ("save", "write_outside", "leave"))

    def on_editor_form_changed(self) -> None:
        """What was wrong may be right now."""
        # Messages of what was typed before ctrl+s may come after the answer to it.
        if self._form.typed() != self._tried:
            self._say_problem("")
        self._look_for_threats()
        self._paint_note()

    def on_descendant_focus(self) -> None:
        """Signs are explained where one types."""
        self._paint_note()

    def on_content_pane_outside_wanted(self) -> None:
        """Open the content in the person's editor."""
        self.action_write_outside()

    def action_save(self) -> None:
        """Save, and leave when that went well."""
        if self._row is not None and not self._form.changed():
            self.dismiss(None)
            return
        self._tried = self._form.typed()
        self._set_saving(True)
        # Never exclusive: what is being written must not be cut off by what comes next.
        self.run_worker(self._save(), group="editor-save")

    def action_write_outside(self) -> None:
        """Open the content in the person's editor, and take over what it left."""
        edited = edit_text(self.app, self._form.content)
        if edited.text is not None:
            self.run_worker(self._take_over(edited.text), group="editor-take-over")
            edited.discard()
        if edited.sentence:
            self._say_problem(edited.sentence, is_failure=edited.is_failure)

    def action_leave(self) -> None:
        """Leave at once, or ask when something was typed."""
        if not self.holds_text:
            self.dismiss(None)
            return
        question = Question("Throw away what you typed?", no="go on typing", yes="throw it away")
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
            facets = await self._library.memory.facets(MemoryFilter(), datetime.now(UTC).isoformat())
        except InspectorError:
            # Without suggestions everything can be typed all the same; saving tells what is wrong with the store.
            return
        self._form.suggest(facets)

    async def _take_over(self, text: str) -> None:
        await self._form.put_content(text)

    def _set_saving(self, is_saving: bool) -> None:
        if is_saving:
            self._focus_before = self.focused
        self._is_saving = is_saving
        self._form.disabled = is_saving
        self._say_problem("")
        self._paint_note()
        if not is_saving and self._focus_before is not None:
            self._focus_before.focus()

    def _look_for_threats(self) -> None:
        library = self._library
        mode = library.settings.threat_scan
        if not library.profile.profile.scans_content or mode == "off":
            return
        content = self._form.content
        if len(content) <= SCANNED_AT_ONCE:
            self._found = scan(content, mode)
            return
        self.run_worker(self._scan_long(content), group="editor-scan", exclusive=True)

    async def _scan_long(self, content: str) -> None:
        self._found = await asyncio.to_thread(scan, content, self._library.settings.threat_scan)
        self._paint_note()

    def _title(self) -> Content:
        if self._row is None:
            return Content("A new memory")
        key = fit(one_line(self._row.entry().key), _KEY_CELLS).rstrip()
        return Content.assemble("Edit ", (key, "$foreground"))

    def _say_problem(self, sentence: str, *, is_failure: bool = True) -> None:
        line = self.query_one("#problem", Static)
        line.set_class(bool(sentence), "-said")
        line.set_class(not is_failure, "-quiet")
        line.update(Content(f"✗ {display_text(sentence)}" if sentence and is_failure else display_text(sentence)))

    def _paint_note(self) -> None:
        if self._is_saving:
            self.query_one("#note", Static).update(Content("Saving …"))
            return
        parts: list[str | tuple[str, str]] = [" · ".join([*self._size_words(), *self._effects()])]
        told = self._policy_words()
        if told and not self._found:
            parts.append((f"\n! {told}", "$text-warning"))
        if self._found:
            parts.append((f"\n! ZeroClaw keeps such a text from its agent: {self._found}", "$text-warning"))
        if self._form.legend:
            parts.append((f"\n{self._form.legend}", MUTED))
        self.query_one("#note", Static).update(Content.assemble(*parts))

    def _policy_words(self) -> str:
        """What ZeroClaw would refuse or blank out, as far as no rows have to be counted."""
        library, content = self._library, self._form.content
        is_looked_at = library.profile.profile.scans_content and len(content) <= SCANNED_AT_ONCE
        if not is_looked_at or not self._form.changed():
            return ""
        policy = library.config.values.get("policy")
        namespace = self._form.namespace
        verdict = look_at(policy if isinstance(policy, Mapping) else {}, content, namespace)
        return " ".join(verdict.words())

    def _size_words(self) -> list[str]:
        content = self._form.content
        return [size_text(len(content.encode("utf-8", "surrogatepass")))] if content else []

    def _effects(self) -> list[str]:
        """What saving will do besides the obvious."""
        changed = self._form.changed()
        if self._row is None and not {"key", "content"} <= {*changed}:
            return ["a key and a content are needed"]
        if self._row is not None and not changed:
            return ["nothing changed"]
        told = []
        if "content" in changed and self._library.memory.capabilities.vectors:
            told += self._vector_effect()
        days = getattr(self._library.config, _AGEING.get(self._form.category, ""), 0)
        if self._row is not None and days:
            told.append("updated_at becomes now: retention counts from now")
        return told

    def _vector_effect(self) -> list[str]:
        has_vector = self._row is not None and self._row.entry().embedding_dimensions
        if self._library.embedder is not None:
            return ["its vector is made anew" if has_vector else "it gets a vector"]
        return ["its vector is dropped: no embeddings are configured"] if has_vector else []


class _KeyLabel(Static):
    """A key and what it does, which a click does as well."""

    def __init__(self, key: str, words: str, action: str) -> None:
        super().__init__(Content.assemble((key, "$primary"), f" {words}"), classes="key")
        self._action = action

    async def on_click(self) -> None:
        """Do it."""
        if self.screen.check_action(self._action, ()):
            await self.screen.run_action(self._action)
