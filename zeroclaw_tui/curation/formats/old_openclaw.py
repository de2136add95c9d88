"""OpenClaw: the Markdown of its workspaces, which is its memory.

A workspace (`~/.openclaw/workspace`, other agents' `workspace-<id>`) has MEMORY.md, USER.md and memory/ with a file a
day: `YYYY-MM-DD.md`, with a topic `YYYY-MM-DD-<slug>.md`, or with a time in UTC `YYYY-MM-DD-HHMM.md`, which is the dump
of a conversation. memory/dreaming and memory/.dreams are made by the machine, and so are the databases in memory/.

MEMORY.md lies beside memory/, never in it: there it is Claude Code's index, unless days lie around it.

A workspace of ZeroClaw's own Markdown memory has the same files. Its lines tell: ZeroClaw begins a file with
`# Long-Term Memory` or `# Daily Log — <day>`, with no other heading below, and each memory is `- **<key>**: <content>`.
Where the newest days are so, or MEMORY.md where there are none, the likeness stays under 0.5, and only who names the
format gets them read as OpenClaw's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from zeroclaw_tui.curation.formats.foreign import ForeignFormat, Likeness, Memories, digest, memory_row, moment_of, slug
from zeroclaw_tui.curation.formats.front_matter import (
    Block,
    Note,
    count_lost,
    first_moment,
    folder_of,
    glance,
    markdown_files,
    read_note,
    told_blocks,
)
from zeroclaw_tui.curation.formats.old_source import Report, Source
from zeroclaw_tui.memory.days import date_of_note
from zeroclaw_tui.memory.text import one_line

_CORE = ("memory.md", "user.md")
WORKSPACE_INSTRUCTIONS = ("agents.md", "soul.md", "identity.md", "tools.md", "heartbeat.md", "bootstrap.md")
"""Files of a workspace that tell its agent what to do, in lower case."""
_FOLDER = "memory"
_MACHINE_MADE = ("dreaming", ".dreams")
_WORKSPACE = re.compile(r"workspace(?:-(.+))?")
_TIME = re.compile(r"\d{4}-\d\d-\d\d-([01]\d|2[0-3])([0-5]\d)\.md", re.IGNORECASE)
_SLUG = re.compile(r"\d{4}-\d\d-\d\d-[^/]+\.md", re.IGNORECASE)
_DAY = re.compile(r"\d{4}-\d\d-\d\d\b")
_SESSION = re.compile(r"Session: (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?: UTC)?")
_SESSION_FIELDS = {"session key": "session key", "session id": None, "source": "source of the session"}
_ZEROCLAWS_HEAD = re.compile(r"# (?:Long-Term Memory|Daily Log — \d{4}-\d\d-\d\d)\s*")
_ZEROCLAWS_LINE = re.compile(r"- \*\*.+?\*\*: ")
_KEYED = re.compile(r"^\*\*.+?\*\*:\s*")
_LINK_LINE = re.compile(r"^[-*] \[[^\]]+\]\([^)]+\.md\)", re.MULTILINE)
_BULLET = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+")
_LOOKED_AT = 8
_LONGEST_LEAD_IN = 200


@dataclass(frozen=True, slots=True)
class _Origin:
    """Where a note comes from: `shown` for people, its file name, the agent, and when it was written at the latest."""

    shown: str
    name: str
    agent: str | None
    written: str | None

    @property
    def category(self) -> str:
        if self.name.lower() in (*_CORE, *WORKSPACE_INSTRUCTIONS):
            return "core"
        return "conversation" if _TIME.fullmatch(self.name) else "daily"


class OpenClawWorkspace(ForeignFormat):
    """Every list item, paragraph, table and fence of the notes is a memory; the headings above name it, and a lead-in
    that ends in a colon goes before what it introduces.

    "instructions" in `along` takes AGENTS.md, SOUL.md and the like too.
    """

    name = "openclaw"
    title = "OpenClaw"

    def likeness(self, source: Source) -> Likeness | None:
        """By its files, and what their lines are like."""
        notes = _notes(source)
        bodies = [note for file in _to_look_at(notes) if (note := glance(source, file)).body.strip() or note.front]
        if not bodies or not (source.is_folder or _is_named(source.path.name)):
            return None
        if _is_zeroclaws_workspace(source, notes):
            return Likeness(
                0.4, "its notes are where OpenClaw has them, but their lines are those of ZeroClaw's own memory"
            )
        if sum(1 for note in bodies if note.front) * 2 > len(bodies):
            return Likeness(0.3, "its notes are where OpenClaw has them, but most have front matter")
        names = [file.name for file in notes]
        marks = any(part in (*_MACHINE_MADE, ".openclaw") for file in source.files() for part in file.parts)
        if marks or any(_SLUG.fullmatch(name) and date_of_note(name) for name in names):
            return Likeness(0.9, "MEMORY.md and daily notes with the names and the surroundings OpenClaw gives them")
        if any(date_of_note(name) for name in names):
            return Likeness(0.8, "MEMORY.md and daily notes, with headings and lists")
        if not any(file.name.lower() == _CORE[0] and folder_of(source, file) != _FOLDER for file in notes):
            return Likeness(0.3, "it has some of the notes that OpenClaw writes")
        if any(_LINK_LINE.search(note.body) for note in bodies):
            return Likeness(0.3, "it has a MEMORY.md, which is an index of other notes")
        return Likeness(0.5, "it has a MEMORY.md with headings and lists, and no daily notes")

    def each(self, source: Source, report: Report) -> Memories:
        """MEMORY.md and USER.md are core, the dump of a conversation that, else daily."""
        notes, instructions = _notes(source), _instructions(source)
        is_asked = "instructions" in self.along
        for file in () if is_asked else instructions:
            report.left[one_line(str(file))] = "instructions, not memories"
        for file, agent in (notes | instructions if is_asked else notes).items():
            note = read_note(source, file, report)
            if note is not None:
                shown = one_line(str(file))
                yield from _rows(note, _Origin(shown, file.name, agent, source.modified(file)), report)
        _name_others(source, report)


def _notes(source: Source) -> dict[PurePosixPath, str | None]:
    """The notes of every workspace in it, each with its agent; of a folder named memory, its own."""
    found = {}
    for file in markdown_files(source):
        agent, inside = _inside(source, file)
        is_core = len(inside) == 1 and inside[0].lower() in _CORE
        is_daily = len(inside) > 1 and inside[0] == _FOLDER and not any(_is_hidden(part) for part in inside[1:-1])
        if is_core or is_daily:
            found[file] = agent
    return found


def _inside(source: Source, file: PurePosixPath) -> tuple[str | None, tuple[str, ...]]:
    """The agent of a file's workspace, and its path in there."""
    parts = file.parts
    if not source.is_folder:
        return None, parts if file.name.lower() in _CORE else (_FOLDER, *parts)
    workspace = _WORKSPACE.fullmatch(parts[0]) if len(parts) > 1 else None
    if workspace is not None:
        return one_line(workspace[1] or "") or None, parts[1:]
    if source.path.name == _FOLDER and not (len(parts) == 1 and parts[0].lower() in _CORE):
        return None, (_FOLDER, *parts)
    return None, parts


