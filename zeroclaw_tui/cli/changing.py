"""`memory store` and `memory edit`, which never ask.

Their document is that of every change (see `told`) with "entry", the memory as it is now (an entry as `get` prints it,
null where nothing changed), and then "replaced" (store: whether an older one of that key went to the trash) or
"fields" (edit: the names of what changed).
"""

from __future__ import annotations

import argparse
import sys
from datetime import datetime
from functools import partial
from typing import Any

from zeroclaw_tui.cli.differences import changed_fields, difference_lines
from zeroclaw_tui.cli.finding import HOW_TO_FIND, address, agent_given, nothing_found, the_one
from zeroclaw_tui.cli.guarding import check_writable, with_triggers
from zeroclaw_tui.cli.options import agents_given
from zeroclaw_tui.cli.output import GREEN, Styled, write_lines
from zeroclaw_tui.cli.told import (
    cleaned_lines,
    copies_lines,
    row_as_json,
    tell_document,
    tell_notes,
)
from zeroclaw_tui.cli.told_done import Copies, copies_left
from zeroclaw_tui.cli.zeroclaw_words import in_one_line
from zeroclaw_tui.curation.changes import Outcome, edit_memory, note_nothing, store_memory
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.change import MEMORIES, SUPERSEDED_BY, Conflict, Draft, Edit, StoredRow, Value
from zeroclaw_tui.memory.errors import DONE, NotThere, Refused, WrongUse
from zeroclaw_tui.memory.text import one_line

_NAMES = {"session_id": "session"}


async def store(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Store one memory."""
    check_writable(library, given)
    extras = {"namespace": given.namespace, "importance": given.importance, "pinned": given.pinned}
    _check_editable(library, [name for name, value in extras.items() if value is not None])
    draft = Draft(
        key=_utf_8(given.key, "The key"),
        content=text_given(given.content, "The content"),
        category=given.category,
        session_id=given.session or None,
        agent=agent_given(given),
        **extras,
    )
    outcome = await with_triggers(
        library,
        given,
        lambda: store_memory(library, draft, replace=not given.new, as_zeroclaw=given.as_zeroclaw),
        asks=False,
    )
    assert outcome is not None
    replaced = _replaced(library, outcome)
    tell_notes(outcome)
    if given.json:
        _tell(library, outcome, Copies(), replaced=replaced is not None)
        return DONE
    key = in_one_line(draft.key)
    if replaced is None:
        write_lines([(Styled("✓", GREEN), f" Stored {key!r}; `zeroclaw memory undo` takes it away again.")])
    else:
        write_lines(
            [
                (Styled("✓", GREEN), f" Stored {key!r}."),
                ("Replaced; `zeroclaw memory undo` brings the old one back.",),
            ]
        )
    return DONE


async def edit(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Change one memory in place."""
    asked = _asked(given)
    if not asked:
        raise WrongUse("Change what?", hint="`zeroclaw memory edit --help` lists what can be changed.")
    check_writable(library, given)
    _check_editable(library, asked)
    if "content" in asked:
        asked["content"] = text_given(given.content, "The content")
    if "key" in asked:
        asked["key"] = _utf_8(given.new_key, "The new key")
    entry = await the_one(library, given.key, given.id, agents_given(given))
    before = await library.memory.stored(address(entry))
    if before is None:
        raise NotThere(nothing_found(given.key, given.id), hint=HOW_TO_FIND)
    try:
        outcome = await with_triggers(
            library,
            given,
            lambda: edit_memory(
                library, address(entry), Edit(asked), before.fingerprint, as_zeroclaw=given.as_zeroclaw
            ),
            asks=False,
        )
    except Conflict as conflict:
        conflict.message = "This memory was changed by another program at this very moment; nothing was done."
        conflict.hint = "`zeroclaw memory get` shows how it is now; the same edit again changes that."
        raise
    assert outcome is not None
    return await _tell_edit(library, given, before, outcome)


async def _tell_edit(library: Library, given: argparse.Namespace, before: StoredRow, outcome: Outcome) -> int:
    after = outcome.row
    if not outcome.count:
        await note_nothing(library, "edit", one_line(before.entry().key))
    fields = changed_fields(before, after) if after is not None else []
    look = partial(copies_left, library, given, outcome) if "content" in fields else _no_copies
    tell_notes(outcome)
    if given.json:
        copies = await look()
        _tell(library, outcome, copies, fields=fields)
        return copies.code
    if not outcome.count or after is None:
        write_lines([("It is so already; nothing was changed.",)])
        return DONE
    write_lines([(Styled("✓", GREEN), f" Changed {in_one_line(after.entry().key)!r}:")])
    write_lines(difference_lines(before, after))
    if outcome.action is not None:
        write_lines([("`zeroclaw memory undo` brings back what it was.",)])
    sys.stdout.flush()
    copies = await look()
    write_lines(cleaned_lines(copies.cleaned))
    write_lines(copies_lines(copies.found, cleaning=given.clean_copies))
    return copies.code


async def _no_copies() -> Copies:
    return Copies()


def _asked(given: argparse.Namespace) -> dict[str, Value]:
    """What an edit sets, as it was typed."""
    typed: dict[str, Value] = {
        "content": given.content,
        "key": given.new_key,
        "category": given.category,
        "importance": given.importance,
        "pinned": given.pinned,
        "namespace": given.namespace,
    }
    asked: dict[str, Value] = {name: value for name, value in typed.items() if value is not None}
    if given.session is not None:
        asked["session_id"] = given.session or None
    if given.unsupersede:
        asked[SUPERSEDED_BY] = None
    return asked


def _check_editable(library: Library, names: list[str] | dict[str, Value]) -> None:
    can = library.memory.capabilities
    for name in names:
        if name not in can.editable and name != SUPERSEDED_BY:
            shown = _NAMES.get(name, name)
            why = can.why_not.get(name) or can.why_not.get(shown) or can.why_not.get(f"{shown}s")
            raise Refused(why or f"This store has no {shown} to set.", hint="Nothing was changed.")


def text_given(typed: str, what: str) -> str:
    """A text that is given, or for - all of stdin but for one line end. Raises WrongUse for what is no UTF-8."""
    if typed != "-":
        return _utf_8(typed, what)
    data = sys.stdin.buffer.read()
    try:
        return data.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise WrongUse(
            f"What came on stdin is no UTF-8 (byte {error.start:,}).", hint="Convert it first; nothing was changed."
        ) from error


def _utf_8(typed: str, what: str) -> str:
    try:
        typed.encode("utf-8")
    except UnicodeEncodeError as error:
        raise WrongUse(f"{what} is no UTF-8: {one_line(typed[:60])}", hint="Nothing was changed.") from error
    return typed


def _replaced(library: Library, outcome: Outcome) -> StoredRow | None:
    """The memory that a store replaced, out of the trash."""
    if outcome.action is None:
        return None
    changes = (change for batch in library.trash.open_changes(outcome.action.number)() for change in batch)
    return next((change.before for change in changes if change.before and change.before.table == MEMORIES), None)


def _tell(library: Library, outcome: Outcome, copies: Copies, **more: Any) -> None:
    row = outcome.row
    tell_document(
        library,
        outcome,
        entries=[row_as_json(row)] if row is not None else [],
        copies=copies.found,
        cleaned=copies.cleaned,
        entry=row.entry().as_json() if row is not None else None,
        **more,
    )
