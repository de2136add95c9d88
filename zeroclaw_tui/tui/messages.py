"""What the loader reports to the browser, each as a small message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from textual.message import Message

from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.query import Facets, Page
from zeroclaw_tui.memory.recall import RecallResult, ScoredEntry
from zeroclaw_tui.tui.view import Part


@dataclass(slots=True)
class Ask:
    """One question to the library, numbered; nobody waits for its answer once a newer one replaced it."""

    number: int
    is_stale: bool = False
    is_answered: bool = False


class Loaded(Message):
    """An answer; to be dropped when its question is stale by the time it is handled."""

    def __init__(self, ask: Ask) -> None:
        super().__init__()
        self.ask = ask

    @property
    def is_stale(self) -> bool:
        """True when a newer question replaced the one this answers."""
        return self.ask.is_stale


class PageLoaded(Loaded):
    """The first rows of a listing; `milliseconds` is how long they took."""

    def __init__(self, ask: Ask, page: Page, milliseconds: float) -> None:
        super().__init__(ask)
        self.page = page
        self.milliseconds = milliseconds


class FacetsLoaded(Loaded):
    """Counts of what the filter leaves; `others` has, for a part that narrows, the counts without it."""

    def __init__(self, ask: Ask, facets: Facets, others: Mapping[Part, Facets]) -> None:
        super().__init__(ask)
        self.facets = facets
        self.others = others


class OrderLoaded(Loaded):
    """The handles of the rows in order, with the first rows as they are now; `is_refresh` for the same view again.

    Of very many rows there may be the first handles only; `total` says how many there are in all.
    """

    def __init__(
        self,
        ask: Ask,
        handles: Sequence[Handle],
        total: int,
        first: Sequence[MemoryEntry],
        *,
        is_refresh: bool = False,
    ) -> None:
        super().__init__(ask)
        self.is_refresh = is_refresh
        self.handles = handles
        self.total = total
        self.first = first


class OrderGrown(Loaded):
    """The same handles and some behind them, or all."""

    def __init__(self, ask: Ask, handles: Sequence[Handle], *, is_whole: bool) -> None:
        super().__init__(ask)
        self.handles = handles
        self.is_whole = is_whole


class RowsLoaded(Loaded):
    """Rows that the list wanted."""

    def __init__(self, ask: Ask, entries: Sequence[MemoryEntry]) -> None:
        super().__init__(ask)
        self.entries = entries


class EntryLoaded(Loaded):
    """One memory with its full content and the norm of its vector, and its scores when it was recalled."""

    def __init__(self, ask: Ask, entry: MemoryEntry, result: ScoredEntry | None, norm: float | None) -> None:
        super().__init__(ask)
        self.entry = entry
        self.norm = norm
        self.result = result


class RecallLoaded(Loaded):
    """A recall's answer and how long it took."""

    def __init__(self, ask: Ask, result: RecallResult, milliseconds: float) -> None:
        super().__init__(ask)
        self.result = result
        self.milliseconds = milliseconds


class FindCounted(Loaded):
    """How many memories contain the query, and how many hold all of its words, None where that is the same."""

    def __init__(self, ask: Ask, count: int, words: int | None = None) -> None:
        super().__init__(ask)
        self.count = count
        self.words = words


class PartsLoaded(Loaded):
    """Of memories whose first match lies behind the beginning that a list has of them, the part with it."""

    def __init__(self, ask: Ask, parts: Mapping[Handle, str]) -> None:
        super().__init__(ask)
        self.parts = parts


class LoadFailed(Loaded):
    """A question that could not be answered."""

    def __init__(self, ask: Ask, error: InspectorError) -> None:
        super().__init__(ask)
        self.error = error


class StoreChanged(Message):
    """Another process has written."""
