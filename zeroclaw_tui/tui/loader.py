"""Asks the library in named worker groups and shows what it answers; an answer to an old question is dropped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.lookup import count_facets, entries_with_key, vector_norm, whole_entry
from zeroclaw_tui.curation.recall import recall_steps
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, Locked, NotReachable, SearchInterrupted
from zeroclaw_tui.memory.query import ENTRIES, EXCERPTS, HANDLES, NEWEST_STORED, Facets, MemoryFilter, Query, Sort
from zeroclaw_tui.memory.recall import SIMILAR, RecallRequest, RecallResult, ScoredEntry
from zeroclaw_tui.tui.format import Highlights, excerpts_without_match, parts_with_matches
from zeroclaw_tui.tui.view import Pace as Pace
from zeroclaw_tui.tui.view import Part, RecallOrder, View

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.similar import SimilarResult
    from zeroclaw_tui.tui.rooms.panes import BrowserPanes

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
    """One question to the library; its answer is dropped once a newer question replaces it."""

    is_stale: bool = False
    is_answered: bool = False


Question = Callable[[Ask], Awaitable[None]]


class Loader:
    """One library's questions, whose answers the panes of a browser show.

    Listing and recall share the group "list": only one of them fills the list at a time. Each of its questions
    ends the previous one of its group.
    """

    def __init__(self, panes: BrowserPanes, library: Library, pace: Pace) -> None:
        self._panes = panes
        self._library = library
        self._pace = pace
        self._asks: dict[str, Ask] = {}
        self._version: int | None = None
        self._counted: tuple[object, ...] | None = None
        self._is_away = False
        self._has_recalled = False
        self._total = 0
        """How many memories the last listing counted."""
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
        self._go_on("rows", lambda ask: self._rows(ask, handles[:MOST_ROWS]))

    def want_order(self, rows: int) -> None:
        """The order of the listing that is shown now, for so many rows at least."""
        self._go_on("order", lambda ask: self._grow(ask, rows), exclusive=True)

    def want_found(self, view: View, now: datetime) -> None:
        """How many memories contain the query of the recall that is shown now, and what passes the filters."""
        self._go_on("list", lambda ask: self._count_found(ask, view, now))

    def want_entry(self, entry: MemoryEntry, result: ScoredEntry | None) -> None:
        """One memory in full, with the norm of its vector."""
        self._run("entry", lambda ask: self._entry(ask, entry, result))

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
        """Stop waiting for answers."""
        for ask in self._asks.values():
            ask.is_stale = True
        for group in ("list", "rows", "order", "entry", "poll"):
            self._panes.workers.cancel_group(self._panes, group)

    def _run(self, group: str, question: Question) -> None:
        old = self._asks.get(group)
        if old is not None:
            old.is_stale = True
        ask = self._asks[group] = Ask()
        self._start(group, ask, question, exclusive=True)

    def _go_on(self, group: str, question: Question, *, exclusive: bool = False) -> None:
        """Ask for more of the list that is shown now."""
        ask = self._asks.get("list")
        if ask is not None:
            self._start(group, ask, question, exclusive=exclusive)

    def _start(self, group: str, ask: Ask, question: Question, *, exclusive: bool) -> None:
        # Not a coroutine: a worker that is cancelled before its first step would leave that behind, never awaited.
        asking: Callable[[], Awaitable[None]] = partial(self._answer, ask, question)
        self._panes.run_worker(asking, group=group, exclusive=exclusive)

    async def _answer(self, ask: Ask, question: Question) -> None:
        try:
            await question(ask)
        except SearchInterrupted:
            # The store is being closed.
            return
        except InspectorError as error:
            self._is_away = self._is_away or isinstance(error, GOES_BY)
            self._show(ask, self._panes.show_load_failed, error)
        ask.is_answered = True

    def _show(self, ask: Ask, show: Callable[..., None], *answer: object) -> None:
        """Show an answer in its turn, unless a newer question has replaced its own by then."""

        def show_now() -> None:
            if not ask.is_stale:
                show(*answer)

        if not ask.is_stale:
            self._panes.call_later(show_now)

    async def _list(self, ask: Ask, view: View, now: datetime, keep_place: bool) -> None:
        chosen = view.listing_filter(now)
        if self._version is None:
            # Read before the rows, so that what is written in between is seen by the next poll.
            self._version = await self._library.memory.version()
        memory, started = self._library.memory, self._pace.stopwatch()
        is_whole = True
        if view.recalled is not None:
            handles = await self._by_recalls(chosen, view.recalled)
            found = {entry.handle: entry for entry in await memory.rows(Query(EXCERPTS, handles=handles[:PAGE_ROWS]))}
            first: Sequence[MemoryEntry] = [found[handle] for handle in handles[:PAGE_ROWS] if handle in found]
        else:
            page = await memory.rows(Query(EXCERPTS, chosen, view.sort, limit=PAGE_ROWS))
            first, is_whole = page, len(page) < PAGE_ROWS
            handles = [entry.handle for entry in first]
        if not handles and view.shows_all:
            self._show(ask, self._panes.know_changes, await self._was_changed())
        elif not keep_place:
            self._show(ask, self._panes.show_page, first, self._since(started))
        known = max(len(self._listed[2]) if keep_place else 0, PAGE_ROWS)
        # To count a million rows takes seconds: a long list of a file does not wait for it, but of a server only the
        # part of the order that is seen is asked for.
        counts_first = is_whole or memory.about.path is None
        counted = await self._count(ask, view, now) if counts_first else None
        in_parts = counted is not None and counted.total > MANY_ROWS >= known
        if not is_whole:
            query = Query(HANDLES, chosen, view.sort, limit=known if in_parts else None)
            handles = await memory.rows(query)
        total = max(counted.total, len(handles)) if counted is not None and in_parts else len(handles)
        self._listed = (chosen, view.sort, handles)
        self._show(ask, self._panes.show_order, handles, total, first, keep_place)
        self._sought = view.sought
        await self._look_into(ask, first)
        if not counts_first:
            await self._count(ask, view, now)

    async def _was_changed(self) -> bool:
        """Whether there is a change to undo here; an unreadable trash is reported where it is shown."""
        try:
            return await self._library.trash.last() is not None
        except InspectorError:
            return False

    async def _by_recalls(self, chosen: MemoryFilter, order: RecallOrder) -> Sequence[Handle]:
        """A listing by how often memories were recalled; of those that never were, the one stored last first."""
        memory = self._library.memory
        handles = await memory.rows(Query(HANDLES, chosen, NEWEST_STORED))
        left = dict.fromkeys(handles)
        recalled = [
            entry.handle for key in order.keys for entry in await entries_with_key(memory, key) if entry.handle in left
        ]
        never = [handle for handle in handles if handle not in frozenset(recalled)]
        return [*never, *reversed(recalled)] if order.is_turned else [*recalled, *never]

    async def _grow(self, ask: Ask, rows: int) -> None:
        """One more part if the rows are near, else the whole order."""
        chosen, sort, handles = self._listed
        more = max(rows - len(handles), ORDER_PART)
        if more > MANY_ROWS:
            grown, is_whole = await self._library.memory.rows(Query(HANDLES, chosen, sort)), True
        else:
            query = Query(HANDLES, chosen, sort, offset=len(handles), limit=more)
            part = await self._library.memory.rows(query)
            # What was stored in the meantime has moved rows that are known already into this part.
            known = frozenset(handles)
            grown = [*handles, *(handle for handle in part if handle not in known)]
            is_whole = len(part) < more
        if not ask.is_stale:
            self._listed = (chosen, sort, grown)
            self._show(ask, self._panes.show_more_order, grown, is_whole)

    async def _count(self, ask: Ask, view: View, now: datetime) -> Facets:
        moment = now.isoformat()
        chosen = view.listing_filter(now)
        facets = await count_facets(self._library.memory, chosen, moment)
        if self.recalled_keys is not None:
            # Which of them are left is counted only where the list is not narrowed to them already.
            never = chosen.but(without_keys=self.recalled_keys)
            counted = facets if chosen == never else await count_facets(self._library.memory, never, moment)
            facets = facets._replace(never_recalled=counted.total)
        others: dict[Part, Facets] = {
            part: await count_facets(self._library.memory, wider, moment)
            for part, wider in view.facet_filters(now).items()
        }
        self._counted, self._total = _what_is_counted(view), facets.total
        self._show(ask, self._panes.show_facets, facets, others)
        return facets

    async def _recall(self, ask: Ask, view: View, now: datetime) -> None:
        started = self._pace.stopwatch()
        request = view.request(now, self._library.config, self._library.memory.about.recall_limit)
        # The first recall of a big store reads all its vectors.
        words_first = not self._has_recalled and self._library.memory.about.rule is None and self._total > MANY_ROWS
        async with aclosing(
            recall_steps(self._library, self._library.trial(request), words_first=words_first)
        ) as steps:
            async for result in steps:
                self._show(ask, self._panes.show_recall, result, self._since(started))
        self._has_recalled = True

    async def _count_found(self, ask: Ask, view: View, now: datetime) -> None:
        if self._counted != _what_is_counted(view):
            await self._count(ask, view, now)
        moment = now.isoformat()
        found = await count_facets(self._library.memory, view.finding_filter(now), moment)
        self._show(ask, self._panes.show_found, found.total)

    async def _similar(self, ask: Ask, view: View, now: datetime) -> None:
        from zeroclaw_tui.curation.similar import similar_memories

        started = self._pace.stopwatch()
        request = view.request(now, self._library.config, self._library.memory.about.recall_limit)
        text = view.query if view.similar_to is None else ""
        found = await similar_memories(self._library, entry=view.similar_to, text=text, limit=_MOST_SIMILAR)
        self._show(ask, self._panes.show_recall, _similar_ranking(found, request), self._since(started))
        if self._counted != _what_is_counted(view):
            await self._count(ask, view, now)

    async def _rows(self, ask: Ask, handles: Sequence[Handle]) -> None:
        entries = await self._library.memory.rows(Query(EXCERPTS, handles=handles))
        self._show(ask, self._panes.rows.put_rows, entries)
        await self._look_into(ask, entries)

    async def _look_into(self, ask: Ask, entries: Sequence[MemoryEntry]) -> None:
        """Mark what the agent does not get, after the rows are there: long contents are read for it.

        Of what has no match in what the list holds of it, show where the first one is.
        """
        withheld = [entry for entry in await self._library.scanned(entries) if entry.withheld]
        if withheld:
            self._show(ask, self._panes.rows.put_rows, withheld)
        sought = self._sought
        if not sought.looks_for_text:
            return
        lights = await asyncio.to_thread(Highlights.of, sought)
        unlit = await asyncio.to_thread(excerpts_without_match, entries, lights)
        for start in range(0, len(unlit), _READ_WHOLE):
            whole = await self._library.memory.rows(Query(ENTRIES, handles=unlit[start : start + _READ_WHOLE]))
            parts = await asyncio.to_thread(parts_with_matches, whole, lights)
            if parts:
                self._show(ask, self._panes.rows.show_parts, parts)

    async def _entry(self, ask: Ask, entry: MemoryEntry, result: ScoredEntry | None) -> None:
        whole = await whole_entry(self._library.memory, entry.handle) if entry.is_excerpt else entry
        norm = await vector_norm(self._library.memory, entry.handle) if entry.embedding_dimensions else None
        (scanned,) = await self._library.scanned([whole])
        self._show(ask, self._panes.show_entry, scanned, result, norm)

    async def _poll(self, ask: Ask) -> None:
        if self._is_away:
            # A cached version needs no server; here the server must answer.
            if not await self._library.memory.health_check():
                return
            self._is_away = False
            self._panes.call_later(self._panes.look_on)
        version = await self._library.memory.version()
        before, self._version = self._version, version
        # Without an earlier version a listing is under way that is newer than any.
        if before is not None and version != before:
            self._panes.call_later(self._panes.look_on)

    def _since(self, started: float) -> float:
        return (self._pace.stopwatch() - started) * 1000


def _what_is_counted(view: View) -> tuple[object, ...]:
    """What the counts of a view depend on, besides the moment."""
    return (view.filter, view.age, view.sought)


def _similar_ranking(found: SimilarResult, request: RecallRequest) -> RecallResult:
    """The nearest memories with a part of the score that says by what they are near: a cosine, or words."""
    is_by_vector = found.method == "vector"
    return RecallResult(
        request=request,
        backend=found.backend,
        location=found.location,
        profile="",
        profile_source="",
        mode=SIMILAR,
        weights=(0.0, 0.0),
        threshold=0.0,
        scale=_SCALES[found.method],
        results=tuple(
            ScoredEntry(
                near.entry,
                near.rank,
                None,
                vector_score=near.score if is_by_vector else None,
                keyword_score=None if is_by_vector else near.score,
                stage=SIMILAR,
                shared=near.shared,
            )
            for near in found.results
        ),
        notes=found.sentences(),
    )