def _is_hidden(part: str) -> bool:
    return part in _MACHINE_MADE or part.startswith(".")


def _name_others(source: Source, report: Report) -> None:
    """What is in memory/ besides the notes: hidden folders, and files that are not Markdown."""
    for file in source.files() if source.is_folder else ():
        _, inside = _inside(source, file)
        if inside[0] != _FOLDER:
            continue
        at = next((at for at, part in enumerate(inside[:-1]) if _is_hidden(part)), None)
        if at is not None:
            why = "made by OpenClaw while it dreams" if inside[at] in _MACHINE_MADE else "hidden"
            report.left["/".join(map(one_line, inside[: at + 1]))] = why
        elif file.suffix.lower() != ".md":
            report.left[one_line(str(file))] = "no Markdown"


def _to_look_at(notes: Iterable[PurePosixPath]) -> list[PurePosixPath]:
    """The notes at the top, and the newest days."""
    ranked = sorted(notes, key=lambda file: (file.name.lower() == _CORE[0], date_of_note(file.name)), reverse=True)
    return ranked[:_LOOKED_AT]


def _is_named(name: str) -> bool:
    return name.lower() in _CORE or date_of_note(name) != ""


def _is_zeroclaws_workspace(source: Source, notes: Iterable[PurePosixPath]) -> bool:
    """By its newest days; by MEMORY.md, which ZeroClaw also fills with a template, only where there are none."""
    looked_at = _to_look_at(notes)
    days = [file for file in looked_at if file.name.lower() not in _CORE]
    told = days or [file for file in looked_at if file.name.lower() == _CORE[0]]
    return bool(told) and all(_has_zeroclaws_lines(glance(source, file).body) for file in told)


