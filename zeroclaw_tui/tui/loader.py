"""Asks the library in named worker groups and posts what it answers; an answer to an old question is dropped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from textual.dom import DOMNode
from textual.message import Message
from textual.worker import Worker

from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, Locked, NotReachable, SearchInterrupted
from zeroclaw_tui.memory.query import NEWEST_STORED, Facets, MemoryFilter, Page, Sort
from zeroclaw_tui.memory.recall import SIMILAR, RecallRequest, RecallResult, ScoredEntry
from zeroclaw_tui.tui.format import Highlights, count_text, parts_with_matches, unlit_beginnings
from zeroclaw_tui.tui.view import Mode, Part, RecallOrder, View
from zeroclaw_tui.tui.view import Pace as Pace

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.similar import SimilarMemory, SimilarResult

GOES_BY = (NotReachable, Locked)
"""Failures after which a store may answer again by itself."""
PAGE_ROWS = 200
MOST_ROWS = 500
MANY_ROWS = 20_000
"""Of more rows only the first are asked for in order, and others as they come into sight."""
ORDER_PART = 2_000
_READ_WHOLE = 20
_MOST_SIMILAR = 50
_SCALES = {"vector": "cosine of vectors", "rare words": "shared rare words"}


@dataclass(slots=True)
class Ask:
    """One question to the library, numbered; nobody waits for its answer once a newer one replaced it."""

    number: int
    is_stale: bool = False
    is_answered: bool = False


@dataclass
class Loaded(Message):
    """An answer; to be dropped when its question is stale by the time it is handled."""

    ask: Ask

    @property
    def is_stale(self) -> bool:
        """True when a newer question replaced the one this answers."""
        return self.ask.is_stale


@dataclass
class PageLoaded(Loaded):
    """The first rows of a listing; `milliseconds` is how long they took."""

    page: Page
    milliseconds: float


@dataclass
class FacetsLoaded(Loaded):
    """Counts of what the filter leaves; `others` has, for a part that narrows, the counts without it."""

    facets: Facets
    others: Mapping[Part, Facets]


@dataclass
class OrderLoaded(Loaded):
    """The handles of the rows in order, with the first rows as they are now; `is_refresh` for the same view again.

    Of very many rows there may be the first handles only; `total` says how many there are in all.
    """

    handles: Sequence[Handle]
    total: int
    first: Sequence[MemoryEntry]
    is_refresh: bool


@dataclass
class OrderGrown(Loaded):
    """The same handles and some behind them, or all."""

    handles: Sequence[Handle]
    is_whole: bool


@dataclass
class RowsLoaded(Loaded):
    """Rows that the list wanted."""

    entries: Sequence[MemoryEntry]


@dataclass
class EntryLoaded(Loaded):
    """One memory with its full content and the norm of its vector, and its scores when it was recalled."""

    entry: MemoryEntry
    result: ScoredEntry | None
    norm: float | None


@dataclass
class RecallLoaded(Loaded):
    """A recall's answer and how long it took."""

    result: RecallResult
    milliseconds: float


@dataclass
class FindCounted(Loaded):
    """How many memories contain the query, and how many hold all of its words, None where that is the same."""

    count: int
    words: int | None = None


@dataclass
class PartsLoaded(Loaded):
    """Of memories whose first match lies behind the beginning that a list has of them, the part with it."""

    parts: Mapping[Handle, str]


@dataclass
class LoadFailed(Loaded):
    """A question that could not be answered."""

    error: InspectorError


class StoreChanged(Message):
    """Another process has written."""


