"""basic-memory: notes in Markdown whose list items are observations and relations.

A note may have front matter (`title`, `type`, `tags`, `permalink`, `created`, `modified`). An observation is an item of
a list outside quotations, `- [category] text #tag (context)`; one without a category needs a tag. A relation is
`- type [[Target]] (context)`, its type a word or a quoted phrase. `~/.basic-memory/memory.db` is made of the notes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from zeroclaw_tui.curation.formats.foreign import (
    LONGEST_SLUG,
    ForeignFormat,
    Likeness,
    Memories,
    digest,
    memory_row,
    slug,
    tagged,
)
from zeroclaw_tui.curation.formats.front_matter import (
    INSTRUCTIONS,
    WIKI_LINK,
    Item,
    Note,
    count_lost,
    first_moment,
    glance,
    items_of,
    list_of,
    markdown_files,
    read_note,
    words_of,
)
from zeroclaw_tui.curation.formats.source import Report, Source
from zeroclaw_tui.memory.text import one_line

_OBSERVATION = re.compile(r"\[(?P<category>[^\[\]()\n]+)\](?!\()\s+(?P<text>\S.*)", re.DOTALL)
_NO_CATEGORY = re.compile(r"[ xX]|[^\w\s]|\d{1,2}(?::\d\d){1,2}(?:\.\d+)?|\s+")
_TAG = re.compile(r"(?:^|\s)#[\w/-]+")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:\s|$)")
_RELATION = re.compile(
    r"(?P<type>\"[^\"\n]+\"|'[^'\n]+'|[\w-]+)\s+\[\[(?P<target>[^\[\]\n]+)\]\](?:\s*\([^()\n]*\))?\s*"
)
_TAKEN = ("title", "type", "tags", "permalink", "created", "modified", "date")
_PERMALINK = re.compile(r"[^/\s][^.]*")
"""Without the slash in front or the ending that the addresses of a web site have."""
_LOOKED_AT = 12
_ITEMS_EACH = 4
"""Of how many items in lists at least one says something, where nothing but they speaks for basic-memory."""


@dataclass(frozen=True, slots=True)
class _Said:
    """What an item of a list says: an observation's category and text, or a relation's sentence."""

    category: str
    text: str


class BasicMemory(ForeignFormat):
    """An observation is one memory, and so are a relation and the prose that remains of a note."""

    name = "basic"
    title = "basic-memory"

    def likeness(self, source: Source) -> Likeness | None:
        """By a permalink in the front matter, or by links together with observations, if those are no rare items."""
        files = _files(source)[:_LOOKED_AT]
        notes = [note for file in files if (note := glance(source, file)).body.strip() or note.front]
        linked = [note for note in notes if _PERMALINK.fullmatch(words_of(note.front.get("permalink")))]
        observed = []
        count = said = 0
        for note in notes:
            told = [_said_by(item, "") is not None for item in items_of(note)]
            if any(told):
                observed.append(note)
                count, said = count + len(told), said + sum(told)
        if any(note in observed or {"title", "type"} <= note.front.keys() for note in linked):
            return Likeness(0.95, "its front matter has a permalink, as basic-memory gives every note")
        if said * _ITEMS_EACH >= count and any(WIKI_LINK.search(note.body) for note in observed):
            return Likeness(0.6, "its lists have observations like [fact], and [[links]]")
        return None

    def each(self, source: Source, report: Report) -> Memories:
        """Every observation, relation and remaining prose; a note's tags are added to the text of its memories."""
        for file in _files(source):
            note = read_note(source, file, report)
            if note is not None:
                yield from _of_note(source, file, note, report)
        for file in source.files():
            if file.suffix == ".db":
                report.left[one_line(str(file))] = "made from the notes"
            elif file.name.lower() in INSTRUCTIONS:
                report.left[one_line(str(file))] = "instructions, not memories"


def _files(source: Source) -> list[PurePosixPath]:
    return [
        file
        for file in markdown_files(source)
        if file.name.lower() not in INSTRUCTIONS and not any(part.startswith(".") for part in file.parts[:-1])
    ]


def _of_note(source: Source, file: PurePosixPath, note: Note, report: Report) -> Memories:
    front, shown = note.front, one_line(str(file))
    title = words_of(front.get("title")) or one_line(file.stem)
    permalink = words_of(front.get("permalink")) or title
    name = _end_of(permalink) or digest(str(file))
    tags = list_of(front.get("tags"))
    count_lost(front, _TAKEN, report)
    created, updated = first_moment(front, "created", "date"), first_moment(front, "modified")
    is_guess = created is None and updated is None
    created = created or updated or source.modified(file)
    kind = words_of(front.get("type"))

    lines = note.body.split("\n")
    for item in items_of(note):
        said = _said_by(item, title)
        if said is None:
            continue
        lines[item.line - note.first : item.behind - note.first] = [""] * (item.behind - item.line)
        content = tagged(said.text, tags)
        report.guessed_dates += is_guess
        key = f"bm_{name}_{digest(said.text)}"
        row = memory_row(key, content, said.category, created=created, updated=updated)
        yield f"{shown}, line {item.line:,}", row
    prose = "\n".join(_without_bare_headings(lines)).strip()
    if prose:
        report.guessed_dates += is_guess
        content = tagged(prose if prose.startswith(f"# {title}") else f"{title}\n\n{prose}", tags)
        category = "core" if kind == "note" else kind
        # Others may end so; what is said in them tells observations apart.
        key = f"bm_{name}" if _is_short(permalink) else f"bm_{name}_{digest(permalink)}"
        yield shown, memory_row(key, content, category, created=created, updated=updated)
    elif not any(line.strip() for line in note.body.split("\n")):
        report.skipped["empty"] += 1


def _end_of(permalink: str) -> str:
    """A permalink as part of a key, without the first parts where it is long."""
    parts = permalink.strip("/").split("/")
    if not _is_short(permalink):
        parts = parts[-LONGEST_SLUG:]
        while len(parts) > 1 and not _is_short("/".join(parts)):
            parts = parts[1:]
    return slug("/".join(parts))


def _is_short(permalink: str) -> bool:
    return len(slug(permalink, None)) <= LONGEST_SLUG


def _said_by(item: Item, title: str) -> _Said | None:
    """What an item says, its text led by the title of its note; None for one that is plain prose."""
    text = " ".join(item.text.split())
    observed = _OBSERVATION.fullmatch(text)
    if observed is not None and not _NO_CATEGORY.fullmatch(observed["category"]):
        return _Said(observed["category"].strip(), f"{title}: {observed['text']}")
    related = _RELATION.fullmatch(text)
    if related is not None:
        return _Said("relation", f"{title} {text}")
    if observed is None and _TAG.search(text) and not text.startswith(("[", "#")):
        return _Said("note", f"{title}: {text}")
    return None


def _without_bare_headings(lines: list[str]) -> Iterator[str]:
    """The lines without headings under which nothing is left, and one blank line where there were more."""
    waiting: list[tuple[int, str]] = []
    in_fence, is_blank = False, True
    for line in lines:
        in_fence ^= line.lstrip().startswith(("```", "~~~"))
        heading = None if in_fence else _HEADING.match(line)
        if heading:
            level = len(heading[1])
            waiting = [*(above for above in waiting if above[0] < level), (level, line)]
        elif line.strip() or in_fence:
            yield from (above for _, above in waiting)
            waiting, is_blank = [], not line.strip()
            yield line
        elif not waiting and not is_blank:
            is_blank = True
            yield line
