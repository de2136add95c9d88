"""The Open Knowledge Format of Google Cloud, versions 0.1 and 0.2: read, and written without loss.

A bundle is a folder of Markdown. index.md and log.md are reserved at every level, the index at the root says
`okf_version`; every other file is a concept, with front matter whose `type` is not empty, and its path without `.md` is
its id. Further fields: `title`, `description`, `resource`, `tags`, `generated` {by, at} (0.1: `timestamp`), `status`
(draft, stable, deprecated), `stale_after`, `sources`. Readers keep fields that they do not know; the row that a concept
of ours was made from stands under `zeroclaw`, by the names of ZeroClaw's columns. Nothing a field leads to is opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import PurePosixPath
from typing import Any

from zeroclaw_tui.curation.formats.foreign import (
    ForeignFormat,
    Likeness,
    Memories,
    digest,
    mapping_at,
    memory_row,
    moment_of,
    slug,
    tagged,
)
from zeroclaw_tui.curation.formats.front_matter import (
    LARGEST_FRONT_MATTER,
    LARGEST_NOTE,
    Note,
    count_lost,
    first_moment,
    glance,
    list_of,
    markdown_files,
    note_of,
    read_note,
    words_of,
)
from zeroclaw_tui.curation.formats.jsonl import packed, shown, unpacked
from zeroclaw_tui.curation.formats.source import MOST_FILES, Report, Source
from zeroclaw_tui.memory.change import SUPERSEDED_BY, StoredRow, Value
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.text import one_line

VERSION = "0.2"
OWN_FIELD = "zeroclaw"
"""Under which a concept that we wrote has the row it was made from."""
_RESERVED = ("index.md", "log.md")
_BUNDLE_FOLDER = ".okf"
_TAKEN = ("type", "title", "description", "tags", "generated", "timestamp", "status", "stale_after", "okf_version")
_TEXTS = ("key", "category", "session_id", "namespace", "created_at", "updated_at", "kind", SUPERSEDED_BY)
_NUMBERS = ("importance", "pinned")
_LINE_ENDS, _CRLF = "line_ends", "crlf"
_LONGEST_TITLE = 120
_LOOKED_AT = 12
_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{name}{at}" for name in ("com", "lpt") for at in range(10))})


class OpenKnowledgeFormat(ForeignFormat):
    """A concept is one memory of its type as category; one that we wrote is the row it was made from."""

    name = "okf"
    title = "Open Knowledge Format"

    def likeness(self, source: Source) -> Likeness | None:
        """By the version in the index, or by the front matter of the concepts."""
        root = _root(source)
        index = root / "index.md"
        if source.is_folder and source.has(str(index)) and words_of(glance(source, index).front.get("okf_version")):
            return Likeness(1.0, "its index.md says okf_version")
        concepts = [glance(source, file) for file in _concepts(source)[:_LOOKED_AT]]
        fronts = [note.front for note in concepts if words_of(note.front.get("type"))]
        if any(OWN_FIELD in front or words_of(front.get("okf_version")) for front in fronts):
            return Likeness(0.95, "its front matter is that of an OKF concept")
        own = [front for front in fronts if not {"permalink", "name", "metadata"} & front.keys()]
        if len(own) * 2 <= len(concepts):
            return None
        if any(isinstance(front.get("generated"), dict) or "timestamp" in front for front in own):
            return Likeness(0.8, "its notes have a type, and say when they were generated")
        if _BUNDLE_FOLDER in (root.name, source.path.name):
            return Likeness(0.8, "its notes have a type, and lie in .okf")
        return Likeness(0.5 if len(own) == len(concepts) else 0.4, "its notes have a type in their front matter")

    def each(self, source: Source, report: Report) -> Memories:
        """Every concept; a file without a type, or of a reserved name, is none, and left."""
        root, flagged = _root(source), 0
        for file in _concepts(source):
            place = one_line(str(file))
            note = read_note(source, file, report, needs_front=True)
            if note is None:
                continue
            if not words_of(note.front.get("type")):
                report.left[place] = "it has no type in its front matter, so it is no concept"
                continue
            own = note.front.get(OWN_FIELD)
            values = _own_values(own, note.body) if isinstance(own, dict) else None
            if values is not None:
                agent = values.pop("agent", None)
                if "created_at" not in values:
                    values["created_at"] = _moment(source, file, note, report)
                yield place, StoredRow("", values, None, agent if isinstance(agent, str) else None)
            elif (row := _foreign_row(source, file, file.relative_to(root), note, report)) is not None:
                flagged += _flag(note.front) is not None
                yield place, row
        for file in _notes(source):
            if file.name.lower() in _RESERVED:
                report.left[one_line(str(file))] = "reserved by the format"
        if flagged:
            report.note(f"Deprecated or stale, and marked as such in the text: {flagged:,}.")


def bundle(rows: Sequence[StoredRow], written: datetime) -> Iterator[tuple[PurePosixPath, bytes]]:
    """The files of an OKF bundle that holds these memories, the index at the root last; `written` is now.

    Reading it gives back key, content, category, session, importance, pinned, namespace, dates, kind and agent exactly,
    and what superseded a memory. Ids, vectors and other columns are left out. Raises Refused for more memories, or
    larger ones, than are read back.
    """
    if len(rows) >= MOST_FILES:
        raise Refused(
            f"{len(rows):,} memories are too many files for one folder to be read back.", hint="Export fewer at a time."
        )
    taken: set[str] = set()
    sections: dict[str, list[str]] = {}
    for row in rows:
        path = _path_of(row, taken)
        yield path, _concept(row, written)
        sections.setdefault(path.parent.name, []).append(f"* [{_link_text(_title(row))}]({path})\n")
    parts = [f'---\nokf_version: "{VERSION}"\n---\n\n# ZeroClaw memories\n']
    parts += [f"\n# {folder}\n\n{''.join(links)}" for folder, links in sections.items()]
    yield PurePosixPath("index.md"), "".join(parts).encode()


def _root(source: Source) -> PurePosixPath:
    """The bundle's own folder: a project keeps it in `.okf`."""
    has_own = source.is_folder and any(
        file.parts[0] == _BUNDLE_FOLDER for file in source.files() if len(file.parts) > 1
    )
    return PurePosixPath(_BUNDLE_FOLDER) if has_own else PurePosixPath()


