"""What a store does not keep of the memories of another one, counted, and told in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from zeroclaw_tui.backends.listing import moment
from zeroclaw_tui.backends.profiles import backend_profile
from zeroclaw_tui.curation.transfer.fitting import DEFAULT_AGENT, told_names
from zeroclaw_tui.curation.transfer.keeping import Keeping
from zeroclaw_tui.curation.transfer.note_keeping import CORE, DAILY, NoteKeeping
from zeroclaw_tui.curation.transfer.noted import in_one_line, is_told_again
from zeroclaw_tui.curation.transfer.row_keeping import CARRIED, KNOWN, TIMES, VECTOR, RowKeeping
from zeroclaw_tui.memory.change import StoredRow, Value
from zeroclaw_tui.memory.text import is_unicode

_MEANS_NOTHING: dict[str, tuple[Value, ...]] = {"namespace": ("default", ""), "pinned": (0,), "importance": (0.5,)}
"""Values that ZeroClaw gives by itself."""
_CALLED = {
    "session_id": "session",
    "namespace": "namespace",
    "importance": "importance",
    "pinned": "pin",
    "superseded_by": "word of which newer memory replaced one",
    "kind": "kind",
    "agent": "agent",
    VECTOR: "vector",
}
_MOST_NAMES = 200


class CopyLosses:
    """Looks at each memory of the source as it is and as the target shall have it."""

    def __init__(self, keeping: Keeping) -> None:
        self._keeping = keeping
        self._counts: Counter[str] = Counter()
        self._columns: Counter[str] = Counter()
        self._agents: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()

    def look(self, row: StoredRow, fitted: StoredRow) -> None:
        """Count what of one memory is lost."""
        if isinstance(self._keeping, RowKeeping):
            self._look_at_row(self._keeping, row, fitted)
        elif isinstance(self._keeping, NoteKeeping):
            self._look_at_line(self._keeping, row)

    def refuse(self, why: str) -> None:
        """One that the target cannot take."""
        self._refused[why] += 1

    def _look_at_row(self, keeping: RowKeeping, row: StoredRow, fitted: StoredRow) -> None:
        counts = self._counts
        for name, value in row.values.items():
            if value in (None, "") or value in _MEANS_NOTHING.get(name, ()):
                continue
            if name in CARRIED or name == VECTOR:
                counts[name] += not keeping.keeps(name)
            elif name not in KNOWN and not keeping.keeps(name):
                self._count_others(row, name)
        vector = row.values.get(VECTOR)
        counts["other vectors"] += vector is not None and keeping.has_vectors and not keeping.takes_vector(vector)
        if row.agent not in (None, DEFAULT_AGENT) and not keeping.has_agents:
            counts["agent"] += 1
        elif keeping.has_agents and fitted.agent not in (None, DEFAULT_AGENT, *keeping.agents):
            self._count(self._agents, str(fitted.agent))
        counts["all"] += 1
        for name in ("key", "content"):
            counts["text"] += row.values.get(name) != fitted.values.get(name)
        counts["updated"] += row.values.get("updated_at") not in (None, row.values.get("created_at"))
        if keeping.keeps_rows and not keeping.origin.is_notes:
            counts["times"] += any(_is_odd(row.values.get(name)) for name in TIMES) and not keeping.memory.keeps_bytes

    def _look_at_line(self, keeping: NoteKeeping, row: StoredRow) -> None:
        counts, entry = self._counts, row.entry()
        for name, value in row.values.items():
            if value in (None, "") or value in _MEANS_NOTHING.get(name, ()):
                continue
            if name in CARRIED or name == VECTOR:
                counts[name] += 1
            elif name not in KNOWN:
                self._count_others(row, name)
        if entry.agent not in (None, DEFAULT_AGENT) and keeping.owner(entry.agent) is None:
            counts["agent"] += 1
        # The key of a keyless line of other notes is only its place.
        is_place = keeping.origin.is_line(row) and row.handle == entry.key
        counts["all"] += not is_place
        counts["core"] += entry.category == CORE
        counts["category"] += entry.category not in (CORE, DAILY)
        texts = (entry.key, entry.content)
        counts["bytes"] += not all(map(is_unicode, texts))
        counts["lines"] += any("\n" in text or "\r" in text for text in texts)
        counts["blanks"] += in_one_line(entry.content) != entry.content and "\n" not in entry.content
        counts["keys"] += not is_place and not is_told_again(entry.key)

    def _count_others(self, row: StoredRow, name: str) -> None:
        memory = self._keeping.origin.memory
        for other in (name,) if memory is None else memory.other_fields(row, name):
            self._count(self._columns, other)

    def sentences(self) -> Iterator[str]:
        """One for each kind of loss."""
        keeping = self._keeping
        profile = backend_profile(keeping.memory.name)
        label = f"The store {keeping.memory.name}" if profile is None else profile.title
        for why, count in self._refused.items():
            yield f"{why} ({count:,})."
        for name, called in _CALLED.items():
            if count := self._counts[name]:
                yield f"{label} keeps no {called} ({count:,} {'has' if count == 1 else 'have'} one)."
        if self._columns:
            yield f"{label} has no column for {told_names(self._columns)}: what stands there is left out."
        if isinstance(keeping, NoteKeeping):
            yield from self._of_lines()
        elif isinstance(keeping, RowKeeping):
            yield from self._of_rows(keeping, label)

    def _of_rows(self, keeping: RowKeeping, label: str) -> Iterator[str]:
        counts = self._counts
        if self._agents:
            yield f"Agents that {label} does not know are added there: {told_names(self._agents)}."
        count = counts["other vectors"]
        if count and keeping.memory.embeds_itself:
            yield f"{label} embeds key and content together, so vectors of contents alone are made anew ({count:,})."
        elif count:
            yield (
                f"Vectors of another model or length than those of {label} are left out ({count:,}); "
                "`zeroclaw memory reindex` makes them anew."
            )
        if not keeping.keeps_rows and counts["all"]:
            yield f"{label} gives each memory an id and times of its own ({counts['all']:,})."
        if keeping.origin.is_notes and counts["all"]:
            yield (
                "Lines of notes have no time of their own: each gets the day of its file, or the moment of the copy"
                f" ({counts['all']:,})."
            )
        if count := counts["text"]:
            yield f"{label} keeps no NUL and nothing that is no UTF-8: � stands in its place ({count:,})."
        if not keeping.keeps("updated_at") and keeping.keeps_rows and (count := counts["updated"]):
            yield f"{label} keeps no time of the last store beside that of the first ({count:,} have another)."
        if count := counts["times"]:
            yield f"Times that cannot be read become the moment of the copy ({count:,})."

    def _of_lines(self) -> Iterator[str]:
        counts = self._counts
        if count := counts["category"]:
            yield f"Markdown knows the categories core and daily: others are read back as daily ({count:,})."
        if count := counts["all"]:
            yield f"Markdown keeps of each time the day alone, of core memories none, and no id ({count:,})."
        if count := counts["lines"]:
            yield f"Each line of Markdown is a memory, so line breaks become blanks ({count:,} have some)."
        if count := counts["blanks"]:
            yield f"Blanks around a content are left out ({count:,})."
        if count := counts["bytes"]:
            yield f"What is no UTF-8 becomes �, or ZeroClaw would read none of the notes ({count:,})."
        if count := counts["keys"]:
            yield f"Keys that are blank or hold ** or line breaks are not read back as they are ({count:,})."

    def _count(self, counter: Counter[str], name: str) -> None:
        if name in counter or len(counter) < _MOST_NAMES:
            counter[name] += 1


def _is_odd(value: Value) -> bool:
    return value is not None and not (isinstance(value, str) and moment(value) is not None)
