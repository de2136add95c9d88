"""Storing many memories as ZeroClaw stores each, with one write of every file."""

from __future__ import annotations

from collections.abc import Sequence

from zeroclaw_tui.backends.markdown.edits import Source
from zeroclaw_tui.backends.markdown.writing import NoteWriter, line_of
from zeroclaw_tui.files.disk import read_bytes, replace_bytes, until_it_holds
from zeroclaw_tui.memory.change import Draft


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
        _append(source, heading.encode(), b"\n".join(lines[place]))


def _append(source: Source, heading: bytes, lines: bytes) -> None:
    path = source.note.path

    def attempt() -> None:
        data = read_bytes(path)
        replace_bytes(path, data, (data + b"\n" if data else heading) + lines)

    until_it_holds(attempt, path)
