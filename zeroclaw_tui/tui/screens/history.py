"""The history of one memory: what was changed here, step by step, and bringing an older version back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.events import Key
from textual.screen import Screen
from textual.widgets import Static

from zeroclaw_tui.curation import changes
from zeroclaw_tui.curation.trash.trash import Version
from zeroclaw_tui.memory.change import EDITABLE, Clash, Clashes, Edit, StoredRow
from zeroclaw_tui.memory.errors import InspectorError, NotThere
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui.commands import Command, bindings, say_why_dimmed
from zeroclaw_tui.tui.external import copy_text
from zeroclaw_tui.tui.format import absolute_time, count_text
from zeroclaw_tui.tui.looks import MUTED, STRONG
from zeroclaw_tui.tui.screens.help import HelpScreen
from zeroclaw_tui.tui.screens.trash_dialogs import ClashScreen
from zeroclaw_tui.tui.screens.trash_keys import HISTORY_COMMANDS, pane_keys
from zeroclaw_tui.tui.screens.trash_words import key_words
from zeroclaw_tui.tui.widgets.diff_content import DiffContent
from zeroclaw_tui.tui.widgets.empty import Empty
from zeroclaw_tui.tui.widgets.key_line import KeyLine
from zeroclaw_tui.tui.widgets.line_diff import diff_lines
from zeroclaw_tui.tui.widgets.status_bar import StatusBar
from zeroclaw_tui.tui.widgets.step_list import StepList
from zeroclaw_tui.tui.widgets.version_words import field_changes, step_words, vector_words

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

_PAGE = 200
_MOST_TOLD, _LONGEST_TOLD = 5, 200
_WRITING = frozenset({"bring_back"})
_SCOPE = "Done through this program. What the agent itself changed is not in here."


class StepPane(VerticalScroll, can_focus=True, inherit_bindings=False):
    """One step: its fields and its difference, scrolling with the keys of the list."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "scroll_down", "Down", id="step.down", show=False, tooltip="A line on"),
        Binding("k,up", "scroll_up", "Up", id="step.up", show=False, tooltip="A line back"),
        Binding("g,home", "scroll_home", "Top", id="step.top", show=False, tooltip="To the beginning"),
        Binding("G,end", "scroll_end", "End", id="step.bottom", show=False, tooltip="To the end"),
        Binding("pagedown", "page_down", "Page down", id="step.page_down", show=False, tooltip="A page on"),
        Binding("pageup", "page_up", "Page up", id="step.page_up", show=False, tooltip="A page back"),
    ]


