"""Claude Code's own memory: `~/.claude/projects/<path with - for />/memory/`.

MEMORY.md is an index, a line `- [Title](file.md) — hint` for each topic. A topic's file has front matter `name`,
`description` and `type` (user, feedback, project or reference), which newer versions store in `metadata`. The format is
not documented, and is read leniently.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from zeroclaw_tui.curation.formats.notes import blocks_of, field_text, front_matter, note_files, note_head, read_note
from zeroclaw_tui.curation.formats.rows import EMPTY, count_lost, first_moment, memory_row, slug, titled_key
from zeroclaw_tui.curation.formats.source import Source
from zeroclaw_tui.memory.change import Row
from zeroclaw_tui.memory.days import date_of_note

_INDEX, _FOLDER = "memory.md", "memory"
_TYPES = ("user", "feedback", "project", "reference")
_READ = ("name", "description", "type", "metadata", "node_type", "originSessionId", "created", "date", "modified")
_INDEX_LINE = re.compile(r"^[ \t]*[-*+][ \t]+\[[^\]\n]+\]\(([^()\n]+?\.md)\).*$", re.MULTILINE)
_SNIFFED = 8


def sniff(source: Source) -> bool:
    """By the front matter of topics, the lines of an index, or a MEMORY.md in a folder memory."""
    indexes, topics = _files(source)
    if any(_is_topic(note_head(source, file)) for file in topics[:_SNIFFED]):
        return True
    if any(date_of_note(file.name) for file in topics):
        return False
    return any(
        _INDEX_LINE.search(note_head(source, file)) or source.path_of(file).parent.name == _FOLDER for file in indexes
    )


def read(source: Source, lost: Counter[str]) -> Iterator[Row]:
    """Every topic with its type as category and its project as namespace; of an index only what has no topic."""
    indexes, topics = _files(source)
    for file in indexes:
        yield from _index_rows(source, file, topics)
    for file in topics:
        fields, text = read_note(source, file)
        fields = _with_metadata(fields)
        # What Claude Code itself chooses a topic by has to be found here too.
        description, body = field_text(fields, "description"), text.strip()
        content = body if description in body else f"{description}\n\n{body}".strip()
        if not content:
            lost[EMPTY] += 1
            continue
        count_lost(fields, _READ, lost)
        project = _project(source, file)
        yield memory_row(
            # The same whatever other projects are read with it.
            "_".join(filter(None, ("claude", slug((project or "")[-40:]), slug(file.stem)))),
            content,
            field_text(fields, "type"),
            created_at=first_moment(fields, "created", "date", "modified"),
            updated_at=first_moment(fields, "modified"),
            namespace=project,
            session_id=field_text(fields, "originSessionId"),
        )


def _index_rows(source: Source, file: PurePosixPath, topics: list[PurePosixPath]) -> Iterator[Row]:
    """All text but the lines of topics that are here."""
    _, text = read_note(source, file)
    project = _project(source, file)
    # A name may lead anywhere; it is only compared with the files that are here.
    rest = _INDEX_LINE.sub(lambda line: "" if file.parent / line[1] in topics else line[0], text)
    for block in blocks_of(rest):
        if block.has_text:
            yield memory_row(titled_key("claude", block.title, block.text), block.text, None, namespace=project)


def _files(source: Source) -> tuple[list[PurePosixPath], list[PurePosixPath]]:
    """Every MEMORY.md, and the topics: notes below the folder of one, or below a folder named memory."""
    files = [file for file in note_files(source) if file.name.lower() != "readme.md"]
    indexes = [file for file in files if file.name.lower() == _INDEX]
    folders = {file.parent for file in indexes}

    def is_topic(file: PurePosixPath) -> bool:
        in_memory = _FOLDER in source.path_of(file).parts[:-1]
        return not source.is_folder or in_memory or any(folder in folders for folder in file.parents)

    return indexes, [file for file in files if file not in indexes and is_topic(file)]


def _is_topic(text: str) -> bool:
    fields = _with_metadata(front_matter(text)[0])
    has_names = field_text(fields, "name") and field_text(fields, "description")
    return bool(has_names and field_text(fields, "type") in _TYPES)


def _with_metadata(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Front matter with the fields that newer versions nest."""
    metadata = fields.get("metadata")
    return {**fields, **(metadata if isinstance(metadata, dict) else {})}


def _project(source: Source, file: PurePosixPath) -> str | None:
    """Whose memory it is: the name of the folder that has `memory`."""
    parents = source.path_of(file).parents
    return next((folder.parent.name.strip("-") or None for folder in parents if folder.name == _FOLDER), None)
