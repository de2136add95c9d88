"""OpenClaw: the Markdown of a workspace, which is its memory.

A workspace (`~/.openclaw/workspace`) has MEMORY.md, USER.md and memory/ with a file a day: `YYYY-MM-DD.md`, with a
topic `YYYY-MM-DD-<slug>.md`, or with a time `YYYY-MM-DD-HHMM.md`, which is the dump of a conversation. memory/dreaming
and hidden folders are made by the machine.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

from zeroclaw_tui.curation.formats.notes import blocks_of, note_files, note_head, read_note
from zeroclaw_tui.curation.formats.rows import EMPTY, count_lost, digest, first_moment, memory_row, moment_of, slug
from zeroclaw_tui.curation.formats.source import Source
from zeroclaw_tui.memory.change import Row
from zeroclaw_tui.memory.days import date_of_note

_CORE = ("memory.md", "user.md")
_FOLDER = "memory"
_DATES = ("created", "date", "created_at")
_DUMP = re.compile(r"\d{4}-\d\d-\d\d-\d{4}\.md", re.IGNORECASE)
_ZEROCLAWS = re.compile(r"\s*# (?:Long-Term Memory|Daily Log — \d{4}-\d\d-\d\d)\s*(?:\n- \*\*.+?\*\*: |\Z)")
_SNIFFED = 8
"""How many notes are looked at to recognise a workspace."""


def sniff(source: Source) -> bool:
    """By daily notes or a MEMORY.md that are not ZeroClaw's own; those of Claude Code are recognised before."""
    newest = sorted(_notes(source), key=lambda file: (file.name.lower() == _CORE[0], date_of_note(file.name)))
    texts = {file.name.lower(): text for file in newest[-_SNIFFED:] if (text := note_head(source, file))}
    if any(map(_ZEROCLAWS.match, texts.values())):
        return False
    return any(date_of_note(name) or name == _CORE[0] for name in texts)


def read(source: Source, lost: Counter[str]) -> Iterator[Row]:
    """Every item, paragraph, table and fence is a memory: of MEMORY.md and USER.md core, of a day daily."""
    for file in _notes(source):
        fields, text = read_note(source, file)
        count_lost(fields, _DATES, lost)
        created = moment_of(date_of_note(file.name)) or first_moment(fields, *_DATES)
        is_dump = _DUMP.fullmatch(file.name) is not None
        category = "core" if file.name.lower() in _CORE else "conversation" if is_dump else "daily"
        for block in blocks_of(text):
            if is_dump and len(block.headings) < 2:
                # The ids of the session, which is elsewhere.
                continue
            if not block.has_text:
                lost[EMPTY] += 1
                continue
            parts = dict.fromkeys(("openclaw", slug(file.stem), slug(block.title), digest(block.text)))
            yield memory_row("_".join(filter(None, parts)), block.text, category, created_at=created)


def _notes(source: Source) -> list[PurePosixPath]:
    """MEMORY.md and USER.md, and the notes in the folder memory."""

    def is_note(file: PurePosixPath) -> bool:
        if file.name.lower() in _CORE:
            return len(file.parts) == 1
        return file.parts[0] == _FOLDER or source.path.name == _FOLDER or not source.is_folder

    hidden = re.compile(r"\.|dreaming$")
    return [file for file in note_files(source) if is_note(file) and not any(map(hidden.match, file.parts[:-1]))]