class HistoryScreen(Screen[bool]):
    """Edits, deletions and restores of one memory, the newest first. Gives True when it was changed from here."""

    CSS_PATH = "history.tcss"
    AUTO_FOCUS = "#steps"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = bindings(HISTORY_COMMANDS)

    def __init__(self, library: Library, id: str, key: str, clock: Callable[[], datetime]) -> None:
        super().__init__()
        self.library = library
        self.has_changed = False
        self._memory_id = id
        self._key = key
        self._clock = clock
        self._shown: Version | None = None
        self._is_writing = False

    def compose(self) -> ComposeResult:
        """Title, what is not in here, steps and the step, keys."""
        yield Static("", id="title", markup=False)
        yield Static(_SCOPE, id="scope", markup=False)
        with Container(id="panes"):
            yield StepList(self._clock(), id="steps")
            with StepPane(id="step"):
                yield Static("", id="fields", markup=False)
                yield DiffContent(id="diff")
        yield Empty(id="empty")
        yield StatusBar(id="status")
        yield KeyLine(show_command_palette=False)

    def on_mount(self) -> None:
        """Look."""
        self.query_one(StatusBar).say(self.library.read_only_because or "")
        self.reload()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Bringing back is dimmed in a store that is only read; the last line says why."""
        return None if action == "bring_back" and self.library.read_only_because is not None else True

    def on_key(self, event: Key) -> None:
        """A dimmed key says why it is dimmed."""
        say_why_dimmed(self, event, _WRITING, self.library.read_only_because)

    def palette_commands(self) -> Iterable[Command]:
        """The commands that make sense now."""
        return [command for command in HISTORY_COMMANDS if command.in_palette and self.check_action(command.action, ())]

    def reload(self) -> None:
        """Look again."""
        self.run_worker(self._load(), group="history-steps", exclusive=True)

    def on_row_list_cursor_moved(self) -> None:
        """Show the step under the cursor."""
        step = self.query_one(StepList).selected
        if step is not None and step is not self._shown:
            self._shown = step
            self.query_one("#fields", Static).update(_step_content(step))
            self.run_worker(self._diff(step), group="history-diff", exclusive=True)

    def on_row_list_row_opened(self) -> None:
        """Read on in the step."""
        self.query_one(StepPane).focus()

    def action_step_out(self) -> None:
        """From the step to the list, from there back."""
        if self._is_writing:
            self.notify("This is still under way.", severity="warning", markup=False)
        elif self.query_one(StepPane).has_focus:
            self.query_one(StepList).focus()
        else:
            self.dismiss(self.has_changed)

    def action_bring_back(self) -> None:
        """Make the memory what it was before this step."""
        step = self.query_one(StepList).selected
        if step is not None and not self._is_writing:
            self._is_writing = True
            self.run_worker(self._bring_back(step), group="history-write")

    async def action_copy_content(self) -> None:
        """Copy the content of the version that would be brought back."""
        step = self.query_one(StepList).selected
        if step is not None:
            self.notify(await copy_text(self.app, wanted_version(step).entry().content), markup=False)

    def action_show_help(self) -> None:
        """The keys that work here."""
        panes = (("In the list", self.query_one(StepList)), ("In the step", self.query_one(StepPane)))
        self.app.push_screen(HelpScreen(pane_keys(self, HISTORY_COMMANDS, panes)))

    async def _load(self) -> None:
        try:
            steps = await self.library.trash.history(self._memory_id)
            if self.library.memory.keeps_history:
                self.query_one("#scope", Static).update(await self._told_by_store())
        except InspectorError as error:
            self._tell_failure(error)
            return
        self.query_one(StepList).show(steps, self._clock())
        self.set_class(not steps, "-empty")
        if steps:
            changes = "1 change" if len(steps) == 1 else f"{count_text(len(steps))} changes"
            title = Content.assemble((f"{changes} of {key_words(self._key)}", STRONG), (" · newest first", MUTED))
            self.query_one("#title", Static).update(title)
            return
        self.query_one("#title", Static).update(Content.styled(f"No changes of {key_words(self._key)}", STRONG))
        self.query_one(Empty).show(
            "Nothing was changed here through this program.",
            "An edit (e), a deletion (d) and what brings it back are listed here from then on.",
            (("esc", "back"),),
        )

    async def _told_by_store(self) -> Content:
        """What the store itself tells of the memory, the newest changes of many, and what it connects with it."""
        memory = self.library.memory
        history, entry = await memory.history(self._memory_id), await memory.with_id(self._memory_id)
        related = [] if entry is None else await memory.related(entry)
        lines = [_SCOPE]
        if history:
            changes = "1 change" if len(history) == 1 else f"{count_text(len(history))} changes"
            lines.append(f"{memory.program or memory.name} itself tells of {changes}, the newest last:")
        for past in history[-_MOST_TOLD:]:
            texts = " → ".join(one_line(text[:_LONGEST_TOLD]) for text in (past.old, past.new) if text is not None)
            lines.append(f"  {one_line(past.at)}  {one_line(past.action)}  {texts}")
        if related:
            lines.append("Connected with it:")
        lines += [f"  {one_line(one.key)}  {one_line(one.content[:_LONGEST_TOLD])}" for one in related[:_MOST_TOLD]]
        if len(history) > _MOST_TOLD or len(related) > _MOST_TOLD:
            lines.append("`zeroclaw memory get` tells all.")
        return Content("\n".join(lines))

    async def _diff(self, step: Version) -> None:
        before, after = (row.entry().content if row else "" for row in (step.before, step.after))
        lines = [] if before == after else await asyncio.to_thread(diff_lines, before, after)
        if step is self._shown:
            self.query_one(DiffContent).show(lines)
            self.query_one(StepPane).scroll_home(animate=False)

    async def _bring_back(self, step: Version) -> None:
        try:
            count = await self._make(wanted_version(step))
        except InspectorError as error:
            self._tell_failure(error)
        else:
            if count is not None:
                self._told_back(step, count)
        finally:
            self._is_writing = False
        self.reload()

    def _told_back(self, step: Version, count: int) -> None:
        self.has_changed = self.has_changed or count > 0
        key = key_words(wanted_version(step).entry().key)
        when = "before" if step.before is not None else "on"
        said = f"is again as it was {when}" if count else f"is as it was {when}"
        already = "" if count else " already"
        self.notify(f"{key} {said} {absolute_time(step.at)}{already}.", markup=False)

    async def _make(self, wanted: StoredRow) -> int | None:
        """Make the memory this version; gives how many changes that took, None when a person left it."""
        library = self.library
        present = await library.memory.stored(self._memory_id)
        restored = 0
        if present is None:
            outcome = await self._restore()
            if outcome is None:
                return None
            restored = outcome.count
            present = await library.memory.stored(self._memory_id)
            if present is None:
                # Put back beside another one: it is here under an id of its own, as it was when it was deleted.
                return restored
        edit = edit_to(present, wanted, library.memory.capabilities.editable)
        if not edit.values:
            return restored
        done = await changes.edit_memory(library, self._memory_id, edit, present.fingerprint)
        return restored + done.count

    async def _restore(self) -> changes.Outcome | None:
        number = await self._number_in_trash()

        async def attempt(clash: Clash) -> changes.Outcome:
            return await changes.restore(self.library, [number], clash=clash)

        try:
            return await attempt("refuse")
        except Clashes as clashes:
            answer = await self.app.push_screen_wait(ClashScreen(clashes))
        return None if answer is None else await attempt(answer)

    async def _number_in_trash(self) -> int:
        """Where the trash holds this memory. Raises NotThere."""
        steps = await self.library.trash.history(self._memory_id)
        key = wanted_version(steps[0]).entry().key if steps else self._key
        # Its key narrows the search; a key that cannot be looked for is no reason to miss it.
        for contains in (key, "") if _can_be_searched(key) else ("",):
            offset, total = 0, 1
            while offset < total:
                rows, total = await self.library.trash.listing(contains, limit=_PAGE, offset=offset)
                for row in rows:
                    if row.row.id == self._memory_id:
                        return row.number
                offset += _PAGE
        raise NotThere("This memory is neither in the store nor in the trash.", hint="The trash let go of it.")

    def _tell_failure(self, error: InspectorError) -> None:
        self.notify(str(error), title=error.title, severity="error", markup=False)


def _can_be_searched(key: str) -> bool:
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return bool(key)


def wanted_version(step: Version) -> StoredRow:
    """What a step brings back: what was there before it, or what it made where nothing was."""
    row = step.before or step.after
    if row is None:
        raise ValueError("a step has a before or an after")
    return row


def edit_to(present: StoredRow, wanted: StoredRow, editable: Iterable[str]) -> Edit:
    """The edit that makes one version the other, as far as this store can edit."""
    now, then = present.entry(), wanted.entry()
    names = [name for name in EDITABLE if name in set(editable) and getattr(now, name) != getattr(then, name)]
    return Edit({name: getattr(then, name) for name in names})


def _step_content(step: Version) -> Content:
    """When and what, then every field that changed, aligned."""
    words = step_words(step)
    parts: list[str | tuple[str, str]] = [(words, STRONG), (f"  {absolute_time(step.at)}", MUTED)]
    rows = [(name, old, new) for name, old, new in field_changes(step)]
    vector = vector_words(step)
    widest = max((len(name) for name, _, _ in rows), default=6)
    for name, old, new in rows:
        parts += ["\n", (f"{name.ljust(widest)}  {old} → ", MUTED), new]
    if vector:
        parts += ["\n", (f"{'vector'.ljust(widest)}  {vector}", MUTED)]
    return Content.assemble(*parts)
