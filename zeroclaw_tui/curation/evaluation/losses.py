"""What recall tests lose: by a change that is planned, and against the baseline of a gate, with a report as JUnit XML.

What a removal does to a recall is more than its rows: the statistics of the words change, other rows move up into the
candidates, a search finds nothing and falls back. So the change is made in a copy of the store, and the tests are asked
there and here. A store that no copy can be had of gives what is certain all the same, and says what is not known.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.revert import keep_nothing
from zeroclaw_tui.curation.evaluation.figures import (
    Evaluation,
    QueryFigures,
    evaluate,
    plain_trial,
    trial_of_test,
    with_batched_queries,
)
from zeroclaw_tui.curation.evaluation.queries import TestQuery, read_queries, tests_file
from zeroclaw_tui.curation.recall import why_by_words
from zeroclaw_tui.files.disk import cannot_write, make_folder, work_folder, write_whole
from zeroclaw_tui.files.whole_database import is_tried_out
from zeroclaw_tui.memory.change import Stamp, TriggersMissing
from zeroclaw_tui.memory.errors import InspectorError, UsageError
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
        return asdict(self)


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
        return asdict(self)


Held = tuple[frozenset[str], frozenset[str]]
"""The expected keys that reach the prompt, and the rejected ones that do not: all that a test can lose."""


def _held(figures: QueryFigures) -> Held:
    asked = figures.asked
    return frozenset(asked.expected) - set(figures.missing), frozenset(asked.rejected) - set(figures.unwanted)


def _loss(held: Held, figures: QueryFigures) -> Loss | None:
    """What a test has no more of what it held; None where it does not do worse."""
    missing = tuple(key for key in figures.missing if key in held[0])
    unwanted = tuple(key for key in figures.unwanted if key in held[1])
    return Loss(figures.asked.name, figures.asked.query, missing, unwanted) if missing or unwanted else None


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
    sharing = with_batched_queries(library, [asked.query for asked in queries])
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
    # What fails altogether need not be asked again.
    held = [figures for figures in before.queries if any(_held(figures))]
    after = await evaluate(
        library, [figures.asked for figures in held], partial(trial_of_test, library, plain), "after"
    )
    pairs = zip(held, after.queries, strict=True)
    lost = tuple(loss for was, is_then in pairs if (loss := _loss(_held(was), is_then)) is not None)
    because = why_by_words((*before.notes, *after.notes))
    unknown = None if because is None else f"they were asked by words alone ({because.partition('. ')[0]})"
    return Losses(len(before.queries), lost, unknown)


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
        await copy.remove(change.going, keep_nothing)
    if change.category is not None:
        from zeroclaw_tui.curation.audit.audit import InCategory

        await copy.revert(InCategory(copy, *change.category).batches, keep_nothing, clash="skip")


FORM = "zeroclaw-tui recall baseline 1"
MOST_BASELINE_BYTES = 64 * 1024**2
_SAVE = "`zeroclaw memory test --save-baseline FILE` writes one."
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML 1.0 document can hold, not even escaped (W3C, XML 1.0, 2.2)."""
_SAVED = ("name", "query", "session", "agent", "channel", "expected", "rejected", "missing", "unwanted")
_COMPARED = ("expected", "missing", "rejected", "unwanted")
Which = tuple[str, str | None, str | None, str | None]
"""Which test: its message, session, agent and channel."""


@dataclass(frozen=True, slots=True)
class Gate:
    """A run held against a baseline: what it lost, the tests that are new, how many of the baseline were not asked."""

    file: str
    lost: tuple[Loss, ...]
    new: tuple[str, ...]
    not_asked: int

    def as_json(self) -> dict[str, Any]:
        """The `gate` of the document."""
        return asdict(self)


def save_baseline(file: Path, run: Evaluation) -> None:
    """Write how every test did, in one step. Raises Unreadable. Blocks."""
    tests = [{name: told[name] for name in _SAVED} for told in (figures.as_json() for figures in run.queries)]
    document = {"form": FORM, "profile": run.profile, "as_of": run.as_of, "tests": tests}
    write_whole(file, (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode("utf-8"))


def read_baseline(file: Path) -> Mapping[Which, Held]:
    """What the tests of a baseline held, those of one turn together. Raises UsageError where it is none. Blocks."""
    shown = one_line(str(file))
    try:
        with file.expanduser().open("rb") as stream:
            data = stream.read(MOST_BASELINE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{shown} cannot be read: {error.strerror or error}.", hint=_SAVE) from error
    try:
        if len(data) > MOST_BASELINE_BYTES:
            raise ValueError
        document = json.loads(data.decode("utf-8"))
        if document["form"] != FORM:
            raise ValueError
        found: dict[Which, Held] = {}
        for which, held in map(_baseline_test, document["tests"]):
            came, stayed_away = found.get(which, (frozenset(), frozenset()))
            found[which] = came | held[0], stayed_away | held[1]
        return found
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{shown} is no baseline of recall tests.", hint=_SAVE) from error


def held_against(run: Evaluation, baseline: Mapping[Which, Held], file: str) -> Gate:
    """What a run lost: expected keys that came then and are missing now, rejected ones that stayed away then."""
    lost, new, asked = [], [], set()
    for figures in run.queries:
        test = figures.asked
        # Its name may change.
        which = test.query, test.session_id, test.agent, test.channel
        asked.add(which)
        held = baseline.get(which)
        if held is None:
            new.append(test.name)
        elif (loss := _loss(held, figures)) is not None:
            lost.append(loss)
    return Gate(file, tuple(lost), tuple(new), len(baseline.keys() - asked))


def junit_xml(run: Evaluation, suite: str, gate: Gate | None = None) -> bytes:
    """The run as JUnit XML in UTF-8: a failed test is a failure. With a gate only what was lost is one, and what
    failed before is skipped. What XML cannot hold is U+FFFD."""
    from xml.etree import ElementTree

    lost = {(loss.name, loss.query) for loss in gate.lost} if gate is not None else set()
    known = set(gate.new) if gate is not None else set()
    root = ElementTree.Element("testsuites")
    element = ElementTree.SubElement(root, "testsuite", name=_xml(suite), tests=str(len(run.queries)), errors="0")
    failures = skipped = 0
    for figures in run.queries:
        asked = figures.asked
        case = ElementTree.SubElement(element, "testcase", classname="recall", name=_xml(asked.name or "a blank query"))
        if figures.passed:
            continue
        words = failure_words(figures)
        if gate is None or (asked.name, asked.query) in lost or asked.name in known:
            failures += 1
            failure = ElementTree.SubElement(case, "failure", message=_xml(words), type="recall")
            failure.text = _xml(f"{asked.query}\n{words}\nin the prompt: {', '.join(figures.injected) or 'nothing'}")
        else:
            skipped += 1
            ElementTree.SubElement(case, "skipped", message=_xml(f"as in the baseline: {words}"))
    element.set("failures", str(failures))
    element.set("skipped", str(skipped))
    found: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return found + b"\n"


def failure_words(figures: QueryFigures | Loss) -> str:
    """What is wrong with a test."""
    parts = []
    if figures.missing:
        parts.append(f"missing {', '.join(figures.missing)}")
    if figures.unwanted:
        parts.append(f"should not come: {', '.join(figures.unwanted)}")
    return "; ".join(parts)


def _baseline_test(test: Mapping[str, Any]) -> tuple[Which, Held]:
    expected, missing, rejected, unwanted = (frozenset(map(str, test[name])) for name in _COMPARED)
    return (test["query"], test["session"], test["agent"], test["channel"]), (expected - missing, rejected - unwanted)


def _xml(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", text)
