"""Claude Code's own memory: `~/.claude/projects/<path with - for />/memory/`, or a folder `.claude/memory`.

MEMORY.md is an index, a line `- [Title](file.md) — hint` for each topic. A topic's file has front matter `name`,
`description` and `type` (user, feedback, project or reference), which newer versions store in `metadata`. The format is
not documented, and is read leniently.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import PurePosixPath

from zeroclaw_tui.curation.formats.notes import (
    INSTRUCTIONS,
    blocks_of,
    count_instructions,
    field_text,
    front_matter,
    note_files,
    note_head,
    read_note,
)
from zeroclaw_tui.curation.formats.rows import (
    EMPTY,
    count_lost,
    distinct,
    first_moment,
    memory_row,
    slug,
    titled_key,
)
from zeroclaw_tui.curation.formats.source import Source
from zeroclaw_tui.memory.change import Row
from zeroclaw_tui.memory.days import date_of_note

_INDEX, _FOLDER = "memory.md", "memory"
_TYPES = ("user", "feedback", "project", "reference")
_READ = ("name", "description", "type", "metadata", "node_type", "originSessionId", "created", "date", "modified")
_INDEX_LINE = re.compile(
    r"^[ \t]*[-*+][ \t]+\[(?P<title>[^\]\n]+)\]\((?P<file>[^()\n]+?\.md)\)[ \t]*(?:[—–:-]+[ \t]*)?(?P<hint>.*)$",
    re.MULTILINE,
)


def sniff(source: Source) -> str | None:
    """By the front matter of topics, or the lines of an index."""
    indexes, topics = _files(source)
    if any(_is_topic(note_head(source, file)) for file in topics[:8]):
        return "its notes have the front matter of Claude Code's memory"
    if any(date_of_note(file.name) for file in topics):
        return None
    if any(_INDEX_LINE.search(note_head(source, file)) for file in indexes):
        return "its MEMORY.md is an index of topics"
    if any(source.path_of(file).parent.name == _FOLDER for file in indexes):
        return "its MEMORY.md is in a directory memory"
    return None


def read(source: Source, lost: Counter[str]) -> Iterator[Row]:
    """Every topic with its type as category and its project as namespace; of an index only what has no topic."""
    count_instructions(source, lost)
    return distinct(_rows(source, lost), lost)


def _rows(source: Source, lost: Counter[str]) -> Iterator[Row]:
    indexes, topics = _files(source)
    hints: dict[PurePosixPath, str] = dict.fromkeys(topics, "")
    for file in indexes:
        yield from _index_rows(source, file, hints, lost)
    for file in topics:
        row = _topic_row(source, file, hints[file], lost)
        if row is not None:
            yield row


def _topic_row(source: Source, file: PurePosixPath, hint: str, lost: Counter[str]) -> Row | None:
    """A topic; `hint` is what its line of the index says of it."""
    fields, text = read_note(source, file)
    metadata = fields.get("metadata")
    fields = {**fields, **(metadata if isinstance(metadata, dict) else {})}
    name, description, body = field_text(fields, "name"), field_text(fields, "description"), text.strip()
    # What Claude Code itself chooses a topic by has to be found here too.
    head = description if slug(name) in ("", slug(file.stem)) else f"{name}: {description}"
    content = body if description in body else f"{head}\n\n{body}".strip()
    if hint.casefold() not in content.casefold():
        content = f"{hint}\n\n{content}".strip()
    if not content:
        lost[EMPTY] += 1
        return None
    count_lost(fields, _READ, lost)
    project = _project(source, file)
    return memory_row(
        _topic_key(project, file, name),
        content,
        field_text(fields, "type"),
        created_at=first_moment(fields, "created", "date", "modified"),
        updated_at=first_moment(fields, "modified"),
        namespace=project,
        session_id=field_text(fields, "originSessionId"),
    )


def _index_rows(
    source: Source, file: PurePosixPath, hints: dict[PurePosixPath, str], lost: Counter[str]
) -> Iterator[Row]:
    """The lines whose topic is missing, and the prose of each section: its lines say little without each other.

    Sets the hints of the topics that are there.
    """
    fields, text = read_note(source, file)
    count_lost(fields, (), lost)
    namespace = _project(source, file)
    for line in _INDEX_LINE.finditer(text):
        # A name may lead anywhere; it is only compared with the files that lie here.
        topic = file.parent / line["file"]
        if topic in hints:
            hints[topic] = line["hint"].strip()
        else:
            content = " — ".join(filter(None, (line["title"].strip(), line["hint"].strip())))
            yield memory_row(_topic_key(namespace, topic, line["title"]), content, None, namespace=namespace)
    prose = _INDEX_LINE.sub("", text)
    for headings, blocks in groupby(blocks_of(prose), key=lambda block: block.headings):
        heading = headings[-1] if headings else ""
        texts = [f"- {block.text}".replace("\n", "\n  ") if block.is_item else block.text for block in blocks]
        content = "\n".join(filter(None, [heading, *texts]))
        yield memory_row(titled_key("claude", heading, content), content, None, namespace=namespace)


def _topic_key(project: str | None, file: PurePosixPath, name: str) -> str:
    """The same whatever other projects are read with it."""
    parts = ("claude", slug((project or "")[-40:]), slug(file.stem) or slug(name))
    return "_".join(filter(None, parts))


def _files(source: Source) -> tuple[list[PurePosixPath], list[PurePosixPath]]:
    """Every MEMORY.md, and the topics: notes below the folder of one, or below a folder named memory."""
    files = [file for file in note_files(source) if file.name.lower() not in (*INSTRUCTIONS, "readme.md")]
    indexes = [file for file in files if file.name.lower() == _INDEX]
    folders = {file.parent for file in indexes}

    def is_topic(file: PurePosixPath) -> bool:
        parts = source.path_of(file).parts[:-1]
        return not source.is_folder or _FOLDER in parts or any(folder in folders for folder in file.parents)

    return indexes, [file for file in files if file not in indexes and is_topic(file)]


def _is_topic(text: str) -> bool:
    fields, _ = front_matter(text)
    metadata = fields.get("metadata")
    kind = field_text(metadata if isinstance(metadata, dict) else {}, "type") or field_text(fields, "type")
    return bool(field_text(fields, "name") and field_text(fields, "description") and kind in _TYPES)


def _project(source: Source, file: PurePosixPath) -> str | None:
    """Whose memory it is: the name of the folder that has `memory`, or the one that has `.claude`."""
    parts = source.path_of(file).parts[:-1]
    if _FOLDER not in parts[1:]:
        return None
    owners = parts[: len(parts) - 1 - parts[::-1].index(_FOLDER)]
    owner = owners[-2] if owners[-1] == ".claude" and len(owners) > 1 else owners[-1]
    return owner.strip("-/") or None
