"""OpenClaw: the Markdown of its workspaces, which is its memory.

A workspace (`~/.openclaw/workspace`, other agents' `workspace-<id>`) has MEMORY.md, USER.md and memory/ with a file a
day: `YYYY-MM-DD.md`, with a topic `YYYY-MM-DD-<slug>.md`, or with a time `YYYY-MM-DD-HHMM.md`, which is the dump of a
conversation. memory/dreaming and hidden folders are made by the machine.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

from zeroclaw_tui.curation.formats.notes import Block, blocks_of, front_matter, note_files, note_head, read_note
from zeroclaw_tui.curation.formats.rows import EMPTY, count_lost, digest, first_moment, memory_row, moment_of, slug
from zeroclaw_tui.curation.formats.source import Source
from zeroclaw_tui.memory.change import Row
from zeroclaw_tui.memory.days import date_of_note

_CORE = ("memory.md", "user.md")
_FOLDER = "memory"
_DATES = ("created", "date", "created_at")
_WORKSPACE = re.compile(r"workspace(?:-(.+))?")
_DUMP = re.compile(r"\d{4}-\d\d-\d\d-([01]\d|2[0-3])([0-5]\d)\.md", re.IGNORECASE)
_DAY = re.compile(r"\d{4}-\d\d-\d\d\b")
_SESSION = re.compile(r"Session: (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?: UTC)?")
_SESSION_ID = re.compile(r"\*\*Session ID\*\*:\s*(\S+)")
_SESSION_FIELDS = ("session key", "session id", "source")
_INDEX_LINE = re.compile(r"^[-*] \[[^\]]+\]\([^)]+\.md\)", re.MULTILINE)
_ZEROCLAWS = re.compile(r"\s*# (?:Long-Term Memory|Daily Log — \d{4}-\d\d-\d\d)\s*(?:\n- \*\*.+?\*\*: |\Z)")
_MAX_LEAD_IN = 200


def sniff(source: Source) -> bool:
    """By daily notes, or a MEMORY.md that is neither an index of other notes nor ZeroClaw's own."""
    newest = sorted(_notes(source), key=lambda file: (file.name.lower() == _CORE[0], date_of_note(file.name)))[-8:]
    texts = {file: text for file in newest if (text := note_head(source, file))}
    if not texts or any(_ZEROCLAWS.match(text) for text in texts.values()):
        return False
    if sum(bool(front_matter(text)[0]) for text in texts.values()) * 2 > len(texts):
        return False
    if any(date_of_note(file.name) for file in texts):
        return True
    # In a folder memory it is Claude Code's index.
    memories = [
        text
        for file, text in texts.items()
        if file.name.lower() == _CORE[0] and source.path_of(file).parent.name != _FOLDER
    ]
    return bool(memories) and not any(_INDEX_LINE.search(text) for text in memories)


def read(source: Source, lost: Counter[str]) -> Iterator[Row]:
    """Every item, paragraph, table and fence is a memory: of MEMORY.md and USER.md core, of a day daily."""
    for file, agent in _notes(source).items():
        fields, text = read_note(source, file)
        count_lost(fields, _DATES, lost)
        created = _moment_of_name(file.name) or first_moment(fields, *_DATES)
        category = "core" if file.name.lower() in _CORE else "daily"
        if _DUMP.fullmatch(file.name):
            category = "conversation"
        session = None
        for block, content in _with_lead_ins(list(blocks_of(text))):
            dump = _SESSION.fullmatch(block.headings[0]) if block.headings else None
            if dump is not None:
                category, created = "conversation", moment_of(dump[1])
            if dump is not None and block.is_item and block.title.lower() in _SESSION_FIELDS:
                found = _SESSION_ID.match(block.text)
                session = found[1] if found else session
            elif block.is_item and not block.has_text:
                lost[EMPTY] += 1
            else:
                parts = dict.fromkeys(("openclaw", slug(file.stem), slug(block.title), digest(content)))
                yield memory_row(
                    "_".join(filter(None, parts)),
                    content,
                    category,
                    agent=agent,
                    created_at=_moment_of_headings(block) or created,
                    session_id=session,
                )


def _notes(source: Source) -> dict[PurePosixPath, str | None]:
    """The notes of every workspace in a source, each with its agent; of a folder named memory, its own."""
    found: dict[PurePosixPath, str | None] = {}
    for file in note_files(source):
        agent, parts = None, file.parts
        workspace = _WORKSPACE.fullmatch(parts[0]) if len(parts) > 1 else None
        if workspace is not None:
            agent, parts = workspace[1], parts[1:]
        is_in_memory = parts[0] == _FOLDER or source.path.name == _FOLDER or not source.is_folder
        is_note = len(parts) == 1 if file.name.lower() in _CORE else is_in_memory
        if is_note and not any(part.startswith(".") or part == "dreaming" for part in parts[:-1]):
            found[file] = agent
    return found


def _with_lead_ins(blocks: list[Block]) -> Iterator[tuple[Block, str]]:
    """The blocks, each with its content: a paragraph that ends in a colon goes before what it introduces."""
    lead = ""
    for at, block in enumerate(blocks):
        is_after_list = at > 0 and blocks[at - 1].is_item and not block.is_item
        if is_after_list or (at > 0 and blocks[at - 1].headings != block.headings):
            lead = ""
        is_short = not block.is_item and len(block.text) <= _MAX_LEAD_IN
        follows = at + 1 < len(blocks) and blocks[at + 1].headings == block.headings
        if not lead and is_short and follows and block.text.rstrip("*_").endswith((":", "：")):
            lead = block.text
            continue
        yield block, f"{lead}\n\n{block.text}" if lead else block.text
        lead = lead if block.is_item else ""


def _moment_of_name(name: str) -> str | None:
    day, time = date_of_note(name), _DUMP.fullmatch(name)
    return moment_of(f"{day} {time[1]}:{time[2]}:00" if time else day) if day else None


def _moment_of_headings(block: Block) -> str | None:
    """The innermost heading below the title that begins with a day."""
    days = (_DAY.match(heading) for heading in reversed(block.headings[1:]))
    return next((moment for day in days if day and (moment := moment_of(day[0]))), None)
