"""What every format of another tool is: how it is known by its content, and how its memories are read.

A reader yields memories as `Row` without an id: key, content, category, created_at, updated_at by the names of
ZeroClaw's columns, and where the tool has them namespace, session_id, importance (0 to 1), pinned (0 or 1),
superseded_by (the key of the newer memory) and kind (as ZeroClaw stores it). The
agent is the row's own. A key is made of the tool's own id, or of title and content: the same memory has the same key
each time it is read, whatever stands beside it, which is how an import brings only what is new.
"""

from __future__ import annotations

import codecs
import hashlib
import math
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any, ClassVar, TypeVar

from zeroclaw_tui.curation.formats.old_source import Report, Source, json_value
from zeroclaw_tui.memory.change import Row, Value
from zeroclaw_tui.memory.errors import InspectorError, UsageError
from zeroclaw_tui.memory.text import first_names, one_line

CERTAIN = 0.5
"""From which degree of likeness on a source is taken for what it looks like."""
LONGEST_SLUG = 40
_MILLISECONDS_FROM = 1e11
_NAIVE_UTC = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?")
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_NO_SLUG = re.compile(r"[^\w]+|_+")
_JSON = re.compile(r'\{\s*(?:["}]|\Z)|\[\s*(?:[{\]]|\Z)|"(?:\s|\\[nrt])*[{\[]')
_LOOKED_AT = 64 * 1024
_LONGEST_PLACE = 120
FACT = '{"semantic":"fact"}'
"""The kind of a relation between two names: ZeroClaw has none of its own for it."""
Memories = Iterator[tuple[str, Row]]
"""Memories, each with the place it stands at, for people."""
Record = TypeVar("Record")


@dataclass(frozen=True, slots=True)
class Likeness:
    """How far a source looks like a format: 1.0 is certain; under CERTAIN it is only named as what comes nearest.

    `why` completes the sentence "It looks like X: …".
    """

    degree: float
    why: str


@dataclass(frozen=True, slots=True)
class Part:
    """A file of a source while it is read, and the report that this fills."""

    source: Source
    file: PurePosixPath
    report: Report

    @property
    def name(self) -> str:
        """Its path in the source, for people."""
        return one_line(str(self.file))

    def place(self, what: str, number: int) -> str:
        """Where in it a memory stands, for people: "export.json, memory 3"."""
        return f"{self.name}, {what} {number:,}"

    def placed(self, what: str, records: Iterable[Record], memory_of: Callable[[Record], Row | None]) -> Memories:
        """The memories of records, each with its place; a record may have none."""
        for number, record in enumerate(records, 1):
            memory = memory_of(record)
            if memory is not None:
                yield self.place(what, number), memory

    def when(self, value: Any) -> str:
        """A tool's time as `moment_of` reads it, or else when the file was written, which is counted as a guess."""
        moment = moment_of(value)
        if moment is None:
            self.report.guessed_dates += 1
            return self.source.modified(self.file)
        if is_day(value):
            self.report.note("A date without a time counts as its midnight here.")
        return moment


class ForeignFormat(ABC):
    """One tool's memories in a file or folder."""

    name: ClassVar[str]
    """What `--from` calls it."""
    title: ClassVar[str]
    """What people call it."""
    along: frozenset[str] = frozenset()
    """What is taken too that is left out otherwise: "instructions"."""

    def taking(self, along: frozenset[str]) -> ForeignFormat:
        """The same format that takes these too."""
        taking = copy(self)
        taking.along = along
        return taking

    def likeness(self, source: Source) -> Likeness | None:
        """How far it is that, by its content; None where nothing speaks for it. Reads as little as will do."""
        return likeliest(self.of_document(document) for _, document in documents(source))

    def of_document(self, document: Any) -> Likeness | None:
        """How far a JSON document is one of this tool, by its records."""
        return None

    def exports(self, source: Source, report: Report) -> list[tuple[Part, Any]]:
        """The JSON documents of this tool, to be read."""
        found = ((file, value) for file, value in documents(source) if self.of_document(value) is not None)
        return [(Part(source, file, report), value) for file, value in found]

    def memories(self, source: Source, report: Report) -> Memories:
        """Every memory with the place it stands at, for people ("notes/bees.md, line 3"), in the order of the source;
        none comes twice, though different ones may have one key.

        Fills the report while it is read. Raises UsageError or Unreadable naming the place where nothing further can be
        read; a single broken memory is counted in the report, not fatal.
        """
        seen: set[str] = set()
        for place, row in self.each(source, report):
            parts = (row.agent, row.key, *(row.values.get(name) for name in ("content", "namespace", "session_id")))
            known = digest(repr(parts), 32)
            if known in seen:
                report.skipped["twice"] += 1
            else:
                seen.add(known)
                yield place, row
        if source.damaged:
            named = [
                f"{name} (line{'s' if len(lines) > 1 else ''} {first_names([f'{line:,}' for line in lines], most=3)})"
                for name, lines in source.damaged.items()
            ]
            told = first_names(named, longest=_LONGEST_PLACE)
            report.note(f"Bytes that are not UTF-8 are read as \ufffd: {told}.")

    @abstractmethod
    def each(self, source: Source, report: Report) -> Memories:
        """The same, keys as the tool has them. Raises UsageError for a source that holds nothing of it."""


def memory_row(
    key: str,
    content: str,
    category: str | None,
    *,
    created: str | None,
    updated: str | None = None,
    agent: str | None = None,
    **values: Value,
) -> Row:
    """A memory to import; what is None is left out."""
    every: dict[str, Value] = {"key": key, "content": content, "category": category_of(category)}
    every |= {"created_at": created, "updated_at": updated or created, **values}
    return Row("", {name: value for name, value in every.items() if value is not None}, None, agent)