def _concepts(source: Source) -> list[PurePosixPath]:
    return [file for file in _notes(source) if file.name.lower() not in _RESERVED]


def _notes(source: Source) -> list[PurePosixPath]:
    root = _root(source)
    return [
        file
        for file in markdown_files(source)
        if file.is_relative_to(root)
        and not any(part.startswith(".") or part == "node_modules" for part in file.relative_to(root).parts[:-1])
    ]


def _foreign_row(
    source: Source, file: PurePosixPath, id: PurePosixPath, note: Note, report: Report
) -> StoredRow | None:
    front, body = note.front, note.body.strip()
    title, description = words_of(front.get("title")), words_of(front.get("description"))
    content = "\n\n".join(part for part in (title, description, body) if part and (part == body or part not in body))
    if not content:
        report.skipped["empty"] += 1
        return None
    flag = _flag(front)
    content = tagged(content, list_of(front.get("tags")))
    count_lost(front, _TAKEN, report)
    generated = {f"generated.{name}": value for name, value in mapping_at(front, "generated").items()}
    count_lost(generated, ("generated.at",), report)
    key = f"okf_{'_'.join(part for name in id.with_suffix('').parts if (part := slug(name))) or digest(str(id))}"
    text = content if flag is None else f"{content}\nStatus: {flag}"
    return memory_row(key, text, words_of(front.get("type")), created=_moment(source, file, note, report))


def _moment(source: Source, file: PurePosixPath, note: Note, report: Report) -> str:
    """When a concept was made, as version 0.2, 0.1 or the file says."""
    told = moment_of(mapping_at(note.front, "generated").get("at"))
    told = told or first_moment(note.front, "timestamp", "created")
    report.guessed_dates += told is None
    return told or source.modified(file)


def _flag(front: Mapping[str, Any]) -> str | None:
    """Why a concept should not be relied on any more."""
    if words_of(front.get("status")).lower() == "deprecated":
        return "deprecated"
    until = moment_of(words_of(front.get("stale_after")))
    is_over = until is not None and datetime.fromisoformat(until) < datetime.now(UTC)
    return f"stale since {words_of(front.get('stale_after'))}" if is_over else None


