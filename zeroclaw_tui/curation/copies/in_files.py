"""Where texts lie in the files of an install: its snapshot, its archives, its Markdown notes and its backups."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from zeroclaw_tui.curation.copies import in_lines, snapshot_text
from zeroclaw_tui.curation.copies.found import (
    COMPARED,
    LARGEST,
    SHORT,
    Copy,
    Kind,
    Wanted,
    found,
    not_looked_at,
    raw,
    too_large,
)

_HYDRATED = (
    "ZeroClaw would make core memories out of it again if brain.db were lost, and writes it anew only while there are "
    "core memories."
)
_NOT_HYDRATED = "ZeroClaw does not read this snapshot by itself."
_NOTES = "These are notes in Markdown beside the store; cleaning removes the whole lines that hold a text."
_ARCHIVED = "ZeroClaw's hygiene moved these notes here; cleaning removes the whole lines that hold a text."
_SESSION = "This is the archive of a conversation, which is not edited here; ZeroClaw deletes it in time."
BACKUP = "A backup is yours to delete."


def read_lines(path: Path) -> list[str] | None:
    """The lines of a file; None when it is too large. Raises OSError."""
    if path.stat().st_size > LARGEST:
        return None
    return in_lines.lines_of(path.read_bytes())


def in_snapshot(
    path: Path, wanted: Wanted, living: Mapping[str, set[str]], *, is_live: bool, lines: Sequence[str]
) -> list[Copy]:
    """The entries of a snapshot that are one of the texts."""
    spans = snapshot_text.spans_of(lines, wanted, living)
    texts = wanted.in_order(text for _, _, texts in spans for text in texts)
    return found("snapshot", path, texts, _HYDRATED if is_live else _NOT_HYDRATED, can_clean=True)


def in_notes(kind: Kind, paths: Sequence[Path], wanted: Wanted) -> Iterator[Copy]:
    """The Markdown files with lines that hold a text; those of a backup are left to the person."""
    search = in_lines.LineSearch(wanted, sum(_size(path) for path in paths))
    remark = {"archive": _ARCHIVED, "markdown": _NOTES}.get(kind, BACKUP)
    if search.inside < len(wanted.texts):
        remark += f" Only the first {search.inside:,} texts were also looked for inside longer lines."
    for path in paths:
        try:
            lines = read_lines(path)
        except OSError as error:
            yield not_looked_at(kind, path, error)
            continue
        if lines is None:
            yield too_large(kind, path)
            continue
        spans = search.spans_of(lines)
        texts = wanted.in_order(text for _, _, texts in spans for text in texts)
        yield from found(kind, path, texts, remark, can_clean=kind != "backup")


def in_conversations(paths: Sequence[Path], wanted: Wanted) -> Iterator[Copy]:
    """Archived sessions of any format that contain a content, as it is or as JSON writes it."""
    most = max(1, COMPARED // max(1, 3 * sum(_size(path) for path in paths)))
    forms = [(text, _forms(text.content)) for text in wanted.texts[:most] if len(text.content) >= SHORT]
    left = len(wanted.texts) - most
    remark = _SESSION + (f" The last {left:,} texts were not looked for." if left > 0 else "")
    for path in paths:
        try:
            if _size(path) > LARGEST:
                yield too_large("archive", path)
                continue
            data = path.read_bytes()
        except OSError as error:
            yield not_looked_at("archive", path, error)
            continue
        texts = wanted.in_order(text for text, forms_of in forms if any(form in data for form in forms_of))
        yield from found("archive", path, texts, remark)


def _forms(content: str) -> set[bytes]:
    plain = json.dumps(content, ensure_ascii=False)[1:-1]
    return {raw(content), raw(plain), json.dumps(content)[1:-1].encode("ascii")}


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        # Reading it says why.
        return 0