def category_of(name: str | None) -> str:
    """A tool's category or type: one of ZeroClaw's three or a custom one, in lower case; core for none or "misc"."""
    slugged = slug(name or "")
    return "core" if slugged in ("", "general", "misc") else slugged


def slug(text: str, longest: int | None = LONGEST_SLUG) -> str:
    """A text as part of a key: letters and digits of any script in lower case, `_` between, not more than `longest`."""
    plain = unicodedata.normalize("NFKC", text).lower()
    return _NO_SLUG.sub("_", plain).strip("_")[:longest].strip("_")


def digest(content: str, length: int = 8) -> str:
    """The first hex digits of a content's SHA-256, for keys of what has no id."""
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:length]


def titled_key(tool: str, title: str, content: str) -> str:
    """The key of a memory without an id: `<tool>_<slug of title>_<8 hex of its content>`."""
    return "_".join(part for part in (tool, slug(title), digest(content)) if part)


def identified_key(tool: str, id: str, length: int = 12) -> str:
    """The key of a memory with an id: `<tool>_<the first hex digits of a UUID, else a slug of the id>`."""
    plain = id.replace("-", "").lower()
    is_uuid = len(plain) == 32 and all(character in "0123456789abcdef" for character in plain)
    return f"{tool}_{plain[:length] if is_uuid else slug(id) or digest(id)}"


def moment_of(value: Any) -> str | None:
    """A tool's time as RFC 3339 with a zone; None for what is none.

    RFC 3339 stays as it is, `YYYY-MM-DD HH:MM:SS` is SQLite's UTC, numbers are seconds since 1970, or
    milliseconds from 1e11 on, a day begins at midnight of the local zone, and other times without a zone are local.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        try:
            if not math.isfinite(value) or value < 0:
                return None
            moment = datetime.fromtimestamp(value / 1000 if value >= _MILLISECONDS_FROM else value, UTC)
        except (OverflowError, OSError, ValueError):
            return None
        return moment.isoformat()
    if not isinstance(value, str):
        return None
    text = value.strip()
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        return None
    if _NAIVE_UTC.fullmatch(text):
        return parsed.replace(tzinfo=UTC).isoformat()
    if parsed.tzinfo is not None:
        return text if _RFC_3339.fullmatch(text) else parsed.isoformat()
    try:
        return parsed.astimezone().isoformat()
    except (OverflowError, ValueError):
        # Midnight of the first or last day there is lies outside of the calendar elsewhere.
        return None


def is_day(value: Any) -> bool:
    """Whether a time says only the day."""
    return isinstance(value, str) and _DAY.fullmatch(value.strip()) is not None


def text_at(record: Mapping[str, Any], *names: str) -> str | None:
    """The first of these fields that holds text which is not blank."""
    for name in names:
        value = record.get(name)
        if isinstance(value, str) and value.strip():
            return value
    return None


def mapping_at(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object in a field; an empty one where there is none."""
    value = record.get(name)
    return value if isinstance(value, dict) else {}


def records_at(record: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """The objects of the list in a field; none where there is no list."""
    value = record.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def documents(source: Source) -> Iterator[tuple[PurePosixPath, Any]]:
    """The file itself where it begins as JSON does, or those right in the folder, with their values.

    A file of a folder that cannot be read is named in its `unread`.
    """
    for file in source.files():
        if source.is_folder and (len(file.parts) > 1 or file.suffix.lower() != ".json"):
            continue
        try:
            if begins_as_json(source.head(file, _LOOKED_AT)):
                yield file, source.document(file)
        except InspectorError as error:
            if not source.is_folder:
                raise
            source.unread[str(file)] = error.message


def begins_as_json(start: bytes) -> bool:
    """Whether an object begins, or a list of such, also in a text: other files too begin with a bracket or a quote.

    Not so where a whole value stands in the first line and more in the next: those are JSON Lines.
    """
    text = start.removeprefix(codecs.BOM_UTF8).lstrip().decode("utf-8", "replace")
    first, _, more = text.partition("\n")
    return _JSON.match(text) is not None and not (more.strip() and nested_json(first) is not None)


def likeliest(found: Iterable[Likeness | None]) -> Likeness | None:
    """The highest of several, the first of equals."""
    return max((one for one in found if one is not None), key=lambda one: one.degree, default=None)


def nothing_of(format: ForeignFormat, source: Source) -> UsageError:
    """The error for a source that somebody says is of a format, and that holds nothing of it."""
    return UsageError(
        f"{source.name} holds nothing that {format.title} would have written.",
        hint=f"Name the file or directory in which {format.title} stores its memories.",
    )


def tagged(content: str, tags: Iterable[Any]) -> str:
    """The content with those of its tags that it does not say itself as a last line, where recall finds them."""
    named = dict.fromkeys(tag.strip().lstrip("#") for tag in tags if isinstance(tag, str) and tag.strip())
    missing = [tag for tag in named if not re.search(rf"(?<!\w){re.escape(tag)}(?!\w)", content, re.IGNORECASE)]
    return f"{content}\n\nTags: {', '.join(missing)}" if missing else content


def texts_of(value: Any) -> list[str]:
    """The texts of a JSON array, which may itself stand in a text; a text that is no JSON is its own only one."""
    if isinstance(value, str):
        listed = nested_json(value)
        value = listed if isinstance(listed, list) else [value]
    return [text for text in value if isinstance(text, str) and text.strip()] if isinstance(value, list) else []


def nested_json(text: Any) -> Any:
    """The JSON value that stands in a text; None where there is none."""
    try:
        return json_value(text, "The text") if isinstance(text, str) else None
    except UsageError:
        return None
