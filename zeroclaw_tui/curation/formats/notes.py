"""Markdown: notes of other tools with front matter and blocks; and memories written for people, not to be read back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.curation.formats import snapshot
from zeroclaw_tui.curation.formats.jsonl import readable
from zeroclaw_tui.curation.formats.source import Source
from zeroclaw_tui.memory.change import Row
from zeroclaw_tui.memory.text import one_line

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

INSTRUCTIONS = frozenset(
    {"claude.md", "claude.local.md", "agents.md", "soul.md", "identity.md", "tools.md", "heartbeat.md", "bootstrap.md"}
)
"""Files that tell agents what to do, in lower case; they are among notes and are not memories."""
MAX_FRONT_MATTER = 64 * 1024
_CLOSES = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
_MARKER = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_TITLE = re.compile(r"(?:\[[ xX]\][ \t]+)?\*\*([^*\n]{1,100}?)(?::\*\*|\*\*:)")
_EXPORT_TITLE = "# ZeroClaw memories"
EXPORT_LOSES = "Markdown is for reading; export JSONL to import the memories again."
_ZEROCLAWS = (snapshot.TITLE, _EXPORT_TITLE)
_TILDES = re.compile("~+")
_MAX_HEADING = 200


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, table, fence or quotation, or an item of a list with all that belongs to it, as it is written.

    `headings` are those above it, the outermost first. The text of an item is without its bullet.
    """

    text: str
    headings: tuple[str, ...]

    @property
    def title(self) -> str:
        """What names it: the bold words it begins with before a colon, else the heading above it."""
        bold = _TITLE.match(self.text)
        return bold[1].strip() if bold else (self.headings or ("",))[-1]

    @property
    def has_text(self) -> bool:
        return bool(_TITLE.sub("", self.text, 1).strip())


def note_files(source: Source) -> list[PurePosixPath]:
    """The Markdown files of a source but those of instructions."""
    return [file for file in source.files if file.suffix.lower() == ".md" and file.name.lower() not in INSTRUCTIONS]


def note_head(source: Source, file: PurePosixPath) -> str:
    """The beginning of a note; "" for a file that ZeroClaw or this program wrote for people."""
    head = source.head(file).decode("utf-8", "replace")
    return "" if head.startswith(_ZEROCLAWS) else head


def read_note(source: Source, file: PurePosixPath) -> tuple[Mapping[str, Any], str]:
    """The front matter and the text of a note; both empty for a file that ZeroClaw or this program wrote for people."""
    text = source.text(file)
    return ({}, "") if text.startswith(_ZEROCLAWS) else front_matter(text)


def front_matter(text: str) -> tuple[Mapping[str, Any], str]:
    """The YAML between a first line `---` and the next one, every scalar as text, and what follows.

    Where there is none, or it is not YAML, all of it is the text.
    """
    first, _, rest = text.partition("\n")
    end = _CLOSES.search(rest, 0, MAX_FRONT_MATTER) if first.rstrip() == "---" else None
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


def blocks_of(text: str) -> Iterator[Block]:
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
            yield Block(block.rstrip().strip("\n"), tuple(heading for _, heading in path if heading))


def field_text(fields: Mapping[str, Any], name: str) -> str:
    """A plain value of front matter as text; "" for none, and for lists and mappings."""
    value = fields.get(name)
    return value.strip() if isinstance(value, str) else ""


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


def export_head(exported: str, backend: str) -> bytes:
    """How the file begins."""
    sentence = f"Exported {exported} from {backend}. This file is for reading; JSONL can be imported again."
    return f"{_EXPORT_TITLE}\n\n{one_line(sentence)}\n".encode()


def export_section(row: Row) -> bytes:
    """A memory as a part of the file, in a fence that nothing in it ends."""
    entry, text = row.entry(), readable(row.values.get("content"))
    facts = {
        "updated": entry.updated_at if entry.updated_at != entry.timestamp else None,
        "session": entry.session_id,
        "namespace": entry.namespace if entry.namespace != "default" else None,
        "importance": entry.importance,
        "kind": entry.kind,
        "pinned": "yes" if entry.pinned else None,
        "agent": entry.agent,
    }
    named = [f"{name} {value}" for name, value in facts.items() if value not in (None, "")]
    shown = [fact for fact in (entry.category, entry.timestamp, *named) if fact]
    fence = "~" * max(3, 1 + max((len(run) for run in _TILDES.findall(text)), default=0))
    heading = one_line(entry.key)[:_MAX_HEADING]
    part = f"\n## {heading}\n\n{' · '.join(map(one_line, shown))}\n\n{fence}\n{text}\n{fence}\n"
    return part.encode("utf-8", "replace")
