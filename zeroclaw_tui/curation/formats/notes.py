"""Markdown notes of OpenClaw and of Claude Code: their front matter, and their blocks.

OpenClaw: a workspace (`~/.openclaw/workspace`) has MEMORY.md, USER.md and memory/ with a file a day: `YYYY-MM-DD.md`,
with a topic `YYYY-MM-DD-<slug>.md`, or with a time `YYYY-MM-DD-HHMM.md`, which is the dump of a conversation.
memory/dreaming and hidden folders are made by the machine.

Claude Code: `~/.claude/projects/<path with - for />/memory/`. MEMORY.md is an index, a line `- [Title](file.md) — hint`
for each topic. A topic's file has front matter `name`, `description` and `type` (user, feedback, project or reference),
which newer versions store in `metadata`. The format is not documented, and is read leniently.
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
"""How the Markdown begins that this program writes for people."""
_WRITTEN_HERE = (TITLE, EXPORT_TITLE)
_INSTRUCTIONS = frozenset(
    {"claude.md", "claude.local.md", "agents.md", "soul.md", "identity.md", "tools.md", "heartbeat.md", "bootstrap.md"}
)
"""Files that tell agents what to do, in lower case; they are among notes and are not memories."""
_MAX_FRONT_MATTER = 64 * 1024
_SNIFFED = 8
"""How many notes are looked at to recognise a tool."""
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
    """By daily notes or a MEMORY.md that are not ZeroClaw's own; those of Claude Code are recognised before."""
    newest = sorted(_openclaw_notes(source), key=lambda file: (file.name.lower() == _INDEX, date_of_note(file.name)))
    texts = {file.name.lower(): text for file in newest[-_SNIFFED:] if (text := _head(source, file))}
    if any(map(_ZEROCLAWS.match, texts.values())):
        return False
    return any(date_of_note(name) or name == _INDEX for name in texts)


def read_openclaw(source: Source, lost: Counter[str]) -> Iterator[Row]:
    """Every item, paragraph, table and fence is a memory: of MEMORY.md and USER.md core, of a day daily."""
    for file in _openclaw_notes(source):
        fields, text = _read_note(source, file)
        rows.count_lost(fields, _DATES, lost)
        created = rows.moment_of(date_of_note(file.name)) or rows.first_moment(fields, *_DATES)
        is_dump = _DUMP.fullmatch(file.name) is not None
        category = "core" if file.name.lower() in (_INDEX, _USER) else "conversation" if is_dump else "daily"
        for block in _blocks_of(text):
            if is_dump and len(block.headings) < 2:
                # The ids of the session, which is elsewhere.
                continue
            if not block.has_text:
                lost[rows.EMPTY] += 1
                continue
            parts = dict.fromkeys(("openclaw", rows.slug(file.stem), rows.slug(block.title), rows.digest(block.text)))
            yield rows.memory_row("_".join(filter(None, parts)), block.text, category, created_at=created)


def _openclaw_notes(source: Source) -> list[PurePosixPath]:
    """MEMORY.md and USER.md, and the notes in the folder memory."""

    def is_note(file: PurePosixPath) -> bool:
        if file.name.lower() in (_INDEX, _USER):
            return len(file.parts) == 1
        return file.parts[0] == _FOLDER or source.path.name == _FOLDER or not source.is_folder

    return [file for file in _notes(source) if is_note(file) and not any(map(_HIDDEN.match, file.parts[:-1]))]


# Claude Code


