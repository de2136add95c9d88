"""Which recall tests lose their answer by a change that is planned.

What a removal does to a recall is more than its rows: the statistics of the words change, other rows move up into the
candidates, a search finds nothing and falls back. So the change is made in a copy of the store, and the tests are asked
there and here. A store that no copy can be had of gives what is certain all the same, and says what is not known.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.config.whole_file import cannot_write, make_folder, work_folder
from zeroclaw_tui.curation.evaluation.figures import (
    Evaluation,
    QueryFigures,
    evaluate,
    plain_trial,
    trial_of_test,
    with_queries_together,
)
from zeroclaw_tui.curation.evaluation.queries import TestQuery, read_queries, tests_file
from zeroclaw_tui.curation.recall import KEYWORD_HITS_ONLY
from zeroclaw_tui.files.whole_database import is_tried_out
from zeroclaw_tui.memory.change import RowChange, Stamp, TriggersMissing
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.text import counted, cut, one_line
from zeroclaw_tui.scoring.profiles import ScoringProfile, ScoringSettings, Trial

if TYPE_CHECKING:
    from zeroclaw_tui.backends.base import Memory
    from zeroclaw_tui.curation.library import Library

NAMED = 3
"""So many of the tests are named in the sentence."""
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """What is going to change: rows that go or get another category, what some work writes, or how is scored."""

    going: Sequence[Stamp] = ()
    category: tuple[Sequence[Stamp], str] | None = None
    profile: ScoringProfile | None = None
    settings: ScoringSettings | None = None
    written: Callable[[Library], Awaitable[object]] | None = None
    """What writes to the library it gets, which is a copy's: the change itself, as it is made in the end."""

    @property
    def is_of_rows(self) -> bool:
        """Whether the store itself changes."""
        return bool(self.going) or self.category is not None or self.written is not None


@dataclass(frozen=True, slots=True)
class Loss:
    """A test that does worse: the expected keys that no longer reach the prompt, the rejected ones that now do."""

    name: str
    query: str
    missing: tuple[str, ...]
    unwanted: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Its part of a document."""
        return {
            "name": self.name,
            "query": self.query,
            "missing": list(self.missing),
            "unwanted": list(self.unwanted),
        }


@dataclass(frozen=True, slots=True)
class Losses:
    """The tests that lose by a change. `unknown` says why there may be more, in a clause; None where these are all."""

    tests: int
    lost: tuple[Loss, ...]
    unknown: str | None = None

    @property
    def sentence(self) -> str:
        """All of it in words."""
        if not self.lost:
            if self.unknown is not None:
                return f"Whether recall tests lose their answer is not known: {self.unknown}."
            return f"None of {counted(self.tests, 'recall test')} loses its answer."
        number = len(self.lost)
        lose = "loses its answer" if number == 1 else "lose their answer"
        named = [cut(one_line(loss.name), _LONGEST_NAME) or "a blank query" for loss in self.lost[:NAMED]]
        more = f" and {number - NAMED:,} more" if number > NAMED else ""
        least = "At least " if self.unknown is not None else ""
        rest = f" Whether more do is not known: {self.unknown}." if self.unknown is not None else ""
        return f"{least}{number:,} of {counted(self.tests, 'recall test')} {lose}: {', '.join(named)}{more}.{rest}"

    def as_json(self) -> dict[str, Any]:
        """The `losses` of a plan's document."""
        return {"tests": self.tests, "lost": [loss.as_json() for loss in self.lost], "unknown": self.unknown}


def loss_between(before: QueryFigures, after: QueryFigures) -> Loss | None:
    """What a test loses from one run to the other; None where it does not do worse."""
    missing = tuple(key for key in after.missing if key not in before.missing)
    unwanted = tuple(key for key in after.unwanted if key not in before.unwanted)
    if not missing and not unwanted:
        return None
    return Loss(after.asked.name, after.asked.query, missing, unwanted)


async def losses_of(library: Library, change: PlannedChange, now: datetime) -> Losses | None:
    """Which tests of tests.toml lose by a change; None where there is no such file, or nothing changes.

    Never an error: what keeps the tests from being asked is told as `unknown`. Reads the store, and copies it into the
    folder of this program's own files, from which the copy goes at the end.
    """
    file = tests_file(library)
    if not (change.is_of_rows or change.profile or change.settings):
        return None
    if not await asyncio.to_thread(file.exists):
        return None
    queries: tuple[TestQuery, ...] = ()
    try:
        queries = await asyncio.to_thread(read_queries, file)
        return await losses_among(library, queries, change, now)
    except InspectorError as error:
        return Losses(len(queries), (), error.message.rstrip("."))


