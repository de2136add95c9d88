"""Markdown notes of OpenClaw and of Claude Code: front matter and blocks.

OpenClaw: a workspace (`~/.openclaw/workspace`) has MEMORY.md, USER.md and daily files in memory/: `YYYY-MM-DD.md`,
`YYYY-MM-DD-<slug>.md` with a topic, and `YYYY-MM-DD-HHMM.md` with a time, which is the dump of a conversation.
memory/dreaming and hidden folders are generated.

Claude Code: `~/.claude/projects/<path with - for />/memory/`. MEMORY.md is an index with a
line `- [Title](file.md) — hint` per topic. The file of a topic has front matter `name`, `description` and `type` (user,
feedback, project or reference), which newer versions nest in `metadata`. The undocumented format is read leniently.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from zeroclaw_tui.curation.formats import rows
from zeroclaw_tui.curation.formats.snapshot import TITLE
from zeroclaw_tui.curation.formats.source import Source
from zeroclaw_tui.memory.change import Row
from zeroclaw_tui.memory.days import date_of_note
from zeroclaw_tui.memory.text import one_line

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

EXPORT_TITLE = "# ZeroClaw memories"
"""The title of the Markdown exports of this program."""
_WRITTEN_HERE = (TITLE, EXPORT_TITLE)
_INSTRUCTIONS = frozenset(
    {"claude.md", "claude.local.md", "agents.md", "soul.md", "identity.md", "tools.md", "heartbeat.md", "bootstrap.md"}
)
"""Files with instructions for agents, in lower case; they are stored with the notes, but are not memories."""
_MAX_FRONT_MATTER = 64 * 1024
_SNIFFED = 8
"""The number of notes that are read to recognise a tool."""
_FOLDER, _INDEX, _USER = "memory", "memory.md", "user.md"
_DATES = ("created", "date", "created_at")
_OF_TOPICS = ("name", "description", "type", "metadata", "node_type", "originSessionId", "created", "date", "modified")
_TYPES = ("user", "feedback", "project", "reference")
_CLOSES = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
_MARKER = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_BOLD_TITLE = re.compile(r"(?:\[[ xX]\][ \t]+)?\*\*([^*\n]{1,100}?)(?::\*\*|\*\*:)")
_INDEX_LINE = re.compile(r"^[ \t]*[-*+][ \t]+\[[^\]\n]+\]\(([^()\n]+?\.md)\).*$", re.MULTILINE)
_DUMP = re.compile(r"\d{4}-\d\d-\d\d-\d{4}\.md", re.IGNORECASE)
_ZEROCLAWS = re.compile(r"\s*# (?:Long-Term Memory|Daily Log — \d{4}-\d\d-\d\d)\s*(?:\n- \*\*.+?\*\*: |\Z)")
_HIDDEN = re.compile(r"\.|dreaming$")


# OpenClaw


def sniff_openclaw(source: Source) -> bool:
    """Recognise daily notes or a MEMORY.md, unless ZeroClaw wrote them; Claude Code's notes are recognised first."""
    newest = sorted(_openclaw_notes(source), key=lambda file: (file.name.lower() == _INDEX, date_of_note(file.name)))
    texts = {file.name.lower(): text for file in newest[-_SNIFFED:] if (text := _head(source, file))}
    if any(map(_ZEROCLAWS.match, texts.values())):
        return False
    return any(date_of_note(name) or name == _INDEX for name in texts)


def read_openclaw(source: Source, lost: Counter[str]) -> Iterator[Row]:
    """Yield each item, paragraph, table and fence as a memory: core from MEMORY.md and USER.md, else daily."""
    for file in _openclaw_notes(source):
        fields, text = _read_note(source, file)
        rows.count_lost(fields, _DATES, lost)
        created = rows.moment_of(date_of_note(file.name)) or rows.first_moment(fields, *_DATES)
        is_dump = _DUMP.fullmatch(file.name) is not None
        category = "core" if file.name.lower() in (_INDEX, _USER) else "conversation" if is_dump else "daily"
        for block in _blocks_of(text):
            if is_dump and len(block.headings) < 2:
                # The head of a dump has only the ids of the session.
                continue
            if not block.has_text:
                lost[rows.EMPTY] += 1
                continue
            parts = dict.fromkeys(("openclaw", rows.slug(file.stem), rows.slug(block.title), rows.digest(block.text)))
            yield rows.memory_row("_".join(filter(None, parts)), block.text, category, created_at=created)


