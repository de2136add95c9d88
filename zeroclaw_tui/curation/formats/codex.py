"""The memories of the Codex command line: its Markdown (`~/.codex/memories/`) and its database.

`MEMORY.md` is what it distilled, in sections; `rollout_summaries/*.md` tell one conversation each, with lines such as
`thread_id: …` at their top. `raw_memories.md` and `memory_summary.md` are made of the same. In the database
(`memories_1.sqlite`, in earlier releases a part of `state_5.sqlite`) `stage1_outputs(thread_id, source_updated_at,
raw_memory, rollout_summary, rollout_slug, generated_at, …)` holds the conversations, times in seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
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
from zeroclaw_tui.curation.formats.source import Report, Schema, Source
from zeroclaw_tui.memory.change import StoredRow
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.text import one_line

_STAGE_ONE = frozenset({"thread_id", "raw_memory", "rollout_summary"})
_MEMORY, _SUMMARIES = "MEMORY.md", "rollout_summaries"
_DERIVED = ("raw_memories.md", "memory_summary.md")
_PLACES = ("", "memories")
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*")
_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})")
_FIELD = re.compile(r"[-*]?[ \t]*([A-Za-z_]+):[ \t]*(.+)")
_FIELD_LINES = 12


class Codex(ForeignFormat):
    """A memory for each section of MEMORY.md, and one for each conversation."""

    name = "codex"
    title = "Codex"

    def likeness(self, source: Source) -> Likeness | None:
        """By its table, or by the files that lie beside MEMORY.md."""
        folders = map(PurePosixPath, _PLACES if source.is_folder else ())
        return likeliest([super().likeness(source), *(_of_folder(source, folder) for folder in folders)])

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


def _of_folder(source: Source, folder: PurePosixPath) -> Likeness | None:
    names = {file.name for file in source.files() if file.parent == folder}
    has_summaries = any(_is_summary(file, folder) for file in source.files())
    if has_summaries or (_MEMORY in names and names.issuperset(_DERIVED)):
        return Likeness(1.0, f"it has the {_SUMMARIES} or raw memories that Codex keeps beside {_MEMORY}")
    if _MEMORY in names and names & set(_DERIVED):
        return Likeness(0.7, f"it has one of the files that Codex keeps beside {_MEMORY}")
    if _MEMORY in names and folder.parts:
        return Likeness(0.4, f"it has a {_MEMORY} where Codex keeps its own, and nothing else of Codex")
    return None


def _is_summary(file: PurePosixPath, folder: PurePosixPath) -> bool:
    return file.parent == folder / _SUMMARIES and file.suffix == ".md"


def _notes(source: Source, report: Report) -> tuple[list[PurePosixPath], list[PurePosixPath]]:
    """MEMORY.md, and the conversations; what is made of them is named in the report."""
    if not source.is_folder:
        (file,) = source.files()
        return ([file] if file.suffix.lower() == ".md" else []), []
    notes, summaries = [], []
    for folder in map(PurePosixPath, _PLACES):
        for file in source.files():
            if file.parent == folder and file.name == _MEMORY:
                notes.append(file)
            elif file.parent == folder and file.name in _DERIVED:
                report.left[one_line(str(file))] = "made of the conversations"
            elif _is_summary(file, folder):
                summaries.append(file)
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
    """What stands under each heading: its first line, the headings above it, its text. A heading in a fence is text."""
    path: dict[int, str] = {}
    body: list[str] = []
    start, fence = 1, ""
    lines = text.splitlines()
    for number, line in enumerate([*lines, ""], 1):
        marks = _FENCE.match(line)
        heading = None if fence else _HEADING.fullmatch(line)
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
