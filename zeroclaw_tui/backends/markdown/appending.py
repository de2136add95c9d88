"""Appending many lines to notes as ZeroClaw appends each, with one write of every file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from zeroclaw_tui.backends.markdown.files import note_in
from zeroclaw_tui.backends.markdown.lines import Edit, Source, edited
from zeroclaw_tui.backends.markdown.write import LINES_AT_ONCE, NoteWriter, line_of
from zeroclaw_tui.config.layouts import CORE_NAME, DAILY_FOLDER
from zeroclaw_tui.files.disk import read_bytes, replace_bytes, until_it_holds
from zeroclaw_tui.memory.change import Advance, Batches, Draft, Keep, Reversal, RowChange
from zeroclaw_tui.memory.errors import Refused

_CORE = "core"
_BULLET = "- "


def append(writer: NoteWriter, wanted: Batches, keep: Keep, advance: Advance | None) -> Reversal:
    """Append the line of each `before`: its content is the text, its category and `created_at` (a stem) the file.

    Each file is written once, in one step. Every line of it is kept before. Raises Refused for an agent without a
    folder.
    """
    appended = 0
    for source, heading, lines in _lines_of_files(writer, wanted):
        if advance is not None and not advance(appended):
            return Reversal(appended, cancelled=True)
        _append_to(source, heading, lines, keep)
        appended += len(lines)
    if advance is not None:
        advance(appended)
    return Reversal(appended)


def _lines_of_files(writer: NoteWriter, wanted: Batches) -> Sequence[tuple[Source, str, list[bytes]]]:
    places: dict[tuple[str | None, str, bool], list[bytes]] = defaultdict(list)
    for batch in wanted():
        for change in batch:
            entry = change.row.entry()
            line = f"{_BULLET}{entry.content}\n".encode("utf-8", "surrogateescape")
            places[entry.agent, entry.timestamp, entry.category == _CORE].append(line)
    return [(*_target(writer, *place), lines) for place, lines in places.items()]


def _target(writer: NoteWriter, agent: str | None, stem: str, is_core: bool) -> tuple[Source, str]:
    folder = next((folder for folder in writer.folders if folder.agent == agent), None)
    if folder is None:
        raise Refused(f"There are no notes of agent {agent!r} here.", hint="Name one that has notes.")
    heading = "# Long-Term Memory\n\n" if is_core else f"# Daily Log — {stem}\n\n"
    if folder.only is not None:
        return writer.source_of(note_in(folder, folder.only)), heading
    name = CORE_NAME if is_core else f"{DAILY_FOLDER}/{stem}.md"
    return writer.source_of(note_in(folder, name)), heading


def _append_to(source: Source, heading: str, lines: Sequence[bytes], keep: Keep) -> None:
    kept = False

    def attempt() -> None:
        nonlocal kept
        data = read_bytes(source.note.path)
        change = edited(source, data, _edits(data, heading, lines))
        if not kept:
            for batch in _batches(change.changes):
                keep(batch)
            # Written anew after the agent was quicker, they are the same lines: their bytes are kept already.
            kept = True
        replace_bytes(source.note.path, data, change.data)

    until_it_holds(attempt, source.note.path)


def _edits(data: bytes | None, heading: str, lines: Sequence[bytes]) -> Iterator[Edit]:
    """ZeroClaw sets each entry apart by a blank line."""
    end = len(data or b"")
    for at, line in enumerate(lines):
        lead = "\n" if data or at else heading
        yield Edit(end, new=line, new_lead=lead.encode())


def _batches(changes: Sequence[RowChange]) -> Iterator[Sequence[RowChange]]:
    for start in range(0, len(changes), LINES_AT_ONCE):
        yield changes[start : start + LINES_AT_ONCE]


def store_all(writer: NoteWriter, drafts: Sequence[Draft]) -> None:
    """Append the lines of these drafts in order. Raises Refused before anything is written."""
    targets: dict[tuple[str | None, bool], tuple[Source, str]] = {}
    lines: dict[tuple[str | None, bool], list[bytes]] = {}
    for given in drafts:
        draft = given.checked()
        place = (draft.agent, draft.category == "core")
        if place not in targets:
            targets[place] = writer.target(draft)
        lines.setdefault(place, []).append(line_of(draft))
    for place, (source, heading) in targets.items():
        _append_bytes(source, heading.encode(), b"\n".join(lines[place]))


def _append_bytes(source: Source, heading: bytes, lines: bytes) -> None:
    path = source.note.path

    def attempt() -> None:
        data = read_bytes(path)
        replace_bytes(path, data, (data + b"\n" if data else heading) + lines)

    until_it_holds(attempt, path)
