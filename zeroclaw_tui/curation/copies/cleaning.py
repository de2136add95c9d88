"""Taking texts out of files, each file kept whole before it is replaced."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from zeroclaw_tui.backends.markdown.disk import Rewritten, replace_bytes
from zeroclaw_tui.curation.copies import in_lines, snapshot_text
from zeroclaw_tui.curation.copies.found import LARGEST, Copy, Text, Wanted
from zeroclaw_tui.memory.change import FILE, Keep, RowChange, StoredRow
from zeroclaw_tui.memory.errors import Refused, Unreadable

Cut = Callable[[list[str]], tuple[list[str], set[Text]]]
"""From the lines of a file to those that stay, and the texts that go with the others."""


class ChangedMeanwhile(Refused):
    """Another program wrote the file after it was read; it stays as that program left it."""

    title = "Changed meanwhile"

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} changed while it was being cleaned and was left alone.", hint="Clean it once more.")


def cut_for(copy: Copy, living: dict[str, set[str]]) -> Cut:
    """What takes the texts of a copy out of its file; memories in `living`, contents by key, stay in a snapshot."""
    wanted = Wanted(copy.texts)

    def out_of_snapshot(lines: list[str]) -> tuple[list[str], set[Text]]:
        spans = list(snapshot_text.spans_of(lines, wanted, living))
        return snapshot_text.without(lines, spans), {text for _, _, texts in spans for text in texts}

    def out_of_notes(lines: list[str]) -> tuple[list[str], set[Text]]:
        spans = in_lines.LineSearch(wanted).spans_of(lines)
        return in_lines.without(lines, spans), {text for _, _, texts in spans for text in texts}

    return out_of_snapshot if copy.kind == "snapshot" else out_of_notes


def kept_as(path: Path) -> str:
    """The name under which a file is kept: a link stays a link, what it leads to is replaced."""
    return os.path.realpath(path)


def rewrite(path: Path, cut: Cut, keep: Keep) -> int:
    """Replace a file by what a cut leaves of it, with its mode; gives how many texts went.

    Raises Unreadable and Refused, ChangedMeanwhile among them, and what `keep` raises; the file is then as it was.
    """
    real = Path(kept_as(path))
    try:
        if real.stat().st_size > LARGEST:
            raise Refused(f"{path} is too large to be cleaned.", hint="Edit it by hand.")
        data = real.read_bytes()
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror or error}.", hint="Check its permissions.") from error
    lines, gone = cut(in_lines.lines_of(data))
    new = in_lines.bytes_of(lines)
    if new == data:
        return 0
    keep([_change(real, data, new)])
    try:
        replace_bytes(real, data, new)
    except Rewritten as error:
        raise ChangedMeanwhile(path) from error
    return len(gone)


def _change(path: Path, data: bytes, new: bytes) -> RowChange:
    name = str(path)
    digest = hashlib.sha256(new).hexdigest()
    return RowChange(
        StoredRow(name, {"path": name, "bytes": data}, table=FILE),
        StoredRow(name, {"path": name, "sha256": digest}, table=FILE),
    )