def _has_zeroclaws_lines(body: str) -> bool:
    lines = [line for line in body.split("\n") if line.strip()]
    if not lines or not _ZEROCLAWS_HEAD.fullmatch(lines[0]):
        return False
    return not any(line.startswith("#") for line in lines[1:]) and (
        len(lines) == 1 or _ZEROCLAWS_LINE.match(lines[1]) is not None
    )


def _rows(note: Note, origin: _Origin, report: Report) -> Memories:
    dated = first_moment(note.front, "created", "date", "created_at")
    moment = _moment_of_name(origin.name) or dated
    count_lost(note.front, ("created", "date", "created_at"), report)
    category, session, stem = origin.category, None, slug(PurePosixPath(origin.name).stem)
    for block, content in _introduced(told_blocks(note, report)):
        dump = next((found for heading in block.headings[:1] if (found := _SESSION.fullmatch(heading))), None)
        if dump is not None:
            category, moment = "conversation", moment_of(dump[1])
            if block.is_item and len(block.headings) == 1 and block.title.lower() in _SESSION_FIELDS:
                lost = _SESSION_FIELDS[block.title.lower()]
                if lost is None:
                    session = block.said or None
                else:
                    report.lost[lost] += 1
                continue
        if block.is_item and not block.said:
            report.skipped["empty"] += 1
            continue
        created = _moment_of_headings(block) or moment
        if created is None:
            created = origin.written
            report.guessed_dates += 1
        title = slug(block.title)
        parts = ("openclaw", stem, "" if title in stem else title, digest(content))
        key = "_".join(part for part in parts if part)
        row = memory_row(
            key,
            content,
            category,
            created=created,
            agent=origin.agent,
            session_id=session,
        )
        yield f"{origin.shown}, line {block.line:,}", row


def _introduced(blocks: Iterable[Block]) -> Iterator[tuple[Block, str]]:
    """The blocks, each with what it says: its text behind the paragraph that ends in a colon and introduces it.

    A fence, table or paragraph is one block with what introduces it. What introduces a list stands before each of its
    items, so that any of them says by itself what it is about, and names them as a heading does. A paragraph that is
    too long for that, or that nothing follows, is a block of its own.
    """
    lead: Block | None = None
    is_told = True
    for block in blocks:
        if lead is not None and block.headings == lead.headings:
            if block.is_item and len(lead.text) <= _LONGEST_LEAD_IN:
                headings = (*block.headings, one_line(lead.text).strip("*_:： "))
                yield replace(block, headings=headings), f"{lead.text}\n\n{block.text}"
                is_told = True
                continue
            if not block.is_item and not is_told:
                block, is_told = replace(lead, text=f"{lead.text}\n\n{block.text}"), True
        if lead is not None and not is_told:
            yield lead, lead.text
        lead = block if not block.is_item and block.text.rstrip("*_").endswith((":", "：")) else None
        is_told = lead is None
        if lead is None:
            yield block, block.text
    if lead is not None and not is_told:
        yield lead, lead.text


def _moment_of_name(name: str) -> str | None:
    day, time = date_of_note(name), _TIME.fullmatch(name)
    return moment_of(f"{day} {time[1]}:{time[2]}:00" if time else day) if day else None


def _moment_of_headings(block: Block) -> str | None:
    days = (_DAY.match(heading) for heading in reversed(block.headings[1:]))
    return next((moment_of(day[0]) for day in days if day), None)


def _instructions(source: Source) -> dict[PurePosixPath, str | None]:
    """What tells the agents of each workspace what to do, with the agent."""
    found = {file: _inside(source, file) for file in markdown_files(source)}
    return {
        file: agent
        for file, (agent, inside) in found.items()
        if len(inside) == 1 and inside[0].lower() in WORKSPACE_INSTRUCTIONS
    }
