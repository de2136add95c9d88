"""What the lucid program says about a query, read and merged with the local hits as ZeroClaw's bridge does it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice

from zeroclaw_tui.backends.listing import moment
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry
from zeroclaw_tui.memory.text import WHITE_SPACE

STAGE = "lucid"
SCALE = "by rank: 1.0, 0.95, 0.90 … 0.1"
OPENING, CLOSING = "<lucid-context>", "</lucid-context>"

_ITEM = "- ["
_LEAST_SCORE, _LESS_EACH = 0.1, 0.05
_CATEGORIES = {
    "decision": "core",
    "learning": "core",
    "solution": "core",
    "context": "conversation",
    "conversation": "conversation",
    "bug": "daily",
}
_TYPES = {"core": "decision", "daily": "context", "conversation": "conversation"}


def type_of(category: str) -> str:
    """The type under which a memory of this category is handed to lucid."""
    return _TYPES.get(category, "learning")


def category_of(label: str) -> str:
    """The category of a memory that lucid gives under this label; one that nobody knows is a category of its own."""
    lowered = label.lower()
    return "visual" if "visual" in lowered else _CATEGORIES.get(lowered, lowered)


def items_in(text: str) -> list[tuple[str, str]]:
    """Label and content of every item between the two tags, in their order; all other lines mean nothing.

    Lines end at a line feed alone, and blanks around a line, a label and a content do not count. An item lies on one
    line: lucid does not escape the line ends of a content, so what follows one is lost, in ZeroClaw as here.
    """
    items: list[tuple[str, str]] = []
    within = False
    for line in (line.strip(WHITE_SPACE) for line in text.split("\n")):
        if line == CLOSING:
            break
        if line == OPENING:
            within = True
        elif within and line.startswith(_ITEM):
            label, bracket, content = line.removeprefix(_ITEM).partition("]")
            content = content.strip(WHITE_SPACE)
            if bracket and content:
                items.append((label.strip(WHITE_SPACE), content))
    return items


def scored(items: Sequence[tuple[str, str]], now: str, namespace: str | None, asked: int) -> list[ScoredEntry]:
    """The items as memories of this moment, in the order lucid gave them, each scored by its place.

    Lucid numbers nothing itself: ids and keys are those ZeroClaw makes up, the same for every query. `asked` makes the
    handles of one answer differ from those of any other.
    """
    found = []
    for place, (label, content) in enumerate(items):
        entry = MemoryEntry(
            id=f"lucid:{place}",
            key=f"lucid_{place}",
            content=content,
            category=category_of(label),
            timestamp=now,
            namespace=namespace,
            handle=f"lucid:{asked}:{place}",
        )
        score = max(_LEAST_SCORE, 1.0 - place * _LESS_EACH)
        found.append(ScoredEntry(entry.whole(content), place + 1, score, stage=STAGE))
    return found


def merged(local: Iterable[ScoredEntry], lucid: Iterable[ScoredEntry], limit: int) -> list[ScoredEntry]:
    """The local rows, then lucid's, each pair of key and content once whatever its letters' case, at most `limit`."""
    first: dict[str, ScoredEntry] = {}
    for found in (*local, *lucid):
        first.setdefault(f"{found.entry.key.lower()}\0{found.entry.content.lower()}", found)
    return list(islice(first.values(), max(limit, 0)))


def within_bounds(request: RecallRequest) -> Callable[[ScoredEntry], bool]:
    """Whether a row lies within the time bounds of a request, as moments; a time that cannot be read does."""
    since, until = moment(request.since), moment(request.until)

    def holds(found: ScoredEntry) -> bool:
        at = moment(found.entry.timestamp)
        return at is None or not ((since is not None and at < since) or (until is not None and at > until))

    return holds


def ranked(found: Iterable[ScoredEntry]) -> tuple[ScoredEntry, ...]:
    """The same rows with their places in this order."""
    return tuple(replace(each, rank=rank) for rank, each in enumerate(found, 1))
