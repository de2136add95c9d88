"""Saving a memory, with every question that may come up on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App
from textual.binding import Binding, BindingType

from zeroclaw_tui.curation.changes import Outcome, edit_memory, store_memory
from zeroclaw_tui.memory.change import EDITABLE, Conflict, Draft, Edit, StoredRow, Value
from zeroclaw_tui.memory.errors import NotThere
from zeroclaw_tui.tui.changes import repairing
from zeroclaw_tui.tui.screens.choice import Choice, ChoiceScreen
from zeroclaw_tui.tui.screens.conflict import ConflictScreen
from zeroclaw_tui.tui.screens.editor_form import draft_of

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library


class Left(Enum):
    """How saving ended without a change: a person wants to type on, or leaves the memory as it is."""

    BACK = "back"
    AS_IT_IS = "as it is"


class Question(ChoiceScreen[bool]):
    """Yes or no, with no chosen at first. Gives None when it was left."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "dismiss(True)", "yes", show=False),
        Binding("n", "dismiss(False)", "no", show=False),
    ]

    def __init__(self, sentence: str, *, no: str, yes: str) -> None:
        super().__init__(sentence, [Choice(False, f"No, {no}"), Choice(True, f"Yes, {yes}")])


async def save_new(app: App[Any], library: Library, draft: Draft) -> Outcome:
    """Store a new memory. Runs in a worker; raises what storing raises."""
    return await repairing(app, library, partial(store_memory, library, draft))


async def save_edit(app: App[Any], library: Library, row: StoredRow, values: Mapping[str, Value]) -> Outcome | Left:
    """Change these fields of a row as it was opened. Runs in a worker, since it may have to ask.

    A row that changed meanwhile is shown beside what was typed, as often as it changes; one that has gone can be
    stored anew. Raises every other InspectorError.
    """
    base, wanted = row, dict(values)
    while True:
        edit = partial(edit_memory, library, row.id, Edit(wanted), base.fingerprint)
        try:
            return await repairing(app, library, edit)
        except Conflict as conflict:
            mine = replace(base, values={**base.values, **wanted})
            kept = await app.push_screen_wait(ConflictScreen(mine, base, conflict.theirs))
            if kept is None:
                return Left.BACK
            if kept.keep == "theirs":
                return Left.AS_IT_IS
            if kept.keep == "merge":
                wanted["content"] = kept.content
            base = conflict.theirs
        except NotThere:
            return await _store_anew(app, library, base, wanted)


async def _store_anew(app: App[Any], library: Library, base: StoredRow, wanted: Mapping[str, Value]) -> Outcome | Left:
    question = Question(
        "This memory has gone meanwhile. Store it as a new one?", no="leave it gone", yes="store it with what I typed"
    )
    answer = await app.push_screen_wait(question)
    if not answer:
        return Left.BACK if answer is None else Left.AS_IT_IS
    can = library.memory.capabilities.editable
    fields = {name: base.values.get(name) for name in EDITABLE if name in can or name in ("key", "category", "content")}
    return await save_new(app, library, draft_of({**fields, **wanted}, base.agent))