def sniff_claude(source: Source) -> bool:
    """By the front matter of topics, the lines of an index, or a MEMORY.md in a folder memory."""
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
    """Every topic with its type as category and its project as namespace; of an index only what has no topic."""
    indexes, topics = _claude_files(source)
    for file in indexes:
        _, text = _read_note(source, file)
        # A name may lead anywhere; it is only compared with the files that are here.
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
        # What Claude Code itself chooses a topic by has to be found here too.
        description, body = _field(fields, "description"), text.strip()
        content = body if description in body else f"{description}\n\n{body}".strip()
        if not content:
            lost[rows.EMPTY] += 1
            continue
        rows.count_lost(fields, _OF_TOPICS, lost)
        project = _project(source, file)
        yield rows.memory_row(
            # The same whatever other projects are read with it.
            "_".join(filter(None, ("claude", rows.slug((project or "")[-40:]), rows.slug(file.stem)))),
            content,
            _field(fields, "type"),
            created_at=rows.first_moment(fields, "created", "date", "modified"),
            updated_at=rows.first_moment(fields, "modified"),
            namespace=project,
            session_id=_field(fields, "originSessionId"),
        )


def _claude_files(source: Source) -> tuple[list[PurePosixPath], list[PurePosixPath]]:
    """Every MEMORY.md, and the topics: notes below the folder of one, or below a folder named memory."""
    files = [file for file in _notes(source) if file.name.lower() != "readme.md"]
    indexes = [file for file in files if file.name.lower() == _INDEX]
    folders = {file.parent for file in indexes}

    def is_topic(file: PurePosixPath) -> bool:
        in_memory = _FOLDER in source.path_of(file).parts[:-1]
        return not source.is_folder or in_memory or any(folder in folders for folder in file.parents)

    return indexes, [file for file in files if file not in indexes and is_topic(file)]


def _with_metadata(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Front matter with the fields that newer versions nest."""
    metadata = fields.get("metadata")
    return {**fields, **(metadata if isinstance(metadata, dict) else {})}


def _project(source: Source, file: PurePosixPath) -> str | None:
    """Whose memory it is: the name of the folder that has `memory`."""
    parents = source.path_of(file).parents
    return next((folder.parent.name.strip("-") or None for folder in parents if folder.name == _FOLDER), None)


# Notes of any tool


def _notes(source: Source) -> list[PurePosixPath]:
    """The Markdown files of a source but those of instructions."""
    return [file for file in source.files if file.suffix.lower() == ".md" and file.name.lower() not in _INSTRUCTIONS]


def _head(source: Source, file: PurePosixPath) -> str:
    """The beginning of a note; "" for a file that ZeroClaw or this program wrote for people."""
    head = source.head(file).decode("utf-8", "replace")
    return "" if head.startswith(_WRITTEN_HERE) else head


def _read_note(source: Source, file: PurePosixPath) -> tuple[Mapping[str, Any], str]:
    """The front matter and the text of a note; both empty for a file that ZeroClaw or this program wrote for people."""
    text = source.text(file)
    return ({}, "") if text.startswith(_WRITTEN_HERE) else _front_matter(text)


def _front_matter(text: str) -> tuple[Mapping[str, Any], str]:
    """The YAML between a first line `---` and the next, scalars as text, and what follows; without it all is text."""
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
    """A plain value of front matter as text; "" for none, and for lists and mappings."""
    value = fields.get(name)
    return value.strip() if isinstance(value, str) else ""


class _Block(NamedTuple):
    """A block as written, or an item of a list without its bullet; `headings` are those above, the outermost first."""

    text: str
    headings: tuple[str, ...]

    @property
    def title(self) -> str:
        """What names it: the bold words it begins with before a colon, else the heading above it."""
        bold = _BOLD_TITLE.match(self.text)
        return bold[1].strip() if bold else (self.headings or ("",))[-1]

    @property
    def has_text(self) -> bool:
        return bool(_BOLD_TITLE.sub("", self.text, 1).strip())


def _blocks_of(text: str) -> Iterator[_Block]:
    """Every block in order; headings, rules and HTML are none."""
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
    """An item's lines without its bullet, those below moved left as far as its text is to the right."""
    marker = _MARKER.match(lines[0])
    width = len(marker[0]) if marker else 0
    below = (line[min(width, len(line) - len(line.lstrip(" \t"))) :] for line in lines[1:])
    return "\n".join([lines[0][width:], *below])


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # An underlined line is not a heading: a rule below a paragraph is far commoner in notes.
    return MarkdownIt("commonmark").enable("table").disable(["reference", "lheading", "inline"])