def _openclaw_notes(source: Source) -> list[PurePosixPath]:
    """List MEMORY.md and USER.md, and the notes in the folder memory."""

    def is_note(file: PurePosixPath) -> bool:
        if file.name.lower() in (_INDEX, _USER):
            return len(file.parts) == 1
        return file.parts[0] == _FOLDER or source.path.name == _FOLDER or not source.is_folder

    return [file for file in _notes(source) if is_note(file) and not any(map(_HIDDEN.match, file.parts[:-1]))]


# Claude Code


def sniff_claude(source: Source) -> bool:
    """Recognise the front matter of topics, the lines of an index, or a MEMORY.md in a folder memory."""
    indexes, topics = _claude_files(source)
    for file in topics[:_SNIFFED]:
        fields = _with_metadata(_front_matter(_head(source, file))[0])
        if _field(fields, "name") and _field(fields, "description") and _field(fields, "type") in _TYPES:
            return True
    if any(date_of_note(file.name) for file in topics):
        return False
    return any(
        _INDEX_LINE.search(_head(source, file)) or source.path_of(file).parent.name == _FOLDER for file in indexes
    )


def read_claude(source: Source, lost: Counter[str]) -> Iterator[Row]:
    """Yield each topic, with its type as category and its project as namespace, and index text without a topic."""
    indexes, topics = _claude_files(source)
    for file in indexes:
        _, text = _read_note(source, file)
        # A link may point anywhere, so it is only compared with the known files.
        lines = [
            "" if (link := _INDEX_LINE.match(line)) and file.parent / link[1] in topics else line
            for line in text.split("\n")
        ]
        for block in _blocks_of("\n".join(lines)):
            if block.has_text:
                key = rows.titled_key("claude", block.title, block.text)
                yield rows.memory_row(key, block.text, None, namespace=_project(source, file))
    for file in topics:
        fields, text = _read_note(source, file)
        fields = _with_metadata(fields)
        # Claude Code selects topics by their description, so it must be searchable.
        description, body = _field(fields, "description"), text.strip()
        content = body if description in body else f"{description}\n\n{body}".strip()
        if not content:
            lost[rows.EMPTY] += 1
            continue
        rows.count_lost(fields, _OF_TOPICS, lost)
        project = _project(source, file)
        yield rows.memory_row(
            # Independent of the other projects that are read.
            "_".join(filter(None, ("claude", rows.slug((project or "")[-40:]), rows.slug(file.stem)))),
            content,
            _field(fields, "type"),
            created_at=rows.first_moment(fields, "created", "date", "modified"),
            updated_at=rows.first_moment(fields, "modified"),
            namespace=project,
            session_id=_field(fields, "originSessionId"),
        )


def _claude_files(source: Source) -> tuple[list[PurePosixPath], list[PurePosixPath]]:
    """List every MEMORY.md, and the topics: notes below its folder, or below a folder named memory."""
    files = [file for file in _notes(source) if file.name.lower() != "readme.md"]
    indexes = [file for file in files if file.name.lower() == _INDEX]
    folders = {file.parent for file in indexes}

    def is_topic(file: PurePosixPath) -> bool:
        in_memory = _FOLDER in source.path_of(file).parts[:-1]
        return not source.is_folder or in_memory or any(folder in folders for folder in file.parents)

    return indexes, [file for file in files if file not in indexes and is_topic(file)]


