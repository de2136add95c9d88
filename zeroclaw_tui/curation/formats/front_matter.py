"""A Markdown note of another tool: its front matter, and what several readers need of its Markdown.

Front matter is YAML between a first line `---` and the next `---` or `...`, its words as YAML 1.2 has them: a date is
text and `yes` no boolean. Anchors, aliases and tags are refused. The blocks are those of CommonMark and of GitHub's
tables; an underlined line is no heading, because a rule under a paragraph is far commoner in notes, and what defines a
link stays text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.curation.formats.foreign import moment_of
from zeroclaw_tui.curation.formats.old_source import Report, Source
from zeroclaw_tui.curation.formats.own import TITLE
from zeroclaw_tui.curation.formats.snapshot import read_snapshot
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.text import is_unicode, one_line

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

LARGEST_NOTE = 4 * 1024 * 1024
"""How many bytes a note may have; the largest real one that is known has 363 kB."""
LARGEST_FRONT_MATTER = 64 * 1024
INSTRUCTIONS = ("claude.md", "agents.md", "claude.local.md")
"""Files that tell agents what to do, in lower case; they lie among notes and are no memories."""
_LONGEST_NAME = 40
_MOST_NAMES = 100
_LINE_END = re.compile(r"\r\n?")
_CLOSES = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
_MARKER = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_BOLD = re.compile(r"(?:\[[ xX]\][ \t]+)?\*\*([^*\n]{1,100}?)(:?)\*\*(:?)")
_COMMENTS = re.compile(r"(?:<!--(?:(?!-->).)*-->\s*)+", re.DOTALL)
_HEAD = 4096


@dataclass(frozen=True, slots=True)
class Note:
    """A note: `front` is its front matter, `body` what follows, with line feeds only, from line `first` on.

    `problem` is a sentence where front matter could not be read; then the whole file is the body.
    """

    body: str
    front: Mapping[str, Any] = field(default_factory=dict)
    first: int = 1
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a table, a fence, a quotation, or an item of a list with all that hangs on it, as it is written.

    `line` counts from 1. `headings` are those it lies under, the outermost first. The text of an item is without its
    bullet, and `is_item` is set.
    """

    line: int
    text: str
    headings: tuple[str, ...] = ()
    is_item: bool = False

    @property
    def title(self) -> str:
        """What names it: the bold words it begins with before a colon, else the heading it lies under."""
        bold = _bold_name(self.text)
        return bold[0] if bold else (self.headings[-1] if self.headings else "")

    @property
    def said(self) -> str:
        """Its text behind such bold words; "" where nothing follows them."""
        bold = _bold_name(self.text)
        return (bold[1] if bold else self.text).strip()


@dataclass(frozen=True, slots=True)
class Item:
    """The words of one item of a list at any depth, without what is nested in it; `behind` is the line after them."""

    line: int
    behind: int
    text: str


def note_of(text: str) -> Note:
    """Take a file apart; what does not parse as front matter is Markdown like the rest."""
    text = _LINE_END.sub("\n", text)
    first, _, rest = text.partition("\n")
    if first.rstrip(" \t") != "---":
        return Note(text)
    end = _CLOSES.search(rest)
    if end is None:
        return Note(text)
    problem = f"Its front matter is larger than {LARGEST_FRONT_MATTER // 1024} kB."
    if end.start() <= LARGEST_FRONT_MATTER:
        try:
            front = _mapping(rest[: end.start()])
        except ValueError as error:
            problem = f"Its front matter is not valid YAML ({one_line(str(error))[:120]})."
        else:
            body = rest[end.end() :].removeprefix("\n")
            return Note(text) if front is None else Note(body, front, text[: len(text) - len(body)].count("\n") + 1)
    return Note(text, problem=problem)


def read_note(source: Source, file: PurePosixPath, report: Report) -> Note | None:
    """A note of a source; None, and named in the report as left, where it cannot be read or is no note of a tool.

    ZeroClaw's own snapshot and our own export are none.
    """
    name = one_line(str(file))
    try:
        if len(source.head(file, LARGEST_NOTE + 1)) > LARGEST_NOTE:
            report.left[name] = f"larger than {LARGEST_NOTE // 1024**2} MB"
            return None
        text = source.text(file)
    except InspectorError as error:
        report.left[name] = error.message
        return None
    if is_zeroclaws(text):
        report.left[name] = "written by ZeroClaw or for it"
        return None
    note = note_of(text)
    if note.problem is not None:
        report.note(f"{name}: {note.problem} The whole file was read as Markdown.")
    return note


def glance(source: Source, file: PurePosixPath) -> Note:
    """The beginning of a note, to tell what it is; an empty one where it cannot be read."""
    try:
        head = source.head(file, LARGEST_FRONT_MATTER)
    except InspectorError:
        return Note("")
    text = head.decode("utf-8-sig", "ignore")
    return Note("") if is_zeroclaws(text) else note_of(text)


def is_zeroclaws(text: str) -> bool:
    """Whether a file is a MEMORY_SNAPSHOT.md of ZeroClaw's or our own Markdown export, which no other tool wrote."""
    is_plain = not text.startswith("---")
    return is_plain and (text.startswith(TITLE + "\n") or read_snapshot(text[:_HEAD]).is_zeroclaws)


def markdown_files(source: Source) -> list[PurePosixPath]:
    """The Markdown files of a source by name."""
    return [file for file in source.files() if file.suffix.lower() == ".md"]