def _own_values(told: Mapping[str, Any], body: str) -> dict[str, Value] | None:
    """The row a concept of ours was made from, and its agent, with the body as it is now; None for anything else."""
    try:
        values = {name: unpacked(told[name]) for name in (*_TEXTS, *_NUMBERS, "agent") if name in told}
        exact = unpacked(told.get("content"))
        for value in (*values.values(), exact):
            if isinstance(value, str):
                # Half a character can be written here, and stored nowhere.
                value.encode("utf-8", "surrogateescape")
    except ValueError:
        return None
    are_texts = all(isinstance(values[name], str | bytes) for name in _TEXTS if name in values)
    are_numbers = all(isinstance(values[name], int | float) for name in _NUMBERS if name in values)
    if not (are_texts and are_numbers and {"key", "category"} <= values.keys()):
        return None
    text = body.removeprefix("\n").removesuffix("\n")
    if told.get(_LINE_ENDS) == _CRLF:
        text = text.replace("\n", "\r\n")
    # What was written by hand since counts, not what stood there.
    return {**values, "content": exact if exact is not None and _as_body(exact) == text else text}


def _as_body(content: Value) -> str:
    """A content as it reads in a file."""
    return note_of(f"\n{shown(content) or ''}").body.removeprefix("\n")


def _concept(row: StoredRow, written: datetime) -> bytes:
    entry = row.entry()
    at = moment_of(entry.updated_at) or moment_of(entry.timestamp) or written.isoformat(timespec="seconds")
    front: dict[str, Any] = {"type": one_line(entry.category) or "memory", "title": _title(row)}
    front["generated"] = {"by": "tool:zeroclaw-tui", "at": at}
    if row.values.get(SUPERSEDED_BY) is not None:
        front["status"] = "deprecated"
    content = row.values.get("content")
    text = _as_body(content)
    own = {name: row.values.get(name) for name in (*_TEXTS, *_NUMBERS)}
    own["agent"] = row.agent
    if content != text:
        is_crlf = isinstance(content, str) and content == text.replace("\n", "\r\n")
        own |= {_LINE_ENDS: _CRLF} if is_crlf else {"content": content}
    front[OWN_FIELD] = {name: packed(value) for name, value in own.items() if value is not None}
    head = _yaml(front)
    data = b"---\n%s---\n\n%s\n" % (head, text.encode())
    if len(head) > LARGEST_FRONT_MATTER or len(data) > LARGEST_NOTE:
        raise Refused(
            f"The memory {one_line(row.key)!r} is too large for a note.", hint="Export it as JSONL, which has no limit."
        )
    return data


def _yaml(front: Mapping[str, Any]) -> bytes:
    import yaml

    text = yaml.dump(dict(front), Dumper=_dumper(), allow_unicode=True, sort_keys=False, width=2**31)
    return text.encode()


@cache
def _dumper() -> type[Any]:
    import yaml

    class EscapingDumper(yaml.SafeDumper):
        """Escapes whatever is not printable: other styles fold it, and lose which line end it was."""

        def represent_str(self, data: str) -> Any:
            return self.represent_scalar("tag:yaml.org,2002:str", data, style=None if data.isprintable() else '"')

    EscapingDumper.add_representer(str, EscapingDumper.represent_str)
    return EscapingDumper


def _title(row: StoredRow) -> str:
    return one_line(row.key)[:_LONGEST_TITLE] or "memory"


def _link_text(title: str) -> str:
    return "".join(f"\\{character}" if character in "\\[]`*_<>" else character for character in title)


def _path_of(row: StoredRow, taken: set[str]) -> PurePosixPath:
    """A folder a category and a file a key, of letters, digits and `_` alone, no two alike in any case."""
    folder, stem = _safe(slug(row.entry().category) or "memory"), _safe(slug(row.key) or digest(row.key))
    path, number = PurePosixPath(folder, f"{stem}.md"), 1
    while str(path).casefold() in taken or path.name in _RESERVED:
        also = "" if number == 1 else f"_{number}"
        path, number = PurePosixPath(folder, f"{stem}_{digest(row.key)}{also}.md"), number + 1
    taken.add(str(path).casefold())
    return path


def _safe(name: str) -> str:
    return f"{name}_" if name in _DEVICES else name
