"""The memories of the Codex command line: its Markdown (`~/.codex/memories/`) and its database.

`MEMORY.md` is what it distilled, in sections; those that Codex writes itself begin with `# Task Group: …` and a line
`scope: …`, and list under each task the summaries and the keywords that lead to it. `rollout_summaries/*.md` tell one
conversation each, with lines such as `thread_id: …` at their top. `raw_memories.md` and `memory_summary.md` are made of
the same; `skills/` and `extensions/` hold instructions. In the database
(`memories_1.sqlite`, in earlier releases a part of `state_5.sqlite`) `stage1_outputs(thread_id, source_updated_at,
raw_memory, rollout_summary, rollout_slug, generated_at, …)` holds the conversations, times in seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath, PurePosixPath
from typing import Any

from zeroclaw_tui.curation.formats.foreign import (
    ForeignFormat,
    Likeness,
    Memories,
    Part,
    almost,
    identified_key,
    likeliest,
    memory_row,
    moment_of,
    nothing_of,
    text_at,
    titled_key,
)
from zeroclaw_tui.curation.formats.front_matter import glance
from zeroclaw_tui.curation.formats.source import Report, Schema, Source
from zeroclaw_tui.memory.change import StoredRow
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.text import one_line

_STAGE_ONE = frozenset({"thread_id", "raw_memory", "rollout_summary"})
_MEMORY, _SUMMARIES = "MEMORY.md", "rollout_summaries"
_DERIVED = ("raw_memories.md", "memory_summary.md")
_LEFT = {
    **dict.fromkeys(_DERIVED, "made of the conversations"),
    "phase2_workspace_diff.md": "a list of what changed in the others",
    "instructions.md": "instructions, not memories",
    "SKILL.md": "a skill, not a memory",
}
"""Why files of these names are no memories."""
_FOLDER = "memories"
_HOME = (".codex", _FOLDER)
_TASK_GROUP = re.compile(r"# Task Group: [^\n]+\nscope: ")
_LEADS = ("rollout_summary_files", "keywords")
"""Headings under which stands what leads to a task: they are part of it."""
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*")
_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})")
_FIELD = re.compile(r"[-*]?[ \t]*([A-Za-z_]+):[ \t]*(.+)")
_FIELD_LINES = 12


class Codex(ForeignFormat):
    """A memory for each section of MEMORY.md, and one for each conversation."""

    name = "codex"
    title = "Codex"

    def likeness(self, source: Source) -> Likeness | None:
        """By its table, by where MEMORY.md lies and what is beside it, or by its task groups."""
        found = [_of_folder(source, folder) for folder in _folders(source)] if source.is_folder else [_of_file(source)]
        return likeliest([super().likeness(source), *found])

    def of_schema(self, schema: Schema) -> Likeness | None:
        """By its table of conversations."""
        if not schema.get("stage1_outputs", frozenset()) >= _STAGE_ONE:
            return almost(schema, "stage1_outputs", _STAGE_ONE)
        return Likeness(1.0, "it has the table stage1_outputs of Codex")

    def each(self, source: Source, report: Report) -> Memories:
        """Every section, then every conversation."""
        notes, summaries = _notes(source, report)
        stores = self.stores(source, report)
        if not notes and not summaries and not stores:
            raise nothing_of(self, source)
        for file in notes:
            yield from _sections(Part(source, file, report))
        for file in summaries:
            yield from _summary(Part(source, file, report))
        for part, _ in stores:
            if summaries:
                report.left[part.name] = "the conversations are read from their Markdown"
            else:
                yield from _conversations(part)


def _folders(source: Source) -> list[PurePosixPath]:
    """Every .codex/memories, or else the folder itself and the one in it that is called memories."""
    every = {folder for file in source.files() for folder in file.parents}
    own = sorted(folder for folder in every if _is_home(source.path / folder))
    return own or [PurePosixPath(), PurePosixPath(_FOLDER)]


def _is_home(folder: PurePath) -> bool:
    return folder.parts[-len(_HOME) :] == _HOME


def _of_file(source: Source) -> Likeness | None:
    (file,) = source.files()
    if file.suffix.lower() != ".md":
        return None
    if _has_task_groups(source, file):
        return Likeness(0.95, "it begins with a task group, as Codex writes them")
    if _is_home(source.path.parent):
        if file.name == _MEMORY:
            return Likeness(0.85, f"it is the {_MEMORY} of .codex/memories")
        if file.name in _DERIVED:
            return Likeness(0.4, "it is made of the conversations that lie beside it, so name their folder")
    if source.path.parent.name == _SUMMARIES and _is_home(source.path.parent.parent):
        return Likeness(0.85, f"it lies in the {_SUMMARIES} of .codex/memories")
    return None


def _has_task_groups(source: Source, file: PurePosixPath) -> bool:
    return _TASK_GROUP.match(glance(source, file).body) is not None


def _of_folder(source: Source, folder: PurePosixPath) -> Likeness | None:
    names = {file.name for file in source.files() if file.parent == folder}
    has_summaries = any(_is_summary(file, folder) for file in source.files())
    if has_summaries or (_MEMORY in names and names.issuperset(_DERIVED)):
        return Likeness(1.0, f"it has the {_SUMMARIES} or raw memories that Codex keeps beside {_MEMORY}")
    if _MEMORY not in names:
        return None
    if _has_task_groups(source, folder / _MEMORY):
        return Likeness(0.95, f"its {_MEMORY} begins with a task group, as Codex writes them")
    if _is_home(source.path / folder):
        return Likeness(0.85, f"it has a {_MEMORY} in .codex/memories")
    if names & set(_DERIVED):
        return Likeness(0.7, f"it has one of the files that Codex keeps beside {_MEMORY}")
    if folder.parts:
        return Likeness(0.4, f"it has a {_MEMORY} where Codex keeps its own, and nothing else of Codex")
    return None


def _is_summary(file: PurePosixPath, folder: PurePosixPath) -> bool:
    return file.parent == folder / _SUMMARIES and file.suffix == ".md"


def _notes(source: Source, report: Report) -> tuple[list[PurePosixPath], list[PurePosixPath]]:
    """MEMORY.md, and the conversations; other notes of the same folder are named in the report."""
    if not source.is_folder:
        found = [file for file in source.files() if file.suffix.lower() == ".md"]
        return ([], found) if source.path.parent.name == _SUMMARIES else (found, [])
    notes, summaries = [], []
    for folder in _folders(source):
        for file in source.files():
            if file.parent == folder and file.name == _MEMORY:
                notes.append(file)
            elif _is_summary(file, folder):
                summaries.append(file)
            elif file.is_relative_to(folder) and file.name in _LEFT:
                report.left[one_line(str(file))] = _LEFT[file.name]
            elif file.is_relative_to(folder) and file.suffix.lower() == ".md" and _is_home(source.path / folder):
                report.left[one_line(str(file))] = "no file that Codex keeps memories in"
    return notes, summaries


def _text(part: Part) -> str | None:
    """What a file says; of a folder None, and named in the report as left, where it cannot be read."""
    try:
        return part.source.text(part.file)
    except InspectorError as error:
        if not part.source.is_folder:
            raise
        part.report.left[part.name] = error.message
        return None


def _sections(part: Part) -> Memories:
    for line, path, body in _parts(_text(part) or ""):
        title = " › ".join(path)
        content = f"{title}\n\n{body}" if title else body
        created = part.when(None)
        key = titled_key("codex", path[-1] if path else "", content)
        yield part.place("line", line), memory_row(key, content, "core", created=created)


def _parts(text: str) -> Iterator[tuple[int, tuple[str, ...], str]]:
    """What stands under each heading: its first line, the headings above it, its text.

    A heading in a fence is text, and so is one of what leads to the task above it.
    """
    path: dict[int, str] = {}
    body: list[str] = []
    start, fence = 1, ""
    lines = text.splitlines()
    for number, line in enumerate([*lines, ""], 1):
        marks = _FENCE.match(line)
        heading = None if fence else _HEADING.fullmatch(line)
        if heading is not None and heading.group(2) in _LEADS:
            heading = None
        if marks is not None and (not fence or marks.group(1).startswith(fence)):
            fence = "" if fence else marks.group(1)
        is_end = number > len(lines)
        if heading is None and not is_end:
            body.append(line)
            continue
        if any(part.strip() for part in body):
            yield start, tuple(path.values()), "\n".join(body).strip("\n")
        if heading is not None:
            depth = len(heading.group(1))
            path = {level: title for level, title in path.items() if level < depth} | {depth: heading.group(2)}
        body, start = [], number


def _summary(part: Part) -> Memories:
    told = _text(part)
    if told is None:
        return
    text = told.strip()
    if not text:
        part.report.skipped["empty"] += 1
        return
    lines = (_FIELD.fullmatch(line.strip()) for line in text.splitlines()[:_FIELD_LINES])
    fields = {match.group(1).lower(): match.group(2).strip() for match in lines if match is not None}
    thread = fields.get("thread_id")
    written = moment_of(fields.get("updated_at"))
    memory = memory_row(
        identified_key("codex", thread) if thread else titled_key("codex", part.file.stem, text),
        text,
        "summary",
        created=part.when(written),
        session_id=thread,
    )
    yield part.name, memory


def _conversations(part: Part) -> Memories:
    def conversation(row: Mapping[str, Any]) -> StoredRow | None:
        summary, raw = text_at(row, "rollout_summary"), text_at(row, "raw_memory")
        content, thread = summary or raw, text_at(row, "thread_id")
        if content is None:
            part.report.skipped["empty"] += 1
            return None
        part.report.lose("raw memory", summary is not None and raw is not None)
        part.report.lose("usage", bool(row.get("usage_count")))
        return memory_row(
            identified_key("codex", thread) if thread else titled_key("codex", "", content),
            content,
            "summary",
            created=part.when(row.get("source_updated_at") or row.get("generated_at")),
            updated=moment_of(row.get("generated_at")),
            session_id=thread,
        )

    with part.tables() as tables:
        yield from part.placed("conversation", tables.rows("stage1_outputs"), conversation)