def _with_metadata(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Front matter with the nested fields of newer versions at the top level."""
    metadata = fields.get("metadata")
    return {**fields, **(metadata if isinstance(metadata, dict) else {})}


def _project(source: Source, file: PurePosixPath) -> str | None:
    """The project that owns a note: the name of the parent folder of `memory`."""
    parents = source.path_of(file).parents
    return next((folder.parent.name.strip("-") or None for folder in parents if folder.name == _FOLDER), None)


# Notes of any tool


def _notes(source: Source) -> list[PurePosixPath]:
    """The Markdown files of a source, without those with instructions."""
    return [file for file in source.files if file.suffix.lower() == ".md" and file.name.lower() not in _INSTRUCTIONS]


def _head(source: Source, file: PurePosixPath) -> str:
    """The beginning of a note; "" for an export of ZeroClaw or of this program."""
    head = source.head(file).decode("utf-8", "replace")
    return "" if head.startswith(_WRITTEN_HERE) else head


def _read_note(source: Source, file: PurePosixPath) -> tuple[Mapping[str, Any], str]:
    """The front matter and the text of a note; both empty for an export of ZeroClaw or of this program."""
    text = source.text(file)
    return ({}, "") if text.startswith(_WRITTEN_HERE) else _front_matter(text)


def _front_matter(text: str) -> tuple[Mapping[str, Any], str]:
    """Split a note into its YAML between `---` lines, with scalars as text, and the rest, which may be everything."""
    first, _, rest = text.partition("\n")
    end = _CLOSES.search(rest, 0, _MAX_FRONT_MATTER) if first.rstrip() == "---" else None
    if end is None:
        return {}, text
    import yaml

    try:
        fields = yaml.load(rest[: end.start()], yaml.BaseLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}, text
    if not isinstance(fields, dict):
        return {}, text
    return {str(name): value for name, value in fields.items()}, rest[end.end() :].removeprefix("\n")


def _field(fields: Mapping[str, Any], name: str) -> str:
    """A scalar of front matter as text; "" if it is missing, a list or a mapping."""
    value = fields.get(name)
    return value.strip() if isinstance(value, str) else ""


class _Block(NamedTuple):
    """A block as written, or a list item without its bullet; `headings` are those above it, the outermost first."""

    text: str
    headings: tuple[str, ...]

    @property
    def title(self) -> str:
        """The title of the block: its leading bold words before a colon, else the heading above it."""
        bold = _BOLD_TITLE.match(self.text)
        return bold[1].strip() if bold else (self.headings or ("",))[-1]

    @property
    def has_text(self) -> bool:
        return bool(_BOLD_TITLE.sub("", self.text, 1).strip())


def _blocks_of(text: str) -> Iterator[_Block]:
    """Yield the blocks in order, without headings, rules and HTML."""
    lines = text.split("\n")
    path: list[tuple[int, str]] = []
    for token in _parser().parse(text):
        if token.map is None or token.level != (1 if token.type == "list_item_open" else 0):
            continue
        first, end = token.map
        if token.type == "heading_open":
            level = len(token.markup)
            path = [(other, heading) for other, heading in path if other < level]
            path.append((level, one_line(lines[first].strip().strip("#").strip())))
        elif token.nesting >= 0 and token.type not in ("hr", "html_block", "bullet_list_open", "ordered_list_open"):
            is_item = token.type == "list_item_open"
            block = _without_marker(lines[first:end]) if is_item else "\n".join(lines[first:end])
            yield _Block(block.rstrip().strip("\n"), tuple(heading for _, heading in path if heading))


def _without_marker(lines: list[str]) -> str:
    """Remove the bullet of an item, and dedent its further lines by the width of the bullet."""
    marker = _MARKER.match(lines[0])
    width = len(marker[0]) if marker else 0
    below = (line[min(width, len(line) - len(line.lstrip(" \t"))) :] for line in lines[1:])
    return "\n".join([lines[0][width:], *below])


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # Underlined lines are not headings: in notes, a rule below a paragraph is far more common.
    return MarkdownIt("commonmark").enable("table").disable(["reference", "lheading", "inline"])