def folder_of(source: Source, file: PurePosixPath) -> str:
    """The name of the folder in which a file lies, which may be the source itself or hold it."""
    return (source.path / file if source.is_folder else source.path).parent.name


def is_comment(text: str) -> bool:
    """Whether a text says nothing but what HTML hides from its readers."""
    return _COMMENTS.fullmatch(text.strip()) is not None


def told_blocks(note: Note, report: Report) -> Iterator[Block]:
    """The blocks of a body without comments, which are counted as left out."""
    for block in blocks_of(note):
        if is_comment(block.text):
            report.skipped["comments"] += 1
        else:
            yield block


def blocks_of(note: Note) -> Iterator[Block]:
    """Every block of a body in order; headings and rules are none."""
    lines = note.body.split("\n")
    path: list[tuple[int, str]] = []
    for token in _parser().parse(note.body):
        if token.map is None or token.level != (1 if token.type == "list_item_open" else 0):
            continue
        first, behind = token.map
        if token.type == "heading_open":
            level = len(token.markup)
            while path and path[-1][0] >= level:
                path.pop()
            path.append((level, one_line(lines[first].strip().strip("#").strip())))
        elif token.nesting >= 0 and token.type not in ("hr", "bullet_list_open", "ordered_list_open"):
            is_item = token.type == "list_item_open"
            text = _without_marker(lines[first:behind]) if is_item else "\n".join(lines[first:behind]).rstrip()
            headings = tuple(heading for _, heading in path if heading)
            yield Block(note.first + first, text.strip("\n"), headings, is_item)


def items_of(note: Note) -> Iterator[Item]:
    """The items of all lists that stand in no quotation."""
    lines = note.body.split("\n")
    tokens = _parser().parse(note.body)
    quoted = 0
    for at, token in enumerate(tokens):
        quoted += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
        if token.type != "list_item_open" or quoted or at + 1 == len(tokens):
            continue
        words = tokens[at + 1]
        if words.type == "paragraph_open" and words.map is not None:
            first, behind = words.map
            yield Item(note.first + first, note.first + behind, _without_marker(lines[first:behind]))


def words_of(value: Any) -> str:
    """A plain value of front matter as text; "" for none, and for lists and mappings."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value).strip() if isinstance(value, str | int | float) else ""


def first_moment(front: Mapping[str, Any], *names: str) -> str | None:
    """The first of these fields that is a time, RFC 3339."""
    return next((moment for name in names if (moment := moment_of(front.get(name)))), None)


def count_lost(front: Mapping[str, Any], taken: Iterable[str], report: Report) -> None:
    """Count the fields that no place was found for; many different ones count under one name."""
    for name in front.keys() - frozenset(taken):
        shown = one_line(name)[:_LONGEST_NAME]
        report.lost[shown if shown in report.lost or len(report.lost) < _MOST_NAMES else "other fields"] += 1


def _bold_name(text: str) -> tuple[str, str] | None:
    """The bold words before a colon that a text begins with, and what follows."""
    bold = _BOLD.match(text)
    return (bold[1].strip(), text[bold.end() :]) if bold and (bold[2] or bold[3]) else None


def _without_marker(lines: list[str]) -> str:
    """An item's lines without its bullet, those below moved left as far as its text stands to the right."""
    marker = _MARKER.match(lines[0])
    width = len(marker[0]) if marker else 0
    below = (line[min(width, len(line) - len(line.lstrip(" \t"))) :] for line in lines[1:])
    return "\n".join([lines[0][width:], *below]).rstrip()


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.disable(["reference", "lheading", "inline"])
    return parser


def _mapping(text: str) -> dict[str, Any] | None:
    """The fields of front matter; None for a text between two rules. Raises ValueError for no YAML."""
    import yaml

    try:
        value = yaml.load(text, _loader())
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
    except (yaml.YAMLError, ValueError) as error:
        raise ValueError(getattr(error, "problem", None) or str(error)) from error
    if value is None:
        return {}
    return {words_of(name): told for name, told in value.items()} if isinstance(value, dict) else None


@cache
def _loader() -> type[Any]:
    import yaml

    class PlainLoader(yaml.SafeLoader):
        """YAML without anchors, aliases and tags, every scalar text but null, true, false and plain numbers."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            event: Any = self.peek_event()  # type: ignore[no-untyped-call]
            if getattr(event, "anchor", None) is not None or getattr(event, "tag", None) not in (None, "!"):
                raise yaml.YAMLError("anchors, aliases and tags are not read")
            return super().compose_node(parent, index)

        def construct_scalar(self, node: Any) -> Any:
            value = super().construct_scalar(node)
            if not is_unicode(value):
                raise yaml.YAMLError("a lone surrogate is not text")
            return value

    PlainLoader.yaml_implicit_resolvers = {}
    for tag, pattern, starts in (
        ("null", "~|null|Null|NULL|", ["~", "n", "N", ""]),
        ("bool", "true|True|TRUE|false|False|FALSE", list("tTfF")),
        ("int", "[-+]?(?:0|[1-9][0-9]{0,17})", list("-+0123456789")),
        ("float", r"[-+]?[0-9]{1,300}\.[0-9]{0,300}(?:[eE][-+][0-9]{1,3})?", list("-+0123456789")),
    ):
        PlainLoader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"(?:{pattern})\\Z"), starts)
    return PlainLoader