async def losses_among(library: Library, queries: Sequence[TestQuery], change: PlannedChange, now: datetime) -> Losses:
    """Which of these tests lose by a change. Raises InspectorError kinds."""
    sharing = with_queries_together(library, [asked.query for asked in queries])
    plain = plain_trial(library)
    plain = plain._replace(request=replace(plain.request, as_of=now.isoformat()))
    other = plain._replace(profile=change.profile or plain.profile, settings=change.settings or plain.settings)
    present = partial(evaluate, sharing, queries, partial(trial_of_test, library, plain), "before")
    if not change.is_of_rows:
        return await _losses(await present(), sharing, other)
    asking = asyncio.ensure_future(present())
    try:
        # The store itself is asked while its copy is made and changed: while one waits for the disk, the other goes on.
        async with _tried_out(library, change) as changed:
            before = await asking
            if changed is None:
                return await _least(library, before, change)
            return await _losses(before, replace(sharing, memory=changed), other)
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)


async def _losses(before: Evaluation, library: Library, plain: Trial) -> Losses:
    """What of a run is lost in a library that has changed, or that is asked otherwise."""
    held = [figures for figures in before.queries if _can_lose(figures)]
    after = await evaluate(
        library, [figures.asked for figures in held], partial(trial_of_test, library, plain), "after"
    )
    pairs = zip(held, after.queries, strict=True)
    lost = tuple(loss for was, is_then in pairs if (loss := loss_between(was, is_then)) is not None)
    by_words = [note for note in (*before.notes, *after.notes) if KEYWORD_HITS_ONLY in note]
    unknown = f"they were asked by words alone ({by_words[0].partition('. ')[0]})" if by_words else None
    return Losses(len(before.queries), lost, unknown)


def _can_lose(figures: QueryFigures) -> bool:
    """Whether a test has something that a change can take from it: what fails altogether need not be asked again."""
    asked = figures.asked
    return set(asked.expected) != set(figures.missing) or set(asked.rejected) != set(figures.unwanted)


async def _least(library: Library, before: Evaluation, change: PlannedChange) -> Losses:
    """What is certain without a copy: an expected memory that goes, and is the only one of its key, is lost."""
    going = {stamp.key for stamp in change.going}
    ids = {stamp.id for stamp in change.going}
    asked = {key for figures in before.queries for key in figures.asked.expected if key in going}
    gone = {key for key in asked if all(entry.id in ids for entry in await library.memory.with_key(key))}
    lost = []
    for figures in before.queries:
        missing = tuple(key for key in figures.asked.expected if key in gone and key not in figures.missing)
        if missing:
            lost.append(Loss(figures.asked.name, figures.asked.query, missing, ()))
    file = library.memory.file
    is_big = file is not None and not is_tried_out(file)
    why = "this store is too big for a copy to try it out" if is_big else "this store cannot be copied to try it out"
    return Losses(len(before.queries), tuple(lost), why)


@asynccontextmanager
async def _tried_out(library: Library, change: PlannedChange) -> AsyncIterator[Memory | None]:
    """A copy of the store in which the change was made, open; None where the store gives no copy of itself."""
    with ExitStack() as until_then:
        folder = await asyncio.to_thread(_work_folder, library.config.install.own_dir, until_then)
        try:
            copy = await library.memory.copied_to(folder)
            if copy is None:
                yield None
                return
            try:
                await _make(library, copy, folder, change)
                yield copy
            finally:
                await copy.close()
        finally:
            # A large file takes its time to go.
            await asyncio.shield(asyncio.to_thread(until_then.close))


def _work_folder(own: Path, until_then: ExitStack) -> Path:
    try:
        make_folder(own)
        return until_then.enter_context(work_folder(own / "planned"))
    except OSError as error:
        raise cannot_write(own, error) from error


async def _make(library: Library, copy: Memory, folder: Path, change: PlannedChange) -> None:
    try:
        await _written(library, copy, folder, change)
    except TriggersMissing:
        # Asked about before the real change; made without a word here, where nothing is at stake.
        await copy.repair()
        await _written(library, copy, folder, change)


async def _written(library: Library, copy: Memory, folder: Path, change: PlannedChange) -> None:
    if change.written is not None:
        config = library.config
        config = config._replace(install=config.install._replace(own_dir=folder), read_only=False)
        # Its own folder is the copy's, and so is the trash of what is written.
        await change.written(replace(library, config=config, memory=copy, kept_in=None))
    if change.going:
        await copy.remove(change.going, _keep_nothing)
    if change.category is not None:
        from zeroclaw_tui.curation.audit.audit import InCategory

        await copy.revert(InCategory(copy, *change.category).batches, _keep_nothing, clash="skip")


def _keep_nothing(changes: Sequence[RowChange]) -> None:
    """Nothing of a copy is ever taken back."""