class Loader:
    """One library's questions and answers, for one part of the screen.

    Listing and recall share the group "list": what the list shows has one author at a time. Each of its questions
    ends the one before, and no other's.
    """

    def __init__(self, node: DOMNode, library: Library, pace: Pace) -> None:
        self._node = node
        self._library = library
        self._pace = pace
        self._numbers = count(1)
        self._asks: dict[str, Ask] = {}
        self._version: int | None = None
        self._counted: tuple[object, ...] | None = None
        self._is_away = False
        self._sought = MemoryFilter()
        self._listed: tuple[MemoryFilter, Sort, Sequence[Handle]] = (MemoryFilter(), NEWEST_STORED, ())
        self.recalled_keys: tuple[str, ...] | None = None
        """What is in anything that is recorded, once that was counted."""

    def list_memories(self, view: View, now: datetime, *, keep_place: bool = False) -> None:
        """Page, counts, then the full order. With `keep_place` the page comes with the order and not before."""
        self._run("list", lambda ask: self._list(ask, view, now, keep_place))

    def recall(self, view: View, now: datetime) -> None:
        """What the agent would recall."""
        self._run("list", lambda ask: self._recall(ask, view, now))

    def find_similar(self, view: View, now: datetime) -> None:
        """The memories nearest to one of them, or to a text: by its words while its vector is fetched."""
        self._run("list", lambda ask: self._similar(ask, view, now))

    def want_rows(self, handles: Sequence[Handle]) -> None:
        """Rows of the listing that is shown now."""
        ask = self._asks.get("list")
        if ask is not None and handles:
            self._start(ask, lambda ask: self._rows(ask, handles[:MOST_ROWS]), "rows")

    def want_order(self, rows: int) -> None:
        """The order of the listing that is shown now, for so many rows at least."""
        ask = self._asks.get("list")
        if ask is not None:
            self._start(ask, lambda ask: self._grow(ask, rows), "order", exclusive=True)

    def want_found(self, view: View, now: datetime) -> None:
        """How many memories contain the query of the recall that is shown now, and what passes the filters."""
        ask = self._asks.get("list")
        if ask is not None:
            self._start(ask, lambda ask: self._count_found(ask, view, now), "list")

    def want_entry(self, entry: MemoryEntry, result: ScoredEntry | None) -> None:
        """One memory in full, with the norm of its vector."""
        self._run("entry", lambda ask: self._entry(ask, entry, result))

    def prepare_vectors(self) -> None:
        """Load what vector search needs while the query is still being typed; once."""
        if "vectors" not in self._asks and self._library.why_no_vectors is None:
            self._run("vectors", lambda ask: self._library.memory.prepare_vectors())

    def poll(self) -> None:
        """Ask whether another process has written; does nothing while an earlier poll is under way."""
        earlier = self._asks.get("poll")
        if earlier is None or earlier.is_answered:
            self._run("poll", self._poll)

    def is_away(self) -> None:
        """The store does not answer: from now on each poll asks whether it does again."""
        self._is_away = True

    def changed_here(self) -> None:
        """What was written just now is our own: the next listing shows it, and no poll has to."""
        self._version = None

    def stop(self) -> None:
        """Wait for no answer any more."""
        for ask in self._asks.values():
            ask.is_stale = True
        for group in ("list", "rows", "order", "entry", "poll", "vectors"):
            self._node.workers.cancel_group(self._node, group)

    def _run(self, group: str, question: Callable[[Ask], Awaitable[None]]) -> None:
        old = self._asks.get(group)
        if old is not None:
            old.is_stale = True
        ask = self._asks[group] = Ask(next(self._numbers))
        self._start(ask, question, group, exclusive=True)

    def _start(
        self, ask: Ask, question: Callable[[Ask], Awaitable[None]], group: str, *, exclusive: bool = False
    ) -> None:
        # Not a coroutine: a worker that is cancelled before its first step would leave that behind, never awaited.
        asking = partial(self._answer, ask, question)
        description = f"{group} {ask.number}"
        worker: Worker[None] = Worker(self._node, asking, group=group, description=description)
        self._node.workers.add_worker(worker, start=True, exclusive=exclusive)

    async def _answer(self, ask: Ask, question: Callable[[Ask], Awaitable[None]]) -> None:
        try:
            await question(ask)
        except SearchInterrupted:
            # The store is being closed.
            return
        except InspectorError as error:
            self._is_away = self._is_away or isinstance(error, GOES_BY)
            self._post(LoadFailed(ask, error))
        ask.is_answered = True

    def _post(self, message: Loaded) -> None:
        if not message.is_stale:
            self._node.post_message(message)

    async def _list(self, ask: Ask, view: View, now: datetime, keep_place: bool) -> None:
        chosen = view.listing_filter(now)
        if self._version is None:
            # Read before the rows, so that what is written in between is seen by the next poll.
            self._version = await self._library.memory.data_version()
        if view.recalled is not None:
            await self._list_by_recalls(ask, view, now, view.recalled, keep_place)
            return
        started = self._pace.stopwatch()
        page = await self._library.memory.page(chosen, view.sort, None, PAGE_ROWS)
        if not keep_place:
            self._post(PageLoaded(ask, page, self._since(started)))
        counted = await self._count(ask, view, now)
        handles: Sequence[Handle] = [entry.handle for entry in page.entries]
        total = len(handles)
        known = max(len(self._listed[2]) if keep_place else 0, PAGE_ROWS)
        if page.next is not None:
            if self._library.memory.orders_in_parts and counted.total > MANY_ROWS >= known:
                handles, total = await self._library.memory.order_part(chosen, view.sort, 0, known)
            else:
                handles = await self._library.memory.order(chosen, view.sort)
                total = len(handles)
        self._listed = (chosen, view.sort, handles)
        self._post(OrderLoaded(ask, handles, total, page.entries, is_refresh=keep_place))
        self._sought = view.sought
        await self._scan(ask, page.entries)
        await self._look_further(ask, page.entries)

    async def _list_by_recalls(self, ask: Ask, view: View, now: datetime, order: RecallOrder, keep_place: bool) -> None:
        """The listing by how often memories were recalled; of those that never were, the one stored last first."""
        memory, started = self._library.memory, self._pace.stopwatch()
        handles = await memory.order(view.listing_filter(now), NEWEST_STORED)
        left = dict.fromkeys(handles)
        recalled = [entry.handle for key in order.keys for entry in await memory.with_key(key) if entry.handle in left]
        never = [handle for handle in handles if handle not in frozenset(recalled)]
        handles = [*never, *reversed(recalled)] if order.is_turned else [*recalled, *never]
        found = {entry.handle: entry for entry in await memory.rows(handles[:PAGE_ROWS])}
        first = tuple(found[handle] for handle in handles[:PAGE_ROWS] if handle in found)
        if not keep_place:
            self._post(PageLoaded(ask, Page(first, None), self._since(started)))
        await self._count(ask, view, now)
        self._listed = (view.listing_filter(now), view.sort, handles)
        self._post(OrderLoaded(ask, handles, len(handles), first, is_refresh=keep_place))
        self._sought = view.sought
        await self._scan(ask, first)
        await self._look_further(ask, first)

    async def _grow(self, ask: Ask, rows: int) -> None:
        """A part more where the rows lie near, else all of the order: nobody goes from part to part to its end."""
        chosen, sort, handles = self._listed
        more = max(rows - len(handles), ORDER_PART)
        if more > MANY_ROWS:
            grown, is_whole = await self._library.memory.order(chosen, sort), True
        else:
            part, total = await self._library.memory.order_part(chosen, sort, len(handles), more)
            # What was stored meanwhile has moved rows that are known already into this part.
            known = frozenset(handles)
            grown = [*handles, *(handle for handle in part if handle not in known)]
            is_whole = len(handles) + more >= total
        if not ask.is_stale:
            self._listed = (chosen, sort, grown)
            self._post(OrderGrown(ask, grown, is_whole=is_whole))

    async def _count(self, ask: Ask, view: View, now: datetime) -> Facets:
        moment = now.isoformat()
        chosen = view.listing_filter(now)
        facets = await self._library.memory.facets(chosen, moment)
        if self.recalled_keys is not None:
            # Which of them are left is counted only where the list is not narrowed to them already.
            never = chosen.but(without_keys=self.recalled_keys)
            counted = facets if chosen == never else await self._library.memory.facets(never, moment)
            facets = facets._replace(never_recalled=counted.total)
        others: dict[Part, Facets] = {
            part: await self._library.memory.facets(wider, moment) for part, wider in view.facet_filters(now).items()
        }
        self._counted = _what_is_counted(view)
        self._post(FacetsLoaded(ask, facets, others))
        return facets

    async def _recall(self, ask: Ask, view: View, now: datetime) -> None:
        started = self._pace.stopwatch()
        async with aclosing(
            self._library.recall_steps(view.request(now, self._library.config, self._library.memory.recall_limit))
        ) as steps:
            async for result in steps:
                self._post(RecallLoaded(ask, result, self._since(started)))

    async def _count_found(self, ask: Ask, view: View, now: datetime) -> None:
        if self._counted != _what_is_counted(view):
            await self._count(ask, view, now)
        moment = now.isoformat()
        found = await self._library.memory.facets(view.finding_filter(now), moment)
        words = view.finding_filter(now, Mode.WORDS)
        if words.words is None or words.words == (view.query,):
            self._post(FindCounted(ask, found.total))
        else:
            self._post(FindCounted(ask, found.total, (await self._library.memory.facets(words, moment)).total))

    async def _similar(self, ask: Ask, view: View, now: datetime) -> None:
        from zeroclaw_tui.curation.similar import similar_steps

        started = self._pace.stopwatch()
        request = view.request(now, self._library.config, self._library.memory.recall_limit)
        near = similar_steps(self._library, text=view.query, limit=_MOST_SIMILAR)
        async with aclosing(near) as steps:
            async for found in steps:
                self._post(RecallLoaded(ask, _similar_ranking(found, request), self._since(started)))
                if self._counted != _what_is_counted(view):
                    await self._count(ask, view, now)

    async def _rows(self, ask: Ask, handles: Sequence[Handle]) -> None:
        entries = await self._library.memory.rows(handles)
        self._post(RowsLoaded(ask, entries))
        await self._scan(ask, entries)
        await self._look_further(ask, entries)

    async def _look_further(self, ask: Ask, entries: Sequence[MemoryEntry]) -> None:
        """Show where the first match is of those that have none in what the list holds of them."""
        sought = self._sought
        if not sought.looks_for_text:
            return
        lights = await asyncio.to_thread(Highlights.of, sought)
        unlit = await asyncio.to_thread(unlit_beginnings, entries, lights)
        for start in range(0, len(unlit), _READ_WHOLE):
            whole = await self._library.memory.whole_rows(unlit[start : start + _READ_WHOLE])
            parts = await asyncio.to_thread(parts_with_matches, whole, lights)
            if parts:
                self._post(PartsLoaded(ask, parts))

    async def _scan(self, ask: Ask, entries: Sequence[MemoryEntry]) -> None:
        """Mark what the agent does not get, after the rows are there: long contents are read for it."""
        withheld = [entry for entry in await self._library.scanned(entries) if entry.withheld]
        if withheld:
            self._post(RowsLoaded(ask, withheld))

    async def _entry(self, ask: Ask, entry: MemoryEntry, result: ScoredEntry | None) -> None:
        whole = await self._library.memory.whole(entry.handle) if entry.is_excerpt else entry
        norm = await self._library.memory.vector_norm(entry.handle) if entry.embedding_dimensions else None
        (scanned,) = await self._library.scanned([whole])
        self._post(EntryLoaded(ask, scanned, result, norm))

    async def _poll(self, ask: Ask) -> None:
        if self._is_away:
            # A version may be told without the server; that it answers is what counts now.
            if not await self._library.memory.health_check():
                return
            self._is_away = False
            self._node.post_message(StoreChanged())
        version = await self._library.memory.data_version()
        before, self._version = self._version, version
        # Without an earlier version a listing is under way that is newer than any.
        if before is not None and version != before:
            self._node.post_message(StoreChanged())
            if "vectors" in self._asks:
                # Brought up to date now, the next recall need not wait for it.
                await self._library.memory.prepare_vectors()

    def _since(self, started: float) -> float:
        return (self._pace.stopwatch() - started) * 1000


def _what_is_counted(view: View) -> tuple[object, ...]:
    """What the counts of a view depend on, besides the moment."""
    return (view.filter, view.age, view.sought)


def _similar_ranking(found: SimilarResult, request: RecallRequest) -> RecallResult:
    """The nearest memories with a part of the score that says by what they are near: a cosine, or words."""
    is_by_vector = found.way == "vector"
    compared = f"{count_text(found.looked_at)} compared by {'their vectors' if is_by_vector else 'rare words'}"
    return RecallResult(
        request=request,
        backend=found.backend,
        location=found.location,
        profile="",
        profile_source="",
        mode=SIMILAR,
        weights=(0.0, 0.0),
        threshold=0.0,
        scale=_SCALES[found.way],
        results=tuple(_scored(near, is_by_vector) for near in found.results),
        notes=(compared,) if found.because is None else (compared, found.because),
        awaits_vector=found.awaits_vector,
    )


def _scored(near: SimilarMemory, is_by_vector: bool) -> ScoredEntry:
    return ScoredEntry(
        near.entry,
        near.rank,
        None,
        vector_score=near.score if is_by_vector else None,
        keyword_score=None if is_by_vector else near.score,
        stage=SIMILAR,
        shared=near.shared,
    )
