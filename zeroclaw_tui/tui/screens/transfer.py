"""Exporting what the list shows to a file, and importing a file, each asked for with what it would do."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import DescendantFocus
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from zeroclaw_tui.curation.changes import Outcome
from zeroclaw_tui.curation.formats.own import SUFFIXES, Format
from zeroclaw_tui.curation.superseded import superseded_hidden
from zeroclaw_tui.curation.transfer.export import Exported, export_file
from zeroclaw_tui.curation.transfer.imports import ImportPlan, import_memories, plan_import
from zeroclaw_tui.memory.change import Advance
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui.screens.asking import AnswersScreen, PathScreen, path_typed
from zeroclaw_tui.tui.screens.confirm import QuestionScreen
from zeroclaw_tui.tui.screens.progress import with_progress
from zeroclaw_tui.tui.screens.transfer_words import (
    FORMATS,
    exported_words,
    hidden_words,
    import_answers,
    import_title,
    plan_body,
)
from zeroclaw_tui.tui.screens.working import shown_words
from zeroclaw_tui.tui.widgets.writing import LineInput, OneOf
from zeroclaw_tui.tui.words import memories_words

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

_BY_NAME = "by its name"
_KEYS = "enter export   tab next   ◂ ▸ choose   esc leave it"


@dataclass(frozen=True, slots=True)
class ExportWish:
    """Where to, how, and whether vectors go along."""

    path: Path
    format: Format
    vectors: bool


class ExportScreen(ModalScreen[ExportWish | None]):
    """Where the memories shall go. `narrowed` says in words which those are."""

    CSS_PATH = "asking.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "leave it"),
        Binding("enter", "export", "export", show=False),
        Binding("down", "app.focus_next", "next", show=False),
        Binding("up", "app.focus_previous", "previous", show=False),
    ]

    def __init__(self, count: int, narrowed: str, path: Path, *, has_vectors: bool) -> None:
        super().__init__()
        self._count = count
        self._narrowed = narrowed
        self._path = path
        self._has_vectors = has_vectors

    def compose(self) -> ComposeResult:
        """What goes, where to, how, the keys."""
        with Vertical(id="asking", classes="-typed"):
            yield Static(Content(f"Export {memories_words(self._count)}?"), id="title")
            yield Static(Content.styled(self._narrowed, "$text-muted"), id="body")
            with Horizontal(classes="field"):
                yield Static("to", classes="name", markup=False)
                yield LineInput(shown_words(str(self._path)), id="path")
            with Horizontal(classes="field"):
                yield Static("format", classes="name", markup=False)
                yield OneOf((_BY_NAME, *FORMATS), _BY_NAME, id="format")
            if self._has_vectors:
                with Horizontal(classes="field"):
                    yield Static("vectors", classes="name", markup=False)
                    yield OneOf(("no", "yes"), "no", id="vectors")
            yield Static("", id="remark", markup=False)
            yield Static(_KEYS, id="keys", markup=False)

    def on_mount(self) -> None:
        """Start at the path."""
        self.query_one(LineInput).focus()
        self._say()

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """The name of the field where one is stands out."""
        for field in self.query(".field"):
            field.set_class(event.widget in field.children, "-focused")

    def on_input_changed(self) -> None:
        """The name may choose the format."""
        self._say()

    def on_one_of_changed(self) -> None:
        """Say what the format holds."""
        self._say()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Export."""
        event.stop()
        self.action_export()

    def action_export(self) -> None:
        """Give the wish, or say what is wrong with it."""
        try:
            path, chosen = path_typed(self.query_one(LineInput).meant), self._format()
        except WrongUse as error:
            self._remark(Content.styled(f"{error.message} {error.hint}".strip(), "$text-error"))
            return
        vectors = any(line.value == "yes" for line in self.query("#vectors").results(OneOf))
        self.dismiss(ExportWish(path, chosen, vectors and chosen == "jsonl"))

    def _format(self) -> Format:
        """The format that is chosen, or that the name means. Raises WrongUse."""
        chosen = self.query_one("#format", OneOf).value
        if chosen != _BY_NAME:
            return FORMATS[chosen][0]
        suffix = Path(self.query_one(LineInput).value.strip()).suffix.lower()
        if suffix not in SUFFIXES:
            known = ", ".join(SUFFIXES)
            raise WrongUse("The name does not say which format.", hint=f"End it in {known}, or choose one.")
        return SUFFIXES[suffix]

    def _say(self) -> None:
        try:
            chosen = self._format()
        except WrongUse as error:
            self._remark(Content(error.hint))
            return
        words, remark = next((words, remark) for words, (known, remark) in FORMATS.items() if known == chosen)
        self._remark(Content(f"{words}: {remark}"))

    def _remark(self, content: Content) -> None:
        self.query_one("#remark", Static).update(content)


async def export_shown(
    app: App[Any], library: Library, filter: MemoryFilter, narrowed: str, now: datetime, patience: float
) -> str | None:
    """Ask where to, and export what a filter leaves; gives what was done, None when a person left it."""
    count = (await library.memory.facets(filter, now.isoformat())).total
    if hidden := await superseded_hidden(library, filter):
        narrowed = f"{narrowed}\n{hidden_words(hidden)}"
    path = Path.home() / f"zeroclaw-memories-{now:%Y-%m-%d}.jsonl"
    screen = ExportScreen(count, narrowed, path, has_vectors=library.memory.capabilities.vectors)
    wish = await app.push_screen_wait(screen)
    if wish is None:
        return None
    is_there = await asyncio.to_thread(wish.path.exists)
    if is_there and not await app.push_screen_wait(_replacing(wish.path)):
        return None

    async def export(advance: Advance) -> Exported:
        return await export_file(
            library, filter, wish.path, wish.format, vectors=wish.vectors, overwrite=is_there, advance=advance
        )

    done = await with_progress(app, f"Exporting {memories_words(count)}", count, patience, export)
    return exported_words(done, wish.path, wish.format)


async def import_file(app: App[Any], library: Library, patience: float) -> Outcome | None:
    """Ask for a file, show what it would bring, and import it; None when a person left it."""
    path = await app.push_screen_wait(
        PathScreen("Import which file?", "An export of this program, or a file or folder of another tool.")
    )
    if path is None:
        return None

    async def look(advance: Advance) -> ImportPlan:
        return await plan_import(library, path, advance=advance)

    plan = await with_progress(app, f"Reading {one_line(shown_words(path.name))}", 0, patience, look)
    policy = await app.push_screen_wait(
        AnswersScreen(import_title(plan), plan_body(plan), "Import nothing", import_answers(plan))
    )
    if policy is None:
        return None
    count = plan.brings(policy)

    async def bring(advance: Advance) -> Outcome:
        return await import_memories(library, plan, policy, advance=advance)

    return await with_progress(app, f"Importing {memories_words(count)}", count, patience, bring)


def _replacing(path: Path) -> QuestionScreen:
    body = Content(f"{shown_words(str(path))} is there already; what it holds is gone then.")
    return QuestionScreen("Replace this file?", body, "Leave it as it is", "Replace it")
