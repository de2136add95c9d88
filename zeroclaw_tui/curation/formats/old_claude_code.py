"""Claude Code's own memory: `~/.claude/projects/<path with - for />/memory/`, or a folder `.claude/memory`.

MEMORY.md is an index, a line `- [Title](file.md) — hint` for each topic. A topic's file has front matter `name`,
`description` and `type` (user, feedback, project or reference), which newer versions keep in `metadata` beside
`modified` and `originSessionId`; older files are prose alone. The format is not documented, and is read leniently.
CLAUDE.md and AGENTS.md are instructions, not memories; the files they import with `@path` are never opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

from zeroclaw_tui.curation.formats.foreign import (
    ForeignFormat,
    Likeness,
    Memories,
    mapping_at,
    memory_row,
    slug,
    titled_key,
)
from zeroclaw_tui.curation.formats.front_matter import (
    INSTRUCTIONS,
    Block,
    Note,
    count_lost,
    first_moment,
    folder_of,
    glance,
    is_comment,
    items_of,
    markdown_files,
    read_note,
    told_blocks,
    words_of,
)
from zeroclaw_tui.curation.formats.old_source import Report, Source
from zeroclaw_tui.memory.change import Row
from zeroclaw_tui.memory.days import date_of_note
from zeroclaw_tui.memory.text import one_line

_INDEX = "memory.md"
_FOLDER = "memory"
_NO_TOPICS = ("readme.md", *INSTRUCTIONS)
_TYPES = ("user", "feedback", "project", "reference")
_TAKEN = ("name", "description", "type", "metadata", "node_type", "originSessionId", "created", "date", "modified")
_INDEX_LINE = re.compile(r"\[(?P<title>[^\]\n]+)\]\((?P<file>[^()\n]+?\.md)\)(?:\s*[—–:-]+\s*)?(?P<hint>.*)", re.DOTALL)
_NO_WORD = re.compile(r"[\W_]+")
_LOOKED_AT = 8


class ClaudeCodeMemory(ForeignFormat):
    """A topic is one memory, of its type as category and its project as namespace, with what only its line of the index
    says; so is each section of plain prose.

    "instructions" in `along` takes CLAUDE.md and AGENTS.md too, as core memories.
    """

    name = "claude"
    title = "Claude Code"

    def likeness(self, source: Source) -> Likeness | None:
        """By the front matter of topics and the lines of an index."""
        indexes, topics = _topics(source)
        if not source.is_folder:
            only = PurePosixPath(source.path.name)
            note = glance(source, only) if only.suffix.lower() == ".md" else Note("")
            if _is_topic(note):
                return Likeness(0.9, "its front matter is that of a topic of Claude Code's memory")
            is_index = source.path.name.lower() == _INDEX and any(True for _ in _index_lines(note))
            if is_index:
                return Likeness(0.7, "it is an index of topics as Claude Code writes it")
            return _by_place(source, [only]) if source.path.name.lower() == _INDEX and note.body.strip() else None
        typed = sum(_is_topic(glance(source, file)) for file in topics[:_LOOKED_AT])
        if typed:
            return Likeness(0.95 if indexes else 0.8, "its notes have the front matter of Claude Code's memory")
        written = [note for file in indexes[:_LOOKED_AT] if (note := glance(source, file)).body.strip()]
        if not written or any(date_of_note(file.name) for file in topics):
            return None
        if any(True for note in written for _ in _index_lines(note)):
            return Likeness(0.8, "its MEMORY.md is an index of topics")
        if any(".claude" in (source.path / file).parts and file.parent.name != ".claude" for file in indexes):
            return Likeness(0.7, "it has a MEMORY.md where Claude Code stores it")
        return _by_place(source, indexes) or Likeness(0.3, "it has a MEMORY.md")

    def each(self, source: Source, report: Report) -> Memories:
        """Every topic with what its line of the index adds; that line alone only where no topic lies there."""
        indexes, topics = _topics(source)
        lines: dict[PurePosixPath, list[re.Match[str]]] = {file: [] for file in topics}
        for file in indexes:
            note = read_note(source, file, report)
            if note is not None:
                yield from _of_index(source, file, note, lines, report)
        for file in topics:
            note = read_note(source, file, report)
            if note is not None:
                yield from _of_topic(source, file, note, lines[file], report)
        for file in source.files():
            if file.name.lower() in INSTRUCTIONS:
                yield from self._of_instructions(source, file, report)

    def _of_instructions(self, source: Source, file: PurePosixPath, report: Report) -> Memories:
        if "instructions" not in self.along:
            report.left[one_line(str(file))] = "instructions, not memories"
            return
        note = read_note(source, file, report)
        if note is not None:
            count_lost(note.front, (), report)
            yield from _of_sections(source, file, note, report)


def _topics(source: Source) -> tuple[list[PurePosixPath], list[PurePosixPath]]:
    """Every MEMORY.md, and the topics in its folder; where none lies there, those of a folder named memory.

    In a folder of another name only what has the front matter of a topic, or stands in the index, is one.
    """
    files = [file for file in markdown_files(source) if file.name.lower() not in _NO_TOPICS]
    if not source.is_folder:
        is_index = source.path.name.lower() == _INDEX
        return (files, []) if is_index else ([], files)
    indexes = [file for file in files if file.name.lower() == _INDEX]
    folders = {file.parent for file in indexes}
    folders |= {folder for file in files for folder in file.parents if _name_of(source, folder) == _FOLDER}
    named: set[PurePosixPath] = set()
    for file in indexes:
        named |= {file.parent / line["file"] for _, line in _index_lines(glance(source, file))}
    topics = []
    for file in files:
        own = next((folder for folder in file.parents if folder in folders), None)
        is_plain_folder = own is not None and _name_of(source, own) == _FOLDER
        if (
            file not in indexes
            and own is not None
            and (is_plain_folder or file in named or _is_topic(glance(source, file)))
        ):
            topics.append(file)
    return indexes, topics


def _by_place(source: Source, indexes: list[PurePosixPath]) -> Likeness | None:
    """What the place alone says of indexes without topics."""
    is_there = all(folder_of(source, file) == _FOLDER for file in indexes)
    return Likeness(0.6, "its MEMORY.md is in a directory memory, as with Claude Code") if is_there else None


def _name_of(source: Source, folder: PurePosixPath) -> str:
    return folder.name or source.path.name


def _is_topic(note: Note) -> bool:
    named = words_of(note.front.get("name")) and words_of(note.front.get("description"))
    return bool(named) and _type_of(note.front) in _TYPES


def _type_of(front: Mapping[str, Any]) -> str:
    return words_of(mapping_at(front, "metadata").get("type")) or words_of(front.get("type"))


def _index_lines(note: Note) -> Iterator[tuple[int, re.Match[str]]]:
    for item in items_of(note):
        line = _INDEX_LINE.match(item.text)
        if line is not None:
            yield item.line, line


def _project(source: Source, file: PurePosixPath) -> str | None:
    """What the memory is of: the folder that holds `memory`, or the one that holds `.claude`."""
    parts = (source.path / file if source.is_folder else source.path).parts[:-1]
    at = max((at for at, part in enumerate(parts) if part == _FOLDER), default=None)
    if not at:
        return None
    owner = parts[at - 2] if parts[at - 1] == ".claude" and at > 1 else parts[at - 1]
    return one_line(owner).strip("-/") or None


def _of_topic(source: Source, file: PurePosixPath, note: Note, lines: list[re.Match[str]], report: Report) -> Memories:
    """A topic; `lines` are those that an index has for it."""
    front = {**note.front, **mapping_at(note.front, "metadata")}
    body, shown = note.body.strip(), one_line(str(file))
    description, name = words_of(front.get("description")), words_of(front.get("name"))
    is_hidden = is_comment(body)
    if is_hidden:
        report.skipped["comments"] += 1
        body = ""
    # What Claude Code itself chooses a topic by has to be found here too.
    head = description if slug(name) in ("", slug(file.stem)) else f"{name}: {description}".strip(" :")
    if head in body or not (body or description):
        head = ""
    added = _added(lines, f"{file.stem} {name} {description} {body}", report)
    content = "\n\n".join(filter(None, [head, *added, body]))
    if not content:
        if not is_hidden:
            report.skipped["empty"] += 1
        return
    count_lost(front, _TAKEN, report)
    created, updated = first_moment(front, "created", "date", "modified"), first_moment(front, "modified")
    if created is None:
        created = source.modified(file)
        report.guessed_dates += 1
    yield (
        shown,
        memory_row(
            f"claude_{slug(file.stem) or slug(name)}",
            content,
            _type_of(note.front) or "core",
            created=created,
            updated=updated,
            namespace=_project(source, file),
            session_id=words_of(front.get("originSessionId")) or None,
        ),
    )


def _of_index(
    source: Source, file: PurePosixPath, note: Note, topics: dict[PurePosixPath, list[re.Match[str]]], report: Report
) -> Memories:
    """The lines that lead to none of these topics, and whatever is no line of an index; the others go to the topics."""
    shown, lines = one_line(str(file)), {}
    for number, line in _index_lines(note):
        lines[number] = line.string
        # A name may lead anywhere; it is only compared with the files that lie here.
        topic = file.parent / line["file"]
        if topic in topics:
            topics[topic].append(line)
            continue
        if not source.is_folder:
            report.note("Only the lines of the index were read. Name its directory to import the topics.")
        key = f"claude_{slug(topic.stem) or slug(line['title'])}"
        yield f"{shown}, line {number:,}", _undated(key, " — ".join(_parts(line)), source, file, report)
    count_lost(note.front, (), report)
    yield from _of_sections(source, file, note, report, but=lines)


def _parts(line: re.Match[str]) -> list[str]:
    """The title of a line of an index and its hint, where it has one."""
    return list(filter(None, (" ".join(line[name].split()) for name in ("title", "hint"))))


def _added(lines: Iterable[re.Match[str]], topic: str, report: Report) -> Iterator[str]:
    """What lines of an index say of a topic that its text, name and file do not say, word for word."""
    said = _plain(topic)
    for line in lines:
        added = " — ".join(part for part in _parts(line) if _plain(part.removesuffix(".md")) not in said)
        if added:
            said += _plain(added)
            yield added
        else:
            report.skipped["lines of the index that repeat their topic"] += 1


def _plain(text: str) -> str:
    """The words of a text in lower case, a blank around each."""
    return _NO_WORD.sub(" ", f" {text} ").lower()


def _of_sections(
    source: Source, file: PurePosixPath, note: Note, report: Report, but: Mapping[int, str] = MappingProxyType({})
) -> Memories:
    """Prose, all that stands under one heading together: its lines say little without each other.

    What stands whole in `but`, by its line, is left out.
    """
    blocks = (block for block in told_blocks(note, report) if block.text != but.get(block.line))
    for headings, section in groupby(blocks, key=lambda block: block.headings):
        found = list(section)
        heading = headings[-1] if headings else ""
        content = "\n".join([*filter(None, [heading]), *map(_as_written, found)])
        row = _undated(titled_key("claude", heading, content), content, source, file, report)
        yield f"{one_line(str(file))}, line {found[0].line:,}", row


def _undated(key: str, content: str, source: Source, file: PurePosixPath, report: Report) -> Row:
    """A memory that has the date of its file."""
    report.guessed_dates += 1
    return memory_row(key, content, "core", created=source.modified(file), namespace=_project(source, file))


def _as_written(block: Block) -> str:
    return "- " + block.text.replace("\n", "\n  ") if block.is_item else block.text
