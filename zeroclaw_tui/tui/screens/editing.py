"""A memory's content in the person's own editor, from the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.app import App

from zeroclaw_tui.curation.changes import Outcome
from zeroclaw_tui.memory.change import StoredRow
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.text import display_text
from zeroclaw_tui.tui.external_editor import Edited, edit_text
from zeroclaw_tui.tui.screens.editor import EditorScreen
from zeroclaw_tui.tui.screens.saving import Left, save_edit

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library


async def edit_externally(app: App[Any], library: Library, row: StoredRow) -> Outcome | None:
    """Open a memory's content in the person's editor and save what comes back; None when nothing was changed.

    Runs in a worker. Every failure is told by a notification, with the file that keeps what was typed. Who leaves the
    comparison with a version that came meanwhile types on in the editor screen.
    """
    if library.read_only_because:
        _tell(app, library.read_only_because, is_failure=True)
        return None
    edited = edit_text(app, row.entry().content)
    if edited.sentence:
        _tell(app, edited.sentence, is_failure=edited.is_failure)
    if edited.text is None:
        return None
    return await _save(app, library, row, edited, edited.text)


async def _save(app: App[Any], library: Library, row: StoredRow, edited: Edited, text: str) -> Outcome | None:
    try:
        saved = await save_edit(app, library, row, {"content": text})
    except InspectorError as error:
        _tell(app, f"{error} What you typed is kept in {edited.file}.", is_failure=True, title=error.title)
        return None
    if saved is Left.BACK:
        outcome = await app.push_screen_wait(EditorScreen(library, row, text=text))
        edited.discard()
        return outcome
    edited.discard()
    return None if isinstance(saved, Left) else saved


def _tell(app: App[Any], sentence: str, *, is_failure: bool, title: str = "") -> None:
    app.notify(display_text(sentence), title=title, severity="error" if is_failure else "information", markup=False)
