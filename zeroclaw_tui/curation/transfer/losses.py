"""What of the memories that come a store does not have a place for, counted and in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator

from zeroclaw_tui.backends.factory import backend_info
from zeroclaw_tui.curation.transfer.fields import (
    CARRIED,
    CORE,
    DAILY,
    DEFAULT_AGENT,
    KNOWN,
    TIMES,
    VECTOR,
    NoteFields,
    RowFields,
    TargetFields,
)
from zeroclaw_tui.curation.transfer.note_lines import in_one_line, is_read_back
from zeroclaw_tui.memory.change import Row, Value
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.text import first_names, is_unicode, one_line
from zeroclaw_tui.scoring.injection import zeroclaw_moment

_MEANS_NOTHING: dict[str, tuple[Value, ...]] = {"namespace": ("default", ""), "pinned": (0,), "importance": (0.5,)}
"""Values that ZeroClaw gives by itself."""
_CALLED = {
    "session_id": "session",
    "namespace": "namespace",
    "importance": "importance",
    "pinned": "pin",
    "superseded_by": "superseding memory",
    "kind": "kind",
    "agent": "agent",
    VECTOR: "vector",
}
_OF_LINES = {
    "category": "Markdown has only the categories core and daily, so others become daily ({:,}).",
    "all": "Markdown stores only the date of daily memories, no date for core memories, and no ids ({:,}).",
    "lines": "Each line of Markdown is a memory, so line breaks become blanks ({:,}).",
    "blanks": "Blanks at the start and end of a content are left out ({:,}).",
    "bytes": "Bytes that are not UTF-8 become �, because ZeroClaw would read none of the notes otherwise ({:,}).",
    "keys": "Keys that are blank or contain ** or line breaks are read back differently ({:,}).",
}
_MAX_NAMES, _MAX_NAMES_SHOWN, _NAME_CELLS = 200, 6, 30


class Losses:
    """Looks at each memory of the source as it is and as the target shall have it."""

    def __init__(self, fields: TargetFields) -> None:
        self._fields = fields
        self._counts: Counter[str] = Counter()
        self._columns: Counter[str] = Counter()
        self._agents: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()

    def look(self, row: Row, fitted: Row) -> None:
        """Count what of one memory is lost."""
        fields = self._fields
        # A category that is left out says nothing; one that is blank was said, and is another one afterwards.
        is_blank = "category" in row.values and not row.values["category"]
        self._counts["blank categories"] += is_blank and fitted.values.get("category") == CORE
        if isinstance(fields, RowFields):
            self._count_fields(row, fields.keeps)
            self._look_at_row(fields, row, fitted)
        elif isinstance(fields, NoteFields):
            self._count_fields(row, lambda name: False)
            self._look_at_line(fields, row)

    def refuse(self, why: str) -> None:
        """One that the target cannot take."""
        self._refused[why] += 1

    def _count_fields(self, row: Row, keeps: Callable[[str], bool]) -> None:
        for name, value in row.values.items():
            if value in (None, "") or value in _MEANS_NOTHING.get(name, ()) or keeps(name):
                continue
            if name in CARRIED or name == VECTOR:
                self._counts[name] += 1
            elif name not in KNOWN:
                self._count_others(row, name)

    def _look_at_row(self, fields: RowFields, row: Row, fitted: Row) -> None:
        counts = self._counts
        vector = row.values.get(VECTOR)
        counts["other vectors"] += vector is not None and fields.has_vectors and not fields.takes_vector(vector)
        if row.agent not in (None, DEFAULT_AGENT) and not fields.has_agents:
            counts["agent"] += 1
        elif fields.has_agents and row.agent not in (None, *fields.agents, fields.owner(None)):
            self._count(self._agents, str(row.agent))
        counts["all"] += 1
        for name in ("key", "content"):
            counts["text"] += row.values.get(name) != fitted.values.get(name)
        counts["updated"] += row.values.get("updated_at") not in (None, row.values.get("created_at"))
        if fields.keeps_rows and not fields.source.is_notes:
            reads = zeroclaw_moment if fields.memory.keeps_texts else moment
            times = [value for name in TIMES if (value := row.values.get(name)) is not None]
            counts["times"] += not all(isinstance(value, str) and reads(value) for value in times)

    def _look_at_line(self, fields: NoteFields, row: Row) -> None:
        counts, entry = self._counts, row.entry()
        if entry.agent not in (None, DEFAULT_AGENT) and fields.owner(entry.agent) is None:
            counts["agent"] += 1
        # The key of a keyless line of other notes is only its place.
        is_place = fields.source.is_line(row) and row.handle == entry.key
        counts["all"] += not is_place
        counts["category"] += entry.category not in ("", CORE, DAILY)
        texts = (entry.key, entry.content)
        counts["bytes"] += not all(map(is_unicode, texts))
        counts["lines"] += any("\n" in text or "\r" in text for text in texts)
        counts["blanks"] += in_one_line(entry.content) != entry.content and "\n" not in entry.content
        counts["keys"] += not is_place and not is_read_back(entry.key)

    def _count_others(self, row: Row, name: str) -> None:
        memory = self._fields.source.memory
        for other in (name,) if memory is None else memory.other_fields(row, name):
            self._count(self._columns, other)

    def sentences(self) -> Iterator[str]:
        """One for each kind of loss."""
        fields = self._fields
        profile = backend_info(fields.memory.name)
        label = f"The store {fields.memory.name}" if profile is None else profile.title
        for why, refused in self._refused.items():
            yield f"{why} ({refused:,})."
        for name, called in _CALLED.items():
            if lost := self._counts[name]:
                yield f"{label} does not store the {called} ({lost:,})."
        if blank := self._counts["blank categories"]:
            yield f"Blank categories become core ({blank:,})."
        if self._columns:
            yield f"{label} has no column for {_names(self._columns)}: its values are left out."
        if isinstance(fields, NoteFields):
            yield from self._of_lines()
        elif isinstance(fields, RowFields):
            yield from self._of_rows(fields, label)

    def _of_rows(self, fields: RowFields, label: str) -> Iterator[str]:
        counts = self._counts
        if self._agents:
            owner, number = fields.owner(None), sum(self._agents.values())
            if owner is not None and fields.source.is_file:
                whose = f"their memories go to the agent {one_line(owner)} ({number:,})"
                several = "agent" if len(self._agents) == 1 else "agents"
                yield f"{label} does not know the {several} {_names(self._agents)}: {whose}."
            else:
                yield f"New agents are added to {label}: {_names(self._agents)}."
        count = counts["other vectors"]
        if count and fields.memory.about.embeds_itself:
            yield f"{label} embeds key and content together, so vectors of contents alone are made again ({count:,})."
        elif count:
            yield (
                f"Vectors of another model or length than those of {label} are left out ({count:,}); "
                "run `zeroclaw memory reindex` afterwards."
            )
        if not fields.keeps_rows and counts["all"]:
            yield f"{label} gives each memory a new id and new times ({counts['all']:,})."
        if fields.source.is_notes and counts["all"]:
            yield (
                "Lines of notes have no times, so each gets the day of its file or the time of the copy"
                f" ({counts['all']:,})."
            )
        if count := counts["text"]:
            yield f"{label} stores neither NUL nor bytes that are not UTF-8, so � replaces them ({count:,})."
        if not fields.keeps("updated_at") and fields.keeps_rows and (count := counts["updated"]):
            yield f"{label} stores when a memory was created, but not when it last changed ({count:,})."
        if (count := counts["times"]) and not fields.memory.keeps_texts:
            yield f"Times that cannot be read become the time of the import ({count:,})."
        elif count and fields.source.is_file:
            yield f"Times that ZeroClaw cannot read stay as they are ({count:,})."

    def _of_lines(self) -> Iterator[str]:
        for name, sentence in _OF_LINES.items():
            if count := self._counts[name]:
                yield sentence.format(count)

    def _count(self, counter: Counter[str], name: str) -> None:
        if name in counter or len(counter) < _MAX_NAMES:
            counter[name] += 1


def _names(names: Collection[str]) -> str:
    return first_names(list(names), most=_MAX_NAMES_SHOWN, longest=_NAME_CELLS)
